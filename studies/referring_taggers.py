"""Which tagger finds the nouns of referring expressions: the table of taggers in docs/referring.md.

    python -m venv taggers; taggers/bin/pip install HanTa textblob lemminflect spacy numpy msgspec
    PYTHONPATH=src:tools taggers/bin/python studies/referring_taggers.py DATA

All are driven by one rule, so that only the tags differ: the head is the last word of the first unbroken run of nouns;
of "pair of glasses" and "one of the dogs" it is the noun after "of". The last row is the parser itself.
"""

import sys
import time
from pathlib import Path

import referring_numbers as numbers


def ours():
    from auscult.language.lexicon import lexicon
    from auscult.language.referring import noun_like

    lex = lexicon()
    return lambda words: [noun_like(word.low, lex) for word in words]


def hanta():
    from HanTa import HanoverTagger

    tagger = HanoverTagger.HanoverTagger("morphmodel_en.pgz")
    return lambda words: [tag[0] == "N" for _, _, tag in tagger.tag_sent([word.text for word in words])]


def pattern():
    from textblob.en import tag

    def nouns(words):
        tags = tag(" ".join(word.text for word in words), tokenize=False)
        return [kind.startswith("NN") for _, kind in tags]

    return nouns


def lemminflect():
    from lemminflect import getAllLemmas

    def noun(word):
        kinds = getAllLemmas(word.low)
        return not kinds or ("NOUN" in kinds and "ADJ" not in kinds)

    return lambda words: [noun(word) for word in words]


def spacy_blank():
    import spacy

    language = spacy.blank("en")
    return lambda words: [token.pos_ == "NOUN" for token in language(" ".join(word.text for word in words))]


def head(words, nouns):
    at = 0
    while at < len(words):
        if not nouns[at] or words[at].low.endswith(("'s", "s'")):
            at += 1
            continue
        while at + 1 < len(words) and nouns[at + 1]:
            at += 1
        after = words[at + 1].low if at + 1 < len(words) else ""
        if not (after == "of" and words[at].low in {"pair", "row", "group", "stack", "piece", "set", "one"}):
            return at
        at += 2
    return None


def main():
    every = numbers.labelled(Path(sys.argv[1]))
    halves = {half: [one for one in every if one.half == half] for half in ("dev", "held-out")}
    for name, make in [(make.__name__, make) for make in (ours, hanta, pattern, lemminflect, spacy_blank)]:
        started = time.perf_counter()
        tagger = make()
        tagger(every[0].words)
        loaded = time.perf_counter() - started
        cells = []
        started = time.perf_counter()
        for half in halves.values():
            right = 0
            for one in half:
                nouns = tagger(one.words)
                if len(nouns) != len(one.words):
                    nouns = (nouns + [False] * len(one.words))[: len(one.words)]
                right += head(one.words, nouns) == one.head
            cells.append(f"{100 * right / len(half):.1f} %")
        rate = len(every) / (time.perf_counter() - started)
        print(f"| {name} | {' | '.join(cells)} | {loaded:.2f} s | {rate:,.0f} |")
    print(
        "| parser |",
        " | ".join(
            f"{100 * sum(made.right()) / len(half):.1f} %"
            for half, made in ((half, numbers.measure(half)) for half in halves.values())
        ),
        "|",
    )


if __name__ == "__main__":
    main()
