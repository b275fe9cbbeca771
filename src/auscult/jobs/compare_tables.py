"""The tables of ``auscult compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auscult.jobs.comparing import VIDEO, Match, Paired
from auscult.outcome import Scored
from auscult.report.tables import Table

_DASH = "–"


def part_tables(tested: Sequence[Paired], adjusted: Mapping[str, Sequence[float | None]]) -> list[Table]:
    """RMSE, types and actions of one protocol.

    Args:
        tested: The pairs of judges on this protocol.
        adjusted: Label to Holm's p values, in the same order.
    """
    protocol = tested[0].protocol
    where = f", {protocol} protocol" if protocol else ""
    tables = [
        Table(
            title=f"RMSE of the estimated IoU, paired{where}",
            header=("first", "second", "n", "clips", "no IoU", "RMSE", "difference", "better"),
            rows=tuple(_rmse_row(pair) for pair in tested),
            note=_rmse_note(tested, protocol),
        )
    ]
    for label, words in (("defect", "types"), ("action", "actions")):
        rows = tuple(
            _test_row(pair, label, adjusted[label][index]) for index, pair in enumerate(tested) if label in pair.tests
        )
        if rows:
            tables.append(
                Table(
                    title=f"{words} named right, paired{where}",
                    header=("first", "second", "n", "right first", "right second", "only first", "only second", "p",
                            "p (Holm)"),
                    rows=rows,
                    note="exact two-sided McNemar test of the items that only one of the two got right; Holm: adjusted "
                    "for the pairs of this table. Items of one clip are alike, so p is smaller than it should be",
                )
            )  # fmt: skip
    return tables


def matched_table(matches: Sequence[Match], tested: Sequence[Paired], left_out: Sequence[str]) -> Table:
    """What became of the items of each pair; only what occurred has a row.

    Args:
        matches: The pairs of judges.
        tested: Their tests, for the items that are in no RMSE.
        left_out: Judges that could not be compared, and why.
    """
    rows: list[tuple[str, ...]] = []
    for found in matches:
        names = found.first.name, found.second.name
        rows.append((*names, "matched", str(len(found.items))))
        bare = sum(pair.undefined for pair in tested if pair.match is found)
        if bare:
            rows.append((*names, "of these without a true IoU, in no RMSE", str(bare)))
        rows += [(*names, reason, str(count)) for reason, count in found.unmatched.items() if count]
    note = "what is not matched is in no number; a reason without a row did not occur"
    if left_out:
        note += f". Not compared: {'; '.join(left_out)}"
    return Table(title="matched items", header=("first", "second", "of the items", "n"), rows=tuple(rows), note=note)


def _rmse_note(tested: Sequence[Paired], protocol: str) -> str:
    over = "n: items; a reply without IoU counts as 0"
    if protocol == VIDEO:
        over = (
            "n: tracks, whose frames come to one value first (Eq. 12); a reply without IoU leaves the mean of its "
            "track, a track without any counts as 0"
        )
    splits = sorted({split for pair in tested for split in pair.splits})
    pooled = f". Pooled over the splits {', '.join(splits)}" if len(splits) > 1 else ""
    return (
        f"{over}. no IoU and RMSE: first / second. difference: first minus second with its 95 % interval by bootstrap "
        "over clips or photographs, drawn for both at once; better: whose RMSE is lower where the interval leaves out "
        f"0{pooled}"
    )


def _rmse_row(pair: Paired) -> tuple[str, ...]:
    first, second = pair.match.first.name, pair.match.second.name
    counts = first, second, str(pair.n_iou), str(pair.clusters), f"{pair.silent[0]} / {pair.silent[1]}"
    if not isinstance(pair.difference, Scored):
        return *counts, _DASH, _DASH, _DASH
    low, high = getattr(pair.difference, "low", None), getattr(pair.difference, "high", None)
    span, better = "", _DASH
    if low is not None and high is not None:
        span = f" [{_signed(low)}, {_signed(high)}]"
        better = "first" if high < 0 else "second" if low > 0 else "neither"
    each = f"{pair.rmse[0]:.3f} / {pair.rmse[1]:.3f}"
    return *counts, each, f"{_signed(pair.difference.value)}{span}", better


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"


def _test_row(pair: Paired, label: str, adjusted: float | None) -> tuple[str, ...]:
    test = pair.tests[label]
    right = pair.right[label]
    return (
        pair.match.first.name,
        pair.match.second.name,
        str(test.n),
        f"{100 * right[0] / test.n:.1f} %",
        f"{100 * right[1] / test.n:.1f} %",
        str(test.first),
        str(test.second),
        _p_text(test.value),
        _DASH if adjusted is None else _p_text(adjusted),
    )


def _p_text(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"
