"""How perceptual.v1 answers to damage, beside SI-SDR and BSS Eval: tables and plots of docs/sound-truth.md.

    python studies/sound_truth.py --rows ROWS.jsonl            measure what is missing there, print the tables
    python studies/sound_truth.py --rows ROWS.jsonl --write    also write the page's sections and its plots

The sounds are generated: mixtures of ``auscult make mixtures --seed 20``, each kind of ``stress separation`` at 1 to 5.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult import registry
from auscult.outcome import Scored
from auscult.report.charts.basic import Axes, Series, lines_drawing
from auscult.report.drawing import to_svg
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import GENERATED
from auscult.scenes.mixtures.plan import Planner
from auscult.scenes.mixtures.sound import render
from auscult.scenes.options import MixtureOptions
from auscult.score.sound.bss_eval import bss3
from auscult.score.sound.perceptual import HALF, HALF_DB, Perceptual, loudness, perceptual
from auscult.score.sound.ratios import si_sdr
from auscult.score.stats.correlation import mean_ranks, spearman_interval
from auscult.stress.sound.separation import perturb
from auscult.types import PERFORMANCE, Stressed

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE, IMAGES = ROOT / "docs" / "sound-truth.md", ROOT / "docs" / "images" / "sound-truth"
SEED, MIXTURES = 20, 24
SEVERITIES = (1, 2, 3, 4, 5)
OPTIONS = MixtureOptions(seconds=(2, 6), sources=(2, 4))
GROUPS: Final = {
    "the target lost": ("time_loss", "band_loss", "band_limit", "temporal_mask", "frequency_mask"),
    "other sources left in": ("target_loss", "wrong_source", "leakage", "mixture"),
    "artefacts": ("musical_noise", "smearing", "clipping", "phase_damage", "timbre", "equalisation"),
}
KNOWN = ("si_sdr", "sdr", "sir", "sar")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = measured(given.rows)
    sections = {"sweeps": sweeps(rows), "agreement": agreement(rows), "apart": apart(rows)}
    print("\n\n".join(sections.values()))
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in sections.items():
            page = placed(page, name, text)
        PAGE.write_text(page, encoding="utf-8")
        draw(rows)


def measured(path: Path) -> list[dict[str, Any]]:
    """All rows, those that are missing measured and appended."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    done = {(row["mixture"], row["kind"]) for row in rows}
    kinds = [entry.name.split(".")[1] for entry in registry.entries("stressor") if entry.name.startswith("separation.")]
    planner = Planner(GENERATED, OPTIONS)
    with path.open("a", encoding="utf-8") as file:
        for index in range(MIXTURES):
            missing = [kind for kind in kinds if (index, kind) not in done]
            made = render(planner.plan(SEED, index), GENERATED) if missing else None
            for kind in missing:
                assert made is not None
                stems = [stem[0] for stem in (made.target, *made.others.values())]
                new = list(damages(index, kind, stems))
                file.write("".join(json.dumps(row) + "\n" for row in new))
                file.flush()
                rows += new
    return rows


def damages(index: int, kind: str, stems: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """One row for each severity of a kind."""
    rate_hz = OPTIONS.rates_hz[0]
    for severity in SEVERITIES:
        made = perturb(kind, stems, rate_hz=rate_hz, severity=severity, seed=SEED, key=str(index))
        if not isinstance(made, Stressed):
            continue
        ours = perceptual(made.output, stems, rate_hz=rate_hz)
        assert isinstance(ours, Perceptual)
        known = {"si_sdr": si_sdr(made.output, stems[0]), **bss3(made.output, stems)}
        values = {name: outcome.value if isinstance(outcome, Scored) else None for name, outcome in known.items()}
        scores = {name: getattr(ours, name) for name in PERFORMANCE}
        yield {"mixture": index, "kind": kind, "severity": severity, **scores, **values}


def _of(rows: Sequence[dict[str, Any]], kind: str, severity: int) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == kind and row["severity"] == severity]


def _mean(rows: Sequence[dict[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def sweeps(rows: Sequence[dict[str, Any]]) -> str:
    """Mean overall at each severity, the three others at the strongest, and how many mixtures ever rise."""
    lines = [
        "| damage | 1 | 2 | 3 | 4 | 5 | recall at 5 | precision at 5 | faithfulness at 5 | mixtures that rise |",
        "|---" * 10 + "|",
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        means = [f"{_mean(_of(rows, kind, severity), 'overall'):.2f}" for severity in SEVERITIES]
        last = [f"{_mean(_of(rows, kind, SEVERITIES[-1]), name):.2f}" for name in PERFORMANCE[:3]]
        by_mixture: dict[int, list[float]] = {}
        for row in rows:
            if row["kind"] == kind:
                by_mixture.setdefault(row["mixture"], [5.0]).append(row["overall"])
        rising = sum(bool((np.diff(scores) > 0.01).any()) for scores in by_mixture.values())
        lines.append(f"| {kind} | {' | '.join(means)} | {' | '.join(last)} | {rising} of {len(by_mixture)} |")
    return "\n".join(lines)


def agreement(rows: Sequence[dict[str, Any]]) -> str:
    """Spearman of our scores with known ones, for each kind of damage over all mixtures and severities."""
    pairs = (("overall", "si_sdr"), ("overall", "sdr"), ("precision", "sir"), ("faithfulness", "sar"))
    lines = ["| damage | n | " + " | ".join(f"{one}, {two.upper().replace('_', '-')}" for one, two in pairs) + " |"]
    lines.append("|---" * (2 + len(pairs)) + "|")
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    for name, chosen in (*((kind, (kind,)) for kind in kinds), ("all", tuple(kinds))):
        mine = [row for row in rows if row["kind"] in chosen]
        lines.append(f"| {name} | {len(mine)} | " + " | ".join(_agree(mine, pair) for pair in pairs) + " |")
    return "\n".join(lines)


def _agree(rows: Sequence[dict[str, Any]], pair: tuple[str, str]) -> str:
    kept = [row for row in rows if row[pair[1]] is not None]
    if len({row["mixture"] for row in kept}) < 20 or np.ptp([row[pair[0]] for row in kept]) < 0.05:
        return "–"
    first, second = ([row[name] for row in kept] for name in pair)
    rng = generator(0, "sound truth", *pair)
    found = spearman_interval(first, second, clusters=[row["mixture"] for row in kept], rng=rng)
    if not isinstance(found, Scored):
        return "–"
    return f"{found.value:.2f} ({getattr(found, 'low', np.nan):.2f} to {getattr(found, 'high', np.nan):.2f})"


def apart(rows: Sequence[dict[str, Any]]) -> str:
    """Where one of two orders puts a kind higher: mean rank among all damages, 0 the worst and 100 the best."""
    kept = [row for row in rows if row["si_sdr"] is not None]
    ours, theirs = (100 * mean_ranks([row[name] for row in kept]) for name in ("overall", "si_sdr"))
    found = []
    for kind in dict.fromkeys(row["kind"] for row in kept):
        mine = np.array([row["kind"] == kind for row in kept])
        near = [row["overall"] for row in kept if row["kind"] == kind and 5 <= row["si_sdr"] < 15]
        said = f"{np.mean(near):.2f}" if len(near) >= 10 else "–"
        found.append((ours[mine].mean() - theirs[mine].mean(), kind, ours[mine].mean(), theirs[mine].mean(), said))
    lines = [
        "| damage | rank by overall | rank by SI-SDR | difference | overall where SI-SDR is 5 to 15 dB |",
        "|---" * 5 + "|",
    ]
    lines += [f"| {kind} | {a:.0f} | {b:.0f} | {gap:+.0f} | {said} |" for gap, kind, a, b, said in sorted(found)]
    return "\n".join(lines)


def draw(rows: Sequence[dict[str, Any]]) -> None:
    """The plots: the functions of the definition, and overall by severity."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    levels = np.linspace(-40, 10, 26)
    ticks = tuple((float(level), f"{level:g}") for level in (-40, -30, -20, -10, 0, 10))
    lines = []
    for number, (name, masker) in enumerate((("not masked", 0.0), ("in the target's own cells", 1.0))):
        power = 10 ** (levels / 10)
        ratio = loudness(power, masker) / loudness(np.ones(1))
        scores = 1 + 4 / (1 + (ratio / HALF) ** 2)
        points = tuple((float(x), float(y), f"{x:g} dB: {y:.2f}") for x, y in zip(levels, scores, strict=True))
        lines.append(Series(name=name, points=points, style=number))
    axes = Axes(x=(-40, 10), y=(1, 5), ticks=ticks, across="left-over or unexplained, dB to the target", up="score")
    _save("intrusion", lines_drawing(lines, axes, title="Precision, or faithfulness, by the level of what intrudes"))
    off = np.linspace(0, 20, 21)
    scores = 1 + 4 / (1 + (off / HALF_DB) ** 2)
    points = tuple((float(x), float(y), f"{x:g} dB: {y:.2f}") for x, y in zip(off, scores, strict=True))
    ticks = tuple((float(value), str(value)) for value in (0, 5, 10, 15, 20))
    axes = Axes(x=(0, 20), y=(1, 5), ticks=ticks, across="mean deviation of the target's cells, dB", up="faithfulness")
    _save("colour", lines_drawing([Series(name="no artefacts", points=points, style=0)], axes, title="Faithfulness by colouration"))
    for name, kinds in GROUPS.items():
        lines = []
        for number, kind in enumerate(kinds):
            means = [5.0] + [_mean(_of(rows, kind, severity), "overall") for severity in SEVERITIES]
            lines.append(Series(name=kind, points=tuple((float(at), y, f"{at}: {y:.2f}") for at, y in enumerate(means)), style=number))
        ticks = tuple((float(at), str(at)) for at in range(6))
        axes = Axes(x=(0, 5), y=(1, 5), ticks=ticks, across="severity", up="mean overall")
        _save(f"sweeps-{name.split()[-1]}", lines_drawing(lines, axes, title=f"Overall by severity: {name}"))


def _save(name: str, drawing: Any) -> None:
    (IMAGES / f"{name}.svg").write_text(to_svg(drawing), encoding="utf-8")


if __name__ == "__main__":
    main()
