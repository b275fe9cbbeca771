"""Segmenters and detectors of transformers on a folder of weights.

CLIPSeg and Grounding DINO from a user's folder: a sentence and a frame to a map of likely pixels, or to a box.

Lueddecke and Ecker, CVPR 2022, as ``transformers`` has it (``CLIPSegForImageSegmentation``).

Liu et al., ECCV 2024, as ``transformers`` has it (``GroundingDinoForObjectDetection``).

SAM, SAM 2 (pictures and video) and SAM 3 from a user's folder: boxes or words to masks.

Kirillov et al. 2023 (``SamModel``), Ravi et al. 2024 (``Sam2Model``) and the tracker of Carion et al. 2025
(``Sam3TrackerModel``), as ``transformers`` has them; released folders of video models are read too, and their parts for
video are left out. SAM 2 and SAM 3 squeeze a frame into a square; SAM keeps its shape and fills up the square.

Carion et al. 2025, as ``transformers`` has it (``Sam3Model``); the released folder is that of the video model, and only
its detector is loaded.

Ravi et al. 2024, as ``transformers`` has it (``Sam2VideoModel``). Its own session holds every prepared frame and every
past output; here frames are prepared on request, and outputs that the model no longer looks back at are dropped, so
that memory does not grow with the clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import AuscultError, UsageError
from auscult.nets.hf_folder import (
    CONFIG,
    PREPARED,
    Family,
    Loaded,
    Preparation,
    batches,
    check_folder,
    finite,
    load,
    read_preparation,
    read_table,
    square,
)
from auscult.types import Frame, Frames, Mask

CLIPSEG: Final = Family(
    title="CLIPSeg", model="CLIPSegForImageSegmentation", types=("clipseg",), reader="CLIPTokenizer"
)
MOST_PATCHES: Final = 128
"""Patches along one side of a picture, at most: attention takes the fourth power of it."""

_SENTENCES: Final = 8
_SIDE: Final = 352


@dataclass(frozen=True, slots=True, eq=False)
class ClipSeg:
    """A loaded model."""

    net: Loaded
    prepared: Preparation

    def heat(self, frames: Frames, text: str) -> NDArray[np.float32]:
        """How likely each pixel is meant, float32 (T, H, W) in [0, 1]: the sigmoid of the map, enlarged linearly."""
        import torch
        from torch.nn.functional import interpolate

        net, start = self.net, 0
        result = np.empty(frames.shape[:3], np.float32)
        with torch.inference_mode():
            meant = self._meant(text)
            for batch in batches(frames, _SENTENCES):
                pixels = self.prepared(batch).to(net.device)
                logits = net.model(
                    pixel_values=pixels, conditional_embeddings=meant.expand(len(batch), -1)
                ).logits.reshape(len(batch), 1, *pixels.shape[-2:])
                heat = torch.sigmoid(finite(logits, net.folder))
                heat = interpolate(heat, size=frames.shape[1:3], mode="bilinear", align_corners=False)
                result[start : start + len(batch)] = heat[:, 0].clamp(0, 1).cpu().numpy()
                start += len(batch)
        return result

    def _meant(self, text: str) -> Any:
        """The sentence as the decoder takes it, a tensor (1, d)."""
        limit = self.net.model.config.text_config.max_position_embeddings
        tokens = self.net.tokens([text], truncation=True, max_length=limit, return_tensors="pt").to(self.net.device)
        return self.net.model.get_conditional_embeddings(batch_size=1, **tokens)


def load_clipseg(path: Path) -> ClipSeg:
    """Load the model of a folder."""
    net = load(check_folder(path, CLIPSEG))
    usual = Preparation(size=(_SIDE, _SIDE))
    prepared = read_preparation(path, side=None, usual=usual)
    _check_side(net, prepared)
    return ClipSeg(net, prepared)


def _check_side(net: Loaded, prepared: Preparation) -> None:
    """The decoder reads a square of patches; attention takes the fourth power of its side."""
    height, width = prepared.size or (0, 0)
    patch = net.model.config.vision_config.patch_size
    if height != width or height % patch or height // patch > MOST_PATCHES:
        raise UsageError(
            f"frames of {height} x {width} pixels in patches of {patch}",
            path=net.folder.path / PREPARED,
            expected=f"a square of 1 to {MOST_PATCHES} whole patches a side",
        )


FloatBox = tuple[float, float, float, float]

GROUNDING_DINO: Final = Family(
    title="Grounding DINO",
    model="GroundingDinoForObjectDetection",
    types=("grounding-dino",),
    parts={"backbone_config": "SwinConfig", "text_config": "BertConfig"},
    reader="BertTokenizer",
)
LEAST_SCORE: Final = 0.1
"""What a box must score, as TGS-Agent has it. Its second threshold, .25 on words, only names boxes and moves none."""

_BATCH: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Grounding:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def boxes(self, frames: Frames, text: str) -> list[FloatBox | None]:
        """The best box of every frame, (x0, y0, x1, y1) in pixels, which may reach a little beyond it.

        None where no box scores more than ``LEAST_SCORE``.
        """
        best = (ranked[:1] for ranked in self._ranked(frames, text, least_score=LEAST_SCORE))
        return [ranked[0] if ranked else None for ranked in best]

    def every_box(self, frame: Frame, text: str, *, least_score: float) -> list[FloatBox]:
        """All boxes of a frame that score more, the surest first."""
        (boxes,) = self._ranked(frame[None], text, least_score=least_score)
        return boxes

    def _ranked(self, frames: Frames, text: str, *, least_score: float) -> Iterator[list[FloatBox]]:
        import torch

        tokens = self._tokens_of(text)
        with torch.inference_mode():
            for batch in batches(frames, _BATCH):
                pixels = self._prepared(batch).to(self._net.device)
                inputs = {name: values.expand(len(batch), -1) for name, values in tokens.items()}
                mask = torch.ones((len(batch), *pixels.shape[-2:]), dtype=torch.int64, device=pixels.device)
                out = self._net.model(pixel_values=pixels, pixel_mask=mask, **inputs)
                # Words that are not there have logits of minus infinity; NaN never passes the threshold.
                scores = torch.sigmoid(out.logits).amax(-1).cpu()
                for row, boxes in zip(scores, out.pred_boxes.cpu(), strict=True):
                    sure = [
                        index
                        for index in row.argsort(descending=True, stable=True).tolist()
                        if float(row[index]) > least_score
                    ]
                    yield [_box(boxes[index], frames.shape[1:3]) for index in sure]

    def _tokens_of(self, text: str) -> dict[str, Any]:
        limit = self._net.model.config.max_text_len
        tokens = self._net.tokens([sentence(text)], truncation=True, max_length=limit, return_tensors="pt")
        return {name: tokens[name].to(self._net.device) for name in ("input_ids", "token_type_ids", "attention_mask")}


def load_grounding(path: Path) -> Grounding:
    """Load the model of a folder."""
    net = load(check_folder(path, GROUNDING_DINO))
    return Grounding(net, read_preparation(path, side=None, usual=Preparation()))


def sentence(text: str) -> str:
    """A sentence as the model was trained to read it: in lower case, with a full stop."""
    plain = text.strip().lower()
    return plain if plain.endswith(".") else f"{plain}."


def _box(box: Any, size: tuple[int, ...]) -> FloatBox:
    x, y, width, height = map(float, box)
    left, top = (x - width / 2) * size[1], (y - height / 2) * size[0]
    return left, top, left + width * size[1], top + height * size[0]


_SAM3_SEEING: Final = {"vision_config": "Sam3VisionConfig", "backbone_config": "Sam3ViTConfig"}
_SAM2_SEEING: Final = {"vision_config": "Sam2VisionConfig", "backbone_config": "Sam2HieraDetConfig"}
SAM3_TEXT: Final = Family(
    title="SAM 3",
    model="Sam3Model",
    types=("sam3",),
    inside={"sam3_video": "detector_config"},
    parts={**_SAM3_SEEING, "text_config": "CLIPTextConfig"},
    reader="CLIPTokenizer",
)
LEAST_INSTANCE_SCORE: Final = 0.5
"""What an instance must score, as the release's examples have it."""

CUT_SHARE: Final = 0.5
_HALF: Final = (0.5, 0.5, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Sam3:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def masks(self, frames: Frames, text: str) -> NDArray[np.bool_]:
        """The best instance of every frame, bool (T, H, W); empty where none scores over ``LEAST_SCORE``."""
        import torch

        result = np.zeros(frames.shape[:3], np.bool_)
        with torch.inference_mode():
            tokens = self._tokens_of(text)
            words = self._net.model.get_text_features(**tokens)
            for index in range(len(frames)):  # one by one: a frame takes gigabytes in the released model
                pixels = self._prepared(frames[index : index + 1]).to(self._net.device)
                out = self._net.model(pixel_values=pixels, text_embeds=words, attention_mask=tokens["attention_mask"])
                result[index] = self._best(out, frames.shape[1:3])
        return result

    def _best(self, out: Any, size: tuple[int, ...]) -> NDArray[np.bool_]:
        import torch
        from torch.nn.functional import interpolate

        scores = finite(torch.sigmoid(out.pred_logits) * torch.sigmoid(out.presence_logits), self._net.folder)[0]
        best = int(scores.argmax())
        if not float(scores[best]) > LEAST_INSTANCE_SCORE:
            return np.zeros(size, np.bool_)
        soft = torch.sigmoid(finite(out.pred_masks[:, best : best + 1], self._net.folder))
        large = interpolate(soft, size=size, mode="bilinear", align_corners=False)
        return np.asarray((large > CUT_SHARE)[0, 0].cpu().numpy(), np.bool_)

    def _tokens_of(self, text: str) -> dict[str, Any]:
        limit = self._net.model.config.text_config.max_position_embeddings
        tokens = self._net.tokens([text], padding="max_length", truncation=True, max_length=limit, return_tensors="pt")
        return {name: tokens[name].to(self._net.device) for name in ("input_ids", "attention_mask")}


def load_sam3(path: Path) -> Sam3:
    """Load the model of a folder."""
    net = load(check_folder(path, SAM3_TEXT))
    side = square(net.model.config.vision_config.backbone_config.image_size)
    return Sam3(net, read_preparation(path, side=side, usual=Preparation(mean=_HALF, std=_HALF)))


SAM: Final = Family(title="SAM", model="SamModel", types=("sam",))
SAM2: Final = Family(title="SAM 2", model="Sam2Model", types=("sam2", "sam2_video"), parts=_SAM2_SEEING)
SAM3: Final = Family(
    title="SAM 3",
    model="Sam3TrackerModel",
    types=("sam3_tracker", "sam3_tracker_video"),
    inside={"sam3_video": "tracker_config"},
    parts=_SAM3_SEEING,
)
CUT_LOGIT: Final = 0.0
"""Logits above it are the mask, as released."""


@dataclass(frozen=True, slots=True, eq=False)
class BoxSegmenter:
    """A loaded model, and how it wants its frames: squeezed into its square, or in their own shape (``padded``)."""

    _net: Loaded
    _prepared: Preparation
    _side: int
    _padded: bool

    def masks(self, frames: Frames, boxes: Sequence[FloatBox | None]) -> NDArray[np.bool_]:
        """One mask for every frame's box (x0, y0, x1, y1) in pixels, bool (T, H, W); empty where there is no box."""
        import torch

        result = np.zeros(frames.shape[:3], np.bool_)
        with torch.inference_mode():
            for index, box in enumerate(boxes):
                if box is not None:
                    result[index] = self._mask(frames[index : index + 1], box)
        return result

    def prompted(
        self, frame: Frame, box: FloatBox, points: Sequence[tuple[tuple[int, int], bool]]
    ) -> NDArray[np.bool_]:
        """What a box (x0, y0, x1, y1) holds, with points (x, y) that are inside it or not, in pixels: bool (H, W)."""
        import torch

        with torch.inference_mode():
            return self._mask(frame[None], box, points)

    def _mask(
        self, frame: Frames, box: FloatBox, points: Sequence[tuple[tuple[int, int], bool]] = ()
    ) -> NDArray[np.bool_]:
        import torch
        from torch.nn.functional import interpolate, pad

        height, width = frame.shape[1:3]
        high, wide = self._size(height, width)
        pixels = replace(self._prepared, size=(high, wide))(frame).to(self._net.device)
        pixels = pad(pixels, (0, self._side - wide, 0, self._side - high))
        scale = (wide / width, high / height) * 2
        corners = torch.tensor([[[edge * by for edge, by in zip(box, scale, strict=True)]]], device=pixels.device)
        prompts = {}
        if points:
            scaled = [[(x + 0.5) * scale[0], (y + 0.5) * scale[1]] for (x, y), _ in points]
            prompts["input_points"] = torch.tensor([[scaled]], device=pixels.device)
            prompts["input_labels"] = torch.tensor([[[int(inside) for _, inside in points]]], device=pixels.device)
        out = self._net.model(pixel_values=pixels, input_boxes=corners, multimask_output=False, **prompts)
        logits = finite(out.pred_masks[:, 0], self._net.folder)
        if self._padded:
            logits = interpolate(logits, size=(self._side, self._side), mode="bilinear", align_corners=False)
            logits = logits[..., :high, :wide]
        return to_frame(logits, (height, width))

    def _size(self, height: int, width: int) -> tuple[int, int]:
        """The size that a frame has inside the square."""
        if not self._padded:
            return self._side, self._side
        scale = self._side / max(height, width)
        return max(1, round(height * scale)), max(1, round(width * scale))


def load_sam(path: Path) -> BoxSegmenter:
    """Load SAM, SAM 2 or SAM 3, whichever the folder holds."""
    model_type = _type_of(path)
    if model_type in SAM.types:
        return _loaded(path, SAM, Preparation(), padded=True)
    if model_type in (*SAM3.types, *SAM3.inside):
        return _loaded(path, SAM3, Preparation(mean=_HALF, std=_HALF))
    return load_sam2(path)


def load_sam2(path: Path) -> BoxSegmenter:
    """Load SAM 2."""
    return _loaded(path, SAM2, Preparation())


def _loaded(path: Path, family: Family, usual: Preparation, *, padded: bool = False) -> BoxSegmenter:
    net = load(check_folder(path, family))
    side = square(net.model.prompt_encoder.input_image_size)
    return BoxSegmenter(net, read_preparation(path, side=side, usual=usual), side, padded)


def _type_of(path: Path) -> Any:
    try:
        return read_table(path / CONFIG).get("model_type")
    except AuscultError:
        return None  # check_folder reports what is wrong


def to_frame(logits: Any, size: tuple[int, ...]) -> NDArray[np.bool_]:
    """Logits (1, 1, h, w) as a mask of the frame: enlarged linearly, then cut."""
    from torch.nn.functional import interpolate

    large = interpolate(logits, size=size, mode="bilinear", align_corners=False)
    return np.asarray((large > CUT_LOGIT)[0, 0].cpu().numpy(), np.bool_)


SAM2_VIDEO: Final = Family(title="SAM 2 video", model="Sam2VideoModel", types=("sam2_video",), parts=_SAM2_SEEING)
_OBJECT: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class Sam2Video:
    """A loaded model."""

    _net: Loaded
    _prepared: Preparation

    def follow(self, frames: Frames, first: Mask) -> NDArray[np.bool_]:
        """Follow an object, bool (T, H, W); the first mask is ``first``, as is usual in the task, and may be empty."""
        import torch

        result = np.zeros(frames.shape[:3], np.bool_)
        result[0] = first
        if len(frames) == 1:
            return result
        session = self._session(frames, first)
        with torch.inference_mode():
            for index in range(len(frames)):
                logits = self._net.model(session, frame_idx=index).pred_masks
                if index:
                    result[index] = to_frame(finite(logits, self._net.folder), frames.shape[1:3])
                self._forget(session, index)
        return result

    def _session(self, frames: Frames, first: Mask) -> Any:
        import torch
        from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoInferenceSession

        session: Any = Sam2VideoInferenceSession(
            video_height=frames.shape[1],
            video_width=frames.shape[2],
            inference_device=self._net.device,
            inference_state_device=self._net.device,
            dtype=torch.float32,
        )
        session.processed_frames = _Frames(frames, self._prepared)
        session.add_mask_inputs(session.obj_id_to_idx(_OBJECT), 0, self._prompt(first))
        session.obj_with_new_inputs = [_OBJECT]
        return session

    def _prompt(self, first: Mask) -> Any:
        """A mask as the model takes it, a tensor (1, 1, side, side) of 0 and 1, as its processor makes it."""
        import torch
        from torch.nn.functional import interpolate

        mask = torch.from_numpy(first.astype(np.float32))[None, None]
        if mask.shape[-2:] == self._prepared.size:
            return mask
        size = self._prepared.size
        return (interpolate(mask, size=size, mode="bilinear", align_corners=False, antialias=True) >= 0.5).float()

    def _forget(self, session: Any, index: int) -> None:
        config = self._net.model.config
        oldest = index - max(config.num_maskmem, config.max_object_pointers_in_encoder)
        past = session.output_dict_per_obj[0]["non_cond_frame_outputs"]
        for old in [old for old in past if old <= oldest]:
            del past[old]


class _Frames:
    """A clip's frames, prepared on request; takes the place of a session's dictionary of frames."""

    def __init__(self, frames: Frames, prepared: Preparation) -> None:
        self._frames = frames
        self._prepared = prepared

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: int) -> Any:
        return self._prepared(self._frames[index : index + 1])[0]


def load_sam2_video(path: Path) -> Sam2Video:
    """Load the model of a folder."""
    net = load(check_folder(path, SAM2_VIDEO))
    return Sam2Video(net, read_preparation(path, side=square(net.model.image_size), usual=Preparation()))
