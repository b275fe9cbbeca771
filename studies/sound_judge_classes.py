"""A judge of separated sound on classes that training never met, class by class, and which words it knows.

    AUSCULT_DATA=FOLDER python studies/sound_judge_classes.py --rows ROWS.jsonl [--judge NAME ...] [--count N] [--write]

Mixtures of the committed split's test part, damaged; the prompt is the text alone. Clusters are recordings and voices.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
from sound_judge_real import columns
from sound_judge_rows import DATA, Outputs, Row, arguments, cell, measured, settled, table, told

from auscult.judge.sound.vocabulary import read_prompt
from auscult.score.judges.measures import TruthColumns, auc_of_good
from auscult.score.judges.sounds import pairs_in_order, pearson
from auscult.train.sound_judge.samples import SoundSample, made_samples

SEED: Final = 31
GOOD: Final = 3.0
FEWEST: Final = 12  # outputs that a class needs for a line of its own
_SAMPLES: Final[dict[str, SoundSample]] = {}


def main() -> None:
    given = arguments(__doc__, "--count")
    loaders = {f"test {number}": partial(_opened, number) for number in range(int(given.count or 400))}
    rows = list(measured(given, loaders, _truth).values())
    told({"words": words(), "classes": by_class(rows, given.judge)}, write=given.write)


def _opened(number: int) -> Outputs:
    """The outputs of one mixture. No stem is at hand, so the mixture stands in its place, and SI-SDR is of that."""
    made = {sample.id: sample for sample in made_samples(DATA, part="test", numbers=[number], seed=SEED)}
    _SAMPLES.clear()
    _SAMPLES.update(made)
    mixture, rate_hz = next(((one.case.mixture[0], one.case.rate_hz) for one in made.values()), (np.zeros(800), 16_000))
    sounds = {one: sample.separated[0] for one, sample in made.items()}
    texts = {one: sample.case.text for one, sample in made.items()}
    return Outputs(mixture=mixture, rate_hz=rate_hz, sounds=sounds, texts=texts, stems=dict.fromkeys(made, mixture))


def _truth(one: str, _: Outputs) -> Row:
    sample = _SAMPLES[one]
    known = {"label": sample.label, "seen": sample.seen, "cluster": sample.cluster, "mixture": sample.case.id}
    return known | {"true overall": sample.scores["overall"]}


def words() -> str:
    """Which of the 96 classes of ``sound/recordings`` the vocabulary knows, by their names."""
    lines = (DATA / "sound" / "recordings" / "clips.csv").read_text(encoding="utf-8").splitlines()
    names = {name: read_prompt(name) for name in sorted({clip["cls"] for clip in csv.DictReader(lines)})}
    lost = [name for name, found in names.items() if not found.classes.any()]
    part = [f"{name} ({' '.join(found.unknown)})" for name, found in names.items() if found.unknown and name not in lost]
    known = f"{len(names) - len(lost)} of the {len(names)} classes of `sound/recordings` are known by their name."
    return f"{known} Outside: {', '.join(lost) or 'none'}. Known but for a word: {', '.join(part) or 'none'}."


def by_class(rows: Sequence[Row], judges: Sequence[str]) -> str:
    """Pairs in order, AUC for a true overall below 3, and Pearson, of each class that training never met."""
    unseen = [row for row in rows if not row["seen"]]
    named = {"**seen classes**": [row for row in rows if row["seen"]], "**unseen classes**": unseen}
    named |= {label: [row for row in unseen if row["label"] == label] for label in sorted({row["label"] for row in unseen})}
    named |= {"unseen, outside the words": [row for row in unseen if not row[f"{judges[0]} understood"]]}
    lines = []
    for name, mine in named.items():
        for scorer in (*judges, "SI-SDR to the mixture", "constant") if len(mine) >= FEWEST else ():
            kept = [row for row in mine if row[scorer] is not None]
            said, true = columns(kept, scorer, "true overall")
            good = TruthColumns(iou=(true.iou >= GOOD).astype(np.float64), cluster=true.cluster)
            pairs = pairs_in_order(said, true, mixtures=[row["mixture"] for row in kept])
            found = [cell(settled(one)) for one in (pairs, auc_of_good(said, good), pearson(said, true))]
            lines.append([name, scorer, len(kept), len({row["cluster"] for row in kept}), pairs.n, *found])
    return table(["class", "score", "outputs", "clusters", "pairs", "in order", "AUC, overall below 3", "Pearson"], lines)


if __name__ == "__main__":
    main()
