"""Folders of Hugging Face weights: looked at first, then loaded, offline. Nothing in them is executed.

A folder is what ``save_pretrained`` writes: ``config.json``, ``model.safetensors`` and, for models that read, the
tokenizer's files. Weights are read from ``model.safetensors`` only, since other formats can run code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import check_file
from auscult.nets.hf_config import WEIGHTS, Part, build_settings, check_settings
from auscult.nets.hf_files import count_weights, read_table

CONFIG: Final = "config.json"
CLIP_TOKENS: Final = (("tokenizer.json",), ("vocab.json", "merges.txt"))
BERT_TOKENS: Final = (("tokenizer.json",), ("vocab.txt",))

_ADAPTER: Final = "adapter_config.json"
_BESIDE: Final = ("tokenizer_config.json", "preprocessor_config.json", "processor_config.json")
_MEDIUM: Final = Limits(max_bytes=32_000_000)
_SHARED: Final = 2  # weights that stand in several places of a model are in its file once
_PICKLED: Final = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of checkpoint.

    Attributes:
        title: What messages call it.
        model: The class of ``transformers`` that runs it.
        part: Its settings.
        tokens: Files of its tokenizer, in either of these sets; empty where it reads no text.
        reader: The tokenizer's class; empty where it reads no text.
    """

    title: str
    model: str
    part: Part
    tokens: tuple[tuple[str, ...], ...] = ()
    reader: str = ""

    @property
    def expected(self) -> str:
        """What a folder must hold, for messages."""
        also = " and the tokenizer's files" if self.tokens else ""
        return f"a folder with {CONFIG}, {WEIGHTS}{also} of {self.title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder that was looked at and may be loaded.

    Attributes:
        path: The folder.
        family: What it holds.
        settings: The model's own table of ``config.json``.
        numbers: How many weights the file has.
    """

    path: Path
    family: Family
    settings: Mapping[str, Any]
    numbers: int


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model ready to run.

    Attributes:
        folder: Where it comes from.
        model: The library's model, float32, not in training.
        tokens: The library's tokenizer, or None.
        device: ``cuda`` where there is one, else ``cpu``.
    """

    folder: Folder
    model: Any
    tokens: Any
    device: str


def check_folder(path: Path, family: Family) -> Folder:
    """Look at a folder of weights without loading them.

    Raises:
        UsageError: The extra `hf` is not installed; the folder or a file is missing, damaged or too large; the
            configuration is of another model or names code; or the folder holds an adapter.
    """
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise UsageError(
            f"{family.title} needs the extra `hf`",
            expected="the packages transformers and torch",
            hint="pip install 'auscult[hf]', or '.[hf]' in a clone",
        )
    if not path.is_dir():
        raise UsageError("there is no such folder of weights", path=path, expected=family.expected)
    if (path / _ADAPTER).exists():
        raise UsageError(
            "the folder holds an adapter, that is other weights beside the model's",
            path=path / _ADAPTER,
            expected=family.expected,
        )
    try:
        settings = check_settings(read_table(path / CONFIG), family.part)
        _check_beside(path)
        _check_tokens(path, family)
        numbers = count_weights(path / WEIGHTS)
    except InputError as error:
        hint = "pickled weights are not read: save the model again with safetensors" if _pickled(path) else error.hint
        where = error.path or str(path / CONFIG)
        raise UsageError(error.message, path=where, expected=family.expected, hint=hint) from error
    return Folder(path=path, family=family, settings=settings, numbers=numbers)


def load(folder: Folder) -> Loaded:
    """Load model and tokenizer, in float32; takes seconds and the size of the weights in memory.

    Raises:
        UsageError: The files do not fit together, are damaged, or lack some of the weights.
    """
    import torch

    family = folder.family
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        with quiet():
            model, lacking = _model(folder)
            tokens = _tokens(folder)
    except InputError as error:
        raise UsageError(error.message, path=folder.path / CONFIG, expected=family.expected) from error
    except Exception as error:  # what tokenizers, safetensors and checks of settings raise shares no base but Exception
        reason = " ".join(str(error).split())[:160]
        raise UsageError(
            f"{family.title} cannot be loaded: {reason}", path=folder.path, expected=family.expected
        ) from error
    if lacking:
        raise UsageError(
            f"{len(lacking)} weights are missing or of another shape, the first {lacking[0][:80]}",
            path=folder.path / WEIGHTS,
            expected=f"the weights that {CONFIG} describes",
        )
    return Loaded(folder, model.to(device), tokens, device)


def finite(found: Any, folder: Folder) -> Any:
    """Give back a tensor of a model.

    Raises:
        UsageError: It holds what is no number.
    """
    import torch

    if not bool(torch.isfinite(found).all()):
        raise UsageError(
            f"{folder.family.title} gives what is no number", path=folder.path / WEIGHTS, expected="whole weights"
        )
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no notes of transformers on stderr; its settings are put back."""
    from transformers.utils import logging

    notes: Any = logging
    level, bars = notes.get_verbosity(), notes.is_progress_bar_enabled()
    notes.set_verbosity(notes.CRITICAL)
    notes.disable_progress_bar()
    try:
        yield
    finally:
        notes.set_verbosity(level)
        if bars:
            notes.enable_progress_bar()


def _model(folder: Folder) -> tuple[Any, list[str]]:
    import torch
    import transformers

    kind: Any = getattr(transformers, folder.family.model)
    settings = build_settings(folder.settings, folder.family.part)
    with torch.device("meta"):  # takes no memory, however large the settings are
        numbers = sum(weights.numel() for weights in kind(settings).parameters())
    if numbers > _SHARED * folder.numbers:
        raise InputError(f"{CONFIG} describes {numbers:,} weights, and {WEIGHTS} holds {folder.numbers:,}")
    model, told = kind.from_pretrained(
        str(folder.path),
        config=build_settings(folder.settings, folder.family.part),
        local_files_only=True,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # they are told, and refused by name
        dtype="float32",
    )
    wrong = (one[0] if isinstance(one, tuple) else one for one in told.get("mismatched_keys", ()))
    return model.eval(), sorted(map(str, (*told.get("missing_keys", ()), *wrong)))


def _tokens(folder: Folder) -> Any:
    import transformers

    if not folder.family.reader:
        return None
    return getattr(transformers, folder.family.reader).from_pretrained(str(folder.path), local_files_only=True)


def _check_beside(path: Path) -> None:
    for name in _BESIDE:
        if (path / name).is_file() and "auto_map" in read_table(path / name):
            raise InputError("it holds 'auto_map': code of a folder is never run", path=path / name)


def _check_tokens(path: Path, family: Family) -> None:
    if not family.tokens:
        return
    if not any(all((path / name).is_file() for name in names) for names in family.tokens):
        ways = ", or ".join(" and ".join(names) for names in family.tokens)
        raise InputError(f"the tokenizer is missing: {ways}", path=path)
    for name in {name for names in family.tokens for name in names if (path / name).is_file()}:
        check_file(path / name, limits=_MEDIUM)
        if name.endswith(".json"):
            read_table(path / name, _MEDIUM)  # so that a damaged one is named


def _pickled(path: Path) -> bool:
    return not (path / WEIGHTS).exists() and any(any(path.glob(pattern)) for pattern in _PICKLED)
