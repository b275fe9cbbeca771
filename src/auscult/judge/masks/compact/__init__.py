"""`masks.compact.v1`: judges a mask with a small network that looks at the picture along its outline.

It estimates the true mask, the kind of defect and the IoU with an interval, and says where and how much is wrong. It
does not see the expression, so identity is never checked, and its IoU is that of a mask on the right object; an
identity check adds that (``judge/identity``). Runs on ONNX Runtime on one core. Measured in
``docs/cards/masks.compact.v1.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auscult.errors import UsageError
from auscult.judge.masks.shared import check, nothing_segmented
from auscult.types import Case, Metadata, Prediction, Verdict

if TYPE_CHECKING:
    from auscult.judge.masks.compact.network import Calibration, Network


class CompactJudge:
    """Judges masks with the shipped network, opened at the first mask, or with another one and its calibration."""

    name = "masks.compact.v1"
    meta = Metadata(
        summary="IoU with an interval, defect and error map from a small network that looks along the outline",
        goal="masks that miss a piece, are too large or too small, or hold a second object",
        modality="mask",
        source="own network; the task of MQ-RAVSBench, Sec. 2, Eq. 1, without the sentence and the sound",
        truth="none is read",
    )

    def __init__(self, *, network: Network | None = None, calibration: Calibration | None = None) -> None:
        if (network is None) != (calibration is None):
            raise UsageError(
                "a network and a calibration belong together", expected="both, or neither for the shipped ones"
            )
        self._network = network
        self._calibration = calibration

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Judge a mask, bool (H, W), on a frame, uint8 RGB (H, W, 3), without an action; an empty one by rule."""
        from auscult.judge.masks.compact.verdict import verdict_of
        from auscult.judge.masks.compact.view import inputs, look

        check(case, prediction)
        network, calibration = self._parts()
        if not prediction.mask.any():
            return nothing_segmented(case.id, self.name)
        view = look(case.frame, prediction.mask)
        outputs = network(inputs([view]))
        return verdict_of(case, prediction.mask, view=view, outputs=outputs, calibration=calibration, judge=self.name)

    def _parts(self) -> tuple[Network, Calibration]:
        if self._network is not None and self._calibration is not None:
            return self._network, self._calibration
        from auscult.judge.masks.compact.network import load_calibration, load_network

        network, calibration = load_network(), load_calibration()
        if network.digest != calibration.weights:
            raise UsageError(
                f"the calibration is for weights {calibration.weights[:12]}, these are {network.digest[:12]}",
                expected="weights.onnx and calibration.json of one training",
                hint="install auscult again",
                path=network.path,
            )
        return network, calibration


JUDGE = CompactJudge()
