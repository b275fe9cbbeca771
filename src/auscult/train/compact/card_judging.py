"""What judges and baselines say of the masks of a set, as arrays: what a card's numbers are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.act.policy import DEFAULT, action_of
from auscult.rng import generator
from auscult.train import material
from auscult.train.material import Sample
from auscult.train.split import Part, committed
from auscult.types import DEFECTS, Case, MaskJudge, Prediction, Verdict

PERFECT: Final = "always-perfect"
CONSTANT: Final = "constant-IoU"
RANDOM: Final = "random"
FULL_NEG: Final = "full_neg"
ARBITRARY: Final = "arbitrary"

_EVERY: Final = 4
_CROSS: Final = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))

Floats = NDArray[np.float64]
Names = NDArray[np.str_]
Heard: TypeAlias = Callable[[str, Sample, Verdict], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Said:
    """What one row says of the masks of a set, each (n,).

    Attributes:
        iou: Estimated IoU, 0..1.
        low: Lower end of the 90 % interval; NaN from rows that give none.
        high: Upper end.
        defect: The type; an empty text from rows that name none.
        action: What the policy ``default`` does; an empty text from rows that name no type.
    """

    iou: Floats
    low: Floats
    high: Floats
    defect: Names
    action: Names

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Whether the mask is accepted as it is; False from rows that name no type."""
        return np.asarray(self.action == "accept")

    @property
    def bounded(self) -> bool:
        """Whether the row gives intervals."""
        return not np.isnan(self.low).any()

    @property
    def named(self) -> bool:
        """Whether the row names types."""
        return bool((self.defect != "").all())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """The masks of a set and what was said of them, each (n,).

    Attributes:
        name: The set's name.
        source: ``coco``, ``davis``, ``real`` or ``scenes``.
        cluster: Photograph, sequence or scene.
        item: Which object of which picture.
        defect: The true type; ``arbitrary`` for masks on no object; a model's name for real masks.
        difficulty: ``hard``, ``medium``, ``easy`` or an empty text.
        iou: True IoU.
        side_px: Square root of the true mask's area.
        off_px: Pixels in which candidate and true mask differ, per pixel of the true outline: how far the outline is
            off, where it is off all round.
        rows: What each row says, by the row's name.
    """

    name: str
    source: str
    cluster: Names
    item: Names
    defect: Names
    difficulty: Names
    iou: Floats
    side_px: Floats
    off_px: Floats
    rows: Mapping[str, Said]

    def __len__(self) -> int:
        return len(self.iou)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baselines:
    """What rows that look at nothing say, by source of masks.

    Attributes:
        constants: Mean IoU of the training part's masks without full_neg, rounded as on the card.
        held: IoUs of the calibration part's masks without full_neg, ascending: where constant intervals come from.
    """

    constants: Mapping[str, float]
    held: Mapping[str, tuple[float, ...]]

    def constant(self, source: str) -> float:
        """The constant of a source; scenes have that of photographs."""
        return self.constants.get(source, self.constants["coco"])

    def ious(self, source: str) -> Floats:
        """The calibration IoUs of a source; scenes have those of photographs."""
        return np.array(self.held.get(source, self.held["coco"]))


def baselines(data: Path, *, seed: int) -> Baselines:
    """Make the masks of the training and the calibration part and keep their IoUs.

    Args:
        data: The folder of real material.
        seed: Seed of the masks.

    Raises:
        InputError: The data is missing or broken.
    """
    train, held = _ious(data, "train", seed=seed), _ious(data, "calibration", seed=seed)
    return Baselines(
        constants={source: round(float(np.mean(values)), 4) for source, values in train.items()},
        held={source: tuple(sorted(values)) for source, values in held.items()},
    )


def _ious(data: Path, part: Part, *, seed: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    photographs, sequences = committed()["coco"][part], committed()["davis"][part]
    for sample in _all(
        material.coco(data, photographs, seed=seed, alone=True),
        material.davis(data, sequences, seed=seed, every=_EVERY),
        material.real(data, sequences),
    ):
        if sample.defect != FULL_NEG:
            found.setdefault(sample.source, []).append(sample.iou)
    return found


def _all(*parts: Iterable[Sample]) -> Iterator[Sample]:
    for part in parts:
        yield from part


def judged(
    name: str,
    samples: Iterable[Sample],
    *,
    judges: Sequence[MaskJudge],
    known: Baselines,
    seed: int,
    heard: Heard | None = None,
) -> Measured | None:
    """Show every mask to every judge, alone, and add the rows that look at nothing.

    Args:
        name: The set's name.
        samples: Its masks; empty ones are left out, since a rule settles them.
        judges: Who judges.
        known: What the baselines say.
        seed: Seed of the random row.
        heard: Is told of each mask and the first judge's verdict.

    Returns:
        Everything that was said; None where the set holds no mask.
    """
    kept: list[tuple[str, str, str, str, float, float, float]] = []
    verdicts: dict[str, list[Verdict]] = {judge.name: [] for judge in judges}
    source = ""
    for number, sample in enumerate(one for one in samples if one.mask.any()):
        source = sample.source
        kept.append(
            (sample.cluster, sample.name, sample.defect, sample.difficulty or "", sample.iou, *_side_and_offset(sample))
        )
        for judge in judges:
            said = judge(Case(id=str(number), frame=sample.frame), Prediction(sample.mask))
            verdicts[judge.name].append(said)
            if heard is not None and judge is judges[0]:
                heard(name, sample, said)
    if not kept:
        return None
    cluster, item, defect, difficulty, iou, side_px, off_px = zip(*kept, strict=True)
    rows = {judge: said_by(found) for judge, found in verdicts.items()}
    return Measured(
        name=name,
        source=source,
        cluster=np.array(cluster),
        item=np.array(item),
        defect=np.array(defect),
        difficulty=np.array(difficulty),
        iou=np.array(iou, dtype=np.float64),
        side_px=np.array(side_px, dtype=np.float64),
        off_px=np.array(off_px, dtype=np.float64),
        rows={**rows, **unseeing(len(kept), known.constant(source), seed=seed, name=name)},
    )


def _side_and_offset(sample: Sample) -> tuple[float, float]:
    truth = sample.mask if sample.truth is None else sample.truth
    area = int(np.count_nonzero(truth))
    outline = area - int(np.count_nonzero(cv2.erode(truth.view(np.uint8), _CROSS, borderValue=0)))
    return float(np.sqrt(area)), int(np.count_nonzero(sample.mask ^ truth)) / max(outline, 1)


def said_by(verdicts: Sequence[Verdict]) -> Said:
    """A judge's verdicts as arrays; none may be without an estimate."""
    return Said(
        iou=np.array([one.iou for one in verdicts], dtype=np.float64),
        low=np.array([one.iou_low for one in verdicts], dtype=np.float64),
        high=np.array([one.iou_high for one in verdicts], dtype=np.float64),
        defect=np.array([one.defect for one in verdicts]),
        action=np.array([_action(one.defect, one.iou) for one in verdicts]),
    )


def unseeing(count: int, constant: float, *, seed: int, name: str) -> dict[str, Said]:
    """The rows that look at nothing: always perfect, one IoU for all, drawn evenly.

    Args:
        count: Masks of the set.
        constant: What the constant row says.
        seed: Seed of the random row.
        name: The set's name.
    """
    nothing, silent = np.full(count, np.nan), np.full(count, "")
    rng = generator(seed, "compact", "card", "random", name)
    drawn, types = rng.random(count), np.array(DEFECTS)[rng.integers(len(DEFECTS), size=count)]
    actions = np.array([_action(one, float(iou)) for one, iou in zip(types.tolist(), drawn, strict=True)])
    perfect, accept = np.full(count, "perfect"), np.full(count, "accept")
    return {
        PERFECT: Said(iou=np.ones(count), low=nothing, high=nothing, defect=perfect, action=accept),
        CONSTANT: Said(iou=np.full(count, constant), low=nothing, high=nothing, defect=silent, action=silent),
        RANDOM: Said(iou=drawn, low=nothing, high=nothing, defect=types, action=actions),
    }


def _action(defect: object, iou: float | None) -> str:
    known = next(name for name in DEFECTS if name == defect)
    return action_of(DEFAULT, defect=known, iou=iou)[0]
