"""Clients for the API of another server: Copies, and records of items."""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256, sha512
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from msgspec import UNSET, to_builtins

from ibi.claims.resources import (
    ClaimAnswer,
    ItemClaimResource,
    ItemClaimsResource,
    ReceivedClaimResource,
    ReceivedClaims,
    SentClaimResource,
    SentClaims,
)
from ibi.copies.resources import CopyJobResource, CopyRequest
from ibi.deposits.resources.items import NewRelation, OwnerChange
from ibi.deposits.resources.reviews import MOST_REVIEWS, ReviewResource, ReviewsResource, ReviewText
from ibi.following.resources.subscriptions import (
    FollowRequest,
    FollowResource,
    Follows,
    NewWebhook,
    WebhookRequest,
    WebhookResource,
    Webhooks,
)
from ibi.items.model.file import File
from ibi.net.api_client import ApiClient, item_path, object_of
from ibi.net.blocking_http import BlockingConnection
from ibi.net.errors import ServerRefused, ServerUnreachable, SourceChanged, UnexpectedAnswer
from ibi.standard.label import Label
from ibi.standard.resource import Page
from ibi.usage.resources import DayUsage, ItemUsage, RecordUsage, UsageTotals

AnyPage = TypeVar("AnyPage", bound=Page)


class CopiesClient(ApiClient):
    """Jobs at a server that make Copies. They need a token of the scope edit."""

    def begin(self, labels: Sequence[str], source: str | None, token: str | None) -> CopyJobResource:
        """Start a job; `token` is for the Archive `source`."""
        wanted = CopyRequest(
            labels=(*labels,), source=UNSET if source is None else source, token=UNSET if token is None else token
        )
        return self._answer(CopyJobResource, "POST", "/api/copies", wanted)

    def job(self, job: str, after: int = 0) -> CopyJobResource:
        return self._answer(CopyJobResource, "GET", f"/api/copies/{quote(job, safe='')}?after={after}")

    def drop(self, label: Label) -> None:
        self._expect_no_content("DELETE", f"{item_path(label)}/object")


_PIECE: Final = 1024 * 1024
_MOST_BODY: Final = 64 * 1024
_SHOWN: Final = frozenset({200, 410})
"""The record of a deleted item is an answer too."""
_PARTIAL: Final = 206
_BYTES: Final = frozenset({200, _PARTIAL})
_STORED: Final = frozenset({200, 201})
_ATTEMPTS: Final = 3
_PUBLISHING: Final = 3600.0
"""Seconds: before it answers, the server reads all published files."""
_BETWEEN: Final = 1.0
_MOST_CUTS: Final = 20
"""Maximum broken connections per file, so that a line that never carries the whole file is not tried forever."""
_AFTER_CUT: Final = 0.2
_PLAIN: Final = re.compile(r'[^"\\%\x00-\x1f\x7f]*')

OnBytes = Callable[[int], None]


class RecordsClient(ApiClient):
    """Asks one server for items and drafts. Answers are JSON objects as received."""

    def __init__(self, server: str, token: str | None = None, **options: Any) -> None:
        super().__init__(server, token, **options)
        self._sending: set[BlockingConnection] = set()
        self._is_stopped = False

    def stop_uploads(self) -> None:
        """Stop running uploads, and begin no more: each raises `ServerUnreachable` in its thread. This call does not
        wait."""
        self._is_stopped = True
        for connection in tuple(self._sending):
            connection.break_off()

    def record(self, label: Label) -> dict[str, Any]:
        return self._object("GET", item_path(label), accepted=_SHOWN)

    def search(self, pairs: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        """Yield the items of a search as the server lists them, then the matches in the text of files. Each has
        `in_text`: the matching line, or None."""
        place, seen = f"/api/items?{urlencode(pairs)}", set[str]()
        in_text: list[dict[str, Any]] = []
        while True:
            page = self._object("GET", place)
            yield from ({**each, "in_text": None} for each in self._list_in(page, "items"))
            if not seen and "in_text" in page:
                in_text = self._list_in(page, "in_text")
            following = urlsplit(str(self._members(page, "links").get("next", "")))
            # Take only the query of the link: this server is asked, whatever host its links name.
            if not following.query or following.query in seen:
                break
            seen.add(following.query)
            place = f"/api/items?{following.query}"
        for match in in_text:
            yield {**self._members(match, "item"), "in_text": str(match.get("line", ""))}

    def manifest(self, label: Label) -> list[dict[str, Any]]:
        """Return the files of an item, with their digests."""
        return self._list_in(self._object("GET", f"{item_path(label)}/manifest"), "files")

    def file_from(self, label: Label, file: File, number: int | None, offset: int) -> Iterator[bytes]:
        """Yield the bytes of a file from an offset on. If the server sends all of them, the first ones are skipped."""
        version = "" if number is None else f"/versions/{number}"
        place = f"{item_path(label)}{version}/files/{quote(file.path, safe='/')}"
        headers = {"Accept": "*/*"}
        if offset:
            headers |= {"Range": f"bytes={offset}-", "If-Range": f'"{file.sha512[:64]}"'}
        with self._request("GET", place, None, headers, _BYTES) as answer:
            skip = 0 if answer.status == _PARTIAL else offset
            if answer.status == _PARTIAL and not answer.header("content-range").startswith(f"bytes {offset}-"):
                raise UnexpectedAnswer(server=self._server, reason="another part of the file came")
            for piece in answer.pieces():
                yield bytes(piece[skip:])
                skip = max(0, skip - len(piece))

    def delete(self, label: Label, reason: str, replaced_by: Label | None, *, purge: bool) -> dict[str, Any]:
        said = {"reason": reason} | ({} if replaced_by is None else {"replaced_by": str(replaced_by)})
        said |= {"purge": "true"} if purge else {}
        return self._object("DELETE", f"{item_path(label)}?{urlencode(said)}")

    def relate(self, label: Label, said: dict[str, str], *, undo: bool) -> dict[str, Any]:
        """Add or remove a relation. `said` names a `next_edition`, a `metadata_item`, or a `translation` and its
        `language`."""
        place = f"{item_path(label)}/relations"
        if undo:
            return self._object("DELETE", f"{place}?{urlencode(said)}")
        return self._object("POST", place, to_builtins(NewRelation(**said)))

    def give(self, label: Label, owner: str | None) -> dict[str, Any]:
        """Give the item to an account, or to the Archive."""
        return self._object("PUT", f"{item_path(label)}/owner", to_builtins(OwnerChange(owner)))

    def claims(self, state: str) -> Iterator[ItemClaimResource]:
        """Yield the claims in that state that concern the token."""
        place = "/api/items/claims"
        for page in self._each_page(ItemClaimsResource, place, lambda page: page.claims[-1].claimant, state=state):
            yield from page.claims

    def received_claims(self, state: str) -> Iterator[ReceivedClaimResource]:
        """Yield the claims in that state by other Archives on items there."""
        place = "/api/items/claims/received"
        for page in self._each_page(ReceivedClaims, place, lambda page: page.claims[-1].number, state=state):
            yield from page.claims

    def sent_claims(self, state: str) -> Iterator[SentClaimResource]:
        """Yield the claims in that state by items there on items elsewhere."""
        place = "/api/items/claims/sent"
        for page in self._each_page(SentClaims, place, lambda page: page.claims[-1].number, state=state):
            yield from page.claims

    def _each_page(
        self, kind: type[AnyPage], place: str, last: Callable[[AnyPage], object], parameter: str = "after", **query: str
    ) -> Iterator[AnyPage]:
        """Yield all pages of a list. `last` returns the entry of a page after which the next page begins."""
        while True:
            page = self._answer(kind, "GET", f"{place}?{urlencode(query)}" if query else place)
            yield page
            if "next" not in page.links:
                return
            try:
                query[parameter] = str(last(page))
            except IndexError:  # the page is empty
                return

    def answer_claim(self, label: Label, claimant: Label | str, answer: str) -> dict[str, Any]:
        said = ClaimAnswer(str(label), str(claimant), answer)
        return self._object("POST", "/api/items/claims", to_builtins(said))

    def usage_of(self, label: Label) -> list[DayUsage]:
        return self._answer(RecordUsage, "GET", f"{item_path(label)}/usage", accepted=_SHOWN).days

    def usage(self) -> Iterator[ItemUsage]:
        """Yield the usage of every item that was used."""
        for page in self._each_page(UsageTotals, "/api/usage", lambda page: page.items[-1].rep):
            yield from page.items

    def archive(self) -> dict[str, Any]:
        return self._object("GET", "/api/archive")

    def versions(self, label: Label) -> Iterator[dict[str, Any]]:
        """Yield all versions of an item, newest first."""
        return self._pages(f"{item_path(label)}/versions", "versions", "before", "number")

    def _pages(self, place: str, name: str, parameter: str, member: str, **query: str) -> Iterator[dict[str, Any]]:
        """Yield all entries of a list, page by page. The next page begins after the `member` of the last entry."""
        while True:
            page = self._object("GET", f"{place}?{urlencode(query)}" if query else place)
            found = self._list_in(page, name)
            yield from found
            if not found or "next" not in self._members(page, "links"):
                return
            query[parameter] = str(found[-1].get(member))

    def version(self, label: Label, number: int) -> dict[str, Any]:
        return self._object("GET", f"{item_path(label)}/versions/{number}")

    def restore(self, label: Label, number: int, message: str | None) -> dict[str, Any]:
        body = None if message is None else {"message": message}
        return self._object("POST", f"{item_path(label)}/versions/{number}/restore", body, timeout=_PUBLISHING)

    def deposit(self, description: dict[str, Any], files: Mapping[str, bytes], key: str | None) -> dict[str, Any]:
        """Deposit an item in one request, for files that fit into memory. If an answer is lost the request is repeated,
        which is safe: without a `key` one is drawn for this call."""
        edge = secrets.token_hex(16)
        content = json.dumps(description).encode("ascii")
        parts = [_part(edge, 'name="item"', "application/json", content)]
        parts += [_file_part(edge, path, each) for path, each in files.items()]
        body = b"".join((*parts, f"--{edge}--\r\n".encode("ascii")))
        headers = {
            "Accept": "application/json",
            "Content-Type": f"multipart/form-data; boundary={edge}",
            "Idempotency-Key": secrets.token_hex(16) if key is None else key,
        }

        def ask() -> dict[str, Any]:
            with self._request("POST", "/api/items", body, headers, timeout=_PUBLISHING) as answer:
                return object_of(answer.read(_MOST_BODY), self._server)

        return _repeat(ask)

    def find_draft(self, draft: str) -> dict[str, Any]:
        return self._object("GET", _draft(draft))

    def begin(self, description: dict[str, Any]) -> dict[str, Any]:
        return self._object("POST", "/api/items", description)

    def begin_update(self, label: Label) -> dict[str, Any]:
        return self._object("POST", f"{item_path(label)}/draft")

    def describe(self, draft: str, description: dict[str, Any]) -> dict[str, Any]:
        return self._object("PUT", _draft(draft), description)

    def discard(self, draft: str) -> None:
        self._expect_no_content("DELETE", _draft(draft))

    def remove_file(self, draft: str, path: str) -> None:
        self._expect_no_content("DELETE", _file(draft, path))

    def publish(self, draft: str, *, key: str | None = None, message: str | None = None) -> dict[str, Any]:
        """Publish the draft, and return the item. If an answer is lost the request is repeated, which is safe."""
        place, headers = f"{_draft(draft)}/publish", {} if key is None else {"Idempotency-Key": key}
        body = None if message is None else {"message": message}
        return _repeat(lambda: self._object("POST", place, body, headers=headers, timeout=_PUBLISHING))

    def reviews(self) -> list[ReviewResource]:
        """Return the drafts that wait for review, the oldest first."""
        return self._answer(ReviewsResource, "GET", f"/api/reviews?limit={MOST_REVIEWS}").reviews

    def review(self, draft: str) -> ReviewResource:
        return self._answer(ReviewResource, "GET", f"/api/reviews/{quote(draft, safe='')}")

    def answer_review(self, draft: str, act: str, text: str) -> ReviewResource:
        place = f"/api/reviews/{quote(draft, safe='')}/{act}"
        return self._answer(ReviewResource, "POST", place, ReviewText(text=text))

    def upload(self, draft: str, path: str, source: Path, on_bytes: OnBytes) -> None:
        """Send a file, and check the server's digest of it. Raise `SourceChanged` if the digests differ.

        During many concurrent uploads the server may be too busy for this one; then it is sent again. After a broken
        connection it is also sent again, within limits, as long as each attempt makes progress.
        """
        attempt, cuts, counted = 1, 0, _Furthest(on_bytes)
        while True:
            try:
                self._upload(draft, path, source, counted.begin())
            except ServerRefused as error:
                if error.problem != "draft-busy" or attempt == _ATTEMPTS:
                    raise
            except ServerUnreachable:
                cuts += 1
                is_lost = attempt == _ATTEMPTS if counted.sent == 0 else cuts > _MOST_CUTS
                if is_lost or self._is_stopped:
                    raise
                if counted.sent:
                    time.sleep(_AFTER_CUT)
                    continue
            else:
                return
            time.sleep(_BETWEEN * attempt)
            attempt += 1

    def _upload(self, draft: str, path: str, source: Path, on_bytes: OnBytes) -> None:
        with source.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            sending = _Sending(file, source, size, on_bytes)
            answer = self._send_file(_file(draft, path), sending, size)
        if answer.get("sha512") != sending.digest:
            raise SourceChanged(path=source)

    def _send_file(self, place: str, sending: _Sending, size: int) -> dict[str, Any]:
        headers = {"Accept": "application/json", "Content-Length": str(size)}
        with self._unreachable_if_broken(), closing(self._connect(self._timeout)) as connection:
            self._sending.add(connection)
            try:
                if self._is_stopped:
                    raise ConnectionAbortedError("the upload was stopped")
                answer = self._ask(connection, "PUT", place, sending, headers, _STORED)
                return object_of(answer.read(_MOST_BODY), self._server)
            finally:
                self._sending.discard(connection)

    def _members(self, answer: dict[str, Any], name: str) -> dict[str, Any]:
        found = answer.get(name)
        if not isinstance(found, dict):
            raise UnexpectedAnswer(server=self._server, reason=f"it has no {name}")
        return found


def _repeat(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Repeat a request a few times, while no answer comes or the draft is busy."""
    for attempt in range(1, _ATTEMPTS):
        try:
            return ask()
        except ServerUnreachable:
            pass
        except ServerRefused as error:
            if error.problem != "draft-busy":
                raise
        time.sleep(_BETWEEN * attempt)
    return ask()


class _Furthest:
    """Counts the bytes of a file that may be sent several times; repeated bytes are counted once."""

    def __init__(self, on_bytes: OnBytes) -> None:
        self._on_bytes, self._counted, self.sent = on_bytes, 0, 0

    def begin(self) -> OnBytes:
        """Begin another attempt with nothing `sent`."""
        self.sent = 0
        return self._count

    def _count(self, number: int) -> None:
        self.sent += number
        if self.sent > self._counted:
            self._on_bytes(self.sent - self._counted)
            self._counted = self.sent


def _file_part(edge: str, path: str, content: bytes) -> bytes:
    # Quotes and percent signs have several encodings inside a quoted name; the extended form has one (RFC 8187).
    is_plain = _PLAIN.fullmatch(path) is not None
    name = f'filename="{path}"' if is_plain else f"filename*=UTF-8''{quote(path, safe='')}"
    digest = f"Repr-Digest: sha-256=:{b64encode(sha256(content).digest()).decode('ascii')}:"
    return _part(edge, f'name="file"; {name}', "application/octet-stream", content, digest)


def _part(edge: str, name: str, media_type: str, content: bytes, *headers: str) -> bytes:
    lines = (f"--{edge}", f"Content-Disposition: form-data; {name}", f"Content-Type: {media_type}", *headers)
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + content + b"\r\n"


class _Sending:
    """The bytes of a file, piece by piece, hashed on their way; never more than were announced."""

    def __init__(self, file: BinaryIO, source: Path, size: int, on_bytes: OnBytes) -> None:
        self._file, self._source, self._left, self._on_bytes = file, source, size, on_bytes
        self._digest = sha512()

    def __iter__(self) -> Iterator[bytes]:
        while self._left and (piece := self._file.read(min(_PIECE, self._left))):
            self._digest.update(piece)
            self._left -= len(piece)
            yield piece
            self._on_bytes(len(piece))
        if self._left:
            # The server waits for bytes that no longer exist. If the request is aborted, it discards the upload.
            raise SourceChanged(path=self._source)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


def _draft(draft: str) -> str:
    return f"/api/items/{quote(draft, safe='')}"


def _file(draft: str, path: str) -> str:
    return f"{_draft(draft)}/files/{quote(path, safe='/')}"


class SubscriptionsClient(ApiClient):
    """Follows of a server's Archive, with a token of the scope edit, and its webhooks, with one of the scope admin."""

    def add_follow(self, kind: str, text: str, source: str, token: str | None) -> tuple[FollowResource, bool]:
        """Follow a source; return its entry, and whether it is new."""
        before = {each.id for each in self.list_follows()}
        named: dict[str, Any] = {"label" if kind == "item" else kind: True if kind == "all" else text}
        wanted = FollowRequest(source=source, token=token, **named)
        listed = self._answer(FollowResource, "POST", "/api/follows", wanted)
        return listed, listed.id not in before

    def list_follows(self) -> list[FollowResource]:
        return self._answer(Follows, "GET", "/api/follows").follows

    def remove_follow(self, identity: str) -> FollowResource:
        return self._answer(FollowResource, "DELETE", f"/api/follows/{quote(identity, safe='')}")

    def add_webhook(self, url: str, prefix: str | None, kinds: Sequence[str]) -> NewWebhook:
        wanted = WebhookRequest(url=url, prefix=prefix, kinds=(*kinds,))
        return self._answer(NewWebhook, "POST", "/api/webhooks", wanted)

    def list_webhooks(self) -> list[WebhookResource]:
        return self._answer(Webhooks, "GET", "/api/webhooks").webhooks

    def enable_webhook(self, identity: str) -> WebhookResource:
        return self._answer(WebhookResource, "POST", f"/api/webhooks/{quote(identity, safe='')}")

    def remove_webhook(self, identity: str) -> WebhookResource:
        return self._answer(WebhookResource, "DELETE", f"/api/webhooks/{quote(identity, safe='')}")
