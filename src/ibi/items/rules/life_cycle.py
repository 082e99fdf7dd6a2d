"""The life cycle of an item in one Archive (R §5.2).

    (nothing) ──begin──▶ draft ──edit──▶ draft ──publish──▶ Original          draft ──discard──▶ (nothing)
    Original ──update, relate──▶ Original ──delete──▶ Deleted ──purge──▶ Deleted
    (nothing) ──copy──▶ Copy ──refresh──▶ Copy ──drop──▶ (nothing)
    Original ──send away──▶ (nothing), or a Copy anew        (nothing), Copy ──take over──▶ Original
    Original ──yield──▶ Copy, when a dispute was settled for another Archive

An act that is not in `TABLE` is refused, with the reason in `REFUSALS`. No act leads out of Deleted: resolvers were
told that the IBI is gone. "(nothing)" answers as if the item had never been here: only Originals become Deleted. The
new place of an Original that was sent away is remembered (`Transfer`), and given beside the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from ibi.items.model.file import check_file_names
from ibi.items.model.item import Custody, Draft, Item, Tombstone, name_one_item
from ibi.items.model.transfer_record import Transfer
from ibi.items.rules.errors import (
    AlreadyThere,
    LanguageOfGroup,
    NotAllowedNow,
    NothingToPublish,
    OriginalNeeded,
    ServiceItemStays,
    TitleMissing,
    UntransferableItem,
)
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import Origin
from ibi.standard.translatable import message
from ibi.standard.vocabulary import ArchiveProtocol, State


class Standing(Enum):
    """The state of an item here, from before it exists to after it is gone."""

    NOTHING = "nothing"
    """Not here: never, or no longer, such as a dropped Copy or a transferred Original."""
    DRAFT = "draft"
    """Visible to the people who work on it. No answer mentions it, though a label may be reserved for it."""
    ORIGINAL = "Original"
    """Published, in its first version or in a later one."""
    COPY = "Copy"
    DELETED = "Deleted"


class Act(Enum):
    """An act on an item. The value appears in messages."""

    BEGIN = message("beginning a draft")
    EDIT = message("editing the draft")
    DISCARD = message("discarding the draft")
    PUBLISH = message("publishing")
    UPDATE = message("an update")
    RELATE = message("recording an edition, a translation or metadata")
    DELETE = message("deleting")
    PURGE = message("purging")
    COPY = message("making a Copy")
    REFRESH = message("refreshing the Copy")
    DROP = message("dropping the Copy")
    SEND_AWAY = message("a transfer to another Archive")
    YIELD = message("yielding to the Archive that has the Original")
    TAKE_OVER = message("a transfer to this Archive")


_N, _W, _O, _C, _D = Standing.NOTHING, Standing.DRAFT, Standing.ORIGINAL, Standing.COPY, Standing.DELETED

TABLE: Final[Mapping[tuple[Standing, Act], Standing]] = {
    (_N, Act.BEGIN): _W,
    (_W, Act.EDIT): _W,
    (_W, Act.DISCARD): _N,
    (_W, Act.PUBLISH): _O,
    (_N, Act.COPY): _C,
    (_N, Act.TAKE_OVER): _O,
    (_O, Act.UPDATE): _O,
    (_O, Act.RELATE): _O,
    (_O, Act.DELETE): _D,
    (_O, Act.SEND_AWAY): _N,
    (_O, Act.YIELD): _C,
    (_C, Act.REFRESH): _C,
    (_C, Act.DROP): _N,
    (_C, Act.TAKE_OVER): _O,
    (_D, Act.PURGE): _D,
}

_GONE = message("it was deleted, and an IBI that is gone never returns")
_DRAFT = message("it is a draft, which can be edited, published or discarded")
_PUBLISHED = message("it is published")
_ORIGINAL_HERE = message("the Original is here, and an Archive keeps no two items of one IBI")
_COPY_ELSEWHERE = message("the Original is elsewhere")

REFUSALS: Final[Mapping[tuple[Standing, Act], tuple[type[NotAllowedNow], str]]] = {
    **{(_N, act): (NotAllowedNow, message("there is no such item here")) for act in Act if (_N, act) not in TABLE},
    **{(_W, act): (NotAllowedNow, _DRAFT) for act in Act if (_W, act) not in TABLE},
    **{(_D, act): (NotAllowedNow, _GONE) for act in Act if (_D, act) not in TABLE},
    **{(where, act): (AlreadyThere, _PUBLISHED) for where in (_O, _C) for act in (Act.BEGIN, Act.EDIT, Act.DISCARD)},
    (_O, Act.PUBLISH): (AlreadyThere, message("it was published before; it can be updated")),
    (_O, Act.COPY): (AlreadyThere, _ORIGINAL_HERE),
    (_O, Act.TAKE_OVER): (AlreadyThere, _ORIGINAL_HERE),
    (_O, Act.PURGE): (NotAllowedNow, message("only what was deleted can be purged")),
    (_O, Act.REFRESH): (NotAllowedNow, message("it is the Original")),
    (_O, Act.DROP): (
        NotAllowedNow,
        message("it is the Original: it can be deleted, which leaves a tombstone, or transferred"),
    ),
    (_C, Act.PUBLISH): (AlreadyThere, _COPY_ELSEWHERE),
    (_C, Act.COPY): (AlreadyThere, message("there is a Copy; it can be refreshed")),
    (_C, Act.PURGE): (NotAllowedNow, message("only what was deleted can be purged")),
    (_C, Act.YIELD): (NotAllowedNow, message("it is a Copy")),
    **{(_C, act): (OriginalNeeded, _COPY_ELSEWHERE) for act in (Act.UPDATE, Act.RELATE, Act.DELETE, Act.SEND_AWAY)},
}


def standing_of(item: Item | Draft | None) -> Standing:
    if item is None:
        return Standing.NOTHING
    return Standing.DRAFT if isinstance(item, Draft) else Standing(item.state.value)


def require(item: Item | Draft | None, act: Act, labels: LabelForms | None = None) -> None:
    """Raise an error unless the table allows the act. `labels` name an item without labels in the message."""
    where = standing_of(item), act
    if where in TABLE:
        return
    kind, reason = REFUSALS[where]
    named = item.labels if item is not None and item.labels is not None else labels
    raise kind(label=str(named.labels[0]) if named else "the item", act=act.value, reason=reason)


@dataclass(frozen=True, slots=True)
class FileRemoved:
    """A warning: the update removes the persistent path of this file (R §8.1), though older versions keep it."""

    path: str


@dataclass(frozen=True, slots=True)
class Updated:
    item: Item
    warnings: tuple[FileRemoved, ...] = ()


def publish(draft: Draft, labels: LabelForms, now: Instant, *, here: Item | None = None) -> Item:
    """Return the Original made from `draft` under an unused label. `here` is the item that bears the label, if any."""
    require(draft if here is None else here, Act.PUBLISH, labels)
    _check_publishable(draft)
    return Item(
        labels=labels,
        created=now,
        updated=now,
        description=replace(draft.description, target=_target(draft)),
        files=draft.files,
    )


def update(item: Item, draft: Draft, now: Instant) -> Updated:
    """Return the item with other content. Its IBI, its editions and its place among translations stay."""
    require(item, Act.UPDATE)
    _check_publishable(draft)
    if draft.language != item.language and (item.translation_of is not None or item.translations):
        raise LanguageOfGroup(label=str(item.rep), language=str(item.language or "none"))
    kept = {file.path for file in draft.files}
    after = replace(
        item,
        description=replace(
            draft.description,
            target=_target(draft),
            edition_of=item.edition_of,
            translation_of=item.translation_of,
            describes=item.describes,
        ),
        files=draft.files,
        updated=max(now, item.updated),
        version=item.version + 1,
    )
    return Updated(after, tuple(FileRemoved(file.path) for file in item.files if file.path not in kept))


def delete(
    item: Item, now: Instant, why: str, *, replaced_by: LabelForms | None = None, service: LabelForms | None = None
) -> Item:
    """Return the tombstone of an Original. `service` is the Archive's own item, which cannot be deleted."""
    require(item, Act.DELETE)
    check_not_service(item, service)
    when = max(now, item.updated)
    return replace(
        item,
        state=State.DELETED,
        files=(),
        description=replace(item.description, target=None, target_url=None),
        updated=when,
        version=item.version + 1,
        custody=replace(item.custody, tombstone=Tombstone(when, why, replaced_by)),
    )


def purge(item: Item) -> Item:
    """Return the tombstone without earlier versions."""
    require(item, Act.PURGE)
    assert item.tombstone is not None  # every deleted item has a tombstone
    return replace(item, custody=replace(item.custody, tombstone=replace(item.tombstone, purged=True)))


def copy(original: Item, source: str, *, here: Item | None = None) -> Item:
    """Return a Copy of the Original at `source`. There is no Copy without an Original."""
    require(here, Act.COPY, original.labels)
    return replace(_as_copy(original, source), owner=None)


def refresh(item: Item, original: Item, source: str | None = None) -> Item:
    """Return the Copy with the present content of its Original. `source` is its new address, if it moved."""
    require(item, Act.REFRESH)
    after = _as_copy(original, item.source if source is None else source)
    later = (original.later[0], item.later[1])
    custody = replace(after.custody, transferred_to=item.transferred_to)
    return replace(after, custody=custody, owner=item.owner, later=later)


def outlive(item: Item, tombstone: Tombstone) -> Item:
    """Return the Copy of an Original that was deleted. It keeps its bytes until it is dropped, and records the
    deletion."""
    require(item, Act.REFRESH)
    return replace(item, custody=replace(item.custody, original_tombstone=tombstone))


def drop(item: Item, now: Instant) -> Transfer | None:
    """Check that the Copy may be dropped; the caller removes it from the catalogue. Return the transfer to remember if
    the Original was given away from here, else None."""
    require(item, Act.DROP)
    return None if item.transferred_to is None else Transfer(item.labels, item.transferred_to, now)


def send_away(item: Item, to: Label, now: Instant, *, service: LabelForms | None = None) -> Transfer:
    """Return the transfer to remember for an Original that the Archive with the service `to` has taken over.

    `keep_copy` makes a Copy of it. `service` is the Archive's own item, which cannot be sent away.
    """
    require(item, Act.SEND_AWAY)
    check_not_service(item, service)
    if not item.transferable:
        raise UntransferableItem(label=str(item.rep))
    if service is not None and to in service.labels:
        raise NotAllowedNow(
            label=str(item.rep), act=Act.SEND_AWAY.value, reason=message("{to} is this Archive itself"), to=to
        )
    return Transfer(item.labels, to, max(now, item.updated))


def keep_copy(item: Item, transfer: Transfer, source: str | None) -> Item:
    """Return the Copy that stays here of an Original that is sent away. `source` is the address of the new holder, if
    known."""
    copy = _as_copy(item, source)
    return replace(copy, custody=replace(copy.custody, transferred_to=transfer.to))


def yield_to(item: Item, to: Label, source: Origin, *, service: LabelForms | None = None) -> Item:
    """Return the Copy that an Archive keeps of its supposed Original, after a dispute was settled for another (E98)."""
    require(item, Act.YIELD)
    check_not_service(item, service)
    protocol = ArchiveProtocol.HTTPS if source.scheme == "https" else None
    copy = _as_copy(item, source.authority)
    return replace(copy, custody=replace(copy.custody, source_protocol=protocol, transferred_to=to))


def take_over(original: Item, *, here: Item | None = None) -> Item:
    """Return the Original that another Archive sends away, as an item of this Archive."""
    require(here, Act.TAKE_OVER, original.labels)
    require(original, Act.SEND_AWAY)
    return replace(original, owner=None, custody=replace(original.custody, transferred_to=None))


def become_original(item: Item) -> Item:
    """Return the Original made from a Copy, because the former holder released it to this Archive."""
    require(item, Act.TAKE_OVER)
    return replace(item, state=State.ORIGINAL, owner=None, custody=Custody())


def _as_copy(original: Item, source: str | None) -> Item:
    if original.state is not State.ORIGINAL:
        raise OriginalNeeded(label=str(original.rep), act=Act.COPY.value, reason=_COPY_ELSEWHERE)
    return replace(original, state=State.COPY, custody=replace(original.custody, source=source))


def _check_publishable(draft: Draft) -> None:
    if not draft.metadata.title:
        raise TitleMissing()
    if not draft.files and draft.target_url is None:
        raise NothingToPublish()
    check_file_names(file.path for file in draft.files)


def _target(draft: Draft) -> str | None:
    """Return the target. A single file is the target without being named."""
    return draft.files[0].path if draft.target is None and len(draft.files) == 1 else draft.target


def check_not_service(item: Item, service: LabelForms | None) -> None:
    if service is not None and name_one_item(item.labels, service):
        raise ServiceItemStays(label=str(item.rep))
