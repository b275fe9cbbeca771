"""``auscult stress separation``: wrong outputs made of true stems, as an INPUT of sounds with exact truth.

The same command again continues where a stopped run left off. One task is one kind of one target, so that an hour of
sound fits in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import AuscultError, ErrorRecord, InputError, Mismatch, UsageError
from auscult.jobs import runner
from auscult.jobs.options import SeparationStressOptions, arguments_of
from auscult.jobs.runner import Progress, Result, ResultWriter
from auscult.jobs.stress import frame_name_of
from auscult.media.paths import check_file, safe_name
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, as_stored, wav_bytes
from auscult.outcome import Undefined
from auscult.record.digest import digest_file, digest_json
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary, error_to_json
from auscult.report.tables import Table
from auscult.score.sound.perceptual import perceptual
from auscult.stress.recipe_parts import base_of, full_names, registered
from auscult.stress.sound import separation
from auscult.stress.strength import strength_of
from auscult.types import PERFORMANCE, Samples, SoundItem, SoundTruth

ITEMS, TARGETS = "items.jsonl", "targets.jsonl"
OTHER: Final = "other_"
"""How the second maker's kinds begin, which ``all`` leaves out: they are for tests of judges."""


@dataclass(frozen=True, slots=True)
class OutputTask(runner.Indivisible):
    """A target of which outputs of one kind are to be made."""

    item: SoundItem
    kind: str

    @property
    def key(self) -> str:
        """The item and the kind."""
        return f"{self.item.id}/{base_of(self.kind)}"

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The row of ``errors.jsonl`` where nothing was made."""
        return [error_to_json(self.key, error)]


def _results(options: SeparationStressOptions, strengths: Sequence[float], task: OutputTask) -> list[Result]:
    """The outputs of one task, or why there are none."""
    try:
        return [_outputs(options, strengths, task)]
    except AuscultError as error:
        return [Result(id=task.key, errors=[runner.failed_row(task.item, error, "stress")])]


def _outputs(options: SeparationStressOptions, strengths: Sequence[float], task: OutputTask) -> Result:
    item, copies, kind = task.item, dict[str, Path](), base_of(task.kind)
    truth, rate_hz, stems = _stems(item)
    names = list(truth.others) or ["the rest of the mixture"]
    kept = _copied(replace(item, truth=truth), options, copies)
    files, items, undefined = dict[str, bytes](), list[dict[str, Any]](), list[dict[str, Any]]()
    for strength in strengths:
        made = separation.perturb(task.kind, stems, rate_hz=rate_hz, severity=strength, seed=options.seed, key=item.id)
        done: dict[str, Any] = {"target": item.id, "kind": kind, "severity": strength}
        if isinstance(made, Undefined):
            undefined.append({**done, "reason": made.reason})
            continue
        output, done["clipped"] = as_stored(made.output, "float32")
        done |= {"params": made.params, "truth": asdict(made.truth)}
        done["truth"]["sources"] = [names[at - 1] for at in made.truth.sources]
        name = f"{kind}_{strength:g}"
        file = f"separated/{safe_name(item.id)}/{name}.wav"
        files[file] = wav_bytes(Sound(samples=output, rate_hz=rate_hz), "float32")
        found, scores = perceptual(output, stems, rate_hz=rate_hz), dict[str, float]()
        if isinstance(found, Undefined):
            done["unscored"] = found.reason
        else:
            scores = {key: round(getattr(found, key), 4) for key in PERFORMANCE}
        wrong = replace(kept, id=f"{item.id}/{name}", separated=options.out / file, family=kind, system=name)
        wrong = replace(wrong, truth=replace(kept.truth or truth, scores=scores), extra={"stress": done})
        items.append(sound_line(wrong, home=options.out))
    row = {"id": task.key, "undefined": undefined, "input": _digest(item)}
    return Result(id=task.key, files=files, copies=copies, rows={ITEMS: items, TARGETS: [row]})


def _copied(item: SoundItem, options: SeparationStressOptions, copies: dict[str, Path]) -> SoundItem:
    """The item with its files in the output folder; which is copied where is added to ``copies``."""

    def copied(folder: str, path: Path) -> Path:
        check_file(path)  # the parent copies, where an error would end the run
        name = f"{folder}/{frame_name_of(path, options.source)}"
        copies[name] = path
        return options.out / name

    truth, picture = item.truth or SoundTruth(), item.query.picture
    if picture is not None and picture.is_dir():  # frames of a video
        folder = f"pictures/{safe_name(item.id)}"
        for path in sorted(one for one in picture.iterdir() if one.is_file() and not one.is_symlink()):
            copied(folder, path)
        picture = options.out / folder
    elif picture is not None:
        picture = copied("pictures", picture)
    stem = truth.stem and copied("stems", truth.stem)
    others = {name: copied("stems", path) for name, path in truth.others.items()}
    return replace(
        item,
        mixture=copied("mixtures", item.mixture),
        query=replace(item.query, picture=picture),
        truth=replace(truth, stem=stem, others=others),
    )


def _stems(item: SoundItem) -> tuple[SoundTruth, int, list[Samples]]:
    """Truth, rate, and the target before the other sources; where none is named, the mixture less the target."""
    if item.truth is None or item.truth.stem is None:
        raise InputError("no true stem is named", expected='"truth": {"stem": FILE}', hint="leave this item out")
    paths = [item.truth.stem, *(item.truth.others.values() or [item.mixture])]
    sounds = [read_sound(path) for path in paths]
    said = ["{} x {} samples at {} Hz".format(*sound.samples.shape, sound.rate_hz) for sound in sounds]
    for path, own in zip(paths, said, strict=True):
        if own != said[0]:
            raise InputError(
                f"the sound has {own}, the target {said[0]}",
                expected="stems of one length, rate and number of channels",
                hint="export all stems of a mixture alike",
                path=path,
            )
    stems = [sound.samples for sound in sounds]
    return item.truth, sounds[0].rate_hz, stems if item.truth.others else [stems[0], stems[1] - stems[0]]


def _files(item: SoundItem) -> list[Path]:
    """The files that outputs are made of."""
    truth = item.truth or SoundTruth()
    return [path for path in (item.mixture, truth.stem, *truth.others.values()) if path is not None]


def _digest(item: SoundItem) -> str:
    return digest_json([digest_file(path) for path in _files(item)])


def stress_separation(
    options: SeparationStressOptions, progress: Progress | None = None
) -> tuple[Summary, list[Table]]:
    """Make wrong outputs of the stems of an INPUT into an output folder."""
    return runner.run_verb(StressSeparation(options), progress)


class StressSeparation(runner.Verb[OutputTask, tuple[Summary, list[Table]]]):
    """``auscult stress separation``, as the runner sees it."""

    doing = "stressing"
    stage = "stress"
    once = (ITEMS,)
    options: SeparationStressOptions

    def __init__(self, options: SeparationStressOptions) -> None:
        super().__init__(options)
        ours = [name for name in registered(["separation"]) if not base_of(name).startswith(OTHER)]
        named = ours if "all" in options.kinds else options.kinds
        self._kinds = tuple(dict.fromkeys(full_names(named, ["separation"])))
        self._strengths = tuple(dict.fromkeys(map(strength_of, options.severities)))
        if not self._kinds or not self._strengths:
            raise UsageError("no kind or no severity was chosen", expected="at least one of each")
        self._listing = read_sounds(options.source, root=options.root)
        # what several separators returned of one target is one target
        targets = {(item.query, *_files(item)): item for item in self._listing.items[::-1]}
        tasks = [OutputTask(item, kind) for item in list(targets.values())[::-1] for kind in self._kinds]
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
        """The tasks that have no row yet; those that have must come from the same files."""
        done = {row["id"]: row["input"] for row in writer.run.lines(TARGETS)}
        digest = cache(lambda item_id: _digest(items[item_id]))
        items = {task.item.id: task.item for task in self._tasks.values()}
        for name, before in done.items():
            if name not in self._tasks:
                raise Mismatch(f"{name} has a result in the folder and is no longer in the input", hint=runner.HINT)
            item = self._tasks[name].item
            same = partial(lambda name, before: digest(name) == before, item.id, before)
            runner.require_unchanged(name, same, path=item.mixture, parts="mixture or a stem has")
        writer.progress.stage(self.doing, len(self._tasks))
        writer.progress.step(len(done))
        yield (task for key, task in self._tasks.items() if key not in done), self.options.timeout_s

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Put the lines in the order of INPUT, and count what was made."""
        run, place = writer.run, {key: at for at, key in enumerate(self._tasks)}
        made = {row["id"]: row for row in run.lines(ITEMS)}
        items = sorted(made.values(), key=lambda row: place["{target}/{kind}".format(**row["stress"])])
        run.write_lines(ITEMS, items)
        targets = run.lines(TARGETS)
        undefined = [entry for row in targets for entry in row["undefined"]]
        failed = failed_rows(run.lines(runner.ERRORS), {row["id"] for row in targets})
        n, about = len(items) + len(failed) + len(undefined), "stress separation"
        counts = Summary(command=about, n=n, ok=len(items), failed=len(failed), undefined=len(undefined))
        return runner.finish_tables(run, counts, {"made": _made_table(items, undefined)})


def _made_table(items: Sequence[Mapping[str, Any]], undefined: Sequence[Mapping[str, Any]]) -> Table:
    made: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for row in items:
        made.setdefault((row["stress"]["kind"], row["stress"]["severity"]), []).append(row["truth"])
    missing = Counter((row["kind"], row["severity"]) for row in undefined)
    rows = []
    for kind, severity in sorted({*made, *missing}):
        truths = made.get((kind, severity), [])
        means = [[truth[key] for truth in truths if key in truth] for key in PERFORMANCE]
        shown = (f"{fmean(values):.2f}" if values else "" for values in means)
        rows.append((kind, f"{severity:g}", str(len(truths)), str(missing[kind, severity]), *shown))
    note = "means of the scores that follow from the stems, 1 to 5; our definition, not people's"
    header = ("kind", "severity", "made", "undefined", *PERFORMANCE)
    return Table(title="wrong outputs", header=header, rows=tuple(rows), note=note)
