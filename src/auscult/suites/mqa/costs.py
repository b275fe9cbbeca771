"""Costs of judges, in the form of the paper's Table 11, and the results of a cascade of two judges.

Latency is the mean time of a verdict, in a batch its share of the time. Throughput is masks over the time from the
start of judging to the last verdict, all workers together; loading that is not done before is included. Peak memory is
that of the largest process that judged, and of its GPU. Money is the cost of the requests.

A cascade asks an expensive judge about the masks for which the verdict of the cheap one leaves the action open, by the
policy. The curve asks about 0 to 100 % of the masks: first the open ones, widest interval first, then the rest. It is
computed from two records, without new requests. Random choices of masks are shown beside it, as the baseline of the
order.

Source: MQA-RefAVS, Table 11 and App. D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Annotated, Final

from msgspec import Meta

from auscult.act.policy import Policy, possible_actions
from auscult.models.chat.model import REPLY_CACHE
from auscult.record.codec import Count, Word
from auscult.record.lines import read_lines
from auscult.record.reader import Run
from auscult.report.charts.basic import Axes, Series, lines_drawing
from auscult.report.facts import number
from auscult.report.page import Figure
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.suites.mqa.evaluate import Block, JudgedBlock, TableNumber, measured_by
from auscult.suites.mqa.rows import answers_of
from auscult.suites.mqa.tables import DASH, OTHER_DATA, cell_texts, printed_rows
from auscult.types import Verdict

TIMING: Final = "timing.jsonl"
SHARES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of the masks for the expensive judge."""
_MOST_PAIRS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A line of ``timing.jsonl``: masks and time of one command."""

    judge: Word
    masks: Count
    seconds: Annotated[float, Meta(ge=0.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCost:
    """The cost of one judge per mask; None if unknown."""

    latency_s: float | None
    throughput: float | None  # masks a second
    peak_gb: float | None
    gpu_gb: float | None = None
    usd: float | None = None  # for 1,000 masks

    def against(self, other: JudgeCost) -> str:
        """Ratios of throughput, latency and peak memory to another judge, in words."""
        words = []
        if self.throughput and other.throughput:
            words.append(f"{self.throughput / other.throughput:.2f}x")
        for name, word in (("latency_s", "latency"), ("peak_gb", "memory")):
            own, its = getattr(self, name), getattr(other, name)
            if own and its:
                words.append(f"{word} {100 * (own / its - 1):+.0f} %")
        return ", ".join(words) or DASH


def cost_of(run: Run, timing: Sequence[Timing]) -> JudgeCost:
    """The cost of a judge from its record and the times of its commands."""
    rows = [row for _, row in run.verdicts]
    masks, seconds = sum(entry.masks for entry in timing), sum(entry.seconds for entry in timing)
    peaks = [[row[name] for row in rows if isinstance(row.get(name), int)] for name in ("peak_mb", "peak_gpu_mb")]
    peak, gpu = (max(values) / 1000 if values else None for values in peaks)
    spent = spent_usd(run.path)
    return JudgeCost(
        latency_s=fmean(verdict.seconds for verdict, _ in run.verdicts) if rows else None,
        throughput=masks / seconds if seconds else None,
        peak_gb=peak,
        gpu_gb=gpu,
        usd=1000 * spent / len(rows) if rows and spent is not None else None,
    )


def spent_usd(folder: Path) -> float | None:
    """The cost of a judge's requests; None without a price."""
    usages = (row.get("usage") for row in read_lines(folder / REPLY_CACHE))
    costs = [usage.get("cost") for usage in usages if isinstance(usage, dict)]
    numbers = [float(cost) for cost in costs if isinstance(cost, int | float)]
    return sum(numbers) if numbers else None


def costs_table(costs: Mapping[str, JudgeCost]) -> Table:
    """Every judge in the form of Table 11, compared with the first."""
    first = next(iter(costs), "")
    on_gpu, priced = (any(getattr(cost, name) is not None for cost in costs.values()) for name in ("gpu_gb", "usd"))
    rows = []
    for judge, cost in costs.items():
        numbers = [number(cost.latency_s, 3), number(cost.throughput, 2), number(cost.peak_gb, 2)]
        numbers += [number(cost.gpu_gb, 2)] if on_gpu else []
        numbers += [number(cost.usd, 3)] if priced else []
        rows.append((judge, *numbers, DASH if judge == first else cost.against(costs[first])))
    columns = (*(("GPU GB",) if on_gpu else ()), *(("USD/1,000",) if priced else ()))
    return Table(
        title="What a mask costs (form of Table 11)",
        header=("judge", "latency s", "masks/s", "peak GB", *columns, f"against {first}"),
        rows=tuple(rows),
        note="Latency: mean time of a verdict. masks/s: of the commands of this run, all workers together, from the "
        "start of judging on, with the loading that is left by then. Peak GB: largest process that judged, of a judge "
        "behind an endpoint this machine's part alone; with no workers, of the whole command. "
        + ("USD: all requests of a record, probes included." if priced else "No judge has a price."),
    )


def printed_costs() -> Table:
    """Table 11 as printed, compared with its fastest other model as the paper does."""
    printed = {row.method: tuple(map(float, row.cells)) for row in printed_rows("11")}
    costs = {
        name: JudgeCost(latency_s=latency, throughput=rate, peak_gb=memory)
        for name, (latency, rate, memory) in printed.items()
    }
    first, *_, last = costs
    rows = tuple((row.method, *row.cells) for row in printed_rows("11"))
    return Table(
        title="The paper's Table 11, other data and machines",
        header=("method", "latency s", "samples/s", "peak GB"),
        rows=rows,
        note=f"{OTHER_DATA} {last} against {first}: {costs[last].against(costs[first])}.",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurvePoint:
    """A cascade of two judges, with one share of the masks for the expensive one."""

    pair: str
    share: float  # for the expensive judge, 0..1
    rule: bool  # whether it is the share that the policy leaves open
    seconds: float  # a mask
    usd: float | None  # for 1,000 masks; None without a price
    cells: tuple[TableNumber, ...]  # RMSE and F2-A by need, then by a random choice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgePair:
    """A cheap and an expensive judge of the same masks."""

    name: str
    cheap: Mapping[str, Verdict]
    dear: Mapping[str, Verdict]
    usd: float | None  # mean cost per mask of the expensive one
    order: tuple[str, ...]  # ids judged by the cheap one, in order of need
    opened: int  # count of those that the policy leaves open

    def points(self, block: Block) -> list[CurvePoint]:
        """The points of the curve in one block; none without verdicts of the cheap judge."""
        inside = {candidate.id for candidate in block.candidates}
        order = [name for name in self.order if name in inside]
        opened = sum(name in inside for name in self.order[: self.opened])
        permutation = generator(0, "mqa", "cascade at random", block.name, self.name).permutation(len(order))
        counts = {round(share * len(order)): False for share in SHARES} | {opened: True} if order else {}
        return [
            self._point(block, order, [order[index] for index in permutation[:count]], count=count, rule=counts[count])
            for count in sorted(counts)
        ]

    def _point(
        self, block: Block, order: Sequence[str], shuffled: Sequence[str], *, count: int, rule: bool
    ) -> CurvePoint:
        asked, n = order[:count], len(order)
        paid = [self.dear[name].seconds for name in asked if name in self.dear]
        return CurvePoint(
            pair=self.name,
            share=count / n,
            rule=rule,
            seconds=(sum(self.cheap[name].seconds for name in order) + sum(paid)) / n,
            usd=None if self.usd is None else 1000 * self.usd * len(paid) / n,
            cells=(
                *self._cells(block, order, asked, column=f"{count} of {n} by need"),
                *self._cells(block, order, shuffled, column=f"{count} of {n} at random"),
            ),
        )

    def _cells(
        self, block: Block, order: Sequence[str], dear_ids: Sequence[str], *, column: str
    ) -> tuple[TableNumber, TableNumber]:
        chosen = dict.fromkeys(order, self.cheap) | dict.fromkeys(dear_ids, self.dear)
        answers = answers_of(judge[name] for name, judge in chosen.items() if name in judge)
        judged = JudgedBlock(block=block, judge=self.name, answers=answers)
        members = [candidate for candidate in block.candidates if candidate.id in chosen]

        def cell(metric: str) -> TableNumber:
            measured = measured_by(metric, judged.pairs(metric, members), protocol=block.protocol)
            return replace(judged.cell(metric, measured, column=column, members=members), metric=f"{metric}_cascade")

        return cell("rmse"), cell("f2_confusion_a")


def pairs_of(runs: Mapping[str, Run], policy: Policy) -> list[JudgePair]:
    """The cheapest judge, by USD and then time per mask, with each of the next three; without cascades."""
    answers = {
        name: {verdict.id: verdict for verdict, _ in run.verdicts}
        for name, run in runs.items()
        if run.verdicts and not run.verdicts[0][0].judged_by
    }
    usd = {
        name: None if (spent := spent_usd(runs[name].path)) is None else spent / len(answers[name]) for name in answers
    }
    cost = {
        name: (usd[name] or 0.0, fmean(answer.seconds for answer in by_id.values())) for name, by_id in answers.items()
    }
    if not cost:
        return []
    cheap, *dearer = sorted(cost, key=cost.__getitem__)
    order, opened = asking_order(runs[cheap], policy)
    return [
        JudgePair(
            name=f"{cheap}, {dear}", cheap=answers[cheap], dear=answers[dear], usd=usd[dear], order=order, opened=opened
        )
        for dear in dearer[:_MOST_PAIRS]
    ]


def asking_order(run: Run, policy: Policy) -> tuple[tuple[str, ...], int]:
    """The ids that a judge judged, in order of need of another judge; and how many are left open."""
    needs = []
    for verdict, row in run.verdicts:
        opened = len(possible_actions(verdict, policy, named=bool(row.get("text")))) > 1
        low, high = verdict.iou_low, verdict.iou_high
        width = 0.0 if verdict.defect == "empty" else 1.0 if low is None or high is None else high - low
        needs.append((not opened, -width, verdict.id))
    return tuple(name for *_, name in sorted(needs)), sum(not closed for closed, *_ in needs)


def curve_table(block: Block, points: Sequence[CurvePoint]) -> Table:
    """The curves of one block."""
    rows = [
        (
            point.pair,
            f"{100 * point.share:.0f} %{' (what is open)' if point.rule else ''}",
            f"{point.seconds:.3f}",
            number(point.usd, 3),
            *cell_texts(point.cells),
        )
        for point in points
    ]
    return Table(
        title=f"{block.title}: a cascade of two judges",
        header=("judges", "asked", "s/mask", "USD/1,000", "RMSE", "F2-A", "RMSE, random", "F2-A, random"),
        rows=tuple(rows),
        note="Made of the records of both: the second judge is asked about this share of the masks, what the first "
        "leaves open by the policy before the rest, and the widest interval before narrower ones. random: as many "
        "masks, drawn. F2-A: F2-confusion of the policy's actions, percent. In brackets: 95 % intervals over "
        f"{block.clips_text}.",
    )


def curve_figure(block: Block, points: Sequence[CurvePoint]) -> Figure:
    """RMSE over cost: in order of need, and at random."""
    money = any(point.usd is not None for point in points)
    pairs = list(dict.fromkeys(point.pair for point in points))
    lines = [
        Series(
            name=f"{prefix}{pair.partition(', ')[2]}",
            points=tuple(
                (_cost(point, money=money), value, f"{100 * point.share:.0f} % asked: {value:.3f}")
                for point in points
                if point.pair == pair and (value := point.cells[index].value) is not None
            ),
            style=style,
            quiet=bool(prefix),
        )
        for style, (pair, prefix, index) in enumerate(
            (pair, *variant) for pair in pairs for variant in (("", 0), ("random: ", 2))
        )
    ]
    highest = max((_cost(point, money=money) for point in points), default=0.0) or 1.0
    errors = [y for line in lines for _, y, _ in line.points] or [0.0]
    unit = "USD for 1,000 masks" if money else "seconds a mask"
    axes = Axes(
        x=(0.0, 1.03 * highest),
        y=(max(0.0, round(min(errors) - 0.05, 1)), round(max(errors) + 0.06, 1)),
        ticks=tuple((highest * step / 4, f"{highest * step / 4:.2g}") for step in range(5)),
        across=unit,
        up="RMSE",
    )
    return Figure(
        name=f"{block.name}_cascade",
        caption="RMSE of a cascade by its cost, from the first judge alone to both; lines are named after the second. "
        "Thin: as many masks drawn at random.",
        drawing=lines_drawing(lines, axes, title="RMSE by cost of a cascade"),
    )


def _cost(point: CurvePoint, *, money: bool) -> float:
    return (point.usd or 0.0) if money else point.seconds
