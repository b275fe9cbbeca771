"""``auscult act gate``: accept masks of a record unseen, as many as a calibration set shows to be good enough."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from auscult.act.gate import Bound, Clusters, Counts, Search, score_of, search
from auscult.errors import Mismatch, RecordError, UsageError
from auscult.jobs.gate_calibration import Calibration, read_calibration, settings_of
from auscult.jobs.gate_files import curve, failed_files, list_files, origin, refuse_place, write_files
from auscult.jobs.gate_words import reached, told, unlike
from auscult.jobs.rows import column, in_order
from auscult.record.digest import digest_json
from auscult.record.reader import Run, read_run
from auscult.score.stats.betting import cluster_upper_bound, fewest_clusters, fewest_trials, upper_bound
from auscult.version import VERSION

_BY = ("iou", "iou_low")
_CLUSTERS = ("one", "bound")
# Below, the bound need not hold where the rates of the photographs differ; see ``score.stats.binomial``.
_LEAST_SURE = 0.7
_SURE_OF_MORE = 0.75
_HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """What may be accepted, and what shows it.

    Attributes:
        folder: A record of ``auscult audit``.
        calibration: A record of ``auscult audit`` on masks with truth, or a table; see ``jobs.gate_calibration``.
        accept_error: The share of bad masks that may be among the accepted.
        bad_below: A mask is bad if its true IoU is below.
        confidence: How sure that is to be.
        by: What the threshold is put on: ``iou`` or ``iou_low`` of the verdict.
        clusters: ``one`` counts one mask a photograph, ``bound`` all masks by a bound that allows for photographs.
        out: Where to write; None for ``DIR-gate`` beside the record.
    """

    folder: Path
    calibration: Path
    accept_error: float = 0.05
    bad_below: float = 0.75
    confidence: float = 0.95
    by: str = "iou"
    clusters: str = "one"
    out: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What was accepted, and why.

    Attributes:
        options: What was asked for.
        accepted: Ids in natural order.
        to_look_at: Ids of all other judged masks, in natural order.
        failed: Rows of ``errors.jsonl`` of what has no verdict.
        found: The thresholds that were tried.
        calibration: What they rest on.
        origins: ``record`` and ``calibration``: path, and file to hash.
        warnings: What may make the promise untrue, in sentences.
        out: Where the lists are.
    """

    options: GateOptions
    accepted: tuple[str, ...]
    to_look_at: tuple[str, ...]
    failed: tuple[Mapping[str, Any], ...]
    found: Search
    calibration: Calibration
    origins: Mapping[str, Mapping[str, Any]]
    warnings: tuple[str, ...]
    out: Path

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in words."""
        total = len(self.accepted) + len(self.to_look_at)
        left = f"{len(self.to_look_at)} of {total} masks are left to look at"
        left += f", and {len(self.failed)} that could not be judged." if self.failed else "."
        return (*reached(self.found, self.options, accepted=len(self.accepted), total=total), left)

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values; ids and where the lists are, are added by whoever prints them."""
        asked = self.options
        chosen = self.found.chosen
        return {
            "command": "act gate",
            "version": VERSION,
            "record": dict(self.origins["record"]),
            "n": len(self.accepted) + len(self.to_look_at),
            "accepted": len(self.accepted),
            "to_look_at": len(self.to_look_at),
            "failed": len(self.failed),
            "threshold": None if chosen is None else chosen.threshold,
            "by": asked.by,
            "accept_error": asked.accept_error,
            "bad_below": asked.bad_below,
            "confidence": asked.confidence,
            "clusters": asked.clusters,
            "bound": None if chosen is None else chosen.bound,
            "tested": None if chosen is None else chosen.tested,
            "tested_bad": None if chosen is None else chosen.tested_bad,
            "calibration": {
                **self.origins["calibration"],
                "masks": len(self.calibration.masks),
                "photographs": len({mask.cluster for mask in self.calibration.masks}),
                "never_accepted": sum(mask.score is None for mask in self.calibration.masks),
                "without_truth": self.calibration.untold,
                "usable": self.found.usable,
                "needed": self.found.needed,
                "judges": sorted(self.calibration.judges),
            },
            "sentences": list(self.sentences),
            "warnings": list(self.warnings),
            "steps": [step.as_json() for step in self.found.steps],
        }


def gate_record(options: GateOptions) -> Gated:
    """Accept masks of a record and write both lists out; nothing is judged, no input file is opened.

    Raises:
        UsageError: An option or the calibration set cannot be used, or the set is too small.
        Mismatch: The calibration set was judged by another judge, or otherwise.
        RecordError: A folder holds no record with verdicts, or the output folder holds other files.
        OutputError: The output folder cannot be written.
    """
    _check(options)
    out = options.out or _beside(options.folder)
    run = read_run(options.folder)
    rows = in_order(row for _, row in run.verdicts)
    if not rows:
        raise RecordError("the record holds no verdict", path=options.folder, expected="a record of `auscult audit`")
    calibration = read_calibration(options.calibration, by=options.by, bad_below=options.bad_below)
    _refuse_other(run, calibration, options)
    refuse_place(out, [options.folder, *([options.calibration] if options.calibration.is_dir() else [])])
    found = search(
        calibration.masks,
        accept_error=options.accept_error,
        clusters=cast("Clusters", options.clusters),
        bound=bound_of(options),
    )
    _refuse_small(found, calibration, options)
    scores = [score_of(row, options.by) for row in rows]
    least = 2.0 if found.chosen is None else found.chosen.threshold
    taken = [score is not None and score >= least for score in scores]
    gated = Gated(
        options=options,
        accepted=tuple(str(row["id"]) for row, yes in zip(rows, taken, strict=True) if yes),
        to_look_at=tuple(str(row["id"]) for row, yes in zip(rows, taken, strict=True) if not yes),
        failed=run.failed,
        found=found,
        calibration=calibration,
        origins={"record": origin(options.folder), "calibration": origin(options.calibration)},
        warnings=(*told(run, calibration), *unlike(rows, calibration, by=options.by)),
        out=out,
    )
    segmentations = column(run.lines("masks.jsonl"), "segmentation", path=options.folder / "masks.jsonl")
    files = {
        f"{name}/{file}": text
        for name, side in (("accepted", True), ("to-look-at", False))
        for file, text in list_files(
            [r for r, yes in zip(rows, taken, strict=True) if yes is side], segmentations
        ).items()
    }
    files |= failed_files(gated.failed)
    files["gate.svg"] = curve(found, scores, accept_error=options.accept_error)
    files["gate.json"] = json.dumps(gated.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_files(out, files)
    return gated


def bound_of(options: GateOptions) -> Bound:
    """The bound that ``options.clusters`` names."""
    confidence = options.confidence
    if options.clusters == "one":
        return Bound(
            upper=partial(_binomial, confidence=confidence),
            fewest=lambda _: fewest_trials(options.accept_error, confidence=confidence),
        )
    return Bound(
        upper=partial(cluster_upper_bound, aim=options.accept_error, confidence=confidence),
        fewest=partial(fewest_clusters, rate=options.accept_error, confidence=confidence),
    )


def _binomial(accepted: Counts, bad: Counts, *, confidence: float) -> float:
    return upper_bound(int(bad.sum()), int(accepted.sum()), confidence=confidence)


def _check(options: GateOptions) -> None:
    if not 0 < options.accept_error < 1:
        raise UsageError(
            f"--accept-error is {options.accept_error:g}", expected="a share between 0 and 1, such as 0.05"
        )
    least = _LEAST_SURE if options.accept_error <= _HALF else _SURE_OF_MORE
    if not least <= options.confidence < 1:
        raise UsageError(f"--confidence is {options.confidence:g}", expected=f"from {least:g} to below 1, such as 0.95")
    if not 0 < options.bad_below <= 1:
        raise UsageError(f"--bad-below is {options.bad_below:g}", expected="an IoU above 0, up to 1, such as 0.75")
    for name, value, allowed in (("--by", options.by, _BY), ("--clusters", options.clusters, _CLUSTERS)):
        if value not in allowed:
            raise UsageError(f"there is no {name} {value!r}", expected=f"one of {', '.join(allowed)}")
    if options.calibration.resolve() == options.folder.resolve():
        raise UsageError(
            "the record is its own calibration set",
            expected="masks with truth of other photographs",
            hint="where the truth is known, `auscult score DIR` shows it",
            path=options.calibration,
        )


def _refuse_other(run: Run, calibration: Calibration, options: GateOptions) -> None:
    """Insist that the estimates of both sets mean the same."""
    judges = {verdict.judge for verdict, _ in run.verdicts}
    if len(judges | calibration.judges) > 1:
        raise Mismatch(
            f"the calibration set was judged by {_names(calibration.judges)}, the record by {_names(judges)}",
            expected="one judge of one version for both",
            hint="run `auscult audit` on the calibration masks with the judge of the record",
            path=options.calibration,
        )
    settings = settings_of(run.manifest)
    if calibration.settings is None or calibration.settings == settings:
        return
    differing = [
        f"{name.replace('_', ' ')} was {_short(calibration.settings[name])} there and is {_short(settings[name])} here"
        for name in settings
        if settings[name] != calibration.settings[name]
    ]
    raise Mismatch(
        f"the calibration set was judged otherwise: {'; '.join(differing)}",
        expected="the same options of `auscult audit` for both",
        hint="audit the calibration masks again as the record was made",
        path=options.calibration,
    )


def _short(value: object) -> str:
    """A setting in a few words; hashes of several files as one."""
    if isinstance(value, Mapping):
        return f"{digest_json(value)[:8]} ({len(value)} files)"
    return str(value or "off")


def _names(judges: frozenset[str] | set[str]) -> str:
    return " and ".join(sorted(judges)) or "nobody"


def _refuse_small(found: Search, calibration: Calibration, options: GateOptions) -> None:
    if found.enough:
        return
    asked = f"for an error of {options.accept_error:g} at a confidence of {options.confidence:g}, even if none is bad"
    needed = found.needed or fewest_trials(options.accept_error, confidence=options.confidence)
    raise UsageError(
        f"the calibration set is too small: {found.usable} photographs (or clips) have a mask that could be accepted, "
        f"of {len({mask.cluster for mask in calibration.masks})}",
        expected=f"at least {needed} {asked}",
        hint="add photographs with truth, or ask for less: a larger --accept-error or a smaller --confidence",
        path=options.calibration,
    )


def _beside(folder: Path) -> Path:
    named = folder if folder.name not in {"", ".."} else folder.resolve()
    return named.with_name(f"{named.name}-gate")
