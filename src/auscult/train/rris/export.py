"""A trained network with encoders of our own as two ONNX files: what hangs on the picture alone, and the rest.

``stem.onnx`` runs once a picture, ``answer.onnx`` once a sentence on the maps that the first gave. Both take any batch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from auscult.errors import OutputError, UsageError
from auscult.nets.refsegformer.answering import ANSWER, READER, STEM, Reading
from auscult.nets.refsegformer.network import RefSegformer, Segmentation
from auscult.nets.refsegformer.settings import PADDING
from auscult.nets.refsegformer.weights import Model, WordReader
from auscult.train.network_files import write_onnx

CLOSE: Final = 1e-4


class Stem(nn.Module):
    """Pictures, RGB in 0..1 (n, 3, side, side), to the maps up to the first fusion."""

    def __init__(self, net: RefSegformer) -> None:
        super().__init__()
        self.net = net

    def forward(self, pictures: Tensor) -> tuple[Tensor, ...]:
        """Run all that hangs on the picture alone."""
        return tuple(self.net.stem(pictures))


class Answer(nn.Module):
    """Maps and token numbers, int64 (n, tokens), to an answer."""

    def __init__(self, net: RefSegformer) -> None:
        super().__init__()
        self.net = net

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        """Give what the network has: logits of target (n, side / 4, side / 4) and existence (n,); VLTFs' attention."""
        found: Segmentation = self.net.answer(given[:-1], given[-1], given[-1] != PADDING)
        fine = tuple(one[:, 1] - one[:, 0] for one in found.masks[:1])
        existence = () if found.existence is None else (found.existence,)
        return (*fine, *existence, *(found.attention if self.net.design.fusion == "vltf" else ()))


def export(model: Model, folder: Path) -> list[Path]:
    """Write both files and compare them with the network; more than ``CLOSE`` apart is a ``UsageError``."""
    net, read = model.net.eval().cpu(), model.read
    if not isinstance(read, WordReader) or net.design.vision == "swin":
        raise UsageError("only networks with encoders of our own are exported")
    pictures = torch.rand(2, 3, net.design.side, net.design.side, generator=torch.Generator().manual_seed(0))
    ids = torch.randint(1, len(read.words) + 2, (2, net.design.tokens), generator=torch.Generator().manual_seed(1))
    ids[:, net.design.tokens // 2 :] = PADDING
    with torch.no_grad():
        maps = Stem(net)(pictures)
    seen = [f"map{at}" for at in range(1, len(maps) + 1)]
    told = ["mask"] * (net.decoder is not None) + ["existence"] * (net.head is not None)
    told += [f"attention{at}" for at in net.design.fused if net.design.fusion == "vltf"]
    axes = {name: {0: "n"} for name in ("pictures", "ids", *seen, *told)}
    # the exporter gives a module back in the mode that its outermost part had
    write_onnx(Stem(net).eval(), (pictures,), folder / STEM, inputs=["pictures"], outputs=seen, axes=axes)
    write_onnx(Answer(net).eval(), (*maps, ids), folder / ANSWER, inputs=[*seen, "ids"], outputs=told, axes=axes)
    _describe(folder / ANSWER, net, read)
    _compare(net, folder, pictures=pictures, ids=ids)
    return [folder / STEM, folder / ANSWER]


def _describe(path: Path, net: RefSegformer, read: WordReader) -> None:
    import onnx

    design = net.design
    value = Reading(words=read.words, tokens=read.tokens, side=design.side, blank=design.blank)
    model = onnx.load(str(path))
    model.metadata_props.add(key=READER, value=msgspec.json.encode(value).decode())
    try:
        onnx.save(model, str(path))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error


def _compare(net: RefSegformer, folder: Path, *, pictures: Tensor, ids: Tensor) -> None:
    """Three sentences of one picture: another batch than the one that was traced."""
    import onnxruntime

    sentences = torch.cat([ids, ids[:1].flip(1)])
    with torch.no_grad():
        expected = Answer(net)(*(one.expand(3, -1, -1, -1) for one in Stem(net)(pictures[:1])), sentences)
    stem, answer = (
        onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"]) for name in (STEM, ANSWER)
    )
    maps = stem.run(None, {"pictures": pictures[:1].numpy()})
    given = {f"map{at}": np.repeat(one, 3, axis=0) for at, one in enumerate(maps, start=1)}
    given["ids"] = sentences.numpy()
    found = answer.run(None, {one.name: given[one.name] for one in answer.get_inputs()})
    apart = max(float(np.abs(one - two.numpy()).max()) for one, two in zip(found, expected, strict=True))
    if apart > CLOSE:
        raise UsageError(f"the exported network differs by {apart:.2g}", expected=f"at most {CLOSE}", path=folder)
