"""The persistent links of an item, and what each leads to (R Tables 8.1 to 8.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import segno
from markupsafe import Markup, escape

from ibi.errors import InvalidPersistentUrl
from ibi.label import Label
from ibi.languages import LanguageTag
from ibi.model.item import Item
from ibi.persistent_url import PersistentUrl
from ibi.relation import LastEdition, Metadata, Relation, Step, Translation
from ibi.services.sites import ArchiveSite
from ibi.web.pages.language import message


@lru_cache(maxsize=256)
def qr_code(link: str, words: str) -> Markup:
    """Draw the code as SVG. `words` describe it to screen readers."""
    code = segno.make(link, error="m", micro=False)
    drawn = code.svg_inline(border=3, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
    named = drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
    return Markup(named)  # noqa: S704 - all else is segno's own: the link is in its dots


@dataclass(frozen=True, slots=True)
class PersistentLink:
    """A link and its description. `url` ends with the part `added` to the label; `words`, in English, say what it leads
    to, `language` and `file` which one."""

    url: str
    added: str
    words: str
    language: LanguageTag | None = None
    file: str | None = None


def persistent_links(site: ArchiveSite, item: Item, languages: Iterable[LanguageTag]) -> tuple[PersistentLink, ...]:
    """The links of an item, that to the item itself first. `languages` are those of its translations."""
    base, label = site.resolver or site.public_url, item.labels.ibip or item.rep
    return tuple(_link(base, words, wanted) for words, wanted in _wishes(label, item, languages))


def _link(base: str, words: str, wanted: PersistentUrl) -> PersistentLink:
    added = wanted.text("", keep_spelling=True).removeprefix(wanted.label.spelling)
    language = next(iter(wanted.relation.languages), None)
    file = None if wanted.file_path is None else wanted.file_path[1:]
    return PersistentLink(wanted.text(base, keep_spelling=True), added, words, language, file)


def _wishes(label: Label, item: Item, languages: Iterable[LanguageTag]) -> Iterator[tuple[str, PersistentUrl]]:
    def related(*steps: Step) -> PersistentUrl:
        return PersistentUrl(label, Relation(steps))

    yield message("This item, wherever it is kept today"), related()
    yield message("Its last edition"), related(LastEdition())
    yield message("Its translation into the reader's language"), related(Translation())
    for language in languages:
        if language.is_registered:  # links may name registered languages only (E28)
            yield message("Its text in this language:"), related(Translation(language))
    if item.metadata_item is None:
        yield message("Metadata: this page"), related(Metadata())
    else:
        yield message("Its metadata, an item of its own"), related(Metadata())
        yield message("Its metadata in the reader's language"), related(Metadata(), Translation())
    yield message("Its metadata as Dublin Core"), related(Metadata("oai_dc"))
    yield message("The metadata of its last edition"), related(LastEdition(), Metadata())
    if item.visibility.listing and item.files:
        yield message("The list of its files"), PersistentUrl(label, file_list=True)
        yield from _file_link(label, item.files[0].path)
    yield message("Its Original and no copy"), PersistentUrl(label, required_original=True)


def _file_link(label: Label, path: str) -> Iterator[tuple[str, PersistentUrl]]:
    """The link to a file; none if its name cannot be written in a persistent URL (E35)."""
    try:
        yield message("One of its files, by name:"), PersistentUrl(label, file_path=f"/{path}")
    except InvalidPersistentUrl:
        return
