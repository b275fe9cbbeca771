"""Judge against truth, the labels: were defect and action named right?"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from auscult.jobs.pairs import Metrics, Pair, bootstrapped, keep, percent
from auscult.outcome import Scored, Undefined
from auscult.report.tables import Table
from auscult.score.stats import F2Macro, F2Tables, f2_confusion, f2_tables
from auscult.types import ACTIONS, DEFECTS

_TOLD_DEFECT, _TRUE_DEFECT = attrgetter("verdict.defect"), attrgetter("defect")
_TOLD_ACTION, _TRUE_ACTION = attrgetter("verdict.action"), attrgetter("action")


def defect_table(pairs: Sequence[Pair], metrics: Metrics) -> Table:
    """Defects, one row per true defect.

    Args:
        pairs: Items whose true defect is known.
        metrics: Where the means are noted.

    Source: MQA-RefAVS, Table 2 for the two F2-tables columns (its F2-M and F2-A), Eq. 11 for F2-confusion.
    """
    true = list(map(_TRUE_DEFECT, pairs))
    named, acted, whole = f2_m(pairs), f2_a(pairs), _f2_defects(pairs)
    rows: list[tuple[str, ...]] = []
    for name in DEFECTS:
        columns = [outcome.columns.get(name) if isinstance(outcome, Scored) else None for outcome in (named, acted)]
        part = whole.parts[name] if isinstance(whole, Scored) else None
        cells = (percent(one or Undefined("no items")) for one in (*columns, part))
        rows.append((name, str(true.count(name)), *cells))
    rows.append(("mean", str(len(true)), percent(named), percent(acted), percent(whole)))
    best = ["perfect"] * len(true)
    always = (f2_tables(best, true, DEFECTS), Undefined("names no action"), f2_confusion(best, true, DEFECTS))
    rows.append(("always perfect", str(len(true)), *map(percent, always)))
    for key, statistic in (
        ("f2_tables_defect", f2_m),
        ("f2_tables_action", f2_a),
        ("f2_confusion_defect", _f2_defects),
    ):
        keep(metrics, key, bootstrapped(statistic, pairs), n=len(pairs))
    return Table(
        title="defects against truth",
        header=("true defect", "n", "F2-tables", "F2-tables of actions", "F2-confusion"),
        rows=tuple(rows),
        note="percent, higher is better. F2-tables looks at one true defect at a time, as the MQA paper's tables do, "
        "and sees no false alarm; F2-confusion does",
    )


def action_table(pairs: Sequence[Pair], metrics: Metrics) -> Table:
    """Actions, one row per right action.

    Args:
        pairs: Items whose right action is known.
        metrics: Where the mean is noted.
    """
    true = list(map(_TRUE_ACTION, pairs))
    whole = _f2_actions(pairs)
    rows: list[tuple[str, ...]] = []
    for name in ACTIONS:
        part = whole.parts[name] if isinstance(whole, Scored) else Undefined("no items")
        rows.append((name, str(true.count(name)), percent(part)))
    always = f2_confusion(["accept"] * len(true), true, ACTIONS)
    rows += [("mean", str(len(true)), percent(whole)), ("always accept", str(len(true)), percent(always))]
    keep(metrics, "f2_confusion_action", bootstrapped(_f2_actions, pairs), n=len(pairs))
    return Table(
        title="actions against truth",
        header=("right action", "n", "F2-confusion"),
        rows=tuple(rows),
        note="percent, higher is better",
    )


def confusion_table(pairs: Sequence[Pair]) -> Table:
    """How often each true defect was told as what."""
    rows = tuple(
        (true, *(str(sum(pair.defect == true and pair.verdict.defect == told for pair in pairs)) for told in DEFECTS))
        for true in DEFECTS
    )
    return Table(
        title="confusion of defects", header=("true \\ told", *DEFECTS), rows=rows, note="counts; rows are true"
    )


def f2_m(pairs: Sequence[Pair]) -> F2Tables | Undefined:
    """The paper's F2-M: defects, one true defect at a time."""
    return f2_tables(list(map(_TOLD_DEFECT, pairs)), list(map(_TRUE_DEFECT, pairs)), DEFECTS)


def f2_a(pairs: Sequence[Pair]) -> F2Tables | Undefined:
    """The paper's F2-A: actions, one true defect at a time, macro over the actions that are right there."""
    known = [pair for pair in pairs if pair.action is not None]
    told, true = list(map(_TOLD_ACTION, known)), list(map(_TRUE_ACTION, known))
    return f2_tables(told, true, ACTIONS, columns=list(map(_TRUE_DEFECT, known)))


def _f2_defects(pairs: Sequence[Pair]) -> F2Macro | Undefined:
    return f2_confusion(list(map(_TOLD_DEFECT, pairs)), list(map(_TRUE_DEFECT, pairs)), DEFECTS)


def _f2_actions(pairs: Sequence[Pair]) -> F2Macro | Undefined:
    return f2_confusion(list(map(_TOLD_ACTION, pairs)), list(map(_TRUE_ACTION, pairs)), ACTIONS)
