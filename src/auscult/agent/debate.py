"""The debate that chooses what a study runs: operator and guardian propose and verify in rounds.

R2-Bench, Eqs. 3 and 4: the operator proposes the three sets, the guardian answers with its own version, the operator
replies, until both select the same or the rounds are over. Every step is a line of ``agent.jsonl``, to be replayed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar

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
"""Stages of a ``Failed`` without any reply: the same command sends the request again."""

Role: TypeAlias = Literal["operator", "guardian"]
ChoiceSet: TypeAlias = Literal["samples", "perturbations", "metrics"]
CHOICE_SETS: Final[tuple[ChoiceSet, ...]] = ("samples", "perturbations", "metrics")
MIDDLE: Final[Mapping[str, Literal["negatives", "tasks"]]] = {"rris": "negatives", "avi": "tasks"}
"""The name of the second set for suites other than r2."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """Something that can be chosen. The perturbations of suite rris are kinds of negatives, those of avi tasks."""

    name: str  # unique in its set: an id, the full name of a stressor, a metric
    summary: str  # of a sample its caption
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """All that can be chosen with a suite, a task and data."""

    suite: str  # ``r2``, ``rris`` or ``avi``
    task: str  # of r2; empty for the others
    samples: tuple[Offered, ...]
    perturbations: tuple[Offered, ...]
    metrics: tuple[Offered, ...]
    remarks: tuple[str, ...] = ()  # data that cannot be offered or described, and why

    def of(self, choice_set: ChoiceSet) -> tuple[Offered, ...]:
        """One of the three sets."""
        return tuple(getattr(self, choice_set))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Whether an entry of the offer is selected, and why (R2-Bench, Fig. 5: type, reason, selected)."""

    type: str  # the name of the entry
    reason: str
    selected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A choice for each entry of the offer, in its order."""

    samples: tuple[Choice, ...]
    perturbations: tuple[Choice, ...]
    metrics: tuple[Choice, ...]

    def of(self, choice_set: ChoiceSet) -> tuple[Choice, ...]:
        """The choices in one of the three sets."""
        return tuple(getattr(self, choice_set))

    def selected(self, choice_set: ChoiceSet) -> tuple[str, ...]:
        """The names of the selected entries."""
        return tuple(choice.type for choice in self.of(choice_set) if choice.selected)


class Debater(Protocol):
    """Operator or guardian: each has a memory of its own (R2-Bench, Eqs. 3 and 4)."""

    name: str

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal | Failed:
        """A first proposal; or a revision of the other's last one, with reasons where it differs."""
        ...


class AgentLog(ReplyCache):
    """``agent.jsonl`` of a study: replies by key, as in any ``ReplyCache``, and the steps of the study.

    A row that the file already has is not written again, so that a resumed study has each step once. ``most_requests``
    limits the requests of all commands together. Without a folder the log is in memory.
    """

    def __init__(self, folder: Path | None = None, *, most_requests: int | None = None) -> None:
        super().__init__(None if folder is None else folder / LOG_FILE)
        self._row_digests: set[str] | None = None
        self._row_lock, self._cap = threading.Lock(), most_requests

    @property
    def is_spent(self) -> bool:
        """Whether no request is left."""
        return self._cap is not None and len(self._known) >= self._cap

    def reply(self, key: str, ask: Callable[[], str], **about: Any) -> CountedText:
        """As in any ``ReplyCache``; raises ``BudgetSpent`` if a request is needed and none is left."""
        if key not in self and self.is_spent:
            hint = "what was answered is kept: the same command with a higher limit goes on"
            raise BudgetSpent(f"all {self._cap} requests are spent", expected="a limit for the whole study", hint=hint)
        return super().reply(key, ask, **about)

    def add(self, kind: str, **row: Any) -> None:
        """Write a row ``{"kind": kind, ...}``; dataclasses become JSON."""
        with self._row_lock:
            if self._row_digests is None:
                self._row_digests = set(self._logged_digests())
            content = to_json({"kind": kind, **row})
            key = digest_bytes(dump(content))
            if key not in self._row_digests:
                self._append(content)
                self._row_digests.add(key)

    def _logged_digests(self) -> Iterator[str]:
        if self._file is not None:
            heal(self._file)
            yield from (digest_bytes(dump(row)) for row in read_lines(self._file) if "reply" not in row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one debater said in one round, as in the log."""

    round: int  # 0 for the first proposal of the operator
    role: Role
    name: str  # of the debater, such as a model's
    proposal: Proposal | None = None  # None where it has failed
    failed: ErrorRecord | None = None  # why there is no proposal
    remarks: tuple[str, ...] = ()  # such as missing answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A choice on which the two never agreed; ``selected`` is the operator's choice, which counts."""

    choice_set: ChoiceSet
    type: str
    selected: bool
    operator_reason: str
    guardian_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Debate:
    """A debate that ended with a proposal."""

    proposal: Proposal  # the operator's last one
    turns: tuple[Turn, ...]  # in their order
    agreed: bool | None  # whether both selected the same in the end; None where no guardian replied
    disputes: tuple[Dispute, ...] = ()  # where the two did not agree

    @property
    def rounds(self) -> int:
        """The number of rounds of verification that began."""
        return self.turns[-1].round

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks on all turns, with role and round; and that a guardian has failed."""
        texts = []
        for turn in self.turns:
            who = f"{turn.role}, round {turn.round}"
            texts += [f"{who}: {remark}" for remark in turn.remarks]
            if turn.failed is not None:
                texts.append(f"{who}: no verification, the operator's proposal stands: {turn.failed.error}")
        return tuple(dict.fromkeys(texts))


def debate(
    operator: Debater, guardian: Debater, *, instruction: str, offer: Offer, rounds: int = 2, log: AgentLog
) -> Debate | Failed:
    """Let the operator propose and the guardian verify, until they agree or 0..3 rounds are over; 0 verifies nothing.

    ``Failed`` if the operator has failed, or if a request had no reply: then the same command goes on. A guardian
    whose replies cannot be used is left out, with a remark. A debater's ``remarks``, if it has any, are kept in its
    turn.

    Source: R2-Bench, Eqs. 3 and 4, Table 7.
    """
    if not 0 <= rounds <= MOST_ROUNDS:
        raise UsageError(f"rounds are {rounds}", expected=f"0 to {MOST_ROUNDS}")
    key = _key(instruction, offer)
    names = {"operator": operator.name, "guardian": guardian.name}
    log.add("debate", debate=key, instruction=instruction, rounds=rounds, **names)
    turns, last = list[Turn](), dict[Role, Proposal]()
    for number, role in _order(rounds):
        speaker, other = (operator, last.get("guardian")) if role == "operator" else (guardian, last["operator"])
        answer = speaker.propose(instruction, offer, other)
        outcome: dict[str, Any] = {"failed": answer.error} if isinstance(answer, Failed) else {"proposal": answer}
        turns.append(
            Turn(round=number, role=role, name=speaker.name, **outcome, remarks=tuple(getattr(speaker, "remarks", ())))
        )
        log.add("turn", debate=key, **to_json(turns[-1]))
        if isinstance(answer, Failed):
            if role == "operator" or answer.error.stage in UNANSWERED:
                return answer
            break
        last[role] = answer
        if len(last) > 1 and not any(_disputes(last["operator"], last["guardian"])):
            break
    proposal, verification = last["operator"], last.get("guardian")
    disputes = () if verification is None else tuple(_disputes(proposal, verification))
    agreed = None if verification is None else not disputes
    for dispute in disputes:
        log.add("dispute", debate=key, **to_json(dispute))
    log.add("decision", debate=key, agreed=agreed, selected={of: proposal.selected(of) for of in CHOICE_SETS})
    return Debate(proposal=proposal, turns=tuple(turns), agreed=agreed, disputes=disputes)


def _order(rounds: int) -> Iterator[tuple[int, Role]]:
    yield 0, "operator"
    for number in range(1, rounds + 1):
        yield from ((number, "guardian"), (number, "operator"))


def _key(instruction: str, offer: Offer) -> str:
    """The key of a debate: a hash of the sentence and of the names in the offer."""
    names = [[offered.name for offered in offer.of(choice_set)] for choice_set in CHOICE_SETS]
    return digest_json([instruction, offer.suite, offer.task, names])[:12]


def _disputes(operator: Proposal, guardian: Proposal) -> Iterator[Dispute]:
    for choice_set in CHOICE_SETS:
        theirs = {choice.type: choice for choice in guardian.of(choice_set)}
        for own in operator.of(choice_set):
            other = theirs.get(own.type, own)
            if other.selected != own.selected:
                reasons = {"operator_reason": own.reason, "guardian_reason": other.reason}
                yield Dispute(choice_set=choice_set, type=own.type, selected=own.selected, **reasons)


def logged(folder: Path, kind: str, of: type[T]) -> Iterator[tuple[str, T]]:
    """The rows of a kind in the ``agent.jsonl`` of a study, each with the key of its debate."""
    path = folder / LOG_FILE
    for line, row in numbered_lines(path):
        if row.get("kind") == kind:
            yield str(row.get("debate")), from_json(of, row, path=path, line=line)


class ReplayedDebater:
    """Replays the turns of a debater from the log, without requests."""

    def __init__(self, role: Role, turns: Mapping[tuple[str, Role, int], Turn]) -> None:
        self.name: str = next((turn.name for turn in turns.values() if turn.role == role), role)
        self.remarks: tuple[str, ...] = ()
        self._role, self._turns, self._round = role, turns, 0

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal | Failed:
        """Its first proposal without ``other``, else that of the next round, whatever ``other`` holds."""
        self._round = 0 if other is None else self._round + 1
        turn = self._turns.get((_key(instruction, offer), self._role, self._round))
        self.remarks = () if turn is None else turn.remarks
        if turn is not None and turn.proposal is not None:
            return turn.proposal
        error = f"the log has no turn of the {self._role} in round {self._round} for this sentence and offer"
        missing = ErrorRecord(stage="replay", error=error, expected="the sentence, task, data and rounds of the log")
        return Failed(missing if turn is None or turn.failed is None else turn.failed)


def replay(folder: Path) -> tuple[ReplayedDebater, ReplayedDebater]:
    """Operator and guardian from the ``agent.jsonl`` of a study; no request is sent."""
    turns = {(key, turn.role, turn.round): turn for key, turn in logged(folder, "turn", Turn)}
    if not any(turn.role == "operator" for turn in turns.values()):
        path = folder / LOG_FILE
        raise UsageError("there is no debate to replay", expected=f"the folder of a study, with {LOG_FILE}", path=path)
    return ReplayedDebater("operator", turns), ReplayedDebater("guardian", turns)
