"""Files of a folder of weights, read with bounds: small tables of JSON, and the header of a safetensors file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError
from auscult.media.limits import Limits
from auscult.media.paths import check_file, read_bytes, unreadable

_SMALL: Final = Limits(max_bytes=1_000_000)
_LARGE: Final = Limits(max_bytes=16_000_000_000)
_MOST_HEADER: Final = 32_000_000
_MOST_AXES: Final = 16


def read_table(path: Path, limits: Limits = _SMALL) -> Mapping[str, Any]:
    """Read a JSON object, a small one unless told.

    Raises:
        InputError: It is missing, too large, broken, or no object.
    """
    try:
        found = json.loads(read_bytes(path, limits=limits))
    except (ValueError, RecursionError) as error:
        raise InputError(f"broken JSON: {str(error)[:80]}", path=path) from error
    if not isinstance(found, dict):
        raise InputError("the settings are no object", path=path)
    return found


def count_weights(path: Path) -> int:
    """Count the numbers in a safetensors file by its header; the weights are not read.

    Raises:
        InputError: The file is missing, too large, damaged or cut off.
    """
    check_file(path, limits=_LARGE)
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = file.read(min(length, _MOST_HEADER))
    except OSError as error:
        raise unreadable(path, error) from error
    if not 2 <= length <= min(_MOST_HEADER, size - 8):
        raise InputError("it is no safetensors file, or cut off", path=path, hint="download it again")
    try:
        table = json.loads(head)
        entries = [entry for name, entry in table.items() if name != "__metadata__"]
        numbers = sum(_numbers(entry["shape"]) for entry in entries)
        end = max((int(entry["data_offsets"][1]) for entry in entries), default=0)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"its header is damaged: {str(error)[:60]}", path=path) from error
    if 8 + length + end != size:
        raise InputError(
            f"it has {size:,} bytes, and its header speaks of {8 + length + end:,}",
            path=path,
            hint="it was cut off: download it again",
        )
    return numbers


def _numbers(shape: Any) -> int:
    if len(shape) > _MOST_AXES:
        raise ValueError(f"a tensor of {len(shape)} axes")
    return math.prod(map(int, shape))
