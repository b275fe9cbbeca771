"""The fourteen tasks of AVI-Bench: the sums of Table 2 and what the levels lean on."""

from auscult.score.tasks import FAMILIAR, STAGES, TASKS, leaning, of_stage

MADE_BY_HAND = ("AMIC", "VMIC", "VAR", "AVR", "ASQA", "VSQA", "AVSQA")
BOXES_OF_MASKS = ("AVL", "AVLG")


def test_the_sums_of_table_2_and_of_its_sources():
    assert [sum(task.samples for task in of_stage(stage)) for stage in STAGES] == [1494, 808, 1472, 2090]
    assert len(TASKS) == 14
    assert sum(len(task.folders) for task in TASKS.values()) == 15
    by_source = [sum(TASKS[name].samples for name in names) for names in (MADE_BY_HAND, BOXES_OF_MASKS)]
    assert [*by_source, sum(task.samples for task in TASKS.values()) - sum(by_source)] == [3657, 708, 1499]


def test_audio_and_visual_tasks_are_those_of_table_2():
    assert [task.name for task in leaning("sound")] == ["AMIC", "VAR", "AVH"]
    assert [task.name for task in leaning("vision")] == ["VMIC", "AVR", "VAH"]
    for sense, name in (("sound", "ASQA"), ("vision", "VSQA"), ("both", "AVSQA")):
        assert [task.name for task in leaning(sense, ("sensation",))] == [name]
    assert {task.stage for task in TASKS.values() if not task.confirmed} == set(FAMILIAR)
