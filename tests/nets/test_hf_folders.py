"""Folders of strangers' weights: what is refused and how, before anything of them runs."""

from __future__ import annotations

import json
import pickle
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tiny_hf
from auscult.errors import UsageError
from auscult.nets import hf_segmenters
from auscult.nets.hf_folder import (
    CONFIG,
    WEIGHTS,
    Family,
    build_settings,
    check_folder,
    count_weights,
    load,
    own_settings,
)
from tiny_clip import needs_clip

pytestmark = pytest.mark.extra_clip
needs_clip()

FAMILIES: dict[str, tuple[Family, Callable[[Path], Path]]] = {
    "clipseg": (hf_segmenters.CLIPSEG, tiny_hf.write_clipseg),
    "grounding": (hf_segmenters.GROUNDING_DINO, tiny_hf.write_grounding),
    "sam2": (hf_segmenters.SAM2, tiny_hf.write_sam2),
    "sam2_video": (hf_segmenters.SAM2_VIDEO, tiny_hf.write_sam2_video),
    "sam3": (hf_segmenters.SAM3_TEXT, tiny_hf.write_sam3),
}
EACH = pytest.mark.parametrize("name", list(FAMILIES))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("hf")
    return {name: write(root / name) for name, (_, write) in FAMILIES.items()}


@pytest.fixture
def copied(folders: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    return lambda name: Path(shutil.copytree(folders[name], tmp_path / name))


def _header(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


def _edit(folder: Path, change: dict[str, Any], *, file: str = CONFIG) -> None:
    path = folder / file
    table = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(table | change))


def _refusal_of(folder: Path, family: Family) -> UsageError:
    with pytest.raises(UsageError) as error:
        load(check_folder(folder, family))
    return error.value


@EACH
def test_a_folder_is_loaded_as_the_library_loads_it(folders: dict[str, Path], name: str) -> None:
    import torch
    import transformers

    family = FAMILIES[name][0]
    loaded_net = load(check_folder(folders[name], family))
    reference = getattr(transformers, family.model).from_pretrained(folders[name])
    assert not loaded_net.model.training
    own_state, reference_state = loaded_net.model.state_dict(), reference.state_dict()
    assert own_state.keys() == reference_state.keys()
    assert all(torch.equal(own_state[key].cpu(), reference_state[key]) for key in own_state)
    assert _described(loaded_net.model.config) == _described(reference.config)


@EACH
def test_settings_of_the_released_sizes_are_within_bounds(name: str) -> None:
    import transformers

    family = FAMILIES[name][0]
    kind = getattr(transformers, family.model).config_class
    reference_config = kind()
    table = json.loads(reference_config.to_json_string(use_diff=False))
    built = build_settings(own_settings(table, family), kind, family.parts)
    assert _described(built) == _described(reference_config)


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("sam2_video", {"memory_attention_rope_theta": 10_000}),
        ("grounding", {"backbone": None, "use_timm_backbone": False, "use_pretrained_backbone": False}),
        ("clipseg", {"text_config_dict": None, "vision_config_dict": None, "torch_dtype": "float32"}),
    ],
)
def test_names_that_old_releases_have_are_read(copied: Callable[[str], Path], name: str, old: dict[str, Any]) -> None:
    family, folder = FAMILIES[name][0], copied(name)
    before = _described(load(check_folder(folder, family)).model.config)
    _edit(folder, old)
    assert _described(load(check_folder(folder, family)).model.config) == before


@EACH
def test_nothing_is_fetched(folders: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_error(*_: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", raise_error)
    monkeypatch.setattr(socket, "getaddrinfo", raise_error)
    load(check_folder(folders[name], FAMILIES[name][0]))


def _described(config: Any) -> Any:
    """All settings but how and from where they were loaded, which ours leaves out."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in ignored_keys}
        return [plain(item) for item in value] if isinstance(value, list | tuple) else value

    ignored_keys = {"_name_or_path", "dtype", "transformers_version", "architectures"}
    return plain(config.to_dict())


@EACH
def test_loading_prints_nothing(folders: dict[str, Path], name: str, capfd: pytest.CaptureFixture[str]) -> None:
    load(check_folder(folders[name], FAMILIES[name][0]))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@EACH
def test_pickled_weights_are_never_opened(copied: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    folder, trap = copied(name), tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (trap,))

    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    assert "safetensors" in _refusal_of(folder, FAMILIES[name][0]).hint
    assert not trap.exists()


@EACH
def test_a_missing_file_is_named(copied: Callable[[str], Path], name: str) -> None:
    folder = copied(name)
    for missing in (CONFIG, WEIGHTS):
        content = (folder / missing).read_bytes()
        (folder / missing).unlink()
        assert missing in str(_refusal_of(folder, FAMILIES[name][0]))
        (folder / missing).write_bytes(content)
    if FAMILIES[name][0].reader:
        for file in ("tokenizer.json", "vocab.json", "vocab.txt"):
            (folder / file).unlink(missing_ok=True)
        assert "tokenizer" in _refusal_of(folder, FAMILIES[name][0]).message


@EACH
def test_another_model_s_settings_are_refused(copied: Callable[[str], Path], name: str) -> None:
    folder = copied(name)
    _edit(folder, {"model_type": "llama"})
    error = _refusal_of(folder, FAMILIES[name][0])
    assert "'llama'" in error.message
    assert str(folder) in str(error)


@EACH
@pytest.mark.parametrize("share", [0.0001, 0.5, 0.999])
def test_weights_cut_off_are_refused(copied: Callable[[str], Path], name: str, share: float) -> None:
    folder = copied(name)
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: max(4, int(share * len(data)))])
    assert "cut off" in str(_refusal_of(folder, FAMILIES[name][0]))


@EACH
@pytest.mark.parametrize("file", [CONFIG, "tokenizer_config.json", "preprocessor_config.json", "processor_config.json"])
def test_code_in_a_folder_is_never_run(copied: Callable[[str], Path], tmp_path: Path, name: str, file: str) -> None:
    folder, trap = copied(name), tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(trap)!r}, 'w').close()\nclass Evil: pass\n")
    classes = ("AutoConfig", "AutoModel", "AutoTokenizer", "AutoProcessor", "AutoImageProcessor")
    _edit(folder, {"auto_map": dict.fromkeys(classes, "evil.Evil")}, file=file)
    assert "auto_map" in _refusal_of(folder, FAMILIES[name][0]).message
    assert not trap.exists()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("clipseg", {"vision_config": {"image_size": 10**6}}, "image_size"),
        ("clipseg", {"vision_config": {"image_size": 2048, "patch_size": 1}}, "weights"),
        ("clipseg", {"vision_config": {"patch_size": 0}}, "patch_size"),
        ("clipseg", {"text_config": {"num_hidden_layers": 10**9}}, "num_hidden_layers"),
        ("clipseg", {"text_config": {"hidden_size": "many"}}, "hidden_size"),
        ("clipseg", {"text_config": [1]}, "text_config"),
        ("clipseg", {"text_config": {"model_type": "llama"}}, "llama"),
        ("clipseg", {"projection_dim": 60_000}, "weights"),
        ("clipseg", {"reduce_dim": 16}, "of another shape"),
        ("clipseg", {"quantization_config": {"quant_method": "gptq"}}, "quantization_config"),
        ("clipseg", {"transformers_weights": "../../other.safetensors"}, "another file"),
        ("grounding", {"backbone_config": {"model_type": "timm_backbone", "auto_map": {"a": "b"}}}, "auto_map"),
        ("grounding", {"backbone_config": {"model_type": "timm_backbone"}}, "timm_backbone"),
        ("grounding", {"backbone": "stranger/backbone"}, "backbone"),
        ("grounding", {"use_timm_backbone": True}, "use_timm_backbone"),
        ("grounding", {"text_config": {"model_type": "gpt2"}}, "gpt2"),
        ("sam2", {"vision_config": {"model_type": "clip_vision_model"}}, "clip_vision_model"),
        ("sam2_video", {"num_maskmem": 10**8}, "num_maskmem"),
        ("sam2_video", {"memory_attention_num_layers": 10**8}, "memory_attention_num_layers"),
        ("sam3", {"detr_decoder_config": {"num_queries": 10**8}}, "num_queries"),
        ("sam3", {"vision_config": {"scale_factors": [1.0] * 1000}}, "scale_factors"),
    ],
)
def test_settings_out_of_bounds_are_refused(
    copied: Callable[[str], Path], name: str, change: dict[str, Any], message: str
) -> None:
    folder = copied(name)
    _edit(folder, change)
    error = _refusal_of(folder, FAMILIES[name][0])
    assert message in error.message


def test_kernels_and_types_of_a_stranger_are_left_out(copied: Callable[[str], Path]) -> None:
    folder = copied("clipseg")
    strange = {"attn_implementation": "stranger/kernel", "_attn_implementation": "stranger/kernel", "dtype": "float16"}
    _edit(folder, {**strange, "return_dict": False, "output_attentions": True, "torchscript": True})
    model = load(check_folder(folder, hf_segmenters.CLIPSEG)).model
    assert model.config._attn_implementation in {"sdpa", "eager"}
    assert str(next(model.parameters()).dtype) == "torch.float32"
    assert model.config.return_dict


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (CONFIG, b"{", "broken JSON"),
        (CONFIG, b"[1]", "no object"),
        (CONFIG, b"[" * 100_000, "broken JSON"),
        (CONFIG, b'{"a":' * 20 + b"1" + b"}" * 20, "nested"),
        (CONFIG, b" " * 1_100_000, "bytes"),
        (WEIGHTS, b"\xff" * 64, "damaged or cut off: Error while deserializing header: header too large"),
        (WEIGHTS, b"\x04" + b"\0" * 7 + b"[12]", "damaged"),
        (WEIGHTS, b'\x21\0\0\0\0\0\0\0{"a":{"shape":[9],"data_offsets":1}}', "damaged"),
        (WEIGHTS, _header(b'{"a":{"shape":[Infinity],"data_offsets":[0,4]}}'), "damaged"),
        (WEIGHTS, _header(b'{"a":{"shape":[' + b"9," * 99 + b'9],"data_offsets":[0,4]}}'), "damaged"),
        (WEIGHTS, _header(b'{"a":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,0]}}'), "damaged"),
        ("tokenizer.json", b"{}", "cannot be loaded"),
        ("adapter_config.json", b"{}", "adapter"),
    ],
    ids=[
        "brace",
        "list",
        "brackets",
        "deep",
        "large",
        "no header",
        "list header",
        "offsets",
        "infinite",
        "axes",
        "claims",
        "tokens",
        "adapter",
    ],
)
def test_damaged_files_are_refused(copied: Callable[[str], Path], file: str, content: bytes, message: str) -> None:
    folder = copied("clipseg")
    (folder / file).write_bytes(content)
    assert message in str(_refusal_of(folder, hf_segmenters.CLIPSEG))


def test_missing_weights_are_named(copied: Callable[[str], Path]) -> None:
    from safetensors.torch import load_file, save_file

    folder = copied("clipseg")
    weights = load_file(folder / WEIGHTS)
    removed_name = sorted(weights)[0]
    del weights[removed_name]
    weights["padding"] = next(iter(weights.values())).new_zeros(10_000)
    save_file(weights, folder / WEIGHTS, {"format": "pt"})
    assert removed_name in _refusal_of(folder, hf_segmenters.CLIPSEG).message


def test_weights_are_counted_by_the_header(folders: dict[str, Path]) -> None:
    from safetensors.torch import load_file

    path = folders["sam2"] / WEIGHTS
    assert count_weights(path) == sum(weight.numel() for weight in load_file(path).values())
