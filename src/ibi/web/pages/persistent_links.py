"""Every link that leads to an item for good, and what each does (R Tables 8.1 to 8.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ibi.languages import LanguageTag
from ibi.model.item import Item
from ibi.persistent_url import PersistentUrl
from ibi.relation import LastEdition, Metadata, Relation, Translation
from ibi.web.archive_site import ArchiveSite
from ibi.web.pages.translation import message

__all__ = ["PersistentLink", "persistent_links"]


@dataclass(frozen=True, slots=True)
class PersistentLink:
    """`added` is what follows the label; `words`, in English, say what the link leads to."""

    url: str
    added: str
    words: str
    language: LanguageTag | None = None
    file: str | None = None


def persistent_links(site: ArchiveSite, item: Item, languages: Iterable[LanguageTag]) -> tuple[PersistentLink, ...]:
    """The link to the item itself first. `languages` are those that there is a translation in."""
    base, label = site.resolver or site.public_url, item.labels.ibip or item.rep
    bare = len(PersistentUrl(label).text("", keep_spelling=True))

    def link(words: str, *steps: LastEdition | Translation | Metadata, **others: object) -> PersistentLink:
        language = next((step.language for step in steps if isinstance(step, Translation)), None)
        path = others.get("file_path")
        wanted = PersistentUrl(label, Relation(steps), **others)  # type: ignore[arg-type]
        added = wanted.text("", keep_spelling=True)[bare:]
        file = None if path is None else str(path)[1:]
        return PersistentLink(wanted.text(base, keep_spelling=True), added, words, language, file)

    def all_links() -> Iterator[PersistentLink]:
        yield link(message("This item, wherever it is kept today"))
        yield link(message("Its last edition"), LastEdition())
        yield link(message("Its translation into the reader's language"), Translation())
        for language in languages:
            if language.is_registered:
                yield link(message("Its text in this language:"), Translation(language))
        yield link(message("What is said of it: this page"), Metadata())
        yield link(message("Its metadata as Dublin Core"), Metadata("oai_dc"))
        yield link(message("The metadata of its last edition"), LastEdition(), Metadata())
        if item.visibility.listing and item.files:
            yield link(message("The list of its files"), file_list=True)
            yield link(message("One of its files, by name:"), file_path=f"/{item.files[0].path}")
        yield link(message("Its Original and no copy"), required_original=True)

    return tuple(all_links())
