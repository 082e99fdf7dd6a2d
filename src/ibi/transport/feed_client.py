"""The feed of changes of an Archive elsewhere, read over a connection of its own (`GET /api/changes`), and what it says
of its Copies.

Only the address that the Archive was included with is dialled, within the address guard; what comes is bounded and read
strictly, as everything of strangers is.
"""

from __future__ import annotations

import asyncio
from ssl import SSLContext
from typing import Annotated, Final
from urllib.parse import quote

import msgspec

from ibi.federation.provenance import LONGEST_LINK, MOST_LINKS
from ibi.label import Label
from ibi.messages.copy_holders import LONGEST_STATEMENT
from ibi.messages.membership import PATH_FORM
from ibi.model.change import AnnouncedCopies, ChangeKind, FollowedChange, FollowedPage
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.trace import Failure
from ibi.transport.address_guard import AddressGuard
from ibi.transport.http_connection import HttpResponse
from ibi.transport.single_request import connect, default_tls, get
from ibi.vocabulary import ArchiveProtocol

_MOST_BODY: Final = 2 << 20
_PATIENCE: Final = 3.0
"""Seconds beyond those that the Archive is asked to wait."""
_OK: Final = 200
_NOT_FOUND: Final = 404

_Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
_Short = Annotated[str, msgspec.Meta(max_length=512)]


class _Entry(msgspec.Struct):
    label: _Short
    related: bool = True
    kind: _Short = ""


class _Copies(msgspec.Struct):
    at: _Number
    path: _Short


class _Page(msgspec.Struct):
    epoch: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    changes: Annotated[list[_Entry], msgspec.Meta(max_length=1_000)]
    after: _Number
    end: _Number
    copies: _Copies | None = None


class _Statement(msgspec.Struct):
    statement: Annotated[str, msgspec.Meta(max_length=LONGEST_STATEMENT)]


class _Provenance(msgspec.Struct):
    chain: Annotated[list[Annotated[str, msgspec.Meta(max_length=LONGEST_LINK)]], msgspec.Meta(max_length=MOST_LINKS)]


class ArchiveFeeds:
    """Reads feeds at the addresses of their Archives. It never raises for what they do."""

    def __init__(self, guard: AddressGuard, *, tls: SSLContext | None = None) -> None:
        """`tls` is for Archives of HTTPS; without it the machine's authorities are trusted."""
        self._guard, self._tls = guard, tls

    async def read_feed(self, archive: ArchiveRef, after: int | None, epoch: str, wait: int) -> FollowedPage | None:
        query = "most=1" if after is None else f"after={after}&epoch={quote(epoch, safe='')}&wait={wait}"
        try:
            async with asyncio.timeout(wait + _PATIENCE):
                response = await self._get(archive, f"{archive.feed}?{query}")
        except (OSError, ValueError):  # `TimeoutError` is one; the latter for names that no certificate can have
            return None
        if not isinstance(response, HttpResponse) or response.status != _OK:
            return None
        page = _read_page(response.body)
        if page is None or after is None:
            return page
        return page if page.epoch == epoch and after <= page.after <= page.end else None

    async def read_copies(self, archive: ArchiveRef, path: str) -> str | None:
        """What the Archive says, signed, of who holds its Copies, as it came; None if it says nothing."""
        try:
            async with asyncio.timeout(_PATIENCE):
                response = await self._get(archive, path)
        except (OSError, ValueError):
            return None
        if not isinstance(response, HttpResponse) or response.status != _OK:
            return None
        try:
            return msgspec.json.decode(response.body, type=_Statement).statement
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    async def read_provenance(self, archive: ArchiveRef, label: Label) -> tuple[str, ...] | None:
        """The chain of an item's releases, unchecked; empty if the Archive tells none, None if it does not answer."""
        try:
            async with asyncio.timeout(_PATIENCE):
                response = await self._get(archive, f"/api/items/{quote(label.spelling, safe='/')}/provenance")
        except (OSError, ValueError):
            return None
        if not isinstance(response, HttpResponse) or response.status not in (_OK, _NOT_FOUND):
            return None
        try:
            return () if response.status != _OK else tuple(msgspec.json.decode(response.body, type=_Provenance).chain)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    async def _get(self, archive: ArchiveRef, target: str) -> HttpResponse | Failure:
        checked = await self._guard.check(archive)
        if isinstance(checked, Failure):
            return checked
        is_secure = archive.protocol is ArchiveProtocol.HTTPS
        connection = await connect(checked, _MOST_BODY, (self._tls or default_tls()) if is_secure else None)
        return await get(connection, archive.address, target, "application/json")


def _read_entry(entry: _Entry) -> FollowedChange:
    return FollowedChange(entry.label, entry.related, entry.kind == ChangeKind.DELETED)


def _read_page(body: bytes) -> FollowedPage | None:
    try:
        page = msgspec.json.decode(body, type=_Page)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    changes = tuple(_read_entry(entry) for entry in page.changes)
    copies = page.copies
    if copies is None or not PATH_FORM.fullmatch(copies.path):
        return FollowedPage(page.epoch, page.after, page.end, changes)
    return FollowedPage(page.epoch, page.after, page.end, changes, AnnouncedCopies(copies.at, copies.path))
