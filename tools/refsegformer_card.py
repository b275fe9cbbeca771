"""Ship a network of `auscult train rris` as `refsegformer-small`, and write its card from runs of `auscult run rris`.

    python tools/refsegformer_card.py --trained OUT --made "auscult make scenes ..." --run "held-out scenes=RUN" ...
    python tools/refsegformer_card.py --page        only write the page anew from the card

It copies OUT/onnx/*.onnx into the package and writes card.json beside them: what it was trained on, sizes, SHA-256 of
both files, and the tables of each RUN as they are. The page docs/cards/trained.refsegformer_small.v1.md is made of it.
What the network answers with torch to some sentences goes to tests/golden, so that the files are compared with it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from auscult.judge.cards import markdown
from auscult.media.paths import write_bytes
from auscult.models.refsegformer import SHIPPED
from auscult.nets.refsegformer.answering import ANSWER, STEM, Answering, OnnxAnswering, TorchAnswering
from auscult.types import Frame

ROOT = Path(__file__).resolve().parents[1]
NAME = "trained.refsegformer_small.v1"
PAGE = ROOT / "docs" / "cards" / f"{NAME}.md"
CARD = SHIPPED / "card.json"
GOLDEN = ROOT / "tests" / "golden" / "refsegformer_small.json"
SENTENCES = ("the red bell", "the leftmost cat", "the small thing above the boat", "the zzyzx")
MOST_BYTES = 15_000_000
TABLES = ("general", "general__seen", "general__unseen", "general_kinds")
HEAD = Path(__file__).with_suffix(".template.md").read_text(encoding="utf-8")
BEGUN = {
    "mobile": "The vision encoder began with public weights, MobileNetV2 of ImageNet-1k\n"
    "(tf2_mobilenet_v2_1.0_224_ptq.tflite, google-coral/test_data at 104342d2d3, Apache-2.0), and was trained on."
}


def main() -> int:
    """Ship, or only write the page; 1 where the files are too large or a run does not know the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trained", type=Path, help="folder of `auscult train rris`")
    parser.add_argument("--made", action="append", default=[], help="a command that made the data, or words about it")
    parser.add_argument("--run", action="append", default=[], help="TITLE=FOLDER of `auscult run rris`")
    parser.add_argument("--named", default=NAME, help="what the runs call it, such as trained.refsegformer.v1@OUT")
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    if not given.page:
        from auscult.nets.refsegformer.weights import read_model

        write_bytes(CARD, json.dumps(card(given.trained, given), indent=1).encode() + b"\n")
        golden = answers(TorchAnswering(read_model(given.trained / "model"), given.trained))
        write_bytes(GOLDEN, json.dumps(golden, indent=1).encode() + b"\n")
    write_bytes(PAGE, page(json.loads(CARD.read_bytes())).encode())
    return 0


def picture() -> Frame:
    """Blocks of colour, (128, 192, 3)."""
    blocks = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    return blocks.repeat(32, axis=0).repeat(32, axis=1)


def answers(network: Answering) -> list[dict[str, Any]]:
    """The logits of existence and of every fifth place of the mask, of some sentences about ``picture``."""
    seen, found = network.stem(picture()), []
    for text in SENTENCES:
        answer = network.answer(seen, text)
        places = [] if answer.logits is None else [float(one) for one in answer.logits[::5, ::5].ravel()]
        found.append({"text": text, "existence": answer.existence, "mask": places})
    return found


def card(trained: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Copy the files and gather what is known of them."""
    files: dict[str, dict[str, Any]] = {}
    for name in (STEM, ANSWER):
        content = (trained / "onnx" / name).read_bytes()
        write_bytes(SHIPPED / name, content)
        files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if sum(one["bytes"] for one in files.values()) > MOST_BYTES:
        sys.exit(f"the two files have more than {MOST_BYTES:,} bytes")
    measured = [_measured(*one.split("=", 1), named=given.named) for one in given.run]
    plan = json.loads((trained / "plan.json").read_bytes())
    words = len(OnnxAnswering(SHIPPED).reading.words)
    return {
        "schema": 1,
        "model": NAME,
        "files": files,
        "words": words,
        "made": given.made,
        "training": plan,
        "runs": measured,
    }


def _measured(title: str, folder: str, *, named: str) -> dict[str, Any]:
    """The tables of a run, without baselines by kind of negation, with the name that the network ships by."""
    paths = [Path(folder) / f"tables/{name}.json" for name in TABLES]
    found = {path.stem: json.loads(path.read_bytes()) for path in paths if path.is_file()}
    if not any(row[0] == named for table in found.values() for row in table["rows"]):
        sys.exit(f"{folder} is no run of {named}")
    tables = []
    for name, one in found.items():
        rows = [row for row in one["rows"] if name != "general_kinds" or not row[0].startswith("baseline.")]
        rows = [[row[0].replace(named, NAME), *row[1:]] for row in rows]
        tables.append({"title": one["title"], "header": one["header"], "rows": rows, "note": one["note"]})
    return {"title": title, "tables": tables}


def page(known: dict[str, Any]) -> str:
    """The card as Markdown."""
    training = known["training"]
    files = known["files"].items()
    parts = [
        HEAD.format(
            name=NAME,
            begun=BEGUN.get(training["plan"]["design"]["vision"], "No weight of others is in it."),
            made=_listed(f"`{one}`" if one.startswith("auscult ") else one for one in known["made"]),
            plan=json.dumps(training["plan"]),
            side=training["plan"]["design"]["side"],
            parameters=training["parameters"] / 1e6,
            words=known["words"],
            size=sum(one["bytes"] for _, one in files) / 1e6,
            files=_listed(f"`{name}`: {one['bytes']:,} bytes, SHA-256 `{one['sha256']}`" for name, one in files),
            **{key: training[key] for key in ("references", "without_false", "model", "seed", "steps")},
        ).rstrip()
    ]
    for run in known["runs"]:
        parts.append(f"## Numbers: {run['title']}")
        for table in run["tables"]:
            parts += [f"**{table['title']}**", markdown(table["header"], table["rows"]), table["note"]]
    return "\n\n".join(parts) + "\n"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


if __name__ == "__main__":
    raise SystemExit(main())
