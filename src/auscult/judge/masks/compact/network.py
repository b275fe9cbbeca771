"""The network as a function of arrays: `weights.onnx` run by ONNX Runtime on one core, see ``nets.onnx_session``.

The histogram of the IoU has 40 bins. Bin k stands for its centre (k + 0.5) / 40, but for the first and the last, whose
values are fitted in calibration: in training a true IoU is shared between the two nearest centres, and one beyond the
outermost centres goes to the outermost bin whole. So the last bin stands for all that is above 0.9875, 1 included, and
the estimate can reach 1.

The network gives the IoU of a mask on an object, and apart from that how likely it is on none. With few objects to
learn from it takes unknown things for background too readily; so that likelihood is calibrated by itself, for a
share of 2 % of masks on no object, and then enters the estimate with IoU 0. Another real object cannot be distinguished
from the right one: identity is not checked.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from auscult.judge.masks.shared import softmax
from auscult.nets.onnx_session import HINT, check_outputs, open_session, read_network
from auscult.types import DEFECTS, Defect, Doubles, Floats

FILE: Final = Path(__file__).with_name("weights.onnx")
INPUTS: Final[Mapping[str, tuple[int, ...]]] = {
    "crop": (6, 128, 128),
    "context": (5, 64, 64),
    "strip": (6, 24, 256),
    "cues": (169,),
}
"""What a network may take, float32, batch first; it takes one of these or more."""
OUTPUTS: Final[Mapping[str, tuple[int, ...]]] = {
    "types": (6,),
    "ious": (40,),
    "truth": (1, 64, 64),
    "features": (64,),
}
"""What it gives, float32, batch first: logits but for the features."""

Network: TypeAlias = Callable[[Mapping[str, Floats]], dict[str, Floats]]
"""From inputs to outputs, by name. It may be called from several threads."""

_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnnxNetwork:
    """A loaded network: the inputs it uses, the SHA-256 of its file in hex, and its session of ONNX Runtime."""

    path: Path
    takes: tuple[str, ...]
    digest: str
    session: Any

    def __call__(self, inputs: Mapping[str, Floats]) -> dict[str, Floats]:
        """Run a batch: arrays of ``INPUTS`` to arrays of ``OUTPUTS``, all float32 and batch first."""
        names = list(OUTPUTS)
        found = self.session.run(names, {name: inputs[name] for name in self.takes})
        outputs = dict(zip(names, found, strict=True))
        check_outputs(outputs, OUTPUTS, count=len(inputs[self.takes[0]]), hint=HINT, path=self.path)
        return outputs


def load_network(path: Path = FILE) -> OnnxNetwork:
    """Open a network; the same file is opened once per process, whichever thread asks first.

    That its inputs and outputs are those above follows from its digest, which the calibration names.
    """
    with _LOCK:
        return _opened(path)


@cache
def _opened(path: Path) -> OnnxNetwork:
    content = read_network(path)
    session = open_session(content, path)
    takes = tuple(tensor.name for tensor in session.get_inputs())
    return OnnxNetwork(path=path, takes=takes, digest=hashlib.sha256(content).hexdigest(), session=session)


BINS: Final = 40
CENTRES: Final = (np.arange(BINS) + 0.5) / BINS


def named(logits: ArrayLike, temperature: float, arbitrary: tuple[float, float]) -> Doubles:
    """Probabilities of the six defects from the network's ``types``, (n, 6) -> (n, 6), each row summing to 1.

    The last is a mask on no object, all that the network knows of ``full_neg``.
    ``temperature`` divides the logits of the five kinds of masks on an object; ``arbitrary`` is slope and offset of the
    sixth's log-odds against these.
    """
    scores = np.asarray(logits, dtype=np.float64)
    highest = scores[:, :-1].max(axis=1)
    rest = highest + np.log(np.exp(scores[:, :-1] - highest[:, None]).sum(axis=1))
    odds = scores[:, -1] - rest  # the network's own log-odds of a mask on no object
    nothing = 1.0 / (1.0 + np.exp(-np.clip(arbitrary[0] * odds + arbitrary[1], -30.0, 30.0)))
    five = probabilities(scores[:, :-1], temperature)
    return np.hstack([five * (1.0 - nothing[:, None]), nothing[:, None]])


def lowered(shares: Doubles, nothing: Doubles) -> Doubles:
    """Histograms of the IoU, (n, 40), with the share of masks on no object, (n,), moved to the first bin."""
    found = shares * (1.0 - nothing[:, None])
    found[:, 0] += nothing
    return found


def probabilities(logits: ArrayLike, temperature: float) -> Doubles:
    """Softmax of logits over a temperature, (n, k) -> (n, k), each row summing to 1."""
    return softmax(np.asarray(logits, dtype=np.float64) / temperature)


def bin_values(ends: tuple[float, float]) -> Doubles:
    """What each bin stands for, (40,): its centre, but ``ends`` for the first and the last."""
    found = CENTRES.copy()
    found[0], found[-1] = ends
    return found


def mean_iou(shares: Doubles, ends: tuple[float, float]) -> Doubles:
    """Mean of histograms, (n, 40) -> (n,), 0..1."""
    return np.asarray(np.clip(shares @ bin_values(ends), 0.0, 1.0), dtype=np.float64)


def quantiles(shares: Doubles, ends: tuple[float, float], level: float) -> Doubles:
    """Quantile of histograms at ``level``, (n, 40) -> (n,), 0..1.

    Between the values of two bins the distribution rises as a straight line, half of each bin's share on either side.
    """
    values = bin_values(ends)
    below = np.cumsum(shares, axis=1) - shares / 2
    upper = np.clip((below < level).sum(axis=1), 1, BINS - 1)
    rows = np.arange(len(shares))
    left, right = below[rows, upper - 1], below[rows, upper]
    part = np.clip((level - left) / np.maximum(right - left, 1e-12), 0.0, 1.0)
    return np.asarray(values[upper - 1] + part * (values[upper] - values[upper - 1]), dtype=np.float64)


def by_defect(probs: NDArray[np.float64]) -> Mapping[str, float]:
    """The six defects' probabilities of one mask, (6,)."""
    return {name: float(value) for name, value in zip(DEFECTS, probs, strict=True)}


def likeliest(probs: Mapping[str, float]) -> Defect:
    """The most probable defect."""
    return max(DEFECTS, key=lambda name: probs[name])
