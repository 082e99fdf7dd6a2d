"""Resolution without the resolver (E94): an Archive keeps a copy of the register, and uses it while the resolver is
away.

While the resolver answers, the Archive leaves links to items elsewhere to the resolver. Otherwise the Archive resolves
these links for its own readers. It asks the other Archives on the register, as a resolver would.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.jobs.runner import Job
from ibi.membership.model.membership import FetchedRegister, OfferedKey, ResolverStanding
from ibi.membership.ports.archive_state import RegisterStore
from ibi.membership.rules.authority import ArchiveRef, Homes
from ibi.membership.rules.signed_register import ListedArchive, SignedRegister, read_register
from ibi.standard.errors import ErrorKind, IbiError
from ibi.standard.messages.signatures import former_keys, leads_to
from ibi.standard.signing import InvalidStatement, PublicKey
from ibi.standard.storage_errors import StorageError

FETCH_EVERY: Final = 60.0
"""Seconds between two looks at the resolver's register. If the register is missing, the wait is shorter."""
_SOON: Final = 5.0
PATIENCE: Final = 1.0
"""Maximum seconds that a working resolver takes to answer."""
_FRESH: Final = 0.25
"""Seconds for which an answer proves that the resolver is there. Readers who come at the same time share one look."""
_MOST_NAMED: Final = 3
"""Maximum lost Archives that an error names."""
_MOST_RUNS: Final = 16
_AWAY: Final = 5.0
"""Seconds for which a silent resolver counts as away. Meanwhile this Archive looks for it, and no reader waits."""


class RegisterRefused(IbiError):
    """The register of {resolver} is not taken: {reason}."""

    code = "register-refused"
    kind = ErrorKind.UPSTREAM_FAILED


class RegisterMissing(IbiError):
    """The register of {resolver} was not read yet: this replica leads nowhere until it is."""

    code = "register-missing"
    kind = ErrorKind.UNAVAILABLE


class RegisterGateway(Protocol):
    """Asks the resolver; `ibi.membership.client.resolver_gateway` implements it. An error of the resolver never
    raises."""

    async def fetch(self, etag: str | None) -> FetchedRegister: ...

    async def is_there(self, within: float) -> bool: ...

    async def offered_key(self, known: PublicKey | None, within: float) -> OfferedKey: ...


def _ignore() -> None:
    """Do nothing: by default no part of the server waits for this call."""


class KeptRegister:
    """The Archives of the stored register, as a `Directory` for resolutions. For one event loop."""

    def __init__(
        self,
        gateway: RegisterGateway,
        store: RegisterStore,
        resolver: str,
        own: ArchiveRef | None = None,
        *,
        log: FilteringBoundLogger | None = None,
        chance: Callable[[], float] = random.random,
        takes_losses: bool = False,
    ) -> None:
        """`resolver` is the URL of the resolver. `own` is the Archive of this process, if there is one: it is asked
        without a network. `takes_losses` is True if an operator has accepted a register that lost Archives."""
        self._takes_losses = takes_losses
        self._gateway, self._store, self._resolver, self._own = gateway, store, resolver, own
        self._log = log or structlog.get_logger("ibi.membership")
        self._chance = chance
        self._told: str | None = None
        self.presence: ResolverPresence | None = None
        """Tells whether the resolver is there. None if this Archive stands in for no resolver."""
        self._noted: ResolverStanding | str | None = ""
        self.register: SignedRegister | None = None
        self.refusal: str | None = None
        """The reason why the resolver's present register is refused; None if it is accepted."""
        self.on_unlisted: Callable[[], object] = _ignore
        """Called on the event loop if the present register does not include this Archive, or needs the registration key
        again."""
        self._lacks_own = False
        """True if the accepted register was of that kind. It may be older than an inclusion that was under way."""
        self._archives: tuple[ArchiveRef, ...] = () if own is None else (own,)
        self._homes = Homes.of_archives(self._archives)

    def archives(self) -> tuple[ArchiveRef, ...]:
        return self._archives

    def homes(self) -> Homes:
        return self._homes

    def check(self) -> None:
        """Raise `RegisterMissing` while there is no register. For the monitoring of a replica."""
        if self.register is None:
            raise RegisterMissing(resolver=self._resolver)

    @property
    def standing(self) -> ResolverStanding | None:
        """The known reason why this Archive resolves in the place of its resolver; None if it does not."""
        presence = self.presence
        if presence is None or self.register is None:
            return None
        if presence.standing is not ResolverStanding.THERE:
            return presence.standing
        return None if self.refusal is None else ResolverStanding.REGISTER_REFUSED

    async def is_alone(self) -> bool:
        """Return whether this Archive has to resolve links to items elsewhere. That needs a stored register. And the
        resolver must be away, or must have failed to prove its key or to offer an acceptable register."""
        if self.presence is None or self.register is None:
            return False
        return self.refusal is not None or await self.presence.is_away()

    async def admit(self) -> bool:
        """Return whether this Archive accepts the register of a resolver that is back."""
        await self.fetch()
        return self.refusal is None

    def load(self) -> None:
        """Load the register that an earlier process stored. Blocks."""
        statement = self._store.read()
        if statement is None:
            return
        try:
            self._use(self._verify_kept(statement))
        except (InvalidStatement, RegisterRefused, StorageError) as error:
            self._tell("the register that was kept is not used", str(error))

    def jobs(self) -> tuple[Job, ...]:
        return (Job("register", self._follow, FETCH_EVERY),)

    async def close(self) -> None:
        """End a look at the resolver that is under way."""
        if self.presence is not None:
            await self.presence.close()

    async def fetch(self) -> bool:
        """Ask the resolver once. Return whether the stored register is the present register of the resolver."""
        fetched = await self._gateway.fetch(None if self.register is None else self.register.etag)
        if fetched.statement is None:
            if fetched.is_known and self._lacks_own:
                self._lacks_own = False
                self.on_unlisted()
            return fetched.is_known
        try:
            # Put into use here, so that a resolution sees Archives and homes of one state.
            self._use(await asyncio.to_thread(self._take, fetched.statement))
        except (InvalidStatement, RegisterRefused, StorageError) as error:
            self._tell("the register of the resolver is not taken", str(error))
            if not isinstance(error, StorageError):
                self.refusal = str(error)
            return False
        self._told = self.refusal = None
        self._lacks_own = self._is_unlisted()
        return True

    async def _follow(self) -> float:
        return await self.look() * (0.75 + self._chance() / 2)  # not all Archives ask at the same moment

    async def look(self) -> float:
        """Ask for the register, and look whether the resolver is there. Return the seconds until the next look."""
        is_newest, presence = await self.fetch(), self.presence
        if presence is None:
            return FETCH_EVERY if is_newest or self.register is not None else _SOON
        await presence.find_out()
        await asyncio.to_thread(self._note_standing, self.standing)
        is_settled = self.standing is None and not self._lacks_own
        return FETCH_EVERY if is_settled and (is_newest or self.register is not None) else _SOON

    def _take(self, statement: str) -> SignedRegister:
        """Store a register after a check that it comes from the resolver itself. Blocks."""
        register = self._verify(statement)
        before = self.register
        if before is not None and register.signer == before.signer and register.issued < before.issued:
            raise RegisterRefused(resolver=self._resolver, reason="it is older than the one that is kept")
        if before is not None:
            self._check_losses(before, register)
        # The signature also covers the statements of former keys: the resolver itself says that those were its own.
        self._store.pin(self._resolver, register.signer, former_keys(register.signer, register.changes))
        self._store.write(statement)
        return register

    def _check_losses(self, before: SignedRegister, register: SignedRegister) -> None:
        """Set the stored register aside if the new register lacks some of its Archives. Raise `RegisterRefused` if the
        resolver does not report their removal: it has lost them, and the stored register can bring them back.
        Blocks."""
        lacking = [each for each in before.archives if each.registered and register.find(each.home.service) is None]
        if not lacking or not _is_same_resolver(before, register):
            return
        self._store.keep_former(before.text, before.issued, len(before.archives))
        lost = [each for each in register.lost_since(before) if not self._is_own(each)]  # that one asks anew
        # Equal texts: another process was told to accept the register.
        if not lost or self._takes_losses or self._store.read() == register.text:
            return
        reason = (
            f"it lacks Archives that were registered, and does not say that they were removed: {_name_some(lost)}; its"
            " administrator brings them back with `ibi resolver recover`"
        )
        raise RegisterRefused(resolver=self._resolver, reason=reason)

    def read_former(self) -> str | None:
        """Return the valid register with the most Archives among those set aside. Blocks."""
        for statement in self._store.former():
            with suppress(InvalidStatement, RegisterRefused):
                return self._verify_kept(statement).text
        return None

    def _verify_kept(self, statement: str) -> SignedRegister:
        """Return a register that was accepted before. A register with the signature of a former key of the resolver is
        valid until the next register comes."""
        register = read_register(statement)
        is_former = register.signer in self._store.former_keys(self._resolver)
        return register if is_former else self._verify(statement)

    def _verify(self, statement: str) -> SignedRegister:
        register = read_register(statement)
        known = self._store.resolver_key(self._resolver)
        if known is not None and not leads_to(known, register.signer, register.changes):
            raise RegisterRefused(
                resolver=self._resolver,
                reason=f"it is signed by {register.signer}, and the resolver is known by {known}; if it has a new key,"
                " as its administrator can tell, `ibi key trust-resolver` lets this Archive believe it",
            )
        return register

    def _use(self, register: SignedRegister) -> None:
        own = self._own
        archives = tuple(map(self._with_own, register.archives))
        refs = tuple(each.home.archive for each in archives if each.home.archive is not None)
        listed = [(each.home, each.prefixes) for each in archives]
        if own is not None and not any(each.home.archive is own for each in archives):
            listed.insert(0, (ListedArchive.of_own(own).home, frozenset(own.home_prefixes)))
        self._archives = (*(() if own is None else (own,)), *(ref for ref in refs if ref is not own))
        self._homes = Homes(listed)
        self.register = register

    def _is_unlisted(self) -> bool:
        own, register = self._own, self.register
        if own is None or register is None:
            return False
        entry = register.find(own.service)
        return entry is None or entry.home.archive is None or entry.awaits_key

    def _note_standing(self, standing: ResolverStanding | None) -> None:
        """Store the standing of the resolver, for commands. Blocks."""
        if standing == self._noted:
            return
        try:
            self._store.note_standing(standing)
        except StorageError as error:
            self._tell("that this Archive stands in for its resolver is not noted", str(error))
            return
        if standing is not None:
            self._log.warning("this Archive stands in for its resolver", resolver=self._resolver, reason=standing.value)
        elif self._noted:
            self._log.info("this Archive leaves links to its resolver again", resolver=self._resolver)
        self._noted = standing

    def _with_own(self, listed: ListedArchive) -> ListedArchive:
        """Return the entry. The entry of this Archive leads to this process, whatever address the register gives."""
        return replace(listed, home=listed.home._replace(archive=self._own)) if self._is_own(listed) else listed

    def _is_own(self, listed: ListedArchive) -> bool:
        own = self._own
        return own is not None and not set(own.service.labels).isdisjoint(listed.home.service.labels)

    def _tell(self, what: str, reason: str) -> None:
        if reason != self._told:  # once, not at every attempt
            self._told = reason
            self._log.warning(what, reason=reason)


def _name_some(lost: Sequence[ListedArchive]) -> str:
    names = ", ".join(str(each.home.service.labels[0]) for each in lost[:_MOST_NAMED])
    return f"{names} and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else names


def _is_same_resolver(before: SignedRegister, register: SignedRegister) -> bool:
    """Return whether two registers are of one resolver, by its address or its key, and not of a successor."""
    if before.resolver.rstrip("/") == register.resolver.rstrip("/"):
        return True
    return leads_to(before.signer, register.signer, register.changes)


async def _admit() -> bool:
    """Return True: by default, a resolver that proves its key counts as present."""
    return True


class ResolverPresence:
    """Tells whether the resolver is there. An answer counts for a quarter of a second. Once the resolver is known to be
    away, no reader waits for a look. For one event loop.

    A resolver with a known key has to prove the key at each look. When the resolver is back, or was started again, this
    Archive has to accept its register, which may come from a backup or be lost.
    """

    def __init__(
        self,
        gateway: RegisterGateway,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        known_key: Callable[[], PublicKey | None] | None = None,
        admit: Callable[[], Awaitable[bool]] = _admit,
    ) -> None:
        """`known_key` blocks."""
        self._gateway, self._monotonic = gateway, monotonic
        self._known_key, self._admit = known_key, admit
        self.standing = ResolverStanding.THERE
        """As of the last look."""
        self._looked = float("-inf")
        self._runs: deque[str] = deque(maxlen=_MOST_RUNS)
        """The first run of the resolver, and all runs with an accepted register. Each replica of the resolver has a run
        of its own."""
        self._looking: asyncio.Task[bool] | None = None

    async def is_away(self) -> bool:
        age = self._monotonic() - self._looked
        if self.standing is ResolverStanding.THERE:
            return False if age < _FRESH else not await self.find_out()
        if age >= _AWAY:
            self._begin()  # the look goes on in the background: this reader does not wait
        return True

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def find_out(self) -> bool:
        """Look at the resolver, and return whether it is there."""
        # A reader who goes away must not end the look for the others.
        return await asyncio.shield(self._begin())

    def _begin(self) -> asyncio.Task[bool]:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._ask(), name="resolver-presence")
        return self._looking

    async def _ask(self) -> bool:
        found, run = await self._look()
        is_new = run not in self._runs
        is_back = self.standing is not ResolverStanding.THERE or (is_new and len(self._runs) > 0)
        if found is ResolverStanding.THERE and is_back and not await self._admit():
            found = ResolverStanding.REGISTER_REFUSED
        if found is ResolverStanding.THERE and is_new:
            self._runs.append(run)
        self.standing, self._looked = found, self._monotonic()
        return found is ResolverStanding.THERE

    async def _look(self) -> tuple[ResolverStanding, str]:
        """Return the standing of the resolver, and its run."""
        try:
            known = None if self._known_key is None else await asyncio.to_thread(self._known_key)
        except StorageError:  # no other key may take its place
            return ResolverStanding.UNPROVEN, ""
        if known is not None:
            offered = await self._gateway.offered_key(known, PATIENCE)
            return offered.standing, offered.run
        return ResolverStanding.THERE if await self._gateway.is_there(PATIENCE) else ResolverStanding.SILENT, ""
