"""SAJ with tiny random encoders: prompts in any combination, heads, sizes, folders."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("transformers", reason="the extra `clip` is not installed")
pytest.importorskip("peft", reason="the extra `train` is not installed")

import torch

from auscult.errors import UsageError
from auscult.nets.saj.network import Saj
from auscult.nets.saj.settings import AXES, PROMPTS, RELEASED_ORDER, SajDesign
from auscult.nets.saj.weights import begin, load, read_design, save
from auscult.rng import generator
from auscult.types import Samples, SoundCase, Span

pytestmark = pytest.mark.extra_train

_SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
_CODEC = {"encoder_hidden_size": 2, "hidden_size": 8, "codebook_dim": 4, "downsampling_ratios": [8, 8, 10, 12]}
SOUNDS: dict[str, dict[str, Any]] = {
    "mel": {"kind": "mel", "width": 16, "halvings": 3, "layers": 1, "heads": 2},
    "pe_audio": {"kind": "pe_audio", **_SMALL, "head_dim": 8, "dac_config": _CODEC},
    "ast": {"kind": "ast", **_SMALL, "max_length": 98},
    "clap": {"kind": "clap", "hidden_size": 128, "patch_embeds_hidden_size": 16, "depths": [1] * 4,
             "num_attention_heads": [1, 1, 2, 2]},
}  # fmt: skip
TINY = SajDesign(
    audio=SOUNDS["mel"],
    text={"model_type": "modernbert", **_SMALL},
    text_layer=-1,
    vision={"model_type": "vit", **_SMALL, "image_size": 16, "patch_size": 8},
    width=16,
    heads=2,
    layers=1,
)
RATE_HZ = 16_000


def noise(seconds: float, key: str) -> Samples:
    return 0.1 * generator(0, "saj", key).standard_normal((1, round(seconds * RATE_HZ)), dtype=np.float32)


def case(seconds: float, key: str, **prompts: Any) -> SoundCase:
    return SoundCase(id=key, mixture=noise(seconds, key), rate_hz=RATE_HZ, **prompts)


ALL = {"text": "dog barking", "spans": (Span("+", 0.2, 0.6),), "frames": np.full((2, 20, 30, 3), 90, np.uint8)}


def small_net(design: SajDesign) -> tuple[Saj, Any]:
    torch.manual_seed(0)
    net, reader = begin(design, texts=["dog barking", "rain"])
    return net.eval(), reader


def scores_of(net: Saj, reader: Any, *pairs: tuple[SoundCase, Samples], **options: Any) -> dict[str, Any]:
    with torch.inference_mode():
        return net(reader.batch(pairs, **options))


@pytest.mark.parametrize("joined", ["time", "channels"])
def test_every_prompt_counts_and_an_absent_one_does_not(joined: Any) -> None:
    net, reader = small_net(replace(TINY, joined=joined))
    sound_case = case(0.9, "a", **ALL)
    output = 0.5 * noise(0.9, "b")
    values = [
        float(scores_of(net, reader, (sound_case, output), prompts=[set(combination)])["overall"])
        for count in range(4)
        for combination in itertools.combinations(PROMPTS, count)
    ]
    assert len({round(value, 6) for value in values}) == 8
    bare = float(scores_of(net, reader, (case(0.9, "a"), output))["overall"])
    assert bare == pytest.approx(values[0], abs=1e-6)  # what was asked and not shown is as what was never asked
    other = replace(sound_case, text="rain", frames=255 - ALL["frames"], spans=(Span("-", 0.0, 0.9),))
    for name in PROMPTS:
        first_score, second_score = (
            scores_of(net, reader, (case_, output), prompts=[{name}])["overall"] for case_ in (sound_case, other)
        )
        assert abs(float(first_score - second_score)) > 1e-6


@pytest.mark.parametrize("kind", ["mel", "ast", pytest.param("pe_audio", marks=pytest.mark.slow),
                                  pytest.param("clap", marks=pytest.mark.slow)])  # fmt: skip
def test_a_batch_of_several_lengths_gives_what_each_gives_alone(kind: str) -> None:
    net, reader = small_net(replace(TINY, audio=SOUNDS[kind]))
    long, short = case(1.3, "long", **ALL), case(0.5, "short", text="rain")
    pairs = [(long, noise(1.3, "b")), (short, noise(0.5, "c")), (long, long.mixture)]
    joint_scores = scores_of(net, reader, *pairs)
    assert set(joint_scores) == {*AXES, "alignment"}
    for index, pair in enumerate(pairs):
        alone = scores_of(net, reader, pair)
        assert max(float((joint_scores[name][index] - alone[name][0]).abs()) for name in alone) < 1e-3
    assert float(joint_scores["overall"][0]) != float(joint_scores["overall"][2])
    for axis in AXES[4:]:  # difficulty is of mixture and prompt alone
        assert float(joint_scores[axis][0]) == pytest.approx(float(joint_scores[axis][2]), abs=1e-6)


@pytest.mark.parametrize("axis", AXES)
def test_an_axis_that_is_switched_off_has_no_weights(axis: str) -> None:
    design = replace(TINY, axes=tuple(name for name in AXES if name != axis))
    with torch.device("meta"):
        names = set(Saj(design).head)
    assert names == {*AXES, "alignment"} - {axis}


def released_design() -> SajDesign:
    """The sizes of the published judge: encoders of 28 layers, fusion of 6 layers at 192."""
    return SajDesign(form="sam_audio", vision=None, spans=False, width=192, heads=3, layers=6, axes=RELEASED_ORDER,
                  alignment=False, words=512)  # fmt: skip


def test_the_published_form_has_its_sizes_and_its_order() -> None:
    with torch.device("meta"):
        net = Saj(released_design())
    count = {name: sum(parameter.numel() for parameter in part.parameters()) for name, part in net.named_children()}
    encoder, fusion = net.audio.net.net, net.fusion.transformer
    assert [len(part.layers) for part in (encoder, fusion)] == [28, 6]
    # a layer of width w: four projections, three of SwiGLU to 8/3 w in steps of 64, two norms and two of heads
    assert sum(parameter.numel() for parameter in encoder.layers.parameters()) == 28 * (
        4 * 1792**2 + 3 * 1792 * 4800 + 2 * 1792 + 2 * 128
    )
    assert sum(parameter.numel() for parameter in fusion.layers.parameters()) == 6 * (
        4 * 192**2 + 3 * 192 * 512 + 2 * 192 + 2 * 64
    )
    assert net.head.weight.shape == (4, 192)
    assert net.head.bias is None
    assert net.fusion.sounds.weight.shape == (256, 3584)
    assert net.audio.steps == 1920
    assert 1.10e9 < count["audio"] < 1.15e9
    assert sum(count.values()) == 1_533_531_264
    assert net.design.axes == RELEASED_ORDER


def test_the_published_form_scales_its_scores_as_stored(tmp_path: Path) -> None:
    small = replace(released_design(), audio=SOUNDS["mel"], text=TINY.text, text_layer=-1, width=16, heads=2, layers=1)
    net, reader = small_net(small)
    pair = (case(0.7, "a", text="rain"), noise(0.7, "b"))
    raw = scores_of(net, reader, pair)
    net.mean.copy_(torch.tensor([3.0, 2.0, 1.0, 0.0]))
    net.std.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    save(net, reader, tmp_path)
    scaled = scores_of(*load(tmp_path), pair)
    for index, axis in enumerate(RELEASED_ORDER):
        assert float(scaled[axis]) == pytest.approx(float(raw[axis]) * (index + 1) + 3 - index, abs=1e-5)


def test_a_folder_is_loaded_as_it_was_saved_and_refused_where_it_is_wrong(tmp_path: Path) -> None:
    net, reader = small_net(TINY)
    save(net, reader, tmp_path)
    pair = (case(0.7, "a", **ALL), noise(0.7, "b"))
    scores, loaded_scores = scores_of(net, reader, pair), scores_of(*load(tmp_path), pair)
    assert all(float(scores[name]) == float(loaded_scores[name]) for name in scores)
    design = json.loads((tmp_path / "design.json").read_text())
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"width": 4096}, "describes"),
        ({"axes": ["loveliness"]}, "loveliness"),
        ({"audio": {"kind": "echo"}}, "echo"),
        ({"text": {**design["text"], "auto_map": {"AutoModel": "code.py"}}}, "auto_map"),
        ({"vision": {**design["vision"], "hidden_size": 10**9}}, "hidden_size"),
        ({"text": {"model_type": "gpt2"}}, "gpt2"),
    ]
    for change, message in wrong:
        (tmp_path / "design.json").write_text(json.dumps({**design, **change}))
        with pytest.raises(UsageError, match=message):
            read_design(tmp_path)
    (tmp_path / "design.json").write_text(json.dumps(design))
    (tmp_path / "model.safetensors").write_bytes((tmp_path / "model.safetensors").read_bytes()[:-100])
    with pytest.raises(UsageError, match="damaged"):
        read_design(tmp_path)


def test_encoders_are_read_from_folders(tmp_path: Path) -> None:
    import transformers

    from auscult.nets.mq_auditor.prompt import build_tokenizer

    torch.manual_seed(1)
    tokenizer = build_tokenizer(["dog barking"])
    marks = {"vocab_size": len(tokenizer), **dict.fromkeys(("bos_token_id", "cls_token_id"), 1), "pad_token_id": 0,
             **dict.fromkeys(("eos_token_id", "sep_token_id"), 2)}  # fmt: skip
    text = transformers.ModernBertModel(transformers.ModernBertConfig(**_SMALL, **marks))
    vision = transformers.ViTModel(transformers.ViTConfig(**_SMALL, image_size=16, patch_size=8))
    audio = transformers.ASTModel(transformers.ASTConfig(**_SMALL, max_length=98))
    for part, model in (("text", text), ("vision", vision), ("audio", audio)):
        model.save_pretrained(tmp_path / part)
    tokenizer.save_pretrained(tmp_path / "text")
    net, reader = begin(replace(TINY, text=None, vision=None), **{name: str(tmp_path / name) for name in
                                                                  ("audio", "text", "vision")})  # fmt: skip
    for ours, source in ((net.text, text), (net.vision, vision), (net.audio.net.net, audio)):
        state = source.state_dict()
        assert all(torch.equal(value, state[name]) for name, value in ours.state_dict().items())
    assert asdict(net.design)["audio"]["kind"] == "ast"
    assert set(scores_of(net.eval(), reader, (case(0.6, "a", **ALL), noise(0.6, "b")))) == {*AXES, "alignment"}
    with pytest.raises(UsageError, match="no folder"):
        begin(TINY, audio=str(tmp_path / "nowhere"))
