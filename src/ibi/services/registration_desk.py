"""The register of a resolver: Archives registered by hand, included and excluded by themselves (R §7)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.instant import Instant
from ibi.label import Label, parse
from ibi.messages.answers import ExclusionStatus, InclusionStatus
from ibi.messages.field import IpAddress
from ibi.messages.key import RegistrationKey
from ibi.messages.label_forms import LabelForms
from ibi.messages.membership import ExclusionRequest, InclusionRequest
from ibi.model.registration import Registration
from ibi.model.visibility import IpNetwork, network
from ibi.ports.clocks import Clocks
from ibi.ports.mailer import Mailer
from ibi.ports.registry import Registry
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.confirmation_letter import confirmation_letter
from ibi.resolver.errors import KeyRefused, UnknownArchive
from ibi.resolver.key_strength import require_strong
from ibi.resolver.membership import archive_ref, called_back, excluded, included
from ibi.services.key_check import KeyCheck
from ibi.services.key_hashing import KeyHasher
from ibi.services.mail import Posted, post

__all__ = ["Application", "Confirm", "Registered", "RegistrationDesk"]

Confirm = Callable[[ArchiveRef], Awaitable[bool]]
"""Calls an Archive back (R §7.2, message 3): whether it answered `confirmation yes`. Raises for nothing it does."""


@dataclass(frozen=True, slots=True)
class Application:
    """What is needed to register an Archive."""

    service: LabelForms
    key: RegistrationKey
    admin_mail: str | None = None
    hosts: frozenset[str] = frozenset()
    networks: tuple[IpNetwork, ...] = ()

    @classmethod
    def of_words(
        cls,
        labels: Iterable[str],
        key: str,
        admin_mail: str | None = None,
        hosts: Iterable[str] = (),
        networks: Iterable[str] = (),
    ) -> Application:
        """Read from texts; an `InvalidInput` names the one that is wrong, and never shows the key."""
        service, secret = LabelForms.of(*map(parse, labels)), RegistrationKey(key)
        return cls(service, secret, admin_mail, frozenset(hosts), tuple(map(network, networks)))

    def registration(self, now: Instant) -> Registration:
        """As yet without a hash; `InvalidInput` if it cannot be put on record."""
        return Registration(self.service, "", Instant(now.seconds), self.admin_mail, self.hosts, self.networks)


@dataclass(frozen=True, slots=True)
class Registered:
    """An Archive that has been registered, and the letter that tells its administrator, if there is an address."""

    registration: Registration
    posted: Posted | None


class RegistrationDesk:
    """On the event loop of a server or of a command. Looks are taken at once; whatever writes or hashes does so
    beside it."""

    def __init__(
        self,
        registry: Registry,
        confirm: Confirm,
        clocks: Clocks,
        *,
        resolver_url: str,
        mailer: Mailer | None = None,
        hasher: KeyHasher | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        """`resolver_url` is where Archives reach this resolver, as its letters tell it."""
        self._registry, self._confirm, self._clocks = registry, confirm, clocks
        self._resolver_url, self._mailer = resolver_url, mailer
        self._hasher = hasher or KeyHasher()
        self._check = KeyCheck(registry.find, self._hasher, monotonic)
        self._log = log or structlog.get_logger("ibi.register")
        self._calls: dict[ArchiveRef, asyncio.Task[bool]] = {}

    # --- by the Archives themselves (R §7.2) --------------------------------------------------------------------------

    async def include(self, request: InclusionRequest, client: IpAddress | None) -> InclusionStatus:
        """Messages 2 to 5. `KeyRefused` and `TooManyAttempts` if the key is not that of a registered Archive."""
        found = await self._check.require(request, client)
        # Included before it is called: should the call take long, or end with this process, it is included anyway.
        now = await self._changed(found, partial(included, request=request, now=self._clocks.read().wall))
        asked, ref = now.inclusion, archive_ref(now)
        assert asked is not None
        assert ref is not None
        answered = await self._called(ref)
        after = await self._changed(found, partial(called_back, asked=asked, confirmed=answered))
        if after.inclusion is not None:
            self._log.info(
                "an Archive was included", archive=str(found.labels[0]), address=asked.address, confirmed=answered
            )
        return InclusionStatus(confirmed=answered)

    async def exclude(self, request: ExclusionRequest, client: IpAddress | None) -> ExclusionStatus:
        """Messages 7 and 8."""
        found = await self._check.require(request, client)
        await self._changed(found, excluded)
        if found.inclusion is not None:
            self._log.info("an Archive was excluded", archive=str(found.labels[0]))
        return ExclusionStatus()

    async def _changed(self, checked: Registration, make: Callable[[Registration], Registration]) -> Registration:
        """What `make` makes of a registration whose key was checked; nothing is written if that is the same.

        `KeyRefused` if it was forgotten, or given another key, since it was checked.
        """

        def made(now: Registration) -> Registration:
            if now.key_hash != checked.key_hash:
                raise KeyRefused()
            return make(now)

        label = checked.labels[0]
        now = self._registry.find(label)
        after = now if now is None or made(now) == now else await self._beside(label, made)
        if after is None:
            raise KeyRefused()
        return after

    async def _beside(self, label: Label, make: Callable[[Registration], Registration]) -> Registration | None:
        return await asyncio.to_thread(self._registry.change, label, make)

    async def _called(self, ref: ArchiveRef) -> bool:
        """Whoever asks for the same while the call is under way waits for that one: nobody is called twice at once."""
        call = self._calls.get(ref)
        if call is None:
            call = self._calls[ref] = asyncio.ensure_future(self._confirmed(ref))
            call.add_done_callback(lambda _: self._calls.pop(ref, None))
        return await asyncio.shield(call)

    async def _confirmed(self, ref: ArchiveRef) -> bool:
        return await self._confirm(ref)

    # --- by hand (R §7.1) ---------------------------------------------------------------------------------------------

    async def register(
        self, application: Application, *, allow_weak_key: bool = False, replace_key: bool = False
    ) -> Registered:
        """Put an Archive on record; with `replace_key`, give one that is there a new key and leave the rest of it, but
        for what the application adds.

        `WeakKey` unless allowed, `AlreadyRegistered`, or `UnknownArchive` if there is none to replace. The letter is
        sent, if it can be, when all is done; that it could not be undoes nothing.
        """
        if not allow_weak_key:
            require_strong(application.key, application.service.labels)
        draft = application.registration(self._clocks.read().wall)
        key_hash = await self._hasher.hash(application.key)
        if replace_key:
            registration = await self._given_key(application, key_hash)
        else:
            registration = replace(draft, key_hash=key_hash)
            await asyncio.to_thread(self._registry.add, registration)
        self._log.info("an Archive was registered", archive=str(registration.labels[0]), new_key=replace_key)
        return Registered(registration, await self._posted(registration))

    async def _given_key(self, application: Application, key_hash: str) -> Registration:
        def make(found: Registration) -> Registration:
            return replace(
                found,
                key_hash=key_hash,
                admin_mail=application.admin_mail or found.admin_mail,
                hosts=found.hosts | application.hosts,
                networks=(*found.networks, *application.networks),
            )

        return await self._changed_by_hand(application.service.labels[0], make)

    async def _posted(self, registration: Registration) -> Posted | None:
        if registration.admin_mail is None:
            return None
        posted = await post(
            confirmation_letter(registration, registration.admin_mail, self._resolver_url), self._mailer
        )
        if posted.reason is not None:
            self._log.warning("an administrator was not told", reason=posted.reason)
        return posted

    def all(self) -> tuple[Registration, ...]:
        return self._registry.all()

    def find(self, label: Label) -> Registration:
        """`UnknownArchive` if there is none."""
        return _known(self._registry.find(label), label)

    async def forget(self, label: Label) -> Registration:
        """Take an Archive off the record, whether it is included or not; what it was. `UnknownArchive`."""
        found = _known(await asyncio.to_thread(self._registry.forget, label), label)
        self._log.info("an Archive was forgotten", archive=str(label))
        return found

    async def allow_networks(
        self, label: Label, add: Sequence[IpNetwork] = (), remove: Sequence[IpNetwork] = ()
    ) -> Registration:
        """Let an Archive be dialled in networks that are not of the whole Internet, or no longer. `UnknownArchive`."""

        def make(found: Registration) -> Registration:
            return replace(found, networks=tuple({*found.networks, *add} - {*remove}))

        changed = await self._changed_by_hand(label, make)
        self._log.info(
            "the networks of an Archive were changed", archive=str(label), networks=list(map(str, changed.networks))
        )
        return changed

    async def _changed_by_hand(self, label: Label, make: Callable[[Registration], Registration]) -> Registration:
        return _known(await self._beside(label, make), label)

    async def close(self) -> None:
        """Break off what is under way. The register is closed by whoever opened it."""
        calls = tuple(self._calls.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        self._hasher.close()


def _known(found: Registration | None, label: Label) -> Registration:
    if found is None:
        raise UnknownArchive(label=str(label))
    return found
