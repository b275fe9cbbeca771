"""Verdicts on 100 real masks beside what a person wrote of them before any verdict existed.

    python studies/prompted_by_eye.py --data DATA

Clearly wrong: accepted although the person called it bad, or rejected or sent to major revision although they called it
good; rows that the person was unsure of count as never wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path

from auscult.act.policy import decide
from auscult.judge.masks.prompted import PromptedJudge
from auscult.media.rle import decode
from auscult.train.prompted.material import read_material
from auscult.types import Case, Prediction

FAMILIES = ("yolo-256", "yolo-320", "yolo-crops", "yolo-refined", "csnet")
LABELS = Path(__file__).parents[1] / "tests" / "train" / "prompted" / "by_eye.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    pictures = {one.path.name: one for one in read_material(data, families=FAMILIES).of("test")}
    judge, counts, types, wrong = PromptedJudge(), Counter(), Counter(), []
    for row in json.loads(LABELS.read_text(encoding="utf-8")):
        picture = pictures[row["picture"]]
        rle = picture.real[row["index"]].rle
        assert hashlib.blake2b(str(rle["counts"]).encode(), digest_size=8).hexdigest() == row["mask"]
        verdict = decide(judge(Case(id="x", frame=picture.frame()), Prediction(decode(rle))))
        counts[row["quality"], verdict.action] += 1
        types[row["defect"], verdict.defect] += 1
        bad = (row["quality"] == "bad" and verdict.action == "accept") or (
            row["quality"] == "good" and verdict.action in {"major_revision", "reject"}
        )
        if bad:
            wrong.append((row["picture"], row["quality"], row["defect"], verdict.action, round(verdict.iou or 0, 2)))
    for (quality, action), count in sorted(counts.items()):
        print(f"{quality:8s} {action:16s} {count}")
    print("types (by eye, by judge):", dict(sorted(types.items())))
    print(f"clearly wrong: {len(wrong)} of {sum(counts.values())}")
    for one in wrong:
        print(" ", *one)


if __name__ == "__main__":
    main()
