"""Laws of a record: whatever is written comes back, whatever is torn is healed, nothing else is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import RecordError
from auscult.record.digest import digest_json
from auscult.record.folder import open_run
from auscult.record.lines import heal, read_lines
from auscult.record.manifest import build
from auscult.record.schema import verdict_from_json, verdict_to_json
from auscult.types import ACTIONS, DEFECTS, Evidence, Verdict

SETTINGS = settings(deadline=None, max_examples=50)

texts = st.text(max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
rows = st.dictionaries(texts, values, max_size=4)
shares = st.floats(0, 1).map(lambda share: round(share, 6))

verdicts = st.builds(
    Verdict,
    id=texts,
    iou=st.none() | shares,
    iou_low=st.none() | shares,
    iou_high=st.none() | shares,
    defect=st.sampled_from((*DEFECTS, "empty")),
    defect_probs=st.dictionaries(st.sampled_from(DEFECTS), shares),
    evidence=st.builds(Evidence, shape=st.booleans(), boundary=st.booleans(), sound=st.booleans()),
    rationale=texts,
    judge=texts,
    action=st.none() | st.sampled_from(ACTIONS),
    novelty=shares,
    target_exists=st.sampled_from(("yes", "no", "unchecked")),
    target=st.none() | texts,
    distractor=st.none() | texts,
    region=st.none() | st.tuples(*[st.integers(0, 5000)] * 4),
    seconds=shares,
)


def manifest() -> dict[str, Any]:
    return build("audit", given={}, defaulted={}, seeds={}, inputs={})


@SETTINGS
@given(verdicts, rows)
def test_a_verdict_survives_the_file(verdict: Verdict, extra: dict[str, Any]) -> None:
    row = verdict_to_json(verdict, **{f"x_{key}": value for key, value in extra.items()})
    row_read = json.loads(json.dumps(row, allow_nan=False))
    assert verdict_from_json(row_read) == verdict
    assert {key: value for key, value in row_read.items() if key.startswith("x_")} == {
        f"x_{key}": value for key, value in extra.items()
    }


@SETTINGS
@given(st.lists(rows, max_size=6), st.lists(rows, max_size=3))
@pytest.mark.slow
def test_rows_come_back_in_order_over_several_runs(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        with open_run(Path(folder), manifest()) as run:
            run.append_many("clips.jsonl", first)
        with open_run(Path(folder), manifest()) as run:
            for row in second:
                run.append("clips.jsonl", row)
            assert run.lines("clips.jsonl") == first + second


@settings(deadline=None, max_examples=12)
@given(st.lists(rows, max_size=3), rows, rows)
def test_a_tear_at_any_byte_of_the_last_line_costs_that_line_at_most(
    whole: list[dict[str, Any]], last: dict[str, Any], following: dict[str, Any]
) -> None:
    lines_before = b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for row in whole)
    line = json.dumps({"id": "é\u2028", **last}, ensure_ascii=False).encode("utf-8", "replace")
    with TemporaryDirectory() as name:
        folder = Path(name)
        open_run(folder, manifest()).close()
        for length in range(len(line) + 1):
            (folder / "verdicts.jsonl").write_bytes(lines_before + line[:length])
            before = list(read_lines(folder / "verdicts.jsonl"))
            heal(folder / "verdicts.jsonl")
            healed = (folder / "verdicts.jsonl").read_bytes()
            assert healed == (lines_before if length < len(line) else lines_before + line + b"\n")
            assert list(read_lines(folder / "verdicts.jsonl")) == before
        (folder / "verdicts.jsonl").write_bytes(lines_before + line[:-1])
        with open_run(folder, manifest()) as run:
            run.append("verdicts.jsonl", following)
            assert run.lines("verdicts.jsonl")[-1] == following
            assert len(run.lines("verdicts.jsonl")) == len(whole) + 1


@SETTINGS
@given(st.binary(max_size=200))
def test_any_bytes_are_rows_a_healed_tear_or_a_named_line(data: bytes) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / "verdicts.jsonl"
        path.write_bytes(data)
        try:
            read = list(read_lines(path))
        except RecordError as error:
            assert error.line is not None  # noqa: PT017 - which of the two comes depends on the bytes
            with pytest.raises(RecordError):
                heal(path)
            assert path.read_bytes() == data
            return
        heal(path)
        assert list(read_lines(path)) == read
        healed = path.read_bytes()
        heal(path)
        assert path.read_bytes() == healed


@SETTINGS
@given(st.dictionaries(texts, values, max_size=5))
def test_a_hash_of_json_does_not_see_the_order_of_keys(value: dict[str, Any]) -> None:
    assert digest_json(value) == digest_json(dict(reversed(value.items())))


@SETTINGS
@given(st.lists(st.sampled_from(["a.json", "tables/b.json", "masks/x/c.png", "d.html"]), unique=True))
@pytest.mark.slow
def test_overwriting_leaves_no_file_of_ours(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        with open_run(Path(folder), manifest()) as run:
            for name in names:
                run.write_bytes(name, b"x", durable=False)
        open_run(Path(folder), manifest(), overwrite=True).close()
        assert set(os.listdir(folder)) == {"manifest.json", ".lock", ".written"}  # noqa: PTH208
