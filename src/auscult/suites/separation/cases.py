"""Items of an INPUT of sounds as cases: a mixture, the prompt, and the stems as truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases.sounds import SoundListing, check_spans, read_sounds
from auscult.errors import InputError
from auscult.jobs.predict import MediaReader
from auscult.jobs.runner import Progress
from auscult.media.sound import read_sound
from auscult.record.digest import digest_file, digest_json
from auscult.suites.core.conditions import Condition
from auscult.suites.core.requests import CaseList
from auscult.suites.options import SCENES, refuse_unknown_splits
from auscult.suites.separation import SeparationOptions
from auscult.types import Samples, SoundItem

SCORED: Final = "1"
"""Version of the scores: another one scores stored outputs again."""
_UNNAMED: Final = 1e-3  # share of the mixture's energy; with more, what the stems leave is a source of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparationCase:
    """An item as a case; items with the same mixture and prompt are one request."""

    item: SoundItem
    digest: str  # hash of all that a separator can see, with the stems, which oracles see
    truth: str  # hash of the stems and of the version of the scores
    repeated: bool = False  # whether an earlier item has the same request

    @property
    def id(self) -> str:
        """Its id, unique in the run."""
        return self.item.id

    @property
    def clip(self) -> str:
        """The cluster of intervals: items whose mixtures share a recording."""
        return self.item.cluster or self.item.id

    @property
    def split(self) -> str:
        """``seen`` or ``unseen``; empty if unknown."""
        return "" if self.item.seen is None else ("seen" if self.item.seen else "unseen")

    @property
    def frames(self) -> tuple[Path, ...]:
        """Its mixture."""
        return (self.item.mixture,)

    @property
    def prompt(self) -> str:
        """The kind of prompt: ``text``, ``span``, ``picture``, several joined by ``+``, or ``none``."""
        query = self.item.query
        kinds = {"text": query.text, "span": query.spans, "picture": query.picture}
        return "+".join(kind for kind, given in kinds.items() if given) or "none"

    @property
    def about(self) -> dict[str, str | int]:
        """The data of results besides scores."""
        item = self.item
        return {
            "domain": item.domain, "setting": item.setting, "prompt": self.prompt, "family": item.family,
            "system": item.system, "oracle": int(_is_oracle(item)), "repeated": int(self.repeated),
        }  # fmt: skip

    @property
    def shown(self) -> dict[str, Any]:
        """The fields of its line for people."""
        return {"text": self.item.query.text, "mixture": self.item.mixture.name}


def _is_oracle(item: SoundItem) -> bool:
    """Whether the INPUT marks the output as made with the stems."""
    params = item.extra.get("params")
    return isinstance(params, dict) and params.get("oracle") is True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CaseSounds:
    """The sounds of a case."""

    mixture: Samples  # float32 (samples,) or (channels, samples)
    # the true sources, the wanted one first, float32 (samples,) each; empty where it is not known: they sum to the
    # mixture's mean over channels, so that what no file explains is the last one
    stems: tuple[Samples, ...]
    rate_hz: int  # samples per second of all of them


@dataclass(frozen=True, slots=True)
class Prepared:
    """A case ready to be sent to a separator; goes to a worker process."""

    case: SeparationCase
    condition: Condition

    def ask(self, reader: MediaReader) -> CaseSounds:
        """Read its sounds; an ``InputError`` if rates or lengths differ, or a span begins outside the mixture."""
        item = self.case.item
        sound = reader.uncut_sound(item.mixture)
        check_spans(item.query.spans, sound.samples.shape[1] / sound.rate_hz)
        mixture = sound.samples if sound.samples.shape[0] > 1 else sound.samples[0]
        whole = sound.samples.mean(axis=0)
        stems: list[Samples] = []
        if item.truth is not None and item.truth.stem is not None:
            for path in (item.truth.stem, *item.truth.others.values()):
                stem = read_sound(path, cut=False)
                if (stem.rate_hz, stem.samples.shape[1]) != (sound.rate_hz, len(whole)):
                    raise InputError(
                        f"the stem has {stem.samples.shape[1]} samples at {stem.rate_hz} Hz, its mixture {len(whole)} "
                        f"at {sound.rate_hz} Hz",
                        expected="stems of the rate and length of their mixture",
                        hint="resample or pad them where they are made",
                        path=path,
                    )
                stems.append(stem.samples.mean(axis=0))
            residual = whole - np.sum(stems, axis=0, dtype=np.float32)
            if len(stems) == 1 or float(np.vdot(residual, residual)) > _UNNAMED * float(np.vdot(whole, whole)):
                stems.append(residual)
        return CaseSounds(mixture=mixture, stems=tuple(stems), rate_hz=sound.rate_hz)


def listing_of(options: SeparationOptions, progress: Progress) -> SoundListing:
    """List the items of the data, made first if needed."""
    listing = read_sounds(_made(options, progress) if options.data == SCENES else Path(options.data))
    refuse_unknown_splits(options.splits, dict.fromkeys(item.split for item in listing.items))
    items = (item for item in listing.items if not options.splits or item.split in options.splits)
    return replace(listing, items=tuple(items))


def _made(options: SeparationOptions, progress: Progress) -> Path:
    """Make the missing mixtures of a run; returns their folder."""
    from auscult.jobs.mixtures import make_mixtures
    from auscult.jobs.options import MixturesOptions

    make_options = MixturesOptions(count=options.count, assets=options.assets, **options.making("mixtures"))
    make_mixtures(make_options, progress)
    return make_options.out


def cases_of(items: Iterable[SoundItem], *, step: Callable[[], None]) -> CaseList[SeparationCase]:
    """Make the cases, those of one request in a row; an item with unreadable files is left out, with an error."""
    case_list, hash_of, seen = CaseList[SeparationCase](), cache(digest_file), set[str]()
    for item in items:
        case_list.add(item.id, partial(_case, item, hash_of))
        step()
    case_list.cases.sort(key=lambda case: (case.clip, str(case.item.mixture), case.digest))
    for number, case in enumerate(case_list.cases):
        case_list.cases[number] = replace(case, repeated=case.digest in seen)
        seen.add(case.digest)
    return case_list


def _case(item: SoundItem, hash_of: Callable[[Path], str]) -> SeparationCase:
    query, truth = item.query, item.truth
    stems = [] if truth is None or truth.stem is None else [truth.stem, *truth.others.values()]
    hashes = [hash_of(path) for path in stems]
    picture = query.picture
    files = [] if picture is None else [picture]
    if picture is not None and picture.is_dir():
        files = sorted(file for file in picture.iterdir() if file.is_file())
    shown = [hash_of(file) for file in files]
    spans = [[span.sign, span.start_s, span.end_s] for span in query.spans]
    hardness = {} if truth is None else dict(truth.difficulty)
    return SeparationCase(
        item=item,
        digest=digest_json([hash_of(item.mixture), query.text, spans, shown, hashes]),
        truth=digest_json([SCORED, hashes, hardness]),
    )
