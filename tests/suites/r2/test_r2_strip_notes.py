"""What a strip says of a first mask that was stressed: the kind of the defect that it really has."""

from __future__ import annotations

import numpy as np
import pytest
from r2_material import clips

from auscult.cases.instances import list_instances
from auscult.jobs.predict import MediaReader
from auscult.stress.recipe_parts import base_of
from auscult.suites.r2 import strips
from auscult.suites.r2.cases import R2Case, cases_of, frame_rule, target, task_rules
from auscult.suites.r2.conditions import FIRST_MASKS, conditions_of
from auscult.suites.r2.perturbing import PerturbedCase

RULES = task_rules("vos")


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> R2Case:
    listing = list_instances(clips(tmp_path_factory.mktemp("strip"), one=4))
    (case,) = cases_of(listing.instances, RULES, scored=frame_rule(RULES, listing.layout)).cases
    return case


def under(case: R2Case, level: str, *, seed: int, kind: str = "") -> PerturbedCase:
    kinds = {"mixes": (), "kinds": [kind]} if kind else {"mixes": ["guidance"], "kinds": ()}
    condition = conditions_of(RULES, levels=[level], **kinds)[-1]
    return PerturbedCase(case=case, condition=condition, seed=seed, guidance=RULES.guidance)


@pytest.mark.parametrize("level", ["low", "high"])
def test_the_kind_that_is_named_makes_the_mask_that_was_shown(video: R2Case, level: str) -> None:
    named_kinds = set()
    for seed in range(8):
        perturbed_case = under(video, level, seed=seed)
        note = strips._drawn(perturbed_case)
        kind, _, note_rest = note.partition(" ")
        assert note_rest == "of the first mask"
        named_kinds.add(kind)
        alone = under(video, level, seed=seed, kind=kind).ask(MediaReader()).first_mask
        first_mask = perturbed_case.ask(MediaReader()).first_mask
        assert alone is not None
        assert first_mask is not None
        assert np.array_equal(first_mask, alone)
        assert not np.array_equal(first_mask, target(video, 0))  # type: ignore[arg-type]
    assert len(named_kinds) > 1
    assert named_kinds <= {base_of(name) for name in FIRST_MASKS}


def test_one_kind_alone_and_a_clean_case_say_nothing_more(video: R2Case) -> None:
    assert strips._drawn(under(video, "high", seed=1, kind="erode")) == ""
    clean = conditions_of(RULES, mixes=["guidance"], kinds=(), levels=["high"])[0]
    assert strips._drawn(PerturbedCase(case=video, condition=clean, seed=1, guidance="masks")) == ""
