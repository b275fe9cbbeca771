"""``auscult train prompted-mask``: train the networks, export and calibrate them; or fit them to a user's own masks."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch

from auscult.cases.listing import list_items
from auscult.errors import AuscultError, InputError, OutputError, UsageError
from auscult.jobs.runner import Progress
from auscult.judge.masks.compact.view import scaled
from auscult.judge.masks.prompted.calibration import load_calibration, save_calibration
from auscult.judge.masks.prompted.network import FOLDER, Member, load_member
from auscult.judge.masks.prompted.view import picture
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.nets.prompted import Design, PromptedNet
from auscult.train.prompted.calibrate import accept_threshold, estimates, fit, left_out_coverage, refit, summary
from auscult.train.prompted.export import Inputs, export, in_eight_bits
from auscult.train.prompted.feed import Feed
from auscult.train.prompted.folds import FOLDS, drawn_by, fold_of, save_drawn, with_drawn
from auscult.train.prompted.loop import Plan, Trainer, batches, network_of, train
from auscult.train.prompted.material import Material, Picture, read_material
from auscult.train.prompted.outputs import Judgeable, Outputs, judged, made_of, real_and_flawless
from auscult.types import Item

MINUTES: Final = 140.0
PLANS: Final = (
    Plan(design=Design(side=256, margin=1.5), start="deeplab", seed=0, steps=820),
    Plan(design=Design(side=192, margin=2.0), start="imagenet", seed=1, steps=1050),
)
"""The shipped networks: a close look that starts from DeepLab, a wider one that starts from ImageNet."""
FOLD_PLAN: Final = Plan(design=Design(side=192, margin=2.0), start="imagenet", seed=100, steps=300)
"""Short trainings on one half each; their errors on the other half may be learned from, see ``studies/prompted``."""
WEIGHTS: Final = "weights"
DRAWN: Final = "drawn.json.gz"
_SAVED_EVERY: Final = 50
_RANGE_BATCHES: Final = 8
_MADE_EACH: Final = 2
_VIDEO_EVERY: Final = 2
_LEAST_CLUSTERS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedOptions:
    """What the recipe is told.

    Attributes:
        data: Folder of real material, with the first weights in ``weights``.
        out: Folder for all it makes; what is there already is continued.
        seed: Added to the plans' own seeds.
        samples: How many samples each network sees; None for the plans' own number.
        minutes: After this long training stops, to be continued by the same command.
        device: ``cpu`` or ``cuda``.
        threads: Threads of the networks' arithmetic.
        workers: Processes that make batches ahead.
        plans: The networks.
        folds: Short trainings whose errors on what they did not learn from the networks learn from, too, such as
            ``FOLD_PLAN``; their seed counts up. None for none, as shipped.
        photographs: Learn from this many photographs only; None for all.
        objects: Calibrate on this many pictures only; None for all.
    """

    data: Path
    out: Path
    seed: int = 0
    samples: int | None = None
    minutes: float = MINUTES
    device: str = "cpu"
    threads: int = 2
    workers: int = 1
    plans: tuple[Plan, ...] = PLANS
    folds: Plan | None = None
    photographs: int | None = None
    objects: int | None = None


def prompted_mask(options: PromptedOptions, progress: Progress) -> Iterator[Path]:
    """Train, export, calibrate."""
    cv2.setNumThreads(1)
    torch.set_num_threads(options.threads)
    until = time.monotonic() + options.minutes * 60
    progress.stage("reading the material", 1)
    material = read_material(options.data)
    progress.step()
    yield _report_lost(material, options.out)
    pictures = learnable(material.of("train"), photographs=options.photographs)
    work = _Work(options, until=until, progress=progress)
    ready = yield from own_errors(work, pictures)
    if ready is None:
        return
    for at, plan in enumerate(plans_of(options)):
        if not (yield from work.train(plan, ready, f"member{at}")):
            return
    members = []
    for at, plan in enumerate(plans_of(options)):
        path = _shipped(options, plan, material, at=at)
        yield path
        members.append(load_member(path))
    net, _ = network_of(options.out / "member0.pt")
    outputs = calibration_outputs(material, members, net, options=options, progress=progress)
    outputs.save(options.out / "calibration.npz")
    yield options.out / "calibration.npz"
    yield calibrate(outputs, members, options.out)


def fit_to_own(options: PromptedOptions, progress: Progress) -> Iterator[Path]:
    """Fit the shipped judge to masks of a user's own: ``--data`` is an INPUT with truth."""
    cv2.setNumThreads(1)
    torch.set_num_threads(options.threads)
    shipped = load_calibration()
    members = [load_member(FOLDER / f"member{at}.onnx", digest) for at, digest in enumerate(shipped.weights)]
    lost: list[tuple[Path, str]] = []
    listing = list_items(options.data)
    lost += [(Path(error.path or options.data), error.error) for _, error in listing.errors]
    known = [item for item in listing.items if item.truth is not None and item.truth.mask is not None]
    progress.stage("judging your masks", len(known))
    outputs = judged((thing for item in known for thing in _own_thing(item, lost)), members, progress=progress)
    yield _report_lost(Material(lost=lost), options.out)
    if not len(outputs):
        raise UsageError(
            "no mask here has a truth that can be read",
            expected='lines of items.jsonl with "truth": {"mask": ...}',
            hint=f"{len(lost)} could not be read, see material.json" if lost else "see docs/input.md on truth",
            path=options.data,
        )
    outputs.save(options.out / "own.npz")
    yield options.out / "own.npz"
    yield save_calibration(refit(outputs, shipped, seed=options.seed), options.out / "calibration.json")


def _own_thing(item: Item, lost: list[tuple[Path, str]]) -> Iterator[Judgeable]:
    """An item with its truth, opened; what cannot be read is noted and costs itself."""
    try:
        frame = read_frame(item.frame)
        size = (frame.shape[0], frame.shape[1])
        mask = read_mask(item.mask, size=size).mask
        truth = read_mask(item.truth.mask, size=size).mask if item.truth and item.truth.mask else mask
    except AuscultError as error:
        lost.append((item.frame, error.message))
        return
    if mask.any() and truth.any():
        cluster = item.clip or item.frame.stem
        yield Judgeable(frame=frame, mask=mask, truth=truth, family="own", cluster=cluster, source="own", name=item.id)


def calibrate(outputs: Outputs, members: Sequence[Member], out: Path) -> Path:
    """Fit the numbers and write ``calibration.json``, with ``calibration.txt`` on how it went."""
    lines: list[str] = []
    found = fit(outputs, [member.digest for member in members], log=lines.append)
    good = estimates(outputs, found).good
    lines += [
        json.dumps(dict(summary(found, outputs))),
        f"accept from {accept_threshold(good, outputs)}",
        json.dumps(left_out_coverage(found, outputs)),
    ]
    _write(out / "calibration.txt", "\n".join(lines) + "\n")
    return save_calibration(found, out / "calibration.json")


def plans_of(options: PromptedOptions) -> tuple[Plan, ...]:
    """The plans with the options' seed and number of samples."""
    return tuple(shortened(replace(plan, seed=plan.seed + 2 * options.seed), options.samples) for plan in options.plans)


def shortened(plan: Plan, samples: int | None) -> Plan:
    """A plan over as many samples; None for its own number."""
    return plan if samples is None else replace(plan, steps=max(1, samples // plan.size))


def learnable(pictures: Sequence[Picture], *, photographs: int | None, seed: int = 0) -> list[Picture]:
    """Pictures to learn from: all video, and some or all photographs, the first of one fixed order."""
    if photographs is None:
        return list(pictures)
    still = [one for one in pictures if one.source != "davis"]
    order = np.random.default_rng(seed).permutation(len(still))[:photographs]
    return [still[at] for at in sorted(order.tolist())] + [one for one in pictures if one.source == "davis"]


def calibration_outputs(
    material: Material, members: Sequence[Member], net: PromptedNet, *, options: PromptedOptions, progress: Progress
) -> Outputs:
    """What the networks say of calibration masks: of real models, flawless, made, and drawn by our own network."""
    pictures = material.of("calibration")[: options.objects]
    progress.stage("judging calibration masks", sum(len(one.real) + 6 * len(one.objects) for one in pictures))
    things = [
        real_and_flawless(pictures, every=_VIDEO_EVERY),
        made_of(pictures, seed=options.seed, each=_MADE_EACH),
        chain.from_iterable(drawn_by(net, pictures, seed=options.seed)),
    ]
    return judged((thing for some in things for thing in some), members, progress=progress)


class _Work:
    """What all trainings of one call share: the options, when to stop, who hears of it."""

    def __init__(self, options: PromptedOptions, *, until: float, progress: Progress) -> None:
        self.options = options
        self.until = until
        self.progress = progress

    def train(self, plan: Plan, pictures: Sequence[Picture], name: str) -> Generator[Path, None, bool]:
        """Train one network as far as time goes; yields its checkpoint, returns whether it is done."""
        options = self.options
        path, log = options.out / f"{name}.pt", options.out / f"{name}.jsonl"
        trainer = Trainer(plan, weights=options.data / WEIGHTS, device=options.device)
        if path.exists():
            trainer.load(path)
        self.progress.stage(f"training {name}", plan.steps - trainer.step)

        def heard(step: int, parts: dict[str, float]) -> None:
            self.progress.step()
            if step % _SAVED_EVERY == 0:
                trainer.save(path)
                _append(log, {"step": step, **{name: round(value, 5) for name, value in parts.items()}})

        with batches(pictures, plan, first=trainer.step, workers=options.workers) as made:
            done = train(trainer, made, until=self.until, heard=heard)
        trainer.save(path)
        yield path
        return done


def own_errors(work: _Work, pictures: list[Picture]) -> Generator[Path, None, list[Picture] | None]:
    """Pictures with what networks that did not learn from them draw of their objects.

    Too few photographs for two halves stay as they are.

    Returns:
        The pictures; None where the time was up before the networks were trained.
    """
    options, path = work.options, work.options.out / DRAWN
    if options.folds is None:
        return pictures
    if path.exists():
        return with_drawn(pictures, path)
    halves = [[one for one in pictures if fold_of(one) == fold] for fold in range(FOLDS)]
    if min(len({one.cluster for one in half}) for half in halves) < _LEAST_CLUSTERS:
        return pictures
    drawn: list[Judgeable] = []
    for fold, half in enumerate(halves):
        plan = shortened(replace(options.folds, seed=options.folds.seed + fold + 2 * options.seed), options.samples)
        if not (yield from work.train(plan, half, f"fold{fold}")):
            return None
    for fold in range(FOLDS):
        net, _ = network_of(options.out / f"fold{fold}.pt")
        others = [one for at, half in enumerate(halves) if at != fold for one in half]
        work.progress.stage(f"drawing by fold {fold}", len(others))
        for found in drawn_by(net, others, seed=options.seed):
            drawn += found
            work.progress.step()
    yield save_drawn(drawn, path)
    return with_drawn(pictures, path)


def _shipped(options: PromptedOptions, plan: Plan, material: Material, *, at: int) -> Path:
    """Export a trained network whole and in 8 bits; the small one is what ships."""
    net, _ = network_of(options.out / f"member{at}.pt")
    whole = options.out / f"member{at}.whole.onnx"
    export(net, whole)
    seen = range_inputs(material.of("train"), plan, seed=options.seed)
    return in_eight_bits(whole, options.out / f"member{at}.onnx", seen)


def range_inputs(pictures: Sequence[Picture], plan: Plan, *, seed: int) -> list[Inputs]:
    """Batches of the training part that the ranges of 8 bits are measured on."""
    feed = Feed(pictures, seed=seed + 1000, lens=plan.lens)
    found: list[Inputs] = []
    for number in range(_RANGE_BATCHES):
        batch = feed.batch(number, 12)
        found.append(
            {
                "crop": picture(np.asarray(batch["crop"], dtype=np.uint8)),
                "candidate": (batch["candidate"][:, None] / np.float32(255)).astype(np.float32),
                "strip": scaled(np.asarray(batch["strip"], dtype=np.uint8)),
                "shape": np.asarray(batch["shape"], dtype=np.float32),
            }
        )
    return found


def ship(out: Path, folder: Path) -> list[Path]:
    """Copy a trained judge's files to where the judge looks for them."""
    names = [*sorted(path.name for path in out.glob("member?.onnx")), "calibration.json"]
    if len(names) < 2 or not (out / "calibration.json").exists():
        raise InputError("there is no trained judge here", expected="member*.onnx and calibration.json", path=out)
    for name in names:
        shutil.copyfile(out / name, folder / name)
    return [folder / name for name in names]


def _report_lost(material: Material, out: Path) -> Path:
    """Name what could not be read, in ``material.json``."""
    value = {
        "pictures": {part: len(material.of(part)) for part in ("train", "calibration", "dev", "test", "unseen")},
        "lost": [{"path": path.name, "reason": reason} for path, reason in material.lost],
    }
    return _write(out / "material.json", json.dumps(value, indent=1) + "\n")


def _append(path: Path, row: dict[str, float]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path
