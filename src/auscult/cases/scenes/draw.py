"""Draw a planned scene at any time: the picture, and of each thing what is seen and what is there.

Pure: the same plan, assets and time give the same pixels, in any order and on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

from auscult.cases.scenes.appearance.compose import compose
from auscult.cases.scenes.appearance.sprite import AssetSet, Placed, Sprite
from auscult.cases.scenes.geometry.path import Path
from auscult.cases.scenes.plan import ScenePlan
from auscult.types import Frame, Mask

SHUTTER_S = 1 / 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shot:
    """A scene at one time.

    Attributes:
        time_s: When.
        frame: uint8 RGB (H, W, 3).
        visible: What is seen of each thing, bool (H, W), in the order of the plan's objects; no pixel has two.
        whole: What would be seen of each thing if it were alone.
    """

    time_s: float
    frame: Frame
    visible: tuple[Mask, ...]
    whole: tuple[Mask, ...]


class Stage:
    """Draws one scene; keeps what several pictures share.

    Args:
        plan: The scene.
        looks: The set that its looks and background were drawn from.
    """

    def __init__(self, plan: ScenePlan, looks: AssetSet) -> None:
        self._plan = plan
        self._looks = looks
        self._background = looks.background(plan.background, size=plan.size)
        self._last: dict[int, tuple[tuple[int, float], Sprite]] = {}

    def at(self, time_s: float) -> Shot:
        """Draw the scene at a time.

        Raises:
            InputError: A look or background is not of this set.
        """
        plan = self._plan
        order = plan.layout.far_to_near
        picture = compose(self._background, [self._placed(thing, time_s) for thing in order], light=plan.light)
        place = {thing: number for number, thing in enumerate(order)}
        things = range(len(order))
        return Shot(
            time_s=time_s,
            frame=picture.frame,
            visible=tuple(picture.visible[place[thing]] for thing in things),
            whole=tuple(picture.whole[place[thing]] for thing in things),
        )

    def key_shots(self) -> tuple[Shot, ...]:
        """The scene at its key frames' times."""
        return tuple(self.at(time_s) for time_s in self._plan.key_times_s)

    def _placed(self, thing: int, time_s: float) -> Placed:
        height, width = self._plan.size
        path = self._plan.layout.paths[thing]
        pose = path.pose(time_s)
        speed = path.speed(time_s)
        return Placed(
            sprite=self._sprite(thing, path, time_s),
            x_px=pose.x * width,
            y_px=pose.y * height,
            speed_px=(speed[0] * width * SHUTTER_S, speed[1] * height * SHUTTER_S),
        )

    def _sprite(self, thing: int, path: Path, time_s: float) -> Sprite:
        """A thing's sprite; that of the picture before, where neither size nor turn changed."""
        pose = path.pose(time_s)
        look = self._plan.objects[thing].look
        tallest = look.params.get("tallest_px")
        height_px = max(1, round(pose.height * self._plan.size[0]))
        if isinstance(tallest, int):
            height_px = max(1, min(height_px, tallest))
        key = height_px, round(pose.turn_deg, 2)
        kept = self._last.get(thing)
        if kept is None or kept[0] != key:
            kept = key, self._looks.sprite(look, height_px=height_px, turn_deg=key[1])
            self._last[thing] = kept
        return kept[1]
