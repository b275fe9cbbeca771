"""The network of `masks.prompted.v1` and its backbone: shapes, padding as TensorFlow does it, one sample at a time."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch
from torch import Tensor, nn
from torch.nn import functional

from auscult.nets.mobilenet import Context, Conv, MobileNetV2
from auscult.nets.prompted import BINS, FEATURES, PROMPTS, SHAPE, STRIP, TYPES, Design, PromptedNet, dilate_5x5
from auscult.rng import generator

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def net() -> PromptedNet:
    return lively(Design(side=64))


def lively(design: Design) -> PromptedNet:
    """A net whose answers hang on what it is given: PyTorch's own first weights fade over fifty layers."""
    torch.manual_seed(1)
    made = PromptedNet(design).eval()
    for value in made.parameters():
        if value.ndim > 1:
            nn.init.kaiming_normal_(value)
    made.decoder.answer.weight.data.mul_(0.02)  # logits of a few units, as a trained net gives them
    return made


def sight_of(count: int, side: int = 64, *, seed: int = 0) -> dict[str, Tensor]:
    rng, grid = generator(seed, "net"), side // 2
    sight = {
        "crop": rng.uniform(-1, 1, (count, 3, side, side)),
        "candidate": rng.random((count, 1, grid, grid)) < 0.4,
        "strip": rng.uniform(-2, 2, (count, STRIP, 24, 256)),
        "shape": rng.standard_normal((count, SHAPE)),
    }
    return {name: torch.from_numpy(value.astype(np.float32)) for name, value in sight.items()}


def outputs_of(net: PromptedNet, sight: dict[str, Tensor], **options: object) -> dict[str, Tensor]:
    with torch.no_grad():
        return net(sight["crop"], sight["candidate"], strip=sight["strip"], shape=sight["shape"], **options)


def distance(first: Tensor, other: Tensor) -> float:
    """The largest difference; torch.testing would load all of torch.distributed for it."""
    return float((first - other).detach().abs().max())


@pytest.mark.parametrize("side", [64, 96])
def test_the_outputs_have_their_shapes(side: int) -> None:
    outputs = outputs_of(lively(Design(side=side)), sight_of(2, side))
    assert {name: tuple(value.shape) for name, value in outputs.items()} == {
        "answer": (2, 1, side // 2, side // 2), "ious": (2, BINS), "types": (2, len(TYPES)), "features": (2, FEATURES),
    }  # fmt: skip
    assert all(torch.isfinite(value).all() for value in outputs.values())


@pytest.mark.parametrize("side", [64, 96])
def test_the_backbone_has_its_strides_and_channels(side: int) -> None:
    with torch.no_grad():
        features = MobileNetV2()(torch.zeros(1, 3, side, side))
        head = Context()(features[-1])
    sides = [side // stride for stride in (2, 4, 8, 16)]
    assert [tuple(feature.shape) for feature in features] == [
        (1, channels, at, at) for channels, at in zip((16, 24, 32, 320), sides, strict=True)
    ]
    assert head.shape == (1, 256, sides[-1], sides[-1])


def test_dilation_is_in_the_last_stages_only() -> None:
    layers = MobileNetV2().convolutions()
    assert {layer.dilation for layer in layers} == {(1, 1), (2, 2)}
    # of the last two stages the first block alone is not dilated: 160, 160, 320
    assert [layer.groups for layer in layers if layer.dilation == (2, 2)] == [960, 960, 960]


@pytest.mark.parametrize(("size", "stride", "dilation"), [(3, 2, 1), (3, 1, 1), (3, 1, 2), (1, 1, 1)])
def test_padding_is_tensorflows_same(size: int, stride: int, dilation: int) -> None:
    layer = Conv(4, 4, size=size, stride=stride, groups=4, dilation=dilation)
    picture = torch.from_numpy(generator(2, "pad").standard_normal((1, 4, 8, 12)).astype(np.float32))
    pads = []
    for length in (12, 8):  # torch pads the last axis first; TensorFlow puts the odd one behind
        total = max((-(-length // stride) - 1) * stride + dilation * (size - 1) + 1 - length, 0)
        pads += [total // 2, total - total // 2]
    expected = functional.conv2d(
        functional.pad(picture, pads), layer.weight, layer.bias, stride=stride, dilation=dilation, groups=4
    )
    assert expected.shape[2:] == (8 // stride, 12 // stride)
    assert distance(layer(picture), expected) < 1e-6


def test_growing_takes_the_largest_of_five_by_five() -> None:
    maps = torch.from_numpy(generator(3, "grow").standard_normal((2, 3, 9, 14)).astype(np.float32))
    assert torch.equal(dilate_5x5(maps), functional.max_pool2d(maps, 5, stride=1, padding=2))


def test_what_training_writes_otherwise_is_the_same_backbone(net: PromptedNet) -> None:
    crops = sight_of(2)["crop"].requires_grad_()
    gradients = []
    for training in (False, True):
        features = net.backbone.train(training)(crops)
        (slopes,) = torch.autograd.grad(sum(feature.square().mean() for feature in features), crops)
        gradients.append((*features, slopes))
    net.eval()
    for plain, trained in zip(*gradients, strict=True):
        assert plain.detach().std() > 1e-6
        assert distance(plain, trained) < 1e-4 * float(plain.detach().abs().max())


def test_a_sample_does_not_hang_on_the_rest_of_its_batch(net: PromptedNet) -> None:
    sight = sight_of(5)
    joint_outputs = outputs_of(net, sight)
    for index in range(5):
        alone = outputs_of(net, {name: value[index : index + 1] for name, value in sight.items()})
        for name, value in alone.items():
            assert distance(value[0], joint_outputs[name][index]) < 1e-5
    assert all(value.std(dim=0).max() > 1e-3 for value in joint_outputs.values()), "the samples are all alike"


def test_judging_twice_gives_the_same_and_training_drops_at_random(net: PromptedNet) -> None:
    sight = sight_of(3)
    first, second = outputs_of(net, sight), outputs_of(net, sight)
    assert all(torch.equal(first[name], second[name]) for name in first)
    net.train()
    loose, looser = outputs_of(net, sight), outputs_of(net, sight)
    net.eval()
    assert not torch.equal(loose["ious"], looser["ious"])


def test_without_a_prompt_the_candidate_is_the_prompt(net: PromptedNet) -> None:
    sight = sight_of(2)
    prompt = torch.zeros(2, PROMPTS, 32, 32)
    prompt[:, :1] = sight["candidate"]
    plain, prompted = outputs_of(net, sight), outputs_of(net, sight, prompt=prompt)
    assert all(torch.equal(plain[name], prompted[name]) for name in plain)
    boxed = outputs_of(net, sight, prompt=prompt[:, [1, 0, 2, 3]])
    assert not torch.allclose(plain["answer"], boxed["answer"], atol=1e-3)


def test_a_given_answer_replaces_the_nets_own_by_how_much_it_counts(net: PromptedNet) -> None:
    sight = sight_of(3)
    other = torch.where(sight["candidate"] > 0, 4.0, -4.0)
    plain = outputs_of(net, sight)
    outputs_by_share = {
        share: outputs_of(net, sight, given=(other, torch.full((3, 1, 1, 1), share))) for share in (0.0, 0.5, 1.0)
    }
    for name in plain:
        assert distance(outputs_by_share[0.0][name], plain[name]) < 1e-5
    assert distance(outputs_by_share[0.5]["answer"], (plain["answer"] + other) / 2) < 1e-5
    assert distance(outputs_by_share[1.0]["answer"], other) < 1e-5
    for name in ("ious", "types", "features"):
        assert not torch.allclose(outputs_by_share[1.0][name], plain[name], atol=1e-3), (
            f"{name} does not look at the answer"
        )


def test_the_heads_see_strip_and_shape_and_a_net_without_strip_does_not(net: PromptedNet) -> None:
    sight, other = sight_of(1), sight_of(1, seed=1)
    for sees, net_ in ((True, net), (False, lively(Design(side=64, strip=False)))):
        plain, reshaped, stripped = (
            outputs_of(net_, {**sight, name: other[name]} if name else sight) for name in ("", "shape", "strip")
        )
        assert distance(plain["ious"], reshaped["ious"]) > 1e-3
        assert (distance(plain["ious"], stripped["ious"]) > 1e-3) == sees
        assert torch.equal(plain["answer"], reshaped["answer"])
        assert torch.equal(plain["answer"], stripped["answer"])
