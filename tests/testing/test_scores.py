"""What every registered score must do, built in or from a plug-in."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.registry import entries, load
from auscult.testing import ContractBroken
from auscult.testing.scores import CHECKS, EXAMPLES, is_signed_repeatable_and_pure, knows_good_from_bad
from auscult.types import ScoreSpec

NAMES = [entry.name for entry in entries("score")]
BUILT_IN = {
    "masks": "iou boundary_f j_and_f miou oiou ref_avs_j ref_avs_f ref_avs_s avs class_wise riou mrr referring_miou "
    "referring_oiou precision_at mask_ratio r2vos_r giou ciou n_acc t_acc",
    "sound": "snr si_sdr sdr bss3 bss4 log_spectral_distance multi_resolution_stft frechet_distance span_agreement "
    "perceptual stoi pesq dnsmos visqol",
    "stats": "rmse rmse_video f2_tables f2_confusion f2_video spearman auc",
    "answers": "full_match equal_lists double_confirmation amic vmic retrieval avl avlg fense sbert "
    "meteor rouge_l cider_d caption_mean",
}


def test_the_built_in_scores_are_registered():
    assert {f"{room}.{name}.v1" for room, names in BUILT_IN.items() for name in names.split()} <= set(NAMES)
    assert {load("score", name).takes for name in NAMES} == EXAMPLES.keys()


@pytest.fixture(params=NAMES)
def spec(request):
    score_spec = load("score", request.param)
    if score_spec.takes == "sounds":
        result = score_spec.function(*EXAMPLES["sounds"].usual, **dict.fromkeys(score_spec.asked, 16_000))
        if isinstance(result, Undefined) and "not installed" in result.reason:
            pytest.skip("the package of this score is not installed")
    return score_spec


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_keeps_the_law(spec, check):
    check(spec)


def test_its_arguments_are_prediction_and_truth_and_its_options_are_the_defaults(spec):
    parameters = inspect.signature(spec.function).parameters
    positional = [name for name, parameter in parameters.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    options = {
        name: parameter.default for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY
    }
    expected = EXAMPLES[spec.takes].names
    assert len(positional) == len(expected)
    assert all(
        name in (argument_name, f"{argument_name}s") for name, argument_name in zip(positional, expected, strict=True)
    )
    assert {name: value for name, value in options.items() if name not in spec.asked} == dict(spec.options)


def test_shapes_that_differ_are_refused_with_both():
    prediction, truth = EXAMPLES["masks"].usual
    for name in NAMES:
        if load("score", name).takes == "masks":
            with pytest.raises(InputError, match=r"\(40, 30\).*\(30, 40\)"):
                load("score", name).function(prediction.T, truth)


def test_a_score_that_breaks_a_law_is_found():
    signature = Signature.of(metric="test")

    def spec_of(function, **changes):
        fields = {"summary": "a test's score", "goal": "none", "source": "none", **changes}
        return ScoreSpec.of(function, **fields)

    def area(prediction, truth):
        return Scored(float(np.mean(prediction)) + 0 * truth.size, signature)

    def unsigned(prediction, truth):
        return Scored(0.5, Signature(()))

    with pytest.raises(ContractBroken, match="truth itself"):
        knows_good_from_bad(spec_of(area))
    with pytest.raises(ContractBroken, match="version"):
        is_signed_repeatable_and_pure(spec_of(unsigned))
    for broken in (SimpleNamespace(meta=None), spec_of(area, truth="")):
        with pytest.raises(ContractBroken):
            CHECKS[0](broken)
