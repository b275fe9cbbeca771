"""auscult: audit and stress-test models that segment, separate or answer by reference.

The public names below are loaded on first use, so that importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from auscult.version import VERSION

if TYPE_CHECKING:
    from auscult import score, stress
    from auscult.agent.questions import ask
    from auscult.agent.running import run
    from auscult.agent.study import plan
    from auscult.jobs.python import MaskQuality, audit, audit_mask, audit_masks, judge_sound, load_judge, to_frame
    from auscult.types import Case, Evidence, Item, MaskRef, Prediction, Query, SoundItem, SoundVerdict, Truth, Verdict

__version__ = VERSION

_HOMES = {
    "ask": "auscult.agent.questions",
    "audit": "auscult.jobs.python",
    "audit_mask": "auscult.jobs.python",
    "audit_masks": "auscult.jobs.python",
    "judge_sound": "auscult.jobs.python",
    "load_judge": "auscult.jobs.python",
    "plan": "auscult.agent.study",
    "run": "auscult.agent.running",
    "to_frame": "auscult.jobs.python",
    "Case": "auscult.types",
    "Evidence": "auscult.types",
    "Item": "auscult.types",
    "MaskQuality": "auscult.jobs.python",
    "MaskRef": "auscult.types",
    "Prediction": "auscult.types",
    "Query": "auscult.types",
    "SoundItem": "auscult.types",
    "SoundVerdict": "auscult.types",
    "Truth": "auscult.types",
    "Verdict": "auscult.types",
}
_ROOMS = ("score", "stress")

__all__ = [
    "Case",
    "Evidence",
    "Item",
    "MaskQuality",
    "MaskRef",
    "Prediction",
    "Query",
    "SoundItem",
    "SoundVerdict",
    "Truth",
    "Verdict",
    "__version__",
    "ask",
    "audit",
    "audit_mask",
    "audit_masks",
    "judge_sound",
    "load_judge",
    "plan",
    "run",
    "score",
    "stress",
    "to_frame",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"auscult.{name}")
    raise AttributeError(f"module 'auscult' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
