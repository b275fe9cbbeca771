"""No module imports one that imports it, and no name of a class or alias is defined in more than two modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True)
class Module:
    """What a module imports, and what it defines; its syntax tree, which is large, is not kept."""

    imported: frozenset[str]
    names: frozenset[str]


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    return read(SOURCES)


def read(sources: Path) -> dict[str, Module]:
    """The modules below a folder by their names."""
    found = {}
    for path in sources.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
        found[name] = Module(frozenset(imports(tree)), frozenset(names_of(tree)))
    return found


def imports(tree: ast.Module) -> Iterator[str]:
    """The modules that any statement names, in functions and under TYPE_CHECKING too, and names of a module as such."""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for name in statement.names:
                yield f"{statement.module}.{name.name}"
                yield statement.module
        elif isinstance(statement, ast.Import):
            yield from (name.name for name in statement.names)


def graph_of(modules: dict[str, Module]) -> dict[str, set[str]]:
    """The modules that each module imports."""
    graph = {}
    for name, module in modules.items():
        imported = module.imported & modules.keys()
        # `from package import module` needs the module; the package itself is loaded for each of its modules
        graph[name] = {one for one in imported - {name} if not any(other.startswith(f"{one}.") for other in imported)}
    return graph


def cycle_of(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def names_of(tree: ast.Module) -> Iterator[str]:
    """The classes of a module, and its aliases: names of its own that begin with a capital and are no constants."""
    yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper():
                yield target.id


def test_no_module_imports_itself_by_others(modules: dict[str, Module]) -> None:
    assert len(modules) > 300
    assert cycle_of(graph_of(modules)) == []


@pytest.mark.parametrize(
    "back", ["import p.a", "def f():\n    from p.a import x", "if TYPE_CHECKING:\n    from p import a"]
)
def test_a_cycle_is_found(tmp_path: Path, back: str) -> None:
    package = tmp_path / "p"
    package.mkdir()
    for name, text in {"__init__": "", "a": "from p import b", "b": "import p.c", "c": back}.items():
        (package / f"{name}.py").write_text(text)
    assert set(cycle_of(graph_of(read(tmp_path)))) == {"p.a", "p.b", "p.c"}


def test_no_class_or_alias_has_its_name_in_more_than_two_modules(modules: dict[str, Module]) -> None:
    counts = Counter(name for module in modules.values() for name in module.names)
    assert counts["Outcome"] == 1
    assert {name: count for name, count in counts.items() if count > 2} == {}
