"""``auscult score OUTPUTS STEMS --protocol si_sdr``: two folders of sound, output by output, in blocks.

A folder of stems is one mixture; each folder in it is another. Outputs have their stem's name. The other stems of a
mixture matter only for BSS Eval and the perceptual scores. Beside a folder of mixtures, each folder is one source, as
LibriMix and WSJ0-2mix have it.

With ``--model`` a network scores outputs by comparing its results for output and stem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from auscult.arrays.resampling import resampled
from auscult.cases.ids import counted, natural_key, shown
from auscult.errors import ErrorRecord, InputError, NothingToDo, UsageError
from auscult.jobs.options import ScoreOptions
from auscult.jobs.runner import Progress, Silent
from auscult.jobs.score import PROTOCOLS as MASKS
from auscult.jobs.score import require_folder, write_scores
from auscult.media.paths import read_bytes
from auscult.media.sound import SOUND_SUFFIXES, SoundReader
from auscult.outcome import Failed, Outcome, Scored, Signature, Undefined
from auscult.record.schema import Summary, error_to_json, metric_row, score_to_json
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.sound import SCORES, Signal, bss_images, bss_sources, find_delay, score_sound
from auscult.score.sound.embeddings import Frechet, accuracy, frechet_distance, word_error, words_fit
from auscult.score.stats.intervals import bootstrap_interval
from auscult.types import Samples
from auscult.work.pool import Task, default_workers, run_tasks

LISTENERS: Final = ("frechet", "text_similarity", "accuracy", "word_error", "speech_quality")
"""Protocols with a network, ``--model``: a tagger, by default auscult's, or a folder of Whisper or DNSMOS."""
_BY_TAGGER: Final = LISTENERS[:3]

HeardScores: TypeAlias = tuple[Mapping[str, Outcome[float]], tuple[Any, ...]]
Listener: TypeAlias = Callable[[Samples, Samples, Path], HeardScores]
"""From output, stem and the stem's file to scores of the output, and data for ``set_scores``."""


def listener_of(protocol: str, model: str | None) -> Listener:
    """Load the network of a protocol, by default auscult's own tagger; rates are those of the stem's file."""
    from auscult.models.sound_taggers import SHIPPED, load_tagger, text_similarity

    model = model or SHIPPED
    kind, separator, _ = model.partition("@")
    network = kind if separator else Path(model).name
    if protocol == "word_error":
        from auscult.nets.hf_sounds import load_whisper

        whisper = load_whisper(Path(model))

        def understood(output: Samples, stem: Samples, file: Path) -> HeardScores:
            rate_hz, written = _rate(file), file.with_suffix(".txt")
            of_output = whisper.transcript(output, rate_hz)
            of_stem = whisper.transcript(stem, rate_hz)
            true = read_bytes(written).decode("utf-8", "replace") if written.is_file() else of_stem
            return {"word_error": word_error([of_output], [true], network=network)}, (of_output, of_stem, true, network)

        return understood
    if protocol == "speech_quality":
        return _speech_quality(Path(model))
    tagger = load_tagger(model)

    def embedded(output: Samples, stem: Samples, file: Path) -> HeardScores:
        vectors = [tagger.embedding(sound, _rate(file)) for sound in (output, stem)]
        return {}, (*vectors, network)

    def fitting(output: Samples, _stem: Samples, file: Path) -> HeardScores:
        mixture = next((path for path in file.parent.iterdir() if path.stem == "mixture"), None)
        words, fits = _words(file), [text_similarity(tagger, _words(file), output, rate_hz=_rate(file))]
        if mixture is not None:
            with SoundReader(mixture, cut=False) as reader:
                fits.append(text_similarity(tagger, words, reader[..., :], rate_hz=reader.rate_hz))
        fit = words_fit(fits[0], fits[-1], network=network)
        return fit if mixture is not None else {"text_similarity": fit["text_similarity"]}, ()

    def classified(output: Samples, stem: Samples, file: Path) -> HeardScores:
        right = []
        for sound in (output, stem):
            similarity = text_similarity(tagger, _words(file), sound, rate_hz=_rate(file))
            top = float(np.max(tagger.probabilities(sound, _rate(file))))
            right.append(None if similarity is None else similarity >= top)
        outcome = accuracy([] if right[0] is None else [right[0]], network=network)
        return {"accuracy": outcome}, (right[0], right[1], network)

    return {"frechet": embedded, "text_similarity": fitting, "accuracy": classified}[protocol]


def _speech_quality(folder: Path) -> Listener:
    """DNSMOS of an output; the stem is not used."""
    from auscult.models.dnsmos import Dnsmos

    dnsmos = Dnsmos(folder)

    def rated(output: Samples, _stem: Samples, file: Path) -> HeardScores:
        if not output.any():
            return {"overall": Undefined("the estimate is silent")}, ()
        scores = dnsmos.scores(output, _rate(file)).items()
        signed = {name: Signature.of(metric=f"dnsmos_{name}", network=folder.name) for name, _ in scores}
        return {name: Scored(value, signed[name]) for name, value in scores}, ()

    return rated


def _rate(file: Path) -> int:
    with SoundReader(file) as reader:
        return reader.rate_hz


def _words(file: Path) -> str:
    """The words of a stem's file name: ``dog barking`` for dog_barking_2.wav."""
    return re.sub(r"[\W_\d]+", " ", file.stem).strip()


def set_scores(protocol: str, parts: Sequence[tuple[Any, ...]]) -> dict[str, Scored[float] | Undefined]:
    """Scores of all outputs together, by name."""
    if not parts or protocol not in LISTENERS:
        return {}
    network = parts[0][-1]
    if protocol == "frechet":
        vectors = (np.stack([part[number] for part in parts]) for number in (0, 1))
        return {"frechet": frechet_distance(*vectors, network=network)}
    if protocol == "accuracy":
        return {"accuracy of stems": accuracy([part[1] for part in parts], network=network)}
    outputs, stems, true = ([part[number] for part in parts] for number in (0, 1, 2))
    return {
        "word_error of all": word_error(outputs, true, network=network),
        "word_error of stems": word_error(stems, true, network=network),
    }


def _set_table(outcomes: Mapping[str, Scored[float] | Undefined], *, n: int) -> Table:
    rows = []
    for name, outcome in outcomes.items():
        remark = outcome.reason if isinstance(outcome, Undefined) else ""
        if isinstance(outcome, Frechet):
            remark = f"{outcome.extrapolated:.3f} of endless sounds; bias of these few {outcome.bias:.3f}"
        rows.append((name, _cell(outcome), str(n), remark))
    return Table(title="All outputs together", header=("score", "value", "outputs", "remarks"), rows=tuple(rows))


PROTOCOLS: Final = (*SCORES, *LISTENERS)
PERMUTED: Final = ("bss3", "bss4")
_OF_MIXTURES: Final = re.compile(r"mix(ture)?s?(_[a-z]+)?")


class SoundPair(NamedTuple):
    """A stem, its name in its mixture, and its output, which is looked for in ``folder``; None if missing."""

    name: str
    stem: Path
    folder: Path
    output: Path | None


class SoundPairs(NamedTuple):
    """The stems of one mixture with their outputs; ``wanted`` are those to score."""

    name: str
    pairs: tuple[SoundPair, ...]
    wanted: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundRow:
    """The scores of an output by name, remarks on it, and its data for scores of all outputs."""

    id: str
    mixture: str
    outcomes: Mapping[str, Outcome[float]]
    note: str = ""
    parts: tuple[Any, ...] = field(default=(), repr=False)


class _Unmatched(NamedTuple):
    """Outputs without a stem, and stems without an output beside others that have one."""

    outputs: Sequence[Path]
    stems: Sequence[Path]


def score_sounds(
    options: ScoreOptions, progress: Progress | None = None
) -> tuple[Summary, list[Table], list[dict[str, Any]]]:
    """Score outputs against stems; the last value is the rows of ``errors.jsonl``.

    ``UsageError`` for options that do not fit, ``NothingToDo`` if the folder of stems holds no sound.
    """
    truth = _checked(options)
    together = options.permute or (options.protocol in SCORES and SCORES[options.protocol].takes == "sound and stems")
    mixtures, unmatched = _mixtures(options.prediction, truth, together=together)
    listener = progress or Silent()
    listener.stage("scoring", len(mixtures))
    workers = default_workers() if options.workers is None else options.workers
    tasks = (Task(mixture.name, mixture) for mixture in mixtures)
    by_mixture: dict[str, list[SoundRow]] = {}
    by_name = {mixture.name: mixture for mixture in mixtures}
    for result in run_tasks(partial(_Scorer, options), tasks, workers=workers, stage="score"):
        outcome = result.outcome
        if isinstance(outcome, Failed):
            outcome = _lost(by_name[result.key], outcome, options.protocol)
        by_mixture[result.key] = outcome
        listener.step()
    rows = [row for mixture in mixtures for row in by_mixture[mixture.name]]
    summary, tables = _summary(rows, options, unmatched)
    errors = [error_to_json(row.id, failure.error) for row in rows for failure in _failures(row)]
    scores = (score_to_json(row.id, name, outcome) for row in rows for name, outcome in row.outcomes.items())
    named_tables = dict(zip(("scores", "together"), tables, strict=False))
    write_scores(options, scores, errors, summary=summary, tables=named_tables, inputs={"outputs": len(rows)})
    return summary, tables, errors


def _checked(options: ScoreOptions) -> Path:
    if options.protocol not in PROTOCOLS:
        names = ", ".join((*MASKS, *PROTOCOLS))
        raise UsageError(f"there is no protocol {options.protocol!r}", expected=f"one of: {names}")
    if options.truth is None:
        raise UsageError("there is no folder of stems to score against", expected="two folders of sound")
    for folder in (options.prediction, options.truth):
        require_folder(folder, expected="a folder of sounds, or of one folder a mixture")
    if options.permute and options.protocol not in PERMUTED:
        raise UsageError("only BSS Eval looks for the best order", expected=f"--protocol {' or '.join(PERMUTED)}")
    if options.model is None and options.protocol in LISTENERS and options.protocol not in _BY_TAGGER:
        raise UsageError(f"{options.protocol} needs a network", expected="--model FOLDER")
    if options.model is not None and options.protocol not in LISTENERS:
        raise UsageError(f"{options.protocol} asks no network", expected=f"--model with: {', '.join(LISTENERS)}")
    return options.truth


def _sounds(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    paths = (path for path in folder.iterdir() if path.is_file() and path.suffix.lower() in SOUND_SUFFIXES)
    return sorted((path for path in paths if path.stem != "mixture"), key=lambda path: natural_key(path.name))


def _by_name(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in _sounds(folder)}


def _pairs(prediction: Path, truth: Path) -> Iterator[tuple[str, list[SoundPair]]]:
    """The stems of each mixture with their outputs; the mixture's name is empty for the whole folder's."""
    given = cache(_by_name)

    def pair(name: str, stem: Path, folder: Path) -> SoundPair:
        return SoundPair(name, stem, folder, given(folder).get(stem.stem))

    folders = sorted(path for path in truth.iterdir() if path.is_dir())
    sources = _sources(prediction, folders)
    if sources:
        for mixture in dict.fromkeys(name for source in sources for name in given(source)):
            stems = {source.name: given(source)[mixture] for source in sources if mixture in given(source)}
            yield mixture, [pair(source, stem, prediction / source) for source, stem in stems.items()]
        return
    for folder in (truth, *folders):
        place = prediction / folder.relative_to(truth)
        yield "" if folder == truth else folder.name, [pair(stem.stem, stem, place) for stem in _sounds(folder)]


def _sources(prediction: Path, folders: Sequence[Path]) -> list[Path]:
    """The folders of sources beside one of mixtures, whose file names they have; none where a folder is a mixture.

    Noise is a source where ``prediction`` has it: of folders of clean mixtures it is no part.
    """
    names = {folder: {path.stem for path in _sounds(folder)} for folder in folders}
    mixtures = [folder for folder in folders if _OF_MIXTURES.fullmatch(folder.name.lower()) and names[folder]]
    mixed = {name for folder in mixtures for name in names[folder]}
    sources = [folder for folder in folders if folder not in mixtures and names[folder] and names[folder] <= mixed]
    if len(sources) < 2 or any(path.stem == "mixture" for folder in folders for path in folder.iterdir()):
        return []
    return [folder for folder in sources if folder.name.lower() != "noise" or (prediction / folder.name).is_dir()]


def _mixtures(prediction: Path, truth: Path, *, together: bool) -> tuple[list[SoundPairs], _Unmatched]:
    """The mixtures (single stems if others do not matter), and the outputs and stems that have no partner."""
    mixtures: list[SoundPairs] = []
    used: set[Path] = set()
    missing: list[Path] = []
    for mixture, pairs in _pairs(prediction, truth):
        if len({pair.name for pair in pairs}) < len(pairs):
            raise UsageError(
                "two stems have one name", path=pairs[0].stem.parent, expected="names that differ before the ending"
            )
        outputs = [pair.output for pair in pairs if pair.output is not None]
        used.update(outputs)
        missing += [pair.stem for pair in pairs if pair.output is None and outputs]
        prefix = f"{mixture}/" if mixture else ""
        wanted = [number for number, pair in enumerate(pairs) if pair.output is not None or not outputs]
        if not together:
            mixtures += [SoundPairs(f"{prefix}{pairs[number].name}", (pairs[number],), (0,)) for number in wanted]
        elif pairs:
            mixtures.append(SoundPairs(prefix or truth.name, tuple(pairs), tuple(wanted)))
    if not mixtures:
        expected = f"files of {', '.join(sorted(SOUND_SUFFIXES))}"
        raise NothingToDo("the folder of stems holds no sound", path=truth, expected=expected)
    places = [prediction, *sorted(path for path in prediction.iterdir() if path.is_dir())]
    extra = [path for place in places for path in _by_name(place).values() if path not in used]
    return mixtures, _Unmatched(extra, missing)


def _lost(mixture: SoundPairs, failure: Failed, protocol: str) -> list[SoundRow]:
    return [_row(mixture, number, {protocol: failure}) for number in mixture.wanted]


def _row(mixture: SoundPairs, number: int, outcomes: Mapping[str, Outcome[float]], *, note: str = "") -> SoundRow:
    folder, _, _ = mixture.name.rpartition("/")
    name = mixture.pairs[number].name
    return SoundRow(
        id=f"{folder}/{name}" if folder else name,
        mixture=folder or (mixture.name if len(mixture.pairs) > 1 else name),
        outcomes=outcomes,
        note=note,
    )


def _output(pair: SoundPair) -> Path:
    if pair.output is None:
        place = pair.folder / pair.stem.name
        raise InputError("there is no output of this stem", expected=f"{place}, or with another ending")
    return pair.output


class _Moved:
    """A signal shifted earlier by a number of samples, padded with silence."""

    def __init__(self, signal: Signal, delay: int) -> None:
        self.shape = signal.shape
        self._signal, self._delay = signal, delay

    def __getitem__(self, key: Any) -> Any:
        start, stop, _ = key[-1].indices(self.shape[-1])
        first, last = start + self._delay, max(start, stop) + self._delay
        inside = self._signal[..., max(0, first) : max(0, last)]
        before = min(max(0, -first), max(0, stop - start))
        after = max(0, stop - start) - before - inside.shape[-1]
        return np.pad(inside, ((0, 0), (before, after)))


class _Scorer:
    """Scores the outputs of one mixture."""

    def __init__(self, options: ScoreOptions) -> None:
        self._options = options
        self._listener: Listener | None = None
        if options.protocol in LISTENERS:
            self._listener = listener_of(options.protocol, options.model)

    def __call__(self, mixture: SoundPairs) -> list[SoundRow]:
        with ExitStack() as opened:
            pairs = mixture.pairs
            stems = [opened.enter_context(SoundReader(pair.stem, cut=False)) for pair in pairs]
            for reader, pair in zip(stems, pairs, strict=True):
                if (reader.rate_hz, reader.shape) != (stems[0].rate_hz, stems[0].shape):
                    hint = "the stems of one mixture stand in one folder: give each mixture a folder of its own"
                    raise _unlike(reader, stems[0], pair.stem, owner=f"stem {shown(pairs[0].stem.name)}", hint=hint)
            fitted: dict[int, tuple[Signal, str] | Failed] = {}
            for number in mixture.wanted:
                try:
                    heard = stems if self._options.permute else [stems[number]]
                    fitted[number] = self._fitted(_output(pairs[number]), heard, opened)
                except InputError as error:
                    fitted[number] = _failed(error, pairs[number].output)
            if self._options.permute:
                return self._permuted(mixture, stems, fitted)
            return [self._scored(mixture, stems, number=number, found=found) for number, found in fitted.items()]

    def _fitted(self, path: Path, stems: Sequence[SoundReader], stack: ExitStack) -> tuple[Signal, str]:
        """An output fitted to its stem, or to the one of several that is most like it, and remarks."""
        stem = stems[0]
        reader = stack.enter_context(SoundReader(path, cut=False))
        signal: Signal = reader
        notes = []
        if (reader.rate_hz, reader.shape[1]) != (stem.rate_hz, stem.shape[1]):
            hint = "--resample brings outputs to the rate and the length of their stem, and the signature says so"
            if not self._options.resample:
                raise _unlike(reader, stem, path, hint=hint)
            samples = resampled(reader[..., :], rate_hz=reader.rate_hz, wanted_hz=stem.rate_hz)
            given = f"{reader.rate_hz} Hz and {reader.shape[1]} samples"
            notes.append(f"{given} brought to {stem.rate_hz} and {stem.shape[1]}")
            kept = samples[:, : stem.shape[1]]
            signal = np.pad(kept, ((0, 0), (0, stem.shape[1] - kept.shape[1])))
        if signal.shape[0] != stem.shape[0]:
            raise _unlike(reader, stem, path, hint="mix both to one number of channels")
        found = [find_delay(signal, one, rate_hz=stem.rate_hz) for one in stems]
        delays = [delay for delay in found if not isinstance(delay, Undefined)]
        delay = max(delays, key=lambda delay: abs(delay.correlation), default=None)
        if delay is not None and delay.named:
            word = "late" if delay.delay_s > 0 else "early"
            done = "aligned" if self._options.align else "not aligned (--align)"
            notes.append(f"{1000 * abs(delay.delay_s):.1f} ms {word}, {done}")
            signal = _Moved(signal, delay.delay_samples) if self._options.align else signal
        return signal, "; ".join(notes)

    def _scored(
        self, mixture: SoundPairs, stems: Sequence[SoundReader], *, number: int, found: tuple[Signal, str] | Failed
    ) -> SoundRow:
        protocol = self._options.protocol
        if isinstance(found, Failed):
            return _row(mixture, number, {protocol: found})
        try:
            if self._listener is not None:
                outcomes, parts = self._listener(found[0][..., :], stems[number][..., :], mixture.pairs[number].stem)
                return replace(_row(mixture, number, self._signed(outcomes), note=found[1]), parts=parts)
            outcomes = score_sound(protocol, found[0], stems, target=number, rate_hz=stems[0].rate_hz)
        except InputError as error:
            return _row(mixture, number, {protocol: _failed(error, mixture.pairs[number].output)})
        return _row(mixture, number, self._signed(outcomes), note=found[1])

    def _permuted(
        self, mixture: SoundPairs, stems: Sequence[SoundReader], fitted: Mapping[int, tuple[Signal, str] | Failed]
    ) -> list[SoundRow]:
        outputs = [output for output in fitted.values() if not isinstance(output, Failed)]
        if len(outputs) < len(stems):
            error = InputError(
                "the best order needs an output for each stem", expected=f"{len(stems)} that can be read"
            )
            return _lost(mixture, _failed(error), self._options.protocol)
        signals = [output[0] for output in outputs]
        if self._options.protocol == "bss3":
            result = bss_sources(signals, stems, order="best")
        else:
            result = bss_images(signals, stems, order="best", window=stems[0].rate_hz)
        rows = []
        for number, (chosen, ratios) in enumerate(zip(result.order, result.ratios, strict=True)):
            moved = [] if chosen == number else [f"output {mixture.pairs[chosen].name}"]
            note = "; ".join(filter(None, [*moved, outputs[chosen][1]]))
            rows.append(_row(mixture, number, self._signed(ratios), note=note))
        return rows

    def _signed(self, outcomes: Mapping[str, Any]) -> dict[str, Outcome[float]]:
        settings = (("resample", self._options.resample), ("align", self._options.align))
        extra = tuple((name, "yes") for name, is_set in settings if is_set)
        return {
            name: replace(outcome, signature=Signature((*extra, *outcome.signature.fields)))
            if isinstance(outcome, Scored)
            else outcome
            for name, outcome in outcomes.items()
        }


def _failed(error: InputError, path: Path | None = None) -> Failed:
    record = ErrorRecord.of(error, "score")
    return Failed(replace(record, path=record.path or (None if path is None else str(path))))


def _unlike(one: SoundReader, other: SoundReader, path: Path, *, owner: str = "its stem", hint: str = "") -> InputError:
    both = [
        f"{reader.shape[1]} samples at {reader.rate_hz} Hz in {counted(reader.shape[0], 'channel')}"
        for reader in (one, other)
    ]
    return InputError(
        f"it has {both[0]}, {owner} {both[1]}", expected="equal rates, lengths and channels", hint=hint, path=path
    )


def _failures(row: SoundRow) -> Iterator[Failed]:
    return (outcome for outcome in row.outcomes.values() if isinstance(outcome, Failed))


def _summary(rows: Sequence[SoundRow], options: ScoreOptions, unmatched: _Unmatched) -> tuple[Summary, list[Table]]:
    names = list(
        dict.fromkeys(name for row in rows for name, outcome in row.outcomes.items() if not isinstance(outcome, Failed))
    )
    metrics, means = {}, []
    for name in names:
        scored = [(row.mixture, score) for row in rows if isinstance(score := row.outcomes.get(name), Scored)]
        clusters: dict[str, list[float]] = {}
        for mixture, score in scored:
            clusters.setdefault(mixture, []).append(score.value)
        estimate: Any = bootstrap_interval(fmean, list(clusters.values()), rng=generator(0, "score sound", name))
        if scored:
            mean = Scored(fmean(score.value for _, score in scored), scored[0][1].signature)
            interval = replace(estimate, signature=mean.signature) if isinstance(estimate, Scored) else mean
            metrics[name] = metric_row(interval, n=len(scored))
        means.append(f"{metrics[name]['value']:.3f}" if scored else "")
    parts = [row.parts for row in rows if row.parts and row.parts[0] is not None]
    together = set_scores(options.protocol, parts)
    for name, outcome in together.items():
        if isinstance(outcome, Scored):
            more = {"extrapolated": outcome.extrapolated, "bias": outcome.bias} if isinstance(outcome, Frechet) else {}
            metrics[name] = metric_row(outcome, n=len(parts), **more)
    failed = sum(any(_failures(row)) for row in rows)
    ok = sum(_is_scored(row, together) for row in rows)
    undefined = len(rows) - ok - failed
    summary = Summary(command="score", n=len(rows), ok=ok, undefined=undefined, failed=failed, metrics=metrics)
    cells = [(row.id, *(_cell(row.outcomes.get(name)) for name in names), _told(row)) for row in rows]
    signature = next((row["signature"] for row in metrics.values()), options.protocol)
    note = f"{signature}; means over outputs, intervals over mixtures; failed and undefined are in no mean"
    for kind, other, paths in (("output", "a stem", unmatched.outputs), ("stem", "an output", unmatched.stems)):
        if paths:
            note += f"; {counted(len(paths), kind)} without {other}, such as {shown(paths[0].name)}, not scored"
    title = f"{options.protocol}, {ok} scored, {summary.undefined} undefined, {failed} failed"
    header = ("output", *names, "remarks")
    tables = [Table(title=title, header=header, rows=(*cells, ("mean", *means, "")), note=note)]
    return summary, tables + ([_set_table(together, n=len(parts))] if together else [])


def _is_scored(row: SoundRow, together: Mapping[str, Scored[float] | Undefined]) -> bool:
    """Whether an output has a score of its own or, where its protocol gives none, counts in one of all outputs."""
    outcomes = row.outcomes.values() if row.outcomes or not row.parts else together.values()
    return any(isinstance(outcome, Scored) for outcome in outcomes)


def _cell(outcome: Outcome[float] | None) -> str:
    return f"{outcome.value:.3f}" if isinstance(outcome, Scored) else ""


def _told(row: SoundRow) -> str:
    """Remarks, and reasons of missing scores."""
    undefined = {name: outcome for name, outcome in row.outcomes.items() if isinstance(outcome, Undefined)}
    remarks = [f"{name} undefined: {outcome.reason}" for name, outcome in undefined.items()]
    remarks += [f"failed: {failure.error.error}" for failure in _failures(row)]
    return "; ".join(filter(None, [row.note, *remarks]))
