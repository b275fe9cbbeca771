"""Each room takes the names of its own perturbations, long and short, and tells of any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from auscult.errors import UnknownName
from auscult.stress import sentences, sound, timing, vision
from auscult.stress.perturbation import loaded

PICTURE = np.zeros((4, 5, 3), np.uint8)
SOUND = np.zeros(100, np.float32)
MAKERS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "vision": (lambda name: vision.apply(name, PICTURE), lambda name: vision.render(name, PICTURE, {})),
    "sound": (
        lambda name: sound.apply(name, SOUND, rate_hz=8_000),
        lambda name: sound.render(name, SOUND, {}, rate_hz=8_000),
    ),
    "sentences": (
        lambda name: sentences.apply(name, "the dog"),
        lambda name: sentences.render(name, "the dog", {"strength": 3.0, "edits": []}),
    ),
    "timing": (
        lambda name: timing.apply(name, PICTURE[None], rate_fps=25.0),
        lambda name: timing.render(name, PICTURE[None], params_json={}, rate_fps=25.0),
    ),
}
NAMES = {"vision": "gaussian_noise", "sound": "gaussian_noise", "sentences": "misspelling", "timing": "offset"}


@pytest.mark.parametrize("room", MAKERS)
def test_long_and_short_names(room: str) -> None:
    base = NAMES[room]
    identities = {id(loaded(room, name)) for name in (base, f"{base}.v1", f"{room}.{base}", f"{room}.{base}.v1")}
    assert len(identities) == 1
    assert loaded(room, base).name == f"{room}.{base}.v1"


@pytest.mark.parametrize("other", [*MAKERS, "masks"])
@pytest.mark.parametrize("room", MAKERS)
def test_a_name_of_another_room(room: str, other: str) -> None:
    if other == room:
        return
    for make in MAKERS[room]:
        with pytest.raises(UnknownName, match=rf"(?s)is no perturbation of {room}.*stress\.{other} has it"):
            make(f"{other}.{NAMES.get(other, 'erode')}")


@pytest.mark.parametrize("name", [None, 5, ["fog"], b"fog", {"fog": 1}], ids=repr)
@pytest.mark.parametrize("room", MAKERS)
def test_what_is_no_name(room: str, name: Any) -> None:
    for make in MAKERS[room]:
        with pytest.raises(UnknownName, match="is no name of a perturbation"):
            make(name)


@pytest.mark.parametrize("name", ["", ".", "smog", "vision.smog", "smog.v1", "a.b.c.d", "vision.fog.v99", "os.system"])
@pytest.mark.parametrize("room", MAKERS)
def test_an_unknown_name(room: str, name: str) -> None:
    with pytest.raises(UnknownName):
        loaded(room, name)


@pytest.mark.parametrize("room", [*MAKERS, "negatives"])
def test_an_unknown_name_is_told_with_the_names_of_its_room_alone(room: str) -> None:
    with pytest.raises(UnknownName) as caught:
        loaded(room, "nosuch")
    names = caught.value.expected.removeprefix("one of: ").split(", ")
    assert len(names) > 3
    assert all(name.startswith(f"{room}.") for name in names)
