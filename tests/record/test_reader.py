"""Reading records: finished, running, damaged, foreign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auscult.errors import ErrorRecord, NewerSchema, RecordError
from auscult.outcome import Failed, Scored, Signature
from auscult.record.folder import RunFolder, open_run
from auscult.record.lines import StoredRows
from auscult.record.manifest import build
from auscult.record.reader import failed_rows, read_all_verdicts, read_run, stored_verdicts
from auscult.record.schema import SCHEMA, error_to_json, score_to_json, verdict_to_json
from auscult.types import ErrorMap, Evidence, Verdict


def verdict(name: str) -> Verdict:
    return Verdict(
        id=name, iou=0.5, iou_low=0.4, iou_high=0.6, defect="perfect", defect_probs={"perfect": 1.0},
        evidence=Evidence(shape=True), rationale="Fine.", judge="masks.cues.v1", action="accept",
    )  # fmt: skip


def error(name: str | None, text: str = "gone") -> dict[str, Any]:
    return error_to_json(name, ErrorRecord(stage="read", error=text))


def open_record(folder: Path) -> RunFolder:
    return open_run(folder, build("audit", given={}, defaulted={}, seeds={}, inputs={}))


def test_a_finished_record(tmp_path: Path) -> None:
    with open_record(tmp_path) as run:
        run.append("verdicts.jsonl", verdict_to_json(verdict("a"), frame="a.jpg"))
        run.append("errors.jsonl", error("b"))
        run.append("scores.jsonl", score_to_json("a", "masks.iou.v1", Scored(0.5, Signature.of())))
        run.append("clips.jsonl", {"clip": "c"})
        run.append("thumbnails.jsonl", {"id": "a", "jpeg": "=="})
        run.write_json("summary.json", {"n": 2})
        run.finish()
    record_read = read_run(tmp_path)
    assert [(v, row["frame"]) for v, row in record_read.verdicts] == [(verdict("a"), "a.jpg")]
    assert [row["id"] for row in record_read.failed] == ["b"]
    assert [row["value"] for row in record_read.scores] == [0.5]
    assert record_read.clips == ({"clip": "c"},)
    assert list(record_read.thumbnails()) == [{"id": "a", "jpeg": "=="}]
    assert list(record_read.lines("nothing.jsonl")) == []
    assert record_read.summary == {"n": 2}
    assert record_read.finished


def test_a_running_record_is_read_without_its_torn_line_and_without_touching_it(tmp_path: Path) -> None:
    with open_record(tmp_path) as run:
        run.append("verdicts.jsonl", verdict_to_json(verdict("a")))
        with (tmp_path / "verdicts.jsonl").open("ab") as file:
            file.write(b'{"id": "b", "io')
        before = (tmp_path / "verdicts.jsonl").read_bytes()
        record_read = read_run(tmp_path)
        assert [v.id for v, _ in record_read.verdicts] == ["a"]
        assert record_read.summary is None
        assert not record_read.finished
        assert (tmp_path / "verdicts.jsonl").read_bytes() == before


def test_what_failed_once_and_has_a_result_now_is_not_failed(tmp_path: Path) -> None:
    with open_record(tmp_path) as run:
        run.append_many(
            "errors.jsonl", [error("a"), error("b", "first"), error(None), error("b", "second"), error(None)]
        )
        run.append("errors.jsonl", error("s"))
        run.append("errors.jsonl", error("t"))
        run.append("verdicts.jsonl", verdict_to_json(verdict("a")))
        run.append("scores.jsonl", score_to_json("s", "m", Scored(1.0, Signature.of())))
        run.append("scores.jsonl", score_to_json("t", "m", Failed(ErrorRecord(stage="score", error="gone"))))
    record_read = read_run(tmp_path)
    assert [(row["id"], row["error"]) for row in record_read.failed] == [("b", "second"), (None, "gone"), ("t", "gone")]
    assert len(record_read.errors) == 7


def test_remarks_are_no_failed_cases(tmp_path: Path) -> None:
    remarks = [error_to_json(None, ErrorRecord(stage=stage, error=stage)) for stage in ("texts", "frames", "texts")]
    truths = [error_to_json(name, ErrorRecord(stage="truth", error=name)) for name in ("a", "b")]
    with open_record(tmp_path) as run:
        run.append_many("errors.jsonl", [*remarks, error("c"), *truths])
        run.append("verdicts.jsonl", verdict_to_json(verdict("a")))
        run.append("scores.jsonl", score_to_json("b", "m", Scored(1.0, Signature.of())))
    record_read = read_run(tmp_path)
    assert [row["id"] for row in record_read.failed] == ["c"]
    assert [row["error"] for row in record_read.remarks] == ["texts", "frames", "a"]
    assert failed_rows([{"stage": ["texts"]}], set()) == ({"stage": ["texts"]},)


def test_error_rows_of_unknown_shape_are_kept_apart() -> None:
    rows: list[dict[str, Any]] = [{"id": 3}, {"id": [1]}, {}, {"id": 3}]
    assert failed_rows(rows, set()) == ({"id": 3}, {"id": [1]}, {})


def test_what_is_no_record_is_refused_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "manifest.json").write_text('{"name": "app"}', "utf-8")
    for name in ("missing", "file", "empty", "foreign"):
        with pytest.raises(RecordError) as raised:
            read_run(tmp_path / name)
        assert str(tmp_path / name) in str(raised.value)
        assert raised.value.hint


def test_a_newer_record_is_refused(tmp_path: Path) -> None:
    open_record(tmp_path).close()
    content = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    (tmp_path / "manifest.json").write_text(json.dumps({**content, "schema": SCHEMA + 1}), "utf-8")
    with pytest.raises(NewerSchema, match="upgrade auscult"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    "line", ["{}", "[1]", "null", '{"id": "x", "iou": NaN}', '{"id": "x"}', '{"a":' * 5000, "\ufeff{}", "\x00\x00"]
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    open_record(tmp_path).close()
    good = json.dumps(verdict_to_json(verdict("a")))
    (tmp_path / "verdicts.jsonl").write_text(f"{good}\n\n{line}\n{good}\n", "utf-8")
    with pytest.raises(RecordError) as raised:
        read_run(tmp_path)
    assert (raised.value.path, raised.value.line) == (str(tmp_path / "verdicts.jsonl"), 3)


@pytest.mark.parametrize("content", ["{", "[]", "\udcff"])
def test_a_damaged_summary_is_named(tmp_path: Path, content: str) -> None:
    open_record(tmp_path).close()
    (tmp_path / "summary.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordError, match="summary"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    "row", [{"id": "b", "iou": 1.5}, {"id": "b", "iou": True}, {"iou": 1}, {"id": "b", "defect": 3}]
)
def test_a_damaged_truth_is_named(tmp_path: Path, row: dict[str, Any]) -> None:
    with open_record(tmp_path) as run:
        run.append_many("truth.jsonl", [{"id": "a", "iou": 1, "defect": None, "clip": "c"}, row])
    with pytest.raises(RecordError, match="damaged") as raised:
        read_run(tmp_path).truths()
    assert (raised.value.path, raised.value.line) == (str(tmp_path / "truth.jsonl"), 2)


def test_of_stored_rows_the_later_of_two_counts_and_each_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a", "n": 1}\n{"id": "b", "n": 2}\n{"id": "a", "n": 3}\n{"id": "c", "n')
    stored = StoredRows(path, lambda row: int(row["n"]))
    assert dict(stored) == {"a": 3, "b": 2}
    assert "c" not in stored
    path.write_text(path.read_text().replace('"b"', '"x"'))
    assert stored["a"] == 3
    with pytest.raises(RecordError, match="'b' is no longer where it was"):
        stored["b"]


def test_stored_verdicts_are_those_of_the_run_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    error_map = ErrorMap(box=(0, 0, 8, 8), side=2, levels=bytes([0, 7, 0, 0]))
    verdicts = [
        Verdict(
            id=name, iou=0.5, iou_low=0.4, iou_high=0.6, defect="erode", defect_probs={"erode": 1.0},
            evidence=Evidence(shape=True), rationale="", judge="masks.any.v1", error_map=error_map,
        )
        for name in ("a10", "a9")
    ]  # fmt: skip
    rows = [json.dumps(verdict_to_json(verdict)) + "\n" for verdict in verdicts]
    with open_run(tmp_path, build("audit", given={}, defaulted={}, seeds={}, inputs={})):
        (tmp_path / "verdicts.jsonl").write_text("".join(rows))
    assert dict(stored_verdicts(tmp_path)) == {
        verdict.id: (verdict, row) for verdict, row in read_run(tmp_path).verdicts
    }
    lean, _ = read_all_verdicts(tmp_path, error_maps=False)
    assert [(verdict.error_map, row["error_map"]) for verdict, row in lean] == [(None, None)] * 2
    lean, _ = read_all_verdicts(tmp_path, error_maps=lambda some: [one for one in some if one.id == "a9"])
    assert [(verdict.error_map, row["error_map"]) for verdict, row in lean] == [(None, None), (error_map, None)]
    (tmp_path / "verdicts.jsonl").write_text(rows[0] + rows[1].replace("0.5", '"x"'))
    with pytest.raises(RecordError, match="'iou'") as caught:
        stored_verdicts(tmp_path)
    assert caught.value.line == 2
