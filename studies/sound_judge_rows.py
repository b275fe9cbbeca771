"""What the studies ``sound_judge_*`` share: verdicts, and what needs no judge beside them, in a file of rows.

A line of the file is what one judge, or nobody (``plain``), said of the outputs of one mixture. A run that was stopped
goes on with the same command.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.act.sound_policy import decide_sound
from auscult.arrays.resampling import mono
from auscult.jobs.against_truth import cell
from auscult.jobs.judges import load_sound_judge
from auscult.judge.cards import markdown
from auscult.media.sound import read_sound
from auscult.models.dnsmos import Dnsmos
from auscult.models.sound_taggers import load_tagger, text_similarity
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.judges.measures import ClusterDraws, Measured, mean_of, with_interval
from auscult.score.sound.ratios import si_sdr
from auscult.score.stats.few_clusters import SHARE
from auscult.types import PERFORMANCE, Samples, SoundCase

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from marked_sections import placed  # noqa: E402

PAGE: Final = ROOT / "docs" / "sound-judge-results.md"
DATA: Final = Path(os.environ.get("AUSCULT_DATA", "."))
PLAIN: Final = "plain"
BESIDE: Final = ("SI-SDR to the mixture", "tagger on the prompt")  # baselines that need no stem
CLAIMS: Final = {
    "true stem above every output": ("true_stem", "asked", 1),
    "true stem above the mixture": ("true_stem", "untouched_mixture", 1),
    "outputs that SI-SDR puts 3 dB above the mixture above it": ("helpful", "untouched_mixture", 1),
    "wrong stem below every output": ("wrong_stem", "asked", -1),
    "wrong stem below the true one": ("wrong_stem", "true_stem", -1),
    "output for another source below every output": ("other", "asked", -1),
}
"""What should hold of the outputs for one target: of which kind each, above or below all of which other."""
Row = dict[str, Any]
NETS: Final = DATA / "sound" / "nets"
_loaded, _dnsmos, tagger = cache(load_sound_judge), cache(Dnsmos), cache(lambda: load_tagger(f"mn04@{NETS}"))


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Sounds that were separated from one mixture, all (samples,) of its length and rate, by id."""

    mixture: Samples
    rate_hz: int
    sounds: Mapping[str, Samples]
    texts: Mapping[str, str | None]
    stems: Mapping[str, Samples]  # what each should be


def arguments(description: str | None, *more: str) -> argparse.Namespace:
    """The options of these studies; claims are of the first judge."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", nargs="+", default=["sound.compact.v1", "sound.cues.v1"])
    parser.add_argument("--rows", type=Path, required=True, help="file of rows, kept and added to")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    for name in more:
        parser.add_argument(name)
    return parser.parse_args()


def measured(
    given: argparse.Namespace, loaders: Mapping[str, Callable[[], Outputs]], truth: Callable[[str, Outputs], Row]
) -> dict[str, Row]:
    """By id what each judge (``NAME``: overall, ``NAME recall`` ...) and nobody says; ``truth`` gets an id."""
    done = dict(map(json.loads, given.rows.read_text(encoding="utf-8").splitlines())) if given.rows.exists() else {}
    opened = lru_cache(maxsize=1)(lambda name: loaders[name]())
    merged: dict[str, Row] = {}
    with given.rows.open("a", encoding="utf-8") as file:
        for name, scorer in product(loaders, (*given.judge, PLAIN)):
            key = f"{scorer}|{name}"
            if key not in done:
                outputs = opened(name)
                plain = {one: _beside(outputs, one) | truth(one, outputs) for one in outputs.sounds if scorer == PLAIN}
                done[key] = plain if scorer == PLAIN else _judged(scorer, outputs)
                file.write(json.dumps([key, done[key]]) + "\n")
                file.flush()
            for one, row in done[key].items():
                merged.setdefault(one, {}).update(row)
    return merged


def _judged(name: str, given: Outputs) -> dict[str, Row]:
    """The verdicts of one judge, prompted by the text alone."""
    judge, mixture = _loaded(name), given.mixture[None]
    cases = [SoundCase(id="", mixture=mixture, rate_hz=given.rate_hz, text=text) for text in given.texts.values()]
    outputs = [given.sounds[one][None] for one in given.texts]
    batch = getattr(judge, "batch", None)
    verdicts = batch(cases, outputs) if batch else [judge(*pair) for pair in zip(cases, outputs, strict=True)]
    return {
        one: {name: said.overall, f"{name} action": decide_sound(said).action}
        | {f"{name} {axis}": getattr(said, axis) for axis in PERFORMANCE}
        for one, said in zip(given.texts, verdicts, strict=True)
    }


def _beside(given: Outputs, one: str) -> Row:
    """SI-SDR with the stem, and what anybody can compute without one; None where it is undefined."""
    sound, text, stem = given.sounds[one], given.texts[one], given.stems[one]
    pairs = ((sound, stem), (given.mixture, stem), (sound, given.mixture))
    ours, before, close = (getattr(si_sdr(*pair), "value", None) for pair in pairs)
    return {
        "si_sdr": ours,
        "gain": None if ours is None or before is None else ours - before,
        "SI-SDR to the mixture": close,
        "tagger on the prompt": text_similarity(tagger(), text, sound, rate_hz=given.rate_hz) if text else None,
        "level of the output": float(10 * np.log10(np.mean(sound**2) + 1e-12)),
        "constant": 0.0,
    }


def dnsmos(sound: Samples, rate_hz: int) -> Row:
    """What DNSMOS says of speech, with half a second of a core; nothing of silence."""
    heard = _dnsmos(NETS).scores(sound, rate_hz) if sound.any() else {}
    return {f"DNSMOS {name}": heard.get(name) for name in ("overall", "background")}


def no_music(sound: Samples, rate_hz: int) -> float:
    """Minus the log of the largest probability of AudioSet's Music and its instruments, of which singing should have none."""
    first, last = (tagger().labels.index(name) for name in ("Music", "Scratching (performance technique)"))
    return float(-np.log(tagger().probabilities(sound, rate_hz)[first : last + 1].max() + 1e-6))


def mono_sound(path: Path, size: int | None = None) -> tuple[Samples, int]:
    """A sound of one channel, cut or padded with silence to ``size``, and its rate."""
    sound = read_sound(path)
    samples = mono(sound.samples)[:size]
    return np.pad(samples, (0, max(0, (size or 0) - samples.size))), sound.rate_hz


def settled(found: Measured) -> Scored[float] | Undefined:
    """A number with its interval, whole clusters drawn."""
    draws = ClusterDraws.of(found.clusters, rng=lambda: generator(0, "sound judge"), replicates=1000)
    return with_interval(found.outcome, draws.values(found), clusters=found.drawn_from, within=found.within)


def marks(targets: Iterable[Sequence[Row]], scorer: str, claim: str) -> tuple[list[float], list[Hashable]]:
    """Whether a claim holds of each output that it is of (1, .5 tied, 0), and the clusters of these."""
    kind, others, sign = CLAIMS[claim]
    found, clusters = list[float](), list[Hashable]()
    for target in targets:
        known = [row for row in target if row[scorer] is not None]
        below = [row[scorer] for row in known if row["kind"] == others]
        for row in known if below else ():
            if row["kind"] == kind or (kind, row["kind"]) == ("helpful", "asked") and (row["gain"] or 0) >= 3:
                found.append(0.5 + 0.5 * float(np.sign(min(sign * (row[scorer] - other) for other in below))))
                clusters.append(row["cluster"])
    return found, clusters


def orders(named: Mapping[str, Sequence[Sequence[Row]]], scorers: Sequence[str]) -> str:
    """How often each claim holds, for sets of targets by name; intervals draw whole clusters."""
    lines = []
    for name, targets in named.items():
        for claim in CLAIMS:
            found = {scorer: marks(targets, scorer, claim) for scorer in scorers}
            values, clusters = found[scorers[0]]
            if values:
                shares = [settled(replace(mean_of(np.array(one), of), within=SHARE)) for one, of in found.values()]
                more = ["" if len(one) == len(values) else f", n {len(one)}" for one, _ in found.values()]
                cells = [cell(share) + n for share, n in zip(shares, more, strict=True)]
                lines.append([name, claim, len(values), len(set(clusters)), *cells])
    return table(["of", "claim", "n", "clusters", *scorers], lines)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return markdown(heads, [[str(one) for one in row] for row in rows])


def told(sections: Mapping[str, str], *, write: bool) -> None:
    """Print the sections, and put them into the page."""
    for name, text in sections.items():
        print(f"\n## {name}\n\n{text}")
        if write:
            PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")
