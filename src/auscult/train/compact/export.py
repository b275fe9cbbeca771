"""From a trained network to the file that ships: ONNX, checked against the network it came from."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
import torch
from torch import Tensor, nn

from auscult.errors import OutputError, UsageError
from auscult.judge.masks.compact.network import INPUTS, OUTPUTS
from auscult.nets.compact import CompactNet, Seen
from auscult.rng import generator

CLOSE: Final = 1e-4
_OPSET: Final = 17


class _Shipped(nn.Module):
    """The network with the outputs that a judge reads, in their order; one without a true mask gives the mask."""

    def __init__(self, net: CompactNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        seen = Seen(*views)
        said = self.net(seen)
        if "truth" not in said:
            said["truth"] = seen.crop[:, 3:4, ::2, ::2] * 4
        return tuple(said[name] for name in OUTPUTS)


def export(net: CompactNet, path: Path) -> float:
    """Write a network as ONNX and compare the two on random inputs.

    Args:
        net: The network, as it shall judge.
        path: Where the file goes.

    Returns:
        The largest difference of any output, at most 1e-4.

    Raises:
        UsageError: The exported file differs from the network.
        OutputError: It cannot be written.
    """
    shipped = _Shipped(net).eval()
    example = tuple(torch.zeros(2, *shape) for shape in INPUTS.values())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the exporter that needs no further package calls itself old
            torch.onnx.export(
                shipped,
                example,
                str(path),
                input_names=list(INPUTS),
                output_names=list(OUTPUTS),
                dynamic_axes={name: {0: "n"} for name in (*INPUTS, *OUTPUTS)},
                opset_version=_OPSET,
                dynamo=False,
            )
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    apart = difference(net, path)
    if apart > CLOSE:
        raise UsageError(f"the exported network differs by {apart:.2g}", expected=f"at most {CLOSE}", path=path)
    return apart


def difference(net: CompactNet, path: Path, *, seed: int = 0, count: int = 16) -> float:
    """The largest difference of any output between a network and its file, on random inputs."""
    rng = generator(seed, "compact", "export")
    given: dict[str, Any] = {
        name: rng.standard_normal((count, *shape)).astype(np.float32).clip(-2, 2) for name, shape in INPUTS.items()
    }
    shipped = _Shipped(net).eval()
    with torch.no_grad():
        own = shipped(*(torch.from_numpy(value) for value in given.values()))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    taken = {one.name for one in session.get_inputs()}
    read = session.run(list(OUTPUTS), {name: value for name, value in given.items() if name in taken})
    return max(float(np.abs(one.numpy() - other).max()) for one, other in zip(own, read, strict=True))
