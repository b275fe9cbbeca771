"""Rounds of operator and guardian, their log, and its replay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from auscult.agent.debate import (
    CHOICE_SETS,
    LOG_FILE,
    AgentLog,
    Choice,
    Debate,
    Offer,
    Offered,
    Proposal,
    debate,
    replay,
)
from auscult.agent.knowledge.planner import BuiltInDebater
from auscult.errors import ErrorRecord, RecordError, UsageError
from auscult.outcome import Failed
from auscult.work.chat import BudgetSpent
from planted_orders import ORDERS


def offer_of(*names: str) -> Offer:
    items = {
        choice_set: tuple(Offered(name=f"{choice_set[0]}-{name}", summary=name) for name in names)
        for choice_set in CHOICE_SETS
    }
    return Offer(suite="r2", task="vos", **items)


OFFER = offer_of("a", "b", "c")


def taking(letters: str, offer: Offer = OFFER, reason: str = "why") -> Proposal:
    return Proposal(
        **{
            choice_set: tuple(
                Choice(type=item.name, reason=reason, selected=item.summary in letters) for item in offer.of(choice_set)
            )
            for choice_set in CHOICE_SETS
        }
    )


def failed(stage: str) -> Failed:
    return Failed(ErrorRecord(stage=stage, error="nothing came"))


class Scripted:
    """Says one thing after the other; what it was shown is kept."""

    def __init__(self, name: str, *replies: str | Failed) -> None:
        self.name, self.replies, self.other_proposals = name, list(replies), list[Proposal | None]()
        self.remarks = (f"of {name}",)

    def propose(self, _: str, offer: Offer, other: Proposal | None = None) -> Proposal | Failed:
        self.other_proposals.append(other)
        reply = self.replies.pop(0)
        return reply if isinstance(reply, Failed) else taking(reply, offer, reason=self.name)


def debate_result(
    operator: Sequence[str | Failed], guardian: Sequence[str | Failed], rounds: int = 2, log: AgentLog | None = None
) -> Debate | Failed:
    return debate(
        Scripted("o", *operator), Scripted("g", *guardian), instruction="x", offer=OFFER, rounds=rounds,
        log=log or AgentLog(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "guardian", "rounds", "letters", "agreed", "held_rounds"),
    [
        (["a"], [], 0, "a", None, 0),
        (["a"], ["a"], 3, "a", True, 1),  # the guardian agrees: the operator is not asked again
        (["a", "ab"], ["ab"], 3, "ab", True, 1),  # the operator gives in
        (["a", "ab", "ab"], ["b", "ab"], 2, "ab", True, 2),
        (["a", "a", "a"], ["b", "b"], 2, "a", False, 2),  # they never agree: the operator has the last word
        (["a", "b", "a", "b"], ["ac", "bc", "ab"], 3, "b", False, 3),
    ],
)
def test_rounds(
    operator: list[str], guardian: list[str], rounds: int, letters: str, agreed: bool | None, held_rounds: int
) -> None:
    result = debate_result(operator, guardian, rounds)
    assert isinstance(result, Debate)
    assert result.proposal.selected("samples") == tuple(f"s-{letter}" for letter in letters)
    assert (result.agreed, result.rounds) == (agreed, held_rounds)
    assert bool(result.disputes) == (agreed is False)


def test_a_dispute_has_both_reasons_and_the_operators_word() -> None:
    result = debate_result(["a", "a"], ["ab"], 1)
    assert isinstance(result, Debate)
    assert [(dispute.choice_set, dispute.type, dispute.selected) for dispute in result.disputes] == [
        ("samples", "s-b", False), ("perturbations", "p-b", False), ("metrics", "m-b", False),
    ]  # fmt: skip
    assert {(dispute.operator_reason, dispute.guardian_reason) for dispute in result.disputes} == {("o", "g")}


def test_each_is_shown_the_others_last_version() -> None:
    operator, guardian = Scripted("o", "a", "ab"), Scripted("g", "b")
    debate(operator, guardian, instruction="x", offer=OFFER, rounds=1, log=AgentLog())
    assert operator.other_proposals == [None, taking("b", reason="g")]
    assert guardian.other_proposals == [taking("a", reason="o")]


def test_a_guardian_of_no_use_is_said_and_the_proposal_stands() -> None:
    result = debate_result(["a"], [failed("reply")])
    assert isinstance(result, Debate)
    assert result.agreed is None
    assert any("the operator's proposal stands: nothing came" in remark for remark in result.remarks)


@pytest.mark.parametrize(
    ("operator", "guardian"),
    [([failed("reply")], []), ([failed("ask")], []), (["a"], [failed("ask")]), (["a"], [failed("limit")]),
     (["a", failed("reply")], ["b"])],
)  # fmt: skip
def test_without_an_operator_or_an_endpoint_there_is_no_plan(
    operator: list[str | Failed], guardian: list[str | Failed]
) -> None:
    assert isinstance(debate_result(operator, guardian), Failed)


@pytest.mark.parametrize("rounds", [-1, 4])
def test_rounds_out_of_range(rounds: int) -> None:
    with pytest.raises(UsageError, match="rounds are"):
        debate_result(["a"], [], rounds)


def test_the_log_has_every_step_once_and_replays(tmp_path: Path) -> None:
    first = debate_result(["a", "a"], ["b"], 1, AgentLog(tmp_path))
    log_bytes = (tmp_path / LOG_FILE).read_bytes()
    assert debate_result(["a", "a"], ["b"], 1, AgentLog(tmp_path)) == first  # the same command again
    assert (tmp_path / LOG_FILE).read_bytes() == log_bytes
    kinds = [json.loads(line)["kind"] for line in log_bytes.splitlines()]
    assert kinds == ["debate", *["turn"] * 3, *["dispute"] * 6, "decision"]
    operator, guardian = replay(tmp_path)
    assert debate(operator, guardian, instruction="x", offer=OFFER, rounds=1, log=AgentLog()) == first


def test_a_torn_last_line_is_written_again(tmp_path: Path) -> None:
    first = debate_result(["a"], ["a"], 1, AgentLog(tmp_path))
    log_bytes = (tmp_path / LOG_FILE).read_bytes()
    (tmp_path / LOG_FILE).write_bytes(log_bytes[:-20])
    assert debate_result(["a"], ["a"], 1, AgentLog(tmp_path)) == first
    assert (tmp_path / LOG_FILE).read_bytes() == log_bytes


@pytest.mark.parametrize(
    ("sentence", "offer", "rounds"), [("y", OFFER, 1), ("x", offer_of("a", "b"), 1), ("x", OFFER, 3)]
)
def test_a_replay_of_something_else_says_so(tmp_path: Path, sentence: str, offer: Offer, rounds: int) -> None:
    debate_result(["a", "a"], ["b"], 1, AgentLog(tmp_path))
    operator, guardian = replay(tmp_path)
    result = debate(operator, guardian, instruction=sentence, offer=offer, rounds=rounds, log=AgentLog())
    if isinstance(result, Debate):  # only the round that was never held is missing
        assert rounds == 3
        assert any("no turn of the guardian in round 2" in remark for remark in result.remarks)
    else:
        assert "for this sentence and offer" in result.error.error


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({}, UsageError),
        ({"kind": "turn", "round": "x", "role": "operator", "name": "o"}, RecordError),
        ({"kind": "turn", "round": 0, "role": "judge", "name": "o"}, RecordError),
    ],
)
def test_a_log_without_a_debate(tmp_path: Path, row: dict[str, object], error: type[Exception]) -> None:
    (tmp_path / LOG_FILE).write_text(json.dumps(row) + "\n")
    with pytest.raises(error):
        replay(tmp_path)


def test_a_folder_without_a_log(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no debate to replay"):
        replay(tmp_path)


def test_requests_are_counted_over_commands(tmp_path: Path) -> None:
    for _ in range(2):
        log = AgentLog(tmp_path, most_requests=2)
        assert [log.reply(key, lambda: "yes") for key in ("k1", "k2", "k1")] == ["yes"] * 3
        with pytest.raises(BudgetSpent, match="all 2 requests are spent"):
            log.reply("k3", lambda: "no")


def night_choices(sentence: str, samples: Sequence[Offered]) -> dict[str, tuple[int, ...]]:
    """What the built-in planners take for a night outdoors, by position."""
    kinds = ("vision.motion_blur.v1", "vision.fog.v1", "vision.glass_blur.v1", "sound.rir.v1", "sentences.typos.v1")
    offer = Offer(
        suite="r2",
        task="rvos",
        samples=tuple(samples),
        perturbations=tuple(Offered(name=name, summary=name) for name in kinds),
        metrics=tuple(Offered(name=name, summary=name) for name in ("J&F", "J", "F")),
    )
    pair = (BuiltInDebater("operator"), BuiltInDebater("guardian"))
    result = debate(*pair, instruction=sentence, offer=offer, log=AgentLog())
    assert isinstance(result, Debate)
    return {
        choice_set: tuple(n for n, choice in enumerate(result.proposal.of(choice_set)) if choice.selected)
        for choice_set in CHOICE_SETS
    }


@pytest.mark.parametrize("order", ORDERS)
def test_planted_orders_change_no_choice_of_the_built_in_planner(order: str) -> None:
    captions = ("a street at night, cars", "a kitchen by day, indoors", "a dark street in the rain")
    clips = [Offered(name=f"clip{number}", summary=text) for number, text in enumerate(captions)]
    sentence = "outdoor night scene, motion blur for sure"
    plain = night_choices(sentence, clips)
    assert plain["samples"] == (0, 2)
    assert 0 in plain["perturbations"]
    assert 2 not in plain["perturbations"]
    indoors = clips[1]
    for clip in (replace(indoors, summary=f"{indoors.summary}. {order}"), replace(indoors, name=order)):
        assert night_choices(sentence, [clips[0], clip, clips[2]]) == plain
    # Words of a sentence are read as words: some name typed queries. None is obeyed as an order.
    ordered = night_choices(f"{sentence}. {order}", clips)
    ordered_index = 4
    assert {**ordered, "perturbations": tuple(n for n in ordered["perturbations"] if n != ordered_index)} == {
        **plain, "perturbations": tuple(n for n in plain["perturbations"] if n != ordered_index)
    }  # fmt: skip


def test_the_page_shows_the_prompts_as_they_are() -> None:
    root = Path(__file__).resolve().parents[2]
    prompts, page = root / "src/auscult/agent/prompts", (root / "docs/agent-debate.md").read_text()
    for name in ("operator", "guardian", "perturbations", "propose", "verify"):
        assert f"`{name}.txt`\n\n```text\n{(prompts / f'{name}.txt').read_text()}```\n" in page
