"""A mask and a separated sound audited as one: is the object asked for seen in the one and heard in the other?

Three kinds of evidence, each only where there is a basis for it:

- what the words say of one frame, against the things of the frame, by the check ``identity.scenes.v1``;
- what they say of sound, against the kind, times and level of the separated sound and the rest of its mixture;
- the side that the sound comes from, against the places of the mask and of the frame's other things. This alone links
  the two: words that tell only which thing is seen still tell, through it, whether the sound is that thing's.

For each of the four faults the evidence is put into three logarithms of likelihoods, and a conditional logit (McFadden
1974), fitted on scenes of the calibration shelves, weighs them.

What a separated sound is: which of the sounds it knows, when it is heard, and from which side.

A sound is described by its spectrum in bands, how that changes, and how fast; linear discriminants of these
(Fisher 1936) put it near one of the known kinds, or far from all, and then it is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from auscult.arrays.resampling import resampled
from auscult.errors import InputError, UsageError
from auscult.judge.identity.scenes import WEIGHTS, Eyes, centre_and_share, named, seen_things
from auscult.judge.identity.scenes_text import ParsedExpression, SentenceReader, inside, part_for
from auscult.language.forms import Facts, Form, SceneObject, Sense, Voice
from auscult.language.proof import Proof
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.wav import Sound
from auscult.record import codec
from auscult.types import JOINT_FAULTS, Case, Doubles, Floats, Joint, JointFault, Mask, Prediction, Samples

RATE_HZ: Final = 16_000
MOST_S: Final = 60.0
"""What is listened to of a longer sound, around the frame's time."""

BANDS: Final = 32
LAGS: Final = (1, 2, 4, 8, 16, 32)
"""In steps of ``STEP_S``: over these times it is measured how much loudness and pitch change."""

STEP_S: Final = 0.01
DESCRIBED: Final = 2 * BANDS + 2 * len(LAGS)

_SIZE: Final = 640
_RANGE_HZ: Final = (45.0, 7_800.0)
_HEARD_DB: Final = 15.0  # below its loudest, so soft is leakage
_SILENT: Final = 1e-8  # mean square, -80 dB
_GAP_S: Final = 0.3
_SHORTEST_S: Final = 0.1
_DESCRIBED_S: Final = 4.0  # of sound that the description is made of
_NEAR_S: Final = 1.0  # of sound that the side is measured on, nearest to the frame's time
_LEAST: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeardSound:
    """What was measured of a sound."""

    spans: tuple[tuple[float, float], ...]  # when it is heard, in seconds of what was listened to
    level_db: float  # over these spans, full scale is 0
    x: float | None  # where it comes from, 0 left to 1 right, near the frame's time; None of one channel
    described: Floats  # float32 (DESCRIBED,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundKinds:
    """The kinds of sound that are told apart."""

    nouns: tuple[str, ...]  # what is heard, one a kind
    verbs: tuple[str, ...]  # what its maker does
    countable: tuple[bool, ...]  # whether each span is heard as one sound
    mean: tuple[float, ...]  # of descriptions, (DESCRIBED,)
    axes: tuple[tuple[float, ...], ...]  # the discriminants, (axes, DESCRIBED)
    centres: tuple[tuple[float, ...], ...]  # of the kinds on them, (kinds, axes); spread within a kind is 1
    sharpness: float  # what half the squared distance is multiplied by
    farthest: float  # squared distance from the nearest centre beyond which a sound is none of these

    def chances(self, described: Floats) -> Doubles | None:
        """The probability of each kind, (kinds,), summing to 1; None for a sound unlike all."""
        point = np.asarray(self.axes) @ (described.astype(np.float64) - np.asarray(self.mean))
        distances = ((np.asarray(self.centres) - point) ** 2).sum(axis=1)
        if distances.min() > self.farthest:
            return None
        powers = np.exp(-0.5 * self.sharpness * (distances - distances.min()))
        return np.asarray(powers / powers.sum())


def listened(samples: Samples, rate_hz: int, *, time_s: float | None) -> tuple[Samples, float, bool]:
    """At most ``MOST_S`` of a sound at ``RATE_HZ``, as (channels, samples); when it begins, and whether that is all."""
    sound = np.atleast_2d(samples)
    limit, count = round(MOST_S * rate_hz), sound.shape[1]
    begin = 0 if time_s is None else min(max(0, round((time_s - MOST_S / 2) * rate_hz)), max(0, count - limit))
    part = sound[:, begin : begin + limit]
    if rate_hz != RATE_HZ:
        part = resampled(part, rate_hz=rate_hz, wanted_hz=RATE_HZ)
    return part, begin / rate_hz, count <= limit


def hear(sound: Samples, *, time_s: float | None = None) -> HeardSound | None:
    """Measure a sound, float32 (channels, samples) at ``RATE_HZ``; None for silence or less than .1 s."""
    if sound.shape[1] < _SIZE:
        return None
    energy = np.cumsum(sound.astype(np.float64) ** 2, axis=1)
    powers = ((energy[:, _SIZE - 1 :] - energy[:, : 1 - _SIZE]) / _SIZE)[:, :: round(RATE_HZ * STEP_S)]
    loud = powers.sum(axis=0)
    active = loud > max(_SILENT, float(loud.max()) * 10 ** (-_HEARD_DB / 10))
    spans = _spans(active)
    if not spans:
        return None
    windows = _windows(_mono(sound))[np.flatnonzero(active)[: round(_DESCRIBED_S / STEP_S)]]
    return HeardSound(
        spans=spans,
        level_db=min(0.0, 10 * float(np.log10(loud[active].mean()))),
        x=_side(powers, active, time_s=time_s) if len(sound) == 2 else None,
        described=_described(np.abs(np.fft.rfft(windows * np.hanning(_SIZE).astype(np.float32), axis=1)) ** 2),
    )


def _windows(channel: Samples) -> Floats:
    """Overlapping parts of a channel, float32 (steps, _SIZE)."""
    return np.lib.stride_tricks.sliding_window_view(channel, _SIZE)[:: round(RATE_HZ * STEP_S)]


def _mono(sound: Samples) -> Samples:
    """The sum of the channels; the loudest one where they cancel one another out."""
    mono, powers = sound.sum(axis=0), (sound**2).sum(axis=1)
    cancelled = float((mono**2).sum()) < 0.5 * float(powers.sum())
    return np.asarray(sound[int(powers.argmax())] if cancelled else mono, dtype=np.float32)


def _spans(active: Mask) -> tuple[tuple[float, float], ...]:
    """When the sound is heard, in seconds; pauses shorter than ``_GAP_S`` count as sound."""
    steps = np.flatnonzero(active)
    if not len(steps):
        return ()
    pieces = np.split(steps, np.flatnonzero(np.diff(steps) > _GAP_S / STEP_S) + 1)
    spans = ((float(piece[0]) * STEP_S, (float(piece[-1]) + 1) * STEP_S) for piece in pieces)
    return tuple((round(start, 2), round(end, 2)) for start, end in spans if end - start >= _SHORTEST_S)


def _side(power: Doubles, active: Mask, *, time_s: float | None) -> float:
    """The side of a sound, 0 left to 1 right, by the law of constant power, from the channels' powers (2, steps)."""
    steps = np.flatnonzero(active)
    if time_s is not None:
        nearest = np.argsort(np.abs(steps * STEP_S - time_s), kind="stable")[: round(_NEAR_S / STEP_S)]
        steps = steps[nearest]
    left, right = power[:, steps].sum(axis=1)
    return float(np.arctan2(np.sqrt(right), np.sqrt(left)) / (np.pi / 2))


def _described(power: Floats) -> Floats:
    """Of spectra (steps, bins): bands relative to the whole, mean and spread; change of loudness and pitch by lag."""
    bands = np.log(power @ _filters().T + _LEAST)
    loudness = np.log(power.sum(axis=1) + _LEAST)
    relative = bands - loudness[:, None]
    pitch = (np.exp(relative) @ np.arange(BANDS, dtype=np.float32)) / np.exp(relative).sum(axis=1)
    change = [
        float(np.abs(row[lag:] - row[:-lag]).mean()) if len(row) > lag else 0.0
        for row in (loudness, pitch)
        for lag in LAGS
    ]
    return np.concatenate([relative.mean(axis=0), relative.std(axis=0), change]).astype(np.float32)


@cache
def _filters() -> Floats:
    """Triangles of even width in the logarithm of frequency, float32 (BANDS, bins)."""
    frequencies = np.fft.rfftfreq(_SIZE, 1 / RATE_HZ)
    edges = np.geomspace(*_RANGE_HZ, BANDS + 2)
    rise = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    return np.maximum(0.0, np.minimum(rise, fall)).astype(np.float32)


FILE: Final = "joint.json"
LIMITS: Final[Limits] = replace(DEFAULT_LIMITS, max_samples=40_000_000)
"""For each of the two sounds: an hour of one channel at 11 kHz, or 7 minutes of two at 48 kHz."""

_MOST_BYTES: Final = 1_000_000
_EDGE: Final = 0.01  # no evidence is surer than this
_UNCLEAR: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class JointNumbers:
    """What was fitted: the kinds of sound, and how evidence is weighed."""

    kinds: SoundKinds
    spread: float  # standard deviation of a sound's side against its maker's place, in widths of the frame
    outside: float  # share of sounds whose side tells nothing
    bias: tuple[float, float, float, float]  # of each fault
    weights: tuple[float, float, float]  # of words seen, words heard, place


@dataclass(frozen=True, slots=True, kw_only=True)
class JointEvidence:
    """What was found of a mask and a sound."""

    own: float | None  # share of the words' meaning on what the mask holds, 0..1; None where they say nothing seen
    x: float  # the mask's centre, 0 left to 1 right
    others: tuple[tuple[float, float], ...]  # the frame's other things: share of the words' meaning, centre
    heard: float | None  # how far the words fit the sound, 0..1; None where they say nothing that was heard
    side: float | None  # where the sound comes from; None of one channel


class JointCheck:
    """The joint audit, with the networks and numbers of a folder, opened on first use, or with other numbers."""

    def __init__(self, weights: Path = WEIGHTS, numbers: JointNumbers | None = None) -> None:
        self._weights = weights
        self._numbers = numbers

    def __call__(self, case: Case, prediction: Prediction, *, mixture: Sound, separated: Sound) -> Joint:
        """Audit a mask and a sound that was separated from a mixture of its rate and length, else an InputError."""
        evidence = self.evidence(case, prediction, mixture=mixture, separated=separated)
        return evidence if isinstance(evidence, Joint) else joint(evidence, self.numbers)

    @property
    def numbers(self) -> JointNumbers:
        """What was fitted."""
        return self._numbers or _numbers(self._weights)

    def evidence(
        self, case: Case, prediction: Prediction, *, mixture: Sound, separated: Sound
    ) -> JointEvidence | Joint:
        """What is found of a mask and a sound, or why nothing can be."""
        check_sounds(mixture, separated)
        mask, text = prediction.mask, case.query.text or ""
        if not mask.any():
            return unchecked("nothing is segmented")
        stem, begin_s, complete = listened(separated.samples, separated.rate_hz, time_s=case.time_s)
        sound = hear(stem, time_s=None if case.time_s is None else case.time_s - begin_s)
        if sound is None:
            return unchecked("the separated sound is silent")
        eyes, reader = _readers(self._weights)
        sight, sound_part = _part(eyes.reader, text, "sight"), _part(reader, text, "sound")
        heard = None
        if sound_part is not None:
            mixed, _, _ = listened(mixture.samples, mixture.rate_hz, time_s=case.time_s)
            rest = hear(mixed.mean(axis=0, keepdims=True) - stem.mean(axis=0, keepdims=True))
            whole_s = stem.shape[1] / RATE_HZ if complete else None
            heard = fit_of(sound_part.form, self.numbers.kinds, sound, rest=rest, whole_s=whole_s)
        scene = seen_things(eyes, case.frame, mask)
        count = len(scene.masks)
        shares = (0.0,) * len(scene.things) if sight is None else named(sight, scene.things, eyes.words).shares
        return JointEvidence(
            own=None if sight is None else sum(shares[:count]),
            x=centre_and_share(mask)[0],
            others=tuple((share, thing.x) for share, thing in zip(shares[count:], scene.things[count:], strict=True)),
            heard=heard,
            side=sound.x,
        )


@cache
def _numbers(folder: Path) -> JointNumbers:
    made_by = "what `auscult train scenes-joint` writes"
    return codec.read_file(
        JointNumbers, folder / FILE, what="the numbers", expected=made_by, most_bytes=_MOST_BYTES, error=UsageError
    )


@cache
def _readers(folder: Path) -> tuple[Eyes, SentenceReader]:
    eyes = Eyes(folder)
    return eyes, SentenceReader(eyes.words, heard=True)


def _part(reader: SentenceReader, text: str, sense: Sense) -> ParsedExpression | None:
    """What an expression says of one sense; None where that is nothing, or a word of it is not known."""
    reading = reader.read(text)
    form = None if reading is None or reading.unknown else part_for(sense, reading.form)
    return None if reading is None or form is None else replace(reading, form=form)


def check_sounds(mixture: Sound, separated: Sound) -> None:
    """Insist that a sound may have been separated from a mixture: of its rate and length."""
    for quantity, value, other in (
        ("sample rate", f"{separated.rate_hz:,} Hz", f"{mixture.rate_hz:,} Hz"),
        ("length", f"{separated.samples.shape[1]:,} samples", f"{mixture.samples.shape[1]:,} samples"),
    ):
        if value != other:
            raise InputError(
                f"the {quantity} of the separated sound is {value}, that of its mixture {other}",
                expected=f"the same {quantity}",
                hint="bring one to the other's rate and length; how they are aligned cannot be guessed",
            )


def fit_of(
    form: Form, kinds: SoundKinds, sound: HeardSound, *, rest: HeardSound | None, whole_s: float | None
) -> float | None:
    """How far a form fits a sound and the rest of its mixture, 0..1; ``whole_s`` is their length if all was heard.

    None where it cannot be told: a sound that is not known, or order and number of what was heard in part.
    """
    known_voices = set(zip(kinds.nouns, kinds.verbs, strict=True))
    chances = kinds.chances(sound.described)
    statements = list(_simple(form))
    named_voices = {(statement["noun"], statement["verb"]) for statement in statements if statement["op"] == "voice"}
    timed = any(statement["op"] != "voice" for statement in statements)
    if not named_voices <= known_voices or (named_voices and chances is None) or (timed and whole_s is None):
        return None
    weights = np.full(len(known_voices), 1 / len(known_voices)) if chances is None else chances
    values = [
        _value(form, sound, rest=rest, voice=voice, whole_s=whole_s or MOST_S)
        for voice in zip(kinds.nouns, kinds.verbs, kinds.countable, strict=True)
    ]
    if all(value is None for value in values):
        return None
    return float(weights @ [_UNCLEAR if value is None else float(value) for value in values])


def _simple(form: Form) -> Iterator[Form]:
    """The predicates of a form, and its superlatives."""
    if form["op"] not in {"and", "not"}:
        yield form
    for part in inside(form):
        yield from _simple(part)


def _value(
    form: Form, sound: HeardSound, *, rest: HeardSound | None, voice: tuple[str, str, bool], whole_s: float
) -> bool | None:
    """Whether a form is true of a sound of the kind ``voice``; the kind of the rest of its mixture is not known."""
    noun, verb, countable = voice
    voices = [Voice(noun=noun, verb=verb, spans=sound.spans, level_db=sound.level_db, countable=countable)]
    if rest is not None:
        voices.append(Voice(noun=noun, verb="", spans=rest.spans, level_db=rest.level_db, countable=False))
    things = tuple(
        SceneObject(id=str(index), category="thing", x=(0.5, 0.5), y=(0.5, 0.5), area=(0.1, 0.1), voice=heard_voice)
        for index, heard_voice in enumerate(voices)
    )
    return Proof(Facts(things=things, duration_s=whole_s), frozenset({"sound"})).values(form)[0]


def likelihoods(evidence: JointEvidence, numbers: JointNumbers) -> tuple[Doubles, float]:
    """Logarithms of the evidence's likelihood by fault, (4, 3): words seen, words heard, place.

    Also, where both are wrong, the share in which mask and sound belong to the same other thing.
    """
    own = _UNCLEAR if evidence.own is None else _inside(evidence.own)
    heard = _UNCLEAR if evidence.heard is None else _inside(evidence.heard)
    positions, weights = [x for _, x in evidence.others], [share for share, _ in evidence.others]
    if evidence.own is None or sum(weights) <= 0:
        weights = [1.0] * len(positions)
    # a thing that the words may mean besides the mask's, and one that was not found
    meant = np.array([*weights, _EDGE]) / (sum(weights) + _EDGE)
    density = np.array([*(_density(evidence.side, x, numbers) for x in positions), 1.0])  # the sound is that thing's
    on_mask = _density(evidence.side, evidence.x, numbers)
    # the sound is a third thing's, neither the one meant nor the mask's
    another = (density.sum() - density) / max(1, len(density) - 1) if len(density) > 1 else density
    same_other = on_mask / 2
    place = [on_mask, float(meant @ density), float(density.mean()), same_other + float(meant @ another) / 2]
    words = [(own, heard), (1 - own, heard), (own, 1 - heard), (1 - own, 1 - heard)]
    table = np.log(np.column_stack([words, place]))
    return table, same_other / place[3]


def _density(side: float | None, x: float, numbers: JointNumbers) -> float:
    """How likely a sound of a thing at x comes from a side, against one from anywhere; 1 without a side."""
    if side is None:
        return 1.0
    bell = math.exp(-0.5 * ((side - x) / numbers.spread) ** 2) / (numbers.spread * math.sqrt(2 * math.pi))
    return (1 - numbers.outside) * bell + numbers.outside


def joint(evidence: JointEvidence, numbers: JointNumbers) -> Joint:
    """What follows from the evidence; ``unchecked`` where there is no basis for the mask or for the sound."""
    table, same_share = likelihoods(evidence, numbers)
    scores = np.asarray(numbers.bias) + table @ np.asarray(numbers.weights)
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    place = evidence.side is not None
    same = float(chances[0] + chances[3] * same_share) if place else None
    seen, heard = evidence.own is not None, evidence.heard is not None
    if not (seen or heard) or (not place and not (seen and heard)):
        lacking = "the words" if not (seen or heard) else "what is heard" if seen else "what is seen"
        return replace(unchecked(f"{lacking} could not be compared"), same=same, place=place)
    probs: dict[JointFault, float] = dict(zip(JOINT_FAULTS, map(float, chances), strict=True))
    wrong = max(JOINT_FAULTS, key=lambda fault: probs[fault])
    return Joint(
        wrong=wrong,
        probs=probs,
        same=same,
        words_seen=seen,
        words_heard=heard,
        place=place,
        note=f"{_NOTES[wrong]}, probability {probs[wrong]:.2f}",
    )


_NOTES: Final[Mapping[JointFault, str]] = {
    "none": "the object asked for is what the mask holds and what the separated sound is of",
    "mask": "the separated sound is of the object asked for, the mask is not on it",
    "stem": "the mask is on the object asked for, the separated sound is of something else",
    "both": "neither the mask nor the separated sound is of the object asked for",
}


def unchecked(why: str) -> Joint:
    """No basis for a joint finding."""
    return Joint(wrong="unchecked", note=f"mask and sound were not checked together: {why}")


def _inside(share: float) -> float:
    return min(1 - _EDGE, max(_EDGE, share))
