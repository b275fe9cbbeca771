"""``auscult ratings tasks|guide``: what raters hear, and what they are told to listen for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import numpy as np

from auscult.cases.problems import Problems
from auscult.cases.ratings import RATED_AXES, label_studio_config
from auscult.cases.sounds import read_sounds
from auscult.errors import InputError, NothingToDo, UsageError
from auscult.jobs.options import Flag, RecordOptions, input_path, names
from auscult.jobs.ratings import Done, csv_bytes, trust_in, written
from auscult.jobs.runner import Progress, Silent
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.outcome import Undefined
from auscult.record.codec import dump
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.scenes.mixtures.loudness import integrated_lufs
from auscult.stress.sound.separation import perturb
from auscult.types import Samples, SoundItem

_LOCAL: Final = "/data/local-files/?d="  # how Label Studio names files of a local storage
_PEAK: Final = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksOptions(RecordOptions):
    """What is rated, by whom, and how it is heard.

    Attributes:
        source: An INPUT of sounds whose items have a separated sound.
        golden: An INPUT of sounds that experts rated, hidden among the others.
        raters: Raters that `auscult ratings qualify` trusts: its folder or raters.csv.
        people: Instead: comma-separated names of raters.
        per_item: Raters of each item.
        golden_each: Golden items that each rater gets.
        axes: Comma-separated axes to rate.
        loudness_lufs: Loudness of all that is heard (ITU-R BS.1770).
        seed: The same seed deals the same tasks.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    golden: Path | None = None
    raters: Path | None = None
    people: Annotated[tuple[str, ...], Flag(read=names)] = ()
    per_item: Annotated[int, Flag(least=1)] = 3
    golden_each: Annotated[int, Flag(least=0)] = 10
    axes: Annotated[tuple[str, ...], Flag(read=names)] = RATED_AXES
    loudness_lufs: Annotated[float, Flag(name="loudness", least=-60.0, most=-10.0)] = -23.0
    seed: int = 0


def deal_tasks(options: TasksOptions, progress: Progress | None = None) -> Done:
    """Write tasks for each rater: all domains shuffled, golden items hidden, equal loudness, blind names."""
    trust = trust_in(options.raters) if options.raters else {}
    people = options.people or tuple(name for name, good in trust.items() if good)
    if len(set(people)) < max(options.per_item, 1):
        given = f"{len(set(people))} raters for {options.per_item} of each item"
        raise UsageError(given, expected="as many raters", hint="--people a,b,c, or --raters FOLDER of ratings qualify")
    if not set(options.axes) <= set(RATED_AXES):
        raise UsageError(f"--axes are {', '.join(options.axes)}", expected=f"some of {', '.join(RATED_AXES)}")
    listings = [read_sounds(path) for path in (options.source, options.golden) if path is not None]
    problems = Problems(found=[one for found in listings for one in found.problems])
    files: dict[str, bytes | Callable[[], bytes]] = {}
    key: list[tuple[str | float, ...]] = []
    named: list[dict[str, SoundItem]] = []
    (progress or Silent()).stage("levelling sounds", sum(len(listing.items) for listing in listings))
    for golden, listing in enumerate(listings):
        named.append({})
        for item in listing.items:
            (progress or Silent()).step()
            try:
                name, sounds, gains = _levelled(item, options, golden=golden)
            except InputError as error:
                problems.add(error, error.path, item=item.id)
                continue
            named[golden][name] = item
            files |= sounds
            key.append((name, item.id, "yes" if golden else "no", item.domain, *gains))
    if not named[0]:
        raise NothingToDo("no item has a separated sound that can be read", path=options.source)
    lists = deal(list(named[0]), people, each=options.per_item, seed=options.seed)
    rows = []
    for person in people:
        rng = generator(options.seed, "ratings", "golden", person)
        hidden = rng.permutation(list(named[1]))[: options.golden_each].tolist() if len(named) > 1 else []
        order = rng.permutation([*lists[person], *hidden]).tolist()
        tasks = [_task(name, {**named[0], **(named[1] if hidden else {})}[name]) for name in order]
        files[f"tasks/{quote(person, safe='')}.json"] = dump(tasks, indent=2)
        rows.append((person, str(len(order)), str(len(hidden))))
    files["config.xml"] = label_studio_config(options.axes, mixture=True).encode()
    files["key.csv"] = csv_bytes(("item", "id", "golden", "domain", "gain_db", "mixture_gain_db"), key)
    note = "key.csv says what is behind a name; raters must not see it. Serve sounds/ as local files of Label Studio."
    table = Table(title="Tasks", header=("rater", "items", "golden among them"), rows=tuple(rows), note=note)
    return written("ratings tasks", options, {"tasks": table}, n=len(key), problems=problems.found, files=files)


def deal(items: Sequence[str], people: Sequence[str], *, each: int, seed: int) -> dict[str, list[str]]:
    """Give each item to ``each`` different people, so that loads differ by one at most."""
    rng = generator(seed, "ratings", "deal")
    lists: dict[str, list[str]] = {person: [] for person in people}
    load = np.zeros(len(people), np.int64)
    for item in rng.permutation(list(items)).tolist():
        for at in np.lexsort((rng.random(len(people)), load))[:each]:
            lists[people[at]].append(item)
            load[at] += 1
    return lists


def _levelled(
    item: SoundItem, options: TasksOptions, *, golden: int
) -> tuple[str, dict[str, Callable[[], bytes]], tuple[float, float]]:
    """A name that tells nothing, what makes the item's two sounds at the same loudness, and the gains in dB."""
    if item.separated is None:
        raise InputError("the item has no separated sound", expected="'separated'", path=item.source)
    name = generator(options.seed, "ratings", "name", golden, item.id).bytes(6).hex()
    files: dict[str, Callable[[], bytes]] = {}
    gains = []
    for path, ending in ((item.separated, ""), (item.mixture, "-mixture")):
        sound = read_sound(path)
        loudness = integrated_lufs(sound.samples, rate_hz=sound.rate_hz)
        gain_db = options.loudness_lufs - loudness if math.isfinite(loudness) else 0.0  # silence stays silence
        peak = float(np.abs(sound.samples).max())
        gain_db = min(gain_db, 20 * math.log10(_PEAK / peak)) if peak > 0 else 0.0
        files[f"sounds/{name}{ending}.wav"] = partial(wav_of, path, gain_db)
        gains.append(round(gain_db, 3))
    return name, files, (gains[0], gains[1])


def wav_of(path: Path, gain_db: float = 0.0) -> bytes:
    """A sound file as 16-bit WAV, louder by some dB."""
    sound = read_sound(path)
    return wav_bytes(Sound(samples=sound.samples * np.float32(10 ** (gain_db / 20)), rate_hz=sound.rate_hz), "int16")


def _task(name: str, item: SoundItem) -> dict[str, Any]:
    heard = {"audio": f"{_LOCAL}sounds/{name}.wav", "mixture": f"{_LOCAL}sounds/{name}-mixture.wav"}
    return {"data": {"item": name, "text": item.query.text or "", **heard}}


# --- the guideline ---

GUIDE: Final = "rating_guide.txt"
_STRESSED: Final = {
    "recall-high": ("leakage", 3), "recall-low": ("time_loss", 5),
    "precision-high": ("time_loss", 3), "precision-low": ("leakage", 5),
    "faithfulness-high": ("time_loss", 3), "faithfulness-low": ("musical_noise", 5),
    "overall-high": ("equalisation", 0), "overall-low": ("wrong_source", 5),
}  # fmt: skip
"""Examples of performance: the kind of ``stress.sound.separation`` and its severity. Some that are high on one axis are
not on another, so that raters hear the axes apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideOptions(RecordOptions):
    """What to make examples of.

    Attributes:
        source: An INPUT of sounds with stems, such as `auscult make mixtures` writes.
        item: Its item to use; by default the first with a target and two other sources.
        seed: The same seed makes the same examples.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    item: Annotated[str | None, Flag(shown="the first that will do")] = None
    seed: int = 0


def make_guide(options: GuideOptions) -> Done:
    """Write the guideline of the nine axes, with a sound that is high and one that is low on each."""
    items = [one for one in read_sounds(options.source).items if options.item in (None, one.id)]
    item = next((one for one in items if one.truth and one.truth.stem and len(one.truth.others) >= 2), None)
    if item is None or item.truth is None or item.truth.stem is None:
        raise NothingToDo(
            "no item has a stem and two other sources", path=options.source, expected="'truth' with stems"
        )
    sounds = [read_sound(path) for path in (item.truth.stem, *item.truth.others.values())]
    if len({(one.rate_hz, one.samples.shape) for one in sounds}) > 1:
        raise UsageError(f"the stems of {item.id} differ in rate or length", expected="stems that sum to the mixture")
    stems, rate_hz = [one.samples for one in sounds], sounds[0].rate_hz
    examples: dict[str, Samples] = {"target": stems[0], "mixture": np.sum(stems, axis=0)}
    for name, (kind, severity) in _STRESSED.items():
        made = perturb(kind, stems, rate_hz=rate_hz, severity=severity, seed=options.seed, key=name)
        if isinstance(made, Undefined):
            raise UsageError(f"{item.id} has no example of {name}: {made.reason}", hint="choose another --item")
        examples[name] = made.output
    for axis in RATED_AXES[4:]:
        for end in ("high", "low"):
            examples[f"{axis}-{end}"] = _remixed(axis, stems, hard=end == "high")
    files = {
        f"sounds/{name}.wav": wav_bytes(Sound(samples=_within(one), rate_hz=rate_hz), "int16")
        for name, one in examples.items()
    }
    text = resources.files("auscult.jobs").joinpath(GUIDE).read_text(encoding="utf-8")
    files["guide.md"] = text.replace("WANTED", item.query.text or "the target").encode()
    table = Table(title="Guideline", header=("sounds", "of item"), rows=((str(len(examples)), item.id),))
    return written("ratings guide", options, {"guide": table}, n=len(examples), files=files)


def _within(sound: Samples) -> Samples:
    """A sound scaled down where it would be over full scale."""
    return np.asarray(sound * np.float32(min(1.0, _PEAK / max(1e-9, float(np.abs(sound).max())))))


def _remixed(axis: str, stems: Sequence[Samples], *, hard: bool) -> Samples:
    """A mixture that is hard on one axis of difficulty, or easy."""
    target, others = stems[0], list(stems[1:])
    twin = np.roll(target, target.shape[-1] // 2, axis=-1)  # a second source of the target's own kind
    rest = np.sum(others, axis=0)
    mixes = {
        "counting": (target + rest, target + others[0]),
        "overlapping": (target + rest, np.concatenate((target, rest), axis=-1)),
        "loudness": (0.25 * target + rest, target + 0.25 * rest),
        "confusion": (target + twin, target + others[0]),
        "difficulty": (0.25 * (target + twin) + rest, np.concatenate((target, 0.25 * others[0]), axis=-1)),
    }
    return np.asarray(mixes[axis][0 if hard else 1], dtype=np.float32)
