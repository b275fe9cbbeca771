"""Options of ``auscult stress vision|sound|sentences|timing|recipe`` that are out of range, or have no effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from auscult.errors import UsageError
from auscult.jobs.perturb_parts import Kind, Part
from auscult.media.video_write import LOSSLESS, WORST_QUALITY
from auscult.media.wav import DEPTHS

if TYPE_CHECKING:
    from auscult.jobs.perturb import PerturbOptions

MOST_SEED: Final = 2**63
_NEEDS: Final[tuple[tuple[str, frozenset[Kind], str], ...]] = (
    ("quality", frozenset({"video"}), "video"),
    ("depth", frozenset({"video", "sound", "audio"}), "sound"),
    ("keep", frozenset({"sentence", "text"}), "sentence"),
    ("keep_head", frozenset({"sentence", "text"}), "sentence"),
)
"""Options, and the parts without which they do nothing."""


def check_ranges(options: PerturbOptions) -> None:
    """Insist that numbers are in range.

    Raises:
        UsageError: One is not.
    """
    fine = {
        f"--seed {options.seed}": (abs(options.seed) < MOST_SEED, f"below {MOST_SEED} in size"),
        f"--quality {options.quality}": (
            LOSSLESS <= options.quality <= WORST_QUALITY,
            f"{LOSSLESS} (lossless) to {WORST_QUALITY}",
        ),
        f"--depth {options.depth}": (options.depth in DEPTHS, " or ".join(DEPTHS)),
    }
    for given, (good, expected) in fine.items():
        if not good:
            raise UsageError(f"{given} is out of range", expected=expected)


def check_kept(options: PerturbOptions, rooms: frozenset[str]) -> None:
    """Refuse words to keep where no sentence is perturbed: whoever gives them believes that one is.

    Args:
        options: What was asked for.
        rooms: The rooms of the perturbations.

    Raises:
        UsageError: No perturbation of sentences was asked for.
    """
    given = [name for name, value in (("--keep", options.keep), ("--keep-head", options.keep_head)) if value]
    if given and "sentences" not in rooms:
        raise UsageError(
            f"{' and '.join(given)} had no effect: no kind of sentences was asked for",
            expected="a kind of sentences in --kind, such as misspelling",
            hint=f"leave out {' and '.join(given)}, or add a kind of sentences",
        )


def idle_options(given: frozenset[str], parts: Sequence[Part]) -> list[str]:
    """Notes of options that were spelled out, and that nothing in an input makes use of."""
    there = {part.kind for part in parts}
    return [
        f"--{name.replace('_', '-')} has no effect: the input holds no {what}"
        for name, kinds, what in _NEEDS
        if name in given and not kinds & there
    ]
