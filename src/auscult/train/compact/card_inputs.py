"""What each input of the network is worth: the shipped network, shown less than it was trained with.

A picture that is taken away is mid grey, as what lies outside a frame is; the mask stays in its place. The network was
never trained like that, so what a number loses is what this network makes of the input, and an upper bound on what the
input is worth: one trained without it might make up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact import CompactJudge
from auscult.judge.masks.compact.calibration import Calibration
from auscult.judge.masks.compact.network import Network
from auscult.types import Case, MaskJudge, Metadata, Prediction, Verdict

Inputs: TypeAlias = Mapping[str, NDArray[np.float32]]

_COLOURS: Final = slice(0, 3)
_DISTANCE: Final = slice(4, 5)
_ALL: Final = slice(None)

BLANKED: Final[Mapping[str, tuple[tuple[str, slice], ...]]] = {
    "all inputs": (),
    "no picture": (("crop", _COLOURS), ("context", _COLOURS), ("strip", _COLOURS)),
    "mask of the crop alone": (("crop", _COLOURS), ("context", _ALL), ("strip", _ALL)),
    "no picture in the crop": (("crop", _COLOURS),),
    "no picture in the strip": (("strip", _COLOURS),),
    "no picture in the context": (("context", _COLOURS),),
    "picture in the strip alone": (("crop", _COLOURS), ("context", _COLOURS)),
    "no distance": (("crop", _DISTANCE),),
}
"""What is taken away: inputs and their channels."""


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


def blanked(network: Network, calibration: Calibration) -> Sequence[MaskJudge]:
    """The judge with all inputs, and without some.

    Args:
        network: The shipped network.
        calibration: The shipped calibration.
    """
    return [
        Blanked(name, CompactJudge(network=without(network, parts), calibration=calibration))
        for name, parts in BLANKED.items()
    ]


def without(network: Network, parts: Sequence[tuple[str, slice]]) -> Network:
    """A network that is shown less.

    Args:
        network: The network.
        parts: Inputs and their channels that are filled with 0: mid grey, half covered, on the outline.
    """

    def run(inputs: Inputs) -> dict[str, NDArray[np.float32]]:
        shown = {name: value.copy() for name, value in inputs.items()}
        for name, channels in parts:
            shown[name][:, channels] = 0.0
        return network(shown)

    return run
