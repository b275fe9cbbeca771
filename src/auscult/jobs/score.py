"""``auscult score PRED TRUTH``: two folders of masks by J, F and J&F; records are scored in ``jobs.finish``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.cases.ids import counted, natural_key, shown
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import ScoreOptions, arguments_of
from auscult.jobs.runner import SAME_RESULT, Progress, Silent, finish_tables
from auscult.media.frames import MASK_SUFFIXES
from auscult.media.masks import read_labels
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.record.folder import open_run
from auscult.record.manifest import build
from auscult.record.schema import Summary, error_to_json, metric_row, score_to_json
from auscult.report.tables import Table
from auscult.score.masks import aggregate, j_and_f
from auscult.score.masks.video import DavisProtocol, JAndF
from auscult.work.pool import Task, default_workers, run_tasks

PROTOCOLS: tuple[DavisProtocol, ...] = ("davis2016", "davis2017")
MAX_CLIP_PIXELS = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipPairs:
    """The frames of one clip: pairs of predicted and true mask files, in the order of time."""

    name: str
    pairs: tuple[tuple[Path, Path], ...]


ScoresByName = dict[str, "JAndF | Undefined | Failed"]


def score_folders(
    options: ScoreOptions, progress: Progress | None = None
) -> tuple[Summary, list[Table], list[dict[str, Any]]]:
    """Score predicted against true masks, clip by clip; the last value is the rows of ``errors.jsonl``."""
    if options.truth is None:
        raise UsageError("there is no folder of true masks to score against", expected="two folders of masks")
    if options.protocol not in PROTOCOLS:
        raise UsageError(f"there is no protocol {options.protocol!r}", expected=f"one of: {', '.join(PROTOCOLS)}")
    protocol: DavisProtocol = options.protocol
    clips, without_truth = _clips(options.prediction, options.truth)
    listener = progress or Silent()
    listener.stage("scoring", len(clips))
    results: ScoresByName = {}
    workers = default_workers() if options.workers is None else options.workers
    tasks = (Task(clip.name, clip) for clip in clips)
    for result in run_tasks(partial(_Scorer, protocol, labels=options.labels), tasks, workers=workers, stage="score"):
        results[result.key] = result.outcome
        listener.step()
    ordered = _signed_alike({clip.name: results[clip.name] for clip in clips})
    summary, tables = _summary_and_tables(ordered, protocol, without_truth)
    errors = [error_to_json(name, result.error) for name, result in ordered.items() if isinstance(result, Failed)]
    rows = (
        score_to_json(name, metric, outcome) for name, result in ordered.items() for metric, outcome in _metrics(result)
    )
    write_scores(options, rows, errors, summary=summary, tables={"j_and_f": tables[0]}, inputs={"clips": len(ordered)})
    return summary, tables, errors


def write_scores(
    options: ScoreOptions,
    rows: Iterable[Mapping[str, Any]],
    errors: Sequence[Mapping[str, Any]],
    *,
    summary: Summary,
    tables: Mapping[str, Table],
    inputs: Mapping[str, int],
) -> None:
    """Write the record of two folders, if requested; rows of an earlier run are replaced."""
    if options.out is None:
        return
    manifest = build("score", given=arguments_of(options), defaulted={}, seeds={}, inputs=inputs)
    with open_run(options.out, manifest, overwrite=options.overwrite, ignore=SAME_RESULT) as run:
        for file, lines in (("scores.jsonl", rows), ("errors.jsonl", errors)):
            run.remove(file)
            run.append_many(file, lines)
        finish_tables(run, summary, tables)


def require_folder(path: Path, *, expected: str) -> None:
    """Refuse (``UsageError``) a path that is not there, or is a file."""
    if not path.is_dir():
        message = "is not a folder" if path.exists() else "there is no such file or folder"
        raise UsageError(message, path=path, expected=expected)


def _clips(prediction: Path, truth: Path) -> tuple[list[ClipPairs], list[Path]]:
    """The clips of the truth, and predictions without a true mask."""
    for folder in (prediction, truth):
        require_folder(folder, expected="a folder of masks, or of one folder of masks per clip")
    folders = [truth, *sorted(path for path in truth.iterdir() if path.is_dir())]
    root_name = truth.name if all(folder.name != truth.name for folder in folders[1:]) else f"{truth.name} (itself)"
    clips = []
    for folder in folders:
        files = _mask_files(folder)
        if files:
            predicted = prediction / folder.relative_to(truth)
            pairs = tuple((_partner(predicted, path), path) for path in files)
            clips.append(ClipPairs(name=folder.name if folder != truth else root_name, pairs=pairs))
    if not clips:
        expected = f"files of {', '.join(sorted(MASK_SUFFIXES))}"
        hint = "separated sounds are scored with --protocol si_sdr, or another of `auscult list score`"
        raise NothingToDo("the truth holds no mask", path=truth, expected=expected, hint=hint)
    used = {path for clip in clips for path, _ in clip.pairs}
    present = [prediction, *sorted(path for path in prediction.iterdir() if path.is_dir())]
    return clips, [path for folder in present for path in _mask_files(folder) if path not in used]


def _mask_files(folder: Path) -> list[Path]:
    return sorted(
        (path for path in folder.iterdir() if path.is_file() and path.suffix.lower() in MASK_SUFFIXES),
        key=lambda path: natural_key(path.name),
    )


def _partner(folder: Path, truth: Path) -> Path:
    same = folder / truth.name
    if same.exists():
        return same
    others = [folder / f"{truth.stem}{suffix}" for suffix in sorted(MASK_SUFFIXES)]
    return next((path for path in others if path.exists()), same)


class _Scorer:
    def __init__(self, protocol: DavisProtocol, *, labels: bool) -> None:
        self._protocol = protocol
        self._labels = labels

    def __call__(self, clip: ClipPairs) -> JAndF | Undefined:
        predicted, true = ([pair[which] for pair in clip.pairs] for which in (0, 1))
        prediction, reading = _stack(clip.name, self._present(predicted), labels=self._labels)
        truth, true_reading = _stack(clip.name, true, labels=self._labels)
        result = j_and_f(prediction, truth, protocol=self._protocol)
        if isinstance(result, Undefined):
            return result
        read = (("prediction", reading), ("truth", true_reading))
        return replace(result, signature=Signature((*read, *result.signature.fields)))

    def _present(self, files: Sequence[Path]) -> list[Path | None]:
        """The predictions, None for a missing one in a frame that the protocol leaves out."""
        given = {0, len(files) - 1} if self._protocol == "davis2017" and len(files) > 2 else set()
        missing = [number for number, path in enumerate(files) if not path.exists()]
        absent = [files[number] for number in missing if number not in given]
        if absent:
            raise InputError(
                f"the file does not exist; missing are {len(absent)} of the clip's {len(files)} predictions",
                expected="a prediction of each frame that is scored",
                hint="where the model found nothing, write an empty mask",
                path=absent[0],
            )
        return [None if number in missing else path for number, path in enumerate(files)]


def _stack(name: str, files: Sequence[Path | None], *, labels: bool) -> tuple[NDArray[np.uint8], str]:
    """The label maps of a clip, (T, H, W), empty for a missing file, and how the files were read."""
    present = [path for path in files if path is not None]
    opening = read_labels(present[0], labels=labels)
    first = opening.labels
    if first.size * len(files) > MAX_CLIP_PIXELS:
        raise InputError(
            f"clip {name} has {len(files)} frames of {first.shape[0]} x {first.shape[1]}",
            expected=f"at most {MAX_CLIP_PIXELS} pixels in a clip",
            hint="split it",
            path=present[0].parent,
        )
    frames = np.zeros((len(files), *first.shape), np.uint8)
    readings = set()
    for index, path in enumerate(files):
        if path is None:
            continue
        loaded = opening if path is present[0] else read_labels(path, labels=labels)
        if loaded.labels.shape != first.shape:
            raise InputError(
                f"the mask has height and width {loaded.labels.shape}, the clip's first one {first.shape}",
                expected="one size within a clip",
                hint="export all masks of a clip at one size",
                path=path,
            )
        frames[index] = loaded.labels
        readings.add(loaded.reading)
    return frames, "+".join(sorted(readings))


def _signed_alike(results: ScoresByName) -> ScoresByName:
    """Give all clips the same signature, with all ways of reading files, since their mean is one number."""
    scored = [result for result in results.values() if isinstance(result, Scored)]
    ways = {
        side: "+".join(sorted({way for result in scored for way in result.signature.as_dict()[side].split("+")}))
        for side in ("prediction", "truth")
    }
    return {
        name: replace(result, signature=Signature(tuple((k, ways.get(k, v)) for k, v in result.signature.fields)))
        if isinstance(result, Scored)
        else result
        for name, result in results.items()
    }


def _summary_and_tables(
    results: ScoresByName, protocol: DavisProtocol, without_truth: Sequence[Path]
) -> tuple[Summary, list[Table]]:
    overall = aggregate(list(results.values()))
    counts = [sum(isinstance(result, kind) for result in results.values()) for kind in (Scored, Undefined, Failed)]
    metrics = {}
    if isinstance(overall, Scored):
        for name, value in (("J", overall.j), ("F", overall.f), ("J&F", overall.j_and_f)):
            metrics[name] = metric_row(Scored(value, overall.signature), n=counts[0])
    summary = Summary(
        command="score", n=len(results), ok=counts[0], undefined=counts[1], failed=counts[2], metrics=metrics
    )
    rows = tuple((name, *_cells(result)) for name, result in results.items())
    if isinstance(overall, Scored):
        rows += (("all", str(overall.objects), *_percent(overall.j, overall.f, overall.j_and_f), ""),)
    signature = overall.signature if isinstance(overall, Scored) else protocol
    note = f"percent; {signature}; failed and undefined clips are in no mean"
    if without_truth:
        first = "/".join(without_truth[0].parts[-2:])
        note += f"; {counted(len(without_truth), 'prediction')} without a true mask, such as {shown(first)}, not scored"
    return summary, [
        Table(
            title=f"J&F, {counts[0]} scored, {counts[1]} undefined, {counts[2]} failed",
            header=("clip", "objects", "J", "F", "J&F", "what is wrong"),
            rows=rows,
            note=note,
        )
    ]


def _cells(result: JAndF | Undefined | Failed) -> tuple[str, ...]:
    if isinstance(result, Failed):
        prefix = f"{result.error.path}: " if result.error.path else ""
        return "", "", "", "", f"failed: {prefix}{result.error.error}"
    if isinstance(result, Undefined):
        return "", "", "", "", f"undefined: {result.reason}"
    return str(len(result.objects)), *_percent(result.j, result.f, result.j_and_f), ""


def _percent(*values: float) -> tuple[str, ...]:
    return tuple(f"{100 * value:.2f}" for value in values)


def _metrics(result: JAndF | Undefined | Failed) -> list[tuple[str, Any]]:
    if isinstance(result, Undefined | Failed):
        return [(metric, result) for metric in ("J", "F", "J&F")]
    values = (("J", result.j), ("F", result.f), ("J&F", result.j_and_f))
    return [(metric, Scored(value, result.signature)) for metric, value in values]
