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
    motion, word = thing.motion, form["word"]
    return motion_is(motion, word)


def motion_is(motion, other):
    if motion is None or other is None or sorted((motion, other)) in (["left", "to_and_fro"], ["right", "to_and_fro"]):
        return None
    return motion == other


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


def in_front(thing, other):
    if thing.id in other.covered_by:
        return True if other.hidden >= 0.12 and len(other.covered_by) == 1 else None
    if other.id in thing.covered_by:
        return False
    return False if thing.depth is not None and other.depth is not None and thing.depth >= other.depth else None


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


def in_time(relation, voice, other):
    if other is None:
        return None
    if voice is None:
        return False
    times, other_times = cells(voice), cells(other)
    if relation == "after":
        return True if times[0] - other_times[-1] > 5 else False if other_times[-1] - times[-1] >= 5 else None
    if relation == "before":
        return True if other_times[0] - times[-1] > 5 else False if times[0] - other_times[0] >= 5 else None
    if len(set(times) & set(other_times)) >= 8:
        return True
    return False if all(abs(a - b) > 5 for a in times for b in other_times) else None


def says_heard(form, thing, facts):
    if facts.silent:
        return None
    voices = [other.voice for other in facts.things if other.voice] + list(facts.elsewhere)
    fits = [voice for voice in voices if kind(voice, form) is not False]
    if len(fits) != 1 or kind(fits[0], form) is None:
        return None
    return False if thing.voice is fits[0] else in_time(form["how"], thing.voice, fits[0])


def is_more(quality, thing_a, thing_b, facts):
    """Whether one has more of a quality than two."""
    if quality in {"left", "right", "high", "low"}:
        axis = "x" if quality in {"left", "right"} else "y"
        pairs = [(a, b) for a in points(getattr(thing_a, axis)) for b in points(getattr(thing_b, axis))]
        if quality in {"right", "low"}:
            pairs = [(b, a) for a, b in pairs]
        return True if all(a + 0.04 <= b for a, b in pairs) else False if all(b + 0.04 <= a for a, b in pairs) else None
    if quality in {"large", "small"}:
        a, b = (thing_a, thing_b) if quality == "large" else (thing_b, thing_a)
        return True if min(a.area) >= 1.3 * max(b.area) else False if min(b.area) >= 1.3 * max(a.area) else None
    return None if facts.silent else louder_or_so(quality, thing_a.voice, thing_b.voice)


def close(voice):
    """Whether two events of it can hardly be counted as two."""
    if voice is None:
        return False
    return not voice.countable or any(later[0] - early[1] < 6 for early, later in pairwise(runs(voice)))


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


def louder_or_so(quality, voice, other):
    unclear = {"quiet": voice is None or other is None, "frequent": close(voice) or close(other)}
    if unclear.get(quality) or voice is other:
        return None
    if voice is None or other is None:
        return other is None
    (value, margin), (other_value, _) = NUMBERS[quality](voice), NUMBERS[quality](other)
    return True if value - other_value >= margin else False if other_value - value >= margin else None


def says_most(form, thing, facts):
    quality = form["by"]
    belongs = {other.id: says(form["of"], other, facts) for other in facts.things}
    is_sound_quality = quality in {"early", "late", "short_lived", "lasting", "loud", "frequent", "long"}
    if belongs[thing.id] is False or (is_sound_quality and not facts.silent and thing.voice is None):
        return False
    rivals = [other for other in facts.things if other is not thing and belongs[other.id] is not False]
    if any(belongs[rival.id] and is_more(quality, rival, thing, facts) for rival in rivals):
        return False
    if facts.silent and quality not in {"left", "right", "high", "low", "large", "small"}:
        return None
    return belongs[thing.id] if all(is_more(quality, thing, rival, facts) for rival in rivals) else None


def says_relation(form, thing, facts):
    is_anchor = {other.id: says(form["to"], other, facts) for other in facts.things}
    sure_anchors = [other for other in facts.things if is_anchor[other.id]]
    maybe = [other for other in facts.things if is_anchor[other.id] is not False]
    if len(sure_anchors) > 1 or not maybe:
        return None
    certain = len(sure_anchors) == 1 and len(maybe) == 1
    if is_anchor[thing.id]:
        return False if certain else None
    values = [stands(form["how"], thing, anchor, facts) for anchor in (sure_anchors or maybe) if anchor is not thing]
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


def stands(relation, thing, other, facts):
    if relation in PLACES:
        return is_more(PLACES[relation], thing, other, facts)
    if relation in {"in_front_of", "behind"}:
        return in_front(thing, other) if relation == "in_front_of" else in_front(other, thing)
    if relation.startswith("same_"):
        value, other_value = getattr(thing, relation[5:]), getattr(other, relation[5:])
        return (
            motion_is(value, other_value)
            if relation == "same_motion"
            else None
            if None in {value, other_value}
            else value == other_value
        )
    if relation in {"nearest", "farthest"}:
        return extreme_distance(thing, other, facts, far=relation == "farthest")
    return None if facts.silent or other.voice is None else sounds_so(relation, thing.voice, other.voice)


def sounds_so(relation, voice, other):
    if relation in {"louder", "quieter"}:
        silent = False if relation == "louder" else None
        return silent if voice is None else louder_or_so("loud" if relation == "louder" else "quiet", voice, other)
    return in_time(relation, voice, other)


def extreme_distance(thing, anchor, facts, *, far):
    spans = distances(thing, anchor)
    values = []
    for other in facts.things:
        if other.id not in {thing.id, anchor.id}:
            other_distances = distances(other, anchor)
            closer = (other_distances, spans) if far else (spans, other_distances)
            wins, loses = max(closer[0]) + 0.04 <= min(closer[1]), max(closer[1]) + 0.04 <= min(closer[0])
            values.append(True if wins else False if loses else None)
    return False if False in values else True if values and None not in values else None


def distances(thing, other):
    """The least and the largest distance that two centres can have, each within its ranges."""
    spots = []
    for axis, scale in (("x", 1.6), ("y", 1.0)):
        (a, b), (c, d) = getattr(thing, axis), getattr(other, axis)
        gaps = [abs(p - q) for p in (a, b) for q in (c, d)]
        touching = a <= d and c <= b
        spots.append((0.0 if touching else scale * min(gaps), scale * max(gaps)))
    (x0, x1), (y0, y1) = spots
    return (x0**2 + y0**2) ** 0.5, (x1**2 + y1**2) ** 0.5
