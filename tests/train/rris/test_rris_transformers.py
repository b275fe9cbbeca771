"""`train rris` with encoders of `transformers` and with CLIPSeg, tiny and random; needs the extras `train` and `hf`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("accelerate", reason="the extra `train` is not installed")
pytest.importorskip("transformers", reason="the extra `clip` is not installed")

import torch

import tiny_hf
from auscult.jobs.options import TrainOptions
from auscult.models.spec import model_spec
from auscult.nets.hf_segmenters import load_clipseg
from auscult.nets.refsegformer.weights import read_model
from auscult.train import recipes
from auscult.train.rris import loop
from auscult.train.trainer import LOSSES
from train.rris.small_references import write_refer

pytestmark = pytest.mark.slow
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> TrainOptions:
    root = tmp_path_factory.mktemp("rris")
    data, images = write_refer(root)
    return TrainOptions(name="rris", out=root / "out", data=data, images=images, threads=1, workers=0)


def losses(out: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (out / LOSSES).read_text().splitlines()]


def test_the_papers_setting_in_small(options: TrainOptions, tmp_path: Path) -> None:
    """Swin and BERT from folders, bf16, checkpointing: what it saves loads, and checkpointing changes no loss."""
    swin, bert = tiny_hf.write_swin(tmp_path / "swin"), tiny_hf.write_bert(tmp_path / "bert")
    text = (
        f"vision: {swin}\ntext: {bert}\ndesign: {{side: 64, head_width: 8}}\nbatch: 8\nepochs: 1\ndrop_path: 0.3\n"
        "frozen: [text.model.embeddings]\n"
    )
    losses_of = {}
    for name, extra_text in (
        ("plain", ""),
        ("kept", "checkpointing: true\n"),
        ("half", "checkpointing: true\nprecision: bf16\n"),
    ):
        config = tmp_path / f"{name}.yaml"
        config.write_text(text + extra_text)
        list(recipes.run(replace(options, config=str(config), out=tmp_path / name)))
        losses_of[name] = losses(tmp_path / name)
        _fresh_accelerator()
    assert len(losses_of["plain"]) == 2
    assert losses_of["kept"] == pytest.approx(losses_of["plain"], abs=1e-5)
    assert losses_of["half"] != losses_of["plain"]
    assert losses_of["half"] == pytest.approx(losses_of["plain"], rel=0.02)
    model = read_model(tmp_path / "half" / loop.MODEL)
    first_model = read_model(tmp_path / "plain" / loop.MODEL)
    frozen = "text.model.embeddings.word_embeddings.weight"
    assert torch.equal(model.net.state_dict()[frozen], first_model.net.state_dict()[frozen])


def test_clipseg_goes_through_the_same_pipeline(
    options: TrainOptions, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tiny_hf.write_clipseg(tmp_path / "clipseg")
    config = tmp_path / "clipseg.yaml"
    config.write_text("design: {side: 64, tokens: 12}\nbatch: 8\nepochs: 3\nrate: 1.0e-3\n")
    capfd.readouterr()
    list(recipes.run(replace(options, model=f"clipseg@{folder}", config=str(config), out=tmp_path / "out")))
    assert not capfd.readouterr().err, "the library's bars and notes are kept off"
    assert losses(tmp_path / "out")[-1] < losses(tmp_path / "out")[0]
    before, after = (load_clipseg(path).net.model.state_dict() for path in (folder, tmp_path / "out" / loop.MODEL))
    changed_parts = {name.split(".")[0] for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed_parts == {"decoder"}
    model_spec(f"hf.clipseg.v1@{tmp_path / 'out' / loop.MODEL}")


def _fresh_accelerator() -> None:
    """Its precision is one for a whole process."""
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.fixture(autouse=True)
def _one_accelerator() -> Iterator[None]:
    yield
    _fresh_accelerator()
