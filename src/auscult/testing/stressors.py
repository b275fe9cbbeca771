"""The laws of mask stressors: purity, determinism, replay from JSON, and that the reported truth is the truth.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES)
    def test_contract(check, example):
        check("masks.erode.v1", EXAMPLES[example])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from auscult import registry
from auscult import rng as randomness
from auscult.outcome import Scored, Undefined
from auscult.stress import masks
from auscult.stress.masks.base import WINDOWED, WINDOWS, MaskStressor
from auscult.testing import require, require_described, require_frozen, require_refused
from auscult.types import ACTIONS, DEFECTS, Difficulty, Mask, MaskTarget, StressedMask


def _ellipse(centre: tuple[int, int], half: tuple[int, int], *, writeable: bool = True) -> Mask:
    rows, columns = np.ogrid[:120, :160]
    mask: Mask = ((rows - centre[0]) / half[0]) ** 2 + ((columns - centre[1]) / half[1]) ** 2 <= 1
    mask.setflags(write=writeable)
    return mask


EXAMPLES: Mapping[str, MaskTarget] = {
    "ellipse": MaskTarget(
        mask=_ellipse((60, 70), (40, 30)), others=(_ellipse((60, 120), (20, 24)), _ellipse((20, 20), (9, 9)))
    ),
    "cut_by_frame": MaskTarget(mask=_ellipse((0, 0), (60, 80)), others=(_ellipse((100, 130), (15, 15)),)),
    "two_parts": MaskTarget(
        mask=_ellipse((40, 40), (25, 25)) | _ellipse((90, 120), (20, 30)), others=(_ellipse((60, 80), (30, 9)),)
    ),
    "read_only": MaskTarget(
        mask=_ellipse((60, 80), (30, 50), writeable=False), others=(_ellipse((60, 80), (10, 79), writeable=False),)
    ),
}


def describes_itself(name: str, example: MaskTarget) -> None:
    """It has its registry name, a known defect, difficulties that exist, and complete metadata of one line each."""
    del example
    stressor = registry.load("stressor", name)
    require(isinstance(stressor, MaskStressor), "has name, defect, meta, difficulties, params, choose, render")
    require_described(name, stressor)
    require(stressor.defect in DEFECTS, f"its defect is {stressor.defect!r}, none of {DEFECTS}")
    require(set(stressor.difficulties) <= set(WINDOWS), f"its difficulties are some of {tuple(WINDOWS)}")
    require(bool(stressor.difficulties) == (stressor.defect in WINDOWED), "difficulties where the IoU has a window")


def leaves_its_input_alone(name: str, example: MaskTarget) -> None:
    """The target is unchanged; the output is a new, writeable bool array of its shape."""
    inputs = (example.mask, *example.others)
    before = [mask.tobytes() for mask in inputs]
    for output in (result.output for _, result in _results(name, example)):
        require([mask.tobytes() for mask in inputs] == before, "the target is unchanged")
        require(output.dtype == np.bool_ and output.shape == example.mask.shape, "bool, the target's shape")
        require(output.flags.writeable, "the output may be written to")
        require(not any(np.shares_memory(output, mask) for mask in inputs), "the output is a new array")


def is_decided_by_seed_and_key(name: str, example: MaskTarget) -> None:
    """The same seed and key make the same mask, whatever was drawn in between."""
    first = dict(_results(name, example, seed=5, key="a"))
    masks.stress("masks.erode.v1", example, seed=99)
    second = dict(_results(name, example, seed=5, key="a"))
    require(first.keys() == second.keys(), "what is undefined stays undefined")
    for difficulty, result in first.items():
        same = result.output.tobytes() == second[difficulty].output.tobytes()
        require(same and result.params == second[difficulty].params, f"{difficulty}: same seed and key, same mask")
        require(result.truth == second[difficulty].truth, f"{difficulty}: same seed and key, same truth")


def replays_from_json(name: str, example: MaskTarget) -> None:
    """What was chosen survives JSON and renders the same mask, byte for byte."""
    for _, result in _results(name, example, seed=3):
        params = json.loads(json.dumps(dict(result.params), allow_nan=False))
        require(masks.render(name, example, params).tobytes() == result.output.tobytes(), "the same mask from JSON")


def chooses_apart_from_doing(name: str, example: MaskTarget) -> None:
    """``choose`` gives a frozen dataclass; ``render`` is pure."""
    stressor = registry.load("stressor", name)
    for difficulty in _difficulties(name):
        params = stressor.choose(randomness.generator(1, "contract"), example, difficulty=difficulty)
        if isinstance(params, Undefined):
            continue
        require(type(params) is stressor.params, "parameters are of the class that it names")
        require_frozen(params)
        first, second = (stressor.render(example, params) for _ in range(2))
        require(first.tobytes() == second.tobytes(), "render gives the same twice")


def reports_the_truth(name: str, example: MaskTarget) -> None:
    """The exact IoU, the defect, and difficulty and action as the paper has them."""
    for difficulty, result in _results(name, example, seed=11):
        shared = int((result.output & example.mask).sum())
        joined = int((result.output | example.mask).sum())
        require(result.truth.iou == shared / joined, f"the IoU is {shared / joined}, reported {result.truth.iou}")
        require(result.truth.defect == registry.load("stressor", name).defect, "the reported defect is its own")
        require(result.truth.action in ACTIONS, f"the action is one of {ACTIONS}")
        if result.truth.defect in WINDOWED:
            low, high = WINDOWS[difficulty]
            require(low <= shared / joined <= high, f"{difficulty} means an IoU of {low} to {high}")
            require(result.truth.difficulty == difficulty, "the difficulty is the one asked for")


def refuses_foreign_parameters(name: str, example: MaskTarget) -> None:
    """Parameters that are not its own are an ``InputError``, nothing else."""
    require_refused(lambda params: masks.render(name, example, params), [{"width_px": 1e999}])


def works_somewhere(name: str, example: MaskTarget) -> None:
    """Not everything may be undefined on every example."""
    del example
    require(any(list(_results(name, target)) for target in EXAMPLES.values()), "defined on at least one example")


CHECKS: tuple[Callable[[str, MaskTarget], None], ...] = (
    describes_itself,
    leaves_its_input_alone,
    is_decided_by_seed_and_key,
    replays_from_json,
    chooses_apart_from_doing,
    reports_the_truth,
    refuses_foreign_parameters,
    works_somewhere,
)


def _difficulties(name: str) -> tuple[Difficulty, ...]:
    return registry.load("stressor", name).difficulties or ("medium",)


def _results(
    name: str, example: MaskTarget, *, seed: int = 0, key: str = ""
) -> Iterator[tuple[Difficulty, StressedMask]]:
    for difficulty in _difficulties(name):
        outcome = masks.stress(name, example, difficulty=difficulty, seed=seed, key=key)
        if isinstance(outcome, Scored):
            yield difficulty, outcome.value
