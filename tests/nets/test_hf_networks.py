"""Each Hugging Face network against the library's own forward pass and post-processing, on tiny random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny_hf
from auscult.nets import hf_segmenters
from auscult.nets.hf_folder import Preparation
from auscult.nets.hf_segmenters import load_clipseg, load_grounding, load_sam2, load_sam2_video, load_sam3
from tiny_clip import needs_clip

pytestmark = pytest.mark.extra_clip
needs_clip()

TEXT = "The red car"


@pytest.fixture(scope="module")
def clipseg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_hf.write_clipseg(tmp_path_factory.mktemp("clipseg"))


@pytest.fixture(scope="module")
def grounding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_hf.write_grounding(tmp_path_factory.mktemp("grounding"))


@pytest.fixture(scope="module")
def sam2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_hf.write_sam2(tmp_path_factory.mktemp("sam2"))


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_hf.write_sam2_video(tmp_path_factory.mktemp("video"))


@pytest.fixture(scope="module")
def sam3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_hf.write_sam3(tmp_path_factory.mktemp("sam3"))


def _first(frames: Any) -> Any:
    mask = np.zeros(frames.shape[1:3], np.bool_)
    mask[10:30, 10:40] = True
    return mask


def test_clipseg_gives_the_library_s_answer(clipseg: Path) -> None:
    import torch
    import transformers

    # Of the model's own size: resampling of others differs by a grey level here and there, see test_hf_pictures.
    frames = tiny_hf.clip_of(10, size=(tiny_hf.SIDE, tiny_hf.SIDE))  # more than a batch
    heat = load_clipseg(clipseg).heat(frames, TEXT)
    model = transformers.CLIPSegForImageSegmentation.from_pretrained(clipseg)
    processor = transformers.CLIPSegProcessor(
        transformers.ViTImageProcessorPil.from_pretrained(clipseg), transformers.CLIPTokenizer.from_pretrained(clipseg)
    )
    inputs = processor(text=[TEXT] * 10, images=list(frames), return_tensors="pt", padding=True)
    with torch.inference_mode():
        expected = torch.sigmoid(model(**inputs).logits).numpy()
    assert heat.dtype == np.float32
    assert heat.std() > 0.05
    np.testing.assert_allclose(heat, expected, atol=1e-3)
    assert np.abs(heat - load_clipseg(clipseg).heat(frames, "a dog")).mean() > 1e-3


def test_clipseg_s_map_is_enlarged_to_the_frame(clipseg: Path) -> None:
    import torch
    import transformers

    frames = tiny_hf.clip_of(2)
    net = load_clipseg(clipseg)
    heat = net.heat(frames, TEXT)
    tokens = transformers.CLIPTokenizer.from_pretrained(clipseg)([TEXT] * 2, return_tensors="pt")
    model = transformers.CLIPSegForImageSegmentation.from_pretrained(clipseg)
    with torch.inference_mode():
        soft = torch.sigmoid(model(pixel_values=net.prepared(frames), **tokens).logits)[:, None]
    expected = torch.nn.functional.interpolate(soft, size=frames.shape[1:3], mode="bilinear", align_corners=False)
    assert heat.shape == (2, 48, 70)
    assert heat.min() >= 0
    assert heat.max() <= 1
    np.testing.assert_allclose(heat, expected[:, 0].numpy(), atol=1e-3)


def test_grounding_gives_the_library_s_best_box(grounding: Path) -> None:
    import torch
    import transformers

    frames = tiny_hf.clip_of(6)
    boxes = load_grounding(grounding).boxes(frames, TEXT)
    model = transformers.GroundingDinoForObjectDetection.from_pretrained(grounding)
    processor = transformers.GroundingDinoProcessor(
        transformers.GroundingDinoImageProcessorPil.from_pretrained(grounding),
        transformers.BertTokenizer.from_pretrained(grounding),
    )
    for frame, box in zip(frames, boxes, strict=True):
        inputs = processor(images=frame, text="the red car.", return_tensors="pt")
        with torch.inference_mode():
            out = model(**inputs)
        expected = processor.post_process_grounded_object_detection(
            out, threshold=0.1, text_threshold=0.25, target_sizes=[frame.shape[:2]]
        )[0]
        assert box == pytest.approx(expected["boxes"][int(expected["scores"].argmax())].tolist(), abs=0.05)
    assert len({box for box in boxes if box}) > 1


def test_no_box_over_the_threshold_is_no_box(grounding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_segmenters, "LEAST_SCORE", 1.0)
    assert load_grounding(grounding).boxes(tiny_hf.clip_of(2), TEXT) == [None, None]


def test_sam2_gives_the_library_s_mask_of_a_box(sam2: Path) -> None:
    import torch
    import transformers

    frames = tiny_hf.clip_of(3)
    boxes = [(10.0, 8.0, 40.0, 30.5), None, (-2.0, 0.0, 30.0, 47.0)]
    masks = load_sam2(sam2).masks(frames, boxes)
    assert (masks.shape, masks.dtype) == ((3, 48, 70), np.bool_)
    assert not masks[1].any()
    model = transformers.Sam2Model.from_pretrained(sam2).eval()
    preparation = Preparation(size=(tiny_hf.SIDE, tiny_hf.SIDE))
    for place in (0, 2):
        # As Sam2Processor scales boxes and Sam2ImageProcessor.post_process_masks enlarges masks.
        scaled = torch.tensor([[boxes[place]]]) * torch.tensor([64 / 70, 64 / 48, 64 / 70, 64 / 48])
        with torch.inference_mode():
            out = model(pixel_values=preparation(frames[place : place + 1]), input_boxes=scaled, multimask_output=False)
        large = torch.nn.functional.interpolate(out.pred_masks[0], (48, 70), mode="bilinear", align_corners=False)
        assert (masks[place] == (large > 0)[0, 0].numpy()).all()
        assert 0 < masks[place].mean() < 1


def test_sam2_reads_the_folder_of_a_video_model(video: Path) -> None:
    masks = load_sam2(video).masks(tiny_hf.clip_of(1), [(10.0, 8.0, 40.0, 30.0)])
    assert masks.shape == (1, 48, 70)


def test_sam2_video_follows_as_the_library_does_with_the_whole_clip_in_memory(video: Path) -> None:
    import torch
    import transformers
    from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoInferenceSession

    frames = tiny_hf.clip_of(9)  # more than the model looks back at
    first = _first(frames)
    found = load_sam2_video(video).follow(frames, first)
    model = transformers.Sam2VideoModel.from_pretrained(video).eval()
    pixels = Preparation(size=(tiny_hf.SIDE, tiny_hf.SIDE))(frames)
    session = Sam2VideoInferenceSession(video=pixels, video_height=48, video_width=70, dtype=torch.float32)
    processor = transformers.models.sam2_video.processing_sam2_video.Sam2VideoProcessor
    wanting = type("Wanting", (), {"target_size": tiny_hf.SIDE})()  # all of a processor that the method looks at
    processor.process_new_mask_for_video_frame(wanting, session, 0, [1], first)
    masks = []
    for out in model.propagate_in_video_iterator(session, start_frame_idx=0):
        large = torch.nn.functional.interpolate(out.pred_masks, (48, 70), mode="bilinear", align_corners=False)
        masks.append((large > 0)[0, 0].numpy())
    assert (found.shape, found.dtype) == ((9, 48, 70), np.bool_)
    assert (found[0] == first).all()
    assert (found[1:] == np.stack(masks[1:])).all()
    assert 0 < found[1:].mean() < 1
    assert (found[8] != found[1]).any()


def test_sam2_video_forgets_what_it_looks_back_at_no_more(video: Path) -> None:
    frame_counts: list[int] = []
    model = load_sam2_video(video)
    forget = type(model)._forget

    class Watched(type(model)):  # type: ignore[misc]
        def _forget(self, session: Any, place: int) -> None:
            forget(self, session, place)
            frame_counts.append(len(session.output_dict_per_obj[0]["non_cond_frame_outputs"]))

    frames = tiny_hf.clip_of(12)
    Watched(model._net, model._prepared).follow(frames, _first(frames))
    assert max(frame_counts) == frame_counts[-1] == 4


@pytest.mark.parametrize("first", ["empty", "full"])
def test_sam2_video_takes_any_first_mask(video: Path, first: str) -> None:
    frames = tiny_hf.clip_of(3)
    mask = np.full(frames.shape[1:3], first == "full")
    masks = load_sam2_video(video).follow(frames, mask)
    assert (masks[0] == mask).all()
    assert (load_sam2_video(video).follow(frames[:1], mask) == mask).all()


def test_sam3_gives_the_library_s_best_instance(sam3: Path) -> None:
    import torch
    import transformers

    frames = tiny_hf.clip_of(3)
    found = load_sam3(sam3).masks(frames, TEXT)
    model = transformers.Sam3Model.from_pretrained(sam3).eval()
    tokens = transformers.CLIPTokenizer.from_pretrained(sam3)(
        [TEXT], return_tensors="pt", padding="max_length", max_length=32
    )
    preparation = Preparation(size=(112, 112), mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
    assert (found.shape, found.dtype) == ((3, 48, 70), np.bool_)
    assert 0 < found.mean() < 1
    for place in range(3):
        with torch.inference_mode():
            out = model(pixel_values=preparation(frames[place : place + 1]), **tokens)
        # As Sam3ImageProcessor.post_process_instance_segmentation, which needs torchvision to be imported.
        scores = (out.pred_logits.sigmoid() * out.presence_logits.sigmoid())[0]
        masks = out.pred_masks.sigmoid()[0][scores > 0.5]
        large = torch.nn.functional.interpolate(masks[None], size=(48, 70), mode="bilinear", align_corners=False)[0]
        assert len(masks) > 1  # so the best is a choice
        best = large[int(scores[scores > 0.5].argmax())] > 0.5
        assert (found[place] == best.numpy()).all()


def test_sam3_reads_the_folder_of_a_video_model(sam3: Path, tmp_path: Path) -> None:
    import json
    import shutil

    from safetensors.torch import load_file, save_file

    full_folder = Path(shutil.copytree(sam3, tmp_path / "whole"))
    config = json.loads((full_folder / "config.json").read_text())
    (full_folder / "config.json").write_text(json.dumps({"model_type": "sam3_video", "detector_config": config}))
    weights = load_file(full_folder / "model.safetensors")
    other = {"tracker_model.no_memory_embedding": next(iter(weights.values())).clone()}
    save_file(
        {**{f"detector_model.{name}": weight for name, weight in weights.items()}, **other},
        full_folder / "model.safetensors",
        {"format": "pt"},
    )
    frames = tiny_hf.clip_of(2)
    assert (load_sam3(full_folder).masks(frames, TEXT) == load_sam3(sam3).masks(frames, TEXT)).all()


def test_sam3_says_nothing_where_nothing_scores(sam3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_segmenters, "LEAST_INSTANCE_SCORE", 1.0)
    assert not load_sam3(sam3).masks(tiny_hf.clip_of(1), TEXT).any()


@pytest.mark.parametrize("text", ["", "...", "very " * 400, "\U0001f3b8 \u4e2d"], ids=["none", "dots", "long", "signs"])
def test_any_sentence_is_answered(clipseg: Path, grounding: Path, sam3: Path, text: str) -> None:
    frames = tiny_hf.clip_of(1)
    assert load_clipseg(clipseg).heat(frames, text).shape == (1, 48, 70)
    assert len(load_grounding(grounding).boxes(frames, text)) == 1
    assert load_sam3(sam3).masks(frames, text).shape == (1, 48, 70)
