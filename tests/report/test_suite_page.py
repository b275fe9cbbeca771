"""The page of a suite: laid down in its record, read back from there, whoever wrote the record."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import InputError, Locked, OutputError, RecordError
from auscult.jobs.finish import is_suite, report_folder, report_suite
from auscult.media.frames import encode_jpeg
from auscult.record.folder import open_run, read_manifest
from auscult.record.manifest import build
from auscult.record.reader import read_summary
from auscult.report import suite
from auscult.report.drawing import Circle, Drawing, Line, Polygon, Polyline, Rect, Text
from auscult.report.page import Example, Figure, Page, Section
from auscult.report.suite import drawing_json, read_drawing, read_page, write_charts, write_page, write_tables
from auscult.report.tables import Table
from small_inputs import auscult, tree

JPEG = encode_jpeg(np.full((8, 12, 3), 90, np.uint8))
EVIL = '<script>alert(1)</script>"\x1b[2J'
DRAWING = Drawing(
    size=(200, 100),
    parts=(
        Line(start=(0, 0), end=(10.25, 20), colour="ink", dash=(2, 3)),
        Polyline(points=((0, 0), (1, 1.5)), colour="s0", title="a path"),
        Polygon(points=((0, 0), (1, 0), (0, 1)), fill="s1", opacity=0.5),
        Rect(x=1, y=2, width_px=3, height_px=4, stroke="line", width=2.5),
        Circle(centre=(5, 5), radius=2, fill="scale-3", title=EVIL),
        Text(at=(3, 4), words=EVIL, anchor="middle", rotation=-90, bold=True),
    ),
    title="A chart",
    words=EVIL,
)
TABLES = {
    "general": Table(title="General", header=("model", "score"), rows=((EVIL, "0.5"),), note="a note"),
    "answers": Table(
        title="Answers",
        header=("model", "asked", "score", "other", "third"),
        rows=(("m", "3", "25.4 [13.7, 41.5] (2 failed)", "+0.4 [0.1, 0.7] *", "a [b] c"),),
    ),
}
PAGE = Page(
    title=f"Two models {EVIL}",
    command="run r2",
    facts=(("Data", "scenes"),),
    notes=("A sentence that a reader must know.",),
    links=(("one judge", "judges/one/report.html"), ("evil", "javascript:alert(1)//?#")),
    sections=(
        Section(
            name="general",
            title="How much is lost",
            lead="In short.",
            figures=(Figure(name="curve", caption=f"A curve {EVIL}", drawing=DRAWING),),
            tables=(TABLES["general"],),
            examples=(
                Example(
                    title="fog", jpeg=JPEG, text=EVIL, id="v1", facts=(("clean", "1.0"),), broad=True,
                    file="pictures/fog.jpg",
                ),
            ),
        ),
        Section(name="answers", title="What was asked", tables=(TABLES["answers"],)),
    ),
    shown=(TABLES["general"],),
)  # fmt: skip


def record_of(folder: Path, page: Page = PAGE, *, command: str = "run r2") -> Path:
    """A record with a page and everything on it; it never came to its end."""
    with open_run(folder, build(command, given={}, defaulted={}, seeds={"seed": 0}, inputs={})) as run:
        write_tables(run, TABLES)
        write_charts(run, [("curve", DRAWING)])
        run.write_json("summary.json", {"command": command, "n": 3})
        write_page(run, page, TABLES)
    return folder


@pytest.fixture(scope="module")
def shared_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_of(tmp_path_factory.mktemp("page") / "out")


@pytest.fixture
def out(shared_record: Path, tmp_path: Path) -> Path:
    """A record of one's own."""
    return shutil.copytree(shared_record, tmp_path / "out")


def change_page(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change ``page.json`` by hand."""
    path = folder / "page.json"
    page_json = json.loads(path.read_text())
    change(page_json)
    path.write_text(json.dumps(page_json))


def test_a_page_read_back_is_the_page_that_was_written(shared_record: Path) -> None:
    page = read_page(shared_record)
    clean = EVIL.replace("\x1b", " ")
    assert page.title == f"Two models {clean}"
    assert page.facts == PAGE.facts
    assert page.notes == PAGE.notes
    assert page.links == PAGE.links
    assert page.lost == ()
    assert [section_.figures for section_ in page.sections] == [
        (Figure(name="curve", caption=f"A curve {clean}", drawing=DRAWING),), (),
    ]  # fmt: skip
    assert page.sections[0].examples == (replace(PAGE.sections[0].examples[0], text=clean),)
    assert page.shown == page.sections[0].tables == (replace(TABLES["general"], rows=((clean, "0.5"),)),)


def test_the_report_is_the_same_whenever_it_is_laid_out(out: Path) -> None:
    before = tree(out)
    (out / "report.html").unlink()
    assert is_suite(out)
    report_suite(out)
    assert tree(out) == before
    assert "finished" not in read_manifest(out), "a report does not say that a run came to its end"


def test_strangers_words_bring_no_markup_along(shared_record: Path) -> None:
    html = (shared_record / "report.html").read_text()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 6
    assert re.findall(r'href="([^"#]+)"', html) == ["judges/one/report.html", "javascript%3Aalert%281%29//%3F%23"]


def test_intervals_stand_under_their_number_whatever_follows_them(shared_record: Path) -> None:
    html = (shared_record / "report.html").read_text()
    assert "<td>25.4 <small>[13.7, 41.5] (2 failed)</small></td>" in html
    assert "<td>+0.4 <small>[0.1, 0.7] *</small></td><td>a [b] c</td>" in html


def test_the_command_prints_tables_and_summary(out: Path) -> None:
    result = auscult("report", out)
    assert (result.code, "General" in result.out, "Answers" in result.out) == (0, True, False)
    assert "\x1b" not in result.out
    assert f"report: {out / 'report.html'}" in result.err
    assert json.loads(auscult("report", out, "--json").out) == {"command": "run r2", "n": 3}
    (out / "pictures/fog.jpg").unlink()
    (out / "summary.json").write_text("[1")
    assert "Not shown: pictures/fog.jpg" in auscult("report", out).err
    damaged = auscult("report", out, "--json")
    assert damaged.code == 2
    assert "summary.json" in damaged.err
    assert "asks nothing again" in damaged.err


@pytest.mark.parametrize("name", ["tables/general.json", "figures/curve.json", "pictures/fog.jpg"])
@pytest.mark.parametrize("harm", ["missing", "garbage", "folder", "large"])
def test_a_part_that_is_lost_is_told_and_costs_itself(
    name: str, harm: str, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (out / name).unlink()
    if harm == "garbage":
        (out / name).write_bytes(b"\x00{")
    elif harm == "folder":
        (out / name).mkdir()
    elif harm == "large":
        monkeypatch.setattr(suite, "MAX_FILE_BYTES", 5000)
        (out / name).write_bytes(b" " * 5001)
    page = report_suite(out)
    assert len(page.lost) == 1
    assert page.lost[0].startswith(f"Not shown: {name}: ")
    html = (out / "report.html").read_text()
    assert f"Not shown: {name}" in html
    assert "What was asked" in html
    is_kept = [name != "figures/curve.json", name != "tables/general.json", name != "pictures/fog.jpg"]
    section = page.sections[0]
    assert [bool(part) for part in (section.figures, section.tables, section.examples)] == is_kept


@pytest.mark.parametrize(
    "path", ["../secret.json", "/secret.json", "tables/../../secret.json", "link.json", "", "a\0b"]
)
def test_nothing_outside_the_record_is_opened(path: str, out: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps(asdict(Table(title="SECRET", header=("a",), rows=()))))
    (out / "link.json").symlink_to(tmp_path / "secret.json")
    change_page(out, lambda page_json: page_json["sections"][0]["tables"].append(path))
    page = report_suite(out)
    assert len(page.lost) == 1
    assert "SECRET" not in (out / "report.html").read_text()


@pytest.mark.parametrize("target", ["//elsewhere.example/x", "/etc/passwd", "../x.html", "C:\\\\x"])
def test_no_link_leads_out_of_the_record(target: str, out: Path) -> None:
    change_page(out, lambda page_json: page_json["links"].append(["words", target]))
    page = report_suite(out)
    assert page.links == PAGE.links
    assert len(page.lost) == 1


def test_a_page_that_is_a_link_to_elsewhere_is_refused(out: Path, tmp_path: Path) -> None:
    (out / "page.json").rename(tmp_path / "page.json")
    (out / "page.json").symlink_to(tmp_path / "page.json")
    with pytest.raises(RecordError, match="symbolic link"):
        report_suite(out)


def test_what_a_page_shows_is_bounded_as_a_whole(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_page(out, lambda page_json: page_json["sections"].extend(page_json["sections"][:1] * 200))
    monkeypatch.setattr(suite, "MAX_BYTES", 100 * len(JPEG))
    page = read_page(out)
    assert 0 < sum(len(section.examples) for section in page.sections) < 100
    change_page(out, lambda page_json: page_json["sections"].extend([{}] * 10_000))
    with pytest.raises(RecordError, match="entries"):
        read_page(out)


def _set(*keys: str | int, value: object) -> Callable[[dict[str, Any]], None]:
    def change(page_json: Any) -> None:
        for key in keys[:-1]:
            page_json = page_json[key]
        page_json[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set("title", value=3),
        _set("facts", value=[["one"]]),
        _set("facts", value="text"),
        _set("notes", value=[None]),
        _set("links", value=[["words", 3]]),
        _set("sections", value={"a": 1}),
        _set("sections", value=["text"]),
        _set("sections", 0, "figures", value=["figures/curve.json"]),
        _set("sections", 0, "tables", value=[3]),
        _set("sections", 0, "examples", 0, "broad", value="yes"),
        _set("shown", value=None),
        lambda page_json: page_json.pop("shown"),
        lambda page_json: page_json["sections"][0].pop("lead"),
        lambda page_json: page_json.clear(),
    ],
)
def test_a_damaged_page_is_refused_and_named(change: Callable[[dict[str, Any]], Any], out: Path) -> None:
    change_page(out, change)
    (out / "report.html").write_text("as it was")
    with pytest.raises(RecordError) as error:
        report_suite(out)
    assert str(error.value.path).endswith("page.json")
    assert "auscult run" in error.value.hint
    assert (out / "report.html").read_text() == "as it was"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"title": NaN}', b"[" * 100_000])
def test_a_page_that_is_no_json_object_is_refused_and_named(content: bytes, out: Path) -> None:
    (out / "page.json").write_bytes(content)
    with pytest.raises(RecordError) as error:
        report_suite(out)
    assert str(error.value.path).endswith("page.json")


def test_a_record_without_a_page_says_what_to_do(out: Path) -> None:
    (out / "page.json").unlink()
    result = auscult("report", out)
    assert result.code == 2
    assert "page.json" in result.err
    assert "asks nothing again" in result.err


def test_records_of_other_commands_stay_refused(tmp_path: Path) -> None:
    with open_run(tmp_path / "out", build("act filter", given={}, defaulted={}, seeds={}, inputs={})) as run:
        run.finish()
    assert not is_suite(tmp_path / "out")
    with pytest.raises(RecordError, match="act filter"):
        report_folder(tmp_path / "out")
    with pytest.raises(RecordError, match="summary"):
        read_summary(tmp_path / "out")


def test_a_record_at_work_is_left_alone(out: Path) -> None:
    with open_run(out, read_manifest(out)), pytest.raises(Locked):
        report_suite(out)
    report_suite(out)


def test_a_page_shows_only_what_is_in_the_record(tmp_path: Path) -> None:
    bare = replace(PAGE.sections[0].examples[0], file="")
    for section in (replace(PAGE.sections[0], examples=(bare,)), Section(name="x", title="X", tables=(Table(
        title="elsewhere", header=("a",), rows=()),))):  # fmt: skip
        with pytest.raises(OutputError, match="not in the record"):
            record_of(tmp_path / section.name, replace(PAGE, sections=(section,)))


def test_a_chart_read_back_is_the_chart_that_was_written() -> None:
    assert read_drawing("c", json.loads(json.dumps(drawing_json(DRAWING)))) == DRAWING


def _part(**fields: object) -> dict[str, Any]:
    return {"size": [10, 10], "title": "t", "words": "", "parts": [fields]}


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {"size": [10, 10], "title": "t", "parts": []},
        {"size": [10, 1e9], "title": "t", "words": "", "parts": []},
        {"size": [10, 10**9], "title": "t", "words": "", "parts": []},
        {"size": [10], "title": "t", "words": "", "parts": []},
        {"size": ["10", '10" onload="x'], "title": "t", "words": "", "parts": []},
        {"size": [10, 10], "title": "t", "words": "", "parts": [7]},
        {"size": [10, 10], "title": "t", "words": "", "parts": {}},
        _part(part="script"),
        _part(start=[0, 0]),
        _part(part="line", start=[0, 0], end=[1, 1]),
        _part(part="line", start=[0, 0], end=[1, 1], colour="red;}</style>"),
        _part(part="line", start=[0, 0], end=[1, 1], colour="ink", onclick="x"),
        _part(part="line", start=[0, 0], end=[1, 1], colour="ink", width=True),
        _part(part="line", start=[0, 0], end=[1, 1], colour="ink", width="1"),
        _part(part="line", start=[0, 0], end=[1, 1], colour="ink", dash=[0]),
        _part(part="line", start=[0, 0], end=[1, 1, 1], colour="ink"),
        _part(part="line", start=[0, 0], end=[1, 10**400], colour="ink"),
        _part(part="line", start=[0, 0], end=[1, float("inf")], colour="ink"),
        _part(part="text", at=[0, 0], words="w", anchor='end" onload="x'),
        _part(part="text", at=[0, 0], words=["w"]),
        _part(part="text", at=[0, 0], words="w", bold=1),
        _part(part=["line"]),
        {"size": [10, 10], "title": "t", "words": "", "parts": [{"part": "text", "at": [0, 0], "words": ""}] * 40_001},
    ],
)  # fmt: skip
def test_what_is_no_chart_is_refused(content: object) -> None:
    with pytest.raises(InputError) as error:
        read_drawing("figures/c.json", content)
    assert error.value.path is not None
    assert error.value.hint
