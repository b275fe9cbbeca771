"""English words without their endings."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word in small letters by the Snowball stemmer, ``bark`` of ``barking``; of other scripts the word itself."""
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")
