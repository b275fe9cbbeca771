"""DTLN (Westhausen and Meyer 2020), two small networks that take noise off speech, as a model under test.

It needs ``dtln_quant_1.tflite`` and ``dtln_quant_2.tflite`` (8-bit weights) in a folder that you name, and the package
ai-edge-litert (``pip install 'auscult[train]'``)::

    auscult run separation --model "cmd:python examples/separate_dtln.py FOLDER" --data mix --out out

It hears one channel at 16 kHz, takes no query, and gives the speech.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from serve_separator import serve

from auscult.errors import InputError
from auscult.types import Samples, SoundQuery

WINDOW, HOP, RATE_HZ = 512, 128, 16_000


class Network:
    """One of the two, with its state."""

    def __init__(self, path: Path) -> None:
        self.interpreter = Interpreter(model_path=str(path))
        self.interpreter.allocate_tensors()
        # The frame has one number a bin or sample, the state four axes.
        inputs, outputs = self.interpreter.get_input_details(), self.interpreter.get_output_details()
        self.frame, self.state = sorted(inputs, key=lambda one: len(one["shape"]))
        self.found, self.next = sorted(outputs, key=lambda one: len(one["shape"]))

    def start(self) -> Any:
        """The state before the first frame."""
        return np.zeros(self.state["shape"], np.float32)

    def run(self, frame: Any, state: Any) -> tuple[Any, Any]:
        """What it makes of a frame, and its state behind it."""
        self.interpreter.set_tensor(self.frame["index"], frame.reshape(self.frame["shape"]).astype(np.float32))
        self.interpreter.set_tensor(self.state["index"], state)
        self.interpreter.invoke()
        found = self.interpreter.get_tensor(self.found["index"])
        return found.reshape(-1), self.interpreter.get_tensor(self.next["index"])


class Dtln:
    """The first network weighs the spectrum, the second works on the samples; frames overlap by three quarters."""

    def __init__(self, folder: Path) -> None:
        self.first, self.second = (Network(folder / f"dtln_quant_{number}.tflite") for number in (1, 2))

    def __call__(self, mixture: Samples, query: SoundQuery, *, rate_hz: int) -> Samples:
        """The speech of a mixture at 16 kHz, float32 (samples,)."""
        del query
        if rate_hz != RATE_HZ:
            raise InputError(f"DTLN was given a sound at {rate_hz} Hz", expected=f"{RATE_HZ} Hz")
        samples = np.atleast_2d(mixture).mean(axis=0)
        before = WINDOW - HOP
        padded = np.pad(samples, (before, WINDOW + -samples.size % HOP))
        heard = np.zeros(padded.size)
        weighing, working = self.first.start(), self.second.start()
        for start in range(0, padded.size - WINDOW + 1, HOP):
            spectrum = np.fft.rfft(padded[start : start + WINDOW])
            mask, weighing = self.first.run(np.abs(spectrum), weighing)
            frame, working = self.second.run(np.fft.irfft(spectrum * mask, WINDOW), working)
            heard[start : start + WINDOW] += frame
        return heard[before : before + samples.size].astype(np.float32)


if __name__ == "__main__":
    serve(Dtln(Path(sys.argv[1])))
