"""Hugging Face models where torch is not installed: registered, described, and plain about what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from auscult.errors import UsageError
from auscult.models import hf
from auscult.nets import hf_folder

MODELS = [hf.CLIPSEG, hf.GROUNDED_SAM2, hf.SAM2_VIDEO, hf.SAM3]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_extra_is_named(model: hf.Weighted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_folder, "find_spec", lambda _: None)
    for name in ("grounding_dino", "sam2"):
        (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match="needs the extra `hf`") as error:
        model.using(tmp_path)
    assert "auscult[hf]" in error.value.hint


def test_registration_loads_neither_library() -> None:
    code = (
        "import sys\n"
        "from auscult.models import hf\n"
        "from auscult.nets import hf_segmenters\n"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"
