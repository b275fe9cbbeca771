"""People say of an agent's choices whether they are reasonable: the page, its answers, and the table."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from auscult.agent.debate import CHOICE_SETS, AgentLog, Choice, Offer, Proposal, debate
from auscult.agent.evaluation.labels import Labelled, labelled, offer_for
from auscult.agent.review import ANSWERS, ChoicesOptions, choices_of, rate_choices
from auscult.errors import NothingToDo, UsageError

HOSTILE = "<img src=x onerror=alert(1)>"


class Takes:
    """Takes what is needed in one set, and everything in the others."""

    name = "takes"

    def __init__(self, label: Labelled) -> None:
        self._label = label

    def propose(self, instruction: str, offer: Offer, other: Proposal | None = None) -> Proposal:
        del instruction
        needed_names = self._label.labels["perturbations"].needed
        choices = {
            choice_set: tuple(
                Choice(
                    type=item.name, reason=HOSTILE, selected=choice_set != "perturbations" or item.name in needed_names
                )
                for item in offer.of(choice_set)
            )
            for choice_set in CHOICE_SETS
        }
        return other or Proposal(**choices)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    for label in labelled()[:3]:
        debater = Takes(label)
        log = AgentLog(folder)
        debate(debater, debater, instruction=label.instruction, offer=offer_for(label.task), rounds=1, log=log)
    return folder


def _answers(path: Path, rows: list[str]) -> Path:
    path.write_text("\r\n".join(("item,rater,answer", *rows, "")))
    return path


def test_the_page_shows_choices_of_each_set_and_no_markup_of_a_reason(study: Path, tmp_path: Path) -> None:
    rate_choices(ChoicesOptions(folders=(study,), count=5, out=tmp_path / "page"))
    html = (tmp_path / "page/choices.html").read_text()
    assert HOSTILE not in html
    assert 'class="contents"' not in html, "questions come first, not a screen of sentences to click"
    assert html.count("&lt;img src=x") == html.count('class="panel question"') == 15
    assert html.count("sample, taken") == html.count("perturbation, ") == 5
    assert all(label.instruction.split(",")[0] in unescape(html) for label in labelled()[:3])
    rate_choices(ChoicesOptions(folders=(study,), count=5, seed=1, out=tmp_path / "other"))
    assert (tmp_path / "other/choices.html").read_text() != html


def test_captions_are_of_the_samples_that_were_chosen_from(study: Path, tmp_path: Path) -> None:
    caption = offer_for("vos").samples[0].summary.removesuffix(".")
    rate_choices(ChoicesOptions(folders=(study,), count=999, out=tmp_path / "labelled"))
    page = unescape((tmp_path / "labelled/choices.html").read_text())
    assert f"{caption}. Reason given" in page
    debater, study_folder = Takes(labelled()[0]), tmp_path / "own"
    study_folder.mkdir()
    debate(debater, debater, instruction="of my own", offer=offer_for("vos"), rounds=1, log=AgentLog(study_folder))
    rate_choices(ChoicesOptions(folders=(study_folder,), count=999, out=tmp_path / "page"))
    assert caption not in unescape((tmp_path / "page/choices.html").read_text()), "a sample of the same name is another"


def test_rate_by_people_stands_beside_the_labels_of_the_same_choices(study: Path, tmp_path: Path) -> None:
    choices = {choice.id: choice for choice in choices_of(study)}
    perturbation_choices = [choice for choice in choices.values() if choice.choice_set == "perturbations"]
    first, second = (
        [choice.id for choice in perturbation_choices if choice.instruction == label.instruction]
        for label in labelled()[:2]
    )
    rows = [f"{item},ann,reasonable" for item in first] + [f"{item},ben,not reasonable" for item in first]
    rows += [f"{item},ann,not reasonable" for item in second]
    options = ChoicesOptions(folders=(study,), answers=(_answers(tmp_path / "a.csv", rows),), out=tmp_path / "rated")
    summary, (table,) = rate_choices(options)
    samples, perturbations, _ = table.rows
    assert samples == ("samples", "0", "0", "0", "0", "–", "–")
    assert perturbations[1:5] == ("2", str(len(first + second)), str(len(rows)), "2")
    people, labels = (summary.metrics[f"perturbations, {rater}"] for rater in ("people", "labels"))
    assert people["value"] == 0.25, "(1/2 + 0) / 2"
    assert people["low"] <= 0.25 <= people["high"]
    assert labels["value"] == 1, "who takes exactly what is needed is reasonable by the labels"


def test_rows_of_no_use_are_named_and_the_others_count(study: Path, tmp_path: Path) -> None:
    item = next(choices_of(study)).id
    bad = [
        f"{item},ann,not reasonable", "../x,ann,reasonable", f"{item},,reasonable", f"{item},ben,maybe",
        f"{'9' * 16},ann,reasonable", f"{item},ben,{HOSTILE}",
    ]  # fmt: skip
    path = _answers(tmp_path / "a.csv", [f"{item},ann,reasonable", *bad])
    summary, _ = rate_choices(ChoicesOptions(folders=(study,), answers=(path,), out=tmp_path / "rated"))
    assert (summary.n, summary.failed) == (7, 6)
    assert summary.metrics["samples, people"]["value"] == 1
    lines = [json.loads(line)["line"] for line in (tmp_path / "rated/errors.jsonl").read_text().splitlines()]
    assert lines == [3, 4, 5, 6, 7, 8]
    path = _answers(tmp_path / "b.csv", ["x,ann,reasonable"])
    with pytest.raises(NothingToDo, match="no answer; first problem: no choice is 'x'"):
        rate_choices(ChoicesOptions(folders=(study,), answers=(path,), out=tmp_path / "none"))
    with pytest.raises(UsageError, match="there is no debate"):
        rate_choices(ChoicesOptions(folders=(tmp_path,), out=tmp_path / "none"))


@pytest.mark.slow
def test_a_browser_exports_what_is_read_back(study: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no browser")
    rate_choices(ChoicesOptions(folders=(study,), count=3, out=tmp_path / "page"))
    script = """
for (const radio of document.querySelectorAll(".question input")) if (radio.value === "not reasonable") radio.click();
const rater = document.querySelector("#answering input");
rater.value = '=1+1, "ann"';
rater.dispatchEvent(new Event("input", { bubbles: true }));
URL.createObjectURL = (blob) => { blob.text().then((text) => {
  const shown = document.body.appendChild(document.createElement("pre"));
  shown.id = "exported"; shown.textContent = JSON.stringify(text);
}); return "#"; };
document.querySelector("#answering button").click();
"""
    html = re.sub(r"<meta http-equiv[^>]*>", "", (tmp_path / "page/choices.html").read_text())
    (tmp_path / "page.html").write_text(html.replace("</body>", f"<script>{script}</script></body>"))
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}")
    command = (browser, *options, "--virtual-time-budget=3000", "--dump-dom", (tmp_path / "page.html").as_uri())
    page = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    (exported,) = re.findall(r'<pre id="exported">(".*")</pre>', page)
    path = tmp_path / "answers.csv"
    path.write_text(json.loads(unescape(exported)), newline="")
    assert "9 of 9 answered" in page
    assert ANSWERS[1] in path.read_text()
    summary, _ = rate_choices(ChoicesOptions(folders=(study,), answers=(path,), out=tmp_path / "rated"))
    assert (summary.ok, summary.failed) == (9, 0)
    assert summary.metrics["metrics, people"]["value"] == 0
