"""The calibration: fitted on clustered masks it covers what it promises, and its file is read strictly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compact_fakes import calibration

from auscult.errors import InputError, UsageError
from auscult.judge.masks.compact.answer import CENTRES, KINDS, NOTHING, lowered, named, probabilities
from auscult.judge.masks.compact.calibration import Calibration, from_json, load_calibration, save_calibration, to_json
from auscult.judge.masks.compact.interval import interval_of, reach_of, spread_of, widths_of
from auscult.judge.masks.compact.novelty import novelty_of
from auscult.rng import generator
from auscult.train.compact.calibrate import LEAST_CLUSTERS, LEAST_MASKS, UNKNOWN, Guard, Held, calibrate
from auscult.types import DEFECTS

DIGEST = "ab" * 32
NOISE = {"perfect": 0.01, "cutout": 0.05, "dilate": 0.03, "erode": 0.08, "merge": 0.15, "arbitrary": 0.0}


def masks(clusters: int, *, seed: int, each: int = 12, sharp: float = 1.6) -> Held:
    """Masks of photographs whose errors go together; a network that is too sure of itself, and surer than right."""
    rng = generator(seed, "held")
    count = clusters * each
    cluster = np.repeat([f"p{seed}-{number}" for number in range(clusters)], each)
    shift = np.repeat(rng.normal(0, 0.5, clusters), each)
    kind = rng.integers(0, 6, count)
    sizes = np.exp(rng.uniform(np.log(600), np.log(60000), count))
    noise = np.array([NOISE[KINDS[one]] for one in kind]) * np.where(sizes < 9216, 1.5, 1.0)
    middle = np.where(kind == 0, 0.97, rng.uniform(0.6, 0.9, count))
    iou = np.clip(middle + noise * (shift + rng.normal(0, 1, count)), 0, 1)
    iou = np.where(kind == KINDS.index("arbitrary"), 0.0, iou)
    middle = np.where(kind == KINDS.index("arbitrary"), 0.02, middle)
    width = np.maximum(noise, 0.02)[:, None] / sharp
    types = 2.0 * np.eye(6)[kind] + rng.normal(0, 0.8, (count, 6))
    return Held(
        types=6 * types,
        ious=-0.5 * ((CENTRES - middle[:, None]) / width) ** 2,
        features=rng.normal(0, 1, (count, 64)) + shift[:, None],
        iou=iou,
        kind=kind,
        cluster=cluster,
        area_px=sizes,
    )


@pytest.fixture(scope="module")
def fitted() -> Calibration:
    return calibrate(masks(80, seed=1), weights=DIGEST)


def covered(found: Calibration, held: Held) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each mask whether its IoU lies within, the interval's width, and the predicted kind."""
    kinds = named(held.types, found.temperature, found.arbitrary)
    said = kinds.argmax(axis=1)
    plain, softened = (lowered(probabilities(held.ious, warm), kinds[:, -1]) for warm in (1.0, found.iou_temperature))
    spread = spread_of(softened, found.ends, plain=plain)
    reach = np.array(
        [reach_of(found.reach, area, DEFECTS[kind]) for area, kind in zip(held.area_px, said, strict=True)]
    )
    low, high = interval_of(spread, reach, widths_of(novelty_of(held.features, found.known), found.widening))
    return (low <= held.iou) & (held.iou <= high), high - low, said


def on_objects(held: Held) -> np.ndarray:
    return np.asarray(held.kind != KINDS.index("arbitrary"))


@pytest.mark.parametrize("guard", ["left_out", "conformal"])
def test_new_photographs_are_covered_on_the_whole_and_in_each_group(guard: Guard) -> None:
    new = masks(120, seed=2)
    fits = [calibrate(masks(60, seed=seed), weights=DIGEST, guard=guard) for seed in (10, 11, 12, 13)]
    inside = np.mean([covered(found, new)[0] for found in fits], axis=0)
    _, width, said = covered(fits[0], new)
    used, large = on_objects(new), new.area_px >= 96**2
    assert 0.88 <= inside[used].mean() <= 0.95
    for kind in range(5):
        assert inside[used & (said == kind)].mean() >= 0.85, KINDS[kind]
    assert inside[used & large].mean() >= 0.86
    assert inside[used & ~large].mean() >= 0.86
    assert width[said == 0].mean() < 0.5 * width[said == 4].mean()


def test_with_few_photographs_the_guarantee_costs_width() -> None:
    new = masks(80, seed=4)
    shares: dict[Guard, list[float]] = {"left_out": [], "conformal": []}
    widths: dict[Guard, list[float]] = {"left_out": [], "conformal": []}
    for seed in range(8):
        held = masks(14, seed=100 + seed)
        for guard, share in shares.items():
            inside, width, _ = covered(calibrate(held, weights=DIGEST, guard=guard), new)
            share.append(inside[on_objects(new)].mean())
            widths[guard].append(width[on_objects(new)].mean())
    assert np.mean(shares["left_out"]) >= 0.87
    assert np.mean(shares["conformal"]) >= 0.92
    assert np.mean(widths["conformal"]) > 1.05 * np.mean(widths["left_out"])


def test_the_temperature_undoes_too_much_certainty(fitted: Calibration) -> None:
    held = masks(80, seed=1)
    told = probabilities(held.types, fitted.temperature)
    right = told.argmax(axis=1) == held.kind
    assert fitted.temperature > 1.2
    assert told.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.03)
    raw = probabilities(held.types, 1.0).max(axis=1).mean()
    assert abs(told.max(axis=1).mean() - right.mean()) < abs(raw - right.mean())
    assert fitted.iou_temperature > 1.2


def test_the_odds_of_no_object_undo_too_much_certainty() -> None:
    rng = generator(4, "odds")
    held = masks(80, seed=1)
    nothing = held.kind == KINDS.index("arbitrary")
    doubtful = held.types.copy()
    doubtful[:, -1] += np.where(~nothing & (rng.random(len(held)) < 0.1), 12.0, 0.0)  # sure of every tenth, and wrong
    found = calibrate(replace(held, types=doubtful), weights=DIGEST)
    told = named(doubtful, found.temperature, found.arbitrary)[:, -1]
    assert told[nothing].mean() > 3 * told[~nothing].mean()
    assert told[~nothing].mean() < 0.1


def test_without_masks_on_no_object_none_is_expected() -> None:
    held = masks(40, seed=3)
    kept = held.kind != KINDS.index("arbitrary")
    found = calibrate(Held(**{name: getattr(held, name)[kept] for name in Held.__slots__}), weights=DIGEST)
    assert found.arbitrary == (1.0, pytest.approx(np.log(NOTHING)))


def test_a_group_with_few_photographs_falls_back(fitted: Calibration) -> None:
    assert set(fitted.reach) == set(fitted.counts)
    assert {"all", *DEFECTS[:5], "large merge"} <= set(fitted.reach)
    held = masks(LEAST_CLUSTERS - 1, seed=7, each=40)
    assert set(calibrate(held, weights=DIGEST).reach) == {"all"}
    photographs, count = fitted.counts["all"]
    assert (photographs, count) == (80, int((masks(80, seed=1).kind != 5).sum()))
    assert all(clusters >= LEAST_CLUSTERS and size >= LEAST_MASKS for clusters, size in fitted.counts.values())


def test_a_photograph_with_many_masks_does_not_dominate() -> None:
    held = masks(40, seed=3)
    rows = np.concatenate([np.arange(len(held)), np.repeat(np.flatnonzero(held.cluster == held.cluster[0]), 50)])
    repeated = Held(**{name: getattr(held, name)[rows] for name in Held.__slots__})
    once, often = calibrate(held, weights=DIGEST), calibrate(repeated, weights=DIGEST)
    assert often.reach["all"] == pytest.approx(once.reach["all"], rel=0.003)  # one score more or less
    assert often.temperature == pytest.approx(once.temperature, rel=1e-3)


def test_what_is_far_from_the_calibration_masks_is_novel(fitted: Calibration) -> None:
    new = masks(80, seed=5)
    alike = novelty_of(new.features, fitted.known)
    assert 0.3 < (alike == 0).mean() < 0.7
    assert (alike > 0.5).mean() < 0.12
    assert (novelty_of(new.features + 6.0 * np.sign(new.features), fitted.known) > 0.9).all()
    assert fitted.widening >= 0.5


def test_features_that_never_move_are_no_trouble(tmp_path: Path) -> None:
    held = masks(20, seed=6)
    still = replace(held, features=np.where(np.arange(64) < 40, 3.0, held.features))
    for one in (still, replace(held, features=np.zeros_like(held.features))):
        path = save_calibration(calibrate(one, weights=DIGEST), tmp_path / f"{id(one)}.json")
        told = novelty_of(one.features, load_calibration(path).known)
        assert (told < 1).mean() > 0.8


def test_real_predictions_need_no_kind(fitted: Calibration) -> None:
    held = masks(80, seed=1)
    unknown = replace(held, kind=np.where(np.arange(len(held)) % 3 == 0, UNKNOWN, held.kind))
    assert calibrate(unknown, weights=DIGEST).reach["all"] > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"types": np.zeros((3, 6))}, "types has shape"),
        ({"cluster": np.full(24, "one")}, "fewer than two photographs"),
        ({"iou": np.full(24, 1.5)}, "out of its range"),
        ({"kind": np.full(24, 6)}, "out of its range"),
        ({"features": np.full((24, 64), np.nan)}, "features has shape"),
    ],
)
def test_what_is_no_calibration_split_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibrate(replace(masks(2, seed=1), **change), weights=DIGEST)


def test_a_file_holds_all_and_is_small(fitted: Calibration, tmp_path: Path) -> None:
    path = save_calibration(fitted, tmp_path / "calibration.json")
    assert path.stat().st_size < 100_000
    back = load_calibration(path)
    assert to_json(back) == to_json(fitted)
    held = masks(80, seed=2)
    assert novelty_of(held.features, back.known) == pytest.approx(novelty_of(held.features, fitted.known), abs=1e-3)


def _changed(*keys: str, to: object) -> dict[str, Any]:
    value = json.loads(json.dumps(to_json(calibration())))
    place = value
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    return dict(value)


BROKEN = {
    "schema": _changed("schema", to=2),
    "digest": _changed("weights", to="xyz"),
    "no number": _changed("temperature", to="1.0"),
    "a truth value": _changed("temperature", to=True),
    "not finite": _changed("temperature", to=float("inf")),
    "zero": _changed("iou_temperature", to=0.0),
    "ends": _changed("ends", to=[0.0]),
    "prior": _changed("prior", to=[0.4, 0.8, 1.0]),
    "no group": _changed("groups", to={}),
    "another group": _changed("groups", "huge erode", to={"reach": 1.0, "clusters": 1, "masks": 1}),
    "a negative reach": _changed("groups", "all", "reach", to=-1.0),
    "half a masks": _changed("groups", "all", "masks", to=1.5),
    "distances": _changed("novelty", "distances", to=[3.0, 2.0, 1.0]),
    "a short centre": _changed("novelty", "centre", to="0.0 1.0"),
    "no rows": _changed("novelty", "precision", to=[]),
    "no precision": _changed("novelty", "precision", to=[" ".join(["0.0"] * (at + 1)) for at in range(64)]),
    "a list": [1, 2],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(BROKEN[name]))
    with pytest.raises(UsageError, match="the calibration cannot be read") as caught:
        load_calibration(path)
    assert caught.value.path == str(path)
    assert "auscult train compact-mask" in caught.value.expected


def test_a_missing_or_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_calibration(tmp_path / "none.json")
    path = tmp_path / "huge.json"
    path.write_text(" " * 200_001)
    with pytest.raises(UsageError, match="more than 200000 bytes"):
        load_calibration(path)


def test_a_whole_file_is_read() -> None:
    assert from_json(json.loads(json.dumps(to_json(calibration())))).reach == {"all": 1.5}
