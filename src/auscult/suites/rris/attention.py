"""Where a model looks: attention to blank and to memory tokens, in pictures as in the paper's Fig. 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from auscult.arrays.overlap import iou
from auscult.jobs.predict import Reader
from auscult.media.frames import encode_jpeg
from auscult.models.answers import masks_of
from auscult.models.base import AttentiveModel
from auscult.models.spec import ModelSpec
from auscult.report.overlay import heated
from auscult.report.page import Example, Section
from auscult.report.strip import StripCell, StripRow, strip
from auscult.suites.core.runner import SuiteRunner
from auscult.suites.rris.cases import RrisCase, RrisPrepared
from auscult.suites.rris.worst import asked_again
from auscult.types import Query
from auscult.work.pool import Task

PICTURES: Final = 4
"""Of each model, each with a sentence about what is there and one about what is not."""
_LEAD: Final = (
    "Where {} looks: the share of attention that each place gives to blank tokens, which know no word, and to memory "
    "tokens, which read the sentence; the two add up to 1. Colours run from each map's lowest value, dark, to its "
    "highest, as printed below it. The pictures are taken blindly, in the order of their hashes."
)


def attention_sections(runner: SuiteRunner[RrisCase, RrisPrepared], specs: Mapping[str, ModelSpec]) -> list[Section]:
    """Draw the attention of each model of this command that has some; what cannot be drawn is left out."""
    found: list[Section] = []
    cases = _chosen(runner.cases)
    for spec in (one for one in specs.values() if one.attends):
        drawn: dict[str, Example] = {}
        tasks = [Task(case.id, case) for case in cases]
        for key, jpeg in asked_again(partial(_AttentionDrawer, spec), tasks, runner.how):
            if jpeg:
                case = next(one for one in cases if one.id == key)
                file = f"figures/attention/{case.digest[:16]}-{len(found)}.jpg"
                runner.run.write_bytes(file, jpeg, durable=False)
                drawn[case.id] = Example(
                    title=case.kind or "it is there", jpeg=jpeg, text=case.text, id=case.id, facts=(),
                    shows=f"the mask of {spec.name} and maps of its attention", broad=True, file=file,
                )  # fmt: skip
        if drawn:
            examples = tuple(drawn[case.id] for case in cases if case.id in drawn)
            name = f"attention-{len(found) + 1}"
            found.append(Section(name=name, title="Attention", lead=_LEAD.format(spec.name), examples=examples))
    return found


def _chosen(cases: Sequence[RrisCase]) -> list[RrisCase]:
    """Of some pictures a positive sentence and a negative one, of one reference where there is such a pair."""
    pairs: dict[object, dict[bool, RrisCase]] = {}
    for case in sorted(cases, key=lambda one: one.digest):
        pairs.setdefault((case.frame, case.reference), {}).setdefault(case.target is not None, case)
    both = [pair for pair in pairs.values() if len(pair) == 2]
    by_frame = {pair[True].frame: pair for pair in reversed(both)}
    first = sorted(by_frame.values(), key=lambda pair: pair[True].digest)[:PICTURES]
    return [pair[there] for pair in first for there in (True, False)]


class _AttentionDrawer:
    """Draws sentences in one process."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model, self._reader = spec.registered(), Reader()

    def __call__(self, case: RrisCase) -> bytes:
        """The mask and a row of maps for each kind of token, as JPEG; empty where the model gives none."""
        if not isinstance(self._model, AttentiveModel):
            return b""
        frame, truth = self._reader.frames(case.frames, case.size)[0], case.mask()
        maps = self._model.attention(frame, case.text)
        mask = masks_of(self._model.predict(frame[None], Query(case.text)), shape=(1, *case.size))[0][0]
        score = None if truth is None else iou(mask, truth)
        why = f"{100 * mask.mean():.1f} % of the picture" if truth is None else ""
        first = StripCell(frame=frame, prediction=mask, truth=truth, score=score, why=why, over="answer")
        rows = []
        for name, layers in maps.items():
            cells = [
                StripCell(
                    frame=heated(frame, one), prediction=None, over=layer, why=f"{one.min():.2f} to {one.max():.2f}"
                )
                for layer, one in layers.items()
            ]
            rows.append(StripRow(name=name, cells=(first, *cells)))
            first = StripCell(frame=frame, prediction=None, why="picture")
        return encode_jpeg(strip(rows, width_px=1200), quality=85) if rows else b""
