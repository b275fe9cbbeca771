"""`stress vision|sound|sentences|timing|recipe` as a job: what is written is what the record says, made again."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perturb_inputs import film, run, scene, tone

from auscult.cases.listing import list_items
from auscult.errors import Mismatch, NothingToDo, RecordError, UsageError
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.media.sound import read_sound, read_soundtrack
from auscult.media.video import read_frames
from auscult.media.wav import encode_wav
from auscult.stress.recipe import Plan
from small_inputs import LEFT, RIGHT, rows, save_frame, save_mask, save_palette, tree, write_lines

WORDS = "the small dog that barks on the left"


def _outputs(out: Path) -> dict[str, dict[str, Any]]:
    row_of = {row["id"]: row for row in rows(out / "outputs.jsonl")}
    assert len(row_of) == len(rows(out / "outputs.jsonl")), "an output stands twice"
    return row_of


def _pictures(folder: Path, count: int = 5) -> Path:
    for number in range(count):
        save_frame(folder / f"p{number}.png", seed=number)
    return folder


def _film_items(folder: Path) -> Path:
    """A film of four frames with a sound, and a key of our own."""
    lines = []
    for number in range(4):
        save_frame(folder / "frames" / f"f{number}.jpg", seed=number)
        save_mask(folder / "masks" / f"f{number}.png", np.roll(LEFT, number, 1))
        save_mask(folder / "truth" / f"f{number}.png", LEFT)
        lines.append({
            "id": f"v/f{number}", "frame": f"frames/f{number}.jpg", "mask": f"masks/f{number}.png", "text": WORDS,
            "clip": "v", "time_s": number / 2, "video": "v.mp4", "audio": "v.wav", "mine": {"kept": number},
            "truth": {"mask": f"truth/f{number}.png", "iou": 0.9, "defect": "perfect", "action": "minor_revision"},
        })  # fmt: skip
    (folder / "v.wav").write_bytes(encode_wav(tone(1), 8000))
    write_lines(folder / "items.jsonl", *lines)
    return folder


def _frames_hash(frames: list[Any]) -> str:
    return hashlib.sha256(b"".join(frame.tobytes() for frame in frames)).hexdigest()


def test_a_sweep_has_a_folder_for_each_recipe_and_a_hash_for_each_output(tmp_path: Path) -> None:
    source, out = _pictures(tmp_path / "in", 2), tmp_path / "out"
    (source / "notes.md").write_text("no picture")
    summary = run(source, out, "vision", "gaussian_noise,jpeg_compression+gaussian_noise", severities="1,high")
    names = ["gaussian_noise_1", "gaussian_noise_5", "jpeg_compression+gaussian_noise_1",
             "jpeg_compression+gaussian_noise_5"]  # fmt: skip
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == sorted([*names, "tables"])
    assert (summary.n, summary.ok, summary.failed) == (8, 8, 0)
    for row in _outputs(out).values():
        output = read_frame(out / row["output"])
        assert _frames_hash([output]) == row["sha256"]
        plan = Plan.from_json(json.loads(json.dumps(row["plan"])))
        assert np.array_equal(plan.frame(read_frame(source / row["part"]), 0), output)
    assert "1 file" in json.loads((out / "manifest.json").read_text())["inputs"]["notes"][0]


@pytest.mark.slow
def test_two_people_build_the_same_whoever_works(tmp_path: Path) -> None:
    source = _film_items(tmp_path / "in")
    built = []
    for workers in (0, 2):
        out = tmp_path / f"out{workers}"
        run(source, out, "recipe", "fog+gain+mispunctuation", workers=workers, seed=3)
        built.append({name: data for name, data in tree(out).items() if name.startswith("fog")})
        hashes = {name: (row.get("sha256"), row["plan"]) for name, row in _outputs(out).items()}
        built.append(dict(sorted(hashes.items())))
    assert built[0] == built[2]
    assert built[1] == built[3]
    contents = [
        json.loads((tmp_path / f"out{workers}" / "manifest.json").read_text())["content_sha256"] for workers in (0, 2)
    ]
    assert contents[0] == contents[1]
    other = tmp_path / "other"
    run(source, other, "recipe", "fog+gain+mispunctuation", seed=4)
    assert {row.get("sha256") for row in _outputs(other).values()}.isdisjoint(
        hash_and_part[0] for hash_and_part in built[1].values()
    )


def test_items_stay_an_input_with_truth_sound_and_unknown_keys(tmp_path: Path) -> None:
    source, out = _film_items(tmp_path / "in"), tmp_path / "out"
    summary = run(source, out, "vision", "gaussian_noise", severities="2", schedule="walk")
    assert (summary.n, summary.ok) == (4, 4)
    (folder,) = [path.parent for path in out.glob("*/items.jsonl")]
    listing = list_items(folder)
    assert not listing.errors
    for number, (item, line) in enumerate(zip(listing.items, rows(folder / "items.jsonl"), strict=True)):
        assert (item.id, item.query.text, item.clip, item.time_s) == (f"v/f{number}", WORDS, "v", number / 2)
        assert item.audio is not None
        assert item.audio.read_bytes() == (source / "v.wav").read_bytes()
        assert (source / "masks" / f"f{number}.png").read_bytes() == (folder / line["mask"]).read_bytes()
        assert item.truth is not None
        assert (item.truth.iou, item.truth.defect) == (0.9, "perfect")
        assert line["mine"] == {"kept": number}
        assert "video" not in line
        stress = line["stress"]
        assert (stress["index"], stress["moved"], stress["left_out"]) == (number, False, ["video"])
        plan = Plan.from_json(stress["plans"]["picture"])
        frame = read_frame(source / "frames" / f"f{number}.jpg")
        assert np.array_equal(plan.frame(frame, number), read_frame(item.frame))
    plans = {json.dumps(line["stress"]["plans"]) for line in rows(folder / "items.jsonl")}
    assert len(plans) == 1, "one clip, one plan"


def test_masks_move_with_their_pixels_and_their_overlap_is_counted_anew(tmp_path: Path) -> None:
    source, out = _film_items(tmp_path / "in"), tmp_path / "out"
    run(source, out, "vision", "elastic_transform", severities="5")
    (folder,) = [path.parent for path in out.glob("*/items.jsonl")]
    for number, line in enumerate(rows(folder / "items.jsonl")):
        plan = Plan.from_json(line["stress"]["plans"]["picture"])
        assert line["stress"]["moved"]
        item_ = next(item for item in list_items(folder).items if item.id == line["id"])
        assert item_.truth is not None
        assert item_.truth.mask is not None
        mask, true = (read_mask(ref, size=LEFT.shape).mask for ref in (item_.mask, item_.truth.mask))
        assert np.array_equal(mask, plan.mask(np.roll(LEFT, number, 1), number))
        assert np.array_equal(true, plan.mask(LEFT, number))
        assert item_.truth.iou == pytest.approx((mask & true).sum() / (mask | true).sum())


def test_a_folder_of_masks_with_several_objects_goes_along(tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    save_frame(source / "frames" / "a.jpg")
    save_palette(source / "masks" / "a.png", {1: LEFT, 2: RIGHT})
    for kind in ("gaussian_noise", "elastic_transform"):
        run(source, out / kind, "vision", kind, severities="1")
        (folder,) = (out / kind).glob(f"{kind}*")
        plan = Plan.from_json(rows(folder / "items.jsonl")[0]["stress"]["plans"]["picture"])
        masks = [read_mask(item.mask, size=LEFT.shape).mask for item in list_items(folder).items]
        assert len(masks) == 2
        for mask, original in zip(masks, (LEFT, RIGHT), strict=True):
            assert np.array_equal(mask, plan.mask(original, 0))
            assert np.array_equal(mask, original) == (kind == "gaussian_noise")


def test_an_item_whose_mask_or_sentence_fails_is_left_out_and_told(tmp_path: Path) -> None:
    source, out = _film_items(tmp_path / "in"), tmp_path / "out"
    (source / "masks" / "f1.png").unlink()
    (source / "frames" / "f2.jpg").write_bytes(b"no picture")
    summary = run(source, out, "vision", "gaussian_noise", severities="1")
    assert (summary.n, summary.ok, summary.failed) == (4, 2, 2)
    assert [row["id"] for row in rows(out / "gaussian_noise_1" / "items.jsonl")] == ["v/f0", "v/f3"]
    assert {row["id"] for row in rows(out / "errors.jsonl")} == {"gaussian_noise_1/v/f1", "gaussian_noise_1/v/f2"}
    save_mask(source / "masks" / "f1.png", LEFT)
    second = run(source, out, "vision", "gaussian_noise", severities="1")
    assert (second.ok, second.failed) == (3, 1)


def test_sentences_of_items_and_of_tables(tmp_path: Path) -> None:
    source = _film_items(tmp_path / "in")
    run(source, tmp_path / "items", "sentences", "mispunctuation", severities="5", keep=("dog",))
    (lines,) = [rows(path) for path in (tmp_path / "items").glob("*/items.jsonl")]
    for line in lines:
        assert line["text"] != WORDS
        assert "dog" in line["text"]
        assert line["stress"]["text"] == WORDS
        assert line["stress"]["words"]
    table = tmp_path / "a.csv"
    table.write_text('id,text,who\nx,"the dog, the cat",me\ny,the man,you\n', encoding="utf-8")
    run(table, tmp_path / "table", "sentences", "mispunctuation", severities="5")
    csv_lines = (tmp_path / "table" / "mispunctuation_5" / "a.csv").read_text(encoding="utf-8").splitlines()
    outputs = _outputs(tmp_path / "table")
    assert csv_lines[0] == "id,text,who"
    assert [line.rsplit(",", 1)[1] for line in csv_lines[1:]] == ["me", "you"]
    for row in outputs.values():
        assert row["sha256"] == hashlib.sha256(row["text"].encode()).hexdigest()


def test_a_video_keeps_its_sound_in_step_and_its_hash_is_of_what_comes_back(tmp_path: Path) -> None:
    sound_in = tone(2, 12_345)
    source = film(tmp_path / "in" / "a.mkv", 12, sound=sound_in).parent
    for quality, depth in ((0, "float32"), (0, "int16"), (30, "int16")):
        out = tmp_path / f"out{quality}{depth}"
        run(source, out, "vision", "gaussian_noise", quality=quality, depth=depth)
        (row,) = _outputs(out).values()
        frames = [timed.frame for timed in read_frames(out / row["output"])]
        assert _frames_hash(frames) == row["sha256"]
        assert (row["sha256"] == row.get("rendered_sha256", row["sha256"])) == (quality == 0)
        sound = read_soundtrack(out / row["output"])
        original = read_soundtrack(source / "a.mkv")
        assert sound is not None
        assert original is not None
        assert np.array_equal(sound.samples, original.samples)
        assert row["sound_sha256"] == hashlib.sha256(sound.samples.tobytes()).hexdigest()


def test_sound_of_a_video_and_of_a_file_are_perturbed_alike(tmp_path: Path) -> None:
    film(tmp_path / "in" / "a.mkv", 5, sound=tone(1))
    run(tmp_path / "in", tmp_path / "video", "sound", "gain", severities="4")
    (row,) = _outputs(tmp_path / "video").values()
    output = read_soundtrack(tmp_path / "video" / row["output"])
    original = read_soundtrack(tmp_path / "in" / "a.mkv")
    assert output is not None
    assert original is not None
    plan = Plan.from_json(row["plan"])
    assert np.abs(output.samples - np.clip(plan.sound(original.samples, 8000), -1, 1)).max() <= 1.01 / 32768
    frames = [timed.frame for timed in read_frames(tmp_path / "video" / row["output"])]
    assert all(np.array_equal(frame, scene(number)) for number, frame in enumerate(frames))
    (tmp_path / "in" / "b.wav").write_bytes(encode_wav(tone(1), 8000))
    run(tmp_path / "in" / "b.wav", tmp_path / "wav", "sound", "gain", severities="0", depth="float32")
    (row,) = _outputs(tmp_path / "wav").values()
    assert np.array_equal(
        read_sound(tmp_path / "wav" / row["output"]).samples, read_sound(tmp_path / "in" / "b.wav").samples
    )


def test_dropped_frames_show_what_the_record_says(tmp_path: Path) -> None:
    source = film(tmp_path / "in" / "a.mkv", 40, sound=tone(1, 32_000), size=(48, 96)).parent
    run(source, tmp_path / "out", "timing", "dropped_frames,offset", severities="5")
    outputs = _outputs(tmp_path / "out")
    dropped_row = outputs["dropped_frames_5/a.mkv"]
    assert dropped_row["shown"] != list(range(40))
    frames = [timed.frame for timed in read_frames(tmp_path / "out" / dropped_row["output"])]
    assert all(
        np.array_equal(frame, scene(index, (48, 96))) for frame, index in zip(frames, dropped_row["shown"], strict=True)
    )
    offset_row = outputs["offset_5/a.mkv"]
    assert offset_row["shown"] is None
    assert any(abs(offset) > 0.05 for offset in offset_row["offset_s"])


def test_a_preset_draws_one_recipe_for_each_clip(tmp_path: Path) -> None:
    source, out = _pictures(tmp_path / "in", 8), tmp_path / "out"
    summary = run(source, out, "recipe", "", preset="release")
    assert summary.ok == 8
    stressor_names = {row["plan"]["steps"][0]["name"] for row in _outputs(out).values()}
    assert len(stressor_names) > 3


def test_what_a_recipe_could_not_do_to_a_file_is_said(tmp_path: Path) -> None:
    source = _pictures(tmp_path / "in", 1)
    (source / "a.wav").write_bytes(encode_wav(tone(1), 8000))
    run(source, tmp_path / "out", "recipe", "contrast+gain")
    not_done_of = {row["part"]: row["not_done"] for row in _outputs(tmp_path / "out").values()}
    assert not_done_of == {"p0.png": ["sound.gain.v1"], "a.wav": ["vision.contrast.v1"]}
    items = tmp_path / "items"
    save_frame(items / "frames" / "a.png")
    save_mask(items / "masks" / "a.png")
    run(items, tmp_path / "made", "recipe", "contrast+gain")
    (line,) = rows(tmp_path / "made" / "contrast+gain_3" / "items.jsonl")
    assert line["stress"]["not_done"] == ["sound.gain.v1"]


def test_an_output_folder_inside_the_input_is_no_input(tmp_path: Path) -> None:
    source = _pictures(tmp_path, 2)
    for _ in range(2):
        assert run(source, source / "out", "vision", "contrast").n == 2


def test_again_makes_nothing_twice_and_other_arguments_are_refused(tmp_path: Path) -> None:
    source, out = _pictures(tmp_path / "in"), tmp_path / "out"
    run(source, out, "vision", "gaussian_noise", seed=1)
    before = {name: data for name, data in tree(out).items() if name != "manifest.json"}
    run(source, out, "vision", "gaussian_noise", seed=1)
    assert {name: data for name, data in tree(out).items() if name != "manifest.json"} == before
    for other, message in (
        ({"seed": 2}, "seed"),
        ({"severities": "2"}, "severity"),
        ({"schedule": "r2bench"}, "dynamic"),
    ):
        with pytest.raises(Mismatch, match=message):
            run(source, out, "vision", "gaussian_noise", **{"seed": 1, **other})
    save_frame(source / "p9.png", seed=9)
    assert run(source, out, "vision", "gaussian_noise", seed=1).ok == 6
    save_frame(source / "p0.png", seed=99)
    with pytest.raises(Mismatch, match=r"p0\.png"):
        run(source, out, "vision", "gaussian_noise", seed=1)
    run(source, out, "vision", "gaussian_noise", seed=2, overwrite=True, severities="1")
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["gaussian_noise_1", "tables"]


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_as_one_that_was_not(tmp_path: Path) -> None:
    source = film(tmp_path / "in" / "a.mkv", 60, size=(120, 160)).parent
    _pictures(source, 40)
    run(source, tmp_path / "whole", "vision", "gaussian_noise,contrast")
    out, n_killed = tmp_path / "out", 0
    arguments = ["stress", "vision", str(source), "--kind", "gaussian_noise,contrast", "--out", str(out)]
    command = [sys.executable, "-m", "auscult", *arguments, "--workers", "2", "--quiet"]
    for lines in (1, 30, 70):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while process.poll() is None and len(rows(out / "outputs.jsonl")) < lines:
            assert time.monotonic() < end
            time.sleep(0.005)
        process.kill()
        n_killed += process.wait() == -signal.SIGKILL
    assert n_killed >= 1
    run(source, out, "vision", "gaussian_noise,contrast", workers=2)
    assert _outputs(out) == _outputs(tmp_path / "whole")
    own_tree, others = tree(out), tree(tmp_path / "whole")
    assert {name: own_tree[name] for name in own_tree if "/p" in name} == {
        name: others[name] for name in others if "/p" in name
    }
    assert not [name for name in own_tree if name.endswith(".part")]


@pytest.mark.slow
def test_memory_does_not_grow_with_length(tmp_path: Path) -> None:
    peaks = []
    for frames in (100, 500):
        source = film(tmp_path / f"in{frames}" / "a.mkv", frames, size=(240, 700))
        code = (
            "import sys; sys.path[:0] = sys.argv[1:3]; from perturb_inputs import run\n"
            "from pathlib import Path; run(Path(sys.argv[3]), Path(sys.argv[4]), 'vision', 'contrast')\n"
            "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
        )
        test_folder = Path(__file__).parent
        arguments = [str(test_folder), str(test_folder.parent), str(source), str(tmp_path / f"out{frames}")]
        completed = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        peaks.append(int(completed.stdout))
    assert peaks[1] - peaks[0] < 60 * 1024, f"{peaks} KiB; the longer film has 200 MB more of frames"


def test_what_cannot_be_done_is_said_before_anything_is_written(tmp_path: Path) -> None:
    source, items = _pictures(tmp_path / "in", 1), _film_items(tmp_path / "items")
    twins = tmp_path / "twins"
    for folder in ("frames", "images"):
        save_frame(twins / "clip" / folder / "a.png")
    save_mask(twins / "masks" / "a.png")
    twin_lines = [{"id": name, "frame": f"clip/{name}/a.png", "mask": "masks/a.png"} for name in ("frames", "images")]
    write_lines(twins / "items.jsonl", *twin_lines)
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (NothingToDo, "nothing that sound can perturb", {"room": "sound", "kinds": "gain"}),
        (NothingToDo, "nothing that timing can perturb", {"room": "timing", "kinds": "offset", "source": items}),
        (UsageError, "no such file", {"room": "vision", "kinds": "fog", "source": tmp_path / "nowhere"}),
        (UsageError, "--quality", {"room": "vision", "kinds": "fog", "quality": 52}),
        (UsageError, "--depth", {"room": "vision", "kinds": "fog", "depth": "int8"}),
        (UsageError, "both be called", {"room": "vision", "kinds": "fog", "source": twins}),
        (UsageError, "--preset", {"room": "recipe", "kinds": "fog", "preset": "release"}),
    ]
    for error, message, options_ in cases:
        options = {"source": source, **options_}
        with pytest.raises(error, match=message):
            run(options.pop("source"), tmp_path / "out", options.pop("room"), options.pop("kinds"), **options)
        assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(RecordError, match="other files"):
        run(source, tmp_path / "full", "vision", "gaussian_noise")
