"""JSON of tools that no layout reads: the keys it is known by, and the next step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auscult.media.paths import open_regular

_HEAD_BYTES = 1 << 18
_COCO = (b'"images"', b'"categories"')  # a file with one of these is read, whatever else its rows say
_LINES = (
    'write items.jsonl, a line {"id": "x/1", "frame": "x.jpg", "mask": {"size": [H, W], "counts": ...}} for each mask'
)


@dataclass(frozen=True, slots=True)
class ForeignJson:
    """What a tool writes: its name, keys that stand in the file's beginning, keys that do not, and the next step."""

    tool: str
    keys: tuple[bytes, ...]
    absent: tuple[bytes, ...]
    step: str


_KNOWN = (
    ForeignJson("Segment Anything, one picture's masks", (b'"stability_score"',), (b'"image_id"', *_COCO), _LINES),
    ForeignJson("SA-1B, one picture's masks", (b'"image"', b'"stability_score"'), _COCO, _LINES),
    ForeignJson("MMDetection, one picture's masks", (b'"bboxes"', b'"masks"', b'"scores"'), _COCO, _LINES),
    ForeignJson("Supervisely", (b'"classTitle"',), _COCO, "export the project as COCO, or as one mask file an object"),
    ForeignJson("Supervisely", (b'"projectType"',), _COCO, "export the project as COCO, or as one mask file an object"),
    ForeignJson(
        "Label Studio, as JSON-MIN",
        (b'"original_width"', b'"format"'),
        (b'"result"', *_COCO),
        "export the project as JSON, not as JSON-MIN",
    ),
)


def foreign_json(path: Path) -> ForeignJson | None:
    """The tool that wrote a JSON file which no layout reads; None where it is not known to be of one."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return None
    return next(
        (one for one in _KNOWN if all(key in head for key in one.keys) and not any(key in head for key in one.absent)),
        None,
    )
