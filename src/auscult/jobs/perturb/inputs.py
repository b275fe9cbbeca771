"""The parts of an INPUT to perturb: each frame, sound, video and expression once.

INPUT is items (as for ``audit``), one picture, video or sound, a folder of them, or a file of sentences.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

from auscult.cases.datasets.folder import FolderDataset
from auscult.cases.ids import NaturalKey, counted, group_by_frame, natural_key
from auscult.cases.listing import INPUTS, Listing, ListOptions, find_layout, list_items, refuse_best
from auscult.cases.walk import MASK_FOLDERS, Tree, is_file, is_folder, stem, suffix, walk
from auscult.errors import ErrorRecord, NothingToDo, UsageError
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.perturb.sentences import SentencesFile, read_sentences
from auscult.jobs.stress import frame_name_of
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.paths import safe_name
from auscult.media.sound import SOUND_SUFFIXES
from auscult.media.video import VIDEO_SUFFIXES
from auscult.record.digest import digest_json
from auscult.types import Item

InputMedium: TypeAlias = Literal["picture", "video", "sound", "sentence"]

ROOMS_OF: Final[Mapping[InputMedium, frozenset[str]]] = {
    "picture": frozenset({"vision"}),
    "video": frozenset({"vision", "sound", "timing"}),
    "sound": frozenset({"sound"}),
    "sentence": frozenset({"sentences"}),
}
"""The rooms of stressors that apply to each medium."""

_IN_ITEMS: Final[Mapping[InputMedium, str]] = {"picture": "frame", "sound": "audio", "sentence": "text"}
"""Kind of a part that belongs to items; the kind of any other part is its medium."""

RATE_FPS: Final = 25.0
"""Frames per second if the clip's rate is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedPart:
    """The smallest unit that is perturbed and stored by itself."""

    id: str  # unique among the parts
    medium: InputMedium
    key: str  # key of its random draws; frames of one clip share it
    group: str = ""  # its clip or file; a preset draws one recipe per group
    path: Path | None = None  # the file, or None for a sentence
    name: str = ""  # of the perturbed file, below the recipe's folder; empty for a sentence
    carried: str = ""  # of the copy if no step applies; empty if there is no copy
    index: int = 0
    count: int = 1
    rate_fps: float = RATE_FPS
    text: str = ""
    clip: tuple[Path, ...] = ()  # all frames of its folder in order, if their timing is perturbed
    items: tuple[Item, ...] = ()  # its items, which fail with it; may be empty
    # ids of its items that equal another item's id but for upper and lower case
    twins: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """Name of its type in messages: frame, audio or text for parts of items, else the medium."""
        return _IN_ITEMS[self.medium] if self.items else self.medium

    @property
    def rooms(self) -> frozenset[str]:
        """The rooms whose perturbations apply to it."""
        return ROOMS_OF[self.medium] | ({"timing"} if self.clip else frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedParts:
    """The parts of an INPUT."""

    layout: str
    parts: tuple[PerturbedPart, ...]
    errors: tuple[tuple[str | None, ErrorRecord], ...] = ()  # (id or None, record) for what could not be listed
    notes: tuple[str, ...] = ()  # on parts left out on purpose
    listing: Listing | None = None  # for an INPUT of items
    sentences: SentencesFile | None = None  # for an INPUT of sentences


def left_out(parts: Iterable[PerturbedPart], why: str) -> list[str]:
    """Notes on parts without output; expressions of items are kept unchanged, so they are never left out."""
    counts = Counter(part.kind for part in parts if part.kind != "text")
    return [f"left out, since {why}: {counted(count, kind)}" for kind, count in counts.items()]


def named_apart(parts: Iterable[PerturbedPart]) -> list[PerturbedPart]:
    """Give each part unique file names: a name that several parts could use gets a hash of the part's id.

    A part may be perturbed or copied, so both of its names count. Parts of one file, such as a sound of several clips,
    have different names already, and may share the name of the copy.
    """
    all_parts = list(parts)
    owners: dict[str, set[Path | str]] = defaultdict(set)
    for part in all_parts:
        for name in (part.name, part.carried):
            owners[name.casefold()].add(part.path or part.id)

    def own(name: str, part: PerturbedPart) -> str:
        return tagged(name, part.id) if name and len(owners[name.casefold()]) > 1 else name

    return [replace(part, name=own(part.name, part), carried=own(part.carried, part)) for part in all_parts]


def tagged(name: str, of: str) -> str:
    """A file name with a hash of ``of`` before its suffix."""
    path = PurePosixPath(name)
    tag = blake2b(of.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return str(path.with_name(f"{path.stem}-{tag}{path.suffix}"))


# --- items ---


def item_parts(source: Path, options: ListOptions, *, by_group: bool) -> PerturbedParts:
    """The frames, sounds and expressions of the items of an INPUT.

    A sound that several clips or single pictures share is one part, or with ``by_group``, if each has its own recipe,
    one part for each.
    """
    refuse_best(options)
    listing = list_items(source, options)
    films = filmed(listing)
    clips = {item.id: item.clip for item in listing.items if item.clip and item.id in films}
    frames = _frames(listing.items, source, clips)
    groups = {item.id: frame.group for frame in frames for item in frame.items}
    sounds = _sounds(listing.items, source, clips, groups=groups, by_group=by_group)
    parts = [*named_apart([*frames, *sounds]), *_texts(listing.items, clips, groups)]
    twice = [name for name, count in Counter(part.id for part in parts).items() if count > 1]
    if twice:
        raise UsageError(
            f"two files of the input would both be called {twice[0]}",
            expected="files that differ in more than the folders `frames` and `images`",
            hint="rename one of them",
            path=source,
        )
    return PerturbedParts(
        layout=listing.layout, parts=tuple(parts), errors=listing.errors, notes=listing.notes, listing=listing
    )


def _frames(items: Sequence[Item], source: Path, clips: Mapping[str, str]) -> list[PerturbedPart]:
    """One part per frame; frames of one video share the random draws, a single picture has its own.

    A frame belongs to the clip of its first item. Sounds and expressions of all its items go with it, also of items
    with another clip name.
    """
    frames = group_by_frame(items)
    names = {group[0].frame: frame_name_of(group[0].frame, source) for group in frames}
    shots: dict[tuple[bool, str], list[list[Item]]] = defaultdict(list)
    for group in frames:
        clip = clips.get(group[0].id)
        shots[clip is not None, clip or names[group[0].frame]].append(group)
    stems = Counter(Path(name).stem for name in names.values())
    cased = Counter(item.id.casefold() for item in items)
    parts = []
    for (_, key), members in shots.items():
        ordered = _in_order(members)
        for index, group in enumerate(ordered):
            name = names[group[0].frame]
            parts.append(
                PerturbedPart(
                    id=name,
                    medium="picture",
                    key=key,
                    group=key,
                    path=group[0].frame,
                    name=f"frames/{_with_ending(name, '.png', stems)}",
                    carried=f"frames/{name}",
                    index=index,
                    count=len(ordered),
                    rate_fps=_rate(ordered),
                    items=tuple(group),
                    twins=frozenset(item.id for item in group if cased[item.id.casefold()] > 1),
                )
            )
    return parts


def _with_ending(name: str, ending: str, stems: Mapping[str, int]) -> str:
    """A name with another suffix, after the old one if two files differ only in the suffix."""
    return f"{Path(name).stem}{ending}" if stems[Path(name).stem] <= 1 else f"{name}{ending}"


def _in_order(groups: Sequence[list[Item]]) -> list[list[Item]]:
    """The frames of a clip sorted by time, or by name if not all have a time."""
    timed = all(group[0].time_s is not None for group in groups)

    def order_key(group: list[Item]) -> tuple[float, NaturalKey]:
        return (group[0].time_s or 0.0) if timed else 0.0, natural_key(group[0].frame.as_posix())

    return sorted(groups, key=order_key)


def _rate(groups: Sequence[Sequence[Item]]) -> float:
    first, last = groups[0][0].time_s, groups[-1][0].time_s
    if first is None or last is None or last <= first:
        return RATE_FPS
    return (len(groups) - 1) / (last - first)


def _sounds(
    items: Iterable[Item], source: Path, clips: Mapping[str, str], *, groups: Mapping[str, str], by_group: bool
) -> list[PerturbedPart]:
    """One part per file; with a recipe per group, one for each group that uses the file.

    The draws of a group do not depend on other groups with the same file. A file of a single group keeps its name.
    """
    by_path: dict[Path, dict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if item.audio is not None:
            by_path[item.audio][groups[item.id]].append(item)
    names = {path: frame_name_of(path, source) for path in by_path}
    stems = Counter(Path(name).stem for name in names.values())
    parts = []
    for path, per_group in by_path.items():
        (first, members), *others = per_group.items()
        whole = PerturbedPart(
            id=f"audio:{names[path]}",
            medium="sound",
            key=first if members[0].id in clips and not others else f"audio:{names[path]}",
            group=first,
            path=path,
            name=f"audio/{_with_ending(names[path], '.wav', stems)}",
            carried=f"audio/{names[path]}",
            items=tuple(item for members in per_group.values() for item in members),
        )
        if not by_group:
            parts.append(whole)
            continue
        for group, members in per_group.items():
            part_id = f"{whole.id}:{group}"
            part = replace(whole, group=group, key=group if members[0].id in clips else part_id, items=tuple(members))
            parts.append(replace(part, id=part_id, name=tagged(whole.name, part_id)) if others else part)
    return parts


def _texts(items: Iterable[Item], clips: Mapping[str, str], groups: Mapping[str, str]) -> list[PerturbedPart]:
    """One part per expression; the same text in one video has the same key, and so the same perturbation."""
    return [
        PerturbedPart(
            id=f"text:{item.id}",
            medium="sentence",
            key=f"{clips[item.id]}:{digest_json(item.query.text)}" if item.id in clips else item.id,
            group=groups[item.id],
            text=item.query.text,
            items=(item,),
        )
        for item in items
        if item.query.text
    ]


# --- any INPUT ---

TEXT_SUFFIXES: Final = frozenset({".txt", ".csv"})
MEDIA = (
    "a picture, a video, a sound, a folder of them, sentences (.txt with one a line, or .csv with columns id,text), "
    f"or items: {INPUTS}"
)
_ENDINGS: Final[tuple[tuple[InputMedium, frozenset[str], str], ...]] = (
    ("picture", FRAME_SUFFIXES, ".png"),
    ("video", VIDEO_SUFFIXES, ".mkv"),
    ("sound", SOUND_SUFFIXES, ".wav"),
)
_ENDINGS_READ: Final = "; ".join(
    f"{medium}: {', '.join(sorted(endings))}"
    for medium, endings in (*((medium, endings) for medium, endings, _ in _ENDINGS), ("sentences", TEXT_SUFFIXES))
)
_LISTS: Final = frozenset({".json", ".jsonl", ".xml"})
"""Endings of lists of items, whose layout is told apart by what they hold."""
_MOST_DEPTH: Final = 5


def parts_of(
    source: Path, options: ListOptions, *, rooms: frozenset[str], out: Path, by_group: bool, as_clips: bool = False
) -> PerturbedParts:
    """List the parts of an INPUT that the given rooms can perturb, without files of the output folder.

    With ``as_clips`` the pictures of a folder are the frames of a clip.
    """
    if is_folder(source) and source.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            "the output folder holds the input",
            path=source,
            expected="an output folder beside the input, or in it",
            hint="give another --out",
        )
    result = _found(source, options, out, by_group=by_group)
    if as_clips and result.listing is None:
        result = replace(result, parts=_as_clips(result.parts))
    idle = [part for part in result.parts if not part.rooms & rooms]
    if len(idle) == len(result.parts) and (result.parts or not result.errors):
        raise _nothing_for(rooms, result, source)
    wanted = [part for part in result.parts if part.carried or part.rooms & rooms]
    notes = left_out((part for part in idle if not part.carried), "nothing is done to it")
    return replace(result, parts=tuple(wanted), notes=(*result.notes, *notes))


def _nothing_for(rooms: frozenset[str], parts: PerturbedParts, source: Path) -> NothingToDo:
    needed = [medium for medium in ROOMS_OF if ROOMS_OF[medium] & rooms]
    kinds = [*needed, *(["text"] if "sentence" in needed else [])]
    contents = ", ".join(counted(count, kind) for kind, count in Counter(part.kind for part in parts.parts).items())
    hint = f"it holds {contents or ('no file that is known' if parts.sentences is None else 'no sentence')}"
    if rooms == {"timing"}:
        kinds.append("a folder of the frames of one")
        if parts.listing is not None:
            hint = "the frames of items stand alone: give the folder of a clip's frames, or its video"
    return NothingToDo(
        f"the input holds nothing that {' or '.join(sorted(rooms))} can perturb",
        path=source,
        expected=" or ".join(kinds if rooms == {"timing"} else sorted(kinds)),
        hint=hint,
    )


def _as_clips(parts: Sequence[PerturbedPart]) -> tuple[PerturbedPart, ...]:
    """The same parts, with the pictures of a folder as one clip in natural order of names."""
    folders: dict[Path, list[PerturbedPart]] = defaultdict(list)
    for part in parts:
        if part.medium == "picture" and part.path is not None:
            folders[part.path.parent].append(part)
    placed: dict[str, PerturbedPart] = {}
    for members in folders.values():
        members.sort(key=lambda part: natural_key(part.id))
        paths = tuple(part.path for part in members if part.path is not None)
        clip = str(PurePosixPath(members[0].id).parent)
        for index, part in enumerate(members if len(paths) > 1 else ()):
            placed[part.id] = replace(part, key=clip, group=clip, index=index, count=len(paths), clip=paths)
    return tuple(placed.get(part.id, part) for part in parts)


def _found(source: Path, options: ListOptions, out: Path, *, by_group: bool) -> PerturbedParts:
    if not (is_folder(source) or is_file(source)):
        raise UsageError("there is no such file or folder", path=source, expected=MEDIA)
    if options == ListOptions() and (alone := _alone(source)) is not None:
        return alone
    try:
        layout = find_layout(source, options)
    except NothingToDo as error:
        if source.is_dir() and options == ListOptions():
            return _folder(source, out)
        _refuse_reading(source, options)
        if suffix(source.name) in _LISTS or source.is_dir():
            raise
        raise NothingToDo(
            f"a file that ends in {suffix(source.name) or 'nothing'} is not read here",
            path=source,
            expected=_ENDINGS_READ,
            hint="convert it to one of these",
        ) from error
    if layout.name == FolderDataset.name and options == ListOptions() and _frames_alone(source, out):
        return _folder(source, out)
    return item_parts(source, options, by_group=by_group)


def _refuse_reading(source: Path, options: ListOptions) -> None:
    """Refuse options of reading items for an INPUT of one picture, video, sound or file of sentences."""
    given = [field.name for field in fields(options) if getattr(options, field.name) != field.default]
    if given and _alone(source) is not None:
        words = " and ".join(f"--{name}" for name in given)
        raise UsageError(
            f"{words} had no effect: the input is one file, and no list of items",
            path=source,
            expected=INPUTS,
            hint=f"leave out {words}",
        )


def _alone(source: Path) -> PerturbedParts | None:
    """A file that is one picture, video or sound, or holds sentences."""
    if not source.is_file():
        return None
    if suffix(source.name) in TEXT_SUFFIXES:
        sentences = read_sentences(source)
        rows = tuple(
            PerturbedPart(id=row.id, medium="sentence", key=row.id, group=row.id, text=row.text)
            for row in sentences.rows
        )
        errors = tuple((None, error) for error in sentences.errors)
        return PerturbedParts(layout="sentences", parts=rows, errors=errors, sentences=sentences)
    parts = _media({source.name: source})
    return PerturbedParts(layout="file", parts=parts) if parts else None


def _frames_alone(source: Path, out: Path) -> bool:
    """Whether a folder has ``frames/`` without masks beside them: nothing elsewhere could be a mask."""
    if any((source / name).is_dir() for name in MASK_FOLDERS):
        return False
    _, files = _walked(source, out)
    may_be_masks = (name for name in files if suffix(name) in FRAME_SUFFIXES | MASK_SUFFIXES)
    return all(PurePosixPath(name).parts[0] == "frames" for name in may_be_masks)


def _walked(source: Path, out: Path) -> tuple[Tree, dict[str, Path]]:
    """The files of a folder by name, without those of the output folder in it."""
    tree, home = walk(source, root=source), out.resolve()
    return tree, {name: path for name, path in tree.files.items() if not path.resolve().is_relative_to(home)}


def _folder(source: Path, out: Path) -> PerturbedParts:
    tree, files = _walked(source, out)
    parts = _media(files)
    if not parts and not tree.errors:
        endings = Counter(suffix(path.name) or "no ending" for path in files.values()).most_common(3)
        held = ", ".join(f"{ending} ({count})" for ending, count in endings)
        hint = f"its files end in {held}; read are {_ENDINGS_READ}" if held else ""
        raise NothingToDo("the folder holds no picture, video or sound", path=source, expected=MEDIA, hint=hint)
    others, hidden = len(files) - len(parts), _hidden(source, out.resolve())
    notes = [f"left out, neither picture, video nor sound: {counted(others, 'file')}"] if others else []
    notes += [f"left out, hidden by a dot: {counted(hidden, 'name')}"] if hidden else []
    errors = tuple((None, error) for error in tree.errors)
    return PerturbedParts(layout="folder", parts=parts, errors=errors, notes=tuple(notes))


def _hidden(source: Path, out: Path) -> int:
    """The number of hidden files and folders, which are ignored; without those of the output folder."""
    count = 0
    for folder, folders, files in os.walk(source):
        count += sum(name.startswith(".") for name in (*folders, *files))
        folders[:] = [name for name in folders if not name.startswith(".") and Path(folder, name).resolve() != out]
    return count


def _media(files: Mapping[str, Path]) -> tuple[PerturbedPart, ...]:
    """The pictures, videos and sounds among files."""
    parts = [
        PerturbedPart(id=name, medium=medium, key=name, group=name, path=path, name=_plain(stem(name)) + ending)
        for name, path in files.items()
        for medium, endings, ending in _ENDINGS
        if suffix(name) in endings
    ]
    counts = Counter(part.name.casefold() for part in parts)
    return tuple(
        named_apart(
            # files that differ only in their suffixes keep them
            part if counts[part.name.casefold()] == 1 else replace(part, name=_plain(part.id) + suffix(part.name))
            for part in parts
        )
    )


def _plain(name: str) -> str:
    """A relative name that is allowed in a record: limited depth, safe characters, no hidden parts."""
    pieces = name.split("/")
    return "/".join(map(safe_name, pieces)) if len(pieces) <= _MOST_DEPTH else safe_name(name)
