"""The Python API of the main job: pictures and masks or items in, verdicts out; nothing is written or printed."""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auscult.act.policy import Policy, load_policy
from auscult.act.sound_policy import SoundPolicy, decide_sound, load_sound_policy
from auscult.cases.ids import shown
from auscult.cases.problems import unique
from auscult.errors import InputError, UsageError
from auscult.jobs.judges import SOUND, load_sound_judge
from auscult.jobs.judges import load_judge as load_mask_judge
from auscult.jobs.judging import THUMBNAILS, VERDICTS, Auditor, make_auditor
from auscult.jobs.runner import CHUNK, Result, V, Workers, frame_groups
from auscult.jobs.sound_judging import (
    SOUNDS_TOGETHER,
    Output,
    SoundAuditor,
    SoundListener,
    over_blocks,
    seconds_of,
    sound_groups,
)
from auscult.judge import DEFAULT_JUDGE, DEFAULT_SOUND_JUDGE
from auscult.media.frames import encode_jpeg
from auscult.media.given import given_frame, given_frames, given_mask, given_masks, given_sound
from auscult.media.wav import Sound
from auscult.outcome import Failed, Undefined
from auscult.record.schema import error_from_json, is_sound, sound_verdict_from_json, verdict_from_json
from auscult.report.overlay import crop
from auscult.rng import generator
from auscult.score.stats.probabilities import SHIFT, adapted_by_prior, share_below
from auscult.types import (
    ACTIONS,
    DEFECTS,
    Case,
    Doubles,
    Frame,
    IdentityCheck,
    Item,
    MaskJudge,
    MaskRef,
    Prediction,
    Query,
    SoundItem,
    SoundJudge,
    SoundQuery,
    SoundVerdict,
    Span,
    Verdict,
)

if TYPE_CHECKING:
    import pandas as pd

_PICTURE_PX: Final = 320
_QUALITY: Final = 80
_LISTED: Final = "auscult.cases.listing.list_items(path).items gives those of a folder or file"


def audit_mask(
    frame: object,
    mask: object,
    *,
    text: str | None = None,
    others: object = (),
    threshold: float | None = None,
    judge: MaskJudge | str = DEFAULT_JUDGE,
    policy: Policy | str = "default",
    identity: IdentityCheck | str | None = None,
    sound: Sound | None = None,
    time_s: float | None = None,
) -> Verdict:
    """Judge one candidate mask without truth.

    Args:
        frame: uint8 RGB (H, W, 3), as an array or a tensor; a PIL image; or the path of a picture.
        mask: The candidate, (H, W) or with axes of length 1 beside: bool, 0 and 1, 0 and 255, or floating point; as an
            array, a tensor or a PIL image; or the path of a mask.
        text: The referring expression, if any.
        others: Masks of other objects of the frame, as ``audit_masks`` takes masks.
        threshold: Floating point is in a mask from here on; without it from .5 on, and then it must be in 0..1.
        judge: A judge or its name.
        policy: A policy, its name, or a policy file.
        identity: An identity check or its name; None for none.
        sound: The clip's sound, for a check that listens; ``auscult.media.sound.read_sound`` reads a file.
        time_s: The frame's time in the clip.

    Returns:
        The verdict, with the policy's action, and with a picture that a notebook shows.

    Raises:
        InputError: Frame or mask is of another type, shape or dtype; the error says which and what was expected.
        UsageError: Another argument is of another type; no such policy or judge.

    Example:
        >>> import numpy as np
        >>> frame = np.full((80, 120, 3), 60, np.uint8)
        >>> frame[20:60, 30:90] = 200
        >>> mask = np.zeros((80, 120), bool)
        >>> mask[20:60, 30:90] = True
        >>> verdict = audit_mask(frame, mask)
        >>> verdict.action in ("accept", "minor_revision", "major_revision", "reject")
        True
    """
    picture = given_frame(frame)
    size = picture.shape[0], picture.shape[1]
    candidate = given_mask(mask, size, threshold=threshold)
    case = _case(picture, text=text, sound=sound, time_s=time_s)
    case = replace(case, others=tuple(given_masks(others, size, threshold=threshold)))
    auditor = make_auditor(judge, _rules(policy), identity=identity)
    (verdict,) = _pictured(auditor, [(case, Prediction(candidate))])
    return verdict


def audit_masks(
    frame: object,
    masks: object,
    *,
    text: str | None = None,
    threshold: float | None = None,
    judge: MaskJudge | str = DEFAULT_JUDGE,
    policy: Policy | str = "default",
    identity: IdentityCheck | str | None = None,
    sound: Sound | None = None,
    time_s: float | None = None,
) -> list[Verdict]:
    """Judge the masks of one frame without truth; they are one another's other objects, as in a folder.

    Args:
        frame: As in ``audit_mask``.
        masks: (N, H, W) or (N, 1, H, W), as an array or a tensor; a list of masks; ``supervision.Detections`` with
            masks; or the path of a palette PNG. What one mask may be, ``audit_mask`` says.
        text: The referring expression, if all masks are candidates for one.
        threshold: As in ``audit_mask``, like all that follows.
        judge: A judge or its name.
        policy: A policy, its name, or a policy file.
        identity: An identity check or its name; None for none.
        sound: The clip's sound.
        time_s: The frame's time in the clip.

    Returns:
        A verdict for each mask, in order; their ids count from 0. Empty where there is no mask.

    Raises:
        InputError: As for ``audit_mask``; of masks the error says which one.
        UsageError: As for ``audit_mask``.
    """
    case = _case(given_frame(frame), text=text, sound=sound, time_s=time_s)
    auditor = make_auditor(judge, _rules(policy), identity=identity)
    return _pictured(auditor, _candidates(case, masks, threshold=threshold))


def judge_sound(
    mixture: object,
    separated: object,
    *,
    rate_hz: int,
    text: str | None = None,
    spans_s: Iterable[tuple[str, float, float]] | None = None,
    frames: object = None,
    judge: SoundJudge | str = DEFAULT_SOUND_JUDGE,
    policy: SoundPolicy | str = "default",
) -> SoundVerdict:
    """Judge a separated sound without the true stem.

    Args:
        mixture: What it was separated from: floating point (samples,) or (channels, samples), -1 to 1; an array or a
            tensor.
        separated: The output, likewise; up to 50 ms longer or shorter, and with as many channels, or one of both mono.
        rate_hz: Samples per second of both.
        text: What was wanted, in words: ``dog barking``.
        spans_s: Where it is heard, or is not: ``("+", 1.5, 2.0)``, ``("-", 0.0, 1.0)``, in seconds.
        frames: A picture of it, or frames, uint8 RGB (H, W, 3) or (T, H, W, 3); or the path of a picture.
        judge: A judge of separated sounds or its name.
        policy: A policy for sounds, its name, or a policy file.

    Returns:
        The verdict, with the policy's action: four scores 1..5, higher is better, each with its 90 % interval; None
        where it cannot be judged. Sounds of 90 s and more are judged in blocks.

    Raises:
        InputError: A sound, span or picture is of another type or shape, too short, not finite, or the sounds differ in
            length; the error says what was expected.
        UsageError: No such judge or policy.

    Source: SAM Audio Judge, Sec. III, for the scores; the judge and its measured card for how they are estimated.
    """
    whole, output = given_sound(mixture, rate_hz), given_sound(separated, rate_hz)
    if text is not None and not isinstance(text, str):
        raise InputError(f"text is of type {type(text).__name__}", expected="what was wanted as a str, or None")
    rules = _sound_rules(policy)
    try:
        spans = tuple(Span(sign, float(start), float(end)) for sign, start, end in spans_s or ())  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError("spans_s holds what is no span", expected="('+' or '-', start, end) in seconds") from error
    query = SoundQuery(text=text if text and text.strip() else None, spans=spans)
    pictures = None if frames is None else given_frames(frames)
    result = Output("sound", query, lambda: output, frames=pictures)
    listener = SoundListener(load_sound_judge(judge) if isinstance(judge, str) else judge)
    listener.judged(listener.pieces(whole, [result]))
    if result.error is not None:
        raise result.error
    verdict = replace(over_blocks(result.parts, seconds_of(whole)), id="sound", seconds=result.seconds)
    return decide_sound(verdict, rules)


def load_judge(name: str = DEFAULT_JUDGE, **how: Any) -> MaskJudge | SoundJudge:
    """Load a judge of masks, or one of separated sounds by its full name, ``sound.compact.v1``.

    ``how`` are the options of ``auscult.jobs.judges.load_judge``, which says what judges of masks there are.
    """
    return load_sound_judge(name) if name.startswith(f"{SOUND}.") else load_mask_judge(name, **how)


def _candidates(case: Case, masks: object, *, threshold: float | None) -> list[tuple[Case, Prediction]]:
    """The masks of a frame as they are judged, the others beside each; ids count from 0."""
    found = given_masks(masks, (case.frame.shape[0], case.frame.shape[1]), threshold=threshold)
    return [
        (replace(case, id=str(number), others=(*found[:number], *found[number + 1 :])), Prediction(mask))
        for number, mask in enumerate(found)
    ]


def _decided(auditor: Auditor, shown: Sequence[tuple[Case, Prediction]]) -> Iterator[Verdict]:
    """The decided verdict of each mask; a judge with ``batch`` gets up to ``CHUNK`` at once."""
    for start in range(0, len(shown), CHUNK):
        some = shown[start : start + CHUNK]
        for (case, prediction), judged in zip(some, auditor.together(some), strict=True):
            yield auditor.decided(case, prediction, judged=judged)


def _pictured(auditor: Auditor, shown: Sequence[tuple[Case, Prediction]]) -> list[Verdict]:
    """The decided verdicts with what a notebook shows of them."""
    verdicts = []
    for (case, prediction), verdict in zip(shown, _decided(auditor, shown), strict=True):
        errors = verdict.error_map
        picture = crop(case.frame, prediction.mask, verdict.region, size_px=_PICTURE_PX, whole=True, errors=errors)
        verdicts.append(replace(verdict, picture=encode_jpeg(picture, quality=_QUALITY)))
    return verdicts


def _case(frame: Frame, *, text: str | None, sound: Sound | None, time_s: float | None) -> Case:
    if text is not None and not isinstance(text, str):
        raise UsageError(
            f"text is of type {type(text).__name__}",
            expected="the referring expression as a str, or None",
            hint="leave it out if there is none",
        )
    case = Case(id="mask", frame=frame, query=Query(text), time_s=time_s)
    return case if sound is None else replace(case, sound=sound.samples, rate_hz=sound.rate_hz)


def audit(
    items: Iterable[Item | SoundItem],
    *,
    judge: str = DEFAULT_JUDGE,
    policy: Policy | str = "default",
    sound_judge: str = DEFAULT_SOUND_JUDGE,
    sound_policy: SoundPolicy | str = "default",
    identity: str | None = None,
    workers: int = 0,
) -> Iterator[Verdict | SoundVerdict | Failed]:
    """Judge many items: masks frame by frame, then separated sounds mixture by mixture.

    Args:
        items: What to judge, for example ``auscult.cases.listing.list_items(path).items``, or ``.sounds`` of
            ``list_items(path, sounds=True)``.
        judge: Name of a registered judge.
        policy: A policy, its name, or a policy file.
        sound_judge: Name of a registered judge of separated sounds.
        sound_policy: A policy for sounds, its name, or a policy file.
        identity: Name of a registered identity check; None for none.
        workers: Worker processes; 0 judges in this process.

    Raises:
        UsageError: What is given are no items or no policy; no such judge or identity check.

    Yields:
        A ``Verdict`` or ``SoundVerdict`` for each item that could be judged and a ``Failed`` for each that could not,
        in the order in which they are done; a ``Failed`` names its item in ``error.id``. Of items with one id the first
        is judged.
    """
    if not isinstance(judge, str):  # it is loaded where it judges, in each worker
        raise UsageError(
            f"judge is of type {type(judge).__name__}",
            expected="the name of a registered judge",
            hint="auscult.audit_masks(frame, masks, judge=...) takes a judge itself",
        )
    rules, heard_rules = _rules(policy), _sound_rules(sound_policy)
    once, twice = unique(_items(items))
    masks = [item for item in once if isinstance(item, Item)]
    sounds = [item for item in once if isinstance(item, SoundItem)]
    yield from (Failed(replace(error, id=name)) for name, error in twice)
    if masks:
        make = partial(make_auditor, judge, rules, identity=identity)
        yield from _verdicts(Workers(make=make, count=workers, stage="judge"), frame_groups(masks))
    if sounds:
        hears = partial(SoundAuditor, sound_judge, heard_rules)
        groups = sound_groups(sounds, joined=SOUNDS_TOGETHER)
        yield from _verdicts(Workers(make=hears, count=workers, stage="judge"), groups)


def _verdicts(workers: Workers[V, Sequence[Result]], groups: Iterable[V]) -> Iterator[Verdict | SoundVerdict | Failed]:
    for group, outcome in workers.results(groups):
        if isinstance(outcome, Failed):
            rows = group.failed(outcome.error)
            yield from (Failed(replace(outcome.error, id=name)) for name in sorted(str(row["id"]) for row in rows))
            continue
        for result in outcome:
            if result.errors:
                yield Failed(replace(error_from_json(result.errors[0]), id=result.id))
            elif is_sound(row := result.rows[VERDICTS][0]):
                yield sound_verdict_from_json(row)
            else:
                thumbnail = b64decode(result.rows[THUMBNAILS][0]["jpeg"])
                yield replace(verdict_from_json(row), picture=thumbnail)


def _sound_rules(policy: SoundPolicy | str) -> SoundPolicy:
    return policy if isinstance(policy, SoundPolicy) else load_sound_policy(policy)


def _rules(policy: Policy | str) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return load_policy(policy)
    raise UsageError(
        f"policy is of type {type(policy).__name__}",
        expected="a policy's name, a policy file, or what auscult.act.policy.load_policy gives",
        hint="leave it out for the default",
    )


def _items(items: Iterable[Item | SoundItem]) -> tuple[Item | SoundItem, ...]:
    expected = "auscult.Item objects in a list or another iterable"
    if isinstance(items, Item | SoundItem | str | Path) or not isinstance(items, Iterable):
        raise UsageError(
            f"the items are of type {type(items).__name__}",
            expected=expected,
            hint="put it into a list: [item]" if isinstance(items, Item | SoundItem) else _LISTED,
        )
    listed = tuple(items)
    for item in listed:
        if not isinstance(item, Item | SoundItem):
            raise InputError(f"an item is of type {type(item).__name__}", expected=expected, hint=_LISTED)
    return tuple(_checked(item) if isinstance(item, Item) else item for item in listed)


_FIELDS: Final[Mapping[str, tuple[type, str]]] = {
    "frame": (Path, "the path of a picture; auscult.audit_masks(frame, masks) takes arrays"),
    "mask": (MaskRef, "an auscult.MaskRef, or the path of a mask; auscult.audit_masks(frame, masks) takes arrays"),
    "query": (Query, "an auscult.Query, or the referring expression as a str"),
}


def _checked(item: Item) -> Item:
    """The item, paths and sentences written as str made what they mean; arrays are refused by name."""
    converted: dict[str, Any] = {}
    for name, (kind, expected) in _FIELDS.items():
        value = getattr(item, name)
        if isinstance(value, MaskRef):
            converted[name] = _checked_ref(value, item.id)
        if isinstance(value, kind):
            continue
        if name == "mask" and isinstance(value, str | Path):
            converted[name] = MaskRef(path=Path(value))
        elif isinstance(value, str):
            converted[name] = kind(value)
        else:
            raise InputError(
                f"the {name} of the item {shown(str(item.id))} is of type {type(value).__name__}", expected=expected
            )
    return replace(item, **converted) if converted else item


def _checked_ref(ref: MaskRef, item: str) -> MaskRef:
    path: Any = ref.path
    if isinstance(path, str):
        ref = replace(ref, path=Path(path))
    ref = replace(ref, index=_plain(ref.index))
    if isinstance(ref.segmentation, Mapping | list | tuple):  # an array would be a mask, not polygons
        ref = replace(ref, segmentation=_plain(ref.segmentation))
    for name, kinds, expected in (
        ("path", Path, "the path of a mask"),
        ("index", int, "an int"),
        ("segmentation", (Mapping, list, tuple), "a COCO RLE, or a list of polygons"),
        ("size", (tuple, list), "(height, width)"),
    ):
        value = getattr(ref, name)
        if value is not None and not isinstance(value, kinds):
            raise InputError(
                f"the {name} of the mask of the item {shown(str(item))} is of type {type(value).__name__}",
                expected=expected,
                hint="auscult.audit_masks(frame, masks) takes arrays",
            )
    return ref


def _plain(value: Any) -> Any:
    """A value of pycocotools or NumPy (bytes of an RLE, arrays, scalars) as the JSON value it stands for."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def to_frame(verdicts: Iterable[Verdict | SoundVerdict | Failed]) -> pd.DataFrame:
    """What ``audit`` and ``audit_masks`` gave as a table, a row each, in order; needs pandas.

    Returns:
        A DataFrame with the columns of ``Verdict.to_dict``; the six defects' probabilities are columns ``prob_perfect``
        and so on, the evidence columns ``checked_shape`` and so on; ``error`` says why a mask could not be judged. Of
        separated sounds those of ``SoundVerdict.to_dict`` without curves, ``difficulty_counting`` and so on.

    Raises:
        UsageError: pandas is not installed, or these are no verdicts.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError("a table needs the package pandas", hint="pip install pandas") from error
    if isinstance(verdicts, Verdict | SoundVerdict | Failed) or not isinstance(verdicts, Iterable):
        raise UsageError(
            f"the verdicts are of type {type(verdicts).__name__}",
            expected="what auscult.audit or auscult.audit_masks gave",
            hint="put one into a list: [verdict]",
        )
    return pd.DataFrame([_table_row(entry) for entry in verdicts])


def _table_row(entry: Verdict | SoundVerdict | Failed) -> dict[str, Any]:
    if isinstance(entry, Failed):
        return {"id": entry.error.id, "error": entry.error.error}
    if isinstance(entry, SoundVerdict):
        row = entry.to_dict()
        parts = {f"difficulty_{axis}": value for axis, value in row.pop("difficulty").items()}
        parts |= {f"checked_{name}": value for name, value in row.pop("evidence").items()}
        del row["curves"]
        return {**row, **parts, "error": None}
    if not isinstance(entry, Verdict):
        raise UsageError(f"an entry is of type {type(entry).__name__}", expected="verdicts of auscult.audit_masks")
    row = entry.to_dict()
    probs, checked = row.pop("defect_probs"), row.pop("evidence")
    return {
        **row,
        **{f"prob_{defect}": probs.get(defect) for defect in DEFECTS},
        **{f"checked_{name}": value for name, value in checked.items()},
        "error": None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _FrameNumbers:
    """What is kept of one frame: numbers, no pixels."""

    clip: str | None
    actions: tuple[str | None, ...]
    ious: tuple[float, ...]  # of the masks that have an estimate
    # their probabilities of an IoU of .8 and of .5 or more, where there are; and the prior that these are adapted by
    chances: tuple[tuple[float, float, tuple[float, float] | None], ...]
    shift: float  # what these probabilities may be off by together, in logits


@dataclass(kw_only=True, eq=False)
class MaskQuality:
    """Estimated quality of the masks that a model draws, with the habits of a torchmetrics metric and without torch.

    It holds a few numbers a mask, no picture. It can be pickled at any time, and what several processes saw is merged
    by ``merge_state``, in any order.

    Args:
        judge: A judge or its name; it is loaded at the first mask, in each process.
        policy: A policy, its name, or a policy file.
        threshold: Where floating point masks are cut; see ``auscult.audit_mask``.

    Example:
        >>> import numpy as np
        >>> frame = np.full((80, 120, 3), 60, np.uint8)
        >>> frame[20:60, 30:90] = 200
        >>> metric = MaskQuality()
        >>> metric.update(frame, frame[None, ..., 0] > 100)
        >>> found = metric.compute()
        >>> found["n"], found["frames"], 0 <= found["iou"] <= 1
        (1, 1, True)
    """

    judge: MaskJudge | str = DEFAULT_JUDGE
    policy: Policy | str = "default"
    threshold: float | None = None
    _seen: list[_FrameNumbers] = field(default_factory=list, init=False, repr=False)
    _auditor: Auditor | None = field(default=None, init=False, repr=False)

    def update(self, frame: object, masks: object, *, clip: str | None = None) -> None:
        """Judge the masks of one frame, both as ``auscult.audit_masks`` takes them, and keep what is said.

        ``clip`` names the video of the frame, whose frames are no independent evidence; without it each frame is.
        """
        self._seen.append(self._judged(frame, masks, clip=clip))

    def __call__(self, frame: object, masks: object, *, clip: str | None = None) -> dict[str, float | None]:
        """Update, and give the values of this frame alone."""
        numbers = self._judged(frame, masks, clip=clip)
        self._seen.append(numbers)
        return _values([numbers])

    def compute(self) -> dict[str, float | None]:
        """The values of all that was seen since the last ``reset``.

        Returns:
            ``n`` masks on so many ``frames``, ``unjudged`` of which had no basis for a verdict and are in nothing
            else; ``iou``, the mean estimated IoU; ``good``, the share of masks of IoU .8 or more, adapted to the set,
            with the 90 % interval ``good_low`` to ``good_high``, which draws whole clips or frames; and the share of
            masks of each action. These are 0..1; of ``iou`` and ``good`` higher is better. None stands where there is
            no number: without a mask, and for ``good`` where the judge gives no probability. Empty masks have an action
            only.
        """
        return _values(self._seen)

    def reset(self) -> None:
        """Forget what was seen."""
        self._seen = []

    def merge_state(self, other: MaskQuality) -> None:
        """Take over what another metric of the same settings has seen, as of another process."""
        if not isinstance(other, MaskQuality):
            raise UsageError(
                f"what is to be merged is of type {type(other).__name__}", expected="an auscult.MaskQuality"
            )
        if self._settings() != other._settings():
            raise UsageError(
                f"two metrics of different settings: {self._settings()} and {other._settings()}",
                expected="the same judge, policy and threshold",
            )
        self._seen = [*self._seen, *other._seen]

    def __getstate__(self) -> dict[str, Any]:
        """What pickle keeps: the settings and what was seen, but no judge that was loaded by its name."""
        return {**self.__dict__, "_auditor": None}

    def _settings(self) -> tuple[object, object, float | None]:
        return getattr(self.judge, "name", self.judge), getattr(self.policy, "name", self.policy), self.threshold

    def _judged(self, frame: object, masks: object, *, clip: str | None) -> _FrameNumbers:
        if self._auditor is None:
            self._auditor = make_auditor(self.judge, _rules(self.policy))
        auditor = self._auditor
        case = Case(id="mask", frame=given_frame(frame))
        verdicts = [*_decided(auditor, _candidates(case, masks, threshold=self.threshold))]
        measured = [verdict for verdict in verdicts if verdict.iou is not None and verdict.defect != "empty"]
        return _FrameNumbers(
            clip=clip,
            actions=tuple(verdict.action for verdict in verdicts),
            ious=tuple(float(verdict.iou) for verdict in measured if verdict.iou is not None),
            chances=tuple(
                (verdict.prob_iou_80, verdict.prob_iou_50 or 0.0, _prior(verdict, auditor))
                for verdict in measured
                if verdict.prob_iou_80 is not None
            ),
            shift=_shift(auditor.judge),
        )


def _values(frames: Sequence[_FrameNumbers]) -> dict[str, float | None]:
    # the draws of the interval go by order, and merged in any order the values are the same
    frames = sorted(frames, key=lambda one: (one.clip or "", [chance[:2] for chance in one.chances], one.ious))
    decided = [action for frame in frames for action in frame.actions]
    actions = [action for action in decided if action != "unjudged"]
    ious = [iou for frame in frames for iou in frame.ious]
    bad = share_below(
        _good(frames),
        clusters=[frame.clip or number for number, frame in enumerate(frames) for _ in frame.chances],
        rng=generator(0, "mask quality"),
        shift=max((frame.shift for frame in frames), default=SHIFT),
    )
    interval = None if isinstance(bad, Undefined) else (1 - bad.value, 1 - bad.high, 1 - bad.low)
    return {
        "n": len(decided),
        "unjudged": len(decided) - len(actions),
        "frames": len(frames),
        "iou": math.fsum(ious) / len(ious) if ious else None,
        **dict(zip(("good", "good_low", "good_high"), interval or (None, None, None), strict=True)),
        **{action: actions.count(action) / len(actions) if actions else None for action in ACTIONS},
    }


def _prior(verdict: Verdict, auditor: Auditor) -> tuple[float, float] | None:
    return None if verdict.prob_iou_50 is None else auditor.prior(verdict)


def _good(frames: Sequence[_FrameNumbers]) -> Doubles:
    """Each mask's probability of an IoU of .8 or more, adapted to all of them where the judge says its prior."""
    chances = [chance for frame in frames for chance in frame.chances]
    good, fair = (np.array([chance[column] for chance in chances], dtype=np.float64) for column in (0, 1))
    return adapted_by_prior(good, fair, [prior for _, _, prior in chances])[0]


def _shift(judge: MaskJudge) -> float:
    """The common error that a judge's probabilities may have, in logits."""
    shift = getattr(judge, "prob_shift", None)
    return float(shift) if isinstance(shift, int | float) else SHIFT
