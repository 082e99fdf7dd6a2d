"""Inclusion and exclusion at an Archive's own request (R §7.2), with calls back until it confirms."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.jobs.promptness import ask, end_tasks
from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.archive_keys import SignatureMissing, SignatureRefused, wants_proof
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.membership import (
    WRONG_KEY,
    WRONG_SIGNATURE,
    AlreadyRegistered,
    CallBack,
    KeyRefused,
    PrefixHome,
    PrefixTaken,
    TooManyAttempts,
    after_call_back,
    after_exclusion,
    after_inclusion,
    after_refusal,
    after_silence,
    archive_ref,
    failure_code,
    failure_words,
    inclusion_at,
    is_proven,
    require_free_prefixes,
    with_claimed_forms,
    with_waiting_form,
)
from ibi.membership.service.address_letters import AddressLetters
from ibi.membership.service.key_check import KeyCheck
from ibi.membership.service.refused_requests import RefusedRequests
from ibi.membership.service.signers import UNCHECKED, MembershipRequest, SignatureCheck
from ibi.people.service.secret_hasher import is_of_one_key
from ibi.standard.clock_reading import Clocks
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import Label
from ibi.standard.mail import Mailer
from ibi.standard.messages.answers import ExclusionStatus, InclusionStatus
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.membership import ExclusionRequest, InclusionRequest
from ibi.standard.messages.requests import UrlRequest
from ibi.standard.messages.signatures import RequestSignature
from ibi.standard.messages.url_list import UrlList
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import NO_READER
from ibi.standard.reply import Answered, Failure, Reply
from ibi.standard.signing import PublicKey

Confirm = Callable[[ArchiveRef], Awaitable[CallBack]]
"""Calls an Archive back (R §7.2, message 3) and returns the result. Never raises for an error of the Archive."""

Prove = Callable[[ArchiveRef], Awaitable[PublicKey | None]]
"""Calls an Archive back with a challenge, and returns the key that signed it; None if none did."""

Make = Callable[[Registration], Registration]

_QUESTION: Final = 5.0
"""Seconds in which an Archive has to tell the forms of its label."""


class Ask(Protocol):
    """Asks an Archive for an item; `ibi.resolver.client.gateways` implements it."""

    async def __call__(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply: ...


class Inclusions:
    """Handles inclusions on the event loop of a server; writes run in threads."""

    def __init__(
        self,
        registry: Registry,
        check: KeyCheck,
        confirm: Confirm,
        clocks: Clocks,
        *,
        resolver_url: str,
        mailer: Mailer | None = None,
        own: LabelForms | None = None,
        ask: Ask | None = None,
        prove: Prove | None = None,
        signer: SignatureCheck = UNCHECKED,
        on_included: Callable[[ArchiveRef], Awaitable[None]] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        """`own` is the service of the server's own Archive. With `ask`, an Archive is asked for the unknown form of its
        label. Without a `signer` no signature is checked; with `prove`, a first key is pinned. `on_included` is called
        for Archives that have confirmed."""
        self._registry, self._check, self._confirm, self._clocks = registry, check, confirm, clocks
        self._signer, self._prove, self._on_included = signer, prove, on_included
        self._own, self._ask, self._monotonic = own, ask, monotonic
        self._log = log or structlog.get_logger("ibi.register")
        self._calls: dict[ArchiveRef, asyncio.Task[CallBack]] = {}
        self._beside: set[asyncio.Task[None]] = set()
        self._refused = RefusedRequests()
        self._letters = AddressLetters(resolver_url, mailer, monotonic, self._log)

    async def include(self, request: InclusionRequest, client: IpAddress | None) -> InclusionStatus:
        """Include an Archive (messages 2 to 5). `KeyRefused` or `TooManyAttempts` if the key is not that of a
        registered Archive. `SignatureMissing` or `SignatureRefused` if it has not signed this."""
        arrived = self._clocks.read().wall
        try:
            found = await self._check.require(request, client)
            return await self._include(found, request, arrived)
        except KeyRefused:
            self._run_beside(partial(self._note_refusal, request, client, arrived))
            raise
        except TooManyAttempts:
            self._run_beside(partial(self._note_unchecked, request, client, arrived))
            raise
        except (SignatureMissing, SignatureRefused) as error:
            self._run_beside(partial(self._note_signature, request, error))
            raise

    async def take_up_refused(self, registrations: Iterable[Registration]) -> None:
        """Include the Archives that asked for it before they were registered with their key (E74)."""
        for found, refused in self._refused.take(registrations, self._monotonic()):
            if await self._check.has_key(found, refused.request.registration_key):
                self._log.info("an Archive that had asked before is registered now", archive=str(found.labels[0]))
                # It was given another key, or forgotten, in between.
                with suppress(KeyRefused, SignatureMissing, SignatureRefused):
                    await self._include(found, refused.request, refused.arrived)

    async def _note_unchecked(self, request: InclusionRequest, client: IpAddress | None, arrived: Instant) -> None:
        """Keep a request that came too soon, if its Archive is not registered. For a registered Archive, nobody knows
        whether the key is right, and an earlier request stays."""
        if await self._find(request) is None:
            self._refused.keep(request, client, None, self._monotonic(), arrived)

    async def _note_refusal(self, request: InclusionRequest, client: IpAddress | None, arrived: Instant) -> None:
        found = await self._find(request)
        self._refused.keep(request, client, None if found is None else found.key_hash, self._monotonic(), arrived)
        if found is not None:
            await self._change(found.labels[0], partial(after_refusal, now=arrived, reason=WRONG_KEY))

    async def _note_signature(self, request: InclusionRequest, error: IbiError) -> None:
        self._log.warning("an Archive was not included", archive=str(request.labels[0]), reason=str(error))
        found, now = await self._find(request), self._clocks.read().wall
        if found is not None:
            await self._change(found.labels[0], partial(after_refusal, now=now, reason=WRONG_SIGNATURE))

    async def _find(self, request: MembershipRequest) -> Registration | None:
        registry = self._registry
        return await ask(registry, lambda: next(filter(None, map(registry.find, request.labels)), None))

    async def _include(self, found: Registration, request: InclusionRequest, arrived: Instant) -> InclusionStatus:
        signature, began = self._signer.read(request, arrived), self._clocks.read().wall
        key_hash = await self._check.prove(found, request, signature, self._signer.admit)

        def include(registration: Registration) -> Registration:
            admitted = replace(self._signer.admit(registration, request, signature), key_hash=key_hash)
            return after_inclusion(admitted, request, began)

        # Included before the call, so that a long call, or the end of this process during it, does not prevent it.
        now = await self._change_checked(found, include)
        asked = inclusion_at(now, (request.archive_protocol.scheme, request.archive_address.lower()))
        assert asked is not None
        call = await self.call(now, asked)
        after = await self._change_checked(
            now, partial(after_call_back, asked=asked, call=call, now=self._clocks.read().wall)
        )
        after = await self._adopt_form(after, asked, call)
        if call.confirmed and wants_proof(after, signature):
            after = await self._pin(after, asked, signature)
        if after.inclusion is not None:
            self._tell_of_inclusion(found, after, asked, call)
        if call.confirmed:
            self._ask_for_form(after, asked, call)
            ref = archive_ref(after)
            if self._on_included is not None and ref is not None:
                self._run_beside(partial(self._on_included, ref))
            return InclusionStatus(confirmed=True)
        return InclusionStatus(False, failure_code(call.failure or Failure.UNREACHABLE))

    async def exclude(self, request: ExclusionRequest, client: IpAddress | None) -> ExclusionStatus:
        """Exclude an Archive (messages 7 and 8). The errors are those of `include`."""
        arrived = self._clocks.read().wall
        found = await self._check.require(request, client)
        signature = self._signer.read(request, arrived)
        await self._check.prove(found, request, signature, self._signer.admit)
        await self._change_checked(found, lambda now: after_exclusion(self._signer.admit(now, request, signature)))
        if found.inclusion is not None:
            self._log.info("an Archive was excluded", archive=str(found.labels[0]))
        return ExclusionStatus()

    async def retry(self, registration: Registration, *, may_replace: bool) -> bool:
        """Call an unconfirmed Archive again, at its current address and at a pending one if there is one. Return
        whether the current address answered. With `may_replace`, a pending address replaces one that has been silent
        for long enough (E60)."""
        inclusion, pending = registration.inclusion, registration.pending
        if inclusion is None:
            return False
        asked = [inclusion] if pending is None else [inclusion, pending]
        calls = await asyncio.gather(*(self.call(registration, each) for each in asked))
        label, now = registration.labels[0], self._clocks.read().wall
        for each, call in zip(asked, calls, strict=True):
            if not await self._record_call(label, each, call, now):
                return calls[0].confirmed
        if pending is not None and may_replace and not any(call.confirmed for call in calls):
            await self._replace_silent(label, inclusion, pending)
        return calls[0].confirmed

    async def _record_call(self, label: Label, asked: Inclusion, call: CallBack, now: Instant) -> bool:
        """Record the result of a call. Return whether the Archive is still registered."""
        after = await self._change(label, partial(after_call_back, asked=asked, call=call, now=now))
        if after is None:
            return False
        # Not logged again for an address that had confirmed before.
        if call.confirmed and not asked.confirmed and inclusion_at(after, asked.place) is not None:
            self._log.info("an Archive has confirmed", archive=str(label), address=asked.address)
            await self._adopt_form(after, asked, call)
        return True

    async def settle(self) -> None:
        """Wait for the background work under way."""
        while self._beside:
            await asyncio.wait(tuple(self._beside))

    async def close(self) -> None:
        """Cancel the background work under way."""
        await end_tasks(*self._calls.values(), *self._beside)

    async def _change_checked(self, checked: Registration, make: Make) -> Registration:
        """Change a registration with a checked key by `make`. Nothing is written if it stays the same.

        `KeyRefused` if it was forgotten, or given another key, since the check.
        """

        def change(now: Registration) -> Registration:
            if not is_of_one_key(now.key_hash, checked.key_hash):
                raise KeyRefused()
            return make(now)

        after = await self._change(checked.labels[0], change)
        if after is None:
            raise KeyRefused()
        return after

    async def _change(self, label: Label, make: Make) -> Registration | None:
        now = await ask(self._registry, lambda: self._registry.find(label))
        if now is None or make(now) == now:
            return now
        return await asyncio.to_thread(self._registry.change, label, make)

    async def _replace_silent(self, label: Label, inclusion: Inclusion, pending: Inclusion) -> None:
        now = self._clocks.read().wall
        replaced: list[Registration] = []
        """The registration before, if this process changed it: one mail is enough."""

        def change(found: Registration) -> Registration:
            replaced.clear()
            is_as_it_was = all(
                one is not None and one.place == other.place
                for one, other in ((found.inclusion, inclusion), (found.pending, pending))
            )
            after = after_silence(found, now) if is_as_it_was else found
            if after != found:
                replaced.append(found)
            return after

        after = await self._change(label, change)
        if after is None or not replaced:
            return
        self._log.warning(
            "an Archive is asked at another address that has not confirmed, since the one before is silent",
            archive=str(label),
            address=pending.address,
            before=inclusion.address,
        )
        self._run_beside(partial(self._letters.write_of_replacement, replaced[0], after, inclusion))

    async def call(self, registration: Registration, inclusion: Inclusion) -> CallBack:
        """Call an Archive back. Concurrent requests share one call: no Archive is called twice at once."""
        ref = archive_ref(registration, inclusion)
        assert ref is not None
        call = self._calls.get(ref)
        if call is None:
            call = self._calls[ref] = asyncio.ensure_future(self._confirm_once(ref))
            call.add_done_callback(lambda _: self._calls.pop(ref, None))
        return await asyncio.shield(call)

    async def _confirm_once(self, ref: ArchiveRef) -> CallBack:
        return await self._confirm(ref)

    async def _pin(
        self, registration: Registration, asked: Inclusion, signature: RequestSignature | None
    ) -> Registration:
        """Pin the first key of an Archive (E81) if the server at its address has it: an overheard registration key is
        not enough to give the Archive another key. Return the registration."""
        ref = archive_ref(registration, asked)
        proven = None if self._prove is None or ref is None else await self._prove(ref)
        if signature is None or proven != signature.signer:
            return registration

        def pin(found: Registration) -> Registration:
            counts = found.inclusion is not None and found.inclusion.place == asked.place
            return found.with_key(proven) if counts and found.key is None else found

        after = await self._change(registration.labels[0], pin)
        if after is not None and after.key == proven:
            self._log.info("the key of an Archive is known", archive=str(after.labels[0]), key=str(proven))
        return after or registration

    async def _adopt_form(self, registration: Registration, asked: Inclusion, call: CallBack) -> Registration:
        """Adopt the waiting form of the label (E59), if the call proves it and no other Archive has it or its prefix.
        Return the registration."""
        waiting = registration.waiting
        if waiting is None:
            return registration
        if not is_proven(waiting, asked, call):
            if call.confirmed:
                self._log.warning(
                    "a form of an Archive's label waits for `ibi resolver set`: nothing proves it",
                    archive=str(registration.labels[0]),
                    form=str(waiting),
                    address=asked.address,
                )
            return registration

        def change(found: Registration) -> Registration:
            if found.waiting != waiting:
                return found
            after = with_waiting_form(found)
            if self._own is not None and set(self._own.labels).isdisjoint(found.labels):
                require_free_prefixes(after, found, [PrefixHome.of_service(self._own)])
            return after

        try:
            after = await self._change(registration.labels[0], change)
        except (AlreadyRegistered, PrefixTaken) as error:
            self._log.warning(
                "a form of an Archive's label waits for `ibi resolver set`",
                archive=str(registration.labels[0]),
                form=str(waiting),
                reason=str(error),
            )
            return registration
        if after is None:
            return registration
        self._log.info("the other form of an Archive's label is known", archive=str(after.labels[0]), form=str(waiting))
        return after

    def _ask_for_form(self, registration: Registration, asked: Inclusion, call: CallBack) -> None:
        """Ask an Archive for the other form of its label, if its inclusion does not give it, as with other software."""
        if self._ask is not None and len(registration.labels) == 1 and registration.waiting is None:
            self._run_beside(partial(self._learn_form, self._ask, registration, asked, call))

    async def _learn_form(self, ask: Ask, registration: Registration, asked: Inclusion, call: CallBack) -> None:
        ref = archive_ref(registration, asked)
        assert ref is not None
        label = registration.labels[0]
        reply = await ask(ref, UrlRequest((NO_READER,), label), within=_QUESTION)
        answer = reply.answer if isinstance(reply, Answered) else None
        forms = answer.ibi if isinstance(answer, UrlList) else None
        if forms is None or label not in forms.labels:
            return
        after = await self._change(label, lambda found: with_claimed_forms(found, forms.labels))
        if after is not None:
            await self._adopt_form(after, asked, call)

    def _tell_of_inclusion(self, before: Registration, after: Registration, asked: Inclusion, call: CallBack) -> None:
        archive = str(before.labels[0])
        if after.pending is None or after.pending.place != asked.place:
            told = {} if call.confirmed else {"reason": _reason(before, call)}
            self._log.info(
                "an Archive was included", archive=archive, address=asked.address, confirmed=call.confirmed, **told
            )
            return
        assert after.inclusion is not None
        self._log.warning(
            "an Archive asks to be included at another address, which does not confirm",
            archive=archive,
            address=asked.address,
            still_asked_at=after.inclusion.address,
            reason=_reason(before, call),
        )
        if before.pending is None or before.pending.place != asked.place:
            self._run_beside(partial(self._letters.write_of_pending, after))

    def _run_beside(self, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(self._log_errors(work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _log_errors(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except IbiError as error:
            self._log.error("an inclusion was not followed up", reason=str(error))


def _reason(registration: Registration, call: CallBack) -> str:
    return failure_words(failure_code(call.failure or Failure.UNREACHABLE), registration.labels[0])
