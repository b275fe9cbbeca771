"""A judge of separated sound on classes that training never met, class by class, and which words it knows.

    AUSCULT_DATA=FOLDER python studies/sound_judge_classes.py --rows FOLDER [--judge NAME ...] [--write]

``FOLDER`` is that of ``auscult train sound-card``, which judges damaged mixtures of the committed split's test part.
Clusters are recordings and voices.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from typing import Final

import numpy as np
from sound_judge_real import columns
from sound_judge_rows import DATA, Row, arguments, cell, settled, table, told

from auscult.judge.sound.vocabulary import read_prompt
from auscult.score.judges.measures import TruthColumns, auc_of_good
from auscult.score.judges.sounds import pairs_in_order, pearson
from auscult.train.sound_judge.card import ALL, BESIDE

GOOD: Final = 3.0
FEWEST: Final = 20  # outputs that a class needs for a line of its own


def main() -> None:
    given = arguments(__doc__)
    lines = (line for path in sorted(given.rows.glob("rows-made-*.jsonl")) for line in path.read_text().splitlines())
    rows = [
        row | {name: said[ALL]["overall"][0] for name, said in row["said"].items()}
        | {"true overall": row["scores"]["overall"], "constant": 0.0, "named": bool(read_prompt(row["label"]).classes.any())}
        for row in map(json.loads, lines)
    ]  # fmt: skip
    told({"words": words(), "classes": by_class(rows, given.judge)}, write=given.write)


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
    named |= {"unseen, words not known": [row for row in unseen if not row["named"]]}
    named |= {label: [row for row in unseen if row["label"] == label] for label in sorted({row["label"] for row in unseen})}
    lines = []
    for name, mine in named.items():
        for scorer in (*judges, BESIDE, "constant") if len(mine) >= FEWEST else ():
            kept = [row for row in mine if row.get(scorer) is not None]
            said, true = columns(kept, scorer, "true overall")
            good = TruthColumns(iou=(true.iou >= GOOD).astype(np.float64), cluster=true.cluster)
            pairs = pairs_in_order(said, true, mixtures=[row["mixture"] for row in kept])
            found = [cell(settled(one)) for one in (pairs, auc_of_good(said, good), pearson(said, true))]
            lines.append([name, scorer, len(kept), len(set(true.cluster)), pairs.n, *found])
    return table(["class", "score", "outputs", "clusters", "pairs", "in order", "AUC, overall below 3", "Pearson"], lines)


if __name__ == "__main__":
    main()
