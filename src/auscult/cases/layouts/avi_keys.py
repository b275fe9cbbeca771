"""The short keys that stand for prompts and options in the released ``data.json`` files, and what they mean.

The release resolves a key by the entry's folder; a value that is no key of it is used as it is. Option words are the
release's, since its truths are; where it misspells one, both are read as the right spelling. Prompts are ours.

Source: FudanCVL/AVI-Bench at 2ba4eb0b, of which words and forms are facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from auscult.cases.layouts.avi_prompts import YES_NO

_EITHER: Final = ("not sure", "no available option")
_NONE: Final = ("None", "not sure")
_COMPARED: Final = ("first", "last", "same", "not sure")

_AMIC: Final = (
    "bus hair-dryer pipa man ambulance razor harp tabla bass handpan girl sitar car lion guitar vacuum-cleaner "
    "cat mower helicopter boy drum keyboard tuba saw flute cello woman gun accordion violin clarinet erhu "
    "saxophone guzheng dog baby horse male wolf bird ukulele piano female marimba"
)
_VMIC: Final = (
    "sushi banana cake butterfly bird microphone hamburger pineapple man book sunglasses goat tie cabinetry "
    "motorcycle drawer strawberry sheep pasta parrot bull table penguin watch pillow shellfish kangaroo flower "
    "paddle rocket helicopter bus mushroom bee tree boat saxophone football lizard violin dog cucumber cello "
    "airplane horse drum box rabbit car door orange shelf camera poster lemon cat fish bread piano apple glasses "
    "bicycle truck deer woman wheelchair cheese chair plate tomato bed starfish balloon bottle crab beer frog "
    "shrimp tower guitar pig peach train pumpkin elephant jellyfish parachute monkey flag"
)
_AVL: Final = (
    "dog clarinet banjo cat guzheng tree lion tuba ukulele flute piano person violin airplane bass pipa trumpet "
    "accordion saxophone car lawn-mower cello bassoon horse guitar erhu"
)
_AVQA: Final = (
    "ukulele cello clarinet violin bassoon accordion banjo tuba flute electric_bass bagpipe drum congas suona "
    "xylophone saxophone guzheng trumpet erhu piano acoustic_guitar pipa"
)
_PLACES: Final = (
    "center", "top left", "top center", "top right", "bottom left", "bottom center", "bottom right",
    "no available option", "not sure",
)  # fmt: skip
_SIDES: Final = ("the right one", "the left one", "the middle one", "the bottom one", "the top one")


def _classes(words: str) -> tuple[str, ...]:
    return (*words.split(), *_EITHER)


_OPTIONS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "ASQA": {
        "options_sound_clarity": _COMPARED,
        "options_sound_order": ("sound", "noise", "not sure"),
        "options_sound_volume": _COMPARED,
        "options_yes_no": YES_NO,
    },
    "VSQA_I": {
        "get_from_background_binary": YES_NO,
        "get_from_image_binary": YES_NO,
        "get_from_foreground_binary": YES_NO,
        "get_from_image_triple": ("blurred", "normal", "clear", "not sure"),
        "get_from_3d-task1": ("center", "left", "right", "not sure"),
        "get_from_3d-task2": ("cone", "cube", "cylinder", "cuboid", "no available option", "not sure"),
        "get_from_space_hard": _PLACES,
        "get_from_color": ("blue", "green", "red", "purple", "yellow", "no available option", "not sure"),
        "get_yes_no": YES_NO,
        "get_lines_direction": ("horizontal", "vertical", "inclined", "not sure"),
        "get_from_space_easy_area": _SIDES,
        "get_from_space_easy_bbrightness": _SIDES,
        "options_yes_no": YES_NO,
    },
    "VSQA_V": {
        "which_object": ("square", "circle", "triangle", "no available option", "not sure"),
        "what_shape": ("Triangular pyramid", "Cone", "Cube", "Sphere", *_NONE),
        "what_movement_2d": ("horizontal", "inclined", "vertical", "no movement", *_NONE),
        "what_movement_3d": ("Rotation", "Shrinking", "Translation", "Enlarging", *_NONE),
        "what_surface": ("Rough", "Moderate", "Smooth", *_NONE),
        "spacial_change": (
            "Bottom-left to top-right", "Bottom-right to top-left", "Top-left to bottom-right",
            "Top-right to bottom-left", *_NONE, "No movement",
        ),
        "options_yes_no": YES_NO,
    },
    "AMIC": {"amic_cls_list": _classes(_AMIC)},
    "VMIC": {"vmic_cls_list": _classes(_VMIC)},
    "AVL": {"avl_cls_list": _classes(_AVL)},
    "AVM": {"avm_options_list": YES_NO},
    "AVH": {"avh_options_list": YES_NO},
    "VAH": {"vah_options_list": YES_NO},
    "AVQA": {"avqa_cls_list": _classes(_AVQA), "avqa_options_list_is": YES_NO},
    "AVSQA": {
        "avsqa_options_list_object": ("cube", "pyramid", "cone", "sphere", "no available option", "not sure"),
        "avsqa_options_list_color": (
            "red", "blue", "white", "black", "gray", "green", "no available option", "not sure",
        ),
    },
}  # fmt: skip
_UNLISTED: Final = {"AVL": "avl_cls_list", "VMIC": "vmic_cls_list"}
"""Folders whose prompts list the classes, so that an entry need not."""
_NUMBERS: Final = frozenset({"get_from_3d-task3", "get_lines_count", "how_many"})
"""Keys that the release has taken out of its table: a number is asked for."""
_PROMPTED: Final = frozenset({"AMIC", "VMIC", "AVL", "AVM", "AVH", "VAH", "VAR", "AVR", "AVLG", "AVSQA"})
"""Folders with a prompt under a key, ``prompt_`` and the folder's name."""
_SPELLED: Final = {
    "puprle": "purple",
    "no movenment": "no movement",
    "no availabel option": "no available option",
}


def spelled(word: str) -> str:
    """A word without the release's misspelling."""
    return _SPELLED.get(word.strip().casefold(), word)


def options_of(folder: str, key: str) -> tuple[str, ...] | None:
    """What a key of options means in a folder, empty where a number is asked for; None where it is no key there."""
    return () if key in _NUMBERS else _OPTIONS.get(folder, {}).get(key)


def unlisted(folder: str) -> tuple[str, ...]:
    """The classes that a folder's prompt lists itself, empty for all others."""
    return _OPTIONS[folder][_UNLISTED[folder]] if folder in _UNLISTED else ()


def is_prompt(folder: str, key: str) -> bool:
    """Whether a text is a folder's key of a prompt."""
    return folder in _PROMPTED and key == f"prompt_{folder.lower()}"
