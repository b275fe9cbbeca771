"""A model that reads a sentence word by word and chooses a region of the picture: no weights, no names of things.

It knows words of colour, place, size, shape, order and motion; a noun says nothing to it. Words are matched exactly, so
that a misspelt word is lost; a sentence of unknown words only gives what stands out most. It always answers with the
region that fits best, also where none fits well: it cannot know that what is named is not there. The answer is empty
only where the picture holds no region at all, as where it is of one tone.

Each region is a thing with some probability, by its looks alone. What is said of a thing by itself (its colour, place,
size, shape, texture, motion) multiplies that. "The largest", "the second from the left" then ask how probable it is
that none, or one, of the other things has more of it; "left of ..." how probable it is that a thing stands so to one
that fits what is said of the other.

Regions are proposed on some frames (``MOST_KEYS`` at most, evenly spread); the way through them is the one of highest
probability, where each region counts with how well it fits, and each step with how well the one region, carried along
by dense flow, lies on the next or looks like it (Viterbi, IEEE Trans. Information Theory 1967). Between those frames a
region is carried along.

Joins the lexicon and the onsets: a region is chosen by the words of a sentence, by whether and when it sounds, and by
whether it is something that passes through the picture.

Which regions are things at all is what the lexicon knows least. The onsets see what differs from the median of all
frames; where a sentence does not say that its thing stands still, a region counts by how well it lies on such a part.
What a sentence says of the sound is read by single words: that the thing sounds, is silent, sounds first, last, loudest
or most quietly. What sounds where is what ``classical.onsets.v1`` finds; how well a region of a frame lies on it weighs
the region beside the words of sight, and the lexicon's way through the clip carries the choice to frames in which the
thing is silent. A sentence that says nothing of the sound, or says it of another thing or of a time between two sounds,
is answered by the words of sight and by what moves. Where a thing must sound and nothing in the clip does, the answer
is empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import motion
from auscult.models.base import Masks, ModelTask, check_clip
from auscult.models.classical.lexicon_reading import Cue, ParsedQuery, parse_query, tokens_of
from auscult.models.classical.lexicon_things import COLOURS, Things, rises, small, things_in
from auscult.models.classical.onsets import ClipSight, heard_and_seen
from auscult.models.classical.regions import resized
from auscult.types import Doubles, Frame, Frames, Mask, Metadata, Query, Samples

Values = NDArray[np.float64]
Weigh = Callable[[int, NDArray[np.bool_]], Values]
"""From a frame's number and its regions, bool (n, h, w), to a factor above 0 for each."""

LEAST: Final = 0.02
"""What a thing that does not fit a word at all is still given, since regions and tones are not exact."""

_CERTAIN: Final = 0.95
_SAME: Final = 0.5  # share of the smaller region from which on two are parts of one thing
_WIDTH: Final = 1.6  # width over height, for distances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Motions:
    """How regions move, the motion of the picture itself taken out; shares of its longer side from frame to frame."""

    right: Values  # (n,)
    down: Values
    speed: Values  # how fast, 0 or more


def chances(things: Things, parsed: ParsedQuery, *, motions: Motions | None = None) -> Values:
    """How probable it is that each region is meant, (n,), above 0; without ``motions`` no word of motion counts."""
    chance = likely(things, motions)
    for cue in parsed.cues:
        if cue.kind != "most":
            chance = chance * _of_fit(_fit(things, cue, motions), denied=cue.denied)
    members = chance
    for cue in parsed.cues:
        if cue.kind == "most":
            amounts = _amounts(things, cue.word, motions)
            if amounts is not None:
                chance = chance * _of_fit(_ranked(things, members, amounts, rank=cue.rank), denied=cue.denied)
    if parsed.other is not None:
        others = chances(things, parsed.other, motions=motions)
        chance = chance * _of_fit(_related(things, parsed.how, others, motions=motions), denied=parsed.denied)
    return chance


def likely(things: Things, motions: Motions | None = None) -> Values:
    """How probable it is that each region is a thing, by its looks alone, (n,).

    A logistic curve fitted to the IoU of regions with the objects of generated scenes (seed 30000) and of the COCO
    photographs of even number, rounded. It knows no place: what stands in the middle is no more a thing.
    """
    size = np.log(things.area)
    logit = (
        -6.4
        - 0.3 * size
        - 0.17 * size**2
        + 2.0 * things.edge
        + 0.9 * (things.apart - things.apart.mean())
        + 4.3 * (things.rare - things.rare.mean())
        + 2.9 * things.contrast
        - 2.7 * things.frame
        + 2.1 * things.round
        + 3.4 * things.rough
    )
    if motions is not None:
        logit = logit + 1.5 * rises(motions.speed, 0.002, 0.02)
    return np.asarray(1 / (1 + np.exp(-logit)), dtype=np.float64)


def _of_fit(fit: Values, *, denied: bool) -> Values:
    return LEAST + (1 - LEAST) * (1 - fit if denied else fit)


def _more(first: Values, second: Values, margin: float) -> Values:
    """How surely each of the first is more than each of the second, (n, m), 0..1."""
    return np.asarray(1 / (1 + np.exp(-np.clip((first[:, None] - second[None]) / margin, -30, 30))), dtype=np.float64)


def _fit(things: Things, cue: Cue, motions: Motions | None) -> Values:
    """How well each region fits a word, 0..1; one half where it is not known."""
    if cue.kind == "colour":
        return np.minimum(1.0, things.colours[:, COLOURS.index(cue.word)] / 0.55)
    if cue.kind == "motion":
        return _moves(cue.word, motions, len(things))
    return _FITS[cue.kind, cue.word](things)


def _moves(word: str, motions: Motions | None, count: int) -> Values:
    if motions is None or word in {"nearer", "away"}:
        return np.full(count, 0.5)
    going = rises(motions.speed, 0.001, 0.01)
    if word in {"still", "slow"}:
        return 1 - going
    sides = {"left": -motions.right, "right": motions.right, "up": -motions.down, "down": motions.down}
    return rises(sides[word], -0.004, 0.01) if word in sides else going


def _amounts(things: Things, word: str, motions: Motions | None) -> tuple[Values, float] | None:
    """How much of a quality each region has, and what difference is seen; None where nothing can be told."""
    if word in {"fast", "slow"}:
        return None if motions is None else (motions.speed if word == "fast" else -motions.speed, 0.003)
    return _QUALITIES[word](things)


def _ranked(things: Things, members: Values, amounts: tuple[Values, float], *, rank: int) -> Values:
    """How probable it is that just ``rank - 1`` of the other members have more."""
    pool = apart(things, members)
    members = np.minimum(_CERTAIN, members / members.max())  # who compares supposes that there are things to compare
    exceeds = _more(amounts[0][pool], amounts[0], amounts[1]) * members[pool][:, None]
    exceeds[things.within[pool] > _SAME] = 0.0  # no thing is compared with a part of itself
    counts = np.zeros((rank + 1, len(things)))
    counts[0] = 1.0
    for chance in exceeds:
        counts[1:] = counts[1:] * (1 - chance) + counts[:-1] * chance
        counts[0] = counts[0] * (1 - chance)
    return np.asarray(counts[rank - 1])


def apart(things: Things, values: Values) -> NDArray[np.intp]:
    """Regions that are no parts of one another, the highest values first."""
    chosen: list[int] = []
    for index in np.argsort(-values, kind="stable").tolist():
        if all(things.within[index, other] <= _SAME for other in chosen):
            chosen.append(index)
    return np.array(chosen, dtype=np.intp)


def _related(things: Things, how: str, others: Values, *, motions: Motions | None) -> Values:
    """How probable it is that each region stands so to what is probably the other thing."""
    pool = apart(things, others)
    shares = others[pool] / others[pool].sum()
    stands = _standing(things, how, pool, motions=motions)
    stands[things.within[:, pool] > _SAME] = 0.0
    return np.asarray(stands @ shares, dtype=np.float64)


def _standing(things: Things, how: str, pool: NDArray[np.intp], *, motions: Motions | None) -> Values:
    if how in _STANDING:
        amounts, margin = _STANDING[how](things)
        return _more(amounts, amounts[pool], margin)
    if how in {"nearest", "farthest"}:
        gaps = np.hypot(_WIDTH * (things.x[:, None] - things.x[pool][None]), things.y[:, None] - things.y[pool][None])
        nearness: Values = np.exp(-3 * gaps)
        return nearness if how == "nearest" else 1 - nearness
    if how == "same_colour":
        return np.asarray(np.minimum(things.colours[:, None], things.colours[pool][None]).sum(axis=2), dtype=np.float64)
    if how == "same_motion" and motions is not None:
        unlike = np.hypot(
            motions.right[:, None] - motions.right[pool][None], motions.down[:, None] - motions.down[pool][None]
        )
        return np.asarray(np.exp(-unlike / 0.01), dtype=np.float64)
    return np.ones((len(things), len(pool)))


def _central(things: Things) -> Values:
    return -np.hypot(things.x - 0.5, things.y - 0.5)


def _nearness(things: Things) -> Values:
    """How near the viewer a thing seems: things in front stand lower and are larger."""
    return 0.5 * things.boxes[:, 3] + 0.5 * np.sqrt(things.area)


def _height(things: Things) -> Values:
    return things.boxes[:, 3] - things.boxes[:, 1]


def _width(things: Things) -> Values:
    return things.boxes[:, 2] - things.boxes[:, 0]


_QUALITIES: Final[Mapping[str, Callable[[Things], tuple[Values, float]]]] = {
    "large": lambda things: (np.log(things.area), 0.15),
    "small": lambda things: (-np.log(things.area), 0.15),
    "left": lambda things: (-things.x, 0.02),
    "right": lambda things: (things.x, 0.02),
    "high": lambda things: (-things.y, 0.02),
    "low": lambda things: (things.y, 0.02),
    "tall": lambda things: (np.log(_height(things)), 0.1),
    "short": lambda things: (-np.log(_height(things)), 0.1),
    "wide": lambda things: (np.log(_width(things)), 0.1),
    "thin": lambda things: (-things.thin, 0.05),
    "near": lambda things: (_nearness(things), 0.03),
    "far": lambda things: (-_nearness(things), 0.03),
    "central": lambda things: (_central(things), 0.02),
}
_STANDING: Final[Mapping[str, Callable[[Things], tuple[Values, float]]]] = {
    "left_of": _QUALITIES["left"],
    "right_of": _QUALITIES["right"],
    "above": _QUALITIES["high"],
    "below": _QUALITIES["low"],
    "larger": _QUALITIES["large"],
    "smaller": _QUALITIES["small"],
    "in_front_of": _QUALITIES["near"],
    "behind": _QUALITIES["far"],
}
_FITS: Final[Mapping[tuple[str, str], Callable[[Things], Values]]] = {
    ("light", "dark"): lambda things: 1 - rises(things.light, 0.2, 0.55),
    ("light", "light"): lambda things: rises(things.light, 0.45, 0.75),
    ("light", "vivid"): lambda things: rises(things.vivid, 0.15, 0.5),
    ("place", "left"): lambda things: 1 - rises(things.x, 0.35, 0.6),
    ("place", "right"): lambda things: rises(things.x, 0.4, 0.65),
    ("place", "top"): lambda things: 1 - rises(things.y, 0.35, 0.6),
    ("place", "bottom"): lambda things: rises(things.y, 0.4, 0.65),
    ("place", "centre"): lambda things: 1 - rises(-_central(things), 0.08, 0.35),
    ("place", "edge"): lambda things: rises(-_central(things), 0.2, 0.45),
    ("place", "corner"): lambda things: rises(np.minimum(abs(things.x - 0.5), abs(things.y - 0.5)), 0.1, 0.3),
    ("place", "near"): lambda things: rises(_nearness(things), 0.35, 0.75),
    ("place", "far"): lambda things: 1 - rises(_nearness(things), 0.35, 0.75),
    ("size", "large"): lambda things: rises(np.log(things.area), np.log(0.01), np.log(0.12)),
    ("size", "small"): lambda things: 1 - rises(np.log(things.area), np.log(0.01), np.log(0.08)),
    ("size", "tall"): lambda things: rises(np.log(_height(things) / _width(things)), -0.5, 0.9),
    ("size", "short"): lambda things: 1 - rises(_height(things), 0.1, 0.4),
    ("size", "wide"): lambda things: rises(np.log(_width(things) / _height(things)), -0.2, 1.0),
    ("shape", "round"): lambda things: rises(things.round, 0.4, 0.85),
    ("shape", "thin"): lambda things: 1 - rises(things.thin, 0.15, 0.6),
    ("shape", "square"): lambda things: rises(things.fill, 0.65, 0.95),
    ("texture", "plain"): lambda things: 1 - rises(things.rough, 0.04, 0.18),
    ("texture", "patterned"): lambda things: rises(things.rough, 0.06, 0.2),
}


MOST_KEYS: Final = 16
"""Frames of a clip at which regions are proposed."""

_LINK: Final = 2.0  # how much a step counts beside a region's own fit
_NO_LINK: Final = 0.05
_LOOKS: Final = 0.5  # what the looks of two regions count for at most, beside 1 for lying on one another

_LEAST_HIGH: Final = 0.4  # height over width: below it OpenCV's search reads beyond the picture and crashes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Key:
    """One frame with its regions, one at least."""

    at: int  # number in the clip
    things: Things
    masks: NDArray[np.float32]  # soft, small, (n, h, w)
    motions: Motions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LookedAt:
    """What is seen of a clip before a sentence is read."""

    keys: list[_Key]
    flows: list[motion.Flow]  # from each frame but the first back to the one before
    links: list[Values]  # of each two keys in turn, as of ``_links``


def followed(frames: Frames, parsed: ParsedQuery, *, weigh: Weigh | None = None) -> list[Mask]:
    """The thing through a clip of 2 frames or more, one mask each, at the size of the regions or of ``small_frame``."""
    looked_at = _look(frames)
    if not looked_at.keys:
        return [np.zeros(small(frames[0]).shape[:2], bool)] * len(frames)
    likelihoods = []
    for key in looked_at.keys:
        chance = chances(key.things, parsed, motions=key.motions)
        likelihoods.append(chance if weigh is None else chance * weigh(key.at, key.things.masks))
    chosen = _best_path(likelihoods, looked_at.links)
    return [_frame_mask(looked_at.keys, chosen, index, flows=looked_at.flows) for index in range(len(frames))]


def _look(frames: Frames) -> _LookedAt:
    tiny = [motion.small_frame(frame) for frame in frames]
    flows = [_flow(*pair) for pair in pairwise(tiny)]
    numbers = sorted({round(index) for index in np.linspace(0, len(frames) - 1, min(len(frames), MOST_KEYS)).tolist()})
    keys = [key for number in numbers if (key := _key(frames, number, flows=flows)) is not None]
    links = [_links(key, following, _chained(flows[key.at : following.at])) for key, following in pairwise(keys)]
    return _LookedAt(keys=keys, flows=flows, links=links)


def _flow(earlier: Frame, later: Frame) -> motion.Flow:
    """Flow from the later frame back; none where the picture is too flat for it."""
    if earlier.shape[0] < _LEAST_HIGH * earlier.shape[1]:
        return np.zeros((*earlier.shape[:2], 2), np.float32)
    return motion.step_between(earlier, later).flow


def _key(frames: Frames, number: int, *, flows: Sequence[motion.Flow]) -> _Key | None:
    things = things_in(small(frames[number]))
    if things is None:
        return None
    masks = np.stack([motion.small_mask(_as_large(mask, frames.shape[1:3])) for mask in things.masks])
    adjacent = [flows[index] * sign for index, sign in ((number - 1, -1), (number, -1)) if 0 <= index < len(flows)]
    motions = _motions(masks, np.mean(adjacent, axis=0).astype(np.float32))
    return _Key(at=number, things=things, masks=masks, motions=motions)


def _as_large(mask: Mask, size: tuple[int, ...]) -> Mask:
    return np.asarray(cv2.resize(mask.view(np.uint8), (size[1], size[0]), interpolation=cv2.INTER_NEAREST)) > 0


def _motions(masks: NDArray[np.float32], flow: motion.Flow) -> Motions:
    """Mean motion of each region from frame to frame, less that of the picture."""
    median = np.median(flow.reshape(-1, 2), axis=0)
    relative = (flow - median).reshape(-1, 2) / max(flow.shape[:2])
    flat = masks.reshape(len(masks), -1)
    sums = np.maximum(flat.sum(axis=1), 1e-6)
    right, down = ((flat @ relative[:, axis]) / sums for axis in (0, 1))
    speed = (flat @ np.hypot(relative[:, 0], relative[:, 1])) / sums
    return Motions(right=right.astype(np.float64), down=down.astype(np.float64), speed=speed.astype(np.float64))


def _chained(flows: Sequence[motion.Flow]) -> motion.Flow:
    """Steps one after another as one: from the last frame back to the first."""
    total = flows[-1]
    for flow in reversed(flows[:-1]):
        brought = np.stack([motion.moved(np.ascontiguousarray(flow[..., axis]), total) for axis in (0, 1)], axis=-1)
        total = total + brought
    return total


def _best_path(likelihoods: Sequence[Values], links: Sequence[Values]) -> list[int]:
    """The region of each key frame."""
    total = np.log(likelihoods[0])
    back: list[NDArray[np.intp]] = []
    for likelihood, linked in zip(likelihoods[1:], links, strict=True):
        steps = total[:, None] + _LINK * np.log(linked)
        previous = steps.argmax(axis=0)
        back.append(previous)
        total = np.log(likelihood) + steps[previous, np.arange(len(previous))]
    chosen = [int(total.argmax())]
    for previous in reversed(back):
        chosen.append(int(previous[chosen[-1]]))
    return chosen[::-1]


def _links(key: _Key, following: _Key, flow: motion.Flow) -> Values:
    """How probably each region of a frame is the same thing as each of a later one, (n, m)."""
    carried = np.stack([motion.moved(mask, flow) for mask in key.masks])
    first, second = (masks.reshape(len(masks), -1) for masks in (carried, following.masks))
    shared = first @ second.T
    either = first.sum(axis=1)[:, None] + second.sum(axis=1)[None] - shared
    lying = shared / np.maximum(either, 1e-6)
    similar = np.minimum(key.things.look[:, None], following.things.look[None]).sum(axis=2)
    sizes = np.exp(-np.abs(np.log(key.things.area[:, None] / following.things.area[None])))
    return np.asarray(np.maximum(_NO_LINK, np.maximum(lying, _LOOKS * similar * sizes)), dtype=np.float64)


def _frame_mask(keys: Sequence[_Key], chosen: Sequence[int], frame: int, *, flows: Sequence[motion.Flow]) -> Mask:
    """The mask of a frame: of one without regions of its own, the last key's, carried on; the first key's before it."""
    key_index = max((key_index for key_index, key in enumerate(keys) if key.at <= frame), default=0)
    key, index = keys[key_index], chosen[key_index]
    if key.at >= frame:
        return np.asarray(key.things.masks[index])
    return motion.moved(key.masks[index], _chained(flows[key.at : frame])) >= 0.5


TASKS: Final[tuple[ModelTask, ...]] = ("ris", "rvos", "refavs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Chooses a region by the words of a sentence."""

    name: str = "classical.lexicon.v1"
    meta: Metadata = Metadata(
        summary="words of colour, place, size, shape, order and motion against region proposals",
        goal="a model without weights that depends on the sentence word by word",
        modality="image",
        source="regions after Uijlings et al., IJCV 2013, and Wei et al., ECCV 2012; colour words after Berlin and Kay",
    )
    tasks: tuple[ModelTask, ...] = TASKS

    def predict(self, frames: Frames, query: Query, **_: object) -> Masks:
        """Segment what the sentence speaks of, or what stands out: bool (T, H, W), one region a frame."""
        check_clip(frames)
        return segmented(frames, parse_query(query.text))


def segmented(frames: Frames, parsed: ParsedQuery, *, weigh: Weigh | None = None) -> Masks:
    """What a sentence speaks of, bool (T, H, W); ``weigh`` gives what else multiplies the chances of regions."""
    size = (frames.shape[1], frames.shape[2])
    if len(frames) > 1:
        return np.stack([_enlarged(mask, size) for mask in followed(frames, parsed, weigh=weigh)])
    things = _things_of(small(frames[0]))
    if things is None:
        return np.zeros(frames.shape[:3], bool)
    chance = chances(things, parsed)
    chance = chance if weigh is None else chance * weigh(0, things.masks)
    return _enlarged(things.masks[int(chance.argmax())], size)[None]


def _things_of(picture: Frame) -> Things | None:
    return _things_in(picture.tobytes(), picture.shape)


@lru_cache(maxsize=1)  # a picture is asked about sentence after sentence
def _things_in(pixels: bytes, shape: tuple[int, ...]) -> Things | None:
    return things_in(np.frombuffer(pixels, np.uint8).reshape(shape))


def _enlarged(mask: Mask, size: tuple[int, int]) -> Mask:
    return mask if mask.shape == size else resized(mask, size)


MODEL = Lexicon()


HeardCue: TypeAlias = Literal["", "sounds", "silent", "first", "last", "loud", "quiet"]

_SOUNDING: Final = re.compile(
    r"\b(?:sound\w*|heard|hear|audible|nois[ey]\w*|loud\w*|quiet\w*|softest|voice|ringing|singing|speaking|talking"
    r"|(?:bark|beep|bleat|buzz|chirp|clang|click|croak|cry|growl|hiss|honk|hoot|howl|hum|jingl|knock|laugh|meow|purr"
    r"|quack|rattl|roar|rumbl|scream|snor|squeak|squeal|thud|tick|tinkl|trill|twang|warbl|whin|whirr?|whistl)\w*"
    r"|gives? off|source of)\b"
)
_SILENT: Final = re.compile(
    r"\b(?:silent|silence|soundless|noiseless|mute|no (?:sound|noise)|without (?:any |a )?(?:sound|noise)"
    r"|(?:not|never|cannot)(?: ever)? (?:be heard|heard|audible|sound|make (?:a|any) (?:sound|noise)|making))\b"
)
_BETWEEN: Final = re.compile(
    r"\b(?:after|before|while|during|once|until|together|along with|same time|falls? silent|fallen silent|goes quiet)\b"
)
_RANKED: Final[Mapping[HeardCue, re.Pattern[str]]] = {
    "first": re.compile(r"\b(?:first|earliest)\b"),
    "last": re.compile(r"\b(?:last|latest|finally)\b"),
    "loud": re.compile(r"\b(?:loudest|loudly|noisiest)\b"),
    "quiet": re.compile(r"\b(?:quietest|softest)\b"),
}
_RELATED: Final = re.compile(r"\b(?:than|same (?:colour|sort|kind)|shares|next to|closest|nearest|farthest|covers)\b")
_LEAST: Final = 0.05
"""What a region that does not sound as it should is still given."""

_NEAR_EDGE: Final = 2  # frames from the first or last that is heard within which a sound is the first or last
_MOST_CHARS: Final = 2000


def heard_cue(text: str) -> HeardCue:
    """What a sentence says of the sound of what it names; empty for nothing that is read."""
    plain = " ".join(tokens_of(text[:_MOST_CHARS]))
    first = _SOUNDING.search(plain)
    silent = _SILENT.search(plain)
    related = _RELATED.search(plain)
    if silent is not None and not _BETWEEN.search(plain):
        return "silent"
    if first is None or (related is not None and related.start() < first.start()):
        return ""
    if silent is not None:
        return ""
    return next((cue for cue, words in _RANKED.items() if words.search(plain)), "sounds")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sounding:
    """What sounds in a clip."""

    masks: Masks  # of every frame, bool (T, h, w), at the size that the onsets look at
    level: Doubles  # RMS around each frame, (T,)

    def lies(self, frame: int, regions: NDArray[np.bool_]) -> Doubles:
        """How well each region (n, h, w) of a frame lies on something that sounds in it, 0..1: its best IoU."""
        count, labels = cv2.connectedComponents(_as_large(self.masks[frame], regions.shape[1:]).view(np.uint8))
        return _lies(regions, [np.asarray(labels == number) for number in range(1, count)])

    def weights(self, cue: HeardCue) -> Doubles:
        """How much the sound of each frame tells of a cue, (T,), 0..1."""
        audible: Mask = np.asarray(self.masks.any(axis=(1, 2)))
        weight: Doubles = audible.astype(np.float64)
        times = np.flatnonzero(audible)
        if cue in {"first", "last"} and len(times):
            distance = np.arange(len(audible)) - (times[0] if cue == "first" else times[-1])
            return np.asarray(weight * (np.abs(distance) < _NEAR_EDGE))
        if cue in {"loud", "quiet"} and len(times):
            share = self.level / max(float(self.level.max()), 1e-9)
            return np.asarray(weight * (share if cue == "loud" else 1 - share))
        return weight


def _lies(regions: NDArray[np.bool_], parts: Sequence[Mask]) -> Doubles:
    """How well each region (n, h, w) lies on one of some parts of its frame, 0..1: its best IoU."""
    flat, best = regions.reshape(len(regions), -1), np.zeros(len(regions))
    for part in map(np.ravel, parts):
        both = (flat & part).sum(axis=1)
        best = np.maximum(best, both / np.maximum((flat | part).sum(axis=1), 1))
    return best


def _by_sound(sounding: Sounding, cue: HeardCue) -> Weigh:
    """How well regions of a frame sound as a cue says."""
    weights = sounding.weights(cue)

    def weigh(frame: int, regions: NDArray[np.bool_]) -> Doubles:
        lies = np.minimum(1.0, 1.5 * sounding.lies(frame, regions))
        fit = _LEAST + (1 - _LEAST) * (1 - lies if cue == "silent" else lies)
        return np.asarray(fit ** weights[frame])

    return weigh


def _by_motion(sight: ClipSight) -> Weigh:
    """How well regions of a frame lie on something that passes through the picture; alike where nothing does."""

    def weigh(frame: int, regions: NDArray[np.bool_]) -> Doubles:
        parts = [_as_large(part.mask, regions.shape[1:]) for part in sight.moving(frame)]
        return _LEAST + (1 - _LEAST) * np.minimum(1.0, 1.3 * _lies(regions, parts))

    return weigh


def _says_still(parsed: ParsedQuery) -> bool:
    """Whether a sentence says that its thing does not move."""
    motions = (cue for cue in parsed.cues if cue.kind == "motion")
    return any((cue.word in {"still", "slow"}) != cue.denied for cue in motions)


_Array: TypeAlias = tuple[bytes, tuple[int, ...]]


@lru_cache(maxsize=1)  # a clip is asked about sentence after sentence
def _sight(frames: _Array) -> ClipSight:
    return ClipSight(np.frombuffer(frames[0], np.uint8).reshape(frames[1]))


@lru_cache(maxsize=1)
def _sounding(frames: _Array, sound: _Array, rate_hz: int) -> Sounding:
    masks, level = heard_and_seen(_sight(frames), np.frombuffer(sound[0], np.float32).reshape(sound[1]), rate_hz)
    return Sounding(masks=masks, level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconOnsets:
    """Chooses a region by the words of a sentence and by what sounds."""

    name: str = "classical.lexicon_onsets.v1"
    meta: Metadata = Metadata(
        summary="the lexicon's regions, weighed by what the onsets find moving, and sounding as the sentence says",
        goal="a model for referring audio-visual segmentation that needs no download",
        modality="video",
        source="auscult; classical.lexicon.v1 and classical.onsets.v1",
    )
    tasks: tuple[ModelTask, ...] = ("refavs",)

    def predict(
        self, frames: Frames, query: Query, *, sound: Samples | None = None, rate_hz: int | None = None, **_: object
    ) -> Masks:
        """Segment what the sentence speaks of: bool (T, H, W), one region a frame; without sound by sight alone."""
        check_clip(frames)
        cue, parsed = heard_cue(query.text or ""), parse_query(query.text)
        pictures: _Array = (frames.tobytes(), frames.shape)
        weighs = [] if _says_still(parsed) else [_by_motion(_sight(pictures))]
        if cue and sound is not None and rate_hz and np.size(sound):
            samples = np.ascontiguousarray(np.atleast_2d(sound), np.float32)
            sounding = _sounding(pictures, (samples.tobytes(), samples.shape), rate_hz)
            if cue != "silent" and not sounding.masks.any():
                return np.zeros(frames.shape[:3], np.bool_)
            weighs.append(_by_sound(sounding, cue))

        def weigh(frame: int, regions: NDArray[np.bool_]) -> Doubles:
            return np.asarray(np.prod([one(frame, regions) for one in weighs], axis=0))

        return segmented(frames, parsed, weigh=weigh if weighs else None)


WITH_ONSETS = LexiconOnsets()
