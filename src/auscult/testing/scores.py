"""The laws of scores: signed, in a known direction, repeatable, pure, and no number where there is nothing.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    def test_contract(check):
        check(registry.load("score", "masks.iou.v1"))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from auscult.arrays.boxes import FrameBoxes, SoundingBoxes
from auscult.errors import InputError
from auscult.outcome import Scored, Undefined
from auscult.score.masks import SentenceAreas
from auscult.testing import ContractBroken, require
from auscult.types import Doubles, Mask, ScoreInput, ScoreSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreExample:
    """Arguments of one kind of input.

    Attributes:
        names: What the positional arguments are called; a plural's s may follow.
        usual: A prediction that is partly right.
        best: One that is the truth.
        worst: One that is as wrong as can be.
        unequal: Arguments that do not fit one another; None where there is one alone.
        nothing: No item at all; None where one frame is the item.
        named: Keyword arguments that a score may ask for.
        bounded: Whether the best there is is 1, or 0; otherwise ``best`` is nearly the truth.
    """

    names: tuple[str, ...]
    usual: tuple[Any, ...]
    best: tuple[Any, ...]
    worst: tuple[Any, ...]
    unequal: tuple[Any, ...] | None = None
    nothing: tuple[Any, ...] | None = None
    named: Mapping[str, Any] = field(default_factory=dict)
    bounded: bool = True


def _square(top: int, left: int) -> Mask:
    mask = np.zeros((30, 40), np.bool_)
    mask[top : top + 12, left : left + 16] = True
    mask.flags.writeable = False
    return mask


def _examples() -> dict[ScoreInput, ScoreExample]:
    truth, near, off, none = _square(8, 10), _square(10, 12), _square(9, 20), np.zeros((30, 40), np.bool_)
    clip, moved, empty = (np.stack([mask] * 3) for mask in (truth, near, none))
    maps, mixed = (np.where(mask, 3, 0).astype(np.uint8) for mask in (clip, moved))
    pair = ("prediction", "truth")
    estimates, values = np.array([0.9, 0.6, 0.4, 0.1]), np.array([0.8, 0.5, 0.6, 0.2])
    order, turned = np.array([0.1, 0.2, 0.6, 0.9]), np.array([0.9, 0.6, 0.2, 0.1])
    marks, labels = np.array([False, False, True, True]), ("erode", "dilate", "erode", "merge")
    classes = ("erode", "dilate", "merge")
    return {
        "masks": ScoreExample(
            names=pair, usual=(near, truth), best=(truth, truth), worst=(none, truth), unequal=(near.T, truth)
        ),
        "mask lists": ScoreExample(
            names=pair, usual=([truth, near], [truth, truth]), best=([truth], [truth]), worst=([none], [truth]),
            unequal=([near, near], [truth]), nothing=([], []),
        ),
        "clips": ScoreExample(
            names=pair, usual=(moved, clip), best=(clip, clip), worst=(empty, clip), unequal=(moved[:2], clip),
            nothing=(clip[:0], clip[:0]),
        ),
        "soft clips": ScoreExample(
            names=pair, usual=([moved], [clip]), best=([clip], [clip]), worst=([empty], [clip]),
            unequal=([moved], [clip, clip]), nothing=([], []),
        ),
        "null clips": ScoreExample(
            names=("prediction",), usual=([moved],), best=([empty],), worst=([~empty],), nothing=([],)
        ),
        "class maps": ScoreExample(
            names=pair, usual=([mixed], [maps]), best=([maps], [maps]), worst=([3 - maps], [maps]),
            unequal=([mixed], [maps, maps]), nothing=([], []),
        ),
        "sentences": ScoreExample(
            names=("sentence",),
            usual=(_sentences((truth, off, none), (off, none)),),
            best=(_sentences((truth, truth, truth), (none, none)),),
            worst=(_sentences((_square(0, 26), none, none), (~none, ~none)),),
            nothing=([],),
        ),
        "numbers": ScoreExample(
            names=pair, usual=(estimates, values), best=(order, order), worst=(turned, order),
            unequal=(estimates, values[:2]), nothing=([], []), named={"videos": "aabb"},
        ),
        "marks": ScoreExample(
            names=("score", "positive"), usual=(np.array([0.1, 0.7, 0.6, 0.9]), marks), best=(order, marks),
            worst=(turned, marks), unequal=(order, marks[:2]), nothing=([], []),
        ),
        "labels": ScoreExample(
            names=("predicted", "true", "classes"), usual=(("erode", "merge", "erode", "erode"), labels, classes),
            best=(labels, labels, classes), worst=(("merge", "erode", "merge", "dilate"), labels, classes),
            unequal=(labels[:2], labels, classes), nothing=((), (), classes), named={"videos": "aabb"},
        ),
        **_answers(),
        **_sounds(),
    }  # fmt: skip


def _sounds() -> dict[ScoreInput, ScoreExample]:
    """A stem of noise under an envelope and another; estimates that hold more and more else."""
    draws = np.random.default_rng(8).standard_normal((3, 24_000)).astype(np.float32)
    stem, other, else_ = draws * np.array([[0.1], [0.05], [0.02]], np.float32)
    stem *= 1 + np.sin(np.arange(stem.size, dtype=np.float32) / 900)
    estimates = {amount: stem + np.float32(amount) * (other + else_) for amount in (0.001, 0.3, 3.0)}
    usual, best, worst = estimates[0.3], estimates[0.001], estimates[3.0]
    options = {"rate_hz": 16_000}
    kinds: dict[ScoreInput, tuple[tuple[str, str], Any]] = {
        "sounds": (("estimate", "stem"), stem),
        "sound and stems": (("estimate", "stems"), (stem, other)),
    }
    return {
        kind: ScoreExample(
            names=names, usual=(usual, truth), best=(best, truth), worst=(worst, truth), unequal=(usual[:9000], truth),
            named=options, bounded=False,
        )
        for kind, (names, truth) in kinds.items()
    } | _sounds_otherwise(stem)  # fmt: skip


def _sounds_otherwise(noise: Any) -> dict[ScoreInput, ScoreExample]:
    """Noise that sounds from half a second on, for half a second; and embeddings around others."""
    spans = [(0.5, 1.0)]
    cut = [
        np.concatenate([0 * noise[:start], noise[start:end], 0 * noise[end:]])
        for start, end in ((8000, 16_000), (0, 16_000), (20_000, 24_000))
    ]
    vectors = np.random.default_rng(9).standard_normal((2, 40, 3))
    return {
        "sound and spans": ScoreExample(
            names=("estimate", "span"), usual=(cut[1], spans), best=(cut[0], spans), worst=(cut[2], spans),
            unequal=(cut[0], [(0.5, 9.0)]), named={"rate_hz": 16_000}, bounded=False,
        ),
        "embeddings": ScoreExample(
            names=("estimate", "stem"), usual=(vectors[0] + 1, vectors[1]), best=(vectors[0], vectors[0]),
            worst=(vectors[0] + 3, vectors[1]), unequal=(vectors[0], vectors[1, :, :2]), nothing=([], []),
            bounded=False,
        ),
    }  # fmt: skip


def _answers() -> dict[ScoreInput, ScoreExample]:
    """Answers of a few samples, by what they hold."""
    boxes = [("dog_1", (2.0, 2.0, 12.0, 12.0)), ("dog_2", (20.0, 2.0, 30.0, 12.0))]
    labelled = [(name.split("_")[0], box) for name, box in boxes]
    shares = [(name, (box[0] / 40, box[1] / 20, box[2] / 40, box[3] / 20)) for name, box in labelled]
    sounding = [SoundingBoxes(width=40, height=20, boxes=labelled)]
    frames, visible = [FrameBoxes(width=40, height=20, boxes=(labelled[0][1], None))], shares[0][1]
    off = (visible[0] + 0.05, *visible[1:])
    kinds: dict[ScoreInput, tuple[Any, Any, Any, Any]] = {
        "words": (["red", "not sure"], ["red", "blue"], ["no", "no"], ["red", "blue"]),
        "word lists": ([("a", "b"), ("a",)], [("b", "a"), ("c",)], [(), ()], [("b", "a"), ("c",)]),
        "confirmed words": (
            [("red", "yes"), ("no", "yes")], [("red", "yes"), ("blue", "yes")], [("no", "no")] * 2,
            [("red", "yes"), ("blue", "yes")],
        ),
        "counts": ([{"dog": 2, "cat": 1}], [{"dog": 3}], [{}], [{"dog": 3}]),
        "index lists": ([(4, 1)], [(1, 2)], [(7,)], [(1, 2)]),
        "sounding boxes": ([shares[:1]], sounding, [()], [shares]),
        "frame boxes": ([(off, None)], frames, [(None, visible)], [(visible, None)]),
    }  # fmt: skip
    return {
        kind: ScoreExample(
            names=("prediction", "truth"), usual=(usual, truth), best=(best, truth), worst=(worst, truth),
            unequal=([*usual, *usual], truth), nothing=([], []),
        )
        for kind, (usual, truth, worst, best) in kinds.items()
    } | {"captions": _captions()}  # fmt: skip


def _captions() -> ScoreExample:
    """Captions of two samples, whose sentence vector counts their words and whose fluency is that none is repeated."""
    truth = [["a dog barks at a red car"], ["two bells ring in the old tower"]]
    usual = ["a dog barks barks at night", "bells ring in a tower"]
    words = sorted({word for texts in (usual, *truth) for text in texts for word in text.split()})

    def sentences(texts: Sequence[str]) -> Doubles:
        return np.array([[float(text.split().count(word)) for word in words] for text in texts])

    def fluency(texts: Sequence[str]) -> Doubles:
        return np.array([float(any(first == second for first, second in pairwise(text.split()))) for text in texts])

    return ScoreExample(
        names=("prediction", "truth"), usual=(usual, truth), best=([caption for caption, in truth], truth),
        worst=(["nothing", "nobody"], truth), unequal=([*usual, *usual], truth), nothing=([], []),
        named={"sentences": sentences, "fluency": fluency},
    )  # fmt: skip


def _sentences(positive: tuple[Mask, ...], negative: tuple[Mask, ...]) -> list[SentenceAreas]:
    """The sentences of a reference, by the masks that are painted for them."""
    painted = [(mask, _square(8, 10)) for mask in positive] + [(mask, None) for mask in negative]
    return [
        SentenceAreas.of(mask, truth, reference=0, id=number, picture=0) for number, (mask, truth) in enumerate(painted)
    ]


_CLOSE: Final = 1e-6  # releases add as little to what they divide by
EXAMPLES: Final[Mapping[ScoreInput, ScoreExample]] = _examples()


def describes_itself(spec: ScoreSpec) -> None:
    """It says what it is, what truth it needs and which end is better."""
    require(isinstance(spec, ScoreSpec), "is a ScoreSpec")
    texts = (spec.meta.summary, spec.meta.goal, spec.meta.modality, spec.meta.source, spec.meta.truth)
    require(all(texts), "summary, goal, modality, source and truth are not empty")
    require(spec.meta.higher_is_better is not None, "says which end is better")
    require(spec.takes in EXAMPLES, f"takes one of: {', '.join(EXAMPLES)}")


def is_signed_repeatable_and_pure(spec: ScoreSpec) -> None:
    """The same arguments give the same finite number with its signature, and are left alone."""
    arguments = EXAMPLES[spec.takes].usual
    before = deepcopy(arguments)
    first, second = (_outcomes(spec, arguments, **spec.options) for _ in range(2))
    for name, outcome in first.items():
        require(isinstance(outcome, Scored), f"{name or 'it'} is a number where there is something to score")
        require(outcome.signature.as_dict().get("version"), "the signature names the version")
        require(len(outcome.signature.fields) > 1, "the signature says how it was made")
        require(math.isfinite(outcome.value), "the number is finite")
    require(_values(first) == _values(second), "the same arguments give the same number")
    require(_values(first) == _values(_outcomes(spec, arguments)), "its options are the defaults")
    require(_same(before, arguments), "its arguments are left alone")


def knows_good_from_bad(spec: ScoreSpec) -> None:
    """The truth is at the better end, where there is one, what is partly right is worse, and what is wrong is worst."""
    example, sign = EXAMPLES[spec.takes], 1 if spec.meta.higher_is_better else -1
    best, usual, worst = (_values(_outcomes(spec, inputs)) for inputs in (example.best, example.usual, example.worst))
    for name, value in best.items():
        end = 1.0 if sign > 0 else 0.0
        if example.bounded:
            require(math.isclose(value, end, abs_tol=_CLOSE), f"{name or 'it'} of the truth itself is the best")
        ordered = sign * np.array([value, usual[name], worst[name]])
        descending = (np.diff(ordered) <= 0).all() if not example.bounded else (np.diff(ordered) < 0).all()
        require(bool(descending), f"{name or 'it'} tells good from bad")
    require(best != usual != worst, "some of it differs between good and bad")


def refuses_what_does_not_fit(spec: ScoreSpec) -> None:
    """Prediction and truth of other shapes or numbers are an error that says so."""
    arguments = EXAMPLES[spec.takes].unequal
    if arguments is None:
        return
    try:
        spec.function(*arguments, **_keywords(spec))
    except InputError as error:
        require(error.message and error.expected, "the error says what was given and what was expected")
        return
    raise ContractBroken("prediction and truth that do not fit are an InputError")


def gives_no_number_for_nothing(spec: ScoreSpec) -> None:
    """Without an item there is no number."""
    arguments = EXAMPLES[spec.takes].nothing
    if arguments is None:
        return
    keywords = {name: value if callable(value) else value[:0] for name, value in _keywords(spec).items()}
    try:
        outcomes = _mapped(spec.function(*arguments, **keywords))
    except InputError:
        return
    require(all(isinstance(outcome, Undefined) for outcome in outcomes.values()), "of no item it is Undefined")


CHECKS: Final[tuple[Callable[[ScoreSpec], None], ...]] = (
    describes_itself,
    is_signed_repeatable_and_pure,
    knows_good_from_bad,
    refuses_what_does_not_fit,
    gives_no_number_for_nothing,
)


def _outcomes(spec: ScoreSpec, arguments: tuple[Any, ...], **options: Any) -> Mapping[str, Any]:
    return _mapped(spec.function(*arguments, **_keywords(spec), **options))


def _mapped(result: Any) -> Mapping[str, Any]:
    return result if isinstance(result, Mapping) else {"": result}


def _keywords(spec: ScoreSpec) -> dict[str, Any]:
    """The keyword arguments that it cannot do without."""
    return {name: EXAMPLES[spec.takes].named[name] for name in spec.asked}


def _values(outcomes: Mapping[str, Any]) -> dict[str, float]:
    require(
        all(isinstance(outcome, Scored) for outcome in outcomes.values()),
        "it has a number where there is something to score",
    )
    return {name: outcome.value for name, outcome in outcomes.items()}


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)
