"""The four levels of AVI-Bench: the paper's Table 5 from its Table 3, equations at their edges, intervals and test."""

import csv
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.rng import generator
from auscult.score.answers import amic
from auscult.score.levels import answer_rows, level_differences, level_intervals, levels, mean_rows
from auscult.score.stats import Interval
from auscult.score.tasks import STAGES, TASKS

with (Path(__file__).parents[1] / "golden" / "avi_paper_tables.csv").open(encoding="utf-8") as file:
    CELLS = {(row["table"], row["row"], row["metric"]): float(row["printed"]) for row in csv.DictReader(file)}
MODELS = [row for table, row, metric in CELLS if (table, metric) == ("3", "AMIC")]
SCORES = {model: {task: CELLS["3", model, task] for task in TASKS} for model in MODELS}


def test_levels_of_table_5_from_the_scores_of_table_3():
    assert len(MODELS) == 28
    off = {
        (model, f"L{number}"): getattr(levels(SCORES[model]), f"level_{number}") - CELLS["5", model, f"L{number}"]
        for model in MODELS
        for number in range(1, 5)
    }
    assert off.pop(("GPT-4o", "L4")) == pytest.approx(0.66 - 0.55, abs=0.005)  # the paper's slip
    assert max(map(abs, off.values())) < 0.02


def test_a_row_of_a_frame_is_taken_and_what_is_no_number_or_reading_is_refused():
    class Row(dict):
        """As a pandas Series: to go over it is to go over its values."""

        def __iter__(self):
            return iter(self.values())

    scores = dict.fromkeys(TASKS, 50.0)
    assert levels(Row(scores)) == levels(scores)
    for wrong in ("50", None):
        with pytest.raises(InputError, match="AMIC"):
            levels({**scores, "AMIC": wrong})
    with pytest.raises(InputError, match="reading"):
        levels(scores, reading="tables")


def test_stage_means_of_table_3():
    for model in MODELS:
        stages = levels(SCORES[model])
        for stage in (*STAGES, "average"):
            assert getattr(stages, stage) == pytest.approx(CELLS["3", model, stage], abs=0.01), (model, stage)


def test_the_equation_reading_takes_the_eleven_tasks():
    scores = SCORES["Gemini-2.5-pro"]
    familiar = [score for task, score in scores.items() if not TASKS[task].confirmed]
    assert levels(scores, reading="equation").level_1 == pytest.approx(sum(familiar) / 11)
    assert levels(scores).level_1 == pytest.approx(64.20, abs=0.005)


def test_the_relative_gap_is_that_of_table_14():
    for row in "ABCDE":
        audio, visual = (100 * CELLS["14", row, sense] for sense in ("A", "V"))
        sides = {"AMIC": audio, "VAR": audio, "AVH": audio, "VMIC": visual, "AVR": visual, "VAH": visual}
        result = levels({**dict.fromkeys(TASKS, 50.0), **sides})
        assert result.modality_gap == pytest.approx(CELLS["14", row, "relative"])


def test_zeros_and_chance_alone():
    of_zeros = levels(dict.fromkeys(TASKS, 0.0))
    assert (of_zeros.modality_gap, of_zeros.bottleneck, of_zeros.level_2, of_zeros.level_4) == (2, 0, 0, 0)
    guessing = levels({name: task.chance for name, task in TASKS.items()})
    assert guessing.bottleneck == 0
    assert guessing.level_1 > 10  # chance is taken off for level 3's discount alone
    assert levels(dict.fromkeys(TASKS, 100.0)).level_4 == 100
    deaf = levels({**dict.fromkeys(TASKS, 50.0), "ASQA": 0.0})
    assert (deaf.unfamiliar, deaf.level_4) == (0, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"AVX": 1.0}, "no task 'AVX'"), ({"AMIC": float("nan")}, "AMIC is nan"), ({"AVH": 100.5}, "AVH is 100.5")],
)
def test_scores_that_cannot_be(change, message):
    with pytest.raises(InputError, match=message):
        levels({**dict.fromkeys(TASKS, 50.0), **change})
    with pytest.raises(InputError, match="without a score of AVC"):
        levels({name: 50.0 for name in TASKS if name != "AVC"})


def sampled(rights, *, clips=60, seed=0):
    """Right and wrong answers of two samples a clip, clips shared by all tasks."""
    draw, names = np.random.default_rng(seed), [f"clip {number // 2}" for number in range(2 * clips)]
    return {task: mean_rows(100.0 * (draw.random(clips).repeat(2) < rights.get(task, 0.5)), names) for task in TASKS}


def test_intervals_hold_the_number_and_missing_tasks_leave_out_what_needs_them():
    tasks = sampled({})
    intervals = level_intervals(tasks, rng=generator(0, "levels"), replicates=300)
    point = levels({name: float(task_rows.rows[:, 0].mean()) for name, task_rows in tasks.items()})
    for name in (*STAGES, "level_1", "level_2", "level_3", "level_4"):
        interval = intervals[name]
        assert isinstance(interval, Interval)
        assert interval.value == pytest.approx(getattr(point, name))
        assert interval.low < interval.high
    width = intervals["AMIC"].high - intervals["AMIC"].low
    assert width == pytest.approx(2 * 1.96 * 50 / 60**0.5, rel=0.2)  # of clips, not of samples
    del tasks["AVSQA"]
    partly = level_intervals(tasks, rng=generator(0, "levels"), replicates=100)
    assert isinstance(partly["level_4"], Undefined)
    assert partly["level_3"].value == intervals["level_3"].value


def test_another_chance_of_a_task_moves_level_3_and_what_follows_from_it_alone():
    tasks = sampled({"AVC": 0.3, "VAR": 0.3, "AVR": 0.3})
    by_chance = [level_intervals(tasks, rng=generator(0, "levels"), replicates=50, chance=chance)
            for chance in ({}, {"AVC": 13.06}, {"AVC": 28.0}, {"AVC": float("nan")})]  # fmt: skip
    assert by_chance[0] == by_chance[1], "13.06 is Table 15's"
    point = levels({name: float(task_rows.rows[:, 0].mean()) for name, task_rows in tasks.items()})
    above = {name: max(0.0, by_chance[2][name].value - {"AVC": 28.0}.get(name, TASKS[name].chance)) /
             (100 - {"AVC": 28.0}.get(name, TASKS[name].chance)) for name in TASKS}  # fmt: skip
    stages = [np.mean([above[task.name] for task in TASKS.values() if task.stage == stage]) for stage in STAGES[:3]]
    bottleneck = max(0.0, (stages[2] - min(stages[:2])) / stages[2])
    assert bottleneck > 0.1
    assert by_chance[2]["level_3"].value == pytest.approx((1 - bottleneck / 2) * point.level_2)
    assert by_chance[2]["level_2"] == by_chance[0]["level_2"]
    assert isinstance(by_chance[3]["level_3"], Undefined)
    assert isinstance(by_chance[3]["level_4"], Undefined)
    assert by_chance[3]["level_2"] == by_chance[0]["level_2"]


def test_scores_of_answers_are_rows_whatever_they_are_made_of():
    truths = [{"dog": 1 + number % 2} for number in range(40)]
    answers = [{"dog": 1} if number % 4 else {"cat": 2} for number in range(40)]
    score = amic(answers, truths)
    interval = level_intervals({"AMIC": answer_rows(score, list(range(40)))}, rng=generator(0, "rows"))["AMIC"]
    assert interval.value == pytest.approx(100 * score.value)
    assert interval.low < interval.value < interval.high


def test_paired_test_finds_a_real_difference_and_none_between_equals():
    better = level_differences(
        sampled(dict.fromkeys(TASKS, 0.8)), sampled({}, seed=1), rng=generator(0, "levels"), replicates=300
    )
    assert better["level_1"].low > 15
    assert better["level_4"].p < 0.02
    differences = level_differences(sampled({}), sampled({}), rng=generator(0, "levels"), replicates=100)
    assert {(difference.difference, difference.p) for difference in differences.values()} == {(0.0, 1.0)}
    with pytest.raises(InputError, match="differ in the samples of AMIC"):
        level_differences(sampled({}), sampled({}, clips=59), rng=generator(0, "levels"))
