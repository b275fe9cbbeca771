"""What ``sound.compact.v1`` hears, log-mel spectrograms and prompts as numbers, and its network.

The files, trunk, evidence, head, and the head of difficulty, are run by ONNX Runtime on one core.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono, mono_at
from auscult.arrays.spectra import HOP, RATE_HZ, SILENCE, log_mel
from auscult.judge.sound.shared import aligned
from auscult.nets.onnx_session import HINT, check_outputs, open_session, read_network
from auscult.record.digest import digest_bytes
from auscult.types import Floats, Samples, Span

STEP: Final = 32
"""Frames of 10 ms in one step of the network."""
STEP_S: Final = STEP * HOP / RATE_HZ
CLASSES: Final = 527
LEVEL: Final = 0.05
"""Root mean square that a mixture is brought to, -26 dB of full scale."""
_LOUDEST: Final = 4.0  # most power of an output, relative to its mixture's


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeardMixture:
    """A mixture, made ready for all its outputs."""

    sound: Samples  # (samples,) at its own rate, at ``LEVEL``
    rate_hz: int
    mel: Floats  # float32 (128, frames), whole steps of frames


def hear_mixture(mixture: Samples, rate_hz: int) -> HeardMixture:
    """Bring a mixture, (channels, samples) and not silent, to one level."""
    sound = mono(mixture)
    level = float(np.sqrt(np.mean(np.square(sound, dtype=np.float64))))
    sound = np.asarray(sound * np.float32(LEVEL / max(level, 1e-9)), dtype=np.float32)
    return HeardMixture(sound=sound, rate_hz=rate_hz, mel=whole_steps(log_mel(_at_rate(sound, rate_hz))))


def hear_output(heard: HeardMixture, separated: Samples) -> tuple[Floats, Floats]:
    """The spectrograms of an output, (channels, samples), and of what is left of its mixture.

    The output is moved and scaled so that what it shares with the mixture is the same in both.
    """
    output = mono(separated)
    if output.any() and heard.sound.any():
        output, _, _ = aligned(heard.sound, output, rate_hz=heard.rate_hz)
    power = float(np.mean(np.square(output, dtype=np.float64))) / LEVEL**2
    if power > _LOUDEST:
        output = output * np.float32(np.sqrt(_LOUDEST / power))
    mels = [whole_steps(log_mel(_at_rate(sound, heard.rate_hz))) for sound in (output, heard.sound - output)]
    return mels[0], mels[1]


def _at_rate(sound: Samples, rate_hz: int) -> Samples:
    return mono_at(sound, rate_hz=rate_hz, wanted_hz=RATE_HZ)


def whole_steps(mel: Floats) -> Floats:
    """A spectrogram with silence behind it up to a whole step."""
    return np.pad(mel, ((0, 0), (0, -mel.shape[1] % STEP)), constant_values=np.float32(SILENCE))


def span_steps(spans: Sequence[Span], steps: int) -> Floats:
    """Spans as float32 (3, steps): the share of each step inside of ``+`` and of ``-``, and 1 where there are any."""
    shares = np.zeros((3, steps), dtype=np.float32)
    edges = np.arange(steps + 1) * STEP_S
    for span in spans:
        inside = np.clip(np.minimum(edges[1:], span.end_s) - np.maximum(edges[:-1], span.start_s), 0.0, STEP_S)
        row = shares[0 if span.sign == "+" else 1]
        np.minimum(row + inside / STEP_S, 1.0, out=row)
        shares[2] = 1.0
    return shares


def as_classes(*found: Floats | None) -> Floats:
    """What words and pictures ask for together, float32 (527,): the most that any gives, the greatest 1; 0 for none."""
    classes = np.zeros(CLASSES, dtype=np.float32)
    for weights in found:
        if weights is not None:
            np.maximum(classes, weights, out=classes)
    return classes / max(float(classes.max()), 1e-6)


FOLDER: Final = Path(__file__).parent
TRUNK, EVIDENCE, HEAD, HARDNESS = "trunk.onnx", "evidence.onnx", "head.onnx", "hardness.onnx"
WIDTH: Final = 384
JUDGED: Final = ("scores", "spread", "curves", "pooled")
HARDNESS_GIVES: Final = ("difficulty", "domain")
_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundNetwork:
    """The sessions, and a hash of their files. Inputs are named as in ``nets.sound_judge``."""

    folder: Path
    sessions: dict[str, Any]
    digest: str

    def steps(self, mels: Sequence[Floats]) -> Floats:
        """What the trunk makes of spectrograms (128, 32 S) of one length: float32 (n, 384, S)."""
        shapes = {"steps": (WIDTH, mels[0].shape[1] // STEP)}
        return self._run(TRUNK, ["steps"], {"log_mel": np.stack(mels)[:, None]}, shapes=shapes)["steps"]

    def evidence(self, steps: Floats, classes: Floats) -> tuple[Floats, Floats]:
        """How strongly classes (n, 527) are in steps (n, 384, S): ``evidence`` (n, S, 4); and ``prompt`` (n, 65)."""
        outputs = self._run(EVIDENCE, ["evidence", "prompt"], {"steps": steps, "classes": classes})
        return outputs["evidence"], outputs["prompt"]

    def judged(self, heard: dict[str, Floats]) -> dict[str, Floats]:
        """The head's ``JUDGED`` of the arrays of ``Heard``, batch first."""
        return self._run(HEAD, JUDGED, heard)

    def hardness(self, heard: dict[str, Floats]) -> dict[str, Floats]:
        """``difficulty`` (n, 5) and logits of ``domain`` (n, 3) of the arrays of ``HeardAlone``, batch first."""
        return self._run(HARDNESS, HARDNESS_GIVES, heard)

    def _run(
        self,
        file: str,
        names: Sequence[str],
        inputs: dict[str, Floats],
        *,
        shapes: Mapping[str, Any] | None = None,
    ) -> dict[str, Floats]:
        outputs = dict(zip(names, self.sessions[file].run(list(names), inputs), strict=True))
        shapes = shapes or {name: value.shape[1:] for name, value in outputs.items()}
        check_outputs(outputs, shapes, count=len(next(iter(inputs.values()))), hint=HINT, path=self.folder / file)
        return outputs


def load_network(folder: Path = FOLDER) -> SoundNetwork:
    """Open the network of a folder, once a process."""
    with _LOCK:
        return _opened(folder)


def open_network(folder: Path) -> SoundNetwork:
    """Open the network of a folder anew."""
    contents = {name: read_network(folder / name) for name in (TRUNK, EVIDENCE, HEAD, HARDNESS)}
    return SoundNetwork(
        folder=folder,
        sessions={name: open_session(content, folder / name) for name, content in contents.items()},
        digest=digest_bytes(b"".join(contents.values())),
    )


_opened: Final = cache(open_network)
