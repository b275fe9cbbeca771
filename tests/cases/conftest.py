"""Small INPUTs on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.media.frames import write_frame
from auscult.media.masks import write_labels, write_mask

SIZE = (24, 32)


def square(left_px: int = 4) -> np.ndarray:
    mask = np.zeros(SIZE, dtype=bool)
    mask[5:15, left_px : left_px + 9] = True
    return mask


class Maker:
    """Writes pictures and masks under one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def frame(self, name: str) -> Path:
        path = self.root / name
        write_frame(path, np.full((*SIZE, 3), 90, dtype=np.uint8))
        return path

    def mask(self, name: str, *, left_px: int = 4) -> Path:
        path = self.root / name
        write_mask(path, square(left_px))
        return path

    def palette(self, name: str, *indices: int) -> Path:
        labels = np.zeros(SIZE, dtype=np.uint8)
        for place, index in enumerate(indices):
            labels[4:10, 4 * place : 4 * place + 3] = index
        path = self.root / name
        write_labels(path, labels)
        return path

    def lines(self, *rows: Any, name: str = "items.jsonl") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows))
        return path

    def json(self, name: str, value: Any) -> Path:
        path = self.root / name
        path.write_text(json.dumps(value))
        return path


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path / "input")


@pytest.fixture
def item() -> Callable[..., dict[str, Any]]:
    def build(**changes: Any) -> dict[str, Any]:
        row = {"id": "a", "frame": "frames/a.jpg", "mask": "masks/a.png", **changes}
        return {key: value for key, value in row.items() if value is not ...}

    return build
