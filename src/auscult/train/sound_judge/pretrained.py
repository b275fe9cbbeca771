"""The pretrained trunk, from the file of its release."""

from __future__ import annotations

from pathlib import Path

import onnx
import torch
from onnx import numpy_helper

from auscult.errors import UsageError
from auscult.nets.onnx_session import read_network
from auscult.nets.sound_judge.trunk import Trunk


def read_trunk(path: Path) -> Trunk:
    """The trunk with the weights of ``mn04_as.onnx``, whose convolutions and layers stand in order in the file."""
    graph = onnx.load_from_string(read_network(path, hint="fetch the network's file again")).graph
    known = {one.name: one for one in graph.initializer}
    found = [
        torch.from_numpy(numpy_helper.to_array(known[name]).copy())
        for node in graph.node
        if node.op_type in {"Conv", "Gemm"}
        for name in node.input[1:]
        if name in known
    ]
    trunk = Trunk()
    own = list(trunk.parameters())
    if [value.shape for value in own] != [value.shape for value in found]:
        raise UsageError("the network is another one", expected="mn04_as.onnx of EfficientAT", path=path)
    with torch.no_grad():
        for value, given in zip(own, found, strict=True):
            value.copy_(given)
    return trunk
