"""Videos without one sense: pictures without sound, or sound alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from auscult.errors import InputError
from auscult.jobs.runner import Progress
from auscult.media.sound import read_soundtrack
from auscult.media.video_write import without_sound
from auscult.media.wav import encode_wav
from auscult.outcome import Failed
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder
from auscult.record.schema import error_to_json
from auscult.suites.avi.cases import WITHOUT, AviCase
from auscult.suites.core.conditions import Condition
from auscult.work.pool import Task, run_tasks

_FOLDER: Final = "ablated"
_STAGE: Final = "frames"

AblatedVideos: TypeAlias = Mapping[tuple[Path, str], Path]
"""The file with the remaining medium, by video and condition."""


def ablated_videos(
    run: RunFolder, cases: Sequence[AviCase], conditions: Sequence[Condition], *, progress: Progress
) -> tuple[AblatedVideos, list[dict[str, object]]]:
    """Write each video without a sense into the record, once; returns files and errors."""
    pairs: dict[tuple[Path, str], None] = {}
    for case in cases:
        video = case.sample.video
        if video is not None and WITHOUT["sound"] in conditions and case.has("sound"):
            pairs[video, WITHOUT["sound"].name] = None
        if video is not None and WITHOUT["picture"] in conditions and case.sounds_by_video:
            pairs[video, WITHOUT["picture"].name] = None
    progress.stage("media without a sense", len(pairs))
    ablated: dict[tuple[Path, str], Path] = {}
    errors = []
    files = {f"{video} {condition}": (video, condition) for video, condition in pairs}
    tasks = [Task(name, file) for name, file in files.items()]
    for result in run_tasks(lambda: partial(_ablated, run), tasks, workers=0, stage=_STAGE):
        video, condition = files[result.key]
        if isinstance(result.outcome, Failed):
            error = replace(result.outcome.error, path=result.outcome.error.path or str(video))
            errors.append(error_to_json(None, error))
        else:
            ablated[video, condition] = result.outcome
        progress.step()
    return ablated, errors


def _ablated(run: RunFolder, request: tuple[Path, str]) -> Path:
    video, condition = request
    silent = condition == WITHOUT["sound"].name
    name = f"{_FOLDER}/{digest_file(video)}.{'mp4' if silent else 'wav'}"
    if not (run.path / name).is_file():
        run.write_bytes(name, without_sound(video) if silent else _sound(video), durable=False)
    return run.path / name


def _sound(video: Path) -> bytes:
    sound = read_soundtrack(video)
    if sound is None:
        raise InputError("the video has no sound", expected="a sound beside it, or in it", path=video)
    return encode_wav(sound.samples, sound.rate_hz)
