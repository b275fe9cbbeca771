"""Writes ``clips.jsonl``: what the verdicts and masks of an INPUT's videos come to, one row for each track.

It follows from the verdicts, the masks on record and the frames, and is made anew each time, like the comparison with
truth. The frames are read again, in worker processes; one that cannot be read costs the numbers that need it. So does a
stretch of frames whose worker ends or takes too long, and ``errors.jsonl`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from auscult.act.policy import Policy
from auscult.cases.listing import Listing
from auscult.errors import ErrorRecord
from auscult.jobs.clip_build import clip_row
from auscult.jobs.clip_follow import Followed, Stretch, joined, make_follower, stretches, unseen
from auscult.jobs.clip_tracks import ClipTracks, tracks_of
from auscult.jobs.errors import ErrorLog
from auscult.jobs.progress import Progress
from auscult.jobs.rows import column
from auscult.outcome import Failed
from auscult.record.folder import RunFolder
from auscult.record.schema import clip_row_to_json, error_to_json, verdict_from_json
from auscult.types import Verdict
from auscult.work.pool import Task, run_tasks

FILE = "clips.jsonl"

_TIMEOUT_S = 120.0


def write_clips(
    run: RunFolder, listing: Listing, *, policy: Policy, workers: int, errors: ErrorLog, progress: Progress
) -> None:
    """Write a row for each track of each video; earlier ones are replaced.

    Args:
        run: The record; its verdicts are all written.
        listing: The INPUT.
        policy: What decides.
        workers: Worker processes.
        errors: Where a stretch of frames that could not be followed is noted.
        progress: Who listens.

    Raises:
        RecordError: A row of ``masks.jsonl`` or ``verdicts.jsonl`` is damaged.
    """
    run.remove(FILE)
    clips = tracks_of(listing)
    if not clips:
        return
    wanted = {item.id for clip in clips for track in clip.tracks for item in track.places.values()}
    verdicts = {
        str(row["id"]): verdict_from_json(row) for row in run.lines("verdicts.jsonl") if row.get("id") in wanted
    }
    masks = column(run.lines("masks.jsonl"), "segmentation", path=run.path / "masks.jsonl")
    progress.stage("following clips", sum(len(clip.frames) for clip in clips))
    known = {name: masks[name] for name in verdicts if name in masks}
    for clip, seen in _followed(clips, known, workers=workers, errors=errors):
        run.append_many(FILE, _rows(clip, seen, verdicts=verdicts, policy=policy))
        progress.step(len(clip.frames))


def _rows(
    clip: ClipTracks, seen: Mapping[str, Followed], *, verdicts: Mapping[str, Verdict], policy: Policy
) -> list[dict[str, Any]]:
    rows = (clip_row(clip, track, verdicts=verdicts, seen=seen[track.name], policy=policy) for track in clip.tracks)
    return [clip_row_to_json(row) for row in rows if row is not None]


def _followed(
    clips: Sequence[ClipTracks], masks: Mapping[str, Any], *, workers: int, errors: ErrorLog
) -> Iterator[tuple[ClipTracks, dict[str, Followed]]]:
    """Each video with what was seen of its tracks, in the order of the videos, as soon as all before are done."""
    parts = [stretches(clip.frames, _masks(clip, masks)) for clip in clips]
    tasks = (
        Task(f"{number}/{place}", stretch) for number, cut in enumerate(parts) for place, stretch in enumerate(cut)
    )
    found: dict[tuple[int, int], Mapping[str, Followed]] = {}
    turn = 0
    for result in run_tasks(make_follower, tasks, workers=workers, timeout_s=_TIMEOUT_S, stage="clips"):
        number, place = (int(part) for part in result.key.split("/"))
        stretch, outcome = parts[number][place], result.outcome
        if isinstance(outcome, Failed):
            errors.keep([_lost(clips[number].clip, stretch, outcome.error)])
            outcome = unseen(stretch)
        found[number, place] = outcome
        while turn < len(clips) and all((turn, place) in found for place in range(len(parts[turn]))):
            yield clips[turn], joined([found.pop((turn, place)) for place in range(len(parts[turn]))])
            turn += 1


def _lost(clip: str, stretch: Stretch, error: ErrorRecord) -> dict[str, Any]:
    """The row of ``errors.jsonl`` of a stretch that could not be followed."""
    first, last = stretch.frames[0], stretch.frames[-1]
    told = replace(
        error,
        stage="clips",
        error=f"clip {clip} could not be followed from {first.name} to {last.name}: {error.error}",
        hint="give the same command again; until then its flicker, switches and shapes leave these frames out",
        path=error.path or str(first),
    )
    return error_to_json(None, told)


def _masks(clip: ClipTracks, masks: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Track to the RLE of its mask on each frame of the video."""
    return {
        track.name: [
            masks.get(track.places[number].id) if number in track.places else None for number in range(len(clip.frames))
        ]
        for track in clip.tracks
    }
