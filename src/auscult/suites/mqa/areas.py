"""Size of the objects, where the benchmark does not tell it: the true mask's share of its frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from auscult.errors import AuscultError
from auscult.media.masks import read_mask
from auscult.suites.mqa.rows import Candidate
from auscult.types import Item, MaskRef


def with_areas(candidates: Sequence[Candidate], items: Mapping[str, Item]) -> list[Candidate]:
    """Candidates with their object's share of the frame, told by the benchmark or measured on the true mask.

    Each true mask is opened once. The area stays unknown where there is none, or where it cannot be read, which the
    judges' records say.

    Args:
        candidates: What is judged, after judging: true masks are opened here.
        items: Item id to item.
    """
    known: dict[tuple[str, int | None], float | None] = {}
    found = []
    for one in candidates:
        truth = items[one.id].truth
        if one.area is None and truth is not None and truth.mask is not None:
            key = str(truth.mask.path or one.id), truth.mask.index
            if key not in known:
                known[key] = _share(truth.mask)
            found.append(replace(one, area=known[key]))
        else:
            found.append(one)
    return found


def _share(ref: MaskRef) -> float | None:
    try:
        return float(read_mask(ref).mask.mean())
    except AuscultError:
        return None
