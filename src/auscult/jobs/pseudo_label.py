"""``auscult act pseudo-label``: outputs that pass as labelled stems, an INPUT that new mixtures can be made of.

A label is no truth: no line has ``truth``, so that nothing is ever scored against what a judge let pass.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from auscult.act.export.masks import JsonRow
from auscult.act.filter import redecide
from auscult.act.rerank import grouped, ranked
from auscult.act.sound_policy import load_sound_policy
from auscult.cases.sounds import sound_line
from auscult.jobs.act import beside, require_ours, write_files
from auscult.jobs.sound_input import SoundRecord, json_lines, place
from auscult.jobs.sound_options import PseudoLabelOptions
from auscult.jobs.stress_separation import copied_item
from auscult.media.paths import safe_name
from auscult.report.tables import Table
from auscult.scenes.mixtures.classes import committed_classes, named
from auscult.types import SoundItem

FAILS, NO_WORDS, SEVERAL = "it does not pass", "its prompt has no words", "its prompt names several classes"
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """What was labelled."""

    lines: tuple[dict[str, Any], ...]  # of ``items.jsonl``
    left: dict[str, int]  # mixtures and prompts without a stem, by why
    out: Path

    @property
    def table(self) -> Table:
        """Stems and their mean confidence by label."""
        labels = dict[str, list[float]]()
        for line in self.lines:
            labels.setdefault(line["label"], []).append(line["confidence"])
        rows = tuple((name, str(len(found)), f"{fmean(found):.2f}") for name, found in sorted(labels.items()))
        left = "; ".join(f"{count} left out: {why}" for why, count in self.left.items())
        return Table(title="labelled stems", header=("label", "stems", "mean confidence"), rows=rows, note=left)

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        counts = dict(Counter(line["label"] for line in self.lines))
        ids = [line["id"] for line in self.lines]
        said = {"n": len(ids) + sum(self.left.values()), "kept": len(ids), "labels": counts, "left_out": self.left}
        return {"command": "act pseudo-label", **said, "ids": ids, "out": str(self.out)}


def pseudo_label(options: PseudoLabelOptions) -> Labelled:
    """Write the best output of each mixture and prompt, where it passes, as a stem of a class."""
    record = SoundRecord.read(options.folder)
    out = options.out or beside(options.folder, "labelled")
    require_ours(out, names=("items.jsonl", "sounds", "mixtures", "pictures"), made_by="pseudo-label")
    policy = None if options.sound_policy is None else load_sound_policy(options.sound_policy)
    lines, left = list[dict[str, Any]](), Counter[str]()
    for group in grouped(redecide(record.rows, None, sound=policy)):
        best = ranked(group, "overall")[0]["id"]
        row = next(one for one in group if one["id"] == best)
        label = label_of(row.get("text") or "")
        if not _passes(row, options.min_overall_low) or label in {NO_WORDS, SEVERAL}:
            left[label if _passes(row, options.min_overall_low) else FAILS] += 1
            continue
        # files of one name but for the number are one recording to `make mixtures`
        name = f"sounds/{label.replace(' ', '_')}/{safe_name(str(row.get('cluster') or best))}_{len(lines)}"
        line = _placed(record.items[best], name, source=record.source, out=out)
        scores = {"overall": row["overall"], "overall_low": row["overall_low"]}
        lines.append({**line, "label": label, "confidence": round((row["overall_low"] - 1) / 4, 4), **scores})
    write_files(out, {"items.jsonl": json_lines(lines)})
    return Labelled(lines=tuple(lines), left=dict(left), out=out)


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
