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
from auscult.media.frames import stored_png
from auscult.media.rle import decode
from auscult.media.sound import read_sound
from auscult.models.adapters.calling import Program
from auscult.rng import generator
from auscult.types import Query
from auscult.work.line_program import words_of

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
    question_sent = json.loads((tmp_path / "0" / "question.json").read_text("utf-8"))
    assert question_sent["text"] == "the caf\u00e9"
    assert question_sent["rate_hz"] == RATE_HZ
    np.testing.assert_array_equal(decode(question_sent["first_mask"]), ask.first_mask)
    for path, frame in zip(question_sent["frames"], ask.frames(), strict=True):
        assert Path(path).parent.parent == scratch
        frame_written = cv2.imread(str(tmp_path / "0" / Path(path).name))
        np.testing.assert_array_equal(frame_written[..., ::-1], frame)
    sound = read_sound(tmp_path / "0" / Path(question_sent["audio"]).name)
    np.testing.assert_allclose(sound.samples, ask.sound, atol=2 / 32767)
    assert not list(scratch.iterdir())
    program.close()
    program.close()


def test_what_a_task_has_none_of_is_null_and_an_error_is_the_cases(tmp_path: Path) -> None:
    program = keeping(tmp_path)
    with pytest.raises(InputError, match=r"the program says: 'no mask \\xdf\\x1b\[31m'"):
        program(question(sound=None, rate_hz=None, first_mask=None, query=Query()))
    assert program(question()).masks.any()
    questions_sent = [json.loads((tmp_path / number / "question.json").read_text("utf-8")) for number in "01"]
    assert [questions_sent[0][key] for key in ("text", "audio", "rate_hz", "first_mask")] == [None] * 4
    assert questions_sent[0]["id"] != questions_sent[1]["id"], "the same case asked again is another question"
    program.close()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "without a program"),
        ("python 'model.py", "No closing quotation"),
        ("no-such-program-xyz", "cannot be started"),
    ],
)
def test_a_command_that_cannot_be_run_is_said(line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Program(line)


def test_a_file_that_is_no_program_is_said(tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_bytes(b"\x7fELF of another machine")
    file.chmod(0o755)
    with pytest.raises(UsageError, match="cannot be started"):
        Program(str(file))


@pytest.mark.parametrize("mode", ["banner", "talk", "behind text", "no line break", "list of masks"])
def test_a_line_that_is_no_answer_costs_a_second(mode: str) -> None:
    script = Path(__file__).with_name("strange_program.py")
    program = Program(shlex.join([sys.executable, "-I", "-S", str(script), mode]))
    start_s = time.monotonic()
    with pytest.raises(InputError, match=r"the program '.*strange_program.py': it wrote a line") as error:
        program(question())
    program.close()
    assert "standard error output" in error.value.hint
    assert time.monotonic() - start_s < 20


SLOW = """
import json, sys, time
for line in sys.stdin:
    question = json.loads(line)
    mask = json.dumps(question["first_mask"])
    sys.stdout.write('\\n{"id": ' + json.dumps(question["id"]) + ', "masks": [' + mask)
    sys.stdout.flush()
    time.sleep(1.5)
    sys.stdout.write(", " + mask + "]}")
    sys.stdout.flush()
    time.sleep(0.3)
    sys.stdout.write("\\r\\n\\n")
    sys.stdout.flush()
"""


def test_an_answer_may_come_in_pieces_between_empty_lines(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text(SLOW, "utf-8")
    program = Program(shlex.join([sys.executable, "-I", "-S", str(script)]))
    for _ in range(2):
        assert program(question((2, 7, 9))).masks.any()
    program.close()


def test_last_words_are_few(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text("import sys\nsys.stderr.write(('a' * 2000 + chr(10)) * 20 + 'no weights')\nsys.exit(1)", "utf-8")
    program = Program(shlex.join([sys.executable, "-I", "-S", str(script)]))
    with pytest.raises(InputError, match=r"model.py'.*exit status 1.*no weights") as error:
        program(question())
    assert len(error.value.message) < 500


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
    for frame_given in (frame, frame[::-1, ::-1]):
        data = np.frombuffer(stored_png(frame_given), np.uint8)
        np.testing.assert_array_equal(cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1], frame_given)


def test_what_is_no_frame_is_not_written() -> None:
    with pytest.raises(ValueError, match="a frame is uint8"):
        stored_png(np.zeros((4, 4), np.uint8))
