"""Sentence encoder and fluency model of captions, from folders of weights: functions from texts to numbers.

Both are BERTs as ``transformers`` has them. The sentence encoder is a folder as ``sentence-transformers`` writes it
(Reimers and Gurevych, EMNLP 2019; AVI-Bench scores with paraphrase-TinyBERT-L6-v2): the mean of the last layer over the
words, or its first word where ``1_Pooling/config.json`` says so. The fluency model is that of FENSE (Zhou et al.,
ICASSP 2022; AVI-Bench scores with echecker_clotho_audiocaps_base): a line over the first word's last layer, whose last
output is the probability of any error. It is released as a pickle; ``convert_fluency`` makes a folder of it.
"""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.nets.hf_folder import CONFIG, WEIGHTS, Family, Loaded, check_folder, finite, load, read_table
from auscult.types import Doubles

SENTENCES: Final = Family(title="a sentence encoder", model="BertModel", types=("bert",), reader="BertTokenizer")
FLUENCY: Final = Family(title="a fluency model", model="BertModel", types=("bert",), reader="BertTokenizer")
POOLING: Final = "1_Pooling/config.json"
LENGTH: Final = "sentence_bert_config.json"
HEAD: Final = ("classifier.weight", "classifier.bias")
"""Names of the fluency model's line, (outputs, hidden) and (outputs,), in ``model.safetensors`` beside the BERT's."""

_BATCH: Final = 32
_MOST: Final = 512
_FLUENCY_WORDS: Final = 64
_RELEASED: Final = {"clf.weight": HEAD[0], "clf.bias": HEAD[1]}


@dataclass(frozen=True, slots=True, eq=False)
class SentenceVectors:
    """A loaded sentence encoder: texts to vectors of length 1, float64 (n, d)."""

    net: Loaded
    first: bool
    most: int
    name: str

    def __call__(self, texts: Sequence[str], /) -> Doubles:
        """The vectors, in the order of the texts; words beyond the ``most`` first are not read."""
        parts = []
        for states, mask in _states(self.net, texts, most=self.most):
            if self.first:
                vectors = states[:, 0]
            else:
                weights = mask[..., None].to(states.dtype)
                vectors = (states * weights).sum(1) / weights.sum(1)
            parts.append(vectors.double().cpu().numpy())
        rows = np.concatenate(parts) if parts else np.zeros((0, self.net.model.config.hidden_size))
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class FluencyErrors:
    """A loaded fluency model: texts to the probability of an error of fluency, float64 (n,)."""

    net: Loaded
    weight: Any = field(repr=False)
    bias: Any = field(repr=False)
    name: str

    def __call__(self, texts: Sequence[str], /) -> Doubles:
        """The probabilities, in the order of the texts; read without marks and in small letters, 64 words at most."""
        import torch

        plain = ["".join(letter for letter in text if _is_read(letter)).lower() for text in texts]
        parts = [
            torch.sigmoid(states[:, 0] @ self.weight.T + self.bias)[:, -1].double().cpu().numpy()
            for states, _ in _states(self.net, plain, most=_FLUENCY_WORDS)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def load_sentences(path: Path) -> SentenceVectors:
    """Load the sentence encoder of a folder.

    Raises:
        UsageError: The extra is missing, the folder is none of a BERT, or it pools in a way that is not known.
    """
    net = load(check_folder(path, SENTENCES))
    pooling = read_table(path / POOLING) if (path / POOLING).is_file() else {"pooling_mode_mean_tokens": True}
    modes = sorted(_ways(pooling))
    if modes not in (["mean_tokens"], ["cls_token"]):
        raise UsageError(
            f"the vectors are pooled by {', '.join(modes) or 'nothing'}"[:120],
            path=path / POOLING,
            expected="mean_tokens or cls_token",
        )
    stated = read_table(path / LENGTH).get("max_seq_length") if (path / LENGTH).is_file() else None
    most = stated if isinstance(stated, int) and 0 < stated <= _MOST else _MOST
    return SentenceVectors(net, first=modes == ["cls_token"], most=most, name=path.name)


def _ways(pooling: Any) -> list[str]:
    """Names of the ways of pooling that a file turns on, in either of its forms."""
    if isinstance(pooling.get("pooling_mode"), str):
        return [{"mean": "mean_tokens", "cls": "cls_token"}.get(pooling["pooling_mode"], pooling["pooling_mode"])]
    prefix = "pooling_mode_"
    return [name.removeprefix(prefix) for name, on in pooling.items() if name.startswith(prefix) and on]


def load_fluency(path: Path) -> FluencyErrors:
    """Load the fluency model of a folder, as ``convert_fluency`` writes it.

    Raises:
        UsageError: The extra is missing, or the folder is none of a BERT with the line of a fluency model.
    """
    net = load(check_folder(path, FLUENCY))
    weight, bias = _head(path)
    if weight.ndim != 2 or weight.shape[1] != net.model.config.hidden_size or bias.shape != weight.shape[:1]:
        raise UsageError(
            f"{HEAD[0]} and {HEAD[1]} are {tuple(weight.shape)} and {tuple(bias.shape)}",
            path=path / WEIGHTS,
            expected=f"(outputs, {net.model.config.hidden_size}) and (outputs,)",
        )
    return FluencyErrors(
        net, weight=finite(weight, net.folder).to(net.device), bias=finite(bias, net.folder).to(net.device),
        name=path.name,
    )  # fmt: skip


def convert_fluency(checkpoint: Path, bert: Path, folder: Path) -> None:
    """Make a folder for ``load_fluency`` of FENSE's released checkpoint and of the BERT that it was trained from.

    The checkpoint, ``echecker_clotho_audiocaps_base.ckpt`` say, is read as tensors and plain values only: no code in it
    is run. ``bert`` has the settings and the tokenizer of bert-base-uncased, whose weights are not read. An InputError
    where the checkpoint has another form, a UsageError where the new folder is there already, or the tokenizer is not.
    """
    import torch
    from safetensors.torch import save_file

    if folder.exists():
        raise UsageError("the folder is there already", path=folder, expected="a folder that is not there yet")
    try:
        content = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError) as error:
        raise InputError(
            f"the checkpoint cannot be read: {' '.join(str(error).split())[:80]}", path=checkpoint,
            expected="a checkpoint of FENSE's fluency model, of tensors and plain values",
        ) from error  # fmt: skip
    states = content.get("state_dict") if isinstance(content, dict) else None
    if not isinstance(states, dict) or not _RELEASED.keys() <= states.keys():
        raise InputError(
            "the checkpoint has no state_dict with clf.weight and clf.bias", path=checkpoint,
            expected="a checkpoint of FENSE's fluency model", hint="the sentence encoder is another file",
        )  # fmt: skip
    weights = {
        _RELEASED.get(name, name.removeprefix("encoder.")): tensor.contiguous()
        for name, tensor in states.items()
        if not name.endswith("position_ids")  # a count from 0, which old versions of the library kept
    }
    files = [bert / name for name in (CONFIG, "vocab.txt", "tokenizer.json", "tokenizer_config.json")]
    folder.mkdir(parents=True)
    for file in files:
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    save_file(weights, folder / WEIGHTS)
    check_folder(folder, FLUENCY)


def _head(path: Path) -> tuple[Any, Any]:
    """The line of the fluency model."""
    from safetensors import safe_open

    with safe_open(path / WEIGHTS, framework="pt") as file:
        if not set(HEAD) <= set(file.keys()):
            raise UsageError(
                f"the weights have no {HEAD[0]}", path=path / WEIGHTS, expected="a BERT with a fluency model's line",
                hint="auscult.nets.hf_sentences.convert_fluency makes such a folder of FENSE's checkpoint",
            )  # fmt: skip
        return file.get_tensor(HEAD[0]).float(), file.get_tensor(HEAD[1]).float()


def _is_read(letter: str) -> bool:
    return letter.isalnum() or letter == "_" or letter.isspace()


def _states(net: Loaded, texts: Sequence[str], *, most: int) -> Any:
    """Last layer (n, words, hidden) and mask (n, words) of batches of texts, in their order."""
    import torch

    most = min(most, net.model.config.max_position_embeddings)
    for start in range(0, len(texts), _BATCH):
        tokens = net.tokens(
            list(texts[start : start + _BATCH]), padding=True, truncation=True, max_length=most, return_tensors="pt"
        ).to(net.device)
        with torch.inference_mode():
            states = net.model(**tokens).last_hidden_state
        yield finite(states, net.folder), tokens["attention_mask"]
