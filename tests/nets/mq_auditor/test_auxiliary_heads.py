"""What helps MQ-Auditor's encoder to learn from nothing: heads that are thrown away, and a stem of convolutions."""

from dataclasses import replace

import numpy as np
import pytest

from auscult.cases.datasets.mqravs import response
from auscult.types import Case, Query

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytestmark = pytest.mark.extra_train

ANSWERS = [response("perfect", "accept", iou=1.0), response("full_neg", "reject", iou=0.0)]


def _network(**settings):
    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import build_tokenizer, tiny_config

    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = build_tokenizer(ANSWERS, 420)
    net = MqAuditor(tiny_config(len(tokenizer), lora_rank=0, **settings))
    net.learn("all")
    return net, tokenizer


def _batch(net, tokenizer, answers=None):
    """Two masks of a frame with their type, action and IoU, and with answers or without."""
    from auscult.nets.mq_auditor.inputs import Reader

    frame = np.random.default_rng(5).integers(0, 255, (24, 36, 3), np.uint8)
    masks = np.zeros((2, 24, 36), np.bool_)
    masks[0, 2:8, 3:20] = masks[1, 12:20, 5:30] = True
    case = Case(id="a", frame=frame, query=Query("The dog"))
    batch = Reader(net.config, tokenizer).batch([(case, mask) for mask in masks], answers)
    return replace(batch, kinds=torch.tensor([[0, 0], [5, 3]]), ious=torch.tensor([1.0, 0.0]))


def test_without_answers_what_looks_learns_and_nothing_is_said():
    from auscult.nets.mq_auditor.network import AuxiliaryHeads

    net, tokenizer = _network(stem=True)
    net.auxiliary = AuxiliaryHeads(net.config)
    batch = _batch(net, tokenizer)
    optimiser = torch.optim.Adam(net.parameters(), 3e-3)
    losses = []
    for _ in range(14):
        parts = net(batch)
        assert set(parts) == {"loss", "auxiliary"}
        losses.append(parts["loss"].item())
        optimiser.zero_grad()
        parts["loss"].backward()
        optimiser.step()
    assert losses[-1] < 0.7 * losses[0]
    learned = {name for name, value in net.named_parameters() if value.grad is not None}
    assert {name.partition(".")[0] for name in learned} == {"vision", "video_bridge", "auxiliary", "language"}
    assert {name for name in learned if name.startswith("language.")} == {"language.model.embed_tokens.weight"}


def test_with_answers_their_loss_and_the_heads_are_added():
    from auscult.nets.mq_auditor.network import AuxiliaryHeads

    net, tokenizer = _network()
    plain = net.eval()(_batch(net, tokenizer, ANSWERS))
    net.auxiliary = AuxiliaryHeads(net.config).eval()
    parts = net(_batch(net, tokenizer, ANSWERS))
    assert parts["words"].item() == pytest.approx(plain["loss"].item())
    assert parts["loss"].item() == pytest.approx((parts["words"] + parts["auxiliary"]).item())
    assert parts["auxiliary"].item() > 1


@pytest.mark.parametrize("patch", [4, 8, 16])
def test_a_stem_gives_as_many_patches_as_without(patch):
    layers = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = {"image_size": 32, "patch_size": patch, **layers}
    pictures = torch.rand(2, 3, 32, 32)
    for stem in (False, True):
        net, _ = _network(vision=vision, stem=stem)
        assert net.look(pictures).shape == (2, net.config.queries, 32)
        assert net._patches(pictures).shape == (2, (32 // patch) ** 2, 32)
    with pytest.raises(ValueError, match="power of 2"):
        _network(vision={**vision, "patch_size": 14}, stem=True)
