"""A model that reads a sentence word by word and chooses a region of the picture: no weights, no names of things.

It knows words of colour, place, size, shape, order and motion; a noun says nothing to it. Words are matched exactly, so
that a misspelt word is lost; a sentence of unknown words only gives what stands out most. It always answers with the
region that fits best, also where none fits well: it cannot know that what is named is not there. The answer is empty
only where the picture holds no region at all, as where it is of one tone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np

from auscult.errors import InputError
from auscult.models.base import Clip, Masks, Task
from auscult.models.classical.lexicon_choice import chances
from auscult.models.classical.lexicon_reading import wish_of
from auscult.models.classical.lexicon_things import small, things_in
from auscult.models.classical.lexicon_tracks import followed
from auscult.types import Mask, Metadata, Query, Samples

TASKS: Final[tuple[Task, ...]] = ("ris", "rvos")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Chooses a region by the words of a sentence.

    Attributes:
        name: The registry name.
        meta: What it is.
        tasks: What it can be asked.
    """

    name: str = "classical.lexicon.v1"
    meta: Metadata = Metadata(
        summary="words of colour, place, size, shape, order and motion against region proposals",
        goal="a model without weights that depends on the sentence word by word",
        modality="image",
        source="regions after Uijlings et al., IJCV 2013, and Wei et al., ECCV 2012; colour words after Berlin and Kay",
    )
    tasks: tuple[Task, ...] = TASKS

    def predict(
        self,
        frames: Clip,
        query: Query,
        *,
        sound: Samples | None = None,  # noqa: ARG002 - it does not listen
        rate_hz: int | None = None,  # noqa: ARG002
        first_mask: Mask | None = None,  # noqa: ARG002 - nor does it use what is known of the first frame
    ) -> Masks:
        """Segment what the sentence speaks of.

        Args:
            frames: uint8 RGB (T, H, W, 3).
            query: Its text may be None or of any script.
            sound: Not used.
            rate_hz: Not used.
            first_mask: Not used.

        Returns:
            bool (T, H, W): one region a frame, the same thing through the clip; empty where nothing stands out.

        Raises:
            InputError: The frames are not of the stated shape and type.
        """
        _check(frames)
        wish = wish_of(query.text)
        size = (frames.shape[1], frames.shape[2])
        if len(frames) > 1:
            return np.stack([_enlarged(mask, size) for mask in followed(frames, wish)])
        things = things_in(small(frames[0]))
        if things is None:
            return np.zeros(frames.shape[:3], bool)
        return _enlarged(things.masks[int(chances(things, wish).argmax())], size)[None]


def _check(frames: Clip) -> None:
    if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[3] != 3 or frames.size == 0:
        raise InputError(f"frames have shape {frames.shape} and dtype {frames.dtype}", expected="uint8 (T, H, W, 3)")


def _enlarged(mask: Mask, size: tuple[int, int]) -> Mask:
    if mask.shape == size:
        return mask
    soft = cv2.resize(mask.astype(np.uint8) * np.uint8(255), size[::-1], interpolation=cv2.INTER_LINEAR)
    enlarged: Mask = np.asarray(soft) >= 128
    return enlarged


MODEL = Lexicon()
