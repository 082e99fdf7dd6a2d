"""How much of a disk drafts may take: those of one depositor together, and everybody's by what the disk has left."""

from __future__ import annotations

from dataclasses import dataclass

from ibi.errors import IbiError

__all__ = ["DiskNearlyFull", "DraftQuota", "DraftShareUsed", "DraftsTooLarge", "Holding", "TooManyDrafts"]


class TooManyDrafts(IbiError):
    """You have {drafts} drafts, and this Archive keeps at most {most} of one depositor at a time: publish or discard
    one of them, then begin another. GET /api/records?state=draft lists them."""

    code = "too-many-drafts"


class DraftsTooLarge(IbiError):
    """The drafts of {owner} hold {size} bytes, those on their way included, and with {more} of {path} there would be
    more than the {most} that this Archive keeps of one depositor: publish or discard a draft, or remove files from one,
    then send the file again. GET /api/records?state=draft lists them with their sizes."""

    code = "drafts-too-large"


class DraftShareUsed(IbiError):
    """The drafts of {owner} hold {size} bytes, those on their way included, and with {more} of {path} there would be
    more than the {most} that one depositor may have now, which is {share} % of what the disk has for drafts: publish or
    discard a draft, or remove files from one, then send the file again."""

    code = "draft-share-used"


class DiskNearlyFull(IbiError):
    """The disk of this server has room for {room} more bytes of drafts, which is not enough. Nothing was changed, and
    drafts can still be published. Discard those that are not needed, or tell whoever runs this server."""

    code = "disk-nearly-full"


@dataclass(frozen=True, slots=True)
class Holding:
    """What one depositor has in drafts that are not published; files on their way are among the bytes."""

    drafts: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class DraftQuota:
    """What the settings say; 0 is no bound."""

    drafts: int = 0
    """Of one depositor, at a time."""
    size: int = 0
    """Bytes of the files of all these drafts together."""
    reserve: int = 0
    """Bytes that drafts leave free on the disk: what else is done there, publishing among it, has to go on."""
    share: int = 100
    """Percent of what the disk has for drafts that those of one depositor may take, so that others have room."""

    @property
    def bounds_depositors(self) -> bool:
        return bool(self.drafts or self.size or self.bounds_share)

    @property
    def bounds_share(self) -> bool:
        return self.share < 100

    def check_begin(self, held: Holding) -> None:
        """Refuse a draft that is one too many."""
        if self.drafts and held.drafts >= self.drafts:
            raise TooManyDrafts(drafts=held.drafts, most=self.drafts)

    def check_send(self, owner: str, path: str, held: Holding, more: int) -> None:
        """Refuse a file that with `more` bytes than `held` has would be too much; one without bytes never is."""
        if self.size and more and held.size + more > self.size:
            name = owner.partition(":")[2]
            raise DraftsTooLarge(owner=name, size=held.size, more=more, path=repr(path), most=self.size)

    def check_share(self, owner: str, path: str, held: Holding, more: int, *, written: int, free: int) -> None:
        """Refuse a file with which one depositor would have more than a share. The disk has for drafts what is `free`
        beyond the reserve, and what this depositor has `written` there already."""
        most = (max(0, free - self.reserve) + written) * self.share // 100
        if self.bounds_share and more and held.size + more > most:
            name = owner.partition(":")[2]
            sizes = {"size": held.size, "more": more, "most": most, "share": self.share}
            raise DraftShareUsed(owner=name, path=repr(path), **sizes)

    def check_disk(self, free: int, more: int) -> None:
        """Refuse what would leave less than the reserve; `free` are the bytes that nobody has been promised."""
        if self.reserve and free - more < self.reserve:
            raise DiskNearlyFull(room=max(0, free - self.reserve))
