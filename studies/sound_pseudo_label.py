"""Do outputs that a judge lets pass make better training material? A section of docs/use-sound-verdicts.md.

    AUSCULT_DATA=FOLDER python studies/sound_pseudo_label.py [--judge NAME] [--each 8] [--write]

Mixtures of two recordings of the training part are separated by eight means, some good and some bad, for the class of
one of them. A small classifier, softmax on log-mel statistics, learns nine classes from the outputs, and is tested on
whole recordings of the test part. The judge may have met the training recordings, in other mixtures.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import resampled
from auscult.arrays.spectra import RATE_HZ as LOG_MEL_HZ
from auscult.arrays.spectra import log_mel
from auscult.jobs.judges import load_sound_judge
from auscult.models.separators import load_separator
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import Catalogue, Clip, open_recorded
from auscult.score.sound.perceptual import perceptual
from auscult.score.stats.change import mean_ratio
from auscult.types import Doubles, Samples, SoundCase, SoundJudge, SoundQuery

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE = ROOT / "docs" / "use-sound-verdicts.md"
CLASSES: Final = ("rain", "dog", "clock", "rooster", "sneeze", "fire", "sea waves", "chainsaw", "baby")
"""Classes of nine training recordings or more, and two or more for tests; speech left out."""
MEANS: Final = ("irm", "nmf", "hpss", "repet", "wiener", "gate", "mixture", "wrong source")
RANDOM: Final = "a half at random"
SETS: Final = ("true stems", "all outputs", RANDOM, "the half that the judge calls best", "the half that is best")
SEEDS: Final = (1, 2, 3)
RATE_HZ, SECONDS = 16_000, 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="sound.compact.v1")
    parser.add_argument("--each", type=int, default=8, help="mixtures of each class")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    given = parser.parse_args()
    catalogue = open_recorded(Path(os.environ["AUSCULT_DATA"]))[0]
    found = [right(catalogue, load_sound_judge(given.judge), seed=seed, each=given.each) for seed in SEEDS]
    text = table(found, judge=given.judge)
    print(text)
    if given.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "pseudo", text), encoding="utf-8")


def right(catalogue: Catalogue, judge: SoundJudge, *, seed: int, each: int) -> dict[str, dict[str, float]]:
    """Of each set what share of the clips of each test recording is named rightly."""
    known = [one for one in catalogue.clips if one.label in CLASSES]
    draws = [(label, generator(seed, "pseudo", label, number)) for label in CLASSES for number in range(each)]
    outputs = [one for drawn in draws for one in _outputs(catalogue, judge, known, drawn)]
    inputs, stems, said, true = (np.array(column) for column in zip(*outputs, strict=True))
    labels, half = np.repeat(np.arange(len(CLASSES)), each * len(MEANS)), len(inputs) // 2
    order = generator(seed, "pseudo", "half").permutation(len(inputs))
    halves = (order[:half], np.argsort(-said, kind="stable")[:half], np.argsort(-true)[:half])
    sets = [(stems[:: len(MEANS)], labels[:: len(MEANS)]), *((inputs[at], labels[at]) for at in (order, *halves))]
    tests = [clip for clip in known if clip.part == "test"]
    heard = np.array([_features(_clip(catalogue, clip, 0.0)) for clip in tests])
    found: dict[str, dict[str, float]] = {}
    for name, (own, named) in zip(SETS, sets, strict=True):
        marks: dict[str, list[bool]] = {}
        for clip, guess in zip(tests, _softmax(own, named, heard), strict=True):
            marks.setdefault(clip.recording, []).append(CLASSES[guess] == clip.label)
        found[name] = {recording: float(np.mean(marks[recording])) for recording in marks}
    return found


def _outputs(
    catalogue: Catalogue, judge: SoundJudge, known: Sequence[Clip], drawn: tuple[str, np.random.Generator]
) -> list[tuple[Doubles, Doubles, float, float]]:
    """Of each output of a mixture: its features, those of the true stem, the judge's overall score and the true one."""
    label, rng = drawn
    clips = [[one for one in known if one.part == "train" and (one.label == label) is own] for own in (True, False)]
    stem, other = (_clip(catalogue, few[rng.integers(len(few))], float(rng.random())) for few in clips)
    other = other * np.float32(10 ** (rng.uniform(-6, 6) / 20))
    stem, other = (one / np.float32(4 * np.abs(stem + other).max()) for one in (stem, other))
    mixture, made = stem + other, []
    for name in MEANS:
        stems = [other, stem] if name == "wrong source" else [stem, other]
        separator = load_separator("irm" if name == "wrong source" else name)
        made.append(separator.separate(mixture, SoundQuery(text=label), rate_hz=RATE_HZ, stems=stems))
    case = SoundCase(id="", mixture=mixture[None], rate_hz=RATE_HZ, text=label)
    said = [judge(case, one[None]).overall or 0.0 for one in made]
    truths = [getattr(perceptual(one, [stem, other], rate_hz=RATE_HZ), "overall", 0.0) for one in made]
    features, own = [_features(one) for one in made], _features(stem)
    return [(mine, own, *scores) for mine, *scores in zip(features, said, truths, strict=True)]


def _clip(catalogue: Catalogue, clip: Clip, offset: float) -> Samples:
    sound = catalogue.samples([clip.id], seconds=SECONDS, offset=offset, rate_hz=RATE_HZ)
    return sound / np.float32(max(np.sqrt(np.mean(sound**2)), 1e-6))


def _features(sound: Samples) -> Doubles:
    """Mean, deviation and mean change over time in 32 bands, of a sound brought to one level."""
    level = sound / np.float32(10 * max(np.sqrt(np.mean(sound**2)), 1e-6))
    mel = log_mel(resampled(level[None], rate_hz=RATE_HZ, wanted_hz=LOG_MEL_HZ)[0]).reshape(32, 4, -1).mean(axis=1)
    return np.concatenate([mel.mean(axis=1), mel.std(axis=1), np.abs(np.diff(mel, axis=1)).mean(axis=1)]).astype(float)


def _softmax(inputs: Doubles, labels: Any, tests: Doubles) -> Any:
    """The classes of tests by softmax regression with a penalty, fitted by gradient descent."""
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    known, new = (np.pad((one - mean) / spread, ((0, 0), (0, 1)), constant_values=1.0) for one in (inputs, tests))
    weights = np.zeros((known.shape[1], len(CLASSES)))
    for _ in range(400):
        chances = np.exp(known @ weights)
        chances /= chances.sum(axis=1, keepdims=True)
        weights -= 0.2 * (known.T @ (chances - np.eye(len(CLASSES))[labels]) / len(known) + 1e-2 * weights)
    return np.argmax(new @ weights, axis=1)


def table(found: Sequence[Mapping[str, Mapping[str, float]]], *, judge: str) -> str:
    """Accuracy by set, and the difference to a random half, in Markdown; intervals draw recordings."""
    lines = ["| learned from | accuracy | minus a half at random | by seed |", "|---|---|---|---|"]
    recordings = list(found[0][RANDOM])
    for name in SETS:
        mean = {one: float(np.mean([row[name][one] for row in found])) for one in recordings}
        more = {one: mean[one] - float(np.mean([row[RANDOM][one] for row in found])) for one in recordings}
        seeds = ", ".join(f"{np.mean([*row[name].values()]):.2f}" for row in found)
        lines.append(f"| {name} | {_cell(mean)} | {'' if name == RANDOM else _cell(more)} | {seeds} |")
    return (
        "\n".join(lines)
        + f"\n\n`{judge}`; {len(recordings)} test recordings of {len(CLASSES)} classes, {len(found)} seeds."
    )


def _cell(values: Mapping[str, float]) -> str:
    found = mean_ratio(values, clusters={one: one for one in values}, rng=generator(0, "pseudo"))
    low, high = (getattr(found, end, None) for end in ("low", "high"))
    return "–" if low is None or high is None else f"{np.mean([*values.values()]):.2f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    main()
