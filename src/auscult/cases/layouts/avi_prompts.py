"""How to answer: the prompt of each of AVI-Bench's fourteen tasks, in our words, the answer forms as in its release.

A prompt is the same for all samples of a task that are answered in one form, so that it tells nothing of an answer.
What may be answered (classes, options) and what is asked stand beside it, in ``options`` and ``text``.

Source of the forms: FudanCVL/AVI-Bench at 2ba4eb0b.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

NOT_SURE: Final = "not sure"
YES_NO: Final = ("yes", "no", NOT_SURE)

_COUNTS: Final = (
    "Answer with a JSON object that gives each class its number and nothing else, such as "
    '{"first class": 2, "second class": 1}; leave out classes that are not there.'
)
_BOX: Final = "boxes [x0, y0, x1, y1], top left to bottom right corner, as shares of width and height from 0 to 1"
_BOXES: Final = (
    "Answer with a JSON object and nothing else. Its keys are the class, an underscore and a number from 1 for each "
    f'one of its class; its values are {_BOX}, such as {{"first class_1": [0.1, 0.25, 0.4, 0.6]}}.'
)
_FRAME_BOXES: Final = (
    "Answer with a JSON object and nothing else. Its keys are frame_0 to frame_9, in the order of the pictures; its "
    f"values are {_BOX}, or null for a frame in which what is described is not seen."
)
_INDICES: Final = (
    "Answer with a list of the numbers of those that fit and nothing else, the surest first; the first candidate has "
    "the number 0. Such as [4]; [] if none fits."
)
_OPTION: Final = "Answer with one of the options, word for word"
_LIST: Final = "Answer with one of the options, word for word and between # marks"
_NUMBER: Final = "Answer with a whole number in digits"
_UNSURE: Final = f'; if what is asked about is not there, answer "{NOT_SURE}"'

_INSTRUCTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AMIC": f"Listen to the recording. Which of the classes are heard in it, and how many times? {_COUNTS}",
        "VMIC": f"Look at the picture. Which of the classes does it show, and how many of each? {_COUNTS}",
        "AVL": f"Listen to the recording and look at the picture. Where in it is what is heard? {_BOXES}",
        "VAR": f"A picture is shown and several sounds are played. {_INDICES}",
        "AVR": f"A sound is played and several pictures are shown. {_INDICES}",
        "AVC": "Say in one English sentence what is seen and what is heard. Answer with that sentence alone.",
        "AVLG": f"The pictures are frames of one video, one a second; the recording is its sound. {_FRAME_BOXES}",
    }
)
_CHOICES: Final[Mapping[str, str]] = MappingProxyType(
    {**dict.fromkeys(("AVM", "AVH", "VAH", "AVQA", "ASQA", "VSQA"), _OPTION), "AVSQA": _LIST}
)


def prompt_of(task: str, options: Sequence[str] = ()) -> str:
    """The prompt of a question of one of the fourteen tasks.

    Where there is a choice, "not sure" is explained if it is among the options; a number is asked for where a task of
    choices has none.

    Example:
        >>> prompt_of("AVQA", ("left", "right"))
        'Answer with one of the options, word for word.'
    """
    if task in _INSTRUCTIONS:
        return _INSTRUCTIONS[task]
    how = _CHOICES[task] if options else _NUMBER
    unsure = NOT_SURE in (option.strip("#") for option in options)
    return f"{how}{_UNSURE if unsure else ''}."
