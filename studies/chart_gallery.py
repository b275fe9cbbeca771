"""Every chart with made-up but plausible numbers, as PNG, SVG and one page, to look at.

::

    python studies/chart_gallery.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from auscult.media.frames import write_frame
from auscult.report.charts.bars import BarGroup, PairedBar, Rank, TypeBars, apc_bars, paired, ranks, seen_unseen
from auscult.report.charts.lines import Matrix, StrengthLine, matrix, robustness_lines
from auscult.report.charts.marks import ChartEstimate, Words
from auscult.report.drawing import Drawing, to_markup, to_png, to_svg
from auscult.report.strip import StripCell, StripRow, strip
from auscult.rng import generator
from auscult.types import Frame

LONG = "facebook/a-very-long-model-name-that-nobody-would-type-by-hand (revision 0123456789abcdef, text prompt)"


def _score(value: float, half: float = 0.03, n: int = 312) -> ChartEstimate:
    return ChartEstimate(value=value, low=value - half, high=value + half, n=n)


def _line(name: str, number: int, *, factor: float = 1.0) -> StrengthLine:
    draw = generator(7, "gallery", name, str(number))
    start, fall = draw.uniform(0.55, 0.85), draw.uniform(0.03, 0.13)
    at = tuple(
        (strength, _score(factor * max(0.02, start - fall * strength), 0.03 * abs(factor)))
        for strength in (0.0, 1.0, 3.0, 5.0)
    )
    half = start / 2 / fall
    broken = ChartEstimate(value=half, low=half - 0.4, high=half + 0.5) if half < 5 else ChartEstimate()
    return StrengthLine(
        name=name, at=at, dynamic=_score(factor * (start - 4 * fall), 0.03 * abs(factor)), breaks_at=broken
    )


def _lines() -> Iterator[tuple[str, Drawing]]:
    axis = Words(axis="J&F, higher is better")
    gap = StrengthLine(
        name="<script>alert(1)</script> & co",
        at=((0.0, _score(0.6)), (1.0, _score(0.5)), (3.0, ChartEstimate()), (5.0, _score(0.2))),
        dynamic=ChartEstimate(),
    )
    none = StrengthLine(name="nothing", at=tuple((s, ChartEstimate()) for s in (0.0, 1.0, 3.0, 5.0)), dynamic=ChartEstimate())
    yield "lines_three", robustness_lines([_line("flow", 0), _line(LONG, 1), gap], axis)
    yield (
        "lines_one",
        robustness_lines([_line("flow", 0)], Words(axis="J&F", heading="Score over strength, DAVIS 2017")),
    )
    yield "lines_many", robustness_lines([_line(f"model {i}", i) for i in range(12)], axis)
    yield "lines_none", robustness_lines([none, none], axis)
    yield "lines_tiny", robustness_lines([_line("tiny", 0, factor=1e-4), _line("minus", 3, factor=-1e-4)], axis)


GROUPS = {
    "noise": ("gaussian noise", "shot noise", "impulse noise", "speckle noise"),
    "blur": ("gaussian blur", "defocus blur", "motion blur", "glass blur", "zoom blur"),
    "weather": ("snow", "fog", "frost", "spatter"),
    "digital": ("brightness", "contrast", "saturate", "jpeg compression", "pixelate", "elastic transform"),
    "text": ("misspelling", "mispunctuation", "grammar error", "character missing", "homoglyphs"),
    "sound": ("gain", "background noise", "air absorption", "room reverberation", "gaussian noise", "impulse response",
              "peaking filter", "time mask", "tanh distortion", "mp3 compression", "low pass"),
}  # fmt: skip


def _types(count: int, *, models: int, scale: float = 1.0) -> list[BarGroup]:
    draw = generator(7, "bars", str(count), str(models))
    left, groups = count, []
    for name, types in GROUPS.items():
        rows = []
        for one in types[:left]:
            values = [
                ChartEstimate() if draw.random() < 0.06 else _score(scale * draw.normal(-0.12, 0.08), scale * 0.02, 480)
                for _ in range(models)
            ]
            rows.append(TypeBars(name=one, values=tuple(values)))
        left -= len(rows)
        groups.append(BarGroup(name=name, types=tuple(rows)))
    return [group for group in groups if group.types]


def _bars() -> Iterator[tuple[str, Drawing]]:
    axis = Words(axis="APC of J&F (change from clean; lower is worse)")
    yield "bars_35x2", apc_bars(_types(35, models=2), ["flow", "grabcut"], axis, by_size=True)
    yield "bars_5x1", apc_bars(_types(5, models=1), ["flow"], Words(axis="APC", heading="Change per type, flow"))
    yield "bars_9x6", apc_bars(_types(9, models=6), [LONG, *(f"model {i}" for i in range(5))], axis)
    none = BarGroup(name="", types=(TypeBars(name=LONG, values=(ChartEstimate(), ChartEstimate())),))
    yield "bars_none", apc_bars([none], ["a", "b"], axis)
    yield "bars_tiny", apc_bars(_types(4, models=1, scale=1e-5), ["tiny"], axis)


def _matrices() -> Iterator[tuple[str, Drawing]]:
    words = Words(axis="Pearson correlation")
    for count in (1, 5, 16, 35):
        names = [one for group in _types(count, models=1) for one in (kind.name for kind in group.types)]
        names = [LONG if name == "fog" and count == 16 else name for name in names]
        draw = generator(7, "matrix", str(count))
        values = [[1.0 if i == j else 0.0 for j in range(count)] for i in range(count)]
        for i in range(count):
            for j in range(i):
                values[i][j] = values[j][i] = float(max(-1, min(1, draw.normal(0.35, 0.4))))
        shown = [
            [None if 2 in {i, j} and count > 5 else one for j, one in enumerate(row)] for i, row in enumerate(values)
        ]
        table = Matrix(names=tuple(names), values=tuple(map(tuple, shown)), n=480)
        about = Words(axis=words.axis, heading="Which types harm the same cases") if count < 6 else words
        yield f"matrix_{count}", matrix(table, about)
    yield "matrix_none", matrix(Matrix(names=("a", "b"), values=((None, None), (None, None))), words)


def _pairs() -> Iterator[tuple[str, Drawing]]:
    draw = generator(7, "pairs")
    rows = []
    for name in (*GROUPS["weather"], *GROUPS["digital"], LONG):
        static = draw.normal(-0.1, 0.05)
        change = draw.normal(-0.03, 0.03)
        rows.append(
            PairedBar(name=name, first=_score(static), second=_score(static + change), difference=_score(change, 0.015))
        )
    rows.append(PairedBar(name="homoglyphs", first=_score(-0.05), second=ChartEstimate()))
    yield "paired", paired(rows, ("static", "dynamic"), Words(axis="APC of J&F, all models"))
    yield (
        "seen_unseen",
        seen_unseen(
            [PairedBar(name=f"model {i}", first=_score(0.7 - i / 20), second=_score(0.6 - i / 15)) for i in range(3)],
            Words(axis="G, higher is better", heading="Categories seen and unseen in training"),
        ),
    )
    yield (
        "paired_none",
        paired([PairedBar(name="a", first=ChartEstimate(), second=ChartEstimate())], ("static", "dynamic"), Words(axis="APC")),
    )


def _ranks() -> Iterator[tuple[str, Drawing]]:
    for count in (1, 4, 14):
        rows = [
            Rank(
                name=LONG if i == 1 else f"model {i}",
                rank=ChartEstimate(value=i + 1, low=max(1, i - 0.5), high=min(count, i + 2.5), n=312),
                first=0.62 / 2**i if count > 1 else 1.0,
            )
            for i in range(count)
        ]
        if count > 4:
            rows[-1] = Rank(name="failed everywhere", rank=ChartEstimate())
        yield f"ranks_{count}", ranks(rows, Words(axis="J&F over all perturbations"))


def _strips() -> Iterator[tuple[str, Frame]]:
    down, across = np.mgrid[0:240, 0:427]
    rows = []
    for level, name in enumerate(("clean", "low", "medium", "high", "dynamic")):
        cells = []
        for time in range(9):
            truth = (across - 60 - 35 * time) ** 2 + (down - 120) ** 2 < 48**2
            found = (across - 60 - 35 * time - 9 * level) ** 2 + (down - 120 + 3 * time) ** 2 < 48**2
            noise = generator(7, "strip", name, str(time)).normal(0, 12 * level, (240, 427, 3))
            colours = np.stack([across / 2, down, 200 - down / 2], axis=2) + noise
            colours[truth] += 50
            failed = name == "high" and time > 5
            score = float((truth & found).sum() / (truth | found).sum())
            cells.append(
                StripCell(
                    frame=np.clip(colours, 0, 255).astype(np.uint8),
                    prediction=None if failed else found,
                    truth=truth,
                    score=None if failed else score,
                    why="failed" if failed else "",
                )
            )
        rows.append(StripRow(name=name, cells=tuple(cells), detail="J 0.71, n 9"))
    yield "strip_clip", strip(rows)
    yield "strip_photo", strip([StripRow(name=row.name, cells=row.cells[3:4]) for row in rows])
    yield "strip_one", strip([StripRow(name="clean", cells=(StripCell(frame=None, prediction=None, why="lost"),))])
    yield "strip_narrow", strip(rows, width_px=300)


def main() -> int:
    """Write every chart to the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    figures = []
    for name, drawing in drawings():
        (folder / f"{name}.svg").write_text(to_svg(drawing), encoding="utf-8")
        for scale in (1, 2):
            (folder / f"{name}@{scale}x.png").write_bytes(to_png(drawing, scale=scale))
        figures.append(f"<figure><figcaption>{name}</figcaption>{to_markup(drawing)}</figure>")
    for name, picture in _strips():
        write_frame(folder / f"{name}.png", picture)
    page = (
        '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        "<style>html{color-scheme:light dark}figure{max-width:1000px}"
        "@media (prefers-color-scheme:dark){body{background:#1c2024;color:#eee}}</style>"
    )
    (folder / "gallery.html").write_text(page + "".join(figures), encoding="utf-8")
    print(f"{len(figures)} charts in {folder}")
    return 0


def drawings() -> Iterator[tuple[str, Drawing]]:
    """Every chart with its name."""
    yield from _lines()
    yield from _bars()
    yield from _matrices()
    yield from _pairs()
    yield from _ranks()


if __name__ == "__main__":
    sys.exit(main())
