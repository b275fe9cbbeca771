"""The small encoder of picture prompts: a public MobileNetV2, its last layer trained on things that sound.

    auscult train sound-pictures --data DIR --out DIR --seed 0

Photographs of COCO by their objects and stamps by their names teach it; what the committed splits keep for calibration
or measuring does not. Figures of generated scenes are taught as nothing known, since their sounds are drawn at random.
Everything but the last layer stays as it was, so features are computed once. The threshold is chosen on the calibration
part, and accuracy is measured on the rest, by source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.sound.pictures import SIDE, as_seen, imagenet_labels, scaled, table
from auscult.media.frames import read_frame
from auscult.media.paths import write_bytes
from auscult.nets.mobilenet import BLOCKS, Conv, Inverted
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.scenes.appearance.generated import GENERATED
from auscult.scenes.mixtures.catalogue import committed_split, content_key
from auscult.train.onnx_file import write_onnx
from auscult.train.prompted.material import read_material
from auscult.train.stamps import category, read
from auscult.train.tflite import copy_kernels, read_kernels
from auscult.types import Floats, Frame, Mask

WEIGHTS: Final = "weights/tf2_mobilenet_v2_1.0_224_ptq.tflite"
_NEW_ROWS: Final = 4  # of the last layer, for each thing that ImageNet has no label of
_LAST_STRIDE: Final = 160  # channels of the stage that a backbone dilates where a classifier has a stride
_FIGURES: Final = 8  # of each kind, half of them to measure
_LEAST_PX: Final = 1500
_AT_ONCE: Final = 8
_EPOCHS, _BATCH, _RATE, _TIE = 20, 256, 5e-4, 2e-4  # _TIE: how strongly weights are held where they started
_MOST: Final = {"known": 100, "other": 15}  # objects of one name, so that persons and chairs do not outweigh the rest
_RIGHT: Final = 0.9  # share of right answers that the threshold is chosen for


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """Pictures of one thing, as the network sees them."""

    thing: int  # row of the table from 1 on; 0 for anything else
    source: str
    part: str
    views: tuple[NDArray[np.uint8], ...]


class PictureNet(nn.Module):
    """MobileNetV2 at stride 32, and a last layer whose rows are added, after a softmax, by the thing that they mean."""

    def __init__(self, groups: Tensor) -> None:
        super().__init__()
        layers: list[nn.Module] = [Conv(3, 32, size=3, stride=2), nn.ReLU6()]
        inputs = 32
        for expansion, outputs, repeats, step, _ in BLOCKS:
            for at in range(repeats):
                stride = (2 if outputs == _LAST_STRIDE else step) if at == 0 else 1
                layers.append(Inverted(inputs, outputs, expansion=expansion, stride=stride))
                inputs = outputs
        self.body = nn.Sequential(*layers, Conv(inputs, 1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.rows = nn.Linear(1280, len(groups))
        self.register_buffer("groups", groups)

    def forward(self, pictures: Tensor) -> Tensor:
        """Probabilities (n, 1 + things) of pictures (n, 3, 224, 224) in -1..1."""
        return self.things(self.body(pictures))

    def things(self, features: Tensor) -> Tensor:
        """Probabilities of features (n, 1280)."""
        return torch.softmax(self.rows(features), dim=1) @ self.get_buffer("groups")


def sound_pictures(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train, export, choose the threshold and measure; yields ``pictures.onnx`` and ``pictures.json``."""
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    data = options.material()
    net = first_net(data / WEIGHTS)
    shown = list(material(data, seed=options.seed))
    progress.stage("looking at pictures", len(shown))
    features = _features(net, shown, progress)
    taught = [at for at, one in enumerate(shown) if one.part == "train"]
    before = _answers(net, features)
    fit(net, torch.cat([features[at] for at in taught]), _labels([shown[at] for at in taught]), seed=options.seed)
    path = options.out / "pictures.onnx"
    export(net, path)
    yield path
    found = _answers(net, features)
    least = threshold([(one, p) for one, p in zip(shown, found, strict=True) if one.part == "calibration"])
    told = {
        "least_probability": least,
        "train": len(taught),
        "before_training": accuracy(shown, before, least),
        "measured": accuracy(shown, found, least),
    }
    write_bytes(options.out / "pictures.json", dump(told, indent=1) + b"\n")
    yield options.out / "pictures.json"


def first_net(weights: Path) -> PictureNet:
    """The network with ImageNet's weights; things without a label of ImageNet have rows of zeros."""
    rows = table()
    own = [list(imagenet_labels(row)) for row in rows]
    new = [thing for thing, labels in enumerate(own, 1) for _ in range(0 if labels else _NEW_ROWS)]
    groups = torch.zeros(1001 + len(new), 1 + len(rows))
    groups[:1001, 0] = 1
    for thing, labels in enumerate(own, 1):
        for label in labels:  # the file's first row is of no class
            groups[1 + label, 0], groups[1 + label, thing] = 0, 1
    for at, thing in enumerate(new):
        groups[1001 + at, thing] = 1
    net = PictureNet(groups)
    net.eval()
    kernels = read_kernels(weights)
    copy_kernels(kernels[:-1], [layer for layer in net.body.modules() if isinstance(layer, Conv)], weights)
    with torch.no_grad():
        for own_weights, first in ((net.rows.weight, kernels[-1][0][:, :, 0, 0]), (net.rows.bias, kernels[-1][1])):
            own_weights.zero_()
            own_weights[:1001] = torch.from_numpy(first)
    return net


def material(data: Path, *, seed: int) -> Iterator[Shown]:
    """All pictures: objects of photographs, stamps, photographs of animals, and figures of generated scenes."""
    known = {word: thing for thing, row in enumerate(table(), 1) for word in (row["name"], *row["labels"].split(";"))}
    count = Counter[tuple[str, str]]()
    for picture in [one for one in read_material(data, families=()).pictures if one.part != "dev"]:
        frame: Frame | None = None
        for at, (name, mask) in enumerate(zip(picture.categories, picture.masks(), strict=False)):
            word = name.partition("_(")[0].replace("_", " ")
            count[word, picture.part] += mask.sum() >= _LEAST_PX
            if mask.sum() < _LEAST_PX or count[word, picture.part] > _MOST["known" if word in known else "other"]:
                continue
            frame = picture.frame() if frame is None else frame
            views = _views(frame, mask, generator(seed, "pictures", picture.path.name, at))
            shown = views if picture.part == "train" else views[at % 2 :][:1]
            yield Shown(thing=known.get(word, 0), source=picture.source, part=picture.part, views=shown)
    split = committed_split()
    for row in read(data / "images/stamps_gpl2/stamps.csv"):
        path = data / "images/stamps_gpl2" / row["png"]
        label, recording, _ = split.files.get(content_key(path), ("", "", ""))
        word = label or category(row["name_en"])
        part = split.recordings[recording] if recording else "train"
        yield _whole(path, known.get(word, 0), source="stamps", part=part)
    for path in sorted((data / "av/image_sound_pairs/gcompris_farm_animals").glob("*.webp")):
        yield _whole(path, known[path.stem], source="photographs of animals", part="test")
    yield from _figures(seed)


def _whole(path: Path, thing: int, *, source: str, part: str) -> Shown:
    frame = read_frame(path)
    views = (as_seen(frame), as_seen(np.ascontiguousarray(frame[:, ::-1])))
    return Shown(thing=thing, source=source, part=part, views=views if part == "train" else views[:1])


def _views(frame: Frame, mask: Mask, rng: np.random.Generator) -> tuple[NDArray[np.uint8], ...]:
    """An object with some of what is about it, and the frame with all else blanked, as a picture prompt may be."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    margin = float(rng.uniform(0, 0.4)) * max(np.ptp(rows), np.ptp(columns))
    top, left = (max(0, int(edge[0] - margin)) for edge in (rows, columns))
    cut = frame[top : int(rows[-1] + margin) + 1, left : int(columns[-1] + margin) + 1]
    turn = slice(None, None, -1 if rng.random() < 0.5 else 1)  # mirrored
    return as_seen(np.ascontiguousarray(cut[:, turn])), as_seen(
        np.ascontiguousarray((frame * mask[..., None])[:, turn])
    )


def _figures(seed: int) -> Iterator[Shown]:
    for name, instances in GENERATED.instances().items():
        for at, instance in enumerate(instances[:_FIGURES]):
            look = GENERATED.look(generator(seed, "pictures", instance), name, instance=instance)
            sprite = GENERATED.sprite(look, height_px=SIDE)
            view = as_seen(np.where(sprite.alpha[..., None] >= 128, sprite.rgb, 0).astype(np.uint8))
            yield Shown(thing=0, source="figures", part="train" if at < _FIGURES // 2 else "test", views=(view,))


def _features(net: PictureNet, shown: Sequence[Shown], progress: Progress) -> list[Tensor]:
    """Of each picture the features of its views, float32 (views, 1280)."""
    found: list[Tensor] = []
    for start in range(0, len(shown), _AT_ONCE):
        some = shown[start : start + _AT_ONCE]
        pictures = np.stack([view for one in some for view in one.views]).transpose(0, 3, 1, 2)
        with torch.inference_mode():
            every = net.body(torch.from_numpy(scaled(pictures)))
        found += every.clone().split([len(one.views) for one in some])
        for _ in some:
            progress.step()
    return found


def _labels(shown: Sequence[Shown]) -> Tensor:
    return torch.tensor([one.thing for one in shown for _ in one.views])


def fit(net: PictureNet, features: Tensor, labels: Tensor, *, seed: int) -> None:
    """Train the last layer, in place; what is rare counts for more, by the square root of how rare."""
    features = features.clone()
    first = net.rows.weight.detach().clone()
    weights = torch.bincount(labels, minlength=net.get_buffer("groups").shape[1]).clamp(min=1).float() ** -0.5
    optimizer = torch.optim.Adam(net.rows.parameters(), lr=_RATE)
    for epoch in range(_EPOCHS):
        order = generator(seed, "pictures", "epoch", epoch).permutation(len(labels))
        for start in range(0, len(order), _BATCH):
            rows = torch.from_numpy(order[start : start + _BATCH])
            found = net.things(features[rows]).clamp(min=1e-9).log()
            loss = nn.functional.nll_loss(found, labels[rows], weight=weights)
            loss = loss + _TIE * (net.rows.weight - first).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def _answers(net: PictureNet, features: Sequence[Tensor]) -> list[Floats]:
    """Of each picture the probabilities of its first view."""
    with torch.inference_mode():
        return list(net.things(torch.cat([one[:1] for one in features])).numpy())


def threshold(measured: Sequence[tuple[Shown, Floats]]) -> float:
    """The least probability from which on at least 90 % of what is said of the pictures is right."""
    said = sorted(((float(p[1:].max()), int(p[1:].argmax()) + 1 == one.thing) for one, p in measured), reverse=True)
    right = np.cumsum([ok for _, ok in said]) / np.arange(1, len(said) + 1)
    held = np.flatnonzero(right >= _RIGHT)
    return round(said[int(held[-1])][0], 3) if held.size else 1.0


def accuracy(shown: Sequence[Shown], found: Sequence[Floats], least: float) -> dict[str, dict[str, Any]]:
    """By source, of what training and calibration never saw.

    Of n pictures of things that are known, the share ``recognised``, and the share that would be without a threshold
    (``best``); of what is said of these and of ``n_other`` more, the share that is ``right``.
    """
    told: dict[str, dict[str, Any]] = {}
    for source in sorted({one.source for one in shown}):
        own = [
            (one.thing, int(p[1:].argmax()) + 1, float(p[1:].max()) >= least)
            for one, p in zip(shown, found, strict=True)
            if one.source == source and one.part in {"test", "unseen"}
        ]
        known = [row for row in own if row[0]]
        said = [row for row in own if row[2]]
        told[source] = {
            "n": len(known),
            "best": _share(thing == best for thing, best, _ in known),
            "recognised": _share(thing == best and sure for thing, best, sure in known),
            "said": len(said),
            "right": _share(thing == best for thing, best, _ in said),
            "n_other": len(own) - len(known),
        }
    return told


def _share(values: Iterable[bool]) -> float | None:
    every = list(values)
    return round(sum(every) / len(every), 3) if every else None


def export(net: PictureNet, path: Path) -> None:
    """Write the network as ONNX with weights of 8 bits, one scale an output channel, as the first weights had."""
    import onnx
    from onnx import helper, numpy_helper

    names = ("pictures",), ("things",)
    example = (torch.zeros(2, 3, SIDE, SIDE),)
    write_onnx(net, example, path, inputs=names[0], outputs=names[1], axes={"pictures": {0: "n"}, "things": {0: "n"}})
    model = onnx.load(str(path))
    for tensor in [one for one in model.graph.initializer if len(one.dims) > 1]:
        values = numpy_helper.to_array(tensor)
        scales = np.abs(values).reshape(len(values), -1).max(axis=1).clip(1e-12) / np.float32(127)
        whole = np.rint(values / scales.reshape(-1, *[1] * (values.ndim - 1))).astype(np.int8)
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(whole, f"{name}.whole"))
        model.graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), f"{name}.scale"))
        inputs = [f"{name}.whole", f"{name}.scale"]
        model.graph.node.insert(0, helper.make_node("DequantizeLinear", inputs, [name], axis=0))
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
