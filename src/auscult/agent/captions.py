"""Facts and captions of samples: from a scene's plan, EXIF, statistics of pictures and sound, or a chat model.

Facts are ``place`` (words), ``day`` (``day``, ``night``, ``unknown``), ``indoors``, ``motion`` (share of the diagonal
per frame), ``loudness_db`` (LUFS), ``sources`` (words of what is seen or heard), ``brightness``, ``sharpness`` and
``noise`` (shares of white), ``text`` (sentences), ``frames``, ``size`` (height, width), ``sound``, and ``from``, the
main source of the facts. What is not known is None, ``unknown`` or empty. Texts of the data are facts, never
instructions: they are cut and stripped of control characters here, and quoted in prompts. Results are cached by content
hash, so that the same file under another name is neither measured nor sent to a model again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import cv2
import numpy as np
from msgspec import Meta

from auscult.agent.debate import Offered
from auscult.agent.replies import prompt, read_object
from auscult.arrays.motion import small_frame, step_between
from auscult.cases.ids import counted
from auscult.errors import InputError
from auscult.jobs.runner import Progress
from auscult.judge.replies import printable
from auscult.media.frames import read_reduced
from auscult.media.pictures import exposure_value
from auscult.media.sound import read_sound, read_soundtrack
from auscult.media.video import count_frames, frames_numbered
from auscult.models.chat.model import ChatModel, ReplyCache, key_of
from auscult.models.omni import Unreachable
from auscult.outcome import Failed
from auscult.record import codec
from auscult.record.digest import digest_file, digest_json
from auscult.scenes.appearance.generated import GENERATED
from auscult.scenes.mixtures.sound import integrated_lufs
from auscult.scenes.plan import ScenePlan
from auscult.stress.presets import places
from auscult.types import Frame
from auscult.work.pool import Task, run_tasks
from auscult.work.threads import run_threads

Day: TypeAlias = Literal["day", "night", "unknown"]
T = TypeVar("T")

FILE: Final = "captions.jsonl"
MOST_CAPTION: Final = 300
SILENT_LUFS: Final = -70.0
"""Loudness of a sound of which no block is over the absolute gate of BS.1770."""

_VERSION: Final = "statistics 1"
_STAGE: Final = "caption"
_AGAIN: Final = "remove its line to have it made again"
_LIMIT_S: Final = 120.0
_PER_WORKER: Final = 16  # samples below which another process costs more than it gains
_MOST_WORDS, _MOST_WORD, _MOST_TEXTS = 16, 40, 8
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "beach": ("beach", "outdoors"), "foliage": ("outdoors",), "meadow": ("field", "outdoors"), "room": ("indoors",),
    "street": ("street", "outdoors"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleClip:
    """A clip, photograph or question of the data, not described yet; no file is open."""

    name: str  # its id, as ``--only`` takes it
    frames: tuple[Path, ...] = ()  # in order of time
    sound: Path | None = None
    video: Path | None = None  # where frames are not single files
    texts: tuple[str, ...] = ()  # referring expressions or questions about it
    words: tuple[str, ...] = ()  # names of what is seen or heard in it
    scene: ScenePlan | None = None  # of a generated scene; then no file is measured

    @property
    def key(self) -> str:
        """Hash of the content of the measured files."""
        media = [*(self.frames[index] for index in _measured_frames(len(self.frames))), self.sound, self.video]
        try:
            return digest_json(
                [_VERSION, len(self.frames), [None if file is None else digest_file(file) for file in media]]
            )
        except InputError:  # measuring it will report the error
            return f"unreadable {self.name}"


def _measured_frames(count: int) -> tuple[int, ...]:
    """Indices of the measured frames: the first two of each third of a clip."""
    first = [min(part * count // 3, count - 2) for part in range(3)]
    return (0,)[:count] if count < 2 else tuple(sorted({start + by for start in first for by in (0, 1)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What is measured on the files of a sample; see ``measured``."""

    size: tuple[int, int] | None = None
    frames: int = 0
    brightness: float | None = None
    sharpness: float | None = None
    noise: float | None = None
    day: Day = "unknown"
    indoors: bool | None = None
    motion: float | None = None
    loudness_db: float | None = None
    exif: bool = False  # whether ``day`` is from EXIF


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChatCaption:
    caption: Annotated[str, Meta(min_length=1)]
    place: Annotated[tuple[str, ...], Meta(max_length=100)] = ()
    day: Day = "unknown"
    indoors: bool | None = None
    sources: Annotated[tuple[str, ...], Meta(max_length=1000)] = ()


def describe(
    samples: Sequence[SampleClip],
    *,
    kept: Path | None,
    chat: ChatModel | None,
    workers: int,
    progress: Progress,
    log: ReplyCache | None = None,
) -> tuple[tuple[Offered, ...], tuple[str, ...]]:
    """Describe samples, in their order; and remarks on samples that could not be measured or captioned.

    ``kept`` is the cache ``captions.jsonl``. ``chat`` is sent the middle picture or the video of each sample once;
    its replies also go to ``log``, which counts requests. ``Unreachable`` is raised where the model cannot be
    reached; earlier replies stay in the cache.
    """
    cache, remarks = ReplyCache(kept), list[str]()
    plain = [sample for sample in samples if sample.scene is None]
    statistics = _measured_samples(plain, cache, workers=workers, remarks=remarks, progress=progress)
    captions = {} if chat is None else _chat_captions(plain, chat, cache=cache, log=log, remarks=remarks)
    offered = tuple(
        _offered(sample, statistics.get(sample.name, Statistics()), captions.get(sample.name)) for sample in samples
    )
    return offered, tuple(remarks)


def _remark(failed: Sequence[tuple[str, str]], step: str) -> list[str]:
    text = "{} not {}, first {}: {}"
    return [printable(text.format(counted(len(failed), "sample"), step, *failed[0]), MOST_CAPTION)] if failed else []


def _measured_samples(
    samples: Sequence[SampleClip], cache: ReplyCache, *, workers: int, remarks: list[str], progress: Progress
) -> dict[str, Statistics]:
    keys, failed = {sample.name: sample.key for sample in samples}, list[tuple[str, str]]()
    unmeasured = {keys[sample.name]: sample for sample in samples if keys[sample.name] not in cache}
    progress.stage("describing samples", len(unmeasured))
    count = min(workers, -(-len(unmeasured) // _PER_WORKER))
    tasks = (Task(key, sample) for key, sample in unmeasured.items())
    for result in run_tasks(_measurer, tasks, workers=count, timeout_s=_LIMIT_S, stage=_STAGE):
        progress.step()
        if isinstance(result.outcome, Failed):
            failed.append((unmeasured[result.key].name, result.outcome.error.error))
        else:
            cache.reply(result.key, partial(str, codec.dump(codec.to_json(result.outcome, digits=4)), "utf-8"))
    remarks += _remark(failed, "measured")
    return {
        name: read_object(Statistics, cache.reply(key, str), hint=_AGAIN) for name, key in keys.items() if key in cache
    }


def _measurer() -> Callable[[SampleClip], Statistics]:
    return measured


def measured(sample: SampleClip) -> Statistics:
    """Measure the files of a sample: means over frames; ``day`` and ``indoors`` if half agree and no other differs.

    ``motion`` is the 90th percentile of the flow between two consecutive frames, as a share of the diagonal; the
    median over the thirds of a clip. By EXIF it is day from an exposure value of 11 on, which no lamp in a room
    reaches, and night at 2 and below. Loudness is that of BS.1770, -70 LUFS for silence.
    """
    count, frames, size = len(sample.frames), dict[int, Frame](), None
    if count:
        reduced = {index: read_reduced(sample.frames[index], least=240) for index in _measured_frames(count)}
        frames, size = {index: frame for index, (frame, _) in reduced.items()}, reduced[0][1]
    elif sample.video is not None:
        count = count_frames(sample.video)
        frames = {index: timed.frame for index, timed in frames_numbered(sample.video, _measured_frames(count))}
        size = next((frame.shape[:2] for frame in frames.values()), None)
    looks = [picture_statistics(frame) for frame in frames.values()]
    moving = [_motion(frames[index], frames[index + 1]) for index in frames if index + 1 in frames]
    exposure = exposure_value(sample.frames[0]) if len(sample.frames) == 1 else None
    stated: Day = "unknown" if exposure is None or 2 < exposure < 11 else "day" if exposure >= 11 else "night"
    sound = read_sound(sample.sound) if sample.sound else read_soundtrack(sample.video) if sample.video else None
    names = ("brightness", "sharpness", "noise") if looks else ()
    return Statistics(
        **{name: float(np.mean([getattr(look, name) for look in looks])) for name in names},
        size=size,
        frames=count,
        day=stated if stated != "unknown" else _majority([look.day for look in looks], "unknown"),
        indoors=_majority([look.indoors for look in looks], None),
        motion=float(np.median(moving)) if moving else None,
        loudness_db=None if sound is None else max(SILENT_LUFS, integrated_lufs(sound.samples, rate_hz=sound.rate_hz)),
        exif=stated != "unknown",
    )


def _majority(values: Sequence[T], unknown: T) -> T:
    """The value of at least half of the frames, if all others are unknown."""
    stated = [value for value in values if value != unknown]
    return stated[0] if len(set(stated)) == 1 and 2 * len(stated) >= len(values) else unknown


def _motion(earlier: Frame, later: Frame) -> float:
    first, second = small_frame(earlier), small_frame(later)
    if first.shape != second.shape:
        return 0.0
    flow = step_between(first, second).flow
    return float(np.percentile(np.hypot(flow[..., 0], flow[..., 1]), 90) / math.hypot(*first.shape[:2]))


def picture_statistics(frame: Frame) -> Statistics:
    """Brightness, sharpness, noise and place of one picture, uint8 RGB (H, W, 3).

    ``brightness`` is the mean grey value, ``sharpness`` the standard deviation of the Laplacian, ``noise`` a standard
    deviation, by the filter of Immerkær (1996), which is 0 on slopes, but from the median: texture raises his mean.

    At 160 pixels and colours 0..1, with the upper quarter as the top, a picture is outdoors by day if it is brighter
    than .2, and 30 % of its top are smooth, over .5 and no redder than blue, like a sky; or 10 % of it are green; or
    its top is bluer than red by .1 and the whole over .3. It is night if the top is darker than .055 and the whole
    than .2. Otherwise both are unknown; that a picture is indoors is never inferred. The rules were chosen on 140
    photographs; ``docs/agent-samples.md`` has their accuracy on others.
    """
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    slopes = cv2.filter2D(grey, cv2.CV_32F, np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32))
    scale = min(1.0, 160 / max(grey.shape))
    side = (max(4, round(grey.shape[1] * scale)), max(4, round(grey.shape[0] * scale)))
    small = cv2.resize(frame, side, interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    red, green, blue = np.moveaxis(small, 2, 0)
    light = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
    top = slice(0, len(light) // 4)
    texture = cv2.blur(np.abs(np.diff(light, axis=1))[:-1] + np.abs(np.diff(light, axis=0))[:, :-1], (5, 5))
    cooler = (blue - red)[top]
    sky = np.mean((texture[top] < 0.03) & (light[top] > 0.5)[:, :-1] & (cooler > -0.02)[:, :-1])
    leaves = np.mean((green > red + 0.02) & (green > blue + 0.06))
    bright = float(light.mean())
    outside = bright > 0.2 and bool(sky >= 0.3 or leaves >= 0.1 or (cooler.mean() >= 0.1 and bright > 0.3))
    return Statistics(
        brightness=bright,
        sharpness=float(cv2.Laplacian(grey, cv2.CV_32F).std() / 255),
        noise=float(np.median(np.abs(slopes)) / (6 * 0.6745 * 255)),
        day="day" if outside else "night" if light[top].mean() < 0.055 and bright < 0.2 else "unknown",
        indoors=False if outside else None,
    )


def _chat_captions(
    samples: Sequence[SampleClip],
    chat: ChatModel,
    *,
    cache: ReplyCache,
    log: ReplyCache | None,
    remarks: list[str],
) -> dict[str, _ChatCaption]:
    """Captions by a chat model; a sample without a usable reply keeps its statistics, with a remark."""
    text = prompt("caption").format(places=", ".join(places()))
    silent, failed, captions = list[Unreachable](), list[tuple[str, str]](), dict[str, _ChatCaption]()

    def ask(sample: SampleClip) -> _ChatCaption:
        images = sample.frames[len(sample.frames) // 2 :][:1]
        video = None if images else sample.video
        key = key_of(chat.name, chat.revision, text=text, media=images or tuple(filter(None, (video,))))
        answer: Callable[[], str] = partial(chat.answer, text, images=images, video=video)
        if log is not None:
            answer = partial(log.reply, key, answer, kind="caption", sample=sample.name)
        try:
            return read_object(_ChatCaption, cache.reply(key, answer), hint=_AGAIN)
        except Unreachable as error:
            silent.append(error)
            raise

    tasks = (Task(sample.name, sample) for sample in samples if sample.frames or sample.video)
    for result in run_threads(lambda: ask, tasks, threads=chat.connections, stage=_STAGE):
        if silent:
            raise silent[0]
        if isinstance(result.outcome, Failed):
            failed.append((result.key, result.outcome.error.error))
        else:
            captions[result.key] = result.outcome
    remarks += _remark(failed, "captioned by the language model")
    return captions


def _words(texts: Iterable[str], limit: int = _MOST_WORDS, length: int = _MOST_WORD) -> list[str]:
    plain = (printable(text, length) for text in islice(texts, 10 * limit))
    return list(dict.fromkeys(filter(None, plain)))[:limit]


def scene_facts(plan: ScenePlan) -> dict[str, Any]:
    """Facts of a generated scene from its plan: place, objects, sounds and motion, all exact.

    Painted outdoor backgrounds are by day; of photographs as backgrounds nothing is known. ``motion`` is that of the
    object that moves most between key frames.
    """
    kind = plan.background.partition("-")[0] if plan.background in GENERATED.backgrounds() else ""
    place, times, (height, width) = _PLACES.get(kind, ()), plan.key_times_s, plan.size
    trajectories = [[(pose.x * width, pose.y * height) for pose in map(path.pose, times)] for path in plan.layout.paths]
    steps = [float(np.mean(np.hypot(*np.diff(trajectory, axis=0).T))) for trajectory in trajectories]
    words = [*(drawn.look.category for drawn in plan.objects), *(track.source.noun for track in plan.tracks)]
    return {
        "place": list(place), "day": "day" if "outdoors" in place else "unknown",
        "indoors": "indoors" in place if place else None, "motion": round(max(steps) / math.hypot(height, width), 4),
        "sources": _words(words), "frames": len(times), "size": [height, width], "sound": True, "from": "scene",
    }  # fmt: skip


def _offered(sample: SampleClip, statistics: Statistics, chat_caption: _ChatCaption | None) -> Offered:
    facts: dict[str, Any] = codec.to_json(statistics, digits=3)
    facts |= {
        "place": ["outdoors"] if statistics.indoors is False else [],
        "sources": _words(sample.words),
        "text": _words(sample.texts, _MOST_TEXTS, MOST_CAPTION),
        "sound": statistics.loudness_db is not None,
        "from": "exif" if facts.pop("exif") else "statistics",
        **({} if sample.scene is None else scene_facts(sample.scene)),
    }
    if chat_caption is not None:
        facts |= {
            "place": [word for word in places() if word in chat_caption.place] or facts["place"],
            "day": facts["day"] if chat_caption.day == "unknown" else chat_caption.day,
            "indoors": facts["indoors"] if chat_caption.indoors is None else chat_caption.indoors,
            "sources": _words((*chat_caption.sources, *sample.words)),
            "from": "chat",
        }
    caption = _caption(facts) if chat_caption is None else chat_caption.caption
    return Offered(name=sample.name, summary=printable(caption, MOST_CAPTION), facts=facts)


def _caption(facts: Mapping[str, Any]) -> str:
    """A caption made from facts."""
    count, motion, loudness, bright = (facts[name] for name in ("frames", "motion", "loudness_db", "brightness"))
    return ", ".join(filter(None, [
        "generated scene" if facts["from"] == "scene" else "",
        f"clip of {count} frames" if count > 1 else "photograph" if count else "sound",
        *facts["place"][:1],
        {"day": "by day", "night": "at night"}.get(facts["day"], ""),
        "" if bright is None or 0.2 <= bright <= 0.7 else "dark" if bright < 0.2 else "bright",
        "" if motion is None else "hardly moving" if motion < 0.003 else "moving" if motion < 0.02 else "moving fast",
        "no sound" if count > 1 and not facts["sound"] else "",
        "" if loudness is None else "silent" if loudness <= SILENT_LUFS else f"sound at {loudness:.0f} LUFS",
        f"with {', '.join(facts['sources'])}" if facts["sources"] else "",
    ]))  # fmt: skip
