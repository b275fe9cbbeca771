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
from chat_server import completed, refused, serving
from small_inputs import auscult

FEW = [one for one in labelled() if one.half == "dev"][:2]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two instructions, and no scripted model."""
    monkeypatch.setattr("auscult.agent.evaluation.measuring.instructions", lambda _: FEW)
    monkeypatch.setattr("auscult.agent.evaluation.measuring.ERROR_RATES", ())


# --- comparisons ---


def test_by_place_only_leaves_out_what_the_place_bars() -> None:
    taken = by_place("Offices at night, no talk", offer_for("avs"))
    assert "vision.snow.v1" not in taken["perturbations"]
    assert {"sound.room_reverberation.v1", "vision.motion_blur.v1"} <= set(taken["perturbations"])
    assert "vision.brightness.v1" not in taken["perturbations"]
    assert not taken["samples"]  # no office by night
    assert set(by_place("indoors", offer_for("vos"))["samples"]) == {one.name for one in pool() if one.facts["indoors"]}
    everything = by_place("whatever", offer_for("vos"))
    assert {of: len(everything[of]) for of in CHOICE_SETS} == {of: len(offer_for("vos").of(of)) for of in CHOICE_SETS}


def scripted(error: float, rounds: int, found: list[Labelled]) -> list[Debate]:
    texts = {one.instruction: one for one in labelled()}
    pair = (
        ScriptedDebater("operator", texts, error=error, seed=1),
        ScriptedDebater("guardian", texts, error=error, seed=1),
    )
    told = [
        debate(*pair, instruction=one.instruction, offer=offer_for(one.task), rounds=rounds, log=AgentLog())
        for one in found
    ]
    return [one for one in told if isinstance(one, Debate)]


def acc(found: list[Labelled], debates: list[Debate], rounds: int) -> float:
    selected = [by_rounds(one)[rounds]["samples"] for one in debates]
    names = [one.name for one in pool()]
    return float(
        np.mean(
            [
                score("ACC", one.labels["samples"], offered=names, selected=taken)
                for one, taken in zip(found, selected, strict=True)
            ]
        )
    )


def test_a_scripted_model_errs_at_its_rate_and_two_mend_what_one_missed() -> None:
    found = list(labelled())[:30]  # 30 times 48 looks: a rate of .2 is within .03
    assert acc(found, scripted(0.0, 1, found), 0) == 1
    debates = scripted(0.2, 1, found)
    assert acc(found, debates, 0) == pytest.approx(0.8, abs=0.03)
    # right is spoiled where both err, wrong is mended where neither does
    assert acc(found, debates, 1) == pytest.approx(0.8 * (1 - 0.04) + 0.2 * 0.64, abs=0.03)


def test_fewer_rounds_are_the_beginning_of_more() -> None:
    for rounds in (0, 1, 2):
        short, long = scripted(0.35, rounds, FEW), scripted(0.35, 3, FEW)
        assert [by_rounds(one)[3] for one in short] == [by_rounds(one)[rounds] for one in long]


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
    first, again = (run("agent", out=tmp_path / "out", half="dev") for _ in range(2))
    assert first.tables == again.tables
    assert (first.summary.n, first.summary.failed) == (2, 0)
    value = first.summary.metrics["built-in, perturbations, Rate, 2 rounds"]
    assert 0 <= value["low"] <= value["value"] <= value["high"] <= 1
    assert "not comparable" in first.tables["table7"].note


def asked(url: str, folder: Path) -> SuiteRun:
    (folder / "profile.json").write_text(json.dumps({"model": "m", "tries": 1, "timeout_s": 10}))
    return run("agent", out=folder / "out", half="dev", llm="m", base_url=url, profile=folder / "profile.json")


def takes_all(_: int, body: Mapping[str, Any]) -> bytes:
    """Selects every id that the prompt has."""
    rows = [json.loads(line) for line in body["messages"][-1]["content"].splitlines() if line.startswith('{"id"')]
    chosen = [{"type": row["id"], "reason": "so", "selected": True} for row in rows]
    return completed(json.dumps({"choices": chosen}))


@pytest.mark.extra_chat
@pytest.mark.usefixtures("few")
def test_a_language_model_has_its_row_beside_the_built_in_planner(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra `chat` is not installed")
    with serving(takes_all) as served:
        done = asked(served.url, tmp_path)
        sent = len(served.bodies)
        assert asked(served.url, tmp_path).tables == done.tables
        assert len(served.bodies) == sent, "nothing is asked twice"
    model, built_in, printed = done.tables["table7"].rows[:3]
    assert (model[1], built_in[1], printed[1]) == ("m", "built-in", "R2-Bench, Table 7 (printed)")
    every = next(row for row in done.tables["baselines"].rows if row[1] == "all")
    assert model[2] == every[2].split()[0]


@pytest.mark.extra_chat
@pytest.mark.usefixtures("few")
def test_an_endpoint_that_never_answers_is_no_score(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra `chat` is not installed")
    with serving(lambda *_: refused(401, "no")) as served:
        done = asked(served.url, tmp_path)
        assert len(served.bodies) <= 8, "once nobody answers, nothing more is asked"
    assert (done.summary.n, done.summary.failed) == (2, 2)
    assert done.tables["table7"].rows[0][2:] == ("–",) * 8
    rows = [json.loads(line) for line in (tmp_path / "out" / "errors.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [one.id for one in FEW]
    with serving(takes_all) as served:
        assert asked(served.url, tmp_path).summary.failed == 0
