"""The chain of an item in its object, and the two changes that a transfer makes there.

Each change is one version of the object. A release comes with the `local.json` of a Copy, and a countersignature with
the `local.json` of an Original. A crash leaves one version or the other, and nothing in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice, takewhile

from ibi.items.model.content import Bytes, Change, Keep, KeptObject, Source
from ibi.items.model.item import Item
from ibi.items.model.item_json import encode_local
from ibi.items.ports.archive_store import ContentDamaged, ContentMissing
from ibi.items.rules import life_cycle
from ibi.items.rules.provenance import (
    Chain,
    ChainOrder,
    Release,
    check_chain,
    compare_chains,
    countersign,
    decode_link,
    encode_link,
    link_path,
    link_paths,
    manifest_digest,
    sign_release,
)
from ibi.items.rules.related_items import find_labelled
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import LOCAL, ItemTransferred, StoredItem, name_of
from ibi.membership.ports.archive_state import KeyStore
from ibi.people.model.account import AuditEntry
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import Origin
from ibi.standard.signing import PublicKey
from ibi.standard.vocabulary import State
from ibi.transfers.rules.doubt import Here
from ibi.transfers.rules.transfer import KeepRelease, TakeOver


def _trust_all(_who: Label, _key: object) -> bool:
    """Return True. For an Original, the owners of the keys were judged when it was taken over. For a Copy, the chain
    comes from its source, and only the parts that this Archive signed have consequences."""
    return True


def _last_given(chain: Chain, service: LabelForms) -> Label | None:
    """Return the Archive to which this Archive last gave the Original; None if it never gave it away."""
    releases = [link.said for link in chain.links if isinstance(link.said, Release)]
    return next((each.to for each in reversed(releases) if each.giver in service.labels), None)


def has_yielded(item: Item, kept: KeptObject) -> bool:
    """Return whether the Original was yielded in a dispute (E98). Then the object records that, and there is no
    release."""
    if item.transferred_to is None or item.state is not State.COPY:
        return False
    return any(version.change.message == yield_message(item.transferred_to) for version in kept.versions)


def yield_message(to: Label) -> str:
    """Return the message of a version in which an Original became a Copy because of a settled dispute."""
    return f"Yielded to {to}"


class ItemChains:
    """The chains of the items of one Archive. Calls block, from any thread."""

    def __init__(
        self,
        repository: ItemRepository,
        service: LabelForms,
        keys: KeyStore,
        clocks: Clocks,
        *,
        keep_track: Callable[[], None],
        in_doubt: Callable[[], bool],
        resolver_keys: Callable[[], tuple[PublicKey, ...]] = lambda: (),
        remember: Callable[[RepositoryName, Chain], None] = lambda _rep, _chain: None,
    ) -> None:
        """`service` is the Archive's own item. `keep_track` is called before an Original is given away or taken over.
        `in_doubt` returns whether the directory may have been restored from a backup. `resolver_keys` returns the known
        key of the resolver, and its earlier keys. `remember` is called with the chain of each object that changed."""
        self._remember = remember
        self.repository, self.service, self.keys = repository, service, keys
        self._clocks, self._keep_track, self._in_doubt = clocks, keep_track, in_doubt
        self._resolver_keys = resolver_keys

    def here(self, label: Label) -> Here:
        """Return the state of an item in this Archive."""
        public = (self.keys.signing_key().public, *self.keys.former())
        nothing = Here(self.service, public, resolver_keys=self._resolver_keys(), in_doubt=self._in_doubt())
        item = find_labelled(self.repository.catalog, label)
        if item is None:
            return nothing
        try:
            return self._read(nothing, name_of(item))
        except (ContentMissing, ItemTransferred):
            return nothing

    def _read(self, nothing: Here, name: str) -> Here:
        item, files = self.repository.read(name).item, self.repository.content.read(name).head.files
        return replace(
            nothing,
            state=item.state,
            manifest=manifest_digest(files),
            chain=self._chain_of(item),
            transferable=item.transferable,
        )

    def chain(self, label: Label) -> Chain:
        """Return the chain of an item; empty if the item never moved, or is not here."""
        item = find_labelled(self.repository.catalog, label)
        return Chain() if item is None else self._chain_of(item)

    def has_yielded(self, label: Label) -> bool:
        """Return whether the item is a Copy because a dispute was settled for another Archive (E98)."""
        item = find_labelled(self.repository.catalog, label)
        return item is not None and has_yielded(item, self.repository.content.read(name_of(item)))

    def moved(self, after: RepositoryName | None, most: int) -> tuple[list[tuple[Item, Chain]], RepositoryName | None]:
        """Look at the next `most` items after a name. Return those with a chain, and the name for the next call or None
        at the end. Unreadable items are left out."""
        found: list[tuple[Item, Chain]] = []
        items = list(islice(self.repository.catalog.items(after), most))
        for item in items:
            with suppress(ContentDamaged, ContentMissing, ItemTransferred):
                if (chain := self._chain(name_of(item))).links:
                    found.append((item, chain))
        return found, items[-1].rep if len(items) == most else None

    def tell(self, label: Label) -> tuple[Chain, str | None]:
        """Return the chain to tell other Archives. If the stored chain is damaged, return an empty chain and the
        reason. A process may have died between storing and listing a release: then the release is listed first. The
        Archive that hears of a release takes the Original over, so this Archive must no longer call the item
        Original."""
        item = find_labelled(self.repository.catalog, label)
        try:
            chain = Chain() if item is None else self._chain(name_of(item))
            if item is not None and item.state is State.ORIGINAL and chain.is_under_way:
                self.repository.finish(name_of(item))
            return chain, None
        except ContentDamaged as error:
            return Chain(), str(error)

    def _chain_of(self, item: Item) -> Chain:
        try:
            return self._chain(name_of(item))
        except ContentDamaged:
            if item.state is not State.COPY:
                raise
            return Chain()  # the chain of the Original will replace it

    def _chain(self, name: str) -> Chain:
        head = self.repository.content.read(name).head
        try:
            texts = [self._link(name, path, head.number) for path in link_paths(head.files)]
            return check_chain(texts, _trust_all)
        except InvalidInput as error:
            raise ContentDamaged(name=name, problem="provenance", reason=str(error)) from error

    def _link(self, name: str, path: str, version: int) -> str:
        with self.repository.open_record(name, path, version) as record:
            return decode_link(record.read_all())

    def keep_release(self, label: Label, step: KeepRelease, who: str, is_wanted: Callable[[], bool]) -> bool:
        """Store the release, and turn the item into a Copy. Return False if the item has changed since the decision, or
        the transfer is no longer wanted."""

        def release(before: StoredItem, here: Here) -> tuple[Item, Chain, str] | None:
            if not here.is_original or (here.chain.texts, here.manifest) != (step.chain.texts, step.manifest):
                return None
            if not is_wanted():
                return None
            now = self._now()
            transfer = life_cycle.send_away(before.item, step.to, now, service=self.service)
            giver, key = self.service.labels[0], self.keys.signing_key()
            at = max(now, here.chain.last_release.at) if here.chain.last_release else now
            labels = before.item.labels
            chain = sign_release(
                here.chain, labels, giver, step.to, step.to_key, step.manifest, at, key, acceptance=step.acceptance
            )
            return life_cycle.keep_copy(before.item, transfer, None), chain, f"Released to {step.to}"

        return self._change(label, who, "release", release)

    def take_over(self, label: Label, step: TakeOver, who: str) -> bool:
        """Countersign, and turn the Copy into the Original. Return False if the Copy has changed since the decision."""

        def take(before: StoredItem, here: Here) -> tuple[Item, Chain, str] | None:
            if here.state is not State.COPY or here.manifest != step.manifest:
                return None
            order = compare_chains(here.chain.texts[: len(step.chain.links)], step.chain.texts)
            if order is not ChainOrder.NEWER and not (order is ChainOrder.SAME and here.is_owed):
                return None
            release = step.chain.last_release
            assert release is not None  # an item is taken over only after a release
            chain = countersign(step.chain, self.keys.signing_key()) if step.chain.is_under_way else step.chain
            return life_cycle.become_original(before.item), chain, f"Taken over from {release.giver}"

        return self._change(label, who, "take over", take)

    def keep_chain(self, label: Label, chain: Chain, who: str) -> bool:
        """Store a chain from other Archives if it continues the chain here, and give the item the state that follows
        from it.

        An Original becomes a Copy. A Copy becomes the Original only if it has the bytes of the last release. Otherwise
        the comparison fetches these bytes.
        """

        def adopt(before: StoredItem, here: Here) -> tuple[Item, Chain, str] | None:
            release = chain.last_release
            if release is None or compare_chains(here.chain.texts, chain.texts) is not ChainOrder.NEWER:
                return None
            message = f"Learned that it was given to {release.to}"
            if before.item.state is State.ORIGINAL:
                # Even if the Original came back since: the bytes here are older.
                last = _last_given(chain, self.service) or release.to
                item = replace(before.item, custody=replace(before.item.custody, transferable=True))
                transfer = life_cycle.send_away(item, last, self._now())
                return life_cycle.keep_copy(before.item, transfer, None), chain, message
            if before.item.state is not State.COPY:
                return before.item, chain, message
            if release.to not in self.service.labels:
                custody = replace(before.item.custody, transferred_to=release.to)
                return replace(before.item, custody=custody), chain, message
            is_ours = not chain.is_under_way and here.manifest == release.manifest and not here.in_doubt
            return life_cycle.become_original(before.item) if is_ours else before.item, chain, message

        return self._change(label, who, "learn release", adopt, even_in_doubt=True)

    def yield_to(self, label: Label, to: Label, source: str, theirs: Chain, who: str) -> bool:
        """Turn the item into a Copy of the Original at `source`, with the chain `theirs`: a dispute was settled for
        that Archive (E98). Links that contradict the chain are dropped. Return False if this Archive no longer has the
        Original."""

        def give_up(before: StoredItem, here: Here) -> tuple[Item, Chain, str] | None:
            if not here.is_original:
                return None
            shared = zip(here.chain.links, theirs.texts, strict=False)
            links = tuple(takewhile(lambda pair: pair[0].text == pair[1], shared))
            after = life_cycle.yield_to(before.item, to, Origin.of_url(source), service=self.service)
            return after, Chain(tuple(link for link, _ in links)), yield_message(to)

        return self._change(label, who, "yield", give_up, even_in_doubt=True)

    def _change(
        self,
        label: Label,
        who: str,
        act: str,
        make: Callable[[StoredItem, Here], tuple[Item, Chain, str] | None],
        *,
        even_in_doubt: bool = False,
    ) -> bool:
        item = find_labelled(self.repository.catalog, label)
        if item is None:
            return False
        name = name_of(item)
        self.repository.require_whole(name)
        if not self._in_doubt():
            self._keep_track()
            self.repository.step("track kept")
        with self.repository.changing(name), self.repository.locks.hold(name):
            here = self.here(label)
            if here.state is None or (here.in_doubt and not even_in_doubt):
                return False
            before = self.repository.read(name)
            made = make(before, here)
            if made is None:
                return False
            after, chain, message = made
            links = chain.links[len(here.chain.links) :]
            others = {link_path(link.said.number): encode_link(link) for link in links}
            self._keep(after, others, len(chain.links), Change(who, message, self._now()), before.head)
            self.repository.note(AuditEntry(self._now(), act, name, detail=message))
            self._remember(item.rep, chain)
        return True

    def _keep(self, item: Item, others: Mapping[str, bytes], links: int, change: Change, head: int) -> None:
        """Store a version with a new `local.json` and these new files. All other files stay byte for byte, except links
        that are not in the chain."""
        name, repository = name_of(item), self.repository
        files: dict[str, Source] = {path: Keep(path) for path in repository.content.read(name).head.files}
        chain = {link_path(number) for number in range(1, links + 1)}
        for path in {path for path in link_paths(files) if path not in chain}:
            del files[path]
        files |= {path: Bytes(content) for path, content in others.items()}
        kept = repository.content.update(name, {**files, LOCAL: Bytes(encode_local(item))}, change, head=head)
        repository.step("content kept")
        repository.list(StoredItem(item, kept.head.number, kept.head.change.at))

    def _now(self) -> Instant:
        return Instant(self._clocks.read().wall.seconds)
