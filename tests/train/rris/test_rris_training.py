"""The training of segmenters that can answer with nothing: settings, references, resuming, learning, export."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("accelerate", reason="the extra `train` is not installed")

import torch

from auscult.cases.listing import ListOptions
from auscult.errors import InputError, UsageError
from auscult.jobs.negatives import stress_negatives
from auscult.jobs.options import NegativesOptions, TrainOptions
from auscult.nets.refsegformer.answering import load_answering
from auscult.nets.refsegformer.network import Segmentation, predicted
from auscult.nets.refsegformer.weights import read_model
from auscult.train import recipes
from auscult.train.network_files import read_kernels
from auscult.train.rris import loop
from auscult.train.rris.loop import NamingFeed, NamingTrainer, Trainer
from auscult.train.rris.references import Feed, read_references
from auscult.train.rris.trainable import COMMITTED, SegmenterPlan, build, read_plan
from auscult.train.trainer import LOSSES
from small_inputs import rows
from train.rris.small_references import COLOURS, write_refer, write_settings

pytestmark = pytest.mark.extra_train
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def refer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_refer(tmp_path_factory.mktemp("refer"))


@pytest.fixture
def options(tmp_path: Path, refer: tuple[Path, Path]) -> TrainOptions:
    settings = write_settings(tmp_path / "tiny.yaml")
    data, images = refer
    return TrainOptions(
        name="rris", out=tmp_path / "out", data=data, images=images, config=str(settings), threads=1, workers=0
    )


def losses(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / LOSSES).read_text().splitlines()]


def test_the_committed_settings() -> None:
    """Paper: Sec. 5.1; release: where it differs."""
    paper, release, small, mobile = (read_plan(name) for name in COMMITTED)
    assert (paper.rate, paper.decay, paper.power, paper.epochs, paper.batch) == (3e-5, 0.02, 0.9, 50, 64)
    assert (paper.design.side, paper.design.tokens, paper.design.memory, paper.design.blank) == (480, 20, 20, 10)
    assert (
        replace(paper, vision=None, text=None, drop_path=None, precision="no", checkpointing=False) == SegmenterPlan()
    )
    assert (release.decay, release.batch, release.negatives) == (0.01, 48, 0.4)
    assert (release.design.memory_reads, release.design.existence_stage) == ("text", 2)
    assert small.design.vision == small.design.text == mobile.design.text == "small"
    assert mobile.design.vision == "mobile"
    assert paper.rate_at(50, 100) == pytest.approx(3e-5 * 0.5**0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [("epoch: 3", "epoch"), ("design: {side: 100}", "multiple of 32"), ("rate: fast", "rate"), ("[", "no YAML")],
)
def test_settings_that_cannot_be_used_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_plan(str(tmp_path / "own.yaml"))
    with pytest.raises(UsageError, match="cannot be read"):
        read_plan("papers")


def test_each_reference_is_shown_once_an_epoch_by_turns_true_and_false(refer: tuple[Path, Path]) -> None:
    plan = read_plan("small")
    plan = replace(plan, design=replace(plan.design, side=64), batch=4)
    references, _ = read_references(refer[0], plan, images=refer[1])
    assert len(references) == 16
    feed = Feed(references, plan, seed=3)
    times_shown: Counter[tuple[str, bool]] = Counter()
    for number in range(2 * feed.each):
        batch = feed.batch(number)
        assert [mask.any() for mask in batch.truth] == batch.exists.tolist()
        times_shown.update(
            (text.replace("thing", "box"), bool(is_there))
            for text, is_there in zip(batch.texts, batch.exists, strict=True)
        )
    assert sum(count for (_, is_there), count in times_shown.items() if is_there) == len(references)
    assert sum(times_shown.values()) == 2 * len(references)
    halves = [feed.batch(1, process=process, processes=2) for process in (0, 1)]
    pictures = np.concatenate([half_batch.pictures for half_batch in halves])[[0, 2, 1, 3]]
    assert np.array_equal(pictures, feed.batch(1).pictures)


def test_a_picture_is_shown_with_several_sentences_half_of_them_false(refer: tuple[Path, Path]) -> None:
    plan = read_plan("small")
    plan = replace(plan, design=replace(plan.design, side=64), batch=8, sentences=4, choosing=1.0)
    references, _ = read_references(refer[0], plan, images=refer[1])
    feed = Feed(references, plan, seed=3)
    assert feed.each == 4  # eight pictures, two at once
    pictures_seen = []
    for number in range(feed.each):
        batch = feed.batch(number)
        assert batch.exists.tolist() == [True, True, False, False] * 2
        assert batch.of.tolist() == [0, 0, 1, 1]  # both things of each picture
        assert np.array_equal(batch.truth[batch.exists], batch.objects[batch.chosen[batch.exists]])
        assert not batch.truth[~batch.exists].any()
        for index, text in enumerate(batch.texts):
            colours = batch.pictures[index // 4][batch.truth[index]]
            assert not len(colours) or np.abs(np.median(colours, axis=0) - COLOURS[text.split()[-2]]).max() < 30
        pictures_seen += [picture.tobytes() for picture in batch.pictures]
    assert len(set(pictures_seen)) == 8
    torch.manual_seed(0)
    trainable = build("refsegformer", plan, ["the red box"] * 2)
    parts = Trainer(trainable, feed, seed=0, steps=4).learn(feed.batch(0))
    assert parts["loss"] == pytest.approx(parts["masks"] + parts["existence"] + parts["choosing"], rel=1e-5)


def test_text_prompt_joins_the_sentences_of_a_reference(refer: tuple[Path, Path]) -> None:
    plan = replace(read_plan("small"), text_prompt=True, positives_only=True, batch=4)
    references, _ = read_references(refer[0], plan, images=refer[1])
    batch = Feed(references, plan, seed=0).batch(0)
    assert batch.exists.all()
    colour = batch.texts[0].split()[1]
    assert batch.texts[0] == f"the {colour} box {colour} thing"  # Fig. 8


def test_a_folder_with_a_file_of_sentences_is_asked_by_them(data: Path) -> None:
    """As Ref-DAVIS on a DAVIS tree: two dogs and a woman; four sentences and three null expressions stand beside."""
    folder, plan = data / "video/dogs-jump", replace(read_plan("small"), split="")
    references, _ = read_references(folder, plan)
    assert references == read_references(folder / "expressions.json", plan)[0]
    assert [(len(reference.true), len(reference.false)) for reference in references] == [(1, 1), (1, 1), (2, 1)]


def test_killed_and_resumed_it_has_the_losses_of_an_undisturbed_run(
    options: TrainOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(options, config=str(write_settings(tmp_path / "named.yaml", "naming_epochs: 3\n")))
    paths_written = list(recipes.run(options))
    assert [path.name for path in paths_written][-2:] == [
        "stem.onnx",
        "answer.onnx",
    ]  # compared with the network as written
    assert read_model(options.out / loop.MODEL).net.design.side == 64
    straight_losses = losses(options.out)
    assert [row["step"] for row in straight_losses] == [0, 1, 2, 3]

    second = replace(options, out=tmp_path / "again")
    learn = Trainer.learn

    moments = iter([(NamingTrainer, 2), (Trainer, 3)])
    moment = next(moments)

    def stop_midway(trainer: Trainer, batch: object) -> dict[str, float]:
        nonlocal moment
        if (type(trainer), trainer.step) == moment:
            moment = next(moments, moment)
            raise KeyboardInterrupt
        return learn(trainer, batch)

    monkeypatch.setattr("auscult.train.trainer.SAVED_EVERY_S", 0.0)
    for _ in range(2):
        with monkeypatch.context() as patched:
            patched.setattr(Trainer, "learn", stop_midway)
            with pytest.raises(KeyboardInterrupt):
                list(recipes.run(second))
    (second.out / LOSSES).write_text((second.out / LOSSES).read_text() + '{"step": 3, "lo')
    list(recipes.run(second))
    assert losses(second.out) == straight_losses
    assert (second.out / loop.NAMING_LOSSES).read_bytes() == (options.out / loop.NAMING_LOSSES).read_bytes()
    with pytest.raises(InputError, match="seed 0"):
        list(recipes.run(replace(second, seed=1)))


def test_it_learns_to_draw_and_to_answer_with_nothing(options: TrainOptions, refer: tuple[Path, Path]) -> None:
    """One batch again and again: the whole way from sentence and picture to mask and existence can be learned."""
    plan = replace(read_plan(options.config), rate=5e-3, batch=16)
    references, _ = read_references(refer[0], plan, images=refer[1])
    batch = Feed(references, plan, seed=7).batch(0)
    torch.manual_seed(0)
    trainable = build(
        "refsegformer", plan, (text for reference in references for text in (*reference.true, *reference.false))
    )
    trainer = Trainer(trainable, Feed(references, trainable.plan, seed=0), seed=0, steps=70)
    rows = [trainer.learn(batch) for _ in range(70)]
    assert rows[-1]["loss"] < 0.25 * rows[0]["loss"]
    pictures = torch.from_numpy(batch.pictures).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        outputs = trainable.net.eval()(pictures, *trainable.read(batch.texts))
    masks = predicted(outputs, (64, 64)).numpy()
    assert np.array_equal(masks.any(axis=(1, 2)), batch.exists)
    assert (masks & batch.truth).sum() / (masks | batch.truth).sum() > 0.5


def test_the_vision_encoder_learns_to_name_things(options: TrainOptions, refer: tuple[Path, Path]) -> None:
    plan = replace(read_plan(options.config), naming_epochs=60)
    references, _ = read_references(refer[0], plan, images=refer[1])
    feed = NamingFeed(references, plan, seed=0)
    assert feed.categories == ("blue box", "green box", "red box", "white box")
    batch = feed.batch(3)
    assert len(batch.names) == len(batch.masks) == len(batch.of)
    for picture, mask, name in zip(batch.pictures[batch.of], batch.masks, batch.names, strict=True):
        red, green, blue = picture[mask].mean(axis=0)
        assert (red > green) == (feed.categories[name] == "red box") or abs(red - green) < 10
        assert blue > 0
    torch.manual_seed(0)
    trainable = build("refsegformer", plan, ["the red box"] * 2)
    first = trainable.net.vision.state_dict()["stages.0.0.0.0.weight"].clone()
    trainer = NamingTrainer(trainable, feed, seed=0)
    rows = [trainer.learn(feed.batch(number)) for number in range(feed.steps)]
    assert rows[-1]["naming"] < 0.5 * rows[0]["naming"]
    assert not torch.equal(first, trainable.net.vision.state_dict()["stages.0.0.0.0.weight"])


def test_a_mobilenet_begins_with_public_weights_and_rests_where_the_settings_say(
    options: TrainOptions, data: Path, tmp_path: Path
) -> None:
    weights = data / "weights/tf2_mobilenet_v2_1.0_224_ptq.tflite"
    extra_text = f"vision: {weights}\nfrozen: [vision.stem, vision.stages.0]\nnaming_epochs: 1\n"
    settings = write_settings(tmp_path / "mobile.yaml", extra_text)
    settings.write_text(
        settings.read_text()
        .replace("vision: small", "vision: mobile")
        .replace("widths: [8, 16, 24, 32]", "widths: [24, 32, 96, 160]")
    )
    list(recipes.run(replace(options, config=str(settings), samples=16)))
    assert (options.out / loop.NAMING_LOSSES).read_text()
    net = read_model(options.out / loop.MODEL).net
    kernels = read_kernels(weights)
    same_kernels = [
        np.array_equal(layer.weight.detach().numpy(), kernel)
        for layer, (kernel, _) in zip(net.vision.convolutions(), kernels, strict=False)
    ]
    assert same_kernels == [True] * 9 + [False] * 39
    assert load_answering(options.out / loop.ONNX).blank == 2


@pytest.mark.parametrize("name", ["lavt", "lavt+", "existence"])
def test_the_other_segmenters_go_through_the_same_pipeline(name: str, options: TrainOptions) -> None:
    list(recipes.run(replace(options, model=name, samples=8)))
    parts = set(losses(options.out)[0])
    assert ("existence" in parts) == (name != "lavt")
    assert json.loads((options.out / "plan.json").read_text())["model"] == name


def test_nothing_is_painted_where_the_head_says_that_nothing_is_there() -> None:
    logits = torch.stack([torch.zeros(2, 8, 8), torch.ones(2, 8, 8)], dim=1)
    masks = predicted(Segmentation([logits], torch.tensor([-1.0, 1.0])), (64, 64))
    assert not masks[0].any()
    assert masks[1].all()


def test_rounds_of_hard_negatives_with_a_training_between_them(
    options: TrainOptions, refer: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "own.json").write_text(json.dumps({"categories": {f"{colour} box": [] for colour in COLOURS}}))
    negatives = NegativesOptions(
        source=refer[0], listing=ListOptions(images=refer[1]), out=tmp_path / "hard", hard="baseline.centre_box",
        per="2", given=frozenset({"per"}), categories=tmp_path / "own.json", workers=0,
    )  # fmt: skip
    stress_negatives(negatives)
    list(recipes.run(replace(options, data=negatives.out, images=None, samples=8)))
    stress_negatives(replace(negatives, hard=f"refsegformer@{options.out}", rounds=2))
    hard_rows = rows(negatives.out / "hard.jsonl")
    assert {(row["round"], row["model"]) for row in hard_rows} == {
        (1, "baseline.centre_box.v1"), (2, "trained.refsegformer.v1@out")
    }  # fmt: skip
    assert all(row["outcome"] != "failed" for row in hard_rows)
    assert len({(row["reference"], row["text"]) for row in hard_rows}) == len(hard_rows)
    kept_ids = [row["id"] for row in hard_rows if row["outcome"] == "kept"]
    items = [row["id"] for row in rows(negatives.out / "items.jsonl") if "hard" in row.get("negative", {})]
    assert sorted(kept_ids) == sorted(items)


def test_what_cannot_be_trained_is_told(options: TrainOptions) -> None:
    with pytest.raises(UsageError, match="no segmenter 'vlt'"):
        list(recipes.run(replace(options, model="vlt")))
    bare = options.out.parent / "bare.yaml"
    bare.write_text("epochs: 1")
    with pytest.raises(UsageError, match="no weights of Swin are named"):
        list(recipes.run(replace(options, config=str(bare))))


@pytest.fixture(autouse=True)
def _one_accelerator() -> Iterator[None]:
    """Its precision is one for a whole process."""
    yield
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
