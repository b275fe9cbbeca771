"""From a separator's name on the command line to a loaded separator.

======================== ==========================================================================
``mixture``, ``nmf``     one of ``SEPARATORS``
``demucs@FOLDER``        a released model with its weights (``released``)
``FILE.py:FUNCTION``     a function of a file, or ``package.module:FUNCTION``
``cmd:PROGRAM``          a program that reads and writes lines of JSON (``asking.Program``)
``FOLDER``               sounds that were separated elsewhere (``asking.FolderOfSounds``)
``SEPARATOR+clap@DIR``   any of them, its tracks assigned to words by a tagger (``sound_taggers``)
======================== ==========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from auscult.errors import UsageError
from auscult.media.paths import safe_name
from auscult.models.adapters.calling import function_of
from auscult.models.separators import spectral
from auscult.models.separators.asking import FolderOfSounds, Function, Program
from auscult.models.separators.base import SeparationRequest, Separator
from auscult.models.sound_taggers import TAGGERS, SoundTagger, load_tagger
from auscult.models.spec import COMMAND, PREDICTIONS, model_spec
from auscult.record.digest import digest_json
from auscult.version import VERSION

_RELEASED: Final = ("demucs", "sam_audio")  # importing them waits until they are asked for


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A separator without weights; ``oracle`` where it is shown the stems."""

    summary: str
    ask: Callable[[SeparationRequest], Any]
    oracle: bool = False


def _built_in(summary: str, method: spectral.Method) -> BuiltIn:
    return BuiltIn(summary, partial(spectral.separated, method), oracle=summary.startswith("oracle"))


SEPARATORS: Final[Mapping[str, BuiltIn]] = {
    "mixture": BuiltIn("the mixture as it is", lambda request: request.mono),
    "silence": BuiltIn("nothing", lambda request: np.zeros_like(request.mono)),
    "random_bands": _built_in("the mixture in a random half of 16 bands", spectral.random_bands),
    "irm": _built_in("oracle: the ideal ratio mask", spectral.ideal_ratio),
    "ibm": _built_in("oracle: the ideal binary mask", spectral.ideal_binary),
    "nmf": _built_in("non-negative matrix factorisation, 8 components in two tracks", spectral.nmf),
    "hpss": _built_in("harmonic and percussive part, by medians", spectral.hpss),
    "repet": _built_in("what repeats and what does not, by similar frames", spectral.repet),
    "wiener": _built_in("Wiener filter against a steady background", spectral.wiener),
    "gate": _built_in("spectral gate above the quiet level of each band", spectral.gate),
}
_EXPECTED: Final = (
    f"one of {', '.join(SEPARATORS)}; demucs@FOLDER, sam_audio@FOLDER, FILE.py:FUNCTION, module:FUNCTION, cmd:PROGRAM "
    f"or a FOLDER of sounds; each may end in {', '.join(f'+{name}@FOLDER' for name in TAGGERS)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorSpec:
    """A separator that was asked for, before anything of it is loaded; goes to worker processes."""

    given: str
    name: str  # what tables call it
    kind: Literal["built_in", "released", "callable", "command", "predictions"]  # how it is asked
    target: str  # its name, folder, file or module, or command line
    function: str = ""  # the function's name, for a callable; the model's, for a released one
    revision: str = VERSION  # what its code or files are: a hash, or the version of this package
    oracle: bool = False  # whether it is shown the stems
    tagger: str = ""  # what assigns its tracks to words, such as ``clap@FOLDER``

    def load(self, *, tagger: SoundTagger | None = None) -> Separator:
        """Load it into this process; ``tagger`` in place of the one that was named."""
        ask = self._ask()
        return Separator(
            name=self.name,
            ask=ask,
            revision=self.revision,
            oracle=self.oracle,
            tagger=load_tagger(self.tagger) if self.tagger and tagger is None else tagger,
            end=ask.close if isinstance(ask, Program) else lambda: None,
        )

    def _ask(self) -> Callable[[SeparationRequest], Any]:
        if self.kind == "built_in":
            return SEPARATORS[self.target].ask
        if self.kind == "callable":
            return Function(function_of(self.target, self.function, method="separate"))
        if self.kind == "command":
            return Program(self.target)
        if self.kind == "predictions":
            return FolderOfSounds(Path(self.target))
        from auscult.models.separators.released import RELEASED

        return RELEASED[self.function](Path(self.target))


def load_separator(given: str, *, tagger: SoundTagger | None = None) -> Separator:
    """Load what a person named; see the module for the forms. A ``UsageError`` says what is wrong."""
    return separator_spec(given).load(tagger=tagger)


def separator_spec(given: str) -> SeparatorSpec:
    """Read a separator's name; nothing of it is loaded."""
    text, _, tagger = given.strip().rpartition("+")
    name, at, folder = tagger.partition("@")
    if text and at and name in TAGGERS:
        spec = _spec(text)
        listed = digest_json([spec.revision, name, _listed(folder)])[:12]
        return replace(spec, given=given, name=f"{spec.name}+{name}", revision=listed, tagger=tagger)
    return replace(_spec(given.strip()), given=given)


def _spec(text: str) -> SeparatorSpec:
    model, at, weights = text.partition("@")
    if text in SEPARATORS:
        return SeparatorSpec(given=text, name=text, kind="built_in", target=text, oracle=SEPARATORS[text].oracle)
    if at and model in _RELEASED:
        home = Path(weights).resolve()
        revision = digest_json([model, _listed(weights)])[:12]
        name = f"{model}@{safe_name(home.name)}"
        return SeparatorSpec(
            given=text, name=name, kind="released", target=str(home), function=model, revision=revision
        )
    if text.startswith("cmd:"):
        found = model_spec(COMMAND + text.removeprefix("cmd:"))
    elif text and Path(text).is_dir():
        found = model_spec(PREDICTIONS + text)
    elif ":" in text and not text.startswith("tgs:"):
        found = model_spec(text)
    else:
        raise UsageError(f"there is no separator {text[:80]!r}", expected=_EXPECTED)
    return SeparatorSpec(
        given=text,
        name=found.name.removesuffix(".separate"),
        kind=found.kind,  # type: ignore[arg-type]
        target=found.target,
        function=found.function,
        revision=found.revision,
    )


def _listed(folder: str) -> list[list[str | int]]:
    """The files of a folder of weights: gigabytes, so that name, size and time of change stand in for a hash."""
    if not Path(folder).is_dir():
        raise UsageError("there is no such folder of weights", expected="NAME@FOLDER", path=folder)
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]
