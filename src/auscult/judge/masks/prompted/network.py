"""The networks as functions of arrays: `member*.onnx` run by ONNX Runtime on one core.

Beside them stands a small one for the type of defect alone, `defect_classifier.onnx`: from cues measured along the
outline, those of `masks.compact.v1`, it knows rims and cutouts better than a look at 256 px can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import RecordError, UsageError
from auscult.judge.masks.compact.view import CUE_COUNT
from auscult.judge.masks.prompted.view import SHAPE, Lens
from auscult.judge.masks.shared import softmax
from auscult.nets.onnx_session import check_outputs, open_session, read_network
from auscult.record.codec import from_json, load
from auscult.types import Doubles, Floats

FOLDER: Final = Path(__file__).parent
MOST_BYTES: Final = 16_000_000
BINS: Final = 25
TYPES: Final = ("perfect", "cutout", "dilate", "erode", "merge", "arbitrary")
FEATURES: Final = 64
LENSES: Final = "lens"
"""Key of the file's own description: how the network looks, as JSON."""
CLASSIFIER_FILE: Final = "defect_classifier.onnx"
_LEAST: Final = 1e-6

_HINT: Final = "install auscult again; new files come from `auscult train prompted-mask`"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Member:
    """One loaded network.

    Attributes:
        path: The file it came from.
        lens: How it looks at a candidate.
        digest: SHA-256 of the file, in hex.
        session: The session of ONNX Runtime.
    """

    path: Path
    lens: Lens
    digest: str
    session: Any = field(repr=False)

    def __call__(self, inputs: Mapping[str, Floats], given: Floats | None = None) -> dict[str, Floats]:
        """Run a batch.

        Args:
            inputs: ``crop``, ``candidate``, ``strip`` and ``shape``, see ``view.inputs``.
            given: Another segmenter's answer as logits, (n, 1, grid, grid), which then counts instead of the
                network's own.

        Returns:
            ``answer`` (n, 1, grid, grid), ``ious`` (n, 25), ``types`` (n, 6) as logits; ``features`` (n, 64).
        """
        count, grid = len(inputs["shape"]), self.lens.grid
        other = np.zeros((count, 1, grid, grid), np.float32) if given is None else given
        counts = np.full((count, 1, 1, 1), 0.0 if given is None else 1.0, np.float32)
        shapes = {"answer": (1, grid, grid), "ious": (BINS,), "types": (len(TYPES),), "features": (FEATURES,)}
        found = self.session.run(list(shapes), {**inputs, "given": other, "counts": counts})
        outputs = dict(zip(shapes, found, strict=True))
        check_outputs(outputs, shapes, count=count, hint=_HINT, path=self.path)
        return outputs


def load_member(path: Path, digest: str | None = None) -> Member:
    """Open a network; a file that has not changed is opened once per process.

    Args:
        path: The file.
        digest: SHA-256 that it must have, in hex; None takes any.

    Raises:
        UsageError: The file is missing, too large, broken, another one, or has other inputs.
    """
    return _member(path, digest, _written(path))


@lru_cache(maxsize=16)
def _member(path: Path, digest: str | None, _changed: tuple[int, int]) -> Member:
    found, session = _opened(path, digest)
    return Member(path=path, lens=_lens(session, path), digest=found, session=session)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classifier:
    """The network that classifies the type of defect.

    Attributes:
        path: The file it came from.
        digest: SHA-256 of the file, in hex.
        session: The session of ONNX Runtime.
    """

    path: Path
    digest: str
    session: Any = field(repr=False)

    def __call__(self, cues: Floats, shape: Floats) -> Doubles:
        """Log shares of the six types, (n, 6), in the order of ``TYPES``.

        Args:
            cues: What is measured along the outline, float32 (n, 169).
            shape: As of ``view.shape_of``, float32 (n, 10).
        """
        (found,) = self.session.run(["types"], {"cues": cues, "shape": shape})
        check_outputs({"types": found}, {"types": (len(TYPES),)}, count=len(cues), hint=_HINT, path=self.path)
        return np.log(softmax(found) + _LEAST)


def load_classifier(path: Path, digest: str | None = None) -> Classifier:
    """Open the defect classifier; arguments and errors as of ``load_member``."""
    return _classifier(path, digest, _written(path))


@lru_cache(maxsize=16)
def _classifier(path: Path, digest: str | None, _changed: tuple[int, int]) -> Classifier:
    found, session = _opened(path, digest)
    inputs = {tensor.name: tuple(tensor.shape[1:]) for tensor in session.get_inputs()}
    wanted = {"cues": (CUE_COUNT,), "shape": (SHAPE,)}
    if inputs != wanted:
        raise UsageError(f"the network's inputs are {inputs}", expected=f"{wanted}", hint=_HINT, path=path)
    return Classifier(path=path, digest=found, session=session)


def _written(path: Path) -> tuple[int, int]:
    """When a file was written and its size: a cached network is that of the file as it is now."""
    status = path.stat() if path.is_file() else None
    return (status.st_mtime_ns, status.st_size) if status else (0, 0)


def _opened(path: Path, digest: str | None) -> tuple[str, Any]:
    """Hash and session of a file."""
    content = read_network(path, most_bytes=MOST_BYTES)
    found = hashlib.sha256(content).hexdigest()
    if digest is not None and found != digest:
        raise UsageError(
            f"these are weights {found[:12]}, the calibration is for {digest[:12]}",
            expected="weights and calibration of one run of `auscult train prompted-mask`",
            hint=_HINT,
            path=path,
        )
    return found, open_session(content, path)


def _lens(session: Any, path: Path) -> Lens:
    try:
        lens = from_json(Lens, load(session.get_modelmeta().custom_metadata_map[LENSES].encode()))
    except (KeyError, ValueError, RecordError) as error:
        raise UsageError("the network does not say how it looks at a mask", hint=_HINT, path=path) from error
    grid = lens.grid
    wanted = {
        "crop": (3, lens.side, lens.side),
        "candidate": (1, grid, grid),
        "strip": (6, 24, 256),
        "shape": (SHAPE,),
        "given": (1, grid, grid),
        "counts": (1, 1, 1),
    }
    found = {tensor.name: tuple(tensor.shape[1:]) for tensor in session.get_inputs()}
    if found != wanted or not 32 <= lens.side <= 1024 or not 1.0 <= lens.margin <= 8.0:
        raise UsageError(f"the network's inputs are {found}", expected=f"{wanted}", hint=_HINT, path=path)
    return lens


def run(
    members: Sequence[Member], inputs: Sequence[Mapping[str, Floats]], answers: Sequence[Floats] | None = None
) -> list[dict[str, Floats]]:
    """Run each member on its own inputs, and on another segmenter's answers if given."""
    given: Sequence[Floats | None] = answers or [None] * len(members)
    return [member(batch, answer) for member, batch, answer in zip(members, inputs, given, strict=True)]
