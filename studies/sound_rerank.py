"""What choosing the best of k outputs by a judge is worth: a section of docs/use-sound-verdicts.md.

    AUSCULT_DATA=FOLDER python studies/sound_rerank.py --rows ROWS.jsonl [--judge NAME] [--count 200] [--write]

Made: mixtures of the test part with six outputs each, stems damaged in one or two of sixteen ways or separated by
classical separators, of seen and of unseen classes. Real: outputs of real separators, at least two a mixture, that no
training and no calibration heard. Prompts are the text, or text and spans. A stopped run goes on with the same command.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.jobs.judges import load_sound_judge
from auscult.jobs.rerank import JUDGE, Choice, best_of_rows, best_of_table, plain_scores, standings_of
from auscult.jobs.sound_input import mixture_and_output, true_scores
from auscult.media.wav import Sound
from auscult.models.sound_taggers import SoundTagger, load_tagger
from auscult.train.sound_judge.samples import Recipe, made_samples, real_items
from auscult.types import Samples, SoundCase, SoundItem, SoundJudge, SoundQuery, SoundVerdict

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE = ROOT / "docs" / "use-sound-verdicts.md"
DATA = Path(os.environ.get("AUSCULT_DATA", "."))
OUTPUTS: Final = 6
PROMPTS: Final = ("text", "text and spans")
SEED: Final = 1340
NO_SEPARATORS: Final = ("asked_for_other_source", "ibm", "irm", "true_stem", "untouched_mixture", "wrong_stem")
"""Families of outputs that nobody chooses among: made with the stems, or of nothing that separates."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True, help="file of rows, kept and added to")
    parser.add_argument("--judge", default="sound.compact.v1")
    parser.add_argument("--count", type=int, default=200, help="made mixtures")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    given = parser.parse_args()
    candidates = {f"made {number}": partial(made, number) for number in range(given.count)} | real()
    text = tables(measured(given.rows, given.judge, candidates), judge=given.judge)
    print(text)
    if given.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "rerank", text), encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Outputs of one mixture, (1, samples) each, with their true overall scores."""

    part: str
    cluster: str
    case: SoundCase
    outputs: Sequence[Samples]
    truths: Sequence[float]


def measured(path: Path, judge: str, candidates: Mapping[str, Callable[[], Candidates]]) -> list[dict[str, Any]]:
    """A row for each mixture and kind of prompt; what the file does not have is measured and appended."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    done = {(row["judge"], row["name"]) for row in rows}
    loaded, tagger = load_sound_judge(judge), load_tagger(f"mn04@{DATA / 'sound' / 'nets'}")
    with path.open("a", encoding="utf-8") as file:
        for name, load in candidates.items():
            if (judge, name) not in done:
                rows.append({"judge": judge, "name": name, **_row(load(), loaded, tagger)})
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
    return [row for row in rows if row["judge"] == judge and row["name"] in candidates]


def _row(given: Candidates, judge: SoundJudge, tagger: SoundTagger) -> dict[str, Any]:
    row: dict[str, Any] = {"part": given.part, "cluster": given.cluster, "truths": list(given.truths), "prompts": {}}
    mixture = Sound(samples=given.case.mixture, rate_hz=given.case.rate_hz)
    for prompts, spans in zip(PROMPTS, ((), given.case.spans), strict=True):
        if prompts == PROMPTS[0] or spans:
            case, query = replace(given.case, spans=spans), SoundQuery(text=given.case.text, spans=spans)
            batch = getattr(judge, "batch", None)
            cases = [case] * len(given.outputs)
            said = batch(cases, given.outputs) if batch else [judge(case, one) for one in given.outputs]
            heard = [replace(mixture, samples=one) for one in given.outputs]
            plain = [plain_scores(mixture, one, query=query, tagger=tagger) for one in heard]
            row["prompts"][prompts] = {"said": [_standing(one) for one in said], "plain": plain}
    return row


def made(number: int) -> Candidates:
    """Outputs of a made mixture of the test part."""
    recipe = Recipe(outputs=OUTPUTS)
    samples = list(made_samples(DATA, part="test", numbers=[number], seed=SEED, recipe=recipe))
    return Candidates(
        part="seen classes" if samples[0].seen else "unseen classes",
        cluster=samples[0].cluster,
        case=replace(samples[0].case, frames=None),
        outputs=[one.separated for one in samples],
        truths=[one.scores["overall"] for one in samples],
    )


def real() -> dict[str, Callable[[], Candidates]]:
    """What opens the outputs of each real mixture and prompt that have several."""
    found: dict[str, list[SoundItem]] = {}
    for item in real_items(DATA, part="test"):
        if item.family not in NO_SEPARATORS:
            found.setdefault(f"{item.mixture.parent.name}: {item.query.text}", []).append(item)
    return {name: partial(_opened, items) for name, items in found.items() if len(items) > 1}


def _opened(items: Sequence[SoundItem]) -> Candidates:
    mixture = mixture_and_output(items[0])[0]
    truths = {item.id: true_scores(item).get("overall") for item in items}
    known = [item for item in items if truths[item.id] is not None]
    size, outputs = mixture.samples.shape[1], [mixture_and_output(item)[1].samples for item in known]
    return Candidates(
        part="real separators",
        cluster=items[0].cluster,
        case=SoundCase(id="", mixture=mixture.samples, rate_hz=mixture.rate_hz, text=items[0].query.text),
        outputs=[np.pad(one[:, :size], ((0, 0), (0, max(0, size - one.shape[1])))) for one in outputs],
        truths=[truths[item.id] or 0.0 for item in known],
    )


def _standing(said: SoundVerdict) -> list[float] | None:
    axes = (said.recall, said.precision, said.faithfulness)
    return None if said.overall is None else [said.overall, min(one for one in axes if one is not None)]


def tables(rows: Sequence[Mapping[str, Any]], *, judge: str) -> str:
    """A table for each part and kind of prompt, in Markdown."""
    parts = []
    for part, prompts in product(("seen classes", "unseen classes", "real separators"), PROMPTS):
        choices = [_choice(row, prompts) for row in rows if row["part"] == part and prompts in row["prompts"]]
        found = best_of_rows(choices, ks=(2, 4, OUTPUTS))
        if found:
            table = best_of_table(found)
            lines = [table.header, ["---"] * len(table.header), *table.rows]
            text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
            parts.append(f"**{part}, {prompts}** (`{judge}`)\n\n{text}\n\n{table.note}.")
    return "\n\n".join(parts)


def _choice(row: Mapping[str, Any], prompts: str) -> Choice:
    known = row["prompts"][prompts]
    said = [None if one is None else (one[0], one[1]) for one in known["said"]]
    standings = {JUDGE: said, **standings_of(known["plain"])}
    return Choice(cluster=row["cluster"], standings=standings, truths=np.array(row["truths"]))


if __name__ == "__main__":
    main()
