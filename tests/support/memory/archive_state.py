"""What an Archive keeps of itself, in memory."""

from __future__ import annotations

from ibi.membership.model.membership import ArchiveRecord, Membership


class MemoryArchiveRecords:
    """The port `ArchiveRecords`."""

    def __init__(self) -> None:
        self._record: ArchiveRecord | None = None

    def read(self) -> ArchiveRecord | None:
        return self._record

    def write(self, record: ArchiveRecord) -> bool:
        if self._record is not None:
            return False
        self._record = record
        return True


class MemoryMembership:
    """What the processes of one Archive share."""

    def __init__(self) -> None:
        self.is_on = True
        self.kept = Membership()
        self.holder: MemoryMembershipState | None = None

    def open(self) -> MemoryMembershipState:
        return MemoryMembershipState(self)


class MemoryMembershipState:
    """The port `MembershipState`, as one process has it."""

    prompt = True

    def __init__(self, shared: MemoryMembership) -> None:
        self._shared = shared

    @property
    def switched_on(self) -> bool:
        return self._shared.is_on

    def switch(self, *, on: bool) -> None:
        self._shared.is_on = on

    def read(self) -> Membership:
        return self._shared.kept

    def write(self, membership: Membership) -> None:
        self._shared.kept = membership

    def hold(self) -> bool:
        if self._shared.holder is None:
            self._shared.holder = self
        return self._shared.holder is self

    def release(self) -> None:
        if self._shared.holder is self:
            self._shared.holder = None
