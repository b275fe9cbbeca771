"""`inspect eval auscult/avi` with Inspect's mock model: its numbers are those of `auscult run avi`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auscult.cases.avibench import AviEntry, data_json, entry_json, task_folder
from auscult.suites.avi import AviOptions
from auscult.suites.avi.run import run_avi
from chat_media import sound

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
pytestmark = [pytest.mark.extra_inspect, pytest.mark.filterwarnings("default")]

REPLIES = ["yes", "No.", "I think it is yes", "not sure", "no idea, maybe", "yes", "no", "{}"]
MODEL = """
REPLIES = {replies!r}


def answer(question, *, images, sounds, video):
    return REPLIES[int(question.rpartition("sound ")[2].partition(" ")[0])]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree" / task_folder("AVH")
    (root / "input/wavs").mkdir(parents=True)
    entries = []
    for number in range(len(REPLIES)):
        name = f"input/wavs/{number}.wav"
        sound(root / name, hz=200.0 + 50 * number)
        entries.append(
            AviEntry(
                id=f"{number:05d}",
                folder="AVH",
                subtask="",
                prompt="Answer with yes, no or not sure.",
                text=f"Is sound {number} heard?",
                options=("yes", "no", "not sure"),
                answer="yes" if number % 3 else "no",
                sounds=(name,),
            )
        )
    (root / "data.json").write_bytes(data_json(map(entry_json, entries)))
    return tmp_path / "tree"


def by_metric(cells: list[dict[str, Any]], model: str) -> dict[str, float]:
    levels = [
        cell for cell in cells if cell["model"] == model and cell["measure"] == "level" and cell["value"] is not None
    ]
    return {level["metric"]: level["value"] for level in levels}


def test_the_numbers_are_ours(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, get_model

    # Its mock model counts tokens with a table that is fetched.
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", lambda text: len(text) // 4)
    outputs = [ModelOutput.from_content("mockllm/model", reply) for reply in REPLIES]
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = evaluate(
        "auscult/avi",
        model=model,
        task_args={"data": str(tree)},
        log_dir=str(tmp_path / "logs"),
        display="none",
        max_connections=1,
        max_samples=1,
    )
    assert log.status == "success", log.error
    assert log.results is not None
    (task_score,) = log.results.scores
    metrics_of_log = {name: metric.value for name, metric in task_score.metrics.items()}
    file = tmp_path / "model.py"
    file.write_text(MODEL.format(replies=REPLIES))
    out = tmp_path / "out"
    run_avi(AviOptions(data=tree, out=out, models=(f"{file}:answer",), workers=0))
    cells = json.loads((out / "cells.json").read_text())
    rows = cells["rows"] if isinstance(cells, dict) else cells
    name = next(row["model"] for row in rows if row["model"].startswith("model"))
    suite_values = by_metric(rows, name)
    assert suite_values["AVH"] == pytest.approx(3 / 8)  # the third, the sixth and the seventh
    assert {key: metrics_of_log[key] for key in suite_values} == pytest.approx(suite_values)
