"""`python -m bench`: run every benchmark of this folder in one process, one core, and print the tables."""

from __future__ import annotations

import sys
from importlib import import_module

import cv2

from bench.table import text

MODULES = (
    "stress_masks",
    "j_and_f",
    "referring_speed",
    "refsegformer_speed",
    "main_job",
    "memory",
    "repair_speed",
    "long_records",
    "make_scenes",
    "negatives_speed",
    "vision_speed",
    "sound_speed",
    "separation_speed",
    "sound_judge_speed",
)


def main(names: list[str]) -> None:
    cv2.setNumThreads(1)
    for name in names or MODULES:
        print(f"\n{text(import_module(f'bench.{name}').run())}")


if __name__ == "__main__":
    main(sys.argv[1:])
