"""``auscult stress separation``: wrong outputs made of true stems, as an INPUT of sounds with exact truth.

The same command again continues where a stopped run left off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import AuscultError, ErrorRecord, InputError, Mismatch, UsageError
from auscult.jobs.options import SeparationStressOptions, arguments_of
from auscult.jobs.runner import (
    ERRORS,
    HINT,
    Indivisible,
    Progress,
    Result,
    ResultWriter,
    Verb,
    failed_row,
    finish_tables,
    require_unchanged,
    run_manifest,
    run_verb,
)
from auscult.jobs.stress import frame_name_of
from auscult.media.paths import safe_name
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
from auscult.types import PERFORMANCE, SoundItem

ITEMS: Final = "items.jsonl"
TARGETS: Final = "targets.jsonl"
OTHER: Final = "other_"
"""How the names of the second generator's kinds begin, which ``all`` leaves out: they are for tests of judges."""


@dataclass(frozen=True, slots=True)
class TargetTask(Indivisible):
    """A target of which wrong outputs are to be made."""

    item: SoundItem

    @property
    def key(self) -> str:
        """The item's id."""
        return self.item.id

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The row of ``errors.jsonl`` where nothing was made."""
        return [error_to_json(self.key, error)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputMaker:
    """Makes the wrong outputs of a target; made once in each worker process."""

    source: Path
    out: Path
    seed: int
    kinds: tuple[str, ...]
    strengths: tuple[float, ...]

    def __call__(self, task: TargetTask) -> list[Result]:
        """All outputs of one target, or why there are none."""
        try:
            return [self._result(task.item)]
        except AuscultError as error:
            return [Result(id=task.key, errors=[failed_row(task.item, error, "stress")])]

    def _result(self, item: SoundItem) -> Result:
        sounds = _stems(item)
        rate_hz, stems = sounds[0].rate_hz, [sound.samples for sound in sounds]
        kept, copies = self._copied(item)
        names = list(kept.truth.others if kept.truth is not None else ()) or ["the rest of the mixture"]
        files, items, undefined = dict[str, bytes](), list[dict[str, Any]](), list[dict[str, Any]]()
        for kind in self.kinds:
            for strength in self.strengths:
                made = separation.perturb(kind, stems, rate_hz=rate_hz, severity=strength, seed=self.seed, key=item.id)
                base = base_of(kind)
                if isinstance(made, Undefined):
                    undefined.append({"kind": base, "severity": strength, "reason": made.reason})
                    continue
                output, clipped = as_stored(made.output, "float32")
                name = f"separated/{safe_name(item.id)}/{base}_{strength:g}.wav"
                files[name] = wav_bytes(Sound(samples=output, rate_hz=rate_hz), "float32")
                found = perceptual(output, stems, rate_hz=rate_hz)
                scores = {} if isinstance(found, Undefined) else {key: getattr(found, key) for key in PERFORMANCE}
                done = {"target": item.id, "kind": base, "severity": strength, "clipped": clipped}
                heard = [names[at - 1] for at in made.truth.sources]
                done |= {"params": made.params, "truth": asdict(made.truth) | {"sources": heard}}
                done |= {"unscored": found.reason} if isinstance(found, Undefined) else {}
                wrong = replace(
                    kept,
                    id=f"{item.id}/{base}_{strength:g}",
                    separated=self.out / name,
                    truth=None if kept.truth is None else replace(kept.truth, scores=scores),
                    family=base,
                    system=f"{base}_{strength:g}",
                    extra={**item.extra, "stress": done},
                )
                items.append(sound_line(wrong, home=self.out))
        row = {"id": item.id, "made": len(items), "undefined": undefined, "input": _digest(item)}
        return Result(id=item.id, files=files, copies=copies, rows={ITEMS: items, TARGETS: [row]})

    def _copied(self, item: SoundItem) -> tuple[SoundItem, dict[str, Path]]:
        """The item as it is named in the output folder, and what is copied there."""
        copies: dict[str, Path] = {}

        def copied(folder: str, path: Path) -> Path:
            name = f"{folder}/{frame_name_of(path, self.source)}"
            copies[name] = path
            return self.out / name

        truth, picture = item.truth, item.query.picture
        if truth is not None and truth.stem is not None:
            others = {name: copied("stems", path) for name, path in truth.others.items()}
            truth = replace(truth, stem=copied("stems", truth.stem), others=others)
        if picture is not None and picture.is_dir():
            for path in sorted(one for one in picture.iterdir() if one.is_file()):
                copied(f"pictures/{safe_name(item.id)}", path)
            picture = self.out / "pictures" / safe_name(item.id)
        elif picture is not None:
            picture = copied("pictures", picture)
        query = replace(item.query, picture=picture)
        return replace(item, mixture=copied("mixtures", item.mixture), query=query, truth=truth), copies


def _stems(item: SoundItem) -> list[Sound]:
    """The target, then the other sources; where none is named, the mixture less the target."""
    if item.truth is None or item.truth.stem is None:
        raise InputError("no true stem is named", expected='"truth": {"stem": FILE}', hint="leave this item out")
    paths = [item.truth.stem, *(item.truth.others.values() or [item.mixture])]
    sounds = [read_sound(path) for path in paths]
    for path, sound in zip(paths, sounds, strict=True):
        said = [
            f"{one.samples.shape[0]} x {one.samples.shape[1]} samples at {one.rate_hz} Hz" for one in (sound, sounds[0])
        ]
        if said[0] != said[1]:
            raise InputError(
                f"the sound has {said[0]}, the target {said[1]}",
                expected="stems of one length, rate and number of channels",
                hint="export all of one mixture alike",
                path=path,
            )
    if not item.truth.others:
        sounds[1] = replace(sounds[1], samples=sounds[1].samples - sounds[0].samples)
    return sounds


def _digest(item: SoundItem) -> str:
    """Hash of the files that outputs are made of."""
    truth = item.truth
    paths = [item.mixture, *([] if truth is None or truth.stem is None else [truth.stem, *truth.others.values()])]
    return digest_json([digest_file(path) for path in paths])


def stress_separation(
    options: SeparationStressOptions, progress: Progress | None = None
) -> tuple[Summary, list[Table]]:
    """Make wrong outputs of the stems of an INPUT into an output folder."""
    return run_verb(StressSeparation(options), progress)


class StressSeparation(Verb[TargetTask, tuple[Summary, list[Table]]]):
    """``auscult stress separation``, as the runner sees it."""

    doing = "stressing"
    stage = "stress"
    once = (ITEMS,)
    options: SeparationStressOptions

    def __init__(self, options: SeparationStressOptions) -> None:
        super().__init__(options)
        kinds = options.kinds
        if "all" in kinds:
            kinds = tuple(name for name in registered(["separation"]) if not base_of(name).startswith(OTHER))
        self._kinds = tuple(dict.fromkeys(full_names(kinds, ["separation"])))
        self._strengths = tuple(dict.fromkeys(strength_of(severity) for severity in options.severities))
        if not self._kinds or not self._strengths:
            raise UsageError("no kind or no severity was chosen", expected="at least one of each")
        self._listing = read_sounds(options.source, root=options.root)

    def manifest(self) -> dict[str, Any]:
        """The kinds by their full names."""
        chosen = {"source": str(self.options.source.resolve()), "kind": self._kinds, "severity": self._strengths}
        inputs = {"items": len(self._listing.items), "listed": digest_json([item.id for item in self._listing.items])}
        return run_manifest(
            "stress separation", self.options, inputs=inputs, arguments=arguments_of(self.options) | chosen
        )

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """Errors of lines that cannot be read."""
        return self._listing.problems

    def worker(self) -> partial[OutputMaker]:
        """Makes the function of one target in a worker process."""
        return partial(
            OutputMaker,
            source=self.options.source,
            out=self.options.out,
            seed=self.options.seed,
            kinds=self._kinds,
            strengths=self._strengths,
        )

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[TargetTask], float | None]]:
        """The targets that have no row yet; those that have must come from the same files."""
        items = {item.id: item for item in self._listing.items}
        done = {row["id"]: row["input"] for row in writer.run.lines(TARGETS)}
        for name, before in done.items():
            if name not in items:
                raise Mismatch(f"{name} has a result in the folder and is no longer in the input", hint=HINT)
            item = items[name]
            same = partial(lambda item, before: _digest(item) == before, item, before)
            require_unchanged(name, same, path=item.mixture, parts="mixture or a stem has")
        writer.progress.stage(self.doing, len(items))
        writer.progress.step(len(done))
        yield (TargetTask(item) for item in items.values() if item.id not in done), self.options.timeout_s

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Count what was made."""
        run = writer.run
        place = {item.id: at for at, item in enumerate(self._listing.items)}
        items, targets = sorted(run.lines(ITEMS), key=lambda row: place[row["stress"]["target"]]), run.lines(TARGETS)
        run.write_lines(ITEMS, items)
        undefined = [entry for row in targets for entry in row["undefined"]]
        failed = failed_rows(run.lines(ERRORS), {row["id"] for row in targets})
        summary = Summary(
            command="stress separation",
            n=len(items) + len(undefined) + len(failed),
            ok=len(items),
            failed=len(failed),
            undefined=len(undefined),
        )
        return finish_tables(run, summary, {"made": _made_table(items, undefined)})


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
    return Table(
        title="wrong outputs",
        header=("kind", "severity", "made", "undefined", *PERFORMANCE),
        rows=tuple(rows),
        note="means of the scores that follow from the stems, 1 to 5; our definition, not people's",
    )
