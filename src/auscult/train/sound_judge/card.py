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
from auscult.report.facts import UNLIKE
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

CardRow = dict[str, Any]
Makes = Callable[[], Iterable[SoundSample]]


def measure(
    judges: Sequence[SoundJudge], samples: Iterable[SoundSample], *, subsets: Sequence[str]
) -> Iterator[CardRow]:
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
                more = {"difficulty": dict(verdict.difficulty), "novelty": verdict.novelty}
                row["said"][judge.name][subset] = ends | more
        yield from rows


def asked(case: SoundCase, subset: str) -> SoundCase | None:
    """A case with a subset of its prompts; None where it lacks one of them."""
    present = {"text": case.text is not None, "spans": bool(case.spans), "picture": case.frames is not None}
    names = [] if subset == "none" else subset.split("+")
    if not all(present[name] for name in names):
        return None
    text, frames = case.text if "text" in names else None, case.frames if "picture" in names else None
    return replace(case, text=text, spans=case.spans if "spans" in names else (), frames=frames)


def _judged(judge: SoundJudge, case: SoundCase | None, outputs: Sequence[Samples]) -> list[SoundVerdict]:
    batch: Callable[..., list[SoundVerdict]] | None = getattr(judge, "batch", None)
    if case is None or batch is None:
        return [judge(case, output) for output in outputs if case is not None]
    return batch([case] * len(outputs), outputs)


def _about(sample: SoundSample) -> CardRow:
    mixture, output = mono(sample.case.mixture), mono(sample.separated)
    output = moved(output, delay_of(mixture, output, rate_hz=sample.case.rate_hz))
    ratio = si_sdr(output, mixture)
    ratio_db = ratio.value if isinstance(ratio, Scored) else None
    return {name: getattr(sample, name) for name in _KEPT} | {
        "mixture": f"{sample.cluster} {sample.label}" if sample.family else sample.case.id,
        **{name: _limited(db, output) for name, db in ((BESIDE, ratio_db), (CIRCULAR, sample.si_sdr_db))},
    }


def _limited(db: float | None, output: Samples) -> float:
    """A ratio within ``_MOST_DB`` either way; without one the output is silent, or has no error."""
    return float(np.clip((math.inf if output.any() else -math.inf) if db is None else db, -_MOST_DB, _MOST_DB))


def probes(root: Path | None, *, numbers: Sequence[int], seed: int) -> Iterator[SoundSample]:
    """Outputs whose order any judge must know, by ``PROBES``, of mixtures that have another whole source to return."""
    for number in numbers:
        make = partial(made_samples, root, part="test", numbers=[number], seed=seed)
        stems = list(make(recipe=_STEM))
        wrong = [sample for sample in make(recipe=_WRONG) if sample.kind == "other_source"]
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

    def rows(name: str, samples: Makes, *, subsets: Sequence[str] = (ALL,)) -> list[CardRow]:
        path = options.out / judge.name / f"rows-{name}.jsonl"
        if not path.exists():
            measured = measure(judges if subsets else (), samples(), subsets=subsets)
            write_bytes(path, "".join(json.dumps(row) + "\n" for row in measured).encode())
        progress.step()
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def made(name: str, count: int, recipe: Recipe, *, prompted: int = 0) -> list[CardRow]:
        make, result = partial(made_samples, options.data, part="test", seed=options.seed, recipe=recipe), []
        for number in range(count):
            numbers = range(number * _MIXTURES, (number + 1) * _MIXTURES)
            subsets = SUBSETS if number < prompted else (ALL,)
            result += rows(f"{name}-{number}", partial(make, numbers=numbers), subsets=subsets)
        return result

    calibration = partial(made_samples, options.data, part="calibration", numbers=range(_MIXTURES), seed=options.seed)
    by_collection = {
        "made": made("made", files - files // 3, Recipe(), prompted=_PROMPTED),
        "other": made("other", files // 3, _SECOND),
        "real": rows("real", partial(real_samples, options.data, part="test") if options.data else list),
        "probes": rows("probes", partial(probes, options.data, numbers=range(_PROBED), seed=options.seed)),
        "known": rows("known", calibration, subsets=()),
    }
    labels = Counter(label for label, _ in {(clip.label, clip.recording) for clip in open_material(options.data).clips})
    many = [label for label, count in labels.items() if count >= MANY]
    card = card_of_rows(judge, by_collection, many=many, seed=options.seed)
    text = page(card, made_by=f"auscult train sound-card --model {judge.name}", before=before(card, by_collection))
    for ending, content in (("json", dump(card.as_json(), indent=1) + b"\n"), ("md", text.encode())):
        path = options.out / f"{judge.name}.{ending}"
        write_bytes(path, content)
        yield path


def _sets(rows: Mapping[str, Sequence[CardRow]], many: Collection[str]) -> Iterator[tuple[str, list[CardRow], str]]:
    """Sets by name, with their rows and the prompts given."""
    filters: dict[str, Callable[[CardRow], bool]] = {
        "seen": lambda row: row["seen"],
        "seen_many": lambda row: row["seen"] and row["label"] in many,
        "seen_few": lambda row: row["seen"] and row["label"] not in many,
        "unseen": lambda row: not row["seen"],
        "unseen_right_source": lambda row: not row["seen"] and row["aligned"],
    }
    for collection, name in product(("made", "other"), filters):
        maker = "" if collection == "made" else "second_maker_"
        yield maker + name, list(filter(filters[name], rows[collection])), ALL
    for domain in DOMAINS:
        yield f"domain_{domain}", [row for row in rows["made"] if row["seen"] and row["domain"] == domain], ALL
    for subset in SUBSETS:
        key = "picture" if subset == ALL else subset  # where there is a picture, there are the others
        some = [row for row in rows["made"] if any(key in verdicts for verdicts in row["said"].values())]
        yield f"prompts_{subset}", some, subset
    yield "real", list(rows["real"]), ALL
    outputs = [row["family"] for row in rows["real"] if row["family"] not in _NO_SEPARATOR]
    for family, count in Counter(outputs).most_common():
        yield f"real_{family}", [row for row in rows["real"] if row["family"] == family and count >= _LEAST], ALL


def card_of_rows(judge: SoundJudge, rows: Mapping[str, Sequence[CardRow]], *, many: Collection[str], seed: int) -> Card:
    """The card of a judge from its rows by collection; ``many`` are the well-covered classes."""
    wording = json.loads(Path(__file__).with_name("card_texts.json").read_text(encoding="utf-8"))
    constants = {axis: round(float(np.mean([row["scores"][axis] for row in rows["known"]])), 4) for axis in PERFORMANCE}
    results: list[Result] = []
    for name, members, subset in _sets(rows, many):
        if members:
            results += _results(name, members, subset=subset, constants=constants, seed=seed)
    results += _probe_results(rows["probes"], seed=seed)
    names = dict.fromkeys(result.set for result in results)
    return Card(
        judge=judge.name,
        summary=judge.meta.summary,
        data=(*wording["own"].get(judge.name, ()), *wording["data"]),
        split=tuple(wording["split"]),
        sets={name: wording["sets"].get(name, "of the real ones, this family") for name in names},
        metrics=wording["metrics"],
        seed=seed,
        not_for=tuple(wording["not_for"]),
        results=tuple(results),
        constants={"mean of the calibration part": constants},
    )


def _results(
    name: str, rows: Sequence[CardRow], *, subset: str, constants: Mapping[str, float], seed: int
) -> Iterator[Result]:
    clusters = texts([row["cluster"] for row in rows])
    result = _numbers(name, clusters.tolist(), seed=seed)
    pairs = partial(sounds.pairs_in_order, mixtures=[row["mixture"] for row in rows])
    order: dict[str, measures.Quantity] = {"pearson": sounds.pearson, "spearman": measures.spearman, "pairs": pairs}
    every_metric = {**order, "coverage_90": measures.coverage, "width_90": sounds.width, "rmse": sounds.rmse}
    every_metric["flagged_worse"] = measures.flagged_worse
    flagged = {
        judge: np.array([row["said"][judge][subset]["novelty"] >= UNLIKE for row in rows]) for judge in rows[0]["said"]
    }
    for axis in PERFORMANCE:
        truth = TruthColumns(iou=reals(row["scores"][axis] for row in rows), cluster=clusters)
        columns = {kind: JudgeColumns(iou=reals(row[kind] for row in rows)) for kind in (BESIDE, CIRCULAR)}
        columns["constant"] = JudgeColumns(iou=np.full(len(truth), constants[axis]))
        for judge in rows[0]["said"]:
            ends = [reals(row["said"][judge][subset][axis][index] for row in rows) for index in range(3)]
            columns[judge] = JudgeColumns(iou=ends[0], low=ends[1], high=ends[2], flagged=flagged[judge])
        for row, predicted in columns.items():
            metrics = {"rmse": sounds.rmse} if row == "constant" else order if predicted.low is None else every_metric
            for metric, quantity in metrics.items():
                yield result(row, f"{metric}.{axis}", quantity(predicted, truth))
        judge, *others = [sounds.pearson(columns.pop(kind), truth) for kind in (*rows[0]["said"], BESIDE, CIRCULAR)]
        for row, other in zip((*rows[0]["said"], BESIDE, CIRCULAR)[1:], others, strict=True):
            yield result(row, f"behind.{axis}", _difference(judge, other))
    for judge, flags in flagged.items():
        yield result(judge, "flagged", measures.mean_of(reals(flags), clusters))
    for axis, judge in product(DIFFICULTY_AXES if subset == ALL else (), rows[0]["said"]):
        truth = TruthColumns(iou=reals(row["difficulty"][axis] for row in rows), cluster=clusters)
        difficulty = JudgeColumns(iou=reals(row["said"][judge][ALL]["difficulty"].get(axis) for row in rows))
        yield result(judge, f"pearson.difficulty_{axis}", sounds.pearson(difficulty, truth))


def _difference(first: measures.Measured, second: measures.Measured) -> measures.Measured:
    """Of two correlations on the same outputs."""
    outcomes = [part.outcome for part in (first, second)]
    values = [part.value for part in outcomes if isinstance(part, Scored)]
    if len(values) < 2 or first.n != second.n:
        return replace(first, outcome=Undefined("one of the two is undefined, or does not judge all outputs"))
    half = first.rows.shape[1]
    return replace(
        first,
        outcome=Scored(values[0] - values[1], Signature.of(metric="difference of Pearson's correlations")),
        rows=np.hstack([first.rows, second.rows]),
        from_sums=lambda sums: first.from_sums(sums[:, :half]) - second.from_sums(sums[:, half:]),
        within=None,
    )


def _numbers(name: str, clusters: Sequence[str], *, seed: int) -> Callable[[str, str, measures.Measured], Result]:
    """Makes results of a set, with intervals by the same draws of whole clusters."""
    draws = ClusterDraws.of(clusters, rng=partial(generator, seed, "card", name), replicates=_REPLICATES)

    def result(row: str, metric: str, measured: measures.Measured) -> Result:
        count, outcome = measured.drawn_from, measured.outcome
        if count >= LEAST_CLUSTERS:
            outcome = with_interval(outcome, draws.values(measured), clusters=count, within=measured.within)
        return result_of((name, row, metric), outcome, n=measured.n, clusters=count)

    return result


def _probe_results(rows: Sequence[CardRow], *, seed: int) -> Iterator[Result]:
    clusters = [row["cluster"] for row in rows if row["kind"] == PROBES[0]]
    result = _numbers("probes", clusters, seed=seed)
    for judge in rows[0]["said"] if rows else ():
        scores = [
            reals(row["said"][judge][ALL]["overall"][0] for row in rows if row["kind"] == kind) for kind in PROBES
        ]
        for kind, values in zip(PROBES, scores, strict=True):
            yield result(judge, f"mean_overall.{kind}", measures.mean_of(values, clusters))
        for index, (better, worse) in enumerate(pairwise(PROBES)):
            higher = (np.sign(scores[index] - scores[index + 1]) + 1) / 2
            yield result(judge, f"above.{better}_{worse}", measures.mean_of(higher, clusters))


def before(card: Card, rows: Mapping[str, Sequence[CardRow]]) -> list[str]:
    """What stands ahead of the results: the probes, where the judge is at chance, and the worst misjudged outputs."""
    results = [
        (result, result.metric.partition(".")[2].replace("_", " "))
        for result in card.results
        if result.row == card.judge
    ]
    chance: dict[str, list[str]] = {}
    for result, name in results:
        if result.metric.startswith("pearson") and result.low is not None and result.low <= 0:
            chance.setdefault(result.set, []).append(name)
    lines = [f"- {_RED.format('at chance')}: {name}: {', '.join(axes)}" for name, axes in chance.items()]
    return [
        f"## Sanity probes\n\n{probes_in_words(card)}",
        "## Where it is at chance\n\nBy the interval of Pearson.\n\n" + ("\n".join(lines) or "Nowhere."),
        f"## The worst misjudged outputs\n\nOf seed {card.seed}, by number.\n\n" + _gallery(card.judge, rows),
    ]


def probes_in_words(card: Card) -> str:
    """Mean overall of each probe, whether these fall as they must, and of how many mixtures each is above the next."""
    own = {result.metric: result for result in card.results if result.row == card.judge}
    means = [own[f"mean_overall.{kind}"] for kind in PROBES]
    told = ", ".join(f"{kind.replace('_', ' ')} {cell(mean)}" for kind, mean in zip(PROBES, means, strict=True))
    falls = all((better.value or 0.0) >= (worse.value or 0.0) for better, worse in pairwise(means))
    order = (
        "They fall, as they must." if falls else f"They are {_RED.format('not in the order')} that any judge must know."
    )
    above = ", ".join(cell(own[f"above.{better}_{worse}"]) for better, worse in pairwise(PROBES))
    return f"Mean overall: {told}. {order} Each is above the next in these shares of the mixtures: {above}."


_RED: Final = '<b style="color:#c00">{}</b>'


def _gallery(judge: str, rows: Mapping[str, Sequence[CardRow]]) -> str:
    lines = []
    for name in ("made", "other", "real"):
        outputs = [(row["scores"]["overall"], row["said"][judge][ALL]["overall"], row) for row in rows[name]]
        judged = [output for output in outputs if output[1][0] is not None]
        for true, (value, low, high), row in sorted(judged, key=lambda output: -abs(output[1][0] - output[0]))[:_WORST]:
            kind = row["kind"] + (f", severity {row['severity']:g}" if row["severity"] else "")
            label = "in its own words" if row["family"] else row["label"]  # others' captions are not ours to print
            verdict = f"{value:.1f} ({low:.1f} to {high:.1f})"
            lines.append([f"{name} `{row['id']}`", label, kind, f"{true:.1f}", verdict])
    return markdown(["output", "asked for", "how it was made", "true overall", "said"], lines)
