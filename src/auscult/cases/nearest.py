"""What an INPUT of no known layout holds, the layout it is nearest to, and the command that would read it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from auscult.cases.ids import counted, shown
from auscult.cases.walk import first_files, is_folder, suffix, unmarked
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES

_NAMED = 3
_KINDS_SHOWN = 6
_MOST_TRIED = 12
_JPEG: Final = frozenset({".jpg", ".jpeg"})
_LINES: Final = frozenset({".jsonl", ".ndjson", ".csv"})
_EXAMPLE = '{"id": "1", "frame": "a.jpg", "mask": "b.png"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Plain sentences: what was found, the nearest layout, and the next step, a command where there is one."""

    found: str
    layout: str
    command: str


@dataclass(slots=True)
class _Found:
    """The files of an INPUT: by ending, and stems of pictures by folder and ending."""

    kinds: dict[str, list[str]] = field(default_factory=dict)
    folders: dict[Path, dict[str, set[str]]] = field(default_factory=dict)

    def words(self) -> str:
        """Three names of each kind, the most frequent kinds first."""
        kinds = sorted(self.kinds.items(), key=lambda entry: -len(entry[1]))
        if not kinds:
            return "it holds no file"
        named = [
            f"{len(names)} {ending or 'without ending'} ({', '.join(map(shown, names[:_NAMED]))}"
            f"{', ...' if len(names) > _NAMED else ''})"
            for ending, names in kinds[:_KINDS_SHOWN]
        ]
        return f"it holds {', '.join(named)}" + (", and other kinds" if len(kinds) > _KINDS_SHOWN else "")


def nearest(source: Path, known: Callable[[Path], str]) -> Nearest:
    """Look at the first files of an INPUT; ``known`` says which layout a path has by itself, or nothing."""
    if source.is_file():
        return Nearest(
            found=f"it is a file that ends in {suffix(source.name) or 'nothing'}",
            layout="lines of JSON that end in .jsonl, a COCO or panoptic .json, a CVAT .xml, or a folder",
            command=f"name the folder: {_audit(source.parent)}; or write items.jsonl, a line {_EXAMPLE} for each mask",
        )
    found = _survey(source)
    inner = _known_inside(source, found, known)
    if inner is not None:
        return Nearest(
            found=found.words(), layout=f"{known(inner)}: {_name(inner, source)} is one", command=_audit(inner)
        )
    json = next((path for path in _files(source, found, ".json") if known(path)), None)
    pictures = _pictures(found)
    if json is not None and pictures is not None:
        layout = f"the json {_name(json, source)} with the pictures in {_name(pictures, source)}"
        return Nearest(found=found.words(), layout=layout, command=_audit(json, images=pictures))
    pair = _pair(found)
    if pair is not None:
        frames, masks, same = pair
        layout = f"frames and masks in two folders, of which {counted(same, 'name')} agree"
        return Nearest(found=found.words(), layout=layout, command=_audit(source, frames=frames, masks=masks))
    return _without_match(source, found, pictures)


def _without_match(source: Path, found: _Found, pictures: Path | None) -> Nearest:
    lines = next((path for ending in sorted(_LINES) for path in _files(source, found, ending)), None)
    if pictures is None:
        layout, step = "a folder with frames/ and masks/; no picture was found", "give the folder of frames and masks"
    elif sum(len(endings) for endings in found.folders.values()) == 1:
        layout = "a folder with frames/ and masks/; all pictures are of one kind, and none looks like a mask of another"
        step = f"name the masks' folder: {_audit(source, frames=pictures, masks=Path('MASKS'))}"
    else:
        layout = "a folder with frames/ and masks/; no mask is named like a picture"
        step = (
            f"name masks like their pictures (x.jpg, x.png or x_mask.png), or write items.jsonl, a line {_EXAMPLE} each"
        )
    if lines is not None and suffix(lines.name) != ".csv":
        step = f"{step}; or is it {_audit(lines)}?"
    return Nearest(found=found.words(), layout=layout, command=step)


def _survey(source: Path) -> _Found:
    found = _Found()
    for path in first_files(source):
        if path.name.startswith("."):
            continue
        ending = suffix(path.name)
        found.kinds.setdefault(ending, []).append(path.relative_to(source).as_posix())
        if ending in FRAME_SUFFIXES | MASK_SUFFIXES:
            found.folders.setdefault(path.parent, {}).setdefault(ending, set()).add(path.stem)
    return found


def _files(source: Path, found: _Found, ending: str) -> list[Path]:
    return [source / name for name in found.kinds.get(ending, ())[:_MOST_TRIED]]


def _known_inside(source: Path, found: _Found, known: Callable[[Path], str]) -> Path | None:
    """The highest folder below INPUT, or a file of lines or xml in it, that has a layout by itself."""
    folders: dict[Path, None] = {}
    for names in found.kinds.values():
        for name in names[: _MOST_TRIED * 5]:
            folders |= dict.fromkeys(source / parent for parent in Path(name).parents if parent != Path())
    tried = sorted(folders, key=lambda path: (len(path.parts), path.as_posix()))[:_MOST_TRIED]
    return next((path for path in (*tried, *_files(source, found, ".xml")) if known(path)), None)


def _pictures(found: _Found) -> Path | None:
    """The folder with the most pictures, JPEGs first."""
    ranked = {
        folder: (sum(len(endings.get(one, ())) for one in _JPEG), sum(map(len, endings.values())))
        for folder, endings in found.folders.items()
    }
    return max(ranked, key=lambda folder: ranked[folder], default=None)


def _pair(found: _Found) -> tuple[Path, Path, int] | None:
    """The folder of pictures and the other folder with the most names of its own that agree; None without any."""
    frames = _pictures(found)
    if frames is None:
        return None
    names = _stems(found.folders[frames])  # and a mask may be called x_mask
    shared = {
        folder: len(
            names
            & _stems({end: set(map(unmarked, endings[end])) | endings[end] for end in endings if end in MASK_SUFFIXES})
        )
        for folder, endings in found.folders.items()
        if folder != frames
    }
    best = max(shared, key=lambda folder: shared[folder], default=None)
    return None if best is None or not shared[best] else (frames, best, shared[best])


def _stems(endings: Mapping[str, set[str]]) -> set[str]:
    return set().union(*endings.values())


def _name(path: Path, source: Path) -> str:
    return shown(path.relative_to(source).as_posix()) if path != source and is_folder(source) else shown(path.name)


def _audit(source: Path, **options: Path) -> str:
    words = [str(source), *(word for name, path in options.items() for word in (f"--{name}", str(path)))]
    return f"auscult audit {' '.join(map(shlex.quote, words))} --out out"
