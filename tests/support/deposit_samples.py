"""Deposits for tests: labels that are counted up, drafts, and what an Archive holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ibi.items.model.content import Bytes, Source
from ibi.items.model.item import Draft, Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.ports.archive_store import Content
from ibi.items.ports.catalog import Catalog
from ibi.items.service.deposits import Deposits
from ibi.items.service.file_selection import unread_files
from ibi.items.service.item_repository import ItemRepository
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.label.generate import mount_suffix_of_ibip, mount_suffix_of_repository_name
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms
from tests.support.flat_items import new_draft
from tests.support.set_clocks import SetClocks

WHO = "Ana Ávila"


class CountedLabels:
    """The port `LabelMinter` without a clock: one minute after the other, from the one given on."""

    def __init__(self, first: int = 0) -> None:
        self.given = first
        self._by_key: dict[str, LabelForms] = {}

    def reserve(self, key: str | None = None) -> LabelForms:
        if key is not None and key in self._by_key:
            return self._by_key[key]
        forms = labels(self.given)
        self.given += 1
        if key is not None:
            self._by_key[key] = forms
        return forms


def labels(number: int) -> LabelForms:
    """Both labels of the item made in that minute."""
    date = Instant(1_234_806_360 + 60 * number)
    return LabelForms(
        RepositoryName.parse(f"sid.inpe.br/mtc-m18@80/{mount_suffix_of_repository_name(date)}"),
        Ibip.parse(f"8JMKD3MGP8W/{mount_suffix_of_ibip(date)}"),
    )


def draft(
    *paths: str,
    title: str = "Uma tese",
    language: str | None = None,
    edition_of: LabelForms | None = None,
    translation_of: LabelForms | None = None,
    describes: LabelForms | None = None,
    target_url: str | None = None,
) -> Draft:
    return new_draft(
        metadata=DescriptiveMetadata(title=(Text(title),) if title else ()),
        language=None if language is None else LanguageTag.parse(language, registered=True),
        files=unread_files(paths),
        edition_of=edition_of,
        translation_of=translation_of,
        describes=describes,
        target_url=target_url,
    )


def sources(**contents: bytes) -> dict[str, Source]:
    """Files whose names are keywords: `data__a` is `data/a.txt`."""
    return {f"{name.replace('__', '/')}.txt": Bytes(content) for name, content in contents.items()}


def deposits(kept: ItemRepository, reserving: CountedLabels | None = None, **options: Any) -> Deposits:
    return Deposits(kept, reserving or CountedLabels(), SetClocks(), **options)


def put(made: Deposits, files: Mapping[str, Source] | None = None, **described: object) -> Item:
    """A small item."""
    given = sources(a=b"content") if files is None else files
    return made.deposit(draft(*given, **described), given, WHO)  # type: ignore[arg-type]


def dump(catalog: Catalog) -> list[Item]:
    """Everything there is."""
    return list(catalog.items())


def kept_in(content: Content, kept: ItemRepository) -> list[Item]:
    """The same, told by the content alone."""
    items = [kept.read(name).item for name in content.iterate()]
    return sorted(items, key=lambda item: item.rep)
