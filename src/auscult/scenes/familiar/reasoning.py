"""Samples of AVH and VAH, of AVQA and of AVLG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from auscult.cases.avibench import NOT_SURE, YES_NO, AviBoxes
from auscult.language.forms import Expression
from auscult.language.lexicon import indefinite
from auscult.media.frames import encode_jpeg
from auscult.rng import pick
from auscult.scenes.appearance.colours import word_of
from auscult.scenes.appearance.drawing import Look
from auscult.scenes.draw import RenderedScene, Stage, hear
from auscult.scenes.facts import SHOWS, facts_of, say, targets_of
from auscult.scenes.familiar.base import FPS, PICTURE_QUALITY, RATE_HZ, Drawn, World, some_of
from auscult.scenes.familiar.perception import heard_once, shown_and_heard, xywh
from auscult.scenes.familiar.staging import SECONDS, VIDEO, Cast, about_video, in_columns, stage, track
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import ScenePlan, choose
from auscult.scenes.primitives.sounds import spread_s
from auscult.scenes.sound.mix import SoundSource, SoundTrack, TimeSpan
from auscult.scenes.splits import Shelf
from auscult.types import Frame, Mask

HOW_MANY: Final = "How many of the things that are shown are heard?"
WHERE_FIRST: Final = "Three things are shown. Where in the picture is the one that is heard first?"
SIDES: Final = ("left", "middle", "right")
MORE_OFTEN: Final = ("left", "right", "equally often")
NUMBERS: Final = ("0", "1", "2", "3", "4")
COLOURS: Final = ("red", "orange", "yellow", "green", "blue", "purple")
DESCRIBED: Final = ("seen", "seen", "seen", "seen", "not there")
"""Of five descriptions one names nothing, so that no box is right in any frame."""

_TRIES: Final = 400
_COLUMNS_SHOWN: Final = 4
_MOST_HEARD: Final = 5
_EVENT_S: Final = 0.7
_APART_S: Final = 0.5
_FIRST_LATER_S: Final = 0.6
_GREYS: Final = (70, 200)
_LOOKED_AT_PX: Final = 64
_SOLID: Final = 224  # alpha
_MOSTLY: Final = 0.55
_EXPRESSIONS: Final = 8
_AVLG: Final = SceneOptions(size=VIDEO, seconds=10.0, rate_hz=RATE_HZ, objects=(3, 5))


# --- AVH and VAH: the other sense suggests an answer, half of the time the wrong one, whatever is true ---


def seen_or_suggested(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """AVH: whether a thing is seen, which is heard in half of the samples; one even colour where it cannot be told."""
    asked = some_of(rng, world.things, 1)[0]
    others = some_of(rng, world.things, 5, but=frozenset({asked}))
    shown = [*others[:2], *([asked] if answer == "yes" else others[2:3])]
    heard = [others[3], asked if rng.random() < 0.5 else others[4]]
    plan, blank = shown_and_heard(rng, world, shown=shown, heard=heard), answer == NOT_SURE
    text, frames = ask_seen(asked), even(rng) if blank else None
    return about_video(plan, world, text=text, truth=answer, options=YES_NO, frames=frames, asked=asked, blank=blank)


def heard_or_suggested(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """VAH: whether a thing is heard, which is seen in half of the samples; silence where it cannot be told."""
    asked = some_of(rng, world.things, 1)[0]
    others = some_of(rng, world.things, 5, but=frozenset({asked}))
    shown = [*others[:2], asked if rng.random() < 0.5 else others[2]]
    heard = {"yes": [others[3], asked], "no": others[3:], NOT_SURE: []}[answer]
    plan = shown_and_heard(rng, world, shown=shown, heard=heard)
    text = f"{ask_heard(asked)} {world.legend}"
    return about_video(plan, world, text=text, truth=answer, options=YES_NO, asked=asked)


def ask_seen(thing: str) -> str:
    """The question of AVH."""
    return f"Is {indefinite(thing)} seen in the video? If one even colour is all that is seen, it cannot be told."


def ask_heard(thing: str) -> str:
    """The question of VAH."""
    return f"Is {indefinite(thing)} heard in the video? If nothing at all is heard, it cannot be told."


def even(rng: np.random.Generator) -> Iterator[Frame]:
    """A video of one grey."""
    frame = np.full((*VIDEO, 3), int(rng.integers(*_GREYS)), np.uint8)
    for _ in range(round(SECONDS * FPS)):
        yield frame


# --- AVQA: things in columns, each of another kind; what is heard tells which of them is meant ---


def how_many_sound(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """Four things, of which so many are heard, and sounds of others: four or five in all, whatever is true."""
    names = some_of(rng, world.things, _COLUMNS_SHOWN + _MOST_HEARD)
    sounding = set(rng.permutation(_COLUMNS_SHOWN)[: int(answer)].tolist())
    voices = {index: _once(rng, world.voice(rng, names[index])) for index in sounding}
    heard = int(rng.integers(_COLUMNS_SHOWN, _MOST_HEARD + 1))
    unseen = names[_COLUMNS_SHOWN:][: heard - len(sounding)]
    looks = [world.look(rng, name) for name in names[:_COLUMNS_SHOWN]]
    elsewhere = [_once(rng, world.voice(rng, name)) for name in unseen]
    cast = Cast(looks=looks, paths=in_columns(rng, looks), tracks=voices, elsewhere=elsewhere)
    return _sample(rng, world, cast, text=HOW_MANY, answer=answer, options=NUMBERS)


def where_first(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """Three things, of which two or three are heard; the one at a place is heard first."""
    looks = [world.look(rng, name) for name in some_of(rng, world.things, len(SIDES))]
    first = SIDES.index(answer)
    later = [index for index in rng.permutation(len(SIDES)).tolist() if index != first][: int(rng.integers(1, 3))]
    start_s = float(rng.uniform(0.2, 2.0))
    voices = {first: _starting_at(rng, world.voice(rng, looks[first].category), start_s)}
    for number in later:
        after_s = float(rng.uniform(start_s + _FIRST_LATER_S, SECONDS - 2.0))
        voices[number] = _starting_at(rng, world.voice(rng, looks[number].category), after_s)
    cast = Cast(looks=looks, paths=in_columns(rng, looks), tracks=voices)
    return _sample(rng, world, cast, text=WHERE_FIRST, answer=answer, options=SIDES)


def moving_sounds(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """Three things, of which one moves and one or two are heard, the one that moves among them or not."""
    looks = [world.look(rng, name) for name in some_of(rng, world.things, len(SIDES))]
    mover, *others = (int(index) for index in rng.permutation(len(SIDES)))
    heard = ([mover] * (answer == "yes") + others)[: int(rng.integers(1, 3))]
    voices = {index: _once(rng, world.voice(rng, looks[index].category)) for index in heard}
    paths = in_columns(rng, looks, moving=[index == mover for index in range(len(SIDES))])
    cast = Cast(looks=looks, paths=paths, tracks=voices)
    return _sample(rng, world, cast, text="Is the thing that moves heard?", answer=answer, options=YES_NO[:2])


def more_often(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """Two things, each heard one to four times."""
    looks = [world.look(rng, name) for name in some_of(rng, world.things, 2)]
    few, many = sorted(int(count) for count in rng.choice(np.arange(1, 5), 2, replace=False))
    counts = {"left": (many, few), "right": (few, many), "equally often": (few, few)}[answer]
    voices = {side: _repeated(rng, world.voice(rng, looks[side].category), count) for side, count in enumerate(counts)}
    text = "Two things are shown, one on the left and one on the right. Which of them is heard more often?"
    cast = Cast(looks=looks, paths=in_columns(rng, looks), tracks=voices)
    return _sample(rng, world, cast, text=text, answer=answer, options=MORE_OFTEN)


def colour_of_sounding(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """Three plain things of different colours, of which one is heard."""
    others = [str(colour) for colour in rng.permutation([colour for colour in COLOURS if colour != answer])]
    meant = int(rng.integers(len(SIDES)))
    colours = [*others[:2]]
    colours.insert(meant, answer)
    free, looks = some_of(rng, world.things, len(world.things)), list[Look]()
    for colour in colours:
        looks.append(next(look for name in free if (look := _coloured(rng, world, name, colour=colour)) is not None))
        free.remove(looks[-1].category)
    voices = {meant: _once(rng, world.voice(rng, looks[meant].category))}
    text = "Which colour has the thing that is heard?"
    cast = Cast(looks=looks, paths=in_columns(rng, looks), tracks=voices)
    return _sample(rng, world, cast, text=text, answer=answer, options=COLOURS)


def _coloured(rng: np.random.Generator, world: World, category: str, *, colour: str) -> Look | None:
    """A plain thing of a colour that most of it has; None where its own colour is but a part of it, as a boat's is."""
    instance = pick(rng, world.looks.instances()[category])
    for _ in range(_TRIES):
        look = world.looks.look(rng, category, instance=instance)
        if (look.colour, look.texture) == (colour, "plain"):
            sprite = world.looks.sprite(look, height_px=_LOOKED_AT_PX)
            return look if word_of(sprite.rgb[sprite.alpha >= _SOLID], least=_MOSTLY) == colour else None
    return None


def _sample(
    rng: np.random.Generator, world: World, cast: Cast, *, text: str, answer: str, options: tuple[str, ...]
) -> Drawn:
    """The sample of a question about a scene."""
    plan = stage(rng, world, cast, size=VIDEO, seconds=SECONDS)
    return about_video(plan, world, text=f"{text} {world.legend}", truth=answer, options=options)


def _once(rng: np.random.Generator, source: SoundSource) -> SoundTrack:
    return heard_once(rng, [source], seconds=SECONDS)[0]


def _starting_at(rng: np.random.Generator, source: SoundSource, start_s: float) -> SoundTrack:
    return track(rng, source, [(round(start_s, 3), round(start_s + float(rng.uniform(1.0, 1.8)), 3))])


def _repeated(rng: np.random.Generator, source: SoundSource, count: int) -> SoundTrack:
    starts_s = spread_s(rng, count, least_s=_EVENT_S + _APART_S, within=(0.2, SECONDS - 0.2 - _EVENT_S))
    spans: list[TimeSpan] = [(round(start_s, 3), round(start_s + _EVENT_S, 3)) for start_s in starts_s]
    return track(rng, source, spans)


# --- AVLG: scenes of `make scenes` in which each thing has its own sound, with a proven expression ---


def described(rng: np.random.Generator, world: World, answer: str) -> Drawn:
    """A scene's key frames and what an expression names in them, which may be nothing."""
    for _ in range(_TRIES):
        plan = clear_scene(rng, world, _AVLG)
        shots = Stage(plan, world.looks).key_shots()
        mix = hear(plan, world.voices)
        facts = facts_of(plan, shots, gain_db=mix.gain_db)
        targets = targets_of(plan, shots)
        expressions = say(rng, facts, targets=targets, most=_EXPRESSIONS, nulls=_EXPRESSIONS // 2)
        fitting = [item for item in expressions if (item.target is None) == (answer == "not there")]
        expression = _one_of_both_senses(rng, fitting)
        if expression is None:
            continue
        masks: Sequence[Mask | None] = [None] * len(shots)
        if expression.target is not None:
            masks = [shot.visible[int(expression.target) - 1] for shot in shots]
        return Drawn(
            text=f"Where is {expression.text}? {world.legend}",
            truth=boxes_of(masks, size=VIDEO),
            images=tuple(_picture(shot) for shot in shots),
            sounds=(mix.samples,),
            proof={"plan": plan.as_json(), "form": dict(expression.form), "target": expression.target},
        )
    raise ValueError("no scene allows such an expression")


def clear_scene(rng: np.random.Generator, world: World, options: SceneOptions) -> ScenePlan:
    """A scene of ``make scenes`` in which no thing that sounds has another of its kind beside it."""
    names = world.looks.instances()
    shelf = Shelf(
        categories={name: names[name] for name in world.things},
        targets=world.things,
        sounds=world.voices.instances(),
        backgrounds=world.backgrounds,
    )
    for number in range(_TRIES):
        seed = int(rng.integers(2**62))
        plan = choose(seed, number, assets=world.assets, shelves={"train": shelf}, options=options)
        categories = [planned.look.category for planned in plan.objects]
        sounding = [planned.look.category for planned in plan.objects if planned.track is not None]
        if sounding and all(categories.count(name) == 1 for name in sounding):
            return plan
    raise ValueError("no scene has sounds that tell things apart")


def _one_of_both_senses(rng: np.random.Generator, expressions: Sequence[Expression]) -> Expression | None:
    """One of some expressions, of those that need both senses where there are any."""
    pool = [expression for expression in expressions if len(expression.needs) > 1] or list(expressions)
    return pick(rng, pool) if pool else None


def boxes_of(masks: Sequence[Mask | None], *, size: tuple[int, int]) -> AviBoxes:
    """The box of what a mask of each frame shows; none where that is too little to be seen, or nothing."""
    boxes = {
        f"frame_{index}": None if mask is None or np.count_nonzero(mask) < SHOWS * mask.size else xywh(mask)
        for index, mask in enumerate(masks)
    }
    return AviBoxes(size=size[::-1], boxes=boxes)


def _picture(shot: RenderedScene) -> tuple[str, bytes]:
    return ".jpg", encode_jpeg(shot.frame, quality=PICTURE_QUALITY)
