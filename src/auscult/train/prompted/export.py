"""From a trained network to the file that ships: ONNX, whole or in 8 bits, checked against the network it came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from auscult.errors import OutputError
from auscult.judge.masks.prompted.network import LENSES, load_member
from auscult.judge.masks.prompted.view import Lens
from auscult.nets.prompted import SHAPE, STRIP, PromptedNet
from auscult.rng import generator
from auscult.train.network_files import describe_onnx, require_close, write_onnx

CLOSE: Final = 2e-4
"""Largest difference of any output between a network and its file of whole numbers."""
_IN_EIGHT_BITS: Final = ("Conv", "Relu", "Clip", "Add", "Concat", "Resize")
"""What is done in 8 bits. The heads are not: they cost nothing, and lose a tenth of their agreement."""
_NAMES: Final = ("crop", "candidate", "strip", "shape", "given", "counts")
_OUTPUTS: Final = ("answer", "ious", "types", "features")

Inputs = Mapping[str, NDArray[np.float32]]


class _Shipped(nn.Module):
    """The network with inputs and outputs in the judge's order."""

    def __init__(self, net: PromptedNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        outputs = self.net(inputs[0], inputs[1], strip=inputs[2], shape=inputs[3], given=(inputs[4], inputs[5]))
        return tuple(outputs[name] for name in _OUTPUTS)


def export(net: PromptedNet, path: Path) -> float:
    """Write a network as ONNX and compare the two on random inputs."""
    shipped = _Shipped(net).eval()
    example = tuple(torch.from_numpy(value) for value in random_inputs(net, count=2).values())
    axes = {name: {0: "n"} for name in (*_NAMES, *_OUTPUTS)}
    write_onnx(shipped, example, path, inputs=_NAMES, outputs=_OUTPUTS, axes=axes)
    describe(path, Lens(side=net.design.side, margin=net.design.margin))
    error = difference(net, path)
    require_close(error, path, close=CLOSE)
    return error


def describe(path: Path, lens: Lens) -> None:
    """Write into a file how its network looks at a mask."""
    describe_onnx(path, LENSES, json.dumps(asdict(lens)))


def random_inputs(net: PromptedNet, *, count: int, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Inputs of the right shapes, by name."""
    rng, side, grid = generator(seed, "prompted", "export"), net.design.side, net.design.side // 2
    return {
        "crop": rng.uniform(-1, 1, (count, 3, side, side)).astype(np.float32),
        "candidate": (rng.random((count, 1, grid, grid)) < 0.4).astype(np.float32),
        "strip": rng.uniform(-2, 2, (count, STRIP, 24, 256)).astype(np.float32),
        "shape": rng.standard_normal((count, SHAPE)).astype(np.float32),
        "given": rng.standard_normal((count, 1, grid, grid)).astype(np.float32),
        "counts": np.zeros((count, 1, 1, 1), np.float32),
    }


def difference(net: PromptedNet, path: Path) -> float:
    """The largest difference of any output between a network and its file, on random inputs."""
    inputs = random_inputs(net, count=4)
    with torch.no_grad():
        outputs = _Shipped(net).eval()(*(torch.from_numpy(value) for value in inputs.values()))
    exported = load_member(path)({name: inputs[name] for name in _NAMES[:4]})
    pairs = zip(_OUTPUTS, outputs, strict=True)
    return max(float(np.abs(value.numpy() - exported[name]).max()) for name, value in pairs)


def in_eight_bits(path: Path, target: Path, seen: Sequence[Inputs]) -> Path:
    """Write a file's network again with its convolutions in 8 bits."""
    from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.onnx"
        quant_pre_process(str(path), str(ready), skip_symbolic_shape=True)
        fold_pads(ready)
        try:
            quantize_static(
                str(ready),
                str(target),
                _BatchReader(seen),
                quant_format=QuantFormat.QDQ,
                op_types_to_quantize=list(_IN_EIGHT_BITS),
                per_channel=True,
                activation_type=QuantType.QUInt8,
                weight_type=QuantType.QInt8,
                calibrate_method=CalibrationMethod.MinMax,
            )
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=target) from error
    unsign_constants(target)
    fuse(target)
    describe(target, load_member(path).lens)
    return target


def unsign_constants(path: Path) -> int:
    """Write single numbers in 8 bits as unsigned ones with a zero point of 128, in place; returns how many there are.

    The numbers are the same. Beside signed ones ONNX Runtime cannot make weights unsigned, as ``open_session`` asks.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    kind = onnx.TensorProto.INT8
    tensors = {value.name: value for value in model.graph.initializer if value.data_type == kind and not value.dims}
    for name, tensor in tensors.items():
        values = numpy_helper.to_array(tensor).astype(np.int16) + 128
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.uint8), name))
    onnx.save(model, str(path))
    return len(tensors)


def fuse(path: Path) -> None:
    """Join layers as ONNX Runtime does when it opens a network, in place: it is open in half the time."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def fold_pads(path: Path) -> int:
    """Move constant padding into the convolutions behind it, in place; returns how often.

    As a step of its own, padding would be done in whole numbers between two that are in 8 bits.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    made_by = {name: node for node in model.graph.node for name in node.output}
    folded = 0
    for node in model.graph.node:
        before = made_by.get(node.input[0]) if node.op_type == "Conv" else None
        if before is None or before.op_type != "Pad" or before.input[1] not in constants:
            continue
        _, _, top, left, _, _, bottom, right = numpy_helper.to_array(constants[before.input[1]]).tolist()
        pads = next(attribute for attribute in node.attribute if attribute.name == "pads")
        padding = [pad + extra for pad, extra in zip(pads.ints, (top, left, bottom, right), strict=True)]
        del pads.ints[:]
        pads.ints.extend(padding)
        node.input[0] = before.input[0]
        model.graph.node.remove(before)
        folded += 1
    onnx.save(model, str(path))
    return folded


class _BatchReader:
    """Hands out inputs one batch after the other, as ONNX Runtime's quantiser wants them."""

    def __init__(self, batches: Sequence[Inputs]) -> None:
        self._left: Iterator[Inputs] = iter(batches)

    def get_next(self) -> dict[str, Any] | None:
        """The next batch, or None behind the last."""
        batch = next(self._left, None)
        if batch is None:
            return None
        count, _, side, _ = batch["crop"].shape
        grid = side // 2
        return {
            **batch,
            "given": np.zeros((count, 1, grid, grid), np.float32),
            "counts": np.zeros((count, 1, 1, 1), np.float32),
        }
