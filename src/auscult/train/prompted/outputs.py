"""Raw outputs of the networks on many candidates, beside the ground truth, kept in one file."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.jobs.runner import Progress
from auscult.judge.masks.compact.view import outline_of
from auscult.judge.masks.prompted.network import Classifier, Member, run
from auscult.judge.masks.prompted.view import inputs, looks
from auscult.media.rle import decode
from auscult.rng import generator
from auscult.score.judges import MaskColumns
from auscult.train.candidates import CandidateScene, candidates
from auscult.train.prompted.material import LEAST_PX, Picture
from auscult.types import Floats, Frame, Mask

FLAWLESS: Final = "flawless"
OWN: Final = "own"
MADE: Final = "made"
_BATCH: Final = 8
_TEXTS: Final = ("family", "cluster", "source", "name", "defect", "difficulty")
_LEAST_CANDIDATE_PX: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judgeable:
    """A candidate with its truth."""

    frame: Frame  # uint8 RGB (H, W, 3)
    mask: Mask  # the candidate, bool (H, W)
    truth: Mask  # bool (H, W)
    family: str  # what drew it
    cluster: str  # photograph or sequence
    source: str  # where the picture is from
    name: str  # the picture, and which object of it
    defect: str = ""  # its type where one is known, else empty
    difficulty: str = ""  # ``hard``, ``medium``, ``easy`` or empty
    order: int = 0  # place in its sequence


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateColumns(MaskColumns):
    """What is known of n candidates, columns of equal length."""

    iou: NDArray[np.float64]  # True IoU, float64 (n,)
    # what drew each mask; ``cluster``, ``source``, ``name``, ``defect``, ``difficulty`` likewise, texts
    family: NDArray[np.str_]
    cluster: NDArray[np.str_]
    source: NDArray[np.str_]
    name: NDArray[np.str_]
    defect: NDArray[np.str_]
    difficulty: NDArray[np.str_]
    order: NDArray[np.int64]  # place in its sequence, int (n,)
    area: NDArray[np.float64]  # candidate's area in px; ``share`` the same over the frame's
    share: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.iou)


@dataclass(frozen=True, kw_only=True, eq=False)
class Outputs(CandidateColumns):
    """Outputs of each network on n candidates, beside what is known of them."""

    ious: Floats  # logits of each network's histogram, (n, members, 25)
    types: Floats  # logits, (n, members, 6)
    classifier_log_probs: NDArray[np.float64]  # log shares of the types by the defect classifier, (n, 6)
    features: Floats  # (n, members, 64)
    size: NDArray[np.float64]  # log share of the frame as ``view.shape_of`` has it, (n,)

    def save(self, path: Path) -> None:
        """Write all columns."""
        np.savez_compressed(path, **{field.name: getattr(self, field.name) for field in fields(self)})


def load_outputs(path: Path) -> Outputs:
    """Read what ``Outputs.save`` wrote."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return Outputs(**{field.name: arrays[field.name] for field in fields(Outputs)})
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        raise InputError(f"the outputs cannot be read: {error}", expected="a .npz of this recipe", path=path) from error


def judged(
    cases: Iterable[Judgeable], members: Sequence[Member], *, classifier: Classifier, progress: Progress
) -> Outputs:
    """Run networks on candidates, a batch at a time."""
    rows: list[dict[str, Any]] = []
    batch: list[Judgeable] = []
    for case in cases:
        batch.append(case)
        progress.step()
        if len(batch) == _BATCH:
            rows += _rows(batch, members, classifier)
            batch = []
    rows += _rows(batch, members, classifier) if batch else []
    return Outputs(**_stacked(rows, Outputs))


def columns_of(cases: Iterable[Judgeable]) -> CandidateColumns:
    """What is known of candidates."""
    return CandidateColumns(**_stacked([_facts(case) for case in cases], CandidateColumns))


def _stacked(rows: Sequence[Mapping[str, Any]], kind: type[CandidateColumns]) -> dict[str, Any]:
    names = [field.name for field in fields(kind)]
    columns = {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else names)}
    return {name: column.astype(np.str_) if name in _TEXTS else column for name, column in columns.items()}


def _facts(case: Judgeable) -> dict[str, Any]:
    area = int(np.count_nonzero(case.mask))
    return {
        "iou": iou(case.mask, case.truth),
        **{name: getattr(case, name) for name in _TEXTS},
        "order": case.order,
        "area": float(area),
        "share": area / case.mask.size,
    }


def _rows(batch: Sequence[Judgeable], members: Sequence[Member], classifier: Classifier) -> Iterator[dict[str, Any]]:
    lenses = tuple(member.lens for member in members)
    outlines = [outline_of(case.frame, case.mask) for case in batch]
    pairs = zip(batch, outlines, strict=True)
    views = [looks(case.frame, case.mask, lenses, outline=outline) for case, outline in pairs]
    results = run(members, [inputs([view[index] for view in views]) for index in range(len(members))])
    classifier_log_probs = classifier(
        np.stack([outline.cues for outline in outlines]), np.stack([view[0].shape for view in views])
    )
    for index, case in enumerate(batch):
        yield {
            **_facts(case),
            "classifier_log_probs": classifier_log_probs[index],
            "ious": np.stack([member["ious"][index] for member in results]),
            "types": np.stack([member["types"][index] for member in results]),
            "features": np.stack([member["features"][index] for member in results]),
            "size": float(views[index][0].shape[0]),
        }


def real_and_flawless(pictures: Iterable[Picture], *, every: int = 1) -> Iterator[Judgeable]:
    """Real models' masks of pictures, and the true masks themselves as ``flawless``."""
    for index, picture in enumerate(pictures):
        if picture.order and index % every:
            continue
        frame, masks = picture.frame(), picture.masks()
        for target, truth in enumerate(masks):
            if np.count_nonzero(truth) < LEAST_PX:
                continue
            real = [(entry.family, decode(entry.rle)) for entry in picture.real if entry.target == target]
            for family, mask in [(FLAWLESS, truth), *real]:
                if np.count_nonzero(mask) >= _LEAST_CANDIDATE_PX:
                    yield judgeable(picture, target, frame=frame, mask=mask, truth=truth, family=family)


def made_of(pictures: Iterable[Picture], *, seed: int, each: int) -> Iterator[Judgeable]:
    """Made candidates of every object, with their types."""
    for picture in pictures:
        frame, masks = picture.frame(), picture.masks()
        for target, truth in enumerate(masks):
            if np.count_nonzero(truth) < LEAST_PX:
                continue
            others = tuple(mask for index, mask in enumerate(masks) if index != target)
            scene = CandidateScene(frame=frame, mask=truth, others=others, complete=picture.complete)
            rng = generator(seed, "prompted", "made", str(picture.path.name), target)
            for candidate in candidates(scene, rng, each):
                mask, defect = candidate.mask, candidate.defect or ""
                nearer = any(iou(mask, other) > max(candidate.iou, 0.3) for other in others)
                if np.count_nonzero(mask) >= _LEAST_CANDIDATE_PX and not nearer:
                    yield judgeable(picture, target, frame=frame, mask=mask, truth=truth, family=MADE, defect=defect)


def listed(rows: Iterable[Mapping[str, Any]], pictures: Iterable[Picture], data: Path) -> Iterator[Judgeable]:
    """Masks of a listing, as ``tools/classical_families.py`` writes it, with the pictures they are of."""
    by_path = {picture.path: picture for picture in pictures}
    for row in sorted(rows, key=lambda row: str(row["picture"])):
        picture = by_path.get(data / str(row["picture"]))
        if picture is not None:
            target = int(row["target"])
            yield judgeable(
                picture,
                target,
                frame=picture.frame(),
                mask=decode(row["rle"]),
                truth=decode(picture.objects[target]),
                family=str(row["family"]),
            )


def judgeable(
    picture: Picture, target: int, *, frame: Frame, mask: Mask, truth: Mask, family: str, defect: str = ""
) -> Judgeable:
    """A candidate of one of a picture's objects."""
    return Judgeable(
        frame=frame,
        mask=mask,
        truth=truth,
        family=family,
        cluster=picture.cluster,
        source=picture.source,
        name=f"{picture.path.name}#{target}",
        defect="perfect" if family == FLAWLESS else defect,
        order=picture.order,
    )
