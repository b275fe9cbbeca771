"""A judge without a network and a few drawn masks, to measure a card in a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from auscult.cases.scenes.assets import GENERATED
from auscult.train.compact.card_judging import Baselines, Measured, judged
from auscult.train.compact.card_sets import Amounts, scenes
from auscult.train.material import Sample
from auscult.types import DEFECTS, Case, Defect, Evidence, MaskJudge, Metadata, Prediction, Verdict

KNOWN = Baselines(
    constants={"coco": 0.8, "davis": 0.85, "real": 0.7},
    held={"coco": tuple(np.linspace(0.5, 1, 50).tolist()), "real": tuple(np.linspace(0.2, 1, 40).tolist())},
)


class Guesser:
    """Says something that follows from the mask's area; knows nothing."""

    name = "masks.guesser.v1"
    meta = Metadata(summary="a guess", goal="none", modality="mask", source="tests")

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        area = int(np.count_nonzero(prediction.mask))
        iou = (area % 97) / 96
        defect: Defect = DEFECTS[area % 5]
        return Verdict(
            id=case.id,
            iou=iou,
            iou_low=max(0.0, iou - 0.3),
            iou_high=min(1.0, iou + 0.3),
            defect=defect,
            defect_probs={name: float(name == defect) for name in DEFECTS},
            evidence=Evidence(shape=True),
            rationale=f"a guess at <b>{area}</b> | px",
            judge=self.name,
        )


GUESSER: MaskJudge = Guesser()


def samples() -> Iterator[Sample]:
    """The defects of three small drawn scenes."""
    yield from scenes(GENERATED, "test_s", name="generated", seed=5, amounts=Amounts(scenes=3, size=(160, 240)))


def measured(kept: Sequence[Sample], name: str = "generated_test_s") -> Measured:
    """What the guesser says of some masks."""
    found = judged(name, kept, judges=[GUESSER], known=KNOWN, seed=1)
    assert found is not None
    return found
