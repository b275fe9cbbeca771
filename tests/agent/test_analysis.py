"""The written analysis: what stands follows from the record; what does not is struck out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.suites.r2_compare import r2_records
from tests.suites.r2_compare.r2_records import case, conditions

from auscult.agent.analysis import SECTIONS, AnalysedSentence, Analysis, analyse, checked, prompt_of, sections_of
from auscult.agent.plan import Plan, PlanChoice, PlanData, PlanLeftOut, PlanLimits, PlanPerturbation
from auscult.agent.report import study_report
from auscult.agent.result_table import ResultCell, ResultTable, result_table
from auscult.agent.sentence_check import SentenceChecker
from auscult.errors import ErrorRecord, RecordError
from auscult.media.frames import write_frame
from auscult.media.masks import write_labels
from auscult.outcome import Failed
from auscult.record.codec import dump, from_json, load, to_json
from auscult.suites.registered import run


def cell(ref: str, measure: str, value: float | None, **fields: Any) -> ResultCell:
    unit = {"mean": "percent", "case": "percent", "breaking point": "strength", "count": "count"}.get(measure, "points")
    cell_fields: dict[str, Any] = {
        "ref": ref,
        "measure": measure,
        "unit": unit,
        "value": value,
        "metric": "J&F",
        **fields,
    }
    return ResultCell(**{**cell_fields, "metric": "" if measure == "count" else cell_fields["metric"]})


TABLE = ResultTable(
    suite="r2",
    task="video object segmentation",
    data="holiday",
    seed=0,
    metric="J&F",
    models=("flow", "sam_9"),
    baselines=("baseline.empty.v1",),
    groups=("fog", "motion_blur", "rain"),
    mixes=(),
    levels=("low", "high"),
    cells=(
        cell("c1", "mean", 0.812, model="flow", group="clean", level="clean", low=0.75, high=0.861, n=30, clusters=12),
        cell("c2", "mean", 0.521, model="sam_9", group="clean", level="clean", low=0.4, high=0.6, n=30, clusters=12),
        cell("c3", "average change", -0.1234, model="flow", group="fog", level="average", low=-0.18, high=-0.065, n=30),
        cell("c4", "average change", -0.021, model="flow", group="motion_blur", level="average", low=-0.06, high=0.02),
        cell("c5", "average change", 0.052, model="flow", group="rain", level="average", low=0.01, high=0.09),
        cell("c6", "average change", -0.25, model="sam_9", group="fog", level="average", low=-0.3, high=-0.2),
        cell("c7", "mean", 0.601, model="flow", group="fog", level="high", low=0.5, high=0.7),
        cell("c8", "difference", 0.291, model="flow - sam_9", group="clean", level="clean", low=0.2, high=0.4, p=0.012),
        cell("c9", "difference of changes", 0.1266, model="flow - sam_9", group="fog", low=0.05, high=0.2),
        cell("c10", "breaking point", 3.9, model="flow", group="fog", low=3.1, high=4.8),
        cell("c11", "difference of kinds", -0.1, model="flow", group="fog - motion_blur", low=-0.2, high=-0.02),
        cell("c12", "count", 30, case="cases"),
        cell("c13", "count", 2, case="failed requests"),
        cell("c14", "count", 12, case="clips"),
        cell("c15", "mean", 0.406, model="flow", group="fog", level="low"),
        cell("c16", "change", -0.211, model="flow", group="fog", level="high", low=-0.3, high=-0.1),
        cell("c18", "case", 0.9, model="flow", group="clean", level="clean", case="kite_07"),
        cell("c19", "case", 0.3, model="flow", group="clean", level="clean", case="pier_01"),
        cell("c17", "difference", 0.01, model="flow - sam_9", group="rain", level="high", low=-0.2, high=0.3),
    ),
)  # fmt: skip

CHECKER = SentenceChecker(TABLE)
TRUE = (
    ("flow has a clean J&F of 81.2 %.", "c1"),
    ("flow has a clean J&F of 81 %.", "c1"),
    ("On clean input flow scores 81.2 % [75.0, 86.1].", "c1"),
    ("flow scores 0.812 on clean input.", "c1"),
    ("flow scores 81.2 percent and sam_9 52.1 percent on clean input.", "c1 c2"),
    ("81.2 % for flow and 52.1 % for sam_9, both on clean input.", "c1 c2"),
    ("Under fog, flow loses 12.3 points on average [-18.0, -6.5].", "c3"),
    ("Under fog, flow loses 12 points on average.", "c3"),
    ("Fog changes the J&F of flow by -12.3 points on average.", "c3"),
    ("flow drops under fog.", "c3"),
    ("No difference shown for flow under motion_blur: -2.1 points [-6.0, 2.0].", "c4"),
    ("No loss is shown of flow under motion blur.", "c4"),
    ("Under rain, flow gains 5.2 points on average [1.0, 9.0].", "c5"),
    ("sam_9 loses 25.0 points under fog.", "c6"),
    ("Under fog at high, flow still has 60.1 %.", "c7"),
    ("Under fog at severity 5, flow still has 60.1 %.", "c7"),
    ("On clean input flow is above sam_9 by 29.1 points [20.0, 40.0].", "c8"),
    ("flow is better than sam_9 on clean input.", "c8"),
    ("sam_9 is worse than flow on clean input.", "c8"),
    ("flow loses less than sam_9 under fog.", "c9"),
    ("sam_9 loses more than flow under fog.", "c9"),
    ("flow is more robust than sam_9 under fog.", "c9"),
    ("flow loses half of its clean J&F under fog at strength 3.9 [3.1, 4.8].", "c10"),
    ("For flow, fog costs more than motion_blur.", "c3 c11"),
    ("The largest measured loss of flow is under fog: -12.3 points.", "c3"),
    ("The study has 30 cases from 12 clips.", "c12 c14"),
    ("There are thirty cases.", "c12"),
    ("2 failed requests are in no mean.", "c13"),
    ("Two failed requests are in no mean.", "c13"),
    ("flow goes from 40.6 % at low to 60.1 % at high under fog.", "c15 c7"),
    ("Under fog at high flow loses 21.1 points.", "c16"),
    ("Collect pictures in bad weather.", ""),
    ("flow scores 90.0 % on kite_07 and 30.0 % on pier_01, both clean.", "c18 c19"),
    ("Compared with sam_9, flow loses less under fog.", "c9"),
    ("sam_9 is beaten by flow on clean input.", "c8"),
    ("In contrast, flow gains 5.2 points under rain.", "c5"),
    ("The clean score of flow is twice that under fog at low.", "c1 c15"),
)
FALSE = (
    ("flow has a clean J&F of 81.3 %.", "c1"),
    ("flow has a clean J&F of 82 %.", "c1"),
    ("flow scores 52.1 % and sam_9 81.2 % on clean input.", "c1 c2"),
    ("sam_9 has a clean J&F of 81.2 %.", "c1"),
    ("flow has a clean J&F of 81.2 points.", "c1"),
    ("Under fog, flow loses 12.3 %.", "c3"),
    ("Under fog, flow loses 12.3 percent on average.", "c3"),
    ("Under fog, flow gains 12.3 points.", "c3"),
    ("Fog changes flow by +12.3 points.", "c3"),
    ("flow improves under fog.", "c3"),
    ("Under rain, flow loses 5.2 points.", "c5"),
    ("flow loses points under motion_blur.", "c4"),
    ("flow drops by 2.1 points under motion_blur.", "c4"),
    ("flow has an mAP of 81.2 %.", "c1"),
    ("flow has an accuracy of 81.2 %.", "c1"),
    ("flow loses twelve points under rain.", "c5"),
    ("flow loses fifteen points under fog.", "c3"),
    ("flow has a clean J&F of \u0668\u0663.\u0662 %.", "c1"),
    ("flow has a clean J&F of \uff18\uff13.\uff12 %.", "c1"),
    ("flow has a clean J&F of 8\u200b3.2 %.", "c1"),
    ("sam2 has a clean J&F of 81.2 %.", "c1"),
    ("flow83 has a clean J&F of 81.2 %.", "c1"),
    ("Under snow, flow loses 12.3 points.", "c3"),
    ("Under fog, flow scores 81.2 %.", "c1"),
    ("Under fog at low, flow has 60.1 %.", "c7"),
    ("Under motion_blur, flow loses 12.3 points.", "c3"),
    ("flow loses half of its clean J&F under fog at strength 2.9.", "c10"),
    ("flow loses half of its clean J&F under fog at severity 3.", "c10"),
    ("flow loses a third of its score under fog.", "c3"),
    ("Fog costs sam_9 three times what it costs flow.", "c3 c6"),
    ("sam_9 is better than flow on clean input.", "c8"),
    ("sam_9 loses less than flow under fog.", "c9"),
    ("flow is less robust than sam_9 under fog.", "c9"),
    ("flow is better than sam_9 under rain.", "c17"),
    ("flow is unaffected by motion_blur.", "c4"),
    ("flow does not drop under fog.", "c3"),
    ("The largest measured loss of flow is under motion_blur.", "c4"),
    ("The second largest loss of flow is under fog.", "c3 c11"),
    ("There are 31 cases.", "c12"),
    ("There are 12 cases.", "c12 c14"),
    ("There are 12 models.", "c14"),
    ("Dozens of requests failed.", "c13"),
    ("flow has a clean J&F of 81.2 % [70.0, 86.1].", "c1"),
    ("Under fog, flow loses 12.3 points [-30.0, -20.0].", "c3 c6"),
    ("flow has a clean J&F of 81.2 %.", ""),
    ("flow has a clean J&F of 81.2 %.", "c99"),
    ("flow beats sam_9.", "c1 c2"),
    ("No difference shown between flow and sam_9 on clean input.", "c8"),
    ("flow is better than sam_9, p = 0.001, on clean input.", "c8"),
    ("Fog hurts flow more than rain.", "c3 c5"),
    ("flow scores 30.0 % on kite_07 and 90.0 % on pier_01, both clean.", "c18 c19"),
    ("Compared with sam_9, flow loses 12.7 points more under fog.", "c9"),
    ("flow is outperformed by sam_9 on clean input.", "c8"),
    ("flow is beaten by sam_9 on clean input.", "c8"),
    ("flow loses under every perturbation.", "c3"),
    ("flow breaks under fog at high.", "c10"),
    ("flow is excellent under fog.", "c3"),
    ("flow handles fog well.", "c3"),
    ("fog ruins flow.", ""),
    ("flow tolerates motion_blur.", "c4"),
    ("sam_9 leads flow on clean input.", "c8"),
    ("No request failed.", "c13"),
)


@pytest.mark.parametrize(("text", "refs"), TRUE)
def test_a_true_sentence_stands(text: str, refs: str) -> None:
    assert CHECKER.why_not(text, refs.split()) == ""


@pytest.mark.parametrize(("text", "refs"), FALSE)
def test_a_false_sentence_is_struck(text: str, refs: str) -> None:
    assert CHECKER.why_not(text, refs.split())


def from_templates(table: ResultTable) -> Analysis:
    counts = ("models", "baselines", "requests", "undefined scores", "unasked requests")
    count_cells = tuple(cell(f"n{index}", "count", 2, case=name) for index, name in enumerate(counts))
    table = replace(table, cells=(*table.cells, *count_cells))
    return checked(table, sections_of(table))


def test_what_templates_say_of_gains_and_losses_stands() -> None:
    analysis = from_templates(TABLE)
    assert analysis.struck == ()
    (strengths,) = (section for section in analysis.sections if section.name == "strengths")
    assert "Under rain, flow gains 5.2 points on average [1.0, 9.0]." in [
        sentence.text for sentence in strengths.sentences
    ]


def test_many_perturbations_are_spoken_of_one_by_one() -> None:
    kinds = tuple(f"kind_of_trouble_{index:02d}" for index in range(45))
    cells = tuple(
        cell(f"{model}{index}", "average change", -0.2, model=model, group=kind, level="average", low=-0.3, high=-0.1)
        for model in TABLE.models
        for index, kind in enumerate(kinds)
    )
    analysis = from_templates(replace(TABLE, groups=kinds, cells=(*TABLE.cells, *cells)))
    assert analysis.struck == ()
    (sentences,) = (section.sentences for section in analysis.sections if section.name == "kinds")
    for model in TABLE.models:
        assert all(
            any(model in sentence.text and f"Under {kind}," in sentence.text for sentence in sentences)
            for kind in kinds
        )


def test_a_claim_without_proof_reads_no_difference_shown() -> None:
    analysis = checked(
        TABLE, {"kinds": (AnalysedSentence(text="flow loses 2.1 points under motion_blur.", refs=("c4",)),)}
    )
    assert [sentence.text for sentence in analysis.struck] == ["flow loses 2.1 points under motion_blur."]
    texts = [sentence.text for section in analysis.sections for sentence in section.sentences]
    assert texts == ["No difference shown for flow, motion_blur, average: -2.1 points [-6.0, 2.0]."]


MODELS = """
import numpy as np

def red(frames, query, **rest):
    high = frames.astype(int)
    return (high[..., 0] > 150) & (high[..., 1] < 110) & (high[..., 2] < 110)

def late(frames, query, **rest):
    mask = red(frames, query)
    mask[2:] = False
    return mask

def given(frames, query, *, first_mask=None, **rest):
    return np.repeat(first_mask[None], len(frames), axis=0)

def broken(frames, query, **rest):
    raise RuntimeError("no weights")
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("analysis")
    (folder / "mine.py").write_text(MODELS)
    for name, count in {"one": 4, "two": 5, "three": 4}.items():
        for place in range(count):
            mask = np.zeros((48, 64), bool)
            mask[12:34, 8 + 2 * place : 30 + 2 * place] = True
            frame = np.full((48, 64, 3), 110, np.uint8)
            frame[mask] = (230, 30, 30)
            write_frame(folder / f"many/{name}/frames/{place:05d}.png", frame)
            write_labels(folder / f"many/{name}/masks/{place:05d}.png", mask.astype(np.uint8))
    (folder / "single").mkdir()
    (folder / "single/one").symlink_to(folder / "many/one", target_is_directory=True)
    return folder


RECORDS: dict[str, dict[str, Any]] = {
    "one case": {"data": "single", "models": ["red"]},
    "one model": {"models": ["red"]},
    "two models and failures": {"models": ["red", "late", "broken"]},
    "nothing lost": {"models": ["given"], "kinds": ("vision.fog.v1",)},
    "a baseline ahead": {"models": ["broken", "late"], "kinds": ()},
}


def record(folder: Path, name: str) -> Path:
    setup, out = RECORDS[name], folder / name.replace(" ", "_")
    if not out.exists():
        run(
            "r2", data=folder / setup.get("data", "many"), out=out, task="vos", workers=0, mixes=(),
            models=tuple(f"{folder / 'mine.py'}:{model}" for model in setup["models"]),
            kinds=setup.get("kinds", ("vision.fog.v1", "vision.motion_blur.v1")), levels=("low", "high"),
        )  # fmt: skip
    return out


@pytest.mark.parametrize(
    "name", ["one model", *(pytest.param(name, marks=pytest.mark.slow) for name in RECORDS if name != "one model")]
)
def test_templates_say_all_that_a_reader_looks_for(root: Path, name: str) -> None:
    folder = record(root, name)
    analysis = analyse(folder)
    texts_by_section = {
        section.name: " ".join(sentence.text for sentence in section.sentences) for section in analysis.sections
    }
    assert analysis.struck == ()
    assert list(texts_by_section) == list(SECTIONS)
    assert "case" in texts_by_section["setting"]
    assert "clip" in texts_by_section["setting"]
    assert "J&F" in texts_by_section["setting"]  # what was measured
    for model in analysis.table.models:
        for part in ("clean", "fix"):
            assert model in texts_by_section[part], part
        if analysis.table.get("mean", model=model, group="clean"):
            assert model in texts_by_section["strengths"]
            assert model in texts_by_section["weaknesses"]
    for group in analysis.table.groups:
        assert group in texts_by_section["kinds"]
    assert texts_by_section["overall"]
    assert texts_by_section["breaking"]
    assert texts_by_section["advice"]
    assert texts_by_section["examples"]
    if "failures" in name:
        assert "failed request" in texts_by_section["setting"]
    texts = [sentence.text for section in analysis.sections for sentence in section.sentences]
    assert all(text[-1] in ".”" and "None" not in text and "nan" not in text and "  " not in text for text in texts)
    assert from_json(Analysis, load(dump(to_json(analysis)))) == analysis


def test_every_number_is_that_of_the_suite(root: Path) -> None:
    folder = record(root, "one model")
    rows = json.loads((folder / "cells.json").read_text())
    suite = {
        (row["model"], row["level"]): row["value"]
        for row in rows
        if (row["measure"], row["metric"], row["group"]) == ("level", "J&F", "vision.fog.v1")
    }
    for mean_cell in result_table(folder).of("mean", group="fog"):
        assert mean_cell.value == suite[mean_cell.model, mean_cell.level]


def test_of_two_clips_no_interval_leaves_what_a_score_can_be(tmp_path: Path) -> None:
    conditions_, clips = conditions("low", "high"), ("one/a", "two/a")
    scores = {
        model: {
            condition.name: dict(zip(clips, pair if condition.name == "clean" else pair[::-1], strict=True))
            for condition in conditions_
        }
        for model, pair in {"mine.up": (0.9, 0.1), "mine.down": (0.2, 0.6), "baseline.empty.v1": (0.1, 0.2)}.items()
    }
    table = result_table(
        r2_records.record(tmp_path / "out", scores, cases=[case(name) for name in clips], asked_conditions=conditions_)
    )
    ends = [
        (cell_.measure, end)
        for cell_ in table.cells
        if cell_.unit == "points"
        for end in (cell_.low, cell_.high)
        if end
    ]
    assert ends
    assert all(abs(end) <= 1 + (measure == "difference of changes") for measure, end in ends)


def test_seen_and_unseen_clips_and_the_share_that_is_lost_are_told(tmp_path: Path) -> None:
    conditions_, names = conditions("low", "high"), [f"clip{index}/a" for index in range(16)]
    clean = {name: 0.8 - 0.01 * (index % 4) - 0.2 * (index % 2) for index, name in enumerate(names)}
    scores = {
        "mine.flow": {
            condition.name: {
                name: value if condition.name == "clean" else value / 2 - 0.001 * index
                for index, (name, value) in enumerate(clean.items())
            }
            for condition in conditions_
        },
        "baseline.empty.v1": {condition.name: dict.fromkeys(names, 0.1) for condition in conditions_},
    }
    cases = [replace(case(name), split=("seen", "unseen")[index % 2]) for index, name in enumerate(names)]
    folder = r2_records.record(tmp_path / "out", scores, cases=cases, asked_conditions=conditions_)
    analysis = analyse(folder)
    sentences = [sentence.text for section in analysis.sections for sentence in section.sentences]
    seen_score = sum(value - 0.05 for value in list(clean.values())[::2]) / 8  # J&F is J less .05 in these records
    assert analysis.struck == ()
    assert any(
        text.startswith(f"Of the seen clips, mine.flow has a clean J&F of {100 * seen_score:.1f} %")
        for text in sentences
    )
    assert any(text.startswith("What mine.flow gives up under fog is 5") for text in sentences)
    assert any(text.startswith("Of the unseen clips, under fog, mine.flow loses") for text in sentences)
    (part,) = analysis.table.of("mean", model="mine.flow", group="clean", split="seen")
    checker = SentenceChecker(analysis.table)
    assert not checker.why_not(f"On clean input mine.flow scores {100 * seen_score:.1f} % on seen clips.", [part.ref])
    assert "no value of the cells" in checker.why_not(
        f"On clean input mine.flow scores {100 * seen_score:.1f} %.", [part.ref]
    )


def test_the_metric_that_matters_is_spoken_of(root: Path) -> None:
    folder = record(root, "one model")
    assert result_table(folder, metrics=["F"]).metric == "F"
    assert "has a clean F of" in str(to_json(analyse(folder, metrics=["F"]).sections))
    for metrics in ([], ["J", "J&F"], ["mIoU"]):
        assert result_table(folder, metrics=metrics).metric == "J&F"
    (root / "of F").mkdir()
    (root / "of F/agent.jsonl").write_text("")
    pages = [
        study_report(root / "of F", plan=PLAN, record=folder, analysis=analyse(folder, metrics=metrics))
        for metrics in (["F"], ["J&F"])
    ]
    assert ["Average change of F by kind" in page for page in pages] == [True, False]


def test_levels_are_told_mildest_first(tmp_path: Path) -> None:
    conditions_ = conditions("high", "low")
    scores = {"mine.one": {condition.name: {"clip0": 0.9} for condition in conditions_}}
    r2_records.record(tmp_path / "out", scores, cases=[case("clip0")], asked_conditions=conditions_)
    assert result_table(tmp_path / "out").levels == ("low", "high")


def test_scores_that_are_no_shares_are_not_spoken_of(root: Path, tmp_path: Path) -> None:
    manifest = json.loads((record(root, "one model") / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "command": "run separation"}))
    with pytest.raises(RecordError, match="run separation") as error:
        analyse(tmp_path)
    assert "r2, rris or avi" in str(error.value)


def test_p_is_of_changes_and_differences_alone(root: Path) -> None:
    cells = result_table(record(root, "one model")).cells
    assert {cell_.unit for cell_ in cells if cell_.p is not None} == {"points"}


def test_no_number_stands_twice(tmp_path: Path) -> None:
    conditions_ = conditions("high")
    scores = {
        "mine.one": {condition.name: {"clip0": 0.9 if condition.name == "clean" else 0.5} for condition in conditions_}
    }
    r2_records.record(tmp_path / "out", scores, cases=[case("clip0")], asked_conditions=conditions_)
    paths = [cell_.path for cell_ in result_table(tmp_path / "out").cells]
    assert sum("case/clip0" in path and "group/clean" in path for path in paths) == 1
    assert len(paths) == len(set(paths))


def test_an_analyst_is_asked_twice_and_then_templates_write(root: Path) -> None:
    folder, prompts = record(root, "one model"), list[str]()

    def useless(prompt: str) -> str:
        prompts.append(prompt)
        return "I would rather not."

    analysis = analyse(folder, analyst=useless, writer="mock")
    assert len(prompts) == 2
    assert analysis.writer == "templates"
    assert "mock" in analysis.remarks[0]
    assert prompts[0] == prompt_of(analysis.table)
    failed = analyse(folder, analyst=lambda _: Failed(ErrorRecord(stage="ask", error="no endpoint")), writer="mock")
    assert "no endpoint" in failed.remarks[0]


SAID = '{"sections": {"advice": [{"text": "Collect more clips.", "refs": []}]}}'


@pytest.mark.parametrize(
    "reply", [f"Here:\n```json\n{SAID}\n```\nI hope {{this}} helps.", f"<think>{{a}}</think>{SAID}"]
)
def test_a_reply_is_found_among_prose(root: Path, reply: str) -> None:
    analysis = analyse(record(root, "one model"), analyst=lambda _: reply, writer="mock")
    assert (analysis.writer, analysis.sections[0].sentences[0].text) == ("mock", "Collect more clips.")


def test_advice_may_rest_on_a_cell_without_a_number() -> None:
    advice = AnalysedSentence(text="Film flow in fog and train it so.", refs=("c3",))
    analysis = checked(TABLE, {"advice": (advice,), "overall": (advice,)})
    assert [section.name for section in analysis.sections] == ["advice"]
    assert [sentence.section for sentence in analysis.struck] == ["overall"]


@pytest.mark.parametrize(
    "reply",
    [
        '{"sections": {}}',
        '{"sections": {"poem": [{"text": "Roses.", "refs": []}]}}',
        '{"sections": {"clean": [{"text": "It scores 12.34 %.", "refs": []}]}}',
        "[" * 100_000,
        "{" + "x" * 300_000,
        '{"sections": {"clean": [{"text": NaN, "refs": []}]}}',
    ],
)
def test_where_nothing_of_a_reply_stands_templates_write(root: Path, reply: str) -> None:
    analysis = analyse(record(root, "one model"), analyst=lambda _: reply, writer="mock")
    assert analysis.writer == "templates"
    assert "mock" in analysis.remarks[0]
    assert len(analysis.sections) == len(SECTIONS)
    assert [sentence.text for sentence in analysis.struck] == (["It scores 12.34 %."] if "12.34" in reply else [])


@pytest.mark.slow
def test_of_a_part_of_the_tasks_the_scores_there_are_spoken_of(tmp_path: Path) -> None:
    run("avi", data="scenes", out=tmp_path / "out", count=1, tasks=("ASQA",), models=("noisy:0.7",), workers=0)
    analysis = analyse(tmp_path / "out")
    assert analysis.table.metric == "ASQA"
    assert analysis.table.get("mean", model="reference.noisy.v1:0.7", group="clean")
    assert analysis.struck == ()
    assert not any("no score" in sentence.text for section in analysis.sections for sentence in section.sentences)


def test_a_report_holds_plan_talk_run_and_analysis_and_no_foreign_markup(root: Path) -> None:
    folder, study = record(root, "one model"), root / "study"
    study.mkdir()
    markup = "<script>alert(1)</script>"
    reply = json.dumps(
        {"sections": {"advice": [{"text": f"Trust {markup}.", "refs": []}, {"text": "It gains 99 %.", "refs": ["c1"]}]}}
    )
    analysis = analyse(folder, analyst=lambda _: reply, writer=markup)
    log_turn = {
        "kind": "turn",
        "round": 0,
        "role": "operator",
        "name": markup,
        "proposal": {**NOTHING, "perturbations": [{"type": markup, "reason": markup, "selected": True}]},
    }
    dispute = {"kind": "dispute", "choice_set": "perturbations", "type": "fog", "selected": True}
    dispute |= {"operator_reason": markup, "guardian_reason": "no"}
    (study / "agent.jsonl").write_text(f"{json.dumps(log_turn)}\n{json.dumps(dispute)}\n")
    plan = Plan(
        instruction=f"fog {markup}", task="vos", data=PlanData(path="clips"), models=("red",),
        perturbations=(PlanPerturbation(name="fog", severities=("low",), reason=markup),),
        limits=PlanLimits(requests=250, disk_mb=40.5),
        left_out=PlanLeftOut(perturbations=(PlanChoice(name="snow", reason="indoors"),)),
    )  # fmt: skip
    page = study_report(study, plan=plan, record=folder, analysis=analysis)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    for text in (
        "Operator and guardian",
        "indoors",
        "It gains 99 %.",
        "Struck out",
        "250 requests, 40.5 disk_mb",
        "auscult run plan.yaml",
        'id="c1"',
    ):
        assert text in page, text
    assert "data:image/jpeg" in page


NOTHING: dict[str, Any] = {"samples": [], "perturbations": [], "metrics": []}
PLAN = Plan(instruction="fog", task="vos", data=PlanData(path="clips"), models=("red",))


def test_of_a_conversation_only_what_changes_is_shown(root: Path) -> None:
    study = root / "talk"
    study.mkdir()

    def turn_line(role: str, **selection: bool) -> str:
        choices = [{"type": name, "reason": f"for {name}", "selected": take} for name, take in selection.items()]
        fields = {"round": 0, "role": role, "name": f"built-in {role}", "proposal": {**NOTHING, "samples": choices}}
        return json.dumps({"kind": "turn", **fields})

    turns = (
        turn_line("operator", a=True, b=False),
        turn_line("guardian", a=True, b=True),
        turn_line("operator", a=True, b=True),
    )
    (study / "agent.jsonl").write_text("\n".join(turns))
    folder = record(root, "one model")
    page = study_report(study, plan=PLAN, record=folder, analysis=analyse(folder))
    assert [page.count(text) for text in ("a (samples)", "b (samples)")] == [1, 1]
    assert page.index("built-in operator") < page.index("built-in guardian") < page.index(">agree<")


@pytest.mark.slow
def test_the_prose_of_templates_needs_no_second_model(root: Path) -> None:
    table = result_table(record(root, "nothing lost"))
    checker = SentenceChecker(table)
    all_sentences = [sentence for sentences in sections_of(table).values() for sentence in sentences]
    assert [checker.why_not(sentence.text, sentence.refs) for sentence in all_sentences] == [""] * len(all_sentences)
