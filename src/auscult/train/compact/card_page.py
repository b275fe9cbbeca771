"""The compact judge's card as a page: the bars first, then charts and failures, then set by set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from auscult.judge.cards import Card, Result, page
from auscult.judge.cards.page import cell, markdown, table
from auscult.train.compact.card_charts import SIDES
from auscult.train.compact.card_judging import CONSTANT
from auscult.types import DEFECTS

MADE_BY: Final = "python tools/compact_results.py"
WITHIN: Final = 0.03

_RELIABILITY: Final = "![Mean true IoU over estimated IoU](../images/compact-reliability.svg)"
_WIDTHS: Final = "![Width of the 90 % interval by size of the object](../images/compact-widths.svg)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What was asked of the judge before it was made.

    Attributes:
        metric: The metric.
        least: The lowest value that is good enough; None for none.
        most: The highest; None for none.
    """

    metric: str
    least: float | None = None
    most: float | None = None

    def words(self) -> str:
        """The bar as text."""
        if self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}"
        return f">= {self.least:g}" if self.least is not None else f"<= {self.most:g}"

    def met(self, value: float, *, within: float = 0.0) -> bool:
        """Whether a value is good enough, or falls short by no more than ``within``."""
        above = self.least is None or value >= self.least - within
        return above and (self.most is None or value <= self.most + within)


_INTERVALS: Final = (Bar(metric="coverage_90", least=0.86, most=0.94), Bar(metric="width_ratio", most=0.8))
BARS: Final[Mapping[str, tuple[Bar, ...]]] = {
    "coco": (
        Bar(metric="f2_tables", least=0.82),
        Bar(metric="f2_confusion", least=0.78),
        Bar(metric="rmse", most=0.13),
        Bar(metric="rmse_without_merge", most=0.055),
        *_INTERVALS,
    ),
    "davis": (
        Bar(metric="f2_tables", least=0.84),
        Bar(metric="f2_confusion", least=0.80),
        Bar(metric="rmse", most=0.055),
        *_INTERVALS,
    ),
    "real": (Bar(metric="spearman", least=0.65), Bar(metric="rmse", most=0.15), *_INTERVALS),
}
"""By kind of set; coverage in each predicted type has the bar of .80 beside these."""
_SAID: Final = Bar(metric="coverage_90.said", least=0.8)
_LEAST_SAID: Final = 20


def card_page(card: Card, *, failures: str = "") -> str:
    """Lay out the card.

    Args:
        card: The card.
        failures: Markdown of the gallery of failures; empty for none.
    """
    before = ["## Against the bars", _BARS_WORDS, bars_table(card), "## Charts", _RELIABILITY, _WIDTHS]
    before += ["## Failures", failures] if failures else []
    return page(card, made_by=MADE_BY, before=before, layout=lambda results: _parts(card.judge, results))


_BARS_WORDS: Final = (
    "The bars were set before training. *yes*: the value reaches the bar; *within .03*: it falls short by no more "
    "than that. *surely better*: the worse end of the interval is better than the constant row, which says one IoU "
    "for all and names no type. Of the coverage in each predicted type the lowest is shown, out of those that 20 "
    "masks or more were called."
)


def bars_table(card: Card) -> str:
    """Every bar, what was measured, and what the constant row has."""
    found = {(one.set, one.row, one.metric): one for one in card.results}
    lines = []
    for name in card.sets:
        for bar in _bars_of(name):
            result = found.get((name, card.judge, bar.metric))
            if result is not None and result.value is not None:
                beside = found.get((name, CONSTANT, bar.metric))
                line = [name, f"`{bar.metric}`", bar.words(), cell(result), _verdict(bar, result.value)]
                lines.append([*line, cell(beside), _surely(bar, result, beside)])
        lines += _said_lines(card, name)
    return markdown(["set", "metric", "bar", "measured", "reached", CONSTANT, "surely better"], lines)


def _bars_of(name: str) -> tuple[Bar, ...]:
    source = name.split("_", maxsplit=1)[0]
    if name.endswith(("arbitrary", "small")) or source not in BARS:
        return ()
    return BARS["real"] if name.endswith("real") else BARS[source]


def _said_lines(card: Card, name: str) -> list[list[str]]:
    """The predicted type with the lowest coverage."""
    said = [
        one
        for one in card.results
        if one.set == name and one.row == card.judge and one.metric.startswith(_SAID.metric) and one.n >= _LEAST_SAID
    ]
    if not said or not _bars_of(name):
        return []
    worst = min(said, key=lambda one: one.value or 0.0)
    words = f"lowest of `{_SAID.metric}`: {worst.metric.rsplit('.', 1)[1]} (n {worst.n})"
    return [[name, words, _SAID.words(), cell(worst), _verdict(_SAID, worst.value or 0.0), "", ""]]


def _verdict(bar: Bar, value: float) -> str:
    if bar.met(value):
        return "yes"
    return "within .03" if bar.met(value, within=WITHIN) else "no"


def _surely(bar: Bar, result: Result, beside: Result | None) -> str:
    """Whether the worse end of the interval is still better than what the constant row has."""
    if beside is None or beside.value is None or result.low is None or result.high is None:
        return ""
    better = result.high < beside.value if bar.most is not None else result.low > beside.value
    return "yes" if better else "no"


def _parts(judge: str, results: Sequence[Result]) -> list[str]:
    found = {(one.row, one.metric): one for one in results}
    parts = [table([one for one in results if "." not in one.metric or one.metric.endswith(("osvos", "rvos"))])]
    types = _types(judge, found)
    sides = [
        [words, _n(found, judge, f"rmse.{side}")]
        + [cell(found.get((judge, f"{metric}.{side}"))) for metric in _BY_SIDE]
        for side, words in SIDES.items()
        if (judge, f"rmse.{side}") in found
    ]
    if types:
        parts += ["By type and difficulty:", markdown(["type", "n", *_TYPE_HEADER], types)]
    if sides:
        parts += ["By size of the object:", markdown(["size", "n", *_BY_SIDE], sides)]
    said = [
        [defect, _n(found, judge, f"coverage_90.said.{defect}"), cell(found.get((judge, f"coverage_90.said.{defect}")))]
        for defect in DEFECTS
        if (judge, f"coverage_90.said.{defect}") in found
    ]
    if said:
        parts += ["Coverage by what the mask was called:", markdown(["called", "n", "coverage_90"], said)]
    return [*parts, *_reliability(judge, found)]


_BY_SIDE: Final = ("rmse", "f2_tables", "f2_confusion", "coverage_90", "width_90")
_TYPE_HEADER: Final = ("rmse", f"rmse, {CONSTANT}", "f2_tables", "f2_tables, masks.cues.v1", "f2_confusion")


def _types(judge: str, found: Mapping[tuple[str, str], Result]) -> list[list[str]]:
    lines = []
    for defect in DEFECTS:
        for name in (defect, *(f"{defect}.{grade}" for grade in ("hard", "medium", "easy"))):
            if (judge, f"f2_tables.{name}") in found:
                wanted = (
                    (judge, f"rmse.{name}"),
                    (CONSTANT, f"rmse.{name}"),
                    (judge, f"f2_tables.{name}"),
                    ("masks.cues.v1", f"f2_tables.{name}"),
                    (judge, f"f2_confusion.{name}"),
                )
                cells = [cell(found.get(key)) for key in wanted]
                lines.append([name.replace(".", ", "), _n(found, judge, f"f2_tables.{name}"), *cells])
    return lines


def _reliability(judge: str, found: Mapping[tuple[str, str], Result]) -> list[str]:
    start = "reliability.true."
    lines = [
        [
            metric.removeprefix(start),
            str(result.n),
            cell(found.get((judge, metric.replace(".true.", ".said.")))),
            cell(result),
        ]
        for (row, metric), result in found.items()
        if row == judge and metric.startswith(start)
    ]
    if not lines:
        return []
    return [
        "Reliability, in tenths of the estimate from:",
        markdown(["from", "n", "mean estimate", "mean true"], lines),
    ]


def _n(found: Mapping[tuple[str, str], Result], judge: str, metric: str) -> str:
    return str(found[judge, metric].n)
