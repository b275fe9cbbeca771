"""Which sentences about a generated scene a picture without sound, or one frame, cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from auscult.language.facts import Facts
from auscult.language.forms import read
from auscult.language.proof import Proof
from auscult.scenes.facts import facts_from_json

_UNCLEAR: Final = 0.1


def hidden_sentences(row: Mapping[str, Any], *, still: bool, null: bool = False) -> Iterator[str]:
    """Ids of the expressions of a scene that cannot be told by sight alone.

    Proven from an expression's logical form and the scene's facts: without the sound, and in one frame without the
    motions, it may refer to another object than its target, or to one though it names none.

    Args:
        row: The scene's line of ``scenes.jsonl``.
        still: Whether there is but one frame.
        null: Whether null expressions are looked at too.

    Raises:
        InputError: Facts or a form cannot be read.
    """
    payload, expressions = row.get("facts"), row.get("expressions")
    if not isinstance(payload, Mapping) or not isinstance(expressions, list):
        return
    facts = facts_from_json(payload)
    named = Proof(_without_passing_covers(facts)).named
    if still:
        facts = replace(facts, things=tuple(replace(obj, motion=None) for obj in facts.things))
    proof = Proof(facts, frozenset({"sight"}))
    for expression in expressions:
        if isinstance(expression, Mapping) and (null or isinstance(expression.get("target"), str)):
            form, name = read(expression.get("form")), expression.get("target")
            target = frozenset({name} if isinstance(name, str) else ())
            if proof.possible(form) != target or (still and named(form) != target):
                yield str(expression.get("uid"))


def _without_passing_covers(facts: Facts) -> Facts:
    """The facts with occlusion made uncertain where either object moves: a single frame need not show it."""
    still = {obj.id for obj in facts.things if obj.motion == "still"}
    return replace(
        facts,
        things=tuple(
            obj if {obj.id, *obj.covered_by} <= still else replace(obj, hidden=min(obj.hidden, _UNCLEAR))
            for obj in facts.things
        ),
    )
