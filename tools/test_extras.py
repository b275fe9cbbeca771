"""Install each extra alone, in an environment of its own, and run the tests that need it; exits with how many fail."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "pycocotools")


def main() -> int:
    """Test every extra that users may install, besides `dev`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = _apart({name: tuple(needs) for name, needs in project["optional-dependencies"].items() if name != "dev"})
    with ThreadPoolExecutor(1) as ahead, ThreadPoolExecutor(2) as beside:  # one is made while two are tested
        made = {name: ahead.submit(_environment, name) for name in extras}
        passes = list(beside.map(lambda name: _passes(name, made[name].result()), extras))
    failed = [name for name, passed in zip(extras, passes, strict=True) if not passed]
    print(f"extras: {len(passes) - len(failed)} of {len(passes)} pass; failed: {', '.join(failed) or 'none'}")
    return len(failed)


def _apart(extras: dict[str, tuple[str, ...]]) -> list[str]:
    """The extras to test: of those with the same packages, the first, whose marker all their tests bear."""
    first: dict[tuple[str, ...], str] = {}
    for name, needs in extras.items():
        if first.setdefault(needs, name) != name:
            print(f"--- extra {name}: the same packages as {first[needs]}", flush=True)
    return list(first.values())


def _environment(extra: str) -> Path:
    """The Python of an environment with the extra alone; kept from earlier runs unless what is wanted has changed."""
    place = ROOT / ".venvs" / extra
    python, stamp = place / "bin" / "python", place / ".made"
    wanted = (ROOT / "pyproject.toml").read_text() + (ROOT / "constraints.txt").read_text()
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(place, clear=True)  # without a pip of its own, which takes longer to install than most packages
        _link(_needed((f"auscult[{extra}]", *TOOLS)), next(place.glob("lib/python*/site-packages")))
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check"]
        wants = ["--no-compile", "-c", "constraints.txt", "-e", f".[{extra}]", *TOOLS]
        subprocess.run([*pip, *wants], cwd=ROOT, check=True)
        stamp.write_text(wanted)
    return python


def _needed(wanted: tuple[str, ...]) -> set[str]:
    """Names of the wanted packages and of all that they need, as far as they are installed here; without our own."""
    names, todo, seen = set[str](), [Requirement(one) for one in wanted], set[str]()
    while todo:
        one = todo.pop()
        if str(one) in seen:
            continue
        seen.add(str(one))
        try:
            needs = [Requirement(need) for need in distribution(one.name).requires or ()]
        except PackageNotFoundError:
            continue  # pip installs it
        names |= {one.name} - {"auscult"}
        extras = one.extras or {""}
        todo += [
            need for need in needs if not need.marker or any(need.marker.evaluate({"extra": name}) for name in extras)
        ]
    return names


def _link(names: set[str], site: Path) -> None:
    """Give an environment the packages of this one as further names of their files, compiled modules as well.

    pip checks them by the versions in constraints.txt and installs the rest; copying torch anew takes it a minute.
    """
    for name in names:
        for file in distribution(name).files or ():
            source, target = Path(str(file.locate())), site / file
            compiled = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
            for old, new in ((source, target), (compiled, target.parent / "__pycache__" / compiled.name)):
                if ".." not in file.parts and old.is_file() and not new.exists():
                    new.parent.mkdir(parents=True, exist_ok=True)
                    os.link(old, new)


def _passes(extra: str, python: Path) -> bool:
    mark = f"extra_{extra}"
    files = sorted(str(file) for file in (ROOT / "tests").rglob("test_*.py") if mark in file.read_text("utf-8"))
    tests = [str(python), "-m", "pytest", "-q", "-m", f"{mark} and not slow", *files]
    apart = {**os.environ, "AUSCULT_TESTS_ON": threading.current_thread().name[-1]}  # a processor for each thread
    ran = subprocess.run(tests, cwd=ROOT, env=apart, check=False, capture_output=True, text=True)
    print(f"--- extra {extra}\n{ran.stdout}{ran.stderr}", flush=True)
    return ran.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
