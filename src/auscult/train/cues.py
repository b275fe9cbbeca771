"""The recipe of `masks.cues.v1`: fit on some photographs and sequences, calibrate on others, measure on the rest.

One command makes everything that ships: coefficients, card, page::

    auscult train cues --data DIR --out DIR --seed 0

Every pair of source and defect weighs the same, so that neither the many COCO objects nor the frequent defects decide
alone; ``full_neg`` weighs a twentieth, because cues that cannot see identity would else call good masks wrong.
Masks on no object have a class of their own, and the greatest weight that calls no more perfect calibration masks of
photographs wrong than a fit without them. Real masks
have a known IoU but no named defect: they enter each defect's IoU regression with the probability that the fitted
classifier gives that defect. Drawn pictures, at a quarter of the weight, enter the classifier only: they keep it from
taking any clean outline for a good mask, and their IoUs are no photograph's.

A table of candidate masks has one cue vector and its truth per row; the numbers of a card are measured on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.act.policy import DEFAULT, action_of
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress, Silent
from auscult.judge.cards import Result, load_card, page, result_of
from auscult.judge.masks.cues import JUDGE
from auscult.judge.masks.cues.features import measure as cues_of
from auscult.judge.masks.cues.model import (
    ARBITRARY,
    CLASSES,
    JUDGED,
    Coefficients,
    basis,
    distance,
    estimate,
    from_json,
    load_coefficients,
    mixture,
    named,
    probabilities,
    sight_of,
    standardised,
    to_json,
)
from auscult.judge.masks.shared import BLIND
from auscult.media.paths import write_bytes
from auscult.outcome import Undefined
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.score.judges import (
    ClusterDraws,
    JudgeColumns,
    MaskColumns,
    Measured,
    Quantity,
    TruthColumns,
    joined_columns,
    measures,
    reals,
    texts,
    with_interval,
)
from auscult.train import material
from auscult.train.material import (
    CandidateSample,
    SplitName,
    coco,
    coco_nonsense,
    committed,
    davis,
    davis_nonsense,
    real,
)
from auscult.types import DEFECTS, Doubles

_NONSENSE_ROUNDS = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Table(MaskColumns):
    """Cue vectors of candidate masks and what is known of them; all of one length."""

    cues: NDArray[np.float64]  # float64 (n, cues)
    source: NDArray[np.str_]  # ``coco``, ``davis``, ``real`` or ``drawn``
    cluster: NDArray[np.str_]  # photograph, sequence or drawn picture
    defect: NDArray[np.str_]  # what was made; ``arbitrary`` for a mask on no object; a model's name for a real mask
    difficulty: NDArray[np.str_]  # ``hard``, ``medium``, ``easy`` or an empty text
    iou: NDArray[np.float64]  # exact IoU

    def __len__(self) -> int:
        return len(self.iou)


def tabled(samples: Iterable[CandidateSample]) -> Table:
    """Measure the cues of every sample that has any."""
    measured = ((cues_of(sample.frame, sample.mask, others=sample.others), sample) for sample in samples)
    rows = [(values.vector(), sample) for values, sample in measured if values is not None]
    usable = [sample for _, sample in rows]
    return Table(
        cues=np.array([vector for vector, _ in rows], dtype=np.float64),
        source=np.array([sample.source for sample in usable], dtype=np.str_),
        cluster=np.array([sample.cluster for sample in usable], dtype=np.str_),
        defect=np.array([sample.defect for sample in usable], dtype=np.str_),
        difficulty=np.array([sample.difficulty or "" for sample in usable], dtype=np.str_),
        iou=np.array([sample.iou for sample in usable], dtype=np.float64),
    )


def fitting_table(data: Path, names: dict[str, Sequence[str]], *, seed: int, rounds: int, progress: Progress) -> Table:
    """What coefficients or intervals are made from: photographs, sequences and the sequences' real masks."""
    progress.stage("cues for fitting", rounds * len(names["coco"]) + len(names["davis"]))
    tables = []
    for number in range(rounds):
        for name in names["coco"]:
            samples = coco(data, [name], seed=seed, alone=number % 2 == 0, key=f"#{number}")
            tables.append(tabled(samples))
            if number < _NONSENSE_ROUNDS:
                tables.append(tabled(coco_nonsense(data, [name], seed=seed, key=f"#{number}")))
            progress.step()
    for name in names["davis"]:
        tables.append(tabled(davis(data, [name], seed=seed, every=2)))
        tables.append(tabled(davis_nonsense(data, [name], seed=seed, every=2)))
        tables.append(tabled(real(data, [name], every=1)))
        progress.step()
    return joined_columns([table for table in tables if len(table)])


REPLICATES: Final = 300
_RMSE: Final = partial(measures.rmse, unparsed="skip")  # a mask that is not judged is in no mean
_GRADED: Final = ("cutout", "dilate", "erode", "merge")


def judged_rows(
    table: Table, coefficients: Coefficients, *, judge: str, constants: Mapping[str, float]
) -> dict[str, JudgeColumns]:
    """Verdicts of the judge and the baselines on a table's masks, in its order."""
    verdicts = [None if sight_of(vector) in BLIND else estimate(vector, coefficients) for vector in table.cues]
    rows = {
        judge: _row(
            reals(None if verdict is None else verdict.iou for verdict in verdicts),
            low=reals(None if verdict is None else verdict.iou_low for verdict in verdicts),
            high=reals(None if verdict is None else verdict.iou_high for verdict in verdicts),
            defect=texts([None if verdict is None else verdict.defect for verdict in verdicts]),
        ),
        "always-perfect": _row(np.ones(len(table)), defect=texts(["perfect"] * len(table))),
    }
    return rows | {row: _row(np.full(len(table), iou)) for row, iou in constants.items()}


def _row(
    iou: Doubles, *, low: Doubles | None = None, high: Doubles | None = None, defect: NDArray[Any] | None = None
) -> JudgeColumns:
    """A row with what the default policy accepts as it is; nothing where no defect is named."""
    accepted = None
    if defect is not None:
        pairs = zip(defect, iou, strict=True)
        actions = [action_of(DEFAULT, defect=label, iou=float(value))[0] for label, value in pairs]
        accepted = np.array([action == "accept" for action in actions], dtype=np.bool_)
    return JudgeColumns(iou=iou, low=low, high=high, defect=defect, accepted=accepted)


def results_of(name: str, table: Table, rows: Mapping[str, JudgeColumns], *, seed: int) -> Iterator[Result]:
    """Every metric of every row, from ``judged_rows``, on the set of a name; ``seed`` draws the intervals."""
    true = TruthColumns(iou=table.iou, cluster=table.cluster, defect=texts(table.defect.tolist()))
    for metric, quantity, keep in _metrics(table):
        part = true.where(keep)
        clusters = np.unique(part.cluster)
        for row, columns in rows.items():
            measured = quantity(columns.where(keep), part)
            outcome = measured.outcome if len(part) else Undefined("no items")
            rng = partial(generator, seed, "card", name, row, metric)
            draws = ClusterDraws.of(clusters, rng=rng, replicates=REPLICATES)
            yield result_of(
                (name, row, metric),
                with_interval(outcome, draws.values(measured), clusters=len(clusters), within=measured.within),
                n=len(part),
                clusters=len(clusters),
            )


def _metrics(table: Table) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    everything = np.ones(len(table), dtype=np.bool_)
    if (table.source == "real").all():
        return _real_metrics(table, everything)
    if (table.defect == ARBITRARY).all():
        return _nonsense_metrics(everything)
    if (table.defect == "perfect").all():
        return _perfect_metrics(everything)
    return _made_metrics(table, everything)


def _nonsense_metrics(everything: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    yield "called_perfect", partial(measures.called, defect="perfect"), everything
    yield "accepted", measures.accepted, everything
    yield "called_full_neg", partial(measures.called, defect="full_neg"), everything
    yield "f2_tables.full_neg", _f2_of_nonsense, everything
    yield "rmse", _RMSE, everything


def _perfect_metrics(perfect: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    yield "called_perfect.perfect", partial(measures.called, defect="perfect"), perfect
    yield "accepted.perfect", measures.accepted, perfect
    yield "called_full_neg.perfect", partial(measures.called, defect="full_neg"), perfect


def _made_metrics(table: Table, everything: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    judged = np.isin(table.defect, JUDGED)
    present = [defect for defect in DEFECTS if (table.defect == defect).any()]
    yield "rmse", _RMSE, judged
    yield "rmse_all_six", _RMSE, everything
    yield "f2_tables", measures.f2_tables, everything
    yield "f2_tables_five", measures.f2_tables, judged
    for defect in present:
        members = table.defect == defect
        yield f"f2_tables.{defect}", measures.f2_tables, members
        for grade in ("hard", "medium", "easy") if defect in _GRADED else ():
            graded = members & (table.difficulty == grade)
            if graded.any():
                yield f"f2_tables.{defect}.{grade}", measures.f2_tables, graded
    yield "f2_confusion", measures.f2_confusion, everything
    yield "f2_confusion_five", measures.f2_confusion, judged
    for defect in present:
        yield f"f2_confusion.{defect}", partial(measures.f2_of_defect, defect=defect), everything
    yield from _perfect_metrics(table.defect == "perfect")
    yield "coverage_90", measures.coverage, judged
    yield "coverage_90_all_six", measures.coverage, everything
    yield "width_90", measures.width, judged
    yield "spearman", measures.spearman, judged


def _real_metrics(table: Table, everything: NDArray[np.bool_]) -> Iterator[tuple[str, Quantity, NDArray[np.bool_]]]:
    for suffix, members in (("", everything), (".osvos", table.defect == "osvos"), (".rvos", table.defect == "rvos")):
        yield f"rmse{suffix}", _RMSE, members
        yield f"spearman{suffix}", measures.spearman, members
    yield "coverage_90", measures.coverage, everything
    yield "width_90", measures.width, everything


def _f2_of_nonsense(predicted: JudgeColumns, true: TruthColumns) -> Measured:
    """Masks on no object count as full_neg."""
    return measures.f2_tables(predicted, replace(true, defect=texts(["full_neg"] * len(true))))


KNOTS: Final = (0.2, 0.5, 0.8)
INVERSE_PENALTY: Final = 0.01
RIDGE_PENALTY: Final = 100.0
REAL_WEIGHT: Final = 0.3
FULL_NEG_WEIGHT: Final = 0.05
ARBITRARY_WEIGHT: Final = 0.015
DRAWN_WEIGHT: Final = 0.25
LEVEL: Final = 0.9
_CLASS_WEIGHTS: Final = {"full_neg": FULL_NEG_WEIGHT, ARBITRARY: ARBITRARY_WEIGHT}
_LEAST_CALIBRATION: Final = 60
_SHRINK: Final = 0.1


def fitted(table: Table, *, calibration: Table) -> Coefficients:
    """Fit all coefficients on a table of made and real masks, and on made masks of drawn pictures.

    ``calibration`` holds masks of other photographs and sequences, for the intervals and the scale of novelty.
    """
    typed = table.where(table.source != "real")
    real = table.where(table.source == "real")
    made = typed.where((typed.source != "drawn") & (typed.defect != ARBITRARY))
    start = _scales(made.cues)
    with_defects = replace(start, defects=_classifier(basis(typed.cues, start), typed.defect, _balanced(typed)))
    with_iou = replace(with_defects, iou=_ious(with_defects, made, real=real))
    with_intervals = replace(with_iou, reach=_reach(with_iou, calibration), prior=_prior(calibration))
    return _with_novelty(with_intervals, made.cues, calibration.cues[calibration.defect != ARBITRARY])


def _scales(values: Doubles) -> Coefficients:
    mean, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-3)
    count = values.shape[1]
    return Coefficients(
        mean=mean,
        spread=spread,
        knots=np.quantile((values - mean) / spread, KNOTS, axis=0),
        defects=np.zeros((len(CLASSES), 1)),
        iou=np.zeros((len(JUDGED), 1)),
        reach={"any": (0.0, 0.0)},
        prior=(0.0, 0.0, 1.0),
        precision=np.eye(count),
        distances=(0.0, 1.0, 2.0),
    )


def _balanced(table: Table) -> Doubles:
    weights = np.zeros(len(table))
    for source in np.unique(table.source):
        share = DRAWN_WEIGHT if source == "drawn" else 1.0
        for defect in CLASSES:
            members = (table.source == source) & (table.defect == defect)
            if members.any():
                weights[members] = share * _CLASS_WEIGHTS.get(defect, 1.0) / members.sum()
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def _classifier(based: Doubles, labels: NDArray[np.str_], weights: Doubles) -> Doubles:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=1000, tol=1e-5)
    model.fit(based[:, 1:], labels, sample_weight=weights)
    rows = {name: index for index, name in enumerate(model.classes_)}
    coefficients = np.zeros((len(CLASSES), based.shape[1]))
    for index, name in enumerate(CLASSES):
        if name in rows:
            coefficients[index, 0] = model.intercept_[rows[name]]
            coefficients[index, 1:] = model.coef_[rows[name]]
        else:
            coefficients[index, 0] = -50.0  # never seen, so never predicted
    return coefficients


def _ious(coefficients: Coefficients, made: Table, *, real: Table) -> Doubles:
    from sklearn.linear_model import Ridge

    weights = _balanced(made)
    judged = np.isin(made.defect, JUDGED)
    based_made, based_real = basis(made.cues, coefficients), basis(real.cues, coefficients)
    probs_made = probabilities(based_made, coefficients)
    probs_real = probabilities(based_real, coefficients)
    scale = REAL_WEIGHT * judged.sum() / max(len(real), 1)
    based = np.vstack([based_made[judged], based_real])[:, 1:]
    truth = np.concatenate([made.iou[judged], real.iou])
    regressions = np.zeros((len(JUDGED), based.shape[1] + 1))
    for index, defect in enumerate(JUDGED):
        # half by truth, half by what the classifier predicts: at use its mistakes are mixed in too
        share = 0.5 * (made.defect[judged] == defect) + 0.5 * probs_made[judged, index]
        model = Ridge(alpha=RIDGE_PENALTY)
        model.fit(based, truth, sample_weight=np.concatenate([weights[judged] * share, scale * probs_real[:, index]]))
        regressions[index, 0], regressions[index, 1:] = model.intercept_, model.coef_
    return regressions


def _reach(coefficients: Coefficients, calibration: Table) -> dict[str, tuple[float, float]]:
    """Conformal residual quantiles by predicted defect, in units of the mixture's spread."""
    on_objects = _on_objects(calibration)
    based = basis(on_objects.cues, coefficients)
    probs = probabilities(based, coefficients)
    mean, spread = mixture(based, probs, coefficients)
    residual = (on_objects.iou - mean) / spread
    predicted = np.array(DEFECTS)[named(probs).argmax(axis=1)]
    quantiles = {"any": _quantiles(residual)}
    for defect in JUDGED:
        members = predicted == defect
        if members.sum() >= _LEAST_CALIBRATION:
            quantiles[defect] = _quantiles(residual[members])
    return quantiles


def _on_objects(table: Table) -> Table:
    return table.where(~np.isin(table.defect, ("full_neg", ARBITRARY)))


def _prior(calibration: Table) -> tuple[float, float, float]:
    iou = _on_objects(calibration).iou
    tail = (1 - LEVEL) / 2
    return float(iou.mean()), float(np.quantile(iou, tail)), float(np.quantile(iou, 1 - tail))


def _quantiles(residual: Doubles) -> tuple[float, float]:
    tail = (1 - LEVEL) / 2
    upper = min(1.0, (1 - tail) * (len(residual) + 1) / len(residual))
    below, above = np.quantile(-residual, upper), np.quantile(residual, upper)
    return max(0.0, float(below)), max(0.0, float(above))


def _with_novelty(coefficients: Coefficients, values: Doubles, calibration: Doubles) -> Coefficients:
    scaled = standardised(values, coefficients)
    covariance = np.cov(scaled, rowvar=False)
    covariance = (1 - _SHRINK) * covariance + _SHRINK * np.eye(len(covariance))
    result = replace(coefficients, precision=np.asarray(np.linalg.inv(covariance), dtype=np.float64))
    median, high = np.quantile(distance(calibration, result), (0.5, 0.95))
    return replace(result, distances=(float(median), float(high), float(2 * high - median)))


_FIT_ROUNDS: Final = 4
_CALIBRATION_ROUNDS: Final = 2
_SHIPPED_SEED: Final = 0
_DRAWN_FOR_FITTING: Final = range(120)
_DRAWN_FOR_TEST: Final = range(1000, 1040)


def cues(options: TrainOptions, progress: Progress) -> tuple[Path, ...]:
    """``fit`` as a recipe."""
    return fit(options.material(), out=options.out, seed=options.seed, progress=progress)


def fit(data: Path, *, out: Path, seed: int = _SHIPPED_SEED, progress: Progress | None = None) -> tuple[Path, ...]:
    """Fit the coefficients, measure them, and write both."""
    listener = progress or Silent()
    train = _part(data, "train", seed=seed, rounds=_FIT_ROUNDS, progress=listener)
    train = joined_columns([train, _drawn_pictures(_DRAWN_FOR_FITTING, seed=seed, progress=listener)])
    calibration = _part(data, "calibration", seed=seed, rounds=_CALIBRATION_ROUNDS, progress=listener)
    # through JSON, so that what is measured is exactly what ships
    coefficients = from_json(json.loads(json.dumps(to_json(fitted(train, calibration=calibration)))))
    constants = constant_ious(train)
    results = measure(data, coefficients=coefficients, constants=constants, seed=seed, progress=listener)
    results += _leave_one_out(data, joined_columns([train, calibration]), seed=seed, progress=listener)
    # the texts of the card are copied from the shipped card
    card = replace(load_card(JUDGE.name), seed=seed, constants=constants, results=tuple(results))
    files = {
        "coefficients.json": dump(to_json(coefficients), indent=1) + b"\n",
        f"{JUDGE.name}.json": dump(card.as_json(), indent=1) + b"\n",
        f"{JUDGE.name}.md": page(card).encode(),
    }
    for name, content in files.items():
        write_bytes(out / name, content)
    return tuple(out / name for name in files)


def measure(
    data: Path,
    *,
    constants: Mapping[str, Mapping[str, float]],
    coefficients: Coefficients | None = None,
    seed: int = _SHIPPED_SEED,
    sets: Collection[str] = (),
    progress: Progress | None = None,
) -> list[Result]:
    """Measure coefficients, by default the shipped ones, on what was left out of the fit.

    ``constants`` is the IoU of the constant rows, by source and row; the card keeps them. ``seed`` is that of the made
    defects and of the intervals. ``sets`` names the sets to measure, empty for all.
    """
    listener = progress or Silent()
    measured = load_coefficients() if coefficients is None else coefficients
    listener.stage("measuring", len(sets) or 8)
    results: list[Result] = []
    for name, table in measured_tables(data, seed=seed, sets=sets):
        baselines = constants[str(table.source[0])]
        rows = judged_rows(table, measured, judge=JUDGE.name, constants=baselines)
        results += results_of(name, table, rows, seed=seed)
        listener.step()
    return results


def measured_tables(data: Path, *, seed: int, sets: Collection[str] = ()) -> Iterator[tuple[str, Table]]:
    """The measured sets by their names on the card, each made on demand; ``sets`` names a few, empty for all."""
    photographs, sequences = committed()["coco"]["test"], committed()["davis"]["test"]
    makers: dict[str, Callable[[], Iterable[material.CandidateSample]]] = {
        "coco_test": lambda: material.coco(data, photographs, seed=seed, alone=True),
        "coco_test_with_others": lambda: material.coco(data, photographs, seed=seed, alone=False),
        "davis_test": lambda: material.davis(data, sequences, seed=seed),
        "davis_test_real": lambda: material.real(data, sequences),
        "coco_test_arbitrary": lambda: material.coco_nonsense(data, photographs, seed=seed),
        "davis_test_arbitrary": lambda: material.davis_nonsense(data, sequences, seed=seed),
        "coco_test_small": lambda: material.coco_small(data, photographs),
        "drawn_test": lambda: material.pictures(_DRAWN_FOR_TEST, seed=seed, alone=True),
    }
    for name in sets or makers:
        yield name, tabled(makers[name]())


def constant_ious(train: Table) -> dict[str, dict[str, float]]:
    """Mean IoU of the fitting part's masks, by source and row, rounded as on the card.

    ``constant-IoU`` leaves full_neg out, as the metrics over five defects do; ``constant-IoU-six`` does not.
    """
    ious: dict[str, dict[str, float]] = {}
    for source in np.unique(train.source):
        part = train.where((train.source == source) & (train.defect != ARBITRARY))
        negative = part.defect == "full_neg"
        ious[str(source)] = {"constant-IoU": round(float(part.iou[~negative].mean()), 4)}
        if negative.any():
            ious[str(source)]["constant-IoU-six"] = round(float(part.iou.mean()), 4)
    return ious


def _part(data: Path, part: SplitName, *, seed: int, rounds: int, progress: Progress) -> Table:
    names: dict[str, Sequence[str]] = {source: committed()[source][part] for source in ("coco", "davis")}
    return fitting_table(data, names, seed=seed, rounds=rounds, progress=progress)


def _drawn_pictures(numbers: range, *, seed: int, progress: Progress) -> Table:
    progress.stage("drawn pictures", len(numbers))
    tables = []
    for number in numbers:
        tables.append(tabled(material.pictures([number], seed=seed, alone=number % 2 == 0)))
        progress.step()
    return joined_columns([table for table in tables if len(table)])


def _leave_one_out(data: Path, known: Table, *, seed: int, progress: Progress) -> list[Result]:
    """Real masks of every sequence, judged by coefficients that have not seen that sequence."""
    names: dict[str, Sequence[str]] = {"coco": (), "davis": committed()["davis"]["test"]}
    table = joined_columns([known, fitting_table(data, names, seed=seed, rounds=0, progress=progress)])
    calibration = [*committed()["davis"]["calibration"], *committed()["coco"]["calibration"]]
    sequences = np.unique(table.cluster[table.source == "real"])
    progress.stage("leaving one sequence out", len(sequences))
    rows: dict[str, list[JudgeColumns]] = {}
    parts = []
    for sequence in sequences:
        others = table.where(table.cluster != sequence)
        held_out = np.isin(others.cluster, calibration)
        coefficients = fitted(others.where(~held_out), calibration=others.where(held_out))
        part = table.where((table.cluster == sequence) & (table.source == "real"))
        constants = constant_ious(others)["real"]
        for row, columns in judged_rows(part, coefficients, judge=JUDGE.name, constants=constants).items():
            rows.setdefault(row, []).append(columns)
        parts.append(part)
        progress.step()
    joined = {row: joined_columns(columns) for row, columns in rows.items()}
    return list(results_of("davis_real_leave_one_out", joined_columns(parts), joined, seed=seed))
