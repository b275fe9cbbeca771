"""Lay out real cut-outs, sounds and photographs as a folder of scene assets, from the project's data folder.

    python studies/scene_assets.py DATA OUT

What it takes and where it puts it is told in ``auscult.train.stamps``. Nothing of OUT may be passed on.
"""

from __future__ import annotations

import sys
from pathlib import Path

from auscult.train.stamps import lay_out

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lay_out(Path(sys.argv[1]), Path(sys.argv[2]))
