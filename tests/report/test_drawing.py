"""Drawings: the same parts as SVG, as markup and as a picture; closed to markup in words; bounded."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from PIL import Image, ImageFont

from auscult.errors import TooLarge
from auscult.report.drawing import (
    DARK,
    LIGHT,
    SCALE_STEPS,
    SERIES,
    Circle,
    Drawing,
    DrawnShape,
    Line,
    Polygon,
    Polyline,
    Rect,
    Text,
    contrast,
    fitted,
    on_scale,
    plain,
    rgb,
    scale,
    text_width,
    to_markup,
    to_picture,
    to_png,
    to_svg,
)

PARTS: tuple[DrawnShape, ...] = (
    Line(start=(5, 5), end=(60, 5), colour="s0", width=2, dash=(4, 3), title="a line"),
    Polyline(points=((5, 20), (30, 30), (60, 20)), colour="s1", width=2),
    Polygon(points=((70, 5), (90, 5), (80, 20)), fill="s2", opacity=0.5, title="a shape"),
    Rect(x=70, y=30, width_px=20, height_px=10, fill="s3", stroke="ink"),
    Circle(centre=(20, 50), radius=6, fill="ground", stroke="s4", width=2),
    Text(at=(40, 60), words="words", size=14, bold=True),
    Text(at=(110, 60), words="turned", size=12, rotation=-90, anchor="middle"),
)
DRAWING = Drawing(size=(130, 80), parts=PARTS, title="All kinds", words="one of each")
HOSTILE = "</text><script>alert(1)</script>\"' onload=x & \x00\x1b\u202e\ud800\ufffe"
NAMES = ["line", "polyline", "polygon", "rect", "circle", "text", "text"]


def xml_of(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - our own text


def elements(text: str) -> list[ET.Element]:
    """What is drawn: the children of the group."""
    root = xml_of(text)
    group = root.find("g")
    group_found = root.find("{http://www.w3.org/2000/svg}g") if group is None else group
    assert group_found is not None
    return list(group_found)


def test_each_part_is_one_element_of_either_svg() -> None:
    for text in (to_svg(DRAWING), str(to_markup(DRAWING))):
        assert [element.tag.rpartition("}")[2] for element in elements(text)] == NAMES


@pytest.mark.parametrize("number", range(len(PARTS)))
def test_each_part_is_seen_in_the_picture_where_the_svg_has_it(number: int) -> None:
    rest_drawing = replace(DRAWING, parts=PARTS[:number] + PARTS[number + 1 :])
    change = (to_picture(DRAWING) != to_picture(rest_drawing)).any(axis=2)
    assert change.any()
    rows, columns = np.nonzero(change)
    (left_px, top), (right, bottom) = {
        0: ((4, 3), (61, 7)),
        1: ((4, 18), (61, 32)),
        2: ((69, 4), (91, 21)),
        3: ((69, 29), (91, 41)),
        4: ((12, 42), (28, 58)),
        5: ((38, 46), (90, 66)),
        6: ((98, 38), (114, 82)),
    }[number]
    assert left_px <= columns.min()
    assert columns.max() <= right
    assert top <= rows.min()
    assert rows.max() <= bottom


@pytest.mark.parametrize("factor", [1, 2, 3, 4])
def test_a_png_has_the_size_asked_for_and_the_same_picture_at_any_scale(factor: int) -> None:
    with Image.open(io.BytesIO(to_png(DRAWING, scale=factor))) as picture:
        assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (130 * factor, 80 * factor))
        shades = np.asarray(picture, dtype=float)
    assert shades.std() > 10
    small = shades.reshape(80, factor, 130, factor, 3).mean(axis=(1, 3))
    assert np.abs(small - to_picture(DRAWING)).mean() < 3


def test_dashes_leave_gaps_and_go_round_corners() -> None:
    bent = Polyline(points=((5.0, 10.0), (25.0, 10.0), (25.0, 30.0)), colour="ink", width=2, dash=(10, 10))
    picture = to_picture(Drawing(size=(40, 40), parts=(bent,), title="t"))
    dark = picture[..., 0] < 128
    assert dark[10, 10]
    assert not dark[10, 20]
    assert dark[15, 25]
    assert not dark[26, 25]


def test_a_shape_that_is_half_seen_is_half_mixed_with_what_is_below() -> None:
    square = ((10.0, 10.0), (30.0, 10.0), (30.0, 30.0), (10.0, 30.0))
    below = Rect(x=0, y=0, width_px=20, height_px=40, fill="ink")
    picture = to_picture(
        Drawing(size=(40, 40), parts=(below, Polygon(points=square, fill="s1", opacity=0.5)), title="t")
    )
    dark, bright, red = (np.array(rgb(LIGHT[name]), float) for name in ("ink", "ground", "s1"))
    assert np.abs(picture[20, 15] - (dark + red) / 2).max() <= 2
    assert np.abs(picture[20, 25] - (bright + red) / 2).max() <= 2


def test_bold_is_stronger() -> None:
    thin, strong = (
        to_picture(Drawing(size=(80, 24), parts=(Text(at=(4, 18), words="strong", size=16, bold=bold),), title="t"))
        for bold in (False, True)
    )
    assert strong.mean() < thin.mean() - 1


def test_colours_of_a_page_follow_it_and_a_file_has_its_own() -> None:
    alone, inside = to_svg(DRAWING), str(to_markup(DRAWING))
    assert "<style" not in alone
    assert LIGHT["s0"] in alone
    assert DARK["s0"] not in alone
    dark = inside[inside.index("prefers-color-scheme:dark") :]
    assert f"--k-s0:{DARK['s0']}" in dark
    names_used = set(re.findall(r"var\(--(k-[\w-]+)\)", inside))
    assert names_used == {f"k-{name}" for name in ("s0", "s1", "s2", "s3", "s4", "ground", "ink")}


def test_a_drawing_says_what_it_is() -> None:
    for text in (to_svg(DRAWING), to_markup(DRAWING)):
        root = xml_of(text)
        assert root.get("role") == "img"
        assert root.get("aria-label") == "All kinds. one of each"
    assert isinstance(to_markup(DRAWING), Markup)


def test_words_of_strangers_stay_words() -> None:
    parts = (Text(at=(5, 20), words=HOSTILE, title=HOSTILE), Rect(x=1, y=1, width_px=2, height_px=2, title=HOSTILE))
    drawing = Drawing(size=(50, 40), parts=parts, title=HOSTILE, words=HOSTILE)
    for text in (to_svg(drawing), str(to_markup(drawing))):
        assert "<script" not in text
        root = xml_of(text)
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
            "svg", "title", "desc", "style", "g", "text", "rect",
        }  # fmt: skip
        assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
        assert "<script>alert(1)</script>" in "".join(root.itertext())
    assert to_png(drawing)[1:4] == b"PNG"


def test_letters_do_not_stack_and_do_not_turn() -> None:
    assert plain("e" + "\u0301" * 50 + "x") == "e\u0301x"
    assert plain("a\u202eb\u200fc\x00d\ne") == "abc d e"
    assert plain("x" * 900, limit=10) == "x" * 9 + "…"


@given(st.text(max_size=60))
def test_any_words_make_xml_and_a_measure(words: str) -> None:
    plain_text = plain(words)
    assert plain_text == " ".join(plain_text.split())
    drawing = Drawing(size=(20, 20), parts=(Text(at=(1, 10), words=words, title=words),), title=words)
    assert "".join(elements(to_svg(drawing))[0].itertext()).endswith(plain_text)
    assert text_width(words, 12) <= 1.2 * 12 * len(words)


@given(
    st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=80), st.floats(20, 300), st.booleans()
)
def test_a_fitted_text_fits_the_font_of_the_pictures(words: str, room: float, ends: bool) -> None:
    short, full_text = fitted(words, 12, room, ends=ends), plain(words)
    assert text_width(short, 12) <= room + 12  # one character and the ellipsis are always kept
    if short != full_text:
        head, _, tail = short.partition("…")
        assert full_text.startswith(head)
        assert full_text.endswith(tail)
        assert len(head + tail) < len(full_text)
        assert ends or not tail


def test_names_that_end_differently_stay_apart() -> None:
    first, other = (
        fitted(f"organisation/model-of-this-family-{size}", 12, 150, ends=True) for size in ("tiny", "base")
    )
    assert (first[-4:], other[-4:]) == ("tiny", "base")


def test_the_measure_is_never_less_than_the_font_of_the_pictures() -> None:
    font = ImageFont.load_default(100)
    for number in range(32, 127):
        assert text_width("x" + chr(number) + "x", 100) >= font.getlength("x" + chr(number).strip() + "x")


def test_accents_are_drawn_as_their_letters() -> None:
    def picture_of(words: str) -> np.ndarray:
        return to_picture(Drawing(size=(80, 20), parts=(Text(at=(2, 14), words=words),), title="t"))

    assert np.array_equal(picture_of("Zürich – é"), picture_of("Zurich - e"))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (lambda: Line(start=(0, float("nan")), end=(1, 1), colour="ink"), "a Line with a number that is not finite"),
        (lambda: Circle(centre=(0, 0), radius=float("inf"), fill="ink"), "a Circle with a number that is not finite"),
        (lambda: Line(start=(0, 0), end=(1, 1), colour="url(#x)"), "is not a colour"),
        (lambda: Line(start=(0, 0), end=(1, 1), colour="ink", dash=(0.0, 0.0)), "lengths are above 0"),
        (lambda: Rect(x=0, y=0, width_px=-1, height_px=1), "sides are 0 or more"),
    ],
    ids=["nan", "infinite", "colour", "dash", "negative"],
)
def test_parts_that_cannot_be_drawn_are_refused(part: Callable[[], DrawnShape], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Drawing(size=(9, 9), parts=(part(),), title="t")


def test_sizes_are_bounded() -> None:
    for size in ((0, 5), (100_000, 5), (9000, 9000)):
        with pytest.raises(TooLarge):
            Drawing(size=size, parts=(), title="t")
    with pytest.raises(TooLarge):
        Drawing(size=(9, 9), parts=(PARTS[0],) * 40_001, title="t")
    with pytest.raises(TooLarge):
        to_png(Drawing(size=(4000, 4000), parts=(), title="t"), scale=4)
    with pytest.raises(ValueError, match="scale 9"):
        to_png(DRAWING, scale=9)


def test_text_on_the_scale_can_be_read_on_either_page() -> None:
    for palette in (LIGHT, DARK):
        for step in range(-SCALE_STEPS, SCALE_STEPS + 1):
            assert contrast(palette[f"scale{step}"], palette[f"on-scale{step}"]) >= 4
    assert (scale(-1), scale(0), scale(7), on_scale(0.52)) == ("scale-10", "scale0", "scale10", "on-scale5")


def test_the_scale_is_even_in_lightness_and_series_differ_from_the_ground() -> None:
    for palette in (LIGHT, DARK):
        for side in (1, -1):
            contrasts = [contrast(palette[f"scale{side * step}"], palette["scale0"]) for step in range(SCALE_STEPS + 1)]
            assert all(contrast_ < other for contrast_, other in pairwise(contrasts))
        for number in range(SERIES):
            assert contrast(palette[f"s{number}"], palette["ground"]) >= 3
