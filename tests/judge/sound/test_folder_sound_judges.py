"""Judges of separated sounds with weights in a folder: SAJ, and the published one by a stand-in of its interface."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("transformers", reason="the extra `clip` is not installed")
pytest.importorskip("peft", reason="the extra `train` is not installed")

import torch

from auscult.errors import UsageError
from auscult.jobs.judges import load_sound_judge, sound_judge_arguments
from auscult.nets.saj.settings import SajDesign
from auscult.nets.saj.weights import begin, save
from auscult.rng import generator
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, Samples, SoundCase, SoundJudge, SoundVerdict, Span

pytestmark = pytest.mark.extra_train
RATE_HZ = 44_100


def noise(key: str, seconds: float = 0.5) -> Samples:
    return 0.1 * generator(0, "folder judges", key).standard_normal((1, round(seconds * RATE_HZ)), dtype=np.float32)


def sound_case(**prompts: Any) -> SoundCase:
    return SoundCase(id="one", mixture=noise("mixture"), rate_hz=RATE_HZ, **prompts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    judge_folder = tmp_path_factory.mktemp("saj")
    text = {"model_type": "modernbert", "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 16}  # fmt: skip
    design = SajDesign(
        audio={"kind": "mel", "width": 16, "halvings": 3, "layers": 1, "heads": 2},
        text=text, text_layer=-1, vision=None, width=16, heads=2, layers=1,
    )  # fmt: skip
    torch.manual_seed(0)
    net, reader = begin(design, texts=["dog barking"])
    net.mean += 3.0
    save(net, reader, judge_folder)
    return judge_folder


def test_a_saj_of_a_folder_judges(folder: Path) -> None:
    judge = load_sound_judge(f"saj@{folder}")
    assert isinstance(judge, SoundJudge)
    case, output = sound_case(text="dog barking", spans=(Span("+", 0.1, 0.4),)), noise("output")
    verdict = judge(case, output)
    assert all(1 <= getattr(verdict, axis) <= 5 for axis in PERFORMANCE)
    assert {*verdict.difficulty} == {*DIFFICULTY_AXES}
    assert (verdict.evidence.text, verdict.evidence.spans, verdict.evidence.picture) == (True, True, False)
    assert (verdict.overall_low, verdict.overall_high) == (1, 5)
    assert "not measured" in verdict.rationale
    louder, both_verdicts = judge(case, np.float32(0.3) * output), judge.batch([case] * 2, [output, case.mixture])
    assert louder.overall == pytest.approx(verdict.overall, abs=1e-3)
    assert both_verdicts[0].overall == pytest.approx(verdict.overall, abs=1e-3)
    assert both_verdicts[1].difficulty == pytest.approx(verdict.difficulty, abs=1e-3)


def test_what_has_no_basis_is_unjudged_and_silence_is_judged_by_rule(folder: Path) -> None:
    judge = load_sound_judge(f"saj@{folder}")
    plain = judge(sound_case(), noise("output"))
    assert plain.overall is None
    assert "text, spans" in plain.rationale
    silent = judge(sound_case(text="dog"), np.zeros_like(noise("output")))
    assert (silent.recall, silent.precision, silent.faithfulness) == (1, 5, 1)
    assert silent.difficulty == pytest.approx(judge(sound_case(text="dog"), noise("output")).difficulty, abs=1e-3)
    silent_case = SoundCase(id="one", mixture=np.zeros((1, 9000), np.float32), rate_hz=RATE_HZ, text="dog")
    assert judge(silent_case, silent_case.mixture).overall is None


def test_intervals_are_those_of_the_calibration(folder: Path) -> None:
    plain, case = load_sound_judge(f"saj@{folder}"), sound_case(text="dog")
    before, revision = plain(case, noise("output")), sound_judge_arguments(f"saj@{folder}")
    calibration_json = {"schema": 1, "split": "val", "n": 40, "off": {"overall": [-0.5, 0.25]}}
    path = folder / "calibration.json"
    try:
        path.write_text(json.dumps(calibration_json))
        after = load_sound_judge(f"saj@{folder}")(case, noise("output"))
        assert sound_judge_arguments(f"saj@{folder}") != revision
        assert after.overall == before.overall
        assert after.overall_low == pytest.approx(max(1, after.overall - 0.5))
        assert after.overall_high == pytest.approx(min(5, after.overall + 0.25))
        assert (after.recall_low, after.recall_high) == (1, 5)
        path.write_text(json.dumps({**calibration_json, "n": 2}))
        with pytest.raises(UsageError, match="n"):
            load_sound_judge(f"saj@{folder}")
    finally:
        path.unlink()


def test_a_judge_without_its_folder_is_told_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a folder of weights"):
        load_sound_judge("sound.saj.v1")
    with pytest.raises(UsageError, match="no SAJ"):
        load_sound_judge(f"saj@{tmp_path}")
    with pytest.raises(UsageError, match="needs sam_audio, not installed"):
        load_sound_judge(f"sam_audio@{tmp_path}")
    (tmp_path / "card.json").write_text("{}")
    (tmp_path / "design.json").write_text("{}")
    with pytest.raises(UsageError):
        load_sound_judge(f"saj@{tmp_path}")


class Processor:
    """As the published one: pads texts, takes sounds (1, samples) at 48 kHz, refuses other rates."""

    batches: list[tuple[list[str], tuple[int, ...]]] = []  # noqa: RUF012 - read by the test

    @classmethod
    def from_pretrained(cls, folder: str) -> Processor:
        assert Path(folder, "config.json").is_file()
        return cls()

    def __call__(self, *, text: Any, input_audio: Any, separated_audio: Any, sampling_rate: int) -> Any:
        if sampling_rate != 48_000:
            raise ValueError(f"trained at 48000 and not {sampling_rate}")
        assert all(audio.shape[1] % 1920 == 0 for audio in (*input_audio, *separated_audio))
        self.batches.append((text, tuple(audio.shape[1] for audio in input_audio)))
        return Features(input_values=torch.stack(input_audio), separated_values=torch.stack(separated_audio))


class Features(dict[str, Any]):
    def to(self, device: Any) -> Features:
        return Features({name: value.to(device) for name, value in self.items()})


class Model(torch.nn.Module):
    """Scores of (batch, 1) in the published order; overall says which row it is, precision how loud the output is."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(1, 4)

    @classmethod
    def from_pretrained(cls, folder: str) -> Model:
        assert Path(folder).is_dir()
        return cls()

    def forward(self, input_values: Any, separated_values: Any) -> SimpleNamespace:
        loud = separated_values.abs().amax(dim=(1, 2))[:, None]
        same_share = (input_values == separated_values).float().mean(dim=(1, 2))[:, None]
        return SimpleNamespace(
            overall=1 + 4 * same_share, recall=0 * same_share + 7, precision=loud + 2, faithfulness=same_share + 2
        )


def test_the_published_judge_gives_the_same_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("sam_audio")
    package.__spec__ = SimpleNamespace(name="sam_audio")  # type: ignore[assignment]
    package.SAMAudioJudgeModel, package.SAMAudioJudgeProcessor = Model, Processor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sam_audio", package)
    with pytest.raises(UsageError, match="no weights"):
        load_sound_judge(f"sound.sam_audio.v1@{tmp_path}")
    (tmp_path / "config.json").write_text("{}")
    judge: Any = load_sound_judge(f"sam_audio@{tmp_path}")
    case, short = sound_case(text="  Dog Barking "), noise("short", 0.2)
    brief = SoundCase(id="two", mixture=short, rate_hz=RATE_HZ, text="rain")
    verdicts: list[SoundVerdict] = judge.batch(
        [case, brief, case, sound_case(spans=(Span("+", 0.0, 0.2),))],
        [case.mixture, 0.1 * short, noise("b"), noise("b")],
    )
    assert [text for text, _ in Processor.batches] == [["rain"], ["dog barking"] * 2]  # of one length at a time
    assert [verdict.overall for verdict in verdicts] == [
        5.0,
        pytest.approx(1.0, abs=0.1),
        pytest.approx(1.0, abs=0.1),
        None,
    ]
    assert [verdict.id for verdict in verdicts] == ["one", "two", "one", "one"]
    assert verdicts[0].recall == 5.0  # clipped to the scale
    assert verdicts[0].difficulty == {}
    assert verdicts[1].precision < verdicts[0].precision
    assert verdicts[3].action is None
    assert "text" in verdicts[3].rationale
