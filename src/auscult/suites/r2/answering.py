"""What became of the questions, and what models are shown, as files.

::

    inputs/<condition>/<case>/<frame>.png    as perturbed
    inputs/<condition>/<case>/query.json     {"text", "rate_hz", "frames", "digest"}; written last
    inputs/<condition>/<case>/first_mask.png the reference of `vos`
    inputs/<condition>/<case>/sound.wav      the reference of `avs`

Masks for ``predictions:DIR`` lie under the same names: ``DIR/<condition>/<case>/<frame>.png``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from auscult.cases.ids import counted
from auscult.errors import ErrorRecord, OutputError
from auscult.jobs.predict import Reader
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.media.paths import write_bytes
from auscult.media.wav import Sound, wav_bytes
from auscult.models.adapters.folder import FolderOfPredictions
from auscult.models.base import Request
from auscult.models.spec import ModelSpec
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.schema import error_to_json
from auscult.report.tables import Table
from auscult.suites.core.conditions import Condition
from auscult.suites.core.runner import SuiteRunner
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.perturbing import Prepared
from auscult.types import Frames
from auscult.work.pool import Task, run_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """One model's answers.

    Attributes:
        asked: Cases times conditions.
        answered: Of these.
        failed: Of these; the rest was not asked.
        frames: Frames of the answers.
        model_ms: Median over answers of the model's own time per frame.
        preparing_ms: Of reading and perturbing, per frame.
        overhead_ms: Of everything else beside the model's own time, per frame.
        peak_mb: The most memory of a worker with the model; None where the system does not tell.
        threshold: What probabilities were cut at; None for masks.
    """

    asked: int
    answered: int
    failed: int
    frames: int
    model_ms: float | None
    preparing_ms: float | None
    overhead_ms: float | None
    peak_mb: int | None
    threshold: float | None


def answers_of(
    rows: Iterable[Mapping[str, Any]],
    *,
    valid: Mapping[str, tuple[str, str, str]],
    models: Sequence[str],
    failed: Sequence[tuple[str, str, str]],
) -> dict[str, Answers]:
    """Count and time the stored predictions.

    Args:
        rows: The rows of ``predictions.jsonl``.
        valid: Key of a prediction to (model, condition, case).
        models: Names.
        failed: (model, condition, case) of what has no answer, or one that cannot be scored.
    """
    times: dict[str, list[tuple[float, float, float]]] = {model: [] for model in models}
    frames = dict.fromkeys(models, 0)
    cuts: dict[str, float | None] = dict.fromkeys(models)
    peaks: dict[str, int | None] = dict.fromkeys(models)
    seen: set[str] = set()
    for row in rows:
        key = str(row["key"])
        if key not in valid or key in seen:
            continue
        seen.add(key)
        model, count = valid[key][0], max(1, len(row["counts"]))
        times[model].append(tuple(1000 * float(row[name]) / count for name in ("seconds", "preparing_s", "overhead_s")))  # type: ignore[arg-type]
        frames[model] += count
        if row.get("peak_mb") is not None:
            peaks[model] = max(peaks[model] or 0, int(row["peak_mb"]))
        cuts[model] = cuts[model] if row["threshold"] is None else float(row["threshold"])
    stored = {valid[key] for key in seen}
    lost = {model: {place for place in failed if place[0] == model} for model in models}
    return {
        model: Answers(
            asked=len(times[model]) + len(lost[model] - stored),
            answered=len(times[model]),
            failed=len(lost[model]),
            frames=frames[model],
            model_ms=_median(times[model], 0),
            preparing_ms=_median(times[model], 1),
            overhead_ms=_median(times[model], 2),
            peak_mb=peaks[model],
            threshold=cuts[model],
        )
        for model in models
    }


def _median(times: Sequence[tuple[float, float, float]], place: int) -> float | None:
    return median(one[place] for one in times) if times else None


def answers_table(
    answers: Mapping[str, Answers], waiting: Mapping[tuple[str, str], Collection[str]] = MappingProxyType({})
) -> Table:
    """What became of the questions.

    Args:
        answers: Model to its answers.
        waiting: (model, condition) to the cases that are yet to be asked.
    """
    left = {model: sum(len(cases) for (name, _), cases in waiting.items() if name == model) for model in answers}
    more = any(left.values())
    rows = [
        (
            model,
            f"{one.asked:,}",
            f"{one.answered:,}",
            f"{one.failed:,}",
            *((f"{left[model]:,}",) if more else ()),
            f"{one.frames:,}",
            _ms(one.model_ms),
            _ms(one.preparing_ms),
            _ms(one.overhead_ms),
            "–" if one.peak_mb is None else f"{one.peak_mb:,}",
        )
        for model, one in answers.items()
    ]
    return Table(
        title="What became of the questions",
        header=("model", "asked", "answered", "failed", *(("not yet asked",) if more else ()), *_OF_TIME),
        rows=tuple(rows),
        note="A question is a case under a condition; a failed one is in no mean. Times are medians per frame on this "
        "machine: the model alone, reading and perturbing its input, and what adapter and storing add.",
    )


_OF_TIME: Final = ("frames", "model ms", "input ms", "ours ms", "peak MB")


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


R2Runner: TypeAlias = SuiteRunner[R2Case, Prepared]
"""A run of R2-Bench at work."""

FOLDER = "inputs"
QUERY = "query.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOrder:
    """A case under a condition, and where its files go.

    Attributes:
        prepared: The case under its condition.
        frames: A picture file for every frame.
        query: The file that says what is asked; it comes last.
        first_mask: Where the first mask goes, or None.
        sound: Where the sound goes, or None.
    """

    prepared: Prepared
    frames: tuple[Path, ...]
    query: Path
    first_mask: Path | None
    sound: Path | None


def order_of(run: RunFolder, prepared: Prepared) -> InputOrder | None:
    """Where the files of a case under a condition go; None where they are there."""
    case = prepared.case
    base = f"{FOLDER}/{prepared.condition.name}/{case.id}"
    query = run.claim(f"{base}/{QUERY}")
    if _is_of(query, case.digest):
        return None
    return InputOrder(
        prepared=prepared,
        frames=tuple(run.claim(f"{base}/{name}.png") for name in case.names),
        query=query,
        first_mask=run.claim(f"{base}/first_mask.png") if case.first else None,
        sound=run.claim(f"{base}/sound.wav") if case.sound is not None else None,
    )


def _is_of(query: Path, digest: str) -> bool:
    """Whether the files beside a query were written of the case as it is now."""
    try:
        told = json.loads(query.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("digest") == digest


class InputWriter:
    """Writes what models are shown, in one process."""

    def __init__(self) -> None:
        self._reader = Reader()

    def __call__(self, order: InputOrder) -> bool:
        """Write one case under one condition."""
        ask = order.prepared.ask(self._reader)
        for path, frame in zip(order.frames, ask.frames(), strict=True):
            write_frame(path, frame)
        if order.first_mask is not None and ask.first_mask is not None:
            write_mask(order.first_mask, ask.first_mask)
        if order.sound is not None and ask.sound is not None and ask.rate_hz is not None:
            samples = ask.sound if ask.sound.ndim == 2 else ask.sound[None]
            # Floating point: models are given these very samples.
            write_bytes(order.sound, wav_bytes(Sound(samples=samples, rate_hz=ask.rate_hz), "float32"))
        told = {
            "text": ask.query.text, "rate_hz": ask.rate_hz, "frames": list(ask.names),
            "digest": order.prepared.case.digest,
        }  # fmt: skip
        write_bytes(order.query, json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        return True


def write_inputs(bench: R2Runner, conditions: Sequence[Condition]) -> None:
    """Write what models are shown, as far as it is not written yet; what cannot be written fails no case."""
    orders: list[InputOrder] = []
    for case in bench.cases:
        try:
            found = [order_of(bench.run, bench.prepare(case, condition)) for condition in conditions]
        except OutputError as error:  # its id is no name of a folder
            bench.errors.append(error_to_json(case.id, ErrorRecord.of(error, "frames")))
            continue
        orders += [one for one in found if one is not None]
    bench.progress.stage("inputs", len(orders))
    tasks = [Task(f"{one.prepared.condition.name}/{one.prepared.case.id}", one) for one in orders]
    for result in run_tasks(InputWriter, tasks, workers=bench.how.workers, stage="frames"):
        if isinstance(result.outcome, Failed):
            bench.errors.append(error_to_json(None, result.outcome.error))
        bench.progress.step()


def unasked_remarks(
    models: Iterable[ModelSpec], cases: Sequence[R2Case], conditions: Sequence[Condition]
) -> Iterator[dict[str, Any]]:
    """Remark files of folders of predictions that no question asks for: misnamed ones look like missing ones."""
    for model in models:
        if model.kind != "predictions":
            continue
        asks = (
            Request(
                id=case.id, condition=one.name, names=case.names, size=case.size, query=case.query, frames=_no_frames
            )
            for case in cases
            for one in conditions
        )
        extra = FolderOfPredictions(Path(model.target)).unasked(asks)
        if extra:
            some = ", ".join(extra[:3]) + (", ..." if len(extra) > 3 else "")
            remark = ErrorRecord(
                stage="frames",
                error=f"{model.name}: {counted(len(extra), 'file')} that no question asks for: {some}",
                expected="<condition>/<case>/<frame>.png, as in cases.jsonl and requests.jsonl",
                path=model.target,
            )
            yield error_to_json(None, remark)


def _no_frames() -> Frames:
    raise AssertionError("a folder of predictions looks at no frame")
