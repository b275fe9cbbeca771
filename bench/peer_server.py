"""What other packages do, in an environment of their own: started by `bench.peers`, one JSON object a line in and out.

Run by the interpreter of `.venvs/perturb`, which has imagecorruptions and audiomentations and no auscult. A line asks
for one perturbation of one file: ``{"room": "vision", "name": "fog", "severity": 3, "input": "x.npy", "output":
"y.npy", "seed": 1, "repeats": 5}``; the answer holds the milliseconds of each repeat, or the error.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402


def corrupter() -> Any:
    """imagecorruptions, made to run beside today's NumPy and scikit-image: two names that these no longer have."""
    import cv2
    from skimage import filters

    cv2.setNumThreads(1)
    if not hasattr(np, "float_"):
        setattr(np, "float_", np.float64)  # noqa: B010 - by its name ruff would put the new one there
    plain: Any = filters.gaussian

    def gaussian(image: Any, *positional: Any, multichannel: bool | None = None, **named: Any) -> Any:
        if multichannel is not None:
            named["channel_axis"] = -1 if multichannel else None
        return plain(image, *positional, **named)

    filters.gaussian = gaussian
    from imagecorruptions import corrupt

    return lambda image, request: corrupt(image, corruption_name=request["name"], severity=int(request["severity"]))


LEVELS: dict[str, tuple[Any, ...]] = {
    "gain": (3, 6, 9, 12, 15),
    "gaussian_noise": ((1e-4, 25e-4), (25e-4, 5e-3), (5e-3, 1e-2), (1e-2, 15e-3), (15e-3, 2e-2)),
    "low_pass": ((8000, 16000), (4000, 8000), (2000, 4000), (1000, 2000), (500, 1000)),
    "high_pass": ((100, 200), (200, 400), (400, 800), (800, 1600), (1600, 3200)),
    "tanh_distortion": ((0.01, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.7)),
    "time_mask": ((0.05, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 0.4), (0.4, 0.5)),
    "peaking_filter": (
        (200, 1500, 12, 1, 2), (500, 2500, 18, 1.5, 2.5), (1000, 3500, 24, 2, 3), (1500, 5500, 30, 2.5, 3.5),
        (2000, 7500, 36, 3, 4),
    ),
    "air_absorption": ((30, 50, 10, 30), (50, 60, 30, 50), (60, 70, 50, 70), (70, 80, 70, 90), (80, 90, 90, 100)),
    "mp3_compression": ((128, 192), (96, 128), (64, 96), (32, 64), (8, 32)),
    "background_noise": ((25, 30), (20, 25), (15, 20), (10, 15), (5, 10)),
    "impulse_response": (None,) * 5,
    "room_reverberation": (
        (3.6, 4, 0.4, 0.6), (4, 4.5, 0.3, 0.5), (4.5, 5, 0.2, 0.4), (5, 5.5, 0.1, 0.3), (5.5, 5.6, 0.075, 0.2),
    ),
}  # fmt: skip
"""The constants that the R2-Bench toolbox gives each level."""


def makers(am: Any, noise: str | None) -> dict[str, Callable[[Any], Any]]:
    """Each transform of audiomentations, from the constants of a level; what is drawn is drawn by it."""
    return {
        "gain": lambda at: am.Gain(-at, at, p=1.0),
        "gaussian_noise": lambda at: am.AddGaussianNoise(*at, p=1.0),
        "low_pass": lambda at: am.LowPassFilter(*at, p=1.0),
        "high_pass": lambda at: am.HighPassFilter(*at, p=1.0),
        "tanh_distortion": lambda at: am.TanhDistortion(*at, p=1.0),
        "time_mask": lambda at: am.TimeMask(min_band_part=at[0], max_band_part=at[1], p=1.0),
        "peaking_filter": lambda at: am.PeakingFilter(
            min_center_freq=at[0], max_center_freq=at[1], min_gain_db=-at[2], max_gain_db=at[2], min_q=at[3],
            max_q=at[4], p=1.0,
        ),
        "air_absorption": lambda at: am.AirAbsorption(
            min_humidity=at[0], max_humidity=at[1], min_distance=at[2], max_distance=at[3], p=1.0
        ),
        "mp3_compression": lambda at: am.Mp3Compression(min_bitrate=at[0], max_bitrate=at[1], p=1.0),
        "background_noise": lambda at: am.AddBackgroundNoise(noise, min_snr_db=at[0], max_snr_db=at[1], p=1.0),
        "impulse_response": lambda _: am.ApplyImpulseResponse(noise, leave_length_unchanged=True, p=1.0),
        "room_reverberation": lambda at: am.RoomSimulator(
            min_size_x=at[0], max_size_x=at[1], min_size_y=3.6, max_size_y=4.1, min_size_z=2.4, max_size_z=3.0,
            min_absorption_value=at[2], max_absorption_value=at[3], use_ray_tracing=False,
            leave_length_unchanged=True, p=1.0,
        ),
    }  # fmt: skip


def sounder() -> Any:
    """audiomentations, every transform kept once it is made: its first use may compile for seconds.

    A request may name a ``transform`` and its ``arguments`` itself, in place of the constants of a level.
    """
    import audiomentations
    import pyroomacoustics  # noqa: F401 - before the first draw, so that its rays can be seeded

    kept: dict[Any, Any] = {}

    def run(sound: Any, request: dict[str, Any]) -> Any:
        if "transform" in request:
            named = getattr(audiomentations, request["transform"])(p=1.0, **request["arguments"])
            return named(sound, sample_rate=int(request["rate_hz"]))
        name, level = request["name"], int(request["severity"])
        key = (name, level, request.get("noise"))
        if key not in kept:
            kept[key] = makers(audiomentations, request.get("noise"))[name](LEVELS[name][level - 1])
        return kept[key](sound, sample_rate=int(request["rate_hz"]))

    return run


def main() -> None:
    """Answer until the input ends."""
    rooms: dict[str, Any] = {}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a package prints is no answer
    for line in sys.stdin:
        request = json.loads(line)
        try:
            room = request["room"]
            if room not in rooms:
                rooms[room] = corrupter() if room == "vision" else sounder()
            given = np.load(request["input"], allow_pickle=False)
            spent = []
            for repeat in range(int(request.get("repeats", 1))):
                seed = int(request.get("seed", 0)) + repeat
                np.random.seed(seed)  # noqa: NPY002 - the one they draw from
                random.seed(seed)
                if "pyroomacoustics" in sys.modules:  # rays have a generator of their own
                    sys.modules["pyroomacoustics"].random.seed(seed)
                begun = time.process_time()
                made = rooms[room](given, request)
                spent.append(1000 * (time.process_time() - begun))
            if request.get("output"):
                np.save(request["output"], np.asarray(made))
            told: dict[str, Any] = {"ms": spent}
        except Exception as error:  # noqa: BLE001 - whatever fails there is told here
            told = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
