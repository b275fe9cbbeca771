"""What the matcher's scenes are made of: stamps on the photographs of one part of the split, and generated things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from auscult.errors import InputError
from auscult.judge.identity.scenes_text import Vocabulary
from auscult.scenes.appearance.colours import COLOURS
from auscult.scenes.appearance.scenery import TEXTURES
from auscult.scenes.assets import GENERATED, Assets, open_bundle
from auscult.scenes.sound.generated import KINDS
from auscult.scenes.splits import Shelf, divide
from auscult.train import stamps
from auscult.train.split import Part, committed

Kind: TypeAlias = Literal["train", "test_s", "test_u"]
Source: TypeAlias = tuple[Assets, Shelf]

_DONE: Final = ".laid-out"


def lay_out(data: Path, out: Path, part: Part) -> Path:
    """Copy the stamps, and the photographs of one part, as a folder that `make scenes --assets` takes.

    Args:
        data: The data folder, with ``images/stamps_gpl2``, ``images/coco`` and ``audio``.
        out: Where the folder ``assets-PART`` is made, unless it is there; nothing of it may be passed on.
        part: Whose photographs are the backgrounds.

    Raises:
        InputError: The data is missing or broken.
    """
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


def stamps_on(root: Path, kinds: Sequence[Kind]) -> tuple[Source, ...]:
    """The stamps of some kinds, on every photograph of a folder that ``lay_out`` made; the folder is opened once.

    The photographs are already those of one part of the split, so the scenes' own division of them is not used; that of
    the cut-outs is.
    """
    assets, _ = open_bundle(root)
    shelves = divide(assets, wanted=kinds)
    return tuple((assets, replace(shelves[kind], backgrounds=assets.looks.backgrounds())) for kind in kinds)


def painted(kind: Kind) -> Source:
    """The generated things and backgrounds of one kind."""
    return GENERATED, divide(GENERATED, wanted=(kind,))[kind]


def vocabulary(sources: Sequence[Source]) -> Vocabulary:
    """The words of what is trained on.

    A voice has a maker only where it follows from the thing: the generated voices are handed out by chance.
    """
    seen = {name for _, shelf in sources for name in shelf.things}
    return Vocabulary(
        categories=tuple(sorted(seen)),
        colours=tuple(COLOURS),
        textures=tuple(sorted(TEXTURES)),
        voices=(*((kind.noun, kind.verb, "") for kind in KINDS.values()), *_own_voices(sources, seen)),
    )


def _own_voices(sources: Sequence[Source], seen: set[str]) -> list[tuple[str, str, str]]:
    """Voices that one seen category alone has, of those that sound with their own."""
    by_chance = {kind.noun for kind in KINDS.values()}
    makers: dict[tuple[str, str], set[str]] = {}
    for assets, _ in sources:
        words: Mapping[str, tuple[str, str]] = getattr(assets.sounds, "words", {}) if assets.own_voices else {}
        for label, voice in words.items():  # unseen things too: what bleats may be a lamb
            makers.setdefault(voice, set()).add(label)
    return [
        (noun, verb, next(iter(labels)) if len(labels) == 1 and labels <= seen else "")
        for (noun, verb), labels in sorted(makers.items())
        if noun not in by_chance
    ]
