"""``auscult act rerank``: the best output of each mixture, and with truth what choosing so is worth."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.act.rerank import Standing, best_of, grouped, ranked, standing
from auscult.errors import InputError, UsageError
from auscult.jobs.act import beside, require_ours, write_files
from auscult.jobs.sound_input import FOLDERS, SoundRecord, input_of, json_lines, mixture_and_output
from auscult.jobs.sound_options import RerankOptions
from auscult.judge.sound.shared import delay_of, moved
from auscult.media.wav import Sound
from auscult.models.sound_taggers import SoundTagger, load_tagger, text_similarity
from auscult.outcome import Scored
from auscult.report.facts import ends_text
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.sound.ratios import si_sdr
from auscult.score.sound.spans import span_agreement
from auscult.score.stats.ratios import Ratio, mean_of_ratios
from auscult.score.stats.samples import SampleValues
from auscult.types import PERFORMANCE, Doubles, SoundQuery

JUDGE, RANDOM, ORACLE = "the judge", "random", "oracle"
SIMILARITY, SPANS, LIKE_MIXTURE = "words and sound", "span agreement", "SI-SDR to the mixture"
BASELINES: Final = (SIMILARITY, SPANS, LIKE_MIXTURE)
"""Ways to choose that need no judge; the highest is chosen."""
_SHOWN: Final = 20
_FILES: Final = ("items.jsonl", "ranking.jsonl", "rerank.json", *FOLDERS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """The candidates of one mixture: where each way of choosing puts them, and what each is truly worth."""

    cluster: str
    standings: Mapping[str, Sequence[Standing]]  # by way of choosing, (n,) each
    truths: Doubles  # (n,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """What was chosen."""

    ranking: tuple[dict[str, Any], ...]  # all candidates, as ``act.rerank.ranked`` gives them
    by: str
    best_of: tuple[dict[str, Any], ...]  # as ``best_of_rows`` gives them; empty without truth
    out: Path

    @property
    def best(self) -> list[dict[str, Any]]:
        """The best candidate of each mixture that has a judged one."""
        return [one for one in self.ranking if one["rank"] == 1 and one["score"] is not None]

    @property
    def tables(self) -> list[Table]:
        """The best of each mixture, the clearest first, and with truth what the choice is worth."""
        order = sorted(self.best, key=lambda one: -(one["margin"] or 0.0))[:_SHOWN]
        rows = [
            (one["id"], *("" if one[key] is None else f"{one[key]:.2f}" for key in ("score", "margin")))
            for one in order
        ]
        unjudged = sum(one["score"] is None for one in self.ranking)
        note = (
            f"{len(self.ranking)} candidates of {len(self.best)} mixtures, {unjudged} unjudged; those with the largest "
        )
        note += "margin over the next first; all are in ranking.jsonl"
        table = Table(title=f"best by {self.by}", header=("id", self.by, "margin"), rows=tuple(rows), note=note)
        return [table, *([best_of_table(self.best_of)] if self.best_of else [])]

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        ids = [one["id"] for one in self.best]
        more = {"by": self.by, "ids": ids, "best_of": list(self.best_of), "out": str(self.out)}
        return {"command": "act rerank", "n": len(self.ranking), "mixtures": len(ids), **more}


def rerank_record(options: RerankOptions) -> Reranked:
    """Choose the best candidate of each mixture of a record, and write the chosen ones out as an INPUT."""
    if options.by not in PERFORMANCE:
        raise UsageError(f"there is no --by {options.by[:80]!r}", expected=f"one of: {', '.join(PERFORMANCE)}")
    record = SoundRecord.read(options.folder)
    out = options.out or beside(options.folder, "rerank")
    require_ours(out, names=_FILES, made_by="rerank")
    groups = grouped(record.rows)
    found = [one for group in groups for one in ranked(group, options.by)]
    worth = best_of_rows(_choices(record, options), ks=options.ks)
    made = Reranked(ranking=tuple(found), by=options.by, best_of=tuple(worth), out=out)
    chosen = [record.items[one["id"]] for one in made.best]
    files = {
        "items.jsonl": input_of(out, chosen, source=record.source),
        "ranking.jsonl": json_lines(found),
        "rerank.json": json.dumps(made.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    write_files(out, files)
    return made


def _choices(record: SoundRecord, options: RerankOptions) -> list[Choice]:
    """The mixtures of several candidates with a true score; those without one, as what is unjudged, are left out."""
    truths = record.truths(options.by)
    tagger = load_tagger(options.tagger) if options.tagger and truths else None
    made = []
    for group in grouped(row for row in record.rows if row["id"] in truths):
        plain = []
        own = [record.items[row["id"]] for row in group] if len(group) > 1 else []
        for item in own:
            try:
                plain.append(plain_scores(*mixture_and_output(item), query=item.query, tagger=tagger))
            except InputError:  # a file that is gone since
                plain.append(dict.fromkeys(BASELINES))
        if own:
            standings = {JUDGE: [standing(row, options.by) for row in group], **standings_of(plain)}
            worth = np.array([truths[item.id] for item in own])
            made.append(Choice(cluster=own[0].cluster, standings=standings, truths=worth))
    return made


def plain_scores(
    mixture: Sound, output: Sound, *, query: SoundQuery, tagger: SoundTagger | None
) -> dict[str, float | None]:
    """What an output has by ``BASELINES``, both (1, samples); None where nothing tells, such as without spans."""
    rate_hz, found = mixture.rate_hz, dict[str, float | None].fromkeys(BASELINES)
    heard = moved(output.samples, delay_of(mixture.samples[0], output.samples[0], rate_hz=rate_hz))
    if tagger is not None and query.text and heard.any():
        found[SIMILARITY] = text_similarity(tagger, query.text, heard, rate_hz=rate_hz)
    end_s = heard.shape[1] / rate_hz
    spans = [(one.start_s, min(one.end_s, end_s)) for one in query.spans if one.sign == "+" and one.start_s < end_s]
    outcomes = {SPANS: span_agreement(heard, spans, rate_hz=rate_hz), LIKE_MIXTURE: si_sdr(heard, mixture.samples)}
    return found | {name: one.value for name, one in outcomes.items() if isinstance(one, Scored)}


def standings_of(plain: Sequence[Mapping[str, float | None]]) -> dict[str, list[Standing]]:
    """Where each baseline puts candidates; those that know nothing of any are left out."""
    columns = {name: [one[name] for one in plain] for name in BASELINES}
    made = {name: [None if value is None else (value, 0.0) for value in column] for name, column in columns.items()}
    return {name: [*column] for name, column in made.items() if any(column)}


def best_of_rows(choices: Sequence[Choice], *, ks: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each k and way of choosing: the quality of what it chooses, and its share of the oracle's gain.

    ``quality`` is the expected truth of the best of k candidates drawn at random, ``share`` what it gains over a random
    one by what the oracle gains, summed over mixtures. Of the judge, ``ahead`` is its share minus that of ``over``, the
    baseline of the highest quality. Intervals of 95 % draw clusters. Mixtures of fewer than k candidates are left out.
    """
    rows = []
    for k in ks:
        kept = {str(at): one for at, one in enumerate(choices) if len(one.truths) >= k}
        if not kept:
            continue
        there = {name for one in kept.values() for name in one.standings}
        ways = [name for name in (JUDGE, *BASELINES) if name in there]
        worth = {RANDOM: {at: float(one.truths.mean()) for at, one in kept.items()}}
        worth[ORACLE] = {at: best_of([(own, 0.0) for own in one.truths], one.truths, k) for at, one in kept.items()}
        for name in ways:
            unknown = {at: [None] * len(one.truths) for at, one in kept.items()}
            placed = {at: one.standings.get(name, unknown[at]) for at, one in kept.items()}
            worth[name] = {at: best_of(placed[at], one.truths, k) for at, one in kept.items()}
        clusters = {at: one.cluster for at, one in kept.items()}
        quality = {name: sum(values.values()) / len(kept) for name, values in worth.items()}
        over = max((name for name in (*BASELINES, RANDOM) if name in quality), key=lambda name: quality[name])
        for name in (*ways, RANDOM, ORACLE):
            row = {
                "k": k,
                "way": name,
                "mixtures": len(kept),
                "clusters": len({*clusters.values()}),
                "quality": quality[name],
            }
            rows.append(row | _share("share", name, RANDOM, worth=worth, clusters=clusters))
            if name == JUDGE:
                rows[-1] |= {"over": over, **_share("ahead", name, over, worth=worth, clusters=clusters)}
    return rows


def _share(
    key: str, one: str, other: str, *, worth: Mapping[str, Mapping[str, float]], clusters: Mapping[str, str]
) -> dict[str, Any]:
    """How much more one way is worth than another, as a share of what the oracle gains, with its interval."""
    more: SampleValues = {at: worth[one][at] - worth[other][at] for at in clusters}
    gains: SampleValues = {at: worth[ORACLE][at] - worth[RANDOM][at] for at in clusters}
    found = mean_of_ratios([(more, gains)], clusters=clusters, rng=generator(0, "act", "rerank"))
    ends = (found.value, found.low, found.high) if isinstance(found, Ratio) else (None, None, None)
    return dict(zip((key, f"{key}_low", f"{key}_high"), ends, strict=True))


def best_of_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows of ``best_of_rows`` as a table: a line for each way, a column for each k."""
    ks, ways = (list(dict.fromkeys(row[key] for row in rows)) for key in ("k", "way"))
    cells = {(row["way"], row["k"]): f"{row['quality']:.2f}{_percent(row, 'share', before=', ')}" for row in rows}
    judged = [row for row in rows if row["way"] == JUDGE]
    note = "; ".join(
        f"k = {row['k']}: {row['mixtures']} mixtures, {row['clusters']} clusters, the judge ahead of {row['over']} by "
        f"{_percent(row, 'ahead') or 'an undefined share'}"
        for row in judged
    )
    return Table(
        title="true score of the best of k, and its share of the oracle's gain over random",
        header=("chosen by", *(f"k = {k}" for k in ks)),
        rows=tuple((way, *(cells.get((way, k), "") for k in ks)) for way in ways),
        note=f"{note}. Expected over all draws of k candidates; intervals of 95 % draw clusters",
    )


def _percent(row: Mapping[str, Any], key: str, *, before: str = "") -> str:
    if row[key] is None:
        return ""
    ends = [row[f"{key}_{end}"] for end in ("low", "high")]
    sure = "" if None in ends or row["way"] in {RANDOM, ORACLE} else f" [{ends_text(100 * ends[0], 100 * ends[1], 0)}]"
    return f"{before}{100 * row[key]:.0f} %{sure}"
