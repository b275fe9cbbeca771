"""What the lexicon model is asked: frames, a sentence and the true masks, from scenes, photographs and videos.

Photographs have no sentences that a model without names of things could follow. So they are made here from the true
masks alone: the annotated objects of a photograph become the things of a scene (centre, area, and the colour word that
at least 60 % of an object's pixels bear, by the naming of `cases.scenes`, not the model's), and of all logical forms of
colour, place, extremes and two of them together one is drawn that the grammar proves true of just that object. What is
not annotated may fit as well: nobody says so. Objects below 1 % of the photograph are neither asked for nor counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from auscult.cases.instances import list_instances
from auscult.language.forms import Facts, SceneObject
from auscult.language.forms import ANYTHING, SIGHT_QUALITIES, Form, both, colours, most, places
from auscult.language.grammar import phrase
from auscult.language.proof import Proof
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.models.base import Masks
from auscult.rng import generator
from auscult.scenes.appearance.colours import word_of
from auscult.types import Frame, Frames, Instance, Mask, MaskRef

LEAST_SHARE = 0.01
SEED = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """One sentence with its frames, uint8 (T, H, W, 3), and the true masks, bool (T, H, W)."""

    cluster: str
    family: str
    text: str
    frames: Frames
    truth: Masks


def scenes(folder: Path, *, clips: bool) -> Iterator[Asked]:
    """Every expression of generated scenes that names a thing; as clips, or the frame that shows most of the thing."""
    for instance in list_instances(folder).instances:
        if instance.absent or instance.query.text is None:
            continue
        truths = [_mask(instance, at) for at in range(len(instance.moments))]
        sizes = [np.count_nonzero(mask) for mask in truths]
        kept = range(len(truths)) if clips else [int(np.argmax(sizes))]
        yield Asked(
            cluster=instance.clip,
            family=instance.template,
            text=instance.query.text,
            frames=np.stack([read_frame(instance.moments[at].frame) for at in kept]),
            truth=np.stack([truths[at] for at in kept]),
        )


def _mask(instance: Instance, at: int) -> Mask:
    target = instance.moments[at].target
    if target is None:
        frame = read_frame(instance.moments[at].frame)
        return np.zeros(frame.shape[:2], bool)
    return read_mask(target).mask


def photographs(folder: Path, *, odd: bool) -> Iterator[Asked]:
    """Sentences for the objects of COCO photographs with odd or with even number."""
    told = json.loads((folder / "instances.json").read_text(encoding="utf-8"))
    files = {path.name: path for path in folder.rglob("*.jpg")}
    for picture in sorted(told["images"], key=lambda one: one["id"]):
        if picture["id"] % 2 != int(odd):
            continue
        frame = read_frame(files[picture["file_name"]])
        rows = [row for row in told["annotations"] if row["image_id"] == picture["id"] and not row["iscrowd"]]
        objects = {str(row["id"]): _annotated(row, frame) for row in rows}
        objects = {name: mask for name, mask in objects.items() if mask.mean() >= LEAST_SHARE}
        facts = Facts(
            things=tuple(_thing(name, mask, frame) for name, mask in objects.items()), duration_s=0.0, silent=True
        )
        forms = _naming(facts)
        for name, mask in objects.items():
            if forms.get(name):
                rng = generator(SEED, "lexicon", str(picture["id"]), name)
                families = sorted(forms[name])
                family = families[int(rng.integers(len(families)))]
                form = forms[name][family][int(rng.integers(len(forms[name][family])))]
                yield Asked(
                    cluster=str(picture["id"]),
                    family=family,
                    text=phrase(rng, form).text,
                    frames=frame[None],
                    truth=mask[None],
                )


def _annotated(row: dict[str, Any], frame: Frame) -> Mask:
    return read_mask(MaskRef(segmentation=row.get("rle") or row["segmentation"], size=frame.shape[:2])).mask


def _thing(name: str, mask: Mask, frame: Frame) -> SceneObject:
    rows, columns = np.nonzero(mask)
    x, y = float(columns.mean() / mask.shape[1]), float(rows.mean() / mask.shape[0])
    area = float(mask.mean())
    return SceneObject(id=name, category="thing", colour=word_of(frame[mask]), x=(x, x), y=(y, y), area=(area, area))


def _naming(facts: Facts) -> dict[str, dict[str, list[Form]]]:
    """For each thing the forms that are true of it and of no other, by family."""
    proof = Proof(facts)
    found: dict[str, dict[str, list[Form]]] = {}
    for family, form in _forms(facts):
        named = proof.named(form)
        if named is not None and len(named) == 1:
            found.setdefault(next(iter(named)), {}).setdefault(family, []).append(form)
    return found


def _forms(facts: Facts) -> Iterator[tuple[str, Form]]:
    yield from (("colour", form) for form in colours(facts))
    yield from (("place", form) for form in places())
    yield from (("colour and place", both(*pair)) for pair in product(colours(facts), places()))
    if len(facts.things) > 1:
        yield from (("extreme", most(quality, ANYTHING)) for quality in SIGHT_QUALITIES)
        for quality, form in product(SIGHT_QUALITIES, colours(facts)):
            yield "extreme of a colour", most(quality, form)


def davis(folder: Path) -> Iterator[Asked]:
    """The positive sentences, with every frame of their videos."""
    told = json.loads((folder / "expressions.json").read_text(encoding="utf-8"))
    for row in told["expressions"]:
        if not row["referent"] or row["object"] != "foreground":
            continue
        frames = sorted((folder / row["video"] / "frames").glob("*.jpg"))
        masks = [folder / row["video"] / "masks" / f"{path.stem}.png" for path in frames]
        kept = [at for at, path in enumerate(masks) if path.is_file()]
        yield Asked(
            cluster=row["video"],
            family="davis",
            text=row["exp"],
            frames=np.stack([read_frame(frames[at]) for at in kept]),
            truth=np.stack([read_mask(MaskRef(path=masks[at], positive=True)).mask for at in kept]),
        )
