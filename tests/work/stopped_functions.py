"""What the worker of a command does that is stopped: it starts a program and waits for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from auscult.work.line_program import Conversation

_PROGRAM = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()}\\n'); time.sleep(60)"


def make(folder: str) -> Callable[[int], None]:
    Path(folder, "worker").write_text(f"{os.getpid()}\n", "ascii")

    def wait(_: int) -> None:
        talk = Conversation([sys.executable, "-S", "-c", _PROGRAM, str(Path(folder, "program"))], answers="")
        talk.exchange({"id": ""}, most_bytes=1000)

    return wait
