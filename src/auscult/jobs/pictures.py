"""Large crops of the worst items, drawn once the verdicts are known and kept in the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from auscult.cases.ids import group_by_frame
from auscult.errors import AuscultError
from auscult.jobs.progress import Progress
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.masks import read_mask
from auscult.media.paths import safe_name
from auscult.record.folder import RunFolder
from auscult.record.schema import verdict_from_json
from auscult.report.facts import worst_first
from auscult.report.overlay import crop
from auscult.types import Box, ErrorMap, Item, Verdict
from auscult.work.pool import Task, TaskResult, run_tasks

WORST = 100
MOST_BYTES = 4 << 20
_QUICK_BYTES = 24 << 20


@dataclass(frozen=True, slots=True)
class CropGroup:
    """Items of one frame, the place to show of each, those to show whole as well, and where each is likely wrong."""

    items: tuple[Item, ...]
    regions: Mapping[str, Box | None]
    whole: frozenset[str]
    errors: Mapping[str, ErrorMap | None]


def picture_name(item_id: str) -> str:
    """Where the crop of an item is kept in the record."""
    return f"pictures/{safe_name(item_id)}.jpg"


def draw_worst(run: RunFolder, items: Sequence[Item], *, workers: int, progress: Progress) -> None:
    """Draw the worst items that have no crop yet; one that cannot be drawn is left out, its verdict stays."""
    verdicts = [verdict_from_json(row) for row in run.lines("verdicts.jsonl")]
    worst = {verdict.id: verdict for verdict in worst_first(verdicts)[:WORST]}
    missing = [item for item in items if item.id in worst and not (run.path / picture_name(item.id)).exists()]
    groups = [_group([(item, worst[item.id]) for item in group]) for group in group_by_frame(missing)]
    progress.stage("drawing the worst", len(missing))
    for drawn in _drawn(groups, workers):
        for name, jpeg in drawn.items():
            run.write_bytes(picture_name(name), jpeg, durable=False)
        progress.step(len(drawn))


def _drawn(groups: Sequence[CropGroup], workers: int) -> Iterator[Mapping[str, bytes]]:
    """The pictures of each frame, in any order; few are drawn sooner than worker processes are started."""
    tasks = [Task(group.items[0].id, group) for group in groups]
    if sum(_bytes(group.items[0].frame) for group in groups) > _QUICK_BYTES:
        results = run_tasks(_drawer, tasks, workers=workers, timeout_s=60.0, stage="draw")
        yield from (result.outcome for result in results if isinstance(result.outcome, dict))
        return
    with ThreadPoolExecutor(max(1, workers)) as threads:
        for result in threads.map(_drawn_here, tasks):
            if isinstance(result.outcome, dict):
                yield result.outcome


def _drawn_here(task: Task[CropGroup]) -> TaskResult[dict[str, bytes]]:
    return next(run_tasks(_drawer, [task], workers=0, stage="draw"))


def _bytes(path: Path) -> int:
    """Size of a file that was read before; 0 where it has gone since, which reading it will tell."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _group(pairs: Sequence[tuple[Item, Verdict]]) -> CropGroup:
    return CropGroup(
        items=tuple(item for item, _ in pairs),
        regions={item.id: verdict.region for item, verdict in pairs},
        whole=frozenset(item.id for item, verdict in pairs if verdict.defect == "merge"),
        errors={item.id: verdict.error_map for item, verdict in pairs},
    )


def _drawer() -> _Drawer:
    return _Drawer()


class _Drawer:
    def __call__(self, group: CropGroup) -> dict[str, bytes]:
        frame = read_frame(group.items[0].frame)
        drawn = {}
        for item in group.items:
            try:
                mask = read_mask(item.mask, size=(frame.shape[0], frame.shape[1])).mask
            except AuscultError:
                continue
            whole, errors = item.id in group.whole, group.errors[item.id]
            picture = crop(frame, mask, group.regions[item.id], whole=whole, errors=errors)
            drawn[item.id] = encode_jpeg(picture, quality=78 if errors is None else 72)
        return drawn


def crops(folder: Path, ids: Sequence[str]) -> dict[str, bytes]:
    """The crops that a record holds, by item id."""
    found = {}
    for name in ids:
        path = folder / picture_name(name)
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MOST_BYTES:
            found[name] = path.read_bytes()
    return found
