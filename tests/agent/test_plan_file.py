"""``plan.yaml``: read strictly, checked by name, and every error with its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from auscult.agent.plan import (
    Plan,
    PlanData,
    PlanLimits,
    PlanPerturbation,
    check_plan,
    conflicts,
    plan_schema,
    plan_text,
    read_plan,
)
from auscult.errors import UsageError

pytest.importorskip("yaml", reason="extra agent")
pytestmark = pytest.mark.extra_agent

TEXT = """format: 1
instruction: outdoor night scene
task: vos
places: [street+night]
data: {path: 007, splits: [a]}
samples:
- id: 00012
  reason: it is night
perturbations:
- {name: fog, severities: [low, 3]}
- {name: vision.motion_blur.v1, severities: [high]}
- {name: vision.motion_blur.v1, schedule: dynamic}
metrics: [{name: J&F}]
models: [flow]
limits: {usd: 0, seconds: 2.5}
"""


def plan_of(folder: Path, text: str) -> Plan:
    """Write, read and check a plan."""
    path = folder / "plan.yaml"
    path.write_text(text)
    plan, source = read_plan(path)
    check_plan(plan, source)
    return plan


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TEXT)
    assert (plan.samples[0].id, plan.data.path, plan.perturbations[0].severities) == ("00012", "007", ("low", "3"))
    assert plan.limits == PlanLimits(usd=0, seconds=2.5)
    assert plan.perturbations[2].levels == ("dynamic",)
    assert plan_of(tmp_path, plan_text(plan)) == plan


def test_a_proposed_plan_has_the_hash_of_its_file(tmp_path: Path) -> None:
    fog = PlanPerturbation(name="fog", severities=("low",))
    proposed = Plan(task="vos", data=PlanData(scenes=2), perturbations=(fog,), models=("flow",))
    assert plan_of(tmp_path, plan_text(proposed)).hash == proposed.hash


def test_the_hash_is_of_what_is_run(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TEXT)
    equal_plan = replace(plan, changed=True, proposed="x", limits=PlanLimits())
    assert equal_plan.hash == plan.hash
    assert replace(plan, seed=1).hash != plan.hash


WRONG = [  # what is replaced, by what, line, message, hint
    ("models", "model", 14, "unknown key 'model'", "models"),
    ("name: fog", "nam: fog", 10, "unknown key 'nam'", "name"),
    ("low, 3", "low, [3]", 10, "severities[1]", ""),
    ("schedule: dynamic", "schedule: dinamic", 12, "dinamic", ""),
    ("usd: 0", "usd: -1", 15, "limits.usd", ""),
    ("format: 1", "format: 2", 1, "format", ""),
    ("data: {path: 007, splits: [a]}", "data: {splits: [a]}", 5, "twice or not at all", ""),
    ("task: vos", "task: vos\ntask: ris", 4, "'task' stands twice", ""),
    ("instruction: outdoor", "instruction: &a outdoor", 2, "anchor, alias or tag", ""),
    ("instruction: outdoor night scene", "instruction: !!python/name:os.system x", 2, "anchor, alias or tag", ""),
    ("name: fog", "name: fogg", 10, "'fogg'", "fog"),
    ("task: vos", "task: vox", 3, "'vox'", ""),
    ("street+night", "strete", 4, "'strete'", "street"),
    ("J&F", "JF", 13, "'JF'", "J&F"),
    ("[flow]", "[flo]", 14, "'flo'", "flow"),
    ("[flow]", "[]", 14, "no model", ""),
    ("low, 3", "lowest", 10, "'lowest'", ""),
    ("[low, 3]", "[]", 10, "no severity", ""),
    ("high]}", "high], schedule: dynamic}", 11, "draws severities", ""),
    ("name: fog", "name: brightness", 10, "cannot occur in street+night", ""),
    ("- {name: fog, severities: [low, 3]}", "- {name: frost, severities: [1]}\n- {name: spatter, severities: [1]}", 11,
     "cannot occur together with frost", ""),
    ("splits: [a]", "options: {overwrite: yes}", 5, "no option of the data 'overwrite'", ""),
    ("splits: [a]", "options: {memory-mb: 9}", 5, "no option of the data 'memory_mb'", ""),
    ("splits: [a]", "options: {kind: fog}", 5, "no option of the data 'kind'", ""),
    ("splits: [a]", "options: {mask: b}", 5, "no option of the data 'mask'", "masks"),
    ("limits:", "---\nlimits:", 15, "several documents", ""),
    ("task: vos", "suite: avi\ntask: vos", 4, "suite avi has no task", ""),
    ("task: vos", "suite: rris", 9, "suite rris has no perturbations", ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message", "hint"), WRONG)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as error:
        plan_of(tmp_path, TEXT.replace(old, new))
    assert message in error.value.message
    assert (error.value.line, hint in error.value.hint) == (line, True)
    assert str(error.value.path).endswith("plan.yaml")


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "[" * 5000, "a: 1\n---\nb: 2", "a: \x00", "? [a]\n: b"])
def test_no_plan_is_a_usage_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        plan_of(tmp_path, text)


def test_a_person_may_force_what_cannot_occur(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TEXT.replace("name: fog,", "name: brightness, force: true,"))
    assert not list(conflicts(plan))
    assert list(conflicts(replace(plan, perturbations=(replace(plan.perturbations[0], force=False),))))


def test_the_schema_names_every_key() -> None:
    schema = plan_schema()
    assert set(schema["$defs"]["Plan"]["properties"]) >= {"samples", "perturbations", "metrics", "limits", "left_out"}
