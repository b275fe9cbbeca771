"""The text of the page of one perturbation, and of the table of all."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stress_pages_columns import heads_of
from stress_pages_examples import SENTENCES, in_python
from stress_pages_shown import LEVELS, seed_of, side_of, suffix_of

from auscult.stress import presets, sentences
from auscult.stress.recipe_parts import ORIGINS, PAPER, ROOMS, base_of, full_names, room_of
from auscult.types import Metadata

_WORKS_ON: Final = {
    "vision": "pictures and clips",
    "sound": "sounds, of any rate and number of channels",
    "sentences": "sentences",
    "timing": "videos with or without sound",
}
_TITLES: Final = {"vision": "pictures", "sound": "sound", "sentences": "sentences", "timing": "timing"}
_SIDES: Final = ("indoors", "outdoors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a page says of a perturbation.

    Attributes:
        name: ``vision.fog.v1``.
        meta: What it says about itself.
        levels: Its constants, six rows.
        declared: Why a column does not go one way, by its number.
        remarks: Its class's docstring where that has paragraphs, else its module's.
    """

    name: str
    meta: Metadata
    levels: Sequence[Sequence[float]]
    declared: dict[int, str]
    remarks: str

    @property
    def room(self) -> str:
        """``vision``, ``sound``, ``sentences`` or ``timing``."""
        return room_of(self.name)

    @property
    def kind(self) -> str:
        """``fog``."""
        return base_of(self.name)

    @property
    def picture(self) -> str:
        """The name of its picture; empty where it has none."""
        return f"{self.name}{suffix_of(self.name)}" if suffix_of(self.name) else ""


def told(name: str, stressor: Any) -> Told:
    """What a perturbation says of itself."""
    module = importlib.import_module(type(stressor).__module__)
    return Told(
        name=name,
        meta=stressor.meta,
        levels=stressor.levels,
        declared=dict(stressor.declared),
        remarks=_remarks(stressor, module),
    )


def _remarks(stressor: Any, module: Any) -> str:
    """Its class's docstring where several stressors share a module, else the module's."""
    own = inspect.cleandoc(vars(type(stressor)).get("__doc__") or "")
    return own if "\n\n" in own else inspect.getdoc(module) or ""


def page(one: Told) -> str:
    """The page of one perturbation."""
    first, _, rest = one.remarks.partition("\n\n")
    parts = [
        f"# {one.name}",
        _marked(first.replace("\n", " ")),
        *_shown(one),
        "## What it is",
        facts(one),
        "## Constants",
        constants(one),
        *exceptions(one),
        "Constants between two levels lie on straight lines between theirs.",
        "## From Python",
        f"```python\n{in_python(one.room, one.kind, one.name)}```",
        "## From the command line",
        f"```text\nauscult stress {one.room} INPUT --kind {one.kind} --severity 1,3,5 --out DIR\n```",
    ]
    if rest:
        parts += ["## Remarks", _marked(rest.strip())]
    parts.append("[All perturbations](../stress.md#what-there-is)")
    return "\n\n".join(parts) + "\n"


def facts(one: Told) -> str:
    """What it says about itself, as a table."""
    meta = one.meta
    rows = [
        ("does", meta.summary),
        ("what for", meta.goal),
        ("works on", _WORKS_ON[one.room]),
        ("arises at", meta.origin),
        ("truth", meta.truth),
        ("occurs", _occurs(one)),
        ("source", meta.source),
    ]
    never_with = [f"`{other}`: {why}" for other, why in _apart(one)]
    if never_with:
        rows.append(("not drawn with", "; ".join(never_with)))
    return "\n".join(["| | |", "|---|---|", *(f"| {head} | {_cell(text)} |" for head, text in rows)])


def constants(one: Told) -> str:
    """The table of constants, a row for each strength; a range stands in one column."""
    heads = heads_of(one.name, len(one.levels[0]))
    lines = ["| strength | " + " | ".join(head.text for head in heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for strength, row in enumerate(one.levels):
        values, cells = iter(row), []
        for head in heads:
            held = [f"{next(values):.4g}" for _ in range(head.columns)]
            cells.append(" to ".join(dict.fromkeys(held)))
        note = " (nothing changes)" if strength == 0 else ""
        lines.append(f"| {strength}{note} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def exceptions(one: Told) -> list[str]:
    """Which constants do not go one way from level 1 to 5, and why."""
    if not one.declared:
        return ["From level 1 to level 5 every constant goes one way."]
    columns = [head.text for head in heads_of(one.name, len(one.levels[0])) for _ in range(head.columns)]
    listed = "\n".join(f"- {columns[at]}: {why}." for at, why in sorted(one.declared.items()))
    return [f"Not simply more from level 1 to level 5:\n\n{listed}"]


def contents(perturbations: Sequence[Told]) -> str:
    """The table of all perturbations by origin and modality, with links."""
    lines = ["| arises at | " + " | ".join(_TITLES[room] for room in ROOMS) + " |", "|---" * (len(ROOMS) + 1) + "|"]
    for origin in ORIGINS:
        cells = [
            ", ".join(
                f"[{one.kind}](stress/{one.name}.md)"
                for one in perturbations
                if one.room == room and one.meta.origin == origin
            )
            for room in ROOMS
        ]
        lines.append(f"| {origin} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _shown(one: Told) -> list[str]:
    """The picture with its caption, or a table of sentences."""
    if one.room == "sentences":
        return [_rewritten(one)]
    alt = f"{one.kind} at severities 1 to 5"
    return [f"![{alt}](../images/stress/{one.picture})", textwrap.fill(_caption(one), 120)]


def _caption(one: Told) -> str:
    seed = f"seed {seed_of(one.name)}"
    if one.room == "vision":
        side = side_of(one.name)
        return (
            f"A photograph of {side} x {side} pixels as given and at severities 1 to 5, {seed}; shown is a piece of "
            "it, pixel for pixel. The photograph is scikit-image's `astronaut` (NASA, public domain)."
        )
    if one.room == "sound":
        return (
            f"Spectrograms of a hum, a beat and chirps, as given and at severities 1 to 5, {seed}: the brighter, the "
            "louder, from -96 to -6 dB of a sine of full scale."
        )
    return (
        f"How much later than due the picture (dark) and the sound (orange) are in a video of 10 seconds, at "
        f"severities 1 to 5, {seed}; below 0 is early. On a level line everything runs at its own pace; where the dark "
        "line climbs, the same frame stays on the screen."
    )


def _rewritten(one: Told) -> str:
    """A table of sentences at levels 1, 3 and 5, with the number of places that were changed."""
    seed = seed_of(one.name)
    lines = [f"Three sentences at severities 1, 3 and 5, seed {seed}:", ""]
    lines += ["| severity | sentence | changes |", "|---|---|---|"]
    for sentence in SENTENCES:
        lines.append(f"| given | {_cell(sentence)} | |")
        for level in LEVELS[::2]:
            made = sentences.perturb(one.name, sentence, severity=level, seed=seed, key=sentence)
            lines.append(f"| {level} | {_cell(made.output)} | {len(made.truth.words)} |")
    return "\n".join(lines)


def _occurs(one: Told) -> str:
    """Where it can be, after its own word and the rules of the place."""
    reasons = [(side, presets.why_not(one.name, side)) for side in _SIDES]
    cannot = [f"not {side}: {why}" for side, why in reasons if why]
    if one.meta.occurs:
        return "; ".join([" and ".join(one.meta.occurs), *cannot])
    return "; ".join(cannot) or "everywhere"


def _apart(one: Told) -> Iterator[tuple[str, str]]:
    """What it is never drawn together with, and why; variants of itself are left out."""
    for room in ROOMS:
        for other in full_names(PAPER[room], [room]):
            why = presets.apart(one.name, other)
            if why and not one.kind.startswith(base_of(other)):
                yield other, why


def _marked(text: str) -> str:
    """A docstring as Markdown: code between single marks."""
    return re.sub(r"``(.+?)``", r"`\1`", text)


def _cell(text: str) -> str:
    """Text that may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*")
