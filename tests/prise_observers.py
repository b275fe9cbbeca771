"""Ideal observers of `make prise`: the answer to each type of question, from decoded pixels and samples alone.

They prove that the stimuli are well posed. ``python tests/prise_observers.py FOLDER`` prints how often each is right.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.cases.avibench import CONFIRMATION, AviEntry, task_folder
from auscult.media.frames import read_frame
from auscult.media.sound import read_sound
from auscult.media.video import read_frames
from auscult.scenes.primitives.base import FPS, NOT_SURE, RATE_HZ
from auscult.scenes.primitives.pictures import ORDINALS, PLACES

FOLDERS = ("ASQA", "VSQA_I", "VSQA_V", "AVSQA")
STEP = RATE_HZ // 50
SILENT = 1e-4
Array = NDArray[Any]


# --- sounds ---


def spans(sound: Array, *, pause_s: float) -> list[tuple[int, int]]:
    """First and last sample of everything that is heard between pauses of a length at least."""
    frames = sound[: len(sound) // STEP * STEP].reshape(-1, STEP)
    loud = np.flatnonzero(np.sqrt((frames**2).mean(axis=1)) > SILENT)
    if not len(loud):
        return []
    breaks = np.flatnonzero(np.diff(loud) > pause_s * RATE_HZ / STEP)
    starts, ends = [loud[0], *loud[breaks + 1]], [*loud[breaks], loud[-1]]
    return [(int(start) * STEP, (int(end) + 1) * STEP) for start, end in zip(starts, ends, strict=True)]


def parts(sound: Array) -> list[Array]:
    return [sound[start:end] for start, end in spans(sound, pause_s=0.25)]


def floor_db(part: Array) -> float:
    """How much of the power lies between the partials of a tone."""
    power = np.abs(np.fft.rfft(part * np.hanning(len(part)))) ** 2
    return float(10 * np.log10(np.median(power[: len(power) // 2]) / power.sum()))


def comparison(difference: float, threshold: float) -> str:
    return "the same" if abs(difference) < threshold else "first" if difference > 0 else "second"


def clarity(sound: Array) -> str:
    pair = parts(sound)
    return comparison(floor_db(pair[1]) - floor_db(pair[0]), 10) if pair else NOT_SURE


def volume(sound: Array) -> str:
    levels = [20 * np.log10(np.sqrt((part**2).mean())) for part in parts(sound)]
    return comparison(float(levels[0] - levels[1]), 4) if levels else NOT_SURE


def order(sound: Array) -> str:
    pair = [floor_db(part) for part in parts(sound)]
    return NOT_SURE if not pair else "tone" if pair[0] < pair[1] else "noise"


def presence(sound: Array) -> str:
    if not parts(sound):
        return NOT_SURE
    frames = sound[: len(sound) // 4096 * 4096].reshape(-1, 4096) * np.hanning(4096)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    return "yes" if float((power.max(axis=1) / power.sum(axis=1)).max()) > 0.12 else "no"


def beats(sound: Array) -> str:
    return str(len(spans(sound, pause_s=0.06)))


# --- pictures ---


def figure(frame: Array) -> Array:
    """What differs from the ground, which is the colour of the picture's corner."""
    differs = cv2.absdiff(frame, np.full_like(frame, frame[2, 2])) > 28
    return np.asarray(differs[..., 0] | differs[..., 1] | differs[..., 2])


def blobs(mask: Array, *, least_size: int = 25) -> list[Array]:
    """Masks of connected parts, from left to right."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    numbers = [number for number in range(1, count) if stats[number, cv2.CC_STAT_AREA] >= least_size]
    numbers.sort(key=lambda number: float(np.nonzero(labels == number)[1].mean()))
    return [labels == number for number in numbers]


def middle(mask: Array) -> Array:
    return np.array([axis.mean() for axis in np.nonzero(mask)][::-1])


def contour(mask: Array) -> Array:
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return max(contours, key=cv2.contourArea)


def roundness(mask: Array) -> float:
    line = contour(mask)
    return float(4 * np.pi * cv2.contourArea(line) / cv2.arcLength(line, closed=True) ** 2)


def flat_shape(mask: Array) -> str:
    """Which of the five shapes it is: by how much of its hull, of a circle and of a rectangle it fills."""
    line = contour(mask)
    size = cv2.contourArea(line)
    hull = size / cv2.contourArea(cv2.convexHull(line))
    if hull < 0.88:
        return "star" if hull < 0.62 else "cross"
    (_, _), radius = cv2.minEnclosingCircle(line)
    if size / (np.pi * radius**2) > 0.85:
        return "circle"
    sides = cv2.minAreaRect(line)[1]
    return "square" if size / (sides[0] * sides[1]) > 0.8 else "triangle"


def background(frame: Array) -> str:
    if frame.std(axis=(0, 1)).max() < 1:
        return NOT_SURE
    edge = np.concatenate([frame[:8].reshape(-1, 3), frame[-8:].reshape(-1, 3), frame[:, :8].reshape(-1, 3)])
    return "yes" if edge.std(axis=0).max() < 2 else "no"


def foreground(frame: Array) -> str:
    mask = figure(frame)
    if not mask.any():
        return NOT_SURE
    return "yes" if mask.sum() / cv2.contourArea(contour(mask)) > 0.85 else "no"


def sharpness(frame: Array) -> str:
    if not figure(frame).any():
        return NOT_SURE
    steps = np.abs(np.diff(frame.astype(np.int16), axis=1)).max(axis=(0, 2))
    ratio = np.log(steps[:126].max() / steps[129:].max())
    return "the same" if abs(ratio) < 0.4 else "left" if ratio > 0 else "right"


def position_3d(frame: Array) -> str:
    """Balls have a colour, the floor has none."""
    coloured = np.ptp(frame.astype(np.int16), axis=2) > 6
    areas = [int(blob.sum()) for blob in sorted(blobs(coloured), key=lambda blob: -int(blob.sum()))[:2]]
    if len(areas) < 2:
        return NOT_SURE
    left_area, right = int(coloured[:, :128].sum()), int(coloured[:, 128:].sum())
    return (
        "equally near"
        if max(left_area, right) < 1.4 * min(left_area, right)
        else "left"
        if left_area > right
        else "right"
    )


def shape_3d(frame: Array) -> str:
    """Solids with flat faces have two or three colours, round ones are shaded."""
    mask = figure(frame)
    if not mask.any():
        return NOT_SURE
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    _, counts = np.unique(frame[inner], axis=0, return_counts=True)
    large = counts[counts > 0.06 * inner.sum()]
    if large.sum() > 0.8 * inner.sum():
        return "cube" if len(large) > 2 else "pyramid"
    if roundness(mask) > 0.87 and np.ptp([np.ptp(axis) for axis in np.nonzero(mask)]) < 6:
        return "ball"
    widths = mask.sum(axis=1)[mask.any(axis=1)]
    return "cylinder" if widths[len(widths) // 12] > 0.5 * widths.max() else "cone"


def placement(frame: Array) -> str:
    column, row = (middle(figure(frame)) // (256 / 3)).astype(int).tolist()
    return PLACES[3 * row + column]


def hue_of(frame: Array) -> str:
    pixels = np.median(frame[figure(frame)], axis=0).astype(np.uint8)
    hue = 2 * int(cv2.cvtColor(pixels[None, None], cv2.COLOR_RGB2HSV)[0, 0, 0])
    edges = ((12, "red"), (42, "orange"), (72, "yellow"), (180, "green"), (255, "blue"), (315, "purple"), (361, "red"))
    return next(word for edge, word in edges if hue < edge)


def colour(frame: Array) -> str:
    return hue_of(frame) if figure(frame).any() else NOT_SURE


def line_direction(frame: Array) -> str:
    y, x = np.nonzero(figure(frame))
    _, vectors = np.linalg.eigh(np.cov(x, -y))
    turn = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))) % 180
    return ("horizontal", "rising", "vertical", "falling")[round(turn / 45) % 4]


def area(frame: Array) -> str:
    return ORDINALS[int(np.argmax([blob.sum() for blob in blobs(figure(frame))]))]


def brightness(frame: Array) -> str:
    return ORDINALS[int(np.argmax([frame[blob].max(axis=1).mean() for blob in blobs(figure(frame))]))]


def counting(frame: Array) -> str:
    return str(len(blobs(figure(frame))))


# --- videos ---


def path(video: Array) -> Array | None:
    """Where the figure is in each frame, (T, 2) as x and y."""
    masks = [figure(frame) for frame in video]
    return np.array([middle(mask) for mask in masks]) if masks[0].any() else None


def motion_2d(video: Array) -> str:
    track = path(video)
    if track is None:
        return NOT_SURE
    x, y = track[-1] - track[0]
    if abs(x) + abs(y) < 20:
        return "stands still"
    return ("right" if x > 0 else "left") if abs(x) > abs(y) else ("down" if y > 0 else "up")


def diagonal(video: Array) -> str:
    track = path(video)
    if track is None:
        return NOT_SURE
    if np.ptp(track, axis=0).max() < 10:
        return "stands still"
    x, y = track[-1] - track[0]
    return "to and fro" if abs(x) < 30 else f"{'down' if y > 0 else 'up'} {'right' if x > 0 else 'left'}"


def motion_3d(video: Array) -> str:
    masks = [figure(frame) for frame in video]
    first, last = int(masks[0].sum()), int(masks[-1].sum())
    if not first:
        return NOT_SURE
    if max(first, last) > 2 * min(first, last):
        return "comes nearer" if last > first else "goes away"
    if max(np.abs(frame.astype(int) - video[0])[masks[0]].mean() for frame in video) < 4:
        return "stands still"
    # the upper face is the brightest one all the time where the cube spins, and always of the same brightness
    tops = [np.percentile(frame[mask].max(axis=1), 88) for frame, mask in zip(video, masks, strict=True)]
    heights = [
        middle(mask & (frame.max(axis=2) > top - 12))[1] - middle(mask)[1]
        for frame, mask, top in zip(video, masks, tops, strict=True)
    ]
    return "spins like a top" if max(heights) < -8 and np.ptp(tops) < 8 else "rolls like a wheel"


def surface(video: Array) -> str:
    frame = video[len(video) // 2]
    mask = figure(frame)
    if not mask.any():
        return NOT_SURE
    x, y = np.mean(cv2.convexHull(contour(mask))[:, 0], axis=0).astype(int).tolist()
    part = frame[max(y - 52, 0) : y + 52, max(x - 52, 0) : x + 52].min(axis=2)
    share = float((part > 190).mean())
    if share < 0.1:
        return "plain"
    if share < 0.36:
        return "dotted"
    smooth = cv2.GaussianBlur(part, (0, 0), 2).astype(np.float64)
    down, right = np.gradient(smooth)
    even = np.hypot((right**2 - down**2).sum(), 2 * (right * down).sum()) / (right**2 + down**2).sum()
    return "striped" if even > 0.6 else "chequered"


def moving_shape(video: Array) -> str:
    mask = figure(video[len(video) // 2])
    return flat_shape(mask) if mask.any() else NOT_SURE


def moving_count(video: Array) -> str:
    return str(int(np.median([len(blobs(figure(frame))) for frame in video])))


# --- videos with sound ---


def seen_when_heard(video: Array, sound: Array) -> list[Array]:
    """The frame in the middle of each sound."""
    return [video[int((start + end) / 2 / RATE_HZ * FPS)] for start, end in spans(sound, pause_s=0.1)]


def heard_object(video: Array, sound: Array) -> str:
    frames = seen_when_heard(video, sound)
    return flat_shape(figure(frames[0])) if frames else NOT_SURE


def heard_colours(video: Array, sound: Array) -> str:
    hues = {hue_of(frame) for frame in seen_when_heard(video, sound)}
    return ";".join(hue for hue in ("red", "green", "blue") if hue in hues) or NOT_SURE


def coincidence(video: Array, sound: Array) -> str:
    has_figure = [bool(figure(frame).any()) for frame in seen_when_heard(video, sound)]
    return NOT_SURE if not has_figure else "yes" if all(has_figure) else "no"


BOTH: dict[str, Callable[[Array, Array], str]] = {
    "heard_object": heard_object, "heard_colours": heard_colours, "together": coincidence,
}  # fmt: skip
PICTURES: dict[str, Callable[[Array], str]] = {
    "background": background, "foreground": foreground, "sharpness": sharpness, "position_3d": position_3d,
    "shape_3d": shape_3d, "placement": placement, "colour": colour, "line_direction": line_direction,
    "area": area, "brightness": brightness, "counting": counting,
}  # fmt: skip
VIDEOS: dict[str, Callable[[Array], str]] = {
    "motion_2d": motion_2d, "motion_3d": motion_3d, "surface": surface, "diagonal": diagonal,
    "moving_shape": moving_shape, "moving_count": moving_count,
}  # fmt: skip
SOUNDS: dict[str, Callable[[Array], str]] = {
    "clarity": clarity, "volume": volume, "order": order, "presence": presence, "beats": beats,
}  # fmt: skip


def answer_of(folder: Path, entry: AviEntry) -> str:
    """The observer's answer to a question of a folder that `make prise` wrote."""
    root = folder / task_folder(entry.folder)
    asks_whether = entry.id.startswith(CONFIRMATION)
    frames = [] if entry.video is None else read_frames(root / entry.video)
    video = (
        None
        if entry.video is None
        else np.stack([frame.frame for frame in islice(frames, 1 if asks_whether else None)])
    )
    sound = read_sound(root / entry.sounds[0]).samples[0] if entry.sounds else None
    picture = read_frame(root / entry.images[0]) if entry.images else None
    if asks_whether:
        there = spans(sound, pause_s=0.1) if sound is not None else figure(video[0] if video is not None else picture)
        return "yes" if np.any(there) else "no"
    if video is not None:
        return VIDEOS[entry.subtask](video) if sound is None else BOTH[entry.subtask](video, sound)
    return SOUNDS[entry.subtask](sound) if sound is not None else PICTURES[entry.subtask](picture)


def read_data(path: Path) -> list[AviEntry]:
    """The questions of a ``data.json`` as ``make prise`` writes them."""
    return [_entry(row) for row in json.loads(path.read_bytes())]


def _entry(row: dict[str, Any]) -> AviEntry:
    input_row, output_row = row["input"], row["output"]
    return AviEntry(
        id=row["id"],
        folder=row["task"],
        subtask=row["subtask"],
        prompt=input_row["question"]["prompt"],
        text=input_row["question"]["text"],
        options=tuple(input_row["question"]["options"] or ()),
        answer=output_row["question_answer"],
        images=tuple(name.removeprefix("./") for name in input_row["image_list"] or ()),
        sounds=tuple(name.removeprefix("./") for name in input_row["audio_list"] or ()),
        video=None if input_row["video"] is None else input_row["video"].removeprefix("./"),
        confirmation=None
        if input_row["pre_question"] is None
        else (input_row["pre_question"], output_row["pre_answer"]),
    )


def answers(folder: Path) -> Iterator[tuple[AviEntry, str]]:
    """Every question and confirmation with the observer's answer."""
    for name in FOLDERS:
        for entry in read_data(folder / task_folder(name) / "data.json"):
            yield entry, answer_of(folder, entry)


def main(folder: Path) -> None:
    right: dict[str, list[bool]] = {}
    for entry, answer in answers(folder):
        kind = "confirmations" if entry.id.startswith(CONFIRMATION) else entry.subtask
        right.setdefault(kind, []).append(answer == entry.answer)
        if answer != entry.answer:
            print(f"{entry.id}: {answer!r}, truth {entry.answer!r}")
    for kind, is_right in right.items():
        print(f"{kind:16} {sum(is_right):5} of {len(is_right):5}  {100 * np.mean(is_right):.1f} %")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
