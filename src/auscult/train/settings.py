"""Settings of a training run: YAML beside the recipe, or a file of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes


def read_yaml(name: str, *, folder: Path, committed: Sequence[str]) -> tuple[object, Path]:
    """What the YAML of a committed name in ``folder``, or a YAML file, holds; and where it stands."""
    path = folder / f"{name}.yaml" if name in committed else Path(name)
    try:
        import yaml
    except ImportError as error:
        raise UsageError("PyYAML is not installed", hint="pip install 'auscult[train]'") from error
    try:
        return yaml.safe_load(read_bytes(path, limits=Limits(max_bytes=100_000))), path
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"no YAML: {' '.join(str(error).split())[:160]}", path=path) from error
    except InputError as error:
        raise UsageError(
            f"the settings cannot be read: {error.message}",
            path=path,
            expected=f"{', '.join(committed)}, or a YAML file",
        ) from error
