"""What judges of separated sound learn from and are measured on: outputs, made or real, with their truth by formula.

A sample is known by seed and number alone. Made outputs are stems damaged by ``stress separation``, or what a classical
separator takes out of the mixture; real ones are those of published separators. Every sample has all prompts that there
are; whoever uses it takes some away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono
from auscult.cases.sounds import read_sounds
from auscult.media.frames import decode_frame
from auscult.media.sound import read_sound
from auscult.models.separators import load_separator
from auscult.models.separators.base import Separator
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import DOMAIN_OF, GENERATED, Catalogue, Part, open_recorded
from auscult.scenes.mixtures.plan import MixturePlan, Planner
from auscult.scenes.mixtures.sound import finished
from auscult.scenes.options import MixtureOptions
from auscult.score.sound.perceptual import difficulty, perceptual
from auscult.score.sound.ratios import si_sdr
from auscult.stress.sound.separation import perturb
from auscult.types import PERFORMANCE, Floats, Frames, Samples, SoundCase, SoundItem, SoundQuery

SUBSETS: Final = (
    "none", "text", "spans", "picture", "text+spans", "text+picture", "spans+picture", "text+spans+picture",
)  # fmt: skip
"""Which prompts a judge is given; the last are all."""
ALL: Final = SUBSETS[-1]
SEPARATED: Final = "sound/separated"
KEPT_BACK: Final = frozenset({"audiosep", "rnnoise", "gtcrn", "nmf_dict"})
"""Families of real separators that only tests may hear."""
NOT_FREE: Final = ("lq-", "sv-", "enh-")
"""Names of mixtures whose licence lets nothing be trained on them begin so."""
DAMAGES: Final = (
    "band_limit", "band_loss", "clipping", "equalisation", "frequency_mask", "leakage", "mixture", "musical_noise",
    "phase_damage", "silence", "smearing", "target_loss", "temporal_mask", "timbre", "time_loss", "wrong_source",
)  # fmt: skip
SEPARATORS: Final = ("gate", "hpss", "ibm", "irm", "nmf", "random_bands", "repet", "wiener")

_SECONDS: Final = ((2, 4), (4, 8), (8, 12))  # shortest and longest; the longer, the rarer
_CHANCES: Final = (0.5, 0.4, 0.1)
_LATE_S: Final = 0.06
_PARTS: Final = {"train": "train", "val": "calibration", "test": "test"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundSample:
    """A separated sound with its truth."""

    case: SoundCase  # the mixture and all its prompts
    separated: Samples  # float32 (1, samples), as loud and as late as drawn
    scores: dict[str, float]  # by ``PERFORMANCE``, 1..5, from the stems
    difficulty: dict[str, float]  # by ``DIFFICULTY_AXES``, 1..5, for the prompts of ``case``
    without_spans: dict[str, float]  # the same where the spans are not given
    missing: Floats  # in each ``hop_s``, the share of the target's loudness that is lost, float32 (steps,), 0..1
    left_over: Floats  # in each, the share of what is heard of the sources that is not the target's
    hop_s: float  # seconds from one step to the next
    aligned: bool  # whether the output is meant to be the target; False for that of another source
    kind: str  # how it was made: names of damages, of a separator, or ``real``
    severity: float = 0.0  # of the damages, 0..5; 0 for others
    label: str = ""  # the target's class; the prompt of a real output
    domain: str = ""  # one of ``DOMAINS``
    setting: str = ""  # one of ``PROMPT_SETTINGS``; empty where it is not known
    seen: bool = True  # whether training may use the target's class
    cluster: str = ""  # the same for samples of one voice or mixture
    family: str = ""  # of a real separator; empty for made outputs
    id: str = ""  # unique in its set
    si_sdr_db: float | None = None  # of the output as it was made, with the true stem; None where it is undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which outputs are made of a mixture."""

    damages: tuple[str, ...] = DAMAGES  # kinds of ``stress separation``
    separators: tuple[str, ...] = SEPARATORS  # classical separators, oracles among them
    outputs: int = 4  # how many a mixture
    whole: float = 0.08  # share of outputs that are the stem itself
    by_separators: float = 0.25  # share that separators make
    wrong: float = 0.08  # share that is another source, damaged or not
    twice: float = 0.35  # share of damaged outputs that bear two damages


@cache
def open_material(root: Path | None) -> Catalogue:
    """The recordings of ``AUSCULT_DATA``, or of another folder of assets; generated sounds without one."""
    return GENERATED if root is None else open_recorded(root)[0]


def made_samples(
    root: Path | None, *, part: Part, numbers: Sequence[int], seed: int, recipe: Recipe | None = None
) -> Iterator[SoundSample]:
    """The samples of mixtures by number, ``recipe.outputs`` of each; what is undefined by formula is left out."""
    maker = _Maker(root, part=part, seed=seed, recipe=recipe or Recipe())
    for number in numbers:
        yield from maker.samples(number)


@dataclass(slots=True)
class OutputTruth:
    """What is true of the outputs of a mixture."""

    stems: list[Samples]
    rate_hz: int
    query: SoundQuery
    more: dict[str, Any] = field(default_factory=dict)
    hard: tuple[dict[str, float], dict[str, float]] = field(init=False)

    def __post_init__(self) -> None:
        hard = difficulty(self.stems, rate_hz=self.rate_hz, prompt=self.query)
        open_hard = difficulty(self.stems, rate_hz=self.rate_hz) if self.query.spans else hard
        self.hard = (hard, open_hard)

    def sample(self, output: Samples, case: SoundCase, **about: Any) -> SoundSample | None:
        """A sample of an output (samples,) as it was made, before anything is done to level and time."""
        parts = perceptual(output, self.stems, rate_hz=self.rate_hz)
        if isinstance(parts, Undefined):
            return None
        ratio = si_sdr(output, self.stems[0])
        matched = np.minimum(parts.recovered, parts.target)
        audible = parts.target > 0.02 * parts.target.max()
        missing = np.where(audible, 1 - matched / np.maximum(parts.target, 1e-9), 0.0)
        total = parts.recovered + parts.left_over
        stray = np.where(total > 0.02 * max(parts.target.max(), 1e-9), parts.left_over / np.maximum(total, 1e-9), 0.0)
        return SoundSample(
            case=case,
            separated=output[None],
            scores={name: float(getattr(parts, name)) for name in PERFORMANCE},
            difficulty=self.hard[0],
            without_spans=self.hard[1],
            missing=missing.astype(np.float32),
            left_over=stray.astype(np.float32),
            hop_s=parts.hop_s,
            si_sdr_db=ratio.value if isinstance(ratio, Scored) else None,
            **{**self.more, **about},
        )


class _Maker:
    """Makes mixtures of one part and wrong outputs of them."""

    def __init__(self, root: Path | None, *, part: Part, seed: int, recipe: Recipe) -> None:
        self._catalogue, self._seed, self._recipe, self._part = open_material(root), seed, recipe, part
        self._planners = [
            Planner(
                self._catalogue,
                MixtureOptions(seconds=seconds, rates_hz=(16_000, 16_000, 32_000), split=part),
                all_prompts=True,
            )
            for seconds in _SECONDS
        ]
        self._separators: dict[str, Separator] = {}

    def samples(self, number: int) -> Iterator[SoundSample]:
        """The samples of a mixture."""
        rng = generator(self._seed, "sound samples", self._part, number)
        planner = self._planners[int(rng.choice(len(_SECONDS), p=_CHANCES))]
        plan = planner.plan(self._seed, number)
        mixture = finished(plan, self._catalogue)
        sounds, query = mixture.made, mixture.query
        stems = [mono(sounds.target), *(mono(stem) for stem in sounds.others.values())]
        about = {
            "label": next(source.label for source in plan.sources if source.name in plan.target),
            "domain": DOMAIN_OF[plan.setting],
            "setting": plan.setting,
            "seen": plan.seen,
            "cluster": mixture.item["cluster"],
        }
        truth = OutputTruth(stems, sounds.rate_hz, query, more=about)
        case = SoundCase(
            id=plan.id,
            mixture=mono(sounds.mixture)[None],
            rate_hz=sounds.rate_hz,
            text=query.text,
            spans=query.spans,
            frames=self._frames(plan),
        )
        for index in range(self._recipe.outputs):
            output, facts = self._output(rng, case, stems, key=f"{plan.id}-{index}")
            sample = truth.sample(output, case, id=f"{plan.id}-{index}", **facts)
            if sample is not None:
                yield replace(sample, separated=at_random_level(rng, sample.separated, rate_hz=sounds.rate_hz))

    def _frames(self, plan: MixturePlan) -> Frames | None:
        picture = plan.prompt.picture
        path = None if picture is None else self._catalogue.clip(picture).path
        return None if path is None else decode_frame(path.read_bytes(), path=path)[None]

    def _output(
        self, rng: np.random.Generator, case: SoundCase, stems: Sequence[Samples], *, key: str
    ) -> tuple[Samples, dict[str, Any]]:
        """An output, and how it was made."""
        recipe, draw = self._recipe, rng.random()
        severity = round(float(rng.uniform(0.3, 5.0)), 2)
        pair = [str(kind) for kind in rng.choice(recipe.damages, 2, replace=False)]
        kinds = pair[: 1 + (rng.random() < recipe.twice)]
        if draw < recipe.whole:
            return stems[0], {"kind": "stem", "aligned": True}
        if draw < recipe.whole + recipe.by_separators and recipe.separators:
            name = str(rng.choice(recipe.separators))
            separator = self._separators.setdefault(name, load_separator(name))
            query = SoundQuery(text=case.text, spans=case.spans)
            output = separator.separate(case.mixture[0], query, rate_hz=case.rate_hz, stems=stems)
            return output, {"kind": name, "aligned": True}
        target = 0
        if 1 - draw < recipe.wrong:
            target = int(rng.integers(1, len(stems)))
            kinds = kinds if rng.random() < 0.5 else []
        output = stems[target]
        done: list[str] = []
        for kind in kinds:
            sources = [output if index == target else stem for index, stem in enumerate(stems)]
            settings: dict[str, Any] = {"rate_hz": case.rate_hz, "severity": severity, "seed": self._seed, "key": key}
            result = perturb(kind, sources, target=target, **settings)
            if not isinstance(result, Undefined):
                output = result.output
                done.append(kind)
        name = "+".join(["other_source"] * bool(target) + done) or "stem"
        return output, {"kind": name, "severity": severity if done else 0.0, "aligned": not target}


def at_random_level(rng: np.random.Generator, separated: Samples, *, rate_hz: int) -> Samples:
    """An output at a random level and, sometimes, with a delay: its truth is independent of both."""
    gain = np.float32(10 ** (rng.uniform(-18, 6) / 20)) if rng.random() < 0.5 else np.float32(1)
    late = int(rng.uniform(0, _LATE_S) * rate_hz) if rng.random() < 0.15 else 0
    moved = np.pad(separated, ((0, 0), (late, 0)))[:, : separated.shape[1]]
    return np.asarray(gain * moved, dtype=np.float32)


def real_items(root: Path, *, part: Part) -> list[SoundItem]:
    """Outputs of real separators that training (``train``) and calibration may hear; ``test``: all others.

    Beside the outputs stand the same mixtures' true and wrong stems, untouched mixtures, and outputs made for another
    source.
    """
    folder = root / SEPARATED
    items = []
    for name in ("items.jsonl", "items_reuse.jsonl"):
        for item in read_sounds(folder / name).items:
            free = not Path(item.mixture).parent.name.startswith(NOT_FREE) and item.family not in KEPT_BACK
            item_part = _PARTS.get(item.split, "test") if free else "test"
            items += [item] if item_part == part else []
    return items


def real_samples(root: Path, *, part: Part) -> Iterator[SoundSample]:
    """Samples of ``real_items``; the rest of a mixture is the mixture minus the true stem."""
    kinds = _kinds(root / SEPARATED)
    for item in real_items(root, part=part):
        if item.truth is None or item.truth.stem is None or item.separated is None:
            continue
        sounds = [read_sound(path) for path in (item.separated, item.truth.stem, item.mixture)]
        size = min(sound.samples.shape[1] for sound in sounds)
        output, stem, mixture = (mono(sound.samples[:, :size]) for sound in sounds)
        stems, rate_hz, query = [stem, mixture - stem], sounds[0].rate_hz, SoundQuery(text=item.query.text)
        kind = kinds.get(item.cluster, "")
        domain = "speech" if "speech" in kind or "speaker" in kind else "music" if "vocal" in kind else "sound"
        truth = OutputTruth(stems, rate_hz, query)
        case = SoundCase(id=item.id, mixture=mixture[None], rate_hz=rate_hz, text=query.text)
        sample = truth.sample(
            output,
            case,
            id=item.id,
            kind=f"real {item.family}",
            label=item.query.text or "",
            domain=domain,
            cluster=item.cluster,
            family=item.family,
            aligned=not item.family.startswith(("wrong", "asked")),
        )
        if sample is not None:
            yield sample


def _kinds(folder: Path) -> dict[str, str]:
    """What each mixture is of, by its name."""
    rows = map(json.loads, (folder / "mixtures.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["mixture_id"]: row["kind"] for row in rows}
