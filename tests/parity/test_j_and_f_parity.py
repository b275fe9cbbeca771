"""J and F equal vos-benchmark's, on real predictions and on random masks; other scores equal known implementations."""

import csv
import time
from statistics import median

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from auscult.outcome import Undefined
from auscult.score.masks import aggregate, boundary_f, iou, j_and_f
from auscult.score.stats import f2_confusion, spearman

DAVIS = ("blackswan", "bmx-trees", "breakdance", "camel", "car-shadow", "dog", "goat", "horsejump-high", "parkour")
SEQUENCES = (*DAVIS, "scooter-black")
PREDICTIONS = ("pred_osvos", "pred_rvos")


def read_clip(folder):
    return np.stack([np.array(Image.open(path)) for path in sorted(folder.glob("*.png"))])


def sequence(data, name, prediction):
    folder = data / "video" / "davis2016" / name
    return read_clip(folder / prediction), read_clip(folder / "masks").astype(np.uint8)


def vos_benchmark(prediction, truth):
    """The peer's J and F per object of the truth, 0..1."""
    from vos_benchmark.evaluator import Evaluator

    evaluator = Evaluator()
    for predicted_frame, true_frame in zip(prediction, truth, strict=True):
        evaluator.feed_frame(predicted_frame, true_frame)
    j, f = evaluator.conclude()
    return {index: (j[index] / 100, f[index] / 100) for index in j}


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("name", SEQUENCES)
def test_davis2016_equals_vos_benchmark_on_the_union_of_real_predictions(data, name, prediction):
    predicted, truth = sequence(data, name, prediction)
    result = j_and_f(predicted, truth, protocol="davis2016")
    j, f = vos_benchmark((predicted > 0).astype(np.uint8), truth)[1]
    assert result.j == pytest.approx(j, abs=1e-6)
    assert result.f == pytest.approx(f, abs=1e-6)


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("name", SEQUENCES)
def test_davis2017_equals_vos_benchmark_on_each_object_of_real_predictions(data, name):
    predicted, truth = sequence(data, name, "pred_osvos")
    result = j_and_f(predicted, truth, protocol="davis2017")
    expected = vos_benchmark(predicted[1:-1], truth[1:-1])
    assert [object_score.index for object_score in result.objects] == sorted(expected)
    for object_score in result.objects:
        assert (object_score.j, object_score.f) == pytest.approx(expected[object_score.index], abs=1e-6)


@pytest.mark.peer
@pytest.mark.slow
def test_davis2017_equals_vos_benchmark_on_three_objects(data):
    truth = read_clip(data / "video" / "dogs-jump" / "masks")[::3]
    predicted = np.roll(truth, 1, axis=0)  # the frame before as the prediction
    result = j_and_f(predicted, truth, protocol="davis2017")
    expected = vos_benchmark(predicted[1:-1], truth[1:-1])
    assert len(result.objects) == 3
    for object_score in result.objects:
        assert (object_score.j, object_score.f) == pytest.approx(expected[object_score.index], abs=1e-6)
    assert aggregate([result]).j == pytest.approx(np.mean([j for j, _ in expected.values()]), abs=1e-6)


CLIPS = st.tuples(st.integers(3, 6), st.integers(1, 20), st.integers(1, 20)).flatmap(
    lambda shape: st.tuples(*[hnp.arrays(np.uint8, shape, elements=st.integers(0, 2), fill=st.just(0))] * 2)
)


@pytest.mark.peer
@given(CLIPS)
@settings(deadline=None, max_examples=60)
def test_the_variant_equals_vos_benchmark_on_any_clip(clip):
    result = j_and_f(*clip, protocol="davis2017", variant="vos-benchmark")
    expected = vos_benchmark(clip[0][1:-1], clip[1][1:-1])
    if isinstance(result, Undefined):
        assert not expected
        return
    assert {object_score.index for object_score in result.objects} == set(expected)
    for object_score in result.objects:
        assert (object_score.j, object_score.f) == pytest.approx(expected[object_score.index], abs=1e-6)


def test_iou_equals_the_printed_one_of_the_real_predictions(data):
    folder = data / "video" / "davis2016"
    with (folder / "frames.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))[::12]
    assert len(rows) == 24
    for row in rows:
        name = f"{int(row['frame']):05d}.png"
        truth = np.array(Image.open(folder / row["video"] / "masks" / name))
        predicted = np.array(Image.open(folder / row["video"] / "pred_osvos" / name)) > 0
        assert iou(predicted, truth).value == pytest.approx(float(row["iou_osvos_union_of_objects"]), abs=6e-5)


def slow_f(prediction, truth):
    """Boundary F with nothing clever in it: whole frames, OpenCV's dilation, a disk drawn point by point."""
    radius = int(np.ceil(0.008 * np.linalg.norm(truth.shape)))
    offsets = np.arange(-radius, radius + 1)
    disk = (offsets[:, None] ** 2 + offsets[None] ** 2 <= radius**2).astype(np.uint8)
    edges = []
    for mask in (prediction, truth):
        longer = np.pad(mask, ((0, 1), (0, 1)), mode="edge")
        inner = longer[:-1, :-1]
        edges.append((inner != longer[:-1, 1:]) | (inner != longer[1:, :-1]) | (inner != longer[1:, 1:]))
    grown_edges = [cv2.dilate(edge.astype(np.uint8), disk) > 0 for edge in edges]
    if not edges[0].any() or not edges[1].any():
        return float(edges[0].any() == edges[1].any())
    precision = (edges[0] & grown_edges[1]).sum() / edges[0].sum()
    recall = (edges[1] & grown_edges[0]).sum() / edges[1].sum()
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@st.composite
def blobs(draw):
    """Two masks of rectangles and ellipses, also across the frame's border, on frames of any shape."""
    height, width = draw(st.integers(5, 260)), draw(st.integers(5, 260))
    masks = []
    for _ in range(2):
        canvas = np.zeros((height, width), np.uint8)
        for _ in range(draw(st.integers(0, 3))):
            centre = (draw(st.integers(-5, width + 5)), draw(st.integers(-5, height + 5)))
            axes = (draw(st.integers(0, width)), draw(st.integers(0, height)))
            cv2.ellipse(canvas, centre, axes, draw(st.integers(0, 179)), 0, 360, draw(st.integers(0, 1)), -1)
        masks.append(canvas > 0)
    return tuple(masks)


@given(blobs())
@settings(deadline=None, max_examples=80)
def test_boundary_f_equals_the_slow_and_obvious_one(pair):
    assert boundary_f(*pair).value == pytest.approx(slow_f(*pair), abs=1e-12)


EDGE_CASES = {
    "empty": np.zeros((150, 260), bool),
    "full": np.ones((150, 260), bool),
    "first pixel": np.arange(150 * 260).reshape(150, 260) == 0,
    "last pixel": np.arange(150 * 260).reshape(150, 260) == 150 * 260 - 1,
    "last column": np.broadcast_to(np.arange(260) == 259, (150, 260)),
    "last row": np.broadcast_to((np.arange(150) == 149)[:, None], (150, 260)),
    "all but one": np.arange(150 * 260).reshape(150, 260) != 5000,
    "checkers": np.indices((150, 260)).sum(axis=0) % 2 == 0,
}


@pytest.mark.parametrize("prediction", EDGE_CASES)
@pytest.mark.parametrize("truth", EDGE_CASES)
def test_boundary_f_equals_the_slow_one_on_extreme_masks(prediction, truth):
    pair = EDGE_CASES[prediction], EDGE_CASES[truth]
    assert boundary_f(*pair).value == pytest.approx(slow_f(*pair), abs=1e-12)


@pytest.mark.peer
def test_j_and_f_is_faster_than_vos_benchmark():
    """A loose bound for a busy machine; `make bench` has the number."""
    rows, columns = np.indices((480, 854))
    truth = ((rows - 240) / 130) ** 2 + ((columns - 400) / 200) ** 2 < 1
    prediction = np.roll(truth, 6, axis=1)
    own_seconds, peer_seconds = [], []
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    for _ in range(7):
        start = time.perf_counter()
        j_and_f(prediction, truth)
        middle = time.perf_counter()
        vos_benchmark(prediction[None].astype(np.uint8), truth[None].astype(np.uint8))
        own_seconds.append(middle - start)
        peer_seconds.append(time.perf_counter() - middle)
    cv2.setNumThreads(threads)
    assert median(peer_seconds) > 2 * median(own_seconds)


@pytest.mark.peer
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=30))
@settings(deadline=None, max_examples=40)
def test_spearman_equals_scipy(pairs):
    from scipy.stats import spearmanr

    first, other = zip(*pairs, strict=True)
    result = spearman(first, other)
    if isinstance(result, Undefined):
        assert len(set(first)) == 1 or len(set(other)) == 1
        return
    assert result.value == pytest.approx(spearmanr(first, other).statistic, abs=1e-9)


@pytest.mark.peer
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=40))
@settings(deadline=None, max_examples=40)
def test_f2_confusion_equals_scikit_learn(pairs):
    from sklearn.metrics import fbeta_score

    predicted, true = zip(*pairs, strict=True)
    expected = fbeta_score(true, predicted, beta=2, average="macro", zero_division=0)
    assert f2_confusion(predicted, true, "abcd").value == pytest.approx(expected)
