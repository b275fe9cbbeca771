"""What scenes are made of: looks and backgrounds from one set, sounds from another, generated or a user's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auscult.errors import ErrorRecord, UsageError
from auscult.scenes.appearance import folder as look_folder
from auscult.scenes.appearance import generated as generated_looks
from auscult.scenes.appearance.sprite import AssetSet
from auscult.scenes.sound import folder as sound_folder
from auscult.scenes.sound import generated as generated_sounds
from auscult.scenes.sound.source import SoundSet

_FOLDERS = ("cutouts", "backgrounds", "sounds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """A set of looks and a set of sounds."""

    looks: AssetSet  # things and backgrounds
    sounds: SoundSet
    # a thing sounds with a sound of its own category, or not at all. Otherwise sounds are assigned at random, so that
    # no picture reveals which thing makes which sound
    own_voices: bool

    @property
    def name(self) -> str:
        """Both sets' names, for the record."""
        return f"{self.looks.name}+{self.sounds.name}"


GENERATED = Assets(looks=generated_looks.GENERATED, sounds=generated_sounds.GENERATED, own_voices=False)


def open_bundle(root: Path | None) -> tuple[Assets, tuple[ErrorRecord, ...]]:
    """Open the generated sets, or a user's folder, with the errors of the files that were left out.

    A folder has ``cutouts/``, ``backgrounds/`` and, optionally, ``sounds/``, without which the generated sounds are
    assigned at random.
    """
    if root is None:
        return GENERATED, ()
    if not root.is_dir():
        raise UsageError(
            "there is no such asset folder" if not root.exists() else "this is a file",
            path=root,
            expected="a folder with cutouts/, backgrounds/ and sounds/",
            hint="without --assets the generated things and sounds are used",
        )
    looks, look_errors = look_folder.open_assets(root)
    if not (root / "sounds").is_dir():
        return Assets(looks=looks, sounds=generated_sounds.GENERATED, own_voices=False), look_errors
    sounds, sound_errors = sound_folder.open_sounds(root)
    return Assets(looks=looks, sounds=sounds, own_voices=True), (*look_errors, *sound_errors)
