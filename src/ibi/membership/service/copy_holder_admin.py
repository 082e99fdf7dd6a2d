"""Names the Archives that hold Copies of the items here, for the command and the page, and offers the followers of this
Archive.

A follower signs its questions for the feed of changes. It is offered if the register of the resolver knows the key: a
stranger cannot offer itself. Only an administrator names it, because resolvers ask it while this Archive is silent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, Final, Protocol

from ibi.membership.ports.archive_state import CopyHolderStore
from ibi.people.model.account import COMMAND, Actor, AuditEntry
from ibi.people.ports import AuditLog
from ibi.standard.errors import ErrorKind, IbiError, InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages.holders import MOST_COPIES, CopyHolder
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import read_follower_signature
from ibi.standard.signing import PublicKey

LONGEST_SIGNATURE: Final = 16_384
_OFTEN: Final = 60.0
"""Seconds for which a noted follower is not noted again."""
_MOST_NOTED: Final = 1_024


class OwnService(IbiError):
    """{archive} is this Archive itself: it has its own Originals."""

    code = "own-service"
    kind = ErrorKind.MALFORMED
    request_field = "holder"


class TooManyHolders(IbiError):
    """{most} holders of Copies are named already: remove one first."""

    code = "too-many-holders"
    kind = ErrorKind.CONFLICT
    request_field = "holder"


class UnknownHolder(IbiError):
    """{archive} is not named as a holder of Copies, and not offered; `ibi archive holders list` shows all."""

    code = "unknown-holder"
    kind = ErrorKind.NOT_FOUND
    request_field = "holder"


class SettledHolder(IbiError):
    """{archive} is named in the settings: take it out of `archive.copies_at`, and start the server again."""

    code = "settled-holder"
    kind = ErrorKind.CONFLICT
    request_field = "holder"


class CopyHolderAdmin:
    """The holders of Copies of one data directory. Calls block."""

    def __init__(
        self,
        store: CopyHolderStore,
        own: LabelForms,
        settled: Sequence[CopyHolder],
        now: Callable[[], float],
        *,
        audit: AuditLog | None = None,
        actor: Actor = COMMAND,
    ) -> None:
        """`own` is the service of this Archive; `settled` are the holders of the settings."""
        self._store, self._own, self._settled = store, own, tuple(settled)
        self._now, self._audit, self._actor = now, audit, actor

    def acting_as(self, actor: Actor) -> CopyHolderAdmin:
        return CopyHolderAdmin(self._store, self._own, self._settled, self._now, audit=self._audit, actor=actor)

    def list_holders(self) -> list[dict[str, Any]]:
        """Return the named holders, then the offered ones, then the declined ones."""
        known = self._store.read()
        return [
            *(_document(each, "settings") for each in self._settled),
            *(_document(each, "named") for each in known.named if not self._is_settled(each.service)),
            *(
                _document(each.holder, "offered", each.first, each.last)
                for each in known.offers
                if not self._is_settled(each.holder.service)
            ),
            *(_document(CopyHolder(each), "declined") for each in known.declined),
        ]

    def add(self, text: str) -> dict[str, Any]:
        """Name an Archive, from `LABEL` or `LABEL=PREFIX,PREFIX`. For an offered Archive, the label alone stands for
        the prefixes that it follows."""
        holder, known = CopyHolder.parse(text), self._store.read()
        if "=" not in text:
            holder = _find_holder((each.holder for each in known.offers), holder.service) or holder
        if holder.service in self._own.labels:
            raise OwnService(archive=holder.service.spelling)
        if self._is_settled(holder.service):
            raise SettledHolder(archive=holder.service.spelling)
        others = [each for each in known.named if each.service != holder.service]
        if len(self._settled) + len(others) >= MOST_COPIES:
            raise TooManyHolders(most=MOST_COPIES)
        self._store.change(lambda now_known: now_known.name(holder))
        self._note("name copy holder", holder)
        return _document(holder, "named")

    def remove(self, text: str) -> dict[str, Any]:
        """Name an Archive no longer. An offered Archive is not offered again until it was added or removed."""
        service, known = parse(text), self._store.read()
        if self._is_settled(service):
            raise SettledHolder(archive=service.spelling)
        offered = _find_holder((each.holder for each in known.offers), service)
        named = _find_holder(known.named, service)
        if named is None and offered is None and service not in known.declined:
            raise UnknownHolder(archive=service.spelling)
        is_forgotten = named is None and offered is None
        self._store.change(lambda now_known: (now_known.forget if is_forgotten else now_known.decline)(service))
        holder = named or offered or CopyHolder(service)
        self._note("remove copy holder" if named is not None else "decline copy holder", holder)
        return _document(holder, "declined")

    def _is_settled(self, service: Label) -> bool:
        return any(each.service == service for each in self._settled)

    def _note(self, act: str, holder: CopyHolder) -> None:
        if self._audit is not None:
            who, when = self._actor, Instant(int(self._now()))
            place = f"archive:{holder.service.spelling.lower()}"
            self._audit.append([AuditEntry(when, act, place, who.account, who.token, who.address, str(holder))])


def _find_holder(holders: Iterable[CopyHolder], service: Label) -> CopyHolder | None:
    return next((each for each in holders if each.service == service), None)


class FollowerSenders(Protocol):
    """Identifies the registered Archive that signed; `ibi.claims.service` implements it. Calls block."""

    def knows_signer(self, statement: str) -> bool:
        """Return whether the statement names the key of a registered Archive. The signature is not checked."""

    def name_of(self, signer: PublicKey, to: str, at: int) -> str | None:
        """Return the label of the Archive that signed for this one a moment ago."""


class CopyOffers:
    """Notes the followers of this Archive. Calls block, from any thread. Input of strangers raises nothing."""

    def __init__(
        self,
        store: CopyHolderStore,
        senders: FollowerSenders,
        own: LabelForms,
        now: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`senders` identifies the registered Archive that signed."""
        self._store, self._senders, self._own = store, senders, own
        self._now, self._monotonic = now, monotonic
        self._noted: dict[str, float] = {}
        self._lock = Lock()

    def note(self, signature: str) -> None:
        if len(signature) > LONGEST_SIGNATURE or self._is_noted(signature):
            return
        if not self._senders.knows_signer(signature):
            return
        try:
            said = read_follower_signature(signature)
            name = self._senders.name_of(said.signer, said.to, said.at)
            holder = None if name is None else CopyHolder(parse(name), said.prefixes)
        except InvalidInput:
            return
        if holder is not None and holder.service not in self._own.labels:
            self._store.change(lambda known: known.offer(holder, int(self._now())))

    def _is_noted(self, signature: str) -> bool:
        """Return whether the same statement came a moment ago: followers repeat it."""
        now = self._monotonic()
        with self._lock:
            if now - self._noted.get(signature, float("-inf")) < _OFTEN:
                return True
            if len(self._noted) >= _MOST_NOTED:
                self._noted.clear()
            self._noted[signature] = now
            return False


def _document(holder: CopyHolder, state: str, first: int | None = None, last: int | None = None) -> dict[str, Any]:
    """Return a holder for a list; `prefixes` is null for all items."""
    return {
        "archive": holder.service.spelling,
        "prefixes": sorted(holder.prefixes) or None,
        "state": state,
        "first": None if first is None else str(Instant(first)),
        "last": None if last is None else str(Instant(last)),
    }
