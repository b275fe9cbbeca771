"""Speed and memory of `auscult audit` on separated sounds, disk to disk with report, two workers, clips of 10 s.

The judge is the default one, or the one that the environment variable ``BENCH_SOUND_JUDGE`` names.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from auscult.jobs.judges import load_sound_judge
from auscult.judge import DEFAULT_SOUND_JUDGE
from auscult.media.sound import read_sound
from auscult.media.wav import encode_wav
from auscult.rng import generator
from auscult.types import SoundCase
from bench.main_job import WORKERS, measure
from bench.table import Table

RATE_HZ, SECONDS = 16_000, 10
COUNTS = (100, 200, 1_000)
SOUNDS, SAMPLED = 25, 10
SHARES = {"mixture": 1.0, "separated": 0.2}  # of the noise that is in it


def run() -> Table:
    """Audit ever more clips, each with a mixture of its own."""
    judge = os.environ.get("BENCH_SOUND_JUDGE") or DEFAULT_SOUND_JUDGE
    rows = []
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        _write(root)
        decode_s, loaded_s, spent = _alone(root, judge)
        for count in COUNTS:
            out = root / f"out-{count}"
            command = ["audit", str(root / f"{count}.jsonl"), "--alone", "--sound-judge", judge, "--out", str(out)]
            found = measure(command, watch=out / "verdicts.jsonl")
            ratio = found.wall_s * WORKERS / count / (decode_s + float(np.mean(spent)))
            figures = (found.wall_s, count * SECONDS / found.wall_s, found.cpu_s, ratio, found.first_s or 0.0)
            rows.append([f"{count:,}", *(f"{one:.1f}" for one in figures), f"{found.peak_mb:.0f}"])
    return Table(
        title=f"audit of separated sounds, {SECONDS} s at {RATE_HZ} Hz, {WORKERS} workers, {judge}",
        header=["clips", "wall s", "times real time", "CPU s", "wall ratio", "first verdict s", "largest process MB"],
        rows=rows,
        note=f"every clip has a mixture of its own; wall ratio: wall over (decoding + inference) / {WORKERS}; one clip "
        f"after loading ({loaded_s:.1f} s) takes {1000 * median(spent):.0f} ms, decoding {1000 * decode_s:.0f} ms. "
        f"Wanted: 60, ratio 1.3, first verdict 2 s, one clip 400 ms, 1,000 MB and flat; load {os.getloadavg()[0]:.1f}",
    )


def _write(folder: Path) -> None:
    """Mixtures of a tone and noise, of which less is in what was separated; clips beyond the first are links."""
    times, lines = np.arange(RATE_HZ * SECONDS) / RATE_HZ, []
    for number in range(max(COUNTS)):
        names = {part: f"{part}_{number}.wav" for part in SHARES}
        for part, name in names.items():
            if number < SOUNDS:
                noise = generator(number, "bench", "sound judge").normal(0, 0.05, times.size)
                tone = 0.2 * np.sin(2 * np.pi * 200 * (1 + number % 9) * times) * (np.sin(3 * times) > 0)
                (folder / name).write_bytes(encode_wav((tone + SHARES[part] * noise).astype(np.float32), RATE_HZ))
            else:
                (folder / name).hardlink_to(folder / f"{part}_{number % SOUNDS}.wav")
        lines.append(json.dumps({"id": f"{number:05d}", **names}) + "\n")
    for count in COUNTS:
        (folder / f"{count}.jsonl").write_text("".join(lines[:count]), encoding="utf-8")


def _alone(folder: Path, name: str) -> tuple[float, float, list[float]]:
    """Processor time to decode a clip and its mixture, seconds to load the judge, and to judge each of some clips."""
    begun = time.process_time()
    clips = [[read_sound(folder / f"{part}_{at}.wav").samples for part in SHARES] for at in range(SAMPLED + 1)]
    decode_s, started, spent = (time.process_time() - begun) / len(clips), time.perf_counter(), []
    judge = load_sound_judge(name)
    loaded_s = time.perf_counter() - started
    for mixture, separated in clips:
        begun = time.process_time()
        judge(SoundCase(id="bench", mixture=mixture, rate_hz=RATE_HZ), separated)
        spent.append(time.process_time() - begun)
    return decode_s, loaded_s, spent[1:]  # the first loads the weights
