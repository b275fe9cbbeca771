"""What models are shown, as files: to predict elsewhere and give the masks back as a folder of predictions.

::

    inputs/<condition>/<case>/<frame>.png    as perturbed
    inputs/<condition>/<case>/query.json     {"text", "rate_hz", "frames", "digest"}; written last
    inputs/<condition>/<case>/first_mask.png the reference of `vos`
    inputs/<condition>/<case>/sound.wav      the reference of `avs`

Masks for ``predictions:DIR`` lie under the same names: ``DIR/<condition>/<case>/<frame>.png``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from auscult.jobs.predict import Reader
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.media.paths import write_bytes
from auscult.media.wav import Sound, wav_bytes
from auscult.record.folder import RunFolder
from auscult.suites.r2.perturbing import Prepared

FOLDER = "inputs"
QUERY = "query.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOrder:
    """A case under a condition, and where its files go.

    Attributes:
        prepared: The case under its condition.
        frames: A picture file for every frame.
        query: The file that says what is asked; it comes last.
        first_mask: Where the first mask goes, or None.
        sound: Where the sound goes, or None.
    """

    prepared: Prepared
    frames: tuple[Path, ...]
    query: Path
    first_mask: Path | None
    sound: Path | None


def order_of(run: RunFolder, prepared: Prepared) -> InputOrder | None:
    """Where the files of a case under a condition go; None where they are there.

    Raises:
        OutputError: The case's id is no path inside the folder, or a folder cannot be made.
    """
    case = prepared.case
    base = f"{FOLDER}/{prepared.condition.name}/{case.id}"
    query = run.claim(f"{base}/{QUERY}")
    if _is_of(query, case.digest):
        return None
    return InputOrder(
        prepared=prepared,
        frames=tuple(run.claim(f"{base}/{name}.png") for name in case.names),
        query=query,
        first_mask=run.claim(f"{base}/first_mask.png") if case.first else None,
        sound=run.claim(f"{base}/sound.wav") if case.sound is not None else None,
    )


def _is_of(query: Path, digest: str) -> bool:
    """Whether the files beside a query were written of the case as it is now."""
    try:
        told = json.loads(query.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("digest") == digest


class InputWriter:
    """Writes what models are shown, in one process."""

    def __init__(self) -> None:
        self._reader = Reader()

    def __call__(self, order: InputOrder) -> bool:
        """Write one case under one condition.

        Raises:
            InputError: It cannot be read or perturbed.
            OutputError: It cannot be written.
        """
        ask = order.prepared.ask(self._reader)
        for path, frame in zip(order.frames, ask.frames(), strict=True):
            write_frame(path, frame)
        if order.first_mask is not None and ask.first_mask is not None:
            write_mask(order.first_mask, ask.first_mask)
        if order.sound is not None and ask.sound is not None and ask.rate_hz is not None:
            samples = ask.sound if ask.sound.ndim == 2 else ask.sound[None]
            # Floating point: models are given these very samples.
            write_bytes(order.sound, wav_bytes(Sound(samples=samples, rate_hz=ask.rate_hz), "float32"))
        told = {
            "text": ask.query.text, "rate_hz": ask.rate_hz, "frames": list(ask.names),
            "digest": order.prepared.case.digest,
        }  # fmt: skip
        write_bytes(order.query, json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        return True
