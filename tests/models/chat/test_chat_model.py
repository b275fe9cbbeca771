"""Models, cascades and the formatter against a real server, and what is kept of their replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from auscult.errors import InputError
from auscult.models.chat.loading import Cascade, Describer, cascade_of
from auscult.models.chat.model import Asking, ChatFormatter, ReplyCache
from auscult.models.chat.profile import PriceOf
from auscult.models.omni import CountedText, Unreachable
from auscult.score.replies import Read, read_reply
from auscult.work.chat import Spending
from chat_media import model, picture, sound
from chat_server import completed, error_response, serving

pytest.importorskip("openai", reason="the extra `chat` is not installed")
pytestmark = pytest.mark.extra_chat

PRICE = PriceOf(sent=100.0, received=1000.0)


def text_of(body: Mapping[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def kinds_of(body: Mapping[str, Any]) -> list[str]:
    content = body["messages"][-1]["content"]
    return [] if isinstance(content, str) else [part["type"] for part in content[:-1]]


def test_an_answer_says_what_it_cost(tmp_path: Path) -> None:
    with serving(lambda number, _: completed("a dog") if number else error_response(500)) as server:
        chat_model_ = model(server.url, price=PRICE)
        answer = chat_model_.answer("what?", images=[picture(tmp_path / "a.png")], sounds=[], video=None)
        chat_model_.close()
    assert (answer, answer.served) == ("a dog", "served-1")
    assert dict(answer.usage) == {
        "requests": 1, "tries": 2, "tokens_in": 12, "tokens_out": 3, "cost": pytest.approx(12e-4 + 3e-3),
    }  # fmt: skip


def test_what_no_request_can_pass_is_unreachable(tmp_path: Path) -> None:
    with serving(lambda *_: error_response(401)) as server:
        chat_model_ = model(server.url)
        with pytest.raises(Unreachable, match="401"):
            chat_model_.answer("what?")
        chat_model_.close()
    with serving(lambda *_: completed("x")) as server:
        poor = model(server.url, price=PRICE, asking={"spending": Spending(budget=0.001)})
        with pytest.raises(Unreachable, match="budget"):
            poor.answer("what?")
        assert server.bodies == []


def test_an_estimate_is_no_less_than_what_it_comes_to(tmp_path: Path) -> None:
    with serving(lambda *_: completed("x")) as server:
        chat_model_ = model(server.url, price=PRICE)
        media = {"images": [picture(tmp_path / "a.png")], "sounds": [sound(tmp_path / "a.wav", seconds=2.0)]}
        estimate = chat_model_.estimate("what is it? " * 10, **media)
        assert server.bodies == []
    assert estimate.requests == 1
    assert estimate.tokens.sent >= 1500 + 100 + 30
    assert estimate.tokens.received == 1024
    assert estimate.cost == pytest.approx((estimate.tokens.sent * 100 + 1024 * 1000) / 1e6)


def by_model(number: int, body: Mapping[str, Any]) -> bytes:
    """A server of several models: each says its name, what it was shown, and how long its text is."""
    del number
    return completed(f"{body['model']} was shown {'+'.join(kinds_of(body)) or 'words'}")


def write_text(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def no_other(name: str) -> Any:
    raise AssertionError(name)


F1 = """
name = "with-ears"
[[describe]]
of = ["sound"]
model = "chat:ears"
profile = "ears.toml"
[answer]
model = "chat:eyes"
"""
D3 = """
[[describe]]
of = ["picture"]
model = "chat:eyes"
[[describe]]
of = ["sound"]
model = "chat:ears"
asks = { sound = "What barks?" }
[answer]
model = "chat:words"
"""


def test_f1_describes_sound_and_shows_pictures(tmp_path: Path) -> None:
    write_text(tmp_path / "ears.toml", 'model = "ears"\nimages = "none"\nvideo = "none"')
    file = write_text(tmp_path / "f1.toml", F1)
    media = {
        "images": [picture(tmp_path / "a.png")],
        "sounds": [sound(tmp_path / "a.wav"), sound(tmp_path / "b.wav", hz=99)],
    }
    with serving(by_model) as server:
        cascade = cascade_of(file, asking=Asking(base_url=server.url, connections=4), other=no_other)
        answer = cascade.answer("which?", **media)
        second_answer = cascade.answer("and now?", **media)
        cascade.close()
    assert (cascade.name, cascade.connections) == ("cascade.with-ears", 4)
    assert answer == second_answer == "eyes was shown image_url"
    assert [body["model"] for body in server.bodies] == ["ears", "ears", "eyes", "eyes"]
    last = text_of(server.bodies[-1])
    assert last.endswith("and now?")
    assert "Sound 0: ears was shown input_audio\nSound 1: ears was shown input_audio" in last
    assert (answer.usage["requests"], second_answer.usage["requests"]) == (1, 1)
    assert (answer.usage["described_requests"], second_answer.usage.get("described_requests")) == (2, None)


def test_d3_answers_from_words_alone(tmp_path: Path) -> None:
    file = write_text(tmp_path / "d3.toml", D3)
    with serving(by_model) as server:
        cascade = cascade_of(file, asking=Asking(base_url=server.url), other=no_other)
        media = {"images": [picture(tmp_path / "a.png")], "sounds": [sound(tmp_path / "a.wav")]}
        assert cascade.answer("which?", **media) == "words was shown words"
        estimate = cascade.estimate("which?", **media)
        cascade.close()
    assert [body["model"] for body in server.bodies] == ["eyes", "ears", "words"]
    assert text_of(server.bodies[1]) == "What barks?"
    assert estimate.requests == 1  # the descriptions are there
    assert estimate.tokens.sent > 2 * 1024  # as long as they might have been


class OwnModel:
    """A model of one's own, which must not be asked by two threads at once."""

    name, revision = "own", "1"

    def __init__(self) -> None:
        self.turn = threading.Lock()

    def answer(self, question: str, *, images: Any, sounds: Any, video: Any) -> str:
        assert video is None
        assert self.turn.acquire(blocking=False)
        try:
            return f"own saw {len(images)}, heard {len(sounds)}: {question.splitlines()[1][:40]}"
        finally:
            self.turn.release()


def test_any_models_make_a_cascade(tmp_path: Path) -> None:
    with serving(by_model) as server:
        ears = model(server.url)
        cascade = Cascade("mixed", [Describer(model=ears, of=("sound",))], OwnModel())
        paths = [sound(tmp_path / f"{hz}.wav", hz=hz) for hz in range(100, 180, 10)]
        with ThreadPoolExecutor(8) as threads:
            answers = list(
                threads.map(lambda path: cascade.answer("?", images=[], sounds=[path], video=None), paths * 3)
            )
        cascade.close()
    assert set(answers) == {"own saw 0, heard 0: Sound 0: tested was shown input_audio"}
    assert len(server.bodies) == 8  # each sound once, however many threads ask for it at once


def test_a_description_that_fails_costs_the_question_and_is_asked_again(tmp_path: Path) -> None:
    with serving(lambda number, _: completed("woof") if number else error_response(400)) as server:
        cascade = Cascade("mixed", [Describer(model=model(server.url), of=("sound",))], OwnModel())
        with pytest.raises(InputError):
            cascade.answer("?", sounds=[sound(tmp_path / "a.wav")])
        assert "woof" in cascade.answer("?", sounds=[sound(tmp_path / "a.wav")])
        cascade.close()


def test_a_cascade_has_the_revision_of_its_parts() -> None:
    def revision(**profile: Any) -> str:
        return Cascade("c", [Describer(model=model(**profile), of=("sound",))], OwnModel()).revision

    assert revision() == revision()
    assert revision(temperature=1.0) != revision()
    other = Cascade("c", [Describer(model=model(), of=("sound",), asks={"sound": "?"})], OwnModel()).revision
    assert other != revision()


def test_kept_replies_survive_a_kill_and_failures_are_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    cache = ReplyCache(file)
    assert cache.reply("a", lambda: CountedText("one", {}, served="m-1"), sent="what?") == "one"

    def fails() -> str:
        raise InputError("no")

    with pytest.raises(InputError):
        cache.reply("b", fails)
    with file.open("ab") as torn:
        torn.write(b'{"key": "c", "reply": "ha')
    reopened = ReplyCache(file)
    assert "a" in reopened
    assert "b" not in reopened
    assert "c" not in reopened
    assert reopened.reply("a", fails) == "one"
    assert reopened.reply("c", lambda: "three") == "three"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["key"], row["reply"]) for row in rows] == [("a", "one"), ("c", "three")]
    assert (rows[0]["sent"], rows[0]["served"]) == ("what?", "m-1")


def test_a_reply_that_cannot_be_kept_blocks_nobody(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    cache, waits = ReplyCache(file), threading.Event()

    def asks() -> str:
        waits.wait(5)
        return "one"

    assert "a" not in cache  # read by now
    file.mkdir()  # nothing can be appended
    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(cache.reply, "a", asks) for _ in range(2)]
        waits.set()
        errors = [future.exception(timeout=10) for future in futures]
    assert all(isinstance(error, OSError) for error in errors), errors
    file.rmdir()
    assert cache.reply("a", lambda: "two") == "two"


def test_the_formatter_writes_an_answer_where_none_could_be_read() -> None:
    reply = "Going by the bark, I would go for the animal that is man's best friend."
    with serving(lambda *_: completed("dog")) as server:
        formatter = ChatFormatter(model(server.url))
        formatted = formatter.formatted("option", words=("dog", "cat"))
        for _ in range(2):
            assert read_reply(reply, "option", words=("dog", "cat"), formatter=formatted) == Read("dog", "formatter")
        assert read_reply("cat", "option", words=("dog", "cat"), formatter=formatted) == Read("cat", "strict")
        formatter.close()
    assert len(server.bodies) == 1
    prompt = text_of(server.bodies[0])
    assert reply in prompt
    assert "dog, cat" in prompt


@pytest.mark.parametrize("reply_text", ["UNANSWERED", "unanswered.", "**UNANSWERED**", ""])
def test_a_formatter_may_find_no_answer(reply_text: str) -> None:
    with serving(lambda *_: completed(reply_text)) as server:
        formatter = ChatFormatter(model(server.url))
        reply = read_reply(
            "hmm", "option", words=("yes", "no"), formatter=formatter.formatted("option", words=("yes", "no"))
        )
        formatter.close()
    assert not isinstance(reply, Read)
