"""Batches and training of the matcher: the same from the same seed, and the same whether or not it was stopped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch

from auscult.errors import UsageError
from auscult.jobs.runner import Silent
from auscult.judge.identity.scenes import CROP
from auscult.nets.matcher import STRIDE, Matcher, MatcherSettings
from auscult.rng import generator
from auscult.train.matcher.loop import FRAMES, Run, batch_of, rate_at, train
from auscult.train.matcher.pairs import CROP as KEPT
from auscult.train.matcher.pairs import Shard, load, save

pytestmark = pytest.mark.extra_train
SETTINGS = MatcherSettings(categories=3, colours=2, textures=2)


def shard(seed: int = 0) -> Shard:
    """Four small frames with two things each; the third category is a bright square, the others are dark."""
    rng = generator(seed, "shard")
    frames = rng.integers(60, 120, (4, 64, 96, 3), dtype=np.uint8)
    object_rows, places, crops = [], [], []
    for frame in range(4):
        for side in range(2):
            category = (frame + side) % 3
            x, y = 20 + 48 * side, 24 + 4 * frame
            frames[frame, y - 8 : y + 8, x - 8 : x + 8] = 240 if category == 2 else 20 * category
            object_rows.append((frame, category, side, -1))
            places.append(((x) / 96, (y) / 64, 256 / (64 * 96)))
            crop = np.full((KEPT, KEPT, 4), 90, np.uint8)
            crop[..., 3] = 0
            crop[20:60, 20:60, :3] = 240 if category == 2 else 20 * category
            crop[20:60, 20:60, 3] = 1
            crop[70:, :, 3] = 2
            crops.append(crop)
    return Shard(
        frames=frames,
        things=np.array(object_rows, np.int32),
        places=np.array(places, np.float32),
        crops=np.stack(crops),
    )


def test_a_shard_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = shard()
    save(written, tmp_path / "deep" / "0000.npz")
    loaded = load(tmp_path / "deep" / "0000.npz")
    for name in written.__slots__:
        assert np.array_equal(getattr(written, name), getattr(loaded, name)), name
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["0000.npz"]


def test_a_batch_follows_from_seed_and_step() -> None:
    first, second, other = (batch_of(shard(), 1, seed=0, step=step) for step in (7, 7, 8))
    for name in first.__slots__:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert not np.array_equal(first.crops, other.crops)
    assert first.frames.shape == (FRAMES, 64, 96, 3)
    assert first.heat.shape == (FRAMES, 64 // STRIDE, 96 // STRIDE)
    assert first.crops.shape[1:] == (CROP, CROP, 4)


def test_each_centre_is_a_peak_that_knows_its_thing() -> None:
    batch = batch_of(shard(), 0, seed=3, step=0)
    assert (batch.heat == 1).sum() == 2 * FRAMES
    centres_at = tuple(batch.cells.T)
    assert (batch.heat[centres_at] >= 0.75).all()
    assert set(batch.things[:, 0]) <= {0, 1, 2}
    assert np.allclose(np.exp(batch.areas), 256 / (64 * 96))


def test_every_candidate_holds_something() -> None:
    for step in range(6):
        batch = batch_of(shard(), 0, seed=1, step=step)
        assert (batch.crops[..., 3].reshape(len(batch.crops), -1).max(axis=1) == 255).all()


def test_what_is_looked_up_at_cells_is_what_the_map_says() -> None:
    net = Matcher(SETTINGS).eval()
    frame = torch.rand(2, 3, 64, 96)
    cells = torch.tensor([[0, 1, 2], [1, 7, 11]])
    with torch.no_grad():
        all_centres, seen_map = net.looker(frame)
        centres, words = net.looker.at(frame, cells)
    assert torch.allclose(all_centres, centres)
    assert torch.allclose(words, torch.stack([seen_map[0, :, 1, 2], seen_map[1, :, 7, 11]]), atol=1e-6)


def test_the_rate_rises_stays_and_falls_to_nothing() -> None:
    rates = [rate_at(step, 1000) for step in range(1001)]
    assert rates[0] < rates[59] == rates[600] > rates[900] > rates[1000] == 0.0


def run_in(folder: Path, *, steps: int, seconds: float | None = None) -> Run:
    path = folder / "0000.npz"
    if not path.is_file():
        save(shard(), path)
    return Run(shards=[path], settings=SETTINGS, seed=5, steps=steps, folder=folder, seconds=seconds)


def test_a_run_that_was_stopped_ends_like_one_that_was_not(tmp_path: Path) -> None:
    straight, _ = train(run_in(tmp_path / "whole", steps=3), Silent())
    _, n_steps = train(run_in(tmp_path / "parts", steps=3, seconds=0.0), Silent())
    assert n_steps < 3
    resumed, steps = train(run_in(tmp_path / "parts", steps=3), Silent())
    assert steps == 3
    for name, value in straight.state_dict().items():
        assert torch.allclose(value, resumed.state_dict()[name], atol=1e-6), name
    assert (tmp_path / "parts" / "checkpoint.pt").stat().st_size < 16 * 2**20


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    torch.save({"step": 1, "net": {}, "mean": {}, "optimizer": {}}, tmp_path / "checkpoint.pt")
    with pytest.raises(UsageError):
        train(run_in(tmp_path, steps=1), Silent())


@pytest.mark.slow
def test_it_learns(tmp_path: Path) -> None:
    net, _ = train(run_in(tmp_path, steps=150), Silent())
    rows = [json.loads(line) for line in (tmp_path / "curve.jsonl").read_text(encoding="utf-8").splitlines()]
    chance = np.log(3) + 0.3 * np.log(2)  # of the category and, weighing less, the colour
    assert rows[-1]["names"] < 0.6 * chance
    assert rows[-1]["seen"] < 0.6 * chance
    assert rows[-1]["centres"] < rows[0]["centres"]
    assert not net.training
