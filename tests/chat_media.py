"""Small media and profiles for tests of models behind an endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from auscult.media.frames import encode_jpeg, encode_png
from auscult.media.wav import encode_wav
from auscult.models.chat.model import Asking, ChatModel, chat_model
from auscult.models.chat.profile import ChatProfile

HERE = "http://127.0.0.1:9/v1"


def picture(path: Path, *, colour: int = 200, size: tuple[int, int] = (8, 12)) -> Path:
    """A picture of one colour; PNG or JPEG by its name."""
    frame = np.full((*size, 3), colour, np.uint8)
    path.write_bytes(encode_jpeg(frame) if path.suffix == ".jpg" else encode_png(frame))
    return path


def sound(path: Path, *, hz: float = 440.0, rate_hz: int = 16_000, seconds: float = 0.5) -> Path:
    """A sine as WAV."""
    times = np.arange(round(rate_hz * seconds)) / rate_hz
    path.write_bytes(encode_wav(np.sin(2 * np.pi * hz * times, dtype=np.float64).astype(np.float32) * 0.5, rate_hz))
    return path


def model(base_url: str = HERE, *, asking: dict[str, Any] | None = None, **profile: Any) -> ChatModel:
    """A model at an address."""
    chat_profile = ChatProfile(**{"model": "tested", **profile})
    return chat_model(
        "", profile=chat_profile, asking=Asking(**{"base_url": base_url, "sends": base_url != HERE, **(asking or {})})
    )
