"""No module imports one that imports it, inside a function and under TYPE_CHECKING neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules that any statement of a module names, and names of a module as if they were modules."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for name in statement.names:
                yield f"{statement.module}.{name.name}"
                yield statement.module
        elif isinstance(statement, ast.Import):
            yield from (name.name for name in statement.names)


def graph_of(sources: Path) -> dict[str, set[str]]:
    """The modules that each module below a folder imports."""
    names = {
        ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sources.rglob("*.py")
    }
    graph = {}
    for name, path in names.items():
        imported = set(imports(ast.parse(path.read_text(encoding="utf-8")))) & names.keys()
        # `from package import module` needs the module; the package itself is loaded for each of its modules
        graph[name] = {
            module for module in imported - {name} if not any(other.startswith(f"{module}.") for other in imported)
        }
    return graph


def cycle_of(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_others() -> None:
    graph = graph_of(SOURCES)
    assert len(graph) > 300
    assert cycle_of(graph) == []


@pytest.mark.parametrize(
    "back", ["import p.a", "def f():\n    from p.a import x", "if TYPE_CHECKING:\n    from p import a"]
)
def test_a_cycle_is_found(tmp_path: Path, back: str) -> None:
    package = tmp_path / "p"
    package.mkdir()
    for name, text in {"__init__": "", "a": "from p import b", "b": "import p.c", "c": back}.items():
        (package / f"{name}.py").write_text(text)
    assert set(cycle_of(graph_of(tmp_path))) == {"p.a", "p.b", "p.c"}
