"""The Python functions as a notebook and an evaluation loop use them: what may be given, and what is shown of it."""

from __future__ import annotations

import base64
import io
import json
import pickle
import sys
import types
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import auscult
from auscult.arrays.error_map import error_map_of
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.jobs.estimates import expected
from auscult.judge.masks.prompted import PromptedJudge
from auscult.media.given import given_frame, given_mask, given_masks
from auscult.media.rle import encode
from auscult.outcome import Failed
from auscult.types import Case, Evidence, Item, MaskRef, Metadata, Prediction, Verdict
from small_inputs import HEIGHT, LEFT, RIGHT, SIZE, WIDTH, picture, save_frame, save_mask, save_palette

SOFT = np.where(LEFT, np.float32(0.9), np.float32(0.2))


class Tensor:
    """What a torch tensor is to us: it leaves its graph and its device, then becomes an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def is_floating_point(self) -> bool:
        return self.array.dtype.kind == "f"

    def float(self) -> Tensor:
        return Tensor(self.array.astype(np.float32))

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.array


class Detections:
    """What supervision.Detections is to us."""

    def __init__(self, mask: object, count: int = 2) -> None:
        self.mask = mask
        self.xyxy = np.zeros((count, 4))


class Area:
    """A judge of the mask's area, without a batch."""

    name = "masks.area.v1"
    meta = Metadata(summary="s", goal="g", modality="mask", source="s")
    n_others: tuple[int, ...] = ()

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        self.n_others = (*self.n_others, len(case.others))
        share = np.float32(prediction.mask.mean())
        return Verdict(
            id=case.id,
            iou=share,
            iou_low=0.0,
            iou_high=1.0,
            defect="erode",
            defect_probs=types.MappingProxyType({"erode": 1.0}),
            evidence=Evidence(shape=True),
            rationale="<b>Only</b> its area was looked at. " * 30,
            judge=self.name,
            region=(1, 2, 3, 4),
            error_map=error_map_of(np.zeros((64, 64), np.float32), (0, 0, 64, 64)),
            prob_iou_80=float(share),
        )


ONE: dict[str, Any] = {
    "bool": LEFT,
    "0 and 1": LEFT.astype(np.uint8),
    "0 and 255": LEFT.astype(np.uint8) * 255,
    "int64": LEFT.astype(np.int64),
    "probabilities": SOFT,
    "(1, H, W)": LEFT[None],
    "(H, W, 1)": LEFT[..., None],
    "(1, 1, H, W)": LEFT[None, None],
    "tensor": Tensor(LEFT[None]),
    "soft tensor": Tensor(SOFT),
    "PIL 1": Image.fromarray(LEFT),
    "PIL L": Image.fromarray(LEFT.astype(np.uint8) * 255),
}


@pytest.mark.parametrize("mask_input", ONE.values(), ids=ONE)
def test_one_mask_may_be_given_so(mask_input: Any) -> None:
    mask = given_mask(mask_input, SIZE)
    assert (mask == LEFT).all()
    assert mask.view(np.uint8).max() == 1  # in a picture of mode 1 True is the byte 255, and judges count bytes


def test_a_mask_and_a_frame_may_be_files(tmp_path: Path) -> None:
    path = save_mask(tmp_path / "m.png", LEFT)
    assert (given_mask(str(path), SIZE) == LEFT).all()
    assert (given_frame(save_frame(tmp_path / "f.png")) == picture()).all()
    assert (given_frame(Image.fromarray(picture())) == picture()).all()
    masks = given_masks(save_palette(tmp_path / "p.png", {1: LEFT, 2: RIGHT}), SIZE)
    assert [(mask == true).all() for mask, true in zip(masks, (LEFT, RIGHT), strict=True)] == [True, True]


def test_logits_need_a_threshold() -> None:
    logits = np.where(LEFT, 3.0, -4.0)
    assert (given_mask(logits, SIZE, threshold=0) == LEFT).all()
    with pytest.raises(InputError) as error:
        given_mask(logits, SIZE)
    assert "threshold=0" in error.value.hint
    for threshold in (float("nan"), float("inf"), "0.5"):
        with pytest.raises(InputError, match="finite number"):
            given_mask(logits, SIZE, threshold=threshold)


BOTH = np.stack([LEFT, RIGHT])


@pytest.mark.parametrize(
    "masks_input",
    [
        BOTH, BOTH[:, None], [LEFT, RIGHT.astype(np.uint8)], (mask for mask in BOTH), Tensor(BOTH),
        [Tensor(LEFT), Image.fromarray(RIGHT)], Detections(BOTH), Detections([LEFT, RIGHT]),
    ],
    ids=["(N, H, W)", "(N, 1, H, W)", "list", "iterator", "tensor", "mixed", "detections", "detections of a list"],
)  # fmt: skip
def test_several_masks_may_be_given_so(masks_input: Any) -> None:
    assert [(mask == true).all() for mask, true in zip(given_masks(masks_input, SIZE), BOTH, strict=True)] == [
        True,
        True,
    ]


def test_no_mask_is_no_error() -> None:
    for masks_input in ([], np.zeros((0, *SIZE), bool), Detections(None, count=0)):
        assert given_masks(masks_input, SIZE) == []
    assert auscult.audit_masks(picture(), []) == []


@pytest.mark.parametrize(
    ("mask_input", "message"),
    [
        (None, "NoneType"),
        (3, "int"),
        ({"size": [2, 2], "counts": "04"}, "dict"),
        (Detections(None), "boxes and no masks"),
        (BOTH[:, :-1], f"mask 0: the mask is {HEIGHT - 1} x {WIDTH}"),
        ([LEFT, "nothing.png"], "mask 1:"),
        (np.full(SIZE, 3, np.uint8), "whole numbers 3"),
        (np.full(SIZE, np.nan), "NaN"),
        (np.array([["a"]]), "mask 0:"),
        (Image.fromarray(picture()), "mode RGB"),
    ],
)
def test_anything_else_is_refused_by_what_it_is(mask_input: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        given_masks(mask_input, SIZE)
    assert message in error.value.message
    assert error.value.expected


@pytest.mark.parametrize(
    ("frame", "hint"),
    [
        (picture().transpose(2, 0, 1), "permute"),
        (picture()[..., 0], "repeat"),
        (picture() / 255, "astype"),
        (picture()[None], "frames[0]"),
        (None, "numpy.asarray"),
    ],
)
def test_a_frame_of_another_kind_is_told_the_way(frame: Any, hint: str) -> None:
    with pytest.raises(InputError) as error:
        auscult.audit_masks(frame, [LEFT])
    assert hint in error.value.hint


def test_masks_of_a_frame_are_judged_together_as_in_a_folder() -> None:
    judge = Area()
    first, second = auscult.audit_masks(picture(), [LEFT, RIGHT], judge=judge)
    assert (first.id, second.id, judge.n_others) == ("0", "1", (1, 1))
    alone = auscult.audit_mask(picture(), LEFT, others=[RIGHT])
    judged_together = auscult.audit_masks(picture(), [LEFT, RIGHT])[0]
    assert judged_together.iou == pytest.approx(alone.iou, abs=1e-6)
    assert judged_together.action == alone.action


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.source = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.source += dict(attrs).get("src") or ""


def test_a_verdict_is_short_in_words_and_has_a_picture_in_a_notebook() -> None:
    verdict = auscult.audit_mask(picture(), LEFT, judge=Area(), text="the <script>red</script> blob")
    assert len(repr(verdict)) < 300
    assert len(repr(replace(verdict, id="\udc80" * 500))) < 300
    assert "erode" in repr(verdict)
    page = _Texts()
    page.feed(verdict._repr_html_())
    assert page.tags.count("img") == 1
    assert "script" not in page.tags
    thumbnail = Image.open(io.BytesIO(base64.b64decode(page.source.partition(",")[2])))
    assert thumbnail.format == "JPEG"
    assert max(thumbnail.size) == 320
    unknown = replace(verdict, iou=0.5, iou_low=0.0, iou_high=1.0)
    assert "0.50 [not known]" in repr(unknown)
    assert "0.50 [not known]" in unknown._repr_html_()
    plain = replace(verdict, picture=None)
    assert plain == verdict
    assert "<img" not in plain._repr_html_()


def test_a_verdict_becomes_json_whatever_its_judge_computed_with() -> None:
    verdict = auscult.audit_mask(picture(), LEFT, judge=Area())
    fields = json.loads(json.dumps(verdict.to_dict()))
    assert (fields["region"], fields["evidence"]["shape"], fields["defect_probs"]) == (
        [1, 2, 3, 4],
        True,
        {"erode": 1.0},
    )
    assert fields["iou"] == pytest.approx(float(LEFT.mean()))
    assert not {"picture", "error_map"} & fields.keys()


def test_items_of_a_folder_show_their_picture_too(tmp_path: Path) -> None:
    frame, mask = save_frame(tmp_path / "f.png"), save_mask(tmp_path / "m.png", LEFT)
    (verdict,) = auscult.audit([Item(id="a", frame=str(frame), mask=mask, query="the blob")])  # type: ignore[arg-type]
    assert verdict.picture is not None
    assert verdict.picture.startswith(b"\xff\xd8")


@pytest.mark.parametrize("name", ["frame", "mask", "query"])
def test_an_item_with_an_array_is_refused_by_type(name: str, tmp_path: Path) -> None:
    item = replace(Item(id="a", frame=tmp_path, mask=MaskRef(path=tmp_path)), **{name: picture()})
    with pytest.raises(InputError, match=f"the {name} of the item 'a' is of type ndarray"):
        list(auscult.audit([item]))


def test_a_mask_ref_holds_a_path_in_words_and_no_array(tmp_path: Path) -> None:
    frame, mask = save_frame(tmp_path / "f.png"), save_mask(tmp_path / "m.png", LEFT)
    item = Item(id="a", frame=frame, mask=MaskRef(path=str(mask)))  # type: ignore[arg-type]
    (verdict,) = auscult.audit([item])
    assert isinstance(verdict, auscult.Verdict)
    for name, value in (
        ("path", LEFT),
        ("segmentation", LEFT),
        ("size", np.array(LEFT.shape)),
        ("index", np.float64(1)),
    ):
        with pytest.raises(InputError, match=f"the {name} of the mask of the item 'a' is of type"):
            list(auscult.audit([replace(item, mask=MaskRef(**{name: value}))]))
    with pytest.raises(UsageError, match="judge is of type Area"):
        list(auscult.audit([item], judge=Area()))  # type: ignore[arg-type]


def test_a_mask_ref_may_hold_what_pycocotools_and_numpy_give(tmp_path: Path) -> None:
    frame, path = save_frame(tmp_path / "f.png"), save_palette(tmp_path / "m.png", {1: LEFT, 2: RIGHT})
    counts = encode(RIGHT)["counts"]
    given: tuple[dict[str, Any], ...] = (
        {"path": path, "index": np.uint8(2)},
        {"segmentation": {"size": list(SIZE), "counts": counts.encode()}},
        {"segmentation": {"size": np.array(SIZE), "counts": counts}},
        {"segmentation": [np.array([0, 0, WIDTH, 0, WIDTH, HEIGHT], np.float32)], "size": SIZE},
    )
    items = [Item(id=str(number), frame=frame, mask=MaskRef(**one)) for number, one in enumerate(given)]
    verdicts = {verdict.id: verdict for verdict in auscult.audit(items) if isinstance(verdict, auscult.Verdict)}
    assert len(verdicts) == len(given)
    assert verdicts["0"].iou == verdicts["1"].iou == verdicts["2"].iou


def test_verdicts_become_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts: list[Any] = auscult.audit_masks(picture(), [LEFT, RIGHT], judge=Area())
    failed = Failed(ErrorRecord(stage="read", error="no such file", id="c"))
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    rows: Any = auscult.to_frame([*verdicts, failed])
    assert [row["id"] for row in rows] == ["0", "1", "c"]
    assert (rows[0]["prob_erode"], rows[0]["checked_shape"], rows[0]["error"]) == (1.0, True, None)
    assert rows[2]["error"] == "no such file"
    for other in (verdicts[0], None):
        with pytest.raises(UsageError, match="the verdicts are of type"):
            auscult.to_frame(other)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pandas"):
        auscult.to_frame(verdicts)


def test_a_metric_of_an_evaluation_loop() -> None:
    metric = auscult.MaskQuality(judge=Area())
    empty = metric.compute()
    assert (empty["n"], empty["iou"], empty["good"], empty["accept"]) == (0, None, None, None)
    metric.update(picture(), [LEFT, RIGHT])
    assert metric(picture(), LEFT[None])["n"] == 1
    result = metric.compute()
    assert (result["n"], result["frames"]) == (3, 2)
    assert result["iou"] == pytest.approx((2 * LEFT.mean() + RIGHT.mean()) / 3)
    assert 0 <= result["good_low"] <= result["good"] <= result["good_high"] <= 1
    assert sum(result[action] for action in auscult.types.ACTIONS) == pytest.approx(1)
    metric.reset()
    assert metric.compute() == empty


def test_a_metric_adapts_its_share_as_an_audit_does() -> None:
    masks = [LEFT & (np.arange(WIDTH) < share * WIDTH) for share in np.linspace(0.15, 0.5, 12)]
    metric = auscult.MaskQuality()
    metric.update(picture(), masks)
    prior = list(PromptedJudge().prob_prior)
    rows = [(verdict, {"frame": "f", "prob_prior": prior}) for verdict in auscult.audit_masks(picture(), masks)]
    adapted, plain = (expected(given)["share_below_80"] for given in (rows, [(verdict, {}) for verdict, _ in rows]))
    assert metric.compute()["good"] == pytest.approx(1 - adapted["value"], abs=1e-6)
    assert adapted["value"] != pytest.approx(plain["value"], abs=1e-3)


@pytest.mark.parametrize("said", [{"prob_iou_50": None}, {"judged_by": "masks.other.v1"}, {"prob_iou_50": 0.0}])
def test_a_metric_leaves_probabilities_alone_that_an_audit_does(said: dict[str, Any]) -> None:
    class Chances(Area):
        prob_prior = (0.4, 0.8)

        def __call__(self, case: Case, prediction: Prediction) -> Verdict:
            return replace(super().__call__(case, prediction), prob_iou_80=0.3, **{"prob_iou_50": 0.6, **said})

    metric = auscult.MaskQuality(judge=Chances())
    metric.update(picture(), [LEFT, RIGHT])
    (verdict, other) = auscult.audit_masks(picture(), [LEFT, RIGHT], judge=Chances())
    fields = {"frame": "f"} | ({} if "judged_by" in said else {"prob_prior": [0.4, 0.8]})
    audit = expected([(verdict, fields), (other, fields)])["share_below_80"]
    assert metric.compute()["good"] == pytest.approx(1 - audit["value"], abs=1e-6)


def test_metrics_of_several_processes_merge_in_any_order() -> None:
    all_masks, parts = auscult.MaskQuality(), [auscult.MaskQuality() for _ in range(3)]
    for number, part in enumerate(parts):
        for mask in (LEFT, RIGHT)[: 1 + number % 2]:
            all_masks.update(picture(), [mask], clip=f"v{number}" if number else None)
            part.update(picture(), [mask], clip=f"v{number}" if number else None)
    first, second, third = (pickle.loads(pickle.dumps(part)) for part in parts)  # noqa: S301 - our own
    third.merge_state(first)
    third.merge_state(second)
    assert third.compute() == all_masks.compute()
    third.update(picture(), [RIGHT])
    assert third.compute()["n"] == 5
    with pytest.raises(UsageError, match="different settings"):
        all_masks.merge_state(auscult.MaskQuality(judge="cues"))


def test_real_masks_of_a_model_from_a_palette(data: Path) -> None:
    folder = data / "video" / "davis2016" / "blackswan"
    mask = next((folder / "pred_osvos").glob("*.png"))
    frame = next(path for path in (folder / "frames").glob(f"{mask.stem}.*"))
    (verdict,) = auscult.audit_masks(Image.open(frame), mask)
    second = auscult.audit_mask(frame, np.asarray(Image.open(mask)) > 0)
    assert verdict.iou == pytest.approx(second.iou, abs=1e-6)
    assert len(repr(verdict)) < 300
