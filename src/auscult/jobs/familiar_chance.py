"""What answers without a look score on samples of the familiar tasks, by the tasks' own scores.

A choice is guessed at one in the number of options; a constant answer is the word that is most often true of its type.
Elsewhere the random answer is drawn from what may be answered: one candidate; one to four classes with counts from 1
to 5; a box for every class, or for every frame. The constant one is the first candidate; the class that is most often
true, with its commonest count; the whole picture for every class; the middle of every frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from auscult.outcome import Undefined
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.answers import AnswerScore
from auscult.score.boxes import FourNumbers, FrameBoxes, NamedBox, SoundingBoxes, avl, avlg, from_xywh
from auscult.score.counts import amic, vmic
from auscult.score.retrieval import retrieval
from auscult.score.text.fense import FluencyModel, SentenceEncoder, fense, sbert
from auscult.score.text.words import cider_d, meteor, rouge_l

Entries: TypeAlias = Sequence[Mapping[str, Any]]


class _Score(Protocol):
    def __call__(self, entries: Entries, *, drawn: bool) -> float: ...


_UNKNOWN: Final = "-"
_WHOLE: Final[FourNumbers] = (0.0, 0.0, 1.0, 1.0)
_MIDDLE: Final[FourNumbers] = (0.3, 0.25, 0.7, 0.75)
_MOST_CLASSES: Final = 4
_MOST_TIMES: Final = 5


def captions_table(entries: Entries, networks: Networks) -> Table:
    """What captions score beside each other: one of a clip's references against its others, and against another clip's.

    The second is the floor: a caption that is well formed and has nothing to do with the clip.
    """
    truths = [tuple(_truth(entry)) for entry in entries]
    shifted = [*truths[1:], *truths[:1]]
    pairs = ([one[0] for one in truths], [one[1:] for one in truths]), ([one[0] for one in truths], shifted)
    rows = []
    for name, score in _caption_scores(networks).items():
        own, other = (_value(score(*pair)) for pair in pairs)
        rows.append((name, f"{100 * own:.1f}", f"{100 * other:.1f}"))
    return Table(
        title="AVC: references as captions",
        header=("score", "of the clip", "of another clip"),
        rows=tuple(rows),
        note="in percent; the second is the floor that chance gives. FENSE needs --sentences and --fluency",
    )


@dataclass(frozen=True, slots=True)
class Networks:
    """Loaded networks that compare captions; None where there is none."""

    sentences: SentenceEncoder | None = None
    fluency: FluencyModel | None = None


def _caption_scores(networks: Networks) -> dict[str, Callable[..., AnswerScore | Undefined]]:
    scores: dict[str, Callable[..., AnswerScore | Undefined]] = {
        "METEOR": meteor,
        "ROUGE-L": rouge_l,
        "CIDEr-D": cider_d,
    }
    if networks.sentences is not None:
        scores["SBERT"] = partial(sbert, sentences=networks.sentences)
        if networks.fluency is not None:
            scores["FENSE"] = partial(fense, sentences=networks.sentences, fluency=networks.fluency)
    return scores


def chance_of(folder: str, entries: Entries) -> tuple[str, str]:
    """What a random and a constant answerer score on a task's entries, in percent; a dash where that is not known."""
    score = _SCORES.get(folder)
    if score is None or not entries:
        return _UNKNOWN, _UNKNOWN
    random, constant = (f"{100 * score(entries, drawn=drawn):.1f}" for drawn in (True, False))
    return random, constant


def _truth(entry: Mapping[str, Any]) -> Any:
    return entry["output"]["question_answer"]


def _options(entry: Mapping[str, Any]) -> list[str]:
    found: list[str] = entry["input"]["question"]["options"]
    return found


def _drawing(entry: Mapping[str, Any]) -> np.random.Generator:
    return generator(0, "chance", entry["id"])


def _value(score: AnswerScore | Undefined) -> float:
    return float(score.value) if isinstance(score, AnswerScore) else 0.0


def _choices(entries: Entries, *, drawn: bool) -> float:
    if drawn:
        return float(np.mean([1 / len(_options(entry)) for entry in entries]))
    types: dict[str, Counter[str]] = {}
    for entry in entries:
        types.setdefault(entry["subtask"], Counter())[_truth(entry)] += 1
    return sum(counts.most_common(1)[0][1] for counts in types.values()) / len(entries)


def _candidates(entries: Entries, *, drawn: bool) -> float:
    given = [(int(_drawing(entry).integers(_shown(entry))) if drawn else 0,) for entry in entries]
    return _value(retrieval(given, [_truth(entry) for entry in entries]))


def _shown(entry: Mapping[str, Any]) -> int:
    """How many candidates there are."""
    asked = entry["input"]
    return max(len(asked["image_list"] or ()), len(asked["audio_list"] or ()))


def _counts(entries: Entries, *, drawn: bool) -> float:
    truths = [{name: int(count) for name, count in _truth(entry).items()} for entry in entries]
    score = amic if entries[0]["task"] == "AMIC" else vmic
    if drawn:
        return _value(score([_some_classes(entry) for entry in entries], truths))
    best: dict[str, dict[str, int]] = {}
    for kind in {entry["subtask"] for entry in entries}:
        own = [truth for entry, truth in zip(entries, truths, strict=True) if entry["subtask"] == kind]
        name = Counter(name for truth in own for name in truth).most_common(1)[0][0]
        best[kind] = {name: Counter(truth[name] for truth in own if name in truth).most_common(1)[0][0]}
    return _value(score([best[entry["subtask"]] for entry in entries], truths))


def _some_classes(entry: Mapping[str, Any]) -> dict[str, int]:
    rng, names = _drawing(entry), _options(entry)
    chosen = rng.permutation(len(names))[: int(rng.integers(1, _MOST_CLASSES + 1))]
    return {names[int(at)]: int(rng.integers(1, _MOST_TIMES + 1)) for at in chosen}


def _located(entries: Entries, *, drawn: bool) -> float:
    truths, given = [], list[list[NamedBox]]()
    for entry in entries:
        truth, rng = _truth(entry), _drawing(entry)
        boxes = [(name.rpartition("_")[0], _corners(box)) for name, box in truth["bbox"].items()]
        truths.append(SoundingBoxes(width=truth["original_wh"][0], height=truth["original_wh"][1], boxes=boxes))
        given.append([(name, _box(rng) if drawn else _WHOLE) for name in _options(entry)])
    return _value(avl(given, truths))


def _grounded(entries: Entries, *, drawn: bool) -> float:
    truths, given = [], list[list[FourNumbers | None]]()
    for entry in entries:
        truth, rng = _truth(entry), _drawing(entry)
        boxes = [None if box is None else _corners(box) for box in truth["bbox"].values()]
        truths.append(FrameBoxes(width=truth["original_wh"][0], height=truth["original_wh"][1], boxes=boxes))
        given.append([_box(rng) if drawn else _MIDDLE for _ in boxes])
    return _value(avlg(given, truths))


def _box(rng: np.random.Generator) -> FourNumbers:
    """Two corners at random."""
    low, high = np.sort(rng.random((2, 2)), axis=0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def _corners(box: Sequence[float]) -> FourNumbers:
    return from_xywh((box[0], box[1], box[2], box[3]))


_SCORES: Final[Mapping[str, _Score]] = {
    **dict.fromkeys(("AVM", "AVH", "VAH", "AVQA"), _choices),
    **dict.fromkeys(("VAR", "AVR"), _candidates),
    **dict.fromkeys(("AMIC", "VMIC"), _counts),
    "AVL": _located,
    "AVLG": _grounded,
}
