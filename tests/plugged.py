"""A judge that comes as a plug-in: installed into a folder by a test, found through its entry point."""

from __future__ import annotations

import json
from pathlib import Path

_MODULE = '''
import dataclasses, hashlib, json, os
from pathlib import Path

from auscult.errors import InputError
from auscult.types import DEFECTS, Evidence, Metadata, Verdict


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


class Judge:
    """Keeps what it was given in the file of PLUGGED_LOG; what the expression says, it does."""

    name = "masks.plugged.v1"
    meta = Metadata(summary="a test's judge", goal="none", modality="mask", source="none")
    card = Path(__file__).with_name("card.json")

    def __call__(self, case, prediction):
        text = case.query.text
        if text == "refuse":
            raise InputError("this judge does not like it", expected="another item", hint="leave it out")
        if text == "raise":
            raise ZeroDivisionError("division by zero")
        if text == "die":
            os._exit(3)
        log = os.environ.get("PLUGGED_LOG")
        if log:
            seen = {
                "id": case.id,
                "case": sorted(field.name for field in dataclasses.fields(case)),
                "prediction": sorted(field.name for field in dataclasses.fields(prediction)),
                "text": text,
                "arrays": sorted(map(digest, (case.frame, prediction.mask, *case.others))),
                "others": len(case.others),
            }
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps(seen) + "\\n")
        share = float(prediction.mask.mean())
        return Verdict(
            id=case.id, iou=share, iou_low=share / 2, iou_high=(1 + share) / 2, defect="erode",
            defect_probs={name: 1.0 if name == "erode" else 0.0 for name in DEFECTS}, evidence=Evidence(shape=True),
            rationale="The share of the frame.", judge=self.name,
        )


JUDGE = Judge()
'''


def plug_in(site: Path, *, card: bool = True) -> str:
    """Install the judge into a folder that is to stand on ``sys.path``; gives its name."""
    return install(site, "masks.plugged.v1", module="plugged_judge", code=_MODULE, card=card)


def install(site: Path, name: str, *, module: str, code: str, card: bool = True, thing: str = "judges") -> str:
    """Install a judge, the ``JUDGE`` of some code, into a folder, or a ``MODEL`` of ``models``; gives its name."""
    package = site / module
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(code)
    info = site / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    member = thing.upper().removesuffix("S")
    (info / "entry_points.txt").write_text(f"[auscult.{thing}]\n{name} = {module}:{member}\n")
    if card:
        (package / "card.json").write_text(json.dumps(_card(name)))
    return name


def _card(name: str) -> dict[str, object]:
    from auscult.judge.cards import Card, Result

    number = Result(set="none", row=name, metric="rmse", value=0.5, low=None, high=None, n=1, clusters=1)
    return Card(
        judge=name,
        summary="a test's judge",
        data=("none",),
        split=("none",),
        sets={"none": "nothing"},
        metrics={"rmse": "lower is better"},
        seed=0,
        not_for=("anything",),
        results=(number,),
    ).as_json()
