"""The page of an audit of separated sounds, from a record made by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import AuscultError
from auscult.jobs.against_sound_truth import collect_sound_truth
from auscult.jobs.compare import compare_folders, write_comparison
from auscult.jobs.finish import finish_run, report_folder, score_record
from auscult.jobs.runner import ResultWriter, Silent
from auscult.jobs.sound_input import true_scores
from auscult.jobs.sound_report import draw_worst_sounds
from auscult.media.rle import encode
from auscult.media.wav import Sound, wav_bytes
from auscult.record.folder import open_run
from auscult.record.reader import read_all_verdicts, read_run
from auscult.record.schema import Summary, sound_verdict_to_json, verdict_to_json
from auscult.report.audit import page_of_audit
from auscult.report.page import PICTURED, ExampleSound, render
from auscult.report.sounds import SOUNDS_SHOWN
from auscult.types import PERFORMANCE, SoundCurves, SoundEvidence, SoundItem, SoundQuery, SoundTruth, SoundVerdict
from small_inputs import LEFT
from small_records import verdict as mask_verdict

RATE_HZ = 8000
TIME = np.arange(3 * RATE_HZ) / RATE_HZ
TARGET = (0.3 * np.sin(2 * np.pi * 700 * TIME) * (np.sin(2 * np.pi * TIME) > 0)).astype(np.float32)
NOISE = (0.1 * np.random.default_rng(0).normal(size=TIME.size)).astype(np.float32)
CURVES = SoundCurves(hop_s=0.1, missing=(0.2,) * 30, left_over=(0.7,) * 30)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'{{ 7 * 7 }}<!--"


def verdict(name: str, score: float | None, **changes: Any) -> SoundVerdict:
    fields: dict[str, Any] = {
        "id": name, "difficulty": {"counting": 2.0}, "rationale": "Rain is left over.", "judge": "sound.any.v1",
        "evidence": SoundEvidence(text=True), "curves": CURVES,
        "action": "unjudged" if score is None else "accept" if score >= 4 else "reject",
    }  # fmt: skip
    for axis in PERFORMANCE:
        ends = (None, None, None) if score is None else (score, max(1.0, score - 0.5), min(5.0, score + 0.5))
        fields |= dict(zip((axis, f"{axis}_low", f"{axis}_high"), ends, strict=True))
    return SoundVerdict(**{**fields, **changes})


def items_in(folder: Path, shares: Sequence[float], truth: Any = None) -> list[SoundItem]:
    """Outputs with so much noise left in them, three of one mixture."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"mixture": TARGET + NOISE, "stem": TARGET}
    files |= {f"out{index}": TARGET + share * NOISE for index, share in enumerate(shares)}
    for name, samples in files.items():
        (folder / f"{name}.wav").write_bytes(wav_bytes(Sound(samples=samples[None], rate_hz=RATE_HZ), "int16"))
    return [
        SoundItem(id=f"s{index}", mixture=folder / "mixture.wav", separated=folder / f"out{index}.wav",
                  query=SoundQuery(text="a tone"), cluster=f"c{index // 3}", truth=truth)
        for index in range(len(shares))
    ]  # fmt: skip


def record(
    folder: Path,
    sounds: Sequence[SoundVerdict],
    items: Sequence[SoundItem] = (),
    *,
    masks: Sequence[Any] = (),
    draw: bool = True,
    **row: Any,
) -> Summary:
    """A finished record of sounds, and of masks."""
    manifest = {
        "schema": 1,
        "command": "audit",
        "arguments": {"given": {"source": "in"}, "defaulted": {}},
        "inputs": {},
    }
    by_id = {item.id: item for item in items}
    with open_run(folder, manifest) as run:
        for sound in sounds:
            item = by_id.get(sound.id)
            fields = {"text": "a tone", "mixture": f"m{item.cluster if item else ''}.wav", "separated": "o.wav"}
            fields |= {"cluster": item.cluster if item else sound.id} | row
            run.append("verdicts.jsonl", sound_verdict_to_json(sound, **fields))
        run.append_many("masks.jsonl", [{"id": mask.id, "segmentation": encode(LEFT)} for mask in masks])
        run.append_many("verdicts.jsonl", [verdict_to_json(mask, frame="a.png") for mask in masks])
        mask_verdicts, sound_verdicts = read_all_verdicts(folder)
        writer = ResultWriter(run, Silent())
        draw_worst_sounds(writer, items if draw else (), sounds=sound_verdicts, workers=0)
        collect_sound_truth(writer, items, sounds=sound_verdicts, workers=0)
        return finish_run(run, command="audit", verdicts=mask_verdicts, sounds=sound_verdicts)


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text()


def test_a_page_of_sounds_has_players_pictures_and_scores_and_needs_no_input(tmp_path: Path) -> None:
    items = items_in(tmp_path / "in", [0.1, 0.5, 1.0])
    verdicts = [
        verdict("s0", 4.5),
        verdict("s1", 2.0),
        verdict("s2", 1.5),
        verdict("s3", None, rationale="All silent."),
    ]
    summary = record(tmp_path / "out", verdicts, items)
    html = page_of(tmp_path / "out")
    assert re.findall(r'<p class="id">(s\d)</p>', html) == ["s2", "s1", "s0"]  # worst first, unjudged apart
    assert (html.count("<audio "), html.count('<img src="data:image/jpeg')) == (6, 3)
    for words in ("reject: overall 1.50 [1.00, 2.00]", "Rain is left over.", "words understood", "counting 2.0",
                  "All silent.", "Overall score of 3 judged sounds", "4 separated sounds of in"):  # fmt: skip
        assert words in html
    assert "<script" not in html
    assert re.search(r"<th scope=\"row\">unjudged</th><td>1</td>", html)
    assert summary.metrics["sound_overall"]["value"] == pytest.approx((4.5 + 2 + 1.5) / 3)
    assert summary.metrics["sound_overall"]["n"] == 3
    for item in items:
        item.separated.unlink()
    report_folder(tmp_path / "out")
    assert page_of(tmp_path / "out") == html


def test_a_warning_comes_where_more_than_a_quarter_look_unlike_training(tmp_path: Path) -> None:
    known_verdicts = [verdict(f"s{index}", 3.0, novelty=0.8 if index < 2 else 0.1) for index in range(8)]
    record(tmp_path / "quarter", known_verdicts)
    assert "look unlike training" not in page_of(tmp_path / "quarter")
    record(tmp_path / "more", [*known_verdicts, verdict("s8", 3.0, novelty=0.9), verdict("s9", None, novelty=1.0)])
    assert "33\u00a0% of the judged sounds (3 of 9) look unlike training" in page_of(tmp_path / "more")


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    [item] = items_in(tmp_path / "in", [0.5])
    bad = verdict("s0", 2.0, rationale=HOSTILE, evidence=SoundEvidence(unknown=(HOSTILE,) * 50), domain="sound")
    row = dict.fromkeys(("text", "family", "system", "separated"), HOSTILE)
    record(tmp_path / "out", [bad, verdict(HOSTILE, None, rationale=HOSTILE)], [item], **row)
    html = page_of(tmp_path / "out")
    assert "<script" not in html
    assert "<img src=x" not in html
    assert "{{ 7 * 7 }}" in html
    assert html.count("&lt;/script&gt;") >= 6  # escaped, not lost


def test_masks_and_sounds_share_a_page_that_stays_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    items = items_in(tmp_path / "in", [float(share) for share in rng.random(30)])
    sounds = [verdict(item.id, 1 + 4 * index / 29) for index, item in enumerate(items)]
    masks = [mask_verdict("m1")]
    record(tmp_path / "out", sounds, items, masks=masks)
    html = page_of(tmp_path / "out")
    assert "1 mask and 30 separated sounds of in" in html
    assert html.count("<audio ") == 48  # of the worst 24
    assert 'data-view="items"' in html
    assert 'data-view="worst-sounds"' in html
    assert 'id="i1"' in html
    assert len(html.encode()) <= 12_000_000


def test_a_page_full_of_pictures_and_sounds_stays_small(tmp_path: Path) -> None:
    masks = [mask_verdict(f"m{index:04}") for index in range(PICTURED)]
    sounds = [verdict(f"s{index}", 2.0) for index in range(2 * SOUNDS_SHOWN)]
    record(tmp_path / "out", sounds, masks=masks)
    run, jpeg = read_run(tmp_path / "out"), bytes(8_000)
    players = tuple(ExampleSound(data=bytes(104_000), file=name) for name in ("a.flac", "b.flac"))
    players_of = {sound.id: (bytes(60_000), players) for sound in sounds}
    pictures = {mask.id: jpeg for mask in masks}
    html = render(
        page_of_audit(run, thumbnails=pictures, crops=dict.fromkeys(pictures, jpeg), tables={}, sounds=players_of)
    )
    assert len(html.encode()) <= 12_000_000
    assert html.count("<audio ") == 2 * SOUNDS_SHOWN


def test_what_cannot_be_drawn_costs_its_picture_alone(tmp_path: Path) -> None:
    items = items_in(tmp_path / "in", [0.5, 0.6])
    items[0].separated.write_bytes(b"RIFF no sound")
    record(tmp_path / "out", [verdict("s0", 2.0), verdict("s1", 2.5)], items)
    html = page_of(tmp_path / "out")
    assert re.findall(r'<p class="id">(s\d)</p>', html) == ["s1"]
    assert "s0" in html


def test_a_judge_is_held_against_stems_beside_a_constant_and_si_sdr(tmp_path: Path) -> None:
    shares = np.linspace(0.02, 1.0, 24).tolist()
    truth = SoundTruth(stem=tmp_path / "in" / "stem.wav")
    items = items_in(tmp_path / "in", shares, truth)
    domains = ["sound"] * 20 + ["music"] * 4
    stressed = zip(items, shares, domains, strict=True)
    verdicts = [verdict(item.id, 5 - 3 * share, domain=domain) for item, share, domain in stressed]
    summary = record(tmp_path / "out", verdicts, items, draw=False)
    metrics = summary.metrics
    assert metrics["sound_spearman_precision"]["value"] > 0.99
    assert metrics["sound_pearson_overall"]["low"] <= metrics["sound_pearson_overall"]["value"]
    assert metrics["sound_pairs_precision"]["value"] == 1.0
    assert metrics["sound_si_sdr_pairs_precision"]["value"] == 0.0  # nearer to the mixture is worse here
    html = page_of(tmp_path / "out")
    assert "sound.any.v1 against truth" in html
    assert "of 0 as the input says, of 24 by formula from the stems" in html
    rows = [json.loads(line) for line in (tmp_path / "out" / "sound_truth.jsonl").read_text().splitlines()]
    assert {row["source"] for row in rows} == {"stems"}
    spread = np.std([row["overall"] for row in rows])
    assert metrics["sound_constant_rmse_overall"]["value"] == pytest.approx(spread, abs=1e-5)
    parts = json.loads((tmp_path / "out" / "tables" / "sound_truth.json").read_text())["rows"]
    assert {(row[0], row[2]) for row in parts} == {("all", "24"), ("domain sound", "20")}
    rescored, tables = score_record(tmp_path / "out")
    assert rescored.metrics["sound_pearson_overall"] == metrics["sound_pearson_overall"]
    assert len(tables) == 1


def test_a_late_output_and_every_named_stem_count(tmp_path: Path) -> None:
    [item] = items_in(tmp_path / "in", [0.0])
    delayed = np.concatenate([np.zeros(200, np.float32), NOISE[:-200]])
    for name, samples in (("out0", delayed), ("rain", NOISE)):
        (tmp_path / "in" / f"{name}.wav").write_bytes(wav_bytes(Sound(samples=samples[None], rate_hz=RATE_HZ), "int16"))
    truth = SoundTruth(stem=tmp_path / "in" / "rain.wav", others={"tone": tmp_path / "in" / "stem.wav"})
    assert true_scores(replace(item, truth=truth))["overall"] > 4.5
    assert true_scores(replace(item, truth=None)) == {}


def test_scores_that_input_gives_are_the_truth_and_no_judge_sees_them(tmp_path: Path) -> None:
    items = items_in(tmp_path / "in", [0.1, 0.4, 0.9], SoundTruth(scores={"overall": 3.0}))
    summary = record(tmp_path / "out", [verdict(item.id, 3.0 + index) for index, item in enumerate(items)], items)
    assert summary.metrics["sound_rmse_overall"]["value"] == pytest.approx(np.sqrt(5 / 3))
    assert "sound_rmse_recall" not in summary.metrics
    assert "of 3 as the input says, of 0 by formula" in page_of(tmp_path / "out")


@pytest.mark.parametrize("masks", [1, 2])
def test_a_record_of_masks_says_nothing_of_sounds(tmp_path: Path, masks: int) -> None:
    summary = record(tmp_path / "out", [], masks=[mask_verdict(f"m{index}") for index in range(masks)])
    html = page_of(tmp_path / "out")
    assert "sound_" not in json.dumps(summary.as_json())
    assert "<audio" not in html
    assert "Separated sounds" not in html
    assert "media-src" not in html


def test_judges_are_compared_on_the_same_outputs_and_against_the_same_truth(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    true = 1 + 4 * rng.random(24)
    items = items_in(tmp_path / "in", [0.5] * 24)
    items = [
        replace(item, truth=SoundTruth(scores={"overall": float(index)}))
        for item, index in zip(items, true, strict=True)
    ]
    folders = [tmp_path / name for name in ("good", "poor")]
    for folder, noise in zip(folders, (0.1, 2.0), strict=True):
        scores = np.clip(true + noise * rng.normal(size=24), 1, 5)
        sounds = [
            verdict(item.id, float(score), judge=f"sound.{folder.name}.v1")
            for item, score in zip(items, scores, strict=True)
        ]
        record(folder, sounds, items, draw=False, input="the same", domain_given="music")
    comparison = compare_folders(folders)
    [table] = comparison.tables
    assert [row[1:3] for row in table.rows] == [(name, axis) for name in ("all", "music") for axis in PERFORMANCE]
    metrics = comparison.summary.metrics
    difference = metrics["sound_pearson_difference/overall/music/sound.good.v1/sound.poor.v1"]
    assert 0 < difference["low"] < difference["value"]
    assert metrics["sound_pearson_first/overall/all/sound.good.v1/sound.poor.v1"]["value"] > 0.9
    assert "sound_pearson_first/recall/all/sound.good.v1/sound.poor.v1" not in metrics  # no truth of recall
    assert (comparison.summary.n, comparison.summary.ok) == (24, 24)
    record(tmp_path / "other", sounds, items, draw=False, input="another")
    with pytest.raises(AuscultError, match="no separated sound in common"):
        compare_folders([folders[0], tmp_path / "other"])
    write_comparison(folders, tmp_path / "out")
    assert "Judges on the same sounds" in page_of(tmp_path / "out")
