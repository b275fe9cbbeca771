"""A plan through its suite, and a sentence through to its analysis: same numbers, limits, changes, replay."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import auscult
from auscult.agent.debate import Choice, Debate, Offer, Offered, Proposal, Turn
from auscult.agent.options import AgentOptions
from auscult.agent.plan import Plan, PlanData, PlanLimits, PlanSample, plan_text, read_plan
from auscult.agent.running import LimitReached, run_plan, run_plan_file
from auscult.agent.study import plan_of, run_study
from auscult.errors import NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from small_inputs import auscult as command
from small_inputs import rows

pytest.importorskip("yaml", reason="extra agent")
pytestmark = [pytest.mark.extra_agent, pytest.mark.slow]

SENTENCE = "outdoor night scene, only motion blur, severity 3"


def options(out: Path, **fields: object) -> AgentOptions:
    """Two scenes with flow, in this process."""
    return AgentOptions(
        **{
            "sentence": SENTENCE, "task": "vos", "models": ("flow",), "data": "scenes", "count": 2, "workers": 0,
            "out": out, "given": frozenset({"count"}), **fields,
        }
    )  # type: ignore[arg-type]  # fmt: skip


def cells(record: Path) -> list[object]:
    """The numbers of a record."""
    stored_cells: list[object] = json.loads((record / "cells.json").read_text())
    return stored_cells


@pytest.fixture(scope="module")
def plan() -> Plan:
    """One scene under one kind at two severities and another at one."""
    return read_text(
        "task: vos\ndata: {scenes: 2}\nsamples: [{id: s0-00001}]\nmodels: [flow]\nperturbations:\n"
        "- {name: fog, severities: [low, high]}\n- {name: motion_blur, severities: [high]}\n"
    )


def read_text(text: str) -> Plan:
    """A plan from its text."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plan.yaml").write_text(text)
        return read_plan(Path(folder) / "plan.yaml")[0]


class TestRunning:
    def test_numbers_are_those_of_the_equal_commands(self, plan: Plan, tmp_path: Path) -> None:
        file, only = tmp_path / "mine.yaml", tmp_path / "only.txt"
        file.write_text(plan_text(plan))
        only.write_text("s0-00001\n")
        run_plan_file(file, tmp_path / "a", workers=0)
        for kind, levels in (("fog", ("low", "high")), ("motion_blur", ("high",))):
            auscult.run(
                "r2", task="vos", models="flow", data="scenes", count=2, mixes=(), kinds=kind, levels=levels, only=only,
                out=tmp_path / "b", workers=0,
            )  # fmt: skip
        assert cells(tmp_path / "a") == cells(tmp_path / "b")
        assert (tmp_path / "a/plan.yaml").read_text() == file.read_text()
        assert json.loads((tmp_path / "a/manifest.json").read_text())["inputs"]["plan"] == plan.hash

    def test_a_limit_stops_and_a_higher_one_goes_on(self, plan: Plan, tmp_path: Path) -> None:
        out = tmp_path / "run"
        with pytest.raises(LimitReached, match="limit of 3 requests") as error:
            run_plan(replace(plan, limits=PlanLimits(requests=3)), out, workers=0)
        assert error.value.limit == "requests"
        first = rows(out / "predictions.jsonl")
        assert sum(row["model"].startswith("classical") for row in first) == 3
        with pytest.raises(LimitReached, match="limit of 3 requests"):  # what is overwritten does not count
            run_plan(replace(plan, limits=PlanLimits(requests=3)), out, workers=0, overwrite=True)
        assert {row["key"] for row in rows(out / "predictions.jsonl")} == {row["key"] for row in first}
        first = rows(out / "predictions.jsonl")
        with pytest.raises(LimitReached, match="disk_mb"):
            run_plan(replace(plan, limits=PlanLimits(disk_mb=0.1)), out, workers=0)
        with pytest.raises(LimitReached, match="limit of 0 seconds"):
            run_plan(replace(plan, limits=PlanLimits(seconds=0)), out, workers=0)
        auscult.run(plan, out=out, workers=0)
        after = rows(out / "predictions.jsonl")
        assert after[: len(first)] == first
        assert len({row["key"] for row in after}) == len(after)

    def test_an_unknown_sample_has_the_line_of_the_plan(self, plan: Plan, tmp_path: Path) -> None:
        file = tmp_path / "plan.yaml"
        file.write_text(plan_text(replace(plan, samples=(*plan.samples, PlanSample(id="s0-0000")))))
        result = command("run", file, "--out", tmp_path / "out")
        assert result.code == 2
        number = file.read_text().splitlines().index("- id: s0-0000") + 1
        assert f"plan.yaml:{number}: the data have no case or clip 's0-0000'" in result.err
        assert "did you mean s0-0000" in result.err

    def test_options_beside_a_plan_are_refused(self, plan: Plan, tmp_path: Path) -> None:
        file = tmp_path / "plan.yaml"
        file.write_text(plan_text(plan))
        result = command("run", file, "--out", tmp_path / "out", "--seed", 3)
        assert (result.code, "--seed stands beside a plan" in result.err) == (2, True)


class TestStudy:
    def test_where_nothing_is_sure_the_plausible_is_taken_and_that_is_said(self, tmp_path: Path) -> None:
        study_plan = run_study(options(tmp_path, sentence="we film by day, never at night", dry_run=True)).plan
        assert [perturbation.name for perturbation in study_plan.perturbations] == ["vision.brightness.v1"]
        assert any("plausible" in remark for remark in study_plan.remarks)

    def test_where_no_sample_is_known_to_fit_the_nearest_are_taken_and_that_is_said(self, tmp_path: Path) -> None:
        study_plan = run_study(options(tmp_path, sentence="ultrasound pictures, only fog", dry_run=True)).plan
        assert study_plan.samples
        assert any("those that come nearest to it are taken" in remark for remark in study_plan.remarks)

    def test_a_wish_that_the_task_cannot_grant_is_named_and_another_may_follow_it(self, tmp_path: Path) -> None:
        with pytest.raises(NothingToDo, match=r"asks only for sentences\.misspelling"):
            run_study(options(tmp_path, sentence="a street, typos only", dry_run=True))
        for _ in range(2):
            assert run_study(options(tmp_path, dry_run=True)).plan.instruction == SENTENCE
        with pytest.raises(UsageError, match="made with other arguments"):
            run_study(options(tmp_path, sentence="indoor zoom meeting", dry_run=True))

    def test_a_plan_changed_where_it_lies_is_said_to_be_changed_in_another_folder(self, tmp_path: Path) -> None:
        proposed, file = run_study(options(tmp_path / "study", dry_run=True)).plan, tmp_path / "study" / "plan.yaml"
        alone = {"sentence": "", "plan": file, "given": frozenset({"plan", "out"}), "dry_run": True}
        assert not run_study(options(tmp_path / "as it is", **alone)).plan.changed
        file.write_text(plan_text(replace(proposed, metrics=proposed.metrics[:1])))
        for _ in range(2):
            plan = run_study(options(tmp_path / "other", **alone)).plan
            assert (plan.changed, plan.proposed) == (True, proposed.hash)

    def test_a_copy_that_was_changed_is_said_to_be_changed_wherever_it_lies(self, tmp_path: Path) -> None:
        proposed = run_study(options(tmp_path / "study", dry_run=True)).plan
        text, copy = (tmp_path / "study" / "plan.yaml").read_text(), tmp_path / "elsewhere" / "mine.yaml"
        copy.parent.mkdir()
        alone = {"sentence": "", "plan": copy, "given": frozenset({"plan", "out"}), "dry_run": True}
        copy.write_text(text)
        assert run_study(options(tmp_path / "same", **alone)).plan == proposed
        copy.write_text(re.sub(r"(?m)^seed: \d+", "seed: 2", text))
        plan = run_study(options(tmp_path / "changed", **alone)).plan
        assert (plan.changed, plan.proposed, plan.seed) == (True, proposed.hash, 2)
        copy.write_text((tmp_path / "changed" / "plan.yaml").read_text())
        assert run_study(options(tmp_path / "again", **alone)).plan == plan

    def test_data_of_rris_without_negatives_say_how_to_make_some(self, tmp_path: Path) -> None:
        write_frame(tmp_path / "a.png", np.full((40, 60, 3), 90, np.uint8))
        row = {"id": "1", "frame": "a.png", "mask": {"size": [40, 60], "counts": [1000, 100, 1300]}, "text": "the car"}
        (tmp_path / "items.jsonl").write_text(json.dumps({**row, "exists": True, "reference": "r"}))
        data = {"data": tmp_path / "items.jsonl", "suite": "rris", "task": "", "given": frozenset[str]()}
        with pytest.raises(NothingToDo, match="none of 0 negatives") as error:
            run_study(options(tmp_path / "out", models=("lexicon",), dry_run=True, **data))
        assert "stress negatives" in str(error.value.hint)

    def test_from_a_sentence_to_an_analysis_and_on(self, tmp_path: Path) -> None:
        out = tmp_path / "study"
        dry = run_study(options(out, dry_run=True))
        assert not (out / "run").exists()
        assert any("motion_blur" in perturbation.name for perturbation in dry.plan.perturbations)
        assert {level for perturbation in dry.plan.perturbations for level in perturbation.severities} == {"3"}
        study = run_study(options(out))
        assert study.plan == dry.plan
        assert study.analysis is not None
        assert rows(out / "run/scores.jsonl")
        assert "outdoor night scene" in (out / "report.html").read_text()
        replayed = run_study(options(tmp_path / "again", replay=out, dry_run=True))
        assert replayed.plan == study.plan
        fewer = tmp_path / "fewer.yaml"
        fewer.write_text(plan_text(replace(study.plan, metrics=study.plan.metrics[:1])))
        before = len(rows(out / "run/predictions.jsonl"))
        alone = {"sentence": "", "plan": fewer, "given": frozenset({"plan", "out"})}
        changed_study = run_study(options(out, **alone))
        assert (changed_study.plan.changed, changed_study.plan.proposed) == (True, dry.plan.hash)
        assert len(rows(out / "run/predictions.jsonl")) == before
        assert [row for row in rows(out / "agent.jsonl") if row.get("kind") == "change"]
        with pytest.raises(UsageError, match="another plan than this command proposes"):
            run_study(options(out))
        other = replace(changed_study.plan.perturbations[0], severities=("high",))
        fewer.write_text(plan_text(replace(changed_study.plan, perturbations=(other,))))
        with pytest.raises(UsageError, match=r"has .*motion_blur at medium, which the plan leaves out"):
            run_study(options(out, **alone))
        for beside in ({**alone, "given": frozenset({"model"})}, {**alone, "sentence": SENTENCE}):
            with pytest.raises(UsageError, match="stands beside a plan"):
                run_study(options(out, **beside))

    def test_the_plan_of_the_gallery_is_that_of_its_command(self) -> None:
        docs = Path(__file__).resolve().parents[2] / "docs"
        page = (docs / "agent-gallery.md").read_text()
        sentence = "videos filmed outdoors with cheap microphones and wind"
        assert f'auscult agent "{sentence}" --task avs --model onsets --data scenes --count 24' in page
        study_plan = auscult.plan(sentence, data="scenes", count=24, task="avs", models="onsets")
        assert plan_text(study_plan) == (docs / "plans/onsets.yaml").read_text()

    @pytest.mark.parametrize(
        ("suite", "model", "sentence"),
        [("rris", "lexicon", "a street"), ("avi", "random", "indoor home robot, counting things it sees")],
    )
    def test_other_suites_come_to_a_report(self, tmp_path: Path, suite: str, model: str, sentence: str) -> None:
        fields = {"suite": suite, "task": "", "models": (model,), "count": 1, "sentence": sentence}
        study = run_study(options(tmp_path, **fields))
        assert study.run is not None
        assert study.run.summary.failed == 0
        assert rows(tmp_path / "run/scores.jsonl")
        cases = {row["id"] for row in rows(tmp_path / "run/cases.jsonl")}
        assert {task.name.partition("/")[0] for task in study.plan.tasks} >= {
            case.partition("/")[0] for case in cases if "/" in case
        }
        assert sentence in (tmp_path / "report.html").read_text()

    def test_where_every_request_failed_the_reasons_are_said(self, tmp_path: Path) -> None:
        for part in ("frames", "masks"):
            (tmp_path / "data/clip" / part).mkdir(parents=True)
        for number in range(3):
            write_frame(tmp_path / f"data/clip/frames/{number}.png", np.full((40, 60, 3), 90, np.uint8))
            write_mask(tmp_path / f"data/clip/masks/{number}.png", np.eye(40, 60, dtype=bool))
        (tmp_path / "data/clip/frames/1.png").write_bytes(b"\x89PNG torn")
        out = tmp_path / "study"
        arguments = ("--task", "vos", "--model", "flow", "--data", tmp_path / "data", "--workers", 1, "--out", out)
        result = command("agent", "only motion blur", *arguments)
        assert result.code == 1, result.err
        assert "frames/1.png" in result.err
        assert "no analysis" in result.err
        assert not (out / "analysis.json").exists()
        assert (out / "run/report.html").is_file()

    def test_the_command_says_what_is_left_out_and_how_long_it_takes(self, tmp_path: Path) -> None:
        out = tmp_path / "study"
        arguments = (
            "agent",
            SENTENCE,
            "--task",
            "vos",
            "--model",
            "flow",
            "--data",
            "scenes",
            "--count",
            1,
            "--dry-run",
            "--workers",
            1,
        )
        result = command(*arguments, "--out", out)
        assert result.code == 0, result.err
        assert "vision.glass_blur.v1" in result.out
        assert "left out" in result.out
        assert "from a run of one sample" in result.err

    def test_two_clips_of_davis_are_planned_run_and_told(self, data: Path, tmp_path: Path) -> None:
        material = tmp_path / "davis"
        for clip in ("dog", "goat"):
            for part in ("frames", "masks"):
                (material / clip / part).mkdir(parents=True)
                for file in sorted((data / f"video/davis2016/{clip}/{part}").iterdir())[:8]:
                    shutil.copy(file, material / clip / part)
        out, fields = tmp_path / "study", {"data": material, "levels": ("high",), "given": frozenset({"severity"})}
        study = run_study(options(out, sentence="animals, motion blur only", **fields))
        assert {sample.id for sample in study.plan.samples} <= {"dog", "goat"}
        assert study.run is not None
        assert study.run.summary.failed == 0
        assert "motion_blur" in (out / "report.html").read_text()


class TestBadInput:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"sentence": " "}, "there is no sentence"),
            ({"data": ""}, "there is no data"),
            ({"suite": "mqa"}, "no study of suite 'mqa'"),
            ({"suite": "rris"}, "suite rris takes no --task"),
            ({"task": "vox"}, "no task 'vox'"),
            ({"models": ()}, "no model"),
            ({"models": ("flo",)}, "'flo'"),
            ({"levels": ("bogus",), "given": frozenset({"severity"})}, "'bogus' is no severity"),
        ],
    )
    def test_what_is_mistyped_is_said_before_anything_is_asked(
        self, tmp_path: Path, fields: dict[str, object], message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            run_study(options(tmp_path / "out", **fields))
        assert not (tmp_path / "out" / "agent.jsonl").exists()
        assert run_study(options(tmp_path / "out", dry_run=True)).plan.models == ("flow",)

    def test_without_pyyaml_nothing_is_begun(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "yaml", None)
        with pytest.raises(UsageError, match="PyYAML is not installed"):
            run_study(options(tmp_path / "out", dry_run=True))
        assert not (tmp_path / "out").exists()

    def test_a_severity_before_a_perturbation_leaves_the_others_as_they_are(self) -> None:
        plan = auscult.plan("only heavy fog, snow", data="scenes", count=1, task="vos", models="flow", workers=0)
        levels = {entry.name: entry.severities for entry in plan.perturbations}
        assert levels == {"vision.fog.v1": ("high",), "vision.snow.v1": ("low", "medium", "high")}

    @pytest.mark.parametrize(("sentence", "severities"), [("severity 2", ("low", "high")), ("severity 4+", ("5",))])
    def test_a_first_mask_has_two_severities_whatever_is_asked(
        self, tmp_path: Path, sentence: str, severities: tuple[str, ...]
    ) -> None:
        names = ("dog", "masks.erode.v1", "J&F")
        chosen = [(Choice(type=name, reason="", selected=True),) for name in names]
        proposal = Proposal(samples=chosen[0], perturbations=chosen[1], metrics=chosen[2])
        turns = (Turn(round=0, role="operator", name="a model", proposal=proposal),)
        found = Debate(proposal=proposal, turns=turns, agreed=True)
        samples, perturbations, metrics = ((Offered(name=name, summary=""),) for name in names)
        offer = Offer(suite="r2", task="vos", samples=samples, perturbations=perturbations, metrics=metrics)
        base = Plan(task="vos", models=("flow",), data=PlanData(scenes=1))
        plan = plan_of(options(tmp_path, sentence=sentence), offer, found, base=base)
        assert [entry.severities for entry in plan.perturbations] == [severities]

    def test_python_takes_single_names_and_needs_a_folder_where_samples_are_made(self) -> None:
        plan = auscult.plan(SENTENCE, data="scenes", count=1, task="vos", models="flow", levels="high", workers=0)
        assert plan.perturbations[0].severities == ("high",)
        with pytest.raises(UsageError, match="suite avi makes its samples in `out`"):
            auscult.plan(SENTENCE, data="scenes", suite="avi", models="random")
        with pytest.raises(UsageError, match="there is no data"):
            auscult.plan(SENTENCE, data="", task="vos", models="flow")


class TestSafe:
    def test_no_module_starts_a_program_or_names_the_scores(self) -> None:
        for file in Path(auscult.__file__).parent.joinpath("agent").rglob("*.py"):
            text = file.read_text()
            for word in ("import subprocess", "os.system", "os.popen", "eval(", "exec(", "pickle", "scores.jsonl"):
                assert word not in text, f"{file.name}: {word}"
