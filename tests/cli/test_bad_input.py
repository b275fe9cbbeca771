"""Bad input through the real command: (input, exit code, error record, items still judged), and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_files import IN_FOLDER, IN_LINES, RLE, ROOT_USER, Bad, gigapixel_png

from small_inputs import (
    HEIGHT,
    LEFT,
    SIZE,
    WIDTH,
    CommandResult,
    auscult,
    folder_input,
    item,
    rows,
    save_frame,
    save_mask,
    tree,
    write_lines,
)

BARE = ("Traceback", "Errno", "PIL", "cv2", "<class", "object at 0x")


@dataclass(frozen=True, slots=True)
class AuditRun:
    """A finished audit of an INPUT full of bad items."""

    result: CommandResult
    out: Path
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def errors(self) -> list[dict[str, Any]]:
        return rows(self.out / "errors.jsonl")

    @property
    def judged(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for row in rows(self.out / "verdicts.jsonl")}


def _audit(place: Path, source: object, *options: object) -> AuditRun:
    """Audit, and insist on what holds for any input."""
    before = tree(place)
    out = place / "out"
    result = auscult("audit", source, "--out", out, "--workers", 1, "--quiet", *options)
    _is_in_plain_words(result.err)
    after = {name: data for name, data in tree(place).items() if not name.startswith("out/")}
    assert after == before, "something was written outside the output folder"
    for row in rows(out / "errors.jsonl"):
        assert row.keys() == {"id", "path", "line", "stage", "error", "expected", "hint"}
        _is_in_plain_words(json.dumps(row, ensure_ascii=False))
        for key in ("error", "expected", "hint"):
            assert row[key].strip(), f"no {key}: {row}"
    return AuditRun(result, out)


def _is_in_plain_words(text: str) -> None:
    for bare in BARE:
        assert bare not in text, text


def _has_record(audit: AuditRun, bad: Bad, *, line: int | None = None) -> None:
    """Exactly one record of this bad item: who, where, what."""
    path = bad.path.format(name=bad.name) if line is None else "items.jsonl"
    error_rows = [
        row
        for row in audit.errors
        if row["id"] == bad.expected_id()
        and bad.message in row["error"]
        and (path in (row["path"] or "") if line is None else True)
        and row["line"] == line
    ]
    assert len(error_rows) == 1, (bad.name, audit.errors)
    assert error_rows[0]["stage"] == "read"
    assert error_rows[0]["path"]


# --- one folder with frames/ and masks/ that holds every bad file there is ---


@pytest.fixture(scope="module")
def in_folder(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    place = tmp_path_factory.mktemp("folder")
    source = folder_input(place / "in", ("good", "a", "clip/b"))
    for name, mask in (("empty", LEFT & False), ("full", LEFT | True)):
        save_frame(source / "frames" / f"{name}.png")
        save_mask(source / "masks" / f"{name}.png", mask)
    for bad in IN_FOLDER:
        bad.make(source, bad.name)
    return _audit(place, source)


@pytest.mark.parametrize("bad", IN_FOLDER, ids=lambda bad: bad.name)
def test_a_bad_file_costs_its_item(in_folder: AuditRun, bad: Bad) -> None:
    _has_record(in_folder, bad)


def test_the_rest_of_the_folder_is_judged(in_folder: AuditRun) -> None:
    assert set(in_folder.judged) == {"good", "a", "clip/b", "empty", "full"}
    assert in_folder.judged["empty"]["defect"] == "empty"
    assert in_folder.judged["empty"]["iou"] is None
    assert in_folder.judged["empty"]["action"] == "reject"
    assert in_folder.judged["full"]["iou"] is None
    assert in_folder.judged["full"]["action"] == "unjudged"
    summary = json.loads((in_folder.out / "summary.json").read_text())
    assert in_folder.result.code == 1
    remarks = [row for row in in_folder.errors if row["stage"] == "frames"]
    assert [Path(row["path"]).name for row in remarks] == ["link_out_frame.jpg"]
    assert summary["n"] == summary["ok"] + summary["failed"] == 5 + len(in_folder.errors) - len(remarks)
    assert "note: 1 remark in" in in_folder.result.err
    assert "symbolic link" in in_folder.result.err
    assert f"{summary['failed']} failed" in in_folder.result.err
    assert "<html" in (in_folder.out / "report.html").read_text()


# --- one items.jsonl with every bad line there is ---


@pytest.fixture(scope="module")
def in_lines(tmp_path_factory: pytest.TempPathFactory) -> AuditRun:
    place = tmp_path_factory.mktemp("lines")
    source = folder_input(place / "in", ("a",))
    content: list[object] = [
        b"\xef\xbb\xbf" + json.dumps(item("good", note={"kept": [1, "é"]}, vendor="x")).encode(),
        b"",
        item("v1/f3/rle", mask=RLE, text="the red one"),
        item("polygon", mask=[[5, 5, 30, 5, 30, 30, 5, 30]]),
    ]
    numbers = {}
    for bad in IN_LINES:
        content.append(bad.make(source, bad.name))
        numbers[bad.name] = len(content)
    content.append(item("last"))
    audit = _audit(place, write_lines(source / "items.jsonl", *content))
    return AuditRun(audit.result, audit.out, numbers)


@pytest.mark.parametrize("bad", IN_LINES, ids=lambda bad: bad.name)
def test_a_bad_line_costs_its_item(in_lines: AuditRun, bad: Bad) -> None:
    if bad.path == "{name}":
        _has_record(in_lines, bad, line=in_lines.lines[bad.name])
    else:
        _has_record(in_lines, bad)


def test_the_rest_of_the_lines_is_judged(in_lines: AuditRun) -> None:
    assert set(in_lines.judged) == {"good", "v1/f3/rle", "polygon", "last"}
    assert in_lines.judged["good"]["extra"] == {"note": {"kept": [1, "é"]}, "vendor": "x"}
    assert in_lines.judged["v1/f3/rle"]["text"] == "the red one"
    assert in_lines.result.code == 1
    assert len(in_lines.errors) == len(IN_LINES)


# --- a COCO file ---


def _coco(place: Path, **change: Any) -> tuple[Path, Path]:
    images = place / "images"
    save_frame(images / "a.png")
    content = {
        "images": [
            {"id": 1, "file_name": "a.png", "height": HEIGHT, "width": WIDTH},
            {"id": 2, "file_name": "gone.png"},
            {"id": 3, "file_name": "../coco.json"},
        ],
        "annotations": [
            {"id": 1, "image_id": 1, "segmentation": RLE},
            {"id": 2, "image_id": 9, "segmentation": RLE},
            {"id": 3, "image_id": 2, "segmentation": RLE},
            {"id": 4, "image_id": 3, "segmentation": RLE},
            {"id": 5, "image_id": 1, "bbox": [1, 2, 3, 4]},
            {"id": 6, "image_id": 1, "segmentation": {"size": [9, 9], "counts": [81]}},
            {"id": 7, "image_id": 1, "iscrowd": 1, "segmentation": RLE},
            "annotation",
        ],
        "categories": [],
        **change,
    }
    file = place / "coco.json"
    file.write_text(json.dumps(content))
    return file, images


def test_bad_annotations_of_a_coco_file(tmp_path: Path) -> None:
    file, images = _coco(tmp_path)
    audit = _audit(tmp_path, file, "--images", images)
    assert (audit.result.code, set(audit.judged)) == (1, {"a/1"})
    for words in (
        "entry 2 (id 2): image_id 9",
        "entry 3 (id 3): there is no picture",
        "entry 4 (id 4): '../coco.json' leaves",
        "entry 5 (id 5): there is no 'segmentation'",
        "9 x 9, its frame 48 x 64",
        "entry 8: it is a text",
    ):
        assert sum(words in row["error"] for row in audit.errors) == 1, (words, audit.errors)
    assert len(audit.errors) == 6


def test_bad_rows_of_a_table_of_texts(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in")
    table = tmp_path / "texts.csv"
    table.write_text("id,text\na,the left one\nnobody,x\na,again\nb\n")
    audit = _audit(tmp_path, source, "--texts", table)
    assert (audit.result.code, set(audit.judged)) == (0, {"a", "b", "c"})
    summary = json.loads((audit.out / "summary.json").read_text())
    assert (summary["n"], summary["ok"], summary["failed"]) == (3, 3, 0)
    assert f"note: 3 remarks in {audit.out / 'errors.jsonl'}, the first: {table}:" in audit.result.err
    assert "nobody" in (audit.out / "report.html").read_text()
    assert {row["stage"] for row in audit.errors} == {"texts"}
    assert audit.judged["a"]["text"] == "the left one"
    assert [(row["line"], row["path"]) for row in sorted(audit.errors, key=lambda row: row["line"])] == [
        (3, str(table)),
        (4, str(table)),
        (5, str(table)),
    ]


# --- a whole INPUT that is bad, one kind at a time: nothing is left to judge ---


@pytest.mark.parametrize("layout", ["folder", "lines"])
def test_an_input_of_which_nothing_can_be_judged_still_has_its_record(tmp_path: Path, layout: str) -> None:
    source = folder_input(tmp_path / "in", ("a", "b"))
    if layout == "folder":
        (source / "frames" / "a.png").write_bytes(gigapixel_png())
        (source / "masks" / "b.png").write_bytes(b"")
    else:
        write_lines(source / "items.jsonl", b"{", item("x", frame="none.png"))
    audit = _audit(tmp_path, source)
    summary = json.loads((audit.out / "summary.json").read_text())
    assert (audit.result.code, summary["n"], summary["ok"], summary["failed"]) == (1, 2, 0, 2)
    assert len(audit.errors) == 2
    assert (audit.out / "report.html").stat().st_size > 1000
    second = auscult("audit", source, "--out", audit.out, "--workers", 1, "--quiet", "--max-failed", 2)
    assert second.code == 0, second.err
    assert len(audit.errors) == 2, "a failure is on record once, however often the command is given"


# --- what stops the whole command: exit 2, a message, and no output folder ---


def _empty_folder(place: Path) -> Sequence[object]:
    (place / "in").mkdir()
    return (place / "in",)


def _file(name: str, content: str) -> Callable[[Path], Sequence[object]]:
    def build(place: Path) -> Sequence[object]:
        path = place / "in" / name
        path.parent.mkdir()
        path.write_text(content)
        return (path,)

    return build


def _good(*options: object) -> Callable[[Path], Sequence[object]]:
    return lambda place: (folder_input(place / "in"), *options)


def _policy(name: str, content: str) -> Callable[[Path], Sequence[object]]:
    def build(place: Path) -> Sequence[object]:
        (place / name).write_text(content)
        return (folder_input(place / "in"), "--policy", place / name)

    return build


def _texts(content: bytes) -> Callable[[Path], Sequence[object]]:
    def build(place: Path) -> Sequence[object]:
        (place / "t.csv").write_bytes(content)
        return (folder_input(place / "in"), "--texts", place / "t.csv")

    return build


def _broken_coco(content: str, *options: str) -> Callable[[Path], Sequence[object]]:
    def build(place: Path) -> Sequence[object]:
        (place / "c.json").write_text(content)
        (place / "images").mkdir()
        arguments = [place / "images" if option == "IMAGES" else option for option in options]
        return (place / "c.json", *arguments)

    return build


def _folder_of_links(place: Path) -> Sequence[object]:
    source = folder_input(place / "in")
    (source / "masks").rename(place / "elsewhere")
    (source / "masks").symlink_to(place / "elsewhere")
    return (source,)


REFUSED: dict[str, tuple[Callable[[Path], Sequence[object]], str]] = {
    "no such input": (lambda place: (place / "nowhere",), "no such file or folder"),
    "input with a very long name": (lambda place: (place / ("x" * 5000),), "no such file or folder"),
    "empty folder": (_empty_folder, "frames/ and masks/"),
    "empty items.jsonl": (_file("items.jsonl", ""), "no mask"),
    "blank items.jsonl": (_file("items.jsonl", "\n \n\n"), "no mask"),
    "a text file": (_file("notes.txt", "hello"), "no layout"),
    "a folder of links": (_folder_of_links, "symbolic link"),
    "an empty input": (lambda _: ("",), "INPUT is empty"),
    "pictures of a folder": (_good("--images", "/"), "--images"),
    "instances of a folder": (_good("--instances", "nowhere.json"), "--instances"),
    "frames of lines": (lambda place: (_lines(place), "--frames", place / "in" / "frames"), "--frames"),
    "a root that is not there": (_good("--root", "nowhere"), "--root"),
    "texts with semicolons": (_texts(b"id;text\na;b\n"), "semicolons"),
    "frames that are not there": (_good("--frames", "nowhere"), "nowhere"),
    "coco without pictures": (_broken_coco('{"images": [], "annotations": []}'), "--images"),
    "coco with no folder": (_broken_coco("{}", "--images", "nowhere"), "--images"),
    "coco of an empty object": (_broken_coco("{}", "--images", "IMAGES"), "there is no 'images'"),
    "coco that is broken": (_broken_coco('{"images": ', "--images", "IMAGES"), "broken JSON"),
    "coco that is empty": (_broken_coco('{"images": [], "annotations": []}', "--images", "IMAGES"), "no mask"),
    "coco that is null": (_broken_coco("null", "--images", "IMAGES"), "null"),
    "results without instances": (_broken_coco("[]", "--images", "IMAGES"), "--instances"),
    "unknown policy": (_good("--policy", "lenient"), "there is no policy 'lenient'"),
    "missing policy": (_good("--policy", "nowhere.json"), "does not exist"),
    "broken policy": (_policy("p.json", "{"), "broken JSON"),
    "broken policy in TOML": (_policy("p.toml", "name ="), "broken TOML"),
    "policy of another kind": (_policy("p.json", "[]"), "an object with the keys"),
    "policy with an unknown key": (_policy("p.toml", 'name = "x"\nstrict = true\n'), "strict"),
    "unknown judge": (_good("--judge", "masks.cuse"), "masks.cues.v1"),
    "judge with odd characters": (_good("--judge", "../x"), "there is no judge"),
    "missing texts": (_good("--texts", "nowhere.csv"), "--texts"),
    "empty texts": (_texts(b""), "--texts"),
    "texts without columns": (_texts(b"name,words\na,b\n"), "id,text"),
    "texts of bytes": (_texts(b"id,text\na,\xff\xfe\n"), "not UTF-8"),
    "root beside the input": (lambda place: (_lines(place), "--root", _new_folder(place / "aside")), "--root"),
    "no worker": (_good("--workers", "0"), "--workers"),
    "no time": (_good("--timeout", "0"), "--timeout"),
    "a text as a number": (_good("--max-failed", "few"), "--max-failed"),
    "an unknown option": (_good("--no-such-option"), "--no-such-option"),
}


def _lines(place: Path) -> Path:
    return write_lines(folder_input(place / "in") / "items.jsonl", item("a"))


def _new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_carried_out_is_refused(tmp_path: Path, case: str) -> None:
    build, message = REFUSED[case]
    arguments = build(tmp_path)
    result = _audit(tmp_path, *arguments).result
    assert result.code == 2, result
    assert message in " ".join(result.err.split()), result.err
    if case.startswith(("coco", "broken policy", "policy", "results")):
        assert "hint:" in result.err, result.err
    assert result.out == ""
    assert not (tmp_path / "out").exists()


# --- the output folder ---


def test_an_output_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in")
    (tmp_path / "letter.txt").write_text("dear diary")
    for out in (tmp_path / "letter.txt", tmp_path / "letter.txt" / "out", source / "masks" / "a.png" / "x"):
        result = auscult("audit", source, "--out", out, "--workers", 1)
        assert result.code == 2
        assert "in the way" in result.err
        _is_in_plain_words(result.err)
    assert (tmp_path / "letter.txt").read_text() == "dear diary"


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
def test_a_strangers_folder_is_left_as_it_is(tmp_path: Path, overwrite: tuple[str, ...]) -> None:
    source = folder_input(tmp_path / "in")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter.txt").write_text("dear diary")
    before = tree(tmp_path)
    for out in (tmp_path / "theirs", source):
        result = auscult("audit", source, "--out", out, "--workers", 1, *overwrite)
        assert result.code == 2
        assert "holds other files" in result.err
        _is_in_plain_words(result.err)
    assert tree(tmp_path) == before


def test_an_output_folder_that_may_not_be_written(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in")
    # the super user writes anywhere, except where the system itself has no files to write
    out = Path("/proc/auscult") if ROOT_USER else _new_folder(tmp_path / "closed")
    if not ROOT_USER:
        out.chmod(0o500)
    result = auscult("audit", source, "--out", out, "--workers", 1)
    assert result.code == 2
    assert str(out) in result.err
    assert "hint:" in result.err
    _is_in_plain_words(result.err)


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from auscult.cli.main import main
main()
"""


@pytest.mark.slow
def test_a_full_disk_ends_the_command_and_the_same_command_goes_on(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", [f"f{number}" for number in range(12)])
    command = ["audit", str(source), "--out", str(tmp_path / "out"), "--workers", "1", "--quiet"]
    result = subprocess.run(
        [sys.executable, "-c", _LIMITED, "4096", *command], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 2, result.stderr
    assert "cannot be written" in result.stderr
    assert "hint:" in result.stderr
    _is_in_plain_words(result.stderr)
    assert not (tmp_path / "out" / "summary.json").exists()
    second = auscult(*command)
    assert second.code == 0, second.err
    ids = [row["id"] for row in rows(tmp_path / "out" / "verdicts.jsonl")]
    assert sorted(ids) == sorted(f"f{number}" for number in range(12))


@pytest.mark.slow
def test_the_installed_script_says_the_same_as_the_function(tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in")
    (source / "masks" / "b.png").write_bytes(b"")
    script = Path(sys.executable).with_name("auscult")
    result = subprocess.run(
        [str(script), "audit", str(source), "--out", str(tmp_path / "out"), "--quiet", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert result.returncode == 1, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["n"], summary["ok"], summary["failed"]) == (3, 2, 1)
    _is_in_plain_words(result.stderr)


def test_a_frame_that_shares_bad_and_good_masks_keeps_the_good_ones(tmp_path: Path) -> None:
    source = tmp_path / "in"
    save_frame(source / "frames" / "a.png")
    save_mask(source / "masks" / "a" / "one.png")
    save_mask(source / "masks" / "a" / "two.png", np.ones((SIZE[0], SIZE[1] + 1), bool))
    (source / "masks" / "a" / "three.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    audit = _audit(tmp_path, source)
    assert set(audit.judged) == {"a/one"}
    assert {row["id"] for row in audit.errors} == {"a/two", "a/three"}
