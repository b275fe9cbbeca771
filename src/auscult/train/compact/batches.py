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

from auscult.train.compact.echo import BLOCK, echoed
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
    pack: Path,
    *,
    seed: int,
    size: int,
    echo: int = 1,
    first: int = 0,
    workers: int = 1,
    shares: Shares | None = None,
) -> Iterator[Iterator[Arrays]]:
    """Batches of a pack from a number on, without end.

    Args:
        pack: The pack's file.
        seed: Seed of everything drawn.
        size: Samples of a batch.
        echo: How often each sample is shown, see ``echo``; 1 gives batches as they are made.
        first: The step that the first batch is for; with an echo of 1 that is the number of the batch made.
        workers: Processes that make them; 0 makes them here.
        shares: How often each source is drawn.
    """
    begin = first if echo == 1 else first // (BLOCK * echo) * BLOCK
    with _made(pack, begin, seed=seed, size=size, workers=workers, shares=shares, blocks=echo > 1) as made:
        yield made if echo == 1 else echoed(made, seed=seed, size=size, echo=echo, first=first)


@contextmanager
def _made(
    pack: Path, first: int, *, seed: int, size: int, workers: int, shares: Shares | None, blocks: bool
) -> Iterator[Iterator[Arrays]]:
    """Batches as they are made; for blocks the next one is made while the last is learned."""
    if workers == 0:
        feed = Feed(read_pack(pack), seed=seed, shares=shares)
        yield (feed.batch(number, size) for number in _counted(first))
        return
    begun = (pack, seed, shares or Shares())
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_Maker.begin, initargs=begun)
    try:  # not `with`: leaving that waits for every batch that was asked for
        yield _ahead(pool, first, size=size, most=BLOCK if blocks else _AHEAD * workers)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


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
