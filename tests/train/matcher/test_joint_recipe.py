"""`train scenes-joint`: what is fitted, and that its product of single judges is one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Silent
from auscult.judge.identity.joint import JointCheck, JointEvidence
from auscult.judge.identity.scenes import WEIGHTS
from auscult.rng import generator
from auscult.scenes.draw import Stage
from auscult.scenes.facts import facts_of, say
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.references import choose_joint
from auscult.train.matcher import joint as recipe
from auscult.train.matcher.joint import JointAnswer, fit_logit, fit_numbers, fit_product, measured, scenes_joint
from auscult.train.matcher.pairs import painted
from auscult.types import JOINT_FAULTS


def random_answers(count: int, *, seed: int) -> list[JointAnswer]:
    """Items whose words speak of what is seen alone; the sound is of the mask's thing, or of the other one."""
    rng = np.random.default_rng(seed)
    answers = []
    for number in range(count):
        wrong = JOINT_FAULTS[number % 4]
        right_mask, right_stem = wrong in {"none", "stem"}, wrong in {"none", "mask"}
        own_x, other = 0.25, 0.75
        named_x, unnamed = (own_x, other) if right_mask else (other, own_x)
        own_share = float(np.clip((0.75 if right_mask else 0.25) + rng.normal(0, 0.1), 0.05, 0.95))
        side = (named_x if right_stem else unnamed) + float(rng.normal(0, 0.03))
        evidence = JointEvidence(own=own_share, x=own_x, others=((1 - own_share, other),), heard=None, side=side)
        answers.append(JointAnswer(scene=number // 3, needs="sight", wrong=wrong, found=evidence))
    return answers


def test_weights_of_a_conditional_logit_are_found_again() -> None:
    rng = np.random.default_rng(0)
    columns, weights = rng.normal(size=(4_000, 4, 2)), np.array([1.5, -0.7])
    chances = np.exp(columns @ weights)
    chances /= chances.sum(axis=1, keepdims=True)
    true = (chances.cumsum(axis=1) < rng.random((4_000, 1))).sum(axis=1)
    fitted_weights, loss = fit_logit(columns, true)
    assert fitted_weights == pytest.approx(weights, abs=0.1)
    assert loss < np.log(4)


def test_the_side_tells_of_the_sound_what_no_product_can() -> None:
    numbers = fit_numbers(random_answers(200, seed=1), JointCheck().numbers)
    single = fit_product(random_answers(200, seed=1), numbers)
    measures = measured(random_answers(200, seed=2), numbers, single)["all"]
    assert measures["product"][0] == pytest.approx(0.5, abs=0.1)  # the mask is told, the sound guessed
    assert measures["joint"][0] > 0.9
    assert measures["difference"][1] > 0.2


def test_each_fault_is_what_it_is_called() -> None:
    assets, shelf = painted("train")
    plan = choose(3, 0, assets=assets, shelves={"train": shelf}, options=SceneOptions(size=(96, 170), seconds=4.0))
    shots = Stage(plan, assets.looks).key_shots()
    expressions_ = say(
        generator(0), facts_of(plan, shots), targets=frozenset(scene_object.id for scene_object in plan.objects), most=8
    )
    samples = list(choose_joint(generator(1), plan, shots, expressions=expressions_))
    assert set(Counter(sample.wrong for sample in samples).values()) == {len(samples) // 4}
    tracks = {scene_object.id: scene_object.track for scene_object in plan.objects}
    for sample in samples:
        target = sample.expression.target
        assert (str(sample.mask + 1) == target) == (sample.wrong in {"none", "stem"})
        assert (plan.tracks[sample.track] is tracks[str(target)]) == (sample.wrong in {"none", "mask"})
        assert shots[sample.shot].visible[sample.mask].any()


@pytest.mark.slow
def test_the_recipe_writes_what_the_check_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TAKES", 1)
    paths = list(scenes_joint(TrainOptions(name="scenes-joint", out=tmp_path, samples=4), Silent()))
    assert [path.name for path in paths] == ["joint.json", "joint.scenes.v1.json"]
    for name in ("scenes.onnx", "scenes.json"):
        (tmp_path / name).write_bytes((WEIGHTS / name).read_bytes())
    assert len(JointCheck(tmp_path).numbers.kinds.nouns) == 18
    sets = json.loads(paths[1].read_text())["sets"]
    assert set(sets) == {"test_s", "test_u"}
