"""Ideal observers of `make avi`: what is true of a sample, read back from its decoded pictures and samples.

An observer knows what may be there (sounds and looks of the sample's plan, and some that are not in it), not when or
where: it finds sounds by correlation, things by what differs from the background.
``python tests/avi_observers.py FOLDER`` prints how often each type's truth is found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import FourNumbers, FrameBoxes, SoundingBoxes
from auscult.cases.avi_tree import AviSample, read_tree
from auscult.cases.avibench import NOT_SURE
from auscult.language.proof import Proof
from auscult.media.frames import read_frame
from auscult.media.sound import read_sound
from auscult.media.video import read_frames
from auscult.record import codec
from auscult.rng import generator
from auscult.scenes.appearance.colours import word_of
from auscult.scenes.appearance.compose import put_together
from auscult.scenes.appearance.stage import Backdrop
from auscult.scenes.draw import Stage
from auscult.scenes.facts import facts_from_json, facts_of
from auscult.scenes.familiar.base import RATE_HZ, World, sound_of
from auscult.scenes.familiar.material import Material, open_material
from auscult.scenes.familiar.reasoning import SIDES
from auscult.scenes.familiar.understanding import Caption, prove
from auscult.scenes.plan import ScenePlan
from auscult.scenes.sound.mix import SoundSet, SoundSource, SoundTrack
from auscult.score.boxes import iou_of_boxes

Array = NDArray[Any]
Row = Mapping[str, Any]
Box = tuple[int, int, int, int]
LEAST_GAIN = 0.24  # tracks have .28 at least
EMPHASIS = 0.9  # of high tones, else every rumble is like another
DECOYS = 4


# --- what is heard ---


def mono(path: Path) -> Array:
    return read_sound(path).samples.mean(axis=0)


def events(sound: Array, source: SoundSource, sounds: SoundSet, *, long_s: float) -> list[float]:
    """When a source sounds for so long: peaks of its least-squares gain, none within the other's length."""
    whole_sound = sounds.samples(source, seconds=round(long_s * RATE_HZ) / RATE_HZ, rate_hz=RATE_HZ)
    sound, source_signal = (
        np.diff(signal, prepend=0.0) + (1 - EMPHASIS) * signal for signal in (sound, whole_sound.astype(np.float64))
    )
    size = 1 << (len(sound) + len(source_signal)).bit_length()
    spectrum = np.fft.rfft(sound, size) * np.conj(np.fft.rfft(source_signal, size))
    gain = np.fft.irfft(spectrum, size)[: len(sound)] / float(source_signal @ source_signal)
    times = []
    while gain.size and float(gain.max()) > LEAST_GAIN:
        peak = int(gain.argmax())
        times.append(peak / RATE_HZ)
        gain[max(0, peak - len(source_signal)) : peak + len(source_signal)] = 0
    return sorted(times)


def heard_times(sound: Array, tracks: Sequence[SoundTrack], sounds: SoundSet) -> dict[str, list[float]]:
    """Label to the times at which it is heard."""
    times_by_label = {}
    for track in tracks:
        start, end = track.spans[0]
        times = events(sound, track.source, sounds, long_s=end - start)
        if times:
            times_by_label[track.source.label] = times
    return times_by_label


def tracks_of(proof: Row) -> list[SoundTrack]:
    if "plan" in proof and "tracks" not in proof:
        return list(ScenePlan.from_json(proof["plan"]).tracks)
    return [codec.from_json(SoundTrack, row, error=ValueError) for row in proof["tracks"]]  # type: ignore[type-var]


def with_decoys(tracks: list[SoundTrack], sounds: SoundSet, labels: Sequence[str], key: str) -> list[SoundTrack]:
    """The tracks, and some of labels that are not among them."""
    rng, present_labels = generator(0, "decoys", key), {track.source.label for track in tracks}
    free = [label for label in labels if label not in present_labels]
    decoy_labels = [free[int(index)] for index in rng.permutation(len(free))[:DECOYS]]
    spans = tracks[0].spans[:1] if tracks else ((0.0, 2.0),)
    flat: dict[str, Any] = {"spans": spans, "gain_db": (0.0,), "pan": (0.0,), "times_s": (0.0,)}
    return [*tracks, *(SoundTrack(source=sound_of(rng, sounds, label), **flat) for label in decoy_labels)]


# --- what is seen ---


def ground(plan: ScenePlan, world: World) -> Array:
    """The scene without things."""
    backdrop = Backdrop.of(world.looks.background(plan.background, size=plan.size), light=plan.light)
    return put_together(backdrop, []).frame


def seen_boxes(frame: Array, plan: ScenePlan, world: World, *, time_s: float = 0.0) -> dict[int, Box]:
    """Things by their number to their boxes (xyxy): what differs from the empty scene, by the nearest planned place.

    What differs and is at no planned place is under -1.
    """
    differs = np.abs(frame.astype(np.int16) - ground(plan, world).astype(np.int16)).max(axis=2) > 22
    joined = cv2.morphologyEx(differs.astype(np.uint8), cv2.MORPH_OPEN, np.ones((2, 2), np.uint8))
    count, labels, _, _ = cv2.connectedComponentsWithStats(cv2.dilate(joined, np.ones((5, 5), np.uint8)))
    poses = [path.pose(time_s) for path in plan.layout.paths]
    boxes: dict[int, Box] = {}
    for number in range(1, count):
        rows, columns = np.nonzero((labels == number) & (joined > 0))
        if len(rows) < 25:
            continue
        box = int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
        distances = [
            np.hypot(pose.x * plan.size[1] - columns.mean(), pose.y * plan.size[0] - rows.mean()) for pose in poses
        ]
        nearest = int(np.argmin(distances))
        reach_px = poses[nearest].height * plan.size[0] * max(1.0, plan.objects[nearest].look.aspect)
        nearest = nearest if distances[nearest] < reach_px else -1
        old = boxes.get(nearest, box)
        boxes[nearest] = min(old[0], box[0]), min(old[1], box[1]), max(old[2], box[2]), max(old[3], box[3])
    return boxes


def category(plan: ScenePlan, index: int) -> str:
    return plan.objects[index].look.category if index >= 0 else "?"


def labels_of(picture: Array, made_of: object, world: World) -> set[str]:
    """The labels of a picture of VAR or AVR, which is that of its plan or photograph."""
    if isinstance(made_of, dict):
        plan = ScenePlan.from_json(made_of)
        return {category(plan, index) for index in seen_boxes(picture, plan, world)}
    files = {name: label for label, pictures in world.material.pictures.items() for name in pictures}
    assert isinstance(made_of, list)
    return {files[str(name)] for name in made_of}


# --- what is true ---


def first_frame(sample: AviSample) -> Array:
    assert sample.video is not None
    return next(iter(read_frames(sample.video))).frame


def counted_sounds(sample: AviSample, proof: Row, world: World) -> object:
    sounds: SoundSet = world.material.sounds if sample.subtask == "recordings" else world.sounds
    tracks = with_decoys(tracks_of(proof), sounds, sample.options, sample.id)
    return {label: len(times) for label, times in heard_times(mono(sample.sounds[0]), tracks, sounds).items()}


def counted_things(sample: AviSample, proof: Row, world: World) -> object:
    plan = ScenePlan.from_json(proof["plan"])
    categories = [category(plan, index) for index in seen_boxes(read_frame(sample.images[0]), plan, world)]
    return {name: categories.count(name) for name in categories}


def located(sample: AviSample, proof: Row, world: World) -> object:
    """The true boxes, where each has what is seen of a heard class in its place, and no more is heard and seen."""
    plan, truth = ScenePlan.from_json(proof["plan"]), sample.truth
    assert isinstance(truth, SoundingBoxes)
    tracks = with_decoys(tracks_of(proof), world.voices, world.things, sample.id)
    loud = heard_times(mono(sample.sounds[0]), tracks, world.voices)
    boxes_seen = seen_boxes(read_frame(sample.images[0]), plan, world)
    boxes = [
        (category(plan, index), box) for index, box in boxes_seen.items() if category(plan, index) in loud or index < 0
    ]
    best = [
        max((iou_of_boxes(box, seen_box) for name, seen_box in boxes if name == true), default=0.0)
        for true, box in truth.boxes
    ]
    return truth if len(boxes) == len(truth.boxes) and min(best) > 0.5 and np.mean(best) > 0.8 else boxes


def matched(sample: AviSample, proof: Row, world: World) -> object:
    plan = ScenePlan.from_json(proof["plan"])
    loud = _loud(sample, plan, world)
    categories = {category(plan, index) for index in seen_boxes(first_frame(sample), plan, world)}
    return NOT_SURE if not loud else "yes" if loud.keys() <= categories else "no"


def fitting(sample: AviSample, proof: Row, world: World) -> object:
    sounds: SoundSet = world.voices if sample.subtask.startswith("made") else world.material.sounds
    tracks = tracks_of(proof)
    pictures = [
        labels_of(read_frame(file), plan, world) for file, plan in zip(sample.images, proof["pictures"], strict=True)
    ]
    if len(sample.images) == 1:
        loud = [set(heard_times(mono(file), tracks, sounds)) for file in sample.sounds]
        return tuple(index for index, names in enumerate(loud) if names and _only(names) in pictures[0])
    asked_labels = set(
        heard_times(mono(sample.sounds[0]), with_decoys(tracks, sounds, tuple(sounds.instances()), sample.id), sounds)
    )
    return tuple(index for index, names in enumerate(pictures) if names <= asked_labels)


def captioned(sample: AviSample, proof: Row, world: World) -> object:
    """The captions, where each is proven of the facts of its plan, which are those on record."""
    plan, facts = ScenePlan.from_json(proof["plan"]), facts_from_json(proof["facts"])
    assert facts_of(plan, Stage(plan, world.looks).key_shots()).things == facts.things
    captions = [codec.from_json(Caption, row) for row in proof["captions"]]
    for caption in captions:
        prove(caption, facts)
    return tuple(caption.text for caption in captions)


def asked_seen(sample: AviSample, proof: Row, world: World) -> object:
    plan, frame = ScenePlan.from_json(proof["plan"]), first_frame(sample)
    if float(np.ptp(frame.astype(int), axis=(0, 1)).max()) < 12:
        return NOT_SURE
    return "yes" if proof["asked"] in {category(plan, index) for index in seen_boxes(frame, plan, world)} else "no"


def asked_heard(sample: AviSample, proof: Row, world: World) -> object:
    loud = _loud(sample, ScenePlan.from_json(proof["plan"]), world)
    return NOT_SURE if not loud else "yes" if proof["asked"] in loud else "no"


def of_material(sample: AviSample, proof: Row, world: World) -> object:
    """Of AVM, AVH and VAH of photographs and recordings."""
    sounds, frame = world.material.sounds, first_frame(sample)
    tracks = with_decoys(tracks_of(proof), sounds, world.material.paired, sample.id)
    loud = heard_times(mono(sample.sounds[0]), tracks, sounds).keys()
    labels = labels_of(frame, proof["pictures"][0], world)
    if sample.subtask == "photographed_or_suggested":
        blank = float(np.ptp(frame.astype(int), axis=(0, 1)).max()) < 12
        return NOT_SURE if blank else "yes" if proof["asked"] in labels else "no"
    right = proof["asked"] in loud if proof["asked"] else loud <= labels
    return NOT_SURE if not loud else "yes" if right else "no"


def of_photographs(sample: AviSample, proof: Row, world: World) -> object:
    """Of AVQA of photographs and recordings."""
    sounds = world.material.sounds
    tracks = with_decoys(tracks_of(proof), sounds, world.material.paired, sample.id)
    loud = heard_times(mono(sample.sounds[0]), tracks, sounds)
    labels = [next(iter(labels_of(first_frame(sample), [name], world))) for name in proof["pictures"][0]]
    if sample.subtask == "how_many_recorded":
        return str(len(loud.keys() & set(labels)))
    return SIDES[labels.index(min(loud, key=lambda name: loud[name][0]))]


def in_clips(sample: AviSample, proof: Row, world: World) -> object:
    """The true boxes, where they are of the masks of those frames of all clips that the pictures' halves are most like.

    No more is read of the plan than which recording it may be.
    """
    material, truth = world.material, sample.truth
    assert isinstance(truth, FrameBoxes)
    tracks = with_decoys(tracks_of(proof), material.sounds, material.filmed, sample.id)
    (loud,) = heard_times(mono(sample.sounds[0]), tracks, material.sounds)
    known = {
        (label, mask): cv2.resize(read_frame(frame), (64, 36), interpolation=cv2.INTER_AREA).astype(float)
        for label in material.filmed
        for clip in material.clips[label]
        for frame, mask in clip
    }
    overlaps = []
    for file, box in zip(sample.images, truth.boxes, strict=True):
        found: FourNumbers | None = None
        picture = read_frame(file)
        high = len(picture) // 2
        for top in (0, high):
            seen = cv2.resize(picture[top : top + high], (64, 36), interpolation=cv2.INTER_AREA)
            label, mask = min(known, key=lambda key: float(np.abs(known[key] - seen).mean()))
            if label == loud:
                drawn = cv2.imread(str(mask), cv2.IMREAD_GRAYSCALE)
                assert drawn is not None
                rows, columns = np.nonzero(drawn)
                left, up, right, down = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]) * (
                    high / len(drawn)
                )
                found = float(left), float(up) + top, float(right), float(down) + top
        overlaps.append(float(found is box) if found is None or box is None else iou_of_boxes(found, box))
    return truth if min(overlaps) > 0.95 else overlaps


def how_many(sample: AviSample, proof: Row, world: World) -> object:
    plan = ScenePlan.from_json(proof["plan"])
    categories = {category(plan, index) for index in seen_boxes(first_frame(sample), plan, world)}
    return str(len(categories & _loud(sample, plan, world).keys()))


def where_first(sample: AviSample, proof: Row, world: World) -> object:
    plan = ScenePlan.from_json(proof["plan"])
    loud = _loud(sample, plan, world)
    first = min(loud, key=lambda name: loud[name][0])
    places = _from_left(sample, plan, world)
    return SIDES[places.index(first)]


def moving(sample: AviSample, proof: Row, world: World) -> object:
    """The thing whose box is elsewhere in the last frame."""
    plan = ScenePlan.from_json(proof["plan"])
    assert sample.video is not None
    last = [frame.frame for frame in read_frames(sample.video)][-1]
    boxes_at_start, ended = (
        seen_boxes(first_frame(sample), plan, world),
        seen_boxes(last, plan, world, time_s=plan.seconds),
    )
    mover = max(boxes_at_start, key=lambda index: abs(boxes_at_start[index][1] - ended[index][1]))
    return "yes" if category(plan, mover) in _loud(sample, plan, world) else "no"


def oftener(sample: AviSample, proof: Row, world: World) -> object:
    plan = ScenePlan.from_json(proof["plan"])
    loud = _loud(sample, plan, world)
    left_count, right = (len(loud[name]) for name in _from_left(sample, plan, world))
    return "equally often" if left_count == right else "left" if left_count > right else "right"


def colour(sample: AviSample, proof: Row, world: World) -> object:
    plan, frame = ScenePlan.from_json(proof["plan"]), first_frame(sample)
    (name,) = _loud(sample, plan, world)
    empty = ground(plan, world)
    index, box = next(
        (index, box) for index, box in seen_boxes(frame, plan, world).items() if category(plan, index) == name
    )
    part = (slice(box[1], box[3]), slice(box[0], box[2]))
    inside = np.abs(frame[part].astype(int) - empty[part].astype(int)).max(axis=2) > 26
    return word_of(np.asarray(frame[part][inside]), least=0.0) if index >= 0 else "?"


def described(sample: AviSample, proof: Row, world: World) -> object:
    """The true boxes, where they are of what goes from each frame with the thing that the expression is proven of."""
    plan, truth = ScenePlan.from_json(proof["plan"]), sample.truth
    assert isinstance(truth, FrameBoxes)
    stage = Stage(plan, world.looks)
    facts = facts_of(plan, stage.key_shots())
    target = next(iter(Proof(facts).named(proof["form"]) or ()), None)
    if target is None:
        return truth if all(box is None for box in truth.boxes) else "not there"
    best = []
    for time_index, (file, box) in enumerate(zip(sample.images, truth.boxes, strict=True)):
        shot = stage.at(float(time_index))
        visible_mask = shot.visible[int(target) - 1]
        assert float(np.abs(read_frame(file).astype(float) - shot.frame).mean()) < 6
        if box is None:
            best.append(float(np.count_nonzero(visible_mask) < 0.001 * visible_mask.size))
        else:
            rows, columns = np.nonzero(visible_mask)
            best.append(iou_of_boxes(box, (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)))
    return truth if min(best) > 0.99 else best


def _loud(sample: AviSample, plan: ScenePlan, world: World) -> dict[str, list[float]]:
    tracks = with_decoys(list(plan.tracks), world.voices, world.things, sample.id)
    return heard_times(mono(sample.sounds[0]), tracks, world.voices)


def _from_left(sample: AviSample, plan: ScenePlan, world: World) -> list[str]:
    boxes = seen_boxes(first_frame(sample), plan, world)
    return [category(plan, index) for index in sorted(boxes, key=lambda index: boxes[index][0])]


def _only(names: set[str]) -> str:
    (name,) = names
    return name


Observer = Callable[[AviSample, Row, World], object]
OBSERVERS: Mapping[str, Observer] = {
    "made_sounds": counted_sounds,
    "recordings": counted_sounds,
    "made_picture": counted_things,
    "made_located": located,
    "matching": matched,
    "made_sounds_wanted": fitting,
    "made_pictures_wanted": fitting,
    "recordings_wanted": fitting,
    "photographs_wanted": fitting,
    "captioned": captioned,
    "photographs_matching": of_material,
    "photographed_or_suggested": of_material,
    "recorded_or_suggested": of_material,
    "how_many_recorded": of_photographs,
    "where_first_recorded": of_photographs,
    "heard_in_clips": in_clips,
    "seen_or_suggested": asked_seen,
    "heard_or_suggested": asked_heard,
    "how_many_sound": how_many,
    "where_first": where_first,
    "moving_sounds": moving,
    "more_often": oftener,
    "colour_of_sounding": colour,
    "described": described,
}
"""By type; of photographs with boxes people said what is true, and nothing can be read back."""


def observed(root: Path, world: World) -> Iterator[tuple[AviSample, object]]:
    """Every sample of a tree that an observer can look at, with what it finds true."""
    proofs = {row["id"]: row["proof"] for row in map(json.loads, (root / "samples.jsonl").read_text().splitlines())}
    for sample in read_tree(root).samples:
        if sample.subtask in OBSERVERS:
            yield sample, OBSERVERS[sample.subtask](sample, proofs[sample.name], world)


if __name__ == "__main__":
    material = open_material(Path(sys.argv[2]))[0] if len(sys.argv) > 2 else Material()
    right: dict[str, list[bool]] = {}
    for sample, answer in observed(Path(sys.argv[1]), World(material=material)):
        right.setdefault(f"{sample.folder} {sample.subtask}", []).append(answer == sample.truth)
        if answer != sample.truth:
            print(f"{sample.id}: {str(answer)[:300]}, truth {str(sample.truth)[:300]}")
    for kind, hits in right.items():
        print(f"{kind}: {sum(hits)} of {len(hits)}")
