"""A small record of separated sounds, as an audit leaves it, made by hand: no judge is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from auscult.act.sound_policy import decide_sound
from auscult.cases.sounds import read_sounds, sound_line
from auscult.jobs.options import AuditOptions
from auscult.jobs.runner import finish_tables, run_manifest
from auscult.media.wav import Sound, wav_bytes
from auscult.record.folder import open_run
from auscult.record.schema import Summary, sound_verdict_to_json
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, SoundEvidence, SoundVerdict

RATE_HZ = 8000


def tone(hz: float, *, seconds: float = 0.5) -> Sound:
    """A quiet tone."""
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return Sound(samples=(0.2 * np.sin(2 * np.pi * hz * times)).astype(np.float32)[None], rate_hz=RATE_HZ)


def sound_input(folder: Path, truths: Mapping[str, Sequence[float]], *, texts: Mapping[str, str] | None = None) -> Path:
    """An INPUT: of each mixture one output for every true overall score, and a text that asks for it."""
    lines: list[dict[str, Any]] = []
    for number, (name, scores) in enumerate(truths.items()):
        files = {f"mixtures/{name}.wav": tone(300 + 20 * number)}
        for index, overall in enumerate(scores):
            files[f"separated/{name}/{index}.wav"] = tone(300 + 20 * number + 3 * (index + 1))
            truth = dict.fromkeys(PERFORMANCE, overall)
            line = {
                "id": f"{name}/{index}",
                "mixture": f"mixtures/{name}.wav",
                "separated": f"separated/{name}/{index}.wav",
            }
            lines.append({**line, "text": (texts or {}).get(name, "dog barking"), "cluster": name, "truth": truth})
        for path, sound in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(wav_bytes(sound, "int16"))
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def sound_record(
    out: Path, source: Path, score_by_id: Mapping[str, float | None], *, weakest: Mapping[str, float] | None = None
) -> Path:
    """The record of an audit of ``source`` by a judge that says ``said`` of overall, by id, with intervals of +- .5."""
    rows, items = [], read_sounds(source).items
    for item in items:
        scores: dict[str, Any] = {}
        for axis in PERFORMANCE:
            value = score_by_id[item.id]
            if value is not None and axis == "precision":
                value = (weakest or {}).get(item.id, value)
            ends = (None, None) if value is None else (max(1.0, value - 0.5), min(5.0, value + 0.5))
            scores |= {axis: value, f"{axis}_low": ends[0], f"{axis}_high": ends[1]}
        verdict = decide_sound(
            SoundVerdict(
                id=item.id,
                **scores,
                difficulty=dict.fromkeys(DIFFICULTY_AXES, 2.0),
                evidence=SoundEvidence(text=True),
                rationale="As the test says.",
                judge="sound.by_hand.v1",
            )
        )
        line = sound_line(item, home=source)
        fields = {key: line.get(key) for key in ("mixture", "separated", "text", "spans_s", "video", "cluster")}
        rows.append(sound_verdict_to_json(verdict, **fields))
    options = AuditOptions(source=source, out=out)
    with open_run(out, run_manifest("audit", options, inputs={}), overwrite=False) as run:
        run.write_lines("verdicts.jsonl", rows)
        judged_ids = {row["id"] for row in rows if row["overall"] is not None}
        truths = [{"id": item.id, **item.truth.scores} for item in items if item.truth and item.id in judged_ids]
        run.write_lines("sound_truth.jsonl", truths)
        count = {"n": len(rows), "ok": len(rows)}
        finish_tables(run, Summary(command="audit", n=len(rows), ok=len(rows), failed=0, sound=count), {})
    return out
