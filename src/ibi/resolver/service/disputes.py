"""Disputes over Originals (E93): listed, reported to the administrators of both Archives, and settled.

While a dispute is open, the known holder stays the holder. The holder settles the dispute if it reports a transfer,
signed or in its answers. The administrator of the resolver can settle it as well.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.items.rules.provenance import ChainOrder, compare_chains
from ibi.jobs.limits import hold_alone
from ibi.jobs.runner import Job
from ibi.membership.model.registration import Dispute, Ruling
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.authority import ArchiveRef
from ibi.people.model.account import COMMAND, Actor, AuditEntry
from ibi.people.ports import AuditLog
from ibi.resolver.ports import Beliefs
from ibi.resolver.resources import DisputeResource
from ibi.resolver.rules.dispute_letters import dispute_letter
from ibi.standard.errors import ErrorKind, IbiError, InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.label.search import home_prefix
from ibi.standard.mail import Mailer
from ibi.standard.messages.identification import LabelForms

SHOWN: Final = 200
_LOOKED_AT: Final = 10_000
"""Maximum disputes that are searched for reports, or counted."""
_DAY: Final = 86_400
_LOOK: Final = 60.0
"""Seconds between two looks for disputes to report."""


class UnknownDispute(IbiError):
    """No Archive disputes who holds the Original of {label}: `ibi resolver disputes` lists those that are disputed."""

    code = "unknown-dispute"
    kind = ErrorKind.NOT_FOUND
    request_field = "path"


class DisputeSource(Protocol):
    """The disputes of a data directory, or of a server."""

    def list_disputes(self, *, settled: bool) -> list[DisputeResource]:
        """Return the open disputes, the last seen first. With `settled`, return settled disputes too."""

    def settle_dispute(self, label: str, holder: str) -> list[DisputeResource]:
        """Declare the holder of the Original. Return the disputes over this Original."""


class NotAParty(InvalidMessage):
    """{quoted} cannot be named as the holder: {reason}."""

    code = "not-a-party"
    request_field = "holder"


class Disputes:
    """The disputes of one resolver. Calls block. `own` is the Archive of the same server."""

    def __init__(
        self,
        registry: Registry,
        beliefs: Beliefs,
        own: ArchiveRef | None = None,
        *,
        wall: Callable[[], float] = time.time,
        audit: AuditLog | None = None,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self._registry, self._beliefs, self._own, self._wall = registry, beliefs, own, wall
        self._audit = audit
        self._log = log or structlog.get_logger("ibi.resolver")

    @property
    def prompt(self) -> bool:
        return self._beliefs.prompt

    def all(self, *, settled: bool = True, most: int = SHOWN) -> tuple[Dispute, ...]:
        return self._beliefs.disputes(most, settled=settled)

    def over(self, label: Label) -> tuple[Dispute, ...]:
        """Return the disputes over one item, open or settled."""
        return self._beliefs.disputes(SHOWN, label)

    @property
    def are_open(self) -> bool:
        """True if a dispute is open."""
        return bool(self.all(settled=False, most=1))

    def count_open(self) -> int:
        """Return the number of open disputes, for the metrics. The call is slow if an Archive claims thousands of
        items."""
        return len(self.all(settled=False, most=_LOOKED_AT))

    def settle(self, label: Label, holder: Label, by: str, actor: Actor = COMMAND) -> tuple[Dispute, ...]:
        """Settle the disputes over `label` as the administrator decided. `holder` is a party of one of them."""
        disputes = self._beliefs.disputes(_LOOKED_AT, label)
        if not disputes:
            raise UnknownDispute(label=str(label))
        parties = self._parties(label, disputes)
        chosen = next((each for each in parties if holder in self._forms(each).labels), None)
        if chosen is None:
            names = ", ".join(sorted(map(str, parties)))
            raise NotAParty(str(holder), 0, "it is none of the Archives that claim the item: {names}", names=names)
        now = int(self._wall())
        self._beliefs.rule(Ruling(label, chosen, parties, now, by))
        homes = self._homes(label)
        if homes and self._beliefs.succession(label).chain[-1:] != (chosen,):
            self._beliefs.record_successors(label, () if chosen in homes else (chosen,), now)
        self._log.info("a dispute is settled", label=str(label), holder=str(chosen), by=by)
        if self._audit is not None:
            who, detail = actor, f"the holder is {chosen}"
            self._audit.append(
                [AuditEntry(Instant(now), "settle dispute", str(label), who.account, who.token, who.address, detail)]
            )
        return self._beliefs.disputes(_LOOKED_AT, label)

    def _parties(self, label: Label, disputes: Iterable[Dispute]) -> frozenset[Label]:
        claims = [dispute.claim for dispute in disputes]
        named = {each for claim in claims for each in (claim.claimant, claim.home)}
        # The present holder may have got the Original after the dispute began.
        return frozenset(named | self._homes(label) | set(self._beliefs.succession(label).chain[-1:]))

    def _forms(self, service: Label) -> LabelForms:
        if self._own is not None and service in self._own.service.labels:
            return self._own.service
        found = self._registry.find(service)
        return LabelForms.of(service) if found is None else found.service

    def _homes(self, label: Label) -> frozenset[Label]:
        """Return the homes of a label, by the labels that beliefs use for them."""
        prefix, own = home_prefix(label), self._own
        found = {each.labels[0] for each in self._registry.all() if prefix in each.home_prefixes}
        if own is not None and prefix in own.home_prefixes:
            found.add(own.service.labels[0])
        return frozenset(found)

    def untold(self) -> Iterator[list[Dispute]]:
        """Yield the open disputes to report, as one list for each pair of Archives. These were never reported, or were
        reported at least a day ago and seen again since."""
        now = int(self._wall())
        between: dict[tuple[Label, Label], list[Dispute]] = {}
        for dispute in self.all(settled=False, most=_LOOKED_AT):
            told = dispute.told
            if told is None or (dispute.claim.last_seen > told and now >= told + _DAY):
                between.setdefault((dispute.holder, dispute.claim.claimant), []).append(dispute)
        yield from between.values()

    def note_told(self, disputes: Iterable[Dispute]) -> None:
        for dispute in disputes:
            self._beliefs.record_told(dispute.claim.label, dispute.claim.claimant, int(self._wall()))

    def addresses(self, dispute: Dispute, own_mail: str | None) -> tuple[str, ...]:
        """Return the known addresses of the administrators of both Archives. `own_mail` is the address for the server's
        own Archive."""
        services = (dispute.holder, dispute.claim.claimant)
        return tuple(dict.fromkeys(mail for each in services if (mail := self._mail_of(each, own_mail)) is not None))

    def _mail_of(self, service: Label, own_mail: str | None) -> str | None:
        if self._own is not None and service in self._own.service.labels:
            return own_mail
        found = self._registry.find(service)
        if found is None:
            return None
        return found.admin_mail or (None if found.inclusion is None else found.inclusion.admin_mail or None)


class DisputeMail:
    """Mails disputes to the administrators of both Archives while a server runs, each dispute at most once a day."""

    def __init__(
        self,
        disputes: Disputes,
        mailer: Mailer,
        resolver_url: str,
        own_mail: str | None = None,
        *,
        hold: Callable[[], bool] = hold_alone,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self._disputes, self._mailer, self._resolver_url, self._own_mail = disputes, mailer, resolver_url, own_mail
        self._hold, self._log = hold, log or structlog.get_logger("ibi.resolver")

    def jobs(self) -> tuple[Job, ...]:
        return (Job("dispute mail", self.send_due, _LOOK, hold=self._hold),)

    def send_due(self) -> None:
        """Send the letters that are due. Blocks. If the mail server refuses a letter, log that and retry in a day.
        Otherwise a mail server that always refuses would be asked every minute."""
        for disputes in self._disputes.untold():
            for to in self._disputes.addresses(disputes[0], self._own_mail):
                try:
                    self._mailer.send(dispute_letter(to, disputes, self._resolver_url))
                except IbiError as error:
                    self._log.warning("an administrator cannot be told of a dispute by mail", to=to, reason=str(error))
            self._disputes.note_told(disputes)


class LocalDisputes:
    """Implements `DisputeSource` for commands on a data directory."""

    def __init__(self, disputes: Disputes, by: str) -> None:
        self._disputes, self._by = disputes, by

    def list_disputes(self, *, settled: bool) -> list[DisputeResource]:
        return [DisputeResource.of(each) for each in self._disputes.all(settled=settled)]

    def settle_dispute(self, label: str, holder: str) -> list[DisputeResource]:
        return [DisputeResource.of(each) for each in self._disputes.settle(parse(label), parse(holder), self._by)]


_LOG: Final = structlog.get_logger("ibi.resolver")
_AGAIN: Final = 3600.0
"""Seconds until a silent Archive is asked again."""
_MOST: Final = 100
"""Maximum disputes that one round checks."""


class ProvenanceGateway(Protocol):
    """Asks Archives; `ibi.following.client.feed_client` implements it. It does not raise."""

    async def read_provenance(self, archive: ArchiveRef, label: Label) -> tuple[str, ...] | None:
        """Return the chain of an item, unchecked; empty if the Archive has none, None if it does not answer."""


class BelievedReleases(Protocol):
    """Records believed releases; `ibi.transfers.service.release_register` implements it. Calls block."""

    def hear(self, texts: tuple[str, ...]) -> Label: ...

    def chain(self, label: Label) -> tuple[str, ...]: ...


class ClaimProofs:
    """Asks both Archives of a dispute for the chain of releases (E88, E93). For the event loop of a resolver.

    A believed chain names the holder, no matter which of the two Archives told it. Then the claim of the other Archive
    is over, and no administrator has to decide. The dispute stays open if there is no believed chain, or if one Archive
    has signed two releases.
    """

    def __init__(
        self,
        beliefs: Beliefs,
        releases: BelievedReleases,
        gateway: ProvenanceGateway,
        archives: Callable[[], tuple[ArchiveRef, ...]],
        wall: Callable[[], float],
    ) -> None:
        """`archives` returns the Archives that can be asked."""
        self._beliefs, self._releases, self._gateway = beliefs, releases, gateway
        self._archives, self._wall = archives, wall
        self._job = Job("claim proofs", self.look, _AGAIN)

    def note(self, _claim: object = None) -> None:
        """Look at once, because there is a new claim. May be called from any thread."""
        self._job.wake()

    def jobs(self) -> tuple[Job, ...]:
        return (self._job,)

    async def look(self) -> None:
        """Ask about every open dispute."""
        for dispute in await asyncio.to_thread(self._beliefs.disputes, _MOST, settled=False):
            await self.check(dispute)

    async def check(self, dispute: Dispute) -> None:
        """Ask the claimant, the believed holder and the home for their chains, and believe proven releases."""
        claim, told = dispute.claim, dict[Label, tuple[str, ...]]()
        for party in dict.fromkeys((claim.claimant, dispute.holder, claim.home)):
            archive = next((each for each in self._archives() if party in each.service.labels), None)
            texts = None if archive is None else await self._gateway.read_provenance(archive, claim.label)
            if texts is not None:
                told[party] = texts
        if claim.claimant in told:  # a silent claimant may know more than the others
            await asyncio.to_thread(self._judge, dispute, told)

    def _judge(self, dispute: Dispute, told: dict[Label, tuple[str, ...]]) -> None:
        claim = dispute.claim
        for party, texts in told.items():
            try:
                if texts:
                    self._releases.hear(texts)
            except IbiError as error:
                reason = str(error)
                _LOG.warning("a release is not believed", label=str(claim.label), archive=str(party), reason=reason)
        known, succession = self._releases.chain(claim.label), self._beliefs.succession(claim.label)
        if any(compare_chains(known, texts) is ChainOrder.FORKED for texts in told.values()):
            return  # two releases of one Original: people have to decide
        if succession.is_signed and known:
            holder = succession.chain[-1] if succession.chain else claim.home
            _LOG.info("a dispute is settled by signed releases", label=str(claim.label), holder=str(holder))
            if holder != claim.claimant:
                self._beliefs.record_proof(claim.label, claim.claimant, int(self._wall()))
