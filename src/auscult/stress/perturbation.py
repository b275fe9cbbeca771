"""What perturbations of every room have, whatever they perturb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from auscult.stress.params import Params
from auscult.stress.strength import Rows
from auscult.types import Metadata

P = TypeVar("P", bound=Params)


class Perturbation(Protocol[P]):
    """What a perturbation says about itself.

    Attributes:
        name: The registry's full name, ``vision.fog.v1``.
        meta: What it says about itself; ``origin`` names where it arises.
        params: The class of its parameters.
        levels: Its constants: what changes nothing, then levels 1 to 5.
        declared: Columns of ``levels`` that do not go one way from level 1 to 5, each with the reason in words.
    """

    name: str
    meta: Metadata
    params: type[P]
    levels: Rows
    declared: Mapping[int, str]
