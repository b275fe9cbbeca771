"""Write the pages of the perturbations, docs/stress, with their pictures, and the table of docs/stress.md.

    python tools/stress_pages.py              all of it; the pictures need the extras `demo` and `sound`
    python tools/stress_pages.py --text       the pages, not the pictures
    python tools/stress_pages.py --check      only compare the text; exits 1 and names what is stale

Text follows from the registry: what a perturbation says about itself, its constants, its module's docstring, and the
rules of where it occurs. A test compares it, so that a page that no longer fits the code fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from marked_sections import placed
from stress_pages_text import contents, negative_page, page, picture_of

from auscult import registry
from auscult.stress.negatives import KINDS
from auscult.stress.perturbation import Declared
from auscult.stress.recipe_parts import ROOMS, room_of

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = DOCS / "stress"
PICTURES = DOCS / "images" / "stress"
OVERVIEW = DOCS / "stress.md"
NEGATIVES = tuple(f"negatives.{kind}.v1" for kind in KINDS)
_OPTIONS = ("--text", "--check")


def main(arguments: Sequence[str]) -> int:
    """Write or check; 1 when a checked page is stale, 2 for a wrong option."""
    if not set(arguments) <= set(_OPTIONS) or len(arguments) > 1:
        print(f"options: one of {', '.join(_OPTIONS)}, or none")
        return 2
    perturbations = tuple(ours())
    texts = written(perturbations)
    if "--check" in arguments:
        return check(texts)
    PAGES.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    for path in unknown(texts):
        path.unlink()
    if "--text" not in arguments:
        draw_all(perturbations)
    return 0


def ours() -> Iterator[Declared]:
    """Every perturbation that this package registers, but those of masks, by name."""
    for entry in registry.entries("stressor"):
        if entry.package == registry.BUILT_IN and room_of(entry.name) in ROOMS:
            yield entry.load()


def written(perturbations: Sequence[Declared]) -> Mapping[Path, str]:
    """What every page holds, by path.

    Raises:
        SystemExit: The overview has no place for the table.
    """
    texts = {PAGES / f"{one.name}.md": page(one) for one in perturbations}
    for name in NEGATIVES:
        texts[PAGES / f"{name}.md"] = negative_page(registry.load("stressor", name))
    texts[OVERVIEW] = placed(OVERVIEW.read_text(encoding="utf-8"), "perturbations", contents(perturbations))
    return texts


def check(texts: Mapping[Path, str]) -> int:
    """Say which pages differ from what they should hold; 1 when any does."""
    stale = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in [*stale, *unknown(texts)]:
        print(f"{path.relative_to(DOCS.parent)} is stale; run: python tools/stress_pages.py")
    return 1 if stale or unknown(texts) else 0


def unknown(texts: Mapping[Path, str]) -> list[Path]:
    """Pages of perturbations that are no longer registered."""
    return [path for path in sorted(PAGES.glob("*.md")) if path not in texts]


def draw_all(perturbations: Sequence[Declared]) -> None:
    """Draw every picture anew, and take away those that belong to nothing."""
    from stress_pages_pictures import draw

    PICTURES.mkdir(parents=True, exist_ok=True)
    wanted = {PICTURES / picture_of(one.name): one.name for one in perturbations if picture_of(one.name)}
    for path in sorted(PICTURES.iterdir()):
        if path not in wanted:
            path.unlink()
    for path, name in wanted.items():
        draw(name, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
