"""Draw docs/images/scenes.jpg: generated scenes, four key frames each, the last one with the true outlines.

python studies/scenes_picture.py
"""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from auscult.media.frames import write_frame
from auscult.scenes.splits import GENERATED
from auscult.scenes.draw import RenderedScene, Stage
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.splits import divide
from auscult.types import Frame

OUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "scenes.jpg"
SEED, SCENES, TIMES_S = 21, (1, 2, 4), (0.0, 3.0, 6.0, 9.0)
CELL = (320, 180)
COLOURS = ((230, 25, 75), (255, 225, 25), (60, 180, 75), (0, 130, 200), (245, 130, 48), (240, 50, 230))


def main() -> None:
    """Write the picture."""
    shelves = divide(GENERATED, wanted=("train",))
    rows = []
    for index in SCENES:
        plan = choose(SEED, index, assets=GENERATED, shelves=shelves, options=SceneOptions(size=(480, 854)))
        stage = Stage(plan, GENERATED.looks)
        shots = [stage.at(time_s) for time_s in TIMES_S]
        frames = [*(shot.frame for shot in shots[:-1]), outlined(shots[-1])]
        rows.append(np.hstack([cv2.resize(frame, CELL, interpolation=cv2.INTER_AREA) for frame in frames]))
    write_frame(OUT, np.vstack(rows).astype(np.uint8))


def outlined(shot: RenderedScene) -> Frame:
    """A frame with what is seen of each thing drawn round."""
    frame = shot.frame.copy()
    for mask, colour in zip(shot.visible, COLOURS, strict=False):
        lines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(frame, lines, -1, colour, 5)
    return frame


if __name__ == "__main__":
    main()
