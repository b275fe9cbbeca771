"""What all models with a user's weights share: how they are registered, made ready, and asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.models.base import Clip, Task
from auscult.types import Mask, Metadata, Query, Samples

ByText: TypeAlias = Callable[[Clip, str], NDArray[Any]]
ByMask: TypeAlias = Callable[[Clip, Mask], NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """A model with its weights.

    Attributes:
        name: The registry's full name.
        meta: What it says about itself.
        tasks: What it can be asked.
        by_text: Answers a sentence; None where it reads none.
        by_mask: Answers a first mask; None where it takes none.
    """

    name: str
    meta: Metadata
    tasks: tuple[Task, ...]
    by_text: ByText | None = None
    by_mask: ByMask | None = None

    def predict(
        self,
        frames: Clip,
        query: Query,
        *,
        sound: Samples | None = None,  # noqa: ARG002 - none of these models listens
        rate_hz: int | None = None,  # noqa: ARG002
        first_mask: Mask | None = None,
    ) -> NDArray[Any]:
        """Segment one object.

        Args:
            frames: uint8 RGB (T, H, W, 3), T at least 1.
            query: The referring expression, for a model that reads; may be empty but not missing.
            sound: Not listened to.
            rate_hz: Not looked at.
            first_mask: The object in the first frame, bool (H, W), for a model that follows it.

        Returns:
            bool (T, H, W), or float32 probabilities in [0, 1].

        Raises:
            InputError: The frames are no clip, or the sentence or first mask is missing or of another size.
            UsageError: The weights make the model give what is no number.
        """
        if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[3] != 3 or not frames.size:
            raise InputError(f"frames of shape {frames.shape} and type {frames.dtype}", expected="uint8 (T, H, W, 3)")
        if self.by_text is not None:
            if query.text is None:
                raise InputError(f"{self.name} was asked without a sentence", expected="a referring expression")
            return self.by_text(frames, query.text)
        if (
            self.by_mask is None
            or first_mask is None
            or first_mask.shape != frames.shape[1:3]
            or first_mask.dtype != np.bool_
        ):
            raise InputError("no first mask of the frames' size", expected=f"bool {frames.shape[1:3]}")
        return self.by_mask(frames, first_mask)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """A model until its weights are there.

    Attributes:
        name: The registry's full name.
        meta: What it says about itself; ``source`` names the released weights.
        tasks: What it can be asked.
        by_text: Loads what answers a sentence from a folder; None where it reads none.
        by_mask: Loads what answers a first mask.
    """

    name: str
    meta: Metadata
    tasks: tuple[Task, ...]
    by_text: Callable[[Path], ByText] | None = None
    by_mask: Callable[[Path], ByMask] | None = None

    def using(self, weights: Path) -> Ready:
        """Load the weights of a folder.

        Raises:
            UsageError: The extra `hf` is not installed, or the folder cannot be used; the message says which and why.
        """
        return Ready(
            name=self.name,
            meta=self.meta,
            tasks=self.tasks,
            by_text=None if self.by_text is None else self.by_text(weights),
            by_mask=None if self.by_mask is None else self.by_mask(weights),
        )
