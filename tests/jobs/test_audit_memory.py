"""What an audit takes of memory: hundreds of masks on one large photograph, and a photograph at the limit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.jobs.runner import FrameGroup, Workers
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from small_inputs import auscult, folder_input, item, rows, write_lines

AUDIT = """
import json, resource, sys
from auscult.cli.main import main
code = None
try:
    main()
except SystemExit as stop:
    code = stop.code
# not ru_maxrss of itself, which begins with that of the process that started it
own = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([code, int(own.split()[1]) / 1024, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024]))
"""


# What a process may take beside a smaller audit: how large that one is depends on the libraries and the machine.
GROWTH_MB = 150


def peaks(source: Path, out: Path, *options: str) -> tuple[float, float]:
    """Peak memory of the parent and of its largest worker, in MB."""
    command = [
        sys.executable,
        "-c",
        AUDIT,
        "audit",
        str(source),
        "--out",
        str(out),
        "--workers",
        "1",
        "--quiet",
        *options,
    ]
    completed = subprocess.run(command, capture_output=True, check=True, text=True)
    code, parent, worker = json.loads(completed.stdout.splitlines()[-1])
    assert code in {None, 0}, completed.stderr
    return parent, worker


def crowd(folder: Path, count: int, size: tuple[int, int]) -> Path:
    """A photograph of noise with so many masks: ellipses of all sizes, and one that cannot be read."""
    rng = np.random.default_rng(0)
    height, width = size
    write_frame(
        folder / "frames" / "a.png",
        np.repeat(rng.integers(0, 256, (height // 8, width // 8, 3), np.uint8), 8, 0).repeat(8, 1),
    )
    lines = [item("broken", mask="masks/none.png")]
    for number in range(count):
        labels = np.zeros(size, np.uint8)
        centre = int(rng.integers(width)), int(rng.integers(height))
        axes = int(rng.integers(8, width // 2)), int(rng.integers(8, height // 2))
        cv2.ellipse(labels, centre, axes, float(rng.integers(180)), 0, 360, 1, -1)
        write_mask(folder / "masks" / f"{number}.png", labels.view(np.bool_))
        lines.append(item(f"m{number}", mask=f"masks/{number}.png"))
    return write_lines(folder / "items.jsonl", *lines).parent


def test_tasks_are_made_as_workers_ask_for_them() -> None:
    made: list[str] = []

    def groups() -> Iterator[FrameGroup]:
        for number in range(50):
            made.append(str(number))
            yield FrameGroup((), frozenset((str(number),)))

    workers: Workers[FrameGroup, str] = Workers(make=lambda: lambda group: group.key, count=0, stage="judge")
    for done, (group, outcome) in enumerate(workers.results(groups()), 1):
        assert group.key == outcome
        assert len(made) <= done + 1
    assert len(made) == 50


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_hundreds_of_masks_on_one_photograph(tmp_path: Path) -> None:
    """Beside 50 masks, which reach every bound on what is held at a time; the pixels of 60 more take 180 MB."""
    source = crowd(tmp_path / "in", 110, (1504, 2000))
    lines = (source / "items.jsonl").read_text().splitlines(keepends=True)
    peaks_by_count = []
    for count in (50, 110):
        (source / "items.jsonl").write_text("".join(lines[: 1 + count]))  # the first is broken
        peaks_by_count.append(peaks(source, tmp_path / f"out{count}", "--max-failed", "1"))
    few, many_masks = peaks_by_count
    assert many_masks[0] < few[0] + GROWTH_MB, "the parent"
    assert many_masks[1] < few[1] + GROWTH_MB, "a worker"
    assert len(rows(tmp_path / "out110" / "verdicts.jsonl")) == 110


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grey photograph at the limit."""
    path = tmp_path_factory.mktemp("large") / "large.png"
    write_frame(path, np.full((9000, 11_000, 3), 90, np.uint8))
    return path


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_parent_never_holds_a_picture_at_the_limit(tmp_path: Path, large: Path) -> None:
    """Its pixels take 297 MB."""
    small, _ = peaks(folder_input(tmp_path / "small", "a"), tmp_path / "small-out")
    (tmp_path / "in" / "frames").mkdir(parents=True)
    shutil.copy(large, tmp_path / "in" / "frames" / "a.png")
    mask = np.zeros((9000, 11_000), dtype=np.bool_)
    mask[2000:7000, 3000:6000] = True
    write_mask(tmp_path / "in" / "masks" / "a.png", mask)
    parent, _ = peaks(tmp_path / "in", tmp_path / "out")
    assert parent < small + GROWTH_MB
    assert len(list((tmp_path / "out" / "pictures").iterdir())) == 1, "a worker drew its crop"


def test_few_masks_at_a_time_give_the_same_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = crowd(tmp_path / "in", 40, (96, 128))
    verdicts_by_limit = []
    for number, (most_bytes, waiting) in enumerate(((1 << 27, 1 << 26), (1, 1))):
        monkeypatch.setattr("auscult.jobs.frame_masks._MOST_BYTES", most_bytes)
        monkeypatch.setattr("auscult.jobs.judging._MOST_BYTES", waiting)
        out = tmp_path / f"out{number}"
        audit_folder(AuditOptions(source=source, out=out, workers=0, judge="cues"))
        verdicts_by_limit.append({row["id"]: {**row, "seconds": 0} for row in rows(out / "verdicts.jsonl")})
        assert len(verdicts_by_limit[-1]) == 40
    assert verdicts_by_limit[0] == verdicts_by_limit[1]


@pytest.mark.slow
def test_a_worker_over_its_memory_costs_the_item_and_says_so(tmp_path: Path, large: Path) -> None:
    source = folder_input(tmp_path / "in", "a")
    shutil.copy(large, source / "frames" / "b.png")
    write_mask(source / "masks" / "b.png", np.ones((9000, 11_000), dtype=np.bool_))
    result = auscult("audit", source, "--out", tmp_path / "out", "--workers", "1", "--memory-mb", "400", "--quiet")
    assert result.code == 1
    (failed,) = rows(tmp_path / "out" / "errors.jsonl")
    assert (failed["id"], failed["error"]) == ("b", "took more memory than the limit of 400 MB and was stopped")
    assert "--memory-mb" in failed["hint"]
    assert [row["id"] for row in rows(tmp_path / "out" / "verdicts.jsonl")] == ["a"]
