"""The files of ``auscult stress negatives`` for other tools, made from ``pictures.jsonl`` line by line.

- ``items.jsonl``: an INPUT; each sentence is an item, ``exists`` false with an empty mask for a negative one;
- ``refer/refs(auscult).json`` and ``refer/instances.json``: REFER's form with ``exist``, as R-RefCOCO has it;
- ``dataset/``: a file of rows per split, for ``datasets.load_dataset``;
- counts, in the form of Table 1 of Robust Referring Image Segmentation.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.language.tokens import words
from auscult.media.rle import encode
from auscult.record.codec import dump, load
from auscult.record.folder import RunFolder
from auscult.report.tables import Table
from auscult.stress.negatives import KINDS

PICTURES: Final = "pictures.jsonl"
_INDEX: Final = re.compile(rb'"index": ?(\d+)')
_ALL: Final = "all"


def write_files(run: RunFolder, rows: PictureRows) -> MadeCounts:
    """Write every file from the pictures, which are read several times; returns counts."""
    counts = MadeCounts()
    categories: dict[str, int] = {}
    files: dict[str, set[str]] = {}  # of rows, by the splits that each holds
    for picture in rows:
        counts.add(picture)
        for entry in picture["objects"]:
            categories.setdefault(entry["category"], len(categories) + 1)
        for ref in picture["references"]:
            files.setdefault(_split_name(ref["split"]), {""}).add(ref["split"])
    run.write_bytes("items.jsonl", (dump(item) + b"\n" for picture in rows for item in _items(picture)))
    run.write_bytes("refer/refs(auscult).json", _listed(_refs(rows, categories)))
    category_rows = [{"id": number, "name": name} for name, number in categories.items()]
    run.write_bytes(
        "refer/instances.json",
        chain(
            (b'{"images": ',), _listed(_image(number, picture) for number, picture in enumerate(rows, start=1)),
            (b', "annotations": ',), _listed(_annotations(rows, categories)),
            (b', "categories": ', dump(category_rows), b"}\n"),
        ),
    )  # fmt: skip
    for name, splits in files.items():
        chosen = (row for picture in rows for row in _dataset_rows(picture) if row["split"] in splits)
        run.write_bytes(f"dataset/{name}.jsonl", (dump(row) + b"\n" for row in chosen))
    run.write_text("dataset/README.md", _card(files))
    return counts


class PictureRows:
    """The lines of ``pictures.jsonl`` in the order of the input, read from the file each time.

    Args:
        path: The file.
        convert: Applied to each line.
    """

    def __init__(self, path: Path, convert: Callable[[dict[str, Any]], dict[str, Any]] = lambda row: row) -> None:
        self._path, self._convert = path, convert
        self._starts: list[tuple[int, int]] = []
        start = 0
        for line in self._lines():
            match = _INDEX.search(line)
            if match is not None:
                self._starts.append((int(match[1]), start))
            start += len(line)
        self._starts.sort()

    def _lines(self) -> Iterator[bytes]:
        if self._path.is_file():
            with self._path.open("rb") as file:
                yield from file

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self._starts:
            return
        with self._path.open("rb") as file:
            for _, start in self._starts:
                if file.tell() != start:
                    file.seek(start)
                yield self._convert(load(file.readline()))


def _listed(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """A JSON list, row by row."""
    yield b"["
    for index, row in enumerate(rows):
        yield (b",\n" if index else b"\n") + dump(row)
    yield b"\n]"


# --- items ---


def _items(picture: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The sentences of a picture as lines of ``items.jsonl``."""
    nothing = encode(np.zeros(picture["size"], np.bool_))
    for ref in picture["references"]:
        for number, sentence in enumerate(ref["sentences"], start=1):
            mask = ref["mask"] if sentence["exists"] else nothing
            if mask is None:
                continue
            row = {
                "id": sentence_id(ref, sentence, number),
                "frame": picture["frame"],
                "mask": mask,
                "text": sentence["text"],
                "exists": sentence["exists"],
                "reference": ref["id"],
                "category": ref["category"],
                "split": ref["split"],
            }
            yield row if sentence["exists"] else {**row, "negative": sentence["negative"]}


def sentence_id(ref: Mapping[str, Any], sentence: Mapping[str, Any], at: int) -> str:
    """The id of a reference's sentence; ``at`` is its number from 1 on, if it has no id of its own."""
    return f"{ref['id']}/{sentence.get('at', at)}"


# --- REFER ---


def _refs(rows: Iterable[Mapping[str, Any]], categories: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """References in REFER's form; ids are numbers in the order of the input."""
    ref_id = sent_id = 0
    for image, picture in enumerate(rows, start=1):
        numbers = _numbers(image, picture)
        for ref in picture["references"]:
            if not ref["target"]:
                continue  # REFER has no reference without a target
            ref_id += 1
            sentences = []
            for sentence in ref["sentences"]:
                sent_id += 1
                text = " ".join(word.low for word in words(sentence["text"]))
                row = {"sent_id": sent_id, "raw": sentence["text"], "sent": text, "tokens": text.split(" ")}
                sentences.append(row if sentence["exists"] else {**row, "exist": False})
            yield {
                "ref_id": ref_id,
                "ann_id": numbers[ref["target"]],
                "image_id": image,
                "category_id": categories[ref["category"]],
                "file_name": picture["frame"].removeprefix("frames/"),
                "split": ref["split"] or _ALL,
                "sentences": sentences,
                "sent_ids": [sentence["sent_id"] for sentence in sentences],
            }


_MOST_OBJECTS: Final = 100_000


def _numbers(image: int, picture: Mapping[str, Any]) -> dict[str, int]:
    """A unique number for each object."""
    return {entry["id"]: image * _MOST_OBJECTS + number for number, entry in enumerate(picture["objects"], start=1)}


def _image(number: int, picture: Mapping[str, Any]) -> dict[str, Any]:
    height, width = picture["size"]
    name = picture["frame"].removeprefix("frames/")
    return {"id": number, "file_name": name, "height": height, "width": width}


def _annotations(rows: Iterable[Mapping[str, Any]], categories: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for image, picture in enumerate(rows, start=1):
        numbers = _numbers(image, picture)
        for entry in picture["objects"]:
            row: dict[str, Any] = {
                "id": numbers[entry["id"]],
                "image_id": image,
                "category_id": categories[entry["category"]],
                "iscrowd": int(entry["crowd"]),
            }
            if entry["segmentation"] is not None:
                row["segmentation"] = entry["segmentation"]
            if entry["box"] is not None:
                left, top, right, bottom = entry["box"]
                row["bbox"] = [left, top, right - left, bottom - top]
            yield row


# --- rows for datasets ---


def _dataset_rows(picture: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows with the same columns; a negative sentence has its kind, its source sentence and its proof as texts."""
    for item in _items(picture):
        negative = item.get("negative") or {}
        proof = negative.get("proof") or {}
        yield {
            "id": item["id"],
            "image": f"../{item['frame']}",
            "text": item["text"],
            "exists": item["exists"],
            "reference": item["reference"],
            "category": item["category"],
            "split": item["split"],
            "kind": negative.get("kind", ""),
            "of": negative.get("of", ""),
            "proof": proof.get("says", ""),
            "mask": {"size": item["mask"]["size"], "counts": item["mask"]["counts"]},
        }


def _card(splits: Iterable[str]) -> str:
    """The dataset card, which names the file of each split."""
    files = "".join(f"  - split: {name}\n    path: {name}.jsonl\n" for name in splits)
    return (
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n\n"
        "Positive and negative referring expressions, made by `auscult stress negatives`. `exists` is false for a\n"
        "sentence that names nothing; its mask is empty. `image` is a path from this folder, `mask` is COCO RLE.\n"
    )


def _split_name(split: str) -> str:
    """A split's name as `datasets` takes it, in which ``all`` is every split of a set."""
    name = re.sub(r"\W", "_", split, flags=re.ASCII)
    return "data" if name in {"", _ALL} else name


# --- counts ---


@dataclass(slots=True)
class _Split:
    references: int = 0
    positive: int = 0
    negative: int = 0
    fewer: int = 0


@dataclass(slots=True)
class MadeCounts:
    """The counts of sentences made.

    Attributes:
        references: References with their sentences on record.
        missing: Counts of negatives not made.
    """

    references: int = 0
    missing: int = 0
    splits: dict[str, _Split] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    claims: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, picture: Mapping[str, Any]) -> None:
        """Count the references of a picture."""
        for ref in picture["references"]:
            self.references += 1
            split = self.splits.setdefault(ref["split"] or _ALL, _Split())
            negatives = [sentence["negative"] for sentence in ref["sentences"] if not sentence["exists"]]
            proven = [negative for negative in negatives if "proof" in negative]
            split.references += 1
            split.positive += len(ref["sentences"]) - len(negatives)
            split.negative += len(negatives)
            split.fewer += len(proven) < ref["wanted"]
            self.missing += max(0, ref["wanted"] - len(proven))
            for one in negatives:
                self.kinds[one["kind"]] += 1
                if "proof" in one:
                    self.claims[one["kind"]][one["proof"]["claim"]] += 1
            for kind, reason, count in ref["reasons"]:
                self.reasons[kind, reason] += count

    def tables(self) -> dict[str, Table]:
        """The form of Table 1, counts by kind, and reasons of missing ones."""
        result = {
            "statistics": Table(
                title="references and sentences",
                header=("split", "references", "sentences a reference", "positive", "negative", "with fewer negatives"),
                rows=tuple((name, *statistics(split.references, split.positive, split.negative), str(split.fewer))
                           for name, split in self.splits.items()),
                note="the form of Table 1 of Robust Referring Image Segmentation; means over references",
            ),
            "kinds": Table(
                title="negative sentences by kind",
                header=("kind", "made", "proven by"),
                rows=tuple((kind, str(count), ", ".join(f"{claim} {n}" for claim, n in self.claims[kind].most_common()))
                           for kind, count in sorted(self.kinds.items(), key=lambda one: _order(one[0]))),
                note="given, null: the input had them, without a proof",
            ),
        }  # fmt: skip
        if self.reasons:
            rows = tuple((kind, reason, str(count)) for (kind, reason), count in self.reasons.most_common())
            note = "another kind was made in its place where one could be"
            result["reasons"] = Table(title="not made", header=("kind", "reason", "times"), rows=rows, note=note)
        return result


def _order(kind: str) -> tuple[int, str]:
    return (KINDS.index(kind) if kind in KINDS else len(KINDS), kind)


def statistics(references: int, positive: int, negative: int) -> tuple[str, str, str, str]:
    """A row of Table 1: references, and sentences, positive and negative ones per reference.

    Example:
        >>> statistics(3811, 10823, 41426)
        ('3811', '13.71', '2.84', '10.87')
    """
    means = ((positive + negative) / references, positive / references, negative / references) if references else ()
    whole, good, bad = (f"{mean:.2f}" for mean in means) if means else ("", "", "")
    return str(references), whole, good, bad
