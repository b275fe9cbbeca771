"""What a worker process of ``make scenes`` does: draw, play and describe one scene, and give its files as bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from auscult.language.facts import Facts
from auscult.rng import generator
from auscult.scenes.assets import Assets, open_bundle
from auscult.scenes.draw import Shot, Stage, hear
from auscult.scenes.facts import Wish, facts_of, facts_to_json, say, targets_of
from auscult.scenes.plan import SceneOptions, ScenePlan, choose
from auscult.scenes.refavs_layout import Said, files_of, items_of, rows_of, video_name
from auscult.scenes.splits import Shelf, Split, divide
from auscult.types import Frame, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneJob:
    """What every worker must know.

    Attributes:
        seed: The run's seed.
        assets: A user's folder, or None for the generated sets.
        splits: The splits to make.
        options: What all scenes have in common.
        expressions: Most expressions a scene.
        fps: Frames a second of the video that is written too, or None.
    """

    seed: int
    assets: Path | None
    splits: tuple[Split, ...]
    options: SceneOptions
    expressions: int
    fps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeScene:
    """A finished scene.

    Attributes:
        files: Name to bytes, relative to the output folder.
        line: Its line of ``scenes.jsonl``.
        items: Its lines of ``items.jsonl``.
    """

    files: Mapping[str, bytes]
    line: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneMaker:
    """Makes scenes by their number; made once in each worker process."""

    job: SceneJob
    assets: Assets
    shelves: Mapping[Split, Shelf]

    def __call__(self, index: int) -> MadeScene:
        """Choose, draw, play and describe a scene."""
        plan = choose(self.job.seed, index, assets=self.assets, shelves=self.shelves, options=self.job.options)
        stage = Stage(plan, self.assets.looks)
        shots = stage.key_shots()
        heard = hear(plan, self.assets.sounds)
        facts = facts_of(plan, shots, gain_db=heard.gain_db)
        targets = _allowed(plan, targets_of(plan, shots), self.shelves[plan.split])
        wish = Wish(targets=targets, most=self.job.expressions, nulls=_nulls(plan, self.job.expressions))
        said = rows_of(plan, say(generator(self.job.seed, "scene", index, "words"), facts, wish))
        nulls = any(one.row.absent for one in said)
        files = files_of(plan, shots, heard.samples, nulls=nulls)
        if self.job.fps is not None:
            files[video_name(plan.vid)] = video_of(stage, plan, heard.samples, fps=self.job.fps)
        return MadeScene(
            files=files,
            line=scene_line(plan, facts, said, index=index) | {"targets": sorted(targets)},
            items=items_of(plan, shots, said),
        )


def make_maker(job: SceneJob) -> SceneMaker:
    """Make the worker's function; module-level, so that a child process can be told to call it."""
    assets, _ = open_bundle(job.assets)
    return SceneMaker(job=job, assets=assets, shelves=divide(assets, wanted=job.splits))


def _allowed(plan: ScenePlan, seen: frozenset[str], shelf: Shelf) -> frozenset[str]:
    """Ids that may be referred to: seen well enough, and in a scene of unseen targets of an unseen category."""
    return frozenset(thing.id for thing in plan.objects if thing.id in seen and thing.look.category in shelf.targets)


def _nulls(plan: ScenePlan, most: int) -> int:
    """Null expressions are for tests, as in the release: one for each three others."""
    return 0 if plan.split == "train" or not most else max(1, most // 3)


def scene_line(plan: ScenePlan, facts: Facts, said: Sequence[Said], *, index: int) -> dict[str, Any]:
    """One line of ``scenes.jsonl``: enough to draw the scene again and to repeat every proof."""
    return {
        "id": plan.vid,
        "index": index,
        "split": plan.split,
        "plan": plan.as_json(),
        "facts": facts_to_json(facts),
        "expressions": [
            {
                "uid": one.row.uid,
                "split": one.row.split,
                "fid": one.row.fid,
                "text": one.expression.text,
                "family": one.expression.family,
                "wording": one.expression.wording,
                "target": one.expression.target,
                "needs": sorted(one.expression.needs),
                "form": dict(one.expression.form),
            }
            for one in said
        ],
    }


def video_of(stage: Stage, plan: ScenePlan, samples: Samples, *, fps: float) -> bytes:
    """The scene as an MP4 with its sound.

    Raises:
        UsageError: The extra `video` is not installed.
        OutputError: It cannot be coded.
    """
    from auscult.media.video_write import encode_video

    return encode_video(_frames(stage, plan, fps), fps=fps, samples=samples, rate_hz=plan.rate_hz)


def _frames(stage: Stage, plan: ScenePlan, fps: float) -> Iterator[Frame]:
    rate = Fraction(fps).limit_denominator(100_000)
    for number in range(max(1, round(plan.seconds * rate))):
        shot: Shot = stage.at(float(number / rate))
        yield shot.frame
