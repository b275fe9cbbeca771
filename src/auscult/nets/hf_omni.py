"""Qwen2.5-Omni and Qwen3-Omni from a user's folder: their thinkers, which answer in text about pictures and sounds.

Xu et al. 2025, as ``transformers`` has them (``Qwen2_5OmniThinkerForConditionalGeneration``,
``Qwen3OmniMoeThinkerForConditionalGeneration``). The library's processors want torchvision even where no video is
shown, so their parts are put together here: tokenizer, preparation of pictures, features of sounds. The frames of a
video are pictures. No chat template of a folder is run: the form of a conversation is ChatML, written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError, UsageError
from auscult.nets.hf_folder import CONFIG, Family, Loaded, check_folder, load, quiet, read_table
from auscult.types import Frame, Samples

_QWEN_25: Final = Family(
    title="Qwen2.5-Omni",
    model="Qwen2_5OmniThinkerForConditionalGeneration",
    types=("qwen2_5_omni_thinker",),
    inside={"qwen2_5_omni": "thinker_config"},
    reader="Qwen2Tokenizer",
    dtype="auto",
)
_QWEN_3: Final = Family(
    title="Qwen3-Omni",
    model="Qwen3OmniMoeThinkerForConditionalGeneration",
    types=("qwen3_omni_moe_thinker",),
    inside={"qwen3_omni_moe": "thinker_config"},
    reader="Qwen2Tokenizer",
    dtype="auto",
)
_SYSTEM: Final = "You answer questions about what you see and hear."
_END: Final = "<|im_end|>"
_CHUNK: Final = 13  # tokens of a whole window of sound in Qwen3-Omni


@dataclass(frozen=True, slots=True, eq=False)
class OmniThinker:
    """A loaded model."""

    net: Loaded
    pictures: Any  # prepares pictures
    sounds: Any  # makes features of sounds

    @property
    def rate_hz(self) -> int:
        """The rate at which it takes sounds."""
        return int(self.sounds.sampling_rate)

    def answer(self, question: str, *, pictures: Sequence[Frame], sounds: Sequence[Samples], max_tokens: int) -> str:
        """The likeliest reply to a question about pictures, uint8 RGB (H, W, 3), and sounds, float32 (samples,)."""
        import torch
        import transformers

        inputs, image_tokens, audio_tokens = self._features(pictures, sounds)
        text = self._conversation(question, image_tokens, audio_tokens)
        encoded = self.net.tokens(text, return_tensors="pt")
        ends = [self.net.tokens.convert_tokens_to_ids(_END), self.net.tokens.eos_token_id]
        settings = transformers.GenerationConfig(
            do_sample=False,
            max_new_tokens=max_tokens,
            eos_token_id=[end for end in ends if end is not None],
            pad_token_id=self.net.tokens.pad_token_id,
        )
        floats = next(self.net.model.parameters()).dtype
        moved = {
            name: value.to(self.net.device, floats if value.is_floating_point() else None)
            for name, value in {
                **inputs,
                "input_ids": encoded["input_ids"],
                "attention_mask": encoded["attention_mask"],
            }.items()
        }
        with torch.inference_mode(), quiet():
            found = self.net.model.generate(**moved, generation_config=settings)
        new = found[0, encoded["input_ids"].shape[1] :]
        return str(self.net.tokens.decode(new, skip_special_tokens=True)).strip()

    def _features(
        self, pictures: Sequence[Frame], sounds: Sequence[Samples]
    ) -> tuple[dict[str, Any], list[int], list[int]]:
        """What the model takes beside words, and how many tokens each picture and each sound stands for."""
        inputs: dict[str, Any] = {}
        image_tokens: list[int] = []
        audio_tokens: list[int] = []
        if pictures:
            shown = self.pictures(images=list(pictures), return_tensors="pt")
            inputs |= {"pixel_values": shown["pixel_values"], "image_grid_thw": shown["image_grid_thw"]}
            merged = int(self.pictures.merge_size) ** 2
            image_tokens = [int(grid.prod()) // merged for grid in shown["image_grid_thw"]]
        if sounds:
            heard = self.sounds(
                list(sounds),
                sampling_rate=self.rate_hz,
                padding="max_length",
                truncation=False,
                return_attention_mask=True,
                return_tensors="pt",
            )
            inputs |= {"input_features": heard["input_features"], "feature_attention_mask": heard["attention_mask"]}
            audio_tokens = [self._audio_tokens(int(length)) for length in heard["attention_mask"].sum(-1)]
        return inputs, image_tokens, audio_tokens

    def _audio_tokens(self, frames: int) -> int:
        """How many tokens a sound of so many frames of features becomes."""
        if self.net.folder.family is _QWEN_25:
            return ((frames - 1) // 2 + 1 - 2) // 2 + 1
        window = 2 * int(self.net.model.config.audio_config.n_window)
        rest = (frames % window - 1) // 2 + 1
        return ((rest - 1) // 2 + 1 - 1) // 2 + 1 + frames // window * _CHUNK

    def _conversation(self, question: str, image_tokens: Sequence[int], audio_tokens: Sequence[int]) -> str:
        """The whole text: marks stand for media; a question cannot hold any."""
        words = self.net.tokens
        pictures = "".join(
            f"{words.vision_bos_token}{words.image_token * count}{words.vision_eos_token}" for count in image_tokens
        )
        sounds = "".join(
            f"{words.audio_bos_token}{words.audio_token * count}{words.audio_eos_token}" for count in audio_tokens
        )
        asked = question.replace("<|", "< |")
        return (
            f"<|im_start|>system\n{_SYSTEM}{_END}\n<|im_start|>user\n{pictures}{sounds}{asked}{_END}\n"
            "<|im_start|>assistant\n"
        )


def load_omni(path: Path) -> OmniThinker:
    """Load the thinker of a folder.

    Raises:
        UsageError: The folder is of another model, damaged, incomplete, or the extra `hf` is missing.
    """
    folder = check_folder(path, _family(path))
    import transformers

    net = load(folder)
    try:
        with quiet():
            pictures = transformers.Qwen2VLImageProcessorPil.from_pretrained(str(path), local_files_only=True)
            sounds = transformers.WhisperFeatureExtractor.from_pretrained(str(path), local_files_only=True)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{folder.family.title} has no usable preparation of media: {' '.join(str(error).split())[:120]}",
            path=path,
            expected="preprocessor_config.json with pictures and sounds",
        ) from error
    marks = ("image_token", "vision_bos_token", "vision_eos_token", "audio_token", "audio_bos_token", "audio_eos_token")
    lacking = [name for name in marks if not getattr(net.tokens, name, None)]
    if lacking:
        raise UsageError(
            f"the tokenizer does not say which its {lacking[0]} is",
            path=path,
            expected="tokenizer_config.json of the model",
        )
    return OmniThinker(net, pictures, sounds)


def _family(path: Path) -> Family:
    if not path.is_dir():
        return _QWEN_25
    try:
        kind = str(read_table(path / CONFIG).get("model_type"))
    except InputError:
        return _QWEN_25  # its check says what is wrong
    return _QWEN_3 if kind in (*_QWEN_3.types, *_QWEN_3.inside) else _QWEN_25
