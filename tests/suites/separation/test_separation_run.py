"""`auscult run separation`: tones to be taken out of noise, separators that know it by file, and their record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import NothingToDo, UsageError
from auscult.media.frames import write_frame
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.models.separators import SEPARATORS
from auscult.outcome import Scored
from auscult.report.suite import read_page
from auscult.score.sound import si_sdr
from auscult.suites.core.compare import write_comparison
from auscult.suites.core.records import score_record
from auscult.suites.registered import SuiteRun, options_of
from auscult.suites.separation import SUITE, SeparationOptions
from small_inputs import auscult

RATE_HZ = 8000
COUNT = 4000
MODELS = """
import numpy as np


def note(name):
    with open(__file__ + ".calls", "a") as file:
        file.write(name + "\\n")


def smooth(mixture, query, *, rate_hz):
    note("smooth")
    return np.convolve(mixture, np.ones(3) / 3, "same").astype(np.float32)


def picky(mixture, query, *, rate_hz):
    note("picky")
    if query.text == "noise":
        raise RuntimeError("no noise today")
    return mixture


def short(mixture, query, *, rate_hz):
    return mixture[:-1]
"""


def write(path: Path, samples: np.ndarray[Any, Any], rate_hz: int = RATE_HZ) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wav_bytes(Sound(samples=np.atleast_2d(samples).astype(np.float32), rate_hz=rate_hz), "float32"))


def item(root: Path, number: int, **options: Any) -> dict[str, Any]:
    """A mixture of a tone and noise, each wanted once."""
    rng = np.random.default_rng(number)
    tone = 0.2 * np.sin(2 * np.pi * (200 + 100 * number) * np.arange(COUNT) / RATE_HZ)
    noise = 0.03 * (1 + number) * rng.normal(size=COUNT)
    for name, samples in {"tone": tone, "noise": noise, "mixture": tone + noise}.items():
        write(root / f"{name}{number}.wav", samples)
    return {
        "id": f"m{number}/tone", "mixture": f"mixture{number}.wav", "text": "tone", "domain": "music",
        "setting": "instrument", "cluster": f"m{number}", "seen": number % 2 == 0,
        "truth": {"stem": f"tone{number}.wav", "others": {"noise": f"noise{number}.wav"}}, **options,
    }  # fmt: skip


def items(root: Path) -> list[dict[str, Any]]:
    rows = []
    for number in range(2):
        row = item(root, number)
        noise = {"id": f"m{number}/noise", "text": "noise", "domain": "sound", "setting": "general_sound"}
        rows += [row, {**row, **noise, "spans_s": [["+", 0.0, 0.5]], "truth": {"stem": f"noise{number}.wav"}}]
    return rows


def write_items(root: Path, rows: list[dict[str, Any]]) -> None:
    (root / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    write_items(data, items(data))
    (tmp_path / "mine.py").write_text(MODELS)
    return tmp_path


def run(root: Path, *models: str, **fields: Any) -> SuiteRun:
    names = [
        model if model in SEPARATORS or ":" in model or "/" in model else f"{root / 'mine.py'}:{model}"
        for model in models
    ]
    words = {"data": root / "data", "out": root / "out", "models": names, "workers": 0, **fields}
    options = options_of(SUITE, words)
    assert isinstance(options, SeparationOptions)
    return SUITE.run(options)


def rows(root: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "out" / name).read_text().splitlines()]


def calls(root: Path) -> list[str]:
    path = root / "mine.py.calls"
    return path.read_text().split() if path.is_file() else []


def values(root: Path, model: str, metric: str) -> dict[str, float | None]:
    return {
        row["id"]: row["value"]
        for row in rows(root, "scores.jsonl")
        if (row["model"], row["metric"]) == (model, metric)
    }


def numbers(suite_run: SuiteRun) -> dict[str, Any]:
    return {name: table for name, table in suite_run.tables.items() if name != "answers"}


def test_tables_scores_outputs_and_page(root: Path) -> None:
    suite_run = run(root, "smooth", "irm")
    general = {
        row[0]: dict(zip(suite_run.tables["general"].header, row, strict=True))
        for row in suite_run.tables["general"].rows
    }
    assert list(general) == ["mine.smooth", "irm (oracle)", "mixture", "silence", "random_bands"]
    assert general["mixture"]["SI-SDRi"] == "0.0"
    assert general["silence"]["items: overall, SI-SDR"] == "4, 0 (4 undefined)"
    assert general["silence"]["recall"].startswith("1.00")
    assert float(general["irm (oracle)"]["overall"].split()[0]) > float(general["mixture"]["overall"].split()[0]) + 0.5
    assert {
        "by_domain",
        "by_setting",
        "by_prompt",
        "by_seen",
        "by_difficulty",
        "differences",
    } <= suite_run.tables.keys()
    assert {row[0] for row in suite_run.tables["by_domain"].rows} == {"music", "sound"}
    assert {row[0] for row in suite_run.tables["by_prompt"].rows} == {"text", "text+span"}
    reply = next(
        row for row in rows(root, "predictions.jsonl") if row["model"] == "mine.smooth" and row["id"] == "m1/tone"
    )
    output, stem = (read_sound(path).samples for path in (root / "out" / reply["reply"], root / "data/tone1.wav"))
    right = si_sdr(output, stem)
    assert isinstance(right, Scored)
    assert values(root, "mine.smooth", "SI-SDR")["m1/tone"] == pytest.approx(right.value)
    page = read_page(root / "out")
    worst = [section for section in page.sections if section.name.startswith("worst")]
    assert [len(section.examples) for section in worst] == [2, 2]
    assert [sound.label for sound in worst[0].examples[0].sounds] == ["mixture", "target", "output"]
    assert dict(page.facts)["Mixtures, or groups of those that share a recording"] == "2"
    assert "Not comparable" in (root / "out/report.html").read_text()


def test_it_goes_on_where_it_stopped(root: Path) -> None:
    first = run(root, "smooth")
    assert calls(root) == ["smooth"] * 4
    assert numbers(run(root, "smooth")) == numbers(first)
    assert calls(root) == ["smooth"] * 4
    lines = (root / "out/predictions.jsonl").read_text().splitlines(keepends=True)
    (root / "out/predictions.jsonl").write_text("".join(lines[:2]) + lines[2][:30])
    (root / "out/scores.jsonl").unlink()
    assert numbers(run(root, "smooth")) == numbers(first)
    assert calls(root) == ["smooth"] * 6


@pytest.mark.slow
def test_its_record_is_scored_again_and_compared(root: Path) -> None:
    both_runs = run(root, "smooth", "irm")
    (root / "mine.py").rename(root / "away.py")
    second_run = score_record(root / "out", SUITE)
    assert second_run.tables == both_runs.tables
    assert second_run.summary.metrics == both_runs.summary.metrics
    assert "mine.smooth/clean/clean/overall" in second_run.summary.metrics
    (root / "away.py").rename(root / "mine.py")
    parts = [run(root, name, out=root / name).out for name in ("smooth", "irm")]
    comparison = write_comparison(parts, SUITE, root / "compared")
    assert comparison.tables["general"].rows == both_runs.tables["general"].rows
    assert "photograph" not in (root / "compared/report.html").read_text(), "mixtures are drawn"


def test_a_failure_is_no_score(root: Path) -> None:
    suite_run = run(root, "picky", "short")
    assert suite_run.summary.failed == 2 + 4
    cells = {(cell["model"], cell["level"]): cell for cell in rows_of_cells(root) if cell["metric"] == "overall"}
    assert (cells["mine.picky", "clean"]["n"], cells["mine.picky", "clean"]["failed"]) == (2, 2)
    errors = [row["error"] for row in rows(root, "errors.jsonl")]
    assert any("no noise today" in error for error in errors)
    assert any("3999 samples of a mixture of 4000" in error for error in errors)


def rows_of_cells(root: Path) -> list[dict[str, Any]]:
    cell_rows: list[dict[str, Any]] = json.loads((root / "out/cells.json").read_text())
    return [cell for cell in cell_rows if cell["group"] == "clean" and cell["measure"] == "level"]


def test_published_outputs_are_scored_by_family_and_equal_requests_are_asked_once(root: Path) -> None:
    data, lines = root / "data", []
    for number in range(2):
        row = item(data, number)
        for family, gain in {"good": 0.1, "poor": 1.0}.items():
            tone, noise = (read_sound(data / f"{name}{number}.wav").samples for name in ("tone", "noise"))
            loudness = 1 + 9 * number  # the second one far over full scale, as floats may be: nothing is cut off
            write(data / f"out/{family}{number}.wav", loudness * (tone + gain * noise))
            lines.append(
                {**row, "id": f"{number}-{family}", "separated": f"out/{family}{number}.wav", "family": family}
            )
    write_items(data, lines)
    suite_run = run(root, str(data), "smooth")
    assert calls(root) == ["smooth"] * 2
    table = suite_run.tables["families"]
    row_of = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert [row_of["good"]["mixtures"], row_of["good"]["outputs"]] == ["2", "2"]
    assert float(row_of["good"]["SI-SDRi"].split()[0]) == pytest.approx(20, abs=0.5)
    assert row_of["poor"]["SI-SDRi"].split()[0] == "0.0"
    items_by_model = {row[0]: row[-1] for row in suite_run.tables["general"].rows}
    assert (items_by_model["predictions.data"], items_by_model["mine.smooth"]) == ("4", "2")


def test_without_stems_it_is_separated_and_not_scored(root: Path) -> None:
    data = root / "data"
    row = item(data, 0)
    write_items(data, [{key: value for key, value in row.items() if key != "truth"}])
    suite_run = run(root, "smooth")
    assert (suite_run.summary.failed, suite_run.summary.undefined) == (0, 4)
    assert suite_run.tables["general"].rows[0][1] == "n/a"
    assert [sound.label for sound in read_page(root / "out").sections[-1].examples[0].sounds] == ["mixture", "output"]


def bad_files(data: Path) -> dict[str, str]:
    """Files that cannot be used, and a part of what is said of each."""
    tone = read_sound(data / "tone0.wav").samples
    write(data / "rate.wav", tone, 16_000)
    write(data / "length.wav", tone[:, :-9])
    write(data / "nan.wav", np.where(np.arange(COUNT) == 5, np.nan, tone))
    (data / "truncated.wav").write_bytes((data / "tone0.wav").read_bytes()[:3000])
    (data / "disguised.wav").write_text("a poem")
    return {
        "rate": "4000 samples at 16000 Hz, its mixture 4000 at 8000 Hz", "length": "3991 samples", "nan": "not finite",
        "truncated": "truncated", "disguised": "no sound", "missing": "cannot be read",
    }  # fmt: skip


def test_bad_stems_cost_their_item_and_say_why(root: Path) -> None:
    data, message_of = root / "data", {}
    lines = [item(data, 1)]
    for name, text in bad_files(data).items():
        lines.append({**item(data, 0), "id": name, "truth": {"stem": f"{name}.wav"}})
        message_of[name] = text
    write_items(data, lines)
    suite_run = run(root, "smooth")
    assert {row[-1] for row in suite_run.tables["general"].rows if row[0] == "mine.smooth"} <= {
        "1 (5 failed)",
        "1 (6 failed)",
    }
    errors = {Path(str(row["path"])).stem: row["error"] for row in rows(root, "errors.jsonl")}
    for name, text in message_of.items():
        assert text in errors[name]


@pytest.mark.parametrize("kind", ["silent", "constant", "stereo", "short", "clipped"])
def test_unusual_sounds_are_scored_or_undefined(root: Path, kind: str) -> None:
    data = root / "data"
    row = item(data, 0)
    tone, noise = (read_sound(data / f"{name}0.wav").samples[0] for name in ("tone", "noise"))
    if kind == "silent":
        tone = np.zeros_like(tone)
    elif kind == "constant":
        tone = np.full_like(tone, 0.2)
    elif kind == "stereo":
        tone, noise = (np.stack([sound, 0.5 * sound]) for sound in (tone, noise))
    elif kind == "short":
        tone, noise = tone[:400], noise[:400]
    elif kind == "clipped":
        tone = np.clip(20 * tone, -0.9, 0.9)
    for name, samples in {"tone": tone, "noise": noise, "mixture": tone + noise}.items():
        write(data / f"{name}0.wav", samples)
    write_items(data, [row])
    suite_run = run(root, "smooth") if kind != "stereo" else run(root, "nmf")
    assert suite_run.summary.failed == 0
    overall = next(iter(values(root, suite_run.tables["general"].rows[0][0], "overall").values()))
    assert (overall is None) == (kind == "silent")
    assert ("Nothing told the tracks of nmf apart for 1 item" in suite_run.tables["general"].note) == (kind == "stereo")


def test_a_span_that_begins_after_the_mixture_costs_its_item(root: Path) -> None:
    data = root / "data"
    late = {**item(data, 0), "id": "late", "spans_s": [["+", 0.6, 0.9]]}
    write_items(data, [item(data, 1, spans_s=[["+", 0.1, 9.0]]), late])
    suite_run = run(root, "smooth")
    assert {row[-1] for row in suite_run.tables["general"].rows if row[0] == "mine.smooth"} == {"1 (1 failed)"}
    (error,) = rows(root, "errors.jsonl")
    assert error["error"].startswith(
        "a span '+' goes from 0.6 to 0.9 s, the mixture is 0.500 s long; it costs 4 requests"
    )


def test_a_picture_is_a_prompt_and_a_missing_one_an_error(root: Path) -> None:
    data = root / "data"
    write_frame(data / "dog.png", np.zeros((8, 8, 3), np.uint8))
    first = item(data, 0, video="dog.png", text=None)
    write_items(data, [first, {**first, "id": "lost", "video": "cat.png"}])
    suite_run = run(root, "smooth")
    assert [row["about"]["prompt"] for row in rows(root, "cases.jsonl")] == ["picture"]
    assert suite_run.summary.failed == 4
    assert any("cat.png" in str(row["path"]) for row in rows(root, "errors.jsonl"))


def test_no_model_no_data_and_an_unknown_separator_are_refused(root: Path) -> None:
    with pytest.raises(UsageError, match="no model"):
        run(root)
    with pytest.raises(UsageError, match="no separator"):
        run(root, "/nowhere/at/all")
    (root / "empty").mkdir()
    with pytest.raises(NothingToDo):
        run(root, "smooth", data=root / "empty")


@pytest.mark.slow
def test_the_command_line_runs_it(root: Path) -> None:
    completed = auscult(
        "run",
        "separation",
        "--model",
        "mixture",
        "--data",
        root / "data",
        "--out",
        root / "out",
        "--workers",
        1,
        "--json",
    )
    assert completed.code == 0, completed.err
    summary = json.loads(completed.out)
    assert summary["metrics"]["mixture/clean/clean/SI-SDRi"]["value"] == 0.0
    result = auscult(
        "run", "separation", "--model", "mixture", "--data", root / "data", "--out", root / "o", "--task", "x"
    )
    assert result.code == 2


@pytest.mark.slow
@pytest.mark.extra_sound
def test_mixtures_of_scenes_are_made_and_separated(root: Path) -> None:
    suite_run = run(root, "mixture", data="scenes", count=2, seed=1)
    assert suite_run.summary.n == 6
    assert len(rows(root, "cases.jsonl")) == 2


@pytest.mark.slow
@pytest.mark.extra_sound
def test_real_published_outputs_have_the_scores_that_their_readme_prints(data: Path, tmp_path: Path) -> None:
    source = data / "sound/separated"
    lines = [json.loads(line) for line in (source / "items.jsonl").read_text().splitlines()]
    published = [line for line in lines if line["family"] in {"tdcnpp", "labelsep"}]
    root = tmp_path / "data"
    for name in {line[key] for line in published for key in ("mixture", "target", "separated")}:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes((source / name).read_bytes())
    write_items(root, published)
    suite_run = run(tmp_path, str(root), data=root)
    printed_scores = {line["id"]: line["si_sdr"] for line in published}
    si_sdr_of = values(tmp_path, "predictions.data", "SI-SDR")
    assert len(si_sdr_of) == len(published) == 9
    assert np.median([abs(float(si_sdr_of[name] or 0) - value) for name, value in printed_scores.items()]) < 0.05
    assert [row[0] for row in suite_run.tables["families"].rows] == ["labelsep", "tdcnpp"]
    assert [row[2] for row in suite_run.tables["families"].rows] == ["3", "6"]


def test_an_output_that_comes_late_is_named(root: Path) -> None:
    (root / "late.py").write_text(
        "import numpy as np\ndef late(mixture, query, **_):\n    return np.roll(mixture, 80)\n"
    )
    suite_run = run(root, f"{root / 'late.py'}:late")
    assert "late.late: 1 output up to +10.0 ms beside the stem, scored as it lies." in suite_run.tables["general"].note
    late_answers = [
        row["answer"] for row in rows(root, "scores.jsonl") if (row["model"], row["id"]) == ("late.late", "m1/noise")
    ]
    assert {answer["delay_s"] for answer in late_answers} == {0.01}
