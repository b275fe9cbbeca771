"""Speed of the main job, disk to disk: `auscult audit` and `auscult stress masks` as whole commands on two workers.

The judge is the default one, or the one that the environment variable ``BENCH_JUDGE`` names.

Wall time says little on a machine that others use too, so that processor time (user and system, of the command and its
workers) stands beside it. Decoding (each frame and each mask once) and inference are processor times of this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from auscult.cases.ids import group_by_frame
from auscult.cases.listing import list_items
from auscult.jobs.judges import load_judge
from auscult.judge import DEFAULT_JUDGE
from auscult.media.frames import read_frame, write_frame
from auscult.media.masks import read_mask, write_mask
from auscult.rng import generator
from auscult.types import Case, Prediction
from bench.table import Table

FRAMES = 112
SHAPE = (480, 854)
WORKERS = 2
SAMPLED = 150
JUDGE = os.environ.get("BENCH_JUDGE") or DEFAULT_JUDGE
_POLL_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a command cost."""

    wall_s: float  # from its start to its end
    cpu_s: float  # processor time, user and system, of it and its workers
    first_s: float | None  # until the watched file held a whole line; None where none was watched
    peak_mb: float  # largest resident size of any of its processes, in MB of 10^6 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What cannot be saved, in seconds of one processor: opening every frame and mask once, and judging."""

    decode_s: float
    inference_s: float

    @property
    def total_s(self) -> float:
        """Both."""
        return self.decode_s + self.inference_s


def run() -> Table:
    """Measure both on generated frames with two objects each; the audit of pictures, and of a video with truth."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_input(root / "input", frames=FRAMES)
        made = root / "stressed"
        stress = measure(["stress", "masks", str(root / "input"), "--seed", "0", "--out", str(made)])
        plain = root / "plain"
        as_pictures(made, plain)
        needed, masks = need(plain, JUDGE)
        rows = [["stress masks", str(masks), *_cells(stress, masks, None)]]
        for name, source in (("audit, pictures", plain), ("audit, one video with truth", made)):
            out = root / f"{source.name}-audit"
            command = ["audit", str(source), "--alone", "--judge", JUDGE, "--out", str(out)]
            rows.append([name, str(masks), *_cells(measure(command, watch=out / "verdicts.jsonl"), masks, needed)])
    return Table(
        title=f"whole commands, disk to disk, {SHAPE[0]}x{SHAPE[1]}, {WORKERS} workers, {JUDGE}",
        header=[
            "command", "masks", "wall s", "masks/s", "CPU s", "masks/s of 2 CPUs", "first verdict s", "peak MB",
            "wall ratio", "CPU ratio",
        ],
        rows=rows,
        note=f"decoding {needed.decode_s:.1f} s, inference {needed.inference_s:.1f} s of one processor "
        f"({1000 * needed.inference_s / masks:.1f} ms a mask); "
        f"wall ratio: wall over (decoding + inference) / {WORKERS}; CPU ratio: CPU over decoding + inference; "
        f"one run each; start-up, writing and the report included; load {os.getloadavg()[0]:.1f} at the end",
    )  # fmt: skip


def measure(arguments: Sequence[str], *, watch: Path | None = None, workers: bool = True) -> Measured:
    """Run an `auscult` command, with two workers where it has any, and measure it; raises where it fails."""
    command = [sys.executable, "-m", "auscult", *arguments]
    command += ["--workers", str(WORKERS), "--quiet"] if workers else []
    begun = time.perf_counter()
    first = None
    # an installed package has its bytecode, whatever this process's own setting is
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        now = time.perf_counter() - begun
        if first is None and watch is not None and watch.is_file() and b"\n" in watch.read_bytes()[:100_000]:
            first = now
        if pid:
            break
        time.sleep(_POLL_S)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    scale = 1 if sys.platform == "darwin" else 1024
    peak_mb = used.ru_maxrss * scale / 1e6
    return Measured(wall_s=now, cpu_s=used.ru_utime + used.ru_stime, first_s=first, peak_mb=peak_mb)


def need(source: Path, judge_name: str) -> tuple[Needed, int]:
    """What decoding and judging an INPUT need at least, and how many masks it holds; judging from a sample."""
    items = list_items(source).items
    groups = group_by_frame(items)
    begun = time.process_time()
    for group in groups:
        frame = read_frame(group[0].frame)
        for item in group:
            read_mask(item.mask, size=(frame.shape[0], frame.shape[1]))
    decode_s = time.process_time() - begun
    judge = load_judge(judge_name)
    spent = []
    for item in [items[0], *items[:: max(1, len(items) // SAMPLED)]]:
        frame = read_frame(item.frame)
        case = Case(id="bench", frame=frame, query=item.query)
        prediction = Prediction(read_mask(item.mask).mask)
        begun = time.process_time()
        judge(case, prediction)
        spent.append(time.process_time() - begun)
    inference_s = float(np.mean(spent[1:])) * len(items)  # the first loads the weights
    return Needed(decode_s=decode_s, inference_s=inference_s), len(items)


def as_pictures(source: Path, target: Path) -> None:
    """A copy of an INPUT with unrelated frames instead of a video, and without its truth; files are linked."""
    target.mkdir()
    for name in ("frames", "masks"):
        for path in sorted((source / name).rglob("*")):
            if path.is_file():
                link = target / path.relative_to(source)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.hardlink_to(path)
    with (source / "items.jsonl").open(encoding="utf-8") as lines, (target / "items.jsonl").open("w") as out:
        for line in lines:
            row = json.loads(line)
            out.write(json.dumps({key: row[key] for key in row if key not in {"truth", "stress", "clip"}}) + "\n")


def make_input(folder: Path, *, frames: int) -> None:
    """Generated frames with two elliptic objects each."""
    rng = generator(0, "bench")
    rows, columns = np.ogrid[: SHAPE[0], : SHAPE[1]]
    for number in range(frames):
        frame = rng.integers(0, 256, (60, 107, 3), np.uint8).repeat(8, 0).repeat(8, 1)[: SHAPE[0], : SHAPE[1]].copy()
        for side, centre in enumerate((230, 620)):
            half = rng.integers(60, 170, 2)
            mask = ((rows - 240) / half[0]) ** 2 + ((columns - centre) / half[1]) ** 2 <= 1
            frame[mask] = frame[mask] // 2 + rng.integers(0, 128, 3, np.uint8)
            (folder / "masks" / f"{number:03d}").mkdir(parents=True, exist_ok=True)
            write_mask(folder / "masks" / f"{number:03d}" / f"{side}.png", mask)
        (folder / "frames").mkdir(parents=True, exist_ok=True)
        write_frame(folder / "frames" / f"{number:03d}.jpg", frame, quality=90)


def _cells(measured: Measured, masks: int, needed: Needed | None) -> list[str]:
    ratios = ["", ""]
    if needed is not None:
        ratios = [f"{measured.wall_s * WORKERS / needed.total_s:.2f}", f"{measured.cpu_s / needed.total_s:.2f}"]
    first = "" if measured.first_s is None else f"{measured.first_s:.2f}"
    wall = [f"{measured.wall_s:.1f}", f"{masks / measured.wall_s:.0f}"]
    return [
        *wall,
        f"{measured.cpu_s:.1f}",
        f"{WORKERS * masks / measured.cpu_s:.0f}",
        first,
        f"{measured.peak_mb:.0f}",
        *ratios,
    ]
