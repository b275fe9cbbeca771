import numpy as np
import pytest

from auscult.errors import ErrorRecord, InputError
from auscult.outcome import Failed, Scored, Undefined
from auscult.score.masks import aggregate, boundary_f, iou, j_and_f


def clip(frames=5, shape=(40, 50)):
    """Two objects that walk apart: index maps (T, H, W)."""
    out = np.zeros((frames, *shape), np.uint8)
    for t in range(frames):
        out[t, 5:15, 5 + t : 20 + t] = 1
        out[t, 25:35, 30 - t : 40 - t] = 2
    return out


def moved_maps(index_maps):
    return np.roll(index_maps, 2, axis=2)


def test_davis2016_takes_all_objects_as_one_in_all_frames():
    truth, prediction = clip(), moved_maps(clip())
    result = j_and_f(prediction, truth, protocol="davis2016")
    (object_as_one,) = result.objects
    expected = [iou(p > 0, t > 0).value for p, t in zip(prediction, truth, strict=True)]
    assert object_as_one.frames == (0, 1, 2, 3, 4)
    assert list(object_as_one.j_per_frame) == pytest.approx(expected)
    assert result.j == pytest.approx(np.mean(expected))
    assert result.value == result.j_and_f == (result.j + result.f) / 2
    assert isinstance(result, Scored)


def test_davis2017_scores_each_object_without_first_and_last_frame():
    truth, prediction = clip(), moved_maps(clip())
    result = j_and_f(prediction, truth, protocol="davis2017")
    assert [object_score.index for object_score in result.objects] == [1, 2]
    for object_score in result.objects:
        assert object_score.frames == (1, 2, 3)
        pairs = [(prediction[t] == object_score.index, truth[t] == object_score.index) for t in object_score.frames]
        assert list(object_score.j_per_frame) == pytest.approx([iou(*pair).value for pair in pairs])
        assert list(object_score.f_per_frame) == pytest.approx([boundary_f(*pair).value for pair in pairs])
    assert result.j == pytest.approx(np.mean([object_score.j for object_score in result.objects]))


def test_objects_that_change_places_cost_davis2017_and_not_davis2016():
    truth = clip()
    swapped = np.where(truth > 0, 3 - truth, 0).astype(np.uint8)
    assert j_and_f(swapped, truth, protocol="davis2016").value == 1.0
    assert j_and_f(swapped, truth, protocol="davis2017").j == 0.0


def test_first_and_last_frame_do_not_matter_to_davis2017():
    truth = clip()
    prediction = truth.copy()
    prediction[[0, -1]] = 0
    assert j_and_f(prediction, truth, protocol="davis2017").value == 1.0
    assert j_and_f(prediction, truth, protocol="davis2016").value == pytest.approx(0.6)


def test_an_object_only_in_the_prediction_is_listed_and_in_no_mean():
    truth = clip()
    prediction = truth.copy()
    prediction[2, 0, 0] = 9
    result = j_and_f(prediction, truth, protocol="davis2017")
    assert result.value == 1.0
    assert result.extra_objects == (9,)


def test_a_single_frame_and_bool_masks_work():
    frame = clip()[0] > 0
    assert j_and_f(frame, frame).value == 1.0
    three_frames = np.stack([frame] * 3)
    assert j_and_f(three_frames, three_frames, protocol="davis2017").objects[0].index == 1


@pytest.mark.parametrize("frames", [1, 2])
def test_davis2017_of_two_frames_or_fewer_is_undefined(frames):
    outcome = j_and_f(clip(frames), clip(frames), protocol="davis2017")
    assert isinstance(outcome, Undefined)
    assert outcome.detail["frames"] == frames


def test_no_frames_and_no_objects_are_undefined_but_empty_on_empty_is_one_in_davis2016():
    empty_clip = np.zeros((5, 40, 50), np.uint8)
    assert isinstance(j_and_f(empty_clip[:0], empty_clip[:0]), Undefined)
    assert j_and_f(clip(), empty_clip, protocol="davis2017").reason == "the truth holds no object"
    assert j_and_f(empty_clip, empty_clip).value == 1.0
    assert j_and_f(clip(), empty_clip).value == 0.0


@pytest.mark.parametrize("protocol", ["davis2016", "davis2017"])
def test_void_in_the_truth_is_taken_out_of_both(protocol):
    truth = clip()
    prediction = truth.copy()
    prediction[:, 20:24, :] = 1
    spoiled = j_and_f(prediction, truth, protocol=protocol).value
    truth[:, 20:24, :] = 255
    assert spoiled < 1.0
    assert j_and_f(prediction, truth, protocol=protocol).value == 1.0


def test_void_in_the_prediction_is_no_object():
    truth = clip()
    prediction = truth.copy()
    prediction[prediction == 2] = 255
    assert j_and_f(prediction, truth, protocol="davis2016").j == pytest.approx(150 / 250)
    assert [object_score.j for object_score in j_and_f(prediction, truth, protocol="davis2017").objects] == [1.0, 0.0]


def test_a_late_object_counts_from_the_start_or_from_when_it_is_seen():
    truth = clip(6)
    truth[:3][truth[:3] == 2] = 0
    prediction = truth.copy()
    prediction[4][prediction[4] == 2] = 0
    by_davis = j_and_f(prediction, truth, protocol="davis2017")
    by_vos = j_and_f(prediction, truth, protocol="davis2017", variant="vos-benchmark")
    assert by_davis.objects[1].j == pytest.approx(3 / 4)
    assert by_vos.objects[1].j == pytest.approx(1 / 2)
    assert by_vos.objects[1].frames == (3, 4)
    assert by_davis.signature != by_vos.signature


def test_an_object_seen_only_in_a_left_out_frame_counts_unless_by_vos_benchmark():
    truth = clip()
    truth[1:][truth[1:] == 2] = 0
    assert len(j_and_f(truth, truth, protocol="davis2017").objects) == 2
    assert len(j_and_f(truth, truth, protocol="davis2017", variant="vos-benchmark").objects) == 1


def test_the_signature_says_how():
    fields = j_and_f(clip(), clip(), protocol="davis2017").signature.as_dict()
    assert fields["protocol"] == "davis2017"
    assert fields["frames"] == "without first and last"
    assert fields["tolerance"] == "0.008 of the diagonal"
    assert (fields["empty"], fields["void"], fields["objects"]) == ("1", "255", "each")
    assert "version" in fields


@pytest.mark.parametrize(
    ("prediction", "truth", "options", "message"),
    [
        (clip(4), clip(5), {}, r"\(4, 40, 50\) and truth has shape \(5, 40, 50\)"),
        (clip() / 2, clip(), {}, "dtype float64"),
        (clip(), clip().astype(np.int32) - 1, {}, "the value -1"),
        (((clip() > 0) * 255).astype(np.uint8), clip(), {}, "no value but 0 and 255"),
        (clip()[..., None], clip()[..., None], {}, r"shape \(5, 40, 50, 1\)"),
        (clip(), clip(), {"protocol": "davis2018"}, "davis2018"),
        (clip(), clip(), {"variant": "mine", "protocol": "davis2017"}, "mine"),
        (clip(), clip(), {"variant": "vos-benchmark", "protocol": "davis2016"}, "vos-benchmark"),
    ],
)
def test_unusable_arguments_are_refused_and_said(prediction, truth, options, message):
    with pytest.raises(InputError, match=message) as error:
        j_and_f(prediction, truth, **options)
    assert error.value.expected


def test_a_data_set_is_the_mean_over_objects_or_over_videos():
    full_result = j_and_f(clip() == 1, clip() == 1, protocol="davis2017")
    missed_result = j_and_f(np.zeros_like(clip()), clip(), protocol="davis2017")
    failed = Failed(ErrorRecord(stage="read", error="gone"))
    over_objects = aggregate([full_result, missed_result, Undefined("short"), failed])
    over_videos = aggregate([full_result, missed_result], over="videos")
    assert over_objects.j == pytest.approx(1 / 3)
    assert over_videos.j == pytest.approx(1 / 2)
    counts = (over_objects.videos, over_objects.objects, over_objects.undefined, over_objects.failed)
    assert counts == (2, 3, 1, 1)
    assert over_objects.signature.as_dict()["over"] == "objects"


def test_a_data_set_without_scores_is_undefined_and_mixed_protocols_are_refused():
    assert aggregate([]) == Undefined("no items")
    assert isinstance(aggregate([Undefined("short")]), Undefined)
    with pytest.raises(InputError, match="different ways"):
        aggregate([j_and_f(clip(), clip()), j_and_f(clip(), clip(), protocol="davis2017")])
    with pytest.raises(InputError, match="over is"):
        aggregate([j_and_f(clip(), clip())], over="frames")
