"""All six kinds of masks, told apart with the expression and without: compact judge and identity check together.

    PYTHONPATH=tools python studies/identity_six.py --out DIR [--scenes 150] [--weights FOLDER] [--ship]

Scenes are cut-outs of stamps over COCO photographs of the test part, which no weight has seen. Of what is said of them,
expressions that one frame can decide are kept, in at least half of which another thing of the same category stands in
the frame. For each the paper's set of masks is made: perfect, three defects twice, and a merge and a full_neg for
up to three other things. Rows: the judge with the check, which reads the expression, and the judge alone. --ship puts
the table into docs/identity-scenes.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from marked_sections import placed

from auscult.judge import DEFAULT_JUDGE
from auscult.judge.cards import markdown
from auscult.judge.identity.combine import combined
from auscult.judge.identity.scenes import WEIGHTS, Eyes, ScenesIdentity
from auscult.outcome import Scored
from auscult.registry import load
from auscult.rng import generator
from auscult.scenes.options import SceneOptions
from auscult.score.stats import bootstrap_interval, f2_confusion
from auscult.stress import masks
from auscult.train.matcher.pairs import AssetPart as Kind
from auscult.train.matcher.pairs import AssetSource, lay_out, stamps_on
from auscult.train.matcher.pairs import DECIDABLE
from auscult.train.matcher.pairs import KeyFrameSentence, key_frame_sentences
from auscult.types import DEFECTS, Case, MaskTarget, Prediction, Query

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "identity-scenes.md"
OPTIONS = SceneOptions(size=(240, 427))
SEED = 5
SETS: Mapping[str, Kind] = {
    "seen things": "train",
    "unseen things of seen categories": "test_s",
    "unseen categories": "test_u",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One mask: which scene, what is true, and what was said with the expression and without."""

    scene: int
    truth: str
    told: str
    blind: str
    alike: bool
    answered: bool


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("AUSCULT_DATA"))
    parser.add_argument("--out", type=Path, required=True, help="for the cut-outs laid out over photographs")
    parser.add_argument("--scenes", type=int, default=150)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--ship", action="store_true")
    given = parser.parse_args()
    if given.data is None:
        parser.error("name the data with --data, or set AUSCULT_DATA")
    check = ScenesIdentity(eyes=Eyes(given.weights))
    sources = stamps_on(lay_out(given.data, given.out, "test"), list(SETS.values()))
    lines = []
    for name, source in zip(SETS, sources, strict=True):
        rows = list(judged(even(source, given.scenes), check))
        lines.append([name, *cells(rows)])
        print(name, *lines[-1][1:], flush=True)
    made = markdown(
        [
            "things",
            "masks",
            "of scenes",
            "answered",
            "alike",
            "with the expression",
            "without",
            "full_neg with",
            "without",
        ],
        lines,
    )
    print(made)
    if given.ship:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "six", made), encoding="utf-8")


def even(source: AssetSource, scenes: int) -> list[tuple[int, KeyFrameSentence]]:
    """Decidable expressions, a little over half of them with a thing alike."""
    found: dict[bool, list[tuple[int, KeyFrameSentence]]] = {True: [], False: []}
    for scene in range(scenes):
        rng = generator(SEED, "six", scene)
        for sentence in key_frame_sentences(source, scene, seed=SEED, options=OPTIONS, nulls=0, rng=rng):
            expression = sentence.expression
            if expression.target is not None and expression.family in DECIDABLE and len(sentence.masks) > 1:
                found[bool(sentence.alike)].append((scene, sentence))
    alike = found[True]
    return [one for pair in zip_longest(alike, found[False][: len(alike) * 4 // 5]) for one in pair if one]


def judged(expressions: Sequence[tuple[int, KeyFrameSentence]], check: ScenesIdentity) -> Iterator[Row]:
    """Make the masks of each expression and judge them, with it and without."""
    judge = load("judge", DEFAULT_JUDGE)
    for number, (scene, sentence) in enumerate(expressions):
        named = str(sentence.expression.target)
        others = tuple(mask for name, mask in sentence.masks.items() if name != named)
        target = MaskTarget(mask=sentence.masks[named], others=others)
        case = Case(id=str(number), frame=sentence.frame, query=Query(sentence.expression.text))
        for kind, _, _, made in masks.variants(target, seed=SEED, key=str(number)):
            if not isinstance(made, Scored):
                continue
            prediction = Prediction(made.value.output)
            blind = judge(case, prediction)
            found = check(case, prediction)
            told = blind if found is None else combined(blind, found, check=check.name)
            yield Row(
                scene=scene,
                truth=kind,
                told=told.defect,
                blind=blind.defect,
                alike=bool(sentence.alike),
                answered=found is not None,
            )


def cells(rows: Sequence[Row]) -> list[str]:
    """The numbers of one set."""
    answered = sum(row.answered for row in rows) / len(rows)
    alike = sum(row.alike for row in rows) / len(rows)
    told, blind = ([getattr(row, name) for row in rows] for name in ("told", "blind"))
    return [
        str(len(rows)),
        str(len({row.scene for row in rows})),
        f"{100 * answered:.0f} %",
        f"{100 * alike:.0f} %",
        interval(rows, "told"),
        interval(rows, "blind"),
        recall(rows, told),
        recall(rows, blind),
    ]


def interval(rows: Sequence[Row], name: str) -> str:
    """F2-confusion over the six kinds in percent, with a 95 % interval over scenes."""

    def value(drawn: Sequence[Sequence[Row]]) -> float:
        flat = [row for group in drawn for row in group]
        found = f2_confusion([getattr(row, name) for row in flat], [row.truth for row in flat], DEFECTS)
        return float(found.value) if isinstance(found, Scored) else float("nan")

    groups = [[row for row in rows if row.scene == scene] for scene in sorted({row.scene for row in rows})]
    between = bootstrap_interval(value, [[group] for group in groups], rng=generator(0, "six", name), replicates=300)
    told = f"{100 * value(groups):.1f}"
    return f"{told} [{100 * between.low:.1f}, {100 * between.high:.1f}]" if isinstance(between, Scored) else told


def recall(rows: Sequence[Row], said: Sequence[str]) -> str:
    """How many of the masks of another thing were called so."""
    other = [one for one, row in zip(said, rows, strict=True) if row.truth == "full_neg"]
    return f"{100 * sum(one == 'full_neg' for one in other) / len(other):.0f} %"


if __name__ == "__main__":
    main()
