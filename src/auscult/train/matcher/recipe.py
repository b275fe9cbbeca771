"""The recipe of `identity.scenes.v1`, one command::

    auscult train scenes-identity --data DIR --out DIR --seed 0

It draws frames, trains, exports, calibrates and measures. What takes long is kept in OUT as it comes, so that the same
command goes on where it was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from auscult.errors import OutputError
from auscult.jobs.progress import Progress
from auscult.judge.identity.scenes import NETWORK, WORDS, Eyes, ScenesIdentity
from auscult.judge.identity.scenes_text import Vocabulary, write_vocabulary
from auscult.scenes.plan import SceneOptions
from auscult.train.matcher import frames, measure
from auscult.train.matcher.assets import Source, lay_out, painted, stamps_on, vocabulary
from auscult.train.matcher.pairs import Pair, pairs_of

SHARDS: Final = 200
SCENES: Final = 50
"""Scenes of a shard; each gives `frames.SHOTS` frames."""

STEPS: Final = 12_000
MINUTES: Final = 150.0
PAIR_SCENES: Final = 150
_PAINTED_EACH: Final = (2, 5, 8)  # of ten shards, these are of generated things
_PAIRS: Final = SceneOptions(size=(240, 427))
_CALIBRATION_SEED, _TEST_SEED = 1, 2  # added to the run's, so that no scene comes twice


@dataclass(frozen=True, slots=True, kw_only=True)
class MatcherOptions:
    """What the recipe may be told.

    Attributes:
        data: Folder of real material.
        out: For all it makes.
        seed: Of everything that is drawn.
        steps: Training steps in all.
        minutes: Stop training after so long; the same command goes on.
        shards: Files of training frames.
        scenes: Scenes of a file.
        pair_scenes: Scenes of each set that is measured.
        threads: Of the network's arithmetic.
    """

    data: Path
    out: Path
    seed: int = 0
    steps: int = STEPS
    minutes: float = MINUTES
    shards: int = SHARDS
    scenes: int = SCENES
    pair_scenes: int = PAIR_SCENES
    threads: int = 1


def scenes_identity(options: MatcherOptions, progress: Progress) -> Iterator[Path]:
    """Draw, train, export, calibrate, measure.

    Yields:
        ``scenes.onnx``, ``scenes.json``, and, once training is through, ``identity.scenes.v1.json`` with what was
        measured. Where training was stopped before its last step the numbers are there too and say how far it was.

    Raises:
        UsageError: The extra ``train`` is not installed.
        InputError: The data is missing or broken.
        OutputError: A file cannot be written.
    """
    import torch

    from auscult.nets.matcher import MatcherSettings
    from auscult.train.matcher.export import export
    from auscult.train.matcher.loop import Run, train

    torch.set_num_threads(options.threads)
    (photographed,) = stamps_on(lay_out(options.data, options.out, "train"), ["train"])
    sources = (photographed, painted("train"))
    words = vocabulary(sources)
    shards = pack(options, sources, words=words, progress=progress)
    settings = MatcherSettings(
        categories=len(words.categories), colours=len(words.colours), textures=len(words.textures)
    )
    run = Run(
        shards=shards,
        settings=settings,
        seed=options.seed,
        steps=options.steps,
        folder=options.out,
        seconds=60 * options.minutes,
    )
    net, steps = train(run, progress)
    yield export(net, options.out / NETWORK)
    words = calibrate(options, words, progress)
    yield write_vocabulary(words, options.out / WORDS)
    yield _written(measured(options, words, progress) | {"steps": steps, "of_steps": options.steps}, options.out)


def pack(
    options: MatcherOptions, sources: tuple[Source, Source], *, words: Vocabulary, progress: Progress
) -> list[Path]:
    """Draw the files of training frames that are not there yet; three of ten are of generated things."""
    photographed, drawn = sources
    progress.stage("drawing frames", options.shards)
    found = []
    for number in range(options.shards):
        path = options.out / "frames" / f"{number:04d}.npz"
        if not path.is_file():
            source = drawn if number % 10 in _PAINTED_EACH else photographed
            shard = frames.draw_shard(source, number, seed=options.seed, scenes=options.scenes, words=words)
            frames.save(shard, path)
        found.append(path)
        progress.step()
    return found


def calibrate(options: MatcherOptions, words: Vocabulary, progress: Progress) -> Vocabulary:
    """Sharpness and curve, from training things on photographs of the calibration part."""
    (source,) = stamps_on(lay_out(options.data, options.out, "calibration"), ["train"])
    pairs = _pairs(options, {"calibration": source}, seed=options.seed + _CALIBRATION_SEED, progress=progress)
    write_vocabulary(words, options.out / WORDS)
    eyes = Eyes(options.out)
    return measure.calibrated_words(words, pairs["calibration"], lambda other: ScenesIdentity(eyes=eyes.told(other)))


def measured(options: MatcherOptions, words: Vocabulary, progress: Progress) -> dict[str, Any]:
    """Numbers on photographs of the test part, and on generated scenes of the test shelves."""
    root = lay_out(options.data, options.out, "test")
    trained, seen, unseen = stamps_on(root, ["train", "test_s", "test_u"])
    sources = {
        "seen things, unseen photographs": trained,
        "unseen things of seen categories": seen,
        "unseen categories": unseen,
        "generated, seen categories": painted("test_s"),
        "generated, unseen categories": painted("test_u"),
    }
    pairs = _pairs(options, sources, seed=options.seed + _TEST_SEED, progress=progress)
    check = ScenesIdentity(eyes=Eyes(options.out).told(words))
    progress.stage("measuring", len(pairs))
    sets = {}
    for name, of_set in pairs.items():
        sets[name] = measure.tables(measure.answers(check, of_set))
        progress.step()
    return {"judge": check.name, "seed": options.seed, "scenes_each": options.pair_scenes, "sets": sets}


def _pairs(
    options: MatcherOptions, sources: Mapping[str, Source], *, seed: int, progress: Progress
) -> dict[str, list[Pair]]:
    progress.stage("sentences and candidates", options.pair_scenes * len(sources))
    found: dict[str, list[Pair]] = {}
    for name, source in sources.items():
        found[name] = []
        for scene in range(options.pair_scenes):
            found[name] += pairs_of(source, scene, seed=seed, options=_PAIRS)
            progress.step()
    return found


def _written(value: Mapping[str, Any], out: Path) -> Path:
    path = out / "identity.scenes.v1.json"
    try:
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path
