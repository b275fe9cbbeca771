"""Plans as JSON values, and back; what is read may be damaged or hostile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from auscult.errors import InputError, UnknownName
from auscult.stress.params import MOST_SEED, Params
from auscult.stress.recipe_parts import crew_of, room_of
from auscult.stress.schedule import Schedule, schedule_of
from auscult.stress.sentences.base import MOST_CHARACTERS, Edits
from auscult.stress.sound.base import Take
from auscult.stress.sound.making import MOST_HZ
from auscult.stress.timing.base import Reel
from auscult.stress.vision.base import Shot

KEYS: Final = ("recipe", "schedule", "seed", "shot", "take", "reel", "text", "steps")
MOST_FRAMES: Final = 1_000_000
_MOST_PIXELS: Final = 1_000_000
_MOST_SAMPLES: Final = 1 << 40
_MOST_STEPS: Final = 32
_MOST_NAME: Final = 4_000

T = TypeVar("T")


def read(value: object) -> dict[str, Any]:
    """The fields of a plan, and what carries out its steps.

    Raises:
        InputError: A key is missing, unknown, or holds something else than a plan does.
    """
    held = _mapping(value, KEYS, what="a plan")
    steps = held["steps"]
    if not isinstance(steps, list | tuple) or len(steps) > _MOST_STEPS:
        raise InputError("the steps of a plan are no list, or too many", expected=f"at most {_MOST_STEPS}")
    crew = _crew(steps)
    return {
        "recipe": _text(held["recipe"], "recipe", _MOST_NAME),
        "schedule": _schedule(held["schedule"]),
        "seed": _whole(held["seed"], "seed", (0, MOST_SEED)),
        "shot": None if held["shot"] is None else _shot(held["shot"]),
        "take": None if held["take"] is None else _take(held["take"]),
        "reel": None if held["reel"] is None else _reel(held["reel"]),
        "text": None if held["text"] is None else _text(held["text"], "text", MOST_CHARACTERS),
        "steps": tuple(_step(step, crew) for step in steps),
        "crew": crew,
    }


def _crew(steps: Sequence[object]) -> dict[str, Any]:
    """What carries out the steps, whose names must be full and registered."""
    names = [_text(_mapping(step, ("name", "params"), what="a step")["name"], "name", 200) for step in steps]
    try:
        crew = crew_of(names)
    except UnknownName as error:
        raise InputError(error.message, expected=error.expected, hint=error.hint) from error
    for name, stressor in crew.items():
        if stressor.name != name:
            raise InputError(f"{name!r} is no full name", expected=f"{stressor.name}")
    return crew


def _step(value: Mapping[str, Any], crew: Mapping[str, Any]) -> tuple[str, Params | Edits]:
    name, params = value["name"], value["params"]
    return name, (Edits if room_of(name) == "sentences" else crew[name].params).from_json(params)


def _schedule(value: object) -> Schedule:
    try:
        return schedule_of(_text(value, "schedule", 100))
    except UnknownName as error:
        raise InputError(error.message, expected=error.expected, hint=error.hint) from error


def _shot(value: object) -> Shot:
    held = _mapping(value, ("height", "width", "frames", "rate_fps"), what="a shot")
    return Shot(
        height=_whole(held["height"], "height", (1, _MOST_PIXELS)),
        width=_whole(held["width"], "width", (1, _MOST_PIXELS)),
        frames=_whole(held["frames"], "frames", (1, MOST_FRAMES)),
        rate_fps=_rate(held["rate_fps"]),
    )


def _take(value: object) -> Take:
    held = _mapping(value, ("samples", "channels", "rate_hz"), what="a take")
    return Take(
        samples=_whole(held["samples"], "samples", (1, _MOST_SAMPLES)),
        channels=_whole(held["channels"], "channels", (1, 1_000)),
        rate_hz=_whole(held["rate_hz"], "rate_hz", (1, MOST_HZ)),
    )


def _reel(value: object) -> Reel:
    held = _mapping(value, ("frames", "rate_fps"), what="a reel")
    return Reel(frames=_whole(held["frames"], "frames", (1, MOST_FRAMES)), rate_fps=_rate(held["rate_fps"]))


def _mapping(value: object, keys: tuple[str, ...], *, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or set(value) != set(keys):
        told = ", ".join(map(str, list(value)[:12])) if isinstance(value, Mapping) else type(value).__name__
        raise InputError(f"{what} holds {told:.200}", expected=f"exactly {', '.join(keys)}")
    return value


def _text(value: object, name: str, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise InputError(f"{name} is {value!r:.60}", expected=f"text of at most {most} characters")
    return value


def _whole(value: object, name: str, bounds: tuple[int, int]) -> int:
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(f"{name} is {value!r:.60}", expected=f"a whole number, {low} to {high}")
    return value


def _rate(value: object) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0.0 < value <= 100_000.0:  # type: ignore[operator]
        raise InputError(f"rate_fps is {value!r:.60}", expected="above 0, up to 100000")
    return float(value)  # type: ignore[arg-type]
