"""The parts of items: each frame, each sound and each expression once, with what is drawn for them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from auscult.cases.ids import NaturalKey, group_by_frame, natural_key
from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import UsageError
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.perturb_names import named_apart, tagged
from auscult.jobs.perturb_parts import RATE_FPS, Part, Parts
from auscult.jobs.stressing import frame_name_of
from auscult.record.digest import digest_json
from auscult.types import Item


def item_parts(source: Path, options: ListOptions, *, by_group: bool = False) -> Parts:
    """The frames, sounds and expressions of the items of an INPUT.

    Args:
        source: INPUT.
        options: How it is read.
        by_group: Whether each clip and each loose picture has a recipe of its own. A sound that several of them share
            is a part for each of them then; else it is one part.

    Raises:
        NothingToDo: It holds no item.
        UsageError: An option does not fit it, or two of its files would have one name in the output.
    """
    listing = list_items(source, options)
    films = filmed(listing)
    frames = _frames(listing, source, films)
    groups = {item.id: frame.group for frame in frames for item in frame.items}
    sounds = _audios(listing.items, source, films, groups=groups, by_group=by_group)
    parts = [*named_apart([*frames, *sounds]), *_texts(listing.items, films, groups)]
    twice = [name for name, count in Counter(part.id for part in parts).items() if count > 1]
    if twice:
        raise UsageError(
            f"two files of the input would both be called {twice[0]}",
            expected="files that differ in more than the folders `frames` and `images`",
            hint="rename one of them",
            path=source,
        )
    return Parts(layout=listing.layout, parts=tuple(parts), errors=listing.errors, notes=listing.notes, listing=listing)


def _frames(listing: Listing, source: Path, films: frozenset[str]) -> list[Part]:
    """One part a frame; those of one film share what is drawn, and a loose picture has its own."""
    clips: dict[str, list[list[Item]]] = {}
    for group in group_by_frame(listing.items):
        first = group[0]
        clips.setdefault(f"clip:{first.clip}" if first.id in films else f"frame:{frame_id(first, source)}", []).append(
            group
        )
    cased = Counter(item.id.casefold() for item in listing.items)
    known = Counter(Path(frame_id(group[0], source)).stem for groups in clips.values() for group in groups)
    parts = []
    for key, members in clips.items():
        groups = _in_order(members)
        parts += [
            Part(
                id=frame_id(group[0], source),
                kind="frame",
                key=key.partition(":")[2],
                group=_group(group[0], source, films),
                path=group[0].frame,
                name=f"frames/{_ending(frame_id(group[0], source), '.png', known)}",
                carried=f"frames/{frame_id(group[0], source)}",
                index=index,
                count=len(groups),
                rate_fps=_rate(groups),
                items=tuple(group),
                twins=frozenset(item.id for item in group if cased[item.id.casefold()] > 1),
            )
            for index, group in enumerate(groups)
        ]
    return parts


def frame_id(item: Item, source: Path) -> str:
    """What the part of an item's frame is called: its file's name in the output."""
    return frame_name_of(item.frame, source)


def text_id(item: Item) -> str:
    """What the part of an item's expression is called."""
    return f"text:{item.id}"


def _texts(items: Iterable[Item], films: frozenset[str], groups: Mapping[str, str]) -> list[Part]:
    """One part an expression. What a film's items share as a text is one sentence, and is perturbed alike."""
    return [
        Part(
            id=text_id(item),
            kind="text",
            key=f"{item.clip}:{digest_json(item.query.text)}" if item.clip and item.id in films else item.id,
            group=groups[item.id],
            text=item.query.text,
            costs=(item.id,),
        )
        for item in items
        if item.query.text
    ]


def _group(item: Item, source: Path, films: frozenset[str]) -> str:
    """What a preset draws one recipe for: the clip of the first item of a frame, or the picture where it is of none.

    Sounds and expressions of all items of a frame go with it, also of those that call the clip otherwise.
    """
    return item.clip if item.clip and item.id in films else frame_id(item, source)


def audio_id(item: Item, source: Path, group: str = "") -> str:
    """What the part of an item's sound is called; with a group, what the part that is of it alone is."""
    assert item.audio is not None  # noqa: S101 - the callers looked
    return f"audio:{frame_name_of(item.audio, source)}{':' * bool(group)}{group}"


def _audios(
    items: Iterable[Item], source: Path, films: frozenset[str], *, groups: Mapping[str, str], by_group: bool
) -> list[Part]:
    """One part a file; with a recipe for each group, one for each group that the file is heard in."""
    heard: dict[Path, dict[str, list[Item]]] = {}
    for item in items:
        if item.audio is not None:
            heard.setdefault(item.audio, {}).setdefault(groups[item.id], []).append(item)
    names = {path: audio_id(next(iter(places.values()))[0], source) for path, places in heard.items()}
    known = Counter(Path(name.partition(":")[2]).stem for name in names.values())
    parts = []
    for path, places in heard.items():
        plain = names[path].partition(":")[2]
        (group, members), *others = places.items()
        one = Part(
            id=names[path],
            kind="audio",
            key=group if members[0].id in films and not others else names[path],
            group=group,
            path=path,
            name=f"audio/{_ending(plain, '.wav', known)}",
            carried=f"audio/{plain}",
            costs=tuple(item.id for members in places.values() for item in members),
        )
        parts += [_of_group(one, *place, films=films) for place in places.items()] if by_group else [one]
    return parts


def _of_group(sound: Part, group: str, items: Sequence[Item], *, films: frozenset[str]) -> Part:
    """The part of a sound that is of one group alone: what is drawn for it does not depend on who else has the file."""
    own, costs = f"{sound.id}:{group}", tuple(item.id for item in items)
    found = replace(sound, group=group, key=group if items[0].id in films else own, costs=costs)
    return found if costs == sound.costs else replace(found, id=own, name=tagged(sound.name, own))


def _ending(name: str, ending: str, known: Mapping[str, int]) -> str:
    """A name with another ending, after its own where two files differ in that alone."""
    return f"{Path(name).stem}{ending}" if known.get(Path(name).stem, 0) <= 1 else f"{name}{ending}"


def _in_order(groups: Sequence[list[Item]]) -> list[list[Item]]:
    """The frames of a clip by their times, or by their names where not all have one, whatever the order of lines."""
    timed = all(group[0].time_s is not None for group in groups)

    def place(group: list[Item]) -> tuple[float, NaturalKey]:
        return (group[0].time_s or 0.0) if timed else 0.0, natural_key(group[0].frame.as_posix())

    return sorted(groups, key=place)


def _rate(groups: Sequence[Sequence[Item]]) -> float:
    first, last = groups[0][0].time_s, groups[-1][0].time_s
    if first is None or last is None or last <= first:
        return RATE_FPS
    return (len(groups) - 1) / (last - first)
