"""What a run was: command, arguments, versions, seeds, hashes of its inputs.

Arguments that are keys, tokens or passwords are masked, and so are passwords inside addresses.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from auscult.errors import Mismatch
from auscult.record.schema import SCHEMA
from auscult.version import VERSION

IGNORED = frozenset({"workers", "timeout_s", "json", "quiet", "verbose", "max_failed", "overwrite", "out", "color"})
"""Arguments that do not change a result."""

_MASK = "***"
_SECRET_WORDS = frozenset(
    {"key", "apikey", "token", "password", "passwd", "passphrase", "secret", "credential", "credentials"}
)
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
_GIT_LIMIT_S = 3.0
_DIGEST = re.compile(r"[0-9a-f]{32,128}")  # two of them only show that they differ, so they are not printed


def build(
    command: str,
    *,
    given: Mapping[str, Any],
    defaulted: Mapping[str, Any],
    seeds: Mapping[str, int],
    inputs: Mapping[str, Any],
) -> dict[str, Any]:
    """Write down what a run is about to be."""
    commit, dirty = _checkout()
    return {
        "schema": SCHEMA,
        "command": command,
        "arguments": {"given": _masked(given), "defaulted": _masked(defaulted)},
        "versions": versions(),
        "commit": commit,
        "dirty": dirty,
        "seeds": _masked(seeds),
        "inputs": _masked(inputs),
        "started": now(),
    }


def now() -> str:
    """The time, UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str | None]:
    """Versions of auscult, Python, the machine's system and the packages that shape a result."""
    return {
        "auscult": VERSION,
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.release()}-{platform.machine()}",
        "numpy": _version("numpy"),
        "opencv": _version("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
        "pillow": _version("pillow"),
    }


def check_same(
    old: Mapping[str, Any], new: Mapping[str, Any], *, ignore: frozenset[str] = IGNORED, path: Path | None = None
) -> None:
    """Insist that two manifests describe the same run, except for what does not change a result."""
    differing = list(differences(old, new, ignore))
    if differing:
        raise Mismatch(
            "the folder was made with other arguments or input: " + "; ".join(differing[:6]),
            expected="the command that began the folder",
            hint="repeat that command to go on, use --overwrite to begin anew, or another --out",
            path=path,
        )


def differences(old: Mapping[str, Any], new: Mapping[str, Any], ignore: frozenset[str]) -> Iterator[str]:
    """The differences between two manifests, in words, except those that do not change a result."""
    if old.get("command") != new.get("command"):
        yield f"the command was {old.get('command')}, now {new.get('command')}"
        return  # the arguments of another command cannot be compared
    was, is_now = section(old, "versions").get("auscult"), section(new, "versions").get("auscult")
    if was != is_now:
        yield f"auscult was {was}, now {is_now}"
    for words, old_values, new_values in (
        ("--{}", _arguments(old), _arguments(new)),
        ("seed {}", _other_seeds(old), _other_seeds(new)),
        ("input {}", section(old, "inputs"), section(new, "inputs")),
    ):
        for name in dict.fromkeys((*old_values, *new_values)):
            before, after = old_values.get(name), new_values.get(name)
            if name not in ignore and before != after:
                label = words.format(name.replace("_", "-") if words.startswith("--") else name)
                digests = all(isinstance(value, str) and _DIGEST.fullmatch(value) for value in (before, after))
                was, is_now = _excerpt(before), _excerpt(after)
                change = "has changed" if digests or was == is_now else f"was {was}, now {is_now}"
                yield f"{label} {change}"


def _other_seeds(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Seeds that are not arguments of the command; those that are, are compared as arguments."""
    arguments = _arguments(manifest)
    return {name: seed for name, seed in section(manifest, "seeds").items() if name not in arguments}


def section(manifest: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of a manifest; empty where it has none."""
    value = manifest.get(key)
    return value if isinstance(value, Mapping) else {}


def argument(manifest: Mapping[str, Any], name: str) -> Any:
    """An argument of the command, given or defaulted; None where the manifest does not have it."""
    return _arguments(manifest).get(name)


def notes_of(manifest: Mapping[str, Any]) -> list[str]:
    """What was noted of the inputs; none where the manifest was edited so that it holds no list of texts."""
    notes = section(manifest, "inputs").get("notes")
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []


def _arguments(manifest: Mapping[str, Any]) -> dict[str, Any]:
    arguments = section(manifest, "arguments")
    return {**section(arguments, "defaulted"), **section(arguments, "given")}


def _excerpt(value: Any) -> str:
    name = value.get("name") if isinstance(value, Mapping) else value
    text = "not set" if value is None else str(value if name is None else name)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _masked(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(name): _MASK if _is_secret(str(name)) and value is not None else _plain(value)
        for name, value in values.items()
    }


def _is_secret(name: str) -> bool:
    return not _SECRET_WORDS.isdisjoint(word.lower() for word in _WORD.findall(name))


def _plain(value: Any) -> Any:
    """The nearest JSON value, with passwords taken out of addresses."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return _masked(value)
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(inner) for inner in value), key=str)
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return value.item()
    return _LOGIN.sub(f"{_MASK}@", str(value))


def _version(*names: str) -> str | None:
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def _checkout() -> tuple[str | None, bool | None]:
    """Commit and dirty flag of auscult's own checkout; None, None for an installed package.

    An installed package may lie inside somebody's repository (an environment in a project folder); that repository
    is not auscult's and is never read.
    """
    package = Path(__file__).resolve().parents[1]
    root = package.parents[1]
    if package != root / "src" / "auscult" or not (root / ".git").exists():
        return None, None
    commit = _git(root, "rev-parse", "--verify", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no")
    return (commit or None), (None if commit is None or status is None else bool(status))


def _git(root: Path, *arguments: str) -> str | None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],  # noqa: S607 - wherever git is installed
            capture_output=True,
            check=True,
            timeout=_GIT_LIMIT_S,
            stdin=subprocess.DEVNULL,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()
