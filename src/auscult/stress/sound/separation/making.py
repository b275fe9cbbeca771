"""Make wrong outputs of true stems by name, and render them again from recorded parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from auscult.errors import UsageError
from auscult.outcome import Undefined
from auscult.stress.perturbation import Params, at_fault, chosen, kind_of, loaded
from auscult.stress.sound.base import AudioInfo
from auscult.stress.sound.making import opened, rate_of
from auscult.stress.sound.separation.base import Parts, SeparationStressor, SeparationTruth, Stems, truth_of
from auscult.types import Samples, Stressed

_SILENT: Final = 1e-9


def perturb(
    kind: str,
    stems: Sequence[Samples],
    *,
    target: int = 0,
    rate_hz: int,
    severity: float | str = 3,
    seed: int = 0,
    key: str = "",
) -> Stressed[Samples, SeparationTruth] | Undefined:
    """Make of the stems of a mixture what a separator would wrongly return for one of them.

    Args:
        kind: ``separation.leakage.v1``, or a short form such as ``leakage``.
        stems: The sources, whose sum is the mixture: float32 (samples,) or (channels, samples), all of one shape.
        target: Which of them is wanted, from 0.
        rate_hz: Samples per second.
        severity: 0..5, or ``low``, ``medium``, ``high`` for 1, 3, 5; 0 returns the stem.
        seed: The run's seed.
        key: What it is made for, an item's id; another key draws anew.

    Returns:
        The output, float32 of the stem's shape, which may leave [-1, 1], with its parameters and truth; ``Undefined``
        where the target is silent, or where other sources are needed and none is heard.

    Raises:
        UnknownName: No such stressor.
        UsageError: A stem is empty, not finite, or of another shape; or the severity is out of range.

    Example:
        >>> import numpy as np
        >>> tone, hum = (np.sin(np.arange(8000) * step).astype(np.float32) for step in (0.3, 0.02))
        >>> made = perturb("leakage", [tone, hum], rate_hz=8000, severity=5)
        >>> round(made.truth.interference_db, 2)
        0.0
    """
    stressor, given = loaded("separation", kind), _opened(stems, target, rate_hz)
    info = AudioInfo(samples=given.target.shape[1], channels=given.target.shape[0], rate_hz=given.rate_hz)
    params = chosen(stressor, info, severity=severity, seed=seed, key=key)
    if reason := _why_not(stressor, given):
        return Undefined(reason)
    parts, output = _made(stressor, given, params)
    truth = truth_of(parts, output, given.target)
    return Stressed(output=output.reshape(stems[target].shape), params=params.as_json(), truth=truth)


def render(
    kind: str, stems: Sequence[Samples], params_json: Mapping[str, Any], *, target: int = 0, rate_hz: int
) -> Samples:
    """Render again from recorded parameters, byte for byte.

    Raises:
        UnknownName: No such stressor.
        UsageError: The stems are of another shape or type, or lack what the stressor needs.
        InputError: The parameters are not this stressor's.
    """
    stressor, given = loaded("separation", kind), _opened(stems, target, rate_hz)
    params = stressor.params.from_json(params_json)
    if reason := _why_not(stressor, given):
        raise UsageError(f"nothing can be made: {reason}", expected="the stems that the parameters were drawn for")
    return _made(stressor, given, params)[1].reshape(stems[target].shape)


def _silent(sound: Samples) -> bool:
    return float(np.abs(sound).max()) < _SILENT


def _why_not(stressor: SeparationStressor, stems: Stems) -> str:
    if _silent(stems.target):
        return "target_silent"
    return "no_other_source" if stressor.needs_others and not stems.others else ""


def _made(stressor: SeparationStressor, stems: Stems, params: Params) -> tuple[Parts, Samples]:
    """The parts of an output, and the output, a new array."""
    parts = Parts(kept=stems.target)
    if params.strength > 0.0:
        parts = stressor.render(stems, params, stressor.amount.at(params.strength))
    output = parts.kept.copy()
    for part in (parts.interference, parts.artefacts):
        if part is not None:
            output += part
    if output.shape != stems.target.shape or output.dtype != np.float32:
        raise at_fault(stressor, f"made {kind_of(output)}", expected=f"float32 {stems.target.shape}")
    return parts, output


def _opened(stems: Sequence[Samples], target: int, rate_hz: object) -> Stems:
    if not 0 <= target < len(stems):
        raise UsageError(f"the target is stem {target}", expected=f"a number from 0 to {len(stems) - 1}")
    for stem in stems:
        if np.shape(stem) != np.shape(stems[target]):
            raise UsageError(
                f"one stem is {kind_of(stem)}, the target {kind_of(stems[target])}",
                expected="stems of one length and as many channels, all at one rate",
            )
    sounds = [opened(stem) for stem in stems]
    others = {at: sound for at, sound in enumerate(sounds) if at != target and not _silent(sound)}
    return Stems(target=sounds[target], others=others, rate_hz=rate_of(rate_hz))
