"""Checks whether a sentence about a record follows from the cells that it refers to.

A number must be that of a cell, as printed, and of what the sentence names nearest to it; a claim of difference needs a
cell of that direction whose interval excludes zero; a superlative must be true. Ranks, vague amounts and names that the
record does not have are refused. What cannot be checked counts as wrong: to strike a true sentence costs little, to
keep a false one costs much.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from typing import Final

from auscult import registry
from auscult.agent.result_table import AVERAGE, CHANGES, DIFFERENCES, PAIR, ResultCell, ResultTable
from auscult.shipped import read_shipped
from auscult.stress.recipe_parts import base_of
from auscult.suites.core.conditions import CLEAN, DYNAMIC, REMOVED

NOT_SHOWN: Final = "no difference shown: the interval of what it refers to crosses zero, or there is none"

_BOUND: Final = ("model", "group", "metric", "level", "case")
_WORDS: Final = read_shipped("agent/claims.json")
_BEATS, _MOST, _LEAST = (_WORDS[name] for name in ("beats", "most", "least"))
_BETTER: Final = rf"{_BEATS}(?! by\b)|{_WORDS['better']}"
_WORSE: Final = f"{_BEATS} by|{_WORDS['worse']}"
_AMOUNTS: Final[Mapping[str, float]] = _WORDS["numbers"] | _WORDS["ratios"]

_DIGITS: Final = r"[+-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?"
_NUMBER: Final = re.compile(
    rf"(?P<p>\bp\s*=\s*)?(?:(?P<digits>{_DIGITS})|\b(?P<word>{'|'.join(_AMOUNTS)}|{_WORDS['in no cell']})\b)"
    r"(?:\s?(?:(?P<percent>%|per ?cent\b)|(?P<points>(?:percentage )?points?\b|pp\b)|(?P<ratio>times\b|-?fold\b|x\b)))?"
    rf"(?:[a-z, ]{{0,60}}\[\s*(?P<low>{_DIGITS})\s*(?:,|to|;)\s*(?P<high>{_DIGITS})\s*\])?",
    re.I,
)
_SEPARATOR: Final = re.compile(
    r"[,;:.](?=\s)|\(|\)|\b(?:and|but|while|whereas|against|to|from|versus|vs|although|though)\b", re.I
)
_OPEN: Final = re.compile(r"\bno (?:\w+ ){0,4}shown\b|\bnot shown\b", re.I)
_SAME: Final = re.compile(
    rf"\b(?:{_WORDS['equal']})\b"
    rf"|(?:\b(?:not?|never|without|hardly|barely|neither|nor|cannot)\b|n't)(?:\s+\w+){{0,2}}\s+(?:{_BETTER}|{_WORSE})\b",
    re.I,
)
_COMPARED: Final = re.compile(
    rf"\bthan\b(?!\s+(?:on |with |its |the )*clean\b)|\b(?:{_BEATS}|ahead|behind|trails?|above|below|compared|"
    r"superior|inferior|stronger|weaker)\b",
    re.I,
)
_DIRECTION: Final = re.compile(rf"(?P<turned>\b(?:less|least)\s+)?\b(?:(?P<better>{_BETTER})|(?:{_WORSE}))\b", re.I)
_TURNED: Final = re.compile(r"(?:\s+[\w.]+){0,3}?\s+less\b", re.I)
_BESIDE: Final = re.compile(r"\b(?:than|unlike|against|(?:compared|relative) (?:with|to))\s+$", re.I)
_SUPERLATIVE: Final = re.compile(rf"(?<!at )\b(?:(?P<most>{_MOST})|{_LEAST})\b(?! of\b)", re.I)
_CLAIM: Final = re.compile(f"{_OPEN.pattern}|{_DIRECTION.pattern}|{_SAME.pattern}|\\b(?:{_MOST}|{_LEAST})\\b", re.I)
_HARMLESS: Final = re.compile(
    r"\b95\s?(?:%|percent)(?= (?:confidence )?intervals?\b)|\bone (?:after|by) another\b", re.I
)
_LETTERS_AND_DIGITS: Final = re.compile(
    r"(?<![\w.&@#-])(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)(?!\d[\d.,]*(?:x|pp|e[+-]?\d+)\b)[\w-]+(?:\.\w+)*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    printed: str
    value: float
    at: int = 0
    decimals: int = 0
    sign: str = ""
    unit: str = ""  # p, percent, points, ratio, or nothing
    nouns: tuple[str, ...] = ()  # the words after it
    ends: tuple[_Number, _Number] | None = None  # its interval

    def is_of(self, value: float | None) -> bool:
        """Whether it is the value, rounded to the printed digits."""
        return value is not None and abs(self.value - value) <= 0.5 * 10.0**-self.decimals + 1e-9

    def is_interval_of(self, cell: ResultCell) -> bool:
        """Whether the interval after it, if any, is the cell's."""
        by = 1 if cell.unit == "strength" else 100
        pairs = zip(self.ends or (), (cell.low, cell.high), strict=False)
        return all(value is not None and end.is_of(by * value) for end, value in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """A sentence with its names blanked, and the positions of names, clauses and numbers."""

    bare: str
    names: tuple[tuple[int, str, str], ...]
    clauses: tuple[tuple[int, int], ...]
    numbers: tuple[_Number, ...]

    def about(self, dimension: str, place: int) -> str | None:
        """The name that a position refers to: the nearest in its clause, before it first, else in earlier clauses."""
        start, end = next(clause for clause in self.clauses if place < clause[1])
        named = [(position, name) for position, kind, name in self.names if kind == dimension and position < end]
        near = [name for position, name in named if start <= position]
        before = [name for position, name in named if start <= position < place]
        earlier = [name for position, name in named if position < start]
        nearest = before[-1:] or near[:1] or [name for name in earlier if name != CLEAN][-1:] or earlier[-1:]
        return nearest[0] if nearest else None

    def is_about(self, cell: ResultCell, place: int) -> bool:
        """Whether a cell has the names that a position refers to."""
        if (self.about("split", place) or "") != cell.split:
            return False
        for dimension in _BOUND:
            name, value = self.about(dimension, place), getattr(cell, dimension)
            if cell.measure in ("breaking point", "relative loss") and dimension == "level":
                value = CLEAN  # these are shares of the clean score
            if name is not None and value and name not in (value, *value.split(PAIR)):
                return False
        return True

    def directions(self, clause: tuple[int, int]) -> list[tuple[int, int]]:
        """The claims of a clause: their positions, and 1 for better, -1 for worse."""
        bare, claims = self.bare[: clause[1]], list[tuple[int, int]]()
        for match in _DIRECTION.finditer(bare, clause[0]):
            turned = bool(match["turned"]) != bool(_TURNED.match(bare, match.end()))
            claims.append((match.start(), -1 if bool(match["better"]) == turned else 1))
        return claims

    def sign(self, cell: ResultCell) -> int:
        """The sign of a cell, turned if the sentence names the second of a pair first."""
        pair = (cell.group if PAIR in cell.group else cell.model).split(PAIR)
        position, first = next(((position, name) for position, _, name in self.names if name in pair), (0, ""))
        turned = (first == pair[-1]) != bool(_BESIDE.search(self.bare[:position]))
        return -cell.sign if len(pair) > 1 and turned else cell.sign


class SentenceChecker:
    """Checks sentences against one table."""

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        self._cells = {cell.ref: cell for cell in table.cells} | {cell.path: cell for cell in table.cells}
        self._names = _names_of(table)
        metrics = [name for name, (dimension, _) in self._names.items() if dimension == "metric"]
        others = [name for name in self._names if name not in metrics]
        self._name = re.compile(rf"(?<![\w.])(?:(?i:{_any(others)})|{_any(metrics)})(?!\w|\.\d)")
        self._unknown = re.compile(rf"(?<![\w.])(?:{_any(_foreign(self._names))})(?!\w)", re.I)

    def why_not(self, text: str, refs: Sequence[str], *, advises: bool = False) -> str:
        """Why a sentence does not follow from the cells it refers to; empty if it does, or is only advice."""
        missing = [ref for ref in refs if ref not in self._cells]
        if missing:
            return f"it refers to {missing[0][:40]!r}, which is no cell"
        sentence, cells = self._parsed(text), [self._cells[ref] for ref in refs]
        if not sentence.numbers and not _CLAIM.search(sentence.bare):
            dimensions = {dimension for _, dimension, name in sentence.names if name != CLEAN}
            is_finding = not advises and (cells or dimensions >= {"model", "group"})
            return "it has no number and no claim in words that can be checked" if is_finding else ""
        if foreign := self._unknown.search(sentence.bare) or _LETTERS_AND_DIGITS.search(sentence.bare):
            return f"it names {foreign[0].strip()[:40]!r}, of which the record has nothing"
        if not cells:
            return "it says something of the results and refers to no cell"
        return _wrong_number(sentence, cells) or _wrong_claim(sentence, cells) or self._wrong_extreme(sentence, cells)

    def _parsed(self, text: str) -> _Sentence:
        plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2013", "-")
        plain = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
        names: list[tuple[int, str, str]] = []
        for match in self._name.finditer(plain):
            dimension, name = self._names.get(match[0]) or self._names[match[0].casefold()]
            names += [(match.start(), kind, name) for kind in (dimension, *(["level"] if name == CLEAN else []))]
        bare = _blanked(_HARMLESS, _blanked(self._name, plain))
        cuts = [match.end() for match in _SEPARATOR.finditer(_blanked(re.compile(r"\[[^]]*\]"), bare))]
        clauses = tuple(pairwise((0, *cuts, len(plain) + 1)))
        return _Sentence(bare=bare, names=tuple(names), clauses=clauses, numbers=tuple(_numbers(bare)))

    def _wrong_extreme(self, sentence: _Sentence, cells: Sequence[ResultCell]) -> str:
        for match in _SUPERLATIVE.finditer(sentence.bare):
            candidates = [
                cell for cell in cells if cell.measure not in DIFFERENCES and sentence.is_about(cell, match.start())
            ]
            if not any(self._is_extreme(cell, sentence, most=bool(match["most"])) for cell in candidates):
                return f"nothing it refers to is what it calls {match[0]!r}"
            measured = re.compile(r"\s+(?:\w+\s+)?measured").match(sentence.bare, match.end())
            if not measured and not any(cell.measure in DIFFERENCES and cell.is_shown for cell in cells):
                return NOT_SHOWN
        return ""

    def _is_extreme(self, cell: ResultCell, sentence: _Sentence, *, most: bool) -> bool:
        """Whether a cell is the extreme among the kinds of its model, else among the models."""
        comparable = [
            other
            for other in self.table.cells
            if other.value is not None
            and (other.measure, other.metric, other.level, other.split)
            == (cell.measure, cell.metric, cell.level, cell.split)
        ]
        kinds = [
            other.value for other in comparable if other.model == cell.model and other.group not in self.table.mixes
        ]
        models = [other.value for other in comparable if other.group == cell.group and other.model in self.table.models]
        values = [value for value in (kinds if len(kinds) > 1 else models) if value is not None]
        if cell.measure in CHANGES and re.search(r"\bbest\b|\bworst\b|gain|improv", sentence.bare) is None:
            most = not most  # the largest loss is the lowest change
        return len(values) > 1 and cell.value == (max if most else min)(values)


def _wrong_number(sentence: _Sentence, cells: Sequence[ResultCell]) -> str:
    for number in sentence.numbers:
        if number.unit == "ratio":
            if not _is_ratio(number.value, cells):
                return f"no two cells it refers to stand as {number.value:g} to 1"
        elif not any(sentence.is_about(cell, number.at) and _is_value(cell, number, sentence) for cell in cells):
            return f"{number.printed[:40]!r} is no value of the cells it refers to"
    return ""


def _wrong_claim(sentence: _Sentence, cells: Sequence[ResultCell]) -> str:
    changes = [cell for cell in cells if cell.measure in (*CHANGES, *DIFFERENCES)]
    for clause in sentence.clauses:
        bare = sentence.bare[slice(*clause)]
        if _OPEN.search(bare):
            if any(cell.is_shown and sentence.is_about(cell, clause[1] - 1) for cell in changes):
                return "the interval of what it refers to leaves out zero"
            continue
        if _SAME.search(bare):
            return NOT_SHOWN
        compared = _COMPARED.search(sentence.bare, clause[0])
        breaking = any(cell.measure == "breaking point" and sentence.is_about(cell, clause[1] - 1) for cell in cells)
        if breaking and not compared and re.search(r"\bbreak|\bhalf\b", bare, re.I):
            continue
        for place, direction in sentence.directions(clause):
            right = [
                cell
                for cell in changes
                if sentence.sign(cell) == direction
                and sentence.is_about(cell, place)
                and (cell.measure in DIFFERENCES or not compared)
            ]
            if not right:
                return "no change or difference it refers to has the direction that it claims"
            if not any(cell.is_shown for cell in right):
                return NOT_SHOWN
    return ""


def _numbers(bare: str) -> Iterator[_Number]:
    """The numbers of a text without names, in digits and in words."""
    for match in _NUMBER.finditer(bare):
        printed = match["digits"] or match["word"]
        amount = _AMOUNTS.get(printed.casefold(), math.nan)  # nan equals no value
        number = _printed(printed) if match["digits"] else _Number(printed=printed, value=amount)
        unit = next((name for name in ("p", "percent", "points", "ratio") if match[name]), "")
        yield replace(
            number,
            at=match.start(),
            unit="ratio" if printed.casefold() in _WORDS["ratios"] else unit,
            nouns=tuple(re.findall("[a-z]+", bare[max(match.end("digits"), match.end("word")) :].lower())[:4]),
            ends=(_printed(match["low"]), _printed(match["high"])) if match["low"] else None,
        )


def _printed(text: str) -> _Number:
    plain = text.replace(",", "")
    decimals = len(plain.lower().partition("e")[0].partition(".")[2])
    return _Number(printed=text, value=float(plain), decimals=decimals, sign=plain[0] if plain[0] in "+-" else "")


def _is_value(cell: ResultCell, number: _Number, sentence: _Sentence) -> bool:
    if number.unit == "p":
        return number.is_of(cell.p)
    if cell.unit == "count" or _is_count(cell, number):
        return _is_count(cell, number)
    if cell.value is None:
        return cell.reason == f"above {number.value:g}" and "beyond" in sentence.bare
    return number.is_interval_of(cell) and _is_printed(cell.value, number, sentence=sentence, cell=cell)


def _is_printed(value: float, number: _Number, *, sentence: _Sentence, cell: ResultCell) -> bool:
    """Whether the number is the value of a cell in its unit; a loss without a sign must be called a loss."""
    if cell.unit == "strength":
        return not number.unit and number.is_of(value)
    if cell.unit == "percent":
        share = not number.unit and number.decimals >= 2 and number.is_of(value)
        return not number.sign and number.unit != "points" and (share or number.is_of(100 * value))
    if number.sign:
        return number.unit != "percent" and number.is_of(100 * value)
    clause = next(clause for clause in sentence.clauses if number.at < clause[1])
    signs = {direction for _, direction in sentence.directions(clause)} or {1}
    return number.unit == "points" and number.is_of(abs(100 * value)) and signs == {sentence.sign(cell)}


def _is_count(cell: ResultCell, number: _Number) -> bool:
    """Whether it is the count of what the words after it name."""
    of_scores = {"case": cell.n, "sample": cell.n, "clip": cell.clusters, "photograph": cell.clusters}
    counted = {cell.case: cell.value} if cell.unit == "count" else of_scores
    nouns = [noun.rstrip("s") for noun in number.nouns]
    return not (number.unit or number.decimals or number.sign) and any(
        value == number.value and nouns[: len(words)] == words
        for name, value in counted.items()
        if (words := [word.rstrip("s") for word in name.split()])
    )


def _is_ratio(ratio: float, cells: Sequence[ResultCell]) -> bool:
    if ratio == 0.5 and any(cell.measure == "breaking point" for cell in cells):
        return True
    values = [(cell.measure, cell.value) for cell in cells if cell.value and cell.unit in ("percent", "points")]
    return any(
        measure == other_measure and abs(first / second - ratio) <= 0.025 * ratio
        for (measure, first), (other_measure, second) in permutations(values, 2)
    )


def _names_of(table: ResultTable) -> dict[str, tuple[str, str]]:
    """Every spelling of a name in the table, in lower case except metrics."""
    names: dict[str, tuple[str, str]] = {CLEAN: ("group", CLEAN)}
    names |= {name: ("", name) for name in (table.suite, table.data) if re.search(r"\d", name)}
    for model in (*table.models, *table.baselines):
        short = model.split(".")[1] if "." in model else model
        for spelled in (model, model.rpartition(".v")[0] or model, short, short.replace("_", " ")):
            names.setdefault(spelled, ("model", model))
    for cell in table.cells:
        groups = cell.group.split(PAIR)
        pairs = [*(("group", group) for group in groups), ("metric", cell.metric)]
        for dimension, name in (*pairs, *([("case", cell.case)] if cell.measure == "case" else [])):
            names.setdefault(name, (dimension, name))
            if dimension == "group":
                names.setdefault(name.replace("_", " "), (dimension, name))
    for level in dict.fromkeys(cell.level for cell in table.cells if cell.level not in ("", CLEAN, AVERAGE)):
        number = {"low": "1", "medium": "3", "high": "5"}.get(level, level)
        starts = ("level", "severity", "strength")
        spellings = [f"{start} {name}" for start in starts for name in (level, number)]
        spellings += [f"at {level}", f"at the {level}", *(f"{level} {end}" for end in starts)]
        names |= dict.fromkeys([*spellings, *([level] * (level in (DYNAMIC, REMOVED)))], ("level", level))
    for split in {cell.split for cell in table.cells if cell.split}:
        names |= dict.fromkeys((f"{split} clips", f"{split} cases"), ("split", split))
    names |= dict.fromkeys(("average", "on average", "averaged", "APC", "mean over"), ("level", AVERAGE))
    return {name if of[0] == "metric" else name.casefold(): of for name, of in names.items() if name}


def _foreign(table_names: Mapping[str, object]) -> set[str]:
    """Names of models, perturbations and metrics that the record does not have."""
    foreign = set(_WORDS["further"].split())
    for kind in ("stressor", "score", "model"):
        names = {base_of(entry.name) for entry in registry.entries(kind)}
        foreign |= names | {name.replace("_", " ") for name in names}
    return foreign - {*_WORDS["ordinary"].split(), *map(str.casefold, table_names)}


def _any(names: Iterable[str]) -> str:
    """A pattern of the names, longest first; one that never matches if there are none."""
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or "(?!)"


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """A text with the matches of a pattern blanked."""
    return pattern.sub(lambda match: " " * len(match[0]), text)
