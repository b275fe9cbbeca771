"""What became of the questions: how many were answered, and how long it took."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType
from typing import Any, Final

from auscult.report.tables import Table


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
