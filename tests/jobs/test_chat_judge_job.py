"""`auscult audit --judge chat:...` against a real endpoint: once each, probed, resumed, dear, dead, and no key."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from auscult.jobs.probes import SCENES, probed_scene
from auscult.judge.masks.chat import question
from auscult.media.frames import decode_frame
from chat_server import completed, error_response, serving
from small_inputs import LEFT, RIGHT, auscult, folder_input, rows, save_mask, tree

pytest.importorskip("openai", reason="the extra `chat` is not installed")
pytestmark = pytest.mark.extra_chat

KEY = "sk-searched-for-in-all-output-7d1e"
PROBED = 3 * SCENES  # an empty mask asks nobody


MODEL = """
import numpy as np

def predict(frames, query):
    rows, columns = np.ogrid[:48, :64]
    found = ((rows - 24) / 14) ** 2 + ((columns - 18) / 11) ** 2 <= 1
    return np.repeat(found[None], len(frames), axis=0)
"""


def filled_form(iou, kind, action="Accept"):
    return f"<audit> Words. <iou> {iou} </iou> <mask_type> {kind} </mask_type> <action> {action} </action> </audit>"


def content(body):
    return body["messages"][-1]["content"]


def mask_of(body):
    picture = content(body)[1]["image_url"]["url"].partition(",")[2]
    return decode_frame(b64decode(picture), path=Path("mask.png"))[..., 0] > 127


class Seer:
    """Replies of a model that sees: of the probes' scenes it knows the true masks."""

    def __init__(self):
        scenes = [probed_scene(number) for number in range(SCENES)]
        self.known = {scene.text: scene.masks["perfect"] for scene in scenes}

    def __call__(self, _, body):
        text, mask = content(body)[-1]["text"], mask_of(body)
        true = next((true_mask for words, true_mask in self.known.items() if f'"{words}"' in text), LEFT)
        if true.shape != mask.shape:
            return completed(filled_form(0, "full_neg"))
        iou = float((mask & true).sum() / (mask | true).sum())
        return completed(filled_form(round(iou, 4), "perfect" if iou > 0.9 else "full_neg" if iou < 0.1 else "erode"))


@pytest.fixture(scope="module")
def seer():
    return Seer()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("AUSCULT_CHAT_KEY", KEY)


def audit(source, out, url, *arguments, judge="chat:tiny", code=0):
    result = auscult("audit", source, "--judge", judge, "--base-url", url, "--out", out, *arguments)
    assert result.code == code, result.err + result.out
    return result


def test_masks_are_judged_once_and_the_record_holds_what_was_said(tmp_path, seer) -> None:
    source, out = folder_input(tmp_path / "in", ("a", "secret_perfect", "c")), tmp_path / "out"
    save_mask(source / "masks" / "secret_perfect.png", np.zeros(LEFT.shape, np.bool_))
    with serving(seer) as server:
        audit(source, out, server.url, "--text", "the dog")
        assert len(server.bodies) == PROBED + 2
        audit(source, out, server.url, "--text", "the dog")
        (out / "verdicts.jsonl").write_bytes(b"")  # as if killed between a reply and its verdict
        audit(source, out, server.url, "--text", "the dog", "--max-connections", "3")
        assert len(server.bodies) == PROBED + 2
        sent_text = json.dumps(server.bodies)
    assert "secret" not in sent_text
    assert str(tmp_path) not in sent_text
    verdict_of = {row["id"]: row for row in rows(out / "verdicts.jsonl")}
    assert {name: (row["defect"], row["iou"]) for name, row in verdict_of.items()} == {
        "a": ("perfect", 1.0), "c": ("perfect", 1.0), "secret_perfect": ("empty", None),
    }  # fmt: skip
    assert verdict_of["a"]["own_action"] == "accept"
    assert verdict_of["a"]["evidence"] == {"shape": True, "boundary": True, "identity": True, "sound": False}
    replies = rows(out / "reply_cache.jsonl")
    assert len(replies) == PROBED + 2
    assert all("the mask" in row["sent"] and row["usage"]["tokens_in"] == 12 for row in replies)
    assert all(KEY.encode() not in data for data in tree(out).values() if isinstance(data, bytes))
    card = json.loads((out / "judge_card.json").read_text())
    first = next(row for row in card["results"] if row["metric"] == "true_mask_first")
    assert (first["value"], first["n"]) == (1.0, SCENES)
    assert first["low"] > 1 / 3
    assert 'class="alarm"' not in (out / "report.html").read_text()


def test_a_judge_at_chance_is_said_so_in_red_and_what_holds_no_verdict_is_counted(tmp_path) -> None:
    source, out = folder_input(tmp_path / "in", ("a", "b")), tmp_path / "out"
    with serving(
        lambda number, _: completed("It looks fine." if number % 2 else filled_form(0.9, "perfect"))
    ) as server:
        result = audit(source, out, server.url, "--max-connections", "1")
    assert "not above chance" in result.err
    assert '<p class="alarm" role="alert">This judge is not above chance' in (out / "report.html").read_text()
    unjudged = [row for row in rows(out / "verdicts.jsonl") if row["action"] == "unjudged"]
    assert [(row["iou"], row["usage"]["unparsed"]) for row in unjudged] == [(None, 1)]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["by_action"]["unjudged"] == 1
    assert (summary["metrics"]["unparsed"]["value"], summary["metrics"]["unparsed"]["n"]) == (0.5, 2)


def test_failed_probes_are_no_items(tmp_path, seer) -> None:
    source, out = folder_input(tmp_path / "in", ("a", "b")), tmp_path / "out"

    def refusing_probes(number, body):
        text = content(body)[-1]["text"]
        return error_response(400, "no") if any(f'"{words}"' in text for words in seer.known) else seer(number, body)

    with serving(refusing_probes) as server:
        result = audit(source, out, server.url, "--text", "the dog")
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["n"], summary["ok"], summary["failed"]) == (2, 2, 0)
    assert f"{SCENES} remarks" in result.err
    assert "the first: probe " in result.err


def test_any_judge_can_be_probed(tmp_path) -> None:
    source, out = folder_input(tmp_path / "in", ("a",)), tmp_path / "out"
    result = auscult("audit", source, "--judge", "cues", "--probe", "--out", out, "--workers", "1")
    assert result.code == 0, result.err
    assert len(rows(out / "probes.jsonl")) == 4 * SCENES
    alarm = "does not tell the named object from another"
    assert alarm in result.err  # it reads no words
    assert alarm in auscult("act", "filter", out, "--out", tmp_path / "filtered").err
    repaired = auscult("act", "repair", out, "--out", tmp_path / "repaired", "--workers", "1")
    assert alarm in repaired.err
    assert alarm in (tmp_path / "repaired" / "report.html").read_text()


@pytest.mark.slow
def test_several_models_and_samples_are_combined_and_json_is_enforced(tmp_path) -> None:
    source, out, profiles = folder_input(tmp_path / "in", ("a",)), tmp_path / "out", tmp_path / "profiles"
    profiles.mkdir()
    (profiles / "x.json").write_text(json.dumps({"model": "x", "json": "schema", "revision": "r"}))

    def script(_, body):
        if body["model"] == "x":
            assert body["response_format"]["json_schema"]["schema"]["required"]
            return completed(json.dumps({"iou": 0.9 - 0.01 * (body["seed"] - 42), "mask_type": "perfect"}))
        assert "response_format" not in body
        return completed(filled_form(0.5, "erode"))

    with serving(script) as server:
        audit(source, out, server.url, "--samples", "3", "--profile", profiles, judge="chat:x+y")
        assert len(server.bodies) == 6 * (PROBED // 3 * 3 + 1)
        assert {(body["model"], body["seed"], body["temperature"]) for body in server.bodies} == {
            (name, seed, 0.7) for name in "xy" for seed in (42, 43, 44)
        }
    [row] = rows(out / "verdicts.jsonl")
    assert row["judge"] == "chat.x+y"
    assert row["iou"] == pytest.approx((0.89 + 0.5) / 2)
    assert row["iou_low"] == pytest.approx(0.5)
    assert row["iou_high"] == pytest.approx(0.9, abs=0.01)
    assert "disagree" in row["rationale"]
    assert row["usage"]["requests"] == 6


@pytest.mark.slow
def test_a_spent_budget_stops_asking_and_a_larger_one_goes_on(tmp_path, seer) -> None:
    source, out, profile = folder_input(tmp_path / "in", ("a", "b")), tmp_path / "out", tmp_path / "p.json"
    price = {"sent": 1000.0, "received": 1000.0}
    tokens = {"picture": 1, "sound_second": 1, "video_second": 1}
    profile.write_text(json.dumps({"model": "tiny", "max_tokens": 10, "price": price, "tokens": tokens}))
    budget_usd = 0.001 * (
        len(question("the yellow bus", frames=0, heard=False)) + 200
    )  # one request, and a few replies
    with serving(seer) as server:
        result = audit(source, out, server.url, "--profile", profile, "--budget", f"{budget_usd:.3f}", code=1)
        n_requests = len(server.bodies)
        assert n_requests < PROBED + 2
        assert "budget" in result.err + (out / "errors.jsonl").read_text()
        audit(source, out, server.url, "--profile", profile, "--budget", "500")
        assert len(server.bodies) == PROBED + 2  # nothing twice
    assert rows(out / "verdicts.jsonl")[0]["usage"]["cost"] == pytest.approx(0.015)


@pytest.mark.slow
def test_an_endpoint_that_refuses_costs_no_score(tmp_path) -> None:
    source, out = folder_input(tmp_path / "in", ("a", "b")), tmp_path / "out"
    with serving(lambda *_: error_response(401, f"bad key {KEY}")) as server:
        audit(source, out, server.url, code=1)
        assert len(server.bodies) <= 8 + 2
    assert rows(out / "verdicts.jsonl") == []
    failed = [row for row in rows(out / "errors.jsonl") if row["id"]]
    assert {row["id"] for row in failed} == {"a", "b"}
    assert KEY not in (out / "errors.jsonl").read_text()


def test_what_cannot_be_asked_is_an_error_before_the_run(tmp_path) -> None:
    source = folder_input(tmp_path / "in", ("a",))
    profile = tmp_path / "blind.json"
    profile.write_text(json.dumps({"model": "blind", "images": "none"}))
    for words, message in [
        (("--judge", "chat:mine"), "not known where mine answers"),
        (("--judge", "chat:blind", "--profile", str(profile), "--base-url", "http://127.0.0.1:9/v1"), "no pictures"),
        (("--judge", "chat:hf:/nowhere"), "expected: chat:hf:FOLDER"),
        (("--judge", "chat:", "--base-url", "http://127.0.0.1:9/v1"), "each of its models once"),
        (("--judge", "chat:a+a", "--base-url", "http://127.0.0.1:9/v1"), "--samples K"),
        (("--judge", f"replies:{source}", "--probe"), "cannot be probed"),
    ]:
        result = auscult("audit", source, "--out", tmp_path / "out", *words)
        assert result.code == 2, result.err
        assert message in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_interrupted_and_resumed_nothing_is_paid_twice(tmp_path, seer) -> None:
    source, out = folder_input(tmp_path / "in", [f"{n:02d}" for n in range(30)]), tmp_path / "out"

    def slowly(number, body):
        time.sleep(0.2)
        return seer(number, body)

    words = ["audit", str(source), "--judge", "chat:tiny", "--out", str(out), "--max-connections", "2", "--quiet"]
    with serving(slowly) as server:
        command = [sys.executable, "-m", "auscult", *words, "--base-url", server.url]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=dict(os.environ))
        while len(server.bodies) < PROBED + 8:
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        assert running.returncode != 0
        assert len(rows(out / "reply_cache.jsonl")) == len(server.bodies) < PROBED + 30
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        assert len(server.bodies) == PROBED + 30
    assert len(rows(out / "verdicts.jsonl")) == 30


def test_repair_asks_the_record_s_chat_model_about_each_attempt_once(tmp_path, seer) -> None:
    source, out, fixed = folder_input(tmp_path / "in", ("a", "b", "c")), tmp_path / "out", tmp_path / "repaired"
    holed = LEFT.copy()
    holed[20:28, 14:22] = False
    save_mask(source / "masks" / "a.png", holed)  # "b" is another object, "c" is right
    (tmp_path / "model.py").write_text(MODEL)
    words = ["--samples", "2", "--max-connections", "3"]
    with serving(seer) as server:
        audit(source, out, server.url, "--text", "the dog", *words)
        n_requests = len(server.bodies)
        words = ["act", "repair", out, "--out", fixed, "--model", f"{tmp_path / 'model.py'}:predict", *words]
        result = auscult(*words)
        assert result.code == 2, result.out
        assert "name it as the audit did" in result.err
        words += ["--judge", "chat:tiny", "--base-url", server.url]
        for _ in range(2):
            result = auscult(*words)
            assert result.code == 0, result.err
            repairs = rows(fixed / "repairs.jsonl")
            assert len(server.bodies) == n_requests + 2 * sum(
                "verdict" in attempt for row in repairs for attempt in row["attempts"]
            )
    assert {row["id"]: row["kept"] for row in repairs} == {"a": "fill", "b": "anew_expression"}
    verdict_of = {row["id"]: (row["judge"], row["iou"], row["action"]) for row in rows(fixed / "verdicts.jsonl")}
    assert verdict_of == dict.fromkeys("abc", ("chat.tiny", 1.0, "accept"))


def test_repair_tries_again_what_its_judge_could_not_be_asked_about(tmp_path, seer) -> None:
    source, out, fixed = folder_input(tmp_path / "in", ("a",)), tmp_path / "out", tmp_path / "repaired"
    save_mask(source / "masks" / "a.png", RIGHT)
    (tmp_path / "model.py").write_text(MODEL)
    options = ["--model", f"{tmp_path / 'model.py'}:predict", "--judge", "chat:tiny", "--base-url"]
    refusing = []
    with serving(lambda *arguments: error_response(401, "bad key") if refusing else seer(*arguments)) as server:
        audit(source, out, server.url, "--text", "the dog")
        refusing.append(True)
        result = auscult("act", "repair", out, "--out", fixed, *options, server.url)
        assert result.code == 1, result.out
        assert rows(fixed / "repairs.jsonl") == []
        refusing.clear()
        assert auscult("act", "repair", out, "--out", fixed, *options, server.url).code == 0
    assert [row["kept"] for row in rows(fixed / "repairs.jsonl")] == ["anew_expression"]


@pytest.mark.slow
def test_run_mqa_compares_a_chat_judge_and_names_one_at_chance(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.RANK_DRAWS", 5)
    out = tmp_path / "out"
    words = ["run", "mqa", "--data", "scenes", "--count", "2", "--protocol", "image", "--out", out, "--workers", "1"]

    def script(number, _):
        return completed("I cannot tell." if number % 5 == 0 else filled_form(0.8, "erode", "Minor Revision"))

    with serving(script) as server:
        result = auscult(*words, "--judge", "cues", "--judge", "chat:tiny", "--base-url", server.url)
        assert result.code == 0, result.err
        n_requests = len(server.bodies)
        auscult(*words, "--judge", "cues", "--judge", "chat:tiny", "--base-url", server.url)
        assert len(server.bodies) == n_requests
    page = (out / "report.html").read_text()
    assert '<p class="alarm" role="alert">chat.tiny: This judge is not above chance' in page
    cells = [cell for cell in json.loads((out / "cells.json").read_text()) if cell.get("judge") == "chat.tiny"]
    assert any(cell.get("unparsed") for cell in cells)
