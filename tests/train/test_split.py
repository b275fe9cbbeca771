"""The division into parts is the committed one, and it is what the rule gives."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from auscult.train.material import PARTS, committed


def test_no_name_is_in_two_parts() -> None:
    for parts in committed().values():
        names = [name for part in PARTS for name in parts[part]]
        assert len(names) == len(set(names))
        assert all(parts[part] for part in PARTS)


def test_the_committed_division_is_the_rules() -> None:
    for parts in committed().values():
        names = [name for part in PARTS for name in parts[part]]
        order = sorted(names, key=lambda name: hashlib.blake2b(name.encode(), digest_size=8).hexdigest())
        first, second = len(order) // 2, int(len(order) * 0.7)
        expected = order[:first], order[first:second], order[second:]
        assert [parts[part] for part in PARTS] == [tuple(sorted(names)) for names in expected]


def test_it_covers_the_real_material(data: Path) -> None:
    value = json.loads((data / "images/coco/instances.json").read_text(encoding="utf-8"))
    coco = {name for names in committed()["coco"].values() for name in names}
    assert coco == {image["file_name"] for image in value["images"]}
    davis = {name for names in committed()["davis"].values() for name in names}
    assert davis == {path.name for path in (data / "video/davis2016").iterdir() if path.is_dir()}
