"""A folder of Hugging Face ``datasets`` (ImageFolder): ``metadata.jsonl`` with a mask file and a picture on each line.

``mask_file_name`` names the mask, ``image_file_name`` or ``file_name`` the picture, both below the folder; without a
picture there, ``frame`` is looked for in ``--images``. ``category``, ``text``, ``score`` and further plain values stay
with the item. Ids are ``item``, or the mask's name without ending.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.fields import lines_of, parse
from auscult.cases.ids import check_id
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.problems import Problems, required_file
from auscult.cases.walk import boundary, chosen, is_folder, stem, within
from auscult.errors import InputError
from auscult.types import Item, MaskRef, Metadata, Query

FILE = "metadata.jsonl"
_MASK = "mask_file_name"
_HEAD_BYTES = 65_536
_MAX_LINE_BYTES = 16 << 20
_KNOWN = frozenset({_MASK, "image_file_name", "file_name", "frame", "item", "text", "score"})


class HfDatasetsDataset:
    """Masks that ``metadata.jsonl`` names."""

    name = "datasets.hf_datasets.v1"
    meta = Metadata(
        summary="Hugging Face datasets folder: metadata.jsonl with mask_file_name and image_file_name",
        goal="lists masks in the folder layout that datasets loads as ImageFolder",
        modality="mask",
        source="Hugging Face datasets, ImageFolder",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a folder whose ``metadata.jsonl`` names masks."""
        if any(value is not None for value in (options.frames, options.masks, options.instances)):
            return False
        try:
            if not (source / FILE).is_file():
                return False
            with (source / FILE).open("rb") as file:
                return f'"{_MASK}"'.encode() in file.read(_HEAD_BYTES)
        except OSError:
            return False

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every line."""
        refuse_options(options, "frames", "masks", "instances", layout="a metadata.jsonl that names the masks")
        base = boundary(source, source=source, root=options.root)
        pictures = source if options.images is None else chosen(source, options.images, "")
        problems, items, path = Problems(), list[Item](), source / FILE
        with required_file(path), path.open("rb") as file:
            for line, content in lines_of(file, max_bytes=_MAX_LINE_BYTES):
                with problems.skipping(path, line=line):
                    row = _parsed(content, line=line, path=path)
                    items.append(_item(row, source, base=base, pictures=pictures, line=line))
        return Listing(tuple(items), tuple(problems.found), self.name)


def _parsed(content: bytes | None, *, line: int, path: Path) -> object:
    if content is None:
        raise InputError("the line is too long", expected=f"at most {_MAX_LINE_BYTES:,} bytes")
    return parse(content, path=path, line=line)


def _item(row: object, source: Path, *, base: Path, pictures: Path, line: int) -> Item:
    if not isinstance(row, Mapping):
        raise InputError(f"the line is {fields.kind(row)}", expected=f"an object with {_MASK}")
    mask = fields.required(row, _MASK)
    picture = fields.text(row, "image_file_name") or fields.text(row, "file_name")
    if picture is not None:
        frame = within(base, home=source, name=picture)
    else:
        home = boundary(pictures, source=source, root=None) if is_folder(pictures) else base
        frame = within(home, home=pictures, name=fields.required(row, "frame"))
    plain: dict[str, Any] = {
        key: value
        for key, value in row.items()
        if key not in _KNOWN and isinstance(value, bool | int | float | str) and not key.startswith("auscult_")
    }
    return Item(
        id=check_id(fields.text(row, "item") or stem(mask)),
        frame=frame,
        mask=MaskRef(path=within(base, home=source, name=mask)),
        query=Query(fields.text(row, "text") or None),
        model_score=fields.number(row, "score"),
        extra=plain,
        source=source / FILE,
        line=line,
    )


DATASET = HfDatasetsDataset()
