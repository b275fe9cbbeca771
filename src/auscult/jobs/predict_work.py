"""What runs in a worker: one model, asked about one case after another."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auscult.errors import AuscultError, ErrorRecord
from auscult.jobs.predict_reading import Reader
from auscult.media.rle import encode
from auscult.models.base import Ask, Clip
from auscult.models.spec import ModelSpec
from auscult.outcome import Failed

if TYPE_CHECKING:
    from auscult.jobs.predict import Request

READ: Final = "read"
"""Stage of a file that cannot be read: no fault of the model."""


class Asked:
    """A model in this process.

    Args:
        spec: The model; loaded here.
        timeout_s: What a case may take; who stops it then is not here.
    """

    def __init__(self, spec: ModelSpec, *, timeout_s: float | None = None) -> None:
        self._spec = spec
        self._model = spec.load(timeout_s=timeout_s)
        self._reader = Reader()

    def __call__(self, request: Request) -> dict[str, Any] | Failed:
        """Ask, and give the row that is stored; or why the case cannot be read, whichever model is asked.

        Raises:
            InputError: What the model gave is no answer.
        """
        begun = time.perf_counter()
        try:
            ask = request.asked.ask(self._reader)
        except AuscultError as error:
            return Failed(ErrorRecord.of(error, READ))
        clock = _Clock(ask, begun=begun)
        try:
            answer = self._model(clock.ask)
        except AuscultError:
            if clock.unread is None:
                raise
            return Failed(ErrorRecord.of(clock.unread, READ))
        counts = [encode(mask)["counts"] for mask in answer.masks]
        whole = time.perf_counter() - begun
        return {
            "key": request.key,
            "id": request.id,
            "condition": request.condition,
            "model": self._spec.name,
            "revision": self._spec.revision,
            "size": list(ask.size),
            "counts": counts,
            "threshold": answer.threshold,
            "seconds": round(answer.seconds, 6),
            "preparing_s": round(clock.preparing_s, 6),
            "overhead_s": round(max(0.0, whole - clock.preparing_s - answer.seconds), 6),
            "peak_mb": _peak_mb(),
        }


class _Clock:
    """Tells the time of making the question from that of the adapter around the model, and its failures."""

    def __init__(self, ask: Ask, *, begun: float) -> None:
        self.unread: AuscultError | None = None
        self.preparing_s = time.perf_counter() - begun
        self._frames = ask.frames
        self.ask = replace(ask, frames=self.frames)

    def frames(self) -> Clip:
        """The frames, timed."""
        begun = time.perf_counter()
        try:
            made = self._frames()
        except AuscultError as error:
            self.unread = error
            raise
        self.preparing_s += time.perf_counter() - begun
        return made


def _peak_mb() -> int | None:
    """The most memory that this process has had so far, with the model; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1 << 10)
