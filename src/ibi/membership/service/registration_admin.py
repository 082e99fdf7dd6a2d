"""The register of a resolver: registration by an administrator, inclusion and exclusion by the Archives (R §7)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog
from msgspec import structs
from structlog.typing import FilteringBoundLogger

from ibi.jobs.limits import LimitRows, hold_alone
from ibi.jobs.promptness import ask
from ibi.jobs.runner import Job
from ibi.membership.model.registration import ANSWERS, NotLost, Registration
from ibi.membership.ports.archive_state import PublishedStatement
from ibi.membership.ports.registry import Registry
from ibi.membership.resources import ArchiveApplication, NewlyRegisteredArchive, RegisteredArchiveResource
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.letters import confirmation_letter
from ibi.membership.rules.membership import (
    PrefixHome,
    RegistrationChange,
    UnknownArchive,
    after_call_back,
    require_free_prefixes,
)
from ibi.membership.rules.registration_keys import key_weakness, require_unknown
from ibi.membership.service.inclusion_retries import ContactRecord, InclusionRetries
from ibi.membership.service.inclusions import Ask, Confirm, Inclusions, Prove
from ibi.membership.service.key_check import KeyCheck
from ibi.membership.service.mails import Posted, letter_resource, post
from ibi.membership.service.signers import UNCHECKED, MembershipRequest, ResolverSigner
from ibi.people.model.account import COMMAND, Actor, AuditEntry
from ibi.people.ports import AuditLog
from ibi.people.service.secret_hasher import KeyHasher
from ibi.standard.clock_reading import Clocks
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.label.search import parse_home_prefix
from ibi.standard.mail import Mailer
from ibi.standard.messages.answers import ExclusionStatus, InclusionStatus
from ibi.standard.messages.holders import Field
from ibi.standard.messages.identification import LabelForms, RegistrationKey
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import IpNetwork, network
from ibi.standard.signing import PublicKey


@dataclass(frozen=True, slots=True)
class Application:
    """The data needed to register an Archive."""

    service: LabelForms
    key: RegistrationKey
    admin_mail: str | None = None
    hosts: frozenset[str] = frozenset()
    networks: tuple[IpNetwork, ...] = ()
    prefixes: frozenset[str] = frozenset()
    shared: bool = False
    archive_key: PublicKey | None = None
    """The key that signs the Archive's requests (E81), if it is known already."""

    @classmethod
    def of_words(
        cls,
        labels: Iterable[str],
        key: str,
        admin_mail: str | None = None,
        hosts: Iterable[str] = (),
        networks: Iterable[str] = (),
        prefixes: Iterable[str] = (),
        *,
        shared: bool = False,
        archive_key: str | None = None,
    ) -> Application:
        """Parse texts. `InvalidInput` names the wrong one, and never shows the key."""
        service, secret = LabelForms.of(*map(parse, labels)), RegistrationKey(key)
        return cls(
            service,
            secret,
            admin_mail,
            frozenset(hosts),
            tuple(map(network, networks)),
            frozenset(map(parse_home_prefix, prefixes)),
            shared,
            None if archive_key is None else PublicKey.parse(archive_key),
        )

    @classmethod
    def of_request(cls, wanted: ArchiveApplication) -> Application:
        return cls.of_words(
            wanted.labels,
            wanted.key,
            wanted.admin_mail,
            wanted.hosts,
            wanted.networks,
            wanted.prefixes,
            shared=wanted.shared,
            archive_key=wanted.archive_key,
        )

    def registration(self, now: Instant) -> Registration:
        """Return the registration, still without a hash; `InvalidInput` if it cannot be recorded."""
        return Registration(
            self.service,
            "",
            Instant(now.seconds),
            self.admin_mail,
            self.hosts,
            self.networks,
            prefixes=self.prefixes,
            shared=self.shared,
            key=self.archive_key,
        )


@dataclass(frozen=True, slots=True)
class Registered:
    """A newly registered Archive, with the mail to its administrator, if there is an address."""

    registration: Registration
    posted: Posted | None
    warnings: tuple[str, ...] = ()
    """Sentences for the person who registered it."""

    def resource(self) -> NewlyRegisteredArchive:
        """Return the Archive, the mail and the warnings for the API."""
        return NewlyRegisteredArchive(
            **structs.asdict(RegisteredArchiveResource.whole(self.registration)),
            letter=None if self.posted is None else letter_resource(self.posted),
            warnings=list(self.warnings),
        )


class RegistrationAdmin:
    """Administration of the register, on the event loop of a server or of a command. Reads are immediate; writes and
    hashes run in threads."""

    def __init__(
        self,
        registry: Registry,
        confirm: Confirm,
        clocks: Clocks,
        *,
        resolver_url: str,
        mailer: Mailer | None = None,
        hasher: KeyHasher | None = None,
        compared: LimitRows | None = None,
        hold: Callable[[], bool] = hold_alone,
        own: LabelForms | None = None,
        sandbox: bool = False,
        ask: Ask | None = None,
        prove: Prove | None = None,
        signer: ResolverSigner | None = None,
        on_included: Callable[[ArchiveRef], Awaitable[None]] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        audit: AuditLog | None = None,
        published: PublishedStatement | None = None,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        """`resolver_url` is the URL of this resolver in its mails to Archives. `own` is the service of the server's own
        Archive, which counts as registered. A `sandbox` accepts any key.

        With `ask`, Archives are asked for the unknown form of their label. The `signer` checks the signatures of
        Archives, and signs the answers. With `prove`, Archives are asked to prove their keys. `compared` counts the
        keys that all processes compare. Of several processes, the one for which `hold` is true calls Archives again.
        `on_included` is called in the background for Archives that have confirmed.

        The `audit` log records changes by hand. The `published` register lists the Archives that the administrator
        removes.
        """
        self._published = published
        self._registry, self._clocks, self._audit = registry, clocks, audit
        self._resolver_url, self._mailer = resolver_url, mailer
        self._own, self._sandbox = own, sandbox
        self._hasher, self._signer = hasher or KeyHasher(), signer
        self._log = log or structlog.get_logger("ibi.register")
        self._inclusions = Inclusions(
            registry,
            KeyCheck(registry, self._hasher, monotonic, compared),
            confirm,
            clocks,
            resolver_url=resolver_url,
            mailer=mailer,
            own=own,
            ask=ask,
            prove=prove,
            signer=signer or UNCHECKED,
            on_included=on_included,
            monotonic=monotonic,
            log=self._log,
        )
        self.retries = InclusionRetries(
            registry,
            self._inclusions.retry,
            clocks,
            take_up=self._inclusions.take_up_refused,
            monotonic=monotonic,
            hold=hold,
            log=self._log,
        )
        self.contacts = ContactRecord(registry, clocks, monotonic=monotonic, log=self._log)

    async def include(self, request: InclusionRequest, client: IpAddress | None) -> InclusionStatus:
        """Include an Archive (R §7.2, messages 2 to 5). `KeyRefused` or `TooManyAttempts` if the key is not that of a
        registered Archive."""
        return await self._inclusions.include(request, client)

    async def exclude(self, request: ExclusionRequest, client: IpAddress | None) -> ExclusionStatus:
        """Exclude an Archive (R §7.2, messages 7 and 8)."""
        return await self._inclusions.exclude(request, client)

    def signed_fields(
        self, request: MembershipRequest | None = None, answer: InclusionStatus | ExclusionStatus | None = None
    ) -> tuple[Field, ...]:
        """Return the header fields with the key of this resolver, and the signature of its answer to a request.
        `StorageError` if its key cannot be read. Takes a fraction of a millisecond."""
        if self._signer is None:
            return ()
        if request is None or answer is None:
            return self._signer.fields()
        return (*self._signer.fields(), *self._signer.sign(request, answer))

    def jobs(self) -> tuple[Job, ...]:
        return *self.retries.jobs(), *self.contacts.jobs()

    async def settle(self) -> None:
        """Wait for the background work under way: mails, and questions about forms of labels."""
        await self._inclusions.settle()

    async def register(
        self,
        application: Application,
        *,
        allow_weak_key: bool = False,
        replace_key: bool = False,
        actor: Actor = COMMAND,
    ) -> Registered:
        """Register an Archive (R §7.1). With `replace_key`, give a registered Archive a new key, and everything else
        that the application adds. An Archive that was recovered without a public key gets its registration key either
        way.

        `WeakKey` if the key is among the first guesses, unless allowed or in a sandbox. `AlreadyRegistered`,
        `PrefixTaken`, or `UnknownArchive` if there is none to replace. The mail is sent last; its failure undoes
        nothing.
        """
        if not (allow_weak_key or self._sandbox):
            require_unknown(application.key)
        draft = application.registration(self._clocks.read().wall)
        if not replace_key:
            self._require_not_own(draft, None)
        key_hash = await self._hasher.hash(application.key)
        if replace_key or await self._needs_mail(application):
            registration = await self._replace_key(application, key_hash)
        else:
            registration = replace(draft, key_hash=key_hash)
            await asyncio.to_thread(self._registry.add, registration)
        self._log.info("an Archive was registered", archive=str(registration.labels[0]), new_key=replace_key)
        await self._note("replace archive key" if replace_key else "register archive", registration, actor)
        return Registered(registration, await self._post_letter(registration), self._warnings(application))

    def _warnings(self, application: Application) -> tuple[str, ...]:
        """Return warnings about a key that is easy to guess, which is accepted (E61)."""
        weakness = key_weakness(application.key, application.service.labels)
        if weakness is None:
            return ()
        self._log.warning("a key is easy to guess", archive=str(application.service.labels[0]), reason=weakness)
        return (f"the key is easy to guess, because {weakness}: `ibi resolver register --replace` gives another",)

    async def _needs_mail(self, application: Application) -> bool:
        """Return whether the Archive was recovered without a public key, which it would need to bring its registration
        key."""
        label = application.service.labels[0]
        found = await ask(self._registry, lambda: self._registry.find(label))
        return found is not None and found.awaits_key and found.key is None

    async def _replace_key(self, application: Application, key_hash: str) -> Registration:
        def make(found: Registration) -> Registration:
            after = replace(
                found,
                key_hash=key_hash,
                admin_mail=application.admin_mail or found.admin_mail,
                hosts=found.hosts | application.hosts,
                networks=(*found.networks, *application.networks),
                prefixes=found.prefixes | application.prefixes,
                shared=found.shared or application.shared,
            ).with_key(application.archive_key or found.key)
            self._require_not_own(after, found)
            return after

        return await self._change_registration(application.service.labels[0], make)

    async def _post_letter(self, registration: Registration) -> Posted | None:
        if registration.admin_mail is None:
            return None
        letter = confirmation_letter(registration, registration.admin_mail, self._resolver_url)
        posted = await post(letter, self._mailer)
        if posted.reason is not None:
            self._log.warning("an administrator was not told", reason=posted.reason)
        return posted

    def all(self) -> tuple[Registration, ...]:
        return self._registry.all()

    @property
    def own(self) -> LabelForms | None:
        """The service of the Archive of the same server, which is on no register."""
        return self._own

    async def find(self, label: Label) -> Registration:
        """Return the registration of an Archive; `UnknownArchive` if there is none."""
        return _require_known(await ask(self._registry, lambda: self._registry.find(label)), label)

    async def forget(self, label: Label, *, actor: Actor = COMMAND) -> Registration:
        """Remove an Archive from the register, included or not, and return it. `UnknownArchive` if there is none."""
        known = await self.find(label)
        if self._published is not None:  # first: a list that lacks it without this note has lost it
            await asyncio.to_thread(self._published.note_removed, known.service, int(self._clocks.seconds()))
        found = _require_known(await asyncio.to_thread(self._registry.forget, label), label)
        self._log.info("an Archive was forgotten", archive=str(label))
        await self._note("forget archive", found, actor)
        return found

    async def allow_networks(
        self,
        label: Label,
        add: Sequence[IpNetwork] = (),
        remove: Sequence[IpNetwork] = (),
        *,
        actor: Actor = COMMAND,
    ) -> Registration:
        """Change the private networks in which an Archive may be called. `UnknownArchive` if there is none."""

        def make(found: Registration) -> Registration:
            return replace(found, networks=tuple({*found.networks, *add} - {*remove}))

        changed = await self._change_registration(label, make)
        networks = list(map(str, changed.networks))
        self._log.info("the networks of an Archive were changed", archive=str(label), networks=networks)
        await self._note("change archive", changed, actor)
        return changed

    async def set(self, label: Label, change: RegistrationChange, *, actor: Actor = COMMAND) -> Registration:
        """Change forms, prefixes, hosts, networks, the key that signs an Archive's requests, and the administrator's
        statements about it. Its registration key, its seniority and its inclusion stay.

        `UnknownArchive` if it, or the successor, is not registered. `AlreadyRegistered` or `PrefixTaken` if another has
        the form or a prefix. `InvalidInput` if the result cannot be recorded, or if the Archive answers although it is
        declared lost.
        """
        successor = None if change.successor is None else await self._service_of(change.successor)
        note_call = await self._call_lost(label) if change.lost else None

        def make(found: Registration) -> Registration:
            found = found if note_call is None else note_call(found)
            after = change.apply(found, successor, self._clocks.read().wall)
            self._require_not_own(after, found)
            return after

        changed = await self._change_registration(label, make)
        self._log.info("the registration of an Archive was changed", archive=str(changed.labels[0]))
        await self._note("change archive", changed, actor)
        return changed

    async def _call_lost(self, label: Label) -> Callable[[Registration], Registration] | None:
        """Call an Archive that is declared lost at its last address, included or not: `NotLost` if it answers. Return
        the change that notes its silence; None if it never had an address."""
        found = await self.find(label)
        last = found.inclusion or found.last_inclusion
        if last is None:
            return None
        call = await self._inclusions.call(found, last)
        if call.confirmed:
            raise NotLost(str(found.labels[0]), 0, ANSWERS, address=last.address)
        return partial(after_call_back, asked=last, call=call, now=self._clocks.read().wall)

    async def _note(self, act: str, registration: Registration, actor: Actor) -> None:
        if self._audit is None:
            return
        now, subject = self._clocks.read().wall, f"archive:{registration.labels[0]}"
        entry = AuditEntry(Instant(now.seconds), act, subject, actor.account, actor.token, actor.address)
        await asyncio.to_thread(self._audit.append, [entry])

    async def _service_of(self, label: Label) -> LabelForms:
        if self._own is not None and label in self._own.labels:
            return self._own
        return (await self.find(label)).service

    def _require_not_own(self, after: Registration, before: Registration | None) -> None:
        """Raise `PrefixTaken` if another Archive would get a prefix of the server's own."""
        if self._own is not None and set(self._own.labels).isdisjoint(after.labels):
            require_free_prefixes(after, before, [PrefixHome.of_service(self._own)])

    async def _change_registration(self, label: Label, make: Callable[[Registration], Registration]) -> Registration:
        return _require_known(await asyncio.to_thread(self._registry.change, label, make), label)

    async def close(self) -> None:
        """Cancel the background work. The caller closes the register."""
        await self.contacts.close()
        await self._inclusions.close()
        self._hasher.close()


def _require_known(found: Registration | None, label: Label) -> Registration:
    if found is None:
        raise UnknownArchive(label=str(label))
    return found
