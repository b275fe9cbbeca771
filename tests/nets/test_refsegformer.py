"""RefSegformer: every option learns with all it has, the losses by hand, what a token, a word and a stage may see."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch
from torch import Tensor, nn

from auscult.nets.refsegformer.network import Attention, DeformableLayer, RefSegformer, SmallText, SmallVision
from auscult.nets.refsegformer.settings import Design
from auscult.train.rris.loop import choosing_loss, existence_loss, segmentation_loss, total_loss

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)

SMALL = Design(
    side=64,
    tokens=6,
    vision="small",
    text="small",
    widths=(8, 16, 16, 32),
    depths=(1, 1, 1, 1),
    text_width=16,
    head_width=8,
    memory=3,
    blank=2,
)
KNOWN = torch.tensor([[True] * 4 + [False] * 2, [True] * 6])


def network(design: Design = SMALL) -> RefSegformer:
    torch.manual_seed(0)
    return RefSegformer(design, vision=SmallVision(design), text=SmallText(design, words=20))


def example_inputs() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.rand(2, 3, 64, 64), torch.randint(2, 20, (2, 6))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fused": (4,)},
        {"fused": (3, 4), "memory_reads": "text", "existence_stage": 3, "existence_gradient": "detached"},
        {"existence": "tokens", "decoder_input": "sum"},
        {"existence": "none", "blank": 0, "decoder_tokens": False},
        {"fusion": "pwan"},
        {"fusion": "pwan", "existence": "tokens"},
        {"decoder": "deformable"},
        {"places": True},
        {"places": True, "fusion": "pwan"},
    ],
)
def test_every_parameter_of_every_option_learns(options: dict[str, Any]) -> None:
    design = replace(SMALL, **options)
    net = network(design)
    pictures, ids = example_inputs()
    answer = net(pictures, ids, KNOWN)
    coarse = [16, 8, 4, 2] if design.decoder == "fpn" else [16]
    assert [tuple(mask.shape) for mask in answer.masks] == [(2, 2, side, side) for side in coarse]
    exists = torch.tensor([True, False])
    existence = None if answer.existence is None else existence_loss(answer.existence, exists)
    total_loss(segmentation_loss(answer.masks, exists[:, None, None].expand(-1, 64, 64)), existence).backward()
    assert not [name for name, value in net.named_parameters() if value.grad is None]
    assert (answer.existence is None) == (design.existence == "none")


def test_the_losses_by_hand() -> None:
    # p = 3/4 and 1/2 of the truth in M_1; M_2 says 3/4 target for both pixels, of which the second is none
    third = math.log(3)
    fine = torch.tensor([[[[0.0, 0.0]], [[third, 0.0]]]])
    coarse = torch.tensor([[[[0.0]], [[third]]]])
    truth = torch.tensor([[[True, False]]])
    segmentation = segmentation_loss([fine, coarse], truth)
    by_hand = (0.287682 + 0.693147) / 2 + 0.4 * (0.287682 + 1.386294) / 2
    assert float(segmentation) == pytest.approx(by_hand, abs=1e-6)
    heavier = segmentation_loss([fine, coarse], truth, foreground=3.0)
    assert float(heavier) == pytest.approx(by_hand + (0.287682 + 0.4 * 0.287682), abs=1e-6)  # (3 - 1) / 2 pixels more
    existence = existence_loss(torch.tensor([third, third]), torch.tensor([True, False]))
    assert float(existence) == pytest.approx((0.287682 + 1.386294) / 2, abs=1e-6)  # positive: Eq. 7 with its minus
    assert float(total_loss(segmentation, existence)) == pytest.approx(0.825210 + 0.836988, abs=1e-5)


def test_the_release_weighs_negative_sentences_apart() -> None:
    third = math.log(3)
    masks = torch.tensor([[0.0, third]] * 3)[:, :, None, None]
    truth = torch.tensor([True, False, False])[:, None, None]
    positive, negative = 0.287682, 1.386294
    plain = segmentation_loss([masks], truth)
    assert float(plain) == pytest.approx((positive + 2 * negative) / 3, abs=1e-6)
    exists = torch.tensor([True, False, False])
    weighed = segmentation_loss([masks], truth, exists=exists, negatives=0.4)
    assert float(weighed) == pytest.approx(positive + 0.4 * negative, abs=1e-6)


def test_an_object_is_chosen_among_those_of_its_picture_alone() -> None:
    """Two pictures of two sentences; of the first, objects of mean logits 2 and 0; the last sentence is negative."""
    picture = torch.tensor([[2.0, 2.0], [0.0, 0.0]])
    masks = torch.stack([torch.zeros(4, 2, 2), picture.expand(4, 2, 2)], dim=1)
    objects = torch.tensor([[[1, 1], [0, 0]], [[0, 0], [1, 1]], [[1, 0], [1, 0]]]).bool()
    picture_index, object_index = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 2, -1])
    right, wrong, alone = math.log(1 + math.exp(-2)), math.log(1 + math.exp(2)), 0.0
    loss = choosing_loss([masks, masks], objects, picture_index, chosen=object_index, each=2)
    assert float(loss) == pytest.approx((right + wrong + alone) / 3, abs=1e-6)
    assert float(choosing_loss([masks], objects, picture_index, chosen=torch.full((4,), -1), each=2)) == 0


def test_sentences_of_one_picture_are_answered_as_each_by_itself() -> None:
    net = network().eval()
    pictures, ids = example_inputs()
    ids, known_words = torch.cat([ids, ids.flip(0)]), torch.cat([KNOWN, KNOWN.flip(0)])
    with torch.no_grad():
        joint_answer = net(pictures, ids, known_words)
        single_answer = net(pictures[[0, 0, 1, 1]], ids, known_words)
    assert torch.allclose(joint_answer.masks[0], single_answer.masks[0], atol=1e-5)
    assert joint_answer.existence is not None
    assert single_answer.existence is not None
    assert torch.allclose(joint_answer.existence, single_answer.existence, atol=1e-5)


@pytest.mark.parametrize("fusion", ["vltf", "pwan"])
def test_padding_changes_nothing(fusion: Any) -> None:
    net = network(replace(SMALL, fusion=fusion)).eval()
    pictures, ids = example_inputs()
    other = torch.where(KNOWN, ids, 7)
    with torch.no_grad():
        answer, padded_answer = net(pictures, ids, KNOWN), net(pictures, other, KNOWN)
    assert not torch.equal(ids, other)
    assert float((answer.masks[0] - padded_answer.masks[0]).abs().max()) < 1e-5
    assert float((answer.existence - padded_answer.existence).abs().max()) < 1e-5


def test_a_pretrained_encoder_is_undisturbed_at_first_and_then_sees_the_sentence() -> None:
    net = network().eval()
    pictures, ids = example_inputs()
    features: list[Tensor] = []
    net.vision.stages[2].register_forward_hook(lambda _module, inputs, _out: features.append(inputs[0]))
    with torch.no_grad():
        for gain in (0.0, 1.0):
            net.fusions["2"].sigma.weight.fill_(gain)
            for sentence in (ids, ids.flip(1)):
                net(pictures, sentence, KNOWN)
    assert torch.equal(features[0], features[1])
    assert not torch.allclose(features[2], features[3])


def test_blank_tokens_hear_no_sentence() -> None:
    net = network().eval()
    pictures, ids = example_inputs()
    with torch.no_grad():
        maps = net.stem(pictures)
        tokens = [net.fusions["2"](maps[-1], net.text(words, KNOWN), KNOWN).tokens for words in (ids, ids.flip(1))]
    assert torch.equal(tokens[0][:, :2], tokens[1][:, :2])
    assert not torch.allclose(tokens[0][:, 2:], tokens[1][:, 2:])


def test_attention_is_the_librarys() -> None:
    torch.manual_seed(2)
    attention, reference = Attention(16, heads=2), nn.MultiheadAttention(16, 2, batch_first=True)
    reference.in_proj_weight.data = torch.cat([attention.query.weight, attention.key.weight, attention.value.weight])
    reference.in_proj_bias.data = torch.cat([attention.query.bias, attention.key.bias, attention.value.bias])
    reference.out_proj.load_state_dict(attention.out.state_dict())
    query, source = torch.randn(2, 5, 16), torch.randn(2, 6, 16)
    output, weights = attention(query, source, KNOWN)
    expected, expected_weights = reference(query, source, source, key_padding_mask=~KNOWN)
    assert float((output - expected).detach().abs().max()) < 1e-5
    assert float((weights - expected_weights).detach().abs().max()) < 1e-6


def test_deformable_attention_reads_where_it_points() -> None:
    """With no offset and all weight on one level, a position at a cell's centre reads that cell."""
    torch.manual_seed(3)
    layer = DeformableLayer(256)
    layer.offsets.bias.data.zero_()
    layer.weights.bias.data = torch.tensor([0.0, -1e4, -1e4])[None, :, None].expand(8, 3, 4).reshape(-1).clone()
    inputs_seen: list[Tensor] = []
    layer.out.register_forward_hook(lambda _module, inputs, _out: inputs_seen.append(inputs[0]))
    sizes = [(4, 4), (2, 2), (1, 1)]
    features = torch.randn(1, 21, 256)
    places = (torch.tensor([[x, y] for y in range(4) for x in range(4)]).float() + 0.5) / 4
    with torch.no_grad():
        layer(features, torch.zeros(21, 256), places=torch.cat([places, torch.full((5, 2), 0.5)]), sizes=sizes)
        expected = layer.value(features)[:, :16]
    assert float((inputs_seen[0][:, :16] - expected).abs().max()) < 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side": 100}, "multiple of 32"),
        ({"widths": (8, 16, 20, 32)}, "whole heads"),
        ({"fused": (1, 2)}, "stages 2, 3, 4"),
        ({"fused": (2, 3)}, "existence_stage is 4"),
        ({"depths": ()}, "four numbers of blocks"),
        ({"vision": "mobile"}, "MobileNetV2's"),
    ],
)
def test_a_design_that_cannot_be_built_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **options)
