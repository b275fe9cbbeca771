"""Every sample is shown as often as asked, a run that continues shows the same, and what is shown stays in step."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from auscult.rng import generator
from auscult.train.compact import echo
from auscult.train.compact.feed import Arrays

SIZE, BLOCK, ECHO = 4, 5, 3


def made(first: int) -> Iterator[Arrays]:
    for number in itertools.count(first):
        rng = generator(0, "made", number)
        yield {
            "crop": rng.integers(0, 256, (SIZE, 6, 4, 4), dtype=np.uint8),
            "context": rng.integers(0, 256, (SIZE, 5, 4, 4), dtype=np.uint8),
            "strip": rng.integers(0, 256, (SIZE, 6, 2, 8), dtype=np.uint8),
            "truth": rng.integers(0, 256, (SIZE, 2, 2), dtype=np.uint8),
            "profile": rng.integers(0, 256, (SIZE, 2, 4), dtype=np.uint8),
            "iou": np.arange(number * SIZE, (number + 1) * SIZE).astype(np.float32),
        }


def shown(first: int, count: int) -> list[Arrays]:
    begin = first // (BLOCK * ECHO) * BLOCK
    return list(itertools.islice(echo.echoed(made(begin), seed=1, size=SIZE, echo=ECHO, first=first), count))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo, "BLOCK", BLOCK)


def test_each_sample_is_shown_as_often_as_asked() -> None:
    seen = Counter(float(iou) for batch in shown(0, 2 * BLOCK * ECHO) for iou in batch["iou"])
    assert len(seen) == 2 * BLOCK * SIZE
    assert set(seen.values()) == {ECHO}


@pytest.mark.parametrize("first", [1, 4, 5, 7, 14, 15, 16, 22])
def test_a_run_that_continues_shows_the_same(first: int) -> None:
    whole = shown(0, first + 6)[first:]
    for one, other in zip(whole, shown(first, 6), strict=True):
        assert all((one[name] == other[name]).all() for name in one)


def test_the_second_time_the_order_and_the_pictures_are_others() -> None:
    batches = shown(0, BLOCK * ECHO)
    first, second = batches[:BLOCK], batches[BLOCK : 2 * BLOCK]
    assert [list(batch["iou"]) for batch in first] != [list(batch["iou"]) for batch in second]
    by_iou = {float(iou): batch["crop"][at] for batch in first for at, iou in enumerate(batch["iou"])}
    again = [(by_iou[float(iou)], batch["crop"][at]) for batch in second for at, iou in enumerate(batch["iou"])]
    assert sum((one == other).all() for one, other in again) < len(again) / 2


def test_what_is_mirrored_is_mirrored_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for amount in ("_GAIN", "_LIFT", "_OWN_LIFT"):
        monkeypatch.setattr(echo, amount, 0.0)
    batch = next(made(0))
    found = echo.changed(batch, generator(2, "changed"))
    turned = [bool((found["truth"][at] != batch["truth"][at]).any()) for at in range(SIZE)]
    assert 0 < sum(turned) < SIZE
    for name in ("crop", "context", "strip", "truth", "profile"):
        for at in range(SIZE):
            assert (found[name][at] == (batch[name][at][..., ::-1] if turned[at] else batch[name][at])).all()
    assert (batch["crop"] == next(made(0))["crop"]).all()


def test_the_grey_outside_the_frame_stays() -> None:
    batch = next(made(0))
    batch["crop"][:, :3, :2] = 128
    found = echo.changed(batch, generator(3, "changed"))
    assert (found["crop"][:, :3, :2] == 128).all()
    assert (found["crop"][:, :3, 2:] != batch["crop"][:, :3, 2:]).mean() > 0.9
