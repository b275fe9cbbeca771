"""Opening, resuming, refusing and clearing output folders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from auscult.errors import Locked, Mismatch, NewerSchema, OutputError, RecordError
from auscult.record.folder import MANIFEST, open_run, read_manifest
from auscult.record.manifest import build
from auscult.record.schema import SCHEMA


def manifest(command: str = "audit", **options: Any) -> dict[str, Any]:
    return build(command, given=options, defaulted={"judge": "masks.cues.v1"}, seeds={"run": 1}, inputs={"items": "ab"})


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_a_run_is_written_and_read_back(tmp_path: Path) -> None:
    with open_run(tmp_path / "a" / "b", manifest()) as run:
        assert "resumed" not in run.manifest
        run.append("verdicts.jsonl", {"id": "é", "iou": 0.5})
        run.append_many("verdicts.jsonl", [{"id": "b"}, {"id": "c"}])
        run.append_many("clips.jsonl", [])
        run.write_json("tables/worst.json", {"z": 1, "a": [True, None]})
        run.write_text("report.html", "<p>é</p>")
        run.write_bytes("pictures/one.jpg", b"\xff\xd8", durable=False)
        assert run.lines("verdicts.jsonl") == [{"id": "é", "iou": 0.5}, {"id": "b"}, {"id": "c"}]
        assert run.lines("scores.jsonl") == []
        run.finish()
    folder = tmp_path / "a" / "b"
    assert (folder / "verdicts.jsonl").read_text("utf-8") == '{"id": "é", "iou": 0.5}\n{"id": "b"}\n{"id": "c"}\n'
    assert list(json.loads((folder / "tables" / "worst.json").read_text("utf-8"))) == ["z", "a"]
    assert (folder / "pictures" / "one.jpg").read_bytes() == b"\xff\xd8"
    assert not (folder / "clips.jsonl").exists()
    assert "finished" in read_manifest(folder)


def test_the_same_run_goes_on(tmp_path: Path) -> None:
    with open_run(tmp_path, manifest(workers=1)) as run:
        run.append("verdicts.jsonl", {"id": "a"})
        run.finish()
        start = run.manifest["started"]
    with open_run(tmp_path, manifest(workers=4)) as run:
        assert "resumed" in run.manifest
        assert "finished" not in read_manifest(tmp_path), "it is at work again"
        run.append("verdicts.jsonl", {"id": "b"})
        assert [row["id"] for row in run.lines("verdicts.jsonl")] == ["a", "b"]
        assert run.manifest["started"] == start
        assert len(run.manifest["resumed"]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judge": "masks.other.v1"}, "--judge was masks.cues.v1, now masks.other.v1"),
        ({"text_column": "name"}, "--text-column was not set, now name"),
    ],
)
def test_other_arguments_are_refused_by_name(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": "a"})
    before = tree(tmp_path)
    with pytest.raises(Mismatch) as error:
        open_run(tmp_path, manifest(**change))
    assert message in error.value.message
    assert "--overwrite" in error.value.hint
    assert tree(tmp_path) == before
    with open_run(tmp_path, manifest(**change), ignore=frozenset(change)) as run:
        assert "resumed" in run.manifest


def test_other_input_seed_command_or_version_is_refused(tmp_path: Path) -> None:
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": "a"})
    for key, value, message in (
        ("inputs", {"items": "cd"}, "input items was ab, now cd"),
        ("seeds", {"run": 2}, "seed run was 1, now 2"),
        ("command", "score", "the command was audit, now score"),
        ("versions", {"auscult": "9.9"}, ", now 9.9"),
    ):
        with pytest.raises(Mismatch) as error:
            open_run(tmp_path, {**manifest(), key: value})
        assert message in error.value.message


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_newer_record_is_refused_and_left_alone(tmp_path: Path, *, overwrite: bool) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({**manifest(), "schema": SCHEMA + 1}), "utf-8")
    (tmp_path / "verdicts.jsonl").write_text("{}\n", "utf-8")
    before = tree(tmp_path)
    with pytest.raises(NewerSchema, match=f"schema {SCHEMA + 1}"):
        open_run(tmp_path, manifest(), overwrite=overwrite)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["thesis.tex", "verdicts.jsonl", ".hidden"])
def test_a_strangers_folder_is_refused_and_left_alone(tmp_path: Path, name: str, *, overwrite: bool) -> None:
    (tmp_path / name).write_text("mine", "utf-8")
    with pytest.raises(RecordError, match="no auscult run") as error:
        open_run(tmp_path, manifest(), overwrite=overwrite)
    assert name in error.value.message
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    "content", ['{"name": "web app", "version": 2}', "[1]", "{", '{"schema": true}', "\xff", "[" * 9999]
)
def test_another_programs_manifest_is_refused_and_left_alone(tmp_path: Path, content: str, *, overwrite: bool) -> None:
    (tmp_path / MANIFEST).write_text(content, "latin-1")
    (tmp_path / "report.html").write_text("mine", "utf-8")
    before = tree(tmp_path)
    with pytest.raises(RecordError, match="manifest"):
        open_run(tmp_path, manifest(), overwrite=overwrite)
    assert tree(tmp_path) == before


def test_overwrite_removes_what_auscult_wrote_and_nothing_else(tmp_path: Path) -> None:
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": "a"})
        run.write_json("tables/a.json", 1)
        run.write_bytes("masks/deep/x.png", b"x")
        run.claim("masks/y.png").write_bytes(b"y")
        run.write_text("tables/removed.json", "{}")
        run.remove("tables/removed.json")
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    (tmp_path / "masks" / "mine.png").write_text("mine", "utf-8")
    (tmp_path / "report.html").mkdir()
    with open_run(tmp_path, manifest(judge="masks.other.v1"), overwrite=True) as run:
        assert "resumed" not in run.manifest
        assert run.lines("verdicts.jsonl") == []
    assert sorted(tree(tmp_path)) == [".written", MANIFEST, "masks/mine.png", "notes.txt"]
    assert not (tmp_path / "tables").exists()
    assert (tmp_path / "report.html").is_dir()


def test_overwrite_follows_no_link_out_of_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.json").write_text("mine", "utf-8")
    folder = tmp_path / "out"
    open_run(folder, manifest()).close()
    (folder / "tables").symlink_to(outside)
    (folder / "verdicts.csv").symlink_to(outside / "a.json")
    notes = [{"name": name} for name in ("tables/a.json", "../outside/a.json", str(outside / "a.json"), "..", "")]
    (folder / ".written").write_text("".join(json.dumps(row) + "\n" for row in notes), "utf-8")
    open_run(folder, manifest(), overwrite=True).close()
    assert (outside / "a.json").read_text("utf-8") == "mine"
    assert not (folder / "verdicts.csv").is_symlink()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "lines").write_text("mine", "utf-8")
    with open_run(tmp_path / "out", manifest()) as run:
        (tmp_path / "out" / "tables").symlink_to(outside)
        with pytest.raises(OutputError, match="symbolic link"):
            run.write_json("tables/a.json", 1)
        (tmp_path / "out" / "verdicts.jsonl").symlink_to(outside / "lines")
        with pytest.raises(OutputError):
            run.append("verdicts.jsonl", {"id": "a"})
        (tmp_path / "out" / "report.html").symlink_to(outside / "lines")
        run.write_text("report.html", "ours")
    assert (outside / "lines").read_text("utf-8") == "mine"
    assert [path.name for path in outside.iterdir()] == ["lines"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../a", "a/../../b", "/etc/a", "a//b", "a/", ".lock", "a/.b", "a\\b", "a\0b", "a/" * 9 + "b"],
)
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with open_run(tmp_path / "out", manifest()) as run:
        for write in (run.claim, run.lines, run.remove, lambda name: run.write_bytes(name, b"")):
            with pytest.raises(OutputError, match="no name for a file"):
                write(name)
    assert set(tree(tmp_path)) == {"out/manifest.json", "out/.written"}


def test_a_file_in_place_of_the_folder_or_above_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="a file of that name is in the way") as error:
            open_run(folder, manifest())
        assert error.value.path == str(folder)
        assert error.value.hint


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    for folder in (Path("/proc/auscult"), tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(OutputError) as error:
            open_run(folder, manifest())
        assert error.value.hint


def test_a_file_name_that_the_disk_refuses(tmp_path: Path) -> None:
    with open_run(tmp_path, manifest()) as run, pytest.raises(OutputError, match="cannot be written"):
        run.write_bytes("x" * 300, b"")


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_run(tmp_path, manifest()) as run:
        run.write_text("report.html", "old")
        run.append("verdicts.jsonl", {"id": "a"})
        write = os.write

        def full(descriptor: int, data: bytes) -> int:
            """Take a few bytes, then be full, as a disk is."""
            if len(data) > 5:
                return write(descriptor, bytes(data[: len(data) // 2]))
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OutputError, match="No space left on device") as error:
            run.write_text("report.html", "new and longer")
        assert "goes on where this one stopped" in error.value.hint
        with pytest.raises(OutputError, match="what it holds already is kept"):
            run.append("verdicts.jsonl", {"id": "b"})
        monkeypatch.undo()
    assert (tmp_path / "report.html").read_text("utf-8") == "old"
    assert (tmp_path / "verdicts.jsonl").read_text("utf-8") == '{"id": "a"}\n'
    assert not (tmp_path / ".part").exists()


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": "a long enough line"})
        assert run.lines("verdicts.jsonl") == [{"id": "a long enough line"}]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_json_cannot_hold_is_refused_whole(tmp_path: Path, value: object) -> None:
    with open_run(tmp_path, manifest()) as run:
        with pytest.raises(OutputError, match="cannot be written as JSON"):
            run.append_many("verdicts.jsonl", [{"id": "a"}, {"id": "b", "iou": value}])
        assert run.lines("verdicts.jsonl") == []


def test_an_id_from_a_file_name_that_is_not_utf_8_survives(tmp_path: Path) -> None:
    name = os.fsdecode(b"mask\xff.png")
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": name})
        assert run.lines("verdicts.jsonl") == [{"id": name}]


def test_text_with_line_separators_stays_on_one_line(tmp_path: Path) -> None:
    text = "a\nb\r\nc\u2028d\u0085e"
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": text})
        run.append("verdicts.jsonl", {"id": "b"})
        assert [row["id"] for row in run.lines("verdicts.jsonl")] == [text, "b"]


def test_a_broken_line_in_the_middle_is_damage(tmp_path: Path) -> None:
    open_run(tmp_path, manifest()).close()
    (tmp_path / "verdicts.jsonl").write_text('{"id": "a"}\n{"id": \n{"id": "c"}\n', "utf-8")
    with pytest.raises(RecordError) as error:
        open_run(tmp_path, manifest())
    assert error.value.line == 2
    assert str(error.value.path).endswith("verdicts.jsonl")


def test_one_at_a_time_in_one_process_too(tmp_path: Path) -> None:
    with open_run(tmp_path, manifest()):
        for overwrite in (False, True):
            with pytest.raises(Locked, match=f"in use by process {os.getpid()}"):
                open_run(tmp_path, manifest(), overwrite=overwrite)
    open_run(tmp_path, manifest()).close()


def test_a_refused_run_leaves_the_folder_free(tmp_path: Path) -> None:
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": "a"})
    for _ in range(2):
        with pytest.raises(Mismatch):
            open_run(tmp_path, manifest(judge="other"))
    open_run(tmp_path, manifest()).close()


def test_an_error_inside_the_run_leaves_the_folder_free_and_what_was_written(tmp_path: Path) -> None:
    def interrupted() -> None:
        with open_run(tmp_path, manifest()) as run:
            run.append("verdicts.jsonl", {"id": "a"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with open_run(tmp_path, manifest()) as run:
        assert run.lines("verdicts.jsonl") == [{"id": "a"}]
        run.close()
        run.close()


def test_a_folder_with_only_a_leftover_lock_is_new(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("999999999\n", "ascii")
    (tmp_path / ".part").write_text("half a mani", "ascii")
    with open_run(tmp_path, manifest()) as run:
        assert "resumed" not in run.manifest
    assert not (tmp_path / ".part").exists()


@pytest.mark.parametrize("torn", ["", '{"id": "to', '{"id": "whole"}'])
def test_of_a_long_file_the_end_is_healed_and_damage_further_up_is_named(tmp_path: Path, torn: str) -> None:
    path, line = tmp_path / "verdicts.jsonl", json.dumps({"id": "é" * 500}) + "\n"
    open_run(tmp_path, manifest()).close()
    path.write_text(line * 100 + torn, "utf-8")
    with open_run(tmp_path, manifest()) as run:
        run.append("verdicts.jsonl", {"id": "next"})
        assert [row["id"] for row in run.lines("verdicts.jsonl")][100:] == ["whole"] * (torn[-1:] == "}") + ["next"]
    path.write_text(line + "{broken\n" + line * 100, "utf-8")
    with open_run(tmp_path, manifest()) as run, pytest.raises(RecordError, match="not a JSON object") as error:
        run.lines("verdicts.jsonl")
    assert error.value.line == 2
