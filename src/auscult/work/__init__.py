"""Run a function over many tasks in worker processes; here alone an exception becomes ``Failed``.

A task costs itself at most: its exception, its crash, its time-out are its own result, and the others go on. Workers
are separate interpreters, not forks: no lock or thread of the caller is copied into them, they do not run the caller's
script again, and each computes on one processor, because the workers are the parallelism.
"""

from auscult.work.pool import EarlyWorkers, KeptWorkers, Task, TaskResult, default_workers, run_tasks

__all__ = ["EarlyWorkers", "KeptWorkers", "Task", "TaskResult", "default_workers", "run_tasks"]
