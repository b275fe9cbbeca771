"""How well a small classifier tells outlines of things that were put into pictures from outlines of real objects.

Photographs and assets are split by a hash of their names; no photograph and no asset is in both parts. The composer was
tuned on the training part alone.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from bench.table import Table, text
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from studies.seam_patches import SIZE, Composer, Patches, Scatter, composed, in_test, instances_of, plain, real

from auscult import rng as randomness
from auscult.media.masks import read_mask
from auscult.scenes.appearance.compose import ComposedPicture, lay, put_together
from auscult.scenes.appearance.folder import covering, open_assets
from auscult.scenes.appearance.generated import GENERATED
from auscult.scenes.appearance.colours import Light
from auscult.scenes.appearance.drawing import AssetSet, Placed
from auscult.scenes.appearance.stage import Backdrop
from auscult.score.stats.few_clusters import SHARE, ends_of, widened
from auscult.types import Frame, Mask, MaskRef

_LEAST_AREA_PX: Final = 1500
_RESAMPLES: Final = 1000
_PICTURES: Final = 2
_HALVINGS: Final = 8

Photographs = Mapping[str, tuple[Frame, Sequence[Mask]]]
Makers = Mapping[str, Callable[[], Any]]

CLASSIFIERS: Makers = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.003, max_iter=300)),
    "trees": lambda: HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, learning_rate=0.1, l2_regularization=1.0, random_state=0
    ),
}


def run() -> Table:
    """Train on one part, test on the other, for every asset set, with and without matching; and real against real."""
    given = os.environ.get("AUSCULT_DATA")
    if not given:
        return Table("seams of composed scenes", [], [], "AUSCULT_DATA is not set")
    data = Path(given) / "images"
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "stamps"  # the set's name, which the draws depend on
        shutil.copytree(data / "stamps_gpl2", root / "cutouts")
        shutil.copytree(data / "coco" / "images", root / "backgrounds")
        assets, _ = open_assets(root)
        photographs = _photographs(assets, data / "coco" / "instances.json")
        rows = _rows(assets, photographs)
    return Table(
        "seams: 32 px patches on outlines of composed things against outlines of real objects",
        ["things, background", "classifier", "train, of photographs", "test", "AUC", "95 % interval"],
        rows,
        "COCO photographs at 480x854, JPEG 92; classifiers see a small Lab picture, oriented gradients, residual "
        "statistics and an edge profile; the better of the two is given. Intervals draw whole photographs. "
        "Wanted: at most .75 for cut-outs on photographs; .5 is blind.",
    )


def compose(background: Frame, placed: Sequence[Placed], *, light: Light) -> ComposedPicture:
    """Things put into a picture as scenes do it."""
    stage = Backdrop.of(background, light=light)
    return put_together(stage, [lay(thing, stage) for thing in placed])


def _rows(assets: AssetSet, photographs: Photographs) -> list[list[str]]:
    negative = {test: Patches.of(real(_part(photographs, test=test), compose, key="real")) for test in (False, True)}
    rows = []
    for name, things, painted, composer in (
        ("cut-outs on photographs", assets, False, compose),
        ("cut-outs on photographs, not matched", assets, False, plain),
        ("generated on photographs", GENERATED, False, compose),
        ("generated on photographs, not matched", GENERATED, False, plain),
        ("generated on painted", GENERATED, True, compose),
    ):
        positive = {
            test: _composed(things, photographs, composer, painted=painted, test=test) for test in (False, True)
        }
        rows.append([name, *_measured(positive, negative)])
    return [*rows, ["control: real on real", *_control(negative)]]


def _part(photographs: Photographs, *, test: bool) -> Photographs:
    return {name: value for name, value in photographs.items() if in_test(name) == test}


def _composed(things: AssetSet, photographs: Photographs, composer: Composer, *, painted: bool, test: bool) -> Patches:
    backgrounds = {name: value[0] for name, value in _part(photographs, test=test).items()}
    if painted:
        names = [name for name in GENERATED.backgrounds() if in_test(name) == test][: len(backgrounds)]
        backgrounds = {name: GENERATED.background(name, size=SIZE) for name in names}
    scatter = Scatter(things, instances_of(things, test=test), f"scatter {things.name} {test}")
    return Patches.of(composed(backgrounds, scatter, composer, pictures=_PICTURES))


def _control(negative: Mapping[bool, Patches]) -> list[str]:
    """Half of the photographs against the other half, several times: nothing is to be told but chance."""
    rng = randomness.generator(13, "seams", "control")
    cells = [_measured(*_halves(negative, rng), only="logistic") for _ in range(_HALVINGS)]
    aucs = [float(row[3]) for row in cells]
    return [*cells[0][:3], f"{np.mean(aucs):.3f}", f"{min(aucs):.3f} to {max(aucs):.3f} in {_HALVINGS} halvings"]


def _halves(
    negative: Mapping[bool, Patches], rng: np.random.Generator
) -> tuple[dict[bool, Patches], dict[bool, Patches]]:
    one, other = {}, {}
    for test, patches in negative.items():
        names = np.unique(patches.photograph)
        first = np.isin(patches.photograph, rng.permutation(names)[: len(names) // 2])
        one[test] = Patches(patches.features[first], patches.photograph[first])
        other[test] = Patches(patches.features[~first], patches.photograph[~first])
    return one, other


def _measured(positive: Mapping[bool, Patches], negative: Mapping[bool, Patches], *, only: str = "") -> list[str]:
    """Train and test both classifiers, or one; the cells of the better one."""
    x, y, groups = {}, {}, {}
    for test in (False, True):
        both = (positive[test], negative[test])
        x[test] = np.concatenate([patches.features for patches in both])
        y[test] = np.repeat((1, 0), [len(patches.features) for patches in both])
        groups[test] = np.concatenate([patches.photograph for patches in both])
    best: tuple[float, list[str]] = (-1.0, [])
    for name in [only] if only else CLASSIFIERS:
        fitted = CLASSIFIERS[name]().fit(x[False], y[False])
        score = fitted.predict_proba(x[True])[:, 1]
        auc = float(roc_auc_score(y[True], score))
        if auc > best[0]:
            low, high = _interval(score, y[True], groups[True])
            sizes = [f"{len(y[test])} of {len(np.unique(groups[test]))}" for test in (False, True)]
            best = (auc, [name, *sizes, f"{auc:.3f}", f"{low:.3f} to {high:.3f}"])
    return best[1]


def _interval(score: NDArray[Any], truth: NDArray[Any], groups: NDArray[Any]) -> tuple[float, float]:
    rng = randomness.generator(11, "seams", "bootstrap")
    members = [np.flatnonzero(groups == name) for name in np.unique(groups)]
    found = []
    for _ in range(_RESAMPLES):
        rows = np.concatenate([members[index] for index in rng.integers(len(members), size=len(members))])
        if 0 < truth[rows].sum() < len(rows):
            found.append(float(roc_auc_score(truth[rows], score[rows])))
    auc, sizes = float(roc_auc_score(truth, score)), [len(rows) for rows in members]
    ends = ends_of(widened(np.array(found), auc, sizes=sizes), value=auc, clusters=len(members), within=SHARE)
    return (ends.low, ends.high) if ends else (0.0, 1.0)


def _photographs(assets: AssetSet, list_path: Path) -> Photographs:
    """Every photograph as the scenes see it, with its objects' masks brought the same way."""
    document = json.loads(list_path.read_text(encoding="utf-8"))
    found = {}
    for image in document["images"]:
        masks = []
        for annotation in document["annotations"]:
            if annotation["image_id"] != image["id"] or annotation["iscrowd"] or annotation["area"] < _LEAST_AREA_PX:
                continue
            mask = read_mask(MaskRef(segmentation=annotation["rle"])).mask
            masks.append(_covering(mask))
        found[image["file_name"]] = (assets.background(image["file_name"], size=SIZE), masks)
    return found


def _covering(mask: Mask) -> Mask:
    picture = cv2.merge([mask.astype(np.uint8) * 255] * 3)
    return np.asarray(covering(np.asarray(picture, np.uint8), size=SIZE)[..., 0] >= 128)


if __name__ == "__main__":
    print(text(run()))
