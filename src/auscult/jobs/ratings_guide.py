"""``auscult ratings guide``: what to listen for on each axis, with sounds that are high and low on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

import numpy as np

from auscult.cases.ratings import RATED_AXES
from auscult.cases.sounds import read_sounds
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.options import Flag, input_path
from auscult.jobs.ratings import PEAK, Done, File, SoundsOptions, write_record
from auscult.jobs.stress_separation import stems_of
from auscult.media.wav import Sound, wav_bytes
from auscult.outcome import Undefined
from auscult.report.tables import Table
from auscult.stress.sound.separation import perturb
from auscult.types import Samples

_STRESSED: Final = {
    "recall-high": ("leakage", 3), "recall-low": ("time_loss", 5),
    "precision-high": ("time_loss", 3), "precision-low": ("leakage", 5),
    "faithfulness-high": ("time_loss", 3), "faithfulness-low": ("musical_noise", 5),
    "overall-high": ("equalisation", 0), "overall-low": ("wrong_source", 5),
}  # fmt: skip
"""Examples of performance: the kind of ``stress.sound.separation`` and its severity. Some that are high on one axis are
not on another, so that raters hear the axes apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideOptions(SoundsOptions):
    """What to make examples of.

    Attributes:
        source: An INPUT of sounds with stems, such as `auscult make mixtures` writes.
        item: Its item to use; by default the first with a target and two other sources.
        seed: The same seed makes the same examples.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    item: Annotated[str | None, Flag(shown="the first that will do")] = None
    seed: int = 0


def make_guide(options: GuideOptions) -> Done:
    """Write the guideline: nine axes, with examples high and low on each."""
    items = [item for item in read_sounds(options.source, root=options.root).items if options.item in (None, item.id)]
    item = next((item for item in items if item.truth and item.truth.stem and len(item.truth.others) >= 2), None)
    if item is None:
        message, expected = "no item has a stem and two other sources", "'truth' with stems"
        raise NothingToDo(message, path=options.source, expected=expected)
    stems, rate_hz = stems_of(item)
    examples: dict[str, Samples] = {"target": stems[0], "mixture": np.sum(stems, axis=0)}
    for name, (kind, severity) in _STRESSED.items():
        outcome = perturb(kind, stems, rate_hz=rate_hz, severity=severity, seed=options.seed, key=name)
        if isinstance(outcome, Undefined):
            raise UsageError(f"{item.id} has no example of {name}: {outcome.reason}", hint="choose another --item")
        examples[name] = outcome.output
    for axis in RATED_AXES[4:]:
        for end in ("high", "low"):
            examples[f"{axis}-{end}"] = _remixed(axis, stems, hard=end == "high")
    files = dict[str, File]()
    for name, samples in examples.items():
        quieter = samples * np.float32(min(1.0, PEAK / max(1e-9, float(np.abs(samples).max()))))  # within full scale
        files[f"sounds/{name}.wav"] = wav_bytes(Sound(samples=quieter, rate_hz=rate_hz), "int16")
    text = resources.files("auscult.jobs").joinpath("rating_guide.txt").read_text(encoding="utf-8")
    files["guide.md"] = text.replace("WANTED", item.query.text or "the target").encode()
    table = Table(title="Guideline", header=("sounds", "of item"), rows=((str(len(examples)), item.id),))
    return write_record("ratings guide", options, {"guide": table}, n=len(examples), files=files)


def _remixed(axis: str, stems: Sequence[Samples], *, hard: bool) -> Samples:
    """A mixture that is hard or easy on one axis of difficulty."""
    target, others = stems[0], list(stems[1:])
    twin = np.roll(target, target.shape[-1] // 2, axis=-1)  # a second source of the target's own kind
    rest = np.sum(others, axis=0)
    mixes = {
        "counting": (target + rest, target + others[0]),
        "overlapping": (target + rest, np.concatenate((target, rest), axis=-1)),
        "loudness": (0.25 * target + rest, target + 0.25 * rest),
        "confusion": (target + twin, target + others[0]),
        "difficulty": (0.25 * (target + twin) + rest, np.concatenate((target, 0.25 * others[0]), axis=-1)),
    }
    return np.asarray(mixes[axis][0 if hard else 1], dtype=np.float32)
