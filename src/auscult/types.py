"""The nouns every room shares. All are frozen; arrays inside them are never written to.

Conventions: a frame is uint8 RGB (H, W, 3), a mask bool (H, W), a box (x0, y0, x1, y1) in absolute pixels, half-open.
Samples of sound are float32 in [-1, 1], (samples,) or (channels, samples). Times are seconds. Scores are 0..1, higher
is better.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from auscult.notebook import as_html, estimated, plain, short

Frame: TypeAlias = NDArray[np.uint8]
Frames: TypeAlias = NDArray[np.uint8]
Mask: TypeAlias = NDArray[np.bool_]
Samples: TypeAlias = NDArray[np.float32]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Box: TypeAlias = tuple[int, int, int, int]

Defect: TypeAlias = Literal["perfect", "cutout", "dilate", "erode", "merge", "full_neg", "empty"]
Action: TypeAlias = Literal["accept", "minor_revision", "major_revision", "reject"]
Decision: TypeAlias = Literal["accept", "minor_revision", "major_revision", "reject", "unjudged"]
Difficulty: TypeAlias = Literal["hard", "medium", "easy"]
Existence: TypeAlias = Literal["yes", "no", "unchecked"]
JointFault: TypeAlias = Literal["none", "mask", "stem", "both"]
SoundDomain: TypeAlias = Literal["speech", "music", "sound"]
PromptSetting: TypeAlias = Literal["speech", "speaker", "music", "instrument", "general_sound"]

OutputT = TypeVar("OutputT")
TruthT = TypeVar("TruthT")

DEFECTS: tuple[Defect, ...] = ("perfect", "cutout", "dilate", "erode", "merge", "full_neg")
ACTIONS: tuple[Action, ...] = ("accept", "minor_revision", "major_revision", "reject")
DECISIONS: tuple[Decision, ...] = (*ACTIONS, "unjudged")
"""What is done about a verdict: the actions, and none where there was no basis to judge."""
JOINT_FAULTS: tuple[JointFault, ...] = ("none", "mask", "stem", "both")
"""Which of a mask and a separated sound is not the object's that was asked for."""
PERFORMANCE: tuple[str, ...] = ("recall", "precision", "faithfulness", "overall")
"""What a separated sound is scored for, 1..5, higher is better (SAM Audio Judge, Table I)."""
DIFFICULTY_AXES: tuple[str, ...] = ("counting", "overlapping", "loudness", "confusion", "overall")
"""What makes a separation hard, 1..5, higher is harder."""
DOMAINS: tuple[SoundDomain, ...] = ("speech", "music", "sound")
PROMPT_SETTINGS: tuple[PromptSetting, ...] = ("speech", "speaker", "music", "instrument", "general_sound")
JOINT_ANSWERS: tuple[JointFault | Literal["unchecked"], ...] = (*JOINT_FAULTS, "unchecked")


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked for: the referring expression, if any; as text it is the expression, or empty."""

    text: str | None = None

    def __str__(self) -> str:
        return self.text or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskRef:
    """Where a mask is: a file, one index of a file, or a COCO ``segmentation`` written inline.

    Attributes:
        path: The file (PNG, TIFF, WebP, NPY), or None for an inline segmentation.
        index: The object index in a file of several objects; None for a file of one mask.
        segmentation: COCO RLE (compressed or not), a list of polygons, or a crop: ``box`` (left, top, width, height)
            with ``png`` (base64) or ``runs``, alternating from 0, row by row; None for a file.
        size: (height, width) of the frame that inline polygons and crops are drawn on.
        labels: Read a non-palette file's values as object indices, not as a soft mask.
        absent_ok: An index that does not occur in its file is an empty mask, not an error: in a truth, an object that
            is out of the picture.
        positive: Every value above 0, in any colour channel, is the mask, as Ref-AVSBench draws it.
        rgb: The index is a colour, red + 256 green + 65536 blue, as COCO panoptic draws it.
        classes: How many classes the file tells apart, background 0 among them, as `media.masks.read_class_map` reads
            it; the mask is the class ``index``, or all that is not background. 0 for a file without classes.
        proposals: The indices of a file of which a judge is to choose the best; empty where there is nothing to choose.
    """

    path: Path | None = None
    index: int | None = None
    segmentation: Mapping[str, Any] | Sequence[Any] | None = None
    size: tuple[int, int] | None = None
    labels: bool = False
    absent_ok: bool = False
    positive: bool = False
    rgb: bool = False
    classes: int = 0
    proposals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is known to be right about an item. No judge ever reads it.

    Attributes:
        mask: The true mask of the target.
        iou: IoU of the candidate with it, 0..1.
        defect: What was done to the candidate.
        difficulty: How visible that is.
        action: What should be done about it.
        joint: Of an item with a separated sound too, which of the two is wrong.
    """

    mask: MaskRef | None = None
    iou: float | None = None
    defect: Defect | None = None
    difficulty: Difficulty | None = None
    action: Action | None = None
    joint: JointFault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of an INPUT: a candidate mask on a frame, as references that nobody has opened yet.

    Attributes:
        id: Unique within the INPUT.
        frame: The picture file.
        mask: The candidate.
        query: What was asked for.
        clip: The clip the frame belongs to, or None.
        time_s: The frame's time in that clip.
        audio: The clip's sound file, or None.
        mixture: The sound file that ``separated`` was separated from, or None.
        separated: A sound separated from it, for the same expression as the mask, or None.
        truth: What is known to be right, or None.
        others: Masks of other objects that the data set itself draws on this frame.
        model_score: The score that the model gave its own mask, on any scale, higher is better; None where it is not
            known. No judge ever reads it.
        extra: Keys of the input line that auscult does not know; written back as they are.
        source: The file that named this item, for error messages.
        line: The line of that file, from 1.
        in_video: Whether that line names the item's clip, video or time.
    """

    id: str
    frame: Path
    mask: MaskRef
    query: Query = Query()
    clip: str | None = None
    time_s: float | None = None
    audio: Path | None = None
    mixture: Path | None = None
    separated: Path | None = None
    truth: Truth | None = None
    others: tuple[MaskRef, ...] = ()
    model_score: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None
    line: int | None = None
    in_video: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a sound in which the target is heard (``+``) or is not (``-``)."""

    sign: Literal["+", "-"]
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundQuery:
    """Which source of a mixture is wanted: in words, by spans of time, by a picture, or by several of them.

    Attributes:
        text: A noun or verb phrase, such as ``dog barking``.
        spans: Where the target is heard, or is not.
        picture: A picture of the target, a video, or a folder of frames.
    """

    text: str | None = None
    spans: tuple[Span, ...] = ()
    picture: Path | None = None

    def __str__(self) -> str:
        return self.text or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundTruth:
    """What is known to be right about a separated sound. No judge ever reads it.

    Attributes:
        stem: The target as it is in the mixture.
        others: The other sources by name; with the stem they sum to the mixture. Where there is none, what is not the
            stem is the mixture minus the stem.
        scores: What the separated sound deserves, by ``PERFORMANCE``, 1..5.
        difficulty: How hard the separation is, by ``DIFFICULTY_AXES``, 1..5.
    """

    stem: Path | None = None
    others: Mapping[str, Path] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    difficulty: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundItem:
    """One line of an INPUT of sounds: a mixture, what is wanted of it, and perhaps what was separated.

    Attributes:
        id: Unique within the INPUT.
        mixture: The sound file to separate.
        query: Which source is wanted.
        separated: A separated sound, or None where there is none yet.
        truth: What is known to be right, or None.
        domain: One of ``DOMAINS``; empty where it is not known.
        setting: One of ``PROMPT_SETTINGS``; empty where it is not known.
        split: The source's own split; empty where it has none.
        seen: Whether training of shipped judges may have met the target's class; None where it is not known.
        cluster: The same for items whose mixtures share a recording; by default the mixture's name.
        family: The kind of system that made ``separated``; empty where it is not known.
        system: That system.
        extra: Keys of the input line that auscult does not know; written back as they are.
        source: The file that named this item, for error messages.
        line: The line of that file, from 1.
    """

    id: str
    mixture: Path
    query: SoundQuery = SoundQuery()
    separated: Path | None = None
    truth: SoundTruth | None = None
    domain: str = ""
    setting: str = ""
    split: str = ""
    seen: bool | None = None
    cluster: str = ""
    family: str = ""
    system: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One annotated frame of an instance.

    Attributes:
        frame: The picture file.
        target: The true mask of the referred object, or None where the data set has none for this frame. An empty mask
            says that the object is not in the picture.
        others: Masks of the other objects, in an order that is the same at every moment of the instance; None where
            the data set has none of that object here.
        time_s: The frame's time in its clip.
    """

    frame: Path
    target: MaskRef | None
    others: tuple[MaskRef | None, ...] = ()
    time_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A referring expression and what it refers to in one clip or photograph, with truth: what benchmarks are made of.

    Attributes:
        id: Unique within its source (``uid`` of Ref-AVSBench).
        clip: The video or photograph (``vid``); instances of one clip are one cluster.
        query: The referring expression.
        moments: The annotated frames, in order of time; one for a photograph. Never empty.
        split: The source's own split (``train``, ``val``, ``test_s``, ``test_u``, ``test_n``); empty where it has none.
        category: The target's category; empty where it is not known.
        template: The family or template of the expression; empty where it is not known.
        others: Names of the other objects, in the order of ``Moment.others``; empty text where not known.
        sound: The clip's sound file.
        absent: The expression refers to nothing in this clip (a null expression); targets are then None or empty.
        reference: The object that it is one of several sentences of, negative ones too; empty where not known.
        negative: Of a sentence that was made to name nothing, its ``kind``, such as ``target``, and what was changed;
            None where not known.
        source: The file that named this instance, for error messages.
        line: The line of that file, from 1.
    """

    id: str
    clip: str
    query: Query
    moments: tuple[Moment, ...]
    split: str = ""
    category: str = ""
    template: str = ""
    others: tuple[str, ...] = ()
    sound: Path | None = None
    absent: bool = False
    reference: str = ""
    negative: Mapping[str, Any] | None = None
    source: Path | None = None
    line: int | None = None

    @property
    def negation(self) -> str:
        """The kind of a sentence that was made to name nothing; empty where it is not known."""
        kind = (self.negative or {}).get("kind")
        return kind if isinstance(kind, str) else ""


@runtime_checkable
class ClipContext(Protocol):
    """The clip around a case's frame; its frames and its sound are read when they are asked for."""

    @property
    def key(self) -> str:
        """The same for all masks of one clip."""
        ...

    @property
    def at(self) -> int:
        """The position of the case's frame."""
        ...

    def __len__(self) -> int:
        """How many frames there are, 1 or more."""
        ...

    def frame(self, index: int) -> Frame:
        """A frame, uint8 RGB (H, W, 3), in order of time; ``InputError`` where it cannot be read."""
        ...

    def sound(self) -> tuple[Samples, int] | None:
        """Samples, float32 (samples,) or (channels, samples), and their rate in Hz; None without sound."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """What a judge may look at: a frame, what was asked for, and the other objects of the frame.

    Attributes:
        id: Tells cases apart and nothing else: an item's own id may say what was done to its mask.
        frame: uint8 RGB (H, W, 3).
        query: What was asked for.
        others: Other objects' masks on the same frame, each bool (H, W); may be empty. A tuple, or a sequence that
            draws a mask when it is asked for, since a frame may have hundreds.
        sound: The clip's sound, float32 (samples,) or (channels, samples), or None.
        rate_hz: Its sample rate; None without sound.
        time_s: The frame's time in the clip, or None.
        clip: The clip around the frame, for judges with ``needs_clip``; None for others.
    """

    id: str
    frame: Frame
    query: Query = Query()
    others: Sequence[Mask] = ()
    sound: Samples | None = None
    rate_hz: int | None = None
    time_s: float | None = None
    clip: ClipContext | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """The candidate that is judged: a mask, bool (H, W)."""

    mask: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a judge looked at. What is False was not checked, never assumed good."""

    shape: bool = False
    boundary: bool = False
    identity: bool = False
    sound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMap:
    """Where a mask is likely wrong, on a square grid over part of its frame; `arrays.error_map` reads and makes it.

    Attributes:
        box: What the grid covers, in pixels of the frame; square, and it may reach beyond the frame.
        side: Cells along each side of the grid.
        levels: One signed byte a cell, row by row: 7 is surely missing from the mask, -7 surely too much, 0 right.
    """

    box: Box
    side: int
    levels: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """What is said of a mask and a separated sound together: is the object asked for seen in one, heard in the other?

    Attributes:
        wrong: Which of the two is not that object's; ``unchecked`` where there is no basis to tell.
        probs: The four faults' probabilities, summing to 1; empty where unchecked.
        same: Probability that mask and sound are of one object, asked for or not; None where it cannot be told.
        words_seen: Whether words were compared with what is seen.
        words_heard: Whether words were compared with what is heard.
        place: Whether the side that the sound comes from was compared with the mask's place.
        note: One plain sentence.
    """

    wrong: JointFault | Literal["unchecked"]
    probs: Mapping[JointFault, float] = field(default_factory=dict)
    same: float | None = None
    words_seen: bool = False
    words_heard: bool = False
    place: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a judge says of a candidate mask without seeing the truth.

    Attributes:
        id: The item's id.
        iou: Estimated IoU with the unseen truth, 0..1, higher is better; None where it cannot be judged.
        iou_low: Lower end of its 90 % interval.
        iou_high: Upper end.
        defect: The most probable defect; ``empty`` by rule when nothing is segmented; None where it cannot be judged.
        defect_probs: The six defects' probabilities, summing to 1; empty where there is none to name.
        action: What to do, ``unjudged`` without an IoU and a defect; None until a policy has decided.
        own_action: What the judge itself would do, where it says so; kept beside the policy's.
        evidence: What was looked at.
        novelty: How unlike the judge's calibration data the item is, 0 (alike) to 1.
        target_exists: Whether the target is in the frame at all.
        target: A short phrase for what was meant, where the judge knows it.
        distractor: A short phrase for what was segmented instead, where the judge knows it.
        rationale: One plain sentence, with place and amount.
        region: Box of the worst place, for a picture; None when there is none.
        error_map: Where it is likely wrong, from judges that look for it; None from others.
        judge: The judge's full name.
        judged_by: Of a cascade the judge whose verdict it is; None of others.
        seconds: Wall time the judge took.
        prob_iou_80: Probability that the IoU with the unseen truth is .8 or more, 0..1; None where a judge gives none.
        prob_iou_50: The same for .5.
        joint: What is said of the mask together with a separated sound; None for an item without one.
        usage: What the requests behind it took, such as ``requests``, ``tokens_in``, ``cost`` (USD) and ``unparsed``
            replies; None of a judge that asks nobody.
        picture: The mask drawn on its frame, a small JPEG, for a notebook; None from judges and in records.
    """

    id: str
    iou: float | None
    iou_low: float | None
    iou_high: float | None
    defect: Defect | None
    defect_probs: Mapping[str, float]
    evidence: Evidence
    rationale: str
    judge: str
    action: Decision | None = None
    own_action: Action | None = None
    novelty: float = 0.0
    target_exists: Existence = "unchecked"
    target: str | None = None
    distractor: str | None = None
    region: Box | None = None
    error_map: ErrorMap | None = None
    seconds: float = 0.0
    prob_iou_80: float | None = None
    prob_iou_50: float | None = None
    judged_by: str | None = None
    joint: Joint | None = None
    usage: Mapping[str, float] | None = None
    picture: bytes | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """What it comes to, in one short line; ``to_dict`` has all of it."""
        parts = f"action={self.action!r}, defect={self.defect!r}, iou={self._iou()}"
        return f"Verdict({short(self.id)}, {parts}, {short(self.rationale)})"

    def _repr_html_(self) -> str:
        """The mask on its frame, with the verdict beside it, as Jupyter shows it."""
        estimate = [self.defect or "", "" if self.iou is None else f"estimated IoU {self._iou()}"]
        lines = [", ".join(filter(None, estimate)), self.rationale]
        return as_html(self, lines, jpeg=self.picture, shows="the mask on its frame")

    def _iou(self) -> str:
        return estimated(self.iou, self.iou_low, self.iou_high, whole="0.00, 1.00")

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, with the keys of ``verdicts.jsonl``; without the error map and the picture.

        Example:
            >>> import json
            >>> seen = Evidence(shape=True)
            >>> verdict = Verdict(
            ...     id="a", iou=0.5, iou_low=0.25, iou_high=0.75, defect="erode", defect_probs={"erode": 1.0},
            ...     evidence=seen, rationale="Too small.", judge="masks.mine.v1",
            ... )
            >>> json.loads(json.dumps(verdict.to_dict()))["iou_high"]
            0.75
        """
        found: dict[str, Any] = plain(self, without=frozenset({"error_map", "picture"}))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What an identity check says: is this mask on the object that was asked for?

    Attributes:
        match: Probability that it is, 0..1.
        exists: Whether the object asked for is in the frame at all.
        target: A short phrase for what was meant, or None.
        distractor: A short phrase for what was segmented instead, or None.
        kept: Share of the mask that lies on the object asked for, 0..1, where the check can tell; None otherwise. A
            merge has a share between: part of it is the object.
        sound: Whether sound was listened to.
        note: One plain sentence on what was found.
    """

    match: float
    exists: Existence = "unchecked"
    target: str | None = None
    distractor: str | None = None
    kept: float | None = None
    sound: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What every registered thing says about itself; `auscult list` prints it.

    Attributes:
        summary: One line: what it is.
        goal: Which failure it provokes, measures or detects.
        modality: What it works on: ``mask``, ``image``, ``video``, ``sound``, ``text``.
        source: The paper and equation, or the release, it follows.
        truth: What it does to the truth, or what truth it needs; empty when neither.
        higher_is_better: Direction of a score; None for what is not a score.
        origin: Where on its way to a model a perturbation arises: ``source``, ``environment``, ``sensor`` or
            ``transmission`` (R2-Bench, Sec. 3.1); empty for what is no perturbation.
        occurs: Places it occurs in, such as ``outdoors``; empty for everywhere.
    """

    summary: str
    goal: str
    modality: str
    source: str
    truth: str = ""
    higher_is_better: bool | None = None
    origin: str = ""
    occurs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaskTarget:
    """What a mask stressor works on.

    Attributes:
        mask: The true mask of the target, bool (H, W), not empty.
        others: Masks of other objects of the same frame, each bool (H, W).
    """

    mask: Mask
    others: Sequence[Mask] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stressed(Generic[OutputT, TruthT]):
    """What a stressor made, how to make it again, and what it did to the truth.

    Attributes:
        output: What was given, stressed: a new array of the same shape and type, or a sentence.
        params: Everything that was chosen, as JSON values; the same params render the same output.
        truth: Of a mask its exact IoU, defect, difficulty and action; else what became of masks, spans and words.
    """

    output: OutputT
    params: Mapping[str, Any]
    truth: TruthT


StressedMask: TypeAlias = Stressed[Mask, Truth]


@runtime_checkable
class MaskJudge(Protocol):
    """Judges candidate masks without truth.

    One that gives probabilities may say in an attribute ``prob_shift`` how far off they are together on material of
    another kind: a standard deviation in logits, 0 or more. Intervals of shares are made with it. ``prob_prior`` is the
    shares of the masks it was calibrated on that have an IoU of .8, and of .5, or more: shares are then adapted to sets
    that are better or worse. One that looks at more than the frame says ``needs_clip = True``; see ``Case.clip``.
    """

    name: str
    meta: Metadata

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Judge one candidate; ``action`` is left to the policy."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundCase:
    """What a judge of separated sound may listen to and look at: the mixture, and what was wanted of it.

    Attributes:
        id: Tells cases apart and nothing else.
        mixture: float32 (channels, samples), finite, at least .05 s long.
        rate_hz: Of mixture and separated sound.
        text: What was wanted, in words; None without a text prompt.
        spans: Where it is heard, or is not; empty without a prompt of spans.
        frames: A picture or frames of it, uint8 RGB (T, H, W, 3); None without a picture prompt.
    """

    id: str
    mixture: Samples
    rate_hz: int
    text: str | None = None
    spans: tuple[Span, ...] = ()
    frames: Frames | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundEvidence:
    """Which prompts were there and understood. What is False was not used, never assumed good.

    Attributes:
        text: Words of the prompt are in the judge's vocabulary.
        spans: Spans were given.
        picture: What the picture shows is of a class that the judge knows.
        unknown: Words of the prompt that it does not know.
    """

    text: bool = False
    spans: bool = False
    picture: bool = False
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundCurves:
    """Where in time something of the target is likely missing, and something else left over.

    Attributes:
        hop_s: Seconds from one value to the next; the first is of the first hop.
        missing: Share of the target's loudness that is likely lost, 0..1.
        left_over: Share of what is heard in the output that is likely something else, 0..1.
    """

    hop_s: float
    missing: tuple[float, ...]
    left_over: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundVerdict:
    """What a judge says of a separated sound without hearing the true stem.

    Scores are 1..5, higher is better, each with its 90 % interval; all None where it cannot be judged.

    Attributes:
        id: The item's id.
        recall: How much of the target is there; with ``recall_low`` and ``recall_high``, as the other three.
        precision: How free it is of everything else.
        faithfulness: How undistorted the target is.
        overall: All in all.
        difficulty: How hard the separation is by ``DIFFICULTY_AXES``, 1..5, higher is harder; from mixture and prompt
            alone. Empty where it cannot be judged.
        evidence: Which prompts were used.
        rationale: One plain sentence.
        judge: The judge's full name.
        action: What to do, ``unjudged`` without scores; None until a policy has decided.
        novelty: How unlike the judge's calibration data the item is, 0 (alike) to 1.
        domain: What the target most likely is, one of ``DOMAINS``; empty where the judge does not say.
        curves: Where something is missing or left over; None from judges that do not look for it.
        seconds: Wall time the judge took.
    """

    id: str
    recall: float | None
    recall_low: float | None
    recall_high: float | None
    precision: float | None
    precision_low: float | None
    precision_high: float | None
    faithfulness: float | None
    faithfulness_low: float | None
    faithfulness_high: float | None
    overall: float | None
    overall_low: float | None
    overall_high: float | None
    difficulty: Mapping[str, float]
    evidence: SoundEvidence
    rationale: str
    judge: str
    action: Decision | None = None
    novelty: float = 0.0
    domain: str = ""
    curves: SoundCurves | None = None
    seconds: float = 0.0

    def __repr__(self) -> str:
        """What it comes to, in one short line; ``to_dict`` has all of it."""
        overall = estimated(self.overall, self.overall_low, self.overall_high)
        return f"SoundVerdict({short(self.id)}, action={self.action!r}, overall={overall}, {short(self.rationale)})"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values, with the keys of ``verdicts.jsonl``."""
        found: dict[str, Any] = plain(self)
        return found


@runtime_checkable
class SoundJudge(Protocol):
    """Judges separated sounds without the true stem.

    One that is faster with several at once has ``batch(cases, separated) -> list[SoundVerdict]``; what cases of one
    ``mixture`` array share is then computed once. One that looks at no picture says ``uses_frames = False``.
    """

    name: str
    meta: Metadata

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        """Judge one output, float32 of the mixture's shape, aligned by nobody; ``action`` is left to the policy."""
        ...


@runtime_checkable
class IdentityCheck(Protocol):
    """Tells whether a mask is on the object that was asked for; evidence beside a judge's, without truth."""

    name: str
    meta: Metadata

    def __call__(self, case: Case, prediction: Prediction) -> Identity | None:
        """Check one candidate; None where it cannot tell: no text, or words outside its vocabulary."""
        ...


ScoreInput: TypeAlias = Literal[
    "masks", "mask lists", "clips", "soft clips", "null clips", "class maps", "sentences", "numbers", "marks", "labels",
    "words", "word lists", "confirmed words", "counts", "index lists", "sounding boxes", "frame boxes",
    "captions", "sounds", "sound and stems", "sound and spans", "embeddings",
]  # fmt: skip
"""What a score is given:

- ``masks``: a prediction and its truth, bool (H, W); ``mask lists``: many of each.
- ``clips``: the same as bool (T, H, W); ``soft clips``: many, predictions bool or probabilities; ``null clips``:
  predictions alone, of expressions that name nothing; ``class maps``: many, whole numbers (T, H, W).
- ``sentences``: ``score.masks.SentenceAreas``, which hold prediction and truth.
- ``numbers``: estimates and true values; ``marks``: estimates and bool; ``labels``: given, true, and all classes.
- Answers of many samples, as ``score.replies`` reads them: ``words``, ``word lists``, ``confirmed words`` (answer and
  confirmation), ``counts``, ``index lists``, ``sounding boxes``, ``frame boxes``, ``captions`` (truths are lists of
  references).
- ``sounds``: an estimate and its stem, (samples,) or (channels, samples); ``sound and stems``: an estimate and the
  stems of its mixture, the first of which it should be; ``sound and spans``: when it should sound; ``embeddings``: of
  many estimates and many stems.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSpec:
    """A registered score: its metadata and the pure function that computes it.

    Attributes:
        meta: What it is.
        function: From what it takes to ``Scored``, ``Undefined``, or a mapping of names to these.
        options: The defaults of its keyword arguments.
        takes: What its positional arguments are.
    """

    meta: Metadata
    function: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    takes: ScoreInput = "masks"

    @classmethod
    def of(
        cls, function: Callable[..., Any], *, takes: ScoreInput = "masks", higher_is_better: bool = True, **about: str
    ) -> Self:
        """The spec of a function whose options are its keyword arguments with defaults; ``about`` is its metadata."""
        parts = {"modality": "mask", "truth": "the true mask", **about}
        parameters = inspect.signature(function).parameters.values()
        named = {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}
        return cls(
            meta=Metadata(higher_is_better=higher_is_better, **parts),  # type: ignore[arg-type]
            function=function,
            options={name: value for name, value in named.items() if value is not inspect.Parameter.empty},
            takes=takes,
        )

    @property
    def asked(self) -> tuple[str, ...]:
        """Keyword arguments without a default, as ``videos``."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty)
