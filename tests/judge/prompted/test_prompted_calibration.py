"""From histograms to what a verdict says: laws of each step, and a file that is read strictly."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tiny_judge import calibration

from auscult.errors import OutputError, UsageError
from auscult.judge.masks.prompted.calibration import (
    BINS,
    CENTRES,
    Bent,
    Calibration,
    Head,
    bend,
    histograms,
    interval_of,
    load_calibration,
    log_shares,
    mean_iou,
    mixed,
    quantiles,
    save_calibration,
    share_from,
)
from auscult.judge.masks.shared import softmax
from auscult.rng import generator

SHARES = st.builds(
    lambda seed, sharp: softmax(sharp * generator(seed, "shares").standard_normal((3, BINS))),
    st.integers(0, 2**32),
    st.floats(0, 9),
)
"""Three histograms, from even ones to such that lie in one bin."""
SIZES = arrays(np.float64, 3, elements=st.floats(-2, 2))
LEVELS = st.floats(0.01, 0.99)
BENTS = st.builds(
    Bent, sharp=st.floats(0.05, 3), slope=st.floats(-9, 9), bend=st.floats(-9, 9), by_size=st.floats(-3, 3)
)


@given(SHARES, SIZES, BENTS)
def test_a_bent_histogram_is_one(shares: np.ndarray, size: np.ndarray, bent: Bent) -> None:
    bent_shares = bend(shares, size, bent)
    assert bent_shares.sum(axis=1) == pytest.approx(1.0)
    assert (bent_shares >= 0).all()
    assert bend(shares, size, Bent()) == pytest.approx(shares, abs=3e-5)  # what is nearly nothing is lifted


@given(SHARES, SIZES, st.floats(0.5, 9))
def test_a_slope_moves_the_mean_its_way(shares: np.ndarray, size: np.ndarray, slope: float) -> None:
    lower, upper = (mean_iou(bend(shares, size, Bent(slope=sign * slope))) for sign in (-1, 1))
    plain = mean_iou(bend(shares, size, Bent()))
    assert ((lower <= plain + 1e-9) & (plain <= upper + 1e-9)).all()
    assert np.allclose(bend(shares, size, Bent(), slopes=np.full(3, slope)), bend(shares, size, Bent(slope=slope)))
    assert np.allclose(bend(shares, np.ones(3), Bent(by_size=slope)), bend(shares, size, Bent(slope=slope)))


@given(SHARES, LEVELS, LEVELS)
def test_quantiles_rise_with_their_level(shares: np.ndarray, one: float, other: float) -> None:
    low, high = (quantiles(shares, level) for level in sorted((one, other)))
    assert (low >= 0).all()
    assert (low <= high).all()
    assert (high <= 1).all()


@given(SHARES, LEVELS)
def test_the_share_above_a_quantile_is_what_its_level_leaves(shares: np.ndarray, level: float) -> None:
    for index, value in enumerate(quantiles(shares, level).tolist()):
        assert share_from(shares, value)[index] == pytest.approx(1 - level, abs=1e-6)


@given(SHARES, LEVELS, LEVELS)
def test_the_share_from_a_level_falls_with_it(shares: np.ndarray, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert (share_from(shares, low) >= share_from(shares, high)).all()
    assert share_from(shares, 0.0) == pytest.approx(1.0)
    assert (share_from(shares, 1.0) == 0).all()
    assert share_from(shares, 0.8) == pytest.approx(shares[:, 20:].sum(axis=1))


@given(SHARES, st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 1))
def test_an_interval_holds_the_mean_and_narrows_with_its_tails(
    shares: np.ndarray, below: float, above: float, less: float
) -> None:
    low, high = interval_of(shares, (below, above))
    mean = mean_iou(shares)
    assert ((low >= 0) & (low <= mean) & (mean <= high) & (high <= 1)).all()
    wider, widest = interval_of(shares, (less * below, less * above))
    assert ((wider <= low) & (high <= widest)).all()
    assert not ((low > 0) & (low <= 1 / BINS) & (low < mean)).any()  # an end in an outermost bin takes all of it
    assert not ((high < 1) & (high >= 1 - 1 / BINS) & (high > mean)).any()


def test_golden_numbers_of_an_even_and_of_a_sure_histogram() -> None:
    even, certain = np.full((1, BINS), 1 / BINS), np.eye(BINS)[[22]]
    assert [quantiles(even, level)[0] for level in (0.1, 0.5, 0.9)] == pytest.approx([0.1, 0.5, 0.9])
    assert [quantiles(certain, level)[0] for level in (0.25, 0.5)] == pytest.approx([0.89, 0.9])
    assert mean_iou(np.concatenate([even, certain])) == pytest.approx([0.5, 0.9])
    assert share_from(certain, 0.89)[0] == pytest.approx(0.75)


@given(SHARES, arrays(np.float64, 3, elements=st.floats(0, 1)), st.floats(0, 1))
def test_mixing_goes_from_the_histogram_to_the_prior(shares: np.ndarray, novelty: np.ndarray, mixing: float) -> None:
    prior = softmax(np.linspace(0, 3, BINS))
    assert np.array_equal(mixed(shares, novelty, calibration(prior=prior)), shares)
    mixed_shares = mixed(shares, novelty, calibration(prior=prior, mixing=mixing))
    assert mixed_shares.sum(axis=1) == pytest.approx(1.0)
    between = (mixed_shares >= np.minimum(shares, prior) - 1e-12) & (mixed_shares <= np.maximum(shares, prior) + 1e-12)
    assert between.all()
    assert np.allclose(mixed(shares, np.ones(3), calibration(prior=prior, mixing=1.0)), prior)


def test_histograms_are_the_networks_mean_then_bent_then_mixed() -> None:
    rng = generator(1, "histograms")
    ious, features, size = rng.normal(0, 2, (4, 2, BINS)), rng.normal(0, 1, (4, 2, 64)), rng.normal(0, 1, 4)
    mean = softmax(ious).mean(axis=1)
    plain = histograms(ious, features, size=size, calibration=calibration())
    assert plain == pytest.approx(mean, abs=3e-5)
    bent = Bent(sharp=0.7, slope=2.0, bend=-1.0, by_size=0.5)
    numbers = calibration(bent=bent, mixing=0.4)
    histograms_ = mixed(histograms(ious, features, size=size, calibration=numbers), np.full(4, 0.5), numbers)
    assert histograms_ == pytest.approx(0.8 * bend(mean, size, bent) + 0.2 / BINS)


def test_what_a_users_masks_taught_tilts_each_mask_by_its_features() -> None:
    rng = generator(2, "head")
    ious, features = rng.normal(0, 2, (3, 2, BINS)), rng.normal(0, 1, (3, 2, 64))
    head = Head(centre=features[0].ravel(), weights=rng.normal(0, 1, 128))
    expected = (features.reshape(3, -1) - head.centre) @ head.weights
    assert head.slopes(features) == pytest.approx(expected)
    tilted, plain = (
        histograms(ious, features, size=np.zeros(3), calibration=calibration(head=head_)) for head_ in (head, None)
    )
    assert np.sign(np.round(mean_iou(tilted) - mean_iou(plain), 9)).tolist() == np.sign(np.round(expected, 9)).tolist()


def test_log_shares_of_several_networks_are_their_mean() -> None:
    logits = generator(4, "logits").normal(0, 2, (2, 30, 6))
    first_log_shares, other = (log_shares([logit]) for logit in logits)
    assert first_log_shares == pytest.approx(np.log(softmax(logits[0])), abs=0.05)
    assert log_shares(list(logits)) == pytest.approx((first_log_shares + other) / 2)


@pytest.fixture(scope="module")
def example() -> Calibration:
    rng = generator(3, "made")
    return calibration(
        weights=("a" * 64, "0b" * 32), bent=Bent(sharp=0.61, slope=-1.25, bend=2.5, by_size=0.125), tails=(0.03, 0.2),
        temperature=0.75, offsets=tuple(rng.normal(0, 1, 6)), prior=softmax(rng.normal(0, 1, BINS)), mixing=0.3,
    )  # fmt: skip


@pytest.mark.parametrize("head", [None, Head(centre=np.arange(128.0), weights=np.linspace(-1, 1, 128))])
def test_a_calibration_is_read_as_it_was_written(example: Calibration, tmp_path: Path, head: Head | None) -> None:
    original = calibration(**{field.name: getattr(example, field.name) for field in fields(example)} | {"head": head})
    reread = load_calibration(save_calibration(original, tmp_path / "calibration.json"))
    for name in ("tails", "temperature", "classifier_temperature", "offsets", "prior", "spread", "mixing", "shift"):
        assert np.asarray(getattr(reread, name)) == pytest.approx(np.asarray(getattr(example, name)), rel=1e-5), name
    assert (reread.weights, reread.bent, reread.counts) == (example.weights, example.bent, example.counts)
    assert reread.known.precision == pytest.approx(example.known.precision)
    assert reread.known.distances == example.known.distances
    assert (reread.head is None) == (head is None)
    if head is not None and reread.head is not None:
        assert reread.head.weights == pytest.approx(head.weights, rel=1e-5)


def test_a_file_that_was_written_again_is_read_again(example: Calibration, tmp_path: Path) -> None:
    path = save_calibration(example, tmp_path / "calibration.json")
    assert load_calibration(path) is load_calibration(path)
    save_calibration(replace(example, shift=example.shift + 0.25), path)
    assert load_calibration(path).shift == pytest.approx(example.shift + 0.25)


def test_a_calibration_that_cannot_be_written_is_told(example: Calibration, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        save_calibration(example, tmp_path / "none" / "calibration.json")


def calibration_with(*keys: str, to: object) -> Any:
    """A way to spoil a calibration's JSON."""

    def edit(value: dict[str, Any]) -> object:
        place = value
        for key in keys[:-1]:
            place = place[key]
        if to is KeyError:
            del place[keys[-1]]
        else:
            place[keys[-1]] = to
        return value

    return edit


BROKEN = {
    "schema": calibration_with("schema", to=1),
    "no weights": calibration_with("weights", to=[]),
    "no digest": calibration_with("weights", to=["xyz"]),
    "no digest of the defect classifier": calibration_with("classifier", to=KeyError),
    "a part is missing": calibration_with("tails", to=KeyError),
    "no number": calibration_with("temperature", to="1.0"),
    "a truth value": calibration_with("temperature", to=True),
    "not finite": calibration_with("shift", to=float("nan")),
    "infinite": calibration_with("bent", "slope", to=float("inf")),
    "a huge whole number": calibration_with("temperature", to=10**400),
    "sharpness of nothing": calibration_with("bent", "sharp", to=0.0),
    "bent is a list": calibration_with("bent", to=[1.0]),
    "one tail": calibration_with("tails", to=[0.05]),
    "tails beyond the middle": calibration_with("tails", to=[0.05, 0.6]),
    "five offsets": calibration_with("offsets", to=[0.0] * 5),
    "a short prior": calibration_with("prior", to=[1 / 24] * 24),
    "a prior of more than one": calibration_with("prior", to=[1 / 20] * 25),
    "mixing beyond one": calibration_with("mixing", to=1.5),
    "differences that do not ascend": calibration_with("spread", to=[0.1, 0.1, 0.2]),
    "distances that do not ascend": calibration_with("novelty", "distances", to=[3.0, 2.0, 4.0]),
    "a short centre": calibration_with("novelty", "centre", to=[0.0] * 63),
    "no rows": calibration_with("novelty", "precision", to=[]),
    "no precision": calibration_with("novelty", "precision", to=[[0.0] * (index + 1) for index in range(64)]),
    "counts are a list": calibration_with("counts", to=[1, 2]),
    "counts of nothing": calibration_with("counts", to={"a": []}),
    "infinite counts": calibration_with("counts", to={"a": [float("inf"), 1]}),
    "a short head": calibration_with("head", to={"centre": [0.0], "weights": [0.0]}),
    "a list": lambda _: [1, 2],
    "nothing": lambda _: None,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_name(example: Calibration, tmp_path: Path, name: str) -> None:
    path = save_calibration(example, tmp_path / "calibration.json")
    path.write_text(json.dumps(BROKEN[name](json.loads(path.read_text()))))
    with pytest.raises(UsageError, match="the calibration cannot be read") as error:
        load_calibration(path)
    assert error.value.path == str(path)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "cannot be read"),
        (b"", "cannot be read"),
        (b"\xff{}", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b" " * 400_001, "more than 400000 bytes"),
    ],
    ids=["missing", "empty", "no text", "nested", "too large"],
)
def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path, content: bytes | None, match: str) -> None:
    path = tmp_path / "calibration.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=match) as error:
        load_calibration(path)
    assert error.value.path == str(path)


def test_bins_are_even() -> None:
    assert np.allclose(np.diff(CENTRES), 1 / BINS)
    assert CENTRES[[0, -1]] == pytest.approx([0.02, 0.98])
