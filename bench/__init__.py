"""Speed and memory, measured beside peers in one run: `python -m bench`."""

import os

# Where bytecode may not be kept, each start of a command compiles all its modules, up to two seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
