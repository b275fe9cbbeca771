"""Judges by name: registered ones, replies in files, programs, and cascades of these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auscult import registry
from auscult.act.policy import DEFAULT, Policy, possible_actions
from auscult.errors import UsageError
from auscult.jobs.options import ChatJudgeOptions
from auscult.judge import DEFAULT_JUDGE, DEFAULT_SOUND_JUDGE
from auscult.judge.masks.cascade import CascadeJudge
from auscult.media.paths import safe_name
from auscult.models.adapters import COMMAND
from auscult.models.spec import model_spec
from auscult.record.digest import digest_file, digest_json
from auscult.types import Case, Decision, MaskJudge, SoundJudge, Verdict
from auscult.work.line_program import words_of

if TYPE_CHECKING:
    from auscult.jobs.chat_judge import FoundChat
    from auscult.models.chat.loading import ChatHow
    from auscult.models.chat.model import ReplyCache

CHAT: Final = "chat:"
REPLIES: Final = "replies:"
CASCADE: Final = "cascade:"
SOUND: Final = "sound"
"""The room of judges of separated sounds."""
SOUND_FOLDERS: Final = {
    "sound.saj.v1": "auscult.judge.sound.saj:SajJudge",
    "sound.sam_audio.v1": "auscult.judge.sound.saj:SamAudioJudge",
}
"""Judges of separated sounds that need a folder of weights, and so are not registered."""
_WEIGHTS: Final = "docs/saj.md says where weights come from and what the folder holds"
_READ: Final = frozenset({".json", ".npz", ".onnx", ".pt", ".safetensors"})
REASONING: Final = ("reasoning@", "masks.reasoning.v1@")


@dataclass(frozen=True, kw_only=True)
class JudgeAsking:
    """The options of requests to chat judges; picklable, with one budget for all judges."""

    options: ChatJudgeOptions = field(default_factory=ChatJudgeOptions)
    folder: Path | None = None  # of the record, with replies and spending

    @classmethod
    def of(cls, options: ChatJudgeOptions, folder: Path | None) -> JudgeAsking:
        """From the options of a verb."""
        own = {one.name: getattr(options, one.name) for one in fields(ChatJudgeOptions)}
        return cls(options=ChatJudgeOptions(**own), folder=folder)

    def __reduce__(self) -> tuple[Callable[..., JudgeAsking], tuple[Any, ...]]:
        """Pickle without the budget, which is for one process."""
        return partial(JudgeAsking, options=self.options, folder=self.folder), ()

    @cached_property
    def how(self) -> ChatHow:
        """The options in the form for models behind endpoints."""
        from auscult.models.chat.loading import ChatHow

        return ChatHow.of(self.options, folder=self.folder)

    @cached_property
    def kept(self) -> ReplyCache:
        """The replies of the record."""
        return self.how.kept()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSpec:
    """A judge by name, before it is loaded."""

    given: str  # the value of `--judge`
    name: str  # its name in records and tables
    origin: str  # its package with version; or ``chat``, ``replies``, ``command``
    arguments: Mapping[str, str] = field(default_factory=dict)  # further arguments for the manifest
    needs_clip: bool = False  # whether it needs more than the frame
    connections: int = 0  # concurrent threads, for a judge that waits; 0 for worker processes
    needs_probes: bool = False  # whether it has no card, so that probes measure a provisional one


def judge_spec(given: str, *, asking: JudgeAsking | None = None) -> JudgeSpec:
    """The spec of a name: see ``load_judge``."""
    if given.startswith(CHAT):
        chat = _chat(given, asking)
        return JudgeSpec(
            given=given,
            name=chat.name,
            origin="chat",
            arguments={"judge_revision": chat.revision},
            needs_clip=True,
            connections=chat.connections,
            needs_probes=True,
        )
    if given.startswith(CASCADE):
        return _cascade_spec(given, asking)
    if given.startswith(COMMAND):
        model = model_spec(given)
        return JudgeSpec(given=given, name=model.name, origin="command", arguments={"judge_revision": model.revision})
    if given.startswith(REPLIES):
        source = _replies(given)
        revision = digest_json([[name, digest_file(path)] for name, path in _files_of(source)])
        return JudgeSpec(
            given=given, name=_replies_name(source), origin="replies", arguments={"judge_revision": revision}
        )
    if given.startswith(REASONING):
        network = load_judge(given)
        revision = network.revision(_folder(given))  # type: ignore[attr-defined]
        return JudgeSpec(
            given=given,
            name=network.name,
            origin="folder",
            arguments={"judge_revision": revision},
            needs_clip=True,
            needs_probes=not hasattr(network, "card"),
        )
    entry, folder = find_judge(given)
    fitted = {} if folder is None else {"judge_fitted": digest_file(folder / "calibration.json")}
    # of our own, those that need the clip are named with a folder; importing one takes time that a worker spends anyway
    may_need_clip = "@" in given or entry.package != "auscult"
    needs_clip = may_need_clip and bool(getattr(entry.load(), "needs_clip", False))
    return JudgeSpec(given=given, name=entry.name, origin=entry.origin, arguments=fitted, needs_clip=needs_clip)


def _chat(given: str, asking: JudgeAsking | None) -> FoundChat:
    from auscult.jobs.chat_judge import find_chat  # imported where a chat model is asked

    setup = asking or JudgeAsking()
    return find_chat(given, setup.how, samples=setup.options.samples, kept=lambda: setup.kept)


def _cascade_spec(text: str, asking: JudgeAsking | None) -> JudgeSpec:
    parts = [judge_spec(part, asking=asking) for part in _parts(text)]
    for place, part in enumerate(parts):
        if any((part.name, part.arguments) == (one.name, one.arguments) for one in parts[:place]):
            raise UsageError(
                f"{text[:80]!r} names {part.name} twice",
                expected="judges that differ, the cheapest first: cascade:cues,prompted",
            )
    return JudgeSpec(
        given=text,
        name=f"cascade.{'+'.join(part.name for part in parts)}",
        origin=" ".join(part.origin for part in parts),
        arguments={
            f"cascade_{place}": " ".join([part.name, *part.arguments.values()]) for place, part in enumerate(parts)
        },
        needs_clip=any(part.needs_clip for part in parts),
        connections=max(part.connections for part in parts),
        needs_probes=any(part.needs_probes for part in parts),
    )


def _parts(text: str) -> list[str]:
    """The judges of a cascade, cheapest first."""
    parts = [part.strip() for part in text.removeprefix(CASCADE).split(",")]
    if len(parts) < 2 or not all(parts) or any(part.startswith(CASCADE) for part in parts):
        raise UsageError(
            f"{text[:80]!r} is no cascade",
            expected="cascade:CHEAP,DEAR with two judges or more, none of them a cascade: cascade:cues,prompted",
        )
    return parts


def refuse_idle_chat_options(judge: JudgeSpec, given: Collection[str]) -> None:
    """Refuse given options of ``ChatJudgeOptions`` that change nothing with this judge."""
    asks, cascades = "chat" in judge.origin.split(), judge.given.startswith(CASCADE)
    for name in (option.name for option in fields(ChatJudgeOptions)):
        of_cascades = name == "cascade_seconds"
        if name in given and not (cascades if of_cascades else asks):
            raise UsageError(
                f"--{name.replace('_', '-')} changes nothing with the judge {judge.name}",
                expected=f"it with --judge {'cascade:CHEAP,DEAR' if of_cascades else 'chat:NAME'}",
                hint="leave it out",
            )


def load_judge(
    name: str = DEFAULT_JUDGE,
    *,
    asking: JudgeAsking | None = None,
    policy: Policy = DEFAULT,
    seconds: float | None = None,
) -> MaskJudge:
    """Load a judge; a registered one comes with a measured card or not at all.

    Args:
        name: Full or short name, for example ``masks.cues.v1`` or ``cues``; ``prompted@FOLDER`` for one that was fitted
            to masks of a user's own; ``replies:PATH`` or ``command:PROGRAM ...`` for another model (``judge.replies``);
            ``cascade:CHEAP,DEAR`` for a dear judge where a cheap one leaves open what to do; ``chat:NAME`` for a chat
            model; ``reasoning@FOLDER`` for a network that reasons in words, with the card of its folder, if it has one.
        asking: How chat models are asked; without it at the address of their profile, and no reply is kept.
        policy: For a cascade: what decides what to do.
        seconds: For a cascade: most seconds that its dearer judges may take in all.

    Raises:
        UnknownName: There is no such judge.
        UsageError: The judge has no card, cannot be fitted, or the folder does not hold what it needs.
    """
    from auscult.judge.cards import require_card

    if name.startswith(CASCADE):
        full_name = judge_spec(name, asking=asking).name
        parts = [load_judge(part, asking=asking) for part in _parts(name)]
        return CascadeJudge(parts, name=full_name, possible=partial(_possible, policy=policy), seconds=seconds)
    if name.startswith(CHAT):
        return _chat(name, asking).open()
    if name.startswith((COMMAND, REPLIES)):
        return _load_replies(name)
    if name.startswith(REASONING):
        from auscult.judge.masks.reasoning import ReasoningJudge

        network = ReasoningJudge(_folder(name))
        if hasattr(network, "card"):
            require_card(network)
        return network
    entry, folder = find_judge(name)
    judge: MaskJudge = entry.load()
    require_card(judge)
    if folder is None:
        return judge
    fitted: MaskJudge = judge.fitted(folder)  # type: ignore[attr-defined]  # find_judge has seen that it can be
    return fitted


def _folder(text: str) -> Path:
    return Path(text.partition("@")[2])


def _possible(verdict: Verdict, case: Case, *, policy: Policy) -> set[Decision]:
    """The actions that a policy may take on a verdict of a case."""
    return possible_actions(verdict, policy, named=bool((case.query.text or "").strip()))


def find_judge(name: str) -> tuple[registry.Entry, Path | None]:
    """The registered judge that a name means, and the folder behind ``@``."""
    return _found(name, further={SOUND})


def _found(name: str, *, further: Collection[str]) -> tuple[registry.Entry, Path | None]:
    base, separator, folder = name.partition("@")
    entry = registry.find("judge", base, besides=further)
    if not separator:
        return entry, None
    if not hasattr(entry.load(), "fitted"):
        raise UsageError(f"the judge {entry.name} cannot be fitted", expected="a name without `@`")
    return entry, Path(folder)


def find_sound_judge(name: str) -> tuple[registry.Entry, Path | None]:
    """The judge of separated sounds that a name means, and the folder behind ``@``."""
    base, separator, folder = name.partition("@")
    full = f"{SOUND}.{base.removeprefix(f'{SOUND}.').removesuffix('.v1')}.v1"
    if full not in SOUND_FOLDERS:
        return _found(name, further={entry.room or "" for entry in registry.entries("judge")} - {SOUND})
    if not separator:
        raise UsageError(f"the judge {full} needs a folder of weights", expected=f"{base}@FOLDER", hint=_WEIGHTS)
    point = EntryPoint(full, SOUND_FOLDERS[full], registry.KINDS["judge"])
    return registry.Entry(kind="judge", name=full, package=registry.BUILT_IN, _point=point), Path(folder)


def sound_judge_arguments(name: str) -> dict[str, str]:
    """The manifest's arguments of a judge of separated sounds, with hashes of its folder."""
    entry, folder = find_sound_judge(name)
    arguments = {"sound_judge": entry.name, "sound_judge_from": entry.origin}
    if folder is None or not folder.is_dir():
        return arguments
    files = sorted(path for path in folder.iterdir() if path.suffix in _READ and path.is_file())
    return arguments | {"sound_judge_revision": digest_json([[path.name, digest_file(path)] for path in files])}


def load_sound_judge(name: str = DEFAULT_SOUND_JUDGE) -> SoundJudge:
    """Load a judge of separated sounds by full or short name, ``compact``; it comes with a measured card or not at all.

    ``NAME@FOLDER`` is one that was fitted to sounds of a user's own, or whose weights lie in the folder: ``saj`` and
    ``sam_audio``, whose card is the folder's, if it has one; else verdicts say that nothing was measured.
    """
    from auscult.judge.cards import require_card

    entry, folder = find_sound_judge(name)
    judge: SoundJudge = entry.load()
    if folder is not None:
        judge = judge.fitted(folder)  # type: ignore[attr-defined]  # find_sound_judge has seen that it can be
    if entry.name not in SOUND_FOLDERS or hasattr(judge, "card"):
        require_card(judge)
    return judge


def _load_replies(name: str) -> MaskJudge:
    from auscult.judge.replies import FileJudge, ProgramJudge

    if name.startswith(COMMAND):
        return ProgramJudge.start(words_of(name.removeprefix(COMMAND)), model_spec(name).name)
    source = _replies(name)
    return FileJudge(source, _replies_name(source))


def _replies_name(source: Path) -> str:
    return f"replies.{safe_name(source.resolve().stem)}"


def _replies(text: str) -> Path:
    source = Path(text.removeprefix(REPLIES))
    if not text.removeprefix(REPLIES) or not source.exists():
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
    result: MaskJudge = judge.with_evidence(evidence)
    return result
