"""Descriptions of several sounds become prompts of single ones."""

from __future__ import annotations

import pytest

from auscult.language.sound_prompts import sound_prompts


@pytest.mark.parametrize(
    ("description", "prompts"),
    [
        ("A bird is chirping under a thunderstorm", ("bird chirping", "thunderstorm")),
        (
            "A dog barks loudly, then people talking and laughing in a room",
            ("dog barking", "people talking", "laughing"),
        ),
        ("a man speaks with a crowd cheering in the background", ("man speaking", "crowd cheering")),
        ("car engines and car horns", ("car engines", "car horns")),
        ("a bus passes by, a horn honks twice", ("bus passing by", "horn honking twice")),
        ("a person walks up stairs", ("person walking up stairs",)),
        ("a woman plays drums", ("woman plays drums",)),
        ("a group of people laughing", ("group of people laughing",)),
        ("a set of keys jingles", ("set of keys jingling",)),
        ("a man running on leaves", ("man running on leaves",)),
        ("footsteps on snow", ("footsteps on snow",)),
        ("Speech; Music", ("speech", "music")),
        ("rain and rain", ("rain",)),
        ("  ", ()),
    ],
)
def test_a_description_is_taken_apart(description: str, prompts: tuple[str, ...]) -> None:
    assert sound_prompts(description) == prompts
    assert all(sound_prompts(prompt) == (prompt,) for prompt in prompts)
