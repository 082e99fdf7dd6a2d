"""An Archive that is followed, and what makes Copies of it: in memory, with faults where a test wants them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from ibi.following.model.subscription import FeedEntry, SourceAddress, SourcePage
from ibi.following.ports.subscriptions import FeedBegunAgain, SourceAway, SourceRecord
from ibi.items.model.change import ChangeKind
from ibi.items.model.item import Item, Tombstone
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State
from tests.support.flat_items import new_item, replace

SOURCE = SourceAddress("http://a.example")


def name_of(number: int) -> str:
    return f"lab.br/arq/2009/07.21.14.{number:02}"


def item_named(label: str, title: str) -> Item:
    when = Instant.parse("2026-01-01T00:00:00Z")
    metadata = DescriptiveMetadata(title=(Text(title),))
    return new_item(labels=LabelForms.of(RepositoryName.parse(label)), created=when, updated=when, metadata=metadata)


class ItemRefused(IbiError):
    """{label} is restricted."""

    code = "restricted"


class SourceLost(IbiError):
    """The connection broke off: {reason}."""

    code = "source-cut"


class NotThere(IbiError):
    """{label} is not there."""

    code = "source-gone"


class HolderUnknown(IbiError):
    """It is not known which Archive keeps {label}."""

    code = "no-source"


@dataclass
class FollowedSource:
    """The port `SourceGateway` on one Archive that a test changes."""

    url: str = ""
    """Where alone it answers; anywhere if there is none."""
    epoch: str = "e1"
    entries: list[FeedEntry] = field(default_factory=list)
    items: dict[str, Item] = field(default_factory=dict)
    heads: dict[str, int] = field(default_factory=dict)
    is_away: bool = False
    archive: str = "lab.br/svc/2008/03.17.15.17"
    """Its own item."""
    entries_told: int | None = None
    """Entries that the feed admits to a reader that stands before them; all if None."""
    page_size: int = 3
    """Entries on a page of the feed: few, so that there are several pages."""
    asked: list[tuple[int | None, int]] = field(default_factory=list)
    """After which number, and for how long, the feed was asked."""
    searched: list[int] = field(default_factory=list)
    """Of how many items each question was what a search finds."""

    def put(self, label: str, title: str) -> None:
        self.items[label] = item_named(label, title)
        self._tell(label, ChangeKind.PUT)

    def delete(self, label: str, *, purge: bool = False) -> None:
        tombstone = Tombstone(Instant.parse("2026-02-02T00:00:00Z"), "withdrawn", purged=purge)
        self.items[label] = replace(self.items[label], state=State.DELETED, tombstone=tombstone)
        self._tell(label, ChangeKind.DELETED)

    def lose(self, label: str, kind: ChangeKind = ChangeKind.REMOVED) -> None:
        del self.items[label]
        self._tell(label, kind)

    def _tell(self, label: str, kind: ChangeKind) -> None:
        self.heads[label] = self.heads.get(label, 0) + 1
        number = len(self.entries) + 1
        head = self.heads[label]
        self.entries.append(FeedEntry(number, label, kind, f"2026-01-01T00:00:{head:02}Z", head))

    def begin_again(self) -> None:
        """As a rebuild does: another epoch, in which each item has one entry."""
        self.epoch += "x"
        kinds = {State.DELETED: ChangeKind.DELETED}
        self.entries = [
            FeedEntry(
                number,
                label,
                kinds.get(item.state, ChangeKind.PUT),
                f"2026-01-01T00:00:{self.heads[label]:02}Z",
                self.heads[label],
            )
            for number, (label, item) in enumerate(sorted(self.items.items()), 1)
        ]

    async def page(self, source: SourceAddress, after: int | None, epoch: str, wait: int) -> SourcePage:
        if self.is_away or self.url not in ("", source.url):
            raise SourceAway(source=source.url, reason="it could not be reached")
        self.asked.append((after, wait))
        end = len(self.entries)
        if after is not None and self.entries_told is not None:
            end = max(after, self.entries_told)
        if after is None:
            return SourcePage(self.epoch, end, end, (), self.archive)
        if epoch != self.epoch or after > end:
            raise FeedBegunAgain(source=source.url)
        found = tuple(self.entries[after : min(after + self.page_size, end)])
        return SourcePage(self.epoch, after + len(found), end, found, self.archive)

    async def record(self, source: SourceAddress, label: Label, token: str | None) -> SourceRecord | None:
        item = self.items.get(str(label))
        return None if item is None else SourceRecord(item.rep, item.state)

    async def search(self, source: SourceAddress, words: str, token: str | None) -> AsyncIterator[RepositoryName]:
        for item in list(self.items.values()):
            if self._finds(words, item):
                yield item.rep

    async def find_among(
        self, source: SourceAddress, words: str, names: Collection[RepositoryName], token: str | None
    ) -> frozenset[RepositoryName]:
        self.searched.append(len(names))
        known = {name: self.items.get(str(name)) for name in names}
        return frozenset(name for name, item in known.items() if item is not None and self._finds(words, item))

    def _finds(self, words: str, item: Item) -> bool:
        return item.state is State.ORIGINAL and words in str(item.metadata.title[0])


@dataclass(frozen=True)
class Fetched:
    item: Item
    head: int


@dataclass
class MemoryBringer:
    """Makes Copies in `held`, which is the catalogue of the follower."""

    source: FollowedSource
    held: dict[str, Item] = field(default_factory=dict)
    restricted: set[str] = field(default_factory=set)
    """Labels that are refused without a token."""
    broken: set[str] = field(default_factory=set)
    """Labels at which the connection breaks off each time."""
    fail: Callable[[], bool] = lambda: False
    """Whether the connection breaks off before the next item."""
    fetched: list[str] = field(default_factory=list)
    holder: str | None = None
    """Where the resolver says that Originals are now."""

    def find(self, label: Label) -> Item | None:
        return self.held.get(str(label))

    def bring_many(
        self, labels: Sequence[Label], source: SourceAddress, token: str | None
    ) -> Iterator[tuple[Label, Fetched | IbiError]]:
        return ((label, self._bring(str(label), token)) for label in labels)

    def find_holder(self, label: Label) -> str:
        if self.holder is None:
            raise HolderUnknown(label=label)
        return self.holder

    def stop(self) -> None:
        """Nothing takes long here."""

    def _bring(self, label: str, token: str | None) -> Fetched | IbiError:
        if self.source.is_away or label in self.broken or self.fail():
            return SourceLost(reason="cut")
        item = self.source.items.get(label)
        if item is None:
            return NotThere(label=label)
        if label in self.restricted and token is None:
            return ItemRefused(label=label)
        self.fetched.append(label)
        here = self.held.get(label)
        if item.state is State.DELETED:
            if here is None:
                return NotThere(label=label)
            self.held[label] = replace(here, original_tombstone=item.tombstone)
        else:
            self.held[label] = replace(item, state=State.COPY, source="a.example")
        return Fetched(self.held[label], self.source.heads[label])
