"""``auscult stress negatives``: null expressions with proof, as an INPUT, as REFER json and as rows.

The same command again resumes a stopped run. The record is ``pictures.jsonl``, one line per picture; files for other
tools are made from it at the end (``negatives_files``), line by line.

``--hard MODEL`` keeps the sentences for which a model paints the largest areas. A round draws ``WIDER`` candidates per
negative, has a model segment each, and keeps those of a reference with the largest area. The candidates of all rounds
are one sequence without repetition, so that earlier choices stay and a further round has new candidates. A round has
one model; a later one may have another, trained on the earlier choices. ``hard.jsonl`` has a line for each candidate; a
failed request has no area and is sent again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from auscult.cases.datasets.refavs import FILE as SCENES
from auscult.cases.references import (
    AnnotatedObject,
    AnnotatedPicture,
    Reference,
    ReferenceListing,
    Sentence,
    list_references,
)
from auscult.cases.walk import is_file
from auscult.errors import REMARKS, AuscultError, ErrorRecord, Mismatch, NothingToDo, UsageError
from auscult.jobs import predict as job
from auscult.jobs.negatives_files import PICTURES, PictureRows, sentence_id, write_files
from auscult.jobs.options import NegativesOptions, arguments_of
from auscult.jobs.predict import DEFAULT_TIMEOUT_S, PredictOptions
from auscult.jobs.runner import (
    ERRORS,
    HINT,
    ErrorLog,
    Progress,
    Result,
    ResultWriter,
    Verb,
    finish_tables,
    run_manifest,
)
from auscult.language.categories import Categories, CategoryTable, coco_table, joined
from auscult.media.frames import frame_size, read_frame
from auscult.media.masks import read_mask
from auscult.media.paths import safe_name
from auscult.media.rle import Runs, encode
from auscult.models.adapters import BY_SENTENCE, ModelSpec
from auscult.models.base import Request
from auscult.models.spec import named_models
from auscult.outcome import Undefined
from auscult.record.codec import dump, read_file
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.record.schema import Summary, error_to_json
from auscult.report.tables import Table
from auscult.rng import generator, pick
from auscult.scenes.references import scene_references
from auscult.stress.negatives import KINDS, Seen, Subject, perturb
from auscult.stress.negatives.attribute import is_colourless, shares
from auscult.stress.negatives.borrowing import borrowable
from auscult.stress.perturbation import loaded
from auscult.types import Frame, Query

TRAIN: Final = "train"
_POOL: Final = 2_000
_MOST_PICTURES: Final = 2_000
"""Most queued pictures, to bound memory."""
_TOGETHER: Final = 16
_TRIES: Final = 3
_UNKNOWN: Final = "the picture holds a category that no table knows: name it with --categories"


@dataclass(frozen=True, slots=True)
class PictureTask:
    """A few pictures for one worker."""

    pictures: tuple[AnnotatedPicture, ...]
    first: int

    @property
    def key(self) -> str:
        """The number of the first."""
        return f"{self.first}/{self.pictures[0].id}"

    @property
    def size(self) -> int:
        """The count of their references."""
        return sum(len(picture.references) for picture in self.pictures)

    def split(self) -> list[PictureTask]:
        """One picture at a time."""
        if len(self.pictures) < 2:
            return []
        return [PictureTask((picture,), self.first + index) for index, picture in enumerate(self.pictures)]

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """A row of ``errors.jsonl`` for each reference."""
        return [error_to_json(ref.id, error) for picture in self.pictures for ref in picture.references]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The settings of every worker."""

    options: NegativesOptions
    table: CategoryTable
    looked_for: frozenset[str]  # as the annotation names them
    others: tuple[tuple[str, str, str], ...]  # text, reference and category of sentences to borrow
    kinds: tuple[str, ...]
    per: int | None  # negatives per reference; None for one per sentence, in all splits
    seen: bool  # whether the pictures are available
    voices: tuple[tuple[str, str], ...]
    rounds: int  # of candidates for ``--hard``; 0 without


class NegativeMaker:
    """Makes the negative sentences of pictures; made once in each worker process."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.options = setup, setup.options
        self.known = Categories(setup.table)
        self.looked_for = self._meant(setup.looked_for)
        self.others = [
            borrowable(text, source, known=self.known, category=category) for text, source, category in setup.others
        ]

    def _meant(self, names: Iterable[str]) -> frozenset[str]:
        """The table's categories that an annotation means."""
        return frozenset().union(*(self.known.meant(name) for name in names))

    def looked_for_on(self, picture: AnnotatedPicture) -> frozenset[str]:
        """The categories whose absence from a picture its annotation proves."""
        if picture.facts is not None and picture.facts.unlisted:
            return frozenset()
        return self.looked_for if picture.looked_for is None else self._meant(picture.looked_for)

    def __call__(self, task: PictureTask) -> list[Result]:
        """The line of each picture, and its file."""
        return [self._result(picture, task.first + index) for index, picture in enumerate(task.pictures)]

    def _result(self, picture: AnnotatedPicture, index: int) -> Result:
        try:
            row = self._row(picture, index)
        except AuscultError as error:
            record = ErrorRecord.of(error, "read")
            return Result(id=picture.id, errors=[error_to_json(ref.id, record) for ref in picture.references])
        copies = {row["frame"]: picture.path} if self.setup.seen else {}
        return Result(id=picture.id, copies=copies, rows={PICTURES: [row]})

    def _row(self, picture: AnnotatedPicture, index: int) -> dict[str, Any]:
        size = picture.size or frame_size(picture.path)
        objects = _AnnotatedObjects(picture, size=size, categories=self.known, seen=self.setup.seen)
        references = []
        for ref in picture.references:
            target = picture.object(ref.target)
            references.append(
                {
                    "id": ref.id,
                    "target": ref.target,
                    "category": "" if target is None else target.category,
                    "split": ref.split,
                    "mask": None if target is None else objects.rle(target),
                    **self._sentences(ref, objects),
                }
            )
        name = f"{safe_name(picture.id)}{picture.path.suffix.lower()}"
        return {
            "id": picture.id,
            "index": index,
            "frame": f"frames/{name}",
            "size": list(size),
            "objects": [_object_row(annotated, objects) for annotated in picture.objects],
            "references": references,
            **({"rounds": self.setup.rounds} if self.setup.rounds else {}),
        }

    def _sentences(self, ref: Reference, objects: _AnnotatedObjects) -> dict[str, Any]:
        """The sentences of a reference with their negatives, and counts of missing negatives by reason."""
        rows = [_sentence_row(sentence) for sentence in ref.sentences]
        positives = [index for index, sentence in enumerate(ref.sentences) if sentence.exists]
        given_negatives = len(ref.sentences) - len(positives)
        one_each = self.setup.per is None or (ref.split == TRAIN and "per" not in self.options.given)
        wanted = len(positives) if one_each else max(0, (self.setup.per or 0) - given_negatives)
        negatives = _NegativesOfReference(self, ref, objects)
        if objects.unknown:
            negatives.reasons["", _UNKNOWN] += 1
        elif not positives:
            negatives.reasons["", "the reference has no positive sentence to begin with"] += 1
        rng = generator(self.options.seed, "negatives", ref.id)
        rounds = self.setup.rounds
        per_round = wanted * (WIDER if rounds else 1)
        for number in range(per_round * max(1, rounds) if positives and not objects.unknown else 0):
            position = positives[number % len(positives)] if one_each else pick(rng, positives)
            negatives.round = number // per_round + 1 if rounds else 0
            negatives.add(number, position, start=int(rng.integers(len(self.setup.kinds))) if one_each else number)
        reasons = [[kind, reason, count] for (kind, reason), count in negatives.reasons.items()]
        return {"sentences": [*rows, *negatives.rows], "wanted": wanted * max(1, rounds), "reasons": reasons}


class _NegativesOfReference:
    """Collects the negatives of one reference."""

    def __init__(self, maker: NegativeMaker, ref: Reference, objects: _AnnotatedObjects) -> None:
        self.maker, self.ref, self.objects = maker, ref, objects
        self.rows: list[dict[str, Any]] = []
        self.round = 0
        self.reasons: Counter[tuple[str, str]] = Counter()
        self.texts = {sentence.text.lower() for sentence in ref.sentences}
        self.dead: set[tuple[str, int]] = set()
        self.subjects: dict[int, Subject] = {}

    def add(self, number: int, at: int, *, start: int) -> None:
        """Add one negative of a sentence, of the first possible kind from ``start`` on."""
        kinds = self.maker.setup.kinds
        for step in range(len(kinds)):
            kind = kinds[(start + step) % len(kinds)]
            if (kind, at) not in self.dead and self._of_kind(kind, number, at):
                return

    def _of_kind(self, kind: str, number: int, index: int) -> bool:
        subject = self._subject(index)
        for trial in range(_TRIES):
            outcome = perturb(kind, subject, seed=self.maker.options.seed, key=f"{self.ref.id}/{number}/{trial}")
            if isinstance(outcome, Undefined):
                self.reasons[kind, outcome.reason] += 1
                self.dead.add((kind, index))
                return False
            if outcome.output.lower() not in self.texts:
                self.texts.add(outcome.output.lower())
                negative = {"kind": kind, "of": subject.sentence, **outcome.params}
                row = {"text": outcome.output, "exists": False, "negative": negative}
                self.rows.append({**row, "round": self.round} if self.round else row)
                return True
        self.reasons[kind, "what was drawn had been made already"] += 1
        return False

    def _subject(self, index: int) -> Subject:
        if index not in self.subjects:
            maker, objects, sentence = self.maker, self.objects, self.ref.sentences[index]
            target = objects.picture.object(self.ref.target)
            self.subjects[index] = Subject(
                sentence=sentence.text,
                known=maker.known,
                things=objects.things(sentence.text, target, colours="attribute" in maker.setup.kinds),
                looked_for=maker.looked_for_on(objects.picture),
                others=maker.others,
                absolute=not maker.options.no_absolute_position,
                noun="first" if maker.options.noun == "first" else "head",
                facts=objects.picture.facts,
                form=sentence.form,
                voices=maker.setup.voices,
            )
        return self.subjects[index]


class _AnnotatedObjects:
    """The objects of a picture for negatives; the picture is opened only for colours."""

    def __init__(self, picture: AnnotatedPicture, *, size: tuple[int, int], categories: Categories, seen: bool) -> None:
        self.picture, self.size, self.known, self.seen = picture, size, categories, seen
        self.meant = [categories.meant(annotated.category) for annotated in picture.objects]
        self.unknown = not all(self.meant)
        self._colours: dict[str, dict[str, float] | None] = {}
        self._places: dict[str, Seen] = {}
        self._frame: Frame | None = None

    def rle(self, one: AnnotatedObject) -> dict[str, Any] | None:
        """The mask of an object as compressed RLE."""
        if one.mask is None:
            return None
        given = one.mask.segmentation
        if isinstance(given, Mapping) and isinstance(given.get("counts"), str) and list(given["size"]) == [*self.size]:
            return dict(given)
        return encode(read_mask(one.mask, size=self.size).mask)

    def things(self, text: str, target: AnnotatedObject | None, *, colours: bool) -> tuple[Seen, ...]:
        """All objects; with ``colours``, those that a sentence may name get colours from the picture."""
        named = self.known.named(text) if colours else frozenset()
        related = self.known.related(named | (self.known.meant(target.category) if target is not None else frozenset()))
        result = []
        for annotated, categories in zip(self.picture.objects, self.meant, strict=True):
            for category in sorted(categories):
                thing = self._place(annotated) if colours else Seen(category=category, crowd=annotated.crowd)
                tints = self._tints(annotated) if colours and category in related else None
                result.append(replace(thing, category=category, colours=tints))
        return tuple(result)

    def _place(self, thing: AnnotatedObject) -> Seen:
        if thing.id not in self._places:
            box = thing.box
            height, width = self.size
            if box is None and thing.mask is not None:
                rows, columns = read_mask(thing.mask, size=self.size).mask.nonzero()
                box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) if len(rows) else None
            if box is None:
                self._places[thing.id] = Seen(category="", crowd=thing.crowd)
            else:
                sides = (box[0] / width, box[1] / height, box[2] / width, box[3] / height)
                left, top, right, bottom = (round(float(side), 4) for side in sides)
                area = max(0.0, right - left) * max(0.0, bottom - top)  # of the box, an upper bound
                self._places[thing.id] = Seen(category="", box=(left, top, right, bottom), area=area, crowd=thing.crowd)
        return self._places[thing.id]

    def _tints(self, thing: AnnotatedObject) -> dict[str, float] | None:
        """The colours of an object; None without its mask, or without a colour picture of the annotated size."""
        if not self.seen or thing.mask is None:
            return None
        if thing.id not in self._colours:
            if self._frame is None:
                self._frame = read_frame(self.picture.path)
            same = self._frame.shape[:2] == self.size and not is_colourless(self._frame)
            self._colours[thing.id] = shares(self._frame[read_mask(thing.mask, size=self.size).mask]) if same else None
        return self._colours[thing.id]


def _object_row(thing: AnnotatedObject, objects: _AnnotatedObjects) -> dict[str, Any]:
    segmentation = None if thing.mask is None else thing.mask.segmentation
    return {
        "id": thing.id,
        "category": thing.category,
        "crowd": thing.crowd,
        "box": None if thing.box is None else list(thing.box),
        "segmentation": segmentation if segmentation is not None else objects.rle(thing),
    }


def _sentence_row(sentence: Sentence) -> dict[str, Any]:
    row = {"text": sentence.text, "exists": sentence.exists}
    if sentence.exists:
        return row
    return {**row, "negative": {"kind": sentence.kind or "given", **(sentence.negative or {})}}


# --- the verb ---


class StressNegatives(Verb[PictureTask, tuple[Summary, list[Table]]]):
    """``auscult stress negatives``, as the runner sees it."""

    doing = "making negatives"
    stage = "stress"
    may_change = frozenset({"hard", "rounds"})
    options: NegativesOptions

    def __init__(self, options: NegativesOptions) -> None:
        super().__init__(options)
        self.kinds = _kinds(options.kinds)
        if options.noun not in {"head", "first"}:
            raise UsageError(f"--noun {options.noun[:40]!r}", expected="head or first")
        self.per = _per(options.per)
        self.listing = _listed(options)
        names = () if options.hard is None else (options.hard,)
        self.model = next(iter(named_models(names, task="ris", does=BY_SENTENCE)), None)
        self.hard: HardNegatives | None = None
        if self.model is None and options.rounds > 1:
            raise UsageError("--rounds needs a model", expected="--hard MODEL")
        if self.model is not None and not self.listing.seen:
            raise UsageError("--hard shows the pictures to a model", expected="--images, the folder of the pictures")
        table = _table(options.categories)
        categories = Categories(table)
        own = {name: () for name in sorted(self.listing.own) if not categories.meant(name)}
        self.table = joined(table, CategoryTable(categories=own)) if own else table

    def manifest(self) -> dict[str, Any]:
        """The manifest of the run; a changed annotation is another run."""
        listing = self.listing
        digests = [digest_file(path) for path in listing.files]
        inputs = {"layout": listing.layout, "references": listing.count, "digests": digests, "notes": [*listing.notes]}
        if self.options.categories is not None:
            inputs["categories"] = digest_file(self.options.categories)
        if self.model is not None:
            inputs["candidates of each negative"] = WIDER
        arguments = arguments_of(self.options) | {"kind": list(self.kinds)}
        return run_manifest("stress negatives", self.options, inputs=inputs, arguments=arguments)

    def unlisted(self) -> Sequence[tuple[str | None, ErrorRecord]]:
        """Errors of INPUT."""
        return self.listing.errors

    @property
    def _rounds(self) -> int:
        return 0 if self.model is None else self.options.rounds

    def worker(self) -> partial[NegativeMaker]:
        """Makes the function of a few pictures in a worker process."""
        options, listing = self.options, self.listing
        setup = Setup(
            options=options,
            table=self.table,
            looked_for=listing.looked_for,
            others=_pool(listing, options.seed) if "sentence" in self.kinds else (),
            kinds=self.kinds,
            per=self.per,
            seen=listing.seen,
            voices=tuple(sorted(listing.voices)),
            rounds=self._rounds,
        )
        return partial(NegativeMaker, setup)

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterator[PictureTask], float | None]]:
        """The remaining pictures, in batches of some thousand."""
        if self.model is not None:
            self.hard = HardNegatives(writer.run, self.model, self._rounds)
        done: dict[str, int] = {}
        for row in read_lines(self.options.out / PICTURES):
            if row.get("rounds", 0) == self._rounds:  # candidates of fewer rounds are made again with further ones
                done[row["id"]] = len(row["references"])
        if not done:
            writer.run.remove(PICTURES)
        writer.progress.stage(self.doing, self.listing.count)
        writer.progress.step(sum(done.values()))
        left = ((index, picture) for index, picture in enumerate(self.listing.pictures()) if picture.id not in done)
        while some := list(islice(left, _MOST_PICTURES)):
            groups = (some[start : start + _TOGETHER] for start in range(0, len(some), _TOGETHER))
            tasks = (PictureTask(tuple(picture for _, picture in group), group[0][0]) for group in groups)
            yield tasks, self.options.timeout_s

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write the files for other tools, and count."""
        run = writer.run
        pictures, tables = PictureRows(run.locate(PICTURES)), dict[str, Table]()
        if self.hard is not None:
            limit_s = self.options.timeout_s if "timeout" in self.options.given else DEFAULT_TIMEOUT_S
            ask = PredictOptions(workers=self.options.n_workers, timeout_s=limit_s, memory_mb=self.options.memory_mb)
            self.hard.ask(pictures, ask, errors=writer.errors, progress=writer.progress)
            tables["hard"] = self.hard.write(pictures)
            pictures = PictureRows(run.locate(PICTURES), self.hard.chosen)
        counts = write_files(run, pictures)
        rows = [row for row in run.lines(ERRORS) if row["stage"] not in REMARKS]
        # a missing picture has no reference id and counts as one
        failed = len({row["id"] for row in rows if row.get("id")}) + sum(not row.get("id") for row in rows)
        summary = Summary(
            command="stress negatives",
            n=counts.references + failed,
            ok=counts.references,
            failed=failed,
            undefined=counts.missing,
        )
        return finish_tables(run, summary, counts.tables() | tables)


stress_negatives: Final = StressNegatives.of


def _kinds(given: tuple[str, ...]) -> tuple[str, ...]:
    names = KINDS if "all" in given else given
    if not names:
        raise UsageError("no kind was chosen", expected=f"some of {', '.join(KINDS)}")
    return tuple(dict.fromkeys(loaded("negatives", name).name.split(".")[1] for name in names))


def _per(text: str) -> int | None:
    if text == "1:1":
        return None
    if not text.isdecimal() or len(text) > 4 or not 1 <= int(text) <= 1_000:
        raise UsageError(f"--per {text[:40]!r}", expected="a number from 1 to 1000, or 1:1 for one a positive sentence")
    return int(text)


def _table(path: Path | None) -> CategoryTable:
    if path is None:
        return coco_table()
    expected = '{"categories": {"forklift": ["fork lift"]}, "groups": {"vehicle": {"members": ["forklift"]}}}'
    own = read_file(CategoryTable, path, what="--categories", expected=expected, most_bytes=16 << 20)
    members = {name for group in own.groups.values() for name in group.members}.union(*own.alike)
    table = joined(coco_table(), own)
    for name in sorted(members - table.categories.keys()):
        raise UsageError(f"--categories: {name!r} is none of the categories", expected=expected, path=path)
    return table


def _pool(listing: ReferenceListing, seed: int) -> tuple[tuple[str, str, str], ...]:
    """Sentences to borrow: a reservoir sample of the distinct texts of the input."""
    rng = generator(seed, "negatives", "pool")
    reservoir: list[tuple[str, str, str]] = []
    texts: set[str] = set()
    count = 0
    for picture in listing.pictures():
        for ref in picture.references:
            target = picture.object(ref.target)
            for sentence in ref.sentences:
                text = sentence.text
                if not sentence.exists or text in texts:
                    continue
                entry = (text, ref.id, "" if target is None else target.category)
                count += 1
                slot = int(rng.integers(count))
                if len(reservoir) < _POOL:
                    reservoir.append(entry)
                elif slot < _POOL:
                    texts.discard(reservoir[slot][0])
                    reservoir[slot] = entry
                else:
                    continue
                texts.add(text)
    return tuple(reservoir)


def _listed(options: NegativesOptions) -> ReferenceListing:
    split = options.split or ""
    if is_file(options.source / SCENES):
        listing = scene_references(options.source, split=split, heard=bool({"sound", "all"} & {*options.kinds}))
    else:
        listing = list_references(options.source, options.listing, split=split)
    if not listing.count and not listing.errors:
        raise NothingToDo("the input holds no reference", path=options.source, expected="sentences about objects")
    if not listing.seen:
        note = "without --images no picture is opened: no colour is proven, and frames/ stays empty"
        listing = replace(listing, notes=(*listing.notes, note))
    return listing


HARD: Final = "hard.jsonl"
WIDER: Final = 3
"""Candidates per negative in each round."""
_CONDITION: Final = "clean"  # the condition of `auscult run rris`, under which folders of predictions have their masks


@dataclass(frozen=True, slots=True)
class NegativeCandidate:
    """A candidate negative; goes to the worker process of the model."""

    row: Mapping[str, Any]  # its line of ``hard.jsonl`` without an answer
    frame: Path
    size: tuple[int, int]  # (height, width)

    @property
    def id(self) -> str:
        """Unique in the folder."""
        return str(self.row["id"])

    def ask(self, reader: job.MediaReader) -> Request:
        """The request."""
        return Request(
            id=self.id,
            condition=_CONDITION,
            names=(self.frame.stem,),
            size=self.size,
            query=Query(self.row["text"]),
            frames=lambda: reader.frames((self.frame,), self.size).copy(),
        )


class HardNegatives:
    """The rounds of a folder: answers of models, and the negatives kept.

    Args:
        run: The folder.
        model: For rounds that no other model answered.
        rounds: Total count.

    Raises:
        Mismatch: The folder has more rounds, or its last one is another model's.
    """

    def __init__(self, run: RunFolder, model: ModelSpec, rounds: int) -> None:
        self._run, self._spec, self._rounds = run, model, rounds
        self._identity = {"model": model.name, "revision": model.revision}
        self._areas: dict[tuple[str, str], float] = {}  # id and text of a candidate to the share of the picture
        self._errors: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._models: dict[int, dict[str, str]] = {}  # of the rounds that have an answer
        for row in read_lines(run.path / HARD):
            self._note(row)
        last = max(self._models, default=0)
        if last > rounds:
            self._refuse(f"the folder has {last} rounds", expected=f"--rounds {last} or more")
        if (owner := self._models.get(rounds, self._identity)) != self._identity:
            expected = f"--rounds {rounds + 1}, where the other model is for a further round"
            self._refuse(f"round {rounds} was answered by {_named(owner)}, not by {_named(self._identity)}", expected)

    def _refuse(self, message: str, expected: str) -> None:
        raise Mismatch(message, expected=expected, hint=HINT, path=self._run.path)

    def _note(self, row: Mapping[str, Any]) -> None:
        if row["area"] is None:
            self._errors[_key(row)] = row["error"]
        else:
            self._areas[_key(row)] = row["area"]
            self._models[row["round"]] = {name: row[name] for name in self._identity}

    def _candidates(self, picture: Mapping[str, Any]) -> Iterator[NegativeCandidate]:
        frame, (height, width) = self._run.path / picture["frame"], picture["size"]
        for ref in picture["references"]:
            for number, sentence in enumerate(ref["sentences"], start=1):
                if "round" in sentence:
                    row = {"id": sentence_id(ref, sentence, number), "round": sentence["round"], "reference": ref["id"]}
                    row |= {"kind": sentence["negative"]["kind"], "text": sentence["text"], "frame": picture["frame"]}
                    yield NegativeCandidate(row, frame, (height, width))

    def ask(
        self, pictures: Iterable[Mapping[str, Any]], how: job.PredictOptions, *, errors: ErrorLog, progress: Progress
    ) -> None:
        """Ask the model about candidates without an answer; each answer is recorded at once."""
        candidates = (candidate for picture in pictures for candidate in self._candidates(picture))
        left = {candidate.id: candidate for candidate in candidates if self._is_left(candidate.row, errors)}
        progress.stage(f"ask {self._spec.name}", len(left))

        def keep(answer: Mapping[str, Any]) -> None:
            (counts,), (height, width) = answer["counts"], answer["size"]
            painted = Runs.read({"size": answer["size"], "counts": counts}).area
            append(answer["id"], {"area": painted / (height * width)})

        def fail(request: job.QueuedRequest, error: ErrorRecord) -> None:
            row = error_to_json(request.id, error)
            errors.keep([row])
            append(request.id, {"area": None, "error": row})

        def append(name: str, answer: Mapping[str, Any]) -> None:
            row = {**left[name].row, **self._identity, **answer}
            self._run.append(HARD, row)
            self._note(row)

        requests = (
            job.QueuedRequest(key=name, id=name, condition=_CONDITION, source=candidate.frame, prepared=candidate)
            for name, candidate in left.items()
        )
        job.predict(requests, self._spec, options=how, keep=keep, fail=fail, progress=progress)

    def _is_left(self, row: Mapping[str, Any], errors: ErrorLog) -> bool:
        """Whether to ask about a candidate; failures of an earlier model's round are reported again."""
        owner, number = self._models.get(row["round"], self._identity), row["round"]
        if _key(row) in self._areas or owner == self._identity:
            return _key(row) not in self._areas
        if _key(row) not in self._errors:
            expected = f"the command with that model and --rounds {number} first"
            self._refuse(f"round {number} is not at its end: {_named(owner)} was not asked about {row['id']}", expected)
        errors.keep([self._errors[_key(row)]])
        return False

    def _lines(self, picture: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The lines of a picture's candidates by id; the largest areas of each reference and round are kept.

        On a tie, those drawn first.
        """
        lines, room = {}, dict[tuple[str, int], int]()
        wanted = {ref["id"]: ref["wanted"] // self._rounds for ref in picture["references"]}
        for candidate in self._candidates(picture):
            key, model = _key(candidate.row), self._models.get(candidate.row["round"], self._identity)
            lines[candidate.id] = {**candidate.row, **model, "area": self._areas.get(key), "outcome": "failed"}
            if key not in self._areas:
                lines[candidate.id]["error"] = self._errors[key]
        scored = (row for row in lines.values() if row["area"] is not None)
        for row in sorted(scored, key=lambda row: -row["area"]):
            place = row["reference"], row["round"]
            room[place] = room.get(place, wanted[row["reference"]]) - 1
            row["outcome"] = "kept" if room[place] >= 0 else "dropped"
        return lines

    def chosen(self, picture: dict[str, Any]) -> dict[str, Any]:
        """The line of a picture with the kept negatives, each with model and area."""
        lines = self._lines(picture)
        references = []
        for ref in picture["references"]:
            sentences = []
            for number, sentence in enumerate(ref["sentences"], start=1):
                line = lines.get(sentence_id(ref, sentence, number))
                if line is None:
                    sentences.append({**sentence, "at": number})
                elif line["outcome"] == "kept":
                    hard = {name: line[name] for name in ("model", "revision", "round", "area")}
                    sentences.append({**sentence, "at": number, "negative": {**sentence["negative"], "hard": hard}})
            references.append({**ref, "sentences": sentences})
        return {**picture, "references": references}

    def write(self, pictures: Iterable[Mapping[str, Any]]) -> Table:
        """Write ``hard.jsonl`` in the order of INPUT; returns a table of the candidates' outcomes."""
        areas: dict[tuple[int, str], list[float]] = {}

        def rows() -> Iterator[bytes]:
            for picture in pictures:
                for row in self._lines(picture).values():
                    areas.setdefault((row["round"], row["outcome"]), []).append(row["area"] or 0.0)
                    yield dump(row) + b"\n"

        self._run.write_bytes(HARD, rows())
        table = []
        for number in range(1, self._rounds + 1):
            kept, dropped, failed = (areas.get((number, outcome), []) for outcome in ("kept", "dropped", "failed"))
            counts = (len(kept) + len(dropped) + len(failed), len(failed), len(kept), len(dropped))
            means = (f"{100 * sum(some) / len(some):.1f}" if some else "" for some in (kept, dropped))
            table.append((str(number), _named(self._models.get(number, self._identity)), *map(str, counts), *means))
        return Table(
            title="candidates and what the model painted for them",
            header=("round", "model", "candidates", "failed", "kept", "dropped", "painted, kept", "painted, dropped"),
            rows=tuple(table),
            note="painted: mean share of the picture, percent; every candidate stands in hard.jsonl",
        )


def _key(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["id"], row["text"]


def _named(model: Mapping[str, str]) -> str:
    return f"{model['model']} ({model['revision']})"
