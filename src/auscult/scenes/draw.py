"""A planned scene at any time: the picture, what is seen and what is there of each thing, and the mixed sound.

Pure: the same plan, assets and time give the same pixels, in any order and on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

from auscult.scenes.appearance.compose import Layer, derived, lay, put_together
from auscult.scenes.appearance.drawing import AssetSet, Placed, Sprite
from auscult.scenes.appearance.stage import Backdrop
from auscult.scenes.geometry import Pose
from auscult.scenes.plan import ScenePlan
from auscult.scenes.sound.mix import Mix, SoundSet, mix_down
from auscult.types import Frame, Mask

SHUTTER_S = 1 / 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenderedScene:
    """A scene at one time."""

    time_s: float  # when
    frame: Frame  # uint8 RGB (H, W, 3)
    # what is seen of each thing, bool (H, W), in the order of the plan's objects; no pixel has two
    visible: tuple[Mask, ...]
    whole: tuple[Mask, ...]  # what would be seen of each thing if it were alone


class Stage:
    """Draws one scene from the set that its looks and background were drawn from; keeps what several pictures share."""

    def __init__(self, plan: ScenePlan, looks: AssetSet) -> None:
        self._plan = plan
        self._looks = looks
        self._backdrop = Backdrop.of(looks.background(plan.background, size=plan.size), light=plan.light)
        self._masters: dict[int, Sprite] = {}
        self._sprites: dict[int, tuple[tuple[float, float], Sprite]] = {}
        self._layers: dict[int, Layer] = {}

    def at(self, time_s: float) -> RenderedScene:
        """Draw the scene at a time."""
        order = self._plan.layout.far_to_near
        picture = put_together(self._backdrop, [self._layer(index, time_s) for index in order])
        rank_of = {index: rank for rank, index in enumerate(order)}
        indices = range(len(order))
        return RenderedScene(
            time_s=time_s,
            frame=picture.frame,
            visible=tuple(picture.visible[rank_of[index]] for index in indices),
            whole=tuple(picture.whole[rank_of[index]] for index in indices),
        )

    def key_shots(self) -> tuple[RenderedScene, ...]:
        """The scene at its key frames' times."""
        return tuple(self.at(time_s) for time_s in self._plan.key_times_s)

    def _layer(self, index: int, time_s: float) -> Layer | None:
        """A thing's layer; what it shares with the picture before is reused."""
        height, width = self._plan.size
        path = self._plan.layout.paths[index]
        pose = path.pose(time_s)
        speed = path.speed(time_s)
        placed = Placed(
            sprite=self._sprite(index, path.pose(time_s)),
            x_px=pose.x * width,
            y_px=pose.y * height,
            speed_px=(speed[0] * width * SHUTTER_S, speed[1] * height * SHUTTER_S),
        )
        layer = lay(placed, self._backdrop, after=self._layers.get(index))
        if layer is not None:
            self._layers[index] = layer
        return layer

    def _sprite(self, index: int, pose: Pose) -> Sprite:
        """A thing's sprite; that of the picture before, where neither size nor turn changed.

        A thing that grows or turns is drawn once, at its largest, and brought to each size and turn from there: its
        surface does not flicker, and what it looks like at a time does not depend on the times that were drawn before.
        """
        key = self._height_px(index, pose.height), round(pose.turn_deg, 2)
        cached = self._sprites.get(index)
        if cached is None or cached[0] != key:
            cached = key, self._draw_sprite(index, *key)
            self._sprites[index] = cached
        return cached[1]

    def _draw_sprite(self, index: int, height_px: int, turn_deg: float) -> Sprite:
        path, look = self._plan.layout.paths[index], self._plan.objects[index].look
        start, end = path.start, path.end
        turns = start.turn_deg != end.turn_deg
        largest = self._height_px(index, max(start.height, end.height))
        if not turns and start.height == end.height:
            return self._looks.sprite(look, height_px=height_px, turn_deg=turn_deg)
        if index not in self._masters:
            self._masters[index] = self._looks.sprite(look, height_px=largest, turn_deg=0.0 if turns else turn_deg)
        return derived(self._masters[index], scale=height_px / largest, turn_deg=turn_deg if turns else 0.0)

    def _height_px(self, index: int, height: float) -> int:
        tallest = self._plan.objects[index].look.params.get("tallest_px")
        height_px = max(1, round(height * self._plan.size[0]))
        return max(1, min(height_px, tallest)) if isinstance(tallest, int) else height_px


def hear(plan: ScenePlan, sounds: SoundSet) -> Mix:
    """Mix a scene's sound, (2, round(seconds * rate_hz)) samples; pure."""
    return mix_down(plan.tracks, sounds, seconds=plan.seconds, rate_hz=plan.rate_hz)
