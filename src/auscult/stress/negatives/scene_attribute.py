"""The texture, relative size or motion of a thing in a scene, replaced by one that is false of everything there.

Beyond the paper, for scenes with known truth (``auscult make scenes``): "the striped bell" becomes "the spotted bell"
where something else is spotted, "larger than the drum" becomes "smaller than the drum", "moving to the left" becomes
"at rest". COCO, RefCOCO and Ref-AVSBench annotate neither what a thing is made of nor what it does, and "large" means
nothing there by itself: of them nothing is made, and the reason is told. Scenes have no materials either; what their
surfaces look like stands in that place. A sentence about motion is in the input where sounds are asked for too
(``--kind scene_attribute,sound``), since one frame does not show it.

The logical form of the sentence is changed; it must then name nothing, by the same proof that every sentence of a scene
has. The words are made anew from the form, in the wording that keeps most of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from auscult.language.forms import MOTIONS, Facts, Form, textures
from auscult.stress.negatives.base import NegativeStressor, Subject
from auscult.stress.negatives.restated import Change, Restated
from auscult.types import Metadata

_SWAPPED: Final = {"larger": "smaller", "smaller": "larger"}
_ALIKE: Final = frozenset({"spotted", "speckled"})


class _SceneAttribute(Restated):
    """A texture, size or motion that nothing has."""

    name = "negatives.scene_attribute.v1"
    meta = Metadata(
        summary="a texture, relative size or motion replaced by one that is false of everything in a scene",
        goal="a model that finds the thing and does not look at its surface, its size or what it does",
        modality="text",
        source="auscult's own; the proof of its scenes",
        truth="the sentence names nothing: its logical form is false of everything in the scene",
        origin="source",
    )
    unknown = "the annotation does not say what things are made of, how large they really are, or what they do"
    unsaid = "the sentence says nothing of a texture, of which of two is larger, or of a motion"
    unproven = "with another texture, size or motion something is still named, or it is not clear"

    def changes(self, part: Form, facts: Facts, subject: Subject) -> Iterator[Change]:
        """A texture that something else in the scene has; the other size; another motion."""
        del subject
        word = part.get("word")
        if part["op"] == "texture":
            for other in textures(facts):
                if other["word"] != word and {other["word"], word} != _ALIKE:
                    yield Change(other, "texture", other["word"])
        elif part["op"] == "motion":
            for motion in MOTIONS:
                if motion != word:
                    yield Change({**part, "word": motion}, "motion", motion)
        elif part.get("how") in _SWAPPED:
            how = _SWAPPED[part["how"]]
            yield Change({**part, "how": how}, "size", how)


STRESSOR: NegativeStressor = _SceneAttribute()
