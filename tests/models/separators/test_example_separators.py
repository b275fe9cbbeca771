"""The separators of ``examples/`` run as programs, and give what others got of the same networks."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from auscult.cases.sounds import read_sounds
from auscult.errors import InputError
from auscult.media.sound import read_sound
from auscult.models.separators import Separator, load_separator
from auscult.types import Samples, SoundQuery, Span

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
MOST = 3
NOISE = np.full(4000, 0.1, np.float32)


def program(name: str, argument: str) -> Separator:
    return load_separator("cmd:" + shlex.join([sys.executable, str(EXAMPLES / name), argument]))


def likeness_db(samples: Samples, published: Samples) -> float:
    """SI-SDR of a sound against another one."""
    scaled = published * float(samples @ published) / float(published @ published)
    return float(10 * np.log10(np.sum(scaled**2) / np.sum((samples - scaled) ** 2)))


@pytest.mark.parametrize(
    ("name", "system", "params", "least_db"),
    [
        pytest.param(
            "separate_gtcrn.py", "gtcrn", {"weights": "dns3"}, 33.0, id="gtcrn", marks=pytest.mark.extra_sound
        ),
        pytest.param(
            *("separate_dtln.py", "dtln_quant", {"weights": "int8 dynamic"}, 31.0),
            id="dtln",
            marks=pytest.mark.extra_train,
        ),
    ],
)
def test_speech_enhancers_give_what_others_got_of_them(
    data: Path, name: str, system: str, params: dict[str, str], least_db: float
) -> None:
    if name == "separate_dtln.py" and find_spec("ai_edge_litert") is None:
        pytest.skip("the extra `train` is not installed")
    if find_spec("soundfile") is None:
        pytest.skip("the extra `sound` is not installed")
    root = data / "sound" / "separated"
    lines = [json.loads(line) for line in (root / "items.jsonl").read_text("utf-8").splitlines()]
    chosen_lines = [line for line in lines if (line["system"], line["params"]) == (system, params)][:MOST]
    assert len(chosen_lines) == MOST
    separator = program(name, str(data / "sound" / "nets"))
    try:
        for line in chosen_lines:
            mixture, published = (read_sound(root / line[key]) for key in ("mixture", "separated"))
            output = separator.separate(mixture.samples, SoundQuery(text="speech"), rate_hz=mixture.rate_hz)
            inner = slice(512, -512)
            # 32 to 38 dB is what the published files are rounded to.
            assert likeness_db(output[inner], published.samples[0][inner]) > least_db, line["id"]
        with pytest.raises(InputError, match="8000 Hz"):
            separator.separate(NOISE, SoundQuery(), rate_hz=8000)
    finally:
        separator.close()


def test_any_separator_is_served_as_a_program() -> None:
    separator = program("serve_separator.py", "mixture")
    try:
        stored_sound = np.rint(NOISE * 32768).astype(np.float32) / 32768  # as a file of 16 bits has it
        output = separator.separate(stored_sound, SoundQuery(text="hum", spans=(Span("+", 0.0, 0.1),)), rate_hz=16_000)
        np.testing.assert_array_equal(output, stored_sound)
    finally:
        separator.close()
    oracle = program("serve_separator.py", "irm")
    try:
        with pytest.raises(InputError, match="oracle"):
            oracle.separate(NOISE, SoundQuery(), rate_hz=16_000)
    finally:
        oracle.close()


WRITES = """
import sys
from pathlib import Path
from auscult.media.sound import read_sound
from auscult.media.wav import encode_wav
sound = read_sound(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    samples = sound.samples[:, ::2] if sys.argv[4] == "slow" else sound.samples[:, : int(sys.argv[5])]
    data = encode_wav(samples, sound.rate_hz // 2 if sys.argv[4] == "slow" else sound.rate_hz)
    (Path(sys.argv[2]) / f"track{number}.wav").write_bytes(data)
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("1", "fast", "3900"), None),
        (("2", "slow", "4000"), None),
        (("1", "fast", "100"), "100 samples"),
        (("0", "fast", "1"), "no sound"),
    ],
)
def test_a_command_is_run_for_each_mixture(tmp_path: Path, options: tuple[str, ...], message: str | None) -> None:
    script = tmp_path / "release.py"
    script.write_text(WRITES, "utf-8")
    command = ["separate_by_command.py", sys.executable, str(script), "{mixture}", "{folder}", *options]
    separator = load_separator("cmd:" + shlex.join([sys.executable, str(EXAMPLES / command[0]), *command[1:]]))
    try:
        if message is not None:
            with pytest.raises(InputError, match=message):
                separator.separate(NOISE, SoundQuery(text="hum"), rate_hz=16_000)
            return
        separation = separator.separation(NOISE, SoundQuery(text="hum"), rate_hz=16_000)
        np.testing.assert_allclose(separation.samples[500:3400], 0.1, atol=0.01)
        assert (separation.assignment is not None) is (options[0] == "2")
    finally:
        separator.close()


@pytest.mark.extra_sound
def test_real_mixtures_get_prompts_from_a_tagger(data: Path, tmp_path: Path) -> None:
    if find_spec("soundfile") is None:
        pytest.skip("the extra `sound` is not installed")
    for kind in ("dog_bark", "rain"):
        first = sorted((data / "audio" / "esc10" / kind).iterdir())[0]
        (tmp_path / f"{kind}{first.suffix}").write_bytes(first.read_bytes())
    command = [
        sys.executable,
        str(EXAMPLES / "prompts_of_mixtures.py"),
        str(tmp_path),
        f"mn04@{data / 'sound' / 'nets'}",
    ]
    lines_written = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    (tmp_path / "items.jsonl").write_text(lines_written, "utf-8")
    listing = read_sounds(tmp_path)
    assert not listing.problems
    text_of = {item.id: item.query.text for item in listing.items}
    assert text_of["dog_bark/bark"] == "bark"
    assert text_of["rain/rain"] == "rain"
