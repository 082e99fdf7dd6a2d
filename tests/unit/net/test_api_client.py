"""The client for programs that do one thing at a time, against a server that does what each test says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLCertVerificationError
from typing import Any

import pytest

from ibi.net.api_client import ApiClient
from ibi.net.errors import (
    AnswerCut,
    InsecureServer,
    ServerRefused,
    ServerUnreachable,
    UnexpectedAnswer,
    UnusableKey,
    UnusableToken,
    with_certificate_hint,
)
from ibi.standard.errors import IbiError

TOKEN = f"ibi_{'a' * 16}_{'b' * 52}"

IDENTITY = json.dumps(
    {
        "host": "sid.inpe.br",
        "ip": None,
        "host_port": 80,
        "ip_port": 80,
        "prefixes": {"rep": "sid.inpe.br", "ibip": None},
        "is_global": True,
        "sandbox": False,
        "instance": "1",
        "granularity": "60",
        "wait_bound": 1,
        "longest_wait": 1,
        "max_count": 1,
        "clock": {"accepted": True, "code": None, "reason": None},
    }
).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers each request by the next of the server's answers, and keeps what was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server: Any = self.server
        server.asked.append((self.command, self.path, dict(self.headers), body))
        server.answers.pop(0)(self)
        self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


Reply = Callable[[Handler], None]


class Scripted(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *answers: Reply) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def scripted(*answers: Reply) -> Iterator[Scripted]:
    with Scripted(*answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def reply(status: int, body: bytes, media: str = "application/json", **headers: str) -> Reply:
    def send(handler: Handler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", media)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return send


def line(number: int) -> bytes:
    label = {"rep": f"inpe.br/sid/2026/11.20.10.{number:02}", "ibip": None, "instant": "x", "sandbox": False}
    return json.dumps(label).encode() + b"\n"


def lines(count: int, *, sent: int | None = None, size: int = 37) -> Reply:
    """`count` labels as a stream in chunks of `size` bytes; broken off after `sent` of them."""
    body = b"".join(map(line, range(count if sent is None else sent)))

    def send(handler: Handler) -> None:
        handler.send_response(201)
        handler.send_header("Content-Type", "application/x-ndjson")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for start in range(0, len(body), size):
            part = body[start : start + size]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        if sent is None:
            handler.wfile.write(b"0\r\n\r\n")

    return send


def hang_up(handler: Handler) -> None:
    """Nothing is said."""


def labels(count: int) -> list[dict[str, object]]:
    return [json.loads(line(number)) for number in range(count)]


# --- asking -----------------------------------------------------------------------------------------------------------


def test_labels_come_as_they_arrive() -> None:
    with scripted(lines(50)) as server:
        assert list(ApiClient(server.url, TOKEN).mint(50, "key")) == labels(50)
    ((method, path, headers, body),) = server.asked
    assert (method, path, json.loads(body)) == ("POST", "/api/labels", {"count": 50})
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["Accept"] == "application/x-ndjson"
    assert headers["Content-Type"] == "application/json"
    assert headers["Idempotency-Key"] == "key"


def test_a_first_label_is_there_before_the_last_was_sent() -> None:
    go_on = threading.Event()

    def slow(handler: Handler) -> None:
        handler.send_response(201)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for number in range(2):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(line(number)), line(number)))
            assert go_on.wait(30)
        handler.wfile.write(b"0\r\n\r\n")

    with scripted(slow) as server:
        minting = ApiClient(server.url, TOKEN).mint(2)
        assert next(minting) == labels(1)[0]
        go_on.set()
        assert len(list(minting)) == 1


def test_a_base_path_comes_before_everything() -> None:
    with scripted(reply(200, IDENTITY)) as server:
        ApiClient(f"{server.url}/base/").identity()
    assert server.asked[0][1] == "/base/api/identity"


def test_the_identity_needs_no_token() -> None:
    with scripted(reply(200, IDENTITY)) as server:
        assert ApiClient(server.url).identity().host == "sid.inpe.br"
    assert "Authorization" not in server.asked[0][2]


def test_without_a_key_each_call_has_one_of_its_own() -> None:
    with scripted(lines(1), lines(1)) as server:
        for _ in range(2):
            list(ApiClient(server.url, TOKEN).mint(1))
    first, second = (asked[2]["Idempotency-Key"] for asked in server.asked)
    assert first != second


# --- answers that break off -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken", [[hang_up], [lines(50, sent=0)], [lines(50, sent=20)], [lines(50, sent=50), hang_up]]
)
def test_an_answer_that_breaks_off_is_continued_under_the_same_key(broken: list[Reply]) -> None:
    with scripted(*broken, lines(50)) as server:
        assert list(ApiClient(server.url, TOKEN).mint(50)) == labels(50)
    assert len({asked[2]["Idempotency-Key"] for asked in server.asked}) == 1


def test_an_answer_that_ends_short_without_saying_so_is_noticed() -> None:
    body = b"".join(map(line, range(3)))
    with scripted(*[reply(201, body)] * 3) as server, pytest.raises(AnswerCut):
        list(ApiClient(server.url, TOKEN).mint(5))


def test_after_three_breaks_it_says_how_to_get_the_labels() -> None:
    with scripted(*[lines(50, sent=20)] * 3) as server:
        minting, received = ApiClient(server.url, TOKEN).mint(50, "my key"), list[object]()
        with pytest.raises(AnswerCut) as cut:
            received.extend(iter(lambda: next(minting), None))
    assert "my key" in str(cut.value)
    assert "20 of 50" in str(cut.value)
    assert len(server.asked) == 3


def test_an_answer_that_does_not_come_is_not_waited_for_three_times() -> None:
    stop = threading.Event()

    def silent(handler: Handler) -> None:
        stop.wait(30)

    with scripted(silent) as server:
        with pytest.raises(AnswerCut):
            list(ApiClient(server.url, TOKEN, timeout=0.05).mint(1))
        stop.set()
    assert len(server.asked) == 1


def test_more_labels_than_asked_for_are_refused() -> None:
    with scripted(lines(3)) as server, pytest.raises(UnexpectedAnswer):
        list(ApiClient(server.url, TOKEN).mint(2))


# --- refusals ---------------------------------------------------------------------------------------------------------


def problem(**members: object) -> bytes:
    return json.dumps({"type": "urn:ibi:problem:clock-behind", "title": "x", "status": 503, **members}).encode()


def test_a_problem_becomes_an_error_of_one_line() -> None:
    body = problem(detail="The clock\nis behind\x1b[2J.", field="count", retry_after=7)
    with scripted(reply(503, body, "application/problem+json")) as server, pytest.raises(ServerRefused) as refusal:
        list(ApiClient(server.url, TOKEN).mint(1))
    assert (refusal.value.problem, refusal.value.status, refusal.value.retry_after) == ("clock-behind", 503, 7)
    assert str(refusal.value).endswith("refuses: The clock is behind [2J.")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        reply(502, b"<html>Bad gateway</html>", "text/html"),
        reply(500, b""),
        reply(404, b"[" * 60_000),
        reply(400, b"null"),
        reply(400, b'{"type": "about:blank", "detail": "\\u001b"}'),
        reply(503, problem(detail="x" * 60_000)),
        reply(503, problem(detail={"deep": ["inside"]}, field=[], retry_after="soon")),
        reply(200, b"{"),
        reply(200, b"[]"),
        reply(200, b"\xff"),
        reply(204, b""),
    ],
)
def test_whatever_a_server_says_is_one_line(answer: Reply) -> None:
    with scripted(answer) as server, pytest.raises(IbiError) as refusal:
        ApiClient(server.url, TOKEN).identity()
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 700


@pytest.mark.parametrize(
    "body",
    [
        b"\n",
        b"{}\n",
        b"null\n",
        b"{" * 20_000,
        b'{"rep": 1, "ibip": null, "instant": "x", "sandbox": false}\n',
        b'{"rep": "a\\u001b[2J", "ibip": null, "instant": "x", "sandbox": false}\n',
        b'{"rep": "a", "ibip": ["b"], "instant": "x", "sandbox": false}\n',
        b"\xff\xfe\n",
    ],
)
def test_what_is_no_label_is_refused(body: bytes) -> None:
    with scripted(reply(201, body)) as server, pytest.raises(UnexpectedAnswer):
        list(ApiClient(server.url, TOKEN).mint(1))


def test_a_redirect_is_not_followed_and_the_token_stays_here() -> None:
    with scripted() as elsewhere, scripted(reply(307, b"", Location=elsewhere.url)) as server:
        with pytest.raises(UnexpectedAnswer):
            list(ApiClient(server.url, TOKEN).mint(1))
        assert elsewhere.asked == []


def test_claims_that_a_resolver_shows_are_a_problem_and_no_redirect() -> None:
    """300 has no address to go to: what it says is for the person who asked."""
    body = problem(type="urn:ibi:problem:unproven-claim", status=300, detail="Its home does not answer.")
    with scripted(reply(300, body, "application/problem+json")) as server:
        with pytest.raises(ServerRefused, match="Its home does not answer") as refused:
            ApiClient(server.url).identity()
        assert (refused.value.status, refused.value.problem) == (300, "unproven-claim")
    with scripted(reply(300, b"<html>")) as server, pytest.raises(UnexpectedAnswer):
        ApiClient(server.url).identity()


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")
    with scripted(reply(200, IDENTITY)) as server:
        assert ApiClient(server.url, TOKEN).identity().host == "sid.inpe.br"


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client = ApiClient(f"http://127.0.0.1:{unused.getsockname()[1]}", TOKEN)
        with pytest.raises(ServerUnreachable):
            client.identity()
        with pytest.raises(ServerUnreachable):
            next(client.mint(1))


def test_a_name_that_no_name_server_can_have_is_one_that_is_not_there() -> None:
    with pytest.raises(ServerUnreachable) as refusal:
        ApiClient(f"http://{'a' * 64}.example").identity()
    assert str(refusal.value).isprintable()


def test_a_server_that_speaks_something_else() -> None:
    def odd(handler: Handler) -> None:
        handler.wfile.write(b"220 mail.example.org ESMTP\r\n")

    with scripted(odd) as server, pytest.raises(ServerUnreachable) as refusal:
        ApiClient(server.url).identity()
    assert str(refusal.value).isprintable()


# --- before anything is sent ------------------------------------------------------------------------------------------


def test_a_token_is_not_sent_where_others_can_read_it() -> None:
    with pytest.raises(InsecureServer):
        ApiClient("http://ibi.example.org", TOKEN)
    ApiClient("http://ibi.example.org")
    ApiClient("http://ibi.example.org", TOKEN, allow_plain=True)
    ApiClient("https://ibi.example.org", TOKEN)
    ApiClient("http://localhost:8765", TOKEN)


@pytest.mark.parametrize("token", ["", " ", "a b", "a\r\nX-Evil: 1", "é", "a\x00"])
def test_what_cannot_be_a_token_is_not_sent_nor_repeated(token: str) -> None:
    with pytest.raises(UnusableToken) as refusal:
        ApiClient("https://ibi.example.org", token)
    assert not token.strip() or token not in str(refusal.value)


@pytest.mark.parametrize("key", ["", " x", "x\n", "é", "x" * 256])
def test_what_cannot_be_a_key_is_not_sent(key: str) -> None:
    with pytest.raises(UnusableKey):
        next(ApiClient("https://ibi.example.org", TOKEN).mint(1, key))


def test_a_certificate_that_is_not_accepted_names_what_to_set() -> None:
    refused = SSLCertVerificationError("certificate verify failed")
    refused.verify_message = "unable to get local issuer certificate"
    assert "SSL_CERT_FILE" in with_certificate_hint("certificate verify failed", refused)
    assert with_certificate_hint("refused", OSError("refused")) == "refused"
