"""What an Archive answers to a resolver, and for how long that is true (R Algorithms 1 and 2).

The answer to a `urlRequest` is all but constant: only its key changes every time. `StaticAnswer` is that constant part,
to be kept by a server that answers often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ibi.archive.profile import ArchiveProfile, Reader
from ibi.archive.related_items import (
    Described,
    Held,
    Named,
    Related,
    Relatives,
    described_by,
    find_forms,
    find_labelled,
)
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.answers import Confirmation, Notice, ServiceSubject
from ibi.messages.holders import NOT_FINAL_FIELD, Field, copies_field, transferred_field
from ibi.messages.identification import KeySubject, LabelForms, UrlKey, UrlKeys
from ibi.messages.membership import InclusionConfirmationRequest
from ibi.messages.requests import Acknowledgment, Request, UrlRequest, parse_archive_request
from ibi.messages.url_list import Deletion, UrlEntry, UrlList
from ibi.messages.values import UnknownSubject
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
        item = find_labelled(self.catalog, self.request.label)  # line 2
        return (
            None
            if item is None or item.original_tombstone is not None
            else self._answer(item, self._entries(item, self.profile.relations))
        )

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

    @property
    def _path(self) -> str | None:
        """The path, if it applies: GetMetadata wins over it (E16)."""
        return None if self.request.relation.asks_metadata else self.request.file_path

    # R §9.2, CRIARPARURL: <r, i, z>₃ before <r, i, y>₂ before <r, i>₁
    def _data_url(self, item: Item) -> tuple[str | None, ContentType]:
        """Where the item is for this reader and this path. No such file (E16): no URL, and only the IBI is given."""
        urls, path = self.profile.urls, self._path
        kind = ContentType.DATA if described_by(self.catalog, item) is None else ContentType.METADATA
        if self.request.file_list:
            return urls.file_list(item), ContentType.DATA  # E35
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
        if self.request.file_list or self._path is not None:
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


_CONFIRMATION = Confirmation().encode()
_NOTICE = Notice().encode()
_URLKEY = b"\r\nurlkey "


@dataclass(frozen=True, slots=True)
class StaticAnswer:
    """The answer to a `urlRequest` but for the key, and how long and for whom it is true.

    `urlkey` sorts after every other name of R Table 9.3: its pair is always the last.
    """

    body: bytes
    subject: KeySubject | None = None
    """What the key speaks for; None if the answer has no URL and so no key."""
    depends_on_client: bool = False
    """Whether a client elsewhere gets another answer: then neither other clients nor caches may use it (E32)."""
    good_until: Instant | None = None
    """When it stops being true by itself, because an embargo ends."""
    message: UrlList | Deletion | None = field(default=None, repr=False, compare=False)
    """What `body` says, for a caller in this process, which need not parse it."""
    missing: Label | None = None
    """The label of which nothing is known here, if that is the answer (R Algorithm 2, line 4)."""
    transferred_to: Label | None = None
    """The service of the Archive to which the Original was given (E63)."""
    copies_at: tuple[Label, ...] = ()
    """The services of Archives that hold Copies of this Original (E64)."""
    fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)
    """What the last two say as header fields; and of an empty answer that nothing is certain, unless it is final
    (E62)."""
    is_lasting: bool = field(init=False, repr=False, compare=False)
    """Whether it may be cached by all, for the longest time there is. "Not here" may not: the item may be deposited in
    a minute."""

    def __post_init__(self) -> None:
        is_lasting = self.body != b"" and not self.depends_on_client and self.good_until is None
        object.__setattr__(self, "is_lasting", is_lasting)
        fields: tuple[Field, ...] = () if self.transferred_to is None else (transferred_field(self.transferred_to),)
        if not self.body and not fields:
            fields = (NOT_FINAL_FIELD,)
        object.__setattr__(self, "fields", (*fields, copies_field(self.copies_at)) if self.copies_at else fields)

    def max_age(self, now: Instant, most: int) -> int:
        """For how many seconds, at most `most`, a recipient may give it to others: `Cache-Control` of E32."""
        if self.depends_on_client:
            return 0
        if self.good_until is None:
            return most
        left = self.good_until.seconds - now.seconds - (now.fraction > self.good_until.fraction)
        return max(0, min(most, left))

    def with_key(self, keys: UrlKeys, seconds: int, random: int) -> bytes:
        """The whole answer, with the key of this second; `random` is as for `UrlKeys.make`."""
        if self.subject is None:
            return self.body
        return self.body + _URLKEY + keys.make(self.subject, seconds, random)

    def message_with_key(self, keys: UrlKeys, seconds: int, random: int) -> UrlList | Deletion | None:
        """What would be read from `with_key`; None from nothing."""
        if self.subject is None or not isinstance(self.message, UrlList):
            return self.message
        return self.message.with_key(keys.issue(self.subject, seconds, random))


def static_answer(
    profile: ArchiveProfile, catalog: Catalog, request: UrlRequest, now: Instant, keys: UrlKeys
) -> StaticAnswer:
    """R Algorithm 1, lines 16 and 17."""
    item = find_labelled(catalog, request.label)
    if item is None:
        transfer = catalog.transfer(request.label) if request.label.is_dated else None
        return StaticAnswer(b"", missing=request.label, transferred_to=None if transfer is None else transfer.to)
    if item.original_tombstone is not None:  # E86: no link leads to a Copy of what was deleted
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
        transferred_to=item.transferred_to,
        copies_at=profile.copies_at if item.state is State.ORIGINAL else (),
    )


def answer(
    profile: ArchiveProfile, catalog: Catalog, query: str, now: Instant, random: int, keys: UrlKeys
) -> tuple[bytes, Request | None]:
    """The body of the answer, and the request it answers: an acknowledgment is still to be counted. None for a request
    of which only the subject can be read: one for a URL gets no answer (line 2 of R Algorithm 2), an acknowledgment its
    constant one.

    `InvalidMessage` for what is no request to an Archive (E18).
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
