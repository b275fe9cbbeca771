"""Write an INPUT of photographs with sentences that name one object each: python studies/r2_photographs.py COCO OUT.

COCO is a folder with ``instances.json`` and its photographs. The sentences are those of ``studies/lexicon_asked.py``,
proven from the true masks; photographs of odd number are taken: the lexicon's constants were chosen on the even ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lexicon_asked import photographs

from auscult.media.frames import write_frame
from auscult.media.rle import encode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("coco", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, asked in enumerate(photographs(given.coco, odd=True)):
        frame = f"frames/{asked.cluster}.png"
        if not (given.out / frame).is_file():
            (given.out / "frames").mkdir(exist_ok=True)
            write_frame(given.out / frame, asked.frames[0])
        row = {"id": f"{asked.cluster}/{number}", "frame": frame, "mask": encode(asked.truth[0]), "text": asked.text}
        lines.append(json.dumps({**row, "clip": str(asked.cluster)}))
    (given.out / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
