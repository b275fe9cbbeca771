"""What choosing the best of k outputs by a judge is worth: a section of docs/use-sound-verdicts.md.

    AUSCULT_DATA=FOLDER python studies/sound_rerank.py --out FOLDER [--judge NAME] [--count 200] [--write]

Made: mixtures of the test part with six outputs each, stems damaged in one or two of sixteen ways or separated by
classical separators, of seen and of unseen classes, asked for by text and spans. Real: outputs of real separators that
no training and no calibration heard, asked for by text. All are audited and re-ranked as a user does it; a stopped run
goes on with the same command.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from auscult.cases.listing import ListOptions
from auscult.cases.sounds import sound_line
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.jobs.rerank import rerank_record
from auscult.jobs.sound_options import RerankOptions
from auscult.media.paths import write_bytes
from auscult.media.wav import Sound, wav_bytes
from auscult.train.sound_judge.samples import Recipe, made_samples, real_items

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE = ROOT / "docs" / "use-sound-verdicts.md"
DATA = Path(os.environ.get("AUSCULT_DATA", "."))
OUTPUTS, SEED = 6, 1340
NO_SEPARATORS: Final = ("asked_for_other_source", "ibm", "irm", "true_stem", "untouched_mixture", "wrong_stem")
"""Families of outputs that nobody chooses among: made with the stems, or of nothing that separates."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of sounds and records")
    parser.add_argument("--judge", default="sound.compact.v1")
    parser.add_argument("--count", type=int, default=200, help="made mixtures")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    given = parser.parse_args()
    lines = [*made(given.out, given.count), *real()]
    parts = {name: [one for one in lines if one["part"] == name] for name in ("seen classes", "unseen classes", "real")}
    texts = []
    for name, own in parts.items():
        source, record = given.out / f"{name}.jsonl", given.out / f"{name}, {given.judge}"
        source.write_text("".join(f"{json.dumps(line)}\n" for line in own), encoding="utf-8")
        listing = ListOptions(root=Path("/"))
        audit_folder(AuditOptions(source=source, out=record, sound_judge=given.judge, listing=listing, workers=1))
        options = RerankOptions(folder=record, ks=(2, 4, OUTPUTS), tagger=f"mn04@{DATA / 'sound' / 'nets'}")
        table = rerank_record(options).tables[-1]
        rows = "\n".join(
            "| " + " | ".join(one) + " |" for one in (table.header, ["---"] * len(table.header), *table.rows)
        )
        texts.append(f"**{name}** (`{given.judge}`)\n\n{rows}\n\n{table.note}.")
    print("\n\n".join(texts))
    if given.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "rerank", "\n\n".join(texts)), encoding="utf-8")


def made(out: Path, count: int) -> Iterator[dict[str, Any]]:
    """The lines of outputs of made mixtures; files that are missing are written."""
    for number in range(count):
        kept = out / "made" / f"{number}.json"
        if not kept.exists():
            samples = made_samples(DATA, part="test", numbers=[number], seed=SEED, recipe=Recipe(outputs=OUTPUTS))
            lines = []
            for at, one in enumerate(samples):
                case, paths = one.case, [kept.with_name(f"{number}{end}.wav").resolve() for end in ("", f"-{at}")]
                for path, sound in zip(paths, (case.mixture, one.separated), strict=True):
                    write_bytes(path, wav_bytes(Sound(samples=sound, rate_hz=case.rate_hz), "float32"))
                spans = [[span.sign, round(span.start_s, 4), round(span.end_s, 4)] for span in case.spans]
                line = {"id": f"{number}-{at}", "mixture": str(paths[0]), "separated": str(paths[1]), "text": case.text}
                line |= {"spans_s": spans, "cluster": one.cluster, "truth": one.scores, "kind": one.kind}
                lines.append({**line, "part": "seen classes" if one.seen else "unseen classes"})
            write_bytes(kept, json.dumps(lines).encode())
        yield from json.loads(kept.read_text(encoding="utf-8"))


def real() -> Iterator[dict[str, Any]]:
    """The lines of outputs of real separators that nobody trained on."""
    for item in real_items(DATA, part="test"):
        if item.family not in NO_SEPARATORS and item.truth is not None:
            line = sound_line(item, home=Path("/"))
            paths = {key: f"/{line[key]}" for key in ("mixture", "separated")}
            yield {**line, **paths, "truth": {"stem": str(item.truth.stem)}, "part": "real"}


if __name__ == "__main__":
    main()
