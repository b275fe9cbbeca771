"""The words of the command line as conditions, the keys under which answers are stored, and words that are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from r2_material import clips, model_file, photographs, run_r2, sounding

from auscult.errors import NothingToDo, UsageError
from auscult.suites.core.conditions import NOTHING, Condition
from auscult.suites.core.requests import key_of
from auscult.suites.options import SCENES
from auscult.suites.r2.cases import TASK_RULES, R2Case, frame_rule, scored_frames, task_rules
from auscult.suites.r2.conditions import conditions_of
from auscult.types import Query
from small_inputs import auscult

USUAL = ("low", "medium", "high", "dynamic")


def names(
    task: str,
    *,
    mixes: Sequence[str] = (),
    kinds: Sequence[str] = (),
    levels: Sequence[str] = USUAL,
    parts: Sequence[str] = ("all",),
) -> list[str]:
    return [
        condition_.name
        for condition_ in conditions_of(task_rules(task), mixes=mixes, kinds=kinds, levels=levels, parts=parts)
    ]


def test_the_paper_settings() -> None:
    assert names("rvos", mixes=["mix"]) == ["clean", "mix_low", "mix_medium", "mix_high", "mix_dynamic"]
    assert names("ris", mixes=["mix"]) == [
        "clean",
        "mix_low",
        "mix_medium",
        "mix_high",
    ]  # nothing moves in a photograph
    assert names("avs", mixes=["guidance"]) == ["clean", "guidance_low", "guidance_medium", "guidance_high"]
    assert names("vos", mixes=["guidance"]) == ["clean", "guidance_low", "guidance_high"]  # two windows of IoU
    kinds = {"ris": 16 + 4, "vos": 16, "rvos": 16 + 4, "avs": 16 + 12}
    for task, count in kinds.items():
        assert len(names(task, kinds=["all"], levels=["low"])) == 1 + count


def test_levels_have_one_name_each() -> None:
    assert names("vos", kinds=["fog"], levels=["1", "low", "5", "2.5", "0"]) == [
        "clean",
        "fog_low",
        "fog_high",
        "fog_2.5",
    ]
    condition_ = conditions_of(task_rules("vos"), mixes=(), kinds=["fog"], levels=["2.5"])[1]
    assert (condition_.strength, condition_.label, condition_.group) == (2.5, "fog", "vision.fog.v1")


def test_parts_of_a_clip() -> None:
    parts = ["first", "rest"]
    assert names("vos", kinds=["fog"], levels=["low"], parts=parts) == ["clean", "fog_first_low", "fog_rest_low"]
    # a first mask is in the first frame, and timing is of the whole clip
    assert names("vos", mixes=["guidance"], kinds=["erode"], levels=["low"], parts=parts) == [
        "clean",
        "guidance_low",
        "first_mask_erode_low",
    ]
    assert names("vos", kinds=["dropped_frames"], levels=["low"], parts=parts) == ["clean", "dropped_frames_low"]


def test_every_condition_has_a_name_of_its_own() -> None:
    kinds = ["vision.gaussian_noise", "sound.gaussian_noise", "vision.impulse_noise", "sound.impulse_noise"]
    conditions_ = conditions_of(task_rules("avs"), mixes=["mix", "picture"], kinds=["all", *kinds], levels=USUAL)
    assert len({condition_.name for condition_ in conditions_}) == len(conditions_)
    assert len({(condition_.group, condition_.level) for condition_ in conditions_}) == len(conditions_)
    assert len({(condition_.label, condition_.level) for condition_ in conditions_}) == len(conditions_)
    for kind in kinds:
        assert any(condition_.group == f"{kind}.v1" for condition_ in conditions_)


BAD: dict[str, dict[str, Any]] = {
    "kind": {"task": "vos", "kinds": ["fogg"]},
    "mix": {"task": "vos", "mixes": ["all"]},
    "level": {"task": "vos", "kinds": ["fog"], "levels": ["extreme"]},
    "strength": {"task": "vos", "kinds": ["fog"], "levels": ["6"]},
    "negative": {"task": "vos", "kinds": ["fog"], "levels": ["-1"]},
    "nan": {"task": "vos", "kinds": ["fog"], "levels": ["nan"]},
    "no level": {"task": "vos", "kinds": ["fog"], "levels": []},
    "part": {"task": "vos", "kinds": ["fog"], "parts": ["last"]},
    "no part": {"task": "vos", "kinds": ["fog"], "parts": []},
    "part of a sentence": {"task": "rvos", "kinds": ["fog"], "parts": ["first"]},
    "timing of a photograph": {"task": "ris", "kinds": ["drift"]},
    "sound against a mute clip": {"task": "vos", "kinds": ["offset"]},
    "drift against a sentence": {"task": "rvos", "kinds": ["drift"]},
    "sentence of a sound": {"task": "avs", "kinds": ["misspelling"]},
    "sound of a sentence": {"task": "rvos", "kinds": ["gain"]},
    "mask of a sentence": {"task": "rvos", "kinds": ["erode"]},
    "in two rooms": {"task": "avs", "kinds": ["gaussian_noise"]},
    "dynamic photograph": {"task": "ris", "mixes": ["mix"], "levels": ["dynamic"]},
    "first mask without a window": {"task": "vos", "mixes": ["guidance"], "levels": ["medium"]},
}


@pytest.mark.parametrize("words", BAD.values(), ids=list(BAD))
def test_words_that_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as error:
        names(**words)
    assert error.value.expected


def test_timing_that_changes_nothing_without_a_sound() -> None:
    with pytest.raises(UsageError, match="needs a sound"):
        names("rvos", kinds=["timing.offset"], levels=["low"])
    assert names("avs", kinds=["offset", "drift"], levels=["low"]) == ["clean", "offset_low", "drift_low"]
    frames = ["dropped_frames", "repeated_frames"]
    assert names("rvos", kinds=frames, levels=["low"]) == ["clean", *(f"{kind}_low" for kind in frames)]


def test_tasks() -> None:
    with pytest.raises(UsageError, match="no task 'mot'"):
        task_rules("mot")
    assert [task for task, rule in TASK_RULES.items() if rule.still] == ["ris"]
    assert list(scored_frames("davis2017", 5)) == [1, 2, 3]
    assert list(scored_frames("after the first", 5)) == [1, 2, 3, 4]
    assert list(scored_frames("all", 2)) == [0, 1]
    for rule in ("davis2017", "after the first"):
        assert list(scored_frames(rule, 1)) == []  # type: ignore[arg-type]
    assert list(scored_frames("davis2017", 2)) == []
    assert frame_rule(task_rules("vos"), "datasets.davis.v1") == "davis2017"
    assert frame_rule(task_rules("vos"), "datasets.ytvos.v1") == "after the first"
    assert frame_rule(task_rules("rvos"), "datasets.refdavis.v1") == "davis2017"
    assert frame_rule(task_rules("rvos"), "datasets.ytvos.v1") == "all"


def test_what_an_answer_is_stored_under() -> None:
    case = R2Case(
        id="a",
        clip="a",
        split="",
        query=Query(),
        frames=(Path("a.png"),),
        targets=(None,),
        size=(4, 4),
        rate_fps=25.0,
        scored="all",
        digest="d",
    )
    fog = Condition(name="fog_low", group="vision.fog.v1", level="low")

    def key(
        asked_case: R2Case = case, condition: Condition = fog, *, model: str = "m", revision: str = "r", seed: int = 0
    ) -> str:
        return key_of(asked_case, condition, model=model, revision=revision, seed=seed)

    assert key() == key()
    others = {
        key(seed=1),
        key(condition=replace(fog, level="high", name="fog_high")),
        key(condition=replace(fog, part="rest", name="fog_rest_low")),
        key(replace(case, digest="e")),
        key(replace(case, id="b")),
        key(model="n"),
        key(revision="s"),
    }
    assert len(others | {key()}) == 8
    assert key(condition=NOTHING) == key(condition=NOTHING, seed=1)
    assert key(condition=NOTHING) != key(replace(case, digest="e"), NOTHING)
    # where the files lie, what the truth is and which frames are scored is nothing that a model sees
    assert key(replace(case, frames=(Path("b.png"),), truth="t", scored="davis2017", split="x")) == key()


COMMANDS: dict[str, tuple[list[str], str]] = {
    "no model": (["--task", "vos"], "no model was named"),
    "no task": (["--model", "baseline.empty"], "no task was named"),
    "unknown task": (["--task", "mot", "--model", "baseline.empty"], "there is no task 'mot'"),
    "unknown model": (["--task", "vos", "--model", "baseline.emptty"], "baseline.empt"),
    "no such file": (["--task", "vos", "--model", "nowhere.py:predict"], "no such file"),
    "no such folder": (["--task", "vos", "--model", "predictions:nowhere"], "no such folder"),
    "unknown kind": (["--task", "vos", "--model", "baseline.empty", "--kind", "fogg"], "did you mean fog"),
    "unknown mix": (["--task", "vos", "--model", "baseline.empty", "--perturb", "mixed"], "there is no mix"),
    "unknown part": (["--task", "vos", "--model", "baseline.empty", "--part", "last"], "there is no part"),
    "unknown severity": (["--task", "vos", "--model", "baseline.empty", "--severity", "worst"], "worst"),
    "a judge": (["--task", "vos", "--model", "baseline.empty", "--judge", "masks.compact"], "takes no --judge"),
    "a policy": (["--task", "vos", "--model", "baseline.empty", "--policy", "strict"], "takes no --policy"),
    "timing": (["--task", "ris", "--model", "baseline.empty", "--kind", "drift"], "a photograph has no timing"),
    "part": (["--task", "rvos", "--model", "baseline.empty", "--part", "rest"], "perturbed all alike"),
    "task": (["--task", "ris", "--model", "classical.flow"], "does not do referring image segmentation"),
}


@pytest.mark.parametrize(("words", "message"), COMMANDS.values(), ids=list(COMMANDS))
def test_commands_that_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    out = tmp_path / "out"
    result = auscult("run", "r2", "--data", tmp_path, "--out", out, "--quiet", *words)
    assert (result.code, result.out) == (2, "")
    assert message in " ".join(result.err.split())
    assert not out.exists()


@pytest.mark.parametrize("word", ["--task", "--model", "--severity", "--perturb", "--kind", "--part"])
def test_a_suite_of_judges_takes_no_models(tmp_path: Path, word: str) -> None:
    result = auscult("run", "mqa", "--data", tmp_path, "--out", tmp_path / "out", word, "vos")
    assert result.code == 2
    assert f"suite mqa takes no {word}" in result.err


def test_sources_that_do_not_fit(tmp_path: Path) -> None:
    file = model_file(tmp_path)
    with pytest.raises(UsageError, match="no such file or folder"):
        run_r2(tmp_path / "nowhere", tmp_path / "o", "vos", f"{file}:colour")
    with pytest.raises(NothingToDo, match="no case of referring video object segmentation") as error:
        run_r2(clips(tmp_path / "silent"), tmp_path / "o1", "rvos", f"{file}:colour")  # nothing says what is meant
    assert "nothing says which object is meant" in error.value.hint
    assert "give sentences with --texts" in error.value.hint
    assert "a referring expression" in error.value.expected
    with pytest.raises(NothingToDo, match="no case of audio-visual segmentation") as error:
        run_r2(photographs(tmp_path / "photographs"), tmp_path / "o2", "avs", f"{file}:colour")
    assert "the clip has no sound" in error.value.hint
    with pytest.raises(UsageError, match="no split 'train'") as wrong:
        run_r2(sounding(tmp_path / "sounding"), tmp_path / "o3", "avs", f"{file}:colour", splits=["train"])
    assert wrong.value.expected == "one of: test"
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / "o3").exists()
    assert SCENES == "scenes"
