"""A client for an OpenID Connect provider: its metadata, its keys, and the token for a code.

The settings name the provider; no request does. Its metadata has to contain the same name, or answers of one provider
could be taken for those of another. Only signatures by public keys count.
"""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ibi.net.address_guard import OPERATOR_NETWORKS, AddressGuard
from ibi.net.blocking_http import BlockingConnection, BrokenAnswer, Waits
from ibi.net.errors import InvalidServer
from ibi.net.server_url import ServerUrl, look_up, request_target, server_of
from ibi.people.model.account import ProviderClaims
from ibi.people.rules.errors import ProviderAway, ProviderRefused
from ibi.standard.errors import IbiError
from ibi.standard.reply import Failure
from ibi.standard.safe_text import printable, shorten

_WAITS: Final = Waits(connect=10.0, head=10.0, silence=10.0)
_MOST: Final = 1 << 20
_KEPT: Final = 3600.0
"""Seconds for which the metadata are cached."""
_FAILURE_KEPT: Final = 5.0
"""Seconds before the metadata are requested again after a failure."""
_AGAIN: Final = 60.0
"""Seconds after which the keys are requested again, if a token names an unknown key."""
_LEEWAY: Final = 60
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass
class OidcProvider:
    """Implements the port `IdentityProvider` on one provider. Calls block, and are safe in any thread."""

    address: str
    """Its issuer as in the settings, with or without a final slash."""
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    name: str = "OpenID Connect"
    monotonic: Callable[[], float] = field(default=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._failure: tuple[float, IbiError] | None = None
        self._keys: tuple[float, KeySet] | None = None

    @property
    def issuer(self) -> str:
        return str(self._about()["issuer"])

    @property
    def names_itself(self) -> bool:
        """True if its answers to browsers name the provider (RFC 9207)."""
        return bool(self._about().get("authorization_response_iss_parameter_supported"))

    def authorization_url(self, redirect_uri: str, state: str, nonce: str, challenge: str) -> str:
        return str(
            prepare_grant_uri(
                self._secure(self._endpoint("authorization_endpoint")),
                self.client_id,
                "code",
                redirect_uri,
                "openid profile email",
                state,
                nonce=nonce,
                code_challenge=challenge,
                code_challenge_method="S256",
            )
        )

    def redeem(self, code: str, redirect_uri: str, verifier: str, nonce: str, now: int) -> ProviderClaims:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
            "client_id": self.client_id,
        }
        given = self._fetch(self._endpoint("token_endpoint"), *self._authenticate(fields))
        text = given.get("id_token")
        if not isinstance(text, str):
            raise ProviderRefused(name=self.name, reason="it gives no ID token")
        return self._claims(text, given.get("access_token"), nonce, now)

    def _authenticate(self, fields: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the fields and headers that authenticate this client."""
        if self.client_secret is None:
            return fields, {}
        methods = self._about().get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if "client_secret_basic" not in methods and "client_secret_post" in methods:
            return {**fields, "client_secret": self.client_secret}, {}
        pair = f"{quote(self.client_id, safe='')}:{quote(self.client_secret, safe='')}"
        return fields, {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}

    def _claims(self, text: str, access_token: object, nonce: str, now: int) -> ProviderClaims:
        try:
            token = self._decode(text)
            claims = CodeIDToken(
                token.claims,
                token.header,
                options={
                    "iss": {"essential": True, "value": self.issuer},
                    "aud": {"essential": True, "value": self.client_id},
                    "sub": {"essential": True},
                },
                params={"nonce": nonce, "client_id": self.client_id, "access_token": access_token},
            )
            claims.validate(now=now, leeway=_LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            reason = f"its ID token is not valid ({shorten(printable(str(error)), 100)})"
            raise ProviderRefused(name=self.name, reason=reason) from None
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise ProviderRefused(name=self.name, reason="its ID token says not who signs in")
        mail = claims.get("email") if claims.get("email_verified") is True else None
        name = claims.get("name") or claims.get("preferred_username")
        return ProviderClaims(
            self.issuer,
            subject,
            name[:200] if isinstance(name, str) else "",
            mail if isinstance(mail, str) else None,
        )

    def _decode(self, text: str) -> jwt.Token:
        try:
            return jwt.decode(text, self._key_set(), algorithms=list(_ALGORITHMS))
        except (JoseError, ValueError):
            with self._lock:
                is_fresh = self._keys is not None and self.monotonic() - self._keys[0] < _AGAIN
            if is_fresh:
                raise
            return jwt.decode(text, self._key_set(anew=True), algorithms=list(_ALGORITHMS))

    def _key_set(self, *, anew: bool = False) -> KeySet:
        with self._lock:
            kept = self._keys
        if kept is not None and not anew and self.monotonic() - kept[0] < _KEPT:
            return kept[1]
        found = self._fetch(self._endpoint("jwks_uri"))
        # No symmetric key: with one, a token signed by any of its holders would count.
        public = [key for key in found.get("keys", []) if isinstance(key, dict) and key.get("kty") != "oct"]
        keys = KeySet.import_key_set({"keys": public})
        with self._lock:
            self._keys = self.monotonic(), keys
        return keys

    def _about(self) -> dict[str, Any]:
        with self._lock:
            kept, failure = self._metadata, self._failure
        if kept is not None and self.monotonic() - kept[0] < _KEPT:
            return kept[1]
        if failure is not None and self.monotonic() - failure[0] < _FAILURE_KEPT:
            raise type(failure[1])(**failure[1].parameters)
        try:
            found = self._ask_about()
        except IbiError as error:
            with self._lock:
                self._failure = self.monotonic(), error
            raise
        with self._lock:
            self._metadata = self.monotonic(), found
        return found

    def _ask_about(self) -> dict[str, Any]:
        found = self._fetch(f"{self.address.rstrip('/')}/.well-known/openid-configuration")
        if str(found.get("issuer")).rstrip("/") != self.address.rstrip("/"):
            raise ProviderRefused(name=self.name, reason="it says that it is another one (oidc.issuer)")
        return found

    def _endpoint(self, name: str) -> str:
        url = self._about().get(name)
        if not isinstance(url, str):
            raise ProviderRefused(name=self.name, reason=f"it names no {name}")
        return url

    def _secure(self, url: str) -> str:
        """Return the address if secrets sent there cannot be read on the way; raise `ProviderRefused` otherwise."""
        try:
            parts = urlsplit(url)
        except ValueError:
            raise ProviderRefused(name=self.name, reason="it names an address that is none") from None
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise ProviderRefused(name=self.name, reason="it is not asked but by https://")
        return url

    def _fetch(
        self, url: str, fields: dict[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Return a JSON object, by GET or, with `fields`, by POST. Redirects are not followed: a secret goes to one
        server."""
        status, content = self._ask(self._secure(url), fields, headers or {})
        if status >= 500:
            raise ProviderAway(name=self.name)
        if not 200 <= status < 300:
            raise ProviderRefused(name=self.name, reason=f"it answers with the status {status}")
        try:
            found = json.loads(content) if len(content) <= _MOST else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ProviderRefused(name=self.name, reason="its answer is no JSON object")
        return found

    def _ask(self, url: str, fields: dict[str, str] | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Return status and body. At most one byte more than the limit is read."""
        sent = {"User-Agent": "ibi", "Accept-Encoding": "identity", "Accept": "application/json", **headers}
        sent |= {} if fields is None else {"Content-Type": "application/x-www-form-urlencoded"}
        method, body = ("GET", None) if fields is None else ("POST", urlencode(fields).encode())
        try:
            server = server_of(url)
            with closing(BlockingConnection(server, self._addresses_of(server), _WAITS)) as connection:
                answer = connection.ask(method, request_target(url), {**sent, "Connection": "close"}, body)
                return answer.status, answer.read(_MOST + 1)
        except InvalidServer:
            raise ProviderRefused(name=self.name, reason="it names an address that is none") from None
        except (BrokenAnswer, OSError, ValueError):
            raise ProviderAway(name=self.name) from None

    def _addresses_of(self, server: ServerUrl) -> Sequence[str]:
        """Return all addresses of the host in the settings; for a host that the provider names, those that the guard
        allows.

        A provider may lead to machines of the same network, but never to link-local services of this machine.
        """
        origin = server.origin
        if origin.name == server_of(self.address).origin.name:
            return look_up(origin.host)
        checked = AddressGuard().check_blocking(origin.authority, origin.effective_port, OPERATOR_NETWORKS)
        if checked is Failure.UNKNOWN_NAME:
            raise ProviderAway(name=self.name)
        if isinstance(checked, Failure):
            raise ProviderRefused(name=self.name, reason=f"it names an address that is not asked: {checked.value}")
        return checked.addresses
