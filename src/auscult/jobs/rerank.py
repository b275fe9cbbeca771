"""``auscult act rerank`` and ``auscult act pseudo-label``: the best outputs of a record of separated sounds.

``rerank`` takes the best output of each mixture and, with truth, measures the gain. ``pseudo-label`` makes labelled
stems of outputs that pass, an INPUT for new mixtures. A label is not truth: no line has ``truth``, so that nothing is
scored against the choice of a judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.act.export.masks import JsonRow
from auscult.act.filter import redecide
from auscult.act.rerank import best_of, grouped, ranked, standing
from auscult.act.sound_policy import load_sound_policy
from auscult.arrays.resampling import moved
from auscult.cases.sounds import sound_line
from auscult.errors import InputError, UsageError
from auscult.jobs.act import out_folder, require_ours, write_files
from auscult.jobs.sound_input import FOLDERS, Chosen, SoundRecord, input_of, json_lines, mixture_and_output, place
from auscult.jobs.sound_options import PseudoLabelOptions, RerankOptions
from auscult.jobs.stress_separation import copied_item
from auscult.judge.sound.shared import delay_of
from auscult.media.paths import safe_name
from auscult.models.sound_taggers import SoundTagger, load_tagger, text_similarity
from auscult.outcome import Scored
from auscult.report.facts import ends_text
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import committed_classes, named
from auscult.score.sound.ratios import si_sdr
from auscult.score.sound.times import span_agreement
from auscult.score.stats.change import Ratio, SampleValues, mean_of_ratios
from auscult.types import PERFORMANCE, Doubles, SoundItem

JUDGE, RANDOM, ORACLE = "the judge", "random", "oracle"
SIMILARITY, SPANS, LIKE_MIXTURE = "words and sound", "span agreement", "SI-SDR to the mixture"
BASELINES: Final = (SIMILARITY, SPANS, LIKE_MIXTURE)
"""Criteria without a judge; the highest value is chosen."""
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """The candidates of one mixture: values of each criterion, (n,) each, and true scores, (n,)."""

    cluster: str
    standings: Mapping[str, Sequence[Any]]
    truths: Doubles


def rerank_record(options: RerankOptions) -> Chosen:
    """Choose the best candidate of each mixture of a record, and write them as an INPUT."""
    if options.by not in PERFORMANCE:
        raise UsageError(f"there is no --by {options.by[:80]!r}", expected=f"one of: {', '.join(PERFORMANCE)}")
    out, record = out_folder(options.out, options.folder, ending="rerank"), SoundRecord.read(options.folder)
    require_ours(out, names=("items.jsonl", "ranking.jsonl", *FOLDERS), made_by="rerank", mark="ranking.jsonl")
    ranking = [row for group in grouped(record.rows) for row in ranked(group, options.by)]
    best = [row for row in ranking if row["rank"] == 1 and row["score"] is not None]
    worth = best_of_rows(_choices(record, options), ks=options.ks)
    text = input_of(out, [record.items[row["id"]] for row in best], source=record.source)
    write_files(out, {"items.jsonl": text, "ranking.jsonl": json_lines(ranking)})
    clear = sorted(best, key=lambda one: -(one["margin"] or 0.0))[:_SHOWN]
    cells = [["" if row[key] is None else f"{row[key]:.2f}" for key in ("score", "margin")] for row in clear]
    unjudged = sum(row["score"] is None for row in ranking)
    table = Table(
        title=f"the best of {len(best)} mixtures, those with the largest margin over the next first",
        header=("id", options.by, "margin"),
        rows=tuple((row["id"], *cell) for row, cell in zip(clear, cells, strict=True)),
        note=f"{len(ranking)} candidates, {unjudged} unjudged; all are in ranking.jsonl",
    )
    ids = [row["id"] for row in best]
    summary = {"n": len(ranking), "kept": len(ids), "by": options.by, "ids": ids, "best_of": worth}
    tables = [table, *([best_of_table(worth)] if worth else [])]
    return Chosen(said={"command": "act rerank", **summary, "out": str(out)}, tables=tables, out=out)


def _choices(record: SoundRecord, options: RerankOptions) -> list[Choice]:
    """The mixtures with several candidates, without candidates that are unjudged or have no true score."""
    truths = record.truths(options.by)
    tagger = load_tagger(options.tagger) if options.tagger and truths else None
    choices = []
    for group in grouped(row for row in record.rows if row["id"] in truths):
        items = [record.items[row["id"]] for row in group] if len(group) > 1 else []
        if items:
            plain = [_plain_scores(item, tagger) for item in items]
            standings = {
                name: [scores.get(name) for scores in plain]
                for name in BASELINES
                if any(name in scores for scores in plain)
            }
            standings[JUDGE] = [standing(row, options.by) for row in group]
            worth = np.array([truths[item.id] for item in items])
            choices.append(Choice(cluster=items[0].cluster, standings=standings, truths=worth))
    return choices


def _plain_scores(item: SoundItem, tagger: SoundTagger | None) -> dict[str, Any]:
    """The values of ``BASELINES`` for an output aligned with its mixture, where defined."""
    try:
        mixture, output = mixture_and_output(item)
    except InputError:  # the file is gone
        return {}
    rate_hz, scores = mixture.rate_hz, dict[str, Any]()
    samples = moved(output.samples, delay_of(mixture.samples[0], output.samples[0], rate_hz=rate_hz))
    if tagger is not None and item.query.text and samples.any():
        similar = text_similarity(tagger, item.query.text, samples, rate_hz=rate_hz)
        scores |= {} if similar is None else {SIMILARITY: similar}
    end_s = samples.shape[1] / rate_hz
    spans = [
        (span.start_s, min(span.end_s, end_s)) for span in item.query.spans if span.sign == "+" and span.start_s < end_s
    ]
    outcomes = {SPANS: span_agreement(samples, spans, rate_hz=rate_hz), LIKE_MIXTURE: si_sdr(samples, mixture.samples)}
    return scores | {name: outcome.value for name, outcome in outcomes.items() if isinstance(outcome, Scored)}


def best_of_rows(choices: Sequence[Choice], *, ks: Sequence[int]) -> list[dict[str, Any]]:
    """A row for each k and criterion: the quality of its choice, and its share of the oracle's gain.

    ``quality`` is the expected true score of the chosen one of k random candidates, ``share`` its gain over a random
    one divided by the oracle's gain, summed over mixtures. For the judge, ``ahead`` is its share minus that of
    ``over``, the baseline of highest quality. Intervals of 95 % draw clusters. Mixtures of fewer than k candidates are
    left out.
    """
    rows = []
    for k in ks:
        kept = {str(key): choice for key, choice in enumerate(choices) if len(choice.truths) >= k}
        clusters = {key: choice.cluster for key, choice in kept.items()}
        available = {name for choice in kept.values() for name in choice.standings}
        worth = dict[str, dict[str, float]]()
        for name in (name for name in (JUDGE, *BASELINES) if name in available):
            standings = {key: choice.standings.get(name, [None] * len(choice.truths)) for key, choice in kept.items()}
            worth[name] = {key: best_of(standings[key], choice.truths, k) for key, choice in kept.items()}
        worth[RANDOM] = {key: float(choice.truths.mean()) for key, choice in kept.items()}
        over = max((name for name in worth if name != JUDGE), key=lambda name: sum(worth[name].values()))
        worth[ORACLE] = {key: best_of(choice.truths.tolist(), choice.truths, k) for key, choice in kept.items()}
        for name in worth if kept else ():
            row = {"k": k, "way": name, "mixtures": len(kept), "clusters": len({*clusters.values()})}
            row["quality"] = sum(worth[name].values()) / len(kept)
            rows.append(row | _share("share", (name, RANDOM), worth=worth, clusters=clusters))
            if name == JUDGE:
                rows[-1] |= {"over": over, **_share("ahead", (name, over), worth=worth, clusters=clusters)}
    return rows


def _share(
    key: str, ways: tuple[str, str], *, worth: Mapping[str, Mapping[str, float]], clusters: Mapping[str, str]
) -> dict[str, Any]:
    """The gain of the first criterion over the second, as a share of the oracle's gain, with its interval."""
    differences: SampleValues = {mixture: worth[ways[0]][mixture] - worth[ways[1]][mixture] for mixture in clusters}
    gains: SampleValues = {mixture: worth[ORACLE][mixture] - worth[RANDOM][mixture] for mixture in clusters}
    ratio = mean_of_ratios([(differences, gains)], clusters=clusters, rng=generator(0, "act", "rerank"))
    ends = (ratio.value, ratio.low, ratio.high) if isinstance(ratio, Ratio) else (None, None, None)
    return dict(zip((key, f"{key}_low", f"{key}_high"), ends, strict=True))


def best_of_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows of ``best_of_rows`` as a table: a row for each criterion, a column for each k."""
    ks, ways = (list(dict.fromkeys(row[key] for row in rows)) for key in ("k", "way"))
    cells = {(row["way"], row["k"]): f"{row['quality']:.2f}, {_percent(row, 'share')}" for row in rows}
    notes = [
        f"k = {row['k']}: {row['mixtures']} mixtures, {row['clusters']} clusters, the judge ahead of {row['over']} by "
        f"{_percent(row, 'ahead')}"
        for row in rows
        if row["way"] == JUDGE
    ]
    return Table(
        title="true score of the best of k, and its share of the oracle's gain over random",
        header=("chosen by", *(f"k = {k}" for k in ks)),
        rows=tuple((way, *(cells.get((way, k), "") for k in ks)) for way in ways),
        note=f"{'; '.join(notes)}. Expected over all draws of k candidates; intervals of 95 % draw clusters",
    )


def _percent(row: Mapping[str, Any], key: str) -> str:
    if row[key] is None:
        return "undefined"
    ends = [row[f"{key}_{end}"] for end in ("low", "high")]
    sure = "" if None in ends or row["way"] in {RANDOM, ORACLE} else f" [{ends_text(100 * ends[0], 100 * ends[1], 0)}]"
    return f"{100 * row[key]:.0f} %{sure}"


FAILS, NO_WORDS, SEVERAL = "it does not pass", "its prompt has no words", "its prompt names several classes"
_LONGEST: Final = 60


def pseudo_label(options: PseudoLabelOptions) -> Chosen:
    """Write the best output of each mixture and prompt as a stem of a class, if it passes."""
    out = out_folder(options.out, options.folder, ending="labelled")
    record = SoundRecord.read(options.folder)
    require_ours(out, names=(), made_by="pseudo-label")  # earlier stems would mix with these
    policy = None if options.sound_policy is None else load_sound_policy(options.sound_policy)
    lines, left = list[dict[str, Any]](), Counter[str]()
    for group in grouped(redecide(record.rows, None, sound=policy)):
        best = ranked(group, "overall")[0]["id"]
        row = next(row for row in group if row["id"] == best)
        label = label_of(row.get("text") or "") if _passes(row, options.min_overall_low) else FAILS
        if label in {FAILS, NO_WORDS, SEVERAL}:
            left[label] += 1
            continue
        # `make mixtures` takes files that differ only in the number for one recording
        name = f"sounds/{label.replace(' ', '_')}/{safe_name(str(row.get('cluster') or best))}_{len(lines)}"
        line = _placed(record.items[best], name, source=record.source, out=out)
        confidence = round((row["overall_low"] - 1) / 4, 4)
        lines.append({**line, "label": label, "confidence": confidence, "overall": row["overall"]})
    write_files(out, {"items.jsonl": json_lines(lines)})
    counts = Counter(line["label"] for line in lines)
    summary = {"n": len(lines) + left.total(), "kept": len(lines), "labels": dict(counts), "left_out": dict(left)}
    table = Table(
        title="labelled stems",
        header=("label", "stems"),
        rows=tuple((name, str(count)) for name, count in sorted(counts.items())),
        note="; ".join(f"{count} left out: {reason}" for reason, count in left.items()),
    )
    return Chosen(said={"command": "act pseudo-label", **summary, "out": str(out)}, tables=[table], out=out)


def _passes(row: JsonRow, threshold: float | None) -> bool:
    if row["overall"] is None or row["overall_low"] is None:
        return False
    return bool(row["action"] == "accept" if threshold is None else row["overall_low"] >= threshold)


def label_of(text: str) -> str:
    """The class of the package that a prompt names, else its words; or ``NO_WORDS`` or ``SEVERAL``.

    It has at most 60 letters, digits and single spaces, so that it is a safe name of a folder.
    """
    classes = named(text[:1000], committed_classes().classes)
    if len(classes) > 1:
        return SEVERAL
    words = " ".join(re.findall(r"[^\W_]+", text[:1000].casefold()))[:_LONGEST].strip()
    return next(iter(classes), words or NO_WORDS)


def _placed(item: SoundItem, name: str, *, source: Path, out: Path) -> dict[str, Any]:
    """The line of an item with its renamed output, and all files in ``out``."""
    copied, copies = copied_item(replace(item, truth=None, separated=None), source=source, out=out)
    if item.separated is not None:
        name += item.separated.suffix.lower()
        copies[name] = item.separated
    for copy, path in copies.items():
        place(path, out / copy)
    return sound_line(replace(copied, separated=out / name), home=out)
