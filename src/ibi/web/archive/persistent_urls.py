"""`/<ibi><modifier><path>?<query>`: a persistent URL sent to an Archive on its own (R §8.1).

Items of this Archive are found here; all others are left to the resolver, if there is one.
"""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ibi.archive.counting import counted_resolution
from ibi.archive.errors import UnknownItem
from ibi.archive.local_resolution import Elsewhere, Gone, Lack, Lacking, Located, resolve_locally
from ibi.archive.profile import FORMATS, Reader
from ibi.errors import IbiError, InvalidPersistentUrl
from ibi.language_range import Preference, preferences
from ibi.model.item import Item
from ibi.persistent_url import PersistentUrl
from ibi.vocabulary import ContentType
from ibi.web.archive.collection import without_body
from ibi.web.archive.metadata import gone
from ibi.web.archive_site import ArchiveSite
from ibi.web.http.headers import values
from ibi.web.http.raw_target import decoded, raw_path, raw_target
from ibi.web.http.reader_address import reader_address
from ibi.web.http.request_errors import (
    ItemElsewhere,
    MethodNotAllowed,
    NoSuchFile,
    NoSuchTranslation,
    NotFound,
    OriginalElsewhere,
    RelatedItemMissing,
    UnknownFormat,
)
from ibi.web.pages import redirect, refusal


class PersistentUrls:
    """An ASGI application."""

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = self._answer(scope)
        except IbiError as error:
            answer = refusal(error, scope)
        await without_body(answer, scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> Response:
        wanted = _read(scope)
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed(method=scope["method"][:20], allowed="GET, HEAD")
        site = self._site
        address = reader_address(scope, site.proxies)
        reader = Reader(() if address is None else (address,), site.now)
        outcome = resolve_locally(site.profile, site.catalog, wanted, _preferences(wanted, scope), reader)
        match outcome:
            case Located(item, url, content_type):
                self._count(item, str(address), scope)
                return redirect(_with_query(url, wanted, content_type))
            case Gone(item):
                return gone(site, item, scope)
            case Elsewhere() if site.resolver is not None:
                return redirect(wanted.text(site.resolver, keep_spelling=True))
            case Elsewhere():
                raise _elsewhere(wanted, outcome)
            case Lacking():
                raise _lacking(wanted, outcome)

    def _count(self, item: Item, address: str, scope: Scope) -> None:
        site, agent = self._site, " ".join(values(scope["headers"], b"user-agent"))[:500]
        if scope["method"] == "GET":
            robot = site.is_robot(agent)
            site.count(counted_resolution(item, f"{address} {agent}", site.recent, site.now, robot=robot))


def _read(scope: Scope) -> PersistentUrl:
    try:
        return PersistentUrl.parse(raw_target(scope))
    except InvalidPersistentUrl:
        # Every label has a slash in it, so `/favicon.ico` is not a mistyped label.
        if "/" not in decoded(raw_path(scope)).strip("/"):
            raise NotFound() from None
        raise


def _preferences(wanted: PersistentUrl, scope: Scope) -> tuple[Preference, ...]:
    """The reader's languages; one that the link names takes the place of the browser's (E21)."""
    if wanted.language is not None:
        return preferences(wanted.language)
    return preferences(", ".join(values(scope["headers"], b"accept-language")))


def _with_query(url: str, wanted: PersistentUrl, content_type: ContentType) -> str:
    """Append the pairs meant for the item itself, byte for byte and before any `#`; only the item gets them (E35)."""
    query = wanted.query_string
    if not query or wanted.file_list or content_type is not ContentType.DATA:
        return url
    before, hash_sign, fragment = url.partition("#")
    return f"{before}{'&' if '?' in before else '?'}{query}{hash_sign}{fragment}"


def _elsewhere(wanted: PersistentUrl, outcome: Elsewhere) -> IbiError:
    label = wanted.label.spelling
    if outcome.item is None:
        return UnknownItem(label=label)
    if outcome.original:
        return OriginalElsewhere(label=label)
    return ItemElsewhere(label=label, known="unknown where" if outcome.known is None else outcome.known)


def _lacking(wanted: PersistentUrl, outcome: Lacking) -> IbiError:
    label = wanted.label.spelling
    match outcome.lack:
        case Lack.FILE:
            return NoSuchFile(label=label, path=repr((wanted.file_path or "/")[1:201]))
        case Lack.TRANSLATION:
            return NoSuchTranslation(label=label, offered=", ".join(map(str, outcome.languages)) or "none")
        case Lack.FORMAT:
            return UnknownFormat(given=wanted.relation.metadata_format, offered=", ".join(FORMATS))
        case Lack.RELATION:
            return RelatedItemMissing(label=label, relation=wanted.relation.modifier)
