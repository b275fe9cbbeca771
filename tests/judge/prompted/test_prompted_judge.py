"""The judge from frame and mask to verdict, with two tiny networks: complete, exact to repeat, and honest."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("onnx", reason="the extra `train` is not installed")

from tiny_judge import FRAME, LENSES, SIZE, TRUE, calibration, disc, members, verdicts_of

from auscult.arrays.error_map import values_of
from auscult.errors import InputError, UsageError
from auscult.judge.masks.compact.network import KnownFeatures
from auscult.judge.masks.compact.view import coverage
from auscult.judge.masks.prompted import PromptedJudge
from auscult.judge.masks.prompted.calibration import save_calibration
from auscult.judge.masks.prompted.network import MOST_BYTES, SURE, Evidence, Member, load_member, logits_of, prompt_of
from auscult.judge.masks.prompted.view import inputs, look
from auscult.types import DEFECTS, Box, Case, Frame, Mask, Prediction, Verdict

pytestmark = pytest.mark.extra_train


def with_pixels(mask: Mask, rows: slice, columns: slice, *, to: bool = False) -> Mask:
    changed_mask = mask.copy()
    changed_mask[rows, columns] = to
    return changed_mask


LOWER = with_pixels(TRUE, slice(60, None), slice(None))
MASKS = {
    "right": TRUE,
    "upper half": LOWER,
    "too much": with_pixels(TRUE, slice(50, 70), slice(100, 150), to=True),
    "small": disc(12),
    "at the border": disc(30, x=4, y=8),
    "two pieces": disc(14, x=40) | disc(14, x=120),
}
EMPTY, FULL = np.zeros(SIZE, np.bool_), np.ones(SIZE, np.bool_)
HAIRLINE, SPECK = with_pixels(EMPTY, slice(60, 62), slice(20, 140), to=True), disc(3)
FLAT = np.full((*SIZE, 3), 90, np.uint8)


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> list[Member]:
    return members(tmp_path_factory.mktemp("nets"))


@pytest.fixture(scope="module")
def judge(nets: list[Member]) -> PromptedJudge:
    return PromptedJudge(members=nets, calibration=calibration())


@pytest.fixture(scope="module")
def verdicts(judge: PromptedJudge) -> dict[str, Verdict]:
    return dict(zip(MASKS, verdicts_of(judge, *MASKS.values()), strict=True))


def test_a_verdict_is_complete(verdicts: dict[str, Verdict]) -> None:
    for verdict in verdicts.values():
        assert verdict.judge == "masks.prompted.v1"
        assert verdict.iou is not None
        assert verdict.iou_low is not None
        assert verdict.iou_high is not None
        assert 0 <= verdict.iou_low <= verdict.iou <= verdict.iou_high <= 1
        assert verdict.prob_iou_80 is not None
        assert verdict.prob_iou_50 is not None
        assert 0 <= verdict.prob_iou_80 <= verdict.prob_iou_50 <= 1
        assert tuple(verdict.defect_probs) == DEFECTS
        assert sum(verdict.defect_probs.values()) == pytest.approx(1)
        assert verdict.defect == max(verdict.defect_probs, key=lambda name: verdict.defect_probs[name])
        assert 0 <= verdict.novelty < 1
        assert (verdict.evidence.shape, verdict.evidence.boundary, verdict.evidence.identity) == (True, True, False)
        assert verdict.rationale.endswith("identity not checked.")
        assert verdict.error_map is not None
        assert verdict.error_map.side == 64
        assert verdict.action is None
    assert [verdict.id for verdict in verdicts.values()] == [str(index) for index in range(len(MASKS))]
    assert np.ptp([verdict.iou for verdict in verdicts.values()]) > 0.01, "the networks do not look"


def test_several_at_once_are_judged_as_one_by_one(judge: PromptedJudge) -> None:
    masks = [*MASKS.values(), EMPTY, HAIRLINE, FULL]
    alone = [judge(Case(id=str(index), frame=FRAME), Prediction(mask)) for index, mask in enumerate(masks)]
    together_verdicts = verdicts_of(judge, *masks, *masks)  # more than go through the networks at once
    assert len(together_verdicts) == 2 * len(masks) > 16
    for index, verdict in enumerate(together_verdicts):
        other = alone[index % len(masks)]
        for name in ("iou", "iou_low", "iou_high", "prob_iou_80", "prob_iou_50", "novelty"):
            assert getattr(verdict, name) == pytest.approx(getattr(other, name), abs=1e-5)
        assert dict(verdict.defect_probs) == pytest.approx(dict(other.defect_probs), abs=1e-5)
        assert (verdict.defect, verdict.evidence, verdict.id) == (other.defect, other.evidence, str(index))
    assert judge.batch([], []) == []


def test_what_is_judged_does_not_hang_on_the_rest_of_the_picture_list(judge: PromptedJudge) -> None:
    bright = np.clip(FRAME.astype(int) + 60, 0, 255).astype(np.uint8)
    cases = [Case(id="a", frame=FRAME), Case(id="b", frame=bright)]
    verdicts_ = judge.batch(cases, [Prediction(TRUE)] * 2)
    assert verdicts_[0].iou == pytest.approx(verdicts_of(judge, TRUE)[0].iou, abs=1e-5)
    assert verdicts_[0].iou != pytest.approx(verdicts_[1].iou, abs=1e-4)


def test_an_empty_mask_is_empty_by_rule(judge: PromptedJudge) -> None:
    (verdict,) = verdicts_of(judge, EMPTY)
    assert (verdict.defect, verdict.iou, verdict.iou_low, verdict.iou_high) == ("empty", None, None, None)
    assert (verdict.prob_iou_80, verdict.prob_iou_50, dict(verdict.defect_probs)) == (None, None, {})


@pytest.mark.parametrize(
    ("mask", "frame"), [(FULL, FRAME), (HAIRLINE, FRAME), (SPECK, FRAME), (TRUE, FLAT)],
    ids=["full frame", "hairline", "speck", "flat picture"],
)  # fmt: skip
def test_what_cannot_be_looked_at_is_not_judged_and_says_so(judge: PromptedJudge, mask: Mask, frame: Frame) -> None:
    between = judge.batch([Case(id="0", frame=FRAME), Case(id="1", frame=frame)], [Prediction(TRUE), Prediction(mask)])
    assert between[0] == verdicts_of(judge, TRUE)[0]
    (verdict,) = verdicts_of(judge, mask, frame=frame)
    assert (verdict.iou, verdict.iou_low, verdict.iou_high, verdict.defect) == (None, None, None, None)
    assert (verdict.prob_iou_80, verdict.prob_iou_50, dict(verdict.defect_probs)) == (None, None, {})
    assert (verdict.error_map, verdict.region, verdict.novelty) == (None, None, 1)
    assert re.search("too small or too thin|fills the frame|shows nothing", verdict.rationale)


def test_what_is_unlike_the_calibration_masks_is_novel(nets: list[Member], verdicts: dict[str, Verdict]) -> None:
    near_features = KnownFeatures(centre=np.zeros(64), precision=np.eye(64), distances=(1e-3, 2e-3, 3e-3))
    (far_verdict,) = verdicts_of(
        PromptedJudge(members=nets, calibration=calibration(known=near_features, mixing=1.0)), TRUE
    )
    assert far_verdict.novelty == 1
    assert far_verdict.iou == pytest.approx(0.5)  # the prior's
    (wide,) = verdicts_of(PromptedJudge(members=nets, calibration=calibration(spread=(0.0, 1e-5, 2e-5))), TRUE)
    assert wide.novelty == 1
    assert wide.iou == pytest.approx(verdicts["right"].iou)


def test_two_likely_defects_are_said_to_be_mixed(nets: list[Member]) -> None:
    offsets = (-9.0, 1.1, 1.0, -9.0, -9.0, -9.0)
    (verdict,) = verdicts_of(
        PromptedJudge(members=nets, calibration=calibration(temperature=1e-3, offsets=offsets)), TRUE
    )
    assert verdict.rationale.startswith("Mixed (cutout and dilate): ")
    assert verdict.defect == "cutout"


def test_the_defect_classifier_has_a_say_in_the_types_only(nets: list[Member], verdicts: dict[str, Verdict]) -> None:
    (alone,) = verdicts_of(
        PromptedJudge(members=nets, calibration=calibration(temperature=1e-3, classifier_temperature=1.0)), TRUE
    )
    (joint,) = verdicts_of(PromptedJudge(members=nets, calibration=calibration(classifier_temperature=1.0)), TRUE)
    own_verdict = verdicts["right"]
    expected = {name: own_verdict.defect_probs[name] * alone.defect_probs[name] for name in DEFECTS}
    assert {name: value / sum(expected.values()) for name, value in expected.items()} == pytest.approx(
        dict(joint.defect_probs), abs=0.01
    )
    assert (joint.iou, joint.iou_low, joint.prob_iou_80) == pytest.approx(
        (own_verdict.iou, own_verdict.iou_low, own_verdict.prob_iou_80)
    )


@pytest.mark.parametrize(
    ("frame", "mask"),
    [
        (FRAME, TRUE[:-1]),
        (FRAME, TRUE.astype(np.uint8)),
        (FRAME[..., 0], TRUE),
        (FRAME.astype(np.float32), TRUE),
        (FRAME[..., [0, 1, 2, 0]], TRUE),
    ],
    ids=["size", "mask type", "grey", "frame type", "channels"],
)
def test_what_does_not_fit_is_refused(judge: PromptedJudge, frame: Frame, mask: Mask) -> None:
    good = Case(id="good", frame=FRAME), Prediction(TRUE)
    with pytest.raises(InputError, match="has shape"):
        judge.batch([good[0], Case(id="bad", frame=frame)], [good[1], Prediction(mask)])


def test_networks_and_calibration_belong_together(nets: list[Member]) -> None:
    for given_parts in ({"members": nets}, {"calibration": calibration()}):
        with pytest.raises(UsageError, match="belong together"):
            PromptedJudge(**given_parts)  # type: ignore[arg-type]


# ---- the networks' files


def test_a_member_says_what_it_is(nets: list[Member]) -> None:
    assert tuple(net.lens for net in nets) == LENSES
    assert load_member(nets[0].path, nets[0].digest).digest == nets[0].digest
    assert load_member(nets[0].path) is nets[0]


def test_a_file_of_another_run_is_refused(nets: list[Member]) -> None:
    with pytest.raises(UsageError, match=f"weights {nets[1].digest[:12]}, the calibration is for {'0' * 12}") as error:
        load_member(nets[1].path, "0" * 64)
    assert error.value.path == str(nets[1].path)


@pytest.mark.parametrize("fault", ["missing", "empty", "text", "cut off", "too large", "no lens", "another lens"])
def test_a_file_that_is_no_network_is_refused_by_name(nets: list[Member], tmp_path: Path, fault: str) -> None:
    path = tmp_path / "member.onnx"
    whole_file = nets[0].path.read_bytes()
    if fault == "too large":
        with path.open("wb") as file:
            file.truncate(MOST_BYTES + 1)
    elif "lens" in fault:
        import onnx

        shutil.copyfile(nets[0].path, path)
        model = onnx.load(str(path))
        del model.metadata_props[:]
        if fault == "another lens":
            model.metadata_props.add(key="lens", value='{"side": 96, "margin": 1.5}')
        onnx.save(model, str(path))
    elif fault != "missing":
        path.write_bytes({"empty": b"", "text": b"no network", "cut off": whole_file[: len(whole_file) // 2]}[fault])
    with pytest.raises(UsageError) as error:
        load_member(path)
    assert error.value.path == str(path)
    assert {"too large": "bytes", "no lens": "how it looks", "another lens": "inputs"}.get(fault, "") in str(
        error.value
    )


def test_numbers_that_are_not_finite_are_refused(nets: list[Member]) -> None:
    network_inputs = inputs([look(FRAME, TRUE, LENSES[0])])
    with pytest.raises(UsageError, match="not finite"):
        nets[0]({**network_inputs, "crop": np.full_like(network_inputs["crop"], np.nan)})


# ---- another segmenter's answers


class Draws:
    """A segmenter that always draws the same, and keeps what it was asked."""

    name = "draws"

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.prompts: list[tuple[Box, list[tuple[int, int]]]] = []

    def __call__(self, frame: Frame, box: Box, points: Sequence[tuple[int, int]]) -> Mask:
        assert frame.shape == (*SIZE, 3)
        self.prompts.append((box, list(points)))
        return self.mask


@pytest.mark.parametrize("name", ["right", "upper half", "too much"])
def test_another_segmenters_answer_counts_instead_of_the_networks(nets: list[Member], name: str) -> None:
    draws = Draws(TRUE)
    own_judge = PromptedJudge(members=nets, calibration=calibration())
    judge_with_evidence = PromptedJudge(members=nets, calibration=calibration(), evidence=Evidence(draws))
    mask = MASKS[name]
    (plain,), (verdict,) = verdicts_of(own_judge, mask), verdicts_of(judge_with_evidence, mask)
    assert verdict.error_map is not None
    map_values = values_of(verdict.error_map)
    true, held_share = (coverage(mask_, verdict.error_map.box, 64) / 255 for mask_ in (TRUE, mask))
    for wrong, sign in (((true == 1) & (held_share == 0), 1), ((true == 0) & (held_share == 1), -1)):
        inner = cv2.erode(wrong.view(np.uint8), np.ones((5, 5), np.uint8)) > 0  # the networks' grid is coarser
        assert (sign * map_values[inner] > 0.9).all()
        assert inner.any() == (name == {1: "upper half", -1: "too much"}[sign])
    agreeing = cv2.erode((true == held_share).view(np.uint8), np.ones((5, 5), np.uint8), borderValue=1) > 0
    assert (map_values[agreeing] == 0).all()
    assert (map_values != 0).any() == (name != "right")
    assert plain.error_map is not None
    assert values_of(plain.error_map).tolist() != map_values.tolist()
    assert verdict.iou != pytest.approx(plain.iou, abs=1e-6), "the heads do not look at the answer"
    assert draws.prompts == [prompt_of(mask)]


@given(arrays(np.bool_, st.tuples(st.integers(1, 20), st.integers(1, 20))).filter(np.any))
def test_points_lie_inside_the_candidate(mask: Mask) -> None:
    (x0, y0, x1, y1), points = prompt_of(mask)
    rows, columns = np.nonzero(mask)
    assert (x0, y0, x1, y1) == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    assert 1 <= len(points) <= 3
    assert all(mask[y, x] for x, y in points)
    assert len(set(points)) == len(points)


def test_points_are_deep_and_far_from_one_another() -> None:
    _, points = prompt_of(disc(10, x=30) | disc(14, x=110))
    assert np.allclose(points[0], (110, 60), atol=1)
    assert np.allclose(points[1], (30, 60), atol=1)


def test_a_mask_as_logits_is_sure_inside_and_outside() -> None:
    logits = logits_of(TRUE, (16, -4, 144, 124), 64)
    assert logits.shape == (1, 64, 64)
    assert logits[0, 32, 32] == SURE == 4
    assert logits[0, 2, 2] == logits[0, 63, 63] == -SURE
    assert set(np.unique(np.abs(logits) <= SURE)) == {True}


def test_fitted_files_are_the_judge_of_their_folder(
    nets: list[Member], verdicts: dict[str, Verdict], tmp_path: Path
) -> None:
    digests = tuple(member.digest for member in nets)
    for name, weights in (("right", digests), ("wrong", digests[::-1])):
        folder = tmp_path / name
        folder.mkdir()
        for net in nets:
            shutil.copyfile(net.path, folder / net.path.name)
        save_calibration(calibration(weights=weights), folder / "calibration.json")
    fitted_judge = PromptedJudge().fitted(tmp_path / "right")
    (verdict_again,) = verdicts_of(fitted_judge, TRUE)
    assert verdict_again.iou == pytest.approx(verdicts["right"].iou, abs=1e-5)
    assert fitted_judge.prob_shift == 0.4
    with pytest.raises(UsageError, match="the calibration is for"):
        PromptedJudge().fitted(tmp_path / "wrong")
