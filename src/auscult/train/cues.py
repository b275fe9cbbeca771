"""The recipe of `masks.cues.v1`: fit on some photographs and sequences, calibrate on others, measure on the rest.

One command makes everything that ships: coefficients, card, page::

    auscult train cues --data DIR --out DIR --seed 0
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import OutputError
from auscult.jobs.progress import Progress, Silent
from auscult.judge.cards import Result, page
from auscult.judge.masks.cues import JUDGE
from auscult.judge.masks.cues.model import ARBITRARY, Coefficients, from_json, load_coefficients, to_json
from auscult.train import cards, material, numbers
from auscult.train.regressions import fitted
from auscult.train.split import Part, committed
from auscult.train.table import Table, fitting_table, joined, tabled

_FIT_ROUNDS: Final = 4
_CALIBRATION_ROUNDS: Final = 2
_SHIPPED_SEED: Final = 0
_DRAWN_FOR_FITTING: Final = range(120)
_DRAWN_FOR_TEST: Final = range(1000, 1040)


def fit(data: Path, *, out: Path, seed: int = _SHIPPED_SEED, progress: Progress | None = None) -> tuple[Path, ...]:
    """Fit the coefficients, measure them, and write both.

    Args:
        data: The folder of real material, with ``images/coco`` and ``video/davis2016``.
        out: Where ``coefficients.json``, the card and its page go; made if missing.
        seed: Seed of the made defects and of the card's intervals.
        progress: Hears how far it is.

    Returns:
        The files written.

    Raises:
        UsageError: The extra ``train`` is not installed.
        InputError: The data is missing or broken.
        OutputError: A file cannot be written.
    """
    listener = progress or Silent()
    train = _part(data, "train", seed=seed, rounds=_FIT_ROUNDS, progress=listener)
    train = joined([train, _drawn(_DRAWN_FOR_FITTING, seed=seed, progress=listener)])
    calibration = _part(data, "calibration", seed=seed, rounds=_CALIBRATION_ROUNDS, progress=listener)
    # through JSON, so that what is measured is exactly what ships
    coefficients = from_json(json.loads(json.dumps(to_json(fitted(train, calibration=calibration)))))
    constants = constant_ious(train)
    results = measure(data, coefficients=coefficients, constants=constants, seed=seed, progress=listener)
    results += _leave_one_out(data, joined([train, calibration]), seed=seed, progress=listener)
    card = cards.card(results, judge=JUDGE.name, seed=seed, constants=constants)
    return (
        _write(out / "coefficients.json", _dumped(to_json(coefficients))),
        _write(out / f"{JUDGE.name}.json", _dumped(card.as_json())),
        _write(out / f"{JUDGE.name}.md", page(card)),
    )


def measure(
    data: Path,
    *,
    constants: Mapping[str, Mapping[str, float]],
    coefficients: Coefficients | None = None,
    seed: int = _SHIPPED_SEED,
    progress: Progress | None = None,
) -> list[Result]:
    """Measure coefficients on the photographs and sequences that were left out of the fit.

    Args:
        data: The folder of real material.
        constants: What the constant rows say, by source and row; the card keeps them.
        coefficients: What to measure; the shipped ones by default.
        seed: Seed of the made defects and of the intervals.
        progress: Hears how far it is.

    Raises:
        InputError: The data is missing or broken.
    """
    listener = progress or Silent()
    measured = load_coefficients() if coefficients is None else coefficients
    listener.stage("measuring", 8)
    found: list[Result] = []
    for name, table in test_tables(data, seed=seed):
        said = constants[str(table.source[0])]
        rows = numbers.judged_rows(table, measured, judge=JUDGE.name, constants=said)
        found += numbers.results_of(name, table, rows, seed=seed)
        listener.step()
    return found


def test_tables(data: Path, *, seed: int) -> list[tuple[str, Table]]:
    """The eight measured sets, by their names on the card."""
    photographs, sequences = committed()["coco"]["test"], committed()["davis"]["test"]
    return [
        ("coco_test", tabled(material.coco(data, photographs, seed=seed, alone=True))),
        ("coco_test_with_others", tabled(material.coco(data, photographs, seed=seed, alone=False))),
        ("davis_test", tabled(material.davis(data, sequences, seed=seed))),
        ("davis_test_real", tabled(material.real(data, sequences))),
        ("coco_test_arbitrary", tabled(material.coco_nonsense(data, photographs, seed=seed))),
        ("davis_test_arbitrary", tabled(material.davis_nonsense(data, sequences, seed=seed))),
        ("coco_test_small", tabled(material.coco_small(data, photographs))),
        ("drawn_test", tabled(material.pictures(_DRAWN_FOR_TEST, seed=seed, alone=True))),
    ]


def constant_ious(train: Table) -> dict[str, dict[str, float]]:
    """Mean IoU of the fitting part's masks, by source and row, rounded as on the card.

    ``constant-IoU`` leaves full_neg out, as the metrics over five defects do; ``constant-IoU-six`` does not.
    """
    found: dict[str, dict[str, float]] = {}
    for source in np.unique(train.source):
        part = train.where((train.source == source) & (train.defect != ARBITRARY))
        negative = part.defect == "full_neg"
        found[str(source)] = {"constant-IoU": round(float(part.iou[~negative].mean()), 4)}
        if negative.any():
            found[str(source)]["constant-IoU-six"] = round(float(part.iou.mean()), 4)
    return found


def _part(data: Path, part: Part, *, seed: int, rounds: int, progress: Progress) -> Table:
    names: dict[str, Sequence[str]] = {source: committed()[source][part] for source in ("coco", "davis")}
    return fitting_table(data, names, seed=seed, rounds=rounds, progress=progress)


def _drawn(wanted: range, *, seed: int, progress: Progress) -> Table:
    progress.stage("drawn pictures", len(wanted))
    tables = []
    for number in wanted:
        tables.append(tabled(material.pictures([number], seed=seed, alone=number % 2 == 0)))
        progress.step()
    return joined([table for table in tables if len(table)])


def _leave_one_out(data: Path, known: Table, *, seed: int, progress: Progress) -> list[Result]:
    """Real masks of every sequence, judged by coefficients that have not seen that sequence."""
    names: dict[str, Sequence[str]] = {"coco": (), "davis": committed()["davis"]["test"]}
    table = joined([known, fitting_table(data, names, seed=seed, rounds=0, progress=progress)])
    calibration = [*committed()["davis"]["calibration"], *committed()["coco"]["calibration"]]
    sequences = np.unique(table.cluster[table.source == "real"])
    progress.stage("leaving one sequence out", len(sequences))
    rows: dict[str, list[numbers.Guess]] = {}
    parts = []
    for sequence in sequences:
        rest = table.where(table.cluster != sequence)
        held = np.isin(rest.cluster, calibration)
        coefficients = fitted(rest.where(~held), calibration=rest.where(held))
        part = table.where((table.cluster == sequence) & (table.source == "real"))
        constants = constant_ious(rest)["real"]
        for row, guesses in numbers.judged_rows(part, coefficients, judge=JUDGE.name, constants=constants).items():
            rows.setdefault(row, []).extend(guesses)
        parts.append(part)
        progress.step()
    return list(numbers.results_of("davis_real_leave_one_out", joined(parts), rows, seed=seed))


def _dumped(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path
