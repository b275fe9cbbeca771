"""What each input of the network is worth: the shipped network, shown less than it was trained with.

A picture that is taken away is mid grey, as what lies outside a frame is; the mask stays in its place. Cues that are
taken away have their usual values. The network was never trained like that, so what a number loses is what this network
makes of the input, and an upper bound on what the input is worth: one trained without it might make up for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact import CompactJudge
from auscult.judge.masks.compact.calibration import Calibration
from auscult.judge.masks.compact.network import INPUTS, Network
from auscult.judge.masks.compact.view import look
from auscult.train.material import Sample
from auscult.types import Case, MaskJudge, Metadata, Prediction, Verdict

Inputs: TypeAlias = Mapping[str, NDArray[np.float32]]

_COLOURS: Final = (0, 1, 2)
_DISTANCE: Final = (4,)
_ALL: Final = None
_LIKENESS: Final[Mapping[str, tuple[int, ...]]] = {name: (size[0] - 1,) for name, size in INPUTS.items() if size[1:]}
_NO_CUES: Final = ("cues", _ALL)

Part: TypeAlias = tuple[str, tuple[int, ...] | None]


def _picture(*names: str) -> tuple[Part, ...]:
    """Colours and likeness, which comes from them."""
    return tuple((name, (*_COLOURS, *_LIKENESS[name])) for name in names)


BLANKED: Final[Mapping[str, tuple[Part, ...]]] = {
    "all inputs": (),
    "no cues": (_NO_CUES,),
    "cues alone": (("crop", _ALL), ("context", _ALL), ("strip", _ALL)),
    "no likeness": tuple(_LIKENESS.items()),
    "no cues, no likeness": (_NO_CUES, *_LIKENESS.items()),
    "no cues, no picture": (_NO_CUES, *_picture("crop", "context", "strip")),
    "no picture in the crop": _picture("crop"),
    "no picture in the strip": _picture("strip"),
    "no picture in the context": _picture("context"),
    "no distance": (("crop", _DISTANCE),),
}
"""What is taken away: inputs and their channels, None for all of them."""


class Blanked:
    """The compact judge without some of its inputs.

    Args:
        name: What is left of it, a key of ``BLANKED``.
        judge: The judge with the blanked network.
    """

    def __init__(self, name: str, judge: CompactJudge) -> None:
        self.name = name
        self.meta: Metadata = judge.meta
        self._judge = judge

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Judge one candidate."""
        return self._judge(case, prediction)


def usual_cues(samples: Iterable[Sample]) -> NDArray[np.float32]:
    """The mean of the cues of some masks, (169,)."""
    found = [look(sample.frame, sample.mask).cues for sample in samples if sample.mask.any()]
    return np.asarray(np.mean(found, axis=0), dtype=np.float32)


def blanked(network: Network, calibration: Calibration, usual: NDArray[np.float32]) -> Sequence[MaskJudge]:
    """The judge with all inputs, and without some.

    Args:
        network: The shipped network.
        calibration: The shipped calibration.
        usual: What cues are where they are taken away, (169,).
    """
    return [
        Blanked(name, CompactJudge(network=without(network, parts, usual), calibration=calibration))
        for name, parts in BLANKED.items()
    ]


def without(network: Network, parts: Sequence[Part], usual: NDArray[np.float32]) -> Network:
    """A network that is shown less.

    Args:
        network: The network.
        parts: Inputs and their channels that are filled with 0: mid grey, half covered, on the outline.
        usual: What cues are filled with instead, (169,).
    """

    def run(inputs: Inputs) -> dict[str, NDArray[np.float32]]:
        shown = {name: value.copy() for name, value in inputs.items()}
        for name, channels in parts:
            if name == "cues":
                shown[name][:] = usual
            else:
                shown[name][:, slice(None) if channels is None else list(channels)] = 0.0
        return network(shown)

    return run
