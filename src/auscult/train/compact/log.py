"""How a training went: a line every hundred steps, and the curves of all lines."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from auscult.errors import OutputError
from auscult.report.curves import Axes, Line, lines_chart
from auscult.train.compact.loop import Plan

_EVERY: Final = 100
_MOST_POINTS: Final = 60


class TrainingLog:
    """Means of the losses over a hundred steps each, appended to a file of JSON lines.

    Args:
        path: The file; a run that continues adds to it.
        plan: What is trained.
    """

    def __init__(self, path: Path, *, plan: Plan) -> None:
        self._path = path
        self._plan = plan
        self._sums: dict[str, float] = {}
        self._steps = 0
        self._since = time.monotonic()

    def keep(self, step: int, parts: dict[str, float], *, rate: float) -> None:
        """Take in one step; writes a line after each hundred."""
        for name, value in parts.items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        self._steps += 1
        if step % _EVERY:
            return
        seconds = time.monotonic() - self._since
        row = {
            "step": step,
            "samples": step * self._plan.size,
            "rate": round(rate, 7),
            "samples_per_s": round(self._steps * self._plan.size / max(seconds, 1e-6), 1),
            **{name: round(value / self._steps, 5) for name, value in self._sums.items()},
        }
        self._append(row)
        self._sums, self._steps, self._since = {}, 0, time.monotonic()

    def rows(self) -> list[dict[str, Any]]:
        """All lines; of lines of one step the last counts, as after a run that was killed."""
        if not self._path.exists():
            return []
        found = {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # a line cut short by a kill
                continue
            found[int(row["step"])] = row
        return [found[step] for step in sorted(found)]

    def draw(self, path: Path) -> Path:
        """Draw the losses over samples as an SVG file.

        Raises:
            OutputError: It cannot be written.
        """
        rows = self.rows()
        names = [name for name in ("types", "ious", "mean", "truth", "profile") if rows and name in rows[-1]]
        try:
            path.write_text(str(_chart(rows, names)) if rows else "<svg xmlns='http://www.w3.org/2000/svg'/>")
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
        return path

    def _append(self, row: dict[str, Any]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=self._path) from error


def _chart(rows: list[dict[str, Any]], names: Sequence[str]) -> str:
    thinned = rows[:: max(1, len(rows) // _MOST_POINTS)]
    last = float(rows[-1]["samples"])
    highest = max(float(row[name]) for row in thinned for name in names)
    lines = [
        Line(
            name=name,
            points=tuple((float(row["samples"]), float(row[name]), f"{row[name]:.3f}") for row in thinned),
            style=number,
        )
        for number, name in enumerate(names)
    ]
    ticks = tuple((last * part / 4, f"{last * part / 4000:.0f}k") for part in range(5))
    axes = Axes(x=(0.0, last), y=(0.0, highest), ticks=ticks, across="samples seen", up="part of the loss")
    chart = str(lines_chart(lines, axes, label="Losses over the samples seen"))
    return chart.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace("</svg>", f"{_STYLE}</svg>")


_STYLE: Final = (
    "<style>polyline{fill:none;stroke:#444;stroke-width:1.5}.grid{stroke:#ddd}line{stroke:#444}.mark{fill:#444}"
    ".l1,.m1{stroke:#0072b2}.l2,.m2{stroke:#d55e00}.l3,.m3{stroke:#009e73}.l4,.m4{stroke:#cc79a7}"
    "text{font:11px sans-serif;fill:#222}</style>"
)
