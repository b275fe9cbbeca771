"""``auscult stress negatives --hard MODEL``: of more sentences than are wanted, those that a model paints most.

A round draws ``WIDER`` candidates for each negative that is wanted, has a model segment each, and keeps those of a
reference with the largest area. The candidates of all rounds are one sequence without repetition, so that a further
round has others, and what was kept or dropped before stays so. A round has one model; a later one may have another,
trained on what was kept before. ``hard.jsonl`` has a line for each candidate; a failure has no area and is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from auscult.errors import ErrorRecord, Mismatch
from auscult.jobs import predict as job
from auscult.jobs.negatives_files import sentence_id
from auscult.jobs.runner import HINT, ErrorLog, Progress
from auscult.media.rle import Runs
from auscult.models.base import Request
from auscult.models.spec import ModelSpec
from auscult.record.codec import dump
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.schema import error_to_json
from auscult.report.tables import Table
from auscult.types import Query

HARD: Final = "hard.jsonl"
WIDER: Final = 3
"""Candidates of each negative that is wanted, in each round."""
_CLEAN: Final = "clean"  # the condition of `auscult run rris`, under which folders of predictions have their masks


@dataclass(frozen=True, slots=True)
class NegativeCandidate:
    """A negative sentence that may be kept; goes to the worker process that asks the model about it."""

    row: Mapping[str, Any]  # its line of ``hard.jsonl`` without an answer
    frame: Path
    size: tuple[int, int]  # (height, width)

    @property
    def id(self) -> str:
        """Unique in the folder."""
        return str(self.row["id"])

    def ask(self, reader: job.Reader) -> Request:
        """The request."""
        return Request(
            id=self.id,
            condition=_CLEAN,
            names=(self.frame.stem,),
            size=self.size,
            query=Query(self.row["text"]),
            frames=lambda: reader.frames((self.frame,), self.size).copy(),
        )


class HardNegatives:
    """The rounds of a folder: what models answered, and what is kept by it.

    Args:
        run: The folder.
        model: Answers the rounds that no other model answered.
        rounds: How many there are to be.

    Raises:
        Mismatch: The folder has more rounds, or its last one is another model's.
    """

    def __init__(self, run: RunFolder, model: ModelSpec, rounds: int) -> None:
        self._run, self._spec, self._rounds = run, model, rounds
        self._mine = {"model": model.name, "revision": model.revision}
        self._areas: dict[tuple[str, str], float] = {}  # id and text of a candidate to the share of the picture
        self._errors: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._models: dict[int, dict[str, str]] = {}  # of the rounds that have an answer
        for row in read_lines(run.path / HARD):
            self._note(row)
        last = max(self._models, default=0)
        if last > rounds:
            self._refuse(f"the folder has {last} rounds", expected=f"--rounds {last} or more")
        if (owner := self._models.get(rounds, self._mine)) != self._mine:
            expected = f"--rounds {rounds + 1}, where the other model is for a further round"
            self._refuse(f"round {rounds} was answered by {_named(owner)}, not by {_named(self._mine)}", expected)

    def _refuse(self, message: str, expected: str) -> None:
        raise Mismatch(message, expected=expected, hint=HINT, path=self._run.path)

    def _note(self, row: Mapping[str, Any]) -> None:
        if row["area"] is None:
            self._errors[_key(row)] = row["error"]
        else:
            self._areas[_key(row)] = row["area"]
            self._models[row["round"]] = {name: row[name] for name in self._mine}

    def _candidates(self, picture: Mapping[str, Any]) -> Iterator[NegativeCandidate]:
        frame, (height, width) = self._run.path / picture["frame"], picture["size"]
        for ref in picture["references"]:
            for at, one in enumerate(ref["sentences"], start=1):
                if "round" in one:
                    row = {"id": sentence_id(ref, one, at), "round": one["round"], "reference": ref["id"]}
                    row |= {"kind": one["negative"]["kind"], "text": one["text"], "frame": picture["frame"]}
                    yield NegativeCandidate(row, frame, (height, width))

    def ask(
        self, pictures: Iterable[Mapping[str, Any]], how: job.PredictOptions, *, errors: ErrorLog, progress: Progress
    ) -> None:
        """Ask the model about the candidates that it has not answered yet; each answer is on record as it comes."""
        every = (one for picture in pictures for one in self._candidates(picture))
        left = {one.id: one for one in every if self._is_left(one.row, errors)}
        progress.stage(f"ask {self._spec.name}", len(left))

        def keep(answer: Mapping[str, Any]) -> None:
            (counts,), (height, width) = answer["counts"], answer["size"]
            painted = Runs.read({"size": answer["size"], "counts": counts}).area
            append(answer["id"], {"area": painted / (height * width)})

        def fail(request: job.QueuedRequest, error: ErrorRecord) -> None:
            told = error_to_json(request.id, error)
            errors.keep([told])
            append(request.id, {"area": None, "error": told})

        def append(name: str, answer: Mapping[str, Any]) -> None:
            row = {**left[name].row, **self._mine, **answer}
            self._run.append(HARD, row)
            self._note(row)

        requests = (
            job.QueuedRequest(key=name, id=name, condition=_CLEAN, source=one.frame, prepared=one)
            for name, one in left.items()
        )
        job.predict(requests, self._spec, options=how, keep=keep, fail=fail, progress=progress)

    def _is_left(self, row: Mapping[str, Any], errors: ErrorLog) -> bool:
        """Whether a candidate is to be asked about; what failed in an earlier model's round is told again."""
        owner, number = self._models.get(row["round"], self._mine), row["round"]
        if _key(row) in self._areas or owner == self._mine:
            return _key(row) not in self._areas
        if _key(row) not in self._errors:
            expected = f"the command with that model and --rounds {number} first"
            self._refuse(f"round {number} is not at its end: {_named(owner)} was not asked about {row['id']}", expected)
        errors.keep([self._errors[_key(row)]])
        return False

    def _lines(self, picture: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The lines of a picture's candidates by id; kept are, of each reference and round, the largest areas.

        Of equal ones those that were drawn first.
        """
        found, room = {}, dict[tuple[str, int], int]()
        wanted = {ref["id"]: ref["wanted"] // self._rounds for ref in picture["references"]}
        for one in self._candidates(picture):
            key, model = _key(one.row), self._models.get(one.row["round"], self._mine)
            found[one.id] = {**one.row, **model, "area": self._areas.get(key), "outcome": "failed"}
            if key not in self._areas:
                found[one.id]["error"] = self._errors[key]
        scored = (row for row in found.values() if row["area"] is not None)
        for row in sorted(scored, key=lambda row: -row["area"]):
            place = row["reference"], row["round"]
            room[place] = room.get(place, wanted[row["reference"]]) - 1
            row["outcome"] = "kept" if room[place] >= 0 else "dropped"
        return found

    def chosen(self, picture: dict[str, Any]) -> dict[str, Any]:
        """The line of a picture with the negatives that are kept; each says by which model, and its area."""
        lines = self._lines(picture)
        references = []
        for ref in picture["references"]:
            sentences = []
            for at, one in enumerate(ref["sentences"], start=1):
                line = lines.get(sentence_id(ref, one, at))
                if line is None:
                    sentences.append({**one, "at": at})
                elif line["outcome"] == "kept":
                    hard = {name: line[name] for name in ("model", "revision", "round", "area")}
                    sentences.append({**one, "at": at, "negative": {**one["negative"], "hard": hard}})
            references.append({**ref, "sentences": sentences})
        return {**picture, "references": references}

    def write(self, pictures: Iterable[Mapping[str, Any]]) -> Table:
        """Write ``hard.jsonl`` anew, in the order of INPUT, and say in a table what became of the candidates."""
        areas: dict[tuple[int, str], list[float]] = {}

        def rows() -> Iterator[bytes]:
            for picture in pictures:
                for row in self._lines(picture).values():
                    areas.setdefault((row["round"], row["outcome"]), []).append(row["area"] or 0.0)
                    yield dump(row) + b"\n"

        self._run.write_bytes(HARD, rows())
        table = []
        for number in range(1, self._rounds + 1):
            kept, dropped, failed = (areas.get((number, outcome), []) for outcome in ("kept", "dropped", "failed"))
            counts = (len(kept) + len(dropped) + len(failed), len(failed), len(kept), len(dropped))
            means = (f"{100 * sum(some) / len(some):.1f}" if some else "" for some in (kept, dropped))
            table.append((str(number), _named(self._models.get(number, self._mine)), *map(str, counts), *means))
        return Table(
            title="candidates and what the model painted for them",
            header=("round", "model", "candidates", "failed", "kept", "dropped", "painted, kept", "painted, dropped"),
            rows=tuple(table),
            note="painted: mean share of the picture, percent; every candidate stands in hard.jsonl",
        )


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["id"], row["text"]


def _named(model: Mapping[str, str]) -> str:
    return f"{model['model']} ({model['revision']})"
