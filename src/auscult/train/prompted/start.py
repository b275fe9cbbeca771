"""First weights out of public TensorFlow Lite files: integers, scales and zero points back to floats.

Both files hold the convolutions of MobileNetV2 in the order in which they run, batch norm folded in. DeepLab's holds
its context head behind them. Read with LiteRT's interpreter, which is needed here only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.nets.mobilenet import Conv
from auscult.nets.prompted import PromptedNet

Start: TypeAlias = Literal["deeplab", "imagenet", "scratch"]
STARTS: Final[tuple[Start, ...]] = ("deeplab", "imagenet", "scratch")
FILES: Final[dict[str, str]] = {
    "deeplab": "deeplabv3_mnv2_pascal_quant.tflite",
    "imagenet": "tf2_mobilenet_v2_1.0_224_ptq.tflite",
}
SHA256: Final[dict[str, str]] = {
    "deeplab": "350af47fd346ea6d74b58833a351f583ba860e9806ec5bd292ff8d8f1f249398",
    "imagenet": "5d3137241276e79c86d14a74fe43581398ae0e815191d3dba45495b810840e8c",
}
ORIGIN: Final = "google-coral/test_data at 104342d2d3, Apache-2.0"

_CONVOLUTIONS: Final = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})
Kernel: TypeAlias = tuple[NDArray[np.float32], NDArray[np.float32]]


def begin(net: PromptedNet, start: Start, folder: Path) -> None:
    """Copy public weights into a network's backbone, and into its context head where the file has one.

    Args:
        net: Filled in place; what the file does not hold keeps its random weights.
        start: Which file; ``scratch`` reads none.
        folder: Where the files lie.

    Raises:
        InputError: The file is missing, another one than expected, or has other layers.
        UsageError: LiteRT is not installed.
    """
    if start == "scratch":
        return
    kernels = read_kernels(folder / FILES[start], digest=SHA256[start])
    wanted = net.backbone.convolutions()
    if start == "deeplab":
        # the file runs the branch of each place first, then that of the mean
        wanted = [*wanted, net.context.local, net.context.whole, net.context.project]
    _copy(kernels[: len(wanted)], wanted, folder / FILES[start])


def read_kernels(path: Path, *, digest: str | None = None) -> list[Kernel]:
    """Weights and biases of all convolutions of a TensorFlow Lite file, in the order in which they run.

    Args:
        path: The file.
        digest: SHA-256 that it must have, in hex; None takes any.

    Returns:
        Weights as PyTorch has them (out, in / groups, h, w) and biases, float32.

    Raises:
        InputError: The file is missing, broken, or another one.
        UsageError: LiteRT is not installed.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the first weights cannot be read: {error.strerror}", expected="a TensorFlow Lite file", path=path
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if digest is not None and found != digest:
        raise InputError(
            f"these are other weights: SHA-256 {found[:12]}",
            expected=f"{digest[:12]}, {ORIGIN}",
            hint="fetch the file again, or train from --start scratch",
            path=path,
        )
    interpreter = _interpreter(content, path)
    details = {one["index"]: one for one in interpreter.get_tensor_details()}
    kernels: list[Kernel] = []
    for op in interpreter._get_ops_details():  # noqa: SLF001  # the order of the layers is in no public call
        if op["op_name"] in _CONVOLUTIONS:
            weight, bias = (_floats(interpreter, details[index]) for index in op["inputs"][1:3])
            order = (3, 0, 1, 2) if op["op_name"] == "DEPTHWISE_CONV_2D" else (0, 3, 1, 2)
            kernels.append((np.ascontiguousarray(weight.transpose(order)), bias))
    return kernels


def _interpreter(content: bytes, path: Path) -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise UsageError(
            "LiteRT is not installed", expected="the package ai-edge-litert", hint="pip install 'auscult[train]'"
        ) from error
    try:
        return Interpreter(
            model_content=content,
            experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        )
    except (ValueError, RuntimeError) as error:
        raise InputError(f"no TensorFlow Lite file: {error}", path=path) from error


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


def _copy(kernels: Sequence[Kernel], layers: Sequence[Conv], path: Path) -> None:
    shapes = [tuple(layer.weight.shape) for layer in layers]
    if [weight.shape for weight, _ in kernels] != shapes:
        raise InputError("the file's layers are not MobileNetV2's", expected=f"{len(shapes)} convolutions", path=path)
    with torch.no_grad():
        for layer, (weight, bias) in zip(layers, kernels, strict=True):
            layer.weight.copy_(torch.from_numpy(weight))
            if layer.bias is not None:
                layer.bias.copy_(torch.from_numpy(bias))
