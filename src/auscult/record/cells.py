"""Text of others in a table: nothing that a spreadsheet would run, nothing that turns a line around.

A comma table may be opened by a program that parts cells at semicolons, and a quoted cell with a line break may be read
as two lines, so a formula is looked for behind these signs too.
"""

from __future__ import annotations

import re

_SIGN = (
    "[=+\\-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
    "\N{SMALL EQUALS SIGN}\N{SMALL PLUS SIGN}\N{SMALL HYPHEN-MINUS}\N{SMALL COMMERCIAL AT}]"
)
# what programs trim, or do not show
_UNSEEN = (
    r" \xa0\u1680\u2000-\u200d\u202f\u205f\u2060\u3000'" + r'"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u180e\ufeff'
)
_PARTING = r"\t\n\v\f\r\x85\u2028\u2029"
_FORMULA = re.compile(rf"[\t\r\n']|[{_UNSEEN}{_PARTING}]*+{_SIGN}")
_INNER_FORMULA = re.compile(rf"([;{_PARTING}])(?=[{_UNSEEN}]*+{_SIGN})")
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def disarmed(text: str) -> str:
    r"""A text as a cell that no spreadsheet takes for a formula and no bidirectional control turns around.

    An apostrophe goes in front of a text that begins with ``= + - @``, also in full width or behind spaces, with a tab,
    a line break or an apostrophe; and in front of such a sign behind a semicolon, tab or line break within the text.
    Bidirectional controls become ``\u202e`` and the like, six plain characters.

    Example:
        >>> disarmed("=1+1"), disarmed("a;\uff0b1"), disarmed("x-1")
        ("'=1+1", "a;'＋1", 'x-1')
    """
    plain = _TURNING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
    inner = _INNER_FORMULA.sub(r"\1'", plain)
    return f"'{inner}" if _FORMULA.match(plain) else inner
