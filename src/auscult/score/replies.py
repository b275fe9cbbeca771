"""From a model's reply to the answer in it: strict, then tolerant; every answer says which.

A reply is a stranger's text. Nothing in it is run; length, nesting, digits and the number of marks looked at are
bounded, the time grows with the length and no faster, and reading never raises. Strict is the form that was asked for
and nothing else:

===========  ==============================================================  ==============================
form         strict (``answer=`` may stand before it)                        answer
===========  ==============================================================  ==============================
counts       ``{"dog": 2}``                                                  class to count, 0..10^6
boxes        ``{"dog_1": [0.1, 0.2, 0.5, 0.6]}``                             pairs of class and four numbers
frame boxes  ``{"frame_0": [..], "frame_1": null, ...}``, every frame        four numbers or None a frame
indices      ``[3, 0]``                                                      whole numbers from 0, in order
option       one of the words, or a whole number where no words are given    the word
option list  ``#dog;car#``                                                   words
caption      any text                                                        the text, on one line
===========  ==============================================================  ==============================

Tolerant also reads Python's way of writing, code fences, prose around an answer, and entries of which some are
unreadable. Drafts, ``<think> ... </think>``, count for nothing, nor do those that the end of the reply cuts. It never
chooses between two answers: of several options named, or a class with two counts, none is taken, unless the reply says
which is its answer. Words are found as ``answers.normal`` compares them, so look-alike letters stay strangers. A number
beyond the bounds is read as the bound. Of several lists or objects in the form that was asked for, the first after
"answer:" is taken, else the last, since drafts come first; "#red#, #blue#" is one list. Where no option is named, a
number in words is the option of that number.

Rules of the release for ``variant``: ``first``, of several options or numbers the first is taken; ``short``, a reply
of 300 characters or more with counts is left out whatever it says.

A reply without an answer on either path may be given to a formatter, say a language model that writes it in the form
that was asked for; what it gives back is read in the same two ways.

Source: AVI-Bench App. F.2 (answers in one form, there all by a language model).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from auscult.arrays.boxes import FourNumbers
from auscult.outcome import Undefined
from auscult.score.answers import folded, normal, rules_of
from auscult.score.tasks import AnswerForm
from auscult.work.chat.replies import after_thought

ReplyPath: TypeAlias = Literal["strict", "tolerant", "formatter"]
Formatter: TypeAlias = Callable[[str], str]

LONGEST: Final = 20_000
"""Characters; a longer reply is not read."""
LARGEST: Final = 10**6
"""No number is read as a larger one."""
UNREADABLE: Final[FourNumbers] = (0.0, 0.0, 0.0, 0.0)
"""The box of a frame that was answered with something else than a box or none: it overlaps nothing, nor is it none."""

_SHORT: Final = 300
_TOKENS: Final = 20_000
_DEPTH: Final = 4
_BOX: Final = 4


@dataclass(frozen=True, slots=True)
class Read:
    """The answer of a reply, in the form that was asked for, and how it was found."""

    answer: Any
    path: ReplyPath


@dataclass(frozen=True, slots=True)
class _Prompt:
    """What a reply may hold: the words offered, and how many frames."""

    words: tuple[str, ...]
    frames: int
    first: bool

    def word(self, text: object) -> str | None:
        """The offered word that a text is; any word where none is offered."""
        if not isinstance(text, str):
            return None
        return _options_by_text(self.words).get(normal(text)) if self.words else text.strip() or None


class _Pairs(tuple[tuple[str, Any], ...]):
    """An object of JSON with its keys as they stand there, repeats too."""


def read_reply(
    reply: object,
    form: AnswerForm,
    *,
    words: Sequence[str] = (),
    frames: int = 10,
    variant: str = "paper",
    formatter: Formatter | None = None,
) -> Read | Undefined:
    """The answer in a reply, with the path it was found on; Undefined with the reason where there is none.

    Args:
        reply: What the model said.
        form: The form of the answer; ``score.tasks`` has each task's.
        words: Options or classes that the prompt offered.
        frames: How many frames were shown, for ``frame boxes``.
        variant: ``paper``, ``AVI-Bench``, or some of ``first``, ``short`` joined by ``+``.
        formatter: Asked to reformat a reply in which no answer was found. What it raises is raised.

    Raises:
        InputError: An unknown variant.

    Example:
        >>> read_reply("It is a dog, I think.", "option", words=("dog", "cat"))
        Read(answer='dog', path='tolerant')
    """
    rules = rules_of(variant, "reply")
    if not isinstance(reply, str):
        return Undefined("the reply is no text")
    if form == "counts" and "short" in rules and len(reply) >= _SHORT:
        return Undefined(f"the reply has {_SHORT} characters or more", {"skip": True})
    prompt = _Prompt(tuple(words), frames, "first" in rules)
    outcome = _read(reply, form, prompt)
    if formatter is None or isinstance(outcome, Read) or len(reply) > LONGEST:
        return outcome
    outcome = _read(formatter(reply), form, prompt)
    return Read(outcome.answer, "formatter") if isinstance(outcome, Read) else outcome


def _read(reply: str, form: AnswerForm, prompt: _Prompt) -> Read | Undefined:
    if len(reply) > LONGEST:
        return Undefined(f"the reply has more than {LONGEST} characters")
    answer = _STRICT[form](_PREFIX.sub("", reply.strip()), prompt)
    if answer is not None:
        return Read(answer, "strict")
    answer = _TOLERANT[form](after_thought(reply), prompt)
    return Undefined("no answer in the reply") if answer is None else Read(answer, "tolerant")


_PREFIX: Final = re.compile(r"\Aanswer\s?=\s?", re.IGNORECASE)
_MARKER: Final = re.compile(
    r"""\b(?:answer|choice)s?[\s"'*_`]{0,4}(?:\b(?:is|are)\b|[:=])[\s"'*_`:]{0,4}|\\boxed\{""", re.IGNORECASE
)


def _after_marker(text: str) -> str:
    """What follows the last "answer:" or its like; empty where there is none."""
    end = 0
    for match in _MARKER.finditer(text):
        end = match.end()
    return text[end:] if end else ""


# --- values: JSON as it is, and what looks like it ---


def _json(body: str) -> Any:
    """The value of a text that is JSON and nothing else, numbers finite; None where it is none."""
    try:
        return json.loads(
            body, object_pairs_hook=_Pairs, parse_int=_number, parse_float=_number, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _number(text: str) -> float | int:
    """A number, within the bounds; whole where it is written so."""
    value = float(text)
    bounded = max(-LARGEST, min(LARGEST, value))
    return int(bounded) if text.lstrip("+-").isdigit() else float(bounded)


_TOKEN: Final = re.compile(
    r"""\s{0,1000}(?:(?P<mark>[{}\[\](),:;])
    |"(?P<double>(?:[^"\\]|\\.){0,200})"
    |'(?P<single>(?:[^'\\]|\\.){0,200})'
    |(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)(?!\w)
    |(?P<bare>[^\W\d][\w./-]{0,80}(?:[ ][\w./-]{1,80}){0,5}))""",
    re.VERBOSE,
)
_CLOSING: Final = {"[": "]", "{": "}", "(": ")"}
_BARE: Final = {"none": None, "null": None, "true": True, "false": False, "nan": math.nan}


class _Broken(Exception):
    """A piece of text that is no value."""


class _Reader:
    """Reads values as JSON, Python and people write them, from any place of a text; a bounded number of tokens."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.left = text, 0, _TOKENS

    def pieces(self) -> Iterator[Any]:
        """All outermost lists and objects of the text."""
        start = 0
        while (opening := _OPENING.search(self.text, start)) and self.left > 0:
            self.at = opening.start()
            try:
                value = self._value(_DEPTH)
            except _Broken:
                start = opening.end()
            else:
                start = self.at
                yield value

    def _next(self) -> tuple[str, str]:
        self.left -= 1
        token = _TOKEN.match(self.text, self.at)
        if token is None or self.left <= 0:
            raise _Broken
        self.at = token.end()
        return token.lastgroup or "", token[token.lastgroup or 0]

    def _value(self, depth: int) -> Any:
        kind, text = self._next()
        if kind == "number":
            return _number(text)
        if kind == "bare":
            return _BARE.get(text.casefold(), text)
        if kind != "mark":
            return text
        if text not in _CLOSING or not depth:
            raise _Broken
        return self._inside(_CLOSING[text], depth - 1)

    def _inside(self, closing: str, depth: int) -> Any:
        items: list[Any] = []
        while not self._take(closing):
            item = self._value(depth)
            if closing == "}":
                if not self._take(":"):
                    raise _Broken
                item = (str(item), self._value(depth))
            items.append(item)
            if not (self._take(",") or self._take(";")) and not self._is_next(closing):
                raise _Broken
        return _Pairs(items) if closing == "}" else items

    def _is_next(self, mark: str) -> bool:
        token = _TOKEN.match(self.text, self.at)
        return token is not None and token["mark"] == mark

    def _take(self, mark: str) -> bool:
        if self._is_next(mark):
            self._next()
            return True
        return False


_OPENING: Final = re.compile(r"[{\[]")


def _structured(shape: Callable[[Any, _Prompt], Any], text: str, prompt: _Prompt) -> Any:
    """The first value of a form after the last "answer:", else the last in the text."""
    for answer in (_shaped(shape, value, prompt) for value in _Reader(_after_marker(text)).pieces()):
        if answer is not None:
            return answer
    for value in reversed(list(_Reader(text).pieces())):
        answer = _shaped(shape, value, prompt)
        if answer is not None:
            return answer
    return None


def _shaped(shape: Callable[[Any, _Prompt], Any], value: Any, prompt: _Prompt) -> Any:
    if isinstance(value, _Pairs):
        for key, inner in value:
            if isinstance(inner, list | tuple) and normal(key) in ("answer", "final answer"):
                return shape(inner, prompt)
    return shape(value, prompt)


# --- counts ---


def _strict_counts(body: str, prompt: _Prompt) -> dict[str, int] | None:
    value = _json(body)
    if not isinstance(value, _Pairs):
        return None
    fits = all(prompt.word(key) == key and _whole_number(count) == count and type(count) is int for key, count in value)
    return dict(value) if fits and len(dict(value)) == len(value) else None


def _tolerant_counts(text: str, prompt: _Prompt) -> dict[str, int] | None:
    answer = _structured(_counts, text, prompt)
    if answer is None and prompt.words:
        answer = _counts(_Pairs((name, count) for name, count in _LINE.findall(text) if prompt.word(name)), prompt)
        return answer or None
    return answer  # type: ignore[no-any-return]


_LINE: Final = re.compile(  # a name is one run of one class of characters, so that a long one is read once
    r"""(?<![\w/])([^\W\d][\w -]{0,80})["'*`]{0,3}\s?:\s?["'*`]{0,3}([0-9]+)(?![\w./+*-]| [+*-])"""
)


def _counts(value: Any, prompt: _Prompt) -> dict[str, int] | None:
    if not isinstance(value, _Pairs):
        return None
    counts: dict[str, int] = {}
    twice = set()
    for key, amount in value:
        name, count = prompt.word(key), _whole_number(amount)
        if name is None and count is not None:  # a class that was not offered: named, and not true
            name = key
        if name is None or count is None:
            continue
        if counts.setdefault(name, count) != count:
            twice.add(name)
    answer = {name: count for name, count in counts.items() if name not in twice}
    return answer if answer or not value else None


def _whole_number(value: object) -> int | None:
    """A whole number from 0, written as such, as a float, in quotes or as a word."""
    if isinstance(value, str):
        word = normal(value)
        value = _number(word) if word.isascii() and word.isdigit() else _NUMBERS.get(word)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
        return None
    return int(value)


_NUMBERS: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
}  # fmt: skip


# --- boxes ---


def _box(value: object) -> FourNumbers | None:
    if not isinstance(value, list) or len(value) != _BOX:
        return None
    if any(isinstance(item, bool) or not isinstance(item, int | float) or not math.isfinite(item) for item in value):
        return None
    return float(value[0]), float(value[1]), float(value[2]), float(value[3])


_NUMBERED: Final = re.compile(r"(.{0,100}[^\s_#])[_ #]{1,3}([0-9]{1,6})", re.DOTALL)


def _strict_boxes(body: str, prompt: _Prompt) -> tuple[tuple[str, FourNumbers], ...] | None:
    value = _json(body)
    if not isinstance(value, _Pairs) or len(dict(value)) != len(value):
        return None
    boxes = []
    for key, item in value:
        numbered, box = _NUMBERED.fullmatch(key), _box(item)
        if numbered is None or box is None or prompt.word(numbered[1]) != numbered[1]:
            return None
        boxes.append((numbered[1], box))
    return tuple(boxes)


def _boxes(value: Any, prompt: _Prompt) -> tuple[tuple[str, FourNumbers], ...] | None:
    pairs = value if isinstance(value, _Pairs) else _labelled(value)
    if pairs is None:
        return None
    boxes = []
    for key, item in pairs:
        numbered = _NUMBERED.fullmatch(key)
        name = prompt.word(key) if prompt.words else None
        bare = numbered[1] if numbered else key
        name = name or prompt.word(bare) or bare
        several = item if isinstance(item, list) and item and isinstance(item[0], list) else [item]
        boxes += [(name, box) for box in map(_box, several) if box is not None]
    return tuple(boxes) if boxes or not pairs else None


_LABELS: Final = ("label", "class", "name")
_BOX_KEYS: Final = ("bbox_2d", "box_2d", "bbox", "box")


def _labelled(value: Any) -> _Pairs | None:
    """A list of objects with a label and a box each, as grounding models give them."""
    if not isinstance(value, list) or not value or not all(isinstance(item, _Pairs) for item in value):
        return None
    pairs = []
    for fields in map(dict, value):
        label = next((fields[key] for key in _LABELS if key in fields), None)
        box = next((fields[key] for key in _BOX_KEYS if key in fields), None)
        if isinstance(label, str):
            pairs.append((label, box))
    return _Pairs(pairs) if pairs else None


Frames: TypeAlias = tuple[FourNumbers | None, ...]


def _strict_frames(body: str, prompt: _Prompt) -> Frames | None:
    value = _json(body)
    if not isinstance(value, _Pairs) or len(value) != prompt.frames:
        return None
    by_frame = dict(value)
    if by_frame.keys() != {f"frame_{number}" for number in range(prompt.frames)}:
        return None
    boxes = [by_frame[f"frame_{number}"] for number in range(prompt.frames)]
    return tuple(map(_box, boxes)) if all(box is None or _box(box) for box in boxes) else None


_FRAME: Final = re.compile(r"(?:frame)?[\s_#-]{0,3}([0-9]{1,6})", re.IGNORECASE)


def _frames(value: Any, prompt: _Prompt) -> Frames | None:
    if isinstance(value, _Pairs):
        numbered = [(_FRAME.fullmatch(key.strip()), item) for key, item in value]
        items = [(int(match[1]), item) for match, item in numbered if match]
    elif isinstance(value, list) and len(value) == prompt.frames and any(isinstance(item, list) for item in value):
        items = list(enumerate(value))
    else:
        return None
    answer: dict[int, FourNumbers | None] = {}
    for number, entry in items:
        if number < prompt.frames:
            box = None if _is_none(entry) else _box(entry) or UNREADABLE
            answer[number] = box if answer.get(number, box) == box else UNREADABLE
    return tuple(answer.get(number) for number in range(prompt.frames)) if answer else None


def _is_none(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, str) and normal(value) in ("none", "null"))


# --- indices ---


def _strict_indices(body: str, _: _Prompt) -> tuple[int, ...] | None:
    value = _json(body)
    if not isinstance(value, list) or not all(type(number) is int and number >= 0 for number in value):
        return None
    return tuple(value) if len(set(value)) == len(value) else None


def _tolerant_indices(text: str, prompt: _Prompt) -> tuple[int, ...] | None:
    indices = _structured(_indices, text, prompt)
    if indices is not None:
        return tuple(indices)
    answer = normal(_after_marker(text) or _PREFIX.sub("", text.strip())).replace(" and ", " ")
    if answer in ("none", "null", "empty"):
        return ()
    numbers = answer.split()
    if numbers and all(number.isascii() and number.isdigit() for number in numbers):
        return tuple(int(_number(number)) for number in numbers)
    return None


def _indices(value: Any, _: _Prompt) -> tuple[int, ...] | None:
    if isinstance(value, _Pairs):  # a list alone is no JSON object, which an endpoint may insist on
        lists = [item for _, item in value if isinstance(item, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list):
        return None
    numbers = [number for number in map(_whole_number, value) if number is not None]
    return tuple(numbers) if numbers or not value else None


# --- words ---


@lru_cache(maxsize=256)
def _options_by_text(words: tuple[str, ...]) -> dict[str, str]:
    return {normal(word): word for word in words}


@lru_cache(maxsize=256)
def _mentions(words: tuple[str, ...]) -> re.Pattern[str]:
    """Where one of the words stands as a whole word, the longest first."""
    ordered = sorted(filter(None, _options_by_text(words)), key=len, reverse=True)
    return re.compile(
        r"(?<!\w)(?:" + "|".join(r"[\s_-]+".join(map(re.escape, word.split())) for word in ordered) + r")(?!\w)"
    )


_DIGITS: Final = re.compile(r"(?<![\w.])(?:-(?=[0-9]))?[0-9]+(?!\w|\.[0-9])")
_PRONOUN: Final = "".join(f"(?<!{word} )" for word in ("no", "the", "this", "that", "which", "any", "each", "every"))
_NUMBER_WORDS: Final = re.compile(
    rf"(?<!\w)(?:{_PRONOUN}one(?!\s+of\b)|" + "|".join(word for word in _NUMBERS if word != "one") + r")(?!\w)"
)
_NEGATED: Final = re.compile(r"(?:\b(?:not|never|neither|nor|rather than|instead of)|n't|n’t)(?: (?:an?|the))?\s$")
_CLAUSE_END: Final = re.compile(r"[.;,!?}\n]|\b(?:because|since|rather than|instead of)\b")
_BEFORE: Final = 20


def _strict_option(body: str, prompt: _Prompt) -> str | None:
    if prompt.words:
        return {word.casefold(): word for word in prompt.words}.get(body.casefold())
    return str(_number(body)) if body.isascii() and body.isdigit() else None


def _tolerant_option(text: str, prompt: _Prompt) -> str | None:
    """The only option named after the last "answer:", at the head of the reply, or in all of it."""
    text = folded(text)
    if prompt.first:
        options = _options_in(text, prompt)
        return options[0] if options else None
    answer = _after_marker(text)
    for part in (_CLAUSE_END.split(answer, maxsplit=1)[0], answer, _head(text, prompt), text):
        options = list(dict.fromkeys(_options_in(part, prompt)))
        if len(options) == 1:
            return options[0]
    return None


def _head(text: str, prompt: _Prompt) -> str:
    """The first word where it is an option with a mark behind it ("Yes, ..."), and no other option follows at once.

    In "Yes. No other sound is heard." what follows begins a sentence of its own.
    """
    if not prompt.words:
        return ""
    pattern = _mentions(prompt.words)
    start = re.match(r"\W{0,20}", text)
    match = pattern.match(text, start.end() if start else 0)
    if match is None or not (mark := re.compile(r"\W{0,3}[,.!:;\n]\W{0,20}").match(text, match.end())):
        return ""
    other = pattern.match(text, mark.end())
    if other is None:
        return match[0]
    goes_on = re.compile(r"\s\w").match(text, other.end()) is not None
    return match[0] if goes_on and not set(".!\n").isdisjoint(mark[0]) else ""


def _options_in(text: str, prompt: _Prompt) -> list[str]:
    """Options or numbers that a text names and does not deny, in their order."""
    if prompt.words:
        options, pattern = _options_by_text(prompt.words), _mentions(prompt.words)
        named = [options[normal(match[0])] for match in pattern.finditer(text) if not _denied(text, match.start())]
        if named or prompt.first:
            return named
        return [options[number] for number in _numbers_in_words(text) if number in options]
    digits = [str(_number(match[0])) for match in _DIGITS.finditer(text)]
    return digits or _numbers_in_words(text)


def _numbers_in_words(text: str) -> list[str]:
    """The numbers of "three dogs", as digits; "which one" and "one of them" count nothing."""
    return [str(_NUMBERS[match[0]]) for match in _NUMBER_WORDS.finditer(text) if not _denied(text, match.start())]


def _denied(text: str, at: int) -> bool:
    return _NEGATED.search(text[max(at - _BEFORE, 0) : at]) is not None


def _strict_list(body: str, prompt: _Prompt) -> tuple[str, ...] | None:
    if len(body) <= 2 or body[0] != "#" or body[-1] != "#" or "#" in body[1:-1]:
        return None
    words = [prompt.word(part) for part in body[1:-1].split(";")]
    return tuple(word for word in words if word) if all(words) else None


def _tolerant_list(text: str, prompt: _Prompt) -> tuple[str, ...] | None:
    marked = _LISTS.findall(text)
    answer = ";".join(_LIST.findall(marked[-1])) if marked else _after_marker(text) or text
    items = _structured(lambda value, _: value if isinstance(value, list) else None, answer, prompt)
    parts = items if items is not None else re.split(r"[;,\n]", _PREFIX.sub("", answer.strip(" \n.*#")))
    words = [prompt.word(part) or normal(part) for part in parts if isinstance(part, str) and normal(part)]
    offered = set(prompt.words)
    return tuple(words) if words and (not offered or offered & set(words)) else None


_LIST: Final = re.compile(r"#([^#]{1,1000})#")
_LISTS: Final = re.compile(  # "#red;blue#", and "#red#, #blue#" as a whole
    r"#[^#]{1,1000}#(?:[\s,;]{0,5}(?:(?:and|or)\s)?#[^#]{1,1000}#)*", re.IGNORECASE
)
_LEAD: Final = re.compile(r"\A(?:caption|answer)\s?[:=]\s*", re.IGNORECASE)
_FENCE: Final = re.compile(r"```\w{0,20}")


def _strict_caption(body: str, _: _Prompt) -> str | None:
    return None if _LEAD.match(body) or "```" in body or after_thought(body) != body else " ".join(body.split()) or None


def _tolerant_caption(text: str, _: _Prompt) -> str | None:
    return " ".join(_LEAD.sub("", _FENCE.sub(" ", text).strip(), count=1).split()).strip("\"'") or None


_Find: TypeAlias = Callable[[str, _Prompt], Any]
_STRICT: Final[dict[AnswerForm, _Find]] = {
    "counts": _strict_counts,
    "boxes": _strict_boxes,
    "frame boxes": _strict_frames,
    "indices": _strict_indices,
    "option": _strict_option,
    "option list": _strict_list,
    "caption": _strict_caption,
}
_TOLERANT: Final[dict[AnswerForm, _Find]] = {
    "counts": _tolerant_counts,
    "boxes": lambda text, prompt: _structured(_boxes, text, prompt),
    "frame boxes": lambda text, prompt: _structured(_frames, text, prompt),
    "indices": _tolerant_indices,
    "option": _tolerant_option,
    "option list": _tolerant_list,
    "caption": _tolerant_caption,
}
