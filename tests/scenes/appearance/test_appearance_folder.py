"""A user's folder of cut-outs and photographs."""

from __future__ import annotations

import shutil
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from auscult.errors import InputError, UsageError
from auscult.rng import generator
from auscult.scenes.appearance.folder import covering, open_assets, resampled


def _disc(size: int = 40, tone: tuple[int, int, int] = (190, 30, 30)) -> np.ndarray:
    side = np.arange(size) + 0.5 - size / 2
    alpha = np.clip(size * 0.4 - np.hypot(side[:, None], side[None, :]) + 0.5, 0, 1)
    rgba = np.zeros((size, size, 4), np.uint8)
    rgba[..., :3] = np.where(alpha[..., None] > 0, tone, (255, 255, 255))
    rgba[..., 3] = np.rint(alpha * 255)
    return rgba


def _save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    _save(tmp_path / "cutouts/red_ball/one.png", _disc())
    _save(tmp_path / "cutouts/red_ball/two.png", _disc(60))
    _save(tmp_path / "cutouts/listed.png", _disc(50, (40, 60, 200)))
    (tmp_path / "cutouts/names.csv").write_text("file,name\nlisted.png,kite\n", encoding="utf-8")
    _save(tmp_path / "backgrounds/wide.jpg", rng.integers(0, 255, (90, 200, 3), np.uint8))
    return tmp_path


def test_names_colours_sizes(root: Path) -> None:
    assets, errors = open_assets(root)
    assert errors == ()
    assert assets.instances() == {"kite": ("listed.png",), "red ball": ("red_ball/one.png", "red_ball/two.png")}
    assert assets.backgrounds() == ("wide.jpg",)
    look = assets.look(generator(1), "red ball", instance="red_ball/one.png")
    assert (look.colour, look.texture, look.aspect) == ("red", None, 1.0)
    assert assets.look(generator(1), "kite", instance="listed.png").colour == "blue"
    assert look.params["tallest_px"] == 48  # one and a half times 32
    with pytest.raises(InputError, match="height"):
        assets.sprite(look, height_px=49)


@pytest.mark.parametrize(("height_px", "turn_deg"), [(1, 0.0), (7, 33.0), (32, 0.0), (32, 90.0), (48, 200.0)])
def test_sprites_have_the_size_and_no_hidden_colour(root: Path, height_px: int, turn_deg: float) -> None:
    assets, _ = open_assets(root)
    look = assets.look(generator(1), "red ball", instance="red_ball/one.png")
    sprite = assets.sprite(look, height_px=height_px, turn_deg=turn_deg)
    rows, columns = np.nonzero(sprite.alpha >= 128)
    assert np.ptp(rows) + 1 == pytest.approx(height_px, abs=1.5)
    assert (rows.min() + rows.max() + 1) / 2 == pytest.approx(sprite.alpha.shape[0] / 2, abs=1)
    assert (columns.min() + columns.max() + 1) / 2 == pytest.approx(sprite.alpha.shape[1] / 2, abs=1)
    assert sprite.rgb[..., 1].max() <= 40, "the white under the transparent part never shows"


def test_same_size_is_the_same_picture() -> None:
    rgba = _disc()
    sprite = resampled(rgba, height_px=32, turn_deg=0.0)
    inner = slice((sprite.alpha.shape[0] - 32) // 2, (sprite.alpha.shape[0] + 32) // 2)
    difference = sprite.alpha[inner, inner].astype(int) - rgba[4:36, 4:36, 3]
    assert np.abs(difference).max() <= 24, "resampling softens the edge a little"
    assert abs(difference.mean()) < 0.5
    sides = [difference[:16].mean() - difference[16:].mean(), difference[:, :16].mean() - difference[:, 16:].mean()]
    assert np.abs(sides).max() < 0.5, "and moves nothing"


def test_what_cannot_be_used_is_named(root: Path) -> None:
    empty = _disc()
    empty[..., 3] = 0
    opaque = _disc()
    opaque[..., 3] = 255
    bad = {
        "ball/empty.png": empty,
        "ball/opaque.png": opaque,
        "ball/dot.png": np.full((1, 1, 4), 255, np.uint8),
        "ball/photo.jpg": _disc()[..., :3],
        "nameless.png": _disc(),
    }
    for name, pixels in bad.items():
        _save(root / "cutouts" / name, pixels)
    (root / "cutouts/ball/broken.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    _save(root / "backgrounds/dot.png", np.zeros((1, 1, 3), np.uint8))
    (root / "backgrounds/broken.jpg").write_bytes(b"no picture")
    (root / "backgrounds/LICENCE.txt").write_text("ours", encoding="utf-8")
    assets, errors = open_assets(root)
    assert sorted(assets.instances()) == ["kite", "red ball"]
    named_paths = {str(Path(str(error.path)).relative_to(root)) for error in errors}
    expected = {f"cutouts/{name}" for name in bad} | {"cutouts/ball/broken.png"}
    assert named_paths == expected | {"backgrounds/dot.png", "backgrounds/broken.jpg"}
    assert all(error.error and error.expected for error in errors)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\xff\xfe", "file,name\nlisted.png\n", "file,name\n\x00,b\n"])
def test_broken_lists_cost_only_their_names(root: Path, text: str) -> None:
    (root / "cutouts/names.csv").write_text(text, encoding="latin-1")
    assets, errors = open_assets(root)
    assert list(assets.instances()) == ["red ball"]
    assert any(str(error.path).endswith("listed.png") for error in errors)


def test_upper_and_lower_case_are_one_category(root: Path) -> None:
    _save(root / "cutouts/Red Ball/three.png", _disc(70))
    (root / "cutouts/names.csv").write_text("file,name\nlisted.png,KITE\n", encoding="utf-8")
    (root / "backgrounds/names.csv").write_text("file,name\nwide.jpg,Fire_Engine\n", encoding="utf-8")
    assets, errors = open_assets(root)
    assert errors == ()
    assert {category: len(files) for category, files in assets.instances().items()} == {"kite": 1, "red ball": 3}
    assert assets.held("wide.jpg") == {"fire engine"}


def test_an_accent_is_spelled_one_way(root: Path) -> None:
    _save(root / "cutouts/caf\u00e9/a.png", _disc(70))
    _save(root / "cutouts/cafe\u0301/b.png", _disc(72))
    assets, _ = open_assets(root)
    assert len(assets.instances()["caf\u00e9"]) == 2


@pytest.mark.parametrize("name", ["thing", "the ball", "A_ball", "red object", "One", "items", "something"])
def test_names_that_no_sentence_can_use_are_refused(root: Path, name: str) -> None:
    _save(root / "cutouts" / name / "a.png", _disc(70))
    _save(root / "cutouts" / "scissors" / "a.png", _disc(80))
    (root / "backgrounds/names.csv").write_text(f"file,name\nwide.jpg,{name}\n", encoding="utf-8")
    assets, errors = open_assets(root)
    assert sorted(assets.instances()) == ["kite", "red ball", "scissors"]
    assert [Path(str(error.path)).name for error in errors] == ["a.png", "names.csv"]
    assert all(repr(name.replace("_", " ").lower()) in error.error and "noun" in error.expected for error in errors)


def test_a_repeated_picture_is_left_out_and_both_are_named(root: Path) -> None:
    shutil.copy(root / "cutouts/red_ball/one.png", root / "cutouts/red_ball/three.png")
    Image.fromarray(_disc(60)).save(root / "cutouts/red_ball/two.tif")
    (root / "cutouts/sphere").mkdir()
    (root / "cutouts/sphere/link.png").symlink_to("../red_ball/two.png")
    shutil.copy(root / "backgrounds/wide.jpg", root / "backgrounds/x.jpg")
    assets, errors = open_assets(root)
    assert assets.instances() == {"kite": ("listed.png",), "red ball": ("red_ball/one.png", "red_ball/two.png")}
    assert assets.backgrounds() == ("wide.jpg",)
    error_of = {Path(str(error.path)).name: error.error for error in errors}
    assert {name: text.rsplit(maxsplit=1)[-1] for name, text in error_of.items()} == {
        "three.png": "'red_ball/one.png'",
        "two.tif": "'red_ball/two.png'",
        "link.png": "'red_ball/two.png'",
        "x.jpg": "'wide.jpg'",
    }


def test_a_copy_of_a_broken_file_is_no_repeat(root: Path) -> None:
    """What an unusable file holds was not used, so it costs no other one."""
    opaque = np.full((40, 40, 4), 255, np.uint8)
    _save(root / "cutouts/cup/opaque.png", opaque)
    _save(root / "cutouts/drum/opaque.png", opaque)
    _, errors = open_assets(root)
    assert ["opaque everywhere" in error.error for error in errors] == [True, True]


def test_rows_without_use_are_named_with_their_line(root: Path) -> None:
    (root / "cutouts/names.csv").write_text("file,name\nlisted.png,kite\ngone.png,car\nlisted.png,cup\n")
    (root / "backgrounds/names.csv").write_text("file,name\nwide.jpg,cup\nwide.jpg,car\nnone.jpg,cat\nwide.jpg,\n")
    assets, errors = open_assets(root)
    assert assets.instances()["kite"] == ("listed.png",)
    assert assets.held("wide.jpg") == {"cup", "car"}
    error_lines = [(Path(str(error.path)).parent.name, error.line, error.error) for error in errors]
    assert [(folder, line) for folder, line, _ in error_lines] == [
        ("cutouts", 3),
        ("cutouts", 4),
        ("backgrounds", 4),
        ("backgrounds", 5),
    ]
    assert "'gone.png'" in error_lines[0][2]
    assert "line 2" in error_lines[1][2]


def test_a_folder_named_by_a_dot_has_its_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assets, _ = open_assets(Path())
    assert assets.name == root.name


def test_a_cutout_of_a_hundred_megapixels_is_left_out_before_it_is_decoded(root: Path) -> None:
    vast = bytearray((root / "cutouts/red_ball/one.png").read_bytes())
    vast[16:24] = struct.pack(">II", 9948, 9948)
    vast[29:33] = struct.pack(">I", zlib.crc32(vast[12:29]))
    (root / "cutouts/red_ball/vast.png").write_bytes(vast)
    _, errors = open_assets(root)
    ((path, error),) = [(Path(str(error.path)).name, error.error) for error in errors]
    assert path == "vast.png"
    assert "98,962,704 pixels" in error


def test_nothing_to_use_says_so(root: Path) -> None:
    shutil.rmtree(root / "backgrounds")
    with pytest.raises(UsageError, match="no such folder"):
        open_assets(root)
    (root / "backgrounds").mkdir()
    with pytest.raises(UsageError, match="nothing to use"):
        open_assets(root)


def test_links_out_of_the_folder_are_refused(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.png"
    _save(outside, _disc())
    (root / "cutouts/red_ball/link.png").symlink_to(outside)
    assets, errors = open_assets(root)
    assert "red_ball/link.png" not in assets.instances()["red ball"]
    assert any("link" in str(error.path) for error in errors)


@pytest.mark.parametrize("size", [(90, 160), (30, 300), (300, 30), (1, 1)])
def test_photographs_cover(size: tuple[int, int]) -> None:
    photograph = np.random.default_rng(0).integers(0, 255, (70, 120, 3), np.uint8)
    assert covering(photograph, size=size).shape == (*size, 3)


def test_covering_takes_the_middle() -> None:
    ramp = np.repeat(np.arange(200, dtype=np.uint8)[None, :, None], 100, axis=0).repeat(3, axis=2)
    covered_ramp = covering(ramp, size=(100, 100))
    assert (int(covered_ramp[50, 0, 0]), int(covered_ramp[50, -1, 0])) == (50, 149)


def test_threads_change_nothing(root: Path) -> None:
    assets, _ = open_assets(root)
    look = assets.look(generator(1), "red ball", instance="red_ball/two.png")
    before = cv2.getNumThreads()
    try:
        sprite_bytes = []
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            sprite = assets.sprite(look, height_px=41, turn_deg=17.0)
            sprite_bytes.append(
                sprite.rgb.tobytes() + sprite.alpha.tobytes() + assets.background("wide.jpg", size=(480, 854)).tobytes()
            )
    finally:
        cv2.setNumThreads(before)
    assert sprite_bytes[0] == sprite_bytes[1]


def test_real_stamps(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "images/stamps_gpl2/food", tmp_path / "cutouts")
    first = sorted((data / "images/coco/images").iterdir())[:2]
    (tmp_path / "backgrounds").mkdir()
    for path in first:
        shutil.copy(path, tmp_path / "backgrounds")
    assets, errors = open_assets(tmp_path)
    assert errors == ()
    colours = {
        name: assets.look(generator(1), category, instance=name).colour
        for category, names in assets.instances().items()
        for name in names
    }
    assert colours["fruit/Cherry_Stella.png"] == "red"
    assert colours["fruit/mandarine.png"] == "orange"
    assert colours["vegetables/broccoli.png"] == "green"
