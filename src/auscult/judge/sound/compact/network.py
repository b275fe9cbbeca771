"""The network's files, run by ONNX Runtime on one core: trunk, evidence, head, and the head of difficulty."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.judge.sound.compact.front import STEP
from auscult.nets.onnx_session import HINT, check_outputs, open_session, read_network
from auscult.record.digest import digest_bytes
from auscult.types import Floats

FOLDER: Final = Path(__file__).parent
TRUNK, EVIDENCE, HEAD, HARDNESS = "trunk.onnx", "evidence.onnx", "head.onnx", "hardness.onnx"
WIDTH: Final = 384
JUDGED: Final = ("scores", "spread", "curves", "pooled")
HARDNESS_GIVES: Final = ("difficulty", "domain")
_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SoundNetwork:
    """The sessions, and a hash of their files. Inputs are named as in ``nets.sound_judge.network``."""

    folder: Path
    sessions: dict[str, Any]
    digest: str

    def steps(self, mels: Sequence[Floats]) -> Floats:
        """What the trunk makes of spectrograms (128, 32 S) of one length: float32 (n, 384, S)."""
        found = self._run(TRUNK, ["steps"], {"log_mel": np.stack(mels)[:, None]})["steps"]
        check_outputs(
            {"steps": found},
            {"steps": (WIDTH, mels[0].shape[1] // STEP)},
            count=len(mels),
            hint=HINT,
            path=self.folder / TRUNK,
        )
        return found

    def evidence(self, steps: Floats, classes: Floats) -> tuple[Floats, Floats]:
        """How strongly classes (n, 527) are in steps (n, 384, S): ``evidence`` (n, S, 4); and ``prompt`` (n, 65)."""
        found = self._run(EVIDENCE, ["evidence", "prompt"], {"steps": steps, "classes": classes})
        return found["evidence"], found["prompt"]

    def judged(self, heard: dict[str, Floats]) -> dict[str, Floats]:
        """The head's ``JUDGED`` of the arrays of ``Heard``, batch first."""
        return self._run(HEAD, JUDGED, heard)

    def hardness(self, heard: dict[str, Floats]) -> dict[str, Floats]:
        """``difficulty`` (n, 5) and logits of ``domain`` (n, 3) of the arrays of ``HeardAlone``, batch first."""
        return self._run(HARDNESS, HARDNESS_GIVES, heard)

    def _run(self, file: str, names: Sequence[str], heard: dict[str, Floats]) -> dict[str, Floats]:
        found = dict(zip(names, self.sessions[file].run(list(names), heard), strict=True))
        shapes = {name: value.shape[1:] for name, value in found.items()}
        check_outputs(found, shapes, count=len(next(iter(heard.values()))), hint=HINT, path=self.folder / file)
        return found


def load_network(folder: Path = FOLDER) -> SoundNetwork:
    """Open the network of a folder, once a process."""
    with _LOCK:
        return _opened(folder)


def open_network(folder: Path) -> SoundNetwork:
    """Open the network of a folder anew."""
    contents = {name: read_network(folder / name) for name in (TRUNK, EVIDENCE, HEAD, HARDNESS)}
    return SoundNetwork(
        folder=folder,
        sessions={name: open_session(content, folder / name) for name, content in contents.items()},
        digest=digest_bytes(b"".join(contents.values())),
    )


_opened: Final = cache(open_network)
