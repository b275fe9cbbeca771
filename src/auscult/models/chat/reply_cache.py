"""Replies that are needed again: descriptions of media, reformatted replies. Only completed ones are kept.

One line of JSON for each, appended whole, under a hash of the model, its revision, the text that was sent and the
content of the media. The same is never asked twice, by two threads at once neither.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

from auscult.media.paths import regular_descriptor
from auscult.models.omni import CountedText
from auscult.record.codec import dump
from auscult.record.digest import digest_file, digest_json
from auscult.record.lines import heal, read_lines

FILE: Final = "reply_cache.jsonl"
"""Its name in a run's folder."""


def key_of(model: str, revision: str, *, text: str, media: tuple[Path, ...]) -> str:
    """The key of a reply: everything that it depends on."""
    return digest_json([model, revision, text, [digest_file(path) for path in media]])


class ReplyCache:
    """Replies by key, in a file; in memory alone without one. Safe to use from threads of one process.

    The file is healed and read when a reply is first needed: by then the run's folder is locked.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._lock = file, threading.Lock()
        self._known: dict[str, Future[str]] = {}
        self._unread = file is not None

    def __contains__(self, key: str) -> bool:
        """Whether it needs no asking."""
        with self._lock:
            self._read()
            return key in self._known

    def reply(self, key: str, ask: Callable[[], str], **about: Any) -> CountedText:
        """The reply of a key, asked where it is not known, with its usage then; ``about`` stands in its line too.

        What ``ask`` raises is raised, by everyone who waits for it, and not kept; so is what keeping it raises.
        """
        with self._lock:
            self._read()
            found = self._known.get(key)
            mine: Future[str] = Future()
            if found is None:
                self._known[key] = mine
        if found is not None:
            return CountedText(found.result(), {})
        try:
            text = ask()
            usage = dict(text.usage) if isinstance(text, CountedText) else {}
            self._append({"key": key, **about, "reply": str(text), **({"usage": usage} if usage else {})})
        except BaseException as error:
            with self._lock:
                del self._known[key]
            mine.set_exception(error)
            raise
        mine.set_result(str(text))
        return CountedText(text, usage)

    def _read(self) -> None:
        if self._file is not None and self._unread:
            heal(self._file)
            for row in read_lines(self._file):
                if isinstance(row.get("reply"), str):
                    self._known[str(row.get("key"))] = _done(row["reply"])
            self._unread = False

    def _append(self, row: dict[str, Any]) -> None:
        if self._file is None:
            return
        with self._lock:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with os.fdopen(regular_descriptor(self._file, flags), "ab") as file:
                file.write(dump(row) + b"\n")


def _done(text: str) -> Future[str]:
    future: Future[str] = Future()
    future.set_result(text)
    return future
