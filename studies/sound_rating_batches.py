"""Batches 2 and 3 of ratings, chosen by a judge and rated by simulated people: a section of docs/ratings.md.

    AUSCULT_DATA=FOLDER python studies/sound_rating_batches.py --out FOLDER [--judge NAME ...] [--write]

Candidates are the outputs of ``sound_rerank.py``, in the same folder if it was run there: made ones, and those of real
separators. Each judge audits them. By the commands a user has, people are qualified, batch 2 is drawn from the record
of the first judge, dealt to three of those trusted, rated and imported, and batch 3 fills its gaps. Then the same is
done by the functions behind the commands, with other people, for every judge, for the true scores and at random: means
of 20 runs, and intervals that draw clusters and people anew. What a person says of an output is what that person said
of a golden item that is truly as good.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from sound_rerank import made, placed, real

from auscult.cases.listing import ListOptions
from auscult.cases.sounds import read_sounds
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.jobs.ratings import (
    BatchOptions,
    ImportOptions,
    QualifyOptions,
    TasksOptions,
    deal_tasks,
    draw_batch,
    import_ratings,
    qualify,
)
from auscult.jobs.sound_input import true_scores
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.raters import SCALE, balanced_draw, entropy_bits, settled
from auscult.score.stats.intervals import cluster_draws, percentile_interval
from auscult.types import PERFORMANCE, Doubles

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from simulated_raters import Pool, PoolPlan, simulate_pool  # noqa: E402

PAGE: Final = ROOT / "docs" / "ratings.md"
COUNTS: Final = {"made": (120, 80), "real": (60, 40)}
"""How many outputs of each kind batches 2 and 3 draw."""
GOLDEN, EACH, REPEATS, REPLICATES = 40, 3, 20, 200
TRUTH, RANDOM = "true scores", "at random"
MEASURES: Final = ("four axes, batch 2", "overall, batch 2", "overall, both")
Scores = Mapping[str, Mapping[str, float]]
"""Of each output, four scores."""
People = tuple[Pool, Sequence[int]]
"""A pool of raters, and the numbers of those who are trusted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of sounds and records")
    parser.add_argument("--judge", nargs="+", default=["sound.compact.v1", "sound.cues.v1"])
    parser.add_argument("--count", type=int, default=200, help="made mixtures")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    given = parser.parse_args()
    parts = {"made": [*made(given.out, given.count)], "real": [copied(given.out, line) for line in real()]}
    text = "\n\n".join(measured(given.out, name, lines, judges=given.judge) for name, lines in parts.items())
    print(text)
    if given.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "batches", text), encoding="utf-8")


def copied(out: Path, line: dict[str, Any]) -> dict[str, Any]:
    """A line with copies of its sounds in ``out``: tasks are dealt of an INPUT whose files lie in its folder."""

    def copy(path: str) -> str:
        copied_to = out / "real" / path.strip("/").replace("/", "-")
        copied_to.parent.mkdir(exist_ok=True)
        if not copied_to.exists():
            shutil.copy(path, copied_to)
        return str(copied_to.resolve())

    paths = {key: copy(line[key]) for key in ("mixture", "separated")}
    return {**line, **paths, "truth": {"stem": copy(line["truth"]["stem"])}}


def measured(out: Path, name: str, lines: Sequence[dict[str, Any]], *, judges: Sequence[str]) -> str:
    """The table of one kind of outputs."""
    source, listing = out / f"batches-{name}.jsonl", ListOptions(root=Path("/"))
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    truths = {item.id: true_scores(item) for item in read_sounds(source, root=listing.root).items}
    lines, truths = [line for line in lines if truths[line["id"]]], {id_: own for id_, own in truths.items() if own}
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    records = {judge: out / f"batches-{name}, {judge}" for judge in judges}
    for judge, record in records.items():
        audit_folder(AuditOptions(source=source, out=record, sound_judge=judge, listing=listing, workers=1))
    by = {judge: said(record) for judge, record in records.items()} | {TRUTH: truths}
    clusters = {line["id"]: line["cluster"] for line in lines if all(line["id"] in scores for scores in by.values())}
    people = [qualified(out / f"batches-people-{seed}", seed) for seed in range(REPEATS)]
    first = by_commands(out, source, records[judges[0]], truths=truths, counts=COUNTS[name])
    ids, names = list(clusters), list(dict.fromkeys(clusters.values()))
    runs = [drawn(by, truths, ids=ids, people=people[seed], counts=COUNTS[name], seed=seed) for seed in range(REPEATS)]
    whole = {who: np.mean([run[who] for run in runs], axis=0) for who in runs[0]}
    weights = cluster_draws(len(names), rng=generator(0, "batches", name), replicates=REPLICATES).astype(int)
    again = []
    for seed, row in enumerate(weights, start=REPEATS):
        times = dict(zip(names, row.tolist(), strict=True))
        ids = [f"{id_}~{copy}" for id_, cluster in clusters.items() for copy in range(times[cluster])]
        again.append(drawn(by, truths, ids=ids, people=people[seed % REPEATS], counts=COUNTS[name], seed=seed))
    text = table(name, whole, again, n=len(clusters), clusters=len(names), first=judges[0])
    bits = ", ".join(f"{value:.2f}" for value in first[: len(MEASURES)])
    return f"{text}\n\nThe run by commands, from the record of `{judges[0]}`: {bits}."


def said(record: Path) -> Scores:
    """The four scores of each output in a record; what is unjudged is left out."""
    rows = map(json.loads, (record / "verdicts.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["id"]: {axis: row[axis] for axis in PERFORMANCE} for row in rows if row["overall"] is not None}


def qualified(folder: Path, seed: int) -> People:
    """Write the ratings of golden items, and qualify."""
    pool = simulate_pool(PoolPlan(good=12, bad=4, items=GOLDEN + 2000), generator(seed, "batches", "people"))
    names = ["expert", *(f"{kind}{number}" for number, kind in enumerate(pool.kinds))]
    given = np.vstack([pool.experts, pool.ratings])[:, :GOLDEN]
    rows = [f"g{item},{name},{value}" for name, row in zip(names, given, strict=True) for item, value in enumerate(row)]
    folder.mkdir(exist_ok=True)
    (folder / "golden.csv").write_text("\n".join(["item,rater,overall", *rows]) + "\n")
    qualify(QualifyOptions(sources=(folder / "golden.csv",), out=folder / "raters", draws=150))
    with (folder / "raters" / "raters.csv").open(newline="") as file:
        return pool, [number_in(row["rater"]) for row in csv.DictReader(file) if row["trust"] == "yes"]


def number_in(rater: str) -> int:
    """The number of a rater in the pool."""
    return int("".join(filter(str.isdigit, rater)))


def ratings_of(pool: Pool, scores: Mapping[str, float], rng: np.random.Generator) -> dict[str, Any]:
    """By axis, what every rater of the pool says of an output: as of a golden item that is truly as good."""
    levels = {axis: int(np.floor(scores[axis] + 0.5)) for axis in PERFORMANCE}
    return {axis: pool.ratings[:, rng.choice(np.flatnonzero(pool.truth == level))] for axis, level in levels.items()}


def by_commands(
    out: Path, source: Path, record: Path, *, truths: Scores, counts: tuple[int, int]
) -> tuple[float, ...]:
    """Both batches of the record of an audit, by the commands a user has: as ``evenness``."""
    folder = out / "batches-commands"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    pool, _ = qualified(folder / "people", 0)
    raters, rng, rated = folder / "people" / "raters", generator(0, "batches", "commands"), list[list[dict[str, Any]]]()
    for number, count in zip((2, 3), counts, strict=True):
        batch, tasks, scores = (folder / f"{name} {number}" for name in ("batch", "tasks", "scores"))
        earlier = folder / "scores 2" / "scores.jsonl" if number == 3 else None
        draw_batch(BatchOptions(number=number, source=record, count=count, rated=earlier, out=batch))
        deal_tasks(TasksOptions(source=source, batch=batch, raters=raters, out=tasks))
        with (tasks / "key.csv").open(newline="") as file:
            said_of = {row["item"]: ratings_of(pool, truths[row["id"]], rng) for row in csv.DictReader(file)}
        lines = [",".join(("item", "rater", *PERFORMANCE))]
        for path in sorted((tasks / "tasks").glob("*.json")):
            for item in (one["data"]["item"] for one in json.loads(path.read_text())):
                ratings = (str(said_of[item][axis][number_in(path.stem)]) for axis in PERFORMANCE)
                lines.append(",".join((item, path.stem, *ratings)))
        (tasks / "said.csv").write_text("\n".join(lines) + "\n")
        import_ratings(ImportOptions(sources=(tasks / "said.csv",), raters=raters, key=tasks / "key.csv", out=scores))
        rated.append([json.loads(line) for line in (scores / "scores.jsonl").read_text().splitlines()])
    shutil.rmtree(folder)
    return evenness(*rated)


def drawn(
    by: Mapping[str, Scores], truths: Scores, *, ids: Sequence[str], people: People, counts: tuple[int, int], seed: int
) -> dict[str, tuple[float, ...]]:
    """Both batches by functions, as ``evenness``, by who chooses; of all candidates as well."""
    true = {id_: truths[id_.split("~", maxsplit=1)[0]] for id_ in ids}
    found = {"all": evenness([*true.values()], [])}
    for who in (*by, RANDOM):
        rng, rated = generator(seed, "batches", who), dict[str, dict[str, float]]()
        for axes, count in zip((PERFORMANCE, ("overall",)), counts, strict=True):
            left = [id_ for id_ in ids if id_ not in rated]
            if who == RANDOM:
                chosen = rng.permutation(len(left))[:count].tolist()
            else:
                scores = [by[who][id_.split("~", maxsplit=1)[0]] for id_ in left]
                before = np.array([np.bincount(column, minlength=SCALE) for column in bins([*rated.values()], axes).T])
                before = before if len(axes) == 1 else np.zeros((len(axes), SCALE))
                chosen = balanced_draw(bins(scores, axes), count, before=before, rng=rng)
            rated |= {left[index]: agreed(people, true[left[index]], rng) for index in chosen}
        rows = [*rated.values()]
        found[who] = evenness(rows[: counts[0]], rows[counts[0] :])
    return found


def bins(rows: Sequence[Mapping[str, float]], axes: Sequence[str]) -> Any:
    """(rows, axes) levels of scores, 0 to 4, of the rows that have them."""
    scores = [[row[axis] for axis in axes] for row in rows if set(axes) <= set(row)]
    return np.clip(np.floor(np.reshape(scores, (-1, len(axes))) + 0.5), 1, SCALE).astype(np.int64) - 1


def agreed(people: People, scores: Mapping[str, float], rng: np.random.Generator) -> dict[str, float]:
    """The scores of an output on which three of those trusted agree."""
    pool, numbers = people
    three = rng.permutation(numbers)[:EACH]
    means = {axis: settled(said[three].tolist()) for axis, said in ratings_of(pool, scores, rng).items()}
    return {axis: mean.value for axis, mean in means.items() if isinstance(mean, Scored)}


def evenness(second: Sequence[Mapping[str, Any]], third: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """``MEASURES`` in bits, then the counts of overall 1 to 5 in both batches."""

    def counts(rows: Sequence[Mapping[str, Any]], axis: str) -> list[int]:
        levels = Counter(int(np.floor(row[axis] + 0.5)) for row in rows if axis in row)
        return [levels[level] for level in range(1, 6)]

    axes = float(np.mean([entropy_bits(counts(second, axis)) for axis in PERFORMANCE]))
    both = counts([*second, *third], "overall")
    return axes, entropy_bits(counts(second, "overall")), entropy_bits(both), *both


def table(
    name: str, whole: Mapping[str, Doubles], again: Sequence[Mapping[str, tuple[float, ...]]],
    *, n: int, clusters: int, first: str,
) -> str:  # fmt: skip
    """A row for each chooser, with 95 % intervals, and how far the first is ahead."""
    size = len(MEASURES)
    draws = {who: np.array([one[who][:size] for one in again]) for who in whole}
    header = ["chosen by", *MEASURES, "overall 1, 2, 3, 4, 5", "both: the first is ahead by"]
    lines = []
    for who, row in whole.items():
        cells = [cell(row[at], draws[who][:, at]) for at in range(size)]
        ahead = (
            "–" if who == first else cell(whole[first][size - 1] - row[size - 1], (draws[first] - draws[who])[:, -1])
        )
        label = f"all {n}, truly" if who == "all" else who
        lines.append([label, *cells, ", ".join(f"{count:.0f}" for count in row[size:]), ahead])
    rows = "\n".join("| " + " | ".join(one) + " |" for one in (header, ["---"] * len(header), *lines))
    kind = "made outputs" if name == "made" else "outputs of real separators"
    second, third = COUNTS[name]
    return f"**{n} {kind}**, {clusters} clusters; {second} in batch 2, {third} in batch 3\n\n{rows}"


def cell(value: float, draws: np.ndarray[Any, Any]) -> str:
    """A number with its interval."""
    interval = percentile_interval(draws)
    return f"{value:.2f}" + ("" if interval is None else f" [{interval[0]:.2f}, {interval[1]:.2f}]")


if __name__ == "__main__":
    main()
