"""What a folder has asked its models so far, the key of every answer, and which requests failed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.errors import RecordError
from auscult.models.spec import ModelSpec
from auscult.record.codec import load
from auscult.record.digest import digest_json
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.conditions import CLEAN, Condition, unique_conditions

UNANSWERED: Final = "unanswered.jsonl"
"""A row for every question that got no answer, or one that could not be scored; a later answer goes before it."""


def failed_keys(folder: Path) -> frozenset[str]:
    """Keys of a record's failed requests."""
    path = folder / UNANSWERED
    return frozenset(str(row.get("key")) for row in read_lines(path)) if path.is_file() else frozenset()


def failed_request_row(key: str, place: tuple[str, str, str]) -> dict[str, Any]:
    """The row of a question of model, condition and case."""
    model, condition, case = place
    return {"key": key, "model": model, "condition": condition, "id": case}


ASKED = "asked.json"

ResultKey: TypeAlias = tuple[str, str, str]
"""Model, condition and case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLog:
    """Models and conditions of a folder.

    Attributes:
        models: Model to revision, those asked for now first.
        conditions: ``clean`` first, then in the order in which they were first asked for.
        sources: Model to where it was found, so that another of the same name gets another.
        asked_of: Model to the names of the conditions that it was asked under, or was to be.
        failed: Keys of the failed requests.
    """

    models: Mapping[str, str]
    conditions: tuple[Condition, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    asked_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()

    def places(self, cases: Sequence[R2Case], *, seed: int) -> dict[str, ResultKey]:
        """The key of every answer that is valid, to (model, condition, case)."""
        return {
            key_of(case, condition, model=model, revision=revision, seed=seed): (model, condition.name, case.id)
            for model, revision in self.models.items()
            for case, condition in _each(cases, self.conditions)
        }

    def without(self, places: Mapping[str, ResultKey], answered: Collection[str]) -> Iterator[ResultKey]:
        """Failed requests that have nothing under their key, whichever command made them."""
        for key, place in self._lacking(places, answered):
            if key in self.failed:
                yield place

    def waiting(self, places: Mapping[str, ResultKey], answered: Collection[str]) -> Iterator[ResultKey]:
        """What was to be asked and never was: a command was stopped, or the data are others than then."""
        for key, place in self._lacking(places, answered):
            if key not in self.failed:
                yield place

    def _lacking(self, places: Mapping[str, ResultKey], answered: Collection[str]) -> Iterator[tuple[str, ResultKey]]:
        for key, place in places.items():
            if key not in answered and place[1] in self.asked_of.get(place[0], ()):
                yield key, place


def _each(cases: Sequence[R2Case], conditions: Sequence[Condition]) -> Iterator[tuple[R2Case, Condition]]:
    return ((case, condition) for case in cases for condition in conditions)


def key_of(case: R2Case, condition: Condition, *, model: str, revision: str, seed: int) -> str:
    """Under what an answer is stored: everything that it follows from."""
    # The id also where nothing is drawn: one sentence may ask for two objects of a picture.
    drawn = [case.id] if condition.level == "clean" else [seed, case.id, condition.as_json()]
    return digest_json([case.digest, drawn, model, revision])


def assign_unique_names(run: RunFolder, models: Sequence[ModelSpec]) -> tuple[ModelSpec, ...]:
    """The models with names that none of them shares, and that the folder knows them by.

    A model from where an earlier one of its name was found, or with its code, is that one, changed or not; another
    gets a number, ``name~2``.
    """
    before = load_log(run)
    found: list[ModelSpec] = []
    for one in models:
        taken = {other.name for other in found}
        alike = [name for name in before.models if base_name(name) == one.name and name not in taken]
        same = [name for name in alike if before.sources.get(name, _source(one)) == _source(one)]
        same += [name for name in alike if before.models[name] == one.revision]
        free = (name for name in _numbered(one.name) if name not in taken and name not in before.models)
        found.append(replace(one, name=same[0] if same else next(free)))
    return tuple(found)


def _source(model: ModelSpec) -> str:
    return "|".join((model.kind, model.target, model.function, str(model.weights or "")))


def base_name(name: str) -> str:
    """A model's name without the number that told it from another of its name, as in ``name~2``."""
    base, mark, number = name.rpartition("~")
    return base if mark and number.isdigit() else name


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}~{number}"


def with_earlier(
    run: RunFolder, models: Sequence[ModelSpec], conditions: Sequence[Condition], *, floor: Sequence[ModelSpec] = ()
) -> RequestLog:
    """What is asked now together with what the folder was asked before; nothing is written."""
    before = load_log(run)
    listed = {one.name: one.revision for one in (*models, *floor)}
    listed.update({name: revision for name, revision in before.models.items() if name not in listed})
    known = {one.name: one for one in unique_conditions((*conditions, *before.conditions))}
    order = dict.fromkeys([one.name for one in before.conditions] + [one.name for one in conditions])
    mine = {name: told for name, told in before.asked_of.items() if before.models.get(name) == listed.get(name)}
    for name, told in conditions_now(models, conditions, before=before, floor=floor).items():
        mine[name] = tuple(dict.fromkeys((*mine.get(name, ()), *told)))
    return RequestLog(
        models=listed,
        conditions=tuple(known[name] for name in order if name in known),
        sources={**before.sources, **{one.name: _source(one) for one in (*models, *floor)}},
        asked_of=mine,
        failed=before.failed,
    )


def conditions_now(
    models: Sequence[ModelSpec], conditions: Sequence[Condition], *, before: RequestLog, floor: Sequence[ModelSpec] = ()
) -> dict[str, tuple[str, ...]]:
    """Model to the names of the conditions that a command asks it under."""
    found = {one.name: (CLEAN,) for one in floor}
    return found | {one.name: tuple(each.name for each in conditions_for(one, conditions, before)) for one in models}


def conditions_for(model: ModelSpec, conditions: Sequence[Condition], before: RequestLog) -> tuple[Condition, ...]:
    """The conditions that a model is asked under by a command.

    Those asked for; of a folder of predictions also all that it was asked under before. Its revision is that of the
    whole folder, which changes with every file that is added, and to read it again costs little.
    """
    if model.kind != "predictions":
        return tuple(conditions)
    again = before.asked_of.get(model.name, ())
    known = {one.name: one for one in (*conditions, *(one for one in before.conditions if one.name in again))}
    return tuple(known.values())


def save_log(run: RunFolder, asked: RequestLog) -> None:
    """Write down what was asked."""
    content = {
        "models": dict(asked.models),
        "conditions": [one.as_json() for one in asked.conditions],
        "sources": {name: asked.sources[name] for name in asked.models if name in asked.sources},
        "asked_of": {name: list(asked.asked_of[name]) for name in asked.models if name in asked.asked_of},
    }
    run.write_json(ASKED, content)


def forget_models(run: RunFolder, asked: RequestLog, before: RequestLog, *, names: Collection[str]) -> None:
    """Write down that models that could not be loaded were asked nothing after all.

    A misspelled name would otherwise stay in the folder, with failures that no command mends.
    """
    kept = [name for name in asked.models if name not in names]
    if not kept and not before.models:
        run.remove(ASKED)
        return
    order = (*kept, *(name for name in before.models if name not in kept))
    save_log(
        run,
        replace(
            asked,
            models={name: (asked if name in kept else before).models[name] for name in order},
            sources={**before.sources, **{name: asked.sources[name] for name in kept if name in asked.sources}},
            asked_of={
                **before.asked_of,
                **{name: asked.asked_of[name] for name in kept if name in asked.asked_of},
            },
        ),
    )


def load_log(run: RunFolder) -> RequestLog:
    """What the folder was asked so far; nothing where it is new."""
    path = run.path / ASKED
    if not path.is_file():
        return RequestLog(models={}, conditions=(), failed=failed_keys(run.path))
    try:
        content: Any = load(path.read_bytes())
        models = {str(name): str(revision) for name, revision in content["models"].items()}
        sources = {str(name): str(source) for name, source in content.get("sources", {}).items()}
        conditions = tuple(Condition(**one) for one in content["conditions"])
        return RequestLog(
            models=models,
            conditions=unique_conditions(conditions),
            sources=sources,
            asked_of=conditions_by_model(content),
            failed=failed_keys(run.path),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RecordError(
            f"the list of what was asked is damaged: {error}", hint="use --overwrite to begin anew", path=path
        ) from error


def conditions_by_model(content: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Model to the names of its conditions, out of the list as JSON."""
    return {str(model): tuple(map(str, told)) for model, told in content["asked_of"].items()}
