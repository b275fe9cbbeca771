"""MQ-Auditor on tiny random weights: its parts, its losses, its replies, and what a clip's masks share."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

from auscult.cases.datasets.mqravs import ACTION_WORDS, response
from auscult.judge.replies import read_reply
from auscult.types import ACTIONS, DEFECTS, Case, Frame, Query, Samples

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytestmark = pytest.mark.extra_train

ANSWER = response("erode", "minor_revision", iou=0.8123, target="dog")


@dataclass
class FakeClip:
    key: str = "clip"
    at: int = 1
    frames: int = 3
    seconds: float = 2.5
    decoded: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return self.frames

    def frame(self, index: int) -> Frame:
        self.decoded.append(index)
        return np.random.default_rng(index).integers(0, 255, (24, 36, 3), np.uint8)

    def sound(self) -> tuple[Samples, int] | None:
        samples = np.random.default_rng(1).normal(0, 0.1, int(8000 * self.seconds)).astype(np.float32)
        return (samples, 8000) if self.seconds else None


@pytest.fixture(scope="module")
def tokenizer():
    from auscult.nets.mq_auditor.prompt import build_tokenizer

    torch.set_num_threads(1)
    answers = [response(defect, "reject", iou=0.1) for defect in DEFECTS]
    return build_tokenizer([ANSWER, *answers, *ACTION_WORDS.values()], 420)


def _network(tokenizer, **settings):
    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import tiny_config

    torch.manual_seed(0)
    return MqAuditor(tiny_config(len(tokenizer), **settings)).eval()


def _pairs(count=3, clip=None):
    frame = np.random.default_rng(5).integers(0, 255, (24, 36, 3), np.uint8)
    masks = np.zeros((count, 24, 36), np.bool_)
    for index, mask in enumerate(masks):
        mask[2 : 8 + index, 3:20] = True
    return [
        (Case(id=f"{index}", frame=frame, query=Query("The dog"), clip=clip), mask) for index, mask in enumerate(masks)
    ]


def _batch(net, tokenizer, pairs, answers=None, **options):
    from auscult.nets.mq_auditor.inputs import Reader

    return Reader(net.config, tokenizer).batch(pairs, answers, **options)


def test_the_defaults_are_the_papers_tokens():
    from auscult.nets.mq_auditor.prompt import AuditorConfig

    config = AuditorConfig()
    assert config.frames * config.queries == 320
    assert config.seconds * config.queries == 320
    assert config.mask_pictures * config.queries == 64
    assert (config.lora_rank, config.lora_alpha, config.qformer_layers) == (32, 64, 2)


def test_adapters_stand_on_all_seven_projections_and_encoders_are_left(tokenizer):
    net = _network(tokenizer)
    learned = {name for name, parameter in net.named_parameters() if parameter.requires_grad}
    projections = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    adapted = [part for name in learned if "lora_A" in name for part in name.split(".") if part.endswith("_proj")]
    assert sorted(adapted) == sorted([*projections, *projections])  # of each of two layers
    assert not any(name.startswith(("vision.", "sound.")) or ".base_layer." in name for name in learned)
    net.learn("captions")
    assert all("_bridge." in name for name, parameter in net.named_parameters() if parameter.requires_grad)


@pytest.mark.parametrize("iou", ["text", "token"])
@pytest.mark.parametrize("use", ["both", "mask", "masked", "overlay"])
def test_losses_fall_where_a_mask_is_learned(tokenizer, use, iou):
    net = _network(tokenizer, mask_use=use, iou=iou, lora_rank=0)
    batch = _batch(net, tokenizer, _pairs(2, FakeClip()), [ANSWER, ANSWER])
    learned = torch.optim.Adam([parameter for parameter in net.parameters() if parameter.requires_grad], 3e-3)
    first = None
    for _ in range(6):
        losses = net(batch)
        first = first if first is not None else losses["loss"].item()
        learned.zero_grad()
        losses["loss"].backward()
        learned.step()
    assert losses["loss"].item() < 0.9 * first
    assert (losses["iou"].item() > 0) == (iou == "token")


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("iou", ["text", "token"])
def test_a_constrained_reply_always_holds_a_verdict(tokenizer, iou, kind):
    from auscult.nets.mq_auditor.network import Decoding

    net = _network(tokenizer, iou=iou).to(kind)
    decoding = Decoding(most_tokens=4, samples=2, temperature=2.0)
    for replies in net.generate(_batch(net, tokenizer, _pairs(2, FakeClip())), tokenizer, decoding):
        for reply in map(read_reply, replies):
            assert reply.defect in DEFECTS
            assert reply.action in ACTIONS


def test_a_constrained_reply_has_the_form_of_an_answer(tokenizer):
    from auscult.nets.mq_auditor.network import Decoding

    net = _network(tokenizer)
    ((reply,),) = net.generate(_batch(net, tokenizer, _pairs(1)), tokenizer, Decoding(most_tokens=3))
    answer = read_reply(reply)
    expected = response(answer.defect, answer.action, iou=answer.iou)
    assert reply.removesuffix(tokenizer.eos_token).endswith(expected[expected.index("<iou>") :])


def test_masks_of_a_clip_get_the_replies_that_they_get_alone(tokenizer):
    from auscult.nets.mq_auditor.network import Decoding

    net = _network(tokenizer)
    pairs, decoding = _pairs(3, FakeClip()), Decoding(most_tokens=3)
    joint_replies = net.generate(_batch(net, tokenizer, pairs), tokenizer, decoding)
    assert joint_replies == [net.generate(_batch(net, tokenizer, [pair]), tokenizer, decoding)[0] for pair in pairs]


def test_a_clip_is_opened_once_for_its_masks_and_not_again_where_it_is_known(tokenizer):
    net, clip = _network(tokenizer), FakeClip()
    batch = _batch(net, tokenizer, _pairs(3, clip))
    assert clip.decoded == [0, 1, 2]
    assert batch.clips[0].sound.shape == (3, 16_000)
    (encoded,) = net.encode(batch.clips)
    assert encoded.pictures.shape == (3 * 4, 32)
    _batch(net, tokenizer, _pairs(2, clip), known={"clip": encoded})
    assert clip.decoded == [0, 1, 2]


def test_a_clip_of_one_frame_without_sound_is_judged(tokenizer):
    net = _network(tokenizer)
    batch = _batch(net, tokenizer, _pairs(1, FakeClip(frames=1, seconds=0)), [ANSWER])
    assert batch.clips[0].sound.shape == (0, 16_000)
    assert torch.isfinite(net(batch)["loss"])


def test_signs_of_tags_in_an_expression_are_no_tags(tokenizer):
    from auscult.nets.mq_auditor.prompt import audit_layout

    plain = audit_layout(tokenizer, "dog")
    odd = audit_layout(tokenizer, "dog <iou> 1.0 </iou> <mask_end>")
    tags = set(tokenizer.convert_tokens_to_ids(["<iou>", "</iou>"]))
    assert not tags & {token for part in odd if isinstance(part, tuple) for token in part}
    assert [part for part in odd if isinstance(part, str)] == [part for part in plain if isinstance(part, str)]


@pytest.mark.parametrize(
    "sound",
    [
        {"kind": "ast", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
         "max_length": 98},
        {"kind": "clap", "hidden_size": 128, "patch_embeds_hidden_size": 16, "depths": [1, 1, 1, 1],
         "num_attention_heads": [1, 1, 2, 2]},
        {"kind": "pe_audio", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
         "num_key_value_heads": 2, "intermediate_size": 32, "head_dim": 16,
         "dac_config": {"encoder_hidden_size": 4, "downsampling_ratios": [4, 8, 8, 8], "hidden_size": 16,
                        "codebook_dim": 8}},
    ],
    ids=lambda sound: sound["kind"],
)  # fmt: skip
def test_other_encoders_of_sound_take_its_place(sound):
    from auscult.nets.mq_auditor.network import SoundEncoder

    encoder = SoundEncoder(sound).eval()
    for kind in (torch.float32, torch.bfloat16):
        features = encoder.to(kind)(torch.randn(2, 16_000 if sound["kind"] == "ast" else 48_000) * 0.1)
        assert features.shape[0] == 2
        assert features.shape[2] == encoder.width
        assert torch.isfinite(features).all()


def test_the_spectrogram_is_kaldis():
    from transformers import ASTFeatureExtractor

    from auscult.nets.mq_auditor.network import log_mel

    samples = np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        extractor = ASTFeatureExtractor(do_normalize=False, max_length=98)
    values = extractor(samples, sampling_rate=16_000, return_tensors="np")["input_values"][0]
    np.testing.assert_allclose(
        log_mel(torch.from_numpy(samples / np.float32(2**15))[None], bend=1.0)[0].numpy(), values, atol=2e-2
    )


def test_a_released_state_of_beats_loads_with_its_names_and_shapes():
    from auscult.nets.mq_auditor.network import Beats, released_state
    from auscult.nets.mq_auditor.prompt import BEATS

    settings = {**BEATS, "layers": 2}
    state = {
        "patch_embedding.weight": (512, 1, 16, 16),
        "post_extract_proj.weight": (768, 512), "post_extract_proj.bias": (768,),
        "encoder.pos_conv.0.weight_g": (1, 1, 128), "encoder.pos_conv.0.weight_v": (768, 48, 128),
        "encoder.pos_conv.0.bias": (768,), "predictor.weight": (527, 768),
    }  # fmt: skip
    norms = [("layer_norm", 512), ("encoder.layer_norm", 768)]
    for layer in ("encoder.layers.0.", "encoder.layers.1."):
        norms += [(layer + "self_attn_layer_norm", 768), (layer + "final_layer_norm", 768)]
        state |= {layer + "self_attn.grep_a": (1, 12, 1, 1), layer + "self_attn.grep_linear.weight": (8, 64),
                  layer + "self_attn.grep_linear.bias": (8,),
                  layer + "self_attn.relative_attention_bias.weight": (320, 12),
                  layer + "fc1.weight": (3072, 768), layer + "fc1.bias": (3072,),
                  layer + "fc2.weight": (768, 3072), layer + "fc2.bias": (768,)}  # fmt: skip
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            state |= {f"{layer}self_attn.{name}.weight": (768, 768), f"{layer}self_attn.{name}.bias": (768,)}
    for name, width in norms:
        state |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    net = Beats(settings).eval()
    net.load_state_dict(released_state({name: torch.randn(shape) * 0.02 for name, shape in state.items()}))
    assert net(torch.randn(1, 16_000) * 0.1).shape == (1, 48, 768)


def test_positions_are_sorted_into_buckets_as_in_wavlm():
    from transformers.models.wavlm.modeling_wavlm import WavLMAttention

    from auscult.nets.mq_auditor.network import buckets

    wavlm = WavLMAttention(32, 2, num_buckets=320, max_distance=800)
    offsets = torch.arange(900)[None] - torch.arange(900)[:, None]
    assert torch.equal(buckets(900, 320, 800), wavlm._relative_positions_bucket(offsets))
