"""A small command that keeps a record: run by tests in a process of its own, to be interrupted and killed.

python recorder.py FOLDER COUNT WORKERS [PAUSE_S]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from auscult.errors import AuscultError, InputError
from auscult.outcome import Failed
from auscult.record.folder import open_run
from auscult.record.manifest import build
from auscult.record.schema import error_to_json
from auscult.work import Task, run_tasks


def compute(number: int, *, pause_s: float) -> dict[str, object]:
    time.sleep(pause_s)
    if number % 10 == 7:
        raise InputError(f"number {number} is a bad one")
    return {"id": f"n{number}", "value": number * number, "text": "é\u2028" * (number % 50)}


def make(pause_s: float) -> Callable[[int], dict[str, object]]:
    return partial(compute, pause_s=pause_s)


def main(folder: Path, count: int, workers: int, pause_s: float = 0.0) -> None:
    manifest = build("record", given={"count": count}, defaulted={"workers": workers}, seeds={}, inputs={})
    with open_run(folder, manifest) as run:
        done_ids = {row["id"] for row in run.lines("verdicts.jsonl")}
        failed = {row["id"] for row in run.lines("errors.jsonl")}
        print("open", flush=True)
        tasks = (Task(f"n{number}", number) for number in range(count) if f"n{number}" not in done_ids)
        for result in run_tasks(partial(make, pause_s), tasks, workers=workers):
            if isinstance(result.outcome, Failed):
                if result.key not in failed:
                    run.append("errors.jsonl", error_to_json(result.key, result.outcome.error))
            else:
                run.append("verdicts.jsonl", result.outcome)
        run.write_json("summary.json", {"n": count})
        run.finish()


if __name__ == "__main__":
    import recorder  # the workers import it under this name

    try:
        recorder.main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *(float(a) for a in sys.argv[4:]))
    except AuscultError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
