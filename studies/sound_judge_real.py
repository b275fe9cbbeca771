"""A judge of separated sound on outputs of real separators: tables of docs/sound-judge-results.md.

    AUSCULT_DATA=FOLDER python studies/sound_judge_real.py --rows ROWS.jsonl [--judge NAME ...] [--write]

Claims rest on what neither training nor calibration met: the part ``test`` of ``real_items``, which has the families
kept back, all mixtures whose licence lets nothing train on them, and the test split of the others. Clusters are
mixtures, those with a common recording as one. Nothing is fitted here.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from sound_judge_rows import BESIDE, DATA, Outputs, Row, arguments, cell, dnsmos, measured, mono_sound, orders
from sound_judge_rows import settled, table, told

from auscult.cases.sounds import read_sounds
from auscult.outcome import Scored, Undefined
from auscult.score.judges.measures import JudgeColumns, TruthColumns, auc_of_good, reals, texts
from auscult.score.judges.sounds import pairs_in_order
from auscult.score.stats import associations
from auscult.train.sound_judge.samples import KEPT_BACK, NOT_FREE, SEPARATED, real_items
from auscult.types import SoundItem

BAD_DB: Final = 5.0
APART_DB: Final = 3.0
FEWEST: Final = 12  # outputs that a family or a kind of mixture needs for a line of its own
PARTS: Final = ("test", "calibration", "train")
REST: Final = " rest"  # the mixture without the true stem, a wrong one that every mixture has
NO_SEPARATOR: Final = ("true_stem", "wrong_stem", "untouched_mixture")
KINDS: Final = {
    "enh": "speech in noise, demonstrations", "lq-audiosep": "AudioSep's demonstrations", "spk": "two speakers, Libri2Mix",
    "lq-lass": "LASS's demonstrations", "lq-clipsep": "CLIPSep's demonstrations", "sn": "speech in noise", "sv": "songs",
    "ev": "two events", "mx": "three or four sources", "sm": "speech and music", "sp": "two speakers",
}  # fmt: skip
STATISTICS: Final = ("bad outputs", "pairs", "kendall")


def main() -> None:
    given = arguments(__doc__)
    rows = read_rows(given)
    outputs = [row for row in rows if row["kind"] == "asked"]
    scorers = [*given.judge, *BESIDE, "DNSMOS overall", "constant"]
    test = [row for row in rows if row["part"] == "test"]
    named = {"never met": test, "songs": [row for row in test if row["mixture"].startswith("sv-")], "all": rows}
    told(
        {name: by_set(outputs, scorers, name) for name in STATISTICS}
        | {"orders": orders({name: _targets(mine) for name, mine in named.items()}, scorers)},
        write=given.write,
    )


def read_rows(given: Namespace) -> list[Row]:
    """Every output with what is known of it and what is said of it."""
    part_of = {item.id: (part, item) for part in PARTS for item in real_items(DATA, part=part)}
    asked = {item.id for item in read_sounds(DATA / SEPARATED).items}
    cluster, of_mixture = groups(DATA / SEPARATED), defaultdict(list)
    for number, (_, item) in enumerate(part_of.values()):  # few at a time, so that a stopped run loses little
        of_mixture[f"{item.cluster} {number // 6}"].append(item)
    loaders = {name: partial(_opened, mine) for name, mine in of_mixture.items()}
    said = measured(given, loaders, _truth)
    kinds = {one: "asked" if one in asked else "other" for one in part_of}
    kinds |= {one: item.family for one, (_, item) in part_of.items() if item.family in NO_SEPARATOR}
    return [
        {
            "kind": kinds.get(one, "wrong_stem"),
            "part": part,
            "family": item.family,
            "mixture": item.cluster,
            "target": item.truth.stem,
            "cluster": cluster[item.cluster],
            **said[one],
        }
        for one, (part, item) in [*part_of.items(), *((one + REST, found) for one, found in part_of.items())]
        if one in said
    ]


def _opened(items: Sequence[SoundItem]) -> Outputs:
    mixture, rate_hz = mono_sound(items[0].mixture)
    sounds, stems = (
        {item.id: mono_sound(path, mixture.size)[0] for item, path in zip(items, paths, strict=True)}
        for paths in ([item.separated for item in items], [item.truth.stem for item in items])
    )
    rest = {item.id: mixture - stems[item.id] for item in items if item.family == "true_stem"}
    sounds |= {one + REST: sound for one, sound in rest.items()}
    stems |= {one + REST: stems[one] for one in rest}
    texts = {item.id + end: item.query.text for item in items for end in ("", REST) if item.id + end in sounds}
    return Outputs(mixture=mixture, rate_hz=rate_hz, sounds=sounds, texts=texts, stems=stems)


def _truth(one: str, given: Outputs) -> Row:
    speech = "spe" in (given.texts[one] or "").casefold()
    return dnsmos(given.sounds[one], given.rate_hz) if speech else {"DNSMOS overall": None}  # it knows nothing else


def groups(folder: Path) -> dict[str, str]:
    """Of each mixture the first of those that share a recording with it, one way or round corners."""
    found: list[tuple[set[str], set[str]]] = []
    for row in map(json.loads, (folder / "mixtures.jsonl").read_text(encoding="utf-8").splitlines()):
        files = (one.partition("@")[0] for source in row["sources"] for one in source.split("+"))
        mixtures, recordings = {row["mixture_id"]}, set(files)
        for other in [one for one in found if one[1] & recordings]:
            found.remove(other)
            mixtures, recordings = mixtures | other[0], recordings | other[1]
        found.append((mixtures, recordings))
    return {one: min(mixtures) for mixtures, _ in found for one in mixtures}


def sets(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """What training never met, its kinds of mixtures and families, and the rest, which is no evidence."""
    test = [row for row in rows if row["part"] == "test"]
    back = [row for row in test if row["family"] in KEPT_BACK]
    yield "**all that training never met**", test
    yield "**families kept back**", back
    yield "of these on mixtures that nothing trains on", [row for row in back if row["mixture"].startswith(NOT_FREE)]
    for start, words in KINDS.items():
        yield words, [row for row in test if row["mixture"].startswith(f"{start}-")]
    for family in sorted({row["family"] for row in test}):
        yield f"`{family}`", [row for row in test if row["family"] == family]
    for part in PARTS[1:]:
        yield f"*heard in {part}: no evidence*", [row for row in rows if row["part"] == part]


def by_set(rows: Sequence[Row], scorers: Sequence[str], name: str) -> str:
    """One statistic of each scorer on each set; what is over fewer outputs or pairs than the first says so."""
    lines = []
    for words, mine in sets(rows):
        if len(mine) >= FEWEST:
            found = [statistic(mine, scorer, name) for scorer in scorers]
            cells = [cell(value) + (f", n {n}" if n != found[0][1] else "") for value, n in found]
            lines.append([words, len(mine), len({row["cluster"] for row in mine}), found[0][1], *cells])
    return table(["outputs of", "outputs", "clusters", "n", *scorers], lines)


def statistic(rows: Sequence[Row], scorer: str, name: str) -> tuple[Scored[float] | Undefined, int]:
    """AUC for bad outputs, share of pairs for one target in the order of SI-SDR, or Kendall's tau with SI-SDR."""
    kept = [row for row in rows if row["si_sdr"] is not None and row[scorer] is not None]
    said, true = columns(kept, scorer, "si_sdr")
    if name == "kendall":
        return associations(said.iou, true.iou, clusters=list(true.cluster))["kendall"], len(kept)
    if name == "pairs":
        found = pairs_in_order(said, true, mixtures=[(row["mixture"], row["target"]) for row in kept], apart=APART_DB)
    else:
        good = TruthColumns(iou=(true.iou >= BAD_DB).astype(np.float64), cluster=true.cluster)
        found = auc_of_good(said, good)
    return settled(found), found.n


def columns(rows: Sequence[Row], scorer: str, true: str) -> tuple[JudgeColumns, TruthColumns]:
    truth = TruthColumns(iou=reals(row[true] for row in rows), cluster=texts([row["cluster"] for row in rows]))
    return JudgeColumns(iou=reals(row[scorer] for row in rows)), truth


def _targets(rows: Sequence[Row]) -> list[list[Row]]:
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["mixture"], row["target"]].append(row)
    return list(found.values())


if __name__ == "__main__":
    main()
