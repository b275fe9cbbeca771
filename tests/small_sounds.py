"""Small INPUTs of separated sounds, and a judge of them that comes as a plug-in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.media.wav import Sound, wav_bytes
from plugged import install

RATE_HZ = 8000
JUDGE = "sound.plugged.v1"

_MODULE = '''
import hashlib, json, os
from pathlib import Path

import numpy as np

from auscult.errors import InputError
from auscult.types import Metadata, SoundCurves, SoundEvidence, SoundVerdict


class Judge:
    """Scores how alike output and mixture are; what the prompt says, it does. PLUGGED_LOG gets what it was given."""

    name = "sound.plugged.v1"
    meta = Metadata(summary="a test's judge", goal="none", modality="sound", source="none")
    card = Path(__file__).with_name("card.json")
    uses_frames = os.environ.get("PLUGGED_BLIND") is None

    def batch(self, cases, separated):
        return [self._judged(*pair, of=len(cases)) for pair in zip(cases, separated, strict=True)]

    def __call__(self, case, separated):
        return self._judged(case, separated, of=1)

    def _judged(self, case, separated, of):
        if case.text == "refuse":
            raise InputError("this judge does not like it", expected="another item", hint="leave it out")
        if case.text == "raise":
            raise ZeroDivisionError("division by zero")
        if case.text == "die":
            os._exit(3)
        mixture = case.mixture
        assert mixture.shape == separated.shape and mixture.dtype == separated.dtype == np.float32
        if log := os.environ.get("PLUGGED_LOG"):
            seen = {
                "text": case.text, "seconds": mixture.shape[1] / case.rate_hz, "channels": mixture.shape[0], "of": of,
                "spans": [[one.sign, one.start_s, one.end_s] for one in case.spans], "mixture": id(mixture),
                "frames": None if case.frames is None else list(case.frames.shape),
                "mean": float(np.abs(separated.mean(axis=1)).max()), "pid": os.getpid(),
            }
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps(seen) + "\\n")
        power = float(np.square(mixture).sum())
        share = None if power == 0 else min(1.0, max(0.0, float((mixture * separated).sum()) / power))
        score = None if share is None else 1 + 4 * share
        if case.text == "nan":
            score = float("nan")
        scores = {
            f"{axis}{end}": None if score is None else min(5.0, max(1.0, score + step)) if score == score else score
            for axis in ("recall", "precision", "faithfulness", "overall")
            for end, step in (("", 0.0), ("_low", -0.25), ("_high", 0.25))
        }
        hops = max(1, round(mixture.shape[1] / case.rate_hz / 0.1))
        return SoundVerdict(
            id=case.id, **scores, difficulty={} if share is None else {"overall": 2.0},
            evidence=SoundEvidence(text=case.text is not None, spans=bool(case.spans), picture=case.frames is not None),
            rationale="The mixture is silent." if share is None else "As alike as that.", judge=self.name,
            novelty=0.25, domain="sound", curves=SoundCurves(hop_s=0.1, missing=(0.5,) * hops, left_over=(0.0,) * hops),
        )


JUDGE = Judge()
'''


def plug_in_sound(site: Path) -> str:
    """Install the judge into a folder that is to stand on ``sys.path``; gives its name."""
    return install(site, JUDGE, module="plugged_sound_judge", code=_MODULE)


def tone(seconds: float = 1.0, *, rate_hz: int = RATE_HZ, channels: int = 1, hz: float = 440.0) -> NDArray[Any]:
    """A quiet tone, float32 (channels, samples)."""
    wave = 0.25 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate_hz)) / rate_hz)
    return np.repeat(wave[None], channels, axis=0).astype(np.float32)


def save_sound(path: Path, samples: NDArray[Any], *, rate_hz: int = RATE_HZ) -> str:
    """Write a WAV file of floating point; gives its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wav_bytes(Sound(samples=samples.astype(np.float32), rate_hz=rate_hz), "float32"))
    return path.name


def sounds_input(folder: Path, *, mixtures: int = 2, outputs: int = 2) -> Path:
    """An INPUT of outputs that hold less of their mixture the later they come."""
    lines = []
    for number in range(mixtures):
        mixture = tone(hz=300 + 100 * number)
        save_sound(folder / f"mix{number}.wav", mixture)
        for candidate in range(outputs):
            save_sound(folder / f"out{number}_{candidate}.wav", mixture * (1 - candidate / outputs))
            line = {"mixture": f"mix{number}.wav", "separated": f"out{number}_{candidate}.wav"}
            lines.append({"id": f"m{number}/c{candidate}", **line, "text": "a tone", "system": f"s{candidate}"})
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder
