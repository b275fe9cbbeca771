"""``auscult ratings``: from golden items to trusted raters, tasks, ratings and batches."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import shutil
import xml.etree.ElementTree as ET  # our own file
from pathlib import Path

import numpy as np
import pytest

from auscult.cases.ratings import RATED_AXES, read_ratings
from auscult.cases.sounds import read_sounds
from auscult.errors import AuscultError, NothingToDo, UsageError
from auscult.jobs.ratings import (
    BatchOptions,
    ImportOptions,
    QualifyOptions,
    RatingsOptions,
    TasksOptions,
    composite,
    deal_tasks,
    draw_batch,
    export_ratings,
    import_ratings,
    qualify,
    thirds,
)
from auscult.jobs.ratings_correlate import CorrelateOptions, correlate
from auscult.jobs.ratings_guide import GuideOptions, make_guide
from auscult.media.sound import read_sound
from auscult.media.wav import encode_wav
from auscult.outcome import Scored
from auscult.record.folder import read_manifest
from auscult.rng import generator
from auscult.scenes.mixtures.sound import integrated_lufs
from auscult.score.raters import balanced_draw, entropy_bits, settled
from auscult.score.sound.spectral import spectral_complexity
from simulated_raters import PoolPlan, simulate_pool

RATE_HZ = 8000
DRAWS = 150


def rows_of_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated pool of 24 raters and 8 bad ones, with a rater who rated another axis alone."""
    pool = simulate_pool(PoolPlan(good=20, bad=8, missing=0.2), generator(4, "golden"))
    path = tmp_path_factory.mktemp("golden") / "golden.csv"
    people = ["expert", *(f"{kind}{number}" for number, kind in enumerate(pool.kinds))]
    lines = ["item,rater,overall,recall"]
    for person, row in zip(people, np.vstack([pool.experts, pool.ratings]), strict=True):
        lines += [f"g{item},{person},{value}," for item, value in enumerate(row) if value]
    lines.append("g0,late,,4")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six mixtures of three sources, two a domain, with separated sounds, and two golden ones."""
    folder, rng = tmp_path_factory.mktemp("sounds"), generator(5, "sounds")
    time_s = np.arange(2 * RATE_HZ) / RATE_HZ
    lines = []
    for number in range(8):
        stems = [
            0.3 * np.sin(2 * np.pi * (300 + 50 * number) * time_s) * (1 + np.sin(6 * np.pi * time_s)) / 2,
            0.1 * rng.normal(size=time_s.size).clip(-3, 3),
            0.2 * np.sign(np.sin(2 * np.pi * 90 * time_s)),
        ]
        sound_of = {f"{number}-{place}.wav": stem for place, stem in enumerate(stems)}
        sound_of |= {f"{number}-mix.wav": np.sum(stems, axis=0), f"{number}-out.wav": (0.2 + number / 10) * stems[0]}
        for name, sound in sound_of.items():
            (folder / name).write_bytes(encode_wav(sound.clip(-1, 1).astype(np.float32), RATE_HZ))
        truth = {"stem": f"{number}-0.wav", "others": {"noise": f"{number}-1.wav", "hum": f"{number}-2.wav"}}
        paths = {"mixture": f"{number}-mix.wav", "separated": f"{number}-out.wav"}
        domain = ("speech", "music", "sound")[number % 3]
        lines.append(json.dumps({"id": f"m{number}", **paths, "text": "tone", "domain": domain, "truth": truth}))
    (folder / "items.jsonl").write_text("\n".join(lines[:6]) + "\n")
    (folder / "golden.jsonl").write_text("\n".join(lines[6:]) + "\n")
    return folder


def test_qualify_trusts_good_raters_and_not_bad_ones(golden: Path, tmp_path: Path) -> None:
    summary, tables = qualify(QualifyOptions(sources=(golden,), out=tmp_path / "raters", draws=DRAWS))
    rows = {row["rater"]: row for row in rows_of_csv(tmp_path / "raters" / "raters.csv")}
    assert len(rows) == 29
    assert rows["late"]["trust"] == "unjudged"
    assert rows["late"]["mad"] == ""
    trust = {name: row["trust"] for name, row in rows.items()}
    assert sum(word == "yes" for name, word in trust.items() if name.startswith("good")) >= 15
    assert not any(word == "yes" for name, word in trust.items() if name.startswith(("lazy", "adversarial")))
    assert all(float(row["low"]) <= float(row["mad"]) <= float(row["high"]) for row in rows.values() if row["mad"])
    assert summary.metrics["trusted"]["value"] == sum(word == "yes" for word in trust.values())
    chosen_rmse, everybody, constant = (float(row[2].split()[0]) for row in tables[1].rows)
    assert chosen_rmse <= everybody < constant


def test_the_spot_check_of_two_items_stays_within_what_a_deviation_can_be(tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("item,rater,overall\na,expert,3\nb,expert,1\na,ann,4\nb,ann,1\n")
    _, tables = qualify(QualifyOptions(sources=(few,), out=tmp_path / "raters", draws=DRAWS))
    intervals = {row[0]: row[2] for row in tables[1].rows}
    assert intervals["always 3"] == "1.00 [0.00, 4.00]"
    assert intervals["all raters"] == "0.50 [0.00, 4.00]"


@pytest.mark.slow
def test_keep_trusts_as_many_as_asked_for_and_no_expert_is_said(golden: Path, tmp_path: Path) -> None:
    qualify(QualifyOptions(sources=(golden,), out=tmp_path / "kept", keep=10, draws=DRAWS))
    assert sum(row["trust"] == "yes" for row in rows_of_csv(tmp_path / "kept" / "raters.csv")) == 10
    bare = tmp_path / "bare.csv"
    bare.write_text("".join(line for line in golden.read_text().splitlines(keepends=True) if ",expert," not in line))
    summary, tables = qualify(QualifyOptions(sources=(bare,), out=tmp_path / "bare", draws=DRAWS))
    assert "no expert" in tables[0].note
    other = tmp_path / "other.csv"
    other.write_text("item,rater,overall,recall\na,expert,,3\na,x,3,\nb,x,4,\n")
    assert len(qualify(QualifyOptions(sources=(other,), out=tmp_path / "other", draws=DRAWS))[1]) == 1
    assert len(tables) == 1
    assert summary.metrics["trusted"]["value"] >= 12
    with pytest.raises(UsageError, match="no rater nobody"):
        qualify(
            QualifyOptions(sources=(golden,), out=tmp_path / "x", experts=("nobody",), given=frozenset({"experts"}))
        )
    with pytest.raises(UsageError, match="nobody rated precision"):
        qualify(QualifyOptions(sources=(golden,), out=tmp_path / "x", axis="precision"))


def test_raters_are_told_when_the_target_is_heard(sounds: Path, tmp_path: Path) -> None:
    items = [json.loads(line) for line in (sounds / "items.jsonl").read_text().splitlines()]
    items[0] |= {"text": None, "spans_s": [["-", 0, 0.5], ["+", 0.5, 1.25], ["+", 1.5, 2]]}
    items[1] |= {"spans_s": [["+", 0.5, 1]]}
    source = sounds / "spans.jsonl"
    source.write_text("".join(json.dumps(item) + "\n" for item in items[:3]))
    deal_tasks(TasksOptions(source=source, people=("a", "b", "c"), out=tmp_path / "tasks"))
    told = {task["data"]["text"] for task in json.loads((tmp_path / "tasks" / "tasks" / "a.json").read_text())}
    assert told == {"heard at 0.50-1.25 s, 1.50-2.00 s; not at 0.00-0.50 s", "tone; heard at 0.50-1.00 s", "tone"}


def test_no_rater_is_dealt_an_item_without_words_or_spans(sounds: Path, tmp_path: Path) -> None:
    items = [json.loads(line) for line in (sounds / "items.jsonl").read_text().splitlines()[:3]]
    items[0] |= {"text": None, "video": "seen.png"}
    del items[1]["text"]
    source = sounds / "wordless.jsonl"
    source.write_text("".join(json.dumps(item) + "\n" for item in items))
    options = TasksOptions(source=source, people=("a", "b", "c"), out=tmp_path / "tasks")
    summary, _ = deal_tasks(options)
    assert (summary.ok, summary.failed) == (1, 2)
    told = [task["data"]["text"] for task in json.loads((tmp_path / "tasks" / "tasks" / "a.json").read_text())]
    assert told == ["tone"]
    errors = [json.loads(line)["error"] for line in (tmp_path / "tasks" / "errors.jsonl").read_text().splitlines()]
    assert errors == ["the item has a picture alone, which raters are not shown", "the item has no prompt"]
    source.write_text("".join(json.dumps(item) + "\n" for item in items[:2]))
    with pytest.raises(NothingToDo, match="words or spans"):
        deal_tasks(dataclasses.replace(options, out=tmp_path / "none"))


def test_tasks_are_dealt_to_three_shuffled_blind_and_equally_loud(sounds: Path, tmp_path: Path) -> None:
    people = ("a", "b", "c", "d")
    out = tmp_path / "tasks"
    deal_tasks(TasksOptions(source=sounds, golden=sounds / "golden.jsonl", people=people, out=out, golden_each=1))
    tasks = {person: json.loads((out / "tasks" / f"{person}.json").read_text()) for person in people}
    key = {row["item"]: row for row in rows_of_csv(out / "key.csv")}
    dealt_rows = [key[task["data"]["item"]] for own_tasks in tasks.values() for task in own_tasks]
    counts = {
        row["id"]: sum(dealt_row["id"] == row["id"] for dealt_row in dealt_rows)
        for row in key.values()
        if row["golden"] == "no"
    }
    assert set(counts.values()) == {3}
    assert [
        sum(key[task["data"]["item"]]["golden"] == "yes" for task in own_tasks) for own_tasks in tasks.values()
    ] == [1] * 4
    assert max(map(len, tasks.values())) - min(map(len, tasks.values())) <= 1
    assert not any(row["id"] in json.dumps(tasks) for row in key.values())
    for name in key:
        for ending in ("", "-mixture"):
            sound = read_sound(out / "sounds" / f"{name}{ending}.wav")
            assert integrated_lufs(sound.samples, rate_hz=sound.rate_hz) == pytest.approx(-23, abs=0.1)
    rated_axes = {rating.get("name") for rating in ET.parse(out / "config.xml").iter("Rating")}  # noqa: S314 - our own file
    assert rated_axes == set(RATED_AXES)
    second = deal_tasks(TasksOptions(source=sounds, people=people, out=tmp_path / "again"))
    assert second[0].ok == 6
    with pytest.raises(UsageError, match="2 raters for 3"):
        deal_tasks(TasksOptions(source=sounds, people=("a", "b"), out=tmp_path / "few"))
    for name in ("..", "\udcff", "\u00fc" * 99):  # of another encoding; longer than a file's name, as it is quoted
        with pytest.raises(UsageError, match="cannot be written as a file"):
            deal_tasks(TasksOptions(source=sounds, people=("a", "b", name), out=tmp_path / "odd"))


def test_of_an_input_what_a_batch_drew_is_dealt_and_what_is_missing_is_said(sounds: Path, tmp_path: Path) -> None:
    table = tmp_path / "judged.csv"
    table.write_text("id,overall\nm1,1\nm4,5\nelsewhere,3\n")
    draw_batch(BatchOptions(number=3, source=table, out=tmp_path / "batch"))
    options = TasksOptions(
        source=sounds,
        golden=sounds / "golden.jsonl",
        batch=tmp_path / "batch",
        people=("a", "b", "c"),
        out=tmp_path / "t",
    )
    summary, _ = deal_tasks(options)
    assert {row["id"] for row in rows_of_csv(tmp_path / "t" / "key.csv")} == {"m1", "m4", "m6", "m7"}
    assert (summary.ok, summary.failed) == (4, 1)
    assert "elsewhere" in (tmp_path / "t" / "errors.jsonl").read_text()
    table.write_text("id\nx\n")
    with pytest.raises(NothingToDo, match="nothing that the batch drew"):
        deal_tasks(dataclasses.replace(options, batch=table, out=tmp_path / "none"))
    with pytest.raises(UsageError, match="--batch"):
        deal_tasks(dataclasses.replace(options, batch=tmp_path / "not there", out=tmp_path / "none"))


def test_ratings_of_tasks_come_back_under_their_names_without_golden_ones(sounds: Path, tmp_path: Path) -> None:
    out, people = tmp_path / "tasks", ("a", "b", "c")
    deal_tasks(TasksOptions(source=sounds, golden=sounds / "golden.jsonl", people=people, out=out))
    lines = ["item,rater,overall,recall"]
    for row in rows_of_csv(out / "key.csv"):
        disagreement = 2 if row["id"] == "m3" else 0
        lines += [f"{row['item']},a,3,5", f"{row['item']},b,4,5", f"{row['item']},c,{3 + disagreement},5"]
    lines += ["unheard,a,3,3", f"{row['item']},stranger,1,1", f"{row['item']},bad,1,1"]
    (tmp_path / "said.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "raters.csv").write_text("rater,trust\na,yes\nb,yes\nc,yes\nbad,no\n")
    options = ImportOptions(
        sources=(tmp_path / "said.csv",),
        raters=tmp_path / "raters.csv",
        key=out / "key.csv",
        out=tmp_path / "imported",
    )
    (tmp_path / "key.jsonl").write_text('{"item": 3}\n')
    strange = dataclasses.replace(options, key=tmp_path / "key.jsonl", out=tmp_path / "strange")
    assert import_ratings(strange)[0].ok == 0
    summary, tables = import_ratings(options)
    scores = {row["id"]: row for row in map(json.loads, (tmp_path / "imported/scores.jsonl").read_text().splitlines())}
    assert sorted(scores) == [f"m{number}" for number in range(6)]
    assert scores["m1"]["overall"] == pytest.approx(10 / 3, abs=1e-6)
    assert scores["m3"]["dropped"] == {"overall": "raters disagree"}
    assert scores["m3"]["recall"] == 5
    assert summary.failed == 3
    errors = map(json.loads, (tmp_path / "imported/errors.jsonl").read_text().splitlines())
    unheard = next(row for row in errors if row["id"] == "unheard")
    assert (unheard["path"], unheard["line"]) == (str(options.sources[0]), lines.index("unheard,a,3,3") + 1)
    assert unheard["expected"] == "an item of key.csv"
    table = {row[:2]: row[2:] for row in tables[0].rows}
    assert table["speech", "overall"] == ("2", "1", "1", "0", "0")
    assert table["music", "all axes"] == ("2", "2", "0", "0", "0")
    (tmp_path / "raters.csv").write_text("rater,trust\na,no\nb,unsure\nc,no\nbad,no\n")
    with pytest.raises(NothingToDo, match="nobody who rated is trusted"):
        import_ratings(dataclasses.replace(options, out=tmp_path / "nobody"))


def test_exports_of_several_raters_are_one_set_and_their_golden_items_qualify_them(tmp_path: Path) -> None:
    pool = simulate_pool(PoolPlan(good=2, bad=0, items=12), generator(3, "exports"))
    key = ["item,id,golden,domain,gain_db", *(f"n{item},g{item},yes,music,0" for item in range(12)), "n12,m,no,music,0"]
    (tmp_path / "key.csv").write_text("\n".join(key))
    said = {"expert.csv": ("expert", "g", pool.experts[0])}  # golden items under their own names
    said |= {f"{person}.csv": (person, "n", row) for person, row in zip("ab", pool.ratings, strict=True)}
    for file, (person, prefix, row) in said.items():
        lines = ["item,rater,overall", *(f"{prefix}{item},{person},{value}" for item, value in enumerate(row))]
        (tmp_path / file).write_text("\n".join([*lines, *([f"n12,{person},4", "lost,b,1"] if person == "b" else [])]))
    sources = tuple(tmp_path / file for file in said)
    options = QualifyOptions(sources=sources, key=tmp_path / "key.csv", out=tmp_path / "raters", draws=DRAWS)
    _, tables = qualify(options)
    assert [row[2] for row in tables[0].rows] == ["12", "12"]
    assert "1 expert" in tables[0].note
    (error,) = map(json.loads, (tmp_path / "raters" / "errors.jsonl").read_text().splitlines())
    assert (error["path"], error["line"]) == (str(tmp_path / "b.csv"), 15)
    assert len(read_manifest(tmp_path / "raters")["inputs"]) == 4
    taken = ImportOptions(sources=sources[1:], key=tmp_path / "key.csv", fewest=1, out=tmp_path / "imported")
    assert import_ratings(taken)[1][0].rows[0] == ("music", "overall", "1", "1", "0", "0", "0")
    with pytest.raises(NothingToDo, match=r"no clips\.csv"):
        import_ratings(dataclasses.replace(taken, sources=(tmp_path,)))


def test_ratings_on_other_scales_are_not_averaged(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="other scales"):
        import_ratings(ImportOptions(sources=(data / "sound" / "ratings",), out=tmp_path / "out"))


def test_the_guideline_has_a_sound_for_both_ends_of_each_axis(sounds: Path, tmp_path: Path) -> None:
    make_guide(GuideOptions(source=sounds, out=tmp_path / "guide"))
    text = (tmp_path / "guide" / "guide.md").read_text()
    named_files = {name for name in text.replace(")", "(").split("(") if name.endswith(".wav")}
    assert named_files == {f"sounds/{path.name}" for path in (tmp_path / "guide" / "sounds").iterdir()}
    assert len(named_files) == 20
    target, mixture, loud, low = (
        read_sound(tmp_path / "guide" / "sounds" / f"{name}.wav").samples[0]
        for name in ("target", "mixture", "loudness-low", "recall-low")
    )
    first_item = read_sounds(sounds).items[0]
    assert np.abs(mixture - read_sound(first_item.mixture).samples[0]).max() < 1e-3
    assert np.corrcoef(loud, target)[0, 1] > 0.9
    assert np.sum(low**2) < 0.6 * np.sum(target**2)


def test_sounds_that_stand_beside_the_input_are_heard_with_root(sounds: Path, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    shutil.copytree(sounds, tmp_path / "sounds")
    for name in ("items.jsonl", "golden.jsonl"):
        lines = [json.loads(line) for line in (sounds / name).read_text().splitlines()]
        moved = [line | {key: f"../sounds/{line[key]}" for key in ("mixture", "separated")} for line in lines]
        (aside / name).write_text("".join(json.dumps(line) + "\n" for line in moved))
    source, golden = aside / "items.jsonl", aside / "golden.jsonl"
    tasks = {"source": source, "golden": golden, "people": ("ann",), "per_item": 1}
    summary, _ = deal_tasks(TasksOptions(**tasks, root=tmp_path, out=tmp_path / "tasks"))
    assert (summary.ok, summary.failed) == (8, 0)
    summary, _ = draw_batch(BatchOptions(number=1, source=source, root=tmp_path, out=tmp_path / "batch"))
    assert (summary.ok, summary.failed) == (6, 0)
    with pytest.raises(NothingToDo):
        deal_tasks(TasksOptions(**tasks, out=tmp_path / "without"))


def test_export_reads_back_the_same_in_every_format(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("item,rater,domain,overall,recall\na/1,x,speech,1,5\na/1,y,speech,2,\n'-6 dB,x,music,,3\n")
    want = {(rating.item, rating.rater, rating.axis, rating.value) for rating in read_ratings(source).ratings}
    export_ratings(RatingsOptions(sources=(source,), out=tmp_path / "out"))
    for name in ("ratings.csv", "ratings.jsonl"):
        reread = read_ratings(tmp_path / "out" / name)
        assert {(rating.item, rating.rater, rating.axis, rating.value) for rating in reread.ratings} == want


def test_a_balanced_draw_fills_what_is_empty() -> None:
    bins = np.array([[0]] * 90 + [[1]] * 6 + [[2]] * 4)
    drawn_indices = balanced_draw(bins, 12, before=np.zeros((1, 3)), rng=generator(1, "draw"))
    assert np.bincount(bins[drawn_indices, 0]).tolist() == [4, 4, 4]
    next_indices = balanced_draw(bins, 6, before=np.array([[0.0, 5.0, 5.0]]), rng=generator(1, "draw"))
    assert np.bincount(bins[next_indices, 0]).tolist()[0] >= 5
    assert len(balanced_draw(bins, 500, before=np.zeros((1, 3)), rng=generator(1, "draw"))) == 100


def test_complexity_rises_with_what_sounds_at_once() -> None:
    time_s, rng = np.arange(RATE_HZ) / RATE_HZ, generator(3, "noise")
    tone = np.sin(2 * np.pi * 440 * time_s).astype(np.float32)
    chord = sum(np.sin(2 * np.pi * pitch * time_s) for pitch in (440, 700, 1100, 1900)).astype(np.float32)
    noise = rng.normal(size=RATE_HZ).astype(np.float32)
    complexities = [spectral_complexity(sound, rate_hz=RATE_HZ) for sound in (0 * tone, tone, chord, noise)]
    assert complexities == sorted(complexities)
    assert complexities[0] == 0
    assert complexities[-1] > 25


def test_batch_1_measures_an_input_of_sounds_itself(sounds: Path, tmp_path: Path) -> None:
    _, tables = draw_batch(BatchOptions(number=1, source=sounds, count=3, out=tmp_path / "batch"))
    rows = rows_of_csv(tmp_path / "batch" / "batch.csv")
    assert len(rows) == 3
    assert all(float(row["complexity_residual"]) < 0 for row in rows)  # a tone is simpler than its mixture
    assert (tmp_path / "batch" / "figures" / "composite.svg").is_file()
    assert [row[0] for row in tables[0].rows] == ["candidates", "batch", "rated and batch"]
    dropped_line = '{"id": "=m4", "dropped": {"overall": "raters disagree"}}'
    (tmp_path / "part.jsonl").write_text(
        f'{{"id": "m1", "recall": 3}}\n{{"id": "x", "overall": "high"}}\n{dropped_line}\n'
    )
    (tmp_path / "all.csv").write_text("id,overall\nm1,3\nm2,4\nm2,4\nm3,none\n'=m4,1\n")
    options = BatchOptions(
        number=3, source=tmp_path / "all.csv", rated=tmp_path / "part.jsonl", count=9, out=tmp_path / "third"
    )
    assert draw_batch(options)[0].failed == 2  # two scores are no numbers
    assert [row["id"] for row in rows_of_csv(tmp_path / "third" / "batch.csv")] == ["m2"]
    with pytest.raises(NothingToDo):
        draw_batch(BatchOptions(number=2, source=sounds / "items.jsonl", count=3, out=tmp_path / "none"))


def test_enriched_outputs_are_an_input_of_sounds_that_differ(sounds: Path, tmp_path: Path) -> None:
    draw_batch(BatchOptions(number=2, source=sounds, enrich=True, out=tmp_path / "enriched"))
    enriched = read_sounds(tmp_path / "enriched")
    assert not enriched.problems
    assert len({item.extra["enriched"] for item in enriched.items}) > 1
    changes = []
    for item, before in zip(enriched.items, read_sounds(sounds).items, strict=True):
        assert item.truth is None
        assert item.separated is not None
        assert before.separated is not None
        assert np.abs(read_sound(item.mixture).samples - read_sound(before.mixture).samples).max() < 1e-4
        changes.append(np.abs(read_sound(item.separated).samples - read_sound(before.separated).samples).max())
    assert sum(change > 1e-3 for change in changes) >= 5  # a tone may be in no band that is masked


def test_entropy_of_overall_rises_from_batch_to_batch_with_simulated_raters(tmp_path: Path) -> None:
    rng = generator(11, "batches")
    n_outputs = 3000
    truth = np.clip(rng.choice([1.0, 1.4, 2.5, 3.5, 4.6, 5.0], n_outputs, p=[0.45, 0.2, 0.06, 0.05, 0.04, 0.2]), 1, 5)
    noisy = {name: truth + rng.normal(0, spread, n_outputs) for name, spread in (("clap", 1.2), ("clap_residual", 1.5))}
    noisy |= {
        "complexity": 10 - truth + rng.normal(0, 2, n_outputs),
        "complexity_residual": -truth + rng.normal(0, 2, n_outputs),
    }
    judge_scores = {
        axis: np.clip(truth + rng.normal(0, 0.5, n_outputs), 1, 5) for axis in ("recall", "precision", "faithfulness")
    }
    judge_scores["overall"] = np.clip(truth + rng.normal(0, 0.4, n_outputs), 1, 5)
    source = tmp_path / "candidates.csv"
    header = ["id", *noisy, *judge_scores]
    rows = [
        [f"c{index}", *(f"{column[index]:.4f}" for column in (*noisy.values(), *judge_scores.values()))]
        for index in range(n_outputs)
    ]
    source.write_text("\n".join(",".join(row) for row in (header, *rows)) + "\n")
    scores: list[dict[str, object]] = []
    bits = []
    for number, count in ((1, 150), (2, 300), (3, 240)):
        rated_file = tmp_path / f"rated{number}.jsonl"
        rated_file.write_text("".join(f"{json.dumps(row)}\n" for row in scores))
        options = BatchOptions(
            number=number, source=source, count=count, rated=rated_file if scores else None, out=tmp_path / f"b{number}"
        )
        draw_batch(options)
        for row in rows_of_csv(tmp_path / f"b{number}" / "batch.csv"):
            index = int(row["id"][1:])
            ratings = np.clip(np.rint(truth[index] + rng.normal(0, 0.5, 3)), 1, 5)
            if isinstance(outcome := settled(list(ratings)), Scored):
                scores.append({"id": row["id"], **dict.fromkeys(judge_scores, outcome.value)})
        bits.append(entropy_bits(np.bincount(np.rint([float(str(row["overall"])) for row in scores]).astype(int))))
    plain = entropy_bits(np.bincount(np.rint(truth[rng.permutation(n_outputs)[: len(scores)]]).astype(int)))
    assert plain < bits[0] < bits[1] < bits[2]
    assert len({row["id"] for row in scores}) == len(scores)
    assert read_manifest(tmp_path / "b3")["command"] == "ratings batch"


def test_half_a_score_goes_up_and_candidates_that_are_all_rated_are_said(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("id,overall\na,1.5\nb,2.5\nc,3.5\nd,4.5\n")
    rated = tmp_path / "rated.jsonl"
    rated.write_text("".join(f'{{"id": "{name}", "overall": 3}}\n' for name in "abcd"))
    options = BatchOptions(number=3, source=tmp_path / "scores.csv", out=tmp_path / "batch")
    assert draw_batch(options)[1][0].rows[0][2:7] == ("0", "1", "1", "1", "1")
    with pytest.raises(NothingToDo, match="all 4 candidates are rated"):
        draw_batch(dataclasses.replace(options, rated=rated, out=tmp_path / "again"))


def test_the_composite_ranks_better_separation_higher_and_needs_one_column() -> None:
    rows = [{"id": str(index), "clap": index, "complexity": -index} for index in range(30)]
    values = composite(rows)
    assert values.argsort().tolist() == list(range(30))
    assert np.bincount(thirds(values)).tolist() == [10, 10, 10]
    with pytest.raises(UsageError):
        composite([{"id": "a"}])


def test_columns_are_compared_within_groups_and_over_clusters(tmp_path: Path) -> None:
    """Of 1 2 3 4 and 1 3 2 4 the coefficients are .8, .8 and 2/3; a column of words, and cells that lack, are left."""
    rng = np.random.default_rng(3)
    rows = [("speech", index, index + 1, [1, 3, 2, 4][index], "word", "") for index in range(4)]
    overall = rng.normal(3, 1, 60)
    rows += [
        ("music", 4 + value_index // 3, score, -score + 0.1 * rng.normal(), "word", value_index or "NA")
        for value_index, score in enumerate(overall)
    ]
    table = tmp_path / "scores.csv"
    lines = [",".join(map(str, row)) for row in rows]
    table.write_text("\n".join(["domain,song,overall,counting,name,loudness", *lines]))
    options = CorrelateOptions(source=table, out=tmp_path / "out", cluster="song", by="domain")
    summary, (correlations,) = correlate(options)
    cells = {row[:2]: row[2:] for row in correlations.rows}
    assert {name for _, name in cells} == {"counting", "loudness"}  # no words, and not the numbers of clusters
    assert [cell_text.partition(" ")[0] for cell_text in cells["speech", "counting"]] == ["0.800", "0.800", "0.667"]
    assert all(cell_text.startswith("-0.9") and "[" in cell_text for cell_text in cells["music", "counting"][:2])
    assert (summary.metrics["pearson_counting"]["n"], summary.metrics["kendall_loudness"]["n"]) == (64, 59)
    with pytest.raises(UsageError, match="name is no column of numbers"):
        correlate(dataclasses.replace(options, out=tmp_path / "other", against="name"))


def test_rows_without_a_cluster_stand_alone_and_false_is_a_group(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(40, 2)).round(3).tolist()
    rows = [
        {"overall": x, "recall": x + y, "song": None, "seen": index % 2 == 0} for index, (x, y) in enumerate(scores)
    ]
    table = tmp_path / "scores.jsonl"
    table.write_text("".join(f"{json.dumps(row)}\n" for row in [{**rows[0], "song": "a"}, *rows[1:]]))
    options = CorrelateOptions(source=table, out=tmp_path / "out", cluster="song", by="seen")
    by_song, (correlations,) = correlate(options)
    by_row, _ = correlate(dataclasses.replace(options, cluster=None, out=tmp_path / "rows"))
    assert by_song.metrics == by_row.metrics
    assert [row[0] for row in correlations.rows] == ["all", "True", "False"]
    with pytest.raises(UsageError, match="no row has a sung"):
        correlate(dataclasses.replace(options, cluster="sung", out=tmp_path / "none"))


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_columns_are_named_as_they_stand_in_the_file(tmp_path: Path, name: str) -> None:
    table = tmp_path / name
    cells = [(f"c{index // 2}", index % 5, index * 3 % 17) for index in range(12)]
    if table.suffix == ".csv":
        table.write_text("\n".join(["Clip,Overall,SI-SDR", *(",".join(map(str, row)) for row in cells)]))
    else:
        rows = [dict(zip(("Clip", "Overall", "SI-SDR"), row, strict=True)) for row in cells]
        table.write_text("\n".join(json.dumps(row) for row in rows))
    options = CorrelateOptions(source=table, out=tmp_path / "out", cluster="Clip", against="Overall")
    _, (correlations,) = correlate(options)
    assert [row[1] for row in correlations.rows] == ["si-sdr"]
    with pytest.raises(AuscultError) as error:
        correlate(dataclasses.replace(options, out=tmp_path / "other", against="Quality"))
    assert "quality" in str(error.value) + str(error.value.hint)


def test_a_batch_of_an_input_that_was_never_audited_says_to_audit_it(sounds: Path, tmp_path: Path) -> None:
    with pytest.raises(NothingToDo, match="no verdicts") as raised:
        draw_batch(BatchOptions(number=2, source=sounds, out=tmp_path / "batch"))
    assert f"`auscult audit {sounds} --out {sounds.name}-audit`" in raised.value.hint
    assert f"`auscult ratings batch 2 {sounds.name}-audit`" in raised.value.hint
