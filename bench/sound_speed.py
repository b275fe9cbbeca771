"""Speed of the perturbations of sound, beside audiomentations: the same sounds, turn by turn, one core each."""

from __future__ import annotations

import os
from functools import partial
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.media.wav import encode_wav
from auscult.rng import generator
from auscult.stress import sound
from bench.peers import Peers
from bench.table import Table, timed_ms

TYPES = (
    "gain", "background_noise", "air_absorption", "room_reverberation", "gaussian_noise", "impulse_response",
    "peaking_filter", "time_mask", "tanh_distortion", "mp3_compression", "low_pass", "high_pass",
)  # fmt: skip
RATE_HZ = 44_100
SECONDS = 10
TURNS = 5
REPEATS = 3
SEVERITY = 3
GIVEN = {"background_noise"}


def run() -> Table:
    """Measure both on ten seconds of one channel."""
    with Peers() as peers:
        found = {name: _both(peers, name) for name in TYPES}
    copy, _ = timed_ms(noise(SECONDS, seed=0).copy, 200)
    rows = [
        [name, f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", f"{ours / copy:.0f}"]
        for name, (ours, theirs) in found.items()
    ]
    mean = geometric_mean([theirs / ours for ours, theirs in found.values()])
    rows.append(["geometric mean", "", "", f"{mean:.1f}", ""])
    return Table(
        title=f"perturbations of sound, severity {SEVERITY}, {SECONDS} s of one channel at {RATE_HZ} Hz",
        header=["type", "auscult ms", "audiomentations ms", "times as fast", "plain copies"],
        rows=rows,
        note=f"medians of {TURNS} turns of {REPEATS}, processor time of one core each; background noise: a given one; "
        f"room without ray tracing; NumPy {np.__version__}; load {os.getloadavg()[0]:.1f} at the end",
    )


def noise(seconds: float, *, seed: int) -> NDArray[np.float32]:
    """Something like a sound: tones under an envelope, and noise."""
    rng = generator(seed, "bench", "sound")
    times = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    tones = sum(np.sin(2 * np.pi * hertz * times) for hertz in (220, 447, 1310, 3900))
    made = 0.1 * tones * (1 + np.sin(2 * np.pi * 1.5 * times)) + 0.05 * rng.standard_normal(len(times))
    return np.clip(made, -1, 1).astype(np.float32)


def _both(peers: Peers, name: str) -> tuple[float, float]:
    """Milliseconds of ours and theirs."""
    given = noise(SECONDS, seed=0)
    other = noise(4, seed=1)
    path = peers.put("sound", given)
    response = other[:RATE_HZ] * np.exp(-np.arange(RATE_HZ) / 6000).astype(np.float32)
    file = peers.folder / f"{name}.wav"
    file.write_bytes(encode_wav(response if name == "impulse_response" else other, RATE_HZ))
    asked: dict[str, Any] = {"severity": SEVERITY, "given": path, "rate_hz": RATE_HZ, "noise": str(file)}
    mixed = other if name in GIVEN else None
    sound.apply(name, given, rate_hz=RATE_HZ, severity=SEVERITY, seed=99, noise=mixed)
    peers.ask("sound", name, **asked)
    ours, theirs = [], []
    for turn in range(TURNS):
        for seed in range(turn * REPEATS, (turn + 1) * REPEATS):
            call = partial(sound.apply, name, given, rate_hz=RATE_HZ, severity=SEVERITY, seed=seed, noise=mixed)
            ours.append(timed_ms(call, 1)[0])
        theirs += peers.ask("sound", name, seed=turn * REPEATS, repeats=REPEATS, **asked)["ms"]
    return median(ours), median(theirs)
