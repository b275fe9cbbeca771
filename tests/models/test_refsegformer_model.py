"""Networks of `auscult train rris` as models: from ONNX files without torch, from weights, and from damaged files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch

from auscult.errors import InputError, UsageError
from auscult.models.refsegformer import REFSEGFORMER, SMALL, TWO_STAGE, Trained
from auscult.models.spec import model_spec
from auscult.nets.refsegformer.answering import ANSWER, READER, STEM
from auscult.nets.refsegformer.network import predicted
from auscult.nets.refsegformer.settings import Design, squeezed
from auscult.nets.refsegformer.weights import begin, read_model, save
from auscult.train.rris.loop import export
from auscult.types import Query

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)

DESIGN = Design(
    side=64, tokens=6, vision="small", text="small", widths=(8, 16, 16, 32), depths=(1, 1, 1, 1), text_width=16,
    head_width=8, memory=3, blank=2,
)  # fmt: skip
FRAMES = np.random.default_rng(0).integers(0, 255, (2, 50, 70, 3), dtype=np.uint8)
TEXT = "the red box"
SEEN = squeezed(FRAMES[0], 64).transpose(2, 0, 1)[None].astype(np.float32) / 255


def write(folder: Path, *, bias: float = 0.0, onnx: bool = True, **changes: Any) -> Path:
    """A network as when its training begins, whose existence head says yes more or less; with ONNX files or not."""
    torch.manual_seed(0)
    model = begin(replace(DESIGN, **changes), words=("box", "red", "the"))
    if model.net.head is not None:
        model.net.head.mu.bias.data += bias
    if model.net.decoder is not None:  # half of the picture
        with torch.no_grad():
            mask_logits = model.net.eval()(torch.from_numpy(SEEN), *model.read([TEXT])).masks[0]
            ahead = (mask_logits[:, 1] - mask_logits[:, 0]).flatten().sort().values
        middle = len(ahead) // 2
        # between two pixels, and on none: one on the threshold falls by the last bit of a sum
        model.net.decoder.masks[0].bias.data[1] -= ahead[middle - 1 : middle + 1].mean()
    save(model, folder / "model")
    if onnx:
        export(read_model(folder / "model"), folder / "onnx")
    return folder


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    write(folder / "there", bias=9.0)
    write(folder / "nothing", onnx=False, bias=-9.0)
    write(folder / "two/segmenter", fusion="pwan", decoder_tokens=False, existence="none")
    write(folder / "two/classifier", decoder="none", fused=(4,), bias=9.0)
    shutil.copytree(folder / "two", folder / "never")
    shutil.rmtree(folder / "never/classifier")
    write(folder / "never/classifier", onnx=False, decoder="none", fused=(4,), bias=-9.0)
    return folder


def test_its_masks_are_those_of_the_network(networks: Path) -> None:
    model = read_model(networks / "there/model")
    pictures = torch.from_numpy(np.stack([squeezed(frame, 64) for frame in FRAMES])).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        expected = predicted(model.net(pictures, *model.read([TEXT] * 2)), (50, 70)).numpy()
    assert 0 < expected.mean() < 1
    shutil.copytree(networks / "there/model", networks / "weights", dirs_exist_ok=True)
    for folder in (networks / "there", networks / "there/onnx", networks / "weights"):
        masks = REFSEGFORMER.using(folder).predict(FRAMES, Query(TEXT))
        assert np.array_equal(masks, expected)
    assert not REFSEGFORMER.using(networks / "nothing").predict(FRAMES, Query(TEXT)).any()


def test_the_two_stages_are_a_segmenter_and_a_classifier(networks: Path) -> None:
    segmented = REFSEGFORMER.using(networks / "two/segmenter").predict(FRAMES, Query(TEXT))
    assert np.array_equal(TWO_STAGE.using(networks / "two").predict(FRAMES, Query(TEXT)), segmented)
    assert segmented.any()
    assert not TWO_STAGE.using(networks / "never").predict(FRAMES, Query(TEXT)).any()
    with pytest.raises(UsageError, match="no folder 'segmenter'"):
        TWO_STAGE.using(networks / "there")
    with pytest.raises(UsageError, match="draws no masks"):
        REFSEGFORMER.using(networks / "two/classifier").predict(FRAMES, Query(TEXT))


def test_attention_is_shared_between_blank_and_memory_tokens(networks: Path) -> None:
    model = REFSEGFORMER.using(networks / "there")
    attention = model.attention(FRAMES[0], TEXT)
    assert {stage: values.shape for stage, values in attention["blank tokens"].items()} == {
        "stage 2": (8, 8), "stage 3": (4, 4), "stage 4": (2, 2)
    }  # fmt: skip
    for stage, blank in attention["blank tokens"].items():
        assert np.allclose(blank + attention["memory tokens"][stage], 1, atol=1e-5)
    assert model.unknown_words("the red zebra box, zebra!") == ("zebra",)
    assert not TWO_STAGE.using(networks / "two").attention(FRAMES[0], TEXT)


def test_what_ships_is_a_model_with_its_files_in_its_revision(networks: Path, tmp_path: Path) -> None:
    assert isinstance(SMALL, Trained)
    assert SMALL.predict(FRAMES, Query(TEXT)).shape == (2, 50, 70)
    spec = model_spec(f"two-stage@{networks / 'two'}")
    assert (spec.name, spec.tasks) == ("trained.two_stage.v1@two", ("ris", "rvos", "refavs"))
    assert model_spec(f"two-stage@{networks / 'never'}").revision != spec.revision
    linked = tmp_path / "linked"
    linked.mkdir()
    for name in ("segmenter", "classifier"):
        (linked / name).symlink_to(networks / "two" / name)
    (linked / "loop").symlink_to(linked)
    assert model_spec(f"two-stage@{linked}").revision == spec.revision
    assert model_spec("refsegformer-small").target == "trained.refsegformer_small.v1"


def test_it_runs_without_torch(networks: Path) -> None:
    code = (
        "import sys, numpy as np\nfrom pathlib import Path\nfrom auscult.models.refsegformer import REFSEGFORMER\n"
        "from auscult.types import Query\n"
        "model = REFSEGFORMER.using(Path(sys.argv[1]))\n"
        "model.predict(np.zeros((1, 9, 9, 3), np.uint8), Query('box'))\nprint('torch' in sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code, networks / "there"], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "False"


def _described(folder: Path, **changes: Any) -> None:
    import onnx

    model = onnx.load(str(folder / ANSWER))
    description = json.loads(model.metadata_props[0].value)
    del model.metadata_props[:]
    model.metadata_props.add(key=READER, value=json.dumps(description | changes))
    onnx.save(model, str(folder / ANSWER))


DAMAGES = {
    "no stem": (lambda folder: (folder / STEM).unlink(), "cannot be read"),
    "a folder": (lambda folder: ((folder / STEM).unlink(), (folder / STEM).mkdir()), "cannot be read|no regular"),
    "no network": (lambda folder: (folder / ANSWER).write_bytes(b"\x08\x08" * 40), "cannot be opened"),
    "exchanged": (lambda folder: shutil.copy(folder / ANSWER, folder / STEM), "does not run"),
    "says nothing": (lambda folder: shutil.copy(folder / STEM, folder / ANSWER), "does not say"),
    "a huge picture": (lambda folder: _described(folder, side=1 << 30), "does not say.*side"),
    "more tokens": (lambda folder: _described(folder, tokens=500), "does not run"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_and_hostile_folders_are_refused(networks: Path, tmp_path: Path, damage: str) -> None:
    spoil, message = DAMAGES[damage]
    folder = Path(shutil.copytree(networks / "there/onnx", tmp_path / "spoiled"))
    spoil(folder)
    with pytest.raises(UsageError, match=message):
        REFSEGFORMER.using(folder)


def test_what_was_not_given_is_said(networks: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without a sentence"):
        REFSEGFORMER.using(networks / "there").predict(FRAMES, Query(None))
    with pytest.raises(UsageError, match="no trained network lies here"):
        REFSEGFORMER.using(tmp_path)
    _described(
        Path(shutil.copytree(networks / "there/onnx", tmp_path / "more")), words=[f"w{number}" for number in range(50)]
    )
    with pytest.raises(Exception, match=r"(?i)bounds"):  # a word that the network has no vector of: one failure
        REFSEGFORMER.using(tmp_path / "more").predict(FRAMES, Query("w49"))
