"""The limits of a command, as models meet them: a model that is never loaded, and a program that talks and stops."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from asking import question

from auscult.errors import ErrorRecord, UsageError
from auscult.jobs import predict as job
from auscult.jobs.predict import MediaReader
from auscult.jobs.runner import Silent
from auscult.models.base import Request
from auscult.models.spec import model_spec

TALKS = "import sys\nfor line in sys.stdin:\n    print('the one on the left', flush=True)\n"


@dataclass(frozen=True)
class AskedCase:
    """A question about noise."""

    def ask(self, _reader: MediaReader) -> Request:
        return question()


def failures(model_given: str, *, timeout_s: float) -> list[ErrorRecord]:
    failed: list[ErrorRecord] = []
    job.predict(
        [job.QueuedRequest(key="a", id="a", condition="clean", source=Path("a.png"), prepared=AskedCase())],
        model_spec(model_given),
        options=job.PredictOptions(workers=1, timeout_s=timeout_s),
        keep=lambda row: pytest.fail(str(row)),
        fail=lambda _, error: failed.append(error),
        progress=Silent(),
    )
    return failed


def test_a_model_that_hangs_while_it_is_loaded_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "LEAST_SETUP_S", 0.5)
    model = tmp_path / "model.py"
    model.write_text("import time\ntime.sleep(60)\ndef predict(frames): ...\n", "utf-8")
    start_s = time.monotonic()
    with pytest.raises(UsageError, match=r"the model was not loaded within 0.5 s") as error:
        failures(f"{model}:predict", timeout_s=0.1)
    assert time.monotonic() - start_s < 30
    assert "--timeout" in error.value.hint


@pytest.mark.parametrize(("timeout_s", "setup_s"), [(None, None), (5.0, 60.0), (600.0, 600.0)])
def test_loading_has_a_minute_at_least(timeout_s: float | None, setup_s: float | None) -> None:
    assert job.PredictOptions(workers=1, timeout_s=timeout_s).setup_s == setup_s


def test_a_program_that_talks_and_stops_is_told_with_its_words_before_its_time_is_up(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TALKS, "utf-8")
    errors = failures(f"command:{shlex.join([sys.executable, '-I', '-S', str(program)])}", timeout_s=10.0)
    (error,) = errors
    assert "no JSON object: 'the one on the left'" in error.error
    assert "standard error" in error.hint
