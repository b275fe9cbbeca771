"""Size budgets of files and functions, and no large file in the repository. Exits 1 and names what is over."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_FILE_LINES = 400
P90_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
MAX_BYTES = 1_000_000
WEIGHTS = {".onnx", ".npz", ".safetensors"}
ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print what is over a budget; 0 when nothing is."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in sources)
    p90 = lengths[int(0.9 * (len(lengths) - 1))]
    faults = [*_long_files(sources), *_long_functions(sources), *_large_files(), *_empty_rooms()]
    if p90 > P90_FILE_LINES:
        faults.append(f"90 % of the files have up to {p90} lines, the budget is {P90_FILE_LINES}")
    for fault in faults:
        print(fault)
    print(f"{len(sources)} files, p90 {p90} lines, longest {lengths[-1]}; {len(faults)} over budget")
    return 1 if faults else 0


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
