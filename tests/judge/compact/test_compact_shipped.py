"""`masks.compact.v1` with the weights that ship: it loads, sees what a person sees, and stays the same."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from compact_fakes import FRAME, SHAPE, TRUE, disc

from auscult import registry
from auscult.arrays.error_map import painted
from auscult.judge.cards import require_card
from auscult.judge.masks.compact import JUDGE
from auscult.judge.masks.compact import network as calibration_file
from auscult.judge.masks.compact import network as network_file
from auscult.judge.masks.compact.network import load_calibration, load_network
from auscult.nets.onnx_session import MOST_BYTES
from auscult.types import Case, Mask, Prediction, Verdict


def judge(mask: Mask) -> Verdict:
    return JUDGE(Case(id="a", frame=FRAME), Prediction(mask))


def test_it_is_what_the_registry_gives() -> None:
    assert registry.load("judge", "masks.compact") is JUDGE


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys, auscult.judge.masks.compact; sys.exit(bool({'cv2', 'onnxruntime'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_weights_and_calibration_belong_together_and_are_small() -> None:
    assert network_file.FILE.stat().st_size <= MOST_BYTES
    assert calibration_file.CALIBRATION.stat().st_size < 200_000
    assert load_network().digest == load_calibration().weights


def test_its_card_is_of_the_shipped_weights() -> None:
    card = require_card(JUDGE)
    assert any(load_network().digest in line for line in card.split)
    assert {result.set for result in card.results} == set(card.sets)


def test_a_good_mask_scores_above_its_damaged_ones() -> None:
    good = judge(TRUE)
    assert good.iou is not None
    for worse in (disc(62), disc(90), TRUE & ~disc(35), TRUE | disc(50, x=330)):
        verdict = judge(worse)
        assert verdict.iou is not None
        assert verdict.iou < good.iou


def test_the_error_map_finds_a_missing_piece_and_a_piece_too_much() -> None:
    hole, spot = disc(30, x=185, y=140), disc(35, x=330)
    for mask, region, sign in ((TRUE & ~hole, hole, 1), (TRUE | spot, spot, -1)):
        map_found = judge(mask).error_map
        assert map_found is not None
        map_ = painted(map_found, SHAPE) * sign
        assert map_[region].mean() > 0.4
        assert map_[~region].mean() < 0.05


def test_the_same_mask_has_the_same_verdict_in_every_thread() -> None:
    expected, verdicts = judge(disc(66)), []
    threads = [threading.Thread(target=lambda: verdicts.append(judge(disc(66)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == [expected] * 3


def test_inputs_are_left_as_they_are() -> None:
    frame, mask = FRAME.copy(), TRUE.copy()
    JUDGE(Case(id="a", frame=frame), Prediction(mask))
    assert (frame == FRAME).all()
    assert (mask == TRUE).all()


@pytest.mark.parametrize("mask", [disc(66), disc(20, x=390)])
def test_every_verdict_says_that_identity_was_not_checked(mask: Mask) -> None:
    verdict = judge(mask)
    assert not verdict.evidence.identity
    assert verdict.rationale.endswith("; identity not checked.")
    assert 0 <= verdict.iou_low <= verdict.iou <= verdict.iou_high <= 1  # type: ignore[operator]
