"""``auscult train compact-sound``: samples once, then alignment, then scores, then calibration and the files.

The pretrained trunk is read from its release; the four files that ship are compared with the network they came from.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from auscult.errors import UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.sound.compact import FILE as CALIBRATION
from auscult.judge.sound.compact.network import (
    EVIDENCE,
    FOLDER,
    HARDNESS,
    HARDNESS_GIVES,
    HEAD,
    JUDGED,
    TRUNK,
    open_network,
)
from auscult.media.paths import write_bytes
from auscult.nets.onnx_session import read_network
from auscult.nets.sound_judge import CLASSES, WIDTH, Comparison, HeadInput, HeardAlone, SoundJudgeNet, Trunk
from auscult.record.codec import dump, to_json
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import Part
from auscult.train.network_files import require_close, write_onnx
from auscult.train.sound_judge.calibrate import calibrate
from auscult.train.sound_judge.samples import Recipe
from auscult.train.sound_judge.store import Store, StoredSample, read_shard, with_early
from auscult.train.sound_judge.trainer import (
    AlignmentTrainer,
    HeadTrainer,
    SoundFeed,
    SoundPlan,
    SoundStage,
    SoundTrainer,
    hear,
    hear_alone,
    read_plan,
)
from auscult.train.trainer import STATE, ends_at, trained


def read_trunk(path: Path) -> Trunk:
    """The trunk with the weights of ``mn04_as.onnx``, whose convolutions and layers stand in order in the file."""
    graph = onnx.load_from_string(read_network(path, hint="fetch the network's file again")).graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    weights = [
        torch.from_numpy(numpy_helper.to_array(tensors[name]).copy())
        for node in graph.node
        if node.op_type in {"Conv", "Gemm"}
        for name in node.input[1:]
        if name in tensors
    ]
    trunk = Trunk()
    parameters = list(trunk.parameters())
    if [value.shape for value in parameters] != [value.shape for value in weights]:
        raise UsageError("the network is another one", expected="mn04_as.onnx of EfficientAT", path=path)
    with torch.no_grad():
        for value, weight in zip(parameters, weights, strict=True):
            value.copy_(weight)
    return trunk


def read_judge(folder: Path) -> SoundJudgeNet:
    """The network of a judge's four files, to train it further."""
    net = SoundJudgeNet(Trunk())
    tensors = {f"trunk.{name}": value for name, value in _tensors(folder / TRUNK).items()}
    for file in (EVIDENCE, HEAD, HARDNESS):
        tensors |= _tensors(folder / file)
    try:
        net.load_state_dict(tensors)
    except RuntimeError as error:
        raise UsageError(
            f"the judge is of another design: {error}", expected="sound.compact.v1", path=folder
        ) from error
    return net


def _tensors(path: Path) -> dict[str, Tensor]:
    """The parameters in an exported file by their names in the network.

    The exporter transposes matrices and drops their names, which follow from the bias that is added next. It splits a
    group normalisation: its factors and offsets have no names either, and are in the order of the network.
    """
    graph = onnx.load_from_string(read_network(path, hint="fetch the judge's files again")).graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    named = {name: value for name, value in values.items() if not name.startswith("onnx::")}
    users = {name: node for node in graph.node for name in node.input}
    norms = iter([number for number, layer in enumerate(Comparison(3).layers) if isinstance(layer, nn.GroupNorm)])
    for node in graph.node:
        matrix = next((name for name in node.input if name in values and name.startswith("onnx::")), None)
        if node.op_type == "MatMul" and matrix is not None:
            bias = next(name for name in users[node.output[0]].input if name.endswith(".bias"))
            named[bias.removesuffix("bias") + "weight"] = values[matrix].T
        elif node.op_type == "Mul" and matrix is not None and values[matrix].ndim == 3:
            shift = next(name for name in users[node.output[0]].input if name in values)
            norm = f"net.compare.layers.{next(norms)}"
            named |= {f"{norm}.weight": values[matrix].ravel(), f"{norm}.bias": values[shift].ravel()}
    return {name.removeprefix("net."): torch.from_numpy(value.copy()) for name, value in named.items()}


CLOSE: Final = 1e-4
"""Largest difference of any output between a network and its files."""


class _Head(nn.Module):
    def __init__(self, net: SoundJudgeNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        outputs = self.net(HeadInput(*inputs))
        return tuple(getattr(outputs, name) for name in JUDGED)


class _Hard(_Head):
    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.net.hardness(HeardAlone(*inputs)))


class _Evidence(_Head):
    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return self.net.evidence(*inputs), self.net.prompt(inputs[1])


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
    for file, part, example, inputs, outputs in (
        (TRUNK, net.trunk, (mels[:, :1],), ["log_mel"], ["steps"]),
        (EVIDENCE, _Evidence(net), (steps[:, 0], classes), ["steps", "classes"], ["evidence", "prompt"]),
        (HEAD, _Head(net), tuple(heard), HeadInput._fields, JUDGED),
        (HARDNESS, _Hard(net), tuple(alone), HeardAlone._fields, HARDNESS_GIVES),
    ):
        dynamic = {name: axes[name] for name in (*inputs, *outputs)}
        yield write_onnx(part, example, folder / file, inputs=inputs, outputs=outputs, axes=dynamic)
    require_close(difference(net, folder), folder, close=CLOSE)


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
        expected, hard = net(heard), net.hardness(alone)
    outputs = files.judged({name: value.numpy() for name, value in heard._asdict().items()})
    harder = files.hardness({name: value.numpy() for name, value in alone._asdict().items()})
    evidence, prompt = files.evidence(steps[:, 1].numpy(), classes.numpy())
    pairs = [(getattr(expected, name), outputs[name]) for name in JUDGED]
    pairs += [(getattr(hard, name), harder[name]) for name in HARDNESS_GIVES]
    pairs += [(heard.evidence[..., 4:8], evidence), (heard.prompt, prompt)]
    pairs.append((steps.flatten(0, 1), files.steps([*mels.flatten(0, 1).numpy()])))
    return max(float(np.abs(value.numpy() - exported).max()) for value, exported in pairs)


MATERIAL, JUDGE, NETWORK, PLAN = "material", "judge", "network.pt", "plan.json"
NETS: Final = "sound/nets/mn04_as.onnx"
ALIGNING: Final = Recipe(outputs=2, whole=0.5, by_separators=0.0, wrong=0.5, damages=("leakage", "silence"), twice=0.0)
"""The first stage's outputs: the target, or another source of the mixture."""
_PART: Final = 8
_SEEDS: Final = {"train": 1, "aligning": 13, "calibration": 11, "songs": 17}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRun:
    """One training in a folder."""

    options: TrainOptions
    plan: SoundPlan
    until: float

    @property
    def root(self) -> Path:
        """The real material."""
        return self.options.material()

    def samples(self, name: str, trunk: Trunk, progress: Progress) -> list[StoredSample] | None:
        """The samples of ``train``, ``aligning``, ``songs`` or ``calibration``, made if missing; None out of time."""
        store = self._store(name)
        part: Part = "calibration" if name == "calibration" else "train"
        plan = self.plan
        counts = {"train": plan.mixtures, "aligning": plan.aligning, "songs": plan.songs, "calibration": plan.held}
        recipe = ALIGNING if name == "aligning" else Recipe()
        seed = self.options.seed if name == "train" and self.options.seed else _SEEDS[name]
        complete = store.make(
            self.root if self.options.data else None,
            part=part,
            mixtures=counts[name],
            seed=seed,
            recipe=recipe,
            progress=progress,
            until=self.until,
        )
        if not complete:
            return None
        return self._read(store.files, trunk)

    def learned(self, trunk: Trunk) -> list[StoredSample]:
        """Every eighth file of what the network has learned from, outputs of real separators among them."""
        names = ["train", "songs"] if self.steps("songs") else ["train"]
        return self._read([path for name in names for path in self._store(name).files[::-_PART]], trunk)

    def _store(self, name: str) -> Store:
        real = name == "calibration" or (name == "train" and self.plan.real > 0)
        return Store(folder=self.options.out / MATERIAL / name, real=real, songs=name == "songs")

    def _read(self, files: Sequence[Path], trunk: Trunk) -> list[StoredSample]:
        if self.plan.start == "nothing":
            return [sample for path in files for sample in read_shard(path)]
        return with_early(files, trunk)

    def trainer(self, net: SoundJudgeNet, samples: list[StoredSample], *, stage: SoundStage) -> SoundTrainer:
        """The training of a stage."""
        seed, steps = self.options.seed, self.steps(stage)
        if self.options.samples is not None:
            steps = max(1, min(steps, self.options.samples // self.plan.batch))
        plan = replace(self.plan, rate=self.plan.song_rate) if stage == "songs" else self.plan
        feed = SoundFeed(samples, plan, seed=seed, name=stage, steps=steps)
        trainers = {"align": AlignmentTrainer, "scores": SoundTrainer, "songs": HeadTrainer}
        return trainers[stage](net, feed, plan, seed=seed, steps=steps, device=self.options.device)

    def steps(self, stage: SoundStage) -> int:
        """How many steps a stage has; 0 where it is left out."""
        plan = self.plan
        steps = {"align": plan.stage[0] * bool(plan.aligning), "scores": plan.stage[1], "songs": plan.song_steps}
        return steps[stage] * (bool(plan.songs) or stage != "songs")


def compact_sound(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train the compact judge; yields what it wrote.

    The folder gets ``plan.json``; ``material/``, the samples as the network hears them; losses and state of each stage,
    ``songs.jsonl`` and ``songs-state.pt``, from which the same command goes on; the weights as ``network.pt``; and
    ``judge/``, which ``auscult audit --sound-judge sound.compact.v1@FOLDER`` takes.
    """
    torch.set_num_threads(options.threads)
    run = CompactRun(options=options, plan=read_plan(options.config), until=ends_at(options))
    plan = options.out / PLAN
    write_bytes(plan, dump(to_json(run.plan)))
    yield plan
    torch.manual_seed(int(generator(options.seed, "compact-sound", "weights").integers(1 << 62)))
    if run.plan.start == "judge":
        net = read_judge(FOLDER)
        pretrained = deepcopy(net.trunk)
    else:
        pretrained = read_trunk(run.root / NETS)
        net = SoundJudgeNet(deepcopy(pretrained) if run.plan.start == "tagger" else Trunk(), run.plan.network)
    net, pretrained = (part.to(memory_format=torch.channels_last) for part in (net, pretrained))
    learned = yield from _stages(run, net, pretrained=pretrained, progress=progress)
    if not learned:
        return
    samples = run.samples("calibration", pretrained, progress)
    if samples is None:
        return
    torch.save(net.state_dict(), options.out / NETWORK)
    yield options.out / NETWORK
    folder = options.out / JUDGE
    yield from export(net, folder)
    net = net.to(memory_format=torch.channels_last)
    learned_from = run.learned(pretrained) or samples  # a network that was not trained knows nothing
    calibration = calibrate(net, samples, learned=learned_from, digest=open_network(folder).digest)
    write_bytes(folder / CALIBRATION, dump(to_json(calibration)))
    yield folder / CALIBRATION


def _stages(
    run: CompactRun, net: SoundJudgeNet, *, pretrained: Trunk, progress: Progress
) -> Generator[Path, None, bool]:
    """Run all stages; returns whether they are finished, and yields the files written."""
    stages: dict[SoundStage, tuple[str, ...]] = {
        "align": ("aligning",),
        "scores": ("train",),
        "songs": ("train", "songs"),
    }
    for stage, names in stages.items():
        if not run.steps(stage):
            continue
        parts = [run.samples(name, pretrained, progress) for name in names]
        samples = [sample for part in parts if part is not None for sample in part]
        if None in parts:
            return False
        name = names[-1]
        state, before = f"{name}-{STATE}", deepcopy(net.state_dict())
        trainer = run.trainer(net, samples, stage=stage)
        if (run.options.out / state).exists():
            trainer.load(run.options.out / state)
        done = trainer.step >= trainer.steps or trained(
            trainer, run.options, progress, until=run.until, state=state, losses=f"{name}.jsonl", stage=name
        )
        yield run.options.out / f"{name}.jsonl"
        if not done:
            return False
        if stage == "songs":
            after, kept = net.state_dict(), run.plan.song_weight
            net.load_state_dict({key: torch.lerp(before[key], after[key], kept) for key in before})
    return True
