"""Whether what a sentence says of a record follows from the cells that it refers to; nothing is taken on trust.

Checked are numbers in any writing, what they belong to, claims of difference, superlatives, ratios, ranks and names.
What cannot be followed counts as wrong: a true sentence that is struck costs little, a false one that stands much.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from auscult import registry
from auscult.agent.result_table import AVERAGE, CHANGES, DIFFERENCES, PAIR, ResultCell, ResultTable
from auscult.stress.recipe_parts import base_of
from auscult.suites.core.conditions import CLEAN

Dimension: TypeAlias = Literal["model", "group", "metric", "level", "case"]
_BOUND: Final[tuple[Dimension, ...]] = ("model", "group", "metric", "level")
NOT_SHOWN: Final = "no difference shown: the interval of what it refers to crosses zero, or there is none"

_WORDS: Final[Mapping[str, int]] = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "seventeen": 17,
    "eighteen": 18,
    "nineteen": 19,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_RATIOS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("twice", "double", "doubles", "doubled", "twofold"), 2.0),
    **dict.fromkeys(("thrice", "triple", "triples", "tripled", "threefold"), 3.0),
    **dict.fromkeys(("half", "halves", "halved", "halving"), 0.5),
    **dict.fromkeys(("quarter", "quarters", "fourth"), 0.25),
}
_RANKS: Final[Mapping[str, int]] = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "1st": 1,
    "2nd": 2,
    "3rd": 3,
    "4th": 4,
    "5th": 5,
    "6th": 6,
    "7th": 7,
    "8th": 8,
    "9th": 9,
    "tenth": 10,
}
_VAGUE: Final = "dozen|dozens|hundred|hundreds|thousand|thousands|million|couple|thirds|tenfold|fold|majority|most of"
_BETTER: Final = (
    "better|gains?|gained|gaining|improv\\w+|outperform\\w*|beats?|beating|higher|above|ahead|exceeds?|surpass\\w*|"
    "rises?|rose|risen|increas\\w+|stronger|superior|wins?|helps?|benefits?|benefited|boosts?"
)
_WORSE: Final = (
    "worse\\w*|drops?|dropp\\w+|loses?|losing|lost|loss|losses|falls?|fell|fallen|declin\\w+|decreas\\w+|degrad\\w+|lower|"
    "below|behind|weaker|inferior|harm\\w*|hurts?|hurting|costs?|costing|costl\\w+|damag\\w+|reduc\\w+|suffers?|suffered|"
    "deteriorat\\w+|erod\\w+|collaps\\w+|break\\w*|fails?|breaks down|trails?|underperform\\w*|shrinks?|plunges?|sinks?"
)
_GRADED: Final[Mapping[str, int]] = {
    "robust": 1, "resilient": 1, "stable": 1, "accurate": 1, "fragile": -1, "sensitive": -1, "vulnerable": -1,
}  # fmt: skip
_EQUAL: Final = (
    "equal\\w*|same|identical\\w*|unaffected|immune|unchanged|unharmed|indistinguishable|on par|as good as|as well as|"
    "robust to|robust under|robust against|resists?|withstands?|no effect|invariant|insensitive|comparable|similar\\w*"
)
_MOST: Final = "most|best|largest|greatest|biggest|highest|strongest|hardest|maximum|top"
_LEAST: Final = "least|worst|smallest|lowest|weakest|minimum|bottom"
_NAMED: Final = {"%": "percent", "percent": "percent", "per cent": "percent"}
_NUMBER: Final = r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|[+-]?\.\d+"
_COMMON: Final = frozenset(
    {
        "mean",
        "auc",
        "gain",
        "loss",
        "merge",
        "mask",
        "equal",
        "mixture",
        "perfect",
        "silence",
        "constant",
        "random",
        "ideal",
    }
)
_FURTHER: Final = (
    "map ap50 ap75 dice f1 psnr ssim lpips accuracy precision recall fid mota hota wer miou giou map50 cer"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Number:
    """A number of a sentence as it is printed."""

    value: float
    decimals: int
    sign: str = ""
    unit: str = ""  # percent, points, ratio, or nothing
    nouns: tuple[str, ...] = ()  # the words after it
    ends: tuple[_Number, _Number] | None = None  # of an interval in brackets

    def is_of(self, value: float) -> bool:
        """Whether it is the value, rounded to the digits that are printed."""
        return abs(self.value - value) <= 0.5 * 10.0**-self.decimals + 1e-9


@dataclass(slots=True, kw_only=True)
class _Clause:
    """A part of a sentence: what it names, counts and claims, each with its place."""

    text: str
    mentions: dict[Dimension, list[tuple[int, str]]] = field(default_factory=dict)
    numbers: list[tuple[int, _Number]] = field(default_factory=list)
    carried: Mapping[Dimension, str] = field(default_factory=dict)

    def bound(self, dimension: Dimension, place: int) -> str | None:
        """What a place of the clause is about: what is named in it, nearest before, else after; else carried over."""
        mine = self.mentions.get(dimension, [])
        before = [name for at, name in mine if at < place]
        return before[-1] if before else mine[0][1] if mine else self.carried.get(dimension)

    def fits(self, cell: ResultCell, place: int) -> bool:
        """Whether a cell is of what a place is about."""
        for dimension in _BOUND:
            name, mine = self.bound(dimension, place), getattr(cell, dimension)
            if name is None or not mine:
                continue
            if name not in (mine.split(PAIR) if dimension != "level" else (mine,)):
                return False
        return True


class SentenceChecker:
    """Checks sentences against one table."""

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        self._cells = {cell.ref: cell for cell in table.cells} | {cell.path: cell for cell in table.cells}
        self._names = _names_of(table)
        plain = [name for name, (dimension, _) in self._names.items() if dimension != "metric"]
        metrics = [name for name, (dimension, _) in self._names.items() if dimension == "metric"]
        self._name = re.compile(rf"(?<![\w.])(?:(?i:{_any(plain)})|(?:{_any(metrics)}))(?!\w|\.\d)")
        self._unknown = re.compile(rf"(?<![\w.])(?i:{_any(_foreign(self._names))})(?!\w)")

    def why_not(self, text: str, refs: Sequence[str]) -> str:
        """Why a sentence does not follow from the cells it refers to; empty where it does."""
        text = _plain_digits(text)
        missing = [ref for ref in refs if ref not in self._cells]
        if missing:
            return f"it refers to {missing[0][:40]!r}, which is no cell"
        cells = [self._cells[ref] for ref in refs]
        clauses = self._clauses(text)
        bare = self._name.sub(" ", text)
        says = any(clause.numbers for clause in clauses) or bool(_CLAIMS.search(bare))
        foreign = self._unknown.search(bare) or _ODD.search(bare)
        if says and foreign:
            return f"it names {foreign[0].strip()[:40]!r}, of which the record has nothing"
        if says and not cells:
            return "it says something of the results and refers to no cell"
        for clause in clauses:
            why = self._numbers(clause, cells) or self._claims(clause, cells, clauses) or self._most(clause, cells)
            if why:
                return why
        return ""

    # --- reading ---

    def _clauses(self, text: str) -> list[_Clause]:
        """The clauses, with what the earlier ones were about."""
        hidden = self._name.sub(lambda found: "\x00" * len(found[0]), text)
        hidden = re.sub(r"\[[^]]*\]", lambda found: "\x00" * len(found[0]), hidden)
        cuts = [0, *(found.end() for found in _SEPARATOR.finditer(hidden)), len(text)]
        found, carried = [], dict[Dimension, str]()
        for start, end in pairwise(cuts):
            clause = _Clause(text=text[start:end], carried=dict(carried))
            for name in self._name.finditer(clause.text):
                dimension, value = self._names[_folded(name[0], self._names)]
                clause.mentions.setdefault(dimension, []).append((name.start(), value))
                if value == CLEAN:
                    clause.mentions.setdefault("level", []).append((name.start(), CLEAN))
            for dimension, mentioned in clause.mentions.items():
                if mentioned[-1][1] != CLEAN or dimension not in carried:
                    carried[dimension] = mentioned[-1][1]
            bare = self._name.sub(lambda found: " " * len(found[0]), clause.text)
            clause.numbers = list(_numbers(_HARMLESS.sub(lambda found: " " * len(found[0]), bare)))
            found.append(clause)
        return found

    # --- numbers ---

    def _numbers(self, clause: _Clause, cells: Sequence[ResultCell]) -> str:
        before: list[ResultCell] = []
        for place, number in clause.numbers:
            mine = [cell for cell in cells if clause.fits(cell, place)]
            if number.ends is not None:
                among = [cell for cell in before if cell in mine] or ([] if before else mine)
                if not any(_has_ends(cell, number.ends) for cell in among):
                    return "its interval is not that of the number before it"
                continue
            if number.unit == "ratio":
                if not _is_ratio(number.value, cells):
                    return f"no two cells it refers to stand as {number.value:g} to 1"
                continue
            before = [cell for cell in mine if _is_value(cell, number, clause.text, said=self._sign(clause, cell))]
            if not before and not any(_is_count(cell, number) or _is_p(cell, number, clause.text) for cell in mine):
                return f"{number.sign}{number.value:g} is no value of the cells it refers to"
        return ""

    # --- claims ---

    def _sign(self, clause: _Clause, cell: ResultCell) -> int:
        """What the clause says of a cell's sign, as of what it names: 1 better, -1 worse, 0 nothing."""
        signs = {polarity for _, polarity in _claims_of(clause.text)}
        said = signs.pop() if len(signs) == 1 else 0
        return said * self._order(clause.text, cell)

    def _order(self, text: str, cell: ResultCell) -> int:
        """-1 where the second of a pair is named before the first."""
        dimension: Dimension = "group" if PAIR in cell.group else "model"
        pair = getattr(cell, dimension).split(PAIR)
        named = [
            value
            for one in self._name.finditer(text)
            if (value := self._names[_folded(one[0], self._names)][1]) in pair
        ]
        return -1 if len(pair) == 2 and named and named[0] == pair[1] else 1

    def _claims(self, clause: _Clause, cells: Sequence[ResultCell], clauses: Sequence[_Clause]) -> str:
        whole = "".join(one.text for one in clauses)
        mine = [cell for cell in cells if cell.measure in (*CHANGES, *DIFFERENCES)]
        if _OPEN.search(clause.text):
            shown = [cell for cell in mine if clause.fits(cell, len(clause.text)) and cell.is_shown]
            return "the interval of what it refers to leaves out zero" if shown else ""
        if _SAME.search(clause.text):
            return NOT_SHOWN
        bare = self._name.sub(lambda found: " " * len(found[0]), clause.text)
        for place, polarity in _claims_of(bare):
            two = _COMPARED.search(bare) or _COMPARED.search(self._name.sub(" ", whole[whole.find(clause.text) :]))
            kinds = DIFFERENCES if two and not _THAN_CLEAN.search(whole) else CHANGES
            if any(cell.measure == "breaking point" for cell in cells) and not two and _BREAKS.search(bare):
                if any(level != CLEAN for _, level in clause.mentions.get("level", ())):
                    return "a breaking point is a number, no level"
                continue
            fitting = [
                cell
                for cell in mine
                if cell.measure in (*kinds, *(() if two else DIFFERENCES)) and clause.fits(cell, place)
            ]
            right = [cell for cell in fitting if cell.sign * self._order(whole, cell) == polarity]
            if not right:
                return "no change or difference it refers to has the direction that it claims"
            if not any(cell.is_shown for cell in right):
                return NOT_SHOWN
        return ""

    def _most(self, clause: _Clause, cells: Sequence[ResultCell]) -> str:
        bare = self._name.sub(lambda found: " " * len(found[0]), clause.text)
        for found in _SUPERLATIVE.finditer(bare):
            mine = [cell for cell in cells if cell.measure not in DIFFERENCES and clause.fits(cell, found.start())]
            if not any(self._is_extreme(cell, found[0], bare) for cell in mine):
                return f"nothing it refers to is what it calls {found[0].strip()!r}"
            measured = re.match(r"\s+(?:\w+\s+)?measured", bare[found.end() :])
            if not measured and not any(cell.measure in DIFFERENCES and cell.is_shown for cell in cells):
                return NOT_SHOWN
        for found in _RANK.finditer(bare):
            rank = _RANKS[found[0].casefold()]
            if not any(self._rank(cell) == rank for cell in cells if clause.fits(cell, found.start())):
                return f"nothing it refers to is the {found[0]}"
        return ""

    def _siblings(self, cell: ResultCell) -> list[float]:
        """The values beside a cell: of the same model under the other kinds, else of the other models."""
        alike = [one for one in self.table.cells if (one.measure, one.metric) == (cell.measure, cell.metric)]
        alike = [one for one in alike if one.value is not None and one.level == cell.level and PAIR not in one.model]
        groups = [one for one in alike if one.model == cell.model and one.group not in self.table.mixes]
        models = [one for one in alike if one.group == cell.group and one.model in self.table.models]
        return [one.value or 0.0 for one in (groups if len(groups) > 1 else models)]

    def _is_extreme(self, cell: ResultCell, word: str, clause: str) -> bool:
        values = self._siblings(cell)
        if cell.value is None or len(values) < 2:
            return False
        most = re.search(rf"\b(?:{_MOST})\b", word, re.IGNORECASE) is not None
        if cell.measure in CHANGES and re.search(r"\bbest\b|\bworst\b|gain|improv", clause) is None:
            most = not most  # of a loss
        return cell.value == (max if most else min)(values)

    def _rank(self, cell: ResultCell) -> int:
        """The place of a cell among its siblings: of losses the largest first, of scores the highest."""
        values = sorted(self._siblings(cell), reverse=cell.measure not in CHANGES)
        return values.index(cell.value) + 1 if cell.value in values and len(values) > 1 else 0


# --- words ---

_SEPARATOR: Final = re.compile(
    r"[,;:.](?=\s)|\(|\)|\b(?:and|but|while|whereas|against|to|from|versus|vs|although|though)\b", re.I
)
_OPEN: Final = re.compile(r"\bno (?:\w+ ){0,4}shown\b|\bnot shown\b", re.I)
_SAME: Final = re.compile(
    rf"\b(?:{_EQUAL})\b|\b(?:not?|never|without|hardly|barely|neither|nor|cannot)\b(?:\s+\w+){{0,2}}\s+(?:{_BETTER}|{_WORSE})\b"
    rf"|n't(?:\s+\w+){{0,2}}\s+(?:{_BETTER}|{_WORSE})\b",
    re.I,
)
_COMPARED: Final = re.compile(
    r"\bthan\b|\boutperform|\bbeats?\b|\bahead\b|\bbehind\b|\btrails?\b|\bsurpass|\bexceeds?\b|\babove\b|\bbelow\b|\bcompared\b"
    r"|\bsuperior\b|\binferior\b|\bstronger\b|\bweaker\b",
    re.I,
)
_THAN_CLEAN: Final = re.compile(r"\bthan\s+(?:on |with |its |the )*clean\b", re.I)
_BREAKS: Final = re.compile(r"\bbreak|\bhalf\b", re.I)
_GRADE: Final = re.compile(rf"\b(more|less|most|least)\s+(\w+ly\s+)?({'|'.join(_GRADED)})\b", re.I)
_DIRECTION: Final = re.compile(rf"\b(?P<better>{_BETTER})\b|\b(?P<worse>{_WORSE})\b", re.I)
_SUPERLATIVE: Final = re.compile(rf"(?<!at )\b(?:{_MOST}|{_LEAST})\b(?! of\b)", re.I)
_RANK: Final = re.compile(rf"\b(?:{'|'.join(_RANKS)})\b", re.I)
_CLAIMS: Final = re.compile(
    f"{_DIRECTION.pattern}|{_GRADE.pattern}|{_SUPERLATIVE.pattern}|{_SAME.pattern}|{_RANK.pattern}", re.I
)
_ODD: Final = re.compile(
    r"(?<![\w.&@#-])(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)(?!\d[\d.,]*(?:th|st|nd|rd|x|pp|e[+-]?\d+)\b)[\w-]+(?:\.\w+)*"
)
_HARMLESS: Final = re.compile(
    r"\b95\s?(?:%|percent)(?= (?:confidence )?intervals?\b)|\bone (?:after|by) (?:another|one)\b", re.I
)
_COUNTED: Final = re.compile(rf"\b(?:{'|'.join((*_WORDS, *_RATIOS))}|{_VAGUE})\b", re.I)


def _claims_of(text: str) -> Iterator[tuple[int, int]]:
    """Each claim of a direction: its place, and 1 for better, -1 for worse."""
    for found in _DIRECTION.finditer(text):
        polarity = 1 if found["better"] else -1
        less = re.match(r"(?:\s+\w+){0,2}?\s+less\b", text[found.end() :]) or re.search(
            r"\bless\s+$", text[: found.start()]
        )
        yield found.start(), -polarity if less else polarity
    for found in _GRADE.finditer(text):
        yield found.start(), _GRADED[found[3].casefold()] * (1 if found[1].casefold() in ("more", "most") else -1)


def _numbers(text: str) -> Iterator[tuple[int, _Number]]:
    """The numbers of a text without names, in digits and in words, with their places."""
    taken: list[tuple[int, int]] = []
    for found in re.finditer(rf"\[\s*({_NUMBER})\s*(?:,|to|;)\s*({_NUMBER})\s*\]", text):
        taken.append(found.span())
        yield found.start(), _Number(value=0.0, decimals=0, ends=(_printed(found[1]), _printed(found[2])))
    for found in re.finditer(_NUMBER, text):
        if not any(start <= found.start() < end for start, end in taken):
            after = text[found.end() : found.end() + 40]
            unit = re.match(
                r"\s?(%|percent\b|per cent\b|(?:percentage )?points?\b|pp\b|times\b|-?fold\b|x\b)", after, re.I
            )
            kind = (
                "" if unit is None else _NAMED.get(unit[1].lower(), "ratio" if unit[1].lower() in _TIMES else "points")
            )
            printed = _printed(found[0])
            yield found.start(), _Number(
                value=printed.value, decimals=printed.decimals, sign=printed.sign, unit=kind,
                nouns=tuple(re.findall(r"[a-z]+", after.lower())[:4]),
            )  # fmt: skip
    for found in _COUNTED.finditer(text):
        word = found[0].casefold()
        nouns = tuple(re.findall(r"[a-z]+", text[found.end() : found.end() + 40].lower())[:4])
        if word in _RATIOS:
            yield found.start(), _Number(value=_RATIOS[word], decimals=2, unit="ratio")
        else:  # of what is vague nothing is the value
            yield found.start(), _Number(value=float(_WORDS.get(word, -1)), decimals=0, nouns=nouns)


_TIMES: Final = ("times", "fold", "-fold", "x")


def _printed(text: str) -> _Number:
    plain = text.replace(",", "")
    digits = plain.lower().partition("e")[0].partition(".")[2]
    sign = plain[0] if plain[0] in "+-" else ""
    return _Number(value=float(plain), decimals=len(digits), sign=sign)


# --- a number and a cell ---


def _is_value(cell: ResultCell, number: _Number, clause: str, *, said: int) -> bool:
    if cell.unit == "count":
        return _is_count(cell, number)
    if cell.value is None:
        return cell.reason == f"above {number.value:g}" and "beyond" in clause.lower()
    if cell.unit == "strength":
        return not number.unit and number.is_of(cell.value)
    if cell.unit == "percent":
        share = not number.unit and number.decimals >= 2 and number.is_of(cell.value)
        return not number.sign and number.unit != "points" and (share or number.is_of(100 * cell.value))
    return _is_points(number, 100 * cell.value, said * (-1 if cell.lower_is_better else 1))


def _is_points(number: _Number, value: float, direction: int) -> bool:
    if number.sign:
        return number.unit != "percent" and number.is_of(value)
    is_said = direction * value > 0 or (direction == 0 and value >= 0)
    return number.unit == "points" and number.is_of(abs(value)) and is_said


def _is_count(cell: ResultCell, number: _Number) -> bool:
    """Whether it counts what the word after it says."""
    if number.unit or number.decimals or number.sign:
        return False
    if cell.unit == "count":
        words = [word.rstrip("s") for word in cell.case.split()]
        nouns = [noun.rstrip("s") for noun in number.nouns[: len(words) + 1]]
        return number.value == cell.value and (
            nouns[: len(words)] == words or (set(words) <= set(nouns[:2]) and len(words) == 1)
        )
    counted = {
        "case": cell.n,
        "sample": cell.n,
        "clip": cell.clusters,
        "photograph": cell.clusters,
        "picture": cell.clusters,
    }
    return any(counted.get(noun.rstrip("s")) == number.value for noun in number.nouns[:1])


def _is_p(cell: ResultCell, number: _Number, clause: str) -> bool:
    found = re.search(r"\bp\s*([=<])\s*([\d.]+\d)", clause)
    if cell.p is None or found is None or _printed(found[2]).value != number.value:
        return False
    return number.is_of(cell.p) if found[1] == "=" else cell.p < number.value


def _has_ends(cell: ResultCell, ends: tuple[_Number, _Number]) -> bool:
    if cell.low is None or cell.high is None:
        return False
    by = 1 if cell.unit == "strength" else 100
    return ends[0].is_of(by * cell.low) and ends[1].is_of(by * cell.high)


def _is_ratio(ratio: float, cells: Sequence[ResultCell]) -> bool:
    if ratio == 0.5 and any(cell.measure == "breaking point" for cell in cells):
        return True
    values = [(cell.measure, cell.value) for cell in cells if cell.value and cell.unit in ("percent", "points")]
    return any(
        one == other and first is not second and abs(first / second - ratio) <= 0.025 * ratio
        for one, first in values
        for other, second in values
    )


# --- names ---


def _names_of(table: ResultTable) -> dict[str, tuple[Dimension, str]]:
    """Every spelling of what the table has a name for."""
    found: dict[str, tuple[Dimension, str]] = {CLEAN: ("group", CLEAN)}
    found |= {name: ("case", name) for name in (table.suite, table.data) if re.search(r"\d", name)}
    for model in (*table.models, *table.baselines):
        short = model.split(".")[1] if "." in model else model
        for spelled in (model, model.rpartition(".v")[0] or model, short, short.replace("_", " ")):
            found.setdefault(spelled, ("model", model))
    for cell in table.cells:
        for group in cell.group.split(PAIR):
            for spelled in filter(None, (group, group.replace("_", " "))):
                found.setdefault(spelled, ("group", group))
        if cell.metric:
            found.setdefault(cell.metric, ("metric", cell.metric))
        if cell.measure == "case":
            found.setdefault(cell.case, ("case", cell.case))
    for level in dict.fromkeys(cell.level for cell in table.cells if cell.level not in ("", CLEAN, AVERAGE)):
        found |= dict.fromkeys(_spellings(level), ("level", level))
    found |= dict.fromkeys(("average", "on average", "averaged", "APC", "mean over"), ("level", AVERAGE))
    return {_fold(name, dimension): (dimension, value) for name, (dimension, value) in found.items() if name}


def _spellings(level: str) -> Iterator[str]:
    number = {"low": "1", "medium": "3", "high": "5"}.get(level, level)
    yield from (f"{start} {level}" for start in ("at", "at the", "level", "severity", "strength"))
    yield from (f"{start} {number}" for start in ("level", "severity", "strength"))
    yield from (f"{level} {end}" for end in ("level", "severity", "strength"))
    yield from ([level] if level in ("dynamic", "removed") else [])


def _fold(name: str, dimension: Dimension) -> str:
    return name if dimension == "metric" else name.casefold()


def _folded(name: str, known: Mapping[str, object]) -> str:
    return name if name in known else name.casefold()


def _foreign(known: Mapping[str, object]) -> list[str]:
    """Names of models, perturbations and metrics that the record has nothing of."""
    found = set(_FURTHER.split())
    for kind in ("stressor", "score", "model"):
        names = {base_of(entry.name) for entry in registry.entries(kind)}
        found |= {spelled for name in names for spelled in (name, name.replace("_", " "))}
    mine = {name.casefold() for name in known}
    return sorted(name for name in found - _COMMON if name not in mine and len(name) > 2)


def _any(names: Sequence[str]) -> str:
    """A pattern of the names, longest first; one that nothing matches where there are none."""
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"


def _plain_digits(text: str) -> str:
    """A text with all its digits and minus signs as ASCII."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("\u2013", "-").replace("\u00a0", " ")
    kept = (sign for sign in plain if unicodedata.category(sign) != "Cf")
    return "".join(str(unicodedata.digit(sign)) if not sign.isascii() and sign.isdigit() else sign for sign in kept)
