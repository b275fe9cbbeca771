"""A colour, position or size that is false of every object that the noun may mean, put in place of one or added.

Robust Referring Image Segmentation, Sec. 3, method 4: "man in blue hat" becomes "man in black hat". The paper does not
say what proves such a sentence false. Here the annotation must have every object of the head noun's category, and:

- a position is false where all of them lie beyond the middle, by a margin. Of several one is always the farthest right,
  which is then "the right one": "right" is put in the place of "left" only where there is one, and of several only "in
  the right half of the picture" is said;
- a colour is false where next to no pixel of any of them may have it, within their masks, clothes included;
  people are not called by a colour, only what they wear;
- "filling the whole picture" is false where all are small. Beyond the paper; other sizes, materials and actions are
  relative or not annotated, so nothing proves them false; of scenes ``scene_attribute`` says what is known.

Colours are read widely, so that a word that is not among them is surely wrong. Ranges overlap: a pixel between blue and
purple counts as both. They were drawn around the basic colour terms (Berlin and Kay, Basic Color Terms, 1969) in hue,
saturation and value.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.language.referring import Parse, Span
from auscult.outcome import Undefined
from auscult.rng import pick
from auscult.stress.negatives.base import (
    NOT_EXHAUSTIVE,
    NegativeParams,
    NegativeStressor,
    Proof,
    Rewritten,
    Seen,
    Subject,
    with_noun,
)
from auscult.stress.sentences.base import Edit
from auscult.types import Frame, Metadata

# Hue in degrees (a range over 360 goes on from 0), saturation and value, 0..1.
_RANGES: Final[dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]]] = {
    "red": ((330, 382), (0.25, 1.0), (0.12, 1.0)),
    "orange": ((2, 52), (0.25, 1.0), (0.3, 1.0)),
    "yellow": ((32, 78), (0.18, 1.0), (0.35, 1.0)),
    "green": ((55, 195), (0.12, 1.0), (0.1, 1.0)),
    "blue": ((165, 280), (0.1, 1.0), (0.1, 1.0)),
    "purple": ((235, 350), (0.1, 1.0), (0.1, 1.0)),
    "pink": ((280, 395), (0.08, 0.8), (0.4, 1.0)),
    "brown": ((0, 60), (0.12, 1.0), (0.1, 0.8)),
    "white": ((0, 360), (0.0, 0.3), (0.5, 1.0)),
    "grey": ((0, 360), (0.0, 0.25), (0.12, 0.92)),
    "black": ((0, 360), (0.0, 1.0), (0.0, 0.36)),
}
COLOURS: Final = tuple(_RANGES)
CLAIMED: Final = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "white", "black")
"""The words that are said to be wrong of something; brown and grey depend too much on the light."""

FEWEST_PIXELS: Final = 300
"""Of an object that has a colour at all."""

_BITS: Final = 4  # of each channel that are looked at
_COLOURLESS: Final = 0.06


@cache
def _table() -> NDArray[np.int16]:
    """For each colour of ``_BITS`` bits a channel, one bit for each colour word that may name it."""
    side = 1 << _BITS
    table = np.zeros(side**3, np.int16)
    for code in range(side**3):
        red, green, blue = ((code >> shift & side - 1) / (side - 1) for shift in (2 * _BITS, _BITS, 0))
        hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
        for word, (hues, saturations, values) in enumerate(_RANGES.values()):
            turned = any(hues[0] <= hue * 360 + turn <= hues[1] for turn in (0, 360))
            if turned and saturations[0] <= saturation <= saturations[1] and values[0] <= value <= values[1]:
                table[code] |= 1 << word
    return table


@cache
def _words() -> NDArray[np.float64]:
    """Which bits each value of the table has, (2048, 11)."""
    values = np.arange(1 << len(COLOURS))
    return (values[:, None] >> np.arange(len(COLOURS)) & 1).astype(np.float64)


def is_colourless(frame: Frame) -> bool:
    """Whether a frame, uint8 RGB (H, W, 3), is a black and white photograph, of which no colour can be said."""
    some = frame[::8, ::8].reshape(-1, 3).astype(np.int16)
    spread = some.max(axis=1) - some.min(axis=1)
    return float(spread.mean()) < _COLOURLESS * 255


def shares(pixels: NDArray[np.uint8]) -> dict[str, float] | None:
    """The share of an object's pixels, uint8 RGB (n, 3), that each colour word may mean; None where they are few."""
    if len(pixels) < FEWEST_PIXELS:
        return None
    high = (pixels >> 8 - _BITS).astype(np.int16)
    codes = _table()[high[:, 0] << 2 * _BITS | high[:, 1] << _BITS | high[:, 2]]
    counts = np.bincount(codes, minlength=1 << len(COLOURS))
    fractions = counts @ _words() / len(pixels)
    return {word: round(float(share), 4) for word, share in zip(COLOURS, fractions, strict=True)}


REACHES: Final = 0.45
"""How far an object may reach towards the side where it is said to be, as a share of the picture."""

TINTED: Final = 0.02
"""The share of an object's pixels that a colour which it is said to have may have."""

LARGE: Final = 0.1
"""The share of the picture that an object may cover which is said to fill it."""

_PERSON: Final = "person"
_OPPOSITE: Final = {
    "left": "right",
    "right": "left",
    "top": "bottom",
    "bottom": "top",
    "upper": "lower",
    "lower": "upper",
}
_HALF: Final = {"left": "left", "right": "right", "top": "upper", "bottom": "lower", "upper": "upper", "lower": "lower"}
_WORN: Final = ("in", "wearing", "with")
_CLOTHES: Final = (
    *("shirt", "tshirt", "t-shirt", "top", "blouse", "sweater", "hoodie", "sweatshirt", "jacket", "coat", "vest"),
    *("suit", "dress", "skirt", "pants", "trousers", "jeans", "shorts", "trunks", "hat", "cap", "helmet", "scarf"),
    *("shoes", "sneakers", "boots", "socks", "uniform", "jersey", "outfit", "wetsuit", "swimsuit"),
)


class _Attribute(Rewritten):
    """A false attribute."""

    name = "negatives.attribute.v1"
    meta = Metadata(
        summary="a colour or position replaced, or one added, that is false of every object the noun may mean",
        goal="a model that finds the noun and does not look at what it is like",
        modality="text",
        source="Robust Referring Image Segmentation, Sec. 3 (4); size beyond the paper",
        truth="the sentence names nothing: measured on the boxes and pixels of all objects of the category",
        origin="source",
    )

    def rewrite(self, rng: np.random.Generator, subject: Subject, parsed: Parse, /) -> NegativeParams | Undefined:
        """Draw one of the replacements; where there is none, one of the additions."""
        things = _meant(subject, parsed)
        if isinstance(things, Undefined):
            return things
        if parsed.negation:
            return Undefined("something is denied in it: denied, a false attribute is true")
        options = list(_replaced(subject, parsed, things)) or list(_added(subject, parsed, things))
        if not options:
            return Undefined(_why(subject, things))
        sorts = sorted({option.proof.claim for option in options})
        sort = pick(rng, sorts)
        return pick(rng, [option for option in options if option.proof.claim == sort])


def _meant(subject: Subject, parsed: Parse) -> Sequence[Seen] | Undefined:
    """Every object that the head noun may mean."""
    head = None if parsed.head is None else subject.known.mention_at(subject.sentence, parsed.head.end)
    if head is None or not head.closed:
        return Undefined("the head noun names no category of the table, or other things too")
    if not head.categories & subject.looked_for:
        return NOT_EXHAUSTIVE
    related = subject.known.related(head.categories)
    things = [thing for thing in subject.things if thing.category in related]
    return things or Undefined("no object of the head noun's category is annotated")


def _why(subject: Subject, things: Sequence[Seen]) -> str:
    """Why nothing is proven."""
    reasons = ["no colour is surely wrong" if _colours_known(things) else "colours are not known"]
    if subject.absolute:
        placed = all(thing.box is not None for thing in things)
        reasons.append("some object lies on the other side" if placed else "a place is not known")
    return " and ".join(reasons)


def _colours_known(things: Sequence[Seen]) -> bool:
    return all(thing.colours is not None for thing in things)


# --- what is false ---


def false_colours(things: Sequence[Seen]) -> dict[str, Proof]:
    """The colours that next to no pixel of any object may have, each with its proof."""
    if not _colours_known(things):
        return {}
    proofs = {}
    of = tuple(sorted({thing.category for thing in things}))
    for word in CLAIMED:
        measured = tuple(thing.colours[word] for thing in things if thing.colours is not None)
        if max(measured) < TINTED:
            says = f"at most {max(measured):.1%} of the pixels of any {' or '.join(of)} may be called {word}"
            proofs[word] = Proof(claim="colour", word=word, of=of, measured=measured, limit=TINTED, says=says)
    return proofs


def false_position(things: Sequence[Seen], side: str) -> Proof | None:
    """The proof that no object is on a side: none reaches beyond the middle; None where one does or is not placed."""
    boxes = [thing.box for thing in things if thing.box is not None]
    if len(boxes) < len(things):
        return None
    reach = {
        "right": [right for _, _, right, _ in boxes],
        "left": [1 - left for left, _, _, _ in boxes],
        "bottom": [bottom for _, _, _, bottom in boxes],
        "top": [1 - top for _, top, _, _ in boxes],
    }[{"upper": "top", "lower": "bottom"}.get(side, side)]
    if max(reach) >= REACHES:
        return None
    of = tuple(sorted({thing.category for thing in things}))
    says = f"no {' or '.join(of)} reaches farther than {max(reach):.0%} of the way to that side"
    measured = tuple(round(value, 4) for value in reach)
    return Proof(claim="position", word=side, of=of, measured=measured, limit=REACHES, says=says)


def false_size(things: Sequence[Seen]) -> Proof | None:
    """The proof that no object fills the picture; None where one is large or its area is not known."""
    areas = [thing.area for thing in things if thing.area is not None]
    if len(areas) < len(things) or max(areas) >= LARGE or any(thing.crowd for thing in things):
        return None
    of = tuple(sorted({thing.category for thing in things}))
    says = f"the largest {' or '.join(of)} covers {max(areas):.1%} of the picture"
    measured = tuple(round(value, 4) for value in areas)
    return Proof(claim="size", word="filling the whole picture", of=of, measured=measured, limit=LARGE, says=says)


# --- what is said instead ---


def _replaced(subject: Subject, parsed: Parse, things: Sequence[Seen]) -> Iterator[NegativeParams]:
    text, colours = subject.sentence, false_colours(things)
    person = any(thing.category == _PERSON for thing in things)
    for span, before in _colour_words(text, parsed):
        if person and before:
            continue
        old = text[span.start : span.end].lower()
        for word, proof in colours.items():
            if word != old:
                yield NegativeParams(edits=with_noun(text, span, word), proof=proof)
    if subject.absolute and len(things) == 1 and not things[0].crowd:
        for attribute in parsed.attributes:
            old = text[attribute.span.start : attribute.span.end].lower()
            side = _OPPOSITE.get(old, "")
            proof_of = false_position(things, side) if side else None
            if proof_of is not None:
                yield NegativeParams(edits=with_noun(text, attribute.span, side), proof=proof_of)


def _colour_words(text: str, parsed: Parse) -> Iterator[tuple[Span, bool]]:
    """The colour words that are said of the head, or of what it wears; whether they stand before the head."""
    for attribute in parsed.attributes:
        if attribute.kind == "colour":
            yield attribute.span, attribute.before
    relation = parsed.relation
    if relation is None or text[relation.words.start : relation.words.end].lower() not in _WORN:
        return
    if text[relation.noun.start : relation.noun.end].lower() in _CLOTHES:
        for word in parsed.words:
            inside = relation.related.start <= word.start < relation.noun.start
            if inside and word.low in {*COLOURS, "gray"}:
                yield Span(word.start, word.end), False


def _added(subject: Subject, parsed: Parse, things: Sequence[Seen]) -> Iterator[NegativeParams]:
    """False claims to add, of kinds that the sentence does not make."""
    text = subject.sentence
    head = subject.noun_at(parsed.head or Span(0, 0))
    kinds = {attribute.kind for attribute in parsed.attributes}

    def behind(words: str) -> tuple[Edit, ...]:
        return (Edit(head.end, head.end, words),)

    if "colour" not in kinds and not any(_colour_words(text, parsed)):
        person = any(thing.category == _PERSON for thing in things)
        for word, proof in false_colours(things).items():
            named = with_noun(text, head, f"{word} {text[head.start : head.end]}")
            yield NegativeParams(edits=behind(f" in {word}") if person else named, proof=proof)
    if subject.absolute and "position" not in kinds:
        for side in ("left", "right", "top", "bottom"):
            proof_of = false_position(things, side)
            if proof_of is not None:
                yield NegativeParams(edits=behind(_on(side, several=len(things) > 1)), proof=proof_of)
    if "size" not in kinds:
        fills = false_size(things)
        if fills is not None:
            yield NegativeParams(edits=behind(" filling the whole picture"), proof=fills)


def _on(side: str, *, several: bool) -> str:
    if several:
        return f" in the {_HALF[side]} half of the picture"
    return f" {'at' if side in {'top', 'bottom'} else 'on'} the {side}"


STRESSOR: NegativeStressor = _Attribute()
