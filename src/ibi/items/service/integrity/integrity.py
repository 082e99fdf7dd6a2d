"""Known damage to the items of one store: its record, its watchers, and its consequences.

A damaged item stays listed: its description and its intact files are served, and the damage is shown. It takes no new
version until it was restored and verified.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from ibi.items.model.content import Damage, IntegritySummary, Problem, Verification
from ibi.items.ports.archive_store import BlockDigests, ContentDamaged, OpenFile, Verifications
from ibi.items.service.integrity.verified_file import VerifiedFile
from ibi.standard.document_errors import NewerDocument
from ibi.standard.errors import IbiError, InvalidLabel
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName

_OUR_OWN_FAULTS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors of a process without free resources, which say nothing about the content."""

DamageFound = Callable[[str, Problem], None]
"""Called with the name of an item and a problem found for the first time."""


class Ledger(BlockDigests, Verifications, Protocol):
    """The stored digests of blocks and results of verifications."""

    def close(self) -> None: ...


class Integrity:
    """The known damage of one store. Calls may come from any thread; blocking calls say so."""

    def __init__(self, ledger: Ledger, now: Callable[[], float] = time.time) -> None:
        self.ledger, self._now = ledger, now
        self._watchers: list[DamageFound] = []
        self._of_instants: tuple[Mapping[str, Verification], dict[Instant, str]] = {}, {}

    def watch(self, found: DamageFound) -> None:
        """Call `found` for new damage, in the thread that found it."""
        self._watchers.append(found)

    def verified_file(self, file: OpenFile, name: str, path: str) -> VerifiedFile:
        """Return the file as readers get it: it is verified, and damage found by reading is recorded."""
        return VerifiedFile(file, name, path, self.ledger, lambda problem: self.note(name, problem))

    def require_file(self, name: str, path: str, digest: str) -> None:
        """Raise `ContentDamaged` if that file of the item is known to be damaged."""
        found = self.ledger.damaged_items().get(name)
        for problem in () if found is None else found.problems:
            if problem.digest == digest:
                raise ContentDamaged(name=name, problem=problem.code, reason=f"{path}: {problem.reason}")

    def require_whole(self, name: str) -> None:
        """Raise `ContentDamaged` if any part of the item is known to be damaged."""
        found = self.ledger.damaged_items().get(name)
        if found is not None:
            raise _damage_error(found)

    def require_unknown(self, label: Label) -> None:
        """Raise `ContentDamaged` for a label that the catalogue lacks, if its item has an unreadable record. The IBIp
        of such an item is only in its record, so the item is recognised by the instant that both labels share."""
        damaged = self.ledger.damaged_items()
        if not damaged or not label.is_dated:
            return
        name = str(label) if isinstance(label, RepositoryName) else self._names_by_instant(damaged).get(label.instant)
        if name is not None and name in damaged:
            raise _damage_error(damaged[name])

    def is_damaged(self, name: str) -> bool:
        return name in self.ledger.damaged_items()

    def _names_by_instant(self, damaged: Mapping[str, Verification]) -> dict[Instant, str]:
        known, names = self._of_instants
        if known is not damaged:
            names = {instant: name for name in damaged if (instant := _instant_of(name)) is not None}
            self._of_instants = damaged, names
        return names

    def note(self, name: str, problem: Problem) -> None:
        """Record damage found by reading. Blocks."""
        if self.ledger.note_damage(name, problem, int(self._now())):
            self._tell(name, problem)

    def note_error(self, name: str, error: IbiError, path: str) -> None:
        """Record damage to an item or file that could not be opened or parsed. Blocks."""
        if any(_says_nothing_of_content(cause) for cause in _causes(error)):
            return
        parameters = error.parameters
        code, reason = str(parameters.get("problem", error.code)), str(parameters.get("reason", error))
        self.note(name, Problem(Damage.UNREADABLE, code, path, reason))

    def record(self, name: str, problems: Sequence[Problem]) -> None:
        """Record the result of a verification of the item. Blocks."""
        self.record_all([(name, problems)])

    def record_all(self, results: Sequence[tuple[str, Sequence[Problem]]]) -> None:
        """Record the results of several items, in one commit. Blocks."""
        before = self.ledger.damaged_items()
        self.ledger.record_all(results, int(self._now()))
        now = self.ledger.damaged_items()
        for name, _ in results:
            self._tell_of_new(name, before.get(name), now.get(name))

    def _tell_of_new(self, name: str, before: Verification | None, now: Verification | None) -> None:
        if now is not None:
            known = set() if before is None else {(each.path, each.digest) for each in before.problems}
            digests = frozenset() if before is None else before.digests
            for problem in now.problems:
                if (problem.path, problem.digest) not in known and problem.digest not in digests:
                    self._tell(name, problem)

    @property
    def is_prompt(self) -> bool:
        """True if a report may wait for `summary`."""
        return self.ledger.prompt

    def summary(self) -> IntegritySummary:
        """Return the summary. Blocks."""
        return self.ledger.summary()

    def _tell(self, name: str, problem: Problem) -> None:
        for watcher in self._watchers:
            watcher(name, problem)


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _says_nothing_of_content(cause: BaseException) -> bool:
    """Return whether the error is no damage: the process ran out of resources, or a newer version wrote the record."""
    return isinstance(cause, NewerDocument) or (isinstance(cause, OSError) and cause.errno in _OUR_OWN_FAULTS)


def _damage_error(found: Verification) -> ContentDamaged:
    if not found.problems:
        return ContentDamaged(name=found.name, problem="damaged", reason="it was found damaged")
    first, *others = found.problems
    more = f", and {len(others)} more" if others else ""
    return ContentDamaged(name=found.name, problem=first.code, reason=f"{first.path}: {first.reason}{more}")


def _instant_of(name: str) -> Instant | None:
    try:
        return RepositoryName.parse(name).instant
    except InvalidLabel:
        return None
