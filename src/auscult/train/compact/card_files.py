"""The files of a card: JSON, page, charts and failures to pass on, and a gallery to keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from auscult.errors import OutputError
from auscult.jobs.progress import Progress
from auscult.media.frames import encode_jpeg
from auscult.train.compact import card_charts
from auscult.train.compact.card import Study, StudyOptions, card_of_study, study
from auscult.train.compact.card_gallery import COLUMNS, Failure, Worst, gallery, listed, sheet
from auscult.train.compact.card_page import card_page
from auscult.train.material import Sample
from auscult.types import MaskJudge, Verdict

WORST: Final = 40
DRAWN: Final = 10
GALLERY: Final = "gallery.html"
RELIABILITY: Final = "compact-reliability.svg"
WIDTHS: Final = "compact-widths.svg"
FAILURES: Final = "compact-failures.jpg"

_QUALITY: Final = 66  # a page of the documentation shows nothing over 300 kB
_FAILURES: Final = (
    f"The masks of drawn scenes that it was most wrong about, of each type a few: {', '.join(COLUMNS)} (missing is "
    "blue, too much orange). Pictures of the photographs may not be passed on; the command that measures this card "
    "also writes a gallery of the worst 40 of all sets for whoever has the data. Whole wrong objects are in neither."
)


def write_card(
    data: Path, out: Path, *, judge: MaskJudge, options: StudyOptions, progress: Progress
) -> tuple[Study, tuple[Path, ...]]:
    """Measure a card and write its files.

    Args:
        data: The folder of real material.
        out: Where they go; made if missing. ``gallery.html`` shows pictures of the data and must not be passed on.
        judge: The judge.
        options: What is measured.
        progress: Hears of each set.

    Returns:
        What was measured, and the files.

    Raises:
        InputError: The data is missing or broken.
        OutputError: A file cannot be written.
        UsageError: The judge's files are missing or broken.
    """
    everything = Worst(WORST)
    drawn = Worst(DRAWN, lambda name: name.startswith("generated"))

    def heard(name: str, sample: Sample, verdict: Verdict) -> None:
        everything(name, sample, verdict)
        drawn(name, sample, verdict)

    found = study(data, judge=judge, options=options, heard=heard, progress=progress)
    files = files_of(found, worst=everything.failures(), drawn=drawn.failures())
    return found, tuple(_write(out / name, content) for name, content in files.items())


def files_of(found: Study, *, worst: Sequence[Failure], drawn: Sequence[Failure]) -> dict[str, bytes]:
    """The files of a study, by name.

    Args:
        found: What was measured.
        worst: What the gallery shows; of any data.
        drawn: What may be passed on: of drawn scenes alone; may be empty.
    """
    card = card_of_study(found)
    charted = [name for name in card.sets if name.endswith(("freehand", "real")) or name.startswith("stamps")]
    shown = "\n\n".join([_FAILURES, f"![Failures on drawn scenes](../images/{FAILURES})", listed(drawn)])
    title = f"What {card.judge} was most wrong about, {found.options.part} part"
    texts = {
        f"{card.judge}.json": json.dumps(card.as_json(), indent=1, ensure_ascii=False) + "\n",
        f"{card.judge}.md": card_page(card, failures=shown if drawn else ""),
        RELIABILITY: card_charts.reliability(card, charted),
        WIDTHS: card_charts.widths(card, charted),
    }
    files = {name: text.encode() for name, text in texts.items()}
    files[GALLERY] = gallery(worst, title=title).encode()
    return files | ({FAILURES: encode_jpeg(sheet(drawn), quality=_QUALITY)} if drawn else {})


def _write(path: Path, content: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path
