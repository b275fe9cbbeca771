"""Measure the parser of referring expressions on 450 real ones labelled by hand: the numbers of docs/referring.md.

    PYTHONPATH=tools python tests/language/referring_numbers.py --data DIR               all halves, onto the page
    PYTHONPATH=tools python tests/language/referring_numbers.py --data DIR --half dev    printed, with its mistakes
    PYTHONPATH=tools python tests/language/referring_numbers.py --data DIR --check       exit 1 if the page is stale

The labels hold identifiers and word indices; the sentences are in DIR. Nothing of them comes onto the page.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from marked_sections import placed

from auscult.language.lexicon import lexicon
from auscult.language.referring import Parse, Span, noun_like, parse
from auscult.language.tokens import Word, words
from auscult.rng import generator
from auscult.score.stats import Interval, bootstrap_interval
from auscult.score.stats.few_clusters import SHARE, Range

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "referring.md"
LABELS: Final = ROOT / "tests" / "language" / "data" / "referring_labels.jsonl"
SECOND_LABELS: Final = LABELS.with_name("referring_labels_second.jsonl")
SEED: Final = 9
DRAWN: Final = {"ref_avs": 200, "refcocos": 100, "ref_youtube_vos": 150}
MOST_OF_A_CLUSTER: Final = {"ref_youtube_vos": 2}
PARTS: Final = ("attributes", "attributes with kind", "related noun", "relation, all words", "negation")

Half: TypeAlias = Literal["dev", "held-out", "second annotator, Ref-YouTube-VOS"]
SECOND: Final = "second annotator, Ref-YouTube-VOS"


@dataclass(frozen=True)
class Labelled:
    """A real expression and what a person found in it, as word indices."""

    sentence: str
    words: list[Word]
    cluster: str  # video or picture
    row: int
    source: str
    head: int
    found: dict[str, set[Hashable]]  # by part

    @property
    def half(self) -> Half:
        """Of the first annotator's by a hash of the video or picture; the second annotator's expressions are one."""
        if self.source == "ref_youtube_vos":
            return SECOND
        return "held-out" if hashlib.sha256(self.cluster.encode()).digest()[0] % 2 else "dev"


def material(data: Path) -> dict[str, list[tuple[str, str, str]]]:
    """All expressions by source, each with its identifier and its video or picture."""
    folder = data / "referring"
    with (folder / "ref_avs_expressions.csv").open(encoding="utf-8", newline="") as file:
        videos = [(row["exp"], row["uid"], row["vid"]) for row in csv.DictReader(file)]
    human = json.loads((folder / "refcocos_sentences.json").read_text(encoding="utf-8"))
    natural = json.loads((folder / "ref_youtube_vos_expressions.json").read_text(encoding="utf-8"))["videos"]
    return {
        "ref_avs": videos,
        "refcocos": [(row["sentence"], row["image"], row["image"]) for row in human],
        "ref_youtube_vos": [
            (expression["exp"], f"{video}/{number}", video)
            for video, entry in natural.items()
            for number, expression in entry["expressions"].items()
        ],
    }


def drawn(rows: Sequence[tuple[str, str, str]], source: str) -> list[int]:
    """The rows that were labelled: in random order, the first of each text, no more of a cluster than allowed."""
    first: dict[str, int] = {}
    of_cluster: Counter[str] = Counter()
    for row in generator(SEED, "referring", source).permutation(len(rows)):
        sentence, _, cluster = rows[row]
        text = " ".join(word.low for word in words(sentence))
        if text in first or of_cluster[cluster] == MOST_OF_A_CLUSTER.get(source):
            continue
        first[text] = int(row)
        of_cluster[cluster] += 1
        if len(first) == DRAWN[source]:
            break
    return sorted(first.values())


def labelled(data: Path) -> list[Labelled]:
    """The labels with their sentences: the first annotator's, and of the second's those with more than a head."""
    rows = material(data)
    labels = _lines(LABELS) + [label for label in _lines(SECOND_LABELS) if "relation" in label]
    return [_labelled(label, rows[label["source"]][label["row"]]) for label in labels]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _labelled(label: dict[str, Any], row: tuple[str, str, str]) -> Labelled:
    sentence, identifier, cluster = row
    if identifier != label.get("uid", label.get("image")):
        raise SystemExit(f"row {label['row']} of {label['source']} is not what was labelled")
    relation = label["relation"]
    parts_found: dict[str, set[Hashable]] = {
        "attributes": {position for position, _ in label["attributes"]},
        "attributes with kind": {(position, kind) for position, kind in label["attributes"]},
        "related noun": {relation["noun"]} if relation else set(),
        "relation, all words": {(*relation["words"], relation["noun"])} if relation else set(),
        "negation": set(label["negation"]),
    }
    return Labelled(sentence, words(sentence), cluster, label["row"], label["source"], label["head"], parts_found)


def parse_parts(expression: Labelled, parse_result: Parse) -> tuple[int | None, dict[str, set[Hashable]]]:
    """What the parser found, in the form of the labels."""
    starts = {word.start: index for index, word in enumerate(expression.words)}
    ends = {word.end: index for index, word in enumerate(expression.words)}
    relation = parse_result.relation

    def index_of(span: Span) -> int:
        return starts[span.start]

    return None if parse_result.noun is None else index_of(parse_result.noun), {
        "attributes": {index_of(attribute.span) for attribute in parse_result.attributes},
        "attributes with kind": {(index_of(attribute.span), attribute.kind) for attribute in parse_result.attributes},
        "related noun": {index_of(relation.noun)} if relation else set(),
        "relation, all words": (
            {(index_of(relation.words), ends[relation.words.end], index_of(relation.noun))} if relation else set()
        ),
        "negation": {index_of(span) for span in parse_result.negation},
    }


def first_noun(tokens: Sequence[Word]) -> int | None:
    """The paper's rule: the first noun."""
    return next((index for index, word in enumerate(tokens) if noun_like(word.low, lexicon())), None)


def last_noun_before_preposition(tokens: Sequence[Word]) -> int | None:
    """The last noun before the first preposition, or of all where there is none."""
    end = next((index for index, word in enumerate(tokens) if word.low in lexicon().prepositions), len(tokens))
    return next((index for index in reversed(range(end)) if noun_like(tokens[index].low, lexicon())), None)


@dataclass(frozen=True)
class Measured:
    """Of each expression what the parser and two simple rules made of it."""

    expressions: list[Labelled]
    heads: list[int | None]
    parts: list[dict[str, set[Hashable]]]

    def right(self, rule: Callable[[Sequence[Word]], int | None] | None = None) -> list[float]:
        """1 where the head noun is right: the parser's, or a rule's."""
        found = self.heads if rule is None else [rule(expression.words) for expression in self.expressions]
        return [float(head == expression.head) for head, expression in zip(found, self.expressions, strict=True)]

    def interval(self, values: Iterable[float], *, within: Range | None = None) -> Interval:
        """The mean with its interval over videos and pictures."""
        clusters: dict[str, list[float]] = {}
        for expression, value in zip(self.expressions, values, strict=True):
            clusters.setdefault(expression.cluster, []).append(value)
        groups, rng = list(clusters.values()), generator(SEED, "interval")
        interval_found = bootstrap_interval(lambda items: sum(items) / len(items), groups, rng=rng, within=within)
        if not isinstance(interval_found, Interval):
            raise SystemExit(f"no interval: {interval_found.reason}")
        return interval_found

    def f1(self, part: str) -> tuple[float, float, float]:
        """Precision, recall and F1 of a part, over all expressions."""
        pairs = [
            (parts_parsed[part], expression.found[part])
            for parts_parsed, expression in zip(self.parts, self.expressions, strict=True)
        ]
        common_count = sum(len(guess & true) for guess, true in pairs)
        precision = common_count / max(sum(len(guess) for guess, _ in pairs), 1)
        recall = common_count / max(sum(len(true) for _, true in pairs), 1)
        return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def measure(expressions: list[Labelled]) -> Measured:
    """Read all expressions."""
    parses = [parse_parts(expression, parse(expression.sentence)) for expression in expressions]
    return Measured(expressions, [head for head, _ in parses], [parts for _, parts in parses])


def negations(data: Path) -> list[tuple[bool, bool, bool]]:
    """Of each human sentence without a photograph here: negation found, `exclude` among its types, `empty_case`."""
    rows = json.loads((data / "referring" / "refcocos_sentences.json").read_text(encoding="utf-8"))
    return [
        (bool(parse(row["sentence"]).negation), "exclude" in row["types"], row["empty_case"])
        for row in rows
        if not row["image_available"]
    ]


def heads_table(measures: dict[str, Measured]) -> str:
    """Head nouns by half, and how much better the parser is than two rules."""
    lines = [
        "| half | expressions | parser | first noun | better by | last noun before a preposition | better by |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for half_name, measure_of_half in measures.items():
        right = measure_of_half.right()
        cells = [half_name, str(len(right)), _percent(measure_of_half.interval(right, within=SHARE))]
        for rule in (first_noun, last_noun_before_preposition):
            other = measure_of_half.right(rule)
            better = [value - other_value for value, other_value in zip(right, other, strict=True)]
            cells += [f"{100 * sum(other) / len(other):.1f} %", _percent(measure_of_half.interval(better))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(interval: Interval) -> str:
    return f"{100 * interval.value:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def parts_table(measures: dict[str, Measured]) -> str:
    """Precision, recall and F1 of everything but the head."""
    lines = [f"| part | {' | '.join(f'{half_name}: precision, recall, F1' for half_name in measures)} |"]
    lines.append("| --- |" + " --- |" * len(measures))
    for part in PARTS:
        cells = [
            ", ".join(f"{number:.3f}" for number in measure_of_half.f1(part)) for measure_of_half in measures.values()
        ]
        lines.append(f"| {part} | {' | '.join(cells)} |")
    return "\n".join(lines)


def negations_table(rows: Sequence[tuple[bool, bool, bool]]) -> str:
    """Negation found against what people said of the sentence."""
    lines = ["| human sentences without photograph | n | with a negation, by the parser |", "| --- | --- | --- |"]
    groups = {
        "`exclude` among the types": [is_negated for is_negated, exclude, _ in rows if exclude],
        "no `exclude`": [is_negated for is_negated, exclude, _ in rows if not exclude],
        "`empty_case`: no object answers": [is_negated for is_negated, _, empty in rows if empty],
    }
    return "\n".join([*lines, *(f"| {name} | {len(flags)} | {sum(flags)} |" for name, flags in groups.items())])


def agreement() -> str:
    """Heads on which both annotators agree."""
    first, second = (
        {(line["source"], line["row"]): line["head"] for line in _lines(file)} for file in (LABELS, SECOND_LABELS)
    )
    hits = [first[key] == head for key, head in second.items() if key in first]
    return f"The same head: {sum(hits)} of {len(hits)} expressions ({100 * sum(hits) / len(hits):.1f} %)."


def mistakes(measures: Measured) -> Iterable[str]:
    """What is not as labelled, a line each."""
    for expression, head, parts in zip(measures.expressions, measures.heads, measures.parts, strict=True):
        wrong = [f"{part}: {parts[part]} not {true}" for part, true in expression.found.items() if parts[part] != true]
        if head != expression.head:
            wrong.insert(0, f"head: {head} not {expression.head}")
        if wrong:
            yield f"{expression.sentence}\n    " + "\n    ".join(wrong)


def main() -> int:
    """Measure, and write, print or check."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--half", choices=get_args(Half))
    options.add_argument("--check", action="store_true")
    arguments = options.parse_args()
    halves = [arguments.half] if arguments.half else get_args(Half)
    expressions = labelled(arguments.data)
    measures = {half: measure([expression for expression in expressions if expression.half == half]) for half in halves}
    sections = {"heads": heads_table(measures), "parts": parts_table(measures)}
    if arguments.half:
        print("\n\n".join([*mistakes(measures[arguments.half]), *sections.values()]))
        return 0
    sections["agreement"] = agreement()
    sections["negations"] = negations_table(negations(arguments.data))
    page = PAGE.read_text(encoding="utf-8")
    page_text = page
    for name, text in sections.items():
        page_text = placed(page_text, name, text)
    if arguments.check:
        return int(page_text != page)
    PAGE.write_text(page_text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
