"""Profiles and cascades as files: what is read, what is refused, what an answer depends on, where a key goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auscult.errors import UsageError
from auscult.models.chat.loading import ChatHow, cascade_of, named_chat
from auscult.models.chat.model import REPLY_CACHE, Asking, chat_model
from auscult.models.chat.profile import ChatProfile, named_profile, read_profile, shipped_profiles
from auscult.models.omni import OmniRequest
from auscult.models.omni_spec import omni_spec

TABLE_13 = {
    "gemini-1.5-flash",
    "gemini-1.5-pro",
    "gemini-2.0-flash",
    "gemini-2.5-flash-preview-04-17",
    "gemini-2.5-pro-preview-05-06",
    "gpt-4o-2024-08-06",
    "gpt-4o-audio-preview-2024-12-17",
    "gpt-4o-mini-2024-07-18",
    "gpt-4o-mini-audio-preview-2024-12-17",
    "qwen-omni-turbo-2025-03-26",
}
TABLE_2_OF_MQA = {
    "DAMO-NLP-SG/VideoLLaMA3-7B",
    "Qwen/Qwen2.5-Omni-7B",
    "inclusionAI/Ming-flash-omni-Preview",
    "gemini-3-flash-preview",
}


def test_the_models_of_both_papers_have_a_profile() -> None:
    profiles = shipped_profiles()
    assert profiles.keys() == TABLE_13 | TABLE_2_OF_MQA
    for name in (*TABLE_13, "gemini-3-flash-preview"):
        assert profiles[name].base_url.startswith("https://")
        assert profiles[name].key
    assert all(profiles[name].images == "image_url" for name in TABLE_2_OF_MQA)  # the others are served by the user


def test_toml_and_json_are_read_alike(tmp_path: Path) -> None:
    toml, plain = tmp_path / "p.toml", tmp_path / "p.json"
    toml.write_text(
        'model = "m"\nboxes = "yxyx thousandths"\nextra = { top_k = 1 }\n[price]\nsent = 2\nreceived = 8.5\n'
    )
    plain.write_text(
        json.dumps(
            {"model": "m", "boxes": "yxyx thousandths", "extra": {"top_k": 1}, "price": {"sent": 2, "received": 8.5}}
        )
    )
    assert read_profile(toml) == read_profile(plain)
    assert read_profile(toml).price is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('modle = "m"', "modle"),
        ("# nothing", "model"),
        ("", "empty"),
        ('model = "m"\nboxes = "guess"', "boxes"),
        ('model = "m"\nframes = 0', "frames"),
        ('model = "m"\nsounds = "file"', "sounds"),
        ('model = "m"\nkey = "sk-123"', "environment variable"),
        ('model = "m"\nkey = "AIzaSy123"', "environment variable"),
        ('model = "m"\nextra = { messages = [] }', "messages"),
        ('model = "m"\nextra = { Authorization = "Bearer 123" }', "Authorization"),
        ('model = "m"\nextra = { a = [{ api_key = "sk-123" }] }', "api_key"),
        ('model = "m"\nextra = { extra_headers = {} }', "extra_headers"),
        ('model = "m"\n[price]\nsent = -1\nreceived = 1', "price"),
        ("model = ", "no TOML"),
        ("\x00", "no TOML"),
    ],
)
def test_a_wrong_profile_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        read_profile(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "123" not in str(error.value)


def digest(**fields: Any) -> str:
    base_url = fields.pop("base_url", "http://a/v1")
    return ChatProfile(**{"model": "m", **fields}).digest(base_url=base_url, seed=fields.pop("seed", 42))


def test_a_revision_changes_with_what_changes_answers() -> None:
    same_profiles = [{}, {"timeout_s": 3.0}, {"tries": 2}, {"key": "OTHER"}, {"base_url": "http://a/v1/"}]
    other = [{"temperature": 1.0}, {"frames": 8}, {"system": "x"}, {"extra": {"k": 1}}, {"base_url": "http://b/v1"}]
    assert len({digest(**profile_fields) for profile_fields in same_profiles}) == 1
    assert len({digest(**profile_fields) for profile_fields in (*other, {})}) == len(other) + 1
    # Where the profile says what is served, the address may change.
    assert digest(revision="r1") == digest(revision="r1", base_url="http://b/v1") != digest(revision="r2")


def test_the_key_of_a_profile_goes_to_its_own_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.setenv("AUSCULT_CHAT_KEY", "sk-of-elsewhere")

    def key(base_url: str) -> str | None:
        chat_model_ = chat_model("gpt-4o-2024-08-06", asking=Asking(base_url=base_url, sends=False))
        key_found = chat_model_._client.endpoint.key
        return None if key_found is None else key_found.reveal()

    assert key("") == key("https://api.openai.com/v1/") == "sk-of-openai"
    assert key("https://api.openai.com.example/v1") == "sk-of-elsewhere"
    monkeypatch.delenv("AUSCULT_CHAT_KEY")
    assert key("http://127.0.0.1:8000/v1") is None


def test_a_missing_key_is_said_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setattr("auscult.models.chat.model.require_extra", lambda: None)
    with pytest.raises(UsageError, match="GEMINI_API_KEY is not set"):
        named_chat("chat:gemini-2.0-flash", profile=None, asking=Asking())
    assert named_chat("chat:gemini-2.0-flash", profile=None, asking=Asking(sends=False)).name == "chat.gemini-2.0-flash"


def test_an_address_is_needed_and_a_profile_must_fit(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not known where mine answers"):
        named_chat("chat:mine", profile=None, asking=Asking())
    (tmp_path / "p.toml").write_text('model = "other"\nbase_url = "http://127.0.0.1:9/v1"')
    with pytest.raises(UsageError, match="the profile is of 'other'"):
        named_chat("chat:mine", profile=tmp_path / "p.toml", asking=Asking(sends=False))
    assert named_chat("chat:", profile=tmp_path / "p.toml", asking=Asking(sends=False)).name == "chat.other"


def test_a_name_without_a_profile_has_the_usual_one() -> None:
    assert named_profile("mine") == ChatProfile(model="mine")


def test_extra_takes_what_only_sounds_like_a_key() -> None:
    extra = {"prompt_cache_key": "a", "stop_token_ids": [1], "chat_template_kwargs": {"enable_thinking": False}}
    assert ChatProfile(model="m", extra=extra).extra == extra


def test_a_run_has_one_budget_and_reads_its_folder_when_it_is_used(tmp_path: Path) -> None:
    chat_options = ChatHow(folder=tmp_path, replies="predictions.jsonl", budget=1.0)
    first, second, kept_replies = chat_options.asking(), chat_options.asking(), chat_options.kept()
    (tmp_path / "predictions.jsonl").write_text('{"usage": {"cost": 0.5}}\n{"usage": {"co')
    (tmp_path / REPLY_CACHE).write_text('{"key": "a", "reply": "yes", "usage": {"cost": 0.25}}\n')
    assert first.spending is second.spending is not None
    first.spending.add(0.125)
    assert second.spending.spent == 0.875
    assert "a" in kept_replies


@pytest.mark.parametrize("text", ["cascade:c.toml", "predictions:replies", "human:replies", "ideal", "noisy:0.5"])
def test_a_cascade_takes_no_cascade_and_nothing_that_needs_a_sample(tmp_path: Path, text: str) -> None:
    (tmp_path / "replies").mkdir()
    path = tmp_path / "c.toml"
    path.write_text(f'[[describe]]\nof = ["sound"]\nmodel = "{text}"\n[answer]\nmodel = "chat:b"')
    with pytest.raises(UsageError, match="in a cascade"):
        omni_spec(f"cascade:{path}", how=ChatHow(base_url="http://127.0.0.1:9/v1", sends=False))


def test_paths_in_a_cascade_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "home"
    root.mkdir()
    (root / "own.py").write_text("def answer(question, *, images, sounds, video):\n    return 'a bell'\n")
    path = root / "c.toml"
    path.write_text('[[describe]]\nof = ["sound"]\nmodel = "own.py:answer"\n[answer]\nmodel = "own.py:answer"')
    monkeypatch.chdir(tmp_path)
    opened_model = omni_spec("cascade:home/c.toml").open()
    request = OmniRequest(id="", condition="", folder="", position=0, question="what?")
    assert opened_model(request).text == "a bell"
    opened_model.close()


def no_other_model(name: str) -> Any:
    raise AssertionError(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[answer]\nmodel = "chat:a"', "describe"),
        ('[[describe]]\nof = ["sound"]\nmodel = "chat:a"', "answer"),
        ('[[describe]]\nof = ["smell"]\nmodel = "chat:a"\n[answer]\nmodel = "chat:b"', "of"),
        ('[[describe]]\nof = []\nmodel = "chat:a"\n[answer]\nmodel = "chat:b"', "of"),
        ('[[describe]]\nof = ["sound"]\nmodel = "chat:a"\n' * 2 + '[answer]\nmodel = "chat:b"', "described twice"),
        ('[[describe]]\nof = ["sound"]\nmodel = "chat:a"\nasks = { smell = "?" }\n[answer]\nmodel = "chat:b"', "smell"),
        ('[answer]\nmodel = "chat:b"\nprofil = "x"', "profil"),
    ],
)
def test_a_wrong_cascade_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        cascade_of(path, asking=Asking(base_url="http://127.0.0.1:9/v1", sends=False), other=no_other_model)
    assert message in str(error.value)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auscult.work.chat.client.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="extra `chat`"):
        named_chat("chat:mine", profile=None, asking=Asking(base_url="http://127.0.0.1:9/v1"))
    assert named_chat("chat:mine", profile=None, asking=Asking(base_url="http://127.0.0.1:9/v1", sends=False))


def test_the_examples_of_the_page_are_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "chat.md").read_text(encoding="utf-8")
    first, second = (part.partition("```")[0] for part in page.split("```toml\n")[1:])
    (tmp_path / "p.toml").write_text(first)
    (tmp_path / "c.toml").write_text(second)
    assert read_profile(tmp_path / "p.toml").revision
    cascade = cascade_of(tmp_path / "c.toml", asking=Asking(sends=False), other=no_other_model)
    assert cascade.name == "cascade.gpt-4o"
    assert all(name in page for name in TABLE_13)
