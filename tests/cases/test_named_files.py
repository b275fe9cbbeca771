"""Names for the files of a folder, and files that repeat."""

from __future__ import annotations

import string
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.cases.named_files import Contents, NamedFile, noun, table
from auscult.cases.walk import walk
from auscult.errors import InputError

HERE = Path("a.png")


def named_file(text: str) -> str | None:
    try:
        return noun(text, "the name", path=HERE)
    except InputError:
        return None


@given(st.text(max_size=70))
def test_a_name_is_clean_and_stays_what_it_is(text: str) -> None:
    name = named_file(text)
    if name is not None:
        assert name == " ".join(name.split())
        assert name.isprintable()
        assert named_file(name) == name
        assert named_file(f"  {name.replace(' ', '_')} ") == name


@given(st.text(string.ascii_letters, min_size=4, max_size=20))
def test_case_tells_nothing_apart(text: str) -> None:
    assert named_file(text.upper()) == named_file(text.lower()) == named_file(text.title())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Fire__Engine ", "fire engine"),
        ("scissors", "scissors"),
        ("one-armed bandit", "one-armed bandit"),
        ("object lens", "object lens"),
        ("theatre", "theatre"),
        ("phone", "phone"),
        ("a", None),
        ("The", None),
        ("an owl", None),
        ("things", None),
        ("red one", None),
        ("", None),
        ("_", None),
        ("a\x07b", None),
        ("m" * 61, None),
        ("ß" * 31, None),  # 62 letters in lower case
    ],
)
def test_what_is_a_name(text: str, name: str | None) -> None:
    assert named_file(text) == name
    if name is None:
        with pytest.raises(InputError, match="the name") as error:
            noun(text, "the name", path=HERE, line=7)
        assert (error.value.path, error.value.line, bool(error.value.expected)) == (str(HERE), 7, True)


def test_the_same_bytes_of_another_shape_or_rate_are_no_repeat() -> None:
    contents = Contents()
    content = np.arange(12, dtype=np.uint8)
    for number, array in enumerate((content.reshape(3, 4), content.reshape(4, 3), content.view(np.int8))):
        contents.add(array, NamedFile(str(number), HERE, "cup"))
    contents.add(content, NamedFile("slow", HERE, "cup"), rate_hz=8_000)
    contents.add(content, NamedFile("fast", HERE, "cup"), rate_hz=16_000)
    with pytest.raises(InputError, match=r"'again' has the same content as '1'"):
        contents.add(np.asfortranarray(content.reshape(4, 3)), NamedFile("again", HERE, "cup"))


@given(st.binary(max_size=200))
def test_no_table_stops_a_run(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("table")
    (folder / "names.csv").write_bytes(b"file,name\n" + data)
    rows, errors = table(walk(folder, root=folder), "names.csv", columns=("file", "name"))
    assert all(len(row.cells) == 2 and row.cells[0] and row.line >= 2 for row in rows)
    assert all(error.path == str(folder / "names.csv") and error.expected for error in errors)
