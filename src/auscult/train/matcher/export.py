"""The trained networks as one ONNX file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import torch

from auscult.errors import OutputError
from auscult.judge.identity.scenes import CROP
from auscult.nets.matcher import Matcher

OPSET: Final = 17


def export(net: Matcher, path: Path) -> Path:
    """Write a network in evaluation mode as ``scenes.onnx``; frames of any size, any number of crops.

    Raises:
        OutputError: The file cannot be written.
    """
    net = net.eval().to(memory_format=torch.contiguous_format)
    example = (torch.zeros(1, 3, 144, 256), torch.zeros(2, 4, CROP, CROP))
    maps = {0: "frames", 2: "rows", 3: "columns"}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the exporter that needs no further package calls itself old
            torch.onnx.export(
                net,
                example,
                str(path),
                input_names=["frame", "crop"],
                output_names=["centres", "seen", "names"],
                dynamic_axes={
                    "frame": {0: "frames", 2: "height", 3: "width"},
                    "crop": {0: "crops"},
                    "centres": maps,
                    "seen": maps,
                    "names": {0: "crops"},
                },
                opset_version=OPSET,
                dynamo=False,
            )
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path
