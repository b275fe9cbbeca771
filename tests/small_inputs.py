"""Small INPUTs for the tests of whole commands: a few painted frames and masks, written without auscult's own code."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from PIL import Image

HEIGHT, WIDTH = 48, 64
SIZE = (HEIGHT, WIDTH)

Bools = NDArray[np.bool_]


def ellipse(centre: tuple[float, float], radii: tuple[float, float], size: tuple[int, int] = SIZE) -> Bools:
    """A filled ellipse; centre and half axes are (row, column)."""
    rows, columns = np.ogrid[: size[0], : size[1]]
    inside: Bools = ((rows - centre[0]) / radii[0]) ** 2 + ((columns - centre[1]) / radii[1]) ** 2 <= 1
    return inside


LEFT = ellipse((24, 18), (14, 11))
RIGHT = ellipse((22, 47), (12, 9))


def picture(seed: int = 0, size: tuple[int, int] = SIZE) -> NDArray[np.uint8]:
    """A noisy frame on which the two ellipses stand out."""
    rng = np.random.default_rng(seed)
    frame = rng.normal(70, 6, (*size, 3))
    for mask, colour in ((LEFT, (200, 90, 60)), (RIGHT, (60, 160, 210))):
        if size == SIZE:
            frame[mask] = rng.normal(0, 6, (int(mask.sum()), 3)) + colour
    return np.clip(frame, 0, 255).astype(np.uint8)


def save_frame(path: Path, seed: int = 0, size: tuple[int, int] = SIZE) -> Path:
    """Write a frame; the ending says in which format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(seed, size)).save(path)
    return path


def save_mask(path: Path, mask: Bools = LEFT) -> Path:
    """Write a mask as an 8-bit PNG, 0 and 255."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mask.astype(np.uint8) * 255).save(path)
    return path


def save_palette(path: Path, masks: Mapping[int, Bools]) -> Path:
    """Write several objects into one palette PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    indices = np.zeros(next(iter(masks.values())).shape, np.uint8)
    for index, mask in masks.items():
        indices[mask] = index
    image = Image.fromarray(indices).convert("P")
    image.putpalette([value for index in range(256) for value in (index * 40 % 256, index * 90 % 256, index)])
    image.save(path)
    return path


def folder_input(folder: Path, stems: Iterable[str] = ("a", "b", "c")) -> Path:
    """``frames/<stem>.png`` and ``masks/<stem>.png``, a frame of its own for each."""
    for number, name in enumerate(stems):
        save_frame(folder / "frames" / f"{name}.png", seed=number)
        save_mask(folder / "masks" / f"{name}.png", LEFT if number % 2 == 0 else RIGHT)
    return folder


def write_lines(path: Path, *rows: object) -> Path:
    """JSON lines; a row given as bytes is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows))
    return path


def item(name: str, **fields: Any) -> dict[str, Any]:
    """A line of ``items.jsonl`` on the frame and mask of ``folder_input``'s stem ``a``."""
    return {"id": name, "frame": "frames/a.png", "mask": "masks/a.png", **fields}


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines; none where it is missing."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def tree(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder, by relative name: its bytes, or where a link leads."""
    files: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            files[name] = str(path.readlink())
        elif path.is_file():
            files[name] = path.read_bytes()
        else:
            files[f"{name}/"] = "folder"
    return files


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed, and its exit status."""

    code: int
    out: str
    err: str


def auscult(*arguments: object) -> CommandResult:
    """Run the command line in this process, through the function that the script calls."""
    from auscult.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    argv = ["auscult", *(str(argument) for argument in arguments)]
    with mock.patch("sys.argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    return CommandResult(code if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())
