"""`transformers serve` with tiny models of random weights: whole runs with text, pictures and sounds, and a debate."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from auscult.agent.chat_debater import chat_debaters
from auscult.agent.debate import LOG_FILE, AgentLog, Debate, Offer, Offered, debate
from auscult.agent.knowledge.planner import BuiltInDebater
from auscult.cases.avibench import AviEntry, data_json, entry_json, task_folder
from auscult.models.chat.loading import ChatHow
from auscult.outcome import Failed
from auscult.record.lines import read_lines
from auscult.suites.avi import AviOptions
from auscult.suites.avi.run import run_avi
from chat_media import picture, sound
from chat_server import completed, serving
from small_inputs import auscult, folder_input

for package in ("openai", "fastapi", "uvicorn", "torch", "transformers", "soxr"):
    if importlib.util.find_spec(package) is None:
        pytest.skip("what `transformers serve` needs is not installed", allow_module_level=True)
pytestmark = [pytest.mark.peer, pytest.mark.slow, pytest.mark.timeout(900)]

from tiny_omni import SAYS  # noqa: E402 - torch
from tiny_served import profile, write_picture_model, write_sound_model, write_text_model  # noqa: E402 - torch

N = 3


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of any model in a folder, on loopback, without a hub."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).parent / "transformers"
    log = tmp_path_factory.mktemp("serve") / "log"
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    with log.open("wb") as out:
        command = [program, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
        process = subprocess.Popen(command, stdout=out, stderr=out, env=env)
    try:
        until = time.monotonic() + 600
        while time.monotonic() < until:
            assert process.poll() is None, log.read_text()[-2000:]
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def write_tree(root: Path) -> Path:
    """Questions with a picture and a sound each."""
    folder = root / task_folder("AVH")
    folder.mkdir(parents=True)
    entries = []
    for number in range(N):
        image_name, sound_name = f"input/images/{number}.png", f"input/wavs/{number}.wav"
        for name in (image_name, sound_name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        picture(folder / image_name, colour=60 * number, size=(40, 40))
        sound(folder / sound_name, hz=300.0 + 100 * number)
        entries.append(
            AviEntry(
                id=f"{number:05d}",
                folder="AVH",
                subtask="",
                prompt="Answer with yes, no or not sure.",
                text="Is it there?",
                options=("yes", "no", "not sure"),
                answer="yes",
                images=(image_name,),
                sounds=(sound_name,),
            )
        )
    (folder / "data.json").write_bytes(data_json(map(entry_json, entries)))
    return root


MODELS = {"text": write_text_model, "picture": write_picture_model, "sound": write_sound_model}


@pytest.mark.parametrize("kind", MODELS)
def test_a_run_from_end_to_end(url: str, tmp_path: Path, kind: str) -> None:
    folder = MODELS[kind](tmp_path / kind)
    medium = {"picture": "images", "sound": "sounds"}.get(kind)
    file = profile(tmp_path / "p.json", folder, leaves_out=[name for name in ("images", "sounds") if name != medium])
    data, out = write_tree(tmp_path / "data"), tmp_path / "out"
    suite_run = run_avi(
        AviOptions(
            data=data, out=out, models=(f"chat:{folder}",), base_url=url, profile=file, workers=1, tasks=("AVH",)
        )
    )
    errors = (out / "errors.jsonl").read_text() if (out / "errors.jsonl").exists() else ""
    assert suite_run.summary.failed == 0, errors
    rows = [row for row in read_lines(out / "predictions.jsonl") if row["model"].startswith("chat.")]
    assert len(rows) == N
    assert all(row["usage"]["tokens_out"] > 0 and row["usage"]["tokens_in"] > 10 for row in rows)
    assert (out / "report.html").is_file()


def test_a_scripted_server_and_a_real_one_judge_the_same_twelve_masks(url: str, tmp_path: Path) -> None:
    source = folder_input(tmp_path / "in", [f"{number:02d}" for number in range(12)])
    folder = write_picture_model(tmp_path / "weights", teach=True)
    fields = {"leaves_out": ["sounds"], "max_tokens": 12}
    files = {
        "real": profile(tmp_path / "real.json", folder, **fields),
        "scripted": profile(tmp_path / "scripted.json", Path("scripted"), **fields),
    }
    with serving(lambda *_: completed("".join(SAYS))) as server:
        for name, (model, address) in {"real": (folder, url), "scripted": ("scripted", server.url)}.items():
            words = ["--judge", f"chat:{model}", "--base-url", address, "--profile", files[name]]
            result = auscult("audit", source, "--out", tmp_path / name, "--text", "the dog", *words)
            assert result.code == 0, result.err
    verdicts_of = {
        name: {row["id"]: (row["iou"], row["defect"], row["action"]) for row in read_lines(record)}
        for name in files
        if (record := tmp_path / name / "verdicts.jsonl").is_file()
    }
    assert verdicts_of["real"] == verdicts_of["scripted"]
    assert list(verdicts_of["real"].values()) == [(0.5, "erode", "reject")] * 12
    prompts_of = {
        name: {row["sent"] for row in read_lines(tmp_path / name / "reply_cache.jsonl")} for name in verdicts_of
    }
    assert prompts_of["real"] == prompts_of["scripted"]


def test_a_planner_of_random_weights_is_replaced_and_it_is_said(url: str, tmp_path: Path) -> None:
    folder = write_text_model(tmp_path / "weights")
    offer = Offer(
        suite="r2",
        task="vos",
        samples=tuple(Offered(name=f"clip{number}", summary="a street at night") for number in range(7)),
        perturbations=(Offered(name="vision.fog.v1", summary="fog"), Offered(name="vision.snow.v1", summary="snow")),
        metrics=(Offered(name="J", summary="region"),),
    )
    chat_options = ChatHow(
        base_url=url, profile=profile(tmp_path / "p.json", folder), folder=tmp_path, replies=LOG_FILE
    )
    built_in = (BuiltInDebater("operator"), BuiltInDebater("guardian"))
    for fallbacks in (None, built_in):
        log = AgentLog(tmp_path)
        operator, guardian = chat_debaters(str(folder), how=chat_options, log=log, fallbacks=fallbacks)
        result = debate(operator, guardian, instruction="outdoors at night", offer=offer, rounds=1, log=log)
        operator.close()
        if fallbacks is None:
            assert isinstance(result, Failed)
            assert result.error.stage == "reply"
    alone = debate(*built_in, instruction="outdoors at night", offer=offer, rounds=1, log=AgentLog())
    assert isinstance(result, Debate)
    assert isinstance(alone, Debate)
    assert result.proposal == alone.proposal
    assert sum("can be read" in remark for remark in result.remarks) >= 3
    replies = [row for row in read_lines(tmp_path / LOG_FILE) if row["kind"] == "message"]
    assert len({row["key"] for row in replies}) == len(replies) >= 6
    assert all(row["answered"] == 0 for row in read_lines(tmp_path / LOG_FILE) if row["kind"] == "parse")
