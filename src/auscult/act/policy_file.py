"""Policies as files, JSON or TOML; those that ship with the package are found by name.

::

    name = "mine"
    require_identity = false                # optional
    [good]                                  # optional: the judge's probability that the IoU is .8 or more
    accept = { at_least = 0.7 }             # whatever the defect but merge and full_neg
    [perfect]
    accept = { at_least = 0.95 }            # or { above = 0.95 }
    minor_revision = { at_least = 0.0 }
    [shape]                                 # cutout, dilate, erode
    minor_revision = { at_least = 0.825 }
    major_revision = { at_least = 0.75 }
    [merge]
    major_revision = { at_least = 0.75 }
    [full_neg]                              # no threshold: always reject
"""

from __future__ import annotations

import difflib
import itertools
import json
import math
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from auscult.act.thresholds import GROUPS, Good, Policy, Threshold
from auscult.errors import InputError, UnknownName, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Action

_SHIPPED = Path(__file__).parent / "policies"
_LENIENT: tuple[Action, ...] = ("accept", "minor_revision", "major_revision")
_KEYS = ("name", "summary", "require_identity", "good", *GROUPS)
_BOUNDS = ("at_least", "above")
_LIMITS = Limits(max_bytes=1_000_000)


def shipped_policies() -> tuple[str, ...]:
    """Names of the policies that ship with the package."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.json")))


def load_policy(source: str | Path) -> Policy:
    """Load a policy by its name or from a file.

    Args:
        source: ``default``, ``identity``, ``paper``, ``release``, or a ``.json`` or ``.toml`` file.

    Raises:
        UnknownName: It is neither a shipped policy nor a file.
        UsageError: The file is no policy; the message names the key.
    """
    if str(source) in shipped_policies():
        return _read(_SHIPPED / f"{source}.json")
    path = Path(source)
    if path.suffix.lower() not in {".json", ".toml"}:
        names = shipped_policies()
        close = difflib.get_close_matches(str(source), names, n=1)
        raise UnknownName(
            f"there is no policy {str(source)[:80]!r}",
            expected=f"one of: {', '.join(names)}; or a .json or .toml file",
            hint=f"did you mean {close[0]}?" if close else "",
        )
    return _read(path)


def _read(path: Path) -> Policy:
    try:
        text = read_bytes(path, limits=_LIMITS).decode("utf-8-sig")
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
        return policy_of(content)
    except InputError as error:
        raise UsageError(error.message, expected=error.expected, hint=error.hint, path=path) from error
    except (ValueError, RecursionError) as error:
        kind = path.suffix[1:].upper()
        raise UsageError(f"broken {kind}: {str(error)[:120]}", expected=f"a policy in {kind}", path=path) from error


def policy_of(content: object) -> Policy:
    """Check a policy that was read from a file.

    Raises:
        InputError: A key is missing, unknown or of the wrong kind, or thresholds are out of order.
    """
    table = _table(content, "the policy", _KEYS)
    missing = [key for key in ("name", *GROUPS) if key not in table]
    if missing:
        raise InputError(f"the policy has no {missing[0]!r}", expected=f"the keys {', '.join(_KEYS)}")
    name, summary, identity = table["name"], table.get("summary", ""), table.get("require_identity", False)
    if not isinstance(name, str) or not name.strip() or not isinstance(summary, str):
        raise InputError("'name' or 'summary' is no text", expected="texts, the name not empty")
    if not isinstance(identity, bool):
        raise InputError("'require_identity' is neither true nor false", expected="true or false")
    groups = {group: _thresholds(group, table[group]) for group in GROUPS}
    return Policy(
        name=name,
        summary=summary,
        require_identity=identity,
        perfect=groups["perfect"],
        shape=groups["shape"],
        merge=groups["merge"],
        full_neg=groups["full_neg"],
        good=_good(table["good"]) if "good" in table else None,
    )


def _good(content: object) -> Good:
    table = _table(content, "good", ("accept",))
    if not table:
        raise InputError("'good' has no 'accept'", expected="good.accept, or no 'good'")
    value, inclusive = _bound("good.accept", table["accept"])
    return Good(prob_iou_80=value, inclusive=inclusive)


def _thresholds(group: str, content: object) -> tuple[Threshold, ...]:
    table = _table(content, group, _LENIENT)
    found = tuple(_threshold(group, action, table[action]) for action in _LENIENT if action in table)
    for lenient, strict in itertools.pairwise(found):
        if (lenient.iou, not lenient.inclusive) <= (strict.iou, not strict.inclusive):
            raise InputError(
                f"in {group!r}, {lenient.action} needs no more than {strict.action}",
                expected="accept above minor_revision above major_revision",
                hint="leave out an action that the policy never takes",
            )
    return found


def _threshold(group: str, action: Action, content: object) -> Threshold:
    value, inclusive = _bound(f"{group}.{action}", content)
    return Threshold(action=action, iou=value, inclusive=inclusive)


def _bound(where: str, content: object) -> tuple[float, bool]:
    """A bound, 0..1, and whether it itself is enough."""
    table = _table(content, where, _BOUNDS)
    if len(table) != 1:
        raise InputError(f"{where!r} has {len(table)} bounds", expected="one of at_least, above")
    ((bound, value),) = table.items()
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0.0 <= value <= 1.0:
        raise InputError(f"'{where}.{bound}' is {str(value)[:40]!r}", expected="a number from 0 to 1")
    return float(value), bound == "at_least"


def _table(content: object, where: str, allowed: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise InputError(f"{where} is no table", expected=f"a table with the keys {', '.join(allowed)}")
    for key in content:
        if key not in allowed:
            close = difflib.get_close_matches(str(key), allowed, n=1)
            raise InputError(
                f"{where} has an unknown key {str(key)[:40]!r}",
                expected=f"the keys {', '.join(allowed)}",
                hint=f"did you mean {close[0]}?" if close else "",
            )
    return content
