"""E92: a Copy that the home named stands in for it; an Archive that rests is not tried again by a reader's link."""

from __future__ import annotations

import pytest

from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.rules.authority import Home, Homes, StandIn
from ibi.net.address_guard import AddressGuard
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Redirect
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.reply import Failure
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.raw_archive import REQUEST, http, raw_archive, until
from tests.support.scripted_archives import archive, body, drive, resolution

ITEM = "example.org/home/2009/01.01.00.00"
HOME, COPY, LIAR = archive("home"), archive("copy"), archive("liar")
ALL = (HOME, COPY, LIAR)


def knowing(*copies: str) -> Memory:
    """What a resolver knows that has just started: what its register has of the home."""
    home = Home(HOME.service, HOME, copies=frozenset(map(CopyHolder.parse, copies)))
    memory = Memory(MemoryBeliefs())
    memory.include(ALL, Homes([(home, HOME.home_prefixes)]), 1_700_000_000)
    return memory


@pytest.mark.parametrize("silence", [Failure.CONNECTION_REFUSED, Failure.RESTING, Failure.UNREACHABLE])
def test_a_resolver_that_has_just_started_follows_the_copy_that_the_home_named(silence: Failure) -> None:
    copy = body(COPY, f"rep {ITEM}", url=f"http://{COPY.address}/x", state="Copy", contenttype="Data")
    lie = body(LIAR, f"rep {ITEM}", url=f"http://{LIAR.address}/x", state="Original", contenttype="Data")
    run = resolution(f"/{ITEM}", ALL, routing=knowing(*map(str, COPY.service.labels)))
    outcome, _ = drive(run, {HOME: lambda _: silence, COPY: lambda _: copy, LIAR: lambda _: lie})
    assert isinstance(outcome, Redirect)
    assert outcome.archive == COPY
    assert [report.stands_in for report in run.trace.hops[0].leading] == [StandIn.COPY]


async def test_what_finds_an_archive_there_again_is_no_link_of_a_reader() -> None:
    archives = ArchiveHttp(AddressGuard())
    try:
        async with raw_archive(http(status="503 Later")) as there:
            for _ in range(5):
                await archives.ask(there.ref(), REQUEST, within=60)
            assert await archives.ask(there.ref(), REQUEST, within=60) is Failure.RESTING
            there.says = http(b"confirmation yes")
            await until(lambda: len(there.requests) > 5)
            assert b"servicesubject=inclusionConfirmationRequest" in there.requests[5]
    finally:
        await archives.close()
