"""Hashes of content."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import pytest

from auscult.errors import InputError
from auscult.record.digest import digest_bytes, digest_file, digest_json


def test_known_values(tmp_path: Path) -> None:
    data = b"auscult" * 300_000
    (tmp_path / "file").write_bytes(data)
    assert digest_bytes(data) == digest_file(tmp_path / "file") == blake2b(data, digest_size=16).hexdigest()
    assert digest_bytes(b"") == "cae66941d9efbd404e4d88758ea67670"


def test_the_order_of_keys_does_not_matter_and_all_else_does() -> None:
    assert digest_json({"a": 1, "b": [1, 2]}) == digest_json({"b": [1, 2], "a": 1})
    values = [{"a": 1}, {"a": 1.5}, {"a": "1"}, [["a", 1]], None, "", [], {}, 0, False]
    assert len({digest_json(value) for value in values}) == len(values)


def test_what_cannot_be_hashed_is_an_input_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(InputError, match="cannot be read"):
            digest_file(path)
    for value in (float("nan"), {1}, object()):
        with pytest.raises(InputError):
            digest_json(value)
