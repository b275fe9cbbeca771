"""Run a function over many tasks in worker processes; here alone an exception becomes ``Failed``.

An exception, a crash or a time-out is the result of its task alone; the other tasks go on. Workers are separate
interpreters, not forks: no lock or thread of the caller is copied into them, they do not run the caller's script again,
and each computes on one processor, because the workers are the parallelism.
"""

from auscult.work.pool import EarlyWorkers, KeptWorkers, Task, TaskResult, default_workers, run_tasks

__all__ = ["EarlyWorkers", "KeptWorkers", "Task", "TaskResult", "default_workers", "run_tasks"]
