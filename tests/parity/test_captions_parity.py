"""Scores of captions equal those of other packages: nltk's METEOR, and CIDEr-D, ROUGE-L and FENSE of aac-metrics."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tiny_captions
from auscult.score.captions import cider_d, fense, meteor, rouge_l, tokens

pytestmark = [pytest.mark.peer, pytest.mark.slow]
if any(find_spec(name) is None for name in ("nltk", "aac_metrics", "torch")):
    pytest.skip("the packages to compare captions with are not installed", allow_module_level=True)

ALIKE = ({"man", "person", "guy"}, {"woman", "girl"}, {"road", "street"}, {"big", "tall"}, {"on", "in", "at"})
"""Words that are their own stems: nltk looks for synonyms of what is left after stemming, by its stem."""


@pytest.fixture(scope="module")
def pairs(data: Path) -> tuple[list[str], list[list[str]]]:
    """Two captions of each photograph of COCO, each with the other captions as references: 140 pairs."""
    by_picture = defaultdict(list)
    for row in json.loads((data / "images" / "coco" / "captions.json").read_text(encoding="utf-8")):
        by_picture[row["image_id"]].append(row["caption"])
    caption_places = [(captions, index) for _, captions in sorted(by_picture.items()) for index in (0, 1)]
    return [captions[index] for captions, index in caption_places], [
        captions[:index] + captions[index + 1 :] for captions, index in caption_places
    ]


@pytest.fixture(scope="module")
def split(pairs: tuple[list[str], list[list[str]]]) -> tuple[list[str], list[list[str]]]:
    """The same as words with spaces between them."""
    return [" ".join(tokens(caption)) for caption in pairs[0]], [
        [" ".join(tokens(caption)) for caption in true] for true in pairs[1]
    ]


@pytest.fixture(scope="module")
def aac() -> Any:
    """The functions of aac-metrics, which imports a package for CLAP that nothing here asks for."""
    sys.modules["msclap"] = ModuleType("msclap")
    sys.modules["msclap"].CLAP = object  # type: ignore[attr-defined]
    from aac_metrics.functional.cider_d import cider_d as cider
    from aac_metrics.functional.fense import fense as scored
    from aac_metrics.functional.fer import BERTFlatClassifier
    from aac_metrics.functional.rouge_l import rouge_l as rouge

    return SimpleNamespace(cider=cider, rouge=rouge, fense=scored, checker=BERTFlatClassifier)


@pytest.mark.parametrize("has_synonyms", [False, True])
def test_meteor_of_2007_is_nltks(pairs: Any, split: Any, has_synonyms: bool) -> None:
    from nltk.stem.snowball import SnowballStemmer
    from nltk.translate.meteor_score import meteor_score

    def synonyms(word: str) -> set[str]:
        return set().union(*(words for words in ALIKE if has_synonyms and word in words))

    def synsets(word: str) -> list[Any]:
        lemmas = [SimpleNamespace(name=lambda synonym=synonym: synonym) for synonym in synonyms(word)]
        return [SimpleNamespace(lemmas=lambda: lemmas)]

    stemmer, wordnet = SnowballStemmer("english"), SimpleNamespace(synsets=synsets)
    expected = [
        meteor_score([caption.split() for caption in true], candidate.split(), stemmer=stemmer, wordnet=wordnet)
        for candidate, true in zip(*split, strict=True)
    ]
    score = meteor(*pairs, version="2007", synonyms=synonyms if has_synonyms else None)
    assert len(expected) >= 100
    assert score.samples[:, 0] == pytest.approx(expected, abs=1e-12)


def test_words_are_nltks_without_marks(pairs: Any) -> None:
    from nltk.tokenize import NLTKWordTokenizer

    split = NLTKWordTokenizer().tokenize
    for text in pairs[0]:
        assert tokens(text) == tuple(word for word in split(text.lower()) if any(map(str.isalnum, word)))


def test_cider_and_rouge_are_those_of_aac_metrics(pairs: Any, split: Any, aac: Any) -> None:
    _, expected = aac.cider(*split)
    assert 10 * cider_d(*pairs).samples[:, 0] == pytest.approx(expected["cider_d"].numpy(), abs=1e-9)
    _, expected = aac.rouge(*split)
    assert rouge_l(*pairs).samples[:, 0] == pytest.approx(expected["rouge_l"].numpy(), abs=1e-6)


def test_fense_is_that_of_aac_metrics_where_networks_are_the_same(pairs: Any, aac: Any, tmp_path: Path) -> None:
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer

    from auscult.nets.hf_sentences import convert_fluency, load_fluency, load_sentences

    encoder = tiny_captions.write_encoder(tmp_path / "encoder")
    checkpoint = tiny_captions.write_checkpoint(tmp_path / "checker.ckpt", encoder)
    convert_fluency(checkpoint, encoder, tmp_path / "checker")
    checker = aac.checker(str(encoder), tiny_captions.OUTPUTS)
    states = torch.load(checkpoint, weights_only=True)["state_dict"]
    checker.load_state_dict({name: tensor for name, tensor in states.items() if "position_ids" not in name})
    words = transformers.BertTokenizer.from_pretrained(str(encoder), model_max_length=40)
    captions = [caption[:30] for caption in pairs[0]]  # it pads to 64 words, and the tiny network reads 40
    references = [[caption[:30] for caption in true] for true in pairs[1]]
    _, expected = aac.fense(
        captions, references, sbert_model=SentenceTransformer(str(encoder), device="cpu"), device="cpu",
        echecker=checker, echecker_tokenizer=_short(words), return_probs=True,
    )  # fmt: skip
    networks = {"sentences": load_sentences(encoder), "fluency": load_fluency(tmp_path / "checker")}
    score = fense(captions, references, variant="AVI-Bench", **networks)
    assert score.samples[:, 1] == pytest.approx(expected["sbert_sim"].numpy(), abs=1e-5)
    assert score.samples[:, 2] == pytest.approx(expected["fluency_error.error_prob"].numpy(), abs=1e-4)
    assert score.samples[:, 0] == pytest.approx(expected["fense"].numpy(), abs=1e-5)
    flagged = np.asarray(expected["fer"])
    assert 0 < flagged.mean() < 1  # so that the flag is seen both ways


def _short(words: Any) -> Any:
    """A tokenizer that pads to the 40 words that the tiny network reads, whatever is asked for."""
    return lambda texts, **options: words(texts, **{**options, "max_length": 40})
