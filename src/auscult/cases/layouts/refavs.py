"""The layout of Ref-AVSBench: names of its files, and its table as bytes.

::

    metadata.csv                              vid,uid,split,fid,exp
    media/<folder>/frames/0.jpg .. 9.jpg      one frame a second
    media/<folder>/audio.wav
    gt_mask/<folder>/fid_<fid>/00000.png ..   any value above 0 is the object

A ``uid`` is ``<folder>_<object>_<n>``: the folder is the uid without its last two underscore parts. An expression that
refers to nothing has the object word ``null``; in the release its folder begins with ``null_m-`` or ``null_c-``, and a
sound that was exchanged for it stands in ``media_cross/<folder>/audio.wav``.

Source: Wang et al. 2024, Ref-AVS (ECCV), release GeWu-Lab/Ref-AVS.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

COLUMNS = ("vid", "uid", "split", "fid", "exp")
SPLITS = ("train", "val", "test_s", "test_u", "test_n")
TODO = "TODO"
TABLE = "metadata.csv"
MEDIA, CROSS, MASKS = "media", "media_cross", "gt_mask"
FRAMES = 10
NULL = "null"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRow:
    """One row of ``metadata.csv``."""

    vid: str  # of a null expression the video it was made from
    uid: str  # ``<folder>_<object>_<n>``; not always unique in the release
    split: str  # one of ``SPLITS``, or ``TODO``
    fid: int  # number of the object's mask folder, from 0
    exp: str
    kfid: int | None = None  # number of the key frame, which MQ-RAVSBench adds as a sixth column; None without it
    line: int = 0  # the line of the file, from 1; 0 for a row that is to be written
    id: str = ""  # what the row read is called: the uid, or ``<uid>#2`` for the second row of one uid

    @property
    def folder(self) -> str:
        """The folder of frames, sound and masks: the uid without its last two underscore parts."""
        return self.uid.rsplit("_", 2)[0]

    @property
    def word(self) -> str:
        """The object word; ``null`` where the expression refers to nothing, empty where the uid has no such part."""
        parts = self.uid.rsplit("_", 2)
        return parts[1] if len(parts) == 3 else ""

    @property
    def absent(self) -> bool:
        """Whether the expression refers to nothing."""
        return self.word == NULL


def uid_of(folder: str, word: str, number: int) -> str:
    """The uid of the ``number``-th expression, from 1, of an object word, written with hyphens."""
    return f"{folder}_{'-'.join(word.replace('_', ' ').split()) or 'object'}_{number}"


def frame_name(folder: str, frame: int) -> str:
    """Where a frame stands, relative to the data root."""
    return f"{MEDIA}/{folder}/frames/{frame}.jpg"


def sound_name(folder: str) -> str:
    """Where the sound stands."""
    return f"{MEDIA}/{folder}/audio.wav"


def mask_name(folder: str, fid: int, frame: int) -> str:
    """Where a true mask stands."""
    return f"{MASKS}/{folder}/fid_{fid}/{frame:05d}.png"


def metadata_csv(rows: Iterable[MetadataRow], *, key_frames: bool = False) -> bytes:
    """The table, in UTF-8 with a heading and LF line ends; ``key_frames`` adds the sixth column of MQ-RAVSBench."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, "kfid") if key_frames else COLUMNS)
    for row in rows:
        cells = (row.vid, row.uid, row.split, row.fid, row.exp)
        writer.writerow((*cells, "" if row.kfid is None else row.kfid) if key_frames else cells)
    return text.getvalue().encode("utf-8")
