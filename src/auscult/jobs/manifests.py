"""The manifest of a job over an INPUT: what was asked, what was defaulted, what was listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from auscult.cases.listing import Listing, ListOptions
from auscult.record.digest import digest_json
from auscult.record.manifest import build
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
