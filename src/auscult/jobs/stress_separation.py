"""``auscult stress separation``: wrong outputs made of true stems, as an INPUT of sounds with exact truth.

The same command again resumes a stopped run. One task is one kind of one target, so that an hour of sound fits in
memory.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import AuscultError, ErrorRecord, InputError, UsageError
from auscult.jobs import runner
from auscult.jobs.options import SeparationStressOptions, arguments_of
from auscult.jobs.runner import Result, ResultWriter
from auscult.jobs.stress import frame_name_of
from auscult.media.paths import check_file, safe_name
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, as_stored, wav_bytes
from auscult.outcome import Undefined
from auscult.record.digest import digest_file, digest_json
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.score.sound.perceptual import perceptual
from auscult.stress.perturbation import strength_of
from auscult.stress.recipe_parts import base_of, full_names, registered
from auscult.stress.sound import separation
from auscult.types import PERFORMANCE, Samples, SoundItem, SoundQuery, SoundTruth

ITEMS, TARGETS = "items.jsonl", "targets.jsonl"


@dataclass(frozen=True, slots=True)
class OutputTask(runner.Indivisible):
    """A target and the kind of outputs to make of it."""

    key: str
    item: SoundItem
    kind: str


def _results(options: SeparationStressOptions, strengths: Sequence[float], task: OutputTask) -> list[Result]:
    """The outputs of one task, or why there are none."""
    try:
        return [_outputs(options, strengths, task)]
    except AuscultError as error:
        return [Result(id=task.key, errors=[runner.failed_row(task.item, error, "stress")])]


def _outputs(options: SeparationStressOptions, strengths: Sequence[float], task: OutputTask) -> Result:
    item, kind, files = task.item, base_of(task.kind), dict[str, bytes]()
    stems, rate_hz = stems_of(item)
    copied, copies = copied_item(replace(item, separated=None), source=options.source, out=options.out)
    truth = copied.truth or SoundTruth()
    names = list(truth.others) or ["the rest of the mixture"]
    items, undefined = list[dict[str, Any]](), list[dict[str, Any]]()
    for strength in strengths:
        outcome = separation.perturb(
            task.kind, stems, rate_hz=rate_hz, severity=strength, seed=options.seed, key=item.id
        )
        done: dict[str, Any] = {"target": item.id, "kind": kind, "severity": strength}
        if isinstance(outcome, Undefined):
            undefined.append({**done, "reason": outcome.reason})
            continue
        output, done["clipped"] = as_stored(outcome.output, "float32")
        sources = [names[number - 1] for number in outcome.truth.sources]
        done |= {"params": outcome.params, "truth": asdict(outcome.truth) | {"sources": sources}}
        name = f"{kind}_{strength:g}"
        file = f"separated/{safe_name(item.id)}/{name}.wav"
        files[file] = wav_bytes(Sound(samples=output, rate_hz=rate_hz), "float32")
        result, scores = perceptual(output, stems, rate_hz=rate_hz), dict[str, float]()
        if isinstance(result, Undefined):
            done["unscored"] = result.reason
        else:
            scores = {key: round(getattr(result, key), 4) for key in PERFORMANCE}
        wrong = replace(copied, id=f"{item.id}/{name}", separated=options.out / file, family=kind, system=name)
        wrong = replace(wrong, truth=replace(truth, scores=scores), extra={"stress": done})
        items.append(sound_line(wrong, home=options.out))
    row = {"id": task.key, "undefined": undefined, "input": _digest(_files(item))}
    return Result(id=task.key, files=files, copies=copies, rows={ITEMS: items, TARGETS: [row]})


def stems_of(item: SoundItem) -> tuple[list[Samples], int]:
    """The target, then the other sources, float32 (channels, samples), and their rate.

    If no other source is named, the rest of the mixture is the only one.
    """
    if item.truth is None or item.truth.stem is None:
        raise InputError("no true stem is named", expected='"truth": {"stem": FILE}', hint="leave this item out")
    paths = [item.truth.stem, *(item.truth.others.values() or [item.mixture])]
    sounds = [read_sound(path) for path in paths]
    layouts = ["{} x {} samples at {} Hz".format(*sound.samples.shape, sound.rate_hz) for sound in sounds]
    for path, layout in zip(paths, layouts, strict=True):
        if layout != layouts[0]:
            raise InputError(
                f"the sound has {layout}, the target {layouts[0]}",
                expected="stems of one length, rate and number of channels",
                hint="export all stems of a mixture alike",
                path=path,
            )
    stems = [sound.samples for sound in sounds]
    return stems if item.truth.others else [stems[0], stems[1] - stems[0]], sounds[0].rate_hz


def copied_item(item: SoundItem, *, source: Path, out: Path) -> tuple[SoundItem, dict[str, Path]]:
    """An item of the INPUT ``source`` with its files in the folder ``out``, and the files to copy there."""
    copies = dict[str, Path]()

    def copied(folder: str, path: Path) -> Path:
        check_file(path)  # checked here, since an error of the parent's copy would end the run
        original = Path(frame_name_of(path, source))
        tag = digest_json(os.path.relpath(path.resolve(), source.resolve()))[:8]
        # the tag keeps frames/a.wav, a.WAV and a.wav apart
        name = f"{folder}/{original.stem}-{tag}{original.suffix}"
        copies[name] = path
        return out / name

    truth, picture = item.truth or SoundTruth(), item.query.picture
    if picture is not None and picture.is_dir():  # frames of a video
        folder = f"pictures/{safe_name(item.id)}"
        for path in sorted(path for path in picture.iterdir() if path.is_file() and not path.is_symlink()):
            copied(folder, path)
        picture = out / folder
    elif picture is not None:
        picture = copied("pictures", picture)
    stem = truth.stem and copied("stems", truth.stem)
    others = {name: copied("stems", path) for name, path in truth.others.items()}
    query, truth = replace(item.query, picture=picture), replace(truth, stem=stem, others=others)
    separated = item.separated and copied("separated", item.separated)
    mixture = copied("mixtures", item.mixture)
    return replace(item, mixture=mixture, separated=separated, query=query, truth=item.truth and truth), copies


def _files(item: SoundItem) -> tuple[Path, ...]:
    """The source files of the outputs."""
    truth = item.truth or SoundTruth()
    return tuple(path for path in (item.mixture, truth.stem, *truth.others.values()) if path is not None)


def _digest(files: Sequence[Path]) -> str:
    return digest_json([digest_file(path) for path in files])


class StressSeparation(runner.Verb[OutputTask, tuple[Summary, list[Table]]]):
    """``auscult stress separation``, as the runner sees it."""

    doing = "stressing"
    stage = "stress"
    once = (ITEMS,)
    options: SeparationStressOptions

    def __init__(self, options: SeparationStressOptions) -> None:
        super().__init__(options)
        # the second maker's kinds are for tests of judges, and must be named
        ours = [name for name in registered(["separation"]) if not base_of(name).startswith("other_")]
        kinds = chain.from_iterable(ours if kind == "all" else [kind] for kind in options.kinds)
        self._kinds = tuple(dict.fromkeys(full_names(kinds, ["separation"])))
        self._strengths = tuple(dict.fromkeys(map(strength_of, options.severities)))
        if not self._kinds or not self._strengths:
            raise UsageError("no kind or no severity was chosen", expected="at least one of each")
        self._listing = read_sounds(options.source, root=options.root)
        targets: dict[tuple[SoundQuery, tuple[Path, ...]], SoundItem] = {}
        for item in self._listing.items:  # outputs of several separators for one target are one target
            targets.setdefault((item.query, _files(item)), item)
        pairs = product(targets.values(), self._kinds)
        tasks = (OutputTask(f"{item.id}/{base_of(kind)}", item, kind) for item, kind in pairs)
        self._tasks = {task.key: task for task in tasks}

    def manifest(self) -> dict[str, Any]:
        """The kinds by their full names."""
        chosen = {"source": str(self.options.source.resolve()), "kind": self._kinds, "severity": self._strengths}
        arguments = arguments_of(self.options) | chosen
        inputs = {"listed": digest_json([item.id for item in self._listing.items])}
        return runner.run_manifest("stress separation", self.options, inputs=inputs, arguments=arguments)

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """Errors of lines that cannot be read."""
        return self._listing.problems

    def worker(self) -> Callable[[], Callable[[OutputTask], list[Result]]]:
        """Makes the function of one task in a worker process."""
        return partial(partial, _results, self.options, self._strengths)

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[OutputTask], float | None]]:
        """The tasks without a row; files of the others must be unchanged."""
        done, digest = {row["id"]: row["input"] for row in writer.run.lines(TARGETS)}, cache(_digest)

        def same(task: OutputTask, before: object) -> bool:
            return digest(_files(task.item)) == before

        words = "mixture or a stem has"
        runner.require_all_unchanged(done, self._tasks, same, path=lambda task: task.item.mixture, parts=words)
        writer.progress.stage(self.doing, len(self._tasks))
        writer.progress.step(len(done))
        yield (task for key, task in self._tasks.items() if key not in done), self.options.timeout_s

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Put the lines in the order of INPUT, and count what was made."""
        run, by_task = writer.run, {key: list[dict[str, Any]]() for key in self._tasks}
        for row in run.lines(ITEMS):  # a line without task is from a run killed before it wrote the target
            by_task.get("{target}/{kind}".format(**row["stress"]), []).append(row)
        items = [*chain.from_iterable(by_task.values())]
        run.write_lines(ITEMS, items)
        targets = run.lines(TARGETS)
        undefined = [entry for row in targets for entry in row["undefined"]]
        failed = failed_rows(run.lines(runner.ERRORS), {row["id"] for row in targets})
        n, ok = len(items) + len(failed) + len(undefined), len(items)
        counts = Summary(command="stress separation", n=n, ok=ok, failed=len(failed), undefined=len(undefined))
        return runner.finish_tables(run, counts, {"made": _made_table(items, undefined)})


stress_separation: Final = StressSeparation.of


def _made_table(items: Sequence[Mapping[str, Any]], undefined: Sequence[Mapping[str, Any]]) -> Table:
    groups: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for row in items:
        groups.setdefault((row["stress"]["kind"], row["stress"]["severity"]), []).append(row["truth"])
    missing = Counter((row["kind"], row["severity"]) for row in undefined)
    rows = []
    for kind, severity in sorted({*groups, *missing}):
        truths = groups.get((kind, severity), [])
        means = [[truth[key] for truth in truths if key in truth] for key in PERFORMANCE]
        cells = (f"{fmean(values):.2f}" if values else "" for values in means)
        rows.append((kind, f"{severity:g}", str(len(truths)), str(missing[kind, severity]), *cells))
    note = "means of the scores that follow from the stems, 1 to 5; our definition, not people's"
    header = ("kind", "severity", "made", "undefined", *PERFORMANCE)
    return Table(title="wrong outputs", header=header, rows=tuple(rows), note=note)
