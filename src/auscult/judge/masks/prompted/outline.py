"""The outline network: what `masks.compact.v1` says of the type of defect, by strip and cues.

It knows rims and cutouts better than a look at 256 px can; of the IoU of real masks it knows little, and is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.calibration import load_calibration
from auscult.judge.masks.compact.network import load_network, named
from auscult.judge.masks.compact.view import View, inputs

_LEAST: Final = 1e-6


def outline_types(views: Sequence[View]) -> NDArray[np.float64]:
    """Log shares of the six types, (n, 6), in the order of ``network.TYPES``.

    Args:
        views: What ``masks.compact.v1`` sees of each mask.
    """
    network, calibration = load_network(), load_calibration()
    found = network(inputs(list(views)))
    shares = named(found["types"], calibration.temperature, calibration.arbitrary)
    return np.asarray(np.log(np.maximum(shares, _LEAST)), dtype=np.float64)
