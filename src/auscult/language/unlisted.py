"""Expressions that hold although the picture may show more than the facts list: a photograph as background.

Of an unlisted thing it is taken for granted that it makes no sound, does not move, lies behind all listed things and is
of a category that no listed thing has. An expression holds in such a picture when, beyond doubt, none of these could be
meant by it, by a landmark in it ("the bell left of the drum") or as a rival in it ("the largest bell").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from auscult.language.forms import SOUND_QUALITIES, Form

_ALL_COUNT: Final = frozenset({"nearest", "farthest"})  # every thing of the picture is a rival
_SILENT: Final = frozenset({"after", "before", "with", "louder"})


def holds(form: Form) -> bool:
    """Whether no unlisted thing can be meant by any part of a form that must name something."""
    return _could(form) is False and _parts_hold(form)


def _parts_hold(form: Form) -> bool:
    name = form["op"]
    if name == "hiding":  # there is always something behind
        return False
    if name == "and":
        return all(map(_parts_hold, form["of"]))
    if name == "not":
        return _parts_hold(form["of"])
    if name == "most":
        return holds(form["of"])
    if name == "relation":
        return form["how"] not in _ALL_COUNT and holds(form["to"])
    return True


def _could(form: Form) -> bool | None:
    """What a form says of an unlisted thing: true, false, or nobody knows."""
    name = form["op"]
    if name in _FALSE:
        return False
    return _OTHERS.get(name, _nobody_knows)(form)


def _nobody_knows(form: Form) -> None:
    del form


def _all(form: Form) -> bool | None:
    values = [_could(part) for part in form["of"]]
    return False if False in values else None if None in values else True


def _denied(form: Form) -> bool | None:
    value = _could(form["of"])
    return None if value is None else not value


def _most(form: Form) -> bool | None:
    sounding = form["by"] in SOUND_QUALITIES and form["by"] != "quiet"
    return False if sounding or _could(form["of"]) is False else None


def _related(form: Form) -> bool | None:
    return False if form["how"] in _SILENT or form["how"] == "same_category" else None


def _moves(form: Form) -> bool | None:
    return None if form["word"] == "still" else False


_FALSE: Final = frozenset({"category", "sounds", "voice", "times", "throughout", "heard"})
_OTHERS: Final[Mapping[str, Callable[[Form], bool | None]]] = {
    "and": _all,
    "not": _denied,
    "most": _most,
    "relation": _related,
    "motion": _moves,
}
