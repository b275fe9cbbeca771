"""The table of situations: whole, free of contradictions, and in keeping with the rules of places."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from auscult.agent.knowledge import BuiltInDebater, cell, kinds, situation_rows, situations
from auscult.agent.knowledge.sentence import read_sentence
from auscult.agent.knowledge.situations import FILE, GRADES, _perturbations, kind_of, lineage, raw
from auscult.agent.offers import perturbations_of
from auscult.errors import UnknownName, UsageError
from auscult.registry import entries
from auscult.stress.presets import barred, places, tags_of
from auscult.stress.recipe_parts import registered
from auscult.suites.r2.cases import TASK_RULES, TaskRules
from auscult.suites.r2.conditions import FIRST_MASKS, conditions_of


def _takes(task: TaskRules, name: str) -> bool:
    """Whether ``run r2`` has a condition of a perturbation for a task."""
    try:
        return len(conditions_of(task, mixes=(), kinds=(name,), levels=("low",))) > 1
    except UsageError:
        return False


class TestTable:
    def test_sixty_situations_by_all_perturbations_have_a_grade_and_a_reason(self) -> None:
        rows = list(situation_rows())
        assert len(situations()) >= 60
        assert Counter((row[0], row[2]) for row in rows) == dict.fromkeys(
            ((name, kind) for name in situations() for kind in kinds()), 1
        )
        assert all(grade in GRADES and len(reason.split()) > 1 for *_, grade, reason, _ in rows)
        assert {grade for *_, grade, _, _ in rows} == set(GRADES)

    def test_every_registered_perturbation_is_known_and_nothing_else(self) -> None:
        known_kinds, all_kinds = set(raw()["kinds"]), set(map(kind_of, (*registered(), *FIRST_MASKS)))
        lacking = all_kinds - known_kinds
        assert not lacking, (
            f"add a line for {', '.join(sorted(lacking))} under `kinds` in {FILE}, and cells where needed"
        )
        assert known_kinds == all_kinds == set(kinds())
        assert {kind for situation in situations().values() for kind in situation.cells} <= known_kinds

    @pytest.mark.parametrize("task", TASK_RULES.values(), ids=TASK_RULES)
    def test_what_run_r2_offers_for_a_task_has_cells(self, task: TaskRules) -> None:
        offered = {kind_of(entry.name) for entry in entries("stressor") if _takes(task, entry.name)}
        assert offered == set(map(kind_of, perturbations_of(task)[0]))
        assert not [kind for kind in offered for name in situations() if cell(name, kind).grade not in GRADES]

    def test_a_perturbation_of_a_plug_in_is_in_no_row(self, monkeypatch: pytest.MonkeyPatch) -> None:
        names = ("vision.fog.v1", "vision.locusts.v1")
        monkeypatch.setattr(sys.modules[kind_of.__module__], "registered", lambda: names)
        masks = ("masks.erode", "masks.dilate", "masks.cutout")
        assert tuple(_perturbations.__wrapped__()) == ("vision.fog", *masks)

    def test_a_perturbation_without_a_line_says_where_to_add_it(self) -> None:
        with pytest.raises(UnknownName, match=r"nothing is known of vision\.locusts") as error:
            cell("street", "vision.locusts")
        assert FILE in str(error.value)
        with pytest.raises(UnknownName, match="no situation 'moon base'"):
            cell("moon base", "vision.fog")

    def test_parents_and_places_exist_and_no_term_is_of_two_situations(self) -> None:
        known_situations, terms = situations(), Counter[str]()
        for situation in known_situations.values():
            assert set(situation.parents) <= set(known_situations), situation.name
            assert set(filter(None, situation.place.split("+"))) <= set(places()), situation.name
            terms.update(set(situation.terms))
        assert [term for term, count in terms.items() if count > 1] == []

    def test_a_situation_is_found_by_each_of_its_terms(self) -> None:
        for name, situation in situations().items():
            missed_terms = [
                term for term in situation.terms if name not in read_sentence(f"a study about {term} for us").situations
            ]
            assert missed_terms == [], name


class TestNoContradictions:
    def test_what_a_place_bars_is_impossible_in_every_case_of_it(self) -> None:
        for name in situations():
            for place in filter(None, (situations()[ancestor].place for ancestor in lineage(name))):
                never = [kind for kind in kinds() if barred(f"{kind}.v1", tags_of(place))]
                assert [kind for kind in never if cell(name, kind).grade != "impossible"] == [], (name, place)

    def test_a_case_allows_what_is_impossible_above_it_only_with_a_word(self) -> None:
        for name in situations():
            for kind in kinds():
                above = [situations()[ancestor].cells.get(kind) for ancestor in lineage(name) if ancestor != name]
                if any(ancestor_cell is not None and ancestor_cell.grade == "impossible" for ancestor_cell in above):
                    kind_cell = cell(name, kind)
                    assert kind_cell.grade == "impossible" or "though" in kind_cell.reason, (name, kind)

    def test_no_two_parents_as_near_say_the_opposite(self) -> None:
        for name in situations():
            for kind in kinds():
                nearest = cell(name, kind).steps
                grades = {
                    situations()[ancestor].cells[kind].grade
                    for ancestor, steps in lineage(name).items()
                    if steps == nearest and kind in situations()[ancestor].cells
                }
                assert not {"needed", "impossible"} <= grades, (name, kind)


def test_what_is_needed_differs_from_situation_to_situation() -> None:
    needed_kinds = [frozenset(kind for kind in kinds() if cell(name, kind).grade == "needed") for name in situations()]
    assert len(set(needed_kinds)) > 60
    assert max(map(len, needed_kinds)) < len(kinds()) / 2
    assert BuiltInDebater("guardian").name == "built-in guardian"
