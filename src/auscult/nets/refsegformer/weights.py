"""A RefSegformer from folders: its encoders' public weights to begin with, and the whole network saved and loaded.

A saved folder holds ``design.json``, ``model.safetensors``, and what reads sentences: ``words.json``, or in ``text/``
BERT's settings and tokenizer; Swin's settings stand in ``vision/``. Nothing in it is executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

from auscult.errors import InputError, OutputError, UsageError
from auscult.media.paths import write_bytes
from auscult.nets.hf_folder import (
    CONFIG,
    PREPARED,
    WEIGHTS,
    Family,
    build_settings,
    channels,
    check_beside,
    check_folder,
    folder_of,
    load,
    own_settings,
    quiet,
    read_table,
)
from auscult.nets.mobilenet import MobileStages
from auscult.nets.refsegformer.network import BertText, Reader, RefSegformer, SmallText, SmallVision, SwinStages
from auscult.nets.refsegformer.settings import DESIGN, LAST, PADDING, UNKNOWN, Design, Vocabulary

SWIN: Final = Family(title="Swin", model="SwinModel", types=("swin",))
BERT: Final = Family(title="BERT", model="BertModel", types=("bert",), reader="BertTokenizer")
WORDS: Final = "words.json"
IMAGENET: Final = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_MOST_WORDS: Final = 100_000


class WordReader(Vocabulary):
    """A vocabulary as a ``Reader``."""

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Read as ``Reader`` says."""
        ids = torch.from_numpy(self.ids(texts))
        return ids, ids != PADDING


class BertReader:
    """A tokenizer of ``transformers``, such as BERT's; marks of begin and end count among the ``tokens``."""

    def __init__(self, tokenizer: Any, *, tokens: int) -> None:
        self.tokenizer, self.tokens = tokenizer, tokens

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Read as ``Reader`` says."""
        tokens = self.tokenizer(
            list(texts), truncation=True, padding="max_length", max_length=self.tokens, return_tensors="pt"
        )
        return tokens["input_ids"], tokens["attention_mask"].bool()


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A network, what reads its sentences, and the settings of encoders that came from ``transformers``."""

    net: RefSegformer
    read: Reader
    vision_config: Any = None
    text_config: Any = None


def begin(
    design: Design,
    *,
    vision: str | None = None,
    text: str | None = None,
    words: Sequence[str] = (),
    drop_path: float | None = None,
    checkpointing: bool = False,
) -> Model:
    """A network to train: encoders with public weights where the design has such, all else new.

    The design's ``widths`` and ``text_width`` are set to those of the encoders. ``vision`` is the folder or hub name of
    a Swin (a MobileNetV2 is new here), ``text`` that of a BERT with its tokenizer, ``words`` the vocabulary of a small
    text encoder. ``drop_path`` is Swin's stochastic depth, None for what its settings say; with ``checkpointing``
    encoders of ``transformers`` compute again what they forget. A UsageError where a folder is missing, damaged or of
    another model.
    """
    stages: torch.nn.Module | None = None
    if design.vision == "swin":
        design, stages = _swin(
            design, _needed(vision, "vision", SWIN), drop_path=drop_path, checkpointing=checkpointing
        )
    if design.text == "small":
        reader, text_encoder = _of_words(design, words)
    else:
        bert = load(check_folder(_needed(text, "text", BERT), BERT))
        design = replace(design, text_width=bert.model.config.hidden_size)
        _checkpoint(bert.model, checkpointing=checkpointing)
        reader, text_encoder = BertReader(bert.tokens, tokens=design.tokens), BertText(bert.model.cpu())
    return _joined(design, reader, vision=stages or _own(design), text=text_encoder)


def _of_words(design: Design, words: Sequence[str]) -> tuple[Reader, torch.nn.Module]:
    return WordReader(words, tokens=design.tokens), SmallText(design, words=len(words) + UNKNOWN + 1)


def _own(design: Design) -> torch.nn.Module:
    return MobileStages() if design.vision == "mobile" else SmallVision(design)


def _joined(design: Design, read: Reader, *, vision: torch.nn.Module, text: torch.nn.Module) -> Model:
    return Model(
        RefSegformer(design, vision=vision, text=text),
        read,
        vision.config if isinstance(vision, SwinStages) else None,
        text.model.config if isinstance(text, BertText) else None,
    )


def _swin(design: Design, path: Path, *, drop_path: float | None, checkpointing: bool) -> tuple[Design, SwinStages]:
    folder = check_folder(path, SWIN)
    if drop_path is not None:
        folder = replace(folder, settings={**folder.settings, "drop_path_rate": drop_path})
    prepared = read_table(path / PREPARED) if (path / PREPARED).is_file() else {}
    try:
        mean, std = channels(prepared, usual=IMAGENET)
    except InputError as error:
        raise UsageError(error.message, path=path / PREPARED, expected=SWIN.expected) from error
    model = load(folder).model.cpu()
    if len(model.config.depths) != LAST:
        raise UsageError(f"this Swin has {len(model.config.depths)} stages", path=path, expected=f"{LAST} stages")
    if design.side // 32 < model.config.window_size:
        raise UsageError(
            f"windows of {model.config.window_size} are wider than the last stage of pictures of {design.side} pixels",
            path=path,
            expected=f"`side` of {32 * model.config.window_size} or more",
        )
    _checkpoint(model, checkpointing=checkpointing)
    widths = tuple(model.config.embed_dim * 2**stage for stage in range(LAST))
    return replace(design, widths=widths), SwinStages(model, mean=mean, std=std)


def _checkpoint(model: Any, *, checkpointing: bool) -> None:
    if not checkpointing:
        return
    if hasattr(model, "activation_checkpointing_enable"):  # its name in newer versions of the library
        model.activation_checkpointing_enable()
    else:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})


def _needed(name: str | None, which: str, family: Family) -> Path:
    if name is None:
        raise UsageError(f"no weights of {family.title} are named", expected=f"`{which}` in the settings: a folder")
    return folder_of(name)


def save(model: Model, folder: Path) -> list[Path]:
    """Write a network with all it needs to be loaded: float32 weights as safetensors."""
    from safetensors.torch import save as packed

    design = model.net.design
    weights = {name: value.detach().cpu().contiguous() for name, value in model.net.state_dict().items()}
    files = {DESIGN: msgspec.json.format(msgspec.json.encode(asdict(design)), indent=1)}
    if model.vision_config is not None:
        files[f"vision/{CONFIG}"] = model.vision_config.to_json_string().encode()
    if model.text_config is not None:
        files[f"text/{CONFIG}"] = model.text_config.to_json_string().encode()
    if isinstance(model.read, WordReader):
        files[WORDS] = msgspec.json.encode(model.read.words)
    files[WEIGHTS] = packed(weights)
    for name, content in files.items():
        write_bytes(folder / name, content)
    if isinstance(model.read, BertReader):
        try:
            model.read.tokenizer.save_pretrained(folder / "text")
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=folder / "text") from error
    return [folder / name for name in files]


def read_model(folder: Path) -> Model:
    """Load what ``save`` wrote, in evaluation mode on the CPU; a ``UsageError`` says what is wrong with it."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        design = msgspec.convert(read_table(folder / DESIGN), Design)
        model = _described(design, folder)
        model.net.load_state_dict(load_file(folder / WEIGHTS))
    except (InputError, msgspec.ValidationError, SafetensorError, RuntimeError, OSError) as error:
        message = error.message if isinstance(error, InputError) else " ".join(str(error).split())[:160]
        raise UsageError(
            f"no RefSegformer can be read here: {message}",
            path=getattr(error, "path", None) or folder,
            expected=f"a folder with {DESIGN} and {WEIGHTS}, as `auscult train rris` writes it",
        ) from error
    model.net.eval()
    return model


def _described(design: Design, folder: Path) -> Model:
    """A network of random weights with the settings of a saved folder."""
    vision = (
        _own(design)
        if design.vision != "swin"
        else SwinStages(_library(folder / "vision", SWIN), mean=IMAGENET[0], std=IMAGENET[1])
    )
    if design.text == "small":
        words = msgspec.json.decode((folder / WORDS).read_bytes()[: 32 * _MOST_WORDS], type=tuple[str, ...])
        if len(words) > _MOST_WORDS:
            raise InputError(f"{len(words)} words, more than {_MOST_WORDS}", path=folder / WORDS)
        read, text = _of_words(design, words)
        return _joined(design, read, vision=vision, text=text)
    import transformers

    check_beside(folder / "text", BERT.reader)
    text = BertText(_library(folder / "text", BERT))
    with quiet():
        tokenizer = transformers.BertTokenizer.from_pretrained(str(folder / "text"), local_files_only=True)
    return _joined(design, BertReader(tokenizer, tokens=design.tokens), vision=vision, text=text)


def _library(folder: Path, family: Family) -> Any:
    import transformers

    kind: Any = getattr(transformers, family.model)
    table = own_settings(read_table(folder / CONFIG), family)
    with quiet():
        return kind(build_settings(table, kind.config_class, family.parts))
