"""Batches 2 and 3 of ratings, chosen by a judge: outputs are audited, and simulated people rate what it chose."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from auscult.cases.sounds import read_sounds
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.jobs.ratings import (
    BatchOptions,
    ImportOptions,
    QualifyOptions,
    TasksOptions,
    deal_tasks,
    draw_batch,
    import_ratings,
    qualify,
)
from auscult.jobs.sound_input import true_scores
from auscult.media.wav import encode_wav
from auscult.rng import generator
from auscult.score.raters import entropy_bits
from auscult.types import PERFORMANCE
from simulated_raters import Pool, PoolPlan, simulate_pool
from small_inputs import rows

RATE_HZ = 8000
OUTPUTS = 40


@pytest.fixture(scope="module")
def separated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs of mixtures of a beeping tone and noise, most of them bad: people find few that are good or fair."""
    folder, rng = tmp_path_factory.mktemp("judged"), generator(8, "separated")
    time_s = np.arange(2 * RATE_HZ) / RATE_HZ
    lines = []
    for index in range(OUTPUTS):
        tone = 0.3 * np.sin(2 * np.pi * (300 + 40 * index) * time_s) * (np.sin(4 * np.pi * time_s) > 0)
        noise = 0.2 * rng.normal(size=time_s.size).clip(-2, 2)
        noise_gain = 1.0 if index % 4 else 0.02 * 4 ** (index % 3)
        sounds = {"mix": tone + noise, "stem": tone, "out": (0.3 if index % 4 else 1.0) * tone + noise_gain * noise}
        for name, sound in sounds.items():
            (folder / f"{name}{index}.wav").write_bytes(encode_wav(sound.clip(-1, 1).astype(np.float32), RATE_HZ))
        spans = [["+", start, start + 0.25] for start in np.arange(0, 2, 0.5).tolist()]
        line = {"id": f"o{index}", "mixture": f"mix{index}.wav", "separated": f"out{index}.wav", "text": "beep"}
        lines.append({**line, "spans_s": spans, "domain": "sound", "truth": {"stem": f"stem{index}.wav"}})
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def _ids_of_batch(folder: Path) -> list[str]:
    with (folder / "batch.csv").open(newline="") as file:
        return [row["id"] for row in csv.DictReader(file)]


def _rate(pool: Pool, truths: dict[str, float], tasks: Path) -> Path:
    """What the pool's people say of the sounds in their tasks: as each said of a golden item that is as good."""
    with (tasks / "key.csv").open(newline="") as file:
        ids = {row["item"]: row["id"] for row in csv.DictReader(file)}
    lines = ["item,rater,recall,precision,faithfulness,overall"]
    for path in sorted((tasks / "tasks").glob("*.json")):
        rater = int("".join(filter(str.isdigit, path.stem)))
        for number, task in enumerate(json.loads(path.read_text())):
            name = task["data"]["item"]
            equal_scores = np.flatnonzero(pool.truth == round(truths[ids[name]]))
            rating = int(pool.ratings[rater, equal_scores[number % equal_scores.size]])
            lines.append(f"{name},{path.stem},{rating},{rating},{rating},{rating}")
    (tasks / "ratings.csv").write_text("\n".join(lines) + "\n")
    return tasks / "ratings.csv"


@pytest.mark.slow
def test_a_judge_chooses_what_people_rate_next(separated: Path, tmp_path: Path) -> None:
    audit_folder(AuditOptions(source=separated, out=tmp_path / "rec", sound_judge="sound.compact.v1", workers=0))
    truths = {item.id: true_scores(item)["overall"] for item in read_sounds(separated).items}
    pool = simulate_pool(PoolPlan(good=6, bad=2, items=60), generator(9, "pool"))
    golden = ["item,rater,overall"]
    for person, ratings in zip(
        ["expert", *(f"{kind}{index}" for index, kind in enumerate(pool.kinds))],
        [pool.experts[0], *pool.ratings],
        strict=True,
    ):
        golden += [f"g{item},{person},{value}" for item, value in enumerate(ratings)]
    (tmp_path / "golden.csv").write_text("\n".join(golden) + "\n")
    qualify(QualifyOptions(sources=(tmp_path / "golden.csv",), out=tmp_path / "raters", draws=150))

    draw_batch(BatchOptions(number=2, source=tmp_path / "rec", count=12, out=tmp_path / "second"))
    second = _ids_of_batch(tmp_path / "second")
    assert len(second) == len(set(second)) == 12
    raters, tasks = tmp_path / "raters", tmp_path / "tasks"
    deal_tasks(TasksOptions(source=separated, batch=tmp_path / "second", raters=raters, out=tasks))
    answers = (_rate(pool, truths, tasks),)
    import_ratings(ImportOptions(sources=answers, raters=raters, key=tasks / "key.csv", out=tmp_path / "rated"))
    rated_file = tmp_path / "rated" / "scores.jsonl"
    assert {row["id"] for row in rows(rated_file)} == set(second)

    third = BatchOptions(number=3, source=tmp_path / "rec", rated=rated_file, count=8, out=tmp_path / "third")
    draw_batch(third)
    assert len(_ids_of_batch(tmp_path / "third")) == 8
    assert not set(_ids_of_batch(tmp_path / "third")) & set(second)

    def bits(ids: list[str]) -> float:
        return entropy_bits(np.bincount(np.rint([truths[name] for name in ids]).astype(int), minlength=6))

    drawn_ids = second + _ids_of_batch(tmp_path / "third")
    assert bits(drawn_ids) > bits(list(truths))  # truer scores are spread more evenly than those of all outputs
    verdicts = rows(tmp_path / "rec" / "verdicts.jsonl")
    assert all(row[axis] is not None for row in verdicts for axis in PERFORMANCE)
