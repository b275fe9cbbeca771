"""Reference answerers: the scores of the truth, chance, a constant answer and the text alone in every task.

============== =====================================================================================================
``ideal``      the truth, in the requested form: shows that samples can be answered and scored in full
``random``     an answer drawn from all possible ones, the same for the same sample and seed
``constant``   the same answer to every sample of a task: the first option, the first class once, candidate 0, the
               whole picture, one sentence
``blind``      reads the text alone: the most frequent truth of the samples with this text; if they are few, that of
               the folder (``cases.text_guesses``)
``noisy:ACC``  the truth with this probability, else as ``random`` draws
============== =====================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from auscult.arrays.boxes import FrameBoxes
from auscult.errors import UsageError
from auscult.models.omni import OmniRequest
from auscult.record import codec
from auscult.rng import generator
from auscult.score.tasks import AnswerForm
from auscult.suites.avi.cases import AviRequest, truth_text
from auscult.types import Metadata

_CAPTION: Final = "Something is seen and something is heard."
_WHOLE: Final = [0.0, 0.0, 1.0, 1.0]
_MOST_DRAWN: Final = 3
_NUMBERS: Final = 10  # random numbers are below this


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAnswerer:
    """A registered model that answers from the truth or the text of a sample."""

    name: str
    meta: Metadata
    give: Callable[[AviRequest, str], str]
    takes_argument: str = ""

    def check(self, argument: str) -> None:
        """Refuse an invalid accuracy."""
        if self.takes_argument:
            _accuracy(argument)

    def reply(self, request: OmniRequest, argument: str) -> str:
        """Its reply."""
        if not isinstance(request, AviRequest):
            raise UsageError(f"{self.name} answers samples of AVI-Bench alone", expected="auscult run avi")
        return self.give(request, argument)


def _ideal(request: AviRequest, _: str) -> str:
    return as_reply(request, truth_text(request.sample.truth))


def _constant(request: AviRequest, _: str) -> str:
    return _chosen(request, None)


def _random(request: AviRequest, _: str) -> str:
    return _chosen(request, generator(request.seed, "reference.random", request.id))


def _blind(request: AviRequest, _: str) -> str:
    return as_reply(request, request.guess) if request.guess else _constant(request, "")


def _noisy(request: AviRequest, argument: str) -> str:
    draw = generator(request.seed, "reference.noisy", request.id).random()
    return (_ideal if draw < _accuracy(argument) else _random)(request, "")


def _accuracy(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"the accuracy {text[:40]!r} is none", expected="noisy:ACC, a number from 0 to 1")
    return value


def as_reply(request: AviRequest, truth: str) -> str:
    """A truth of ``cases.jsonl`` as a reply in the requested form."""
    value, form = codec.load(truth.encode()), request.task.answer
    if form == "boxes":
        shares = [(name, _shares(box, value)) for name, box in value["boxes"]]
        return _json({f"{name}_{_rank(shares, index)}": box for index, (name, box) in enumerate(shares)})
    if form == "frame boxes":
        boxes = [None if box is None else _shares(box, value) for box in value["boxes"]]
        return _json({f"frame_{number}": box for number, box in enumerate(boxes)})
    if form == "option list":
        return f"#{';'.join(value)}#"
    if form == "caption":
        return str(value[0])
    return str(value) if form == "option" else _json(value)


def _shares(box: Sequence[float], truth: dict[str, Any]) -> list[float]:
    sides = (truth["width"], truth["height"]) * 2
    return [value / side for value, side in zip(box, sides, strict=True)]


def _rank(boxes: Sequence[tuple[str, Any]], index: int) -> int:
    """The number of an instance among those of its class, from 1."""
    return sum(name == boxes[index][0] for name, _ in boxes[: index + 1])


def _chosen(request: AviRequest, rng: np.random.Generator | None) -> str:
    """A possible answer: drawn, or always the first."""
    return _CHOOSE[request.task.answer](request, rng)


def _words(request: AviRequest, rng: np.random.Generator | None) -> str:
    options = [option.strip("# ") for option in request.sample.options]
    return f"#{_one(options or ['not sure'], rng)}#"


def _indices(request: AviRequest, rng: np.random.Generator | None) -> str:
    candidates = max(1, len(request.sample.images), len(request.sample.sounds))
    return _json([0 if rng is None else int(rng.integers(candidates))])


def _frames(request: AviRequest, rng: np.random.Generator | None) -> str:
    truth = request.sample.truth
    count = len(truth.boxes) if isinstance(truth, FrameBoxes) else 0
    return _json({f"frame_{number}": _box(rng) for number in range(count)})


_CHOOSE: Final[Mapping[AnswerForm, Callable[[AviRequest, np.random.Generator | None], str]]] = {
    "option": lambda request, rng: _one(request.sample.words or [str(one) for one in range(_NUMBERS)], rng),
    "option list": _words,
    "counts": lambda request, rng: _json(
        {name: 1 if rng is None else int(rng.integers(1, 4)) for name in _some(request.sample.words, rng)}
    ),
    "indices": _indices,
    "boxes": lambda request, rng: _json({f"{name}_1": _box(rng) for name in _some(request.sample.words, rng)}),
    "frame boxes": _frames,
    "caption": lambda _, rng: _CAPTION if rng is None else " ".join(rng.permutation(_CAPTION.split()).tolist()),
}


def _one(words: Sequence[str], rng: np.random.Generator | None) -> str:
    return words[0 if rng is None else int(rng.integers(len(words)))]


def _some(words: Sequence[str], rng: np.random.Generator | None) -> list[str]:
    if rng is None or not words:
        return list(words[:1])
    count = min(len(words), int(rng.integers(1, _MOST_DRAWN + 1)))
    return [words[index] for index in rng.permutation(len(words))[:count]]


def _box(rng: np.random.Generator | None) -> list[float]:
    if rng is None:
        return _WHOLE
    left, right = sorted(rng.random(2).round(3).tolist())
    top, bottom = sorted(rng.random(2).round(3).tolist())
    return [left, top, right, bottom]


def _json(value: object) -> str:
    return codec.dump(value).decode()


def _answerer(name: str, summary: str, answer: Callable[[AviRequest, str], str], **fields: str) -> ReferenceAnswerer:
    return ReferenceAnswerer(
        name=f"reference.{name}.v1",
        meta=Metadata(
            summary=f"answers questions of AVI-Bench: {summary}",
            goal="what a score means: full marks, chance, and what the text gives away",
            modality="video",
            source="a reference answer",
            truth="",
        ),
        give=answer,
        **fields,
    )


IDEAL: Final = _answerer("ideal", "the truth", _ideal)
RANDOM: Final = _answerer("random", "drawn from what may be answered", _random)
CONSTANT: Final = _answerer("constant", "always the same", _constant)
BLIND: Final = _answerer("blind", "the most frequent truth of the same text", _blind)
NOISY: Final = _answerer(
    "noisy", "noisy:ACC, the truth so often, else drawn", _noisy, takes_argument="an accuracy from 0 to 1"
)
