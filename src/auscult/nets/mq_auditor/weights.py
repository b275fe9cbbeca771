"""MQ-Auditors in folders: saved, checked, loaded, put together of released parts, converted from pickled files.

A folder holds ``config.json``, the tokenizer's files and either ``model.safetensors``, in parts if large, or
``learned.safetensors`` with what was trained, beside the folders ``language``, ``vision`` and ``sound`` of the parts
that were not (they may be links). Nothing is fetched, no code of a folder is run, and no pickle is read here: a
``.bin`` or ``.pt`` of a release is converted first, in a process of its own, by torch's reader of plain tensors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError, UsageError
from auscult.nets.hf_folder import (
    CONFIG,
    INDEX,
    WEIGHTS,
    Family,
    check_beside,
    count_weights,
    own_settings,
    quiet,
    read_table,
    weight_files,
)

LEARNED: Final = "learned.safetensors"
PARTS: Final = ("language", "vision", "sound")
FAMILY: Final = Family(title="MQ-Auditor", model="MqAuditor", types=("mq_auditor",), extra="train")
_EXPECTED: Final = f"a folder with {CONFIG}, the tokenizer's files, and {WEIGHTS} or {LEARNED} with its parts"
_SHARD: Final = "4GB"
_SETTINGS: Final = "beats.json"

# names in a release's files, without what `peft` and the wrapper put before them
_RELEASED: Final = (
    (r"(base_model\.model\.)?(model\.)?(?=(vl|al)_projector|visual_encoder|audio_encoder)", ""),
    (r"^base_model\.model\.(?=model\.|lm_head)", "language."),
    (r"^(?=model\.layers|model\.embed_tokens|model\.norm|lm_head)", "language."),
    (r"^visual_encoder\.vision_tower\.(vision_model\.)?", "vision."),
    (r"^audio_encoder\.audio_encoder\.", "sound.net."),
    (r"^vl_projector\.visual_", "video_bridge."),
    (r"^al_projector\.audio_", "sound_bridge."),
    (r"bridge\.ln\.", "bridge.norm."),
    (r"bridge\.query_tokens", "bridge.queries"),
    (r"bridge\.proj\.", "bridge.project."),
    (r"bridge\.Qformer\.bert\.", "bridge.qformer."),
    (r"qformer\.embeddings\.LayerNorm\.", "qformer.layernorm."),
    (r"((?:cross)?attention)\.self\.", r"\1.attention."),
    (r"(qformer\.encoder\.layer\.\d+)\.(intermediate|output)\.", r"\1.\2_query."),
    (r"(lora_[AB])\.weight$", r"\1.default.weight"),
    (r"\.modules_to_save\.default\.", "."),
)
_LEFT_OUT: Final = re.compile(
    r"Qformer\.cls|position_ids|original_module|rotary_emb|seg_module|\.bert\.embeddings\.(?!Lay)"
)


def check_files(folder: Path) -> None:
    """Look at a folder without loading it; a ``UsageError`` names what is missing or broken."""
    lacking = [name for name in ("torch", "transformers", "peft", "safetensors") if find_spec(name) is None]
    if lacking:
        raise UsageError(
            f"MQ-Auditor needs the extra `train`: {', '.join(lacking)} is not installed",
            expected="the packages of the extra",
            hint="pip install 'auscult[train]', or '.[train]' in a clone",
        )
    if not folder.is_dir():
        raise UsageError("there is no such folder of weights", path=folder, expected=_EXPECTED)
    try:
        own_settings(read_table(folder / CONFIG), FAMILY)
        check_beside(folder, "Qwen2Tokenizer" if not (folder / "tokenizer.json").exists() else "CLIPTokenizer")
        if _is_whole(folder):
            sum(map(count_weights, weight_files(folder)))
            return
        count_weights(folder / LEARNED)
        for part in PARTS:
            _check_part(folder / part, part)
    except InputError as error:
        raise UsageError(
            error.message, path=error.path or str(folder), expected=error.expected or _EXPECTED, hint=error.hint
        ) from error


def _is_whole(folder: Path) -> bool:
    return (folder / WEIGHTS).exists() or (folder / INDEX).exists() or not (folder / LEARNED).exists()


def _check_part(folder: Path, part: str) -> None:
    if not folder.is_dir():
        raise UsageError(
            f"the folder of the part {part!r} is missing",
            path=folder,
            expected=f"the {part} weights that {LEARNED} was trained on, as a folder or a link to one",
        )
    files = weight_files(folder)
    sum(map(count_weights, files))


def save(model: Any, tokenizer: Any, folder: Path, *, learned_only: bool = False) -> None:
    """Save a network that ``load`` loads: whole, or ``learned_only`` what was learned, without the parts under it."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(str(folder))
    if not learned_only:
        with quiet():
            model.save_pretrained(str(folder), max_shard_size=_SHARD)
        return
    model.config.save_pretrained(str(folder))
    state = {name: value.detach().cpu().contiguous() for name, value in model.named_parameters() if value.requires_grad}
    save_file(state, str(folder / LEARNED))


def load(folder: Path, *, four_bits: bool = False, to_ask: bool = False) -> tuple[Any, Any]:
    """The network of a folder and its tokenizer, ready to be asked, on a GPU where there is one.

    ``four_bits`` holds the language model's matrices in 4 bits, which needs ``bitsandbytes`` and a GPU. One that is
    only ``to_ask`` has its weights in bf16 on a GPU, half as large. A UsageError where something is missing, broken, of
    another size, or would run code.
    """
    import torch
    from transformers import AutoTokenizer

    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import AuditorConfig

    check_files(folder)
    config = _configured(AuditorConfig, read_table(folder / CONFIG))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = torch.bfloat16 if to_ask and device == "cuda" and not four_bits else None
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    if not _is_whole(folder):
        model = _with_parts(MqAuditor(config), {part: folder / part for part in PARTS})
        load_learned(model, folder / LEARNED)
        return model.to(device=device, dtype=kind).eval(), tokenizer
    options = {"quantization_config": _four_bits()} if four_bits else {}
    try:
        with quiet():
            model, report = MqAuditor.from_pretrained(
                str(folder),
                config=config,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **options,
            )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"it cannot be loaded: {str(error)[:160]}", path=folder, expected=_EXPECTED) from error
    _refuse_lacking(report, folder)
    return model.to(device=device, dtype=kind).eval(), tokenizer


def _configured(kind: Any, table: Mapping[str, Any]) -> Any:
    """Settings of a checked file; what the class does not know is left out."""
    import inspect

    names = set(inspect.signature(kind.__init__).parameters) - {"self", "others"}
    try:
        return kind(**{key: value for key, value in table.items() if key in names})
    except (TypeError, ValueError) as error:
        raise UsageError(f"{CONFIG}: {str(error)[:160]}", expected="settings of an MQ-Auditor") from error


def _four_bits() -> Any:
    if find_spec("bitsandbytes") is None:
        raise UsageError(
            "4 bits need the package bitsandbytes", hint="pip install bitsandbytes, on a machine with a GPU"
        )
    import torch
    from transformers import BitsAndBytesConfig

    skipped = ["vision", "sound", "video_bridge", "sound_bridge", "iou_head", "lm_head", "lora_A", "lora_B"]
    return BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16, llm_int8_skip_modules=skipped)


def assemble(config: Any, *, language: Path, vision: Path, sound: Path) -> tuple[Any, Any]:
    """A network whose parts are released weights, its Q-Formers, projectors and adapters new; and its tokenizer.

    ``config`` says what the folders do not: tokens, uses of the mask, adapters. Folders are of a causal language model
    with its tokenizer, of a CLIP model, and of the encoder of sounds: BEATs as ``convert_beats`` writes it; AST, CLAP,
    PE-audio as released. A UsageError where one is missing, damaged, or of another kind.
    """
    from transformers import AutoTokenizer
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    from auscult.nets.mq_auditor.network import MqAuditor
    from auscult.nets.mq_auditor.prompt import AuditorConfig, add_tags

    folders = dict(zip(PARTS, (language, vision, sound), strict=True))
    for part, folder in folders.items():
        _check_part(folder, part)
    spoken = Family(title="a causal language model", model="", types=tuple(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))
    table = dict(own_settings(read_table(language / CONFIG), spoken))
    clip = Family(title="CLIP", model="", types=("clip_vision_model",), inside={"clip": "vision_config"})
    with quiet():
        tokenizer = add_tags(
            AutoTokenizer.from_pretrained(str(language), local_files_only=True, trust_remote_code=False)
        )
    table["vocab_size"] = max(int(table["vocab_size"]), len(tokenizer))
    settings = {
        **config.to_dict(),
        "language": table,
        "vision": {key: value for key, value in own_settings(read_table(vision / CONFIG), clip).items()
                   if key in _VISION},
        "sound": sound_settings(sound, config.sound),
    }  # fmt: skip
    return _with_parts(MqAuditor(_configured(AuditorConfig, settings)), folders), tokenizer


_KINDS: Final = {"audio-spectrogram-transformer": "ast", "clap_audio_model": "clap", "pe_audio_encoder": "pe_audio"}
_HEARD: Final = Family(
    title="AST, CLAP or PE-audio",
    model="",
    types=tuple(_KINDS),
    inside={"clap": "audio_config", "pe_audio": "audio_config"},
)
# names of a whole CLAP or PE-audio, by those of its encoder of sounds
_INNER: Final = {"clap": {r"^audio_model\.": ""}, "pe_audio": {r"^(audio_model\.)?audio_encoder\.": ""}}


def sound_settings(folder: Path, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings of the encoder of sounds in a folder: BEATs, else one of ``_KINDS``, else what is known."""
    if (folder / _SETTINGS).is_file():
        return read_table(folder / _SETTINGS)
    if not (folder / CONFIG).is_file():
        return known
    table = read_table(folder / CONFIG)
    settings = dict(own_settings(table, _HEARD))
    inner = {"clap": "clap_audio_model", "pe_audio": "pe_audio_encoder"}
    model_type = str(table["model_type"])
    return {**settings, "kind": _KINDS[inner.get(model_type, model_type)]}


_VISION: Final = frozenset(
    {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "image_size", "patch_size",
     "hidden_act", "layer_norm_eps"}
)  # fmt: skip


def _with_parts(model: Any, folders: Mapping[str, Path]) -> Any:
    """The model with the weights of folders in it; rows that a vocabulary has more keep their first values."""
    for part, folder in folders.items():
        _check_part(folder, part)
        if part == "sound" and model.sound.kind != "beats":
            fill_encoder(model.sound.net, folder, kind=model.sound.kind)
        else:
            _fill(model, dict(_part_state(part, folder)), folder, whole=part)
    return model


def fill_encoder(net: Any, folder: Path, *, kind: str) -> None:
    """Put the weights of a folder into AST, CLAP or PE-audio; their names ``transformers`` may know as older ones."""
    try:
        with quiet():
            encoder, report = type(net).from_pretrained(
                str(folder),
                config=net.config,
                dtype=net.dtype,
                key_mapping=_INNER.get(kind),
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
            )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"the encoder of sounds cannot be loaded: {str(error)[:160]}", path=folder) from error
    _refuse_lacking(report, folder)
    net.load_state_dict(encoder.state_dict())


def _refuse_lacking(report: Mapping[str, Any], folder: Path) -> None:
    wrong = [*report.get("missing_keys", ()), *report.get("mismatched_keys", ())]
    if wrong:
        raise UsageError(
            f"{len(wrong)} weights are missing or of another shape, the first {str(wrong[0])[:100]}",
            path=folder,
            expected=f"the weights that {CONFIG} describes",
        )


def _part_state(part: str, folder: Path) -> Iterator[tuple[str, Any]]:
    from safetensors.torch import load_file

    for path in weight_files(folder):
        for name, value in load_file(str(path)).items():
            if part == "vision":
                if name.startswith(("vision_model.", "embeddings.", "encoder.", "pre_layrnorm.", "post_layernorm.")):
                    yield f"vision.{name.removeprefix('vision_model.')}", value
            elif part == "sound":
                yield f"sound.net.{name}", value
            else:
                yield f"language.{name}", value


def load_learned(model: Any, path: Path) -> None:
    """Put what was learned into a model; weights of another size are a ``UsageError`` that says both sizes."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = load_file(str(path))
    except (SafetensorError, OSError) as error:
        raise UsageError(f"the weights are damaged: {str(error)[:80]}", path=path) from error
    _fill(model, state, path)


def _fill(model: Any, state: Mapping[str, Any], path: Path, *, whole: str = "") -> None:
    import torch

    weights = model.state_dict()
    names = {_plain(name): name for name in weights}
    filled = set()
    for name, value in state.items():
        target = names.get(_plain(name))
        if target is None:
            if whole:  # heads and pooled outputs that are not used
                continue
            raise UsageError(f"this network has no weights {name[:100]!r}", path=path, hint="is it of another kind?")
        weight = weights[target]
        rows = whole == "language" and value.shape[1:] == weight.shape[1:] and len(value) < len(weight)
        if value.shape != weight.shape and not rows:
            raise UsageError(
                f"{name[:100]} is {_size(value)} in the file and {_size(weight)} in the network",
                path=path,
                expected="weights that were trained on the same parts",
                hint="take the language model, or the encoder, that they were trained on",
            )
        with torch.no_grad():
            weight[: len(value)].copy_(value) if value.dim() else weight.copy_(value)
        filled.add(target)
    if whole:
        lacking = [name for name in weights if name.startswith(f"{whole}.") and not ("lora_" in name or name in filled)]
        if lacking:
            raise UsageError(
                f"{len(lacking)} weights of the {whole} part are missing, the first {lacking[0]}", path=path
            )


def _plain(name: str) -> str:
    """A name without the wrapper that adapters put around a projection."""
    return name.replace(".base_layer.", ".")


def _size(value: Any) -> str:
    return " x ".join(map(str, value.shape))


def convert(source: Path, *, target: Path, beats: bool) -> list[str]:
    """Convert a file within this process; ``jobs.auditor_weights`` does it in one with limits."""
    import json
    from pickle import UnpicklingError

    import torch
    from safetensors.torch import save_file

    from auscult.nets.mq_auditor.network import released_settings, released_state

    try:
        checkpoint = torch.load(source, map_location="cpu", weights_only=True)
        if beats:
            settings, state = released_settings(checkpoint["cfg"]), released_state(checkpoint["model"])
        else:
            state = dict(filter(None, (_renamed(name, value) for name, value in checkpoint.items())))
        tensors = {name: value.detach().clone().contiguous() for name, value in state.items()}
    except (UnpicklingError, RuntimeError, EOFError, LookupError, AttributeError, TypeError, ValueError) as error:
        raise InputError(f"it holds no weights, or more than weights: {str(error)[:160]}", path=source) from error
    if not tensors:
        raise InputError("none of its names is one of an auditor", path=source)
    target.mkdir(parents=True, exist_ok=True)
    if beats:
        (target / _SETTINGS).write_text(json.dumps(settings), encoding="utf-8")
    save_file(tensors, str(target / (WEIGHTS if beats else LEARNED)))
    return sorted(tensors)


def _renamed(name: str, value: Any) -> tuple[str, Any] | None:
    if _LEFT_OUT.search(name):
        return None
    for pattern, new in _RELEASED:
        name = re.sub(pattern, new, name)
    return name, value
