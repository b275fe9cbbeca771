"""Functions that take memory, files and processes, for workers of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from auscult.work.process import peak_mb

KEPT: list[bytearray] = []
_HOLDS = "import sys, time; kept = bytearray(int(sys.argv[1]) << 20); time.sleep(60)"
_STARTS = "import subprocess as s, sys; s.Popen([sys.executable, '-S', '-c', sys.argv[1]], start_new_session=True)"


def take(payload: tuple[Any, ...]) -> Any:  # noqa: C901, PLR0911, PLR0912 - a table of misbehaviour
    match payload:
        case ("keep", mb):
            KEPT.append(bytearray(mb << 20))
            return os.getpid()
        case ("keep and wait", mb):
            buffer = bytearray(mb << 20)
            time.sleep(60)
            return len(buffer)
        case ("child keeps", mb):
            subprocess.run([sys.executable, "-S", "-c", _HOLDS, str(mb)], check=True)
        case ("stray keeps", mb):
            subprocess.run([sys.executable, "-S", "-c", _HOLDS, str(mb)], check=True, start_new_session=True)
        case ("leave a stray", note, end):
            script = f"import os, time; open({note!r}, 'w').write(str(os.getpid())); os.close(2); time.sleep(60)"
            subprocess.run([sys.executable, "-S", "-c", _STARTS, script], check=True)
            while not (Path(note).exists() and Path(note).read_text("ascii")):
                time.sleep(0.01)
            if end == "crash":
                os._exit(3)
        case ("children share", mb, seconds):
            shared = bytearray(mb << 20)
            for _ in range(3):
                if os.fork() == 0:
                    time.sleep(60)
            time.sleep(seconds)
            return len(shared) >> 20
        case ("leave behind",):
            Path(tempfile.gettempdir(), "left").mkdir()
            Path(tempfile.mkdtemp(), "file").write_text("left", "ascii")
            child = os.fork()
            if child == 0:
                time.sleep(60)
            return child, tempfile.gettempdir()
        case ("hold the pipe",):
            child = os.fork()
            if child == 0:
                time.sleep(60)
            os._exit(5)
        case ("go", folder):
            os.chdir(folder)
            return None
        case ("peak", mb):
            bytearray(mb << 20)
            return peak_mb()
        case ("where",):
            return str(Path.cwd())
    raise AssertionError(payload)


def make() -> Callable[[tuple[Any, ...]], Any]:
    return take


def make_large(mb: int) -> Callable[[tuple[Any, ...]], Any]:
    KEPT.append(bytearray(mb << 20))
    time.sleep(0.3)
    return take
