"""Everything chosen about a mixture, as JSON: with the same catalogue the same plan gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
from msgspec import Meta

from auscult.cases import fields
from auscult.errors import InputError, UsageError
from auscult.record.codec import Share, Word
from auscult.rng import generator, pick
from auscult.scenes.mixtures.catalogue import (
    DOMAIN_OF,
    PARTS,
    WHOLE,
    Catalogue,
    Clip,
    Part,
    class_of,
    named,
    prompts_of,
    unclear,
)
from auscult.scenes.options import MixtureOptions
from auscult.scenes.plan import check_spans, numbered_id
from auscult.scenes.sound.mix import TimeSpan
from auscult.types import PromptSetting

SECONDS: Final = (2.0, 20.0)
RATES_HZ: Final = (8_000, 96_000)
SOURCES: Final = (2, 6)
LOUDNESS_LUFS: Final = (-60.0, -10.0)


Similarity: TypeAlias = Literal["group", "domain", "any"]
_Level: TypeAlias = Annotated[float, Meta(ge=-40.0, le=40.0)]
_NAME = r"^(?!(?:target|mixture)$)[a-z0-9][a-z0-9_-]{0,79}$"
_Side: TypeAlias = Annotated[float, Meta(ge=2.0, le=50.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSource:
    """A source of a mixture."""

    name: Annotated[str, Meta(pattern=_NAME)]  # of its stem's file; unique in the mixture
    label: Word  # its class
    clips: Annotated[tuple[Word, ...], Meta(min_length=1, max_length=16)]  # played one after another in each span
    spans: Annotated[tuple[TimeSpan, ...], Meta(min_length=1, max_length=16)]  # when it may sound, in seconds
    offset: Share = 0.0  # how late a longer recording begins
    level_db: _Level = 0.0  # loudness beside the others on its side, target or rest
    place: Annotated[float, Meta(ge=-1.0, le=1.0)] = 0.0  # -1 left to 1 right
    depth: Share = 0.0  # from the front of the room to its back, where there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """How the target is asked for; one of the three at least."""

    text: Word | None = None
    specific: bool | None = None  # whether the text says what sounds and how (dog barking), or only what (dog)
    spans: bool = False
    picture: Word | None = None  # of the catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePlan:
    """A mixture before it is made."""

    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9-]{1,100}$")]
    split: Part
    seen: bool  # whether the target's class is one that training may use
    setting: PromptSetting
    seconds: Annotated[float, Meta(ge=SECONDS[0], le=SECONDS[1])]
    rate_hz: Annotated[int, Meta(ge=RATES_HZ[0], le=RATES_HZ[1])]
    channels: Annotated[int, Meta(ge=1, le=2)]
    loudness_lufs: Annotated[float, Meta(ge=LOUDNESS_LUFS[0], le=LOUDNESS_LUFS[1])]  # of the mixture
    ratio_db: _Level  # loudness of the target over that of the rest
    overlap: Share  # how much of the target's time each other source was placed to cover
    similarity: Similarity  # what the other sources have in common with the target, as far as there are enough
    sources: Annotated[tuple[PlannedSource, ...], Meta(min_length=SOURCES[0], max_length=SOURCES[1])]
    target: Annotated[tuple[str, ...], Meta(min_length=1)]  # names of the sources that are asked for
    prompt: Prompt
    room_m: tuple[_Side, _Side, _Side] | None = None  # length, width, height of a room with microphones in its middle
    absorption: Annotated[float, Meta(ge=0.02, le=1.0)] = 1.0  # of its walls

    def __post_init__(self) -> None:
        """Insist that the parts fit together, and that the text names all sources of the target and no other."""
        names = [source.name for source in self.sources]
        if len(set(names)) < len(names) or not set(self.target) < set(names):
            raise fields.wrong("target", list(self.target), f"some of the sources, not all of them: {', '.join(names)}")
        for source in self.sources:
            check_spans(source.spans, until_s=self.seconds)
        text, labels = self.prompt.text, [source.label for source in self.sources]
        if text is None:
            if not self.prompt.spans and self.prompt.picture is None:
                raise fields.wrong("prompt", None, "a text, spans or a picture")
            return
        meant = {source.name for source in self.sources if source.label in named(text, labels)}
        perhaps = unclear(text, labels)
        if meant != set(self.target) or perhaps:
            message = f"names {', '.join(sorted(meant))}" if meant else "names nothing in the mixture"
            message += f", and perhaps {', '.join(sorted(perhaps))}" if perhaps else ""
            raise InputError(
                f"the prompt {text[:80]!r} {message}",
                expected=f"a prompt of the target alone: {', '.join(self.target)}",
                hint="correct the prompt, the target or the labels",
            )


_RATIO_DB = 12.0
_LEVEL_DB = 6.0
_ACTIVE = (0.3, 0.85)  # share of a mixture in which a source sounds
_SHORTEST_S = 0.6
_GAP_S = 0.5
_TWICE = 0.4  # chance that a source sounds in two spans, where there is room
_WEIGHTS: Mapping[Part, float] = {"train": 0.5, "calibration": 0.2, "test": 0.15}  # test: seen and unseen each
_COMPANY = 6  # so many seen classes of the tests' part make mixtures of seen classes alone
_CHAIN = 6  # most clips that a source plays one after another
_MEMBERS = 0.4  # chance that a further source belongs to a target of several
_WIDEST = 0.8  # from the middle
_ROOMS_M = ((3.0, 9.0), (2.5, 7.0), (2.4, 3.6))
_ABSORPTION = (0.12, 0.6)


class Shelf:
    """The clips of a part by class, and the settings whose target can be had of them."""

    def __init__(self, catalogue: Catalogue, part: Part, *, seen: bool, wanted: Collection[str]) -> None:
        clips = [clip for clip in catalogue.clips if clip.part == part]
        if seen and len({clip.label for clip in clips if clip.seen}) >= _COMPANY:
            clips = [clip for clip in clips if clip.seen]
        self.clips: dict[str, list[Clip]] = {}
        for clip in clips:
            self.clips.setdefault(clip.label, []).append(clip)
        self.pictures = [picture for picture in catalogue.pictures if picture.part == part]
        self.domain = {label: class_of(label).domain for label in self.clips}
        self.targets = [label for label, group in self.clips.items() if group[0].seen == seen]
        domains, least = {self.domain[label] for label in self.targets}, len(self.clips) > 1
        self.settings = [
            setting
            for setting, domain in DOMAIN_OF.items()
            if {setting, "all"} & set(wanted) and least and domain in domains
            if setting not in WHOLE or set(self.domain.values()) != {domain}
        ]


class Planner:
    """Draws plans from a catalogue; with ``all_prompts`` each asks in all ways that there are at once."""

    def __init__(self, catalogue: Catalogue, options: MixtureOptions, *, all_prompts: bool = False) -> None:
        self._catalogue, self._options, self._all_prompts = catalogue, options, all_prompts
        self._shelves: dict[tuple[Part, bool], Shelf] = {}
        for part, seen in product(PARTS, (True, False)):
            shelf = Shelf(catalogue, part, seen=seen, wanted=options.settings)
            if shelf.settings and options.split in {part, "all"}:
                self._shelves[part, seen] = shelf
        if not self._shelves:
            raise UsageError(
                f"there are too few sounds for {', '.join(options.settings)} of the split {options.split}",
                expected="two classes or more, one of them of what is asked for",
                hint="add recordings, or make another --split or other --setting",
            )
        weights = np.asarray([_WEIGHTS[part] for part, _ in self._shelves])
        self._chances = weights / weights.sum()

    def plan(self, seed: int, index: int) -> MixturePlan:
        """Draw mixture ``index``; ``seed`` and ``index`` determine every draw."""
        rng, options = generator(seed, "mixture", index), self._options
        part, seen = list(self._shelves)[int(rng.choice(len(self._chances), p=self._chances))]
        shelf = self._shelves[part, seen]
        setting = pick(rng, shelf.settings)
        seconds = round(float(np.exp(rng.uniform(*np.log(options.seconds)))), 2)
        similarity: Similarity = pick(rng, ("group", "domain", "any"))
        text, specific, labels = self._labels(rng, shelf, setting, similarity=similarity)
        members = named(text, labels)
        overlap = round(float(rng.random()), 3)
        spans = _spans(rng, [label in members for label in labels], seconds=seconds, overlap=overlap)
        sources = tuple(
            _source(rng, shelf.clips[label], name=name, spans=span)
            for name, label, span in zip(_names(labels), labels, spans, strict=True)
        )
        pictures = [picture.id for picture in shelf.pictures if {picture.label} == members]
        room = tuple(round(float(rng.uniform(*side)), 2) for side in _ROOMS_M)
        absorption = round(float(rng.uniform(*_ABSORPTION)), 3)
        return MixturePlan(
            id=numbered_id(seed, index),
            split=part,
            seen=seen,
            setting=setting,
            seconds=seconds,
            rate_hz=pick(rng, options.rates_hz),
            channels={"mono": 1, "stereo": 2}.get(options.channels) or int(rng.integers(1, 3)),
            loudness_lufs=options.loudness_lufs,
            ratio_db=round(float(rng.uniform(-_RATIO_DB, _RATIO_DB)), 2),
            overlap=overlap,
            similarity=similarity,
            sources=sources,
            target=tuple(source.name for source in sources if source.label in members),
            prompt=_prompt(rng, text, pictures=pictures, specific=specific, everything=self._all_prompts),
            room_m=(room[0], room[1], room[2]) if rng.random() < options.rooms else None,
            absorption=absorption,
        )

    def _labels(
        self, rng: np.random.Generator, shelf: Shelf, setting: PromptSetting, *, similarity: Similarity
    ) -> tuple[str, bool, list[str]]:
        """The prompt, whether it is specific, and the classes of all sources, the target's among them in any place."""
        domain = DOMAIN_OF[setting]
        target = pick(rng, [label for label in shelf.targets if shelf.domain[label] == domain])
        prompts = [(text, False) for text in WHOLE[setting]] if setting in WHOLE else list(prompts_of(target))
        meant = {text: named(text, shelf.clips) for text, _ in prompts}
        others = {text: shelf.clips.keys() - meant[text] - unclear(text, shelf.clips) for text in meant}
        fitting = [pair for pair in prompts if others[pair[0]]]
        if not fitting:
            raise InputError(f"of {target} there is no prompt that names it alone", hint="add sounds of other classes")
        text, specific = pick(rng, fitting)
        outside = [label for label in shelf.clips if label in others[text]]
        groups = set(class_of(target).groups)
        similar = {
            "group": [label for label in outside if groups & set(class_of(label).groups)],
            "domain": [label for label in outside if shelf.domain[label] == domain],
            "any": outside,
        }
        labels = [target, pick(rng, similar[similarity] or similar["domain"] or outside)]
        for _ in range(int(rng.integers(self._options.sources[0], self._options.sources[1] + 1)) - 2):
            first = meant[text] if rng.random() < _MEMBERS and not specific else similar[similarity]
            pool = set(first) - set(labels) or set(outside) - set(labels)
            if pool:
                labels.append(pick(rng, sorted(pool)))
        return text, specific, [labels[int(index)] for index in rng.permutation(len(labels))]


def _source(
    rng: np.random.Generator, clips: Sequence[Clip], *, name: str, spans: tuple[TimeSpan, ...]
) -> PlannedSource:
    first = pick(rng, clips)
    same_voice = [clip.id for clip in clips if clip.voice == first.voice and clip.id != first.id]
    return PlannedSource(
        name=name,
        label=first.label,
        clips=(first.id, *(same_voice[int(index)] for index in rng.permutation(len(same_voice))[: _CHAIN - 1])),
        spans=spans,
        offset=round(float(rng.random()), 3),
        level_db=round(float(rng.uniform(-_LEVEL_DB, _LEVEL_DB)), 2),
        place=round(float(rng.uniform(-_WIDEST, _WIDEST)), 2),
        depth=round(float(rng.random()), 3),
    )


def _prompt(
    rng: np.random.Generator, text: str, *, pictures: Sequence[str], specific: bool, everything: bool
) -> Prompt:
    parts = pick(rng, ["text", "spans", "text spans", *(["picture", "text picture"] if pictures else [])])
    if everything:
        parts = "text spans picture" if pictures else "text spans"
    return Prompt(
        text=text if "text" in parts else None,
        specific=specific if "text" in parts else None,
        spans="spans" in parts,
        picture=pick(rng, pictures) if "picture" in parts else None,
    )


def _names(labels: Sequence[str]) -> list[str]:
    """File names of stems: the labels in plain letters, numbered where two are alike."""
    plain = [re.sub(r"[^a-z0-9]+", "_", label.casefold()).strip("_")[:60] or "source" for label in labels]
    plain = [f"{name}_sound" if name in {"target", "mixture"} else name for name in plain]
    return [f"{name}-{plain[:i].count(name) + 1}" if plain.count(name) > 1 else name for i, name in enumerate(plain)]


def _spans(
    rng: np.random.Generator, member: Sequence[bool], *, seconds: float, overlap: float
) -> list[tuple[TimeSpan, ...]]:
    """When each source sounds: the target's sources together, each other one over a share of their time."""
    length = max(_SHORTEST_S, float(rng.uniform(*_ACTIVE)) * seconds)
    start = float(rng.uniform(0.0, seconds - length))
    spans = []
    for is_target in member:
        span = (start, start + length)
        if not is_target:
            long = max(_SHORTEST_S, float(rng.uniform(*_ACTIVE)) * seconds)
            span = _overlapping(rng, span, share=overlap, long=long, seconds=seconds)
        spans.append(_broken(rng, span))
    return spans


def _overlapping(rng: np.random.Generator, span: TimeSpan, *, share: float, long: float, seconds: float) -> TimeSpan:
    """A span that covers a share of another one, before or after it, as far as there is room."""
    covered = share * (span[1] - span[0])
    before = (max(0.0, span[0] + covered - max(long, covered)), span[0] + covered)
    after = (span[1] - covered, min(seconds, span[1] - covered + max(long, covered)))
    fitting = [(start, end) for start, end in (before, after) if end - start >= _SHORTEST_S]
    return pick(rng, fitting) if fitting else (0.0, seconds)


def _broken(rng: np.random.Generator, span: TimeSpan) -> tuple[TimeSpan, ...]:
    """A span as it is, or in two parts with a gap; in steps of 10 ms."""
    start, end = span
    parts = [(start, end)]
    if end - start > 2 * _SHORTEST_S + _GAP_S and rng.random() < _TWICE:
        cut = float(rng.uniform(start + _SHORTEST_S, end - _SHORTEST_S - _GAP_S))
        parts = [(start, cut), (cut + _GAP_S, end)]
    return tuple((round(first, 2), round(last, 2)) for first, last in parts)
