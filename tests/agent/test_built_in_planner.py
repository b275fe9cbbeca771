"""The planner without a language model: what it takes, why, and how operator and guardian come to agree."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.agent.debate import CHOICE_SETS, AgentLog, Debate, Offer, Offered, Proposal, debate
from auscult.agent.knowledge import BuiltInDebater, kinds, read_sentence
from auscult.agent.knowledge.planner import nearest_samples

PHOTOS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "office": ("people sit around a table and talk", {"indoors": True, "place": ["office"]}),
    "crossing": ("cars at a crossing", {"indoors": False, "day": "night", "sources": ["car"]}),
    "park": ("a dog runs over a lawn", {"indoors": False, "day": "day", "sources": ["dog"]}),
    "stage": ("a man plays the guitar", {"indoors": True, "place": ["stage"], "sources": ["guitar"]}),
    "unknown": ("a photograph", {"indoors": None, "day": "unknown"}),
}
MAIN = {"vos": ("J&F", "J", "F"), "avs": ("J", "F_contour", "F_region"), "ris": ("IoU", "oIoU")}


def offer(task: str = "avs", **options: Any) -> Offer:
    photos = options.pop("photos", PHOTOS)
    names = options.pop("kinds", [f"{kind}.v1" for kind in kinds()])
    return Offer(
        suite=options.pop("suite", "r2"),
        task=task,
        samples=tuple(Offered(name=name, summary=text, facts=facts) for name, (text, facts) in photos.items()),
        perturbations=tuple(Offered(name=name, summary="") for name in names),
        metrics=tuple(Offered(name=name, summary="") for name in options.pop("metrics", MAIN.get(task, ("score",)))),
    )


def planned(text: str, offered: Offer | None = None, rounds: int = 2) -> Debate:
    pair = BuiltInDebater("operator"), BuiltInDebater("guardian")
    debate_result = debate(*pair, instruction=text, offer=offered or offer(), rounds=rounds, log=AgentLog())
    assert isinstance(debate_result, Debate)
    return debate_result


def chosen_perturbations(text: str, **options: Any) -> set[str]:
    names = planned(text, offer(**options)).proposal.selected("perturbations")
    return {name.removesuffix(".v1") for name in names}


class TestPerturbations:
    @pytest.mark.parametrize(
        ("text", "with_", "without"),
        [
            (
                "outdoor night scene",
                "vision.motion_blur sound.background_noise vision.gaussian_noise",
                "vision.glass_blur sound.room_reverberation vision.brightness",
            ),
            (
                "indoor zoom meeting",
                "vision.jpeg_compression sound.room_reverberation sound.background_noise timing.dropped_frames",
                "vision.snow vision.fog sound.air_absorption vision.spatter",
            ),
            ("snowstorm", "vision.snow vision.contrast", "sound.room_reverberation vision.glass_blur"),
            ("desert race", "vision.motion_blur vision.brightness sound.background_noise", "vision.snow vision.frost"),
            ("underwater footage", "vision.contrast vision.saturate", "vision.snow sound.room_reverberation"),
            ("phone call in the street", "sound.low_pass sound.high_pass sound.background_noise", "vision.glass_blur"),
            ("podcast studio", "sound.gain", "sound.room_reverberation sound.background_noise vision.snow"),
            ("dash cam in the rain", "vision.spatter vision.motion_blur", "sound.room_reverberation"),
            ("queries typed by non-native speakers", "sentences.misspelling sentences.grammar_error", "vision.snow"),
            ("scanned documents", "sentences.homoglyphs", "vision.glass_blur"),
            (
                "archive of old films",
                "vision.gaussian_noise vision.saturate sound.impulse_noise",
                "sentences.homoglyphs",
            ),
            ("video calls on a bad network", "timing.dropped_frames sound.time_mask vision.pixelate", "vision.snow"),
            ("wildlife camera trap", "vision.gaussian_noise vision.motion_blur", "sound.room_reverberation"),
            ("filmed through a window pane", "vision.glass_blur", "vision.elastic_transform"),
            ("dashcam on a sunny day", "vision.brightness vision.motion_blur", "vision.snow"),
            ("podcast from a tiled bathroom", "sound.background_noise sound.room_reverberation", ""),
            ("podcast studio", "sound.gain", "sound.background_noise"),
        ],
    )
    def test_goldens(self, text: str, with_: str, without: str) -> None:
        names = chosen_perturbations(text)
        assert set(with_.split()) <= names
        assert not set(without.split()) & names
        assert len(names) < len(kinds()) / 2

    @pytest.mark.parametrize(
        ("text", "fog"),
        [("dashcam on a sunny day", False), ("dashcam", True), ("a foggy sunrise over a lake", True)],
    )
    def test_no_fog_in_sunshine_unless_it_is_said(self, text: str, fog: bool) -> None:
        assert ("vision.fog" in chosen_perturbations(text)) == fog

    def test_lens_distortion_is_of_the_picture(self) -> None:
        chosen = chosen_perturbations("a street filmed with lens distortion")
        assert "vision.elastic_transform" in chosen
        assert "sound.tanh_distortion" not in chosen
        assert "sound.tanh_distortion" in chosen_perturbations("a street, with distortion of the sound")

    def test_wishes_are_obeyed_even_where_they_cannot_occur_and_that_is_said(self) -> None:
        plan = planned("indoor zoom meeting, must include snow, no background noise")
        choices = {choice.type: choice for choice in plan.proposal.perturbations}
        assert choices["vision.snow.v1"].selected
        assert not choices["sound.background_noise.v1"].selected
        assert any("vision.snow is taken" in remark and "indoors" in remark for remark in plan.remarks)

    @pytest.mark.parametrize(
        ("text", "masks"),
        [
            ("first masks are drawn by hand, at night", {"masks.erode", "masks.dilate", "masks.cutout"}),
            ("the mask is too small", {"masks.erode"}),
            ("indoors, no sloppy masks", set()),
            ("outdoor night scene", set()),
        ],
    )
    def test_defects_of_first_masks(self, text: str, masks: set[str]) -> None:
        assert {name for name in chosen_perturbations(text) if name.startswith("masks.")} == masks

    def test_only_means_only(self) -> None:
        assert chosen_perturbations("outdoor night scene, only fog") == {"vision.fog"}
        assert chosen_perturbations("typos and jpeg") == {"sentences.misspelling", "vision.jpeg_compression"}

    def test_nothing_matched_takes_all_that_is_plausible_anywhere_and_says_so(self) -> None:
        plan = planned("qwxz plmk")
        names = set(plan.proposal.selected("perturbations"))
        assert "vision.gaussian_noise.v1" in names
        assert "vision.glass_blur.v1" not in names
        assert any("plausible anywhere" in remark for remark in plan.remarks)

    def test_what_one_situation_needs_and_another_excludes_is_said(self) -> None:
        said = "sound.room_reverberation is needed for hard surfaces, and left out for "
        assert any(said in remark for remark in planned("a studio with tiled walls").remarks)
        assert not any("left out for" in remark for remark in planned("podcast studio").remarks)

    def test_what_is_not_at_once_is_taken_each_for_itself(self) -> None:
        names = chosen_perturbations("indoors and outdoors")
        assert {"sound.room_reverberation", "sound.background_noise"} <= names

    def test_a_wish_that_is_not_offered_is_said_and_strange_names_are_left(self) -> None:
        plan = planned("a street, with reverb", offer(kinds=["vision.fog.v1", "masks.erode.v1"]))
        assert any("sound.room_reverberation" in remark and "not offered" in remark for remark in plan.remarks)
        assert "masks.erode.v1" not in plan.proposal.selected("perturbations")

    def test_what_a_situation_needs_and_is_not_offered_is_said_once(self) -> None:
        plan = planned("a street, cheap microphone", offer(kinds=["vision.motion_blur.v1", "vision.fog.v1"]))
        remarks = [remark for remark in plan.remarks if "cheap microphone" in remark and "not offered" in remark]
        assert len(remarks) == 1
        assert "sound.low_pass" in remarks[0]
        assert not any("not offered" in remark for remark in planned("a street, cheap microphone").remarks)

    def test_a_metric_that_the_task_has_not_is_said(self) -> None:
        plan = planned("a street, outlines matter", offer("ris"))
        assert any("a score of boundary" in remark for remark in plan.remarks)
        assert plan.proposal.selected("metrics") == ("IoU",)

    def test_a_reason_says_what_is_asked_for_instead(self) -> None:
        plan = planned("a street, typos only", offer(kinds=["vision.fog.v1"]))
        assert plan.proposal.perturbations[0].reason == "The sentence asks only for sentences.misspelling."


class TestSamplesAndMetrics:
    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("outdoor night scene", {"crossing"}),
            ("indoor zoom meeting", {"office"}),
            ("dogs in a park", {"park"}),
            ("traffic at night", {"crossing"}),
            ("concert", {"stage"}),
            ("not at night, outdoors", {"park"}),
            ("whatever there is", set(PHOTOS)),
            ("cheap microphone", set()),  # of which no caption speaks
            ("ultrasound pictures", set()),
        ],
    )
    def test_those_that_fit(self, text: str, names: set[str]) -> None:
        assert set(planned(text).proposal.selected("samples")) == names

    @pytest.mark.parametrize(
        ("text", "nearest"),
        [
            ("outdoor night scene", {"unknown"}),  # nothing is known of it, and the office contradicts
            ("cheap microphone", {"unknown", "office"}),
            ("tablet screens in a gym", {"office"}),
        ],
    )
    def test_the_nearest_ones_are_told_apart_from_those_that_fit(self, text: str, nearest: set[str]) -> None:
        two = offer(photos={name: PHOTOS[name] for name in ("unknown", "office")})
        assert planned(text, two).proposal.selected("samples") == ()
        assert {choice.type for choice in nearest_samples(text, two) if choice.selected} == nearest

    def test_none_is_near_where_each_contradicts(self) -> None:
        (office,) = nearest_samples("outdoor night scene", offer(photos={"office": PHOTOS["office"]}))
        assert (office.selected, office.reason) == (False, "It is indoors, and the sentence outdoors.")

    @pytest.mark.parametrize(
        ("text", "names"),
        [
            ("a street concert", {"busker"}),  # of streets, the one where music is heard
            ("streets and kitchens", {"street", "busker", "rain", "cook"}),
            ("a street in the rain", {"rain"}),
            ("rain", {"rain"}),
            ("outdoors, with wind", {"street", "busker", "rain"}),  # wind is heard, and no caption speaks of it
            ("a street, a singing person", {"busker"}),
            ("a dash cam", set()),  # not each street is seen from a car
            ("an office", set()),  # a person and a chair do not make a kitchen one
            ("a phone in the kitchen", {"cook"}),
        ],
    )
    def test_of_several_things_those_samples_that_show_most(self, text: str, names: set[str]) -> None:
        photos: dict[str, tuple[str, dict[str, Any]]] = {
            "street": ("cars in a street", {"indoors": False}),
            "busker": ("a man plays the violin in a street", {"indoors": False}),
            "rain": ("a street in the rain", {"indoors": False}),
            "cook": ("a man with a laptop on a chair speaks in a kitchen", {"indoors": True}),
        }
        assert set(planned(text, offer(photos=photos)).proposal.selected("samples")) == names

    def test_a_sample_without_sound_is_not_for_a_task_that_hears(self) -> None:
        photos: dict[str, tuple[str, dict[str, Any]]] = {
            name: ("a dog in a park", {"sound": name == "heard"}) for name in ("heard", "silent")
        }
        assert planned("dogs in a park", offer(photos=photos)).proposal.selected("samples") == ("heard",)
        seen = planned("dogs in a park", offer("vos", photos=photos)).proposal.selected("samples")
        assert seen == ("heard", "silent")

    def test_as_many_as_the_sentence_asks_for_the_fitting_ones_first(self) -> None:
        assert set(planned("motion blur, only the first two clips").proposal.selected("samples")) == set([*PHOTOS][:2])
        choices = {choice.type: choice for choice in planned("outdoors, at most 1 photograph").proposal.samples}
        assert [name for name, choice in choices.items() if choice.selected] == ["crossing"]
        assert (choices["park"].reason, choices["park"].selected) == ("The sentence asks for 1 at most.", False)

    def test_metrics_wished_else_the_main_ones(self) -> None:
        assert planned("a street, boundary accuracy", offer("vos")).proposal.selected("metrics") == ("F",)
        assert planned("a street, just F", offer("vos")).proposal.selected("metrics") == ("F",)
        assert planned("a portrait at f/1.8", offer("vos")).proposal.selected("metrics") == MAIN["vos"]
        assert planned("a street", offer("vos")).proposal.selected("metrics") == MAIN["vos"]
        assert planned("a street, mask quality", offer("vos")).proposal.selected("metrics") == MAIN["vos"]
        assert planned("a street", offer("ris")).proposal.selected("metrics") == ("IoU",)
        rris = offer("", suite="rris", kinds=["category", "attribute"], metrics=("mIoU", "mRR", "rIoU", "oIoU"))
        assert planned("a street", rris).proposal.selected("metrics") == ("mIoU", "mRR", "rIoU")


class TestOtherSuites:
    def test_kinds_of_negative_sentences(self) -> None:
        names = ["category", "attribute", "relation", "negatives.sentence.v1"]
        rris = offer("", suite="rris", kinds=names)
        assert planned("attributes wrong", rris).proposal.selected("perturbations") == ("attribute",)
        assert planned("a street", rris).proposal.selected("perturbations") == tuple(names)

    def test_tasks_by_sense_and_ability(self) -> None:
        avi = offer("", suite="avi", kinds=["AMIC", "VMIC", "AVC", "AVH", "ASQA"])
        assert planned("counting what is heard, by hearing", avi).proposal.selected("perturbations") == ("AMIC",)
        assert planned("does it hallucinate?", avi).proposal.selected("perturbations") == ("AVH",)
        assert len(planned("a street", avi).proposal.selected("perturbations")) == 5


class TestDebate:
    def test_the_guardian_asks_for_more_and_what_is_refused_it_lets_go(self) -> None:
        plan = planned("desert race")
        first, radical, last = (turn.proposal for turn in plan.turns[:3])
        assert first is not None
        assert radical is not None
        assert last is not None
        sizes = [len(proposal.selected("perturbations")) for proposal in (first, last, radical)]
        assert sizes == sorted(set(sizes))
        assert plan.agreed
        assert plan.rounds <= 2
        assert not plan.disputes

    @given(st.text(max_size=80) | st.sampled_from(["night", "kitchen, no fog", "hospital or street, dogs", "concert"]))
    def test_any_sentence_converges_in_two_rounds_with_a_sentence_for_each_choice(self, text: str) -> None:
        plan = planned(text)
        assert plan.agreed
        for name in CHOICE_SETS:
            choices = plan.proposal.of(name)
            assert [choice.type for choice in choices] == [item.name for item in offer().of(name)]
            assert all(choice.reason.endswith(".") and len(choice.reason) > 10 for choice in choices)

    def test_another_sentence_or_offer_begins_a_new_memory(self) -> None:
        pair = BuiltInDebater("operator"), BuiltInDebater("guardian")
        for task in ("avs", "vos", "avs"):
            debate_result = debate(*pair, instruction="desert race", offer=offer(task), rounds=2, log=AgentLog())
            assert isinstance(debate_result, Debate)
            assert debate_result.turns == planned("desert race", offer(task)).turns

    def test_the_operator_does_not_take_over_what_cannot_be(self) -> None:
        guardian_proposal = BuiltInDebater("guardian").propose("", offer())
        all_of = Proposal(
            **{
                choice_set: tuple(_selected(choice) for choice in guardian_proposal.of(choice_set))
                for choice_set in CHOICE_SETS
            }
        )
        last = BuiltInDebater("operator").propose("indoor zoom meeting", offer(), all_of)
        assert "vision.snow.v1" not in last.selected("perturbations")
        assert last.selected("samples") == ("office",)


def _selected(choice: Any) -> Any:
    return type(choice)(type=choice.type, reason=choice.reason, selected=True)


@pytest.mark.slow
def test_a_plan_over_ten_thousand_captions_takes_less_than_three_seconds() -> None:
    texts = [text for text, _ in PHOTOS.values()]
    photos: dict[str, tuple[str, dict[str, Any]]] = {
        f"s{index}": (f"{texts[index % 5]}, number {index} of many, near a {index % 977}th house", {})
        for index in range(10_000)
    }
    large_offer, seconds = offer(photos=photos), []
    for _ in range(3):
        read_sentence.cache_clear()
        start = time.process_time()
        plan = planned("outdoor night scene with dogs, mask quality", large_offer)
        seconds.append(time.process_time() - start)
    assert len(plan.proposal.samples) == len(photos)
    assert statistics.median(seconds) < 3, seconds
