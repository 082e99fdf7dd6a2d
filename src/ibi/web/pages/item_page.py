"""The page of an item: its description, citations, files, editions, translations and persistent links."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Scope

from ibi.archive.related_items import described_by
from ibi.model.item import Item
from ibi.model.notification import ClaimRelation
from ibi.services.sites import ArchiveSite
from ibi.vocabulary import State
from ibi.web.http.content_security import safety_headers
from ibi.web.http.request import reader_address
from ibi.web.pages.citing import citations, head_tags, shown_work, structured_data
from ibi.web.pages.drawings import first_day, monthly_use, usage_plot
from ibi.web.pages.item_words import ELEMENTS, KINDS, STATE_MEANINGS, STATES, shown_title
from ibi.web.pages.language import message, page_language, translations
from ibi.web.pages.persistent_links import persistent_links, qr_code
from ibi.web.pages.preview import PREVIEW, Preview, first_look
from ibi.web.pages.relatives import EditionLine, Relative, translations_of
from ibi.web.pages.rendering import POLICY, render
from ibi.web.pages.signposting import alternates, signposting
from ibi.web.pages.versions_page import versions_place

MOST_FILES: Final = 50
"""Files that the page of an item lists; the list of files has them all."""
_A_PAGE: Final = 500
RELATED: Final = {
    ClaimRelation.REVIEW: message("Review"),
    ClaimRelation.ENDORSEMENT: message("Endorsement"),
    ClaimRelation.RELATED: message("Related"),
}
_LONGEST_TITLE: Final = 2_000


class ItemPage:
    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    async def answer(self, item: Item, scope: Scope) -> Response:
        """The page, or the tombstone of a deleted item (410)."""
        if item.tombstone is not None:
            return await tombstone_page(self._site, item, scope)
        is_open = _is_open(self._site, item, scope)
        preview = await asyncio.to_thread(first_look, self._site, item) if is_open else None
        return render(
            scope,
            "item.html",
            headers={"link": signposting(self._site, item), "content-security-policy": _policy(self._site)},
            is_open=is_open,
            is_damaged=self._site.is_damaged(item),
            preview=preview,
            preview_url=self._preview_url(item, preview),
            **_common(self._site, item),
            **await self._usage(item, page_language(scope)),
            **await self._site.ask(lambda: self._connections(item, page_language(scope))),
        )

    def _preview_url(self, item: Item, preview: Preview | None) -> str | None:
        return None if preview is None else f"{self._site.urls.file(item, preview.file.path)}?{PREVIEW}"

    async def _usage(self, item: Item, language: str) -> dict[str, Any]:
        site, now = self._site, self._site.now
        if site.usage is None:
            return {"months": ()}
        days = await asyncio.to_thread(site.usage.days, item.rep, first_day(now))
        months = monthly_use(days, now)
        is_used = any(each.usage.downloads or each.usage.resolutions for each in months)
        return {"months": months, "is_used": is_used, "usage_plot": usage_plot(months, language) if is_used else None}

    def _connections(self, item: Item, language: str) -> dict[str, Any]:
        site = self._site
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
            "content_url": item.target_url or (None if item.target is None else site.urls.file(item, item.target)),
            "is_for_saving": _is_for_saving(site, item),
            "is_embargoed": item.visibility.is_embargoed(site.now),
            "versions_url": versions_place(site, item),
            "related_kinds": RELATED,
            "shown_files": item.files[:MOST_FILES] if item.visibility.listing else (),
        }


async def tombstone_page(site: ArchiveSite, item: Item, scope: Scope) -> Response:
    """The tombstone of a deleted item: when and why it was deleted, and what it was (410)."""
    tombstone = item.tombstone
    assert tombstone is not None  # no item is deleted without one
    replaced = tombstone.replaced_by
    return render(
        scope,
        "tombstone.html",
        status=HTTPStatus.GONE,
        headers={"link": signposting(site, item)},
        tombstone=tombstone,
        replacement=None if replaced is None else await site.ask(lambda: Relative.of(site, replaced)),
        **_common(site, item),
    )


class FilePage:
    """The list of an item's files, a page at a time."""

    def __init__(self, site: ArchiveSite) -> None:
        self._site = site

    def answer(self, item: Item, number: int, scope: Scope) -> Response:
        pages = max(1, -(-len(item.files) // _A_PAGE))
        number = min(max(number, 1), pages)
        return render(
            scope,
            "files.html",
            item=item,
            title=shown_title(item),
            urls=self._site.urls,
            is_open=_is_open(self._site, item, scope),
            files=item.files[(number - 1) * _A_PAGE : number * _A_PAGE],
            number=number,
            pages=pages,
        )


def _common(site: ArchiveSite, item: Item) -> dict[str, Any]:
    cited = site.persistent_url(item.labels)
    work = shown_work(item, cited)
    return {
        "item": item,
        "title": shown_title(item, _LONGEST_TITLE),
        "persistent_url": cited,
        "inbox_url": site.inbox_url,
        "urls": site.urls,
        "alternates": tuple(alternates(site, item)),
        "citations": citations(work, site.now),
        "head_tags": head_tags(site, item, work),
        "structured": structured_data(work, item.metadata.licence),
        "element_names": ELEMENTS,
        "kind": None if item.metadata.resource_type is None else KINDS[item.metadata.resource_type],
        "state_name": STATES[item.state],
        "state_meaning": STATE_MEANINGS[item.state],
        "is_copy": item.state is State.COPY,
    }


def _is_open(site: ArchiveSite, item: Item, scope: Scope) -> bool:
    """Whether the reader of the page may see the bytes, too."""
    address = reader_address(scope, site.proxies)
    return item.visibility.is_open_to(() if address is None else (address,), site.now)


def _is_for_saving(site: ArchiveSite, item: Item) -> bool:
    """Whether a browser saves the target file instead of showing it."""
    file = None if item.target is None else item.file(item.target)
    if file is None:
        return False
    return "content-disposition" in safety_headers(file.media_type, file.path, pages=site.origin)


def _policy(site: ArchiveSite) -> str:
    """The content security policy of the page: pictures and PDFs come from the content host, which may be another
    one."""
    source = f"'self' {site.content_url}" if site.has_own_content_host else "'self'"
    pictures = POLICY.replace("img-src 'self'", f"img-src {source}")
    return f"{pictures}; frame-src {source}"
