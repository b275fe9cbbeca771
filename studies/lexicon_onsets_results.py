"""The joined classical model beside its two parts and an empty answer, on generated scenes, for the docs page.

``auscult make scenes --out S --count 64 --seed 4919``, then ``python studies/lexicon_onsets_results.py S``. What is
seen of a clip is kept while its sentences are asked, which changes no answer. Scores are J&F by the ``plain``
rules of ``score.masks.ref_avs``, means over sentences that name something; intervals draw whole clips.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from auscult.cases.instances import list_instances
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.media.sound import read_sound
from auscult.models.classical import lexicon, onsets
from auscult.models.classical.lexicon import heard_cue
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.score.masks.ref_avs import ref_avs_f, ref_avs_j, ref_avs_s
from auscult.score.stats.change import mean_ratio
from auscult.types import Instance

MODELS = {
    "classical.lexicon_onsets.v1": lexicon.WITH_ONSETS,
    "classical.lexicon.v1": lexicon.MODEL,
    "classical.onsets.v1": onsets.MODEL,
}


def remember(module: Any, name: str) -> None:
    """Keep what a function of a module gave for the clip at hand."""
    function: Callable[..., Any] = getattr(module, name)
    kept: dict[tuple[bytes, ...], Any] = {}

    def found(*given: Any) -> Any:
        key = tuple(one.tobytes() for one in given)
        if key not in kept:
            kept.clear()
            kept[key] = function(*given)
        return kept[key]

    setattr(module, name, found)


def scored(instance: Instance, seen: dict[str, Any]) -> dict[str, float]:
    """Model to J&F of one sentence, or S of one that names nothing."""
    frames, sound, rate_hz = seen["frames"], seen["sound"], seen["rate_hz"]
    found = {}
    for name, model in (*MODELS.items(), ("nothing at all", None)):
        if model is onsets.MODEL:
            if "onsets" not in seen:
                seen["onsets"] = model.predict(frames, instance.query, sound=sound, rate_hz=rate_hz)
            answer = seen["onsets"]
        elif model is None:
            answer = np.zeros(frames.shape[:3], bool)
        else:
            answer = model.predict(frames, instance.query, sound=sound, rate_hz=rate_hz)
        if instance.absent:
            outcomes = [ref_avs_s([answer])]
        else:
            kept = [index for index, moment in enumerate(instance.moments) if moment.target is not None]
            truth = np.stack([read_mask(instance.moments[at].target, size=frames.shape[1:3]).mask for at in kept])
            outcomes = [ref_avs_j([answer[kept]], [truth]), ref_avs_f([answer[kept]], [truth])]
        values = [one.value for one in outcomes if isinstance(one, Scored)]
        if values:
            found[name] = float(np.mean(values))
    return found


def main() -> None:
    """Score every sentence of a folder of scenes and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--kept", type=Path, help="rows that are done already; the same file goes on")
    parser.add_argument("--most", type=int, default=3, help="sentences of a clip, drawn at random")
    parser.add_argument("--of-sound", action="store_true", help="only those that say something of the sound")
    given = parser.parse_args()
    listed = [
        one for one in list_instances(given.scenes).instances if not given.of_sound or heard_cue(one.query.text or "")
    ]
    instances = drawn(listed, given.most)
    remember(lexicon, "_look")
    rows = [json.loads(line) for line in given.kept.open()] if given.kept and given.kept.exists() else []
    done, clip, seen = {row["id"] for row in rows}, "", {}
    for one in instances:
        if one.id in done:
            continue
        if one.clip != clip:
            heard = read_sound(one.sound)
            pictures = np.stack([read_frame(moment.frame) for moment in one.moments])
            clip, seen = one.clip, {"frames": pictures, "sound": heard.samples, "rate_hz": heard.rate_hz}
        begun = time.process_time()
        row = {"id": one.id, "clip": clip, "null": one.absent, "cue": heard_cue(one.query.text), "family": one.template}
        rows.append({**row, "scores": scored(one, seen), "seconds": time.process_time() - begun})
        if given.kept:
            with given.kept.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print_tables(rows)


def say(line: str) -> None:
    """Write a line of the tables."""
    sys.stdout.write(line + "\n")


def drawn(instances: Sequence[Instance], most: int) -> list[Instance]:
    """At most so many sentences of each clip, by a draw for each sentence."""
    ranks = {one.id: float(generator(0, "lexicon_onsets", one.id).random()) for one in instances}
    by_clip: dict[str, list[Instance]] = {}
    for one in instances:
        by_clip.setdefault(one.clip, []).append(one)
    return [one for mine in by_clip.values() for one in sorted(mine, key=lambda one: ranks[one.id])[:most]]


def print_tables(rows: list[dict[str, Any]]) -> None:
    """Means with intervals, by what is said of the sound, and the joined model's lead over each."""
    first = next(iter(MODELS))
    said = {"all": rows, "of sound": [row for row in rows if row["cue"]], "of sight": [r for r in rows if not r["cue"]]}
    for title, chosen in (*said.items(), *((cue, [r for r in rows if r["cue"] == cue]) for cue in ("silent", "first"))):
        for null in (False, True):
            mine = [row for row in chosen if row["null"] == null]
            clips = {row["id"]: row["clip"] for row in mine}
            say(f"\n{title}{', null: S' if null else ': J&F'}, {len(mine)} sentences, {len(set(clips.values()))} clips")
            for model in (*MODELS, "nothing at all"):
                values = {row["id"]: row["scores"][model] for row in mine if model in row["scores"]}
                ahead = {key: rows_of(mine, key, first) - value for key, value in values.items()}
                say(f"  {model:30} {text(values, clips)}   lead {text(ahead, clips) if model != first else ''}")


def rows_of(rows: list[dict[str, Any]], key: str, model: str) -> float:
    """The score of a sentence."""
    return next(float(row["scores"][model]) for row in rows if row["id"] == key)


def text(values: dict[str, float], clips: dict[str, str]) -> str:
    """A mean and its 95 % interval, which draws whole clips."""
    found = mean_ratio(values, clusters=clips, rng=generator(0, "lexicon_onsets"), replicates=2000)
    if not isinstance(found, Scored) or found.low is None or found.high is None:
        return "n/a"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


if __name__ == "__main__":
    main()
