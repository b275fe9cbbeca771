"""Many statistics on the same draws of clusters, in pieces that fit in memory.

What is compared (models, kinds of stress, severities) is drawn together: in each draw every model meets the same
videos, so that what makes a video hard for all cancels. A column of the sums may be any quantity that adds up.
"""

from __future__ import annotations

import numpy as np

from auscult.errors import InputError
from auscult.score.stats.resample import Floats, FromSums, cluster_draws

CELLS = 2_000_000


def drawn(
    sums: Floats, statistic: FromSums, *, rng: np.random.Generator, replicates: int, cells: int = CELLS
) -> Floats:
    """A statistic of sums, in each draw of whole clusters with replacement.

    Args:
        sums: What adds up, cluster by cluster, (clusters, k).
        statistic: From (draws, k) to one row or number for each draw; NaN where it does not exist.
        rng: The generator of this draw, from ``auscult.rng.generator``.
        replicates: How often to draw.
        cells: Draws times clusters that are held at once. The values are the same for any number.

    Returns:
        (replicates,) or (replicates, m), as ``statistic`` gives.

    Raises:
        InputError: There is no cluster, or ``replicates`` is below 1.
    """
    clusters = len(sums)
    step = max(1, cells // max(1, clusters))
    parts = []
    for start in range(0, max(1, replicates), step):
        weights = cluster_draws(clusters, rng=rng, replicates=min(step, replicates - start))
        parts.append(statistic(weights @ sums))
    return np.concatenate(parts)


def drawn_fields(level: float, replicates: int) -> dict[str, object]:
    """How an interval was made, for its signature.

    Raises:
        InputError: ``level`` is out of range.
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", expected="between 0 and 1, such as 0.95")
    return {"interval": "percentile bootstrap", "drawn": "clusters", "level": f"{level:g}", "replicates": replicates}
