"""Candidates and answers for the tests of the benchmark's tables."""

from __future__ import annotations

from typing import Any

from auscult.suites.mqa.rows import Candidate, JudgeAnswer

KINDS: tuple[tuple[str, str | None, int], ...] = (
    ("perfect", None, 1),
    *((kind, grade, rank) for kind in ("cutout", "dilate", "erode") for grade, rank in (("hard", 1), ("medium", 2))),
    *((kind, None, rank) for kind in ("merge", "full_neg") for rank in (1, 2, 3)),
)
ACTIONS = {"perfect": "accept", "full_neg": "reject"}


def candidate(name: str, **fields: Any) -> Candidate:
    """A candidate whose other fields do not matter."""
    candidate_fields = {"uid": name, "clip": name, "track": name, "iou": 0.8, "action": "major_revision", **fields}
    return Candidate(id=name, **candidate_fields)


def right(candidate_: Candidate) -> JudgeAnswer:
    """The answer that is right."""
    return JudgeAnswer(
        iou=candidate_.iou, low=candidate_.iou, high=candidate_.iou, defect=candidate_.defect, action=candidate_.action
    )


def benchmark(clips: int = 4, *, protocols: tuple[str, ...] = ("image", "video"), seed: int = 0) -> list[Candidate]:
    """All kinds of masks on some clips of both test splits."""
    import numpy as np

    rng = np.random.default_rng(seed)
    candidates = []
    for split in ("test_s", "test_u"):
        for clip in range(clips):
            for protocol in protocols:
                for kind, grade, rank in KINDS:
                    for frame in range(3 if protocol == "video" else 1):
                        iou = {"perfect": 1.0, "full_neg": 0.0}.get(kind)
                        iou = float(rng.uniform(0.75, 0.9)) if iou is None else iou
                        action = ACTIONS.get(kind, "minor_revision" if iou >= 0.85 else "major_revision")
                        name = f"{protocol}/{split}/{clip}/{kind}_{rank}/{frame}"
                        candidates.append(
                            Candidate(
                                id=name, uid=f"{split}{clip}", clip=f"{split}{clip}", split=split, protocol=protocol,
                                frame=frame, rank=rank, track=f"{split}{clip}/{kind}_{rank}", iou=iou, defect=kind,
                                difficulty=grade, action=action, area=0.02 * (clip + 1),
                            )
                        )  # fmt: skip
    return candidates


def answers(candidates: list[Candidate], *, seed: int = 1) -> dict[str, JudgeAnswer]:
    """A judge that is often right."""
    import numpy as np

    rng = np.random.default_rng(seed)
    answer_of = {}
    for candidate_ in candidates:
        iou = float(np.clip((candidate_.iou or 0.0) + rng.normal(0, 0.1), 0, 1))
        defect = candidate_.defect if rng.random() < 0.6 else "perfect"
        action = candidate_.action if rng.random() < 0.6 else "reject"
        answer_of[candidate_.id] = JudgeAnswer(
            iou=iou, low=max(0.0, iou - 0.1), high=min(1.0, iou + 0.1), defect=defect, action=action
        )
    return answer_of
