"""Errors of an INPUT: one record each, with file and line, what was expected and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from auscult.cases.ids import counted, shown
from auscult.errors import AuscultError, ErrorRecord, InputError, NothingToDo, TooLarge, UsageError
from auscult.types import Item, SoundItem

ItemT = TypeVar("ItemT", bound=Item | SoundItem)
ListError: TypeAlias = tuple[str | None, ErrorRecord]

_NAMED = 3


@dataclass(slots=True)
class Problems:
    """Collects what cannot be used while a listing goes on: (id or None, record), in the order of the INPUT."""

    found: list[ListError] = field(default_factory=list)

    def add(
        self,
        error: AuscultError,
        path: Path | str | None = None,
        *,
        line: int | None = None,
        key: str = "",
        stage: str = "read",
        item: str | None = None,
    ) -> ErrorRecord:
        """Note an error in a file, by default the one it names, with the entry there and the id of the item it cost.

        ``stage`` is ``read`` where it costs something, else one of ``errors.REMARKS``.
        """
        record = ErrorRecord.of(error, stage)
        if path is not None:
            record = replace(record, path=str(path), line=line)
        if key:
            record = replace(record, error=f"{key}: {record.error}")
        self.found.append((item, record))
        return record

    def take(self, records: Iterable[ErrorRecord], *, stage: str = "") -> None:
        """Note records as they are, or under another stage."""
        self.found += ((None, replace(record, stage=stage) if stage else record) for record in records)

    def miss(self, path: Path, names: Sequence[str], *, noun: str, stage: str, of: int | None = None) -> None:
        """Note what is missing of a clip, if anything: ``noun`` is ``frame`` or ``mask``, ``of`` how many are named.

        ``stage`` is ``read`` where it costs the clip, else ``frames`` or ``truth``.
        """
        if not names:
            return
        share = "all" if of == len(names) else str(len(names))
        amount = counted(len(names), noun) if of is None else f"{share} of {counted(of, noun)}"
        record = ErrorRecord(
            stage=stage,
            error=f"{amount} {'is' if len(names) == 1 else 'are'} missing: {few(names)}",
            expected=f"the {noun}s that the release names",
            hint="unpack the archive again, or drop the clip",
            path=str(path),
        )
        self.found.append((None, record))

    @contextmanager
    def skipping(self, path: Path, *, line: int | None = None, key: str = "") -> Iterator[None]:
        """Read one entry of a file: an ``InputError`` is noted and ends this entry only."""
        try:
            yield
        except InputError as error:
            self.add(error, path, line=line, key=key)


@contextmanager
def required_file(path: Path, *, option: str = "") -> Iterator[None]:
    """Read a file that a listing needs: ``NothingToDo``, ``UsageError`` where an ``option`` named it, says why not."""
    kind, lead = (UsageError, f"{option}: ") if option else (NothingToDo, "")
    try:
        yield
    except InputError as error:
        hint = error.hint or ("split it" if isinstance(error, TooLarge) else "")
        raise kind(
            f"{lead}{error.message}", expected=error.expected, hint=hint, path=error.path or path, line=error.line
        ) from error


def few(names: Sequence[str]) -> str:
    """The first names of a list, as they may stand in a message."""
    return ", ".join(map(shown, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")


def used_twice(name: str, first: str, *, path: Path | None, line: int | None = None) -> InputError:
    """The error for an id that is used twice, of which the first counts; ``first`` says where that is."""
    return InputError(
        f"the id {shown(name)} is used twice; the first{first} is kept",
        expected="ids that are unique within the INPUT",
        hint="rename or drop one of the two",
        path=path,
        line=line,
    )


def unique(
    items: Iterable[ItemT], known: Iterable[Item | SoundItem] = ()
) -> tuple[tuple[ItemT, ...], tuple[ListError, ...]]:
    """Keep the first item of every id that is not ``known``; each further one is an error that names both places."""
    first: dict[str, Item | SoundItem] = {item.id: item for item in known}
    unique_items, problems = list[ItemT](), Problems()
    for item in items:
        earlier = first.setdefault(item.id, item)
        if earlier is item:
            unique_items.append(item)
            continue
        place = f"in line {earlier.line}" if earlier.line is not None else "an earlier item"
        if earlier.line is None and earlier.source is not None:
            place = f"from {earlier.source.name}"
        problems.add(used_twice(item.id, f" is {place}, which", path=item.source, line=item.line))
    return tuple(unique_items), tuple(problems.found)
