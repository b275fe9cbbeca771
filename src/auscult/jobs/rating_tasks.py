"""``auscult ratings tasks|guide|batch``: what raters hear, what they listen for, and what they rate next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from auscult.cases import fields
from auscult.cases.problems import Problems, required_file
from auscult.cases.ratings import RATED_AXES, label_studio_config, number_of, rows_of
from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import Flag, RecordOptions, input_path, names
from auscult.jobs.ratings import Done, csv_bytes, jsonl_bytes, trust_in, written
from auscult.jobs.runner import Progress, Silent
from auscult.jobs.stress_separation import stems_of
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.outcome import Undefined
from auscult.record.codec import dump
from auscult.report.charts.basic import Stack, histogram
from auscult.report.drawing import Drawing
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.scenes.mixtures.loudness import integrated_lufs
from auscult.score.raters import SCALE, entropy_bits
from auscult.stress.sound.separation import perturb
from auscult.types import PERFORMANCE, Doubles, Samples, SoundItem

_SOUNDS: Final = "/data/local-files/?d=sounds/"  # how Label Studio names files of a local storage
_PEAK: Final = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksOptions(RecordOptions):
    """What is rated, by whom, and how it is heard.

    Attributes:
        source: An INPUT of sounds whose items have a separated sound.
        golden: An INPUT of sounds that experts rated, hidden among the others.
        raters: Raters that `auscult ratings qualify` trusts: its folder or raters.csv.
        people: Instead: comma-separated names of raters.
        per_item: Raters of each item.
        golden_each: Golden items that each rater gets.
        loudness_lufs: Loudness of all that is heard (ITU-R BS.1770).
        seed: The same seed deals the same tasks.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    golden: Path | None = None
    raters: Path | None = None
    people: Annotated[tuple[str, ...], Flag(read=names)] = ()
    per_item: Annotated[int, Flag(least=1)] = 3
    golden_each: Annotated[int, Flag(least=0)] = 10
    loudness_lufs: Annotated[float, Flag(name="loudness", least=-60.0, most=-10.0)] = -23.0
    seed: int = 0


def deal_tasks(options: TasksOptions, progress: Progress | None = None) -> Done:
    """Write tasks for each rater: all domains shuffled, golden items hidden, equal loudness, blind names."""
    trust = trust_in(options.raters) if options.raters else {}
    people = tuple(dict.fromkeys(options.people or (name for name, good in trust.items() if good)))
    if len(people) < options.per_item:
        given = f"{len(people)} raters for {options.per_item} of each item"
        raise UsageError(given, expected="as many raters", hint="--people a,b,c, or --raters FOLDER of ratings qualify")
    listings = [read_sounds(path) for path in (options.source, options.golden) if path is not None]
    problems = Problems(found=[one for found in listings for one in found.problems])
    files: dict[str, bytes | Callable[[], bytes]] = {}
    key: list[tuple[str | float, ...]] = []
    named: list[dict[str, str]] = []  # blind names and texts of the items, then of golden ones
    (progress or Silent()).stage("levelling sounds", sum(len(listing.items) for listing in listings))
    for golden, listing in enumerate(listings):
        named.append({})
        for item in listing.items:
            (progress or Silent()).step()
            try:
                name, sounds, gains = _levelled(item, options, golden=golden)
            except InputError as error:
                problems.add(error, error.path, item=item.id)
                continue
            named[golden][name] = item.query.text or ""
            files |= sounds
            key.append((name, item.id, "yes" if golden else "no", item.domain, *gains))
    if not named[0]:
        raise NothingToDo("no item has a separated sound that can be read", path=options.source)
    lists = deal(list(named[0]), people, each=options.per_item, seed=options.seed)
    rows = []
    for person in people:
        rng = generator(options.seed, "ratings", "golden", person)
        hidden = rng.permutation(list(named[1]))[: options.golden_each].tolist() if len(named) > 1 else []
        order = rng.permutation([*lists[person], *hidden]).tolist()
        text = {name: words for one in named for name, words in one.items()}
        sounds_of = ("separated", f"{_SOUNDS}{{}}.wav"), ("mixture", f"{_SOUNDS}{{}}-mixture.wav")
        heard = {name: {kind: path.format(name) for kind, path in sounds_of} for name in order}
        tasks = [{"data": {"item": name, "text": text[name], **sounds}} for name, sounds in heard.items()]
        files[f"tasks/{quote(person, safe='')}.json"] = dump(tasks, indent=2)
        rows.append((person, str(len(order)), str(len(hidden))))
    files["config.xml"] = label_studio_config().encode()
    files["key.csv"] = csv_bytes(("item", "id", "golden", "domain", "gain_db", "mixture_gain_db"), key)
    note = "key.csv says what is behind a name; raters must not see it. Serve sounds/ as local files of Label Studio."
    table = Table(title="Tasks", header=("rater", "items", "golden among them"), rows=tuple(rows), note=note)
    return written("ratings tasks", options, {"tasks": table}, n=len(key), problems=problems.found, files=files)


def deal(items: Sequence[str], people: Sequence[str], *, each: int, seed: int) -> dict[str, list[str]]:
    """Give each item to ``each`` different people, so that loads differ by one at most."""
    rng = generator(seed, "ratings", "deal")
    lists: dict[str, list[str]] = {person: [] for person in people}
    load = np.zeros(len(people), np.int64)
    for item in rng.permutation(list(items)).tolist():
        for at in np.lexsort((rng.random(len(people)), load))[:each]:
            lists[people[at]].append(item)
            load[at] += 1
    return lists


def _levelled(
    item: SoundItem, options: TasksOptions, *, golden: int
) -> tuple[str, dict[str, Callable[[], bytes]], tuple[float, float]]:
    """A name that tells nothing, what makes the item's two sounds at the same loudness, and the gains in dB."""
    if item.separated is None:
        raise InputError("the item has no separated sound", expected="'separated'", path=item.source)
    name = generator(options.seed, "ratings", "name", golden, item.id).bytes(6).hex()
    files: dict[str, Callable[[], bytes]] = {}
    gains = []
    for path, ending in ((item.separated, ""), (item.mixture, "-mixture")):
        sound = read_sound(path)
        loudness = integrated_lufs(sound.samples, rate_hz=sound.rate_hz)
        gain_db = options.loudness_lufs - loudness if math.isfinite(loudness) else 0.0  # silence stays silence
        peak = float(np.abs(sound.samples).max())
        gain_db = min(gain_db, 20 * math.log10(_PEAK / peak)) if peak > 0 else 0.0
        files[f"sounds/{name}{ending}.wav"] = partial(wav_of, path, gain_db)
        gains.append(round(gain_db, 3))
    return name, files, (gains[0], gains[1])


def wav_of(path: Path, gain_db: float = 0.0) -> bytes:
    """A sound file as 16-bit WAV, louder by some dB."""
    sound = read_sound(path)
    return wav_bytes(Sound(samples=sound.samples * np.float32(10 ** (gain_db / 20)), rate_hz=sound.rate_hz), "int16")


# --- the guideline ---

_STRESSED: Final = {
    "recall-high": ("leakage", 3), "recall-low": ("time_loss", 5),
    "precision-high": ("time_loss", 3), "precision-low": ("leakage", 5),
    "faithfulness-high": ("time_loss", 3), "faithfulness-low": ("musical_noise", 5),
    "overall-high": ("equalisation", 0), "overall-low": ("wrong_source", 5),
}  # fmt: skip
"""Examples of performance: the kind of ``stress.sound.separation`` and its severity. Some that are high on one axis are
not on another, so that raters hear the axes apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideOptions(RecordOptions):
    """What to make examples of.

    Attributes:
        source: An INPUT of sounds with stems, such as `auscult make mixtures` writes.
        item: Its item to use; by default the first with a target and two other sources.
        seed: The same seed makes the same examples.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    item: Annotated[str | None, Flag(shown="the first that will do")] = None
    seed: int = 0


def make_guide(options: GuideOptions) -> Done:
    """Write the guideline of the nine axes, with a sound that is high and one that is low on each."""
    items = [one for one in read_sounds(options.source).items if options.item in (None, one.id)]
    item = next((one for one in items if one.truth and one.truth.stem and len(one.truth.others) >= 2), None)
    if item is None:
        raise NothingToDo(
            "no item has a stem and two other sources", path=options.source, expected="'truth' with stems"
        )
    stems, rate_hz = stems_of(item)
    examples: dict[str, Samples] = {"target": stems[0], "mixture": np.sum(stems, axis=0)}
    for name, (kind, severity) in _STRESSED.items():
        made = perturb(kind, stems, rate_hz=rate_hz, severity=severity, seed=options.seed, key=name)
        if isinstance(made, Undefined):
            raise UsageError(f"{item.id} has no example of {name}: {made.reason}", hint="choose another --item")
        examples[name] = made.output
    for axis in RATED_AXES[4:]:
        for end in ("high", "low"):
            examples[f"{axis}-{end}"] = _remixed(axis, stems, hard=end == "high")
    files = {}
    for name, one in examples.items():
        quieter = one * np.float32(min(1.0, _PEAK / max(1e-9, float(np.abs(one).max()))))  # within full scale
        files[f"sounds/{name}.wav"] = wav_bytes(Sound(samples=quieter, rate_hz=rate_hz), "int16")
    text = resources.files("auscult.jobs").joinpath("rating_guide.txt").read_text(encoding="utf-8")
    files["guide.md"] = text.replace("WANTED", item.query.text or "the target").encode()
    table = Table(title="Guideline", header=("sounds", "of item"), rows=((str(len(examples)), item.id),))
    return written("ratings guide", options, {"guide": table}, n=len(examples), files=files)


def _remixed(axis: str, stems: Sequence[Samples], *, hard: bool) -> Samples:
    """A mixture that is hard on one axis of difficulty, or easy."""
    target, others = stems[0], list(stems[1:])
    twin = np.roll(target, target.shape[-1] // 2, axis=-1)  # a second source of the target's own kind
    rest = np.sum(others, axis=0)
    mixes = {
        "counting": (target + rest, target + others[0]),
        "overlapping": (target + rest, np.concatenate((target, rest), axis=-1)),
        "loudness": (0.25 * target + rest, target + 0.25 * rest),
        "confusion": (target + twin, target + others[0]),
        "difficulty": (0.25 * (target + twin) + rest, np.concatenate((target, 0.25 * others[0]), axis=-1)),
    }
    return np.asarray(mixes[axis][0 if hard else 1], dtype=np.float32)


# --- batches ---

SIGNS: Final[Mapping[str, int]] = {"clap": 1, "clap_residual": 1, "complexity": -1, "complexity_residual": -1}
"""Columns of the composite of batch 1, and whether more of each is better; a residual is the output's minus the
mixture's."""
PARTS: Final = ("poor", "medium", "good")
_FORM: Final = "rows with id and " + ", ".join(SIGNS) + " (batch 1), " + ", ".join(PERFORMANCE) + " (2) or overall (3)"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions(RecordOptions):
    """Which batch to draw, and from what.

    Attributes:
        number: 1: by a composite of clap, clap_residual, complexity and complexity_residual. 2: by a judge's recall,
            precision, faithfulness and overall. 3: by its overall, where those rated leave gaps.
        source: Candidates: a CSV with id and these columns; for 2 and 3 also JSON lines, such as a judge's
            verdicts.jsonl; for 1 also an INPUT of sounds, of which the complexities are measured.
        count: How many to draw.
        enrich: Draw nothing yet: of an INPUT of sounds, write outputs with parts masked and equalised, for the judge.
        rated: Scores of earlier batches, the scores.jsonl of `auscult ratings import`; what they hold is not drawn.
        seed: The same seed draws the same.
    """

    number: Annotated[int, Flag(metavar="1|2|3", positional=True, least=1, most=3)]
    source: Annotated[Path, Flag(read=input_path, metavar="FILE", positional=True)]
    count: Annotated[int, Flag(least=1)] = 1000
    enrich: bool = False
    rated: Path | None = None
    seed: int = 0


def draw_batch(options: BatchOptions) -> Done:
    """Draw a balanced batch, and show the distributions of candidates, of the batch, and of all that is rated then."""
    if options.enrich:
        return _enriched(options)
    problems, columns = Problems(), (tuple(SIGNS), PERFORMANCE, ("overall",))[options.number - 1]
    rated = [] if options.rated is None else scored_rows(options.rated, PERFORMANCE, problems)
    sounds = options.number == 1 and options.source.suffix.lower() != ".csv"
    candidates = _measured(options.source, problems) if sounds else scored_rows(options.source, columns, problems)
    known = {row["id"] for row in rated}
    candidates = [*{row["id"]: row for row in candidates if row["id"] not in known}.values()]
    axes, names = (("composite",), PARTS) if options.number == 1 else (columns, tuple("12345"))
    whole = [row for row in candidates if options.number == 1 or set(axes) <= set(row)]
    if not whole:
        raise NothingToDo("there is no candidate with all scores", path=options.source, expected=_FORM)
    bins = thirds(composite(whole))[:, None] if options.number == 1 else np.array([_bins(row, axes) for row in whole])
    before = [_bins(row, axes) for row in rated if set(axes) <= set(row)]
    there = _counts(np.array(before, np.int64).reshape(-1, len(axes)), len(names))
    filled = there if options.number == 3 else np.zeros_like(there)  # batches 1 and 2 are balanced by themselves
    drawn = balanced_draw(bins, options.count, before=filled, rng=generator(options.seed, "ratings", "batch"))
    batch = _counts(bins[drawn], len(names))
    steps = {"candidates": _counts(bins, len(names)), "batch": batch, "rated and batch": there + batch}
    header = ("id", *columns, *(("part",) if options.number == 1 else ()))
    rows = [{**whole[at], "part": names[bins[at, 0]]} for at in drawn]
    tables = {"batch": _table(steps, axes, names, number=options.number)}
    files = {"batch.csv": csv_bytes(header, ([row.get(one) for one in header] for row in rows))}
    charts = {axis: _chart(there[at], batch[at], axis=axis, names=names) for at, axis in enumerate(axes)}
    found = problems.found
    return written("ratings batch", options, tables, n=len(rows), problems=found, files=files, charts=charts)


_ENRICHED: Final = ("temporal_mask", "frequency_mask", "equalisation")


def _enriched(options: BatchOptions) -> Done:
    """Write an INPUT of what masks and equalisation leave of separated sounds, one kind and severity drawn for each."""
    problems, listing = Problems(), read_sounds(options.source)
    problems.found += listing.problems
    files: dict[str, bytes | Callable[[], bytes]] = {}
    lines = []
    for number, item in enumerate(listing.items):
        with problems.skipping(item.source or options.source, line=item.line):
            if item.separated is None or not read_sound(item.separated).samples.any():
                raise InputError("the item has no separated sound, or a silent one", expected="'separated', with sound")
            rng = generator(options.seed, "ratings", "enrich", item.id)
            kind, severity = _ENRICHED[rng.integers(len(_ENRICHED))], round(float(rng.uniform(1, 5)), 3)
            separated, mixture = (Path(f"sounds/{number}{end}.wav") for end in ("", "-mixture"))
            files[separated.as_posix()] = partial(_changed, item.separated, kind, severity)
            files[mixture.as_posix()] = partial(wav_of, item.mixture)
            made = replace(item, id=f"{item.id}#{kind}", query=replace(item.query, picture=None), truth=None)
            extra = {"enriched": kind, "severity": severity}
            made = replace(made, mixture=mixture, separated=separated, extra=extra)
            lines.append(sound_line(made, home=Path()))
    files["items.jsonl"] = jsonl_bytes(lines)
    counts = Counter(str(line["enriched"]) for line in lines)
    rows = tuple((kind, str(counts[kind])) for kind in _ENRICHED)
    table = Table(title="Enriched outputs", header=("kind", "items"), rows=rows, note="Judge them, then draw batch 2.")
    return written("ratings batch", options, {"enriched": table}, n=len(lines), problems=problems.found, files=files)


def _changed(path: Path, kind: str, severity: float) -> bytes:
    sound = read_sound(path)
    made = perturb(kind, [sound.samples], rate_hz=sound.rate_hz, severity=severity, key=path.stem)
    heard = sound.samples if isinstance(made, Undefined) else np.clip(made.output, -1, 1)
    return wav_bytes(Sound(samples=heard, rate_hz=sound.rate_hz), "int16")


def scored_rows(path: Path, columns: Sequence[str], problems: Problems) -> list[dict[str, Any]]:
    """Rows with an id and numbers in the columns that a table or JSON lines have; what lacks all is passed over."""
    found = []
    with required_file(path):
        for line, row in rows_of(path, needed=("id",), expected=_FORM):
            with problems.skipping(path, line=line):
                given = {name: number_of(row.get(name)) for name in columns}
                known = {name: number for name, number in given.items() if number is not None}
                if not np.isfinite([*known.values()]).all():
                    raise InputError("a score is no number", expected=_FORM)
                if known:
                    found.append({"id": fields.required(row, "id").removeprefix("'"), **known})
    return found


def composite(rows: Sequence[Mapping[str, Any]]) -> Doubles:
    """(n,) the mean of the columns of ``SIGNS`` that all rows have, standardised, higher for better separation."""
    names = [name for name in SIGNS if all(name in row for row in rows)]
    if not names:
        raise UsageError("no column is in all rows", expected=f"some of {', '.join(SIGNS)}")
    table = np.array([[SIGNS[name] * row[name] for name in names] for row in rows])
    return np.asarray(((table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-12)).mean(axis=1))


def thirds(values: Doubles) -> NDArray[np.int64]:
    """(n,) 0, 1 or 2: the third of the range, without its outermost 2 % at each end, that a value is in."""
    low, high = np.quantile(values, (0.02, 0.98))
    return np.asarray(np.digitize(values, (low + (high - low) / 3, high - (high - low) / 3)))


def balanced_draw(bins: NDArray[np.int64], count: int, *, before: Doubles, rng: np.random.Generator) -> list[int]:
    """Draw so that the bins on all axes become even, one after the other: next is what is in the emptiest bins.

    Args:
        bins: (candidates, axes) the bin of each candidate.
        count: How many to draw; all where there are not more.
        before: (axes, bins) how many there are already.
        rng: From ``auscult.rng.generator``; ties are broken at random.
    """
    filled, axes = np.asarray(before, float).copy(), np.arange(bins.shape[1])
    order = rng.permutation(len(bins))
    left, drawn = bins[order], []
    there = np.ones(len(bins), bool)
    for _ in range(min(count, len(bins))):
        cost = np.where(there, filled[axes, left].sum(axis=1), np.inf)
        at = int(cost.argmin())
        there[at] = False
        filled[axes, left[at]] += 1
        drawn.append(int(order[at]))
    return drawn


def spectral_complexity(samples: Samples, *, rate_hz: int) -> float:
    """How many of 40 bands sound at once, 1 to 40: exp of the entropy of their power, mean over frames of 64 ms.

    Frames count by their power to .3, as loudness does. A pure tone has about 1, white noise 40. Ours; it stands in for
    the production complexity of Audiobox Aesthetics, which may be given as a column. Silence has 0.
    """
    mono = np.atleast_2d(samples).mean(axis=0)
    size = max(64, int(2 ** np.round(np.log2(0.064 * rate_hz))))
    padded = np.pad(mono, (0, max(0, size - mono.size)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 2]
    frames = frames[:: -(-len(frames) // 4096)]  # of long sounds some, evenly
    power = np.abs(np.fft.rfft(frames * np.hanning(size), axis=1)) ** 2
    edges = np.unique(np.geomspace(2, power.shape[1] - 1, 41).astype(int))
    bands = np.add.reduceat(power, edges[:-1], axis=1) / np.diff(edges)
    total = bands.sum(axis=1)
    shares = bands / np.maximum(total, 1e-30)[:, None]
    several = np.exp(-(shares * np.log(np.maximum(shares, 1e-30))).sum(axis=1))
    weight = total**0.3
    return float((several * weight).sum() / weight.sum()) if total.max() > 1e-9 else 0.0


def _measured(source: Path, problems: Problems) -> list[dict[str, Any]]:
    rows = []
    listing = read_sounds(source)
    problems.found += listing.problems
    for item in listing.items:
        with problems.skipping(item.source or source, line=item.line):
            if item.separated is None:
                raise InputError("the item has no separated sound", expected="'separated'")
            heard = [read_sound(path) for path in (item.separated, item.mixture)]
            own, all_ = (spectral_complexity(one.samples, rate_hz=one.rate_hz) for one in heard)
            given = {name: fields.number(item.extra, name) for name in SIGNS}
            known = {name: value for name, value in given.items() if value is not None}
            rows.append({"id": item.id, "complexity": own, "complexity_residual": own - all_, **known})
    return rows


def _bins(row: Mapping[str, Any], axes: Sequence[str]) -> list[int]:
    """The bins of scores 1..5, from 0."""
    return [int(np.clip(np.rint(row[axis]), 1, SCALE)) - 1 for axis in axes]


def _counts(bins: NDArray[np.int64], most: int) -> Doubles:
    """(axes, bins) how many of (n, axes) are in each."""
    return np.array([np.bincount(column, minlength=most) for column in bins.T], dtype=np.float64)


def _table(steps: Mapping[str, Doubles], axes: Sequence[str], names: Sequence[str], *, number: int) -> Table:
    rows = [
        (step, axis, *(f"{one:.0f}" for one in row), f"{entropy_bits(row):.3f}")
        for step, counts in steps.items()
        for axis, row in zip(axes, counts, strict=True)
    ]
    header, note = ("what", "axis", *names, "entropy, bits"), f"Even bins have {np.log2(len(names)):.3f} bits."
    return Table(title=f"Batch {number}: how even it is", header=header, rows=tuple(rows), note=note)


def _chart(before: Doubles, batch: Doubles, *, axis: str, names: Sequence[str]) -> Drawing:
    stacks = [
        Stack(name, (("quiet", "rated before", int(before[at])), ("accent", "in the batch", int(batch[at]))))
        for at, name in enumerate(names)
    ]
    words = ", ".join(f"{name}: {before[at] + batch[at]:.0f}" for at, name in enumerate(names))
    return histogram(stacks, title=f"Distribution of {axis} after the batch", ticks=dict(enumerate(names)), words=words)
