"""The smallest Archive that the standard allows (R 9.2): the empty relation alone, written without this software."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, quote, unquote

SERVICE = "example.org/small/2020/01.01.00.00"
ITEM = "example.org/small/2020/01.02.03.04"
KEYS = count(1_000_000_000)


class _Archive(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == f"/{SERVICE}" and "servicesubject" in query:
            self._reply(200, "text/plain", self._answer({name: values[0] for name, values in parse_qs(query).items()}))
        elif unquote(path).lower() in (f"/files/{SERVICE}", f"/files/{ITEM}"):
            self._reply(200, "text/html", "<p>An item")
        else:
            self._reply(404, "text/html", "<p>Not here")

    def _answer(self, pairs: dict[str, str]) -> str:
        match pairs.get("servicesubject"):
            case "inclusionConfirmationRequest":
                return "confirmation yes"
            case "acknowledgment":
                return "notice {acknowledgment received}"
            case "urlRequest" if (label := pairs.get("parsedibiurl.ibi", "").lower()) in (SERVICE, ITEM):
                return self._about(label)
        return ""

    def _about(self, label: str) -> str:
        address = self.headers["Host"]
        pairs = [
            f"archiveaddress {address}",
            "contenttype Data",
            f"ibi {{rep {label}}}",
            f"ibi.archiveservice {{rep {SERVICE}}}",
            "ibi.platformsoftware {}",
            "state Original",
            "timestamp 2020-01-02T03:04:00Z",
            f"url http://{address}/files/{quote(label)}",
            f"urlkey {next(KEYS)}",
        ]
        return " ".join(pairs)

    def _reply(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def minimal_archive() -> Iterator[str]:
    """Its URL, while it runs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Archive) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
