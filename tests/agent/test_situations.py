"""The table of situations: whole, free of contradictions, and in keeping with the rules of places."""

from __future__ import annotations

from collections import Counter

import pytest

from auscult.agent.knowledge import BuiltInDebater, cell, kinds, situation_rows, situations
from auscult.agent.knowledge.sentence import read_sentence
from auscult.agent.knowledge.situations import FILE, GRADES, lineage, raw
from auscult.errors import UnknownName
from auscult.stress.presets import places, why_not


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
        known = set(raw()["kinds"])
        lacking = set(kinds()) - known
        assert not lacking, (
            f"add a line for {', '.join(sorted(lacking))} under `kinds` in {FILE}, and cells where needed"
        )
        assert known == set(kinds())
        assert {kind for one in situations().values() for kind in one.cells} <= known

    def test_a_perturbation_without_a_line_says_where_to_add_it(self) -> None:
        with pytest.raises(UnknownName, match=r"nothing is known of vision\.locusts") as raised:
            cell("street", "vision.locusts")
        assert FILE in str(raised.value)
        with pytest.raises(UnknownName, match="no situation 'moon base'"):
            cell("moon base", "vision.fog")

    def test_parents_and_places_exist_and_no_term_is_of_two_situations(self) -> None:
        known, terms = situations(), Counter[str]()
        for one in known.values():
            assert set(one.parents) <= set(known), one.name
            assert set(filter(None, one.place.split("+"))) <= set(places()), one.name
            terms.update(set(one.terms))
        assert [term for term, count in terms.items() if count > 1] == []

    def test_a_situation_is_found_by_each_of_its_terms(self) -> None:
        for name, one in situations().items():
            lost = [term for term in one.terms if name not in read_sentence(f"a study of {term} for us").situations]
            assert lost == [], name


class TestNoContradictions:
    def test_what_a_place_bars_is_impossible_in_every_case_of_it(self) -> None:
        for name in situations():
            for place in filter(None, (situations()[one].place for one in lineage(name))):
                barred = [kind for kind in kinds() if why_not(kind, place)]
                assert [kind for kind in barred if cell(name, kind).grade != "impossible"] == [], (name, place)

    def test_a_case_allows_what_is_impossible_above_it_only_with_a_word(self) -> None:
        for name in situations():
            for kind in kinds():
                above = [situations()[one].cells.get(kind) for one in lineage(name) if one != name]
                if any(one is not None and one.grade == "impossible" for one in above):
                    found = cell(name, kind)
                    assert found.grade == "impossible" or "though" in found.reason, (name, kind)

    def test_no_two_parents_as_near_say_the_opposite(self) -> None:
        for name in situations():
            for kind in kinds():
                near = cell(name, kind).steps
                said = {
                    situations()[one].cells[kind].grade
                    for one, steps in lineage(name).items()
                    if steps == near and kind in situations()[one].cells
                }
                assert not {"needed", "impossible"} <= said, (name, kind)


def test_what_is_needed_differs_from_situation_to_situation() -> None:
    needed = [frozenset(kind for kind in kinds() if cell(name, kind).grade == "needed") for name in situations()]
    assert len(set(needed)) > 60
    assert max(map(len, needed)) < len(kinds()) / 2
    assert BuiltInDebater("guardian").name == "built-in guardian"
