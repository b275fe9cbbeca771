"""The card of a judge of sounds: what is measured of it, and what its page says of a judge that hears nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from auscult.judge.cards import Card, Result, card_of, load_card, page, table
from auscult.judge.sound.cues import JUDGE
from auscult.judge.sound.shared import scored
from auscult.rng import generator
from auscult.scenes.mixtures.plan import Planner
from auscult.scenes.options import MixtureOptions
from auscult.train.sound_judge import card as cards
from auscult.train.sound_judge.samples import (
    KEPT_BACK,
    NOT_FREE,
    SoundSample,
    made_samples,
    open_material,
    real_items,
    real_samples,
)
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, Metadata, Samples, SoundCase, SoundEvidence, SoundVerdict

SHIPPED = "sound.compact.v1"


class Guess:
    """A judge that draws its scores."""

    name = "sound.guess.v1"
    meta = Metadata(summary="draws scores", goal="none", modality="sound", source="a test")

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        rng = generator(0, case.id, str(separated.sum()))
        scores = {axis: (float(score), 1.0, 5.0) for axis, score in zip(PERFORMANCE, rng.uniform(1, 5, 4), strict=True)}
        hard = dict.fromkeys(DIFFICULTY_AXES, 3.0)
        return scored(case, self.name, scores, difficulty=hard, evidence=SoundEvidence(), rationale="A guess.")


@pytest.fixture(scope="module")
def samples() -> list[SoundSample]:
    return list(made_samples(None, part="test", numbers=range(3), seed=0))


def test_a_row_has_what_is_said_with_each_subset_of_the_prompts(samples: list[SoundSample]) -> None:
    rows = list(cards.measure([JUDGE], samples, subsets=cards.SUBSETS))
    assert [row["id"] for row in rows] == [sample.id for sample in samples]
    said_with = rows[0]["said"][JUDGE.name]
    assert {"none", "text", "spans", "text+spans"} <= set(said_with)
    assert said_with["text"] == said_with["none"]  # it reads no words
    assert said_with["spans"] != said_with["none"]
    alone = JUDGE(samples[0].case, samples[0].separated)
    assert said_with["text+spans"]["overall"] == pytest.approx([alone.overall, alone.overall_low, alone.overall_high])


def test_a_case_is_asked_with_what_it_has() -> None:
    case = SoundCase(id="a", mixture=np.ones((1, 800), np.float32), rate_hz=16_000, text="a dog")
    assert cards.asked(case, "spans") is None
    none = cards.asked(case, "none")
    assert none is not None
    assert none.text is None


def test_probes_come_from_best_to_worst_on_one_mixture() -> None:
    probes_ = list(cards.probes(None, numbers=range(3), seed=0))
    assert [sample.kind for sample in probes_[:5]] == list(cards.PROBES)
    assert len({id(sample.case) for sample in probes_[:5]}) == 1
    assert probes_[1].separated is probes_[1].case.mixture
    assert not probes_[2].separated.any()


def _rows(name: str, count: int, *, right: float) -> Iterator[cards.Row]:
    """Rows of a judge that is right but for noise, or not at all."""
    rng = generator(3, name)
    for number in range(count):
        truth = rng.uniform(1, 5, 4)
        estimates = np.clip(right * truth + (1 - right) * rng.uniform(1, 5, 4), 1, 5)
        ends = {axis: [float(estimate), 1.0, 5.0] for axis, estimate in zip(PERFORMANCE, estimates, strict=True)}
        verdict = {**ends, "difficulty": dict.fromkeys(DIFFICULTY_AXES, 3.0), "novelty": 0.6 if number % 4 else 0.0}
        yield {
            "id": f"s0-{number // 4:05d}-{number % 4}", "kind": "leakage", "severity": 2.0, "label": "dog",
            "domain": "sound", "seen": True, "cluster": f"c{number // 4}", "family": "", "aligned": True,
            "scores": dict(zip(PERFORMANCE, truth.tolist(), strict=True)), "mixture": f"s0-{number // 4:05d}",
            "difficulty": dict.fromkeys(DIFFICULTY_AXES, 3.0),
            cards.BESIDE: float(rng.normal()), cards.CIRCULAR: float(truth[3]),
            "said": {Guess.name: {cards.ALL: verdict}},
        }  # fmt: skip


def _card(right: float) -> tuple[Card, str]:
    rows = {name: list(_rows(name, 48, right=right)) for name in ("made", "other", "known")} | {"real": []}
    rows["probes"] = [{**row, "kind": kind} for row in rows["made"][:10] for kind in cards.PROBES]
    card = cards.card_of_rows(Guess(), rows, many=["dog"], seed=0)
    return card, page(card, before=cards.before(card, rows))


def _number(card: Card, metric: str, row: str = Guess.name) -> Result:
    return next(
        result_ for result_ in card.results if (result_.set, result_.row, result_.metric) == ("seen", row, metric)
    )


def test_a_judge_at_chance_is_called_so_in_red() -> None:
    card, text = _card(0.0)
    result_ = _number(card, "pearson.overall")
    assert result_.low is not None
    assert result_.low < 0
    red = next(line for line in text.splitlines() if '<b style="color:#c00">at chance</b>: seen:' in line)
    assert "overall" in red


def test_a_judge_that_hears_is_not_and_stands_beside_what_knows_little() -> None:
    card, text = _card(0.9)
    assert (_number(card, "pearson.overall").low or 0) > 0.9
    assert "Nowhere" in text
    assert _number(card, "coverage_90.recall").value == 1.0
    assert _number(card, "flagged").value == 0.75
    assert abs(_number(card, "flagged_worse.overall").value or 9.0) < 0.3
    assert (_number(card, "rmse.overall", "constant").value or 0) > (_number(card, "rmse.overall").value or 9) + 0.5
    ahead = _number(card, "behind.overall", cards.BESIDE)
    assert (ahead.low or 0) > 0.5
    two_values = [_number(card, "pearson.overall", row).value or 0.0 for row in (Guess.name, cards.BESIDE)]
    assert ahead.value == pytest.approx(two_values[0] - two_values[1], abs=2e-4)
    assert "near-circular" in _number(card, "pearson.overall", cards.CIRCULAR).row
    assert card_of(card.as_json()) == card
    worst = text[text.index("## The worst misjudged") :]
    assert "`s0-000" in worst
    assert "leakage, severity 2" in worst


def test_neither_training_nor_calibration_hears_what_is_measured(data: Path) -> None:
    train, calibration_items, test = (real_items(data, part=part) for part in ("train", "calibration", "test"))
    assert min(map(len, (train, calibration_items, test))) > 20
    for item in (*train, *calibration_items):
        assert item.family not in KEPT_BACK
        assert not item.mixture.parent.name.startswith(NOT_FREE)
    clusters = [{item.cluster for item in part} for part in (train, calibration_items)]
    clusters.append({item.cluster for item in test if item.family not in KEPT_BACK})
    assert len(set().union(*clusters)) == sum(map(len, clusters))
    catalogue = open_material(data)
    for part in ("train", "calibration", "test"):
        planner = Planner(catalogue, MixtureOptions(split=part))
        for plan in (planner.plan(0, number) for number in range(25)):
            assert {catalogue.clip(name).part for source in plan.sources for name in source.clips} == {part}
            assert plan.seen or part == "test"


@pytest.mark.slow
@pytest.mark.extra_sound
@pytest.mark.timeout(600)
def test_measuring_real_outputs_again_reproduces_the_card(data: Path) -> None:
    card = load_card(JUDGE.name)
    known_rows = [{"scores": next(iter(card.constants.values()))}]
    rows = list(cards.measure([JUDGE], real_samples(data, part="test"), subsets=(cards.ALL,)))
    collections = {"real": rows, "known": known_rows, "made": [], "other": [], "probes": []}
    measured_again = {
        (result_.set, result_.row, result_.metric): result_
        for result_ in cards.card_of_rows(JUDGE, collections, many=(), seed=0).results
    }
    shipped = {
        (result_.set, result_.row, result_.metric): result_
        for result_ in card.results
        if result_.set.startswith("real")
    }
    assert measured_again.keys() == shipped.keys()
    for key, result_ in shipped.items():
        assert measured_again[key].n == result_.n, key
        assert measured_again[key].value == pytest.approx(result_.value, abs=0.01), key


def test_the_page_of_sound_cues_is_its_card() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cards" / f"{JUDGE.name}.md").read_text(encoding="utf-8")
    card = load_card(JUDGE.name)
    for name in card.sets:
        assert table([result_ for result_ in card.results if result_.set == name]) in text, name


@pytest.mark.parametrize("name", [JUDGE.name, SHIPPED])
def test_probes_on_the_page_are_the_cards_and_each_is_held_against_the_next(name: str) -> None:
    text = (Path(__file__).parents[3] / "docs" / "cards" / f"{name}.md").read_text(encoding="utf-8")
    words = cards.probes_in_words(load_card(name))
    assert f"## Sanity probes\n\n{words}\n" in text
    assert words.rpartition(":")[2].count("0.") >= 2  # shares, not means alone


def test_the_shipped_card_names_what_its_weights_began_with_and_counts_its_words() -> None:
    folder = Path(__file__).parents[3]
    data = load_card(SHIPPED).data
    page_text = (folder / "docs" / "cards" / f"{SHIPPED}.md").read_text(encoding="utf-8")
    assert all(f"- {line}\n" in page_text for line in data)
    assert all("mn04_as" in text for text in (data[0], (folder / "NOTICE").read_text(encoding="utf-8")))
    table_text = resources.files("auscult.judge.sound").joinpath("classes.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(table_text.splitlines()))
    count = {key: sum(len(row[key].split(";")) for row in rows if row[key]) for key in ("words", "wider_than")}
    assert f"{count['words']:,} phrases for AudioSet's {len(rows)} classes, and {count['wider_than']} that" in data[2]
    wording = json.loads(Path(cards.__file__).with_name("card_texts.json").read_text(encoding="utf-8"))
    assert data == (*wording["own"][SHIPPED], *wording["data"])
