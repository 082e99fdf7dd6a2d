"""Resolves persistent URLs for all readers of one server (R §8.2): it chooses the Archives to ask, learns from the
answers, and caches outcomes.

An Archive in the same process is asked without a task and without waiting. Outcomes are cached for as long as the
Archive allows (E32). Acknowledgments are sent in the background (`ibi.resolver.service.acknowledgments`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Final, Protocol

import structlog

from ibi.items.service.change_watch import ChangeWatch, Touched
from ibi.jobs.limits import ConcurrencyLimiter, LimitExceeded, LimitScope, TooManyLinks, link_limiter, trace_limiter
from ibi.jobs.promptness import OneThread
from ibi.membership.rules.authority import NO_ROUTING, ArchiveRef, Homes, Word
from ibi.resolver.rules.basis import Basis, basis_of, basis_of_redirect
from ibi.resolver.rules.caching import (
    LONGEST,
    NO_FEEDS,
    Cache,
    ChangeFeeds,
    HeardFacts,
    OutcomeKey,
    Remembered,
    longest_followed,
    max_ttl,
)
from ibi.resolver.rules.memory import Memory, NewClaim
from ibi.resolver.rules.outcome import Missing, NotFound, Outcome, Redirect, RelatedItemMissing, confirm_not_found
from ibi.resolver.rules.policy import Policy, exempt, is_declared_or_of_the_holder, is_on_a_declared_host
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Trace
from ibi.resolver.service.misses import MISS, QUESTION, MissLimit, TickShare
from ibi.resolver.service.resolution_runner import (
    NO_WATCHER,
    ForeignUrls,
    Gateway,
    PendingResolution,
    ReaderRequest,
    ResolutionRunner,
    Resolved,
    Unfinished,
    Watcher,
)
from ibi.standard.errors import IbiError
from ibi.standard.label import Label
from ibi.standard.language_choice import Preference
from ibi.standard.messages.values import IpAddress
from ibi.standard.persistent_url import PersistentUrl


class Directory(Protocol):
    """The included Archives and the homes of labels; the same values until they change."""

    def archives(self) -> tuple[ArchiveRef, ...]: ...

    def homes(self) -> Homes: ...


_LOG: Final = structlog.get_logger("ibi.resolver")


_LEAST_BUDGET: Final = 0.1


def _ignore(_: object) -> None:
    """Do nothing: by default second claims are neither looked for nor looked at."""


class ResolverService:
    """Resolves for one server, from its event loop.

    `own` is the Archive of this server, which need not declare the hosts of its items. `changes` reports its changes,
    by any process: outcomes made from them are dropped. `feeds` tells which other Archives are followed. `wall` is the
    time of day in POSIX seconds.
    """

    def __init__(
        self,
        directory: Directory,
        gateway: Gateway,
        *,
        memory: Memory,
        policy: Policy | None = None,
        foreign_urls: ForeignUrls = ForeignUrls.REFUSE,
        own: ArchiveRef | None = None,
        cache: Cache | None = None,
        traces: ConcurrencyLimiter | None = None,
        links: ConcurrencyLimiter | None = None,
        misses: MissLimit | None = None,
        changes: ChangeWatch | None = None,
        feeds: ChangeFeeds = NO_FEEDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        watcher: Watcher = NO_WATCHER,
    ) -> None:
        self._directory, self._gateway, self._own = directory, gateway, own
        self._policy, self._lenient = _policies(policy or Policy(), foreign_urls, own)
        self._confirms = foreign_urls is not ForeignUrls.REFUSE
        self._memory = memory
        self._cache = Cache() if cache is None else cache
        self._feeds, self._heard = feeds, HeardFacts()
        self._traces = trace_limiter() if traces is None else traces
        self._links = link_limiter() if links is None else links
        self.misses = MissLimit() if misses is None else misses
        self._fan_out = TickShare()
        self._changes, self._clock, self._wall, self._watcher = changes, clock, wall, watcher
        if changes is not None:
            changes.tell(self._forget_touched)
        self._step = OneThread("ibi-resolver")  # memory is not for several threads at a time
        self.on_found: Callable[[Resolved], object] = _ignore
        """Called with every new outcome, unless there is only the own Archive."""
        self.on_claimed: Callable[[NewClaim], object] = _ignore
        """Called with every new false claim, from any thread."""

    def watch(self, watcher: Watcher) -> None:
        self._watcher = watcher

    async def resolve(
        self,
        url: PersistentUrl,
        clients: tuple[IpAddress, ...],
        preferences: Sequence[Preference] = (),
        *,
        base: str,
        fresh: bool = False,
    ) -> Resolved:
        """Resolve to the end. With `fresh` the cache is bypassed, so that there is a trace to show; `TooManyTraces` if
        too many do so."""
        reader = ReaderRequest(url, clients, preferences, base)
        if not fresh:
            return await self._finish_begun(self._start(reader))
        give_back = self._turn(self._traces, clients)
        try:
            return await self._finish_begun(self._start(reader, fresh=True))
        finally:
            give_back()

    def _turn(self, turns: ConcurrencyLimiter, clients: tuple[IpAddress, ...]) -> Callable[[], None]:
        try:
            return turns.acquire(clients[0] if clients else None, ceil(self._policy.budget))
        except LimitExceeded as refusal:
            self._watcher.on_turned_away(refusal)
            raise

    async def _finish_begun(self, begun: Resolved | Unfinished) -> Resolved:
        return begun if isinstance(begun, Resolved) else await begun()

    def begin(
        self,
        url: PersistentUrl,
        clients: tuple[IpAddress, ...],
        preferences: Sequence[Preference] = (),
        *,
        base: str,
        anew: bool = False,
    ) -> Resolved | Unfinished:
        """Return the outcome, if no remote Archive has to be asked; otherwise the rest, to be finished. `TooManyLinks`
        if too many wait.

        `clients` are the reader's address, then the proxies'. `base` is the address of this resolver (E26). With `anew`
        the reader does not want the cached outcome: that is a miss, which waits for its turn as others do. If it would
        be refused, the reader gets the cached outcome all the same, with its age (E32).
        """
        reader = ReaderRequest(url, clients, preferences, base, wants_anew=anew)
        if not anew:
            return self._start(reader)
        try:
            begun = self._start(reader, fresh=True)
        except LimitExceeded:
            return self._start(reader._replace(is_refused=True), has_turn=True)
        return begun if isinstance(begun, Resolved) else partial(self._finish_anew, reader, begun)

    async def _finish_anew(self, reader: ReaderRequest, rest: Unfinished) -> Resolved:
        try:
            return await rest()
        except LimitExceeded:
            return await self._finish_begun(self._start(reader._replace(is_refused=True), has_turn=True))

    async def _in_turn(self, reader: ReaderRequest, *, fresh: bool) -> Resolved:
        """Resolve for a network that has used up its allowance of misses."""
        try:
            await self.misses.turn(reader.client)
        except LimitExceeded as refusal:
            found = await self._found_here(reader)
            if found is None:
                self._watcher.on_turned_away(refusal)
                raise
            return found
        return await self._finish_begun(self._start(reader, fresh=fresh, has_turn=True))

    async def _found_here(self, reader: ReaderRequest) -> Resolved | None:
        """Return the outcome, if it is cached by now or in the own Archive: such links are never refused."""
        try:
            begun = self._start(reader._replace(is_refused=True), has_turn=True)
            if not self._memory.prompt:
                begun = await self._finish_begun(begun)
        except LimitExceeded:
            return None
        return begun if isinstance(begun, Resolved) and isinstance(begun.outcome, Redirect) else None

    async def count_unreadable(self, clients: tuple[IpAddress, ...]) -> None:
        """Charge for an unreadable link. Before its error is explained, it waits for its turn as a miss does.
        `TooManyLinks`."""
        client = clients[0] if clients else None
        if not self.misses.is_within(client, self._clock()):
            try:
                await self.misses.turn(client)
            except LimitExceeded as refusal:
                self._watcher.on_turned_away(refusal)
                raise
        self.misses.charge(client, MISS)

    def _start(self, reader: ReaderRequest, *, fresh: bool = False, has_turn: bool = False) -> Resolved | Unfinished:
        if self._changes is not None:
            self._changes.check()  # first: the entries that it drops were found before this
        began = self._clock()
        archives, homes = self._directory.archives(), self._directory.homes()
        self._cache.enter(archives, homes, began)
        wish = OutcomeKey.of(reader.url, reader.preferences)
        remembered = None if fresh else self._cache.find(wish, began)
        if remembered is not None:
            resolved = self._again(remembered, reader, began)
        elif not has_turn and not self.misses.is_within(reader.client, began):
            return partial(self._in_turn, reader, fresh=fresh)
        elif not self._memory.prompt:
            return partial(self._resolve_slowly, PendingResolution(reader, archives, wish, began), homes)
        else:
            self._memory.include(archives, homes, self._wall())
            asked = PendingResolution(reader, archives, wish, began)
            runner = self._runner(reader, archives, self._policy)
            runner.begin()
            if runner.run.outcome is None or self._is_to_be_confirmed(runner):
                return partial(self._finish, asked, runner)
            resolved = self._end(asked, runner, self._judge_and_learn(asked, runner))
            self._charge_own(reader, resolved)
        self._watcher.on_resolved(resolved)
        return resolved

    def forget(self, labels: Iterable[Label]) -> None:
        """Drop the cached outcomes of these labels: another Archive is believed about them now."""
        self._cache.forget_labels(labels, self._clock())

    def _forget_touched(self, touched: Touched) -> None:
        """Drop the outcomes that rest on changed items of the own Archive."""
        now = self._clock()
        if touched.everything:
            self._cache.forget_all(now)
            return
        # Outcomes for other names are not cached.
        self._cache.forget_labels((label for label in touched.labels if isinstance(label, Label)), now)
        if touched.related and self._own is not None:
            self._cache.forget_relations(self._own, now)

    def _again(self, remembered: Remembered, reader: ReaderRequest, began: float) -> Resolved:
        outcome = remembered.outcome(reader.url, reader.base, reader.clients)
        seconds_left = remembered.seconds_left(began)
        age = int(began - remembered.since) if reader.wants_anew else None
        return Resolved(outcome, self._clock() - began, seconds_left, was_kept=True, age=age, began=began)

    async def _resolve_slowly(self, asked: PendingResolution, homes: Homes) -> Resolved:
        """Resolve with a memory whose beliefs are slow. The one thread for it makes each step that may read it."""

        def begin() -> ResolutionRunner:
            self._memory.include(asked.archives, homes, self._wall())
            return self._runner(asked.reader, asked.archives, self._policy)

        runner = await self._step(begin)
        await runner.run_slowly(self._step)
        resolved = await self._conclude(asked, runner, await self._step(lambda: self._judge_and_learn(asked, runner)))
        if not runner.was_admitted:
            self._charge_own(asked.reader, resolved)
        return resolved

    def _charge_own(self, reader: ReaderRequest, resolved: Resolved) -> None:
        """Charge for a question to the own Archive alone, if it has nothing or was asked anew."""
        if not reader.is_refused and (reader.wants_anew or not isinstance(resolved.outcome, Redirect)):
            self.misses.charge(reader.client, MISS)

    async def _finish(self, asked: PendingResolution, runner: ResolutionRunner) -> Resolved:
        await runner.run_to_end()
        return await self._conclude(asked, runner, self._judge_and_learn(asked, runner))

    async def _conclude(self, asked: PendingResolution, runner: ResolutionRunner, outcome: Outcome) -> Resolved:
        resolved = None
        if self._is_to_be_confirmed(runner):
            resolved = await self._with_foreign_urls(asked.reader, asked.archives, asked.began)
        if resolved is None:
            resolved = self._end(asked, runner, outcome)
        self._watcher.on_resolved(resolved)
        return resolved

    def _is_to_be_confirmed(self, runner: ResolutionRunner) -> bool:
        return self._confirms and _lacks_a_declared_url(runner.run.outcome)

    def _judge_and_learn(self, asked: PendingResolution, runner: ResolutionRunner) -> Outcome:
        run = runner.run
        outcome = self._judge(run)
        if self._is_alone(asked.archives) and self._is_followed(asked.archives[0], asked.began):
            return outcome
        trace = run.trace
        news = self._heard.news(trace, outcome, is_lasting=runner.max_age > 0)
        # This resolution itself brought the news: its outcome is cached, and outcomes of earlier resolutions are not.
        self._cache.forget_labels(news, asked.began)
        runner.max_age = min(runner.max_age, longest_followed(trace, partial(self._is_followed, since=asked.began)))
        if not self._is_alone(asked.archives):
            self.learn(trace, outcome)
            runner.max_age = min(runner.max_age, self._longest_age(trace, outcome, asked.archives))
        return outcome

    def _is_followed(self, archive: ArchiveRef, since: float) -> bool:
        """Return whether changes of the Archive since then are known here at once: it is of this process, or its feed
        is followed."""
        return (archive == self._own and self._changes is not None) or self._feeds.is_fresh(archive, since)

    def _is_alone(self, archives: tuple[ArchiveRef, ...]) -> bool:
        """Return whether there is only the own Archive: it needs no routing, and cannot be contradicted."""
        return len(archives) == 1 and self._directory.homes().count <= 1

    def learn(self, trace: Trace, outcome: Outcome) -> None:
        """Store the lessons of a resolution. A failure to do so is logged, and the reader gets the outcome."""
        try:
            claims = self._memory.learn(trace, outcome, self._clock())
        except IbiError as error:
            _LOG.error("what a resolution taught could not be kept", reason=str(error))
            return
        for claim in claims:
            _LOG.warning(
                "an Archive claims what its home contradicts",
                label=str(claim.label),
                claims=claim.kind.value,
                archive=str(claim.claimant.service.labels[0]),
                home=str(claim.home.service.labels[0]),
            )
            self._watcher.on_claimed(claim)
            self.on_claimed(claim)

    def _longest_age(self, trace: Trace, outcome: Outcome, archives: tuple[ArchiveRef, ...]) -> int:
        """Return the seconds for which the outcome may be cached; 0 if it was found against the rules on proof."""
        words = {hop.word for hop in trace.hops}
        if self._policy.follow_unproven and not words.isdisjoint({Word.SILENT, Word.AWAITED}):
            return 0
        if isinstance(outcome, Redirect):
            return max_ttl(trace, outcome, archives, self._memory.holder)
        return LONGEST

    def _end(self, asked: PendingResolution, runner: ResolutionRunner, outcome: Outcome) -> Resolved:
        now, kept_for = self._clock(), 0
        is_same = asked.archives == self._directory.archives() and asked.reader.has_address
        if is_same and not self._may_be_there_soon(outcome, runner.run):
            basis = partial(self._basis, asked, runner.run, outcome)
            kept_for = self._cache.keep(asked.wish, outcome, runner.max_age, now, basis, began=asked.began)
        resolved = Resolved(outcome, now - asked.began, kept_for, began=asked.began, resolution=runner.run)
        if len(asked.archives) > 1:
            self.on_found(resolved)
        return resolved

    def _basis(self, asked: PendingResolution, run: Resolution, outcome: Outcome) -> Basis:
        if self._is_alone(asked.archives):
            labels = run.labels
            homeless = not all(map(self._directory.homes().of, labels))
            return basis_of_redirect(outcome, labels, asked.archives, homeless=homeless)
        return basis_of(run.trace, outcome)

    def _may_be_there_soon(self, outcome: Outcome, run: Resolution) -> bool:
        """Return whether a remote home has nothing: the item may be deposited there the next moment, and its link has
        to work then. Changes of the Archive in the same process are noticed."""
        if not isinstance(outcome, NotFound):
            return False
        hop = run.trace.hops[0]
        return hop.word is Word.NOT_HERE and hop.deciders != (self._own,)

    async def _with_foreign_urls(
        self, reader: ReaderRequest, archives: tuple[ArchiveRef, ...], began: float
    ) -> Resolved | None:
        """Resolve again with undeclared hosts, after no Archive had a URL on a declared one, which always comes
        first."""
        left = began + self._policy.budget - self._clock()
        policy = replace(self._lenient, budget=max(_LEAST_BUDGET, left))
        if self._memory.prompt:
            runner = self._runner(reader, archives, policy)
            runner.begin()
            await runner.run_to_end()
        else:
            runner = await self._step(lambda: self._runner(reader, archives, policy))
            await runner.run_slowly(self._step)
        outcome = runner.run.outcome
        if not isinstance(outcome, Redirect):
            return None
        return Resolved(outcome, self._clock() - began, to_confirm=True, began=began, resolution=runner.run)

    def _runner(self, reader: ReaderRequest, archives: tuple[ArchiveRef, ...], policy: Policy) -> ResolutionRunner:
        now = self._clock()
        run = Resolution(
            reader.url,
            archives,
            reader.clients,
            reader.preferences,
            now=now,
            today=self._memory.today,
            base=reader.base,
            routing=NO_ROUTING if self._is_alone(archives) else self._memory,
            policy=policy,
        )
        admit, pace = partial(self._admit, reader), partial(self._pace, reader)
        return ResolutionRunner(run, self._gateway, now + policy.budget, self._clock, self._watcher, admit, pace)

    def _admit(self, reader: ReaderRequest) -> Callable[[], None]:
        """Take a slot for asking remote Archives. Return the function that frees it."""
        if reader.is_refused or not self.misses.may_ask_others(reader.client):
            refusal = TooManyLinks(bound=LimitScope.RATE, retry_after=self.misses.retry_after)
            if not reader.is_refused:  # those are counted elsewhere
                self._watcher.on_turned_away(refusal)
            raise refusal
        give_back = self._turn(self._links, reader.clients)
        self.misses.charge(reader.client, MISS)
        return give_back

    async def _pace(self, reader: ReaderRequest) -> None:
        self.misses.charge(reader.client, QUESTION)
        await self._fan_out.enter(reader.client)

    def _judge(self, run: Resolution) -> Outcome:
        outcome = run.outcome
        assert outcome is not None  # called only after the end
        if isinstance(outcome, Redirect):
            return outcome
        outcome = confirm_not_found(outcome, run.trace, expected=self._memory.expected_archive, own=self._own)
        return self._memory.recall(outcome)


def _policies(policy: Policy, foreign_urls: ForeignUrls, own: ArchiveRef | None) -> tuple[Policy, Policy]:
    """Return the policy with the rule for hosts that these settings ask for, and the policy without such a rule."""
    others = tuple(rule for rule in policy.rules if rule is not is_on_a_declared_host)
    declared = is_declared_or_of_the_holder if foreign_urls is ForeignUrls.HOLDER else is_on_a_declared_host
    rule = declared if own is None else exempt(own, declared)
    # In the place of the rule, so that the order of the others stays.
    rules = tuple(rule if each is is_on_a_declared_host else each for each in policy.rules)
    return replace(policy, rules=rules), replace(policy, rules=others)


def _lacks_a_declared_url(outcome: Outcome | None) -> bool:
    return isinstance(outcome, RelatedItemMissing) and outcome.missing is Missing.BELIEVABLE_URL
