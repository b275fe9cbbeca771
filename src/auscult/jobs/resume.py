"""What a run was made with (its manifest), and going on with it: what is done stays done while its files are the same.

New items of INPUT are simply judged too. A result whose files have changed or gone since would be a lie, so the run is
refused and the file is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from auscult.cases.listing import Listing, ListOptions
from auscult.errors import AuscultError, Mismatch
from auscult.record.digest import digest_file, digest_json
from auscult.record.manifest import build
from auscult.types import Item
from auscult.work.pool import default_workers

# What may differ when a run is resumed: arguments that change no result, and the list of items, since new ones are
# simply done too and each done one is checked by its own hash.
SAME_RESULT = frozenset({"workers", "timeout", "max_failed", "overwrite", "out", "items", "listed", "notes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """What every job over an INPUT asks for.

    Attributes:
        source: INPUT: a folder, an ``items.jsonl`` or a COCO json.
        out: The output folder.
        listing: How INPUT is read.
        workers: Worker processes; None for one per processor, 0 for this process.
        timeout_s: Limit for the masks of one frame together.
        overwrite: Start anew over an earlier record.
        given: Names of the options that the user spelled out, for the manifest.
    """

    source: Path
    out: Path
    listing: ListOptions = field(default_factory=ListOptions)
    workers: int | None = None
    timeout_s: float = 120.0
    overwrite: bool = False
    given: frozenset[str] = frozenset()

    @property
    def n_workers(self) -> int:
        """Worker processes, decided."""
        return default_workers() if self.workers is None else self.workers


def input_manifest(
    command: str,
    options: InputOptions,
    *,
    arguments: Mapping[str, Any],
    listing: Listing,
    seeds: Mapping[str, int],
) -> dict[str, Any]:
    """Describe a job over an INPUT."""
    everything = {
        "source": str(options.source.resolve()),
        "out": str(options.out),
        **arguments,
        "workers": options.n_workers,
        "timeout": options.timeout_s,
        **{key: _plain(value) for key, value in asdict(options.listing).items()},
    }
    spelled = options.given | {"source", "out"}
    return build(
        command,
        given={key: value for key, value in everything.items() if key in spelled},
        defaulted={key: value for key, value in everything.items() if key not in spelled},
        seeds=dict(seeds),
        inputs={
            "layout": listing.layout,
            "items": len(listing.items),
            "listed": digest_json([[item.id, item.frame.name, item.query.text] for item in listing.items]),
            "notes": list(listing.notes),
        },
    )


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)


HINT = "use --overwrite to begin anew, or another --out"


def input_digest(item: Item, frame_digest: str, *, sound: bool = False) -> str:
    """Hash of what was judged: the frame's bytes, the mask's bytes or inline values, the expression."""
    ref = item.mask
    mask = digest_file(ref.path) if ref.path is not None else digest_json(ref.segmentation)
    seen = [frame_digest, mask, ref.index, ref.labels, item.query.text]
    if not sound or item.audio is None:
        return digest_json(seen)
    try:
        heard = digest_file(item.audio)
    except AuscultError:
        heard = ""
    return digest_json([*seen, heard, item.time_s])


def refuse_other_scores(done: Mapping[str, object], items: Sequence[Item]) -> None:
    """Insist that the model's own score of what was done before is still the same."""
    by_id = {item.id: item for item in items}
    for name, before in done.items():
        item = by_id.get(name)
        if item is not None and item.model_score != before:
            raise Mismatch(
                f"{name} has a result in the folder, and the model's own score of it was {before}, now "
                f"{'not given' if item.model_score is None else item.model_score}",
                expected="the same scores as when the folder was begun",
                hint=HINT,
            )


def refuse_changed(done: Mapping[str, object], items: Sequence[Item]) -> None:
    """Insist that what was done before still comes from the same files.

    Args:
        done: Id to ``input_digest`` of what has a result.
        items: The INPUT as it is now.

    Raises:
        Mismatch: An item changed, can no longer be read, or is no longer there.
    """
    by_id = {item.id: item for item in items}
    frames: dict[Path, str] = {}
    for name, before in done.items():
        item = by_id.get(name)
        if item is None:
            raise Mismatch(f"{name} has a result in the folder and is no longer in the input", hint=HINT)
        try:
            if item.frame not in frames:
                frames[item.frame] = digest_file(item.frame)
            ways = (False, True) if item.audio is not None else (False,)
            same = any(input_digest(item, frames[item.frame], sound=sound) == before for sound in ways)
        except AuscultError as error:
            raise Mismatch(
                f"{name} has a result in the folder, and its files can no longer be read: {error.message}",
                path=error.path,
                hint=f"restore the file, or {HINT}",
            ) from error
        if not same:
            raise Mismatch(
                f"{name} has a result in the folder, and its frame, mask, text or sound has changed since",
                path=item.mask.path or item.frame,
                expected="the same input as when the folder was begun",
                hint=HINT,
            )
