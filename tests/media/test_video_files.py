"""Reading video: exact times, uneven times, turned, odd, silent, late, cut off and hostile files."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from auscult.errors import InputError, TooLarge
from auscult.media.limits import Limits
from auscult.media.sound import read_soundtrack
from auscult.media.video import Rotation, TimedFrame, probe, read_frames
from auscult.media.video_write import encode_video

av = pytest.importorskip("av", reason="the extra `video` is not installed")

pytestmark = pytest.mark.extra_video

HEIGHT, WIDTH = 48, 64
STEP = 10


def grey(index: int, *, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """A frame whose brightness is its number, with a bright corner at the top left."""
    frame = np.full((height, width, 3), 20 + STEP * index, dtype=np.uint8)
    frame[: height // 4, : width // 4] = (250, 40, 40)
    return frame


def number(frame: np.ndarray) -> int:
    """Which frame it was: from the middle, which holds no corner."""
    height, width = frame.shape[:2]
    return round((float(frame[height // 2 - 4 : height // 2 + 4, width // 2 - 4 : width // 2 + 4].mean()) - 20) / STEP)


def film(path: Path, ticks: Sequence[int], *, clock: Fraction = Fraction(1, 1000), **options: Any) -> Path:
    """Write one frame at each tick of a clock."""
    muxing = options.pop("muxing", {})
    size = options.pop("size", (HEIGHT, WIDTH))
    with av.open(str(path), "w", options=muxing) as container:
        stream = container.add_stream(options.pop("codec", "libx264"), rate=25, options={"crf": "10", **options})
        stream.height, stream.width = size
        stream.pix_fmt = "yuv420p" if size[0] % 2 == size[1] % 2 == 0 else "yuv444p"
        stream.codec_context.time_base = clock
        stream.time_base = clock
        for index, tick in enumerate(ticks):
            picture = av.VideoFrame.from_ndarray(grey(index, height=size[0], width=size[1]), format="rgb24")
            picture.pts, picture.time_base = tick, clock
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


def frames_until_error(frames: Any) -> tuple[list[TimedFrame], InputError | None]:
    """The frames before an error, and the error."""
    frames_read = []
    try:
        for frame in frames:
            frames_read.append(frame)  # noqa: PERF402 - what came before the error is wanted
    except InputError as error:
        return frames_read, error
    return frames_read, None


UNEVEN = (0, 40, 55, 300, 310, 700, 1250, 1300)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.mov"])
def test_uneven_times_are_those_of_the_file(tmp_path: Path, name: str) -> None:
    frames = list(read_frames(film(tmp_path / name, UNEVEN)))
    assert [time for time, _ in frames] == [tick / 1000 for tick in UNEVEN]
    assert [number(frame) for _, frame in frames] == list(range(len(UNEVEN)))


def test_frames_between_others_come_in_order(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", range(0, 800, 40), bf="3", g="10", **{"b-pyramid": "normal"})
    with av.open(str(path)) as container:
        orders = [(packet.dts, packet.pts) for packet in container.demux(video=0) if packet.pts is not None]
    assert [pts for _, pts in orders] != sorted(pts for _, pts in orders), "the film has no B-frames"
    frames = list(read_frames(path))
    assert [time for time, _ in frames] == [pytest.approx(index * 0.04) for index in range(20)]
    assert [number(frame) for _, frame in frames] == list(range(20))


def test_the_frame_shown_at_a_time(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", UNEVEN)
    times = [0.0, 0.039, 0.04, 0.2, 0.3, 0.3, 0.6999, 1.2, 1.31]
    frames = list(read_frames(path, times_s=times))
    expected = [max(index for index, tick in enumerate(UNEVEN) if tick <= 1000 * time) for time in times]
    assert [number(frame) for _, frame in frames] == expected == [0, 0, 1, 2, 3, 3, 4, 5, 7]
    assert [time for time, _ in frames] == [UNEVEN[index] / 1000 for index in expected]


def test_an_even_rate_from_uneven_frames(tmp_path: Path) -> None:
    frames = list(read_frames(film(tmp_path / "a.mp4", UNEVEN), fps=4))
    assert [number(frame) for _, frame in frames][:6] == [0, 2, 4, 5, 5, 6]


def test_a_time_of_a_rounded_clock_finds_its_frame(tmp_path: Path) -> None:
    """24 frames a second on a clock of milliseconds: 1/24 s is written as 42 ms and asked for as 41.67 ms."""
    path = film(tmp_path / "a.mkv", [round(1000 * index / 24) for index in range(20)])
    frames = list(read_frames(path, times_s=[index / 24 for index in range(20)]))
    assert [number(frame) for _, frame in frames] == list(range(20))


def test_a_time_behind_the_end(tmp_path: Path) -> None:
    frames, error = frames_until_error(
        read_frames(film(tmp_path / "a.mp4", range(0, 400, 40)), times_s=[0.1, 0.3, 5.0, 6.0])
    )
    assert [number(frame) for _, frame in frames] == [2, 7]
    assert error is not None
    assert "5.000 s" in error.message
    assert "0.360 s" in error.message


@pytest.mark.parametrize(
    "wrong", [{"times_s": [1.0], "fps": 2}, {"times_s": [2.0, 1.0]}, {"times_s": [-1.0]}, {"fps": 0}]
)
def test_wrong_questions(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"times|fps"):
        read_frames(tmp_path / "a.mp4", **wrong)


# Display matrices as phones and editors write them: a, b, c, d of ISO/IEC 14496-12 in 16.16 fixed point.
TURNS = {
    "none": ((1, 0, 0, 1), Rotation()),
    "clockwise": ((0, 1, -1, 0), Rotation(quarters=3)),
    "half": ((-1, 0, 0, -1), Rotation(quarters=2)),
    "counter": ((0, -1, 1, 0), Rotation(quarters=1)),
    "mirror": ((-1, 0, 0, 1), Rotation(mirrored=True)),
    "flip": ((1, 0, 0, -1), Rotation(mirrored=True, quarters=2)),
}


def turned_film(path: Path, matrix: tuple[int, int, int, int]) -> Path:
    """Write a display matrix over that of a film's track header."""
    data = bytearray(film(path, range(0, 200, 40)).read_bytes())
    place = data.index(b"tkhd") + 4 + 40
    for slot, value in zip((0, 1, 3, 4), matrix, strict=True):
        data[place + 4 * slot : place + 4 * slot + 4] = (value * 65536).to_bytes(4, "big", signed=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", TURNS)
def test_turned_and_mirrored(tmp_path: Path, kind: str) -> None:
    matrix, turn = TURNS[kind]
    path = turned_film(tmp_path / "a.mp4", matrix)
    picture_stored = grey(2)
    frame = list(read_frames(path))[2].frame
    a, b, c, d = matrix
    rows, columns = np.nonzero(picture_stored[..., 0] > 200)
    across, rows_down = a * columns + c * rows, b * columns + d * rows
    across, rows_down = across % frame.shape[1], rows_down % frame.shape[0]
    assert np.abs(frame[rows_down, across].astype(int) - (250, 40, 40)).mean() < 25
    assert frame.shape[:2] == ((WIDTH, HEIGHT) if turn.quarters % 2 else (HEIGHT, WIDTH))
    info = probe(path)
    assert (info.height, info.width) == frame.shape[:2]
    assert info.turned == (turn != Rotation())
    assert np.abs(frame.astype(int) - turn.applied(picture_stored)).mean() < 6


@pytest.mark.parametrize("kind", ["none", "clockwise", "half", "counter"])
def test_turned_as_opencv_turns(tmp_path: Path, kind: str) -> None:
    path = turned_film(tmp_path / "a.mp4", TURNS[kind][0])
    capture = cv2.VideoCapture(str(path))
    cv2_frames = []
    while True:
        has_frame, picture = capture.read()
        if not has_frame:
            break
        cv2_frames.append(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
    own_frames = [frame for _, frame in read_frames(path)]
    assert len(own_frames) == len(cv2_frames) == 5
    for our, their in zip(own_frames, cv2_frames, strict=True):
        assert our.shape == their.shape
        assert np.abs(our.astype(int) - their).mean() < 2


@pytest.mark.parametrize("size", [(47, 63), (1, 1), (2, 50), (33, 2)])
def test_odd_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    path = film(tmp_path / "a.mkv", range(0, 120, 40), size=size, codec="ffv1")
    frames = list(read_frames(path))
    assert [frame.shape for _, frame in frames] == [(*size, 3)] * 3
    assert (probe(path).height, probe(path).width) == size


def test_no_sound(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", range(0, 120, 40))
    assert read_soundtrack(path) is None
    info = probe(path)
    assert info.sound_rate_hz is None
    assert info.sound_channels == 0


def test_a_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=16_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 16_000, 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(InputError, match="no video that can be decoded"):
        list(read_frames(path))


def burst(seconds: float, at_s: float, rate_hz: int = 16_000) -> np.ndarray:
    samples = np.zeros((1, round(seconds * rate_hz)), np.float32)
    start = round(at_s * rate_hz)
    samples[:, start : start + 800] = 0.5 * np.sin(np.arange(800) * 0.4)
    return samples


def with_sound(path: Path, *, video_from_s: float, sound_from_s: float, name: str = "pcm_s16le") -> Path:
    """A film of ten frames and a second of sound, each starting when it is told to."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("mpeg4", rate=10)
        video.height, video.width, video.pix_fmt = HEIGHT, WIDTH, "yuv420p"
        audio = container.add_stream(name, rate=16_000, layout="mono")
        for index in range(10):
            picture = av.VideoFrame.from_ndarray(grey(index), format="rgb24")
            picture.pts, picture.time_base = index + round(10 * video_from_s), Fraction(1, 10)
            container.mux(video.encode(picture))
        container.mux(video.encode(None))
        heard = av.AudioFrame.from_ndarray((burst(1.0, 0.5) * 32767).astype(np.int16), format="s16", layout="mono")
        heard.sample_rate, heard.pts, heard.time_base = 16_000, round(sound_from_s * 16_000), Fraction(1, 16_000)
        container.mux(audio.encode(heard))
        container.mux(audio.encode(None))
    return path


@pytest.mark.parametrize(
    ("video_s", "sound_s", "first_s", "heard_s"),
    [(0.0, 0.0, 0.0, 0.5), (0.5, 0.0, 0.5, 0.5), (0.0, 0.3, 0.0, 0.8), (2.0, 2.4, 0.0, 0.9)],
)
def test_streams_that_start_late(
    tmp_path: Path, video_s: float, sound_s: float, first_s: float, heard_s: float
) -> None:
    path = with_sound(tmp_path / "a.mkv", video_from_s=video_s, sound_from_s=sound_s)
    frames = list(read_frames(path))
    assert frames[0].time_s == pytest.approx(first_s, abs=0.001)
    assert [number(frame) for _, frame in frames] == list(range(10))
    sound = read_soundtrack(path)
    assert sound is not None
    assert np.flatnonzero(np.abs(sound.samples[0]) > 0.1)[0] / sound.rate_hz == pytest.approx(heard_s, abs=0.002)
    # Before the first frame the first frame is shown.
    assert number(next(read_frames(path, times_s=[0.0])).frame) == 0


def test_a_transport_stream_starts_at_zero(tmp_path: Path) -> None:
    path = film(tmp_path / "a.ts", range(0, 36_000, 3_600), clock=Fraction(1, 90_000))
    with av.open(str(path)) as container:
        assert container.start_time > 0
    assert [time for time, _ in read_frames(path)] == [pytest.approx(index * 0.04) for index in range(10)]


def cut_file(path: Path, share: float) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: round(share * len(data))])
    return path


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_cut_off(tmp_path: Path, name: str) -> None:
    muxing = {"movflags": "faststart"} if name.endswith("mp4") else {}
    path = film(
        tmp_path / name, range(0, 20 * 80, 80), muxing=muxing, g="4", bf="0", codec="mpeg4", clock=Fraction(1, 1000)
    )
    cut_file(path, 0.6)
    frames, error = frames_until_error(read_frames(path))
    assert 3 <= len(frames) < 20
    assert [number(frame) for _, frame in frames] == list(range(len(frames)))
    assert error is not None
    assert "truncated" in error.message
    assert f"{len(frames)}" in error.message
    # The part that is there can be asked for without an error.
    assert number(next(read_frames(path, times_s=[0.1])).frame) == 1
    late_frames, fault = frames_until_error(read_frames(path, times_s=[0.0, 1.5]))
    assert len(late_frames) == 1
    assert fault is not None


def test_a_cut_film_without_an_index_is_refused(tmp_path: Path) -> None:
    path = cut_file(film(tmp_path / "a.mp4", range(0, 400, 40)), 0.5)
    with pytest.raises(InputError, match="no video that can be read") as error:
        list(read_frames(path))
    assert error.value.path == str(path)
    assert str(tmp_path) not in error.value.message


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"not a video\n" * 50, b"\x00\x00\x00\x18ftypmp42"])
def test_no_video(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    for reader in (probe, read_soundtrack, lambda path_: list(read_frames(path_))):
        with pytest.raises(InputError):
            reader(path)
    with pytest.raises(InputError, match="does not exist"):
        probe(tmp_path / "none.mp4")


def test_a_playlist_opens_no_other_file(tmp_path: Path) -> None:
    film(tmp_path / "secret.ts", range(0, 36_000, 3_600), clock=Fraction(1, 90_000))
    lists = {
        "a.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{tmp_path}/secret.ts\n#EXT-X-ENDLIST\n",
        "a.txt": f"ffconcat version 1.0\nfile {tmp_path}/secret.ts\n",
        "a.mpd": "<?xml version='1.0'?><MPD><Period></Period></MPD>",
    }
    for name, text in lists.items():
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(InputError):
            list(read_frames(path))


def test_bounds(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", range(0, 2000, 100))
    for limits in (Limits(max_seconds=1.0), Limits(max_pixels=1000), Limits(max_frames=5), Limits(max_bytes=100)):
        with pytest.raises(TooLarge):
            list(read_frames(path, limits=limits))
    with pytest.raises(TooLarge, match="too many frames"):
        list(read_frames(path, fps=900, limits=Limits(max_frames=50)))
    raw = with_sound(tmp_path / "b.mkv", video_from_s=0.0, sound_from_s=0.0)
    for limits in (Limits(max_seconds=0.5), Limits(max_channels=0), Limits(max_rate_hz=8000), Limits(max_samples=9000)):
        with pytest.raises(TooLarge):
            read_soundtrack(raw, limits=limits)


def test_damaged_files_end_in_an_input_error(tmp_path: Path) -> None:
    """Bytes of a good film changed anywhere give frames or an InputError, nothing else."""
    rng = np.random.default_rng(5)
    good = with_sound(tmp_path / "a.mkv", video_from_s=0.0, sound_from_s=0.0).read_bytes()
    other = film(tmp_path / "b.mp4", range(0, 400, 40)).read_bytes()
    path = tmp_path / "c.bin"
    for data, _ in itertools.product((good, other), range(40)):
        bad = np.frombuffer(data, np.uint8).copy()
        places = rng.integers(len(bad), size=int(rng.integers(1, 40)))
        bad[places] = rng.integers(256, size=len(places))
        path.write_bytes(bad.tobytes())
        frames, _ = frames_until_error(read_frames(path, limits=Limits(max_pixels=1_000_000, max_frames=500)))
        assert all(frame.dtype == np.uint8 and frame.ndim == 3 for _, frame in frames)
        try:
            read_soundtrack(path, limits=Limits(max_samples=1_000_000))
        except InputError:
            continue


@pytest.mark.parametrize("size", [(HEIGHT, WIDTH), (47, 63), (1, 1)])
def test_written_and_read_again(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "a.mp4"
    frames = [grey(index, height=size[0], width=size[1]) for index in range(12)]
    samples = np.concatenate((burst(1.2, 0.7), -burst(1.2, 0.7)))
    first = encode_video(frames, fps=10, samples=samples, rate_hz=16_000)
    path.write_bytes(first)
    assert (probe(path).height, probe(path).width) == tuple(side + side % 2 for side in size)
    frames_read = list(read_frames(path))
    assert [time for time, _ in frames_read] == [pytest.approx(index / 10) for index in range(12)]
    for (_, frame), original in zip(frames_read, frames, strict=True):
        assert np.abs(frame[: size[0], : size[1]].astype(int) - original).mean() < 6
    sound = read_soundtrack(path)
    assert sound is not None
    assert sound.samples.shape[0] == 2
    assert abs(int(np.flatnonzero(np.abs(sound.samples[0]) > 0.1)[0]) - round(0.7 * 16_000)) <= 16
    for _ in range(4):
        assert encode_video(frames, fps=10, samples=samples, rate_hz=16_000) == first
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.name == "h264"
        assert container.streams.video[0].codec_context.pix_fmt == "yuv420p"
        assert container.streams.audio[0].codec_context.name == "aac"


def test_a_rate_that_is_no_whole_number(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    frames, samples = [grey(index) for index in range(5)], burst(0.2, 0.1)[0]
    path.write_bytes(encode_video(frames, fps=Fraction(30_000, 1001), samples=samples, rate_hz=11_000))
    assert [time for time, _ in read_frames(path)] == [pytest.approx(index * 1001 / 30_000) for index in range(5)]
    sound = read_soundtrack(path)
    assert sound is not None
    assert sound.rate_hz == 48_000


def test_what_cannot_be_written() -> None:
    for frames in ([], [grey(0), grey(1, height=20)], [grey(0)[..., 0]]):
        with pytest.raises(ValueError, match="frame"):
            encode_video(frames, fps=10)
    with pytest.raises(ValueError, match="sound"):
        encode_video([grey(0)], fps=10, samples=np.full((1, 100), 2.0, np.float32), rate_hz=16_000)


CLIPS = ("sam2_01_dog.mp4", "nasa_13013.mp4", "big_buck_bunny_0_30.webm")


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIPS)
def test_real_clips_as_pyav_decodes_them(data: Path, name: str) -> None:
    path = data / "av" / "permissive" / name
    with av.open(str(path)) as container:
        stream = container.streams.best("video")
        av_frames = [
            (float(picture.pts * picture.time_base), picture.to_ndarray(format="rgb24") if index % 60 == 0 else None)
            for index, picture in enumerate(container.decode(stream))
        ]
    own_frames = read_frames(path)
    for (time, frame), (their_time, their_frame) in zip(own_frames, av_frames, strict=True):
        assert time == pytest.approx(their_time, abs=1e-9)
        assert their_frame is None or np.array_equal(frame, their_frame)
    capture = cv2.VideoCapture(str(path))
    if name != "nasa_13013.mp4":  # of its two videos OpenCV takes the other
        assert len(av_frames) == int(capture.get(cv2.CAP_PROP_FRAME_COUNT)) or name.endswith("webm")
        shape = (int(capture.get(cv2.CAP_PROP_FRAME_HEIGHT)), int(capture.get(cv2.CAP_PROP_FRAME_WIDTH)))
        assert shape == (probe(path).height, probe(path).width)


def test_key_frames_of_real_clips(data: Path) -> None:
    lengths = {}
    for name in CLIPS[:2]:
        path = data / "av" / "permissive" / name
        frames = list(read_frames(path, fps=1))
        assert all(later_frame.time_s > earlier.time_s for earlier, later_frame in itertools.pairwise(frames))
        assert all(abs(frame.time_s - index) < 0.05 for index, frame in enumerate(frames))
        sound = read_soundtrack(path)
        assert sound is not None
        lengths[name] = (len(frames), sound.samples.shape[1] / sound.rate_hz)
    assert lengths == {
        "sam2_01_dog.mp4": (10, pytest.approx(9.664, abs=0.01)),
        "nasa_13013.mp4": (14, pytest.approx(13.056)),
    }
