"""Networks in files of other frameworks: first weights out of TensorFlow Lite, and trained ones as ONNX.

Public weights of MobileNetV2 are read with LiteRT's interpreter; ONNX is the form in which judges load a network.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from auscult.errors import InputError, OutputError, UsageError
from auscult.nets.mobilenet import Conv
from auscult.nets.onnx_session import open_interpreter

ORIGIN: Final = "google-coral/test_data at 104342d2d3, Apache-2.0"
Kernel: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]
_CONVOLUTIONS: Final = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})


def read_kernels(path: Path, *, digest: str | None = None) -> list[Kernel]:
    """Weights and biases of all convolutions of a TensorFlow Lite file, in the order in which they run.

    They are float32, weights as PyTorch has them (out, in / groups, h, w). Without ``digest``, the SHA-256 in hex that
    the file must have, any file will do.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the first weights cannot be read: {error.strerror}", expected="a TensorFlow Lite file", path=path
        ) from error
    sha256 = hashlib.sha256(content).hexdigest()
    if digest is not None and sha256 != digest:
        raise InputError(
            f"these are other weights: SHA-256 {sha256[:12]}",
            expected=f"{digest[:12]}, {ORIGIN}",
            hint="fetch the file again",
            path=path,
        )
    interpreter = open_interpreter(content, path)
    details = {tensor["index"]: tensor for tensor in interpreter.get_tensor_details()}
    kernels: list[Kernel] = []
    for op in interpreter._get_ops_details():  # noqa: SLF001  # the order of the layers is in no public call
        if op["op_name"] in _CONVOLUTIONS:
            weight, bias = (_floats(interpreter, details[index]) for index in op["inputs"][1:3])
            order = (3, 0, 1, 2) if op["op_name"] == "DEPTHWISE_CONV_2D" else (0, 3, 1, 2)
            kernels.append((np.ascontiguousarray(weight.transpose(order)), bias))
    return kernels


def _floats(interpreter: Any, tensor: dict[str, Any]) -> NDArray[np.float32]:
    """(integer - zero point) x scale, for one scale or one an output channel."""
    values = interpreter.get_tensor(tensor["index"]).astype(np.float32)
    quantised = tensor["quantization_parameters"]
    scales, zeros = quantised["scales"], quantised["zero_points"].astype(np.float32)
    if len(scales) > 1:
        shape = [1] * values.ndim
        shape[quantised["quantized_dimension"]] = len(scales)
        scales, zeros = scales.reshape(shape), zeros.reshape(shape)
    return np.asarray((values - zeros) * scales, dtype=np.float32)


def copy_kernels(kernels: Sequence[Kernel], layers: Sequence[Conv], path: Path) -> None:
    """Write kernels into as many layers of the same shapes; else an ``InputError`` names the file they are from."""
    shapes = [tuple(layer.weight.shape) for layer in layers]
    if [weight.shape for weight, _ in kernels] != shapes:
        raise InputError("the file's layers are not MobileNetV2's", expected=f"{len(shapes)} convolutions", path=path)
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, kernels, strict=True):
            layer.weight.copy_(torch.from_numpy(weight))
            if layer.bias is not None:
                layer.bias.copy_(torch.from_numpy(bias))


OPSET: Final = 17


def write_onnx(
    net: nn.Module,
    example: tuple[Tensor, ...],
    path: Path,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    axes: Mapping[str, Mapping[int, str]],
) -> Path:
    """Write a network in evaluation mode, traced with example inputs.

    ``axes`` are the axes of inputs and outputs that may have any length, and what they are called.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the exporter that needs no further package calls itself old
            torch.onnx.export(
                net,
                example,
                str(path),
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_axes={name: dict(names) for name, names in axes.items()},
                opset_version=OPSET,
                dynamo=False,
            )
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path


def describe_onnx(path: Path, key: str, text: str) -> None:
    """Write into an ONNX file, as its only metadata, what its reader needs to know."""
    import onnx

    model = onnx.load(str(path))
    del model.metadata_props[:]
    model.metadata_props.add(key=key, value=text)
    try:
        onnx.save(model, str(path))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error


def require_close(error: float, path: Path, *, close: float) -> None:
    """A ``UsageError`` where an exported network's answers are farther than ``close`` from those of the network."""
    if error > close:
        raise UsageError(f"the exported network differs by {error:.2g}", expected=f"at most {close}", path=path)
