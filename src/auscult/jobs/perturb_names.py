"""Names of the files that parts are written to: each part its own, also where upper and lower case are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from auscult.jobs.perturb_parts import Part


def named_apart(parts: Iterable[Part]) -> list[Part]:
    """Give each part files of its own: names that several parts could be written to get a hash of the part's id.

    A part may be perturbed or carried along, so both of its names count. Parts that share neither keep theirs. Parts of
    one file, such as a sound of several clips, have names that differ already, and may share the name of its copy.
    """
    found = list(parts)
    owners: dict[str, set[Path | str]] = defaultdict(set)
    for part in found:
        for name in (part.name, part.carried):
            owners[name.casefold()].add(part.path or part.id)

    def own(name: str, part: Part) -> str:
        return tagged(name, part.id) if name and len(owners[name.casefold()]) > 1 else name

    return [replace(part, name=own(part.name, part), carried=own(part.carried, part)) for part in found]


def tagged(name: str, of: str) -> str:
    """A name with a hash of what it is of, before its ending."""
    path = PurePosixPath(name)
    tag = blake2b(of.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return str(path.with_name(f"{path.stem}-{tag}{path.suffix}"))
