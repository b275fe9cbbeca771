"""A second evaluator of logical forms, thing by thing from their meaning: points of ranges, steps of time, loops."""

from __future__ import annotations

import math
from itertools import pairwise

STEP_S = 0.05


def names(form, facts):
    values = {thing.id: says(form, thing, facts) for thing in facts.things}
    return None if None in values.values() else {name for name, value in values.items() if value}


def says(form, thing, facts):
    op = form["op"]
    if op == "and":
        parts = [says(part, thing, facts) for part in form["of"]]
        return min(parts, key=lambda value: {False: 0, None: 1, True: 2}[value])
    if op == "not":
        return denies(form["of"], thing, facts)
    if op in {"category", "colour", "texture"}:
        value = getattr(thing, op)
        return None if value is None else value == form["word"]
    return globals()[f"says_{op}"](form, thing, facts)


def denies(form, thing, facts):
    if form["op"] == "relation" and says(form["to"], thing, facts) is True:
        value = says(form, thing, facts)
        return None if value is None else False
    if form["op"] == "heard":
        voice = thing.voice
        if voice and (voice.noun, voice.verb) == (form["noun"], form["verb"]):
            return None if says(form, thing, facts) is None else False
    return {True: False, False: True, None: None}[says(form, thing, facts)]


def says_anything(form, thing, facts):
    return True


def says_motion(form, thing, facts):
    one, two = thing.motion, form["word"]
    return motion_is(one, two)


def motion_is(one, two):
    if one is None or two is None or sorted((one, two)) in (["left", "to_and_fro"], ["right", "to_and_fro"]):
        return None
    return one == two


def points(extent):
    return [extent[0] + share * (extent[1] - extent[0]) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]


def says_place(form, thing, facts):
    word = form["word"]
    if word == "centre":
        spots = [(x, y) for x in points(thing.x) for y in points(thing.y)]
        if all(0.36 <= x <= 0.64 and 0.36 <= y <= 0.64 for x, y in spots):
            return True
        outside = [all(p < 0.28 for p in points(r)) or all(p > 0.72 for p in points(r)) for r in (thing.x, thing.y)]
        return False if any(outside) else None
    spots = points(thing.x if word in {"left", "right"} else thing.y)
    if word in {"right", "bottom"}:
        spots = [1 - spot for spot in spots]
    return True if all(s <= 0.45 for s in spots) else False if all(s >= 0.53 for s in spots) else None


def says_hidden(form, thing, facts):
    if not thing.covered_by or thing.hidden <= 0.024:
        return False
    return True if thing.hidden >= 0.12 else None


def says_hiding(form, thing, facts):
    under = [other for other in facts.things if thing.id in other.covered_by]
    if any(other.hidden >= 0.12 and other.covered_by == (thing.id,) for other in under):
        return True
    return None if any(in_front(thing, other) is None for other in under) else False


def in_front(one, two):
    if one.id in two.covered_by:
        return True if two.hidden >= 0.12 and len(two.covered_by) == 1 else None
    if two.id in one.covered_by:
        return False
    return False if one.depth is not None and two.depth is not None and one.depth >= two.depth else None


def cells(voice):
    return [n for start, end in voice.spans for n in range(round(start / STEP_S), round(end / STEP_S))]


def runs(voice):
    return [(round(start / STEP_S), round(end / STEP_S)) for start, end in voice.spans]


def says_sounds(form, thing, facts):
    return None if facts.silent else bool(thing.voice)


def says_voice(form, thing, facts):
    if facts.silent:
        return None
    return bool(thing.voice) and kind(thing.voice, form)


def kind(voice, form):
    return {0: False, 1: None, 2: True}[(voice.noun == form["noun"]) + (voice.verb == form["verb"])]


def says_throughout(form, thing, facts):
    if facts.silent:
        return None
    if thing.voice is None or not facts.duration_s:
        return False
    share = len(cells(thing.voice)) * STEP_S / facts.duration_s
    return True if share > 0.9499 else False if share < 0.8001 else None


def says_times(form, thing, facts):
    if facts.silent:
        return None
    if thing.voice is None:
        return False
    if form["count"] == 1 and says_throughout({}, thing, facts) is not False:
        return None
    return None if close(thing.voice) else len(runs(thing.voice)) == form["count"]


def in_time(how, one, two):
    if two is None:
        return None
    if one is None:
        return False
    mine, theirs = cells(one), cells(two)
    if how == "after":
        return True if mine[0] - theirs[-1] > 5 else False if theirs[-1] - mine[-1] >= 5 else None
    if how == "before":
        return True if theirs[0] - mine[-1] > 5 else False if mine[0] - theirs[0] >= 5 else None
    if len(set(mine) & set(theirs)) >= 8:
        return True
    return False if all(abs(a - b) > 5 for a in mine for b in theirs) else None


def says_heard(form, thing, facts):
    if facts.silent:
        return None
    voices = [one.voice for one in facts.things if one.voice] + list(facts.elsewhere)
    fits = [voice for voice in voices if kind(voice, form) is not False]
    if len(fits) != 1 or kind(fits[0], form) is None:
        return None
    return False if thing.voice is fits[0] else in_time(form["how"], thing.voice, fits[0])


def more(quality, one, two, facts):
    """Whether one has more of a quality than two."""
    if quality in {"left", "right", "high", "low"}:
        axis = "x" if quality in {"left", "right"} else "y"
        pairs = [(a, b) for a in points(getattr(one, axis)) for b in points(getattr(two, axis))]
        if quality in {"right", "low"}:
            pairs = [(b, a) for a, b in pairs]
        return True if all(a + 0.04 <= b for a, b in pairs) else False if all(b + 0.04 <= a for a, b in pairs) else None
    if quality in {"large", "small"}:
        a, b = (one, two) if quality == "large" else (two, one)
        return True if min(a.area) >= 1.3 * max(b.area) else False if min(b.area) >= 1.3 * max(a.area) else None
    return None if facts.silent else louder_or_so(quality, one.voice, two.voice)


def close(voice):
    """Whether two events of it can hardly be counted as two."""
    if voice is None:
        return False
    return not voice.countable or any(late[0] - early[1] < 6 for early, late in pairwise(runs(voice)))


NUMBERS = {
    "early": lambda voice: (-cells(voice)[0], 8),
    "late": lambda voice: (cells(voice)[0], 8),
    "short_lived": lambda voice: (-cells(voice)[-1], 8),
    "lasting": lambda voice: (cells(voice)[-1], 8),
    "loud": lambda voice: (voice.level_db, 4),
    "quiet": lambda voice: (-voice.level_db, 4),
    "frequent": lambda voice: (len(voice.spans), 1),
    "long": lambda voice: (math.log(len(cells(voice))), math.log(1.4) - 1e-9),
}


def louder_or_so(quality, one, two):
    unclear = {"quiet": one is None or two is None, "frequent": close(one) or close(two)}
    if unclear.get(quality) or one is two:
        return None
    if one is None or two is None:
        return two is None
    (mine, margin), (theirs, _) = NUMBERS[quality](one), NUMBERS[quality](two)
    return True if mine - theirs >= margin else False if theirs - mine >= margin else None


def says_most(form, thing, facts):
    quality = form["by"]
    belongs = {one.id: says(form["of"], one, facts) for one in facts.things}
    heard = quality in {"early", "late", "short_lived", "lasting", "loud", "frequent", "long"}
    if belongs[thing.id] is False or (heard and not facts.silent and thing.voice is None):
        return False
    rivals = [one for one in facts.things if one is not thing and belongs[one.id] is not False]
    if any(belongs[one.id] and more(quality, one, thing, facts) for one in rivals):
        return False
    if facts.silent and quality not in {"left", "right", "high", "low", "large", "small"}:
        return None
    return belongs[thing.id] if all(more(quality, thing, one, facts) for one in rivals) else None


def says_relation(form, thing, facts):
    there = {one.id: says(form["to"], one, facts) for one in facts.things}
    sure = [one for one in facts.things if there[one.id]]
    maybe = [one for one in facts.things if there[one.id] is not False]
    if len(sure) > 1 or not maybe:
        return None
    certain = len(sure) == 1 and len(maybe) == 1
    if there[thing.id]:
        return False if certain else None
    values = [stands(form["how"], thing, one, facts) for one in (sure or maybe) if one is not thing]
    if certain:
        return values[0]
    return False if values and all(value is False for value in values) else None


PLACES = {
    "left_of": "left",
    "right_of": "right",
    "above": "high",
    "below": "low",
    "larger": "large",
    "smaller": "small",
}


def stands(how, one, two, facts):
    if how in PLACES:
        return more(PLACES[how], one, two, facts)
    if how in {"in_front_of", "behind"}:
        return in_front(one, two) if how == "in_front_of" else in_front(two, one)
    if how.startswith("same_"):
        mine, theirs = getattr(one, how[5:]), getattr(two, how[5:])
        return motion_is(mine, theirs) if how == "same_motion" else None if None in {mine, theirs} else mine == theirs
    if how in {"nearest", "farthest"}:
        return extreme_distance(one, two, facts, far=how == "farthest")
    return None if facts.silent or two.voice is None else sounds_so(how, one.voice, two.voice)


def sounds_so(how, one, two):
    if how in {"louder", "quieter"}:
        silent = False if how == "louder" else None
        return silent if one is None else louder_or_so("loud" if how == "louder" else "quiet", one, two)
    return in_time(how, one, two)


def extreme_distance(one, two, facts, *, far):
    mine = distances(one, two)
    values = []
    for other in facts.things:
        if other.id not in {one.id, two.id}:
            theirs = distances(other, two)
            closer = (theirs, mine) if far else (mine, theirs)
            wins, loses = max(closer[0]) + 0.04 <= min(closer[1]), max(closer[1]) + 0.04 <= min(closer[0])
            values.append(True if wins else False if loses else None)
    return False if False in values else True if values and None not in values else None


def distances(one, two):
    """The least and the largest distance that two centres can have, each within its ranges."""
    spots = []
    for axis, scale in (("x", 1.6), ("y", 1.0)):
        (a, b), (c, d) = getattr(one, axis), getattr(two, axis)
        gaps = [abs(p - q) for p in (a, b) for q in (c, d)]
        touching = a <= d and c <= b
        spots.append((0.0 if touching else scale * min(gaps), scale * max(gaps)))
    (x0, x1), (y0, y1) = spots
    return (x0**2 + y0**2) ** 0.5, (x1**2 + y1**2) ** 0.5
