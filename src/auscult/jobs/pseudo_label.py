"""``auscult act pseudo-label``: outputs that pass as labelled stems, an INPUT that new mixtures can be made of.

A label is no truth: no line has ``truth``, so that nothing is ever scored against what a judge let pass.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from auscult.act.export.masks import JsonRow
from auscult.act.filter import redecide
from auscult.act.rerank import grouped, ranked
from auscult.act.sound_policy import load_sound_policy
from auscult.cases.sounds import sound_line
from auscult.jobs.act import beside, require_ours, write_files
from auscult.jobs.sound_input import Chosen, SoundRecord, json_lines, place
from auscult.jobs.sound_options import PseudoLabelOptions
from auscult.jobs.stress_separation import copied_item
from auscult.media.paths import safe_name
from auscult.report.tables import Table
from auscult.scenes.mixtures.catalogue import committed_classes, named
from auscult.types import SoundItem

FAILS, NO_WORDS, SEVERAL = "it does not pass", "its prompt has no words", "its prompt names several classes"
_LONGEST: Final = 60


def pseudo_label(options: PseudoLabelOptions) -> Chosen:
    """Write the best output of each mixture and prompt, where it passes, as a stem of a class."""
    record = SoundRecord.read(options.folder)
    out = options.out or beside(options.folder, "labelled")
    require_ours(out, names=(), made_by="pseudo-label")  # an earlier stem would be taken for one of these
    policy = None if options.sound_policy is None else load_sound_policy(options.sound_policy)
    lines, left = list[dict[str, Any]](), Counter[str]()
    for group in grouped(redecide(record.rows, None, sound=policy)):
        best = ranked(group, "overall")[0]["id"]
        row = next(one for one in group if one["id"] == best)
        label = label_of(row.get("text") or "") if _passes(row, options.min_overall_low) else FAILS
        if label in {FAILS, NO_WORDS, SEVERAL}:
            left[label] += 1
            continue
        # files of one name but for the number are one recording to `make mixtures`
        name = f"sounds/{label.replace(' ', '_')}/{safe_name(str(row.get('cluster') or best))}_{len(lines)}"
        line = _placed(record.items[best], name, source=record.source, out=out)
        confidence = round((row["overall_low"] - 1) / 4, 4)
        lines.append({**line, "label": label, "confidence": confidence, "overall": row["overall"]})
    write_files(out, {"items.jsonl": json_lines(lines)})
    counts = Counter(line["label"] for line in lines)
    said = {"n": len(lines) + left.total(), "kept": len(lines), "labels": dict(counts), "left_out": dict(left)}
    table = Table(
        title="labelled stems",
        header=("label", "stems"),
        rows=tuple((name, str(count)) for name, count in sorted(counts.items())),
        note="; ".join(f"{count} left out: {why}" for why, count in left.items()),
    )
    return Chosen(said={"command": "act pseudo-label", **said, "out": str(out)}, tables=[table], out=out)


def _passes(row: JsonRow, least: float | None) -> bool:
    if row["overall"] is None or row["overall_low"] is None:
        return False
    return bool(row["action"] == "accept" if least is None else row["overall_low"] >= least)


def label_of(text: str) -> str:
    """The one class of the package that a prompt names, else its words; ``NO_WORDS`` or ``SEVERAL`` where none will do.

    Of any text it has letters, digits and single spaces alone, at most 60, so that it is a safe name of a folder.
    """
    found = named(text[:1000], committed_classes().classes)
    if len(found) > 1:
        return SEVERAL
    words = " ".join(re.findall(r"[^\W_]+", text[:1000].casefold()))[:_LONGEST].strip()
    return next(iter(found), words or NO_WORDS)


def _placed(item: SoundItem, name: str, *, source: Path, out: Path) -> dict[str, Any]:
    """The line of an item whose output has another name, with all files in ``out``."""
    kept, copies = copied_item(replace(item, truth=None, separated=None), source=source, out=out)
    if item.separated is not None:
        name += item.separated.suffix.lower()
        copies[name] = item.separated
    for copy, path in copies.items():
        place(path, out / copy)
    return sound_line(replace(kept, separated=out / name), home=out)
