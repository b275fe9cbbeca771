"""A report as one HTML file: no network, no script but its own, readable without any script, on paper and on a phone.

Ids, expressions and sentences come from files that nobody has checked. They reach the page as escaped text only, and
the content security policy allows the one inline script by its hash and pictures that are part of the file.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from auscult.report.curves import Stack, bars, histogram
from auscult.report.facts import (
    ACTION_MEANING,
    ACTION_WORDS,
    DEFECT_MEANING,
    RANK,
    UNDECIDED,
    UNLIKE,
    action_key,
    estimates_note,
    interval,
    number,
    percent,
)
from auscult.report.page import IOU_BINS, LARGE, PICTURED, ReportPage, Row, truth_scatter
from auscult.types import ACTIONS, DEFECTS, Evidence

_TEMPLATES = resources.files("auscult.report") / "templates"
_BOOT = 'document.documentElement.classList.add("js");'
_SENSES = ("shape", "boundary", "identity", "sound")


def render(page: ReportPage) -> str:
    """Lay out a report as one self-contained HTML file.

    Args:
        page: What to show.

    Returns:
        The file's text, UTF-8 when written; under 12 MB for 1,000 items with the pictures that ``page_from_run`` keeps.
    """
    script, style = _asset("report.js"), _asset("report.css")
    allowed = " ".join(f"'sha256-{_digest(text)}'" for text in (_BOOT, script))
    return (
        _environment()
        .get_template("report.html")
        .render(
            page=page,
            script=Markup(script),  # noqa: S704 - our own file
            style=Markup(style),  # noqa: S704 - our own file
            csp=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}; "
            "base-uri 'none'; form-action 'none'",
            boot=Markup(_BOOT),  # noqa: S704 - our own text
            actions=_actions(page),
            defects=[name for name in (*DEFECTS, "empty") if page.by_defect.get(name)],
            iou_chart=_iou_chart(page),
            defect_chart=_defect_chart(page),
            truth_chart=None if page.truth is None else truth_scatter(page.truth.points),
            large=LARGE,
            pictured=PICTURED,
            without_picture=sum(row.thumbnail is None and row.crop is None for row in page.rows),
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        action_words=ACTION_WORDS,
        action_meaning=ACTION_MEANING,
        defect_meaning=DEFECT_MEANING,
        number=number,
        interval=interval,
        percent=percent,
        unlike_from=UNLIKE,
        estimates_note=estimates_note,
        wrong=_wrong,
        action_key=action_key,
        jpeg=_jpeg,
        evidence=_evidence,
        likely=_likely,
        sort_keys=_sort_keys,
    )
    return environment


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode("ascii")


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _jpeg(picture: bytes) -> Markup:
    return Markup("data:image/jpeg;base64,") + Markup(b64encode(picture).decode("ascii"))  # noqa: S704 - base64


def _evidence(evidence: Evidence) -> dict[str, list[str]]:
    """The senses that were used and those that were not."""
    used = [sense for sense in _SENSES if getattr(evidence, sense)]
    return {"checked": used, "unchecked": [sense for sense in _SENSES if sense not in used]}


def _wrong(row: Row) -> str:
    """What the marks on a picture say, in words for who cannot see them; empty where nothing is marked."""
    said = []
    if row.missing:
        said.append(f"likely missing, blue with stripes: {percent(row.missing)} of the object")
    if row.extra:
        said.append(f"likely too much, yellow with dots: {percent(row.extra)} of the mask")
    return "; ".join(said)


def _likely(row: Row) -> str:
    """The defects' probabilities in words, most probable first; those under 1 % left out."""
    ordered = sorted(row.verdict.defect_probs.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {number(share)}" for name, share in ordered if share >= 0.01)


def _sort_keys(row: Row) -> dict[str, str]:
    """What the script sorts by: estimated IoU, width of its interval, novelty, probability of a good mask."""
    verdict = row.verdict
    width = 0.0 if verdict.iou_low is None or verdict.iou_high is None else verdict.iou_high - verdict.iou_low
    return {
        "iou": "-1" if verdict.iou is None else number(verdict.iou, 4),
        "width": number(width, 4),
        "novelty": number(verdict.novelty, 4),
        "good": "2" if verdict.prob_iou_80 is None else number(verdict.prob_iou_80, 6),
    }


def _actions(page: ReportPage) -> list[str]:
    return [*ACTIONS, *([UNDECIDED] if page.by_action.get(UNDECIDED) else [])]


def _worst_to_best() -> list[str]:
    return sorted(RANK, key=RANK.__getitem__)


def _iou_chart(page: ReportPage) -> Markup:
    stacks = [
        Stack(
            f"IoU {index / IOU_BINS:.2f} to {(index + 1) / IOU_BINS:.2f}",
            tuple(
                (f"a-{action}", ACTION_WORDS[action], page.iou_bins[action][index])
                for action in _worst_to_best()
                if action in page.iou_bins
            ),
        )
        for index in range(IOU_BINS)
    ]
    total = sum(stack.total for stack in stacks)
    label = f"Estimated IoU of {total} masks: " + (_spoken(stacks) or "none")
    return histogram(stacks, label=label, ticks={edge: f"{edge / IOU_BINS:.1f}" for edge in range(0, IOU_BINS + 1, 4)})


def _defect_chart(page: ReportPage) -> Markup:
    stacks = [
        Stack(
            name,
            tuple(
                (f"a-{action}", ACTION_WORDS[action], page.defect_actions[name].get(action, 0))
                for action in _worst_to_best()
            ),
        )
        for name in (*DEFECTS, "empty")
        if name in page.defect_actions
    ]
    return bars(stacks, label="Masks by defect: " + (_spoken(stacks) or "none"))


def _spoken(stacks: Sequence[Stack]) -> str:
    return ", ".join(f"{stack.label}: {stack.total}" for stack in stacks if stack.total)
