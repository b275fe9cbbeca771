"""English words without their endings: ``barking`` and ``barks`` are one word."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any


def stems(words: Iterable[str]) -> tuple[str, ...]:
    """The stem of each word, given in small letters, by the Snowball stemmer; of other scripts the word itself."""
    return tuple(map(_stem, words))


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")
