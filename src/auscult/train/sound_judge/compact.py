"""``auscult train compact-sound``: samples once, then alignment, then scores, then calibration and the files."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.sound.compact import FILE as CALIBRATION
from auscult.judge.sound.compact.network import open_network
from auscult.media.paths import write_bytes
from auscult.nets.sound_judge import SoundJudgeNet, Trunk
from auscult.record.codec import dump, to_json
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import Part
from auscult.train.sound_judge.calibrate import calibrate
from auscult.train.sound_judge.export import export, read_trunk
from auscult.train.sound_judge.samples import Recipe
from auscult.train.sound_judge.store import Store, StoredSample, with_early
from auscult.train.sound_judge.trainer import SoundFeed, SoundPlan, SoundTrainer, read_plan
from auscult.train.trainer import STATE, ends_at, trained

MATERIAL, JUDGE, NETWORK, PLAN = "material", "judge", "network.pt", "plan.json"
NETS: Final = "sound/nets/mn04_as.onnx"
ALIGNING: Final = Recipe(outputs=2, whole=0.5, by_separators=0.0, wrong=0.5, damages=("leakage", "silence"), twice=0.0)
"""The first stage's outputs: the target, or another source of the mixture."""
_SEEDS: Final = {"train": 1, "aligning": 13, "calibration": 11}


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
        """The samples of ``train``, ``aligning`` or ``calibration``, made where they are missing; None out of time."""
        real = name == "calibration" or (name == "train" and self.plan.real > 0)
        store = Store(folder=self.options.out / MATERIAL / name, real=real)
        part: Part = "calibration" if name == "calibration" else "train"
        counts = {"train": self.plan.mixtures, "aligning": self.plan.aligning, "calibration": self.plan.held}
        recipe = ALIGNING if name == "aligning" else Recipe()
        seed = self.options.seed if name == "train" and self.options.seed else _SEEDS[name]
        whole = store.make(
            self.root if self.options.data else None,
            part=part,
            mixtures=counts[name],
            seed=seed,
            recipe=recipe,
            progress=progress,
            until=self.until,
        )
        if not whole:
            return None
        return with_early(store, trunk) if self.plan.start == "tagger" else store.samples

    def trainer(self, net: SoundJudgeNet, samples: list[StoredSample], *, aligning: bool) -> SoundTrainer:
        """The training of a stage."""
        seed, steps = self.options.seed, self.plan.stage[0 if aligning else 1]
        if self.options.samples is not None:
            steps = max(1, min(steps, self.options.samples // self.plan.batch))
        name = "align" if aligning else "scores"
        feed = SoundFeed(samples, self.plan, seed=seed, name=name, steps=steps, aligning=aligning)
        made = SoundTrainer(net, feed, self.plan, seed=seed, steps=steps, device=self.options.device)
        made.aligning = aligning
        return made


def compact_sound(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Train the compact judge; yields what it wrote.

    The folder gets ``plan.json``; ``material/``, the samples as the network hears them; ``losses.jsonl`` and
    ``state.pt`` of each stage, from which the same command goes on; and ``judge/``, which
    ``auscult audit --sound-judge sound.compact.v1@FOLDER`` takes.
    """
    torch.set_num_threads(options.threads)
    run = CompactRun(options=options, plan=read_plan(options.config), until=ends_at(options))
    plan = options.out / PLAN
    write_bytes(plan, dump(to_json(run.plan)))
    yield plan
    torch.manual_seed(int(generator(options.seed, "compact-sound", "weights").integers(1 << 62)))
    pretrained = read_trunk(run.root / NETS).to(memory_format=torch.channels_last)
    trunk = pretrained if run.plan.start == "tagger" else Trunk()
    net = SoundJudgeNet(deepcopy(trunk), run.plan.network).to(memory_format=torch.channels_last)
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
    found = calibrate(net.to(memory_format=torch.channels_last), samples, digest=open_network(folder).digest)
    write_bytes(folder / CALIBRATION, dump(to_json(found)))
    yield folder / CALIBRATION


def _stages(
    run: CompactRun, net: SoundJudgeNet, *, pretrained: Trunk, progress: Progress
) -> Generator[Path, None, bool]:
    """Both stages; gives whether they are done."""
    for name, aligning in (("aligning", True), ("train", False)):
        if aligning and not (run.plan.aligning and run.plan.stage[0]):
            continue
        state = f"{name}-{STATE}"
        samples = run.samples(name, pretrained, progress)
        if samples is None:
            return False
        trainer = run.trainer(net, samples, aligning=aligning)
        if (run.options.out / state).exists():
            trainer.load(run.options.out / state)
        done = trainer.step >= trainer.steps or trained(
            trainer, run.options, progress, until=run.until, state=state, losses=f"{name}.jsonl", stage=name
        )
        yield run.options.out / f"{name}.jsonl"
        if not done:
            return False
    return True
