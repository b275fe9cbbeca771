"""`act gate` from records and tables: the lists, the words, what is refused, and that the record stays as it was."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from auscult.errors import AuscultError, Mismatch, OutputError, RecordError, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.gate import gate_record
from auscult.jobs.options import AuditOptions, GateOptions
from auscult.record.digest import digest_file
from auscult.version import VERSION
from small_inputs import LEFT, auscult, ellipse, rows, save_frame, save_mask, tree, write_lines

SMALLER = ellipse((24, 18), (14 * 0.55, 11 * 0.55))  # IoU 0.3 with LEFT
HEADER = "id,iou,true_iou,cluster,novelty,judge"
JUDGE = "masks.cues.v1"


def _input(folder: Path, numbers: range) -> Path:
    """A photograph and a mask each, every fourth mask far too small; true masks beside them."""
    lines = []
    for number in numbers:
        save_frame(folder / "frames" / f"{number}.png", seed=number)
        save_mask(folder / "truth" / f"{number}.png", LEFT)
        save_mask(folder / "masks" / f"{number}.png", SMALLER if number % 4 == 0 else LEFT)
        names = {"frame": f"frames/{number}.png", "mask": f"masks/{number}.png"}
        lines.append({"id": f"m{number}", **names, "truth": {"mask": f"truth/{number}.png"}})
    return write_lines(folder / "items.jsonl", *lines).parent


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`cal`: an audit of 24 masks with truth; `new`: one of 8 others and an empty mask; both inputs gone."""
    place = tmp_path_factory.mktemp("gate")
    for name, numbers in (("cal", range(24)), ("new", range(100, 108))):
        source = _input(place / f"{name}-in", numbers)
        if name == "new":
            save_mask(source / "masks" / "none.png", LEFT & False)
            with (source / "items.jsonl").open("a") as file:
                file.write(json.dumps({"id": "none", "frame": "frames/100.png", "mask": "masks/none.png"}) + "\n")
        audit_folder(AuditOptions(source=source, out=place / name, judge=JUDGE, workers=0))
        shutil.rmtree(source)
    return place


def _options(record_root: Path, out: Path, **options: Any) -> GateOptions:
    wishes = {"calibration": record_root / "cal", "accept_error": 0.2, "confidence": 0.9, "out": out}
    return GateOptions(**{"folder": record_root / "new", **wishes, **options})


def _table(path: Path, *lines: str, header: str = HEADER) -> Path:
    path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
    return path


def _good(count: int, *, score: float = 0.5, novelty: float = 1.0) -> list[str]:
    return [f"c{index},{score},0.9,p{index},{novelty},{JUDGE}" for index in range(count)]


@pytest.mark.parametrize("clusters", ["one", "bound"])
@pytest.mark.parametrize("estimate", ["iou", "iou_low"])
def test_a_record_is_gated_by_a_record(judged: Path, tmp_path: Path, clusters: str, estimate: str) -> None:
    before = tree(judged)
    gated = gate_record(_options(judged, tmp_path / "out", clusters=clusters, by=estimate))
    assert tree(judged) == before
    verdicts = {row["id"]: row for row in rows(judged / "new" / "verdicts.jsonl")}
    assert gated.found.chosen is not None
    threshold = gated.found.chosen.threshold
    expected = {name for name, row in verdicts.items() if row[estimate] is not None and row[estimate] >= threshold}
    assert set(gated.accepted) == expected
    assert set(gated.to_look_at) == verdicts.keys() - expected
    assert "none" in gated.to_look_at
    gate_json = json.loads((tmp_path / "out" / "gate.json").read_text())
    assert (gate_json["accepted"], gate_json["to_look_at"], gate_json["threshold"]) == (
        len(expected), len(verdicts) - len(expected), threshold,
    )  # fmt: skip
    assert gate_json["bound"] <= 0.2
    for name, ids in (("accepted", gated.accepted), ("to-look-at", gated.to_look_at)):
        folder = tmp_path / "out" / name
        assert tuple((folder / "ids.txt").read_text().split()) == ids
        assert [row["id"] for row in csv.DictReader((folder / "verdicts.csv").read_text().splitlines())] == list(ids)
        assert [
            annotation["auscult"]["item"]
            for annotation in json.loads((folder / "coco.json").read_text())["annotations"]
        ] == list(ids)
    assert ET.parse(tmp_path / "out" / "gate.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own file


def test_the_command_accepts_the_good_and_says_how_many_are_left(judged: Path, tmp_path: Path) -> None:
    wishes = ("--calibration", judged / "cal", "--accept-error", "0.2", "--confidence", "0.9")
    result = auscult("act", "gate", judged / "new", *wishes, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    ids = (tmp_path / "out" / "accepted" / "ids.txt").read_text().split()
    assert set(ids) == {f"m{number}" for number in range(100, 108) if number % 4}
    assert "6 of 9 masks are accepted, those with iou from 0." in result.out
    assert "3 of 9 masks are left to look at" in result.out
    assert "of one such mask a photograph, drawn at random, at most" in result.out
    assert "one mask each" in result.out
    second = auscult("act", "gate", judged / "new", *wishes, "--out", tmp_path / "out", "--json")
    json_result = json.loads(second.out)
    assert (json_result["command"], json_result["n"], json_result["accepted"], json_result["to_look_at"]) == (
        "act gate",
        9,
        6,
        3,
    )
    assert json_result["ids"] == ids
    assert json_result["calibration"]["photographs"] == 24


def test_too_few_photographs_are_refused_with_the_number_needed(judged: Path, tmp_path: Path) -> None:
    result = auscult("act", "gate", judged / "new", "--calibration", judged / "cal", "--out", tmp_path / "out")
    assert result.code == 2
    assert "too small: 24 photographs" in result.err
    assert "at least 59" in result.err
    assert not (tmp_path / "out").exists()
    enough = _table(tmp_path / "enough.csv", *_good(59))
    gated = gate_record(_options(judged, tmp_path / "out", calibration=enough, accept_error=0.05, confidence=0.95))
    assert gated.found.chosen is not None


def test_where_nothing_can_be_shown_nothing_is_accepted(judged: Path, tmp_path: Path) -> None:
    table = _table(tmp_path / "bad.csv", *(f"c{index},0.9,0.1,p{index},0,{JUDGE}" for index in range(100)))
    gated = gate_record(_options(judged, tmp_path / "out", calibration=table))
    assert gated.accepted == ()
    assert len(gated.to_look_at) == 9
    assert "No mask is accepted" in gated.sentences[0]
    assert json.loads((tmp_path / "out" / "gate.json").read_text())["threshold"] is None
    assert (tmp_path / "out" / "accepted" / "ids.txt").read_text() == ""


def test_a_table_as_csv_and_as_lines_says_the_same(judged: Path, tmp_path: Path) -> None:
    values = [
        (f"c{index}", round(0.4 + index / 100, 2), float(index > 20), f"p{index // 2}", 0.1) for index in range(60)
    ]
    lines = [",".join((*map(str, value), JUDGE)) for value in values]
    first = _table(tmp_path / "one.csv", *lines)
    first.write_bytes(b"\xef\xbb\xbf" + first.read_bytes().replace(b"\n", b"\r\n"))
    names = ("id", "iou", "true_iou", "cluster", "novelty")
    second = write_lines(
        tmp_path / "two.jsonl", *({**dict(zip(names, value, strict=True)), "judge": JUDGE} for value in values)
    )
    first_gate, second_gate = (
        gate_record(_options(judged, tmp_path / "out", calibration=path)) for path in (first, second)
    )
    assert first_gate.found == second_gate.found
    assert first_gate.accepted == second_gate.accepted
    assert first_gate.found.usable == 30


def test_masks_that_are_never_accepted_do_not_calibrate(judged: Path, tmp_path: Path) -> None:
    header = f"{HEADER},defect"
    wrong = [f"w{index},0.99,0,q{index},0,{JUDGE},full_neg" for index in range(50)]
    none = [f"n{index},,0,r{index},0,{JUDGE},empty" for index in range(50)]
    table = _table(tmp_path / "t.csv", *(f"{line},perfect" for line in _good(30)), *wrong, *none, header=header)
    gated = gate_record(_options(judged, tmp_path / "out", calibration=table))
    assert gated.found.usable == 30
    assert gated.found.chosen is not None
    assert gated.found.chosen.masks_bad == 0


def test_another_judge_or_another_way_of_judging_is_refused(judged: Path, tmp_path: Path) -> None:
    other = _table(tmp_path / "other.csv", *(line.replace(JUDGE, "masks.cues.v2") for line in _good(40)))
    with pytest.raises(Mismatch, match=r"masks\.cues\.v2.*masks\.cues\.v1"):
        gate_record(_options(judged, tmp_path / "out", calibration=other))
    shutil.copytree(judged / "cal", tmp_path / "cal")
    original = json.loads((tmp_path / "cal" / "manifest.json").read_text())
    arguments, inputs = original["arguments"], original["inputs"]
    for change, message in (
        ({"arguments": {**arguments, "given": {**arguments["given"], "alone": True}}}, "alone was on there and is off"),
        ({"arguments": {**arguments, "given": {**arguments["given"], "evidence": "hf:sam"}}}, "evidence was hf:sam"),
        ({"arguments": {**arguments, "given": {**arguments["given"], "judge_fitted": "ab"}}}, "judge fitted was ab"),
        ({"inputs": {**inputs, "calibration": {"labels": {"digest": "ab"}}}}, "calibration was ab there and is off"),
        ({"command": "act repair"}, "repair was on there and is off here"),
    ):
        (tmp_path / "cal" / "manifest.json").write_text(json.dumps(original | change))
        with pytest.raises(Mismatch, match=message):
            gate_record(_options(judged, tmp_path / "out", calibration=tmp_path / "cal"))
    assert not (tmp_path / "out").exists()


def test_other_weights_of_the_identity_check_are_refused_in_a_short_sentence(judged: Path, tmp_path: Path) -> None:
    for name, digest in (("new", "a" * 32), ("cal", "b" * 32)):
        shutil.copytree(judged / name, tmp_path / name)
        path = tmp_path / name / "manifest.json"
        manifest = json.loads(path.read_text())
        weights = {f"part-{index}.safetensors": digest for index in range(40)}
        manifest["arguments"]["given"] |= {"identity": "identity.clip.v1", "identity_weights": weights}
        path.write_text(json.dumps(manifest))
    with pytest.raises(Mismatch, match=r"identity weights was .* there and is .* here") as error:
        gate_record(_options(judged, tmp_path / "out", folder=tmp_path / "new", calibration=tmp_path / "cal"))
    assert len(error.value.message) < 200
    assert not (tmp_path / "out").exists()


def test_frames_of_one_film_are_one_photograph(tmp_path: Path) -> None:
    source = tmp_path / "in"
    lines = []
    for number in range(14):
        save_frame(source / "frames" / f"{number}.png", seed=1)
        save_mask(source / "masks" / f"{number}.png", LEFT)
        names = {"frame": f"frames/{number}.png", "mask": f"masks/{number}.png", "clip": "film"}
        lines.append({"id": f"f{number}", **names, "truth": {"iou": 0.95}})
    write_lines(source / "items.jsonl", *lines)
    audit_folder(AuditOptions(source=source, out=tmp_path / "cal", judge=JUDGE, workers=0))
    shutil.copytree(tmp_path / "cal", tmp_path / "new")
    with pytest.raises(UsageError, match="too small: 1 photographs"):
        gate_record(_options(tmp_path, tmp_path / "out"))


def test_what_it_rests_on_stands_beside_the_numbers(judged: Path, tmp_path: Path) -> None:
    table = _table(tmp_path / "t.csv", *_good(40))
    record = ("verdicts.jsonl", "truth.jsonl")
    for calibration, files in ((judged / "cal", record), (table, ("t.csv",))):
        gate_record(_options(judged, tmp_path / "out", calibration=calibration))
        gate_json = json.loads((tmp_path / "out" / "gate.json").read_text())
        assert gate_json["version"] == VERSION
        assert gate_json["record"]["path"] == str(judged / "new")
        assert gate_json["record"]["files"] == {name: digest_file(judged / "new" / name) for name in record}
        assert gate_json["calibration"]["path"] == str(calibration)
        folder = calibration if calibration.is_dir() else calibration.parent
        assert gate_json["calibration"]["files"] == {name: digest_file(folder / name) for name in files}


def test_what_could_not_be_judged_is_handed_over_too(judged: Path, tmp_path: Path) -> None:
    shutil.copytree(judged / "new", tmp_path / "new")
    plain = {"line": None, "stage": "judge", "error": "broken", "expected": "", "hint": ""}
    failed = [{"id": name, "path": "x.png", **plain} for name in ("m200", "m30", "m200", None)]
    write_lines(tmp_path / "new" / "errors.jsonl", *failed, {"id": None, "path": "y", **plain, "stage": "truth"})
    gated = gate_record(_options(judged, tmp_path / "out", folder=tmp_path / "new"))
    folder = tmp_path / "out" / "failed"
    assert (folder / "ids.txt").read_text() == "m30\nm200\n"
    assert [row["id"] for row in rows(folder / "errors.jsonl")] == ["m200", "m30", None]
    assert "3 that could not be judged" in gated.sentences[-1]
    gate_record(_options(judged, tmp_path / "out"))
    assert (folder / "ids.txt").read_text() == ""


def test_a_table_made_from_the_record_is_pointed_out(judged: Path, tmp_path: Path) -> None:
    lines = [f"m{index},0.5,0.9,p{index},1,{JUDGE}" for index in range(100, 140)]
    gated = gate_record(_options(judged, tmp_path / "out", calibration=_table(tmp_path / "t.csv", *lines)))
    assert any(warning.startswith("8 masks of the record have an id") for warning in gated.warnings)
    others = _table(tmp_path / "o.csv", *_good(40))
    warnings = " ".join(gate_record(_options(judged, tmp_path / "out", calibration=others)).warnings)
    assert "have an id" not in warnings


def test_it_warns_of_what_may_make_the_promise_untrue(judged: Path, tmp_path: Path) -> None:
    plain = _table(tmp_path / "plain.csv", *(f"c{index},0.9,0.9" for index in range(40)), header="id,iou,true_iou")
    warnings = " ".join(gate_record(_options(judged, tmp_path / "out", calibration=plain)).warnings)
    for words in ("column cluster", "column judge", "no novelty"):
        assert words in warnings
    new_verdicts = rows(judged / "new" / "verdicts.jsonl")
    assert np.median([row["novelty"] for row in new_verdicts]) > 0.2
    known_table = _table(tmp_path / "known.csv", *_good(200, score=0.1, novelty=0.0))
    warnings = " ".join(gate_record(_options(judged, tmp_path / "out", calibration=known_table)).warnings)
    assert "looks unlike the calibration set" in warnings
    assert "says other things" in warnings
    shutil.copytree(judged / "cal", tmp_path / "cal")
    manifest = json.loads((tmp_path / "cal" / "manifest.json").read_text())
    manifest["versions"]["auscult"] = "0.0.1"
    (tmp_path / "cal" / "manifest.json").write_text(json.dumps(manifest))
    last = (tmp_path / "cal" / "truth.jsonl").read_text().splitlines()
    (tmp_path / "cal" / "truth.jsonl").write_text("\n".join(last[:-1]) + "\n")
    warnings = " ".join(gate_record(_options(judged, tmp_path / "out", calibration=tmp_path / "cal")).warnings)
    assert "by auscult 0.0.1" in warnings
    assert "1 masks of the calibration set have no true IoU" in warnings
    warnings = " ".join(gate_record(_options(judged, tmp_path / "out")).warnings)
    assert "looks unlike" not in warnings
    assert "true IoU" not in warnings


def test_masks_of_the_calibration_set_are_pointed_out(judged: Path, tmp_path: Path) -> None:
    shutil.copytree(judged / "cal", tmp_path / "same")
    gated = gate_record(_options(judged, tmp_path / "out", folder=tmp_path / "same"))
    assert any(warning.startswith("24 masks of the record are in the calibration set") for warning in gated.warnings)
    with pytest.raises(UsageError, match="its own calibration"):
        gate_record(_options(judged, tmp_path / "out", calibration=judged / "new"))


def test_a_calibration_record_that_lost_verdicts_is_refused(judged: Path, tmp_path: Path) -> None:
    cut = shutil.copytree(judged / "cal", tmp_path / "cut")
    write_lines(cut / "verdicts.jsonl", *rows(cut / "verdicts.jsonl")[:-3])
    with pytest.raises(RecordError, match="3 of 24 verdicts of the finished run are missing"):
        gate_record(_options(judged, tmp_path / "out", calibration=cut))


BROKEN = {
    "no column": ("id,iou,cluster", ["a,0.5,p"], 1, "no column true_iou"),
    "semicolons": ("id;iou;true_iou", ["a;0.5;0.5"], 1, "no column id"),
    "a cell too many": (HEADER, ["a,0.5,0.9,p,0,x,y"], 2, "7 cells"),
    "no number": (HEADER, [*_good(1), f"b,high,0.9,p,0,{JUDGE}"], 3, "'iou' is 'high'"),
    "percent": (HEADER, [*_good(1), f"b,93,0.9,p,0,{JUDGE}"], 3, "'iou' is 93"),
    "nan": (HEADER, [f"b,0.5,nan,p,0,{JUDGE}"], 2, "'true_iou' is no number"),
    "no id": (HEADER, [f",0.5,0.9,p,0,{JUDGE}"], 2, "id"),
    "id twice": (HEADER, [*_good(2), *_good(1)], 4, "line 2 already"),
    "open quote": (HEADER, [*_good(1), '"b,0.5,0.9'], 3, "broken CSV"),
    "unknown defect": (f"{HEADER},defect", [f"b,0.5,0.9,p,0,{JUDGE},fullneg"], 2, "'defect' is 'fullneg'"),
    "column twice": ("id,iou,iou,true_iou", ["a,1,1,1"], 1, "iou twice"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_table_is_refused_with_file_and_line(judged: Path, tmp_path: Path, case: str) -> None:
    header, lines, line, words = BROKEN[case]
    table = _table(tmp_path / "t.csv", *lines, header=header)
    with pytest.raises(UsageError) as error:
        gate_record(_options(judged, tmp_path / "out", calibration=table))
    assert error.value.path == str(table)
    assert error.value.line == line
    assert words in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"[1]", "no object"),
        (b'{"id": "b", "iou": 0.5}', "'true_iou' is missing"),
        (b'{"id": "b", "iou": true, "true_iou": 1}', "'iou' is true"),
        (b'{"id": "b", "iou": 1e999, "true_iou": 1}', "cannot be used"),
        (b'{"id": "b", "iou": NaN, "true_iou": 1}', "cannot be used"),
        (b'{"id": 3, "iou": 1, "true_iou": 1}', "'id' is 3"),
        (b'{"id": "b", "iou": 1' + b"0" * 400 + b', "true_iou": 1}', "'iou' is"),
        (b'{"id": "../b", "iou": 1, "true_iou": 1}', "leads out"),
        (b"[" * 100_000, "deeply"),
        (b'{"id": "b\xff"}', "UTF-8"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(judged: Path, tmp_path: Path, line: bytes, words: str) -> None:
    table = write_lines(tmp_path / "t.jsonl", {"id": "a", "iou": 0.5, "true_iou": 0.5}, line)
    with pytest.raises(UsageError, match=words) as error:
        gate_record(_options(judged, tmp_path / "out", calibration=table))
    assert error.value.line == 2


def test_files_that_are_no_calibration_set_are_refused(judged: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    shutil.copytree(judged / "cal", tmp_path / "untold")
    (tmp_path / "untold" / "truth.jsonl").unlink()
    low = _table(tmp_path / "low.csv", *_good(40))
    for path, estimate in (
        (tmp_path / "none.csv", "iou"), (tmp_path / "empty.csv", "iou"), (tmp_path / "binary.csv", "iou"),
        (tmp_path / "folder", "iou"), (tmp_path / "untold", "iou"), (low, "iou_low"),
    ):  # fmt: skip
        with pytest.raises((UsageError, RecordError)) as error:
            gate_record(_options(judged, tmp_path / "out", calibration=path, by=estimate))
        assert str(path) in str(error.value)


def test_a_record_and_a_strangers_folder_are_never_written_to(judged: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter.txt").write_text("dear diary")
    (tmp_path / "odd" / "accepted").mkdir(parents=True)
    (tmp_path / "odd" / "accepted" / "letter.txt").write_text("dear diary")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "accepted").symlink_to(tmp_path / "theirs")
    places = [tmp_path / "theirs", tmp_path / "odd", tmp_path / "linked", judged / "new", judged / "cal" / "gate"]
    for out in places:
        before = tree(judged), tree(tmp_path)
        with pytest.raises(RecordError):
            gate_record(_options(judged, out))
        assert (tree(judged), tree(tmp_path)) == before
    with pytest.raises((OutputError, RecordError)):
        gate_record(_options(judged, tmp_path / "theirs" / "letter.txt" / "x"))


@pytest.mark.parametrize(
    "change",
    [
        {"accept_error": 0.0}, {"accept_error": 1.0}, {"confidence": 1.0}, {"confidence": 0.2}, {"bad_below": 0.0},
        {"confidence": 0.69}, {"confidence": 0.72, "accept_error": 0.6},
        {"bad_below": 1.1}, {"by": "iou_high"}, {"clusters": "none"}, {"accept_error": float("nan")},
    ],
)  # fmt: skip
def test_wrong_wishes_are_refused(judged: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(AuscultError):
        gate_record(_options(judged, tmp_path / "out", **change))
    assert not (tmp_path / "out").exists()


def test_without_a_place_it_goes_beside_the_record(judged: Path) -> None:
    gated = gate_record(GateOptions(folder=judged / "new", calibration=judged / "cal", accept_error=0.2))
    assert gated.out == judged / "new-gate"
    assert (gated.out / "to-look-at" / "coco.json").is_file()
    shutil.rmtree(gated.out)
