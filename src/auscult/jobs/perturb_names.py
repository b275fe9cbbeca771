"""Names of the files that parts are written to: each part its own, also where upper and lower case are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from pathlib import PurePosixPath

from auscult.jobs.perturb_parts import Part


def named_apart(parts: Iterable[Part]) -> list[Part]:
    """Give each part files of its own: names that several parts could be written to get a hash of the part's id.

    A part may be perturbed or carried along, so both of its names count. Parts that share neither keep theirs.
    """
    found = list(parts)
    wanted = Counter(name for part in found for name in {part.name.casefold(), part.carried.casefold()})

    def own(name: str, part: Part) -> str:
        return _tagged(name, part.id) if name and wanted[name.casefold()] > 1 else name

    return [replace(part, name=own(part.name, part), carried=own(part.carried, part)) for part in found]


def _tagged(name: str, of: str) -> str:
    path = PurePosixPath(name)
    tag = blake2b(of.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return str(path.with_name(f"{path.stem}-{tag}{path.suffix}"))
