"""Negative sentences looked at beside their photographs: how many name something after all.

    auscult stress negatives DATA/images/coco/instances.json --images DATA/images/coco/images --per 10 --seed 1 --out NEG
    python studies/negatives_by_eye.py --made NEG

Draws 100 sentences of each kind (seed 18) and prints the labels of ``negatives_by_eye.json``: every sentence that is not
named there was looked at and names nothing. A sentence of the draw that nobody looked at is refused.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from auscult.score.stats.few_clusters import lower_bound, upper_bound

LABELS = Path(__file__).with_suffix(".json")
EACH = 100
KINDS = ("sentence", "category", "target", "attribute", "relation")


def drawn(made: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Of each kind the id, the photograph and the sentence of those that are looked at."""
    rows = [json.loads(line) for line in (made / "items.jsonl").read_text("utf-8").splitlines()]
    rng = np.random.default_rng(18)
    found = {}
    for kind in KINDS:
        of_kind = sorted(
            (row for row in rows if row.get("negative", {}).get("kind") == kind), key=lambda row: row["id"]
        )
        order = rng.permutation(len(of_kind))[:EACH]
        found[kind] = [(of_kind[at]["id"], of_kind[at]["frame"], of_kind[at]["text"]) for at in order]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--made", type=Path, required=True)
    labels = json.loads(LABELS.read_text("utf-8"))
    known = {tuple(one) for one in labels["looked_at"]}
    print("| kind | sentences | photographs | name something | 95 % | in doubt |\n|---|---|---|---|---|---|")
    for kind, sentences in drawn(parser.parse_args().made).items():
        new = [name for name, _, text in sentences if (name, text) not in known]
        if new:
            raise SystemExit(
                f"{len(new)} sentences were not looked at, such as {new[0]}: they were made by other rules"
            )
        named = sum(name in labels["names_something"] for name, _, _ in sentences)
        doubt = sum(name in labels["in_doubt"] for name, _, _ in sentences)
        low, high = (100 * bound(named, len(sentences), confidence=0.975) for bound in (lower_bound, upper_bound))
        photographs = len({frame for _, frame, _ in sentences})
        print(f"| {kind} | {len(sentences)} | {photographs} | {named} | [{low:.1f}, {high:.1f}] % | {doubt} |")


if __name__ == "__main__":
    main()
