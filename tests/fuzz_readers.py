"""Mutated files for every reader of what a stranger may have written: each is read, or refused by an error of ours.

``python tests/fuzz_readers.py --inputs 100000`` shares the inputs out among the targets, each in a process of its own;
what breaks one is kept in ``--keep`` and named. An input fails by any exception but ours, by more than 5 s of the
processor or two minutes of waiting, or by memory: a process may take 1.5 GB.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from auscult.errors import AuscultError

SECONDS = 5.0
WAITING_S = 120.0
MEGABYTES = 1536
SIZE = (10, 24)
MEMORY = "/dev/shm"  # noqa: S108 - where folders of random names lie, of some ten files, written anew for each input


@dataclass(frozen=True, slots=True)
class Target:
    """What is fuzzed: writes sound files into a folder, names those that are mutated, and reads them."""

    make: Callable[[Path], None]
    files: tuple[str, ...]
    read: Callable[[Path], None]
    writes: bool = True  # whether reading writes into the folder, which is then copied anew for each input


# --- mutations


class Nested(list[Any]):
    """A list in a list, so often."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        inner: list[Any] = self
        for _ in range(depth):
            inner.append([])
            inner = inner[0]


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e300, -1e-300, 10**400, -(2**63), 2**63, 2**31, 70_000, "", "0", "..", "../../x",
    "/",
    "x" * 5000, "\x00", "\ud800", "\u202e", "%s%n", "=1+1", [], {}, [[]], [None], {"a": 1}, {"id": "a"}, Nested(80),
)  # fmt: skip
TOKENS: tuple[bytes, ...] = (
    b"NaN", b"Infinity", b"1e999", b"9" * 4400, b"1" + b"0" * 400, b"0x" + b"f" * 4000, b"[" * 3000, b"\x00",
    b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b",", b";", b"\n", b"\r", b"\r\n", b"{", b"}", b"-", b"null",
    b"\\ud800", b"1979-05-27", b"../" * 40, b"\xe2\x80\xae", b" " * 3000, b"a" * 70_000,
)  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One to four changes, of bytes or of JSON values."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = (_json_changed(data, rng) if rng.random() < 0.6 else None) or _bytes_changed(data, rng)
    return data


def _bytes_changed(data: bytes, rng: random.Random) -> bytes:
    start, end = sorted(rng.randint(0, len(data)) for _ in range(2))
    end = min(end, start + rng.choice((1, 8, 200)))
    kind = rng.randrange(6)
    if kind == 0:
        return data[:start] + rng.randbytes(max(1, end - start)) + data[end:]
    if kind == 1:
        return data[:start] + data[end:]
    if kind == 2:
        return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]
    if kind == 3:
        return data[:start]
    if kind == 4:
        lines = data.split(b"\n")
        rng.shuffle(lines)
        return b"\n".join(lines)
    return data[:start] + rng.choice(TOKENS) + data[end:]


def _json_changed(data: bytes, rng: random.Random) -> bytes | None:
    """A value of one line, or of the whole file, replaced, removed or repeated; None where there is no JSON."""
    lines = data.split(b"\n") if b"}\n{" in data else [data]
    number = rng.randrange(len(lines))
    try:
        row = json.loads(lines[number])
    except (ValueError, RecursionError):
        return None
    places = list(_places(row))
    if not places:
        return None
    holder, key = rng.choice(places)
    if rng.random() < 0.2:
        del holder[key]
    elif rng.random() < 0.1 and isinstance(holder, list):
        holder.extend(holder[:20] * 3)
    elif rng.random() < 0.2:
        other, others = rng.choice(places)
        with contextlib.suppress(LookupError):
            holder[key] = json.loads(json.dumps(other[others]))
    else:
        holder[key] = rng.choice(VALUES)
    try:
        lines[number] = json.dumps(row).encode()
    except (ValueError, RecursionError):
        return None
    return b"\n".join(lines)


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    parts = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, part in parts if depth < 12 else ():
        yield value, key
        yield from _places(part, depth + 1)


# --- targets


def _lines(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _record(folder: Path, ids: Sequence[str] = "abcdefgh") -> None:
    """A record of an audit, with truth, scores of a model and a failure."""
    from small_records import record, verdict

    rows = [
        (verdict(name, iou=0.5 + index / 20, prob_iou_80=0.5, prob_iou_50=0.6, novelty=index / 10), {
            "model_score": index / 8, "frame": f"{name}.png", "input": name, "text": "a dog",
            "prob_shift": 0.3, "prob_prior": [0.4, 0.8],
        })
        for index, name in zip(cycle(range(8)), ids)
    ]  # fmt: skip
    truths = [
        {"id": name, "iou": 0.6, "defect": "erode", "action": "reject", "difficulty": None, "cluster": name}
        for name in ids
    ]
    record(folder, rows, truths)
    signature = {"metric": "iou"}
    _lines(
        folder / "scores.jsonl",
        [
            {"id": id_, "metric": "masks.iou.v1", "value": 0.6, "outcome": "scored", "signature": signature}
            for id_ in ids
        ],
    )
    failed = {"id": "z", "path": "z.png", "line": 3, "stage": "read", "error": "bad", "expected": "", "hint": ""}
    _lines(folder / "errors.jsonl", [failed, {**failed, "id": None, "stage": "texts"}])


LINES = (
    "verdicts.jsonl",
    "truth.jsonl",
    "scores.jsonl",
    "errors.jsonl",
    "masks.jsonl",
    "thumbnails.jsonl",
    "manifest.json",
)


def _make_records(folder: Path) -> None:
    _record(folder / "one")
    shutil.copytree(folder / "one", folder / "two")


def _read_records(folder: Path) -> None:
    from auscult.cli.audit import show_record
    from auscult.jobs.act import filter_record
    from auscult.jobs.compare import compare_folders
    from auscult.jobs.finish import report_folder, score_record
    from auscult.jobs.options import FilterOptions

    record = folder / "one"
    readings = (
        lambda: score_record(record),
        lambda: compare_folders((record, folder / "two")),
        lambda: filter_record(
            FilterOptions(folder=record, actions=("reject",), policy="paper", out=folder / "filtered")
        ),
        lambda: show_record(record, summary=report_folder(record).as_json(), json=False),
    )
    random.choice(readings)()  # each takes its time


def _make_gate(folder: Path) -> None:
    _record(folder / "one")
    _record(folder / "two", "ijklmnopq")
    known_rows = [
        {"id": f"{index}", "iou": index / 90, "true_iou": index / 100, "cluster": f"c{index % 70}"}
        for index in range(90)
    ]
    _lines(folder / "known.jsonl", known_rows)
    head, *rows = [[*known_rows[0]], *([str(value) for value in row.values()] for row in known_rows)]
    (folder / "known.csv").write_text("".join(",".join(row) + "\n" for row in [head, *rows]))


def _read_gate(folder: Path) -> None:
    from auscult.jobs.gate import gate_record
    from auscult.jobs.options import GateOptions

    name = random.choice(("known.jsonl", "known.csv", "two"))  # each takes its time
    bound: Any = {"accept_error": 0.3, "clusters": random.choice(("one", "bound"))}
    gate_record(GateOptions(folder=folder / "one", calibration=folder / name, out=folder / "gated", **bound))


def _make_act(folder: Path) -> None:
    import msgspec

    from auscult.act.policy import load_policy

    ids = [f"{letter}{number}" for letter in "abcdefgh" for number in range(8)]
    _record(folder / "one", ids)
    manifest = json.loads((folder / "one/manifest.json").read_text())
    manifest["arguments"]["given"]["policy"] = msgspec.to_builtins(load_policy("default"))
    (folder / "one/manifest.json").write_text(json.dumps(manifest))
    (folder / "marks.csv").write_text(
        "id,label\n" + "".join(f"{id_},{'good' if index % 3 else 'bad'}\n" for index, id_ in enumerate(ids))
    )


def _read_act(folder: Path) -> None:
    from auscult.act.export.formats import FORMATS
    from auscult.jobs.calibrate import calibrate_record
    from auscult.jobs.export import export_record
    from auscult.jobs.options import CalibrateOptions, ExportOptions

    record = folder / "one"
    if random.random() < 0.5:
        calibrate_record(CalibrateOptions(folder=record, labels=folder / "marks.csv", out=folder / "made"))
    else:
        to = random.choice([name for name in FORMATS if name != "hf-datasets"])  # needs an extra
        export_record(ExportOptions(folder=record, format=to, actions=("reject",), out=folder / "made"))


def _pictures(folder: Path, *names: str) -> None:
    from auscult.media.frames import write_frame

    for name in names:
        write_frame(folder / name, np.full((*SIZE, 3), 90, np.uint8))


def _labels(path: Path) -> None:
    from auscult.media.masks import write_labels

    labels = np.zeros(SIZE, np.uint8)
    labels[2:8, 2:6], labels[2:8, 12:16] = 1, 2
    path.parent.mkdir(parents=True, exist_ok=True)
    write_labels(path, labels)


def _make_avsbench(root: Path) -> None:
    for kind, folder in {"s4": "Single-source", "ms3": "Multi-sources"}.items():
        data = root / folder / f"{kind}_data"
        subfolder = "test/dog" if kind == "s4" else "test"
        for number in (1, 2):
            end = "" if kind == "s4" else ".mp4"
            _pictures(data / "visual_frames" / ("" if end else subfolder) / "a_1", f"a_1{end}_{number}.png")
            _labels(data / "gt_masks" / subfolder / "a_1" / f"a_1_{number}.png")
    (root / "Single-source/s4_meta_data.csv").write_text(
        'name,start,category,split\na_1,1,dog,test\n"b,2",0,"c""at",val\n'
    )
    (root / "Multi-sources/ms3_meta_data.csv").write_text("name,split\na_1,test\nb_2,train\n")


def _instances(folder: Path) -> None:
    from auscult.cases.instances import list_instances

    list_instances(folder)


def _make_refdavis(root: Path) -> None:
    for stem in ("00000", "00001"):
        _pictures(root / "JPEGImages/480p/swan", f"{stem}.jpg")
        _labels(root / f"Annotations/480p/swan/{stem}.png")
    for folder in ("ImageSets/2017", "davis_text_annotations", "meta_expressions"):
        (root / folder).mkdir(parents=True)
    (root / "ImageSets/2017/val.txt").write_text("swan\n")
    (root / "davis_text_annotations/Davis17_annot1.txt").write_text('swan 1 "a black swan"\nswan 2 "its shadow"\n')
    row = {"video": "swan", "index": 1, "text": "the swan", "null": False, "source": "us"}
    _lines(root / "davis_text_annotations/expressions.jsonl", [row, {**row, "index": 2}])


def _make_mqravs(folder: Path) -> None:
    def mask(name: str, **fields: Any) -> dict[str, Any]:
        return {"mask_path": f"masks/{name}.png", "iou_to_gt": 0.87, "rank": 1, "action": "Minor Revision", **fields}

    row = {
        "gt_mask_path": mask("gt"),
        "part_neg_masks": {"cutout": [mask("c")], "erode": [mask("e", seconds=3)], "merge": [mask("m", negative="x")]},
        "full_neg_masks": [mask("n")],
        "null_masks": [mask("0")],
    }
    names = {"uid": "v_0_10_dog_1", "vid": "v_0_10", "exp": "The dog.", "kfid": 4}
    picture = "media/v_0_10/frames/4.jpg"
    meta = folder / "train_test_meta_files"
    meta.mkdir(parents=True)
    image = [{**names, "image_path": picture, **row}]
    video = [{**names, "fps": 1, "frames": [{"frame": 4, "image_path": picture, **row}]}]
    (meta / "test_s_image_filtered.json").write_text(json.dumps(image))
    (meta / "test_u_video_filtered.json").write_text(json.dumps(video))
    (meta / "train.json").write_text(json.dumps({"v_0_10_dog_1": row}))
    (meta / "metadata.csv").write_text('vid,uid,split,fid,exp,kfid\nv_0_10,v_0_10_dog_1,test_s,2,"The dog, again.",5\n')


def _read_mqravs(folder: Path) -> None:
    from auscult.cases.listing import list_items

    list_items(folder)


def _make_policy(folder: Path) -> None:
    group = {"accept": {"at_least": 0.9}, "minor_revision": {"above": 0.5}}
    policy = {"name": "mine", "summary": "", "require_identity": False, "good": {"accept": {"at_least": 0.7}}}
    policy |= {"perfect": group, "shape": {"minor_revision": {"at_least": 0.8}}, "merge": {}, "full_neg": {}}
    (folder / "p.json").write_text(json.dumps(policy))
    bounds = "accept = { at_least = 0.95 }\nminor_revision = { above = 0.0 }\n"
    (folder / "p.toml").write_text(f'name = "mine"\n[perfect]\n{bounds}[shape]\n[merge]\n{bounds}[full_neg]\n')


def _read_policy(folder: Path) -> None:
    from auscult.act.policy import decide, load_policy
    from small_records import verdict

    for name in ("p.json", "p.toml"):
        with contextlib.suppress(AuscultError):
            decide(verdict("a", prob_iou_80=0.6), load_policy(folder / name))


def _make_plan(folder: Path) -> None:
    from auscult.stress.recipe import Recipe, RecipeStep, planned
    from auscult.stress.recipe_parts import schedule_of
    from auscult.stress.sound.base import AudioInfo
    from auscult.stress.vision.base import ClipInfo

    names = (
        "vision.fog.v1", "vision.elastic_transform.v1", "vision.spatter.v1", "sound.gain.v1", "sound.time_mask.v1",
        "sound.room_reverberation.v1", "sentences.misspelling.v1", "timing.drift.v1", "timing.dropped_frames.v1",
    )  # fmt: skip
    rows = []
    for schedule in ("static", "walk", "r2bench"):
        recipe = Recipe(
            name="mine",
            steps=tuple(RecipeStep(name=name, strength=3.0) for name in names),
            schedule=schedule_of(schedule),
        )
        shot = ClipInfo(height=48, width=64, frames=6, rate_fps=25.0)
        take = AudioInfo(samples=8000, channels=1, rate_hz=8000)
        plan = planned(recipe, seed=1, key=schedule, shot=shot, take=take, sentence="the black dog on the left")
        rows.append(plan.as_json())
    _lines(folder / "plans.jsonl", rows)


def _read_plan(folder: Path) -> None:
    from auscult.record.lines import read_lines
    from auscult.stress.recipe import Plan

    for row in read_lines(folder / "plans.jsonl"):
        with contextlib.suppress(AuscultError):
            plan = Plan.from_json(row)
            if plan.shot is not None and plan.shot.height * plan.shot.width <= 1 << 14 and plan.shot.frames <= 64:
                frame = np.full((plan.shot.height, plan.shot.width, 3), 90, np.uint8)
                plan.frame(frame, 0)


def _make_r2(root: Path) -> None:
    """A record of ``run r2``: two models on three cases, clean and under fog."""
    from auscult.record.folder import open_run
    from auscult.suites.core.conditions import NOTHING, Condition
    from auscult.suites.core.records import StoredCase
    from auscult.suites.core.requests import key_of

    fog = Condition(name="fog_3", group="vision.fog.v1", level="medium")
    cases = [StoredCase(id=name, clip=f"c{name}", split="seen", digest=name, truth="t") for name in "abc"]
    for number, folder in enumerate(("one", "two")):
        manifest = {
            "schema": 1,
            "command": "run r2",
            "arguments": {"given": {"task": "vos", "data": "d"}, "defaulted": {}},
            "seeds": {"seed": 0},
            "versions": {"auscult": "1"},
        }
        models = (f"m{number}", "baseline.empty.v1")
        scores, answers = [], []
        for model in models:
            for case in cases:
                for condition in (NOTHING, fog):
                    key = key_of(case, condition, model=model, revision="r", seed=0)
                    row = {"id": case.id, "key": key, "model": model, "condition": condition.name, "truth": "t"}
                    fields = {"outcome": "scored", "reason": None, "signature": {"metric": "J"}, "value": 0.5}
                    scores += [{**row, "metric": metric, **fields} for metric in ("J", "F")]
                    times = {"seconds": 0.1, "preparing_s": 0.1, "overhead_s": 0.0, "peak_mb": 9, "threshold": None}
                    answers.append({**row, "size": [4, 4], "counts": [], **times})
        with open_run(root / folder, manifest) as run:
            fields_of_case = ("id", "clip", "split", "digest", "truth")
            run.append_many("cases.jsonl", [{key: getattr(case, key) for key in fields_of_case} for case in cases])
            conditions = [NOTHING.as_json(), fog.as_json()]
            request = {"command": 1, "revision": "r", "source": "s", "conditions": conditions}
            run.append_many("requests.jsonl", [{**request, "model": model} for model in models])
            run.append_many("scores.jsonl", scores)
            run.append_many("predictions.jsonl", answers)
            error = {
                "id": "a",
                "path": None,
                "line": None,
                "stage": "predict",
                "error": "e",
                "expected": "",
                "hint": "",
            }
            run.append_many("errors.jsonl", [error])


def _read_r2(folder: Path) -> None:
    from auscult.suites.core.compare import compare_records
    from auscult.suites.core.records import score_record
    from auscult.suites.r2 import SUITE

    if random.random() < 0.2:  # it takes long, and reads by the same code
        compare_records((folder / "one", folder / "two"), SUITE)
    else:
        score_record(folder / "one", SUITE)


R2_FILES = ("cases.jsonl", "requests.jsonl", "scores.jsonl", "predictions.jsonl", "errors.jsonl", "manifest.json")
DAVIS_FILES = ("davis_text_annotations/Davis17_annot1.txt", "davis_text_annotations/expressions.jsonl")
MQA_FILES = ("test_s_image_filtered.json", "test_u_video_filtered.json", "train.json", "metadata.csv")

TARGETS: Mapping[str, Target] = {
    "policy": Target(_make_policy, ("p.json", "p.toml"), _read_policy, writes=False),
    "plan": Target(_make_plan, ("plans.jsonl",), _read_plan, writes=False),
    "gate": Target(
        _make_gate,
        ("known.jsonl", "known.csv", *(f"{record}/{name}" for record in ("one", "two") for name in LINES)),
        _read_gate,
    ),
    "act": Target(_make_act, ("marks.csv", *(f"one/{name}" for name in LINES)), _read_act),
    "records": Target(_make_records, tuple(f"one/{name}" for name in LINES), _read_records),
    "r2": Target(_make_r2, tuple(f"one/{name}" for name in R2_FILES), _read_r2),
    "avsbench": Target(
        _make_avsbench, ("Single-source/s4_meta_data.csv", "Multi-sources/ms3_meta_data.csv"), _instances, writes=False
    ),
    "refdavis": Target(_make_refdavis, (*DAVIS_FILES, "ImageSets/2017/val.txt"), _instances, writes=False),
    "mqravs": Target(
        _make_mqravs, tuple(f"train_test_meta_files/{name}" for name in MQA_FILES), _read_mqravs, writes=False
    ),
}


# --- one process


class TooSlow(Exception):
    """An input took longer than it may."""


def _on_alarm(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"more than {SECONDS:g} s" if number == signal.SIGPROF else "it waits")


def fuzz(name: str, count: int, *, seed: int, keep: Path | None) -> int:
    """Mutate the files of one target so often; the number of inputs that it did not withstand."""
    target, failures, known_places = TARGETS[name], 0, set[str]()
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.signal(signal.SIGPROF, _on_alarm)
    start_s, memory = time.monotonic(), MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="auscult-fuzz-", dir=memory) as folder:
        sound, copy_folder = Path(folder) / "sound", Path(folder) / "home"
        sound.mkdir()
        target.make(sound)
        for number in range(8):  # what is sound must be read, in every way
            random.seed(number)
            if error := _error_of(target, _copy_folder(sound, copy_folder), sound=True):
                sys.exit(error)
        for number in range(count):
            rng = random.Random(f"{seed} {name} {number}")
            random.seed(number)
            chosen_files = rng.sample(target.files, min(len(target.files), rng.choice((1, 1, 2))))
            changed_bytes = {file: mutated((sound / file).read_bytes(), rng) for file in chosen_files}
            if target.writes:
                _copy_folder(sound, copy_folder)
            _write(copy_folder, changed_bytes)
            error = _error_of(target, copy_folder)
            if error:
                failures += 1
                trace = error.strip().splitlines()
                if (place := "\n".join(trace[-3:])) not in known_places:
                    known_places.add(place)
                    print(f"{name} {number}: {place}", flush=True)
                    if keep is not None:
                        _copy_folder(copy_folder, keep / f"{name}-{number}")
            _write(copy_folder, {} if target.writes else {file: (sound / file).read_bytes() for file in chosen_files})
        if not target.writes and _contents(copy_folder) != _contents(sound):
            sys.exit(f"{name}: reading wrote into the folder, which was not copied anew")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name}: {count} inputs, {failures} failed, {time.monotonic() - start_s:.0f} s, {peak} MB", flush=True)
    return failures


def _copy_folder(sound: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return shutil.copytree(sound, folder)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _error_of(target: Target, folder: Path, *, sound: bool = False) -> str:
    """The traceback of an exception that is not ours, or of a ``sound`` input of any; empty where it was withstood."""
    signal.setitimer(signal.ITIMER_REAL, WAITING_S)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            target.read(folder)
    except AuscultError:
        return traceback.format_exc() if sound else ""
    except BaseException:  # noqa: BLE001 - whatever it is, it is what is looked for
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


# --- all of them


def main() -> int:
    """1 where an input broke a reader, or a process took too much memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=[*TARGETS], action="append")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.target or list(TARGETS)
    inputs_each = -(-options.inputs // len(names))
    if options.here:
        resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES << 20, MEGABYTES << 20))
        return int(any(fuzz(name, inputs_each, seed=options.seed, keep=options.keep) for name in names))
    failed = 0
    for name in names:
        command = [
            sys.executable,
            __file__,
            "--here",
            "--target",
            name,
            "--inputs",
            str(inputs_each),
            "--seed",
            str(options.seed),
        ]
        command += ["--keep", str(options.keep)] if options.keep else []
        failed += subprocess.run(command, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
