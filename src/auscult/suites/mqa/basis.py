"""What the benchmark's numbers follow from, in the record: the candidates with their truth, and the judges' answers.

::

    DIR/candidates.jsonl           every mask that was judged: where it stands in the benchmark, its true IoU and defect
    DIR/basis.json                 judges in their order, what the constant row says, how many masks are not listed
    DIR/judges/<judge>/            what each judge said

With these alone the tables are computed anew: no mask and no data set is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, get_args

from auscult.errors import InputError, RecordError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.record.folder import RunFolder
from auscult.record.lines import load, numbered_lines
from auscult.suites.mqa.baselines import Constant
from auscult.suites.mqa.rows import MAKING, PROTOCOLS, Candidate
from auscult.types import ACTIONS, DEFECTS, Difficulty

CANDIDATES: Final = "candidates.jsonl"
BASIS: Final = "basis.json"

_LIMITS: Final = Limits(max_bytes=1 << 20)
_MOST_JUDGES: Final = 1000
_AGAIN: Final = "repeat the `auscult run` command that made the record: it judges nothing again and writes the file"
_TEXTS: Final = ("id", "uid", "clip", "split", "track", "category", "generator")
_WORDS: Final[Mapping[str, tuple[object, ...]]] = {
    "protocol": PROTOCOLS,
    "defect": (*DEFECTS, "empty"),
    "difficulty": (None, *get_args(Difficulty)),
    "action": (None, *ACTIONS),
}
_SHARES: Final = ("iou", "area")


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What is beside the candidates.

    Attributes:
        judges: In the order of the tables; one without a record failed as a whole.
        constant: What the constant row says.
        unlisted: Candidates that could not be listed; each is a failure of every judge.
    """

    judges: tuple[str, ...]
    constant: Constant
    unlisted: int


def write_basis(run: RunFolder, candidates: tuple[Candidate, ...], basis: Basis) -> None:
    """Write both files.

    Raises:
        OutputError: The disk is full, or the folder cannot be written to.
    """
    run.remove(CANDIDATES)
    run.append_many(CANDIDATES, (asdict(one) for one in candidates))
    run.write_json(BASIS, asdict(basis))


def read_candidates(folder: Path) -> tuple[Candidate, ...]:
    """The candidates of a record.

    Raises:
        RecordError: There are none, or a line is damaged; the message names file and line.
    """
    path = folder / CANDIDATES
    found = tuple(_candidates(path))
    if not found:
        raise RecordError(f"the record holds no {CANDIDATES}, from which it is scored", path=folder, hint=_AGAIN)
    return found


def read_basis(folder: Path) -> Basis:
    """What is beside the candidates of a record.

    Raises:
        RecordError: It is missing or damaged.
    """
    path = folder / BASIS
    try:
        return _basis(load(read_bytes(path, limits=_LIMITS)))
    except (ValueError, TypeError, KeyError, InputError) as error:
        reason = error.message if isinstance(error, InputError) else str(error)
        raise RecordError(f"the basis of the tables cannot be read: {reason}", path=path, hint=_AGAIN) from error


def _basis(told: Any) -> Basis:
    judges, constant, unlisted = told["judges"], told["constant"], told["unlisted"]
    if not isinstance(judges, list) or len(judges) > _MOST_JUDGES or not all(_is_name(one) for one in judges):
        raise ValueError("the judges are no list of names")
    if constant["defect"] not in DEFECTS or not _is_share(constant["iou"]):
        raise ValueError("the constant row has no IoU and type")
    if not _is_count(constant["trained"]) or not _is_count(unlisted):
        raise ValueError("a count is no whole number")
    return Basis(
        judges=tuple(dict.fromkeys(judges)),
        constant=Constant(iou=float(constant["iou"]), defect=constant["defect"], trained=constant["trained"]),
        unlisted=unlisted,
    )


def _candidates(path: Path) -> Iterator[Candidate]:
    seen: set[str] = set()
    names = {one.name for one in fields(Candidate)}
    for number, row in numbered_lines(path):
        if row.keys() != names or not _is_candidate(row) or row["id"] in seen:
            raise RecordError(
                "the line is no candidate", path=path, line=number, expected="a new id, its place and its truth",
                hint=_AGAIN,
            )  # fmt: skip
        seen.add(row["id"])
        yield Candidate(**{**row, "making": tuple((name, value) for name, value in row["making"])})


def _is_candidate(row: Mapping[str, Any]) -> bool:
    making = row["making"]
    return (
        all(isinstance(row[name], str) for name in _TEXTS)
        and all(row[name] in allowed for name, allowed in _WORDS.items())
        and all(row[name] is None or _is_share(row[name]) for name in _SHARES)
        and _is_count(row["frame"])
        and (row["rank"] is None or _is_count(row["rank"]))
        and isinstance(making, list)
        and all(_is_making(one) for one in making)
    )


def _is_making(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and pair[0] in MAKING and isinstance(pair[1], str)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
