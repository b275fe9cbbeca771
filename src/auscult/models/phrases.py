"""Phrases that an omni model is asked for: what a sentence means, and what else could be taken for it.

The texts are ours; the rules of the first are those of MQ-RAVSBench, App. G.1, and the second does what TGS-Agent asks
its model for. Replies come from strangers: they are read within bounds, and one that holds no answer is an error.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError
from auscult.media.frames import write_frame
from auscult.media.paths import write_bytes
from auscult.media.wav import Sound, wav_bytes
from auscult.models.omni import OmniPredictor, OmniRequest
from auscult.types import Frames, Samples

OTHERS_QUESTION: Final = """\
Look at the picture. Somebody points at this in it: {meant}
Which other things in the picture could be taken for it by mistake?
- Name whole things and no parts of them: a person and not an arm, a car and not a tyre.
- Where a person or an animal holds, plays, rides or uses what is pointed at, name that person or animal.
- Leave out what is pointed at, whatever else it may be called.
- Give two or three things where little is to be seen, and up to five where the picture is full.
- Begin with what can make a sound (people, animals, vehicles, machines, instruments), go on with what touches or
  belongs to what is pointed at, and end with whatever else strikes the eye.
- Tell things of one kind apart by colour or place: "the grey car at the back".
Reply with a JSON list of strings and with nothing else."""

TARGET_QUESTION: Final = """\
Here are {count} pictures of one scene in order of time, and its sound if there is any. A sentence speaks of one thing
in the scene: {meant}
Look and listen which thing that is. Then say what it looks like, in at most eight words, so that somebody who sees only
one of the pictures and hears nothing could point at it: what kind of thing, its colour, its place.
Say "nothing" if the scene holds no such thing.
Reply with <target>...</target> and with nothing else."""

MOST_PHRASES: Final = 5
MOST_CHARS: Final = 120
MOST_FRAMES: Final = 10
_MOST_READ: Final = 20_000
_MOST_WORDS: Final = 16
_MOST_LISTS: Final = 32  # brackets that are tried: each may cost its whole reply
_TARGET: Final = re.compile(r"<target>(.*?)(?:</target>|$)", re.IGNORECASE | re.DOTALL)
_NOTHING: Final = frozenset({"nothing", "none", "null", "no such thing"})


def asked(
    omni: OmniPredictor, question: str, frames: Frames, *, sound: Samples | None = None, rate_hz: int | None = None
) -> str:
    """The reply to a question about frames, uint8 RGB (T, H, W, 3), of which ten are shown at most, and their sound."""
    with tempfile.TemporaryDirectory(prefix="auscult-asked-") as folder:
        images = []
        for number in np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MOST_FRAMES)).round().astype(int)):
            images.append(Path(folder, f"{number:05d}.png"))
            write_frame(images[-1], frames[number])
        sounds = []
        if sound is not None and rate_hz and np.size(sound):
            sounds.append(Path(folder, "sound.wav"))
            write_bytes(sounds[0], wav_bytes(Sound(samples=np.atleast_2d(sound), rate_hz=rate_hz), "int16"))
        request = OmniRequest(
            id="", condition="", folder="", position=0, question=question, images=tuple(images), sounds=tuple(sounds)
        )
        return omni(request).text


def quoted(text: str) -> str:
    """A sentence inside a question: in quotation marks and on one line, so that it does not pass for the question."""
    return json.dumps(text[:2000], ensure_ascii=False)


def read_phrases(reply: str) -> tuple[str, ...]:
    """At most five phrases of a reply with a JSON list of strings, each once; an InputError where it has none."""
    for found in _lists(reply[:_MOST_READ]):
        phrases = dict.fromkeys(phrase for one in found if (phrase := _phrase(one)))
        return tuple(phrases)[:MOST_PHRASES]
    raise InputError(
        f"the reply names no other things: {reply[:80]!r}", expected='a JSON list of strings, such as ["the grey car"]'
    )


def _lists(text: str) -> Iterator[list[str]]:
    """Lists of strings in a text."""
    decoder = json.JSONDecoder()
    for match in islice(re.finditer(r"\[", text), _MOST_LISTS):
        try:
            found: Any = decoder.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            yield found


def read_target(reply: str) -> str | None:
    """The phrase of a reply, in tags or as all it says; None for nothing; an InputError where no phrase is found."""
    tagged = _TARGET.findall(reply[:_MOST_READ])
    phrase = _phrase(tagged[-1] if tagged else reply[:_MOST_READ])
    if phrase.rstrip(".").casefold() in _NOTHING:
        return None
    if not phrase:
        raise InputError(
            f"the reply says not what is meant: {reply[:80]!r}",
            expected=f"<target>...</target> with {_MOST_WORDS} words at most",
        )
    return phrase


def _phrase(text: str) -> str:
    """A phrase on one line; empty for what is none, as a paragraph or a text without a letter."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in text).split()).strip(" \"'")
    short = len(plain) <= MOST_CHARS and len(plain.split()) <= _MOST_WORDS
    return plain if short and any(char.isalpha() for char in plain) else ""
