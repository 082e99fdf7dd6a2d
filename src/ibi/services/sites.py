"""The parts of an Archive and of a resolver that pages, endpoints and commands need, put together once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from ibi.archive.counting import Recent
from ibi.archive.profile import ArchiveProfile, ArchiveUrls
from ibi.archive.referrers import classify_referrer
from ibi.archive.related_items import find_labelled
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.identification import LabelForms, UrlKeys
from ibi.model.account import Actor
from ibi.model.item import Item
from ibi.model.membership import ResolverStanding
from ibi.model.transfer import OpenItem
from ibi.model.usage import UsageDay, UsageKind
from ibi.model.visibility import IpNetwork
from ibi.origin import Origin, authority_of, is_same_place, served_origin
from ibi.ports.archive_state import DumpFiles, UsageLog
from ibi.ports.archive_store import Content, ContentDamaged
from ibi.ports.catalog import Catalog, ChangeFeed
from ibi.ports.clocks import Clocks, GivenOut
from ibi.ports.federation import Beliefs
from ibi.services.archive_answers import MAX_AGE, ArchiveAnswers, ArchiveInDoubt
from ibi.services.change_watch import ChangeWatch
from ibi.services.copies.giving import ObjectGiving
from ibi.services.copies.jobs import CopyWork
from ibi.services.correspondence.reader_requests import ReaderRequests
from ibi.services.drafts.drafts import Drafts
from ibi.services.integrity.integrity import Integrity
from ibi.services.integrity.verified_file import VerifiedFile
from ibi.services.items.collections import Collections
from ibi.services.items.deposits import Deposits
from ibi.services.items.full_text import FullTextSearch
from ibi.services.items.item_claims import ItemClaims
from ibi.services.items.item_repository import ItemRepository
from ibi.services.items.previews import MarkdownPreviews
from ibi.services.items.relating import Relating
from ibi.services.items.searching import Searching
from ibi.services.items.stored_item import ItemReader
from ibi.services.items.versions import Restoring, Versions
from ibi.services.jobs import Job
from ibi.services.membership.copy_holder_admin import CopyHolderAdmin, CopyOffers
from ibi.services.membership.named_copy_holders import NamedCopyHolders
from ibi.services.membership.registration_admin import RegistrationAdmin
from ibi.services.membership.signers import OwnKeys, confirm
from ibi.services.notifications.answering import RemoteClaims
from ibi.services.notifications.claim_context import ClaimContext
from ibi.services.notifications.inbox import NotificationInbox
from ibi.services.promptness import ask
from ibi.services.resolving.acknowledgments import Acknowledgments
from ibi.services.resolving.belief_report import BeliefReport
from ibi.services.resolving.claim_watch import ClaimWatch
from ibi.services.resolving.disputes import ClaimProofs, DisputeMail, Disputes
from ibi.services.resolving.register_publication import RegisterPublication
from ibi.services.resolving.resolver_service import ResolverService
from ibi.services.resolving.standby import KeptRegister
from ibi.services.transfers.release_register import ReleaseRegister
from ibi.services.transfers.worker import TransferWorker
from ibi.signing import PublicKey
from ibi.vocabulary import State


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
    copy_work: CopyWork | None = None
    """Jobs that make Copies."""
    exchange: ClaimContext | None = None
    """The exchange of claims with other Archives; None if there is none."""
    requests: ReaderRequests | None = None
    """The requests of readers; None if they cannot make any."""

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


def _always_on() -> bool:
    """Return True: by default there is no switch."""
    return True


def _no_key() -> PublicKey | None:
    """Return no key: by default the Archive signs nothing."""
    return None


def _no_warning(_: str) -> None:
    """Return no warning: by default no resolver asks readers to confirm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSite:
    """The parts that the Archive's endpoints need. URLs come from the settings, never from a request's Host header.

    `changes` returns another value after every change of the catalogue, by any process; without it nothing is cached
    between requests. `feed` lists the changed items, in order. `given_out` tells whether a label unknown here was
    certainly never given out for use elsewhere; without it no answer is final. `proxies` are the networks that are
    trusted to name their client. `is_robot` judges by the header User-Agent. The `item_services` take deposits and
    changes; without them the Archive is read-only. Without `search` it has no search pages. `integrity` records damage.
    `served_elsewhere` is the URL of another server of the same data directory, to which the Archive's own item leads.
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
    feed: ChangeFeed | None = None
    given_out: GivenOut | None = None
    usage: UsageLog | None = None
    is_robot: Callable[[str], bool] = _no_robot
    max_age: int = MAX_AGE
    recent: Recent = field(default_factory=Recent)
    item_services: ItemServices | None = None
    search: Searching | None = None
    texts: FullTextSearch | None = None
    previews: MarkdownPreviews | None = None
    """Renders Markdown; without it, Markdown is shown as plain text."""
    is_switched_on: Callable[[], bool] = _always_on
    """Returns whether its items are shown to readers. Called once a second at most."""
    warn_of_url: Callable[[str], str | None] = _no_warning
    """Returns a warning for the depositor of a Web service on a host that resolvers do not know; None if there is
    none."""
    integrity: Integrity | None = None
    admin_email: str | None = None
    """The address of the Archive's administrator for harvesters."""
    transfers: TransferWorker | None = None
    """Gives Originals to other Archives, and takes theirs."""
    dumps: DumpFiles | None = None
    """The dumps that the server writes, if it does."""
    served_elsewhere: str | None = None
    public_key: Callable[[], PublicKey | None] = _no_key
    """Returns the key with which the Archive signs."""
    is_sandbox: bool = False
    """True if its labels are for trying out."""
    signing: OwnKeys | None = None
    """The keys with which the Archive signs."""
    copy_holders: NamedCopyHolders | None = None
    """The statement to resolvers about the holders of Copies of its items."""
    copy_holder_admin: CopyHolderAdmin | None = None
    copy_offers: CopyOffers | None = None
    """Notes the followers of this Archive."""
    inbox: NotificationInbox | None = None
    """Accepts notifications of other Archives and services, if the Archive wants any."""
    collections: Collections | None = None
    """Named sets of its items."""
    watch: ChangeWatch | None = field(init=False, default=None)
    """Reports changes to the caches of this process."""
    answers: ArchiveAnswers = field(init=False)
    """The answers to resolvers, over HTTP and in this process."""
    own_authorities: frozenset[str] = field(init=False)
    """Hosts of its pages, its files and its resolver, with their ports. A reader who comes from one of them comes from
    here."""
    giving: ObjectGiving = field(init=False)
    """Gives objects to other Archives, which make Copies of them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "public_url", self.public_url.rstrip("/"))
        object.__setattr__(self, "content_url", (self.content_url or self.public_url).rstrip("/"))
        resolver = (self.resolver or "").rstrip("/")
        if self.changes is not None:
            object.__setattr__(self, "watch", ChangeWatch(self.catalog, self.changes, self.feed))
        # An Archive that is its own resolver has none to redirect to.
        is_own = not resolver or is_same_place(resolver, self.public_url)
        object.__setattr__(self, "resolver", None if is_own else resolver)
        places = filter(None, (self.public_url, self.content_url, self.resolver))
        object.__setattr__(self, "own_authorities", frozenset(authority_of(each).lower() for each in places))
        answers = ArchiveAnswers(
            self.profile,
            self.catalog,
            self.keys,
            self.clocks,
            watch=self.watch,
            given_out=self.given_out,
            proxies=self.proxies,
            usage=self.usage,
            recent=self.recent,
            max_age=self.max_age,
            is_silent=self._is_silent,
        )
        if self.signing is not None:
            answers.prove = partial(confirm, self.signing)
        object.__setattr__(self, "answers", answers)
        giving = ObjectGiving(
            self.catalog,
            self.content,
            self.profile.service,
            integrity=self.integrity,
            key=self.public_key,
            is_sandbox=self.is_sandbox,
            require_sure=self._require_sure,
        )
        object.__setattr__(self, "giving", giving)

    def _is_silent(self) -> bool:
        return self.transfers is not None and self.transfers.tracking.is_silent

    def is_unconfirmed(self, item: Item) -> bool:
        """Return whether the item, an Original here, may have been given away since the backup from which this Archive
        was restored."""
        return item.state is State.ORIGINAL and item.rep not in self.profile.service.labels and self._is_silent()

    def open_item(self, item: Item) -> OpenItem | None:
        """Return the open question about an item that moved, if its chain and state do not agree."""
        return None if self.transfers is None else self.transfers.tracking.open_item(item.rep)

    def find_doubt(self) -> ArchiveDoubt | None:
        """Return the work that waits and the servers that have not answered yet. Return None unless this Archive may
        have been restored from a backup."""
        tracking = None if self.transfers is None else self.transfers.tracking
        if tracking is None or not tracking.in_doubt:
            return None
        return ArchiveDoubt("items" if tracking.is_silent else "transfers", tuple(tracking.unheard))

    def _require_sure(self) -> None:
        if self._is_silent():
            raise ArchiveInDoubt()

    @property
    def urls(self) -> ArchiveUrls:
        """The URLs of the pages here, whatever URLs the answers to resolvers have."""
        assert self.content_url is not None  # set when this was built
        return ArchiveUrls(self.public_url, self.content_url)

    @property
    def inbox_url(self) -> str | None:
        """The URL for notifications about its items."""
        return None if self.inbox is None else f"{self.public_url}/inbox"

    @property
    def origin(self) -> str:
        """The origin of the pages: scheme and host, without a path."""
        return str(Origin.of_url(self.public_url))

    @property
    def has_own_content_host(self) -> bool:
        """True if files are served on a host of their own, where a document finds nothing to act on."""
        assert self.content_url is not None
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

    def count(self, counted: tuple[UsageDay, UsageKind] | None, referrer: str = "") -> None:
        """Count a use. Only the class of the `referrer`, the header Referer, is stored."""
        if counted is not None and self.usage is not None:
            self.usage.count(*counted, classify_referrer(referrer, self.own_authorities))


async def _nothing_to_close() -> None:
    """Do nothing: by default a resolver has no connections outside this process."""


class _Busy(Protocol):
    def jobs(self) -> tuple[Job, ...]: ...


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
    releases: ReleaseRegister | None = None
    """The releases of Originals that are believed."""
    report: BeliefReport | None = None
    """The believed Archives, for people."""
    disputes: Disputes | None = None
    dispute_mail: DisputeMail | None = None
    """None without a mail server."""
    claim_watch: ClaimWatch | None = None
    claim_proofs: ClaimProofs | None = None
    own_copies: _Busy | None = None
    """Records the own Archive's statement about its Copies."""
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
        parts: tuple[_Busy | None, ...] = (
            *(self.registrations, self.register, self.dispute_mail, self.claim_watch, self.claim_proofs),
            self.own_copies,
        )
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
