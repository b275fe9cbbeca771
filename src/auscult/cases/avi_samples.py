"""What a sample of AVI-Bench is once its keys are resolved: media, prompt, options and typed truth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from auscult.record.digest import digest_json

XyxyBox: TypeAlias = tuple[float, float, float, float]
"""Two corners in pixels, half-open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueBoxes:
    """Where what sounds is in a picture of so many pixels (AVL): class and box of each instance, in their order."""

    width: float
    height: float
    boxes: tuple[tuple[str, XyxyBox], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFrames:
    """Where the described thing is in each frame of so many pixels (AVLG); None where it is not."""

    width: float
    height: float
    boxes: tuple[XyxyBox | None, ...]


AviTruth: TypeAlias = str | tuple[str, ...] | Mapping[str, int] | tuple[int, ...] | TrueBoxes | TrueFrames
"""By the task's answer form: ``option`` a word; ``option list`` and ``caption`` words or references; ``counts`` class
to count; ``indices`` numbers from 0; ``boxes`` and ``frame boxes`` their types above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AviSample:
    """One question of the released tree, a confirmation being one too.

    Attributes:
        folder: Its folder, such as ``VSQA_I``; ``cases.avi_tree`` says of which task.
        position: Its place in the folder's ``data.json``, from 0.
        name: Its id there, which other samples may have too.
        subtask: The type of question; empty where the release has none.
        clip: What is shown or heard, so that samples of one clip are drawn together by intervals; empty where only its
            media tell.
        prompt: How to answer.
        text: What is asked.
        options: What may be answered; empty where anything may be.
        images: Files that are shown, in order.
        sounds: Files that are heard, in order.
        video: The file that is shown, or None.
        truth: What is right.
        confirms: Position of the question that this one confirms; None for a question of its own.
        unconfirmed: Whether its confirmation cannot be asked, though it is no empty one: whether an answer is a guess
            is then not known.
    """

    folder: str
    position: int
    name: str
    subtask: str
    clip: str
    prompt: str
    text: str
    options: tuple[str, ...]
    images: tuple[Path, ...]
    sounds: tuple[Path, ...]
    video: Path | None
    truth: AviTruth
    confirms: int | None = None
    unconfirmed: bool = False

    @property
    def id(self) -> str:
        """Unique in a tree: folder, position and the id of the release."""
        return f"{self.folder}/{self.position:04d}/{self.name}"

    @property
    def words(self) -> tuple[str, ...]:
        """The words that an answer may consist of: the options, of lists between # marks their parts."""
        if self.folder != "AVSQA":
            return self.options
        return tuple(dict.fromkeys(part.strip() for one in self.options for part in one.strip("# ").split(";")))

    @property
    def question(self) -> str:
        """The whole text that is sent: how to answer, what may be answered, what is asked."""
        offered = f"Choose from: {', '.join(self.options)}." if self.options else ""
        return "\n".join(filter(None, (self.prompt, offered, self.text)))

    @property
    def files(self) -> tuple[Path, ...]:
        """All media, in the order in which they are sent."""
        return (*self.images, *self.sounds, *(() if self.video is None else (self.video,)))

    @property
    def truth_digest(self) -> str:
        """Hash of its truth."""
        return digest_json(repr(self.truth))


def with_lost(
    samples: Iterable[AviSample], lost: Collection[tuple[str, int]]
) -> tuple[list[AviSample], list[AviSample]]:
    """Samples where some of their questions or confirmations cannot be used.

    Args:
        samples: The samples that can be used.
        lost: Folder and position of each question that cannot be used, and of each question whose confirmation cannot.

    Returns:
        The samples, with a question whose confirmation is lost marked ``unconfirmed``; and confirmations of lost
        questions, which ask nothing alone.
    """
    kept, alone = [], []
    for one in samples:
        if one.confirms is not None and (one.folder, one.confirms) in lost:
            alone.append(one)
        else:
            kept.append(replace(one, unconfirmed=True) if (one.folder, one.position) in lost else one)
    return kept, alone
