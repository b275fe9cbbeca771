"""Contract checks for registered components, as functions: for the project's own tests and those of plug-ins.

A check takes a registry name and an example and raises ``ContractBroken`` with what was expected.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

from auscult.errors import InputError
from auscult.types import Metadata


class ContractBroken(AssertionError):
    """A registered component breaks its contract; the message says which law and how."""


def require(kept: object, law: str) -> None:
    """Raise unless a law is kept.

    Raises:
        ContractBroken: ``kept`` is false.
    """
    if not kept:
        raise ContractBroken(law)


def require_described(name: str, stressor: object) -> None:
    """Raise unless a stressor has its registry name and complete metadata of one line each."""
    own_name, meta = getattr(stressor, "name", None), getattr(stressor, "meta", None)
    require(own_name == name, f"its name is {own_name!r}, the registry's {name!r}")
    require(isinstance(meta, Metadata), "meta is a Metadata")
    for key in ("summary", "goal", "source", "truth"):
        text = getattr(meta, key)
        require(text and "\n" not in text, f"meta.{key} is one line of text")
    require(getattr(meta, "higher_is_better", None) is None, "a stressor has no direction")


def require_frozen(params: Any) -> None:
    """Raise unless what was chosen is a frozen dataclass that JSON gives back."""
    frozen = dataclasses.is_dataclass(params) and getattr(type(params), "__dataclass_params__").frozen  # noqa: B009
    require(frozen, "parameters are a frozen dataclass")
    again = type(params).from_json(json.loads(json.dumps(params.as_json())))
    require(again == params, "from_json undoes as_json")


def require_refused(render: Callable[[Any], object], hostile: Sequence[Any]) -> None:
    """Raise unless parameters that are not a stressor's own are an ``InputError``, nothing else."""
    for params in (None, [], "x", {"__class__": "os.system"}, *hostile):
        try:
            render(params)
        except InputError:
            continue
        raise ContractBroken(f"parameters {params!r} were not refused")
