"""The part of an audit's page on separated sounds, from the lines of its record.

Rows are put in order and counted here; every other number is the record's own. What could not be judged stands apart
from every count and chart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from auscult.record.reader import SoundVerdicts
from auscult.report.charts.basic import bars_drawing
from auscult.report.facts import ACTION_WORDS, RANK, UNLIKE, action_key, interval, number, percent, shortened, unlike_of
from auscult.report.page import Example, ExampleSound, Figure, Section
from auscult.report.tables import Table, read_table
from auscult.types import PERFORMANCE, SoundVerdict

SOUNDS_SHOWN: Final = 24
"""Outputs with sounds and a picture on a page, at most."""
SOUND_UNLIKE_SHARE: Final = "sound_unlike_share"
"""Metric of ``summary.json``: the share of judged sounds that are out of distribution."""
TRUTH_TABLE: Final = "sound_truth"
"""How the names of tables of judge against truth begin."""

ShownSound: TypeAlias = tuple[bytes, tuple[ExampleSound, ...]]
"""What a page shows of an output: a JPEG, and sounds to play."""

_LISTED: Final = 200
_MANY: Final = 0.25
_BINS: Final = 16
_MOST_CHARACTERS: Final = 240
_LEAD: Final = (
    "Scores are estimates made without the true stem: 1 to 5, higher is better, with the judge’s 90\u00a0% intervals. "
    "Recall: how much of the target is there. Precision: how free it is of everything else. Faithfulness: how "
    "undistorted it is."
)
_HEARD: Final = (
    "Worst first. Over both spectrograms lie two curves, from 0 at the foot to 1 at the top: the share of the target’s "
    "loudness that is likely missing (blue line), and the share of what is heard in the output that is likely left "
    "over of something else (yellow dashes). Shown and played are the loudest 10 s, coarser than the files."
)
_AFTER: Final = "Written after judging: the judge heard none of this."
_UNLIKE: Final = (
    "{} of the judged sounds ({:,} of {:,}) look unlike training: their novelty is {} or more, and a score may be "
    "further off than its interval says. Decide by the lower ends of the intervals, and play the most novel yourself."
)


def worst_sounds(judged: SoundVerdicts) -> list[tuple[SoundVerdict, Mapping[str, Any]]]:
    """The judged outputs, the worst first: by action, by overall score, then by id."""
    scored = ((verdict, row) for verdict, row in judged if verdict.overall is not None)
    return sorted(scored, key=lambda pair: (RANK[action_key(pair[0].action)], pair[0].overall, pair[0].id))


def sound_notes(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """A warning where more than a quarter of the judged sounds are out of distribution."""
    unlike = unlike_of(summary, SOUND_UNLIKE_SHARE)
    if unlike is None or unlike.share <= _MANY:
        return ()
    return (_UNLIKE.format(percent(unlike.share), unlike.count, unlike.n, UNLIKE),)


def sound_sections(
    judged: SoundVerdicts, *, shown: Mapping[str, ShownSound], tables: Mapping[str, object]
) -> list[Section]:
    """Lay out the verdicts on sounds of a record; none without.

    ``shown`` is by item id; of ``tables`` of the record, as JSON, those that begin with ``TRUTH_TABLE`` are shown.
    """
    worst = worst_sounds(judged)
    truth = tuple(read_table(name, tables[name]) for name in sorted(tables) if name.startswith(TRUTH_TABLE))
    examples = tuple(_example(one, row, shown[one.id]) for one, row in worst if one.id in shown)[:SOUNDS_SHOWN]
    counts, chart = (sound_counts(judged),), _chart([verdict for verdict, _ in worst])
    sections = [
        Section(
            name="sounds", title="Separated sounds", count=len(judged), lead=_LEAD,
            figures=chart, tables=counts, beside=True,
        ),
        Section(name="worst-sounds", title="Worst sounds", lead=_HEARD, examples=examples),
        Section(name="sound-scores", title="Scores of sounds", tables=_score_tables(worst, judged)),
        Section(name="sound-truth", title="Sounds: judge against truth", lead=_AFTER, tables=truth),
    ]  # fmt: skip
    return [section for section in sections if section.tables or section.examples] if judged else []


def _chart(verdicts: Sequence[SoundVerdict]) -> tuple[Figure, ...]:
    bins = Counter(
        min(_BINS - 1, int((verdict.overall - 1) / 4 * _BINS)) for verdict in verdicts if verdict.overall is not None
    )
    counts = [(f"{1 + 4 * index / _BINS:g} to {1 + 4 * (index + 1) / _BINS:g}", bins[index]) for index in range(_BINS)]
    ticks, title = {4 * tick: str(tick + 1) for tick in range(5)}, f"Overall score of {len(verdicts):,} judged sounds"
    drawing = bars_drawing(counts, ticks=ticks, title=title, unit="sounds")
    return (Figure(caption=title, drawing=drawing, kind="bars"),) if verdicts else ()


def sound_counts(judged: SoundVerdicts) -> Table:
    """How many outputs there are by action; what could not be judged apart."""
    counts = Counter(action_key(verdict.action) for verdict, row in judged if verdict.overall is not None)
    total, unjudged = counts.total(), len(judged) - counts.total()
    rows = [(ACTION_WORDS[name], f"{n:,}", percent(n / total)) for name in ACTION_WORDS if (n := counts[name])]
    rows += [("all judged", f"{total:,}", ""), *([("unjudged", f"{unjudged:,}", "")] if unjudged else [])]
    title, note = "Separated sounds by action", "What is unjudged has no scores and is in no chart."
    return Table(title=title, header=("action", "n", "of the judged"), rows=tuple(rows), note=note)


def _scored(verdict: SoundVerdict, axis: str) -> str:
    low, high = getattr(verdict, f"{axis}_low"), getattr(verdict, f"{axis}_high")
    return f"{number(getattr(verdict, axis))} {interval(low, high)}".strip()


def _score_tables(worst: SoundVerdicts | Sequence[Any], judged: SoundVerdicts) -> tuple[Table, ...]:
    axes = tuple(reversed(PERFORMANCE))
    scores = tuple(
        (one.id, ACTION_WORDS[action_key(one.action)], *(_scored(one, axis) for axis in axes), number(one.novelty))
        for one, _ in worst[:_LISTED]
    )
    unjudged = tuple((one.id, shortened(one.rationale, _MOST_CHARACTERS)) for one, _ in judged if one.overall is None)
    note = f"At most {_LISTED} are listed; all are in verdicts.csv."
    tables = (
        Table(title="Scores, worst first", header=("id", "action", *axes, "novelty"), rows=scores, note=note),
        Table(title="Not judged", header=("id", "why"), rows=unjudged[:_LISTED], note=note),
    )
    return tuple(table for table in tables if table.rows)


def _example(verdict: SoundVerdict, row: Mapping[str, Any], shown: ShownSound) -> Example:
    hard, notes = (
        ", ".join(f"{axis} {number(value, 1)}" for axis, value in verdict.difficulty.items()),
        row.get("notes"),
    )
    facts = {
        "why": verdict.rationale,
        "scores": "; ".join(f"{axis} {_scored(verdict, axis)}" for axis in PERFORMANCE if axis != "overall"),
        "prompts": _prompts(verdict, row),
        "difficulty": f"{hard} (1 to 5, higher is harder)" if hard else "",
        "novelty": number(verdict.novelty) + (": unlike training" if verdict.novelty >= UNLIKE else ""),
        "domain": verdict.domain,
        "system": str(row.get("system") or row.get("family") or ""),
        "output": str(row.get("separated") or ""),
        "mixture": str(row.get("mixture") or ""),
        "notes": "; ".join(map(str, notes)) if isinstance(notes, list) else "",
    }
    return Example(
        title=f"{ACTION_WORDS[action_key(verdict.action)]}: overall {_scored(verdict, 'overall')}",
        jpeg=shown[0],
        text=shortened(str(row.get("text") or ""), _MOST_CHARACTERS),
        id=verdict.id,
        facts=tuple((label, shortened(text, 2 * _MOST_CHARACTERS)) for label, text in facts.items() if text),
        shows="spectrograms of mixture and output, with what is likely missing and left over",
        broad=True,
        sounds=shown[1],
    )


def _prompts(verdict: SoundVerdict, row: Mapping[str, Any]) -> str:
    """Which prompts were given and which of them the judge understood."""
    basis = verdict.evidence
    kinds = {"words": ("text", basis.text), "spans": ("spans_s", basis.spans), "picture": ("video", basis.picture)}
    parts = [f"{name} {'' if used else 'not '}understood" for name, (key, used) in kinds.items() if row.get(key)]
    parts += [f"words not known: {', '.join(basis.unknown)}"] if basis.unknown else []
    return "; ".join(parts) or "none given"
