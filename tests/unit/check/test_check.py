"""`ibi check` against servers that are none, and against the smallest Archive there can be."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ibi.check import client as probe_http
from ibi.check.client import ProbeSender
from ibi.check.rules.checking import Probe, ProbeResponse
from ibi.check.rules.examination import TimeIsOver
from ibi.command import main
from tests.support import mail_server
from tests.support.minimal_archive import ITEM, SERVICE, minimal_archive


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["check", *arguments])
    printed = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, printed.out, printed.err


def test_a_data_directory_that_is_missing_is_no_failed_clause(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = run(capsys, "--data", str(tmp_path / "nowhere"))
    assert (code, out) == (2, "")
    assert "there is no data directory" in err


@contextmanager
def socket_that(do: str) -> Iterator[str]:
    """A server on loopback that speaks no HTTP: it is silent, or says something else."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                taken.append(connection)
                if do == "noise":
                    connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        for connection in taken:
            connection.close()


class _Page(BaseHTTPRequestHandler):
    """A Web server of any kind: the same page for every path."""

    server: _Server

    def do_GET(self) -> None:
        self.send_response(302 if self.server.location else 200)
        self.send_header("Content-Type", "text/html")
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()
        self.wfile.write(b"<h1>It works!</h1>\x1b[2J")

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None: ...


class _Server(ThreadingHTTPServer):
    location = ""

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that does not trust it goes away."""


@contextmanager
def plain_server(tls: ssl.SSLContext | None = None, location: str = "") -> Iterator[str]:
    with _Server(("127.0.0.1", 0), _Page) as server:
        server.location = location
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def judge_refusal(code: int, out: str, err: str) -> None:
    assert code == 2
    assert out == ""
    assert err.startswith("ibi: ")
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_a_plain_web_server_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with plain_server() as address:
        judge_refusal(*run(capsys, f"http://{address}"))
        judge_refusal(*run(capsys, f"http://{address}/{SERVICE}"))
        judge_refusal(*run(capsys, f"http://{address}/J8LNKB5R7W/3FUQHC5"))


def test_a_closed_port_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    judge_refusal(*run(capsys, f"http://{address}"))


def test_a_server_without_tls_is_none_over_https(capsys: pytest.CaptureFixture[str]) -> None:
    with plain_server() as address:
        code, out, err = run(capsys, f"https://{address}")
    judge_refusal(code, out, err)
    assert "TLS" in err


def test_a_server_whose_certificate_is_not_trusted_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(mail_server.__file__).with_suffix(".pem"))
    with plain_server(context) as address:
        code, out, err = run(capsys, f"https://{address}")
    judge_refusal(code, out, err)
    assert "CERTIFICATE_VERIFY_FAILED" in err


def test_a_server_that_speaks_something_else_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with socket_that("noise") as address:
        judge_refusal(*run(capsys, f"http://{address}"))


def test_a_server_that_says_nothing_is_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_http, "FOR_ONE", 0.2)
    with socket_that("silence") as address:
        code, out, err = run(capsys, f"http://{address}")
    judge_refusal(code, out, err)
    assert "no answer within" in err


def test_a_run_that_is_not_finished_in_time_neither_passes_nor_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Probe] = []
    ask = ProbeSender.__call__

    def ask_until_late(self: ProbeSender, probe: Probe) -> ProbeResponse:
        sent.append(probe)
        if len(sent) > 20:
            raise TimeIsOver
        return ask(self, probe)

    monkeypatch.setattr(ProbeSender, "__call__", ask_until_late)
    with minimal_archive() as url:
        code, out, _ = run(capsys, f"{url}/{SERVICE}", "--item", ITEM, "--level", "minimal")
        assert code == 3
        assert out.splitlines()[-1].endswith(": not enough time")
        code, out, err = run(capsys, f"{url}/{SERVICE}")  # by now it is over from the start
        assert (code, out, err.count("\n")) == (3, "", 1)
        assert "not enough time" in err


def test_a_server_that_sends_messages_on_is_named_with_where(capsys: pytest.CaptureFixture[str]) -> None:
    with plain_server(location="https://archive.example.org/") as address:
        code, out, err = run(capsys, f"http://{address}/{SERVICE}")
    judge_refusal(code, out, err)
    assert "https://archive.example.org/" in err


@pytest.mark.parametrize(
    "url", ["ftp://x.org", "http://x.org/no-label", "http://user:secret@x.org", "http://x.org?a", ""]
)
def test_what_is_no_url_of_a_server_is_wrong_usage(capsys: pytest.CaptureFixture[str], url: str) -> None:
    code, out, err = run(capsys, url)
    judge_refusal(code, out, err)
    assert "secret" not in err


def test_membership_is_tried_with_write_only(capsys: pytest.CaptureFixture[str]) -> None:
    judge_refusal(*run(capsys, "http://127.0.0.1:9", "--archive-service", SERVICE))


def test_the_empty_relation_alone_passes_the_minimal_level(capsys: pytest.CaptureFixture[str]) -> None:
    with minimal_archive() as url:
        code, out, err = run(capsys, f"{url}/{SERVICE}", "--item", ITEM, "--level", "minimal", "--write", "--json")
    assert err == ""
    report = json.loads(out)
    judged = {each["check"]: each["judgment"] for each in report["clauses"]}
    assert {name for name, judgment in judged.items() if judgment in ("fail", "warning")} == set()
    assert (code, report["judgment"], report["complete"], report["resolver"]) == (0, "pass", True, False)
    assert list(judged.values()).count("pass") > 30


def test_the_empty_relation_alone_fails_the_full_level(capsys: pytest.CaptureFixture[str]) -> None:
    with minimal_archive() as url:
        code, out, _ = run(capsys, f"{url}/{SERVICE}", "--item", ITEM)
    assert code == 1
    assert "fail             archive   R Example 9.10" in out
    assert "sent: GET /" in out
    assert "received: 200 content-type: text/plain archiveaddress" in out
    assert out.splitlines()[-1].endswith(": fail")
