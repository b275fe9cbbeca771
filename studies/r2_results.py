"""Write docs/r2-results.md from finished runs of ``auscult run r2``: python studies/r2_results.py --page FOLDER ...

Each folder is a run; its title and what it teaches stand in FOLDER.words.md beside it. Without ``--page`` the page is
printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "r2-results.md"
HEAD = """# Results of the models without weights

What the suite [R2](r2.md) says of the three models that run anywhere. They are no rivals of networks; they show what a
curve looks like, and what can be learned from it. Scores are percent, changes percentage points, in brackets 95 %
intervals over clips or photographs. `python studies/r2_results.py --page FOLDER ...` writes the tables from runs of the
commands below.

Each section is one source of 10 to 32 clips, scenes or photographs. Its words say what happened there; they are no claim about
other data.

"""
TABLES = (
    "general_mix", "general_picture", "general_guidance", "general_mix_first", "general_mix_rest",
    "kinds", "dynamic", "floor", "answers",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--page", action="store_true", help="write the page")
    given = parser.parse_args()
    parts = [_part(folder) for folder in given.folders]
    text = HEAD + "\n".join(parts)
    if given.page:
        PAGE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _part(folder: Path) -> str:
    """One run: its words, then its tables."""
    words = folder.with_name(f"{folder.name}.words.md")
    told = words.read_text(encoding="utf-8").strip() if words.is_file() else f"## {folder.name}"
    tables = [_table(folder / "tables" / f"{name}.json") for name in TABLES]
    return told + "\n\n" + "\n".join(table for table in tables if table)


def _table(path: Path) -> str:
    if not path.is_file():
        return ""
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    lines = [f"**{table['title']}**", "", _row(table["header"]), _row(["---"] * len(table["header"]))]
    return "\n".join([*lines, *(_row(row) for row in table["rows"])]) + "\n"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    raise SystemExit(main())
