"""An Archive and a resolver as processes: the other form of a label (E59), and a new address that is silent (E60)."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.ibi_command import IbiCommand
from tests.support.mail_server import MailServer, mail_server
from tests.support.membership_app import J

KEY = "7730914258"


def log_line(server: subprocess.Popen[str], words: str) -> str:
    """The next line of the log with these words; the others before it are passed over."""
    assert server.stderr is not None
    return next(line for line in server.stderr if words in line)


class Servers:
    """Two data directories: that of a resolver, and that of an Archive that was begun."""

    def __init__(self, home: Path) -> None:
        for name in ("resolver", "archive"):
            (home / name).mkdir()
        self.resolver, self.archive = IbiCommand(home / "resolver"), IbiCommand(home / "archive")
        with self.archive.up():
            pass
        status = json.loads(self.archive("archive", "status", "--json").out)
        self.rep, self.ibip = str(status["rep"]), str(status["ibip"])

    def register(self, *labels: str) -> None:
        network = ("--allow-network", "127.0.0.0/8")
        mail = ("--admin-mail", "ana@example.org")
        # The letter of the registration is printed: this command has no mail server.
        done = self.resolver("resolver", "register", *labels, *network, *mail, IBI_REGISTRATION_KEY=KEY)
        assert done.code == 0, done

    @contextmanager
    def member(self, resolver: str) -> Iterator[str]:
        """The Archive while it is switched on and included: its address."""
        variables = {
            "IBI_RESOLVER": resolver,
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
        }
        with self.archive.up("--log-level", "info", **variables) as (server, url):
            assert "could not reach" not in log_line(server, "included this Archive")
            yield url.removeprefix("http://")

    def listed(self) -> dict[str, Any]:
        (line,) = self.resolver("resolver", "list", "--json").out.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


def test_both_forms_are_learned_from_an_inclusion_or_wait_for_a_hand(servers: Servers) -> None:
    with servers.resolver.up("--log-level", "info") as (running, url):
        servers.register(servers.rep)
        with servers.member(url) as address:
            log_line(running, "the other form of an Archive's label is known")
            one = servers.listed()
            # Its IBIp is made from the IP address that was dialled.
            assert (one["rep"], one["ibip"], one["waiting"]) == (servers.rep, servers.ibip, None)
            assert (one["address"], one["confirmed"]) == (address, True)
        assert servers.resolver("resolver", "forget", servers.ibip).code == 0
        # Registered by its IBIp alone it is known, too; but no call went to the host of its repository name.
        servers.register(servers.ibip)
        with servers.member(url):
            log_line(running, "waits for `ibi resolver set`")
            one = servers.listed()
            assert (one["rep"], one["ibip"], one["waiting"]) == (None, servers.ibip, servers.rep)
            assert f"says it is also {servers.rep}" in servers.resolver("resolver", "list").out
            assert servers.resolver("resolver", "set", servers.ibip, "--label", servers.rep).code == 0
            after = servers.listed()
            assert (after["rep"], after["waiting"], after["registered"]) == (servers.rep, None, one["registered"])
            assert (after["included"], after["confirmed"]) == (True, True)


class LateServer:
    """An address at which at first nothing listens, and then an Archive confirms."""

    def __init__(self) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = b"confirmation yes"
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Tests say what there is to say."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self._server.server_bind()
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread: threading.Thread | None = None

    def listen(self) -> None:
        self._server.server_activate()
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def mail_variables(server: MailServer) -> dict[str, str]:
    return {
        "IBI_MAIL_SERVER": "127.0.0.1",
        "IBI_MAIL_PORT": str(server.port),
        "IBI_MAIL_SECURITY": "none",
        "IBI_MAIL_SENDER": "register@example.org",
    }


def test_a_silent_new_address_takes_nothing_over_and_is_tried_after_a_kill(servers: Servers) -> None:
    late = LateServer()
    try:
        with mail_server() as mail:
            # As the standard has it: the key of the Archive would keep strangers out altogether.
            legacy = {"IBI_RESOLVE_SIGNATURES": "legacy"}
            with servers.resolver.up("--log-level", "info", **mail_variables(mail), **legacy) as (running, url):
                servers.register(servers.rep)
                with servers.member(url) as address:
                    # What somebody who overheard the key would send.
                    said = urlopen(
                        f"{url}{J}?servicesubject=inclusionRequest&archiveaddress={late.address}"
                        f"&archiveserviceibi={servers.rep}&archiveip=127.0.0.1&archiveprotocol=HTTP"
                        f"&archiveplatformversion=1&archiveadmemailaddress=eve@example.org&registrationkey={KEY}",
                        timeout=30,
                    ).read()
                    assert said == b"status.archive included status.confirmation unsuccessful"
                    log_line(running, "an administrator was told of a new address")
                    (message,) = mail.messages
                    assert b"To: ana@example.org" in message
                    assert late.address.encode() in message
                    assert KEY.encode() not in message
                    one = servers.listed()
                    assert (one["address"], one["confirmed"], one["pending"]["address"]) == (
                        address,
                        True,
                        late.address,
                    )
                    running.kill()
                    running.wait(30)
            assert servers.listed()["pending"]["address"] == late.address  # it is on record
            late.listen()
            with servers.resolver.up("--log-level", "info") as (running, _):
                assert late.address in log_line(running, "an Archive has confirmed")
                one = servers.listed()
                assert (one["address"], one["confirmed"], one["pending"]) == (late.address, True, None)
    finally:
        late.close()
