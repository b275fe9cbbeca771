"""The colours of drawings by name, each for a light and for a dark page.

The eight colours of series differ in lightness as well as in hue, but no drawing relies on colour alone: marks and
dashes tell series apart too. The diverging scale runs from orange over grey to blue, which people who confuse red and
green can read. Each step of it has a colour for the text on it, the one of two that has the higher contrast.
"""

from __future__ import annotations

from functools import partial
from typing import Final

SERIES: Final = 8
"""How many colours of series there are: ``s0`` to ``s7``."""

SCALE_STEPS: Final = 10
"""Steps of the diverging scale on either side of its middle: ``scale-10`` to ``scale10``."""

_NAMES = ("ground", "ink", "quiet", "line", "faint", "accent", *(f"s{number}" for number in range(SERIES)))
# fmt: off
_LIGHT = (
    "#ffffff", "#1b1f23", "#5a6168", "#d9dad4", "#eeeeea", "#1f5aa8",
    "#1f5aa8", "#b8370f", "#1f8d6d", "#7a4fb5", "#8a6d00", "#a3246f", "#4d5963", "#0f7f93",
)
_DARK = (
    "#1c2024", "#e7e7e2", "#a2a9b0", "#343a40", "#262b30", "#7fb2f5",
    "#7fb2f5", "#ff8f69", "#56cfae", "#bd9cf0", "#efd25f", "#ee86c2", "#b4bcc4", "#66cfe0",
)
# fmt: on
_LIGHT_ENDS = "#a8470a", "#f1f0ec", "#1f5aa8"
_DARK_ENDS = "#f09a5c", "#2b3137", "#6fa8f3"
_ON_LIGHT, _ON_DARK = "#14181c", "#ffffff"


def scale(value: float) -> str:
    """The name of the diverging scale's colour for a value in -1..1; what is outside takes the end's."""
    return f"scale{round(max(-1.0, min(1.0, value)) * SCALE_STEPS)}"


def on_scale(value: float) -> str:
    """The name of the colour of text on ``scale(value)``."""
    return "on-" + scale(value)


def contrast(first: str, second: str) -> float:
    """Contrast of two colours ``#rrggbb``, 1..21, as WCAG 2 defines it."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def rgb(colour: str) -> tuple[int, int, int]:
    """``#rrggbb`` as three numbers, 0..255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    parts = [value / 255 for value in rgb(colour)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mixed(first: str, second: str, share: float) -> str:
    pairs = zip(rgb(first), rgb(second), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in pairs)


def _steps(ends: tuple[str, str, str]) -> dict[str, str]:
    low, middle, high = ends
    found = {}
    for step in range(-SCALE_STEPS, SCALE_STEPS + 1):
        colour = _mixed(middle, low if step < 0 else high, abs(step) / SCALE_STEPS)
        found[f"scale{step}"] = colour
        found[f"on-scale{step}"] = max((_ON_LIGHT, _ON_DARK), key=partial(contrast, colour))
    return found


LIGHT: Final[dict[str, str]] = {**dict(zip(_NAMES, _LIGHT, strict=True)), **_steps(_LIGHT_ENDS)}
"""Name to ``#rrggbb`` on a white page and on paper."""

DARK: Final[dict[str, str]] = {**dict(zip(_NAMES, _DARK, strict=True)), **_steps(_DARK_ENDS)}
"""Name to ``#rrggbb`` on a dark page; the same names."""
