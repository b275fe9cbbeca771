"""Results of referring audio-visual segmentation: S of null expressions, and J, F and S by the rules of two releases.

The other numbers, tables and charts are those of every task, by the ``plain`` rules of ``score.masks.ref_avs``.
Answers are bool masks, so the releases' best of 255 thresholds is the better of the mask and the whole frame.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias

from auscult.outcome import Outcome, Scored
from auscult.report.tables import Table
from auscult.score.masks.ref_avs import RefAvsVariant, pooled_sums
from auscult.score.stats.change import mean_ratio
from auscult.score.stats.few_clusters import SHARE
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.numbers import GridView, Number, number_text
from auscult.suites.core.page import SuiteResults, tables_of, usual_results
from auscult.suites.core.tables import Index

_Measure: TypeAlias = Literal["J", "F", "S"]
_MEASURES: Final[tuple[_Measure, ...]] = ("J", "F", "S")
_RELEASES: Final[tuple[RefAvsVariant, ...]] = ("ref-avs", "tgs-agent")
_ABSENT: Final = "absent"


def ref_avs_results(view: GridView) -> SuiteResults:
    """All results from the scores."""
    usual = usual_results(view)
    null = _null_numbers(view)
    numbers = (*usual.numbers, *null, *_release_numbers(view))
    index = Index(numbers, view.grid.task)
    splits = tuple(dict.fromkeys(number.split for number in usual.numbers if number.split))
    tables = {**usual.tables, **tables_of(index, splits=splits), "ref_avs": _table(view, index)}
    return replace(usual, numbers=numbers, tables=tables)


def _null_numbers(view: GridView) -> list[Number]:
    """S under every condition; none without null expressions."""
    null = [case for case in view.cases if view.grid.about.get(case, {}).get(_ABSENT)]
    numbers = []
    for model in view.grid.models if null else ():
        for condition in view.grid.conditions:
            if view.grid.is_complete(model, condition.name):
                values = view.values(model, condition.name, "S")
                outcome = mean_ratio(
                    {case: values[case] for case in null if case in values}, within=SHARE, **view.interval_options()
                )
                numbers.append(view.number("level", condition, outcome=outcome, model=model, metric="S"))
    return numbers


def _release_numbers(view: GridView) -> list[Number]:
    """J, F and S of clean input by the releases' rules."""
    return [
        _by_rules(view, model, measure, variant=variant)
        for model in view.models
        for variant in _RELEASES
        for measure in _MEASURES
    ]


def _by_rules(view: GridView, model: str, measure: _Measure, *, variant: RefAvsVariant) -> Number:
    """The number of one release; with an interval if its rules average over clips."""
    of_null = measure == "S"
    values = view.values(model, CLEAN, measure)
    cases = [case for case in values if bool(view.grid.about.get(str(case), {}).get(_ABSENT)) == of_null]
    sums = view.grid.sums.get((model, CLEAN), {})
    scored = {case: sums[str(case)] for case in cases if str(case) in sums}
    outcome: Outcome[float] = pooled_sums(list(scored.values()), measure, variant=variant)
    signature = dict(outcome.signature.fields) if isinstance(outcome, Scored) else {}
    if variant == "tgs-agent":  # its S is frame by frame, as in the plain rules
        by_case = {
            case: values[case]
            if of_null or case not in scored
            else pooled_sums([scored[case]], measure, variant=variant)
            for case in cases
        }
        outcome = mean_ratio(by_case, within=SHARE, **view.interval_options())
    clean = view.grid.conditions[0]
    return view.number(variant, clean, outcome=outcome, model=model, metric=measure, signature=signature)


def _table(view: GridView, index: Index) -> Table:
    rows: list[tuple[str, ...]] = []
    for model in view.grid.models:
        for variant in ("plain", *_RELEASES):
            numbers = [
                index.get("level" if variant == "plain" else variant, model, metric=measure) for measure in _MEASURES
            ]
            if any(numbers):
                rows.append((model, variant, *(number_text(number, interval=True) for number in numbers)))
    return Table(
        title="Clean, by the rules of each evaluation",
        header=("model", "rules", "J", "F (region)", "S"),
        rows=tuple(rows),
        note="Percent. J and F: higher is better, of expressions that name something; S: lower is better, of those "
        "that name nothing. ref-avs pools four cases, in the order of the run, and has no interval. Both releases take "
        "the best of 255 thresholds on the truth, which of a mask is the mask or the whole frame.",
    )
