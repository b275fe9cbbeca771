"""`act rerank`: the best of each mixture from a record, and with truth what choosing so is worth."""

from __future__ import annotations

import json
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.act.rerank import best_of, grouped, ranked
from auscult.cases.sounds import read_sounds
from auscult.errors import RecordError, UsageError
from auscult.jobs.rerank import JUDGE, LIKE_MIXTURE, ORACLE, RANDOM, rerank_record
from auscult.jobs.sound_options import RerankOptions
from small_inputs import auscult, rows, tree
from small_sound_records import sound_input, sound_record

TRUTHS = {"a": [2.0, 4.0, 3.0], "b": [5.0, 1.0], "c": [3.0, 3.5, 1.5], "d": [2.0]}
SAID: dict[str, float | None] = {
    "a/0": 2.5,
    "a/1": 4.2,
    "a/2": 4.2,
    "b/0": 4.0,
    "b/1": 1.0,
    "c/0": 3.0,
    "c/1": None,
    "c/2": 2.0,
    "d/0": None,
}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rerank")
    source = sound_input(place / "in", TRUTHS)
    return sound_record(place / "rec", source, SAID, weakest={"a/1": 3.0})


def test_the_best_of_each_mixture_is_an_input_and_the_record_stays(record: Path, tmp_path: Path) -> None:
    before = tree(record.parent)
    reranked = rerank_record(RerankOptions(folder=record, out=tmp_path / "out"))
    assert tree(record.parent) == before
    best_of_each = read_sounds(tmp_path / "out")
    assert not best_of_each.problems
    assert [item.id for item in best_of_each.items] == ["a/2", "b/0", "c/0"]  # a/1 ties, and its weakest axis is lower
    source = {item.id: item for item in read_sounds(record.parent / "in").items}
    for item in best_of_each.items:
        assert item.mixture.read_bytes() == source[item.id].mixture.read_bytes()
        assert item.separated is not None
        assert item.separated.read_bytes() == (source[item.id].separated or Path()).read_bytes()
    ranking = rows(tmp_path / "out" / "ranking.jsonl")
    assert {row["id"] for row in ranking} == SAID.keys()
    assert {row["id"]: row["margin"] for row in ranking}["b/0"] == 3.0
    assert {row["id"]: row["margin"] for row in ranking}["b/1"] == -3.0
    shown = {name: (float(score), margin) for name, score, margin in reranked.tables[0].rows}
    assert {name: score for name, (score, _) in shown.items()} == {name: SAID[name] for name in ("a/2", "b/0", "c/0")}
    assert shown["b/0"][1] == "3.00"
    assert next(row for row in ranking if row["id"] == "c/1")["rank"] == 3  # unjudged ones stand last
    second = rerank_record(RerankOptions(folder=record, out=tmp_path / "out"))
    assert second.said == reranked.said


def test_what_the_best_of_k_is_worth_is_that_of_all_draws(record: Path, tmp_path: Path) -> None:
    reranked = rerank_record(RerankOptions(folder=record, ks=(1, 2, 3), out=tmp_path / "out"))
    worth = {(row["k"], row["way"]): row for row in reranked.said["best_of"]}
    by_hand = np.mean([np.mean([4.0, 3.0, 3.0]), 5.0, 3.0])  # a/2 beats a/1; c/1 is not judged
    assert worth[2, JUDGE]["quality"] == pytest.approx(by_hand)
    assert worth[2, RANDOM]["quality"] == pytest.approx(np.mean([3.0, 3.0, 2.25]))
    assert worth[2, ORACLE]["share"] == pytest.approx(1.0)
    gains = by_hand - worth[2, RANDOM]["quality"], worth[2, ORACLE]["quality"] - worth[2, RANDOM]["quality"]
    assert worth[2, JUDGE]["share"] == pytest.approx(gains[0] / gains[1])
    assert worth[2, JUDGE]["mixtures"] == 3
    assert worth[3, JUDGE]["mixtures"] == 1
    assert worth[1, JUDGE]["share"] is None  # of one there is nothing to choose
    assert worth[2, JUDGE]["over"] in {LIKE_MIXTURE, RANDOM}


def test_the_exact_expectation_is_the_mean_over_all_subsets() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        size = int(rng.integers(1, 7))
        places = [
            None if rng.random() < 0.2 else (float(first), float(second))
            for first, second in rng.integers(0, 3, (size, 2))
        ]
        truths = rng.normal(size=size)
        for k in range(1, size + 1):
            means = []
            for combination in combinations(range(size), k):
                place_of = {index: places[index] or (-np.inf, -np.inf) for index in combination}
                means.append(
                    np.mean([truths[index] for index in combination if place_of[index] == max(place_of.values())])
                )
            assert best_of(places, truths, k) == pytest.approx(np.mean(means))


def test_other_prompts_of_a_mixture_are_chosen_apart_and_by_another_axis() -> None:
    fields = {"mixture": "m", "precision": 3.0, "faithfulness": 3.0}
    candidates: list[dict[str, Any]] = [
        {"id": "1", **fields, "text": "dog", "overall": 2.0, "recall": 5.0},
        {"id": "2", **fields, "text": "dog", "overall": 3.0, "recall": 4.0},
        {"id": "3", **fields, "text": "rain", "overall": 1.0, "recall": 1.0},
    ]
    assert [[row["id"] for row in group] for group in grouped(candidates)] == [["1", "2"], ["3"]]
    assert ranked(candidates[:2], "overall")[0]["id"] == "2"
    assert ranked(candidates[:2], "recall")[0]["id"] == "1"


def test_the_command_prints_both_tables_and_refuses_what_it_cannot_do(record: Path, tmp_path: Path) -> None:
    result = auscult("act", "rerank", record, "--k", "2", "--out", tmp_path / "out", "--json")
    assert json.loads(result.out)["ids"] == ["a/2", "b/0", "c/0"]
    table = auscult("act", "rerank", record, "--out", tmp_path / "out").out
    assert "oracle" in table
    assert "a/2" in table
    with pytest.raises(UsageError):
        rerank_record(RerankOptions(folder=record, by="loudness", out=tmp_path / "none"))
    many = auscult("act", "rerank", record, "--k", "9" * 5000)  # more digits than Python reads
    assert (many.code, "expected: whole numbers, such as 2,4,8" in many.err) == (2, True)
    with pytest.raises(RecordError, match="other files"):  # an INPUT of one's own
        rerank_record(RerankOptions(folder=record, out=record.parent / "in"))
    gone_record = sound_record(tmp_path / "gone", sound_input(tmp_path / "in", {"a": [2.0]}), {"a/0": 2.0})
    shutil.rmtree(tmp_path / "in")
    with pytest.raises(RecordError, match="INPUT"):
        rerank_record(RerankOptions(folder=gone_record, out=tmp_path / "none"))
