"""Records that the tests of the report lay out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from auscult.record.reader import Run
from auscult.types import Evidence, Verdict


def make_verdict(name: str, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "id": name,
        "iou": 0.5,
        "iou_low": 0.4,
        "iou_high": 0.6,
        "defect": "erode",
        "defect_probs": {"erode": 0.7, "perfect": 0.3},
        "evidence": Evidence(shape=True, boundary=True),
        "rationale": "The mask ends inside the edge on the left.",
        "judge": "masks.cues.v1",
        "action": "reject",
    }
    return Verdict(**{**fields, **changes})


def make_run(
    verdicts: Sequence[Verdict] = (),
    *,
    rows: Mapping[str, Mapping[str, Any]] | None = None,
    errors: Sequence[Mapping[str, Any]] = (),
    scores: Sequence[Mapping[str, Any]] = (),
    summary: Mapping[str, Any] | None = None,
) -> Run:
    manifest = {
        "command": "audit",
        "arguments": {"given": {"source": "photos/candidates"}, "defaulted": {"policy": {"name": "default"}}},
        "versions": {"auscult": "0.1.0"},
        "seeds": {},
        "started": "2026-01-02T03:04:05+00:00",
    }
    return Run(
        path=Path("out"),
        manifest=manifest,
        verdicts=tuple((verdict, (rows or {}).get(verdict.id, {})) for verdict in verdicts),
        errors=tuple(errors),
        scores=tuple(scores),
        clips=(),
        summary=summary,
    )


@pytest.fixture(scope="session")
def verdict() -> Callable[..., Verdict]:
    return make_verdict


@pytest.fixture(scope="session")
def a_run() -> Callable[..., Run]:
    return make_run
