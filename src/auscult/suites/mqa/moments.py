"""A moment of an instance, opened: its masks as arrays, and what of it could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from auscult.errors import AuscultError, ErrorRecord, InputError
from auscult.media.frames import frame_size
from auscult.media.masks import read_mask
from auscult.record.digest import digest_file, digest_json
from auscult.record.schema import error_to_json
from auscult.types import Instance, Mask, MaskRef, Moment

REMARK = "truth"
"""Stage of another object's broken mask: it is named in ``errors.jsonl`` and costs no instance."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedMoment:
    """The masks of one annotated frame.

    Attributes:
        target: The referred object, bool (H, W); may be empty. None where the data set has none for this frame.
        others: The other objects, each bool (H, W); None where there is none or it cannot be read.
        remarks: Why another object's mask could not be read.
    """

    target: Mask | None
    others: tuple[Mask | None, ...]
    remarks: tuple[ErrorRecord, ...] = ()

    @property
    def area(self) -> int:
        """Pixels of the target."""
        return 0 if self.target is None else int(self.target.sum())

    @property
    def objects(self) -> int:
        """How many objects have a pixel in this frame, the target among them."""
        return sum(mask is not None and bool(mask.any()) for mask in (self.target, *self.others))


def open_moment(moment: Moment) -> OpenedMoment:
    """Read the masks of a moment.

    Raises:
        InputError: The frame is missing or no picture, or the target's mask cannot be read or has another size.
    """
    size = frame_size(moment.frame)
    target = None if moment.target is None else read_mask(moment.target, size=size).mask
    others: list[Mask | None] = []
    remarks: list[ErrorRecord] = []
    for ref in moment.others:
        other = _other(ref, size)
        others.append(None if isinstance(other, AuscultError) else other)
        if isinstance(other, AuscultError):
            remarks.append(ErrorRecord.of(other, REMARK))
    return OpenedMoment(target=target, others=tuple(others), remarks=tuple(remarks))


def _other(ref: MaskRef | None, size: tuple[int, int]) -> Mask | AuscultError | None:
    try:
        return None if ref is None else read_mask(ref, size=size).mask
    except InputError as error:
        return error


def digest_of(instance: Instance, moments: Sequence[int]) -> str:
    """Hash of what is made use of: expression, and of each moment the frame's and the masks' content.

    Raises:
        InputError: The frame or the target's mask can no longer be read.
    """
    content: list[object] = [instance.query.text, instance.category, instance.template]
    for index in moments:
        moment = instance.moments[index]
        content.append([digest_file(moment.frame), _mask_digest(moment.target)])
        content.append([_digest_or_nothing(ref) for ref in moment.others])
    return digest_json(content)


def _digest_or_nothing(ref: MaskRef | None) -> object:
    try:
        return _mask_digest(ref)
    except InputError:
        return "unreadable"  # as the mask is not there for the making either


def _mask_digest(ref: MaskRef | None) -> object:
    if ref is None:
        return None
    content = digest_file(ref.path) if ref.path is not None else digest_json(ref.segmentation)
    return [content, ref.index, ref.labels]


def failed_row(instance: Instance, error: AuscultError, stage: str) -> dict[str, Any]:
    """The row of an instance's error; it names the line of the source where the error names no file itself."""
    record = ErrorRecord.of(error, stage)
    if record.path is None and instance.source is not None:
        record = replace(record, path=str(instance.source), line=instance.line)
    return error_to_json(instance.id, record)
