"""`auscult run avi` with a model behind a real endpoint: once each, killed and resumed, dead, dry, dear, and no key."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from auscult.cases.avibench import AviEntry, data_json, entry_json, task_folder
from auscult.models.chat.model import ChatModel, Estimate
from auscult.record.lines import read_lines
from auscult.suites.avi import AviOptions
from auscult.suites.avi.run import run_avi
from auscult.suites.registered import SuiteRun
from chat_media import picture, sound
from chat_server import completed, error_response, serving

pytest.importorskip("openai", reason="the extra `chat` is not installed")
pytestmark = pytest.mark.extra_chat

KEY = "sk-searched-for-in-all-output-51c2"
N = 12


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions about sounds, half of whose answers are yes; a file name says the wrong answer."""
    root = tmp_path_factory.mktemp("tree")
    folder = root / task_folder("AVH")
    entries = []
    for number in range(N):
        name = f"input/wavs/answer_no_{number:02d}.wav"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        sound(folder / name, hz=200.0 + 50 * number)
        shown_path = "input/images/shown.png"
        (folder / shown_path).parent.mkdir(exist_ok=True)
        picture(folder / shown_path)
        entries.append(
            AviEntry(
                id=f"{number:05d}",
                folder="AVH",
                subtask="",
                prompt="Answer with yes, no or not sure.",
                text=f"Is sound {number} heard?",
                options=("yes", "no", "not sure"),
                answer="yes" if number % 2 else "no",
                images=(shown_path,),
                sounds=(name,),
            )
        )
    (folder / "data.json").write_bytes(data_json(map(entry_json, entries)))
    return root


def question_of(body: Any) -> str:
    content = body["messages"][-1]["content"]
    return str(content if isinstance(content, str) else content[-1]["text"])


def run(tree: Path, out: Path, url: str, **fields: Any) -> SuiteRun:
    options = {"models": ("chat:tiny",), "base_url": url, "workers": 0, "tasks": ("AVH",), **fields}
    return run_avi(AviOptions(data=tree, out=out, **options))


def rows(out: Path, model: str = "chat.tiny") -> list[dict[str, Any]]:
    return [row for row in read_lines(out / "predictions.jsonl") if row["model"] == model]


def revised(path: Path, **fields: Any) -> Path:
    """A profile that says what is served, so that the address may change."""
    path.write_text(json.dumps({"model": "tiny", "revision": "r1", "tries": 1, "timeout_s": 20.0, **fields}))
    return path


def answering(number: int, body: Any) -> bytes:
    """Always yes."""
    del number, body
    return completed("yes")


def test_each_question_is_sent_once_and_failures_are_sent_again(tree: Path, tmp_path: Path) -> None:
    out, profile = tmp_path / "out", revised(tmp_path / "p.json")

    def flaky(number: int, body: Any) -> bytes:
        del number
        return (
            error_response(400, "no")
            if "sound 3 " in question_of(body) or "sound 4 " in question_of(body)
            else completed("yes")
        )

    with serving(flaky) as first:
        suite_run = run(tree, out, first.url, profile=profile)
        assert (len(first.bodies), len(rows(out)), suite_run.summary.failed) == (N, N - 2, 2)
        assert all("answer_no" not in json.dumps(body) for body in first.bodies)
        assert {row["served"] for row in rows(out)} == {"served-1"}
    with serving(answering) as second:
        suite_run = run(tree, out, second.url, profile=profile)
        assert (suite_run.summary.failed, len(second.bodies), len(rows(out))) == (0, 2, N)
        run(tree, out, second.url, profile=profile)
        assert len(second.bodies) == 2


def test_replies_cut_at_their_limit_are_told(tree: Path, tmp_path: Path) -> None:
    def thinking(number: int, body: Any) -> bytes:
        del body
        thoughts = {"reasoning_content": "let me think"}
        return (
            completed("yes")
            if number == 0
            else completed("" if number > 1 else "ye", finish="length", message=thoughts)
        )

    with serving(thinking) as server:
        suite_run = run(tree, tmp_path / "out", server.url, profile=revised(tmp_path / "p.json"), max_connections=1)
    told = f"chat.tiny: {N - 1} of {N} replies were cut at max_tokens of the profile, and {N - 2} of these are empty"
    assert any(remark.startswith(told) for remark in suite_run.remarks)
    assert told in (tmp_path / "out" / "report.html").read_text()


def test_empty_replies_that_were_not_cut_are_told(tree: Path, tmp_path: Path) -> None:
    calls = {"tool_calls": [{"type": "function", "function": {"name": "answer", "arguments": "{}"}}]}

    def calling(number: int, _: Any) -> bytes:
        return completed(None, finish="tool_calls", message=calls) if number else completed("yes")

    with serving(calling) as server:
        suite_run = run(tree, tmp_path / "out", server.url, profile=revised(tmp_path / "p.json"), max_connections=1)
    told = f"chat.tiny: {N - 1} of {N} replies are empty, though none of them was cut"
    assert [remark.startswith(told) for remark in suite_run.remarks].count(True) == 1


def test_a_dead_endpoint_leaves_a_run_that_goes_on(tree: Path, tmp_path: Path) -> None:
    out, profile = tmp_path / "out", revised(tmp_path / "p.json")
    suite_run = run(tree, out, "http://127.0.0.1:9/v1", profile=profile, max_connections=1)
    assert suite_run.summary.failed > 0
    assert rows(out) == []
    with serving(answering) as server:
        suite_run = run(tree, out, server.url, profile=profile)
        assert (suite_run.summary.failed, len(server.bodies), len(rows(out))) == (0, N, N)


COMMAND = """
import sys
from pathlib import Path
from auscult.suites.avi import AviOptions
from auscult.suites.avi.run import run_avi
tree, out, url, profile = sys.argv[1:]
run_avi(AviOptions(data=Path(tree), out=Path(out), models=("chat:tiny",), base_url=url, profile=Path(profile),
    workers=0, tasks=("AVH",), max_connections=2))
"""


def test_kill_9_sends_nothing_twice(tree: Path, tmp_path: Path) -> None:
    out, profile = tmp_path / "out", revised(tmp_path / "p.json")

    def slow(number: int, body: Any) -> bytes:
        del body
        time.sleep(0.3 if number < 6 else 30)  # the first six are answered, and then it hangs
        return completed("yes")

    with serving(slow) as server:
        command = [sys.executable, "-c", COMMAND, str(tree), str(out), server.url, str(profile)]
        process = subprocess.Popen(command, env={**os.environ, "AUSCULT_STANDSTILL_S": "0"})
        until = time.monotonic() + 100
        while time.monotonic() < until and not ((out / "predictions.jsonl").is_file() and len(rows(out)) >= 6):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        answered_rows = rows(out)
    first_questions = {question_of(body) for body in server.bodies[:6]}
    assert len(answered_rows) == 6
    with serving(answering) as second:
        suite_run = run(tree, out, second.url, profile=profile)
    assert suite_run.summary.failed == 0
    assert len(second.bodies) == N - 6
    assert not first_questions & {question_of(body) for body in second.bodies}
    assert len(rows(out)) == N


def test_a_dry_run_counts_and_sends_nothing(tree: Path, tmp_path: Path) -> None:
    profile = revised(tmp_path / "p.json", price={"sent": 1.0, "received": 2.0}, key="A_KEY_THAT_IS_NOT_SET")
    with serving(answering) as server:
        suite_run = run(tree, tmp_path / "out", server.url, profile=profile, dry_run=True)
        assert server.bodies == []
        (table,) = suite_run.shown
        assert table.rows[0][:2] == ("chat.tiny", str(N))
        assert suite_run.summary.ok == N
        assert float(table.rows[0][4]) >= 0
        assert not (tmp_path / "out" / "requests.jsonl").exists()
        run(tree, tmp_path / "out", server.url, profile=profile)
        (table,) = run(tree, tmp_path / "out", server.url, profile=profile, dry_run=True).shown
        assert table.rows[0][1] == "0"


def test_a_dry_run_survives_one_odd_file(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed_models: list[ChatModel] = []
    estimate = ChatModel.estimate

    def odd(self: ChatModel, question: str, **media: Any) -> Estimate:
        if "sound 3 " in question:
            raise RuntimeError("a library's own error")
        return estimate(self, question, **media)

    monkeypatch.setattr(ChatModel, "estimate", odd)

    def close(self: ChatModel) -> None:
        closed_models.append(self)

    monkeypatch.setattr(ChatModel, "close", close)
    suite_run = run(tree, tmp_path / "out", "http://127.0.0.1:9/v1", profile=revised(tmp_path / "p.json"), dry_run=True)
    assert (suite_run.summary.ok, suite_run.summary.failed, len(closed_models)) == (N - 1, 1, 1)
    assert "a library's own error" in suite_run.shown[0].note


def test_a_budget_ends_the_run_and_a_larger_one_goes_on(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    profile = revised(
        tmp_path / "p.json", price={"sent": 100.0, "received": 10_000.0}, max_tokens=10, leaves_out=["images"]
    )
    with serving(answering) as server:  # each costs 12 * 1e-4 + 3 * 1e-2 = .0312 USD
        suite_run = run(tree, out, server.url, profile=profile, budget=0.3, max_connections=1)
        first = len(server.bodies)
        assert 0 < first < N
        assert first * 0.0312 <= 0.3
        assert suite_run.summary.failed > 0
        suite_run = run(tree, out, server.url, profile=profile, budget=10.0)
        assert (suite_run.summary.failed, len(server.bodies)) == (0, N)


def test_what_a_removed_folder_cost_is_not_counted(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    price = {"sent": 0.0, "received": 10_000.0}
    profile = revised(tmp_path / "p.json", price=price, max_tokens=3)  # each costs .03 USD, all of them .36
    with serving(answering) as server:
        for options in ({}, {"overwrite": True}):
            suite_run = run(tree, out, server.url, profile=profile, budget=0.4, **options)
            assert suite_run.summary.failed == 0
        assert len(server.bodies) == 2 * N


def test_replies_without_an_answer_are_written_again_once(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def script(number: int, body: Any) -> bytes:
        del number
        if body["model"] == "writer":
            return completed("yes" if "affirmative" in question_of(body) else "UNANSWERED")
        return completed("That would be affirmative." if "sound 1" in question_of(body) else "What a nice sound.")

    with serving(script) as server:
        run(tree, out, server.url, formatter="chat:writer")
        rewritten = [body for body in server.bodies if body["model"] == "writer"]
        assert len(rewritten) == 2  # two different replies
        run(tree, out, server.url, formatter="chat:writer")
        assert len([body for body in server.bodies if body["model"] == "writer"]) == 2
    answers = [row["answer"] for row in read_lines(out / "scores.jsonl") if row["model"] == "chat.tiny"]
    paths = [answer["path"] for answer in answers]
    assert (paths.count("formatter"), paths.count("unread")) == (3, N - 3)


def test_a_formatter_that_fails_makes_no_answer_wrong(tree: Path, tmp_path: Path) -> None:
    def script(number: int, body: Any) -> bytes:
        del number
        return error_response(400, "no") if body["model"] == "writer" else completed("What a nice sound.")

    with serving(script) as server:
        suite_run = run(tree, tmp_path / "out", server.url, formatter="chat:writer")
    assert suite_run.summary.failed == N


def test_the_key_is_in_no_file_and_no_output(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AUSCULT_CHAT_KEY", KEY)
    out, served_with_key = tmp_path / "out", []

    def echoing(number: int, body: Any) -> bytes:
        del body
        answers = [
            completed(f"yes, {KEY}"),
            error_response(400, f"bad key {KEY}"),
            error_response(500, KEY),
            completed(KEY),
        ]
        return answers[number % len(answers)]

    with serving(echoing) as server:
        run(tree, out, server.url, formatter="chat:writer", max_connections=2)
        served_with_key += [headers["authorization"] for headers in server.headers]
    with serving(lambda *_: error_response(401, f"wrong key {KEY}")) as server:
        run(tree, tmp_path / "refused", server.url)
    assert set(served_with_key) == {f"Bearer {KEY}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in "".join(capfd.readouterr())
