"""The laws of mask judges: purity, determinism, an interval round the estimate, honest evidence, a measured card.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES)
    def test_contract(check, example):
        check("masks.cues.v1", *EXAMPLES[example])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from auscult import registry
from auscult.judge.cards import Card, Result, require_card
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.stats import rmse
from auscult.stress import masks
from auscult.testing import require
from auscult.types import (
    DEFECTS,
    Case,
    Evidence,
    Frame,
    Mask,
    MaskJudge,
    MaskTarget,
    Metadata,
    Prediction,
    Query,
    Verdict,
)

SHAPE = (120, 160)


def _ellipse(centre: tuple[int, int], half: tuple[int, int]) -> Mask:
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    return ((rows - centre[0]) / half[0]) ** 2 + ((columns - centre[1]) / half[1]) ** 2 <= 1


def _painted(objects: tuple[Mask, ...], seed: int) -> Frame:
    """Objects of random colours on another one, with noise."""
    rng = generator(seed, "contract picture")
    frame = np.empty((*SHAPE, 3), np.float64)
    frame[:] = rng.integers(40, 216, 3)
    for mask in objects:
        frame[mask] = rng.integers(0, 256, 3)
    frame += rng.normal(0, 6, frame.shape)
    return np.clip(frame, 0, 255).astype(np.uint8)


def _examples() -> dict[str, tuple[Case, Prediction]]:
    good, other = _ellipse((60, 60), (35, 28)), _ellipse((50, 125), (20, 18))
    frame = _painted((good, other), 1)
    grey = np.repeat(frame[..., :1], 3, axis=2)
    pixel, empty, full = np.zeros(SHAPE, bool), np.zeros(SHAPE, bool), np.ones(SHAPE, bool)
    pixel[40, 50] = True
    text = Query("the blob on the left")
    return {
        "good": (Case(id="good", frame=frame, query=text, others=(other,)), Prediction(good)),
        "wrong object": (Case(id="wrong", frame=frame, query=text), Prediction(other)),
        "two objects": (Case(id="merge", frame=frame, others=(other,)), Prediction(good | other)),
        "grey frame": (Case(id="grey", frame=grey), Prediction(good)),
        "one pixel": (Case(id="pixel", frame=frame), Prediction(pixel)),
        "empty": (Case(id="empty", frame=frame), Prediction(empty)),
        "full": (Case(id="full", frame=frame), Prediction(full)),
        "flat frame": (Case(id="flat", frame=np.full_like(frame, 128)), Prediction(good)),
        "tiny frame": (Case(id="tiny", frame=frame[:2, :3].copy()), Prediction(np.array([[1, 0, 0], [1, 1, 0]], bool))),
    }


EXAMPLES: Mapping[str, tuple[Case, Prediction]] = _examples()


def describes_itself(name: str, case: Case, prediction: Prediction) -> None:
    """It has its registry name, complete metadata, and a card that was measured."""
    del case, prediction
    judge = registry.load("judge", name)
    require(isinstance(judge, MaskJudge), "has name, meta and is callable")
    require(judge.name == name, f"its name is {judge.name!r}, the registry's {name!r}")
    require(isinstance(judge.meta, Metadata), "meta is a Metadata")
    require(judge.meta.summary and judge.meta.goal and judge.meta.source, "summary, goal and source are not empty")
    require(require_card(judge).judge == name, "the card is its own")


def leaves_its_input_alone(name: str, case: Case, prediction: Prediction) -> None:
    """Frame, masks and other objects are unchanged."""
    arrays = (case.frame, prediction.mask, *case.others)
    before = [array.tobytes() for array in arrays]
    _verdict(name, case, prediction)
    require([array.tobytes() for array in arrays] == before, "frame and masks are unchanged")


def says_the_same_twice(name: str, case: Case, prediction: Prediction) -> None:
    """The same input gives the same verdict, but for the seconds it took."""
    first, second = (replace(_verdict(name, case, prediction), seconds=0.0) for _ in range(2))
    require(first == second, "the same input, the same verdict")


def gives_a_sound_verdict(name: str, case: Case, prediction: Prediction) -> None:
    """Probabilities of six defects and an interval that holds the estimate, or neither; a sentence, its own name."""
    verdict = _verdict(name, case, prediction)
    require(verdict.id == case.id, "the verdict is of the case")
    require(verdict.judge == name, "the verdict names its judge")
    require(verdict.rationale.strip(), "there is a sentence")
    require(math.isfinite(verdict.novelty) and 0 <= verdict.novelty <= 1, "novelty is 0..1")
    if not prediction.mask.any():
        require(verdict.defect == "empty" and not verdict.defect_probs, "an empty mask is `empty`, by rule")
        return
    if verdict.defect is None:
        require(verdict.iou is None and not verdict.defect_probs, "what is not judged has no IoU and no defect")
        return
    require(set(verdict.defect_probs) == set(DEFECTS), "there is a probability for each of the six defects")
    require(math.isclose(sum(verdict.defect_probs.values()), 1.0, abs_tol=1e-6), "the probabilities sum to 1")
    require(min(verdict.defect_probs.values()) >= 0, "no probability is negative")
    low, iou, high = verdict.iou_low, verdict.iou, verdict.iou_high
    require(low is not None and iou is not None and high is not None, "there are an estimate and an interval")
    require(0 <= (low or 0) <= (iou or 0) <= (high or 0) <= 1, f"0 <= {low} <= {iou} <= {high} <= 1")


def is_honest_about_evidence(name: str, case: Case, prediction: Prediction) -> None:
    """It does not claim to have checked what it was not given."""
    evidence = _verdict(name, replace(case, query=Query()), prediction).evidence
    require(isinstance(evidence, Evidence), "evidence is an Evidence")
    require(not evidence.identity, "without an expression, identity cannot have been checked")
    require(not evidence.sound, "without sound, sound cannot have been checked")


CHECKS: tuple[Callable[[str, Case, Prediction], None], ...] = (
    describes_itself,
    leaves_its_input_alone,
    says_the_same_twice,
    gives_a_sound_verdict,
    is_honest_about_evidence,
)


def measured_on_generated(judge: MaskJudge, *, pictures: int = 24, seed: int = 0) -> Card:
    """Measure a judge on generated pictures: a first card for a new judge, no measure for real photographs.

    Args:
        judge: The judge.
        pictures: How many pictures are painted, two objects in each.
        seed: The same seed paints the same pictures.

    Returns:
        A card with the RMSE of the judge and of always saying 1.
    """
    predicted, true = [], []
    for number in range(pictures):
        target, other = _ellipse((60, 55), (25 + number % 12, 30)), _ellipse((60, 125), (20, 12 + number % 9))
        frame = _painted((target, other), seed + number)
        outcomes = masks.variants(MaskTarget(mask=target, others=(other,)), seed=seed, key=str(number))
        for _, _, _, outcome in outcomes:
            if isinstance(outcome, Scored) and outcome.value.truth.iou is not None:
                verdict = judge(Case(id=str(number), frame=frame, others=(other,)), Prediction(outcome.value.output))
                predicted.append(verdict.iou or 0.0)
                true.append(outcome.value.truth.iou)
    rows = ((judge.name, predicted), ("always perfect", [1.0] * len(true)))
    return Card(
        judge=judge.name,
        summary=judge.meta.summary,
        data=("generated: painted ellipses with noise and their stressed masks",),
        split=("all of it is test",),
        sets={"generated": f"{pictures} painted pictures"},
        metrics={"rmse": "root mean square error of the IoU estimate, lower is better"},
        seed=seed,
        not_for=("any claim about photographs: it was measured on painted pictures only",),
        results=tuple(_result(row, values, true, pictures=pictures) for row, values in rows),
    )


def _result(row: str, predicted: list[float], true: list[float], *, pictures: int) -> Result:
    error = rmse(predicted, true)
    value = round(error.value, 6) if isinstance(error, Scored) else None
    return Result(
        set="generated", row=row, metric="rmse", value=value, low=None, high=None, n=len(true), clusters=pictures
    )


def _verdict(name: str, case: Case, prediction: Prediction) -> Verdict:
    judge = registry.load("judge", name)
    verdict = judge(case, prediction)
    require(isinstance(verdict, Verdict), "a judge returns a Verdict")
    checked: Verdict = verdict
    return checked
