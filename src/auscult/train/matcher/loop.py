"""The training loop: steps that follow from (seed, number) alone, and a checkpoint from which it goes on.

    auscult train scenes-identity --data DIR --out DIR --seed 0

It draws frames, trains, exports, calibrates and measures. What takes long is kept in OUT as it comes, so that the same
command goes on where it was stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from auscult.errors import UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.identity.scenes import CROP, MARGIN, NETWORK, WORDS, Eyes, ScenesIdentity
from auscult.judge.identity.scenes_text import Vocabulary, write_vocabulary
from auscult.media.paths import write_bytes
from auscult.nets.matcher import STRIDE, Matcher, MatcherSettings
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.scenes.options import SceneOptions
from auscult.train.matcher.pairs import CROP as KEPT
from auscult.train.matcher.pairs import MARGIN as KEPT_MARGIN
from auscult.train.matcher.pairs import (
    AssetSource,
    SentencePair,
    Shard,
    answers,
    calibrated_words,
    draw_shard,
    lay_out,
    load,
    painted,
    pairs_of,
    save,
    stamps_on,
    tables,
    vocabulary,
)
from auscult.train.network_files import write_onnx
from auscult.train.trainer import write_state
from auscult.types import Floats

FRAMES: Final = 10
PARTS: Final = 10
"""A shard holds ``PARTS`` times ``FRAMES`` frames."""

CROPS: Final = 64
_SHRUNK: Final = CROP * KEPT_MARGIN / (MARGIN * KEPT)  # so that the box of the mask fills as much of the crop as in use
_SPREAD: Final = 0.18  # of a centre's peak, as a share of the thing's width
_CLEAR: Final = 0.75  # where a peak is higher, the cell must predict the words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """What one step learns from."""

    frames: NDArray[np.uint8]  # uint8 (n, h, w, 3)
    heat: Floats  # float32 (n, h/8, w/8): 1 at a centre, falling off around it
    cells: NDArray[np.int64]  # int64 (k, 3): frame, row and column of a cell that must predict its thing
    things: NDArray[np.int64]  # int64 (k, 3): category, colour, texture of that thing; -1 unknown
    areas: Floats  # float32 (k,): natural logarithm of its share of the picture
    crops: NDArray[np.uint8]  # uint8 (m, CROP, CROP, 4)
    names: NDArray[np.int64]  # int64 (m, 3): the same words of the crops


def batch_of(shard: Shard, part: int, *, seed: int, step: int) -> Batch:
    """One batch of a shard; follows from (shard, part, seed, step) alone."""
    rng = generator(seed, "matcher", "batch", step)
    order = generator(seed, "matcher", "order", step - part).permutation(len(shard.frames))
    chosen = np.take(order, np.arange(part * FRAMES, (part + 1) * FRAMES), mode="wrap")  # a small shard is repeated
    flips = rng.random(len(chosen)) < 0.5
    frames = np.stack([_lit(rng, _flipped(shard.frames[i], flip)) for i, flip in zip(chosen, flips, strict=True)])
    heat, cells, rows = _maps(shard, chosen, flips)
    crops = rng.permutation(len(shard.crops))[:CROPS]
    return Batch(
        frames=frames,
        heat=heat,
        cells=cells,
        things=shard.things[rows, 1:].astype(np.int64),
        areas=np.log(shard.places[rows, 2]).astype(np.float32),
        crops=np.stack([_candidate(rng, shard.crops[index]) for index in crops]),
        names=shard.things[crops, 1:].astype(np.int64),
    )


def _maps(
    shard: Shard, chosen: NDArray[np.int64], flips: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    height, width = (side // STRIDE for side in shard.frames.shape[1:3])
    heat = np.zeros((len(chosen), height, width), np.float32)
    owner = np.full(heat.shape, -1, np.int64)
    columns, lines = np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)
    for index, (frame, flip) in enumerate(zip(chosen, flips, strict=True)):
        for row in np.flatnonzero(shard.things[:, 0] == frame):
            x, y, share = (float(value) for value in shard.places[row])
            x = (1 - x if flip else x) * width - 0.5
            y = y * height - 0.5
            spread = max(0.7, _SPREAD * float(np.sqrt(share * width * height)))
            peak = np.exp(-((columns[None] - round(x)) ** 2 + (lines[:, None] - round(y)) ** 2) / (2 * spread**2))
            better = peak > heat[index]
            heat[index] = np.where(better, peak, heat[index])
            owner[index] = np.where(better & (peak >= _CLEAR), row, owner[index])
    cells = np.argwhere(owner >= 0)
    return heat, cells, owner[tuple(cells.T)]


def _flipped(picture: NDArray[np.uint8], flip: bool) -> NDArray[np.uint8]:  # noqa: FBT001 - drawn, not chosen by a caller
    return np.ascontiguousarray(picture[:, ::-1]) if flip else picture


def _lit(rng: np.random.Generator, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Another light, some blur or noise: what a camera does differently."""
    value = picture.astype(np.float32) / 255
    value = np.clip(value, 0, 1) ** float(np.exp(rng.uniform(-0.25, 0.25)))
    value = (value - 0.5) * float(rng.uniform(0.85, 1.15)) + 0.5 + float(rng.uniform(-0.05, 0.05))
    value = value * rng.uniform(0.94, 1.06, 3).astype(np.float32)
    if rng.random() < 0.3:
        value = np.asarray(cv2.GaussianBlur(value, (0, 0), float(rng.uniform(0.4, 1.0))), dtype=value.dtype)
    if rng.random() < 0.3:
        value = value + rng.normal(0, float(rng.uniform(0.005, 0.03)), value.shape).astype(np.float32)
    return np.asarray(np.clip(value * 255, 0, 255), dtype=np.uint8)


def _candidate(rng: np.random.Generator, crop: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A kept crop turned, stretched and shifted, under a candidate mask: whole, cut, grown, shrunk or merged."""
    kind = str(rng.choice(["perfect", "dilate", "erode", "cutout", "merge"], p=[0.36, 0.16, 0.16, 0.16, 0.16]))
    target, others = ((crop[..., 3] >> bit & 1).astype(np.uint8) for bit in (0, 1))
    mask = _defective(rng, target, others, kind=kind)
    small = float(rng.uniform(0.55, 1.0)) if kind == "merge" and others.any() else 1.0
    turn, shift = float(rng.uniform(-18, 18)), 3.0 + 16 * (1 - small)
    matrix = cv2.getRotationMatrix2D(
        (KEPT / 2, KEPT / 2), turn, _SHRUNK * small * float(np.exp(rng.uniform(-0.15, 0.15)))
    )
    matrix[0] *= float(np.exp(rng.uniform(-0.12, 0.12)))
    centre = matrix @ np.array([KEPT / 2, KEPT / 2, 1.0])
    matrix[:, 2] += CROP / 2 - centre + rng.uniform(-shift, shift, 2)
    if rng.random() < 0.5:
        matrix[0] = np.array([0, 0, CROP]) - matrix[0]
    turned = cv2.warpAffine(
        np.dstack([_lit(rng, crop[..., :3]), mask * 255]), matrix, (CROP, CROP), flags=cv2.INTER_LINEAR
    )
    turned[..., 3] = np.where(turned[..., 3] >= 128, 255, 0)
    return np.asarray(turned, dtype=np.uint8)


def _defective(
    rng: np.random.Generator, target: NDArray[np.uint8], others: NDArray[np.uint8], *, kind: str
) -> NDArray[np.uint8]:
    size = int(rng.integers(1, 5))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * size + 1, 2 * size + 1))
    mask = target
    if kind == "dilate":
        mask = cv2.dilate(target, kernel).astype(np.uint8)
    elif kind == "erode":
        mask = cv2.erode(target, kernel).astype(np.uint8)
    elif kind == "cutout":
        rows, columns = np.ogrid[:KEPT, :KEPT]
        y, x = rng.uniform(0.2, 0.8, 2) * KEPT
        hole = (rows - y) ** 2 + (columns - x) ** 2 <= float(rng.uniform(5, 16)) ** 2
        mask = np.where(hole, 0, target).astype(np.uint8)
    elif kind == "merge":
        mask = target | others
    return mask if mask.any() else target


def export(net: Matcher, path: Path) -> Path:
    """Write a network in evaluation mode as ``scenes.onnx``; frames of any size, any number of crops."""
    net = net.eval().to(memory_format=torch.contiguous_format)
    example = (torch.zeros(1, 3, 144, 256), torch.zeros(2, 4, CROP, CROP))
    maps = {0: "frames", 2: "rows", 3: "columns"}
    return write_onnx(
        net,
        example,
        path,
        inputs=("frame", "crop"),
        outputs=("centres", "seen", "names"),
        axes={
            "frame": {0: "frames", 2: "height", 3: "width"},
            "crop": {0: "crops"},
            "centres": maps,
            "seen": maps,
            "names": {0: "crops"},
        },
    )


_RATE: Final = 2.5e-3
_DECAY: Final = 0.02
_WARM: Final = 60
_COOL: Final = 0.35  # share of the steps over which the rate falls to nothing
_KEPT: Final = 0.998  # of the averaged weights, a step
_SAVED_EVERY_S: Final = 60.0
_NOTED_EVERY: Final = 50
_SAVED: Final = ("net", "mean", "optimizer")
_WEIGHTS: Final = (1.0, 0.3, 0.3)  # categories, colours, textures


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Options of a training run; ``checkpoint.pt`` and ``curve.jsonl`` are kept in its folder.

    It stops after so many ``seconds`` and keeps the checkpoint, or goes on to the last of all ``steps``. The ``seed``
    is that of weights, order and every draw.
    """

    shards: Sequence[Path]
    settings: MatcherSettings
    seed: int
    steps: int
    folder: Path
    seconds: float | None = None


@dataclass(slots=True)
class _State:
    net: Matcher
    mean: Matcher
    optimizer: torch.optim.Optimizer
    step: int = 0


def train(run: Run, progress: Progress) -> tuple[Matcher, int]:
    """Train, or continue from a checkpoint: the averaged network, in evaluation mode, and its steps so far."""
    state = _fresh(run)
    _resume(run, state)
    progress.stage("training", run.steps)
    progress.step(state.step)
    began = saved = time.monotonic()
    sums, summed = np.zeros(4), 0
    for number, batch in _batches(run, state.step):
        if run.seconds is not None and time.monotonic() - began > run.seconds:
            break
        sums += _stepped(state, batch, rate=rate_at(number, run.steps))
        summed += 1
        state.step = number + 1
        progress.step()
        if state.step % _NOTED_EVERY == 0:
            _note(run, state.step, sums / summed, seconds=time.monotonic() - began)
            sums, summed = np.zeros(4), 0
        if time.monotonic() - saved > _SAVED_EVERY_S:
            _save(run, state)
            saved = time.monotonic()
    _save(run, state)
    return state.mean.eval(), state.step


def rate_at(step: int, steps: int) -> float:
    """The learning rate: a short rise, a long level, then a fall to nothing over the last third."""
    left = (steps - step) / max(1.0, _COOL * steps)
    return _RATE * min(1.0, (step + 1) / _WARM, left)


def losses(net: Matcher, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Losses of centres, sizes, words of the frame and words of the crops."""
    frames, crops = _planes(batch.frames), _planes(batch.crops)
    cells = torch.from_numpy(batch.cells)
    centres, words = net.looker.at(frames, cells)
    names = net.namer(crops)
    number, row, column = cells.unbind(1)
    size = nn.functional.smooth_l1_loss(centres[number, 1, row, column], torch.from_numpy(batch.areas))
    return (
        _focal(centres[:, 0], torch.from_numpy(batch.heat)),
        size,
        _named(words, torch.from_numpy(batch.things), net.settings),
        _named(names, torch.from_numpy(batch.names), net.settings),
    )


def _fresh(run: Run) -> _State:
    torch.manual_seed(int(generator(run.seed, "matcher", "weights").integers(2**31)))
    net, mean = Matcher(run.settings), Matcher(run.settings)
    mean.load_state_dict(net.state_dict())
    for model in (net, mean):
        model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    return _State(net=net, mean=mean, optimizer=optimizer)


def _stepped(state: _State, batch: Batch, *, rate: float) -> np.ndarray[Any, Any]:
    state.net.train()
    for group in state.optimizer.param_groups:
        group["lr"] = rate
    parts = losses(state.net, batch)
    state.optimizer.zero_grad(set_to_none=True)
    (parts[0] + 0.3 * parts[1] + parts[2] + parts[3]).backward()
    nn.utils.clip_grad_norm_(state.net.parameters(), 5.0)
    state.optimizer.step()
    decay = min(_KEPT, (1 + state.step) / (10 + state.step))
    with torch.no_grad():
        fresh = state.net.state_dict()
        for name, value in state.mean.state_dict().items():
            if value.dtype.is_floating_point:
                value.lerp_(fresh[name], 1 - decay)
            else:
                value.copy_(fresh[name])
    return np.array([float(part.detach()) for part in parts])


def _batches(run: Run, start: int) -> Iterator[tuple[int, Batch]]:
    """Batches from a step on; each shard is read once and used for as many steps as it has parts."""
    loaded: tuple[int, Shard] | None = None
    for number in range(start, run.steps):
        turn, part = divmod(number, PARTS)
        epoch, position = divmod(turn, len(run.shards))
        order = generator(run.seed, "matcher", "shards", epoch).permutation(len(run.shards))
        if loaded is None or loaded[0] != turn:
            loaded = turn, load(run.shards[int(order[position])])
        yield number, batch_of(loaded[1], part, seed=run.seed, step=number)


def _planes(pictures: np.ndarray[Any, Any]) -> Tensor:
    planes = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255
    return planes.contiguous(memory_format=torch.channels_last)


def _focal(logits: Tensor, heat: Tensor) -> Tensor:
    """Penalty-reduced focal loss of CenterNet, Eq. 1, over the number of centres."""
    probability = torch.sigmoid(logits).clamp(1e-5, 1 - 1e-5)
    centre = heat >= 1 - 1e-6
    positive = ((1 - probability) ** 2 * torch.log(probability))[centre].sum()
    negative = ((1 - heat) ** 4 * probability**2 * torch.log(1 - probability))[~centre].sum()
    return -(positive + negative) / centre.sum().clamp(min=1)


def _named(words: Tensor, truth: Tensor, settings: MatcherSettings) -> Tensor:
    total = words.new_zeros(())
    heads = torch.split(words, [settings.categories, settings.colours, settings.textures], 1)
    for number, (head, weight) in enumerate(zip(heads, _WEIGHTS, strict=True)):
        labelled = truth[:, number] >= 0
        if labelled.any():
            smooth = 0.05 if number == 0 else 0.1
            total = total + weight * nn.functional.cross_entropy(
                head[labelled], truth[labelled, number], label_smoothing=smooth
            )
    return total


def _note(run: Run, step: int, parts: np.ndarray[Any, Any], *, seconds: float) -> None:
    row: Mapping[str, float] = dict(
        zip(("centres", "sizes", "seen", "names"), (round(float(part), 4) for part in parts), strict=True)
    )
    with (run.folder / "curve.jsonl").open("a", encoding="utf-8") as curve:
        curve.write(json.dumps({"step": step, "seconds": round(seconds, 1), **row}) + "\n")


def _save(run: Run, state: _State) -> None:
    parts = {name: getattr(state, name).state_dict() for name in _SAVED}
    write_state(run.folder / "checkpoint.pt", {"step": state.step, **parts})


def _resume(run: Run, state: _State) -> None:
    run.folder.mkdir(parents=True, exist_ok=True)
    path = run.folder / "checkpoint.pt"
    if not path.is_file():
        return
    try:
        saved = torch.load(path, weights_only=True)
        for name in _SAVED:
            getattr(state, name).load_state_dict(saved[name])
        state.step = int(saved["step"])
    except (RuntimeError, KeyError, ValueError, UnpicklingError) as error:
        raise UsageError(
            "the checkpoint is broken, or of another network",
            expected="what this recipe wrote with the same data",
            hint="use another --out, or remove the file to begin anew",
            path=path,
        ) from error


STEPS: Final = 12_000
MINUTES: Final = 150.0
_PAINTED_EACH: Final = (2, 5, 8)  # of ten shards, these are of generated things
_PAIRS: Final = SceneOptions(size=(240, 427))
_CALIBRATION_SEED, _TEST_SEED = 1, 2  # added to the run's, so that no scene comes twice


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """How much is drawn: files of training frames, scenes of a file, and scenes of each set that is measured."""

    shards: int = 200
    scenes: int = 50
    pair_scenes: int = 150


_ALL: Final = Amounts()


def scenes_identity(options: TrainOptions, progress: Progress, amounts: Amounts = _ALL) -> Iterator[Path]:
    """Draw, train, export, calibrate, measure."""
    torch.set_num_threads(options.threads)
    total_steps = STEPS if options.samples is None else max(1, options.samples // FRAMES)
    (photographed,) = stamps_on(lay_out(options.material(), options.out, "train"), ["train"])
    sources = (photographed, painted("train"))
    words = vocabulary(sources)
    shards = pack(options, amounts, sources=sources, words=words, progress=progress)
    settings = MatcherSettings(
        categories=len(words.categories), colours=len(words.colours), textures=len(words.textures)
    )
    run = Run(
        shards=shards,
        settings=settings,
        seed=options.seed,
        steps=total_steps,
        folder=options.out,
        seconds=60 * (MINUTES if options.minutes is None else options.minutes),
    )
    net, steps = train(run, progress)
    yield export(net, options.out / NETWORK)
    words = calibrate(options, amounts, words=words, progress=progress)
    yield write_vocabulary(words, options.out / WORDS)
    numbers = measured(options, amounts, words=words, progress=progress) | {"steps": steps, "of_steps": total_steps}
    path = options.out / f"{numbers['judge']}.json"
    write_bytes(path, dump(numbers, indent=1) + b"\n")
    yield path


def pack(
    options: TrainOptions,
    amounts: Amounts,
    *,
    sources: tuple[AssetSource, AssetSource],
    words: Vocabulary,
    progress: Progress,
) -> list[Path]:
    """Draw the files of training frames that are not there yet; three of ten are of generated things."""
    photographed, generated = sources
    progress.stage("drawing frames", amounts.shards)
    paths = []
    for number in range(amounts.shards):
        path = options.out / "frames" / f"{number:04d}.npz"
        if not path.is_file():
            source = generated if number % 10 in _PAINTED_EACH else photographed
            shard = draw_shard(source, number, seed=options.seed, scenes=amounts.scenes, words=words)
            save(shard, path)
        paths.append(path)
        progress.step()
    return paths


def calibrate(options: TrainOptions, amounts: Amounts, *, words: Vocabulary, progress: Progress) -> Vocabulary:
    """Sharpness and curve, from training things on photographs of the calibration part."""
    (source,) = stamps_on(lay_out(options.material(), options.out, "calibration"), ["train"])
    pairs = _pairs(
        {"calibration": source}, amounts.pair_scenes, seed=options.seed + _CALIBRATION_SEED, progress=progress
    )
    write_vocabulary(words, options.out / WORDS)
    eyes = Eyes(options.out)
    return calibrated_words(words, pairs["calibration"], lambda other: ScenesIdentity(eyes=eyes.with_words(other)))


def measured(options: TrainOptions, amounts: Amounts, *, words: Vocabulary, progress: Progress) -> dict[str, Any]:
    """Numbers on photographs of the test part, and on generated scenes of the test shelves."""
    root = lay_out(options.material(), options.out, "test")
    trained, seen, unseen = stamps_on(root, ["train", "test_s", "test_u"])
    sources = {
        "seen things, unseen photographs": trained,
        "unseen things of seen categories": seen,
        "unseen categories": unseen,
        "generated, seen categories": painted("test_s"),
        "generated, unseen categories": painted("test_u"),
    }
    pairs = _pairs(sources, amounts.pair_scenes, seed=options.seed + _TEST_SEED, progress=progress)
    check = ScenesIdentity(eyes=Eyes(options.out).with_words(words))
    progress.stage("measuring", len(pairs))
    sets = {}
    for name, of_set in pairs.items():
        sets[name] = tables(answers(check, of_set))
        progress.step()
    return {"judge": check.name, "seed": options.seed, "scenes_each": amounts.pair_scenes, "sets": sets}


def _pairs(
    sources: Mapping[str, AssetSource], scenes: int, *, seed: int, progress: Progress
) -> dict[str, list[SentencePair]]:
    progress.stage("sentences and candidates", scenes * len(sources))
    pairs: dict[str, list[SentencePair]] = {}
    for name, source in sources.items():
        pairs[name] = []
        for scene in range(scenes):
            pairs[name] += pairs_of(source, scene, seed=seed, options=_PAIRS)
            progress.step()
    return pairs
