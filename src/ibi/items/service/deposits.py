"""Changes of items: deposit, update, delete, relate. The rules are those of `ibi.archive`.

Order of a deposit: labels, content, catalogue, then the items that the new one names (see `stored_item`). Once a call
has returned, all of it is on the disk. If it raises, nothing has changed; only `ChangeUnfinished` says otherwise. A
change that a crash leaves half done is finished or removed when the store is opened next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import quote

from ibi.items.model.content import Change, Source, TakenFile
from ibi.items.model.item import Draft, Item
from ibi.items.model.metadata import check_dates
from ibi.items.model.visibility import Visibility
from ibi.items.ports.archive_store import ContentChanged, ContentExists, OnBytes
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import LEGACY_UNKNOWN, AlternateTaken, KeyReused
from ibi.items.rules.life_cycle import Updated
from ibi.items.rules.related_items import find_forms, find_labelled
from ibi.items.rules.rights import Belonging, ItemAct, may, require_right
from ibi.items.service import item_repository as kept_items
from ibi.items.service.deposit_parts import DepositedFiles, NameCheck, giving_names, require_same
from ibi.items.service.item_repository import ItemRepository, PendingItem
from ibi.items.service.stored_item import check_backlinks, items_claimed, name_of, named_by
from ibi.minting.ports import LabelBatchMinter, LabelMinter
from ibi.people.model.account import COMMAND, Actor, AuditEntry, shown_account
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError, InvalidLabel, InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.values import mail_address, url
from ibi.standard.vocabulary import State

STEPS: Final = ("labels reserved", *kept_items.STEPS)
"""The steps at which tests try a crash."""

_ANY: Final = LabelForms(RepositoryName.parse("example.invalid/rehearsal/1970/01.01.00.00"))
"""Stand-in for the labels of a deposit while it is checked, so that a refused deposit spends no labels."""


class NewItem(NamedTuple):
    """An item to be deposited with others."""

    draft: Draft
    sources: Mapping[str, Source]
    key: str | None = None


class Deposits:
    """Changes to the items of one Archive. Calls block, from any thread."""

    def __init__(
        self,
        kept: ItemRepository,
        labels: LabelMinter,
        clocks: Clocks,
        *,
        service: LabelForms | None = None,
        actor: Actor = COMMAND,
        depositor: Actor | None = None,
    ) -> None:
        """`service` is the Archive's own item, which cannot be deleted. Acts beyond the rights of `actor` raise
        `NotYourItem` or `NotAllowed`. If the actor publishes for another account, `depositor` is that account, and its
        rights decide about the claims of new items."""
        self._kept, self._catalog = kept, kept.catalog
        self._labels, self._clocks, self._service = labels, clocks, service
        self._actor, self._depositor = actor, depositor or actor

    def may(self, act: ItemAct, item: Item) -> bool:
        """Return whether the actor may do this act with the item."""
        return may(self._actor, act, Belonging.of(item, self._service, self._now()))

    def holds_at_once(self, held: Item) -> bool:
        """Return whether a claim of a new item on `held` holds at once, without an answer to wait for."""
        return may(self._depositor, ItemAct.ANSWER, Belonging.of(held, self._service, self._now()))

    def require(self, act: ItemAct, item: Item) -> None:
        require_right(self._actor, act, Belonging.of(item, self._service, self._now()))

    def require_update(
        self,
        item: Item,
        visibility: Visibility,
        wanted_by: str | None = None,
        *,
        shown_before: Visibility | None = None,
    ) -> None:
        """Refuse an update with this visibility if it goes beyond the actor's rights. Only the owner may show more of
        an item; `wanted_by` may name that account. `shown_before` replaces the item's present visibility, for content
        that had another visibility."""
        self.require(ItemAct.UPDATE, item)
        is_owners_wish = wanted_by is not None and wanted_by == item.owner
        if visibility.shows_more_than(shown_before or item.visibility, self._now()) and not is_owners_wish:
            self.require(ItemAct.OPEN, item)

    def check(self, draft: Draft) -> None:
        """Refuse a new item that could not be deposited. The check spends no labels and reads no files."""
        self._check_publishable(self._with_all_forms(draft))

    def deposit(
        self,
        draft: Draft,
        sources: Mapping[str, Source],
        who: str,
        message: str = "Deposited",
        *,
        key: str | None = None,
        transferable: bool = True,
        owner: str | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Item:
        """Deposit `draft`, and return the new item. It belongs to the account `owner`, or else to the Archive.

        `sources` are its files by their paths below `doc/`. From the draft's own list of files, only the media types
        are used. A repeated call with the same `key` returns the first item. It raises `KeyReused` if the first item
        was deposited with other content.
        """
        draft, change = self._with_all_forms(draft), self._change(who, message)
        files = DepositedFiles(draft, sources)
        checked = self._check_publishable(files.expected_draft())
        labels = self._labels.reserve(key)
        self._kept.step("labels reserved")
        if key is not None and (known := find_forms(self._catalog, labels)) is not None:
            return _return_earlier(self._kept, known, checked, files)
        if not transferable or owner is not None:
            checked = replace(checked, custody=replace(checked.custody, transferable=transferable), owner=owner)
        try:
            with giving_names(self._kept, draft.alternates) as names:
                names.allow(draft.alternates, labels)
                if files.are_at_hand and not named_by(draft):
                    return self._add(checked, labels, files, change, on_bytes)
                return self._read_in(checked, labels, files, change, on_bytes)
        except ContentExists:
            if key is None:
                raise
            return _return_earlier(self._kept, self._kept.read(name_of(_rep(labels))).item, checked, files)

    def find_deposited(self, labels: LabelForms, draft: Draft, sources: Mapping[str, Source]) -> Item | None:
        """Return the item under labels that were reserved with a key, if there is one. This is for refused deposits: an
        earlier item of the same key may be the reason for the refusal. Raise `KeyReused` if the earlier item was
        deposited with other content."""
        known = find_forms(self._catalog, labels)
        if known is None:
            return None
        files = DepositedFiles(self._with_all_forms(draft), sources)
        return _return_earlier(self._kept, known, life_cycle.publish(files.expected_draft(), _ANY, self._now()), files)

    def deposit_all(
        self,
        wanted: Sequence[NewItem],
        labels: LabelBatchMinter,
        who: str,
        message: str = "Deposited",
        *,
        owner: str | None = None,
    ) -> list[Item | IbiError]:
        """Deposit items. Return for each the item, as `deposit` does, or the error that refused it. Items are stored
        together if they name no other item and are quick to read."""
        change, outcomes = self._change(who, message), dict[int, Item | IbiError]()
        together: dict[int, tuple[Item, DepositedFiles, str | None]] = {}
        for number, new in enumerate(wanted):
            files = DepositedFiles(new.draft, new.sources)
            try:
                if named_by(new.draft) or not files.are_at_hand:
                    outcomes[number] = self.deposit(new.draft, new.sources, who, message, key=new.key, owner=owner)
                else:
                    checked = replace(self._check_publishable(files.expected_draft()), owner=owner)
                    together[number] = checked, files, new.key
            except IbiError as error:
                outcomes[number] = error
        outcomes |= self._add_each(together, labels, change)
        return [outcomes[number] for number in range(len(wanted))]

    def _add_each(
        self, wanted: Mapping[int, tuple[Item, DepositedFiles, str | None]], labels: LabelBatchMinter, change: Change
    ) -> dict[int, Item | IbiError]:
        """Store checked new items. Return the results by their numbers."""
        outcomes: dict[int, Item | IbiError] = {}
        pending: dict[int, PendingItem] = {}
        reserved = labels.reserve_all([key for _, _, key in wanted.values()]) if wanted else ()
        self._kept.step("labels reserved")
        with giving_names(
            self._kept, [name for checked, _, _ in wanted.values() for name in checked.alternates]
        ) as names:
            for (number, new), forms in zip(wanted.items(), reserved, strict=True):
                prepared = self._prepare(new, forms, names, change)
                if isinstance(prepared, PendingItem):
                    pending[number] = prepared
                else:
                    outcomes[number] = prepared
            added = self._kept.add_all([*pending.values()]) if pending else ()
        for (number, stored), made in zip(pending.items(), added, strict=True):
            checked, files, key = wanted[number]
            if isinstance(made, ContentExists) and key is not None:
                try:
                    outcomes[number] = _return_earlier(self._kept, self._kept.read(stored.name).item, checked, files)
                except KeyReused as error:
                    outcomes[number] = error
            else:
                outcomes[number] = _as_refusal(made) if isinstance(made, Exception) else made
        return outcomes

    def _prepare(
        self,
        new: tuple[Item, DepositedFiles, str | None],
        forms: LabelForms | Exception,
        names: NameCheck,
        change: Change,
    ) -> PendingItem | Item | IbiError:
        """Return the item to store, or the item of an earlier deposit with the same key, or the refusal."""
        if isinstance(forms, Exception):
            return _as_refusal(forms)
        checked, files, key = new
        try:
            if key is not None and (known := find_forms(self._catalog, forms)) is not None:
                return _return_earlier(self._kept, known, checked, files)
            names.allow(checked.alternates, forms)
            return self._pending(checked, forms, files, change)
        except (AlternateTaken, KeyReused) as error:
            return error

    def _add(
        self, checked: Item, labels: LabelForms, files: DepositedFiles, change: Change, on_bytes: OnBytes | None
    ) -> Item:
        """Store a new item that names no other item, together with items that come at the same time."""
        item = self._kept.add(self._pending(checked, labels, files, change))
        if on_bytes is not None:
            on_bytes(sum(file.size for file in item.files))
        return item

    def _read_in(
        self, checked: Item, labels: LabelForms, files: DepositedFiles, change: Change, on_bytes: OnBytes | None
    ) -> Item:
        """Store a new item that makes claims on other items, or has files that are slow to read."""
        name, draft = name_of(_rep(labels)), files.expected_draft()
        held = tuple(name_of(each) for each in items_claimed(self._catalog, draft) if self.holds_at_once(each))

        def publish(taken: Mapping[str, TakenFile]) -> Item:
            now = self._now()
            return replace(checked, labels=labels, files=files.describe(taken), created=now, updated=now)

        with self._kept.changing(name, *held), self._alone_on(name, *held):
            if held:
                self._check_publishable(draft)  # another caller may have deposited an edition meanwhile
                for each in held:
                    self._kept.read(each)  # a damaged item could not record its half afterwards
            stored = self._kept.create(PendingItem(name, publish, files.stored, change), on_bytes)
            self._kept.list(stored)
            self._kept.answer_claims(stored.item, held, change)
            self._kept.note(
                self.entry("publish", name, change.message), *(self.entry("relate", each, name) for each in held)
            )
        return stored.item

    def update(
        self,
        label: Label,
        draft: Draft,
        sources: Mapping[str, Source],
        who: str,
        message: str = "Updated",
        *,
        head: int | None = None,
        on_bytes: OnBytes | None = None,
        wanted_by: str | None = None,
    ) -> Updated:
        """Replace the content of an item, and return the item. `Keep(path)` among the sources stands for a file that
        the item has. The warnings name files that lose their persistent path. Raise `ContentChanged` if the item was
        changed meanwhile, or since version `head` if the caller gives one. `wanted_by` is as in `require_update`."""
        name = name_of(self._kept.find(label))
        self._kept.require_changeable(name)
        before = self._kept.read(name)
        self.require_update(before.item, draft.visibility, wanted_by)
        if head is not None and before.head != head:
            raise ContentChanged(name=name, expected=head, found=before.head)
        files = DepositedFiles(draft, sources, {file.path: file for file in before.item.files})
        check_dates(draft.metadata, {date.value for date in before.item.metadata.date})
        expected = life_cycle.update(before.item, files.expected_draft(), self._now())

        def revise(taken: Mapping[str, TakenFile]) -> Item:
            now = max(self._now(), before.item.updated)
            return replace(expected.item, files=files.describe(taken), updated=now)

        added = set(draft.alternates) - set(before.item.alternates)
        with giving_names(self._kept, added) as names, self._kept.changing(name):
            names.allow(added, before.item.labels)
            new = PendingItem(name, revise, files.stored, self._change(who, message))
            stored = self._kept.revise(new, before.head, on_bytes)
            self._kept.settle(name)  # not simply listed: another caller may have changed it since
            self._kept.note(self.entry("update", name, message))
            if stored.item.visibility != before.item.visibility:
                self._kept.note(self.entry("visibility", name, _visibility_text(stored.item.visibility)))
        return replace(expected, item=stored.item)

    def delete(
        self,
        label: Label,
        reason: str,
        who: str,
        *,
        replaced_by: Label | None = None,
        purge: bool = False,
        check: Callable[[Item], None] = lambda _: None,
    ) -> Item:
        """Delete an item, and return the tombstone. With `purge`, remove earlier versions for good, even those of an
        item that was deleted before. `check` is called with the item under its lock, when nobody else can change it."""
        found = self._kept.find(label)
        self.require(ItemAct.PURGE if purge else ItemAct.DELETE, found)
        name = name_of(found)
        successor = None if replaced_by is None else self.forms(replaced_by)
        self._kept.require_changeable(name, even_damaged=purge)  # a purge also removes damaged items
        with self._kept.changing(name), self._kept.locks.hold(name):
            before = self._kept.read(name)
            item = before.item
            check(item)
            if item.state is not State.DELETED or not purge:
                item = life_cycle.delete(item, self._now(), reason, replaced_by=successor, service=self._service)
            if purge:
                item = life_cycle.purge(item)
                stored = self._kept.purge_to(item, self._change(who, f"Purged: {reason}"), before.head)
            else:
                stored = self._kept.annotate(item, self._change(who, f"Deleted: {reason}"), before.head)
            self._kept.list(stored)
            self._kept.note(self.entry("purge" if purge else "delete", name, reason))
        return item

    def give(self, label: Label, owner: str | None, who: str) -> Item:
        """Give the item to the account `owner`, or to the Archive. Return the item."""
        found = self._kept.find(label)
        self.require(ItemAct.GIVE, found)
        life_cycle.require(found, life_cycle.Act.UPDATE)
        message = f"Given to {shown_account(owner)}"
        return self.change({label: lambda item: replace(item, owner=owner)}, who, message, act="give")[label]

    def forms(self, label: Label) -> LabelForms:
        """Return both labels of an item here, or the known label of another item. Raise `InvalidLabel` for an unknown
        label from before 2008, which no relation can record."""
        item = find_labelled(self._catalog, label)
        if item is None and not label.is_dated:
            raise InvalidLabel(str(label), 0, LEGACY_UNKNOWN)
        return LabelForms.of(label) if item is None else item.labels

    def change(
        self, changes: Mapping[Label, Callable[[Item], Item]], who: str, message: str, *, act: str = "relate"
    ) -> dict[Label, Item]:
        """Change items, such as their relations, in this order: either all or none. Each function makes the new item
        from the present item. `act` is the name of the change in the audit log."""
        names = {label: name_of(self._kept.find(label)) for label in changes}
        for name in names.values():
            self._kept.require_changeable(name)
        change = self._change(who, message)
        with self._kept.changing(*names.values()), self._kept.locks.hold(*names.values()):
            for label, into in changes.items():
                into(self._kept.read(names[label]).item)  # so that a refusal comes before the first write
            changed = {label: self._kept.rewrite(names[label], into, change) for label, into in changes.items()}
            self._kept.note(*(self.entry(act, name, message) for name in names.values()))
            return changed

    def _with_all_forms(self, draft: Draft) -> Draft:
        """Return the draft with all known labels of each item that it names."""
        if not named_by(draft):
            return draft
        description = replace(
            draft.description,
            edition_of=self._all_forms(draft.edition_of),
            translation_of=self._all_forms(draft.translation_of),
            describes=self._all_forms(draft.describes),
        )
        return replace(draft, description=description)

    def _all_forms(self, forms: LabelForms | None) -> LabelForms | None:
        held = None if forms is None else find_forms(self._catalog, forms)
        return forms if held is None else held.labels

    def check_claims(self, draft: Draft) -> None:
        """Refuse a new item for its claims on other items, such as a second next edition, before any part of it is
        stored."""
        for held in items_claimed(self._catalog, draft):
            if self.holds_at_once(held):  # then this deposit changes `held`
                self._kept.require_changeable(name_of(held))
            else:
                self._kept.require_whole(name_of(held))
        check_backlinks(self._catalog, draft, _ANY)

    def _check_publishable(self, draft: Draft) -> Item:
        """Return the item without its labels. Refuse an item that could not be published before labels are spent or
        files are read."""
        self.check_claims(draft)
        check_dates(draft.metadata)
        return life_cycle.publish(draft, _ANY, self._now())

    def _alone_on(self, name: str, *held: str) -> AbstractContextManager[None]:
        """Lock the items that a new item names, so that they get no other edition while its files are read. The new
        item itself is still unknown to others."""
        return self._kept.locks.hold(name, *held) if held else nullcontext()

    def _now(self) -> Instant:
        """Return the time in whole seconds, as in messages."""
        return Instant(self._clocks.seconds())

    def _pending(self, checked: Item, labels: LabelForms, files: DepositedFiles, change: Change) -> PendingItem:
        """Return a checked new item, to be stored after its files."""

        def publish(taken: Mapping[str, TakenFile]) -> Item:
            return replace(checked, labels=labels, files=files.describe(taken))

        name = name_of(_rep(labels))
        return PendingItem(name, publish, files.stored, change, self.entry("publish", name, change.message))

    def entry(self, act: str, name: str, detail: str) -> AuditEntry:
        who = self._actor
        return AuditEntry(self._now(), act, name, who.account, who.token, who.address, detail)

    def _change(self, who: str, message: str) -> Change:
        return Change(who, message, self._now(), address_of(who))


def _visibility_text(visibility: Visibility) -> str:
    """Return a visibility in the words of the audit log."""
    until = "" if visibility.embargo is None else f"embargo {visibility.embargo} "
    networks = ",".join(map(str, visibility.networks))
    return f"{until}{networks or 'all networks'}{'' if visibility.listing else ' unlisted'}"


def address_of(who: str) -> str | None:
    """Return the URI of a person with an e-mail address, or with a page such as that of an ORCID."""
    with suppress(InvalidMessage):
        if who.startswith("https://"):
            return url(who)
        if "@" in who:
            return f"mailto:{quote(mail_address(who), safe='@')}"
    return None


def _return_earlier(kept: ItemRepository, known: Item, wanted: Item, files: DepositedFiles) -> Item:
    require_same(kept, known, wanted, files.digests())
    return known


def _as_refusal(error: Exception) -> IbiError:
    """Return the refusal of an item. Raise any other error."""
    if not isinstance(error, IbiError):
        raise error
    return error


def _rep(labels: LabelForms) -> RepositoryName:
    assert labels.rep is not None  # a minter gives every item one
    return labels.rep
