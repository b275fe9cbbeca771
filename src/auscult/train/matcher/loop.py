"""The training loop: steps that follow from (seed, number) alone, and a checkpoint from which it goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from auscult.errors import UsageError
from auscult.jobs.progress import Progress
from auscult.nets.matcher import Matcher, MatcherSettings
from auscult.rng import generator
from auscult.train.matcher.batches import PARTS, Batch, batch_of
from auscult.train.matcher.frames import Shard, load

_RATE: Final = 2.5e-3
_DECAY: Final = 0.02
_WARM: Final = 60
_COOL: Final = 0.35  # share of the steps over which the rate falls to nothing
_KEPT: Final = 0.998  # of the averaged weights, a step
_SAVED_EVERY_S: Final = 60.0
_NOTED_EVERY: Final = 50
_WEIGHTS: Final = (1.0, 0.3, 0.3)  # categories, colours, textures


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a training run is.

    Attributes:
        shards: Packed frames.
        settings: The network's.
        seed: Of weights, order and every draw.
        steps: How many steps in all.
        folder: Where ``checkpoint.pt`` and ``curve.jsonl`` are kept.
        seconds: Stop after so long and keep the checkpoint; None to go on to the last step.
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
    """Train, or go on where a checkpoint stands.

    Returns:
        The network with averaged weights, in evaluation mode, and how many steps it has seen.
    """
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
    """Of centres, sizes, words of the frame and words of the crops."""
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
    for one in (net, mean):
        one.to(memory_format=torch.channels_last)
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
    kept = min(_KEPT, (1 + state.step) / (10 + state.step))
    with torch.no_grad():
        fresh = state.net.state_dict()
        for name, value in state.mean.state_dict().items():
            if value.dtype.is_floating_point:
                value.lerp_(fresh[name], 1 - kept)
            else:
                value.copy_(fresh[name])
    return np.array([float(part.detach()) for part in parts])


def _batches(run: Run, start: int) -> Iterator[tuple[int, Batch]]:
    """Batches from a step on; each shard is read once and used for as many steps as it has parts."""
    kept: tuple[int, Shard] | None = None
    for number in range(start, run.steps):
        turn, part = divmod(number, PARTS)
        epoch, place = divmod(turn, len(run.shards))
        order = generator(run.seed, "matcher", "shards", epoch).permutation(len(run.shards))
        if kept is None or kept[0] != turn:
            kept = turn, load(run.shards[int(order[place])])
        yield number, batch_of(kept[1], part, seed=run.seed, step=number)


def _planes(pictures: np.ndarray[Any, Any]) -> Tensor:
    planes = torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255
    return planes.contiguous(memory_format=torch.channels_last)


def _focal(logits: Tensor, heat: Tensor) -> Tensor:
    """Penalty-reduced focal loss of CenterNet, Eq. 1, over the number of centres."""
    found = torch.sigmoid(logits).clamp(1e-5, 1 - 1e-5)
    centre = heat >= 1 - 1e-6
    there = ((1 - found) ** 2 * torch.log(found))[centre].sum()
    nowhere = ((1 - heat) ** 4 * found**2 * torch.log(1 - found))[~centre].sum()
    return -(there + nowhere) / centre.sum().clamp(min=1)


def _named(words: Tensor, truth: Tensor, settings: MatcherSettings) -> Tensor:
    total = words.new_zeros(())
    heads = torch.split(words, [settings.categories, settings.colours, settings.textures], 1)
    for number, (head, weight) in enumerate(zip(heads, _WEIGHTS, strict=True)):
        known = truth[:, number] >= 0
        if known.any():
            smooth = 0.05 if number == 0 else 0.1
            total = total + weight * nn.functional.cross_entropy(
                head[known], truth[known, number], label_smoothing=smooth
            )
    return total


def _note(run: Run, step: int, parts: np.ndarray[Any, Any], *, seconds: float) -> None:
    row: Mapping[str, float] = dict(
        zip(("centres", "sizes", "seen", "names"), (round(float(part), 4) for part in parts), strict=True)
    )
    with (run.folder / "curve.jsonl").open("a", encoding="utf-8") as curve:
        curve.write(json.dumps({"step": step, "seconds": round(seconds, 1), **row}) + "\n")


def _save(run: Run, state: _State) -> None:
    unfinished = run.folder / "checkpoint.part"
    torch.save(
        {
            "step": state.step,
            "net": state.net.state_dict(),
            "mean": state.mean.state_dict(),
            "optimizer": state.optimizer.state_dict(),
        },
        unfinished,
    )
    unfinished.replace(run.folder / "checkpoint.pt")


def _resume(run: Run, state: _State) -> None:
    run.folder.mkdir(parents=True, exist_ok=True)
    path = run.folder / "checkpoint.pt"
    if not path.is_file():
        return
    try:
        kept = torch.load(path, weights_only=True)
        state.net.load_state_dict(kept["net"])
        state.mean.load_state_dict(kept["mean"])
        state.optimizer.load_state_dict(kept["optimizer"])
        state.step = int(kept["step"])
    except (RuntimeError, KeyError, ValueError, UnpicklingError) as error:
        raise UsageError(
            "the checkpoint is broken, or of another network",
            expected="what this recipe wrote with the same data",
            hint="use another --out, or remove the file to begin anew",
            path=path,
        ) from error
