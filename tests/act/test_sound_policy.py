"""Actions for separated sounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auscult.act.sound_policy import decide_sound, load_sound_policy
from auscult.errors import AuscultError
from auscult.types import PERFORMANCE, SoundEvidence, SoundVerdict


def sound_verdict(overall: float | None, low: float | None = None, weakest: float | None = None) -> SoundVerdict:
    scores: dict[str, Any] = {f"{axis}{end}": overall for axis in PERFORMANCE for end in ("", "_low", "_high")}
    scores |= {"precision": overall if weakest is None else weakest, "overall_low": overall if low is None else low}
    return SoundVerdict(
        id="a", **scores, difficulty={}, evidence=SoundEvidence(), rationale="So.", judge="sound.any.v1"
    )


@pytest.mark.parametrize(
    ("scores", "expected_action"),
    [
        ((4.5, 3.5, 3.5), "accept"),
        ((4.5, 3.4999, 4.5), "minor_revision"),
        ((4.5, 4.0, 3.4), "minor_revision"),
        ((3.4999, 3.4, 3.4), "major_revision"),
        ((2.5, 1.0, 1.0), "major_revision"),
        ((2.4999, 1.0, 5.0), "reject"),
        ((None, None, None), "unjudged"),
    ],
)
def test_the_default_goes_by_the_lower_end_and_the_weakest_axis(
    scores: tuple[float, ...], expected_action: str
) -> None:
    assert decide_sound(sound_verdict(*scores)).action == expected_action


def test_a_file_decides_again_from_the_verdict_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n[major_revision]\nweakest = 2.0\n')
    decision = decide_sound(decide_sound(sound_verdict(5.0)), load_sound_policy(file))
    assert (decision.action, load_sound_policy(file).name) == ("major_revision", "mine")
    assert decide_sound(sound_verdict(5.0, weakest=1.9), load_sound_policy(file)).action == "reject"


@pytest.mark.parametrize(
    "text",
    [
        "name = ''", "name = 'a'\n[accept]", "name = 'a'\n[accept]\noverall = 0.5", "name = 'a'\n[accept]\niou = 3.0",
        "name = 'a'\n[acept]\noverall = 3.0", "[accept", "name = 'a'\n[accept]\noverall = nan",
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_by_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(AuscultError) as error:
        load_sound_policy(file)
    assert error.value.path == str(file) or error.value.path == file
