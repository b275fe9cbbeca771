"""The ablations of Tables 3 to 6 and 8 and of Fig. 5 of Wu et al. 2024 at a small size, on generated scenes.

    auscult make scenes --count 1024 --seed 21 --size 128x228 --split train --expressions 12 --out train
    auscult make scenes --count 300 --seed 22 --size 128x228 --split test_s --expressions 12 --out test
    auscult make scenes --count 300 --seed 23 --size 128x228 --split test_u --expressions 12 --out unseen
    auscult stress negatives train --out train-neg                       # likewise test and unseen
    python studies/rris_grid.py --train train-neg --seen test-neg --unseen unseen-neg --out grid
    python studies/rris_grid.py --out grid --report

`mobile.yaml` at a smaller size. All runs begin with the two encoders of refsegformer-small, which was trained on the
same data with blank tokens and the head, as the paper's begin with a Swin and a BERT. The rest is new, by seed. Every
run takes the same number of steps. A run that was stopped goes on behind the last finished row; several processes may
share the seeds (`--seeds`).
"""

from __future__ import annotations

import argparse
import json
import math
import operator
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import onnx
import onnx.numpy_helper
import torch

from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.models.refsegformer import SHIPPED
from auscult.nets.mobilenet import MobileStages
from auscult.nets.refsegformer.answering import ANSWER, STEM, OnnxAnswering
from auscult.nets.refsegformer.network import Segmentation, predicted
from auscult.nets.refsegformer.settings import squeezed
from auscult.nets.refsegformer.weights import read_model
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.masks import (
    ReferringScore,
    SentenceAreas,
    mrr,
    precision_at,
    referring_miou,
    referring_oiou,
    riou,
)
from auscult.score.stats.change import Ratio, mean_ratio
from auscult.train.rris.loop import Trainer
from auscult.train.rris.references import Feed, Reference, read_references, truth
from auscult.train.rris.trainable import SegmenterPlan, Trainable, build, read_plan

SIDE: Final = 96
STEPS: Final = 200
WARMUP: Final = 20
BATCH: Final = 20
SEEDS: Final = (0, 1, 2)
MOST_PICTURES: Final = 60
MOST_FALSE: Final = 4
"""Sentences of a reference that names nothing; the data has up to 13."""
TOGETHER: Final = 32
PARTS: Final = {"seen": "test_s", "unseen": "test_u"}
"""Splits of generated scenes: targets of categories that training has, and of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A configuration: what it changes of the base; of the two-stage baseline, whose networks draw and judge."""

    design: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    model: str = "refsegformer"
    drawn_by: str = ""
    judged_by: str = ""


BASE: Final = "blank 10, head vision"
PROMPT: Final = {"text_prompt": True}
DEFORMABLE: Final = {"decoder": "deformable", "decoder_width": 64}
"""As much narrower than the paper's as the encoder; 256 wide, a step takes thirteen times as long as one of the FPN."""
PLAIN: Final = {"positives_only": True}
LAVT: Final = "LAVT, true sentences alone"
ROWS: Final[Mapping[str, Row]] = {
    **{
        f"blank {blank}, head {head}": Row(design={"blank": blank, "existence": head})
        for blank in (10, 5, 0)
        for head in ("vision", "tokens", "none")
    },
    "1 VLTF": Row(design={"fused": (4,)}),
    "2 VLTFs": Row(design={"fused": (3, 4)}),
    **{f"{count} memory tokens": Row(design={"memory": count}) for count in (5, 10, 40)},
    "FPN, text prompt": Row(plan=PROMPT),
    "deformable": Row(design=DEFORMABLE),
    "deformable, text prompt": Row(design=DEFORMABLE, plan=PROMPT),
    "PWAN + LP": Row(model="lavt+"),
    "true sentences alone": Row(design={"blank": 0, "existence": "none"}, plan=PLAIN),
    LAVT: Row(model="lavt", plan=PLAIN),
    "existence classifier": Row(model="existence"),
    "two-stage": Row(model="lavt", plan=PLAIN, judged_by="existence classifier", drawn_by=LAVT),
}
KEPT_ROWS: Final = (LAVT, "existence classifier", "blank 0, head none", BASE)
"""Networks that are written, as `auscult train rris` writes model/: the two-stage baseline has the first two."""
TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "Table 4: blank tokens and existence head": tuple(name for name in ROWS if "head" in name),
    "Table 5: VLTFs": ("1 VLTF", "2 VLTFs", BASE),
    "Fig. 5: memory tokens": (*(f"{count} memory tokens" for count in (5, 10)), BASE, "40 memory tokens"),
    "Table 6: decoder and text prompt": (BASE, "FPN, text prompt", "deformable", "deformable, text prompt"),
    "Table 8: fusion": ("PWAN + LP", BASE),
    "Table 3: regular referring segmentation": ("true sentences alone", LAVT, BASE),
    "The two-stage baseline": ("two-stage", "blank 0, head none", BASE),
}
TRENDS: Final = (
    ("Table 4, vision as the query: 10 blank tokens above none by 4.1", BASE, "blank 0, head vision"),
    ("Table 4, vision as the query: 10 blank tokens above 5 by .4", BASE, "blank 5, head vision"),
    ("Table 4, 10 blank tokens: the head (vision) above none by 7.3", BASE, "blank 10, head none"),
    ("Table 4, 10 blank tokens: vision as the query above tokens by 2.0", BASE, "blank 10, head tokens"),
    ("Table 4: both above neither by 14.4", BASE, "blank 0, head none"),
    ("Table 5: three VLTFs above one by 6.7", BASE, "1 VLTF"),
    ("Table 5: three VLTFs above two by 2.8", BASE, "2 VLTFs"),
    ("Fig. 5: 20 memory tokens above 5", BASE, "5 memory tokens"),
    ("Fig. 5: 20 memory tokens above 10", BASE, "10 memory tokens"),
    ("Fig. 5: 20 memory tokens above 40, where the paper is saturated", BASE, "40 memory tokens"),
    ("Table 6: the deformable decoder above the FPN", "deformable", BASE),
    ("Table 6: the text prompt above none", "FPN, text prompt", BASE),
    ("Table 8: VLTF above PWAN + LP by 1.5", BASE, "PWAN + LP"),
    ("Table 3: trained on true sentences alone, above LAVT", "true sentences alone", LAVT),
    ("Sec. 4.1: above the two-stage baseline", BASE, "two-stage"),
)
"""What the paper has in rIoU (in Table 3, Table 6 and Fig. 5 in oIoU), and which row is to be above which."""
SCORES: Final[Mapping[str, Callable[[Iterable[SentenceAreas]], ReferringScore | Undefined]]] = {
    "mIoU": referring_miou,
    "mRR": mrr,
    "rIoU": riou,
    "P@.5": lambda areas: precision_at(areas, threshold=0.5),
    "P@.7": lambda areas: precision_at(areas, threshold=0.7),
    "P@.9": lambda areas: precision_at(areas, threshold=0.9),
    "oIoU": referring_oiou,
}


class Remembering(MobileStages):
    """A MobileNetV2 that keeps what its first two stages, which rest, made of each picture."""

    def __init__(self, kept: dict[int, tuple[torch.Tensor, torch.Tensor]]) -> None:
        super().__init__()
        self.kept = kept
        self.second = torch.empty(0)

    def forward(self, given: torch.Tensor, stage: int) -> torch.Tensor:
        """As its base."""
        if stage > 2:
            return super().forward(given, stage)
        if stage == 2:
            return self.second
        keys = [hash(one.numpy().tobytes()) for one in given]
        with torch.no_grad():
            for key, one in zip(keys, given, strict=True):
                if key not in self.kept:
                    first = super().forward(one[None], 1)
                    self.kept[key] = (first, super().forward(first, 2))
        self.second = torch.cat([self.kept[key][1] for key in keys])
        return torch.cat([self.kept[key][0] for key in keys])


KEPT: Final[dict[int, tuple[torch.Tensor, torch.Tensor]]] = {}


def base() -> SegmenterPlan:
    """The settings of the network that ships, at a smaller size."""
    plan = read_plan("mobile")
    return replace(plan, design=replace(plan.design, side=SIDE), vision=None, warmup=WARMUP, batch=BATCH)


def encoders(kind: str) -> dict[str, torch.Tensor]:
    """The weights of refsegformer-small's ``vision`` or ``text``, from its ONNX files.

    There the matrix of a linear layer is turned and has no name but that of the bias which is added to its product.
    """
    found: dict[str, torch.Tensor] = {}
    for path in (SHIPPED / STEM, SHIPPED / ANSWER):
        graph = onnx.load(path).graph
        values = {one.name: torch.from_numpy(onnx.numpy_helper.to_array(one).copy()) for one in graph.initializer}
        matrices = {node.output[0]: values.get(node.input[1]) for node in graph.node if node.op_type == "MatMul"}
        for node in graph.node:
            if node.op_type == "Add" and (matrix := matrices.get(node.input[1])) is not None:
                values[node.input[0].replace(".bias", ".weight")] = matrix.T
        begins = f"net.{kind}."
        found |= {name.removeprefix(begins): one for name, one in values.items() if name.startswith(begins)}
    return found


def segmenter(row: Row, references: list[Reference], *, seed: int) -> Trainable:
    """A new network, its encoders those of refsegformer-small."""
    plan = replace(base(), **row.plan)
    plan = replace(plan, design=replace(plan.design, **row.design))
    torch.manual_seed(int(generator(seed, "grid", "weights").integers(1 << 62)))
    made = build(row.model, plan, (text for one in references for text in (*one.true, *one.false)))
    if made.read.words != OnnxAnswering(SHIPPED).reading.words:
        raise RuntimeError("refsegformer-small is of other data: its words are others")
    resting = Remembering(KEPT)
    resting.load_state_dict(encoders("vision"))
    made.net.vision = resting
    made.net.text.load_state_dict(encoders("text"))
    return made


def learned(made: Trainable, references: list[Reference], *, seed: int, steps: int) -> Trainable:
    """Train for so many steps."""
    kept = [one for one in references if one.true] if made.plan.positives_only else references
    if made.plan.positives_only:
        kept = [replace(one, false=()) for one in kept]
    trainer = Trainer(made, Feed(kept, made.plan, seed=seed), seed=seed, steps=steps)
    began = time.monotonic()
    while trainer.step < steps:
        row = trainer.learn(trainer.feed.batch(trainer.step))
        if trainer.step % 100 == 0:
            print(
                f"  step {trainer.step} of {steps}, loss {row['loss']:.3f}, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    return made


def answered(
    net: Callable[..., Segmentation], read: Callable[[list[str]], Any], references: list[Reference], *, prompt: bool
) -> list[SentenceAreas]:
    """What a network paints for every sentence of the first pictures."""
    asked: list[tuple[Reference, str, bool]] = []
    pictures = sorted({one.moments[0].frame for one in references if one.true and one.false})[:MOST_PICTURES]
    for one in references:
        if one.moments[0].frame in pictures and one.true and one.false:
            for texts, exists in ((one.true, True), (one.false[:MOST_FALSE], False)):
                asked += [(one, text, exists) for text in ([" ".join(texts)] if prompt else texts)]
    found = []
    for at in range(0, len(asked), TOGETHER):
        part = asked[at : at + TOGETHER]
        frames = [read_frame(one.moments[0].frame) for one, _, _ in part]
        shown = torch.stack([torch.from_numpy(squeezed(frame, SIDE)) for frame in frames]).permute(0, 3, 1, 2) / 255
        with torch.no_grad():
            masks = predicted(net(shown, *read([text for _, text, _ in part])), (SIDE, SIDE)).numpy()
        for (one, text, exists), frame, mask in zip(part, frames, masks, strict=True):
            target = one.moments[0].target
            size = (frame.shape[0], frame.shape[1])
            true = truth(read_mask(target, size=size).mask, SIDE) if exists and target is not None else None
            if true is None or true.any():
                found.append(SentenceAreas.of(mask, true, reference=one.id, id=text, picture=str(one.moments[0].frame)))
    return found


def trained(name: str, references: list[Reference], *, options: argparse.Namespace, seed: int) -> Trainable:
    """The network of a row; those of the two-stage baseline are those of their own rows."""
    row = ROWS[name]
    if row.drawn_by:
        return trained(row.drawn_by, references, options=options, seed=seed)
    made = segmenter(row, references, seed=seed)
    folder = options.out / f"{name}, seed {seed}"
    if folder.exists():
        made.net.load_state_dict(read_model(folder).net.state_dict())
        return made
    learned(made, references, seed=seed, steps=options.steps)
    if name in KEPT_ROWS:
        made.save(folder)
    return made


class TwoStage(torch.nn.Module):
    """The two-stage baseline (Sec. 4.1): ``segmenter`` draws, ``classifier`` says whether the target is there."""

    def __init__(self, segmenter: torch.nn.Module, classifier: torch.nn.Module) -> None:
        super().__init__()
        self.segmenter, self.classifier = segmenter, classifier

    def forward(self, pictures: Any, ids: Sequence[Any], known: Sequence[Any]) -> Segmentation:
        """As ``Segmenter``, the sentence read by each network's own reader."""
        segmentation = self.segmenter(pictures, ids[0], known[0])
        return Segmentation(segmentation.masks, self.classifier(pictures, ids[1], known[1]).existence)


def run(
    name: str,
    options: argparse.Namespace,
    *,
    seed: int,
    references: list[Reference],
    tests: Mapping[str, list[Reference]],
) -> None:
    """Train and ask one row, unless that was done."""
    row, path = ROWS[name], options.out / f"{name}, seed {seed}.json".replace("/", " ")
    if path.exists():
        return
    print(f"{name}, seed {seed}", flush=True)
    made = [
        trained(part, references, options=options, seed=seed)
        for part in (name, *((row.judged_by,) if row.judged_by else ()))
    ]
    nets = [one.net.eval() for one in made]
    if len(made) == 1:
        net, read = nets[0], made[0].read
    else:
        net = TwoStage(*nets).eval()
        read = lambda texts: zip(*(one.read(texts) for one in made), strict=True)  # noqa: E731
    prompt = made[0].plan.text_prompt
    areas = {
        part: []
        if row.model == "existence"
        else [list(stored(one)) for one in answered(net, read, asked, prompt=prompt)]
        for part, asked in tests.items()
    }
    path.with_suffix(".part").write_text(json.dumps({"steps": options.steps, "side": SIDE, "areas": areas}))
    path.with_suffix(".part").replace(path)


STORED: Final = ("reference", "id", "picture", "both_px", "predicted_px", "truth_px", "picture_px")
stored: Final = operator.attrgetter(*STORED)


def read_areas(path: Path, part: str) -> list[SentenceAreas]:
    """What a run painted."""
    return [SentenceAreas(**dict(zip(STORED, one, strict=True))) for one in json.loads(path.read_text())["areas"][part]]


def over_seeds(
    metric: str, runs: list[list[SentenceAreas]]
) -> tuple[list[float], Mapping[Hashable, float], Mapping[Hashable, float]]:
    """The score of each seed, and the parts of its ratio summed over seeds, by unit."""
    scores = [found for one in runs if isinstance(found := SCORES[metric](one), ReferringScore)]
    parts: dict[Hashable, float] = {}
    over: dict[Hashable, float] = {}
    for one in scores:
        for unit, value in one.ratio[0].items():
            parts[unit] = parts.get(unit, 0.0) + value
            over[unit] = over.get(unit, 0.0) + one.ratio[1][unit]
    return [one.value for one in scores], parts, over


Seeds = dict[int, list[SentenceAreas]]
Interval = tuple[float, float, float]
"""Value, low, high."""


def report(out: Path, part: str) -> None:
    """Print means over seeds, each seed, and the difference from the base with 95 % intervals over pictures."""
    runs = {
        name: {int(path.stem[-1]): read_areas(path, part) for path in sorted(out.glob(f"{name}, seed ?.json"))}
        for name in ROWS
    }
    trends(runs, part)
    for title, names in TABLES.items():
        print(f"\n### {title}; {part}\n\n| | seeds | {' | '.join(SCORES)} |\n|---|---|{'---|' * len(SCORES)}")
        for name in names:
            if runs[name]:
                cells = (said(metric, runs[name], runs[BASE] if name != BASE else {}) for metric in SCORES)
                print(f"| {name} | {len(runs[name])} | {' | '.join(cells)} |")


def trends(runs: Mapping[str, Seeds], part: str) -> None:
    """Print which of the paper's orders hold: where interval and seeds are on one side."""
    header = ("in the paper", "seeds", "rIoU", "mRR", "mIoU", "oIoU", "in rIoU")
    print(f"\n### Orders of the paper; {part}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for paper, first, second in TRENDS:
        if not (runs[first] and runs[second]):
            continue
        cells, verdict = [], ""
        for metric in ("rIoU", "mRR", "mIoU", "oIoU"):
            found, seeds = gap(metric, runs[first], runs[second])
            each = f" ({', '.join(f'{100 * one:+.1f}' for one in seeds)})"
            cells.append((shown(found) if found else f"{100 * math.fsum(seeds) / len(seeds):+.1f}") + each)
            if found and metric == "rIoU":
                above = found[1] > 0 and min(seeds) > 0
                below = found[2] < 0 and max(seeds) < 0
                verdict = "as in the paper" if above else "the other way round" if below else "not told apart"
        print(f"| {paper} | {len(seeds)} | {' | '.join(cells)} | {verdict} |")


def shown(found: Interval) -> str:
    """A difference in percent with its interval."""
    value, low, high = (100 * one for one in found)
    return f"{value:+.1f} [{low:.1f}, {high:.1f}]"


def gap(metric: str, mine: Seeds, other: Seeds) -> tuple[Interval | None, list[float]]:
    """How far the first runs are above the second, of seeds that both have: the mean with an interval, and by seed.

    oIoU has no interval: it is one ratio of sums.
    """
    paired = [([mine[seed]], [other[seed]]) for seed in mine if seed in other]
    seeds = [over_seeds(metric, one)[0][0] - over_seeds(metric, two)[0][0] for one, two in paired]
    firsts, seconds = ([one for pair in paired for one in pair[at]] for at in (0, 1))
    (_, parts, over), (_, other_parts, other_over) = over_seeds(metric, firsts), over_seeds(metric, seconds)
    units = [unit for unit in parts if unit in other_parts]
    if metric == "oIoU" or not units:
        return None, seeds
    clusters = {
        key: one.picture
        for areas in (*firsts, *seconds)
        for one in areas
        for key in (one.reference, (one.reference, one.id))
    }
    gaps = {unit: parts[unit] / over[unit] - other_parts[unit] / other_over[unit] for unit in units}
    found = mean_ratio(gaps, clusters=clusters, rng=generator(0, "grid", metric))
    if not isinstance(found, Ratio) or found.low is None or found.high is None:
        return None, seeds
    return (found.value, found.low, found.high), seeds


def said(metric: str, mine: Seeds, base: Seeds) -> str:
    """A mean in percent, the seeds, and the difference from the base where that is another row."""
    values = over_seeds(metric, list(mine.values()))[0]
    text = f"{100 * math.fsum(values) / len(values):.1f} ({', '.join(f'{100 * one:.1f}' for one in values)})"
    found = gap(metric, mine, base)[0] if base else None
    return f"{text}; {shown(found)}" if found else text


def main() -> None:
    """Train what is missing, or print what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path)
    for part in PARTS:
        parser.add_argument(f"--{part}", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--only", default="", help="rows, with | between")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if options.report:
        for part in PARTS:
            report(options.out, part)
        return
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    references, _ = read_references(options.train, base())
    tests = {
        part: read_references(getattr(options, part), replace(base(), split=split))[0] for part, split in PARTS.items()
    }
    for seed in options.seeds:
        for name in options.only.split("|") if options.only else ROWS:
            run(name, options, seed=seed, references=references, tests=tests)


if __name__ == "__main__":
    main()
