"""Batches made ahead by other processes, handed out in their order."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from auscult.train.compact.feed import Arrays, Feed, Shares
from auscult.train.compact.pack import read_pack

_AHEAD = 6
_LOOK_S = 2.0


class _Maker:
    """A worker's feed; one a process."""

    feed: Feed | None = None

    @classmethod
    def begin(cls, pack: Path, seed: int, shares: Shares) -> None:
        """Open the pack."""
        import cv2

        cv2.setNumThreads(1)
        threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
        cls.feed = Feed(read_pack(pack), seed=seed, shares=shares)

    @classmethod
    def make(cls, number: int, size: int) -> Arrays:
        """Make one batch."""
        if cls.feed is None:
            raise RuntimeError("the process was not begun")
        return cls.feed.batch(number, size)


def _leave_with(parent: int) -> None:
    """End this process when the one that wants the batches is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(0)


@contextmanager
def batches(
    pack: Path, *, seed: int, size: int, first: int = 0, workers: int = 1, shares: Shares | None = None
) -> Iterator[Iterator[Arrays]]:
    """Batches of a pack from a number on, without end.

    Args:
        pack: The pack's file.
        seed: Seed of everything drawn.
        size: Samples of a batch.
        first: Number of the first batch wanted.
        workers: Processes that make them; 0 makes them here.
        shares: How often each source is drawn.
    """
    if workers == 0:
        feed = Feed(read_pack(pack), seed=seed, shares=shares)
        yield (feed.batch(number, size) for number in _counted(first))
        return
    begun = (pack, seed, shares or Shares())
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_Maker.begin, initargs=begun
    ) as pool:
        try:
            yield _ahead(pool, first, size=size, most=_AHEAD * workers)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ahead(pool: ProcessPoolExecutor, first: int, *, size: int, most: int) -> Iterator[Arrays]:
    waiting: deque[Future[Arrays]] = deque()
    for number in _counted(first):
        waiting.append(pool.submit(_Maker.make, number, size))
        if len(waiting) >= most:
            yield waiting.popleft().result()


def _counted(first: int) -> Iterator[int]:
    number = first
    while True:
        yield number
        number += 1
