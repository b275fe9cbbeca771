"""Operator and guardian propose and verify in rounds; every step is a line of ``agent.jsonl``, which can be replayed.

R2-Bench, Eqs. 3 and 4: the operator proposes, the guardian answers with its own version, the operator has the word
after it, until both select the same or the rounds are over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from auscult.agent.choices import CHOICE_SETS, ChoiceSet, Debater, Offer, Proposal
from auscult.errors import ErrorRecord, UsageError
from auscult.models.chat.model import ReplyCache
from auscult.models.omni import CountedText
from auscult.outcome import Failed
from auscult.record.codec import dump, from_json, to_json
from auscult.record.digest import digest_bytes, digest_json
from auscult.record.lines import heal, numbered_lines, read_lines
from auscult.work.chat import BudgetSpent

LOG_FILE: Final = "agent.jsonl"
MOST_ROUNDS: Final = 3
UNANSWERED: Final = frozenset({"ask", "limit"})
"""Stages of a ``Failed`` of which nothing was said at all: the same command asks again."""

Role: TypeAlias = Literal["operator", "guardian"]


class AgentLog(ReplyCache):
    """``agent.jsonl`` of a study: replies by key, as in any ``ReplyCache``, and what was made of them.

    A row that stands there already is not written again, so that a resumed study has each step once. ``most_requests``
    bounds what is answered in all, by earlier commands included. Without a folder all is in memory.
    """

    def __init__(self, folder: Path | None = None, *, most_requests: int | None = None) -> None:
        super().__init__(None if folder is None else folder / LOG_FILE)
        self._written: set[str] | None = None
        self._adding, self._most = threading.Lock(), most_requests

    @property
    def is_spent(self) -> bool:
        """Whether no request is left."""
        return self._most is not None and len(self._known) >= self._most

    def reply(self, key: str, ask: Callable[[], str], **about: Any) -> CountedText:
        """As of any ``ReplyCache``; ``BudgetSpent`` where it would be asked and no request is left."""
        if key not in self and self.is_spent:
            hint = "what was answered is kept: the same command with a higher limit goes on"
            raise BudgetSpent(f"all {self._most} requests are spent", expected="a limit for the whole study", hint=hint)
        return super().reply(key, ask, **about)

    def add(self, kind: str, **row: Any) -> None:
        """Write a row ``{"kind": kind, ...}``; dataclasses become JSON."""
        with self._adding:
            if self._written is None:
                self._written = set(self._old())
            made = to_json({"kind": kind, **row})
            key = digest_bytes(dump(made))
            if key not in self._written:
                self._append(made)
                self._written.add(key)

    def _old(self) -> Iterator[str]:
        if self._file is not None:
            heal(self._file)
            yield from (digest_bytes(dump(row)) for row in read_lines(self._file) if "reply" not in row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one debater said in one round, as it stands in the log."""

    round: int  # 0 for the first proposal of the operator
    role: Role
    name: str  # of the debater, such as a model's
    proposal: Proposal | None = None  # its version of the proposal; None where it has failed
    failed: ErrorRecord | None = None  # why there is none
    remarks: tuple[str, ...] = ()  # how it came about, such as missing answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A choice on which the two never agreed; ``selected`` is the operator's word, which counts."""

    choice_set: ChoiceSet
    type: str
    selected: bool
    operator_reason: str
    guardian_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """A debate that came to a proposal."""

    proposal: Proposal  # the operator's last word
    turns: tuple[Turn, ...]  # all that was said, in its order
    agreed: bool | None  # whether both selected the same in the end; None where no guardian was heard
    disputes: tuple[Dispute, ...] = ()  # where the two did not

    @property
    def rounds(self) -> int:
        """How many rounds of verification were begun."""
        return self.turns[-1].round

    @property
    def remarks(self) -> tuple[str, ...]:
        """All remarks on turns, each with the one whose turn it was; and that a guardian has failed."""
        found = []
        for turn in self.turns:
            who = f"{turn.role}, round {turn.round}"
            found += [f"{who}: {remark}" for remark in turn.remarks]
            if turn.failed is not None:
                found.append(f"{who}: no verification, the operator's proposal stands: {turn.failed.error}")
        return tuple(dict.fromkeys(found))


def debate(
    operator: Debater, guardian: Debater, *, instruction: str, offer: Offer, rounds: int = 2, log: AgentLog
) -> Debate | Failed:
    """Let the operator propose and the guardian verify, until they agree or 0..3 rounds are over; 0 verifies nothing.

    ``Failed`` where the operator has, or where a request was not answered at all: then the same command goes on. A
    guardian whose replies are of no use is left out, and the debate says so. A debater's ``remarks``, where it has any,
    are kept in its turn.

    Source: R2-Bench, Eqs. 3 and 4, Table 7.
    """
    if not 0 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"rounds are {rounds}", expected=f"0 to {MOST_ROUNDS}")
    key = _key(instruction, offer)
    names = {"operator": operator.name, "guardian": guardian.name}
    log.add("debate", debate=key, instruction=instruction, rounds=rounds, **names)
    turns, last = list[Turn](), dict[Role, Proposal]()
    for number, role in _order(rounds):
        one, other = (operator, last.get("guardian")) if role == "operator" else (guardian, last["operator"])
        told = (instruction, offer)
        said = one.propose(*told) if other is None else one.verify(*told, proposal=other)
        how: dict[str, Any] = {"failed": said.error} if isinstance(said, Failed) else {"proposal": said}
        turns.append(Turn(round=number, role=role, name=one.name, **how, remarks=tuple(getattr(one, "remarks", ()))))
        log.add("turn", debate=key, **to_json(turns[-1]))
        if isinstance(said, Failed):
            if role == "operator" or said.error.stage in UNANSWERED:
                return said
            break
        last[role] = said
        if len(last) > 1 and not any(_disputes(last["operator"], last["guardian"])):
            break
    proposal, heard = last["operator"], last.get("guardian")
    disputes = () if heard is None else tuple(_disputes(proposal, heard))
    agreed = None if heard is None else not disputes
    for dispute in disputes:
        log.add("dispute", debate=key, **to_json(dispute))
    log.add("decision", debate=key, agreed=agreed, selected={of: proposal.selected(of) for of in CHOICE_SETS})
    return Debate(proposal=proposal, turns=tuple(turns), agreed=agreed, disputes=disputes)


def _order(rounds: int) -> Iterator[tuple[int, Role]]:
    yield 0, "operator"
    for number in range(1, rounds + 1):
        yield from ((number, "guardian"), (number, "operator"))


def _key(instruction: str, offer: Offer) -> str:
    """Of a debate: the sentence, and the names of what was offered."""
    names = [[one.name for one in offer.of(choice_set)] for choice_set in CHOICE_SETS]
    return digest_json([instruction, offer.suite, offer.task, names])[:12]


def _disputes(operator: Proposal, guardian: Proposal) -> Iterator[Dispute]:
    for choice_set in CHOICE_SETS:
        theirs = {choice.type: choice for choice in guardian.of(choice_set)}
        for own in operator.of(choice_set):
            other = theirs.get(own.type, own)
            if other.selected != own.selected:
                reasons = {"operator_reason": own.reason, "guardian_reason": other.reason}
                yield Dispute(choice_set=choice_set, type=own.type, selected=own.selected, **reasons)


class ReplayedDebater:
    """Says again what the log has of a debater, and asks nobody."""

    def __init__(self, role: Role, turns: Mapping[tuple[str, int], Turn]) -> None:
        self.name = next((turn.name for turn in turns.values()), role)
        self.remarks: tuple[str, ...] = ()
        self._role, self._turns, self._round = role, turns, 0

    def propose(self, instruction: str, offer: Offer) -> Proposal | Failed:
        """The first proposal."""
        return self._said(0, _key(instruction, offer))

    def verify(self, instruction: str, offer: Offer, *, proposal: Proposal) -> Proposal | Failed:
        """What it said in the next round; the other's proposal is in the log too."""
        del proposal
        return self._said(self._round + 1, _key(instruction, offer))

    def _said(self, number: int, debate_key: str) -> Proposal | Failed:
        self._round, found = number, self._turns.get((debate_key, number))
        self.remarks = () if found is None else found.remarks
        if found is not None and found.proposal is not None:
            return found.proposal
        error = f"the log has no turn of the {self._role} in round {number} for this sentence and offer"
        missing = ErrorRecord(stage="replay", error=error, expected="the sentence, task, data and rounds of the log")
        return Failed(missing if found is None or found.failed is None else found.failed)


def replay(folder: Path) -> tuple[ReplayedDebater, ReplayedDebater]:
    """Operator and guardian out of the ``agent.jsonl`` of a study; nothing is sent."""
    path, turns = folder / LOG_FILE, dict[Role, dict[tuple[str, int], Turn]](operator={}, guardian={})
    for line, row in numbered_lines(path):
        if row.get("kind") == "turn":
            turn = from_json(Turn, row, path=path, line=line)
            turns[turn.role][str(row.get("debate")), turn.round] = turn
    if not turns["operator"]:
        raise UsageError("there is no debate to replay", expected=f"the folder of a study, with {LOG_FILE}", path=path)
    return ReplayedDebater("operator", turns["operator"]), ReplayedDebater("guardian", turns["guardian"])
