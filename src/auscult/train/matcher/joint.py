"""The numbers of the joint audit: kinds of sound, how evidence is weighed, and how often it is right on other scenes.

    auscult train scenes-joint --out DIR --seed 0

Everything is generated. Sounds are divided by instance: two of three training instances make the kinds, the third the
calibration scenes; test scenes have things and sounds of the test shelves alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress
from auscult.judge.identity.joint import (
    FILE,
    RATE_HZ,
    JointCheck,
    JointEvidence,
    JointNumbers,
    SoundKinds,
    hear,
    joint,
    likelihoods,
)
from auscult.media.paths import write_bytes
from auscult.media.wav import Sound
from auscult.outcome import Undefined
from auscult.record.codec import dump, to_json
from auscult.rng import generator, pick
from auscult.scenes.draw import Stage
from auscult.scenes.draw import hear as mixed_sound
from auscult.scenes.facts import facts_of, say, targets_of
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.references import LEAK_DB, choose_joint, separated
from auscult.scenes.sound.generated import GENERATED as SOUNDS
from auscult.scenes.sound.generated import KINDS
from auscult.score.stats import bootstrap_interval
from auscult.score.stats.few_clusters import SHARE
from auscult.train.matcher.pairs import AssetSource, painted
from auscult.types import JOINT_FAULTS, Case, Doubles, JointFault, Prediction, Query

SCENES: Final = SceneOptions(size=(180, 320))
_EXPRESSIONS: Final = 2
_TAKES: Final = 3  # of each instance of a sound
_LONG_S: Final = (0.5, 4.0)
_RIDGE: Final = 0.05  # of the mean spread, added to each description's
_KNOWN: Final = 0.995  # of sounds of the kinds are as near to a centre
_SCENES: Final = 300
_STEPS: Final = 50
_SMALL: Final = 1e-6
_PULL: Final = 1.0
_SHARPNESS: Final = (0.2, 0.3, 0.45, 0.65, 1.0)
_SPREADS: Final = (0.03, 0.05, 0.08, 0.12)
_OUTSIDES: Final = (0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointItem:
    """A joint item as the check sees it, with its truth."""

    needs: str
    wrong: JointFault
    case: Case
    prediction: Prediction
    mixture: Sound
    separated: Sound


@dataclass(frozen=True, slots=True, kw_only=True)
class JointAnswer:
    """The truth of an item, and what was found of it; None where nothing could be."""

    scene: int
    needs: str  # the senses without which its expression cannot be resolved
    wrong: JointFault
    found: JointEvidence | None


def scenes_joint(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    """Fit the kinds, weigh the evidence on calibration scenes, and measure on test scenes."""
    scenes = options.samples or _SCENES
    trained, shelf = painted("train")
    for_kinds = {label: [name for i, name in enumerate(names) if i % 3] for label, names in shelf.sounds.items()}
    held_out = {label: tuple(names[::3]) for label, names in shelf.sounds.items()}
    progress.stage("sounds", 1)
    kinds = fit_kinds(for_kinds, held_out, seed=options.seed)
    progress.step()
    numbers = JointNumbers(kinds=kinds, spread=0.1, outside=0.1, bias=(0.0,) * 4, weights=(1.0,) * 3)
    calibration = answers(
        (trained, replace(shelf, sounds=held_out)), scenes, seed=options.seed + 1, numbers=numbers, progress=progress
    )
    numbers = fit_numbers([answer for answer in calibration if answer.found is not None], numbers)
    path = options.out / FILE
    write_bytes(path, dump(to_json(numbers), indent=None) + b"\n")
    yield path
    single = fit_product(calibration, numbers)
    sets = {}
    for part in ("test_s", "test_u"):
        tested = answers(painted(part), scenes, seed=options.seed + 2, numbers=numbers, progress=progress)
        sets[part] = measured(tested, numbers, single)
    path = options.out / "joint.scenes.v1.json"
    write_bytes(path, dump({"seed": options.seed, "scenes_each": scenes, "sets": sets}, indent=1) + b"\n")
    yield path


def answers(
    source: AssetSource, scenes: int, *, seed: int, numbers: JointNumbers, progress: Progress
) -> list[JointAnswer]:
    """What the check finds of the joint items of some scenes."""
    check = JointCheck(numbers=numbers)
    progress.stage("scenes", scenes)
    checked = []
    for scene in range(scenes):
        for item in joint_items(source, scene, seed=seed):
            result = check.evidence(item.case, item.prediction, mixture=item.mixture, separated=item.separated)
            evidence = result if isinstance(result, JointEvidence) else None
            checked.append(JointAnswer(scene=scene, needs=item.needs, wrong=item.wrong, found=evidence))
        progress.step()
    return checked


def joint_items(source: AssetSource, scene: int, *, seed: int) -> Iterator[JointItem]:
    """The joint items of a scene: four for each of at most two expressions, one a fault."""
    assets, shelf = source
    plan = choose(seed, scene, assets=assets, shelves={"train": shelf}, options=SCENES)
    shots = Stage(plan, assets.looks).key_shots()
    mixed = mixed_sound(plan, assets.sounds)
    facts = facts_of(plan, shots, gain_db=mixed.gain_db)
    targets = targets_of(plan, shots) & {
        thing.id for thing in plan.objects if thing.look.category in shelf.targets and thing.track is not None
    }
    rng = generator(seed, "joint", scene)
    expressions = say(rng, facts, targets=targets, most=_EXPRESSIONS)
    for sample in choose_joint(rng, plan, shots, expressions=expressions):
        shot, text = shots[sample.shot], sample.expression.text
        stem = separated(sample, plan, assets.sounds, mixed=mixed)
        yield JointItem(
            needs="+".join(sorted(sample.expression.needs)) or "either",
            wrong=sample.wrong,
            case=Case(id=str(scene), frame=shot.frame, query=Query(text), time_s=shot.time_s),
            prediction=Prediction(shot.visible[sample.mask]),
            mixture=Sound(samples=mixed.samples, rate_hz=plan.rate_hz),
            separated=Sound(samples=stem, rate_hz=plan.rate_hz),
        )


def fit_kinds(made: Mapping[str, Sequence[str]], held: Mapping[str, Sequence[str]], *, seed: int) -> SoundKinds:
    """Discriminants of the kinds from some instances; sharpness and reach from others."""
    labels, rows = _descriptions(made, seed=seed)
    held_labels, held_rows = _descriptions(held, seed=seed + 1)
    names = sorted(made)
    means = np.stack([rows[labels == name].mean(axis=0) for name in names])
    within = rows - means[np.searchsorted(names, labels)]
    spread = within.T @ within / len(rows)
    spread += _RIDGE * np.trace(spread) / len(spread) * np.eye(len(spread))
    white = np.linalg.inv(np.linalg.cholesky(spread))
    mean = means.mean(axis=0)
    _, _, turn = np.linalg.svd((means - mean) @ white.T, full_matrices=False)
    axes = turn[: len(names) - 1] @ white
    centres = (means - mean) @ axes.T
    squares = (((held_rows - mean) @ axes.T)[:, None] - centres[None]) ** 2
    distances, true = squares.sum(axis=2), np.searchsorted(names, held_labels)
    losses = {sharpness: _loss(-0.5 * sharpness * distances, true) for sharpness in _SHARPNESS}
    return SoundKinds(
        nouns=tuple(KINDS[name].noun for name in names),
        verbs=tuple(KINDS[name].verb for name in names),
        countable=tuple(SOUNDS.source(generator(0), name, instance=made[name][0]).countable for name in names),
        mean=_rounded(mean),
        axes=tuple(map(_rounded, axes)),
        centres=tuple(map(_rounded, centres)),
        sharpness=min(losses, key=lambda sharpness: losses[sharpness]),
        farthest=round(float(np.quantile(distances.min(axis=1), _KNOWN)), 2),
    )


def _descriptions(instances: Mapping[str, Sequence[str]], *, seed: int) -> tuple[NDArray[np.str_], Doubles]:
    """Labels and descriptions of instances, each in a few takes of chance length, with some of another sound."""
    pairs = [(label, name) for label in sorted(instances) for name in instances[label]]
    labels, rows = [], []
    for number, (label, name) in enumerate(pairs * _TAKES):
        rng = generator(seed, "joint", "sound", number)
        seconds = round(float(rng.uniform(*_LONG_S)), 2)
        sounds = [(label, name), pick(rng, pairs)]
        sources = [SOUNDS.source(rng, kind, instance=instance) for kind, instance in sounds]
        sound, other = (SOUNDS.samples(source, seconds=seconds, rate_hz=RATE_HZ) for source in sources)
        features = hear((sound + np.float32(10 ** (rng.uniform(*LEAK_DB) / 20)) * other)[None])
        if features is not None:
            labels.append(label)
            rows.append(features.described.astype(np.float64))
    return np.array(labels), np.array(rows)


def _loss(logits: Doubles, true: NDArray[np.int64]) -> float:
    best = logits.max(axis=1, keepdims=True)
    log_sum = best[:, 0] + np.log(np.exp(logits - best).sum(axis=1))
    return float((log_sum - logits[np.arange(len(true)), true]).mean())


def _rounded(values: Doubles) -> tuple[float, ...]:
    return tuple(float(f"{value:.4g}") for value in values)


def fit_numbers(answered: Sequence[JointAnswer], numbers: JointNumbers) -> JointNumbers:
    """Spread of sides, share of those that tell nothing, biases and weights that fit calibration items best."""
    best: tuple[float, JointNumbers] | None = None
    for spread, outside in product(_SPREADS, _OUTSIDES):
        trial = replace(numbers, spread=spread, outside=outside)
        columns = np.concatenate(
            [_tables(answered, trial), np.broadcast_to(np.eye(4)[:, 1:], (len(answered), 4, 3))], axis=2
        )
        coefficients, loss = fit_logit(columns, _true(answered))
        if best is None or loss < best[0]:
            seen, heard, place, mask, stem, both = (float(f"{value:.4g}") for value in coefficients)
            weights, bias = (seen, heard, place), (0.0, mask, stem, both)
            best = loss, replace(trial, bias=bias, weights=weights)
    return numbers if best is None else best[1]


def fit_product(answered: Sequence[JointAnswer], numbers: JointNumbers) -> Doubles:
    """Coefficients of two judges that know nothing of one another, mask by words seen and stem by words heard.

    A conditional logit without a term in which both faults occur is the product of two logistic curves.
    """
    checked = [answer for answer in answered if answer.found is not None]
    return fit_logit(_product_columns(checked, numbers), _true(checked))[0]


def _product_columns(answered: Sequence[JointAnswer], numbers: JointNumbers) -> Doubles:
    marks = np.broadcast_to(np.array([[0, 0], [1, 0], [0, 1], [1, 1]], float), (len(answered), 4, 2))
    return np.concatenate([_tables(answered, numbers)[:, :, :2], marks], axis=2)


def _tables(answered: Sequence[JointAnswer], numbers: JointNumbers) -> Doubles:
    """Likelihoods of items, (n, 4, 3)."""
    return np.stack([likelihoods(answer.found, numbers)[0] for answer in answered if answer.found is not None])


def _true(answered: Sequence[JointAnswer]) -> NDArray[np.int64]:
    return np.array([JOINT_FAULTS.index(answer.wrong) for answer in answered])


def fit_logit(columns: Doubles, true: NDArray[np.int64]) -> tuple[Doubles, float]:
    """Coefficients of a conditional logit by Newton's method, and its mean loss; ``columns`` are (n, choices, k)."""
    coefficients = np.zeros(columns.shape[2])
    for _ in range(_STEPS):
        scores = columns @ coefficients
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        expected = (chances[:, :, None] * columns).sum(axis=1)
        slope = (columns[np.arange(len(true)), true] - expected).sum(axis=0) - _PULL * coefficients
        deviations = columns - expected[:, None]
        curve = np.einsum("nc,nci,ncj->ij", chances, deviations, deviations) + _PULL * np.eye(len(coefficients))
        change = np.linalg.solve(curve, slope)
        coefficients = coefficients + change
        if np.abs(change).max() < _SMALL:
            break
    return coefficients, _loss(columns @ coefficients, true)


def measured(answered: Sequence[JointAnswer], numbers: JointNumbers, single: Doubles) -> dict[str, Any]:
    """Accuracy of the four-way answer, of the product of the single judges, and their difference."""
    checked = [answer for answer in answered if answer.found is not None]
    findings = [joint(answer.found, numbers) for answer in checked if answer.found is not None]
    faults = [JOINT_FAULTS[index] for index in (_product_columns(checked, numbers) @ single).argmax(axis=1)]
    rows = [
        (answer, finding.wrong == answer.wrong, fault == answer.wrong)
        for answer, finding, fault in zip(checked, findings, faults, strict=True)
        if finding.wrong != "unchecked"
    ]
    parts = {
        f"needs {name}": [row for row in rows if row[0].needs == name]
        for name in sorted({row[0].needs for row in rows})
    }
    compared = {name: _compared(of_part) for name, of_part in {"all": rows, **parts}.items()}
    return {"n": len(answered), "unchecked": len(answered) - len(rows), **compared}


_Row: TypeAlias = tuple[JointAnswer, bool, bool]


def _compared(rows: Sequence[_Row]) -> dict[str, Any]:
    """Accuracies and their difference, each as value, low, high of its 95 % interval."""
    scenes: dict[int, list[_Row]] = {}
    for row in rows:
        scenes.setdefault(row[0].scene, []).append(row)
    result: dict[str, Any] = {"n": len(rows), "scenes": len(scenes)}
    for name, (first, second) in {"joint": (1, 0), "product": (0, 1), "difference": (1, -1)}.items():
        parts = [[first * row[1] + second * row[2] for row in of_scene] for of_scene in scenes.values()]
        within = None if name == "difference" else SHARE
        interval = bootstrap_interval(fmean, parts, rng=generator(0, "joint"), within=within)
        values = None if isinstance(interval, Undefined) else (interval.value, interval.low, interval.high)
        result[name] = values and [round(value, 4) for value in values]
    return result
