"""The examples on the pages of docs/stress: sentences, and a few lines of Python that a test runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SENTENCES: Final = (
    "the small dog that barks after the horn",
    "Which of the two men on the left is playing the louder guitar?",
    "the woman in the red coat, who starts to sing before the drums come in",
)

_VISION: Final = """import numpy as np

from auscult.stress import vision

picture = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)  # yours: uint8 RGB
made = vision.perturb("{kind}", picture, severity=3, seed=7, key="v1/f3")
assert made.output.shape == picture.shape

again = vision.render("{name}", picture, made.params)  # params are JSON values
assert np.array_equal(again, made.output)
"""

_SOUND: Final = """import numpy as np

from auscult.stress import sound

tone = np.sin(np.arange(32_000) * 0.1).astype(np.float32) / 2  # yours: float32 (samples,) or (channels, samples)
made = sound.perturb("{kind}", tone, rate_hz=32_000, severity=3, seed=7, key="v1")
assert made.output.shape == tone.shape

again = sound.render("{name}", tone, made.params, rate_hz=32_000)  # params are JSON values
assert np.array_equal(again, made.output)
"""

_SENTENCES: Final = """from auscult.stress import sentences

sentence = "the small dog that barks after the horn"
made = sentences.perturb("{kind}", sentence, severity=3, seed=7, key="v1", keep=["dog"])
print(made.output)
for change in made.truth.words:
    print(change.start, repr(change.before), repr(change.after))

assert "dog" in made.output
again = sentences.render("{name}", sentence, made.params)  # params are JSON values
assert again == made.output
"""

_TIMING: Final = """import numpy as np

from auscult.stress import timing

clip = np.zeros((75, 24, 32, 3), np.uint8)  # yours: uint8 RGB (T, H, W, 3)
tone = np.sin(np.arange(48_000) * 0.1).astype(np.float32) / 2
made = timing.perturb("{kind}", clip, tone, rate_fps=25.0, rate_hz=16_000, severity=3, seed=7, key="v1")
print(made.truth.frames[:10], made.truth.offset_s[-1])

again = timing.render("{name}", clip, tone, params_json=made.params, rate_fps=25.0, rate_hz=16_000)
assert np.array_equal(again.clip, made.output.clip) and np.array_equal(again.sound, made.output.sound)
"""

_BLOCKS: Final[Mapping[str, str]] = MappingProxyType(
    {"vision": _VISION, "sound": _SOUND, "sentences": _SENTENCES, "timing": _TIMING}
)


def in_python(room: str, kind: str, name: str) -> str:
    """Lines of Python that perturb something of one's own and render it again."""
    return _BLOCKS[room].format(kind=kind, name=name)
