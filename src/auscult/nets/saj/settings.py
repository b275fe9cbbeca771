"""What a `Saj` is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from auscult.types import DIFFICULTY_AXES, PERFORMANCE

DIFFICULTY: Final = tuple(f"difficulty_{axis}" for axis in DIFFICULTY_AXES)
AXES: Final = (*PERFORMANCE, *DIFFICULTY)
"""The nine axes of Sec. III-A."""
RELEASED_ORDER: Final = ("overall", "recall", "precision", "faithfulness")
PROMPTS: Final = ("text", "spans", "picture")

PE_AUDIO_LARGE: Final = {"kind": "pe_audio", "num_hidden_layers": 28}
_LARGE: Final = {"hidden_size": 1024, "num_attention_heads": 16}
MODERNBERT_LARGE: Final = {"model_type": "modernbert", **_LARGE, "intermediate_size": 2624, "num_hidden_layers": 28}
VIT_LARGE: Final = {
    "model_type": "vit", **_LARGE, "intermediate_size": 4096, "num_hidden_layers": 24, "image_size": 224,
    "patch_size": 14,
}  # fmt: skip
_Size = Annotated[int, Meta(ge=1, le=4096)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SajDesign:
    """The parts of a network. The paper gives neither widths nor layers behind the encoders: these are ours."""

    # ``paper``: streams of frames, cross-attention to the text, heads by axis (Fig. 3). ``sam_audio``: the published
    # judge, of text alone: channels are joined, the text is repeated over time, four heads are one
    form: Literal["paper", "sam_audio"] = "paper"
    # of the paper's form, how the frames of mixture, output, spans and picture are concatenated: along ``time``, or
    # along ``channels``. The paper does not say which
    joined: Literal["time", "channels"] = "time"
    # ``kind``, see ``network.FrameEncoder``, and the settings of that encoder
    audio: Mapping[str, Any] = field(default_factory=lambda: dict(PE_AUDIO_LARGE))
    # settings of a text encoder of ``transformers``, with ``model_type``; None for no text prompts
    text: Mapping[str, Any] | None = field(default_factory=lambda: dict(MODERNBERT_LARGE))
    text_layer: Annotated[int, Meta(ge=-1, le=128)] = 22  # which hidden state of it is read, -1 for the last
    # settings of a picture encoder of ``transformers``, with ``model_type``; None for no picture prompts
    vision: Mapping[str, Any] | None = field(default_factory=lambda: dict(VIT_LARGE))
    spans: bool = True  # whether spans are a prompt
    width: _Size = 768  # of frames behind the encoders
    heads: _Size = 12  # of attention
    layers: Annotated[int, Meta(ge=1, le=64)] = 6  # of the Transformer behind the cross-attention
    axes: tuple[str, ...] = AXES  # scores, some of ``AXES``; there is no head for others
    alignment: bool = True  # whether there is a head for whether the output follows the prompts
    words: Annotated[int, Meta(ge=2, le=512)] = 64  # tokens of a text, at most
    pictures: Annotated[int, Meta(ge=1, le=64)] = 8  # frames of a picture prompt, at most

    def __post_init__(self) -> None:
        """Check what the parts need of one another."""
        if unknown := set(self.axes) - set(AXES):
            raise ValueError(f"there is no axis {', '.join(sorted(unknown))}; there are {', '.join(AXES)}")
        if len(set(self.axes)) != len(self.axes) or not (self.axes or self.alignment):
            raise ValueError("an axis is named twice, or there is no head at all")
        if self.width % (2 * self.heads):
            raise ValueError(f"a width of {self.width} is not made of {self.heads} heads of an even size")
        if self.form == "sam_audio" and (self.axes, self.alignment, self.prompts) != (RELEASED_ORDER, False, ("text",)):
            raise ValueError(f"the published form has text prompts, axes {', '.join(RELEASED_ORDER)} and no alignment")

    @property
    def prompts(self) -> tuple[str, ...]:
        """Which of ``PROMPTS`` it takes."""
        present = (self.text is not None, self.spans, self.vision is not None)
        return tuple(name for name, has in zip(PROMPTS, present, strict=True) if has)
