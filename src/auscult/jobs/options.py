"""The options of each verb: one dataclass a verb, from which its command line and its manifest are made.

A field is an option: its name with dashes instead of underscores, its type, its default, and its help from the
class's docstring. A ``Flag`` adds what a type cannot express. From Python ``workers`` may be 0: everything is
then done in the calling process, without time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from inspect import get_annotations
from pathlib import Path
from re import fullmatch
from typing import Annotated, Any, Final, get_args, get_origin

from auscult.cases.listing import ListOptions
from auscult.errors import UsageError
from auscult.judge import DEFAULT_JUDGE, DEFAULT_SOUND_JUDGE
from auscult.scenes.options import MixtureOptions, SceneOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """How an option differs from its field.

    Attributes:
        name: Its name without dashes, where it is not the field's.
        read: Makes the value from the word on the command line.
        least: The least number allowed.
        most: The largest number allowed.
        shown: What the help shows as the default; "-" for nothing.
        metavar: What the help shows as the value.
        positional: Whether it is an argument without a name.
        internal: Whether it is no option of the command line.
        help: The help, where it is not the docstring's.
        parts: Of a field that is a dataclass itself, how its fields differ.
    """

    name: str = ""
    read: Callable[[str], Any] | None = None
    least: float | None = None
    most: float | None = None
    shown: str = ""
    metavar: str | None = None
    positional: bool = False
    internal: bool = False
    help: str = ""
    parts: Mapping[str, Flag] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """An option of a verb.

    Attributes:
        name: On the command line, with underscores, and in the manifest.
        path: The fields that lead to its value.
        type: The type of its value.
        default: Its default, or ``MISSING``.
        help: Its help.
        flag: How it differs from its field.
    """

    name: str
    path: tuple[str, ...]
    type: Any
    default: Any
    help: str
    flag: Flag


def specs_of(options: type) -> Iterator[OptionSpec]:
    """The options of a verb, those of the dataclasses that it holds among them, in the order of the fields."""
    yield from _specs(options, parts={}, path=())


def _specs(options: Any, *, parts: Mapping[str, Flag], path: tuple[str, ...]) -> Iterator[OptionSpec]:
    types: dict[str, Any] = {}
    helps: dict[str, str] = {}
    for part in reversed(options.__mro__):
        own_types, own_helps = _own(part)
        types |= own_types
        helps |= own_helps
    for option in fields(options):
        kind, flag = types[option.name], Flag()
        if get_origin(kind) is Annotated:
            kind, flag = get_args(kind)
        flag = parts.get(option.name, flag)
        if is_dataclass(kind):
            yield from _specs(kind, parts=flag.parts, path=(*path, option.name))
        elif not flag.internal:
            yield OptionSpec(
                name=flag.name or option.name,
                path=(*path, option.name),
                type=kind,
                default=option.default if option.default_factory is MISSING else option.default_factory(),
                help=flag.help or helps.get(option.name, ""),
                flag=flag,
            )


@cache  # base classes of several verbs are read once, since the command line loads all verbs
def _own(kind: type) -> tuple[dict[str, Any], dict[str, str]]:
    """Types and help texts of the fields that a class declares itself; the help is from its docstring."""
    helps: dict[str, str] = {}
    name = ""
    for line in (kind.__doc__ or "").partition("Attributes:")[2].splitlines():
        match = fullmatch(r" {8}(\w+): (.*)", line)
        if match is not None:
            name = match[1]
            helps[name] = match[2]
        elif name and line.startswith(" " * 12):
            helps[name] += f" {line.strip()}"
    return get_annotations(kind, eval_str=True), {name: text.replace("``", "`") for name, text in helps.items()}


# --- values from text ---


def names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def out_path(text: str | Path) -> Path:
    """``--out`` as it was given; an empty one, as of a shell variable that is not set, is not the current folder."""
    return text if isinstance(text, Path) else _path(text, "--out", expected="a folder")


def input_path(text: str | Path) -> Path:
    """INPUT as it was given; an empty one is not the current folder either. A default is a path already."""
    return text if isinstance(text, Path) else _path(text, "INPUT", expected="a folder or file")


def _path(text: str, name: str, *, expected: str) -> Path:
    if not text.strip():
        raise UsageError(f"{name} is empty", expected=expected, hint="for the current folder, give .")
    return Path(text)


def size(text: str) -> tuple[int, int]:
    """Height and width, ``480x854``."""
    match = fullmatch(r"\s*(\d{1,6})\s*x\s*(\d{1,6})\s*", text)
    if match is None:
        raise UsageError(f"--size {text[:40]!r} cannot be read", expected="HEIGHTxWIDTH, such as 480x854")
    return int(match[1]), int(match[2])


@dataclass(frozen=True, slots=True)
class SpanReader:
    """A reader of an option that holds fewest and most; errors name the option."""

    option: str
    form: str = "FEWEST-MOST, such as 2-6"

    def __call__(self, text: str) -> tuple[int, int]:
        """Fewest and most, ``2-6``; one number stands for both."""
        match = fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", text)
        if match is None:
            raise UsageError(f"{self.option} {text[:40]!r} cannot be read", expected=self.form)
        return int(match[1]), int(match[2] or match[1])


def _separator(spec: OptionSpec) -> str | None:
    """What is between the two numbers of a value; None for other values."""
    return "x" if spec.flag.read is size else "-" if isinstance(spec.flag.read, SpanReader) else None


def word_of(spec: OptionSpec, value: Any) -> Any:
    """A value as the command line has it: the opposite of ``read``."""
    return (_separator(spec) or ",").join(map(str, value)) if isinstance(value, tuple) else value


def refuse_out_of_range(given: Mapping[str, tuple[bool, str]]) -> None:
    """Insist that values are in range; ``given`` are options as they were written, whether they are, and the range."""
    for words, (good, expected) in given.items():
        if not good:
            raise UsageError(f"{words} is out of range", expected=expected)


# --- options of every verb ---


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """Options of every verb that writes a record.

    Attributes:
        out: Output folder; the same command again continues in it.
        workers: Worker processes.
        overwrite: Start anew over an earlier record in --out.
        given: Names of the options that the user spelled out, for the manifest.
    """

    out: Annotated[Path, Flag(read=out_path, metavar="<path>")]
    workers: Annotated[int | None, Flag(least=1, shown="one per processor")] = None
    overwrite: bool = False
    given: Annotated[frozenset[str], Flag(internal=True)] = frozenset()

    @property
    def n_workers(self) -> int:
        """Worker processes, decided."""
        from auscult.work.pool import default_workers  # the command line starts without the pool

        return default_workers() if self.workers is None else self.workers


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(RecordOptions):
    """Options of every verb over frames or scenes.

    Attributes:
        timeout_s: Seconds for the masks of one frame, or of a few with one or two each, together.
        memory_mb: Most memory of one worker, in MB; what takes more fails.
    """

    timeout_s: Annotated[float, Flag(name="timeout", least=0.1)] = 120.0
    memory_mb: Annotated[int, Flag(least=256)] = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions(RunOptions):
    """Further options of every verb over an INPUT.

    Attributes:
        source: A folder with frames/ and masks/, an items.jsonl, or a COCO json.
        listing: How INPUT is read.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    listing: ListOptions = field(default_factory=ListOptions)


COMMON: Final = frozenset(option.name for option in fields(InputOptions))
"""Fields of ``RunOptions`` and ``InputOptions``, which every manifest has."""


def arguments_of(options: object) -> dict[str, Any]:
    """The options of a verb that are not in ``COMMON``, as values for its manifest."""
    arguments: dict[str, Any] = {}
    for spec in specs_of(type(options)):
        if spec.path[0] in COMMON:
            continue
        value: Any = options
        for name in spec.path:
            value = getattr(value, name)
        if isinstance(value, Path):
            value = str(value.resolve())
        arguments[spec.name] = word_of(spec, value) if _separator(spec) else value
    return arguments


# --- models behind endpoints ---


@dataclass(frozen=True, kw_only=True)
class ChatOptions:
    """How models behind an endpoint are asked.

    Attributes:
        base_url: Where models behind an endpoint answer, before what their profile says.
        profile: What a chat:NAME takes and how, a file, or a folder of several; else the shipped one of that name.
        max_connections: Requests under way at once, to a model behind an endpoint.
        budget: Most USD that the run may spend, earlier commands included.
    """

    base_url: str = ""
    profile: Path | None = None
    max_connections: Annotated[int, Flag(least=1, most=1024)] = 8
    budget: Annotated[float | None, Flag(least=0.0)] = None


@dataclass(frozen=True, kw_only=True)
class ChatJudgeOptions(ChatOptions):
    """How chat models are asked as judges.

    Attributes:
        samples: Replies of each chat model to one mask; their spread is the interval.
        cascade_seconds: Most seconds that the dearer judges of cascade:CHEAP,DEAR may take in all, by this command.
    """

    samples: Annotated[int, Flag(least=1, most=100)] = 1
    cascade_seconds: Annotated[float | None, Flag(least=0, shown="no limit")] = None


CHANGE_NOTHING: Final = frozenset({*(option.name for option in fields(ChatOptions)), "cascade_seconds"})
"""Options of models behind endpoints that may change between commands: a model's revision says what its replies
depend on."""


# --- the verbs ---


@dataclass(frozen=True, kw_only=True)
class AuditOptions(InputOptions, ChatJudgeOptions):
    """What to audit and how.

    Attributes:
        source: A folder with frames/ and masks/, or mixtures/ and separated/; an items.jsonl, COCO json, or video.
        video: A video whose masks are in --masks, one a frame, by number or in order (extra `video`).
        judge: A judge of `auscult list judge`; prompted@FOLDER as fitted by `auscult train`; chat:NAME for a chat
            model, chat:A+B for several, chat:hf:FOLDER for one that runs here; replies:PATH or command:PROGRAM for
            another model's verdicts; cascade:CHEAP,DEAR for a dear one where a cheap one leaves open what to do.
        policy: Name of a shipped policy, or a policy file.
        sound_judge: The judge of separated sounds.
        sound_policy: The policy for separated sounds: a name, or a policy file.
        identity: A check of `auscult list identity`: is the mask on the object that the text names?
        identity_weights: Folder of CLIP weights, for --identity clip.
        evidence: hf:NAME: SAM, SAM 2 or SAM 3 draws what the judge compares with, from a folder of weights or the
            hub's cache.
        alone: Show the judge one mask at a time; without it the masks of a frame are one another's other objects.
        probe: First ask the judge about masks of generated scenes, right and wrong; of a chat model always.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True, shown="-")] = Path()
    video: Path | None = None
    judge: str = DEFAULT_JUDGE
    policy: str = "default"
    sound_judge: str = DEFAULT_SOUND_JUDGE
    sound_policy: str = "default"
    identity: Annotated[str | None, Flag(shown="none")] = None
    identity_weights: Annotated[Path | None, Flag(shown="$AUSCULT_CLIP")] = None
    evidence: str | None = None
    # The candidates of a benchmark are of one object: shown together they would give the defect away.
    alone: bool = False
    probe: bool = False

    @property
    def video_file(self) -> Path | None:
        """The video that is audited: --video, or INPUT itself; None where INPUT is none."""
        from auscult.media.video import VIDEO_SUFFIXES  # the command line starts without it

        is_video = self.source.suffix.lower() in VIDEO_SUFFIXES and self.source.is_file()
        return self.video or (self.source if is_video else None)


DIFFICULTIES: Final = ("hard", "medium")


@dataclass(frozen=True, slots=True, kw_only=True)
class StressOptions(InputOptions):
    """What to stress and how; the masks of ``source`` are taken as the truth.

    Merges and whole wrong objects have the difficulty that their IoU gives them and are always made.

    Attributes:
        source: What `auscult audit` takes; its masks are taken as the truth.
        seed: The same seed makes the same material.
        kinds: Comma-separated: perfect,cutout,dilate,erode,merge,full_neg, or all.
        difficulties: Comma-separated: hard (IoU .85-.90), medium (IoU .75-.80).
    """

    seed: int = 0
    kinds: Annotated[tuple[str, ...], Flag(name="kind", read=names)] = ("all",)
    difficulties: Annotated[tuple[str, ...], Flag(name="difficulty", read=names)] = DIFFICULTIES
    listing: Annotated[
        ListOptions,
        Flag(
            parts={
                "masks": Flag(help="Folder of the true masks, when not INPUT/masks."),
                "objects": Flag(internal=True),  # here --objects is how many things a scene has
            }
        ),
    ] = field(default_factory=ListOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationStressOptions(RunOptions):
    """Which wrong outputs to make of true stems.

    Attributes:
        source: What `auscult make mixtures` writes, an items.jsonl of sounds, or a folder of tracks; with true stems.
        kinds: Comma-separated: separation stressors of `auscult list stressor`; all but those named other_.
        severities: Comma-separated: 0 to 5, or low, medium, high.
        seed: The same seed makes the same material.
        root: Paths of INPUT may lead anywhere in this folder.
        timeout_s: Seconds for the outputs of one kind of one target.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    kinds: Annotated[tuple[str, ...], Flag(name="kind", read=names)] = ("all",)
    severities: Annotated[tuple[str, ...], Flag(name="severity", read=names)] = ("1", "3", "5")
    seed: int = 0
    root: Path | None = None


_NOT_OF_REFERENCES: Final[Mapping[str, Flag]] = dict.fromkeys(
    ("text", "texts", "scores", "frames", "masks", "labels", "objects", "clip"), Flag(internal=True)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativesOptions(InputOptions):
    """Which negative sentences to make, and from what.

    Attributes:
        source: COCO json, RefCOCO, RefCOCO+ or RefCOCOg, Ref-AVSBench, scenes, or items with a `category`.
        kinds: Comma-separated: sentence,category,target,attribute,relation,sound,scene_attribute, or all.
        per: Negatives of each reference, or 1:1 for one a positive sentence; without it, 1:1 in the split train.
        seed: The same seed makes the same sentences.
        split: Only this split of INPUT.
        no_absolute_position: Make none that says left, right, top or the like, as R-RefCOCO+ has none.
        categories: Json of further categories, their names and what they belong to.
        noun: What counts as the target of a sentence: its head noun, or its first, as in the paper.
        hard: Keep of three times as many the sentences that this model paints most; as --model of `auscult run rris`.
        rounds: With --hard: rounds, each with new sentences and --per to keep; those that --out has stay as they are.
    """

    source: Annotated[Path, Flag(read=input_path, metavar="INPUT", positional=True)]
    kinds: Annotated[tuple[str, ...], Flag(name="kind", read=names)] = (
        *("sentence", "category", "target", "attribute", "relation"),
    )
    per: str = "10"
    seed: int = 0
    split: Annotated[str | None, Flag(shown="all")] = None
    no_absolute_position: bool = False
    categories: Path | None = None
    noun: str = "head"
    hard: Annotated[str | None, Flag(metavar="MODEL", shown="none")] = None
    rounds: Annotated[int, Flag(least=1)] = 1
    listing: Annotated[
        ListOptions,
        Flag(parts=_NOT_OF_REFERENCES),
    ] = field(default_factory=ListOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeOptions(RunOptions):
    """Which scenes to make.

    Attributes:
        count: How many scenes; more than before adds to what is there.
        seed: The same seed makes the same material.
        assets: Folder with cutouts/, backgrounds/ and sounds/, instead of generated ones.
        scene: Size, length, sample rate and number of things.
        split: train, test_s, test_u, or all: 60, 20 and 20 %, by chance.
        fps: Also write video.mp4 at so many frames a second (extra `video`).
        expressions: Most expressions of a scene.
        stems: Also write separated sounds, and joint.jsonl: items whose mask, sound, both or none are another thing's.
        timeout_s: Seconds for one scene.
    """

    count: int
    seed: int = 0
    assets: Path | None = None
    scene: Annotated[
        SceneOptions,
        Flag(
            parts={"size": Flag(read=size), "rate_hz": Flag(name="rate"), "objects": Flag(read=SpanReader("--objects"))}
        ),
    ] = field(default_factory=SceneOptions)
    split: str = "all"
    fps: Annotated[float | None, Flag(name="video")] = None
    expressions: int = 6
    stems: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturesOptions(RunOptions):
    """Which mixtures to make.

    Attributes:
        count: How many mixtures; more than before adds to what is there.
        seed: The same seed makes the same material.
        assets: Folder with sounds/ and perhaps pictures/, instead of generated sounds.
        data: Where mixtures come from instead: scenes, whose objects are seen as well.
        plans: A plans.jsonl whose mixtures are made again.
        tracks: Also write tracks/, a folder for each mixture as MUSDB18 has them.
        mixture: What may be drawn for a mixture.
        timeout_s: Seconds for one mixture.
    """

    count: Annotated[int | None, Flag(least=1, most=1_000_000)] = None
    seed: int = 0
    assets: Path | None = None
    data: str | None = None
    plans: Path | None = None
    tracks: bool = False
    mixture: Annotated[
        MixtureOptions,
        Flag(
            parts={
                "seconds": Flag(read=SpanReader("--seconds", "SHORTEST-LONGEST in whole seconds, such as 2-20")),
                "sources": Flag(read=SpanReader("--sources")),
                "rates_hz": Flag(name="rate"),
                "loudness_lufs": Flag(name="loudness"),
                "settings": Flag(name="setting"),
            }
        ),
    ] = field(default_factory=MixtureOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriseOptions(RunOptions):
    """Which stimuli to make.

    Attributes:
        count: Questions of each type; more than before adds to what is there.
        seed: The same seed makes the same material.
        timeout_s: Seconds for one stimulus.
    """

    count: Annotated[int | None, Flag(least=1, most=10_000, shown="as many as in the paper: 2,090 in all")] = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FamiliarOptions(RunOptions):
    """Which samples of the familiar tasks to make.

    Attributes:
        count: Samples of each task; more than before adds to what is there.
        seed: The same seed makes the same material.
        data: Folder with recordings, photographs, clips with masks and COCO instances; half of most tasks is then made
            of them.
        sentences: Folder of a sentence encoder, for the chance of captions (extra `clip`).
        fluency: Folder of a fluency model, likewise.
        timeout_s: Seconds for one sample.
    """

    count: Annotated[int, Flag(least=1, most=10_000)] = 20
    seed: int = 0
    data: Path | None = None
    sentences: Path | None = None
    fluency: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions(RecordOptions):
    """Options of the demonstration.

    Attributes:
        out: Output folder.
        seed: The same seed makes the same material.
    """

    out: Path = Path("auscult-demo")
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """What to score and how.

    Attributes:
        prediction: A record to score again, or a folder of predicted masks or of separated sound.
        truth: Folder of the true masks or stems, same names; of a record, a CSV of id,label or id,true_iou, such as
            marks.
        protocol: davis2016: union of objects, all frames; davis2017: each object, first and last frame left out; of
            sound si_sdr, bss3, bss4, perceptual and others of `auscult list score`.
        labels: Read grey mask values as object indices.
        resample: Bring separated sound to its stem's rate and length.
        align: Move separated sound by its delay against the stem, up to 100 ms.
        permute: Find the best order of separated sounds, with bss3 and bss4.
        model: Network of frechet, text_similarity, accuracy, by default sound.compact.v1, else as clap@FOLDER; of
            word_error and speech_quality a folder.
        out: Also write a record there.
        workers: Worker processes.
        overwrite: Start anew over an earlier record in --out.
    """

    prediction: Annotated[Path, Flag(metavar="DIR|PRED", positional=True)]
    truth: Annotated[Path | None, Flag(metavar="TRUTH", positional=True, shown="-")] = None
    protocol: str = "davis2016"
    labels: bool = False
    resample: bool = False
    align: bool = False
    permute: bool = False
    model: str | None = None
    out: Path | None = None
    workers: Annotated[int | None, Flag(least=1, shown="one per processor")] = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelsOptions:
    """Which task scores to make levels of.

    Attributes:
        file: CSV with the columns model and one for each of the 14 tasks of AVI-Bench, or JSON; in percent.
        reading: Level 1 is the mean of: table, the three familiar stages; equation, their eleven tasks.
        leaderboard: Also write a JSON in the form of the released leaderboard there.
        out: Also write leaderboard.json and figures there: ranks and scores of stages and tasks, why the formulas.
    """

    file: Annotated[Path, Flag(metavar="FILE", positional=True, read=input_path)]
    reading: str = "table"
    leaderboard: Path | None = None
    out: Annotated[Path | None, Flag(metavar="DIR")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsOptions:
    """Whose parts and seeds to compare.

    Attributes:
        sources: Records of `auscult run avi`, or CSVs with a column model and columns of numbers; several are runs of
            the same models with other seeds. Models named such as q1_a1_v1 form a grid.
    """

    sources: Annotated[tuple[Path, ...], Flag(metavar="DIR|FILE...", positional=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """What to pick.

    Attributes:
        folder: A record of `auscult audit`.
        actions: Comma-separated: accept, minor_revision, major_revision, reject, unjudged.
        defects: Comma-separated defects, of masks; all by default.
        min_iou: Only masks with an estimated IoU of at least this.
        min_overall: Only separated sounds with an overall score of at least this.
        policy: Decide again by another policy first; nothing is judged again.
        sound_policy: The same for separated sounds.
        curve: With truth in INPUT, show the true score of the best share of the sounds, by share.
        out: Folder for ids.txt, verdicts.csv, coco.json, items.jsonl; beside DIR by default.
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    actions: Annotated[tuple[str, ...], Flag(name="action", read=names)] = ("accept",)
    defects: Annotated[tuple[str, ...] | None, Flag(name="defect", read=names)] = None
    min_iou: Annotated[float | None, Flag(least=0.0, most=1.0)] = None
    min_overall: Annotated[float | None, Flag(least=1.0, most=5.0)] = None
    policy: str | None = None
    sound_policy: str | None = None
    curve: bool = False
    out: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What to export, and for which tool.

    Attributes:
        folder: A record of `auscult audit`.
        format: yolo, labelme, voc, cvat, label-studio or hf-datasets.
        actions: Comma-separated: accept, minor_revision, major_revision, reject, unjudged.
        images: Copy the frames from this folder beside the masks; without it none is copied.
        out: A new folder; beside DIR by default.
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    format: Annotated[str, Flag(name="to")]
    actions: Annotated[tuple[str, ...], Flag(name="action", read=names)] = ("accept",)
    images: Path | None = None
    out: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """What may be accepted, and what shows it.

    Attributes:
        folder: A record of `auscult audit`.
        calibration: A record of `auscult audit` on masks with truth, a CSV or .jsonl of id,iou,true_iou,cluster, or
            marks (a CSV of id,label) of masks of DIR itself.
        accept_error: Share of bad masks that may be among the accepted.
        bad_below: A mask is bad if its true IoU is below, a separated sound if its true overall score is.
        confidence: How sure that is to be.
        by: What the threshold is put on: iou or iou_low; overall or overall_low gates separated sounds.
        clusters: one: one mask a photograph counts; bound: all do, by a bound that allows for photographs.
        out: Folder for both lists and the curve; beside DIR by default.
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    calibration: Annotated[Path, Flag(metavar="FILE")]
    accept_error: float = 0.05
    bad_below: Annotated[float | None, Flag(shown="0.75 of IoU, 3.5 of overall")] = None
    confidence: float = 0.95
    by: str = "iou"
    clusters: str = "one"
    out: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """Which record, and what a person said of its masks.

    Attributes:
        folder: A record of `auscult audit`.
        labels: 60 labels or more: CSV or .jsonl of id,label (good, bad, unsure) or id,true_iou.
        out: Folder of the new record; beside DIR by default.
        overwrite: Start anew over an earlier record in --out.
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    labels: Annotated[Path, Flag(metavar="FILE")]
    out: Path | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class RepairOptions(RunOptions, ChatJudgeOptions):
    """What to repair and how.

    Attributes:
        folder: A record of `auscult audit`.
        model: Segments anew what was rejected, by what was meant or by the expression; as --model of `run rris`.
        segmenter: hf:NAME: SAM, SAM 2 or SAM 3 draws anew what the error map doubts, from a folder of weights or the
            hub's cache.
        rounds: How often a repaired mask that is not accepted is tried again.
        policy: paper: segment anew only what is called full_neg, and keep it unseen; else the better lower bound.
        judge: The record's judge as it was named, where that was NAME@FOLDER, chat:NAME, cascade:CHEAP,DEAR or another
            program's.
        identity_weights: Folder of CLIP weights, where the record was made with --identity clip.
        out: Output folder, beside DIR by default; the same command again continues in it.
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    model: Annotated[str | None, Flag(metavar="MODEL", shown="none")] = None
    segmenter: Annotated[str | None, Flag(shown="none")] = None
    rounds: Annotated[int, Flag(least=1, most=10)] = 1
    policy: str | None = None
    judge: Annotated[str | None, Flag(shown="the record's")] = None
    identity_weights: Annotated[Path | None, Flag(shown="$AUSCULT_CLIP")] = None
    out: Annotated[Path, Flag(read=out_path, metavar="<path>", shown="DIR-repaired")] = Path()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Which records to compare.

    Attributes:
        folders: Records of `auscult audit`, or folders of `auscult run`.
        out: Also write tables and a report with pictures there.
        overwrite: Start anew over an earlier record in --out.
    """

    folders: Annotated[tuple[Path, ...], Flag(metavar="DIR...", positional=True)]
    out: Path | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Which record to lay out again.

    Attributes:
        folder: A record.
        video: Also draw masks and estimates on the frames of each clip: videos/CLIP.mp4 (extra `video`).
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    video: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What to train and how; a recipe leaves aside what it has no use for.

    Attributes:
        name: What to train: prompted-mask, cues, scenes-identity, scenes-joint, rris, mq-auditor, saj, compact-sound,
            cues-sound, sound-pictures; sound-card measures the judge of sounds that --model names.
        out: Output folder; the same command again continues in it.
        data: Folder of real material; for prompted-mask also an INPUT with truth; for rris an INPUT with expressions;
            for mq-auditor MQ-RAVSBench, or what `auscult stress masks --suite mqa` wrote; for saj an INPUT of separated
            sounds with scores and stems, none for generated ones.
        images: For rris: folder of the pictures, of data that does not say where they are.
        model: For rris: refsegformer, lavt, lavt+, existence, each also @FOLDER to go on from; or clipseg@FOLDER.
            For mq-auditor: mq-auditor@FOLDER with language, vision and sound in it, or of an earlier stage. For saj:
            saj@FOLDER of an earlier stage.
        config: For rris: paper, release, small, mobile, or a YAML file of settings. For mq-auditor: paper, release,
            projectors, small, or a file; each also +ROW of an ablation, paper+table4.mask. For saj: paper, small, tiny,
            each also with -alignment or -scores for one stage, or a file. For compact-sound: small, songs to go on from
            the judge that ships with songs alone, or a file.
        seed: The same seed makes the same material.
        samples: Samples to train on in all.
        minutes: Stop after this long; the same command goes on.
        device: cpu or cuda.
        threads: Threads of the network's arithmetic.
        workers: Processes that make batches.
    """

    name: Annotated[str, Flag(metavar="NAME", positional=True)]
    out: Annotated[Path, Flag(read=out_path, metavar="<path>")]
    data: Path | None = None
    images: Path | None = None
    model: str = "refsegformer"
    config: str = "small"
    seed: int = 0
    samples: Annotated[int | None, Flag(least=1)] = None
    minutes: Annotated[float | None, Flag(least=0.0)] = None
    device: str = "cpu"
    threads: Annotated[int, Flag(least=1)] = 2
    workers: Annotated[int, Flag(least=0)] = 1

    def material(self) -> Path:
        """The data folder."""
        if self.data is None:
            raise UsageError("this recipe needs real material", hint="name its folder: --data DIR")
        return self.data
