"""Labelled instructions, what a planner is compared with, and ``auscult run agent``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.agent.debate import CHOICE_SETS, AgentLog, Debate, debate
from auscult.agent.evaluation import SUITE, AgentTableOptions
from auscult.agent.evaluation.labels import Labelled, labelled, offer_for, pool, score
from auscult.agent.evaluation.measuring import ScriptedDebater, by_place, by_rounds
from auscult.errors import UsageError
from auscult.suites.registered import SuiteRun, run
from chat_server import completed, error_response, serving
from small_inputs import auscult

FEW = [labelled_ for labelled_ in labelled() if labelled_.half == "dev"][:2]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two instructions, and no scripted model."""
    monkeypatch.setattr("auscult.agent.evaluation.measuring.instructions", lambda _: FEW)
    monkeypatch.setattr("auscult.agent.evaluation.measuring.ERROR_RATES", ())


# --- comparisons ---


def test_by_place_only_leaves_out_what_the_place_bars() -> None:
    names = by_place("Offices at night, no talk", offer_for("avs"))
    assert "vision.snow.v1" not in names["perturbations"]
    assert {"sound.room_reverberation.v1", "vision.motion_blur.v1"} <= set(names["perturbations"])
    assert "vision.brightness.v1" not in names["perturbations"]
    assert not names["samples"]  # no office by night
    assert set(by_place("indoors", offer_for("vos"))["samples"]) == {
        sample.name for sample in pool() if sample.facts["indoors"]
    }
    all_names = by_place("whatever", offer_for("vos"))
    assert {choice_set: len(all_names[choice_set]) for choice_set in CHOICE_SETS} == {
        choice_set: len(offer_for("vos").of(choice_set)) for choice_set in CHOICE_SETS
    }


def scripted(error: float, rounds: int, sentences: list[Labelled]) -> list[Debate]:
    texts = {sentence.instruction: sentence for sentence in labelled()}
    pair = (
        ScriptedDebater("operator", texts, error=error, seed=1),
        ScriptedDebater("guardian", texts, error=error, seed=1),
    )
    debates = [
        debate(*pair, instruction=sentence.instruction, offer=offer_for(sentence.task), rounds=rounds, log=AgentLog())
        for sentence in sentences
    ]
    return [result for result in debates if isinstance(result, Debate)]


def acc(sentences: list[Labelled], debates: list[Debate], rounds: int) -> float:
    selected_names = [by_rounds(result)[rounds]["samples"] for result in debates]
    names = [sample.name for sample in pool()]
    return float(
        np.mean(
            [
                score("ACC", sentence.labels["samples"], offered=names, selected=names_)
                for sentence, names_ in zip(sentences, selected_names, strict=True)
            ]
        )
    )


def test_a_scripted_model_errs_at_its_rate_and_two_mend_what_one_missed() -> None:
    sentences = list(labelled())[:30]  # 30 times 48 looks: a rate of .2 is within .03
    assert acc(sentences, scripted(0.0, 1, sentences), 0) == 1
    debates = scripted(0.2, 1, sentences)
    assert acc(sentences, debates, 0) == pytest.approx(0.8, abs=0.03)
    # right is spoiled where both err, wrong is mended where neither does
    assert acc(sentences, debates, 1) == pytest.approx(0.8 * (1 - 0.04) + 0.2 * 0.64, abs=0.03)


def test_fewer_rounds_are_the_beginning_of_more() -> None:
    for rounds in (0, 1, 2):
        short, long = scripted(0.35, rounds, FEW), scripted(0.35, 3, FEW)
        assert [by_rounds(result)[3] for result in short] == [by_rounds(result)[rounds] for result in long]


# --- the command ---


def test_a_half_that_there_is_not_and_data_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no half 'both'"):
        SUITE.run(AgentTableOptions(out=tmp_path / "out", half="both"))
    refused_data = auscult("run", "agent", "--out", tmp_path / "out", "--data", tmp_path)
    assert refused_data.code == 2
    assert "--data changes nothing here" in refused_data.err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("few")
def test_the_same_command_again_gives_the_same(tmp_path: Path) -> None:
    first, second = (run("agent", out=tmp_path / "out", half="dev") for _ in range(2))
    assert first.tables == second.tables
    assert (first.summary.n, first.summary.failed) == (2, 0)
    value = first.summary.metrics["built-in, perturbations, Rate, 2 rounds"]
    assert 0 <= value["low"] <= value["value"] <= value["high"] <= 1
    assert "not comparable" in first.tables["table7"].note


def run_with_model(url: str, folder: Path) -> SuiteRun:
    (folder / "profile.json").write_text(json.dumps({"model": "m", "tries": 1, "timeout_s": 10}))
    return run("agent", out=folder / "out", half="dev", llm="m", base_url=url, profile=folder / "profile.json")


def takes_all(_: int, body: Mapping[str, Any]) -> bytes:
    """Selects every id that the prompt has."""
    rows = [json.loads(line) for line in body["messages"][-1]["content"].splitlines() if line.startswith('{"id"')]
    choices = [{"type": row["id"], "reason": "so", "selected": True} for row in rows]
    return completed(json.dumps({"choices": choices}))


@pytest.mark.extra_chat
@pytest.mark.usefixtures("few")
def test_a_language_model_has_its_row_beside_the_built_in_planner(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra `chat` is not installed")
    with serving(takes_all) as server:
        run_ = run_with_model(server.url, tmp_path)
        n_requests = len(server.bodies)
        assert run_with_model(server.url, tmp_path).tables == run_.tables
        assert len(server.bodies) == n_requests, "nothing is asked twice"
    model, built_in, printed_row = run_.tables["table7"].rows[:3]
    assert (model[1], built_in[1], printed_row[1]) == ("m", "built-in", "R2-Bench, Table 7 (printed)")
    all_row = next(row for row in run_.tables["baselines"].rows if row[1] == "all")
    assert model[2] == all_row[2].split()[0]


@pytest.mark.extra_chat
@pytest.mark.usefixtures("few")
def test_an_endpoint_that_never_answers_is_no_score(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra `chat` is not installed")
    with serving(lambda *_: error_response(401, "no")) as server:
        run_ = run_with_model(server.url, tmp_path)
        assert len(server.bodies) <= 8, "once nobody answers, nothing more is asked"
    assert (run_.summary.n, run_.summary.failed) == (2, 2)
    assert run_.tables["table7"].rows[0][2:] == ("–",) * 8
    rows = [json.loads(line) for line in (tmp_path / "out" / "errors.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [sentence.id for sentence in FEW]
    with serving(takes_all) as server:
        assert run_with_model(server.url, tmp_path).summary.failed == 0
