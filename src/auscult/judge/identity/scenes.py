"""`identity.scenes.v1`: is a mask on the object that was asked for? For what one frame and words can decide.

Three steps: a sentence becomes a logical form (`scenes_text`), two small networks say what things the frame holds
(`scenes_things`), and the form is proven over what they may be (`scenes_worlds`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError, UsageError
from auscult.judge.identity import scenes_things, scenes_view
from auscult.judge.identity.scenes_text import Reader, Reading, is_seen, is_whole
from auscult.judge.identity.scenes_things import Found, Peak
from auscult.judge.identity.scenes_words import Vocabulary, read_vocabulary
from auscult.judge.identity.scenes_worlds import Named, named
from auscult.types import Case, Existence, Frame, Identity, Mask, Metadata, Prediction

WEIGHTS: Final = Path(__file__).with_name("weights")
NETWORK: Final = "scenes.onnx"
WORDS: Final = "scenes.json"
_FROM_CROP: Final = 0.65  # weight of the crop's words against the frame's
_ABSENT: Final = 0.9  # share of worlds in which nothing is named, from which on it is said to be absent
_PRESENT: Final = 0.5
_FALSE: Final = 0.2  # a match below this can be told although a part of the sentence was not looked at
_NAMED: Final = 0.4  # probability from which on a thing is called by its name
_HINT: Final = "`auscult train scenes-identity` makes both files; without --identity no check of identity is made"

Floats = NDArray[np.float32]


class Eyes:
    """The networks and the words that belong to them.

    Args:
        folder: Holds ``scenes.onnx`` and ``scenes.json``.

    Raises:
        UsageError: One of the two is not there or damaged, or they do not belong together.
    """

    def __init__(self, folder: Path) -> None:
        for name in (NETWORK, WORDS):
            if not (folder / name).is_file():
                raise UsageError(
                    "identity.scenes.v1 has no weights", expected=f"the file {name}", hint=_HINT, path=folder / name
                )
        self._session = _opened(folder / NETWORK)
        try:
            self.words: Vocabulary = read_vocabulary(folder / WORDS)
        except InputError as error:
            raise UsageError(error.message, expected=error.expected, hint=_HINT, path=error.path) from error
        self.reader = Reader(self.words)
        known = len(self.words.categories) + len(self.words.colours) + len(self.words.textures)
        given = {one.name: one.shape for one in self._session.get_outputs()}.get("names", [0])[-1]
        if isinstance(given, int) and given != known:
            raise UsageError(
                f"the network of identity.scenes.v1 gives {given} words, and its vocabulary has {known}",
                expected="two files of one training",
                hint=_HINT,
                path=folder / WORDS,
            )

    def told(self, words: Vocabulary) -> Eyes:
        """The same networks with other numbers in the vocabulary."""
        other = copy(self)
        other.words = words
        return other

    def look(self, frame: Frame, mask: Mask) -> tuple[list[Peak], Floats]:
        """What the frame holds, and the words of the mask, float32 (words,)."""
        centres, seen, names = self._run(scenes_view.small(frame), [self._crop(frame, mask)])
        return scenes_things.peaks(centres, seen), names[0]

    def name(self, frame: Frame, masks: Sequence[Mask]) -> list[Floats]:
        """The words of some masks."""
        blank = np.zeros((scenes_view.STEP, scenes_view.STEP, 3), np.uint8)
        return list(self._run(blank, [self._crop(frame, mask) for mask in masks])[2])

    def _run(self, frame: NDArray[np.uint8], crops: Sequence[NDArray[np.uint8]]) -> tuple[Floats, Floats, Floats]:
        feed = {"frame": _planes(frame[None]), "crop": _planes(np.stack(crops))}
        centres, seen, names = self._session.run(["centres", "seen", "names"], feed)
        return centres[0], seen[0], names

    def _crop(self, frame: Frame, mask: Mask) -> NDArray[np.uint8]:
        found = scenes_view.crop(frame, mask)
        if found is None:
            raise ValueError("an empty mask has no crop")
        return found


class ScenesIdentity:
    """The check, callable as every `IdentityCheck`.

    Args:
        weights: Folder of the networks and words, opened on first use.
        eyes: The networks, where they are open already.
    """

    name = "identity.scenes.v1"
    meta = Metadata(
        summary="reads the expression, finds the frame's things and proves which of them is named",
        goal="a mask on another object than the one that was asked for",
        modality="image",
        source="auscult; detector after CenterNet (Zhou et al. 2019), proof after our own grammar",
        truth="none; trained on scenes of stamps over COCO photographs and of generated things",
    )

    def __init__(self, weights: Path = WEIGHTS, eyes: Eyes | None = None) -> None:
        self._weights = weights
        self._eyes = eyes

    @property
    def folder(self) -> Path:
        """The folder of networks and words."""
        return self._weights

    def ready(self) -> None:
        """Open the networks.

        Raises:
            UsageError: They are not there, or damaged.
        """
        if self._eyes is None:
            _eyes(self._weights)

    def __call__(self, case: Case, prediction: Prediction) -> Identity | None:
        """Check one candidate.

        Returns:
            None without an expression, for an empty mask, and where the expression says nothing that one frame shows;
            also where a word is not known, or a part of it is of sound, motion or hiding, unless what is left already
            rules the mask out.

        Raises:
            UsageError: The weights are not there, or damaged.
        """
        text = case.query.text
        if text is None or not prediction.mask.any():
            return None
        eyes = self._eyes or _eyes(self._weights)
        reading = eyes.reader.read(text)
        if reading is None or not is_seen(reading.form):
            return None
        return _judged(eyes, reading, frame=case.frame, mask=prediction.mask)


@cache
def _eyes(folder: Path) -> Eyes:
    return Eyes(folder)


def _opened(path: Path) -> Any:
    """The network of a file, ready to run.

    Raises:
        UsageError: It is no network.
    """
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # workers already take every processor
    options.log_severity_level = 4  # what goes wrong comes as an exception; nothing is printed beside it
    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoModel", "NotImplemented")
    raised = (*(getattr(state, name) for name in names), RuntimeError)  # they share no base of their own
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except raised as error:
        raise UsageError(
            f"the network cannot be opened: {' '.join(str(error).split())[:160]}",
            expected="a whole ONNX file",
            hint=_HINT,
            path=path,
        ) from error


def _judged(eyes: Eyes, reading: Reading, *, frame: Frame, mask: Mask) -> Identity | None:
    centres, names = eyes.look(frame, mask)
    masks = scenes_things.parts(mask, centres)
    words = [names] if len(masks) == 1 else eyes.name(frame, masks)
    own = [_own(eyes.words, one, said, centres=centres) for one, said in zip(masks, words, strict=True)]
    things = own + [_other(eyes.words, peak) for peak in scenes_things.others(masks, centres)]
    found = named(reading, things, eyes.words)
    raw = sum(found.shares[: len(own)])
    match = calibrated(raw, eyes.words)
    partly = _partly(reading)
    if partly and max(match, *found.possible[: len(own)]) >= _FALSE:
        return None  # what was not looked at may only be passed over where the rest already says no
    return Identity(
        match=match,
        exists="unchecked" if reading.unknown else _exists(found),
        target=_target(reading),
        distractor=None if match >= 0.5 else _called(eyes.words, own[0]),
        kept=_kept(masks, found) if len(masks) > 1 else None,
        note=_note(match, found, reading),
    )


def calibrated(raw: float, words: Vocabulary) -> float:
    """The probability of a match that what was proven stands for, by a logistic curve on its logit."""
    inside = min(max(raw, 0.01), 0.99)
    return 1 / (1 + math.exp(-(words.slope * math.log(inside / (1 - inside)) + words.offset)))


def _own(known: Vocabulary, mask: Mask, crop_words: Floats, *, centres: Sequence[Peak]) -> Found:
    """The thing under a mask: its place is the mask's, its words are those of crop and frame together."""
    x, y, share = scenes_things.place(mask)
    peak = scenes_things.nearest_peak(mask, centres)
    words = crop_words if peak is None else _FROM_CROP * crop_words + (1 - _FROM_CROP) * peak.words
    categories, colours, textures = scenes_things.probabilities(words, known)
    return Found(x=x, y=y, share=share, sure=1.0, categories=categories, colours=colours, textures=textures)


def _other(known: Vocabulary, peak: Peak) -> Found:
    categories, colours, textures = scenes_things.probabilities(peak.words, known)
    return Found(
        x=peak.x,
        y=peak.y,
        share=peak.share,
        sure=peak.height,
        categories=categories,
        colours=colours,
        textures=textures,
    )


def _partly(reading: Reading) -> str:
    """What of a sentence was not looked at, in words; empty for nothing."""
    if reading.unknown:
        return f"'{min(reading.strange, default=reading.unknown[0])}' is not known"
    return "" if is_whole(reading.form) else "sound, motion and what hides a thing were not looked at"


def _exists(found: Named) -> Existence:
    if found.nothing >= _ABSENT:
        return "no"
    return "yes" if found.settled >= _PRESENT else "unchecked"


def _target(reading: Reading) -> str | None:
    form = reading.form
    while form["op"] == "most":
        form = form["of"]
    parts = form["of"] if form["op"] == "and" else [form]
    return next((str(part["word"]) for part in parts if part["op"] == "category"), None)


def _called(words: Vocabulary, thing: Found) -> str | None:
    best = int(thing.categories.argmax())
    return words.categories[best] if thing.categories[best] >= _NAMED else None


def _kept(masks: Sequence[Mask], found: Named) -> float:
    """Share of the mask that lies on the part which is most likely meant."""
    areas = np.array([np.count_nonzero(mask) for mask in masks], float)
    return float(areas[int(np.argmax(found.shares[: len(masks)]))] / areas.sum())


def _note(match: float, found: Named, reading: Reading) -> str:
    partly = _partly(reading)
    if partly:
        return f"What was looked at rules this mask out, probability of a match {match:.2f}; {partly}."
    if found.nothing >= _ABSENT:
        return "Nothing in the frame fits what was asked for."
    if match >= 0.5:
        return f"What the mask holds fits what was asked for, probability {match:.2f}."
    return f"Another thing of the frame, or none, fits what was asked for; this one does with {match:.2f}."


def _planes(pictures: NDArray[np.uint8]) -> Floats:
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)


IDENTITY = ScenesIdentity()
