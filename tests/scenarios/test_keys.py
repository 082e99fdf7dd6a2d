"""Keys between two processes: pinned, proof against what was overheard, replaced, and signed Copies that are kept.

The Archive reaches its resolver by another name than the resolver has for itself, through one who listens.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.scenarios.test_two_servers_membership import KEY, log_line
from tests.support.ibi_command import IbiCommand
from tests.support.membership_app import J

HOLDER = "copies.example.org/arq/2008/03.17.15.17"


def get(server: str, target: str) -> tuple[int, bytes, dict[str, str]]:
    where = urlsplit(server)
    with closing(HTTPConnection(where.hostname or "", where.port, timeout=30)) as connection:
        connection.request("GET", target)
        answer = connection.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, answer.read(), fields


class Listener:
    """Stands between the Archive and its resolver, and notes what is asked."""

    def __init__(self, resolver: str) -> None:
        self.heard: list[str] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.heard.append(self.path)
                status, body, fields = get(resolver, self.path)
                self.send_response(status)
                for name, value in fields.items():
                    if name.startswith("ibi-") or name in {"content-type", "content-length"}:
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Silence."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self._server.server_address[1]}"

    @contextmanager
    def open(self) -> Iterator[Listener]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def listed(resolver: IbiCommand) -> dict[str, Any]:
    (line,) = resolver("resolver", "list", "--json").out.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def key_of(archive: IbiCommand) -> str:
    return str(json.loads(archive("key", "show", "--json").out)["archive"]["key"])


def copies_in(resolver: IbiCommand, prefix: str) -> dict[str, Any]:
    facts = json.loads(resolver("resolver", "beliefs", prefix, "--json").out)
    found: dict[str, Any] = next(home for home in facts["homes"] if not home["own"])
    return found


def test_what_was_overheard_is_worth_nothing_and_what_was_signed_stays_known(tmp_path: Path) -> None:
    for name in ("resolver", "archive"):
        (tmp_path / name).mkdir()
    resolver, archive = IbiCommand(tmp_path / "resolver"), IbiCommand(tmp_path / "archive")
    with archive.up():
        pass
    first = key_of(archive)
    service = str(json.loads(archive("archive", "status", "--json").out)["rep"])
    with resolver.up("--log-level", "info") as (running, url), Listener(url).open() as listener:
        done = resolver("resolver", "register", service, "--allow-network", "127.0.0.0/8", IBI_REGISTRATION_KEY=KEY)
        assert done.code == 0, done
        variables = {
            "IBI_RESOLVER": listener.url,
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
            "IBI_ARCHIVE_COPIES_AT": f"{HOLDER}=arq.example.org/arq,arq.example.org/ibi",
        }
        with archive.up("--log-level", "info", **variables) as (server, _):
            log_line(server, "included this Archive")
            log_line(running, "says who holds its Copies")
            assert listed(resolver)["key"] == first
            known = json.loads(archive("key", "show", "--json", **variables).out)["known_resolver"]["key"]
            assert known == json.loads(get(url, "/api/keys")[1])["resolver"]["key"]

            # Overheard: the whole request, and the registration key in it.
            (*_, whole) = (each for each in listener.heard if "registrationkey" in each)
            assert get(url, whole)[0] == 403
            pairs = [pair for pair in whole.partition("?")[2].split("&") if "signature" not in pair]
            bare = "&".join(pairs)
            assert KEY in bare
            assert get(url, f"{J}?{bare}")[0] == 403
            assert get(url, f"{J}?{bare.replace('inclusionRequest', 'exclusionRequest')}")[0] == 403
            assert listed(resolver)["included"]

            # Replaced while both run.
            done = archive("key", "replace", "--json")
            assert done.code == 0, done
            second = json.loads(done.out)["key"]
            log_line(server, "included this Archive")
            found = listed(resolver)
            assert (found["key"], found["former_keys"]) == (second, [first])
            log_line(running, "says who holds its Copies")
            server.kill()
    # The home is gone, and the resolver starts anew.
    with resolver.up():
        found = copies_in(resolver, service.rpartition("/20")[0])
        assert found["copies_signed"]
        assert found["copies_at"] == [f"{HOLDER}=arq.example.org/arq,arq.example.org/ibi"]
