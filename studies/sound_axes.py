"""How the axes of difficulty go with the overall score of real outputs: the form of Fig. 2 of SAM Audio Judge.

    AUSCULT_DATA=DIR python studies/sound_axes.py

Reads ``sound/separated`` (outputs of published separators with stems); its test part and test families are left out.
Intervals draw whole mixtures. Prints Pearson, Spearman and Kendall of each axis against ``perceptual``'s overall.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from auscult.media.sound import read_sound
from auscult.outcome import Scored, Undefined
from auscult.score.sound.perceptual import difficulty, perceptual
from auscult.score.stats import associations_by
from auscult.types import DIFFICULTY_AXES


def main() -> None:
    folder = Path(os.environ["AUSCULT_DATA"]) / "sound" / "separated"
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    found: dict[str, list[float]] = {name: [] for name in (*DIFFICULTY_AXES, "score")}
    clusters, kinds = [], []
    for row in rows:
        if row["split"].startswith("test"):
            continue
        mixture, stem, output = (read_sound(folder / row[key]).samples for key in ("mixture", "target", "separated"))
        length = min(mixture.shape[1], stem.shape[1], output.shape[1])
        stem, rest, output = stem[:, :length], (mixture - stem)[:, :length], output[:, :length]
        score = perceptual(output, [stem, rest], rate_hz=16_000)
        if isinstance(score, Undefined):
            continue
        axes = difficulty([stem, rest], rate_hz=16_000)
        for name in DIFFICULTY_AXES:
            found[name].append(axes[name])
        found["score"].append(score.overall)
        clusters.append(row["mixture_id"])
        kinds.append("speech" if "speech" in row["target_class"].lower() else "other")
    print(f"{len(clusters)} outputs, {len(set(clusters))} mixtures")
    made = associations_by(found, against="score", clusters=clusters, groups=kinds)
    for (group, name), each in made.items():
        cells = [_cell(one) for one in each.values()]
        print("|", group or "all", "|", name, "|", " | ".join(cells), "|")


def _cell(one: Scored[float] | Undefined) -> str:
    if isinstance(one, Undefined):
        return one.reason
    low, high = (getattr(one, end, float("nan")) for end in ("low", "high"))
    return f"{one.value:.2f} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
