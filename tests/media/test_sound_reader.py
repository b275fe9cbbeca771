"""A sound file read in blocks gives what it gives when it is read whole."""

from importlib.util import find_spec

import numpy as np
import pytest

from auscult.errors import InputError
from auscult.media.sound import SoundReader, read_sound
from auscult.media.wav import Sound, encode_wav, wav_bytes


@pytest.mark.parametrize("kind", ["wav", pytest.param("flac", marks=pytest.mark.extra_sound)])
def test_blocks_are_parts_of_the_whole(tmp_path, kind):
    samples = np.random.default_rng(0).uniform(-1, 1, (2, 70_001)).astype(np.float32)
    path = tmp_path / f"sound.{kind}"
    if kind == "wav":
        path.write_bytes(encode_wav(samples, 8_000))
    else:
        if find_spec("soundfile") is None:
            pytest.skip("the extra `sound` is not installed")
        import soundfile

        soundfile.write(path, samples.T, 8_000)
    whole_sound = read_sound(path).samples
    with SoundReader(path) as reader:
        assert (reader.shape, reader.rate_hz) == ((2, 70_001), 8_000)
        for start, stop in ((60_000, 80_000), (0, 10), (69_999, 70_001), (5, 5), (70_001, 70_010), (100, 66_000)):
            assert np.array_equal(reader[..., start:stop], whole_sound[:, start:stop])


def test_over_full_scale_is_cut_off_only_where_that_is_wanted(tmp_path):
    path = tmp_path / "loud.wav"
    path.write_bytes(wav_bytes(Sound(samples=np.array([[0.5, 3.0, -7.0, 1.0]], np.float32), rate_hz=8_000), "float32"))
    for cut, wanted in ((True, [0.5, 1.0, -1.0, 1.0]), (False, [0.5, 3.0, -7.0, 1.0])):
        assert read_sound(path, cut=cut).samples.tolist() == [wanted]
        with SoundReader(path, cut=cut) as reader:
            assert reader[..., :].tolist() == [wanted]


def test_what_is_no_sound_or_is_cut_off_is_an_error(tmp_path):
    content_of_whole = encode_wav(np.zeros((1, 400), np.float32), 8_000)
    for name, content in (
        ("cut.wav", content_of_whole[:-100]),
        ("empty.wav", content_of_whole[:44]),
        ("page.wav", b"<html>" * 20),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"truncated|no samples|no sound"):
            SoundReader(path)
