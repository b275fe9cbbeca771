"""The AVI-Bench paper: what its text says of its tables, recomputed; and the page that tells it."""

import pytest

pytest.importorskip("scipy")
from studies import avi_paper_tables as tool

CELLS = tool.read()


def test_one_cell_of_table_5_does_not_follow():
    assert [(model, level) for model, level, *_ in tool.level_cells(CELLS)] == [("GPT-4o", "L4")]


def test_the_gaps_of_section_5_5_change_sides():
    gap_rows = tool.gaps(CELLS)
    assert all(float(printed_gap) == pytest.approx(abs(own_gap), abs=1e-6) for _, printed_gap, own_gap in gap_rows)
    assert [own_gap > 0 for *_, own_gap in gap_rows] == [True] * 4 + [False]
    assert tool.rank_gap(CELLS) == 15


def test_means_of_table_4():
    means = tool.means_of_table_4(CELLS)
    assert means["human"] == pytest.approx(92.6, abs=0.05)


def test_chance_of_table_15():
    chances = {name: round(value, 2) for name, value in tool.chance().items()}
    assert (chances["AVQA"], chances["ASQA"], chances["ASQA, counts exchanged"], chances["AVSQA"]) == (
        21.35,
        26.0,
        29.68,
        24.63,
    )


def test_observation_6_and_table_8():
    gaps = tool.domain_gaps(CELLS)
    assert (round(min(gaps.values()), 1), round(max(gaps.values()), 1)) == (28.1, 93.7)
    assert tool.better_with_confirmation(CELLS) == [("GPT-4o", "AVSQA", "09.75", "04.12")]


def test_cells_of_tables_10_and_11_that_do_not_follow():
    wrong = {
        (*statistic[:3],): round(statistic[4], 4)
        for statistic in tool.statistics(CELLS)
        if not tool.agrees(statistic[3], statistic[4])
    }
    assert wrong["10", "sensation", "W"] == 0.9685
    pearson = {key[1:]: round(value, 3) for key, value in wrong.items() if key[0] == "11"}
    assert pearson == {
        ("perception", "sensation"): 0.867,
        ("understanding", "sensation"): 0.743,
        ("reasoning", "sensation"): 0.830,
        ("sensation", "average"): 0.911,
        ("understanding", "average"): 0.881,
    }


def test_parts_of_table_9_and_seeds_of_table_12():
    assert {part: sum(change > 0 for change in tool.part_changes(CELLS, part).values()) for part in "qav"} == {
        "q": 15, "a": 16, "v": 7,
    }  # fmt: skip
    worth = tool.part_effects(CELLS)
    assert max(abs(row["v"]) for row in worth.values()) < tool.seed_stability(CELLS)["L2"].changed
    assert all(abs(worth[level]["a"]) == max(map(abs, worth[level].values())) for level in ("L1", "L2", "L3"))
    assert max(worth["L4"], key=worth["L4"].__getitem__) == "q"
    assert min(worth["L4"], key=worth["L4"].__getitem__) == "q x a"
    assert all(stability.kept == stability.pairs == 1 for stability in tool.seed_stability(CELLS).values())


def test_the_page_is_computed():
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(CELLS)
