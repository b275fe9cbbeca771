"""From a model name on the command line to a loaded model.

=============================== =====================================================================
``flow``, ``classical.flow.v1`` a registered model
``clipseg@DIR``                 a registered model with the weights of a folder
``FILE.py:NAME``                a function of a file, ``predict(frames, query, *, sound, ...) -> masks``
``package.module:NAME``         a function of an installed module
``predictions:DIR``             masks that were predicted elsewhere
``command:python model.py``     a program that reads and writes lines of JSON
``tgs:OMNI+MODEL``              an omni model that says what is meant, and a model that segments that
=============================== =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterable

from auscult.models.adapters import TGS, ModelSpec, for_task, plain_spec
from auscult.models.base import USUAL_ENDPOINT, EndpointChoice, ModelTask


def model_spec(given: str, *, endpoint: EndpointChoice = USUAL_ENDPOINT) -> ModelSpec:
    """Parse a model name; nothing of the model is loaded but its registration."""
    if given.strip().startswith(TGS):
        from auscult.models.named_objects import tgs_spec  # an agent needs what asks omni models

        return tgs_spec(given.strip(), endpoint=endpoint)
    return plain_spec(given)


def named_models(
    names: Iterable[str], *, task: ModelTask, does: str, endpoint: EndpointChoice = USUAL_ENDPOINT
) -> tuple[ModelSpec, ...]:
    """What ``--model`` names, without duplicates of other spelling; an error where one cannot be asked for a task.

    ``does`` says the task in words, such as ``BY_SENTENCE``.
    """
    models: dict[tuple[str, ...], ModelSpec] = {}
    for name in dict.fromkeys(names):
        model = for_task(model_spec(name, endpoint=endpoint), task=task, does=does)
        models.setdefault((model.kind, model.target, model.function, str(model.weights or ""), model.revision), model)
    return tuple(models.values())
