"""SAJ in folders: begun with the public weights of its encoders, saved, checked, loaded and asked. Nothing is fetched.

A saved folder holds ``design.json``, ``model.safetensors`` and, where texts are read, the tokenizer's files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from auscult.errors import InputError, OutputError, UsageError
from auscult.media.paths import write_bytes
from auscult.nets import hf_folder as hf
from auscult.nets.hf_folder import CONFIG, WEIGHTS, folder_of, quiet, read_table
from auscult.nets.mq_auditor.prompt import build_tokenizer
from auscult.nets.mq_auditor.weights import fill_encoder, sound_settings
from auscult.nets.saj.inputs import SajReader
from auscult.nets.saj.network import TEXT, VISION, Saj
from auscult.nets.saj.settings import SajDesign
from auscult.types import PERFORMANCE, Samples, SoundCase

DESIGN: Final = "design.json"
_READER: Final = "PreTrainedTokenizerFast"
_EXPECTED: Final = f"a folder with {DESIGN} and {WEIGHTS}, as `auscult train saj` writes it"
_VOCABULARY: Final = 600


def begin(
    design: SajDesign, *, audio: str | None = None, text: str | None = None, vision: str | None = None,
    texts: Iterable[str] = (),
) -> tuple[Saj, SajReader]:  # fmt: skip
    """A network to train: encoders with public weights where they are named, all else new.

    Named, by folder or hub, are a PE-audio, AST or CLAP; a ModernBERT or BERT with ``tokenizer.json``; a ViT, CLIP or
    DINOv2: the design gets their settings. Of ``texts`` a new text encoder's vocabulary is made. ``UsageError`` where a
    folder is missing, damaged or of another model, see ``hf_folder.check_folder``.
    """
    tokenizer, read, vision_model = None, None, None
    if audio is not None:
        design = replace(design, audio=sound_settings(folder_of(audio), design.audio))
    if text is not None:
        read = _released(folder_of(text), TEXT, reader=_READER)
        design, tokenizer = replace(design, text={**read.folder.settings}), read.tokens
    elif design.text is not None:
        tokenizer = build_tokenizer(texts, _VOCABULARY)
        first, last = (
            dict.fromkeys(("bos_token_id", "cls_token_id"), 1),
            dict.fromkeys(("eos_token_id", "sep_token_id"), 2),
        )
        marks = {"vocab_size": len(tokenizer), "pad_token_id": 0, **first, **last}  # as build_tokenizer numbers them
        design = replace(design, text={**design.text, **marks})
    if vision is not None:
        vision_model = _released(folder_of(vision), VISION)
        design = replace(design, vision={**vision_model.folder.settings})
    net = Saj(design)
    if audio is not None:
        fill_encoder(net.audio.net.net, folder_of(audio), kind=net.audio.kind)
    net.text = net.text if read is None else read.model.cpu()
    net.vision = net.vision if vision_model is None else vision_model.model.cpu()
    return net, reader_of(net, tokenizer)


def reader_of(net: Saj, tokenizer: Any) -> SajReader:
    """What makes the network's batches."""
    return SajReader(design=net.design, rate_hz=net.audio.rate_hz, steps=net.audio.steps, tokenizer=tokenizer)


def _released(folder: Path, known: Mapping[str, tuple[str, str]], reader: str = "") -> hf.Loaded:
    """The model of a folder, one of several kinds."""
    kind = str(read_table(folder / CONFIG).get("model_type")) if (folder / CONFIG).is_file() else ""
    model = known.get(kind, next(iter(known.values())))[1]
    title = " or ".join(name.removesuffix("Model") for _, name in known.values())
    family = hf.Family(title=title, model=model, types=tuple(known), reader=reader, extra="train")
    return hf.load(hf.check_folder(folder, family))


def _tokenizer(folder: Path) -> Any:
    from transformers import PreTrainedTokenizerFast

    with quiet():
        return PreTrainedTokenizerFast.from_pretrained(str(folder), local_files_only=True)


def save(net: Saj, reader: SajReader, folder: Path) -> list[Path]:
    """Write all that ``load`` needs; weights in float32."""
    from safetensors.torch import save as packed

    weights = {name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}
    write_bytes(folder / DESIGN, msgspec.json.format(msgspec.json.encode(asdict(net.design)), indent=1))
    write_bytes(folder / WEIGHTS, packed(weights))
    if reader.tokenizer is not None:
        try:
            reader.tokenizer.save_pretrained(folder)
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", path=folder) from error
    return [folder / DESIGN, folder / WEIGHTS]


def read_design(folder: Path) -> SajDesign:
    """Look at a folder without loading its weights; a ``UsageError`` names what is missing or wrong."""
    try:
        design = msgspec.convert(read_table(folder / DESIGN), SajDesign)
        for table in (design.audio, design.text, design.vision):
            if table is not None:  # values within bounds; which kinds there are is known to the encoders
                hf.own_settings(table, hf.Family(title="an encoder", model="", types=(str(table.get("model_type")),)))
        hf.check_beside(folder, _READER if design.text is not None else "")
        numbers = hf.count_weights(folder / WEIGHTS)
        with torch.device("meta"):  # takes no memory, however large the settings are
            described = sum(parameter.numel() for parameter in Saj(design).parameters())
    except (InputError, msgspec.ValidationError, TypeError, ValueError, RuntimeError) as error:
        raise _unreadable(error, folder) from error
    if described > numbers:
        raise UsageError(f"{DESIGN} describes {described:,} weights, and {WEIGHTS} holds fewer", path=folder)
    return design


def load(folder: Path) -> tuple[Saj, SajReader]:
    """Load what ``save`` wrote, in evaluation mode, on a GPU where there is one; a ``UsageError`` says why not."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    net = Saj(read_design(folder))
    try:
        net.load_state_dict(load_file(folder / WEIGHTS))
    except (SafetensorError, RuntimeError, OSError) as error:
        raise _unreadable(error, folder) from error
    if not all(bool(torch.isfinite(value).all()) for value in net.state_dict().values()):
        raise UsageError("a weight is no number", path=folder / WEIGHTS, expected=_EXPECTED)
    tokenizer = None if net.design.text is None else _tokenizer(folder)
    return net.to("cuda" if torch.cuda.is_available() else "cpu").eval(), reader_of(net, tokenizer)


def _unreadable(error: Exception, folder: Path) -> UsageError:
    message = error.message if isinstance(error, InputError) else " ".join(str(error).split())[:160]
    path = getattr(error, "path", None) or folder
    return UsageError(f"no SAJ can be read here: {message}", path=path, expected=_EXPECTED)


class Asker:
    """The network of a folder; a ``UsageError`` says why it cannot be loaded."""

    def __init__(self, folder: Path) -> None:
        self.net, self.reader = load(folder)

    def scores(self, shown: Sequence[tuple[SoundCase, Samples]]) -> list[Mapping[str, float]]:
        """Scores by axis of outputs, in time and at level with their mixtures."""
        with torch.inference_mode():
            by_axis = self.net(self.reader.batch(shown).to(next(self.net.parameters()).device))
        return [{axis: float(by_axis[axis][row]) for axis in self.net.design.axes} for row in range(len(shown))]


class PublishedAsker:
    """``SAMAudioJudgeModel`` of the package ``sam_audio`` with what its ``from_pretrained`` finds in a folder."""

    def __init__(self, folder: Path) -> None:
        package: Any = import_module("sam_audio")
        try:
            model = package.SAMAudioJudgeModel.from_pretrained(str(folder))
            self._processor = package.SAMAudioJudgeProcessor.from_pretrained(str(folder))
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            message = " ".join(str(error).split())[:160]
            raise UsageError(f"the published judge cannot be loaded: {message}", path=folder) from error
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def scores(
        self, texts: Sequence[str], sounds: Sequence[tuple[Samples, Samples]], *, rate_hz: int
    ) -> list[Mapping[str, float]]:
        """Scores by axis of mixtures and outputs, (samples,) each, all of one length, at the rate that it takes."""
        mixtures, outputs = ([torch.from_numpy(pair[which])[None] for pair in sounds] for which in (0, 1))
        inputs = self._processor(text=list(texts), input_audio=mixtures, separated_audio=outputs, sampling_rate=rate_hz)
        with torch.inference_mode():
            output = self._model(**inputs.to(next(self._model.parameters()).device))
        by_axis = {axis: getattr(output, axis).reshape(-1) for axis in PERFORMANCE}
        return [{axis: float(values[row]) for axis, values in by_axis.items()} for row in range(len(texts))]
