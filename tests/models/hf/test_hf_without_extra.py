"""Hugging Face models where torch is not installed: registered, described, and plain about what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from auscult.errors import UsageError
from auscult.models.hf import clipseg, grounded_sam2, sam2_video, sam3
from auscult.nets import hf_folder

MODELS = [clipseg.MODEL, grounded_sam2.MODEL, sam2_video.MODEL, sam3.MODEL]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_extra_is_named(model: clipseg.Weighted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hf_folder, "find_spec", lambda _: None)
    for name in ("grounding_dino", "sam2"):
        (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match="needs the extra `hf`") as caught:
        model.using(tmp_path)
    assert "auscult[hf]" in caught.value.hint


def test_registration_loads_neither_library() -> None:
    code = (
        "import sys\n"
        "from auscult.models.hf import clipseg, grounded_sam2, sam2_video, sam3\n"
        "from auscult.nets import hf_clipseg, hf_grounding, hf_sam, hf_sam2_video, hf_sam3\n"
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
