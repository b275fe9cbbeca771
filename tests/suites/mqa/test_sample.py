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
    counts = {
        split: (len({instance_.clip for instance_ in instances}), len(instances))
        for split, instances in sample.image.items()
    }
    assert counts == {"train": (1306, 1306), "test_s": (269, 437), "test_u": (265, 303)}


def test_the_video_protocol_takes_sixty_and_forty_videos_with_one_expression_each(sample: SampledInstances) -> None:
    for split, n_videos in {"test_s": 60, "test_u": 40}.items():
        instances = sample.video[split]
        assert len(instances) == len({instance_.clip for instance_ in instances}) == n_videos
        assert {instance_.id for instance_ in instances} <= {instance_.id for instance_ in sample.image[split]}
    assert "train" not in sample.video


def test_what_is_left_out_is_counted(everything: list[Instance], sample: SampledInstances) -> None:
    assert sample.left_out == {"val": {"split_not_taken": 1349}, "test_n": {"null_expression": 1028}}
    chosen_sample = choose(everything, options(splits=("val", "test_n")), rejected={})
    assert list(chosen_sample.image) == ["test_n", "val"]
    assert chosen_sample.image["test_n"] == ()
    assert chosen_sample.left_out["test_n"] == {"null_expression": 1028}


def test_a_second_expression_of_a_clip_is_of_another_object_where_it_has_one(sample: SampledInstances) -> None:
    for split in ("test_s", "test_u"):
        per_clip = Counter(instance_.clip for instance_ in sample.image[split])
        assert set(per_clip.values()) == {1, 2}
        doubled = [name for name, count in per_clip.items() if count == 2]
        objects = {
            name: {instance_.category for instance_ in sample.image[split] if instance_.clip == name}
            for name in doubled
        }
        assert sum(len(categories) == 2 for categories in objects.values()) >= len(doubled) - 2


def test_categories_and_templates_are_more_even_than_in_the_source(
    everything: list[Instance], sample: SampledInstances
) -> None:
    for split in ("train", "test_s", "test_u"):
        pool = [instance_ for instance_ in everything if instance_.split == split]
        for key in ("category", "template"):
            before = _spread([getattr(instance_, key) for instance_ in pool])
            after = _spread([getattr(instance_, key) for instance_ in sample.image[split]])
            assert after < before
            assert after < {"category": 0.45, "template": 0.1}[key]


def _spread(names: list[str]) -> float:
    """Standard deviation of the counts over their mean: 0 for an even spread."""
    counts = np.array(list(Counter(names).values()), float)
    return float(counts.std() / counts.mean())


def test_the_order_of_the_source_has_no_say(everything: list[Instance], sample: SampledInstances) -> None:
    reversed_sample = choose(everything[::-1], options(splits=("test_u",)), rejected={})
    assert _ids(reversed_sample)["test_u"] == _ids(sample)["test_u"]
    other = choose(everything, options(splits=("test_u",), seed=1), rejected={})
    assert _ids(other)["test_u"] != _ids(sample)["test_u"]


def _ids(sample: SampledInstances) -> dict[str, set[str]]:
    return {split: {instance_.id for instance_ in instances} for split, instances in sample.image.items()}


def test_a_rejected_instance_is_replaced_and_counted(everything: list[Instance], sample: SampledInstances) -> None:
    rejected_ids = [instance_.id for instance_ in sample.image["test_u"][:20]]
    rejected = dict.fromkeys(rejected_ids, "target_empty")
    second_sample = choose(everything, options(splits=("test_s", "test_u")), rejected=rejected)
    assert len(second_sample.image["test_u"]) == 303
    assert not set(rejected_ids) & _ids(second_sample)["test_u"]
    assert second_sample.left_out["test_u"] == {"target_empty": 20}
    assert _ids(second_sample)["test_s"] == _ids(sample)["test_s"]


def test_a_source_without_splits_gives_one_split_named_test() -> None:
    few = [
        instance(f"p{n}", clip=f"photo{n // 4}", category=f"c{n % 3}", object_name=f"o{n}", moments=1)
        for n in range(12)
    ]
    chosen_sample = choose(few, options(), rejected={})
    assert list(chosen_sample.image) == ["test"]
    assert Counter(instance_.clip for instance_ in chosen_sample.image["test"]) == {
        "photo0": 2,
        "photo1": 2,
        "photo2": 2,
    }
    assert chosen_sample.video == {"test": ()}


def test_a_count_limits_every_split(everything: list[Instance]) -> None:
    chosen_sample = choose(everything, options(count=50, splits=("test_s", "test_u")), rejected={})
    assert {split: len(instances) for split, instances in chosen_sample.image.items()} == {"test_s": 50, "test_u": 50}
    assert {split: len(instances) for split, instances in chosen_sample.video.items()} == {"test_s": 50, "test_u": 40}
    assert len({instance_.clip for instance_ in chosen_sample.image["test_s"]}) == 50


def test_a_training_clip_gives_one_expression_even_where_there_are_few_clips() -> None:
    few = [instance(f"p{n}", clip=f"v{n // 4}", split="train", object_name=f"o{n}") for n in range(12)]
    chosen_sample = choose(few, options(), rejected={})
    assert Counter(instance_.clip for instance_ in chosen_sample.image["train"]) == {"v0": 1, "v1": 1, "v2": 1}


def test_pictures_of_a_folder_without_a_common_object_are_photographs() -> None:
    def photograph(name: str, frame: str) -> Instance:
        moment = Moment(frame=Path("my/frames") / frame, target=MaskRef(path=Path(name)))
        return Instance(id=name, clip="my", query=Query(), moments=(moment,))

    loose = [photograph("a", "1.png"), photograph("b", "1.png"), photograph("c", "2.png")]
    assert [instance_.clip for instance_ in with_photographs(loose)] == ["my/1", "my/1", "my/2"]
    one_picture = loose[:2]
    assert with_photographs(one_picture) == tuple(one_picture)
    with_a_clip = [*loose, instance("d", clip="my")]
    assert with_photographs(with_a_clip) == tuple(with_a_clip)


def test_an_instance_without_any_mask_of_its_target_is_left_out() -> None:
    blank = instance("a", clip="v", category="dog")
    moments = tuple(type(m)(frame=m.frame, target=None) for m in blank.moments)
    unmasked = Instance(id="b", clip="w", query=blank.query, moments=moments)
    chosen_sample = choose([blank, unmasked], options(), rejected={})
    assert [instance_.id for instance_ in chosen_sample.instances] == ["a"]
    assert chosen_sample.left_out == {"test": {"target_missing": 1}}


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
    instances = [instance(name, clip=name, split=name) for name in ("testB", "test_u", "train", "val", "test_s")]
    assert splits_in(instances) == ("train", "test_s", "test_u", "testB")
    assert splits_in(instances, ("val", "none")) == ("val",)


cells = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 2)), max_size=40)


@settings(max_examples=60)
@given(cells, st.integers(1, 12), st.integers(0, 3))
def test_every_sample_keeps_the_rules(given_cells: list[tuple[int, int, int]], count: int, seed: int) -> None:
    instances = [
        instance(f"i{n}", clip=f"v{clip}", split="test_s", category=f"c{category}", template=f"t{template}")
        for n, (clip, category, template) in enumerate(given_cells)
    ]
    chosen_instances = choose(instances, options(count=count, seed=seed), rejected={}).image.get("test_s", ())
    per_clip = Counter(instance_.clip for instance_ in chosen_instances)
    clips = len({instance_.clip for instance_ in instances})
    possible = sum(min(2, number) for number in Counter(instance_.clip for instance_ in instances).values())
    assert len(per_clip) == min(clips, count)
    assert max(per_clip.values(), default=0) <= 2
    assert len(chosen_instances) == (count if clips >= count else min(count, possible))
    assert [instance_.id for instance_ in chosen_instances] == [
        instance_.id for instance_ in instances if instance_.id in {c.id for c in chosen_instances}
    ]
