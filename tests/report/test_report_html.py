"""The HTML file as a reader or a browser meets it: closed, complete, in order, small."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from auscult import report
from auscult.arrays.error_map import error_map_of
from auscult.errors import InputError
from auscult.report.audit import LISTED, page_of_audit
from auscult.report.overlay import crop, shrunk, small_overlay
from auscult.report.page import LARGE, PICTURED, Section, render
from auscult.report.page import Page as ReportPage
from auscult.types import ErrorMap, Evidence

Make = Callable[..., Any]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'{{ 7 * 7 }}<!--"
VOID = {"meta", "img", "input", "br", "link", "hr"}


def thumbnail(frame: np.ndarray, mask: np.ndarray, *, errors: ErrorMap | None = None) -> np.ndarray:
    return small_overlay(shrunk(frame), mask, errors=errors)


class Page(HTMLParser):
    """Keeps elements with their attributes and text, and checks that tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self._open[-1] if self._open else "", data.strip()))

    def all(self, tag: str, style: str | None = None) -> list[dict[str, str | None]]:
        return [
            attrs
            for name, attrs in self.elements
            if name == tag and (style is None or style in (attrs.get("class") or "").split())
        ]

    @property
    def words(self) -> str:
        return " ".join(" ".join(text.split()) for tag, text in self.texts if tag not in {"script", "style"})


def _html(run: Any, **options: Mapping[str, Any]) -> str:
    return render(page_of_audit(run, **{"thumbnails": {}, "crops": {}, "tables": {}, **options}))


def test_cards_come_worst_first_with_everything_a_reader_needs(verdict: Make, a_run: Make) -> None:
    verdicts = [
        verdict("good", action="accept", defect="perfect", iou=0.97),
        verdict("bad", iou=0.31, novelty=0.8),
        verdict("middling", action="major_revision", iou=0.78),
    ]
    rows = {"bad": {"text": "the dog on the left", "frame": "f_7.jpg", "reading": "index 2 of a palette"}}
    page = Page(_html(a_run(verdicts, rows=rows)))
    assert [text for tag, text in page.texts if tag == "h3"] == ["bad", "middling", "good"]
    assert [card["data-action"] for card in page.all("li", "card")] == ["reject", "major_revision", "accept"]
    for words in (
        "0.31",
        "[0.40, 0.60]",
        "“the dog on the left”",
        "f_7.jpg",
        "index 2 of a palette",
        "0.80 – out of distribution",
    ):
        assert words in page.words


def test_the_head_says_who_judged_what_when_and_what_was_not_checked(verdict: Make, a_run: Make) -> None:
    words = Page(_html(a_run([verdict("a"), verdict("b")]))).words
    for part in (
        "2 masks of photos/candidates",
        "masks.cues.v1",
        "default",
        "photos/candidates",
        "2026-01-02 03:04:05 UTC",
    ):
        assert part in words
    assert "Identity was not checked: these verdicts do not say whether the right object was segmented." in words
    assert "estimate made without ground truth" in words
    assert "Shape was not checked" not in words


def test_what_was_repaired_is_said_first_and_on_its_card(verdict: Make, a_run: Make) -> None:
    rows = {"a": {"repair": {"attempt": "fill", "before": {"iou": 0.7123}}}}
    words = Page(_html(a_run([verdict("a"), verdict("b")], rows=rows))).words
    assert "1 of 2 masks were repaired" in words
    assert words.count("Repaired by fill; estimated IoU before: 0.71.") == 1
    assert "repaired" not in Page(_html(a_run([verdict("b")]))).words


def test_what_was_checked_for_some_only_is_said_with_the_number(verdict: Make, a_run: Make) -> None:
    evidence = Evidence(shape=True, boundary=True, identity=True)
    words = Page(_html(a_run([verdict("a", evidence=evidence), verdict("b")]))).words
    assert "Identity was not checked for 1 of 2 masks" in words


def test_counts_and_filters_are_those_of_the_record(verdict: Make, a_run: Make) -> None:
    verdicts = [verdict("a"), verdict("b"), verdict("c", action="accept", defect="perfect")]
    summary = {"n": 7, "ok": 3, "failed": 4, "undefined": 0, "metrics": {}}
    html = _html(a_run(verdicts, summary=summary))
    page = Page(html)
    assert "7 items 3 judged 4 failed 0 undefined" in page.words
    tally = {button["data-action"] for button in page.all("button") if button.get("data-action")}
    assert tally == {"accept", "minor_revision", "major_revision", "reject"}
    assert "2 reject throw away" in page.words
    assert "1 accept use as it is" in page.words
    chips = [button["data-defect"] for button in page.all("button") if button.get("data-defect")]
    assert chips == ["perfect", "erode"]
    charts = [chart["aria-label"] for chart in page.all("svg", "chart")]
    assert "Estimated IoU of 3 masks: IoU 0.50 to 0.55: 3" in charts
    assert "Masks by defect: perfect: 1, erode: 2" in charts


def test_nothing_is_fetched_and_only_our_script_may_run(verdict: Make, a_run: Make) -> None:
    picture = {"a": b"\xff\xd8jpeg"}
    html = _html(a_run([verdict("a")]), thumbnails=picture, crops=picture)
    page = Page(html)
    assert re.search(r"https?:|//[a-z]|@import|url\(", html) is None
    for _, attrs in page.elements:
        for name in ("src", "href", "action", "srcset", "data"):
            value = attrs.get(name)
            assert value is None or value.startswith(("#", "data:image/jpeg;base64,"))
        assert not any(name.startswith("on") for name in attrs)
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:;")
    for script in re.findall(r"<script>(.*?)</script>", html, re.DOTALL):
        assert b64encode(sha256(script.encode()).digest()).decode() in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_hostile_text_stays_text_everywhere(verdict: Make, a_run: Make) -> None:
    hostile = verdict(HOSTILE, rationale=HOSTILE, target=HOSTILE, distractor=HOSTILE, judge=HOSTILE)
    table = {"title": HOSTILE, "header": [HOSTILE], "rows": [[HOSTILE]], "note": HOSTILE}
    run = a_run(
        [hostile],
        rows={HOSTILE: {"text": HOSTILE, "frame": HOSTILE, "reading": HOSTILE}},
        errors=[dict.fromkeys(("path", "stage", "error", "expected", "hint"), HOSTILE) | {"id": HOSTILE + "2"}],
        scores=[{"id": HOSTILE, "metric": "masks.iou.v1", "value": 0.4, "outcome": "scored"}],
        summary={"metrics": {HOSTILE: {"value": 0.5, "signature": {HOSTILE: HOSTILE}}}},
    )
    plain = Page(_html(a_run([verdict("a")], scores=[{"id": "a", "metric": "masks.iou.v1", "value": 0.4}])))
    page = Page(_html(run, tables={"truth_1": table, "other": table}, thumbnails={HOSTILE: b"x"}))
    assert len(page.all("script")) == len(plain.all("script")) == 2
    assert not any("onerror" in attrs for _, attrs in page.elements)
    assert "{{ 7 * 7 }}" in page.words
    assert [text for tag, text in page.texts if tag == "h3"].count(" ".join(HOSTILE.split())) == 1


def test_errors_say_where_what_was_expected_and_what_to_do(a_run: Make) -> None:
    error = {
        "id": "dog/3",
        "path": "items.jsonl",
        "line": 12,
        "stage": "read",
        "error": "mask is 4 x 5 px, its frame 8 x 9 px",
        "expected": "one size",
        "hint": "export again",
    }
    page = Page(_html(a_run(errors=[error, {**error, "id": None, "line": 13}])))
    assert "dog/3" in page.words
    assert "items.jsonl:12" in "".join(text for tag, text in page.texts if tag == "code")
    for part in ("one size", "export again", "mask is 4 x 5 px", "There is no judged item.", "no item"):
        assert part in page.words
    assert page.all("li", "card") == []


def test_an_empty_record_is_a_page(a_run: Make) -> None:
    words = Page(_html(a_run())).words
    assert "0 masks of photos/candidates" in words
    assert "Nothing failed." in words


def test_a_verdict_without_iou_or_action_is_shown_as_such(verdict: Make, a_run: Make) -> None:
    bare = verdict("e", iou=None, iou_low=None, iou_high=None, defect_probs={}, action=None)
    page = Page(_html(a_run([bare])))
    assert "no IoU estimate" in page.words
    assert page.all("li", "card")[0]["data-action"] == "undecided"


def test_empty_masks_are_one_line_and_no_cards(verdict: Make, a_run: Make) -> None:
    undefined_fields = {"iou": None, "iou_low": None, "iou_high": None, "defect": "empty", "defect_probs": {}}
    empty = [
        verdict("e1", **undefined_fields),
        verdict("e2", **undefined_fields),
        verdict("e3", action="accept", **undefined_fields),
    ]
    page = Page(_html(a_run([*empty, verdict("a")])))
    assert [card["id"] for card in page.all("li", "card")] == ["i1"]
    assert "3 empty masks, where nothing is segmented: 2 reject, 1 accept e1, e2, e3" in page.words
    assert "3 empty masks" not in Page(_html(a_run([verdict("a")]))).words


def test_an_interval_that_says_nothing_is_not_known(verdict: Make, a_run: Make) -> None:
    words = Page(_html(a_run([verdict("a", iou=0.6, iou_low=0.0, iou_high=0.999)]))).words
    assert "0.60 [not known]" in words
    assert "[0.00" not in words


def test_pictures_have_words_and_the_large_view_comes_first(verdict: Make, a_run: Make) -> None:
    html = _html(a_run([verdict("a"), verdict("b", iou=0.9)]), thumbnails={"a": b"t", "b": b"u"}, crops={"a": b"c"})
    page = Page(html)
    assert [image["src"] for image in page.all("img")] == [
        "data:image/jpeg;base64," + b64encode(data).decode() for data in (b"c", b"t", b"u")
    ]
    assert all(image.get("alt") and image.get("loading") == "lazy" for image in page.all("img"))
    assert ["large" in (card["class"] or "") for card in page.all("li", "card")] == [True, False]


def test_controls_are_real_and_named(verdict: Make, a_run: Make) -> None:
    html = _html(a_run([verdict("a")]))
    page = Page(html)
    assert all(button.get("type") == "button" for button in page.all("button"))
    assert "<label>Search <input" in html
    assert page.all("html")[0]["lang"] == "en"
    ids = [attrs["id"] for _, attrs in page.elements if attrs.get("id")]
    assert len(ids) == len(set(ids))
    script = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)[-1]
    for name in re.findall(r'get\("([a-z]+)"\)', script):
        assert name in ids or name in {"view", "sort", "q"}


def test_truth_is_shown_on_its_own_page_only(verdict: Make, a_run: Make) -> None:
    scores = [
        {"id": "a", "metric": "masks.iou.v1", "value": 0.87654, "outcome": "scored"},
        {"id": "b", "metric": "masks.iou.v1", "value": None, "outcome": "failed"},
        {"id": "a", "metric": "masks.boundary_f.v1", "value": 0.1, "outcome": "scored"},
    ]
    table = {"title": "estimated against true IoU", "header": ["judge", "RMSE"], "rows": [["cues", "0.07"]], "note": ""}
    html = _html(a_run([verdict("a"), verdict("b")], scores=scores), tables={"truth_1_iou": table})
    before, _, tail = html.partition('<section id="truth"')
    inside, _, after = tail.partition("</section>")
    assert "a: true 0.88, estimated 0.50, reject" in inside
    assert inside.count("<circle") == 1
    assert "RMSE" in inside
    assert "0.88" not in before + after
    assert 'id="truth"' not in _html(a_run([verdict("a")]))


def test_metrics_come_from_the_summary_with_interval_and_signature(verdict: Make, a_run: Make) -> None:
    metric = {"value": 0.07123, "low": 0.05, "high": 0.09, "n": 40, "signature": {"metric": "rmse", "version": "1"}}
    page = Page(_html(a_run([verdict("a")], summary={"metrics": {"rmse": metric, "odd": {"value": None}}})))
    assert "rmse 0.0712 [0.05, 0.09] 40 metric:rmse|version:1" in page.words


def test_likely_errors_have_a_legend_and_words(verdict: Make, a_run: Make) -> None:
    rows = {"a": {"missing_share": 0.142, "extra_share": 0.004}, "b": {"missing_share": 0.0, "extra_share": 0.0}}
    run = a_run([verdict("a"), verdict("b", iou=0.9)], rows=rows)
    page = Page(_html(run, thumbnails={"a": b"t", "b": b"u"}, crops={"a": b"c"}))
    alts = [image["alt"] or "" for image in page.all("img")]
    for alt in (alts[0], "Mask a" + alts[0][6:]):
        assert alt.endswith("; likely missing, blue with stripes; likely too much, yellow with dots")
    assert alts[-1] == "Mask b on its frame"
    assert len(page.all("p", "marks")) == 1
    assert len(page.all("p", "wrong")) == 1
    assert "14 %" not in page.words, "the sentence tells how much, by its own measure; two numbers would differ"
    odd = {"a": {"missing_share": "much", "extra_share": 7}}
    for rows in ({}, odd):
        plain = Page(_html(a_run([verdict("a")], rows=rows)))
        assert plain.all("p", "marks") == plain.all("p", "wrong") == []


def test_what_was_meant_and_whether_that_was_checked_stands_on_the_card(verdict: Make, a_run: Make) -> None:
    known_verdict = verdict("a", evidence=Evidence(identity=True), target="the dog", distractor="the cat")
    page = Page(_html(a_run([known_verdict, verdict("b", iou=0.9)])))
    assert [text for tag, text in page.texts if text.startswith("identity ")] == [
        "identity checked",
        "identity not checked",
    ]
    assert "meant: the dog segmented instead: the cat" in page.words
    assert len(page.all("p", "named")) == 1


def _unlike(share: object, n: object = 500) -> dict[str, Any]:
    return {"metrics": {"unlike_share": {"value": share, "low": None, "high": None, "n": n, "signature": "s"}}}


def test_a_judge_out_of_its_depth_is_said_loudly_with_what_to_do(verdict: Make, a_run: Make) -> None:
    page = Page(_html(a_run([verdict("a")], summary=_unlike(0.38))))
    assert len(page.all("aside", "advice")) == 1
    assert "38 % of your items are out of distribution for this judge" in page.words
    for words in ("190 of 500 judged masks", "Widen.", "Calibrate.", "auscult act gate", "Compare.", "auscult compare"):
        assert words in page.words


def test_no_command_is_advised_that_would_refuse(verdict: Make, a_run: Make) -> None:
    for n, calibrate, gate in ((59, False, False), (60, True, False), (100, True, True)):
        words = Page(_html(a_run([verdict("a")], summary=_unlike(0.38, n)))).words
        assert ("auscult act calibrate" in words, "auscult act gate" in words) == (calibrate, gate)


def test_few_unlike_items_are_said_quietly_and_none_not_at_all(verdict: Make, a_run: Make) -> None:
    few = Page(_html(a_run([verdict("a")], summary=_unlike(0.1))))
    assert few.all("aside") == []
    assert "10 % of the items (50 of 500) are out of distribution for this judge" in few.words
    for share, n in ((0, 500), (None, 500), ("x", 500), (0.5, "many"), (7, 500)):
        assert "out of distribution for" not in Page(_html(a_run([verdict("a")], summary=_unlike(share, n)))).words


def test_a_broken_table_is_refused(verdict: Make, a_run: Make) -> None:
    with pytest.raises(InputError):
        page_of_audit(a_run([verdict("a")]), thumbnails={}, crops={}, tables={"truth_1": {"rows": 3}})


@pytest.mark.slow
def test_a_long_record_keeps_its_worst_and_says_where_the_rest_is(verdict: Make, a_run: Make) -> None:
    count = LISTED + 40
    verdicts = [verdict(f"{index:05}", iou=index / count) for index in range(count)]
    pictures = {verdict_.id: b"jpeg" for verdict_ in verdicts}
    page = Page(_html(a_run(verdicts), thumbnails=pictures, crops=pictures))
    assert len(page.all("li", "card")) == LISTED
    assert len(page.all("li", "large")) == LARGE
    assert len(page.all("img")) == PICTURED + LARGE
    assert f"The worst {LISTED:,} of {count:,} are listed here; all are in" in page.words
    assert f"{LISTED - PICTURED:,} items are shown without a picture" in page.words
    assert "3,040 masks" in page.words


def test_a_thousand_photographs_stay_under_twelve_megabytes(verdict: Make, a_run: Make) -> None:
    rng = np.random.default_rng(5)
    coarse = rng.normal(128, 50, (30, 54, 3)).clip(0, 255).astype(np.uint8)
    frame = cv2.resize(coarse, (854, 480), interpolation=cv2.INTER_CUBIC)
    frame = (frame + rng.normal(0, 9, frame.shape)).clip(0, 255).astype(np.uint8)
    mask = np.zeros((480, 854), bool)
    mask[120:380, 260:560] = True
    values = np.zeros((64, 64), np.float32)
    values[8:32, 48:56], values[40:48, 12:40] = 1, -1
    wrong = error_map_of(values, (200, 60, 620, 480))
    small = cv2.imencode(".jpg", thumbnail(frame, mask, errors=wrong), [cv2.IMWRITE_JPEG_QUALITY, 64])[1].tobytes()
    picture = crop(frame, mask, (260, 120, 330, 200), errors=wrong)
    large = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 72])[1].tobytes()
    verdicts = [verdict(f"clip_{index:04}/object/1", iou=index / 1000) for index in range(1000)]
    rows: dict[str, Any] = {verdict_.id: {"text": "the dog that barks on the left"} for verdict_ in verdicts}
    rows = {name: {**row, "frame": name, "missing_share": 0.14, "extra_share": 0.03} for name, row in rows.items()}
    thumbnails, crops = {verdict_.id: small for verdict_ in verdicts}, {verdict_.id: large for verdict_ in verdicts}
    html = _html(a_run(verdicts, rows=rows), thumbnails=thumbnails, crops=crops)
    assert len(html.encode()) <= 12_000_000
    assert html.count("<img ") >= 950
    huge = _html(a_run(verdicts, rows=rows), thumbnails=dict.fromkeys(thumbnails, bytes(40_000)), crops=crops)
    assert len(huge.encode()) <= 12_000_000
    counts = [card.count("<img ") for card in huge.split('<li class="card')[1:]]
    assert counts == sorted(counts, reverse=True)


def test_real_frames_stay_in_the_budget(data: Path, verdict: Make, a_run: Make) -> None:
    folder = data / "video" / "davis2016" / "goat"
    sizes = []
    for path in sorted((folder / "frames").glob("*.jpg"))[:4]:
        frame = np.ascontiguousarray(cv2.imread(str(path))[..., ::-1])
        truth = cv2.imread(str(folder / "masks" / f"{path.stem}.png"), cv2.IMREAD_GRAYSCALE) > 0
        small = thumbnail(frame, truth)[..., ::-1]
        large = crop(frame, truth, None)[..., ::-1]
        sizes.append(
            [
                len(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1])
                for picture, quality in ((small, 60), (large, 70))
            ]
        )
    small_mean, large_mean = np.mean(sizes, axis=0)
    assert small_mean * 900 + large_mean * LARGE <= 7_800_000


def test_what_the_estimates_come_to_stands_above_the_counts(verdict: Make, a_run: Make) -> None:
    shares = {"share_below_80": {"value": 0.314, "low": 0.24, "high": 0.391, "n": 1200, "signature": "s"}}
    looks = {"looks_for_90": {"value": 410, "low": None, "high": None, "n": 1200, "signature": "s"}}
    words = Page(_html(a_run([verdict("a", prob_iou_80=0.25)], summary={"metrics": {**shares, **looks}}))).words
    assert "masks under IoU .8 31 % [24 %, 39 %] looks that find 90 % of those under .8 410 of 1,200" in words
    assert "least likely to reach IoU .8 first" in words
    assert "probability 0.25" in words
    for broken in ({"value": "x"}, {"value": 7.0, "low": 0.1, "high": 0.2}, {"value": 0.5}, "text"):
        page = Page(_html(a_run([verdict("a")], summary={"metrics": {"share_below_80": broken}})))
        assert "masks under IoU .8" not in page.words


def test_the_models_own_score_has_a_section_and_its_text_stays_text(verdict: Make, a_run: Make) -> None:
    first = {"title": "beside", "header": ["", "n", "value"], "rows": [["Spearman", "2", "0.1"]], "note": HOSTILE}
    second = {
        "title": "far", "header": ["id", "iou", "rank", "score", "rank"], "note": "",
        "rows": [[HOSTILE, "0.50", "1", HOSTILE, "2"], ["gone", "0.50", "1", "0.5", "2"]],
    }  # fmt: skip
    tables = {"model_score_1_agreement": first, "model_score_2_disagreements": second}
    run = a_run([verdict(HOSTILE), verdict("b")], rows={HOSTILE: {"model_score": 0.625}, "b": {"model_score": HOSTILE}})
    html = _html(run, tables=tables, thumbnails={HOSTILE: b"\xff\xd8jpeg"})
    page = Page(html)
    assert "<script>alert" not in html
    assert "Judge against the model’s own score" in page.words
    assert f"rank 1 by the estimate, rank 2 by the model's score {' '.join(HOSTILE.split())}" in page.words
    assert [card["id"] for card in page.all("li", "card")] == ["is1", "i1", "i2"]
    assert page.words.count("model’s score 0.625") == 2
    assert "Judge against the model’s own score" not in Page(_html(run)).words


def test_names_of_commands_are_code_and_a_strangers_words_are_not_markup(verdict: Make, a_run: Make) -> None:
    page = Page(_html(a_run([verdict("a")], summary=_unlike(0.38))))
    codes = [text for tag, text in page.texts if tag == "code"]
    assert codes == [
        "auscult act calibrate DIR --labels marks.csv",
        "auscult act gate DIR --calibration marks.csv",
        "auscult compare DIR DIR",
        "verdicts.jsonl",
        "verdicts.csv",
    ]
    hostile = Section(name="s", title="s", notes=(f"`{HOSTILE}`",))
    page_of_note = Page(render(ReportPage(title="t", command="c", sections=(hostile,))))
    assert page_of_note.all("script") == []
    assert " ".join(HOSTILE.split()) in page_of_note.words


def test_markup_is_made_in_one_place() -> None:
    room = Path(report.__file__).parent
    sources = {path.relative_to(room.parent).as_posix(): path.read_text() for path in room.parent.rglob("*.py")}
    assert [name for name, text in sources.items() if "import Environment" in text] == ["report/page.py"]
    assert [name for name, text in sources.items() if "<svg" in text] == ["report/drawing.py"]
    files_with_markup = [name for name, text in sources.items() if re.search("<(html|body|table|div)", text)]
    assert files_with_markup == ["notebook.py"]  # a verdict in a notebook, which test_python_given feeds hostile words
    assert ["<!doctype html>" in path.read_text() for path in (room / "templates").glob("*.html")].count(True) == 1
