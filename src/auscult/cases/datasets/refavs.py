"""Ref-AVSBench: a folder with ``metadata.csv``, ``media/`` and ``gt_mask/``; ``auscult make scenes`` writes the same.

A row is an expression of one object (``fid``) of one clip. As instances, each has its ten true masks and, as others,
the clip's other objects, referred to or not. As items, every object of every frame is listed once, its true mask as the
candidate, asked by the first expression that refers to it. Rows marked ``TODO`` are left out; a uid that stands on
several rows, as eleven do in the release, is kept as it is on the first and gets ``#2``, ``#3`` on the further ones.
Missing files are told once a clip. Frame ``k`` is the picture at second ``k``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from auscult.cases.datasets.refavs_clips import Clips
from auscult.cases.datasets.refavs_scenes import Scenes, read_scenes
from auscult.cases.datasets.refavs_table import Named, Rows, has_heading, read_table, template_of
from auscult.cases.ids import counted
from auscult.cases.instances import InstanceListing
from auscult.cases.layouts.refavs import COLUMNS, CROSS, MASKS, MEDIA, TABLE
from auscult.cases.listing import ListError, Listing, ListOptions, refuse_options
from auscult.cases.walk import base_folder, boundary, is_folder
from auscult.types import Instance, Item, Metadata, Moment, Query


@dataclass(slots=True)
class _Bench:
    """What the table and the folders say together.

    Attributes:
        file: The table.
        rows: Its rows.
        clips: The clips.
        by_folder: The rows of each clip's folder.
        scenes: What is known beside, of scenes that auscult made.
    """

    file: Path
    rows: Rows
    clips: Clips
    by_folder: Mapping[str, Sequence[Named]] = field(default_factory=dict)
    scenes: Scenes = field(default_factory=Scenes)
    _words: dict[str, Mapping[int, str]] = field(default_factory=dict)

    def words(self, folder: str) -> Mapping[int, str]:
        """Object number to the object word of the first row that refers to it; not those of null expressions."""
        if folder not in self._words:
            told: dict[int, str] = {}
            for one in self.by_folder.get(folder, ()):
                if not one.row.absent:
                    told.setdefault(one.row.fid, one.row.word)
            self._words[folder] = told
        return self._words[folder]

    def name(self, folder: str, fid: int) -> str:
        """What an object is called; empty where nobody says it."""
        return self.words(folder).get(fid) or self.scenes.categories.get((folder, fid), "")

    def objects(self, folder: str) -> list[int]:
        """The objects of a clip that have masks; a number that only null expressions name is none."""
        words = self.words(folder)
        empty = {one.row.fid for one in self.by_folder.get(folder, ()) if one.row.absent} - words.keys()
        return [fid for fid in self.clips.clip(folder).masks if fid not in empty]

    def errors(self) -> tuple[ListError, ...]:
        """Rows and clips that cannot be used, clips in the order of the table; once all clips were looked up."""
        told = list(self.rows.errors)
        for folder in self.by_folder:
            told += self.clips.clip(folder).errors
            told += self.clips.missing(folder, self.words(folder))
        return tuple((None, error) for error in told)


class RefAvsDataset:
    """Referring audio-visual segmentation as released."""

    name = "datasets.refavs.v1"
    meta = Metadata(
        summary="Ref-AVSBench: metadata.csv, media/ and gt_mask/; also what `auscult make scenes` writes",
        goal="lists expressions of what is seen and heard, with the masks of every object of the clip",
        modality="video",
        source="Wang et al. 2024 (Ref-AVS, ECCV), release GeWu-Lab/Ref-AVS",
        truth="gt_mask/<folder>/fid_<fid>/",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a folder with a table of that heading; ``frames`` or ``masks`` name another layout."""
        if options.frames is not None or options.masks is not None:
            return False
        return has_heading(source / TABLE, *COLUMNS)

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object of every frame.

        Raises:
            NothingToDo: The table cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        bench = _open(source, options)
        items = tuple(item for folder in bench.by_folder for item in _items(bench, folder))
        null = sum(one.row.absent for one in bench.rows.rows)
        notes = (*bench.rows.notes(), *bench.scenes.notes())
        if null:
            notes = (
                *notes,
                f"{counted(null, 'null expression')} left out: nothing is referred to, so no mask is judged",
            )
        return Listing(items, bench.errors(), self.name, notes)

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every expression whose clip has a frame, in the order of the table.

        Raises:
            NothingToDo: The table cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        bench = _open(source, options)
        found = [instance for one in bench.rows.rows if (instance := _instance(bench, one)) is not None]
        lost = len(bench.rows.rows) - len(found)
        notes = (*bench.rows.notes(), *bench.scenes.notes())
        if lost:
            notes = (*notes, f"{counted(lost, 'row')} without a single frame and mask left out")
        return InstanceListing(instances=tuple(found), errors=bench.errors(), layout=self.name, notes=notes)


def _open(source: Path, options: ListOptions) -> _Bench:
    refuse_options(options, "frames", "masks", "images", "instances", layout="a folder with metadata.csv")
    base_folder(source, options.root)  # which refuses a root that does not contain it
    for top in (MEDIA, CROSS, MASKS):
        if is_folder(source / top):
            boundary(source / top, source=source, root=options.root)  # a link out is told once, not once a clip
    file = source / TABLE
    rows = read_table(file)
    by_folder: dict[str, list[Named]] = {}
    for one in rows.rows:
        by_folder.setdefault(one.row.folder, []).append(one)
    return _Bench(
        file=file, rows=rows, clips=Clips(source, options.root), by_folder=by_folder, scenes=read_scenes(source)
    )


def _items(bench: _Bench, folder: str) -> Iterator[Item]:
    clip, words = bench.clips.clip(folder), bench.words(folder)
    first: dict[int, Named] = {}
    for one in bench.by_folder[folder]:
        first.setdefault(one.row.fid, one)
    objects = bench.objects(folder)
    sound = bench.clips.sound(folder, vid=folder, absent=False)
    for number, frame in clip.frames.items():
        refs = {fid: ref for fid in objects if (ref := clip.ref(fid, number)) is not None}
        for fid, ref in refs.items():
            row = first[fid].row if fid in words else None
            yield Item(
                id=f"{folder}/fid_{fid}/{number:05d}",
                frame=frame,
                mask=ref,
                query=Query(None if row is None else row.exp),
                clip=folder,
                time_s=float(number),
                audio=sound,
                others=tuple(other for one, other in refs.items() if one != fid),
                extra={"fid": fid}
                if row is None
                else {"uid": row.uid, "fid": fid, "split": row.split, "category": row.word},
                source=bench.file,
                line=None if row is None else row.line,
            )


def _instance(bench: _Bench, one: Named) -> Instance | None:
    row = one.row
    clip = bench.clips.clip(row.folder)
    beside = row.folder
    others = [fid for fid in bench.objects(row.folder) if row.absent or fid != row.fid]
    if row.absent and not others and row.vid in bench.by_folder:
        beside, others = row.vid, bench.objects(row.vid)  # the same pictures with another or no sound
    near = bench.clips.clip(beside)
    moments = tuple(
        Moment(
            frame=frame,
            target=clip.ref(row.fid, number),
            others=tuple(near.ref(fid, number) for fid in others),
            time_s=float(number),
        )
        for number, frame in clip.frames.items()
    )
    if not moments or not (row.absent or any(moment.target is not None for moment in moments)):
        return None
    return Instance(
        id=one.id,
        clip=row.vid,
        query=Query(row.exp),
        moments=moments,
        split=row.split,
        category="" if row.absent else row.word,
        template=bench.scenes.families.get(row.uid) or template_of(row.exp),
        others=tuple(bench.name(beside, fid) for fid in others),
        sound=bench.clips.sound(row.folder, vid=row.vid, absent=row.absent),
        absent=row.absent,
        source=bench.file,
        line=row.line,
    )


DATASET = RefAvsDataset()
