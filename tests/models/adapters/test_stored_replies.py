"""Replies given elsewhere, and what is said of those that are none."""

import json
from pathlib import Path

import pytest

from auscult.errors import InputError
from auscult.models.adapters.omni import OmniRequest, StoredReplies


def ask(folder: Path, position: int, name: str) -> str:
    place = {"folder": "AVM", "position": position}
    request = OmniRequest(id=f"AVM/{position:04}/{name}", condition="clean", question="?", **place)
    return StoredReplies(folder)(request).text


def test_what_is_wrong_with_a_stored_reply_is_told_with_what_to_do_about_the_replies(tmp_path: Path) -> None:
    rows = [{"id": "a", "predict": {"dog": 1}}, {"id": "c", "predict": "yes"}, {"id": "b", "predict": None}]
    (tmp_path / "AVM.json").write_text(json.dumps(rows))
    assert ask(tmp_path, 0, "a") == '{"dog": 1}'
    for position, name, hint in ((1, "b", "in the order of data.json"), (2, "b", "add the reply"), (3, "d", "add")):
        with pytest.raises(InputError) as caught:
            ask(tmp_path, position, name)
        assert caught.value.path == str(tmp_path / "AVM.json")
        assert hint in caught.value.hint
