"""The identity check of a job: found by name, bound to its weights, asked about one candidate after another.

What a check cannot tell, and what it could not be asked because a sound cannot be read, stands in the verdict as
"identity not checked" with the reason; it is never a silent yes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from auscult import registry
from auscult.errors import AuscultError, InputError, UsageError
from auscult.judge.identity import NeedsWeights, Ready
from auscult.judge.identity.combine import combined, unchecked
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.sound import read_sound
from auscult.media.wav import Sound
from auscult.record.digest import digest_file
from auscult.types import Case, IdentityCheck, Item, Prediction, Verdict


@dataclass(slots=True)
class Checker:
    """An identity check at work in one process. It keeps the sound of one clip, the last: items come clip by clip.

    A check that once says it cannot be used (``UsageError``) is not asked again: what it lacks, it lacks for all items.

    Attributes:
        check: The check.
        limits: Bounds on the sound files that are opened.
    """

    check: IdentityCheck
    limits: Limits = field(default=DEFAULT_LIMITS)
    _path: Path | None = field(default=None, init=False)
    _heard: Sound | AuscultError | None = field(default=None, init=False)
    _unusable: UsageError | None = field(default=None, init=False)

    def joined(self, verdict: Verdict, case: Case, *, prediction: Prediction) -> Verdict:
        """The verdict with what the check found, or with why it found nothing."""
        if self._unusable is not None:
            return unchecked(verdict, self._unusable.message)
        try:
            found = self.check(case, prediction)
        except UsageError as error:
            self._unusable = error
            return unchecked(verdict, error.message)
        except AuscultError as error:
            return unchecked(verdict, error.message)
        if found is None:
            return unchecked(verdict, _why(case, prediction))
        return combined(verdict, found, check=self.check.name)

    def of_item(self, verdict: Verdict, item: Item, *, case: Case, prediction: Prediction) -> Verdict:
        """The same for an item of INPUT, with the sound and time that it names."""
        try:
            sound = self._sound(item.audio)
        except AuscultError as error:
            return unchecked(verdict, f"its sound cannot be used ({error.message})")
        heard = replace(case, time_s=item.time_s)
        if sound is not None:
            heard = replace(heard, sound=sound.samples, rate_hz=sound.rate_hz)
        return self.joined(verdict, heard, prediction=prediction)

    def _sound(self, path: Path | None) -> Sound | None:
        """The sound of a file, read once as long as no other is asked for."""
        if path is None:
            return None
        if path != self._path or self._heard is None:
            self._path = path
            try:
                self._heard = read_sound(path, limits=self.limits)
            except AuscultError as error:
                self._heard = error
        if isinstance(self._heard, AuscultError):
            raise self._heard
        return self._heard


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
    """What a manifest says of the check, once it has shown that it can work; nothing where none was asked for.

    Raises:
        UnknownName: There is no such check.
        UsageError: Its weights are missing or damaged, or there are weights without a check.
    """
    if name is None:
        if weights is not None:
            raise UsageError("there are weights for an identity check and no check", hint="add --identity clip")
        return {}
    entry = registry.find("identity", name)
    check = load_identity(name, weights)
    if isinstance(check, Ready):
        check.ready()
    told: dict[str, Any] = {"identity": entry.name, "identity_from": entry.origin}
    folder = getattr(check, "folder", None)
    if isinstance(folder, Path):
        told["identity_weights"] = _digest(folder)
    return told


def _digest(folder: Path) -> dict[str, str]:
    """Hash of every file of weights and settings; names of folders are left out, since a copy is the same."""
    found = {path.name: path for path in folder.iterdir() if path.suffix in {".safetensors", ".onnx", ".json", ".txt"}}
    try:
        return {name: digest_file(found[name]) for name in sorted(found)}
    except InputError as error:
        raise UsageError(error.message, path=error.path, hint=error.hint) from error


def _why(case: Case, prediction: Prediction) -> str:
    if not (case.query.text or "").strip():
        return "there is no expression"
    if not prediction.mask.any():
        return "nothing is segmented"
    if prediction.mask.all():
        return "the mask is the whole frame"
    return "the check cannot tell from these words"
