"""Archives on real stores in one process, between which Originals move; what goes between them is called, not sent.

`cut` makes the line between two of them fail: before a request has come, or after.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ibi.copies.model import ItemObjectRecord
from ibi.copies.ports import FoundObject, ItemSource, SourceGone
from ibi.copies.rules.copies import CopyRules
from ibi.copies.service.copying import Copying
from ibi.copies.service.giving import ObjectGiving
from ibi.copies.service.judging import owed_by_release
from ibi.copies.store.copy_parts import CopyParts
from ibi.items.model.file import File
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store
from ibi.items.rules.provenance import Chain
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State
from ibi.storage.machine import MachineClocks
from ibi.transfers.model import IncomingTransfer, SenderStage
from ibi.transfers.ports import NoTransferService, PeerRefused, PeerSilent, TokenRefused
from ibi.transfers.resources import TransferResource
from ibi.transfers.rules.standing import KnownArchives, SenderStanding
from ibi.transfers.rules.transfer_messages import reply_document
from ibi.transfers.service.comparison import ChainComparison
from ibi.transfers.service.item_chains import ItemChains
from ibi.transfers.service.receiving import Receiving
from ibi.transfers.service.release_register import ReleaseNotBelieved, ReleaseRegister
from ibi.transfers.service.senders import Senders
from ibi.transfers.service.sending import Sending
from ibi.transfers.service.worker import Tracking, TransferWorker
from ibi.transfers.store.transfers import SqliteTransferLedger
from tests.support.memory.keys import MemoryKeyStore

RESOLVER = "http://resolver.example"
T = TypeVar("T")
OnStep = Callable[[str], None]


def _pass(_: str) -> None:
    """Default: steps are not watched."""


class TransferNetwork:
    """The lines between Archives: the port `TransferPeers` for each of them."""

    def __init__(self) -> None:
        self.archives: dict[str, TransferArchive] = {}
        self.cut: set[str] = set()
        """Servers that do not answer."""
        self.off: set[str] = set()
        """Archives that were switched off, as the resolver knows: they do not answer."""
        self.unlisted: set[str] = set()
        """Archives that the resolver does not list."""
        self.strangers: set[str] = set()
        """Servers that know no transfers."""
        self.losses: set[int] = set()
        """Numbers of messages whose answers are lost."""
        self.messages = 0
        self.told: dict[str, tuple[str, ...]] = {}
        """What the resolver was told, by repository name."""
        self.disbelieved: set[str] = set()
        """Of which items it believes no release."""
        self.register: ReleaseRegister | None = None
        """What the resolver believes, where it is more than what it was told."""
        self.resolver_key: PublicKey | None = None
        self.registered: KnownArchives | None = None
        """The register that Archives have of the resolver; None if they have none."""
        self.resolver_at = RESOLVER
        """The address of the resolver."""
        self.run = "first"
        """The run of the resolver."""
        self.leads_to = ""
        """The Archive at which the resolver finds the Original."""
        self.settled: dict[str, frozenset[Label]] = {}
        """Who has the Original of an item by the disputes that were settled."""

    def read(self) -> KnownArchives | None:
        """The port `RegisterLookup`."""
        return self.registered

    renew = read

    def send_offer(self, url: str, offer: str, token: str | None = None) -> dict[str, object]:
        if url in self.strangers:
            raise NoTransferService(peer=url, detail="HTTP status 404.")
        if token == "unknown":
            raise TokenRefused(peer=url, detail="no such token")
        reply = self._reach(url, lambda other: other.receiving.take_offer(offer, agreed=token == "agreed"))
        return reply_document(reply)

    def chain(self, url: str, label: Label) -> tuple[str, ...]:
        def chain_of(other: TransferArchive) -> tuple[str, ...]:
            texts = other.chains.chain(label).texts
            return texts or (other.ledger.chain(label) if isinstance(label, RepositoryName) else ())

        return self._reach(url, chain_of)

    def releases(self, url: str, service: Label) -> Iterator[tuple[str, tuple[str, ...]]]:
        if url == self.resolver_at:
            self._check(url)
            yield from self.told.items()
            if self.register is not None:
                yield from self.register.of_service(service, "", 100)
            return
        other = self._reach(url, lambda other: other)
        for rep, texts in other.ledger.chains_of(service):
            yield str(rep), texts

    def run_of(self, url: str, _service: Label) -> str:
        self._check(url)
        return self.run

    def tell(self, url: str, chain: tuple[str, ...]) -> None:
        from ibi.items.rules.provenance import check_chain

        self._check(url)
        first = check_chain(chain, lambda *_: True).first_release
        assert first is not None
        if str(first.labels.rep) in self.disbelieved:
            raise PeerRefused(peer=url, detail="it is not believed")
        if self.register is not None:
            self.register.hear(chain)
        self.told[str(first.labels.rep)] = chain

    def ask_for_lost(self, url: str, acceptance: str, chain: tuple[str, ...]) -> tuple[str, ...]:
        self._check(url)
        assert self.register is not None
        try:
            return self.register.give_lost(acceptance, chain)
        except ReleaseNotBelieved as error:
            raise PeerRefused(peer=url, detail=str(error)) from error

    def settled_holders(self, url: str, label: Label) -> frozenset[Label]:
        self._check(url)
        return self.settled.get(str(label), frozenset())

    def archives_of(self) -> dict[Label, str]:
        return {label: url for url, each in self.archives.items() for label in each.service.labels}

    def _check(self, url: str) -> None:
        if url in self.cut | self.off or (url != self.resolver_at and url not in self.archives):
            raise PeerSilent(peer=url, reason="the line is cut")

    def _reach(self, url: str, ask: Callable[[TransferArchive], T]) -> T:
        self._check(url)
        answer = ask(self.archives[url])
        self.messages += 1
        if self.messages in self.losses:
            raise PeerSilent(peer=url, reason="the answer was lost")
        return answer


class TransferArchive:
    """One Archive on a data directory, with a key that follows from its name."""

    def __init__(
        self,
        network: TransferNetwork,
        name: str,
        folder: Path,
        opened: ExitStack,
        *,
        on_step: OnStep = _pass,
        resolver: str | None = None,
        is_new: bool = True,
        lost: bool = False,
        resolver_keys: tuple[PublicKey, ...] = (),
        resolves: bool = False,
    ) -> None:
        """With `resolves`, the resolver is this server itself, on whose register all others of the network are."""
        self.resolver_keys = resolver_keys
        self.network, self.url = network, f"http://{name}.example"
        self.service = LabelForms(RepositoryName.parse(f"{name}.example/ibi/2020/01.01.00.00"))
        self.keys = MemoryKeyStore(sha256(name.encode()).digest())
        self.data = folder / name
        self.store = opened.enter_context(open_store(self.data, on_step=on_step))
        self.ledger = SqliteTransferLedger(self.data, folder / "locks")
        opened.callback(self.ledger.close)
        clocks, peers = MachineClocks(), _Peers(network)
        if resolves:
            resolver = self.url
            network.resolver_at = self.url
        self.tracking = Tracking(
            self.ledger, peers, url=self.url, resolver=resolver, is_alone=lambda: set(network.archives) <= {self.url}
        )
        self.tracking.begin(is_new=is_new, lost=lost)
        self.chains = ItemChains(
            self.store,
            self.service,
            self.keys,
            clocks,
            keep_track=self.tracking.keep_track,
            in_doubt=lambda: self.tracking.in_doubt,
            resolver_keys=lambda: self.resolver_keys,
            remember=lambda rep, chain: self.comparison.remember(rep, chain),
        )
        self.comparison = ChainComparison(
            self.chains,
            self.ledger,
            peers,
            self,
            url=self.url,
            resolver=resolver,
            unheard=lambda: self.tracking.unheard,
            now=lambda: self.now,
        )
        self.tracking.comparison = self.comparison
        self.now = float(clocks.seconds())
        self.sending = Sending(self.chains, self.ledger, peers, clocks, url=self.url, on_step=on_step)
        self.receiving = Receiving(
            self.chains,
            self.ledger,
            peers,
            self,
            clocks,
            url=self.url,
            is_key_of=network_keys(network),
            senders=Senders(network),
            on_step=on_step,
            hear_released=self.comparison.note,
        )
        self.worker = TransferWorker(
            self.chains,
            self.ledger,
            self.sending,
            self.receiving,
            self.tracking,
            peers,
            resolver=resolver,
            now=lambda: self.now,
        )
        self._copying = Copying(
            self.store,
            _Sources(network),
            CopyParts(self.data),
            clocks,
            CopyRules(),
            find_source=lambda _label: network.leads_to,
            is_owed=owed_by_release(self.service, lambda: (self.keys.signing_key().public,)),
        )
        network.archives[self.url] = self

    def item(self, label: Label) -> Item | None:
        return self.store.catalog.find(label)

    def state(self, label: Label) -> State | None:
        item = self.item(label)
        return None if item is None else item.state

    def find_original(self, label: Label, token: str | None = None) -> tuple[str, ItemObjectRecord]:
        """By the resolver, which leads to the Archive of this name."""
        return self._copying.find_original(label, token)

    def bring(self, label: Label, source: str | None = None, token: str | None = None) -> object:
        """The port `BringsCopies`."""
        return self._copying.bring(label, source, token)

    def bring_released(self, label: Label, source: str, chain: Chain) -> object:
        return self._copying.bring_released(label, source, chain)

    def repair(self, seconds: float = 120.0) -> None:
        """Have the comparison look at all that is open, once."""
        self.now += seconds
        while self.comparison.step() < 1:
            pass


class _Sources:
    """The port `ItemSources`: the other Archives of the network."""

    def __init__(self, network: TransferNetwork) -> None:
        self._network = network

    @contextmanager
    def open(self, url: str, token: str | None) -> Iterator[ItemSource]:
        yield _Source(self._network, url)


class _Source:
    is_on_loopback = True

    def __init__(self, network: TransferNetwork, url: str) -> None:
        self._network, self.url = network, url

    def read_object(self, label: Label) -> ItemObjectRecord:
        try:
            self._network._check(self.url)
        except PeerSilent as error:
            raise SourceGone(label=str(label), source=self.url) from error
        other = self._network.archives[self.url]
        giving = ObjectGiving(other.store.catalog, other.store.content, other.service)
        return giving.read(label, lambda _: None, room=1 << 20)  # with the contents of its files

    def read_objects(self, labels: Sequence[Label]) -> Iterator[FoundObject]:
        raise NotImplementedError

    def read_file(self, label: Label, file: File, offset: int) -> Iterator[bytes | memoryview]:
        raise NotImplementedError

    def close(self) -> None: ...


class _Peers:
    """What an Archive asks of the network; a resolver knows all Archives."""

    def __init__(self, network: TransferNetwork) -> None:
        self._network = network
        self.send_offer, self.chain, self.releases, self.tell, self.ask_for_lost = (
            network.send_offer,
            network.chain,
            network.releases,
            network.tell,
            network.ask_for_lost,
        )
        self.settled_holders, self.run_of = network.settled_holders, network.run_of

    def archives(self, url: str) -> dict[Label, str]:
        self._network._check(url)
        return {label: place for label, place in self._list().items() if place not in self._network.off}

    def away(self, url: str) -> dict[Label, str]:
        self._network._check(url)
        return {label: place for label, place in self._list().items() if place in self._network.off}

    def _list(self) -> dict[Label, str]:
        return {label: url for label, url in self._network.archives_of().items() if url not in self._network.unlisted}


def network_keys(network: TransferNetwork) -> Callable[[Label, PublicKey], bool]:
    def is_key_of(who: Label, key: PublicKey) -> bool:
        if who == resolver_service():
            return key == network.resolver_key
        return any(
            who in each.service.labels and key == each.keys.signing_key().public for each in network.archives.values()
        )

    return is_key_of


@contextmanager
def two_archives(folder: Path, resolver: str | None = None) -> Iterator[tuple[TransferArchive, TransferArchive]]:
    """Two Archives on one network; those that were there before are opened again."""
    network = TransferNetwork()
    with ExitStack() as opened:
        yield (
            TransferArchive(network, "a", folder, opened, resolver=resolver, is_new=not (folder / "a").exists()),
            TransferArchive(network, "b", folder, opened, resolver=resolver, is_new=not (folder / "b").exists()),
        )


def give(a: TransferArchive, b: TransferArchive, item: Item) -> SenderStage:
    """Give the Original of an item from one to the other, which agrees; how far that comes."""
    a.sending.begin(item, b.url, "agreed")
    for _ in range(3):
        b.receiving.go_on(item.rep)
        a.sending.go_on(item.rep)
    kept = a.ledger.outgoing(item.rep)
    assert kept is not None
    return kept.stage


def put_back(folder: Path, name: str) -> None:
    """Put the directory of an Archive back from `backup-<name>`, in place: the directory itself is the same."""
    for each in (folder / name).iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    shutil.copytree(folder / f"backup-{name}", folder / name, dirs_exist_ok=True)


def incoming_document(kept: IncomingTransfer, standing: SenderStanding) -> dict[str, Any]:
    """Return a transfer from another Archive as the API tells it."""
    told: dict[str, Any] = msgspec.to_builtins(TransferResource.of_incoming(kept, standing))
    return told
