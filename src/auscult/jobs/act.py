"""``auscult act filter``: pick items of a record by action, if wanted after deciding again by another policy.

Of separated sounds the picked ones are an INPUT too, and with truth a curve says what keeping the best is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.act.export.verdicts import verdicts_csv
from auscult.act.filter import redecide, select
from auscult.act.policy import load_policy
from auscult.act.rerank import kept_quality
from auscult.act.sound_policy import load_sound_policy
from auscult.errors import OutputError, RecordError, UsageError
from auscult.jobs.finish import coco_of, in_order
from auscult.jobs.options import FilterOptions
from auscult.jobs.sound_input import FOLDERS, SoundRecord, input_of
from auscult.media.paths import write_bytes
from auscult.record.cells import disarmed
from auscult.record.codec import dump
from auscult.record.reader import Run, read_audit
from auscult.record.schema import is_sound
from auscult.report.charts.basic import Axes, Series, lines_drawing
from auscult.report.drawing import to_svg
from auscult.report.facts import interval, policy_of
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.stats.few_clusters import widened
from auscult.score.stats.inputs import members_of
from auscult.score.stats.intervals import cluster_draws, percentile_interval
from auscult.types import DECISIONS

ANOTHER_OUT: Final = "choose another --out"
SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of the items that a curve of ``filter`` keeps."""
_WAYS: Final = {"judge": "best by the judge", "oracle": "best by truth", "random": "at random"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """The selected items."""

    ids: tuple[str, ...]  # the items, in natural order
    total: int
    by_action: dict[str, int]  # actions of all verdicts, as decided now
    policy: str  # that of masks, that of sounds
    out: Path  # where ``ids.txt``, ``verdicts.csv``, ``coco.json`` of masks and ``items.jsonl`` of sounds are
    curve: tuple[dict[str, Any], ...] = ()  # with --curve: the true score of what is kept, for each share

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {
            "command": "act filter",
            "n": self.total,
            "kept": len(self.ids),
            "ids": list(self.ids),
            "by_action": self.by_action,
            "policy": self.policy,
            **({"curve": list(self.curve)} if self.curve else {}),
            "out": str(self.out),
        }


def filter_record(options: FilterOptions) -> Filtered:
    """Pick items of a record and write them out; nothing is judged, and of sounds the picked files get other names."""
    out = out_folder(options.out, options.folder, ending=f"filter-{'-'.join(options.actions)}")
    run, rows = judged_rows(options.folder, sounds=True, error_maps=False)
    masks = load_policy(options.policy) if options.policy is not None else None
    sound = load_sound_policy(options.sound_policy) if options.sound_policy is not None else None
    rows = redecide(rows, masks, sound=sound)
    policies = [policy_of(run) if masks is None else masks.name] if run.verdicts else []
    policies += [policy_of(run, "sound_policy") if sound is None else sound.name] if run.sounds else []
    least = {"min_iou": options.min_iou, "min_overall": options.min_overall}
    chosen = select(rows, actions=options.actions, defects=options.defects, **least)
    names = ("ids.txt", "verdicts.csv", "coco.json", "items.jsonl", "curve.svg", *FOLDERS)
    require_ours(out.resolve() if out.is_symlink() else out, names=names, made_by="filter", mark="ids.txt")
    curve = _curve(SoundRecord.read(options.folder)) if options.curve else []
    files = list_files(chosen, run, out=out)
    if curve:
        files["curve.svg"] = _drawn(curve)
    write_files(out, files)
    counts = Counter(str(row["action"]) for row in rows)
    return Filtered(
        ids=tuple(str(row["id"]) for row in chosen),
        total=len(rows),
        by_action={name: counts[name] for name in DECISIONS},
        policy=", ".join(dict.fromkeys(policies)),
        out=out,
        curve=tuple(curve),
    )


def _curve(record: SoundRecord) -> list[dict[str, Any]]:
    """The mean true overall score of each share kept: the best by the judge, the best by truth, and one at random."""
    truths = record.truths("overall")
    rows = [row for row in record.rows if row["overall"] is not None and row["id"] in truths]
    if len(rows) < 2:
        expected = "an audit of an INPUT with truth"
        raise UsageError("the record has no true scores", expected=expected, path=record.run.path)
    scores, true = np.array([row["overall"] for row in rows]), np.array([truths[row["id"]] for row in rows])
    members = members_of([row.get("cluster") or row["mixture"] for row in rows])
    draws = cluster_draws(int(members.max()) + 1, rng=generator(0, "act", "filter"))
    means = {way: kept_quality(by, true, SHARES) for way, by in zip(_WAYS, (scores, true, 0 * true), strict=True)}
    replicates = np.array([kept_quality(scores, true, SHARES, weights=draw[members]) for draw in draws])
    replicates = np.clip(widened(replicates, means["judge"], sizes=np.bincount(members)), 1, 5)
    curve = []
    for index, share in enumerate(SHARES):
        low, high = (percentile_interval(replicates[:, index]) if draws.shape[1] > 1 else None) or (None, None)
        quality = {way: round(float(values[index]), 4) for way, values in means.items()}
        curve.append({"kept": share, **quality, "low": low, "high": high, "n": len(rows), "clusters": draws.shape[1]})
    return curve


def curve_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A curve of ``filter`` as a table."""
    cells = [
        (f"{row['kept']:.0%}", *(f"{row[way]:.2f}" for way in _WAYS), interval(row["low"], row["high"])) for row in rows
    ]
    note = f"{rows[0]['n']} outputs with truth, {rows[0]['clusters']} clusters, which the judge's intervals draw"
    header = ("kept", *_WAYS.values(), "the judge's, 95 %")
    return Table(title="true overall score of what is kept", header=header, rows=tuple(cells), note=note)


def _drawn(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for style, (way, words) in enumerate(_WAYS.items()):
        points = tuple((row["kept"], row[way], f"{row['kept']:.0%} kept: {row[way]:.2f}") for row in rows)
        lines.append(Series(name=words, points=points, style=style, quiet=way != "judge"))
    ticks = tuple((share, f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0))
    axes = Axes(x=(0.0, 1.0), y=(1.0, 5.0), ticks=ticks, across="share kept", up="mean true overall score")
    return to_svg(lines_drawing(lines, axes, title="True score of what is kept, by how much is kept"))


def judged_rows(
    folder: Path, *, sounds: bool = False, error_maps: bool = True
) -> tuple[Run, Sequence[Mapping[str, Any]]]:
    """A record and the rows of its verdicts on masks, and if wanted on sounds, in the natural order of their ids.

    ``error_maps`` is as ``read_all_verdicts`` takes it.
    """
    run = read_audit(folder, error_maps=error_maps)
    rows = in_order(row for _, row in (*run.verdicts, *(run.sounds if sounds else ())))
    if not rows:
        kind = "verdict on a mask" if run.sounds else "verdict"
        hint = f"{len(run.failed)} failed; errors.jsonl in it says why" if run.failed else ""
        if run.sounds:
            hint = "for separated sounds: `act rerank`, `filter`, `pseudo-label`, `gate --by overall`"
        raise RecordError(f"the record holds no {kind}", path=folder, expected="a record of `auscult audit`", hint=hint)
    return run, rows


def list_files(rows: Sequence[Mapping[str, Any]], run: Run, *, out: Path) -> dict[str, str]:
    """Selected items of a record as files for other tools: names and contents; sounds are put into ``out``."""
    files = {"ids.txt": ids_text(str(row["id"]) for row in rows), "verdicts.csv": verdicts_csv(rows)}
    masks = [row for row in rows if not is_sound(row)]
    if masks or not run.sounds:
        files["coco.json"] = dump(coco_of(masks, run)).decode()
    if run.sounds:
        record = SoundRecord(run=run)
        files["items.jsonl"] = input_of(
            out, [record.items[row["id"]] for row in rows if is_sound(row)], source=record.source
        )
    return files


def ids_text(ids: Iterable[str]) -> str:
    """Ids, one a line, ``disarmed`` as in ``verdicts.csv``."""
    return "".join(f"{disarmed(name)}\n" for name in ids)


def require_ours(folder: Path, *, names: Collection[str], made_by: str, mark: str = "") -> None:
    """Insist that a folder is new, empty, or of an earlier run of the same command, which always leaves ``mark``."""
    try:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise RecordError("this is no folder", expected="a new or empty folder", hint=ANOTHER_OUT, path=folder)
        present = {path.name for path in folder.iterdir() if path.name[:1] != "."} if folder.exists() else set[str]()
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=folder, hint=ANOTHER_OUT) from error
    others = sorted(present - (set(names) if mark in {"", *present} else set()))
    if others:
        raise RecordError(
            f"the folder holds other files ({', '.join(others[:3])})",
            expected=f"a new or empty folder{f', or one of an earlier {made_by}' if names else ''}",
            hint=ANOTHER_OUT,
            path=folder,
        )


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files whole; names may lead into a folder below."""
    for name, text in files.items():
        write_bytes(folder / name, text.encode("utf-8", "backslashreplace"))


def out_folder(out: Path | None, record: Path, *, ending: str) -> Path:
    """The folder to write to, by default one beside a record and named after it; a RecordError where it lies in it."""
    if out is None:
        base = record if record.name not in {"", ".."} else record.resolve()
        return base.with_name(f"{base.name}-{ending}")
    refuse_inside(out, record)
    return out


def refuse_inside(out: Path, record: Path) -> None:
    """Refuse to write into a record."""
    if out.resolve().is_relative_to(record.resolve()):
        raise RecordError("the folder lies in the record, which is not changed", hint=ANOTHER_OUT, path=out)
