"""Write docs/separation-results.md from runs of ``auscult run separation`` on made and on real material.

AUSCULT_DATA=FOLDER python studies/separation_results.py --out RUNS          run what is missing, write the page
python studies/separation_results.py --out RUNS --page                       only write the page
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "separation-results.md"
DATA = Path(os.environ.get("AUSCULT_DATA", "."))
MODELS = ("nmf", "hpss", "repet", "wiener", "gate", "irm", "ibm")
COUNT, SEED, LEAST = 150, 7, 20
HEAD = """\
# Results of separators

What [`auscult run separation`](separation-task.md) says of separators that need no weights, and of outputs that real systems published. In brackets 95 % intervals over whole mixtures, or groups of
those that share a recording. `AUSCULT_DATA=FOLDER python studies/separation_results.py --out RUNS` runs it and writes this page. Groups of fewer than 20 items are in the reports alone, but for families of published outputs.
No constant of a score or of a separator was chosen on any of these numbers.
The report of each run plays the worst outputs; none of its sounds or pictures is here, since much of the material may not be passed on. Overall, recall, precision and faithfulness are [our definition](sound-truth.md), not people's: **not comparable** with what papers print.
"""
READING = """\
What comes out:

- No separator without weights is shown to be better than the untouched mixture, in SI-SDR or in overall, on any of the three; all but `nmf` are shown to be worse in overall on all three. They take no words: where a prompt has spans its
  track is chosen by them, else it is the first one. The room above them is large: ideal masks, which are shown the stems, gain 14 to 22 dB.
- What real systems published is better than the mixture by 5.7 dB [4.7, 6.6] and .46 [.35, .56] of overall; 38 of the 406 outputs are of ideal masks (`irm`, `ibm`).
- SI-SDR and overall part where sound is made anew: TokenSplit is at 0.2 dB by design and at 1.86 of overall, although the README of the data says that it sounds right. Both scores compare waveforms or their spectra with
  the stem, cell by cell, and neither is an opinion of people.
- SI-SDR of all 406 outputs is within .005 dB of what the README of the data prints once the mean is taken off both signals, as it does; ours leaves the mean in (Le Roux et al.), by which 13 outputs differ by .1 to 3.6 dB.
"""
WORDS = {
    "generated": f"""\
## Generated sounds

`auscult make mixtures --count {COUNT} --seed {SEED}`: 2 to 6 generated sources each.
""",
    "recordings": f"""\
## Mixtures of real recordings

The same of recordings (`--assets AUSCULT_DATA/audio --count {COUNT} --seed {SEED}`): speech, speakers, music, instruments, general sounds.
""",
    "separated": """\
## Real mixtures, and what real separators made of them

406 outputs of 45 systems in 28 families over 89 mixtures (`AUSCULT_DATA/sound/separated`, published ones and some made from public code), beside separators without weights on the same items. Outputs on
demonstration pages are chosen by their authors: a family's numbers say how these outputs are, not how the system is.
""",
}
TABLES = ("general", "differences", "by_setting", "by_prompt", "by_difficulty", "by_seen", "families")
_LEFT = {
    "differences": "separated",
    "by_prompt": "recordings",
    "by_seen": "recordings",
}  # elsewhere in the report alone


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    if not given.page:
        mixed = ("make", "mixtures", "--count", COUNT, "--seed", SEED, "--out")
        _auscult(*mixed, given.out / "of_generated")
        _auscult(*mixed, given.out / "of_recordings", "--assets", DATA / "audio")
        real = DATA / "sound" / "separated"
        for name, source in (("generated", "of_generated"), ("recordings", "of_recordings"), ("separated", real)):
            models = (*((real,) if name == "separated" else ()), *MODELS)
            named = [word for model in models for word in ("--model", model)]
            _auscult("run", "separation", *named, "--data", given.out / source, "--out", given.out / name)
    parts = [words + "\n" + _tables(given.out / name, name) for name, words in WORDS.items()]
    PAGE.write_text("\n".join([HEAD, READING, *parts]), encoding="utf-8")
    return 0


def _auscult(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "auscult", *map(str, words), "--workers", "1", "--quiet"], check=True)


def _tables(folder: Path, part: str) -> str:
    found = []
    for name in TABLES:
        path = folder / "tables" / f"{name}.json"
        if path.is_file() and _LEFT.get(name, part) == part:
            table = json.loads(path.read_text(encoding="utf-8"))
            rows = [row for row in table["rows"] if name != "differences" or row[0].endswith(" - mixture")]
            if name.startswith("by_"):  # what rests on fewer items stands in the report alone
                rows = [row for row in rows if int(row[-1].split()[0].rstrip(",")) >= LEAST]
            if not rows:
                continue
            lines = [_row(row) for row in (table["header"], ["---"] * len(table["header"]), *rows)]
            found.append("\n".join([f"**{table['title']}**", "", *lines, "", table["note"], ""]))
    return "\n".join(found)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    raise SystemExit(main())
