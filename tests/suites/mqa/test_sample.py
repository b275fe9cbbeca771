"""Which instances the benchmark takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from full_size_table import full_size, instance
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.suites.mqa.options import BuildOptions
from auscult.suites.mqa.sample import SampledInstances, choose, split_remarks, splits_in, with_photographs
from auscult.types import Instance, MaskRef, Moment, Query


def options(**changes: object) -> BuildOptions:
    return BuildOptions(source=Path("in"), out=Path("out"), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def everything() -> list[Instance]:
    return full_size()


@pytest.fixture(scope="module")
def sample(everything: list[Instance]) -> SampledInstances:
    return choose(everything, options(), rejected={})


@pytest.mark.slow
def test_a_source_of_full_size_gives_the_counts_of_table_1(sample: SampledInstances) -> None:
    counts = {split: (len({one.clip for one in chosen}), len(chosen)) for split, chosen in sample.image.items()}
    assert counts == {"train": (1306, 1306), "test_s": (269, 437), "test_u": (265, 303)}


def test_the_video_protocol_takes_sixty_and_forty_videos_with_one_expression_each(sample: SampledInstances) -> None:
    for split, wanted in {"test_s": 60, "test_u": 40}.items():
        chosen = sample.video[split]
        assert len(chosen) == len({one.clip for one in chosen}) == wanted
        assert {one.id for one in chosen} <= {one.id for one in sample.image[split]}
    assert "train" not in sample.video


def test_what_is_left_out_is_counted(everything: list[Instance], sample: SampledInstances) -> None:
    assert sample.left_out == {"val": {"split_not_taken": 1349}, "test_n": {"null_expression": 1028}}
    asked = choose(everything, options(splits=("val", "test_n")), rejected={})
    assert list(asked.image) == ["test_n", "val"]
    assert asked.image["test_n"] == ()
    assert asked.left_out["test_n"] == {"null_expression": 1028}


def test_a_second_expression_of_a_clip_is_of_another_object_where_it_has_one(sample: SampledInstances) -> None:
    for split in ("test_s", "test_u"):
        per_clip = Counter(one.clip for one in sample.image[split])
        assert set(per_clip.values()) == {1, 2}
        doubled = [name for name, count in per_clip.items() if count == 2]
        objects = {name: {one.category for one in sample.image[split] if one.clip == name} for name in doubled}
        assert sum(len(found) == 2 for found in objects.values()) >= len(doubled) - 2


def test_categories_and_templates_are_more_even_than_in_the_source(
    everything: list[Instance], sample: SampledInstances
) -> None:
    for split in ("train", "test_s", "test_u"):
        pool = [one for one in everything if one.split == split]
        for key in ("category", "template"):
            before = _spread([getattr(one, key) for one in pool])
            after = _spread([getattr(one, key) for one in sample.image[split]])
            assert after < before
            assert after < {"category": 0.45, "template": 0.1}[key]


def _spread(names: list[str]) -> float:
    """Standard deviation of the counts over their mean: 0 for an even spread."""
    counts = np.array(list(Counter(names).values()), float)
    return float(counts.std() / counts.mean())


def test_the_order_of_the_source_has_no_say(everything: list[Instance], sample: SampledInstances) -> None:
    turned = choose(everything[::-1], options(splits=("test_u",)), rejected={})
    assert _ids(turned)["test_u"] == _ids(sample)["test_u"]
    other = choose(everything, options(splits=("test_u",), seed=1), rejected={})
    assert _ids(other)["test_u"] != _ids(sample)["test_u"]


def _ids(sample: SampledInstances) -> dict[str, set[str]]:
    return {split: {one.id for one in chosen} for split, chosen in sample.image.items()}


def test_a_rejected_instance_is_replaced_and_counted(everything: list[Instance], sample: SampledInstances) -> None:
    gone = [one.id for one in sample.image["test_u"][:20]]
    rejected = dict.fromkeys(gone, "target_empty")
    again = choose(everything, options(splits=("test_s", "test_u")), rejected=rejected)
    assert len(again.image["test_u"]) == 303
    assert not set(gone) & _ids(again)["test_u"]
    assert again.left_out["test_u"] == {"target_empty": 20}
    assert _ids(again)["test_s"] == _ids(sample)["test_s"]


def test_a_source_without_splits_gives_one_split_named_test() -> None:
    few = [instance(f"p{n}", clip=f"photo{n // 4}", category=f"c{n % 3}", of=f"o{n}", moments=1) for n in range(12)]
    chosen = choose(few, options(), rejected={})
    assert list(chosen.image) == ["test"]
    assert Counter(one.clip for one in chosen.image["test"]) == {"photo0": 2, "photo1": 2, "photo2": 2}
    assert chosen.video == {"test": ()}


def test_a_count_limits_every_split(everything: list[Instance]) -> None:
    chosen = choose(everything, options(count=50, splits=("test_s", "test_u")), rejected={})
    assert {split: len(found) for split, found in chosen.image.items()} == {"test_s": 50, "test_u": 50}
    assert {split: len(found) for split, found in chosen.video.items()} == {"test_s": 50, "test_u": 40}
    assert len({one.clip for one in chosen.image["test_s"]}) == 50


def test_a_training_clip_gives_one_expression_even_where_there_are_few_clips() -> None:
    few = [instance(f"p{n}", clip=f"v{n // 4}", split="train", of=f"o{n}") for n in range(12)]
    chosen = choose(few, options(), rejected={})
    assert Counter(one.clip for one in chosen.image["train"]) == {"v0": 1, "v1": 1, "v2": 1}


def test_pictures_of_a_folder_without_a_common_object_are_photographs() -> None:
    def photograph(name: str, frame: str) -> Instance:
        moment = Moment(frame=Path("my/frames") / frame, target=MaskRef(path=Path(name)))
        return Instance(id=name, clip="my", query=Query(), moments=(moment,))

    loose = [photograph("a", "1.png"), photograph("b", "1.png"), photograph("c", "2.png")]
    assert [one.clip for one in with_photographs(loose)] == ["my/1", "my/1", "my/2"]
    one_picture = loose[:2]
    assert with_photographs(one_picture) == tuple(one_picture)
    with_a_clip = [*loose, instance("d", clip="my")]
    assert with_photographs(with_a_clip) == tuple(with_a_clip)


def test_an_instance_without_any_mask_of_its_target_is_left_out() -> None:
    blank = instance("a", clip="v", category="dog")
    moments = tuple(type(m)(frame=m.frame, target=None) for m in blank.moments)
    unmasked = Instance(id="b", clip="w", query=blank.query, moments=moments)
    chosen = choose([blank, unmasked], options(), rejected={})
    assert [one.id for one in chosen.instances] == ["a"]
    assert chosen.left_out == {"test": {"target_missing": 1}}


def test_categories_that_contradict_seen_and_unseen_are_named(everything: list[Instance]) -> None:
    assert split_remarks(everything) == ()
    odd = [
        instance("1", clip="1", split="test_s", category="yak"),
        instance("2", clip="2", split="test_u", category="thing0"),
    ]
    assert split_remarks([*everything, *odd]) == (
        "categories of test_s that no training instance has: yak",
        "categories of test_u that training instances have: thing0",
    )
    assert split_remarks(odd) == ()


def test_splits_come_with_training_first() -> None:
    made = [instance(name, clip=name, split=name) for name in ("testB", "test_u", "train", "val", "test_s")]
    assert splits_in(made) == ("train", "test_s", "test_u", "testB")
    assert splits_in(made, ("val", "none")) == ("val",)


cells = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 2)), max_size=40)


@settings(max_examples=60)
@given(cells, st.integers(1, 12), st.integers(0, 3))
def test_every_sample_keeps_the_rules(given_cells: list[tuple[int, int, int]], count: int, seed: int) -> None:
    made = [
        instance(f"i{n}", clip=f"v{clip}", split="test_s", category=f"c{category}", template=f"t{template}")
        for n, (clip, category, template) in enumerate(given_cells)
    ]
    chosen = choose(made, options(count=count, seed=seed), rejected={}).image.get("test_s", ())
    per_clip = Counter(one.clip for one in chosen)
    clips = len({one.clip for one in made})
    possible = sum(min(2, number) for number in Counter(one.clip for one in made).values())
    assert len(per_clip) == min(clips, count)
    assert max(per_clip.values(), default=0) <= 2
    assert len(chosen) == (count if clips >= count else min(count, possible))
    assert [one.id for one in chosen] == [one.id for one in made if one.id in {c.id for c in chosen}]
