"""Mixing: the fit finds what it was given, and a network that was told to mix otherwise does, and only when asked."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch

from auscult.nets.compact import BINS, KINDS, CompactNet, Design, Mixing, Seen
from auscult.rng import generator
from auscult.train.compact.mixing import OFFSETS, Said, fit_mixing, fitted, least, said
from auscult.train.material import Sample

EVEN = ((1 / BINS,) * BINS,) * len(KINDS)
pytestmark = pytest.mark.extra_train


def mean_under(kinds: np.ndarray, means: np.ndarray, offset: float, at: int = 5) -> np.ndarray:
    scores = kinds.copy()
    scores[:, at] += offset
    shares = np.exp(scores)
    return (shares * means).sum(1) / shares.sum(1)


@pytest.mark.parametrize("at", [KINDS.index("merge"), KINDS.index("mixed")])
@pytest.mark.parametrize("offset", [OFFSETS[0], OFFSETS[6]])
def test_the_fit_finds_what_made_the_truth(offset: float, at: int) -> None:
    rng = generator(1, "mixing")
    kinds, means = rng.normal(size=(400, len(KINDS))) * 2, rng.random((400, len(KINDS)))
    found = least(kinds, means, at=at, truth=mean_under(kinds, means, offset, at), weights=np.ones(400))
    assert found == offset


def anything() -> Seen:
    return Seen(
        crop=torch.randn(2, 6, 128, 128),
        context=torch.randn(2, 5, 64, 64),
        strip=torch.randn(2, 6, 24, 256),
        cues=torch.randn(2, 169),
    )


def test_a_network_mixes_as_it_is_told() -> None:
    torch.manual_seed(0)
    net = CompactNet([Design(width=8)]).eval()
    seen = anything()
    with torch.no_grad():
        plain = net(seen)
        net.mix(Mixing(offsets=(0.0,) * 5 + (-20.0,), kept=(1.0,) * 6, usual=EVEN))
        changed = net(seen)
    assert torch.equal(plain["kinds"], changed["kinds"])
    shares = plain["kinds"][:, :5].softmax(1)
    wanted = (shares[:, :, None] * plain["experts"][:, :5].exp()).sum(1)
    assert torch.allclose(changed["ious"].softmax(1), wanted, atol=1e-5)
    assert "mixing" not in net.state_dict()


def test_a_histogram_is_drawn_towards_the_usual_one_only_when_it_judges() -> None:
    torch.manual_seed(0)
    net = CompactNet([Design(width=8)]).eval()
    seen = anything()
    usual = ((1.0,) + (0.0,) * (BINS - 1),) * 6
    net.mix(Mixing(offsets=(0.0,) * 6, kept=(0.0,) * 6, usual=usual))
    with torch.no_grad():
        assert (net(seen)["ious"].softmax(1)[:, 0] > 0.999).all()
        assert (net.members[0](seen)["ious"].softmax(1)[:, 0] < 0.9).all()


def test_a_kind_whose_histogram_says_nothing_keeps_none_of_it() -> None:
    rng = generator(2, "mixing")
    count = 300
    kind = np.repeat(np.arange(6), count // 6)
    truth = rng.uniform(0.3, 1.0, count)
    means = np.repeat(truth[:, None], 6, axis=1)
    means[kind == 4, 4] = rng.random((kind == 4).sum())
    kinds = np.full((count, 6), -20.0)
    kinds[np.arange(count), kind] = 20.0
    found = fitted(Said(kinds=kinds, means=means, truth=truth, kind=kind, weights=np.ones(count)))
    assert found.kept[4] < 0.3
    assert all(found.kept[at] > 0.95 for at in (0, 1, 2, 3, 5))
    assert np.sum(found.usual, axis=1) == pytest.approx(1.0)


def test_masks_on_no_object_do_not_enter() -> None:
    frame = np.full((60, 80, 3), 90, np.uint8)
    mask = np.zeros((60, 80), bool)
    mask[20:40, 20:50] = True
    frame[mask] = 200

    def sample(defect: str, iou: float) -> Sample:
        return Sample(
            source="coco",
            cluster="c",
            frame=frame,
            mask=mask,
            others=(),
            defect=defect,
            difficulty=None,
            iou=iou,
        )

    torch.manual_seed(0)
    net = CompactNet([Design(width=8)]).eval()
    found = said(net, [sample("perfect", 1.0), sample("two_sided", 0.7)])
    assert found.kinds.shape == found.means.shape == (2, len(KINDS))
    assert ((found.means >= 0) & (found.means <= 1)).all()
    assert found.kind.tolist() == [0, 5]
    assert fit_mixing(net, [sample("perfect", 1.0), sample("arbitrary", 0.0)]) == fit_mixing(
        net, [sample("perfect", 1.0)]
    )
