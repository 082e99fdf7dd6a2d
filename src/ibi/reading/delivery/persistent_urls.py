"""`/<ibi><modifier><path>?<query>`: a persistent URL sent to an Archive without a resolver of its own (R §8.1).

Items of this Archive are found here. All others are left to the resolver, if there is one. So are files, editions and
translations of which a Copy here may not know the present ones. While the resolver is away, this server resolves them
(E94).
"""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.archive.rules.profile import FORMATS
from ibi.archive.service.local_resolver import LocalResolver
from ibi.items.rules.errors import UnknownItem
from ibi.reading.delivery.collection import without_body
from ibi.reading.delivery.metadata import gone_answer
from ibi.resolver.api.standby import Standby
from ibi.resolver.rules.outcome import (
    Deleted,
    LoopDetected,
    Missing,
    OriginalNotFound,
    Outcome,
    Redirect,
    RelatedItemMissing,
)
from ibi.standard.errors import IbiError, InvalidPersistentUrl
from ibi.standard.language_choice import Preference, preferences
from ibi.standard.messages.identification import LabelForms
from ibi.standard.persistent_url import PersistentUrl
from ibi.usage.rules.counting import counted_resolution
from ibi.web.page_answers import redirect, refusal
from ibi.web.request import link_target, percent_decode, raw_path, reader_address, values
from ibi.web.request_errors import (
    ItemElsewhere,
    MethodNotAllowed,
    NoSuchFile,
    NoSuchRelation,
    NoSuchTranslation,
    OriginalElsewhere,
    PathNotFound,
    UnknownFormat,
)
from ibi.web.sites import ArchiveSite


class PersistentUrls:
    """The endpoint of persistent URLs, an ASGI application."""

    def __init__(self, site: ArchiveSite, standby: Standby | None = None) -> None:
        self._site, self._standby = site, standby
        self._resolver = LocalResolver(site.profile, site.catalog, site.answers.keys, site.clocks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope)
        except UnknownItem as error:
            elsewhere = _parse_target(scope).at_world_resolver(self._site.public_url)
            answer = refusal(error, scope, elsewhere)
        except IbiError as error:
            answer = refusal(error, scope)
        await (without_body(answer, scope) if isinstance(answer, Response) else answer)(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | ASGIApp:
        """Return the answer, or the application that gives it."""
        wanted = _parse_target(scope)
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed(method=scope["method"][:20], allowed="GET, HEAD")
        site = self._site
        address = reader_address(scope, site.proxies)
        outcome, next_edition, is_certain = await site.ask(
            lambda: self._resolver.resolve(wanted, address, _preferences(scope))
        )
        is_left = site.resolver is not None and not is_certain
        match outcome:
            case Redirect() if not is_left:
                await self._count(wanted, str(address), scope)
                return redirect(outcome.url)
            case Deleted(label) if (item := await site.find(label)) is not None:
                return await gone_answer(site, item, scope)
            case RelatedItemMissing() if not is_left and not _may_be_elsewhere(outcome, next_edition):
                raise _missing_error(wanted, outcome)
        if self._standby is not None and await self._standby.is_needed():
            return self._standby.app
        if site.resolver is not None:
            return redirect(wanted.text(site.resolver, keep_spelling=True))
        raise _elsewhere_error(wanted, outcome, next_edition)

    async def _count(self, wanted: PersistentUrl, address: str, scope: Scope) -> None:
        site, agent = self._site, " ".join(values(scope["headers"], b"user-agent"))[:500]
        item = await site.find(wanted.label) if scope["method"] == "GET" else None
        if item is not None:
            robot = site.uses.is_robot(agent)
            counted = counted_resolution(item, f"{address} {agent}", site.uses.recent, site.now, robot=robot)
            site.uses.count(counted, " ".join(values(scope["headers"], b"referer")))


def _parse_target(scope: Scope) -> PersistentUrl:
    try:
        return PersistentUrl.parse(link_target(scope))
    except InvalidPersistentUrl:
        # Every label contains a slash, so `/favicon.ico` is not a mistyped label.
        if "/" not in percent_decode(raw_path(scope)).strip("/"):
            raise PathNotFound() from None
        raise


def _preferences(scope: Scope) -> tuple[Preference, ...]:
    return preferences(", ".join(values(scope["headers"], b"accept-language")))


def _may_be_elsewhere(outcome: RelatedItemMissing, next_edition: LabelForms | None) -> bool:
    """Return whether a resolver might find the target: it, or the edition that might have the translation, is not
    here."""
    if outcome.missing is Missing.TRANSLATION:
        return next_edition is not None and not outcome.languages
    return outcome.missing in (Missing.ITEM, Missing.ADDRESS)


def _elsewhere_error(wanted: PersistentUrl, outcome: Outcome, next_edition: LabelForms | None) -> IbiError:
    label = wanted.label.spelling
    match outcome:
        case OriginalNotFound():
            return OriginalElsewhere(label=label)
        case RelatedItemMissing(missing=Missing.TRANSLATION) if next_edition is not None:
            return ItemElsewhere(label=label, known=next_edition)
        case RelatedItemMissing(at=at):
            return ItemElsewhere(label=label, known=LabelForms.of(at))
        case LoopDetected(path=path):
            return ItemElsewhere(label=label, known=LabelForms.of(path[-1]))
    return UnknownItem(label=label)


def _missing_error(wanted: PersistentUrl, outcome: RelatedItemMissing) -> IbiError:
    label = wanted.label.spelling
    match outcome.missing:
        case Missing.FILE:  # E16: of the item that the modifier selects
            return NoSuchFile(label=outcome.at.spelling, path=repr((wanted.shown_path or "/")[1:201]))
        case Missing.TRANSLATION:
            return NoSuchTranslation(label=label, offered=", ".join(map(str, outcome.languages)) or "none")
        case Missing.METADATA:
            return UnknownFormat(given=wanted.relation.metadata_format, offered=", ".join(FORMATS))
        case _:
            return NoSuchRelation(label=label, relation=wanted.relation.modifier)
