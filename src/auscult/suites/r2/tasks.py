"""The tasks of the suite: what the reference is, what is scored, and over which frames.

A further task (the paper's fifth is queryable 3-D mapping) is one more entry of ``TASK_RULES`` and one more function of
``suites.r2.scoring``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from auscult.errors import UnknownName
from auscult.models.base import ModelTask

FrameRule = Literal["all", "davis2017", "after the first"]
Room = Literal["sentences", "sound", "masks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRules:
    """A task.

    Attributes:
        name: ``ris``, ``vos``, ``rvos`` or ``avs``.
        title: What people call it.
        guidance: The room whose perturbations change the reference.
        metrics: What is scored for each case, the first is the main one.
        still: Whether a case is one photograph: then nothing can change from frame to frame.
        scored: Which frames are scored, unless the layout says otherwise.
    """

    name: ModelTask
    title: str
    guidance: Room
    metrics: tuple[str, ...]
    scored: FrameRule
    still: bool = False


TASK_RULES: Final[Mapping[str, TaskRules]] = MappingProxyType(
    {
        one.name: one
        for one in (
            TaskRules(
                name="ris",
                title="referring image segmentation",
                guidance="sentences",
                metrics=("IoU",),
                scored="all",
                still=True,
            ),
            TaskRules(
                name="vos",
                title="video object segmentation",
                guidance="masks",
                metrics=("J", "F"),
                scored="davis2017",
            ),
            TaskRules(
                name="rvos",
                title="referring video object segmentation",
                guidance="sentences",
                metrics=("J", "F"),
                scored="all",
            ),
            TaskRules(
                name="avs",
                title="audio-visual segmentation",
                guidance="sound",
                metrics=("J", "F_contour", "F_region"),
                scored="all",
            ),
        )
    }
)

BASELINES: Final = (
    "baseline.full_frame.v1",
    "baseline.centre_box.v1",
    "baseline.random_region.v1",
    "baseline.empty.v1",
)
"""Rows that look at next to nothing, asked without being named: a model that is no better has nothing to lose."""

_BY_LAYOUT: Final[Mapping[tuple[str, str], FrameRule]] = MappingProxyType(
    {("vos", "datasets.ytvos.v1"): "after the first", ("rvos", "datasets.refdavis.v1"): "davis2017"}
)
"""Where the evaluation of a released data set counts other frames than its task's."""


def task_rules(name: str) -> TaskRules:
    """A task by its name."""
    if name not in TASK_RULES:
        told = ", ".join(f"{one.name} ({one.title})" for one in TASK_RULES.values())
        raise UnknownName(f"there is no task {name!r:.40}", expected=f"one of: {told}", hint="--task vos, for example")
    return TASK_RULES[name]


def frame_rule(task: TaskRules, layout: str) -> FrameRule:
    """Which frames of a clip are scored."""
    return _BY_LAYOUT.get((task.name, layout), task.scored)


def scored_frames(rule: FrameRule, count: int) -> range:
    """The numbers of the frames that are scored, of ``count``; may be empty."""
    if rule == "all":
        return range(count)
    return range(1, count - 1 if rule == "davis2017" else count)
