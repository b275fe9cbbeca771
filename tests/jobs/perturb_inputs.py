"""Small videos, sounds and plug-ins for the tests of `stress vision|sound|sentences|timing|recipe`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.jobs.perturb.options import PerturbOptions, Wanted
from auscult.jobs.perturb.run import perturb
from auscult.record.schema import Summary
from auscult.types import Frame, Samples

LAYOUTS = {1: "mono", 2: "stereo", 8: "7.1"}


def scene(number: int, size: tuple[int, int] = (48, 64)) -> Frame:
    """A frame with a moving square, textured so that blur and noise show."""
    rows, columns = np.mgrid[: size[0], : size[1]]
    frame = np.stack([rows * 3 % 256, columns * 5 % 256, (rows * columns + 9 * number) % 256], axis=-1).astype(np.uint8)
    frame[5:15, number : number + 10] = (250, 20, 20)
    return frame


def tone(channels: int = 1, samples: int = 8000, rate_hz: int = 8000) -> Samples:
    times = np.arange(samples) / rate_hz
    return np.stack([0.3 * np.sin(2 * np.pi * (300 + 50 * channel) * times) for channel in range(channels)]).astype(
        np.float32
    )


def film(
    path: Path,
    frames: int = 12,
    *,
    size: tuple[int, int] = (48, 64),
    times_s: Sequence[float] = (),
    sound: Samples | None = None,
    rate_hz: int = 8000,
) -> Path:
    """A lossless video at 10 frames a second, or with the times given."""
    av = pytest.importorskip("av", reason="the extra `video` is not installed")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264rgb", rate=10, options={"qp": "0", "preset": "ultrafast"})
        video.height, video.width, video.pix_fmt = *size, "rgb24"
        video.codec_context.time_base = Fraction(1, 1000)
        sound_stream = None
        if sound is not None:
            sound_stream = container.add_stream("pcm_s16le", rate=rate_hz, layout=LAYOUTS[len(sound)])
        for number in range(frames):
            picture = av.VideoFrame.from_ndarray(scene(number, size), format="rgb24")
            picture.pts = round(1000 * (times_s[number] if times_s else number / 10))
            picture.time_base = Fraction(1, 1000)
            container.mux(video.encode(picture))
        container.mux(video.encode(None))
        if sound_stream is not None and sound is not None:
            _play(container, sound_stream, sound, rate_hz)
    return path


def _play(container: Any, stream: Any, sound: Samples, rate_hz: int) -> None:
    av = pytest.importorskip("av", reason="the extra `video` is not installed")
    values = np.ascontiguousarray(np.rint(sound * 32767).astype("<i2").T).reshape(1, -1)
    block = av.AudioFrame.from_ndarray(values, format="s16", layout=LAYOUTS[len(sound)])
    block.sample_rate, block.pts, block.time_base = rate_hz, 0, Fraction(1, rate_hz)
    container.mux(stream.encode(block))
    container.mux(stream.encode(None))


def run(source: Path, out: Path, room: str, kinds: str, **fields: Any) -> Summary:
    """Perturb in this process."""
    wishes = {name: fields.pop(name) for name in ("severities", "schedule", "preset", "place") if name in fields}
    options = {"workers": 0, **fields}
    summary, _ = perturb(
        PerturbOptions(source=source, out=out, wanted=Wanted(room=room, kinds=kinds, **wishes), **options)
    )
    return summary


PLUGIN = """
from auscult.stress.perturbation import Fixed
from auscult.types import Metadata

class Bad(Fixed):
    levels = tuple((float(at),) for at in range(6))
    meta = Metadata(summary="s", goal="g", modality="image", source="s", truth="t", origin="sensor")

    def __init__(self, name, made):
        self.name = f"vision.{name}.v1"
        self._made = made

    def render(self, frame, params, *, index=0):
        return self._made(frame)

RAISES = Bad("raises", lambda frame: 1 / 0)
SHRINKS = Bad("shrinks", lambda frame: frame[1:])
FLOATS = Bad("floats", lambda frame: frame / 255.0)
NOTHING = Bad("nothing", lambda frame: None)
"""


def plugins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Register bad perturbations of pictures: raises, shrinks, floats, nothing."""
    info = folder / "badplug-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "badplug.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: badplug\nVersion: 1.0\n")
    names = ("raises", "shrinks", "floats", "nothing")
    points = "".join(f"vision.{name}.v1 = badplug:{name.upper()}\n" for name in names)
    (info / "entry_points.txt").write_text(f"[auscult.stressors]\n{points}")
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
