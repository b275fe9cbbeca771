"""Functions of files and modules as models: what is loaded, what they are given, what their answers become."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import strange_models
from asking import SHAPE, STRANGE, question

from auscult.errors import InputError, UsageError
from auscult.models.adapters.calling import Calling, function_of
from auscult.types import Query


def given_back(answer: np.ndarray) -> Calling:
    """A model that gives the same array whatever it is asked."""

    def predict(_frames: np.ndarray, _query: object) -> np.ndarray:
        return answer

    return Calling(predict)


def test_probabilities_are_cut_at_a_half_which_is_in_the_mask() -> None:
    answer = given_back(np.full(SHAPE, 0.5, np.float16))(question())
    assert answer.threshold == 0.5
    assert answer.masks.all()
    below = given_back(np.full(SHAPE, 0.499, np.float32))(question())
    assert not below.masks.any()


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_masks_are_taken_as_they_are(dtype: type) -> None:
    mask_values = np.zeros(SHAPE, dtype)
    mask_values[1, 2, 3] = 1
    answer = given_back(mask_values)(question())
    assert answer.threshold is None
    assert answer.masks.dtype == np.bool_
    assert np.argwhere(answer.masks).tolist() == [[1, 2, 3]]
    assert not np.shares_memory(answer.masks, mask_values)
    assert answer.seconds >= 0


def test_a_photograph_may_be_answered_without_the_number_of_frames() -> None:
    assert given_back(np.ones((4, 5), bool))(question((1, 4, 5))).masks.shape == (1, 4, 5)
    with pytest.raises(InputError, match="of shape"):
        given_back(np.ones((4, 5), bool))(question((2, 4, 5)))


def test_what_a_model_spoils_is_its_own() -> None:
    ask = question()
    sound, mask = ask.sound, ask.first_mask
    assert sound is not None
    assert mask is not None
    before = (sound.copy(), mask.copy(), ask.frames())
    answer = Calling(strange_models.changes_input)(ask)
    assert answer.masks.all()
    for now, then in zip((sound, mask, ask.frames()), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("name", ["good", "soft", "all_inputs", "WithPredict", "OBJECT"])
def test_functions_objects_and_classes_are_asked_with_what_they_take(name: str) -> None:
    answer = Calling(function_of(str(STRANGE), name))(question())
    assert answer.masks.shape == SHAPE
    assert 0 < answer.masks.sum() < answer.masks.size


def test_functions_without_a_signature_and_partial_ones_are_asked() -> None:
    def levelled(frames: np.ndarray, query: object, *, level: int, **guidance: object) -> np.ndarray:
        assert set(guidance) == {"sound", "rate_hz", "first_mask"}
        return frames[..., 0] > level

    assert Calling(partial(levelled, level=255))(question()).masks.sum() == 0


def test_installed_modules_are_imported_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STRANGE.parent))
    assert Calling(function_of("strange_models", "soft"))(question()).threshold == 0.5


@pytest.mark.parametrize(
    ("target", "name", "message"),
    [
        (str(STRANGE), "unknown", r"^\S+strange_models.py: it holds no 'unknown'"),
        (str(STRANGE), "NUMBER", "is of type int"),
        (str(STRANGE), "NeedsArguments", "cannot be made: missing a required argument: 'weights'"),
        ("no.such.module", "predict", "cannot be imported: ModuleNotFoundError"),
        ("nowhere/model.py", "predict", "there is no such f"),
    ],
)
def test_what_cannot_be_loaded_is_said(target: str, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        function_of(target, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def predict(:", "SyntaxError"),
        ("import no_such_package", "no_such_package"),
        ("from os import wings", "wings"),
    ],
)
def test_a_file_that_cannot_be_run_is_said(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=message) as error:
        function_of(str(file), "predict")
    assert error.value.path == str(file)


def test_a_function_that_cannot_be_called_as_a_model_is_refused_before_it_is_asked() -> None:
    with pytest.raises(UsageError, match=r"needs_weights.*cannot be called as a model: missing a required"):
        Calling(strange_models.needs_weights)
    with pytest.raises(UsageError, match="too many positional arguments"):
        Calling(lambda *, frames: frames)


@pytest.mark.parametrize(
    "function",
    [
        lambda text, frames: (text, frames),
        lambda query, frames, **_: (query, frames),
        lambda sound, *, frames: (sound, frames),
    ],
    ids=["text", "query", "sound"],
)
def test_a_function_that_takes_the_frames_elsewhere_is_refused_before_it_is_asked(function: Any) -> None:
    with pytest.raises(UsageError, match=r"does not take the frames first|cannot be called as a model"):
        Calling(function)


def test_a_decorator_that_hides_what_a_function_takes_is_named() -> None:
    def plain(frames: np.ndarray, query: Query) -> np.ndarray:
        return frames[..., 0] > 127

    def decorated(*arguments: Any, **options: Any) -> Any:
        return plain(*arguments, **options)

    with pytest.raises(InputError, match="unexpected keyword argument 'sound'") as error:
        Calling(decorated)(question())
    assert "functools.wraps" in error.value.hint
    assert Calling(wraps(plain)(decorated))(question()).masks.any()


def test_a_type_error_of_the_model_stays_its_own() -> None:
    def wrong(frames: np.ndarray, **_: Any) -> Any:
        return len(frames) + "a"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand"):
        Calling(wrong)(question())


@pytest.mark.parametrize("several", [False, True], ids=["an array", "a list of them"])
def test_a_masked_array_that_hides_something_is_no_answer(several: bool) -> None:
    """What lies under NumPy's mask was decided by nobody; it was taken for the answer."""

    def model(hidden: bool) -> Callable[[np.ndarray], Any]:
        def predict(frames: np.ndarray) -> Any:
            masked_arrays = [np.ma.masked_array(frame[..., 0] > 127, mask=hidden) for frame in frames]
            return masked_arrays if several else np.ma.stack(masked_arrays)

        return predict

    with pytest.raises(InputError, match="a masked array that hides some of its values"):
        Calling(model(True))(question())
    assert Calling(model(False))(question()).masks.any()


class Propagates:
    """Takes the first mask where others take the query."""

    def predict(self, frames: np.ndarray, first_mask: np.ndarray, **_: object) -> np.ndarray:
        return np.broadcast_to(first_mask, frames.shape[:3])


def test_a_function_need_not_take_what_it_does_not_use() -> None:
    ask = question()
    assert ask.first_mask is not None
    light = ask.frames()[..., 0] > 127
    assert (Calling(strange_models.only_frames)(ask).masks == light).all()
    assert (Calling(lambda frames, **_: frames[..., 0] > 127)(ask).masks == light).all()
    assert (Calling(Propagates().predict)(ask).masks == ask.first_mask).all()


def _text_told(*values: object) -> str:
    """The words of the query, and numbers, among what a function was given."""
    return " ".join(str(getattr(value, "text", value)) for value in values if isinstance(value, Query | int))


TAKERS = {
    "second": lambda frames, text: _text_told(text, frames),
    "only by place": lambda frames, text, /: _text_told(text, frames),
    "behind the others": lambda frames, first_mask, query: _text_told(query, frames, first_mask),
    "by name alone": lambda frames, *, query: _text_told(frames, query),
    "of a place further on": lambda frames, level=3, query=None: _text_told(frames, query, level),
    "any place": _text_told,
    "any name": lambda frames, **others: _text_told(frames, others["query"]),
    "a mask first": lambda frames, first_mask, **others: _text_told(frames, first_mask, others["query"]),
}


@pytest.mark.parametrize("signature", TAKERS)
def test_the_query_comes_where_it_is_taken(signature: str) -> None:
    ask = question()
    texts_told: list[str] = []
    function = TAKERS[signature]

    @wraps(function)
    def noting(*arguments: object, **options: object) -> np.ndarray:
        texts_told.append(function(*arguments, **options))
        return np.ones(SHAPE, bool)

    Calling(noting)(ask)
    assert texts_told == [str(ask.query.text) + (" 3" if signature == "of a place further on" else "")]


def test_two_files_of_one_name_do_not_meet_and_neighbours_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    alone = tmp_path / "alone"
    for folder in ("first", "alone"):
        (tmp_path / folder).mkdir()
    (tmp_path / "first" / "neighbour_of_model.py").write_text("LEVEL = 0.25\n", "utf-8")
    first = tmp_path / "first" / "model.py"
    first.write_text(
        "from dataclasses import dataclass\nimport numpy as np\n"
        "@dataclass\nclass Level:\n    at: 'float' = 1.0\n"
        "def predict(frames, query):\n"
        "    from neighbour_of_model import LEVEL\n"
        "    return np.full(frames.shape[:3], LEVEL * Level().at)\n",
        "utf-8",
    )
    (alone / "model.py").write_text("def predict(frames, query):\n    return frames[..., 0] >= 0\n", "utf-8")
    first_model, other = (
        Calling(function_of(str(tmp_path / name / "model.py"), "predict")) for name in ("first", "alone")
    )
    assert not first_model(question()).masks.any()
    assert other(question()).masks.all()
    assert str(tmp_path / "first") in sys.path
    assert str(alone) not in sys.path, "it has no neighbours"
    assert "model" not in sys.modules


def test_closing_twice_is_fine() -> None:
    model = Calling(strange_models.soft)
    model.close()
    model.close()


def test_a_forked_child_never_answers_in_this_process_either() -> None:
    own_pid = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks beside threads
        answer = Calling(strange_models.forks)(question())
    assert os.getpid() == own_pid
    assert not answer.masks.all()
