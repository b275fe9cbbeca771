"""How far scores from true stems follow people: the tables of docs/sound-people.md, from ``AUSCULT_DATA/sound/ratings``.

    AUSCULT_DATA=FOLDER python studies/sound_people.py --rows ROWS.jsonl [--write]

Every score of ``auscult list score`` that needs only stems, and perceptual.v1. Separators' outputs are ranked within a
song, as the listeners heard them; Spearman's mean over songs, and an interval over songs. Nothing is fitted here.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import moved
from auscult.media.sound import read_sound
from auscult.models.dnsmos import Dnsmos
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.sound import SCORES, score_sound
from auscult.score.sound.perceptual import Perceptual, perceptual
from auscult.score.sound.times import Delay, find_delay
from auscult.score.stats.few_clusters import CORRELATION
from auscult.score.stats.intervals import Interval, bootstrap_interval
from auscult.score.stats.correlation import spearman
from auscult.types import PERFORMANCE

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE = ROOT / "docs" / "sound-people.md"
ASKED: Final = {
    "freedom from interference": ("icassp2018", "freedom_from_interference_mean", "freedom_from_interference"),
    "sound quality": ("icassp2018", "sound_quality_mean", "sound_quality"),
    "choice": ("sisec2018_choice", "chosen", None),
    "basic audio quality": ("sisec2008", "basic_audio_quality_mean", None),
}
"""What was asked: the set, its column, and the attribute in the raw ratings."""
PARTS = ("stem", "stems", "mixture")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    folder = Path(os.environ["AUSCULT_DATA"]) / "sound" / "ratings"
    rows = measured(folder, given.rows)
    sections = {
        "aligned": table([row for row in rows if row["aligned"]], folder),
        "as they lie": table([row for row in rows if not row["aligned"]], folder),
        "anchors": anchors([row for row in rows if row["aligned"]]),
    }
    print("\n\n".join(sections.values()))
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in sections.items():
            page = placed(page, name, text)
        PAGE.write_text(page, encoding="utf-8")


def measured(folder: Path, path: Path) -> list[dict[str, Any]]:
    """Scores of every clip, as it lies and aligned; those that are missing are measured and appended."""
    clips = list(csv.DictReader((folder / "clips.csv").open(encoding="utf-8")))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    done = {row["audio"] for row in rows}
    with path.open("a", encoding="utf-8") as file:
        for page, members in groupby(clips, key=lambda clip: (clip["set"], clip["page"])):
            songs = list(members)
            for clip in songs:
                if clip["audio"] in done or (clip["kind"] != "separator" and clip["set"] != "icassp2018"):
                    continue
                stems = _stems(folder, clip["reference"], songs)
                new = list(_scored(folder, clip, stems))
                file.write("".join(json.dumps(row) + "\n" for row in new))
                file.flush()
                rows += new
    return rows


def _read(folder: Path, name: str) -> Any:
    return read_sound(folder / name).samples.mean(axis=0)


def _stems(folder: Path, target: str, clips: Sequence[Mapping[str, str]]) -> list[Any]:
    """Target and the rest. Where no other stem was kept, the anchor of target plus accompaniment minus the target."""
    rest = [clip["audio"] for clip in clips if clip["kind"] in {"other stem", "reference"} and clip["audio"] != target]
    rest = rest or [clip["audio"] for clip in clips if clip["sound"] == "Interferer"]
    sounds = [_read(folder, name) for name in (target, *rest)]
    size = min(sound.size for sound in sounds)
    reference, *others = (sound[:size] for sound in sounds)
    if not any(clip["kind"] == "other stem" or clip["set"] == "sisec2008" for clip in clips):
        others = [others[0] - float(np.vdot(others[0], reference) / np.vdot(reference, reference)) * reference]
    return [reference, *others]


def _scored(folder: Path, clip: Mapping[str, str], stems: Sequence[Any]) -> Iterator[dict[str, Any]]:
    sound = _read(folder, clip["audio"])
    size = min(sound.size, stems[0].size)
    cut, sound = [stem[:size] for stem in stems], sound[:size]
    rate_hz = read_sound(folder / clip["audio"]).rate_hz
    delay = find_delay(sound, cut[0], rate_hz=rate_hz)
    late = delay.delay_samples if isinstance(delay, Delay) and delay.named else 0
    asked = clip["kind"] == "separator"
    scores = dict(_all_scores(sound, cut, rate_hz, networks=asked))
    yield {**clip, "aligned": False, "late_samples": late, "scores": scores}
    if late:
        scores = dict(_all_scores(moved(sound, late), cut, rate_hz, networks=asked))
    yield {**clip, "aligned": True, "late_samples": late, "scores": scores}


def _all_scores(
    output: Any, stems: Sequence[Any], rate_hz: int, *, networks: bool = True
) -> Iterator[tuple[str, float | None]]:
    """Every score by name, so signed that higher is better; None where it is undefined."""
    ours = perceptual(output, stems, rate_hz=rate_hz)
    for name in PERFORMANCE:
        yield f"perceptual {name}", getattr(ours, name) if isinstance(ours, Perceptual) else None
    for name, spec in SCORES.items():
        if name == "perceptual" or not set(spec.needs) <= set(PARTS):
            continue
        found = score_sound(name, output, stems, rate_hz=rate_hz, mixture=np.sum(stems, axis=0))
        for key, outcome in found.items():
            sign = 1 if spec.meta.higher_is_better else -1
            title = name if key == name else f"{name} {key}"
            yield title, sign * outcome.value if isinstance(outcome, Scored) else None
    for key, value in _dnsmos().scores(output.astype(np.float32), rate_hz).items() if networks else ():
        yield f"DNSMOS {key}, no stem", value
    yield "level of the output", float(10 * np.log10(np.mean(output**2) + 1e-12))


@cache
def _dnsmos() -> Dnsmos:
    return Dnsmos(Path(os.environ["AUSCULT_DATA"]) / "sound" / "nets")


def table(rows: Sequence[Mapping[str, Any]], folder: Path) -> str:
    """For each score and question the mean Spearman within songs and its interval over songs."""
    names = list(dict.fromkeys(name for row in rows for name, value in row["scores"].items() if value is not None))
    lines = ["| score | " + " | ".join(ASKED) + " |", "|---" * (1 + len(ASKED)) + "|"]
    for name in names:
        cells = [_cell(within(rows, name, question), seed=asked) for asked, question in ASKED.items()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append(f"| half of the listeners | {' | '.join(halves(folder, asked) for asked in ASKED)} |")
    return "\n".join(lines)


def within(rows: Sequence[Mapping[str, Any]], name: str, question: tuple[str, str, str | None]) -> list[list[float]]:
    """Spearman of each song's separators, songs apart."""
    key, column, _ = question
    pages = defaultdict(list)
    for row in rows:
        if row["set"] == key and row["kind"] == "separator" and row["scores"].get(name) is not None:
            pages[row["song"], row["page"]].append((row["scores"][name], float(row[column])))
    songs = defaultdict(list)
    for (song, _), pairs in pages.items():
        found = spearman(*zip(*pairs, strict=True))
        if isinstance(found, Scored):
            songs[song].append(found.value)
    return list(songs.values())


def _cell(songs: Sequence[Sequence[float]], *, seed: str) -> str:
    if len(songs) == 1:
        return f"{songs[0][0]:.2f}"
    rng = generator(0, "people", seed)
    found = bootstrap_interval(lambda values: float(np.mean(values)), songs, rng=rng, within=CORRELATION)
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})" if isinstance(found, Interval) else "–"


def halves(folder: Path, asked: str) -> str:
    """How far half of the listeners follow the other half: the mean over fifty ways to part them."""
    key, _, attribute = ASKED[asked]
    if attribute is None:
        return "–"
    separators = {
        (clip["page"], clip["sound"])
        for clip in csv.DictReader((folder / "clips.csv").open(encoding="utf-8"))
        if clip["set"] == key and clip["kind"] == "separator"
    }
    ratings: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in csv.DictReader((folder / "raw_ratings.csv").open(encoding="utf-8")):
        at = (row["page"], row["sound"])
        if row["set"] == key and row["attribute"] == attribute and at in separators and row["rating"]:
            ratings[row["rater"]].setdefault(at, float(row["rating"]))
    raters = sorted(ratings)
    found = []
    for turn in range(50):
        order = generator(turn, "halves").permutation(len(raters))
        means = [_means(ratings[raters[at]] for at in part) for part in np.array_split(order, 2)]
        for page in sorted({page for page, _ in separators}):
            shared = [at for at in means[0] if at[0] == page and at in means[1]]
            value = spearman([means[0][at] for at in shared], [means[1][at] for at in shared])
            found += [value.value] if isinstance(value, Scored) else []
    return f"{np.mean(found):.2f}"


def _means(ratings: Iterable[Mapping[tuple[str, str], float]]) -> dict[tuple[str, str], float]:
    values = defaultdict(list)
    for one in ratings:
        for at, rating in one.items():
            values[at].append(rating)
    return {at: float(np.mean(all_of)) for at, all_of in values.items()}


def anchors(rows: Sequence[Mapping[str, Any]]) -> str:
    """Mean rating and mean scores of what is no separator."""
    names = [f"perceptual {name}" for name in PERFORMANCE] + ["si_sdr"]
    lines = ["| clip | n | quality | interference | " + " | ".join(names) + " |", "|---" * (4 + len(names)) + "|"]
    groups = defaultdict(list)
    for row in rows:
        if row["set"] == "icassp2018":
            groups[row["sound"] if row["kind"] != "separator" else "separators"].append(row)
    for label, members in groups.items():
        asked = [_mean(float(row[column]) for row in members) for _, column, _ in list(ASKED.values())[1::-1]]
        values = [_mean(row["scores"][name] for row in members) for name in names]
        lines.append(f"| {label} | {len(members)} | {' | '.join(asked + values)} |")
    return "\n".join(lines)


def _mean(values: Iterable[float | None]) -> str:
    kept = [value for value in values if value is not None]
    return f"{np.mean(kept):.2f}" if kept else "–"


if __name__ == "__main__":
    main()
