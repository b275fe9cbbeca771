"""Questions about a record: what is answered, what is refused, and what no query can reach."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="the extra `agent` is not installed")

from tests.suites.r2_compare.r2_records import case, conditions, record

from auscult.agent import views as views_module
from auscult.agent.questions import RecordAnswer, ask, committed_questions
from auscult.agent.views import RecordViews
from auscult.errors import UsageError
from auscult.suites.registered import run
from chat_server import completed, serving
from small_inputs import auscult

pytestmark = pytest.mark.extra_agent

CLIPS = 12
LOST = {"fog": {"small": 0.3, "large": 0.05}, "snow": {"small": 0.1, "large": 0.2}}
ODD = "mine.x'); DROP TABLE cases; --"


def value(model: str, condition: str, name: str) -> float:
    """A score that loses more to fog where the object is small, and more to snow where it is large."""
    clip, size = name.split("/")
    jitter = int(clip[4:]) % 4 / 100
    loss = LOST.get(condition.rpartition("_")[0], {}).get(size, 0.0) * (1 if condition.endswith("high") else 0.5)
    return round(0.7 + jitter - loss * (1 + jitter) - 0.2 * (model == "mine.weak"), 4)


def written_record(folder: Path, *models: str, without_fog: tuple[str, ...] = ()) -> Path:
    """A record of clips with a small and a large object each; requests about ``lost`` cases under fog have failed."""
    conditions_ = conditions("low", "high", "dynamic")
    names = [f"clip{index}/{size}" for index in range(CLIPS) for size in ("small", "large")]
    scores = {
        model: {
            condition.name: {
                name: value(model, condition.name, name)
                for name in names
                if name not in without_fog or not condition.name.startswith("fog")
            }
            for condition in conditions_
        }
        for model in (*models, "baseline.full_frame.v1")
    }
    record(folder, scores, cases=[case(name) for name in names], asked_conditions=conditions_)
    lines = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    parts = ("seen", "unseen")
    (folder / "cases.jsonl").write_text(
        "".join(
            json.dumps({**line, "size": [480, 640], "frames": 5, "split": parts[index % 2]}) + "\n"
            for index, line in enumerate(lines)
        )
    )
    rows = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    for row in rows:
        row |= {"both_px": 500 if row["id"].endswith("small") else 90_000, "either_px": 480 * 640}
    (folder / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def record_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_record(
        tmp_path_factory.mktemp("asked") / "out", "mine.strong", "mine.weak", without_fog=("clip0/small",)
    )


@pytest.fixture(scope="module")
def views(record_folder: Path) -> RecordViews:
    return RecordViews(record_folder)


@pytest.mark.parametrize("question", committed_questions())
def test_every_committed_question_is_taken_as_itself(record_folder: Path, views: RecordViews, question: str) -> None:
    named_question = question.replace("MODEL", "strong", 1).replace("MODEL", "weak", 1)
    answer = ask(record_folder, named_question)
    assert answer.answered
    assert answer.taken_as == question
    columns, rows = views.query(answer.sql)
    assert [row[0] for row in rows] == [row[0] for row in answer.rows], "its own SQL gives its table"
    assert set(columns) <= set(answer.columns)
    assert answer.sentence


def test_there_are_25() -> None:
    assert len(set(committed_questions())) == 25


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("which hurts small objects most?", "fog"),
        ("Which corruption damages tiny things most?", "fog"),
        ("which kind costs most for large objects at high", "snow"),
        ("which degradation costs strong least", "gaussian_noise"),
        ("does mine.weak beat mine.strong under snow?", "mine.strong"),
        ("do large objects lose more than small ones under snow", "large"),
        ("Which level costs most?", "high"),
        ("is dynamic stress worse than static", "constant"),
        ("how much does strong lose under snow at high", "high"),
        ("compare low and high", "high"),
        ("how good is strong on clean input", "mine.strong"),
    ],
)
def test_an_answer_is_what_the_record_says(record_folder: Path, question: str, first: str) -> None:
    answer = ask(record_folder, question)
    assert answer.rows[0][0] == first, answer
    assert first in answer.sentence


@pytest.mark.parametrize(
    ("question", "taken_as"),
    [
        ("what's the biggest weakness?", "Which perturbation hurts most?"),
        ("rank the perturbations by how bad they are", "Which perturbation hurts most?"),
        ("which corruption is harmless?", "Which perturbation hurts least?"),
        ("what is it most robust to?", "Which perturbation hurts least?"),
        ("what is worst for tiny objects?", "Which perturbation hurts small objects most?"),
        ("at the highest severity, what hurts most?", "Which kind costs most at high?"),
        ("which perturbation hurts most at full strength?", "Which kind costs most at high?"),  # of no full_frame
        ("are big objects safer than small ones?", "Do small objects lose more than large ones?"),
        ("does it get worse with higher levels?", "How much is lost at each level?"),
        ("what matters more, the picture or the text?", "Do pictures or sentences lose more when perturbed?"),
        ("does changing severity over time hurt more than a fixed one?", "Is dynamic stress worse than constant?"),
        ("what is difficult without any perturbation?", "Which cases are hard even when clean?"),
        ("average score on the original videos?", "What is the clean score?"),
        ("which of the two should I deploy?", "Which model is best?"),
        ("which model degrades more gracefully?", "Which model loses least?"),
        ("is strong better than weak in fog?", "Does MODEL beat MODEL on fog?"),
        ("at which level does weak fall apart?", "Where does MODEL break?"),
        ("what did you test?", "Which perturbations were tested?"),
        ("what sizes are the targets?", "How large are the objects?"),
        ("is there a gap between seen and unseen?", "Do seen and unseen clips differ?"),
        ("is there a perturbation the models shrug off?", "Which perturbation hurts least?"),  # asks for the first noun
        ("for each case, which perturbation is worst?", "Which perturbation hurts most?"),
        (
            "is corrupting the text worse than corrupting the image?",
            "Do pictures or sentences lose more when perturbed?",
        ),
        ("is strong more robust than weak?", "Which model loses least?"),
        ("at what severity does weak lose half of its performance?", "Where does MODEL break?"),
        ("were there any samples that could not be processed?", "Which cases fail?"),
        ("top three perturbations by loss", "Which perturbation hurts most?"),
        ("how does fog compare with snow?", "Which perturbation hurts most?"),
        ("what is J without perturbations?", "What is the clean score?"),
        ("how much worse is it at 5 than at 1?", "How much is lost at each level?"),
    ],
)
def test_other_words_for_a_question_will_do(record_folder: Path, question: str, taken_as: str) -> None:
    assert ask(record_folder, question).taken_as == taken_as


@pytest.mark.parametrize(
    ("question", "metric"),
    [("how good are the outlines of weak on clean input?", "F"), ("which model has the best region quality", "J")],
)
def test_a_metric_may_be_called_by_what_it_measures(record_folder: Path, question: str, metric: str) -> None:
    answer = ask(record_folder, question)
    assert answer.notes[0].startswith(f"Of {metric};"), answer


@pytest.mark.slow
def test_a_record_of_rris_is_asked_as_well(tmp_path: Path) -> None:
    run("rris", data="scenes", count=1, models="lexicon", workers=0, out=tmp_path)
    for question in committed_questions():
        answer = ask(tmp_path, question.replace("MODEL", "lexicon", 1))
        assert answer.answered or "not tested: fog" in answer.sentence, question  # rris perturbs nothing
    row = ask(tmp_path, "how many cases are there?").rows[0]
    assert row[:3] == (len((tmp_path / "cases.jsonl").read_text().splitlines()), 1, 1)
    assert ask(tmp_path, "which kind of negation is worst?").taken_as.startswith("Which kind of negation")
    assert all(low >= 0 for _, _, low, *_ in ask(tmp_path, "which model is slowest?").rows if low is not None)


@pytest.mark.parametrize(
    "question",
    [
        "what is the capital of France?",
        "who wrote this?",
        "how much does it cost to run this on a GPU?",
        "how much memory does weak use?",
        "hurt me",
    ],
)
def test_what_a_record_does_not_hold_is_not_answered(record_folder: Path, question: str) -> None:
    assert not ask(record_folder, question).answered


def test_a_mean_is_that_of_the_scores_with_its_interval_by_clips(record_folder: Path) -> None:
    (row,) = (row for row in ask(record_folder, "which hurts large objects most at high?").rows if row[0] == "snow")
    names = [f"clip{index}/large" for index in range(CLIPS)]
    changes = [value("mine.strong", "snow_high", name) - value("mine.strong", "clean", name) for name in names]
    mean, low, high, n, clips = row[1:]
    assert mean == pytest.approx(sum(changes) / len(changes), abs=1e-5)
    assert low < mean < high < 0
    assert (n, clips) == (2 * CLIPS, CLIPS)


def test_what_is_not_apart_is_no_difference(tmp_path: Path) -> None:
    equal_record = written_record(tmp_path / "out", "mine.one", "mine.two")
    answer = ask(equal_record, "does one beat two on fog?")
    assert "no difference shown" in answer.sentence
    assert (
        "no difference from clean is shown"
        in ask(equal_record, "which level costs most under gaussian noise?").sentence
    )
    size_answer = ask(equal_record, "which perturbation hurts small objects most?")
    assert "no difference" not in size_answer.sentence


def test_means_over_other_levels_are_told_apart(tmp_path: Path) -> None:
    asked = tuple(one for one in conditions("low", "high") if one.name != "snow_low")
    names = [f"clip{index}/large" for index in range(2)]
    scores = {"mine.odd": {one.name: {name: value("mine.odd", one.name, name) for name in names} for one in asked}}
    record(tmp_path / "out", scores, cases=[case(name) for name in names], asked_conditions=asked)
    told = "Not all at the same levels: fog at low, high; gaussian_noise at low, high; snow at high."
    assert told in ask(tmp_path / "out", "which perturbation hurts most?").notes
    assert told not in ask(tmp_path / "out", "which perturbation hurts most at high?").notes


def test_a_bare_number_is_a_level_only_beside_another_or_its_word(tmp_path: Path) -> None:
    asked, names = conditions("2", "5"), [f"clip{index}/large" for index in range(2)]
    scores = {"mine.odd": {one.name: {name: value("mine.odd", one.name, name) for name in names} for one in asked}}
    record(tmp_path / "out", scores, cases=[case(name) for name in names], asked_conditions=asked)
    for question in ("how much is lost between severity 2 and 5?", "is level 2 worse than 5?"):
        answer = ask(tmp_path / "out", question)
        assert {row[0] for row in answer.rows} == {"2", "high"}, question
    assert "level IN" not in ask(tmp_path / "out", "the 2 clips that lose most").sql


def test_a_gain_is_not_said_to_cost_most(tmp_path: Path) -> None:
    conditions_, names = conditions("high"), [f"clip{index}/one" for index in range(CLIPS)]
    scores = {
        "mine.odd": {
            condition.name: dict.fromkeys(names, 0.5 if condition.name == "clean" else 0.6) for condition in conditions_
        }
    }
    for index, name in enumerate(names):
        scores["mine.odd"]["clean"][name] -= index / 1000
    record(tmp_path / "out", scores, cases=[case(name) for name in names], asked_conditions=conditions_)
    answer = ask(tmp_path / "out", "which perturbation hurts most?")
    assert answer.rows[0][2] > 0
    assert "costs most" not in answer.sentence
    assert "gain" in answer.sentence


@pytest.mark.parametrize(
    "question",
    [
        "why is the sky blue",
        "Which perturbation does not hurt most?",
        "Which perturbation except fog hurts most?",
        "drop table cases",
        "¿Qué perturbación cuesta más?",
        "?",
    ],
)
def test_what_is_not_among_them_says_what_can_be_asked(record_folder: Path, question: str) -> None:
    answer = ask(record_folder, question)
    assert not answer.answered
    assert {row[0] for row in answer.rows} == set(committed_questions())
    assert answer.sql == ""


def test_what_was_not_used_is_said(record_folder: Path) -> None:
    assert any("umbrella" in note for note in ask(record_folder, "Which perturbation hurts the umbrella most?").notes)
    assert any("fog" in note for note in ask(record_folder, "How large are the objects in fog?").notes)


@pytest.mark.parametrize(
    ("question", "cause"),
    [
        ("Which perturbations were left out?", "excludes"),
        ("What is the median loss per perturbation?", "another statistic"),
        ("Which metric suffers most?", "metrics"),
        ("Does F drop more than J?", "several metrics"),
        ("What seed was used?", "seed"),
        ("Do long clips lose more than short ones?", "short"),
        ("How many frames does the longest clip have?", "long"),
        ("How long did it take in total?", "total"),
        ("How many cases lose more than half under fog?", "counts"),
        ("How many cases score 0?", "with a number"),
        ("Which clips lose over 10 points?", "with a number"),
        ("Which severity hurts the least?", "levels"),
        ("What is the lowest score at high?", "lowest"),
        ("What is the average change over all perturbations?", "one number"),
        ("Is there any perturbation that helps?", "helps"),
        ("How many small objects are there?", "not understood"),
    ],
)
def test_another_question_is_not_answered_in_its_place(record_folder: Path, question: str, cause: str) -> None:
    answer = ask(record_folder, question)
    assert not answer.answered
    assert cause in answer.sentence


def test_the_second_worst_is_no_question_about_seconds(record_folder: Path) -> None:
    answer = ask(record_folder, "Which is the second worst perturbation?")
    assert answer.taken_as == "Which perturbation hurts most?"
    assert any("second" in note for note in answer.notes)


def test_what_was_not_tested_is_not_answered_by_what_was(record_folder: Path) -> None:
    answer = ask(record_folder, "how robust is strong to motion blur?")
    assert (answer.sentence, answer.rows) == ("Not tested in this record: motion_blur.", ())
    answer = ask(record_folder, "does fog hurt more than glass blur?")
    assert [row[0] for row in answer.rows] == ["fog"]
    assert "Not tested in this record: glass_blur." in answer.notes
    assert "compression" in ask(record_folder, "How much is lost to compression?").sentence
    assert ask(record_folder, "Is strong robust to spelling mistakes?").sentence.startswith("Not tested")


def test_a_group_of_perturbations_means_those_that_were_tested(record_folder: Path) -> None:
    assert {row[0] for row in ask(record_folder, "which weather hurts most?").rows} == {"fog", "snow"}
    assert {row[0] for row in ask(record_folder, "Does noise hurt more than fog?").rows} == {"gaussian_noise", "fog"}
    assert {row[0] for row in ask(record_folder, "Which of the two noises is worse?").rows} == {"gaussian_noise"}


def test_a_perturbation_may_be_called_by_another_word_and_its_room(record_folder: Path) -> None:
    assert {row[0] for row in ask(record_folder, "is haze worse than falling snow?").rows} == {"fog", "snow"}
    assert {row[0] for row in ask(record_folder, "which visual perturbation hurts most?").rows} >= {"fog", "snow"}
    assert ask(record_folder, "which sound perturbation hurts most?").rows == ()


def test_a_mean_has_one_interval_whatever_stands_beside_it(record_folder: Path) -> None:
    answers = [ask(record_folder, f"which {what} hurts least?").rows for what in ("perturbation", "weather")]
    assert [next(row for row in rows if row[0] == "fog") for rows in answers] == [answers[0][-1]] * 2


def test_failures_are_counted_and_in_no_mean(record_folder: Path) -> None:
    answer = ask(record_folder, "how many requests failed and why?")
    assert answer.rows[0][:1] == ("no answer",)
    assert answer.rows[0][2:] == (9, 1)
    assert ask(record_folder, "Which cases fail?").rows[0][0] == "clip0/small"
    fog = ask(record_folder, "Which perturbation hurts small objects most?").rows[0]
    assert fog[4] == 2 * (CLIPS - 1)


def test_a_study_is_asked_by_its_run(tmp_path: Path) -> None:
    written_record(tmp_path / "study" / "run", ODD)
    answer = ask(tmp_path / "study", f"which perturbation costs {ODD} most?")
    assert answer.rows[0][0] == "fog", "a hostile name is text"
    assert ODD.replace("'", "''") in answer.sql


HOSTILE = (
    "DROP TABLE cases",
    "INSERT INTO models VALUES ('x', true)",
    "UPDATE models SET baseline = true",
    "DELETE FROM raw_results",
    "CREATE TABLE x AS SELECT 1",
    "SELECT 1; SELECT 2",
    "SELECT * FROM cases; DROP TABLE cases",
    "COPY cases TO 'out.csv'",
    "COPY (SELECT 1) TO '/tmp/x.csv'",
    "ATTACH 'x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET lock_configuration = false",
    "RESET memory_limit",
    "CALL pragma_version()",
    "EXPLAIN SELECT 1",
    "EXPORT DATABASE 'x'",
    "SHOW TABLES",
    "DESCRIBE cases",
    "SUMMARIZE cases",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'https://example.org/x.parquet'",
    "SELECT * FROM glob('*')",
    "SELECT * FROM range(1000000000000)",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM raw_results",
    "SELECT * FROM memory.main.cases",
    "SELECT getenv('HOME')",
    "SELECT current_setting('memory_limit')",
    "SELECT version()",
    "SELECT repeat('x', 1000000000)",
    "SELECT query('SELECT 1')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('raw_results')",
    "SELECT list_transform([1], x -> x)",
    "SELECT COLUMNS(c -> true) FROM cases",
    "WITH x AS (INSERT INTO models VALUES ('x', true) RETURNING *) SELECT * FROM x",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    "SELECT * FROM duckdb_tables, (WITH duckdb_tables AS (SELECT 1) SELECT * FROM duckdb_tables)",
    "WITH raw_results AS (SELECT * FROM raw_results) SELECT * FROM raw_results",
    "SELECT * FROM (SELECT * FROM (SELECT * FROM raw_failures))",
    "SELECT (SELECT count(*) FROM raw_asked)",
    "SELECT id FROM cases WHERE id IN (SELECT id FROM raw_cases)",
    "PIVOT cases ON size USING count(*)",
    "SELECT nextval('x')",
    "SELECT * FROM scores TABLESAMPLE 10%",
    "SELECT main.getenv('HOME')",
    "SELECT $1",
    "SELECT " + "(" * 300 + "1" + ")" * 300,
    "SELECT '" + "x" * 5000 + "'",
    "SELECT " + "(SELECT " * 400 + "1" + ")" * 400,
    "SELECT 1" + "+1" * 1500,
    "SELECT " + "NOT " * 900 + "true",
    "",
    "not SQL at all",
    "SELECT '\ud800'; DROP TABLE cases",
)


@pytest.mark.parametrize("sql", HOSTILE, ids=range(len(HOSTILE)))
def test_a_query_that_is_more_than_a_select_is_refused(views: RecordViews, sql: str) -> None:
    with pytest.raises(UsageError):
        views.query(sql)
    assert views.query("SELECT count(*) FROM cases")[1] == [(2 * CLIPS,)]


@pytest.mark.parametrize(
    "sql",
    [
        "WITH t AS (FROM scores), u AS (FROM t) SELECT kind, avg(value) FROM u GROUP BY ALL HAVING count(*) > 3",
        "SELECT id FROM cases WHERE size = 'small' UNION SELECT model FROM models ORDER BY 1 LIMIT 3",
        "SELECT CASE WHEN value > 0.5 THEN 'a' END AS x, count(*) FILTER (WHERE value > 0) FROM scores GROUP BY x",
        "SELECT kind, avg(value) FROM changes GROUP BY kind QUALIFY rank() OVER (ORDER BY kind) < 3",
        "SELECT * EXCLUDE (text) FROM cases WHERE id LIKE 'clip1%' AND EXISTS (SELECT 1 FROM failures)",
    ],
)
def test_a_plain_query_runs(views: RecordViews, sql: str) -> None:
    assert views.query(sql)[1]


def test_half_a_letter_is_no_crash(record_folder: Path, views: RecordViews) -> None:
    assert views.query("SELECT '\ud800' AS x")[1] == [("?",)]
    assert not ask(record_folder, "what is \udcff?").answered


def test_a_digit_that_is_no_number_is_no_crash(record_folder: Path) -> None:
    answer = ask(record_folder, "what are the \u00b2 \u2461 umbrellas?")
    assert not answer.answered


def test_a_query_is_bounded_in_rows_and_seconds(views: RecordViews, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(views.query("SELECT a.id FROM scores a, models b", most_rows=10)[1]) == 11
    monkeypatch.setattr(views_module, "MOST_SECONDS", 0.1)
    with pytest.raises(UsageError, match=r"longer than 0\.1 s"):
        views.query("SELECT sum(a.value * b.value * c.value) FROM scores a, scores b, scores c, scores d")
    assert views.query("SELECT count(*) FROM models")[1] == [(3,)], "it goes on after that"


def test_the_command_prints_answer_table_and_query(record_folder: Path) -> None:
    result = auscult("ask", record_folder, "which hurts small objects most?")
    assert (result.code, "fog costs these objects most" in result.out, "SELECT name" in result.out) == (0, True, True)
    as_json = json.loads(auscult("ask", record_folder, "which hurts small objects most?", "--json").out)
    assert as_json["rows"][0][0] == "fog"
    assert auscult("ask", record_folder, "why is the sky blue").code == 2


@pytest.mark.parametrize("question", ["", "   ", "x" * 1001])
def test_no_question_and_a_novel_are_refused(record_folder: Path, question: str) -> None:
    with pytest.raises(UsageError, match="letters"):
        ask(record_folder, question)


def test_without_the_extra_it_says_so(record_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views_module, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="the extra `agent`"):
        ask(record_folder, "which perturbation hurts most?")


def written_by(record_path: Path, *replies: str) -> tuple[RecordAnswer, list[str]]:
    """The answer by a model that replies so, and what it was sent."""
    pytest.importorskip("openai", reason="the extra `chat` is not installed")
    with serving(lambda number, _: completed(replies[min(number, len(replies) - 1)])) as server:
        answer = ask(record_path, "which perturbation hurts small objects most?", llm="m", base_url=server.url)
        return answer, [body["messages"][-1]["content"] for body in server.bodies]


@pytest.mark.slow
def test_a_model_writes_the_query_and_sees_no_row(record_folder: Path) -> None:
    thought = "<think>\n```sql\nDROP TABLE cases\n```\n</think>"
    query = "SELECT kind, count(*) AS n FROM changes GROUP BY kind;"
    answer, prompts = written_by(record_folder, f"{thought}Here:\n```sql\n{query}\n```")
    assert answer.columns == ("kind", "n")
    assert answer.taken_as == ""
    assert "chat.m wrote the query" in answer.notes[0]
    assert "gaussian_noise" in prompts[0]
    assert "clip1/" not in prompts[0]


@pytest.mark.slow
def test_a_refused_query_is_asked_for_once_more_then_the_committed_question_answers(record_folder: Path) -> None:
    answer, prompts = written_by(record_folder, "DROP TABLE cases", "SELECT count(*) AS n FROM cases")
    assert answer.rows == ((2 * CLIPS,),)
    assert len(prompts) == 2
    answer, prompts = written_by(record_folder, "SELECT * FROM read_csv('/etc/passwd')")
    assert answer.rows[0][0] == "fog"
    assert "no query that may run" in answer.notes[0]
    assert len(prompts) == 2


def test_the_page_has_every_question() -> None:
    page = (Path(__file__).parents[2] / "docs" / "agent-questions.md").read_text("utf-8")
    questions = (
        question.replace("MODEL", "refsegformer_small", 1).replace("MODEL", "lexicon", 1)
        for question in committed_questions()
    )
    assert [question for question in questions if f"| {question} |" not in page] == []
