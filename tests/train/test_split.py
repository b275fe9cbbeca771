"""The division into parts is the committed one, and it is what the rule gives."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.train.split import PARTS, committed, divide


def test_no_name_is_in_two_parts() -> None:
    for parts in committed().values():
        names = [name for part in PARTS for name in parts[part]]
        assert len(names) == len(set(names))
        assert all(parts[part] for part in PARTS)


def test_the_committed_division_is_the_rules() -> None:
    for parts in committed().values():
        assert divide(name for part in PARTS for name in parts[part]) == dict(parts)


def test_it_covers_the_real_material(data: Path) -> None:
    value = json.loads((data / "images/coco/instances.json").read_text(encoding="utf-8"))
    coco = {name for names in committed()["coco"].values() for name in names}
    assert coco == {image["file_name"] for image in value["images"]}
    davis = {name for names in committed()["davis"].values() for name in names}
    assert davis == {path.name for path in (data / "video/davis2016").iterdir() if path.is_dir()}


@settings(deadline=None, max_examples=40)
@given(st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=60))
def test_every_name_is_in_one_part_and_order_does_not_matter(names: set[str]) -> None:
    parts = divide(sorted(names))
    assert sorted(name for part in PARTS for name in parts[part]) == sorted(names)
    assert parts == divide(sorted(names, reverse=True))
    assert abs(len(parts["train"]) - len(names) / 2) <= 1
