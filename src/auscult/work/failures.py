"""``Failed`` records for exceptions, crashed workers and time-outs."""

from __future__ import annotations

import signal
import sys
from pathlib import PurePath
from types import TracebackType

from auscult.errors import AuscultError, ErrorRecord, UsageError
from auscult.outcome import Failed

MODEL_STAGE = "predict"  # where the code of models under test runs
_VERB_STAGES = ("judge", "stress", "make")

_MAX_TEXT = 500
_LIBRARIES = frozenset({"numpy", "cv2", "PIL", "scipy", "skimage", "sklearn", "torch"})
_REPORT = "a defect in auscult or in a plug-in: please report it with the place named above"
_MODEL = "the model under test raised it, at the place named above where there is one; the other cases went on"
_MODEL_SETUP = "run it by hand to see why: this is the model's own code or weights; the other models went on"


def of_exception(error: BaseException, stage: str) -> Failed:
    """The fields of our own exceptions; class, text and source location of all others."""
    if isinstance(error, AuscultError):
        return Failed(ErrorRecord.of(error, stage))
    if isinstance(error, MemoryError):
        hint = "the machine ran out of memory: use fewer --workers or smaller input"
        return Failed(ErrorRecord(stage=stage, error="out of memory", hint=hint))
    return Failed(ErrorRecord(stage=stage, error=described(error), hint=_MODEL if stage == MODEL_STAGE else _REPORT))


def of_death(code: int, stage: str) -> Failed:
    """A worker process died; ``code`` is its exit status, negative for a signal."""
    whose = "model's" if stage == MODEL_STAGE else "worker"
    if code == -9:
        hint = "killed from outside, most often for lack of memory: use fewer --workers or smaller input"
    elif stage == MODEL_STAGE:
        hint = "the model under test, or a library that it uses, ended or crashed; the other cases went on"
    else:
        hint = "a crash in a library or plug-in on this input; the others went on"
    return Failed(ErrorRecord(stage=stage, error=f"the {whose} process died ({_exit_text(code)})", hint=hint))


def of_timeout(limit_s: float, stage: str) -> Failed:
    """A task took longer than its limit."""
    return Failed(
        ErrorRecord(
            stage=stage,
            error=f"took longer than the limit of {limit_s:g} s and was stopped",
            hint=f"raise {_limit('--timeout', stage)}, or look at this input: it may be very large or damaged",
        )
    )


def of_memory(limit_mb: int, stage: str) -> Failed:
    """A worker took more memory than its limit."""
    return Failed(
        ErrorRecord(
            stage=stage,
            error=f"took more memory than the limit of {limit_mb:,} MB and was stopped",
            hint=f"raise {_limit('--memory-mb', stage)} if the machine has more, or look at this input: it may be very "
            "large",
        )
    )


def of_setup(error: BaseException, stage: str) -> AuscultError:
    """The error to raise when the workers' function cannot be made."""
    if isinstance(error, AuscultError):
        return error
    if isinstance(error, AttributeError) and "__main__" in str(error):
        return UsageError(
            f"the workers cannot see what is defined in the script itself ({error})",
            expected="functions and classes that can be imported",
            hint="put them into a module of their own and import it, or use workers=0",
        )
    if stage == MODEL_STAGE:
        return UsageError(f"the model was not loaded: {described(error)}", hint=_MODEL_SETUP)
    return UsageError(f"the workers could not be set up: {described(error)}", hint="`auscult doctor` checks what works")


def of_setup_death(code: int, stage: str, *, memory_mb: int | None = None) -> AuscultError:
    """The error to raise when a worker died before its first task; ``memory_mb`` is the limit it exceeded, if any."""
    model = stage == MODEL_STAGE
    if memory_mb is not None:
        return UsageError(
            f"{'the model' if model else 'a worker process'} took more memory than the limit of {memory_mb:,} MB while "
            f"it was being {'loaded' if model else 'set up'}",
            hint=f"raise {_limit('--memory-mb', stage)}: what is loaded before the first case needs more",
        )
    if model:
        return UsageError(f"the model's process died while it was being loaded ({_exit_text(code)})", hint=_MODEL_SETUP)
    return UsageError(
        f"a worker process died while it was being set up ({_exit_text(code)})",
        hint="use fewer --workers if memory is short; `auscult doctor` checks what works",
    )


def of_setup_timeout(limit_s: float, stage: str) -> AuscultError:
    """The error to raise when a worker was not ready for its first task in time."""
    problem = "the model was not loaded" if stage == MODEL_STAGE else "a worker process was not set up"
    return UsageError(
        f"{problem} within {limit_s:g} s",
        hint=f"raise {_limit('--timeout', stage)} where it needs longer; does it wait for a lock, a download or a key?",
    )


def _limit(option: str, stage: str) -> str:
    """Name of the limit in messages: an option of the command line, if the verb has it."""
    return option if stage in {MODEL_STAGE, *_VERB_STAGES} else "the limit"


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {-code}, {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def described(error: BaseException) -> str:
    """Class, text and source location of an exception, on one line."""
    text = " ".join(_text(error).split())[:_MAX_TEXT]
    location = _location(error.__traceback__)
    return type(error).__name__ + (f": {text}" if text else "") + (f" (at {location})" if location else "")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception class of a plug-in may be broken itself
        return ""


def _location(trace: TracebackType | None) -> str:
    """File and line of the innermost frame that is auscult's or a plug-in's, not a library's."""
    location = ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        package = module.partition(".")[0]
        if package not in _LIBRARIES | sys.stdlib_module_names and not module.startswith("auscult.work"):
            file = PurePath(trace.tb_frame.f_code.co_filename)
            depth = module.count(".") + 1 + (file.name == "__init__.py")
            parts = file.parts[-depth:]
            location = f"{'/'.join(parts)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return location
