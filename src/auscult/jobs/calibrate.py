"""``auscult act calibrate``: estimates and intervals of a record anew, from labels of some of its masks.

A person looked at 60 masks or more, and said good or bad of each, or gave true IoUs. Three things are fitted to that:

* the probability that the IoU is .8 or more, by logistic regression on the judge's own;
* the IoU, by a ridge regression that draws towards the judge's own estimate; a label counts as the mean IoU of good or
  of bad masks of real models;
* with true IoUs, the interval, by the errors of the fit on masks that it did not see (split conformal).

A mask with a label gets its estimate from a fit without its photograph (cross-fitting), so that the new record may be
compared with the labels.
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
from auscult.errors import RecordError, UsageError
from auscult.jobs.act import ANOTHER_OUT, beside, judged_rows
from auscult.jobs.estimates import clusters_in
from auscult.jobs.finish import finish_run
from auscult.jobs.labels import EXPECTED, read_labels
from auscult.jobs.options import CalibrateOptions
from auscult.record.codec import from_json
from auscult.record.digest import digest_file
from auscult.record.folder import open_run
from auscult.record.lines import read_lines
from auscult.record.manifest import argument, section
from auscult.record.reader import HEADER, Run
from auscult.record.schema import Summary, verdict_to_json
from auscult.rng import generator
from auscult.score.judges.measures import GOOD
from auscult.score.stats import logistic, logistic_fit
from auscult.score.stats.probabilities import dealt_parts
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
    run, rows = judged_rows(options.folder)
    verdicts = {verdict.id: verdict for verdict, _ in run.verdicts}
    estimated = [row for row in rows if verdicts[row["id"]].iou is not None]
    labels, notes = _labels_of(options.labels, [row["id"] for row in estimated], known=verdicts.keys())
    columns = Estimates.of([verdicts[row["id"]] for row in estimated])
    fitted = fit(columns, labels, clusters=clusters_in(estimated, films=run.films))
    changed = {row["id"]: _changed(verdicts[row["id"]], fitted.columns, index) for index, row in enumerate(estimated)}
    policy = _policy(run)
    new = [(decide(changed.get(row["id"], verdicts[row["id"]]), policy), row) for row in rows]
    out = options.out or beside(options.folder, "calibrated")
    summary = _write(run, new, out=out, options=options, fitted=fitted)
    return Calibrated(
        out=out, summary=summary, labels=int(labels.index.size), known=labels.known, rmse=fitted.rmse, notes=notes
    )


def _policy(run: Run) -> Policy:
    """The policy that decided on the record."""
    return from_json(Policy, argument(run.manifest, "policy"), path=run.path / "manifest.json")


def _write(
    run: Run,
    rows: Sequence[tuple[Verdict, Mapping[str, Any]]],
    *,
    out: Path,
    options: CalibrateOptions,
    fitted: FittedEstimates,
) -> Summary:
    """Write the new record, without clips: they are made of their frames' verdicts while these are judged."""
    if out.resolve().is_relative_to(run.path.resolve()):
        raise RecordError("the folder lies in the record, which is not changed", hint=ANOTHER_OUT, path=out)
    origin = {
        "record": str(options.folder),
        "labels": {"path": str(options.labels), "digest": digest_file(options.labels)},
        "rmse": dict(fitted.rmse),
    }
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """What a person said of some of the masks."""

    index: NDArray[np.int64]  # which masks, (m,)
    iou: Doubles  # true IoU, or what the label counts as, (m,)
    known: bool  # whether ``iou`` are true ones

    @property
    def good(self) -> NDArray[np.bool_]:
        """Whether each is of IoU .8 or more, (m,)."""
        return self.iou >= GOOD


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedEstimates:
    """New estimates, and how far off they and others are on the labelled masks."""

    columns: Estimates
    rmse: Mapping[str, float]  # of ``judge``, ``calibrated`` and ``constant``; empty without true IoUs


def fit(columns: Estimates, labels: Labels, *, clusters: Sequence[Hashable]) -> FittedEstimates:
    """Fit estimates to labels.

    Args:
        columns: What the judge said of n masks.
        labels: What a person said of some of them.
        clusters: The photograph or clip of each mask, (n,).
    """
    indices, x, logits = labels.index, columns.iou, _logits(columns)
    parts = dealt_parts([clusters[index] for index in indices], rng=generator(0, "calibrate", "parts"))
    if not parts.any():
        raise UsageError(
            "all labelled masks are of one photograph or clip",
            expected="labels of several",
            hint="label masks of others, too",
        )
    iou, good = _line(x, x[indices], labels.iou), _chances(logits, logits[indices], labels.good)
    for part in range(int(parts.max()) + 1):
        held_out, rest = indices[parts == part], parts != part
        iou[held_out] = _line(x[held_out], x[indices][rest], labels.iou[rest])
        good[held_out] = _chances(logits[held_out], logits[indices][rest], labels.good[rest])
    if not labels.known:
        moved = iou - columns.iou
        ends = np.clip(columns.low + moved, 0, iou), np.clip(columns.high + moved, iou, 1)
        return FittedEstimates(columns=Estimates(iou=iou, low=ends[0], high=ends[1], good=good), rmse={})
    below, above = (  # of a judge without intervals all are alike, and only the errors count
        np.fmax(columns.iou - columns.low, _LEAST_REACH),
        np.fmax(columns.high - columns.iou, _LEAST_REACH),
    )
    off = np.maximum((iou[indices] - labels.iou) / below[indices], (labels.iou - iou[indices]) / above[indices])
    reach = max(0.0, float(np.quantile(off, min(1.0, _QUANTILE * (1 + 1 / len(off))), method="higher")))
    low, high = np.clip(iou - reach * below, 0, 1), np.clip(iou + reach * above, 0, 1)
    constant = _without_part(labels.iou, parts)
    rmse = {
        name: float(np.sqrt(np.mean((values - labels.iou) ** 2)))
        for name, values in (("judge", columns.iou[indices]), ("calibrated", iou[indices]), ("constant", constant))
    }
    return FittedEstimates(columns=Estimates(iou=iou, low=low, high=high, good=good), rmse=rmse)


def _logits(columns: Estimates) -> Doubles:
    """The logit of the probability that each IoU is .8 or more, (n, 1); of the IoU where the judge gives none."""
    likely = np.clip(np.where(np.isnan(columns.good), columns.iou, columns.good), _EDGE, 1 - _EDGE)
    return np.asarray(np.log(likely / (1 - likely))[:, None])


def _line(estimates: Doubles, labelled: Doubles, iou: Doubles) -> Doubles:
    """The IoU for each of n estimates, (n,), by a line through the labelled ones that is drawn towards a slope of 1."""
    centre = labelled.mean()
    slope = ((labelled - centre) @ iou + _PULL) / ((labelled - centre) @ (labelled - centre) + _PULL)
    return np.asarray(np.clip(iou.mean() + slope * (estimates - centre), 0.0, 1.0))


def _chances(logits: Doubles, labelled: Doubles, good: NDArray[np.bool_]) -> Doubles:
    """The probability that each mask is good, (n,)."""
    return logistic(logits, logistic_fit(labelled, good.tolist()))


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
