"""What can be chosen of data, perturbations and metrics, for every task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult import registry
from auscult.agent.captions import FILE
from auscult.agent.debate import Offer
from auscult.agent.offers import metrics_of, offer_of, perturbations_of
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.make import make_scenes
from auscult.jobs.make_avi import make_prise
from auscult.jobs.options import MakeOptions, PriseOptions
from auscult.jobs.runner import Silent
from auscult.media.frames import write_frame
from auscult.score.levels import NAMES
from auscult.score.tasks import TASKS
from auscult.suites.avi import AviOptions
from auscult.suites.r2 import R2Options
from auscult.suites.r2.cases import TASK_RULES, listing_of, task_rules
from auscult.suites.r2.conditions import conditions_of
from auscult.suites.rris import RrisOptions
from auscult.suites.rris.results import _SCORES

R2_TASKS = tuple(TASK_RULES)


def names(offer: Offer, choice_set: str) -> list[str]:
    return [item.name for item in getattr(offer, choice_set)]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "scenes"
    make_scenes(MakeOptions(out=out, count=2, seed=3, workers=0))
    return out


# --- perturbations and metrics ---


@pytest.mark.parametrize("task", R2_TASKS)
def test_the_suite_takes_every_perturbation_that_is_offered(task: str) -> None:
    rules = task_rules(task)
    perturbations, broken = perturbations_of(rules)
    assert not broken
    conditions = conditions_of(rules, mixes=(), kinds=tuple(perturbations), levels=("high",))
    assert len(conditions) == len(perturbations) + 1
    assert all(perturbations.values())
    assert not any("r2bench" in name for name in perturbations)
    rooms = {name.partition(".")[0] for name in perturbations}
    assert rooms == {"vision", *rules.rooms} | (set() if rules.still else {"timing"})
    assert ("timing.offset.v1" in perturbations) is ("sound" in rules.rooms)


def test_a_plug_in_that_cannot_be_loaded_is_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = registry.load

    def loaded(kind: str, name: str) -> Any:
        if name == "vision.fog.v1":
            raise UsageError("stressor vision.fog.v1 of package theirs cannot be loaded")
        return load(kind, name)

    monkeypatch.setattr(registry, "load", loaded)
    offer = offer_of(R2Options(out=tmp_path, data="scenes", count=1, task="vos"))
    assert "vision.fog.v1" not in names(offer, "perturbations")
    assert "vision.snow.v1" in names(offer, "perturbations")
    assert any("package theirs" in remark for remark in offer.remarks)


def test_metrics_are_those_of_the_suites() -> None:
    for task, rules in TASK_RULES.items():
        known_metrics = {*rules.means, *rules.metrics, *rules.class_wise, *rules.beside} | ({rules.pooled} - {""})
        assert set(metrics_of("r2", task)) == known_metrics
        assert next(iter(metrics_of("r2", task))) == rules.main
    assert list(metrics_of("rris", "")) == list(_SCORES)
    assert set(metrics_of("avi", "")) == set(NAMES)


# --- samples ---


@pytest.mark.parametrize("task", R2_TASKS)
def test_scenes_are_offered_alike_before_and_after_they_are_made(tmp_path: Path, scenes: Path, task: str) -> None:
    if task == "avss":  # whose classes scenes do not tell apart
        with pytest.raises(NothingToDo, match="no sample of avss"):
            offer_of(R2Options(data=scenes, task=task, out=tmp_path / "out", workers=0))
        return
    made_offer = offer_of(R2Options(data=scenes, task=task, out=tmp_path / "out", workers=0))
    ahead = offer_of(R2Options(data="scenes", task=task, count=2, seed=3, out=tmp_path / "out", workers=0))
    assert not (tmp_path / "out").exists()
    assert set(names(made_offer, "samples")) <= set(names(ahead, "samples")) == {"s3-00000", "s3-00001"}
    plans = {sample.name: sample for sample in ahead.samples}
    for sample in made_offer.samples:
        facts = {key: value for key, value in sample.facts.items() if key != "text"}
        assert facts == {key: value for key, value in plans[sample.name].facts.items() if key != "text"}
        assert sample.facts["from"] == "scene"
        assert bool(sample.facts["text"]) is (task_rules(task).guidance == "sentences")
    assert made_offer.perturbations == ahead.perturbations


def test_scenes_of_a_split_alone_are_offered(tmp_path: Path) -> None:
    whole_offer = offer_of(R2Options(data="scenes", task="vos", count=20, out=tmp_path))
    parts = [
        offer_of(R2Options(data="scenes", task="vos", count=20, out=tmp_path, splits=(split,)))
        for split in ("train", "test_u")
    ]
    shares = [set(names(part, "samples")) for part in parts]
    assert shares[0].isdisjoint(shares[1])
    assert shares[0] | shares[1] <= set(names(whole_offer, "samples"))


def test_samples_are_the_clips_of_the_cases(tmp_path: Path, scenes: Path) -> None:
    options = R2Options(data=scenes, task="rvos", out=tmp_path, workers=0)
    listing = listing_of(options, task_rules("rvos"), Silent())
    scene_offer = offer_of(options)
    assert names(scene_offer, "samples") == list(dict.fromkeys(instance.clip for instance in listing.instances))


def test_data_without_sound_offer_no_sample_for_a_task_of_sound(tmp_path: Path) -> None:
    (tmp_path / "frames").mkdir()
    (tmp_path / "masks").mkdir()
    write_frame(tmp_path / "frames" / "a.png", np.full((40, 60, 3), 90, np.uint8))
    mask = np.zeros((40, 60, 3), np.uint8)
    mask[10:20, 10:20] = 255
    write_frame(tmp_path / "masks" / "a.png", mask)
    for task, hint in (("avs", "no sound"), ("ris", "referring expression")):
        with pytest.raises(NothingToDo, match=f"no sample of {task}") as error:
            offer_of(R2Options(data=tmp_path, task=task, out=tmp_path / "out", workers=0))
        assert hint in str(error.value.hint)


def test_a_clip_that_cannot_be_used_is_a_remark(tmp_path: Path) -> None:
    (tmp_path / "items").mkdir()
    rows = []
    for name in ("good", "bad"):
        write_frame(tmp_path / "items" / f"{name}.png", np.full((40, 60, 3), 90, np.uint8))
        truth = {"size": [40, 60], "counts": [1000, 100, 1300]}
        rows.append({"id": name, "frame": f"{name}.png", "mask": truth, "text": f"the {name} dog"})
    (tmp_path / "items" / "bad.png").write_bytes(b"no picture")
    (tmp_path / "items" / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = tmp_path / "items" / "items.jsonl"
    data_offer = offer_of(R2Options(data=source, task="ris", out=tmp_path / "out", workers=0), kept=tmp_path / FILE)
    assert [(sample.name, sample.facts["sources"]) for sample in data_offer.samples] == [("good", ["dog"])]
    assert any("bad" in remark for remark in data_offer.remarks)
    bad_rows = [{**rows[1], "id": f"bad {number}", "frame": f"lost {number}.png"} for number in range(50)]
    source.write_text("".join(json.dumps(row) + "\n" for row in (rows[0], *bad_rows)))
    data_offer = offer_of(R2Options(data=source, task="ris", out=tmp_path / "out", workers=0))
    assert len(data_offer.remarks) == 21
    assert data_offer.remarks[-1] == "and 30 more"


def test_negative_sentences_are_offered_by_kind(tmp_path: Path) -> None:
    write_frame(tmp_path / "a.png", np.full((40, 60, 3), 90, np.uint8))
    truth = {"size": [40, 60], "counts": [1000, 100, 1300]}
    rows = [
        {"id": "1", "frame": "a.png", "mask": truth, "text": "the red car", "exists": True, "reference": "r"},
        *(
            {"id": kind, "frame": "a.png", "text": f"the {kind} boat", "exists": False, "reference": "r",
             "negative": {"kind": kind}, "mask": {"size": [40, 60], "counts": [2400]}}
            for kind in ("target", "attribute", "made up")
        ),
    ]  # fmt: skip
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rris_offer = offer_of(RrisOptions(data=tmp_path / "items.jsonl", out=tmp_path / "out", workers=0))
    assert (rris_offer.suite, rris_offer.task) == ("rris", "")
    assert set(names(rris_offer, "perturbations")) == {"target", "attribute", "made up"}
    assert len(rris_offer.samples) == 1
    assert rris_offer.samples[0].facts["sources"] == ["car"]
    assert len(rris_offer.samples[0].facts["text"]) == 4


@pytest.mark.slow
@pytest.mark.extra_video
def test_tasks_and_questions_of_an_omni_benchmark_are_offered(tmp_path: Path) -> None:
    pytest.importorskip("av")
    make_prise(PriseOptions(out=tmp_path / "tree", count=1, workers=0))
    options = AviOptions(data=tmp_path / "tree", out=tmp_path / "out", workers=0)
    avi_offer = offer_of(options, kept=tmp_path / FILE)
    assert set(names(avi_offer, "perturbations")) == {"ASQA", "VSQA", "AVSQA"} <= set(TASKS)
    assert not avi_offer.remarks
    facts = {sample.name.partition("/")[0]: sample.facts for sample in avi_offer.samples}
    assert facts["ASQA"]["sound"] is True
    assert facts["VSQA_I"]["frames"] == 1
    assert facts["VSQA_V"]["frames"] > 1
    before = (tmp_path / FILE).read_bytes()
    assert offer_of(options, kept=tmp_path / FILE) == avi_offer
    assert (tmp_path / FILE).read_bytes() == before
    part = offer_of(AviOptions(data=tmp_path / "tree", out=tmp_path / "out", workers=0, tasks=("ASQA",)))
    assert {sample.name.partition("/")[0] for sample in part.samples} == {"ASQA"}


def test_real_clips_are_offered(data: Path, tmp_path: Path) -> None:
    davis_offer = offer_of(R2Options(data=data / "video" / "davis2016", task="vos", out=tmp_path / "out"))
    assert len(davis_offer.samples) == 10
    facts = {sample.name: sample.facts for sample in davis_offer.samples}
    assert facts["blackswan"]["frames"] == 36
    assert facts["parkour"]["motion"] > 3 * facts["blackswan"]["motion"]
    assert not any(clip_facts["sound"] for clip_facts in facts.values())
    assert not davis_offer.remarks


def test_data_and_splits_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        offer_of(R2Options(data=tmp_path / "lost", task="vos", out=tmp_path / "out"))
    with pytest.raises(UsageError, match="no split 'val'"):
        offer_of(R2Options(data="scenes", task="vos", out=tmp_path / "out", splits=("val",)))
