"""A sound replaced by one that nothing in a scene makes, or the order of two sounds exchanged.

Beyond the paper, for scenes with known truth (``auscult make scenes``). The logical form of the sentence is changed;
it must then name nothing, by the same proof that every sentence of a scene has. The words are made anew from the form,
in the wording that keeps most of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from auscult.language.forms import Facts, Form, voices
from auscult.stress.negatives.base import NegativeStressor, Subject
from auscult.stress.negatives.restated import Change, Restated
from auscult.types import Metadata

_SWAPPED: Final = {"before": "after", "after": "before"}


class _Sound(Restated):
    """A sound that is not heard so."""

    name = "negatives.sound.v1"
    meta = Metadata(
        summary="a sound replaced by one that nothing makes, or the order of two sounds exchanged",
        goal="a model that finds the thing and does not listen",
        modality="text",
        source="auscult's own; the proof of its scenes",
        truth="the sentence names nothing: its logical form is false of everything in the scene",
        origin="source",
    )
    unknown = "no logical form and no scene say what sounds when"
    unsaid = "the sentence says nothing of a sound, or of the order of two"
    unproven = "with another sound or order something is still named, or it is not clear"

    def changes(self, part: Form, facts: Facts, subject: Subject) -> Iterator[Change]:
        """A voice that nothing in the scene has; the other order."""
        if part["op"] == "voice":
            present = {(voice["noun"], voice["verb"]) for voice in voices(facts)}
            for noun, verb in sorted(set(subject.voices) - present):
                yield Change({**part, "noun": noun, "verb": verb}, "sound", noun)
        how = part.get("how")
        if how in _SWAPPED:
            yield Change({**part, "how": _SWAPPED[how]}, "sound", _SWAPPED[how])


STRESSOR: NegativeStressor = _Sound()
