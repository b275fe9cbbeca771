"""What runs withstand: `python -m bench.withstands [NAME ...]` does to them what happens to runs, and prints a table.

Each check is a function of a folder to work in and gives what was measured; one that does not hold raises. ``many`` and
``kills`` take minutes, the others seconds. ``WITHSTANDS_MASKS`` is how many masks ``many`` audits, by default 20,000.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from auscult.media.frames import write_frame
from auscult.media.masks import write_labels
from bench.main_job import JUDGE, WORKERS, make_input
from bench.table import Table, text

KILLS = 30
FRAMES = 25
SMALL = ["--judge", "cues"]
_TIMES = frozenset({"seconds", "preparing_s", "overhead_s", "peak_mb", "time", "resumed", "finished", "begun"})
_PATIENCE_S = 3600.0
_PAUSE_S = 0.005
_PR_CAPBSET_DROP, _OVERRIDES = 24, (1, 2)  # what lets root write and read where rights forbid it


def main(names: Sequence[str]) -> None:
    rows = []
    for name in names or CHECKS:
        with tempfile.TemporaryDirectory(prefix="withstands-") as folder:
            Path(folder).chmod(0o755)
            begun = time.perf_counter()
            rows.append([name, CHECKS[name](Path(folder)), f"{time.perf_counter() - begun:.0f}"])
            print(f"{name}: {rows[-1][1]}", flush=True)
    note = f"{WORKERS} workers; load {os.getloadavg()[0]:.1f} at the end"
    print(f"\n{text(Table(title='what runs withstand', header=['what', 'measured', 's'], rows=rows, note=note))}")


def start(arguments: Sequence[str], **more: Any) -> subprocess.Popen[str]:
    """Start a command in a process group of its own, that its workers do not outlive when it is killed."""
    command = [sys.executable, "-m", "auscult", *arguments, "--workers", str(WORKERS), "--quiet"]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, start_new_session=True, **{**streams, **more})


def whole(arguments: Sequence[str], *, code: int = 0, **more: Any) -> str:
    """Run a command to its end, which must have that exit status, and give what it said on stderr."""
    process = start(arguments, **more)
    _, said = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == code, f"exit {process.returncode}, not {code}: {said[-2000:]}"
    assert "Traceback" not in said, said
    return said


def count(path: Path) -> int:
    """Whole lines of a file."""
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def until(process: subprocess.Popen[str], path: Path, lines: int) -> float:
    """Wait until a file has so many lines; gives when that was."""
    seen = size = 0
    while seen < lines:
        assert process.poll() is None, f"it ended before: {process.communicate()[1][-2000:]}"
        time.sleep(_PAUSE_S)
        if path.is_file():  # what is new alone: to read a long file again and again takes a processor of its own
            with path.open("rb") as file:
                file.seek(size)
                new = file.read()
            seen, size = seen + new.count(b"\n"), size + len(new)
    return time.perf_counter()


def results(path: Path) -> list[str]:
    """The rows of a file without times, sorted; none may stand twice."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    plain = sorted(json.dumps(_timeless(line), sort_keys=True) for line in lines)
    assert len(set(plain)) == len(plain), f"{path}: a row stands twice"
    return plain


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _timeless(part) for key, part in value.items() if key not in _TIMES}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


def clips(folder: Path) -> Path:
    """Two short sequences of a block that moves, in the layout of DAVIS."""
    rng = np.random.default_rng(0)
    ground = rng.integers(0, 90, (30, 40, 3), np.uint8).repeat(4, 0).repeat(4, 1)
    for name, frames in (("one", 6), ("two", 8)):
        for number in range(frames):
            frame, labels = ground.copy(), np.zeros(ground.shape[:2], np.uint8)
            place = slice(40, 80), slice(20 + 6 * number, 60 + 6 * number)
            frame[place], labels[place] = (220, 60 + 10 * number, 40), 1
            write_frame(folder / f"JPEGImages/480p/{name}/{number:05d}.jpg", frame)
            write_labels(folder / f"Annotations/480p/{name}/{number:05d}.png", labels)
    return folder


def kills(folder: Path) -> str:
    """`run r2` is killed 30 times, at moments spread over its whole length, and resumed to its end each time."""
    data = clips(folder / "davis")
    command = ["run", "r2", "--task", "vos", "--data", str(data), "--model", "flow"]
    command += ["--perturb", "none", "--kind", "fog,gaussian_noise", "--severity", "1,3,5"]
    begun = time.perf_counter()
    whole([*command, "--out", str(folder / "reference")])
    length_s = time.perf_counter() - begun
    files = ("predictions.jsonl", "scores.jsonl")
    expected = {name: results(folder / "reference" / name) for name in files}
    cells = _timeless(json.loads((folder / "reference" / "cells.json").read_text("utf-8")))
    done, longest_s = [], 0.0
    for number in range(KILLS):
        out = folder / f"killed-{number}"
        process = start([*command, "--out", str(out)])
        time.sleep(length_s * (number + random.random()) / KILLS)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        done.append(count(out / files[0]))
        begun = time.perf_counter()
        whole([*command, "--out", str(out)])
        longest_s = max(longest_s, time.perf_counter() - begun)
        for name in files:
            assert results(out / name) == expected[name], f"{name} differs after kill {number}"
        assert _timeless(json.loads((out / "cells.json").read_text("utf-8"))) == cells, f"cells differ: {number}"
        shutil.rmtree(out)
    total = len(expected[files[0]])
    between = sum(0 < lines < total for lines in done)
    return (
        f"{KILLS} kills, {between} of them between the first and the last of {total} requests: equal rows and cells "
        f"each time; whole run {length_s:.1f} s, slowest resumed one {longest_s:.1f} s"
    )


def many(folder: Path) -> str:
    """20,000 masks on 10,000 frames: time a mask and the parent's memory along the way, and how soon a run resumes."""
    total = int(os.environ.get("WITHSTANDS_MASKS") or 20_000)
    source, out = _many_masks(folder, total), folder / "out"
    verdicts = out / "verdicts.jsonl"
    command = ["audit", str(source), "--out", str(out), "--judge", JUDGE]
    process = start(command)
    until(process, verdicts, total // 20)
    last_s, rates, sizes = _cpu_s(process.pid), [], []
    for part in range(1, 10):
        until(process, verdicts, total // 20 + part * total // 10)
        now_s = _cpu_s(process.pid)
        rates.append(1000 * (now_s - last_s) / (total // 10))
        sizes.append(_resident_mb(process.pid))
        last_s = now_s
        print(f"  {count(verdicts):,}: {rates[-1]:.1f} CPU ms a mask, parent {sizes[-1]:.0f} MB", flush=True)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before, begun = count(verdicts), time.perf_counter()
    process = start(command)
    resumed_s = until(process, verdicts, before + 1) - begun
    resumed_cpu_s = _cpu_s(process.pid)
    until(process, verdicts, total)
    begun = time.perf_counter()
    _, said = process.communicate()
    end_s = time.perf_counter() - begun
    assert process.returncode == 0, f"exit {process.returncode} after {rates}, {sizes}, {resumed_s}: {said[-2000:]}"
    assert len(results(verdicts)) == total, "a mask is missing or stands twice"
    begun = time.perf_counter()
    whole(command)
    again_s = time.perf_counter() - begun
    return (
        f"{total:,} masks: {rates[0]:.1f} CPU ms a mask in the first tenth, {rates[-1]:.1f} in the last "
        f"(by tenths {' '.join(f'{rate:.1f}' for rate in rates)}); parent {sizes[0]:.0f} MB, at the end "
        f"{sizes[-1]:.0f}; killed at {before:,}: first new verdict after {resumed_s:.1f} s ({resumed_cpu_s:.1f} CPU "
        f"s); from the last verdict to the end {end_s:.0f} s; the finished command again {again_s:.1f} s"
    )


def _many_masks(folder: Path, total: int) -> Path:
    """Frames with two masks each, copies of a few by hard links."""
    make_input(folder / "few", frames=FRAMES)
    source = folder / "many"
    for number in range(total // 2):
        frame, name = f"{number % FRAMES:03d}", f"{number:05d}"
        (source / "frames").mkdir(parents=True, exist_ok=True)
        (source / "masks" / name).mkdir(parents=True)
        (source / "frames" / f"{name}.jpg").hardlink_to(folder / "few" / "frames" / f"{frame}.jpg")
        for side in range(2):
            few = folder / "few" / "masks" / frame / f"{side}.png"
            (source / "masks" / name / f"{side}.png").hardlink_to(few)
    return source


def _cpu_s(session: int) -> float:
    """Processor seconds of a command and its workers so far; unlike wall time it is the same on a busy machine."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            cells = path.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended since
            continue
        if int(cells[3]) == session:
            ticks += int(cells[11]) + int(cells[12])
            ticks += int(cells[13]) + int(cells[14]) if path.parent.name == str(session) else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident_mb(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _small(folder: Path) -> tuple[list[str], list[str]]:
    """A command over 50 masks, and its results where nothing happens to it."""
    make_input(folder / "input", frames=FRAMES)
    command = ["audit", str(folder / "input"), *SMALL, "--out"]
    whole([*command, str(folder / "reference")])
    return command, results(folder / "reference" / "verdicts.jsonl")


def two(folder: Path) -> str:
    """A second process on the same folder is refused at once, and the first is not disturbed."""
    command, expected = _small(folder)
    out = folder / "out"
    first = start([*command, str(out)])
    until(first, out / "verdicts.jsonl", 1)
    os.killpg(first.pid, signal.SIGSTOP)  # so that it is still there when the second comes
    begun = time.perf_counter()
    said = whole([*command, str(out)], code=2)
    refused_s = time.perf_counter() - begun
    os.killpg(first.pid, signal.SIGCONT)
    first.communicate(timeout=_PATIENCE_S)
    assert first.returncode == 0, first.returncode
    assert "in use by process" in said, said
    assert results(out / "verdicts.jsonl") == expected, "other verdicts"
    return f"the second ends after {refused_s:.1f} s with exit 2 and the number of the first, whose results are equal"


def moved(folder: Path) -> str:
    """The folder is moved away while a run writes to it, or removed and made anew; then the command is repeated."""
    command, expected = _small(folder)
    ends = []
    for how in ("moved", "removed", "recreated"):
        out = folder / how
        process = start([*command, str(out)])
        until(process, out / "verdicts.jsonl", 10)
        if how == "moved":
            out.rename(folder / "elsewhere")
        else:
            shutil.rmtree(out, ignore_errors=True)
        if how == "recreated":
            out.mkdir()
        _, said = process.communicate(timeout=_PATIENCE_S)
        assert "Traceback" not in said, f"{how}: {said}"
        assert process.returncode == 2, f"{how}: exit {process.returncode}: {said}"
        whole([*command, str(out), "--overwrite"])
        assert results(out / "verdicts.jsonl") == expected, f"{how}: other verdicts"
        ends.append(f"{how}: {said.strip().splitlines()[0][-120:]}")
    assert set(results(folder / "elsewhere" / "verdicts.jsonl")) <= set(expected), "damaged rows"
    whole([*command, str(folder / "elsewhere")])
    assert results(folder / "elsewhere" / "verdicts.jsonl") == expected, "elsewhere: other verdicts"
    return (
        "moved, removed, removed and made anew: exit 2, which says so; the command repeated gives equal rows, and so "
        "it does where the folder was moved to"
    )


_JUMPING = """
import random, time
real = time.time
time.time = lambda: real() + random.choice((-1e6, -3600.0, 0.0, 3600.0, 1e6))
time.time_ns = lambda: int(time.time() * 1e9)
"""


def clock(folder: Path) -> str:
    """The wall clock jumps by an hour or eleven days at every look, in the command and in its workers."""
    command, expected = _small(folder)
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(_JUMPING, "utf-8")
    paths = os.pathsep.join(filter(None, (str(folder / "site"), os.environ.get("PYTHONPATH"))))
    whole([*command, str(folder / "out")], env={**os.environ, "PYTHONPATH": paths})
    assert results(folder / "out" / "verdicts.jsonl") == expected, "other verdicts"
    return "the wall clock jumps by up to 11 days at every look: equal rows"


def readonly(folder: Path) -> str:
    """The output folder, or the one it would be made in, may not be written to; nor does INPUT need to be."""
    command, expected = _small(folder)
    who: dict[str, Any] = {"preexec_fn": _obey_rights} if os.geteuid() == 0 else {}
    closed = folder / "closed"
    closed.mkdir(mode=0o555)
    for out in (closed, closed / "below"):
        begun = time.perf_counter()
        said = whole([*command, str(out)], code=2, **who)
        took_s = time.perf_counter() - begun
        assert "Permission denied" in said, said
    for path in (folder / "input").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    whole([*command, str(folder / "opened")], **who)
    assert results(folder / "opened" / "verdicts.jsonl") == expected, "other verdicts"
    return f"exit 2 after {took_s:.1f} s, which names the folder and the reason; an INPUT that is read-only is audited"


def _obey_rights() -> None:
    """Root gives up what lets it write into folders that are read-only, before it becomes another program."""
    for capability in _OVERRIDES:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def sdist(folder: Path) -> str:
    """A source distribution is built, installed into a new environment, and audits; its packages are this one's."""
    root, copy = Path(__file__).parents[1], folder / "copy"  # building leaves files beside the sources
    shutil.copytree(root / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(root / name, copy / name)
    build = f"from setuptools import build_meta; print(build_meta.build_sdist({str(folder)!r}))"
    subprocess.run([sys.executable, "-c", build], cwd=copy, check=True, capture_output=True)
    archive = next(folder.glob("*.tar.gz"))
    size_mb = archive.stat().st_size / 1e6
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    packages = subprocess.check_output(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", packages]
    subprocess.run([*pip, str(archive)], check=True, capture_output=True)
    (Path(packages) / "theirs.pth").write_text("\n".join(name for name in sys.path if "site-packages" in name), "utf-8")
    make_input(folder / "input", frames=2)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-m", "auscult", "audit", str(folder / "input"), "--out", str(folder / "out")]
    subprocess.run(command, check=True, capture_output=True, env=environment, cwd=folder)
    where = subprocess.check_output(
        [str(python), "-c", "import auscult; print(auscult.__file__)"], text=True, env=environment, cwd=folder
    )
    assert where.startswith(packages), where
    assert len(results(folder / "out" / "verdicts.jsonl")) == 4, "other verdicts"
    return f"an archive of {size_mb:.0f} MB is built, installs, and audits with the default judge"


CHECKS: Mapping[str, Callable[[Path], str]] = {
    "kills": kills,
    "many": many,
    "two": two,
    "moved": moved,
    "clock": clock,
    "readonly": readonly,
    "sdist": sdist,
}

if __name__ == "__main__":
    main(sys.argv[1:])
