"""The parts of an Archive and of a resolver that pages, endpoints and commands need, put together once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar, cast

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.archive.service.answers import ArchiveAnswers, ArchiveInDoubt
from ibi.claims.service.answering import RemoteClaims
from ibi.claims.service.claim_context import ClaimContext
from ibi.collections.service import Collections
from ibi.deposits.service.drafts import Drafts
from ibi.items.model.item import Item
from ibi.items.ports.archive_store import Content, ContentDamaged
from ibi.items.ports.catalog import Catalog, ChangeFeed
from ibi.items.rules.related_items import find_labelled
from ibi.items.service.deposits import Deposits
from ibi.items.service.integrity.integrity import Integrity
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.items.service.item_claims import ItemClaims
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.service.relating import Relating
from ibi.items.service.stored_item import ItemReader
from ibi.items.service.versions import Restoring, Versions
from ibi.jobs.promptness import ask
from ibi.jobs.runner import Job
from ibi.membership.model.membership import ResolverStanding
from ibi.membership.service.registration_admin import RegistrationAdmin
from ibi.membership.service.signers import OwnKeys
from ibi.people.model.account import Actor
from ibi.resolver.ports import Beliefs
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.belief_report import BeliefReport
from ibi.resolver.service.disputes import Disputes
from ibi.resolver.service.register_publication import RegisterPublication
from ibi.resolver.service.resolver_service import ResolverService
from ibi.resolver.service.standby import KeptRegister
from ibi.standard.clock_reading import Clocks
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.networks import IpNetwork
from ibi.standard.origin import Origin, is_same_place, served_origin
from ibi.standard.vocabulary import State
from ibi.transfers.model import OpenItem
from ibi.transfers.service.worker import Tracking
from ibi.usage.service import UseCounter


def _nothing() -> Mapping[str, object]:
    return {}


class NoLabels:
    """In place of a minter where published items are changed and none is made."""

    def reserve(self, key: str | None = None) -> LabelForms:
        raise AssertionError("new items come from drafts")


class ArchiveDoubt(NamedTuple):
    """The work that waits while an Archive may have been restored from a backup."""

    in_doubt: str
    """`items`: changes of items wait, too; `transfers`: only transfers wait."""
    unheard: tuple[str, ...]
    """Servers that did not yet answer which Originals were given away since."""


@dataclass(frozen=True, slots=True)
class ItemServices:
    """The services of one Archive. Their calls block, from any thread."""

    repository: ItemRepository
    drafts: Drafts
    clocks: Clocks
    service: LabelForms | None = None
    """The Archive's own item, which cannot be deleted."""
    standing: Callable[[], Mapping[str, object]] = _nothing
    """Returns the status of the Archive: its membership in its resolver, and the state of its store."""
    exchange: ClaimContext | None = None
    """The exchange of claims with other Archives; None if there is none."""

    def deposits_of(self, actor: Actor) -> Deposits:
        """Return the service that changes published items with the actor's rights."""
        return Deposits(self.repository, NoLabels(), self.clocks, service=self.service, actor=actor)

    def relating_of(self, actor: Actor) -> Relating:
        return Relating(self.repository, self.deposits_of(actor))

    def restoring_of(self, actor: Actor) -> Restoring:
        """Return the service that restores earlier versions with the actor's rights."""
        return Restoring(self.repository, self.deposits_of(actor), self.clocks)

    def claims_of(self, actor: Actor) -> ItemClaims:
        return ItemClaims(self.repository, self.deposits_of(actor), actor)

    def remote_claims_of(self, actor: Actor) -> RemoteClaims | None:
        """Return the claims between this Archive and others, as far as they concern the actor."""
        return None if self.exchange is None else RemoteClaims(self.exchange, self.deposits_of(actor))


@dataclass(frozen=True, slots=True)
class ItemOffers:
    """What the page of an item offers beside its description. A part that this server lacks is None."""

    services: ItemServices | None = None
    """Take changes of items."""
    collections: Collections | None = None
    previews: MarkdownPreviews | None = None
    takes_requests: bool = False
    """True if readers may ask for files that they may not have."""


T = TypeVar("T")


def _no_robot(_: str) -> bool:
    return False


class _ShownCatalog:
    """The catalogue for links to other items on a page. An item too damaged to read is shown by its label alone, like
    an item elsewhere, so that the page can still be made."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def find(self, label: Label) -> Item | None:
        try:
            return self._catalog.find(label)
        except ContentDamaged:
            return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)


def is_own_resolver(resolver: str | None, public_url: str) -> bool:
    """Return whether an Archive has no other resolver than its own server."""
    return not resolver or is_same_place(resolver, public_url)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSite:
    """The parts of an Archive that all its endpoints and pages share. URLs come from the settings, never from a
    request's Host header."""

    profile: ArchiveProfile
    catalog: Catalog
    content: Content
    clocks: Clocks
    public_url: str
    content_url: str
    """The address of deposited files."""
    resolver: str | None
    """The resolver at another server, to which links lead."""
    proxies: tuple[IpNetwork, ...]
    """The networks that are trusted to name their client."""
    feed: ChangeFeed | None
    """Lists the changed items, in order."""
    integrity: Integrity | None
    """Records damage."""
    uses: UseCounter
    tracking: Tracking | None
    """Follows what other Archives say of Originals that left, or may have left; None without transfers."""
    inbox_url: str | None
    """The URL for notifications about its items."""
    warn_of_url: Callable[[str], str | None]
    """Returns a warning for the depositor of a Web service on a host that resolvers do not know; None if there is
    none."""
    answers: ArchiveAnswers
    """The answers to resolvers, over HTTP and in this process."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        object.__setattr__(self, "content_url", self.content_url.rstrip("/"))
        resolver = (self.resolver or "").rstrip("/")
        object.__setattr__(self, "resolver", None if is_own_resolver(resolver, self.public_url) else resolver)

    def _is_silent(self) -> bool:
        return self.tracking is not None and self.tracking.is_silent

    def is_unconfirmed(self, item: Item) -> bool:
        """Return whether the item, an Original here, may have been given away since the backup from which this Archive
        was restored."""
        return item.state is State.ORIGINAL and item.rep not in self.profile.service.labels and self._is_silent()

    def open_item(self, item: Item) -> OpenItem | None:
        """Return the open question about an item that moved, if its chain and state do not agree."""
        return None if self.tracking is None else self.tracking.open_items.find(item.rep)

    def find_doubt(self) -> ArchiveDoubt | None:
        """Return the work that waits and the servers that have not answered yet. Return None unless this Archive may
        have been restored from a backup."""
        tracking = self.tracking
        if tracking is None or not tracking.in_doubt:
            return None
        return ArchiveDoubt("items" if tracking.is_silent else "transfers", tuple(tracking.unheard))

    def require_sure(self) -> None:
        """Raise `ArchiveInDoubt` while no item may be called Original."""
        if self._is_silent():
            raise ArchiveInDoubt()

    @property
    def urls(self) -> ArchiveUrls:
        """The URLs of the pages here, whatever URLs the answers to resolvers have."""
        return ArchiveUrls(self.public_url, self.content_url)

    @property
    def origin(self) -> str:
        """The origin of the pages: scheme and host, without a path."""
        return str(Origin.of_url(self.public_url))

    @property
    def has_own_content_host(self) -> bool:
        """True if files are served on a host of their own, where a document finds nothing to act on."""
        return served_origin(self.content_url) != served_origin(self.public_url)

    @property
    def shown_catalog(self) -> Catalog:
        """The catalogue for a page's links to other items."""
        return cast("Catalog", _ShownCatalog(self.catalog))

    async def ask(self, call: Callable[[], T]) -> T:
        """Return the result of `call`, which reads the catalogue: in a thread if that is slow."""
        return await ask(self.catalog, call)

    async def find(self, label: Label) -> Item | None:
        return await self.ask(lambda: find_labelled(self.catalog, label))

    @property
    def now(self) -> Instant:
        return self.clocks.read().wall

    def open_file(self, item: Item, path: str) -> VerifiedFile:
        """Open a file of the item; every byte is verified as it is read. `ItemChanging` if the file is of a newer
        version of the item, for other readers. Blocks."""
        name = str(item.rep)
        try:
            file = self.content.open(name, f"doc/{path}")
        except ContentDamaged as error:
            if self.integrity is not None:
                self.integrity.note_error(name, error, path)
            raise
        try:
            ItemReader(self.content, self.integrity).require_same_readers(item, path, file.digest)
        except BaseException:
            file.close()
            raise
        if self.integrity is None:
            return VerifiedFile(file, name, path, None)
        return self.integrity.verified_file(file, name, path)

    @property
    def versions(self) -> Versions:
        """Earlier versions of its items. Calls block."""
        return Versions(self.content, self.integrity)

    def is_damaged(self, item: Item) -> bool:
        """Return whether any part of the item is known to be damaged."""
        return self.integrity is not None and self.integrity.is_damaged(str(item.rep))

    def persistent_url(self, labels: LabelForms) -> str:
        """Return the URL for citing an item: its shortest label, at the resolver if there is one."""
        label = labels.ibip or labels.rep
        assert label is not None  # forms have one or the other
        return f"{self.resolver or self.public_url}/{label.spelling}"


async def _nothing_to_close() -> None:
    """Do nothing: by default a resolver has no connections outside this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolverSite:
    """The parts that the resolver's endpoints need. URLs come from the settings, never from a request's Host header.

    `registrations` maintain the register of Archives; without them none can be included. `beliefs` record false claims.
    `close` ends the connections of `resolving`. `proxies` are the networks that are trusted to name their client.
    `is_robot` judges by the header User-Agent: Archives count robots apart.
    """

    resolving: ResolverService
    acknowledgments: Acknowledgments
    public_url: str
    registrations: RegistrationAdmin | None = None
    beliefs: Beliefs | None = None
    report: BeliefReport | None = None
    """The believed Archives, for people."""
    disputes: Disputes | None = None
    register: KeptRegister | None = None
    """The register of another resolver, which this one reads."""
    publication: RegisterPublication | None = None
    """The register, signed, for Archives that keep it."""
    proxies: tuple[IpNetwork, ...] = ()
    is_robot: Callable[[str], bool] = _no_robot
    close: Callable[[], Awaitable[None]] = _nothing_to_close
    signing: OwnKeys | None = None
    """The keys with which the resolver signs."""
    base: str = field(init=False)
    """The beginning of persistent URLs in acknowledgments: with the port (E26)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        origin = Origin.of_url(self.public_url)
        path = self.public_url.partition("://")[2].partition("/")[1:]
        object.__setattr__(self, "base", f"{replace(origin, port=origin.effective_port)}{''.join(path)}/")

    def jobs(self) -> tuple[Job, ...]:
        parts = (self.registrations, self.register)
        return tuple(job for part in parts if part is not None for job in part.jobs())

    async def stop(self) -> None:
        """Send the acknowledgments that are due, and close the connections. Called when the jobs have ended."""
        await self.acknowledgments.drain()
        if self.registrations is not None:
            await self.registrations.close()
        await self.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandbySite:
    """The parts with which an Archive resolves for its own readers while its resolver is away (E94)."""

    resolver: ResolverSite
    """A resolver without a register of its own."""
    register: KeptRegister

    async def is_needed(self) -> bool:
        """Return whether a link to an item elsewhere has to be resolved here."""
        return await self.register.is_alone()

    async def find_standing(self) -> ResolverStanding | None:
        """Return the reason why links are resolved here, after a look at the resolver; None if they are not."""
        return self.register.standing if await self.register.is_alone() else None

    def jobs(self) -> tuple[Job, ...]:
        return self.register.jobs()

    async def stop(self) -> None:
        await self.register.close()
        await self.resolver.stop()
