"""Perturbations of pictures agree with imagecorruptions on real photographs, level by level.

What is deterministic agrees pixel by pixel, what is random in distribution, over draws from fixed seeds. What is not
meant to agree stands in ``OTHERWISE`` with its reason, and its difference is held between bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.peers import PYTHON, Peers
from vision_parity import FIXED, LEVELS, OTHERWISE, PHOTOGRAPHS, RANDOM, Picture, measure, photographs

pytestmark = pytest.mark.peer

PIXELS = 0.99
PSNR_DB = 0.5
SPECTRUM_DB = 0.5
# Half the sum of absolute differences of two histograms of 32 bins. Glass blur rounds where theirs cuts off: half a
# grey level, a sixteenth of a bin. Two samples of 32 fogs differ by .045 (theirs and theirs), as each fog has a few
# large clouds.
HISTOGRAM = {"glass_blur": 0.08, "fog": 0.08}
OTHER_HISTOGRAM = 0.025
# Difference of PSNR in dB from, to, over all levels. Our frost is milder than theirs by 1.5 to 1.8 dB; the elastic
# transform of ImageNet-C shears the whole picture at levels 1 and 2, by far more than theirs moves it.
BOUNDS = {"frost": (0.5, 2.7), "elastic_transform": (-11.0, -0.5)}
MOST_SPECTRUM_DB = 1.5


@pytest.fixture(scope="module")
def peers() -> Iterator[Peers]:
    if not PYTHON.exists():
        pytest.skip("the environment .venvs/perturb is not there")
    with Peers() as peers_started:
        yield peers_started


@pytest.fixture(scope="module")
def photos(data: Path) -> list[Picture]:
    return photographs(data, PHOTOGRAPHS)


@pytest.mark.parametrize("name", FIXED)
def test_what_is_deterministic_agrees_pixel_by_pixel(name: str, peers: Peers, photos: list[Picture]) -> None:
    """Within 2 grey levels in every channel, on 99 % of the pixels of the worst photograph."""
    for level in LEVELS:
        assert measure(peers, name, level=level, shown=photos)["within"] >= PIXELS, f"level {level}"


@pytest.mark.parametrize("name", RANDOM)
def test_what_is_random_agrees_in_distribution(name: str, peers: Peers, photos: list[Picture]) -> None:
    for level in LEVELS:
        differences = measure(peers, name, level=level, shown=photos)
        assert abs(differences["psnr"]) <= PSNR_DB, f"level {level}"
        assert differences["histogram"] <= HISTOGRAM.get(name, OTHER_HISTOGRAM), f"level {level}"
        assert differences["spectrum"] <= SPECTRUM_DB, f"level {level}"


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_chosen_otherwise_is_as_far_as_was_measured(name: str, peers: Peers, photos: list[Picture]) -> None:
    low, high = BOUNDS[name]
    for level in LEVELS:
        differences = measure(peers, name, level=level, shown=photos)
        assert low <= differences["psnr"] <= high, f"level {level}"
        assert differences["spectrum"] <= MOST_SPECTRUM_DB, f"level {level}"
