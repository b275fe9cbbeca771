"""Options of building the benchmark: targets, protocols, key frames, negatives and generators of defects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from auscult.errors import UsageError
from auscult.jobs.options import ChatJudgeOptions, Flag, InputOptions, input_path, names
from auscult.judge import DEFAULT_JUDGE
from auscult.models.base import EndpointChoice
from auscult.models.named_objects import MaskProposer, NamedProposer
from auscult.suites.options import SuiteOptions, refuse_unknown
from auscult.types import DEFECTS, Frame

MqaProtocol: TypeAlias = Literal["image", "video"]
PROTOCOLS: Final[tuple[MqaProtocol, ...]] = ("image", "video")

OWN: Final = "own"
ANNOTATED: Final = "annotated"
WITHOUT_SPLITS: Final = "test"
"""The split of instances from a source without splits."""

UNLISTED: Final = "in no split"
"""The split of instances not in a file of splits."""

LEFT_OUT: Final = frozenset({"val", "test_n", UNLISTED})
"""Splits used only if named: for model selection, null expressions, and unlisted instances."""

STANDARD: Final = "standard"
FREEHAND: Final = "freehand"
GENERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    STANDARD: DEFECTS,
    FREEHAND: tuple(f"freehand_{kind}" if kind in {"cutout", "dilate", "erode"} else kind for kind in DEFECTS),
}
"""Generators of defects: name to stressors, in the order of the taxonomy."""

SAMPLE: Final = "sample"
EVERYTHING: Final = "all"
KEY: Final = "key"
_STEP: Final = "every:"
_DIGITS: Final = 9
_MOST: Final = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The size of a split; a smaller source gives all it has."""

    clips: int  # videos or photographs
    instances: int  # referring expressions
    doubled: bool = True  # whether a clip may give a second instance if one per clip is not enough
    videos: int = 0  # clips of the video protocol, with one expression each

    def at_most(self, count: int | None) -> Target:
        """The same, with no number above ``count``."""
        if count is None:
            return self
        return replace(
            self,
            clips=min(self.clips, count),
            instances=min(self.instances, count),
            videos=min(self.videos, count),
        )


ALL_THERE: Final = Target(clips=_MOST, instances=_MOST, videos=_MOST)
"""All of the source."""


TARGETS: Final[Mapping[str, Target]] = {
    "train": Target(clips=1306, instances=1306, doubled=False),
    "test_s": Target(clips=269, instances=437, videos=60),
    "test_u": Target(clips=265, instances=303, videos=40),
}
"""MQ-RAVSBench, Table 1."""

OTHER_TARGET: Final = Target(clips=534, instances=740, videos=100)
"""Any other split: the two test splits together."""


@dataclass(frozen=True, kw_only=True)
class Making:
    """How instances and frames of a benchmark are chosen, and what generates its defects.

    From Python ``negatives`` may be a proposer itself; it goes to worker processes, so it must be picklable.

    Attributes:
        seed: The same seed makes the same material.
        protocols: Comma-separated: image (one key frame), video (whole clips), or both.
        splits: Comma-separated splits of the source.
        negatives: Other objects: own (the data set's), a model that proposes regions, or vlm:NAME+MODEL: an omni model
            that names them, and one that segments a picture by a sentence.
        generator: Who makes the defects: standard, or freehand (same kinds, other shapes; image protocol only).
        take: Frames of the image protocol: key (one an object), all, or every:N of them that show the target.
        objects: Objects of the source: sample (the numbers of MQ-RAVSBench, at most two a clip), or all.
        least_px: Leave out objects with fewer pixels; image protocol only.
        splits_file: JSON of split to names of photographs or sequences, where the source has no splits of its own.
    """

    seed: int = 0
    protocols: Annotated[tuple[str, ...], Flag(name="protocol", read=names)] = PROTOCOLS
    splits: Annotated[tuple[str, ...], Flag(name="split", read=names, shown="all but val, test_n")] = ()
    negatives: str | MaskProposer | NamedProposer = OWN
    generator: str = STANDARD
    take: str = KEY
    objects: str = SAMPLE
    least_px: Annotated[int, Flag(least=0)] = 0
    splits_file: Annotated[Path | None, Flag(read=input_path)] = None

    def check_protocols(self) -> None:
        """Refuse unknown protocols, and no protocol."""
        refuse_unknown(self.protocols, PROTOCOLS, "protocol")
        if not self.protocols:
            raise UsageError("no protocol was chosen", expected="image, video, or both")


@dataclass(frozen=True, kw_only=True)
class MqaOptions(SuiteOptions, Making, ChatJudgeOptions):
    """Which judges are compared, on which protocols, and how the benchmark is made where it is not there yet.

    Attributes:
        judges: A judge of `auscult list judge`, chat:NAME, NAME@FOLDER, replies:PATH, command:PROGRAM or
            cascade:CHEAP,DEAR, for a suite of judges; repeat it for several.
        policy: Name of a shipped policy, or a policy file; paper has the windows in which the truth is made.
        identity: A check of `auscult list identity`: is the mask on the object that the text names?
        identity_weights: Folder of CLIP weights, for --identity clip.
    """

    judges: Annotated[tuple[str, ...], Flag(name="judge", shown="the best that ships")] = (DEFAULT_JUDGE,)
    policy: str = "paper"
    identity: Annotated[str | None, Flag(shown="none")] = None
    identity_weights: Annotated[Path | None, Flag(shown="$AUSCULT_CLIP")] = None


@dataclass(frozen=True, kw_only=True)
class BuildOptions(InputOptions, Making):
    """What to build the benchmark from, and how.

    From Python ``key_frame`` may be a function that counts the objects of a frame, picklable like ``negatives``.

    Attributes:
        count: Most instances of a split.
        key_frame: How objects are counted: annotated, a model that proposes regions, or hf:FOLDER with the weights of
            Grounding DINO.
        base_url: Where the omni model of negatives answers, before what its profile says.
        profile: What a chat model of negatives takes and how, a file.
    """

    count: Annotated[int | None, Flag(least=1, shown="as MQ-RAVSBench")] = None
    key_frame: str | Callable[[Frame], int] = ANNOTATED
    base_url: str = ""
    profile: Path | None = None

    @property
    def endpoint(self) -> EndpointChoice:
        """Where the omni model of negatives answers."""
        return EndpointChoice(base_url=self.base_url, profile=self.profile)

    @property
    def step(self) -> int:
        """The step between frames that are used; 0 for the key frame alone."""
        return 0 if self.take == KEY else 1 if self.take == EVERYTHING else int(self.take.removeprefix(_STEP))

    @property
    def making(self) -> dict[str, str]:
        """The choices of instances and frames that differ from the paper's."""
        plain = {"take": KEY, "objects": SAMPLE, "least_px": 0}
        return {name: str(getattr(self, name)) for name, value in plain.items() if getattr(self, name) != value}

    def target(self, split: str) -> Target:
        """The size of a split."""
        amount = ALL_THERE if self.objects == EVERYTHING else TARGETS.get(split, OTHER_TARGET)
        return amount.at_most(self.count)

    def check(self) -> None:
        """Refuse options that cannot be built."""
        self.check_protocols()
        if self.count is not None and self.count < 1:
            raise UsageError(f"the count is {self.count}", expected="a count of 1 or more")
        self._check_making()

    def _check_making(self) -> None:
        refuse_unknown([self.generator], GENERATORS, "generator")
        if self.generator != STANDARD and "video" in self.protocols:
            raise UsageError(
                f"the generator {self.generator} makes no tracks, which the video protocol needs",
                expected="the image protocol alone",
                hint="add --protocol image",
            )
        number = self.take.removeprefix(_STEP)
        digits = number.isascii() and number.isdigit() and len(number) <= _DIGITS
        counted = self.take.startswith(_STEP) and digits and int(number) > 0
        if self.take not in {KEY, EVERYTHING} and not counted:
            raise UsageError(
                f"{self.take[:40]!r} says nothing about frames", expected="key, all, or every:N such as every:4"
            )
        if self.objects not in {SAMPLE, EVERYTHING}:
            raise UsageError(f"there is no choice of objects {self.objects!r}", expected="sample or all")
        if self.least_px < 0:
            raise UsageError(f"the least number of pixels is {self.least_px}", expected="0 or more")
        if self.least_px and "video" in self.protocols:
            raise UsageError(
                "the video protocol has every frame of a clip, however few pixels its target has there",
                expected="the image protocol alone where least_px is given",
                hint="add --protocol image, or leave --least-px out",
            )
