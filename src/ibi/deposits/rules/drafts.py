"""Rules of drafts: their size, their lifetime and their publication."""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from ibi.deposits.model import LONGEST_COMMENT, DraftRecord
from ibi.items.model.file import File, check_file_name, collision_key
from ibi.items.model.item import Description, Draft, Item
from ibi.items.model.metadata import Licence
from ibi.items.model.visibility import Visibility
from ibi.items.rules import life_cycle
from ibi.items.rules.errors import DiskNearlyFull
from ibi.items.rules.licences import read_licence
from ibi.standard.document_errors import InvalidFileName, InvalidMetadata
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.instant import Instant
from ibi.standard.safe_text import reveal


class TooManyDrafts(IbiError):
    """You have {drafts} drafts, and this Archive keeps at most {most} of one depositor at a time: publish or discard
    one of them, then begin another. GET /api/items?state=draft lists them."""

    code = "too-many-drafts"
    kind = ErrorKind.CONFLICT


class DraftsTooLarge(IbiError):
    """The drafts of {owner} hold {size} bytes, those on their way included, and with {more} of {path} there would be
    more than the {most} that this Archive keeps of one depositor: publish or discard a draft, or remove files from one,
    then send the file again. GET /api/items?state=draft lists them with their sizes."""

    code = "drafts-too-large"
    kind = ErrorKind.TOO_LARGE
    request_field = "body"


class DraftShareUsed(IbiError):
    """The drafts of {owner} hold {size} bytes, those on their way included, and with {more} of {path} there would be
    more than the {most} that one depositor may have now, which is {share} % of what the disk has for drafts: publish or
    discard a draft, or remove files from one, then send the file again."""

    code = "draft-share-used"
    kind = ErrorKind.STORAGE_FULL


@dataclass(frozen=True, slots=True)
class Holding:
    """The unpublished drafts of one depositor. The bytes include files under way."""

    drafts: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class DraftQuota:
    """The limits in the settings. 0 means no limit."""

    drafts: int = 0
    """Drafts of one depositor at a time."""
    size: int = 0
    """Bytes of the files of all these drafts together."""
    reserve: int = 0
    """Bytes that drafts leave free on the disk for other work, such as publishing."""
    share: int = 100
    """Percent of the disk space for drafts that one depositor may use, so that others have room."""

    @property
    def bounds_depositors(self) -> bool:
        return bool(self.drafts or self.size or self.bounds_share)

    @property
    def bounds_share(self) -> bool:
        return self.share < 100

    def check_begin(self, held: Holding) -> None:
        """Raise `TooManyDrafts` if no further draft is allowed."""
        if self.drafts and held.drafts >= self.drafts:
            raise TooManyDrafts(drafts=held.drafts, most=self.drafts)

    def check_send(self, owner: str, path: str, held: Holding, more: int) -> None:
        """Raise `DraftsTooLarge` if a file of `more` bytes exceeds the limit together with `held`. An empty file never
        does."""
        if self.size and more and held.size + more > self.size:
            name = owner.partition(":")[2]
            raise DraftsTooLarge(owner=name, size=held.size, more=more, path=repr(path), most=self.size)

    def check_share(self, owner: str, path: str, held: Holding, more: int, *, written: int, free: int) -> None:
        """Raise `DraftShareUsed` if the file would exceed the depositor's share of the disk. The disk space for drafts
        is the `free` space beyond the reserve, plus the bytes that this depositor has `written`."""
        most = (max(0, free - self.reserve) + written) * self.share // 100
        if self.bounds_share and more and held.size + more > most:
            name = owner.partition(":")[2]
            sizes = {"size": held.size, "more": more, "most": most, "share": self.share}
            raise DraftShareUsed(owner=name, path=repr(path), **sizes)

    def check_disk(self, free: int, more: int) -> None:
        """Raise `DiskNearlyFull` if less than the reserve would be left. `free` are the bytes not promised to an
        upload."""
        if self.reserve and free - more < self.reserve:
            raise DiskNearlyFull(room=max(0, free - self.reserve))


MOST_FILES: Final = 10_000
"""Files of one draft."""

_DAY: Final = 86_400
_DAYS_AFTER: Final = 2
"""Days for which a published draft is remembered: a client that lost the answer asks again before that."""


class UnknownDraft(IbiError):
    """There is no draft {draft} here, or it is not yours, or it was left alone for too long."""

    code = "unknown-draft"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class NotADraft(IbiError):
    """{label} is published: it is changed through a draft of it, which POST to its `draft` makes."""

    code = "not-a-draft"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class DraftBusy(IbiError):
    """{draft} is being published or changed at this moment: ask again a little later."""

    code = "draft-busy"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class DraftPublished(IbiError):
    """{draft} was published as {label} and does not change any more."""

    code = "draft-published"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class DeletionRequest(IbiError):
    """{draft} asks for the deletion of {label}: it has neither a description nor files of its own."""

    code = "deletion-request"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class DeletionLapsed(IbiError):
    """{label} does not belong to {owner} any more, who asked for its deletion: decline the request."""

    code = "deletion-lapsed"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class UnderReview(IbiError):
    """{draft} waits for review, and does not change until it is sent back or withdrawn."""

    code = "under-review"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class NotUnderReview(IbiError):
    """{draft} does not wait for review: it is {state}. Nothing was changed."""

    code = "not-under-review"
    kind = ErrorKind.CONFLICT
    request_field = "path"
    clauses = ("state",)


class ReviewNeeded(IbiError):
    """{draft} is not published at once: this Archive publishes after review. Submit it; a librarian publishes it or
    sends it back."""

    code = "review-needed"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class FieldsRefused(IbiError):
    """{draft} has values that could not be read: {fields}. Correct them, then publish it."""

    code = "fields-refused"
    kind = ErrorKind.CONFLICT
    request_field = "refused"


def check_readable(record: DraftRecord) -> None:
    """Raise `FieldsRefused` if the form could not read every value of the draft."""
    if record.refused:
        raise FieldsRefused(draft=record.id, fields=", ".join(sorted(record.refused)))


class DraftOutdated(IbiError):
    """{label} is at version {found}, and {draft} was made from version {base}: look at what is there now, and make
    another draft."""

    code = "draft-outdated"
    kind = ErrorKind.CONFLICT
    request_field = "path"


class TooManyFiles(IbiError):
    """files: at most {most} are sent for one item. Pack some of them together, or deposit on the machine that has the
    data directory."""

    code = "too-many-files"
    kind = ErrorKind.TOO_LARGE
    request_field = "files"


class DepositTooLarge(IbiError):
    """This Archive takes at most {most} bytes in one deposit, and with {path} there would be more."""

    code = "deposit-too-large"
    kind = ErrorKind.TOO_LARGE
    request_field = "body"


class DigestMismatch(IbiError):
    """{field}: what arrived of {path} is not what was sent; the {algorithm} digest of it is {found}."""

    code = "digest-mismatch"
    kind = ErrorKind.MALFORMED


class UnknownUpload(IbiError):
    """There is no upload {upload} of this draft: begin the file anew, unless the draft has it already."""

    code = "unknown-upload"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class UploadBusy(IbiError):
    """{path} is being sent over another connection at this moment: ask again a little later."""

    code = "upload-busy"
    kind = ErrorKind.LOCKED
    request_field = "path"


class UploadOffset(IbiError):
    """{field}: of {path} there are {found} bytes, and what was sent begins at {given}."""

    code = "upload-offset"
    kind = ErrorKind.CONFLICT


class UploadTooLong(IbiError):
    """body: of {path} more than the {length} bytes came that were announced. What came before is kept."""

    code = "upload-too-long"
    kind = ErrorKind.TOO_LARGE
    request_field = "body"


class RelationsOfItem(IbiError):
    """{field}: what a published item says of others is changed under its `relations`, not with an update."""

    code = "relations-of-item"
    kind = ErrorKind.MALFORMED


_NO_QUOTA: Final = DraftQuota()


@dataclass(frozen=True, slots=True)
class DraftRules:
    """The limits in the settings."""

    largest: int
    """Bytes of all files sent for one draft."""
    days: int
    """Days without a change after which a draft is removed."""
    quota: DraftQuota = _NO_QUOTA

    def check_room(self, path: str, files: int, size: int, more: int) -> None:
        """Raise an error if a file of `more` bytes is one too many, or makes the draft too large."""
        if files >= MOST_FILES:
            raise TooManyFiles(most=MOST_FILES)
        if size + more > self.largest:
            raise DepositTooLarge(most=self.largest, path=repr(path))

    def is_stale(self, changed: int, now: Instant, *, done: bool = False) -> bool:
        """Return whether the draft is removed now. `changed` are the POSIX seconds of its last change, or, if it is
        `done`, of its publication."""
        return now.seconds - changed > (_DAYS_AFTER if done else self.days) * _DAY


def same_name(path: str, files: Iterable[File]) -> File | None:
    """Return the file with a name that some system takes for `path`."""
    key = collision_key(path)
    return next((file for file in files if collision_key(file.path) == key), None)


def check_upload(path: str, same: File | None) -> None:
    """Raise an error if a name cannot be stored, or equals the name of `same` on some systems only. Spellings of
    folders are compared at publication, because the files may come in any order."""
    check_file_name(path)
    if same is not None and same.path != path:
        raise InvalidFileName(path, 0, "{other} is the same name to many systems", other=same.path)


def check_folders(path: str, file_there: str | None, file_below: str | None) -> None:
    """Raise `InvalidFileName` if a name is both a file and a folder. `file_there` has the name of one of its folders,
    or `file_below` is in a folder of its name."""
    if file_there is not None:
        raise InvalidFileName(path, 0, "{other} is a file, and no folder can have its name", other=file_there)
    if file_below is not None:
        raise InvalidFileName(path, 0, "{other} has a folder of this name", other=file_below)


def together(kept: Iterable[File], uploaded: Iterable[File]) -> tuple[File, ...]:
    """Return the files of a draft: the files of the item that it changes, replaced by uploaded files of the same
    name."""
    files = {file.path: file for file in (*kept, *uploaded)}
    return tuple(files[path] for path in sorted(files))


def is_published_already(item: Item, record: DraftRecord, draft: Draft) -> bool:
    """Return whether the update with `draft` was already made, and its answer was lost.

    Raise `DraftOutdated` if another change was made to the item since the draft was made.
    """
    if item.version == record.base:
        return False
    if item.version - 1 == record.base:
        made = life_cycle.update(item, draft, item.updated).item
        if replace(made, version=item.version, updated=item.updated) == item:
            return True
    raise DraftOutdated(label=str(item.rep), found=item.version, draft=record.id, base=record.base)


MOST_REASON: Final = 10_000
"""Characters of the reason for a deletion, or for an embargo."""


def is_over(embargo: Instant | None, now: Instant) -> bool:
    """Return whether the embargo has ended."""
    return embargo is not None and embargo <= now


def check_terms(description: Description, known: Iterable[Description], now: Instant) -> None:
    """Raise an error for a licence that SPDX does not list, a past embargo, or a reason without an embargo.

    Only new values are checked: values that one of the `known` descriptions (the item, the earlier draft) has already
    may stay. `InvalidMetadata` names the member at fault.
    """
    before = tuple(known)
    _check_licence(description.metadata.licence, {each.metadata.licence for each in before})
    said, visibilities = description.visibility, [each.visibility for each in before]
    if is_over(said.embargo, now) and said.embargo not in {each.embargo for each in visibilities}:
        reason = "this date is in the past: leave it out for no embargo"
        raise InvalidMetadata(str(said.embargo), 0, reason, field="visibility.embargo")
    if said.embargo_reason not in {each.embargo_reason for each in visibilities}:
        _check_embargo_reason(said)


def _check_licence(licence: Licence | None, known: AbstractSet[Licence | None]) -> None:
    if licence is None or licence in known:
        return
    try:
        read_licence(licence.text)
    except InvalidMetadata as error:
        raise InvalidMetadata(error.text, error.offset, error.reason, field="metadata.licence") from None


def _check_embargo_reason(visibility: Visibility) -> None:
    reason = visibility.embargo_reason
    if reason is not None and visibility.embargo is None:
        raise _refuse_reason(reason, "a reason needs an embargo")
    if reason is not None and len(reason) > MOST_REASON:
        raise _refuse_reason(reason, "it has at most {most} characters")


def _refuse_reason(text: str, reason: str) -> InvalidMetadata:
    return InvalidMetadata(text[:100], 0, reason, field="visibility.embargo_reason", most=MOST_REASON)


def deletion_id(item: Item, owner: str) -> str:
    """Return the draft id for the request of this account to delete the item. A repeated request has the same id."""
    digest = sha256(f"deletion\n{item.rep}\n{owner}".encode()).digest()
    return f"draft-{b32encode(digest[:10]).decode('ascii').lower()}"


def reason_as_comment(reason: str) -> str:
    """Return the reason for a deletion as a comment of the review."""
    return "\n".join(reveal(line) for line in reason.splitlines())[:LONGEST_COMMENT]
