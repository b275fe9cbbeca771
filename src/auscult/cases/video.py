"""Masks of a video file: ``masks/00012.png``, or ``masks/00012/*.png`` for several of one frame.

A mask belongs to the frame whose number its name ends in. Frames are numbered from 0, or from 1 where the last number
is the number of frames. Where not every name ends in a number, or numbers begin elsewhere, masks are taken in natural
order, which needs one for each frame.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from auscult.cases.ids import counted, natural_key, safe_id, shown
from auscult.cases.listing import Listing, ListOptions, completed, refuse_options
from auscult.cases.pairs import Pairing, Pairs, pair
from auscult.cases.walk import Tree, boundary, chosen, is_folder, stem, suffix, walk
from auscult.errors import InputError, NothingToDo
from auscult.media.frames import MASK_SUFFIXES
from auscult.media.video import count_frames

LAYOUT: Final = "video"
_NUMBER: Final = re.compile(r"([0-9]{1,9})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoMasks:
    """The masks of a video file; their frames are not written yet."""

    listing: Listing  # items whose frames are ``<frames>/<number>.png``
    numbers: Mapping[Path, int]  # those frames with their numbers in the video, from 0


def list_video(video: Path, *, source: Path, frames: Path, options: ListOptions) -> VideoMasks:
    """List the masks of a video, in ``source``/masks or as ``--masks`` says; its frames will lie in ``frames``."""
    refuse_options(options, "frames", "images", "instances", layout="a video")
    count = count_frames(video)
    folder = chosen(source, options.masks, "masks")
    if not is_folder(folder):
        raise NothingToDo(
            f"there is no folder {folder}",
            path=video,
            expected="a folder with a mask for each frame: 00000.png, 00001.png, ...",
            hint="name it with --masks DIR",
        )
    masks = walk(folder, root=boundary(folder, source=source, root=options.root))
    number_of = _numbers(masks, count, video)
    present = {owner: number for owner, number in number_of.items() if 0 <= number < count}
    paths = {owner: frames / f"{number:06d}.png" for owner, number in present.items()}
    pairs = Pairs()
    files, behind = {}, 0
    for name, path in masks.files.items():
        owner = _owner(name)
        if owner in number_of and owner not in present:
            behind += 1
            error = InputError(
                f"a mask of frame {number_of[owner]}, which the video does not have",
                expected=f"frames 0 to {count - 1}",
                hint="rename or remove the mask, or name the right video",
            )
            pairs.problems.add(error, path, item=safe_id(stem(name)))
        else:
            files[name] = path
    tree = Tree(frames, {f"{owner}.png": path for owner, path in paths.items()})
    clip = video.resolve().stem
    pair(Pairing(frames=tree, masks=replace(masks, files=files), clip=clip, labels=options.labels), pairs)
    notes = [_matched(number_of, count)] if present else []
    if len(present) < count:
        notes.append(f"{counted(count - len(present), 'frame')} of {count} without a mask")
    listing = completed(pairs.listing(LAYOUT, tuple(notes)), video, options)
    return VideoMasks(listing=listing, numbers={path: present[owner] for owner, path in paths.items()})


def _owner(name: str) -> str:
    """The part of a mask's name that stands for the frame."""
    first, slash, _ = name.partition("/")
    return first if slash else stem(name)


def _numbers(masks: Tree, count: int, video: Path) -> dict[str, int]:
    """The number of each mask's frame, from 0, by the part of its name that stands for the frame."""
    owners = sorted({_owner(name) for name in masks.files if suffix(name) in MASK_SUFFIXES}, key=natural_key)
    ends = [_NUMBER.search(owner) for owner in owners]
    numbers = [int(end[1]) for end in ends if end is not None]
    if len(numbers) == len(owners) == len(set(numbers)):
        if numbers and min(numbers) > 0 and max(numbers) == count:
            return {owner: number - 1 for owner, number in zip(owners, numbers, strict=True)}
        if not numbers or max(numbers) < count or len(owners) != count:
            return dict(zip(owners, numbers, strict=True))
    if len(owners) != count:
        raise NothingToDo(
            f"{counted(len(owners), 'mask')} that {_unnumbered(owners, numbers)}, and {counted(count, 'frame')}",
            path=video,
            expected="a mask for each frame, in order; or names that end in the number of the frame: 00012.png",
            hint="rename the masks, or name another folder with --masks",
        )
    return {owner: number for number, owner in enumerate(owners)}


def _unnumbered(owners: Sequence[str], numbers: Sequence[int]) -> str:
    if len(numbers) == len(owners):
        return "have some number twice"
    first = next(owner for owner in owners if _NUMBER.search(owner) is None)
    return f"do not all end in a number ({shown(first)})"


def _matched(number_of: Mapping[str, int], count: int) -> str:
    """How masks were matched to frames, by an example."""
    owner, number = next(iter(number_of.items()))
    end = _NUMBER.search(owner)
    rule = "number" if end is not None and int(end[1]) - number in {0, 1} else "order"
    return f"masks are matched to the {count} frames of the video by {rule}: {owner} is frame {number}, counted from 0"
