"""What the prompted judge learns from, is calibrated on and is measured on: photographs and frames, read and divided.

``images/more`` and ``images/coco`` give photographs with objects and real models' masks, ``video`` gives sequences.
Masks of families that are for testing only never leave ``photographs`` unless they are asked for by name. A file that
is missing or broken costs itself and is counted.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError, InputError
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.media.rle import decode, encode
from auscult.train.material import committed, predicted
from auscult.types import Frame, Mask, MaskRef

SplitPart: TypeAlias = Literal["train", "calibration", "dev", "test", "unseen"]
PARTS: Final[tuple[SplitPart, ...]] = ("train", "calibration", "dev", "test", "unseen")

MAY_TRAIN: Final = ("deeplab", "grabcut", "osvos", "rvos")
"""Families whose masks may enter weights and calibration; all others are for measuring only."""
LEAST_PX: Final = 24 * 24

_FAMILIES: Final = (
    ("deeplabv3-mnv2-dm05", "deeplab"),
    ("deeplabv3-mnv2", "deeplab"),
    ("grabcut", "grabcut"),
    ("osvos", "osvos"),
    ("rvos", "rvos"),
    ("csnet", "csnet"),
    ("yolov8n-seg-256", "yolo-256"),
    ("yolov8n-seg-320", "yolo-320"),
    ("yolov8n-seg-int8 average of crops + grabcut", "yolo-refined"),
    ("yolov8n-seg-int8 average", "yolo-crops"),
)
FAMILIES: Final = tuple(dict.fromkeys(short for _, short in _FAMILIES))
"""Short names of all that drew masks."""
_UNSEEN_SOURCES: Final = ("Naveen-Dodda/Sample_Pets_dataset", "MathLee/EOR-VOS")
_MOST_BYTES: Final = 200 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RealMask:
    """A mask as RLE, the short name of the model that drew it, and which of the picture's objects it is meant for."""

    family: str
    target: int
    rle: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One photograph or video frame."""

    path: Path
    cluster: str  # photograph or sequence: what one interval's cluster is
    source: str  # ``coco``, ``more``, ``pets``, ``davis`` or ``own``
    part: SplitPart  # what it is for
    objects: tuple[Mapping[str, Any], ...] = field(repr=False)  # RLE of its objects, without crowds
    categories: tuple[str, ...] = ()  # their names; empty where not known
    complete: bool = True  # whether these are all its objects
    real: tuple[RealMask, ...] = field(default=(), repr=False)  # masks that models drew of them
    order: int = 0  # index in its sequence; 0 for photographs

    def frame(self) -> Frame:
        """Read the picture, uint8 RGB (H, W, 3)."""
        return read_frame(self.path)

    def masks(self) -> tuple[Mask, ...]:
        """Decode the objects, each bool (H, W)."""
        return tuple(decode(rle) for rle in self.objects)


@dataclass(slots=True)
class Material:
    """Pictures, and what could not be read: path and reason."""

    pictures: list[Picture] = field(default_factory=list)
    lost: list[tuple[Path, str]] = field(default_factory=list)

    def of(self, *parts: SplitPart) -> list[Picture]:
        """The pictures of the given parts, in order."""
        return [picture for picture in self.pictures if picture.part in parts]


def read_material(data: Path, *, families: Iterable[str] = MAY_TRAIN, parts: Collection[SplitPart] = PARTS) -> Material:
    """Read all that there is of some families and parts."""
    material = Material()
    allowed = frozenset(families)
    with _naming(data / "images/more/instances.json"):
        _add(material, _more(data / "images/more", allowed, material))
    with _naming(data / "images/coco/instances.json"):
        _add(material, _coco(data / "images/coco"))
    _add(material, _sequences(data / "video/davis2016", allowed, parts))
    if "train" in parts:
        _add(material, _dogs(data / "video/dogs-jump"))
    material.pictures = material.of(*parts)
    if not material.pictures:
        raise InputError("there is no picture to learn from", expected="photographs with objects", path=data)
    return material


def family_of(model: str) -> str:
    """The short name of what drew a mask, from the name in the data."""
    return next((short for long, short in _FAMILIES if model.startswith(long)), model)


def part_of(name: str, source: str, split: str) -> SplitPart:
    """What a photograph of ``images/more`` is for; it follows from its own name, so that new ones move no other."""
    if source.startswith(_UNSEEN_SOURCES):
        return "unseen"
    bucket = int(hashlib.blake2b(Path(name).name.encode(), digest_size=4).hexdigest(), 16) % 100
    if split == "dev":
        return "test" if bucket < 60 else "dev"
    return "calibration" if bucket < 15 else "train"


def _add(material: Material, pictures: Iterator[Picture]) -> None:
    for picture in pictures:
        if picture.path.is_file():
            material.pictures.append(picture)
        else:
            material.lost.append((picture.path, "the picture is missing"))


@contextmanager
def _naming(listing: Path) -> Iterator[None]:
    """Name the listing whose parts are not what they should be."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        expected = "COCO's images, annotations and categories"
        raise InputError(f"the listing lacks something: {error}", expected=expected, path=listing) from error


def _more(folder: Path, families: frozenset[str], material: Material) -> Iterator[Picture]:
    listing = folder / "instances.json"
    if not listing.exists():
        return
    value = _read_json(listing)
    names = {category["id"]: str(category["name"]) for category in value["categories"]}
    objects: dict[int, list[Mapping[str, Any]]] = {}
    for annotation in value["annotations"]:
        objects.setdefault(annotation["image_id"], []).append(annotation)
    targets = {row["id"]: (image, index) for image, rows in objects.items() for index, row in enumerate(rows)}
    real = _predictions(folder / "predictions.json.gz", targets, families=families, material=material)
    split = _split(folder / "split.csv")
    for image in value["images"]:
        number, source = int(image["id"]), str(image["source"])
        if number not in split:
            material.lost.append((folder / str(image["file_name"]), "split.csv does not say what it is for"))
            continue
        rows = objects.get(number, [])
        video = source.startswith("MathLee")
        name = Path(str(image["file_name"])).stem
        yield Picture(
            path=folder / str(image["file_name"]),
            cluster=name.rsplit("_", 1)[0] if video else name,
            source="davis" if video else "pets" if "Pets" in source else "more",
            part=part_of(str(image["file_name"]), source, split[number]),
            objects=tuple(row["rle"] for row in rows),
            categories=tuple(names.get(row["category_id"], "") for row in rows),
            complete=bool(image["all_objects"]),
            real=tuple(real.get(number, ())),
            order=number if video else 0,
        )


def _predictions(
    path: Path, targets: Mapping[int, tuple[int, int]], *, families: frozenset[str], material: Material
) -> dict[int, list[RealMask]]:
    real: dict[int, list[RealMask]] = {}
    if not path.exists():
        return real
    for row in _read_json(path):
        family = family_of(str(row["model"]))
        if family not in families:
            continue
        if row["ann_id"] not in targets or targets[row["ann_id"]][0] != row["image_id"]:
            material.lost.append((path, f"a mask of object {row['ann_id']}, which picture {row['image_id']} has not"))
            continue
        real.setdefault(int(row["image_id"]), []).append(
            RealMask(family=family, target=targets[row["ann_id"]][1], rle=row["rle"])
        )
    return real


def _split(path: Path) -> dict[int, str]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {int(row["image_id"]): row["split"] for row in csv.DictReader(file)}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"the split cannot be read: {error}", expected="image_id, split", path=path) from error


def _coco(folder: Path) -> Iterator[Picture]:
    listing = folder / "instances.json"
    if not listing.exists():
        return
    value = _read_json(listing)
    names = {category["id"]: str(category["name"]) for category in value.get("categories", ())}
    objects: dict[int, list[Mapping[str, Any]]] = {}
    for annotation in value["annotations"]:
        if not annotation["iscrowd"]:
            objects.setdefault(annotation["image_id"], []).append(annotation)
    files = {str(image["file_name"]): image["id"] for image in value["images"]}
    for part, chosen in committed()["coco"].items():
        for name in chosen:
            rows = objects.get(files.get(name, -1), [])
            yield Picture(
                path=folder / "images" / name,
                cluster=name,
                source="coco",
                part=part,
                objects=tuple(row["rle"] for row in rows),
                categories=tuple(names.get(row.get("category_id", -1), "") for row in rows),
            )


def _sequences(folder: Path, families: frozenset[str], parts: Collection[SplitPart]) -> Iterator[Picture]:
    for part, names in committed()["davis"].items():
        for name in names if part in parts else ():
            for order, path in enumerate(sorted((folder / name / "frames").glob("*.jpg"))):
                truth = read_mask(MaskRef(path=folder / name / "masks" / f"{path.stem}.png")).mask
                real = [
                    RealMask(family=model, target=0, rle=encode(mask))
                    for model in ("osvos", "rvos")
                    if model in families
                    for mask in _masks_of(folder / name / f"pred_{model}" / f"{path.stem}.png", truth, model=model)
                ]
                yield Picture(
                    path=path,
                    cluster=name,
                    source="davis",
                    part=part,
                    objects=(encode(truth),) if truth.any() else (),
                    complete=False,
                    real=tuple(real) if truth.any() else (),
                    order=order,
                )


def _masks_of(path: Path, truth: Mask, *, model: str) -> Sequence[Mask]:
    """A model's mask of one frame; none where it cannot be read or is far from the truth."""
    try:
        mask = predicted(path, truth, best=model == "rvos")
    except AuscultError:
        return ()
    return [mask] if truth.any() and iou(mask, truth) > 0.05 else []


def _dogs(folder: Path) -> Iterator[Picture]:
    for order, path in enumerate(sorted((folder / "frames").glob("*.jpg"))):
        truth = folder / "masks" / f"{path.stem}.png"
        masks = [read_mask(MaskRef(path=truth, index=index, absent_ok=True)).mask for index in (1, 2, 3)]
        yield Picture(
            path=path,
            cluster="dogs-jump",
            source="davis",
            part="train",
            objects=tuple(encode(mask) for mask in masks if mask.any()),
            complete=False,
            order=order,
        )


def _read_json(path: Path) -> Any:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the listing cannot be read: {error}", expected="an undamaged file", path=path) from error
    if len(content) > _MOST_BYTES:
        raise InputError(f"the listing unpacks to more than {_MOST_BYTES >> 20} MiB", path=path)
    try:
        return json.loads(content)
    except ValueError as error:
        raise InputError(f"the listing is no JSON: {error}", path=path) from error
