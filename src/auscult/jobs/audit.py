"""``auscult audit``: judge every candidate of an INPUT without truth, masks and separated sounds, decide, report.

The same command again continues where a stopped run left off. Truth in the INPUT is opened only after the last verdict
is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auscult.act.policy import load_policy
from auscult.act.sound_policy import load_sound_policy
from auscult.cases.listing import Listing, list_items
from auscult.errors import Mismatch, NothingToDo, UsageError
from auscult.jobs.clip_context import ClipIndex
from auscult.jobs.clip_tracks import CLIPS, clip_offer, filmed, tracks_of
from auscult.jobs.joint import JOINT
from auscult.jobs.judges import JudgeAsking, judge_spec, refuse_idle_chat_options, sound_judge_arguments
from auscult.jobs.judging import VERDICTS, identity_arguments, load_default_judge, make_auditor
from auscult.jobs.options import CHANGE_NOTHING, AuditOptions, ChatJudgeOptions, arguments_of, specs_of
from auscult.jobs.runner import HINT, FrameVerb, Result, ResultWriter, stamps_of
from auscult.judge import DEFAULT_JUDGE
from auscult.models.chat.model import REPLY_CACHE
from auscult.record.codec import from_json
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder
from auscult.record.reader import HEADER, SUMMARY, Verdicts, read_all_verdicts, read_summary
from auscult.record.schema import HANDOVERS, PRINTED, REPORT, TABLE, Summary, is_sound

if TYPE_CHECKING:
    from auscult.cases.video import VideoMasks
    from auscult.types import SoundItem


_TOGETHER: Final = 4


class Audit(FrameVerb[Summary]):
    """``auscult audit``, as the runner sees it."""

    command = "audit"
    doing = "judging"
    stage = "judge"
    results = VERDICTS
    options: AuditOptions
    judged = False  # whether an item was judged in this run

    def __init__(self, options: AuditOptions) -> None:
        self._asking = JudgeAsking.of(options, options.out)
        self._judge = judge_spec(options.judge, asking=self._asking)
        refuse_idle_chat_options(self._judge, options.given)
        self.threads = self._judge.connections
        self._asks = "chat" in self._judge.origin.split()
        if options.probe and "replies" in self._judge.origin.split():
            raise UsageError("replies in files cannot be probed", expected="a judge that can be asked")
        self._policy = load_policy(options.policy)
        self._hears = False  # whether it is the sounds' turn
        self._video: tuple[Path, VideoMasks] | None = None
        if options.video is not None and options.source == Path() and "source" not in options.given:
            options = replace(options, source=options.video)
        super().__init__(options)
        self.listing = replace(self.listing, notes=(*self.listing.notes, *clip_offer(self.listing)))
        sounds = self.listing.sounds
        if sounds:
            self._sound_policy = load_sound_policy(options.sound_policy)
        if sounds and not self.listing.items and all(item.separated is None for item in sounds):
            message, hint = "the input holds mixtures and nothing separated", "`auscult run separation` separates"
            expected = "'separated' beside 'mixture', or a folder separated/ beside mixtures/"
            raise NothingToDo(message, path=self.options.source, expected=expected, hint=hint)

    @staticmethod
    def warm_up(options: AuditOptions) -> Callable[[], None] | None:
        """What loads the default judge, if it is asked for by its full or short name; no other is loaded early."""
        return load_default_judge if options.judge in (DEFAULT_JUDGE, DEFAULT_JUDGE.split(".")[1]) else None

    def listed(self) -> Listing:
        """What INPUT holds, or the masks of a video."""
        options, video = self.options, self.options.video_file
        if video is None:
            return list_items(options.source, options.listing, sounds=True)
        from auscult.cases.video import list_video
        from auscult.jobs.video_frames import FOLDER, refuse_large

        source = video.parent if options.source == video else options.source
        masks = list_video(video, source=source, frames=options.out / FOLDER, options=options.listing)
        refuse_large(video, masks)
        self._video = video, masks
        return masks.listing

    def manifest(self) -> dict[str, Any]:
        """The manifest of the run."""
        manifest = super().manifest()
        films = filmed(self.listing)
        manifest["inputs"]["films"] = sorted({str(item.clip) for item in self.listing.items if item.id in films})
        if self._video is not None:
            manifest["inputs"]["video"] = digest_file(self._video[0])
        if self.listing.sounds:
            manifest["inputs"] |= {"sounds": len(self.listing.sounds), "sounds_root": str(self._sounds_root)}
        return manifest

    @property
    def _sounds_root(self) -> Path:
        """The folder that names of sounds on record are relative to: --root, else INPUT's."""
        source = (self.options.listing.root or self.options.source).absolute()
        return source if source.is_dir() else source.parent

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[Any], float | None]]:
        """The frames of which items are still to be done; those of a video, or a COCO file's header, come first."""
        sounds = self._sounds_left(writer) if self.listing.sounds else []
        if self._video is not None:
            from auscult.jobs.video_frames import write_frames

            self.listing = write_frames(*self._video, writer)
        if self.listing.header:
            writer.run.write_long_json(HEADER, self.listing.header)
        if self._asks:
            writer.run.claim(REPLY_CACHE)
        if self._judge.needs_probes or self.options.probe:
            from auscult.jobs.probes import measure_probes

            options = self.options
            limits = {"count": options.n_workers, "timeout_s": options.timeout_s, "memory_mb": options.memory_mb}
            measure_probes(self._judge, self._asking, writer=writer, limits=limits)
        if self.listing.items or not self.listing.sounds:
            yield from super().batches(writer)
        if self.listing.sounds:
            from auscult.jobs.sound_judging import SOUNDS_TOGETHER, sound_groups

            self._hears, self.threads = True, 0
            writer.progress.stage("judging sounds", len(self.listing.sounds))
            writer.progress.step(len(self.listing.sounds) - len(sounds))
            joined = max(1, min(SOUNDS_TOGETHER, len(sounds) // max(1, self.options.n_workers)))
            yield sound_groups(sounds, joined=joined), self.options.timeout_s

    def _sounds_left(self, writer: ResultWriter) -> list[SoundItem]:
        """The separated sounds that have no verdict yet; those that have must come from the same files."""
        from auscult.jobs.sound_judging import refuse_changed_sounds

        items, run = self.listing.sounds, writer.run
        done = {row["id"]: row["input"] for row in run.lines(VERDICTS) if is_sound(row)}
        refuse_changed_sounds(done, items, stamps=stamps_of(run.path, done))
        return [item for item in items if item.id not in done]

    def arguments(self) -> dict[str, Any]:
        """The resolved arguments, for the manifest; options that are not set are left out."""
        options, judge = self.options, self._judge
        unused = CHANGE_NOTHING if self._asks else {spec.name for spec in specs_of(ChatJudgeOptions)}
        used = {name: value for name, value in arguments_of(options).items() if name not in unused}
        arguments = {name: value for name, value in used.items() if value not in (None, False)}
        arguments |= {
            "judge": judge.name,
            "judge_from": judge.origin,
            "policy": asdict(self._policy),
            **judge.arguments,
        }
        if self.listing.sounds:
            arguments |= sound_judge_arguments(options.sound_judge)
            arguments |= {"sound_policy": asdict(self._sound_policy)}
        else:
            del arguments["sound_judge"], arguments["sound_policy"]
        arguments |= {"joint": JOINT} if self._is_joint else {}
        return arguments | identity_arguments(options.identity, options.identity_weights)

    def refuse_changed(self, done: Mapping[str, Mapping[str, Any]]) -> None:
        """Insist that what was judged before is the same, and the model's own score of it."""
        super().refuse_changed(done)
        for item in self.listing.items:
            before = done.get(item.id, {}).get("model_score", item.model_score)
            if item.model_score != before:
                raise Mismatch(
                    f"{item.id} has a result in the folder, and the model's own score of it was {before}, now "
                    f"{'not given' if item.model_score is None else item.model_score}",
                    expected="the same scores as when the folder was begun",
                    hint=HINT,
                )

    def items_per_task(self) -> int:
        """Four masks together cost a tenth less than one by one; few items are still shared out among all workers."""
        return max(1, min(_TOGETHER, len(self.listing.items) // max(1, self.options.n_workers)))

    def worker(self) -> Callable[[], Callable[[Any], Sequence[Result]]]:
        """Makes the function of one frame, or of the outputs of one mixture, in a worker process."""
        options = self.options
        if self._hears:
            from auscult.jobs.sound_judging import SoundAuditor

            return partial(SoundAuditor, options.sound_judge, self._sound_policy, self._sounds_root)
        limit_s = options.cascade_seconds  # each worker has its share; threads have it together
        return partial(
            make_auditor,
            options.judge,
            self._policy,
            self.frames_root,
            alone=options.alone,
            identity=options.identity,
            weights=options.identity_weights,
            evidence=options.evidence,
            clips=ClipIndex.of(self.listing) if self._judge.needs_clip else None,
            cascade_seconds=None if limit_s is None else limit_s / (1 if self.threads else max(1, options.n_workers)),
            asking=self._asking,
            threads=self.threads,
            joint=self._is_joint,
        )

    @property
    def _is_joint(self) -> bool:
        """Whether an item names a separated sound."""
        return any(item.separated is not None for item in self.listing.items)

    def _is_unaltered(self, run: RunFolder) -> bool:
        """Whether the record was finished and nothing came or changed since: its report would be the same.

        Truth may have been corrected, and frames without a mask are not compared: with either, all is written anew.
        """
        listing, before = self.listing, self.before
        if "finished" not in before or before.get("inputs") != run.manifest["inputs"] or self.judged:
            return False
        if listing.errors or listing.lost or listing.bare or listing.unmasked:
            return False
        if any(item.truth for item in listing.items) or any(item.truth for item in listing.sounds):
            return False
        printed = PRINTED[0 if listing.items else 1]
        files = [run.path / name for name in (SUMMARY, f"tables/{printed}.json", TABLE, *HANDOVERS, REPORT)]
        if not all(path.is_file() for path in files):
            return False
        newest = max(path.stat().st_mtime_ns for path in run.path.glob("*.jsonl"))
        return newest <= files[-1].stat().st_mtime_ns

    def after_write(self, results: Sequence[Result]) -> None:
        """Note that something was judged in this run."""
        self.judged = self.judged or bool(results)

    def finish(self, writer: ResultWriter) -> Summary:
        """Write everything that is computed from the verdicts, which are read once."""
        if self._is_unaltered(writer.run):
            writer.run.finish()
            return from_json(Summary, read_summary(writer.run.path), path=writer.run.path / SUMMARY)
        # imported late, so that the first verdict comes sooner
        from auscult.jobs.against_truth import collect_truth
        from auscult.jobs.finish import draw_worst, finish_run, worst_of

        workers, (verdicts, sounds) = self.options.n_workers, read_all_verdicts(writer.run.path, error_maps=worst_of)
        listing = _chosen(self.listing, verdicts)
        draw_worst(writer, listing.items, verdicts=verdicts, workers=workers)
        writer.run.remove(CLIPS)
        if clips := tracks_of(listing):
            from auscult.jobs.clips import write_clips

            write_clips(writer, clips, verdicts=verdicts, policy=self._policy, workers=workers)
        collect_truth(writer, listing, verdicts=verdicts, workers=workers)
        if sounds:
            from auscult.jobs.against_sound_truth import collect_sound_truth
            from auscult.jobs.sound_report import draw_worst_sounds

            draw_worst_sounds(writer, listing.sounds, sounds=sounds, workers=workers)
            collect_sound_truth(writer, listing.sounds, sounds=sounds, workers=workers)
        writer.progress.stage("tables and report", 0)
        return finish_run(writer.run, command="audit", verdicts=verdicts, sounds=sounds)


audit_folder: Final = Audit.of


def _chosen(listing: Listing, verdicts: Verdicts) -> Listing:
    """The listing with the proposal of each item that was judged the best."""
    chosen = {verdict.id: row["proposal"] for verdict, row in verdicts if isinstance(row.get("proposal"), int)}
    if not chosen:
        return listing
    return replace(
        listing,
        items=tuple(
            replace(item, mask=replace(item.mask, index=chosen[item.id])) if item.id in chosen else item
            for item in listing.items
        ),
    )
