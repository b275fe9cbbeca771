"""Random numbers: a run's seed and a stable key give an independent generator; nothing else draws.

The key is what the draw is *for* (``"stress", "v1/f3", "erode"``), so that the same draw comes out in any order and
with any number of workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """Make the generator of one draw.

    Args:
        seed: The run's seed, any integer.
        key: What the draw is for; strings and integers, in a fixed order.

    Returns:
        A PCG64 generator that depends on ``seed`` and ``key`` only.

    Example:
        >>> int(generator(7, "item", 3).integers(1000)) == int(generator(7, "item", 3).integers(1000))
        True
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (seed, *key):
        # the name of a file may hold a lone surrogate, which is no text
        text = f"{type(part).__name__}:{part}".encode("utf-8", "surrogatepass")
        digest.update(len(text).to_bytes(8, "little") + text)
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "little")))


def pick(rng: np.random.Generator, choices: Sequence[T]) -> T:
    """Draw one of ``choices``, each as likely; takes one integer from ``rng``.

    Raises:
        ValueError: There is nothing to choose from.
    """
    return choices[int(rng.integers(len(choices)))]
