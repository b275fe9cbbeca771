"""`masks.prompted.v1`: asks a promptable segmenter what it would draw here, and compares the candidate with that.

Two networks with pretrained knowledge of objects look at the candidate through different lenses. They answer with a
mask of the object that the candidate means, with a histogram of the candidate's IoU and with the type of its defect.
They do not see the expression, so identity is never checked, and the IoU is that of a mask on the right object.
Runs on ONNX Runtime on one core. Measured on masks of real models in ``docs/cards/masks.prompted.v1.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from auscult.errors import UsageError
from auscult.judge.masks.shared import check, nothing_segmented
from auscult.types import Case, Metadata, Prediction, Verdict

if TYPE_CHECKING:
    from auscult.judge.masks.prompted.calibration import Calibration
    from auscult.judge.masks.prompted.network import Classifier, Evidence, Member
    from auscult.judge.masks.prompted.verdict import JudgeParts


class PromptedJudge:
    """Judges masks with the shipped networks, opened at the first mask, or with others of the same form.

    ``members`` and their ``calibration`` are given both or neither; ``classifier`` names the defect; the answers of
    ``evidence``, another segmenter, count instead of the networks' own.
    """

    name = "masks.prompted.v1"
    meta = Metadata(
        summary="IoU with an interval, chance of IoU >= .8, defect and error map, from what a segmenter would draw",
        goal="masks of real models that miss a part, are ragged, too large or too small, or hold something else",
        modality="mask",
        source="own networks on MobileNetV2; the task of MQ-RAVSBench, Sec. 2, Eq. 1, without sentence and sound",
        truth="none is read",
    )

    def __init__(
        self,
        *,
        members: Sequence[Member] | None = None,
        calibration: Calibration | None = None,
        classifier: Classifier | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        if (members is None) != (calibration is None):
            raise UsageError(
                "networks and a calibration belong together", expected="both, or neither for the shipped ones"
            )
        self._members = members
        self._calibration = calibration
        self._classifier = classifier
        self._evidence = evidence

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Judge a candidate mask, bool (H, W), of a frame, uint8 RGB (H, W, 3), without an action.

        An empty mask is ``empty`` by rule, with no IoU. An InputError where the two are no arrays of one size and of
        the right type; a UsageError where the files of weights or calibration are missing or broken, or do not belong
        together.
        """
        return self.batch([case], [prediction])[0]

    def batch(self, cases: Sequence[Case], predictions: Sequence[Prediction]) -> list[Verdict]:
        """Judge several candidates, in order; the same verdicts and errors as one by one."""
        from auscult.judge.masks.prompted.verdict import verdicts_of

        for case, prediction in zip(cases, predictions, strict=True):
            check(case, prediction)
        parts = self._parts()
        indices = [index for index, prediction in enumerate(predictions) if prediction.mask.any()]
        chosen, masks = [cases[index] for index in indices], [predictions[index].mask for index in indices]
        verdicts = verdicts_of(chosen, masks, parts)
        by_index = dict(zip(indices, verdicts, strict=True))
        return [by_index.get(index) or nothing_segmented(case.id, self.name) for index, case in enumerate(cases)]

    @property
    def prob_shift(self) -> float:
        """How far off its probabilities, adapted to a set of masks of one source, may be together, in logits."""
        from auscult.judge.masks.prompted.calibration import load_calibration

        return (self._calibration or load_calibration()).shift

    @property
    def prob_prior(self) -> tuple[float, float]:
        """The shares of calibration masks with an IoU of .8 and of .5 or more."""
        from auscult.judge.masks.prompted.calibration import load_calibration, prior_shares

        return prior_shares(self._calibration or load_calibration())

    def fitted(self, folder: Path) -> PromptedJudge:
        """This judge as ``auscult train prompted-mask`` fitted it.

        The shipped networks are meant where the folder has none. A UsageError where a file is missing or broken, or
        they do not belong together.
        """
        from auscult.judge.masks.prompted.calibration import load_calibration

        calibration = load_calibration(folder / "calibration.json")
        return PromptedJudge(
            members=_members(calibration, folder),
            calibration=calibration,
            classifier=_classifier(calibration, folder),
        )

    def with_evidence(self, name: str) -> PromptedJudge:
        """This judge with the answers of ``hf:NAME`` (SAM, SAM 2 or SAM 3) for its networks', or a UsageError."""
        from auscult.judge.masks.prompted.network import load_evidence

        return PromptedJudge(
            members=self._members,
            calibration=self._calibration,
            classifier=self._classifier,
            evidence=load_evidence(name),
        )

    def load(self) -> None:
        """Load its files now instead of at the first candidate."""
        self._parts()

    def _parts(self) -> JudgeParts:
        from auscult.judge.masks.prompted.calibration import load_calibration
        from auscult.judge.masks.prompted.verdict import JudgeParts

        calibration = self._calibration or load_calibration()
        return JudgeParts(
            name=self.name,
            members=self._members or _members(calibration),
            classifier=self._classifier or _classifier(calibration),
            calibration=calibration,
            evidence=self._evidence,
        )


def _members(calibration: Calibration, folder: Path | None = None) -> list[Member]:
    """The networks that a calibration is for: a folder's own where it has them, else the shipped ones."""
    from auscult.judge.masks.prompted.network import FOLDER, load_member

    source = folder if folder is not None and (folder / "member0.onnx").exists() else FOLDER
    return [load_member(source / f"member{number}.onnx", digest) for number, digest in enumerate(calibration.weights)]


def _classifier(calibration: Calibration, folder: Path | None = None) -> Classifier:
    """The defect classifier that a calibration is for: the folder's own where it has one, else the shipped one."""
    from auscult.judge.masks.prompted.network import CLASSIFIER_FILE, FOLDER, load_classifier

    source = folder if folder is not None and (folder / CLASSIFIER_FILE).exists() else FOLDER
    return load_classifier(source / CLASSIFIER_FILE, calibration.classifier)


JUDGE = PromptedJudge()
