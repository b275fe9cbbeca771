"""The numbers of docs/sound-people.md that its claims rest on are what the code gives now."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from docs_pages import DOCS

from auscult.media.sound import read_sound
from auscult.outcome import Scored
from auscult.score.sound.perceptual import Perceptual, perceptual
from auscult.score.stats.correlation import spearman


@pytest.mark.slow
@pytest.mark.extra_sound
def test_precision_and_recall_beside_people_are_those_of_the_page(data: Path) -> None:
    folder = data / "sound" / "ratings"
    songs = defaultdict(list)
    for clip in csv.DictReader((folder / "clips.csv").read_text(encoding="utf-8").splitlines()):
        if clip["set"] == "icassp2018":
            songs[clip["page"]].append(clip)
    agreements = defaultdict(list)
    for clips in songs.values():
        sounds = {clip["sound"]: read_sound(folder / clip["audio"]).samples[0] for clip in clips}
        target, mixture = sounds["ref"], sounds["Interferer"]
        stems = [target, mixture - np.vdot(mixture, target) / np.vdot(target, target) * target]
        separated = [clip for clip in clips if clip["kind"] == "separator"]
        scores = [perceptual(sounds[clip["sound"]], stems, rate_hz=16000) for clip in separated]
        for axis, question_name in (("precision", "freedom_from_interference_mean"), ("recall", "sound_quality_mean")):
            own_values = [getattr(score, axis) for score in scores if isinstance(score, Perceptual)]
            agreed = spearman(own_values, [float(clip[question_name]) for clip in separated])
            assert isinstance(agreed, Scored)
            agreements[axis].append(agreed.value)
    page = (DOCS / "sound-people.md").read_text(encoding="utf-8")
    for axis, column in (("precision", 0), ("recall", 1)):
        cells = re.findall(rf"^\| perceptual {axis} \|(.*)\|$", page, re.MULTILINE)[0].split("|")
        assert np.mean(agreements[axis]) == pytest.approx(float(cells[column].split("(")[0]), abs=0.03)
