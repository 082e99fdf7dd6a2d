"""A blocking client of the API for programs that do one thing at a time, such as the command."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ibi.net.blocking_http import BlockingAnswer, BlockingConnection, BrokenAnswer, Waits
from ibi.net.errors import (
    AnswerCut,
    ServerRefused,
    ServerUnreachable,
    UnexpectedAnswer,
    UnusableKey,
    with_certificate_hint,
)
from ibi.net.server_url import ServerUrl, bearer, look_up
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.safe_text import printable

if TYPE_CHECKING:
    import msgspec

    from ibi.minting.resources import IdentityResource, KeysResource
    from ibi.people.resources import NewToken, TokenResource

Resource = TypeVar("Resource", bound="msgspec.Struct")

_PROBLEM = "urn:ibi:problem:"
_SHOWN = 500


def object_of(body: bytes, server: str) -> dict[str, object]:
    """Return the JSON object in a body."""
    found = _json(body)
    if not isinstance(found, dict):
        raise UnexpectedAnswer(server=server, reason="it is not a JSON object")
    return found


def label_of(line: bytes, server: str) -> dict[str, object]:
    """Return the label in a line of an answer."""
    label = object_of(line, server)
    texts = [label.get("rep"), label.get("instant"), "" if label.get("ibip") is None else label["ibip"]]
    if not all(isinstance(each, str) and each.isascii() and each.isprintable() for each in texts):
        raise UnexpectedAnswer(server=server, reason="what came is not a label")
    return label


def refusal_of(status: int, body: bytes, server: str) -> ServerRefused | UnexpectedAnswer:
    """Return the error for an unsuccessful status: the server's problem details, or else the status itself.

    A status 300 with problem details is no redirect: it lists claims.
    """
    problem = _json(body)
    is_told = isinstance(problem, dict) and str(problem.get("type")).startswith(_PROBLEM)
    if 300 <= status < 400 and not (status == 300 and is_told):
        return UnexpectedAnswer(server=server, reason="it sends elsewhere, and a token goes to one server only")
    if not isinstance(problem, dict) or not is_told:
        return ServerRefused(server=server, status=status, detail=f"HTTP status {status}.", problem=None)
    return ServerRefused(
        server=server,
        status=status,
        problem=one_line(str(problem["type"]).removeprefix(_PROBLEM)),
        detail=one_line(str(problem.get("detail") or problem.get("title"))),
        field=one_line(str(problem["field"])) if "field" in problem else None,
        retry_after=problem.get("retry_after"),
    )


_NO_SUCH_PLACE = "not-found"
_NOT_OURS = frozenset({400, 404, 405, 406, 410, 415, 501, 505})
"""Statuses by which other software answers an unknown request."""


def is_unknown_service(error: IbiError) -> bool:
    """Return whether the server does not know this kind of request. It refuses without our problem details, or it runs
    this software without an Archive."""
    if not isinstance(error, ServerRefused):
        return False
    return error.problem == _NO_SUCH_PLACE or (error.problem is None and error.status in _NOT_OURS)


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def item_path(label: Label) -> str:
    return f"/api/items/{quote(label.spelling, safe='/@:.-_~')}"


def one_line(text: str) -> str:
    """Return the text without characters that could move a cursor or fill a screen."""
    shown = printable(text[: _SHOWN + 1])
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


_TIMEOUT = 90.0
"""Seconds without a byte. With a granularity of one minute, a label may take that long."""

_ATTEMPTS = 3
_MOST_KEY = 255
_MOST_BODY = 64 * 1024
_MOST_LINE = 16 * 1024
_MOST_ANSWER = 16 * 1024 * 1024
_FOR_ANSWER = 60.0
"""Seconds for the rest of an answer, once it has begun."""
_SUCCESS = frozenset({200, 201, 202})


class ApiClient:
    """A client of one server. The token is sent to no other server: redirects are not followed."""

    def __init__(
        self,
        server: str,
        token: str | None = None,
        *,
        timeout: float = _TIMEOUT,
        allow_plain: bool = False,
        within: float = inf,
    ) -> None:
        """`server` is a URL, possibly with a base path. `allow_plain` sends the token unencrypted, for a network that
        is known to be safe. A whole answer has to come `within` so many seconds."""
        self._within = within
        self._url, self._timeout = ServerUrl.parse(server), timeout
        self._server = str(self._url)
        self._authorization = bearer(self._url, token, allow_plain=allow_plain)

    def identity(self) -> IdentityResource:
        """Return the identity of the server's minter."""
        from ibi.minting.resources import IdentityResource

        return self._answer(IdentityResource, "GET", "/api/identity")

    def keys(self) -> KeysResource:
        """Return the signing keys of the server's Archive and resolver."""
        from ibi.minting.resources import KeysResource

        return self._answer(KeysResource, "GET", "/api/keys")

    def _object(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        accepted: frozenset[int] = _SUCCESS,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Return the JSON object of an answer with one of the `accepted` statuses."""
        content = None if body is None else json.dumps(body).encode("ascii")
        sent = {"Accept": "application/json", **(headers or {})}
        sent |= {} if body is None else {"Content-Type": "application/json"}
        with self._request(method, path, content, sent, accepted, timeout) as answer:
            return object_of(answer.read(_MOST_ANSWER, _FOR_ANSWER), self._server)

    def _expect_no_content(self, method: str, place: str) -> None:
        with self._request(method, place, None, {"Accept": "application/json"}, frozenset({204})):
            pass

    def _list_in(self, answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
        found = answer.get(name.lower())
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise UnexpectedAnswer(server=self._server, reason=f"it lists no {name}")
        return found

    def _answer(
        self,
        kind: type[Resource],
        method: str,
        path: str,
        body: object = None,
        *,
        accepted: frozenset[int] = _SUCCESS,
    ) -> Resource:
        """Return the resource of an answer."""
        import msgspec

        content = None if body is None else msgspec.json.encode(body)
        sent = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
        with self._request(method, path, content, sent, accepted) as answer:
            told = answer.read(_MOST_ANSWER, _FOR_ANSWER)
        try:
            return msgspec.json.decode(told, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise UnexpectedAnswer(server=self._server, reason=one_line(str(error))) from None

    def create_token(self, scope: str, name: str, expires: str | None, person: str | None = None) -> NewToken:
        """Create a token, and return it with its text. This needs a token of the scope admin."""
        from ibi.people.resources import NewToken, TokenRequest

        wanted = TokenRequest(scope=scope, name=name, expires=expires, person=person)
        return self._answer(NewToken, "POST", "/api/tokens", wanted)

    def list_tokens(self) -> list[TokenResource]:
        from ibi.people.resources import TokensResource

        return self._answer(TokensResource, "GET", "/api/tokens").tokens

    def revoke_token(self, identity: str) -> TokenResource:
        from ibi.people.resources import TokenResource

        return self._answer(TokenResource, "DELETE", f"/api/tokens/{quote(identity, safe='')}")

    def mint(self, count: int, key: str | None = None) -> Iterator[dict[str, object]]:
        """Yield labels as they arrive, each a dictionary of `rep`, `ibip`, `instant` and `sandbox`.

        A broken answer is requested again under the same key and resumed where it broke: every label comes once.
        Without a `key` one is drawn for this call.
        """
        key = secrets.token_hex(16) if key is None else key
        if not (0 < len(key) <= _MOST_KEY and key.isascii() and key.isprintable() and key == key.strip()):
            raise UnusableKey()
        received = 0
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                for label in islice(self._labels(count, key), received, None):
                    received += 1
                    yield label
                return
            except (BrokenAnswer, OSError) as error:
                if attempt == _ATTEMPTS or isinstance(error, TimeoutError):
                    raise AnswerCut(server=self._server, received=received, count=count, key=key) from error

    def _labels(self, count: int, key: str) -> Iterator[dict[str, object]]:
        """Make one attempt; raise `OSError` if fewer than `count` labels come."""
        headers = {"Accept": "application/x-ndjson", "Content-Type": "application/json", "Idempotency-Key": key}
        received = 0
        content = json.dumps({"count": count}).encode("ascii")
        with closing(self._connect(self._timeout)) as connection:
            for line in self._lines(self._ask(connection, "POST", "/api/labels", content, headers)):
                received += 1
                if received > count:
                    raise UnexpectedAnswer(server=self._server, reason=f"more than {count} labels came")
                yield label_of(line, self._server)
        if received < count:
            raise ConnectionResetError(None, "it ends before the last label")

    def _lines(self, answer: BlockingAnswer) -> Iterator[bytes]:
        """Yield complete lines, without their ends."""
        rest = b""
        for piece in answer.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            yield from lines
            if len(rest) > _MOST_LINE:
                raise UnexpectedAnswer(server=self._server, reason="a line is too long")

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        accepted: frozenset[int] = _SUCCESS,
        timeout: float | None = None,
    ) -> Iterator[BlockingAnswer]:
        """Yield an answer with one of the `accepted` statuses. Raise `ServerUnreachable` if it is missing or
        incomplete."""
        with self._unreachable_if_broken(), closing(self._connect(timeout or self._timeout)) as connection:
            yield self._ask(connection, method, path, body, headers, accepted)

    def _ask(
        self,
        connection: BlockingConnection,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None,
        headers: Mapping[str, str],
        accepted: frozenset[int] = _SUCCESS,
    ) -> BlockingAnswer:
        """Return an answer with one of the `accepted` statuses. The connection raises an error for a broken one."""
        sent = {"Accept-Encoding": "identity", **headers, **self._authorization}
        answer = connection.ask(method, self._url.path + path, sent, body)
        if answer.status not in accepted:
            raise refusal_of(answer.status, answer.read(_MOST_BODY), self._server)
        return answer

    @contextmanager
    def _unreachable_if_broken(self) -> Iterator[None]:
        try:
            yield
        except (BrokenAnswer, OSError) as error:
            raise ServerUnreachable(server=self._server, reason=_reason(error)) from error

    def _connect(self, timeout: float) -> BlockingConnection:
        """Open the connection. If this fails nothing was sent, so the caller may try again."""
        waits = Waits(connect=timeout, head=timeout, silence=timeout, in_all=self._within)
        with self._unreachable_if_broken():
            return BlockingConnection(self._url, look_up(self._url.origin.host), waits)


def _reason(error: Exception) -> str:
    if isinstance(error, BrokenAnswer):
        return f"it does not answer as a server does: {error.parameters['reason']}"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return with_certificate_hint(one_line(str(text)).strip(), error)
