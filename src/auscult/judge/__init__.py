"""Judges: verdicts on predictions without truth. One loads only with a measured card (``judge.cards``)."""

from __future__ import annotations

from typing import Final

DEFAULT_JUDGE: Final = "masks.prompted.v1"
"""The judge of every command and function that is not given another."""
DEFAULT_SOUND_JUDGE: Final = "sound.compact.v1"
"""The same of separated sounds."""
