"""The facts of a scene, computed from what was drawn at its key frames and what sounds.

Places and sizes are those of the visible pixels, so that no fact is about what cannot be seen. Motion is stated only
where the drawn masks show it. A thing that is never visible is left out of the facts: its sound comes from elsewhere.

From facts and logical forms follows which sentences a picture without sound, or one frame, cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.errors import AuscultError, InputError
from auscult.language import grammar, proof
from auscult.language.forms import Expression, Facts, Motion, SceneObject, Voice, read
from auscult.language.proof import Proof
from auscult.record import codec
from auscult.scenes.draw import RenderedScene
from auscult.scenes.plan import ScenePlan, check_spans
from auscult.scenes.sound.mix import SoundTrack, arrival_db
from auscult.types import Mask

SHOWS = 0.0005
"""Share of the picture from which on a thing counts as seen in a frame."""

TARGET_SHARE = 0.002
TARGET_FRAMES = 3
"""A target shows at least ``TARGET_SHARE`` of the picture in at least so many key frames."""

COVERS = 0.02
"""Share of a thing that another must hide, in some key frame, to count as covering it."""

_MOVES = 0.12
_GROWS = 1.5
_CLEAR_FRAMES = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ThingTrack:
    """One thing over the key frames; arrays have one value a frame, NaN where there is none."""

    visible: NDArray[np.float64]  # share of the picture that is seen of it
    whole: NDArray[np.float64]  # share of the picture that it would show alone
    x: NDArray[np.float64]  # centre of what is seen
    y: NDArray[np.float64]  # the same
    way: NDArray[np.float64]  # centre of the whole, (frames, 2)

    @property
    def shown(self) -> NDArray[np.bool_]:
        return self.visible >= SHOWS


def facts_of(plan: ScenePlan, shots: Sequence[RenderedScene], *, gain_db: float = 0.0) -> Facts:
    """The facts of a scene, from its key frames and the gain of its mix."""
    numbers = _numbers(plan)
    tracks = [_over_time([shot.visible[n] for shot in shots], [shot.whole[n] for shot in shots]) for n in numbers]
    present = [number for number in numbers if tracks[number].shown.any()]
    depth = _clear_depth(plan, present)
    objects = []
    elsewhere = [_voice(track, gain_db) for track in plan.elsewhere]
    for number in numbers:
        planned = plan.objects[number]
        voice = None if planned.track is None else _voice(planned.track, gain_db)
        if number not in present:
            elsewhere += [] if voice is None else [voice]
            continue
        covers = _coverings(shots, number, present)
        look, track = planned.look, tracks[number]
        objects.append(
            SceneObject(
                id=planned.id,
                category=look.category,
                colour=look.colour,
                texture=look.texture,
                x=_range(track.x),
                y=_range(track.y),
                area=_range(np.where(track.shown, track.visible, np.nan), digits=6),
                motion=_motion(plan.layout.paths[number].motion, track),
                depth=depth[number],
                covered_by=tuple(plan.objects[other].id for other, share in covers.items() if share >= COVERS),
                hidden=_hidden(track),
                voice=voice,
            )
        )
    return Facts(things=tuple(objects), duration_s=plan.seconds, elsewhere=tuple(elsewhere), unlisted=plan.unlisted)


def targets_of(plan: ScenePlan, shots: Sequence[RenderedScene]) -> frozenset[str]:
    """Ids of the things that are visible enough to be referred to."""
    pixels = plan.size[0] * plan.size[1]
    enough = [
        sum(np.count_nonzero(shot.visible[number]) >= TARGET_SHARE * pixels for shot in shots)
        for number in _numbers(plan)
    ]
    return frozenset(plan.objects[number].id for number in _numbers(plan) if enough[number] >= TARGET_FRAMES)


def _numbers(plan: ScenePlan) -> range:
    return range(len(plan.objects))


def _over_time(visible: Sequence[Mask], whole: Sequence[Mask]) -> _ThingTrack:
    wholes = np.array([_moments(mask) for mask in whole], np.float64)
    parts = wholes.copy()
    for frame, mask in enumerate(visible):
        if np.count_nonzero(mask) != round(wholes[frame, 0] * mask.size):
            parts[frame] = _moments(mask)
    shown = parts[:, 0] >= SHOWS
    return _ThingTrack(
        visible=parts[:, 0],
        whole=wholes[:, 0],
        x=np.where(shown, parts[:, 1], np.nan),
        y=np.where(shown, parts[:, 2], np.nan),
        way=np.where(shown[:, None], wholes[:, 1:], np.nan),
    )


def _moments(mask: Mask) -> tuple[float, float, float]:
    """Share of the picture, and centre in shares of the picture; a mask without pixels has its centre nowhere."""
    height, width = mask.shape
    left, top, wide, high = cv2.boundingRect(mask.view(np.uint8))
    part = np.ascontiguousarray(mask[top : top + high, left : left + wide])
    columns, rows = (
        np.asarray(cv2.reduce(part.view(np.uint8), axis, cv2.REDUCE_SUM, dtype=cv2.CV_32S)).ravel() for axis in (0, 1)
    )
    area = int(rows.sum()) if part.size else 0
    if not area:
        return 0.0, np.nan, np.nan
    x = left + 0.5 + float(columns @ np.arange(wide)) / area
    y = top + 0.5 + float(rows @ np.arange(high)) / area
    return area / mask.size, x / width, y / height


def _range(values: NDArray[np.float64], *, digits: int = 4) -> tuple[float, float]:
    return round(float(np.nanmin(values)), digits), round(float(np.nanmax(values)), digits)


def _hidden(track: _ThingTrack) -> float:
    in_frame = track.whole > 0
    return round(float(np.max(1 - track.visible[in_frame] / track.whole[in_frame])), 4)


def _coverings(shots: Sequence[RenderedScene], number: int, present: Sequence[int]) -> dict[int, float]:
    """The largest share of a thing that each other one hides in a key frame."""
    shares: dict[int, float] = {}
    for shot in shots:
        whole = shot.whole[number]
        pixels = np.count_nonzero(whole)
        if np.count_nonzero(shot.visible[number]) == pixels:
            continue  # nothing hides it here
        for other in present:
            if other != number:
                share = np.count_nonzero(whole & shot.visible[other]) / pixels
                shares[other] = max(shares.get(other, 0.0), share)
    return dict(sorted(shares.items()))


def _clear_depth(plan: ScenePlan, present: Sequence[int]) -> dict[int, int | None]:
    """Ranks from the viewer among the things that are seen; None for those whose distances cross another's."""
    paths = plan.layout.paths
    reach = {}
    for number in present:
        distances = [paths[number].distance(time_s) for time_s in plan.key_times_s]
        reach[number] = (min(distances), max(distances))
    order = sorted(present, key=lambda number: plan.layout.depth[number])
    ranks: dict[int, int | None] = {number: rank for rank, number in enumerate(order)}
    for near, far in combinations(order, 2):
        if reach[near][1] > reach[far][0]:
            ranks[near] = ranks[far] = None
    return ranks


def _motion(planned: Motion, track: _ThingTrack) -> Motion | None:
    """The planned motion, where the masks of the key frames show it; else None."""
    if planned == "still":
        return planned
    frames = np.flatnonzero(track.shown)
    if len(frames) < _CLEAR_FRAMES:
        return None
    x, y = track.way[frames].T
    if planned in {"left", "right"}:
        clear = (x[-1] - x[0]) * (1 if planned == "right" else -1) >= _MOVES
    elif planned in {"up", "down"}:
        clear = (y[-1] - y[0]) * (1 if planned == "down" else -1) >= _MOVES
    elif planned == "to_and_fro":
        turns = sum(before * after < 0 for before, after in pairwise(np.diff(x)))
        clear = float(np.ptp(x)) >= _MOVES and turns >= 1
    else:
        growth = track.whole[frames[-1]] / track.whole[frames[0]]
        clear = (growth if planned == "nearer" else 1 / growth) >= _GROWS
    return planned if clear else None


def _voice(track: SoundTrack, gain_db: float) -> Voice:
    return Voice(
        noun=track.source.noun,
        verb=track.source.verb,
        spans=track.spans,
        level_db=round(min(0.0, arrival_db(track) + gain_db), 2),
        countable=track.source.countable,
    )


def facts_from_json(row: object) -> Facts:
    """Read what ``codec.to_json`` gives of facts, so that proofs can be repeated from a file."""
    facts = codec.from_json(Facts, row, error=InputError, hint="correct the line")
    for thing in facts.things:
        for key in ("x", "y", "area"):
            lowest, highest = getattr(thing, key)
            if lowest > highest:
                message = f"{key!r} reaches from {lowest} to {highest}"
                raise InputError(message, expected="the lowest first", hint="correct the line")
    if len({thing.id for thing in facts.things}) < len(facts.things):
        raise InputError("two things have one id", expected="an id of its own for each thing", hint="correct the line")
    for voice in (*facts.elsewhere, *(thing.voice for thing in facts.things if thing.voice is not None)):
        check_spans(voice.spans, until_s=facts.duration_s)
    return facts


def say(
    rng: np.random.Generator, facts: Facts, *, targets: frozenset[str], most: int, nulls: int = 0
) -> tuple[Expression, ...]:
    """Draw expressions of different texts, each proven: first those that name a target, then null expressions."""
    positives = grammar.describe(rng, facts, most=most, targets=targets)
    names = {expression.text for expression in positives}
    null_expressions = grammar.nulls(rng, facts, most=nulls) if nulls else ()
    empty = [expression for expression in null_expressions if expression.text not in names]
    for expression in (*positives, *empty):
        check(expression, facts)
    return (*positives, *empty)


def check(expression: Expression, facts: Facts) -> None:
    """Prove an expression once more from its logical form; an AuscultError where that names something else."""
    expected = frozenset() if expression.target is None else frozenset((expression.target,))
    ids = proof.named(expression.form, facts)
    if ids != expected:
        result = "undecided" if ids is None else ", ".join(sorted(ids)) or "nothing"
        raise AuscultError(
            f"the proof of {expression.text!r} gives {result}",
            expected=expression.target or "nothing",
            hint="this is a fault of auscult, not of the input: please report it with the line of errors.jsonl",
        )


_UNCLEAR: Final = 0.1


def hidden_sentences(row: Mapping[str, Any], *, still: bool, null: bool = False) -> Iterator[str]:
    """Ids of the expressions of a scene, a line of ``scenes.jsonl``, that cannot be told by sight alone.

    Proven from an expression's logical form and the scene's facts: without the sound, and in one frame (``still``)
    without the motions, it may refer to another object than its target, or to one though it names none (``null``). An
    InputError where facts or a form cannot be read.
    """
    payload, expressions = row.get("facts"), row.get("expressions")
    if not isinstance(payload, Mapping) or not isinstance(expressions, list):
        return
    facts = facts_from_json(payload)
    named = Proof(_without_passing_covers(facts)).named
    if still:
        facts = replace(facts, things=tuple(replace(obj, motion=None) for obj in facts.things))
    proof = Proof(facts, frozenset({"sight"}))
    for expression in expressions:
        if isinstance(expression, Mapping) and (null or isinstance(expression.get("target"), str)):
            form, name = read(expression.get("form")), expression.get("target")
            target = frozenset({name} if isinstance(name, str) else ())
            if proof.possible(form) != target or (still and named(form) != target):
                yield str(expression.get("uid"))


def _without_passing_covers(facts: Facts) -> Facts:
    """The facts with occlusion made uncertain where either object moves: a single frame need not show it."""
    still = {obj.id for obj in facts.things if obj.motion == "still"}
    return replace(
        facts,
        things=tuple(
            obj if {obj.id, *obj.covered_by} <= still else replace(obj, hidden=min(obj.hidden, _UNCLEAR))
            for obj in facts.things
        ),
    )
