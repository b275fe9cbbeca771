"""`identity.scenes.v1`: does a mask lie on the object an expression refers to? Decided from one frame.

Three steps: a sentence becomes a logical form (`scenes_text`), two small networks detect and name the
frame's objects, and the form is evaluated over what they may be.

The objects' names are sampled from their probabilities, many times. In each sampled world the form is evaluated from
vision alone (`language.proof`); the weight of an unclear result is shared among the objects that it may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.errors import InputError, UsageError
from auscult.judge.identity.scenes_text import (
    ParsedExpression,
    SentenceReader,
    Vocabulary,
    form_words,
    is_seen,
    is_whole,
    read_vocabulary,
)
from auscult.language.forms import Facts, SceneObject
from auscult.language.proof import Proof
from auscult.nets.onnx_session import open_session, read_network
from auscult.rng import generator
from auscult.types import Box, Case, Doubles, Existence, Floats, Frame, Identity, Mask, Metadata, Prediction

PIXELS: Final = 144 * 256
"""The small frame has about so many pixels, whatever its shape."""

STEP: Final = 16
CROP: Final = 48
MARGIN: Final = 1.2
"""Side of the crop against the longer side of the mask's box."""


def small_size(height: int, width: int) -> tuple[int, int]:
    """(height, width) of the small frame: multiples of ``STEP`` with about ``PIXELS`` pixels in the same shape."""
    ratio = min(max(height / width, 0.25), 4.0)
    rows = max(1, round(math.sqrt(PIXELS * ratio) / STEP))
    return rows * STEP, max(1, round(PIXELS / (rows * STEP) / STEP)) * STEP


def small(frame: Frame) -> NDArray[np.uint8]:
    """The frame made small, uint8 RGB of ``small_size``."""
    height, width = small_size(*frame.shape[:2])
    scaled = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(scaled, dtype=np.uint8)


def crop_window(box: Box, *, margin: float = MARGIN) -> Box:
    """A square around a box, ``margin`` times its longer side; it may reach beyond the frame."""
    side = max(4, math.ceil(margin * max(box[2] - box[0], box[3] - box[1])))
    x, y = (box[0] + box[2] - side) // 2, (box[1] + box[3] - side) // 2
    return x, y, x + side, y + side


def cut(picture: NDArray[np.uint8], window: Box, side: int) -> NDArray[np.uint8]:
    """A square window of a picture at ``side`` x ``side``; beyond the frame it is 0."""
    height, width = picture.shape[:2]
    x0, y0, x1, y1 = window
    left, top, right, bottom = max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)
    canvas = np.zeros((y1 - y0, x1 - x0, *picture.shape[2:]), np.uint8)
    canvas[top - y0 : bottom - y0, left - x0 : right - x0] = picture[top:bottom, left:right]
    interpolation = cv2.INTER_AREA if y1 - y0 > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(canvas, (side, side), interpolation=interpolation), dtype=np.uint8)


def crop(frame: Frame, mask: Mask) -> NDArray[np.uint8]:
    """RGB and mask (0 or 255) around a mask, not empty, uint8 (CROP, CROP, 4)."""
    box = box_of(mask)
    if box is None:
        raise ValueError("an empty mask has no crop")
    window = crop_window(box)
    marked = np.where(cut(mask.astype(np.uint8) * 255, window, CROP) >= 128, 255, 0)
    return np.dstack([cut(frame, window, CROP), marked.astype(np.uint8)])


PEAK: Final = 0.3
"""Least height of the heat map at the centre of an object."""

PART: Final = 0.1
"""Share of a mask from which a part of it counts as a thing by itself."""

_MOST: Final = 12
_OWN: Final = 0.35  # of a mask's width: a peak this near to its centre is its own
_PART_PEAK: Final = 0.4
_TWICE: Final = 0.6  # of a thing's radius: two peaks nearer than this are one thing
_MORE: Final = 1.5  # things that are larger together than this much of the mask are one thing, found twice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Peak:
    """A centre on the looker's maps: place and size in shares of the picture, height 0..1, logits of all words."""

    x: float
    y: float
    share: float
    height: float
    words: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundThing:
    """A thing of the frame: centre and size in shares of the picture, how sure it is, probabilities of its words."""

    x: float
    y: float
    share: float
    sure: float
    categories: Floats
    colours: Floats
    textures: Floats


def peaks(centres: Floats, word_maps: Floats) -> list[Peak]:
    """Centres of things, highest first: (2, h, w) are logit and logarithm of the share, (words, h, w) logits."""
    heat = 1 / (1 + np.exp(-centres[0]))
    highest = cv2.dilate(heat, np.ones((3, 3), np.uint8))
    rows, columns = np.nonzero((heat >= PEAK) & (heat >= highest))
    order = np.argsort(-heat[rows, columns], kind="stable")[:_MOST]
    height, width = heat.shape
    candidates = (
        Peak(
            x=(float(columns[index]) + 0.5) / width,
            y=(float(rows[index]) + 0.5) / height,
            share=float(np.exp(np.clip(centres[1, rows[index], columns[index]], -9.0, 0.0))),
            height=float(heat[rows[index], columns[index]]),
            words=word_maps[:, rows[index], columns[index]],
        )
        for index in order
    )
    tops: list[Peak] = []
    for peak in candidates:
        gaps = (np.hypot((peak.x - top.x) * (width / height), peak.y - top.y) - _TWICE * _radius(top) for top in tops)
        if all(gap > 0 for gap in gaps):
            tops.append(peak)
    return tops


def parts(mask: Mask, centres: Sequence[Peak]) -> list[Mask]:
    """The mask, or what it falls into where it holds the centres of several things."""
    inside = [peak for peak in centres if peak.height >= _PART_PEAK and _holds(mask, peak)]
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    together = sum(peak.share for peak in inside) * mask.size
    if len(inside) < 2 or together > _MORE * len(rows):
        return [mask]
    reach = [
        np.hypot((columns / width - peak.x) * width / height, rows / height - peak.y) / _radius(peak) for peak in inside
    ]
    owner = np.argmin(np.stack(reach), axis=0)
    pieces = []
    for number in range(len(inside)):
        members = owner == number
        if members.mean() >= PART:
            part = np.zeros_like(mask)
            part[rows[members], columns[members]] = True
            pieces.append(part)
    return pieces if len(pieces) > 1 else [mask]


def others(masks: Sequence[Mask], centres: Sequence[Peak]) -> list[Peak]:
    """Centres that belong to none of the masks."""
    return [peak for peak in centres if not any(_is_of(mask, peak) for mask in masks)]


def nearest_peak(mask: Mask, centres: Sequence[Peak]) -> Peak | None:
    """The centre that is a mask's own, if there is one."""
    x, y, _ = centre_and_share(mask)
    candidates = [peak for peak in centres if _is_of(mask, peak)]
    return min(candidates, key=lambda peak: np.hypot(peak.x - x, peak.y - y), default=None)


def centre_and_share(mask: Mask) -> tuple[float, float, float]:
    """Centre and share of a mask, each of the whole picture."""
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    return (float(columns.mean()) + 0.5) / width, (float(rows.mean()) + 0.5) / height, len(rows) / mask.size


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float32)


def _radius(peak: Peak) -> float:
    """Radius in picture heights of a disc as large as the thing, on a picture of 16:9."""
    return max(0.01, float(np.sqrt(peak.share * 16 / 9 / np.pi)))


def _holds(mask: Mask, peak: Peak) -> bool:
    height, width = mask.shape
    return bool(mask[min(height - 1, int(peak.y * height)), min(width - 1, int(peak.x * width))])


def _is_of(mask: Mask, peak: Peak) -> bool:
    """Whether a peak is in the mask or near its centre: a hollow or cut mask does not hold its own centre."""
    if _holds(mask, peak):
        return True
    x, y, share = centre_and_share(mask)
    height, width = mask.shape
    return float(np.hypot((peak.x - x) * width / height, peak.y - y)) < _OWN * float(np.sqrt(share * width / height))


WORLDS: Final = 40
_UNCLEAR: Final = 0.5
_NOTHING: Final = 0.25  # weight of a world in which the sentence names nothing: what is asked for is mostly there
_DURATION_S: Final = 1.0  # of no meaning, but without one nothing moves
_ELSE: Final = "something else"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingOdds:
    """How likely an expression refers to each object."""

    shares: tuple[float, ...]  # probability of each thing, in the order given
    nothing: float  # share of worlds in which it names nothing that was found
    settled: float  # share of worlds in which exactly one thing is named beyond doubt
    # share of worlds in which it may be true of each thing, however many others it fits too
    possible: tuple[float, ...]


def named(
    reading: ParsedExpression, objects: Sequence[FoundThing], words: Vocabulary, *, worlds: int = WORLDS
) -> NamingOdds:
    """Evaluate an expression over one or more objects in many sampled worlds, the same draws each time."""
    rng = generator(0, "identity", "worlds", len(objects))
    kinds = form_words(reading.form)
    draws = [_draws(rng, obj, words=words, kinds=kinds, worlds=worlds) for obj in objects]
    present = np.stack([rng.random(worlds) < obj.sure for obj in objects])
    seen: dict[tuple[_Draw | None, ...], NDArray[np.float64]] = {}
    shares, possible, nothing, settled = np.zeros(len(objects)), np.zeros(len(objects)), 0.0, 0
    for world in range(worlds):
        key = tuple(draws[index][world] if present[index, world] else None for index in range(len(objects)))
        if key not in seen:
            seen[key] = _proven(reading, objects, key)
        values = seen[key]
        possible += values > 0
        total = values.sum()
        if total > 0:
            shares += values / total
            settled += int((values == 1).sum() == 1 and (values > 0).sum() == 1)
        else:
            nothing += 1
    denominator = worlds - nothing + _NOTHING * nothing
    return NamingOdds(
        shares=tuple((shares / denominator).tolist()),
        nothing=nothing / worlds,
        settled=settled / worlds,
        possible=tuple((possible / worlds).tolist()),
    )


_Draw: TypeAlias = tuple[str, str, str]
"""Category, colour and texture."""


def _draws(
    rng: np.random.Generator, obj: FoundThing, *, words: Vocabulary, kinds: frozenset[str], worlds: int
) -> list[_Draw]:
    """The names of one object in each world; of the categories, only those that the expression mentions differ."""
    names = sorted(kinds & set(words.categories))
    chances = np.array([obj.categories[words.categories.index(name)] for name in names])
    options = [*names, _ELSE]
    weights = np.array([*chances, 0.0], np.float64)
    weights = weights / max(1.0, float(weights.sum()))
    weights[-1] = max(0.0, 1.0 - float(weights.sum()))
    categories = _picked(rng, weights, options, worlds=worlds)
    colours = _picked(rng, obj.colours, words.colours, worlds=worlds)
    textures = _picked(rng, obj.textures, words.textures, worlds=worlds)
    return list(zip(categories, colours, textures, strict=True))


def _picked(rng: np.random.Generator, chances: Floats | Doubles, words: Sequence[str], *, worlds: int) -> list[str]:
    steps = np.cumsum(chances / chances.sum())
    picks = np.minimum(np.searchsorted(steps, rng.random(worlds), side="right"), len(words) - 1)
    return [words[int(index)] for index in picks]


def _proven(
    reading: ParsedExpression, objects: Sequence[FoundThing], world: Sequence[_Draw | None]
) -> NDArray[np.float64]:
    """1 for each thing that the sentence is true of, 0 where it is false, between where it is unclear."""
    things = tuple(
        SceneObject(
            id=str(index),
            category=draw[0],
            colour=draw[1],
            texture=draw[2],
            x=(objects[index].x, objects[index].x),
            y=(objects[index].y, objects[index].y),
            area=(objects[index].share, objects[index].share),
            covered_by=(_ELSE,),  # whether a part of it is hidden is not known
            hidden=0.05,
        )
        for index, draw in enumerate(world)
        if draw is not None
    )
    values = np.zeros(len(objects))
    if things:
        proof = Proof(Facts(things=things, duration_s=_DURATION_S), frozenset({"sight"}))
        truths = proof.values(reading.form)
        values[[int(thing.id) for thing in things]] = [_UNCLEAR if value is None else float(value) for value in truths]
    return values


WEIGHTS: Final = Path(__file__).with_name("weights")
NETWORK: Final = "scenes.onnx"
WORDS: Final = "scenes.json"
_FROM_CROP: Final = 0.65  # weight of the crop's words against the frame's
_ABSENT: Final = 0.9  # share of worlds in which nothing is named, at which it counts as absent
_PRESENT: Final = 0.5
_FALSE: Final = 0.2  # a match below this is reported even if a part of the expression was not checked
_NAMED: Final = 0.4  # least probability at which an object is reported by its category
_HINT: Final = "`auscult train scenes-identity` makes both files; without --identity no check of identity is made"


class Eyes:
    """The networks of a folder and the words that belong to them, ``scenes.onnx`` and ``scenes.json``."""

    def __init__(self, folder: Path) -> None:
        for name in (NETWORK, WORDS):
            if not (folder / name).is_file():
                raise UsageError(
                    "identity.scenes.v1 has no weights", expected=f"the file {name}", hint=_HINT, path=folder / name
                )
        network = folder / NETWORK
        self._session = open_session(read_network(network, hint=_HINT), network, hint=_HINT)
        try:
            self.words: Vocabulary = read_vocabulary(folder / WORDS)
        except InputError as error:
            raise UsageError(error.message, expected=error.expected, hint=_HINT, path=error.path) from error
        self.reader = SentenceReader(self.words)
        word_count = len(self.words.categories) + len(self.words.colours) + len(self.words.textures)
        output_size = {output.name: output.shape for output in self._session.get_outputs()}.get("names", [0])[-1]
        if isinstance(output_size, int) and output_size != word_count:
            raise UsageError(
                f"the network of identity.scenes.v1 gives {output_size} words, and its vocabulary has {word_count}",
                expected="two files of one training",
                hint=_HINT,
                path=folder / WORDS,
            )

    def with_words(self, words: Vocabulary) -> Eyes:
        """The same networks with other numbers in the vocabulary."""
        other = copy(self)
        other.words = words
        return other

    def look(self, frame: Frame, mask: Mask) -> tuple[list[Peak], Floats]:
        """What the frame holds, and the words of the mask, float32 (words,)."""
        centres, word_maps, names = self._run(small(frame), [crop(frame, mask)])
        return peaks(centres, word_maps), names[0]

    def name(self, frame: Frame, masks: Sequence[Mask]) -> list[Floats]:
        """The words of some masks."""
        blank = np.zeros((STEP, STEP, 3), np.uint8)
        return list(self._run(blank, [crop(frame, mask) for mask in masks])[2])

    def _run(self, frame: NDArray[np.uint8], crops: Sequence[NDArray[np.uint8]]) -> tuple[Floats, Floats, Floats]:
        feed = {"frame": _planes(frame[None]), "crop": _planes(np.stack(crops))}
        centres, word_maps, names = self._session.run(["centres", "seen", "names"], feed)
        return centres[0], word_maps[0], names


class ScenesIdentity:
    """The check, with the networks of a folder, opened on first use, or with ``eyes`` that are already loaded."""

    name = "identity.scenes.v1"
    meta = Metadata(
        summary="reads the expression, finds the frame's things and proves which of them is named",
        goal="a mask on another object than the one that was asked for",
        modality="image",
        source="auscult; detector after CenterNet (Zhou et al. 2019), proof after our own grammar",
        truth="none; trained on scenes of stamps over COCO photographs and of generated things",
    )

    def __init__(self, weights: Path = WEIGHTS, eyes: Eyes | None = None) -> None:
        self._weights = weights
        self._eyes = eyes

    @property
    def folder(self) -> Path:
        """The folder of networks and words."""
        return self._weights

    def ready(self) -> None:
        """Open the networks."""
        if self._eyes is None:
            _eyes(self._weights)

    def __call__(self, case: Case, prediction: Prediction) -> Identity | None:
        """Check one candidate.

        None without an expression, for an empty mask, and where the expression says nothing that one frame shows; also
        where a word is not known, or a part of it is of sound, motion or hiding, unless what is left already rules the
        mask out.
        """
        text = case.query.text
        if text is None or not prediction.mask.any():
            return None
        eyes = self._eyes or _eyes(self._weights)
        reading = eyes.reader.read(text)
        if reading is None or not is_seen(reading.form):
            return None
        return _judged(eyes, reading, frame=case.frame, mask=prediction.mask)


@cache
def _eyes(folder: Path) -> Eyes:
    return Eyes(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenThings:
    """What a mask falls into, and the frame's things; those of the mask come first."""

    masks: tuple[Mask, ...]
    things: tuple[FoundThing, ...]


def seen_things(eyes: Eyes, frame: Frame, mask: Mask) -> SeenThings:
    """Find and name what a mask, not empty, holds, and the other things of its frame."""
    centres, names = eyes.look(frame, mask)
    masks = parts(mask, centres)
    words = [names] if len(masks) == 1 else eyes.name(frame, masks)
    own = [_own(eyes.words, part, part_words, centres=centres) for part, part_words in zip(masks, words, strict=True)]
    rest = [
        _found(eyes.words, peak.words, position=(peak.x, peak.y, peak.share), sure=peak.height)
        for peak in others(masks, centres)
    ]
    return SeenThings(masks=tuple(masks), things=(*own, *rest))


def _judged(eyes: Eyes, reading: ParsedExpression, *, frame: Frame, mask: Mask) -> Identity | None:
    scene = seen_things(eyes, frame, mask)
    count = len(scene.masks)
    odds = named(reading, scene.things, eyes.words)
    match = calibrated(sum(odds.shares[:count]), eyes.words)
    partly = _partly(reading)
    if partly and max(match, *odds.possible[:count]) >= _FALSE:
        return None  # the unchecked part may only be ignored where the rest already rules the mask out
    return Identity(
        match=match,
        exists="unchecked" if reading.unknown else _exists(odds),
        target=_target(reading),
        distractor=None if match >= 0.5 else _called(eyes.words, scene.things[0]),
        kept=_kept(scene.masks, odds) if count > 1 else None,
        note=_note(match, odds, reading),
    )


def calibrated(raw: float, words: Vocabulary) -> float:
    """The probability of a match that what was proven stands for, by a logistic curve on its logit."""
    inside = min(max(raw, 0.01), 0.99)
    return 1 / (1 + math.exp(-(words.slope * math.log(inside / (1 - inside)) + words.offset)))


def _own(vocabulary: Vocabulary, mask: Mask, crop_words: Floats, *, centres: Sequence[Peak]) -> FoundThing:
    """The object under a mask: position and share are the mask's, the words those of crop and frame together."""
    peak = nearest_peak(mask, centres)
    words = crop_words if peak is None else _FROM_CROP * crop_words + (1 - _FROM_CROP) * peak.words
    return _found(vocabulary, words, position=centre_and_share(mask), sure=1.0)


def _found(vocabulary: Vocabulary, words: Floats, *, position: tuple[float, float, float], sure: float) -> FoundThing:
    """A thing at a centre, of a share of the picture, from the logits of all words."""
    first, second = vocabulary.parts
    x, y, share = position
    return FoundThing(
        x=x,
        y=y,
        share=share,
        sure=sure,
        categories=_softmax(words[:first] * vocabulary.sharpness),
        colours=_softmax(words[first:second]),
        textures=_softmax(words[second:]),
    )


def _partly(reading: ParsedExpression) -> str:
    """Which part of an expression was not checked, in words; empty if all of it was."""
    if reading.unknown:
        return f"'{min(reading.strange, default=reading.unknown[0])}' is not known"
    return "" if is_whole(reading.form) else "sound, motion and what hides a thing were not looked at"


def _exists(odds: NamingOdds) -> Existence:
    if odds.nothing >= _ABSENT:
        return "no"
    return "yes" if odds.settled >= _PRESENT else "unchecked"


def _target(reading: ParsedExpression) -> str | None:
    form = reading.form
    while form["op"] == "most":
        form = form["of"]
    parts = form["of"] if form["op"] == "and" else [form]
    return next((str(part["word"]) for part in parts if part["op"] == "category"), None)


def _called(words: Vocabulary, obj: FoundThing) -> str | None:
    best = int(obj.categories.argmax())
    return words.categories[best] if obj.categories[best] >= _NAMED else None


def _kept(masks: Sequence[Mask], odds: NamingOdds) -> float:
    """Share of the mask that lies on the part which is most likely meant."""
    areas = np.array([np.count_nonzero(mask) for mask in masks], float)
    return float(areas[int(np.argmax(odds.shares[: len(masks)]))] / areas.sum())


def _note(match: float, odds: NamingOdds, reading: ParsedExpression) -> str:
    partly = _partly(reading)
    if partly:
        return f"What was looked at rules this mask out, probability of a match {match:.2f}; {partly}."
    if odds.nothing >= _ABSENT:
        return "Nothing in the frame fits what was asked for."
    if match >= 0.5:
        return f"What the mask holds fits what was asked for, probability {match:.2f}."
    return f"Another thing of the frame, or none, fits what was asked for; this one does with {match:.2f}."


def _planes(pictures: NDArray[np.uint8]) -> Floats:
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


IDENTITY = ScenesIdentity()
