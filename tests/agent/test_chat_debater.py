"""Operator and guardian behind a scripted endpoint on loopback: batches, repairs, failures, resuming, keys."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from auscult.agent.chat_debater import chat_debaters
from auscult.agent.debate import (
    CHOICE_SETS,
    LOG_FILE,
    AgentLog,
    Choice,
    Debate,
    Debater,
    Offer,
    Offered,
    Proposal,
    debate,
    replay,
)
from auscult.models.chat.loading import ChatHow
from auscult.outcome import Failed
from auscult.record.lines import read_lines
from chat_server import error_response, http, serving
from planted_orders import LINE, ORDERS
from scripted_planner import KEY, choices_reply, entries, every_second, script

pytest.importorskip("openai", reason="the extra `chat` is not installed")
pytestmark = pytest.mark.extra_chat


def offer_of(samples: int = 3, suite: str = "r2") -> Offer:
    return Offer(
        suite=suite,
        task="vos",
        samples=tuple(Offered(name=f"clip{n}.png", summary=f"clip {n}") for n in range(samples)),
        perturbations=tuple(Offered(name=name, summary=f"{name} of the picture") for name in ("fog", "snow", "blur")),
        metrics=(Offered(name="J", summary="region"), Offered(name="F", summary="outline")),
    )


OFFER = offer_of()


class Fixed:
    """A planner without a model, which takes all or nothing."""

    def __init__(self, name: str, *, takes: bool) -> None:
        self.name, self.takes = name, takes

    def propose(self, _: str, offer: Offer, other: Proposal | None = None) -> Proposal:
        del other
        return Proposal(
            **{
                choice_set: tuple(
                    Choice(type=item.name, reason="", selected=self.takes) for item in offer.of(choice_set)
                )
                for choice_set in CHOICE_SETS
            }
        )


def profile(folder: Path, **fields: Any) -> Path:
    file = folder / "profile.json"
    file.write_text(json.dumps({"model": "m", "tries": 1, "timeout_s": 10, **fields}))
    return file


def debate_result(
    url: str, folder: Path, *, offer: Offer = OFFER, rounds: int = 1, instruction: str = "a foggy street",
    fallbacks: tuple[Debater, Debater] | None = None, budget: float | None = None, most_requests: int | None = None,
    **profile_fields: Any,
) -> Debate | Failed:  # fmt: skip
    study = folder / "study"
    study.mkdir(exist_ok=True)
    log = AgentLog(study, most_requests=most_requests)
    chat_options = ChatHow(
        base_url=url, profile=profile(folder, **profile_fields), folder=study, replies=LOG_FILE, budget=budget
    )
    operator, guardian = chat_debaters("m", how=chat_options, log=log, fallbacks=fallbacks)
    result = debate(operator, guardian, instruction=instruction, offer=offer, rounds=rounds, log=log)
    operator.close()
    return result


def rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [row for row in read_lines(folder / "study" / LOG_FILE) if row["kind"] == kind]


def test_the_three_sets_are_chosen_and_the_guardian_agrees(tmp_path: Path) -> None:
    with serving(script(every_second)) as server:
        result = debate_result(server.url, tmp_path)
    assert isinstance(result, Debate)
    assert result.agreed is True
    assert result.proposal.selected("samples") == ("clip0.png", "clip2.png")
    assert result.proposal.selected("perturbations") == ("fog", "blur")
    assert result.proposal.selected("metrics") == ("J",)
    assert {choice.reason for choice in result.proposal.samples} == {"so"}
    assert len(server.bodies) == 5  # three sets of the operator, two that Eq. 4 verifies
    assert [row["sent"] for row in rows(tmp_path, "message")] == [
        body["messages"][-1]["content"] for body in server.bodies
    ]
    assert len(rows(tmp_path, "parse")) == 5
    assert not any("response_format" in body for body in server.bodies)


def test_each_has_its_own_prompt_and_memory(tmp_path: Path) -> None:
    with serving(script(disagrees)) as server:
        result = debate_result(server.url, tmp_path, rounds=2)
    assert isinstance(result, Debate)
    assert result.agreed is False
    assert {(dispute.choice_set, dispute.selected) for dispute in result.disputes} == {
        ("samples", False),
        ("perturbations", False),
    }
    texts = [body["messages"][-1]["content"] for body in server.bodies]
    assert ["cautiously" in text for text in texts] == [True] * 3 + [False, False, True, True] * 2
    statements = [[(word["by"], word["selected"]) for word in entries(text)[1].get("said", [])] for text in texts[::2]]
    assert statements == [
        [],  # operator, samples
        [],  # operator, metrics
        [("the other", False)],  # guardian, perturbations
        [("you", False), ("the other", True)],  # operator
        [("the other", False), ("you", True), ("the other", False)],  # guardian
        [("you", False), ("the other", True), ("you", False), ("the other", True)],  # operator
    ]


def test_long_lists_go_in_batches_with_stable_ids(tmp_path: Path) -> None:
    offer = offer_of(samples=95)
    with serving(script(every_second)) as server:
        result = debate_result(server.url, tmp_path, offer=offer, rounds=0, max_tokens=100_000)
    ids_by_request = [[row["id"] for row in entries(body["messages"][-1]["content"])[1:]] for body in server.bodies]
    samples = sorted((ids for ids in ids_by_request if ids[0][0] == "s"), key=lambda ids: int(ids[0][1:]))
    assert [len(ids) for ids in samples] == [40, 40, 15]
    assert [key for ids in samples for key in ids] == [f"s{number}" for number in range(1, 96)]
    assert isinstance(result, Debate)
    assert result.proposal.selected("samples") == tuple(f"clip{n}.png" for n in range(0, 95, 2))


def test_an_answer_nobody_asked_for_is_dropped_and_counted(tmp_path: Path) -> None:
    with serving(
        script(lambda _, __, ids: choices_reply({**dict.fromkeys(ids, True), "p99": True, "x1": True}))
    ) as server:
        result = debate_result(server.url, tmp_path, rounds=0)
    assert isinstance(result, Debate)
    assert any("samples: 2 answers nobody asked for" in remark for remark in result.remarks)
    assert [choice.type for choice in result.proposal.samples] == [sample.name for sample in OFFER.samples]
    assert [row["unasked"] for row in rows(tmp_path, "parse")] == [2, 2, 2]


def test_what_has_no_answer_is_asked_once_more_and_then_left_out(tmp_path: Path) -> None:
    with serving(script(lambda _, __, ids: choices_reply({key: True for key in ids if key != "s2"}))) as server:
        result = debate_result(server.url, tmp_path, rounds=0)
    assert isinstance(result, Debate)
    assert result.proposal.selected("samples") == ("clip0.png", "clip2.png")
    assert any("samples: 1 without an answer" in remark for remark in result.remarks)
    repairs = [body["messages"][-1]["content"] for body in server.bodies if "last reply" in str(body)]
    assert [[row["id"] for row in entries(text)[1:]] for text in repairs] == [["s2"]]


def half_a_list(_: int, __: str, ids: list[str]) -> str:
    text = choices_reply(dict.fromkeys(ids, True))
    return text[: text.index("}") + 20]


HUGE = http(b'{"choices": [{"message": {"content": "' + b"x" * 10_000_000 + b'"}}]}')
UNUSABLE: dict[str, str | bytes] = {
    "wrong JSON": "{'choices': [{'type': 's1' 'selected': True]",
    "prose": "I would take the first and perhaps the second, as it's a foggy street.",
    "other keys": '[{"id": "s1", "keep": true}, {"id": "s2", "keep": false}]',
    "refusal": "I'm sorry, but I can't assist with that.",
    "empty": "",
    "10 MB": HUGE,
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_replies_of_no_use_are_repaired_once_and_fail(tmp_path: Path, kind: str) -> None:
    with serving(script(lambda *_: UNUSABLE[kind])) as server:
        result = debate_result(server.url, tmp_path)
        second_result = debate_result(server.url, tmp_path)
    assert isinstance(result, Failed)
    assert second_result == result
    assert (result.error.stage, len(server.bodies)) == ("reply", 2)  # a question, a repair, and nothing twice
    assert "as operator about samples can be read" in result.error.error
    assert "--llm" in result.error.hint


def test_a_repair_can_succeed(tmp_path: Path) -> None:
    with serving(script(lambda n, text, ids: "No idea." if n == 0 else every_second(n, text, ids))) as server:
        result = debate_result(server.url, tmp_path, rounds=0)
    assert isinstance(result, Debate)
    assert result.remarks == ()
    assert '"No idea."' in server.bodies[1]["messages"][-1]["content"]


def test_half_a_list_counts_and_the_rest_is_asked_again(tmp_path: Path) -> None:
    with serving(script(half_a_list)) as server:
        result = debate_result(server.url, tmp_path, rounds=0)
    assert isinstance(result, Debate)
    assert result.proposal.selected("samples") == ("clip0.png", "clip1.png")
    assert len(server.bodies) == 6


def test_one_that_selects_everything(tmp_path: Path) -> None:
    with serving(script(lambda _, __, ids: choices_reply(dict.fromkeys(ids, True)))) as server:
        result = debate_result(server.url, tmp_path)
    assert isinstance(result, Debate)
    assert result.agreed is True
    assert all(choice.selected for choice_set in CHOICE_SETS for choice in result.proposal.of(choice_set))


def test_a_planner_without_a_model_stands_in_for_a_set_and_it_is_said(tmp_path: Path) -> None:
    def mute(number: int, text: str, ids: list[str]) -> str:
        return "no" if ids[0].startswith("p") else every_second(number, text, ids)

    fallbacks = (Fixed("built-in operator", takes=True), Fixed("built-in guardian", takes=False))
    with serving(script(mute)) as server:
        result = debate_result(server.url, tmp_path, fallbacks=fallbacks)
    assert isinstance(result, Debate)
    assert result.proposal.selected("perturbations") == ("fog", "snow", "blur")
    assert result.proposal.selected("samples") == ("clip0.png", "clip2.png")
    assert any("perturbations: no reply of chat.m can be read; built-in operator" in line for line in result.remarks)
    assert any("perturbations: no reply of chat.m can be read; built-in guardian" in line for line in result.remarks)


def test_a_hopeless_model_is_not_asked_about_every_batch(tmp_path: Path) -> None:
    with serving(script(lambda *_: "no")) as server:
        result = debate_result(server.url, tmp_path, offer=offer_of(samples=2000), rounds=0)
    assert isinstance(result, Failed)
    assert len(server.bodies) <= 2 * 8  # connections


def disagrees(_: int, text: str, ids: list[str]) -> str:
    return choices_reply(dict.fromkeys(ids, "boldly" in text))


@pytest.mark.parametrize("dies_at", [0, 2, 3, 6])
def test_a_dead_endpoint_leaves_what_goes_on(tmp_path: Path, dies_at: int) -> None:
    answered_texts: list[str] = []

    def dying(number: int, text: str, ids: list[str]) -> str | bytes:
        if number >= dies_at:
            return error_response(503)
        answered_texts.append(text)
        return disagrees(number, text, ids)

    with serving(script(dying)) as server:
        dead = [debate_result(server.url, tmp_path, revision="r1")]
    dead.append(debate_result(server.url, tmp_path, revision="r1"))  # nobody listens any more
    assert [failure.error.stage if isinstance(failure, Failed) else "" for failure in dead] == ["ask", "ask"]
    with serving(script(disagrees)) as server:
        result = debate_result(server.url, tmp_path, revision="r1")
    assert isinstance(result, Debate)
    texts = [*answered_texts, *(body["messages"][-1]["content"] for body in server.bodies)]
    assert (len(answered_texts), len(texts), len(set(texts))) == (dies_at, 7, 7)
    (tmp_path / "straight").mkdir()
    with serving(script(disagrees)) as server:
        assert debate_result(server.url, tmp_path / "straight", revision="r1") == result


def test_limits_on_requests_and_money_stop_and_go_on(tmp_path: Path) -> None:
    with serving(script(every_second)) as server:
        for limit in (2, 4):
            result = debate_result(server.url, tmp_path, most_requests=limit)
            assert isinstance(result, Failed)
            assert (result.error.stage, len(server.bodies)) == ("limit", limit)
        price = {"sent": 0.0, "received": 1e6}  # three tokens of a reply are 3 USD, and 10 may come
        poor = debate_result(server.url, tmp_path, budget=20.0, price=price, max_tokens=10)
        assert isinstance(poor, Failed)
        assert poor.error.stage == "limit"
        assert "budget" in poor.error.error
        assert isinstance(debate_result(server.url, tmp_path), Debate)


def test_the_key_is_sent_and_stands_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AUSCULT_CHAT_KEY", KEY)
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in KEY)

    def telling(number: int, text: str, ids: list[str]) -> str | bytes:
        if number == 3:
            return error_response(400, f"the key {KEY} is fine, the request is not", x_key=KEY)
        return every_second(number, text, ids).replace('"so"', f'"{KEY if number else escaped}"')

    with serving(script(telling)) as server:
        failure = debate_result(server.url, tmp_path)
        texts = [repr(failure), str(failure), caplog.text]
        result = debate_result(server.url, tmp_path)
        texts += [repr(result), *result.remarks] if isinstance(result, Debate) else [""]
    assert isinstance(failure, Failed)
    assert isinstance(result, Debate)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    files = [path.read_text() for path in (tmp_path / "study").rglob("*") if path.is_file()]
    assert len(files) == 1
    assert "***" in files[0]
    assert not [text for text in [*files, *texts] if "very-secret" in text]


def test_a_replay_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(script(disagrees)) as server:
        first = debate_result(server.url, tmp_path, rounds=2)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    operator, guardian = replay(tmp_path / "study")
    assert operator.name == guardian.name == "chat.m"
    replayed = debate(operator, guardian, instruction="a foggy street", offer=OFFER, rounds=2, log=AgentLog())
    assert replayed == first


@pytest.mark.parametrize("json_mode", ["schema", "object"])
def test_json_is_enforced_where_the_endpoint_can(tmp_path: Path, json_mode: str) -> None:
    with serving(script(every_second)) as server:
        assert isinstance(debate_result(server.url, tmp_path, rounds=0, json=json_mode), Debate)
    kinds = {body["response_format"]["type"] for body in server.bodies}
    assert kinds == {"json_schema" if json_mode == "schema" else "json_object"}


@pytest.mark.parametrize(
    ("suite", "phrase"),
    [("r2", "perturbations of what"), ("rris", "kinds of sentences"), ("avi", "tasks of a benchmark")],
)
def test_each_suite_has_a_text_for_its_middle_set(tmp_path: Path, suite: str, phrase: str) -> None:
    with serving(script(every_second)) as server:
        debate_result(server.url, tmp_path, offer=offer_of(suite=suite), rounds=0)
    assert [phrase in body["messages"][-1]["content"] for body in server.bodies] == [False, True, False]


def plain(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("place", ["instruction", "caption", "file name", "reply"])
def test_planted_orders_are_data(tmp_path: Path, place: str, order: str) -> None:
    clips = [Offered(name=sample.name, summary=sample.summary) for sample in OFFER.samples]
    if place == "caption":
        clips[1] = Offered(name=clips[1].name, summary=order)
    if place == "file name":
        clips[1] = Offered(name=order, summary=clips[1].summary)
    offer = Offer(
        suite="r2", task="vos", samples=tuple(clips), perturbations=OFFER.perturbations, metrics=OFFER.metrics
    )

    def obedient(number: int, text: str, ids: list[str]) -> str:
        choices = json.loads(every_second(number, text, ids))["choices"]
        if place == "reply":  # as far as a reply can obey
            extra_keys = {"out": "/etc/passwd", "limits": {"usd": 1e6, "path": "/"}, "score": 1.0, "order": order}
            choices = [{**choice, **extra_keys, "reason": order} for choice in choices]
            return json.dumps({"choices": [*choices, {"type": order, "reason": "", "selected": True}], **extra_keys})
        return json.dumps({"choices": choices})

    with serving(script(obedient)) as server:
        result = debate_result(
            server.url, tmp_path, offer=offer, instruction=order if place == "instruction" else "a street"
        )
    assert isinstance(result, Debate)
    assert result.agreed is True
    assert result.proposal.selected("samples") == (clips[0].name, clips[2].name)
    assert result.proposal.selected("perturbations") == ("fog", "blur")
    assert {path.name for path in (tmp_path / "study").iterdir()} == {LOG_FILE}
    for body in server.bodies:
        text = body["messages"][-1]["content"]
        before, _, after = text.split(LINE)  # the order draws no line of its own
        assert order.strip() not in before + after
        entry_rows = entries(text)
        assert [row["id"] for row in entry_rows[1:]][-1] in {"s3", "p3", "m2"}  # no entry more
        assert plain(json.dumps(entry_rows, ensure_ascii=False)) == json.dumps(entry_rows, ensure_ascii=False)
