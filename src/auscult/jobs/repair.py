"""``auscult act repair``: repair masks that an audit did not accept, judge them again, keep the better ones.

The input is the record of an audit: masks, verdicts, judge, policy, and the original frames. The output is a record of
the same form, with repaired masks and their new verdicts, and all others unchanged; an INPUT (``items.jsonl``,
``frames/``) and a COCO file of the masks; and every attempt in ``repairs.jsonl``.

INPUT is listed again for sounds and truth; the truth is removed from items before the repair. If INPUT has truth, J and
F of masks before and after are compared at the end, in the form of MQA-RefAVS, Table 7.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from threading import Lock
from typing import Any, Final, get_args

from auscult.act import repair as act
from auscult.act.policy import Policy, decide
from auscult.arrays.overlap import iou
from auscult.cases.ids import counted, natural_key
from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import AuscultError, ErrorRecord, InputError, Mismatch, RecordError, UnknownName, UsageError
from auscult.jobs.act import judged_rows, out_folder
from auscult.jobs.against_truth import AgainstTruth, clusters_of, collect_truth
from auscult.jobs.calibrate import RecordCalibration, calibrations_of
from auscult.jobs.clip_context import ClipIndex
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.finish import coco_parts_of, draw_worst, finish_run, in_order, picture_name, segmentations, worst_of
from auscult.jobs.frame_masks import FrameMasks
from auscult.jobs.judges import JudgeAsking, JudgeSpec, judge_spec, refuse_idle_chat_options
from auscult.jobs.judging import Auditor, amounts, identity_arguments, make_auditor, weights_digest
from auscult.jobs.options import RepairOptions, specs_of
from auscult.jobs.runner import (
    ERRORS,
    FrameGroup,
    Result,
    ResultWriter,
    Verb,
    Workers,
    failed_row,
    finish_tables,
    frame_groups,
    refuse_changed,
    run_manifest,
)
from auscult.jobs.stress import frame_name_of
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.masks import read_mask
from auscult.media.rle import encode
from auscult.models.adapters import BY_SENTENCE, ModelSpec
from auscult.models.base import Predictor, Request
from auscult.models.chat.model import REPLY_CACHE
from auscult.models.classical.grabcut import graph_cut
from auscult.models.omni import Unreachable
from auscult.models.spec import named_models
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.codec import from_json
from auscult.record.digest import digest_file, digest_json
from auscult.record.folder import RunFolder
from auscult.record.lines import StoredRows, read_lines
from auscult.record.manifest import argument, section
from auscult.record.reader import HEADER, Verdicts, read_all_verdicts, read_run, require_audit, stored_verdicts
from auscult.record.schema import PROBED, Summary, error_to_json, metric_row, verdict_from_json, verdict_to_json
from auscult.report.overlay import shrunk, small_overlay
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.masks.video import boundary_f
from auscult.score.stats.few_clusters import CORRELATION
from auscult.score.stats.intervals import Interval, bootstrap_interval
from auscult.types import Case, Frame, Item, Mask, MaskRef, Prediction, Query, Truth, Verdict

REPAIRS: Final = "repairs.jsonl"
COCO: Final = "repaired.coco.json"
PAPER: Final = "paper"
_TRIED: Final = ("minor_revision", "major_revision", "reject")
_CUT_ROUNDS: Final = 2
_SOUNDS: Final = ("audio", "in_video", "mixture", "separated")
_LISTED: Final = {spec.name: get_args(spec.type) for spec in specs_of(ListOptions)}  # option to its types
_RECORDED: Final = ("judge", "judge_from", "policy", "alone", "identity", "evidence", "joint", "source", *_LISTED)
"""What a record and its repair have in common, INPUT with its sounds and truth among it."""
_GONE: Final = "the frame is gone: the mask is in the record and in COCO, and not among the frames that are written"


@dataclass(frozen=True, slots=True)
class RepairGroup(FrameGroup):
    """The items of one frame, and the verdicts on those to repair."""

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairer:
    """Repairs masks of one frame; made once in each worker process."""

    auditor: Auditor
    model: Predictor | None
    rounds: int
    as_in_paper: bool
    calibrations: Sequence[RecordCalibration] = ()
    prompted: act.Prompted | None = None
    segmenting: Lock = field(default_factory=Lock)  # a model is used by one thread at a time

    def close(self) -> None:
        """Release what the judge holds."""
        self.auditor.close()

    def __call__(self, group: RepairGroup) -> list[Result]:
        """Repair the items; an error fails its item alone."""
        wanted = [item for item in group.items if item.id in group.wanted]
        try:
            frame = read_frame(wanted[0].frame)
        except AuscultError as error:
            return [Result(id=item.id, errors=[failed_row(item, error, "read")]) for item in wanted]
        size = (frame.shape[0], frame.shape[1])
        masks = FrameMasks(group.items, lambda item: read_mask(item.mask, size=size))
        results = []
        for item in wanted:
            try:
                results.append(self._result(item, frame, masks, verdict=group.verdicts[item.id]))
            except AuscultError as error:
                results.append(Result(id=item.id, errors=[failed_row(item, error, "repair")]))
        return results

    def _result(self, item: Item, frame: Frame, masks: FrameMasks, *, verdict: Verdict) -> Result:
        loaded = masks.get(item.id)
        if isinstance(loaded, AuscultError):
            raise loaded
        others = () if self.auditor.alone else masks.others(item.id)
        clip = None if self.auditor.clips is None else self.auditor.clips.context(item)
        case = Case(
            id=digest_json([item.id]), frame=frame, query=item.query, others=others, time_s=item.time_s, clip=clip
        )
        tools = act.Tools(
            judge=partial(self._verdicts, item, case),
            cut=partial(graph_cut, rounds=_CUT_ROUNDS),
            prompted=None if self.prompted is None else partial(self._in_turn, self.prompted),
            segment=None if self.model is None else partial(self._segmented, item, frame),
            rounds=self.rounds,
        )
        if self.as_in_paper:
            outcome = act.as_in_paper(verdict, tools=tools, text=item.query.text)
        else:
            outcome = act.repair(frame, loaded.mask, verdict, tools=tools, text=item.query.text, others=others)
        return Result(id=item.id, rows={REPAIRS: [_row(item, verdict, outcome, frame=frame)]})

    def _verdicts(self, item: Item, case: Case, masks: Sequence[Mask]) -> list[Verdict | AuscultError]:
        """Verdicts of the record's judge, identity check, labels and policy on attempts."""
        predictions = [Prediction(mask) for mask in masks]
        results: list[Verdict | AuscultError] = []
        for prediction, batched in zip(predictions, self._together(case, predictions), strict=True):
            try:
                verdict = batched or self.auditor.judge(case, prediction)
                verdict = self.auditor.whole(verdict, item, case=case, prediction=prediction)
                for calibration in self.calibrations:  # the verdict that they are compared with went through them too
                    verdict = calibration.verdict(verdict)
                results.append(decide(replace(verdict, id=item.id), self.auditor.policy))
            except (UsageError, Unreachable):  # the judge is not available: the item fails and is tried again
                raise
            except AuscultError as error:
                results.append(error)
        return results

    def _together(self, case: Case, predictions: Sequence[Prediction]) -> Sequence[Verdict | None]:
        """Verdicts of a judge with ``batch``; None if each must be judged alone."""
        batch = getattr(self.auditor.judge, "batch", None)
        if batch is not None:
            try:
                return list(batch([case] * len(predictions), predictions))
            except AuscultError:  # one of them fails: they are then judged one by one
                pass
        return [None] * len(predictions)

    def _segmented(self, item: Item, frame: Frame, text: str) -> Mask:
        if self.model is None:
            raise UsageError("there is no model", hint="add --model")
        request = Request(
            id=item.id,
            condition="clean",
            names=(item.frame.stem,),
            size=(frame.shape[0], frame.shape[1]),
            query=Query(text),
            frames=frame[None].copy,
        )
        mask: Mask = self._in_turn(self.model, request).masks[0].astype(bool)
        return mask

    def _in_turn(self, model: Callable[..., Any], *arguments: Any) -> Any:
        """Call a segmentation model, one thread at a time."""
        with self.segmenting:
            return model(*arguments)


def make_repairer(
    auditor: Callable[[], Auditor],
    *,
    model: ModelSpec | None,
    segmenter: Path | None,
    rounds: int,
    as_in_paper: bool,
    calibrations: Sequence[RecordCalibration] = (),
) -> Repairer:
    """Load judge and models and make the worker's function; at module level, so that it can be pickled."""
    loaded = None if model is None else model.load()
    prompted = None
    if segmenter is not None:
        from auscult.nets.hf_segmenters import load_sam

        prompted = load_sam(segmenter).prompted
    return Repairer(
        auditor=auditor(),
        model=loaded,
        rounds=rounds,
        as_in_paper=as_in_paper,
        calibrations=calibrations,
        prompted=prompted,
    )


def _row(item: Item, before: Verdict, repair: act.Repair, *, frame: Frame) -> dict[str, Any]:
    """A line of ``repairs.jsonl``."""
    attempts = []
    for trial in repair.tried:
        row: dict[str, Any] = {"attempt": trial.attempt, "round": trial.round, "reason": trial.reason, "kept": False}
        row["kept"] = trial is repair.kept
        if trial.note:
            row["note"] = trial.note
        if trial.mask is not None:
            row["segmentation"] = encode(trial.mask)
        if trial.mask is not None and trial.verdict is not None:
            row["verdict"] = verdict_to_json(trial.verdict, **amounts(trial.verdict, trial.mask))
        attempts.append(row)
    values = {key: getattr(before, key) for key in ("iou", "iou_low", "iou_high", "defect", "action")}
    kept = repair.kept
    line = {"id": item.id, "before": values, "kept": None if kept is None else kept.attempt, "attempts": attempts}
    if kept is not None and kept.mask is not None and kept.verdict is not None:
        overlay = small_overlay(shrunk(frame), kept.mask, errors=kept.verdict.error_map)
        line["jpeg"] = b64encode(encode_jpeg(overlay, quality=64)).decode("ascii")
    return line


class RepairMasks(Verb[RepairGroup, tuple[Summary, list[Table]]]):
    """``auscult act repair``, as the runner sees it."""

    doing = "repairing"
    stage = "repair"
    once = (REPAIRS,)
    options: RepairOptions

    def __init__(self, options: RepairOptions) -> None:
        chosen = None if options.out == Path() and "out" not in options.given else options.out
        options = replace(options, out=out_folder(chosen, options.folder, ending="repaired"))
        super().__init__(options)
        if options.policy not in {None, PAPER}:
            raise UsageError(f"there is no policy {str(options.policy)[:80]!r}", expected=f"{PAPER}, or none")
        self.record = read_run(options.folder, verdicts=())
        require_audit(options.folder, self.record.manifest)
        self._stored = stored_verdicts(options.folder)
        if not self._stored:
            judged_rows(options.folder)  # says why there is none
        self._names = sorted(self._stored, key=natural_key)
        self._asking = JudgeAsking.of(options, options.out)
        self._judge = self._recorded_judge()
        refuse_idle_chat_options(self._judge, options.given)
        self.threads = self._judge.connections
        self._policy = from_json(Policy, self._recorded("policy"), path=options.folder / "manifest.json")
        self._calibrations = calibrations_of(self.record)
        models = named_models([options.model] if options.model else (), task="ris", does=BY_SENTENCE)
        self._model = models[0] if models else None
        self._segmenter = _folder_of_weights(options.segmenter)
        if options.policy == PAPER and self._model is None:
            raise UsageError("as in the paper masks are segmented anew", hint="name what segments: --model NAME")
        self._wanted = self._ids_to_repair()
        self._masks = segmentations(self.record)

    def _recorded(self, name: str) -> Any:
        return argument(self.record.manifest, name)

    def _recorded_judge(self) -> JudgeSpec:
        """The judge of the record; one with a folder, program or model must be named again."""
        recorded, given = str(self._recorded("judge")), self.options.judge
        try:
            spec = judge_spec(given or recorded, asking=self._asking)
        except UnknownName:
            if given is not None:
                raise
            spec = JudgeSpec(given=recorded, name="", origin="")
        keys = {"judge_revision", "judge_fitted", *spec.arguments}
        if spec.name != recorded or any(spec.arguments.get(key) != self._recorded(key) for key in keys):
            raise Mismatch(
                f"the record was judged by {recorded}, and {given or 'its name alone'} is not that judge",
                expected="the same judge with the same weights, so that lower bounds can be compared",
                hint="name it as the audit did: --judge NAME@FOLDER, chat:NAME, cascade:CHEAP,DEAR; a chat model with "
                "its --profile, --base-url and --samples",
            )
        if "replies" in spec.origin.split():
            raise UsageError("replies in files know no attempt at a repair", expected="a judge that can be asked")
        return spec

    @cached_property
    def listing(self) -> Listing:
        """The listing of INPUT, for sounds and truth; empty if INPUT is gone."""
        source = self._recorded("source")
        values = {name: value for name in _LISTED if (value := self._recorded(name)) is not None}
        chosen: dict[str, Any] = {
            name: Path(value) if Path in _LISTED[name] else value for name, value in values.items()
        }
        try:
            return list_items(Path(str(source)), ListOptions(**chosen))
        except AuscultError:
            return Listing((), (), "")

    @cached_property
    def _listed(self) -> Mapping[str, Item]:
        """The items of the listing by id."""
        return {item.id: item for item in self.listing.items}

    def _frame(self, row: Mapping[str, Any]) -> Path:
        """The frame of a row, which must have a mask too."""
        frame, name = self.record.frame_path(row), str(row["id"])
        if frame is None or name not in self._masks:
            raise RecordError(
                f"the record does not say where the frame or the mask of {name!r} is",
                path=self.record.path,
                expected="a record of this version, with a line of masks.jsonl for each verdict",
                hint="judge again into another --out",
            )
        return frame

    def _item(self, row: Mapping[str, Any]) -> Item:
        """The item of a row with its mask, without truth."""
        name = str(row["id"])
        bare = Item(
            id=name,
            frame=self._frame(row),
            mask=MaskRef(segmentation=self._masks[name]),
            query=Query(row.get("text")),
            clip=row.get("clip"),
            time_s=row.get("time_s"),
            extra=row.get("extra") or {},
        )
        listed = self._listed.get(name)
        sounds = {} if listed is None else {key: getattr(listed, key) for key in _SOUNDS}
        return replace(bare, **sounds)

    def _items(self) -> Iterator[Item]:
        """All items of the record, made one by one."""
        return (self._item(self._stored[name][1]) for name in self._names)

    def manifest(self) -> dict[str, Any]:
        """The manifest of the run, with the judge, policy and frames of the record."""
        options, model, path = self.options, self._model, self.record.path
        recorded = {key: self._recorded(key) for key in _RECORDED}
        chosen = {
            "record": str(options.folder.resolve()),
            "model": None if model is None else f"{model.name} {model.revision}",
            "segmenter": None if self._segmenter is None else weights_digest(self._segmenter),
            "rounds": options.rounds,
            "choice": options.policy or "lower bound",
        }
        files = {name: digest_file(path / name) for name in ("verdicts.jsonl", "masks.jsonl")}
        inputs = {**section(self.record.manifest, "inputs"), "record": files}
        arguments = {key: value for key, value in {**recorded, **chosen}.items() if value not in (None, False)}
        arguments |= self._judge.arguments
        arguments |= {key: value for key, value in self._identity().items() if key not in arguments}
        return run_manifest("act repair", options, inputs=inputs, arguments=arguments)

    def _identity(self) -> Mapping[str, Any]:
        name = self._recorded("identity")
        return identity_arguments(None if name is None else str(name), self.options.identity_weights)

    def worker(self) -> Callable[[], Repairer]:
        """Makes the function of one frame in a worker process."""
        spec, options, limit_s = self._judge, self.options, self.options.cascade_seconds
        clips = ClipIndex.of(replace(self.listing, items=tuple(self._items()))) if spec.needs_clip else None
        auditor = partial(
            make_auditor,
            spec.given,
            self._policy,
            Path(),
            alone=bool(self._recorded("alone")),
            identity=self._recorded("identity"),
            weights=options.identity_weights,
            evidence=self._recorded("evidence"),
            clips=clips,
            joint=self._recorded("joint") is not None,
            asking=self._asking,
            cascade_seconds=None if limit_s is None else limit_s / (1 if self.threads else max(1, options.n_workers)),
        )
        paper = options.policy == PAPER
        return partial(
            make_repairer,
            auditor,
            model=self._model,
            segmenter=self._segmenter,
            rounds=options.rounds,
            as_in_paper=paper,
            calibrations=self._calibrations,
        )

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[RepairGroup], float | None]]:
        """The frames with masks neither accepted nor tried yet."""
        if "chat" in self._judge.origin.split():
            writer.run.claim(REPLY_CACHE)
        listing, by_frame, before = self.listing, dict[str, list[str]](), dict[str, object]()
        listed = {item.id for item in listing.items}
        for name in self._names:
            row = self._stored[name][1]
            by_frame.setdefault(str(self._frame(row)), []).append(name)
            if name in listed and "repair" not in row:
                before[name] = row.get("input")
        refuse_changed(before, listing.items)
        if not any(item.truth for item in listing.items):  # nothing else is asked of INPUT: few are held
            heard = (item for item in listing.items if any(getattr(item, key) for key in _SOUNDS))
            self.listing = replace(listing, items=tuple(heard))
        done = {str(row["id"]) for row in read_lines(writer.run.path / REPAIRS)} & self._wanted
        writer.progress.stage(self.doing, len(self._wanted))
        writer.progress.step(len(done))
        yield self._groups(by_frame.values(), self._wanted - done), self.options.timeout_s

    def _groups(self, frames: Iterable[Sequence[str]], wanted: set[str]) -> Iterator[RepairGroup]:
        """The ids of each frame as items, where one of them is wanted; read when it is their turn."""
        for names in frames:
            if wanted.isdisjoint(names):
                continue
            judged = {name: self._stored[name] for name in names}
            verdicts = {name: verdict for name, (verdict, _) in judged.items() if name in wanted}
            if self.options.policy == PAPER:
                verdicts = {name: replace(verdict, defect="full_neg") for name, verdict in verdicts.items()}
            items = [self._item(row) for _, row in judged.values()]
            for group in frame_groups(items, done=judged.keys() - wanted):
                yield RepairGroup(group.items, group.wanted, {name: verdicts[name] for name in group.wanted})

    def _ids_to_repair(self) -> set[str]:
        if self.options.policy != PAPER:
            return {name for name, (verdict, _) in self._stored.items() if verdict.action in _TRIED}
        names = {name for name, (verdict, _) in self._stored.items() if verdict.defect == "full_neg"}
        for clip in self.record.clips:  # the clip's defect holds in every frame
            frames = {name for name in clip.get("frames", ()) if name in self._stored}
            names = names | frames if clip.get("defect") == "full_neg" else names - frames
        return names

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Write the record with the kept masks, INPUT and COCO, and compare with truth if there is any."""
        run = writer.run
        after = self._lay_out(run)
        verdicts, _ = read_all_verdicts(run.path, error_maps=worst_of)
        compared = self._with_truth(writer, after, verdicts)
        del self.listing, self._listed
        writer.progress.stage("tables and report", 0)
        summary = finish_run(run, command="act repair", verdicts=verdicts, ended=False)
        # an item that failed may have been to be segmented anew: then nothing is said
        model = None if self._model is None or any(run.lines(ERRORS)) else self._model.name
        attempts = attempts_table(read_lines(run.path / REPAIRS), repaired=len(after), model=model)
        tables = {"attempts": attempts, **compared.tables}
        self._hand_over(writer, verdicts)
        metrics = {**summary.metrics, **compared.metrics}
        failed = len({row["id"] for row in run.lines(ERRORS)})  # they keep the verdict of the original mask
        return finish_tables(run, replace(summary, metrics=metrics, failed=failed), tables)

    def _with_truth(self, writer: ResultWriter, after: Mapping[str, Any], verdicts: Verdicts) -> AgainstTruth:
        """Draw the worst masks, and compare with truth if there is any; ``after`` has the repaired masks."""

        def repaired(items: Iterable[Item]) -> Iterator[Item]:
            for item in items:
                yield replace(item, mask=MaskRef(segmentation=after[item.id])) if item.id in after else item

        for name in after:
            writer.run.remove(picture_name(name))  # of a mask repaired after it was drawn
        all_items = (self._item(row) for _, row in verdicts)
        draw_worst(writer, repaired(all_items), verdicts=verdicts, workers=self.options.n_workers)
        truths = {item.id: item.truth for item in self.listing.items if item.truth is not None}
        items = [replace(self._item(row), truth=truths.get(verdict.id)) for verdict, row in verdicts] if truths else []
        current = list(repaired(items))
        changed = {verdict.id for verdict, row in verdicts if "repair" in row}  # now, or in the record before
        current = [replace(item, truth=_of_object(item.truth)) if item.id in changed else item for item in current]
        listing = replace(self.listing, items=tuple(current))
        collect_truth(writer, listing, verdicts=verdicts, workers=self.options.n_workers)
        clusters = {} if not items else clusters_of(items, films=filmed(listing))
        return before_after(writer, items, after=after, clusters=clusters, workers=self.options.n_workers)

    def _lay_out(self, run: RunFolder) -> Mapping[str, Any]:
        """Write the files of an audit with the repaired rows; returns the repaired masks as RLE by id."""

        def is_kept(row: Mapping[str, Any]) -> bool:
            return row.get("kept") is not None and str(row["id"]) in self._stored

        before, path = self.record, run.path / REPAIRS
        kept = StoredRows(path, _kept, where=is_kept)
        after = StoredRows(path, lambda row: _kept(row)["segmentation"], where=is_kept)
        rows = ((name, self._stored[name][1]) for name in self._names)
        masks = ({"id": name, "segmentation": mask} for name, mask in after.items())
        thumbnails = ({"id": row["id"], "jpeg": row["jpeg"]} for row in read_lines(run.path / REPAIRS) if "jpeg" in row)
        for name, old, new in (
            ("masks.jsonl", before.lines("masks.jsonl"), masks),
            ("thumbnails.jsonl", before.thumbnails(), thumbnails),
        ):
            run.write_lines(name, chain((row for row in old if row.get("id") not in after), new))
        run.write_lines("verdicts.jsonl", (_row_after(row, kept[name]) if name in kept else row for name, row in rows))
        if probes := list(before.lines(PROBED)):  # what they say of the judge holds for what it repaired
            run.write_lines(PROBED, probes)
        if header := before.header():
            run.write_long_json(HEADER, header)
        return after

    def _hand_over(self, writer: ResultWriter, verdicts: Verdicts) -> None:
        """Write all masks as an INPUT and as COCO."""
        run = read_run(writer.run.path, verdicts=verdicts)
        masks = segmentations(run)
        rows = in_order(row for _, row in run.verdicts)
        root = Path(str(section(run.manifest, "inputs").get("frames_root") or ""))
        failed = {str(row["id"]) for row in run.lines(ERRORS)}
        handed, copies, errors = list[tuple[Mapping[str, Any], str]](), dict[str, Path](), list[dict[str, Any]]()
        for row in rows:
            frame = run.frame_path(row)
            if frame is None or not frame.is_file():
                if row["id"] not in failed:
                    gone = ErrorRecord.of(InputError(_GONE, path=frame), "write")
                    errors.append(error_to_json(str(row["id"]), gone))
                continue
            name = f"frames/{frame_name_of(frame, root)}"
            copies[name] = frame
            handed.append((row, name))
        writer.keep([Result(id="", copies=copies, errors=errors)])
        items = (_input_row(row, name, masks[str(row["id"])]) for row, name in handed)
        writer.run.write_lines("items.jsonl", items)
        writer.run.write_long_json(COCO, coco_parts_of(rows, run, masks=masks))


def _kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """The attempt of a line of ``repairs.jsonl`` that was kept, with what was said ``before``."""
    kept = next(attempt for attempt in row["attempts"] if attempt["kept"])
    return {**kept, "before": row["before"]}


def _row_after(row: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a verdict with that of the attempt that was kept."""
    shares = {key: kept["verdict"].get(key) for key in ("missing_share", "extra_share")}
    extra = {key: value for key, value in row.items() if key not in {"input", "repair", *shares}}
    extra |= {key: value for key, value in shares.items() if value is not None}
    was = {"attempt": kept["attempt"], "before": kept["before"]}
    return verdict_to_json(verdict_from_json(kept["verdict"]), **extra, repair=was)


def _input_row(row: Mapping[str, Any], frame: str, mask: Any) -> dict[str, Any]:
    """The line of ``items.jsonl`` of a verdict's row."""
    keys = {key: row[key] for key in ("text", "clip", "time_s") if row.get(key) is not None}
    was = {} if "repair" not in row else {"repair": row["repair"]["attempt"]}
    return {"id": row["id"], "frame": frame, "mask": mask, **keys, **was}


repair_record: Final = RepairMasks.of


def _of_object(truth: Truth | None) -> Truth | None:
    """What is still true once the mask is another: the object, not the mask's IoU, defect or action."""
    return None if truth is None or truth.mask is None else Truth(mask=truth.mask)


def _folder_of_weights(text: str | None) -> Path | None:
    """The folder of ``hf:NAME``."""
    if text is None:
        return None
    kind, _, weights = text.partition(":")
    if kind != "hf" or not weights:
        raise UsageError(
            f"there is no segmenter {text[:80]!r}",
            expected="hf:NAME, a folder of SAM, SAM 2 or SAM 3 weights or their name in the hub's cache",
        )
    from auscult.nets.hf_folder import folder_of

    return folder_of(weights)


def attempts_table(rows: Iterable[Mapping[str, Any]], *, repaired: int, model: str | None = None) -> Table:
    """Counts of attempts made, judged and kept, with a note where the ``model`` was never asked."""
    counts: dict[str, list[int]] = {}
    masks = tried = 0
    for row in rows:
        masks += 1
        tried += bool(row["attempts"])
        for attempt in row["attempts"]:
            made = counts.setdefault(attempt["attempt"], [0, 0, 0])
            made[0] += 1
            made[1] += "verdict" in attempt
            made[2] += attempt["kept"]
    idle = ""
    if model is not None and not any(name.startswith("anew_") for name in counts):
        idle = f"; {model} segmented nothing anew: no rejected mask has an expression, or a target that the judge names"
    return Table(
        title="attempts",
        header=("attempt", "made", "judged", "kept"),
        rows=tuple((name, *map(str, tally)) for name, tally in sorted(counts.items())),
        note=f"to repair: {counted(masks, 'mask')}; tried: {tried}; repaired: {repaired}; "
        f"all others stay as they were{idle}",
    )


BEFORE_AFTER: Final = "before_after.jsonl"
PARTS: Final[Mapping[str, str]] = {"test_s": "seen", "test_u": "unseen"}
"""Splits of Ref-AVSBench and MQ-RAVSBench, as in the table."""

_WORSE: Final = 0.005  # largest loss of J of a mask that is not worse


@dataclass(frozen=True, slots=True)
class _Changed(FrameGroup):
    after: Mapping[str, Any] = field(default_factory=dict)  # id to the repaired mask as RLE; None if unchanged


class _Comparer:
    def __call__(self, group: _Changed) -> list[Result]:
        return [self._result(item, group.after[item.id]) for item in group.items if item.id in group.wanted]

    def _result(self, item: Item, after: Any) -> Result:
        if item.truth is None or item.truth.mask is None:
            return Result(id=item.id)
        try:
            true = read_mask(item.truth.mask).mask
            masks = [read_mask(item.mask, size=(true.shape[0], true.shape[1])).mask]
            if after is not None:
                masks.append(read_mask(MaskRef(segmentation=after), size=(true.shape[0], true.shape[1])).mask)
        except AuscultError as error:
            return Result(id=item.id, errors=[failed_row(item, error, "truth")])
        scores = [(iou(mask, true), boundary_f(mask, true).value) for mask in masks]
        row = {"id": item.id, "before": scores[0], "after": scores[-1], "repaired": after is not None}
        return Result(id=item.id, rows={BEFORE_AFTER: [row]})


def before_after(
    writer: ResultWriter,
    items: Sequence[Item],
    *,
    after: Mapping[str, Any],
    clusters: Mapping[str, Hashable],
    workers: int,
) -> AgainstTruth:
    """Compare the masks before and after the repair with the truth, if any.

    Args:
        writer: Gets a row for each mask with truth.
        items: With the original mask, and truth.
        after: The repaired mask as RLE by id; None if unchanged.
        clusters: The cluster of each item: its photograph or clip.
        workers: Worker processes.
    """
    writer.run.remove(BEFORE_AFTER)
    with_truth = [item for item in items if item.truth is not None and item.truth.mask is not None]
    if not with_truth:
        return AgainstTruth()
    writer.progress.stage("comparing before and after", len(with_truth))
    groups = (
        _Changed(group.items, group.wanted, {name: after.get(name) for name in group.wanted})
        for group in frame_groups(with_truth)
    )
    writer.keep_all(Workers(make=_Comparer, count=workers, stage="truth", timeout_s=120.0), groups)
    rows = {str(row["id"]): row for row in read_lines(writer.run.path / BEFORE_AFTER)}
    parts: dict[str, dict[Hashable, list[Scores]]] = {}
    for item in with_truth:
        if item.id in rows:
            row = rows[item.id]
            (j, f), (j_after, f_after) = row["before"], row["after"]
            scores = Scores(j, f, j_after, f_after, bool(row["repaired"]))
            parts.setdefault(_part(item), {}).setdefault(clusters[item.id], []).append(scores)
    return compared({part: list(by_cluster.values()) for part, by_cluster in sorted(parts.items())})


def _part(item: Item) -> str:
    benchmark = item.extra.get("mqa")
    split = benchmark.get("split") if isinstance(benchmark, Mapping) else item.extra.get("split")
    return PARTS.get(str(split), "all")


@dataclass(frozen=True, slots=True)
class Scores:
    """J and F of one mask, before and after, each 0..1, and whether it was repaired."""

    j_before: float
    f_before: float
    j_after: float
    f_after: float
    repaired: bool = True


def j_and_f(j: float, f: float) -> float:
    """The mean of J and F."""
    return (j + f) / 2


_COLUMNS: Final = ("J", "F", "J&F")


def _values(scores: Sequence[Scores], *, after: bool) -> list[tuple[float, float, float]]:
    chosen = [(score.j_after, score.f_after) if after else (score.j_before, score.f_before) for score in scores]
    return [(j, f, j_and_f(j, f)) for j, f in chosen]


def _gain(scores: Sequence[Scores], *, column: int) -> float:
    before, after = (_values(scores, after=later) for later in (False, True))
    return fmean(new[column] - old[column] for old, new in zip(before, after, strict=True))


def _gains(clusters: Sequence[Sequence[Scores]], part: str) -> Iterator[Interval | Undefined]:
    for at, name in enumerate(_COLUMNS):
        rng = generator(0, "before and after", part, name)
        yield bootstrap_interval(partial(_gain, column=at), clusters, rng=rng, within=CORRELATION)


def compared(parts: Mapping[str, Sequence[Sequence[Scores]]]) -> AgainstTruth:
    """The table and numbers of masks by part, each a list of clusters; percent with one decimal in the table.

    Source: MQA-RefAVS, Table 7; the gain and its interval, over whole clusters, are ours.
    """
    header, notes, unknown, metrics = [""], list[str](), list[str](), dict[str, Mapping[str, Any]]()
    rows: dict[str, list[str]] = {"before": [], "after": [], "gain": [], "95 %": []}
    for part, clusters in parts.items():
        scores = [score for cluster in clusters for score in cluster]
        header += [f"{part}, {name}" if part != "all" else name for name in _COLUMNS]
        for later, name in ((False, "before"), (True, "after")):
            means = [fmean(column) for column in zip(*_values(scores, after=later), strict=True)]
            rows[name] += [f"{100 * mean:.1f}" for mean in means]
        for index, (name, interval) in enumerate(zip(_COLUMNS, _gains(clusters, part), strict=True)):
            gain, signature = _gain(scores, column=index), Signature.of(metric=f"gain in {name} by repair", part=part)
            outcome: Scored[float] = Scored(gain, signature)
            span = "n/a"
            if isinstance(interval, Interval):
                outcome, span = (
                    replace(interval, signature=signature),
                    f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f}",
                )
            else:
                unknown.append(f"{part}: no interval, {interval.reason}")
            rows["gain"].append(f"{100 * gain:+.1f}")
            rows["95 %"].append(span)
            metrics[f"repair_gain_{name.lower().replace('&', '_and_')}_{part}"] = metric_row(outcome, n=len(scores))
        worse = sum(score.j_after < score.j_before - _WORSE for score in scores)
        repaired = sum(score.repaired for score in scores)
        share = Scored(
            worse / len(scores), Signature.of(metric="share made worse by repair", j=f">{_WORSE:g}", part=part)
        )
        metrics[f"repair_worse_{part}"] = metric_row(share, n=len(scores))
        notes.append(
            f"{part}: {len(scores)} masks of {len(clusters)} photographs or clips, "
            f"{repaired} repaired, {worse} made worse"
        )
    table = Table(
        title="J and F before and after",
        header=tuple(header),
        rows=tuple((name, *cells) for name, cells in rows.items()),
        note="; ".join((*notes, *dict.fromkeys(unknown)))
        + "; masks that were not tried are in the means; intervals draw whole photographs or clips",
    )
    return AgainstTruth(tables={"before_after": table}, metrics=metrics)
