"""`masks.reasoning.v1`: an MQ-Auditor of the user's, which says in words how good a mask is (MQA-RefAVS, Sec. 4).

``reasoning@FOLDER`` loads what ``auscult train mq-auditor`` saved, or parts of releases (``nets.mq_auditor.weights``).
The network sees clip, sound, expression, key frame and mask. What it says is read as every reply (``judge.replies``):
its own action is kept beside the policy's. By default it can only say replies with IoU, type and action in their tags.

Files of the folder that are the judge's: ``card.json``, its measured card, and ``calibration.json``, fitted on a named
split: the line from the stated IoU to that of a verdict, and the 5 % and 95 % quantiles of the true one minus that, its
interval, ``{"schema": 1, "split": "val", "n": 800, "slope": 0.9, "intercept": 0.05, "low": -0.2, "high": 0.1}``.
Without the line the IoU is as stated; without the file the interval comes from several replies, where ``judge.json``
asks for them: ``{"samples": 5, "temperature": 0.7, "constrained": true}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

from msgspec import Meta

from auscult.errors import InputError, UsageError
from auscult.judge.masks.chat import combined
from auscult.judge.masks.shared import check, nothing_segmented
from auscult.judge.replies import Reply, read_reply
from auscult.record.codec import read_file
from auscult.record.digest import digest_file, digest_json
from auscult.types import Case, Evidence, Metadata, Prediction, Verdict

if TYPE_CHECKING:
    from auscult.nets.mq_auditor.asking import Asker

T = TypeVar("T")

CARD: Final = "card.json"
CALIBRATION: Final = "calibration.json"
HOW: Final = "judge.json"
_MOST_BYTES: Final = 10_000
_Share = Annotated[float, Meta(ge=-1, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningCalibration:
    """What is estimated where an IoU is stated, and how far off that was: on ``n`` masks of a split."""

    schema: Literal[1]
    split: str
    n: Annotated[int, Meta(ge=20)]
    slope: Annotated[float, Meta(ge=0)] = 1.0  # of the estimate by the stated IoU
    intercept: float = 0.0  # the estimate where 0 is stated, before it is clipped to 0..1
    low: _Share  # 5 % quantile of the true IoU minus the estimate
    high: _Share  # 95 %

    def __post_init__(self) -> None:
        """Check the order."""
        if self.low > self.high:
            raise ValueError(f"low is {self.low}, above high, {self.high}")


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How the network is asked."""

    samples: Annotated[int, Meta(ge=1, le=32)] = 1
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.0
    constrained: bool = True
    comment: Annotated[int, Meta(ge=1, le=512)] = 48  # most tokens before the IoU; without constraint, of a reply


class ReasoningJudge:
    """Judges masks by a network of a folder; a UsageError names at once what is missing, loaded at the first mask."""

    name = "masks.reasoning.v1"
    meta = Metadata(
        summary="an MQ-Auditor of yours: IoU, type, action and why, in words",
        goal="judges what shape alone cannot tell: whether it is the object that words and sound mean",
        modality="mask",
        source="MQA-RefAVS, Sec. 4, Fig. 3",
        truth="none is read",
    )
    needs_clip = True

    def __init__(self, folder: Path) -> None:
        from auscult.nets.mq_auditor.weights import check_files

        check_files(folder)
        self._folder = folder
        self._how = self._read(How, HOW) or How()
        self._calibration = self._read(ReasoningCalibration, CALIBRATION)
        self._asker: Asker | None = None
        if (folder / CARD).exists():
            self.card = folder / CARD

    @staticmethod
    def revision(folder: Path) -> str:
        """A digest of settings, tokenizer and weights of a folder, and of what else the judge reads in it."""
        names = sorted(path for path in folder.iterdir() if path.suffix in {".json", ".safetensors"} and path.is_file())
        return digest_json([[path.name, digest_file(path)] for path in names])

    def _read(self, kind: type[T], name: str) -> T | None:
        path = self._folder / name
        if not path.exists():
            return None
        return read_file(kind, path, what=f"{name} of the judge", expected=f"the keys of {kind.__name__}",
                         most_bytes=_MOST_BYTES, error=UsageError)  # fmt: skip

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:
        """Judge one candidate; ``InputError`` where the reply holds no verdict."""
        (verdict,) = self.batch([case], [prediction])
        return verdict

    def batch(self, cases: Sequence[Case], predictions: Sequence[Prediction]) -> list[Verdict]:
        """Judge several, those of one clip and frame with what they share computed once.

        An InputError where a case is malformed, a file of its clip cannot be read, or a reply holds no verdict; a
        UsageError where the network cannot be loaded, or the memory does not suffice for a mask.
        """
        for case, prediction in zip(cases, predictions, strict=True):
            check(case, prediction)
        indices = [index for index, prediction in enumerate(predictions) if prediction.mask.any()]
        texts = self._said([(cases[index], predictions[index]) for index in indices])
        verdicts = {index: self._verdict(cases[index], replies) for index, replies in zip(indices, texts, strict=True)}
        return [verdicts.get(index) or nothing_segmented(case.id, self.name) for index, case in enumerate(cases)]

    def _said(self, pairs: Sequence[tuple[Case, Prediction]]) -> list[list[str]]:
        if not pairs:
            return []
        from auscult.nets.mq_auditor.asking import Asker
        from auscult.nets.mq_auditor.network import Decoding

        self._asker = self._asker or Asker(self._folder)
        decoding = Decoding(
            constrained=self._how.constrained,
            most_tokens=self._how.comment,
            samples=self._how.samples,
            temperature=self._how.temperature,
        )
        return self._asker.replies([(case, prediction.mask) for case, prediction in pairs], decoding)

    def _verdict(self, case: Case, texts: Sequence[str]) -> Verdict:
        replies, lacking = list[tuple[str, Reply]](), list[InputError]()
        for text in texts:
            try:
                replies.append((self.name, read_reply(text)))
            except InputError as error:
                lacking.append(error)
        if len(replies) <= len(lacking):
            raise lacking[-1]
        verdict = combined(replies, case=case.id, judge=self.name)
        heard = case.clip is not None and case.clip.sound() is not None
        named = bool(str(case.query).strip())
        usage = {"unparsed": float(len(lacking))} if lacking else None
        evidence = Evidence(shape=True, boundary=True, identity=named, sound=heard)
        verdict = replace(verdict, evidence=evidence, usage=usage)
        fit = self._calibration
        if fit is None or verdict.iou is None:
            return verdict
        iou = min(max(fit.intercept + fit.slope * verdict.iou, 0.0), 1.0)
        low, high = (min(max(iou + off, 0.0), 1.0) for off in (fit.low, fit.high))
        return replace(verdict, iou=iou, iou_low=min(low, iou), iou_high=max(high, iou))
