"""A sentence encoder and a fluency model of random weights, a few kilobytes small, written the way real ones are."""

from __future__ import annotations

import json
from pathlib import Path

import tiny_hf

OUTPUTS = 6
BIAS = -22.6  # so that captions get probabilities on both sides of .9


def write_encoder(folder: Path, *, seed: int = 0, pooling: str = "mean_tokens") -> Path:
    """A folder as sentence-transformers writes it."""
    tiny_hf.write_bert(folder, seed=seed)
    (folder / "1_Pooling").mkdir()
    ways = {f"pooling_mode_{mode}": mode == pooling for mode in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **ways}))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 24, "do_lower_case": False}))
    modules = [("0", "", "Transformer"), ("1", "1_Pooling", "Pooling")]
    (folder / "modules.json").write_text(
        json.dumps(
            [
                {"idx": int(name), "name": name, "path": path, "type": f"sentence_transformers.models.{kind}"}
                for name, path, kind in modules
            ]
        )
    )
    return folder


def write_checkpoint(path: Path, bert: Path, *, seed: int = 1) -> Path:
    """A checkpoint as FENSE releases it: BERT and a line over its first word."""
    import torch
    import transformers

    settings = transformers.BertConfig.from_pretrained(str(bert), local_files_only=True)
    model = tiny_hf.spread(tiny_hf.random_model(lambda: transformers.BertModel(settings), seed=seed), by=4)
    line = tiny_hf.random_model(lambda: torch.nn.Linear(settings.hidden_size, OUTPUTS), seed=seed)
    states = {f"encoder.{name}": tensor for name, tensor in model.state_dict().items()}
    states["encoder.embeddings.position_ids"] = torch.arange(settings.max_position_embeddings)[None]
    states |= {f"clf.{name}": 40 * tensor for name, tensor in line.state_dict().items()}
    states["clf.bias"][-1] = BIAS
    torch.save({"model_type": "bert-base-uncased", "num_classes": OUTPUTS, "state_dict": states}, path)
    return path
