"""The answer of an Archive to a resolver, and its validity period (R Algorithms 1 and 2).

Two answers to the same `urlRequest` differ only in the key. `StaticAnswer` is the constant part, which a busy server
caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ibi.archive.rules.profile import ArchiveProfile, Reader
from ibi.items.model.item import Item
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.related_items import (
    Described,
    Held,
    Named,
    Related,
    Relatives,
    described_by,
    find_forms,
    find_labelled,
)
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.answers import Confirmation, Notice, ServiceSubject
from ibi.standard.messages.holders import NOT_FINAL_FIELD, Field, copies_field, transferred_field
from ibi.standard.messages.identification import KeySubject, LabelForms, UrlKey, UrlKeys
from ibi.standard.messages.membership import InclusionConfirmationRequest
from ibi.standard.messages.requests import Acknowledgment, Request, UrlRequest, parse_archive_request
from ibi.standard.messages.url_list import Deletion, UrlEntry, UrlList
from ibi.standard.messages.values import UnknownSubject
from ibi.standard.relation import Relation
from ibi.standard.vocabulary import ContentType, State


def assemble_url_list(
    profile: ArchiveProfile, catalog: Catalog, request: UrlRequest, reader: Reader, key: UrlKey | None = None
) -> UrlList | Deletion | None:
    """Return the whole answer of R Algorithm 2, with every relation of `profile`. None if there is no such item here.

    `key` is the fresh urlkey of line 19; it appears in the answer only beside a URL.
    """
    answer = Assembler(profile, catalog, request, reader).assemble_whole()
    if key is None or not isinstance(answer, UrlList) or not has_url(answer):
        return answer
    return replace(answer, url_key=key)


def has_url(answer: UrlList | Deletion) -> bool:
    """Return whether the answer has a URL, and so can be acknowledged."""
    return isinstance(answer, UrlList) and any(entry.url is not None for entry in answer.entries)


@dataclass(frozen=True, slots=True)
class Assembler:
    """The answer to one request, still without a key. `reader` records the facts that the answer depends on."""

    profile: ArchiveProfile
    catalog: Catalog
    request: UrlRequest
    reader: Reader

    def assemble_whole(self) -> UrlList | Deletion | None:
        """Return the unfiltered answer, with all relations of the profile."""
        item = find_labelled(self.catalog, self.request.label)  # line 2
        return (
            None
            if item is None or item.original_tombstone is not None
            else self._answer(item, self._entries(item, self.profile.relations))
        )

    def of_item(self, item: Item) -> UrlList | Deletion:
        """Return the answer about the item with the label, filtered if the profile says so."""
        if self.profile.filtered:
            return self._filter_wanted(item)
        return self._answer(item, self._entries(item, self.profile.relations))

    def _filter_wanted(self, item: Item) -> UrlList | Deletion:
        left = filter_url_list(self._answer(item, self._wanted_entries(item)), self.request.relation)
        assert left is not None  # the filter always keeps the item itself
        return left

    def _answer(self, item: Item, entries: Iterable[UrlEntry]) -> UrlList | Deletion:
        profile = self.profile
        archive = (profile.address, profile.service, profile.platform_software)  # lines 6 to 10
        if item.state is State.DELETED:  # lines 11 to 15
            assert item.tombstone is not None  # every deleted item has a tombstone
            return Deletion(*archive, item.labels, item.tombstone.when)
        by_relation = {entry.relation: entry for entry in entries}
        return UrlList(*archive, entries=tuple(by_relation.values()), next_edition=item.next_edition)

    def _wanted_entries(self, item: Item) -> Iterator[UrlEntry]:
        """Yield the requested relation. For its prefixes and for the item itself, yield the IBI alone."""
        relation = self.request.relation
        yield from self._entries(item, (relation,))
        if not relation.is_itself:
            yield UrlEntry(Relation.ITSELF, item.labels)
        for prefix, related in self._related_items(item, relation.proper_prefixes()):
            forms = _forms(related)
            if forms is not None:
                yield UrlEntry(prefix, forms)

    def _entries(self, item: Item, relations: Iterable[Relation]) -> Iterator[UrlEntry]:
        """Yield the entries of lines 21 to 32."""
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

    @property
    def _path(self) -> str | None:
        """The path, if it applies: GetMetadata overrides it (E16)."""
        return None if self.request.relation.asks_metadata else self.request.file_path

    # R §9.2, CRIARPARURL: <r, i, z>₃ before <r, i, y>₂ before <r, i>₁
    def _data_url(self, item: Item) -> tuple[str | None, ContentType]:
        """Return the address of the item for this reader and this path. If there is no such file, the answer has no URL
        and gives only the IBI (E16)."""
        urls, path = self.profile.urls, self._path
        if self.request.file_list:
            return urls.file_list(item), ContentType.DATA  # E35
        kind = self._content_type(item)
        if path is not None:
            file = item.linked_file(path[1:])
            if file is None and not self._keeps_names_secret(item):
                return None, kind
            name: str | None = None if file is None else file.path
        else:
            name = item.target
        if (name is None and item.target_url is None) or not self.reader.may_see(item.visibility):
            return self._metadata_page(item), ContentType.METADATA
        if path is None and self.profile.landing_page:
            return urls.target(item), kind
        return (item.target_url if name is None else urls.file(item, name)), kind

    def _content_type(self, item: Item) -> ContentType:
        """Return whether the files of the item are data, or metadata of another item."""
        return ContentType.DATA if described_by(self.catalog, item) is None else ContentType.METADATA

    def _keeps_names_secret(self, item: Item) -> bool:
        """Return whether the reader may neither list nor see the files. Then E16 must not reveal which names exist."""
        return not item.visibility.listing and not self.reader.may_see(item.visibility)

    def _metadata_page(self, item: Item) -> str:
        """Return the metadata page, for readers who may not see the item, or for an item with neither files nor a
        URL."""
        own = None if item.metadata_item is None else find_forms(self.catalog, item.metadata_item)
        readable = own is not None and own.state is not State.DELETED and self.reader.may_see(own.visibility)
        return self.profile.urls.metadata(item, own if readable else None, None)

    def _metadata_url(self, described: Described) -> tuple[str | None, ContentType]:
        """Return the address of the metadata. Only a metadata item has paths and lists of files, not metadata written
        on demand."""
        own = None if described.own is None else described.own.item
        if self.request.file_list or self._path is not None:
            return (None, ContentType.METADATA) if own is None else self._data_url(own)
        readable = own if own is not None and self.reader.may_see(own.visibility) else None
        return self.profile.urls.metadata(described.item, readable, described.format), ContentType.METADATA


def filter_url_list(answer: UrlList | Deletion | None, wanted: Relation) -> UrlList | Deletion | None:
    """Return the answer without the entries that a resolver cannot use for the relation `wanted`: FILTRARLISTADEURL (R
    §9.2)."""
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
    """Return the IBI of a related item. Metadata that is no item of its own has none."""
    match related:
        case Described(_, own):
            return None if own is None else own.forms
        case Held(_, forms) | Named(forms):
            return forms


def _bearer(related: Held | Described | Named) -> Item:
    """Return the item that gives a URL its state and date. Metadata written on demand is as old as the item
    described."""
    assert not isinstance(related, Named)  # a named item is elsewhere, and has no URL here
    return related.own.item if isinstance(related, Described) and related.own is not None else related.item


_CONFIRMATION = Confirmation().encode()
_NOTICE = Notice().encode()
_URLKEY = b"\r\nurlkey "


@dataclass(frozen=True, slots=True)
class StaticAnswer:
    """The answer to a `urlRequest` without the key, with its validity.

    `urlkey` sorts after every other name of R Table 9.3, so its pair is always the last.
    """

    body: bytes
    subject: KeySubject | None = None
    """The subject of the key. None if the answer has no URL and so no key."""
    depends_on_client: bool = False
    """True if another client may get another answer. Then neither other clients nor caches may use it (E32)."""
    good_until: Instant | None = None
    """The instant at which the answer expires, because an embargo ends."""
    message: UrlList | Deletion | None = field(default=None, repr=False, compare=False)
    """The parsed `body`, for callers in this process."""
    missing: Label | None = None
    """The label, if this Archive knows no item with it (R Algorithm 2, line 4)."""
    without_original: tuple[Label, ...] = field(default=(), repr=False, compare=False)
    """The labels of the item, if this Archive has at most a Copy of it."""
    transferred_to: Label | None = None
    """The service of the Archive to which the Original was given (E63)."""
    copies_at: tuple[Label, ...] = ()
    """The services of Archives that hold Copies of this Original (E64)."""
    fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)
    """`transferred_to` and `copies_at` as header fields. An empty answer that is not final also has the field of
    E62."""
    is_lasting: bool = field(init=False, repr=False, compare=False)
    """True if every cache may keep it for the longest time. "Not here" may not be cached: the item may be deposited a
    minute later."""

    def __post_init__(self) -> None:
        is_lasting = self.body != b"" and not self.depends_on_client and self.good_until is None
        object.__setattr__(self, "is_lasting", is_lasting)
        fields: tuple[Field, ...] = () if self.transferred_to is None else (transferred_field(self.transferred_to),)
        if not self.body and not fields:
            fields = (NOT_FINAL_FIELD,)
        object.__setattr__(self, "fields", (*fields, copies_field(self.copies_at)) if self.copies_at else fields)

    def max_age(self, now: Instant, most: int) -> int:
        """Return the seconds, at most `most`, for which a recipient may give it to others: `Cache-Control` of E32."""
        if self.depends_on_client:
            return 0
        if self.good_until is None:
            return most
        left = self.good_until.seconds - now.seconds - (now.fraction > self.good_until.fraction)
        return max(0, min(most, left))

    def with_key(self, keys: UrlKeys, seconds: int, random: int) -> bytes:
        """Return the whole answer with the key of this second. `random` is as for `UrlKeys.make`."""
        if self.subject is None:
            return self.body
        return self.body + _URLKEY + keys.make(self.subject, seconds, random)

    def message_with_key(self, keys: UrlKeys, seconds: int, random: int) -> UrlList | Deletion | None:
        """Return the message that `with_key` encodes; None if it is empty."""
        if self.subject is None or not isinstance(self.message, UrlList):
            return self.message
        return self.message.with_key(keys.issue(self.subject, seconds, random))


def static_answer(
    profile: ArchiveProfile, catalog: Catalog, request: UrlRequest, now: Instant, keys: UrlKeys
) -> StaticAnswer:
    """Return the answer of R Algorithm 1, lines 16 and 17, without the key."""
    item = find_labelled(catalog, request.label)
    if item is None:
        transfer = catalog.transfer(request.label) if request.label.is_dated else None
        given_to = None if transfer is None else transfer.to
        return StaticAnswer(b"", missing=request.label, without_original=(request.label,), transferred_to=given_to)
    if item.original_tombstone is not None:  # E86: no link leads to a Copy of a deleted item
        return StaticAnswer(b"", transferred_to=item.transferred_to)
    reader = Reader(request.client_addresses, now)
    told = Assembler(profile, catalog, request, reader).of_item(item)
    subject = keys.subject(told.ibi, request.relation) if has_url(told) else None
    return StaticAnswer(
        told.encode(),
        subject,
        reader.depends_on_client,
        reader.good_until,
        told,
        without_original=item.labels.labels if item.state is State.COPY else (),
        transferred_to=item.transferred_to,
        copies_at=profile.copies_at if item.state is State.ORIGINAL else (),
    )


def answer(
    profile: ArchiveProfile, catalog: Catalog, query: str, now: Instant, random: int, keys: UrlKeys
) -> tuple[bytes, Request | None]:
    """Return the body of the answer, and the request, so that an acknowledgment can be counted.

    The request is None if only its subject can be read. Then a URL request gets an empty answer (line 2 of R Algorithm
    2), and an acknowledgment gets its constant one. Raise `InvalidMessage` if the query is no request to an Archive
    (E18).
    """
    request = parse_archive_request(query)
    if isinstance(request, ServiceSubject):
        return _NOTICE if request is ServiceSubject.ACKNOWLEDGMENT else b"", None
    if isinstance(request, InclusionConfirmationRequest):  # lines 2 to 4
        return _CONFIRMATION, request
    if isinstance(request, UrlRequest):  # lines 5 to 18
        found = static_answer(profile, catalog, request, now, keys)
        return found.with_key(keys, now.seconds, random), request
    if isinstance(request, Acknowledgment):  # lines 19 to 21
        return _NOTICE, request
    raise UnknownSubject(request.subject, 0, "it is a service of the resolver, not of an Archive")
