"""Talks to the packages that perturb, in their own environment: `.venvs/perturb`, made by `make bench`."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venvs" / "perturb" / "bin" / "python"


class PeerError(RuntimeError):
    """The other package cannot do what was asked, and says why."""


class Peers:
    """One process of the other environment; a context manager."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [str(PYTHON), str(ROOT / "bench" / "peer_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        """Ready to ask."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=60)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._folder.cleanup()

    @property
    def folder(self) -> Path:
        """For files that both read."""
        return Path(self._folder.name)

    def put(self, name: str, array: NDArray[Any]) -> Path:
        """Write an array where the other process can read it."""
        path = self.folder / f"{name}.npy"
        np.save(path, array)
        return path

    def ask(self, room: str, name: str, *, severity: int, given: Path, **more: Any) -> dict[str, Any]:
        """Have one perturbation made.

        Returns:
            ``ms``, the processor time of each repeat.

        Raises:
            PeerError: The package failed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"room": room, "name": name, "severity": severity, "input": str(given), **more}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        told: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        if "error" in told:
            raise PeerError(f"{room}.{name}: {told['error']}")
        return told

    def made(self, room: str, name: str, *, severity: int, given: Path, **more: Any) -> NDArray[Any]:
        """What the other package makes of a file."""
        output = self.folder / "made.npy"
        self.ask(room, name, severity=severity, given=given, output=str(output), **more)
        found: NDArray[Any] = np.load(output, allow_pickle=False)
        return found
