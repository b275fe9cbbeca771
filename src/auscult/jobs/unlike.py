"""How many items look unlike what the judge was calibrated on, counted for the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from auscult.outcome import Signature
from auscult.report.facts import UNLIKE, UNLIKE_SHARE
from auscult.types import Verdict


def unlike_share(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, Any]]:
    """Share of judged items with a novelty of ``UNLIKE`` or more, as a metric of ``summary.json``.

    Items without an estimate, such as empty masks, are left out: a rule judged them, not what the judge knows.

    Args:
        verdicts: Those of a record.

    Returns:
        ``unlike_share``, 0..1, lower is better; nothing where no item was judged and where every novelty is 0, which is
        what a judge writes that does not measure it.
    """
    measured = [verdict for verdict in verdicts if verdict.iou is not None and verdict.defect != "empty"]
    if not any(verdict.novelty > 0 for verdict in measured):
        return {}
    unlike = sum(verdict.novelty >= UNLIKE for verdict in measured)
    judges = ",".join(sorted({verdict.judge for verdict in measured}))
    signature = Signature.of(metric="share of items unlike the judge's data", novelty=f">={UNLIKE:g}", judge=judges)
    value = round(unlike / len(measured), 6)
    return {UNLIKE_SHARE: {"value": value, "low": None, "high": None, "n": len(measured), "signature": str(signature)}}
