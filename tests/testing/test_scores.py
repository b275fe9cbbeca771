"""What every registered score must do, built in or from a plug-in."""

import inspect

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Scored
from auscult.registry import entries, load
from auscult.types import ScoreSpec

MASK_SCORES = [entry.name for entry in entries("score") if entry.name.startswith("masks.")]


def pair():
    truth = np.zeros((30, 40), bool)
    truth[8:20, 10:25] = True
    prediction = np.zeros((30, 40), bool)
    prediction[10:22, 12:30] = True
    return prediction, truth


def test_the_built_in_scores_are_registered():
    assert {"masks.iou.v1", "masks.boundary_f.v1", "masks.j_and_f.v1"} <= set(MASK_SCORES)


@pytest.fixture(params=[entry.name for entry in entries("score")])
def spec(request):
    return load("score", request.param)


@pytest.fixture(params=MASK_SCORES)
def mask_score(request):
    return load("score", request.param)


def test_it_says_what_it_is_and_which_direction_is_better(spec):
    assert isinstance(spec, ScoreSpec)
    assert all((spec.meta.summary, spec.meta.goal, spec.meta.modality, spec.meta.source, spec.meta.truth))
    assert spec.meta.higher_is_better is not None


def test_its_arguments_are_prediction_and_truth_and_its_options_are_the_defaults(spec):
    parameters = inspect.signature(spec.function).parameters
    positional = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    options = {name: one.default for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert len(positional) == 2
    assert [name.rstrip("s") for name in positional] == ["prediction", "truth"]
    assert options == dict(spec.options)


def test_a_score_is_signed_in_range_repeatable_and_leaves_its_input_alone(mask_score):
    prediction, truth = pair()
    prediction.flags.writeable = truth.flags.writeable = False
    outcome = mask_score.function(prediction, truth, **mask_score.options)
    assert isinstance(outcome, Scored)
    assert 0.0 < outcome.value < 1.0
    assert outcome.signature.as_dict()["version"]
    assert outcome == mask_score.function(prediction, truth)


def test_the_truth_itself_is_perfect_and_nothing_is_worst(mask_score):
    _, truth = pair()
    assert mask_score.function(truth, truth).value == 1.0
    assert mask_score.function(np.zeros_like(truth), truth).value == 0.0


def test_shapes_that_differ_are_refused_with_both(mask_score):
    prediction, truth = pair()
    with pytest.raises(InputError, match=r"\(40, 30\).*\(30, 40\)"):
        mask_score.function(prediction.T, truth)
