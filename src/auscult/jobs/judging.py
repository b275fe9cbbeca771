"""Worker processes of an audit: open frames and masks, judge, check identity, draw thumbnails.

A frame is decoded once for all its masks. An error fails its item alone.

If an identity check has no result, or cannot run because a sound cannot be read, the verdict says "identity not
checked" with the reason; that never counts as a match.
"""

from __future__ import annotations

import math
import os
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from auscult import registry
from auscult.act.policy import Policy, decide
from auscult.cases.ids import group_by_frame
from auscult.errors import AuscultError, InputError, UsageError
from auscult.jobs.clip_context import ClipIndex
from auscult.jobs.frame_masks import FrameMasks
from auscult.jobs.joint import JointAuditor
from auscult.jobs.judges import JudgeAsking, load_judge, with_evidence
from auscult.jobs.runner import (
    INPUTS,
    FrameGroup,
    LastCached,
    Result,
    failed_row,
    input_digest,
    item_row,
    settled_stamp,
)
from auscult.judge.identity import NeedsWeights, Ready
from auscult.judge.identity.combine import combined, unchecked
from auscult.judge.masks.cascade import CascadeJudge
from auscult.media.frames import decode_frame, encode_jpeg
from auscult.media.masks import read_mask
from auscult.media.paths import read_bytes
from auscult.media.readings import LoadedMask
from auscult.media.rle import encode
from auscult.media.sound import read_sound
from auscult.record.digest import digest_bytes, digest_file, digest_json, stamp_file
from auscult.record.schema import DECIMALS, verdict_to_json
from auscult.report.overlay import shares, shrunk, small_overlay
from auscult.types import Case, Frame, IdentityCheck, Item, Mask, MaskJudge, Prediction, Verdict
from auscult.work.process import peak_gpu_mb, peak_mb

VERDICTS, MASKS, THUMBNAILS = "verdicts.jsonl", "masks.jsonl", "thumbnails.jsonl"

_MOST_BYTES = 1 << 26  # of decoded frames and masks in one batch
_KEPT_FRAMES = 4  # cache for threads, which judge the masks of a frame one by one


class Checker:
    """Runs an identity check in one process. It keeps the sound of the last clip, since items come clip by clip.

    A check that raises ``UsageError`` once is not run again, since the cause is the same for all items.
    """

    def __init__(self, check: IdentityCheck) -> None:
        self._check = check
        self._sound = LastCached(read_sound)
        self._unusable: UsageError | None = None

    def joined(self, verdict: Verdict, case: Case, *, prediction: Prediction) -> Verdict:
        """The verdict with the result of the check, or with the reason why there is none."""
        if self._unusable is not None:
            return unchecked(verdict, self._unusable.message)
        try:
            result = self._check(case, prediction)
        except UsageError as error:
            self._unusable = error
            return unchecked(verdict, error.message)
        except AuscultError as error:
            return unchecked(verdict, error.message)
        if result is None:
            return unchecked(verdict, _why(case, prediction))
        return combined(verdict, result, check=self._check.name)

    def of_item(self, verdict: Verdict, item: Item, *, case: Case, prediction: Prediction) -> Verdict:
        """The verdict with the check of an item of INPUT, with its sound and time."""
        try:
            sound = None if item.audio is None else self._sound(item.audio)
        except AuscultError as error:
            return unchecked(verdict, f"its sound cannot be used ({error.message})")
        with_sound = replace(case, time_s=item.time_s)
        if sound is not None:
            with_sound = replace(with_sound, sound=sound.samples, rate_hz=sound.rate_hz)
        return self.joined(verdict, with_sound, prediction=prediction)


def _why(case: Case, prediction: Prediction) -> str:
    if not (case.query.text or "").strip():
        return "there is no expression"
    if not prediction.mask.any():
        return "nothing is segmented"
    if prediction.mask.all():
        return "the mask is the whole frame"
    return "the check cannot tell from these words"


@dataclass(frozen=True, slots=True, eq=False)
class _Opened:
    """A frame, decoded, shrunk and hashed once, and its masks."""

    frame: Frame  # uint8 RGB (H, W, 3)
    small: Frame  # the frame at the size of a thumbnail
    digest: str
    masks: FrameMasks
    # the items to be judged, each with its mask or why it cannot be read
    wanted: Sequence[tuple[Item, LoadedMask | AuscultError]] = ()
    stamps: Mapping[str, str | None] = field(default_factory=dict)  # of its items, taken before reading

    @property
    def nbytes(self) -> int:
        """The memory of frame and masks."""
        masks = (loaded.mask.nbytes for _, loaded in self.wanted if isinstance(loaded, LoadedMask))
        return self.frame.nbytes + sum(masks)


def _open_frame(path: Path, _: str) -> tuple[Frame, Frame, str]:
    """A frame, the frame at the size of a thumbnail, and the hash of its file, which had that stamp before."""
    content = read_bytes(path)
    frame = decode_frame(content, path=path)
    return frame, shrunk(frame), digest_bytes(content)


@dataclass(frozen=True, slots=True)
class Auditor:
    """Judges the items of one frame or of a few; made once in each worker process."""

    judge: MaskJudge
    policy: Policy
    root: Path = field(default=Path())  # the folder that frame names on record are relative to
    alone: bool = False  # show the judge no other candidate of the frame
    checker: Checker | None = None
    clips: ClipIndex | None = None  # for a judge that needs more than the frame
    open_frame: Callable[[Path, str], tuple[Frame, Frame, str]] = _open_frame
    cascade: CascadeJudge | None = None  # of which the judge is the first
    joint: JointAuditor | None = None  # for items with a separated sound

    def close(self) -> None:
        """Release what the judge holds."""
        if callable(close := getattr(self.cascade or self.judge, "close", None)):
            close()

    def __call__(self, group: FrameGroup) -> list[Result]:
        """Judge the wanted items; a judge with ``batch`` gets those of several frames at once."""
        parents = {
            proposal.id: item.id for item in group.items if item.mask.proposals for proposal in proposals_of(item)
        }
        return best_proposals(self._judge(group), parents)

    def _judge(self, group: FrameGroup) -> list[Result]:
        results: list[Result] = []
        pending: list[_Opened] = []
        for listed in group_by_frame(group.items):
            wanted = [proposal for item in listed if item.id in group.wanted for proposal in proposals_of(item)]
            items = [proposal for item in listed for proposal in proposals_of(item)]
            if not wanted:
                continue
            try:
                opened = self._opened(items, wanted)
            except AuscultError as error:
                results += [Result(id=item.id, errors=[failed_row(item, error, "read")]) for item in wanted]
                continue
            at_once = max(1, _MOST_BYTES // opened.frame[..., 0].size)
            for start in range(0, len(wanted), at_once):
                part = [(item, opened.masks.get(item.id)) for item in wanted[start : start + at_once]]
                pending.append(replace(opened, wanted=part))
                if sum(opened.nbytes for opened in pending) > _MOST_BYTES:
                    results += self._results(pending)
                    pending = []
        return results + self._results(pending)

    def _opened(self, items: Sequence[Item], wanted: Sequence[Item]) -> _Opened:
        """Decode a frame; its masks are opened when needed."""
        path = items[0].frame
        stamps = {item.id: settled_stamp(item) for item in wanted}
        frame, small, digest = self.open_frame(path, stamp_file(path))
        size = (frame.shape[0], frame.shape[1])
        masks = FrameMasks(items, lambda item: read_mask(item.mask, size=size))
        return _Opened(frame, small, digest, masks, stamps=stamps)

    def _results(self, frames: Sequence[_Opened]) -> list[Result]:
        wanted = [(item, opened, loaded) for opened in frames for item, loaded in opened.wanted]
        shown = {
            item.id: self._shown(item, opened, loaded.mask)
            for item, opened, loaded in wanted
            if isinstance(loaded, LoadedMask)
        }
        judged = dict(zip(shown, self.together([*shown.values()]), strict=True))
        return [self._result(item, opened, loaded, judged=judged.get(item.id)) for item, opened, loaded in wanted]

    def _shown(self, item: Item, opened: _Opened, mask: Mask) -> tuple[Case, Prediction]:
        """The input of the judge for an item."""
        others = () if self.alone else opened.masks.others(item.id)
        clip = None if self.clips is None else self.clips.context(item)
        case = Case(
            id=digest_json(item.id), frame=opened.frame, query=item.query, others=others, time_s=item.time_s, clip=clip
        )
        return case, Prediction(mask)

    def together(self, shown: Sequence[tuple[Case, Prediction]]) -> Sequence[Verdict | None]:
        """What a judge with ``batch`` says of all; None of masks that are to be judged one by one."""
        batch = getattr(self.judge, "batch", None)
        if batch is None or len(shown) < 2:
            return [None] * len(shown)
        start = time.perf_counter()
        try:
            verdicts = batch([case for case, _ in shown], [prediction for _, prediction in shown])
        except AuscultError:  # one of them fails: masks are then judged one by one
            return [None] * len(shown)
        each_s = (time.perf_counter() - start) / len(shown)
        return [replace(verdict, seconds=each_s) for verdict in verdicts]

    def decided(
        self, case: Case, prediction: Prediction, *, judged: Verdict | None = None, item: Item | None = None
    ) -> Verdict:
        """The whole verdict with its action; ``judged`` is what the judge has said already."""
        start, before_s = time.perf_counter(), 0.0 if judged is None else judged.seconds
        verdict = self.whole(judged or self.judge(case, prediction), item, case=case, prediction=prediction)
        return decide(replace(verdict, seconds=before_s + time.perf_counter() - start), self.policy)

    def prior(self, verdict: Verdict) -> tuple[float, float] | None:
        """The judge's ``prob_prior`` where the probabilities of a verdict may be adapted by it.

        They are not in a cascade, where what a judge says of masks decides which of them are its own; nor where an
        identity check changed them, as the prior is of masks on the right object.
        """
        own = self.cascade is None and verdict.judged_by in {None, self.judge.name}
        checked = self.checker is not None and verdict.evidence.identity
        return prior_of(self.judge) if own and not checked else None

    def whole(self, verdict: Verdict, item: Item | None, *, case: Case, prediction: Prediction) -> Verdict:
        """The judge's verdict, completed by identity check, further judges of a cascade and a separated sound.

        Without an item of INPUT, sound and time are the case's.
        """
        if self.checker is not None and item is not None:
            verdict = self.checker.of_item(verdict, item, case=case, prediction=prediction)
        elif self.checker is not None:
            verdict = self.checker.joined(verdict, case, prediction=prediction)
        if self.cascade is not None:
            verdict = self.cascade.settled(verdict, case, prediction)
        if self.joint is not None and item is not None:
            verdict = self.joint.joined(verdict, item, case=case, prediction=prediction)
        return verdict

    def _result(
        self, item: Item, opened: _Opened, loaded: LoadedMask | AuscultError, *, judged: Verdict | None
    ) -> Result:
        if isinstance(loaded, AuscultError):
            return Result(id=item.id, errors=[failed_row(item, loaded, "read")])
        case, prediction = self._shown(item, opened, loaded.mask)
        try:
            verdict = replace(self.decided(case, prediction, judged=judged, item=item), id=item.id)
        except AuscultError as error:
            return Result(id=item.id, errors=[failed_row(item, error, "judge")])
        digest = input_digest(item, opened.digest, sound=self.checker is not None)
        row = verdict_to_json(
            verdict,
            **_origin(item, loaded, self.root),
            **amounts(verdict, loaded.mask),
            **_of_calibration(verdict, self.judge, prior=self.prior(verdict)),
            **({"peak_mb": peak_mb(), "peak_gpu_mb": peak_gpu_mb()} if self.alone else {}),
            input=digest,
        )
        quality = 72 if verdict.error_map is None else 64  # stripes and dots take more bytes, and need less quality
        overlay = small_overlay(opened.small, loaded.mask, errors=verdict.error_map)
        jpeg = b64encode(encode_jpeg(overlay, quality=quality)).decode("ascii")
        # The verdict last, so that it always has its mask, for the export, and its thumbnail.
        stamp = opened.stamps[item.id]
        rows: dict[str, list[dict[str, Any]]] = {
            INPUTS: [] if stamp is None else [{"id": item.id, "input": digest, "stamp": stamp}],
            MASKS: [{"id": item.id, "segmentation": encode(loaded.mask)}],
            THUMBNAILS: [{"id": item.id, "jpeg": jpeg}],
            VERDICTS: [row],
        }
        return Result(id=item.id, rows=rows)


def proposals_of(item: Item) -> list[Item]:
    """The proposals of which the best is to be judged, each as an item; else the item itself."""
    return [
        replace(item, id=f"{item.id}#{index}", mask=replace(item.mask, index=index)) for index in item.mask.proposals
    ] or [item]


def best_proposals(results: Sequence[Result], parents: Mapping[str, str]) -> list[Result]:
    """The result with the highest estimated IoU among the proposals of each parent, under the parent's id."""
    best: dict[str, Result] = {}
    others = []
    for result in results:
        name = parents.get(result.id)
        if name is None:
            others.append(result)
        elif name not in best or _estimate(result) > _estimate(best[name]):
            best[name] = result
    return others + [_renamed(result, name) for name, result in best.items()]


def _estimate(result: Result) -> float:
    """The estimated IoU for sorting; below every IoU without one, and lowest for a failure."""
    rows = result.rows.get(VERDICTS, ())
    if not rows:
        return -2.0
    value = rows[0].get("iou")
    return -1.0 if value is None else float(value)


def _renamed(result: Result, name: str) -> Result:
    rows = {file: [{**row, "id": name} for row in lines] for file, lines in result.rows.items()}
    return replace(result, id=name, rows=rows, errors=[{**row, "id": name} for row in result.errors])


def load_default_judge() -> None:
    """Load modules and networks of the default judge, for workers without a task yet."""
    from auscult.judge.masks.prompted import JUDGE
    from auscult.judge.masks.prompted import verdict as _  # noqa: F401 - imported with the first candidate otherwise

    JUDGE.load()


def make_auditor(
    judge: MaskJudge | str,
    policy: Policy,
    root: Path = Path(),
    *,
    alone: bool = False,
    identity: IdentityCheck | str | None = None,
    weights: Path | None = None,
    evidence: str | None = None,
    clips: ClipIndex | None = None,
    joint: bool = False,
    asking: JudgeAsking | None = None,
    cascade_seconds: float | None = None,
    threads: int = 0,
) -> Auditor:
    """Load what is given by name and make the worker's function; at module level, so that it can be pickled."""
    check = load_identity(identity, weights) if isinstance(identity, str) else identity
    loaded = judge
    if isinstance(loaded, str):
        loaded = load_judge(loaded, asking=asking, policy=policy, seconds=cascade_seconds)
    cascade = loaded if isinstance(loaded, CascadeJudge) else None
    loaded = loaded if cascade is None else cascade.first
    if evidence is not None:
        loaded = with_evidence(loaded, evidence)
    prior_of(loaded)  # a broken one is told before anything is judged
    return Auditor(
        loaded,
        policy,
        root,
        alone=alone,
        checker=None if check is None else Checker(check),
        clips=clips,
        cascade=cascade,
        open_frame=lru_cache(_KEPT_FRAMES)(_open_frame) if threads else _open_frame,
        joint=JointAuditor() if joint else None,
    )


def amounts(verdict: Verdict, mask: Mask) -> dict[str, float]:
    """Missing and extra shares of a mask by its error map, for the row; empty without a map."""
    if verdict.error_map is None:
        return {}
    error_shares = shares(verdict.error_map, mask)
    return {"missing_share": round(error_shares.missing, 4), "extra_share": round(error_shares.extra, 4)}


def prior_of(judge: MaskJudge) -> tuple[float, float] | None:
    """The judge's ``prob_prior``, None where it has none; a UsageError where it is something else than two shares."""
    given = getattr(judge, "prob_prior", None)
    if given is None:
        return None
    try:
        good, fair = (round(float(share), DECIMALS) for share in given)
    except (TypeError, ValueError, OverflowError):
        good = fair = math.nan
    if not 0 < good < fair < 1:
        raise UsageError(
            f"prob_prior of the judge {judge.name} is {str(given)[:80]!r}",
            expected="the shares of IoU .8 and of .5 or more, unlike and between 0 and 1, such as (0.4, 0.8)",
        )
    return good, fair


def _of_calibration(
    verdict: Verdict, judge: MaskJudge, *, prior: tuple[float, float] | None
) -> dict[str, float | list[float]]:
    """The judge's ``prob_shift`` and the prior for the row; empty for none.

    They are recorded so that shares and their intervals can be computed from the row alone.
    """
    if verdict.prob_iou_80 is None or verdict.judged_by not in {None, judge.name}:
        return {}
    shift = getattr(judge, "prob_shift", None)
    return {
        **({"prob_shift": round(float(shift), DECIMALS)} if isinstance(shift, int | float) else {}),
        **({} if prior is None else {"prob_prior": [*prior]}),
    }


def _origin(item: Item, loaded: LoadedMask, root: Path) -> dict[str, Any]:
    frame = Path(os.path.relpath(item.frame, root)).as_posix()
    origin: dict[str, Any] = {"frame": frame, "reading": loaded.reading}
    if item.mask.path is not None:
        origin["mask"] = item.mask.path.name
    if item.mask.proposals:
        origin |= {"proposal": item.mask.index, "proposals": len(item.mask.proposals)}
    origin |= item_row(item)
    if item.model_score is not None:
        origin["model_score"] = item.model_score
    if item.extra:
        origin["extra"] = dict(item.extra)
    return origin


def load_identity(name: str, weights: Path | None = None) -> IdentityCheck:
    """Load a registered identity check."""
    entry = registry.find("identity", name)
    check = entry.load()
    if not isinstance(check, IdentityCheck):
        raise UsageError(
            f"{entry.name} of package {entry.package} is no identity check",
            expected="a name, metadata and a call with case and prediction",
        )
    if isinstance(check, NeedsWeights):
        return check.using(weights)
    if weights is not None:
        raise UsageError(f"{entry.name} brings its own weights", hint="leave --identity-weights out")
    return check


def identity_arguments(name: str | None, weights: Path | None) -> dict[str, Any]:
    """The manifest's arguments of the identity check, which must be ready to run; empty for none."""
    if name is None:
        if weights is not None:
            raise UsageError("there are weights for an identity check and no check", hint="add --identity clip")
        return {}
    entry = registry.find("identity", name)
    check = load_identity(name, weights)
    if isinstance(check, Ready):
        check.ready()
    arguments: dict[str, Any] = {"identity": entry.name, "identity_from": entry.origin}
    folder = getattr(check, "folder", None)
    if isinstance(folder, Path):
        arguments["identity_weights"] = weights_digest(folder)
    return arguments


def weights_digest(folder: Path) -> dict[str, str]:
    """Hash of all files of weights and settings, without folder names, so that copies are equal."""
    paths = {path.name: path for path in folder.iterdir() if path.suffix in {".safetensors", ".onnx", ".json", ".txt"}}
    try:
        return {name: digest_file(paths[name]) for name in sorted(paths)}
    except InputError as error:
        raise UsageError(error.message, path=error.path, hint=error.hint) from error
