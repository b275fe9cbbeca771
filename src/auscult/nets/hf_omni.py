"""Qwen2.5-Omni, Qwen3-Omni and VideoLLaMA3 from a user's folder, which answer in text about pictures and sounds.

Xu et al. 2025 and Zhang et al. 2025, as ``transformers`` has them (``Qwen2_5OmniThinkerForConditionalGeneration``,
``Qwen3OmniMoeThinkerForConditionalGeneration``, ``VideoLlama3ForConditionalGeneration``, which hears nothing). The
library's processors want torchvision even where no video is shown, so their parts are put together here: tokenizer,
preparation of pictures, features of sounds. The frames of a video are pictures. No chat template of a folder is run:
the form of a conversation is ChatML, written here.
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
_VIDEO_LLAMA_3: Final = Family(
    title="VideoLLaMA3",
    model="VideoLlama3ForConditionalGeneration",
    types=("video_llama_3",),
    parts={"text_config": "Qwen2Config"},
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
    sounds: Any  # makes features of sounds; None where it hears nothing

    @property
    def rate_hz(self) -> int:
        """The rate at which it takes sounds."""
        return int(self._ears.sampling_rate)

    @property
    def _ears(self) -> Any:
        if self.sounds is None:
            raise InputError(f"{self.net.folder.family.title} hears nothing", expected="a question without sounds")
        return self.sounds

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
            output = self.net.model.generate(**moved, generation_config=settings)
        new = output[0, encoded["input_ids"].shape[1] :]
        return str(self.net.tokens.decode(new, skip_special_tokens=True)).strip()

    def _features(
        self, pictures: Sequence[Frame], sounds: Sequence[Samples]
    ) -> tuple[dict[str, Any], list[int], list[int]]:
        """What the model takes beside words, and how many tokens each picture and each sound stands for."""
        inputs: dict[str, Any] = {}
        image_tokens: list[int] = []
        audio_tokens: list[int] = []
        if pictures:
            images = self.pictures(images=list(pictures), return_tensors="pt")
            names = ("pixel_values", "image_grid_thw", "image_merge_sizes")
            inputs |= {name: images[name] for name in names if name in images}
            merged = int(self.pictures.merge_size) ** 2
            image_tokens = [int(grid.prod()) // merged for grid in images["image_grid_thw"]]
        if sounds:
            audio = self._ears(
                list(sounds),
                sampling_rate=self.rate_hz,
                padding="max_length",
                truncation=False,
                return_attention_mask=True,
                return_tensors="pt",
            )
            inputs |= {"input_features": audio["input_features"], "feature_attention_mask": audio["attention_mask"]}
            audio_tokens = [self._audio_tokens(int(length)) for length in audio["attention_mask"].sum(-1)]
        return inputs, image_tokens, audio_tokens

    def _audio_tokens(self, frames: int) -> int:
        """How many tokens a sound of so many frames of features becomes."""
        if self.net.folder.family is _QWEN_25:
            return ((frames - 1) // 2 + 1 - 2) // 2 + 1
        window = 2 * int(self.net.model.config.audio_config.n_window)
        tail = (frames % window - 1) // 2 + 1
        return ((tail - 1) // 2 + 1 - 1) // 2 + 1 + frames // window * _CHUNK

    def _conversation(self, question: str, image_tokens: Sequence[int], audio_tokens: Sequence[int]) -> str:
        """The whole text: marks stand for media; a question cannot hold any."""
        words = self.net.tokens
        begin, mark, end = _marks_of_pictures(words)
        pictures = "".join(f"{begin}{mark * count}{end}" for count in image_tokens)
        sounds = "".join(
            f"{words.audio_bos_token}{words.audio_token * count}{words.audio_eos_token}" for count in audio_tokens
        )
        escaped = question.replace("<|", "< |")
        return (
            f"<|im_start|>system\n{_SYSTEM}{_END}\n<|im_start|>user\n{pictures}{sounds}{escaped}{_END}\n"
            "<|im_start|>assistant\n"
        )


def _marks_of_pictures(words: Any) -> tuple[str, str, str]:
    """What stands before a picture, for each of its tokens, and after it."""
    mark = getattr(words, "image_token", None) or "<|image_pad|>"
    return getattr(words, "vision_bos_token", None) or "", mark, getattr(words, "vision_eos_token", None) or "\n"


def load_omni(path: Path) -> OmniThinker:
    """Load the thinker of a folder.

    Raises:
        UsageError: The folder is of another model, damaged, incomplete, or the extra `hf` is missing.
    """
    folder = check_folder(path, _family(path))
    import transformers

    net, hears = load(folder), folder.family is not _VIDEO_LLAMA_3
    kind: Any = transformers.Qwen2VLImageProcessorPil if hears else transformers.VideoLlama3ImageProcessorPil
    ears: Any = transformers.WhisperFeatureExtractor
    try:
        with quiet():
            pictures = kind.from_pretrained(str(path), local_files_only=True)
            sounds = ears.from_pretrained(str(path), local_files_only=True) if hears else None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{folder.family.title} has no usable preparation of media: {' '.join(str(error).split())[:120]}",
            path=path,
            expected="preprocessor_config.json with pictures and sounds",
        ) from error
    if not hears:
        return OmniThinker(net, pictures, None)
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
    try:
        kind = str(read_table(path / CONFIG).get("model_type")) if path.is_dir() else ""
    except InputError:
        kind = ""  # its check says what is wrong
    families = (_QWEN_25, _QWEN_3, _VIDEO_LLAMA_3)
    return next((family for family in families if kind in (*family.types, *family.inside)), _QWEN_25)
