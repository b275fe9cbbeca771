"""What a suite is, how it is found by name, and the public function that runs one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack, runtime_checkable

from auscult import registry
from auscult.errors import UsageError
from auscult.jobs.runner import Progress
from auscult.judge import DEFAULT_JUDGE
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.types import Metadata
from auscult.work.pool import default_workers

SCENES = "scenes"
DEFAULT_COUNT = 50
DEFAULT_JUDGES = (DEFAULT_JUDGE,)
DEFAULT_POLICY = "paper"
"""Actions are scored by the windows in which a benchmark's truth is made, whatever an audit would accept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """Which models a suite of models tests, and under what.

    Attributes:
        task: A task of the suite, such as ``vos``.
        models: What was written for each model; see ``models.spec``.
        levels: ``low``, ``medium``, ``high``, numbers from 0 to 5, and ``dynamic``.
        mixes: ``mix``, ``picture``, ``guidance``: what is drawn for each case.
        kinds: Perturbations that are tried alone; ``all`` for the paper's.
        parts: Frames that are perturbed: ``all``, or ``first`` and ``rest``.
        texts: CSV of sentences, for data that has none of its own.
        masks: Folder of the true masks, where the layout has several.
        memory_mb: Limit of a worker's memory.
        inputs: Also write what models are shown, to predict elsewhere.
    """

    task: str = ""
    models: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("low", "medium", "high", "dynamic")
    mixes: tuple[str, ...] = ("mix",)
    kinds: tuple[str, ...] = ()
    parts: tuple[str, ...] = ("all",)
    texts: Path | None = None
    masks: Path | None = None
    memory_mb: int = 8192
    inputs: bool = False


NO_MODELS = Tested()


class TestedWords(TypedDict, total=False):
    """``Tested`` as it is given in Python: names may be one or many, paths may be text."""

    task: str
    models: Sequence[str] | str
    levels: Sequence[str]
    mixes: Sequence[str]
    kinds: Sequence[str] | str
    parts: Sequence[str]
    texts: Path | str | None
    masks: Path | str | None
    memory_mb: int
    inputs: bool


def tested_of(**given: Unpack[TestedWords]) -> Tested:
    """What is tested, with everything that was not given as usual."""
    plain: dict[str, Any] = dict(given)
    for name in ("models", "levels", "mixes", "kinds", "parts"):
        if name in plain:
            plain[name] = (plain[name],) if isinstance(plain[name], str) else tuple(plain[name])
    for name in ("texts", "masks"):
        if plain.get(name) is not None:
            plain[name] = Path(plain[name])
    return Tested(**plain)


MODELS_ONLY = frozenset(
    {"model", "task", "severity", "perturb", "kind", "part", "texts", "masks", "memory_mb", "inputs"}
)
JUDGES_ONLY = frozenset(
    {
        "judge", "protocol", "negatives", "generator", "take", "objects", "least_px", "splits_file", "policy",
        "identity", "identity_weights",
    }
)  # fmt: skip
"""Options of the command line that suites of models, or of judges, alone know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """What a suite is run on and how.

    Attributes:
        data: A source of cases with truth, a benchmark made before, or the word ``scenes`` for generated ones.
        out: The output folder.
        judges: Names of registered judges; each is judged once, in the order given.
        count: How many scenes, where ``data`` is ``scenes``.
        seed: The same seed makes the same benchmark.
        assets: A folder of cut-outs, sounds and backgrounds for the scenes; generated ones where None.
        protocols: Protocols to evaluate, out of the suite's own.
        splits: Splits of the source to use; those that the suite asks for where empty.
        negatives: Where wrong objects come from, a word of the suite.
        images: Folder of the pictures, where ``data`` names them without their folder.
        generator: Who makes the defects: ``standard``, or ``freehand``, the same kinds in other shapes.
        take: Frames of the image protocol: ``key``, ``all``, or ``every:N``.
        objects: ``sample`` for the suite's numbers, ``all`` for every object of the source.
        least_px: Objects with fewer pixels are left out.
        splits_file: A JSON file that says which photograph or sequence is in which split.
        policy: Name of a shipped policy, or a policy file; ``paper`` has the windows in which the truth is made.
        identity: Name of a registered identity check that is asked beside every judge; None for none.
        identity_weights: Folder of weights for a check whose weights the user brings.
        workers: Worker processes; None for one per processor, 0 for this process.
        timeout_s: Limit for the masks of one frame together, or for one question to a model; None for the suite's own.
        overwrite: Start anew over an earlier record.
        given: Names of the options that the user spelled out, for the manifest.
        tested: What is asked of a suite of models; a suite of judges takes none of it.
    """

    data: Path | str
    out: Path
    judges: tuple[str, ...] = DEFAULT_JUDGES
    count: int = DEFAULT_COUNT
    seed: int = 0
    assets: Path | None = None
    protocols: tuple[str, ...] = ("image", "video")
    splits: tuple[str, ...] = ()
    negatives: str = "own"
    images: Path | None = None
    generator: str = "standard"
    take: str = "key"
    objects: str = "sample"
    least_px: int = 0
    splits_file: Path | None = None
    policy: str = DEFAULT_POLICY
    identity: str | None = None
    identity_weights: Path | None = None
    workers: int | None = None
    timeout_s: float | None = None
    overwrite: bool = False
    given: frozenset[str] = frozenset()
    tested: Tested = NO_MODELS

    def limit_s(self, usual: float) -> float:
        """The time limit: what was asked for, else what is usual."""
        return usual if self.timeout_s is None else self.timeout_s

    @property
    def n_workers(self) -> int:
        """Worker processes, decided."""
        return default_workers() if self.workers is None else self.workers


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """What a suite came to.

    Attributes:
        out: The record.
        summary: The content of its ``summary.json``.
        tables: Its finished tables by file name, the most important first.
        shown: Those of them that fit a console.
        remarks: What a person must know at once, such as a model that could not be loaded.
    """

    out: Path
    summary: Summary
    tables: Mapping[str, Table]
    shown: tuple[Table, ...]
    remarks: tuple[str, ...] = ()


@runtime_checkable
class Suite(Protocol):
    """A benchmark: which cases, stress, models, judges, scores and tables."""

    name: str
    meta: Metadata

    def run(self, options: SuiteOptions, progress: Progress | None = None) -> SuiteRun:
        """Make the benchmark, have it judged, and write tables; the same options again resume."""
        ...


def refuse_options(given: frozenset[str], foreign: frozenset[str], *, suite: str) -> None:
    """Refuse options that were spelled out and that a suite does not know.

    Raises:
        UsageError: There is one.
    """
    told = sorted(given & foreign)
    if told:
        raise UsageError(
            f"suite {suite} takes no --{told[0].replace('_', '-')}",
            expected="options of this suite",
            hint="`auscult list suite` says what each suite is for",
        )


def refuse_idle(options: SuiteOptions, idle: Mapping[str, str]) -> None:
    """Refuse options that were spelled out and would change nothing, and a source that is not there.

    Nothing has been written by then.

    Args:
        options: What the suite is run on and how.
        idle: Options of the suite that change nothing with the others, and of what they are.

    Raises:
        UsageError: There is one, or ``data`` is no file or folder.
    """
    scenes = {} if options.data == SCENES else dict.fromkeys(("count", "assets"), "generated scenes: --data scenes")
    for name, what in {**scenes, **idle}.items():
        if name in options.given:
            raise UsageError(f"--{name} changes nothing here", expected=f"it with {what}", hint="leave it out")
    if isinstance(options.data, Path) and not options.data.exists():
        raise UsageError(
            "there is no such file or folder",
            path=options.data,
            expected="a source with true masks, or the word scenes",
            hint="see `auscult run --help`",
        )


def data_of(data: Path | str) -> Path | str:
    """What ``data`` means: the word ``scenes``, or a path; a folder of that name goes before the word."""
    return SCENES if str(data) == SCENES and not Path(SCENES).exists() else Path(data)


def load_suite(name: str) -> Suite:
    """Find a suite by its full or short name.

    Raises:
        UnknownName: There is no such suite; the message lists the nearest.
        UsageError: What the package registers under the name is no suite.
    """
    entry = registry.find("suite", name)
    suite = entry.load()
    if not isinstance(suite, Suite):
        raise UsageError(f"what {entry.package} registers as suite {entry.name} is none", expected="name, meta and run")
    return suite


def run(
    suite: str,
    *,
    data: Path | str,
    judges: Sequence[str] | str = DEFAULT_JUDGES,
    out: Path | str,
    count: int = DEFAULT_COUNT,
    seed: int = 0,
    assets: Path | str | None = None,
    protocols: Sequence[str] = ("image", "video"),
    splits: Sequence[str] = (),
    negatives: str = "own",
    images: Path | str | None = None,
    generator: str = "standard",
    take: str = "key",
    objects: str = "sample",
    least_px: int = 0,
    splits_file: Path | str | None = None,
    policy: str = DEFAULT_POLICY,
    identity: str | None = None,
    identity_weights: Path | str | None = None,
    workers: int | None = None,
    timeout_s: float | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **tested: Unpack[TestedWords],
) -> SuiteRun:
    """Run a benchmark end to end; what ``auscult run`` does.

    Args:
        suite: Its name, for example ``mqa``.
        data: A source of cases with truth, a benchmark made before, or ``scenes``.
        judges: Names of registered judges, for a suite of judges.
        out: The output folder; the same call again goes on where a stopped one left off.
        count: How many scenes, where ``data`` is ``scenes``.
        seed: The same seed makes the same benchmark.
        assets: A folder of cut-outs, sounds and backgrounds for the scenes.
        protocols: ``image``, ``video`` or both.
        splits: Splits of the source to use; those that the suite asks for where empty.
        negatives: Where wrong objects come from: ``own`` for the data set, else a proposer of regions.
        images: Folder of the pictures, where ``data`` names them without their folder.
        generator: Who makes the defects: ``standard``, or ``freehand``, the same kinds in other shapes.
        take: Frames of the image protocol: ``key``, ``all``, or ``every:N``.
        objects: ``sample`` for the suite's numbers, ``all`` for every object of the source.
        least_px: Objects with fewer pixels are left out.
        splits_file: A JSON file that says which photograph or sequence is in which split.
        policy: Name of a shipped policy, or a policy file.
        identity: Name of a registered identity check that is asked beside every judge; None for none.
        identity_weights: Folder of weights for a check whose weights the user brings.
        workers: Worker processes; None for one per processor, 0 for this process.
        timeout_s: Limit for the masks of one frame together, or for one question to a model; None for the suite's own.
        overwrite: Start anew over an earlier record.
        progress: Who listens.
        tested: For a suite of models: ``models``, ``task``, ``levels``, ``mixes``, ``kinds``, ``parts``, ``texts``,
            ``masks``, ``memory_mb``, ``inputs``, as ``Tested`` has them; a single model needs no list.

    Returns:
        Summary and tables; the whole record lies in ``out``.

    Raises:
        UnknownName: There is no such suite, judge or identity check.
        UsageError: An option is wrong, or ``data`` holds nothing to judge.
        RecordError: The folder is in use, or was made with other arguments.
    """
    options = SuiteOptions(
        data=data_of(data),
        out=Path(out),
        judges=(judges,) if isinstance(judges, str) else tuple(judges),
        count=count,
        seed=seed,
        assets=None if assets is None else Path(assets),
        protocols=tuple(protocols),
        splits=tuple(splits),
        negatives=negatives,
        images=None if images is None else Path(images),
        generator=generator,
        take=take,
        objects=objects,
        least_px=least_px,
        splits_file=None if splits_file is None else Path(splits_file),
        policy=policy,
        identity=identity,
        identity_weights=None if identity_weights is None else Path(identity_weights),
        workers=workers,
        timeout_s=timeout_s,
        overwrite=overwrite,
        tested=tested_of(**tested),
    )
    return load_suite(suite).run(options, progress)
