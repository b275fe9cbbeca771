"""How judges order the masks of one sequence or object, what mixing them brings, and types at equal false alarms.

    PYTHONPATH=tools python studies/prompted_sequences.py --data DATA --families FILE.json.gz --out RESULTS

RESULTS may be that of `tools/prompted_results.py`: verdicts are kept there and read again. `studies/prompted.md` holds
the tables. Shares are chosen on the sequences of train and calibration, others left out in turn.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import classical_families as classical
import cv2
import numpy as np
import prompted_card as cards
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from auscult.arrays import regions
from auscult.arrays.overlap import iou
from auscult.cli import show
from auscult.jobs.runner import Progress
from auscult.judge.masks.compact import CompactJudge
from auscult.judge.masks.compact.view import coverage
from auscult.judge.masks.cues import CuesJudge
from auscult.judge.masks.prompted import PromptedJudge
from auscult.judge.masks.prompted.calibration import load_calibration
from auscult.judge.masks.prompted.network import FOLDER, load_member
from auscult.judge.masks.prompted.view import inputs, looks
from auscult.rng import generator
from auscult.train.material import _targets, made
from auscult.train.prompted.material import FAMILIES, Material, Picture, read_material
from auscult.train.prompted.outputs import FLAWLESS, CandidateColumns, Judgeable, columns_of, judgeable, listed
from auscult.train.prompted.outputs import real_and_flawless
from auscult.types import DEFECTS, Case, Prediction, Verdict

Doubles = NDArray[np.float64]
JUDGES = (PromptedJudge(), CompactJudge(), CuesJudge())
PROMPTED, COMPACT, CUES = NAMES = tuple(judge.name for judge in JUDGES)
VARIES = 0.1  # an order is asked for where the IoU varies by more
SHARES = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
MADE_ON = 45  # photographs of dev on which defects are made
KINDS = ("cutout", "dilate", "erode", "merge")
RIGHT = DEFECTS.index("perfect")


class Judged(NamedTuple):
    """Masks and what each judge said of them."""

    columns: CandidateColumns
    verdicts: Mapping[str, Sequence[Verdict]]

    def where(self, keep: NDArray[np.bool_]) -> Judged:
        """Some of them."""
        at = np.flatnonzero(keep)
        return Judged(self.columns.where(keep), {name: [of[one] for one in at] for name, of in self.verdicts.items()})


def main() -> None:
    """Judge what was not judged yet, and print all tables."""
    options = _options()
    cv2.setNumThreads(1)
    material, data = read_material(options.data, families=FAMILIES), options.data
    dev = material.of("dev")
    with show.progress_bar(quiet=False) as progress:
        learned = _judged(_learned(material, options), options.out / "sequences", progress)
        objects = _judged(lambda: _real(dev), options.out / "dev", progress)
        types = _judged(lambda: _typed(dev), options.out / "types-dev", progress)
        test = cards.real_things(material, data, options.families, parts=("test", "unseen"))
        held = _judged(test, options.out / "real", progress)
        makers = {
            name: _judged(cards.made_things(data, freehand=name == "freehand", seed=0), options.out / name, progress)
            for name in ("stress", "freehand")
        }
    orders("sequences of train and calibration", learned.where(_filmed(learned)), shares=SHARES)
    two = np.isin(learned.columns.family, ["osvos", "rvos"])
    orders("OSVOS and RVOS of these", learned.where(_filmed(learned) & two), shares=(0.3,))
    orders("objects on photographs of dev", objects, shares=SHARES, least=3)
    orders("sequences of test and the unseen source", held.where(_filmed(held)), shares=(0.3,))
    two = np.isin(held.columns.family, ["osvos", "rvos"])
    orders("OSVOS and RVOS of these", held.where(_filmed(held) & two), shares=(0.3,), each=True)
    strays(material.of("test"), "breakdance")
    for name in ("stress", "freehand"):
        equal_alarms(f"dev, {name}", _flawless(types), types.where(types.columns.family == name))
        equal_alarms(f"test, {name}", _flawless(held), makers[name].where(makers[name].columns.source == "coco"))


def _judged(things: cards.Things, folder: Path, progress: Progress) -> Judged:
    columns, verdicts = columns_of(things()), {}
    for judge in JUDGES:
        progress.stage(f"judging: {judge.name}, {folder.name}", len(columns))
        verdicts[judge.name], _ = cards.verdicts_of(judge, things, folder / f"{judge.name}.jsonl", progress=progress)
    return Judged(columns, verdicts)


def _real(pictures: Sequence[Picture]) -> Iterator[Judgeable]:
    return (one for one in real_and_flawless(pictures) if one.family != FLAWLESS)


def _learned(material: Material, options: argparse.Namespace) -> cards.Things:
    """Masks of every frame by OSVOS and RVOS, and of every second by classical methods."""
    films: dict[str, list[Picture]] = {}
    for one in sorted(material.of("train", "calibration"), key=classical.number_of):
        if one.source == "davis":
            films.setdefault(one.cluster, []).append(one)
    pictures, path = [one for film in films.values() for one in film], options.out / "sequences" / "made.json.gz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        seen = [(one, film, one.path.relative_to(options.data)) for film in films.values() for one in film[::2]]
        rows = [row for one, film, name in seen for row in classical.rows_of(one, film, name=name.as_posix(), seed=7)]
        path.write_bytes(gzip.compress(json.dumps(rows).encode(), mtime=0))
    rows = json.loads(gzip.decompress(path.read_bytes()))

    def things() -> Iterator[Judgeable]:
        yield from _real(pictures)
        yield from listed(rows, pictures, options.data)

    return things


def _typed(pictures: Sequence[Picture]) -> Iterator[Judgeable]:
    """True masks of all pictures, and defects by both makers on some."""
    for place, at in enumerate(generator(0, "types").permutation(len(pictures)).tolist()):
        picture = pictures[at]
        frame = picture.frame()
        for target, one in _targets(list(picture.masks())):
            yield judgeable(picture, target, frame=frame, mask=one.mask, truth=one.mask, family=FLAWLESS)
            for family, before in (("stress", ""), ("freehand", "freehand_")) if place < MADE_ON else ():
                kinds = [f"{before}{kind}" for kind in KINDS[:3]] + ["merge"] * picture.complete
                name = ("coco", picture.cluster, f"{picture.cluster}/{target}")
                for some in made(one, frame, (), name=name, seed=0, kinds=kinds):
                    kind, mask = some.defect.removeprefix("freehand_"), some.mask
                    yield judgeable(picture, target, frame=frame, mask=mask, truth=one.mask, family=family, defect=kind)


def _filmed(some: Judged) -> NDArray[np.bool_]:
    return (some.columns.source == "davis") & (some.columns.family != FLAWLESS)


def _flawless(some: Judged) -> Judged:
    return some.where((some.columns.family == FLAWLESS) & np.isin(some.columns.source, ["coco", "more"]))


class Groups(NamedTuple):
    """Masks whose order is asked for: places of each group, and its photograph or sequence."""

    places: Sequence[NDArray[np.intp]]
    clusters: NDArray[np.str_]

    def ranks(self, estimate: Doubles, true: Doubles) -> Doubles:
        """Spearman within each group, 0 where all estimates are one."""
        return np.nan_to_num([spearmanr(estimate[at], true[at]).statistic for at in self.places])

    def mean(self, values: Doubles) -> tuple[float, str]:
        """The mean over clusters of the mean of their groups, and the same with its interval over clusters."""
        each = np.array([values[self.clusters == one].mean() for one in np.unique(self.clusters)])
        rng = np.random.default_rng(0)
        low, high = np.quantile(
            [each[rng.integers(len(each), size=len(each))].mean() for _ in range(2000)], (0.025, 0.975)
        )
        return float(each.mean()), f"{each.mean():+.3f} [{low:+.3f}, {high:+.3f}]"

    def off_mean(self, values: Doubles) -> Doubles:
        """How far values are off the mean of their group."""
        found = np.zeros(len(values))
        for at in self.places:
            found[at] = values[at] - values[at].mean()
        return found

    def jumps(self, columns: CandidateColumns) -> Doubles:
        """Minus how far the log area is off its median over seven masks, in order."""
        found = np.zeros(len(columns))
        for at in self.places:
            ordered = at[np.argsort(columns.order[at], kind="stable")]
            area = np.log(columns.area[ordered])
            found[ordered] = [-abs(one - np.median(area[max(0, i - 3) : i + 4])) for i, one in enumerate(area)]
        return found


def _groups(columns: CandidateColumns, least: int) -> Groups:
    """Of a sequence what one family drew of one object; of a photograph what all families drew of one object."""
    filmed = columns.source == "davis"
    objects = [name.rsplit("#", 1)[-1] for name in columns.name.tolist()]
    films = [" ".join(one) for one in zip(columns.family, columns.cluster, objects, strict=True)]
    keys = np.where(filmed, films, columns.name)
    places = [np.flatnonzero(keys == key) for key in np.unique(keys)]
    places = [at for at in places if len(at) >= least and np.ptp(columns.iou[at]) > VARIES]
    return Groups(places, columns.cluster[[at[0] for at in places]])


def orders(title: str, some: Judged, *, shares: Sequence[float], least: int = 6, each: bool = False) -> None:
    """Print how well each judge orders masks, and `masks.prompted.v1` with a share of another's deviations."""
    said = {
        name: np.array([np.nan if one.iou is None else one.iou for one in of]) for name, of in some.verdicts.items()
    }
    keep = np.all([np.isfinite(one) for one in said.values()], axis=0)
    columns, said = some.columns.where(keep), {name: one[keep] for name, one in said.items()}
    true, groups = columns.iou, _groups(columns, least)
    at = np.concatenate(groups.places)
    print(f"\n{title}: {len(groups.places)} groups, {len(at)} masks, {len(np.unique(groups.clusters))} clusters")
    ranks = {name: groups.ranks(said[name], true) for name in NAMES}
    for name in NAMES:
        line = f"{groups.mean(ranks[name])[1]}, median {np.median(ranks[name]):.2f}"
        print(f"  {name}: {line}, prompted ahead by {groups.mean(ranks[PROMPTED] - ranks[name])[1]}")
    for one in np.unique(groups.clusters) if least > 3 else ():
        print(f"    {one}:", *(f"{ranks[name][groups.clusters == one].mean():.2f}" for name in NAMES))
    for number, place in enumerate(groups.places if each else ()):
        spreads = [f"{ranks[name][number]:+.2f} (sd {said[name][place].std():.3f})" for name in NAMES]
        print(f"    {columns.family[place[0]]}, IoU {true[place].min():.2f} to {true[place].max():.2f}:", *spreads)
    cues, compact = groups.off_mean(said[CUES]), groups.off_mean(said[COMPACT])
    base = said[PROMPTED]
    print(f"  alone: {_errors(base[at], true[at])}")
    for name, other in {
        "cues": cues,
        "compact": compact,
        "both": (cues + compact) / 2,
        "jumps": groups.jumps(columns),
    }.items():
        gains = {share: groups.ranks(base + share * other, true) - ranks[PROMPTED] for share in shares}
        for share in shares:
            print(
                f"  {share} of {name}: {groups.mean(gains[share])[1]}, {_errors((base + share * other)[at], true[at])}"
            )
        if len(shares) > 1:
            print(f"  {name}, share chosen on the others: {groups.mean(_left_out(gains, groups))[1]}")


def _left_out(gains: Mapping[float, Doubles], groups: Groups) -> Doubles:
    """Gains of each cluster with the share that is best on all others; none is a share too."""
    found = np.zeros(len(groups.clusters))
    for one in np.unique(groups.clusters):
        others = groups.clusters != one
        rest = Groups([()] * int(others.sum()), groups.clusters[others])
        best = max(gains, key=lambda share: rest.mean(gains[share][others])[0])
        if rest.mean(gains[best][others])[0] > 0:
            found[~others] = gains[best][~others]
    return found


def strays(pictures: Sequence[Picture], sequence: str) -> None:
    """Print what is said of OSVOS's masks that have a second part and of those that have none, and what is answered."""
    calibration, found = load_calibration(), {True: [], False: []}
    members = [load_member(FOLDER / f"member{at}.onnx", one) for at, one in enumerate(calibration.weights)]
    for one in _real([picture for picture in pictures if picture.cluster == sequence]):
        if one.family != "osvos":
            continue
        largest = regions.largest(one.mask)
        numbers = [iou(one.mask, one.truth), iou(largest, one.truth)]
        for mask in (one.mask, largest):
            numbers += [judge(Case(id="x", frame=one.frame), Prediction(mask)).iou for judge in JUDGES]
        wrong = cv2.erode((one.mask & ~one.truth).astype(np.uint8), np.ones((9, 9))) > 0
        for member, view in zip(members, looks(one.frame, one.mask, tuple(of.lens for of in members)), strict=True):
            answer, held = member(inputs([view]))["answer"][0, 0] > 0, view.candidate >= 128
            off = coverage(wrong, view.box, len(held)) >= 128
            numbers += [answer[off].mean() if off.any() else np.nan, iou(answer, held)]
        found[bool(largest.sum() < 0.95 * one.mask.sum())].append(numbers)
    names = ["IoU", "of the largest part", *NAMES, *(f"{name}, largest part" for name in NAMES)]
    names += [f"{what}, network {at + 1}" for at in range(len(members)) for what in ("wrong cells drawn too", "answer")]
    for stray, rows in found.items():
        means = zip(names, np.nanmean(rows, axis=0), strict=True)
        print(
            f"\n{sequence}, second part: {stray}, {len(rows)} masks:", *(f"{name} {mean:.2f}," for name, mean in means)
        )


def _errors(estimate: Doubles, true: Doubles) -> str:
    said, good = np.clip(estimate, 0, 1), true >= 0.8
    ranks, count = rankdata(said), int(good.sum())
    auc = (ranks[good].sum() - count * (count + 1) / 2) / (count * (len(good) - count))
    return f"RMSE {np.sqrt(np.mean((said - true) ** 2)):.3f}, AUC {auc:.3f}"


def equal_alarms(title: str, flawless: Judged, defects: Judged) -> None:
    """Print the mean F2 of four made defects where each judge calls as many flawless masks defective."""
    defects = defects.where(np.isin(defects.columns.defect, KINDS))
    kinds = defects.columns.defect
    clean, wrong = ({name: _logs(of) for name, of in one.verdicts.items()} for one in (flawless, defects))
    print(f"\n{title}: {len(kinds)} masks, {len(flawless.columns)} flawless ones")
    print("  as they are:", *(f"{_f2(wrong[name], kinds, 0):.3f} at {_alarms(clean[name], 0):.3f}" for name in NAMES))
    for share in (0.1, 0.15, 0.2, 0.3, 0.4):
        values = [_f2(wrong[name], kinds, _shift(clean[name], share)) for name in NAMES]
        gains = []
        for some, right in zip(_draws(defects.columns.cluster), _draws(flawless.columns.cluster), strict=True):
            drawn = [_f2(wrong[name][some], kinds[some], _shift(clean[name][right], share)) for name in NAMES[:2]]
            gains.append(drawn[0] - drawn[1])
        low, high = np.quantile(gains, (0.025, 0.975))
        ahead = f"{values[0] - values[1]:+.3f} [{low:+.3f}, {high:+.3f}]"
        print(f"  at {share}:", *(f"{value:.3f}" for value in values), f"prompted ahead of compact by {ahead}")


def _draws(clusters: NDArray[np.str_]) -> Iterator[NDArray[np.intp]]:
    names, members = np.unique(clusters, return_inverse=True)
    places, rng = [np.flatnonzero(members == one) for one in range(len(names))], np.random.default_rng(0)
    for _ in range(400):
        yield np.concatenate([places[one] for one in rng.integers(len(names), size=len(names))])


def _logs(verdicts: Sequence[Verdict]) -> Doubles:
    """Log probabilities of the six types; a mask that was not judged has no defect."""
    none = dict.fromkeys(DEFECTS, 0.0) | {"perfect": 1.0}
    rows = [[(one.defect_probs or none)[kind] for kind in DEFECTS] for one in verdicts]
    return np.log(np.maximum(np.array(rows), 1e-9))


def _called(logs: Doubles, shift: float) -> NDArray[np.intp]:
    """The likeliest type where ``shift`` is added to the log of perfect."""
    return np.asarray((logs + shift * (np.arange(len(DEFECTS)) == RIGHT)).argmax(axis=1))


def _alarms(logs: Doubles, shift: float) -> float:
    return float(np.mean(_called(logs, shift) != RIGHT))


def _f2(logs: Doubles, kinds: NDArray[np.str_], shift: float) -> float:
    """The mean of F2-tables over the defects that there are."""
    found = _called(logs, shift)
    recalls = [np.mean(found[kinds == one] == DEFECTS.index(one)) for one in KINDS if (kinds == one).any()]
    return float(np.mean([5 * recall / (4 + recall) for recall in recalls]))


def _shift(logs: Doubles, share: float) -> float:
    """The least shift with which at most a share of flawless masks is called defective."""
    low, high = -15.0, 15.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _alarms(logs, middle) > share else (low, middle)
    return high


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--data", "--families", "--out"):
        parser.add_argument(name, type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
