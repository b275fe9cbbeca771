"""The recipe of the picture prompts' network: it learns, its file says the same, and its threshold and counts hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from auscult.judge.sound.vocabulary import SIDE, things

pytestmark = pytest.mark.extra_train
torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from auscult.nets.onnx_session import open_session, read_network  # noqa: E402
from auscult.train.sound_judge import pictures as recipe  # noqa: E402


def small_net() -> recipe.PictureNet:
    torch.manual_seed(0)
    net = recipe.PictureNet(torch.eye(1 + len(things()))[torch.arange(2 * len(things())) % (1 + len(things()))])
    net.eval()
    return net


def test_the_file_says_what_the_network_says(tmp_path: Path) -> None:
    net = small_net()
    recipe.export(net, tmp_path / "net.onnx")
    assert (tmp_path / "net.onnx").stat().st_size <= 4_000_000
    pictures = torch.rand(3, 3, SIDE, SIDE) * 2 - 1
    session = open_session(read_network(tmp_path / "net.onnx"), tmp_path / "net.onnx")
    (probabilities,) = session.run(["things"], {"pictures": pictures.numpy()})
    with torch.inference_mode():
        assert probabilities == pytest.approx(net(pictures).numpy(), abs=2e-3)  # weights of 8 bits


def test_the_last_layer_learns_what_it_is_shown_and_follows_from_the_seed() -> None:
    features = torch.rand(60, 1280, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(60) % 3
    features[torch.arange(60), labels] += 4
    things_by_run = []
    for _ in range(2):
        net = small_net()
        body = [parameter.clone() for parameter in net.body.parameters()]
        before = net.things(features).argmax(dim=1)
        recipe.fit(net, features, labels, seed=0)
        things_by_run.append(net.things(features).detach())
        assert all(torch.equal(parameter, other) for parameter, other in zip(body, net.body.parameters(), strict=True))
    assert (
        float((things_by_run[0].argmax(dim=1) == labels).float().mean())
        > float((before == labels).float().mean()) + 0.3
    )
    assert torch.equal(things_by_run[0], things_by_run[1])


def answers(*best: tuple[int, float]) -> np.ndarray:
    rows = np.full((len(best), 1 + len(things())), 0.001, np.float32)
    for row, (thing_index, value) in zip(rows, best, strict=True):
        row[thing_index] = value
    return rows


def test_the_threshold_is_where_nine_of_ten_are_right_on_the_calibration_part_alone() -> None:
    best_answers = [(1, 0.9 - step / 100) for step in range(18)] + [(2, 0.3), (2, 0.2), (2, 0.15)]
    shown_pictures = [recipe.Shown(1, "coco", "calibration", []) for _ in best_answers]
    other = [recipe.Shown(1, "coco", part, []) for part in ("train", "test")]
    least = recipe.threshold([*shown_pictures, *other], answers(*best_answers, (2, 0.99), (2, 0.99)))
    assert least == pytest.approx(0.2)  # 18 of 20; a third wrong one is too many
    assert recipe.threshold(shown_pictures[-3:], answers(*best_answers[-3:])) == 1.0


def test_counts_are_of_test_pictures_by_source() -> None:
    shown_pictures = [
        recipe.Shown(1, "coco", "test", []),
        recipe.Shown(1, "coco", "unseen", []),
        recipe.Shown(0, "coco", "test", []),
        recipe.Shown(1, "coco", "train", []),
        recipe.Shown(3, "stamps", "test", []),
    ]
    counts = recipe.accuracy(shown_pictures, answers((1, 0.9), (1, 0.3), (2, 0.8), (1, 0.9), (4, 0.2)), least=0.5)
    assert counts["coco"] == {"n": 2, "best": 2, "recognised": 1, "others": 1, "said": 2, "right": 1}
    assert counts["stamps"] == {"n": 1, "best": 0, "recognised": 0, "others": 0, "said": 0, "right": 0}


@pytest.mark.slow
def test_the_first_network_knows_a_dog(data: Path) -> None:
    from auscult.judge.sound.vocabulary import as_seen, scaled
    from auscult.media.frames import read_frame

    net = recipe.first_net(data / recipe.WEIGHTS)
    picture = as_seen(read_frame(data / "av/image_sound_pairs/gcompris_farm_animals/dog.webp"))
    with torch.inference_mode():
        probabilities = net(torch.from_numpy(scaled(picture.transpose(2, 0, 1)[None])))[0]
    assert float(probabilities.sum()) == pytest.approx(1, abs=1e-4)
    assert things()[int(probabilities[1:].argmax())] == "dog"
