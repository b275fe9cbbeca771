"""Samples of a tree as cases of the engine, and the requests about them, with all senses or without one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from auscult.cases.avi_tree import TASK_OF, AviSample, AviTruth, with_lost
from auscult.cases.problems import ListError
from auscult.errors import AuscultError, ErrorRecord
from auscult.jobs.predict import MediaReader
from auscult.models.omni import OmniRequest
from auscult.record import codec
from auscult.record.digest import digest_file, digest_json
from auscult.score.tasks import TASKS, AviTask
from auscult.suites.core.conditions import REMOVED, Condition
from auscult.suites.core.requests import STAGE, CaseList

SENSES: Final = ("sound", "picture")
WITHOUT: Final[Mapping[str, Condition]] = {
    sense: Condition(name=f"without_{sense}", group=f"without {sense}", level=REMOVED) for sense in SENSES
}
"""The senses that can be removed: sound with that of videos, or pictures with those of videos."""
_SHARED: Final = 10  # least samples of one text to guess from their truths


def truth_text(truth: AviTruth) -> str:
    """A truth as the text in ``cases.jsonl``."""
    return codec.dump(codec.to_json(truth)).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class AviCase:
    """A sample as a case."""

    sample: AviSample
    clip: str  # the cluster of intervals
    digest: str  # hash of the text and of the content of all media
    truth: str  # hash of the truth, and of how it is scored
    confirms: str = ""  # id of the question that it confirms; else empty
    guess: str = ""  # the guess from the text alone: see ``references``
    split: str = ""
    released: bool = False  # whether it is of the released set

    @property
    def id(self) -> str:
        """Unique in the tree."""
        return self.sample.id

    @property
    def frames(self) -> tuple[Path, ...]:
        """Its media."""
        return self.sample.files

    @property
    def task(self) -> AviTask:
        """Its task."""
        return TASKS[TASK_OF[self.sample.folder]]

    @property
    def about(self) -> dict[str, str | int]:
        """What results need besides answers."""
        return {
            "task": self.task.name,
            "subtask": self.sample.subtask,
            "truth": truth_text(self.sample.truth),
            "confirms": self.confirms,
            "released": int(self.released),
            "unconfirmed": int(self.sample.unconfirmed),
            "unmet": ",".join(condition.name for sense, condition in WITHOUT.items() if not self.has(sense)),
        }

    def has(self, sense: str) -> bool:
        """Whether it has media of a sense, so that the request differs without it."""
        sample = self.sample
        if sense == "picture":
            return bool(sample.images) or sample.video is not None
        return bool(sample.sounds) or self.sounds_by_video

    @property
    def sounds_by_video(self) -> bool:
        """Whether all its sound is in its video."""
        return not self.sample.sounds and self.sample.video is not None and "sound" in self.task.modality

    @property
    def shown(self) -> dict[str, Any]:
        """The fields of its line for people: the whole text that is sent, and its media."""
        media = {"images": len(self.sample.images), "sounds": len(self.sample.sounds)}
        return {"question": self.sample.question, **media, "video": self.sample.video is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class AviRequest(OmniRequest):
    """A request with the knowledge of reference answerers; models under test do not get it."""

    sample: AviSample
    task: AviTask
    guess: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A case ready to be sent to a model; goes to a worker process."""

    case: AviCase
    condition: Condition
    seed: int
    left: Path | None = None  # the video without a sense: pictures without sound, or sound

    def ask(self, reader: MediaReader) -> AviRequest:
        """The request."""
        del reader
        sample, removed = self.case.sample, self.condition.name.removeprefix("without_")
        sounds, video = sample.sounds, sample.video
        if removed == "sound":
            sounds, video = (), self.left
        elif removed == "picture":
            sounds, video = (sounds if self.left is None else (self.left,)), None
        return AviRequest(
            id=sample.id,
            condition=self.condition.name,
            folder=sample.folder,
            position=sample.position,
            question=sample.question,
            images=() if removed == "picture" else sample.images,
            sounds=sounds,
            video=video,
            seed=self.seed,
            sample=sample,
            task=self.case.task,
            guess=self.case.guess,
        )


def cases_of(
    samples: Iterable[AviSample],
    *,
    tasks: Collection[str],
    scored: Mapping[str, str],
    released: bool,
    step: Callable[[], None],
) -> CaseList[AviCase]:
    """Make cases of the samples of some tasks, or of all; one with unreadable media is left out, with an error.

    ``scored`` identifies by task how replies are scored, so that a change scores them again.
    """
    case_list = CaseList[AviCase]()
    hashed = _hashed([sample for sample in samples if _wanted(sample, tasks)], case_list.errors, step=step)
    guesses = text_guesses([sample for sample, _ in hashed])
    ids = {(sample.folder, sample.position): sample.id for sample, _ in hashed}
    case_list.cases = [
        AviCase(
            sample=sample,
            clip=sample.clip or _leading(sample, hashes),
            digest=digest_json([sample.question, hashes, len(sample.images), len(sample.sounds)]),
            truth=digest_json([truth_text(sample.truth), list(sample.words), scored[TASK_OF[sample.folder]]]),
            confirms="" if sample.confirms is None else ids[sample.folder, sample.confirms],
            guess=guesses[sample.id],
            released=released,
        )
        for sample, hashes in hashed
    ]
    return case_list


def _hashed(
    samples: Iterable[AviSample], errors: list[ListError], *, step: Callable[[], None]
) -> list[tuple[AviSample, list[str]]]:
    """The samples with readable media, and their hashes; a question and its confirmation stay together."""
    hash_of, digests, unreadable = cache(digest_file), dict[str, list[str]](), set[tuple[str, int]]()
    readable = []
    for sample in samples:
        try:
            digests[sample.id] = [hash_of(file) for file in sample.files]
            readable.append(sample)
        except AuscultError as error:
            errors.append((sample.id, ErrorRecord.of(error, STAGE)))
            unreadable.add((sample.folder, sample.position if sample.confirms is None else sample.confirms))
        step()
    usable, alone = with_lost(readable, unreadable)
    lone = ErrorRecord(stage=STAGE, error="its question's media cannot be read", expected="a question to confirm")
    errors += [(sample.id, lone) for sample in alone]
    return [(sample, digests[sample.id]) for sample in usable]


def _wanted(sample: AviSample, tasks: Collection[str]) -> bool:
    return not tasks or TASK_OF[sample.folder] in tasks


def _leading(sample: AviSample, hashes: list[str]) -> str:
    """The hash of the main medium of a sample: its video; the query of a retrieval; else its first picture or sound."""
    by_file = dict(zip(sample.files, hashes, strict=True))
    asks = sample.sounds if sample.folder == "AVR" else sample.images or sample.sounds
    return by_file[sample.video or asks[0]]


def text_guesses(samples: Collection[AviSample]) -> dict[str, str]:
    """By sample, the best answer to its text without its media: the most frequent truth of that text.

    For a text that few samples share this would reveal their own truth: there it is the most frequent truth of the
    folder. In a folder of few samples, or if no truth occurs twice, it is that of the folder's other samples; empty
    without any. If many samples share a text, a sample's own truth counts too: without it, the guess among balanced
    answers would always be wrong.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    truths = {sample.id: truth_text(sample.truth) for sample in samples}
    for sample in samples:
        for text in (sample.question, ""):
            counts.setdefault((sample.folder, text), Counter())[truths[sample.id]] += 1
    best = {key: sorted(counter.items(), key=_rank)[:2] for key, counter in counts.items()}
    guesses = {}
    for sample in samples:
        ranked = best[sample.folder, sample.question]
        if counts[sample.folder, sample.question].total() < _SHARED:
            ranked = best[sample.folder, ""]
        if counts[sample.folder, ""].total() < _SHARED or ranked[0][1] == 1:
            others = [(text, count - (text == truths[sample.id])) for text, count in best[sample.folder, ""]]
            ranked = sorted((pair for pair in others if pair[1] > 0), key=_rank)
        guesses[sample.id] = ranked[0][0] if ranked else ""
    return guesses


def _rank(pair: tuple[str, int]) -> tuple[int, str]:
    """Most frequent first, then by text."""
    text, count = pair
    return -count, text
