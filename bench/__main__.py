"""`python -m bench`: run every benchmark of this folder in one process, one core, and print the tables."""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = (
    "stress_masks",
    "stress_tracks",
    "j_and_f",
    "main_job",
    "memory",
    "make_scenes",
    "guessing",
    "seams",
    "proposals",
    "vision_speed",
    "sound_speed",
    "vision_parity",
    "sound_parity",
)


def main(names: list[str]) -> None:
    for name in names or MODULES:
        table = import_module(f"bench.{name}").run()
        widths = [max(len(row[i]) for row in (table.header, *table.rows)) for i in range(len(table.header))]
        print(f"\n{table.title}")
        for row in (table.header, *table.rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        print(table.note)


if __name__ == "__main__":
    main(sys.argv[1:])
