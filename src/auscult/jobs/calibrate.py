"""``auscult act calibrate``: estimates and intervals of a record anew, from labels of some of its masks.

A person looked at 60 masks or more, and said good or bad of each, or gave true IoUs. Three things are fitted to that:

* the probability that the IoU is .8 or more, by logistic regression on the judge's own;
* the IoU, by a ridge regression that draws towards the judge's own estimate; a label counts as the mean IoU of good or
  of bad masks of real models;
* with true IoUs, the interval, by the errors of the fit on masks that it did not see (split conformal).

A mask with a label gets its estimate from a fit without its photograph (cross-fitting), so that the new record may be
compared with the labels. The fit to all labels stands in the manifest: what asks the judge again for the new record, as
``act repair`` does, estimates by it too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.act.policy import Policy, decide
from auscult.cases.ids import counted
from auscult.errors import UsageError
from auscult.jobs.act import judged_rows, out_folder
from auscult.jobs.estimates import LARGEST_SHIFT, clusters_in, shifts_of
from auscult.jobs.finish import finish_run
from auscult.jobs.labels import EXPECTED, read_labels
from auscult.jobs.options import CalibrateOptions
from auscult.record.codec import from_json, to_json
from auscult.record.digest import digest_file
from auscult.record.folder import open_run
from auscult.record.lines import read_lines
from auscult.record.manifest import argument, section
from auscult.record.reader import HEADER, Run
from auscult.record.schema import DECIMALS, Summary, verdict_to_json
from auscult.rng import generator
from auscult.score.judges.measures import GOOD
from auscult.score.stats import logistic, logistic_fit
from auscult.score.stats.probabilities import SHIFT, dealt_parts, mean_logit_error
from auscult.types import Doubles, Verdict

LEAST: Final = 60
"""Labels from which on estimates are fitted."""
MEAN_IOU: Final = {"good": 0.88, "bad": 0.58}
"""What a label counts as: about the mean of good and of bad masks of five models on the development part."""

COPIED: Final = ("masks.jsonl", "thumbnails.jsonl", "errors.jsonl", "truth.jsonl")
"""What is taken over from the record as it is."""
_PULL: Final = 1.0  # spread of the estimates that the judge's own slope, 1, counts for; 60 masks have about 2
_QUANTILE: Final = 0.9
_LEAST_REACH: Final = 0.02
_EDGE: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A record with new estimates."""

    out: Path
    summary: Summary
    labels: int  # labels that were used
    known: bool  # whether they are true IoUs
    rmse: Mapping[str, float]  # of the judge, of the new estimates, of a constant; empty without true IoUs
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What the labels brought."""
        if not self.rmse:
            return f"{self.labels} labels; how far off the estimates are can only be said with true IoUs"
        judge, now, constant = (self.rmse[name] for name in ("judge", "calibrated", "constant"))
        return (
            f"RMSE on the {self.labels} labelled masks, each by a fit without its photograph: {judge:.3f} before, "
            f"{now:.3f} now, {constant:.3f} for a constant"
        )

    def as_json(self) -> dict[str, Any]:
        """The summary of the new record, with what was fitted."""
        fitted = {"labels": self.labels, "true_iou": self.known, "rmse": dict(self.rmse), "notes": list(self.notes)}
        return {**self.summary.as_json(), "calibration": fitted, "out": str(self.out)}


def calibrate_record(options: CalibrateOptions) -> Calibrated:
    """Write a record with new estimates, intervals and actions; the old one stays as it is.

    Raises:
        UsageError: Too few labels, all of one kind, or of none of the record's masks.
        RecordError: The folder holds no record of an audit, or a damaged one.
    """
    out = out_folder(options.out, options.folder, ending="calibrated")
    run, rows = judged_rows(options.folder)
    verdicts = {verdict.id: verdict for verdict, _ in run.verdicts}
    estimated = [row for row in rows if verdicts[row["id"]].iou is not None]
    labels, notes = _labels_of(options.labels, [row["id"] for row in estimated], known=verdicts.keys())
    if repaired := sum("repair" in estimated[index] for index in labels.index):
        notes += (f"{counted(repaired, 'label')} of repaired masks: of the masks as they are now, not as they were",)
    columns = Estimates.of([verdicts[row["id"]] for row in estimated])
    fitted = fit(columns, labels, clusters=clusters_in(estimated, films=run.films))
    changed = {row["id"]: _changed(verdicts[row["id"]], fitted.columns, index) for index, row in enumerate(estimated)}
    calibrations = [*calibrations_of(run), fitted.calibration]
    policy = _policy(run)
    new = [(decide(changed.get(row["id"], verdicts[row["id"]]), policy), _refitted_row(row, fitted)) for row in rows]
    origin = {
        "record": str(options.folder),
        "labels": {
            "path": str(options.labels),
            "digest": digest_file(options.labels),
            "count": int(labels.index.size),
        },
        "rmse": dict(fitted.rmse),
        "fits": to_json(calibrations),
    }
    summary = _write(run, new, out=out, options=options, origin=origin)
    return Calibrated(
        out=out, summary=summary, labels=int(labels.index.size), known=labels.known, rmse=fitted.rmse, notes=notes
    )


def _refitted_row(row: Mapping[str, Any], fitted: FittedEstimates) -> dict[str, Any]:
    """A row whose probability of .8 was fitted to this very set: it is not adapted to it again, and off by less."""
    new = {key: value for key, value in row.items() if key != "prob_prior"}
    _, of_50 = shifts_of(row) or (SHIFT, SHIFT)
    return new | {"prob_shift": [round(fitted.shift, DECIMALS), of_50]}


def _policy(run: Run) -> Policy:
    """The policy that decided on the record."""
    return from_json(Policy, argument(run.manifest, "policy"), path=run.path / "manifest.json")


def _write(
    run: Run,
    rows: Sequence[tuple[Verdict, Mapping[str, Any]]],
    *,
    out: Path,
    options: CalibrateOptions,
    origin: Mapping[str, Any],
) -> Summary:
    """Write the new record, without clips: they are made of their frames' verdicts while these are judged."""
    inputs = {**section(run.manifest, "inputs"), "calibration": origin}
    manifest = {key: value for key, value in run.manifest.items() if key != "finished"} | {"inputs": inputs}
    with open_run(out, manifest, overwrite=options.overwrite) as new_run:
        for name in COPIED:
            new_run.remove(name)
            new_run.append_many(name, read_lines(run.path / name))
        new_run.remove(HEADER)
        if header := run.header():
            new_run.write_long_json(HEADER, header)
        new_run.write_lines("verdicts.jsonl", (verdict_to_json(verdict, **row) for verdict, row in rows))
        return finish_run(new_run, command=str(run.manifest["command"]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimates:
    """What a judge said of n masks, each (n,); a probability or end that it does not give is NaN."""

    iou: Doubles
    low: Doubles
    high: Doubles
    good: Doubles  # probability that the IoU is .8 or more

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> Estimates:
        """The columns of verdicts that have an IoU."""
        names = ("iou", "iou_low", "iou_high", "prob_iou_80")
        return cls(
            **{
                field: np.array([getattr(verdict, name) for verdict in verdicts], np.float64)  # None becomes NaN
                for field, name in zip(("iou", "low", "high", "good"), names, strict=True)
            }
        )

    def at(self, index: NDArray[np.int64]) -> Estimates:
        """Those of some of the masks."""
        return Estimates(iou=self.iou[index], low=self.low[index], high=self.high[index], good=self.good[index])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """What a person said of some of the masks."""

    index: NDArray[np.int64]  # which masks, (m,)
    iou: Doubles  # true IoU, or what the label counts as, (m,)
    known: bool  # whether ``iou`` are true ones


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCalibration:
    """What was fitted to labels: from what a judge says of a mask to new estimates.

    Attributes:
        line: Intercept and slope of the IoU.
        good: Coefficients of the logit of the probability that it is .8 or more, the constant first.
        reach: The interval's ends are so many times as far off as the judge's own; None without true IoUs: they move
            with the IoU.
    """

    line: tuple[float, float]
    good: tuple[float, float]
    reach: float | None = None

    @classmethod
    def of(cls, columns: Estimates, iou: Doubles) -> RecordCalibration:
        """Fitted to the IoU that labels say of n masks, (n,)."""
        good = logistic_fit(_logits(columns), (iou >= GOOD).tolist())
        return cls(line=_line(columns.iou, iou), good=(float(good[0]), float(good[1])))

    def apply(self, columns: Estimates) -> Estimates:
        """The new estimates."""
        intercept, slope = self.line
        iou = np.clip(intercept + slope * columns.iou, 0.0, 1.0)
        return self.around(replace(columns, iou=iou, good=logistic(_logits(columns), np.array(self.good))), columns)

    def around(self, new: Estimates, old: Estimates) -> Estimates:
        """New estimates with the interval that belongs to them."""
        if self.reach is None:
            moved = new.iou - old.iou
            return replace(new, low=np.clip(old.low + moved, 0, new.iou), high=np.clip(old.high + moved, new.iou, 1))
        below, above = _widths(old)
        low, high = np.clip(new.iou - self.reach * below, 0, 1), np.clip(new.iou + self.reach * above, 0, 1)
        return replace(new, low=low, high=high)

    def verdict(self, verdict: Verdict) -> Verdict:
        """A verdict with the new estimates; one without an IoU stays as it is."""
        return verdict if verdict.iou is None else _changed(verdict, self.apply(Estimates.of([verdict])), 0)


def calibrations_of(run: Run) -> list[RecordCalibration]:
    """What the estimates of a record went through, first to last; none where they are the judge's own.

    Raises:
        RecordError: They were fitted to labels, and the manifest does not say how.
    """
    origin = section(section(run.manifest, "inputs"), "calibration")
    return from_json(
        list[RecordCalibration],
        origin.get("fits") if origin else [],
        path=run.path / "manifest.json",
        hint="fit the record to its labels again with `auscult act calibrate`",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedEstimates:
    """New estimates, and how far off they and others are on the labelled masks."""

    columns: Estimates
    calibration: RecordCalibration  # of all labels
    shift: float  # by how much probabilities of .8 may still be off together, in logits
    rmse: Mapping[str, float]  # of ``judge``, ``calibrated`` and ``constant``; empty without true IoUs


def fit(columns: Estimates, labels: Labels, *, clusters: Sequence[Hashable]) -> FittedEstimates:
    """Fit estimates to labels.

    Args:
        columns: What the judge said of n masks.
        labels: What a person said of some of them.
        clusters: The photograph or clip of each mask, (n,).
    """
    indices = labels.index
    parts = dealt_parts([clusters[index] for index in indices], rng=generator(0, "calibrate", "parts"))
    if not parts.any():
        raise UsageError(
            "all labelled masks are of one photograph or clip",
            expected="labels of several",
            hint="label masks of others, too",
        )
    labelled = columns.at(indices)
    calibration = RecordCalibration.of(labelled, labels.iou)
    new = calibration.apply(columns)
    for part in range(int(parts.max()) + 1):
        held_out, rest = parts == part, np.flatnonzero(parts != part)
        without = RecordCalibration.of(labelled.at(rest), labels.iou[rest]).apply(columns.at(indices[held_out]))
        new.iou[indices[held_out]], new.good[indices[held_out]] = without.iou, without.good
    shift = _remaining_shift(columns, new.good, labels, clusters=clusters)
    if not labels.known:
        return FittedEstimates(columns=calibration.around(new, columns), calibration=calibration, shift=shift, rmse={})
    below, above = _widths(labelled)
    iou = new.iou[indices]
    off = np.maximum((iou - labels.iou) / below, (labels.iou - iou) / above)
    reach = max(0.0, float(np.quantile(off, min(1.0, _QUANTILE * (1 + 1 / len(off))), method="higher")))
    calibration = replace(calibration, reach=reach)
    constant = _without_part(labels.iou, parts)
    rmse = {
        name: float(np.sqrt(np.mean((values - labels.iou) ** 2)))
        for name, values in (("judge", labelled.iou), ("calibrated", iou), ("constant", constant))
    }
    columns = calibration.around(new, columns)
    return FittedEstimates(columns=columns, calibration=calibration, shift=shift, rmse=rmse)


def _remaining_shift(columns: Estimates, good: Doubles, labels: Labels, *, clusters: Sequence[Hashable]) -> float:
    """How far the new probabilities ``good`` may still be off together, in logits: the standard error of their mean."""
    off = (labels.iou >= GOOD) - good[labels.index]
    groups = [clusters[index] for index in labels.index]
    error = mean_logit_error(_logits(columns), good, off=off, at=labels.index, clusters=groups)
    return min(error, LARGEST_SHIFT)  # a clip of good masks and one of bad ones say nothing of others


def _widths(columns: Estimates) -> tuple[Doubles, Doubles]:
    """How far the interval's ends are off, (n,); without intervals all are alike, and only the errors count."""
    return np.fmax(columns.iou - columns.low, _LEAST_REACH), np.fmax(columns.high - columns.iou, _LEAST_REACH)


def _logits(columns: Estimates) -> Doubles:
    """The logit of the probability that each IoU is .8 or more, (n, 1); of the IoU where the judge gives none."""
    likely = np.clip(np.where(np.isnan(columns.good), columns.iou, columns.good), _EDGE, 1 - _EDGE)
    return np.asarray(np.log(likely / (1 - likely))[:, None])


def _line(estimates: Doubles, iou: Doubles) -> tuple[float, float]:
    """Intercept and slope of a line from n estimates to their IoU that is drawn towards a slope of 1."""
    off = estimates - estimates.mean()
    slope = (off @ iou + _PULL) / (off @ off + _PULL)
    return float(iou.mean() - slope * estimates.mean()), float(slope)


def _without_part(iou: Doubles, parts: NDArray[np.int64]) -> Doubles:
    """The constant that each label is compared with: the mean of the other parts', (m,)."""
    return np.array([iou[parts != part].mean() for part in parts])


def _changed(verdict: Verdict, columns: Estimates, index: int) -> Verdict:
    good, low, high = (float(column[index]) for column in (columns.good, columns.low, columns.high))
    return replace(
        verdict,
        iou=float(columns.iou[index]),
        iou_low=None if math.isnan(low) else low,
        iou_high=None if math.isnan(high) else high,
        prob_iou_80=good,
        prob_iou_50=None if verdict.prob_iou_50 is None else max(good, verdict.prob_iou_50),
    )


def _labels_of(path: Path, estimated: Sequence[str], *, known: Collection[str]) -> tuple[Labels, tuple[str, ...]]:
    """The labels of a table for the masks with an estimate, by their ids, and notes on what was left out."""
    position = {name: index for index, name in enumerate(estimated)}
    labels = read_labels(path, known=known)
    decided = {name: label for name, label in labels.items() if label.iou is not None or label.good is not None}
    used = {name: label for name, label in decided.items() if name in position}
    true_iou = any(label.iou is not None for label in used.values())
    if true_iou and any(label.iou is None for label in used.values()):
        raise UsageError("some rows have a true IoU, others a label alone", expected=EXPECTED, path=path)
    ious = [MEAN_IOU["good" if label.good else "bad"] if label.iou is None else label.iou for label in used.values()]
    if len(ious) < LEAST or len({value >= GOOD for value in ious}) < 2:
        few = f"there are labels of {len(ious)} of the {len(position)} masks with an estimate"
        one_sided = "all labels are on one side of an IoU of .8"
        raise UsageError(
            few if len(ious) < LEAST else one_sided,
            expected=f"labels of {LEAST} masks or more, good ones and bad ones",
            hint="label more masks, of high and low estimates: by the keys in report.html, or in a CSV file",
            path=path,
        )
    left_out = (
        (len(decided) - len(used), "label", "of masks without an estimate"),
        (len(labels) - len(decided), "mask", "marked as unsure"),
    )
    notes = tuple(f"{counted(count, noun)} {reason}" for count, noun, reason in left_out if count)
    index = np.array([position[name] for name in used])
    return Labels(index=index, iou=np.array(ious), known=true_iou), notes
