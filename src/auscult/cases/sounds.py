"""Inputs of sounds: mixtures, what is wanted of each, and what was separated.

Read is, by what is there: an ``items.jsonl`` whose lines name ``mixture``; a folder ``mixtures/`` with ``separated/``
(``<stem>.wav``, or ``<stem>/*.wav`` for several) and perhaps ``stems/<stem>/*.wav``; a plain folder of recordings with
``prompts.csv`` (``file,text``); a folder of tracks, each with ``mixture.wav`` and its stems, as MUSDB18 has them.
Paths stay inside the folder unless ``root`` names another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta

from auscult.cases.fields import FILE, MAX_TEXT_CHARS, SUFFIXES, Home, item_lines, parsed_line, table_rows
from auscult.cases.ids import check_id, safe_id
from auscult.cases.problems import ListError, Problems, used_twice
from auscult.cases.walk import base_folder, boundary, stem, suffix, walk
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.language.sound_prompts import sound_prompts
from auscult.media.sound import SOUND_SUFFIXES
from auscult.record.codec import Word, from_json
from auscult.types import (
    DIFFICULTY_AXES,
    PERFORMANCE,
    PromptSetting,
    SoundDomain,
    SoundItem,
    SoundQuery,
    SoundTruth,
    Span,
)

INPUTS: Final = (
    "an items.jsonl whose lines name 'mixture', a folder with mixtures/, a folder of tracks with mixture.wav, or "
    "recordings with prompts.csv"
)
MIXTURES: Final = "mixtures"
PROMPTS: Final = "prompts.csv"
MAX_TABLE_BYTES: Final = 64 * 1024 * 1024

_Text: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00]*$", max_length=MAX_TEXT_CHARS)]
_Score: TypeAlias = Annotated[float, Meta(ge=1.0, le=5.0)]
_Seconds: TypeAlias = Annotated[float, Meta(ge=0.0, le=1e7)]
_Span: TypeAlias = tuple[Literal["+", "-"], _Seconds, _Seconds]


@dataclass(frozen=True, slots=True)
class SoundListing:
    """What an INPUT of sounds holds."""

    items: tuple[SoundItem, ...]  # ids unique, in the order of the INPUT
    problems: tuple[ListError, ...] = ()  # (id or None, record) for what could not be listed


def read_sounds(source: Path, *, root: Path | None = None) -> SoundListing:
    """List an INPUT of sounds; files are opened later. A line or a file that cannot be used costs itself.

    ``NothingToDo`` where there is no item and no broken one.
    """
    problems = Problems()
    file = source / FILE if source.is_dir() else source
    if suffix(file.name) in SUFFIXES and file.is_file():
        rows = _of_lines(Home(file=file, base=base_folder(file, root)), problems)
    elif (source / MIXTURES).is_dir():
        rows = _of_folders(source, root, problems)
    elif (source / PROMPTS).is_file():
        rows = _of_recordings(Home(file=source / PROMPTS, base=base_folder(source, root)), problems)
    elif source.is_dir():
        rows = _of_tracks(source, root, problems)
    else:
        raise NothingToDo("this is no input of sounds", path=source, expected=INPUTS)
    items: dict[str, SoundItem] = {}
    for item in rows:
        with problems.skipping(item.source or source, line=item.line):
            first = items.setdefault(check_id(item.id), item)
            if first is not item:
                place = f" is in line {first.line}" if first.line else " is an earlier one"
                raise used_twice(item.id, f"{place}, which", path=item.source)
    if not items and not problems.found:
        raise NothingToDo("there is no mixture to read", path=source, expected=INPUTS)
    return SoundListing(tuple(items.values()), tuple(problems.found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Truth:
    """The key ``truth`` of a line."""

    stem: _Text | None = None
    others: Mapping[str, Word] | None = None
    recall: _Score | None = None
    precision: _Score | None = None
    faithfulness: _Score | None = None
    overall: _Score | None = None
    difficulty: Mapping[str, _Score | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line of ``items.jsonl``; ``target`` and ``mixture_id`` are ``truth.stem`` and ``cluster`` in other words."""

    id: Word
    mixture: Word
    separated: _Text | None = None
    text: _Text | None = None
    spans_s: Annotated[tuple[_Span, ...], Meta(max_length=10_000)] | None = None
    video: _Text | None = None
    domain: SoundDomain | None = None
    setting: PromptSetting | None = None
    split: _Text | None = None
    cluster: _Text | None = None
    family: _Text | None = None
    system: _Text | None = None
    seen: bool | None = None
    truth: _Truth | None = None
    target: _Text | None = None
    mixture_id: _Text | None = None


_KNOWN: Final = frozenset(field.name for field in fields(_Line))


def _of_lines(home: Home, problems: Problems) -> Iterator[SoundItem]:
    for number, content in item_lines(home.file):
        row = None
        try:
            row = parsed_line(content, file=home.file, line=number)
            yield sound_item(row, home, number)
        except InputError as error:
            name = row.get("id") if isinstance(row, dict) else None
            problems.add(error, home.file, line=number, item=safe_id(name) if isinstance(name, str) else None)


def sound_item(row: Any, home: Home, number: int) -> SoundItem:
    """Read the object of one line, given with its number from 1; an error of it names neither file nor line."""
    line = from_json(_Line, row, error=InputError, hint="correct the line")
    for _, start, end in line.spans_s or ():
        if end <= start:
            message, hint = f"a span goes from {start} to {end} s", "correct 'spans_s'"
            raise InputError(message, expected="an end after its start", hint=hint)

    def path(name: str | None) -> Path | None:
        return home.path(name) if name else None

    stated = line.truth or _Truth()
    truth = SoundTruth(
        stem=path(stated.stem or line.target),
        others={name: home.path(other) for name, other in (stated.others or {}).items()},
        scores={key: getattr(stated, key) for key in PERFORMANCE if getattr(stated, key) is not None},
        difficulty={key: hard for key, hard in (stated.difficulty or {}).items() if hard and key in DIFFICULTY_AXES},
    )
    return SoundItem(
        id=check_id(line.id),
        mixture=home.path(line.mixture),
        query=SoundQuery(
            text=line.text if line.text and line.text.strip() else None,
            spans=tuple(Span(*span) for span in line.spans_s or ()),
            picture=path(line.video),
        ),
        separated=path(line.separated),
        truth=truth if truth != SoundTruth() else None,
        domain=line.domain or "",
        setting=line.setting or "",
        split=line.split or "",
        seen=line.seen,
        cluster=line.cluster or line.mixture_id or line.mixture,
        family=line.family or "",
        system=line.system or "",
        extra={key: value for key, value in row.items() if key not in _KNOWN},
        source=home.file,
        line=number,
    )


def _of_folders(source: Path, root: Path | None, problems: Problems) -> Iterator[SoundItem]:
    """Items of ``mixtures/`` with ``separated/`` and ``stems/``; a mixture with nothing separated is an item too."""
    mixtures = [(stem(name), path) for name, path in _sounds(source / MIXTURES, problems, source=source, root=root)]
    names = {name for name, _ in mixtures}
    parts: dict[tuple[str, str], list[tuple[str, Path]]] = defaultdict(list)
    for folder in ("separated", "stems"):
        for name, path in _sounds(source / folder, problems, source=source, root=root):
            key = stem(name) if stem(name) in names else name.rpartition("/")[0]
            if key not in names:
                error = InputError("there is no mixture of this name", expected=f"mixtures/{key or stem(name)}.wav")
                problems.add(error, path)
            parts[folder, key].append((stem(name), path))
    for key, mixture in mixtures:
        stems = {path.stem: path for _, path in parts["stems", key]}
        outputs: Sequence[tuple[str, Path | None]] = parts["separated", key] or [(key, None)]
        for name, separated in outputs:
            truth = _truth_of(name.rpartition("/")[2], stems)
            yield SoundItem(id=name, mixture=mixture, separated=separated, truth=truth, cluster=key, source=mixture)


def _truth_of(output: str, stems: Mapping[str, Path]) -> SoundTruth | None:
    """The stem of an output's name is its target, else ``target``, else the first."""
    wanted = next((name for name in (output, "target", *stems) if name in stems), None)
    if wanted is None:
        return None
    return SoundTruth(stem=stems[wanted], others={name: path for name, path in stems.items() if name != wanted})


def _of_tracks(source: Path, root: Path | None, problems: Problems) -> Iterator[SoundItem]:
    """Every stem of every track, ``<track>/mixture.wav`` beside its stems, as what is wanted in turn."""
    tracks: dict[str, dict[str, Path]] = defaultdict(dict)
    for name, path in _sounds(source, problems, source=source, root=root):
        tracks[name.rpartition("/")[0]][path.stem] = path
    for track, parts in tracks.items():
        mixture = parts.pop("mixture", None)
        if mixture is None or not track:
            continue
        for part, path in parts.items():
            yield SoundItem(
                id=f"{track}/{part}",
                mixture=mixture,
                query=SoundQuery(text=part.replace("_", " ")),
                truth=SoundTruth(stem=path, others={name: other for name, other in parts.items() if name != part}),
                cluster=track,
                source=path,
            )


def _of_recordings(home: Home, problems: Problems) -> Iterator[SoundItem]:
    """Recordings without stems with the prompts of ``prompts.csv``; one item for each prompt of a description."""
    counts: Counter[str] = Counter()
    for line, cells in table_rows(home.file, max_bytes=MAX_TABLE_BYTES, expected="the columns file,text"):
        if [cell.strip().lower() for cell in cells[:2]] == ["file", "text"]:
            continue
        with problems.skipping(home.file, line=line):
            if len(cells) < 2 or not cells[1].strip():
                raise InputError("the line names no file and text", expected="the columns file,text")
            path, name = home.path(cells[0]), stem(cells[0].lstrip("./"))
            for text in sound_prompts(cells[1]) or (cells[1].strip().casefold(),):
                yield SoundItem(
                    id=f"{name}#{counts[name]}" if counts[name] else name,
                    mixture=path,
                    query=SoundQuery(text=text),
                    cluster=name,
                    source=home.file,
                    line=line,
                )
                counts[name] += 1


def _sounds(folder: Path, problems: Problems, *, source: Path, root: Path | None) -> Iterator[tuple[str, Path]]:
    """The sound files below a folder and their names in it; none where the folder is missing."""
    if folder.is_dir():
        tree = walk(folder, root=boundary(folder, source=source, root=root))
        problems.take(tree.errors)
        yield from tree.with_suffix(SOUND_SUFFIXES).items()


def check_spans(spans: Sequence[Span], seconds: float) -> None:
    """Refuse spans that begin outside the sound, end before they begin, or have another sign than + and -."""
    for span in spans:
        if span.sign not in "+-" or not 0 <= span.start_s < min(span.end_s, seconds):
            message = (
                f"a span {span.sign!r} goes from {span.start_s:g} to {span.end_s:g} s, "
                f"the mixture is {seconds:.3f} s long"
            )
            raise InputError(message, expected="spans in the mixture, each with an end after its start")


def sound_line(item: SoundItem, *, home: Path) -> dict[str, Any]:
    """The object of an item's line in an ``items.jsonl`` in the folder ``home``; paths are relative to it."""

    def relative(path: Path | None) -> str | None:
        if path is None:
            return None
        try:
            return path.resolve().relative_to(home.resolve()).as_posix()
        except ValueError:
            raise UsageError("the file is outside the folder of its items.jsonl", path=path) from None

    row: dict[str, Any] = {
        "id": item.id,
        "mixture": relative(item.mixture),
        "separated": relative(item.separated),
        "text": item.query.text,
        "spans_s": [[span.sign, span.start_s, span.end_s] for span in item.query.spans] or None,
        "video": relative(item.query.picture),
        **{key: getattr(item, key) or None for key in ("domain", "setting", "split", "cluster", "family", "system")},
        "seen": item.seen,
    }
    if item.truth is not None:
        others = {name: relative(path) for name, path in item.truth.others.items()}
        truth = {"stem": relative(item.truth.stem), "others": others, **item.truth.scores}
        row["truth"] = {key: value for key, value in truth.items() if value}
        row["truth"] |= {"difficulty": dict(item.truth.difficulty)} if item.truth.difficulty else {}
    return {key: value for key, value in row.items() if value is not None} | dict(item.extra)
