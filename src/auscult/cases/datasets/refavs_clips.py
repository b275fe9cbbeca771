"""The files of one Ref-AVSBench clip: frames, sound and masks by number, and what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auscult.cases.ids import counted, shown
from auscult.cases.layouts.refavs import CROSS, FRAMES, MASKS, MEDIA
from auscult.cases.walk import Tree, boundary, is_file, is_folder, walk, within
from auscult.errors import ErrorRecord, InputError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.types import MaskRef

_FRAME = re.compile(r"^(?:frames/)?([0-9]{1,6})(\.[A-Za-z]+)$")
_MASK = re.compile(r"^fid_([0-9]{1,6})/([0-9]{1,6})(\.[A-Za-z]+)$")
_LISTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """What is there of a clip.

    Attributes:
        folder: Its folder in ``media`` and ``gt_mask``.
        frames: Frame number to picture, ascending.
        masks: Object number to its true masks by frame number, ascending.
        errors: What cannot be used, such as links that lead out.
    """

    folder: str
    frames: Mapping[int, Path]
    masks: Mapping[int, Mapping[int, MaskRef]]
    errors: tuple[ErrorRecord, ...] = ()

    def ref(self, fid: int, frame: int) -> MaskRef | None:
        """The true mask of an object on a frame, or None where there is no file."""
        return self.masks.get(fid, {}).get(frame)


@dataclass(slots=True)
class Clips:
    """The clips of a data root; each is looked up once.

    Attributes:
        source: The data root.
        root: Folder that links may reach; ``source`` by default.
    """

    source: Path
    root: Path | None = None
    _known: dict[str, Clip] = field(default_factory=dict)
    _limits: dict[str, Path] = field(default_factory=dict)
    _sounds: dict[str, Path | None] = field(default_factory=dict)
    _usual: int | None = None

    def clip(self, folder: str) -> Clip:
        """The files of a clip; a folder that leads out of the data root costs the clip."""
        if folder not in self._known:
            self._known[folder] = self._read(folder)
        return self._known[folder]

    def missing(self, folder: str, fids: Iterable[int]) -> list[ErrorRecord]:
        """What is missing of a clip: one record for all its frames, one for all masks of the objects referred to.

        Args:
            folder: The clip's folder.
            fids: The objects that are referred to.
        """
        clip = self.clip(folder)
        if any(error.stage == "read" for error in clip.errors):
            return []  # it is said already why there is nothing
        masks = {fid: clip.masks.get(fid, {}) for fid in sorted(set(fids))}
        drawn = {number for numbers in masks.values() for number in numbers}
        wanted = sorted({*range(self._length()), *clip.frames, *drawn})
        bare = [f"{number}.jpg" for number in wanted if number not in clip.frames]
        lost = [
            f"fid_{fid}/{number:05d}.png"
            for fid, numbers in masks.items()
            for number in wanted
            if number not in numbers
        ]
        records = []
        if bare:
            stage = "frames" if clip.frames else "read"
            path = self.source / MEDIA / folder / "frames"
            records.append(_lost(path, bare, "frame", of=len(wanted), stage=stage))
        if lost and clip.frames:
            stage = "truth" if all(masks.values()) else "read"
            records.append(_lost(self.source / MASKS / folder, lost, "mask", of=len(wanted) * len(masks), stage=stage))
        return records

    def _length(self) -> int:
        """How many frames most clips have; ten where there is none to tell."""
        if self._usual is None:
            counts = Counter(1 + max(clip.frames) for clip in self._known.values() if clip.frames)
            self._usual = max(counts, key=lambda length: (counts[length], length), default=FRAMES)
        return self._usual

    def sound(self, folder: str, *, vid: str, absent: bool) -> Path | None:
        """The sound of an expression: for a null expression the exchanged one goes first, under either name."""
        crossed = [f"{CROSS}/{name}/audio.wav" for name in (folder, vid)] if absent else []
        for name in (*crossed, f"{MEDIA}/{folder}/audio.wav"):
            if name not in self._sounds:
                self._sounds[name] = self._sound(name)
            if self._sounds[name] is not None:
                return self._sounds[name]
        return None

    def _sound(self, name: str) -> Path | None:
        try:
            path = self._path(name)
        except InputError:
            return None
        return path if is_file(path) else None

    def _read(self, folder: str) -> Clip:
        try:
            media, masks = self._tree(f"{MEDIA}/{folder}", MEDIA), self._tree(f"{MASKS}/{folder}", MASKS)
        except InputError as error:
            return Clip(folder=folder, frames={}, masks={}, errors=(ErrorRecord.of(error, "read"),))
        errors: list[ErrorRecord] = []
        for tree, stage in ((media, "frames"), (masks, "truth")):
            errors += [replace(error, stage=stage) for error in (() if tree is None else tree.errors)]
        return Clip(
            folder=folder,
            frames={} if media is None else _numbered_frames(media),
            masks={} if masks is None else _numbered_masks(masks),
            errors=tuple(errors),
        )

    def _path(self, name: str) -> Path:
        return within(self.root or self.source, home=self.source, name=name)

    def _tree(self, name: str, top: str) -> Tree | None:
        path = self._path(name)
        if not is_folder(path):
            return None
        if top not in self._limits:
            self._limits[top] = boundary(self.source / top, source=self.source, root=self.root)
        return walk(path, root=self._limits[top])


def _numbered_frames(tree: Tree) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for name, path in tree.files.items():
        match = _FRAME.match(name)
        if match and name.startswith("frames/") and match[2].lower() in FRAME_SUFFIXES:
            found.setdefault(int(match[1]), path)
    return dict(sorted(found.items()))


def _numbered_masks(tree: Tree) -> dict[int, dict[int, MaskRef]]:
    found: dict[int, dict[int, MaskRef]] = {}
    for name, path in tree.files.items():
        match = _MASK.match(name)
        if match and match[3].lower() in MASK_SUFFIXES:
            found.setdefault(int(match[1]), {}).setdefault(int(match[2]), MaskRef(path=path, positive=True))
    return {fid: dict(sorted(found[fid].items())) for fid in sorted(found)}


def _lost(path: Path, names: Sequence[str], noun: str, *, of: int, stage: str) -> ErrorRecord:
    told = ", ".join(map(shown, names[:_LISTED])) + (", ..." if len(names) > _LISTED else "")
    missing = "all" if len(names) == of else str(len(names))
    error = InputError(
        f"{missing} of {counted(of, noun)} {'is' if len(names) == 1 else 'are'} missing: {told}",
        expected="frames 0.jpg to 9.jpg" if noun == "frame" else "00000.png to 00009.png of every object",
        hint="unpack the archive again, or drop the rows of this clip",
        path=path,
    )
    return ErrorRecord.of(error, stage)
