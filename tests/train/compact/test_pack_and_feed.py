"""The pack gives back what went in and refuses what is damaged; a batch follows from its number alone."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, OutputError
from auscult.train.compact import pack as packs
from auscult.train.compact.batches import batches
from auscult.train.compact.feed import TYPES, Feed
from auscult.train.compact.pack import read_pack, write_pack
from small_packs import drawn, packed


def test_a_pack_gives_back_what_went_in(tmp_path: Path) -> None:
    frames = [packed(0), packed(1, before=0, part="calibration")]
    size = write_pack(tmp_path / "p.zip", frames)
    found = read_pack(tmp_path / "p.zip")
    assert size == (tmp_path / "p.zip").stat().st_size
    assert [one.before for one in found] == [None, 0]
    assert found[1].part == "calibration"
    _, mask, other = drawn(1)
    assert (found[1].masks()[0] == mask).all()
    assert (found[1].masks()[1] == other).all()
    assert np.abs(found[1].frame().astype(int) - drawn(1)[0]).mean() < 20


def test_a_pack_over_the_bound_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "MOST_BYTES", 1000)
    with pytest.raises(OutputError, match="MiB"):
        write_pack(tmp_path / "p.zip", [packed(0)])
    assert not (tmp_path / "p.zip").exists()


@pytest.mark.parametrize("content", [b"", b"not a zip", None])
def test_a_damaged_pack_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "p.zip"
    if content is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("index.json", json.dumps({"schema": 1, "frames": [{"file": "../x"}]}))
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match="pack") as caught:
        read_pack(path)
    assert "p.zip" in str(caught.value)


def test_a_missing_pack_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_pack(tmp_path / "none.zip")


def test_a_batch_follows_from_its_number_alone(pack: Path) -> None:
    one = Feed(read_pack(pack), seed=1)
    other = Feed(read_pack(pack), seed=1)
    other.batch(0, 8)
    first, second = one.batch(5, 8), other.batch(5, 8)
    assert all((first[name] == second[name]).all() for name in first)
    assert any((first[name] != one.batch(6, 8)[name]).any() for name in first)


def test_workers_hand_out_the_same_batches_in_order(pack: Path) -> None:
    with batches(pack, seed=2, size=8, first=3, workers=0) as here, batches(pack, seed=2, size=8, first=3) as there:
        for _ in range(3):
            one, two = next(here), next(there)
            assert all((one[name] == two[name]).all() for name in one)


def test_what_a_batch_says_fits_together(pack: Path) -> None:
    batch = Feed(read_pack(pack), seed=4).batch(0, 32)
    assert batch["crop"].shape == (32, 6, 128, 128)
    assert batch["strip"].shape == (32, 6, 24, 256)
    assert batch["cues"].shape == (32, 169)
    assert batch["profile"].shape == (32, 24, 64)
    assert set(np.unique(batch["type"])) <= set(range(-1, len(TYPES)))
    perfect = batch["type"] == TYPES.index("perfect")
    assert perfect.any()
    assert (batch["iou"][perfect] >= 0.97).all()
    mask = batch["crop"][:, 3, ::2, ::2] >= 128
    truth = batch["truth"] >= 128
    overlap = (mask & truth).sum((1, 2)) / (mask | truth).sum((1, 2))
    near = np.abs(overlap - batch["iou"]) < 0.2  # the grid is coarse, and what lies outside the crop is not on it
    assert near.mean() > 0.7
