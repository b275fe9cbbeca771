"""A table of expressions of the size of Ref-AVSBench's, made up: what the sampling is tried on, no file behind it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from auscult.types import Instance, MaskRef, Moment, Query

# split: clips, expressions, as the release's metadata.csv has them; clips have one to eighteen expressions
SPLITS = {
    "train": (2767, 14113),
    "val": (257, 1349),
    "test_s": (273, 2288),
    "test_u": (269, 1656),
    "test_n": (257, 1028),
}
TEMPLATES = 12
CATEGORIES = {"train": range(48), "val": range(48), "test_s": range(48), "test_u": range(48, 71), "test_n": range(1)}


def full_size(seed: int = 3) -> list[Instance]:
    """Instances of all five splits, without files."""
    rng = np.random.default_rng(seed)
    instances: list[Instance] = []
    for split, (clips, expressions) in SPLITS.items():
        names = CATEGORIES[split]
        share = 1 / (np.arange(len(names)) + 2.0)
        owners = [*range(clips), *range(clips), *rng.integers(clips, size=expressions - 2 * clips).tolist()]
        template_indices = rng.choice(len(names), size=len(owners), p=share / share.sum())
        templates = rng.integers(TEMPLATES, size=len(owners))
        for number, (owner, index, template) in enumerate(zip(owners, template_indices, templates, strict=True)):
            category = names[index]
            instances.append(
                instance(
                    f"{split}{owner:04d}_thing{category}_{number}",
                    clip=f"{split}{owner:04d}",
                    split=split,
                    category=f"thing{category}",
                    template=f"t{template}",
                    absent=split == "test_n",
                    moments=1 if split == "train" else 2,
                )
            )
    return instances


def instance(
    name: str,
    *,
    clip: str,
    split: str = "",
    category: str = "",
    template: str = "",
    absent: bool = False,
    moments: int = 10,
    object_name: str = "",
) -> Instance:
    """One instance whose files nobody opens; ``of`` names its object, its category where empty."""
    folder = Path("gt_mask") / clip / (object_name or category or name)
    return Instance(
        id=name,
        clip=clip,
        query=Query(f"the {category}"),
        split=split,
        category=category,
        template=template,
        absent=absent,
        moments=tuple(
            Moment(
                frame=Path("media") / clip / f"{index}.jpg",
                target=MaskRef(path=folder / f"{index}.png"),
                time_s=float(index),
            )
            for index in range(moments)
        ),
    )
