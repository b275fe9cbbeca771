"""Write the reference pages from the commands and the registry, then build the site. `--check` only compares.

`make docs` writes and builds; a test runs `--check`, so that a page that no longer fits the code fails.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import typer

from auscult import registry
from auscult.agent.knowledge.situations import situation_rows
from auscult.agent.plan import plan_schema
from auscult.cli.main import app
from auscult.jobs.registered import describe

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"


def main() -> int:
    """Write or check the pages; 1 when a checked page is stale."""
    made = {"commands": commands_page, "names": names_page, "plan": plan_page, "situations": situations_page}
    pages = {f"{name}.md": page() for name, page in made.items()}
    if "--check" in sys.argv:
        stale = [name for name, text in pages.items() if (REFERENCE / name).read_text("utf-8") != text]
        for name in stale:
            print(f"docs/reference/{name} is stale; run: python tools/build_docs.py --write")
        return 1 if stale else 0
    for name, text in pages.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    if "--write" in sys.argv:
        return 0
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def commands_page() -> str:
    """Every verb's own help text."""
    parts = ["# Commands", "", "Made from the commands' own help by `make docs`.", ""]
    for verb in _verbs(typer.main.get_group(app)):
        parts += [f"## auscult {' '.join(verb)}", "", "```text", _help(verb), "```", ""]
    return "\n".join(parts)


def _verbs(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield from _verbs(command, *path, name) if hasattr(command, "list_commands") else [(*path, name)]


def names_page() -> str:
    """What the registry holds, told by the things themselves."""
    parts = ["# Registered names\n\nMade from the registry by `make docs`; `auscult list KIND` prints the same.\n"]
    for kind in registry.KINDS:
        rows = [row for row in describe(kind) if row.package == "auscult"]
        lines = [f"| `{row.name}` | {row.summary} | {row.goal} | {row.source} |" for row in rows]
        head = [f"## {kind}", "", "| name | what it is | what for | source |", "|---|---|---|---|"]
        parts += [*head, *lines, ""] if rows else []
    return "\n".join(parts)


def plan_page() -> str:
    """The keys of ``plan.yaml``, from the types that read it."""
    parts = ["# plan.yaml", "", "Made by `make docs` from the types that `auscult run PLAN.yaml` reads it by.", ""]
    for name, one in plan_schema()["$defs"].items():
        lead, _, rest = one.get("description", "").partition("\n\n    Attributes:")
        told = dict(re.findall(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", rest, re.MULTILINE))
        parts.append(f"## {name}\n\n{lead.replace('``', '`')}\n\n| key | value | default | what |\n|---|---|---|---|")
        for key, value in one.get("properties", {}).items():
            default = f"`{json.dumps(value['default'])}`" if "default" in value else ""
            what = " ".join(told.get(key, "").replace("``", "`").split())
            parts.append(f"| `{key}` | {_kind(value)} | {default} | {what} |")
        parts.append("")
    return "\n".join(parts)


def _kind(value: Any) -> Any:
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if "$ref" in value:
        return value["$ref"].rpartition("/")[2]
    each = " or ".join(map(_kind, value.get("anyOf", ()))) or str(value.get("type", "any"))
    return f"list of {_kind(value['items'])}" if "items" in value else each


def situations_page() -> str:
    """The situations that the built-in planner knows, with what is needed and what cannot occur there."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name, of, kind, grade, *_ in situation_rows():
        grades = found.setdefault((name, of), {"needed": "", "impossible": ""})
        grades[grade] = f"{grades.get(grade, '')}, {kind}".lstrip(", ")
    rows = [f"| {name} | {of} | {has['needed']} | {has['impossible']} |" for (name, of), has in found.items()]
    lead = f"{len(rows)} of the built-in planner, made by `make docs`. What is in neither list is plausible."
    return "\n".join(
        [f"# Situations\n\n{lead}\n\n| situation | is a | needed | impossible |\n|---|---|---|---|", *rows, ""]
    )


def _help(verb: tuple[str, ...]) -> str:
    os.environ |= {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    with redirect_stdout(io.StringIO()) as shown, suppress(SystemExit):
        app([*verb, "--help"], prog_name="auscult")
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines()).strip()


if __name__ == "__main__":
    sys.exit(main())
