"""Controlled test material: everything that can go wrong, made on purpose, with the truth of what was done.

``masks`` makes candidate masks with a known defect and an exact IoU; ``vision``, ``sound``, ``sentences`` and
``timing`` perturb what a model is given, and ``recipe`` puts them together. Rooms are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auscult.stress import masks, recipe, sentences, sound, timing, vision

__all__ = ["masks", "recipe", "sentences", "sound", "timing", "vision"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"auscult.stress.{name}")
    raise AttributeError(f"module 'auscult.stress' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
