"""The outline network: what `masks.compact.v1` says of the type of defect, by strip and cues.

It knows rims and cutouts better than a look at 256 px can; of the IoU of real masks it knows little, and is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.answer import named
from auscult.judge.masks.compact.calibration import load_calibration
from auscult.judge.masks.compact.network import load_network
from auscult.judge.masks.compact.view import inputs, look
from auscult.types import Frame, Mask

_LEAST: Final = 1e-6


def outline_types(frames: Sequence[Frame], masks: Sequence[Mask]) -> NDArray[np.float64]:
    """Log shares of the six types, (n, 6), in the order of ``network.TYPES``.

    Args:
        frames: uint8 RGB (H, W, 3) each.
        masks: bool (H, W) each, none empty.
    """
    network, calibration = load_network(), load_calibration()
    found = network(inputs([look(frame, mask) for frame, mask in zip(frames, masks, strict=True)]))
    shares = named(found["types"], calibration.temperature, calibration.arbitrary)
    return np.asarray(np.log(np.maximum(shares, _LEAST)), dtype=np.float64)
