"""Designs of the compact sound judge trained as long as what ships, for docs/sound-judge-designs.md.

    python studies/sound_judge_at_length.py --material FOLDER --run "NAME=FOLDER" ... [--write]

Each run is a folder of `auscult train compact-sound --config FILE`; the material is that of one of them, and 200 songs
by voices of the calibration part are made beside it. Measured on the calibration part, whose samples no network learned
from; intervals draw whole voices. Nothing here is measured on the tests' part.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from sound_judge_designs import AXES, DRAWS, PAGE, cluster_sums, placed

from auscult.jobs.runner import Silent
from auscult.judge.sound.compact.network import FOLDER
from auscult.nets.sound_judge import SoundJudgeNet, Trunk
from auscult.record.codec import from_json, load
from auscult.rng import generator
from auscult.score.stats.correlation import pearson_of_sums
from auscult.train.sound_judge.calibrate import predictions
from auscult.train.sound_judge.compact import NETWORK, PLAN, read_judge
from auscult.train.sound_judge.samples import ALL, Recipe
from auscult.train.sound_judge.store import Store, StoredSample
from auscult.train.sound_judge.trainer import SoundPlan

SONGS: Final = (200, 19)
"""How many are made, and their seed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--material", type=Path, required=True)
    parser.add_argument("--run", action="append", default=[], help="NAME=FOLDER")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    runs = dict(one.split("=", 1) for one in given.run)
    nets = {"what ships": read_judge(FOLDER)} | {name: _network(Path(folder)) for name, folder in runs.items()}
    sets = _sets(given.material)
    text = table({name: _measured(net, sets) for name, net in nets.items()})
    print(text)
    if given.write:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), "at length", text), encoding="utf-8")


def _network(folder: Path) -> SoundJudgeNet:
    plan = from_json(SoundPlan, load((folder / PLAN).read_bytes()), path=folder / PLAN)
    net = SoundJudgeNet(Trunk(), plan.network)
    net.load_state_dict(torch.load(folder / NETWORK, weights_only=True))
    return net


def _sets(material: Path) -> Mapping[str, Sequence[StoredSample]]:
    songs, (count, seed) = Store(folder=material / "held-songs", real=False, songs=True), SONGS
    root = Path(os.environ["AUSCULT_DATA"])
    songs.make(
        root,
        part="calibration",
        mixtures=count,
        seed=seed,
        recipe=Recipe(),
        progress=Silent(),
        until=math.inf,
    )
    samples = Store(folder=material / "calibration").samples
    made, real = ([one for one in samples if bool(one.about["family"]) == heard] for heard in (False, True))
    return {"made": made[::3], "songs": songs.samples, "real": real}


COLUMNS: Final = (
    ("made", ALL, 0), ("made", ALL, 1), ("made", ALL, 2), ("made", ALL, 3), ("made", "text", 3),
    ("songs", "text", 1), ("songs", "text", 3), ("real", "text", 3),
)  # fmt: skip
AHEAD: Final = (("made", ALL, 3), ("made", "text", 3), ("songs", "text", 3))


def _measured(net: SoundJudgeNet, sets: Mapping[str, Sequence[StoredSample]]) -> dict[tuple[str, str, int], Any]:
    net = net.to(memory_format=torch.channels_last)
    found = {}
    for name, subset in dict.fromkeys(column[:2] for column in COLUMNS):
        heard = predictions(net, sets[name], subset=subset)
        row = {subset: {"scores": heard.scores, "truth": heard.truth}}
        row["clusters"] = [one.about["cluster"] for one in sets[name]]
        found |= {(name, subset, axis): cluster_sums(row, subset, axis) for axis in range(len(AXES))}
    return found


def _named(column: tuple[str, str, int]) -> str:
    name, subset, axis = column
    return f"{name}: {AXES[axis]}" + (", text alone" if (name, subset) == ("made", "text") else "")


def table(rows: Mapping[str, Mapping[tuple[str, str, int], Any]]) -> str:
    """Pearson with the truth by formula, and by how much the first row is ahead."""
    header = ["trained", *map(_named, COLUMNS), *(f"what ships is ahead, {_named(column)}" for column in AHEAD)]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    first = next(iter(rows))
    for name, row in rows.items():
        cells = [f"{pearson_of_sums(row[column].sum(axis=0)[None])[0]:.3f}" for column in COLUMNS]
        cells += ["–" if name == first else _ahead(rows[first][column], row[column]) for column in AHEAD]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ahead(one: Any, other: Any) -> str:
    times = generator(0, "designs", "at length").multinomial(len(one), np.full(len(one), 1 / len(one)), DRAWS)
    drawn = pearson_of_sums(times @ one) - pearson_of_sums(times @ other)
    whole = np.ones((1, len(one)))
    value = float((pearson_of_sums(whole @ one) - pearson_of_sums(whole @ other))[0])
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


if __name__ == "__main__":
    main()
