"""First weights out of TensorFlow Lite files: they compute what LiteRT computes, and no other file gets in."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import cv2
import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("ai_edge_litert", reason="the extra `train` is not installed")

import torch
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import NDArray
from torch import nn

from auscult.errors import InputError, UsageError
from auscult.media.frames import read_frame
from auscult.nets.mobilenet import MobileStages
from auscult.nets.prompted import Design, PromptedNet
from auscult.train.network_files import copy_kernels, read_kernels
from auscult.train.prompted.loop import FILES, Start, begin
from auscult.types import Frame

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)
Floats = NDArray[np.float32]


# of the ImageNet file the layers up to the first that is dilated here
@pytest.mark.parametrize(
    ("start", "side", "count"),
    [pytest.param("deeplab", 528, 54, marks=pytest.mark.slow), ("imagenet", 224, 40)],
)
def test_copied_weights_compute_what_litert_computes(data: Path, start: Start, side: int, count: int) -> None:
    picture = cv2.resize(read_frame(sorted((data / "images/coco/images").glob("*.jpg"))[0]), (side, side))
    net = PromptedNet(Design()).eval()
    begin(net, start, data / "weights")
    layers = [*net.backbone.convolutions(), net.context.local, net.context.whole, net.context]
    with our_outputs(layers) as our_layers:
        net.context(net.backbone(entered(picture))[-1])
    assert_alike(our_layers[:count], their_outputs(data / "weights" / FILES[start], picture)[:count])


def test_stages_of_mobilenet_compute_what_litert_computes(data: Path) -> None:
    picture = cv2.resize(read_frame(sorted((data / "images/coco/images").glob("*.jpg"))[0]), (224, 224))
    path = data / "weights" / FILES["imagenet"]
    net = MobileStages().eval()
    layers = net.convolutions()
    copy_kernels(read_kernels(path)[: len(layers)], layers, path)
    with our_outputs(layers) as our_layers:
        scaled_input = (entered(picture) + 1) / 2
        for stage, width in enumerate((24, 32, 96, 160), start=1):
            scaled_input = net(scaled_input, stage)
            assert tuple(scaled_input.shape) == (1, width, 224 // 2 ** (stage + 1), 224 // 2 ** (stage + 1))
    assert_alike(our_layers, their_outputs(path, picture)[: len(layers)])


def assert_alike(our_layers: Sequence[Floats], their_layers: Sequence[Floats]) -> None:
    """The file's numbers are rounded to 8 bits."""
    correlations = []
    for our_layer, their_layer in zip(our_layers, their_layers, strict=True):
        assert our_layer.shape == their_layer.shape
        activated = (
            our_layer.clip(0, 6) if their_layer.min() >= 0 else our_layer
        )  # there the file's layer holds its activation too
        correlations.append(float(np.corrcoef(activated.ravel(), their_layer.ravel())[0, 1]))
        assert float(np.abs(activated - their_layer).mean() / their_layer.std()) < 0.12
    assert min(correlations) > 0.99


def entered(picture: Frame) -> torch.Tensor:
    return torch.from_numpy(picture.astype(np.float32) / np.float32(127.5) - np.float32(1)).permute(2, 0, 1)[None]


@contextmanager
def our_outputs(layers: Sequence[nn.Module]) -> Iterator[list[Floats]]:
    """Collects what layers give, (h, w, channels), in their order.

    DeepLab's head runs its last convolution in two parts; the head's own output stands for it.
    """
    layer_outputs: list[Floats] = []
    for layer in layers:
        layer.register_forward_hook(lambda _, __, output: layer_outputs.append(output[0].permute(1, 2, 0).numpy()))
    with torch.no_grad():
        yield layer_outputs


def their_outputs(path: Path, picture: Frame) -> list[Floats]:
    """Outputs of all convolutions as LiteRT computes them, out of their integers."""
    interpreter = Interpreter(
        model_path=str(path),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
    )
    entry = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(entry, (1, *picture.shape))
    interpreter.allocate_tensors()
    interpreter.set_tensor(entry, picture[None])
    interpreter.invoke()
    details = {tensor_detail["index"]: tensor_detail for tensor_detail in interpreter.get_tensor_details()}
    layer_outputs = []
    for op in interpreter._get_ops_details():
        if op["op_name"] in {"CONV_2D", "DEPTHWISE_CONV_2D"}:
            scale, zero = details[op["outputs"][0]]["quantization"]
            layer_outputs.append((interpreter.get_tensor(op["outputs"][0])[0].astype(np.float32) - zero) * scale)
    return layer_outputs


def test_what_a_file_does_not_hold_keeps_its_random_weights(data: Path) -> None:
    torch.manual_seed(0)
    net = PromptedNet(Design())
    first = {name: value.clone() for name, value in net.state_dict().items()}
    changed_layers: dict[str, set[str]] = {}
    for start in get_args(Start):
        net.load_state_dict(first)
        begin(net, start, data / "weights")
        changed_layers[start] = {
            name.partition(".")[0] for name, value in net.state_dict().items() if not torch.equal(value, first[name])
        }
    assert changed_layers == {"deeplab": {"backbone", "context"}, "imagenet": {"backbone"}, "scratch": set()}


@pytest.mark.parametrize(("content", "match"), [(None, "cannot be read"), (b"other weights", "other weights")])
@pytest.mark.parametrize("start", ["deeplab", "imagenet"])
def test_a_missing_or_another_file_is_refused_by_name(
    tmp_path: Path, start: Start, content: bytes | None, match: str
) -> None:
    path = tmp_path / FILES[start]
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=match) as error:
        begin(PromptedNet(Design(side=64)), start, tmp_path)
    assert error.value.path == str(path)


@pytest.mark.parametrize("content", [b"", b"no model", b"\x18\0\0\0TFL3" + bytes(200)])
def test_a_broken_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(content)
    with pytest.raises(InputError, match="no TensorFlow Lite file") as error:
        read_kernels(path)
    assert error.value.path == str(path)


def test_a_file_with_other_layers_is_refused(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    half_width_file = "deeplabv3_mnv2_dm05_pascal_quant.tflite"
    monkeypatch.setitem(FILES, "deeplab", half_width_file)
    monkeypatch.setattr("auscult.train.prompted.loop.SHA256", {"deeplab": None})
    with pytest.raises(InputError, match="not MobileNetV2's") as error:
        begin(PromptedNet(Design(side=64)), "deeplab", data / "weights")
    assert str(error.value.path).endswith(half_width_file)


def test_without_litert_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tflite").write_bytes(b"anything")
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(UsageError, match="LiteRT is not installed") as error:
        read_kernels(tmp_path / "a.tflite")
    assert "auscult[train]" in error.value.hint
