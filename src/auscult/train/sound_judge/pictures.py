"""The small encoder of picture prompts: a public MobileNetV2, its last layer trained on things that sound.

    auscult train sound-pictures --data DIR --out DIR --seed 0

Photographs of COCO by their objects and stamps by their names teach it; what the committed splits keep for calibration
or measuring does not. Figures of generated scenes are taught as nothing known, since their sounds are drawn at random.
All but the last layer stays as it was, so features are computed once. The threshold is chosen on the calibration part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.sound.vocabulary import SIDE, as_seen, imagenet_labels, scaled, table
from auscult.media.frames import read_frame
from auscult.media.paths import write_bytes
from auscult.nets.mobilenet import BLOCKS, Conv, Inverted
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.scenes.appearance.generated import GENERATED
from auscult.scenes.mixtures.catalogue import committed_split, content_key
from auscult.train.network_files import copy_kernels, read_kernels, write_onnx
from auscult.train.prompted.material import read_material
from auscult.train.stamps import category, read
from auscult.types import Floats, Frame, Mask

WEIGHTS: Final = "weights/tf2_mobilenet_v2_1.0_224_ptq.tflite"
_FIRST_ROWS: Final = 1001  # of the file's last layer; the first is of nothing
_NEW_ROWS: Final = 4  # for each thing that ImageNet has no label of
_LAST_STRIDE: Final = 160  # channels of the stage that a backbone dilates where a classifier has a stride
_FIGURES: Final = 8  # of each kind, half of them to measure
_LEAST_PX: Final = 1500
_AT_ONCE: Final = 8
_MOST: Final = {True: 100, False: 15}  # objects of one name, known or not: persons and chairs would outweigh the rest
_EPOCHS, _BATCH, _RATE, _TIE = 20, 256, 5e-4, 2e-4  # _TIE: how strongly weights are held where they started
_RIGHT: Final = 0.9  # share of right answers that the threshold is chosen for


class Shown(NamedTuple):
    """Pictures of one thing, as the network sees them."""

    thing: int  # row of the table from 1 on; 0 for anything else
    source: str
    part: str
    views: Sequence[NDArray[np.uint8]]


class PictureNet(nn.Module):
    """MobileNetV2 at stride 32, and a last layer whose rows are added, after a softmax, by the thing that they mean."""

    def __init__(self, groups: Tensor) -> None:
        super().__init__()
        layers: list[nn.Module] = [Conv(3, 32, size=3, stride=2), nn.ReLU6()]
        inputs = 32
        for expansion, outputs, repeats, step, _ in BLOCKS:
            for repeat in range(repeats):
                stride = (2 if outputs == _LAST_STRIDE else step) if repeat == 0 else 1
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
    torch.set_num_threads(options.threads)
    net = first_net(options.material() / WEIGHTS)
    shown = list(material(options.material(), seed=options.seed))
    features = _features(net, shown, progress)
    before = _answers(net, features)
    taught = [index for index, picture in enumerate(shown) if picture.part == "train"]
    labels = torch.tensor([shown[index].thing for index in taught for _ in shown[index].views])
    fit(net, torch.cat([features[index] for index in taught]), labels, seed=options.seed)
    export(net, options.out / "pictures.onnx")
    yield options.out / "pictures.onnx"
    answers = _answers(net, features)
    least = threshold(shown, answers)
    facts = {"least_probability": least, "train": len(taught), "before_training": accuracy(shown, before, least=least)}
    facts["measured"] = accuracy(shown, answers, least=least)
    write_bytes(options.out / "pictures.json", dump(facts, indent=1) + b"\n")
    yield options.out / "pictures.json"


def first_net(weights: Path) -> PictureNet:
    """The network with ImageNet's weights; things without a label of ImageNet have rows of zeros."""
    labels = [list(imagenet_labels(row)) for row in table()]
    meant = np.zeros(_FIRST_ROWS, np.int64)
    for thing, row in enumerate(labels, 1):
        meant[[1 + label for label in row]] = thing
    new = [thing for thing, row in enumerate(labels, 1) if not row]
    net = PictureNet(torch.eye(1 + len(labels))[np.concatenate([meant, np.repeat(new, _NEW_ROWS)])])
    net.eval()
    *kernels, (last, bias) = read_kernels(weights)
    copy_kernels(kernels, [layer for layer in net.body.modules() if isinstance(layer, Conv)], weights)
    with torch.no_grad():
        for own_weights, first in ((net.rows.weight, last[:, :, 0, 0]), (net.rows.bias, bias)):
            own_weights.zero_()[:_FIRST_ROWS] = torch.from_numpy(first)
    return net


def material(data: Path, *, seed: int) -> Iterator[Shown]:
    """All pictures: objects of photographs, stamps, photographs of animals, and figures of generated scenes."""
    numbers = {word: thing for thing, row in enumerate(table(), 1) for word in (row["name"], *row["labels"].split(";"))}
    yield from _objects(data, numbers, seed=seed)
    stamps, split = data / "images/stamps_gpl2", committed_split()
    labelled = [(stamps / row["png"], category(row["name_en"])) for row in read(stamps / "stamps.csv")]
    animals = sorted((data / "av/image_sound_pairs/gcompris_farm_animals").glob("*.webp"))
    for path, word in [*labelled, *((path, path.stem) for path in animals)]:
        label, recording, _ = split.files.get(content_key(path), (word, "", ""))
        frame = read_frame(path)
        views = [as_seen(frame), as_seen(np.ascontiguousarray(frame[:, ::-1]))]
        source = "photographs of animals" if path in animals else "stamps"
        yield Shown(numbers.get(label, 0), source, split.recordings[recording] if recording else "train", views)
    for name, instances in GENERATED.instances().items():
        for number, instance in enumerate(instances[:_FIGURES]):
            look = GENERATED.look(generator(seed, "pictures", instance), name, instance=instance)
            sprite = GENERATED.sprite(look, height_px=SIDE)
            view = as_seen(np.where(sprite.alpha[..., None] >= 128, sprite.rgb, 0).astype(np.uint8))
            yield Shown(0, "figures", "train" if number < _FIGURES // 2 else "test", [view])


def _objects(data: Path, numbers: dict[str, int], *, seed: int) -> Iterator[Shown]:
    count = Counter[tuple[str, str]]()
    for picture in [image for image in read_material(data, families=()).pictures if image.part != "dev"]:
        for index, (name, mask) in enumerate(zip(picture.categories, picture.masks(), strict=False)):
            word = name.partition("_(")[0].replace("_", " ")
            count[word, picture.part] += bool(mask.sum() >= _LEAST_PX)
            if mask.sum() >= _LEAST_PX and count[word, picture.part] <= _MOST[word in numbers]:
                views = _views(picture.frame(), mask, generator(seed, "pictures", picture.path.name, index))
                views = views if picture.part == "train" else views[index % 2 :][:1]
                yield Shown(numbers.get(word, 0), picture.source, picture.part, views)


def _views(frame: Frame, mask: Mask, rng: np.random.Generator) -> list[NDArray[np.uint8]]:
    """An object with some of what is about it, and the frame with all else blanked, as a picture prompt may be."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    margin = float(rng.uniform(0, 0.4)) * max(np.ptp(rows), np.ptp(columns))
    top, left = (max(0, int(edge[0] - margin)) for edge in (rows, columns))
    cut = frame[top : int(rows[-1] + margin) + 1, left : int(columns[-1] + margin) + 1]
    turn = slice(None, None, -1 if rng.random() < 0.5 else 1)  # mirrored
    return [as_seen(np.ascontiguousarray(view[:, turn])) for view in (cut, frame * mask[..., None])]


def _features(net: PictureNet, shown: Sequence[Shown], progress: Progress) -> list[Tensor]:
    """Of each picture the features of its views, float32 (views, 1280)."""
    progress.stage("looking at pictures", len(shown))
    result: list[Tensor] = []
    for start in range(0, len(shown), _AT_ONCE):
        some = shown[start : start + _AT_ONCE]
        pictures = np.stack([view for picture in some for view in picture.views]).transpose(0, 3, 1, 2)
        with torch.inference_mode():
            features = net.body(torch.from_numpy(scaled(pictures)))
        result += features.clone().split([len(picture.views) for picture in some])
        progress.step(len(some))
    return result


def fit(net: PictureNet, features: Tensor, labels: Tensor, *, seed: int) -> None:
    """Train the last layer, in place; what is rare counts for more, by the square root of how rare."""
    features, first = features.clone(), net.rows.weight.detach().clone()
    weights = torch.bincount(labels, minlength=1 + len(table())).clamp(min=1).float() ** -0.5
    optimizer = torch.optim.Adam(net.rows.parameters(), lr=_RATE)
    for epoch in range(_EPOCHS):
        order = generator(seed, "pictures", "epoch", epoch).permutation(len(labels))
        for start in range(0, len(order), _BATCH):
            rows = torch.from_numpy(order[start : start + _BATCH])
            log_probabilities = net.things(features[rows]).clamp(min=1e-9).log()
            loss = nn.functional.nll_loss(log_probabilities, labels[rows], weight=weights)
            loss = loss + _TIE * (net.rows.weight - first).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def _answers(net: PictureNet, features: Sequence[Tensor]) -> Floats:
    """Probabilities (pictures, 1 + things) of each picture's first view."""
    with torch.inference_mode():
        return np.asarray(net.things(torch.cat([feature[:1] for feature in features])).numpy())


def threshold(shown: Sequence[Shown], answers: Floats) -> float:
    """The least probability at which 90 % of what is said of the calibration part's pictures is right."""
    indices = [index for index, picture in enumerate(shown) if picture.part == "calibration"]
    ranked = sorted(((float(answers[i, 1:].max()), _best(answers[i]) == shown[i].thing) for i in indices), reverse=True)
    right = np.cumsum([ok for _, ok in ranked]) / np.arange(1, len(ranked) + 1)
    enough = np.flatnonzero(right >= _RIGHT)
    return round(ranked[int(enough[-1])][0], 3) if enough.size else 1.0


def _best(answer: Floats) -> int:
    return 1 + int(answer[1:].argmax())


def accuracy(shown: Sequence[Shown], answers: Floats, *, least: float) -> dict[str, dict[str, Any]]:
    """By source, counts of what neither training nor calibration saw: ``n`` pictures of known things and ``others``.

    Of the n those named right without a threshold (``best``) and with it (``recognised``); of all those of which
    something is ``said``, and of these what is ``right``.
    """
    result: dict[str, dict[str, Any]] = {}
    for (thing, source, part, _), answer in zip(shown, answers, strict=True):
        if part in {"test", "unseen"}:
            row = result.setdefault(source, dict.fromkeys(("n", "best", "recognised", "others", "said", "right"), 0))
            ok, sure = thing == _best(answer), bool(answer[1:].max() >= least)
            for name, counts in (("n", thing), ("best", ok), ("recognised", ok and sure), ("others", not thing)):
                row[name] += bool(counts)
            row["said"], row["right"] = row["said"] + sure, row["right"] + (ok and sure)
    return result


def export(net: PictureNet, path: Path) -> None:
    """Write the network as ONNX with weights of 8 bits, one scale an output channel, as the first weights had."""
    import onnx
    from onnx import helper, numpy_helper

    axes = {"pictures": {0: "n"}, "things": {0: "n"}}
    write_onnx(net, (torch.zeros(2, 3, SIDE, SIDE),), path, inputs=("pictures",), outputs=("things",), axes=axes)
    model = onnx.load(str(path))
    for tensor in [value for value in model.graph.initializer if len(value.dims) > 1]:
        name, values = tensor.name, numpy_helper.to_array(tensor)
        scales = np.abs(values).reshape(len(values), -1).max(axis=1).clip(1e-12) / np.float32(127)
        rounded = np.rint(values / scales.reshape(-1, *[1] * (values.ndim - 1))).astype(np.int8)
        tensor.CopyFrom(numpy_helper.from_array(rounded, f"{name}.whole"))
        model.graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), f"{name}.scale"))
        inputs = [f"{name}.whole", f"{name}.scale"]
        model.graph.node.insert(0, helper.make_node("DequantizeLinear", inputs, [name], axis=0))
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
