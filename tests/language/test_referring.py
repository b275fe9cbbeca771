"""The parser of referring expressions: made-up sentences, hostile ones, and 300 real ones labelled by hand."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import referring_numbers as numbers
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.language.referring import Parse, Span, parse
from auscult.language.tokens import MOST_CHARACTERS, words

COCO = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign,
parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella, handbag,
tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard,
tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, broccoli, carrot,
hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, laptop, mouse, remote,
keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors, teddy bear,
hair drier, toothbrush
"""


def text_of(parsed: Parse, span: Span | None) -> str:
    return "" if span is None else parsed.sentence[span.start : span.end]


def digest_of(sentence: str) -> str:
    """Determiner, head; attributes with kind; relating words > compound; all in one line."""
    parsed = parse(sentence)
    attributes = [
        f"{'not ' * tag.negated}{text_of(parsed, tag.span)}:{tag.kind}{'!' * tag.absolute}{'' if tag.before else '<'}"
        for tag in parsed.attributes
    ]
    relation = parsed.relation
    last = (
        f"{'not ' * relation.negated}{text_of(parsed, relation.words)} > {text_of(parsed, relation.head)}"
        if relation
        else ""
    )
    head = f"{text_of(parsed, parsed.determiner)} {text_of(parsed, parsed.head)}{'+' * parsed.plural}".strip()
    return " | ".join([head, " ".join(attributes), last])


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The left man.", "The man | left:position! | "),
        ("two small brown dogs", "two dogs+ | small:size brown:colour | "),
        ("an old wooden table", "an table | old:other wooden:material | "),
        ("the man in red on the far left", "the man | red:colour< left:position!< | "),
        ("a bag at the top right of the picture", "a bag | right:position!< | "),
        ("the dog sitting on the right side", "the dog | sitting:action< right:position!< | "),
        ("the sitting woman near the camera", "the woman | sitting:action near:position< | "),
        ("the car located on the left of the bus", "the car |  | located on the left of > bus"),
        ("the man standing left to the cat", "the man |  | standing left to > cat"),
        ("the cup next to the tennis racket", "the cup |  | next to > tennis racket"),
        ("the hot dogs behind a traffic light", "the hot dogs+ |  | behind > traffic light"),
        ("the cat that is bigger than the dog", "the cat |  | bigger than > dog"),
        ("a boy who is not holding a racket", "a boy |  | not holding > racket"),
        ("the mug that isn’t blue", "the mug | not blue:colour< | "),
        ("the case without a tag", "the case |  | not without > tag"),
        ("a bowl whose rim is red", "a bowl |  | "),
        ("the drum making a sound before the bell", "the drum | making:action< | before > bell"),
        ("a pair of orange skis", "skis+ | orange:colour | "),
        ("the woman holding a cup and smiling", "the woman | smiling:action< | holding > cup"),
        ("the boy near a man playing", "the boy |  | near > man"),
        ("the man's dog", "dog |  | "),
        ("the man next to the trash can", "the man |  | next to > trash can"),
        ("a can of soda", "a can |  | of > soda"),
        ("the dog that can jump", "the dog | jump:action< | "),
        ("the house others can see", "the house |  | "),
    ],
)
def test_reads_expressions(sentence: str, expected: str) -> None:
    assert digest_of(sentence) == expected


def test_phrases_of_attributes_can_be_left_out() -> None:
    parsed = parse("the dog that is sitting on the left side")
    assert [text_of(parsed, attribute.phrase) for attribute in parsed.attributes] == [
        "that is sitting on the left side"
    ] * 2
    (only,) = parse("the small dog").attributes
    assert only.phrase == only.span == (4, 9)


def test_the_categories_of_coco_are_whole_heads_and_related_objects() -> None:
    names = " ".join(COCO.split()).split(", ")
    assert len(names) == 80
    for name in names:
        parsed = parse(f"a small {name} on the left")
        assert text_of(parsed, parsed.head) == name
        parsed = parse(f"the man next to the {name}")
        assert parsed.relation is not None
        assert text_of(parsed, parsed.relation.head) == name


@pytest.mark.parametrize(
    ("sentence", "denied"),
    [
        ("the man not holding a cup", ["not"]),
        ("a bowl that is neither red nor white", ["neither", "nor"]),
        ("the case without a tag", ["without"]),
        ("the person with no hat", ["no"]),
        ("everyone except the man", ["except"]),
        ("the one that isn't blue, doesn’t move", ["isn't", "doesn’t"]),
        ("a person other than the man", ["other than"]),
        ("the knot on the nose", []),
    ],
)
def test_finds_what_denies(sentence: str, denied: list[str]) -> None:
    parsed = parse(sentence)
    assert [text_of(parsed, span) for span in parsed.negation] == denied


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("", "no word"),
        (" ?! ", "no word"),
        ("собака слева", "Latin letters"),
        ("左边的狗", "Latin letters"),
        ("der Hund auf dem Sofa", "another language"),
        ("le chien rouge à gauche", "another language"),
        ("zxq wvut krl", "another language"),
        ("not red", "no noun"),
        ("on", "no noun"),
        ("it", "no noun"),
        ("closest to the camera", "no noun"),
        ("the dog " * 5_000, "10,000 words"),
    ],
)
def test_says_why_there_is_no_head(sentence: str, problem: str) -> None:
    parsed = parse(sentence)
    assert parsed.head is parsed.noun is parsed.relation is None
    assert problem in (parsed.problem or "")


def test_a_text_of_any_length_is_read_or_refused_at_once() -> None:
    start_s = time.process_time()
    for word in ("dog ", "of ", "red ", "and ", "x", "\u0301"):
        parse(word * (MOST_CHARACTERS // len(word)))
        parse("man " + word * 390)
    assert time.process_time() - start_s < 20
    with pytest.raises(InputError, match=r"200,001 characters"):
        parse("a" * (MOST_CHARACTERS + 1))


WORDS = (
    "the a two dog man left red on of to next in not that is whose who holding and , ' sound camera its one s side 3 ñ"
)


@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=30).map(" ".join) | st.text(max_size=60))
def test_never_raises_and_points_into_the_sentence(sentence: str) -> None:
    parsed = parse(sentence)
    assert (parsed.head is None) == (parsed.problem is not None)
    spans = [parsed.head, parsed.noun, parsed.determiner, *parsed.negation]
    for attribute in parsed.attributes:
        assert attribute.phrase.start <= attribute.span.start
        assert attribute.span.end <= attribute.phrase.end
        spans += [attribute.span, attribute.phrase]
    if parsed.relation:
        assert parsed.relation.words.end <= parsed.relation.related.start
        assert parsed.relation.related.end == parsed.relation.noun.end == parsed.relation.head.end
        spans += [parsed.relation.words, parsed.relation.related, parsed.relation.head]
    assert all(0 <= span.start < span.end <= len(sentence) for span in spans if span)


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_are_those_of_any_text(sentence: str) -> None:
    assert words(sentence) == words(sentence + " é")[:-1]


def test_the_labels_are_those_that_the_seed_draws(data: Path) -> None:
    labels = numbers.labelled(data)
    for source, rows in numbers.material(data).items():
        assert [label.row for label in labels if label.source == source] == numbers.drawn(rows, source)
    assert len(labels) == 450


def test_finds_the_head_of_real_expressions_that_it_was_not_tuned_on(data: Path) -> None:
    held_out = [expression for expression in numbers.labelled(data) if expression.half == "held-out"]
    measured = numbers.measure(held_out)
    right = measured.right()
    assert len(right) >= 130
    assert sum(right) >= 0.95 * len(right)
    for rule in (numbers.first_noun, numbers.last_noun_before_preposition):
        better = measured.interval(
            value - other_value for value, other_value in zip(right, measured.right(rule), strict=True)
        )
        assert better.low > 0
    assert measured.f1("attributes with kind")[2] > 0.85
    assert measured.f1("relation, all words")[2] > 0.9
    assert measured.f1("negation")[2] > 0.98


def test_finds_the_head_of_natural_expressions_that_another_annotator_labelled(data: Path) -> None:
    measured = numbers.measure(
        [expression for expression in numbers.labelled(data) if expression.half == numbers.SECOND]
    )
    right = measured.right()
    assert len(right) == 150
    assert sum(right) >= 0.95 * len(right)
    assert measured.f1("attributes with kind")[2] > 0.8
    assert measured.f1("relation, all words")[2] > 0.85


def test_the_page_is_as_measured(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["referring_numbers.py", "--data", str(data), "--check"])
    assert numbers.main() == 0, "the page is stale; its last section has the command"
