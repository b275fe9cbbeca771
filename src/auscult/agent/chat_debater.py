"""Operator and guardian played by a chat model, each with its own prompt and memory. Prompts are files in ``prompts``.

Text from a user, from data or from a model is quoted in a prompt as JSON between two lines. Of a reply only the
selected ids and the reasons are read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from string import Template
from typing import Any, Final

from auscult.agent.debate import (
    CHOICE_SETS,
    MIDDLE,
    AgentLog,
    Choice,
    ChoiceSet,
    Debater,
    Offer,
    Offered,
    Proposal,
    Role,
)
from auscult.agent.replies import MOST_REASON, SCHEMA, Answer, prompt, read_answers
from auscult.errors import AuscultError, ErrorRecord, TooLarge
from auscult.judge.replies import printable
from auscult.models.chat.loading import ChatHow, named_chat
from auscult.models.chat.model import ChatModel, key_of
from auscult.models.omni import CountedText
from auscult.outcome import Failed
from auscult.work.chat import BudgetSpent

MOST_AT_ONCE: Final = 40
_LEAST_AT_ONCE: Final = 5
_TOKENS_AN_ANSWER: Final = 50
_MOST_NAME: Final = 120
_MOST_SUMMARY: Final = 300
_MOST_INSTRUCTION: Final = 4000
_MOST_QUOTED: Final = 200
_UNANSWERED: Final = Answer(selected=False, reason="The model gave no answer about it.")


class ChatDebater:
    """Operator or guardian, sent the offer in batches; each request and reply is a row of the log.

    It chooses samples and perturbations in each turn, metrics only in the first (Eqs. 3 and 4). A model has no memory
    between requests, so a prompt quotes what both have said of each entry. Another sentence or offer begins a new
    memory. ``remarks`` are about the last turn: missing and unrequested answers, and sets for which ``fallback`` chose
    because no reply could be read; without a fallback such a turn fails.
    """

    def __init__(self, role: Role, model: ChatModel, *, log: AgentLog, fallback: Debater | None = None) -> None:
        self.name, self.remarks = model.name, tuple[str, ...]()
        self._role, self._model, self._log, self._fallback = role, model, log, fallback
        self._memory, self._turn_number = list[tuple[str, Proposal]](), -1
        self._topic: Any = None  # the sentence and the offer
        self._batch_size = max(_LEAST_AT_ONCE, min(MOST_AT_ONCE, model.profile.max_tokens // _TOKENS_AN_ANSWER))

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal | Failed:
        """A first proposal of all three sets; or a revision of the other's proposal, with its metrics."""
        if other is None or self._topic != (instruction, offer):
            self._memory, self._turn_number, self._topic = [], -1, (instruction, offer)
        if other is not None:
            self._memory.append(("the other", other))
        self.remarks, self._turn_number = (), self._turn_number + 1
        choices: dict[str, tuple[Choice, ...]] = {} if other is None else {"metrics": other.metrics}
        try:
            for choice_set in CHOICE_SETS if other is None else CHOICE_SETS[:2]:
                read = self._choices(offer, choice_set)
                chosen = self._fallback_choices(choice_set, other) if read is None else read
                if isinstance(chosen, Failed):
                    return chosen
                choices[choice_set] = chosen
        except AuscultError as error:
            spent = isinstance(error, BudgetSpent) or isinstance(error.__cause__, BudgetSpent)
            return Failed(ErrorRecord.of(error, "limit" if spent else "ask"))
        proposal = Proposal(**choices)
        self._memory.append(("you", proposal))
        return proposal

    def close(self) -> None:
        """Close the model's connections."""
        self._model.close()

    def _choices(self, offer: Offer, choice_set: ChoiceSet) -> tuple[Choice, ...] | None:
        """A choice for each entry of a set; None where no reply to a batch could be read."""
        entries = {f"{choice_set[0]}{number}": offered for number, offered in enumerate(offer.of(choice_set), start=1)}
        keys, step, hopeless = list(entries), self._batch_size, threading.Event()
        parts = [{key: entries[key] for key in keys[start : start + step]} for start in range(0, len(keys), step)]

        def ask(batch: Mapping[str, Offered]) -> tuple[dict[str, Answer], int]:
            result = ({}, 0) if hopeless.is_set() else self._batch_answers(choice_set, batch)
            if not result[0]:
                hopeless.set()
            return result

        with ThreadPoolExecutor(max_workers=self._model.connections) as pool:
            batches = list(pool.map(ask, parts))
        if hopeless.is_set():
            return None
        answers = {key: answer for read, _ in batches for key, answer in read.items()}
        missing, unasked = len(entries) - len(answers), sum(count for _, count in batches)
        problems = ((missing, "without an answer, not selected"), (unasked, "answers nobody asked for, dropped"))
        self.remarks += tuple(f"{choice_set}: {count} {problem}" for count, problem in problems if count)
        outcomes = [(offered.name, answers.get(key, _UNANSWERED)) for key, offered in entries.items()]
        clean = self._model.without_key
        return tuple(
            Choice(type=name, reason=clean(answer.reason), selected=answer.selected) for name, answer in outcomes
        )

    def _batch_answers(self, choice_set: ChoiceSet, batch: Mapping[str, Offered]) -> tuple[dict[str, Answer], int]:
        """The answers about a batch, requested twice where some are missing; and the count of unrequested ones."""
        context: dict[str, Any] = {"role": self._role, "turn": self._turn_number, "set": choice_set}
        answers, unasked, repair = dict[str, Answer](), 0, ""
        for attempt in ("question", "repair"):
            missing = {key: offered for key, offered in batch.items() if key not in answers}
            if missing:
                text = self._text(choice_set, missing, repair=repair)
                key = key_of(self._model.name, self._model.revision, text=text, media=())
                ask = partial(_answer, self._model, text)
                reply = self._log.reply(key, ask, kind="message", **context, sent=text)
                read = read_answers(reply, {key: offered.name for key, offered in missing.items()})
                counts = {"answered": len(read.of), "unasked": read.unasked, "unreadable": read.unreadable}
                self._log.add("parse", **context, attempt=attempt, asked=list(missing), **counts)
                answers, unasked, repair = {**answers, **read.of}, unasked + read.unasked, reply or "nothing"
        return answers, unasked

    def _text(self, choice_set: ChoiceSet, entries: Mapping[str, Offered], *, repair: str) -> str:
        """The prompt about some entries; ``repair`` is the last reply, which lacked them."""
        instruction, offer = self._topic
        study = {"sentence": printable(instruction, _MOST_INSTRUCTION), "suite": offer.suite, "task": offer.task}
        topic = MIDDLE.get(offer.suite, choice_set) if choice_set == "perturbations" else choice_set
        note = ""
        if repair:
            beginning = json.dumps(printable(repair, _MOST_QUOTED), ensure_ascii=False)
            note = f"\nYour last reply had no readable answer about them; it began {beginning}, which is of no use."
        return Template(prompt("verify" if self._memory else "propose")).substitute(
            role=prompt(self._role).strip(),
            about=prompt(topic).strip(),
            data="\n".join(json.dumps(row, ensure_ascii=False) for row in (study, *self._rows(choice_set, entries))),
            count=len(entries),
            repair=note,
        )

    def _rows(self, choice_set: ChoiceSet, entries: Mapping[str, Offered]) -> Iterator[dict[str, Any]]:
        """The entries, each with what both have said of it so far."""
        history = [(by, {choice.type: choice for choice in proposal.of(choice_set)}) for by, proposal in self._memory]
        for key, offered in entries.items():
            earlier = [(by, choices[offered.name]) for by, choices in history if offered.name in choices]
            opinions = [
                {"by": by, "selected": choice.selected, "reason": printable(choice.reason, MOST_REASON)}
                for by, choice in earlier
            ]
            name, summary = printable(offered.name, _MOST_NAME), printable(offered.summary, _MOST_SUMMARY)
            yield {"id": key, "name": name, "is": summary, **({"said": opinions} if opinions else {})}

    def _fallback_choices(self, choice_set: ChoiceSet, other: Proposal | None) -> tuple[Choice, ...] | Failed:
        if self._fallback is None:
            error = f"no reply of {self.name} as {self._role} about {choice_set} can be read, a repeated one either"
            hint = "leave --llm out for the built-in planner, or ask a model that keeps to a format"
            expected = 'a list of {"type", "reason", "selected"}'
            return Failed(ErrorRecord(stage="reply", error=error, expected=expected, hint=hint))
        instruction, offer = self._topic
        proposal = self._fallback.propose(instruction, offer, other)
        if isinstance(proposal, Failed):
            return proposal
        self.remarks += (f"{choice_set}: no reply of {self.name} can be read; {self._fallback.name} chose instead",)
        return proposal.of(choice_set)


def _answer(model: ChatModel, text: str) -> CountedText:
    """The reply; an empty one, still logged and counted, if it is too large."""
    try:
        return model.answer(text)
    except TooLarge:
        return CountedText("", {"too_large": 1})


def chat_debaters(
    name: str, *, how: ChatHow, log: AgentLog, fallbacks: tuple[Debater, Debater] | None = None
) -> tuple[ChatDebater, ChatDebater]:
    """Operator and guardian of one debate: one model, with separate prompts and memories."""
    model = named_chat(name, profile=how.profile, asking=replace(how.asking(), schema=SCHEMA))
    first, second = fallbacks or (None, None)
    operator = ChatDebater("operator", model, log=log, fallback=first)
    return operator, ChatDebater("guardian", model, log=log, fallback=second)
