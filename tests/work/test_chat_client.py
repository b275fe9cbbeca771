"""The client against a real server that misbehaves: what is tried again, what fails, what ends a run, and no key."""

from __future__ import annotations

import json
import logging
import socketserver
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from auscult.errors import AuscultError, InputError, UsageError
from auscult.work.chat import (
    BudgetSpent,
    ChatCall,
    ChatClient,
    ChatReply,
    Endpoint,
    EndpointError,
    Price,
    Secret,
    Spending,
    Tokens,
)
from chat_server import Script, completed, error_response, events, http, serving

pytest.importorskip("openai", reason="the extra `chat` is not installed")
pytestmark = pytest.mark.extra_chat

KEY = "sk-test-7f3a9c-never-shown"
SPELLED = "".join(f"\\u{ord(letter):04x}" for letter in KEY).encode()  # as JSON may have it too
CALL = ChatCall(body={"model": "m", "messages": [{"role": "user", "content": "?"}]}, most=Tokens(sent=100, received=50))
STREAMED = ChatCall(body={**CALL.body, "stream": True}, most=CALL.most)


def after(first: bytes, *later_answers: bytes, then: str = "yes") -> Script:
    """Answer badly so often, then well."""
    bad = (first, *later_answers)
    return lambda number, _: bad[number] if number < len(bad) else completed(then)


def ask(script: Script, *, call: ChatCall = CALL, **options: object) -> tuple[ChatReply | AuscultError, int]:
    """What became of one request, and how often it was sent."""
    with serving(script) as server:
        client = ChatClient(Endpoint(**{"base_url": server.url, "key": Secret(KEY), "timeout_s": 5.0, **options}))
        try:
            result: ChatReply | AuscultError = client.ask(call)
        except AuscultError as error:
            result = error
        finally:
            client.close()
        return result, len(server.bodies)


def test_a_reply_has_text_tokens_and_model() -> None:
    result, n_requests = ask(lambda *_: completed("a dog"))
    assert isinstance(result, ChatReply)
    assert (result.text, result.finish, result.model, result.tries, n_requests) == ("a dog", "stop", "served-1", 1, 1)
    assert result.tokens == Tokens(sent=12, received=3)


@pytest.mark.parametrize(
    "bad",
    [
        error_response(500, "overloaded"),
        error_response(503),
        http(b"<html>busy</html>", status=502),
        http(b"not json"),
        http(b"[1, 2]"),
        http(b'{"choices": []}'),
        http(b'{"choices": [{"message": 3}]}'),
        http(b'{"error": {"message": "queue full"}}'),
        http(completed("cut")[-60:-20], length=500),
        http(b"", length=10),
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        http(b"\x1f\x8b", Content_Encoding="gzip"),
        http(b"[" * 100_000),
        completed("half an", finish="error"),
        completed("half an", finish="abort"),
        http(b'{"choices": [{"message": {"content": ""}, "error": {"code": 502, "message": "upstream died"}}]}'),
    ],
)
def test_what_is_no_completed_chat_is_tried_again(bad: bytes) -> None:
    result, n_requests = ask(after(bad))
    assert isinstance(result, ChatReply), result
    assert (result.text, result.tries, n_requests) == ("yes", 2, 2)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (completed(""), ""),
        (completed(None), ""),
        (completed(None, message={"refusal": "I cannot help with that."}), "I cannot help with that."),
        (completed("", finish="content_filter"), ""),
        (http(b'{"choices": [{"finish_reason": "content_filter: PROHIBITED", "index": 0}]}'), ""),
        (completed("long...", finish="length"), "long..."),
        (completed(None, message={"content": [{"type": "text", "text": "in "}, {"text": "parts"}, 3]}), "in parts"),
        (completed("half \ud83d"), "half ?"),
        (completed("no count", usage=None), "no count"),
        (completed("bad count", usage={"prompt_tokens": -1, "completion_tokens": "9"}), "bad count"),
    ],
)
def test_a_completed_reply_is_one_even_without_an_answer(answer: bytes, text: str) -> None:
    result, n_requests = ask(lambda *_: answer)
    assert isinstance(result, ChatReply), result
    assert (result.text, n_requests) == (text, 1)


@pytest.mark.parametrize("header_form", ["seconds", "milliseconds", "date"])
def test_retry_after_is_honoured(header_form: str) -> None:
    headers = {
        "seconds": {"Retry_After": "1"},
        "milliseconds": {"Retry_After_Ms": "900"},
        "date": {"Retry_After": format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)},
    }[header_form]
    with serving(after(error_response(429, "slow down", **headers))) as server:
        client = ChatClient(Endpoint(base_url=server.url))
        assert client.ask(CALL).tries == 2
        client.close()
    assert server.times[1] - server.times[0] >= 0.85


@pytest.mark.parametrize(
    "error",
    [
        [{"error": {"code": 429, "details": [{"@type": "x.RetryInfo", "retryDelay": "0.9s"}]}}],  # Gemini
        {"error": {"code": 429, "metadata": {"raw": json.dumps({"retryDelay": "0.9s"})}}},  # as a proxy passes it on
    ],
)
def test_a_wait_that_the_error_itself_asks_for_is_honoured(error: Any) -> None:
    with serving(after(http(json.dumps(error).encode(), status=429))) as server:
        client = ChatClient(Endpoint(base_url=server.url))
        assert client.ask(CALL).tries == 2
        client.close()
    assert server.times[1] - server.times[0] >= 0.85


def test_no_time_to_wait_is_as_good_as_no_header() -> None:
    with serving(after(error_response(503, "busy", Retry_After="0"))) as server:
        client = ChatClient(Endpoint(base_url=server.url))
        assert client.ask(CALL).tries == 2
        client.close()
    assert server.times[1] - server.times[0] >= 0.2


def test_a_wait_beyond_the_limit_fails_at_once() -> None:
    start_s = time.monotonic()
    result, n_requests = ask(lambda *_: error_response(429, "come back tomorrow", Retry_After="86400"))
    assert isinstance(result, InputError)
    assert n_requests == 1
    assert "86400 s" in result.message
    assert time.monotonic() - start_s < 5


def test_slow_answers_fail_in_time() -> None:
    hold = threading.Event()

    def script(*_: object) -> bytes:
        hold.wait(10)
        return completed("late")

    start_s = time.monotonic()
    result, n_requests = ask(script, timeout_s=0.3, tries=2)
    hold.set()
    assert isinstance(result, InputError)
    assert (n_requests, "no answer in 0.3 s" in result.message) == (2, True)
    assert time.monotonic() - start_s < 5


@pytest.mark.parametrize(
    "answer_bytes", [b"HTTP/1.1 200 OK\r\nX-Slow: " + 100 * b"x", http(b"", length=100) + 100 * b"x"]
)
def test_an_answer_that_drips_fails_in_time(answer_bytes: bytes) -> None:
    """Each byte comes well within the time of one try, in the headers or in the body."""
    over = threading.Event()

    class Dripping(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            for byte in answer_bytes:
                if over.wait(0.1):
                    return
                self.request.sendall(bytes([byte]))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dripping) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        client = ChatClient(
            Endpoint(base_url=f"http://127.0.0.1:{server.server_address[1]}/v1", timeout_s=0.5, tries=1)
        )
        start_s = time.monotonic()
        with pytest.raises(InputError, match=r"no answer in 0\.5 s"):
            client.ask(CALL)
        assert time.monotonic() - start_s < 5
        over.set()
        client.close()
        server.shutdown()


def test_ten_megabytes_are_not_read() -> None:
    result, n_requests = ask(lambda *_: completed("x" * 10_000_000))
    assert isinstance(result, InputError)
    assert (n_requests, "more than 8,388,608 bytes" in result.message) == (1, True)


def test_a_long_reply_is_cut() -> None:
    result, _ = ask(lambda *_: completed("x" * 2_000_000))
    assert isinstance(result, ChatReply)
    assert len(result.text) == 100_000


def test_a_streamed_reply_is_put_together() -> None:
    result, _ = ask(lambda *_: events("a ", "dog ", "barks"), call=STREAMED)
    assert isinstance(result, ChatReply)
    assert (result.text, result.finish, result.tokens) == ("a dog barks", "stop", Tokens(sent=12, received=3))


def test_events_without_data_only_keep_the_connection() -> None:
    head, _, body = events("a ", "dog").partition(b"\r\n\r\n")
    kept = body.replace(b"data: ", b"event: ping\ndata: \n\ndata:\n\ndata: ", 1) + b"data:"
    result, n_requests = ask(lambda *_: http(kept, Content_Type="text/event-stream"), call=STREAMED)
    assert isinstance(result, ChatReply), (result, head)
    assert (result.text, n_requests) == ("a dog", 1)


def test_line_marks_within_a_piece_end_no_event() -> None:
    piece = json.dumps({"choices": [{"delta": {"content": "a\u2028b\x85c"}}]}, ensure_ascii=False)
    body = f"data: {piece}\r\n\r\ndata: [DONE]\r\n\r\n".encode()
    result, _ = ask(lambda *_: http(body), call=STREAMED)
    assert isinstance(result, ChatReply)
    assert result.text == "a\u2028b\x85c"


@pytest.mark.parametrize(("call", "answer"), [(CALL, events("a ", "dog")), (STREAMED, completed("a dog"))])
def test_an_answer_is_read_in_the_form_it_came_in(call: ChatCall, answer: bytes) -> None:
    result, n_requests = ask(lambda *_: answer, call=call)
    assert isinstance(result, ChatReply), result
    assert (result.text, n_requests) == ("a dog", 1)


@pytest.mark.parametrize(
    ("usage", "received"),
    [
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, 603),
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 0}, 198),
        ({"prompt_tokens": 20, "total_tokens": 20}, 0),
    ],
)
def test_tokens_of_thoughts_outside_of_the_completion_are_received_too(usage: Any, received: int) -> None:
    result, _ = ask(lambda *_: completed("yes", usage=usage))
    assert isinstance(result, ChatReply)
    assert result.tokens == Tokens(sent=20, received=received)


@pytest.mark.parametrize(
    "bad",
    [
        events("a do", end=False),
        http(b'data: {"error": {"message": "x"}}\n\n'),
        http(b""),
        http(b'data: {"choices": [{"delta": {"content": "a do"}, "finish_reason": "error"}]}\n\ndata: [DONE]\n\n'),
    ],
)
def test_a_stream_without_its_end_is_tried_again(bad: bytes) -> None:
    result, n_requests = ask(lambda number, _: events("whole") if number else bad, call=STREAMED)
    assert isinstance(result, ChatReply)
    assert (result.text, n_requests) == ("whole", 2)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_wrong_is_not_sent_again(status: int) -> None:
    result, n_requests = ask(lambda *_: error_response(status, "no audio here"))
    assert type(result) is InputError
    assert (n_requests, "no audio here" in result.message) == (1, True)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"object": "error", "message": "context length is 2048 tokens", "code": 400}, "context length is 2048 tokens"),
        ({"detail": [{"loc": ["body", "seed"], "msg": "not permitted"}]}, "body.seed: not permitted"),
        ({"message": {"detail": [{"loc": ["body"], "msg": "bad"}, {"msg": "worse"}]}}, "body: bad; worse"),
        ([{"error": {"code": 400, "message": "no such field"}}], "no such field"),
        ({"error": "try pulling it first"}, "try pulling it first"),
        ({"error": {"error": {"error": {"error": {"error": "deep"}}}}}, ""),
        ([3, None], ""),
    ],
)
def test_the_message_of_an_error_is_found_where_servers_put_it(body: Any, told: str) -> None:
    result, _ = ask(lambda *_: http(json.dumps(body).encode(), status=400))
    assert isinstance(result, InputError)
    assert result.message == "the endpoint answered 400" + (f": {told}" if told else "")


def test_no_redirection_is_followed() -> None:
    with serving(lambda *_: completed("elsewhere")) as other:
        result, _ = ask(lambda *_: http(b"", status=307, Location=f"{other.url}/chat/completions"))
        assert isinstance(result, InputError)
        assert other.bodies == []


@pytest.mark.parametrize(
    "answer",
    [
        error_response(401, "wrong key"),
        error_response(402, "more credits are needed"),
        error_response(403),
        error_response(404, "no such model"),
        error_response(429, code="insufficient_quota"),
    ],
)
def test_what_no_request_can_pass_ends_the_run(answer: bytes) -> None:
    result, n_requests = ask(lambda *_: answer)
    assert isinstance(result, EndpointError)
    assert n_requests == 1


def test_a_model_that_replied_survives_a_403() -> None:
    with serving(lambda number, _: error_response(403, "moderated") if number == 1 else completed("yes")) as server:
        client = ChatClient(Endpoint(base_url=server.url))
        client.ask(CALL)
        with pytest.raises(InputError):
            client.ask(CALL)
        assert client.ask(CALL).text == "yes"
        client.close()


def test_input_that_is_flagged_ends_no_run_even_at_first() -> None:
    flagged = http(b'{"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["x"]}}}', status=403)
    with serving(after(flagged)) as server:
        client = ChatClient(Endpoint(base_url=server.url))
        with pytest.raises(InputError, match="flagged") as caught:
            client.ask(CALL)
        assert not isinstance(caught.value, EndpointError)
        assert client.ask(CALL).text == "yes"
        client.close()


def test_a_dead_endpoint_ends_the_run_for_all_threads() -> None:
    client = ChatClient(Endpoint(base_url="http://127.0.0.1:9/v1", tries=1, connections=4))

    def error_name(_: int) -> str:
        try:
            return client.ask(CALL).text
        except AuscultError as error:
            return type(error).__name__

    with ThreadPoolExecutor(4) as threads:
        error_names = list(threads.map(error_name, range(30)))
    assert error_names.count("InputError") <= 9
    assert error_names[-1] == "EndpointError"
    client.close()


def test_closing_wakes_who_waits() -> None:
    def script(*_: object) -> bytes:
        threading.Timer(1.0, client.close).start()  # a slow machine may take that long to read the answer
        return error_response(429, Retry_After="60")

    with serving(script) as server:
        client = ChatClient(Endpoint(base_url=server.url))
        start_s = time.monotonic()
        with pytest.raises(EndpointError):
            client.ask(CALL)
        assert time.monotonic() - start_s < 10


def test_a_budget_is_never_passed_by_parallel_requests() -> None:
    price = Price(sent=1e4, received=1e4)  # a request costs at most 1.5 USD, and then .15
    spending, refusals = Spending(budget=3.0), list[str]()
    with serving(lambda *_: completed("yes")) as server:
        client = ChatClient(Endpoint(base_url=server.url, connections=8), price=price, spending=spending)

        def cost_of_request(_: int) -> float:
            try:
                return client.ask(CALL).cost or 0.0
            except BudgetSpent as error:
                refusals.append(str(error))
                return -1.0

        with ThreadPoolExecutor(8) as threads:
            costs = list(threads.map(cost_of_request, range(60)))
        client.close()
    paid = [cost for cost in costs if cost >= 0]
    assert sum(paid) == pytest.approx(spending.spent)
    assert 1.0 < spending.spent <= 3.0
    assert len(server.bodies) == len(paid)
    assert costs.count(-1.0) == len(refusals) > 0
    assert not any("--dry-run" in refusal for refusal in refusals)  # an option that few commands have


def test_a_budget_needs_a_price() -> None:
    with pytest.raises(UsageError, match="needs a price"):
        ChatClient(Endpoint(base_url="http://127.0.0.1:9/v1"), spending=Spending(budget=1.0))


@pytest.mark.parametrize(
    "url", ["http://me:secret@host/v1", "https://host/v1?key=abc", "file:///etc/passwd", "host:80/v1", "http:///v1"]
)
def test_an_address_that_holds_a_key_or_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as error:
        Endpoint(base_url=url)
    assert "secret" not in str(error.value)


def test_the_key_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    echo = [
        completed(f"your key is {KEY}"),
        error_response(400, f"bad key {KEY}"),
        error_response(401, f"Incorrect API key provided: {KEY}"),
        http(b'{"error": {"message": "%s"}}' % SPELLED, status=400),
        http(b'{"choices": [{"message": {"content": "%s"}}]}' % SPELLED),
        http(KEY.encode()),
        b"",
    ]  # fmt: skip
    texts: list[str] = []
    for answer in echo:
        with serving(lambda *_, answer=answer: answer) as server:
            client = ChatClient(Endpoint(base_url=server.url, key=Secret(KEY), tries=1))
            try:
                texts.append(repr(client.ask(CALL)))
            except AuscultError as error:
                texts += [str(error), repr(error), *traceback.format_exception(error)]
            texts += [
                repr(client),
                repr(client.endpoint),
            ]
            client.close()
            assert server.headers[0]["authorization"] == f"Bearer {KEY}"
            assert KEY not in json.dumps(server.bodies)
    out, err = capfd.readouterr()
    all_text = "\n".join([*texts, caplog.text, out, err])
    assert KEY not in all_text
    assert "***" in all_text


@pytest.mark.parametrize("placeholder", ["EMPTY", "1", "none"])
def test_a_placeholder_for_a_key_changes_no_reply(placeholder: str) -> None:
    text = '{"dog": 1, "none": "EMPTY"}'
    result, _ = ask(lambda *_: completed(text), key=Secret(placeholder))
    assert isinstance(result, ChatReply)
    assert (result.text, result.tokens) == (text, Tokens(sent=12, received=3))


def test_an_error_shows_neither_the_key_nor_the_login_of_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx2

    def fails(*_: object) -> None:
        raise httpx2.ProxyError(f"407 from http://me:p@ss@proxy:3128/ for {KEY}")

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", fails)
    client = ChatClient(Endpoint(base_url="http://127.0.0.1:9/v1", key=Secret(KEY), tries=1))
    with pytest.raises(InputError, match="407") as error:
        client.ask(CALL)
    client.close()
    assert "http://***@proxy:3128/ for ***" in str(error.value)


def test_a_body_that_stalls_ends_in_time() -> None:
    stalled = http(completed("late").partition(b"\r\n\r\n")[2][:20], length=500)
    hold = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            """Send headers late, and half a body."""
            self.request.recv(65536)
            time.sleep(2.5)
            self.request.sendall(stalled)
            hold.wait(10)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        client = ChatClient(
            Endpoint(base_url=f"http://127.0.0.1:{server.server_address[1]}/v1", timeout_s=3.0, tries=1)
        )
        start_s = time.monotonic()
        with pytest.raises(InputError, match=r"no answer in 3 s"):
            client.ask(CALL)
        took_s = time.monotonic() - start_s
        hold.set()
        client.close()
        server.shutdown()
    assert took_s < 5  # 2.5 s for the headers, .5 s for the rest


def test_nothing_of_the_environment_is_sent_beside_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "from-the-environment")
    with serving(lambda *_: completed("yes")) as server:
        client = ChatClient(Endpoint(base_url=server.url))
        client.ask(CALL)
        client.close()
    assert "from-the-environment" not in json.dumps(server.headers)
