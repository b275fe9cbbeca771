"""Pairs of a sentence and a candidate mask, with the truth: what the check is calibrated on, and measured on.

How often the check is right is told against the truth of scenes that it never saw, and against a guess without words.
Frames to learn from are drawn from scenes of stamps, photographs and generated things, and packed into shards on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.errors import InputError
from auscult.judge.identity.scenes import centre_and_share, crop_window, cut
from auscult.judge.identity.scenes_text import Vocabulary
from auscult.language.forms import Expression
from auscult.outcome import Scored, Undefined
from auscult.rng import generator, pick
from auscult.scenes.appearance.colours import COLOURS
from auscult.scenes.appearance.scenery import TEXTURES
from auscult.scenes.draw import RenderedScene, Stage
from auscult.scenes.facts import SHOWS, TARGET_SHARE, facts_of, say, targets_of
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan, choose
from auscult.scenes.sound.generated import KINDS
from auscult.scenes.splits import GENERATED, Assets, Shelf, divide, open_bundle
from auscult.score import stats
from auscult.stress.masks import bands, cutout, negatives
from auscult.stress.masks.base import MaskStressor
from auscult.train import stamps
from auscult.train.material import SplitName, committed
from auscult.types import Case, Difficulty, Frame, IdentityCheck, Mask, MaskTarget, Prediction, Query

AssetPart: TypeAlias = Literal["train", "test_s", "test_u"]
AssetSource: TypeAlias = tuple[Assets, Shelf]

_DONE: Final = ".laid-out"


def lay_out(data: Path, out: Path, part: SplitName) -> Path:
    """Copy the stamps, and the photographs of one part, as a folder that `make scenes --assets` takes."""
    root = out / f"assets-{part}"
    if not (root / _DONE).is_file():
        try:
            stamps.lay_out(data, root, photographs=committed()["coco"][part])
            (root / _DONE).touch()
        except OSError as error:
            raise InputError(
                f"the stamps cannot be laid out: {error.strerror}",
                expected="the stamps, sounds and COCO photographs that DATA.md lists",
                path=error.filename or data,
            ) from error
    return root


def stamps_on(root: Path, kinds: Sequence[AssetPart]) -> tuple[AssetSource, ...]:
    """The stamps of some kinds, on every photograph of a folder that ``lay_out`` made; the folder is opened once.

    The photographs are already those of one part of the split, so the scenes' own division of them is not used; that of
    the cut-outs is.
    """
    assets, _ = open_bundle(root)
    shelves = divide(assets, wanted=kinds)
    return tuple((assets, replace(shelves[kind], backgrounds=assets.looks.backgrounds())) for kind in kinds)


def painted(kind: AssetPart) -> AssetSource:
    """The generated things and backgrounds of one kind."""
    return GENERATED, divide(GENERATED, wanted=(kind,))[kind]


def vocabulary(sources: Sequence[AssetSource]) -> Vocabulary:
    """The words of what is trained on.

    A voice has a maker only where it follows from the thing: the generated voices are handed out by chance.
    """
    categories = {name for _, shelf in sources for name in shelf.categories}
    return Vocabulary(
        categories=tuple(sorted(categories)),
        colours=tuple(COLOURS),
        textures=tuple(sorted(TEXTURES)),
        voices=(*((kind.noun, kind.verb, "") for kind in KINDS.values()), *_own_voices(sources, categories)),
    )


def _own_voices(sources: Sequence[AssetSource], categories: set[str]) -> list[tuple[str, str, str]]:
    """Voices that one seen category alone has, of those that sound with their own."""
    by_chance = {kind.noun for kind in KINDS.values()}
    makers: dict[tuple[str, str], set[str]] = {}
    for assets, _ in sources:
        words: Mapping[str, tuple[str, str]] = getattr(assets.sounds, "words", {}) if assets.own_voices else {}
        for label, voice in words.items():  # unseen things too: what bleats may be a lamb
            makers.setdefault(voice, set()).add(label)
    return [
        (noun, verb, next(iter(labels)) if len(labels) == 1 and labels <= categories else "")
        for (noun, verb), labels in sorted(makers.items())
        if noun not in by_chance
    ]


CROP: Final = 80
"""Side of a kept crop; training takes a part of it, turned and shifted."""

SIZES: Final = ((288, 512), (288, 512), (320, 448), (384, 384), (448, 320))
"""(height, width) that scenes are drawn at; the network sees half of it, about as many pixels for each."""

SHOTS: Final = 2
MARGIN: Final = 1.5
"""Side of a kept crop against the longer side of the thing's box."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shard:
    """Frames of one size."""

    frames: NDArray[np.uint8]  # uint8 (n, h, w, 3)
    things: NDArray[np.int32]  # int32 (m, 4): frame, category, colour, texture; -1 where there is no word
    # float32 (m, 3): x and y of the visible centre and share of the picture, each of the whole
    places: NDArray[np.float32]
    crops: NDArray[np.uint8]  # uint8 (m, CROP, CROP, 4): RGB, and a mask: bit 0 the thing, bit 1 other things


def draw_shard(source: AssetSource, number: int, *, seed: int, scenes: int, words: Vocabulary) -> Shard:
    """Draw one shard: ``SHOTS`` frames of each scene at chance times."""
    assets, shelf = source
    options = SceneOptions(size=SIZES[number % len(SIZES)])
    frames: list[NDArray[np.uint8]] = []
    things: list[tuple[int, int, int, int]] = []
    places: list[tuple[float, float, float]] = []
    crops: list[NDArray[np.uint8]] = []
    for scene in range(number * scenes, (number + 1) * scenes):
        plan = choose(seed, scene, assets=assets, shelves={"train": shelf}, options=options)
        stage = Stage(plan, assets.looks)
        times = generator(seed, "matcher", scene, "times").uniform(0, plan.seconds, SHOTS)
        for time_s in np.sort(times):
            shot = stage.at(float(time_s))
            for index, mask in enumerate(shot.visible):
                if np.count_nonzero(mask) < SHOWS * mask.size:
                    continue
                things.append((len(frames), *_named(plan, index, words)))
                places.append(centre_and_share(mask))
                crops.append(_cropped(shot, index))
            height, width = options.size
            half = cv2.resize(shot.frame, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
            frames.append(np.asarray(half, dtype=np.uint8))
    return Shard(
        frames=np.stack(frames),
        things=np.array(things, np.int32),
        places=np.array(places, np.float32),
        crops=np.stack(crops),
    )


def _named(plan: ScenePlan, index: int, words: Vocabulary) -> tuple[int, int, int]:
    look = plan.objects[index].look
    return (
        _index(words.categories, look.category),
        _index(words.colours, look.colour),
        _index(words.textures, look.texture),
    )


def _index(words: Sequence[str], word: str | None) -> int:
    return words.index(word) if word in words else -1


def _cropped(shot: RenderedScene, index: int) -> NDArray[np.uint8]:
    mask = shot.visible[index]
    others = np.any([other for number, other in enumerate(shot.visible) if number != index], axis=0)
    box = box_of(mask)
    if box is None:
        raise ValueError("a thing that is seen has a box")
    window = crop_window(box, margin=MARGIN)
    layers = mask.astype(np.uint8) | (2 * np.broadcast_to(others, mask.shape).astype(np.uint8))
    rgb = cut(shot.frame, window, CROP)
    part = [cut(np.where(layers & bit, 255, 0).astype(np.uint8), window, CROP) >= 128 for bit in (1, 2)]
    return np.dstack([rgb, part[0].astype(np.uint8) | 2 * part[1].astype(np.uint8)])


def save(shard: Shard, path: Path) -> None:
    """Write a shard, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part.npz")
    np.savez(unfinished, **{field.name: getattr(shard, field.name) for field in fields(Shard)})
    unfinished.replace(path)


def load(path: Path) -> Shard:
    """Read a shard that ``save`` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        return Shard(**{field.name: arrays[field.name] for field in fields(Shard)})


PairKind: TypeAlias = Literal["perfect", "cutout", "dilate", "erode", "merge", "other"]

_DEFECTS: Final[dict[str, MaskStressor[Any]]] = {
    "cutout": cutout.STRESSOR,
    "dilate": bands.DILATE,
    "erode": bands.ERODE,
    "merge": negatives.MERGE,
}
_MOST_EXPRESSIONS: Final = 3
_DIFFICULTIES: Final[tuple[Difficulty, ...]] = ("hard", "medium")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SentencePair:
    """A sentence and a candidate on one frame."""

    scene: int  # the scene's number; pairs of one scene are one cluster
    frame: Frame  # uint8 RGB (H, W, 3)
    mask: Mask  # the candidate, bool (H, W)
    text: str
    family: str
    kind: PairKind  # what the candidate is: a defect of the named thing, or another thing
    alike: bool  # a thing of the named one's category is in the frame besides
    kept: float  # share of the candidate that lies on the named thing
    null: bool = False  # the sentence names nothing in the scene

    @property
    def matches(self) -> bool:
        """Whether the named thing is in the mask."""
        return self.kind != "other"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyFrameSentence:
    """A sentence about one key frame, and visible masks and categories of the things on it that are large enough.

    Its target is among them, or it is a null expression.
    """

    expression: Expression
    frame: Frame
    masks: Mapping[str, Mask]
    categories: Mapping[str, str]

    @property
    def alike(self) -> tuple[str, ...]:
        """Things of the target's category besides it."""
        target = self.expression.target
        if target is None:
            return ()
        category = self.categories[target]
        return tuple(name for name in self.masks if name != target and self.categories[name] == category)


def pairs_of(source: AssetSource, scene: int, *, seed: int, options: SceneOptions) -> Iterator[SentencePair]:
    """Candidates for expressions of a scene, each at a key frame: the named thing, a defect of it, another thing."""
    rng = generator(seed, "pairs", scene)
    for sentence in key_frame_sentences(source, scene, seed=seed, options=options, nulls=1, rng=rng):
        yield from _candidates(rng, sentence, scene=scene)


def key_frame_sentences(
    source: AssetSource, scene: int, *, seed: int, options: SceneOptions, nulls: int, rng: np.random.Generator
) -> Iterator[KeyFrameSentence]:
    """Referring expressions of one scene, each at one of its key frames, with at most ``nulls`` null expressions."""
    assets, shelf = source
    plan = choose(seed, scene, assets=assets, shelves={"train": shelf}, options=options)
    shots = Stage(plan, assets.looks).key_shots()
    facts = facts_of(plan, shots)
    targets = targets_of(plan, shots) & {thing.id for thing in plan.objects if thing.look.category in shelf.targets}
    categories = {thing.id: thing.look.category for thing in plan.objects}
    for expression in say(rng, facts, targets=targets, most=_MOST_EXPRESSIONS, nulls=nulls):
        visible = [(shot, _visible_masks(plan, shot)) for shot in shots]
        usable = [(shot, masks) for shot, masks in visible if masks and expression.target in {None, *masks}]
        if usable:
            shot, masks = pick(rng, usable)
            yield KeyFrameSentence(expression=expression, frame=shot.frame, masks=masks, categories=categories)


def _visible_masks(plan: ScenePlan, shot: RenderedScene) -> dict[str, Mask]:
    """Visible masks of the things of a key frame that are large enough, by id."""
    masks = zip(plan.objects, shot.visible, strict=True)
    return {planned.id: mask for planned, mask in masks if np.count_nonzero(mask) >= TARGET_SHARE * mask.size}


def _candidates(rng: np.random.Generator, sentence: KeyFrameSentence, *, scene: int) -> Iterator[SentencePair]:
    masks, expression = sentence.masks, sentence.expression
    others = [name for name in masks if name != expression.target]
    variants: list[tuple[PairKind, Mask]] = []
    if others:
        pool = sentence.alike if sentence.alike and rng.random() < 0.7 else others
        variants.append(("other", masks[pick(rng, pool)]))
    if expression.target is not None:
        target = masks[expression.target]
        variants += [("perfect", target), *_defect(rng, target, tuple(masks[name] for name in others))]
    for kind, mask in variants:
        share = (
            0.0
            if expression.target is None
            else np.count_nonzero(mask & masks[expression.target]) / np.count_nonzero(mask)
        )
        yield SentencePair(
            scene=scene,
            frame=sentence.frame,
            mask=mask,
            text=expression.text,
            family=expression.family,
            kind=kind,
            alike=bool(sentence.alike),
            kept=float(share),
            null=expression.target is None,
        )


def _defect(rng: np.random.Generator, target: Mask, others: tuple[Mask, ...]) -> Iterator[tuple[PairKind, Mask]]:
    """One defect of the target, of those that it allows."""
    kinds: tuple[PairKind, ...] = ("cutout", "dilate", "erode", "merge")
    stressor = _DEFECTS[kind := pick(rng, kinds)]
    difficulty = _DIFFICULTIES[int(rng.integers(2))]
    mask_target = MaskTarget(mask=target, others=others)
    params = stressor.choose(rng, mask_target, difficulty=difficulty)
    if not isinstance(params, Undefined):
        mask = stressor.render(mask_target, params)
        if mask.any():
            yield kind, mask


_DIGITS: Final = 4
_STEPS: Final = 60
_HALVINGS: Final = 20
_FLATTEST: Final = 0.05
_PULL: Final = 1.0  # towards slope 1 and offset 0, as much as one pair weighs
_EDGE: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    """The check's answer on a pair: the probability of a match, None where it gave none."""

    pair: SentencePair
    match: float | None


def answers(check: IdentityCheck, pairs: Iterable[SentencePair]) -> list[CheckAnswer]:
    """Ask the check about every pair; the candidate is shown alone."""
    checked = []
    for pair in pairs:
        case = Case(id=str(pair.scene), frame=pair.frame, query=Query(pair.text))
        result = check(case, Prediction(mask=pair.mask))
        checked.append(CheckAnswer(pair=pair, match=None if result is None else result.match))
    return checked


def numbers(checked: Sequence[CheckAnswer]) -> dict[str, Any]:
    """The numbers of a set: ``n``; ``answered``, their share; and of those how many rightly.

    ``auc`` is the chance that a right mask gets a higher match than a wrong one; ``right`` the share called rightly at
    one half, with ``merge`` counted as right masks; ``wrong_found`` and ``right_kept`` the shares of wrong masks called
    wrong and of right ones called right; ``f2_wrong`` F2 of calling a mask wrong; ``f2_blind`` the same for who calls
    every mask wrong, the best that can be done without words where right and wrong masks look alike. None where there
    is no such mask.
    """
    answered = [answer for answer in checked if answer.match is not None]
    match = np.array([answer.match for answer in answered], np.float64)
    truth = np.array([answer.pair.matches for answer in answered], bool)
    called = match >= 0.5
    return {
        "n": len(checked),
        "answered": round(len(answered) / len(checked), _DIGITS) if checked else None,
        "auc": _number(stats.auc(match, truth)),
        "right": _mean(called == truth),
        "wrong_found": _mean(~called[~truth]),
        "right_kept": _mean(called[truth]),
        "f2_wrong": _f2(~called, ~truth),
        "f2_blind": _f2(np.ones(len(answered), bool), ~truth),
    }


def tables(checked: Sequence[CheckAnswer]) -> dict[str, dict[str, Any]]:
    """Numbers of the whole set, of what one frame can decide, with and without a thing alike, by family and defect."""
    positives = [answer for answer in checked if not answer.pair.null]
    decidable = [answer for answer in positives if answer.pair.family in DECIDABLE]
    result = {
        "all": numbers(checked),
        "decidable": numbers(decidable),
        "decidable, alike": numbers([answer for answer in decidable if answer.pair.alike]),
        "nulls": numbers([answer for answer in checked if answer.pair.null]),
    }
    for name in sorted({answer.pair.family for answer in positives}):
        result[f"family {name}"] = numbers([answer for answer in positives if answer.pair.family == name])
    for kind in sorted({answer.pair.kind for answer in positives}):
        result[f"kind {kind}"] = numbers([answer for answer in decidable if answer.pair.kind == kind])
    return result


DECIDABLE: Final = frozenset({"category", "colour", "texture", "size", "position", "relation"})
"""Families that one frame decides, as far as its things are known: what is left needs time or sound."""


def fit_curve(raw: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Slope and offset of a logistic curve on the logit of the raw match, by Newton's method."""
    inside = np.clip(raw, _EDGE, 1 - _EDGE)
    logit = np.log(inside / (1 - inside))
    inputs = np.stack([logit, np.ones_like(logit)], axis=1)
    weights = _descended(inputs, truth, np.array([1.0, 0.0]))
    if weights[0] < _FLATTEST:
        weights = np.array([_FLATTEST, 0.0])  # the evidence is uninformative, or contradicts the truth
    return float(weights[0]), float(weights[1]), _loss(inputs, truth, weights) / max(1, len(truth))


def _descended(
    inputs: NDArray[np.float64], truth: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Newton's method, with steps that are halved until they help."""
    prior = weights
    for _ in range(_STEPS):
        predicted = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (predicted - truth) + _PULL * (weights - prior)
        bend = (inputs * (predicted * (1 - predicted))[:, None]).T @ inputs + _PULL * np.eye(2)
        step = np.linalg.solve(bend, slope)
        current = _loss(inputs, truth, weights) + _PULL / 2 * float(((weights - prior) ** 2).sum())
        for _ in range(_HALVINGS):
            trial = weights - step
            if _loss(inputs, truth, trial) + _PULL / 2 * float(((trial - prior) ** 2).sum()) <= current:
                break
            step = step / 2
        weights = weights - step
    return weights


def _loss(inputs: NDArray[np.float64], truth: NDArray[np.bool_], weights: NDArray[np.float64]) -> float:
    """Logarithmic loss of all pairs together."""
    value = inputs @ weights
    return float(np.logaddexp(0.0, np.where(truth, -value, value)).sum())


def calibrated_words(
    words: Vocabulary, pairs: Sequence[SentencePair], make: Callable[[Vocabulary], IdentityCheck]
) -> Vocabulary:
    """The sharpness, slope and offset that fit the pairs best."""
    best: tuple[float, Vocabulary] | None = None
    for sharpness in (0.6, 0.8, 1.0, 1.25, 1.6):
        plain = replace(words, sharpness=sharpness, slope=1.0, offset=0.0)
        answered = [answer for answer in answers(make(plain), pairs) if answer.match is not None]
        raw = np.array([answer.match for answer in answered], np.float64)
        slope, offset, loss = fit_curve(raw, np.array([answer.pair.matches for answer in answered], bool))
        if best is None or loss < best[0]:
            best = loss, replace(plain, slope=round(slope, 4), offset=round(offset, 4))
    return words if best is None else best[1]


def _f2(called: NDArray[np.bool_], true: NDArray[np.bool_]) -> float | None:
    hits = int((called & true).sum())
    return _number(stats.f_beta(hits, int((called & ~true).sum()), int((~called & true).sum())))


def _number(outcome: Scored[float] | Undefined) -> float | None:
    return round(outcome.value, _DIGITS) if isinstance(outcome, Scored) else None


def _mean(values: NDArray[np.bool_]) -> float | None:
    return round(float(values.mean()), _DIGITS) if len(values) else None
