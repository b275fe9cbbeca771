"""Perturbations of sound agree with audiomentations where the same numbers are drawn, level by level.

``sound_parity`` says how each is compared, and what differs by choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("soundfile", reason="the extra `video` is not installed")

from bench.peers import PYTHON, Peers
from sound_parity import CLIPS, LEVELS, TYPES, Both, clips

pytestmark = pytest.mark.peer

# What is compared: least and greatest at every level.
BOUNDS = {
    "gain": {"sample": (0.0, 1e-6)},
    "gaussian_noise": {"noise_db": (0.0, 0.1), "bands_db": (0.0, 1.0)},
    "background_noise": {"ours_db": (0.0, 0.01), "theirs_db": (0.0, 0.01)},
    "low_pass": {"answer_db": (0.0, 0.02)},
    "high_pass": {"answer_db": (0.0, 0.02)},
    "peaking_filter": {"answer_db": (0.0, 0.02)},
    "air_absorption": {"bands_db": (0.0, 0.2)},
    "time_mask": {"touched": (0.0, 1e-4), "silent": (0.0, 0.006)},
    "tanh_distortion": {"sample": (0.0, 1e-5), "level_db": (0.0, 1e-3)},
    # Where the coder works at a lower rate, theirs comes back with images above it that fill up the spectrum; ours
    # with silence there.
    "mp3_compression": {"distance_db": (-0.5, 3.0)},
    "impulse_response": {"left_db": (-200.0, -100.0), "louder_db": (0.0, 20.0)},
    # Rays of theirs, drawn anew for each room, find up to 10 dB less of the echoes than the theory of a diffuse field.
    "room_reverberation": {"decay_ratio": (0.6, 1.6), "echoes_db": (-3.0, 8.0)},
}


@pytest.fixture(scope="module")
def peers_and_clips(data: Path) -> Iterator[Both]:
    if not PYTHON.exists():
        pytest.skip("the environment .venvs/perturb is not there")
    with Peers() as peers:
        yield Both(peers=peers, clips=clips(data))


def test_all_that_is_compared_has_bounds() -> None:
    assert set(BOUNDS) == set(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_agrees_where_the_same_is_drawn(name: str, peers_and_clips: Both) -> None:
    assert len(peers_and_clips.clips) == CLIPS
    for level in LEVELS:
        differences = TYPES[name](peers_and_clips, level)
        for key, (low, high) in BOUNDS[name].items():
            assert low <= differences[key] <= high, f"{key} at level {level}"
