"""What an INPUT of ``auscult stress vision|sound|sentences|timing|recipe`` holds: the parts that are perturbed.

INPUT is items (whatever ``audit`` takes), one picture, video or sound, a folder of them, or a file of sentences.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Final

from auscult.cases.ids import counted
from auscult.cases.listing import INPUTS, ListOptions, find_layout
from auscult.cases.walk import is_file, is_folder, stem, suffix, walk
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.perturb_item_parts import item_parts
from auscult.jobs.perturb_names import named_apart
from auscult.jobs.perturb_parts import CARRIED, ROOMS_OF, Kind, Part, Parts
from auscult.jobs.perturb_texts import TEXT_SUFFIXES, read_sentences
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.paths import safe_name
from auscult.media.sound import SOUND_SUFFIXES
from auscult.media.video import VIDEO_SUFFIXES

MEDIA = (
    "a picture, a video, a sound, a folder of them, sentences (.txt with one a line, or .csv with columns id,text), "
    f"or items: {INPUTS}"
)
_ENDINGS: Final[tuple[tuple[Kind, frozenset[str], str], ...]] = (
    ("picture", FRAME_SUFFIXES, ".png"),
    ("video", VIDEO_SUFFIXES, ".mkv"),
    ("sound", SOUND_SUFFIXES, ".wav"),
)
_MOST_DEPTH: Final = 5


def parts_of(source: Path, options: ListOptions, *, rooms: frozenset[str], out: Path, by_group: bool = False) -> Parts:
    """List what there is to perturb.

    Args:
        source: INPUT.
        options: How items are read.
        rooms: The rooms of the perturbations that were asked for.
        out: The output folder; what lies in it is no input.
        by_group: Whether each clip and each loose picture has a recipe of its own, as under a preset.

    Raises:
        NothingToDo: It holds nothing that they could perturb.
        UsageError: It does not exist, an option does not fit it, or it lies in the output folder.
    """
    _refuse_around(source, out)
    found = _found(source, options, out, by_group=by_group)
    wanted = tuple(part for part in found.parts if part.kind in CARRIED or ROOMS_OF[part.kind] & rooms)
    if any(ROOMS_OF[part.kind] & rooms for part in wanted) or (found.errors and not found.parts):
        return replace(found, parts=wanted, notes=(*found.notes, *_left_out(found.parts, wanted)))
    what = ", ".join(counted(count, kind) for kind, count in Counter(part.kind for part in found.parts).items())
    raise NothingToDo(
        f"the input holds nothing that {' or '.join(sorted(rooms))} can perturb",
        path=source,
        expected=" or ".join(sorted(kind for kind, takes in ROOMS_OF.items() if takes & rooms and kind not in CARRIED)),
        hint=_hint(
            rooms,
            what,
            items=found.listing is not None,
            nothing="no file that is known" if found.sentences is None else "no sentence",
        ),
    )


def _refuse_around(source: Path, out: Path) -> None:
    """Insist that the output folder is not INPUT or around it: what lies in it is no input.

    Raises:
        UsageError: It is.
    """
    if is_folder(source) and source.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            "the output folder holds the input",
            path=source,
            expected="an output folder beside the input, or in it",
            hint="give another --out",
        )


def _hint(rooms: frozenset[str], what: str, *, items: bool, nothing: str) -> str:
    if rooms == {"timing"} and items:
        return "the frames of items stand alone: perturb the timing of the video and take its frames from that"
    return f"it holds {what or nothing}"


def _left_out(found: Sequence[Part], wanted: Sequence[Part]) -> list[str]:
    counts = Counter(part.kind for part in found)
    counts.subtract(part.kind for part in wanted)
    del counts["text"]  # an item keeps its expression as it is
    return [f"left out, since nothing is done to it: {counted(n, kind)}" for kind, n in counts.items() if n]


def _found(source: Path, options: ListOptions, out: Path, *, by_group: bool) -> Parts:
    if not (is_folder(source) or is_file(source)):
        raise UsageError("there is no such file or folder", path=source, expected=MEDIA)
    if options == ListOptions() and (alone := _alone(source)) is not None:
        return alone
    try:
        find_layout(source, options)
    except NothingToDo:
        _refuse_reading(source, options)
        if not source.is_dir() or options != ListOptions():
            raise
        return _folder(source, out)
    return item_parts(source, options, by_group=by_group)


def _refuse_reading(source: Path, options: ListOptions) -> None:
    """Insist that a picture, video, sound or file of sentences comes without options that say how items are read.

    Raises:
        UsageError: It comes with one.
    """
    told = [field.name for field in fields(options) if getattr(options, field.name) != field.default]
    if told and _alone(source) is not None:
        words = " and ".join(f"--{name}" for name in told)
        raise UsageError(
            f"{words} had no effect: the input is one file, and no list of items",
            path=source,
            expected=INPUTS,
            hint=f"leave out {words}",
        )


def _alone(source: Path) -> Parts | None:
    """A file that is one picture, video or sound, or holds sentences."""
    if not source.is_file():
        return None
    if suffix(source.name) in TEXT_SUFFIXES:
        sentences = read_sentences(source)
        rows = [Part(id=row.id, kind="sentence", key=row.id, group=row.id, text=row.text) for row in sentences.rows]
        return Parts(layout="sentences", parts=tuple(rows), errors=sentences.errors, sentences=sentences)
    parts = tuple(_media({source.name: source}.items()))
    return Parts(layout="file", parts=parts) if parts else None


def _folder(source: Path, out: Path) -> Parts:
    tree = walk(source, root=source)
    home = out.resolve()
    files = {name: path for name, path in tree.files.items() if not path.resolve().is_relative_to(home)}
    parts = tuple(_media(files.items()))
    if not parts and not tree.errors:
        raise NothingToDo("the folder holds no picture, video or sound", path=source, expected=MEDIA)
    others, hidden = len(files) - len(parts), _hidden(source, home)
    notes = [f"left out, neither picture, video nor sound: {counted(others, 'file')}"] if others else []
    notes += [f"left out, hidden by a dot: {counted(hidden, 'name')}"] if hidden else []
    return Parts(layout="folder", parts=parts, errors=tuple((None, error) for error in tree.errors), notes=tuple(notes))


def _hidden(source: Path, out: Path) -> int:
    """How many files and folders were passed over since their names begin with a dot; those of the output aside."""
    count = 0
    for folder, folders, files in os.walk(source):
        count += sum(name.startswith(".") for name in (*folders, *files))
        folders[:] = [name for name in folders if not name.startswith(".") and Path(folder, name).resolve() != out]
    return count


def _media(files: Iterable[tuple[str, Path]]) -> list[Part]:
    found = []
    for name, path in files:
        for kind, endings, ending in _ENDINGS:
            if suffix(name) in endings:
                found.append((Part(id=name, kind=kind, key=name, group=name, path=path), ending))
                break
    plain = Counter((_plain(stem(part.id)) + ending).casefold() for part, ending in found)
    return named_apart(
        # two files that differ in their endings alone keep them
        replace(part, name=_plain(stem(part.id)) + ending)
        if plain[(_plain(stem(part.id)) + ending).casefold()] == 1
        else replace(part, name=_plain(part.id) + ending)
        for part, ending in found
    )


def _plain(name: str) -> str:
    """A relative name that a record takes: few parts, none of them hidden or odd."""
    pieces = name.split("/")
    return "/".join(map(safe_name, pieces)) if len(pieces) <= _MOST_DEPTH else safe_name(name)
