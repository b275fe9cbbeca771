"""A chat judge and a cascade with it through ``run mqa``: asked where needed, paid once, within the budget."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import auscult.suites.registered as suites
from chat_server import completed, serving
from small_inputs import LEFT, RIGHT, rows, save_frame, save_mask, write_lines

pytestmark = [pytest.mark.extra_chat, pytest.mark.slow]
REPLY = "<audit> <iou> 0.0 </iou> <mask_type> full_neg </mask_type> <action> reject </action> </audit>"
CASCADE = "cascade.masks.cues.v1+chat.served"
USD = 0.0015  # of a reply


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.suites.mqa.evaluate.REPLICATES", 20)
    monkeypatch.setattr("auscult.suites.mqa.evaluate.RANK_DRAWS", 5)


def benchmark_in(folder: Path) -> Path:
    """Right and wrong masks on three frames."""
    save_mask(folder / "right.png", LEFT)
    save_mask(folder / "wrong.png", RIGHT)
    lines = []
    for number in range(3):
        save_frame(folder / f"{number}.png", seed=number)
        for name, defect, iou in (("right", "perfect", 1.0), ("wrong", "full_neg", 0.0)):
            truth = {"iou": iou, "defect": defect, "action": "accept" if iou else "reject"}
            lines.append({"id": f"{number}/{name}", "frame": f"{number}.png", "mask": f"{name}.png", "text": "the dog",
                          "clip": str(number), "truth": truth, "mqa": {"split": "test_s"}})  # fmt: skip
    write_lines(folder / "items.jsonl", *lines)
    return folder


def run(tmp_path: Path, url: str, *judges: str, **options):
    profile = tmp_path / "served.toml"
    profile.write_text('model = "served"\nvideo = "none"\nsounds = "none"\n[price]\nsent = 100.0\nreceived = 100.0\n')
    return suites.run("mqa", data=tmp_path / "in", out=tmp_path / "out", judges=judges, workers=0, base_url=url,
                      profile=profile, max_connections=2, **options)  # fmt: skip


def test_a_chat_judge_and_a_cascade_with_it_are_rows_with_their_cost(tmp_path: Path) -> None:
    benchmark_in(tmp_path / "in")
    with serving(lambda *_: completed(REPLY)) as server:
        suite_run = run(tmp_path, server.url, "cues", "chat:served", "cascade:cues,chat:served")
        n_requests = len(server.bodies)
        second_run = run(tmp_path, server.url, "cues", "chat:served", "cascade:cues,chat:served")
        assert len(server.bodies) == n_requests
    assert second_run.summary == suite_run.summary
    assert suite_run.summary.failed == 0
    n_by_judge = Counter(row["judged_by"] for row in rows(tmp_path / "out" / "judges" / CASCADE / "verdicts.jsonl"))
    assert n_by_judge["chat.served"] >= 3
    costs = {
        row[0]: dict(zip(suite_run.tables["costs"].header, row, strict=True)) for row in suite_run.tables["costs"].rows
    }
    paid = {
        name: USD * len(rows(tmp_path / "out" / "judges" / name / "reply_cache.jsonl"))
        for name in ("chat.served", CASCADE)
    }
    assert costs["chat.served"]["USD/1,000"] == f"{1000 * paid['chat.served'] / 6:.3f}"  # probes included
    assert costs["masks.cues.v1"]["USD/1,000"] == "–"
    assert costs[CASCADE]["USD/1,000"] == f"{1000 * paid[CASCADE] / 6:.3f}"
    curve = suite_run.tables["image_seen_cascade"]
    assert curve.rows[-1][0] == "masks.cues.v1, chat.served"
    assert curve.rows[-1][3] == costs["chat.served"]["USD/1,000"]
    assert [row[0] for row in suite_run.tables["image_seen_f2_own_a"].rows][:2] == ["chat.served", CASCADE]


def test_a_budget_is_for_all_judges_together_and_leaves_a_cascade_its_cheap_verdicts(tmp_path: Path) -> None:
    benchmark_in(tmp_path / "in")
    earlier = tmp_path / "out" / "judges" / "chat.other"  # an earlier command has spent all
    with serving(lambda *_: completed(REPLY)) as server:
        run(tmp_path, server.url, "cues")
        write_lines(earlier / "reply_cache.jsonl", {"key": "x", "usage": {"cost": 5.0}})
        suite_run = run(tmp_path, server.url, "cues", "cascade:cues,chat:served", budget=5.0)
        assert not server.bodies
    assert suite_run.summary.failed == 0
    verdicts = rows(tmp_path / "out" / "judges" / CASCADE / "verdicts.jsonl")
    assert {row["judged_by"] for row in verdicts} == {"masks.cues.v1"}
    assert any("the budget is spent" in row["rationale"] for row in verdicts)
