"""Second factors of people: set up, confirmed and turned off by themselves, and removed by a command."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, replace

from ibi.accounts.errors import BadSignIn
from ibi.accounts.second_factor import RECOVERY_RANDOM, SECRET_BYTES, recovery_codes
from ibi.instant import Instant
from ibi.model.account import Actor, SecondFactor
from ibi.services.accounts.account_admin import PersonAdmin
from ibi.services.accounts.sign_in import SignedIn, SignIn


@dataclass(frozen=True, slots=True)
class SecondFactors:
    """The second factors of people who are signed in, for the page of their account."""

    sign_in: SignIn
    admin: PersonAdmin

    async def find(self, signed: SignedIn) -> SecondFactor | None:
        """Theirs, confirmed or not."""
        means = self.sign_in.means
        return None if means is None else await self.sign_in.ask(lambda: means.find_factor(signed.person.name))

    async def begin(self, signed: SignedIn) -> None:
        """Make a secret for a device. Nothing asks for its codes until the first one was right."""
        means, name = self.sign_in.means, signed.person.name
        fresh = SecondFactor(secrets.token_bytes(SECRET_BYTES))

        def make(now: SecondFactor | None) -> SecondFactor:
            return fresh if now is None or now.confirmed is None else now

        if means is not None:
            await self.sign_in.ask(lambda: means.change_factor(name, make))

    async def confirm(self, signed: SignedIn, code: str, actor: Actor) -> tuple[str, ...]:
        """Ask for codes from now on, if the device makes the right ones; the recovery codes, which are shown only
        now."""
        shown, kept = recovery_codes(secrets.token_bytes(RECOVERY_RANDOM))
        when = Instant(self.sign_in.clocks.read().wall.seconds)

        def confirm(factor: SecondFactor) -> SecondFactor:
            if factor.confirmed is not None:
                raise BadSignIn()
            return replace(factor, confirmed=when, recovery=kept)

        await self.sign_in.check_code(signed.person, code, confirm)
        await asyncio.to_thread(self.admin.acting_as(actor).record, "set up second factor", signed.person)
        return shown

    async def end(self, signed: SignedIn, code: str, actor: Actor) -> None:
        """Ask for no codes any more; it takes one."""

        def end(_: SecondFactor) -> None:
            return None

        await self.sign_in.check_code(signed.person, code, end)
        await asyncio.to_thread(self.admin.acting_as(actor).record, "end second factor", signed.person)
