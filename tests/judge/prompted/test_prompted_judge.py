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

from tiny_judge import FRAME, LENSES, SIZE, TRUE, calibration, disc, judged, members

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


def cut(mask: Mask, rows: slice, columns: slice, *, to: bool = False) -> Mask:
    changed = mask.copy()
    changed[rows, columns] = to
    return changed


LOWER = cut(TRUE, slice(60, None), slice(None))
MASKS = {
    "right": TRUE,
    "upper half": LOWER,
    "too much": cut(TRUE, slice(50, 70), slice(100, 150), to=True),
    "small": disc(12),
    "at the border": disc(30, x=4, y=8),
    "two pieces": disc(14, x=40) | disc(14, x=120),
}
EMPTY, FULL = np.zeros(SIZE, np.bool_), np.ones(SIZE, np.bool_)
HAIRLINE, SPECK = cut(EMPTY, slice(60, 62), slice(20, 140), to=True), disc(3)
FLAT = np.full((*SIZE, 3), 90, np.uint8)


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> list[Member]:
    return members(tmp_path_factory.mktemp("nets"))


@pytest.fixture(scope="module")
def judge(nets: list[Member]) -> PromptedJudge:
    return PromptedJudge(members=nets, calibration=calibration())


@pytest.fixture(scope="module")
def verdicts(judge: PromptedJudge) -> dict[str, Verdict]:
    return dict(zip(MASKS, judged(judge, *MASKS.values()), strict=True))


def test_a_verdict_is_complete(verdicts: dict[str, Verdict]) -> None:
    for one in verdicts.values():
        assert one.judge == "masks.prompted.v1"
        assert one.iou is not None
        assert one.iou_low is not None
        assert one.iou_high is not None
        assert 0 <= one.iou_low <= one.iou <= one.iou_high <= 1
        assert one.prob_iou_80 is not None
        assert one.prob_iou_50 is not None
        assert 0 <= one.prob_iou_80 <= one.prob_iou_50 <= 1
        assert tuple(one.defect_probs) == DEFECTS
        assert sum(one.defect_probs.values()) == pytest.approx(1)
        assert one.defect == max(one.defect_probs, key=lambda name: one.defect_probs[name])
        assert 0 <= one.novelty < 1
        assert (one.evidence.shape, one.evidence.boundary, one.evidence.identity) == (True, True, False)
        assert one.rationale.endswith("identity not checked.")
        assert one.error_map is not None
        assert one.error_map.side == 64
        assert one.action is None
    assert [one.id for one in verdicts.values()] == [str(at) for at in range(len(MASKS))]
    assert np.ptp([one.iou for one in verdicts.values()]) > 0.01, "the networks do not look"


def test_several_at_once_are_judged_as_one_by_one(judge: PromptedJudge) -> None:
    some = [*MASKS.values(), EMPTY, HAIRLINE, FULL]
    alone = [judge(Case(id=str(at), frame=FRAME), Prediction(mask)) for at, mask in enumerate(some)]
    together = judged(judge, *some, *some)  # more than go through the networks at once
    assert len(together) == 2 * len(some) > 16
    for at, one in enumerate(together):
        other = alone[at % len(some)]
        for name in ("iou", "iou_low", "iou_high", "prob_iou_80", "prob_iou_50", "novelty"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-5)
        assert dict(one.defect_probs) == pytest.approx(dict(other.defect_probs), abs=1e-5)
        assert (one.defect, one.evidence, one.id) == (other.defect, other.evidence, str(at))
    assert judge.batch([], []) == []


def test_what_is_judged_does_not_hang_on_the_rest_of_the_picture_list(judge: PromptedJudge) -> None:
    bright = np.clip(FRAME.astype(int) + 60, 0, 255).astype(np.uint8)
    cases = [Case(id="a", frame=FRAME), Case(id="b", frame=bright)]
    found = judge.batch(cases, [Prediction(TRUE)] * 2)
    assert found[0].iou == pytest.approx(judged(judge, TRUE)[0].iou, abs=1e-5)
    assert found[0].iou != pytest.approx(found[1].iou, abs=1e-4)


def test_an_empty_mask_is_empty_by_rule(judge: PromptedJudge) -> None:
    (found,) = judged(judge, EMPTY)
    assert (found.defect, found.iou, found.iou_low, found.iou_high) == ("empty", None, None, None)
    assert (found.prob_iou_80, found.prob_iou_50, dict(found.defect_probs)) == (None, None, {})


@pytest.mark.parametrize(
    ("mask", "frame"), [(FULL, FRAME), (HAIRLINE, FRAME), (SPECK, FRAME), (TRUE, FLAT)],
    ids=["full frame", "hairline", "speck", "flat picture"],
)  # fmt: skip
def test_what_cannot_be_looked_at_is_not_judged_and_says_so(judge: PromptedJudge, mask: Mask, frame: Frame) -> None:
    between = judge.batch([Case(id="0", frame=FRAME), Case(id="1", frame=frame)], [Prediction(TRUE), Prediction(mask)])
    assert between[0] == judged(judge, TRUE)[0]
    (found,) = judged(judge, mask, frame=frame)
    assert (found.iou, found.iou_low, found.iou_high, found.defect) == (None, None, None, None)
    assert (found.prob_iou_80, found.prob_iou_50, dict(found.defect_probs)) == (None, None, {})
    assert (found.error_map, found.region, found.novelty) == (None, None, 1)
    assert re.search("too small or too thin|fills the frame|shows nothing", found.rationale)


def test_what_is_unlike_the_calibration_masks_is_novel(nets: list[Member], verdicts: dict[str, Verdict]) -> None:
    near = KnownFeatures(centre=np.zeros(64), precision=np.eye(64), distances=(1e-3, 2e-3, 3e-3))
    (far,) = judged(PromptedJudge(members=nets, calibration=calibration(known=near, mixing=1.0)), TRUE)
    assert far.novelty == 1
    assert far.iou == pytest.approx(0.5)  # the prior's
    (wide,) = judged(PromptedJudge(members=nets, calibration=calibration(spread=(0.0, 1e-5, 2e-5))), TRUE)
    assert wide.novelty == 1
    assert wide.iou == pytest.approx(verdicts["right"].iou)


def test_two_likely_defects_are_said_to_be_mixed(nets: list[Member]) -> None:
    offsets = (-9.0, 1.1, 1.0, -9.0, -9.0, -9.0)
    (found,) = judged(PromptedJudge(members=nets, calibration=calibration(temperature=1e-3, offsets=offsets)), TRUE)
    assert found.rationale.startswith("Mixed (cutout and dilate): ")
    assert found.defect == "cutout"


def test_the_defect_classifier_has_a_say_in_the_types_only(nets: list[Member], verdicts: dict[str, Verdict]) -> None:
    (alone,) = judged(
        PromptedJudge(members=nets, calibration=calibration(temperature=1e-3, classifier_temperature=1.0)), TRUE
    )
    (joint,) = judged(PromptedJudge(members=nets, calibration=calibration(classifier_temperature=1.0)), TRUE)
    own = verdicts["right"]
    wanted = {name: own.defect_probs[name] * alone.defect_probs[name] for name in DEFECTS}
    assert {name: value / sum(wanted.values()) for name, value in wanted.items()} == pytest.approx(
        dict(joint.defect_probs), abs=0.01
    )
    assert (joint.iou, joint.iou_low, joint.prob_iou_80) == pytest.approx((own.iou, own.iou_low, own.prob_iou_80))


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
    assert tuple(one.lens for one in nets) == LENSES
    assert load_member(nets[0].path, nets[0].digest).digest == nets[0].digest
    assert load_member(nets[0].path) is nets[0]


def test_a_file_of_another_run_is_refused(nets: list[Member]) -> None:
    with pytest.raises(UsageError, match=f"weights {nets[1].digest[:12]}, the calibration is for {'0' * 12}") as caught:
        load_member(nets[1].path, "0" * 64)
    assert caught.value.path == str(nets[1].path)


@pytest.mark.parametrize("how", ["missing", "empty", "text", "cut off", "too large", "no lens", "another lens"])
def test_a_file_that_is_no_network_is_refused_by_name(nets: list[Member], tmp_path: Path, how: str) -> None:
    path = tmp_path / "member.onnx"
    whole = nets[0].path.read_bytes()
    if how == "too large":
        with path.open("wb") as file:
            file.truncate(MOST_BYTES + 1)
    elif "lens" in how:
        import onnx

        shutil.copyfile(nets[0].path, path)
        model = onnx.load(str(path))
        del model.metadata_props[:]
        if how == "another lens":
            model.metadata_props.add(key="lens", value='{"side": 96, "margin": 1.5}')
        onnx.save(model, str(path))
    elif how != "missing":
        path.write_bytes({"empty": b"", "text": b"no network", "cut off": whole[: len(whole) // 2]}[how])
    with pytest.raises(UsageError) as caught:
        load_member(path)
    assert caught.value.path == str(path)
    assert {"too large": "bytes", "no lens": "how it looks", "another lens": "inputs"}.get(how, "") in str(caught.value)


def test_numbers_that_are_not_finite_are_refused(nets: list[Member]) -> None:
    seen = inputs([look(FRAME, TRUE, LENSES[0])])
    with pytest.raises(UsageError, match="not finite"):
        nets[0]({**seen, "crop": np.full_like(seen["crop"], np.nan)})


# ---- another segmenter's answers


class Draws:
    """A segmenter that always draws the same, and keeps what it was asked."""

    name = "draws"

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.asked: list[tuple[Box, list[tuple[int, int]]]] = []

    def __call__(self, frame: Frame, box: Box, points: Sequence[tuple[int, int]]) -> Mask:
        assert frame.shape == (*SIZE, 3)
        self.asked.append((box, list(points)))
        return self.mask


@pytest.mark.parametrize("name", ["right", "upper half", "too much"])
def test_another_segmenters_answer_counts_instead_of_the_networks(nets: list[Member], name: str) -> None:
    draws = Draws(TRUE)
    own = PromptedJudge(members=nets, calibration=calibration())
    told = PromptedJudge(members=nets, calibration=calibration(), evidence=Evidence(draws))
    mask = MASKS[name]
    (plain,), (found,) = judged(own, mask), judged(told, mask)
    assert found.error_map is not None
    said = values_of(found.error_map)
    true, held = (coverage(one, found.error_map.box, 64) / 255 for one in (TRUE, mask))
    for wrong, sign in (((true == 1) & (held == 0), 1), ((true == 0) & (held == 1), -1)):
        inner = cv2.erode(wrong.view(np.uint8), np.ones((5, 5), np.uint8)) > 0  # the networks' grid is coarser
        assert (sign * said[inner] > 0.9).all()
        assert inner.any() == (name == {1: "upper half", -1: "too much"}[sign])
    same = cv2.erode((true == held).view(np.uint8), np.ones((5, 5), np.uint8), borderValue=1) > 0
    assert (said[same] == 0).all()
    assert (said != 0).any() == (name != "right")
    assert plain.error_map is not None
    assert values_of(plain.error_map).tolist() != said.tolist()
    assert found.iou != pytest.approx(plain.iou, abs=1e-6), "the heads do not look at the answer"
    assert draws.asked == [prompt_of(mask)]


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
    found = logits_of(TRUE, (16, -4, 144, 124), 64)
    assert found.shape == (1, 64, 64)
    assert found[0, 32, 32] == SURE == 4
    assert found[0, 2, 2] == found[0, 63, 63] == -SURE
    assert set(np.unique(np.abs(found) <= SURE)) == {True}


def test_fitted_files_are_the_judge_of_their_folder(
    nets: list[Member], verdicts: dict[str, Verdict], tmp_path: Path
) -> None:
    digests = tuple(one.digest for one in nets)
    for name, weights in (("right", digests), ("wrong", digests[::-1])):
        folder = tmp_path / name
        folder.mkdir()
        for net in nets:
            shutil.copyfile(net.path, folder / net.path.name)
        save_calibration(calibration(weights=weights), folder / "calibration.json")
    found = PromptedJudge().fitted(tmp_path / "right")
    (again,) = judged(found, TRUE)
    assert again.iou == pytest.approx(verdicts["right"].iou, abs=1e-5)
    assert found.prob_shift == 0.4
    with pytest.raises(UsageError, match="the calibration is for"):
        PromptedJudge().fitted(tmp_path / "wrong")
