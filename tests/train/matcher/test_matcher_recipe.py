"""The recipe from the data folder to files that the check loads, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from auscult.errors import InputError
from auscult.scenes.options import SceneOptions
from auscult.train.matcher.pairs import lay_out, painted, stamps_on, vocabulary
from auscult.train.material import committed


def test_without_the_data_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        lay_out(tmp_path / "nowhere", tmp_path / "out", "train")
    assert "DATA.md" in error.value.expected


@pytest.mark.slow
def test_backgrounds_are_of_their_part_and_test_things_are_not_trained_on(data: Path, tmp_path: Path) -> None:
    root = lay_out(data, tmp_path, "train")
    (assets, train), (_, seen_stamps), (_, unseen) = stamps_on(root, ["train", "test_s", "test_u"])
    assert set(assets.looks.backgrounds()) <= set(committed()["coco"]["train"])
    for name, instances in seen_stamps.categories.items():
        assert not set(instances) & set(train.categories[name])
    words = vocabulary([(assets, train), painted("train")])
    assert set(seen_stamps.targets) <= set(words.categories)
    assert not set(unseen.targets) & set(train.categories)


@pytest.mark.slow
@pytest.mark.extra_train
@pytest.mark.timeout(600)
def test_the_recipe_in_small(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra `train` is not installed")
    pytest.importorskip("onnx", reason="the extra `train` is not installed")
    from auscult.jobs.options import TrainOptions
    from auscult.jobs.runner import Silent
    from auscult.judge.identity.scenes import ScenesIdentity
    from auscult.train.matcher.loop import FRAMES, Amounts, scenes_identity
    from auscult.train.matcher.pairs import pairs_of
    from auscult.types import Case, Prediction, Query

    options = TrainOptions(name="scenes-identity", data=data, out=tmp_path, samples=2 * FRAMES, threads=1)
    amounts = Amounts(shards=3, scenes=2, pair_scenes=1)
    files = [path.name for path in scenes_identity(options, Silent(), amounts)]
    assert files == ["scenes.onnx", "scenes.json", "identity.scenes.v1.json"]
    assert (tmp_path / "scenes.onnx").stat().st_size <= 3_000_000
    log = json.loads((tmp_path / "identity.scenes.v1.json").read_text(encoding="utf-8"))
    assert log["steps"] == log["of_steps"] == 2
    assert len(log["sets"]) == 5
    assert all(part["all"]["n"] > 0 for part in log["sets"].values())
    check = ScenesIdentity(weights=tmp_path)
    pair = next(iter(pairs_of(painted("train"), 0, seed=0, options=SceneOptions(size=(96, 170), seconds=4.0))))
    case = Case(id="a", frame=pair.frame, query=Query("the bell on the left"))
    identity = check(case, Prediction(mask=pair.mask))
    assert identity is not None
    assert 0 <= identity.match <= 1
