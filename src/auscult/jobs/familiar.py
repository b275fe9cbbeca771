"""``auscult make avi``: AVI-Bench's eleven familiar tasks on material of our own; the same command goes on.

``samples.jsonl`` has a line for each sample that is made, with what an observer needs to check its truth; ``data.json``
of each task follows from it at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from auscult.cases.layouts.avibench import DATA, data_json, task_folder
from auscult.errors import ErrorRecord
from auscult.jobs.familiar_chance import Networks, captions_table, chance_of
from auscult.jobs.options import FamiliarOptions
from auscult.jobs.runner import (
    Indivisible,
    NumberedVerb,
    Result,
    ResultWriter,
    finish_tables,
    run_manifest,
)
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.scenes.familiar.kinds import KINDS, kinds_of, sample, sample_id, sample_row
from auscult.scenes.familiar.material import Material, open_material
from auscult.scenes.familiar.worlds import World

SAMPLES: Final = "samples.jsonl"
FOLDERS: Final = {kind.folder: kind.stage for kind in KINDS.values()}
"""The tasks with their stages' folders, in the paper's order."""


@dataclass(frozen=True, slots=True)
class SampleTask(Indivisible):
    """A sample that is to be made."""

    kind: str
    index: int

    @property
    def key(self) -> str:
        """Its id."""
        return sample_id(KINDS[self.kind], self.index)


def _make(task: SampleTask, seed: int, world: World) -> list[Result]:
    made = sample(KINDS[task.kind], task.index, seed=seed, world=world)
    return [Result(id=task.key, files=made.files, rows={SAMPLES: [sample_row(made)]})]


def _maker(seed: int, material: Material) -> partial[list[Result]]:
    return partial(_make, seed=seed, world=World(material=material))


class MakeAvi(NumberedVerb[SampleTask, tuple[Summary, list[Table]]]):
    """``auscult make avi``, as the runner sees it."""

    doing = "making samples"
    stage = "make"
    growing = frozenset({"count", "sentences", "fluency"})
    once = (SAMPLES,)
    rows = SAMPLES
    unit = "samples"
    options: FamiliarOptions

    def __init__(self, options: FamiliarOptions) -> None:
        super().__init__(options)
        from auscult.media.containers import load_av

        load_av()  # videos need it; without it nothing is begun
        self._material, self._left_out = (Material(), ()) if options.data is None else open_material(options.data)
        self._networks = _networks(options)
        self._kinds = {folder: kinds_of(folder, self._material) for folder in FOLDERS}

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        kinds = [kind.name for kinds in self._kinds.values() for kind in kinds]
        inputs = {"kinds": kinds, "data_files": self._material.digest() if self.options.data else None}
        return run_manifest("make avi", self.options, inputs=inputs)

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """The files of the user's folder that cannot be used."""
        return ((None, error) for error in self._left_out)

    def worker(self) -> partial[partial[list[Result]]]:
        """Makes the function of one sample in a worker process."""
        return partial(_maker, self.options.seed, self._material)

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write each task's samples, and a table."""
        run = writer.run
        made = self.ordered(run)
        tasks = {folder: [row["entry"] for row in made if row["entry"]["task"] == folder] for folder in FOLDERS}
        for folder, entries in tasks.items():
            run.write_bytes(f"{task_folder(FOLDERS[folder], folder)}/{DATA}", data_json(entries))
        summary = self.counted("make avi", run, made)
        captions = captions_table(tasks["AVC"], self._networks)
        return finish_tables(run, summary, {"tasks": tasks_table(tasks), "captions": captions})

    def wanted(self) -> Iterator[SampleTask]:
        """A task's types take turns, so that a larger count adds samples and changes none."""
        for kinds in self._kinds.values():
            for number in range(self.options.count):
                turn, at = divmod(number, len(kinds))
                yield SampleTask(kinds[at].name, turn)


make_avi: Final = MakeAvi.of


def _networks(options: FamiliarOptions) -> Networks:
    """What compares captions; loaded before anything is made, so that a wrong folder is known at once."""
    if options.sentences is None and options.fluency is None:
        return Networks()
    from auscult.nets.hf_sentences import load_fluency, load_sentences

    sentences = None if options.sentences is None else load_sentences(options.sentences)
    return Networks(sentences, None if options.fluency is None else load_fluency(options.fluency))


def tasks_table(tasks: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Samples of each task, of how many types, and what guessing scores on them."""
    rows = []
    for folder, entries in tasks.items():
        types = list(dict.fromkeys(entry["subtask"] for entry in entries))
        chance = chance_of(folder, entries)
        rows.append((folder, str(len(entries)), ", ".join(types), *chance))
    return Table(
        title="own data, not comparable with Table 3",
        header=("task", "samples", "types", "random", "constant"),
        rows=tuple(rows),
        note="random, constant: what answers without a look score on these samples, in percent; "
        "the constant answer is the best for each type",
    )
