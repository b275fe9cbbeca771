"""The networks that score captions, on tiny random weights: vectors, probabilities, and folders that are refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny_captions
import tiny_hf
from auscult.errors import InputError, UsageError
from auscult.nets.hf_sentences import convert_fluency, load_fluency, load_sentences
from auscult.score.captions import fense
from tiny_clip import needs_clip

pytestmark = pytest.mark.extra_clip
needs_clip()

TEXTS = ["a dog barks", "Two bells, ring!", "rain", "a very long caption " * 20]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_captions.write_encoder(tmp_path_factory.mktemp("encoders") / "tiny")


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> Path:
    root = tmp_path_factory.mktemp("checkers")
    checkpoint = tiny_captions.write_checkpoint(root / "checker.ckpt", encoder)
    convert_fluency(checkpoint, encoder, root / "checker")
    return root / "checker"


def _states(folder: Path, text: str, max_length: int) -> Any:
    """The last layer for one text, by the library alone."""
    import torch
    import transformers

    tokens = transformers.BertTokenizer.from_pretrained(str(folder))
    inputs = tokens([text], truncation=True, max_length=max_length, return_tensors="pt")
    with torch.no_grad():
        return transformers.BertModel.from_pretrained(str(folder)).eval()(**inputs).last_hidden_state[0].numpy()


def test_a_vector_is_the_mean_over_the_words_of_a_text_whatever_stands_beside_it(encoder: Path) -> None:
    load = load_sentences(encoder)
    vectors = load(TEXTS)
    assert vectors.shape == (4, 16)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    for text, vector in zip(TEXTS, vectors, strict=True):
        mean = _states(encoder, text, 24).mean(axis=0)
        assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
        assert load([text])[0] == pytest.approx(vector, abs=1e-5)
    assert load([]).shape == (0, 16)


def test_a_vector_is_the_first_words_where_the_folder_says_so(tmp_path: Path) -> None:
    folder = tiny_captions.write_encoder(tmp_path / "first", pooling="cls_token")
    first = _states(folder, TEXTS[0], 24)[0]
    assert load_sentences(folder)(TEXTS[:1])[0] == pytest.approx(first / np.linalg.norm(first), abs=1e-5)
    other = tiny_captions.write_encoder(tmp_path / "other", pooling="max_tokens")
    with pytest.raises(UsageError, match="pooled by max_tokens"):
        load_sentences(other)


def test_the_fluency_model_gives_the_last_output_of_its_checkpoint(encoder: Path, checker: Path) -> None:
    import torch

    states = torch.load(checker.parent / "checker.ckpt", weights_only=True)["state_dict"]
    values = load_fluency(checker)(TEXTS)
    for text, value in zip(TEXTS, values, strict=True):
        plain = text.replace(",", "").replace("!", "").lower()
        logits = states["clf.weight"].numpy() @ _states(checker, plain, 40)[0] + states["clf.bias"].numpy()
        assert value == pytest.approx(1 / (1 + np.exp(-logits[-1])), abs=1e-4)
    assert load_fluency(checker)([]).shape == (0,)
    with pytest.raises(UsageError, match="no classifier"):
        load_fluency(encoder)
    with pytest.raises(UsageError, match="there already"):
        convert_fluency(checker.parent / "checker.ckpt", encoder, checker)


def test_captions_are_scored_by_what_was_loaded_and_the_signature_names_it(encoder: Path, checker: Path) -> None:
    networks = {"sentences": load_sentences(encoder), "fluency": load_fluency(checker)}
    score = fense(["a dog barks", "rain"], [["a dog barks", "a cat"], ["two bells"]], **networks)
    assert score.samples[0, 1] == pytest.approx(1)
    assert score.value < score.parts["similarity"]
    assert "sentences:tiny|fluency:checker" in str(score.signature)


def test_a_checkpoint_runs_no_code_and_another_form_is_said(tmp_path: Path, encoder: Path) -> None:
    import torch

    (tmp_path / "code.ckpt").write_bytes(pickle.dumps({"state_dict": print}, protocol=2))
    with pytest.raises(InputError, match="cannot be read"):
        convert_fluency(tmp_path / "code.ckpt", encoder, tmp_path / "out")
    torch.save(
        {"state_dict": tiny_hf.random_model(lambda: torch.nn.Linear(2, 2), seed=0).state_dict()}, tmp_path / "line.ckpt"
    )
    with pytest.raises(InputError, match=r"no state_dict with clf\.weight"):
        convert_fluency(tmp_path / "line.ckpt", encoder, tmp_path / "out")
    assert not (tmp_path / "out").exists()
