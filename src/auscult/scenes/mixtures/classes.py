"""Classes of sounds: their domain, what groups they belong to, and the prompts that name them.

A prompt names a class if it is one of the class's own, specific (``dog barking``) or general (``dog``), or one of a
group's or of a whole domain's. It so names a set of classes, and in a mixture every source of one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from auscult.language.morphology import ing
from auscult.record.codec import from_json, load
from auscult.scenes.sound.folder import default_words

Domain: TypeAlias = Literal["speech", "music", "sound"]
Setting: TypeAlias = Literal["speech", "speaker", "music", "instrument", "general_sound"]

WHOLE: Final[Mapping[Setting, tuple[str, ...]]] = {
    "speech": ("speech", "people speaking"),
    "music": ("music", "music playing"),
}
"""Prompts of the two settings that ask for all sources of a domain."""

_DOMAINS: Final[tuple[Domain, ...]] = ("speech", "speech", "music", "music", "sound")
DOMAIN_OF: Final[Mapping[Setting, Domain]] = dict(zip(get_args(Setting), _DOMAINS, strict=True))
ALONE: Final[Mapping[Domain, Setting]] = {"speech": "speaker", "music": "instrument", "sound": "general_sound"}
"""The setting that asks for a source of a domain alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundClass:
    """What is known of a class of sounds."""

    domain: Domain = "sound"
    groups: tuple[str, ...] = ()
    specific: tuple[str, ...] = ()  # what sounds and how, in small letters
    general: tuple[str, ...] = ()  # what sounds
    also: tuple[str, ...] = ()  # prompts of other classes that may be meant to name it


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """A table of classes."""

    classes: Mapping[str, SoundClass]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # group to its prompts
    same: Mapping[str, str] = field(default_factory=dict)  # other names of a class

    def of(self, label: str) -> SoundClass:
        """A class; one that is not listed has its name as a prompt, and what its maker does where that is known."""
        found = self.classes.get(label)
        if found is None:
            verb = default_words(label)[1]
            found = SoundClass(specific=() if "sounds" in verb else (f"{label} {ing(verb)}",), general=(label,))
        return found

    def prompts(self, label: str) -> Iterator[tuple[str, bool]]:
        """The prompts that name a class, and whether each is specific."""
        own = self.of(label)
        yield from ((text, True) for text in own.specific)
        yield from ((text, False) for text in own.general)
        yield from ((text, False) for group in own.groups for text in self.groups.get(group, ()))

    def named(self, text: str, labels: Iterable[str]) -> frozenset[str]:
        """The classes among some that a prompt names; upper and lower case are one."""
        wanted = text.casefold().strip()
        whole = {DOMAIN_OF[setting] for setting, texts in WHOLE.items() if wanted in texts}
        return frozenset(
            label
            for label in labels
            if self.of(label).domain in whole or any(wanted == prompt for prompt, _ in self.prompts(label))
        )

    def unclear(self, text: str, labels: Iterable[str]) -> frozenset[str]:
        """The classes among some of which nobody can say whether a prompt names them: ``horse``, of hooves."""
        wanted, every = text.casefold().strip(), tuple(labels)
        return frozenset(label for label in every if wanted in self.of(label).also) - self.named(text, every)


@cache
def committed_classes() -> Classes:
    """The table that the package has."""
    return from_json(Classes, load(Path(__file__).with_name("classes.json").read_bytes()), exact=True)
