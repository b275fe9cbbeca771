"""Demucs and SAM Audio, as their releases run them, from a folder of weights that the user has. Nothing is downloaded.

Both need their own package beside torch. Where that needs another torch than this environment has, run them in theirs,
as a program: ``examples/serve_separator.py``.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import InputError, UsageError
from auscult.models.separators.base import SeparationRequest, Tracks
from auscult.types import Samples

_SEED: Final = 0
_OVERLAP: Final = 0.25  # of Demucs's blocks, as its command has it
_QUIET: Final = 1e-8
_NETWORKS: Final = {"htdemucs": "HTDemucs", "hdemucs": "HDemucs", "demucs": "Demucs"}  # by their modules


class Demucs:
    """Drums, bass, other and vocals of music: Defossez 2021, Rouard et al. 2023; the package ``demucs``.

    The folder is what ``demucs --repo`` takes: a ``.yaml`` with the ``.th`` files that it names, or one ``.th`` file.
    These are pickles; only the classes of Demucs's own networks are let out of them. Its random shifts are off.
    """

    def __init__(self, folder: Path) -> None:
        self._torch = torch = _package("torch")
        if torch.__version__ < (2, 6):
            raise UsageError(
                f"Demucs's weights are pickles, whose code torch {torch.__version__} would run",
                expected="torch 2.6 or newer",
            )
        pretrained, self._apply = _package("demucs.pretrained"), _package("demucs.apply").apply_model
        kinds = [getattr(_package(f"demucs.{name}"), kind) for name, kind in _NETWORKS.items()]
        names = sorted(folder.glob("*.yaml")) or sorted(folder.glob("*.th"))
        if len(names) != 1:
            raise UsageError(f"{len(names)} models lie in the folder", expected="one .yaml, or one .th", path=folder)
        with _loading("Demucs", folder), torch.serialization.safe_globals([*kinds, Fraction]):
            name = names[0].stem.partition("-")[0]
            self._model = pretrained.get_model(name, repo=folder).eval()
        self._device = "cuda" if torch.cuda.is_available() else "cpu"

    def __call__(self, request: SeparationRequest) -> Tracks:
        """All tracks, by the model's names of sources."""
        model, rate_hz = self._model, int(self._model.samplerate)
        channels = np.atleast_2d(request.mixture)
        mixture = np.stack([mono_at(channel, rate_hz=request.rate_hz, wanted_hz=rate_hz) for channel in channels])
        if len(mixture) != model.audio_channels:
            mixture = np.repeat(mixture.mean(axis=0, keepdims=True), model.audio_channels, axis=0)
        middle, spread = float(mixture.mean()), float(mixture.mean(axis=0).std())
        if spread < _QUIET:  # silence: what would be divided by it is rounding
            return {str(name): np.zeros_like(request.mono) for name in model.sources}
        batch = self._torch.from_numpy((mixture - middle) / spread)[None]
        options = {"device": self._device, "shifts": 0, "split": True, "overlap": _OVERLAP, "progress": False}
        with self._torch.inference_mode():
            output = self._apply(model, batch, **options)[0].cpu().numpy() * spread + middle
        return {
            str(name): _back(track.mean(axis=0), request, rate_hz)
            for name, track in zip(model.sources, output, strict=True)
        }


class SamAudio:
    """Any sound by words and spans: Shi et al. 2025; the package ``sam_audio``.

    The folder is a snapshot of ``facebook/sam-audio-small``, ``-base`` or ``-large``. Spans are not predicted and one
    candidate is made; its noise is of one seed. Its visual prompt is a video whose object is blanked, which the picture
    of a query is not: a query of a picture alone is refused.
    """

    def __init__(self, folder: Path) -> None:
        self._torch, package = _package("torch"), _package("sam_audio")
        self._device = "cuda" if self._torch.cuda.is_available() else "cpu"
        with _loading("SAM Audio", folder):
            self._model = package.SAMAudio.from_pretrained(str(folder)).eval().to(self._device)
            self._processor = package.SAMAudioProcessor.from_pretrained(str(folder))

    def __call__(self, request: SeparationRequest) -> Samples:
        """What the words and spans mean."""
        if not request.query.text and not request.spans:
            raise InputError("SAM Audio was given neither words nor spans", expected="a query of text, spans, or both")
        torch, rate_hz = self._torch, int(self._processor.audio_sampling_rate)
        mono = mono_at(request.mixture, rate_hz=request.rate_hz, wanted_hz=rate_hz)
        spans = [[span.sign, span.start_s, span.end_s] for span in request.spans]
        batch = self._processor(
            audios=[torch.from_numpy(mono[None])],
            descriptions=[(request.query.text or "").lower()],
            anchors=[spans] if spans else None,
        ).to(self._device)
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(_SEED)
            result = self._model.separate(batch, predict_spans=False, reranking_candidates=1)
        return _back(result.target[0].float().cpu().numpy().reshape(-1), request, rate_hz)


RELEASED: Final[Mapping[str, type[Demucs | SamAudio]]] = {"demucs": Demucs, "sam_audio": SamAudio}


def _package(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{module} cannot be imported: {error}",
            expected=f"the package {module.partition('.')[0]}, in this environment",
            hint="docs/separators.md says how it is installed, and how it runs in an environment of its own",
        ) from error


@contextmanager
def _loading(title: str, folder: Path) -> Iterator[None]:
    """Say what stands in the way of loading."""
    try:
        yield
    except (pickle.UnpicklingError, RuntimeError, OSError, LookupError, ValueError, TypeError) as error:
        raise UsageError(
            f"{title} cannot be loaded: {' '.join(str(error).split())[:200]}",
            expected="whole weights of its release",
            hint="fetch them again; or run it in an environment of the torch that it was released for",
            path=folder,
        ) from error


def _back(track: Samples, request: SeparationRequest, rate_hz: int) -> Samples:
    """A track at the rate and of the length of the mixture; what a model adds behind the end is left out."""
    count = request.mixture.shape[-1]
    at_rate = mono_at(track, rate_hz=rate_hz, wanted_hz=request.rate_hz)[:count]
    return np.pad(at_rate, (0, count - at_rate.size))
