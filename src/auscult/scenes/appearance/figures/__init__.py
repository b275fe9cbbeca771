"""The categories of generated things: what parts they have and how one differs from the next.

Each category is a function from a random generator, which stands for the instance, to parts; bodies cover most of a
thing, so that its colour word is what one sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from auscult.scenes.appearance.drawing import PaintedOutline
from auscult.scenes.appearance.figures.living import FIGURES as LIVING
from auscult.scenes.appearance.figures.things import FIGURES as THINGS

Figure = Callable[[np.random.Generator], Sequence[PaintedOutline]]

FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(dict(sorted((LIVING | THINGS).items())))
