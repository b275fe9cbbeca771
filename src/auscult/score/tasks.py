"""The fourteen tasks of AVI-Bench: what each shows, asks, takes as an answer, is scored by, and gives to chance.

Facts of the paper's Tables 2, 6 and 15, two of which the paper's text contradicts:

- In VAR a picture asks and sounds are the candidates, in AVR the reverse. The text of G.1.4 has them exchanged.
- AVH is audio-dominant and VAH visual-dominant (Table 2). Observation 3 counts AVH among the visual ones.

Source: "AVI-Bench: Toward Human-like Audio-Visual Intelligence of Omni-MLLMs", arXiv 2606.07643.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

TaskStage: TypeAlias = Literal["perception", "understanding", "reasoning", "sensation"]
Media: TypeAlias = Literal["sound", "picture", "video"]
Dominance: TypeAlias = Literal["sound", "vision", "both"]
PromptForm: TypeAlias = Literal["classes", "options", "candidates", "instruction", "expression"]
AnswerForm: TypeAlias = Literal["counts", "boxes", "frame boxes", "indices", "caption", "option", "option list"]
TaskMetric: TypeAlias = Literal["f1 and count", "recall and count", "boxes", "video iou", "retrieval", "fense", "match"]

STAGES: Final[tuple[TaskStage, ...]] = get_args(TaskStage)
FAMILIAR: Final[tuple[TaskStage, ...]] = STAGES[:3]
"""Stages of media as models are trained on; the last, sensation, is of stimuli nobody trained on (PriSe)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AviTask:
    """One task.

    Attributes:
        name: Short name, as in the paper and its release.
        title: The name in words (Table 6).
        stage: Its stage (Table 2).
        modality: Media that a sample of it shows (Table 6); VMIC and AVL show a picture, VSQA a picture or a video.
        dominance: The sense it leans on (Table 2).
        capability: What it tests (Table 6).
        prompt: What the prompt offers: ``classes`` to take words from, ``options`` to choose among, ``candidates``
            to choose by index from 0, a mere ``instruction``, or an ``expression`` that names what is sought.
        answer: ``counts`` is class to count, ``boxes`` is class and number from 1 to a box, ``frame boxes`` a box or
            none for each frame, ``indices`` a list in the order of confidence, ``option`` one word, ``option list``
            words between # marks.
        metric: How samples become the task's score, 0..100 (App. G.1).
        chance: What guessing scores, 0..100, as printed in Table 15.
        folders: Folders of the released tree to their samples, confirmations included (Table 2).
    """

    name: str
    title: str
    stage: TaskStage
    modality: tuple[Media, ...]
    dominance: Dominance
    capability: str
    prompt: PromptForm
    answer: AnswerForm
    metric: TaskMetric
    chance: float
    folders: Mapping[str, int]

    @property
    def confirmed(self) -> bool:
        """Whether a second question, if anything is heard or seen, must be right too (D.2)."""
        return self.stage == "sensation"

    @property
    def samples(self) -> int:
        """Samples in the release."""
        return sum(self.folders.values())


_CHOICE_OF_3: Final = 33.33

_ALL: Final = (
    AviTask(
        name="AMIC", title="audio multi-instance classification", stage="perception", modality=("sound",),
        dominance="sound", capability="audio perception",
        prompt="classes", answer="counts", metric="f1 and count", chance=0.0, folders={"AMIC": 518},
    ),
    AviTask(
        name="VMIC", title="visual multi-instance classification", stage="perception", modality=("picture",),
        dominance="vision", capability="visual perception",
        prompt="classes", answer="counts", metric="recall and count", chance=0.0, folders={"VMIC": 521},
    ),
    AviTask(
        name="AVL", title="audio-visual localization", stage="perception", modality=("sound", "picture"),
        dominance="both", capability="cross-modal local perception",
        prompt="classes", answer="boxes", metric="boxes", chance=0.0, folders={"AVL": 205},
    ),
    AviTask(
        name="AVM", title="audio-visual matching", stage="perception", modality=("sound", "video"),
        dominance="both", capability="cross-modal global perception",
        prompt="options", answer="option", metric="match", chance=_CHOICE_OF_3, folders={"AVM": 250},
    ),
    AviTask(
        name="VAR", title="visual-reference audio retrieval", stage="understanding", modality=("sound", "picture"),
        dominance="sound", capability="cross-modal acquisitive understanding",
        prompt="candidates", answer="indices", metric="retrieval", chance=10.0, folders={"VAR": 264},
    ),
    AviTask(
        name="AVR", title="audio-reference visual retrieval", stage="understanding", modality=("sound", "picture"),
        dominance="vision", capability="cross-modal acquisitive understanding",
        prompt="candidates", answer="indices", metric="retrieval", chance=10.0, folders={"AVR": 264},
    ),
    AviTask(
        name="AVC", title="audio-visual captioning", stage="understanding", modality=("sound", "video"),
        dominance="both", capability="cross-modal narrative understanding",
        prompt="instruction", answer="caption", metric="fense", chance=13.06, folders={"AVC": 280},
    ),
    AviTask(
        name="AVH", title="audio-reference visual hallucination", stage="reasoning", modality=("sound", "video"),
        dominance="sound", capability="cross-modal resistance reasoning",
        prompt="options", answer="option", metric="match", chance=_CHOICE_OF_3, folders={"AVH": 250},
    ),
    AviTask(
        name="VAH", title="visual-reference audio hallucination", stage="reasoning", modality=("sound", "video"),
        dominance="vision", capability="cross-modal resistance reasoning",
        prompt="options", answer="option", metric="match", chance=_CHOICE_OF_3, folders={"VAH": 250},
    ),
    AviTask(
        name="AVQA", title="audio-visual question answering", stage="reasoning", modality=("sound", "video"),
        dominance="both", capability="cross-modal coarse-grained reasoning",
        prompt="options", answer="option", metric="match", chance=21.35, folders={"AVQA": 469},
    ),
    AviTask(
        name="AVLG", title="audio-visual language grounding", stage="reasoning", modality=("sound", "video"),
        dominance="both", capability="cross-modal fine-grained reasoning",
        prompt="expression", answer="frame boxes", metric="video iou", chance=0.0, folders={"AVLG": 503},
    ),
    AviTask(
        name="ASQA", title="audio sensation question answering", stage="sensation", modality=("sound",),
        dominance="sound", capability="audio sensation",
        prompt="options", answer="option", metric="match", chance=29.66, folders={"ASQA": 502},
    ),
    AviTask(
        name="VSQA", title="visual sensation question answering", stage="sensation", modality=("picture", "video"),
        dominance="vision", capability="visual sensation",
        prompt="options", answer="option", metric="match", chance=26.70, folders={"VSQA_I": 620, "VSQA_V": 580},
    ),
    AviTask(
        name="AVSQA", title="audio-visual sensation question answering", stage="sensation",
        modality=("sound", "picture", "video"),
        dominance="both", capability="cross-modal sensation",
        prompt="options", answer="option list", metric="match", chance=24.63, folders={"AVSQA": 388},
    ),
)  # fmt: skip

TASKS: Final[Mapping[str, AviTask]] = MappingProxyType({task.name: task for task in _ALL})
"""The tasks by name, in the paper's order."""


def of_stage(stage: TaskStage) -> tuple[AviTask, ...]:
    """The tasks of a stage, in the paper's order."""
    return tuple(task for task in _ALL if task.stage == stage)


def leaning(dominance: Dominance, stages: tuple[TaskStage, ...] = FAMILIAR) -> tuple[AviTask, ...]:
    """The tasks of some stages that lean on a sense: A and V of Eq. 2 where it is ``sound`` or ``vision``."""
    return tuple(task for task in _ALL if task.dominance == dominance and task.stage in stages)
