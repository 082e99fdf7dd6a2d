"""Archives that exchange claims, in one process and without a network: each on a disk of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from ibi.claims.model import FoundItem, ReceivedClaim, RemoteClaimState, SentClaim, Unreached
from ibi.claims.opening import claim_context
from ibi.claims.rules import Sender
from ibi.claims.service.answering import RemoteClaims
from ibi.claims.service.checking import ClaimChecker, ClaimReconciler
from ibi.claims.service.courier import Courier
from ibi.claims.service.delivery import NotificationDelivery
from ibi.claims.service.inbox import NotificationInbox
from ibi.claims.store import SqliteNotifications
from ibi.items.model.item import Item
from ibi.items.model.item_json import item_document, local_document
from ibi.items.opening.archive_store import open_store
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.items.service.relating import Relating
from ibi.people.model.account import COMMAND, Actor
from ibi.standard.errors import IbiError
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import State
from tests.support.deposit_samples import WHO, draft, sources
from tests.support.set_clocks import SetClocks

EVERY = tuple(RemoteClaimState)
NETWORK = "192.0.2.0/24"


class HostLabels:
    """Labels of one host, a minute apart."""

    def __init__(self, host: str) -> None:
        self._host, self._minutes = host, count()

    def reserve(self, key: str | None = None) -> LabelForms:
        minute = next(self._minutes)
        name = f"{self._host}/2026/11.{16 + minute // 1440:02}.{minute // 60 % 24:02}.{minute % 60:02}"
        return LabelForms(RepositoryName.parse(name))


class ClaimWorld:
    """All Archives, and what lies between them. `cut` are the names of those that cannot be reached."""

    def __init__(self, home: Path, opened: ExitStack) -> None:
        self._home, self._opened = home, opened
        self.archives: dict[str, ClaimArchive] = {}
        self.cut: set[str] = set()
        self.pages: dict[str, str] = {}
        self.posted: list[tuple[str, bytes]] = []
        self.clocks = SetClocks()

    def archive(self, name: str, **options: Any) -> ClaimArchive:
        store = self._opened.enter_context(open_store(self._home / name))
        notifications = self._opened.enter_context(closing(SqliteNotifications(self._home / name)))
        self.archives[name] = ClaimArchive(self, name, store, notifications, **options)
        return self.archives[name]

    async def run(self, *names: str, rounds: int = 4) -> None:
        """Let the couriers of these Archives, or of all, do what is due, and again what follows from it."""
        for _ in range(rounds):
            for name in names or tuple(self.archives):
                await self.archives[name].courier.step()

    # --- the gateway of every Archive ---

    async def find_item(self, label: Label) -> FoundItem | Unreached:
        for name, archive in self.archives.items():
            item = archive.store.catalog.find(label)
            if item is not None and item.state is not State.COPY and name not in self.cut:
                return self._found(archive, item)
        return Unreached("it could not be reached")

    def _found(self, archive: ClaimArchive, item: Item) -> FoundItem:
        record = archive.record(item)
        return FoundItem(archive.page(item), archive.inbox_url, record, is_deleted=item.state is State.DELETED)

    async def read_page(self, url: str) -> str | Unreached:
        return self.pages.get(url) or Unreached("it could not be reached")

    async def deliver(self, inbox: str, body: bytes) -> Unreached | None:
        self.posted.append((inbox, body))
        name = next((name for name, each in self.archives.items() if each.inbox_url == inbox), None)
        if name is None or name in self.cut:
            return Unreached("it could not be reached")
        try:
            self.archives[name].inbox.receive(body, NETWORK)
        except IbiError as error:
            return Unreached(f"refused: {error.code}", is_final=True)
        return None


class ClaimArchive:
    def __init__(
        self,
        world: ClaimWorld,
        name: str,
        store: ArchiveStore,
        notifications: SqliteNotifications,
        *,
        has_inbox: bool = True,
        host: str | None = None,
        sandbox: bool = False,
    ) -> None:
        self.name, self.store, self.notifications, self._clocks = name, store, notifications, world.clocks
        self.url = f"https://{name}.example"
        self.inbox_url = f"{self.url}/inbox" if has_inbox else None
        self.labels = HostLabels(host or f"{name}.br/arq")
        self.context = claim_context(notifications, store, world.clocks, None, sandbox=sandbox)
        self.inbox = NotificationInbox(self.context)
        assert store.changes is not None
        checker = ClaimChecker(self.context, world, self.persistent_url, self.page)
        sender = Sender(self.url, f"{self.url}/inbox", name.upper())
        delivery = NotificationDelivery(self.context, world, checker, sender, self.persistent_url)
        watch = ClaimReconciler(self.context, store.changes)
        self.courier = Courier(self.context, watch, checker, delivery, store.catalog.version)

    def persistent_url(self, forms: LabelForms) -> str:
        return f"http://urlib.net/{forms.labels[0].spelling}"

    def page(self, item: Item) -> str:
        return f"{self.url}/col/{item.rep.spelling}/metadata"

    def record(self, item: Item) -> bytes:
        return msgspec.json.encode({**item_document(item), **local_document(item)})

    def deposits(self, who: Actor = COMMAND) -> Deposits:
        return Deposits(self.store, self.labels, self._clocks, actor=who)

    def relating(self) -> Relating:
        return Relating(self.store, self.deposits())

    def claims(self, who: Actor = COMMAND) -> RemoteClaims:
        return RemoteClaims(self.context, self.deposits(who))

    def put(self, who: Actor = COMMAND, **said: Any) -> Item:
        given = sources(a=b"content")
        return self.deposits(who).deposit(draft(*given, **said), given, WHO, owner=who.account)

    def now(self, item: Item) -> Item:
        return self.store.find(item.rep)

    def received(self, *states: RemoteClaimState) -> list[ReceivedClaim]:
        return [claim for claim, _ in self.claims().received(states or EVERY)]

    def sent(self) -> list[SentClaim]:
        return [claim for claim, _ in self.claims().sent(EVERY)]

    def states(self) -> tuple[list[str], list[str]]:
        """What has become of the claims received, and of those sent."""
        return [each.state.value for each in self.received()], [each.state.value for each in self.sent()]


@contextmanager
def claim_world(home: Path) -> Iterator[ClaimWorld]:
    with ExitStack() as opened:
        yield ClaimWorld(home, opened)
