"""A released separator with a command line of its own, as a program: one run of its command for each mixture.

Write its command with {mixture}, {text} and {folder} where the sound, the words and the folder for its output belong::

    auscult run separation --model "cmd:python examples/separate_by_command.py
        python test_languageTSE.py --mixture {mixture} --enrollment {text} --output_dir {folder}" ...

What sounds lie in the folder afterwards are its answer: one is the wanted source; of several the one that the words
mean is chosen. A sound at another rate is resampled to that of its mixture, and cut or padded by a tenth of a second at
most; both are told on the standard error output. The command is run as it is, without a shell.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from serve_separator import serve

from auscult.arrays.resampling import mono_at
from auscult.errors import InputError
from auscult.media.sound import SOUND_SUFFIXES, read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.types import Samples, SoundQuery

WORDS = sys.argv[1:]
SLACK_S = 0.1


def separate(mixture: Samples, query: SoundQuery, *, rate_hz: int) -> Samples | Mapping[str, Samples]:
    """Run the command, and read what it wrote."""
    with tempfile.TemporaryDirectory() as home:
        sound, folder = Path(home) / "mixture.wav", Path(home) / "output"
        folder.mkdir()
        sound.write_bytes(wav_bytes(Sound(samples=np.atleast_2d(mixture), rate_hz=rate_hz), "int16"))
        given = {"{mixture}": str(sound), "{text}": query.text or "", "{folder}": str(folder)}
        words = [given.get(word, word.replace("{folder}", str(folder))) for word in WORDS]
        done = subprocess.run(words, stdout=sys.stderr, stderr=sys.stderr, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise InputError(f"{WORDS[0]} ended with {done.returncode}", expected="exit status 0")
        files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SOUND_SUFFIXES)
        tracks = {path.stem: fitted(path, rate_hz=rate_hz, count=mixture.shape[-1]) for path in files}
    if not tracks:
        raise InputError(f"{WORDS[0]} wrote no sound into its folder", expected="{folder} among its words")
    return next(iter(tracks.values())) if len(tracks) == 1 else tracks


def fitted(path: Path, *, rate_hz: int, count: int) -> Samples:
    """A sound at the rate of the mixture and of its length."""
    sound = read_sound(path)
    samples = mono_at(sound.samples, rate_hz=sound.rate_hz, wanted_hz=rate_hz)
    if sound.rate_hz != rate_hz or samples.size != count:
        print(f"{path.name}: {sound.rate_hz} Hz to {rate_hz} Hz, {samples.size} samples to {count}", file=sys.stderr)
    if abs(samples.size - count) > SLACK_S * rate_hz:
        raise InputError(f"the output has {samples.size} samples of a mixture of {count}", expected="equal lengths")
    return np.pad(samples[:count], (0, max(0, count - samples.size)))


if __name__ == "__main__":
    serve(separate)
