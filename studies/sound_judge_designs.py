"""Designs and recipes of the compact sound judge, trained briefly on the same samples, for docs/sound-judge-designs.md.

    python studies/sound_judge_designs.py --run FOLDER --rows ROWS.jsonl [--write]

``FOLDER`` is one of `auscult train compact-sound` with its material; AUSCULT_DATA names the pretrained network. Each
row is trained for 80 steps of alignment, where it has that stage, and 320 of scores, with two seeds or three, and
measured on samples of the calibration part. Intervals draw whole voices. Nothing here is measured on the tests' part.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from auscult.nets.sound_judge import SoundJudgeNet, Trunk
from auscult.record.codec import from_json
from auscult.rng import generator
from auscult.score.stats.correlation import pearson_of_sums
from auscult.train.sound_judge.calibrate import predictions
from auscult.train.sound_judge.compact import NETS, read_trunk
from auscult.train.sound_judge.samples import ALL
from auscult.train.sound_judge.store import Store, StoredSample, with_early
from auscult.train.sound_judge.trainer import AlignmentTrainer, SoundFeed, SoundPlan, SoundTrainer, Stage

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE = ROOT / "docs" / "sound-judge-designs.md"
STEPS: Final = (80, 320)
# name: what is not as in the first row, and how many seeds
ROWS: Final[Mapping[str, tuple[Mapping[str, Any], int]]] = {
    "all prompts from the start": ({}, 3),
    "no evidence of classes": ({"design": {"evidence": False}}, 2),
    "no comparison of spectrograms": ({"design": {"compare": False}}, 2),
    "mean over time, one block": ({"design": {"pooling": "mean", "blocks": 1}}, 2),
    "half as wide": ({"design": {"width": 80}}, 2),
    "trunk at rest": ({"trunk": 0.0}, 2),
    "trunk from nothing": ({"start": "nothing", "trunk": 1.0}, 2),
    "without alignment": ({"aligning": 0}, 3),
    "scores as they come": ({"balanced": False}, 3),
    "domains 1:1:1": ({"domains": (1.0, 1.0, 1.0)}, 3),
    "text alone for the first half": ({"text_first": 0.5}, 3),
}
DRAWS: Final = 1000
AXES: Final = ("recall", "precision", "faithfulness", "overall")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = trained_rows(given.run / "material", given.rows)
    text = table(rows)
    print(text)
    if given.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "designs", text), encoding="utf-8")


def trained_rows(material: Path, path: Path) -> list[dict[str, Any]]:
    """The rows of all designs and seeds; those that are missing are trained and appended."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    done = {(row["name"], row["seed"]) for row in rows}
    wanted = [(seed, name) for seed in range(3) for name, (_, seeds) in ROWS.items() if seed < seeds]
    missing = [one for one in wanted if one[::-1] not in done]
    if not missing:
        return rows
    pretrained = read_trunk(Path(os.environ["AUSCULT_DATA"]) / NETS).to(memory_format=torch.channels_last)
    sets = {
        name: with_early(Store(folder=material / name).files, pretrained) for name in ("train", "aligning", "calibration")
    }
    sets["aligning"] = [one for one in sets["aligning"] if not one.about["family"]]
    sets["calibration"] = [one for one in sets["calibration"] if not one.about["family"]][::3]
    for seed, name in missing:
        plan = from_json(SoundPlan, {**ROWS[name][0], "stage": list(STEPS)}, exact=True)
        rows.append({"name": name, "seed": seed, **_trained(plan, sets, seed=seed)})
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1]) + "\n")
    return rows


def _trained(plan: SoundPlan, sets: Mapping[str, Sequence[StoredSample]], *, seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    trunk = Trunk() if plan.start == "nothing" else read_trunk(Path(os.environ["AUSCULT_DATA"]) / NETS)
    net = SoundJudgeNet(trunk, plan.network).to(memory_format=torch.channels_last)
    if plan.start == "nothing":
        sets = {name: [replace(one, early=None) for one in samples] for name, samples in sets.items()}
    right = []
    stages: tuple[tuple[Stage, str], ...] = (("align", "aligning"), ("scores", "train"))
    for stage, name in stages:
        aligning = stage == "align"
        steps = STEPS[0 if aligning else 1]
        if aligning and not plan.aligning:
            continue
        feed = SoundFeed(sets[name], plan, seed=seed, name=stage, steps=steps)
        trainer = (AlignmentTrainer if aligning else SoundTrainer)(net, feed, plan, seed=seed, steps=steps)
        told = [trainer.learn(feed.batch(number)) for number in range(steps)]
        right += [one["right"] for one in told[-20:] if aligning]
    found: dict[str, Any] = {"right": float(np.mean(right)) if right else None}
    for name, subset in (("all", ALL), ("text", "text")):
        heard = predictions(net, sets["calibration"], subset=subset)
        found[name] = {"scores": heard.scores.round(4).tolist(), "truth": heard.truth.round(4).tolist()}
    found["clusters"] = [one.about["cluster"] for one in sets["calibration"]]
    return found


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Pearson with the truth by formula, the mean over seeds, and of overall its interval."""
    header = ["trained", "seeds", *AXES, "overall, text alone", "overall, the first row is ahead by; each seed"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for name in ROWS:
        mine = [row for row in rows if row["name"] == name]
        if not mine:
            continue
        cells = [_mean(mine, "all", axis) for axis in range(len(AXES))] + [_mean(mine, "text", 3)]
        lines.append(f"| {name} | {len(mine)} | {' | '.join((*cells, _ahead(rows, mine)))} |")
    return "\n".join(lines)


def _ahead(rows: Sequence[Mapping[str, Any]], mine: Sequence[Mapping[str, Any]]) -> str:
    """By how much the first row's overall is ahead of these, seed by seed, voices drawn together; 95 % interval."""
    first = {row["seed"]: row for row in rows if row["name"] == next(iter(ROWS))}
    pairs = [(cluster_sums(first[row["seed"]], "all", 3), cluster_sums(row, "all", 3)) for row in mine if row["seed"] in first]
    if not pairs or mine[0]["name"] == next(iter(ROWS)):
        return "–"
    count = len(pairs[0][0])
    times = generator(0, "designs", "ahead").multinomial(count, np.full(count, 1 / count), DRAWS)
    drawn = np.mean([pearson_of_sums(times @ one) - pearson_of_sums(times @ other) for one, other in pairs], axis=0)
    whole = np.ones((1, count))
    each = [float((pearson_of_sums(whole @ one) - pearson_of_sums(whole @ other))[0]) for one, other in pairs]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{np.mean(each):+.3f} [{low:+.3f}, {high:+.3f}]; {', '.join(f'{value:+.2f}' for value in each)}"


def cluster_sums(row: Mapping[str, Any], subset: str, axis: int) -> Any:
    """What Pearson is made of, a row a voice."""
    x, y = (np.array(row[subset][name])[:, axis] for name in ("scores", "truth"))
    _, cluster = np.unique(row["clusters"], return_inverse=True)
    return np.stack([np.bincount(cluster, one) for one in (np.ones(x.size), x, y, x * x, y * y, x * y)], axis=1)


def _mean(rows: Sequence[Mapping[str, Any]], subset: str, axis: int) -> str:
    found = []
    for row in rows:
        parts = cluster_sums(row, subset, axis)
        rng = generator(0, "designs", subset, axis)
        times = rng.multinomial(len(parts), np.full(len(parts), 1 / len(parts)), DRAWS)
        drawn = pearson_of_sums(times @ parts)
        found.append((pearson_of_sums(parts.sum(axis=0)[None])[0], *np.quantile(drawn, (0.05, 0.95))))
    value, low, high = np.mean(found, axis=0)
    return f"{value:.3f} [{low:.3f}, {high:.3f}]" if axis == len(AXES) - 1 else f"{value:.3f}"


if __name__ == "__main__":
    main()
