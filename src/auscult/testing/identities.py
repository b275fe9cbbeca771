"""The laws of identity checks: purity, determinism, a probability, and nothing claimed that was not looked at.

A check sees no truth: a ``Case`` has none. Its id tells cases apart and nothing else, so the answer may not depend on
it. Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES)
    def test_contract(check, example):
        check(registry.load("identity", "identity.scenes.v1"), *EXAMPLES[example])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from auscult import registry
from auscult.testing import require
from auscult.testing.judges import EXAMPLES as MASKS
from auscult.types import Case, Identity, IdentityCheck, Metadata, Prediction, Query

LONGEST: Final = 120
_RATE_HZ: Final = 16_000


def _examples() -> dict[str, tuple[Case, Prediction]]:
    """The judges' examples, each with an expression, and one with sound."""
    texts = {name: (replace(case, query=Query("the blob on the left")), mask) for name, (case, mask) in MASKS.items()}
    case, prediction = MASKS["good"]
    tone = np.sin(np.arange(_RATE_HZ, dtype=np.float32) * 0.17) * np.float32(0.3)
    with_sound = replace(case, query=Query("the thing that makes a sound"), sound=tone, rate_hz=_RATE_HZ, time_s=0.5)
    strange = replace(case, query=Query("\u00e9\u4e2d \U0001f3b8 " + "very " * 400 + "long"))
    return {**texts, "sound": (with_sound, prediction), "strange words": (strange, prediction)}


EXAMPLES: Mapping[str, tuple[Case, Prediction]] = _examples()


def describes_itself(check: IdentityCheck, case: Case, prediction: Prediction) -> None:
    """It has its registry name and complete metadata."""
    del case, prediction
    require(isinstance(check, IdentityCheck), "has name, meta and is callable")
    require(registry.find("identity", check.name).name == check.name, f"its name {check.name!r} is the registry's")
    require(isinstance(check.meta, Metadata), "meta is a Metadata")
    require(check.meta.summary and check.meta.goal and check.meta.source, "summary, goal and source are not empty")


def leaves_its_input_alone(check: IdentityCheck, case: Case, prediction: Prediction) -> None:
    """Frame, masks, other objects and sound are unchanged."""
    sound = () if case.sound is None else (case.sound,)
    arrays = (case.frame, prediction.mask, *case.others, *sound)
    before = [array.tobytes() for array in arrays]
    _identity(check, case, prediction)
    require([array.tobytes() for array in arrays] == before, "frame, masks and sound are unchanged")


def says_the_same_twice(check: IdentityCheck, case: Case, prediction: Prediction) -> None:
    """The same input gives the same answer, whatever the case is called."""
    first, second = _identity(check, case, prediction), _identity(check, case, prediction)
    require(first == second, "the same input, the same answer")
    renamed = _identity(check, replace(case, id="full_neg_2"), prediction)
    require(first == renamed, "the answer does not depend on the case's id")


def gives_a_probability(check: IdentityCheck, case: Case, prediction: Prediction) -> None:
    """Match and kept are 0..1, existence is one of its words, phrases are short; or None."""
    identity = _identity(check, case, prediction)
    if identity is None:
        return
    require(math.isfinite(identity.match) and 0 <= identity.match <= 1, f"0 <= {identity.match} <= 1")
    require(identity.kept is None or 0 <= identity.kept <= 1, f"kept is 0..1 or None, not {identity.kept}")
    require(identity.exists in {"yes", "no", "unchecked"}, "exists is yes, no or unchecked")
    for phrase in (identity.target, identity.distractor):
        require(phrase is None or 0 < len(phrase.strip()) <= LONGEST, f"a phrase has 1 to {LONGEST} letters")
    require("\n" not in identity.note, "the note is one line")


def is_silent_without_words(check: IdentityCheck, case: Case, prediction: Prediction) -> None:
    """Without an expression there is nothing to check: None."""
    for text in (None, "", "   "):
        require(_identity(check, replace(case, query=Query(text)), prediction) is None, "without an expression, None")


def claims_no_sound_without_one(check: IdentityCheck, case: Case, prediction: Prediction) -> None:
    """It does not claim to have listened where there was nothing to listen to."""
    identity = _identity(check, replace(case, sound=None, rate_hz=None), prediction)
    require(identity is None or not identity.sound, "without sound, none was listened to")


CHECKS: tuple[Callable[[IdentityCheck, Case, Prediction], None], ...] = (
    describes_itself,
    leaves_its_input_alone,
    says_the_same_twice,
    gives_a_probability,
    is_silent_without_words,
    claims_no_sound_without_one,
)


def _identity(check: IdentityCheck, case: Case, prediction: Prediction) -> Identity | None:
    identity = check(case, prediction)
    require(identity is None or isinstance(identity, Identity), "a check returns an Identity or None")
    return identity
