"""The file that ships says what the network says, keeps its lens, and in 8 bits is smaller and nearly the same."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("onnx", reason="the extra `train` is not installed")

import torch
from numpy.typing import NDArray

from auscult.errors import OutputError, UsageError
from auscult.judge.masks.prompted.calibration import mean_iou
from auscult.judge.masks.prompted.network import FOLDER, load_member
from auscult.judge.masks.prompted.view import Lens
from auscult.judge.masks.shared import softmax
from auscult.nets.onnx_session import open_session
from auscult.nets.prompted import Design, PromptedNet
from auscult.train.prompted.export import CLOSE, describe, export, fold_pads, in_eight_bits, random_inputs

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)
SEEN = ("crop", "candidate", "strip", "shape")
Inputs = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Shipped:
    net: PromptedNet
    path: Path
    apart: float


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    torch.manual_seed(2)
    net = PromptedNet(Design(side=64, margin=2.5)).eval()
    for value in net.parameters():
        if value.ndim > 1:
            torch.nn.init.kaiming_normal_(value)  # PyTorch's own first weights fade over fifty layers
    net.decoder.answer.weight.data.mul_(0.02)  # logits of a few units, as a trained net gives them
    path = tmp_path_factory.mktemp("shipped") / "deep" / "member.onnx"
    return Shipped(net, path, export(net, path))


def inputs(net: PromptedNet, count: int, seed: int) -> Inputs:
    all_inputs = random_inputs(net, count=count, seed=seed)
    return {name: all_inputs[name] for name in SEEN}


@pytest.mark.parametrize("count", [1, 5])
def test_the_file_says_what_the_network_says(shipped: Shipped, count: int) -> None:
    input_arrays = random_inputs(shipped.net, count=count, seed=7)
    input_tensors = {name: torch.from_numpy(value) for name, value in input_arrays.items()}
    member = load_member(shipped.path)
    for other in (None, input_arrays["given"]):
        given_mask = {} if other is None else {"given": (input_tensors["given"], torch.ones(count, 1, 1, 1))}
        with torch.no_grad():
            own_outputs = shipped.net(
                input_tensors["crop"],
                input_tensors["candidate"],
                strip=input_tensors["strip"],
                shape=input_tensors["shape"],
                **given_mask,
            )
        file_outputs = member({name: input_arrays[name] for name in SEEN}, other)
        assert {name: value.shape for name, value in file_outputs.items()} == {
            k: tuple(v.shape) for k, v in own_outputs.items()
        }
        assert (
            max(float(np.abs(own_outputs[name].numpy() - file_outputs[name]).max()) for name in file_outputs) <= CLOSE
        )
        assert min(float(np.ptp(value)) for value in file_outputs.values()) > 100 * CLOSE, "the outputs say nothing"
    assert shipped.apart <= CLOSE


def test_the_file_says_how_it_looks(shipped: Shipped, tmp_path: Path) -> None:
    assert load_member(shipped.path).lens == Lens(side=64, margin=2.5)
    other = tmp_path / "other.onnx"
    shutil.copyfile(shipped.path, other)
    describe(other, Lens(side=64, margin=4.0))
    assert load_member(other).lens == Lens(side=64, margin=4.0)
    assert load_member(other).digest != load_member(shipped.path).digest


def test_a_file_that_differs_is_refused(shipped: Shipped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "member.onnx"
    monkeypatch.setattr(torch.onnx, "export", lambda *_, **__: shutil.copyfile(shipped.path, path))
    torch.manual_seed(3)
    with pytest.raises(UsageError, match="exported network differs by") as error:
        export(PromptedNet(shipped.net.design), path)
    assert error.value.path == str(path)


def test_a_file_that_cannot_be_written_is_told(shipped: Shipped, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot be written"):
        export(shipped.net, tmp_path / "file" / "member.onnx")


@pytest.mark.slow
def test_folded_pads_change_nothing(shipped: Shipped, tmp_path: Path) -> None:
    from onnxruntime.quantization.shape_inference import quant_pre_process

    path = tmp_path / "folded.onnx"
    quant_pre_process(str(shipped.path), str(path), skip_symbolic_shape=True)
    assert fold_pads(path) == 4  # the stem, and the first block of three stages
    describe(path, Lens(side=64, margin=2.5))
    input_arrays = inputs(shipped.net, 2, 8)
    unfolded, folded = (load_member(path_)(input_arrays) for path_ in (shipped.path, path))
    assert max(float(np.abs(unfolded[name] - folded[name]).max()) for name in unfolded) <= CLOSE
    assert fold_pads(path) == 0


def dims_of_weights(path: Path) -> list[int]:
    """Numbers of dimensions of what is signed in 8 bits."""
    onnx = pytest.importorskip("onnx")
    return [
        len(weight.dims)
        for weight in onnx.load(str(path)).graph.initializer
        if weight.data_type == onnx.TensorProto.INT8
    ]


def test_what_ships_has_weights_that_processors_with_vnni_multiply_fast() -> None:
    for number in (0, 1):
        assert dims_of_weights(FOLDER / f"member{number}.onnx").count(4) == 81


@pytest.mark.parametrize("number", [0, 1])
def test_what_ships_opens_where_sums_would_overflow_and_says_the_same(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of products with signed weights overflow on processors without VNNI."""
    member = load_member(FOLDER / f"member{number}.onnx")
    monkeypatch.setattr("auscult.nets.onnx_session.cv2.checkHardwareSupport", lambda _: False)
    careful = replace(member, session=open_session(member.path.read_bytes(), member.path, in_eight_bits=True))
    assert careful.session.get_session_options().get_session_config_entry("session.x64quantprecision") == "1"
    input_arrays = inputs(PromptedNet(Design(side=member.lens.side, margin=member.lens.margin)), 2, 3)
    for name, value in member(input_arrays).items():
        assert np.array_equal(careful(input_arrays)[name], value)


@pytest.mark.slow
def test_in_eight_bits_it_is_smaller_and_nearly_the_same(shipped: Shipped, tmp_path: Path) -> None:
    sample_inputs = [inputs(shipped.net, 6, seed) for seed in range(2)]
    small = load_member(in_eight_bits(shipped.path, tmp_path / "small.onnx", sample_inputs))
    full_member = load_member(shipped.path)
    assert small.lens == full_member.lens
    assert small.path.stat().st_size < 0.4 * full_member.path.stat().st_size
    assert dims_of_weights(small.path).count(4)
    assert not dims_of_weights(small.path).count(0)
    for input_arrays in sample_inputs:
        full_iou, small_iou = (mean_iou(softmax(member(input_arrays)["ious"])) for member in (full_member, small))
        assert np.abs(full_iou - small_iou).max() < 0.02
        assert np.ptp(full_iou) > 0.01
