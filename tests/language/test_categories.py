"""What a sentence names, and what may be said to be absent, by the table of COCO's categories."""

from __future__ import annotations

import pytest

from auscult.language.categories import Categories, CategoryGroup, CategoryTable, coco_categories, coco_table, joined

COCO = coco_categories()


def test_coco_has_its_eighty_categories() -> None:
    assert len(COCO.names) == 80
    assert {COCO.names[0], COCO.names[-1]} == {"person", "toothbrush"}


@pytest.mark.parametrize("present", COCO.names)
def test_nothing_is_absent_that_may_be_what_is_there(present: str) -> None:
    """Over 80 x 80: no name of an absent category is a name, a group or a member of what is there."""
    table = COCO.table
    names = {present, *table.categories[present]}
    names |= {word for name, group in table.groups.items() if present in group.members for word in (name, *group.words)}
    for absent in COCO.absent({present}):
        assert absent not in names
        assert present not in COCO.named(absent)
        assert present not in COCO.named(COCO.noun(absent, many=True))
        assert not any({present, absent} <= set(pair) for pair in table.alike)
    assert present not in COCO.absent({present})
    assert len(COCO.absent({present})) >= 70


@pytest.mark.parametrize(
    ("present", "never"),
    [
        ("couch", "chair"), ("cup", "wine glass"), ("hot dog", "dog"), ("teddy bear", "bear"), ("car", "truck"),
        ("bicycle", "motorcycle"), ("remote", "cell phone"), ("laptop", "keyboard"), ("dog", "orange"),
    ],
)  # fmt: skip
def test_what_people_take_for_one_another_is_not_absent(present: str, never: str) -> None:
    assert never not in COCO.absent({present})


@pytest.mark.parametrize(
    ("text", "names_found"),
    [
        ("the guy left of the lady's sofa", {"person", "couch"}),
        ("two hot dogs", {"hot dog"}),
        ("Men on bikes", {"person", "bicycle", "motorcycle"}),
        ("a stop sign and a road sign", {"stop sign"}),
        ("scissors", {"scissors"}),
        ("an image of happiness", set()),
    ],
)
def test_names_are_found_with_synonyms_and_plurals(text: str, names_found: set[str]) -> None:
    assert COCO.named(text) == names_found


@pytest.mark.parametrize("word", ["vehicle", "animal", "furniture", "food", "utensil", "pet", "fruit"])
def test_groups_name_all_their_members_and_prove_nothing_absent(word: str) -> None:
    (mention,) = COCO.mentions(f"the {word}")
    assert len(mention.categories) > 1
    assert not mention.closed


def test_an_open_name_proves_nothing_absent() -> None:
    for word in ("sign", "tree", "light", "table", "board", "baby"):
        (mention,) = COCO.mentions(word)
        assert not mention.closed, word


def test_an_annotation_that_looks_for_little_proves_little() -> None:
    assert COCO.absent({"dog"}, {"cat", "dog", "orange"}) == ("cat",)


def test_own_categories_are_related_to_their_groups_and_to_coco() -> None:
    own_table = CategoryTable(
        categories={"forklift": ("fork lift",), "machine": ()},
        groups={"machine": CategoryGroup(members=("forklift",)), "vehicle": CategoryGroup(members=("forklift",))},
        alike=(("forklift", "truck"),),
    )
    categories = Categories(joined(coco_table(), own_table))
    assert "machine" not in categories.absent({"forklift"})
    assert "forklift" not in categories.absent({"machine"})
    assert "truck" not in categories.absent({"forklift"})
    assert "forklift" in categories.absent({"dog"})
    assert {"forklift", "truck"} <= categories.named("vehicles")
    assert categories.meant("puppy") == {"dog"}
    assert categories.meant("gadget that is new") == frozenset()
