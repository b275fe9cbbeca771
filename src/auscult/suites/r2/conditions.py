"""Conditions: perturbations of a case, from the options of the command line.

=================== ===========================================================================================
``clean``           nothing
``mix_LEVEL``       picture and guidance of a case (20 %), picture (40 %) or guidance (40 %), one kind each
``picture_LEVEL``   the picture of every case, one kind drawn for each
``guidance_LEVEL``  the sentence, the sound or the first frame's mask of every case, one kind drawn for each
``KIND_LEVEL``      a single kind, the same for every case
=================== ===========================================================================================

If the reference is a mask, ``mix`` equals ``picture``: the paper perturbs no masks; ``guidance`` does.

A level is ``low``, ``medium``, ``high`` (1, 3, 5), any strength, or ``dynamic``. The kind drawn for a case does not
depend on the level. Dynamic is, for the mixes, the preset ``paper`` (kind and severity drawn for every frame), and for
one kind ``r2bench`` (severity drawn for every frame).
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from auscult import registry
from auscult.errors import UsageError
from auscult.stress.recipe_parts import PAPER, base_of, full_name, registered, room_of
from auscult.suites.core.conditions import CLEAN, DYNAMIC, NOTHING, PARTS, Condition, FramePart, is_kind, level_word
from auscult.suites.options import refuse_unknown
from auscult.suites.r2.cases import TaskRules

MIXES: Final = ("mix", "picture", "guidance")
FIRST_MASKS: Final = ("masks.erode.v1", "masks.dilate.v1", "masks.cutout.v1")
"""Defects of a first frame's mask as perturbed guidance: typical errors of hand-drawn and tool-made masks."""

OF_SOUND: Final = frozenset({"timing.offset.v1", "timing.drift.v1"})
"""Kinds that shift the sound relative to the pictures; they need a sound."""

DIFFICULTY: Final = MappingProxyType({"low": "hard", "high": "medium"})
"""A mask's defects have two windows of IoU: .85 to .90 (hard to see) stands for low, .75 to .80 for high."""


def conditions_of(
    task: TaskRules,
    *,
    mixes: Sequence[str],
    kinds: Sequence[str],
    levels: Sequence[str],
    parts: Sequence[str] = ("all",),
) -> tuple[Condition, ...]:
    """The conditions of a run, ``clean`` first; ``kinds`` may be ``all``: the paper's, of picture and guidance."""
    _check(task, mixes=mixes, levels=levels, parts=parts)
    # for a mask reference, mix and picture are the same
    mix_groups = ["mix" if mix == "picture" and task.guidance == "masks" else mix for mix in mixes]
    groups = [*dict.fromkeys(mix_groups), *dict.fromkeys(_full(task, kinds))]
    conditions = {CLEAN: NOTHING}
    for group in groups:
        short = _short(task, group)
        for part in _parts_of(group, parts):
            for level in _levels_of(task, group, levels, part=part):
                name = f"{short}_{level}" if part == "all" else f"{short}_{part}_{level}"
                conditions.setdefault(name, Condition(name=name, group=group, level=level, part=part))
    if groups and len(conditions) == 1 and any(level == DYNAMIC or level_word(level) != "0" for level in levels):
        names = ", ".join(base_of(group) if is_kind(group) else group for group in groups)
        raise UsageError(
            f"nothing is perturbed: {', '.join(map(str, levels))} does not fit {names}",
            expected="low or high for first masks, dynamic for pictures of clips, else any severity",
        )
    return tuple(conditions.values())


def _check(task: TaskRules, *, mixes: Sequence[str], levels: Sequence[str], parts: Sequence[str]) -> None:
    refuse_unknown(mixes, MIXES, "mix")
    refuse_unknown(parts, PARTS, "part")
    if not levels:
        raise UsageError("no severity was asked for", expected="low, medium, high, dynamic, or numbers from 0 to 5")
    if not parts:
        raise UsageError("no part of a clip was asked for", expected=f"some of: {', '.join(PARTS)}")
    if set(parts) != {"all"} and task.guidance != "masks":
        raise UsageError(
            f"the frames of {task.name} are perturbed all alike",
            expected="--part first and rest with --task vos, whose first frame carries the reference",
        )


def _full(task: TaskRules, kinds: Sequence[str]) -> list[str]:
    rooms = ("vision", *task.rooms, "timing") if task.guidance != "masks" else ("vision", "timing")
    names: list[str] = []
    for kind in kinds:
        if kind == "all":
            names += [full_name(base, ["vision"]) for base in PAPER["vision"]]
            names += _guiding(task)
        elif task.guidance == "masks" and (mask_kind := _mask_kind(kind)):
            names.append(mask_kind)
        else:
            names.append(full_name(kind, rooms))
    if task.still and any(room_of(name) == "timing" for name in names):
        raise UsageError("a photograph has no timing", expected="perturbations of pictures and sentences")
    lone = [name for name in names if name in OF_SOUND] if "sound" not in task.rooms else []
    if lone:
        raise UsageError(
            f"{base_of(lone[0])} needs a sound, which {task.name} does not have",
            expected="dropped_frames or repeated_frames, which change a clip without sound too",
        )
    return names


def _guiding(task: TaskRules) -> list[str]:
    """The paper's kinds for the guidance; none for masks, whose defects are those of ``guidance``."""
    if task.guidance == "masks":
        return []
    return [full_name(base, [room]) for room in task.rooms for base in PAPER[room]]


def _mask_kind(kind: str) -> str:
    names = [entry.name for entry in registry.entries("stressor") if entry.name in FIRST_MASKS]
    return next((name for name in names if kind in {name, base_of(name), name.rpartition(".")[0]}), "")


def _parts_of(group: str, parts: Sequence[str]) -> list[FramePart]:
    """The parts of a group; defects of the first mask, and timing, are always of the whole clip."""
    if group == "guidance" or room_of(group) in {"masks", "timing"}:
        return ["all"]
    return [part for part in PARTS if part in parts]


def _levels_of(task: TaskRules, group: str, levels: Sequence[str], *, part: FramePart) -> list[str]:
    masks = group.startswith("masks.") or (group == "guidance" and task.guidance == "masks")
    words: list[str] = []
    for level in dict.fromkeys(levels):
        if level == DYNAMIC:
            # a single frame cannot be dynamic
            can_be_dynamic = not task.still and not masks and part != "first"
            can_be_dynamic = can_be_dynamic and (group in {"mix", "picture"} or room_of(group) == "vision")
            words += [DYNAMIC] if can_be_dynamic else []
            continue
        word = level_word(level)
        if word != "0" and (not masks or word in DIFFICULTY):
            words.append(word)
    return list(dict.fromkeys(words))


def _short(task: TaskRules, group: str) -> str:
    """A group in a condition's name: without its room, unless two rooms of the task share it and one is the paper's.

    So ``impulse_noise`` is of the picture and ``gaussian_noise`` of the sound, and ``sound.impulse_noise`` and
    ``vision.gaussian_noise`` are the others. A version other than the newest is in the name too.
    """
    if group in MIXES:
        return group
    room, base, version = group.split(".")
    if room == "masks":
        return f"first_mask_{base}"
    others = [other for other in ("vision", *task.rooms) if other != room and base in PAPER.get(other, ())]
    shared = bool(others) and base not in PAPER[room] and f"{others[0]}.{base}.{version}" in registered(others)
    newest = full_name(base, [room]) == group
    return f"{room}." * shared + base + f".{version}" * (not newest)
