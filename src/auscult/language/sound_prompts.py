"""Prompts of single sounds out of a description of several: noun and verb phrases in small letters."""

from __future__ import annotations

import re
from typing import Final

from auscult.language.lexicon import ing, is_plural

_BETWEEN: Final = re.compile(
    r"\s*[,;.]+\s*|\s+(?:and then|followed by|along with|together with|accompanied by|mixed with|in front of|next to"
    r"|and|while|as|with|under|over|amid|beside|then|before|after|during|behind)\s+"
)
_PLACE: Final = re.compile(
    r"\s(?:(?:in|at|from|near|outside|inside|through|across|off)\s.*|nearby|far away|outside|indoors)$"
)
_ONE: Final = re.compile(r"an?\s")
_BEFORE_NOUNS: Final = ("of", "on", "up", "down", "to", "into", "onto", "over", "against", "for")
_LEFT_OUT: Final = re.compile(
    r"\b(?:a|an|the|some|several|many|few|two|three|is|are|was|were|being|can be heard|there|it|its|their|then|and"
    r"|(?!family\b|fly\b|bully\b)[a-z]+ly|again|together|loud|very)\b"
)


def sound_prompts(description: str) -> tuple[str, ...]:
    """The prompts that a description of sounds is made of, each once, in its order.

    Articles, adverbs and places are left out; a verb in the third person after ``a`` and a noun becomes a participle.
    Source: SAM Audio Judge, Sec. III-A (single sounds, small letters).

    Example:
        >>> sound_prompts("A bird is chirping under a thunderstorm")
        ('bird chirping', 'thunderstorm')
        >>> sound_prompts("A dog barks loudly, then people talking and laughing in a room")
        ('dog barking', 'people talking', 'laughing')
    """
    parts = (_PLACE.sub("", part) for part in _BETWEEN.split(description.casefold().strip()))
    phrases = (
        _participle(" ".join(_LEFT_OUT.sub(" ", part).split()), one=_ONE.match(part) is not None) for part in parts
    )
    return tuple(dict.fromkeys(filter(None, phrases)))


def _participle(phrase: str, *, one: bool) -> str:
    """``dog barks`` said of one dog as ``dog barking``; any other phrase as it is."""
    words = phrase.split()
    verbs = [i for i in range(1, len(words)) if is_plural(words[i]) and words[i - 1] not in _BEFORE_NOUNS]
    if one and len(verbs) == 1 and not any(word.endswith("ing") for word in words[1:]):
        words[verbs[0]] = ing(words[verbs[0]])
    return " ".join(words)
