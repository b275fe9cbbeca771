"""Networks of TensorFlow Lite files, opened with LiteRT on one thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from auscult.errors import InputError, UsageError


def open_interpreter(content: bytes, path: Path, *, keep_tensors: bool = False) -> Any:
    """Open a network; with ``keep_tensors`` what lies between its layers can be read after a run."""
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise UsageError(
            "LiteRT is not installed", expected="the package ai-edge-litert", hint="pip install 'auscult[train]'"
        ) from error
    try:
        return Interpreter(
            model_content=content,
            num_threads=1,
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            experimental_preserve_all_tensors=keep_tensors,
        )
    except (ValueError, RuntimeError) as error:
        raise InputError(f"no TensorFlow Lite file: {error}", path=path) from error
