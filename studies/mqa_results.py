"""Write the tables of docs/mqa-results.md from records of `auscult run mqa`.

    PYTHONPATH=tools python studies/mqa_results.py --check NAME=DIR ...     say whether the page is as the records say; exit 1 if not
    PYTHONPATH=tools python studies/mqa_results.py NAME=DIR ...             write the page's tables anew

Each NAME=DIR stands between the marks `<!-- NAME -->` and `<!-- end NAME -->` of the page. Nothing is computed here:
the tables are those of the records.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marked_sections import placed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mqa-results.md"
KINDS = ("overall", "rmse", "f2_m", "f2_a", "size", "reliability", "consistency", "answers")


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; 0 when it is as the records say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    before = options.page.read_text(encoding="utf-8")
    text = before
    for record in options.records:
        name, _, folder = record.partition("=")
        text = placed(text, name, section(Path(folder)))
    if options.check:
        print("the page is as the records say" if text == before else "the page differs from the records")
        return 0 if text == before else 1
    options.page.write_text(text, encoding="utf-8")
    return 0


def section(folder: Path) -> str:
    """What a record says: what it was made from, then its tables."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    counted = ", ".join(f"{summary[key]:,} {key}" for key in ("n", "ok", "failed", "undefined"))
    parts = [f"Verdicts: {counted}. auscult {manifest['versions']['auscult']}, {_seeds(manifest)}."]
    parts += [markdown(table) for table in _tables(folder)]
    return "\n\n".join(parts) + "\n"


def markdown(table: Mapping[str, Any]) -> str:
    """A finished table as Markdown, its title above and its note below."""
    lines = [
        f"**{table['title']}**\n",
        _row(table["header"]),
        _row(["---", *("---:" for _ in table["header"][1:])]),
        *(_row(row) for row in table["rows"]),
    ]
    if table.get("note"):
        lines.append(f"\n{_plain(table['note'])}")
    return "\n".join(lines)


def _tables(folder: Path) -> list[Mapping[str, Any]]:
    """Block by block in the order of the report, then the ablation form."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (folder / "tables").glob("*.json")}
    blocks = [f"{protocol}_{part}" for protocol in ("image", "video") for part in ("all", "seen", "unseen")]
    names = [f"{block}_{kind}" for block in blocks for kind in KINDS]
    names += [f"image_ablation_{metric}" for metric in ("rmse", "f2_m", "f2_a")]
    return [found[name] for name in names if name in found]


def _seeds(manifest: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in manifest["seeds"].items())


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_plain, cells)) + " |"


def _plain(cell: str) -> str:
    return cell.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
