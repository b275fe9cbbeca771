"""What a run of perturbing keeps: lines of ``outputs.jsonl``, the small files they name; and what is done already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from auscult.errors import AuscultError, Mismatch
from auscult.jobs.errors import ErrorLog
from auscult.jobs.perturb_parts import Part
from auscult.jobs.perturb_work import Done, Task, done_id, output_name, part_digest
from auscult.jobs.resume import HINT
from auscult.record.folder import RunFolder

OUTPUTS: Final = "outputs.jsonl"


class Keeper:
    """Keeps what workers give back.

    Attributes:
        rows: The lines of ``outputs.jsonl`` by id whose files are there; of two with one id the later counts.
    """

    def __init__(self, run: RunFolder, errors: ErrorLog) -> None:
        self._run = run
        self._errors = errors
        lines = {str(row["id"]): row for row in run.lines(OUTPUTS)}
        self.rows: dict[str, Mapping[str, Any]] = {name: row for name, row in lines.items() if self._there(row)}

    def _there(self, row: Mapping[str, Any]) -> bool:
        """Whether the files of an output are there and as large as they were made; else it is made again."""
        try:
            return all((self._run.path / name).stat().st_size == size for name, size in row.get("bytes", {}).items())
        except OSError:
            return False

    def has(self, recipe: str, part: Part) -> bool:
        """Whether a part is done; a frame is not, as long as one of its items is missing."""
        row = self.rows.get(done_id(recipe, part.id))
        return row is not None and all(item.id in row.get("items", ()) for item in part.items)

    def claimed(self, task: Task) -> Task:
        """Note the files that a worker is about to write, so that a later run can remove them."""
        recipe, parts = task
        for part in parts:
            name = output_name(recipe, part)
            if name:
                self._run.claim(name)
            if part.kind == "video":
                self._run.claim(f"{name}.part")
        return task

    def tidied(self, task: Task) -> None:
        """Remove what a worker that was stopped left of a video."""
        recipe, parts = task
        for part in parts:
            if part.kind == "video":
                self._run.remove(f"{output_name(recipe, part)}.part")

    def keep(self, done: Iterable[Done]) -> None:
        """Write the files first: a file without its line is nothing, a line without its file would be a lie."""
        fresh: list[Mapping[str, Any]] = []
        for one in done:
            for name, data in one.files.items():
                self._run.write_bytes(name, data, durable=False)
            if one.row is not None:
                self.rows[one.id] = one.row
                fresh.append(one.row)
            self._errors.keep(one.errors)
        self._run.append_many(OUTPUTS, fresh)


def refuse_changed(rows: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, Sequence[Part]]) -> None:
    """Insist that what was made before still comes from the same files.

    Raises:
        Mismatch: A part changed, can no longer be read, or is no longer there.
    """
    known = {done_id(recipe, part.id): part for recipe, parts in wanted.items() for part in parts}
    digests: dict[tuple[str, ...], str] = {}
    for name, row in rows.items():
        part = known.get(name)
        if part is None:
            raise Mismatch(f"{name} was made in the folder and is no longer in the input", hint=HINT)
        try:
            made_of = (part.id, *row.get("items", ()))
            if made_of not in digests:
                digests[made_of] = part_digest(part, made_of[1:])
        except AuscultError as error:
            raise Mismatch(
                f"{name} was made in the folder, and its input can no longer be read: {error.message}",
                path=error.path,
                hint=f"restore the file, or {HINT}",
            ) from error
        if digests[made_of] != row.get("input"):
            raise Mismatch(f"{name} was made in the folder, and its input has changed since", path=part.path, hint=HINT)


def content_digest(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """One SHA-256 over the hashes of all outputs, by which two people compare what they built.

    Of every output, in the order of their ids: its id, and the hashes of frames, sound, sentence, copied file and moved
    masks that its line holds.
    """
    digest = hashlib.sha256()
    for name in sorted(rows):
        row = rows[name]
        told = [name, *(str(row.get(key, "")) for key in ("sha256", "sound_sha256", "file_sha256"))]
        items = row.get("items", {})
        told += [f"{item} {items[item].get('mask_sha256', '')}" for item in sorted(items)]
        digest.update("\n".join([*told, ""]).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()
