"""Processor time of whole commands and of arrays, by two installs of auscult in turns; prints medians and their ratio.

    python studies/speed_before_after.py --before PYTHON --before-root CHECKOUT --after PYTHON --after-root CHECKOUT

PYTHON is the interpreter of an environment with that install, CHECKOUT its sources, of which `bench` is used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 5
COMMANDS = {
    "start-up, --help": ["--help"],
    "audit, 224 masks, masks.compact.v1": ["audit", "INPUT", "--judge", "masks.compact.v1", "--alone"],
    "audit, 224 masks, masks.cues.v1": ["audit", "INPUT", "--judge", "masks.cues.v1", "--alone"],
    "stress masks": ["stress", "masks", "INPUT", "--seed", "0"],
    "make scenes, 6": ["make", "scenes", "--count", "6", "--seed", "0"],
    "stress vision, 10 frames, 4 kinds": [
        "stress", "vision", "FEW", "--kind", "motion_blur,fog,gaussian_noise,jpeg_compression", "--severity", "3",
    ],
}  # fmt: skip
ARRAYS = """
import json, sys, time
import cv2, numpy as np
cv2.setNumThreads(1)
sys.path.insert(0, sys.argv[1])
from importlib.metadata import entry_points
from auscult.score.masks import j_and_f
from auscult.stress import masks, sound, vision
from auscult.types import MaskTarget
from bench.stress_masks import blob
def least(work):
    work()
    times = []
    for _ in range(3):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return 1000 * min(times)
objects = [(blob(i), tuple(blob(1000 + 4 * i + k) for k in range(4))) for i in range(12)]
clips = [[np.stack([blob(10 * i + k + late).astype(np.uint8) for k in range(4)]) for late in (0, 1)] for i in range(6)]
noise = np.random.default_rng(0)
frame = cv2.resize(noise.integers(0, 256, (60, 107, 3), np.uint8), (854, 480), interpolation=cv2.INTER_CUBIC)
samples = noise.normal(0, 0.1, 96_000).astype(np.float32)
variants = lambda i: list(masks.variants(MaskTarget(mask=objects[i][0], others=objects[i][1]), seed=i, key="b"))
found = {
    "mask defects, 12 objects": least(lambda: [variants(i) for i in range(12)]),
    "J&F, 24 frames": least(lambda: [j_and_f(*clip, protocol="davis2016") for clip in clips]),
}
for name in sorted(one.name for one in entry_points(group="auscult.stressors")):
    if name.startswith("vision."):
        found[name] = least(lambda: vision.apply(name, frame, severity=3, seed=1))
    elif name.startswith("sound."):
        found[name] = least(lambda: sound.apply(name, samples, rate_hz=16_000, severity=3, seed=1))
print(json.dumps(found))
"""


def main() -> None:
    options = _options()
    installs = {"before": (options.before, options.before_root), "after": (options.after, options.after_root)}
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        _make_input(root)
        times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for number in range(ROUNDS):
            for side in ("before", "after") if number % 2 else ("after", "before"):
                python, checkout = installs[side]
                for name, words in COMMANDS.items():
                    times[name][side].append(1000 * _command(python, checkout, words, root=root))
                for name, milliseconds in _arrays(python, checkout).items():
                    times[name][side].append(milliseconds)
    print("| | before, ms | after, ms | before / after |\n|---|---|---|---|")
    for name, sides in times.items():
        before, after = statistics.median(sides["before"]), statistics.median(sides["after"])
        print(f"| {name} | {before:.2f} | {after:.2f} | {before / after:.2f} |")


def _environment(checkout: Path) -> dict[str, str]:
    without = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return without | {"PYTHONPATH": str(checkout / "src")}


def _command(python: Path, checkout: Path, words: Sequence[str], *, root: Path) -> float:
    """Processor time of a command with all its processes, in seconds."""
    names = {"INPUT": str(root / "input"), "FEW": str(root / "few")}
    out = root / "out"
    shutil.rmtree(out, ignore_errors=True)
    more = [] if words == ["--help"] else ["--out", str(out), "--workers", "2", "--quiet"]
    command = [str(python), "-m", "auscult", *(names.get(word, word) for word in words), *more]
    process = subprocess.Popen(command, env=_environment(checkout), stdout=subprocess.DEVNULL, cwd=root)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise subprocess.CalledProcessError(status, command)
    return used.ru_utime + used.ru_stime


def _arrays(python: Path, checkout: Path) -> dict[str, float]:
    command = [str(python), "-c", ARRAYS, str(checkout)]
    done = subprocess.run(command, env=_environment(checkout), check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def _make_input(root: Path) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from bench.main_job import make_input

    make_input(root / "input", frames=112)
    (root / "few").mkdir()
    for path in sorted((root / "input" / "frames").iterdir())[:10]:
        shutil.copy(path, root / "few")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for side in ("before", "after"):
        parser.add_argument(f"--{side}", type=Path, required=True)
        parser.add_argument(f"--{side}-root", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
