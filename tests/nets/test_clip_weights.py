"""Loading CLIP from a folder, proven on tiny random weights: what comes out, and what is refused and how."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.nets.clip import check_folder, load_clip
from auscult.nets.hf_folder import CONFIG, WEIGHTS
from auscult.rng import generator
from tiny_clip import DIM, SIDE, needs_clip, write_clip

pytestmark = pytest.mark.extra_clip
needs_clip()


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture
def copy(weights: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(weights, tmp_path / "copy"))


def _pictures(count: int) -> list[np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]]:
    rng = generator(0, "clip pictures")
    return [rng.integers(0, 256, (40 + 7 * place, 40 + 7 * place, 3), dtype=np.uint8) for place in range(count)]


def test_vectors_are_those_of_the_model_itself(weights: Path) -> None:
    import torch
    import transformers

    clip = load_clip(check_folder(weights))
    picture = _pictures(1)[0][:SIDE, :SIDE]
    text = "the red car"
    model = transformers.CLIPModel.from_pretrained(str(weights))
    tokens = transformers.CLIPTokenizer.from_pretrained(str(weights))
    mean, std = (np.array(values, np.float32) for values in (clip.folder.mean, clip.folder.std))
    pixels = ((picture.astype(np.float32) / 255 - mean) / std).transpose(2, 0, 1)[None]
    with torch.inference_mode():
        outputs = model(**tokens([text], return_tensors="pt"), pixel_values=torch.from_numpy(pixels))
    np.testing.assert_allclose(clip.pictures([picture]), outputs.image_embeds.numpy(), atol=1e-6)
    np.testing.assert_allclose(clip.sentences([text]), outputs.text_embeds.numpy(), atol=1e-6)
    cosine = float((clip.pictures([picture]) @ clip.sentences([text]).T)[0, 0])
    assert cosine * clip.scale == pytest.approx(float(outputs.logits_per_image[0, 0]), abs=1e-4)


def test_a_batch_gives_what_one_by_one_gives(weights: Path) -> None:
    clip = load_clip(check_folder(weights))
    pictures, texts = _pictures(35), [f"thing number {place}" for place in range(35)]
    vectors, words = clip.pictures(pictures), clip.sentences(texts)
    assert vectors.shape == words.shape == (35, DIM)
    np.testing.assert_allclose(vectors, np.concatenate([clip.pictures([picture]) for picture in pictures]), atol=1e-5)
    np.testing.assert_allclose(words, np.concatenate([clip.sentences([text]) for text in texts]), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors.std(axis=0).max() > 1e-4  # pictures differ


def test_loading_twice_gives_the_same_bytes(weights: Path) -> None:
    first, second = (load_clip(check_folder(weights)) for _ in range(2))
    assert first.pictures(_pictures(3)).tobytes() == second.pictures(_pictures(3)).tobytes()
    assert first.sentences(["a dog"]).tobytes() == second.sentences(["a dog"]).tobytes()


def test_words_beyond_what_the_model_reads_are_cut_off(weights: Path) -> None:
    clip = load_clip(check_folder(weights))
    assert clip.sentences(["very " * 500, "\U0001f3b8 \u4e2d", ""]).shape == (3, DIM)


def test_loading_prints_nothing(weights: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_clip(check_folder(weights))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS, "vocab.json", "merges.txt"])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(UsageError) as error:
        check_folder(copy)
    assert name in str(error.value)


def test_pickled_weights_are_not_read(copy: Path) -> None:
    (copy / WEIGHTS).unlink()
    (copy / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(UsageError) as error:
        check_folder(copy)
    assert "safetensors" in error.value.hint


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        check_folder(tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "bert"}, "not 'clip'"),
        ({"projection_dim": 10**9}, "projection_dim"),
        ({"projection_dim": "many"}, "projection_dim"),
        ({"vision_config": {"image_size": 100_000}}, "image_size"),
        ({"vision_config": {"image_size": 1024, "patch_size": 1}}, "holds fewer"),
        ({"vision_config": {"image_size": 32, "patch_size": 64}}, "holds fewer"),
        ({"vision_config": {"patch_size": 0}}, "patch_size"),
        ({"vision_config": {"patch_size": [8, 8]}}, "cannot be loaded"),
        ({"vision_config": {"num_channels": 4}}, "holds fewer"),
        ({"vision_config_dict": {"image_size": 100_000}}, "image_size"),
        ({"text_config_dict": {"vocab_size": 10**9}}, "vocab_size"),
        ({"text_config_dict": {}}, "holds fewer"),  # it stands for the usual sizes, which are far above the tiny ones
        ({"text_config": "large"}, "text_config"),
        ({"text_config": {"hidden_size": 4096, "num_hidden_layers": 64, "intermediate_size": 16_384}}, "holds fewer"),
    ],
    ids=str,
)
def test_a_configuration_out_of_bounds_is_refused(copy: Path, change: dict[str, object], message: str) -> None:
    _change(copy, change)
    with pytest.raises(UsageError, match=message):
        load_clip(check_folder(copy))


@pytest.mark.parametrize("name", ["adapter_model.bin", "sub/other.safetensors", ["model.safetensors"]])
def test_weights_of_another_name_are_refused(copy: Path, name: object) -> None:
    _change(copy, {"transformers_weights": name})
    with pytest.raises(UsageError, match="another file of weights"):
        check_folder(copy)


def test_weights_by_their_own_name_are_read(copy: Path, weights: Path) -> None:
    _change(copy, {"transformers_weights": WEIGHTS})
    plain = load_clip(check_folder(weights))
    assert load_clip(check_folder(copy)).sentences(["a dog"]).tobytes() == plain.sentences(["a dog"]).tobytes()


def test_an_adapter_beside_the_weights_is_refused(copy: Path) -> None:
    (copy / "adapter_config.json").write_text("{}")
    with pytest.raises(UsageError, match="adapter"):
        check_folder(copy)


def test_settings_of_old_files_are_read_from_their_second_table(copy: Path, weights: Path) -> None:
    config = json.loads((copy / CONFIG).read_text())
    text = config["text_config"]
    _change(
        copy, {"text_config_dict": text, "text_config": {**text, "num_hidden_layers": 1}, "vision_config_dict": None}
    )
    clip_found, plain = (load_clip(check_folder(folder)) for folder in (copy, weights))
    assert clip_found.words == plain.words
    assert clip_found.sentences(["a dog"]).tobytes() == plain.sentences(["a dog"]).tobytes()


@pytest.mark.parametrize(("name", "message"), [("logit_scale", "logit_scale"), ("text_projection.weight", "no number")])
def test_weights_that_are_no_numbers_give_no_scores(copy: Path, name: str, message: str) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(copy / WEIGHTS)
    tensors[name] = np.full_like(tensors[name], np.nan)
    save_file(tensors, copy / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(UsageError, match=message):
        load_clip(check_folder(copy)).sentences(["a dog"])


def _change(folder: Path, change: dict[str, object]) -> None:
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps(config | change))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model_type": NaN}'])
def test_a_broken_configuration_is_refused(copy: Path, content: str) -> None:
    (copy / CONFIG).write_text(content)
    with pytest.raises(UsageError):
        check_folder(copy)


def test_damaged_weights_are_refused(copy: Path) -> None:
    content = (copy / WEIGHTS).read_bytes()
    (copy / WEIGHTS).write_bytes(content[: len(content) // 2])
    with pytest.raises(UsageError, match="cut off"):
        load_clip(check_folder(copy))


def test_weights_that_lack_a_part_are_refused_and_not_drawn_at_random(copy: Path) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(copy / WEIGHTS)
    del tensors["visual_projection.weight"]
    save_file(tensors, copy / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(UsageError, match=r"1 weights are missing.*visual_projection"):
        load_clip(check_folder(copy))


def test_means_of_the_folder_are_used_and_checked(copy: Path) -> None:
    settings_file = copy / "preprocessor_config.json"
    settings_file.write_text(json.dumps({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}))
    assert check_folder(copy).mean == (0.5, 0.5, 0.5)
    for wrong in ([0.5, 0.5], "0.5", [0.5, 0.5, -1], [0.5, True, 0.5]):
        settings_file.write_text(json.dumps({"image_mean": wrong}))
        with pytest.raises(UsageError, match="image_mean"):
            check_folder(copy)
    settings_file.write_text(json.dumps({"image_std": [0, 0.5, 0.5]}))
    with pytest.raises(UsageError, match="image_std"):
        check_folder(copy)
