"""Instances of every layout: which masks are one object, what is beside it, and what is asked of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.instances import instances_of, list_instances
from auscult.cases.listing import ListOptions
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.options import StressOptions
from auscult.jobs.stress import stress_masks
from auscult.media.masks import read_mask
from auscult.types import Instance, Item, MaskRef


def areas(instance: Instance) -> list[int | None]:
    return [None if moment.target is None else int(read_mask(moment.target).mask.sum()) for moment in instance.moments]


def stems(instance: Instance) -> list[str]:
    return [moment.frame.stem for moment in instance.moments]


def test_palette_indices_are_followed_through_a_clip(make: Any) -> None:
    for stem, indices in (("2", (1, 2)), ("10", (2,)), ("1", (1, 2, 3)), ("11", ())):
        make.frame(f"JPEGImages/480p/dog/{stem}.jpg")
        make.palette(f"Annotations/480p/dog/{stem}.png", *indices)
    make.frame("JPEGImages/480p/dog/12.jpg")
    listing = list_instances(make.root)
    assert listing.layout == "datasets.davis.v1"
    first, second, third = listing.instances
    assert [instance.id for instance in listing.instances] == ["dog#1", "dog#2", "dog#3"]
    assert stems(first) == stems(second) == stems(third) == ["1", "2", "10", "11", "12"], "all frames, in order"
    assert areas(first) == [18, 18, 0, 0, None], "where it is out of the picture, its mask is empty"
    assert areas(third) == [18, 0, 0, 0, None], "the last frame is not annotated"
    assert [[None if ref is None else ref.index for ref in moment.others] for moment in first.moments] == [
        [2, 3], [2, None], [2, None], [None, None], [None, None]
    ]  # fmt: skip
    assert {instance.clip for instance in listing.instances} == {"dog"}
    assert first.query.text is None


def test_one_mask_a_frame_of_a_clip_is_one_object_and_said_to_be(make: Any) -> None:
    for stem in ("a", "b"):
        make.frame(f"frames/v1/{stem}.jpg")
        make.mask(f"masks/v1/{stem}.png")
    listing = list_instances(make.root)
    (instance_,) = listing.instances
    assert (instance_.id, instance_.clip, stems(instance_)) == ("v1", "v1", ["a", "b"])
    assert listing.notes == ("1 folder of a clip with one mask a frame: taken as one object of one video",)


def test_pictures_side_by_side_are_photographs_and_said_to_be(make: Any) -> None:
    for stem in ("a", "b"):
        make.frame(f"frames/{stem}.jpg")
        make.mask(f"masks/{stem}.png")
    listing = list_instances(make.root)
    assert [(instance.id, stems(instance)) for instance in listing.instances] == [("a", ["a"]), ("b", ["b"])]
    assert "taken as photographs" in listing.notes[0]


def test_several_files_of_a_frame_are_objects_of_their_own(make: Any) -> None:
    for stem in ("a", "b"):
        make.frame(f"frames/{stem}.jpg")
        for name in ("x", "y"):
            make.mask(f"masks/{stem}/{name}.png")
    listing = list_instances(make.root)
    assert [instance.id for instance in listing.instances] == ["a/x", "a/y", "b/x", "b/y"]
    assert [[len(moment.others) for moment in instance.moments] for instance in listing.instances] == [[1]] * 4
    assert not listing.notes


def test_texts_part_an_object_where_they_differ(make: Any, tmp_path: Path) -> None:
    for stem in ("a", "b", "c"):
        make.frame(f"frames/{stem}.jpg")
        make.palette(f"masks/{stem}.png", 1, 2)
    table = tmp_path / "texts.csv"
    table.write_text("id,text\na#1,left\nb#1,left\nc#1,right\na#2,both\n")
    listing = list_instances(make.root, ListOptions(texts=table))
    ids_texts_stems = [(instance.id, instance.query.text, stems(instance)) for instance in listing.instances]
    assert ids_texts_stems == [
        ("input#1", "left", ["a", "b"]),
        ("input#1/2", "right", ["c"]),
        ("input#2", "both", ["a", "b", "c"]),
    ]
    assert all(len(moment.others) == 1 for instance in listing.instances for moment in instance.moments)


def test_further_texts_of_one_mask_are_counted_and_taken_where_lines_say_exists(make: Any, item: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    texts = ("the dog", "brown dog", "dog on the left", "the dog")
    rows = [item(id=str(n), frame="frames/a.jpg", mask="masks/a.png", text=text) for n, text in enumerate(texts)]
    make.lines(*rows)
    listing = list_instances(make.root)
    assert [instance.query.text for instance in listing.instances] == ["the dog"]
    assert listing.notes[0].startswith("2 texts left out: their mask has another one"), "an equal one is no loss"
    make.lines(*({**row, "exists": True, "reference": "r"} for row in rows))
    listing = list_instances(make.root)
    assert [instance.query.text for instance in listing.instances] == list(texts)
    assert not listing.notes


def test_photographs_in_a_file_of_lines_are_no_clip(make: Any, item: Any) -> None:
    for stem in ("a", "b"):
        make.frame(f"frames/{stem}.jpg")
        make.mask(f"masks/{stem}.png")
    rows = [item(id=stem, frame=f"frames/{stem}.jpg", mask=f"masks/{stem}.png", text="the dog") for stem in "ab"]
    make.lines(*rows)
    assert [(i.id, i.clip, len(i.moments)) for i in list_instances(make.root).instances] == [
        ("a", "a", 1), ("b", "b", 1)
    ]  # fmt: skip
    make.lines(*({**row, "time_s": place} for place, row in enumerate(reversed(rows))))
    (instance,) = list_instances(make.root).instances
    assert (instance.clip, stems(instance)) == ("frames", ["b", "a"]), "a time makes a clip, and its order"
    make.lines(*({**row, "clip": "walk"} for row in rows))
    (instance,) = list_instances(make.root).instances
    assert (instance.id, instance.query.text, stems(instance)) == ("walk", "the dog", ["a", "b"])


def test_candidates_stand_for_their_true_mask(make: Any, item: Any) -> None:
    make.frame("frames/a.jpg")
    for name, left_px in (("t", 4), ("u", 20), ("c", 5), ("d", 6)):
        make.mask(f"masks/{name}.png", left_px=left_px)
    make.lines(
        item(id="1", mask="masks/c.png", truth={"mask": "masks/t.png", "iou": 0.8}),
        item(id="2", mask="masks/d.png", truth={"mask": "masks/t.png", "iou": 0.7}),
        item(id="3", mask="masks/u.png", truth={"defect": "perfect", "iou": 1.0}),
        item(id="4", mask="masks/d.png", truth={"defect": "cutout", "iou": 0.7}),
        item(id="5", mask="masks/d.png"),
        {"id": "6"},
    )
    listing = list_instances(make.root)
    assert [instance.id for instance in listing.instances] == ["1", "3"]
    assert [instance.moments[0].target.path.stem for instance in listing.instances] == ["t", "u"]  # type: ignore[union-attr]
    assert [instance.moments[0].others[0].path.stem for instance in listing.instances] == ["u", "t"]  # type: ignore[union-attr]
    assert listing.notes == ("2 items left out: the true mask is not known",)
    assert len(listing.errors) == 1


def test_predictions_without_a_truth_are_said_to_be_taken_as_true(make: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("results/a.png")
    listing = list_instances(make.root, ListOptions(masks=Path("results")))
    assert listing.notes == ("no mask of results has a truth: each is taken as true itself",)


def test_what_a_row_says_beside_the_known_keys(make: Any, item: Any) -> None:
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    make.mask("masks/b.png", left_px=18)
    make.lines(
        item(id="a", category="dog", split="train"),
        item(id="b", mask="masks/b.png", mqa={"category": "cat", "template": "position", "split": "test_s"}),
    )
    dog, cat = list_instances(make.root).instances
    assert (dog.query.text, dog.category, dog.split, dog.others) == ("the dog", "dog", "train", ("cat",))
    assert (cat.category, cat.template, cat.split, cat.others) == ("cat", "position", "test_s", ("dog",))


def test_others_that_a_data_set_draws_itself(tmp_path: Path) -> None:
    def ref(name: str) -> MaskRef:
        return MaskRef(path=tmp_path / name)

    pictures = [
        Item(id=name, frame=tmp_path / "a.jpg", mask=ref(name), others=(ref("y"), ref("z")), extra={"category": name})
        for name in ("x", "y")
    ]
    (x, y), _ = instances_of(pictures, videos=True)
    assert (x.moments[0].others, x.others) == ((ref("y"), ref("z")), ("y", ""))
    assert (y.moments[0].others, y.others) == ((ref("x"), ref("z")), ("x", ""))


def test_nothing_is_refused_as_everywhere(make: Any, item: Any, tmp_path: Path) -> None:
    with pytest.raises(NothingToDo):
        list_instances(tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        list_instances(tmp_path / "nowhere")
    (tmp_path / "metadata.csv").write_text("vid,uid,split,fid,exp\n")
    with pytest.raises(NothingToDo, match=r"no object with a true mask .read as datasets\.refavs"):
        list_instances(tmp_path)
    make.frame("frames/a.jpg")
    make.mask("masks/a.png")
    make.lines(item(truth={"iou": 0.5, "defect": "cutout"}))
    with pytest.raises(NothingToDo, match="no object with a true mask") as error:
        list_instances(make.root)
    assert error.value.hint == "1 item left out: the true mask is not known"


def test_real_coco(data: Path) -> None:
    source = data / "images/coco/instances.json"
    listing = list_instances(source, ListOptions(images=data / "images/coco/images"))
    rows = json.loads(source.read_text())
    single = [row for row in rows["annotations"] if not row["iscrowd"]]
    names = {row["id"]: row["name"] for row in rows["categories"]}
    assert (len(rows["annotations"]), len(single), len(listing.instances), len(listing.errors)) == (532, 527, 527, 0)
    assert [instance.category for instance in listing.instances] == [names[row["category_id"]] for row in single]
    assert {instance.query.text for instance in listing.instances} == {
        f"the {instance.category}" for instance in listing.instances
    }
    on_picture = Counter(row["image_id"] for row in single)
    pictures = {instance.clip for instance in listing.instances}
    assert len(pictures) == len(on_picture)
    for instance, row in zip(listing.instances, single, strict=True):
        (moment,) = instance.moments
        assert len(moment.others) == len(instance.others) == on_picture[row["image_id"]] - 1
        assert moment.frame.stem == instance.clip
    crowd, standing = listing.notes
    assert crowd.startswith("5 crowd regions left out")
    assert standing == '527 instances without an expression: "the <category>" stands in, which may fit several'
    with_text = list_instances(source, ListOptions(images=data / "images/coco/images", text="it"))
    assert {instance.query.text for instance in with_text.instances} == {"it"}


def test_real_sequences_of_one_object(data: Path) -> None:
    listing = list_instances(data / "video/davis2016")
    assert len(listing.instances) == 10
    assert sum(len(instance.moments) for instance in listing.instances) == 288
    assert all(instance.id == instance.clip for instance in listing.instances)
    predicted = list_instances(data / "video/davis2016", ListOptions(masks=Path("pred_osvos")))
    assert {instance.id for instance in listing.instances} - {instance.id for instance in predicted.instances} == {
        "bmx-trees",
        "horsejump-high",
    }
    assert "left out: the true mask is not known" in predicted.notes[-1], "several proposals, and a truth of one object"
    dog = next(instance for instance in predicted.instances if instance.id == "dog")
    assert {moment.target.path.parent.name for moment in dog.moments if moment.target and moment.target.path} == {
        "masks"
    }


def test_a_real_sequence_of_three_objects(data: Path) -> None:
    listing = list_instances(data / "video/dogs-jump")
    assert [instance.id for instance in listing.instances] == ["dogs-jump#1", "dogs-jump#2", "dogs-jump#3"]
    for instance in listing.instances:
        assert len(instance.moments) == 66
        assert {len(moment.others) for moment in instance.moments} == {2}
    third = listing.instances[2]
    moment = third.moments[0]
    assert moment.target is not None
    others = [read_mask(ref).mask for ref in moment.others if ref is not None]
    assert not any(np.logical_and(read_mask(moment.target).mask, mask).any() for mask in others)


@pytest.mark.slow
def test_what_stress_made_of_a_real_sequence(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "stressed"
    stress_masks(StressOptions(source=data / "video/dogs-jump", out=out, kinds=("cutout",), difficulties=("hard",)))
    stressed_instances = list_instances(out).instances
    source_instances = list_instances(data / "video/dogs-jump").instances
    assert [instance_.id for instance_ in stressed_instances] == [instance_.id for instance_ in source_instances]
    for new, old in zip(stressed_instances, source_instances, strict=True):
        assert len(new.moments) == len(old.moments) == 66
        for place in (0, 40):
            stressed_mask, source_mask = new.moments[place].target, old.moments[place].target
            assert stressed_mask is not None
            assert source_mask is not None
            assert np.array_equal(read_mask(stressed_mask).mask, read_mask(source_mask).mask)


def test_what_stress_made_of_photographs(make: Any, tmp_path: Path) -> None:
    for stem in ("a", "b"):
        make.frame(f"frames/{stem}.jpg")
    make.json(
        "coco.json",
        {
            "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
            "annotations": [
                {
                    "id": n,
                    "image_id": image,
                    "segmentation": [[left_px, 3, left_px + 11, 3, left_px + 11, 20, left_px, 20]],
                }
                for n, image, left_px in ((1, 1, 2), (2, 1, 18), (3, 2, 8))
            ],
        },
    )
    out = tmp_path / "stressed"
    options = ListOptions(images=make.root / "frames")
    stress_masks(StressOptions(source=make.root / "coco.json", out=out, listing=options, kinds=("perfect",)))
    stressed_listing, source_listing = list_instances(out), list_instances(make.root / "coco.json", options)
    assert [instance.id for instance in source_listing.instances] == ["a/1", "a/2", "b/3"]
    assert [instance.clip for instance in source_listing.instances] == ["a", "a", "b"]
    by_id = {instance.id: instance for instance in stressed_listing.instances}
    assert sorted(by_id) == ["a/1", "a/2", "b/3"]
    assert [[len(moment.others) for moment in by_id[name].moments] for name in sorted(by_id)] == [[1], [1], [0]]
    assert len({instance.clip for instance in stressed_listing.instances}) == 2
