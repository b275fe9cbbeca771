"""Pairs of a sentence and a candidate mask, with the truth: what the check is calibrated on, and measured on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from auscult.language.forms import Expression
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.scenes.draw import RenderedScene, Stage
from auscult.scenes.facts import TARGET_SHARE, facts_of, say, targets_of
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan, choose
from auscult.stress.masks import bands, cutout, negatives
from auscult.stress.masks.base import MaskStressor
from auscult.train.matcher.frames import AssetSource
from auscult.types import Difficulty, Frame, Mask, MaskTarget

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
        own = self.categories[target]
        return tuple(name for name in self.masks if name != target and self.categories[name] == own)


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
    targets = frozenset(
        one.id for one in plan.objects if one.id in targets_of(plan, shots) and one.look.category in shelf.targets
    )
    categories = {one.id: one.look.category for one in plan.objects}
    for expression in say(rng, facts, targets=targets, most=_MOST_EXPRESSIONS, nulls=nulls):
        seen = [(shot, _visible_masks(plan, shot)) for shot in shots]
        shown = [(shot, masks) for shot, masks in seen if masks and expression.target in {None, *masks}]
        if shown:
            shot, masks = shown[int(rng.integers(len(shown)))]
            yield KeyFrameSentence(expression=expression, frame=shot.frame, masks=masks, categories=categories)


def _visible_masks(plan: ScenePlan, shot: RenderedScene) -> dict[str, Mask]:
    """Visible masks of the things of a key frame that are large enough, by id."""
    masks = zip(plan.objects, shot.visible, strict=True)
    return {planned.id: mask for planned, mask in masks if np.count_nonzero(mask) >= TARGET_SHARE * mask.size}


def _candidates(rng: np.random.Generator, sentence: KeyFrameSentence, *, scene: int) -> Iterator[SentencePair]:
    masks, expression = sentence.masks, sentence.expression
    others = [name for name in masks if name != expression.target]
    drawn: list[tuple[PairKind, Mask]] = []
    if others:
        pool = sentence.alike if sentence.alike and rng.random() < 0.7 else others
        drawn.append(("other", masks[pool[int(rng.integers(len(pool)))]]))
    if expression.target is not None:
        target = masks[expression.target]
        drawn += [("perfect", target), *_defect(rng, target, tuple(masks[name] for name in others))]
    for kind, mask in drawn:
        on = (
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
            kept=float(on),
            null=expression.target is None,
        )


def _defect(rng: np.random.Generator, target: Mask, others: tuple[Mask, ...]) -> Iterator[tuple[PairKind, Mask]]:
    """One defect of the target, of those that it allows."""
    kinds: tuple[PairKind, ...] = ("cutout", "dilate", "erode", "merge")
    stressor = _DEFECTS[kind := kinds[int(rng.integers(len(kinds)))]]
    difficulty = _DIFFICULTIES[int(rng.integers(2))]
    mask_target = MaskTarget(mask=target, others=others)
    params = stressor.choose(rng, mask_target, difficulty=difficulty)
    if not isinstance(params, Undefined):
        mask = stressor.render(mask_target, params)
        if mask.any():
            yield kind, mask
