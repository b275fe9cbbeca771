"""Demucs and SAM Audio, as their releases run them, from a folder of weights that the user has. Nothing is downloaded.

Both need their own package beside torch. Where that needs another torch than this environment has, run them in theirs,
as a program: ``examples/serve_separator.py``.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from fractions import Fraction
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


class Demucs:
    """Drums, bass, other and vocals of music: Defossez 2021, Rouard et al. 2023; the package ``demucs``.

    The folder is what ``demucs --repo`` takes: a ``.yaml`` with the ``.th`` files that it names, or one ``.th`` file.
    These are pickles; only the classes of Demucs's own networks are let out of them. Its random shifts are off.
    """

    def __init__(self, folder: Path) -> None:
        torch, pretrained = _package("torch", "demucs"), _package("demucs.pretrained", "demucs")
        self._apply = _package("demucs.apply", "demucs").apply_model
        self._torch = torch
        name = _model_name(folder)
        kinds = [
            getattr(_package(f"demucs.{module}", "demucs"), kind)
            for module, kind in (("htdemucs", "HTDemucs"), ("hdemucs", "HDemucs"), ("demucs", "Demucs"))
        ]
        try:
            with torch.serialization.safe_globals([*kinds, Fraction]):
                self._model = pretrained.get_model(name, repo=folder).eval()
        except (pickle.UnpicklingError, RuntimeError, OSError, KeyError, ValueError) as error:
            raise UsageError(
                f"Demucs cannot load {name!r}: {' '.join(str(error).split())[:200]}",
                expected="weights of a release of Demucs",
                hint="fetch them again; or run it in an environment of the torch that it was released for",
                path=folder,
            ) from error
        self._device = "cuda" if torch.cuda.is_available() else "cpu"

    def __call__(self, request: SeparationRequest) -> Tracks:
        """All tracks, by the model's names of sources."""
        torch, rate_hz = self._torch, int(self._model.samplerate)
        heard = np.stack(
            [mono_at(one, rate_hz=request.rate_hz, wanted_hz=rate_hz) for one in np.atleast_2d(request.mixture)]
        )
        if len(heard) != self._model.audio_channels:
            heard = np.repeat(heard.mean(axis=0, keepdims=True), self._model.audio_channels, axis=0)
        middle, spread = float(heard.mean()), float(heard.mean(axis=0).std(ddof=1)) if heard.shape[1] > 1 else 0.0
        if spread < _QUIET:  # silence: what would be divided by it is rounding
            return {str(name): np.zeros(request.mono.size, np.float32) for name in self._model.sources}
        given = torch.from_numpy((heard - middle) / spread)[None]
        with torch.inference_mode():
            found = self._apply(
                self._model, given, device=self._device, shifts=0, split=True, overlap=_OVERLAP, progress=False
            )
        tracks = np.asarray(found[0].cpu().numpy() * spread + middle, np.float32)
        return {
            str(name): _back(track.mean(axis=0), request, rate_hz)
            for name, track in zip(self._model.sources, tracks, strict=True)
        }


class SamAudio:
    """Any sound by words and spans: Shi et al. 2025; the package ``sam_audio``.

    The folder is a snapshot of ``facebook/sam-audio-small``, ``-base`` or ``-large``. Spans are not predicted and one
    candidate is made; its noise is of one seed. Its visual prompt is a video whose object is blanked, which the picture
    of a query is not: a query of a picture alone is refused.
    """

    def __init__(self, folder: Path) -> None:
        torch, package = _package("torch", "sam_audio"), _package("sam_audio", "sam_audio")
        if not folder.is_dir():  # a name would be downloaded
            raise UsageError("there is no such folder of weights", expected="a snapshot of SAM Audio", path=folder)
        try:
            self._model = package.SAMAudio.from_pretrained(str(folder))
            self._processor = package.SAMAudioProcessor.from_pretrained(str(folder))
        except (RuntimeError, OSError, KeyError, ValueError, TypeError) as error:
            raise UsageError(
                f"SAM Audio cannot be loaded: {' '.join(str(error).split())[:200]}",
                expected="a snapshot of facebook/sam-audio-small, -base or -large",
                path=folder,
            ) from error
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = self._model.eval().to(self._device)
        self._torch = torch

    def __call__(self, request: SeparationRequest) -> Samples:
        """What the words and spans mean."""
        if not request.query.text and not request.spans:
            raise InputError("SAM Audio was given neither words nor spans", expected="a query of text, spans, or both")
        torch, rate_hz = self._torch, int(self._processor.audio_sampling_rate)
        heard = mono_at(request.mixture, rate_hz=request.rate_hz, wanted_hz=rate_hz)[None]
        spans = [[span.sign, span.start_s, span.end_s] for span in request.spans]
        batch = self._processor(
            audios=[torch.from_numpy(heard)],
            descriptions=[(request.query.text or "").lower()],
            anchors=[spans] if spans else None,
        ).to(self._device)
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(_SEED)
            found = self._model.separate(batch, predict_spans=False, reranking_candidates=1)
        target = found.target[0].float().cpu().numpy()
        return _back(np.asarray(target, np.float32).reshape(-1, target.shape[-1]).mean(axis=0), request, rate_hz)


RELEASED: Final[Mapping[str, type[Demucs | SamAudio]]] = {"demucs": Demucs, "sam_audio": SamAudio}


def _package(module: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{module} cannot be imported: {error}",
            expected=f"the package {package}, in this environment",
            hint="docs/separators.md says how it is installed, and how it runs in an environment of its own",
        ) from error


def _model_name(folder: Path) -> str:
    """What Demucs calls the model of a folder: its bag, else its only network."""
    for suffix in (".yaml", ".th"):
        found = sorted(folder.glob(f"*{suffix}")) if folder.is_dir() else []
        if len(found) == 1:
            return found[0].stem.partition("-")[0] if suffix == ".th" else found[0].stem
        if found:
            break
    raise UsageError(
        f"the folder holds {len(found)} {suffix} files",
        expected="one .yaml with its .th files, or one .th",
        path=folder,
    )


def _back(track: Samples, request: SeparationRequest, rate_hz: int) -> Samples:
    """A track at the rate and of the length of the mixture; what a model adds behind the end is left out."""
    count = request.mono.size
    at_rate = mono_at(track, rate_hz=rate_hz, wanted_hz=request.rate_hz)[:count]
    return np.pad(at_rate, (0, count - at_rate.size))
