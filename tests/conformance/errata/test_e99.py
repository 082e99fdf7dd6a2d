"""E99: what its home has deleted is not led to a Copy while the home is silent."""

from __future__ import annotations

import pytest

from ibi.items.model.change import FollowedChange, FollowedPage
from ibi.items.model.item import Tombstone
from ibi.membership.model.registration import KnownDeletion
from ibi.membership.rules.authority import ArchiveRef, Home, Homes
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Deleted, Outcome, Redirect
from ibi.resolver.service.feed_following import CopyStatements
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, RepositoryName, parse
from ibi.standard.messages import LabelForms
from ibi.standard.reply import Failure
from ibi.standard.vocabulary import State
from tests.conformance.errata.test_e92 import ALL, COPY, HOME, ITEM, LIAR, knowing
from tests.support.archive_app import IBIP, REP, archive_app, kept
from tests.support.flat_items import replace
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registry import MemoryRegistry
from tests.support.scripted_archives import body, drive, resolution
from tests.unit.archive.test_service import url_request

LABEL = RepositoryName.parse(ITEM)
ADDRESS, OWN_INSTANT = "150.163.34.243", HOME.service.labels[0].instant
OWN_IBIP = str(Ibip.from_parts(ADDRESS, 800, LABEL.instant))
FOREIGN_IBIP = "J8LNKAN8RW/3A4A4EP"
GONE = body(HOME, f"rep {ITEM}", state="Deleted", timestamp="2026-01-02T03:04:05Z")
COPIED = body(COPY, f"rep {ITEM}", url=f"http://{COPY.address}/x", state="Copy", contenttype="Data")
THERE = body(HOME, f"rep {ITEM}", url=f"http://{HOME.address}/x", state="Original", contenttype="Data")


def asked(memory: Memory, home: bytes | Failure) -> Outcome:
    run = resolution(f"/{ITEM}", ALL, routing=memory)
    outcome, _ = drive(run, {HOME: lambda _: home, COPY: lambda _: COPIED, LIAR: lambda _: b""})
    memory.learn(run.trace, outcome, 0.0)
    return memory.recall(outcome)


@pytest.mark.parametrize("silence", [Failure.CONNECTION_REFUSED, Failure.RESTING, Failure.TIMED_OUT])
def test_what_the_home_has_said_stands_while_it_is_silent(silence: Failure) -> None:
    memory = knowing(*map(str, COPY.service.labels))
    assert isinstance(asked(memory, silence), Redirect)
    assert isinstance(asked(memory, GONE), Deleted)
    outcome = asked(memory, silence)
    assert isinstance(outcome, Deleted)
    assert (outcome.by, str(outcome.when)) == (HOME, "2026-01-02T03:04:05Z")


def test_a_home_that_is_switched_off_is_named_by_its_label() -> None:
    beliefs = MemoryBeliefs()
    beliefs.record_deletion(LABEL, KnownDeletion(HOME.service.labels[0]), 1)
    memory = Memory(beliefs)
    memory.include((COPY, LIAR), Homes([(Home(HOME.service, None), HOME.home_prefixes)]), 1_700_000_000)
    run = resolution(f"/{ITEM}", (COPY, LIAR), routing=memory)
    outcome, _ = drive(run, {COPY: lambda _: COPIED, LIAR: lambda _: b""})
    told = memory.recall(outcome)
    assert isinstance(told, Deleted)
    assert (told.by, told.when, told.told_by) == (None, None, str(HOME.service.labels[0]))


def test_a_home_that_has_it_again_is_believed() -> None:
    memory = knowing(*map(str, COPY.service.labels))
    asked(memory, GONE)
    assert isinstance(asked(memory, THERE), Redirect)
    assert isinstance(asked(memory, Failure.CONNECTION_REFUSED), Redirect)


WITH_ADDRESS = replace(HOME, service=LabelForms(HOME.service.rep, Ibip.from_parts(ADDRESS, 800, OWN_INSTANT)))


@pytest.mark.parametrize(("teller", "is_believed"), [(WITH_ADDRESS, True), (LIAR, False)])
async def test_the_feed_of_the_home_tells_it_of_both_labels_and_no_other(
    teller: ArchiveRef, *, is_believed: bool
) -> None:
    beliefs = MemoryBeliefs()
    statements = CopyStatements(None, MemoryRegistry(), beliefs, lambda: 1.0)  # type: ignore[arg-type]
    changes = (
        FollowedChange(ITEM, related=False, deleted=True, ibip=OWN_IBIP),
        FollowedChange("no label", related=False, deleted=True, ibip=FOREIGN_IBIP),
        FollowedChange("example.org/home/2010/01.01.00.00", related=False, deleted=True, ibip=OWN_IBIP),
    )
    statements.note(teller, FollowedPage("e", 2, 2, changes))
    await statements.settle()
    assert (beliefs.deletion(LABEL) is not None) is is_believed
    assert (beliefs.deletion(parse(OWN_IBIP)) is not None) is is_believed
    assert beliefs.deletion(parse(FOREIGN_IBIP)) is None


async def test_the_feed_of_a_home_that_gave_the_original_on_tells_it_of_neither_label() -> None:
    beliefs = MemoryBeliefs()
    beliefs.record_successors(LABEL, (COPY.service.labels[0],), 1)
    statements = CopyStatements(None, MemoryRegistry(), beliefs, lambda: 1.0)  # type: ignore[arg-type]
    change = FollowedChange(ITEM, related=False, deleted=True, ibip=OWN_IBIP)
    statements.note(WITH_ADDRESS, FollowedPage("e", 1, 1, (change,)))
    await statements.settle()
    assert beliefs.deletion(LABEL) is None
    assert beliefs.deletion(parse(OWN_IBIP)) is None


async def test_a_copy_that_knows_it_answers_no_resolver() -> None:
    found, content = kept(REP, IBIP)
    copy = replace(found, state=State.COPY, source="home.example")
    assert b"state Copy" in (await archive_app((copy, content)).get(url_request())).body
    gone = replace(copy, original_tombstone=Tombstone(Instant(1), "withdrawn"))
    assert (await archive_app((gone, content)).get(url_request())).body == b""
