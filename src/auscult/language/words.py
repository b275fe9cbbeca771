"""How each predicate can be said: as a head noun, before it, right after it, or in a clause that begins with "that".

``{to}`` stands for the phrase of the thing or sound that a relation goes to. Clauses are in the third person; of what
is said of several things, or denied, ``lexicon`` makes the form. All wordings of one predicate mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from auscult.language.forms import Form
from auscult.language.lexicon import article, indefinite, ing, is_plural, of_their_own, often, plural

Slot: TypeAlias = Literal["noun", "before", "after", "that"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to say a predicate."""

    slot: Slot  # where it stands
    text: str  # the words, of one thing
    many: str = ""  # the words, of several; empty where the same (`that`: made from `text`)
    rank: int = 0  # place among the words before a noun, smaller first
    denied: bool = True  # the clause may be denied with `not`


_Table: TypeAlias = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]

# Before the noun, of those that have such words.
_BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "still": ("motionless", "stationary"),
    "up": ("rising",),
    "down": ("sinking",),
    "nearer": ("approaching",),
    "away": ("receding",),
    "hidden": ("partly hidden", "partly covered"),
    "sounds": ("audible",),
    "silent": ("silent", "soundless", "noiseless"),
    "moving": ("moving",),
    "throughout": ("constantly sounding",),
}
# Right after the noun; in a clause. A clause that begins with + is never denied.
_MOTIONS: Final[_Table] = {
    "still": (("at rest",), ("does not move", "stays still", "keeps still", "remains in one place")),
    "left": (("moving to the left", "going left", "on its way to the left"), ("moves to the left", "travels left")),
    "right": (
        ("moving to the right", "going right", "on its way to the right"),
        ("moves to the right", "travels right"),
    ),
    "up": (("moving up", "on its way up"), ("moves upwards", "rises", "goes up")),
    "down": (("moving down", "on its way down"), ("moves downwards", "sinks", "goes down")),
    "nearer": (
        ("coming nearer", "moving towards the viewer"),
        ("comes nearer", "comes closer", "gets closer to the viewer"),
    ),
    "away": (
        ("moving away", "moving into the distance"),
        ("moves away", "gets farther away", "goes off into the distance"),
    ),
    "to_and_fro": (
        ("moving to and fro", "going back and forth"),
        ("moves to and fro", "goes back and forth", "swings from side to side"),
    ),
}
_PLACES: Final[_Table] = {
    "left": (("on the left", "on the left side", "in the left half of the picture"), ("is on the left",)),
    "right": (("on the right", "on the right side", "in the right half of the picture"), ("is on the right",)),
    "top": (("at the top", "in the upper half of the picture"), ("is at the top", "is in the upper half")),
    "bottom": (("at the bottom", "in the lower half of the picture"), ("is at the bottom", "is in the lower half")),
    "centre": (
        ("in the middle", "in the centre of the picture"),
        ("is in the middle of the picture", "is in the centre"),
    ),
}
_PLAIN: Final[_Table] = {
    "hidden": (
        ("with something in front of it",),
        ("is partly hidden", "+is partly covered by something else", "+disappears in part behind something else"),
    ),
    "hiding": (
        ("hiding a part of another thing", "partly covering another thing"),
        ("+hides a part of another thing", "+partly covers another thing", "+covers a part of another thing"),
    ),
    "sounds": (
        ("with a sound of its own",),
        ("+makes a sound", "+gives off a sound", "can be heard", "+makes some noise", "is heard", "is audible"),
    ),
    "silent": (
        ("without any sound", "without a sound of its own"),
        ("never makes a sound", "stays silent", "cannot be heard", "makes no noise", "keeps quiet all along"),
    ),
    "moving": (("in motion",), ("moves", "is moving", "is in motion", "does not stay still")),
    "in_view": (
        ("with nothing in front of it",),
        ("has nothing in front of it", "is never covered by anything else", "is not hidden by anything else"),
    ),
    "throughout": (
        ("with a sound that never stops",),
        (
            "sounds all the time",
            "sounds from start to end",
            "+never stops sounding",
            "is heard throughout",
            "makes its sound without a break",
        ),
    ),
}
_OPPOSITES: Final = {"sounds": "silent", "hidden": "in_view"}
_RELATIONS: Final[_Table] = {
    "left_of": (("to the left of {to}", "left of {to}"), ("is to the left of {to}", "is farther left than {to}")),
    "right_of": (("to the right of {to}", "right of {to}"), ("is to the right of {to}", "is farther right than {to}")),
    "above": (("above {to}", "higher up than {to}"), ("is above {to}", "is higher up than {to}")),
    "below": (("below {to}", "lower down than {to}"), ("is below {to}", "is lower down than {to}")),
    "larger": (
        ("larger than {to}", "bigger than {to}"),
        ("is larger than {to}", "is bigger than {to}", "takes up more of the picture than {to}"),
    ),
    "smaller": (
        ("smaller than {to}",),
        ("is smaller than {to}", "+takes up less of the picture than {to}", "+is not as large as {to}"),
    ),
    "in_front_of": (("in front of {to}",), ("is in front of {to}", "hides a part of {to}", "partly covers {to}")),
    "behind": (
        ("behind {to}", "partly hidden by {to}"),
        ("is behind {to}", "is partly hidden by {to}", "is partly covered by {to}"),
    ),
    "same_colour": (
        ("of the same colour as {to}", "with the same colour as {to}"),
        ("has the same colour as {to}", "is of the same colour as {to}", "shares its colour with {to}"),
    ),
    "same_category": (
        ("of the same kind as {to}", "of the same sort as {to}"),
        ("is of the same kind as {to}", "is the same sort of thing as {to}"),
    ),
    "same_motion": ((), ("moves in the same way as {to}", "moves just like {to}", "has the same motion as {to}")),
    "nearest": (
        ("nearest to {to}", "closest to {to}"),
        ("is nearest to {to}", "is closest to {to}", "+is nearer to {to} than anything else is"),
    ),
    "farthest": (
        ("farthest from {to}",),
        ("is farthest from {to}", "is the farthest away from {to}", "+is farther from {to} than anything else is"),
    ),
    "louder": (("louder than {to}",), ("is louder than {to}", "sounds louder than {to}", "makes more noise than {to}")),
    "quieter": (
        ("quieter than {to}",),
        ("is quieter than {to}", "sounds softer than {to}", "makes less noise than {to}"),
    ),
    "after": (
        ("heard after {to} has fallen silent",),
        (
            "sounds after {to} has stopped sounding",
            "is heard after {to} has fallen silent",
            "makes a sound after {to} stops sounding",
            "+starts sounding once {to} has gone quiet",
        ),
    ),
    "before": (
        ("heard before {to} starts sounding",),
        (
            "sounds before {to} starts sounding",
            "is heard before {to} begins to sound",
            "makes a sound before {to} does",
            "+falls silent before {to} starts sounding",
        ),
    ),
    "with": (
        ("heard together with {to}", "heard at the same time as {to}"),
        (
            "sounds while {to} sounds",
            "is heard at the same time as {to}",
            "sounds at the same time as {to}",
            "sounds along with {to}",
        ),
    ),
}
_TO_VOICES: Final[_Table] = {
    "after": (
        ("heard after {to} is over", "heard after {to} has stopped"),
        ("sounds after {to} has ended", "is heard after {to} stops", "makes a sound once {to} is over"),
    ),
    "before": (
        ("heard before {to} begins", "heard before {to} sets in"),
        ("sounds before {to} starts", "is heard before {to} begins", "makes a sound before {to} sets in"),
    ),
    "with": (
        ("heard together with {to}", "heard at the same time as {to}"),
        ("sounds while {to} is going on", "can be heard during {to}", "makes a sound at the same time as {to}"),
    ),
}
# It sounds, and not with the other.
_ALONE: Final[_Table] = {
    "sounds_not_relation": (
        (),
        (
            "+sounds, but not while {to} sounds",
            "+is heard, but not at the same time as {to}",
            "+makes a sound, but never together with {to}",
        ),
    ),
    "sounds_not_heard": (
        (),
        (
            "+sounds, but not during {to}",
            "+is heard, but not while {to} is going on",
            "+makes a sound, but never at the same time as {to}",
        ),
    ),
}
_SOUND_NOUNS: Final = frozenset(
    (
        *("bark", "beep", "birdsong", "bleat", "bray", "buzz", "caw", "chirp", "clang", "click", "cluck", "cough"),
        *("crackling", "creak", "croak", "crowing", "crying", "gobble", "growl", "grunt", "hiss", "honk", "hoot"),
        *("howl", "hum", "jingle", "knock", "laughter", "meow", "moo", "neigh", "purr", "quack", "ringing", "roar"),
        *("rumble", "screech", "sneeze", "snore", "squeak", "thud", "ticking", "tinkle", "trill", "trumpeting"),
        *("twang", "warble", "whine", "whir"),
    )
)


def sound_name(noun: str) -> str:
    """What a sound is called: ``growl``, but ``piano sound``, since a piano is also a thing."""
    return noun if noun in _SOUND_NOUNS else f"{noun} sound"


def ways(form: Form) -> tuple[Way, ...]:
    """All ways to say a form that is no ``and`` and no ``most``; of a relation, with ``{to}`` in it."""
    return tuple(_denied(form["of"]) if form["op"] == "not" else _ways(form))


def _denied(form: Form) -> Iterator[Way]:
    if form["op"] in _OPPOSITES:
        yield from _of(_OPPOSITES[form["op"]], _PLAIN)
    elif form == {"op": "motion", "word": "still"}:
        yield from _of("moving", _PLAIN)
    elif form["op"] == "colour":
        yield Way(slot="that", text=f"has a colour other than {form['word']}")
        yield Way(slot="that", text=f"is not {form['word']}")
        yield Way(slot="after", text=f"whose colour is not {form['word']}")
    elif form["op"] == "category":
        ways_of = ("something other than", "anything but", *(() if is_plural(form["word"]) else ("not",)))
        for words in ways_of:
            single, many = (f"{words} {noun}" for noun in (indefinite(form["word"]), plural(form["word"])))
            yield Way(slot="that", text=f"is {single}", many=f"are {many}")
    else:
        for way in _ways(form):
            if way.slot == "that" and way.denied:
                yield Way(slot="that", text=f"not:{way.text}")


def _ways(form: Form) -> Iterator[Way]:
    name = form["op"]
    if name in _TABLES:
        table, key = _TABLES[name]
        return _of(form[key], table)
    return _MADE[name](form) if name in _MADE else _of(name, _ALONE if name in _ALONE else _PLAIN)


def _category(form: Form) -> Iterator[Way]:
    yield Way(slot="noun", text=form["word"], many=plural(form["word"]))


def _colour(form: Form) -> Iterator[Way]:
    word = form["word"]
    yield Way(slot="before", text=word, rank=3)
    yield Way(slot="that", text=f"is {word}")
    yield Way(slot="that", text=f"is {word} in colour")
    yield Way(slot="after", text=f"whose colour is {word}")


def _of(word: str, table: _Table) -> Iterator[Way]:
    after, clauses = table[word]
    rank = 2 if word in {"hidden"} else 1 if table is _MOTIONS or word == "moving" else 0
    for text in _BEFORE.get(word, ()):
        yield Way(slot="before", text=text, rank=rank)
    for text in after:
        yield Way(slot="after", text=text, many=of_their_own(text))
    for text in clauses:
        yield Way(slot="that", text=text.removeprefix("+"), denied=not text.startswith("+"))


def _texture(form: Form) -> Iterator[Way]:
    word = form["word"]
    yield Way(slot="before", text=word, rank=4)
    if word == "plain":
        yield Way(slot="after", text="without a pattern")
        yield Way(slot="that", text="has no pattern", denied=False)
        yield Way(slot="that", text="is plain all over", denied=False)
        return
    yield Way(slot="after", text=f"with {article(word)} pattern")
    yield Way(slot="after", text=f"with {article(word)} surface")
    yield Way(slot="that", text=f"has {article(word)} surface")
    yield Way(slot="that", text=f"is {word}")


def _voice(form: Form) -> Iterator[Way]:
    noun, verb = sound_name(form["noun"]), form["verb"]
    if " " not in verb:
        yield Way(slot="before", text=ing(verb))
        yield Way(slot="that", text=f"can be heard {ing(verb)}")
    yield Way(slot="that", text=verb)
    yield Way(slot="that", text=f"gives off the {noun}")
    yield Way(slot="after", text=f"with the {form['noun']} sound")
    yield Way(slot="after", text=f"from which the {noun} comes")
    yield Way(slot="that", text=f"is the source of the {noun}", many=f"are sources of the {noun}")


def _times(form: Form) -> Iterator[Way]:
    count_words = often(form["count"])
    for clause in ("sounds", "is heard", "makes its sound"):
        yield Way(slot="that", text=f"{clause} {count_words}")
        yield Way(slot="that", text=f"{clause} exactly {count_words}")
    yield Way(slot="after", text=f"heard {count_words}")
    if form["count"] == 1:
        yield Way(slot="that", text="sounds only a single time")


_TABLES: Final[Mapping[str, tuple[_Table, str]]] = {
    "motion": (_MOTIONS, "word"),
    "place": (_PLACES, "word"),
    "relation": (_RELATIONS, "how"),
    "heard": (_TO_VOICES, "how"),
}
_MADE: Final[Mapping[str, Callable[[Form], Iterator[Way]]]] = {
    "category": _category,
    "colour": _colour,
    "texture": _texture,
    "voice": _voice,
    "times": _times,
}
