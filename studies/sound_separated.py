"""perceptual.v1 beside SI-SDR on outputs of real separators: a section of docs/sound-truth.md.

    AUSCULT_DATA=FOLDER python studies/sound_separated.py --rows ROWS.jsonl [--write]

Nothing is fitted here; the rest of a mixture is the mixture minus the true stem. Intervals draw whole mixtures.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from auscult.cases.sounds import read_sounds
from auscult.media.sound import read_sound
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.sound.bss_eval import bss3
from auscult.score.sound.perceptual import Perceptual, perceptual
from auscult.score.sound.ratios import si_sdr
from auscult.score.stats.correlation import mean_ranks, spearman_interval
from auscult.types import PERFORMANCE, SoundItem

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE = ROOT / "docs" / "sound-truth.md"
LEAST = 9
PAIRS = (("overall", "si_sdr"), ("overall", "sdr"), ("precision", "sir"), ("faithfulness", "sar"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = measured(Path(os.environ["AUSCULT_DATA"]) / "sound" / "separated", given.rows)
    text = table(rows)
    print(text)
    print(oddities(rows))
    if given.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "separators", text), encoding="utf-8")


def measured(folder: Path, path: Path) -> list[dict[str, Any]]:
    """Scores of all outputs, those that are missing measured and appended."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    done = {row["id"] for row in rows}
    with path.open("a", encoding="utf-8") as file:
        for item in read_sounds(folder).items:
            if item.id not in done:
                rows.append(scored(item))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    return rows


def scored(item: SoundItem) -> dict[str, Any]:
    """One output."""
    assert item.truth is not None
    assert item.truth.stem is not None
    assert item.separated is not None
    sounds = [read_sound(path) for path in (item.separated, item.truth.stem, item.mixture)]
    size = min(sound.samples.shape[1] for sound in sounds)
    output, stem, mixture = (sound.samples[0, :size] for sound in sounds)
    stems = [stem, mixture - stem]
    ours = perceptual(output, stems, rate_hz=sounds[0].rate_hz)
    assert isinstance(ours, Perceptual)
    known = {"si_sdr": si_sdr(output, stem), **bss3(output, stems)}
    return {
        "id": item.id,
        "family": item.family,
        "cluster": item.cluster,
        **{name: getattr(ours, name) for name in PERFORMANCE},
        **{name: outcome.value if isinstance(outcome, Scored) else None for name, outcome in known.items()},
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Means and rank agreement of each family, those of few outputs without agreement."""
    heads = [*PERFORMANCE, "SI-SDR, dB", *(f"{one}, {two.upper().replace('_', '-')}" for one, two in PAIRS)]
    lines = ["| family | outputs | mixtures | " + " | ".join(heads) + " |", "|---" * (3 + len(heads)) + "|"]
    for family in [*sorted({row["family"] for row in rows}), "all"]:
        mine = [row for row in rows if family in (row["family"], "all")]
        means = [f"{np.mean([row[name] for row in mine]):.2f}" for name in PERFORMANCE]
        means.append(f"{np.mean([row['si_sdr'] for row in mine if row['si_sdr'] is not None]):.1f}")
        agreed = [_agree(mine, pair) for pair in PAIRS]
        mixtures = len({row["cluster"] for row in mine})
        lines.append(f"| {family} | {len(mine)} | {mixtures} | {' | '.join(means + agreed)} |")
    return "\n".join(lines)


def _agree(rows: Sequence[Mapping[str, Any]], pair: tuple[str, str]) -> str:
    kept = [row for row in rows if row[pair[1]] is not None]
    if len({row["cluster"] for row in kept}) < LEAST:
        return "–"
    first, second = ([row[name] for row in kept] for name in pair)
    clusters, rng = [row["cluster"] for row in kept], generator(0, "separators", *pair)
    found = spearman_interval(first, second, clusters=clusters, rng=rng)
    if not isinstance(found, Scored):
        return "–"
    return f"{found.value:.2f} ({getattr(found, 'low', np.nan):.2f} to {getattr(found, 'high', np.nan):.2f})"


def oddities(rows: Sequence[Mapping[str, Any]]) -> str:
    """The outputs whose ranks by overall and by SI-SDR are farthest apart, either way."""
    kept = [row for row in rows if row["si_sdr"] is not None]
    gap = mean_ranks([row["overall"] for row in kept]) - mean_ranks([row["si_sdr"] for row in kept])
    order = np.argsort(gap)
    lines = []
    for at in [*order[:12], *order[-12:]]:
        row = kept[at]
        values = ", ".join(f"{name} {row[name]:.1f}" for name in (*PERFORMANCE, "si_sdr", "sir", "sar") if row[name] is not None)
        lines.append(f"{gap[at]:+.2f} {row['id']} ({row['family']}): {values}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
