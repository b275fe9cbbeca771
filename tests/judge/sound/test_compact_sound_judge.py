"""``sound.compact.v1`` beyond the contract of all sound judges: prompts in any union, long sounds, plain sentences."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.judge.sound import compact as listening
from auscult.judge.sound.compact import JUDGE, CompactSoundJudge
from auscult.judge.sound.compact.network import FOLDER
from auscult.report.facts import UNLIKE
from auscult.rng import generator
from auscult.scenes.sound.generated import GENERATED
from auscult.types import Samples, SoundCase, Span

RATE_HZ = 16_000


def _tone(seconds: float, *, seed: int, step: float) -> Samples:
    """A tone of changing loudness, half of the time silent."""
    rng = np.random.default_rng(seed)
    times = np.arange(int(seconds * RATE_HZ))
    loud = np.repeat(rng.random(int(seconds * 20)), RATE_HZ // 20)
    sound = 0.2 * np.sin(times * step) * loud * (np.sin(times / RATE_HZ * 4 + seed) > 0)
    return sound.astype(np.float32)[None]


@pytest.fixture(scope="module")
def case() -> SoundCase:
    mixture = _tone(3, seed=1, step=0.2) + _tone(3, seed=2, step=1.1)
    frames = np.full((2, 48, 64, 3), 90, np.uint8)
    spans = (Span("+", 0.5, 1.5), Span("-", 1.5, 3.0))
    return SoundCase(id="a", mixture=mixture, rate_hz=RATE_HZ, text="dog barking", spans=spans, frames=frames)


@pytest.mark.parametrize(("text", "spans", "picture"), list(product((True, False), repeat=3)))
def test_prompts_may_come_in_any_union(case: SoundCase, *, text: bool, spans: bool, picture: bool) -> None:
    case_asked = replace(
        case,
        text=case.text if text else None,
        spans=case.spans if spans else (),
        frames=case.frames if picture else None,
    )
    verdict = JUDGE(case_asked, _tone(3, seed=1, step=0.2))
    assert (verdict.evidence.text, verdict.evidence.spans) == (text, spans)
    assert picture or not verdict.evidence.picture
    assert verdict.overall is not None
    assert 1 <= verdict.overall_low <= verdict.overall <= verdict.overall_high <= 5


def test_words_that_are_not_known_are_named(case: SoundCase) -> None:
    verdict = JUDGE(replace(case, text="the zorgleflux", frames=None), _tone(3, seed=1, step=0.2))
    assert verdict.evidence.unknown == ("zorgleflux",)
    assert not verdict.evidence.text
    assert "zorgleflux" in verdict.rationale


@pytest.mark.parametrize(("text", "spans", "judged"), [("zorgleflux", False, False), ("zorgleflux", True, True),
                                                        ("dog barking", False, True)])  # fmt: skip
def test_what_is_far_from_all_it_knows_needs_a_prompt_that_it_understands(
    case: SoundCase, text: str, *, spans: bool, judged: bool
) -> None:
    new, familiar = CompactSoundJudge(), CompactSoundJudge()
    for judge, bounds in ((new, {"near": (0.0, 0.0), "far": (1e-6, 1e-6)}), (familiar, {"near": (1e6, 1e6)})):
        known = replace(judge.calibration.familiar, **bounds)
        judge.__dict__["calibration"] = replace(judge.calibration, familiar=known)
    asked = replace(case, text=text, frames=None, spans=case.spans if spans else ())
    usual, verdict = (one(asked, _tone(3, seed=1, step=0.2)) for one in (familiar, new))
    assert usual.novelty == 0.0
    assert verdict.novelty == 1.0
    assert (verdict.overall is not None) == judged
    if verdict.overall is not None:
        assert verdict.recall_high - verdict.recall_low > usual.recall_high - usual.recall_low


def test_noise_and_bare_tones_are_out_of_distribution() -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal(3 * RATE_HZ)
    hum = 0.1 * np.sin(2 * np.pi * 440 * np.arange(noise.size) / RATE_HZ)
    sounds = [sound.astype(np.float32)[None] for sound in (noise, hum, np.sign(hum) * 0.1)]
    for target, other in zip(sounds, np.roll(sounds, -1, axis=0), strict=True):
        verdict = JUDGE(SoundCase(id="a", mixture=target + other, rate_hz=RATE_HZ), target)
        assert verdict.novelty >= UNLIKE
        assert verdict.rationale.endswith("The sound is out of distribution for this judge.")


def test_the_curves_of_a_long_sound_lie_at_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "WINDOW_S", 1.0)
    first_tone, second_tone = _tone(4, seed=1, step=0.2), _tone(4, seed=2, step=1.1)
    whole_curves, last = (
        JUDGE(
            SoundCase(id="a", mixture=(first_tone + second_tone)[:, first:], rate_hz=RATE_HZ), first_tone[:, first:]
        ).curves
        for first in (0, 3 * RATE_HZ)
    )
    assert whole_curves is not None
    assert last is not None
    assert len(whole_curves.missing) == len(whole_curves.left_over) == math.ceil(4 / whole_curves.hop_s)
    first = math.ceil(3 / whole_curves.hop_s)
    for whole_curve, alone in ((whole_curves.missing, last.missing), (whole_curves.left_over, last.left_over)):
        assert whole_curve[first:] == pytest.approx(alone[: len(whole_curve) - first], abs=1e-3)


def test_polarity_does_not_matter(case: SoundCase) -> None:
    output = _tone(3, seed=1, step=0.2)
    plain_verdict, inverted_verdict = JUDGE(case, output), JUDGE(case, -output)
    assert [inverted_verdict.recall, inverted_verdict.precision, inverted_verdict.overall] == pytest.approx(
        [plain_verdict.recall, plain_verdict.precision, plain_verdict.overall], abs=1e-3
    )


def test_a_folder_that_lacks_files_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"trunk\.onnx"):
        JUDGE.fitted(tmp_path)
    for name in ("trunk.onnx", "evidence.onnx", "head.onnx", "hardness.onnx"):
        shutil.copy(FOLDER / name, tmp_path)
    with pytest.raises(UsageError, match=r"calibration\.json"):
        JUDGE.fitted(tmp_path)
    shutil.copy(FOLDER / "calibration.json", tmp_path)
    assert JUDGE.fitted(tmp_path).name == JUDGE.name
    (tmp_path / "head.onnx").write_bytes((FOLDER / "hardness.onnx").read_bytes())
    with pytest.raises(UsageError, match="another network"):
        JUDGE.fitted(shutil.copytree(tmp_path, tmp_path / "other"))


def _generated(label: str, number: int) -> Samples:
    source = GENERATED.source(generator(number, "test"), label, instance=f"{label}-{number:02d}")
    sound = GENERATED.samples(source, seconds=3.0, rate_hz=RATE_HZ).reshape(1, -1)
    return np.asarray(0.1 * sound / np.sqrt(np.mean(np.square(sound))), np.float32)


@pytest.mark.parametrize(("wanted", "other"), [("siren", "rumble"), ("bell", "growl"), ("knock", "whistle")])
def test_what_is_left_over_lowers_precision_and_another_source_is_called_so(wanted: str, other: str) -> None:
    target, rest = _generated(wanted, 1), _generated(other, 2)
    target[:, : 5 * RATE_HZ // 4] = 0
    rest[:, 3 * RATE_HZ // 2 :] = 0
    case = SoundCase(id="a", mixture=target + rest, rate_hz=RATE_HZ, text=wanted, spans=(Span("+", 1.25, 3.0),))
    clean, spoilt, wrong = (JUDGE(case, output) for output in (target, target + 0.4 * rest, rest))
    precisions = [verdict.precision or 0.0 for verdict in (clean, spoilt, wrong)]
    assert precisions == sorted(precisions, reverse=True)
    assert precisions[0] > precisions[2] + 2
    assert clean.rationale.startswith("Nothing wrong is heard.")
    assert wrong.rationale.startswith("What is heard is mostly something else than the target.")
