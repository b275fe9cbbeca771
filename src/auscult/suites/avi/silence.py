"""Videos without their sound, for ``--without sound``: the same pictures, not coded again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from auscult.errors import AuscultError
from auscult.jobs.runner import Progress
from auscult.media.video_write import without_sound
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder
from auscult.suites.avi.cases import WITHOUT, AviCase
from auscult.suites.core.conditions import Condition

_FOLDER: Final = "silent"


def silent_videos(
    run: RunFolder, cases: Sequence[AviCase], conditions: Sequence[Condition], *, progress: Progress
) -> Mapping[Path, Path]:
    """Write each video of the cases without its sound into the record, once; nothing where sound stays.

    A video that cannot be copied is left out: its request under that condition fails.
    """
    if WITHOUT["sound"] not in conditions:
        return {}
    videos = list(dict.fromkeys(video for case in cases if (video := case.sample.video) is not None))
    progress.stage("silent videos", len(videos))
    found: dict[Path, Path] = {}
    for video in videos:
        try:
            name = f"{_FOLDER}/{digest_file(video)}.mp4"
            if not (run.path / name).is_file():
                run.write_bytes(name, without_sound(video), durable=False)
            found[video] = run.path / name
        except AuscultError:
            pass
        progress.step()
    return found
