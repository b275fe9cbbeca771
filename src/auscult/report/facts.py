"""What a record says of itself, in words for the head of the page: title, facts, metrics, and what was not checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from auscult.record.manifest import argument
from auscult.record.reader import Run
from auscult.types import Decision, Verdict

UNDECIDED = "undecided"
UNJUDGED = "unjudged"

RANK: dict[str, int] = {
    "reject": 0, "major_revision": 1, "minor_revision": 2, UNDECIDED: 3, "accept": 4, UNJUDGED: 5,
}  # fmt: skip


def action_key(action: Decision | None) -> str:
    """The action's name, or ``undecided`` where no policy has decided."""
    return UNDECIDED if action is None else action


def worst_first(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Order for reading: reject, major, minor, undecided, accept, unjudged; within an action the lowest IoU first.

    An undefined IoU comes before all others of its action, because somebody has to look at it. Ties are ordered
    by id, so that the same record always gives the same page.
    """
    return sorted(verdicts, key=_badness)


def _badness(verdict: Verdict) -> tuple[int, float, str]:
    iou = -1.0 if verdict.iou is None else verdict.iou
    return RANK[action_key(verdict.action)], iou, verdict.id


ACTION_WORDS: dict[str, str] = {
    "accept": "accept",
    "minor_revision": "minor revision",
    "major_revision": "major revision",
    "reject": "reject",
    UNDECIDED: "undecided",
    UNJUDGED: "unjudged",
}

ACTION_MEANING: dict[str, str] = {
    "accept": "use as it is",
    "minor_revision": "touch up",
    "major_revision": "redraw parts",
    "reject": "throw away",
    UNDECIDED: "no policy applied",
    UNJUDGED: "no basis to judge it",
}

DEFECT_MEANING: dict[str, str] = {
    "perfect": "no defect found",
    "cutout": "a piece is missing",
    "dilate": "too large",
    "erode": "too small",
    "merge": "another object too",
    "full_neg": "another object",
    "empty": "nothing segmented",
}


def number(value: float | None, digits: int = 2) -> str:
    """A score as text; a dash where there is none."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def percent(share: float) -> str:
    """A share as text, ``14 %``; above nothing never ``0 %``."""
    rounded = round(100 * share)
    return "< 1\u00a0%" if share > 0 and not rounded else f"{rounded}\u00a0%"


def interval(low: float | None, high: float | None) -> str:
    """An interval as text, ``[0.76, 0.90]``; empty where there is none, in words where it says nothing."""
    if low is None or high is None:
        return ""
    text = f"[{ends_text(low, high)}]"
    return "[not known]" if text == "[0.00, 1.00]" else text


def ends_text(low: float, high: float, digits: int = 2, *, signed: bool = False) -> str:
    """The ends of an interval as text, ``0.76, 0.90``; outwards where rounding to the nearest would leave no width."""
    ends = round(low, digits), round(high, digits)
    if ends[0] == ends[1] and low < high:
        ends = math.floor(low * 10**digits) / 10**digits, math.ceil(high * 10**digits) / 10**digits
    return ", ".join(f"{end + 0.0:{'+' if signed else ''}.{digits}f}" for end in ends)


def shortened(text: str, limit: int) -> str:
    """The text on one line, cut at a word with an ellipsis when it is longer than ``limit`` characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[limit // 2 :] else head) + "…"


UNLIKE: Final = 0.5
"""Novelty from which an item counts as out of distribution; each judge scales its novelty so."""

UNLIKE_SHARE: Final = "unlike_share"
"""Name of the metric of ``summary.json`` that holds the share of such items."""

BELOW_80: Final = "share_below_80"
BELOW_50: Final = "share_below_50"
LOOKS: Final = "looks_for_90"
AGREEMENT: Final = "agreement_with_model_score"
"""Names of metrics of ``summary.json`` that a report tells in words."""

_AGREEMENT: Final = "agreement with the model's own score"
_MANY: Final = 0.1

_MEANING = {
    "shape": "these verdicts do not say whether the outline is plausible",
    "boundary": "these verdicts do not say whether the edge follows the picture",
    "identity": "these verdicts do not say whether the right object was segmented",
    "sound": "these verdicts do not say whether the object makes the sound that was meant",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """How many items are out of distribution, as the summary says."""

    share: float  # of the judged items, 0..1
    n: int  # judged items

    @property
    def count(self) -> int:
        """How many items that are."""
        return round(self.share * self.n)

    @property
    def many(self) -> bool:
        """Whether that is worth a warning, not only a mention."""
        return self.share > _MANY


def unlike_of(summary: Mapping[str, Any], name: str = UNLIKE_SHARE) -> Unlike | None:
    """The share that the summary holds; None where there is none, and where it is 0."""
    metric = _mapping(_mapping(summary.get("metrics")).get(name))
    share, n = metric.get("value"), metric.get("n")
    if not isinstance(share, int | float) or not isinstance(n, int) or not 0 < share <= 1:
        return None
    return Unlike(share=float(share), n=n)


def estimates_of(summary: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The estimates of the summary, as label and text: shares of bad masks, looks that find them, agreement.

    Empty where the judge gives no probabilities and the model no score.
    """
    metrics = {str(name): _mapping(metric) for name, metric in _mapping(summary.get("metrics")).items()}
    facts = (
        ("masks under IoU .8", _shares(metrics.get(BELOW_80, {}))),
        ("masks under IoU .5", _shares(metrics.get(BELOW_50, {}))),
        ("looks that find 90 % of those under .8", _looks(metrics.get(LOOKS, {}))),
        (_AGREEMENT, _plain(metrics.get(AGREEMENT, {}))),
    )
    return tuple((label, text) for label, text in facts if text)


def estimates_note(estimates: Sequence[tuple[str, str]]) -> str:
    """A note that explains the numbers of ``estimates_of``."""
    labels = [label for label, _ in estimates]
    sentences = []
    if any(label != _AGREEMENT for label in labels):
        sentences.append("Estimates, with 90 % intervals; a look is one mask, the least likely to reach IoU .8 first.")
    if _AGREEMENT in labels:
        sentences.append("Agreement is Spearman's correlation with the estimated IoU, with its 95 % interval.")
    return " ".join(sentences)


def _shares(metric: Mapping[str, Any]) -> str:
    ends = [metric.get(key) for key in ("value", "low", "high")]
    numbers = [float(end) for end in ends if isinstance(end, int | float) and 0 <= end <= 1]
    if len(numbers) != len(ends):
        return ""
    value, low, high = numbers
    if percent(low) == percent(high):
        low, high = math.floor(100 * low) / 100, math.ceil(100 * high) / 100
    return f"{percent(value)} [{percent(low)}, {percent(high)}]" if low < high else percent(value)


def _looks(metric: Mapping[str, Any]) -> str:
    value, n = metric.get("value"), metric.get("n")
    if not isinstance(value, int | float) or not isinstance(n, int) or not 0 <= value <= n:
        return ""
    return f"{int(value):,} of {n:,}"


def _plain(metric: Mapping[str, Any]) -> str:
    """A number with its interval; empty where there is none."""
    if not isinstance(metric.get("value"), int | float):
        return ""
    return f"{number(metric['value'])} {interval(metric.get('low'), metric.get('high'))}".strip()


def title_of(run: Run) -> str:
    """What was judged, as a heading: how many masks and sounds of which input."""
    counts = [(len(run.sounds), "separated sound")] if run.sounds or (run.summary or {}).get("sound") else []
    if run.verdicts or not counts:
        counts.insert(0, (len(run.verdicts), "mask"))
    counted = " and ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
    return f"{counted} of {_end_of(str(argument(run.manifest, 'source') or run.path.name))}"


def _end_of(path: str) -> str:
    """The last two parts of a path: a shared report shows no private folders."""
    return "/".join([part for part in path.replace("\\", "/").split("/") if part][-2:])


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def policy_of(run: Run, name: str = "policy") -> str:
    """Name of the policy that decided; empty where there was none."""
    policy = argument(run.manifest, name)
    return str(policy.get("name", "")) if isinstance(policy, Mapping) else str(policy or "")


def facts_of(manifest: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Label and text of the facts in the manifest: input, layout, time, version with commit, seeds."""
    versions, seeds = _mapping(manifest.get("versions")), _mapping(manifest.get("seeds"))
    commit = str(manifest.get("commit") or "")[:12]
    version = str(versions.get("auscult") or "")
    if commit:
        version += f" ({commit}{', changed' if manifest.get('dirty') else ''})"
    facts = (
        ("Input", _end_of(str(argument(manifest, "source") or ""))),
        ("Layout", str(_mapping(manifest.get("inputs")).get("layout") or "")),
        ("Started", str(manifest.get("started") or "").replace("T", " ").replace("+00:00", " UTC")),
        ("auscult", version),
        ("Seed", ", ".join(f"{name} {seed}" for name, seed in seeds.items())),
    )
    return tuple((label, text) for label, text in facts if text)


def metrics_of(summary: Mapping[str, Any]) -> tuple[tuple[str, str, str, str], ...]:
    """Name, value with interval, n and signature of each metric of the summary, as they stand there."""
    metrics = {name: _mapping(metric) for name, metric in _mapping(summary.get("metrics")).items()}
    return tuple(
        (
            name,
            f"{_figure(metric.get('value'))} {interval(metric.get('low'), metric.get('high'))}".strip(),
            str(metric.get("n", "")),
            _signature(metric.get("signature")),
        )
        for name, metric in metrics.items()
    )


def _figure(value: object) -> str:
    return number(value, 4) if isinstance(value, int | float) else "–"


def _signature(value: object) -> str:
    if isinstance(value, Mapping):
        return "|".join(f"{key}:{text}" for key, text in value.items())
    return "" if value is None else str(value)


def unchecked_of(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Which senses no judge checked, and what that means for a reader."""
    notes = []
    for sense, meaning in _MEANING.items():
        count = sum(not getattr(verdict.evidence, sense) for verdict in verdicts)
        if count and count == len(verdicts):
            notes.append(f"{sense.capitalize()} was not checked: {meaning}.")
        elif count:
            notes.append(f"{sense.capitalize()} was not checked for {count:,} of {len(verdicts):,} masks: {meaning}.")
    return tuple(notes)


def interval_words(verdicts: Sequence[Verdict]) -> str:
    """What the ends beside these estimates are: replies of chat models tell how they vary, not how wrong they are."""
    if verdicts and all(verdict.iou_low is None for verdict in verdicts):
        return "without an interval"
    if verdicts and all(verdict.judge.startswith("chat.") for verdict in verdicts):
        return "with the 5th to 95th percentile of the replies, which does not say how wrong they are"
    return "with its 90 % interval"
