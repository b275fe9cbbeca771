from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import UsageError


@pytest.fixture
def clip(make: Any) -> Any:
    for stem in ("a", "b"):
        make.frame(f"frames/{stem}.jpg")
    make.palette("masks/a.png", 1, 2)
    make.mask("masks/b.png")
    return make


def text_listing(make: Any, content: bytes, *, text: str | None = None) -> Listing:
    table = make.root / "texts.csv"
    table.write_bytes(content)
    return list_items(make.root, ListOptions(texts=table, text=text))


def text_by_id(listing: Listing) -> dict[str, str | None]:
    return {item.id: item.query.text for item in listing.items}


def test_one_text_for_all(clip: Any) -> None:
    assert set(text_by_id(list_items(clip.root, ListOptions(text="the dog"))).values()) == {"the dog"}


def test_by_id_with_byte_order_mark_quotes_and_further_columns(clip: Any) -> None:
    listing = text_listing(
        clip, b'\xef\xbb\xbfID,who,Text\r\na#1,x,"the dog, left"\r\nb,y,"two\nlines"\r\n', text="rest"
    )
    assert text_by_id(listing) == {"a#1": "the dog, left", "a#2": "rest", "b": "two\nlines"}
    assert not listing.errors


@pytest.mark.parametrize("name", ["a", "a.jpg", "input/a", "input/a.jpg"])
def test_by_frame_for_all_its_items(clip: Any, name: str) -> None:
    listing = text_listing(clip, f"frame,text\n{name},dogs\n".encode())
    assert text_by_id(listing) == {"a#1": "dogs", "a#2": "dogs", "b": None}


def test_a_text_of_the_input_wins_over_the_general_one_and_loses_to_the_table(make: Any, item: Any) -> None:
    source = make.lines(item(id="own", text="mine"), item(id="none"), item(id="told", text="mine"))
    table = make.root / "t.csv"
    table.write_text("id,text\ntold,table\n")
    listing = list_items(source, ListOptions(text="all", texts=table))
    assert text_by_id(listing) == {"own": "mine", "none": "all", "told": "table"}


def test_rows_that_fit_nothing_are_errors_with_their_line(clip: Any) -> None:
    listing = text_listing(clip, b'id,text\nb,"x\ny"\nghost,x\nb,again\na#1\n')
    assert text_by_id(listing)["b"] == "x\ny"
    assert [record.line for _, record in listing.errors] == [6, 4, 5]
    assert [record.error.split(" ")[0] for _, record in listing.errors] == ["the", "id", "id"]


@pytest.mark.parametrize(
    "content",
    [b"", b"a,b\n1,2\n", b"text\nx\n", b'id,text\na,"x\n', b"id,text\n\xff,x\n", b"id,text\na," + b"x" * 200_000],
)
def test_a_table_that_is_none_is_wrong_usage(clip: Any, content: bytes) -> None:
    with pytest.raises(UsageError, match="--texts"):
        text_listing(clip, content)


def test_a_missing_table_is_wrong_usage(clip: Any) -> None:
    with pytest.raises(UsageError, match="--texts"):
        list_items(clip.root, ListOptions(texts=Path("nowhere.csv")))


def test_a_row_that_names_a_frame_as_an_id_is_told_the_ids_near_it(clip: Any) -> None:
    hints = [record.hint for _, record in text_listing(clip, b"id,text\na,x\nb#1,x\nzzzz,x\n").errors]
    assert hints[0] == "the ids of this frame are 'a#1', 'a#2'; or name the column frame, which stands for all of them"
    assert hints[1] == "is it 'a#1'? correct or drop the row"
    assert hints[2] == "correct or drop the row"


def test_rows_are_remarks(clip: Any) -> None:
    listing = text_listing(clip, b"id,text\nghost,x\na#1\n")
    assert {record.stage for _, record in listing.errors} == {"texts"}


@pytest.mark.parametrize(("sign", "words"), [(b";", "semicolons"), (b"\t", "tabs")])
def test_another_separator_is_named(clip: Any, sign: bytes, words: str) -> None:
    with pytest.raises(UsageError, match="the first row is") as error:
        text_listing(clip, b"id,text\na,x\n".replace(b",", sign))
    assert f"commas instead of {words}" in error.value.hint
