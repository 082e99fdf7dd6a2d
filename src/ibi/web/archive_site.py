"""One Archive as the web serves it: what it keeps, how it calls itself, and where it sends what it has not."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, cast

from ibi.archive.counting import Recent
from ibi.archive.profile import ArchiveProfile, ArchiveUrls
from ibi.archive.url_key import UrlKeys
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.model.item import Item
from ibi.model.usage import UsageDay, UsageKind
from ibi.model.visibility import IpNetwork
from ibi.ports.catalog import Catalog
from ibi.ports.clocks import Clocks
from ibi.ports.content import Content, ContentDamaged
from ibi.ports.usage import UsageLog
from ibi.services.archive_answers import MAX_AGE, ArchiveAnswers
from ibi.services.integrity.integrity import Integrity
from ibi.services.integrity.verified_file import VerifiedFile
from ibi.services.item_services import ItemServices
from ibi.services.items.searching import Searching
from ibi.web.http.hosts import authority_of_url


def _no_robot(_: str) -> bool:
    return False


class _ShownCatalog:
    """The catalogue for what a page says of other items: one that is damaged so much that the catalogue has lost it is
    named by its label alone, as one that is kept elsewhere. It is no reason to show no page."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, label: Label) -> Item | None:
        try:
            return self._catalog.find(label)
        except ContentDamaged:
            return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSite:
    """All that the Archive's pages need. URLs are settings: what a request calls this host is not believed.

    `changes` gives another value after every change of the catalogue, by whatever process; without it nothing is kept
    between requests. `is_final` tells of a label that is unknown here whether it is certain that it was given to no one
    for use elsewhere; without it nothing is certain. `proxies` are the networks whose word on who their client is
    counts. `is_robot` judges by the header User-Agent. The `desk` takes deposits and changes in; without it this
    Archive is only read. Without `search` it has no pages to find items by. `integrity`
    knows what is damaged, and is told what is found to be.
    """

    profile: ArchiveProfile
    catalog: Catalog
    content: Content
    keys: UrlKeys
    clocks: Clocks
    public_url: str
    content_url: str | None = None
    resolver: str | None = None
    proxies: tuple[IpNetwork, ...] = ()
    changes: Callable[[], Hashable] | None = None
    is_final: Callable[[Label, Instant], bool] | None = None
    usage: UsageLog | None = None
    is_robot: Callable[[str], bool] = _no_robot
    max_age: int = MAX_AGE
    recent: Recent = field(default_factory=Recent)
    desk: ItemServices | None = None
    search: Searching | None = None
    integrity: Integrity | None = None
    answers: ArchiveAnswers = field(init=False)
    """To resolvers, over HTTP and in this process."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        object.__setattr__(self, "content_url", (self.content_url or self.public_url).rstrip("/"))
        resolver = (self.resolver or "").rstrip("/")
        # An Archive that is its own resolver has nobody to send anything on to.
        object.__setattr__(self, "resolver", None if resolver.lower() in {"", self.public_url.lower()} else resolver)
        answers = ArchiveAnswers(
            self.profile,
            self.catalog,
            self.keys,
            self.clocks,
            changes=self.changes,
            is_final=self.is_final,
            proxies=self.proxies,
            usage=self.usage,
            recent=self.recent,
            max_age=self.max_age,
        )
        object.__setattr__(self, "answers", answers)

    @property
    def urls(self) -> ArchiveUrls:
        """Of the pages here, whatever the answers to resolvers say."""
        assert self.content_url is not None  # set when this was built
        return ArchiveUrls(self.public_url, self.content_url)

    @property
    def origin(self) -> str:
        """Of the pages: scheme and host, without any path."""
        scheme, _, rest = self.public_url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    @property
    def has_own_content_host(self) -> bool:
        """Whether bytes are shown on a host where there is nothing that a document could act on."""
        assert self.content_url is not None
        return authority_of_url(self.content_url) != authority_of_url(self.public_url)

    @property
    def shown_catalog(self) -> Catalog:
        """For the links of a page to items other than its own."""
        return cast("Catalog", _ShownCatalog(self.catalog))

    @property
    def now(self) -> Instant:
        return self.clocks.read().wall

    def open_file(self, item: Item, path: str) -> VerifiedFile:
        """A file of the item as readers get it: every byte is checked. Blocks."""
        name = str(item.rep)
        try:
            file = self.content.open(name, f"doc/{path}")
        except ContentDamaged as error:
            if self.integrity is not None:
                self.integrity.note_error(name, error, path)
            raise
        if self.integrity is None:
            return VerifiedFile(file, name, path, None)
        return self.integrity.verified(file, name, path)

    def is_damaged(self, item: Item) -> bool:
        """Whether anything that is kept of the item is known to be damaged."""
        return self.integrity is not None and self.integrity.is_damaged(str(item.rep))

    def persistent_url(self, labels: LabelForms) -> str:
        """How to cite an item: by its shortest label, at the resolver if there is one."""
        label = labels.ibip or labels.rep
        assert label is not None  # forms have one or the other
        return f"{self.resolver or self.public_url}/{label.spelling}"

    def count(self, counted: tuple[UsageDay, UsageKind] | None) -> None:
        if counted is not None and self.usage is not None:
            self.usage.count(*counted)
