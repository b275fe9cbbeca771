"""Measure `masks.prompted.v1` on the test part and write its card.

    python tools/prompted_results.py --data DATA --judge OUT --families FILE.json.gz --out RESULTS [--ship]

OUT is what `auscult train prompted-mask` made (the shipped judge by default), FILE what `tools/classical_families.py`
wrote. Verdicts are kept under RESULTS, so that the same command again only lays out. With `--ship` OUT becomes the
shipped judge, and its card the card of the docs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import cv2
import prompted_card as cards

from auscult.cli import show
from auscult.judge.cards import FOLDER
from auscult.judge.masks.compact import CompactJudge
from auscult.judge.masks.cues import CuesJudge
from auscult.judge.masks.prompted import PromptedJudge
from auscult.judge.masks.prompted.network import FOLDER as JUDGE_FOLDER
from auscult.train.prompted.material import FAMILIES, read_material
from auscult.train.prompted.recipe import ship
from auscult.types import MaskJudge

GOALS = """## Goals, and where they stand

What was aimed at before the training. `ahead of` names the rows than which the judge is better by the 95 % interval of
the paired difference, and has a dash where none was measured. Fewer than 20 clusters are no claim.

<!-- goals: python tests/docs/docs_numbers.py -->"""


def main() -> None:
    options = _options()
    cv2.setNumThreads(1)
    material = read_material(options.data, families=FAMILIES)
    known = cards.known_columns(material)
    judge = PromptedJudge() if options.judge is None else PromptedJudge().fitted(options.judge)
    judges: list[MaskJudge] = [judge, CompactJudge(), CuesJudge()]
    with show.progress_bar(quiet=options.quiet) as progress:
        masks = cards.real_things(material, options.data, options.families, parts=("test", "unseen"))
        real = cards.rows_of(judges, masks, options.out / "real", known=known, progress=progress)
        made = {}
        for name in ("stress", "freehand"):
            masks = cards.made_things(options.data, freehand=name == "freehand", seed=options.seed)
            made[name] = cards.rows_of(judges, masks, options.out / name, known=known, progress=progress)
    meanings, found = cards.results(real, made, seed=options.seed)
    card = cards.card_of(meanings, found, seed=options.seed)
    within = "## Within a sequence, where the IoU varies by more than .1\n\n"
    within += cards.sequences_table(real[0], real[1][cards.JUDGE])
    estimated = cards.audit_shares(real[0], real[1][cards.JUDGE], shift=judge.prob_shift, prior=judge.prob_prior)
    shares = "## What an audit says of the share of bad masks, and what is true\n\n" + cards.shares_table(estimated)
    text = cards.card_page(card, before=[GOALS, within, shares])
    (options.out / "card.json").write_text(json.dumps(card.as_json(), indent=1) + "\n", encoding="utf-8")
    (options.out / "card.md").write_text(text, encoding="utf-8")
    if options.ship:
        if options.judge is not None:
            ship(options.judge, JUDGE_FOLDER)
        (FOLDER / f"{cards.JUDGE}.json").write_text(json.dumps(card.as_json(), indent=1) + "\n", encoding="utf-8")
        Path("docs/cards", f"{cards.JUDGE}.md").write_text(text, encoding="utf-8")
    print(cards.family_table(card))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--families", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ship", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
