"""CLIP as an identity check, proven on tiny random weights: the laws, the regions it compares, what it refuses.

Random weights know no words: nothing here says how often real ones are right.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import auscult
from auscult import registry
from auscult.errors import UsageError
from auscult.jobs.judging import identity_arguments, load_identity
from auscult.judge.identity.clip import VARIABLE, ClipIdentity, prompts, rivals, views
from auscult.nets.clip import check_folder, load_clip
from auscult.nets.hf_folder import WEIGHTS
from auscult.testing.identities import CHECKS, EXAMPLES
from auscult.types import Prediction, Query
from tiny_clip import needs_clip, write_clip

pytestmark = pytest.mark.extra_clip
needs_clip()


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def clip(weights: Path) -> ClipIdentity:
    return ClipIdentity(check_folder(weights))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("example", ["good", "two objects", "one pixel", "empty", "full", "tiny frame", "sound"])
def test_keeps_the_law(clip: ClipIdentity, check: Callable[..., None], example: str) -> None:
    check(clip, *EXAMPLES[example])


def test_match_is_the_candidates_share_among_the_regions(clip: ClipIdentity, weights: Path) -> None:
    case, prediction = EXAMPLES["good"]
    identity = clip(case, prediction)
    assert identity is not None
    model = load_clip(check_folder(weights))
    regions = [prediction.mask, *rivals(case.frame, prediction.mask, case.others, most=8), ~prediction.mask]
    scores = []
    for region in regions:
        seen_vector = model.pictures(views(case.frame, region)).sum(axis=0)
        seen_vector = seen_vector / np.linalg.norm(seen_vector)
        scores.append(float((model.sentences(prompts(case.query.text or "")) @ seen_vector).mean()) * model.scale)
    expected = np.exp(scores) / np.exp(scores).sum()
    assert identity.match == pytest.approx(expected[0], abs=1e-4)
    assert len(regions) >= 3


def test_shares_of_the_frames_regions_sum_to_no_more_than_one(clip: ClipIdentity) -> None:
    case, prediction = EXAMPLES["good"]
    first = clip(case, prediction)
    second = clip(replace(case, others=(prediction.mask,)), Prediction(case.others[0]))
    assert first is not None
    assert second is not None
    assert first.match + second.match < 1.05  # the same two regions, and a third that differs


def test_a_higher_temperature_is_less_sure(weights: Path) -> None:
    case, prediction = EXAMPLES["wrong object"]
    confident, unsure = (ClipIdentity(check_folder(weights), temperature=t)(case, prediction) for t in (1.0, 1000.0))
    assert confident is not None
    assert unsure is not None
    flat = 1 / int(unsure.note.split()[1])
    assert abs(unsure.match - flat) < 0.01
    assert abs(unsure.match - flat) < abs(confident.match - flat)


def test_words_that_only_sound_can_answer_are_not_answered(clip: ClipIdentity) -> None:
    case, prediction = EXAMPLES["good"]
    assert clip(replace(case, query=Query("the thing that makes a sound")), prediction) is None
    assert clip(replace(case, query=Query("the barking dog")), prediction) is not None


def test_the_target_is_named_from_the_words(clip: ClipIdentity) -> None:
    case, prediction = EXAMPLES["good"]
    identity = clip(replace(case, query=Query("the red cars that move left")), prediction)
    assert identity is not None
    assert identity.target == "red cars"


def test_views_are_square_and_grey_beyond_the_region() -> None:
    frame = np.full((60, 90, 3), (200, 30, 30), np.uint8)
    region = np.zeros((60, 90), bool)
    region[0:20, 50:90] = True
    plain, masked = views(frame, region)
    assert plain.shape == masked.shape
    assert plain.shape[0] == plain.shape[1] >= 40
    grey = masked.max(axis=2).astype(int) - masked.min(axis=2)
    assert int(np.count_nonzero(grey > 100)) == int(region.sum())  # the region alone keeps its colour


def test_a_view_of_a_large_frame_is_small_and_shows_the_same() -> None:
    frame = np.full((1500, 2000, 3), (40, 160, 60), np.uint8)
    region = np.zeros((1500, 2000), bool)
    region[300:1200, 400:1600] = True
    frame[region] = (200, 30, 30)
    plain, masked = views(frame, region)
    assert plain.shape == masked.shape == (672, 672, 3)
    red = (masked[..., 0].astype(int) - masked[..., 1]) > 100
    side = 1200 * 1.3
    assert red.mean() == pytest.approx(region.sum() / side**2, rel=0.02)
    assert np.array_equal(masked[red], plain[red])
    assert (np.ptp(masked[~red], axis=1) > 0).mean() < 0.01  # what is not the region is grey, but for its rim


def test_regions_of_even_colour_are_worked_out_once_a_frame(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from auscult.judge.identity import clip as module

    shapes_seen = []
    plain = module.coloured_regions
    monkeypatch.setattr(module, "coloured_regions", lambda frame: shapes_seen.append(frame.shape) or plain(frame))
    check = ClipIdentity(check_folder(weights))
    case, prediction = EXAMPLES["good"]
    first = check(case, prediction)
    assert check(replace(case, frame=case.frame.copy()), prediction) == first
    assert len(shapes_seen) == 1
    frame = np.ascontiguousarray(case.frame[::-1])
    other = check(replace(case, frame=frame), prediction)
    assert len(shapes_seen) == 2
    frame[:] = case.frame  # a buffer that is written over is another frame
    assert check(replace(case, frame=frame), prediction) == first
    assert other != first


def test_damaged_weights_end_the_run_before_it_begins(weights: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(weights, tmp_path / "copy"))
    assert "identity_weights" in identity_arguments("clip", copy)
    whole_file = (copy / WEIGHTS).read_bytes()
    (copy / WEIGHTS).write_bytes(whole_file[:-8])
    with pytest.raises(UsageError, match="cut off"):
        identity_arguments("clip", copy)


def test_scores_that_are_no_numbers_are_no_answer(weights: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    copy = Path(shutil.copytree(weights, tmp_path / "copy"))
    tensors = load_file(copy / WEIGHTS)
    tensors["visual_projection.weight"] = np.full_like(tensors["visual_projection.weight"], np.inf)
    save_file(tensors, copy / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(UsageError, match="no number"):
        ClipIdentity(check_folder(copy))(*EXAMPLES["good"])


def test_weights_are_looked_for_before_anything_is_judged(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UsageError, match="brings no weights") as error:
        load_identity("clip")
    assert VARIABLE in error.value.hint
    with pytest.raises(UsageError, match="no such folder"):
        load_identity("clip", tmp_path / "none")
    monkeypatch.setenv(VARIABLE, str(weights))
    assert load_identity("clip").name == "identity.clip.v1"
    arguments = identity_arguments("clip", None)
    assert set(arguments["identity_weights"]) >= {"model.safetensors", "config.json"}
    assert str(weights) not in str(arguments)


def test_without_weights_the_registered_check_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="no weights"):
        registry.load("identity", "clip")(*EXAMPLES["good"])


def test_a_python_audit_with_clip_says_what_it_found(clip: ClipIdentity) -> None:
    case, prediction = EXAMPLES["good"]
    verdict = auscult.audit_mask(case.frame, prediction.mask, text="the blob", identity=clip, judge="masks.cues.v1")
    assert verdict.evidence.identity
    assert "Identity, by identity.clip.v1: of" in verdict.rationale
    unasked = auscult.audit_mask(case.frame, prediction.mask, identity=clip, judge="masks.cues.v1")
    assert not unasked.evidence.identity
    assert unasked.rationale.endswith("Identity not checked: there is no expression.")
