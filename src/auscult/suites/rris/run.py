"""``auscult run rris``: ask models about positive and negative sentences, score, write tables, pictures and a page.

The files are those of ``core.runner`` and ``core.page``, and ``scenes/`` if scenes are the source. An added model
computes only its own results.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from auscult.errors import UsageError
from auscult.jobs.predict import MediaReader
from auscult.jobs.runner import Progress, Silent
from auscult.models.adapters import BY_SENTENCE
from auscult.models.spec import model_spec, named_models
from auscult.suites.core.command import SuiteCommand
from auscult.suites.registered import SuiteRun, refuse_idle
from auscult.suites.rris import RrisOptions
from auscult.suites.rris.cases import NO_KIND, RrisCase, RrisPrepared, cases_of, listing_of
from auscult.suites.rris.pictures import attention_sections, worst_sections
from auscult.suites.rris.results import ALWAYS_RUN, TASK
from auscult.suites.rris.scoring import Scorer
from auscult.types import Instance


def run_rris(options: RrisOptions, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; requests of earlier commands are not repeated."""
    options.require_models()
    refuse_idle(options, {})
    listener = progress or Silent()
    command = SuiteCommand[RrisCase](
        options=options,
        task=TASK,
        models=named_models(options.models, task="ris", does=BY_SENTENCE),
        baselines=list(map(model_spec, ALWAYS_RUN)),
        may_change=frozenset({"kind"}),
        data=partial(listing_of, options, listener),
        progress=listener,
    )
    with command.opened() as run:
        instances = _chosen(options, command.listing.instances)
        listener.stage("cases", len(instances))
        runner = command.runner(
            run,
            cases_of(instances, step=listener.step),
            nothing=f"the input holds no sentence about a picture (read as {command.listing.layout})",
            prepare=RrisPrepared,
            scorer=Scorer,
        )
        done = command.ask(runner, looked_up=lambda case, condition: RrisPrepared(case, condition).ask(MediaReader()))
        specs = {model.name: model for model in command.models if model.name not in runner.unloaded}
        pictures = [*worst_sections(runner, done, specs), *attention_sections(runner, specs)]
        return command.write(runner, done, pictures=pictures)


def _chosen(options: RrisOptions, instances: Sequence[Instance]) -> list[Instance]:
    """The instances of ``--only``; with ``--kind`` the positive ones and those of these kinds."""
    kinds = dict.fromkeys(instance.negation or NO_KIND for instance in instances if instance.absent)
    for kind in options.kinds:
        if kind not in kinds:
            raise UsageError(
                f"the data have no negative sentence of kind {kind[:40]!r}",
                expected=f"some of: {', '.join(kinds)}" if kinds else "no --kind: the data have no negative sentence",
            )
    selected = options.chosen(instances, lambda one: (one.id, one.clip))
    return [
        instance
        for instance in selected
        if not (options.kinds and instance.absent) or (instance.negation or NO_KIND) in options.kinds
    ]
