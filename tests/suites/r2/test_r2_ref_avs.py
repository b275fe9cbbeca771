"""Referring audio-visual segmentation: a sentence and the sound refer, null expressions have S, releases have rules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from r2_material import RATE_HZ, SIZE, block, calls, model_file, picture, rows, run_r2, scores, tone

from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.media.wav import encode_wav
from auscult.score.masks.ref_avs import clip_sums, pooled_sums, ref_avs_f, ref_avs_j, ref_avs_s
from auscult.suites.core.compare import compare_records
from auscult.suites.core.conditions import CLEAN
from auscult.suites.core.records import score_record
from auscult.suites.r2 import SUITE
from auscult.suites.r2.cases import task_rules
from auscult.suites.r2.conditions import conditions_of
from small_ref_avs import write_table


def release(
    root: Path, *, clips: int = 2, frames: int = 3, frames_without: tuple[int, ...] = (), silent: str = ""
) -> Path:
    """Ref-AVSBench: a red block in each clip, a sentence about it, and one in each clip that names nothing."""
    table = []
    for clip_index in range(clips):
        for vid in (f"v{clip_index}", f"null_m-v{clip_index}"):
            for number in range(frames):
                write_frame(root / f"media/{vid}/frames/{number}.png", picture(block(number)))
                if number not in frames_without and not vid.startswith("null"):
                    write_mask(root / f"gt_mask/{vid}/fid_1/{number:05d}.png", block(number))
            if vid != silent:
                (root / f"media/{vid}/audio.wav").write_bytes(
                    encode_wav(tone(300.0 + clip_index, float(frames)), RATE_HZ)
                )
        table += [
            (f"v{clip_index}", f"v{clip_index}_block_1", "test_s", 1, f"the block that hums, number {clip_index}"),
            (f"v{clip_index}", f"null_m-v{clip_index}_null_1", "test_n", 0, f"the dog that barks, number {clip_index}"),
        ]
    write_table(root, table)
    return root


def test_a_model_gets_the_sentence_and_the_sound(tmp_path: Path) -> None:
    file = model_file(tmp_path / "code")
    run_r2(release(tmp_path / "data"), tmp_path / "out", "refavs", f"{file}:colour", mixes=())
    call_rows = calls(file)
    assert {row["text"] for row in call_rows} >= {"the block that hums, number 0", "the dog that barks, number 1"}
    assert all(row["sound"] and row["rate_hz"] == RATE_HZ and row["first_mask"] is None for row in call_rows)


def test_null_expressions_have_s_and_the_others_j_and_f(tmp_path: Path) -> None:
    file, out = model_file(tmp_path / "code"), tmp_path / "out"
    suite_run = run_r2(release(tmp_path / "data"), out, "refavs", f"{file}:colour", f"{file}:nothing", mixes=())
    share = block(0).mean() ** 0.5
    assert scores(out, "J", model="mine.colour") == {f"v{number}_block_1": 1.0 for number in range(2)} | {
        f"null_m-v{number}_null_1": None for number in range(2)
    }
    s_scores = scores(out, "S", model="mine.colour")
    assert set(s_scores) == {"null_m-v0_null_1", "null_m-v1_null_1"}
    assert all(value == pytest.approx(share, abs=1e-6) for value in s_scores.values())
    assert set(scores(out, "S", model="mine.nothing").values()) == {0.0}
    assert suite_run.summary.undefined == 0
    assert suite_run.summary.metrics["mine.colour/clean/clean/S"]["value"] == pytest.approx(share, abs=1e-6)
    table = json.loads((out / "tables/ref_avs.json").read_text())
    rules = {(row[0], row[1]): row[2:] for row in table["rows"]}
    assert rules["mine.nothing", "plain"][0].startswith("0.0")
    assert rules["mine.colour", "ref-avs"][:2] == ["100.0", "100.0"]
    assert rules["mine.colour", "ref-avs"][2] == f"{100 * share:.1f}"


def test_scores_again_from_the_record(tmp_path: Path) -> None:
    file, out = model_file(tmp_path / "code"), tmp_path / "out"
    suite_run = run_r2(release(tmp_path / "data"), out, "refavs", f"{file}:colour", mixes=())
    second_run = score_record(out, SUITE)
    assert second_run.summary.metrics == suite_run.summary.metrics


def test_rules_of_releases_are_in_a_comparison_as_in_its_records(tmp_path: Path) -> None:
    file, data = model_file(tmp_path / "code"), release(tmp_path / "data")
    parts = [run_r2(data, tmp_path / name, "refavs", f"{file}:{name}", mixes=()).out for name in ("colour", "nothing")]
    ref_avs_rows = compare_records(parts, SUITE).tables["ref_avs"].rows
    assert set(ref_avs_rows) == {row for part in parts for row in score_record(part, SUITE).tables["ref_avs"].rows}
    assert ("mine.colour", "ref-avs", "100.0") in {row[:3] for row in ref_avs_rows}


@pytest.mark.parametrize("frames", [1, 3])
def test_frames_without_a_mask_are_not_scored(tmp_path: Path, frames: int) -> None:
    file, out = model_file(tmp_path / "code"), tmp_path / "out"
    frames_without = (0,) if frames > 1 else ()
    data = release(tmp_path / "data", frames=frames, frames_without=frames_without)
    run_r2(data, out, "refavs", f"{file}:colour", mixes=())
    assert scores(out, "F", model="mine.colour")["v0_block_1"] == 1.0


def test_a_clip_without_sound_costs_its_sentences_alone(tmp_path: Path) -> None:
    file, out = model_file(tmp_path / "code"), tmp_path / "out"
    suite_run = run_r2(release(tmp_path / "data", silent="v1"), out, "refavs", f"{file}:colour", mixes=())
    assert "v1_block_1" not in scores(out, "J")
    assert any(row["id"] == "v1_block_1" and "no sound" in row["error"] for row in rows(out, "errors.jsonl"))
    assert suite_run.summary.failed > 0


def test_sentence_and_sound_are_perturbed_in_turn(tmp_path: Path) -> None:
    rules = task_rules("refavs")
    names = [
        condition_.name for condition_ in conditions_of(rules, mixes=("guidance",), kinds=("all",), levels=("low",))
    ]
    assert {"misspelling_low", "gaussian_noise_low", "fog_low", "guidance_low"} < set(names)
    assert names[0] == CLEAN
    file, out = model_file(tmp_path / "code"), tmp_path / "out"
    run_r2(  # with a seed that draws no MP3, which takes the extra `video`
        release(tmp_path / "data", clips=6, frames=1), out, "refavs", f"{file}:colour", mixes=("guidance",),
        levels=("high",), seed=2,
    )  # fmt: skip
    call_rows = calls(file)
    assert len(call_rows) == 24  # each case clean, then perturbed
    changes_of = [
        (clean["text"] != other["text"], clean["sound"] != other["sound"])
        for clean, other in zip(call_rows[::2], call_rows[1::2], strict=True)
    ]
    assert {(True, False), (False, True)} == set(changes_of)


def test_pooled_sums_are_the_releases_scores() -> None:
    rng = np.random.default_rng(3)
    truths = [rng.random((4, *SIZE)) < 0.2 for _ in range(9)]
    truths[2][:] = False
    truths[5][1:] = False
    predictions = [truth ^ (rng.random(truth.shape) < 0.1) for truth in truths]
    sums = [clip_sums(mask, true) for mask, true in zip(predictions, truths, strict=True)]
    for variant in ("ref-avs", "tgs-agent"):
        j, f = (score(predictions, truths, variant=variant) for score in (ref_avs_j, ref_avs_f))
        assert pooled_sums(sums, "J", variant=variant).value == pytest.approx(j.value, abs=1e-9)
        assert pooled_sums(sums, "F", variant=variant).value == pytest.approx(f.value, abs=1e-9)
    s = ref_avs_s(predictions, variant="ref-avs")
    assert pooled_sums(sums, "S", variant="ref-avs").value == pytest.approx(s.value, abs=1e-9)


def test_predictions_lie_as_ref_avs_bench_has_its_masks(tmp_path: Path) -> None:
    prediction_folder, out = tmp_path / "eemc", tmp_path / "out"
    for uid, is_shown in (("v0_block_1", True), ("v1_block_1", True), ("null_m-v0_null_1", False)):
        for number in range(3):
            write_mask(prediction_folder / uid / f"{number:05d}.png", block(number) & is_shown)
    write_mask(prediction_folder / "v9_block_1/00000.png", block(0))
    suite_run = run_r2(release(tmp_path / "data"), out, "refavs", f"predictions:{prediction_folder}", mixes=())
    assert scores(out, "J", model="predictions.eemc")["v1_block_1"] == 1.0
    assert scores(out, "S", model="predictions.eemc")["null_m-v0_null_1"] == 0.0
    assert any("v9_block_1" in json.dumps(row) for row in rows(out, "errors.jsonl"))
    failed = [row for row in rows(out, "scores.jsonl") if row["outcome"] == "failed"]
    assert {row["id"] for row in failed} == {"null_m-v1_null_1"}
    assert suite_run.summary.failed == 1
