"""From the sample to what is to be made of each instance, and where its clip's files go.

A clip's frames are numbered once for all its instances, in order of time, as ``media/<clip>/frames/<n>``; so that a
model that looks at the whole clip finds it beside the masks, as in MQ-RAVSBench.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from auscult.cases.ids import natural_key
from auscult.media.paths import safe_name
from auscult.suites.mqa.building import Order
from auscult.suites.mqa.key_frame import Looked
from auscult.suites.mqa.options import BuildOptions
from auscult.suites.mqa.rows import Protocol
from auscult.suites.mqa.sample import Sample, split_of
from auscult.types import Instance, Moment

SOUND = "audio"
MEDIA = "media"


@dataclass(frozen=True, slots=True)
class Media:
    """Where a clip's files go.

    Attributes:
        frames: Source file to number and name in the output folder, in order of time.
        sound: The source and the name of its sound; None where it has none.
    """

    frames: Mapping[Path, tuple[int, str]]
    sound: tuple[Path, str] | None


def media_of(instances: Sequence[Instance]) -> dict[str, Media]:
    """Number the frames of every clip.

    Args:
        instances: All that were chosen; instances of one clip may be annotated in different frames.

    Returns:
        Clip to its files.
    """
    by_clip: dict[str, list[Instance]] = {}
    for instance in instances:
        by_clip.setdefault(instance.clip, []).append(instance)
    media = {}
    for clip, members in by_clip.items():
        moments = {moment.frame: moment for instance in members for moment in instance.moments}
        folder = f"{MEDIA}/{safe_name(clip)}"
        ordered = sorted(moments.values(), key=_when)
        frames = {
            moment.frame: (number, f"{folder}/frames/{number}{moment.frame.suffix.lower()}")
            for number, moment in enumerate(ordered)
        }
        sounds = [instance.sound for instance in members if instance.sound is not None]
        sound = (sounds[0], f"{folder}/{SOUND}{sounds[0].suffix.lower()}") if sounds else None
        media[clip] = Media(frames, sound)
    return media


def taken_of(looked: Looked, options: BuildOptions) -> tuple[int, ...]:
    """Moments of the image protocol: the key frame, or each n-th of those that show the target."""
    if not options.step:
        return () if looked.frame is None else (looked.frame,)
    showing = [place for place, area in enumerate(looked.areas) if area >= max(1, options.least_px)]
    return tuple(showing[:: options.step])


def orders_of(
    sample: Sample, taken: Mapping[str, Sequence[int]], *, options: BuildOptions, media: Mapping[str, Media]
) -> list[Order]:
    """What is to be made: the image protocol first, each in the order of the sample.

    Args:
        sample: The chosen instances.
        taken: Id to indices of the frames of the image protocol.
        options: Protocols to make.
        media: Where the clips' files go.
    """
    orders: list[Order] = []
    several = options.step > 0
    if "image" in options.protocols:
        orders += [
            _order(instance, media[instance.clip], protocol="image", moments=[place], several=several)
            for instance in sample.instances
            for place in taken[instance.id]
        ]
    if "video" in options.protocols:
        orders += [
            _order(instance, media[instance.clip], protocol="video", moments=_annotated(instance))
            for chosen in sample.video.values()
            for instance in chosen
        ]
    return orders


def _order(
    instance: Instance, media: Media, *, protocol: Protocol, moments: Sequence[int], several: bool = False
) -> Order:
    places = [media.frames[instance.moments[index].frame] for index in moments]
    return Order(
        instance=instance,
        split=split_of(instance),
        protocol=protocol,
        moments=tuple(moments),
        numbers=tuple(number for number, _ in places),
        frames=tuple(name for _, name in places),
        sound=media.sound[1] if media.sound else None,
        several=several,
    )


def _annotated(instance: Instance) -> list[int]:
    return [index for index, moment in enumerate(instance.moments) if moment.target is not None]


def _when(moment: Moment) -> tuple[float, object]:
    return (-1.0 if moment.time_s is None else moment.time_s), natural_key(moment.frame.as_posix())
