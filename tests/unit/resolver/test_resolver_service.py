"""The loop that resolves: whom it asks and when, when it stops, and what it asks only once."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ibi.items.service.change_watch import ChangeWatch
from ibi.jobs.limits import LimitExceeded, LimitScope, TooManyLinks, TooManyTraces, link_limiter, trace_limiter
from ibi.membership.model.registration import ClaimKind, Succession
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.ports import Beliefs
from ibi.resolver.rules.caching import CLAIMED_AGE, DOUBTFUL_AGE
from ibi.resolver.rules.memory import Memory, NewClaim
from ibi.resolver.rules.outcome import (
    Deleted,
    NoArchiveAnswered,
    NotFound,
    OriginalDisputed,
    Outcome,
    Redirect,
    RelatedItemMissing,
    UnprovenClaims,
)
from ibi.resolver.rules.policy import Policy
from ibi.resolver.rules.trace import Verdict
from ibi.resolver.service.misses import MISS, MissLimit
from ibi.resolver.service.resolution_runner import ForeignUrls, Resolved
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.label import Label, parse
from ibi.standard.language_choice import preferences
from ibi.standard.messages import LabelForms, UrlRequest
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Answered, Failure, Reply
from ibi.storage.errors import DiskRefused
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.catalog import MemoryCatalog
from tests.support.scripted_archives import CLIENTS, archive, body, read
from tests.support.scripted_gateway import After, FreshFeeds, ScriptedGateway, at_once
from tests.support.virtual_time import in_virtual_time, now

REP = "lab.br/arq/2009/07.21.14.43"
BASE = "http://resolver.example.org:80/"
A, B, C = archive("a"), archive("b"), archive("c")
LAST = {"url.lastedition": "http://b.example.org/x", "contenttype.lastedition": "Data", "state.lastedition": "Original"}


def item(of: ArchiveRef, state: str = "Original", host: str | None = None, **more: str) -> bytes:
    url = f"http://{host or of.address}/col/{REP}/doc/a.txt"
    return body(of, f"rep {REP}", url=url, contenttype="Data", state=state, urlkey="1414141414-12345678901234", **more)


def resolving(gateway: ScriptedGateway, **options: Any) -> ResolverService:
    known = {"memory": Memory(MemoryBeliefs()), "feeds": FreshFeeds(), **options}
    return ResolverService(gateway, gateway, clock=now, **known)


async def resolve(service: ResolverService, url: str = f"/{REP}", languages: str = "", **options: Any) -> Resolved:
    return await service.resolve(PersistentUrl.parse(url), CLIENTS, preferences(languages), base=BASE, **options)


def once(archives: dict[ArchiveRef, After], url: str = f"/{REP}", **options: Any) -> tuple[Resolved, ScriptedGateway]:
    gateway = ScriptedGateway(archives)

    async def run() -> Resolved:
        return await resolve(resolving(gateway, **options), url)

    return in_virtual_time(run()), gateway


class TestAsking:
    def test_an_archive_in_the_same_process_is_asked_without_a_task(self) -> None:
        async def run() -> tuple[Resolved, int]:
            before = len(asyncio.all_tasks())
            found = resolve(resolving(ScriptedGateway({A: at_once(item(A))})))
            try:
                found.send(None)  # one step: had it to wait, it would not be done
            except StopIteration as done:
                return done.value, len(asyncio.all_tasks()) - before
            raise AssertionError("it waited")

        found, tasks = in_virtual_time(run())
        assert isinstance(found.outcome, Redirect)
        assert found.outcome.url == f"http://a.example.org/col/{REP}/doc/a.txt"
        assert tasks == 0

    def test_others_are_not_asked_once_the_one_at_hand_has_the_original(self) -> None:
        found, gateway = once({B: After(0.1, b""), A: at_once(item(A))})
        assert isinstance(found.outcome, Redirect)
        assert [each for each, _ in gateway.asked] == [A]

    def test_the_first_original_ends_it_and_who_is_late_is_cancelled(self) -> None:
        found, gateway = once({A: After(0.5, item(A)), B: After(0.05, item(B)), C: After(0.01, b"")})
        assert isinstance(found.outcome, Redirect)
        assert found.outcome.archive == B
        assert gateway.cancelled == [A]
        assert abs(found.seconds - 0.05) < 1e-6

    def test_a_copy_waits_for_the_hedge_delay(self) -> None:
        found, _ = once({A: After(0.01, item(A, "Copy")), B: After(9, b"")}, policy=Policy(hedge_delay=0.3))
        assert isinstance(found.outcome, Redirect)
        assert abs(found.seconds - 0.3) < 1e-6

    def test_the_budget_is_the_end_and_every_archive_knows_it(self) -> None:
        found, gateway = once({A: After(60, b""), B: After(60, b"")}, policy=Policy(budget=2.0, patience=9))
        assert isinstance(found.outcome, NoArchiveAnswered)
        assert found.outcome.timed_out
        assert abs(found.seconds - 2.0) < 1e-6
        assert gateway.within == [2.0, 2.0]
        assert gateway.cancelled == [A, B]

    def test_pointers_are_followed(self) -> None:
        def pointing(request: UrlRequest) -> bytes:
            if str(request.label) == REP:
                return body(A, f"rep {REP}", ibi__translation="rep lab.br/arq/2010/01.01.01.01".join("{}"))
            other = "lab.br/arq/2010/01.01.01.01"
            return body(A, f"rep {other}", url="http://a.example.org/x", contenttype="Data", state="Original")

        found, gateway = once({A: After(0.01, pointing)}, f"/{REP}+")
        assert isinstance(found.outcome, Redirect)
        assert found.outcome.url == "http://a.example.org/x"
        assert len(gateway.asked) == 2

    def test_a_gateway_that_fails_is_one_archive_less(self) -> None:
        def fail(_: UrlRequest) -> bytes:
            raise RuntimeError("unforeseen")

        found, _ = once({A: After(0.01, fail), B: After(0.02, item(B))})
        assert isinstance(found.outcome, Redirect)
        assert found.outcome.archive == B
        reports = found.trace.hops[0].reports
        assert [(each.archive, each.failure) for each in reports] == [(A, Failure.UNREACHABLE), (B, None)]

    def test_a_caller_that_gives_up_leaves_nothing_behind(self) -> None:
        gateway = ScriptedGateway({A: After(60, b"")})

        async def run() -> None:
            asked = asyncio.ensure_future(resolve(resolving(gateway)))
            await asyncio.sleep(0.5)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            await asyncio.sleep(0)

        in_virtual_time(run())
        assert gateway.cancelled == [A]

    def test_no_archive_is_included(self) -> None:
        found, _ = once({})
        assert isinstance(found.outcome, NoArchiveAnswered)
        assert found.outcome.silence.asked == 0

    def test_the_trace_says_what_became_of_every_archive(self) -> None:
        found, _ = once({A: After(0.01, b""), B: After(0.05, item(B))})
        (hop,) = found.trace.hops
        assert [(each.archive, each.verdict) for each in hop.reports] == [(A, Verdict.EMPTY), (B, Verdict.CHOSEN)]
        answered = hop.reports[0].answered_at
        assert answered is not None
        assert abs(answered - found.began - 0.01) < 1e-6


class TestRemembering:
    """E31, E32: who answers is remembered, and so is the answer where its Archive allows."""

    def test_who_had_it_is_asked_first(self) -> None:
        gateway = ScriptedGateway({A: After(0.01, b""), B: After(0.02, item(B)), C: After(0.01, b"")})

        async def run() -> None:
            service = resolving(gateway)
            await resolve(service)
            gateway.asked.clear()
            await resolve(service)

        in_virtual_time(run())
        assert [each for each, _ in gateway.asked] == [B]

    def test_what_may_not_be_kept_is_asked_for_again(self) -> None:
        gateway = ScriptedGateway({A: at_once(item(A))})

        async def run() -> list[Resolved]:
            service = resolving(gateway)
            return [await resolve(service), await resolve(service)]

        found = in_virtual_time(run())
        assert [each.was_kept for each in found] == [False, False]
        assert [each.max_age for each in found] == [0, 0]
        assert len(gateway.asked) == 2

    def test_what_may_be_kept_is_kept_that_long_and_for_every_reader(self) -> None:
        gateway = ScriptedGateway({A: at_once(item(A), 10)})

        async def run() -> list[Resolved]:
            service = resolving(gateway)
            found = [await resolve(service)]
            await asyncio.sleep(4)
            found.append(await resolve(service, f"/{REP}?page=2"))
            await asyncio.sleep(7)
            return [*found, await resolve(service)]

        first, second, third = in_virtual_time(run())
        assert [each.was_kept for each in (first, second, third)] == [False, True, False]
        assert [each.max_age for each in (first, second, third)] == [10, 6, 10]
        assert isinstance(second.outcome, Redirect)
        assert second.outcome.url.endswith("a.txt?page=2")
        assert second.outcome.acknowledgment is not None
        assert second.outcome.acknowledgment.client_addresses == CLIENTS
        assert len(gateway.asked) == 2

    def test_the_shortest_time_of_all_answers_counts(self) -> None:
        def pointing(request: UrlRequest) -> bytes:
            if str(request.label) == REP:
                return body(A, f"rep {REP}", ibi__translation="{rep lab.br/arq/2010/01.01.01.01}")
            return body(
                B, "rep lab.br/arq/2010/01.01.01.01", url="http://b.example.org/x", contenttype="Data", state="Original"
            )

        def empty_or(request: UrlRequest) -> bytes:
            return b"" if str(request.label) == REP else pointing(request)

        def only_first(request: UrlRequest) -> bytes:
            return pointing(request) if str(request.label) == REP else b""

        found, _ = once({A: at_once(only_first, 7), B: at_once(empty_or, 300)}, f"/{REP}+")
        assert isinstance(found.outcome, Redirect)
        assert found.max_age == 7

    def test_what_an_archive_that_was_not_heard_may_know_better_is_kept_for_a_moment_only(self) -> None:
        last = body(B, f"rep {REP}", **LAST)
        for answer, link in ((item(B, "Copy"), f"/{REP}"), (last, f"/{REP}!")):
            for silent in (After(9, b""), After(0, Failure.UNREACHABLE), After(0, item(C), 600)):
                found, _ = once({A: silent, B: After(0.01, answer, 600)}, link)
                assert isinstance(found.outcome, Redirect), link
                assert found.max_age == DOUBTFUL_AGE
            found, _ = once({A: After(0.02, b""), B: After(0.01, answer, 600)}, link)
            assert found.max_age == 600
            found, _ = once({A: After(9, b""), B: After(0.01, answer, 3)}, link)
            assert found.max_age == 3
        found, _ = once({A: After(9, b""), B: After(0.01, item(B), 600)})
        assert found.max_age == 600, "an Original is nowhere else"

    def test_an_original_is_not_kept_for_long_while_an_archive_is_silent_that_would_be_believed_before(self) -> None:
        newcomer = replace(B, registered=100)
        found, _ = once({A: After(9, b""), newcomer: After(0.02, item(newcomer), 600)})
        assert isinstance(found.outcome, Redirect)
        assert found.max_age == CLAIMED_AGE
        found, _ = once({A: After(0.01, b""), newcomer: After(0.02, item(newcomer), 600)})
        assert found.max_age == 600

    def test_what_its_holder_says_is_kept_while_others_are_silent(self) -> None:
        def say(request: UrlRequest) -> bytes:
            if not request.relation.steps:
                return item(B)
            return body(B, f"rep {REP}", ibi__nextedition="{rep lab.br/arq/2010/01.01.01.01}", **LAST)

        replies = {A: After(0.01, b""), B: After(0.02, say, 600)}

        async def run() -> Resolved:
            service = resolving(ScriptedGateway(replies))
            await resolve(service)  # all are heard: B is the holder from now on
            replies[A] = After(9, b"")
            return await resolve(service, f"/{REP}!")

        found = in_virtual_time(run())
        assert isinstance(found.outcome, Redirect)
        assert found.max_age == 600

    def test_what_the_archive_of_the_labels_own_origin_says_is_kept_whichever_is_silent(self) -> None:
        home = ArchiveRef(LabelForms.of(parse("lab.br/arq/2000/01.01.00.00")), "home.example.org", registered=9)
        last = body(home, f"rep {REP}", **{**LAST, "url.lastedition": "http://home.example.org/last"})
        found, gateway = once({A: After(9, b""), home: After(0.02, last, 600)}, f"/{REP}!")
        assert isinstance(found.outcome, Redirect)
        assert [archive for archive, _ in gateway.asked] == [home]
        assert found.max_age == 600

    def test_a_change_of_the_directory_or_an_unknown_one_of_the_archive_at_hand_is_noticed(self) -> None:
        gateway = ScriptedGateway({A: at_once(item(A), 100)})
        changes = [1]

        async def run() -> list[bool]:
            service = resolving(gateway, changes=ChangeWatch(MemoryCatalog(), lambda: changes[0]))
            found = [await resolve(service), await resolve(service)]
            changes[0] = 2
            found += [await resolve(service), await resolve(service)]
            gateway.archives_ = {A: gateway.archives_[A], B: at_once(b"")}
            found += [await resolve(service), await resolve(service)]
            return [each.was_kept for each in found]

        assert in_virtual_time(run()) == [False, True, False, True, False, True]

    def test_what_was_found_while_the_directory_changed_is_not_kept(self) -> None:
        replies: dict[ArchiveRef, After] = {A: After(1.0, item(A), 100)}
        gateway = ScriptedGateway(replies)

        async def run() -> list[Resolved]:
            service = resolving(gateway)
            slow = asyncio.ensure_future(resolve(service))
            await asyncio.sleep(0.5)
            gateway.archives_ = {B: at_once(b"")}
            await resolve(service, "/lab.br/arq/2011/11.11.11.11")
            gateway.archives_ = {**gateway.archives_, **replies}
            first = await slow
            gateway.archives_ = {B: at_once(b"")}
            return [first, await resolve(service)]

        first, second = in_virtual_time(run())
        assert isinstance(first.outcome, Redirect)
        assert isinstance(second.outcome, NotFound)
        assert not second.was_kept

    def test_nothing_is_believed_for_a_moment_only_and_not_while_an_archive_is_silent(self) -> None:
        heard = ScriptedGateway({A: at_once(b"")})
        silent = ScriptedGateway({A: at_once(b""), B: After(0.01, Failure.UNREACHABLE)})

        async def run(gateway: ScriptedGateway) -> list[bool]:
            service = resolving(gateway)
            found = [await resolve(service), await resolve(service)]
            await asyncio.sleep(6)
            assert all(isinstance(each.outcome, NotFound) for each in found)
            return [each.was_kept for each in (*found, await resolve(service))]

        assert in_virtual_time(run(heard)) == [False, True, False]
        assert in_virtual_time(run(silent)) == [False, False, False]

    def test_a_trace_is_of_what_happens_now(self) -> None:
        gateway = ScriptedGateway({A: at_once(item(A), 100)})

        async def run() -> list[Resolved]:
            service = resolving(gateway)
            return [await resolve(service), await resolve(service), await resolve(service, fresh=True)]

        found = in_virtual_time(run())
        assert [len(each.trace.hops) for each in found] == [1, 0, 1]

    def test_the_known_home_that_is_silent_is_not_a_not_found(self) -> None:
        """E24: also for another item of the same origin."""
        replies: dict[ArchiveRef, After] = {A: After(0.01, item(A)), B: After(0.01, b"")}
        gateway = ScriptedGateway(replies)

        async def run() -> Resolved:
            service = resolving(gateway)
            await resolve(service)
            replies[A] = After(0.01, Failure.UNREACHABLE)
            return await resolve(service, "/lab.br/arq/2011/11.11.11.11")

        outcome = in_virtual_time(run()).outcome
        assert isinstance(outcome, NoArchiveAnswered)
        assert outcome.home == A
        assert not outcome.timed_out

    def test_an_archive_that_has_one_item_of_a_prefix_takes_no_other_from_those_who_are_registered_longer(self) -> None:
        old, new, other = archive("old", registered=10), archive("new", registered=20), "lab.br/arq/2011/11.11.11.11"

        def claims_all(request: UrlRequest) -> bytes:
            pairs = {"url": f"http://{new.address}/x", "contenttype": "Data", "state": "Original"}
            return body(new, f"rep {request.label}", **pairs)

        def has_one(request: UrlRequest) -> bytes:
            return item(old) if str(request.label) == REP else b""

        async def run() -> list[Outcome]:
            service = resolving(ScriptedGateway({new: After(0.01, claims_all), old: After(0.05, has_one)}))
            return [(await resolve(service, f"/{label}")).outcome for label in (other, REP)]

        first, second = in_virtual_time(run())
        assert isinstance(first, Redirect)
        assert isinstance(second, Redirect)
        assert (first.archive, second.archive) == (new, old)

    def test_an_original_that_comes_later_is_found_although_a_copy_is_known(self) -> None:
        replies: dict[ArchiveRef, After] = {A: After(0.01, item(A, "Copy")), B: After(0.01, b"")}

        async def run() -> list[Outcome]:
            service = resolving(ScriptedGateway(replies))
            copy = await resolve(service)
            replies[C] = After(0.02, item(C))
            return [copy.outcome, (await resolve(service)).outcome]

        copy, original = in_virtual_time(run())
        assert isinstance(copy, Redirect)
        assert isinstance(original, Redirect)
        assert (copy.archive, original.archive) == (A, C)

    def test_the_holder_of_the_original_says_that_it_was_deleted(self) -> None:
        """E20: although another still has a Copy."""
        gone = body(A, f"rep {REP}", state="Deleted", timestamp="2020-05-06T07:08:09Z")
        replies: dict[ArchiveRef, After] = {A: After(0.01, item(A)), B: After(0.02, item(B, "Copy"))}
        gateway = ScriptedGateway(replies)

        async def run() -> Resolved:
            service = resolving(gateway)
            await resolve(service)
            replies[A] = After(0.01, gone)
            return await resolve(service)

        outcome = in_virtual_time(run()).outcome
        assert isinstance(outcome, Deleted)
        assert (outcome.by, outcome.copies) == (A, (B,))

    def test_the_holder_is_known_when_it_has_moved(self) -> None:
        moved = replace(A, address="elsewhere.example.org")
        gone = body(moved, f"rep {REP}", state="Deleted", timestamp="2020-05-06T07:08:09Z")
        replies: dict[ArchiveRef, After] = {A: After(0.01, item(A)), B: After(0.02, item(B, "Copy"))}

        async def run() -> list[Outcome]:
            service = resolving(ScriptedGateway(replies))
            await resolve(service)
            del replies[A]
            replies[moved] = After(0.01, gone)
            deleted = await resolve(service)
            replies.update({moved: After(0.01, Failure.UNREACHABLE), B: After(0.01, b"")})
            return [deleted.outcome, (await resolve(service, fresh=True)).outcome]

        deleted, unheard = in_virtual_time(run())
        assert isinstance(deleted, Deleted)
        assert (deleted.by, deleted.copies) == (moved, (B,))
        assert isinstance(unheard, NoArchiveAnswered)
        assert unheard.home == moved

    def test_a_deletion_that_a_silent_archive_might_contradict_names_it_and_is_not_kept(self) -> None:
        """E20, E24: whoever says so is not known to have been its holder."""
        gone = body(A, f"rep {REP}", state="Deleted", timestamp="2020-05-06T07:08:09Z")
        found, _ = once({A: After(0.01, gone), B: After(0.01, Failure.UNREACHABLE), C: After(0.01, b"")})
        assert isinstance(found.outcome, Deleted)
        assert (found.outcome.silence.asked, found.outcome.silence.silent) == (3, (B,))
        assert found.max_age == 0
        found, _ = once({A: After(0.01, gone), B: After(0.01, b"")})
        assert isinstance(found.outcome, Deleted)
        assert found.max_age == 5

    def test_two_originals_are_never_kept(self) -> None:
        gateway = ScriptedGateway({A: at_once(item(A), 100), B: at_once(item(B), 100)})

        async def run() -> list[Resolved]:
            service = resolving(gateway)
            link = f"/{REP}?ibiurl.requireditemstatus=Original"
            return [await resolve(service, link), await resolve(service, link)]

        found = in_virtual_time(run())
        assert all(isinstance(each.outcome, OriginalDisputed) for each in found)
        assert not any(each.was_kept for each in found)


class TestForeignUrls:
    """E31."""

    def test_refused(self) -> None:
        found, _ = once({A: at_once(item(A, host="elsewhere.example.com"))})
        assert isinstance(found.outcome, RelatedItemMissing)

    def test_shown_for_confirmation_and_never_kept(self) -> None:
        found, _ = once({A: at_once(item(A, host="elsewhere.example.com"), 300)}, foreign_urls=ForeignUrls.CONFIRM)
        assert isinstance(found.outcome, Redirect)
        assert found.to_confirm
        assert found.max_age == 0

    def test_one_that_was_declared_comes_first(self) -> None:
        found, _ = once(
            {A: at_once(item(A, host="elsewhere.example.com")), B: After(0.1, item(B, "Copy"))},
            foreign_urls=ForeignUrls.CONFIRM,
        )
        assert isinstance(found.outcome, Redirect)
        assert found.outcome.archive == B
        assert not found.to_confirm


@dataclass
class Counted:
    outcomes: list[str] = field(default_factory=list)
    replies: list[tuple[str, bool]] = field(default_factory=list)
    refusals: list[LimitScope] = field(default_factory=list)
    claims: list[NewClaim] = field(default_factory=list)

    def on_resolved(self, resolved: Resolved) -> None:
        self.outcomes.append(type(resolved.outcome).__name__)

    def on_turned_away(self, refusal: LimitExceeded) -> None:
        self.refusals.append(refusal.bound)

    def on_claimed(self, claim: NewClaim) -> None:
        self.claims.append(claim)

    def on_replied(self, archive: ArchiveRef, reply: Reply, seconds: float) -> None:
        self.replies.append((archive.address, isinstance(reply, Failure)))


def test_an_observer_that_counts_is_told_of_every_outcome_and_reply() -> None:
    counted = Counted()
    once({A: After(0.01, Failure.REFUSED), B: After(0.02, item(B))}, watcher=counted)
    assert counted.outcomes == ["Redirect"]
    assert counted.replies == [("a.example.org", True), ("b.example.org", False)]


HOME = ArchiveRef(LabelForms.of(parse("lab.br/arq/2008/03.17.15.17")), "home.example.org", registered=9)


class TestTheHome:
    """Of an item that another Archive claims."""

    def visits(
        self, gateway: ScriptedGateway, *urls: str, beliefs: Beliefs | None = None, **options: Any
    ) -> list[Resolved]:
        service = resolving(gateway, memory=Memory(beliefs or MemoryBeliefs()), **options)

        async def run() -> list[Resolved]:
            return [await resolve(service, url) for url in urls]

        return in_virtual_time(run())

    def test_has_a_false_claim_counted_once(self) -> None:
        counted, beliefs = Counted(), MemoryBeliefs()
        gateway = ScriptedGateway({HOME: After(1.5, item(HOME)), A: After(0.1, item(A))})
        found = self.visits(
            gateway, f"/{REP}", f"/{REP}?ibiurl.requireditemstatus=Original", beliefs=beliefs, watcher=counted
        )
        assert [isinstance(each.outcome, Redirect) and each.outcome.archive for each in found] == [HOME, HOME]
        assert [(claim.claimant, claim.home, claim.kind) for claim in counted.claims] == [(A, HOME, ClaimKind.ORIGINAL)]
        (claim,) = beliefs.claims()
        assert (claim.label, claim.claimant, claim.times) == (parse(REP), A.service.labels[0], 2)

    def test_a_home_that_has_nothing_yet_is_asked_again_at_once(self) -> None:
        """The item may be deposited the next moment."""
        gateway = ScriptedGateway({HOME: After(0.01, Answered(None, final=True)), A: After(0.01, item(A))})
        found = self.visits(gateway, f"/{REP}", f"/{REP}")
        assert [(type(each.outcome), each.max_age) for each in found] == [(NotFound, 0)] * 2
        assert [archive for archive, _ in gateway.asked] == [HOME, HOME]

    def test_a_home_that_has_nothing_leaves_the_one_claim_that_is_followed_unkept_and_unremembered(self) -> None:
        beliefs = MemoryBeliefs()
        gateway = ScriptedGateway({HOME: After(0.01, b""), A: After(0.01, item(A), max_age=300)})
        found = self.visits(gateway, f"/{REP}", f"/{REP}", beliefs=beliefs)
        assert [isinstance(each.outcome, Redirect) and each.max_age for each in found] == [0, 0]
        assert [archive for archive, _ in gateway.asked] == [HOME, A, HOME, A]
        assert beliefs.holder(parse(REP), 0) is None

    @pytest.mark.parametrize("is_here", [True, False], ids=["in the same process", "elsewhere"])
    def test_a_home_that_cannot_tell_leaves_claims_to_be_shown_each_time(self, is_here: bool) -> None:
        home = After(0.0, Answered(None, final=False), local=is_here)
        gateway, beliefs = ScriptedGateway({HOME: home, A: After(0.01, item(A), max_age=300)}), MemoryBeliefs()
        found = self.visits(gateway, f"/{REP}", f"/{REP}", beliefs=beliefs)
        assert [(type(each.outcome), each.max_age) for each in found] == [(UnprovenClaims, 0)] * 2
        assert [archive for archive, _ in gateway.asked] == [HOME, A, HOME, A]
        assert beliefs.claims() == ()

    def test_names_a_successor_that_is_remembered(self) -> None:
        beliefs, to = MemoryBeliefs(), B.service.labels[0]
        gateway = ScriptedGateway(
            {HOME: After(0.01, Answered(None, transferred_to=to)), B: After(0.01, item(B)), A: After(0.01, item(A))}
        )
        self.visits(gateway, f"/{REP}", beliefs=beliefs)
        assert beliefs.successors(parse(REP)) == (to,)
        restored = ScriptedGateway({HOME: After(0.01, item(HOME)), B: After(0.01, item(B))})
        (found,) = self.visits(restored, f"/{REP}", beliefs=beliefs)
        assert isinstance(found.outcome, Redirect)
        assert found.outcome.archive == B
        assert [(claim.claimant, claim.home) for claim in beliefs.claims()] == [(HOME.service.labels[0], to)]

    def test_never_overwrites_successors_of_a_signed_chain(self) -> None:
        beliefs, to, liar = MemoryBeliefs(), B.service.labels[0], A.service.labels[0]
        beliefs.record_signed_successors(parse(REP), (to,), 0)
        said = After(0.01, Answered(None, transferred_to=liar))
        gateway = ScriptedGateway({HOME: said, A: After(0.01, item(A)), B: After(0.01, item(B))})
        for found in self.visits(gateway, f"/{REP}", f"/{REP}", beliefs=beliefs):
            assert isinstance(found.outcome, Redirect)
            assert found.outcome.archive == B
        assert beliefs.succession(parse(REP)) == Succession((to,), is_signed=True)

    def test_names_holders_of_copies_that_are_trusted_when_it_is_silent(self) -> None:
        beliefs, copies = MemoryBeliefs(), (B.service.labels[0],)
        said = Answered(read(item(HOME)), copies_at=copies)
        self.visits(ScriptedGateway({HOME: After(0.01, said), B: After(0.01, b"")}), f"/{REP}", beliefs=beliefs)
        assert beliefs.copies(HOME.service.labels[0]).services == set(copies)
        silent = {HOME: After(0.01, Failure.UNREACHABLE), A: After(0.01, item(A)), B: After(0.1, item(B, "Copy"))}
        (found,) = self.visits(ScriptedGateway(silent), f"/{REP}", beliefs=beliefs)
        assert isinstance(found.outcome, Redirect)
        assert found.outcome.archive == B

    def test_is_believed_though_what_was_learned_cannot_be_written_down(self) -> None:
        class FullDisk(MemoryBeliefs):
            def record_successors(self, label: Label, chain: tuple[Label, ...], at: int) -> None:
                raise DiskRefused(path=Path("beliefs.sqlite"), reason="disk full")

        to = B.service.labels[0]
        gateway = ScriptedGateway({HOME: After(0.01, Answered(None, transferred_to=to)), B: After(0.01, item(B))})
        (found,) = self.visits(gateway, f"/{REP}", beliefs=FullDisk())
        assert isinstance(found.outcome, Redirect)

    def test_many_labels_that_a_reader_asks_for_change_no_belief(self) -> None:
        beliefs = MemoryBeliefs()
        beliefs.record_successors(parse(REP), (B.service.labels[0],), 0)
        beliefs.record_holder(parse("gone.br/arq/2009/07.21.14.43"), B.service.labels[0], int(time.time()))

        def claims_everything(request: UrlRequest) -> bytes:
            pairs = {"url": f"http://{A.address}/x", "contenttype": "Data", "state": "Original"}
            return body(A, f"rep {request.label}", **pairs)

        gateway = ScriptedGateway({A: at_once(claims_everything), B: at_once(b"")})
        labels = (f"lab{n // 1440}.br/arq/2009/07.21.{n // 60 % 24:02}.{n % 60:02}" for n in range(2_060))
        self.visits(gateway, *(f"/{label}" for label in labels), beliefs=beliefs)
        assert beliefs.successors(parse(REP)) == (B.service.labels[0],)
        assert beliefs.holder(parse("gone.br/arq/2009/07.21.14.43"), int(time.time())) == B.service.labels[0]


class TestFreshOnes:
    """What is kept is not looked at for them: each asks Archives."""

    def test_fresh_resolutions_at_a_time_are_bounded_and_the_rest_is_refused_unasked(self) -> None:
        counted, gateway = Counted(), ScriptedGateway({A: After(1.0, item(A))})
        service = resolving(gateway, watcher=counted, traces=trace_limiter(2, 2))

        async def run() -> list[Resolved | BaseException]:
            return await asyncio.gather(*(resolve(service, fresh=True) for _ in range(5)), return_exceptions=True)

        found = in_virtual_time(run())
        assert [type(each) for each in found] == [Resolved, Resolved, *[TooManyTraces] * 3]
        assert len(gateway.asked) == 2
        assert counted.refusals == [LimitScope.NETWORK] * 3
        assert isinstance(found[4], TooManyTraces)
        assert found[4].retry_after == Policy().budget

    def test_others_are_resolved_meanwhile(self) -> None:
        service = resolving(ScriptedGateway({A: After(1.0, item(A))}), traces=trace_limiter(1, 1))

        async def run() -> tuple[Resolved, ...]:
            return tuple(await asyncio.gather(resolve(service, fresh=True), resolve(service), resolve(service)))

        assert all(isinstance(each.outcome, Redirect) for each in in_virtual_time(run()))

    def test_a_turn_is_free_again_however_it_ends(self) -> None:
        turns = trace_limiter(1, 1)
        service = resolving(ScriptedGateway({A: After(1.0, item(A))}), traces=turns)

        async def run() -> None:
            given_up = asyncio.create_task(resolve(service, fresh=True))
            await asyncio.sleep(0.1)
            assert len(turns) == 1
            given_up.cancel()
            await asyncio.wait([given_up])
            assert len(turns) == 0
            assert isinstance((await resolve(service, fresh=True)).outcome, Redirect)

        in_virtual_time(run())
        assert len(turns) == 0

    def test_one_that_asks_no_archive_elsewhere_takes_no_turn_from_others(self) -> None:
        service = resolving(ScriptedGateway({A: at_once(item(A))}), traces=trace_limiter(1, 1))

        async def run() -> list[Resolved]:
            return await asyncio.gather(*(resolve(service, fresh=True) for _ in range(50)))

        assert len(in_virtual_time(run())) == 50


class TestLinksThatWait:
    """Each link that nobody has asked for yet is a question to every Archive."""

    def test_links_that_wait_are_bounded_and_the_rest_is_refused_unasked(self) -> None:
        counted, gateway = Counted(), ScriptedGateway({A: After(1.0, b""), B: After(1.0, b"")})
        links = link_limiter(9, 2)
        service = resolving(gateway, watcher=counted, links=links)

        async def run() -> list[Resolved | BaseException]:
            wanted = [f"/lab.br/arq/2009/07.21.14.4{number}" for number in range(5)]
            return await asyncio.gather(*(resolve(service, url) for url in wanted), return_exceptions=True)

        found = in_virtual_time(run())
        assert [type(each) for each in found] == [Resolved, Resolved, *[TooManyLinks] * 3]
        assert len(gateway.asked) == 2 * 2
        assert counted.refusals == [LimitScope.NETWORK] * 3
        assert len(links) == 0

    def test_those_for_which_no_archive_has_to_be_waited_for_take_no_turn(self) -> None:
        service = resolving(ScriptedGateway({A: at_once(item(A))}), links=link_limiter(0, 0))

        async def run() -> list[Resolved]:
            return await asyncio.gather(*(resolve(service) for _ in range(50)))

        assert all(isinstance(each.outcome, Redirect) for each in in_virtual_time(run()))

    def test_a_turn_is_free_again_however_it_ends(self) -> None:
        links = link_limiter(1, 1)
        service = resolving(ScriptedGateway({A: After(1.0, item(A))}), links=links)

        async def run() -> None:
            given_up = asyncio.create_task(resolve(service))
            await asyncio.sleep(0.1)
            assert len(links) == 1
            given_up.cancel()
            await asyncio.wait([given_up])
            assert len(links) == 0
            assert isinstance((await resolve(service)).outcome, Redirect)

        in_virtual_time(run())
        assert len(links) == 0

    def test_a_turn_is_free_again_if_what_was_begun_is_not_gone_on_with(self) -> None:
        links = link_limiter(1, 1)
        service = resolving(ScriptedGateway({A: After(0.1, item(A))}), links=links)

        async def run() -> None:
            begun = service.begin(PersistentUrl.parse(f"/{REP}"), CLIENTS, base="http://urlib.net/")
            assert callable(begun)
            assert len(links) == 1
            del begun
            await asyncio.sleep(1.0)
            assert len(links) == 0

        in_virtual_time(run())


class TestMisses:
    """A network that follows more links that lead to nothing kept than it may."""

    def exhausted(self) -> MissLimit:
        limit = MissLimit(20, clock=now)
        while limit.may_ask_others(CLIENTS[0]):
            limit.charge(CLIENTS[0], MISS)
        limit.charge(CLIENTS[0], 200 * MISS)
        return limit

    def test_other_archives_are_not_asked_for_it_any_more(self) -> None:
        counted, gateway = Counted(), ScriptedGateway({A: After(0.1, b""), B: After(0.1, b"")})

        async def run() -> Resolved | BaseException:
            service = resolving(gateway, watcher=counted, misses=self.exhausted())
            return (await asyncio.gather(resolve(service), return_exceptions=True))[0]

        refusal = in_virtual_time(run())
        assert isinstance(refusal, TooManyLinks)
        assert (refusal.bound, counted.refusals) == (LimitScope.RATE, [LimitScope.RATE])
        assert not gateway.asked

    def test_what_is_in_the_archive_of_the_server_is_found_in_its_turn(self) -> None:
        async def run() -> list[Resolved]:
            service = resolving(ScriptedGateway({A: at_once(item(A)), B: After(0.1, b"")}), misses=self.exhausted())
            return await asyncio.gather(*(resolve(service, fresh=number < 3) for number in range(6)))

        assert all(isinstance(each.outcome, Redirect) for each in in_virtual_time(run()))

    def test_what_is_in_the_archive_of_the_server_is_found_if_more_wait_than_can_have_a_turn(self) -> None:
        counted, missing = Counted(), "/lab.br/arq/2009/07.21.14.44"

        def says(request: UrlRequest) -> bytes:
            return item(A) if str(request.label) == REP else b""

        async def run() -> list[Resolved | BaseException]:
            gateway = ScriptedGateway({A: at_once(says)})
            service = resolving(gateway, misses=self.exhausted(), watcher=counted)
            service.misses.end()  # as if the line were full
            wanted = (f"/{REP}", missing)
            return await asyncio.gather(*(resolve(service, url) for url in wanted), return_exceptions=True)

        found, refused = in_virtual_time(run())
        assert isinstance(found, Resolved)
        assert isinstance(found.outcome, Redirect)
        assert isinstance(refused, TooManyLinks)
        assert len(counted.refusals) == 1

    def test_what_is_kept_does_not_wait(self) -> None:
        async def run() -> Resolved | object:
            service = resolving(ScriptedGateway({A: After(0.1, item(A), 300)}), misses=MissLimit(20, clock=now))
            await resolve(service)
            while service.misses.is_within(CLIENTS[0], now()):
                service.misses.charge(CLIENTS[0], MISS)
            return service.begin(PersistentUrl.parse(f"/{REP}"), CLIENTS, base=BASE)

        assert isinstance(in_virtual_time(run()), Resolved)

    def test_those_that_the_own_archive_alone_is_asked_about_count(self) -> None:
        async def run() -> float:
            service = resolving(ScriptedGateway({A: at_once(b"")}), misses=MissLimit(20, clock=now))
            began = now()
            wanted = [f"/lab.br/arq/2009/07.21.14.43.{number // 60:02}.{number % 60:02}" for number in range(700)]
            for url in wanted:
                assert isinstance((await resolve(service, url)).outcome, NotFound)
            return now() - began

        assert in_virtual_time(run()) >= 4.0

    def test_a_link_that_is_found_at_once_costs_nothing(self) -> None:
        async def run() -> bool:
            service = resolving(ScriptedGateway({A: at_once(item(A))}), misses=MissLimit(1, clock=now))
            for _ in range(100):
                await resolve(service, fresh=True)
            return service.misses.is_within(CLIENTS[0], now())

        assert in_virtual_time(run())

    def test_questions_begin_a_few_at_a_time(self) -> None:
        archives = {archive(f"x{number}"): After(0.0, b"") for number in range(40)}
        found, gateway = once(archives)
        assert isinstance(found.outcome, NotFound)
        assert len(gateway.asked) == 40
