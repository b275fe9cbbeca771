"""Answers of SAM, SAM 2 and SAM 3 reach the heads: tiny random checkpoints through the path that released ones take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.jobs.judges import load_judge, with_evidence
from auscult.types import Case, Prediction

pytestmark = pytest.mark.extra_clip
pytest.importorskip("transformers")


@pytest.mark.parametrize("write", ["write_sam", "write_sam2", "write_sam3_tracker"])
def test_another_segmenters_answer_is_what_the_candidate_is_compared_with(tmp_path: Path, write: str) -> None:
    import tiny_hf

    folder = getattr(tiny_hf, write)(tmp_path / "weights")
    frame = np.random.default_rng(0).integers(0, 255, (96, 128, 3)).astype(np.uint8)
    mask = np.zeros((96, 128), bool)
    mask[30:70, 40:90] = True
    judge = load_judge("masks.prompted.v1")
    own_verdict = judge(Case(id="a", frame=frame), Prediction(mask))
    other = with_evidence(judge, f"hf:{folder}")(Case(id="a", frame=frame), Prediction(mask))
    assert 0 <= (other.iou_low or 0) <= (other.iou or 0) <= (other.iou_high or 0) <= 1
    assert other.error_map != own_verdict.error_map


def test_weights_are_found_by_their_name_in_the_hub_s_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiny_hf

    folder = tiny_hf.write_sam(tmp_path / "weights")
    model = tmp_path / "hub/models--facebook--sam-tiny"
    for name in ("blobs", "refs", "snapshots/c0ffee"):
        (model / name).mkdir(parents=True)
    (model / "refs/main").write_text("c0ffee")
    for path in folder.iterdir():  # a snapshot holds links to what was downloaded
        path.rename(model / "blobs" / path.name)
        (model / "snapshots/c0ffee" / path.name).symlink_to(f"../../blobs/{path.name}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    judge = with_evidence(load_judge("masks.prompted.v1"), "hf:facebook/sam-tiny")
    mask = np.zeros((48, 64), bool)
    mask[10:30, 20:50] = True
    frame = np.random.default_rng(0).integers(0, 255, (48, 64, 3)).astype(np.uint8)
    assert judge(Case(id="a", frame=frame), Prediction(mask)).iou is not None


@pytest.mark.parametrize("write", ["write_sam", "write_sam3_tracker"])
def test_a_mask_is_that_of_the_library_s_own_model(tmp_path: Path, write: str) -> None:
    import torch
    import transformers

    import tiny_hf
    from auscult.nets.hf_segmenters import SAM, SAM3, load_sam

    folder = getattr(tiny_hf, write)(tmp_path / "weights")
    family = SAM if write == "write_sam" else SAM3
    net = load_sam(folder)
    frame = tiny_hf.clip_of(1, size=(96, 96))
    masks = net.masks(frame, [(20.0, 24.0, 70.0, 80.0)])
    pointed = net.prompted(frame[0], (20.0, 24.0, 70.0, 80.0), [((40, 50), True), ((66, 30), False)])
    model = getattr(transformers, family.model).from_pretrained(folder)
    pixels = net._prepared(frame)  # square frames are prepared alike by both
    scale = pixels.shape[-1] / 96
    with torch.no_grad():
        corners = torch.tensor([[[20.0 * scale, 24.0 * scale, 70.0 * scale, 80.0 * scale]]])
        points = torch.tensor([[[[40.5 * scale, 50.5 * scale], [66.5 * scale, 30.5 * scale]]]])
        prompts = [{}, {"input_points": points, "input_labels": torch.tensor([[[1, 0]]])}]
        for mask, prompt in zip((masks[0], pointed), prompts, strict=True):
            out = model(pixel_values=pixels, input_boxes=corners, multimask_output=False, **prompt)
            logits = out.pred_masks[:, 0]
            large = torch.nn.functional.interpolate(logits, size=(96, 96), mode="bilinear", align_corners=False)
            assert np.mean(mask != (large > 0)[0, 0].numpy()) < 0.02
    assert 0 < masks.mean() < 1
    assert (pointed != masks[0]).any()


@pytest.mark.parametrize("name", ["sam2", "hf:", "hf:/nowhere/at/all", "hf:" + "long" * 99])
def test_evidence_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(UsageError):
        with_evidence(load_judge("masks.prompted.v1"), name)


def test_a_judge_that_takes_none_says_so() -> None:
    with pytest.raises(UsageError, match="takes no evidence"):
        with_evidence(load_judge("masks.cues.v1"), "hf:x")
