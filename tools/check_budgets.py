"""Size of each room, budgets of files and functions, no large file in the repository; 1 when something is over."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60
MAX_BYTES = 1_000_000
MAX_SCRIPT_LINES = 4000
WEIGHTS = {".onnx", ".npz", ".safetensors"}
ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print what is over a budget; 0 when nothing is."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    faults = [*_long_files(sources), *_long_functions(sources), *_large_files(), *_empty_rooms(), *_long_scripts()]
    _print_rooms(sources, _scripts())
    for fault in faults:
        print(fault)
    print(f"{len(faults)} over budget")
    return 1 if faults else 0


def _print_rooms(sources: list[Path], scripts: list[Path]) -> None:
    """Files, lines, and statements without docstrings and imports, a room a line."""
    sizes: dict[str, list[int]] = {}
    for path in sources:
        parts = path.relative_to(ROOT / "src" / "auscult").parts
        text = path.read_text(encoding="utf-8")
        size = sizes.setdefault(parts[0] if len(parts) > 1 else "(root)", [0, 0, 0])
        for at, more in enumerate((1, len(text.splitlines()), _statements(ast.parse(text)))):
            size[at] += more
    sizes["all"] = [sum(column) for column in zip(*sizes.values(), strict=True)]
    print(f"{'room':<12}{'files':>7}{'lines':>8}{'statements':>12}")
    for room, (files, lines, statements) in sizes.items():
        print(f"{room:<12}{files:>7}{lines:>8}{statements:>12}")
    print(f"tools, bench{len(scripts):>7}{sum(len(path.read_text('utf-8').splitlines()) for path in scripts):>8}")


def _statements(tree: ast.AST) -> int:
    return sum(
        isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(tree)
    )


def _long_scripts() -> Iterator[str]:
    """``tools`` and ``bench`` together: what is finished moves to ``studies``, what a test uses stands beside it."""
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in _scripts())
    if lines > MAX_SCRIPT_LINES:
        yield f"tools and bench: {lines} lines, the most is {MAX_SCRIPT_LINES}"


def _scripts() -> list[Path]:
    return [path for folder in ("tools", "bench") for path in sorted((ROOT / folder).glob("*.py"))]


def _long_files(sources: list[Path]) -> Iterator[str]:
    for path in sources:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_FILE_LINES:
            yield f"{path.relative_to(ROOT)}: {lines} lines, the most is {MAX_FILE_LINES}"


def _long_functions(sources: list[Path]) -> Iterator[str]:
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1 - _docstring_lines(node)
                if lines > MAX_FUNCTION_LINES:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {lines} lines"


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return (first.end_lineno or first.lineno) - first.lineno + 1
    return 0


def _large_files() -> Iterator[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file() and path.suffix not in WEIGHTS and path.stat().st_size > MAX_BYTES:
            yield f"{name}: {path.stat().st_size} bytes, the most is {MAX_BYTES} except for weights"


def _empty_rooms() -> Iterator[str]:
    for folder in sorted((ROOT / "src" / "auscult").rglob("*")):
        if folder.is_dir() and folder.name != "__pycache__" and not any(folder.iterdir()):
            yield f"{folder.relative_to(ROOT)}: an empty room"


if __name__ == "__main__":
    sys.exit(main())
