"""What common sounds are called: the noun for what is heard, the verb for what its maker does.

For a label that is not listed the noun is the label, and the verb says that its maker makes such sounds: a verb that
fits every sound, such as ``sounds``, would not tell one thing from another. It needs no article, whose form would hang
on how the label is spoken (``MP3 player``). A user's ``verbs.csv`` goes before both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MAKERS: Final[Mapping[str, tuple[str, str]]] = {
    "alarm": ("alarm", "blares"),
    "baby": ("crying", "cries"),
    "bassoon": ("bassoon", "plays"),
    "bear": ("growl", "growls"),
    "bee": ("buzz", "buzzes"),
    "bell": ("bell", "rings"),
    "bird": ("birdsong", "sings"),
    "car": ("engine", "revs"),
    "cat": ("meow", "meows"),
    "cello": ("cello", "plays"),
    "chainsaw": ("chainsaw", "roars"),
    "chicken": ("cluck", "clucks"),
    "clock": ("ticking", "ticks"),
    "cow": ("moo", "moos"),
    "cricket": ("chirp", "chirps"),
    "crow": ("caw", "caws"),
    "cymbal": ("cymbal", "crashes"),
    "dog": ("bark", "barks"),
    "donkey": ("bray", "brays"),
    "door": ("creak", "creaks"),
    "drill": ("drill", "whirs"),
    "drum": ("drum", "booms"),
    "duck": ("quack", "quacks"),
    "elephant": ("trumpeting", "trumpets"),
    "fire": ("crackling", "crackles"),
    "flute": ("flute", "plays"),
    "frog": ("croak", "croaks"),
    "goat": ("bleat", "bleats"),
    "gong": ("gong", "rings"),
    "goose": ("honk", "honks"),
    "guitar": ("guitar", "plays"),
    "helicopter": ("helicopter", "clatters"),
    "horn": ("horn", "honks"),
    "horse": ("neigh", "neighs"),
    "lion": ("roar", "roars"),
    "monkey": ("screech", "screeches"),
    "mouse": ("squeak", "squeaks"),
    "owl": ("hoot", "hoots"),
    "phone": ("ringing", "rings"),
    "piano": ("piano", "plays"),
    "pig": ("grunt", "grunts"),
    "rain": ("rain", "patters"),
    "rooster": ("crowing", "crows"),
    "saw": ("saw", "rasps"),
    "sea": ("surf", "surges"),
    "sheep": ("bleat", "bleats"),
    "siren": ("siren", "wails"),
    "snake": ("hiss", "hisses"),
    "telephone": ("ringing", "rings"),
    "thunder": ("thunder", "rolls"),
    "tiger": ("roar", "roars"),
    "train": ("train", "rumbles"),
    "trumpet": ("trumpet", "plays"),
    "turkey": ("gobble", "gobbles"),
    "vacuum": ("vacuum cleaner", "drones"),
    "violin": ("violin", "plays"),
    "water": ("water", "splashes"),
    "whistle": ("whistle", "whistles"),
    "wind": ("wind", "howls"),
    "wolf": ("howl", "howls"),
}

# Labels that say maker and sound, as data sets write them.
_EVENTS: Final[Mapping[str, tuple[str, str]]] = {
    "baby cry": ("crying", "cries"),
    "church bells": ("bells", "rings"),
    "clapping": ("clapping", "claps"),
    "clock tick": ("ticking", "ticks"),
    "coughing": ("cough", "coughs"),
    "crying baby": ("crying", "cries"),
    "dog bark": ("bark", "barks"),
    "fire crackling": ("crackling", "crackles"),
    "laughing": ("laughter", "laughs"),
    "person sneeze": ("sneeze", "sneezes"),
    "sea waves": ("surf", "surges"),
    "snoring": ("snore", "snores"),
    "speech": ("voice", "speaks"),
    "walking": ("footsteps", "walks"),
}


def default_words(label: str) -> tuple[str, str]:
    """Noun and verb of a label: its own row, else that of its last word (``brown dog``), else words made of the label.

    Example:
        >>> default_words("brown dog"), default_words("kettle")
        (('bark', 'barks'), ('kettle', 'makes kettle sounds'))
    """
    plain = label.lower()
    for key in (plain, plain.split()[-1] if plain.split() else ""):
        words = _EVENTS.get(key) or _MAKERS.get(key)
        if words:
            return words
    return label, f"makes {label} sounds"
