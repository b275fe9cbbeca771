"""Classes of sounds: their domain, what groups they belong to, and the prompts that name them.

A prompt names a class if it is one of the class's own, specific (``dog barking``) or general (``dog``), or one of a
group's or of a whole domain's. It so names a set of classes, and in a mixture every source of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from auscult.language.morphology import ing
from auscult.record.codec import from_json, load
from auscult.scenes.sound.folder import default_words
from auscult.types import PROMPT_SETTINGS, PromptSetting, SoundDomain

WHOLE: Final[Mapping[PromptSetting, tuple[str, ...]]] = {
    "speech": ("speech", "people speaking"),
    "music": ("music", "music playing"),
}
"""Prompts of the two settings that ask for all sources of a domain."""

_DOMAINS: Final[tuple[SoundDomain, ...]] = ("speech", "speech", "music", "music", "sound")
DOMAIN_OF: Final[Mapping[PromptSetting, SoundDomain]] = dict(zip(PROMPT_SETTINGS, _DOMAINS, strict=True))
ALONE: Final[Mapping[SoundDomain, PromptSetting]] = {
    "speech": "speaker",
    "music": "instrument",
    "sound": "general_sound",
}
"""The setting that asks for a source of a domain alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundClass:
    """What is known of a class of sounds."""

    domain: SoundDomain = "sound"
    groups: tuple[str, ...] = ()
    specific: tuple[str, ...] = ()  # what sounds and how, in small letters
    general: tuple[str, ...] = ()  # what sounds
    also: tuple[str, ...] = ()  # prompts of other classes that may be meant to name it


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundClasses:
    """The table that the package has."""

    classes: Mapping[str, SoundClass]
    groups: Mapping[str, tuple[str, ...]]  # group to its prompts


@cache
def committed_classes() -> SoundClasses:
    """The classes and groups of ``classes.json``."""
    return from_json(SoundClasses, load(Path(__file__).with_name("classes.json").read_bytes()), exact=True)


def class_of(label: str) -> SoundClass:
    """A class; one that is not listed has its name as a prompt, and what its maker does where that is known."""
    found = committed_classes().classes.get(label)
    if found is None:
        verb = default_words(label)[1]
        found = SoundClass(specific=() if "sounds" in verb else (f"{label} {ing(verb)}",), general=(label,))
    return found


def prompts_of(label: str) -> Iterator[tuple[str, bool]]:
    """The prompts that name a class, and whether each is specific."""
    own, groups = class_of(label), committed_classes().groups
    yield from ((text, True) for text in own.specific)
    yield from ((text, False) for text in own.general)
    yield from ((text, False) for group in own.groups for text in groups.get(group, ()))


def named(text: str, labels: Iterable[str]) -> frozenset[str]:
    """The classes among some that a prompt names; upper and lower case are one."""
    wanted = text.casefold().strip()
    whole = {DOMAIN_OF[setting] for setting, texts in WHOLE.items() if wanted in texts}
    return frozenset(
        label
        for label in labels
        if class_of(label).domain in whole or any(wanted == prompt for prompt, _ in prompts_of(label))
    )


def unclear(text: str, labels: Iterable[str]) -> frozenset[str]:
    """The classes among some of which nobody can say whether a prompt names them: ``horse``, of hooves."""
    wanted, every = text.casefold().strip(), tuple(labels)
    return frozenset(label for label in every if wanted in class_of(label).also) - named(text, every)
