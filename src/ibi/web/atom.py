"""Atom feeds (RFC 4287)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from ibi.items.model.item import Item
from ibi.items.model.metadata import Text
from ibi.standard.instant import Instant
from ibi.standard.safe_text import close_directions
from ibi.standard.vocabulary import State
from ibi.web.words import short, shown_title

MEDIA_TYPE: Final = "application/atom+xml; charset=utf-8"

_LONGEST_SUMMARY: Final = 2_000
_MOST: Final = 20
"""Largest number of authors, of contributors and of subjects of an entry. The item's page has the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Facts about a feed.

    Every URL is absolute. `own_url` is the feed's address and, unless `id_url` is given, its permanent id.
    `previous_url` and `next_url` are pages of the same list (RFC 5005 §3).
    """

    title: str
    own_url: str
    page_url: str
    """The page with the same list."""
    author: str
    language: str | None = None
    previous_url: str | None = None
    next_url: str | None = None
    id_url: str | None = None
    is_archive: bool = False
    """True if it is a part of a complete feed (RFC 5005 §4). `archive_urls` then link to other parts."""
    archive_urls: tuple[tuple[str, str], ...] = ()
    """Relation and address of other parts."""


def atom(
    feed: Feed,
    items: Sequence[Item],
    now: Instant,
    persistent_url: Callable[[Item], str],
    page_url: Callable[[Item], str],
) -> bytes:
    """Write the feed (RFC 4287). `now` dates a feed without items. Deleted items have no entry."""
    shown = [item for item in items if item.state is not State.DELETED]
    parts = (
        _head(feed, max((item.updated for item in shown), default=now)),
        *(_entry(item, persistent_url(item), page_url(item)) for item in shown),
    )
    lines = "".join(f"{line}\n" for part in parts for line in part)
    language = "" if feed.language is None else f' xml:lang="{escape(feed.language)}"'
    history = ' xmlns:fh="http://purl.org/syndication/history/1.0"' if feed.is_archive else ""
    names = f'xmlns="http://www.w3.org/2005/Atom"{history}{language}'
    beginning = f'<?xml version="1.0" encoding="UTF-8"?>\n<feed {names}>\n'
    return f"{beginning}{lines}</feed>\n".encode()


def _head(feed: Feed, updated: Instant) -> Iterator[str]:
    yield element("title", feed.title)
    yield element("id", feed.id_url or feed.own_url)
    yield element("updated", str(updated))
    yield _author(feed.author)
    yield _link("self", feed.own_url, "application/atom+xml")
    yield _link("alternate", feed.page_url, "text/html")
    if feed.is_archive:
        yield "<fh:archive/>"
    for relation, url in (("previous", feed.previous_url), ("next", feed.next_url), *feed.archive_urls):
        if url is not None:
            yield _link(relation, url, "application/atom+xml")


def _entry(item: Item, persistent_url: str, page_url: str) -> Iterator[str]:
    metadata = item.metadata
    yield f"<entry{_language(None if item.language is None else str(item.language))}>"
    yield element("title", shown_title(item))
    yield element("id", persistent_url)
    yield element("published", str(item.created))
    yield element("updated", str(item.updated))
    # An entry without an author inherits the feed's (RFC 4287 §4.2.1).
    yield from (_author(short(creator)) for creator in metadata.creator[:_MOST])
    yield from (f"<contributor>{element('name', short(one))}</contributor>" for one in metadata.contributor[:_MOST])
    yield _link("alternate", page_url, "text/html")
    yield _link("related", persistent_url, None)
    yield from (f'<category term="{escape(_line(short(subject)))}"/>' for subject in metadata.subject[:_MOST])
    yield from (_summary(text) for text in metadata.description[:1])
    if metadata.licence is not None:
        yield element("rights", metadata.licence.url)
    yield "</entry>"


def _summary(text: Text) -> str:
    return element("summary", short(text, _LONGEST_SUMMARY), None if text.language is None else str(text.language))


def _author(name: str) -> str:
    return f"<author>{element('name', name)}</author>"


def _link(relation: str, url: str, media_type: str | None) -> str:
    kind = "" if media_type is None else f' type="{media_type}"'
    return f'<link rel="{relation}"{kind} href="{escape(url)}"/>'


def element(name: str, text: str, language: str | None = None) -> str:
    return f"<{name}{_language(language)}>{escape(_line(text), quote=False)}</{name}>"


def _language(language: str | None) -> str:
    return "" if language is None else f' xml:lang="{escape(language)}"'


def _line(text: str) -> str:
    """Return the text on one line, with its changes of writing direction closed."""
    return close_directions(" ".join(text.split()))
