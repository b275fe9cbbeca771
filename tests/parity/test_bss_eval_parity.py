"""BSS Eval equals mir_eval (version 3) and museval (version 4) on every real set of separated sounds."""

from __future__ import annotations

from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.media.sound import read_sound
from auscult.score.sound import bss_images, bss_sources

pytestmark = [pytest.mark.peer, pytest.mark.slow, pytest.mark.filterwarnings("ignore:mir_eval:FutureWarning")]
if any(find_spec(name) is None for name in ("mir_eval", "soundfile")):
    pytest.skip("the packages to compare BSS Eval with are not installed", allow_module_level=True)

SHORT = ["mir_eval/01", "mir_eval/02", "mir_eval/03", "mir_eval/05", "two_speakers_16k/0", "two_speakers_16k/1"]
SONGS = ["wave_u_net_nc/Cristina_Vane_-_So_Easy", "wave_u_net_nc/The_Mountaineering_Club_-_Mallory"]
IMAGES, SOURCES = ("sdr", "isr", "sir", "sar"), ("sdr", "sir", "sar")
SONG_S = 6


def load(folder: Path, name: str) -> tuple[list[Any], list[Any]]:
    """Estimates and stems, (channels, samples) float64 each; of two speakers, estimates are made from the mixture."""
    room, _, variant = name.partition("/")

    def read_all(*paths: Path) -> list[Any]:
        return [read_sound(path).samples.astype(np.float64) for path in paths]

    base = folder / "audio" / "separation" / room
    if room == "mir_eval":
        kinds = [read_all(*sorted((base / f"{kind}{variant}").iterdir())) for kind in ("est", "ref")]
        return kinds[0], kinds[1]
    if room == "two_speakers_16k":
        mixture, *stems = read_all(*(base / f"{kind}_{variant}.flac" for kind in ("mixture", "source1", "source2")))
        rough = 0.01 * np.random.default_rng(0).standard_normal(mixture.shape)
        return [mixture + rough + share * stem for share, stem in zip((0.3, 0.6), stems, strict=True)], stems
    kinds = [
        read_all(*(base / variant / f"{part}_{kind}.mp3" for part in ("vocals", "accompaniment")))
        for kind in ("estimate", "true")
    ]
    sounds = [[sound[:, : SONG_S * 44_100] for sound in kind] for kind in kinds]
    return sounds[0], sounds[1]


def table(result: Any, names: tuple[str, ...]) -> Any:
    return np.array([[ratios[name].value for ratios in result.ratios] for name in names])


@pytest.mark.parametrize(
    ("name", "order"),
    [*((name, "best") for name in (*SHORT[:2], *SHORT[3:])), *((name, "given") for name in SONGS), (SHORT[2], "given")],
)
def test_sources_of_version_3(data: Path, name: str, order: Any) -> None:
    from mir_eval.separation import bss_eval_sources

    estimates, stems = ([sound.mean(axis=0) for sound in kind] for kind in load(data, name))
    result = bss_sources(estimates, stems, order=order)
    *expected, order_expected = bss_eval_sources(np.array(stems), np.array(estimates), order == "best")
    assert result.order == tuple(order_expected)
    assert table(result, SOURCES) == pytest.approx(np.array(expected), abs=1e-6)


@pytest.mark.parametrize("name", [*SHORT, *SONGS])
def test_images_of_version_3(data: Path, name: str) -> None:
    from mir_eval.separation import bss_eval_images

    estimates, stems = load(data, name)
    ratios = table(bss_images(estimates, stems), IMAGES)
    arrays = (np.array(kind).transpose(0, 2, 1) for kind in (stems, estimates))
    expected = np.array(bss_eval_images(*arrays, False)[:4])
    # Of decoded MP3 the equations are singular to rounding: scaling the sounds by 0.7 moves mir_eval's own SIR by 2e-5.
    allowed = np.array([[1e-6], [1e-6], [2e-5 if name in SONGS else 1e-6], [1e-6]])
    assert (np.abs(ratios - expected) <= allowed).all()


@pytest.mark.parametrize("name", [*SHORT, SONGS[0]])
def test_windows_of_version_4(data: Path, name: str) -> None:
    spec = find_spec("museval")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the packages to compare BSS Eval with are not installed")
    # Not imported as a package: that asks for readers of music formats.
    file = Path(spec.submodule_search_locations[0]) / "metrics.py"
    inner = spec_from_file_location("museval_metrics", file)
    assert inner is not None
    assert inner.loader is not None
    metrics = module_from_spec(inner)
    inner.loader.exec_module(metrics)
    estimates, stems = load(data, name)
    window = 2000 if name.startswith("mir_eval") else 16_000
    result = bss_images(estimates, stems, window=window)
    arrays = (np.array(kind).transpose(0, 2, 1) for kind in (stems, estimates))
    expected = np.array(metrics.bss_eval(*arrays, window=window, hop=window)[:4])
    values = np.array([[ratios[key].values for ratios in result.ratios] for key in IMAGES])
    # Filters that nearly cancel are rounding in both: scaling the sounds changes museval's own windows by as much.
    allowed = {"mir_eval/02": 2e-5, "mir_eval/03": 3e-5, SONGS[0]: 5e-3}.get(name, 1e-6)
    assert values == pytest.approx(expected, abs=allowed)
