"""Programs as models: what they are sent, that nothing of it stays, that a command line is no shell's."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from asking import RATE_HZ, question

from auscult.errors import InputError, UsageError
from auscult.media.rle import decode
from auscult.media.sound import read_sound
from auscult.models.adapters.command import Broken, Hearing, Program, silence_of, words_of
from auscult.models.adapters.folder import stored_png
from auscult.rng import generator
from auscult.types import Query

# Keeps what it was sent where its argument says, and answers with the first mask in every frame.
KEEPS = """
import json, shutil, sys
for number, line in enumerate(sys.stdin):
    question = json.loads(line)
    place = sys.argv[1] + "/" + str(number)
    shutil.copytree(question["frames"][0].rpartition("/")[0], place)
    with open(place + "/question.json", "w") as file:
        file.write(line)
    mask = question["first_mask"]
    if mask is None:
        print(json.dumps({"id": question["id"], "error": "no mask \\u00df\\x1b[31m"}), flush=True)
    else:
        print(json.dumps({"id": question["id"], "masks": [mask] * len(question["frames"])}), flush=True)
"""


def keeping(folder: Path) -> Program:
    script = folder / "my model.py"
    script.write_text(KEEPS, "utf-8")
    return Program(shlex.join([sys.executable, "-I", "-S", str(script), str(folder)]))


def test_a_program_gets_the_frames_the_sound_and_the_mask_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    program = keeping(tmp_path)
    ask = question((2, 7, 9), names=("frame one", "../../etc/passwd"), query=Query("the caf\u00e9"))
    answer = program(ask)
    np.testing.assert_array_equal(answer.masks, np.stack([ask.first_mask] * 2))
    assert answer.threshold is None
    sent = json.loads((tmp_path / "0" / "question.json").read_text("utf-8"))
    assert sent["text"] == "the caf\u00e9"
    assert sent["rate_hz"] == RATE_HZ
    np.testing.assert_array_equal(decode(sent["first_mask"]), ask.first_mask)
    for path, frame in zip(sent["frames"], ask.frames(), strict=True):
        assert Path(path).parent.parent == scratch
        kept = cv2.imread(str(tmp_path / "0" / Path(path).name))
        np.testing.assert_array_equal(kept[..., ::-1], frame)
    sound = read_sound(tmp_path / "0" / Path(sent["audio"]).name)
    np.testing.assert_allclose(sound.samples, ask.sound, atol=2 / 32767)
    assert not list(scratch.iterdir())
    program.close()
    program.close()


def test_what_a_task_has_none_of_is_null_and_an_error_is_the_cases(tmp_path: Path) -> None:
    program = keeping(tmp_path)
    with pytest.raises(InputError, match=r"the program says: 'no mask \\xdf\\x1b\[31m'"):
        program(question(sound=None, rate_hz=None, first_mask=None, query=Query()))
    assert program(question()).masks.any()
    sent = [json.loads((tmp_path / number / "question.json").read_text("utf-8")) for number in "01"]
    assert [sent[0][key] for key in ("text", "audio", "rate_hz", "first_mask")] == [None] * 4
    assert sent[0]["id"] != sent[1]["id"], "the same case asked again is another question"
    program.close()


@pytest.mark.parametrize(
    ("line", "says"),
    [("", "without a program"), ("python 'model.py", "No closing quotation"), ("no-such-program-xyz", "no program")],
)
def test_a_command_that_cannot_be_run_is_said(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Program(line)


def test_a_file_that_is_no_program_is_said(tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_bytes(b"\x7fELF of another machine")
    file.chmod(0o755)
    with pytest.raises(UsageError, match="cannot be started"):
        Program(str(file))


ANSWER = '{"id": "v1/f3#1", "masks": [{"size": [1, 1], "counts": [1]}]}'


@pytest.mark.parametrize(
    ("lines", "unread", "says"),
    [
        (["50 %|##  | " + ANSWER], "", r"looks like an answer and does not begin with {: 50 %\|##  \| {\"id\""),
        (['[{"size": [1, 1], "counts": [1]}]'], "", "looks like an answer"),
        ([], ANSWER, "an answer without a line break"),
        ([], ANSWER[:-1], "what is no answer, and then nothing for 0.02 s"),
        (["asked about v1/f3#1", "[480, 854]", "[INFO] masks", '{"x"'], "", "what is no answer"),
        (["x" * 150, "x" * 150], "", "more than 300 bytes without an answer"),
    ],
    ids=["behind text", "list of masks", "no line break", "unfinished", "talk", "too much"],
)
def test_what_a_program_says_that_is_no_answer_ends_the_wait(lines: list[str], unread: str, says: str) -> None:
    hearing = Hearing(key="v1/f3#1", silence_s=0.02, most_bytes=300)
    for line in lines:
        hearing.take(line.encode())
    time.sleep(0.03)
    with pytest.raises(Broken, match=says) as caught:
        hearing.check(bytearray(unread.encode()))
    assert caught.value.hint


@pytest.mark.parametrize("line", ["[[12.5, 3.0, 40.0, 30.0]]", '[{"label": "dog", "score": 0.9}]', "[]", "[1, 2]"])
def test_a_list_that_is_no_answer_is_talk(line: str) -> None:
    hearing = Hearing(key="v1/f3#1", silence_s=30, most_bytes=300)
    hearing.take(line.encode())
    hearing._heard_at -= 5  # five seconds of silence
    hearing.check(bytearray())


def test_a_program_that_says_nothing_is_waited_for() -> None:
    hearing = Hearing(key="v1/f3#1", silence_s=0.02, most_bytes=300)
    time.sleep(0.03)
    hearing.check(bytearray())
    hearing.take(ANSWER.encode()[1:])
    hearing.heard()
    hearing.check(bytearray(b"more"))  # it has just spoken


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["behind text", "no line break", "list of masks"])
def test_a_spoilt_answer_costs_a_second(mode: str) -> None:
    script = Path(__file__).with_name("strange_program.py")
    program = Program(shlex.join([sys.executable, "-I", "-S", str(script), mode]), silence_s=30)
    begun = time.monotonic()
    with pytest.raises(InputError, match=r"the program '.*strange_program.py': it wrote .*answer"):
        program(question())
    program.close()
    assert time.monotonic() - begun < 5


def test_last_words_are_few(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text("import sys\nsys.stderr.write(('a' * 2000 + chr(10)) * 20 + 'no weights')\nsys.exit(1)", "utf-8")
    program = Program(shlex.join([sys.executable, "-I", "-S", str(script)]))
    with pytest.raises(InputError, match=r"model.py'.*exit status 1.*no weights") as caught:
        program(question())
    assert len(caught.value.message) < 500


@pytest.mark.parametrize(("timeout_s", "silence_s"), [(None, 120), (600, 120), (10, 8)])
def test_a_program_speaks_before_its_worker_is_stopped(timeout_s: float | None, silence_s: float) -> None:
    assert silence_of(timeout_s) == silence_s


def test_there_is_no_shell() -> None:
    assert words_of("python 'my model.py' $HOME `id` ; rm *") == (
        "python",
        "my model.py",
        "$HOME",
        "`id`",
        ";",
        "rm",
        "*",
    )


@pytest.mark.parametrize("size", [(1, 1), (1, 70_000), (37, 53), (480, 854)])
def test_frames_are_written_without_loss(size: tuple[int, int]) -> None:
    frame = generator(0, "png").integers(0, 256, (*size, 3), dtype=np.uint8)
    for given in (frame, frame[::-1, ::-1]):
        data = np.frombuffer(stored_png(given), np.uint8)
        np.testing.assert_array_equal(cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1], given)


def test_what_is_no_frame_is_not_written() -> None:
    with pytest.raises(ValueError, match="a frame is uint8"):
        stored_png(np.zeros((4, 4), np.uint8))
