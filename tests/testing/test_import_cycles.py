"""No module imports one that imports it, under TYPE_CHECKING neither; imports inside functions are left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"


def imports(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The modules that statements outside functions name, and names of a module as if they were modules."""
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for name in statement.names:
                yield f"{statement.module}.{name.name}"
                yield statement.module
        elif isinstance(statement, ast.Import):
            yield from (name.name for name in statement.names)
        elif isinstance(statement, ast.If):
            yield from imports(statement.body)


def cycle_of(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_others() -> None:
    names = {
        ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__"): path
        for path in SOURCES.rglob("*.py")
    }
    graph = {}
    for name, path in names.items():
        imported = set()
        for module in imports(ast.parse(path.read_text(encoding="utf-8")).body):
            imported |= {module} & names.keys()
        # `from package import module` needs the module; the package itself is loaded for each of its modules
        graph[name] = {
            module for module in imported - {name} if not any(other.startswith(f"{module}.") for other in imported)
        }
    assert len(graph) > 300
    assert cycle_of(graph) == []


@pytest.mark.parametrize("graph", [{"a": {"b"}, "b": {"a"}}, {"a": {"b"}, "b": {"c"}, "c": {"a"}}])
def test_a_cycle_is_found(graph: dict[str, set[str]]) -> None:
    assert cycle_of(graph)
