"""A study whose operator and guardian stand behind a scripted endpoint, as far as its plan."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from auscult.agent.debate import LOG_FILE
from auscult.agent.options import AgentOptions
from auscult.agent.plan import PlanLimits, plan_text
from auscult.agent.running import LimitReached
from auscult.agent.study import run_study
from auscult.errors import AuscultError
from auscult.record.lines import read_lines
from chat_server import completed, error_response, serving
from planted_orders import ORDERS
from scripted_planner import KEY, choices_reply, entries, every_second, script
from small_inputs import auscult as command

pytest.importorskip("openai", reason="the extra `chat` is not installed")
pytest.importorskip("yaml", reason="the extra `agent` is not installed")
pytestmark = [pytest.mark.extra_chat, pytest.mark.extra_agent]


def options(folder: Path, url: str, **fields: object) -> AgentOptions:
    profile = folder / "profile.json"
    profile.write_text('{"model": "m", "tries": 1, "revision": "r1"}')
    study_options = AgentOptions(
        sentence="outdoor night scene", task="vos", models=("classical.flow.v1",), data="scenes", count=2,
        out=folder / "study", llm="m", base_url=url, profile=profile, dry_run=True, workers=1,
    )  # fmt: skip
    return dataclasses.replace(study_options, **fields)


def test_a_dead_endpoint_is_gone_on_from_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUSCULT_CHAT_KEY", KEY)

    def all_samples(number: int, text: str, ids: list[str]) -> str:
        return choices_reply(dict.fromkeys(ids, True)) if ids[0][0] == "s" else every_second(number, text, ids)

    with serving(
        script(lambda n, text, ids: all_samples(n, text, ids) if n < 2 else error_response(503, KEY))
    ) as server:
        with pytest.raises(AuscultError) as error:
            run_study(options(tmp_path, server.url))
        assert "503" in str(error.value)
        assert KEY not in str(error.value) + repr(error.value)
    with serving(script(all_samples)) as server:
        study = run_study(options(tmp_path, server.url))
        n_requests = len(server.bodies)
        assert run_study(options(tmp_path, server.url)).plan == study.plan
        assert len(server.bodies) == n_requests
    messages = [row for row in read_lines(tmp_path / "study" / LOG_FILE) if row["kind"] == "message"]
    assert len(messages) == n_requests + 2  # nothing that was answered before is asked again
    assert len({row["sent"] for row in messages}) == len(messages)
    assert study.plan.planner == "chat.m"
    replayed = run_study(options(tmp_path, "", llm="", out=tmp_path / "replayed", replay=tmp_path / "study"))
    assert (tmp_path / "replayed/plan.yaml").read_bytes() == (tmp_path / "study/plan.yaml").read_bytes()
    assert replayed.plan.hash == study.plan.hash
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_limit_on_requests_stops_a_debate_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    with serving(script(every_second)) as server:
        for _ in range(2):  # what earlier commands asked counts
            with pytest.raises(LimitReached, match="all 2 requests") as error:
                run_study(options(tmp_path, server.url, max_requests=2))
            assert (error.value.limit, len(server.bodies)) == ("requests", 2)
        assert run_study(options(tmp_path, server.url, max_requests=20)).plan.limits.requests == 20


@pytest.mark.slow
def test_a_plan_that_is_given_bounds_what_the_analyst_asks(tmp_path: Path) -> None:
    with serving(script(every_second)) as server:
        planned = run_study(options(tmp_path, server.url)).plan
        n_requests, first = len(server.bodies), dataclasses.replace(planned.perturbations[0], severities=("low",))
        small = dataclasses.replace(planned, perturbations=(first,), samples=planned.samples[:1])
        file = tmp_path / "bound.yaml"
        file.write_text(plan_text(dataclasses.replace(small, limits=PlanLimits(requests=n_requests))))
        fields = {"sentence": "", "plan": file, "dry_run": False, "given": frozenset({"plan", "out"})}
        study = run_study(options(tmp_path, server.url, **fields))
        assert len(server.bodies) == n_requests
    assert study.analysis is not None
    assert (study.analysis.writer, study.plan.limits.requests) == ("templates", n_requests)
    assert f"all {n_requests} requests are spent" in study.analysis.remarks[0]


class Terminal(io.StringIO):
    """What a person types, on what says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed_text", "code"), [("y\n", 0), ("n\n", 2)])
def test_at_a_limit_in_usd_a_terminal_is_asked_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed_text: str, code: int
) -> None:
    profile = tmp_path / "dear.json"
    price = {"sent": 0, "received": 1000}  # 0.1 USD at most for a reply, 0.003 for the scripted one
    profile.write_text(json.dumps({"model": "m", "tries": 1, "max_tokens": 100, "price": price}))
    arguments = ("--task", "vos", "--model", "flow", "--data", "scenes", "--count", "2", "--dry-run")
    asking = ("--llm", "m", "--profile", profile, "--max-usd", "0.11", "--out", tmp_path / "study")
    monkeypatch.setattr("sys.stdin", Terminal(typed_text))
    monkeypatch.setattr("auscult.cli.agent.sys", SimpleNamespace(stdin=Terminal(), stderr=Terminal()))
    monkeypatch.setattr("auscult.agent.study.estimated", lambda *_, **__: "not estimated")
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    with serving(script(lambda *request: completed(every_second(*request), usage=usage))) as server:
        result = command("agent", "outdoor night scene", *arguments, *asking, "--base-url", server.url)
        n_requests = len(server.bodies)
    assert result.code == code, result.err
    assert "Go on with usd up to 0.22?" in result.err
    assert "the budget of 0.11 USD may not be enough" in result.err
    assert "larger --max-usd" in result.err
    assert len([row for row in read_lines(tmp_path / "study" / LOG_FILE) if row["kind"] == "message"]) == n_requests
    assert (tmp_path / "study/plan.yaml").exists() == (code == 0)


def test_the_plan_of_the_gallery_is_that_of_its_dialogue(tmp_path: Path) -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"

    def moving(_: int, text: str, ids: list[str]) -> str:
        names = {row["id"]: row["name"] for row in entries(text)[1:]}
        if ids[0][0] != "p":
            return choices_reply({key: ids[0][0] == "s" or name == "J&F" for key, name in names.items()})
        # the guardian's first turn, in which only the operator has said something; requests come in any order
        is_first = "boldly" in text and len(entries(text)[1]["said"]) == 1
        phrases = ("motion", "fog.") if is_first else ("motion",)
        return choices_reply({key: any(phrase in name for phrase in phrases) for key, name in names.items()})

    sentence, page = "outdoor night scene, hand-held", (docs / "agent-gallery.md").read_text(encoding="utf-8")
    assert f'auscult agent "{sentence}" --task vos --model flow --data scenes --count 3' in page
    profile = tmp_path / "scripted.json"
    profile.write_text('{"model": "scripted", "tries": 1}')
    fields = {"sentence": sentence, "models": ("flow",), "count": 3, "llm": "scripted", "profile": profile}
    with serving(script(moving)) as server:
        plan = run_study(options(tmp_path, server.url, **fields)).plan
    assert plan_text(plan) == (docs / "plans/talk.yaml").read_text(encoding="utf-8")


def test_a_dispute_and_a_stand_in_are_said_in_the_plan(tmp_path: Path) -> None:
    def unlike(number: int, text: str, ids: list[str]) -> str:
        if ids[0][0] == "m":
            return "no"
        return choices_reply({key: int(key[1:]) % 2 == ("boldly" in text) for key in ids}) if ids[0][0] == "p" else "no"

    with serving(script(unlike)) as server:
        plan = run_study(options(tmp_path, server.url)).plan
    remarks = "\n".join(plan.remarks)
    assert "built-in operator chose instead" in remarks
    assert "never agreed" in remarks


def test_orders_in_replies_reach_neither_paths_nor_limits(tmp_path: Path) -> None:
    def obedient(_: int, text: str, ids: list[str]) -> str:
        extra_keys = '"out": "/etc/passwd", "limits": {"usd": 1e6}, "models": ["subprocess:rm"], "score": 1.0'
        rows = [f'{{"type": "{key}", "reason": "{ORDERS[4]}", "selected": true, {extra_keys}}}' for key in ids[:3]]
        assert entries(text)
        return f'{{"choices": [{", ".join(rows)}], {extra_keys}}}'

    with serving(script(obedient)) as server:
        study = run_study(options(tmp_path, server.url))
        plan = study.plan
    assert (plan.models, plan.limits.usd, plan.limits.requests) == (("classical.flow.v1",), None, None)
    assert study.folder == tmp_path / "study"
    assert {path.name for path in tmp_path.iterdir()} == {"study", "profile.json"}
    assert not list(tmp_path.rglob("scores.jsonl"))
