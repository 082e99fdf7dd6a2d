"""E76: who learns how much of a reader's address."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.caching import Cache
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import NotFound, OriginalNotFound, Redirect
from ibi.resolver.rules.policy import ClientAddress, Policy
from ibi.resolver.rules.trace import AskedAgain, Verdict
from ibi.resolver.service.claim_watch import ClaimWatch
from ibi.resolver.service.resolution_runner import Resolved
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms, UrlRequest, ip_addresses
from ibi.standard.messages.values import ip_address
from ibi.standard.networks import NO_READER
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Failure, Reply
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.resolver_app import REP, ResolverApp, item, resolver_app
from tests.support.scripted_archives import archive, body, read, resolution
from tests.support.scripted_gateway import After, FreshFeeds, Said, Script, ScriptedGateway, at_once
from tests.support.virtual_time import in_virtual_time, now

A, B, VOUCHED = archive("a"), archive("b"), replace(archive("v"), vouched=True)
HOME = ArchiveRef(LabelForms.of(parse("lab.br/arq/2008/03.17.15.17")), "home.example.org")
FULL = ip_addresses("192.0.2.77 2001:db8:1:2::3")
NETWORK, NOTHING = ip_addresses("192.0.2.0 2001:db8:1::"), ip_addresses("0.0.0.0 ::")
TIME = 1_800_000_000


def resolved(
    archives: dict[ArchiveRef, After],
    shown: ClientAddress = ClientAddress.NETWORK,
    memory: Memory | None = None,
    link: str = f"/{REP}?ibiurl.requireditemstatus=Original",
) -> tuple[Resolved, dict[str, list[object]]]:
    """The outcome, and what each Archive learns with each question."""
    gateway, told = ScriptedGateway(archives), dict[str, list[object]]()
    service = ResolverService(
        gateway,
        gateway,
        clock=now,
        wall=lambda: TIME + 1.0,
        memory=memory or Memory(MemoryBeliefs()),
        policy=Policy(client_address=shown),
    )
    found = in_virtual_time(service.resolve(PersistentUrl.parse(link), FULL, base="http://urlib.net:80/"))
    for asked, request in gateway.asked:
        told.setdefault(asked.address, []).append(request.client_addresses)
    return found, told


def addresses(archives: dict[ArchiveRef, After], shown: ClientAddress, memory: Memory) -> dict[str, list[object]]:
    return resolved(archives, shown, memory)[1]


@pytest.mark.parametrize(
    ("shown", "others"),
    [("full", [FULL]), ("network", [NETWORK, FULL]), ("none", [NOTHING])],
    ids=["full", "network", "none"],
)
def test_the_home_learns_the_address_and_others_what_the_setting_says(shown: str, others: list[object]) -> None:
    archives = {HOME: After(0.01, b""), A: After(0.01, item(A)), VOUCHED: After(0.01, b"")}
    told = addresses(archives, ClientAddress(shown), Memory(MemoryBeliefs()))
    assert told == {HOME.address: [FULL], A.address: others, VOUCHED.address: [FULL]}


def test_a_known_holder_learns_it_where_there_is_no_home() -> None:
    beliefs = MemoryBeliefs()
    beliefs.record_holder(parse(REP), A.service.labels[0], TIME)
    archives = {A: After(0.01, item(A)), B: After(0.01, b"")}
    assert addresses(archives, ClientAddress.NETWORK, Memory(beliefs)) == {A.address: [FULL], B.address: [NETWORK]}


def test_the_one_that_was_chosen_is_thanked_with_the_address() -> None:
    gateway = ScriptedGateway({A: After(0.01, item(A)), B: After(0.01, b"")})
    policy = Policy(client_address=ClientAddress.NONE)
    service = ResolverService(gateway, gateway, clock=now, memory=Memory(MemoryBeliefs()), policy=policy)
    found = in_virtual_time(service.resolve(PersistentUrl.parse(f"/{REP}"), FULL, base="http://urlib.net:80/"))
    thanks = getattr(found.outcome, "acknowledgment", None)
    assert thanks is not None
    assert thanks.client_addresses == FULL


INSIDE, OUTSIDE = "http://a.example.org/inside", "http://a.example.org/outside"
PLAIN = f"/{REP}"


def by_address(who: ArchiveRef, others: Said = b"", state: str = "Original") -> Script:
    """Gives the item to one reader alone: `others` learn something else."""

    def says(request: UrlRequest) -> Said:
        return told_to_all(who, INSIDE, state) if request.client_addresses[0] == FULL[0] else others

    return says


def told_to_all(who: ArchiveRef, url: str, state: str = "Original") -> bytes:
    return body(who, f"rep {REP}", url=url, contenttype="Data", state=state, urlkey="1414141414-12345678901234")


def fate(found: Resolved, who: ArchiveRef) -> tuple[Verdict, AskedAgain | None]:
    report = next(each for each in found.trace.hops[-1].reports if each.archive == who)
    return report.verdict, report.again


@pytest.mark.parametrize("link", [PLAIN, f"/{REP}?ibiurl.requireditemstatus=Original"])
def test_the_answer_for_the_whole_address_decides(link: str) -> None:
    archives = {HOME: After(0.01, b""), A: After(0.01, by_address(A, told_to_all(A, OUTSIDE)))}
    found, told = resolved(archives, link=link)
    assert isinstance(found.outcome, Redirect)
    assert found.outcome.url == INSIDE
    assert told[A.address] == [NETWORK, FULL]
    assert told[HOME.address] == [FULL]
    assert fate(found, A) == (Verdict.CHOSEN, AskedAgain.HEARD)
    assert found.max_age == 0


def test_an_archive_that_has_nothing_for_the_whole_address_gives_way_to_another() -> None:
    def says(request: UrlRequest) -> Said:
        return b"" if request.client_addresses[0] == FULL[0] else told_to_all(A, OUTSIDE)

    found, told = resolved({A: After(0.01, says), B: After(0.02, told_to_all(B, "http://b.example.org/x", "Copy"))})
    assert isinstance(found.outcome, OriginalNotFound)
    found, told = resolved(
        {A: After(0.01, says), B: After(0.02, told_to_all(B, "http://b.example.org/x", "Copy"))}, link=PLAIN
    )
    assert isinstance(found.outcome, Redirect)
    assert found.outcome.archive == B
    assert told == {A.address: [NETWORK, FULL], B.address: [NETWORK, FULL]}


@pytest.mark.parametrize("others", [body(A, f"rep {REP}"), b""], ids=["no URL", "nothing"])
def test_an_archive_that_has_the_item_and_no_url_for_a_network_is_asked_again(others: bytes) -> None:
    found, told = resolved({A: After(0.01, by_address(A, others)), B: After(0.01, b"")}, link=PLAIN)
    if others:
        assert isinstance(found.outcome, Redirect)
        assert (found.outcome.url, told[A.address]) == (INSIDE, [NETWORK, FULL])
    else:  # an Archive that does not even have the item learns no more
        assert isinstance(found.outcome, NotFound)
        assert told[A.address] == [NETWORK]


def test_an_answer_that_is_the_same_for_all_readers_is_not_asked_for_again_and_is_kept() -> None:
    found, told = resolved({A: After(0.01, told_to_all(A, OUTSIDE), max_age=300)}, link=PLAIN)
    assert isinstance(found.outcome, Redirect)
    assert (found.outcome.url, told) == (OUTSIDE, {A.address: [NETWORK]})


@pytest.mark.parametrize("says", [Failure.UNREACHABLE, Failure.TIMED_OUT, Failure.MALFORMED, None])
def test_the_first_answer_counts_if_the_second_does_not_come_and_the_trace_says_so(says: Failure | None) -> None:
    class Falling(ScriptedGateway):
        async def ask(self, archive: ArchiveRef, request: UrlRequest, *, within: float) -> Reply:
            if request.client_addresses == FULL and archive == A:
                self.asked.append((archive, request))
                await asyncio.sleep(0.01 if says is not None else 60)
                return says or Failure.TIMED_OUT
            return await super().ask(archive, request, within=within)

    gateway = Falling({A: After(0.01, told_to_all(A, OUTSIDE)), B: After(0.01, b"")})
    policy = Policy(client_address=ClientAddress.NETWORK)
    service = ResolverService(gateway, gateway, clock=now, memory=Memory(MemoryBeliefs()), policy=policy)
    found = in_virtual_time(service.resolve(PersistentUrl.parse(PLAIN), FULL, base="http://urlib.net:80/"))
    assert isinstance(found.outcome, Redirect)
    assert found.outcome.url == OUTSIDE
    assert fate(found, A) == (Verdict.CHOSEN, AskedAgain.UNHEARD)
    assert found.seconds <= 1.5


def test_an_archive_that_answers_too_late_to_be_asked_again_is_chosen_and_the_trace_says_so() -> None:
    policy = Policy(client_address=ClientAddress.NETWORK)
    run = resolution(PLAIN, (A, B), policy=policy)
    first, _ = run.requests()
    run.advance(4.0)
    run.answer(first, read(told_to_all(A, OUTSIDE, "Copy")), 5.0)
    assert isinstance(run.outcome, Redirect)
    (report, _) = run.trace.hops[0].reports
    assert (report.verdict, report.again) == (Verdict.CHOSEN, AskedAgain.NO_TIME)


def test_a_repeated_first_answer_is_not_taken_for_the_second() -> None:
    run = resolution(PLAIN, (A,), policy=Policy(client_address=ClientAddress.NETWORK))
    (first,) = run.requests()
    run.answer(first, read(told_to_all(A, OUTSIDE)), 0.01)
    (second,) = run.requests()
    assert (first.again, second.again) == (False, True)
    run.answer(first, read(told_to_all(A, OUTSIDE)), 0.02)
    run.failure(first, Failure.TIMED_OUT, 0.02)
    run.answer(second, read(told_to_all(A, INSIDE)), 0.03)
    run.answer(second, None, 0.04)
    assert isinstance(run.outcome, Redirect)
    assert run.outcome.url == INSIDE


def test_a_holder_that_speaks_while_another_is_asked_again_is_believed() -> None:
    """A Copy is about to be chosen; the Original arrives meanwhile."""
    early, late = replace(archive("a"), registered=2), replace(archive("b"), registered=1)
    run = resolution(PLAIN, (early, late), policy=Policy(client_address=ClientAddress.NETWORK))
    one, other = run.requests()
    run.answer(one, read(told_to_all(early, OUTSIDE, "Copy")), 0.01)
    run.advance(1.0)
    (again,) = run.requests()
    run.answer(other, read(told_to_all(late, "http://b.example.org/o")), 1.1)
    run.failure(again, Failure.TIMED_OUT, 1.2)
    (again,) = run.requests()
    run.answer(again, read(told_to_all(late, "http://b.example.org/o")), 1.3)
    assert isinstance(run.outcome, Redirect)
    assert run.outcome.archive == late


async def test_traces_tell_of_the_second_question_in_the_language_of_the_reader() -> None:
    def says(request: UrlRequest) -> Said:
        return told_to_all(A, INSIDE if request.client_addresses[0] == ip_address("192.0.2.77") else OUTSIDE)

    def fresh() -> ResolverApp:  # that knows of no holder yet
        return resolver_app({A: says, B: b""}, policy=Policy(client_address=ClientAddress.NETWORK))

    record = json.loads((await fresh().get(f"{PLAIN}?ibiurl.trace=json")).body)
    assert [each["again"] for each in record["hops"][0]["archives"]] == [AskedAgain.HEARD.value, None]
    for language, words in (("en", "asked again with the reader"), ("pt-BR", "perguntado de novo com o endere")):
        status, page = await fresh().page(f"{PLAIN}?ibiurl.trace=html", language)
        assert (status, words in page) == (200, True)


# A question without a reader.


def test_what_is_found_without_a_reader_is_kept_for_none() -> None:
    gateway = ScriptedGateway({A: After(0.01, told_to_all(A, OUTSIDE), max_age=300), B: After(0.01, b"")})
    policy = Policy(client_address=ClientAddress.NETWORK)
    service = ResolverService(
        gateway, gateway, clock=now, memory=Memory(MemoryBeliefs()), policy=policy, feeds=FreshFeeds()
    )

    async def visits() -> list[Resolved]:
        url, base = PersistentUrl.parse(PLAIN), "http://urlib.net:80/"
        return [await service.resolve(url, clients, base=base) for clients in ((NO_READER,), FULL, FULL, (NO_READER,))]

    found = in_virtual_time(visits())
    assert [each.was_kept for each in found] == [False, False, True, True]
    assert [each.max_age > 0 for each in found] == [False, True, True, True]
    asked = [(who, request.client_addresses) for who, request in gateway.asked]
    assert asked == [(A, (NO_READER,)), (B, (NO_READER,)), (A, FULL)]  # it taught who holds the item


async def test_second_claims_are_looked_for_without_a_reader_and_nothing_is_kept() -> None:
    gateway = ScriptedGateway({HOME: at_once(b"", 300), A: at_once(told_to_all(A, OUTSIDE), 300)})
    memory, cache = Memory(MemoryBeliefs()), Cache()
    policy = Policy(client_address=ClientAddress.NETWORK)
    service = ResolverService(gateway, gateway, memory=memory, policy=policy, cache=cache)
    await ClaimWatch(gateway, gateway, memory, service, policy).look(parse(REP))
    assert {request.client_addresses for _, request in gateway.asked} == {(NO_READER,)}
    assert len(gateway.asked) == 2
    assert len(cache) == 0


def test_an_address_is_cut_at_its_network() -> None:
    assert ClientAddress.NETWORK.shown(ip_address("255.255.255.255")) == ip_address("255.255.255.0")
