"""Opening and running the network's file."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compact_fakes import FRAME, TRUE, Oracle, calibration

from auscult.errors import InputError, UsageError
from auscult.judge.identity.scenes import NETWORK, WEIGHTS
from auscult.judge.masks.compact import JUDGE, CompactJudge
from auscult.judge.masks.compact import network as network_file
from auscult.judge.masks.compact.network import INPUTS, OUTPUTS, load_network
from auscult.nets.onnx_session import MOST_BYTES
from auscult.rng import generator
from auscult.types import Case, MaskJudge, Prediction


def sample(count: int = 1) -> dict[str, np.ndarray]:
    rng = generator(2, "inputs")
    return {name: rng.normal(0, 1, (count, *shape)).astype(np.float32) for name, shape in INPUTS.items()}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read") as error:
        load_network(tmp_path / "none.onnx")
    assert error.value.path is not None
    assert "install auscult again" in error.value.hint


@pytest.mark.parametrize("content", [b"", b"abc", b"\x08\x08" * 400])
def test_a_broken_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.onnx"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be opened"):
        load_network(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "weights.onnx"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(UsageError, match="12000001 bytes"):
        load_network(path)


def test_network_and_calibration_come_together() -> None:
    with pytest.raises(UsageError, match="belong together"):
        CompactJudge(network=Oracle(TRUE, TRUE, {}))
    with pytest.raises(UsageError, match="belong together"):
        CompactJudge(calibration=calibration())


def test_it_is_a_judge_and_says_what_it_is() -> None:
    assert isinstance(JUDGE, MaskJudge)
    assert JUDGE.name == "masks.compact.v1"


def test_an_empty_mask_is_empty_by_rule() -> None:
    judge = CompactJudge(network=Oracle(TRUE, TRUE, {}), calibration=calibration())
    verdict = judge(Case(id="a", frame=FRAME), Prediction(np.zeros_like(TRUE)))
    assert (verdict.defect, verdict.iou, verdict.iou_low, verdict.iou_high) == ("empty", None, None, None)
    assert not verdict.evidence.boundary
    assert "not checked" in verdict.rationale


@pytest.mark.parametrize(
    ("frame", "mask"),
    [
        (FRAME, TRUE[:-1]),
        (FRAME, TRUE.astype(np.uint8)),
        (FRAME[..., 0], TRUE),
        (FRAME.astype(np.float32), TRUE),
    ],
)
def test_other_arrays_are_refused_before_anything_is_opened(frame: Any, mask: Any) -> None:
    with pytest.raises(InputError, match="has shape"):
        JUDGE(Case(id="a", frame=frame), Prediction(mask))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _small_network(tmp_path_factory.mktemp("onnx") / "weights.onnx")


@pytest.mark.extra_train
def test_a_whole_file_gives_the_four_outputs(small: Path) -> None:
    network = load_network(small)
    assert network.takes == ("crop",)
    assert len(network.digest) == 64
    outputs = network(sample(3))
    assert {name: value.shape for name, value in outputs.items()} == {
        name: (3, *size) for name, size in OUTPUTS.items()
    }
    one_output = network({name: value[1:2] for name, value in sample(3).items()})
    for name, value in one_output.items():
        np.testing.assert_allclose(value, outputs[name][1:2], atol=1e-5)


@pytest.mark.extra_train
def test_all_threads_share_one_session(small: Path) -> None:
    networks: list[object] = []
    results: list[np.ndarray] = []

    def work() -> None:
        network = load_network(small)
        networks.append(network)
        results.append(network(sample())["types"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(network_) for network_ in networks}) == 1
    assert all((result == results[0]).all() for result in results)


def test_a_network_that_the_calibration_is_not_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = WEIGHTS / NETWORK  # of another form
    monkeypatch.setattr(network_file, "load_network", lambda: load_network(path))
    with pytest.raises(UsageError, match="the calibration is for weights") as error:
        JUDGE(Case(id="a", frame=FRAME), Prediction(TRUE))
    assert error.value.hint == "install auscult again"
    assert error.value.path == str(path)


@pytest.mark.extra_train
@pytest.mark.slow
def test_memory_is_flat(small: Path) -> None:
    network, inputs = load_network(small), sample()
    for _ in range(50):
        network(inputs)
    before = _resident_mb()
    for _ in range(2000):
        network(inputs)
    assert _resident_mb() - before < 5


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def _small_network(path: Path) -> Path:
    """A tiny network of random weights: means of each channel, times a matrix; the crop's mask as the true one."""
    onnx = pytest.importorskip("onnx", reason="the extra `train` is not installed")
    make, floats = onnx.helper, onnx.TensorProto.FLOAT
    shapes = {"crop": INPUTS["crop"], **OUTPUTS}
    channels = shapes["crop"][0]
    rng = generator(1, "onnx")
    weights, nodes, outputs = [], [], []
    nodes.append(make.make_node("GlobalAveragePool", ["crop"], ["pooled"]))
    nodes.append(make.make_node("Flatten", ["pooled"], ["flat"]))
    for name in ("types", "ious", "features"):
        weights.append(
            onnx.numpy_helper.from_array(rng.normal(0, 1, (channels, shapes[name][0])).astype(np.float32), name + "_w")
        )
        nodes.append(make.make_node("MatMul", ["flat", name + "_w"], [name]))
        outputs.append(name)
    weights.append(onnx.numpy_helper.from_array(np.full((1, channels, 1, 1), 0.2, np.float32), "truth_w"))
    nodes.append(make.make_node("Conv", ["crop", "truth_w"], ["truth"], kernel_shape=[1, 1], strides=[2, 2]))
    inputs = [name for name in shapes if name not in OUTPUTS]
    graph = make.make_graph(
        nodes,
        "tiny",
        [make.make_tensor_value_info(name, floats, ["n", *shapes[name]]) for name in inputs],
        [make.make_tensor_value_info(name, floats, ["n", *shapes[name]]) for name in (*outputs, "truth")],
        weights,
    )
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8), path)
    return path
