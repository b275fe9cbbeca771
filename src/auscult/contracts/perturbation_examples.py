"""What perturbations are checked with, and how each room perturbs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from auscult.rng import generator
from auscult.stress import sentences, sound, timing, vision
from auscult.stress.timing.making import Footage
from auscult.types import Mask, Stressed

RATE_HZ: Final = 16_000
RATE_FPS: Final = 25.0


def _picture(height: int, width: int) -> Any:
    rows, columns = np.mgrid[:height, :width]
    picture = np.stack([rows * 255 // height, columns * 255 // width, (rows + columns) % 256], axis=-1).astype(np.uint8)
    picture[height // 4 : height // 2, width // 4 : width // 2] = (200, 40, 60)
    picture.setflags(write=False)
    return picture


def _tone(channels: int, samples: int) -> Any:
    times = np.arange(samples) / RATE_HZ
    tone = 0.4 * np.sin(2 * np.pi * 440 * times) + 0.1 * generator(0, "contract", "tone").standard_normal(samples)
    found = np.stack([tone * (1 - 0.2 * at) for at in range(channels)]).astype(np.float32)
    found.setflags(write=False)
    return found


def _film(frames: int, *, channels: int) -> Footage:
    """Frames that differ, with as much sound as they last; none where there are no channels."""
    clip = np.stack([np.roll(_picture(24, 32), 3 * at, axis=1) for at in range(frames)])
    clip.setflags(write=False)
    return Footage(clip=clip, sound=_tone(channels, round(frames * RATE_HZ / RATE_FPS)) if channels else None)


EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "vision": {
        "picture": _picture(96, 128),
        "odd size": _picture(37, 53),
        "clip": np.stack([_picture(48, 64)] * 3),
        "one pixel": _picture(1, 1),
    },
    "sound": {"mono": _tone(1, 12_000)[0], "stereo": _tone(2, 9_001), "one sample": _tone(1, 1)[0]},
    "sentences": {
        "plain": "the small dog that barks after the horn",
        "marked": "Which of the two men, on the left, is singing?",
        "other script": "собака, которая лает 🐕",
        "one letter": "a",
    },
    "timing": {
        "film": _film(30, channels=2),
        "silent film": _film(30, channels=0),
        "one frame": _film(1, channels=1),
    },
}


def room_of(name: str) -> str:
    """The room of a registered perturbation: ``vision``, ``sound``, ``sentences`` or ``timing``."""
    return name.split(".", 1)[0]


def perturbed(
    name: str,
    example: Any,
    *,
    severity: float = 3,
    seed: int = 0,
    key: str = "",
    masks: Sequence[Mask] | None = None,
) -> Stressed[Any, Any]:
    """Perturb an example by a stressor of whichever room; masks are for pictures and clips."""
    room = room_of(name)
    if room == "vision":
        return vision.perturb(name, example, severity=severity, seed=seed, key=key, masks=masks)
    if room == "sound":
        return sound.perturb(name, example, rate_hz=RATE_HZ, severity=severity, seed=seed, key=key)
    if room == "timing":
        rates: dict[str, Any] = {"rate_fps": RATE_FPS, "rate_hz": RATE_HZ}
        return timing.perturb(
            name, example.clip, example.sound, severity=severity, seed=seed, key=key, masks=masks, **rates
        )
    return sentences.perturb(name, example, severity=severity, seed=seed, key=key)


def replayed(name: str, example: Any, params: Mapping[str, Any]) -> Any:
    """Render an example from parameters, by a stressor of whichever room."""
    room = room_of(name)
    if room == "vision":
        return vision.render(name, example, params)
    if room == "sound":
        return sound.render(name, example, params, rate_hz=RATE_HZ)
    if room == "timing":
        rates: dict[str, Any] = {"rate_fps": RATE_FPS, "rate_hz": RATE_HZ}
        return timing.render(name, example.clip, example.sound, params_json=params, **rates)
    return sentences.render(name, example, params)


def arrays_of(value: Any) -> tuple[Any, ...]:
    """The arrays that a picture, a sound or a film is; none for a sentence."""
    if isinstance(value, Footage):
        return (value.clip,) if value.sound is None else (value.clip, value.sound)
    return () if isinstance(value, str) else (value,)


def bytes_of(value: Any) -> tuple[bytes, ...]:
    """What makes two examples the same."""
    return (value.encode("utf-8", "surrogatepass"),) if isinstance(value, str) else tuple(
        one.tobytes() for one in arrays_of(value)
    )  # fmt: skip
