"""J and F of masks before and after a repair, in the form of MQA-RefAVS, Table 7."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from typing import Any, Final

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError
from auscult.jobs.runner import FrameGroup, Result, ResultWriter, Workers, failed_row, frame_groups
from auscult.media.masks import read_mask
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.lines import read_lines
from auscult.record.schema import metric_row
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.masks.boundary import boundary_f
from auscult.score.stats.intervals import Interval, bootstrap_interval
from auscult.types import Item, MaskRef

FILE: Final = "before_after.jsonl"
PARTS: Final[Mapping[str, str]] = {"test_s": "seen", "test_u": "unseen"}
"""Splits of Ref-AVSBench and MQ-RAVSBench, as the table calls them."""

_WORSE: Final = 0.005  # a mask whose J fell by more is made worse


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Tables and metrics; empty without truth."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Changed(FrameGroup):
    after: Mapping[str, Any] = field(default_factory=dict)  # id to the repaired mask as RLE; None where it stayed


class _Comparer:
    def __call__(self, group: _Changed) -> list[Result]:
        return [self._result(item, group.after[item.id]) for item in group.items if item.id in group.wanted]

    def _result(self, item: Item, after: Any) -> Result:
        if item.truth is None or item.truth.mask is None:
            return Result(id=item.id)
        try:
            true = read_mask(item.truth.mask).mask
            masks = [read_mask(item.mask, size=(true.shape[0], true.shape[1])).mask]
            if after is not None:
                masks.append(read_mask(MaskRef(segmentation=after), size=(true.shape[0], true.shape[1])).mask)
        except AuscultError as error:
            return Result(id=item.id, errors=[failed_row(item, error, "truth")])
        scores = [(iou(mask, true), boundary_f(mask, true).value) for mask in masks]
        row = {"id": item.id, "before": scores[0], "after": scores[-1], "repaired": after is not None}
        return Result(id=item.id, rows={FILE: [row]})


def before_after(
    writer: ResultWriter,
    items: Sequence[Item],
    *,
    after: Mapping[str, Any],
    clusters: Mapping[str, Hashable],
    workers: int,
) -> Compared:
    """Compare masks with truth, where there is one, before and after.

    Args:
        writer: Gets a row for each mask with truth.
        items: With the mask of before, and truth.
        after: The repaired mask as RLE by id; None where the mask stayed.
        clusters: What each item is drawn with: its photograph or clip.
        workers: Worker processes.
    """
    writer.run.remove(FILE)
    known = [item for item in items if item.truth is not None and item.truth.mask is not None]
    if not known:
        return Compared()
    writer.progress.stage("comparing before and after", len(known))
    groups = (
        _Changed(group.items, group.wanted, {name: after.get(name) for name in group.wanted})
        for group in frame_groups(known)
    )
    writer.keep_all(Workers(make=_Comparer, count=workers, stage="truth", timeout_s=120.0), groups)
    rows = {str(row["id"]): row for row in read_lines(writer.run.path / FILE)}
    parts: dict[str, dict[Hashable, list[Scores]]] = {}
    for item in known:
        if item.id in rows:
            row = rows[item.id]
            (j, f), (j_after, f_after) = row["before"], row["after"]
            scores = Scores(j, f, j_after, f_after, bool(row["repaired"]))
            parts.setdefault(_part(item), {}).setdefault(clusters[item.id], []).append(scores)
    return compared({part: list(found.values()) for part, found in sorted(parts.items())})


def _part(item: Item) -> str:
    benchmark = item.extra.get("mqa")
    split = benchmark.get("split") if isinstance(benchmark, Mapping) else item.extra.get("split")
    return PARTS.get(str(split), "all")


@dataclass(frozen=True, slots=True)
class Scores:
    """J and F of one mask, before and after, each 0..1, and whether it was repaired."""

    j_before: float
    f_before: float
    j_after: float
    f_after: float
    repaired: bool = True


def j_and_f(j: float, f: float) -> float:
    """The mean of J and F."""
    return (j + f) / 2


_COLUMNS: Final = ("J", "F", "J&F")


def _values(scores: Sequence[Scores], *, after: bool) -> list[tuple[float, float, float]]:
    chosen = [(one.j_after, one.f_after) if after else (one.j_before, one.f_before) for one in scores]
    return [(j, f, j_and_f(j, f)) for j, f in chosen]


def _gain(scores: Sequence[Scores], *, column: int) -> float:
    before, after = (_values(scores, after=later) for later in (False, True))
    return fmean(new[column] - old[column] for old, new in zip(before, after, strict=True))


def _gains(clusters: Sequence[Sequence[Scores]], part: str) -> Iterator[Interval | Undefined]:
    for at, name in enumerate(_COLUMNS):
        rng = generator(0, "before and after", part, name)
        yield bootstrap_interval(partial(_gain, column=at), clusters, rng=rng)


def compared(parts: Mapping[str, Sequence[Sequence[Scores]]]) -> Compared:
    """The table and numbers of masks by part, each a list of clusters; percent with one decimal in the table.

    Source: MQA-RefAVS, Table 7; the gain and its interval, over whole clusters, are ours.
    """
    header, notes, metrics = [""], [], dict[str, Mapping[str, Any]]()
    rows: dict[str, list[str]] = {"before": [], "after": [], "gain": [], "95 %": []}
    for part, clusters in parts.items():
        scores = [one for cluster in clusters for one in cluster]
        header += [f"{part}, {name}" if part != "all" else name for name in _COLUMNS]
        for later, name in ((False, "before"), (True, "after")):
            means = [fmean(column) for column in zip(*_values(scores, after=later), strict=True)]
            rows[name] += [f"{100 * mean:.1f}" for mean in means]
        for at, (name, found) in enumerate(zip(_COLUMNS, _gains(clusters, part), strict=True)):
            gain, signature = _gain(scores, column=at), Signature.of(metric=f"gain in {name} by repair", part=part)
            outcome: Scored[float] = Scored(gain, signature)
            span = ""
            if isinstance(found, Interval):
                outcome, span = (
                    replace(found, signature=signature),
                    f"{100 * found.low:+.1f} to {100 * found.high:+.1f}",
                )
            rows["gain"].append(f"{100 * gain:+.1f}")
            rows["95 %"].append(span)
            metrics[f"repair_gain_{name.lower().replace('&', '_and_')}_{part}"] = metric_row(outcome, n=len(scores))
        worse = sum(one.j_after < one.j_before - _WORSE for one in scores)
        repaired = sum(one.repaired for one in scores)
        share = Scored(
            worse / len(scores), Signature.of(metric="share made worse by repair", j=f">{_WORSE:g}", part=part)
        )
        metrics[f"repair_worse_{part}"] = metric_row(share, n=len(scores))
        notes.append(
            f"{part}: {len(scores)} masks of {len(clusters)} photographs or clips, "
            f"{repaired} repaired, {worse} made worse"
        )
    table = Table(
        title="J and F before and after",
        header=tuple(header),
        rows=tuple((name, *cells) for name, cells in rows.items()),
        note="; ".join(notes)
        + "; masks that were not tried are in the means; intervals draw whole photographs or clips",
    )
    return Compared(tables={"before_after": table}, metrics=metrics)
