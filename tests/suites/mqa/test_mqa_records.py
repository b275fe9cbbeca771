"""A record of the benchmark of judges laid out and scored again: from its own lines, whoever wrote them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from mqa_material import benchmark

from auscult.act.policy import load_policy, shipped_policies
from auscult.errors import RecordError
from auscult.record.folder import open_run, read_manifest
from auscult.record.manifest import build
from auscult.suites.mqa.finish_run import Basis, read_basis, read_candidates, score_mqa, write_basis
from auscult.suites.mqa.rows import Constant
from small_inputs import LEFT, RIGHT, auscult, rows, save_frame, save_mask, tree, write_lines

CANDIDATES = tuple(replace(candidate_, making=(("take", "all"),)) for candidate_ in benchmark(1))
BASIS = Basis(judges=("masks.one.v1", "two"), constant=Constant(iou=0.8, defect="cutout", trained=0), unlisted=3)


@pytest.fixture(scope="module")
def shared_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of candidates and of judges that said nothing."""
    out = tmp_path_factory.mktemp("basis") / "out"
    with open_run(out, build("run mqa", given={}, defaulted={}, seeds={}, inputs={})) as run:
        write_basis(run, CANDIDATES, BASIS)
    return out


@pytest.fixture
def out(shared_record: Path, tmp_path: Path) -> Path:
    return shutil.copytree(shared_record, tmp_path / "out")


def test_what_tables_follow_from_is_read_back_as_it_was(shared_record: Path) -> None:
    assert read_candidates(shared_record) == CANDIDATES
    assert read_basis(shared_record) == BASIS


@pytest.mark.parametrize(
    "change",
    [
        {"iou": 1.5}, {"iou": "1"}, {"iou": True}, {"iou": 10**400}, {"area": -0.1}, {"defect": "great"},
        {"defect": ["erode"]}, {"protocol": "film"}, {"difficulty": "none"}, {"action": "burn"}, {"frame": -1},
        {"frame": 0.5}, {"rank": "1"}, {"uid": None}, {"making": [["take"]]}, {"making": [["other", "x"]]},
        {"making": {}}, {"more": 1}, {"id": CANDIDATES[0].id},
    ],
    ids=str,
)  # fmt: skip
def test_a_line_that_is_no_candidate_is_named(change: dict[str, Any], out: Path) -> None:
    lines = rows(out / "candidates.jsonl")
    lines[3] |= change
    write_lines(out / "candidates.jsonl", *lines)
    with pytest.raises(RecordError) as error:
        score_mqa(out)
    assert (str(error.value.path), error.value.line) == (str(out / "candidates.jsonl"), 4)
    assert error.value.hint


@pytest.mark.parametrize(
    "change",
    [
        lambda basis: basis.pop("judges"),
        lambda basis: basis.update(judges="masks.one.v1"),
        lambda basis: basis.update(judges=[3]),
        lambda basis: basis.update(judges=["../../elsewhere"]),
        lambda basis: basis.update(constant=None),
        lambda basis: basis["constant"].update(iou=2),
        lambda basis: basis["constant"].update(defect="empty"),
        lambda basis: basis.update(unlisted=True),
    ],
)
def test_a_damaged_basis_is_named(change: Callable[[dict[str, Any]], Any], out: Path) -> None:
    basis = json.loads((out / "basis.json").read_text())
    change(basis)
    (out / "basis.json").write_text(json.dumps(basis))
    with pytest.raises(RecordError) as error:
        score_mqa(out)
    assert str(error.value.path).endswith("basis.json")


@pytest.mark.parametrize("name", ["candidates.jsonl", "basis.json"])
def test_a_record_of_before_says_what_to_do(name: str, out: Path) -> None:
    (out / name).unlink()
    result = auscult("score", out)
    assert result.code == 2
    assert name in result.err
    assert "judges nothing again" in result.err


def test_a_manifest_without_a_policy_is_named(out: Path) -> None:
    with pytest.raises(RecordError, match="no policy"):
        score_mqa(out)


def _decided_by(out: Path, policy: dict[str, Any]) -> Path:
    with open_run(out, build("run mqa", given={"policy": policy}, defaulted={}, seeds={}, inputs={})) as run:
        write_basis(run, CANDIDATES, replace(BASIS, constant=Constant(iou=0.97, defect="perfect", trained=1)))
    return out


@pytest.mark.parametrize("name", shipped_policies())
def test_every_policy_is_read_back_from_the_manifest_of_a_run(name: str, tmp_path: Path) -> None:
    summary = score_mqa(_decided_by(tmp_path / "out", asdict(load_policy(name)))).summary
    assert summary.n > 0


@pytest.mark.parametrize("good", [0.7, {}, {"prob_iou_80": 7, "inclusive": True}, {"accept": {"at_least": 0.7}}])
def test_a_damaged_policy_is_named(good: Any, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no policy"):
        score_mqa(_decided_by(tmp_path / "out", {**asdict(load_policy("default")), "good": good}))


@pytest.mark.slow
def test_report_and_score_follow_from_the_record_alone(tmp_path: Path) -> None:
    data, out = tmp_path / "in", tmp_path / "out"
    lines = []
    save_mask(data / "left.png", LEFT)
    save_mask(data / "right.png", RIGHT)
    for number in range(2):
        save_frame(data / f"{number}.png", seed=number)
        for kind, mask, iou, action in (("perfect", "left", 1.0, "accept"), ("full_neg", "right", 0.0, "reject")):
            place = {"uid": f"u{number}", "vid": f"v{number}", "split": "test", "protocol": "image", "rank": 1}
            truth = {"mask": "left.png", "iou": iou, "defect": kind, "action": action}
            lines.append({"id": f"{number}/{kind}", "frame": f"{number}.png", "mask": f"{mask}.png", "truth": truth,
                          "mqa": place})  # fmt: skip
    lines.append({**lines[0], "id": "lost", "mask": "nowhere.png"})
    write_lines(data / "items.jsonl", *lines)
    arguments = ("--judge", "cues", "--judge", "compact", "--workers", "1", "--max-failed", "9")
    result = auscult("run", "mqa", "--data", data, "--out", out, *arguments)
    shutil.rmtree(data)
    before = tree(out)
    (out / "report.html").unlink()
    report_result = auscult("report", out)
    assert (report_result.code, report_result.out) == (0, result.out)
    assert tree(out) == before
    assert "data:image/jpeg" in (out / "report.html").read_text()
    score_result = auscult("score", out, "--max-failed", "9")
    assert (score_result.code, score_result.out) == (0, result.out)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["failed"] == 2, "a mask that is missing is a failure of both judges"
    assert json.loads(auscult("score", out, "--json", "--max-failed", "9").out) == {**summary, "command": "score"}
    assert auscult("score", out).code == 1
    assert tree(out) == before, "a score writes nothing"
    assert "finished" in read_manifest(out)
