"""Questions for the tests of adapters, and the function that workers of these tests run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from auscult.models.adapters.calling import Calling, Program, function_of
from auscult.models.base import Answer, Request
from auscult.rng import generator
from auscult.types import Query

SHAPE = (3, 12, 16)
STRANGE = Path(__file__).with_name("strange_models.py")
RATE_HZ = 8000


def question(shape: tuple[int, int, int] = SHAPE, **fields: Any) -> Request:
    """A question about frames of noise, with sound and a first mask."""
    frames, height, width = shape
    rng = generator(0, "question", *shape)
    clip = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    mask = np.zeros((height, width), bool)
    mask[: height // 2, : width // 2] = True
    fields.setdefault("id", "v1/f3")
    fields.setdefault("condition", "clean")
    fields.setdefault("names", tuple(f"{number:05d}" for number in range(frames)))
    fields.setdefault("query", Query("the red car"))
    fields.setdefault("sound", rng.uniform(-1, 1, (2, 800)).astype(np.float32))
    fields.setdefault("rate_hz", RATE_HZ)
    fields.setdefault("first_mask", mask)
    return Request(size=(height, width), frames=clip.copy, **fields)


@dataclass(frozen=True)
class AnswerDigest:
    """What a worker sends back of an answer."""

    pixels: int
    threshold: float | None
    digest: str


def digest_of(answer: Answer) -> AnswerDigest:
    return AnswerDigest(int(answer.masks.sum()), answer.threshold, hashlib.sha256(answer.masks.tobytes()).hexdigest())


def make_asker() -> Callable[[tuple[str, str]], AnswerDigest]:
    """Asks functions of ``strange_models.py``, or programs that go on from one task to the next."""
    programs: dict[str, Program] = {}

    def ask(payload: tuple[str, str]) -> AnswerDigest:
        kind, name = payload
        if kind == "function":
            return digest_of(Calling(function_of(str(STRANGE), name))(question()))
        if name not in programs:
            programs[name] = Program(name)
        return digest_of(programs[name](question()))

    return ask
