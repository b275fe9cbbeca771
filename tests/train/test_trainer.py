"""A training whose loss is no number stops before anything good is lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from auscult.errors import InputError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Silent

torch = pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("accelerate", reason="the extra `train` is not installed")
pytestmark = pytest.mark.extra_train


@dataclass(frozen=True)
class Plan:
    decay: float = 0.0
    clip: float | None = None
    precision: str = "no"

    def rate_at(self, *_: int) -> float:
        return 0.1


class Numbers:
    """Batches that are their own number, one of which is NaN."""

    def batch(self, number: int, **_: int) -> Any:
        return torch.tensor([float("nan") if number == 3 else float(number)])


def test_a_loss_that_is_no_number_stops_a_training_and_keeps_the_state_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from auscult.train import trainer

    class Line(trainer.Trainer):
        recipe = "line"

        def losses(self, batch: Any) -> dict[str, Any]:
            return {"loss": self.net(batch).square().sum()}

    monkeypatch.setattr(trainer, "SAVED_EVERY_S", -1.0)  # after each step
    training = Line(torch.nn.Linear(1, 1), Numbers(), Plan(), seed=0, steps=6)
    with pytest.raises(InputError, match="line: the loss of step 3 is nan"):
        trainer.trained(training, TrainOptions(name="line", out=tmp_path, workers=0), Silent(), until=float("inf"))
    kept = torch.load(tmp_path / "state.pt", weights_only=True)
    assert kept["step"] == 3
    assert all(value.isfinite().all() for value in kept["net"].values())
    assert len((tmp_path / "losses.jsonl").read_text(encoding="utf-8").splitlines()) == 3
