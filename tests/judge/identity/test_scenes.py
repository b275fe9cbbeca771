"""`identity.scenes.v1` as a whole: what it needs, what it passes over, and that ONNX says what the networks say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, UsageError
from auscult.judge.identity.scenes import (
    CROP,
    IDENTITY,
    NETWORK,
    STEP,
    WORDS,
    Eyes,
    Peak,
    ScenesIdentity,
    calibrated,
    crop,
    small,
    small_size,
)
from auscult.judge.identity.scenes_text import SentenceReader, Vocabulary, read_vocabulary, write_vocabulary
from auscult.rng import generator
from auscult.types import Case, Identity, IdentityCheck, Mask, Prediction, Query

KNOWN = Vocabulary(categories=("bell", "dog", "drum"), colours=("blue", "red"), textures=("plain", "striped"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained networks with their words."""
    torch = pytest.importorskip("torch", reason="the extra `train` is not installed")
    pytest.importorskip("onnx", reason="the extra `train` is not installed")
    from auscult.nets.matcher import Matcher, MatcherSettings
    from auscult.train.matcher.loop import export

    torch.manual_seed(0)
    out = tmp_path_factory.mktemp("weights")
    net = Matcher(MatcherSettings(categories=3, colours=2, textures=2)).eval()
    export(net, out / NETWORK)
    write_vocabulary(KNOWN, out / WORDS)
    return out


def case_and_mask(text: str | None, *, mask: bool = True) -> tuple[Case, Prediction]:
    frame = generator(0, "frame").integers(0, 255, (120, 200, 3), dtype=np.uint8)
    drawn_mask = np.zeros((120, 200), bool)
    drawn_mask[40:90, 60:130] = mask
    return Case(id="one", frame=frame, query=Query(text)), Prediction(mask=drawn_mask)


class SureEyes(Eyes):
    """Eyes that name everything rightly: dogs, and a bell on the far right, each at its place."""

    def __init__(self, *dogs: float, bell: float = 0.9) -> None:
        self.words, self.reader = KNOWN, SentenceReader(KNOWN)
        self._peaks = [self._peak(x, "dog") for x in dogs] + [self._peak(bell, "bell")]

    def _peak(self, x: float, name: str) -> Peak:
        words = np.zeros(7, np.float32)
        words[KNOWN.categories.index(name)] = 12.0
        return Peak(x=x, y=0.5, share=0.002, height=0.999, words=words)

    def look(self, _frame: object, mask: Mask) -> tuple[list[Peak], np.ndarray[tuple[int], np.dtype[np.float32]]]:
        x = float(np.nonzero(mask)[1].mean()) / mask.shape[1]
        return self._peaks, min(self._peaks, key=lambda peak: abs(peak.x - x)).words


def identity_at(text: str, x: float, *dogs: float) -> Identity | None:
    """What is said of a mask on the thing at a place, of a frame with some dogs and a bell on the far right."""
    mask = np.zeros((100, 400), bool)
    mask[44:56, round(x * 400) - 6 : round(x * 400) + 6] = True
    case = Case(id="one", frame=np.zeros((100, 400, 3), np.uint8), query=Query(text))
    return ScenesIdentity(eyes=SureEyes(*dogs))(case, Prediction(mask=mask))


def test_sure_eyes_say_yes_and_no() -> None:
    yes, no = identity_at("the dog", 0.2, 0.2), identity_at("the dog", 0.9, 0.2)
    assert yes is not None
    assert yes.match > 0.95
    assert no is not None
    assert no.match < 0.05


@pytest.mark.parametrize("text", ["the puppy", "the animal", "the person", "the dog house", "the red puppy"])
@pytest.mark.parametrize("x", [0.2, 0.9])
def test_a_strange_noun_is_no_reason_to_refuse(text: str, x: float) -> None:
    assert identity_at(text, x, 0.2) is None


def test_a_strange_noun_is_refused_where_its_place_is_another() -> None:
    assert identity_at("the apricot on the left", 0.2, 0.2) is None
    identity = identity_at("the apricot on the left", 0.9, 0.5)
    assert identity is not None
    assert identity.match < 0.05
    assert identity.exists == "unchecked"  # an apricot may be there that the networks do not find
    assert "'apricot' is not known" in identity.note
    assert identity_at("the dog to the left of the apricot", 0.5, 0.5) is None  # it may be left of what nobody found


@pytest.mark.parametrize(
    "text",
    [
        "the dog that makes a sound",
        "the dog that is moving",
        "the loudest dog",
        "the dog in front of the bell",
        "the rusty dog",
    ],
)
def test_what_was_not_looked_at_is_no_silent_yes(text: str) -> None:
    assert identity_at(text, 0.2, 0.2) is None
    assert identity_at(text, 0.2, 0.2, 0.6) is None
    assert (
        identity_at(text, 0.1, *(0.1 + 0.1 * index for index in range(7))) is None
    )  # one of seven is unlikely, and not ruled out
    identity = identity_at(text, 0.9, 0.2)
    assert identity is not None  # a bell is no dog, whatever it does
    assert identity.match < 0.05
    assert "not looked at" in identity.note or "not known" in identity.note


def test_weights_are_tried_before_anything_is_judged(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no weights"):
        ScenesIdentity(weights=tmp_path).ready()
    (tmp_path / NETWORK).write_bytes(b"no network")
    write_vocabulary(KNOWN, tmp_path / WORDS)
    with pytest.raises(UsageError, match="cannot be opened"):
        ScenesIdentity(weights=tmp_path).ready()


@pytest.mark.extra_train
def test_a_network_and_words_that_do_not_fit_are_refused(folder: Path, tmp_path: Path) -> None:
    ScenesIdentity(weights=folder).ready()
    (tmp_path / NETWORK).write_bytes((folder / NETWORK).read_bytes())
    write_vocabulary(replace(KNOWN, categories=("bell", "dog")), tmp_path / WORDS)
    with pytest.raises(UsageError, match="gives 7 words, and its vocabulary has 6"):
        ScenesIdentity(weights=tmp_path).ready()
    (tmp_path / WORDS).write_text("{}")
    with pytest.raises(UsageError, match="vocabulary cannot be read"):
        ScenesIdentity(weights=tmp_path).ready()


def test_it_is_an_identity_check() -> None:
    assert isinstance(IDENTITY, IdentityCheck)
    assert IDENTITY.name == "identity.scenes.v1"


def test_without_text_or_mask_nothing_is_opened(tmp_path: Path) -> None:
    check = ScenesIdentity(weights=tmp_path / "nowhere")
    assert check(*case_and_mask(None)) is None
    assert check(*case_and_mask("the dog", mask=False)) is None


def test_without_weights_it_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        ScenesIdentity(weights=tmp_path)(*case_and_mask("the dog"))
    assert "scenes-identity" in error.value.hint
    assert str(error.value.path).endswith(NETWORK)


@pytest.mark.extra_train
def test_untrained_networks_still_keep_the_rules(folder: Path) -> None:
    check = ScenesIdentity(weights=folder)
    for text in ("the dog", "the leftmost bell", "the dog to the left of the drum", "the red thing"):
        identity = check(*case_and_mask(text))
        assert isinstance(identity, Identity)
        assert 0 <= identity.match <= 1
        assert identity == check(*case_and_mask(text))
        assert identity.note
        assert not identity.sound


@pytest.mark.extra_train
def test_what_one_frame_cannot_show_is_passed_over(folder: Path) -> None:
    check = ScenesIdentity(weights=folder)
    for text in ("the one that makes a sound", "the thing that moves to the left", "", "dog " * 100):
        assert check(*case_and_mask(text)) is None


@pytest.mark.extra_train
def test_a_strange_word_is_passed_over(folder: Path) -> None:
    assert ScenesIdentity(weights=folder)(*case_and_mask("the apricot")) is None


@pytest.mark.extra_train
def test_onnx_says_what_the_networks_say(folder: Path) -> None:
    import onnxruntime
    import torch

    from auscult.nets.matcher import Matcher, MatcherSettings

    torch.manual_seed(0)
    net = Matcher(MatcherSettings(categories=3, colours=2, textures=2)).eval()
    session = onnxruntime.InferenceSession(str(folder / NETWORK), providers=["CPUExecutionProvider"])
    for size, crops in (((144, 256), 1), ((192, 192), 3)):
        frame, crop_batch = torch.rand(1, 3, *size), torch.rand(crops, 4, CROP, CROP)
        with torch.no_grad():
            expected = net(frame, crop_batch)
        outputs = session.run(["centres", "seen", "names"], {"frame": frame.numpy(), "crop": crop_batch.numpy()})
        for expected_output, right in zip(expected, outputs, strict=True):
            assert np.abs(expected_output.numpy() - right).max() < 1e-4


def test_a_vocabulary_is_read_as_it_was_written(tmp_path: Path) -> None:
    words = Vocabulary(
        categories=("dog",), colours=("red",), textures=("plain",), voices=(("bark", "barks", "dog"),), slope=0.7
    )
    assert read_vocabulary(write_vocabulary(words, tmp_path / WORDS)) == words
    (tmp_path / WORDS).write_text("{}", encoding="utf-8")
    with pytest.raises(InputError):
        read_vocabulary(tmp_path / WORDS)


@pytest.mark.parametrize("size", [(480, 854), (854, 480), (640, 480), (33, 900), (12, 12)])
def test_the_small_frame_keeps_its_shape_and_about_its_pixels(size: tuple[int, int]) -> None:
    height, width = small_size(*size)
    assert height % STEP == width % STEP == 0
    assert small(np.zeros((*size, 3), np.uint8)).shape == (height, width, 3)
    if 0.25 <= size[0] / size[1] <= 4:
        assert height * width == pytest.approx(144 * 256, rel=0.15)
        assert height / width == pytest.approx(size[0] / size[1], rel=0.15)


def test_a_crop_reaches_beyond_the_frame_and_an_empty_mask_has_none() -> None:
    frame = np.full((60, 80, 3), 200, np.uint8)
    mask = np.zeros((60, 80), bool)
    with pytest.raises(ValueError, match="no crop"):
        crop(frame, mask)
    mask[:, :30] = True
    crop_found = crop(frame, mask)
    assert crop_found.shape == (CROP, CROP, 4)
    assert set(np.unique(crop_found[..., 3])) == {0, 255}
    assert (crop_found[..., :3] == 0).any()


def test_the_curve_rises_and_stays_a_probability() -> None:
    words = Vocabulary(categories=("dog",), colours=("red",), textures=("plain",), slope=0.8, offset=-0.3)
    values = [calibrated(raw, words) for raw in np.linspace(0, 1, 21)]
    assert values == sorted(values)
    assert 0 < values[0] < values[-1] < 1
