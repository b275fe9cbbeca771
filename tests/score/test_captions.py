"""Scores of captions: values worked by hand, who is counted, how the release differs, and resampling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import ErrorRecord, InputError
from auscult.outcome import Failed, Undefined
from auscult.rng import generator
from auscult.score.captions import caption_mean, cider_d, fense, meteor, rouge_l, sbert, tokens
from auscult.score.levels import answer_rows, level_intervals

FAILED, SILENT = Failed(ErrorRecord(stage="work", error="timed out")), Undefined("no answer in the reply")
VECTORS = {"a dog": (1.0, 0.0), "a cat": (0.6, 0.8), "a hound": (0.8, 0.6), "rain": (0.0, 1.0), "not rain": (0.0, -3.0)}
ERRORS = {"a dog": 0.1, "a cat": 0.9, "rain": 0.95, "not rain": 0.0}


def sentences(texts):
    return np.array([VECTORS[text] for text in texts])


def fluency(texts):
    return np.array([ERRORS[text] for text in texts])


def close(value):
    return pytest.approx(value, abs=1e-12)


def test_fense_by_hand():
    """Closest references .8 and 1 (Eq. 41), less .9 times .1 and .95 of them (Eq. 42), and their mean (Eq. 43)."""
    references = [["a hound", "rain"], ["rain"]]
    score = fense(["a dog", "rain"], references, sentences=sentences, fluency=fluency)
    assert score.value == close((0.8 * (1 - 0.09) + (1 - 0.9 * 0.95)) / 2)
    assert (score.parts["similarity"], score.parts["fluency_error"]) == (close(0.9), close((0.1 + 0.95) / 2))
    assert "sentences:sentences|" in str(score.signature)


@pytest.mark.parametrize(
    ("variant", "values"),
    [
        ("paper", (0.8 * 0.91, 0.8 * 0.19, 1 - 0.855)),
        ("mean", (0.4 * 0.91, 0.7 * 0.19, 1 - 0.855)),
        ("flag", (0.8, 0.8, 0.1)),  # 0.9 is not above 0.9
        ("mean+flag", (0.4, 0.7, 0.1)),
        ("AVI-Bench", (0.4, 0.7, 0.1)),
    ],
)
def test_what_the_release_does_to_captions(variant, values):
    references = [["a hound", "rain"], ["rain", "a dog"], ["rain"]]
    score = fense(["a dog", "a cat", "rain"], references, sentences=sentences, fluency=fluency, variant=variant)
    assert score.samples[:, 0] == pytest.approx(values)
    assert score.value == close(sum(values) / 3)
    means = sbert(["a dog"], [["a hound", "rain"]], sentences=sentences, variant="AVI-Bench")
    assert (means.value, sbert(["a dog"], [["a hound", "rain"]], sentences=sentences).value) == (close(0.4), close(0.8))


def test_opposite_vectors_are_no_score_below_0_and_no_caption_is_0_or_left_out():
    score = sbert(["not rain"], [["rain"]], sentences=sentences)
    assert (score.value, score.samples[0, 0]) == (0, -1)
    replies, references = ["rain", SILENT, FAILED], [["rain"], ["a dog"], ["a cat"]]
    for score in (
        lambda rule: sbert(replies, references, sentences=sentences, unparsed=rule),
        lambda rule: rouge_l(replies, references, unparsed=rule),
        lambda rule: meteor(replies, references, unparsed=rule),
    ):
        wrong, skipped = score("wrong"), score("skip")
        assert (wrong.value, wrong.n, wrong.failed, wrong.unparsed) == (0.5, 2, 1, 1)
        assert (skipped.value, skipped.n) == (1, 1)
    assert isinstance(fense([FAILED], [["rain"]], sentences=sentences, fluency=fluency), Undefined)


def test_words_are_those_of_the_captioning_task_of_coco():
    assert tokens("A man's “well-lit” dog can't, DOESN'T & cannot bark: 3.5 U.S.A.") == (
        *("a", "man", "'s", "well-lit", "dog", "ca", "n't", "does", "n't", "can", "not", "bark", "3.5", "u.s.a"),
    )
    assert tokens("..., -- !") == ()


def test_rouge_l_by_hand():
    """Of the two references precision is the first's 3/4 and recall the second's 2/2."""
    score = rouge_l(["the dog barks loud"], [["a dog barks so loud", "dog loud"]])
    precision, recall = 3 / 4, 1.0
    assert score.value == close((1 + 1.44) * precision * recall / (recall + 1.44 * precision))
    assert rouge_l(["rain"], [["a dog"]]).value == 0


def test_meteor_by_hand():
    """2007: "dogs" stem, "bark" word, in two pieces: P 2/3, R 2/4. 1.5: function words weigh a third of others."""
    given_captions, references = ["dogs bark loudly"], [["the dog can bark"]]
    old = meteor(given_captions, references, version="2007")
    mean = (2 / 3 * 1 / 2) / (0.9 * 2 / 3 + 0.1 * 1 / 2)
    assert old.value == close(mean * (1 - 0.5 * 1.0**3))
    new = meteor(given_captions, references)
    precision, recall = 1.6 * 0.75 / (3 * 0.75), 1.6 * 0.75 / (2 * 0.75 + 2 * 0.25)
    mean = precision * recall / (0.85 * precision + 0.15 * recall)
    assert new.value == close(mean * (1 - 0.6 * 1.0**0.2))
    assert "weights:1.5" in str(new.signature)


def test_synonyms_are_matched_where_there_are_any():
    synonyms_of = {"hound": {"dog", "cur"}}
    plain = meteor(["a hound"], [["a dog"]], version="2007")
    with_synonyms = meteor(["a hound"], [["a dog"]], version="2007", synonyms=lambda word: synonyms_of.get(word, ()))
    assert plain.value < with_synonyms.value == close(1 - 0.5 / 8)
    assert "synonyms:none" in str(plain.signature)


def test_cider_weighs_rare_words_and_looks_at_all_samples():
    references = [["a dog barks at night"], ["a bell rings at night"]]
    same_captions = cider_d(["a dog barks at night", "a bell rings at night"], references)
    assert same_captions.value == close(1)
    common, rare = (cider_d([text, "none"], references).samples[0, 0] for text in ("a night at a", "dog barks"))
    assert common == 0  # words of every sample weigh nothing
    assert rare > 0.2
    assert cider_d(["a dog barks at night"], references[:1]).value == 0  # of one sample alone


def test_the_mean_of_four_is_the_mean_of_the_four():
    captions, references = ["a dog", "rain"], [["a hound", "a dog"], ["rain"]]
    score = caption_mean(captions, references, sentences=sentences)
    alone = {
        "meteor": meteor(captions, references).value,
        "rouge_l": rouge_l(captions, references).value,
        "cider_d": cider_d(captions, references).value,
        "sbert": sbert(captions, references, sentences=sentences).value,
    }
    assert dict(score.parts) == pytest.approx(alone)
    assert score.value == close(sum(alone.values()) / 4)
    larger = caption_mean(captions, references, sentences=sentences, cider_scale=10)
    assert larger.value - score.value == close(9 * alone["cider_d"] / 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rouge_l(["a"], [[]]),
        lambda: cider_d(["a"], ["a dog"]),
        lambda: meteor(["a"], [[" "]]),
        lambda: meteor(["a"], [["a"]], version="2.0"),
        lambda: sbert(["rain"], [["rain"]], sentences=lambda _: np.full((1, 3), np.nan)),
        lambda: sbert(["rain"], [["a dog"]], sentences=lambda _: np.zeros((1, 3))),
        lambda: fense(["rain"], [["rain"]], sentences=sentences, fluency=lambda _: np.array([1.5])),
        lambda: fense(["rain"], [["rain"]], sentences=sentences, fluency=fluency, variant="max"),
    ],
)
def test_what_cannot_be_scored_is_said(call):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.expected


TEXT = st.text(alphabet="abc d'.-éŁ☃", max_size=25)
PAIRS = st.lists(st.tuples(TEXT, st.lists(TEXT.filter(str.strip), min_size=1, max_size=3)), min_size=1, max_size=5)


@given(PAIRS)
def test_scores_of_words_are_bounded_for_any_text(pairs):
    captions, references = zip(*pairs, strict=True)
    for score in (meteor, rouge_l, cider_d):
        assert 0 <= score(captions, references).value <= 1 + 1e-12


def test_a_draw_scores_like_those_samples_and_levels_take_it():
    captions = ["a dog", "rain", "a cat"]
    references = [["a hound"], ["a dog", "rain"], ["rain"]]
    score = fense(captions, references, sentences=sentences, fluency=fluency)
    draw = [0, 0, 2]
    of_draw = fense(
        [captions[index] for index in draw], [references[index] for index in draw], sentences=sentences, fluency=fluency
    )
    assert score.resampled(np.array([[2.0, 0, 1]]))[0] == close(of_draw.value)
    rows = level_intervals({"AVC": answer_rows(score, ["a", "b", "c"])}, rng=generator(0, "captions"))
    assert rows["AVC"].value == close(100 * score.value)
    assert math.isfinite(rows["AVC"].low)
