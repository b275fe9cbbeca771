"""Inputs of sounds: mixtures, what is wanted of each, and what was separated.

Read is, by what is there: an ``items.jsonl`` whose lines name ``mixture``; a folder ``mixtures/`` with ``separated/``
(``<stem>.wav``, or ``<stem>/*.wav`` for several) and perhaps ``stems/<stem>/*.wav``; a folder of tracks, each with
``mixture.wav`` and its stems, as MUSDB18 has them; a plain folder of recordings with ``prompts.csv`` (``file,text``).
Paths stay inside the folder unless ``root`` names another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from auscult.cases import fields
from auscult.cases.datasets.items import FILE, SUFFIXES, Home, item_lines, parsed_line
from auscult.cases.ids import check_id, safe_id
from auscult.cases.problems import ListError, Problems, used_twice
from auscult.cases.walk import base_folder, boundary, suffix, walk
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.language.sound_prompts import sound_prompts
from auscult.media.sound import SOUND_SUFFIXES
from auscult.types import (
    DIFFICULTY_AXES,
    DOMAINS,
    PERFORMANCE,
    PROMPT_SETTINGS,
    SoundItem,
    SoundQuery,
    SoundTruth,
    Span,
)

INPUTS: Final = (
    "an items.jsonl whose lines name 'mixture', a folder with mixtures/, a folder of tracks with mixture.wav, or "
    "recordings with prompts.csv"
)
PROMPTS: Final = "prompts.csv"
MAX_TABLE_BYTES: Final = 64 * 1024 * 1024
_SPANS = 'a list of [sign, start, end], such as [["+", 0.5, 1.25]], in seconds'
_MOST_SPANS = 10_000
_KNOWN = frozenset(
    {
        *("id", "mixture", "separated", "text", "spans_s", "video", "truth", "domain", "setting", "split", "seen"),
        *("cluster", "family", "system", "target", "mixture_id"),
    }
)


@dataclass(frozen=True, slots=True)
class SoundListing:
    """What an INPUT of sounds holds."""

    items: tuple[SoundItem, ...]  # ids unique, in the order of the INPUT
    problems: tuple[ListError, ...] = ()  # (id or None, record) for what could not be listed


def read_sounds(source: Path, *, root: Path | None = None) -> SoundListing:
    """List an INPUT of sounds; files are opened later. A line or a file that cannot be used costs itself.

    Raises:
        NothingToDo: There is no item and no broken one.
    """
    found = Problems()
    file = source / FILE if source.is_dir() else source
    if suffix(file.name) in SUFFIXES and file.is_file():
        rows = _of_lines(file, Home(file=file, base=base_folder(file, root)), found)
    elif (source / "mixtures").is_dir():
        rows = _of_folders(source, root, found)
    elif (source / PROMPTS).is_file():
        rows = _of_recordings(source, found)
    elif source.is_dir():
        rows = _of_tracks(source, root, found)
    else:
        raise NothingToDo("this is no input of sounds", path=source, expected=INPUTS)
    items: dict[str, SoundItem] = {}
    for item in rows:
        known = items.setdefault(item.id, item)
        if known is not item:
            where = f" is in line {known.line}" if known.line else " is an earlier one"
            found.add(used_twice(item.id, where + ", which", path=item.source, line=item.line))
    if not items and not found.found:
        raise NothingToDo("there is no mixture to read", path=source, expected=INPUTS)
    return SoundListing(tuple(items.values()), tuple(found.found))


def _of_lines(file: Path, home: Home, found: Problems) -> Iterator[SoundItem]:
    for line, content in item_lines(file):
        row = None
        try:
            row = parsed_line(content, file=file, line=line)
            yield sound_item_of(row, home=home, line=line)
        except InputError as error:
            name = row.get("id") if isinstance(row, dict) else None
            found.add(error, file, line=line, item=safe_id(name) if isinstance(name, str) else None)


def sound_item_of(row: object, *, home: Home, line: int | None = None) -> SoundItem:
    """Read the object of one line; an error of it names neither file nor line."""
    if not isinstance(row, dict):
        raise InputError(
            f"the line holds {fields.kind(row)}",
            expected='an object: {"id": ..., "mixture": ...}',
            hint="write one object a line",
        )
    mixture = fields.required(row, "mixture")
    separated, words = _path(row, "separated", home), fields.text(row, "text")
    return SoundItem(
        id=check_id(fields.required(row, "id")),
        mixture=home.path(mixture),
        query=SoundQuery(
            text=words if words and words.strip() else None, spans=_spans(row), picture=_path(row, "video", home)
        ),
        separated=separated,
        truth=_truth(row, home),
        domain=fields.one_of(row, "domain", DOMAINS) or "",
        setting=fields.one_of(row, "setting", PROMPT_SETTINGS) or "",
        split=fields.text(row, "split") or "",
        seen=_seen(row),
        cluster=fields.text(row, "cluster") or fields.text(row, "mixture_id") or mixture,
        family=fields.text(row, "family") or "",
        system=fields.text(row, "system") or "",
        extra={key: value for key, value in row.items() if key not in _KNOWN},
        source=home.file,
        line=line,
    )


def _path(row: Mapping[str, Any], key: str, home: Home) -> Path | None:
    name = fields.text(row, key)
    return home.path(name) if name else None


def _seen(row: Mapping[str, Any]) -> bool | None:
    value = row.get("seen")
    if value is not None and not isinstance(value, bool):
        raise fields.wrong("seen", value, "true or false")
    return value


def _spans(row: Mapping[str, Any]) -> tuple[Span, ...]:
    given = row.get("spans_s")
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > _MOST_SPANS:
        raise fields.wrong("spans_s", given, _SPANS)
    return tuple(_span(one) for one in given)


def _span(one: object) -> Span:
    if not isinstance(one, list) or len(one) != 3 or one[0] not in ("+", "-"):
        raise fields.wrong("spans_s", one, _SPANS)
    start, end = (fields.number({"spans_s": value}, "spans_s", low=0.0, high=1e7) for value in one[1:])
    if start is None or end is None or end <= start:
        raise InputError(
            f"a span goes from {start} to {end} s", expected="an end after its start", hint="correct 'spans_s'"
        )
    return Span(one[0], start, end)


def _truth(row: Mapping[str, Any], home: Home) -> SoundTruth | None:
    value = fields.mapping(row, "truth") or ({"stem": row["target"]} if row.get("target") else None)
    if value is None:
        return None
    try:
        hard, others = fields.mapping(value, "difficulty") or {}, fields.mapping(value, "others") or {}
        return SoundTruth(
            stem=_path(value, "stem", home),
            others={name: home.path(fields.required(others, name)) for name in others},
            scores=_numbers(value, PERFORMANCE),
            difficulty=_numbers(hard, DIFFICULTY_AXES),
        )
    except InputError as error:
        hint = "correct 'truth', or leave it out"
        raise InputError(f"in 'truth', {error.message}", expected=error.expected, hint=hint) from error


def _numbers(row: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, float]:
    found = ((key, fields.number(row, key, low=1.0, high=5.0)) for key in keys)
    return {key: value for key, value in found if value is not None}


def _of_folders(source: Path, root: Path | None, found: Problems) -> Iterator[SoundItem]:
    """Items of ``mixtures/`` with ``separated/`` and ``stems/``; a mixture with nothing separated is an item too."""
    sounds = {
        name: _sounds(source / name, found, source=source, root=root) for name in ("mixtures", "separated", "stems")
    }
    outputs: dict[str, list[tuple[str, Path]]] = {_below(name): [] for name in sounds["mixtures"]}
    stems: dict[str, list[tuple[str, Path]]] = {key: [] for key in outputs}
    for folder, by_mixture in (("separated", outputs), ("stems", stems)):
        for name, path in sounds[folder].items():
            key = _below(name) if _below(name) in by_mixture else name.rpartition("/")[0]
            if key in by_mixture:
                by_mixture[key].append((name, path))
            else:
                lost = InputError("there is no mixture of this name", expected=f"mixtures/{key or _below(name)}.wav")
                found.add(lost, path)
    for name, mixture in sounds["mixtures"].items():
        key = _below(name)
        parts = stems[key]
        truth = SoundTruth(stem=parts[0][1], others={one.stem: one for _, one in parts[1:]}) if parts else None
        made: list[tuple[str, Path | None]] = [*outputs[key]] or [(name, None)]
        for output, separated in made:
            yield SoundItem(
                id=_below(output), mixture=mixture, separated=separated, truth=truth, cluster=key, source=mixture
            )


def _of_tracks(source: Path, root: Path | None, found: Problems) -> Iterator[SoundItem]:
    """Every stem of every track, ``<track>/mixture.wav`` beside its stems, as what is wanted in turn."""
    tracks: dict[str, dict[str, Path]] = {}
    for name, path in _sounds(source, found, source=source, root=root).items():
        track, _, stem = _below(name).rpartition("/")
        tracks.setdefault(track, {})[stem] = path
    for track, parts in tracks.items():
        mixture = parts.pop("mixture", None)
        if mixture is None or not track:
            continue
        for stem, path in parts.items():
            others = {name: other for name, other in parts.items() if name != stem}
            yield SoundItem(
                id=f"{track}/{stem}",
                mixture=mixture,
                query=SoundQuery(text=stem.replace("_", " ")),
                truth=SoundTruth(stem=path, others=others),
                cluster=track,
                source=path,
            )


def _of_recordings(source: Path, found: Problems) -> Iterator[SoundItem]:
    """Recordings without stems, each with the prompts that ``prompts.csv`` gives it; one item a prompt.

    A description of several sounds is several prompts.
    """
    file = source / PROMPTS
    home, counts = Home(file=file, base=source), dict[str, int]()
    rows = fields.table_rows(file, max_bytes=MAX_TABLE_BYTES, expected="the columns file,text")
    for line, cells in rows:
        if [cell.strip().lower() for cell in cells[:2]] == ["file", "text"]:
            continue
        with found.skipping(file, line=line):
            if len(cells) < 2 or not cells[1].strip():
                raise InputError("the line names no file and text", expected="the columns file,text")
            path, name = home.path(cells[0]), _below(cells[0])
            for text in sound_prompts(cells[1]) or (cells[1].strip().casefold(),):
                counts[name] = number = counts.get(name, -1) + 1
                yield SoundItem(
                    id=check_id(f"{name}#{number}" if number else name),
                    mixture=path,
                    query=SoundQuery(text=text),
                    cluster=name,
                    source=file,
                    line=line,
                )


def _sounds(folder: Path, found: Problems, *, source: Path, root: Path | None = None) -> dict[str, Path]:
    """The sound files below a folder by their names in it; none where the folder is missing."""
    if not folder.is_dir():
        return {}
    tree = walk(folder, root=boundary(folder, source=source, root=root))
    found.take(tree.errors)
    return tree.with_suffix(SOUND_SUFFIXES)


def _below(name: str) -> str:
    return name.rpartition(".")[0]


def sound_line(item: SoundItem, *, home: Path) -> dict[str, Any]:
    """The object of an item's line in an ``items.jsonl`` in the folder ``home``; paths are relative to it."""

    def named(path: Path | None) -> str | None:
        if path is None:
            return None
        try:
            return path.resolve().relative_to(home.resolve()).as_posix()
        except ValueError:
            raise UsageError("the file is outside the folder of its items.jsonl", path=path) from None

    truth = item.truth
    known: dict[str, Any] = {
        "id": item.id,
        "mixture": named(item.mixture),
        "separated": named(item.separated),
        "text": item.query.text,
        "spans_s": [[one.sign, one.start_s, one.end_s] for one in item.query.spans] or None,
        "video": named(item.query.picture),
        **{key: getattr(item, key) or None for key in ("domain", "setting", "split", "cluster", "family", "system")},
        "seen": item.seen,
    }
    if truth is not None:
        stems = {"stem": named(truth.stem), "others": {name: named(path) for name, path in truth.others.items()}}
        known["truth"] = {**stems, **truth.scores, "difficulty": dict(truth.difficulty)}
        known["truth"] = {key: value for key, value in known["truth"].items() if value}
    return {key: value for key, value in known.items() if value is not None} | dict(item.extra)
