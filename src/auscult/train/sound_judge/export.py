"""The networks' files: the pretrained trunk's, and the four that ship, each compared with the network it came from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from auscult.errors import UsageError
from auscult.judge.sound.compact.network import EVIDENCE, HARDNESS, HARDNESS_GIVES, HEAD, JUDGED, TRUNK, open_network
from auscult.nets.onnx_session import read_network
from auscult.nets.sound_judge import CLASSES, WIDTH, HeadInput, HeardAlone, SoundJudgeNet, Trunk
from auscult.rng import generator
from auscult.train.network_files import write_onnx
from auscult.train.sound_judge.trainer import hear, hear_alone


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


CLOSE: Final = 1e-4
"""Largest difference of any output between a network and its files."""


class _Head(nn.Module):
    def __init__(self, net: SoundJudgeNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        found = self.net(HeadInput(*given))
        return tuple(getattr(found, name) for name in JUDGED)


class _Hard(_Head):
    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.net.hardness(HeardAlone(*given)))


class _Evidence(_Head):
    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        return self.net.evidence(*given), self.net.prompt(given[1])


def export(net: SoundJudgeNet, folder: Path) -> Iterator[Path]:
    """Write the four files, for any number of samples and any length, and compare them with the network."""
    net = net.eval().to(memory_format=torch.contiguous_format)
    mels, spans, classes = random_inputs(count=2, steps=5)
    batch = {"mels": mels, "spans": spans, "classes": classes}
    with torch.no_grad():
        steps = net.trunk(mels.flatten(0, 1)[:, None]).reshape(2, 3, WIDTH, -1)
        heard, alone = hear(net, steps, batch), hear_alone(net, steps, batch)
    frames, long = {0: "n", 3: "frames"}, {0: "n", 2: "steps"}
    axes: dict[str, dict[int, str]] = {name: {0: "n"} for name in (*JUDGED, *HARDNESS_GIVES, "classes", "prompt")}
    axes |= dict.fromkeys(("mixture", "output", "rest", "spans", "steps", "curves"), long)
    axes |= dict.fromkeys(("mels", "mel", "log_mel"), frames) | {"evidence": {0: "n", 1: "steps"}}
    for file, part, given, inputs, outputs in (
        (TRUNK, net.trunk, (mels[:, :1],), ["log_mel"], ["steps"]),
        (EVIDENCE, _Evidence(net), (steps[:, 0], classes), ["steps", "classes"], ["evidence", "prompt"]),
        (HEAD, _Head(net), tuple(heard), HeadInput._fields, JUDGED),
        (HARDNESS, _Hard(net), tuple(alone), HeardAlone._fields, HARDNESS_GIVES),
    ):
        named = {name: axes[name] for name in (*inputs, *outputs)}
        yield write_onnx(part, given, folder / file, inputs=inputs, outputs=outputs, axes=named)
    if (apart := difference(net, folder)) > CLOSE:
        raise UsageError(f"the exported network differs by {apart:.2g}", expected=f"at most {CLOSE}", path=folder)


def random_inputs(*, count: int, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Spectrograms of mixture, output and rest, spans, and classes, of which the first sample has none."""
    rng = generator(0, "compact-sound", "export", steps)
    classes = (rng.random((count, CLASSES)) < 0.01).astype(np.float32)
    classes[0] = 0
    mels, spans = rng.uniform(-1.4, 1.5, (count, 3, 128, 32 * steps)), rng.random((count, 3, steps))
    return (
        torch.from_numpy(mels.astype(np.float32)),
        torch.from_numpy(spans.astype(np.float32)),
        torch.from_numpy(classes),
    )


def difference(net: SoundJudgeNet, folder: Path) -> float:
    """The largest difference of any output between a network and its files, on inputs of another size."""
    mels, spans, classes = random_inputs(count=3, steps=8)
    batch = {"mels": mels, "spans": spans, "classes": classes}
    files = open_network(folder)
    with torch.no_grad():
        steps = net.trunk(mels.flatten(0, 1)[:, None]).reshape(3, 3, WIDTH, -1)
        heard, alone = hear(net, steps, batch), hear_alone(net, steps, batch)
        own, hard = net(heard), net.hardness(alone)
    found = files.judged({name: value.numpy() for name, value in heard._asdict().items()})
    harder = files.hardness({name: value.numpy() for name, value in alone._asdict().items()})
    evidence, prompt = files.evidence(steps[:, 1].numpy(), classes.numpy())
    pairs = [(getattr(own, name), found[name]) for name in JUDGED]
    pairs += [(getattr(hard, name), harder[name]) for name in HARDNESS_GIVES]
    pairs += [(heard.evidence[..., 4:8], evidence), (heard.prompt, prompt)]
    pairs.append((steps.flatten(0, 1), files.steps([*mels.flatten(0, 1).numpy()])))
    return max(float(np.abs(one.numpy() - two).max()) for one, two in pairs)
