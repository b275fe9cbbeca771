"""Print the commands that measure a mask judge on one part of the committed split, COCO and DAVIS.

    python tests/suites/mqa/judge_parts.py --judge masks.compact.v1        the test part of the data in AUSCULT_DATA
    python tests/suites/mqa/judge_parts.py --part calibration --generator standard
    python tests/suites/mqa/judge_parts.py --check              also counts the part; exit 1 where it lacks a name

COCO: every object of at least 32 x 32 pixels, crowd regions left out, so that clusters are photographs. DAVIS: every
frame that shows the object, so that clusters are sequences; one object a sequence, so no merge and no wrong object.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from auscult.cases.instances import list_instances
from auscult.cases.listing import ListOptions
from auscult.suites.mqa.build import read_splits, with_splits
from auscult.suites.mqa.options import FREEHAND, GENERATORS
from auscult.train.material import FILE, PARTS, SplitName, committed

LEAST_PX = 32 * 32
SOURCES = {"coco": ("images/coco/instances.json", "images/coco/images"), "davis": ("video/davis2016", None)}


def main(arguments: Sequence[str]) -> int:
    """Print the commands; 0 when nothing that was checked is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("AUSCULT_DATA"), help="default: AUSCULT_DATA")
    parser.add_argument("--part", choices=PARTS, default="test")
    parser.add_argument("--judge", action="append", metavar="NAME", help="default: masks.cues.v1")
    parser.add_argument("--generator", choices=tuple(GENERATORS), default=FREEHAND)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("judge-parts"), help="the runs go into OUT/coco and OUT/davis")
    parser.add_argument("--check", action="store_true", help="count the photographs, sequences and objects of the part")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("name the data with --data, or set AUSCULT_DATA")
    for source in SOURCES:
        print(shlex.join(command(options, source)))
    return max(check(options.data, source, options.part) for source in SOURCES) if options.check else 0


def command(options: argparse.Namespace, source: str) -> list[str]:
    """The command for one source."""
    data, images = SOURCES[source]
    words = ["auscult", "run", "mqa", "--data", str(options.data / data)]
    words += ["--images", str(options.data / images)] if images else []
    for judge in options.judge or ["masks.cues.v1"]:
        words += ["--judge", judge]
    words += ["--splits-file", str(FILE), "--split", options.part, "--protocol", "image", "--objects", "all"]
    words += ["--least-px", str(LEAST_PX), "--generator", options.generator, "--seed", str(options.seed)]
    words += ["--take", "all"] if source == "davis" else []
    return [*words, "--out", str(options.out / source)]


def check(data: Path, source: str, part: SplitName) -> int:
    """Say what the part holds; 1 where the data lacks a photograph or sequence of it.

    Args:
        data: The folder of real material.
        source: ``coco`` or ``davis``.
        part: The part of the split.
    """
    name, images = SOURCES[source]
    listing = list_instances(data / name, ListOptions(images=data / images if images else None))
    n_by_split = Counter[str]()
    clips_and_frames = set()
    for instance in with_splits(listing.instances, read_splits(FILE)):
        n_by_split[instance.split] += 1
        if instance.split == part:
            clips_and_frames |= {instance.clip, instance.moments[0].frame.name}
    missing = sorted(set(committed()[source][part]) - clips_and_frames)
    for note in listing.notes:
        print(f"{source}: {note}")
    parts = ", ".join(f"{n_by_split[split]} in {split}" for split in sorted(n_by_split))
    print(f"{source}: objects before --least-px: {parts}; missing of {part}: {', '.join(missing) or 'none'}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
