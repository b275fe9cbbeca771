"""``auscult train prompted-mask``: train the networks, export and calibrate them; or fit them to a user's own masks."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.cases.listing import list_items
from auscult.errors import AuscultError, InputError, UsageError
from auscult.jobs.against_truth import clusters_of
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.masks.compact.view import scaled
from auscult.judge.masks.prompted.calibration import load_calibration, save_calibration
from auscult.judge.masks.prompted.network import (
    CLASSIFIER_FILE,
    FOLDER,
    Classifier,
    Member,
    load_classifier,
    load_member,
)
from auscult.judge.masks.prompted.view import Lens, View, inputs, look, picture
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.media.paths import write_bytes
from auscult.nets.prompted import Design, PromptedNet
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.train.prompted import defect_classifier
from auscult.train.prompted.calibrate import accept_threshold, estimates, fit, left_out_coverage, refit, summary
from auscult.train.prompted.export import Inputs, export, in_eight_bits
from auscult.train.prompted.feed import Feed, boxes_or_points
from auscult.train.prompted.loop import MaskTrainer, TrainingPlan, batches, network_of, train
from auscult.train.prompted.material import LEAST_PX, Material, Picture, read_material
from auscult.train.prompted.outputs import OWN, Judgeable, Outputs, judgeable, judged, made_of, real_and_flawless
from auscult.types import Box, Floats, Frame, Item, Mask

MINUTES: Final = 140.0
PLANS: Final = (
    TrainingPlan(design=Design(side=256, margin=1.5), start="deeplab", seed=0, steps=820),
    TrainingPlan(design=Design(side=192, margin=2.0), start="imagenet", seed=1, steps=1050),
)
"""The shipped networks: a close look that starts from DeepLab, a wider one that starts from ImageNet."""
WEIGHTS: Final = "weights"
_SAVED_EVERY: Final = 50
_RANGE_BATCHES: Final = 8
_MADE_EACH: Final = 2
_VIDEO_EVERY: Final = 2


def prompted(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """The whole training where its first weights come with the material, else a fit to masks of a user's own."""
    return (prompted_mask if (options.material() / WEIGHTS).is_dir() else fit_to_own)(options, progress)


def prompted_mask(options: TrainOptions, progress: Progress, wanted: Sequence[TrainingPlan] = PLANS) -> Iterator[Path]:
    """Train the networks that are ``wanted``, export and calibrate them; ``weights`` in the data folder starts them."""
    cv2.setNumThreads(1)
    torch.set_num_threads(options.threads)
    until = time.monotonic() + 60 * (MINUTES if options.minutes is None else options.minutes)
    progress.stage("reading the material", 1)
    material = read_material(options.material())
    progress.step()
    yield _report_lost(material, options.out)
    plans = [_planned(plan, options) for plan in wanted]
    for i, plan in enumerate(plans):
        trained = _trained(plan, material.of("train"), f"member{i}", options=options, until=until, progress=progress)
        if not (yield from trained):
            return
    members = []
    for i, plan in enumerate(plans):
        path = _shipped(options, plan, material, number=i)
        yield path
        members.append(load_member(path))
    yield _classifier_file(material.of("train"), options, progress)
    classifier = load_classifier(options.out / CLASSIFIER_FILE)
    net, _ = network_of(options.out / "member0.pt")
    outputs = calibration_outputs(material, members, net, classifier=classifier, options=options, progress=progress)
    outputs.save(options.out / "calibration.npz")
    yield options.out / "calibration.npz"
    yield calibrate(outputs, members, classifier, out=options.out)


def fit_to_own(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Fit the shipped judge to masks of a user's own: ``--data`` is an INPUT with truth."""
    cv2.setNumThreads(1)
    torch.set_num_threads(options.threads)
    shipped = load_calibration()
    members = [load_member(FOLDER / f"member{number}.onnx", digest) for number, digest in enumerate(shipped.weights)]
    lost: list[tuple[Path, str]] = []
    listing = list_items(options.material())
    lost += [(Path(error.path or options.material()), error.error) for _, error in listing.errors]
    with_truth = [item for item in listing.items if item.truth is not None and item.truth.mask is not None]
    clusters = clusters_of(with_truth, films=filmed(listing))
    progress.stage("judging your masks", len(with_truth))
    cases = (case for item in with_truth for case in _own_case(item, str(clusters[item.id]), lost))
    classifier = load_classifier(FOLDER / CLASSIFIER_FILE, shipped.classifier)
    outputs = judged(cases, members, classifier=classifier, progress=progress)
    yield _report_lost(Material(lost=lost), options.out)
    if not len(outputs):
        raise UsageError(
            "no mask here has a truth that can be read",
            expected='lines of items.jsonl with "truth": {"mask": ...}',
            hint=f"{len(lost)} could not be read, see material.json" if lost else "see docs/input.md on truth",
            path=options.material(),
        )
    outputs.save(options.out / "own.npz")
    yield options.out / "own.npz"
    lines = [f"{len(outputs)} masks with truth; {len(lost)} files or lines could not be read, see material.json"]
    maskless = sum(item.truth is not None and item.truth.mask is None for item in listing.items)
    if maskless:
        lines.append(f"{maskless} masks were left out: their truth has no mask")
    if empty := len(with_truth) - len(outputs) - (len(lost) - len(listing.errors)):
        lines.append(f"{empty} masks were left out: they or their true masks are empty")
    calibration = refit(outputs, shipped, seed=options.seed, log=lines.append)
    write_bytes(options.out / "calibration.txt", ("\n".join(lines) + "\n").encode())
    yield options.out / "calibration.txt"
    yield save_calibration(calibration, options.out / "calibration.json")


def _own_case(item: Item, cluster: str, lost: list[tuple[Path, str]]) -> Iterator[Judgeable]:
    """An item with its truth, opened; what cannot be read is noted and skipped."""
    try:
        frame = read_frame(item.frame)
        size = (frame.shape[0], frame.shape[1])
        mask = read_mask(item.mask, size=size).mask
        truth = read_mask(item.truth.mask, size=size).mask if item.truth and item.truth.mask else mask
    except AuscultError as error:
        lost.append((Path(error.path or item.frame), error.message))
        return
    if mask.any() and truth.any():
        yield Judgeable(frame=frame, mask=mask, truth=truth, family="own", cluster=cluster, source="own", name=item.id)


def calibrate(outputs: Outputs, members: Sequence[Member], classifier: Classifier, *, out: Path) -> Path:
    """Fit the numbers and write ``calibration.json``, with ``calibration.txt`` on how it went."""
    lines: list[str] = []
    calibration = fit(outputs, [member.digest for member in members], classifier.digest, log=lines.append)
    good = estimates(outputs, calibration).good
    lines += [
        json.dumps(dict(summary(calibration, outputs))),
        f"accept from {accept_threshold(good, outputs)}",
        json.dumps(left_out_coverage(calibration, outputs)),
    ]
    write_bytes(out / "calibration.txt", ("\n".join(lines) + "\n").encode())
    return save_calibration(calibration, out / "calibration.json")


def _planned(plan: TrainingPlan, options: TrainOptions) -> TrainingPlan:
    """A plan with the options' seed and number of samples."""
    steps = plan.steps if options.samples is None else max(1, options.samples // plan.size)
    return replace(plan, seed=plan.seed + 2 * options.seed, steps=steps)


def calibration_outputs(
    material: Material,
    members: Sequence[Member],
    net: PromptedNet,
    *,
    classifier: Classifier,
    options: TrainOptions,
    progress: Progress,
) -> Outputs:
    """Outputs of the networks on calibration masks: of real models, flawless, made, and drawn by our own network."""
    pictures = material.of("calibration")
    progress.stage("judging calibration masks", sum(len(image.real) + 6 * len(image.objects) for image in pictures))
    sources = [
        real_and_flawless(pictures, every=_VIDEO_EVERY),
        made_of(pictures, seed=options.seed, each=_MADE_EACH),
        chain.from_iterable(drawn_by(net, pictures, seed=options.seed)),
    ]
    return judged((case for source in sources for case in source), members, classifier=classifier, progress=progress)


_DRAWN_EACH: Final = 3
_FRAMES_EVERY: Final = 3
_LEVELS: Final = (-1.5, -0.5, 0.0, 0.5, 1.5)
_LEAST_IOU: Final = 0.05
_LEAST_DRAWN_PX: Final = 48


def drawn_by(net: PromptedNet, pictures: Iterable[Picture], *, seed: int) -> Iterator[list[Judgeable]]:
    """What a network draws of objects that it did not learn from.

    Each object is shown three times, prompted with a jittered true box or points; each answer is cut at its own level.
    """
    for image in pictures:
        cases: list[Judgeable] = []
        frame = image.frame() if image.order % _FRAMES_EVERY == 0 else None
        for target, truth in enumerate(image.masks() if frame is not None else ()):
            if frame is None or np.count_nonzero(truth) < LEAST_PX:
                continue
            rng = generator(seed, "prompted", "folds", image.path.name, target)
            cases += [
                judgeable(image, target, frame=frame, mask=mask, truth=truth, family=OWN)
                for mask in _predicted_masks(net, frame, truth, rng=rng)
            ]
        yield cases


def _predicted_masks(net: PromptedNet, frame: Frame, truth: Mask, *, rng: np.random.Generator) -> Iterator[Mask]:
    view = look(frame, truth, Lens(side=net.design.side, margin=net.design.margin))
    prompts = np.stack([boxes_or_points(view.candidate >= 128, rng) for _ in range(_DRAWN_EACH)])
    for answer in _answers(net, view, prompts):
        mask = placed(answer - np.float32(rng.choice(_LEVELS)), view.box, truth.shape)
        if np.count_nonzero(mask) >= _LEAST_DRAWN_PX and iou(mask, truth) >= _LEAST_IOU:
            yield mask


def _answers(net: PromptedNet, view: View, prompts: NDArray[np.uint8]) -> Floats:
    """What a network draws on one crop for each prompt, (n, 4, grid, grid) as bytes -> logits (n, grid, grid)."""
    tensors = {
        name: torch.from_numpy(value).expand(len(prompts), *value.shape[1:]) for name, value in inputs([view]).items()
    }
    prompt = torch.from_numpy((prompts / np.float32(255)).astype(np.float32))
    with torch.no_grad():
        blank = torch.zeros_like(tensors["candidate"])
        outputs = net(tensors["crop"], blank, strip=tensors["strip"], shape=tensors["shape"], prompt=prompt)
    return np.asarray(outputs["answer"][:, 0].numpy())


def placed(answer: Floats, box: Box, size: tuple[int, ...]) -> Mask:
    """An answer's logits over a crop as a mask of the frame, bool (H, W); False outside the crop."""
    x0, y0, x1, y1 = box
    grown = cv2.resize(answer, (x1 - x0, y1 - y0), interpolation=cv2.INTER_LINEAR)
    mask = np.zeros((size[0], size[1]), np.bool_)
    top, bottom, left, right = max(y0, 0), min(y1, size[0]), max(x0, 0), min(x1, size[1])
    mask[top:bottom, left:right] = np.asarray(grown)[top - y0 : bottom - y0, left - x0 : right - x0] > 0
    return mask


def _trained(
    plan: TrainingPlan,
    pictures: Sequence[Picture],
    name: str,
    *,
    options: TrainOptions,
    until: float,
    progress: Progress,
) -> Generator[Path, None, bool]:
    """Train one network as far as time goes; yields its checkpoint, returns whether it is done."""
    path, log = options.out / f"{name}.pt", options.out / f"{name}.jsonl"
    trainer = MaskTrainer(plan, weights=options.material() / WEIGHTS, device=options.device)
    if path.exists():
        trainer.load(path)
    progress.stage(f"training {name}", plan.steps - trainer.step)

    def heard(step: int, parts: dict[str, float]) -> None:
        progress.step()
        if step % _SAVED_EVERY == 0:
            trainer.save(path)
            with log.open("a", encoding="utf-8") as file:
                file.write(
                    json.dumps({"step": step, **{name: round(value, 5) for name, value in parts.items()}}) + "\n"
                )

    stream = batches(pictures, plan, first=trainer.step, workers=options.workers)
    done = train(trainer, stream, until=until, heard=heard)
    trainer.save(path)
    yield path
    return done


def _classifier_file(pictures: Sequence[Picture], options: TrainOptions, progress: Progress) -> Path:
    """The defect classifier, trained where it is not there yet."""
    path = options.out / CLASSIFIER_FILE
    if not path.exists():
        progress.stage("measuring along outlines", len(pictures))
        samples = defect_classifier.samples_of(pictures, seed=options.seed, progress=progress)
        defect_classifier.export(defect_classifier.fit_classifier(samples, seed=options.seed), path)
    return path


def _shipped(options: TrainOptions, plan: TrainingPlan, material: Material, *, number: int) -> Path:
    """Export a trained network whole and in 8 bits; the small one is what ships."""
    net, _ = network_of(options.out / f"member{number}.pt")
    whole = options.out / f"member{number}.whole.onnx"
    export(net, whole)
    samples = range_inputs(material.of("train"), plan, seed=options.seed)
    return in_eight_bits(whole, options.out / f"member{number}.onnx", samples)


def range_inputs(pictures: Sequence[Picture], plan: TrainingPlan, *, seed: int) -> list[Inputs]:
    """Batches of the training part that the ranges of 8 bits are measured on."""
    feed = Feed(pictures, seed=seed + 1000, lens=plan.lens)
    results: list[Inputs] = []
    for number in range(_RANGE_BATCHES):
        batch = feed.batch(number, 12)
        results.append(
            {
                "crop": picture(np.asarray(batch["crop"], dtype=np.uint8)),
                "candidate": (batch["candidate"][:, None] / np.float32(255)).astype(np.float32),
                "strip": scaled(np.asarray(batch["strip"], dtype=np.uint8)),
                "shape": np.asarray(batch["shape"], dtype=np.float32),
            }
        )
    return results


def ship(out: Path, folder: Path) -> list[Path]:
    """Copy a trained judge's files to where the judge looks for them; networks that it has not are removed there."""
    names = [*sorted(path.name for path in out.glob("member?.onnx")), CLASSIFIER_FILE, "calibration.json"]
    if len(names) < 3 or not (out / "calibration.json").exists():
        raise InputError("there is no trained judge here", expected="member*.onnx and calibration.json", path=out)
    for path in folder.glob("member?.onnx"):
        if path.name not in names:
            path.unlink()
    for name in names:
        shutil.copyfile(out / name, folder / name)
    return [folder / name for name in names]


def _report_lost(material: Material, out: Path) -> Path:
    """Name what could not be read, in ``material.json``."""
    value = {
        "pictures": {part: len(material.of(part)) for part in ("train", "calibration", "dev", "test", "unseen")},
        "lost": [{"path": path.name, "reason": reason} for path, reason in material.lost],
    }
    write_bytes(out / "material.json", dump(value, indent=1) + b"\n")
    return out / "material.json"
