"""Rules for drafts that are worked on for a while: how much goes into one, how long it is kept, what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ibi.archive import life_cycle
from ibi.archive.draft_quota import DraftQuota
from ibi.archive.file_names import check_file_name, collision_key
from ibi.errors import IbiError
from ibi.instant import Instant
from ibi.model.draft_record import DraftRecord
from ibi.model.errors import InvalidFileName
from ibi.model.file import File
from ibi.model.item import Draft, Item

__all__ = [
    "MOST_FILES",
    "DepositTooLarge",
    "DigestMismatch",
    "DraftBusy",
    "DraftOutdated",
    "DraftPublished",
    "DraftRules",
    "NotADraft",
    "RelationsOfItem",
    "TooManyFiles",
    "UnknownDraft",
    "check_upload",
    "is_published_already",
    "same_name",
    "together",
]

MOST_FILES: Final = 10_000
"""Files of one draft."""

_DAY: Final = 86_400
_DAYS_AFTER: Final = 2
"""For so long a draft that was published is remembered: whoever has lost the answer asks again before that."""


class UnknownDraft(IbiError):
    """There is no draft {draft} here, or it is not yours, or it was left alone for too long."""

    code = "unknown-draft"


class NotADraft(IbiError):
    """{label} is published: it is changed through a draft of it, which POST to its `draft` makes."""

    code = "not-a-draft"


class DraftBusy(IbiError):
    """{draft} is being published or changed at this moment: ask again a little later."""

    code = "draft-busy"


class DraftPublished(IbiError):
    """{draft} was published as {label} and does not change any more."""

    code = "draft-published"


class DraftOutdated(IbiError):
    """{label} is at version {found}, and {draft} was made from version {base}: look at what is there now, and make
    another draft."""

    code = "draft-outdated"


class TooManyFiles(IbiError):
    """files: at most {most} are sent for one item. Pack some of them together, or deposit on the machine that has the
    data directory."""

    code = "too-many-files"


class DepositTooLarge(IbiError):
    """This Archive takes at most {most} bytes in one deposit, and with {path} there would be more."""

    code = "deposit-too-large"


class DigestMismatch(IbiError):
    """{field}: what arrived of {path} is not what was sent; the {algorithm} digest of it is {found}."""

    code = "digest-mismatch"


class RelationsOfItem(IbiError):
    """{field}: what a published item says of others is changed under its `relations`, not with an update."""

    code = "relations-of-item"


_NO_QUOTA: Final = DraftQuota()


@dataclass(frozen=True, slots=True)
class DraftRules:
    """What the settings say."""

    largest: int
    """Bytes of all files that were sent for one draft."""
    days: int
    """After so many days without a change a draft goes."""
    quota: DraftQuota = _NO_QUOTA

    def check_room(self, path: str, files: int, size: int, more: int) -> None:
        """Refuse a file that is one too many, or that with `more` bytes would make all of them too large."""
        if files >= MOST_FILES:
            raise TooManyFiles(most=MOST_FILES)
        if size + more > self.largest:
            raise DepositTooLarge(most=self.largest, path=repr(path))

    def is_stale(self, changed: int, now: Instant, *, done: bool = False) -> bool:
        """`changed` are the POSIX seconds of the last change; of one that is `done`, of its publication."""
        return now.seconds - changed > (_DAYS_AFTER if done else self.days) * _DAY


def same_name(path: str, files: Iterable[File]) -> File | None:
    """The file whose name some system takes for `path`."""
    key = collision_key(path)
    return next((file for file in files if collision_key(file.path) == key), None)


def check_upload(path: str, same: File | None) -> None:
    """Refuse a name that cannot be kept, or that is `same` to some system and not to others. The rest is seen when the
    draft is published, for the files may come in any order."""
    check_file_name(path)
    if same is not None and same.path != path:
        raise InvalidFileName(path, 0, "{other} is the same name to many systems", other=same.path)


def together(kept: Iterable[File], uploaded: Iterable[File]) -> tuple[File, ...]:
    """The files of a draft: those from the item that it changes, unless others of the same name were sent."""
    files = {file.path: file for file in (*kept, *uploaded)}
    return tuple(files[path] for path in sorted(files))


def is_published_already(item: Item, record: DraftRecord, draft: Draft) -> bool:
    """Whether the item is what an update with `draft` makes of it: then the update was made, and its answer was lost.

    `DraftOutdated` if somebody else has changed the item since the draft was made.
    """
    if item.version == record.base:
        return False
    if item.version - 1 == record.base:
        made = life_cycle.update(item, draft, item.updated).item
        if replace(made, version=item.version, updated=item.updated) == item:
            return True
    raise DraftOutdated(label=str(item.rep), found=item.version, draft=record.id, base=record.base)
