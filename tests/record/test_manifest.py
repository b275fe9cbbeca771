"""What a manifest says, hides and compares."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import Mismatch
from auscult.record.manifest import build, check_same
from auscult.record.schema import SCHEMA

SOURCE = Path(__file__).parents[2] / "src"


def manifest_of(**options: Any) -> dict[str, Any]:
    return build("audit", given=options, defaulted={}, seeds={}, inputs={})


def test_it_says_what_the_run_was() -> None:
    manifest = build(
        "audit",
        given={"source": Path("a/b"), "severity": (1, 3)},
        defaulted={"judge": "masks.cues.v1", "text": None},
        seeds={"run": np.int64(7)},
        inputs={"items": "00ff"},
    )
    assert manifest["schema"] == SCHEMA
    assert manifest["arguments"] == {
        "given": {"source": "a/b", "severity": [1, 3]},
        "defaulted": {"judge": "masks.cues.v1", "text": None},
    }
    assert set(manifest["versions"]) == {"auscult", "python", "platform", "numpy", "opencv", "pillow"}
    assert manifest["versions"]["numpy"] == np.__version__
    assert all(manifest["versions"].values())
    start = datetime.fromisoformat(manifest["started"])
    assert timedelta(0) <= datetime.now(UTC) - start < timedelta(minutes=1)
    assert json.loads(json.dumps(manifest, allow_nan=False)) == manifest


@pytest.mark.parametrize("name", ["api_key", "CHAT_API_KEY", "apiKey", "hf-token", "password", "client_secret", "key"])
def test_secrets_are_masked(name: str) -> None:
    text = json.dumps(manifest_of(**{name: "hunter2", "nested": {name: "hunter2"}, "listed": [{name: "hunter2"}]}))
    assert "hunter2" not in text


@pytest.mark.parametrize("name", ["max_tokens", "keyframes", "monkey", "tokenizer", "keyboard"])
def test_what_only_sounds_like_a_secret_is_kept(name: str) -> None:
    assert manifest_of(**{name: 5})["arguments"]["given"] == {name: 5}


def test_a_password_inside_an_address_is_masked() -> None:
    url = manifest_of(endpoint="https://me:hunter2@example.org/v1?x=1")["arguments"]["given"]["endpoint"]
    assert url == "https://***@example.org/v1?x=1"


def test_an_absent_secret_is_seen_to_be_absent() -> None:
    assert manifest_of(api_key=None)["arguments"]["given"] == {"api_key": None}


def test_building_it_imports_no_library() -> None:
    code = (
        "import sys; from auscult.record.manifest import build; "
        "build('audit', given={}, defaulted={}, seeds={}, inputs={}); "
        "print([name for name in ('cv2', 'PIL', 'jinja2', 'rich') if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


def _git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    process = subprocess.run(["git", *identity, "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return process.stdout.strip()


def _checkout_of(package: Path, environment: dict[str, str] | None = None) -> list[Any]:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import auscult.version; "
        "from auscult.record.manifest import build; m = build('a', given={}, defaulted={}, seeds={}, inputs={}); "
        "assert auscult.version.__file__.startswith(sys.argv[1]); print(json.dumps([m['commit'], m['dirty']]))"
    )
    command = [sys.executable, "-c", code, str(package)]
    process = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    values: list[Any] = json.loads(process.stdout)
    return values


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.slow
def test_the_commit_is_auscults_own_and_never_the_repository_around_an_installed_package(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    package = shutil.copytree(SOURCE / "auscult", checkout / "src" / "auscult", ignore=shutil.ignore_patterns("*.pyc"))
    _git(tmp_path, "init", "-q", str(checkout))
    assert _checkout_of(checkout / "src") == [None, None], "no commit yet"
    _git(checkout, "add", ".")
    _git(checkout, "commit", "-q", "-m", "one")
    commit = _git(checkout, "rev-parse", "HEAD")
    assert _checkout_of(checkout / "src") == [commit, False]
    hook = {"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_DIR": str(tmp_path / "elsewhere")}
    assert _checkout_of(checkout / "src", hook) == [commit, False]
    (package / "version.py").write_text((package / "version.py").read_text("utf-8") + "\n", "utf-8")
    assert _checkout_of(checkout / "src") == [commit, True]
    installed = checkout / "env" / "site-packages"
    shutil.copytree(SOURCE / "auscult", installed / "auscult", ignore=shutil.ignore_patterns("*.pyc"))
    assert _checkout_of(installed) == [None, None]


def test_moving_an_argument_from_default_to_given_changes_nothing() -> None:
    old = build("audit", given={}, defaulted={"judge": "a"}, seeds={}, inputs={})
    check_same(old, build("audit", given={"judge": "a"}, defaulted={}, seeds={}, inputs={}))


def test_arguments_that_change_no_result_are_not_compared() -> None:
    names = ("workers", "json", "quiet", "max_failed", "overwrite")
    check_same(manifest_of(**dict.fromkeys(names, 1)), manifest_of(**dict.fromkeys(names, 2)))


def test_every_difference_is_named() -> None:
    with pytest.raises(Mismatch) as error:
        check_same(manifest_of(judge="a", policy="b"), manifest_of(judge="c", policy="d" * 500))
    assert "--judge was a, now c; --policy was b, now ddd" in error.value.message
    assert len(error.value.message) < 400


def test_a_manifest_that_hands_have_altered_is_compared_without_harm() -> None:
    for broken in ({"arguments": []}, {"arguments": {"given": 3}}, {"versions": None}, {}):
        with pytest.raises(Mismatch):
            check_same({"command": "audit", **broken}, manifest_of(judge="a"))
