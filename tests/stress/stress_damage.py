"""Measure how much each perturbation damages real photographs, sounds, sentences: the tables of docs/stress-damage.md.

    AUSCULT_DATA=DIR PYTHONPATH=tools python tests/stress/stress_damage.py            every room, onto the page
    AUSCULT_DATA=DIR PYTHONPATH=tools python tests/stress/stress_damage.py vision     one room
    AUSCULT_DATA=DIR PYTHONPATH=tools python tests/stress/stress_damage.py --check    exit 1 if the page is stale

Medians over the same items, with the same draws at every level. The page holds numbers only, nothing of the data.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
from marked_sections import placed
from numpy.typing import NDArray

from auscult import registry
from auscult.media.sound import read_sound
from auscult.stress import sentences, sound, timing, vision
from auscult.stress.sentences.rewriting import edit_distance

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "stress-damage.md"
LEVELS: Final = (1, 2, 3, 4, 5)
COUNT: Final = 48
PIECE: Final = (240, 320)
SECONDS: Final = 2
FRAMES: Final = 150
RATE_FPS: Final = 25
RATE_HZ: Final = 8_000

Picture: TypeAlias = NDArray[np.uint8]
Sound: TypeAlias = tuple[NDArray[np.float32], int]
Medians: TypeAlias = dict[str, list[float]]

LESS_IS_WORSE: Final = frozenset({"PSNR", "SSIM", "SNR"})
UNITS: Final[Mapping[str, str]] = MappingProxyType({
    "PSNR": "dB", "SNR": "dB", "log-spectral distance": "dB", "edit distance": "characters",
    "sound and picture apart": "s", "frames out of place": "share",
})  # fmt: skip

_FEWER_ROUNDS: Final = "ImageNet-C scatters in 2, 1, 3, 2 and 2 rounds: levels 2 and 4 scatter further, but less often"
_SHEARED: Final = "ImageNet-C shears the whole picture at levels 1 and 2, and only crumples it from 3 on"
_FLAKES: Final = "ImageNet-C's level 2 has many small flakes, its level 3 fewer, larger and brighter ones"
_DARKER: Final = "level 4 has the frost of level 3 on a darker picture, so that both together are less bright"
_COARSER: Final = "ImageNet-C enlarges further at the higher levels, but in wider steps, of fewer and clearer copies"
EXCEPTIONS: Final[Mapping[tuple[str, str], str]] = MappingProxyType({
    ("vision.elastic_transform.v1", "PSNR"): _SHEARED,
    ("vision.elastic_transform.v1", "SSIM"): _SHEARED,
    ("vision.frost.v1", "PSNR"): _DARKER,
    ("vision.frost_r2bench.v1", "PSNR"): _DARKER,
    ("vision.glass_blur.v1", "PSNR"): _FEWER_ROUNDS,
    ("vision.glass_blur.v1", "SSIM"): _FEWER_ROUNDS,
    ("vision.saturate.v1", "PSNR"): "levels 1 and 2 take colour away, levels 3 to 5 add it",
    ("vision.snow.v1", "PSNR"): _FLAKES,
    ("vision.snow.v1", "SSIM"): _FLAKES,
    ("vision.snow_r2bench.v1", "PSNR"): _FLAKES,
    ("vision.snow_r2bench.v1", "SSIM"): _FLAKES,
    ("vision.spatter.v1", "SSIM"): "level 3 is water, whose shine changes what lies under it; level 4 is smooth mud",
    ("vision.zoom_blur.v1", "SSIM"): _COARSER,
    ("sound.peaking_filter.v1", "SNR"): "the band moves up with the level, to where sounds have less of their energy",
})  # fmt: skip
"""What does not grow worse with each level by a metric, with the reason; all else does."""


def main(arguments: Sequence[str]) -> int:
    """Measure and write; 0 when the page is as measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=", ".join(READERS))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    data = os.environ.get("AUSCULT_DATA")
    if data is None:
        raise SystemExit("name the folder of real material: AUSCULT_DATA=DIR")
    before = PAGE.read_text(encoding="utf-8")
    text = before
    for room in options.rooms or READERS:
        text = placed(text, room, section(room, material(room, Path(data))))
    if options.check:
        print("the page is as measured" if text == before else "the page differs from what was measured")
        return 0 if text == before else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


def material(room: str, data: Path) -> list[Any]:
    """Real items of a room, evenly chosen by name, the same every time.

    Raises:
        SystemExit: There are fewer than 40.
    """
    items = READERS[room](data)
    if len(items) < 40:
        raise SystemExit(f"{data} holds {len(items)} items for {room}; 40 are needed")
    return items


def names(room: str) -> list[str]:
    """All registered perturbations of a room."""
    return [entry.name for entry in registry.entries("stressor") if entry.name.startswith(f"{room}.")]


def medians(name: str, items: Sequence[Any]) -> Medians:
    """The median of each metric of the room, level by level."""
    measure = MEASURES[name.split(".", 1)[0]]
    # level by level within an item: what is computed of the clean one is then at hand
    measured_items = [
        [measure(name, item, level=level, seed=seed) for level in LEVELS] for seed, item in enumerate(items)
    ]
    return {
        metric: [
            median(measured[level_index][metric] for measured in measured_items) for level_index in range(len(LEVELS))
        ]
        for metric in measured_items[0][0]
    }


def grows_worse(metric: str, values: Sequence[float]) -> bool:
    """Whether no level is milder than the one below it, and the last is worse than the first."""
    damage = [-value for value in values] if metric in LESS_IS_WORSE else list(values)
    return all(after >= before for before, after in pairwise(damage)) and damage[-1] > damage[0]


def section(room: str, items: Sequence[Any]) -> str:
    """The tables of a room in Markdown, one a metric."""
    medians_by_name = {name: medians(name, items) for name in names(room)}
    metrics = list(dict.fromkeys(metric for of_metric in medians_by_name.values() for metric in of_metric))
    lines = [f"Medians over {len(items)} {ITEMS[room]}.\n"]
    for metric in metrics:
        unit = f", {UNITS[metric]}" if metric in UNITS else ""
        lines += [
            f"**{metric}{unit}: {'less' if metric in LESS_IS_WORSE else 'more'} is worse**\n",
            "| perturbation | 1 | 2 | 3 | 4 | 5 | grows worse with each level |",
            "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
            *(
                f"| {name} | {_cells(of_metric[metric])} | {_verdict_cell(name, metric, of_metric)} |"
                for name, of_metric in medians_by_name.items()
                if metric in of_metric
            ),
            "",
        ]
    return "\n".join(lines)


def _cells(values: Sequence[float]) -> str:
    digits = 3 if max(values) < 2 else 1
    return " | ".join(f"{value:.{digits}f}" for value in values)


def _verdict_cell(name: str, metric: str, medians_of: Medians) -> str:
    if grows_worse(metric, medians_of[metric]):
        return "yes"
    return f"no: {EXCEPTIONS.get((name, metric), 'not known why')}"


def photographs(data: Path) -> list[Picture]:
    """The middles of photographs of COCO."""
    paths = sorted((data / "images" / "coco").rglob("*.jpg"))
    images = [np.asarray(cv2.imread(str(path), cv2.IMREAD_COLOR_RGB), dtype=np.uint8) for path in paths]
    large = [image for image in images if image.shape[0] >= PIECE[0] and image.shape[1] >= PIECE[1]]
    return [_middle(image) for image in large[:COUNT]]


def _middle(image: Picture) -> Picture:
    top, left_px = (image.shape[0] - PIECE[0]) // 2, (image.shape[1] - PIECE[1]) // 2
    return np.ascontiguousarray(image[top : top + PIECE[0], left_px : left_px + PIECE[1]])


def clips(data: Path) -> list[Sound]:
    """The beginnings of sounds of animals, weather, machines, people and instruments; silent ones are left out."""
    folder = data / "audio"
    paths = [*sorted(folder.glob("esc10/*/*.ogg"))[::6], *sorted(folder.glob("berklee/*/*.mp3"))[::8][:12]]
    sounds: list[Sound] = []
    for path in paths:
        opened_sound = read_sound(path)
        mono = np.ascontiguousarray(opened_sound.samples[0, : SECONDS * opened_sound.rate_hz])
        if np.abs(mono).max() > 0.01 and len(mono) >= opened_sound.rate_hz // 2:
            sounds.append((mono, opened_sound.rate_hz))
    return sounds[:COUNT]


def expressions(data: Path) -> list[str]:
    """Referring expressions of Ref-AVS."""
    with (data / "referring" / "ref_avs_expressions.csv").open(encoding="utf-8", newline="") as file:
        told = sorted({line["exp"].strip() for line in csv.DictReader(file)})
    return told[:: max(1, len(told) // COUNT)][:COUNT]


def picture_damage(name: str, image: Picture, *, level: int, seed: int) -> dict[str, float]:
    """PSNR and SSIM of a perturbed photograph."""
    perturbed = vision.apply(name, image, severity=level, seed=seed)
    return {"PSNR": psnr_db(image, perturbed), "SSIM": ssim(image, perturbed)}


def sound_damage(name: str, clip: Sound, *, level: int, seed: int) -> dict[str, float]:
    """SNR and log-spectral distance of a perturbed sound."""
    clean, rate_hz = clip
    perturbed = sound.apply(name, clean, rate_hz=rate_hz, severity=level, seed=seed)
    return {"SNR": snr_db(clean, perturbed), "log-spectral distance": spectral_distance_db(clean, perturbed)}


def sentence_damage(name: str, sentence: str, *, level: int, seed: int) -> dict[str, float]:
    """Edit distance of a perturbed sentence."""
    return {"edit distance": float(edit_distance(sentence, sentences.apply(name, sentence, severity=level, seed=seed)))}


def timing_damage(name: str, frames: int, *, level: int, seed: int) -> dict[str, float]:
    """How far the sound is from its picture on average, or how many frames show another moment than they should."""
    clip, silence = np.zeros((frames, 1, 1, 3), np.uint8), np.zeros(frames * RATE_HZ // RATE_FPS, np.float32)
    truth = timing.perturb(
        name, clip, silence, rate_fps=RATE_FPS, rate_hz=RATE_HZ, severity=level, seed=seed
    ).truth  # fmt: skip
    if name.split(".")[1] in {"offset", "drift"}:
        return {"sound and picture apart": float(np.mean(np.abs(truth.offset_s)))}
    frames_shown = np.asarray(truth.frames if truth.frames is not None else range(frames))
    return {"frames out of place": float(np.mean(frames_shown != np.arange(frames)))}


def psnr_db(clean: Picture, perturbed: Picture) -> float:
    """Peak signal-to-noise ratio; 100 dB where nothing changed."""
    error = float(np.mean((clean.astype(np.float64) - perturbed) ** 2))
    return 10.0 * float(np.log10(255.0**2 / max(error, 255.0**2 / 1e10)))


def ssim(clean: Picture, perturbed: Picture) -> float:
    """Structural similarity, mean over pixels and channels (Wang et al. 2004, Eq. 13).

    Gaussian windows of 11 x 11 and a deviation of 1.5; only windows that lie in the picture count.
    """
    x, mean_x, spread_x = _moments(clean.tobytes(), clean.shape)
    y = perturbed.astype(np.float64)
    mean_y = _blurred(y)
    spread_y = _blurred(y * y) - mean_y**2
    common = _blurred(x * y) - mean_x * mean_y
    low, high = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    similarity = (2 * mean_x * mean_y + low) * (2 * common + high)
    similarity /= (mean_x**2 + mean_y**2 + low) * (spread_x + spread_y + high)
    return float(similarity[5:-5, 5:-5].mean())


def _blurred(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(cv2.GaussianBlur(picture, (11, 11), 1.5), dtype=np.float64)


@lru_cache(maxsize=1)
def _moments(data: bytes, shape: tuple[int, ...]) -> tuple[NDArray[np.float64], ...]:
    """A clean picture, its local means and its local variances."""
    x = np.frombuffer(data, np.uint8).reshape(shape).astype(np.float64)
    mean = _blurred(x)
    return x, mean, _blurred(x * x) - mean**2


def snr_db(clean: NDArray[np.float32], perturbed: NDArray[np.float32]) -> float:
    """Signal-to-noise ratio; 100 dB where nothing changed."""
    power = float(np.sum(np.square(clean, dtype=np.float64)))
    error = float(np.sum(np.square(perturbed - clean, dtype=np.float64)))
    return 10.0 * float(np.log10(power / max(error, power / 1e10)))


def spectral_distance_db(clean: NDArray[np.float32], perturbed: NDArray[np.float32]) -> float:
    """Root mean square of the difference of two log spectra over time and frequency; 70 dB below full scale is silence.

    Frames of 1024 samples, half of each in the next, under a Hann window.
    """
    logs = []
    for samples in (clean, perturbed):
        frames = np.lib.stride_tricks.sliding_window_view(samples, 1024)[::512] * np.hanning(1024)
        logs.append(10.0 * np.log10(np.abs(np.fft.rfft(frames)) ** 2 + 1e-7))
    return float(np.sqrt(np.mean((logs[0] - logs[1]) ** 2)))


ITEMS: Final[Mapping[str, str]] = MappingProxyType({
    "vision": f"photographs, the middle {PIECE[0]} x {PIECE[1]} of each",
    "sound": f"sounds, the first {SECONDS} s of each",
    "sentences": "referring expressions",
    "timing": f"draws for {FRAMES} frames at {RATE_FPS} frames a second; what they show does not matter",
})  # fmt: skip
READERS: Final[Mapping[str, Callable[[Path], list[Any]]]] = MappingProxyType({
    "vision": photographs, "sound": clips, "sentences": expressions, "timing": lambda _: [FRAMES] * COUNT,
})  # fmt: skip
MEASURES: Final[Mapping[str, Callable[..., dict[str, float]]]] = MappingProxyType(
    {"vision": picture_damage, "sound": sound_damage, "sentences": sentence_damage, "timing": timing_damage}
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
