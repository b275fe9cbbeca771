"""What MQ-Auditor is asked and how it answers: the order and the tags of the paper's G.2 and G.3, in our words.

What it is made of stands in a ``config.json``; the defaults are the paper's (MQA-RefAVS, Sec. 4 and Fig. 3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from transformers import PretrainedConfig

from auscult.types import ACTIONS, DEFECTS

MASK_USES: Final = ("both", "mask", "masked", "overlay")
IOU_WAYS: Final = ("text", "token")
SOUNDS: Final = ("beats", "ast", "clap", "pe_audio")

LLAMA_2_7B: Final[Mapping[str, Any]] = {
    "model_type": "llama",
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "intermediate_size": 11_008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
}
CLIP_L_14: Final[Mapping[str, Any]] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 14,
}
BEATS: Final[Mapping[str, Any]] = {
    "kind": "beats",
    "layers": 12,
    "width": 768,
    "inner": 3072,
    "heads": 12,
    "patch": 16,
    "patch_width": 512,
    "buckets": 320,
    "max_distance": 800,
    "conv": 128,
    "conv_groups": 16,
}


class AuditorConfig(PretrainedConfig):
    """Settings of an MQ-Auditor.

    Args:
        language: Settings of a causal language model of ``transformers`` that takes ``inputs_embeds``.
        vision: Settings of ``CLIPVisionModel``.
        sound: ``kind``, one of ``SOUNDS``, and the settings of that encoder.
        frames: Most frames of a clip.
        seconds: Most seconds of its sound.
        queries: Tokens of a picture and of a second.
        qformer_layers: Layers of each of the two Q-Formers.
        qformer_width: Their width.
        qformer_heads: Their heads.
        vision_layer: Which hidden states of CLIP are used, -1 for the last layer's. The release computes layers 14, 22
            and 23 of hidden states 0 to 24, and uses 23.
        stem: Whether convolutions that halve a picture repeatedly stand in place of CLIP's linear layer on patches,
            for an encoder that learns from nothing; the patch is a power of 2 then.
        mask_use: What is seen of a mask (Tables 4, 9): ``mask`` in white on black, ``masked``, the frame in black
            outside of it, ``both``, or ``overlay``, the frame with the mask tinted.
        iou: Whether the IoU is written as ``text``, or read off a ``token`` by a linear layer and a sigmoid (Table 5).
        lora_rank: Rank of the adapters on all seven projections of each layer; 0 for none.
        lora_alpha: Their scale is this by the rank.
        lora_dropout: Dropout before them.
    """

    model_type = "mq_auditor"

    def __init__(
        self,
        *,
        language: Mapping[str, Any] | None = None,
        vision: Mapping[str, Any] | None = None,
        sound: Mapping[str, Any] | None = None,
        frames: int = 10,
        seconds: int = 10,
        queries: int = 32,
        qformer_layers: int = 2,
        qformer_width: int = 768,
        qformer_heads: int = 12,
        vision_layer: int = -2,
        stem: bool = False,
        mask_use: str = "both",
        iou: str = "text",
        lora_rank: int = 32,
        lora_alpha: int = 64,
        lora_dropout: float = 0.05,
        **others: Any,
    ) -> None:
        for name, value, choices in (("mask_use", mask_use, MASK_USES), ("iou", iou, IOU_WAYS)):
            if value not in choices:
                raise ValueError(f"{name} is {value!r}, not one of {', '.join(choices)}")
        self.language = dict(language or LLAMA_2_7B)
        self.vision = dict(vision or CLIP_L_14)
        if stem and (patch := int(self.vision["patch_size"])) & (patch - 1):
            raise ValueError(f"a stem halves pictures: patches of {patch} are no power of 2")
        self.sound = dict(sound or BEATS)
        if self.sound.get("kind") not in SOUNDS:
            raise ValueError(f"the sound's kind is {self.sound.get('kind')!r}, not one of {', '.join(SOUNDS)}")
        self.frames, self.seconds, self.queries = frames, seconds, queries
        self.qformer_layers, self.qformer_width, self.qformer_heads = qformer_layers, qformer_width, qformer_heads
        self.vision_layer, self.stem, self.mask_use, self.iou = vision_layer, stem, mask_use, iou
        self.lora_rank, self.lora_alpha, self.lora_dropout = lora_rank, lora_alpha, lora_dropout
        super().__init__(**others)

    @property
    def mask_pictures(self) -> int:
        """Pictures that a mask is shown as."""
        return 2 if self.mask_use == "both" else 1

    @property
    def sound_rate_hz(self) -> int:
        """Sample rate that the encoder of sounds was made for."""
        return 16_000 if self.sound["kind"] in {"beats", "ast"} else 48_000


def tiny_config(vocabulary: int, **network: Any) -> AuditorConfig:
    """The same network with next to no weights, for tests: pictures of 32 pixels; ``network`` replaces settings."""
    layers = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    usual: dict[str, Any] = {
        "language": {"model_type": "llama", "vocab_size": vocabulary, "max_position_embeddings": 2048, **layers},
        "vision": {"image_size": 32, "patch_size": 8, **layers},
        "sound": {**BEATS, "layers": 2, "width": 32, "inner": 64, "heads": 2, "patch_width": 16, "conv": 16},
        "frames": 4,
        "seconds": 4,
        "queries": 4,
        "qformer_width": 32,
        "qformer_heads": 2,
        "lora_rank": 4,
        "lora_alpha": 8,
    }
    return AuditorConfig(**{**usual, **network})


Place: TypeAlias = Literal["video", "sound", "frame", "mask"]
Layout: TypeAlias = tuple[Place | tuple[int, ...], ...]
"""A prompt: tokens, and where encoded pictures and sounds stand between them."""

PLACES: Final = ("video", "audio", "image", "mask")
OPEN: Final = tuple(f"<{place}_{end}>" for place in PLACES for end in ("start", "end"))
ANSWER: Final = ("audit", "iou", "mask_type", "action")
IOU_TOKEN: Final = "<iou_value>"  # noqa: S105 - a token of text
TAGS: Final = (*OPEN, *(f"<{end}{name}>" for name in ANSWER for end in ("", "/")), IOU_TOKEN)
"""Added to the vocabulary, each one token."""
MOST_TEXT: Final = 400
"""Characters of an expression."""

BEFORE_TYPE: Final = ", its type "
BEFORE_ACTION: Final = ", and what to do is "
_ACTION_WORDS: Final = tuple(name.replace("_", " ").title() for name in ACTIONS)
_STATED: Final = re.compile(r"<iou>\s*([0-9.]+)\s*</iou>", re.IGNORECASE)
_SIGNS: Final = str.maketrans(dict.fromkeys("<>{}[]", " "))


def add_tags(tokenizer: Any) -> Any:
    """The tokenizer with ``TAGS`` and a token that pads; a model's embeddings must grow with it."""
    tokenizer.add_tokens(list(TAGS), special_tokens=True)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def build_tokenizer(texts: Iterable[str], size: int = 600) -> Any:
    """A small vocabulary of one's own: bytes and their frequent pairs in ``texts``, digits apart, and ``TAGS``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    parts = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    tokenizer.decoder = decoders.ByteLevel()
    ends = ["<pad>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=ends, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    names = dict(zip(("pad_token", "bos_token", "eos_token"), ends, strict=True))
    return add_tags(PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names))


def ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    """The tokens of a text, without those that begin and end one."""
    return tuple(tokenizer(text, add_special_tokens=False)["input_ids"])


def audit_layout(tokenizer: Any, text: str | None) -> Layout:
    """The prompt that asks about a mask: clip, expression and key frame first, so that masks of a frame share them."""
    words = " ".join((text or "the main object").translate(_SIGNS).lower().split())[:MOST_TEXT]
    start = () if tokenizer.bos_token_id is None else (int(tokenizer.bos_token_id),)
    return (
        (*start, *ids(tokenizer, "This is a clip: <video_start>")),
        "video",
        ids(tokenizer, "<video_end> and this its sound: <audio_start>"),
        "sound",
        ids(tokenizer, f"<audio_end> In it, these words mean one object: {words}. The key frame: <image_start>"),
        "frame",
        ids(tokenizer, "<image_end> A mask drawn for that object: <mask_start>"),
        "mask",
        ids(tokenizer, "<mask_end> How good is this mask? "),
    )


def caption_layout(tokenizer: Any) -> Layout:
    """The prompt that asks what is in a clip, by which projectors are warmed up."""
    start = () if tokenizer.bos_token_id is None else (int(tokenizer.bos_token_id),)
    return (
        (*start, *ids(tokenizer, "This is a clip: <video_start>")),
        "video",
        ids(tokenizer, "<video_end> and this its sound: <audio_start>"),
        "sound",
        ids(tokenizer, "<audio_end> What is seen and heard? "),
    )


def answer_ids(tokenizer: Any, answer: str, *, by_token: bool) -> tuple[tuple[int, ...], float | None]:
    """The tokens of an answer with its end, and the IoU that it states; ``by_token``: ``IOU_TOKEN`` stands for that."""
    match = _STATED.search(answer)
    stated = None if match is None else float(match[1])
    if by_token:
        answer = _STATED.sub(f"<iou> {IOU_TOKEN} </iou>", answer)
    return (*ids(tokenizer, answer), int(tokenizer.eos_token_id)), stated


Branch: TypeAlias = dict[int, Any]


@dataclass
class Grammar:
    """Which tokens may follow: a comment in free words, then IoU, type and action as values between their tags."""

    tokenizer: Any  # it has ``TAGS``
    by_token: bool  # the IoU is ``IOU_TOKEN``
    comment: int = 48  # most tokens of the comment
    _tails: Branch = field(default_factory=dict)

    def __post_init__(self) -> None:
        tag = {name: self.tokenizer.convert_tokens_to_ids(name) for name in TAGS}
        self.opener, self.iou = tag["<audit>"], tag["<iou>"]
        self.stops = {tag[IOU_TOKEN], int(self.tokenizer.eos_token_id)}
        self.refused = sorted({*tag.values(), *self.tokenizer.all_special_ids} - {self.iou})
        values = [IOU_TOKEN] if self.by_token else [f"{hundredth / 100:.4f}" for hundredth in range(101)]
        end = ((*ids(self.tokenizer, " </audit>"), int(self.tokenizer.eos_token_id)),)
        tail = self._trie(end, {})
        for before, name, words in (
            (BEFORE_ACTION, "action", _ACTION_WORDS),
            (BEFORE_TYPE, "mask_type", DEFECTS),
            ("", "iou", values),
        ):
            runs = [ids(self.tokenizer, f"{before}<{name}> {word} </{name}>") for word in words]
            tail = self._trie(runs, tail)
        self._tails = tail

    @staticmethod
    def _trie(runs: Sequence[tuple[int, ...]], tail: Branch) -> Branch:
        root: Branch = {}
        for run in runs:
            node = root
            for token in run[:-1]:
                node = node.setdefault(token, {})
            node[run[-1]] = tail
        return root

    def start(self) -> Branch | int:
        """The state before the first token; a state is how long the comment is, or a branch of what may follow."""
        return -1

    def follow(self, state: Branch | int, token: int) -> Branch | int:
        """The state after a token."""
        after: Branch | int = state + 1 if isinstance(state, int) else state[token]
        return self._tails[self.iou] if isinstance(state, int) and token == self.iou else after

    def allowed(self, state: Branch | int) -> list[int] | None:
        """What may follow; None for any token that is not ``refused``."""
        if isinstance(state, dict):
            return list(state)
        if state < 0:
            return [self.opener]
        return [self.iou] if state >= self.comment else None

    def forced(self, state: Branch | int) -> list[int]:
        """The tokens that can only follow, up to one that is the IoU's or ends the reply."""
        run: list[int] = []
        while not (run and run[-1] in self.stops):
            allowed = self.allowed(state)
            if allowed is None or len(allowed) != 1:
                break
            run += allowed
            state = self.follow(state, allowed[0])
        return run
