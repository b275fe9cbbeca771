"""The pages people read, taken apart: blocks to run, links to follow, tables of numbers to compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
WRITTEN = (README, *sorted(DOCS.glob("*.md")))
STUDIES = tuple(sorted((ROOT / "studies").glob("*.md")))
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
EVERY = (
    *WRITTEN,
    ARCHITECTURE,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(DOCS.glob("*/*.md")),
    *STUDIES,
)

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (?P<mark>[^>]*?) -->\s*\Z")
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what it holds, the comment right before it, the line it begins in."""

    language: str
    body: str
    mark: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line that begins with ``$``, and what the page says it prints."""

    line: str
    output: tuple[str, ...]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        mark = _MARK.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 1
        yield Block(match["language"], match["body"], mark["mark"] if mark else "", line)


def commands(block: Block) -> list[Command]:
    """The commands of a console block with the lines shown below each."""
    found_commands: list[Command] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            found_commands.append(Command(line.removeprefix("$ "), ()))
        elif found_commands:
            found_commands[-1] = Command(found_commands[-1].line, (*found_commands[-1].output, line))
    return found_commands


def links(page: Path) -> list[str]:
    """Targets of the links and pictures of a page that are not on the web."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    return [match["target"] for match in _LINK.finditer(text) if "://" not in match["target"]]


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub and the site call them."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
