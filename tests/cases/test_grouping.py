from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.cases.ids import group_by_frame, natural_key
from auscult.types import Item, MaskRef


def test_frames_sort_as_people_count() -> None:
    names = ["v/10.jpg", "v/9.jpg", "v2/1.jpg", "v/00002.jpg", "v10/1.jpg", "v/a.jpg"]
    assert sorted(names, key=natural_key) == [
        "v/00002.jpg", "v/9.jpg", "v/10.jpg", "v/a.jpg", "v2/1.jpg", "v10/1.jpg",
    ]  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("0123456789ab/²٣ ", max_size=12), max_size=8, unique=True))
def test_the_order_does_not_depend_on_where_names_came_from(names: list[str]) -> None:
    backwards = names[::-1]
    assert sorted(names, key=natural_key) == sorted(backwards, key=natural_key)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**30), st.integers(0, 10**30))
def test_numbers_sort_by_value(first: int, second: int) -> None:
    assert (natural_key(f"f{first}") < natural_key(f"f{second}")) == (first < second)


def test_items_of_a_frame_come_together_in_order() -> None:
    def item(name: str, frame: str) -> Item:
        return Item(id=name, frame=Path(frame), mask=MaskRef())

    groups = group_by_frame([item("a", "y"), item("b", "x"), item("c", "y"), item("d", "z")])
    assert [[item_.id for item_ in group] for group in groups] == [["a", "c"], ["b"], ["d"]]
