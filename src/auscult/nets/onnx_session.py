"""Networks of ONNX files: read within bounds, opened in ONNX Runtime on one core, their outputs checked.

Processes share the work, so a session has one thread. It keeps no arena: with one, the first large batch would stay
allocated for good; without, memory is the same after ten masks and after ten thousand.

Networks of TensorFlow Lite files are opened with LiteRT, on one thread too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.paths import open_regular
from auscult.types import Floats

MOST_BYTES: Final = 12_000_000
HINT: Final = "install auscult again"

_VNNI: Final = 23  # CV_CPU_AVX_512VNNI, which OpenCV's Python does not name


def check_outputs(
    outputs: Mapping[str, Floats], shapes: Mapping[str, tuple[int, ...]], *, count: int, hint: str, path: Path
) -> None:
    """Check that outputs are finite and of their shapes, batch first."""
    for name, value in outputs.items():
        if value.shape != (count, *shapes[name]) or not np.isfinite(value).all():
            raise UsageError(
                f"output {name!r} has shape {value.shape}, or numbers that are not finite",
                expected=f"finite numbers of shape {(count, *shapes[name])}",
                hint=hint,
                path=path,
            )


def read_network(path: Path, *, most_bytes: int = MOST_BYTES, hint: str = HINT) -> bytes:
    """Read a network's file."""
    try:
        size = path.stat().st_size
        if size > most_bytes:
            raise UsageError(
                f"the network has {size} bytes", expected=f"at most {most_bytes} bytes", hint=hint, path=path
            )
        with open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise UsageError(
            f"the network cannot be read: {error.strerror}", expected="an ONNX file", hint=hint, path=path
        ) from error


def open_session(content: bytes, path: Path, *, hint: str = HINT, in_eight_bits: bool = False) -> Any:
    """Open a network in ONNX Runtime, on one thread and without an arena.

    One whose convolutions are ``in_eight_bits``, with signed weights, gives the same numbers on every processor.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise UsageError(
            f"ONNX Runtime cannot be loaded: {error}",
            expected="the package onnxruntime",
            hint="pip install onnxruntime",
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    if in_eight_bits and not cv2.checkHardwareSupport(_VNNI):
        # sums of products with signed weights would overflow there; unsigned ones are slower, so not everywhere
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 4  # what goes wrong comes as an exception; nothing is printed beside it
    try:
        return onnxruntime.InferenceSession(content, sess_options=options, providers=["CPUExecutionProvider"])
    except runtime_errors() as error:
        raise UsageError(
            f"the network cannot be opened: {str(error).splitlines()[0][:200]}",
            expected="a whole ONNX file",
            hint=hint,
            path=path,
        ) from error


def open_known(path: Path, *, takes: str, gives: Sequence[int], hint: str) -> Any:
    """Open a network of the user's that has one input of this name and outputs of these sizes along the last axis."""
    session = open_session(read_network(path, hint=hint), path, hint=hint)
    names, sizes = [node.name for node in session.get_inputs()], [output.shape[-1:] for output in session.get_outputs()]
    if names != [takes] or sizes != [[size] for size in gives]:
        raise UsageError("this is another network", expected=f"one of the input {takes!r}", hint=hint, path=path)
    return session


def runtime_errors() -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises; its exceptions share no base of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoModel", "NotImplemented")
    return (*(getattr(state, name) for name in (*names, "RuntimeException") if hasattr(state, name)), RuntimeError)


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
