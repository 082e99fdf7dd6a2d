"""R Algorithm 2, MONTARLISTADEURL: what this Archive knows of an item; and FILTRARLISTADEURL, what of it is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ibi.archive.profile import ArchiveProfile, Reader
from ibi.archive.related_items import Described, Held, Named, Related, Relatives, described_by, find_forms
from ibi.messages.key import UrlKey
from ibi.messages.label_forms import LabelForms
from ibi.messages.requests import UrlRequest
from ibi.messages.url_list import Deletion, UrlEntry, UrlList
from ibi.model.item import Item
from ibi.ports.catalog import Catalog
from ibi.relation import Relation
from ibi.vocabulary import ContentType, State


def assemble_url_list(
    profile: ArchiveProfile, catalog: Catalog, request: UrlRequest, reader: Reader, key: UrlKey | None = None
) -> UrlList | Deletion | None:
    """R Algorithm 2, whole: every relation that `profile` has. None if there is no such item here.

    `key` is the fresh urlkey of line 19; it stands in the answer only beside a URL.
    """
    answer = Assembler(profile, catalog, request, reader).assemble_whole()
    if key is None or not isinstance(answer, UrlList) or not has_url(answer):
        return answer
    return replace(answer, url_key=key)


def has_url(answer: UrlList | Deletion) -> bool:
    """Whether it leads anywhere, so that there can be something to acknowledge."""
    return isinstance(answer, UrlList) and any(entry.url is not None for entry in answer.entries)


@dataclass(frozen=True, slots=True)
class Assembler:
    """One request that is being answered, as yet without a key. `reader` learns what the answer hangs on."""

    profile: ArchiveProfile
    catalog: Catalog
    request: UrlRequest
    reader: Reader

    def assemble_whole(self) -> UrlList | Deletion | None:
        """All that is known."""
        item = self.catalog.find(self.request.label)  # line 2
        return None if item is None else self._answer(item, self._entries(item, self.profile.relations))

    def assemble_filtered(self) -> UrlList | Deletion | None:
        """What `filter_url_list` leaves of the whole; the rest is not looked up in the first place."""
        item = self.catalog.find(self.request.label)
        return None if item is None else self._filter_wanted(item)

    def of_item(self, item: Item) -> UrlList | Deletion:
        """What is answered about the item that bears the label, filtered or not, as the profile says."""
        if self.profile.filtered:
            return self._filter_wanted(item)
        return self._answer(item, self._entries(item, self.profile.relations))

    def _filter_wanted(self, item: Item) -> UrlList | Deletion:
        left = filter_url_list(self._answer(item, self._wanted_entries(item)), self.request.relation)
        assert left is not None  # the filter leaves the item itself at least
        return left

    def _answer(self, item: Item, entries: Iterable[UrlEntry]) -> UrlList | Deletion:
        profile = self.profile
        archive = (profile.address, profile.service, profile.platform_software)  # lines 6 to 10
        if item.state is State.DELETED:  # lines 11 to 15
            assert item.tombstone is not None  # no item is deleted without one
            return Deletion(*archive, item.labels, item.tombstone.when)
        by_relation = {entry.relation: entry for entry in entries}
        return UrlList(*archive, entries=tuple(by_relation.values()), next_edition=item.next_edition)

    def _wanted_entries(self, item: Item) -> Iterator[UrlEntry]:
        """The relation asked for; of what it begins with, and of the item, the IBI alone."""
        relation = self.request.relation
        yield from self._entries(item, (relation,))
        if not relation.is_itself:
            yield UrlEntry(Relation.ITSELF, item.labels)
        for prefix, related in self._related_items(item, relation.proper_prefixes()):
            forms = _forms(related)
            if forms is not None:
                yield UrlEntry(prefix, forms)

    def _entries(self, item: Item, relations: Iterable[Relation]) -> Iterator[UrlEntry]:
        """Lines 21 to 32."""
        for relation, related in self._related_items(item, relations):
            entry = self._entry(relation, related)
            if entry is not None:
                yield entry

    def _related_items(self, item: Item, relations: Iterable[Relation]) -> Iterator[tuple[Relation, Related]]:
        relatives = Relatives(self.catalog, self.profile.follow_editions)
        for wanted in relations:
            for relation, related in relatives.find_related(item, wanted):
                if self.profile.offers(relation):
                    yield relation, related

    def _entry(self, relation: Relation, related: Related) -> UrlEntry | None:
        forms = _forms(related)
        url, yields = self._url(related)
        if url is None:
            return None if forms is None else UrlEntry(relation, forms)
        item = _bearer(related)
        return UrlEntry(relation, forms, url, yields, item.state, item.updated)

    def _url(self, related: Related) -> tuple[str | None, ContentType]:
        match related:
            case Held(item):
                return self._data_url(item)
            case Described():
                return self._metadata_url(related)
            case Named():
                return None, ContentType.DATA

    # R §9.2, CRIARPARURL: <r, i, z>₃ before <r, i, y>₂ before <r, i>₁
    def _data_url(self, item: Item) -> tuple[str | None, ContentType]:
        """Where the item is for this reader and this path. No such file (E16): no URL, and only the IBI is given."""
        urls, path = self.profile.urls, self.request.file_path
        kind = ContentType.DATA if described_by(self.catalog, item) is None else ContentType.METADATA
        if self.request.file_list:
            return urls.file_list(item), ContentType.DATA  # E35
        if path is not None:
            file = item.file(path[1:])
            if file is None and not self._keeps_names_secret(item):
                return None, kind
            name: str | None = None if file is None else file.path
        else:
            name = item.target
        if (name is None and item.target_url is None) or not self.reader.may_see(item.visibility):
            return self._metadata_page(item), ContentType.METADATA
        return (item.target_url if name is None else urls.file(item, name)), kind

    def _keeps_names_secret(self, item: Item) -> bool:
        """Whether the reader may neither list the files nor see them: then E16 must not reveal which names there
        are."""
        return not item.visibility.listing and not self.reader.may_see(item.visibility)

    def _metadata_page(self, item: Item) -> str:
        """Where readers are sent who may not see the item, or whose item has neither files nor a URL."""
        own = None if item.metadata_item is None else find_forms(self.catalog, item.metadata_item)
        readable = own is not None and own.state is not State.DELETED and self.reader.may_see(own.visibility)
        return self.profile.urls.metadata(item, own if readable else None, None)

    def _metadata_url(self, described: Described) -> tuple[str | None, ContentType]:
        """Where metadata is. Paths and lists of files are those of an item: what is written on demand has none."""
        own = None if described.own is None else described.own.item
        if self.request.file_list or self.request.file_path is not None:
            return (None, ContentType.METADATA) if own is None else self._data_url(own)
        readable = own if own is not None and self.reader.may_see(own.visibility) else None
        return self.profile.urls.metadata(described.item, readable, described.format), ContentType.METADATA


def filter_url_list(answer: UrlList | Deletion | None, wanted: Relation) -> UrlList | Deletion | None:
    """FILTRARLISTADEURL (R §9.2): the same without what cannot help a resolver that wants that relation."""
    if not isinstance(answer, UrlList):
        return answer
    entries = tuple(_surviving(answer, wanted))
    return replace(
        answer,
        entries=entries,
        next_edition=answer.next_edition if wanted.asks_last_edition else None,
        url_key=answer.url_key if any(entry.url is not None for entry in entries) else None,
    )


def _surviving(answer: UrlList, wanted: Relation) -> Iterator[UrlEntry]:
    exact = [entry for entry in answer.entries if wanted.matches(entry.relation)]
    yield from exact
    if not wanted.is_itself:
        yield UrlEntry(Relation.ITSELF, answer.ibi)
    prefixes = wanted.proper_prefixes()
    for entry in answer.entries:
        offered = entry.relation
        if entry.ibi is None or not any(prefix.matches(offered) for prefix in prefixes):
            continue
        if not any(found.url is not None and found.relation.begins_with(offered) for found in exact):
            yield UrlEntry(offered, entry.ibi)


def _forms(related: Related) -> LabelForms | None:
    """The IBI of what was found; metadata that is no item of its own has none."""
    match related:
        case Described(_, own):
            return None if own is None else own.forms
        case Held(_, forms) | Named(forms):
            return forms


def _bearer(related: Held | Described | Named) -> Item:
    """Whose state and date a URL has: what is written from a description is as old as the item described."""
    assert not isinstance(related, Named)  # there is no URL of what is elsewhere
    return related.own.item if isinstance(related, Described) and related.own is not None else related.item
