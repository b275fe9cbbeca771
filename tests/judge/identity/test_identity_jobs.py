"""`auscult audit --identity`: what a check finds is in the record, and what it cannot tell is said."""

from __future__ import annotations

import json
import sys
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import auscult
import small_inputs
from auscult.cases.listing import list_items
from auscult.errors import AuscultError, InputError, Mismatch, UnknownName, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.judging import Checker, identity_arguments, load_identity
from auscult.jobs.options import AuditOptions
from auscult.judge.identity.scenes import IDENTITY as SCENES
from auscult.judge.identity.scenes import NETWORK, WORDS
from auscult.record.reader import read_run
from auscult.types import Case, Evidence, Metadata, Prediction, Query, Verdict
from small_inputs import LEFT, RIGHT, picture, save_frame, save_mask, write_lines

CUES = "masks.cues.v1"
_MODULE = '''
import os

from auscult.errors import InputError
from auscult.types import Identity, Metadata


class Check:
    """Says what the expression tells it to say, and writes down what it heard."""

    name = "identity.plugged.v1"
    meta = Metadata(summary="a test's check", goal="none", modality="image", source="none")

    def __call__(self, case, prediction):
        text = case.query.text or ""
        if text == "refuse":
            raise InputError("this check does not like it", expected="another", hint="leave it out")
        if text == "raise":
            raise ZeroDivisionError("division by zero")
        log = os.environ.get("PLUGGED_LOG")
        if log:
            heard = None if case.sound is None else [list(case.sound.shape), case.rate_hz, case.time_s]
            with open(log, "a", encoding="utf-8") as file:
                print(heard, file=file)
        if not text.startswith("match "):
            return None
        return Identity(match=float(text[6:]), target="car", distractor="bus", sound=case.sound is not None)


IDENTITY = Check()
'''


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    site = tmp_path / "site"
    info = site / "plugged_identity-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "plugged_identity.py").write_text(_MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-identity\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[auscult.identities]\nidentity.plugged.v1 = plugged_identity:IDENTITY\n")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PLUGGED_LOG", str(tmp_path / "heard.txt"))
    yield "identity.plugged.v1"
    sys.modules.pop("plugged_identity", None)


def _sound(path: Path, seconds: float = 0.5) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(np.zeros(int(8000 * seconds), np.int16).tobytes())
    return path


def _input(source: Path, *lines: dict[str, object]) -> Path:
    save_frame(source / "frame.png")
    save_mask(source / "left.png", LEFT)
    save_mask(source / "right.png", RIGHT)
    shared = {"frame": "frame.png", "mask": "left.png"}
    return write_lines(source / "items.jsonl", *({**shared, **line} for line in lines))


def _audit(source: Path, out: Path, *, identity: str | None, workers: int = 0) -> dict[str, Verdict]:
    audit_folder(AuditOptions(source=source, out=out, judge=CUES, identity=identity, workers=workers))
    return {verdict.id: verdict for verdict, _ in read_run(out).verdicts}


def test_what_the_check_finds_and_cannot_find_is_in_the_record(plugged: str, tmp_path: Path) -> None:
    source = _input(
        tmp_path / "in",
        {"id": "yes", "text": "match 0.99"},
        {"id": "no", "text": "match 0.01"},
        {"id": "none", "text": "who knows"},
        {"id": "wordless"},
        {"id": "refused", "text": "refuse"},
        {"id": "broken", "text": "raise"},
    )
    verdicts = _audit(source, tmp_path / "out", identity=plugged)
    assert verdicts["no"].defect == "full_neg"
    assert (verdicts["no"].target, verdicts["no"].distractor) == ("car", "bus")
    assert verdicts["no"].action == "reject"
    assert verdicts["yes"].defect != "full_neg"
    assert {name: verdict.evidence.identity for name, verdict in verdicts.items()} == {
        "yes": True,
        "no": True,
        "none": False,
        "wordless": False,
        "refused": False,
    }
    assert verdicts["none"].rationale.endswith("Identity not checked: the check cannot tell from these words.")
    assert verdicts["wordless"].rationale.endswith("Identity not checked: there is no expression.")
    assert verdicts["refused"].rationale.endswith("Identity not checked: this check does not like it.")
    run = read_run(tmp_path / "out")
    assert [row["id"] for row in run.lines("errors.jsonl")] == ["broken"]  # a check that crashes is no yes either
    assert run.manifest["arguments"]["defaulted"]["identity"] == plugged


def test_without_a_check_nothing_changes(plugged: str, tmp_path: Path) -> None:
    source = _input(tmp_path / "in", {"id": "a", "text": "match 0.01", "audio": "none.wav"})
    verdict = _audit(source, tmp_path / "out", identity=None)["a"]
    assert verdict.defect != "full_neg"
    assert not verdict.evidence.identity
    assert "not checked" in verdict.rationale
    arguments = read_run(tmp_path / "out").manifest["arguments"]
    assert "identity" not in {**arguments["given"], **arguments["defaulted"]}


def test_a_clips_sound_reaches_the_check_and_is_opened_once(
    plugged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from auscult.jobs import judging

    paths_opened = []
    plain = judging.read_sound
    monkeypatch.setattr(
        judging, "read_sound", lambda path, **options: paths_opened.append(path) or plain(path, **options)
    )
    _sound(tmp_path / "in" / "a.wav")
    lines = [{"id": f"v/{n}", "text": "match 0.9", "audio": "a.wav", "time_s": n, "clip": "v"} for n in range(3)]
    verdicts = _audit(_input(tmp_path / "in", *lines), tmp_path / "out", identity=plugged)
    assert all(verdict.evidence.sound for verdict in verdicts.values())
    assert len(paths_opened) == 1
    heard_lines = (tmp_path / "heard.txt").read_text().splitlines()
    assert heard_lines == [str([[1, 4000], 8000, float(n)]) for n in range(3)]


def test_a_sound_that_cannot_be_read_is_told_and_costs_no_mask(plugged: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bad.wav").write_bytes(b"RIFF....WAVEnothing")
    source = _input(
        tmp_path / "in",
        {"id": "gone", "text": "match 0.9", "audio": "gone.wav"},
        {"id": "bad", "text": "match 0.9", "audio": "bad.wav"},
    )
    for verdict in _audit(source, tmp_path / "out", identity=plugged).values():
        assert not verdict.evidence.identity
        assert "Identity not checked: its sound cannot be used" in verdict.rationale


def test_a_sound_that_changed_since_is_noticed_on_resume(plugged: str, tmp_path: Path) -> None:
    _sound(tmp_path / "in" / "a.wav")
    source = _input(tmp_path / "in", {"id": "a", "text": "match 0.9", "audio": "a.wav"})
    _audit(source, tmp_path / "out", identity=plugged)
    assert len(_audit(source, tmp_path / "out", identity=plugged)) == 1
    _audit(source, tmp_path / "deaf", identity=None)
    _sound(tmp_path / "in" / "a.wav", seconds=0.6)
    with pytest.raises(Mismatch, match="sound"):
        _audit(source, tmp_path / "out", identity=plugged)
    assert len(_audit(source, tmp_path / "deaf", identity=None)) == 1  # what nobody listened to may change


def test_another_check_does_not_go_on_in_the_same_folder(plugged: str, tmp_path: Path) -> None:
    source = _input(tmp_path / "in", {"id": "a", "text": "match 0.9"})
    _audit(source, tmp_path / "out", identity=None)
    with pytest.raises(Mismatch):
        _audit(source, tmp_path / "out", identity=plugged)


@pytest.mark.slow
def test_worker_processes_give_the_same_verdicts(plugged: str, tmp_path: Path) -> None:
    source = _input(tmp_path / "in", {"id": "a", "text": "match 0.4"}, {"id": "b", "text": "?"})
    in_process = _audit(source, tmp_path / "here", identity=plugged)
    in_workers = _audit(source, tmp_path / "there", identity=plugged, workers=1)
    plain = [
        {name: (v.iou, v.defect, v.rationale) for name, v in verdicts.items()} for verdicts in (in_process, in_workers)
    ]
    assert plain[0] == plain[1]


def test_the_command_takes_a_check_by_its_short_name(plugged: str, tmp_path: Path) -> None:
    source = _input(tmp_path / "in", {"id": "a", "text": "match 0.01"})
    out = tmp_path / "out"
    result = small_inputs.auscult(
        "audit", source, "--out", out, "--judge", CUES, "--identity", "plugged", "--json", "--workers", 1
    )
    assert result.code == 0
    ((verdict, _),) = read_run(out).verdicts
    assert verdict.defect == "full_neg"
    listing = small_inputs.auscult("list", "identity", "--json")
    assert plugged in {row["name"] for row in json.loads(listing.out)}


def test_weights_need_a_check_that_takes_them(plugged: str, tmp_path: Path) -> None:
    source = _input(tmp_path / "in", {"id": "a"})
    with pytest.raises(UsageError, match="brings its own weights"):
        load_identity(plugged, tmp_path)
    options = AuditOptions(source=source, out=tmp_path / "out", judge=CUES, identity_weights=tmp_path, workers=0)
    with pytest.raises(UsageError, match="no check"):
        audit_folder(options)
    with pytest.raises(UnknownName, match="there is no identity 'plug'"):
        audit_folder(AuditOptions(source=source, out=tmp_path / "out", judge=CUES, identity="plug", workers=0))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damaged", [False, True], ids=["missing", "damaged"])
def test_weights_that_cannot_be_used_end_the_command(
    damaged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "weights"
    if damaged:
        folder.mkdir()
        (folder / NETWORK).write_bytes(b"no network")
        (folder / WORDS).write_text("{}")
    monkeypatch.setattr(SCENES, "_weights", folder)
    source = _input(tmp_path / "in", {"id": "a", "text": "the dog"})
    result = small_inputs.auscult(
        "audit", source, "--out", tmp_path / "out", "--judge", CUES, "--identity", "scenes", "--workers", 1
    )
    assert result.code == 2
    assert NETWORK in result.err
    assert "scenes-identity" in result.err
    assert not (tmp_path / "out" / "verdicts.jsonl").exists()
    with pytest.raises(UsageError):
        identity_arguments("scenes", None)


class _Raises:
    """Raises the same error for every item."""

    name = "identity.raises.v1"
    meta = Metadata(summary="a test's check", goal="none", modality="image", source="none")

    def __init__(self, error: AuscultError | None) -> None:
        self.error = error
        self.n_requests = 0

    def __call__(self, _case: Case, _prediction: Prediction) -> None:
        self.n_requests += 1
        if self.error is not None:
            raise self.error


def _rationale_of(checker: Checker, mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]], text: str | None) -> str:
    verdict = Verdict(
        id="a",
        iou=0.9,
        iou_low=0.8,
        iou_high=1.0,
        defect="perfect",
        defect_probs={"perfect": 1.0},
        evidence=Evidence(),
        rationale="Seen.",
        judge=CUES,
    )
    case = Case(id="a", frame=picture(), query=Query(text))
    return checker.joined(verdict, case, prediction=Prediction(mask)).rationale


def test_a_check_that_cannot_be_used_is_asked_once() -> None:
    failing, picky = _Raises(UsageError("the weights are lost")), _Raises(InputError("not this one"))
    for check, times in ((failing, 1), (picky, 3)):
        checker = Checker(check)
        rationales = {_rationale_of(checker, LEFT, "the dog") for _ in range(3)}
        assert check.n_requests == times
        assert rationales == {f"Seen. Identity not checked: {check.error}."}


@pytest.mark.parametrize(
    ("mask", "text", "reason"),
    [
        (LEFT, "  ", "there is no expression"),
        (np.zeros_like(LEFT), "the dog", "nothing is segmented"),
        (np.ones_like(LEFT), "the dog", "the mask is the whole frame"),
        (LEFT, "the dog", "the check cannot tell from these words"),
    ],
)
def test_why_nothing_was_found_is_said(
    mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]], text: str, reason: str
) -> None:
    assert _rationale_of(Checker(_Raises(None)), mask, text) == f"Seen. Identity not checked: {reason}."


def test_python_takes_a_check_by_name(plugged: str, tmp_path: Path) -> None:
    verdict = auscult.audit_mask(picture(), LEFT, text="match 0.02", judge=CUES, identity="plugged")
    assert verdict.defect == "full_neg"
    listing = list_items(_input(tmp_path / "in", {"id": "a", "text": "match 0.02"}))
    (audited,) = auscult.audit(listing.items, judge=CUES, identity="plugged")
    assert isinstance(audited, Verdict)
    assert audited.defect == "full_neg"
