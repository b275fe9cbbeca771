"""Make a training pack with less in it, from one that `auscult train compact-mask` made.

    python tools/less_material.py PACK OUT --without dog       all but one sequence
    python tools/less_material.py PACK OUT --share .25         a quarter of the photographs, sequences and scenes

Only the training part stays in it. A network trained on such a pack (`auscult train compact-mask --pack OUT`) shows how
a judge does on a sequence it never saw, or what more material would be worth. A smaller share's photographs are among a
larger one's. Scenes of a smaller pack still stand on photographs of the whole training part.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from auscult.errors import UsageError
from auscult.rng import generator
from auscult.train.compact.pack import PackedFrame, read_pack, write_pack


def main() -> None:
    """Write the pack and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=Path)
    parser.add_argument("out", type=Path)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--without", metavar="SEQUENCE")
    wanted.add_argument("--share", type=float)
    given = parser.parse_args()
    frames = read_pack(given.pack)
    names = {(one.source, one.cluster) for one in frames if one.part == "train"}
    left = without(names, given.without) if given.share is None else shared(names, given.share)
    size = write_pack(given.out, only(frames, left))
    sources = sorted({source for source, _ in left})
    told = ", ".join(f"{sum(kept == source for kept, _ in left)} of {source}" for source in sources)
    print(f"{given.out}: {told}; {size / 2**20:.1f} MiB")


def without(names: Collection[tuple[str, str]], sequence: str) -> set[tuple[str, str]]:
    """All but one sequence."""
    if ("davis", sequence) not in names:
        known = sorted(cluster for source, cluster in names if source == "davis")
        raise UsageError(f"the pack has no sequence {sequence}", expected=", ".join(known))
    return {one for one in names if one != ("davis", sequence)}


def shared(names: Collection[tuple[str, str]], share: float) -> set[tuple[str, str]]:
    """A share of each source's photographs, sequences or scenes, at least one, drawn by name."""
    kept: set[tuple[str, str]] = set()
    for source in {source for source, _ in names}:
        own = sorted(cluster for one, cluster in names if one == source)
        own.sort(key=lambda cluster: generator(0, "less material", cluster).random())
        kept |= {(source, cluster) for cluster in own[: math.ceil(share * len(own))]}
    return kept


def only(frames: Sequence[PackedFrame], left: Collection[tuple[str, str]]) -> Iterator[PackedFrame]:
    """The frames of these photographs, sequences and scenes; their numbers close up."""
    kept = [number for number, one in enumerate(frames) if (one.source, one.cluster) in left]
    new = {number: at for at, number in enumerate(kept)}
    for number in kept:
        before = frames[number].before
        yield replace(frames[number], before=None if before is None else new[before])


if __name__ == "__main__":
    main()
