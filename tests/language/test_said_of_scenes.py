"""What is said of scenes that were made: the facts are those that were drawn."""

from __future__ import annotations

import json
import re

import pytest
from test_grammar import superlatives

from auscult.jobs.make import make_scenes
from auscult.jobs.options import MakeOptions
from auscult.language.grammar import describe, nulls
from auscult.language.proof import Proof
from auscult.rng import generator
from auscult.scenes.facts import facts_from_json
from auscult.scenes.options import SceneOptions

SMALL = SceneOptions(size=(96, 170), seconds=6.0, rate_hz=8000, objects=(2, 6))


@pytest.mark.slow
def test_a_superlative_has_several_to_choose_from_in_made_scenes(tmp_path):
    out = tmp_path / "scenes"
    make_scenes(MakeOptions(out=out, count=20, seed=77, scene=SMALL, workers=0))
    checked = 0
    for number, line in enumerate((out / "scenes.jsonl").read_text(encoding="utf-8").splitlines()):
        facts = facts_from_json(json.loads(line)["facts"])
        rng = generator(number, "tests", "made")
        for expression in (*describe(rng, facts, most=20), *nulls(rng, facts, most=20)):
            for part in superlatives(expression.form):
                assert Proof(facts).values(part["of"]).count(True) > 1, expression.text
                checked += 1
            if re.match(r"(among|of|out of) the ", expression.text):
                assert expression.form["op"] == "most", expression.text
    assert checked > 100
