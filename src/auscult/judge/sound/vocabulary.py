"""What words and pictures ask for, in AudioSet's 527 classes of sounds, and what is unknown.

The classes are those of Gemmeke et al., ICASSP 2017. ``classes.csv`` has a row for each in AudioSet's order: domain,
parents, ``words`` that mean the class, and ``wider_than``, words for something that the class is the nearest to, a
bassoon being a wind instrument. A word with a question mark has several meanings: it counts where it goes with what
else is said, or where nothing else is.

``pictures.onnx`` is a MobileNetV2 (Sandler et al. 2018) that started from public ImageNet weights; ``auscult train
sound-pictures`` trained its last layer on things that sound. ``pictures.csv`` has a row for each that it knows, named
in words that ``read_prompt`` reads.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.language.lexicon import stem
from auscult.nets.onnx_session import HINT, check_outputs, open_session, read_network
from auscult.types import DOMAINS, Doubles, Floats, Frame, Frames

SentenceEncoder: TypeAlias = Callable[[Sequence[str]], Doubles]
"""Texts to vectors of length 1, float64 (n, d), as ``nets.hf_sentences.load_sentences`` gives."""
LEAST_COSINE: Final = 0.6
"""Least cosine at which a sentence encoder puts an unknown word to a class; not fitted to anything."""
MOST_WORDS: Final = 1000
"""Words of a prompt beyond these are not read."""
NEARBY: Final = 0.5
"""Weight of a class that is only wider than what was said, and of a named class's parent."""
_WIDE: Final = 10  # a parent of more classes than these, "Animal" say, tells nothing of what was named
_MOST_LETTERS: Final = 40  # of a word
_MOST_UNKNOWN: Final = 20
# What a "without" reaches no further than; and where what is said together ends.
_ENDS: Final = frozenset((*",;.!?:&+", "only", "just", "while", "with", "but", "whereas"))
_JOINS: Final = _ENDS | {"and", "or", "as", "behind", "over", "during", "when", "plus"}
_DENYING: Final = frozenset({"without", "no", "not", "except", "excluding", "minus", "ignoring", "removing"})
_DENYING_PAIRS: Final = frozenset(
    {
        *(("other", "than"), ("apart", "from"), ("instead", "of"), ("rather", "than"), ("free", "of")),
        *((word, "but") for word in ("all", "anything", "everything")),
    }
)
_GRAMMAR: Final = (
    "a an the this that these those it its his her their my your our some any and or of in on at by to for from as "
    "with while during into onto over under up down out off is are was be being been has have do does i me we you s t"
)
# Words that alone name no source: of sound and of asking for it, and of how, how many and where.
_NO_SOURCE: Final = (
    "all each every one ones near behind when than can who which there here only just very but nothing other apart "
    "instead rather free sound sounding noise audio recording track clip hear make making play playing made please "
    "isolate extract separate keep source target calling going running want "
    "loud loudly quiet quietly soft softly faint distant distance background foreground nearby close far left right "
    "slow slowly fast quick short long low high deep big small large little old young single several many few two three"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PromptWords:
    """What a prompt asks for."""

    # float32 (527,), 0..1, read-only: 1 for the classes that are named, and for all that a named class holds unless one
    # of these is named too; ``NEARBY`` for a parent, or a wider class. All 0 where nothing is known
    classes: Floats
    # words that name something which is not known, 20 at most; those of what was not wanted left out
    unknown: tuple[str, ...]
    domain: str  # ``speech``, ``music`` or ``sound``, of which most named classes are; empty where that is open


@dataclass(frozen=True, slots=True)
class _Phrase:
    stems: frozenset[str]
    at: int
    weight: float
    weak: bool


@dataclass(frozen=True, slots=True)
class _Table:
    names: tuple[str, ...]
    domains: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    below: tuple[frozenset[int], ...]  # all that a class holds
    phrases: dict[str, list[_Phrase]]  # by the first of their stems in alphabetical order


def class_names() -> tuple[str, ...]:
    """AudioSet's names of the 527 classes, in their order."""
    return _table().names


def read_prompt(text: str, *, sentences: SentenceEncoder | None = None) -> PromptWords:
    """What a prompt asks for; of a longer match of words, ``car horn``, the shorter ones, ``car``, are left out.

    What follows ``without``, ``no``, ``except``, ``everything but`` and the like is not wanted. With a sentence encoder
    an unknown word gets the class whose name is nearest to it, weighted by its cosine, from ``LEAST_COSINE`` on.
    """
    words = _read(text[: MOST_WORDS * _MOST_LETTERS])
    if sentences is None or not words.unknown:
        return words
    cosines = sentences(words.unknown) @ _class_vectors(sentences).T
    unknown = tuple(word for word, row in zip(words.unknown, cosines, strict=True) if row.max() < LEAST_COSINE)
    reached = {int(row.argmax()): min(1.0, float(row.max())) for row in cosines if row.max() >= LEAST_COSINE}
    classes = words.classes.copy()
    for index, cosine in reached.items():
        classes[index] = max(float(classes[index]), cosine)
    return PromptWords(classes=_kept(classes), unknown=unknown, domain=words.domain or _domain(reached))


@lru_cache(maxsize=2)
def _class_vectors(sentences: SentenceEncoder) -> Doubles:
    return sentences(class_names())


@lru_cache(maxsize=1024)
def _read(text: str) -> PromptWords:
    clauses = [[(stem(word), word) for word in clause] for clause in _wanted(text)]
    words = {stemmed: word for clause in clauses for stemmed, word in clause}
    phrases = [phrase for first in words for phrase in _table().phrases.get(first, ()) if phrase.stems <= words.keys()]
    explained = _grammar().union(_no_source(), *(phrase.stems for phrase in phrases))
    classes = _named(phrases, [frozenset(stemmed for stemmed, _ in clause) for clause in clauses])
    unknown = tuple(word[:_MOST_LETTERS] for stemmed, word in words.items() if stemmed not in explained)[:_MOST_UNKNOWN]
    return PromptWords(classes=_weights(classes), unknown=unknown, domain=_domain(classes))


def _wanted(text: str) -> list[list[str]]:
    """The words of each clause, in small letters, without what is said not to be wanted."""
    clauses: list[list[str]] = [[]]
    denied, last = False, ""
    plain = re.sub(r"[\"'`“”()\[\]/_-]", " ", text.casefold().replace("’", "'").replace("n't", " not"))
    for word in re.findall(r"[,;.!?:&+]|[^\s,;.!?:&+]+", plain)[:MOST_WORDS]:
        if word in _DENYING or (last, word) in _DENYING_PAIRS:
            denied = True
        elif word in _ENDS:
            denied = False
        if word in _JOINS:
            clauses.append([])
        elif not denied:
            clauses[-1].append(word)
        last = word
    return clauses


def _named(phrases: Sequence[_Phrase], clauses: Sequence[frozenset[str]]) -> dict[int, float]:
    """The classes that matching phrases name, and their weights."""
    sizes = {phrase.stems for phrase in phrases}
    longest = [phrase for phrase in phrases if not any(phrase.stems < other for other in sizes)]
    firm = [phrase for phrase in longest if not phrase.weak]
    clear = frozenset().union(*(phrase.stems for phrase in firm))
    weights: dict[int, float] = {}
    for phrase in longest:
        alone = any(phrase.stems <= clause and not clause & clear for clause in clauses)
        if not phrase.weak or alone or any(_related(phrase.at, other.at) for other in firm):
            weights[phrase.at] = max(weights.get(phrase.at, 0.0), phrase.weight)
    return weights


def _related(one: int, other: int) -> bool:
    below = _table().below
    return one == other or one in below[other] or other in below[one]


def _weights(classes: dict[int, float]) -> Floats:
    table = _table()
    weights = np.zeros(len(table.names), np.float32)
    exact = {index for index, weight in classes.items() if weight == 1}
    for index, weight in classes.items():
        narrower = table.below[index] if index in exact and not table.below[index] & exact else ()
        parents = table.parents[index] if index in exact else ()
        wider = [parent for parent in parents if len(table.below[parent]) <= _WIDE]
        for others, value in ((narrower, 1.0), (wider, NEARBY), ((index,), weight)):
            for other in others:
                weights[other] = max(weights[other], value)
    return _kept(weights)


def _domain(classes: dict[int, float]) -> str:
    domains, below = _table().domains, _table().below
    leaves = {index: weight for index, weight in classes.items() if not below[index] & classes.keys()}
    shares = {domain: sum(weight for index, weight in leaves.items() if domains[index] == domain) for domain in DOMAINS}
    strongest = [domain for domain, share in shares.items() if share and share == max(shares.values())]
    return strongest[0] if len(strongest) == 1 else ""


def _kept(classes: Floats) -> Floats:
    classes.setflags(write=False)
    return classes


@cache
def _grammar() -> frozenset[str]:
    return frozenset(map(stem, _GRAMMAR.split()))


@cache
def _no_source() -> frozenset[str]:
    return frozenset(map(stem, _NO_SOURCE.split()))


@cache
def _table() -> _Table:
    text = Path(__file__).with_name("classes.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    numbers = {row["name"]: number for number, row in enumerate(rows)}
    parents = tuple(tuple(numbers[name] for name in row["parents"].split(";") if name) for row in rows)
    below: list[set[int]] = [set() for _ in rows]
    for number in range(len(rows)):
        for above in _above(number, parents):
            below[above].add(number)
    phrases: dict[str, list[_Phrase]] = {}
    for number, row in enumerate(rows):
        for phrase in _phrases(row, number):
            phrases.setdefault(min(phrase.stems), []).append(phrase)
    domains = tuple(row["domain"] for row in rows)
    return _Table(tuple(numbers), domains, parents, tuple(map(frozenset, below)), phrases)


def _above(number: int, parents: Sequence[Iterable[int]]) -> Iterator[int]:
    for parent in parents[number]:
        yield parent
        yield from _above(parent, parents)


def _phrases(row: dict[str, str], number: int) -> Iterator[_Phrase]:
    for column, weight in (("words", 1.0), ("wider_than", NEARBY)):
        for words in filter(None, row[column].split(";")):
            stems = frozenset(map(stem, words.removeprefix("?").replace("-", " ").replace("'", " ").split()))
            yield _Phrase(stems - _grammar() or stems, number, weight, words.startswith("?"))


SIDE: Final = 224
NETWORK: Final = Path(__file__).with_name("pictures.onnx")
LEAST_PROBABILITY: Final = 0.847
"""Least probability at which a thing counts as shown: 9 of 10 are then right on the recipe's calibration part."""
_MOST_FRAMES: Final = 4
_BLACK: Final = 16  # grey levels; JPEG does not leave blanked pixels at 0
_BLANKED: Final = 0.25  # share of such pixels from which on a picture counts as blanked but for the thing that is meant
_GREY: Final = 127


def things() -> tuple[str, ...]:
    """The things that the network knows, in its order."""
    return tuple(row["name"] for row in table())


def picture_classes(frames: Frames) -> Floats | None:
    """The classes of what frames or a photograph show, uint8 RGB (T, H, W, 3): float32 (527,), 0..1.

    They are those of a prompt that names the thing; None where the network is not sure of one.
    """
    chances = probabilities(frames).mean(axis=0)
    best = int(chances[1:].argmax())
    return read_prompt(things()[best]).classes if chances[1 + best] >= LEAST_PROBABILITY else None


def probabilities(frames: Frames) -> Floats:
    """Of each thing in at most 4 frames, evenly drawn, float32 (n, 1 + things); the first is of anything else."""
    indices = np.unique(np.linspace(0, len(frames) - 1, min(_MOST_FRAMES, len(frames))).round().astype(int))
    pictures = np.stack([as_seen(frames[index]) for index in indices]).transpose(0, 3, 1, 2)
    chances = np.asarray(_session().run(["things"], {"pictures": scaled(pictures)})[0])
    check_outputs({"things": chances}, {"things": (1 + len(things()),)}, count=len(indices), hint=HINT, path=NETWORK)
    return chances


def as_seen(frame: Frame) -> NDArray[np.uint8]:
    """What the network sees of a frame: what is not blanked, padded to a square of ``SIDE`` pixels."""
    visible = frame.max(axis=2) > _BLACK
    if visible.any() and visible.mean() < 1 - _BLANKED:
        rows, columns = np.flatnonzero(visible.any(axis=1)), np.flatnonzero(visible.any(axis=0))
        frame = frame[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = frame.shape[:2]
    scale = SIDE / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    square = np.full((SIDE, SIDE, 3), _GREY, np.uint8)
    top, left = (SIDE - size[1]) // 2, (SIDE - size[0]) // 2
    square[top : top + size[1], left : left + size[0]] = small
    return square


def scaled(pictures: NDArray[np.uint8]) -> Floats:
    """Pictures as the network takes them, float32 in -1..1."""
    return pictures.astype(np.float32) / np.float32(127.5) - np.float32(1)


@cache
def _session() -> Any:
    return open_session(read_network(NETWORK), NETWORK)


@cache
def table() -> tuple[dict[str, str], ...]:
    """The rows of ``pictures.csv``: name, labels of ImageNet that mean it, words of other collections that do."""
    lines = NETWORK.with_suffix(".csv").read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(lines))


def imagenet_labels(row: dict[str, str]) -> Iterator[int]:
    """The labels of ImageNet's 1000 that a row lists."""
    for part in filter(None, row["imagenet"].split(";")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
