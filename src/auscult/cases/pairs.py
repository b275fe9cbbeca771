"""Masks matched to frames by name: what the layouts that are folders have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from auscult.cases.ids import check_id, counted, natural_key, safe_id, shown
from auscult.cases.listing import Listing, Unmasked
from auscult.cases.problems import Problems, few
from auscult.cases.walk import Tree, stem, suffix, unmarked
from auscult.errors import ErrorRecord, InputError
from auscult.media.frames import FRAME_SUFFIXES, MASK_SUFFIXES
from auscult.media.masks import object_indices
from auscult.types import Item, MaskRef, Truth

_ONE = "; --objects union or best judges one mask a file"
_NO_FRAME = "a frame of the same name: frames/<stem>.jpg for masks/<stem>.png or masks/<stem>/<name>.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Folders that belong together."""

    frames: Tree
    masks: Tree  # the candidates: ``<stem>.png``, or ``<stem>/<name>.png`` for several of one frame
    truth: Tree | None = None  # the true masks, named like the candidates or like the frames, where there are any
    clip: str | None = None  # the clip of frames that stand in no folder of their own
    clips: bool = True  # whether a folder of frames is a clip
    prefix: str = ""  # put before every id, with its ``/``
    labels: bool | None = False  # read grey values as object indices; None: where they look like indices
    objects: str = "each"  # what the indices of one file are, as in ``ListOptions``
    whole: bool = False  # whether every frame should have a mask

    def clip_of(self, frame: str) -> str | None:
        """The clip of a frame, by its name without suffix: its folder; None for photographs."""
        return (frame.rpartition("/")[0] or self.clip) if self.clips else None


@dataclass(slots=True)
class Pairs:
    """The result of one or more pairings."""

    items: list[Item] = field(default_factory=list)  # in natural order of the frames
    problems: Problems = field(default_factory=Problems)
    without: int = 0  # how many frames have no mask
    bare: list[Unmasked] = field(default_factory=list)  # frames without a mask, in pairings that are not whole
    lost: list[Item] = field(default_factory=list)  # masks that cannot be used, of which the frame is known
    ignored: list[str] = field(default_factory=list)  # names of files among the masks that are no masks
    ambiguous: int = 0  # items left without truth: the true mask may be of several objects
    unmasked: list[Unmasked] = field(default_factory=list)  # frames whose true mask is not known

    def notes(self) -> tuple[str, ...]:
        """What was left out on purpose, in plain sentences."""
        counts = (
            (self.without, "{} without a mask", "frame"),
            (len(self.ignored), f"{{}} among the masks left out, no mask format: {few(self.ignored)}", "file"),
            (
                self.ambiguous,
                f"{{}} left without truth: the true mask does not say which object is meant{_ONE}",
                "item",
            ),
        )
        return tuple(words.format(counted(count, noun)) for count, words, noun in counts if count)

    def listing(self, layout: str, notes: tuple[str, ...] = ()) -> Listing:
        """All of it, as a layout lists it."""
        return Listing(
            tuple(self.items),
            tuple(self.problems.found),
            layout,
            notes=(*self.notes(), *notes),
            ignored=tuple(self.ignored),
            unmasked=tuple(self.unmasked),
            bare=tuple(self.bare),
            lost=tuple(self.lost),
        )

    def lose(self, name: str, *, frame: Path, clip: str | None, mask: Path) -> None:
        """Note that a mask of a frame failed, where its name can be an id."""
        if safe_id(name) is not None:
            self.lost.append(Item(id=name, frame=frame, mask=MaskRef(path=mask), clip=clip, source=mask))


def pair(pairing: Pairing, into: Pairs | None = None) -> Pairs:
    """Match the masks of one pairing to its frames, and give what comes of it, added to ``into``.

    A mask that has no frame, a picture given as a mask, and a file that cannot be opened for its indices each cost
    themselves only.
    """
    into = Pairs() if into is None else into
    for tree, stage in ((pairing.frames, "frames"), (pairing.masks, "read"), (pairing.truth, "truth")):
        into.problems.take(() if tree is None else tree.errors, stage=stage)
    frames = _frames(pairing, into)
    missing = _Missing(pairing, frames)
    matched: dict[str, list[tuple[str, Path]]] = {}
    for name, path in pairing.masks.files.items():
        if suffix(name) not in MASK_SUFFIXES:
            _no_mask(name, path, into=into, frames=frames, pairing=pairing)
            continue
        key = stem(name)
        owner = next((form for form in (key, unmarked(key), key.rpartition("/")[0]) if form in frames), None)
        if owner is not None:
            matched.setdefault(owner, []).append((key, path))
        else:
            missing.add(key, path, into)
    truths = _Truths(pairing.truth, labels=pairing.labels)
    for owner, frame in frames.items():
        for key, path in sorted(matched.get(owner, ()), key=lambda entry: natural_key(entry[0])):
            _add(_Candidate(pairing=pairing, owner=owner, key=key, frame=frame, path=path), truths, into)
    into.without += len(frames.keys() - matched.keys())
    listed = {gap.frame for gap in into.unmasked}
    (into.unmasked if pairing.whole else into.bare).extend(
        Unmasked(clip=pairing.clip_of(name), frame=frame, mask=pairing.masks.folder / f"{name}.png")
        for name, frame in frames.items()
        if name not in matched and frame not in listed
    )
    return into


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    pairing: Pairing
    owner: str
    key: str
    frame: Path
    path: Path

    @property
    def clip(self) -> str | None:
        return self.pairing.clip_of(self.owner)

    def unmasked(self, mask: Path, error: ErrorRecord) -> Unmasked:
        """Its frame, whose true mask cannot be opened."""
        return Unmasked(clip=self.clip, frame=self.frame, mask=mask, error=error)

    def refs(self) -> Iterator[tuple[str, MaskRef]]:
        """What to add to the id, and the mask, for every object of the file."""
        option = self.pairing.labels
        indices = object_indices(self.path, labels=option)
        labels = option is True or (option is None and bool(indices))
        if not indices or self.pairing.objects == "union":  # nothing drawn in a palette: an empty candidate
            yield "", MaskRef(path=self.path, labels=labels)
            return
        if self.pairing.objects == "best":
            yield "", MaskRef(path=self.path, labels=labels, proposals=indices)
            return
        for index in indices:
            yield f"#{index}", MaskRef(path=self.path, index=index, labels=labels)


def _add(candidate: _Candidate, truths: _Truths, into: Pairs) -> None:
    name = candidate.pairing.prefix + candidate.key
    try:
        refs = list(candidate.refs())
        into.unmasked += truths.unopened(candidate)
        for ending, ref in refs:
            truth = truths.of(candidate, ref, alone=len(refs) == 1)
            into.ambiguous += truth is None and truths.has(candidate)
            into.items.append(
                Item(
                    id=check_id(name + ending),
                    frame=candidate.frame,
                    mask=ref,
                    clip=candidate.clip,
                    truth=truth,
                    source=candidate.path,
                )
            )
    except InputError as error:
        record = into.problems.add(error, error.path or candidate.path, item=safe_id(name))
        into.unmasked.append(candidate.unmasked(candidate.path, record))
        into.lose(name, frame=candidate.frame, clip=candidate.clip, mask=candidate.path)


class _Truths:
    """The true masks of a pairing; each file is opened for its indices once."""

    def __init__(self, tree: Tree | None, *, labels: bool | None) -> None:
        files: Mapping[str, Path] = {} if tree is None else tree.with_suffix(MASK_SUFFIXES)
        self._files = {stem(name): path for name, path in files.items()}
        self._labels = labels is True
        self._indices = cache(self._open)
        self._errors: dict[Path, ErrorRecord] = {}

    def has(self, candidate: _Candidate) -> bool:
        """Whether there is a true mask for this candidate at all."""
        return self._path(candidate) is not None

    def unopened(self, candidate: _Candidate) -> list[Unmasked]:
        """The candidate's frame where its true mask cannot be opened; else nothing."""
        path = self._path(candidate)
        if path is None or self._indices(path) or path not in self._errors:
            return []
        return [candidate.unmasked(path, self._errors[path])]

    def of(self, candidate: _Candidate, ref: MaskRef, *, alone: bool) -> Truth | None:
        """The true mask of a candidate, or None where it is not clear which object it is."""
        path = self._path(candidate)
        if path is None:
            return None
        indices = self._indices(path)
        if not indices:
            clear = alone
            index = ref.index if indices is not None else None
        elif ref.index is None and candidate.pairing.objects == "union":
            clear, index = True, None
        elif ref.index is None:
            clear, index = len(indices) == 1, indices[0]
        else:
            clear, index = True, ref.index
        # an object that is out of the picture has no index there
        return Truth(mask=MaskRef(path=path, index=index, labels=self._labels, absent_ok=True)) if clear else None

    def _path(self, candidate: _Candidate) -> Path | None:
        return self._files.get(candidate.key) or self._files.get(candidate.owner)

    def _open(self, path: Path) -> tuple[int, ...] | None:
        try:
            return object_indices(path, labels=self._labels)
        except InputError as error:
            self._errors[path] = ErrorRecord.of(error, "truth")
            return None  # the report lists the error; judging goes on without truth


def _frames(pairing: Pairing, into: Pairs) -> dict[str, Path]:
    frames: dict[str, Path] = {}
    for name, path in pairing.frames.with_suffix(FRAME_SUFFIXES).items():
        first = frames.setdefault(stem(name), path)
        if first is not path:
            error = InputError(
                f"the frame {stem(name)} is there twice; {first.name} is used",
                expected="one picture for each frame",
                hint="remove one of the two",
            )
            into.problems.add(error, path, stage="frames")
    return dict(sorted(frames.items(), key=lambda entry: natural_key(entry[0])))


def _no_mask(name: str, path: Path, *, into: Pairs, frames: Mapping[str, Path], pairing: Pairing) -> None:
    if suffix(name) not in FRAME_SUFFIXES or stem(name) not in frames:
        into.ignored.append(name)
        return
    error = InputError(
        f"a mask as {suffix(name)}, a format that blurs what it stores",
        expected=f"one of: {', '.join(sorted(MASK_SUFFIXES))}",
        hint="write masks as PNG",
    )
    key = stem(name)
    record = into.problems.add(error, path, item=safe_id(pairing.prefix + key))
    into.unmasked.append(Unmasked(clip=pairing.clip_of(key), frame=frames[key], mask=path, error=record))
    into.lose(pairing.prefix + key, frame=frames[key], clip=pairing.clip_of(key), mask=path)


@dataclass(frozen=True)
class _Missing:
    """Masks of a pairing without a frame; what all of them ask for is computed once."""

    pairing: Pairing
    frames: Mapping[str, Path]

    @cached_property
    def folders(self) -> dict[str, str]:
        """The folders in which frames stand, and the ending of one of those in each."""
        return {name.rpartition("/")[0]: frame.suffix for name, frame in self.frames.items()}

    @cached_property
    def depths(self) -> set[int]:
        """How deep the folders of frames stand."""
        return {folder.count("/") + 1 if folder else 0 for folder in self.folders}

    @cached_property
    def foreign(self) -> dict[str, str]:
        """Files among the frames of which none is a format of frames, by their name without ending."""
        return {stem(name): name for name in self.pairing.frames.files if suffix(name) not in FRAME_SUFFIXES}

    def add(self, key: str, path: Path, into: Pairs) -> None:
        error = InputError("a mask for a missing frame", expected=_NO_FRAME, hint=self._advice(key))
        into.problems.add(error, path, item=safe_id(self.pairing.prefix + key))
        parent = key.rpartition("/")[0]
        name = key if parent in self.folders else parent
        if (folder := name.rpartition("/")[0]) in self.folders:
            # where it should stand, like those beside it
            frame = self.pairing.frames.folder / f"{name}{self.folders[folder]}"
            into.lose(self.pairing.prefix + key, frame=frame, clip=self.pairing.clip_of(name), mask=path)

    def _advice(self, key: str) -> str:
        if (other := self.foreign.get(key) or self.foreign.get(unmarked(key))) is not None:
            return (
                f"{shown(other)} is in no format of frames; convert it to one of: {', '.join(sorted(FRAME_SUFFIXES))}"
            )
        folder, _, name = key.rpartition("/")
        for form in (name, unmarked(name), name.rpartition("_")[0], name.rpartition("-")[0]):
            for owner in (f"{folder}/{form}", form) if folder else (form,):
                if form and owner in self.frames:
                    mask = f"{owner}/{name if name != form else folder.replace('/', '_')}"
                    return f"is it one of several masks of the frame {shown(owner)}? then name it {shown(mask)}"
        return f"add the frame {self._owner(key)}, or remove the mask"

    def _owner(self, key: str) -> str:
        """The frame that a mask without one most probably belongs to.

        ``a/b.png`` may be the mask of a frame ``a/b``, or one of several of a frame ``a``.
        """
        parent = key.rpartition("/")[0]
        if parent in self.folders or not parent:
            return key
        same_level, level_above = key.count("/") in self.depths, key.count("/") - 1 in self.depths
        return parent if level_above and not same_level else f"{key} or {parent}" if level_above else key
