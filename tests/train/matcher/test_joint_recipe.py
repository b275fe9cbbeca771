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


def drawn(count: int, *, seed: int) -> list[JointAnswer]:
    """Items whose words speak of what is seen alone; the sound is of the mask's thing, or of the other one."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        wrong = JOINT_FAULTS[number % 4]
        right_mask, right_stem = wrong in {"none", "stem"}, wrong in {"none", "mask"}
        mine, other = 0.25, 0.75
        named, unnamed = (mine, other) if right_mask else (other, mine)
        own = float(np.clip((0.75 if right_mask else 0.25) + rng.normal(0, 0.1), 0.05, 0.95))
        side = (named if right_stem else unnamed) + float(rng.normal(0, 0.03))
        evidence = JointEvidence(own=own, x=mine, others=((1 - own, other),), heard=None, side=side)
        found.append(JointAnswer(scene=number // 3, needs="sight", wrong=wrong, found=evidence))
    return found


def test_weights_of_a_conditional_logit_are_found_again() -> None:
    rng = np.random.default_rng(0)
    columns, wanted = rng.normal(size=(4_000, 4, 2)), np.array([1.5, -0.7])
    chances = np.exp(columns @ wanted)
    chances /= chances.sum(axis=1, keepdims=True)
    true = (chances.cumsum(axis=1) < rng.random((4_000, 1))).sum(axis=1)
    found, loss = fit_logit(columns, true)
    assert found == pytest.approx(wanted, abs=0.1)
    assert loss < np.log(4)


def test_the_side_tells_of_the_sound_what_no_product_can() -> None:
    numbers = fit_numbers(drawn(200, seed=1), JointCheck().numbers)
    single = fit_product(drawn(200, seed=1), numbers)
    both = measured(drawn(200, seed=2), numbers, single)["all"]
    assert both["product"][0] == pytest.approx(0.5, abs=0.1)  # the mask is told, the sound guessed
    assert both["joint"][0] > 0.9
    assert both["difference"][1] > 0.2


def test_each_fault_is_what_it_is_called() -> None:
    assets, shelf = painted("train")
    plan = choose(3, 0, assets=assets, shelves={"train": shelf}, options=SceneOptions(size=(96, 170), seconds=4.0))
    shots = Stage(plan, assets.looks).key_shots()
    said = say(generator(0), facts_of(plan, shots), targets=frozenset(one.id for one in plan.objects), most=8)
    samples = list(choose_joint(generator(1), plan, shots, expressions=said))
    assert set(Counter(sample.wrong for sample in samples).values()) == {len(samples) // 4}
    tracks = {one.id: one.track for one in plan.objects}
    for sample in samples:
        named = sample.expression.target
        assert (str(sample.mask + 1) == named) == (sample.wrong in {"none", "stem"})
        assert (plan.tracks[sample.track] is tracks[str(named)]) == (sample.wrong in {"none", "mask"})
        assert shots[sample.shot].visible[sample.mask].any()


@pytest.mark.slow
def test_the_recipe_writes_what_the_check_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TAKES", 1)
    made = list(scenes_joint(TrainOptions(name="scenes-joint", out=tmp_path, samples=4), Silent()))
    assert [path.name for path in made] == ["joint.json", "joint.scenes.v1.json"]
    for name in ("scenes.onnx", "scenes.json"):
        (tmp_path / name).write_bytes((WEIGHTS / name).read_bytes())
    assert len(JointCheck(tmp_path).numbers.kinds.nouns) == 18
    sets = json.loads(made[1].read_text())["sets"]
    assert set(sets) == {"test_s", "test_u"}
