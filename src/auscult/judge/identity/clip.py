"""``identity.clip.v1``: the candidate and the frame's other regions, each compared with the expression by CLIP.

Each region is shown twice, cut out with a margin: as it is, and with what surrounds it grey and blurred. Its vector is
the mean of the two. ``match`` is the candidate's share of a softmax over all regions, of the cosine with the expression
times the model's own scale; what is left of the frame without the candidate is always one of the regions. Choosing
among regions by CLIP's score of their crops is the baseline of ReCLIP (Subramanian et al. 2022).

A crop does not show where in the frame it comes from, so positions and relations weigh little here. An
expression that speaks of sound and names no category is not checked. Nothing is calibrated: ``match`` is a softmax, no
measured probability.

The nouns are our own list of everyday English, not the vocabulary of a data set.

Expressions are parsed word by word, with short lists and no grammar: good enough for names in a report and prompts for
a matcher, not for a decision. What cannot be split is returned whole, shortened.

Regions are made here, from colours alone, so that a check has something to compare with where nothing else is known:
the picture is cut into pieces, and the smallest is joined to the neighbour across its weakest border until few are
left.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of, window
from auscult.arrays.overlap import iou
from auscult.arrays.segments import borders, edge_strength, pieces, reduced
from auscult.errors import UsageError
from auscult.judge.masks.shared import softmax
from auscult.language.lexicon import article, indefinite, is_plural, plural
from auscult.nets.clip import ClipFolder, ClipModel, Vectors, check_folder, load_clip
from auscult.nets.hf_folder import WEIGHTS
from auscult.types import Case, Existence, Frame, Identity, Mask, Metadata, Prediction

NOUNS: Final[tuple[str, ...]] = (
    *("person", "man", "woman", "child", "baby", "hand", "face", "dog", "cat", "horse", "cow", "sheep", "goat"),
    *("pig", "rabbit", "mouse", "bear", "elephant", "giraffe", "zebra", "monkey", "lion", "tiger", "camel", "deer"),
    *("fox", "bird", "duck", "chicken", "rooster", "goose", "swan", "parrot", "owl", "eagle", "penguin", "fish"),
    *("shark", "turtle", "snake", "frog", "snail", "butterfly", "bee", "spider", "tree", "flower", "plant", "leaf"),
    *("mushroom", "cactus", "car", "bus", "truck", "van", "train", "tram", "bicycle", "motorcycle", "boat", "ship"),
    *("aeroplane", "helicopter", "rocket", "tractor", "ambulance", "wheel", "house", "building", "tower", "bridge"),
    *("door", "window", "wall", "fence", "bench", "lamp", "street light", "traffic light", "sign", "clock"),
    *("chair", "sofa", "table", "desk", "bed", "shelf", "cupboard", "mirror", "picture", "carpet", "curtain"),
    *("pillow", "blanket", "bathtub", "sink", "toilet", "oven", "refrigerator", "kettle", "teapot", "pot", "pan"),
    *("plate", "bowl", "cup", "drinking glass", "bottle", "vase", "knife", "fork", "spoon", "basket", "box", "bag"),
    *("backpack", "suitcase", "umbrella", "hat", "crown", "shoe", "shirt", "dress", "coat", "trousers", "tie"),
    *("glasses", "watch", "ring", "book", "paper", "pen", "scissors", "key", "candle", "lantern", "telephone"),
    *("camera", "computer", "keyboard", "television", "loudspeaker", "microphone", "headphones", "guitar"),
    *("violin", "cello", "harp", "piano", "accordion", "flute", "trumpet", "saxophone", "drum", "cymbal", "bell"),
    *("maraca", "tambourine", "xylophone", "banjo", "ukulele", "ball", "balloon", "kite", "doll", "teddy", "robot"),
    *("star", "skateboard", "surfboard", "skis", "racket", "bat", "hammer", "saw", "drill", "ladder", "rope"),
    *("broom", "bucket", "bread", "cake", "pizza", "sandwich", "egg", "apple", "banana", "orange", "lemon"),
    *("grapes", "strawberry", "carrot", "tomato", "potato", "pumpkin", "cheese", "windmill", "stone", "rock"),
    *("mountain", "sky", "cloud", "water", "sea", "river", "grass", "sand", "road", "floor"),
)


MOST_LETTERS: Final = 60
_MOST_READ: Final = 2000

_WORD: Final = re.compile(r"[\w'-]+|,")
_OPENERS: Final = frozenset({"the", "a", "an", "this", "that", "these", "those", "all", "both", "every", "each", "his"})
_OPENERS_TOO: Final = frozenset({"her", "its", "their", "my", "your", "our", "please", "segment", "find", "show"})
_GROUPS: Final = frozenset({"of", "among", "amongst", "out"})
_ENDS: Final = frozenset(
    (
        *("that", "which", "who", "whom", "whose", "where", "when", "while", "because", "with", "without"),
        *("from", "to", "on", "in", "at", "by", "under", "above", "below", "behind", "beside", "near", "next"),
        *("between", "over", "inside", "outside", "across", "against", "along", "around", "before", "after"),
        *("during", "for", "than", "and", "or", "but", "not", "is", "are", "was", "were", "has", "have"),
        *("does", "do", "can", "higher", "lower", "larger", "bigger", "smaller", "louder", "quieter"),
        *("nearest", "closest", "farthest", "left", "heard", "partly", "sitting", "standing", "lying"),
        *("wearing", "holding", "riding", "playing", "making", "moving", "walking", "running", "facing"),
        *("looking", "going", "coming", "rising", "hiding", "hidden", "covered", "seen", "farther", "closer"),
        *("right", "amid", "towards", "into", "onto", "through", "as", "like", "being"),
    )
)
_FIRST_TOO: Final = frozenset({"left", "right", "nearest", "closest", "farthest", "hidden", "moving", "sitting"})
"""Words that end a phrase after its noun, and may stand before one: "the left car", "the car left of it"."""

_MEASURES: Final = frozenset(
    (
        *("largest", "biggest", "smallest", "leftmost", "rightmost", "highest", "topmost", "lowest", "bottommost"),
        *("loudest", "quietest", "nearest", "closest", "farthest", "first", "last", "second", "third", "other"),
        *("left", "right", "upper", "lower", "middle", "moving", "sounding", "audible", "silent", "hidden", "sitting"),
    )
)
_ANYTHING: Final = frozenset({"thing", "things", "object", "objects", "item", "items", "one", "ones", "something"})
_SOUNDS: Final = re.compile(
    r"\b(?:sound(?:s|ing|less)?|noises?|noiseless|heard|hear(?:s|able)?|audible|silent|silence|mute|loud(?:er|est|ly)?|"
    r"quiet(?:er|est|ly)?|volume|melody|voices?|rings?|ringing|barks?|barking|plays|playing|sings?|singing)\b",
    re.IGNORECASE,
)
_SINGULAR: Final = {plural(noun): noun for noun in NOUNS if plural(noun) != noun}


@dataclass(frozen=True, slots=True, kw_only=True)
class NounPhrase:
    """What an expression asks for."""

    phrase: str  # its noun phrase without an article, at most ``MOST_LETTERS`` letters: ``red car``
    # the head of the phrase, in the singular: ``car``; None where it names no kind ("the object that")
    noun: str | None
    heard: bool = False  # whether it speaks of sound


def parse_expression(text: str) -> NounPhrase | None:
    """Read an expression, of its first 2,000 characters; None where no word of it could name something.

    Example:
        >>> parse_expression("The striped red cars that move to the left")
        NounPhrase(phrase='striped red cars', noun='car', heard=False)
        >>> parse_expression("among the drums, the one that is louder").noun
        'drum'
    """
    words = [word.lower() for word in _WORD.findall(text[:_MOST_READ])]
    phrase = _noun_phrase(words)
    if not phrase:
        return None
    noun = None if phrase[-1] in _ANYTHING else _named(phrase)
    heard = _SOUNDS.search(text[:_MOST_READ]) is not None
    return NounPhrase(phrase=_short(phrase), noun=noun, heard=heard)


def prompts(text: str) -> tuple[str, ...]:
    """One to three sentences to compare with a picture, the expression first; none where it names nothing."""
    parsed = parse_expression(text)
    if parsed is None:
        return ()
    expression = " ".join(text[:_MOST_READ].split())
    sentences = [expression]
    if parsed.noun is not None:
        sentences.append(f"a photo of {parsed.phrase if is_plural(parsed.phrase) else article(parsed.phrase)}")
        sentences.append(photo_of(parsed.noun))
    return tuple(dict.fromkeys(sentences))


def photo_of(noun: str) -> str:
    """The sentence in which a noun is compared with a picture."""
    return f"a photo of {indefinite(noun)}"


def singular(noun: str) -> str:
    """The singular: ``car`` for ``cars``; a word that is not in the list loses an -s that makes it a plural."""
    if noun in _SINGULAR:
        return _SINGULAR[noun]
    if noun in NOUNS or not is_plural(noun):
        return noun
    for ending, new in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("s", "")):
        if noun.endswith(ending) and len(noun) > len(ending) + 2:
            return noun.removesuffix(ending) + new
    return noun


def _noun_phrase(words: Sequence[str]) -> list[str]:
    """The first phrase that names a category; for a group ("the largest of the cats") the singular of its noun."""
    rest, grouped = list(words), bool(words) and words[0] in _GROUPS
    first: list[str] = []
    while rest:
        phrase, rest = _next_phrase(rest)
        if not phrase:
            continue
        if not (all(word in _MEASURES for word in phrase) or phrase[-1] in _ANYTHING):
            return [*phrase[:-1], singular(phrase[-1])] if grouped else phrase
        first = first or phrase
        if not (rest and rest[0] in _GROUPS):
            break
        grouped = True
    return first


def _next_phrase(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The next phrase without articles, and the words after it, always fewer than were given."""
    start = 0
    while start < len(words) and words[start] in _OPENERS | _OPENERS_TOO | _GROUPS | {","}:
        start += 1
    end = start
    while end < len(words) and not _ends(words, end, start=start):
        end += 1
    return list(words[start:end]), list(words[end if end > 0 else 1 :]) if end > start else list(words[start + 1 :])


def _ends(words: Sequence[str], index: int, *, start: int) -> bool:
    word = words[index]
    if word == "," or word in _OPENERS | _GROUPS:
        return True
    if word not in _ENDS:
        return False
    before = words[start:index]
    follows = words[index + 1] if index + 1 < len(words) else ""
    open_still = all(earlier in _MEASURES for earlier in before) and word in _FIRST_TOO
    return not (open_still and follows not in _ENDS | _GROUPS | _OPENERS | {"", ","})


def _named(phrase: Sequence[str]) -> str | None:
    """The head noun: a listed noun at the end of the phrase, of two words if possible, else its last word."""
    for tail in (" ".join(phrase[-2:]), phrase[-1]):
        if singular(tail) in NOUNS:
            return singular(tail)
    words = [word for word in phrase if word not in _MEASURES]
    return singular(words[-1]) if words else None


def _short(phrase: Sequence[str]) -> str:
    """The last words that fit into ``MOST_LETTERS``."""
    text = " ".join(phrase)
    while len(text) > MOST_LETTERS and " " in text:
        text = text.partition(" ")[2]
    return text[:MOST_LETTERS]


LONG_SIDE_PX: Final = 192
"""Long side of the reduced picture that is cut into pieces."""

_PIECES: Final = 12  # across the short side
_KEPT: Final = 12  # regions that are left of the picture when joining stops
_LEAST: Final = 0.01  # of the frame
_MOST: Final = 0.6
_APART: Final = 0.5  # IoU from which two masks count as the same thing
_HELD: Final = 0.3  # share of a region that may lie in the candidate


def rivals(
    frame: Frame,
    mask: Mask,
    others: Sequence[Mask],
    *,
    most: int,
    coloured: Callable[[Frame], Sequence[Mask]] | None = None,
) -> tuple[Mask, ...]:
    """At most ``most`` regions that the expression could mean instead of the candidate, bool (H, W) each, none empty.

    Masks of other objects come first, the largest before the rest, then the frame's regions of even colour, which
    ``coloured`` may take from a cache; none is much the same as the candidate or as another.
    """
    sizes = [int(np.count_nonzero(other)) for other in others]
    regions: list[Mask] = []
    for index in sorted((index for index, size in enumerate(sizes) if size), key=lambda index: -sizes[index]):
        if len(regions) == most:
            break
        region = others[index]
        if all(_differ(region, earlier) for earlier in (mask, *regions)):
            regions.append(region)
    if len(regions) == most:
        return tuple(regions)
    for region in (coloured or coloured_regions)(frame):
        overlap = float(np.count_nonzero(region & mask)) / float(np.count_nonzero(region))
        if len(regions) < most and overlap <= _HELD and all(_differ(region, earlier) for earlier in (mask, *regions)):
            regions.append(region)
    return tuple(regions)


def coloured_regions(frame: Frame) -> tuple[Mask, ...]:
    """Regions of even colour, 1 to 60 % of the frame each, without overlap; those that stand out most come first."""
    height, width = frame.shape[:2]
    small = reduced(frame, LONG_SIDE_PX)
    short = min(small.shape[:2])
    if short < 2 * _PIECES:
        return ()
    strength = edge_strength(np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2LAB), dtype=np.uint8))
    labels = _joined(pieces(small, strength, step_px=max(4, short // _PIECES)), strength)
    full_size = np.asarray(cv2.resize(labels.astype(np.float32), (width, height), interpolation=cv2.INTER_NEAREST))
    ranked: list[tuple[float, Mask]] = []
    for label in range(int(labels.max()) + 1):
        share = float(np.mean(labels == label))
        region: Mask = full_size == label
        if _LEAST <= share <= _MOST and region.any():
            ranked.append((_stands_out(labels == label, strength), region))
    return tuple(region for _, region in sorted(ranked, key=lambda pair: -pair[0]))


def _joined(labels: NDArray[np.int32], strength: NDArray[np.float32]) -> NDArray[np.int32]:
    """Labels after the smallest region was joined to the neighbour across its weakest border, again and again."""
    count = int(labels.max()) + 1
    area = np.bincount(labels.ravel(), minlength=count).astype(np.float64)
    touching = borders(labels, strength)
    first, second = touching.pairs[:, 0], touching.pairs[:, 1]
    length, edge = np.zeros((count, count)), np.zeros((count, count))
    length[first, second] = length[second, first] = touching.length_px
    edge[first, second] = edge[second, first] = touching.strength
    name = np.arange(count)
    for left in range(count, 1, -1):
        small = int(np.argmin(area))
        if left <= _KEPT and area[small] >= _LEAST * labels.size:
            break
        weakness = np.where(length[small] > 0, edge[small] / np.maximum(length[small], 1), np.inf)
        into = int(np.argmin(weakness))
        for table in (length, edge):
            table[into] += table[small]
            table[:, into] += table[:, small]
            table[small] = table[:, small] = 0.0
            table[into, into] = 0.0
        area[into] += area[small]
        area[small] = np.inf
        name[name == small] = into
    _, dense = np.unique(name[labels], return_inverse=True)
    return dense.reshape(labels.shape).astype(np.int32)


def _stands_out(region: Mask, strength: NDArray[np.float32]) -> float:
    """Mean strength of the edge along a region's outline; 0 where it has none."""
    box = box_of(region)
    if box is None:
        return 0.0
    inner = np.asarray(cv2.erode(region.view(np.uint8), np.ones((3, 3), np.uint8)), dtype=bool)
    rim = (region & ~inner)[window(box)]
    return float(strength[window(box)][rim].mean()) if rim.any() else 0.0


def _differ(first: Mask, second: Mask) -> bool:
    return iou(first, second) < _APART


VARIABLE: Final = "AUSCULT_CLIP"
MOST_RIVALS: Final = 8
NOTHING: Final = ("a photo of nothing", "a photo of an empty background", "a photo of some other thing")
YES: Final = 0.75
"""Least share against the sentences of ``NOTHING`` at which a region counts as the referred object."""
NO: Final = 0.05
"""The object counts as absent if every region is below this share. Both thresholds are chosen, not measured."""

_MARGIN: Final = 0.15  # of the box's longer side
_GREY: Final = 127
_BLUR: Final = 0.04  # of the crop's side
_MOST_PX: Final = (
    672  # of a view's side: twice what the largest released models see; a blur's cost grows with its square
)
_DOUBT: Final = 0.5


class ClipIdentity:
    """CLIP as an identity check; its weights are loaded at the first candidate and kept by this object alone.

    ``folder`` is checked already, or None; scores are divided by ``temperature`` before the softmax.
    """

    name = "identity.clip.v1"
    meta = Metadata(
        summary="CLIP's scores of the masked region and of the frame's other regions for the expression; own weights",
        goal="a mask on another object than the one that was asked for",
        modality="image",
        source="Radford et al. 2021; crops scored by CLIP as in ReCLIP's baseline, Subramanian et al. 2022",
        truth="none",
    )

    def __init__(self, folder: ClipFolder | None = None, *, temperature: float = 1.0) -> None:
        self._folder = folder
        self._temperature = temperature
        self._loaded: _Loaded | None = None

    @property
    def folder(self) -> Path | None:
        """The folder of weights."""
        return None if self._folder is None else self._folder.path

    def using(self, folder: Path | None) -> ClipIdentity:
        """The check with the weights of a folder; None for the one that ``AUSCULT_CLIP`` names."""
        env_folder = os.environ.get(VARIABLE)
        if folder is None and not env_folder:
            raise UsageError(
                f"{self.name} brings no weights",
                expected="a folder with config.json, model.safetensors and the tokenizer of a CLIP model",
                hint=f"give it with --identity-weights DIR, or set {VARIABLE}",
            )
        return ClipIdentity(check_folder(folder or Path(env_folder or "")), temperature=self._temperature)

    def ready(self) -> None:
        """Load the model, which takes seconds."""
        self._model()

    def __call__(self, case: Case, prediction: Prediction) -> Identity | None:
        """Compare one candidate; None without an expression about what is visible, and for an empty or a full mask."""
        text = case.query.text or ""
        parsed = parse_expression(text)
        if parsed is None or (parsed.heard and parsed.noun is None):
            return None
        if not prediction.mask.any() or prediction.mask.all():
            return None
        model = self._model()
        mask = prediction.mask
        alternatives = rivals(case.frame, mask, case.others, most=MOST_RIVALS, coloured=model.coloured)
        regions = [mask, *alternatives, ~mask]
        vectors = model.regions(case.frame, regions)
        scale = model.clip.scale / self._temperature
        scores = (vectors @ model.clip.sentences(prompts(text)).T).mean(axis=1) * scale
        if not np.isfinite(scores).all():
            raise UsageError(f"{self.name} gives scores that are no numbers", path=model.clip.folder.path / WEIGHTS)
        match = float(softmax(scores)[0])
        exists = _existence(scores, vectors @ model.nothing.T * scale)
        instead = model.noun_of(vectors[0]) if match < _DOUBT else None
        return Identity(
            match=match,
            exists=exists,
            target=parsed.phrase,
            distractor=None if instead == parsed.noun else instead,
            note=_note(scores, match),
        )

    def _model(self) -> _Loaded:
        if self._folder is None:
            raise UsageError(f"{self.name} has no weights", hint="give them with using(folder)")
        if self._loaded is None:
            clip = load_clip(self._folder)
            self._loaded = _Loaded(clip, clip.sentences(NOTHING))
        return self._loaded


@dataclass(slots=True, eq=False)
class _Loaded:
    """A model, the vectors of sentences that every candidate is compared with, and the regions of the last frame.

    Regions are kept by the frame's content, not by the object that holds it, since a frame may be written over. Both
    are replaced at once, so that a thread never sees the regions of another frame.
    """

    clip: ClipModel
    nothing: Vectors
    _nouns: Vectors | None = field(default=None, init=False)
    _last: tuple[bytes, tuple[Mask, ...]] = field(default=(b"", ()), init=False)

    def coloured(self, frame: Frame) -> tuple[Mask, ...]:
        """``coloured_regions``, worked out once for candidates of one frame that follow one another."""
        content = hashlib.blake2b(repr(frame.shape).encode())
        content.update(np.ascontiguousarray(frame).data)
        digest, regions = self._last
        if digest != content.digest():
            regions = coloured_regions(frame)
            self._last = content.digest(), regions
        return regions

    def regions(self, frame: Frame, regions: Sequence[NDArray[np.bool_]]) -> Vectors:
        """One vector of length 1 for each region, float32 (n, d)."""
        pictures = [view for region in regions for view in views(frame, region)]
        vectors = self.clip.pictures(pictures)
        both = vectors[0::2] + vectors[1::2]
        return np.asarray(both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-12), dtype=np.float32)

    def noun_of(self, vector: NDArray[np.float32]) -> str:
        """The noun of the list that fits a region best."""
        if self._nouns is None:
            self._nouns = self.clip.sentences([photo_of(noun) for noun in NOUNS])
        return NOUNS[int(np.argmax(self._nouns @ vector))]


def views(frame: Frame, region: Mask) -> tuple[Frame, Frame]:
    """A region cut out as a square with a margin: as it is, and with its surroundings grey and blurred.

    Both uint8 RGB (s, s, 3), s at most 672; beyond the frame they are grey.
    """
    box = box_of(region)
    if box is None:
        raise ValueError("an empty region has no view")
    side = round(max(box[2] - box[0], box[3] - box[1]) * (1 + 2 * _MARGIN)) or 1
    left, top = (box[0] + box[2] - side) // 2, (box[1] + box[3] - side) // 2
    plain = np.full((side, side, 3), _GREY, np.uint8)
    inside = np.zeros((side, side), bool)
    x0, y0 = max(left, 0), max(top, 0)
    x1, y1 = min(left + side, frame.shape[1]), min(top + side, frame.shape[0])
    inner = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
    plain[inner] = frame[y0:y1, x0:x1]
    inside[inner] = region[y0:y1, x0:x1]
    if side > _MOST_PX:
        side = _MOST_PX
        plain = np.asarray(cv2.resize(plain, (side, side), interpolation=cv2.INTER_AREA), dtype=np.uint8)
        shrunk = cv2.resize(inside.view(np.uint8), (side, side), interpolation=cv2.INTER_NEAREST)
        inside = np.asarray(shrunk, dtype=bool)
    soft = cv2.GaussianBlur(plain.mean(axis=2, dtype=np.float32), (0, 0), max(1.0, _BLUR * side))
    dull = (0.5 * np.asarray(soft) + 0.5 * _GREY).astype(np.uint8)
    return plain, np.where(inside[..., None], plain, dull[..., None])


def _existence(scores: NDArray[np.float32], nothing: NDArray[np.float32]) -> Existence:
    """Whether some region is more like the expression than like nothing."""
    share = max(float(softmax(np.append(row, score))[-1]) for score, row in zip(scores, nothing, strict=True))
    return "yes" if share >= YES else "no" if share <= NO else "unchecked"


def _note(scores: NDArray[np.float32], match: float) -> str:
    rank = 1 + int(np.count_nonzero(scores[1:] > scores[0]))
    fit = "best" if rank == 1 else f"as number {rank}"
    return f"of {len(scores)} regions this one fits the words {fit}, with a share of {match:.2f} (not calibrated)"


IDENTITY = ClipIdentity()
