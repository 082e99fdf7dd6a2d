"""The persistent links of an item that a page offers, and their QR code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import segno
from markupsafe import Markup, escape

from ibi.items.model.item import Item
from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.label import Label
from ibi.standard.languages import LanguageTag
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import LastEdition, Metadata, Relation, Step, Translation
from ibi.web.reader import message
from ibi.web.sites import ArchiveSite


@lru_cache(maxsize=256)
def qr_code(link: str, words: str) -> Markup:
    """Draw the QR code as SVG. `words` describe it to screen readers."""
    code = segno.make(link, error="m", micro=False)
    drawn = code.svg_inline(border=3, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
    named = drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
    return Markup(named)  # noqa: S704 - segno makes all the markup: the link is only in the dots


@dataclass(frozen=True, slots=True)
class PersistentLink:
    """A link and its description. `url` ends with the part `added` to the label.

    `words` describe the destination in English; `language` and `file` name it.
    """

    url: str
    added: str
    words: str
    language: LanguageTag | None = None
    file: str | None = None


def persistent_links(site: ArchiveSite, item: Item, languages: Iterable[LanguageTag]) -> tuple[PersistentLink, ...]:
    """Return the links of an item (R Tables 8.1 to 8.4), the one to the item itself first.

    `languages` are those of its translations.
    """
    base, label = site.resolver or site.public_url, item.labels.ibip or item.rep
    return tuple(_link(base, words, wanted) for words, wanted in _wishes(label, item, languages))


def _link(base: str, words: str, wanted: PersistentUrl) -> PersistentLink:
    added = wanted.text("", keep_spelling=True).removeprefix(wanted.label.spelling)
    language = next(iter(wanted.relation.languages), None)
    file = None if wanted.shown_path is None else wanted.shown_path[1:]
    return PersistentLink(wanted.text(base, keep_spelling=True), added, words, language, file)


def _wishes(label: Label, item: Item, languages: Iterable[LanguageTag]) -> Iterator[tuple[str, PersistentUrl]]:
    def related(*steps: Step) -> PersistentUrl:
        return PersistentUrl(label, Relation(steps))

    yield message("This item, wherever it is kept"), related()
    yield message("Last edition"), related(LastEdition())
    yield message("Translation into the reader's language"), related(Translation())
    for language in languages:
        if language.is_registered:  # links may name registered languages only (E28)
            yield message("Text in this language:"), related(Translation(language))
    if item.metadata_item is None:
        yield message("Metadata: this page"), related(Metadata())
    else:
        yield message("Metadata item"), related(Metadata())
        yield message("Metadata in the reader's language"), related(Metadata(), Translation())
    yield message("Metadata in Dublin Core"), related(Metadata("oai_dc"))
    yield message("Metadata of the last edition"), related(LastEdition(), Metadata())
    if item.visibility.listing and item.files:
        yield message("List of files"), PersistentUrl(label, file_list=True)
        yield from _file_link(label, item.files[0].path)
    yield message("The Original, not a Copy"), PersistentUrl(label, required_original=True)


def _file_link(label: Label, path: str) -> Iterator[tuple[str, PersistentUrl]]:
    """Yield the link to a file. There is none if a persistent URL cannot contain its name (E35)."""
    try:
        yield message("A file, by name:"), PersistentUrl(label, file_path=f"/{path}")
    except InvalidPersistentUrl:
        return
