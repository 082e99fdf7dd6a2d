"""The page of an item: its description, citations, files, editions, translations and persistent links."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ibi.citation.pages import citations, shown_work
from ibi.citation.rules.work import Work
from ibi.citation.service import STYLES, cite, default_style
from ibi.deposits.pages.field_choices import RELATION_WORDS
from ibi.deposits.pages.item_actions import page_actions
from ibi.items.model.item import Item
from ibi.items.model.related_link import ClaimRelation
from ibi.items.pages.related_items import EditionLine, Relative, translations_of
from ibi.items.rules.related_items import described_by
from ibi.reading.pages.file_pages import (
    FileAccess,
    FileLinks,
    content_policy,
    file_access,
    file_tree,
    list_access,
    preview_url,
    reading_headers,
    reading_urls,
    shown_preview,
    size_of_all,
    versions_place,
    zip_url,
)
from ibi.reading.pages.persistent_links import persistent_links, qr_code
from ibi.reading.pages.preview import first_look
from ibi.reading.pages.signposting import alternates, head_tags, signposting, structured_data
from ibi.standard.messages.values import decode_query
from ibi.standard.vocabulary import State
from ibi.web.drawings import first_day, monthly_use, usage_plot
from ibi.web.headers import safety_headers
from ibi.web.reader import find_visitor, message, page_language, translations
from ibi.web.rendering import render
from ibi.web.request import raw_query
from ibi.web.sites import ArchiveSite, ItemOffers
from ibi.web.words import (
    ELEMENTS,
    KINDS,
    OPEN_MEANINGS,
    OPEN_REMEDIES,
    STATE_MEANINGS,
    STATES,
    UNCONFIRMED,
    UNCONFIRMED_MEANING,
    shown_title,
)

MOST_FILES: Final = 50
"""Number of files on the page of an item. The list of files has them all."""
RELATED: Final = {
    ClaimRelation.REVIEW: message("Review"),
    ClaimRelation.ENDORSEMENT: message("Endorsement"),
    ClaimRelation.RELATED: message("Related"),
}
_LONGEST_TITLE: Final = 2_000


class ItemPage:
    def __init__(self, site: ArchiveSite, offers: ItemOffers) -> None:
        self._site, self._offers = site, offers

    async def answer(self, item: Item, scope: Scope) -> Response:
        """Render the page, or the tombstone of a deleted item (410)."""
        if item.tombstone is not None:
            return await tombstone_page(self._site, item, scope)
        site, offers, language = self._site, self._offers, page_language(scope)
        access, lists = file_access(site, item, scope), list_access(site, item, scope)
        found = await asyncio.to_thread(first_look, site, item, offers.previews) if access else None
        preview = shown_preview(site, found, access)
        work, style = shown_work(item, site.persistent_url(item.labels)), _chosen_style(scope, language)
        return render(
            scope,
            "item.html",
            headers={
                "link": signposting(site, item),
                "content-security-policy": content_policy(site),
                **reading_headers(access, lists),
            },
            lists=bool(lists),
            zip_url=zip_url(site, item, access, lists),
            tree=file_tree(item.files[:MOST_FILES], item.files) if lists else (),
            actions=page_actions(site, offers.services, item, scope),
            is_open=bool(access),
            is_by_right=access is FileAccess.BY_RIGHT,
            is_damaged=site.is_damaged(item),
            can_ask=offers.takes_requests,
            preview=preview,
            preview_url=preview_url(site, item, preview, access),
            style=style,
            styles=STYLES,
            citations=(await asyncio.to_thread(cite, work, style, language, site.now),),
            **await _collections(site, offers, item, scope),
            **{**_common(site, item, work), "urls": reading_urls(site, access)},
            **await self._usage(item, language),
            **await site.ask(lambda: self._connections(item, language, access)),
        )

    async def _usage(self, item: Item, language: str) -> dict[str, Any]:
        site, now = self._site, self._site.now
        if site.uses.log is None:
            return {"months": ()}
        days = await asyncio.to_thread(site.uses.log.days, item.rep, first_day(now))
        months = monthly_use(days, now)
        is_used = any(each.usage.downloads or each.usage.resolutions for each in months)
        return {
            "months": months,
            "is_used": is_used,
            "usage_plot": usage_plot(months, language) if is_used else None,
            "downloads": sum(each.usage.downloads for each in months),
            "resolutions": sum(each.usage.resolutions for each in months),
        }

    def _connections(self, item: Item, language: str, access: FileAccess) -> dict[str, Any]:
        site, target = self._site, item.target
        others = translations_of(site, item)
        named = {"metadata_item": item.metadata_item, "describes": described_by(site.shown_catalog, item)}
        described = {name: None if forms is None else Relative.of(site, forms) for name, forms in named.items()}
        cited = site.persistent_url(item.labels)
        return {
            **described,
            "line": EditionLine.of(site, item),
            "others": others,
            "links": persistent_links(site, item, (tag for tag, _ in others)),
            "qr_code": qr_code(cited, translations(language).gettext("QR code of the persistent link")),
            "content_url": item.target_url or (target and reading_urls(site, access).file(item, target)),
            "is_for_saving": _is_for_saving(site, item),
            "is_embargoed": item.visibility.is_embargoed(site.now),
            "versions_url": versions_place(site, item),
            "related_kinds": RELATED,
            "number_shown": min(MOST_FILES, len(item.files)),
            "size_of_all": size_of_all(item.files),
            "file_links": FileLinks(site, item),
        }


async def _collections(site: ArchiveSite, offers: ItemOffers, item: Item, scope: Scope) -> dict[str, Any]:
    """Return the collections that contain the item, and those to which the reader may add it."""
    if offers.collections is None:
        return {"collections": (), "offered_collections": ()}
    visitor = find_visitor(Request(scope), site)
    offered = () if isinstance(visitor, Response) else await offers.collections.offered(visitor.actor, item)
    return {"collections": await offers.collections.of_item(item), "offered_collections": offered}


async def tombstone_page(
    site: ArchiveSite,
    item: Item,
    scope: Scope,
    copies: tuple[tuple[str, str], ...] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Render the tombstone of a deleted item (410): when and why it was deleted, and its description.

    `copies` are links to Archives that still have a Copy, with their addresses.
    """
    tombstone = item.tombstone
    assert tombstone is not None  # no item is deleted without one
    replaced, work = tombstone.replaced_by, shown_work(item, site.persistent_url(item.labels))
    return render(
        scope,
        "tombstone.html",
        status=HTTPStatus.GONE,
        headers={"link": signposting(site, item), **(headers or {})},
        tombstone=tombstone,
        copies=copies,
        citations=citations(work, site.now),
        replacement=None if replaced is None else await site.ask(lambda: Relative.of(site, replaced)),
        **_common(site, item, work),
    )


def _chosen_style(scope: Scope, language: str) -> str:
    """Return the citation style in the query, or else the most common one in the language."""
    named = next((value for name, value in decode_query(raw_query(scope)) if name == "style"), "")
    return named if named in STYLES else default_style(language)


def _common(site: ArchiveSite, item: Item, work: Work) -> dict[str, Any]:
    return {
        "item": item,
        "title": shown_title(item, _LONGEST_TITLE),
        "persistent_url": site.persistent_url(item.labels),
        "inbox_url": site.inbox_url,
        "urls": site.urls,
        "alternates": tuple(alternates(site, item)),
        "head_tags": head_tags(site, item, work),
        "structured": structured_data(work, item.metadata.licence),
        "element_names": ELEMENTS,
        "relation_words": RELATION_WORDS,
        "kind": None if item.metadata.resource_type is None else KINDS[item.metadata.resource_type],
        **_state_words(site, item),
        **_open_words(site, item),
        "is_copy": item.state is State.COPY,
    }


def _state_words(site: ArchiveSite, item: Item) -> dict[str, Any]:
    if site.is_unconfirmed(item):
        return {"state_name": UNCONFIRMED, "state_meaning": UNCONFIRMED_MEANING, "is_unconfirmed": True}
    return {"state_name": STATES[item.state], "state_meaning": STATE_MEANINGS[item.state], "is_unconfirmed": False}


def _open_words(site: ArchiveSite, item: Item) -> dict[str, Any]:
    """Return the problem of an item with its Original in another place than its releases say."""
    found = site.open_item(item)
    if found is None or not found.problem.is_urgent:
        return {"open_item": None}
    return {
        "open_item": found,
        "open_meaning": OPEN_MEANINGS[found.problem],
        "open_remedy": OPEN_REMEDIES[found.problem],
    }


def _is_for_saving(site: ArchiveSite, item: Item) -> bool:
    """Return whether a browser saves the target file instead of showing it."""
    file = None if item.target is None else item.file(item.target)
    if file is None:
        return False
    return "content-disposition" in safety_headers(file.media_type, file.path, pages=site.origin)
