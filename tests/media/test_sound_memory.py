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


STRESS = """
import resource, sys
from auscult.cli.main import main
try:
    main()
finally:  # of its worker, or of itself where that is more
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, file=sys.stderr)
"""


def in_a_process(path: Path) -> tuple[str, float]:
    """What became of a sound, and the peak of the process that read it, in MB."""
    process = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, check=True, text=True)
    shape, peak = json.loads(process.stdout)
    return shape, peak


@pytest.mark.parametrize(("code", "bits"), [(1, 8), (1, 16), (1, 24), (3, 32)])
@pytest.mark.parametrize("channels", [1, 7])
def test_a_sparse_wav(tmp_path: Path, code: int, bits: int, channels: int) -> None:
    path = sparse(tmp_path / "sparse.wav", code=code, bits=bits, channels=channels)
    shape, peak = in_a_process(path)
    assert shape == f"({channels}, {(path.stat().st_size - 44) // (channels * bits // 8)})"
    assert peak < MOST_MB


def sparse(path: Path, *, code: int, bits: int, channels: int) -> Path:
    """A WAV file of zeros that takes hardly any room on the disk."""
    block = channels * bits // 8
    size = min(SAMPLES // channels * block, (256 << 20) - 64) // block * block
    format_chunk = struct.pack("<HHIIHH", code, channels, 384_000, 384_000 * block, block, bits)
    head = b"WAVEfmt " + struct.pack("<I", 16) + format_chunk + b"data" + struct.pack("<I", size)
    path.write_bytes(b"RIFF" + struct.pack("<I", len(head) + size) + head)
    with path.open("r+b") as file:
        file.truncate(8 + len(head) + size)
    return path


@pytest.mark.parametrize(
    ("kind", "refusal"), [("gain", ""), ("time_mask+gaussian_noise", ""), ("low_pass", "at most 50,000,000 samples")]
)
def test_a_sparse_wav_that_is_perturbed(tmp_path: Path, kind: str, refusal: str) -> None:
    path, out = sparse(tmp_path / "sparse.wav", code=1, bits=8, channels=1), tmp_path / "out"
    words = ["stress", "sound", str(path), "--out", str(out), "--kind", kind, "--workers", "1", "--quiet"]
    process = subprocess.run([sys.executable, "-c", STRESS, *words], capture_output=True, check=False, text=True)
    assert float(process.stderr.split()[-1]) < MOST_MB
    if refusal:
        (row,) = map(json.loads, (out / "errors.jsonl").read_text().splitlines())
        assert row["error"].startswith("a sound of 1 channels of 119,000,000 samples, of which the perturbation needs")
        assert row["expected"].startswith(refusal)
    else:
        (row,) = map(json.loads, (out / "outputs.jsonl").read_text().splitlines())
        assert row["samples"] == SAMPLES


@pytest.mark.extra_video
@pytest.mark.parametrize("channels", [1, 2])
def test_a_small_flac_of_silence(tmp_path: Path, channels: int) -> None:
    soundfile = pytest.importorskip("soundfile", reason="the extra `video` is not installed")
    path, block = tmp_path / "bomb.flac", np.zeros((1_000_000, channels), dtype=np.int16)
    with soundfile.SoundFile(path, "w", 96_000, channels, format="FLAC") as file:
        for _ in range(SAMPLES // channels // len(block)):
            file.write(block)
    assert path.stat().st_size < 1 << 20
    shape, peak = in_a_process(path)
    assert shape == f"({channels}, {SAMPLES // channels // len(block) * len(block)})"
    assert peak < MOST_MB
