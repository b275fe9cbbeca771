"""Sounds that are far larger decoded than in their file: a process of their own stays within a bound."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SAMPLES = 119_000_000
MOST_MB = 700
READ = """
import json, sys
from pathlib import Path
from auscult.errors import AuscultError
from auscult.media.sound import read_sound
try:
    read = str(read_sound(Path(sys.argv[1])).samples.shape)
except AuscultError as error:
    read = error.message
# not ru_maxrss, which begins with that of the process that started it
own = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([read, int(own.split()[1]) / 1024]))
"""


def in_a_process(path: Path) -> tuple[str, float]:
    """What became of a sound, and the peak of the process that read it, in MB."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, check=True, text=True)
    read, peak = json.loads(done.stdout)
    return read, peak


@pytest.mark.parametrize(("code", "bits"), [(1, 8), (1, 16), (1, 24), (3, 32)])
@pytest.mark.parametrize("channels", [1, 7])
def test_a_sparse_wav(tmp_path: Path, code: int, bits: int, channels: int) -> None:
    path, block = tmp_path / "sparse.wav", channels * bits // 8
    size = min(SAMPLES // channels * block, (256 << 20) - 64) // block * block
    form = struct.pack("<HHIIHH", code, channels, 384_000, 384_000 * block, block, bits)
    head = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", size)
    path.write_bytes(b"RIFF" + struct.pack("<I", len(head) + size) + head)
    with path.open("r+b") as file:
        file.truncate(8 + len(head) + size)
    read, peak = in_a_process(path)
    assert read == f"({channels}, {size // block})"
    assert peak < MOST_MB


@pytest.mark.extra_video
@pytest.mark.parametrize("channels", [1, 2])
def test_a_small_flac_of_silence(tmp_path: Path, channels: int) -> None:
    soundfile = pytest.importorskip("soundfile", reason="the extra `video` is not installed")
    path, block = tmp_path / "bomb.flac", np.zeros((1_000_000, channels), dtype=np.int16)
    with soundfile.SoundFile(path, "w", 96_000, channels, format="FLAC") as file:
        for _ in range(SAMPLES // channels // len(block)):
            file.write(block)
    assert path.stat().st_size < 1 << 20
    read, peak = in_a_process(path)
    assert read == f"({channels}, {SAMPLES // channels // len(block) * len(block)})"
    assert peak < MOST_MB
