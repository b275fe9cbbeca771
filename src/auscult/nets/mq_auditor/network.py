"""MQ-Auditor: CLIP and BEATs, a Q-Former and a projector behind each, and a language model (MQA-RefAVS, Fig. 3).

The encoder of BEATs: patches of a spectrogram through a transformer with gated relative positions.

Chen et al. 2022, "BEATs: Audio Pre-Training with Acoustic Tokenizers", Sec. 3.2 and App. A: patches of 16 x 16 of 128
mel bands, a convolution as position, post-norm layers scaled as DeepNorm, and WavLM's gated relative position bias,
here gated by the query. Shapes and parameter names are those of the released checkpoints, whose state loads.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModelForCausalLM, CLIPVisionConfig, CLIPVisionModel, PreTrainedModel

from auscult.errors import UsageError
from auscult.nets.mq_auditor.inputs import AuditorBatch, Clip, Encoded
from auscult.nets.mq_auditor.prompt import IOU_TOKEN, AuditorConfig, Branch, Grammar
from auscult.types import ACTIONS, DEFECTS

RATE_HZ: Final = 16_000
BANDS: Final = 128
MEAN: Final = 15.41663
SCALE: Final = 2 * 6.55582
_WINDOW, _STEP, _TURNS = 400, 160, 512
_GATES: Final = 8


@lru_cache(maxsize=1)
def _mel() -> Tensor:
    """Kaldi's triangles, (257, 128)."""
    from transformers.audio_utils import mel_filter_bank

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the lowest of Kaldi's 128 bands lie between two frequencies
        bands = mel_filter_bank(
            num_frequency_bins=_TURNS // 2 + 1,
            num_mel_filters=BANDS,
            min_frequency=20.0,
            max_frequency=RATE_HZ / 2,
            sampling_rate=RATE_HZ,
            mel_scale="kaldi",
            triangularize_in_mel_space=True,
        )
    return torch.from_numpy(bands).float()


def log_mel(samples: Tensor, *, bend: float = 0.85) -> Tensor:
    """Kaldi's log mel energies (n, samples) in [-1, 1] at 16 kHz to (n, 1 + (samples - 400) // 160, 128).

    ``bend`` is the power of the Hann window; AST's is 1.
    """
    frames = (samples.float() * 2**15).unfold(1, _WINDOW, _STEP)
    frames = frames - frames.mean(dim=2, keepdim=True)
    frames = frames - 0.97 * torch.cat([frames[..., :1], frames[..., :-1]], dim=2)
    window = torch.hann_window(_WINDOW, periodic=False, device=samples.device) ** bend
    power = torch.fft.rfft(frames * window, _TURNS).abs() ** 2
    return (power @ _mel().to(samples.device)).clamp(min=torch.finfo(torch.float32).eps).log()


def buckets(length: int, count: int, farthest: int) -> Tensor:
    """Which of ``count`` buckets the offset of each place to each is in, (length, length): half for each direction."""
    offset = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    half = count // 2
    exact = half // 2
    steps = offset.abs()
    grown = torch.log(steps.clamp(min=1).float() / exact) / math.log(farthest / exact) * (half - exact)
    distant = (exact + grown.long()).clamp(max=half - 1)
    return (offset > 0).long() * half + torch.where(steps < exact, steps, distant)


class _Attention(nn.Module):
    def __init__(self, settings: Mapping[str, Any], bias: nn.Embedding | None) -> None:
        super().__init__()
        width = int(settings["width"])
        self.heads = int(settings["heads"])
        self.k_proj, self.v_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.q_proj, self.out_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.grep_linear = nn.Linear(width // self.heads, _GATES)
        self.grep_a = nn.Parameter(torch.ones(1, self.heads, 1, 1))
        self.relative_attention_bias = bias  # the first layer's is that of all

    def forward(self, inputs: Tensor, places: Tensor) -> Tensor:
        """Attend within (n, k, c), with the bias ``places`` of (1, heads, k, k)."""
        shape = (inputs.shape[0], inputs.shape[1], self.heads, -1)
        q, k, v = (proj(inputs).view(shape).transpose(1, 2) for proj in (self.q_proj, self.k_proj, self.v_proj))
        gates = self.grep_linear(q).unflatten(3, (2, _GATES // 2)).sum(dim=4).sigmoid()
        gate = gates[..., :1] * (gates[..., 1:] * self.grep_a - 1.0) + 2.0
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=gate * places)
        return self.out_proj(attended.transpose(1, 2).flatten(2))


class _Layer(nn.Module):
    def __init__(self, settings: Mapping[str, Any], bias: nn.Embedding | None) -> None:
        super().__init__()
        width, inner = int(settings["width"]), int(settings["inner"])
        self.self_attn = _Attention(settings, bias)
        self.self_attn_layer_norm = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)
        self.final_layer_norm = nn.LayerNorm(width)
        self.kept = (2.0 * int(settings["layers"])) ** 0.25  # DeepNorm's alpha

    def forward(self, inputs: Tensor, places: Tensor) -> Tensor:
        hidden = self.self_attn_layer_norm(self.kept * inputs + self.self_attn(inputs, places))
        return self.final_layer_norm(self.kept * hidden + self.fc2(functional.gelu(self.fc1(hidden))))


class _Encoder(nn.Module):
    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        width, kernel = int(settings["width"]), int(settings["conv"])
        self.count, self.farthest = int(settings["buckets"]), int(settings["max_distance"])
        conv = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=int(settings["conv_groups"]))
        self.pos_conv = nn.Sequential(nn.utils.parametrizations.weight_norm(conv, dim=2), nn.GELU())
        bias = nn.Embedding(self.count, int(settings["heads"]))
        self.layers = nn.ModuleList([_Layer(settings, None if i else bias) for i in range(int(settings["layers"]))])
        self.layer_norm = nn.LayerNorm(width)

    def forward(self, inputs: Tensor) -> Tensor:
        positions = self.pos_conv[1](self.pos_conv[0](inputs.transpose(1, 2))[..., : inputs.shape[1]])
        hidden = self.layer_norm(inputs + positions.transpose(1, 2))
        among = buckets(inputs.shape[1], self.count, self.farthest).to(inputs.device)
        places = self.layers[0].self_attn.relative_attention_bias(among).permute(2, 0, 1)[None]
        for layer in self.layers:
            hidden = layer(hidden, places)
        return hidden


class Beats(nn.Module):
    """From seconds of sound, (n, samples) at 16 kHz, to (n, patches, width)."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__()
        side, narrow, self.width = int(settings["patch"]), int(settings["patch_width"]), int(settings["width"])
        self.patch_embedding = nn.Conv2d(1, narrow, side, stride=side, bias=False)
        self.layer_norm = nn.LayerNorm(narrow)
        self.post_extract_proj = nn.Linear(narrow, self.width) if narrow != self.width else nn.Identity()
        self.encoder = _Encoder(settings)

    def forward(self, samples: Tensor) -> Tensor:
        """Encode sounds of one length."""
        features = ((log_mel(samples) - MEAN) / SCALE).to(self.patch_embedding.weight.dtype)
        patches = self.patch_embedding(features[:, None]).flatten(2).transpose(1, 2)
        return self.encoder(self.post_extract_proj(self.layer_norm(patches)))


def released_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of a released checkpoint by the names of ``Beats``, without heads and repetitions."""
    names = {"weight_g": "parametrizations.weight.original0", "weight_v": "parametrizations.weight.original1"}
    result = {}
    for name, value in state.items():
        stem, _, last = name.rpartition(".")
        repeated = last == "weight" and stem.endswith("relative_attention_bias") and ".layers.0." not in stem
        if not name.startswith("predictor") and not repeated:
            result[f"{stem}.{names.get(last, last)}" if stem.endswith("pos_conv.0") else name] = value
    return result


def released_settings(cfg: Mapping[str, Any]) -> dict[str, Any]:
    """The ``cfg`` of a released checkpoint as settings of ``Beats``."""
    names = {
        "layers": "encoder_layers",
        "width": "encoder_embed_dim",
        "inner": "encoder_ffn_embed_dim",
        "heads": "encoder_attention_heads",
        "patch": "input_patch_size",
        "patch_width": "embed_dim",
        "buckets": "num_buckets",
        "max_distance": "max_distance",
        "conv": "conv_pos",
        "conv_groups": "conv_pos_groups",
    }
    return {"kind": "beats", **{key: int(cfg[name]) for key, name in names.items()}}


PROJECTIONS: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_IGNORED: Final = -100
_AST_MEAN, _AST_SCALE = -4.2677393, 2 * 4.5689974


class Bridge(nn.Module):
    """A Q-Former and a two-layer projector: features of a picture or a second (n, k, source) to (n, queries, width)."""

    def __init__(self, config: AuditorConfig, *, source: int, width: int) -> None:
        from transformers import Blip2QFormerConfig, Blip2QFormerModel

        super().__init__()
        inner = config.qformer_width
        self.norm = nn.LayerNorm(source)
        self.queries = nn.Parameter(torch.randn(1, config.queries, inner) * 0.02)
        self.qformer = Blip2QFormerModel(
            Blip2QFormerConfig(
                hidden_size=inner,
                num_hidden_layers=config.qformer_layers,
                num_attention_heads=config.qformer_heads,
                intermediate_size=4 * inner,
                cross_attention_frequency=1,
                encoder_hidden_size=source,
            )
        )
        self.project = nn.Sequential(nn.Linear(inner, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, features: Tensor) -> Tensor:
        """Ask the queries about each."""
        queries = self.queries.expand(features.shape[0], -1, -1)
        output = self.qformer(query_embeds=queries, encoder_hidden_states=self.norm(features)).last_hidden_state
        return self.project(output)


class SoundEncoder(nn.Module):
    """BEATs, or AST, CLAP or PE-audio of ``transformers``: seconds of sound (n, samples) to (n, k, width)."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import transformers

        super().__init__()
        self.kind = str(settings["kind"])
        options = {key: value for key, value in settings.items() if key != "kind"}
        if self.kind == "beats":
            self.net: Any = Beats(settings)
            self.width = self.net.width
            return
        names = {
            "ast": ("ASTConfig", "ASTModel"),
            "clap": ("ClapAudioConfig", "ClapAudioModel"),
            "pe_audio": ("PeAudioEncoderConfig", "PeAudioEncoder"),
        }[self.kind]
        table = getattr(transformers, names[0])(**options)
        self.net = getattr(transformers, names[1])(table)
        self.width = int(table.hidden_size)

    def forward(self, samples: Tensor) -> Tensor:
        """Encode sounds of one length, at the encoder's rate."""
        if self.kind == "beats":
            return self.net(samples)
        if self.kind == "ast":
            mels = (log_mel(samples / 2**15, bend=1.0) - _AST_MEAN) / _AST_SCALE
            lacking = self.net.config.max_length - mels.shape[1]
            mels = functional.pad(mels, (0, 0, 0, max(0, lacking)))[:, : self.net.config.max_length]
            return self.net(mels.to(self.net.dtype)).last_hidden_state
        if self.kind == "clap":
            from transformers import ClapFeatureExtractor

            truncation = "fusion" if self.net.config.enable_fusion else "rand_trunc"
            read = ClapFeatureExtractor(feature_size=self.net.config.num_mel_bins, truncation=truncation)
            inputs = read(list(samples.cpu().numpy()), sampling_rate=48_000, padding="repeatpad", return_tensors="pt")
            mels = inputs["input_features"].to(samples.device, self.net.dtype)
            longer = torch.zeros(len(mels), 1, dtype=torch.bool, device=mels.device)  # none is longer than CLAP takes
            out = self.net(input_features=mels, is_longer=longer).last_hidden_state
            return out.flatten(2).transpose(1, 2)
        return self.net(input_values=samples[:, None].to(self.net.dtype)).last_hidden_state


class Stem(nn.Sequential):
    """Convolutions that halve a picture until a place is a patch: trained from nothing, they find edges sooner."""

    def __init__(self, width: int, patch: int) -> None:
        halvings = patch.bit_length() - 1
        widths = [3, *(max(16, width >> (halvings - 1 - at)) for at in range(halvings))]
        layers: list[nn.Module] = []
        for narrow, wide in pairwise(widths):
            layers += [nn.Conv2d(narrow, wide, 3, stride=2, padding=1), nn.GroupNorm(1, wide), nn.GELU()]
        super().__init__(*layers, nn.Conv2d(width, width, 1))

    @property
    def weight(self) -> Tensor:
        """Of the last layer: CLIP asks its patches' layer for the type of numbers that it takes."""
        return self[-1].weight


class AuxiliaryHeads(nn.Module):
    """Predict type, action and IoU of a mask from the encoder's patches, and from the Q-Former's tokens.

    Encoder and Q-Former learn from them before the language model does; replies do not use them, and they are not
    saved. Means and maxima are normalised over the batch: at first masks differ little beside what all have in common.
    """

    def __init__(self, config: AuditorConfig) -> None:
        super().__init__()
        width = int(config.language["hidden_size"])
        pictures = 2 * (1 + config.mask_pictures)  # the frame and those of the mask, of each the mean and the maximum
        patch_inputs, token_inputs = pictures * int(config.vision["hidden_size"]), (pictures + 1) * width
        self.of_patches, self.of_tokens = (self._readout(inputs, width) for inputs in (patch_inputs, token_inputs))

    @staticmethod
    def _readout(inputs: int, width: int) -> nn.Module:
        outputs = len(DEFECTS) + len(ACTIONS) + 1
        return nn.Sequential(nn.BatchNorm1d(inputs), nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, outputs))

    def forward(self, patches: Tensor, tokens: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """Predictions from patches, and from tokens (n, pictures, k, width) with the means of words (n, width)."""
        patch_means, token_means = (
            torch.cat([part.mean(dim=2), part.amax(dim=2)], dim=1).flatten(1) for part in (patches, tokens)
        )
        return self.of_patches(patch_means), self.of_tokens(torch.cat([token_means, words], dim=1))

    @staticmethod
    def loss(predicted: Tensor, kinds: Tensor, ious: Tensor) -> Tensor:
        """Cross entropy of types and actions, and the absolute error of the IoU."""
        types, actions, iou = predicted.float().split((len(DEFECTS), len(ACTIONS), 1), dim=1)
        named = functional.cross_entropy(types, kinds[:, 0]) + functional.cross_entropy(actions, kinds[:, 1])
        return named + functional.l1_loss(iou[:, 0].sigmoid(), ious)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How replies are made."""

    constrained: bool = True  # only replies with IoU, type and action between their tags; else any text
    most_tokens: int = 48  # most tokens of a reply without constraint; with one, most of its comment
    samples: int = 1  # replies a row
    temperature: float = 0.0  # 0 for the likeliest token
    seed: int = 0  # of the draws


class MqAuditor(PreTrainedModel):
    """The network.

    Args:
        config: What it is made of; weights are random.
    """

    config_class = AuditorConfig
    base_model_prefix = ""
    _no_split_modules: ClassVar[list[str]] = ["LlamaDecoderLayer"]

    def __init__(self, config: AuditorConfig) -> None:
        super().__init__(config)
        settings = {key: value for key, value in config.language.items() if key != "model_type"}
        # embeddings and head are learned apart, as in the release
        language = AutoConfig.for_model(config.language["model_type"], **{**settings, "tie_word_embeddings": False})
        self.language: Any = AutoModelForCausalLM.from_config(language)
        self.vision = CLIPVisionModel(CLIPVisionConfig(**config.vision))
        if config.stem:
            wide, patch = int(config.vision["hidden_size"]), int(config.vision["patch_size"])
            encoder = getattr(self.vision, "vision_model", self.vision)  # depends on the version of transformers
            encoder.embeddings.patch_embedding = Stem(wide, patch)
        self.sound = SoundEncoder(config.sound)
        width = int(language.hidden_size)
        self.video_bridge = Bridge(config, source=int(config.vision["hidden_size"]), width=width)
        self.sound_bridge = Bridge(config, source=self.sound.width, width=width)
        self.iou_head: Any = nn.Linear(width, 1) if config.iou == "token" else None
        self.auxiliary: AuxiliaryHeads | None = None
        self.post_init()
        if config.lora_rank:
            _add_adapters(self.language, config)
        self.learn("answers")

    def _init_weights(self, module: nn.Module) -> None:
        """Torch's own first weights, except what the library's parts say themselves."""

    def learn(self, what: Literal["answers", "captions", "all"]) -> None:
        """Say what is learned: for ``captions`` Q-Formers and projectors; for ``answers`` adapters and ends as well.

        ``all`` is everything; without adapters ``answers`` has the whole language model.
        """
        adapters = self.config.lora_rank > 0
        ends = {id(parameter) for part in (self.language.get_input_embeddings(), self.language.get_output_embeddings())
                for parameter in part.parameters()}  # fmt: skip
        for name, value in self.named_parameters():
            bridge = "_bridge." in name
            tuned = name.startswith("iou_head") or (
                name.startswith("language.") and (not adapters or "lora_" in name or id(value) in ends)
            )
            value.requires_grad_(what == "all" or bridge or (what == "answers" and tuned))

    def forward(self, batch: AuditorBatch) -> dict[str, Tensor]:
        """Losses of answers: ``loss``, of which ``words`` is the mean over tokens, and ``iou`` the squared error.

        The IoU's is 0 unless it is read off a token. With auxiliary heads theirs is added; of a batch without answers
        it is all.
        """
        _, frames, masks = encoded = self._encoded(batch)
        auxiliary_loss = frames.new_zeros(())
        if self.auxiliary is not None and batch.kinds is not None and batch.ious is not None:
            for predicted in self.auxiliary(*self._auxiliary_inputs(batch, encoded)):
                auxiliary_loss = auxiliary_loss + self.auxiliary.loss(predicted, batch.kinds, batch.ious)
        if not batch.answers:
            return {"loss": auxiliary_loss, "auxiliary": auxiliary_loss}
        losses = self._spoken(batch, self._prompts(batch, frames, masks))
        if self.auxiliary is None:
            return losses
        return {**losses, "loss": losses["loss"] + auxiliary_loss, "auxiliary": auxiliary_loss}

    def _spoken(self, batch: AuditorBatch, prompts: Sequence[Tensor]) -> dict[str, Tensor]:
        words = [torch.tensor(answer, device=self.device) for answer in batch.answers]
        embedded = [torch.cat([prompt, self.embed(tokens)]) for prompt, tokens in zip(prompts, words, strict=True)]
        none = [torch.full((len(prompt),), _IGNORED, device=self.device) for prompt in prompts]
        labels = pad_sequence(
            [torch.cat(pair) for pair in zip(none, words, strict=True)], batch_first=True, padding_value=_IGNORED
        )
        padded = pad_sequence(embedded, batch_first=True)
        lengths = torch.tensor([len(row) for row in embedded], device=self.device)
        mask = torch.arange(padded.shape[1], device=self.device)[None] < lengths[:, None]
        out = self.language(
            inputs_embeds=padded, attention_mask=mask.long(), output_hidden_states=self.iou_head is not None
        )
        spoken = functional.cross_entropy(out.logits[:, :-1].flatten(0, 1).float(), labels[:, 1:].flatten())
        off = spoken.new_zeros(())
        if self.iou_head is not None and batch.ious is not None:
            positions = (labels == batch.iou_token).nonzero()
            if len(positions):
                stated = self.stated_iou(out.hidden_states[-1][positions[:, 0], positions[:, 1]])
                off = functional.mse_loss(stated, batch.ious[positions[:, 0]].to(stated))
        return {"loss": spoken + off, "words": spoken, "iou": off}

    def encode(self, clips: Iterable[Clip | Encoded]) -> list[Encoded]:
        """Clips as tokens of the language model, all of the pictures and of the sounds at once."""
        clips = list(clips)
        new = [clip for clip in clips if isinstance(clip, Clip)]
        width = self.video_bridge.project[-1].out_features
        pictures = iter(self._apart(self.look, [clip.pictures for clip in new], width))
        sounds = iter(self._apart(self._listen, [clip.sound for clip in new], width))
        return [clip if isinstance(clip, Encoded) else Encoded(next(pictures), next(sounds)) for clip in clips]

    def _apart(self, encode: Any, parts: Sequence[Tensor], width: int) -> list[Tensor]:
        """Encode several parts as one, and give each its own, (n * queries, width)."""
        counts = [len(part) for part in parts]
        if not sum(counts):
            return [torch.zeros(0, width, device=self.device, dtype=self.dtype) for _ in parts]
        encoded = encode(torch.cat(list(parts)).to(self.device))
        return [part.flatten(0, 1) for part in encoded.split(counts)]

    def look(self, pictures: Tensor) -> Tensor:
        """Pictures (n, 3, side, side) to (n, queries, width)."""
        return self.video_bridge(self._patches(pictures))

    def _patches(self, pictures: Tensor) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and self._learned(self.vision)):
            output = self.vision(pictures.to(self.dtype), output_hidden_states=True)
            return output.hidden_states[self.config.vision_layer][:, 1:]  # without the token of the whole

    def _listen(self, seconds: Tensor) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and self._learned(self.sound)):
            features = self.sound(seconds)
        return self.sound_bridge(features.to(self.dtype))

    @staticmethod
    def _learned(part: nn.Module) -> bool:
        return any(parameter.requires_grad for parameter in part.parameters())

    def embed(self, tokens: Sequence[int] | Tensor) -> Tensor:
        """Tokens as the language model takes them, (n, width)."""
        ids = torch.as_tensor(tokens, dtype=torch.long, device=self.device)
        return self.language.get_input_embeddings()(ids)

    def stated_iou(self, hidden: Tensor) -> Tensor:
        """The IoU at hidden states (n, width) of its token: (n,), 0..1."""
        return self.iou_head(hidden)[..., 0].float().sigmoid()

    def _encoded(self, batch: AuditorBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Patches of all pictures, frames first, tokens of frames (f, queries, width), masks (n, k queries, width)."""
        count, (rows, each) = len(batch.frames), batch.masks.shape[:2]
        if not count:
            none = torch.zeros(0, self.config.queries, self.video_bridge.project[-1].out_features, device=self.device)
            return none, none, none
        patches = self._patches(torch.cat([batch.frames, batch.masks.flatten(0, 1)]))
        tokens = self.video_bridge(patches)
        return patches, tokens[:count], tokens[count:].unflatten(0, (rows, each)).flatten(1, 2)

    def _auxiliary_inputs(
        self, batch: AuditorBatch, encoded: tuple[Tensor, Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each row's patches and tokens, of its frame and then its mask's pictures, and the mean of its expression."""
        patches, frames, masks = encoded
        count, of = len(batch.frames), list(batch.frame_of)
        words = [layout[layout.index("frame") - 1] for layout in batch.layouts]
        spoken = [self.embed([token for token in part if isinstance(token, int)]).mean(dim=0) for part in words]
        seen = patches[count:].unflatten(0, batch.masks.shape[:2])
        asked = masks.unflatten(1, (-1, self.config.queries))
        return (
            torch.cat([patches[:count][of][:, None], seen], dim=1),
            torch.cat([frames[of][:, None], asked], dim=1),
            torch.stack(spoken),
        )

    def _prompts(self, batch: AuditorBatch, frames: Tensor, masks: Tensor) -> list[Tensor]:
        """The embedded prompts of all rows, (length, width) each."""
        clips = self.encode(batch.clips)
        if not len(frames):
            return [self._prompt(batch, row, clips=clips, frames=None, masks=None) for row in range(len(batch))]
        before = [self._prompt(batch, row, clips=clips, frames=frames, masks=None) for row in range(len(batch))]
        after = [self._prompt(batch, row, clips=clips, frames=frames, masks=masks) for row in range(len(batch))]
        return [torch.cat(pair) for pair in zip(before, after, strict=True)]

    def _prompt(
        self, batch: AuditorBatch, row: int, *, clips: Sequence[Encoded], frames: Tensor | None, masks: Tensor | None
    ) -> Tensor:
        """The embedded prompt of a row up to its mask, or, with ``masks``, from there on."""
        layout, clip, parts = batch.layouts[row], clips[batch.clip_of[row]], []
        end = layout.index("mask") if "mask" in layout else len(layout)
        for part in layout[:end] if masks is None else layout[end:]:
            if part == "mask" and masks is not None:
                parts.append(masks[row])
            elif part == "frame" and frames is not None:
                parts.append(frames[batch.frame_of[row]])
            elif part == "video":
                parts.append(clip.pictures)
            elif part == "sound":
                parts.append(clip.sound)
            elif isinstance(part, tuple):
                parts.append(self.embed(part))
        return torch.cat([part.to(self.dtype) for part in parts])

    def generate(self, batch: AuditorBatch, tokenizer: Any, how: Decoding = Decoding()) -> list[list[str]]:
        """Reply to each row, ``how.samples`` times, with an IoU in figures where the network reads it off a token.

        What rows share, clip, expression and key frame, is computed once.
        """
        prompts = list(zip(batch.clip_of, batch.frame_of, batch.layouts, strict=True))
        first = {key: row for row, key in reversed(list(enumerate(prompts)))}
        places = {key: row for row, key in enumerate(first)}
        reply = _Replies(self, tokenizer, how)
        with torch.inference_mode():
            clips, frames = self.encode(batch.clips), self.look(batch.frames)
            masks = self.look(batch.masks.flatten(0, 1)).unflatten(0, batch.masks.shape[:2]).flatten(1, 2)
            reply.read([self._prompt(batch, row, clips=clips, frames=frames, masks=None) for row in first.values()])
            reply.select(torch.tensor([places[key] for key in prompts], device=self.device))
            reply.read([self._prompt(batch, row, clips=clips, frames=frames, masks=masks) for row in range(len(batch))])
            reply.select(torch.arange(len(batch), device=self.device).repeat_interleave(how.samples))
            texts = reply.texts()
        return [texts[start : start + how.samples] for start in range(0, len(texts), how.samples)]


class _Replies:
    """Rows that are read and continued together, with the cache of what was read; padding is never attended to."""

    def __init__(self, net: MqAuditor, tokenizer: Any, how: Decoding) -> None:
        self.net, self.tokenizer, self.how = net, tokenizer, how
        self.cache: Any = None
        self.known = torch.zeros(0, 0, dtype=torch.long)
        self.last = torch.zeros(0)  # logits of the next token
        self.hidden: Tensor | None = None

    def read(self, parts: Sequence[Tensor]) -> None:
        """Read on: embedded parts, (length, width) each, a row each, padded before."""
        longest = max(map(len, parts))
        padded = torch.stack([functional.pad(part, (0, 0, longest - len(part), 0)) for part in parts])
        new = torch.tensor([[0] * (longest - len(part)) + [1] * len(part) for part in parts], device=padded.device)
        self.known = torch.cat([self.known, new], dim=1) if self.cache is not None else new
        self._step(padded, new)

    def _step(self, inputs: Tensor, new: Tensor) -> None:
        places = (self.known.cumsum(dim=1) - 1).clamp(min=0)[:, -new.shape[1] :]
        out = self.net.language(
            inputs_embeds=inputs,
            attention_mask=self.known,
            position_ids=places,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
            output_hidden_states=self.net.iou_head is not None,
        )
        self.cache, self.last = out.past_key_values, out.logits[:, -1].float()
        self.hidden = out.hidden_states[-1][:, -1] if self.net.iou_head is not None else None

    def select(self, rows: Tensor) -> None:
        """Go on with these rows; one may stand there several times."""
        self.cache.batch_select_indices(rows)
        self.known, self.last = self.known[rows], self.last[rows]
        self.hidden = None if self.hidden is None else self.hidden[rows]

    def texts(self) -> list[str]:
        """Continue all rows to their ends."""
        count, how = len(self.last), self.how
        token = self.tokenizer.convert_tokens_to_ids(IOU_TOKEN)
        grammar = None
        if how.constrained:
            grammar = Grammar(self.tokenizer, by_token=self.net.iou_head is not None, comment=how.most_tokens)
        states: list[Branch | int] = [-1] * count
        replies: list[list[int]] = [[] for _ in range(count)]
        ious: dict[int, float] = {}
        draws = torch.Generator(device="cpu").manual_seed(how.seed)
        open_rows = set(range(count))
        limit = how.most_tokens + (96 if how.constrained else 0)
        while open_rows and min(len(replies[row]) for row in open_rows) < limit:
            chosen = [[choice] for choice in self._chosen(grammar, states, draws)]
            if grammar is not None:
                _follow(grammar, states, {row: chosen[row] for row in open_rows})
            for row in open_rows:
                replies[row] += chosen[row]
            open_rows -= {row for row in open_rows if replies[row][-1] == self.tokenizer.eos_token_id}
            if not open_rows:
                break
            width = max(map(len, chosen))
            new = torch.tensor([[int(row in open_rows)] * width for row in range(count)], device=self.known.device)
            self.known = torch.cat([self.known, new], dim=1)
            self._step(self.net.embed([(tokens * width)[:width] for tokens in chosen]), new)
            for row in open_rows:
                if chosen[row][-1] == token and self.hidden is not None:
                    ious[row] = float(self.net.stated_iou(self.hidden[row]))
        texts = [self.tokenizer.decode(tokens, skip_special_tokens=False) for tokens in replies]
        return [text.replace(IOU_TOKEN, f"{ious[row]:.4f}") if row in ious else text for row, text in enumerate(texts)]

    def _chosen(self, grammar: Grammar | None, states: Sequence[Branch | int], draws: torch.Generator) -> list[int]:
        """The next token of each row."""
        scores = self.last.cpu()
        for row, state in enumerate(states if grammar is not None else ()):
            allowed = grammar.allowed(state) if grammar is not None else None
            if allowed is None and grammar is not None:
                scores[row, grammar.refused] = -torch.inf
            elif allowed:
                saved = scores[row, allowed].clone()
                scores[row] = -torch.inf
                scores[row, allowed] = saved
        if not self.how.temperature:
            return list(map(int, scores.argmax(dim=1)))
        shares = (scores / self.how.temperature).softmax(dim=1)
        return list(map(int, torch.multinomial(shares, 1, generator=draws)[:, 0]))


def _follow(grammar: Grammar, states: list[Branch | int], chosen: Mapping[int, list[int]]) -> None:
    """Bring states up to date, and add to what rows chose what can only follow, to all of them equally much."""
    for row, tokens in chosen.items():
        states[row] = grammar.follow(states[row], tokens[0])
    runs = {row: [] if tokens[0] in grammar.stops else grammar.forced(states[row]) for row, tokens in chosen.items()}
    together = min(map(len, runs.values()))
    for row, run in runs.items():
        chosen[row].extend(run[:together])
        for token in run[:together]:
            states[row] = grammar.follow(states[row], token)


def _add_adapters(language: nn.Module, config: AuditorConfig) -> None:
    from peft import LoraConfig, inject_adapter_in_model

    lora = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
        target_modules=list(PROJECTIONS),
    )
    try:
        inject_adapter_in_model(lora, language)
    except ValueError as error:
        raise UsageError(
            "this language model takes no adapters", expected=f"projections named {', '.join(PROJECTIONS)}"
        ) from error
