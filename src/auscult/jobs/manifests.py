"""The manifest of a job over an INPUT: what was asked, what was defaulted, what was listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from auscult.cases.listing import Listing, ListOptions
from auscult.record.digest import digest_json
from auscult.record.manifest import build

# What may differ when a run is resumed: arguments that change no result, and the list of items, since new ones are
# simply done too and each done one is checked by its own hash.
SAME_RESULT = frozenset({"workers", "timeout", "max_failed", "overwrite", "out", "items", "listed", "notes"})


def input_manifest(
    command: str,
    arguments: Mapping[str, Any],
    *,
    given: frozenset[str],
    options: ListOptions,
    listing: Listing,
    seeds: Mapping[str, int],
) -> dict[str, Any]:
    """Describe a job over an INPUT.

    Args:
        command: The verb.
        arguments: Every argument of the verb, besides how INPUT is read.
        given: Names of the arguments that the user spelled out; ``source`` and ``out`` always are.
        options: How INPUT is read.
        listing: What was found there.
        seeds: Seeds by what they are for.
    """
    everything = {**arguments, **{key: _plain(value) for key, value in asdict(options).items()}}
    spelled = given | {"source", "out"}
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
