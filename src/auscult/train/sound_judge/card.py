"""The card of a judge of separated sounds: measured on made and real outputs that only tests may hear.

    auscult train sound-card --model sound.cues.v1 --data DIR --out DIR --samples 3000

Verdicts are kept in the output folder, a file for each 100 outputs: the same command again goes on, and only lays out
where all are there. It writes the card and its page; nothing is trained.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono, moved
from auscult.jobs.judges import find_sound_judge
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.cards import Card, Result, cell, markdown, page, result_of
from auscult.judge.sound.cues import JUDGE as CUES
from auscult.judge.sound.shared import delay_of
from auscult.media.paths import write_bytes
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, JudgeColumns, TruthColumns, measures, reals, sounds, texts, with_interval
from auscult.score.sound.ratios import si_sdr
from auscult.train.sound_judge.samples import (
    ALL,
    SUBSETS,
    Recipe,
    SoundSample,
    made_samples,
    open_material,
    real_samples,
)
from auscult.types import DIFFICULTY_AXES, DOMAINS, PERFORMANCE, Samples, SoundCase, SoundJudge, SoundVerdict

SAMPLES: Final = 3000
PROBES: Final = ("stem", "mixture", "silence", "other_source", "noise")
"""From best to worst."""
MANY: Final = 20
"""Recordings of a class that is well covered."""
LEAST_CLUSTERS: Final = 5
"""Fewer give no interval."""
CIRCULAR, BESIDE = "SI-SDR with the stem (near-circular)", "SI-SDR to the mixture"
# The second maker's kinds, which no training hears.
_SECOND: Final = Recipe(
    damages=("other_gate", "other_mask", "other_codec", "other_packets"), separators=(), by_separators=0.0
)
_STEM: Final = Recipe(outputs=1, whole=1.0)
_WRONG: Final = Recipe(whole=0.0, by_separators=0.0, wrong=1.0)
_NO_SEPARATOR: Final = frozenset({"true_stem", "wrong_stem", "untouched_mixture"})
_MIXTURES: Final = 25  # of one file
_PROMPTED: Final = 4  # files whose outputs are judged with every subset of prompts
_PROBED, _LEAST, _WORST, _REPLICATES = 60, 15, 10, 300
_MOST_DB: Final = 30.0
_KEPT: Final = (
    "id", "kind", "severity", "label", "domain", "seen", "cluster", "family", "aligned", "scores", "difficulty",
)  # fmt: skip

Row = dict[str, Any]
Makes = Callable[[], Iterable[SoundSample]]


def measure(judges: Sequence[SoundJudge], samples: Iterable[SoundSample], *, subsets: Sequence[str]) -> Iterator[Row]:
    """A row for each sample with what each judge says of it when it is given some of the prompts.

    Outputs of one mixture are judged together. A subset of which a sample lacks a prompt is left out of its row, but
    for the last, which is all there are.
    """
    for _, group in groupby(samples, key=lambda sample: sample.case.id):
        some = list(group)
        rows = [_about(sample) | {"said": {judge.name: {} for judge in judges}} for sample in some]
        for judge, subset in product(judges, subsets):
            case = some[0].case if subset == ALL else asked(some[0].case, subset)
            outputs = [] if case is None else [sample.separated for sample in some]
            for row, verdict in zip(rows, _judged(judge, case, outputs), strict=False):
                ends = {axis: [getattr(verdict, axis + end) for end in ("", "_low", "_high")] for axis in PERFORMANCE}
                row["said"][judge.name][subset] = ends | {"difficulty": dict(verdict.difficulty)}
        yield from rows


def asked(case: SoundCase, subset: str) -> SoundCase | None:
    """A case with a subset of its prompts; None where it lacks one of them."""
    there = {"text": case.text is not None, "spans": bool(case.spans), "picture": case.frames is not None}
    wanted = [] if subset == "none" else subset.split("+")
    if not all(there[name] for name in wanted):
        return None
    text, frames = case.text if "text" in wanted else None, case.frames if "picture" in wanted else None
    return replace(case, text=text, spans=case.spans if "spans" in wanted else (), frames=frames)


def _judged(judge: SoundJudge, case: SoundCase | None, outputs: Sequence[Samples]) -> list[SoundVerdict]:
    batch: Callable[..., list[SoundVerdict]] | None = getattr(judge, "batch", None)
    if case is None or batch is None:
        return [judge(case, output) for output in outputs if case is not None]
    return batch([case] * len(outputs), outputs)


def _about(sample: SoundSample) -> Row:
    mixture, output = mono(sample.case.mixture), mono(sample.separated)
    output = moved(output, delay_of(mixture, output, rate_hz=sample.case.rate_hz))
    found = si_sdr(output, mixture)
    beside = found.value if isinstance(found, Scored) else None
    return {name: getattr(sample, name) for name in _KEPT} | {
        "mixture": f"{sample.cluster} {sample.label}" if sample.family else sample.case.id,
        **{name: _limited(db, output) for name, db in ((BESIDE, beside), (CIRCULAR, sample.si_sdr_db))},
    }


def _limited(db: float | None, output: Samples) -> float:
    """A ratio within ``_MOST_DB`` either way; without one the output is silent, or has no error."""
    return float(np.clip((math.inf if output.any() else -math.inf) if db is None else db, -_MOST_DB, _MOST_DB))


def probes(root: Path | None, *, numbers: Sequence[int], seed: int) -> Iterator[SoundSample]:
    """Outputs whose order any judge must know, by ``PROBES``, of mixtures that have another whole source to return."""
    for number in numbers:
        make = partial(made_samples, root, part="test", numbers=[number], seed=seed)
        stems, wrong = list(make(recipe=_STEM)), [one for one in make(recipe=_WRONG) if one.kind == "other_source"]
        for stem, other in zip(stems, wrong, strict=False):
            mixture = stem.case.mixture
            noise = generator(seed, "noise", number).normal(size=mixture.shape) * mixture.std()
            outputs = (stem.separated, mixture, 0 * mixture, other.separated, noise.astype(np.float32))
            for kind, output in zip(PROBES, outputs, strict=True):
                yield replace(stem, separated=output, kind=kind)


def sound_card(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Measure a judge and write its card and page."""
    entry, folder = find_sound_judge(options.model)
    judge = entry.load() if folder is None else entry.load().fitted(folder)
    judges = [judge] if judge.name == CUES.name else [judge, CUES]
    files = max(2, (options.samples or SAMPLES) // (4 * _MIXTURES))
    progress.stage(f"judging: {judge.name}", files + 3)

    def rows(name: str, samples: Makes, *, subsets: Sequence[str] = (ALL,)) -> list[Row]:
        path = options.out / judge.name / f"rows-{name}.jsonl"
        if not path.exists():
            found = measure(judges if subsets else (), samples(), subsets=subsets)
            write_bytes(path, "".join(json.dumps(row) + "\n" for row in found).encode())
        progress.step()
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def made(name: str, count: int, recipe: Recipe, *, prompted: int = 0) -> list[Row]:
        make, found = partial(made_samples, options.data, part="test", seed=options.seed, recipe=recipe), []
        for number in range(count):
            numbers = range(number * _MIXTURES, (number + 1) * _MIXTURES)
            subsets = SUBSETS if number < prompted else (ALL,)
            found += rows(f"{name}-{number}", partial(make, numbers=numbers), subsets=subsets)
        return found

    known = partial(made_samples, options.data, part="calibration", numbers=range(_MIXTURES), seed=options.seed)
    found = {
        "made": made("made", files - files // 3, Recipe(), prompted=_PROMPTED),
        "other": made("other", files // 3, _SECOND),
        "real": rows("real", partial(real_samples, options.data, part="test") if options.data else list),
        "probes": rows("probes", partial(probes, options.data, numbers=range(_PROBED), seed=options.seed)),
        "known": rows("known", known, subsets=()),
    }
    labels = Counter(label for label, _ in {(clip.label, clip.recording) for clip in open_material(options.data).clips})
    many = [label for label, count in labels.items() if count >= MANY]
    card = card_of_rows(judge, found, many=many, seed=options.seed)
    text = page(card, made_by=f"auscult train sound-card --model {judge.name}", before=before(card, found))
    for ending, content in (("json", dump(card.as_json(), indent=1) + b"\n"), ("md", text.encode())):
        path = options.out / f"{judge.name}.{ending}"
        write_bytes(path, content)
        yield path


def _sets(rows: Mapping[str, Sequence[Row]], many: Collection[str]) -> Iterator[tuple[str, list[Row], str]]:
    """Sets by name, with their rows and the prompts given."""
    kept: dict[str, Callable[[Row], bool]] = {
        "seen": lambda row: row["seen"],
        "seen_many": lambda row: row["seen"] and row["label"] in many,
        "seen_few": lambda row: row["seen"] and row["label"] not in many,
        "unseen": lambda row: not row["seen"],
        "unseen_right_source": lambda row: not row["seen"] and row["aligned"],
    }
    for collection, name in product(("made", "other"), kept):
        maker = "" if collection == "made" else "second_maker_"
        yield maker + name, list(filter(kept[name], rows[collection])), ALL
    for domain in DOMAINS:
        yield f"domain_{domain}", [row for row in rows["made"] if row["seen"] and row["domain"] == domain], ALL
    for subset in SUBSETS:
        key = "picture" if subset == ALL else subset  # where there is a picture, there are the others
        some = [row for row in rows["made"] if any(key in said for said in row["said"].values())]
        yield f"prompts_{subset}", some, subset
    yield "real", list(rows["real"]), ALL
    outputs = [row["family"] for row in rows["real"] if row["family"] not in _NO_SEPARATOR]
    for family, count in Counter(outputs).most_common():
        yield f"real_{family}", [row for row in rows["real"] if row["family"] == family and count >= _LEAST], ALL


def card_of_rows(judge: SoundJudge, rows: Mapping[str, Sequence[Row]], *, many: Collection[str], seed: int) -> Card:
    """The card of a judge from its rows by collection; ``many`` are the well-covered classes."""
    said = json.loads(Path(__file__).with_name("card_texts.json").read_text(encoding="utf-8"))
    constants = {axis: round(float(np.mean([row["scores"][axis] for row in rows["known"]])), 4) for axis in PERFORMANCE}
    results: list[Result] = []
    for name, kept, subset in _sets(rows, many):
        if kept:
            results += _results(name, kept, subset=subset, constants=constants, seed=seed)
    results += _probe_results(rows["probes"], seed=seed)
    names = dict.fromkeys(result.set for result in results)
    return Card(
        judge=judge.name,
        summary=judge.meta.summary,
        data=tuple(said["data"]),
        split=tuple(said["split"]),
        sets={name: said["sets"].get(name, "of the real ones, this family") for name in names},
        metrics=said["metrics"],
        seed=seed,
        not_for=tuple(said["not_for"]),
        results=tuple(results),
        constants={"mean of the calibration part": constants},
    )


def _results(
    name: str, rows: Sequence[Row], *, subset: str, constants: Mapping[str, float], seed: int
) -> Iterator[Result]:
    clusters = texts([row["cluster"] for row in rows])
    result = _numbers(name, clusters.tolist(), seed=seed)
    pairs = partial(sounds.pairs_in_order, mixtures=[row["mixture"] for row in rows])
    order: dict[str, measures.Quantity] = {"pearson": sounds.pearson, "spearman": measures.spearman, "pairs": pairs}
    own = {**order, "coverage_90": measures.coverage, "width_90": sounds.width, "rmse": sounds.rmse}
    for axis in PERFORMANCE:
        truth = TruthColumns(iou=reals(row["scores"][axis] for row in rows), cluster=clusters)
        columns = {one: JudgeColumns(iou=reals(row[one] for row in rows)) for one in (BESIDE, CIRCULAR)}
        columns["constant"] = JudgeColumns(iou=np.full(len(truth), constants[axis]))
        for judge in rows[0]["said"]:
            ends = [reals(row["said"][judge][subset][axis][at] for row in rows) for at in range(3)]
            columns[judge] = JudgeColumns(iou=ends[0], low=ends[1], high=ends[2])
        for row, given in columns.items():
            wanted = {"rmse": sounds.rmse} if row == "constant" else order if given.low is None else own
            for metric, quantity in wanted.items():
                yield result(row, f"{metric}.{axis}", quantity(given, truth))
        judge, *others = [sounds.pearson(columns.pop(one), truth) for one in (*rows[0]["said"], BESIDE, CIRCULAR)]
        for row, other in zip((*rows[0]["said"], BESIDE, CIRCULAR)[1:], others, strict=True):
            yield result(row, f"behind.{axis}", _difference(judge, other))
    for axis, judge in product(DIFFICULTY_AXES if subset == ALL else (), rows[0]["said"]):
        truth = TruthColumns(iou=reals(row["difficulty"][axis] for row in rows), cluster=clusters)
        found = JudgeColumns(iou=reals(row["said"][judge][ALL]["difficulty"].get(axis) for row in rows))
        yield result(judge, f"pearson.difficulty_{axis}", sounds.pearson(found, truth))


def _difference(one: measures.Measured, other: measures.Measured) -> measures.Measured:
    """Of two correlations on the same outputs."""
    found = [part.outcome for part in (one, other)]
    known = [part.value for part in found if isinstance(part, Scored)]
    if len(known) < 2 or one.n != other.n:
        return replace(one, outcome=Undefined("one of the two is undefined, or does not judge all outputs"))
    half = one.rows.shape[1]
    return replace(
        one,
        outcome=Scored(known[0] - known[1], Signature.of(metric="difference of Pearson's correlations")),
        rows=np.hstack([one.rows, other.rows]),
        from_sums=lambda sums: one.from_sums(sums[:, :half]) - other.from_sums(sums[:, half:]),
        within=None,
    )


def _numbers(name: str, clusters: Sequence[str], *, seed: int) -> Callable[[str, str, measures.Measured], Result]:
    """Makes results of a set, with intervals by the same draws of whole clusters."""
    draws = ClusterDraws.of(clusters, rng=partial(generator, seed, "card", name), replicates=_REPLICATES)

    def result(row: str, metric: str, found: measures.Measured) -> Result:
        count, outcome = found.drawn_from, found.outcome
        if count >= LEAST_CLUSTERS:
            outcome = with_interval(outcome, draws.values(found), clusters=count, within=found.within)
        return result_of((name, row, metric), outcome, n=found.n, clusters=count)

    return result


def _probe_results(rows: Sequence[Row], *, seed: int) -> Iterator[Result]:
    clusters = [row["cluster"] for row in rows if row["kind"] == PROBES[0]]
    result = _numbers("probes", clusters, seed=seed)
    for judge in rows[0]["said"] if rows else ():
        said = [reals(row["said"][judge][ALL]["overall"][0] for row in rows if row["kind"] == kind) for kind in PROBES]
        for kind, values in zip(PROBES, said, strict=True):
            yield result(judge, f"mean_overall.{kind}", measures.mean_of(values, clusters))
        for at, (better, worse) in enumerate(pairwise(PROBES)):
            higher = (np.sign(said[at] - said[at + 1]) + 1) / 2
            yield result(judge, f"above.{better}_{worse}", measures.mean_of(higher, clusters))


def before(card: Card, rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """What stands ahead of the results: the probes, where the judge is at chance, and the worst misjudged outputs."""
    own = [
        (result, result.metric.partition(".")[2].replace("_", " "))
        for result in card.results
        if result.row == card.judge
    ]
    means = [(one.value or 0.0, f"{name} {cell(one)}") for one, name in own if one.metric.startswith("mean_overall")]
    falls = all(better >= worse for (better, _), (worse, _) in pairwise(means))
    chance: dict[str, list[str]] = {}
    for one, name in own:
        if one.metric.startswith("pearson") and one.low is not None and one.low <= 0:
            chance.setdefault(one.set, []).append(name)
    lines = [f"- {_RED.format('at chance')}: {name}: {', '.join(axes)}" for name, axes in chance.items()]
    order = (
        "They fall, as they must." if falls else f"They are {_RED.format('not in the order')} that any judge must know."
    )
    return [
        f"## Sanity probes\n\nMean overall: {', '.join(told for _, told in means)}. {order}",
        "## Where it is at chance\n\nBy the interval of Pearson.\n\n" + ("\n".join(lines) or "Nowhere."),
        f"## The worst misjudged outputs\n\nOf seed {card.seed}, by number.\n\n" + _gallery(card.judge, rows),
    ]


_RED: Final = '<b style="color:#c00">{}</b>'


def _gallery(judge: str, rows: Mapping[str, Sequence[Row]]) -> str:
    lines = []
    for name in ("made", "other", "real"):
        known = [(row["scores"]["overall"], row["said"][judge][ALL]["overall"], row) for row in rows[name]]
        known = sorted((one for one in known if one[1][0] is not None), key=lambda one: -abs(one[1][0] - one[0]))
        for true, (value, low, high), row in known[:_WORST]:
            kind = row["kind"] + (f", severity {row['severity']:g}" if row["severity"] else "")
            label = "in its own words" if row["family"] else row["label"]  # others' captions are not ours to print
            said = f"{value:.1f} ({low:.1f} to {high:.1f})"
            lines.append([f"{name} `{row['id']}`", label, kind, f"{true:.1f}", said])
    return markdown(["output", "asked for", "how it was made", "true overall", "said"], lines)
