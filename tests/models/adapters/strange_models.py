"""Models that behave well, and badly in every way that the table of tests lists."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

LEAKED: list[Any] = []


def good(frames: Any, query: Any, *, sound: Any = None, rate_hz: Any = None, first_mask: Any = None) -> Any:
    assert query.text == "the red car"
    assert (sound.shape, sound.dtype, rate_hz) == ((2, 800), np.float32, 8000)
    assert first_mask.dtype == bool
    return np.repeat(first_mask[None], len(frames), axis=0)


def soft(frames: Any, query: Any) -> Any:
    return np.linspace(0, 1, frames[..., 0].size).reshape(frames.shape[:3])


def list_of_arrays(frames: Any, query: Any) -> Any:
    return [frame[..., 0] > 127 for frame in frames]


class _Tensor:
    def __init__(self, array: Any) -> None:
        self._array = array

    def detach(self) -> _Tensor:
        return self

    def cpu(self) -> _Tensor:
        return self

    def numpy(self) -> Any:
        return self._array


def tensor(frames: Any, query: Any) -> Any:
    return _Tensor(frames[..., 0] > 127)


def list_of_tensors(frames: Any, query: Any) -> Any:
    return [_Tensor(frame[..., 0] > 127) for frame in frames]


def broken_tensor(frames: Any, query: Any) -> Any:
    class Broken(_Tensor):
        def numpy(self) -> Any:
            raise TypeError("Got unsupported ScalarType BFloat16")

    return Broken(None)


def wrong_type(frames: Any, query: Any) -> Any:
    return "a mask"


def no_mask(frames: Any, query: Any) -> Any:
    return None


def generated(frames: Any, query: Any) -> Iterator[Any]:
    for frame in frames:
        yield frame[..., 0] > 127


def wrong_shape(frames: Any, query: Any) -> Any:
    return np.zeros((len(frames), 5, 7), bool)


def ragged(frames: Any, query: Any) -> Any:
    return [np.zeros((4, 4), bool), np.zeros((5, 5), bool), np.zeros((5, 5), bool)]


def words(frames: Any, query: Any) -> Any:
    return np.full(frames.shape[:3], "yes")


def nan(frames: Any, query: Any) -> Any:
    mask_values = np.zeros(frames.shape[:3], np.float32)
    mask_values[0, 0, 0] = np.nan
    return mask_values


def logits(frames: Any, query: Any) -> Any:
    return frames[..., 0].astype(np.float32) - 127


def bytes_of_mask(frames: Any, query: Any) -> Any:
    return np.where(frames[..., 0] > 127, np.uint8(255), np.uint8(0))


def raises(frames: Any, query: Any) -> Any:
    raise ValueError("no such word in the vocabulary")


def changes_input(frames: Any, query: Any, *, sound: Any, first_mask: Any) -> Any:
    frames[:] = 0
    sound[:] = 0
    first_mask[:] = True
    return np.repeat(first_mask[None], len(frames), axis=0)


def prints(frames: Any, query: Any) -> Any:
    print("talk")
    os.write(1, b"talk from a library\n")
    ctypes.CDLL(None).puts(b"talk from C")
    ctypes.CDLL(None).fflush(None)
    return frames[..., 0] > 127


def reads(frames: Any, query: Any) -> Any:
    assert sys.stdin.read() == ""
    return frames[..., 0] > 127


def sys_exit(frames: Any, query: Any) -> Any:
    sys.exit(0)


def os_exit(frames: Any, query: Any) -> Any:
    os._exit(0)


def forks(frames: Any, query: Any) -> Any:
    child = os.fork()
    if child == 0:
        return np.ones(frames.shape[:3], bool)
    os.waitpid(child, 0)
    return frames[..., 0] > 127


def forks_and_leaves_it_to_the_child(frames: Any, query: Any) -> Any:
    if os.fork() != 0:
        os._exit(0)
    time.sleep(0.05)
    return frames[..., 0] > 127


def child_raises(frames: Any, query: Any) -> Any:
    child = os.fork()
    if child == 0:
        raise RuntimeError("in the child")
    os.waitpid(child, 0)
    return frames[..., 0] > 127


def child_lingers(frames: Any, query: Any) -> Any:
    if os.fork() == 0:
        time.sleep(600)
    subprocess.Popen(["sleep", "600"])
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    return frames[..., 0] > 127


def hangs(frames: Any, query: Any) -> Any:
    time.sleep(600)


def leaks_at_once(frames: Any, query: Any) -> Any:
    while True:
        LEAKED.append(np.ones((16 << 20,), np.uint8))
        time.sleep(0.01)


def moves_away(frames: Any, query: Any) -> Any:
    os.chdir("/")
    return frames[..., 0] > 127


class WithPredict:
    def predict(self, frames: Any, query: Any) -> Any:  # noqa: ARG002 - as models are called
        return frames[..., 0] > 127


OBJECT = WithPredict()


class NeedsArguments:
    def __init__(self, weights: str) -> None:
        self.weights = weights


def all_inputs(frames: Any, query: Any, **guidance: Any) -> Any:
    assert set(guidance) == {"sound", "rate_hz", "first_mask"}
    return frames[..., 0] > 127


def only_frames(frames: Any) -> Any:
    return frames[..., 0] > 127


def needs_weights(frames: Any, query: Any, *, weights: str) -> Any:
    raise AssertionError(weights)


NUMBER = 3
