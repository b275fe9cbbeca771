"""Hugging Face models as a person asks for them: by name and folder, through the adapter of all models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny_hf
from auscult.errors import InputError, UsageError
from auscult.models import hf
from auscult.models.base import ReferringModel, Request, WeightedModel
from auscult.models.spec import model_spec
from auscult.types import Query
from tiny_clip import needs_clip

pytestmark = pytest.mark.extra_clip
needs_clip()

MODELS = {
    "clipseg": hf.CLIPSEG,
    "grounded_sam2": hf.GROUNDED_SAM2,
    "sam2_video": hf.SAM2_VIDEO,
    "sam3": hf.SAM3,
}
EACH = pytest.mark.parametrize("name", list(MODELS))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    tiny_hf.write_grounding(root / "grounded_sam2" / "grounding_dino")
    tiny_hf.write_sam2(root / "grounded_sam2" / "sam2")
    return {
        "clipseg": tiny_hf.write_clipseg(root / "clipseg"),
        "grounded_sam2": root / "grounded_sam2",
        "sam2_video": tiny_hf.write_sam2_video(root / "sam2_video"),
        "sam3": tiny_hf.write_sam3(root / "sam3"),
    }


def _ask(name: str, *, frames: int = 3) -> Request:
    clip = tiny_hf.clip_of(frames)
    first = np.zeros(clip.shape[1:3], np.bool_)
    first[10:30, 10:40] = True
    follows = "vos" in MODELS[name].tasks
    return Request(
        id="a",
        condition="clean",
        names=tuple(f"{place:05d}" for place in range(frames)),
        size=(clip.shape[1], clip.shape[2]),
        query=Query(None if follows else "the red car"),
        frames=clip.copy,
        first_mask=first if follows else None,
    )


@EACH
def test_a_model_is_asked_by_name_and_folder(folders: dict[str, Path], name: str) -> None:
    spec = model_spec(f"hf.{name}.v1@{folders[name]}")
    assert spec.tasks == MODELS[name].tasks
    answering, ask = spec.load(), _ask(name)
    first, second = answering(ask), answering(ask)
    again = model_spec(f"hf.{name}.v1@{folders[name]}").load()(ask)
    assert first.masks.shape == ask.shape
    assert first.masks.dtype == np.bool_
    assert 0 < first.masks.mean() < 1
    assert first.masks.tobytes() == second.masks.tobytes() == again.masks.tobytes()
    assert first.threshold == (0.5 if name == "clipseg" else None)
    direct = MODELS[name].using(folders[name]).predict(ask.frames(), ask.query, first_mask=ask.first_mask)
    assert (first.masks == (direct > 0.5)).all()
    answering.close()


@EACH
def test_frames_are_left_as_they_were(folders: dict[str, Path], name: str) -> None:
    ask = _ask(name)
    frames = ask.frames()
    frames.flags.writeable = False
    MODELS[name].using(folders[name]).predict(frames, ask.query, first_mask=ask.first_mask)
    assert (frames == ask.frames()).all()


@EACH
def test_a_registered_model_waits_for_its_weights(folders: dict[str, Path], name: str) -> None:
    model = MODELS[name]
    assert isinstance(model, WeightedModel)
    assert not isinstance(model, ReferringModel)
    assert isinstance(model.using(folders[name]), ReferringModel)
    with pytest.raises(UsageError, match="brings no weights"):
        model_spec(f"hf.{name}.v1")


@EACH
def test_a_photograph_is_one_frame(folders: dict[str, Path], name: str) -> None:
    ask = _ask(name, frames=1)
    masks = MODELS[name].using(folders[name]).predict(ask.frames(), ask.query, first_mask=ask.first_mask)
    assert masks.shape == ask.shape


@EACH
def test_what_was_not_given_is_said(folders: dict[str, Path], name: str) -> None:
    ask = _ask(name)
    model = MODELS[name].using(folders[name])
    with pytest.raises(InputError, match="first mask" if name == "sam2_video" else "without a sentence"):
        model.predict(ask.frames(), Query(None))
    wrong: Any = [ask.frames()[0], ask.frames().astype(np.float32), ask.frames()[:0]]
    for frames in wrong:
        with pytest.raises(InputError, match="frames of shape"):
            model.predict(frames, ask.query, first_mask=ask.first_mask)
    with pytest.raises(InputError, match="first mask" if name == "sam2_video" else "without a sentence"):
        model.predict(ask.frames(), Query(None), first_mask=np.zeros((5, 5), np.bool_))


def test_both_folders_of_a_pair_are_asked_for(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="grounding_dino") as error:
        hf.GROUNDED_SAM2.using(tmp_path)
    assert "sam2" in error.value.expected
    (tmp_path / "grounding_dino").mkdir()
    with pytest.raises(UsageError, match="'sam2'"):
        hf.GROUNDED_SAM2.using(tmp_path)


def test_no_box_is_an_empty_mask(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from auscult.nets import hf_segmenters

    monkeypatch.setattr(hf_segmenters, "LEAST_SCORE", 1.0)
    masks = hf.GROUNDED_SAM2.using(folders["grounded_sam2"]).predict(tiny_hf.clip_of(2), Query("a dog"))
    assert masks.shape == (2, 48, 70)
    assert not masks.any()


def test_weights_that_give_no_number_are_said(folders: dict[str, Path], tmp_path: Path) -> None:
    import shutil

    from safetensors.torch import load_file, save_file

    broken = Path(shutil.copytree(folders["clipseg"], tmp_path / "broken"))
    weights = load_file(broken / "model.safetensors")
    weights["decoder.reduces.0.weight"][:] = float("nan")
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    with pytest.raises(UsageError, match="no number"):
        hf.CLIPSEG.using(broken).predict(tiny_hf.clip_of(1), Query("a dog"))
