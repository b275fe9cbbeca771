"""What a folder has been asked so far, and the key under which every answer is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeAlias

from auscult.errors import RecordError
from auscult.models.spec import ModelSpec
from auscult.record.digest import digest_json
from auscult.record.folder import RunFolder
from auscult.record.lines import load
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.conditions import Condition

FILE = "asked.json"

Place: TypeAlias = tuple[str, str, str]
"""Model, condition and case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Models and conditions of a folder.

    Attributes:
        models: Model to revision, those asked for now first.
        conditions: ``clean`` first, then in the order in which they were first asked for.
        sources: Model to where it was found, so that another of the same name gets another.
    """

    models: Mapping[str, str]
    conditions: tuple[Condition, ...]
    sources: Mapping[str, str] = field(default_factory=dict)

    def places(self, cases: Sequence[R2Case], *, seed: int) -> dict[str, Place]:
        """The key of every answer that is valid, to (model, condition, case)."""
        return {
            key_of(case, condition, model=model, revision=revision, seed=seed): (model, condition.name, case.id)
            for model, revision in self.models.items()
            for case, condition in _each(cases, self.conditions)
        }


def _each(cases: Sequence[R2Case], conditions: Sequence[Condition]) -> Iterator[tuple[R2Case, Condition]]:
    return ((case, condition) for case in cases for condition in conditions)


def key_of(case: R2Case, condition: Condition, *, model: str, revision: str, seed: int) -> str:
    """Under what an answer is stored: everything that it follows from."""
    # The id also where nothing is drawn: one sentence may ask for two objects of a picture.
    drawn = [case.id] if condition.level == "clean" else [seed, case.id, condition.as_json()]
    return digest_json([case.digest, drawn, model, revision])


def told_apart(run: RunFolder, models: Sequence[ModelSpec]) -> tuple[ModelSpec, ...]:
    """The models with names that none of them shares, and that the folder knows them by.

    A model from where an earlier one of its name was found, or with its code, is that one, changed or not; another
    gets a number, ``name~2``.

    Raises:
        RecordError: The folder's own list is damaged.
    """
    before = _earlier(run)
    found: list[ModelSpec] = []
    for one in models:
        taken = {other.name for other in found}
        alike = [name for name in before.models if _base(name) == one.name and name not in taken]
        same = [name for name in alike if before.sources.get(name, _source(one)) == _source(one)]
        same += [name for name in alike if before.models[name] == one.revision]
        free = (name for name in _numbered(one.name) if name not in taken and name not in before.models)
        found.append(replace(one, name=same[0] if same else next(free)))
    return tuple(found)


def _source(model: ModelSpec) -> str:
    return "|".join((model.kind, model.target, model.function, str(model.weights or "")))


def _base(name: str) -> str:
    base, mark, number = name.rpartition("~")
    return base if mark and number.isdigit() else name


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        yield f"{name}~{number}"


def with_earlier(run: RunFolder, models: Sequence[ModelSpec], conditions: Sequence[Condition]) -> Asked:
    """What is asked now together with what the folder was asked before; written down.

    Raises:
        RecordError: The folder's own list is damaged.
    """
    before = _earlier(run)
    listed = {one.name: one.revision for one in models}
    listed.update({name: revision for name, revision in before.models.items() if name not in listed})
    known = {one.name: one for one in (*conditions, *before.conditions)}
    order = dict.fromkeys([one.name for one in before.conditions] + [one.name for one in conditions])
    sources = {**before.sources, **{one.name: _source(one) for one in models}}
    asked = Asked(models=listed, conditions=tuple(known[name] for name in order), sources=sources)
    content = {
        "models": dict(listed),
        "conditions": [one.as_json() for one in asked.conditions],
        "sources": {name: sources[name] for name in listed if name in sources},
    }
    run.write_json(FILE, content)
    return asked


def _earlier(run: RunFolder) -> Asked:
    path = run.path / FILE
    if not path.is_file():
        return Asked(models={}, conditions=())
    try:
        content: Any = load(path.read_bytes())
        models = {str(name): str(revision) for name, revision in content["models"].items()}
        sources = {str(name): str(source) for name, source in content.get("sources", {}).items()}
        conditions = tuple(Condition(**one) for one in content["conditions"])
        return Asked(models=models, conditions=conditions, sources=sources)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RecordError(
            f"the list of what was asked is damaged: {error}", hint="use --overwrite to begin anew", path=path
        ) from error
