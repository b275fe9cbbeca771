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


def seen(count: int, side: int = 64, *, seed: int = 0) -> dict[str, Tensor]:
    rng, grid = generator(seed, "net"), side // 2
    made = {
        "crop": rng.uniform(-1, 1, (count, 3, side, side)),
        "candidate": rng.random((count, 1, grid, grid)) < 0.4,
        "strip": rng.uniform(-2, 2, (count, STRIP, 24, 256)),
        "shape": rng.standard_normal((count, SHAPE)),
    }
    return {name: torch.from_numpy(value.astype(np.float32)) for name, value in made.items()}


def asked(net: PromptedNet, sight: dict[str, Tensor], **more: object) -> dict[str, Tensor]:
    with torch.no_grad():
        return net(sight["crop"], sight["candidate"], strip=sight["strip"], shape=sight["shape"], **more)


def apart(one: Tensor, other: Tensor) -> float:
    """The largest difference; torch.testing would load all of torch.distributed for it."""
    return float((one - other).detach().abs().max())


@pytest.mark.parametrize("side", [64, 96])
def test_the_outputs_have_their_shapes(side: int) -> None:
    found = asked(lively(Design(side=side)), seen(2, side))
    assert {name: tuple(value.shape) for name, value in found.items()} == {
        "answer": (2, 1, side // 2, side // 2), "ious": (2, BINS), "types": (2, len(TYPES)), "features": (2, FEATURES),
    }  # fmt: skip
    assert all(torch.isfinite(value).all() for value in found.values())


@pytest.mark.parametrize("side", [64, 96])
def test_the_backbone_has_its_strides_and_channels(side: int) -> None:
    with torch.no_grad():
        found = MobileNetV2()(torch.zeros(1, 3, side, side))
        head = Context()(found[-1])
    sides = [side // stride for stride in (2, 4, 8, 16)]
    assert [tuple(one.shape) for one in found] == [
        (1, channels, at, at) for channels, at in zip((16, 24, 32, 320), sides, strict=True)
    ]
    assert head.shape == (1, 256, sides[-1], sides[-1])


def test_dilation_is_in_the_last_stages_only() -> None:
    layers = MobileNetV2().convolutions()
    assert {one.dilation for one in layers} == {(1, 1), (2, 2)}
    # of the last two stages the first block alone is not dilated: 160, 160, 320
    assert [one.groups for one in layers if one.dilation == (2, 2)] == [960, 960, 960]


@pytest.mark.parametrize(("size", "stride", "dilation"), [(3, 2, 1), (3, 1, 1), (3, 1, 2), (1, 1, 1)])
def test_padding_is_tensorflows_same(size: int, stride: int, dilation: int) -> None:
    layer = Conv(4, 4, size=size, stride=stride, groups=4, dilation=dilation)
    given = torch.from_numpy(generator(2, "pad").standard_normal((1, 4, 8, 12)).astype(np.float32))
    pads = []
    for length in (12, 8):  # torch pads the last axis first; TensorFlow puts the odd one behind
        total = max((-(-length // stride) - 1) * stride + dilation * (size - 1) + 1 - length, 0)
        pads += [total // 2, total - total // 2]
    wanted = functional.conv2d(
        functional.pad(given, pads), layer.weight, layer.bias, stride=stride, dilation=dilation, groups=4
    )
    assert wanted.shape[2:] == (8 // stride, 12 // stride)
    assert apart(layer(given), wanted) < 1e-6


def test_growing_takes_the_largest_of_five_by_five() -> None:
    given = torch.from_numpy(generator(3, "grow").standard_normal((2, 3, 9, 14)).astype(np.float32))
    assert torch.equal(dilate_5x5(given), functional.max_pool2d(given, 5, stride=1, padding=2))


def test_what_training_writes_otherwise_is_the_same_backbone(net: PromptedNet) -> None:
    crops = seen(2)["crop"].requires_grad_()
    found = []
    for training in (False, True):
        features = net.backbone.train(training)(crops)
        (slopes,) = torch.autograd.grad(sum(one.square().mean() for one in features), crops)
        found.append((*features, slopes))
    net.eval()
    for plain, trained in zip(*found, strict=True):
        assert plain.detach().std() > 1e-6
        assert apart(plain, trained) < 1e-4 * float(plain.detach().abs().max())


def test_a_sample_does_not_hang_on_the_rest_of_its_batch(net: PromptedNet) -> None:
    given = seen(5)
    together = asked(net, given)
    for at in range(5):
        alone = asked(net, {name: value[at : at + 1] for name, value in given.items()})
        for name, value in alone.items():
            assert apart(value[0], together[name][at]) < 1e-5
    assert all(value.std(dim=0).max() > 1e-3 for value in together.values()), "the samples are all alike"


def test_judging_twice_gives_the_same_and_training_drops_at_random(net: PromptedNet) -> None:
    given = seen(3)
    first, again = asked(net, given), asked(net, given)
    assert all(torch.equal(first[name], again[name]) for name in first)
    net.train()
    loose, looser = asked(net, given), asked(net, given)
    net.eval()
    assert not torch.equal(loose["ious"], looser["ious"])


def test_without_a_prompt_the_candidate_is_the_prompt(net: PromptedNet) -> None:
    given = seen(2)
    prompt = torch.zeros(2, PROMPTS, 32, 32)
    prompt[:, :1] = given["candidate"]
    plain, told = asked(net, given), asked(net, given, prompt=prompt)
    assert all(torch.equal(plain[name], told[name]) for name in plain)
    boxed = asked(net, given, prompt=prompt[:, [1, 0, 2, 3]])
    assert not torch.allclose(plain["answer"], boxed["answer"], atol=1e-3)


def test_a_given_answer_replaces_the_nets_own_by_how_much_it_counts(net: PromptedNet) -> None:
    given = seen(3)
    other = torch.where(given["candidate"] > 0, 4.0, -4.0)
    own = asked(net, given)
    found = {share: asked(net, given, given=(other, torch.full((3, 1, 1, 1), share))) for share in (0.0, 0.5, 1.0)}
    for name in own:
        assert apart(found[0.0][name], own[name]) < 1e-5
    assert apart(found[0.5]["answer"], (own["answer"] + other) / 2) < 1e-5
    assert apart(found[1.0]["answer"], other) < 1e-5
    for name in ("ious", "types", "features"):
        assert not torch.allclose(found[1.0][name], own[name], atol=1e-3), f"{name} does not look at the answer"


def test_the_heads_see_strip_and_shape_and_a_net_without_strip_does_not(net: PromptedNet) -> None:
    given, other = seen(1), seen(1, seed=1)
    for sees, one in ((True, net), (False, lively(Design(side=64, strip=False)))):
        plain, reshaped, stripped = (
            asked(one, {**given, name: other[name]} if name else given) for name in ("", "shape", "strip")
        )
        assert apart(plain["ious"], reshaped["ious"]) > 1e-3
        assert (apart(plain["ious"], stripped["ious"]) > 1e-3) == sees
        assert torch.equal(plain["answer"], reshaped["answer"])
        assert torch.equal(plain["answer"], stripped["answer"])
