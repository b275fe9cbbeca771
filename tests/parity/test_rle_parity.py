"""RLE and polygons give what pycocotools gives, bit for bit: on random masks, on COCO and on SA-V."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco

from auscult.media.masks import rasterize
from auscult.media.rle import decode, encode

# pycocotools' own wrapper predates numpy 2 and says so on every decode.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def reference(segmentation: dict[str, Any]) -> np.ndarray:
    return np.asarray(coco.decode(segmentation)).astype(bool)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.99, 1.0])
def test_random_masks(share: float) -> None:
    rng = np.random.default_rng(int(share * 100))
    for block in (1, 3, 40):
        for _ in range(15):
            height, width = rng.integers(1, 30, 2)
            mask = np.kron(rng.random((height, width)) < share, np.ones((block, block), bool))
            expected = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
            rle = encode(mask)
            assert rle == {"size": list(expected["size"]), "counts": expected["counts"].decode()}
            assert np.array_equal(decode(rle), mask)


def test_random_polygons() -> None:
    rng = np.random.default_rng(5)
    for turn in range(400):
        height, width, corners = (int(number) for number in rng.integers((1, 1, 3), (60, 60, 9)))
        points = rng.uniform(-30, 90, (corners, 2))
        if turn % 2:
            points = np.round(points * 2) / 2
        if turn % 5 == 0:
            points[1] = points[0]
        polygon = points.ravel().tolist()
        expected = reference(coco.frPyObjects([polygon], height, width))[..., 0]
        assert np.array_equal(rasterize([polygon], size=(height, width)), expected)


def test_all_coco_instances(data: Path) -> None:
    instances = json.loads((data / "images" / "coco" / "instances.json").read_text())
    sizes = {image["id"]: (image["height"], image["width"]) for image in instances["images"]}
    assert len(instances["annotations"]) == 532
    for annotation in instances["annotations"]:
        truth = reference(annotation["rle"])
        assert np.array_equal(decode(annotation["rle"]), truth)
        assert encode(truth) == annotation["rle"]
        segmentation = annotation["segmentation"]
        size = sizes[annotation["image_id"]]
        mask = rasterize(segmentation, size=size) if isinstance(segmentation, list) else decode(segmentation)
        assert np.array_equal(mask, truth), annotation["id"]


def test_all_sa_v_masklets(data: Path) -> None:
    count = 0
    for path in sorted((data / "video" / "sav_000001").glob("*.json")):
        for frame in json.loads(path.read_text())["masklet"]:
            for segmentation in frame:
                mask = decode(segmentation)
                assert np.array_equal(mask, reference(segmentation))
                assert encode(mask)["counts"] == segmentation["counts"]
                count += 1
    assert count == 1694
