"""The text of the page of one perturbation, and of the table of all; what they are shown on."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from auscult.outcome import Undefined
from auscult.stress import negatives, presets, sentences
from auscult.stress.negatives import NegativeStressor
from auscult.stress.perturbation import Constant, Declared, Range
from auscult.stress.recipe_parts import ORIGINS, PAPER, ROOMS, base_of, full_names, room_of
from auscult.testing.negatives import EXAMPLES as EXAMPLES_OF_NEGATIVES

LEVELS: Final = (1, 2, 3, 4, 5)
_SEED: Final = 7
# Drawn both ways: the seed is one whose draw is far from the middle, where hardly anything happens.
_SEEDS: Final[Mapping[str, int]] = MappingProxyType({"sound.gain.v1": 1, "sound.peaking_filter.v1": 1})
_SIDE_PX: Final = 224  # the size that the constants of ImageNet-C were chosen for
# A picture that is no larger than its square of 307 pixels would stay as it is.
_SIDES_PX: Final[Mapping[str, int]] = MappingProxyType({"vision.pixelate_r2bench.v1": 512})
_SUFFIXES: Final[Mapping[str, str]] = MappingProxyType({"vision": ".jpg", "sound": ".png", "timing": ".png"})
_WORKS_ON: Final = {
    "vision": "pictures and clips",
    "sound": "sounds, of any rate and number of channels",
    "sentences": "sentences",
    "timing": "videos with or without sound",
}
_TITLES: Final = {"vision": "pictures", "sound": "sound", "sentences": "sentences", "timing": "timing"}
_PLACES: Final = ("indoors", "outdoors")
_CAPTIONS: Final = {
    "vision": (
        "A photograph of {side} x {side} pixels as given and at severities 1 to 5, seed {seed}; shown is a piece of "
        "it, pixel for pixel. The photograph is scikit-image's `astronaut` (NASA, public domain)."
    ),
    "sound": (
        "Spectrograms of a hum, a beat and chirps, as given and at severities 1 to 5, seed {seed}: the brighter, the "
        "louder, from -96 to -6 dB of a sine of full scale."
    ),
    "timing": (
        "How much later than due the picture (dark) and the sound (orange) are in a video of 10 seconds, at "
        "severities 1 to 5, seed {seed}; below 0 is early. On a level line everything runs at its own pace; where the "
        "dark line climbs, the same frame stays on the screen."
    ),
}
SENTENCES: Final = (
    "the small dog that barks after the horn",
    "Which of the two men on the left is playing the louder guitar?",
    "the woman in the red coat, who starts to sing before the drums come in",
)

_VISION: Final = """import numpy as np

from auscult.stress import vision

picture = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)  # yours: uint8 RGB
made = vision.perturb("{kind}", picture, severity=3, seed=7, key="v1/f3")
assert made.output.shape == picture.shape

again = vision.render("{name}", picture, made.params)  # params are JSON values
assert np.array_equal(again, made.output)
"""

_SOUND: Final = """import numpy as np

from auscult.stress import sound

tone = np.sin(np.arange(32_000) * 0.1).astype(np.float32) / 2  # yours: float32 (samples,) or (channels, samples)
made = sound.perturb("{kind}", tone, rate_hz=32_000, severity=3, seed=7, key="v1")
assert made.output.shape == tone.shape

again = sound.render("{name}", tone, made.params, rate_hz=32_000)  # params are JSON values
assert np.array_equal(again, made.output)
"""

_SENTENCES: Final = """from auscult.stress import sentences

sentence = "the small dog that barks after the horn"
made = sentences.perturb("{kind}", sentence, severity=3, seed=7, key="v1", keep=["dog"])
print(made.output)
for change in made.truth.words:
    print(change.start, repr(change.before), repr(change.after))

assert "dog" in made.output
again = sentences.render("{name}", sentence, made.params)  # params are JSON values
assert again == made.output
"""

_TIMING: Final = """import numpy as np

from auscult.stress import timing

clip = np.zeros((75, 24, 32, 3), np.uint8)  # yours: uint8 RGB (T, H, W, 3)
tone = np.sin(np.arange(48_000) * 0.1).astype(np.float32) / 2
made = timing.perturb("{kind}", clip, tone, rate_fps=25.0, rate_hz=16_000, severity=3, seed=7, key="v1")
print(made.truth.frames[:10], made.truth.offset_s[-1])

again = timing.render("{name}", clip, tone, params_json=made.params, rate_fps=25.0, rate_hz=16_000)
assert np.array_equal(again.clip, made.output.clip) and np.array_equal(again.sound, made.output.sound)
"""

EXAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {"vision": _VISION, "sound": _SOUND, "sentences": _SENTENCES, "timing": _TIMING}
)
"""Lines of Python that perturb something of one's own and render it again."""


def seed_of(name: str) -> int:
    """The seed that a perturbation is shown with."""
    return _SEEDS.get(name, _SEED)


def side_of(name: str) -> int:
    """The size of the square photograph that a perturbation is shown on, in pixels."""
    return _SIDES_PX.get(name, _SIDE_PX)


def picture_of(name: str) -> str:
    """The name of the picture of a perturbation; empty for one of sentences, which has none."""
    suffix = _SUFFIXES.get(room_of(name), "")
    return f"{name}{suffix}" if suffix else ""


def _remarks(stressor: Declared) -> str:
    """Its class's docstring where several stressors share a module, else the module's."""
    own = inspect.cleandoc(type(stressor).__dict__.get("__doc__") or "")
    return own if "\n\n" in own else inspect.getdoc(importlib.import_module(type(stressor).__module__)) or ""


_NEGATIVES: Final = """from auscult.stress import negatives
from auscult.testing.negatives import EXAMPLES

subject = EXAMPLES["{example}"]  # yours: negatives.Subject, a sentence and the objects of its picture
made = negatives.perturb("{kind}", subject, seed=7, key="v1")
print(made.output)
print(made.truth.says)

again = negatives.render("{name}", subject.sentence, made.params)  # params are JSON values
assert again == made.output
"""


def negative_page(one: NegativeStressor) -> str:
    """The page of one kind of negative sentences."""
    first, _, rest = (inspect.getdoc(importlib.import_module(type(one).__module__)) or "").partition("\n\n")
    kind, meta = base_of(one.name), one.meta
    rows = ["| positive | negative | what proves it |", "|---|---|---|"]
    shown = ""
    for name, subject in EXAMPLES_OF_NEGATIVES.items():
        made = negatives.perturb(one.name, subject, seed=_SEED)
        if not isinstance(made, Undefined):
            shown = shown or name
            rows.append(f"| {subject.sentence} | {made.output} | {made.truth.says} |")
    facts_of = {"does": meta.summary, "what for": meta.goal, "truth": meta.truth, "source": meta.source}
    table = "\n".join(["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in facts_of.items())])
    code = _NEGATIVES.format(kind=kind, name=one.name, example=shown)
    parts = [
        f"# {one.name}", _marked(first.replace("\n", " ")), "\n".join(rows), "## What it is", table, "## From Python",
        f"```python\n{code}```", "## From the command line",
        f"```text\nauscult stress negatives INPUT --kind {kind} --out DIR\n```", "## Remarks", _marked(rest),
        "[Negative sentences](../negatives.md)",
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def page(one: Declared) -> str:
    """The page of one perturbation.

    Raises:
        SystemExit: Its constants have no names.
    """
    first, _, rest = _remarks(one).partition("\n\n")
    room, kind = room_of(one.name), base_of(one.name)
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
        f"```python\n{EXAMPLES[room].format(kind=kind, name=one.name)}```",
        "## From the command line",
        f"```text\nauscult stress {room} INPUT --kind {kind} --severity 1,3,5 --out DIR\n```",
    ]
    if rest:
        parts += ["## Remarks", _marked(rest.strip())]
    parts.append("[All perturbations](../stress.md#what-there-is)")
    return "\n\n".join(parts) + "\n"


def facts(one: Declared) -> str:
    """What it says about itself, as a table."""
    meta = one.meta
    rows = [
        ("does", meta.summary),
        ("what for", meta.goal),
        ("works on", _WORKS_ON[room_of(one.name)]),
        ("arises at", meta.origin),
        ("truth", meta.truth),
        ("occurs", _occurs(one)),
        ("source", meta.source),
    ]
    never_with = [f"`{other}`: {why}" for other, why in _apart(one)]
    if never_with:
        rows.append(("not drawn with", "; ".join(never_with)))
    return "\n".join(["| | |", "|---|---|", *(f"| {head} | {_cell(text)} |" for head, text in rows)])


def constants(one: Declared) -> str:
    """The table of constants, a row for each strength; a range stands in one column.

    Raises:
        SystemExit: They have no names.
    """
    if not one.constants:
        raise SystemExit(f"the constants of {one.name} have no names; declare each as a Constant or a Range")
    heads = [_head(constant) for constant in one.constants]
    lines = ["| strength | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for strength, rows in enumerate(zip(*(constant.rows for constant in one.constants), strict=True)):
        cells = [" to ".join(dict.fromkeys(f"{value:.4g}" for value in row)) for row in rows]
        note = " (nothing changes)" if strength == 0 else ""
        lines.append(f"| {strength}{note} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _head(constant: Constant | Range) -> str:
    return f"{constant.name}, {constant.unit}" if constant.unit else constant.name


def exceptions(one: Declared) -> list[str]:
    """Which constants do not go one way from level 1 to 5, and why."""
    listed = [f"- {_head(constant)}: {constant.exception}." for constant in one.constants if constant.exception]
    if not listed:
        return ["From level 1 to level 5 every constant goes one way."]
    return ["Not simply more from level 1 to level 5:\n\n" + "\n".join(listed)]


def contents(perturbations: Sequence[Declared]) -> str:
    """The table of all perturbations by origin and modality, with links."""
    lines = ["| arises at | " + " | ".join(_TITLES[room] for room in ROOMS) + " |", "|---" * (len(ROOMS) + 1) + "|"]
    for origin in ORIGINS:
        cells = [
            ", ".join(
                f"[{base_of(one.name)}](stress/{one.name}.md)"
                for one in perturbations
                if room_of(one.name) == room and one.meta.origin == origin
            )
            for room in ROOMS
        ]
        lines.append(f"| {origin} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _shown(one: Declared) -> list[str]:
    """The picture with its caption, or a table of sentences."""
    if room_of(one.name) == "sentences":
        return [_rewritten(one)]
    alt = f"{base_of(one.name)} at severities 1 to 5"
    caption = _CAPTIONS[room_of(one.name)].format(side=side_of(one.name), seed=seed_of(one.name))
    return [f"![{alt}](../images/stress/{picture_of(one.name)})", textwrap.fill(caption, 120)]


def _rewritten(one: Declared) -> str:
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


def _occurs(one: Declared) -> str:
    """Where it can be, after its own word and the rules of the place."""
    reasons = [(side, presets.why_not(one.name, side)) for side in _PLACES]
    cannot = [f"not {side}: {why}" for side, why in reasons if why]
    if one.meta.occurs:
        return "; ".join([" and ".join(one.meta.occurs), *cannot])
    return "; ".join(cannot) or "everywhere"


def _apart(one: Declared) -> Iterator[tuple[str, str]]:
    """What it is never drawn together with, and why; variants of itself are left out."""
    for room in ROOMS:
        for other in full_names(PAPER[room], [room]):
            why = presets.apart(one.name, other)
            if why and not base_of(one.name).startswith(base_of(other)):
                yield other, why


def _marked(text: str) -> str:
    """A docstring as Markdown: code between single marks."""
    return re.sub(r"``(.+?)``", r"`\1`", text)


def _cell(text: str) -> str:
    """Text that may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("*", "\\*")
