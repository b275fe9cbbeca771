"""Perturb a sentence by a chat model that the caller plugs in; what it changed is kept, so that no replay needs it.

R2-Bench has a chat model misspell words and make grammar errors, and leaves the sentence clean where that fails. Here a
reply that is not a rewriting of the sentence is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.language.tokens import TextSpan, graphemes, words
from auscult.shipped import read_shipped
from auscult.stress.perturbation import Effect, between, loaded, strength_of
from auscult.stress.sentences.base import Edit, Edits, Guard, Rewriter, changes, checked, edited, spans_of
from auscult.types import Stressed


def edit_distance(before: str, after: str) -> int:
    """Levenshtein's distance of two texts, in characters as a reader sees them; 0 where they are equal.

    Time and memory grow with the product and the sum of their lengths: 4,000 characters each take about 0.1 s.

    Example:
        >>> edit_distance("the small dog", "the smal dogs")
        2
    """
    old = [before[start:end] for start, end in graphemes(before)]
    new = [after[start:end] for start, end in graphemes(after)]
    codes = {char: code for code, char in enumerate(dict.fromkeys(old + new))}
    coded = np.array([codes[char] for char in new], dtype=np.int64)
    steps = np.arange(len(new) + 1)
    row = steps.copy()
    for char in old:
        below = row + 1
        below[1:] = np.minimum(below[1:], row[:-1] + (coded != codes[char]))
        row = np.minimum.accumulate(below - steps) + steps  # what is put in comes from the left
    return int(row[-1])


MOST_CHARACTERS: Final = 4_000
_MOST_GROWTH: Final = 1.5
_SPARE: Final = 40
_LEAST_ALIKE: Final = 0.4
_QUOTES: Final = (('"', '"'), ("'", "'"), ("“", "”"), ("`", "`"), ("«", "»"))
_HINT: Final = "ask again, or another model; nothing was made of this reply"
_PIECE: Final = re.compile(r"\s+|[^\s]+")


def rewritten(
    name: str,
    sentence: str,
    rewriter: Rewriter,
    *,
    severity: float | str = 3,
    keep: Sequence[str] = (),
    keep_head: bool = False,
) -> Stressed[str, Effect]:
    """Perturb a sentence by a model.

    Args:
        name: ``misspelling`` or ``grammar_error``, or their full names.
        sentence: A text of at most ``MOST_CHARACTERS``.
        rewriter: Takes an instruction and the sentence, and gives the changed sentence. What it raises passes through.
        severity: 0..5, or ``low``, ``medium``, ``high``; 0 changes nothing and does not call the model.
        keep: Words or phrases that must stay. Where the reply has another word for one, it is not taken over; a reply
            that took one out or moved it is an error.
        keep_head: Keep the head noun too.

    Returns:
        The sentence with the reply's changes, word by word; ``render(name, sentence, params)`` makes it again.

    Raises:
        UnknownName: No such stressor.
        UsageError: A stressor without a prompt, or the rewriter returned no text.
        InputError: The reply is empty, too long, the sentence unchanged, not a rewriting of it, without what must
            stay, or with characters that steer a terminal or the direction of writing.

    Example:
        >>> rewritten("misspelling", "the small dog", lambda task, text: text.replace("dog", "dgo")).output
        'the small dgo'
    """
    stressor = loaded("sentences", name)
    strength = strength_of(severity)
    if len(checked(sentence)) > MOST_CHARACTERS:
        raise UsageError(f"the sentence has {len(sentence)} characters", expected=f"at most {MOST_CHARACTERS}")
    kept = spans_of(sentence, keep, head=keep_head)
    edits: tuple[Edit, ...] = ()
    prompt = instruction(stressor.name, sentence, strength=strength, kept=kept)
    if strength > 0.0 and words(sentence):
        reply = _checked_reply(sentence, rewriter(prompt, sentence))
        edits = _allowed(sentence, difference(sentence, reply), kept)
        if not edits:
            raise InputError("the rewriter changed nothing that may change", hint="ask again, or another model")
    params = Edits(strength=strength, edits=edits)
    return Stressed(
        output=edited(sentence, edits), params=params.as_json(), truth=Effect(words=changes(sentence, edits))
    )


def instruction(name: str, sentence: str, *, strength: float, kept: Sequence[TextSpan] = ()) -> str:
    """The prompt for a sentence; a UsageError where this kind of perturbation has no prompt."""
    raw = read_shipped("stress/sentences/data/instructions.json")
    short = name.split(".")[1] if "." in name else name
    if short not in raw["tasks"]:
        raise UsageError(f"no model is asked for {name!r}", expected=f"one of {', '.join(raw['tasks'])}")
    task: dict[str, Any] = raw["tasks"][short]
    share = between(task["share"], strength)
    count = max(1, round(share * len(words(sentence))))
    stay = ", ".join(f"“{phrase}”" for phrase in dict.fromkeys(sentence[low:high] for low, high in kept))
    examples = (raw["example"].format(before=before, after=after) for before, after in task["examples"])
    return str(
        raw["frame"].format(
            task=task["task"].format(count=count),
            kept=raw["kept"].format(words=stay) if stay else "",
            examples="\n\n".join(examples),
        )
    )


def difference(before: str, after: str) -> list[Edit]:
    """The edits, word by word, that make one text of another; spaces belong to the change where words come or go."""
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    starts = [0]
    for piece in old:
        starts.append(starts[-1] + len(piece))
    edits: list[Edit] = []
    for kind, low, high, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        if high - low == last - first:
            pairs = [(index, index + 1, new[first + index - low]) for index in range(low, high)]
        else:
            pairs = [(low, high, "".join(new[first:last]))]
        edits += [Edit(starts[a], starts[b], text) for a, b, text in pairs if "".join(old[a:b]) != text]
    return [_shrunk(before, edit) for edit in edits]


def _allowed(sentence: str, edits: Sequence[Edit], kept: Sequence[TextSpan]) -> tuple[Edit, ...]:
    """The edits without those that put one word for another that must stay."""
    guard = Guard.over(kept)
    for edit in edits:
        was = sentence[edit.start : edit.end]
        if not guard.free(edit.start, edit.end) and (len(was.split()) != 1 or len(edit.text.split()) != 1):
            raise InputError(f"the reply took out or moved what must stay: {was[:60]!r}", hint=_HINT)
    return tuple(edit for edit in edits if guard.free(edit.start, edit.end))


def _shrunk(before: str, edit: Edit) -> Edit:
    """The edit without the marks that stay at either end of a word, such as its comma; letters stay whole words."""
    was, now = before[edit.start : edit.end], edit.text
    cut = 0
    while min(len(was), len(now)) > cut and was[-1 - cut] == now[-1 - cut] and was[-1 - cut] in ".,;:!?)\"'":
        cut += 1
    return Edit(edit.start, edit.end - cut, now[: len(now) - cut]) if cut else edit


def _checked_reply(sentence: str, reply: object) -> str:
    """The reply as a rewriting of the sentence."""
    if not isinstance(reply, str):
        raise UsageError(f"the rewriter gave {type(reply).__name__}", expected="text")
    limit = int(_MOST_GROWTH * len(sentence)) + _SPARE
    if len(reply) > limit:
        raise InputError(f"the reply has {len(reply)} characters", expected=f"at most {limit}", hint=_HINT)
    text = _within(sentence, reply)
    if not text.strip():
        raise InputError("the reply is empty", hint=_HINT)
    _refuse_steering(sentence, text)
    if text.count("\n") > sentence.count("\n"):
        raise InputError("the reply has more lines than the sentence", hint=_HINT)
    if _alike(sentence, text) < _LEAST_ALIKE:
        raise InputError(
            f"the reply is another text: {text[:60]!r}", expected="the sentence with some words changed", hint=_HINT
        )
    return text


def _within(sentence: str, reply: str) -> str:
    """The reply without the quotation marks around it that the sentence does not have, with the sentence's own ends."""
    text, bare = reply.strip(), sentence.strip()
    for opening, closing in _QUOTES:
        quoted = len(text) > 1 and text.startswith(opening) and text.endswith(closing)
        if quoted and not (bare.startswith(opening) and bare.endswith(closing)):
            text = text[1:-1].strip()
    start = sentence.find(bare)
    return sentence[:start] + text + sentence[start + len(bare) :]


def _refuse_steering(sentence: str, text: str) -> None:
    """Refuse characters of control, of direction and of no script that the sentence does not hold."""
    for char in sorted(set(text) - set(sentence)):
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
            raise InputError(f"the reply holds the character U+{ord(char):04X}", hint=_HINT)


def _alike(before: str, after: str) -> float:
    """Share of the longer text that need not be changed to make one of the other, 0..1."""
    return 1.0 - edit_distance(before, after) / max(len(before), len(after), 1)
