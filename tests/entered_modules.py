"""How many files a person must know to follow a command: the modules of auscult of which at least one function runs.

``entered_modules`` counts in a process of its own, which has done nothing before: what runs once, when a module is
imported on the way, counts too.
"""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import auscult

PACKAGE = Path(auscult.__file__).parent


def entered_modules(function: Callable[[Any], Any], options: Any) -> list[str]:
    """The modules that ``function(options)`` enters, as paths in the package."""
    call = pickle.dumps((function, options))
    run = subprocess.run([sys.executable, __file__], input=call, stdout=subprocess.PIPE, check=True)
    return list(json.loads(run.stdout))


def _main() -> None:
    function, options = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - from the test
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")  # no module, no class
        if event == "call" and is_function and code.co_filename.startswith(str(PACKAGE)):
            entered.add(code.co_filename)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        function(options)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(json.dumps(sorted(Path(name).relative_to(PACKAGE).as_posix() for name in entered)))


if __name__ == "__main__":
    _main()
