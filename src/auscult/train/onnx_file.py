"""Writes a trained network as ONNX, the form in which judges load it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

from auscult.errors import OutputError

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
                dynamic_axes={name: dict(one) for name, one in axes.items()},
                opset_version=OPSET,
                dynamo=False,
            )
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path
