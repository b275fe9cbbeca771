"""Candidate masks as a table, one cue vector and its truth per row, and the numbers of a card measured on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from auscult.act.policy import DEFAULT, action_of
from auscult.jobs.runner import Progress
from auscult.judge.cards import Result
from auscult.judge.masks.cues.measure import Findings, measure
from auscult.judge.masks.cues.model import ARBITRARY, JUDGED, Coefficients, estimate
from auscult.outcome import Failed, Scored, Undefined
from auscult.rng import generator
from auscult.score.stats import F2Macro, bootstrap_interval, coverage, f2_confusion, f2_tables, rmse, spearman
from auscult.train.material import CandidateSample, coco, coco_nonsense, davis, davis_nonsense, real
from auscult.types import DEFECTS, Defect

_NONSENSE_ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Cue vectors of candidate masks and what is known of them; all of one length.

    Attributes:
        cues: float64 (n, cues).
        source: ``coco``, ``davis``, ``real`` or ``drawn``.
        cluster: Photograph, sequence or drawn picture.
        defect: What was made; ``arbitrary`` for a mask on no object; a model's name for a real mask.
        difficulty: ``hard``, ``medium``, ``easy`` or an empty text.
        iou: Exact IoU.
    """

    cues: NDArray[np.float64]
    source: NDArray[np.str_]
    cluster: NDArray[np.str_]
    defect: NDArray[np.str_]
    difficulty: NDArray[np.str_]
    iou: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.iou)

    def where(self, keep: NDArray[np.bool_]) -> Table:
        """The rows where ``keep`` is True."""
        return Table(
            cues=self.cues[keep],
            source=self.source[keep],
            cluster=self.cluster[keep],
            defect=self.defect[keep],
            difficulty=self.difficulty[keep],
            iou=self.iou[keep],
        )


def joined(tables: Sequence[Table]) -> Table:
    """All rows of several tables."""
    return Table(
        cues=np.concatenate([table.cues for table in tables]),
        source=np.concatenate([table.source for table in tables]),
        cluster=np.concatenate([table.cluster for table in tables]),
        defect=np.concatenate([table.defect for table in tables]),
        difficulty=np.concatenate([table.difficulty for table in tables]),
        iou=np.concatenate([table.iou for table in tables]),
    )


def tabled(samples: Iterable[CandidateSample]) -> Table:
    """Measure the cues of every sample."""
    rows = [(found.vector(), sample) for sample, found in _measured(samples)]
    kept = [sample for _, sample in rows]
    return Table(
        cues=np.array([vector for vector, _ in rows], dtype=np.float64),
        source=np.array([sample.source for sample in kept], dtype=np.str_),
        cluster=np.array([sample.cluster for sample in kept], dtype=np.str_),
        defect=np.array([sample.defect for sample in kept], dtype=np.str_),
        difficulty=np.array([sample.difficulty or "" for sample in kept], dtype=np.str_),
        iou=np.array([sample.iou for sample in kept], dtype=np.float64),
    )


def fitting_table(data: Path, names: dict[str, Sequence[str]], *, seed: int, rounds: int, progress: Progress) -> Table:
    """What coefficients or intervals are made from: photographs, sequences and the sequences' real masks."""
    progress.stage("cues for fitting", rounds * len(names["coco"]) + len(names["davis"]))
    tables = []
    for number in range(rounds):
        for name in names["coco"]:
            made = coco(data, [name], seed=seed, alone=number % 2 == 0, key=f"#{number}")
            tables.append(tabled(made))
            if number < _NONSENSE_ROUNDS:
                tables.append(tabled(coco_nonsense(data, [name], seed=seed, key=f"#{number}")))
            progress.step()
    for name in names["davis"]:
        tables.append(tabled(davis(data, [name], seed=seed, every=2)))
        tables.append(tabled(davis_nonsense(data, [name], seed=seed, every=2)))
        tables.append(tabled(real(data, [name], every=1)))
        progress.step()
    return joined([table for table in tables if len(table)])


def _measured(samples: Iterable[CandidateSample]) -> Iterator[tuple[CandidateSample, Findings]]:
    for sample in samples:
        found = measure(sample.frame, sample.mask, others=sample.others)
        if found is not None:
            yield sample, found


REPLICATES: Final = 300
_GRADED: Final = ("cutout", "dilate", "erode", "merge")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What a row of the card says of one mask, beside its truth."""

    iou: float
    low: float | None
    high: float | None
    defect: str | None
    true_iou: float
    true_defect: str
    difficulty: str


NumberOutcome: TypeAlias = "Scored[float] | Undefined | Failed | float"
GuessStatistic: TypeAlias = Callable[[Sequence[Guess]], NumberOutcome]
_Said: TypeAlias = "tuple[float, float | None, float | None, str | None]"
Keep: TypeAlias = Callable[[Guess], bool]


def judged_rows(
    table: Table, coefficients: Coefficients, *, judge: str, constants: Mapping[str, float]
) -> dict[str, list[Guess]]:
    """The guesses of the judge and of the baselines, in the table's order."""
    rows: dict[str, list[Guess]] = {}
    for at in range(len(table)):
        found = estimate(table.cues[at], coefficients)
        said: dict[str, _Said] = {
            judge: (found.iou, found.iou_low, found.iou_high, str(found.defect)),
            "always-perfect": (1.0, None, None, "perfect"),
            **{row: (iou, None, None, None) for row, iou in constants.items()},
        }
        for row, (iou, low, high, defect) in said.items():
            rows.setdefault(row, []).append(
                Guess(
                    iou=iou,
                    low=low,
                    high=high,
                    defect=defect,
                    true_iou=float(table.iou[at]),
                    true_defect=str(table.defect[at]),
                    difficulty=str(table.difficulty[at]),
                )
            )
    return rows


def results_of(name: str, table: Table, rows: dict[str, list[Guess]], *, seed: int) -> Iterator[Result]:
    """Every metric of every row on one set.

    Args:
        name: The set's name.
        table: Its masks.
        rows: The guesses, from ``judged_rows``.
        seed: Seed of the intervals.
    """
    for metric, statistic, keep in _metrics(table):
        for row, guesses in rows.items():
            yield _result(statistic, keep, guesses=guesses, table=table, key=(name, row, metric), seed=seed)


def _result(
    statistic: GuessStatistic, keep: Keep, *, guesses: list[Guess], table: Table, key: tuple[str, str, str], seed: int
) -> Result:
    kept = np.array([keep(guess) for guess in guesses], dtype=bool)
    names = np.unique(table.cluster[kept])
    clusters = [[guesses[int(at)] for at in np.flatnonzero(kept & (table.cluster == cluster))] for cluster in names]
    items = [guess for cluster in clusters for guess in cluster]
    whole = statistic(items) if items else Undefined("no items")
    value = _value(whole)
    low = high = None
    if value is not None:
        interval = bootstrap_interval(statistic, clusters, rng=generator(seed, "card", *key), replicates=REPLICATES)
        if not isinstance(interval, Undefined):
            low, high = _short(interval.low), _short(interval.high)
    return Result(
        set=key[0],
        row=key[1],
        metric=key[2],
        value=None if value is None else _short(value),
        low=low,
        high=high,
        n=len(items),
        clusters=len(clusters),
        reason=whole.reason if isinstance(whole, Undefined) else "",
    )


def _value(outcome: NumberOutcome) -> float | None:
    if isinstance(outcome, Undefined | Failed):
        return None
    return float(outcome.value if isinstance(outcome, Scored) else outcome)


def _short(number: float) -> float:
    return round(float(number), 4)


def _metrics(table: Table) -> Iterator[tuple[str, GuessStatistic, Keep]]:
    if (table.source == "real").all():
        return _real_metrics()
    if (table.defect == ARBITRARY).all():
        return _nonsense_metrics()
    if (table.defect == "perfect").all():
        return _perfect_metrics()
    return _made_metrics(table)


def _nonsense_metrics() -> Iterator[tuple[str, GuessStatistic, Keep]]:
    yield "called_perfect", _called("perfect"), _any
    yield "accepted", _accepted, _any
    yield "called_full_neg", _called("full_neg"), _any
    yield "f2_tables.full_neg", _f2_of_nonsense, _any
    yield "rmse", _rmse, _any


def _perfect_metrics() -> Iterator[tuple[str, GuessStatistic, Keep]]:
    keep = _of("perfect")
    yield "called_perfect.perfect", _called("perfect"), keep
    yield "accepted.perfect", _accepted, keep
    yield "called_full_neg.perfect", _called("full_neg"), keep


def _made_metrics(table: Table) -> Iterator[tuple[str, GuessStatistic, Keep]]:
    yield "rmse", _rmse, _is_judged
    yield "rmse_all_six", _rmse, _any
    yield "f2_tables", _f2_tables, _any
    yield "f2_tables_five", _f2_tables, _is_judged
    for defect in DEFECTS:
        if (table.defect == defect).any():
            yield f"f2_tables.{defect}", _f2_tables, _of(defect)
        if defect in _GRADED:
            for grade in ("hard", "medium", "easy"):
                if ((table.defect == defect) & (table.difficulty == grade)).any():
                    yield f"f2_tables.{defect}.{grade}", _f2_tables, _of(defect, grade)
    yield "f2_confusion", _f2_confusion, _any
    yield "f2_confusion_five", _f2_confusion, _is_judged
    for defect in DEFECTS:
        if (table.defect == defect).any():
            yield f"f2_confusion.{defect}", _f2_of(defect), _any
    yield from _perfect_metrics()
    yield "coverage_90", _coverage, _is_judged
    yield "coverage_90_all_six", _coverage, _any
    yield "width_90", _width, _is_judged
    yield "spearman", _spearman, _is_judged


def _real_metrics() -> Iterator[tuple[str, GuessStatistic, Keep]]:
    for suffix, keep in (("", _any), (".osvos", _of("osvos")), (".rvos", _of("rvos"))):
        yield f"rmse{suffix}", _rmse, keep
        yield f"spearman{suffix}", _spearman, keep
    yield "coverage_90", _coverage, _any
    yield "width_90", _width, _any


def _any(guess: Guess) -> bool:
    del guess
    return True


def _is_judged(guess: Guess) -> bool:
    return guess.true_defect in JUDGED


def _of(defect: str, grade: str = "") -> Keep:
    def keep(guess: Guess) -> bool:
        return guess.true_defect == defect and grade in {"", guess.difficulty}

    return keep


def _rmse(guesses: Sequence[Guess]) -> NumberOutcome:
    return rmse([guess.iou for guess in guesses], [guess.true_iou for guess in guesses])


def _spearman(guesses: Sequence[Guess]) -> NumberOutcome:
    return spearman([guess.iou for guess in guesses], [guess.true_iou for guess in guesses])


def _coverage(guesses: Sequence[Guess]) -> NumberOutcome:
    low = [guess.low for guess in guesses if guess.low is not None]
    high = [guess.high for guess in guesses if guess.high is not None]
    if len(low) < len(guesses):
        return Undefined("gives no interval")
    return coverage(low, high, [guess.true_iou for guess in guesses])


def _width(guesses: Sequence[Guess]) -> NumberOutcome:
    widths = [guess.high - guess.low for guess in guesses if guess.low is not None and guess.high is not None]
    return float(np.mean(widths)) if widths else Undefined("gives no interval")


def _called(defect: str) -> GuessStatistic:
    def statistic(guesses: Sequence[Guess]) -> NumberOutcome:
        if any(guess.defect is None for guess in guesses):
            return Undefined("names no defect")
        return float(np.mean([guess.defect == defect for guess in guesses]))

    return statistic


def _accepted(guesses: Sequence[Guess]) -> NumberOutcome:
    """Share that the default policy accepts as it is."""
    actions = []
    for guess in guesses:
        if guess.defect is None:
            return Undefined("names no defect")
        action, _ = action_of(DEFAULT, defect=cast("Defect", guess.defect), iou=guess.iou)
        actions.append(action == "accept")
    return float(np.mean(actions))


def _f2_of_nonsense(guesses: Sequence[Guess]) -> NumberOutcome:
    if any(guess.defect is None for guess in guesses):
        return Undefined("names no defect")
    return f2_tables([guess.defect for guess in guesses], ["full_neg"] * len(guesses), DEFECTS)


def _f2_tables(guesses: Sequence[Guess]) -> NumberOutcome:
    if any(guess.defect is None for guess in guesses):
        return Undefined("names no defect")
    return f2_tables([guess.defect for guess in guesses], [guess.true_defect for guess in guesses], DEFECTS)


def _f2_confusion(guesses: Sequence[Guess]) -> NumberOutcome:
    return _confused(guesses)


def _f2_of(defect: str) -> GuessStatistic:
    def statistic(guesses: Sequence[Guess]) -> NumberOutcome:
        whole = _confused(guesses)
        return whole if isinstance(whole, Undefined) else whole.parts.get(defect, Undefined("no items"))

    return statistic


def _confused(guesses: Sequence[Guess]) -> F2Macro | Undefined:
    if any(guess.defect is None for guess in guesses):
        return Undefined("names no defect")
    return f2_confusion([guess.defect for guess in guesses], [guess.true_defect for guess in guesses], DEFECTS)
