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
            (said["exp"], f"{video}/{number}", video)
            for video, entry in natural.items()
            for number, said in entry["expressions"].items()
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
    read = _lines(LABELS) + [label for label in _lines(SECOND_LABELS) if "relation" in label]
    return [_labelled(label, rows[label["source"]][label["row"]]) for label in read]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _labelled(label: dict[str, Any], row: tuple[str, str, str]) -> Labelled:
    sentence, identifier, cluster = row
    if identifier != label.get("uid", label.get("image")):
        raise SystemExit(f"row {label['row']} of {label['source']} is not what was labelled")
    relation = label["relation"]
    found: dict[str, set[Hashable]] = {
        "attributes": {at for at, _ in label["attributes"]},
        "attributes with kind": {(at, kind) for at, kind in label["attributes"]},
        "related noun": {relation["noun"]} if relation else set(),
        "relation, all words": {(*relation["words"], relation["noun"])} if relation else set(),
        "negation": set(label["negation"]),
    }
    return Labelled(sentence, words(sentence), cluster, label["row"], label["source"], label["head"], found)


def parsed(one: Labelled, read: Parse) -> tuple[int | None, dict[str, set[Hashable]]]:
    """What the parser found, in the form of the labels."""
    starts = {word.start: at for at, word in enumerate(one.words)}
    ends = {word.end: at for at, word in enumerate(one.words)}
    relation = read.relation

    def at(span: Span) -> int:
        return starts[span.start]

    return None if read.noun is None else at(read.noun), {
        "attributes": {at(kept.span) for kept in read.attributes},
        "attributes with kind": {(at(kept.span), kept.kind) for kept in read.attributes},
        "related noun": {at(relation.noun)} if relation else set(),
        "relation, all words": (
            {(at(relation.words), ends[relation.words.end], at(relation.noun))} if relation else set()
        ),
        "negation": {at(span) for span in read.negation},
    }


def first_noun(tokens: Sequence[Word]) -> int | None:
    """The paper's rule: the first noun."""
    return next((at for at, word in enumerate(tokens) if noun_like(word.low, lexicon())), None)


def last_noun_before_preposition(tokens: Sequence[Word]) -> int | None:
    """The last noun before the first preposition, or of all where there is none."""
    end = next((at for at, word in enumerate(tokens) if word.low in lexicon().prepositions), len(tokens))
    return next((at for at in reversed(range(end)) if noun_like(tokens[at].low, lexicon())), None)


@dataclass(frozen=True)
class Measured:
    """Of each expression what the parser and two simple rules made of it."""

    expressions: list[Labelled]
    heads: list[int | None]
    parts: list[dict[str, set[Hashable]]]

    def right(self, rule: Callable[[Sequence[Word]], int | None] | None = None) -> list[float]:
        """1 where the head noun is right: the parser's, or a rule's."""
        found = self.heads if rule is None else [rule(one.words) for one in self.expressions]
        return [float(at == one.head) for at, one in zip(found, self.expressions, strict=True)]

    def interval(self, values: Iterable[float], *, within: Range | None = None) -> Interval:
        """The mean with its interval over videos and pictures."""
        clusters: dict[str, list[float]] = {}
        for one, value in zip(self.expressions, values, strict=True):
            clusters.setdefault(one.cluster, []).append(value)
        groups, rng = list(clusters.values()), generator(SEED, "interval")
        made = bootstrap_interval(lambda items: sum(items) / len(items), groups, rng=rng, within=within)
        if not isinstance(made, Interval):
            raise SystemExit(f"no interval: {made.reason}")
        return made

    def f1(self, part: str) -> tuple[float, float, float]:
        """Precision, recall and F1 of a part, over all expressions."""
        pairs = [(found[part], one.found[part]) for found, one in zip(self.parts, self.expressions, strict=True)]
        both = sum(len(found & true) for found, true in pairs)
        precision = both / max(sum(len(found) for found, _ in pairs), 1)
        recall = both / max(sum(len(true) for _, true in pairs), 1)
        return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def measure(expressions: list[Labelled]) -> Measured:
    """Read all expressions."""
    made = [parsed(one, parse(one.sentence)) for one in expressions]
    return Measured(expressions, [head for head, _ in made], [parts for _, parts in made])


def negations(data: Path) -> list[tuple[bool, bool, bool]]:
    """Of each human sentence without a photograph here: negation found, `exclude` among its types, `empty_case`."""
    rows = json.loads((data / "referring" / "refcocos_sentences.json").read_text(encoding="utf-8"))
    return [
        (bool(parse(row["sentence"]).negation), "exclude" in row["types"], row["empty_case"])
        for row in rows
        if not row["image_available"]
    ]


def heads_table(measured: dict[str, Measured]) -> str:
    """Head nouns by half, and how much better the parser is than two rules."""
    lines = [
        "| half | expressions | parser | first noun | better by | last noun before a preposition | better by |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for half, made in measured.items():
        right = made.right()
        cells = [half, str(len(right)), _percent(made.interval(right, within=SHARE))]
        for rule in (first_noun, last_noun_before_preposition):
            other = made.right(rule)
            better = [one - two for one, two in zip(right, other, strict=True)]
            cells += [f"{100 * sum(other) / len(other):.1f} %", _percent(made.interval(better))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(made: Interval) -> str:
    return f"{100 * made.value:.1f} % [{100 * made.low:.1f}, {100 * made.high:.1f}]"


def parts_table(measured: dict[str, Measured]) -> str:
    """Precision, recall and F1 of everything but the head."""
    lines = [f"| part | {' | '.join(f'{half}: precision, recall, F1' for half in measured)} |"]
    lines.append("| --- |" + " --- |" * len(measured))
    for part in PARTS:
        cells = [", ".join(f"{number:.3f}" for number in made.f1(part)) for made in measured.values()]
        lines.append(f"| {part} | {' | '.join(cells)} |")
    return "\n".join(lines)


def negations_table(rows: Sequence[tuple[bool, bool, bool]]) -> str:
    """Negation found against what people said of the sentence."""
    lines = ["| human sentences without photograph | n | with a negation, by the parser |", "| --- | --- | --- |"]
    groups = {
        "`exclude` among the types": [said for said, exclude, _ in rows if exclude],
        "no `exclude`": [said for said, exclude, _ in rows if not exclude],
        "`empty_case`: no object answers": [said for said, _, empty in rows if empty],
    }
    return "\n".join([*lines, *(f"| {name} | {len(said)} | {sum(said)} |" for name, said in groups.items())])


def agreement() -> str:
    """Heads on which both annotators agree."""
    first, second = (
        {(one["source"], one["row"]): one["head"] for one in _lines(file)} for file in (LABELS, SECOND_LABELS)
    )
    both = [first[key] == head for key, head in second.items() if key in first]
    return f"The same head: {sum(both)} of {len(both)} expressions ({100 * sum(both) / len(both):.1f} %)."


def mistakes(made: Measured) -> Iterable[str]:
    """What is not as labelled, a line each."""
    for one, head, parts in zip(made.expressions, made.heads, made.parts, strict=True):
        wrong = [f"{part}: {parts[part]} not {true}" for part, true in one.found.items() if parts[part] != true]
        if head != one.head:
            wrong.insert(0, f"head: {head} not {one.head}")
        if wrong:
            yield f"{one.sentence}\n    " + "\n    ".join(wrong)


def main() -> int:
    """Measure, and write, print or check."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--half", choices=get_args(Half))
    options.add_argument("--check", action="store_true")
    given = options.parse_args()
    halves = [given.half] if given.half else get_args(Half)
    every = labelled(given.data)
    measured = {half: measure([one for one in every if one.half == half]) for half in halves}
    sections = {"heads": heads_table(measured), "parts": parts_table(measured)}
    if given.half:
        print("\n\n".join([*mistakes(measured[given.half]), *sections.values()]))
        return 0
    sections["agreement"] = agreement()
    sections["negations"] = negations_table(negations(given.data))
    page = PAGE.read_text(encoding="utf-8")
    made = page
    for name, text in sections.items():
        made = placed(made, name, text)
    if given.check:
        return int(made != page)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
