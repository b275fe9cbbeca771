"""What is heard of one voice or of two: true, false, or unclear (None) where it is too close to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from auscult.language.facts import Facts, Voice

APART_S: Final = 0.25  # of an end and a start
TOGETHER_S: Final = 0.4
ENDS_S: Final = 0.4  # of two starts, or two ends
LOUDER_DB: Final = 4.0
LONGER: Final = 1.4
_GAP_S: Final = 0.3  # between two events that are counted as two
_THROUGHOUT: Final = (0.95, 0.8)
_ROUNDING: Final = 1e-9  # times are decimal numbers


def is_voice(voice: Voice | None, *, noun: str, verb: str) -> bool | None:
    """Whether a voice is of this kind; unclear where only one of the two words fits."""
    if voice is None:
        return False
    fits = (voice.noun == noun) + (voice.verb == verb)
    return None if fits == 1 else fits == 2


def times(voice: Voice | None, count: int, facts: Facts) -> bool | None:
    """Whether it sounds this often; what sounds all the time is not said to sound once."""
    if voice is None:
        return False
    if count == 1 and throughout(voice, facts) is not False:
        return None
    return len(voice.spans) == count if _countable(voice) else None


def _countable(voice: Voice) -> bool:
    return voice.countable and all(
        late[0] - early[1] >= _GAP_S - _ROUNDING for early, late in zip(voice.spans, voice.spans[1:], strict=False)
    )


def throughout(voice: Voice | None, facts: Facts) -> bool | None:
    """Whether it sounds all the time."""
    if voice is None or facts.duration_s <= 0:
        return False
    share = _length(voice) / facts.duration_s
    return True if share >= _THROUGHOUT[0] else False if share <= _THROUGHOUT[1] else None


def after(one: Voice | None, two: Voice | None) -> bool | None:
    """Whether one is heard only after two has stopped; false where nothing of it is heard after that."""
    if two is None:
        return None
    if one is None:
        return False
    if _apart(two.spans[-1][1], one.spans[0][0]):
        return True
    return False if _apart(one.spans[-1][1], two.spans[-1][1]) else None


def before(one: Voice | None, two: Voice | None) -> bool | None:
    """Whether one is heard only before two begins; false where nothing of it is heard before that."""
    if two is None:
        return None
    if one is None:
        return False
    if _apart(one.spans[-1][1], two.spans[0][0]):
        return True
    return False if _apart(two.spans[0][0], one.spans[0][0]) else None


def together(one: Voice | None, two: Voice | None) -> bool | None:
    """Whether the two are heard at the same time for a while."""
    if two is None:
        return None
    if one is None:
        return False
    shares = [min(a[1], b[1]) - max(a[0], b[0]) for a in one.spans for b in two.spans]
    if sum(max(0.0, share) for share in shares) >= TOGETHER_S - _ROUNDING:
        return True
    return False if max(shares) <= -APART_S + _ROUNDING else None


def _apart(early: float, late: float) -> bool:
    return late - early >= APART_S - _ROUNDING


def _than(value: Callable[[Voice], float], margin: float) -> Callable[[Voice | None, Voice | None], bool | None]:
    """The order of two voices by a number; a thing that never sounds has least of everything."""

    def order(one: Voice | None, two: Voice | None) -> bool | None:
        if one is None or two is None:
            return None if one is two else two is None
        difference = value(one) - value(two)
        return None if abs(difference) < margin - _ROUNDING else difference > 0

    return order


def _length(voice: Voice) -> float:
    return sum(end - start for start, end in voice.spans)


def _longer(one: Voice | None, two: Voice | None) -> bool | None:
    if one is None or two is None:
        return None if one is two else two is None
    mine, theirs = _length(one), _length(two)
    return True if mine >= LONGER * theirs else False if theirs >= LONGER * mine else None


def _quieter_of(one: Voice | None, two: Voice | None) -> bool | None:
    """Unclear beside a thing that never sounds, which may be called quiet as well."""
    return None if one is None or two is None else _than(lambda voice: -voice.level_db, LOUDER_DB)(one, two)


def _frequent(one: Voice | None, two: Voice | None) -> bool | None:
    if any(voice is not None and not _countable(voice) for voice in (one, two)):
        return None
    return _than(lambda voice: float(len(voice.spans)), 1.0)(one, two)


ORDERS: Final[Mapping[str, Callable[[Voice | None, Voice | None], bool | None]]] = {
    "early": _than(lambda voice: -voice.spans[0][0], ENDS_S),
    "late": _than(lambda voice: voice.spans[0][0], ENDS_S),
    "short_lived": _than(lambda voice: -voice.spans[-1][1], ENDS_S),
    "lasting": _than(lambda voice: voice.spans[-1][1], ENDS_S),
    "loud": _than(lambda voice: voice.level_db, LOUDER_DB),
    "quiet": _quieter_of,
    "frequent": _frequent,
    "long": _longer,
}
"""Whether the first voice has more of a quality than the second."""


def _louder(one: Voice | None, two: Voice | None) -> bool | None:
    if two is None:
        return None
    return False if one is None else ORDERS["loud"](one, two)


def _quieter(one: Voice | None, two: Voice | None) -> bool | None:
    return None if two is None else ORDERS["quiet"](one, two)


RELATIONS: Final[Mapping[str, Callable[[Voice | None, Voice | None], bool | None]]] = {
    "after": after,
    "before": before,
    "with": together,
    "louder": _louder,
    "quieter": _quieter,
}
"""How the first voice stands to the second; unclear where there is no second."""
