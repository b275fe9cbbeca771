"""Operator and guardian behind a chat client: each with its own prompt and memory. Prompts are files in ``prompts``.

What comes from a user, from data or from a model stands in a prompt as JSON between two lines; a reply can select ids
that were asked about and give reasons, and nothing else of it is read.
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
    """Operator or guardian, asked in batches; each request and reply is a row of the log.

    It answers about samples and perturbations in each turn, about metrics only in the first (Eqs. 3 and 4). A model
    holds nothing over from one request to the next, so memory is quoted: to each entry, what both have said of it.
    Another sentence or offer begins a new memory. ``remarks`` are on the last turn: answers that are missing or that
    nobody asked for, and sets for which ``fallback`` chose, since no reply could be read; without it such a turn fails.
    """

    def __init__(self, role: Role, model: ChatModel, *, log: AgentLog, fallback: Debater | None = None) -> None:
        self.name, self.remarks = model.name, tuple[str, ...]()
        self._role, self._model, self._log, self._fallback = role, model, log, fallback
        self._memory, self._turn_number = list[tuple[str, Proposal]](), -1
        self._about: Any = None  # the sentence and the offer that the memory is of
        self._at_once = max(_LEAST_AT_ONCE, min(MOST_AT_ONCE, model.profile.max_tokens // _TOKENS_AN_ANSWER))

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal | Failed:
        """A first proposal of all three sets, or the other's as this one would have it, its metrics taken over."""
        if other is None or self._about != (instruction, offer):
            self._memory, self._turn_number, self._about = [], -1, (instruction, offer)
        if other is not None:
            self._memory.append(("the other", other))
        self.remarks, self._turn_number = (), self._turn_number + 1
        choices: dict[str, tuple[Choice, ...]] = {} if other is None else {"metrics": other.metrics}
        try:
            for choice_set in CHOICE_SETS if other is None else CHOICE_SETS[:2]:
                read = self._choices(offer, choice_set)
                chosen = self._instead(choice_set, other) if read is None else read
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
        """A choice for everything in a set; None where no reply to a batch could be read."""
        entries = {f"{choice_set[0]}{number}": offered for number, offered in enumerate(offer.of(choice_set), start=1)}
        keys, step, hopeless = list(entries), self._at_once, threading.Event()
        parts = [{key: entries[key] for key in keys[start : start + step]} for start in range(0, len(keys), step)]

        def ask(part: Mapping[str, Offered]) -> tuple[dict[str, Answer], int]:
            result = ({}, 0) if hopeless.is_set() else self._asked(choice_set, part)
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

    def _asked(self, choice_set: ChoiceSet, part: Mapping[str, Offered]) -> tuple[dict[str, Answer], int]:
        """Ask about a batch, and once more about what has no answer then; also how many answers nobody asked for."""
        context: dict[str, Any] = {"role": self._role, "turn": self._turn_number, "set": choice_set}
        answers, unasked, repair = dict[str, Answer](), 0, ""
        for attempt in ("question", "repair"):
            missing = {key: offered for key, offered in part.items() if key not in answers}
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
        """The prompt about some entries; ``repair`` is the reply in which they were not found."""
        instruction, offer = self._about
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
        """What is asked about, and what both have said of it so far."""
        history = [(by, {choice.type: choice for choice in proposal.of(choice_set)}) for by, proposal in self._memory]
        for key, offered in entries.items():
            earlier = [(by, choices[offered.name]) for by, choices in history if offered.name in choices]
            opinions = [
                {"by": by, "selected": choice.selected, "reason": printable(choice.reason, MOST_REASON)}
                for by, choice in earlier
            ]
            name, summary = printable(offered.name, _MOST_NAME), printable(offered.summary, _MOST_SUMMARY)
            yield {"id": key, "name": name, "is": summary, **({"said": opinions} if opinions else {})}

    def _instead(self, choice_set: ChoiceSet, other: Proposal | None) -> tuple[Choice, ...] | Failed:
        """What the fallback chooses where no reply can be read."""
        if self._fallback is None:
            error = f"no reply of {self.name} as {self._role} about {choice_set} can be read, a repeated one either"
            hint = "leave --llm out for the built-in planner, or ask a model that keeps to a format"
            expected = 'a list of {"type", "reason", "selected"}'
            return Failed(ErrorRecord(stage="reply", error=error, expected=expected, hint=hint))
        instruction, offer = self._about
        proposal = self._fallback.propose(instruction, offer, other)
        if isinstance(proposal, Failed):
            return proposal
        self.remarks += (f"{choice_set}: no reply of {self.name} can be read; {self._fallback.name} chose instead",)
        return proposal.of(choice_set)


def _answer(model: ChatModel, text: str) -> CountedText:
    """The reply; an empty one, which is kept and counted, in place of one that is too large to be read."""
    try:
        return model.answer(text)
    except TooLarge:
        return CountedText("", {"too_large": 1})


def chat_debaters(
    name: str, *, how: ChatHow, log: AgentLog, fallbacks: tuple[Debater, Debater] | None = None
) -> tuple[ChatDebater, ChatDebater]:
    """Operator and guardian of one debate, asked of one model and apart in prompt and memory."""
    model = named_chat(name, profile=how.profile, asking=replace(how.asking(), schema=SCHEMA))
    first, second = fallbacks or (None, None)
    operator = ChatDebater("operator", model, log=log, fallback=first)
    return operator, ChatDebater("guardian", model, log=log, fallback=second)
