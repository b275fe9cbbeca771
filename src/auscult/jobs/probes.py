"""Sanity probes: verdicts of a judge on obvious masks of generated scenes.

For one named object of each scene four candidates are judged: its true mask (``perfect``), its complement
(``inverted``), the mask of another object (``other``), and an empty one (``empty``). A judge that uses picture and text
gives the true mask the highest IoU; one that does not is right by chance in a third of the scenes.

A chat judge has no card, nor has a network from a folder without one: the probes measure a provisional card, before the
first use in a record, and it is stored there. It shows whether a judge uses its input, not how good it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from auscult.errors import AuscultError, ErrorRecord
from auscult.jobs.judges import JudgeAsking, JudgeSpec, load_judge
from auscult.jobs.runner import Indivisible, Result, ResultWriter, Workers
from auscult.judge.cards import Card, page
from auscult.judge.cards import Result as CardResult
from auscult.record.lines import read_lines
from auscult.scenes.draw import Stage
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.splits import GENERATED, divide
from auscult.score.stats.few_clusters import lower_bound, upper_bound
from auscult.types import Case, MaskJudge, Prediction, Query, Verdict

Probe = Literal["perfect", "inverted", "other", "empty"]
PROBES: Final[tuple[Probe, ...]] = ("perfect", "inverted", "other", "empty")
RIGHT: Final[Mapping[Probe, str]] = {
    "perfect": "perfect",
    "inverted": "full_neg",
    "other": "full_neg",
    "empty": "empty",
}
"""The right type of each probe."""
SCENES: Final = 8
CHANCE: Final = 1 / 3
ROWS, CARD, CARD_PAGE = "probes.jsonl", "judge_card.json", "judge_card.md"

_SEED: Final = 20_260_101
_SIZE: Final = (288, 512)
_LEAST_SHARE: Final = 0.01
_FIRST: Final = "true_mask_first"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProbedScene:
    """A frame, a sentence for one of its objects, and the candidates."""

    frame: np.ndarray[Any, np.dtype[np.uint8]]  # uint8 RGB (H, W, 3)
    text: str
    masks: Mapping[Probe, np.ndarray[Any, np.dtype[np.bool_]]]  # bool (H, W)


def probed_scene(number: int) -> ProbedScene:
    """Scene ``number``, from 0: always the same."""
    shelves = divide(GENERATED, wanted=("test_s",))
    options = SceneOptions(size=_SIZE, seconds=3.0, objects=(2, 4))
    for attempt in range(100):  # until colour and kind name one object, and another is visible
        plan = choose(_SEED, 100 * number + attempt, assets=GENERATED, shelves=shelves, options=options)
        shot = Stage(plan, GENERATED.looks).at(plan.seconds / 2)
        names = [f"{item.look.colour} {item.look.category}" for item in plan.objects]
        visible = [index for index, mask in enumerate(shot.visible) if mask.mean() >= _LEAST_SHARE]
        unique = [index for index in visible if names.count(names[index]) == 1]
        if unique and len(visible) > 1:
            target = unique[0]
            other = next(index for index in visible if index != target)
            true = shot.visible[target]
            masks: dict[Probe, Any] = {
                "perfect": true,
                "inverted": ~true,
                "other": shot.visible[other],
                "empty": np.zeros_like(true),
            }
            return ProbedScene(frame=shot.frame, text=f"the {names[target]}", masks=masks)
    raise AuscultError(f"no scene could be drawn for probe {number}", hint="this is a fault of auscult: report it")


def ask_probes(judge: MaskJudge, number: int) -> list[dict[str, Any]]:
    """The verdicts on the candidates of a scene: a row for each."""
    scene = probed_scene(number)
    rows = []
    for probe, mask in scene.masks.items():
        case = Case(id=f"{number}", frame=scene.frame, query=Query(scene.text))
        verdict: Verdict = judge(case, Prediction(mask))
        rows.append({
            "id": f"{number}/{probe}", "scene": number, "probe": probe, "text": scene.text,
            "iou": verdict.iou, "defect": verdict.defect, "rationale": verdict.rationale,
            **({"usage": verdict.usage} if verdict.usage else {}),
        })  # fmt: skip
    return rows


@dataclass(frozen=True, slots=True)
class _Task(Indivisible):
    number: int

    @property
    def key(self) -> str:
        return f"probe {self.number}"

    def failed(self, error: ErrorRecord) -> Sequence[Mapping[str, Any]]:
        return [{"id": None, "stage": "probe", "path": None, "line": None, "error": f"{self.key}: {error.error}",
                 "expected": error.expected, "hint": error.hint}]  # fmt: skip


class _Prober:
    """Asks a judge about scenes."""

    def __init__(self, judge: str, asking: JudgeAsking) -> None:
        self._judge = load_judge(judge, asking=asking)

    def __call__(self, task: _Task) -> list[Result]:
        return [Result(id=task.key, rows={ROWS: ask_probes(self._judge, task.number)})]

    def close(self) -> None:
        """Release the judge."""
        if callable(close := getattr(self._judge, "close", None)):
            close()


def measure_probes(judge: JudgeSpec, asking: JudgeAsking, *, writer: ResultWriter, limits: Mapping[str, Any]) -> None:
    """Ask a judge about the scenes missing in the record, and write its provisional card there.

    ``limits`` are those of ``Workers``. A failed scene is left out, and tried again by the same command.
    """
    run = writer.run
    done = {row.get("scene") for row in run.lines(ROWS)}
    tasks = [_Task(number) for number in range(SCENES) if number not in done]
    writer.progress.stage("probing the judge", len(tasks))
    make: Callable[[], Callable[[_Task], Sequence[Result]]] = partial(_Prober, judge.given, asking)
    writer.keep_all(Workers(make=make, stage="probe", threads=judge.connections, **limits), tasks)
    card = card_from(run.lines(ROWS), judge=judge.name)
    if card is not None:
        run.write_json(CARD, card.as_json())
        run.write_text(CARD_PAGE, page(card, made_by="auscult audit"))


def card_from(rows: Sequence[Mapping[str, Any]], *, judge: str) -> Card | None:
    """The provisional card from the rows of ``probes.jsonl``; None without one."""
    scenes: dict[int, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        scenes.setdefault(row["scene"], {})[row["probe"]] = row
    if not scenes:
        return None
    counts = Counter[str]()
    for by_probe in scenes.values():
        iou = {name: -1.0 if by_probe[name]["iou"] is None else float(by_probe[name]["iou"]) for name in PROBES}
        counts[_FIRST] += iou["perfect"] > max(iou["inverted"], iou["other"])
        counts["above_inverted"] += iou["perfect"] > iou["inverted"]
        counts["above_other"] += iou["perfect"] > iou["other"]
        for name in PROBES:
            counts[f"type.{name}"] += by_probe[name]["defect"] == RIGHT[name]
    n = len(scenes)
    chances = {_FIRST: CHANCE, "above_inverted": 0.5, "above_other": 0.5}
    results = [_share(count, n, row=judge, metric=name) for name, count in counts.items()]
    by_chance = [replace(_share(0, n, row="by chance", metric=name), value=round(value, 4), low=None, high=None)
                 for name, value in chances.items()]  # fmt: skip
    return Card(
        judge=judge,
        summary="Provisional: whether the judge looks at all, from a few generated scenes. It says nothing of how "
        "good the judge is on your masks.",
        data=(f"{n} generated scenes, split test_s, one named object each; nothing was fitted to them.",),
        split=("Nothing was trained or chosen.",),
        sets={"probes": "the true mask, all but it, another object's mask, an empty mask"},
        metrics={
            _FIRST: "share of scenes where the true mask has the highest estimated IoU; a reply without one is lowest",
            "above_inverted": "the same against all but the object alone",
            "above_other": "the same against another object's mask alone",
            "type": "share of scenes where the type is right: perfect, full_neg, full_neg, empty (by rule)",
        },
        seed=_SEED,
        not_for=("Comparing judges, and any claim on real masks: measure those with `auscult run mqa`.",),
        results=(*results, *by_chance),
    )


def _share(count: int, n: int, *, row: str, metric: str) -> CardResult:
    low, high = (round(bound(count, n, confidence=0.975), 4) for bound in (lower_bound, upper_bound))
    value = round(count / n, 4)
    return CardResult(set="probes", row=row, metric=metric, value=value, low=low, high=high, n=n, clusters=n)


def chance_alarms(folder: Path) -> tuple[str, ...]:
    """A warning if the probed judge of a record is not above chance.

    Above chance is a share whose one-sided 95 % lower bound is above that of a judge that does not use its input.
    """
    card = card_from(list(read_lines(folder / ROWS)), judge="")
    if card is None:
        return ()
    shares = {result.metric: result for result in card.results if not result.row}
    n = shares[_FIRST].n
    first, inverted = (round((shares[name].value or 0.0) * n) for name in (_FIRST, "above_inverted"))
    if lower_bound(first, n) > CHANCE:
        return ()
    counted = f"of {n} generated scenes it gave the true mask the highest IoU in {first}, and one that does not look "
    counted += f"does so in {n * CHANCE:.1f} on average; what it said is in {ROWS}."
    if lower_bound(inverted, n) > 0.5:
        return (f"This judge does not tell the named object from another: {counted}",)
    return (f"This judge is not above chance, and its verdicts are not to be used: {counted}",)
