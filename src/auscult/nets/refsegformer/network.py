"""RefSegformer: a segmenter that reads a sentence and can answer with nothing.

Wu et al. 2024, "Towards Robust Referring Image Segmentation" (IEEE TIP; arXiv 2209.09554), Sec. 4.

Picture and sentence are fused behind a stage by the paper's VLTF (Sec. 4.2, Fig. 4b), or LAVT's for comparison, so that
encoders of pictures run stage by stage. The decoder goes from V_1 and F_2, F_3, F_4 to masks, coarse to fine (Eq. 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from auscult.nets.matcher import Bottleneck, conv
from auscult.nets.refsegformer.settings import LAST, PADDING, Design


class Fused(NamedTuple):
    """What a fusion gives."""

    features: Tensor  # F_i, (n, c, h, w)
    onward: Tensor | None  # what is added to V_i before the next stage, (n, c, h, w); None where nothing follows
    tokens: Tensor  # (n, k, c): blank tokens first, then conditional ones; of LAVT's the words
    known: Tensor | None  # which of the tokens count, bool (n, k); None for all
    attention: Tensor  # of each position to each token, mean over heads, (n, h * w, k)


class Attention(nn.Module):
    """Multi-head cross-attention: queries of ``width``, keys and values of ``source`` numbers."""

    def __init__(self, width: int, *, heads: int, source: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(source or width, width)
        self.value = nn.Linear(source or width, width)
        self.out = nn.Linear(width, width)

    def forward(self, query: Tensor, source: Tensor, known: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend from (n, q, c) to (n, k, d), of which ``known``, bool (n, k), count: (n, q, c), weights (n, q, k)."""
        q, k, v = self._split(self.query(query)), self._split(self.key(source)), self._split(self.value(source))
        scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(2, 3))
        if known is not None:
            scores = scores.masked_fill(~known[:, None, None], torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=3)
        attended = torch.matmul(weights, v).transpose(1, 2).flatten(2)
        return self.out(attended), weights.mean(dim=1)

    def _split(self, inputs: Tensor) -> Tensor:
        return inputs.reshape(inputs.shape[0], inputs.shape[1], self.heads, -1).transpose(1, 2)


class Vltf(nn.Module):
    """Vision-Language Token Fusion: words look at the picture, memory tokens read them, the picture reads the tokens.

    Blank tokens stand beside the conditional ones and see no language, so that positions have where to look when the
    sentence names nothing. The paper names no norms between the attentions. What positions read has an instance norm,
    as in the release; words and tokens have layer norms, where the release's instance norms would mix in padding.
    """

    def __init__(self, width: int, design: Design, *, leads_on: bool) -> None:
        super().__init__()
        heads = width // design.head_width
        self.places = design.places
        self.vision = nn.Sequential(nn.Conv2d(width + 2 * self.places, width, 1), nn.BatchNorm2d(width))
        self.text = nn.Linear(design.text_width, width)
        self.memory = nn.Parameter(torch.empty(1, design.memory, width).normal_(std=0.5))
        self.blank = nn.Parameter(torch.empty(1, design.blank, width).normal_(std=0.5))
        self.look = Attention(width, heads=heads) if design.memory_reads == "vision_text" else None
        self.condition = Attention(width, heads=heads)
        self.read = Attention(width, heads=heads)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 if self.look is not None else 1))
        self.norm = nn.InstanceNorm2d(width, affine=True)
        self.out = nn.Conv2d(width, width, 1)
        self.sigma = added_norm(width, design) if leads_on else None

    def forward(self, vision: Tensor, text: Tensor, known: Tensor) -> Fused:
        """Fuse V_i (n, c, h, w) with words (n, t, d), of which ``known``, bool (n, t), are no padding."""
        queries = flat(self.vision(placed(vision) if self.places else vision))
        words = self.text(text)
        if self.look is not None:
            words = self.norms[1](self.look(words, queries)[0])
        conditional, _ = self.condition(self.memory, words, known)
        tokens = self.norms[0](torch.cat([self.blank.expand(words.shape[0], -1, -1), conditional], dim=1))
        attended, attention = self.read(queries, tokens)
        features = self.out(self.norm(unflat(attended, vision)))
        return Fused(features, self.sigma(features) if self.sigma is not None else None, tokens, None, attention)


class Pwan(nn.Module):
    """LAVT's fusion: each position attends to the words, and a gated pathway leads on to the next stage (Table 8).

    Yang et al. 2022, "LAVT", Eqs. 1-5: pixel-word attention and language pathway.
    """

    def __init__(self, width: int, design: Design, *, leads_on: bool) -> None:
        super().__init__()
        self.places = design.places
        entering = width + 2 * self.places
        self.vision = nn.Sequential(nn.Conv2d(entering, width, 1), nn.GELU())
        self.query = nn.Sequential(nn.Conv2d(entering, width, 1), nn.InstanceNorm2d(width))
        self.key = nn.Linear(design.text_width, width)
        self.value = nn.Linear(design.text_width, width)
        self.read = nn.Sequential(nn.Conv2d(width, width, 1), nn.InstanceNorm2d(width))
        self.joined = nn.Sequential(nn.Conv2d(width, width, 1), nn.GELU())
        gate = nn.Sequential(nn.Conv2d(width, width, 1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.Tanh())
        self.gate = gate if leads_on else None

    def forward(self, vision: Tensor, text: Tensor, known: Tensor) -> Fused:
        """Fuse as ``Vltf`` does; the tokens are the words."""
        vision = placed(vision) if self.places else vision
        query, key, value = flat(self.query(vision)), self.key(text), self.value(text)
        scores = torch.matmul(query * query.shape[2] ** -0.5, key.transpose(1, 2))
        scores = scores.masked_fill(~known[:, None], torch.finfo(scores.dtype).min)
        attention = torch.softmax(scores, dim=2)
        attended = self.read(unflat(torch.matmul(attention, value), vision))
        features = self.joined(self.vision(vision) * attended)
        return Fused(
            features, self.gate(features) * features if self.gate is not None else None, value, known, attention
        )


def added_norm(width: int, design: Design) -> nn.BatchNorm2d:
    """A batch norm of what is added; beside a pretrained encoder its gain begins at 0, which disturbs nothing."""
    norm = nn.BatchNorm2d(width)
    if design.vision == "swin":
        nn.init.zeros_(norm.weight)
    return norm


def placed(maps: Tensor) -> Tensor:
    """Maps (n, c, h, w) with two channels more, x and y in -1..1."""
    n, _, h, w = maps.shape
    y, x = (torch.linspace(-1, 1, length, dtype=maps.dtype, device=maps.device) for length in (h, w))
    return torch.cat([maps, x[None, None, None].expand(n, 1, h, w), y[:, None].expand(n, 1, h, w)], dim=1)


def flat(maps: Tensor) -> Tensor:
    """Maps (n, c, h, w) as sequences (n, h * w, c)."""
    return maps.flatten(2).transpose(1, 2)


def unflat(sequences: Tensor, like: Tensor) -> Tensor:
    """Sequences (n, h * w, c) as maps of the size of ``like``."""
    return sequences.transpose(1, 2).reshape(sequences.shape[0], sequences.shape[2], *like.shape[2:])


def up(maps: Tensor, scale: int = 2) -> Tensor:
    """Enlarge maps linearly."""
    return functional.interpolate(maps, scale_factor=float(scale), mode="bilinear", align_corners=False)


_HEADS: Final = 8
_POINTS: Final = 4
_LAYERS: Final = 6
_FED: Final = 4


class Fpn(nn.Module):
    """Each level is enlarged, put beside the next finer one and convolved twice; widths are the encoder's.

    Where a VLTF was, positions attend to its tokens once more, added behind a norm.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        widths = design.widths
        self.width = widths[0]
        self.joins = nn.ModuleList(_twice(coarse + fine, fine) for fine, coarse in pairwise(widths))
        self.masks = nn.ModuleList(nn.Conv2d(width, 2, 1) for width in widths)
        read = design.fused if design.decoder_tokens else ()
        self.reads = nn.ModuleDict({str(stage): TokenRead(widths[stage - 1], design) for stage in read})

    def forward(self, maps: Sequence[Tensor], fused: Mapping[int, Fused]) -> tuple[Tensor, list[Tensor]]:
        """Decode V_1, F_2, F_3, F_4: S_1 (n, c, side / 4, side / 4), and masks M_1..M_4 as logits (n, 2, h, w)."""
        features = maps[-1]
        masks: list[Tensor] = []
        for stage in range(LAST, 0, -1):
            if stage < LAST:
                features = self.joins[stage - 1](torch.cat([up(features), maps[stage - 1]], dim=1))
            if str(stage) in self.reads:
                features = self.reads[str(stage)](features, fused[stage])
            masks.insert(0, self.masks[stage - 1](features))
        return features, masks


class TokenRead(nn.Module):
    """Positions attend to a fusion's tokens; the outcome is added."""

    def __init__(self, width: int, design: Design) -> None:
        super().__init__()
        self.attention = Attention(width, heads=width // design.head_width)
        self.norm = added_norm(width, design)

    def forward(self, inputs: Tensor, fused: Fused) -> Tensor:
        """Read into (n, c, h, w)."""
        attended, _ = self.attention(flat(inputs), fused.tokens, fused.known)
        return inputs + self.norm(unflat(attended, inputs))


class Deformable(nn.Module):
    """A deformable pixel decoder: six layers over strides 8, 16 and 32, 8 heads, 4 points; one mask.

    Zhu et al. 2021 ("Deformable DETR", Eq. 3) and Cheng et al. 2022 ("Mask2Former"), sampled with ``grid_sample``.
    """

    def __init__(self, design: Design) -> None:
        super().__init__()
        self.width = width = design.decoder_width
        self.inputs = nn.ModuleList(_projected(entering, width) for entering in design.widths[1:])
        self.levels = nn.Parameter(torch.empty(LAST - 1, width).normal_())
        self.layers = nn.ModuleList(DeformableLayer(width) for _ in range(_LAYERS))
        self.lateral = _projected(design.widths[0], width)
        self.output = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.GroupNorm(32, width), nn.ReLU()
        )
        self.mask = nn.Conv2d(width, 2, 1)

    def forward(self, maps: Sequence[Tensor], fused: Mapping[int, Fused]) -> tuple[Tensor, list[Tensor]]:  # noqa: ARG002 - as the FPN
        """Decode as ``Fpn`` does; there is M_1 alone."""
        levels = [project(source) for project, source in zip(self.inputs, maps[1:], strict=True)]
        sizes = [(level.shape[2], level.shape[3]) for level in levels]
        sequence = torch.cat([flat(level) for level in levels], dim=1)
        places = torch.cat([_places(size, sequence) for size in sizes])
        marks = torch.cat([_sines(size, sequence) + mark for size, mark in zip(sizes, self.levels, strict=True)])
        for layer in self.layers:
            sequence = layer(sequence, marks, places=places, sizes=sizes)
        eighth = unflat(sequence[:, : sizes[0][0] * sizes[0][1]], levels[0])
        mask_features = self.output(self.lateral(maps[0]) + up(eighth))
        return mask_features, [self.mask(mask_features)]


class DeformableLayer(nn.Module):
    """Each position reads four places a head and level, about itself, and is then transformed alone."""

    def __init__(self, width: int) -> None:
        super().__init__()
        levels = LAST - 1
        self.value = nn.Linear(width, width)
        self.offsets = nn.Linear(width, _HEADS * levels * _POINTS * 2)
        self.weights = nn.Linear(width, _HEADS * levels * _POINTS)
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, _FED * width), nn.ReLU(), nn.Linear(_FED * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        nn.init.zeros_(self.offsets.weight)
        turns = torch.arange(_HEADS) * (2 * math.pi / _HEADS)  # each head looks its own way, each point one step more
        directions = torch.stack([turns.cos(), turns.sin()], dim=1)
        directions = directions / directions.abs().amax(dim=1, keepdim=True)
        steps = torch.arange(1, _POINTS + 1).float()
        start = directions[:, None, None] * steps[:, None]
        self.offsets.bias.data = start.expand(_HEADS, levels, _POINTS, 2).reshape(-1).clone()
        nn.init.zeros_(self.weights.weight)
        nn.init.zeros_(self.weights.bias)

    def forward(self, inputs: Tensor, marks: Tensor, *, places: Tensor, sizes: Sequence[tuple[int, int]]) -> Tensor:
        """Transform positions (n, p, c) with marks (p, c), at ``places`` (p, 2) in 0..1 as (x, y)."""
        n, count, _ = inputs.shape
        marked = inputs + marks
        shape = (n, count, _HEADS, len(sizes), _POINTS)
        weights = torch.softmax(self.weights(marked).reshape(n, count, _HEADS, -1), dim=3).reshape(shape)
        offsets = self.offsets(marked).reshape(*shape, 2)
        values = self.value(inputs).split([height * width for height, width in sizes], dim=1)
        total = inputs.new_zeros(())
        for level, (size, value) in enumerate(zip(sizes, values, strict=True)):
            scale = torch.tensor([size[1], size[0]], dtype=inputs.dtype, device=inputs.device)
            grid = 2 * (places[:, None, None] + offsets[:, :, :, level] / scale) - 1
            total = total + _sampled(value, size, grid=grid, weights=weights[:, :, :, level])
        inputs = self.norms[0](inputs + self.out(total))
        return self.norms[1](inputs + self.feed(inputs))


def _sampled(value: Tensor, size: tuple[int, int], *, grid: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of a level (n, h * w, c) at points (n, p, heads, points, 2): (n, p, c)."""
    n, count = grid.shape[:2]
    width = value.shape[2]
    channels = width // _HEADS
    pictures = value.transpose(1, 2).reshape(n * _HEADS, channels, *size)
    points = grid.transpose(1, 2).reshape(n * _HEADS, count, _POINTS, 2).to(pictures.dtype)
    sampled = functional.grid_sample(pictures, points, align_corners=False)
    shares = weights.transpose(1, 2).reshape(n * _HEADS, 1, count, _POINTS)
    return (sampled * shares).sum(dim=3).reshape(n, width, count).transpose(1, 2)


def _places(size: tuple[int, int], like: Tensor) -> Tensor:
    """Centres of a grid's cells as (x, y) in 0..1, (h * w, 2)."""
    rows, columns = ((torch.arange(length, dtype=like.dtype, device=like.device) + 0.5) / length for length in size)
    grid = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack([grid[1], grid[0]], dim=2).reshape(-1, 2)


def _sines(size: tuple[int, int], like: Tensor) -> Tensor:
    """Sines and cosines of rows and columns, (h * w, c), as in Carion et al. 2020."""
    quarter = like.shape[2] // 4
    rates = 10_000 ** (-torch.arange(quarter, dtype=torch.float32, device=like.device) / quarter)
    angles = 2 * math.pi * _places(size, like).float()[:, :, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=2).flatten(1).to(like.dtype)


def _projected(entering: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(entering, width, 1), nn.GroupNorm(32, width))


def _twice(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
    )  # fmt: skip


class VisionStages(Protocol):
    """A vision encoder that runs a stage at a time."""

    def __call__(self, inputs: Tensor, stage: int) -> Tensor:
        """Run stage 1 on RGB pictures (n, 3, side, side) in 0..1, a later one on what the one before hands on."""
        ...


class SwinStages(nn.Module):
    """``SwinModel`` of ``transformers``, cut between its stages: each but the first begins with patch merging.

    Pictures are normalised here, by ``mean`` and ``std`` of each channel.
    """

    def __init__(self, model: Any, *, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.config = model.config
        self.embeddings, self.layers = model.embeddings, model.encoder.layers
        self.mean = nn.Buffer(torch.tensor(mean)[:, None, None])
        self.std = nn.Buffer(torch.tensor(std)[:, None, None])

    def forward(self, inputs: Tensor, stage: int) -> Tensor:
        """As ``VisionStages`` says."""
        if stage == 1:
            hidden, size = self.embeddings((inputs - self.mean) / self.std)
        else:
            size = (inputs.shape[2], inputs.shape[3])
            hidden = self.layers[stage - 2].downsample(inputs.flatten(2).transpose(1, 2), size)
            size = ((size[0] + 1) // 2, (size[1] + 1) // 2)
        for block in self.layers[stage - 1].blocks:
            hidden = block(hidden, size)[0]
        return hidden.transpose(1, 2).reshape(hidden.shape[0], -1, *size)


class BertText(nn.Module):
    """``BertModel`` of ``transformers`` without its pooler."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.model.pooler = None

    def forward(self, ids: Tensor, known: Tensor) -> Tensor:
        """Read tokens, int64 (n, t), of which ``known``, bool (n, t), are no padding: (n, t, width)."""
        # A mask of four axes is taken as it is; of two, the library looks whether it is all ones, which a graph cannot.
        mask = known[:, None, None].expand(-1, 1, ids.shape[1], -1)
        hidden: Tensor = self.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        return hidden


class SmallVision(nn.Module):
    """Inverted bottlenecks behind strided convolutions."""

    def __init__(self, design: Design) -> None:
        super().__init__()
        widths = design.widths
        first = nn.Sequential(conv(3, widths[0] // 2, stride=2), conv(widths[0] // 2, widths[0], stride=2))
        steps = [first, *(conv(widths[stage - 1], widths[stage], stride=2) for stage in range(1, LAST))]
        self.stages = nn.ModuleList(
            nn.Sequential(step, *(Bottleneck(width) for _ in range(depth)))
            for step, width, depth in zip(steps, widths, design.depths, strict=True)
        )

    def forward(self, inputs: Tensor, stage: int) -> Tensor:
        """As ``VisionStages`` says."""
        return self.stages[stage - 1](2 * inputs - 1 if stage == 1 else inputs)


class SmallText(nn.Module):
    """Word vectors with places, and two layers of self-attention."""

    def __init__(self, design: Design, *, words: int) -> None:
        super().__init__()
        width = design.text_width
        self.words = nn.Embedding(words, width, padding_idx=PADDING)
        self.places = nn.Parameter(torch.empty(1, design.tokens, width).normal_(std=0.02))
        self.layers = nn.ModuleList(TextLayer(width, heads=width // design.head_width) for _ in range(2))
        nn.init.normal_(self.words.weight, std=0.2)

    def forward(self, ids: Tensor, known: Tensor) -> Tensor:
        """As ``BertText`` says."""
        hidden = self.words(ids) + self.places[:, : ids.shape[1]]
        for layer in self.layers:
            hidden = layer(hidden, known)
        return hidden


class TextLayer(nn.Module):
    """A transformer's layer, norms first."""

    def __init__(self, width: int, *, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads=heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, inputs: Tensor, known: Tensor) -> Tensor:
        """Transform (n, t, width)."""
        normed = self.norms[0](inputs)
        inputs = inputs + self.attention(normed, normed, known)[0]
        return inputs + self.feed(self.norms[1](inputs))


class Reader(Protocol):
    """A tokenizer."""

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Token numbers int64 (n, t) and which of them are no padding, bool (n, t); t is the design's ``tokens``."""
        ...


class Segmentation(NamedTuple):
    """What a segmenter answers."""

    masks: Sequence[Tensor]  # logits (n, 2, h, w) of background and target, finest first, at any strides
    existence: Tensor | None = None  # logits (n,) that the target is there; None without a head
    attention: Sequence[Tensor] = ()  # by fusion: of each position to each token, (n, h * w, blank + memory)


class Segmenter(Protocol):
    """A network that `auscult train rris` can train."""

    def __call__(self, pictures: Tensor, ids: Tensor, known: Tensor) -> Segmentation:
        """Segment.

        Args:
            pictures: RGB in 0..1, (p, 3, side, side).
            ids: Tokens, int64 (n, t): n / p sentences of the first picture, then those of the next.
            known: Which of them are no padding, bool (n, t).
        """
        ...


class ExistenceHead(nn.Module):
    """Eq. 6: mask features and tokens attend to one another, are averaged and weighed: is the target there?"""

    def __init__(self, width: int, *, tokens: int, design: Design) -> None:
        super().__init__()
        self.by_vision = design.existence == "vision"
        self.detached = design.existence_gradient == "detached"
        asking, asked = (width, tokens) if self.by_vision else (tokens, width)
        self.attention = Attention(asking, heads=max(1, asking // design.head_width), source=asked)
        self.mu = nn.Linear(asking, 1)

    def forward(self, features: Tensor, fused: Fused) -> Tensor:
        """Logits (n,) from S_1 (n, c, h, w) and a fusion's tokens."""
        positions, tokens = flat(features), fused.tokens
        if self.detached:
            positions, tokens = positions.detach(), tokens.detach()
        if self.by_vision:
            return self.mu(self.attention(positions, tokens, fused.known)[0].mean(dim=1))[:, 0]
        attended, _ = self.attention(tokens, positions)
        if fused.known is None:
            return self.mu(attended.mean(dim=1))[:, 0]
        weights = fused.known[:, :, None].to(attended.dtype)
        return self.mu((attended * weights).sum(dim=1) / weights.sum(dim=1))[:, 0]


class RefSegformer(nn.Module):
    """Encoders, a fusion behind each stage of ``design.fused``, a decoder, and the existence head.

    Eq. 3 as printed gives V_3 and V_4 no stage of their own: it says V_i = V_{i-1} + sigma(F_i), of two sizes. Our
    reading, which is also the release's: V_i = v_i(V_{i-1} + sigma(F_{i-1})). The next stage sees the picture's
    features with the normalised fusion added. Sigma is a batch norm; beside a pretrained encoder its gain begins at 0,
    so that nothing is disturbed at first (release). The decoder gets V_1 and F_2, F_3, F_4; V_i where no fusion was.
    """

    def __init__(self, design: Design, *, vision: nn.Module, text: nn.Module) -> None:
        super().__init__()
        self.design = design
        self.vision, self.text = vision, text
        fusion = Vltf if design.fusion == "vltf" else Pwan
        self.fusions = nn.ModuleDict(
            {
                str(stage): fusion(
                    design.widths[stage - 1], design, leads_on=stage < LAST or design.decoder_input == "sum"
                )
                for stage in design.fused
            }
        )
        decoder = Fpn if design.decoder == "fpn" else Deformable
        self.decoder = decoder(design) if design.decoder != "none" else None
        width = design.widths[-1] if self.decoder is None else self.decoder.width
        tokens = design.widths[design.existence_stage - 1]
        self.head = ExistenceHead(width, tokens=tokens, design=design) if design.existence != "none" else None

    def forward(self, pictures: Tensor, ids: Tensor, known: Tensor) -> Segmentation:
        """As ``Segmenter`` says; what hangs on the picture alone is computed once a picture."""
        repeats = len(ids) // len(pictures)
        return self.answer([level.repeat_interleave(repeats, dim=0) for level in self.stem(pictures)], ids, known)

    def stem(self, pictures: Tensor) -> list[Tensor]:
        """V_1 up to the first fused stage: all that hangs on the picture alone."""
        maps = [self.vision(pictures, 1)]
        for stage in range(2, self.design.fused[0] + 1):
            maps.append(self.vision(maps[-1], stage))
        return maps

    def answer(self, maps: Sequence[Tensor], ids: Tensor, known: Tensor) -> Segmentation:
        """Answer sentences, one for each picture of the batch that ``stem`` saw."""
        words = self.text(ids, known)
        levels, fused = list(maps[:-1]), dict[int, Fused]()
        current = maps[-1]
        for stage in range(len(maps), LAST + 1):
            if stage > len(maps):
                current = self.vision(current, stage)
            level = current
            if stage in self.design.fused:
                fused[stage] = fusion = self.fusions[str(stage)](current, words, known)
                current = current if fusion.onward is None else current + fusion.onward
                level = current if self.design.decoder_input == "sum" else fusion.features
            levels.append(level)
        features, masks = (levels[-1], []) if self.decoder is None else self.decoder(levels, fused)
        existence = self.head(features, fused[self.design.existence_stage]) if self.head is not None else None
        return Segmentation(masks, existence, [fusion.attention for fusion in fused.values()])


def predicted(segmentation: Segmentation, size: tuple[int, int]) -> Tensor:
    """Masks of ``size`` (height, width), bool (n, H, W): where M_1, enlarged linearly, is higher for the target.

    Empty where the head says that nothing is there: a probability below .5.
    """
    logits = functional.interpolate(segmentation.masks[0].float(), size=size, mode="bilinear", align_corners=False)
    masks = logits[:, 1] > logits[:, 0]
    return masks if segmentation.existence is None else masks & (segmentation.existence >= 0)[:, None, None]
