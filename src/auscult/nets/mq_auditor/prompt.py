"""What MQ-Auditor is asked and how it answers: the order and the tags of the paper's G.2 and G.3, in our words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from auscult.types import ACTIONS, DEFECTS

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

    own = Tokenizer(models.BPE())
    parts = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    own.pre_tokenizer = pre_tokenizers.Sequence(parts)
    own.decoder = decoders.ByteLevel()
    ends = ["<pad>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=ends, initial_alphabet=alphabet, show_progress=False)
    own.train_from_iterator(texts, trainer)
    names = dict(zip(("pad_token", "bos_token", "eos_token"), ends, strict=True))
    return add_tags(PreTrainedTokenizerFast(tokenizer_object=own, **names))


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
    found = _STATED.search(answer)
    stated = None if found is None else float(found[1])
    if by_token:
        answer = _STATED.sub(f"<iou> {IOU_TOKEN} </iou>", answer)
    return (*ids(tokenizer, answer), int(tokenizer.eos_token_id)), stated


Branch: TypeAlias = dict[int, Any]


@dataclass
class Grammar:
    """Which tokens may follow: a comment in free words, then IoU, type and action as values between their tags.

    Attributes:
        tokenizer: It has ``TAGS``.
        by_token: The IoU is ``IOU_TOKEN``.
        comment: Most tokens of the comment.
    """

    tokenizer: Any
    by_token: bool
    comment: int = 48
    _tails: Branch = field(default_factory=dict)

    def __post_init__(self) -> None:
        tag = {name: self.tokenizer.convert_tokens_to_ids(name) for name in TAGS}
        self.opener, self.iou = tag["<audit>"], tag["<iou>"]
        self.stops = {tag[IOU_TOKEN], int(self.tokenizer.eos_token_id)}
        self.refused = sorted({*tag.values(), *self.tokenizer.all_special_ids} - {self.iou})
        values = [IOU_TOKEN] if self.by_token else [f"{at / 100:.4f}" for at in range(101)]
        end = ((*ids(self.tokenizer, " </audit>"), int(self.tokenizer.eos_token_id)),)
        tail = self._trie(end, {})
        for before, name, words in (
            (BEFORE_ACTION, "action", _ACTION_WORDS),
            (BEFORE_TYPE, "mask_type", DEFECTS),
            ("", "iou", values),
        ):
            whole = [ids(self.tokenizer, f"{before}<{name}> {word} </{name}>") for word in words]
            tail = self._trie(whole, tail)
        self._tails = tail

    @staticmethod
    def _trie(runs: Sequence[tuple[int, ...]], tail: Branch) -> Branch:
        root: Branch = {}
        for run in runs:
            at = root
            for token in run[:-1]:
                at = at.setdefault(token, {})
            at[run[-1]] = tail
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
