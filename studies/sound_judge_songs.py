"""A judge of separated sound on real songs, window by window, and beside people's ratings of separated singing.

    AUSCULT_DATA=FOLDER python studies/sound_judge_songs.py --rows ROWS.jsonl [--judge NAME ...] [--write] [--page DIR]

Two songs with a published separator's output, and those of the ratings; pieces of the two with other separators are in
``sound_judge_real.py``. Nothing was trained, calibrated or chosen on any of it; the prompt was fixed as ``singing``
before. ``--page`` writes the windows of the two, and those out of order, as an INPUT for ``auscult audit``, whose report
plays them. They may not be passed on.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from sound_judge_rows import BESIDE, CLAIMS, DATA, Outputs, Row, arguments, dnsmos, no_music, marks, measured
from sound_judge_rows import mono_sound, orders, table, told
from sound_people import ASKED, _cell, _stems, halves, within

from auscult.media.wav import encode_wav
from auscult.types import PERFORMANCE, Samples

PROMPTS: Final = ("singing", "vocals", "")
WINDOW_S: Final = 5.0
SILENT_DB: Final = -40.0
"""Windows whose singing is this far below the mixture are left out: there is nothing to separate."""
FILES: Final = {"mix": "mixture", "vocals_true": "true stem", "accompaniment_true": "wrong stem", "vocals_estimate": "U-Net"}
KINDS: Final = {"mixture": "untouched_mixture", "true stem": "true_stem", "wrong stem": "wrong_stem"}
TWO: Final = ("Cristina_Vane_-_So_Easy", "The_Mountaineering_Club_-_Mallory")
QUESTIONS: Final = {name: ASKED[name] for name in ("freedom from interference", "sound quality", "choice")} | {
    "similarity": ("sisec2018_similarity", "similarity_mean", None)  # reserved: only where that part lies
}
HEARD: Final = ("no music heard", "DNSMOS overall", "DNSMOS background", "level of the output")
RATINGS: Final = DATA / "sound" / "ratings"
RATE_HZ: Final = 16_000  # of all ratings
Parts = dict[str, Samples]


def main() -> None:
    given = arguments(__doc__, "--page")
    judge, scorers = given.judge[0], [*given.judge, *BESIDE, "no music heard", "constant"]
    lines = (RATINGS / "clips.csv").read_text(encoding="utf-8").splitlines()
    clips = [clip for clip in csv.DictReader(lines) if clip["set"] != "sisec2008"]
    loaders = {name: partial(_outputs, name, parts, rate_hz) for name, parts, rate_hz in windows(clips)}
    said = measured(given, loaders, _truth)
    rows: dict[str, list[Row]] = defaultdict(list)
    for one, row in said.items():
        window, part = one.split("/")
        if "|" not in part:
            song = window.rpartition(", ")[0]
            rows[window].append({"part": part, "kind": KINDS.get(part, "asked"), "cluster": song, **row})
    broken = {
        window: [claim for claim in CLAIMS if min(marks([mine], judge, claim)[0], default=1) < 1]
        for window, mine in rows.items()
    }
    named = {"songs, means over windows": _means(rows, scorers), "windows": list(rows.values())}
    tables = {"people": people(said, clips, given.judge), "songs": orders(named, scorers)}
    told(tables | {"windows": by_window(rows, judge, broken)}, write=given.write)
    if given.page:
        write_page(Path(given.page), {one: loaders[one]() for one in rows if broken[one] or one.startswith(TWO)})


def windows(clips: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Parts, int]]:
    """The parts of each window with singing."""
    for song, parts, rate_hz in _songs(clips):
        size = min(part.size for part in parts.values())
        for number, at in enumerate(np.array_split(np.arange(size), max(1, int(size / rate_hz / WINDOW_S)))):
            cut = {part: sound[at[0] : at[-1] + 1] for part, sound in parts.items()}
            powers = [np.mean(cut[part] ** 2) + 1e-12 for part in ("true stem", "mixture")]
            if 10 * np.log10(powers[0] / powers[1]) > SILENT_DB:
                yield f"{song}, {number + 1}", cut, rate_hz


def _songs(clips: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, Parts, int]]:
    for song in sorted((DATA / "audio" / "separation" / "wave_u_net_nc").iterdir()):
        read = {part: mono_sound(song / f"{name}.mp3") for name, part in FILES.items()}
        yield song.name, {part: sound for part, (sound, _) in read.items()}, read["mixture"][1]
    for page, group in groupby(clips, key=_page):
        rated = list(group)
        stem, *others = _stems(RATINGS, rated[0]["reference"], rated)
        rest = np.sum(others, axis=0)
        separated = {one["sound"]: RATINGS / one["audio"] for one in rated if one["kind"] == "separator"}
        parts = {name: mono_sound(path, stem.size)[0] for name, path in separated.items()}
        again = {f"{name}|{text}": sound for text in PROMPTS[1:] for name, sound in parts.items()}
        yield page, {"mixture": stem + rest, "true stem": stem, "wrong stem": rest} | parts | again, RATE_HZ


def _page(clip: Mapping[str, str]) -> str:
    return f"{clip['set']} {clip['page']}"


def _outputs(window: str, parts: Parts, rate_hz: int) -> Outputs:
    sounds = {f"{window}/{part}": np.asarray(sound, np.float32) for part, sound in parts.items()}
    mixture, stems = sounds[f"{window}/mixture"], dict.fromkeys(sounds, sounds[f"{window}/true stem"])
    texts = {one: (one.partition("|")[2] or None) if "|" in one else PROMPTS[0] for one in sounds}
    return Outputs(mixture=mixture, rate_hz=rate_hz, sounds=sounds, texts=texts, stems=stems)


def _truth(one: str, given: Outputs) -> Row:
    if "|" in one:
        return {}
    rated = one.startswith(tuple(question[0] for question in QUESTIONS.values()))
    heard = dnsmos(given.sounds[one], given.rate_hz) if rated and one.rpartition("/")[2] not in KINDS else {}
    return {"no music heard": no_music(given.sounds[one], given.rate_hz)} | heard


def people(said: Mapping[str, Row], clips: Sequence[Row], judges: Sequence[str]) -> str:
    """For each score and question the mean Spearman within songs and its interval over songs."""
    ours = [f"{judge} {axis}" for judge in judges for axis in PERFORMANCE]
    more = {f"{key}, *{text or 'no prompt'}*": (text, key) for text in PROMPTS[1:] for key in ours}
    rows, lines = [], []
    for clip in clips:
        if clip["kind"] == "separator":
            one = f"{_page(clip)}, 1/{clip['sound']}"
            other = {name: said[f"{one}|{text}"][key] for name, (text, key) in more.items()}
            rows.append({**clip, "scores": said[one] | other})
    for name in (*ours, *more, *BESIDE, *HEARD):
        songs = {asked: within(rows, name, question) for asked, question in QUESTIONS.items()}
        lines.append([name, *(_cell(mine, seed=asked) if mine else "–" for asked, mine in songs.items())])
    lines.append(["half of the listeners", *(halves(RATINGS, one) if one in ASKED else "–" for one in QUESTIONS)])
    return table(["score", *QUESTIONS], lines)


def _means(rows: Mapping[str, Sequence[Row]], scorers: Sequence[str]) -> list[list[Row]]:
    """Each part of each song with the mean over its windows of what is said of it."""
    found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in (row for mine in rows.values() for row in mine):
        found[row["cluster"]][row["part"]].append(row)
    keys = (*scorers, "gain")
    return [[mine[0] | {key: _mean(mine, key) for key in keys} for mine in by.values()] for by in found.values()]


def _mean(rows: Sequence[Row], key: str) -> float | None:
    known = [row[key] for row in rows if row[key] is not None]
    return float(np.mean(known)) if known else None


def by_window(rows: Mapping[str, Sequence[Row]], judge: str, broken: Mapping[str, Sequence[str]]) -> str:
    """What the judge says of each part of each window, and what the policy that ships decides on it."""
    lines = []
    for window, mine in rows.items():
        said = [f"{row['part']} {row[judge] or np.nan:.2f} {row[f'{judge} action']}" for row in mine]
        lines.append([window, "; ".join(said), "; ".join(broken[window])])
    return table(["window", "overall and decision", "what does not hold"], lines)


def write_page(folder: Path, shown: Mapping[str, Outputs]) -> None:
    """An INPUT with every part of these windows as a candidate."""
    lines = []
    for number, (window, given) in enumerate(shown.items()):
        (folder / f"{number:02d}").mkdir(parents=True, exist_ok=True)
        names = {one: f"{number:02d}/{at:02d}.wav" for at, one in enumerate(given.sounds) if "|" not in one}
        for one, name in names.items():
            (folder / name).write_bytes(encode_wav(given.sounds[one], given.rate_hz))
            known = {"mixture": names[f"{window}/mixture"], "text": PROMPTS[0], "cluster": window.rpartition(", ")[0]}
            lines.append({"id": one, "separated": name, "truth": {"stem": names[f"{window}/true stem"]}, **known})
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    print(f"\nauscult audit {folder} --out {folder}-audit")


if __name__ == "__main__":
    main()
