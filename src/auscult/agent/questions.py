"""``auscult ask``: a question about a record, answered by one read-only query that is shown with its table.

Without a language model a question is matched, word by word, to one of the questions in ``questions.json``: either
a ranking of means (``by``, ``of``) or a query of its own (``sql``). Intervals of means draw clips, and a difference
whose interval holds 0 reads "no difference shown".
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.agent.knowledge.situations import raw, terms
from auscult.agent.replies import prompt
from auscult.agent.views import MOST_ROWS, RecordViews, Row
from auscult.errors import InputError, UsageError
from auscult.language.lexicon import stem
from auscult.record.folder import MANIFEST
from auscult.rng import generator
from auscult.score.stats.change import Value, mean_ratio, ratio_change
from auscult.score.stats.few_clusters import CORRELATION, GAP, SHARE
from auscult.shipped import read_shipped
from auscult.stress.recipe_parts import base_of, registered
from auscult.suites.core.numbers import minus
from auscult.work.chat.replies import after_thought

_MOST_LETTERS: Final = 1000
_MOST_REPLY: Final = 20_000
_FEW_CLIPS: Final = 20
_ALONE: Final = "room <> ''"  # perturbations alone, no mixes
_EXCLUDES: Final = "it excludes something"
_TWO_LEVELS: Final = re.compile(
    r"\b(?:level|severity|severitie|strength|at)s? (\w+(?: worse| more)?) (and|or|to|than|vs|versus)(?: at)? (?=\d\b)",
    re.IGNORECASE,
)

_TABLES: Final = read_shipped("agent/questions.json")
_STEMS: Final = {name: {*map(stem, words.split())} for name, words in _TABLES["words"].items()}
_GROUPED: Final = frozenset(term for line in raw()["groups"].values() for term in terms(line["terms"]))
_Form: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAnswer:
    """An answer from a record."""

    question: str = ""
    # False where it is none of the committed questions; ``rows`` are then those, the nearest first
    answered: bool = True
    taken_as: str = ""  # the question of the file that it matched; empty if a language model wrote the query
    sql: str = ""  # gives the table, except ``low`` and ``high``, 95 % intervals that draw clips
    columns: tuple[str, ...] = ()  # of the table
    rows: tuple[Row, ...] = ()  # scores and changes in the units of the record, times in seconds
    sentence: str = ""  # the answer in words; shares in percent, changes of them in points
    notes: tuple[str, ...] = ()  # on how to read the answer


def committed_questions() -> tuple[str, ...]:
    """The questions that are answered without a language model; MODEL stands for a model's name."""
    return tuple(form["question"] for form in _TABLES["forms"])


def ask(
    folder: Path | str, question: str, *, llm: str = "", base_url: str = "", profile: Path | None = None
) -> RecordAnswer:
    """Answer a question from a record; nothing is written, and no model under test is asked.

    Args:
        folder: A study of ``auscult agent``, or a record of ``auscult run``.
        question: In plain words, 1,000 letters at most.
        llm: A language model behind an endpoint, which then writes the query; it is shown the names of columns, models,
            metrics and kinds, and no row.
        base_url: Where it answers.
        profile: What it takes and how, a file.

    Raises:
        UsageError: The question is empty or too long, the extra ``agent`` is missing, or the model cannot be asked.
        RecordError: The folder is no record, or is damaged.
    """
    if not question.strip() or len(question) > _MOST_LETTERS:
        raise UsageError(f"the question has {len(question)} letters", expected=f"1 to {_MOST_LETTERS}")
    inner = Path(folder) / "run"
    views = RecordViews(inner if (inner / MANIFEST).is_file() else Path(folder))
    written = _written(views, question, llm=llm, base_url=base_url, profile=profile) if llm else ""
    if isinstance(written, RecordAnswer):
        return written
    answer = _matched(views, question)
    return replace(answer, notes=(written, *answer.notes)) if written else answer


@dataclass(slots=True)
class _Question:
    """A parsed question: its words, the values it filters by, what is unknown or absent, and the entity it asks for."""

    words: set[str] = field(default_factory=set)
    filters: dict[str, list[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # perturbations that it names and the record does not hold
    entity: str = ""
    refusal: str = ""  # why no query of the file can answer it
    limit: int = 0


def _read(views: RecordViews, question: str) -> _Question:
    parsed, which_count = _Question(), 0
    remaining = _TWO_LEVELS.sub(r"severity \1 \2 severity ", question)  # "severity 2 and 5"
    # longest first; ids and clips may be many, so only those in the question
    clause = f"key NOT IN ('id', 'clip') OR contains({_quoted(question)}, name)"
    names = views.query(f"FROM names WHERE {clause} ORDER BY length(name) DESC, key, name", most_rows=1 << 20)[1]
    models = [row for row in names if row[0] == "model"]
    for meaning, phrase in _TABLES["phrases"].items():
        remaining, times = re.subn(rf"\b(?:{phrase})\b", " ", remaining, flags=re.IGNORECASE)
        parsed.words |= set(meaning.split()) if times else set()
    tested = views.query("SELECT model FROM models WHERE NOT baseline", most_rows=1 << 20)[1]
    # models under test only: "at full strength" is not about baseline.full_frame
    first_words = Counter(_first_word(name) for (name,) in tested)
    known_names = {tuple(row) for row in names}
    rooms = {str(kind): str(room) for kind, room in views.query("SELECT DISTINCT kind, room FROM conditions")[1]}
    spelled_ones = [entry for entry in _TABLES["spelled"] if entry[0] != "metric" or tuple(entry[:2]) in known_names]
    for key, name, *spelled in (*models, *spelled_ones, *names):
        has_first_word = first_words[_first_word(name)] == 1
        pattern = _pattern_of(key, name, room=rooms.get(name, ""), has_first_word=has_first_word)
        remaining, times = _without(spelled[0] if spelled else pattern, remaining)
        if times and name not in parsed.filters.get(key, ()):
            parsed.filters.setdefault(key, []).append(name)
            parsed.words |= {f"{key.upper()}{len(parsed.filters[key])}", name.lower()}
    remaining = _read_absent(parsed, remaining, {name for key, name in known_names if key == "kind"})
    for word in re.findall(r"[^\W\d_]+(?:'t)?|\d+", remaining.lower()):
        meant = _meanings(word)
        parsed.words |= meant
        which_count += "which" in meant
        noun = next((entity for entity in _TABLES["entities"] if entity in meant), "")
        # "for each case, which perturbation" asks for a perturbation
        if noun and (not parsed.entity or which_count == 1):
            parsed.entity, which_count = noun, 2 * which_count
        if word.isdecimal() or word in _TABLES["numbers"]:
            parsed.limit = max(1, min(_TABLES["numbers"].get(word) or int(word[:3]), 100))
        elif word in _TABLES["negations"].split() or word.endswith("n't"):
            parsed.refusal = _EXCLUDES
        elif not meant and word not in _TABLES["ignored"].split():
            parsed.unknown.append(word)
    named = [room for room, words in _TABLES["rooms"].items() if _has("|".join(words.split()), remaining)]
    compares = _has("rooms?|modalit(?:y|ies)|than|versus|vs|or", question)
    if len(named) == 1 and (parsed.entity == "perturbation" or not compares):  # "which sound perturbation"
        parsed.filters["room"] = named
        parsed.words.discard("room")
    parsed.refusal = parsed.refusal or _refusal(parsed, question)
    return parsed


def _pattern_of(key: str, name: str, *, room: str, has_first_word: bool) -> str:
    """A pattern for a name: of a model also without room and version, of a perturbation in other words too."""
    if key == "level" and name[0].isdecimal():  # not "the 2 clips that lose most"
        return rf"(?:level|severity|strength|at|than) {re.escape(name)}(?! ?(?:%|points?|fps|hz|clips?|cases?))"
    variants = {name}
    if key == "model":
        variants |= {*name.split(".")[1:2], *([_first_word(name)] if has_first_word else [])}
    elif key == "kind":
        variants |= _other_words(f"{room}.{name.rpartition('.')[2]}")
    return _spelling(variants)


def _refusal(parsed: _Question, question: str) -> str:
    """Why no query of the file can answer a question, besides excluding something; empty if one may."""
    if cause := next((cause for cause, phrase in _TABLES["refused"].items() if _has(phrase, question)), ""):
        return cause
    if len(parsed.filters.get("metric", ())) > 1:
        return "it names several metrics, and a mean is of one"
    asked = re.search(r"\b(?:which|what)\s+(\w+)", question.lower())
    # "what seed was used" is about a seed, and no question of the file is
    is_foreign = asked is not None and not parsed.entity and asked[1] in parsed.unknown
    return f"not understood: {asked[1]}" if asked is not None and is_foreign else ""


def _read_absent(parsed: _Question, remaining: str, tested: set[str]) -> str:
    """Read names of perturbations that were not tested, and of groups of them; returns what remains of the question."""
    names = {base_of(name) for name in registered()} - tested
    # "contrast" may be a verb, unless it was tested
    names = {name for name in names if not _meanings(name)}
    for name in sorted(names, key=lambda entry: (-len(entry), entry)):
        remaining, times = _without(_spelling({name, *_other_words(name)}), remaining)
        parsed.absent += [name] if times else []
    for spelling, members in _TABLES["groups"]:
        found = [name for name in sorted(tested) if name.rpartition(".")[2] in members.split()]
        group = re.search(rf"\b(?:{spelling})\b", remaining, re.IGNORECASE)
        if group is None:
            continue
        remaining = _without(spelling, remaining)[0]
        kinds = parsed.filters.setdefault("kind", []) if found else []
        kinds += [name for name in found if name not in kinds]
        parsed.absent += [] if found else [group[0].lower()]
    named = len(parsed.filters.get("kind", ())) + len(parsed.absent)
    parsed.words |= {f"KIND{index + 1}" for index in range(named)}
    return remaining


@cache
def _other_words(kind: str) -> set[str]:
    """Other words for a perturbation, by the knowledge base: *typos* for misspelling; none that mean two.

    Without its room, none for a name that two rooms have.
    """
    lines = {name: terms(line["terms"]) for name, line in raw()["kinds"].items()}
    meant = [name for name in lines if kind in (name, name.partition(".")[2])]
    shared = Counter(term for line in lines.values() for term in line)
    own = lines[meant[0]] if len(meant) == 1 else ()
    return {term for term in own if shared[term] == 1 and not _meanings(term) and term not in _GROUPED}


def _spelling(variants: set[str]) -> str:
    """A pattern for one of these, the longest first, with spaces or dashes for underscores too."""
    return "|".join(re.escape(one).replace("_", "[ _-]") for one in sorted(variants, key=lambda one: (-len(one), one)))


def _without(phrase: str, text: str) -> tuple[str, int]:
    """The text without a phrase, and how often it had it."""
    return re.subn(rf"(?<![\w&'])(?:{phrase})(?![\w&])", " ", text, flags=re.IGNORECASE)


def _has(phrase: str, text: str) -> bool:
    return re.search(rf"\b(?:{phrase})\b", text, re.IGNORECASE) is not None


def _meanings(word: str) -> set[str]:
    """The meanings of a word in the table; else those of other words with its stem."""
    if word in _TABLES["ordinals"].split():  # "the second worst", not seconds
        return set()
    meanings = {name for name, words in _TABLES["words"].items() if word in words.split()}
    is_known = meanings or word in f"{_TABLES['ignored']} {_TABLES['negations']}".split() or word in _TABLES["numbers"]
    return meanings if is_known else {name for name, stems in _STEMS.items() if stem(word) in stems}


def _first_word(name: str) -> str:
    """The first word of a model's name: ``refsegformer`` of ``trained.refsegformer_small.v1``."""
    return name.partition(".v")[0].rpartition(".")[2].partition("_")[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _matched(views: RecordViews, question: str) -> RecordAnswer:
    """The answer by the question of the file that matches; the one with the most words, if several do."""
    parsed, forms, entities = _read(views, question), _TABLES["forms"], _TABLES["entities"]
    met = [
        sum(bool(parsed.words & set(one.split("|"))) for one in form["words"]) / len(form["words"]) for form in forms
    ]
    for_asked = [form for form in forms if parsed.entity and form.get("by") == entities[parsed.entity]]
    other = parsed.words - {*entities, "object"}  # "which perturbation hurts the model" is no question about models
    complete = [
        form
        for form, share in zip(forms, met, strict=True)
        if share == 1
        and ("metric" not in parsed.filters or "metric" in _TABLES["columns"][form["of"]])
        and not (other if form in for_asked else parsed.words).intersection(form.get("unless", "").split("|"))
    ]
    if not complete or parsed.refusal or len(parsed.unknown) >= len(parsed.words):
        return _refused(parsed, question, met=met)
    form = max(complete, key=lambda entry: (entry in for_asked, len(entry["words"])))
    usable = set(_TABLES["columns"][form["of"]].split()) - {form.get("drop")}
    is_untested = bool(parsed.absent) and "kind" in usable and "kind" not in parsed.filters
    if is_untested:
        parsed.filters["kind"] = parsed.absent
    idle = [
        value for key, values in parsed.filters.items() for value in values if key not in {*usable, form.get("drop")}
    ]
    parsed.filters = {key: values for key, values in parsed.filters.items() if key in usable}
    answer = (_ranked if "by" in form else _listed)(views, form, parsed)
    absent = f"Not tested in this record: {', '.join(parsed.absent)}." if parsed.absent else ""
    answer = replace(answer, sentence=absent) if is_untested else answer
    notes = [absent] if absent and not is_untested else []
    notes += [f"Not narrowed to {', '.join(idle)}: the answer is of all."] if idle else []
    notes += [f"Not used of the question: {', '.join(parsed.unknown[:9])}."] if parsed.unknown else []
    return replace(answer, question=question, taken_as=form["question"], notes=(*answer.notes, *notes))


def _refused(parsed: _Question, question: str, *, met: Sequence[float]) -> RecordAnswer:
    """The answer that says why there is none, and what can be asked; ``met`` is the share of each form's words."""
    forms = _TABLES["forms"]
    nearest = [forms[index]["question"] for index in sorted(range(len(forms)), key=lambda index: -met[index])]
    unknown = ", ".join(parsed.unknown[:5]) or "what of"
    untested = f"not tested: {', '.join(parsed.absent)}" if parsed.absent else ""
    cause = parsed.refusal or untested or f"not understood: {unknown}"
    text = f"This is none of the {len(forms)} questions answered without a model ({cause}). Nearest:"
    return RecordAnswer(
        question=question,
        answered=False,
        columns=("what can be asked",),
        rows=tuple((entry,) for entry in nearest),
        sentence=f"{text} {' '.join(nearest[:3])}",
    )


def _where(views: RecordViews, form: _Form, parsed: _Question) -> str:
    is_named = form.get("where") == _ALONE and "kind" in parsed.filters  # a mix may be asked for by its name
    parts = [form["where"]] if "where" in form and not is_named else []
    parts += [f"{key} IN ({', '.join(map(_quoted, values))})" for key, values in parsed.filters.items()]
    if form["of"] in {"scores", "changes"} and "metric" not in parsed.filters:
        parts.append(f"metric = {_quoted(views.task.main)}")
    if form["of"] in {"scores", "changes", "requests"} and "model" not in parsed.filters:
        parts.append("NOT baseline")
    if form.get("clean") and not parsed.filters.keys() & {"kind", "level"}:
        parts.append("condition = 'clean'")
    if form["of"] == "changes" and "level" not in parsed.filters and "level" not in form.get("by", ""):
        parts.append("level <> 'dynamic'")
    return " AND ".join(parts) or "TRUE"


def _listed(views: RecordViews, form: _Form, parsed: _Question) -> RecordAnswer:
    sql = form["sql"].replace("{where}", _where(views, form, parsed)).replace("{limit}", str(parsed.limit or 20))
    columns, rows = views.query(sql)
    says = form["says"].format(*rows[0], n=len(rows)) if rows else form.get("none", _TABLES["none"])
    return RecordAnswer(sql=sql, columns=columns, rows=tuple(rows), sentence=says)


def _ranked(views: RecordViews, form: _Form, parsed: _Question) -> RecordAnswer:
    by, of, of_what = form["by"], form["of"], form.get("value", "value")
    pair = "id" if by == "model" else "concat(id, ' ', model)"
    inner = (
        f"SELECT {by} AS name, {pair} AS pair, clip, "  # noqa: S608
        f"avg({of_what}) AS value FROM {of} WHERE {of_what} IS NOT NULL AND {_where(views, form, parsed)} GROUP BY ALL"
    )
    sql = (
        f"SELECT name, avg(value) AS mean, count(*) AS n, count(DISTINCT clip) AS clips FROM ({inner}) GROUP BY name "  # noqa: S608
        f"ORDER BY mean {form['order']}, name LIMIT {parsed.limit or (5 if by in {'id', 'clip'} else 20)}"
    )
    metric = parsed.filters.get("metric", [views.task.main])[0]
    unit = form.get("unit") or ("" if metric in views.task.ranges else "points" if of == "changes" else "%")
    values, clips = dict[str, dict[Any, Value]](), dict[Any, str]()
    for name, key, clip, value in views.query(inner, most_rows=1 << 20)[1]:
        values.setdefault(name, {})[key] = value
        clips[key] = clip

    def sampling() -> dict[str, Any]:  # drawn anew for each row, so that a row has one interval whatever is beside it
        return {"clusters": clips, "rng": generator(views.seed, "ask")}

    table = [(row, values[row[0]]) for row in views.query(sql)[1]]
    within, gap_range = {"%": (SHARE, CORRELATION), "points": (CORRELATION, GAP)}.get(unit, (None, None))
    means = (mean_ratio(scores, within=within, **sampling()) for _, scores in table)
    rows = tuple((*row[:2], *_bounds(mean, unit), *row[2:]) for (row, _), mean in zip(table, means, strict=True))
    gap = _gap(table[0][1], table[1][1], {**sampling(), "within": gap_range}) if len(rows) > 1 else None
    return RecordAnswer(
        sql=sql,
        columns=("name", "mean", "low", "high", "n", "clips"),
        rows=rows,
        sentence=_sentence(form, rows, unit=unit, difference=gap) if rows else _TABLES["none"],
        notes=(
            *(_notes(views, rows, "seconds" if unit == "s" else metric) if rows else ()),
            *(_uneven(views, _where(views, form, parsed)) if (by, of) == ("kind", "changes") else ()),
        ),
    )


def _uneven(views: RecordViews, where: str) -> Iterator[str]:
    """That the means of perturbations are over different levels."""
    levels = dict[str, list[str]]()
    sql = f"SELECT DISTINCT kind, level, strength FROM changes WHERE {where} ORDER BY kind, strength, level"  # noqa: S608
    for kind, level, _ in views.query(sql)[1]:
        levels.setdefault(kind, []).append(level)
    if len({tuple(names) for names in levels.values()}) > 1:
        texts = (f"{kind} at {', '.join(names)}" for kind, names in levels.items())
        yield f"Not all at the same levels: {'; '.join(texts)}."


def _gap(first: Mapping[Any, Value], second: Mapping[Any, Value], draws: Mapping[str, Any]) -> Any:
    """The mean of the first minus that of the second: paired, or over all values where no key is shared."""
    if paired := {key: minus(first[key], second[key]) for key in first if key in second}:
        return mean_ratio(paired, **draws)
    keys = [*first, *second]
    parts = [
        ({key: side.get(key, 0.0) for key in keys}, {key: float(key in side) for key in keys})
        for side in (second, first)
    ]
    return ratio_change([[part] for part in parts], **draws)


def _bounds(mean: Any, unit: str = "") -> tuple[float | None, float | None]:
    """The ends of the interval; a time is at least 0."""
    low = max(0.0, mean.low) if mean.low is not None and unit == "s" else mean.low
    return (None, None) if low is None else (round(low, 6), round(mean.high, 6))


def _shown(value: float, bounds: tuple[Any, ...], *, unit: str, sign: str = "") -> str:
    scale = 100 if unit in {"%", "points"} else 1
    text, *interval = (
        f"{scale * part:{sign}.{1 if scale == 100 else 2}f}" for part in (value, *bounds) if part is not None
    )
    return f"{text} {unit}".strip() + (f" [{', '.join(interval)}]" if interval else " (no interval)")


def _sentence(form: _Form, rows: tuple[Row, ...], *, unit: str, difference: Any) -> str:
    """The first row, and whether it is shown to differ from clean and from the next row."""
    name, mean, low, high, n, clips = rows[0]
    change = form["of"] == "changes"
    size = f"{_shown(mean, (low, high), unit=unit, sign='+' if change else '')}, n {n}, clips {clips}"
    text = f"{name} {form['says']}: {size}."
    if change and (low is None or low <= 0 <= high):
        text = f"{name} comes first with {size}, but no difference from clean is shown."
    elif change and mean > 0 and form["order"] == "ASC":
        text = f"{name} comes first with {size}: it is a gain, and nothing costs."
    if difference is None:
        return f"{text} There is nothing beside it to compare with."
    caveat = "no difference shown, " if difference.low is None or difference.low <= 0 <= difference.high else ""
    between = _shown(difference.value, _bounds(difference), unit="points" if unit == "%" else unit, sign="+")
    return f"{text} Against {rows[1][0]}: {caveat}{between}."


def _notes(views: RecordViews, rows: tuple[Row, ...], metric: str) -> Iterator[str]:
    yield f"Of {metric}; intervals of 95 % draw whole clips, and are not from the SQL."
    if len(rows) > 2:
        yield f"The first of {len(rows)} by the mean: no interval is widened for having looked at all."
    if min(row[5] for row in rows[:2]) < _FEW_CLIPS:
        yield f"Fewer than {_FEW_CLIPS} clips: too few for a claim."
    if metric in views.task.beside:
        yield f"Of {metric} less may be better: the order is by its value."


def _written(views: RecordViews, question: str, *, llm: str, base_url: str, profile: Path | None) -> RecordAnswer | str:
    """The answer by a query of a language model, with one retry; else why there is none."""
    from auscult.models.chat.loading import named_chat
    from auscult.models.chat.model import Asking

    names = views.query("FROM names WHERE key IN ('model', 'metric', 'kind', 'level')")[1]
    text = prompt("query").replace("{names}", json.dumps(names)).replace("{question}", json.dumps(question))
    model, problem = named_chat(llm, profile=profile, asking=Asking(base_url=base_url, connections=1)), ""
    try:
        for _ in range(2):
            question_text = f"{text}\nYour last query was refused: {problem}" if problem else text
            reply = str(model.answer(question_text))[:_MOST_REPLY]
            reply = after_thought(reply)
            fenced = re.search(r"```(?:sql)?\s(.*?)```", reply, re.DOTALL)
            sql = (fenced[1] if fenced else reply).strip().rstrip(";")
            try:
                columns, rows = views.query(sql)
            except UsageError as error:
                problem = error.message
                continue
            notes = f"{model.name} wrote the query: read it before the table is trusted. There is no interval."
            count = f"{len(rows)} rows." if len(rows) <= MOST_ROWS else f"The first {MOST_ROWS} rows of more."
            shown_rows = tuple(rows[:MOST_ROWS])
            return RecordAnswer(
                question=question, sql=sql, columns=columns, rows=shown_rows, sentence=count, notes=(notes,)
            )
    except InputError as error:
        problem = error.message
    finally:
        model.close()
    return f"{model.name} gave no query that may run ({problem}): this is the answer without it."
