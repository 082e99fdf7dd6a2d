"""An OpenID Connect provider on loopback that says in its tokens what it is told to. It shares no code with what it
tests."""

from __future__ import annotations

import hmac
import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import RSAKey

__all__ = ["LyingProvider", "lying_provider"]

KEY, OTHER_KEY = RSAKey.generate_key(2048, {"kid": "one"}), RSAKey.generate_key(2048, {"kid": "one"})


@dataclass
class LyingProvider:
    """`claims` replace those of an honest token, None takes one away; `about` replaces what it says of itself."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    signing: str = "RS256"
    """An algorithm, `other` for a key that is not the provider's, or `none`."""
    nonce: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The fields of each request for a token."""
    looked_at: int = 0
    """How often what it says of itself was asked for."""

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            **self.about,
        }

    def id_token(self) -> str:
        now = int(time.time())
        honest = {"iss": self.url, "aud": "ibi", "sub": "s-1", "iat": now, "exp": now + 300, "nonce": self.nonce}
        said = {name: value for name, value in {**honest, **self.claims}.items() if value is not None}
        if self.signing in {"none", "HS256"}:
            head = {"alg": self.signing, "kid": "one"}
            text = ".".join(_encode(json.dumps(part).encode()) for part in (head, said))
            # With what all know: the public key.
            mac = hmac.digest(KEY.as_pem(private=False), text.encode(), "sha256")
            return f"{text}.{_encode(mac) if self.signing == 'HS256' else ''}"
        key = OTHER_KEY if self.signing == "other" else KEY
        return jwt.encode({"alg": "RS256", "kid": "one"}, said, key)


def _encode(part: bytes) -> str:
    return urlsafe_b64encode(part).decode().rstrip("=")


@contextmanager
def lying_provider() -> Iterator[LyingProvider]:
    provider = LyingProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/.well-known/"):
                provider.looked_at += 1
                self._say(provider.metadata())
            elif self.path == "/jwks":
                self._say({"keys": [KEY.as_dict(private=False)]})
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            provider.asked.append({name: values[0] for name, values in parse_qs(body).items()})
            self._say({"id_token": provider.id_token(), "access_token": "a", "token_type": "Bearer"})

        def _say(self, said: object) -> None:
            content = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
