"""Names that users' files give, and the bytes behind them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from auscult.errors import InputError, OutputError, TooLarge
from auscult.media.frames import frame_size
from auscult.media.limits import Limits
from auscult.media.masks import object_indices
from auscult.media.paths import inside, read_bytes, safe_name, write_bytes


@pytest.mark.parametrize("name", ["a.png", "frames/a.png", "./a.png", "frames/../a.png", "ä/ö.png", "..a/b", "a b.png"])
def test_a_relative_name_stays_inside(tmp_path: Path, name: str) -> None:
    assert inside(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("/etc/passwd", "absolute"),
        ("C:\\x.png", "absolute"),
        ("\\\\server\\x.png", "absolute"),
        ("../x.png", "leaves"),
        ("a/../../x.png", "leaves"),
        ("..", "leaves"),
        (".", "the folder itself"),
        ("a/..", "the folder itself"),
        ("a\0b", "NUL"),
        ("x" * 256, "too long"),
        ("a/" * 3000 + "b", "too long"),
        ("ab\ud800", "surrogate"),
    ],
)
def test_a_name_that_leaves_is_refused(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        inside(tmp_path, name)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="int"):
        inside(tmp_path, 3)  # type: ignore[arg-type]


def test_links_may_point_inside_but_not_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret.png").write_bytes(b"x")
    (root / "real.png").write_bytes(b"x")
    (root / "good.png").symlink_to(root / "real.png")
    (root / "bad.png").symlink_to(outside / "secret.png")
    (root / "folder").symlink_to(outside)
    assert inside(root, "good.png") == root / "good.png"
    for name in ("bad.png", "folder/secret.png", "folder/new.png", "folder/../outside/secret.png"):
        with pytest.raises(InputError, match="symbolic link"):
            inside(root, name)


def test_a_folder_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data2").mkdir()
    (tmp_path / "data" / "link").symlink_to(tmp_path / "data2")
    with pytest.raises(InputError, match="symbolic link"):
        inside(tmp_path / "data", "link/x.png")


def test_the_root_may_itself_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert inside(tmp_path / "link", "a.png") == tmp_path / "link" / "a.png"


@pytest.mark.parametrize("text", ["frame_0001", "a.b-c", "x" * 100, "00000"])
def test_a_plain_name_is_kept(text: str) -> None:
    assert safe_name(text) == text


def test_any_other_text_becomes_a_plain_name_of_its_own() -> None:
    texts = ["v1/f3/m2", "v1_f3_m2", "v1/f3#m2", "..", ".", "", "../../x", "-rf", ".hidden", "x" * 101, "x" * 5000]
    texts += ["a\0b", "a b", "ä", "ö", "\ud800", "/etc/passwd", "con\n", safe_name("v1/f3/m2")]
    names = [safe_name(text) for text in texts]
    assert len(set(names)) == len(names)
    for name in names:
        assert 1 <= len(name) <= 113
        assert name.isascii()
        assert not set(name) & set("/\\\0\n #%?")
        assert name[0] not in ".-"


def test_reading_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    cases = {"missing": "not exist", "empty": "empty", "loop": "circle", "file/x": "not a folder", "pipe": "pipe"}
    cases |= {".": "folder", "n" * 300: "too long", "a\0b": "no path"}
    for name, words in cases.items():
        with pytest.raises(InputError, match=words) as error:
            read_bytes(tmp_path / name)
        assert error.value.path == str(tmp_path / name)
        assert "picture" not in error.value.expected, "the file may be of any kind"
    with pytest.raises(TooLarge, match="5 bytes"):
        read_bytes(tmp_path / "file", limits=Limits(max_bytes=4))
    assert read_bytes(tmp_path / "file", limits=Limits(max_bytes=5)) == b"12345"


def test_a_file_without_the_right_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "locked"
    path.write_bytes(b"x")

    def denied(*_: object, **__: object) -> None:  # root may read everything, so the rights alone would not do
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    for reader in (read_bytes, frame_size, object_indices):
        with pytest.raises(InputError, match="may not be read") as error:
            reader(path)
        assert error.value.path == str(path)


def test_writing_makes_folders_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / ("n" * 251 + ".png")
    write_bytes(path, b"one")
    write_bytes(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_bytes(b"x")
    with pytest.raises(OutputError) as error:
        write_bytes(tmp_path / "folder", b"data")
    assert error.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OutputError):
        write_bytes(tmp_path / "file" / "y.png", b"data")
