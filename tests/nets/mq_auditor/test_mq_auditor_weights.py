"""MQ-Auditors in folders: saved, loaded, put together, converted from made files, refused where they are wrong."""

import json
import pickle
import shutil

import pytest

from auscult.errors import InputError, UsageError

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytestmark = pytest.mark.extra_train


@pytest.fixture(scope="module")
def net_and_tokenizer():
    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import build_tokenizer, tiny_config

    torch.set_num_threads(1)
    tokenizer = build_tokenizer(["the dog on the left"], 400)
    return MqAuditor(tiny_config(len(tokenizer))).eval(), tokenizer


def _same_weights(net, other):
    state = other.state_dict()
    return all(torch.equal(value, state[name]) for name, value in net.state_dict().items())


def test_a_network_is_loaded_as_it_was_saved_whole_and_in_parts(net_and_tokenizer, tmp_path, monkeypatch):
    from auscult.nets.mq_auditor import weights

    monkeypatch.setattr(weights, "_SHARD", "100KB")
    weights.save(*net_and_tokenizer, tmp_path)
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    net, tokenizer = weights.load(tmp_path)
    assert _same_weights(net_and_tokenizer[0], net)
    assert len(tokenizer) == len(net_and_tokenizer[1])


def _parts(net, folder):
    """The folders of the parts under a network, as they are released."""
    from safetensors.torch import save_file

    before = {"language": "language.", "vision": "vision.", "sound": "sound.net."}
    for part, prefix in before.items():
        (folder / part).mkdir(parents=True)
        state = {
            name.removeprefix(prefix).replace(".base_layer.", "."): value
            for name, value in net.state_dict().items()
            if name.startswith(prefix) and "lora_" not in name
        }
        save_file(state, folder / part / "model.safetensors")


def test_what_was_learned_stands_beside_the_parts_under_it(net_and_tokenizer, tmp_path):
    from auscult.nets.mq_auditor import weights

    weights.save(*net_and_tokenizer, tmp_path, learned_only=True)
    with pytest.raises(UsageError, match="'language' is missing"):
        weights.check_files(tmp_path)
    _parts(net_and_tokenizer[0], tmp_path)
    assert _same_weights(net_and_tokenizer[0], weights.load(tmp_path)[0])


_SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


def _released_encoder(kind):
    """A whole model as it is released, and its encoder of sounds."""
    import transformers

    if kind == "ast":
        full_model = transformers.ASTForAudioClassification(transformers.ASTConfig(**_SMALL, max_length=98))
        return full_model, full_model.audio_spectrogram_transformer
    if kind == "pe_audio":
        audio = {**_SMALL, "num_key_value_heads": 2, "head_dim": 16,
                 "dac_config": {"encoder_hidden_size": 4, "downsampling_ratios": [4, 8, 8, 8], "hidden_size": 16,
                                "codebook_dim": 8}}  # fmt: skip
        text = {"model_type": "modernbert", **_SMALL, "vocab_size": 20, "pad_token_id": 0}
        full_model = transformers.PeAudioModel(transformers.PeAudioConfig(text_config=text, audio_config=audio))
        return full_model, full_model.audio_encoder
    clap = {"hidden_size": 128, "patch_embeds_hidden_size": 16, "depths": [1] * 4, "num_attention_heads": [1, 1, 2, 2]}
    fused = {"enable_fusion": True, "fusion_type": "aff_2d"} if kind == "fused" else {}
    config = transformers.ClapConfig(text_config={**_SMALL, "vocab_size": 20}, audio_config={**clap, **fused})
    full_model = transformers.ClapModel(config)
    return full_model, full_model.audio_model


@pytest.mark.parametrize("kind", ["ast", "clap", "fused", "pe_audio"])
def test_a_network_is_put_together_from_released_parts(net_and_tokenizer, tmp_path, kind):
    from transformers import CLIPVisionConfig, CLIPVisionModel, LlamaConfig, LlamaForCausalLM

    from auscult.nets.mq_auditor import weights

    config = net_and_tokenizer[0].config
    folders = {name: tmp_path / name for name in ("language", "vision", "sound")}
    full_model, sound_model = _released_encoder(kind)
    language = LlamaForCausalLM(LlamaConfig(**{**config.language, "vocab_size": len(net_and_tokenizer[1]) - 4}))
    language.save_pretrained(folders["language"])
    net_and_tokenizer[1].save_pretrained(folders["language"])
    CLIPVisionModel(CLIPVisionConfig(**config.vision)).save_pretrained(folders["vision"])
    full_model.save_pretrained(folders["sound"])
    net, _ = weights.assemble(config, **folders)
    assert net.config.sound["kind"] == ("clap" if kind == "fused" else kind)
    state = net.sound.net.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in sound_model.state_dict().items())
    weight = language.model.layers[1].mlp.up_proj.weight
    assert torch.equal(net.language.model.layers[1].mlp.up_proj.base_layer.weight, weight)
    assert not any(parameter.requires_grad for parameter in net.sound.parameters())
    with torch.no_grad():
        features = net.eval().sound(torch.randn(2, net.config.sound_rate_hz) * 0.1)
    assert features.shape[2] == net.sound.width


def test_adapters_on_a_base_of_another_size_are_an_error_with_both(net_and_tokenizer, tmp_path):
    from auscult.nets.mq_auditor import weights
    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import tiny_config

    weights.save(*net_and_tokenizer, tmp_path, learned_only=True)
    language = {**net_and_tokenizer[0].config.language, "hidden_size": 64}
    with pytest.raises(UsageError, match=r"32.* in the file and .*64.* in the network"):
        weights.load_learned(MqAuditor(tiny_config(0, language=language)), tmp_path / "learned.safetensors")


def _as_released(name):
    """One of our names as a release's file has it."""
    for own_prefix, released_prefix in (
        ("video_bridge.", "vl_projector.visual_"),
        ("sound_bridge.", "al_projector.audio_"),
    ):
        if name.startswith(own_prefix):
            tail = (
                name.removeprefix(own_prefix).replace("norm.", "ln.", 1)
                if ".norm." in name
                else name.removeprefix(own_prefix)
            )
            tail = tail.replace("project.", "proj.").replace("qformer.layernorm.", "qformer.embeddings.LayerNorm.")
            tail = tail.replace("attention.attention.", "attention.self.").replace("_query.", ".")
            tail = "query_tokens" if tail == "queries" else tail.replace("qformer.", "Qformer.bert.")
            return f"base_model.model.model.{released_prefix}{tail}"
    return f"base_model.model.{name.removeprefix('language.')}"


@pytest.mark.slow
def test_a_release_is_converted_by_name_and_loads(net_and_tokenizer, tmp_path):
    from auscult.jobs import auditor_weights
    from auscult.nets.mq_auditor import weights
    from auscult.nets.mq_auditor.network import MqAuditor

    learned = {name: value for name, value in net_and_tokenizer[0].named_parameters() if value.requires_grad}
    torch.save({_as_released(name): value.detach() for name, value in learned.items()}, tmp_path / "weights.bin")
    assert auditor_weights.convert_release(tmp_path / "weights.bin", tmp_path / "out") == sorted(learned)
    other = MqAuditor(net_and_tokenizer[0].config)
    weights.load_learned(other, tmp_path / "out" / "learned.safetensors")
    assert all(torch.equal(dict(other.named_parameters())[name], value) for name, value in learned.items())


class _Opens:
    def __reduce__(self):
        return (open, ("opened.txt", "w"))


@pytest.mark.slow
def test_a_pickle_that_runs_something_is_refused_and_runs_nothing(tmp_path, monkeypatch):
    from auscult.jobs import auditor_weights

    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.bin").write_bytes(pickle.dumps({"a": _Opens()}))
    with pytest.raises(InputError, match="no weights, or more than weights"):
        auditor_weights.convert_release(tmp_path / "bad.bin", tmp_path / "out")
    assert not (tmp_path / "opened.txt").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "model.safetensors").write_bytes(b"nothing"), "damaged"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer"),
        (lambda folder: (folder / "config.json").write_text(json.dumps({"model_type": "bert"})), "bert"),
        (shutil.rmtree, "no such folder"),
    ],
)
def test_a_folder_that_lacks_something_is_refused_by_name(net_and_tokenizer, tmp_path, change, words):
    from auscult.nets.mq_auditor import weights

    weights.save(*net_and_tokenizer, tmp_path / "net")
    change(tmp_path / "net")
    with pytest.raises(UsageError, match=words):
        weights.check_files(tmp_path / "net")
