"""Mails to the administrators of Archives about new addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from structlog.typing import FilteringBoundLogger

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.rules.letters import pending_letter, replaced_letter
from ibi.membership.service.mails import post
from ibi.standard.label import Label
from ibi.standard.mail import Letter, Mailer

_LETTERS_APART: Final = 3600.0
"""Seconds between two mails about new addresses of one Archive: a stolen key must not fill a mailbox."""

_MOST_TOLD: Final = 4096


class AddressLetters:
    """Tells administrators, by mail, of an address that a request brought."""

    def __init__(
        self, resolver_url: str, mailer: Mailer | None, monotonic: Callable[[], float], log: FilteringBoundLogger
    ) -> None:
        self._resolver_url, self._mailer, self._monotonic, self._log = resolver_url, mailer, monotonic, log
        self._told: dict[Label, float] = {}
        """The time of the last mail about a new address of an Archive."""

    async def write_of_pending(self, registration: Registration) -> None:
        """Tell of an address that does not confirm, once in a while for each Archive."""
        label, now = registration.labels[0], self._monotonic()
        last = self._told.get(label)
        if last is not None and now - last < _LETTERS_APART:
            return
        if len(self._told) >= _MOST_TOLD:
            del self._told[next(iter(self._told))]
        self._told[label] = now
        await self._write(registration, lambda to: pending_letter(registration, to, self._resolver_url))

    async def write_of_replacement(self, before: Registration, after: Registration, silent: Inclusion) -> None:
        """Tell of an address that replaces a silent one."""
        await self._write(before, lambda to: replaced_letter(after, silent, to, self._resolver_url))

    async def _write(self, registration: Registration, letter: Callable[[str], Letter]) -> None:
        """Write to the administrator who is registered or was named from the current address: never to one that only
        the new address names."""
        inclusion, archive = registration.inclusion, str(registration.labels[0])
        recipient = registration.admin_mail or (None if inclusion is None else inclusion.admin_mail or None)
        if recipient is None:
            return
        posted = await post(letter(recipient), self._mailer)
        if posted.sent:
            self._log.info("an administrator was told of a new address", archive=archive)
        else:
            reason = posted.reason or "no mail server is set"
            self._log.warning("an administrator was not told of a new address", archive=archive, reason=reason)
