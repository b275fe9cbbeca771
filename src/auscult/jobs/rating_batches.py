"""``auscult ratings batch 1|2|3``: which separated sounds people should rate next (Sec. III-A)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.cases import fields
from auscult.cases.problems import Problems, required_file
from auscult.cases.ratings import rows_of
from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import Flag, RecordOptions, input_path
from auscult.jobs.rating_tasks import wav_of
from auscult.jobs.ratings import Done, csv_bytes, jsonl_bytes, written
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.outcome import Undefined
from auscult.report.charts.basic import Stack, histogram
from auscult.report.drawing import Drawing
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.raters import SCALE, entropy_bits
from auscult.stress.sound.separation import perturb
from auscult.types import PERFORMANCE, Doubles, Samples

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
        source: Candidates: a CSV or JSON lines with id and these columns, such as a judge's verdicts.jsonl; for batch
            1 also an INPUT of sounds, of which the complexities are measured.
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
    candidates = [row for row in candidates if row["id"] not in known]
    axes, names = (("composite",), PARTS) if options.number == 1 else (columns, tuple("12345"))
    whole = [row for row in candidates if options.number == 1 or set(axes) <= set(row)]
    if not whole:
        raise NothingToDo("there is no candidate with all scores", path=options.source, expected=_FORM)
    bins = thirds(composite(whole))[:, None] if options.number == 1 else np.array([_bins(row, axes) for row in whole])
    there = np.zeros((len(axes), len(names)))
    if options.number > 1 and rated:
        there = _counts(np.array([_bins(row, axes) for row in rated if set(axes) <= set(row)]), len(names))
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
            files[f"sounds/{number}.wav"] = partial(_changed, item.separated, kind, severity)
            files[f"sounds/{number}-mixture.wav"] = partial(wav_of, item.mixture)
            made = replace(
                item,
                id=f"{item.id}#{kind}",
                mixture=Path(f"sounds/{number}-mixture.wav"),
                separated=Path(f"sounds/{number}.wav"),
                query=replace(item.query, picture=None),
                truth=None,
                extra={"enriched": kind, "severity": severity},
            )
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
                given = {name: row[name] for name in columns if row.get(name) not in (None, "")}
                numbers = {name: float(value) if isinstance(value, str) else value for name, value in given.items()}
                known = {name: fields.number(numbers, name) for name in numbers}
                if known:
                    found.append({"id": fields.required(row, "id"), **known})
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
    return Table(
        title=f"Batch {number}: how even it is",
        header=("what", "axis", *names, "entropy, bits"),
        rows=tuple(
            (step, axis, *(f"{one:.0f}" for one in counts[at]), f"{entropy_bits(counts[at]):.3f}")
            for step, counts in steps.items()
            for at, axis in enumerate(axes)
        ),
        note=f"Even bins have {np.log2(len(names)):.3f} bits.",
    )


def _chart(before: Doubles, batch: Doubles, *, axis: str, names: Sequence[str]) -> Drawing:
    stacks = [
        Stack(name, (("quiet", "rated before", int(before[at])), ("accent", "in the batch", int(batch[at]))))
        for at, name in enumerate(names)
    ]
    words = ", ".join(f"{name}: {before[at] + batch[at]:.0f}" for at, name in enumerate(names))
    return histogram(stacks, title=f"Distribution of {axis} after the batch", ticks=dict(enumerate(names)), words=words)
