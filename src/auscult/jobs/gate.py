"""``auscult act gate``: accept masks of a record unseen, as many as a calibration set shows to be good enough.

Separated sounds are gated by their overall score, scaled to 0..1 for the search and back to 1..5 afterwards.

The calibration set is a record of an audit with truth, or a table: scores and true IoUs of other masks, or labels
(good, bad) of masks of the record itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from auscult.act.gate import SOUND_SCORES, Bound, Clusters, GateStep, KnownMask, Search, score_of, search
from auscult.cases.fields import JSON_LINES, named_rows
from auscult.cases.ids import check_id, natural_key, shown
from auscult.errors import InputError, Mismatch, RecordError, UsageError
from auscult.jobs.act import ids_text, judged_rows, list_files, out_folder, refuse_inside, require_ours, write_files
from auscult.jobs.finish import in_order
from auscult.jobs.labels import clusters_in, header_of, read_labels
from auscult.jobs.options import GateOptions
from auscult.jobs.sound_input import FOLDERS, SoundRecord, json_lines
from auscult.record.codec import Share, from_json, to_json
from auscult.record.digest import digest_file, digest_json
from auscult.record.manifest import argument, section
from auscult.record.reader import Run, Verdicts, read_audit
from auscult.report.charts.basic import Axes, Series, lines_drawing
from auscult.report.drawing import to_svg
from auscult.score.stats.few_clusters import cluster_upper_bound, fewest_clusters, fewest_trials, upper_bound
from auscult.types import Defect, Existence
from auscult.version import VERSION

LISTS: Final = ("accepted", "to-look-at")
FAILED: Final = "failed"
_IN_LIST: Final = ("ids.txt", "verdicts.csv", "coco.json", "items.jsonl", *FOLDERS)
_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "": (*LISTS, FAILED, "gate.json", "gate.svg"),
    **dict.fromkeys(LISTS, _IN_LIST),
    FAILED: ("ids.txt", "errors.jsonl"),
}
"""The files of the output folder and its subfolders."""
_SOURCES: Final = ("verdicts.jsonl", "truth.jsonl")
_POINTS: Final = 24


def require_free_folder(out: Path, records: Sequence[Path]) -> None:
    """Refuse an output folder inside a record, or with files of other programs."""
    for record in records:
        refuse_inside(out, record)
    for folder, names in _FOLDERS.items():
        require_ours(out / folder, names=names, made_by="gate")


def failed_files(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Files of the items that could not be judged, which are in neither list: names and contents."""
    ids = sorted({row["id"] for row in rows if isinstance(row.get("id"), str)}, key=natural_key)
    return {
        f"{FAILED}/ids.txt": ids_text(ids),
        f"{FAILED}/errors.jsonl": json_lines(rows),
    }


def origin(path: Path) -> dict[str, Any]:
    """Path and hashes of a calibration table, or of a record's verdicts and truth."""
    files = [path / name for name in _SOURCES if (path / name).is_file()] if path.is_dir() else [path]
    return {"path": str(path), "files": {file.name: digest_file(file) for file in files}}


def curve(found: Search, scores: Sequence[float | None], *, accept_error: float) -> str:
    """Draw the share of masks that each threshold accepts against the share of bad ones among them."""
    steps = _thinned(found)
    top = min(1.0, max(0.2, 4 * accept_error))
    bound = Series(name="highest credible share", points=_points(steps, scores, bound=True), style=0)
    counted = Series(name="share as counted", points=_points(steps, scores, bound=False), style=1, quiet=True)
    words = f"{accept_error:g} may be accepted"
    target = Series(name=words, points=((0.0, accept_error, words), (1.0, accept_error, words)), style=2, quiet=True)
    axes = Axes(
        x=(0.0, 1.0),
        y=(0.0, top),
        ticks=tuple((tick / 5, f"{tick / 5:g}") for tick in range(6)),
        across="share of masks accepted",
        up="share of bad ones among them",
    )
    title = "Bad masks among the accepted, by how many are accepted"
    return to_svg(lines_drawing((bound, counted, target), axes, title=title))


def _points(
    steps: Sequence[GateStep], scores: Sequence[float | None], *, bound: bool
) -> tuple[tuple[float, float, str], ...]:
    points = []
    for step in steps:
        share = sum(score is not None and score >= step.threshold for score in scores) / len(scores)
        value = step.bound if bound else step.tested_bad / step.tested
        points.append((share, value, f"from {step.threshold:g}: {share:.1%} accepted, {value:.1%} bad"))
    return tuple(points)


def _thinned(search: Search) -> list[GateStep]:
    """Evenly chosen steps and the chosen one, so that marks do not hide the line."""
    stride = max(1, -(-len(search.steps) // _POINTS))
    return [step for number, step in enumerate(search.steps) if number % stride == 0 or step is search.chosen]


# Two sets differ if their distributions are farther apart than this, and significantly so at a level of 1 %.
_FAR: Final = 0.15
_CHANCE: Final = 0.01


def reached(
    found: Search, options: GateOptions, *, accepted: int, total: int, labelled: bool = False
) -> tuple[str, ...]:
    """The result in sentences: what is accepted, on what basis, and where the search ended."""
    bad = "would be marked bad" if labelled else f"have a true IoU below {bad_limit(options):g}"
    counted = (
        "one mask each" if options.clusters == "one" else "all their masks, by a bound that allows for photographs"
    )
    ended = _ended(found, options)
    if found.chosen is None:
        unseen = " unseen" if labelled else ""
        return (f"No mask is accepted{unseen}: no threshold could be shown to be good enough.", *ended)
    step = found.chosen
    claim = f"at most {step.bound:.2%} of such masks {bad}"
    if options.clusters == "one":
        claim = f"of one such mask a photograph, drawn at random, at most {step.bound:.2%} {bad}"
    evidence = (
        f"Shown with {options.confidence:.4g} confidence: {claim}. In the "
        f"calibration set {step.tested_bad} of {step.tested} are, on {step.clusters} photographs or clips ({counted}); "
        f"{step.masks_bad} of all {step.masks}."
    )
    return (
        f"{accepted} of {total} masks are accepted, those with {options.by} from {step.threshold:g}.",
        evidence,
        *ended,
    )


_CROWDED: Final = 0.1


def _crowded(search: Search) -> Iterator[str]:
    """A warning if photographs with many accepted masks have a larger share of bad ones."""
    if search.chosen is not None and search.crowded_p <= _CROWDED:
        step = search.chosen
        yield (
            f"Crowded photographs are worse in the calibration set (p {search.crowded_p:.3f}): {step.masks_bad} of all "
            f"{step.masks} masks are bad, {step.tested_bad} of {step.tested} with one a photograph. The promise is on "
            "one mask a photograph, not on the share of all masks, which --clusters bound promises."
        )


def _ended(search: Search, options: GateOptions) -> tuple[str, ...]:
    tried = [step for step in search.steps if step.tried]
    if not tried or tried[-1].passed:
        return ("Every threshold passed, down to the lowest score of the calibration set.",)
    step: GateStep = tried[-1]
    reason = f"a bound of {step.bound:.2%}, over {options.accept_error:.4g}"
    if step.bound <= options.accept_error:
        reason = f"{step.masks_bad} of all {step.masks} bad, over {options.accept_error:.4g}, although the bound is not"
    return (f"The search ended at {step.threshold:g}: {step.tested_bad} of {step.tested} bad, {reason}.",)


def warnings_about(run: Run, calibration: GateCalibration) -> Iterator[str]:
    """Warnings about the record and the calibration set."""
    if not calibration.grouped:
        yield (
            "The calibration table does not name a photograph (column cluster) for every mask, so each such mask was "
            "taken for a photograph of its own. Where several are of one photograph, the bound is too low."
        )
    if not calibration.judges:
        yield "The calibration table does not name its judge (column judge), so it was not compared with the record's."
    version = version_of(run.manifest)
    if calibration.version and version and calibration.version != version:
        yield f"The calibration set was judged by auscult {calibration.version}, the record by {version}."
    if calibration.without_truth:
        yield (
            f"{calibration.without_truth} masks of the calibration set have no true IoU and were left out. If they are "
            "worse than the others, so is what was accepted."
        )
    yield from _shared(run, calibration)
    if not run.finished:
        yield "The audit of the record has not come to its end; masks that it still has to judge are in neither list."


def _shared(run: Run, calibration: GateCalibration) -> Iterator[str]:
    """A warning about masks in both sets: the same content, or for a table, which has no hashes, the same id."""
    promise = "the promise is on masks that are not"
    if calibration.digests:
        shared = sum(str(row.get("input")) in calibration.digests for _, row in run.verdicts)
        overlap = f"{shared} masks of the record are in the calibration set too; {promise}."
    else:
        ids = {mask.id for mask in calibration.masks}
        shared = sum(verdict.id in ids for verdict, _ in run.verdicts)
        overlap = f"{shared} masks of the record have an id that the calibration set has too. If it is they: {promise}."
    if shared:
        yield overlap


def unlike(rows: Sequence[Mapping[str, Any]], calibration: GateCalibration, *, by: str) -> Iterator[str]:
    """Warnings if the record's masks differ from the calibration set, by novelty or estimated score."""
    photographs = (
        len({mask.cluster for mask in calibration.masks}),
        len({str(row.get("frame") or row.get("mixture")) for row in rows}),
    )
    limit = max(_FAR, math.sqrt(-math.log(_CHANCE / 2) / 2 * (1 / photographs[0] + 1 / photographs[1])))
    if calibration.novelty:
        new = np.array([float(row.get("novelty") or 0.0) for row in rows])
        threshold, old_share, new_share = _above(np.array(calibration.novelty), new)
        if new_share - old_share > limit:
            yield (
                f"The record looks unlike the calibration set: {new_share:.0%} of its masks have a novelty "
                f"above {threshold:.2f}, {old_share:.0%} there. "
                "The promise is on masks like those of the calibration set."
            )
    else:
        yield "The calibration table has no novelty, so whether the record's masks are like it was not checked by that."
    old = [mask.score for mask in calibration.masks if mask.score is not None]
    new_scores = [score for row in rows if (score := score_of(row, by)) is not None]
    if old and new_scores:
        threshold, old_share, new_share = _above(np.array(old), np.array(new_scores), two_sided=True)
        if abs(new_share - old_share) > limit:
            yield (
                f"The judge says other things of the record than of the calibration set: {new_share:.0%} of its masks "
                f"have {by} above {threshold:.2f}, {old_share:.0%} there. Check that both are of the same kind."
            )


def _above(
    old: NDArray[np.float64], new: NDArray[np.float64], *, two_sided: bool = False
) -> tuple[float, float, float]:
    """The point of largest distance of two distributions, and the shares of old and new values above it (K-S test)."""
    values = np.unique(np.concatenate((old, new)))
    old_shares = 1 - np.searchsorted(np.sort(old), values, side="right") / old.size
    new_shares = 1 - np.searchsorted(np.sort(new), values, side="right") / new.size
    distances = np.abs(new_shares - old_shares) if two_sided else new_shares - old_shares
    index = int(np.argmax(distances))
    return float(values[index]), float(old_shares[index]), float(new_shares[index])


# With fewer, the bound may fail if rates differ over photographs; see ``score.stats.few_clusters``.
_LEAST_SURE = 0.7
_SURE_OF_MORE = 0.75
_HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What was accepted, and why."""

    options: GateOptions
    accepted: tuple[str, ...]  # ids in natural order
    to_look_at: tuple[str, ...]  # ids of all other judged masks, in natural order
    failed: tuple[Mapping[str, Any], ...]  # rows of ``errors.jsonl`` of what has no verdict
    found: Search
    calibration: GateCalibration
    origins: Mapping[str, Mapping[str, Any]]  # ``record`` and ``calibration``: path, and file to hash
    warnings: tuple[str, ...]  # on what may invalidate the bound, in sentences
    out: Path

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in words."""
        total = len(self.accepted) + len(self.to_look_at)
        left = f"{len(self.to_look_at)} of {total} masks are left to look at"
        left += f", and {len(self.failed)} that could not be judged." if self.failed else "."
        labelled = self.calibration.labelled
        lines = reached(self.found, self.options, accepted=len(self.accepted), total=total, labelled=labelled)
        lines = (*lines, *(["Marked masks are listed as they were marked."] if labelled else []), left)
        return tuple(worded(line, self.options) for line in lines)

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values; callers add ids and paths of the lists."""
        options = self.options
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
            "by": options.by,
            "accept_error": options.accept_error,
            "bad_below": bad_limit(options),
            "confidence": options.confidence,
            "clusters": options.clusters,
            "bound": None if chosen is None else chosen.bound,
            "tested": None if chosen is None else chosen.tested,
            "tested_bad": None if chosen is None else chosen.tested_bad,
            "calibration": {
                **self.origins["calibration"],
                "masks": len(self.calibration.masks),
                "photographs": len({mask.cluster for mask in self.calibration.masks}),
                "never_accepted": sum(mask.score is None for mask in self.calibration.masks),
                "without_truth": self.calibration.without_truth,
                "usable": self.found.usable,
                "needed": self.found.needed,
                "judges": sorted(self.calibration.judges),
            },
            "sentences": list(self.sentences),
            "warnings": list(self.warnings),
            "steps": to_json(self.found.steps),
        }


def gate_record(options: GateOptions) -> Gated:
    """Accept masks of a record and write both lists, without judging and without input files."""
    _check(options)
    out = out_folder(options.out, options.folder, ending="gate")
    if sound := options.by in SOUND_SCORES:
        record = SoundRecord.read(options.folder)
        run = replace(record.run, verdicts=cast("Verdicts", record.run.sounds))
        rows: Sequence[Mapping[str, Any]] = in_order(record.rows)
    else:
        run, rows = judged_rows(options.folder)
    calibration = read_calibration(options.calibration, by=options.by, bad_below=bad_limit(options), gated=run)
    _refuse_other(run, calibration, options)
    require_free_folder(out, [options.folder, *([options.calibration] if options.calibration.is_dir() else [])])
    outcome = search(
        calibration.masks,
        accept_error=options.accept_error,
        clusters=cast("Clusters", options.clusters),
        bound=bound_of(options),
    )
    _refuse_small(outcome, calibration, options)
    scores = [score_of(row, options.by) for row in rows]
    least = 2.0 if outcome.chosen is None else outcome.chosen.threshold
    marked = {mask.id: not mask.bad for mask in calibration.masks} if calibration.labelled else {}
    accepted = [
        marked.get(str(row["id"]), score is not None and score >= least)
        for row, score in zip(rows, scores, strict=True)
    ]
    if sound:  # 1..5 again
        outcome, scores = _of_scores(outcome), [None if score is None else 1 + 4 * score for score in scores]
    gated = Gated(
        options=options,
        accepted=tuple(str(row["id"]) for row, yes in zip(rows, accepted, strict=True) if yes),
        to_look_at=tuple(str(row["id"]) for row, yes in zip(rows, accepted, strict=True) if not yes),
        failed=run.failed,
        found=outcome,
        calibration=calibration,
        origins={"record": origin(options.folder), "calibration": origin(options.calibration)},
        warnings=tuple(
            worded(warning, options)
            for warning in (
                *_crowded(outcome),
                *warnings_about(run, calibration),
                *unlike(rows, calibration, by=options.by),
            )
        ),
        out=out,
    )
    files = dict[str, str]()
    for name, side in zip(LISTS, (True, False), strict=True):
        chosen = [row for row, yes in zip(rows, accepted, strict=True) if yes is side]
        files |= {f"{name}/{file}": text for file, text in list_files(chosen, run, out=out / name).items()}
    files |= failed_files(gated.failed)
    files["gate.svg"] = curve(outcome, scores, accept_error=options.accept_error)
    files["gate.json"] = json.dumps(gated.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_files(out, files)
    return gated


_OF_SOUND: Final = (
    *(("photographs or clips", "clusters"), ("Photograph", "Cluster"), ("photograph", "cluster")),
    *(("a mask", "an output"), ("mask", "output"), ("IoU", "overall score")),
)


def worded(sentence: str, options: GateOptions) -> str:
    """A sentence on masks, reworded if separated sounds are gated."""
    for word, other in _OF_SOUND if options.by in SOUND_SCORES else ():
        sentence = sentence.replace(word, other)
    return sentence


def bad_limit(options: GateOptions) -> float:
    """The true IoU, or true overall score of separated sounds, below which an item is bad."""
    default = 3.5 if options.by in SOUND_SCORES else 0.75
    return default if options.bad_below is None else options.bad_below


def _of_scores(search: Search) -> Search:
    """The search with thresholds of 1..5 instead of 0..1."""
    steps = {step: replace(step, threshold=1 + 4 * step.threshold) for step in search.steps}
    return replace(search, steps=tuple(steps.values()), chosen=search.chosen and steps[search.chosen])


def bound_of(options: GateOptions) -> Bound:
    """The bound that ``options.clusters`` names."""
    rate, confidence = options.accept_error, options.confidence
    if options.clusters == "one":
        return Bound(
            upper=lambda accepted, bad: upper_bound(int(bad.sum()), int(accepted.sum()), confidence=confidence),
            fewest=lambda _: fewest_trials(rate, confidence=confidence),
        )
    return Bound(
        upper=partial(cluster_upper_bound, confidence=confidence),
        fewest=partial(fewest_clusters, rate=rate, confidence=confidence),
    )


def _check(options: GateOptions) -> None:
    if not 0 < options.accept_error < 1:
        raise UsageError(
            f"--accept-error is {options.accept_error:g}", expected="a share between 0 and 1, such as 0.05"
        )
    least = _LEAST_SURE if options.accept_error <= _HALF else _SURE_OF_MORE
    if not least <= options.confidence < 1:
        raise UsageError(f"--confidence is {options.confidence:g}", expected=f"from {least:g} to below 1, such as 0.95")
    low, high, quantity = (1, 5, "a score") if options.by in SOUND_SCORES else (0, 1, "an IoU")
    if not low < bad_limit(options) <= high:
        expected = f"{quantity} above {low}, up to {high}, such as {bad_limit(replace(options, bad_below=None)):g}"
        raise UsageError(f"--bad-below is {bad_limit(options):g}", expected=expected)
    choices = (
        ("--by", options.by, ("iou", "iou_low", *SOUND_SCORES)),
        ("--clusters", options.clusters, ("one", "bound")),
    )
    for name, value, allowed in choices:
        if value not in allowed:
            raise UsageError(f"there is no {name} {value!r}", expected=f"one of {', '.join(allowed)}")
    if options.calibration.resolve() == options.folder.resolve():
        raise UsageError(
            "the record is its own calibration set",
            expected="masks with truth of other photographs",
            hint="where the truth is known, `auscult score DIR` shows it",
            path=options.calibration,
        )


def _refuse_other(run: Run, calibration: GateCalibration, options: GateOptions) -> None:
    """Refuse a calibration set of another judge, or one that was judged with other settings."""
    judges = {verdict.judge for verdict, _ in run.verdicts}
    if len(judges | calibration.judges) > 1:
        raise Mismatch(
            f"the calibration set was judged by {_names(calibration.judges)}, the record by {_names(judges)}",
            expected="one judge of one version for both",
            hint="run `auscult audit` on the calibration set with the judge of the record",
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
        hint="make the calibration set as the record was made",
        path=options.calibration,
    )


def _short(value: object) -> str:
    """A setting as short text; several file hashes become one."""
    if isinstance(value, Mapping):
        return f"{digest_json(value)[:8]} ({len(value)} files)"
    return "on" if value is True else str(value or "off")


def _names(judges: frozenset[str] | set[str]) -> str:
    return " and ".join(sorted(judges)) or "nobody"


def _refuse_small(search: Search, calibration: GateCalibration, options: GateOptions) -> None:
    if search.enough:
        return
    goal = f"for an error of {options.accept_error:g} at a confidence of {options.confidence:g}, even if none is bad"
    needed = search.needed or fewest_trials(options.accept_error, confidence=options.confidence)
    message = (
        f"the calibration set is too small: {search.usable} photographs or clips have a mask that could be accepted, "
        f"of {len({mask.cluster for mask in calibration.masks})}"
    )
    hint = "add photographs with truth, or ask for less: a larger --accept-error or a smaller --confidence"
    raise UsageError(
        worded(message, options),
        expected=f"at least {needed} {goal}",
        hint=worded(hint, options),
        path=options.calibration,
    )


MAX_BYTES: Final = 64 << 20
MAX_ROWS: Final = 1_000_000
_NUMBERS: Final = frozenset({"iou", "iou_low", "true_iou", "novelty"})
_EXPECTED: Final = (
    "columns id, iou, true_iou, and if known cluster, iou_low, defect, target_exists, novelty, judge; as CSV with a "
    "first row of names, or JSON lines, in UTF-8; IoUs from 0 to 1"
)
_DROP: Final = "correct or drop the row"


_Text: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00]*$", max_length=1_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownRow:
    """The columns of a calibration table that are read."""

    id: _Text
    iou: Share | None
    true_iou: Share | None
    iou_low: Share | None = None
    novelty: Share | None = None
    cluster: _Text | None = None
    defect: Defect | None = None
    target_exists: Existence | None = None
    judge: _Text | None = None


_COLUMNS: Final = tuple(column.name for column in fields(_KnownRow))


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCalibration:
    """Masks with known truth, and their judges."""

    masks: tuple[KnownMask, ...]  # those with a true IoU
    without_truth: int  # count of those without, which were left out
    novelty: tuple[float, ...] = ()  # novelty of ``masks``; empty if unknown
    judges: frozenset[str] = frozenset()  # names of the judges; empty if unknown
    # what else the estimates depend on, by name; None where the file does not say
    settings: Mapping[str, Any] | None = None
    digests: frozenset[str] = frozenset()  # hashes of the judged items; empty if unknown
    grouped: bool = True
    labelled: bool = False  # whether truth is a label of a person instead of an IoU
    version: str = ""  # of the auscult that judged; empty if unknown


def read_calibration(path: Path, *, by: str, bad_below: float, gated: Run) -> GateCalibration:
    """Read a calibration set; labels are of masks of the record that is ``gated``. For sounds it is a record."""
    if path.is_dir() or by in SOUND_SCORES:
        return _of_record(path, by=by, bad_below=bad_below)
    try:
        if path.suffix.lower() not in JSON_LINES and "label" in (names := header_of(path)) and "true_iou" not in names:
            return _of_labels(path, gated, by=by)
        return _of_table(path, by=by, bad_below=bad_below)
    except InputError as error:
        raise UsageError(
            f"--calibration: {error.message}",
            expected=error.expected if error.line is not None else _EXPECTED,
            hint=error.hint or (_DROP if error.line is not None else ""),
            path=error.path or path,
            line=error.line,
        ) from error


_SETTINGS: Final = ("identity", "identity_weights", "evidence", "judge_fitted", "judge_revision")


def settings_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the estimates of a record depend on besides its judge's name.

    These are the identity check and the hashes of its weights, another segmenter as evidence, the judge's own weights
    where they were fitted, whether it saw other masks of the frame, the labels by which ``act calibrate`` estimated
    anew, and whether ``act repair`` chose the masks by the estimates.
    """
    calibration = section(section(manifest, "inputs"), "calibration")
    return {
        **{name: argument(manifest, name) for name in _SETTINGS},
        "alone": bool(argument(manifest, "alone")),
        "calibration": section(calibration, "labels").get("digest"),
        "repair": manifest.get("command") == "act repair",
    }


def version_of(manifest: Mapping[str, Any]) -> str:
    """The version of auscult that made a record; may be empty."""
    versions = manifest.get("versions")
    return str(versions.get("auscult") or "") if isinstance(versions, Mapping) else ""


def _of_record(folder: Path, *, by: str, bad_below: float) -> GateCalibration:
    run = read_audit(folder, error_maps=False)
    if sound := by in SOUND_SCORES:
        truths, verdicts = SoundRecord(run=run).truths("overall"), [row for _, row in run.sounds]
    else:
        truths = {row["id"]: row["iou"] for row in run.truths() if row.get("iou") is not None}
        verdicts = [row for _, row in run.verdicts]
    with_truth = {row["id"]: row for row in verdicts if row["id"] in truths}
    if not with_truth:
        kind, score = ("separated sound", "overall score") if sound else ("mask", "IoU")
        raise RecordError(
            f"the record holds no {kind} with a true {score}",
            expected="a record of `auscult audit` on an INPUT with truth" + ("" if sound else ", or a table"),
            hint="give INPUT its truth and run the same `auscult audit` again: it compares without judging anew",
            path=folder,
        )
    clusters = {row["id"]: row.get("cluster") for row in (verdicts if sound else run.truths())}
    return GateCalibration(
        masks=tuple(
            KnownMask(
                id=name,
                score=score_of(row, by),
                bad=truths[name] < bad_below,
                cluster=str(clusters[name] or row.get("frame") or row.get("mixture") or name),
            )
            for name, row in with_truth.items()
        ),
        without_truth=len(verdicts) - len(with_truth),
        novelty=tuple(float(row.get("novelty") or 0.0) for row in with_truth.values()),
        judges=frozenset(str(row["judge"]) for row in with_truth.values()),
        settings=settings_of(run.manifest),
        digests=frozenset(str(row["input"]) for row in with_truth.values() if row.get("input")),
        version=version_of(run.manifest),
    )


def _of_labels(path: Path, run: Run, *, by: str) -> GateCalibration:
    rows = {verdict.id: row for verdict, row in run.verdicts}
    labels, clusters = read_labels(path, known=rows), clusters_in(run)
    bad_by_id = {name: label.word == "bad" for name, label in labels.items() if label.word in {"good", "bad"}}
    return GateCalibration(
        masks=tuple(
            KnownMask(id=name, score=score_of(rows[name], by), bad=bad, cluster=clusters[name])
            for name, bad in bad_by_id.items()
        ),
        without_truth=len(labels) - len(bad_by_id),
        novelty=tuple(float(rows[name].get("novelty") or 0.0) for name in bad_by_id),
        judges=frozenset(str(rows[name]["judge"]) for name in bad_by_id),
        settings=settings_of(run.manifest),
        digests=frozenset(str(rows[name]["input"]) for name in bad_by_id if rows[name].get("input")),
        labelled=True,
        version=version_of(run.manifest),
    )


def _of_table(path: Path, *, by: str, bad_below: float) -> GateCalibration:
    masks: list[KnownMask] = []
    novelty: list[float | None] = []
    judges: set[str] = set()
    lines: dict[str, int] = {}
    without_truth, grouped = 0, True
    needed = ("id", "iou", "true_iou")
    table = named_rows(path, needed=needed, once=_COLUMNS, max_bytes=MAX_BYTES, expected=_EXPECTED, hint=_DROP)
    for line, values in table:
        row = _row(values, path, line)
        name = row["id"]
        if name in lines:
            raise _wrong(f"the id {shown(name)} stands in line {lines[name]} already", path, line)
        if by not in row:
            raise _wrong(f"there is no {by!r}, which --by asks for", path, line)
        lines[name] = line
        judges |= {row["judge"]} if row.get("judge") else set()
        if row["true_iou"] is None:
            without_truth += 1
            continue
        grouped = grouped and bool(row.get("cluster"))
        # a row without cluster is a cluster of its own, whose name no named cluster can have
        cluster = f"cluster {row['cluster']}" if row.get("cluster") else f"line {line}"
        masks.append(KnownMask(id=name, score=score_of(row, by), bad=row["true_iou"] < bad_below, cluster=cluster))
        novelty.append(row.get("novelty"))
    novelties = tuple(value for value in novelty if value is not None)
    return GateCalibration(
        masks=tuple(masks),
        without_truth=without_truth,
        novelty=novelties if len(novelties) == len(masks) else (),
        judges=frozenset(judges),
        grouped=grouped,
    )


def _row(values: Mapping[str, Any], path: Path, line: int) -> dict[str, Any]:
    """The known columns as values: numbers, stripped texts, None for an empty cell."""
    if line > MAX_ROWS:
        raise _wrong("there are too many rows", path, line, expected=f"at most {MAX_ROWS:,} lines")
    row = {name: _read(name, values[name]) for name in _COLUMNS if name in values}
    parsed = from_json(_KnownRow, row, path=path, line=line, error=InputError, hint=_DROP)
    try:
        check_id(parsed.id)
    except InputError as error:
        raise InputError(error.message, expected=error.expected, hint=_DROP, path=path, line=line) from error
    return row


def _read(name: str, value: Any) -> Any:
    if name == "id" or not isinstance(value, str):
        return value
    text = value.strip()
    try:
        return float(text) if text and name in _NUMBERS else text or None
    except ValueError:  # the codec reports the error
        return text


def _wrong(message: str, path: Path, line: int, *, expected: str = _EXPECTED) -> InputError:
    return InputError(message, expected=expected, hint=_DROP, path=path, line=line)
