"""Judges asked by words: real masks of families that nobody trained on, and whole objects that a sentence does not mean.

    python studies/judges_by_words.py --data $AUSCULT_DATA --out OUT [--judge chat:NAME] [--only NAME]

Five inputs are made under OUT, each judge audits each (the same command again goes on), and the tables are printed:

real       masks of YOLOv8n-seg and CSNet on photographs of the test part, with "the CATEGORY" where it names one object;
           and one of each portrait of a pet, a source that nobody was fitted on
wrong      for a sentence that names one object of such a photograph, that object's true mask, and another's
refcocos   five sentences that people wrote, each object of their photographs once right and otherwise wrong
videos     57 sentences written for eleven DAVIS sequences, 33 of which mean nothing in them: each object of the middle frame
scenes     the same of generated scenes: true masks and other things (`stress masks --suite mqa`)

Sentences of `wrong` are "the CATEGORY" or one that the grammar proves true of that object alone, by colour, place and size
(`lexicon_asked`); of one photograph three objects at most. Photographs with all objects annotated, fewer than eight.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from lexicon_asked import _naming, _thing
from PIL import Image

from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.language.forms import Facts
from auscult.language.grammar import phrase
from auscult.media.masks import encode_mask
from auscult.media.rle import decode
from auscult.record.reader import read_run
from auscult.rng import generator
from auscult.score.judges import ClusterDraws, JudgeColumns, TruthColumns, measures, reals, texts, with_interval
from auscult.train.prompted.material import FAMILIES, MAY_TRAIN, Picture, read_material

SEED = 0
LEAST_SHARE, LEAST_PX = 0.01, 24 * 24
PER_PICTURE, MOST_LISTED = 3, 8
LEAST_CLUSTERS = 20
HERE = Path(__file__).parent


def main() -> None:
    options = _options()
    out = options.out
    inputs = _inputs(options.data, out)
    program = f"command:{sys.executable} {HERE / 'segmenter_judge.py'}"
    judges = {
        "masks.prompted.v1": {"judge": "prompted"},
        "masks.cues.v1": {"judge": "cues"},
        "masks.prompted.v1 with identity.scenes.v1": {"judge": "prompted", "identity": "identity.scenes.v1"},
        "mask of classical.lexicon.v1": {"judge": f"{program} classical.lexicon.v1"},
        "mask of refsegformer-small": {"judge": f"{program} trained.refsegformer_small.v1"},
        **{given: {"judge": given} for given in options.judge},
    }
    for name, source in inputs.items():
        truths = {row["id"]: row for row in map(json.loads, source.read_text(encoding="utf-8").splitlines())}
        sheet = out / "answer-sheet" / f"{name}.jsonl"
        sheet.parent.mkdir(parents=True, exist_ok=True)
        sheet.write_text("".join(f"{json.dumps(_told(row))}\n" for row in truths.values()), encoding="utf-8")
        rows = {}
        for judge, how in {**judges, "an answer sheet (scripted)": {"judge": f"replies:{sheet}"}}.items():
            if options.only and options.only not in judge:
                continue
            folder = out / "judged" / name / "".join(sign if sign.isalnum() else "-" for sign in judge)
            audit_folder(AuditOptions(source=source, out=folder, policy="paper", alone=True, workers=1, timeout_s=600, **how))
            rows[judge] = {verdict.id: verdict for verdict, _ in read_run(folder).verdicts}
        print(_table(name, truths, rows), flush=True)


def _told(row: dict[str, Any]) -> dict[str, Any]:
    truth = row["truth"]
    return {"id": row["id"], "iou": round(truth["iou"], 4), "mask_type": truth.get("defect", "erode")}


# --- the inputs ---


def _inputs(data: Path, out: Path) -> dict[str, Path]:
    every = [one for one in read_material(data, families=FAMILIES).of("test", "unseen") if one.categories]
    pictures = [one for one in every if one.complete and len(one.objects) < MOST_LISTED]
    pets = [one for one in every if one.source == "pets"]  # portraits: one animal each
    made = {"real": partial(_real, pictures + pets), "wrong": partial(_wrong, pictures), "refcocos": partial(_refcocos, data),
            "videos": partial(_videos, data / "video")}  # fmt: skip
    found = {}
    for name, make in made.items():
        folder = out / "inputs" / name
        if not (folder / "items.jsonl").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps(row) for row in make(folder)]
            (folder / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        found[name] = folder / "items.jsonl"
    return found | {"scenes": _scenes(out)}


def _item(folder: Path, name: str, picture: Path, mask: Any, *, text: str, cluster: str, truth: dict[str, Any]) -> dict[str, Any]:
    """A line of an input, with its frame and mask written beside it."""
    frame = folder / "frames" / f"{cluster}{picture.suffix}"
    if not frame.is_file():
        frame.parent.mkdir(exist_ok=True)
        frame.write_bytes(picture.read_bytes())
    path = folder / "masks" / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode_mask(mask))
    return {"id": name, "frame": f"frames/{frame.name}", "mask": f"masks/{path.name}", "text": text, "clip": cluster, "truth": truth}


def _cluster(picture: Picture) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in picture.cluster)


def _real(pictures: list[Picture], folder: Path) -> Iterator[dict[str, Any]]:
    for picture in pictures:
        truths = picture.masks()
        drawn = [one for one in picture.real if one.family not in MAY_TRAIN and picture.categories.count(picture.categories[one.target]) == 1]
        rng = generator(SEED, "by words", "real", picture.cluster)
        for number in rng.permutation(len(drawn))[: 1 if picture.source == "pets" else 2 * PER_PICTURE]:
            one = drawn[int(number)]
            mask = decode(one.rle)
            name = f"{_cluster(picture)}-{number}"
            yield _item(
                folder, name, picture.path, mask, text=f"the {picture.categories[one.target]}", cluster=_cluster(picture),
                truth={"iou": _iou(mask, truths[one.target])},
            )


def _wrong(pictures: list[Picture], folder: Path) -> Iterator[dict[str, Any]]:
    for picture in pictures:
        frame, masks = picture.frame(), picture.masks()
        large = [at for at, mask in enumerate(masks) if mask.mean() >= LEAST_SHARE and np.count_nonzero(mask) >= LEAST_PX]
        if len(large) < 2:
            continue
        facts = Facts(things=tuple(_thing(str(at), masks[at], frame) for at in large), duration_s=0.0, silent=True)
        forms = _naming(facts)
        rng = generator(SEED, "by words", "wrong", picture.cluster)
        for at in rng.permutation(large)[:PER_PICTURE]:
            told = {}
            if picture.categories.count(picture.categories[at]) == 1:
                told["category"] = f"the {picture.categories[at]}"
            if forms.get(str(at)):
                families = sorted(forms[str(at)])
                some = forms[str(at)][families[int(rng.integers(len(families)))]]
                told["place"] = phrase(rng, some[int(rng.integers(len(some)))]).text
            other = int(rng.choice([one for one in large if one != at]))
            for kind, text in told.items():
                for shown in (int(at), other):
                    name = f"{_cluster(picture)}-{kind}-{at}-{shown}"
                    truth = _whole(masks[shown], masks[at])
                    yield _item(folder, name, picture.path, masks[shown], text=text, cluster=_cluster(picture), truth=truth)


def _refcocos(data: Path, folder: Path) -> Iterator[dict[str, Any]]:
    told = json.loads((data / "images/coco/instances.json").read_text(encoding="utf-8"))
    names = {row["file_name"]: row["id"] for row in told["images"]}
    for row in json.loads((data / "referring/refcocos_sentences.json").read_text(encoding="utf-8")):
        if not row["image_available"]:
            continue
        own = [one for one in told["annotations"] if one["image_id"] == names[row["image"]] and not one["iscrowd"]]
        masks = {one["id"]: decode(one["rle"]) for one in own}
        path = next((data / "images/coco").rglob(row["image"]))
        for shown, mask in masks.items():
            if np.count_nonzero(mask) >= LEAST_PX or shown == row["ann_id"]:
                name, truth = f"{path.stem}-{shown}", _whole(mask, masks[row["ann_id"]])
                yield _item(folder, name, path, mask, text=row["sentence"], cluster=path.stem, truth=truth)


def _videos(data: Path, folder: Path) -> Iterator[dict[str, Any]]:
    for listed in (data / "davis2016/expressions.json", data / "dogs-jump/expressions.json"):
        for number, row in enumerate(json.loads(listed.read_text(encoding="utf-8"))["expressions"]):
            root = listed.parent if listed.parent.name == row["video"] else listed.parent / row["video"]
            frames = sorted((root / "frames").iterdir())
            middle = frames[len(frames) // 2]
            labels = np.asarray(Image.open(root / "masks" / f"{middle.stem}.png")).astype(int)
            masks = {shown: labels == shown for shown in np.unique(labels[labels > 0]).tolist()}
            meant = masks.get(1 if row["object"] == "foreground" else row["object"], np.zeros_like(labels, bool))
            for shown, mask in masks.items():
                yield _item(folder, f"{row['video']}-{number}-{shown}", middle, mask, text=row["exp"], cluster=row["video"], truth=_whole(mask, meant))


def _scenes(out: Path) -> Path:
    folder = out / "inputs" / "scenes"
    if not (folder / "wrong.jsonl").is_file():
        auscult = [sys.executable, "-m", "auscult"]
        make = ["make", "scenes", "--count", "30", "--seed", "9303", "--split", "test_s", "--size", "240x427", "--out", str(out / "made-scenes")]
        build = ["stress", "masks", str(out / "made-scenes"), "--suite", "mqa", "--protocol", "image", "--out", str(folder)]
        for words in (make, build):
            subprocess.run([*auscult, *words, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        rows = [json.loads(line) for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]
        kept = [row for row in rows if row["truth"]["defect"] in {"perfect", "full_neg"}]
        (folder / "wrong.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in kept), encoding="utf-8")
    return folder / "wrong.jsonl"


def _whole(mask: Any, truth: Any) -> dict[str, Any]:
    same = mask is truth
    return {"iou": _iou(mask, truth), "defect": "perfect" if same else "full_neg", "action": "accept" if same else "reject"}


def _iou(mask: Any, truth: Any) -> float:
    return float(np.count_nonzero(mask & truth) / np.count_nonzero(mask | truth))


# --- the numbers ---


def _table(name: str, truths: dict[str, Any], rows: dict[str, Any]) -> str:
    clusters = [str(row["clip"]) for row in truths.values()]
    wrong = sum(row["truth"]["iou"] < 0.5 for row in truths.values())
    lines = [f"\n## {name}: {len(truths)} masks ({wrong} with an IoU below .5) of {len(set(clusters))} photographs or scenes\n"]
    whole = name != "real"
    head = ["judge", "judged", *(["AUC right over wrong", "right kept", "wrong rejected"] if whole else ["Spearman", "RMSE", "AUC of IoU >= .8"])]
    lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    ious = np.array([row["truth"]["iou"] for row in truths.values()])
    fixed = {name: _Fixed(float(ious.mean())) for name in truths}
    for judge, said in {**rows, "constant (the mean)": fixed}.items():
        known = [one for one in truths if one in said and said[one].iou is not None]
        cells = [_measured(how, truths, said, known) for how in (_WHOLE if whole else _REAL)]
        lines.append(f"| {judge} | {len(known)} | {' | '.join(cells)} |")
    return "\n".join(lines)


class _Fixed:
    """What the constant row says."""

    defect, action = "perfect", "accept"

    def __init__(self, iou: float) -> None:
        self.iou = iou


def _measured(how: Any, truths: dict[str, Any], said: dict[str, Any], known: list[str]) -> str:
    ranks = reals([said[one].iou for one in known])
    predicted = JudgeColumns(iou=ranks, rank=ranks, defect=texts([said[one].defect for one in known]), action=texts([said[one].action for one in known]))
    true = TruthColumns(
        iou=reals([truths[one]["truth"]["iou"] for one in known]), cluster=texts([truths[one]["clip"] for one in known]),
        defect=texts([truths[one]["truth"].get("defect", "perfect") for one in known]),
    )
    measured = how(predicted, true)
    draws = ClusterDraws.of(measured.clusters, rng=partial(generator, SEED, "by words"), replicates=1000)
    found = with_interval(measured.outcome, draws.values(measured), clusters=measured.drawn_from, drawn="photographs", within=measured.within)
    if not hasattr(found, "value"):
        return f"– ({found.reason})"
    if measured.drawn_from < LEAST_CLUSTERS:  # too few for a claim: the count alone
        return f"{round(found.value * measured.n)} of {measured.n}" if isinstance(how, partial) else f"{found.value:.2f}"
    ends = (getattr(found, "low", None), getattr(found, "high", None))
    return f"{found.value:.2f}" + ("" if ends[0] is None else f" [{ends[0]:.2f}, {ends[1]:.2f}]")


def _share(right: bool, predicted: JudgeColumns, true: TruthColumns) -> Any:
    chosen = np.flatnonzero((true.iou >= 0.5) == right)
    values = np.array([(predicted.action[at] != "reject") == right for at in chosen], dtype=float)
    return measures.mean_of(values, [true.cluster[at] for at in chosen], without="there is none", metric="share")


_REAL = (measures.spearman, measures.rmse, measures.auc_of_good)
_WHOLE = (measures.auc_of_good, partial(_share, True), partial(_share, False))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--judge", action="append", default=[], help="a further judge; repeat it for several")
    parser.add_argument("--only", default="", help="only judges with this in their name")
    return parser.parse_args()


if __name__ == "__main__":
    main()
