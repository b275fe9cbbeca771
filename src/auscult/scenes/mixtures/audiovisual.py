"""Mixtures of audio-visual scenes: one object's stem, masks and frames under one id.

The object asked for sounds and is seen; the picture that asks for it is the scene's frames with all else blanked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Final

import numpy as np
from msgspec import Meta

from auscult.cases.ids import shown
from auscult.errors import InputError, UsageError
from auscult.media.frames import encode_jpeg
from auscult.media.masks import encode_mask
from auscult.record import codec
from auscult.record.codec import Word
from auscult.rng import generator, pick
from auscult.scenes.dataset import QUALITY
from auscult.scenes.draw import RenderedScene, Stage
from auscult.scenes.mixtures.catalogue import ALONE, GENERATED, Part, class_of, named, prompts_of, unclear
from auscult.scenes.mixtures.sound import FinishedMixture, put_together, weighted
from auscult.scenes.options import MixtureOptions, SceneOptions
from auscult.scenes.plan import SECONDS, ScenePlan, choose, numbered_id
from auscult.scenes.sound.mix import SoundTrack, mix_down
from auscult.scenes.splits import Assets, Split, divide
from auscult.types import Samples, SoundQuery

SIZE: Final = (270, 480)
"""Height x width of the frames."""

_TRIES = 40
_SEEN_SHARE = 0.002
_SPLITS: Final[Sequence[tuple[Part, Split]]] = (
    ("train", "train"), ("calibration", "train"), ("test", "test_s"), ("test", "test_u"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneMixturePlan:
    """A mixture of a scene before it is made, as its line in ``plans.jsonl`` holds it."""

    scene: ScenePlan
    object: Word  # number of the object that is asked for
    split: Part
    channels: Annotated[int, Meta(ge=1, le=2)]
    level_lufs: Annotated[float, Meta(ge=-60.0, le=-10.0)]  # of the mixture

    @property
    def id(self) -> str:
        """Its name."""
        return self.scene.vid

    @classmethod
    def from_json(cls, row: Any) -> SceneMixturePlan:
        """Read a line, which may hold more; an InputError where its object is none that sounds beside another."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in row.items() if key in known} if isinstance(row, dict) else row
        plan = codec.from_json(cls, values, error=InputError, hint="correct the line")
        scene = ScenePlan.from_json(plan.scene.as_json())  # whether its parts fit together
        if plan.object not in {planned.id for planned in scene.objects if planned.track} or len(scene.tracks) < 2:
            expected = "the number of an object that sounds, in a scene with another sound"
            raise InputError(f"the object is {shown(plan.object)}", expected=expected, hint="correct the line")
        return plan


class SceneMixtures:
    """Makes mixtures of scenes by their number; generated sounds keep the parts that they have in other mixtures."""

    def __init__(self, assets: Assets, options: MixtureOptions) -> None:
        self._assets, self._options = assets, options
        shelves = divide(assets)
        self._shelves = [
            (part, split, shelves[split] if assets.own_voices else replace(shelves[split], sounds=_sounds(part)))
            for part, split in _SPLITS
            if options.split in {part, "all"} and not (assets.own_voices and part == "calibration")
        ]
        if not self._shelves:
            raise UsageError(
                "scenes of a folder's own sounds have no part for calibration", hint="--split train or test"
            )

    def make(self, seed: int, index: int) -> FinishedMixture:
        """Draw scenes until one has an object that is seen and heard beside another sound, and mix it."""
        rng = generator(seed, "mixture", "scene", index)
        part, split, shelf = pick(rng, self._shelves)
        seconds = max(SECONDS[0], round(float(rng.uniform(*self._options.seconds)), 2))
        rate_hz = pick(rng, self._options.rates_hz)
        options = SceneOptions(size=SIZE, seconds=seconds, rate_hz=rate_hz)
        for _ in range(_TRIES):
            draft = choose(int(rng.integers(2**62)), 0, assets=self._assets, shelves={split: shelf}, options=options)
            scene = replace(draft, vid=numbered_id(seed, index))
            shots = Stage(scene, self._assets.looks).key_shots()
            fitting = _fitting(scene, shots)
            if fitting:
                plan = SceneMixturePlan(
                    scene=scene,
                    object=scene.objects[pick(rng, fitting)].id,
                    split=part,
                    channels=1 if self._options.channels == "mono" else 2,
                    level_lufs=self._options.loudness_lufs,
                )
                return self.planned(plan, shots)
        raise InputError(
            "no scene has an object that is seen and heard beside another sound",
            expected="cut-outs with sounds of their own, of two categories or more",
            hint="add sounds to the asset folder",
        )

    def planned(self, mixture: SceneMixturePlan, shots: Sequence[RenderedScene] | None = None) -> FinishedMixture:
        """Make a planned mixture; ``shots`` are its scene's, where they are drawn already."""
        plan, number = mixture.scene, int(mixture.object) - 1
        shots = Stage(plan, self._assets.looks).key_shots() if shots is None else shots
        track_index, thing = plan.tracks.index(plan.objects[number].track), plan.objects[number]
        names = [f"{re.sub('[^a-z0-9]+', '_', track.source.label)}-{n}" for n, track in enumerate(plan.tracks, 1)]
        stems = {name: self._stem(mixture, track) for name, track in zip(names, plan.tracks, strict=True)}
        target = {names[track_index]: stems.pop(names[track_index])}
        labels = [track.source.label for track in plan.tracks]
        label, unseen = labels[track_index], {clip.label for clip in GENERATED.clips if not clip.seen}
        texts = [text for text, _ in prompts_of(label)] if labels.count(label) == 1 else []
        fitting = (text for text in texts if named(text, labels) == {label} and not unclear(text, labels))
        folder = f"scenes/{plan.vid}"
        files = {}
        for index, shot in enumerate(shots):
            mask = shot.visible[number]
            files[f"{folder}/frames/{index:05d}.jpg"] = encode_jpeg(shot.frame, quality=QUALITY)
            files[f"{folder}/shown/{index:05d}.jpg"] = encode_jpeg(shot.frame * mask[..., None], quality=QUALITY)
            files[f"{folder}/masks/{index:05d}.png"] = encode_mask(mask)
        return FinishedMixture(
            id=plan.vid,
            made=put_together(target, stems, lufs=mixture.level_lufs, rate_hz=plan.rate_hz),
            setting=ALONE[class_of(label).domain],
            query=SoundQuery(text=next(fitting, None)),
            item={
                "split": mixture.split,
                "seen": plan.split != "test_u" and label not in unseen,
                "category": thing.look.category,
                "video": f"{folder}/shown",
                "frames": f"{folder}/frames",
                "masks": f"{folder}/masks",
            },
            line=codec.to_json(mixture),
            files=files,
        )

    def _stem(self, mixture: SceneMixturePlan, track: SoundTrack) -> Samples:
        plan = mixture.scene
        mix = mix_down([track], self._assets.sounds, seconds=plan.seconds, rate_hz=plan.rate_hz)
        sound = mix.samples * np.float32(10.0 ** (-mix.gain_db / 20.0))
        sound = sound.mean(axis=0, keepdims=True) if mixture.channels == 1 else sound
        return weighted(sound, rate_hz=plan.rate_hz)


def _sounds(part: Part) -> dict[str, tuple[str, ...]]:
    """The generated sounds of a part by class."""
    by_label: dict[str, tuple[str, ...]] = {}
    for clip in GENERATED.clips:
        if clip.part == part:
            by_label[clip.label] = (*by_label.get(clip.label, ()), clip.id)
    return by_label


def _fitting(plan: ScenePlan, shots: Sequence[RenderedScene]) -> list[int]:
    """Numbers of the objects that sound, and are seen in a key frame, where something else sounds too."""
    if len(plan.tracks) < 2:
        return []
    return [
        number
        for number, planned in enumerate(plan.objects)
        if planned.track is not None
        and any(np.count_nonzero(shot.visible[number]) >= _SEEN_SHARE * shot.visible[number].size for shot in shots)
    ]
