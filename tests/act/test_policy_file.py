from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from auscult.act.policy import DEFAULT, decide, load_policy, policy_of, shipped_policies
from auscult.errors import AuscultError, InputError, UnknownName, UsageError

GOOD: dict[str, Any] = {
    "name": "mine",
    "perfect": {"accept": {"at_least": 0.9}},
    "shape": {"minor_revision": {"above": 0.8}, "major_revision": {"at_least": 0.8}},
    "merge": {},
    "full_neg": {},
}

TOML = """
name = "mine"
[perfect]
accept = { at_least = 0.9 }
[shape]
minor_revision = { above = 0.8 }
major_revision = { at_least = 0.8 }
[merge]
[full_neg]
"""


def test_the_shipped_policies_are_found_by_name() -> None:
    assert shipped_policies() == ("default", "identity", "paper", "release")
    for name in shipped_policies():
        assert load_policy(name).name == name
        assert load_policy(name).summary
    assert load_policy("default") == DEFAULT


def test_json_and_toml_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(GOOD))
    (tmp_path / "p.toml").write_text(TOML)
    from_json, from_toml = load_policy(tmp_path / "p.json"), load_policy(str(tmp_path / "p.toml"))
    assert from_json == from_toml
    assert [threshold.action for threshold in from_json.shape] == ["minor_revision", "major_revision"]
    assert [threshold.reached(0.8) for threshold in from_json.shape] == [False, True]


def changed_policy(path: str, value: Any) -> dict[str, Any]:
    policy = copy.deepcopy(GOOD)
    *folders, last = path.split("/")
    table = policy
    for folder in folders:
        table = table[folder]
    if value is ...:
        del table[last]
    else:
        table[last] = value
    return policy


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("name", ..., "'name' is missing"),
        ("merge", ..., "'merge' is missing"),
        ("name", "  ", "name is empty"),
        ("summary", 3, "'summary' is 3"),
        ("require_identity", 1, "true or false at 'require_identity'"),
        ("perfct", {}, "did you mean perfect"),
        ("merge", [], "'merge' is []"),
        ("merge/reject", {}, "unknown key 'reject'"),
        ("merge/minor_revison", {"above": 0}, "did you mean minor_revision"),
        ("merge/accept", 0.5, "'merge.accept' is 0.5"),
        ("merge/accept", {}, "0 bounds"),
        ("merge/accept", {"above": 0.5, "at_least": 0.5}, "2 bounds"),
        ("merge/accept", {"below": 0.5}, "unknown key 'below'"),
        ("merge/accept", {"above": 1.5}, "from 0 to 1"),
        ("merge/accept", {"above": -0.1}, "from 0 to 1"),
        ("merge/accept", {"above": True}, "from 0 to 1"),
        ("merge/accept", {"above": "0.5"}, "from 0 to 1"),
        ("merge/accept", {"above": float("nan")}, "no number"),
        ("good", 0.7, "'good' is 0.7"),
        ("good", {}, "'good.accept' is missing"),
        ("good", {"minor_revision": {"at_least": 0.7}}, "unknown key 'minor_revision'"),
        ("good", {"accept": 0.7}, "'good.accept' is 0.7"),
        ("good", {"accept": {"at_least": 70}}, "'good.accept.at_least' is 70"),
        ("shape/major_revision", {"at_least": 0.85}, "needs no more than"),
        ("shape/minor_revision", {"at_least": 0.8}, "needs no more than"),
    ],
)
def test_what_is_wrong_is_named(path: str, value: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        policy_of(changed_policy(path, value))
    assert words in str(error.value)
    file = tmp_path / "p.json"
    file.write_text(json.dumps(changed_policy(path, value)))
    with pytest.raises(UsageError) as file_error:
        load_policy(file)
    assert file_error.value.path == str(file)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 100_000])
@pytest.mark.parametrize("suffix", [".json", ".toml"])
def test_a_file_that_is_none_is_wrong_usage(tmp_path: Path, content: bytes, suffix: str) -> None:
    file = tmp_path / f"p{suffix}"
    file.write_bytes(content)
    with pytest.raises(UsageError):
        load_policy(file)


def test_unknown_names_and_files() -> None:
    with pytest.raises(UnknownName, match="did you mean default"):
        load_policy("defualt")
    with pytest.raises(UsageError, match="does not exist"):
        load_policy("nowhere.json")
    for name in ("../default", "", "a\x00.json"):
        with pytest.raises(AuscultError):
            load_policy(name)


def test_json_and_toml_say_the_same_of_good(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps({**GOOD, "good": {"accept": {"above": 0.6}}}))
    (tmp_path / "p.toml").write_text(f"{TOML}\n[good]\naccept = {{ above = 0.6 }}\n")
    from_json, from_toml = load_policy(tmp_path / "p.json"), load_policy(tmp_path / "p.toml")
    assert from_json == from_toml
    assert from_json.good is not None
    assert [from_json.good.reached(value) for value in (0.6, 0.61)] == [False, True]
    assert from_json != load_policy_without_good(tmp_path)


def load_policy_without_good(place: Path) -> Any:
    (place / "plain.json").write_text(json.dumps(GOOD))
    return load_policy(place / "plain.json")


def test_the_shipped_files_hold_what_the_table_in_the_documentation_says() -> None:
    assert [(limit.action, limit.iou, limit.inclusive) for limit in DEFAULT.merge] == [
        ("minor_revision", 0.9, True),
        ("major_revision", 0.75, True),
    ]
    assert DEFAULT.full_neg == ()
    assert DEFAULT.good is not None
    assert load_policy("identity").good == DEFAULT.good
    page = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text(encoding="utf-8")
    assert f"`prob_iou_80` of {DEFAULT.good.prob_iou_80:g} or more".replace("0.", ".") in page
    assert decide.__defaults__ == (DEFAULT,)
