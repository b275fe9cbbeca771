"""No card, no judge; and what the shipped card says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from auscult.errors import UsageError
from auscult.judge.cards import Card, Result, card_of, load_card, page, require_card
from auscult.judge.masks.cues import JUDGE

PAGE = Path(__file__).parents[2] / "docs" / "cards" / "masks.cues.v1.md"
CARD = load_card("masks.cues.v1")


def a_judge(name: str, path: Path | None = None) -> Any:
    return SimpleNamespace(name=name, meta=JUDGE.meta, **({} if path is None else {"card": path}))


def result_of(set_name: str, metric: str, row: str = "masks.cues.v1") -> Result:
    return next(result for result in CARD.results if (result.set, result.metric, result.row) == (set_name, metric, row))


def test_the_cues_judge_has_a_card() -> None:
    assert require_card(JUDGE) == CARD
    assert CARD.judge == JUDGE.name
    assert CARD.not_for


def test_the_page_says_what_the_card_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(CARD)


def test_every_number_stands_beside_the_baselines() -> None:
    for result in CARD.results:
        assert result.n > 0
        assert result.clusters > 0
        assert (result.value is None) == bool(result.reason)
        if result.value is not None and result.low is not None and result.high is not None:
            assert result.low <= result.high
        for row in ("always-perfect", "constant-IoU"):
            assert result_of(result.set, result.metric, row).n == result.n
    assert {result.set for result in CARD.results} == set(CARD.sets)
    assert {
        result.metric.split(".")[0].removesuffix("_five").removesuffix("_all_six") for result in CARD.results
    } == set(CARD.metrics)


@pytest.mark.parametrize("set_name", ["coco_test", "coco_test_with_others", "davis_test", "davis_test_real"])
def test_it_is_better_than_knowing_nothing(set_name: str) -> None:
    own_rmse, perfect_rmse, constant = (
        result_of(set_name, "rmse", row).value for row in (JUDGE.name, "always-perfect", "constant-IoU")
    )
    assert own_rmse is not None
    assert perfect_rmse is not None
    assert constant is not None
    assert own_rmse < constant
    assert own_rmse < perfect_rmse


def test_a_judge_without_a_card_is_refused() -> None:
    with pytest.raises(UsageError, match="has no quality card") as error:
        require_card(a_judge("masks.other.v1"))
    assert "measured card" in error.value.hint


def test_a_plug_ins_own_card_is_read(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    own_card = replace(CARD, judge="masks.own.v1", results=(replace(CARD.results[0], row="masks.own.v1"),))
    path.write_text(json.dumps(own_card.as_json()))
    assert require_card(a_judge("masks.own.v1", path)) == own_card


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"judge": "masks.other.v1"}, "no measured number"),
        ({"results": []}, "no measured number"),
        ({"schema": 2}, "no quality card"),
        ({"surprise": 1}, "incomplete"),
        ({"results": [{"set": "a"}]}, "incomplete"),
    ],
)
def test_a_broken_card_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        card_of(json.loads(json.dumps(CARD.as_json())) | change)


def test_another_judges_card_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(CARD.as_json()))
    with pytest.raises(UsageError, match=r"the card is of masks\.cues\.v1"):
        require_card(a_judge("masks.own.v1", path))


@pytest.mark.parametrize("text", ["", "{", "[1]", "null"])
def test_a_card_that_is_no_card_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)
    with pytest.raises(UsageError):
        require_card(a_judge("masks.own.v1", path))


@pytest.mark.parametrize("name", ["../masks.cues.v1", "/etc/passwd", "masks.cues", "a" * 300, "masks.cues.v1\n"])
def test_names_that_are_paths_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        load_card(name)


def test_a_page_shows_undefined_with_its_reason() -> None:
    result = Result(
        set="s", row="j", metric="m", value=None, low=None, high=None, n=3, clusters=1, reason="names no defect"
    )
    card = Card(
        judge="j", summary="S.", data=(), split=(), sets={"s": "a set"}, metrics={"m": "a metric"}, seed=1,
        not_for=(), results=(result,),
    )  # fmt: skip
    assert "| `m` | 3 | 1 | undefined: names no defect |" in page(card)
