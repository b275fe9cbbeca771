"""Judges by the name that a person gives: registered ones, replies in files, programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from auscult import registry
from auscult.errors import UsageError
from auscult.judge import DEFAULT_JUDGE
from auscult.media.paths import safe_name
from auscult.models.spec import COMMAND, model_spec
from auscult.record.digest import digest_file, digest_json
from auscult.types import MaskJudge
from auscult.work.line_program import words_of

REPLIES: Final = "replies:"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A judge that was asked for, before it is loaded."""

    given: str  # what `--judge` says
    name: str  # what records and tables call it
    origin: str  # the package with its version that brings it; ``replies``, ``command``
    arguments: Mapping[str, str] = field(default_factory=dict)  # what else of it the manifest holds
    needs_clip: bool = False  # whether it looks at more than the frame


def judge_spec(given: str) -> JudgeSpec:
    """What a name stands for: see ``load_judge``."""
    if given.startswith(COMMAND):
        found = model_spec(given)
        return JudgeSpec(given=given, name=found.name, origin="command", arguments={"judge_revision": found.revision})
    if given.startswith(REPLIES):
        source = _replies(given)
        revision = digest_json([[name, digest_file(path)] for name, path in _files_of(source)])
        return JudgeSpec(
            given=given, name=_replies_name(source), origin="replies", arguments={"judge_revision": revision}
        )
    entry, folder = find_judge(given)
    fitted = {} if folder is None else {"judge_fitted": digest_file(folder / "calibration.json")}
    # of our own, those that need the clip are named with a folder; importing one takes time that a worker spends anyway
    known = "@" in given or entry.package != "auscult"
    needs_clip = known and bool(getattr(entry.load(), "needs_clip", False))
    return JudgeSpec(given=given, name=entry.name, origin=entry.origin, arguments=fitted, needs_clip=needs_clip)


def load_judge(name: str = DEFAULT_JUDGE) -> MaskJudge:
    """Load a judge; a registered one comes with a measured card or not at all.

    Args:
        name: Full or short name, for example ``masks.cues.v1`` or ``cues``; ``prompted@FOLDER`` for one that was fitted
            to masks of a user's own; ``replies:PATH`` or ``command:PROGRAM ...`` for another model (``judge.replies``).

    Raises:
        UnknownName: There is no such judge.
        UsageError: The judge has no card, cannot be fitted, or the folder does not hold what it needs.
    """
    from auscult.judge.cards import require_card

    if name.startswith((COMMAND, REPLIES)):
        return _load_replies(name)
    entry, folder = find_judge(name)
    judge: MaskJudge = entry.load()
    require_card(judge)
    if folder is None:
        return judge
    fitted: MaskJudge = judge.fitted(folder)  # type: ignore[attr-defined]  # find_judge has seen that it can be
    return fitted


def find_judge(name: str) -> tuple[registry.Entry, Path | None]:
    """The registered judge that a name means, and the folder behind ``@``."""
    base, at, folder = name.partition("@")
    entry = registry.find("judge", base)
    if not at:
        return entry, None
    if not hasattr(entry.load(), "fitted"):
        raise UsageError(f"the judge {entry.name} cannot be fitted", expected="a name without `@`")
    return entry, Path(folder)


def _load_replies(name: str) -> MaskJudge:
    from auscult.judge.replies import FileJudge, ProgramJudge

    if name.startswith(COMMAND):
        return ProgramJudge.start(words_of(name.removeprefix(COMMAND)), model_spec(name).name)
    source = _replies(name)
    return FileJudge(source, _replies_name(source))


def _replies_name(source: Path) -> str:
    return f"replies.{safe_name(source.resolve().stem)}"


def _replies(given: str) -> Path:
    source = Path(given.removeprefix(REPLIES))
    if not given.removeprefix(REPLIES) or not source.exists():
        raise UsageError(
            "there are no such replies",
            path=source,
            expected="replies:FOLDER with a file <id>.txt an item, or replies:FILE.jsonl",
            hint="`auscult audit` and `auscult run mqa` name the items in items.jsonl and verdicts.jsonl",
        )
    return source


def _files_of(source: Path) -> list[tuple[str, Path]]:
    if not source.is_dir():
        return [("", source)]
    return sorted((path.relative_to(source).as_posix(), path) for path in source.rglob("*") if path.is_file())


def with_evidence(judge: MaskJudge, evidence: str) -> MaskJudge:
    """A judge that uses another segmenter's masks as evidence instead of its own."""
    if not hasattr(judge, "with_evidence"):
        raise UsageError(f"the judge {judge.name} takes no evidence", expected="masks.prompted.v1, or no --evidence")
    found: MaskJudge = judge.with_evidence(evidence)
    return found
