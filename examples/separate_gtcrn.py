"""GTCRN (Rong et al. 2024), a small network that takes noise off speech, as a model under test.

It needs ``gtcrn_stream.onnx`` of the release, in a folder that you name::

    auscult run separation --model "cmd:python examples/separate_gtcrn.py FOLDER" --data mix --out out

It hears one channel at 16 kHz, takes no query, and gives the speech.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from serve_separator import serve

from auscult.errors import InputError
from auscult.types import Samples, SoundQuery

WINDOW, HOP, RATE_HZ = 512, 256, 16_000


class Gtcrn:
    """Frame by frame, each with what the network remembers of the frames before."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a frame is little work
        file = folder / "gtcrn_stream.onnx"
        self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def __call__(self, mixture: Samples, query: SoundQuery, *, rate_hz: int) -> Samples:
        """The speech of a mixture at 16 kHz, float32 (samples,)."""
        del query
        if rate_hz != RATE_HZ:
            raise InputError(f"GTCRN was given a sound at {rate_hz} Hz", expected=f"{RATE_HZ} Hz")
        samples = np.atleast_2d(mixture).mean(axis=0)
        shape = np.sqrt(np.hanning(WINDOW + 1)[:-1])
        padded = np.pad(samples, (WINDOW, WINDOW + -samples.size % HOP))
        memory = {one.name: np.zeros(one.shape, np.float32) for one in self.session.get_inputs()[1:]}
        heard = np.zeros(padded.size)
        for start in range(0, padded.size - WINDOW + 1, HOP):
            spectrum = np.fft.rfft(padded[start : start + WINDOW] * shape)
            frame = np.stack([spectrum.real, spectrum.imag], axis=-1)[None, :, None].astype(np.float32)
            found, *remembered = self.session.run(None, {"mix": frame, **memory})
            memory = dict(zip(memory, remembered, strict=True))
            spectrum = found[0, :, 0, 0] + 1j * found[0, :, 0, 1]
            heard[start : start + WINDOW] += np.fft.irfft(spectrum, WINDOW) * shape
        return heard[WINDOW : WINDOW + samples.size].astype(np.float32)


if __name__ == "__main__":
    serve(Gtcrn(Path(sys.argv[1])))
