"""E91: a whole Archive is merged into another item by item; what was begun is gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.items.model.item import Item
from ibi.items.rules.errors import ServiceItemStays
from ibi.membership.rules.authority import Home, Homes
from ibi.resolver.api.alerts import alert_about
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import NoArchiveAnswered
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.vocabulary import State
from ibi.web.reader import translations
from tests.conformance.errata.test_e92 import COPY, HOME, ITEM
from tests.support.deposit_samples import CountedLabels, deposits, draft, put, sources
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_archives import drive, resolution
from tests.support.transfer_archives import TransferArchive, give, two_archives


def merge(a: TransferArchive, b: TransferArchive, items: list[Item]) -> None:
    for item in items:
        found = a.item(item.rep)
        assert found is not None
        if found.state is State.ORIGINAL:
            give(a, b, found)


def test_a_merge_that_broke_off_is_finished_by_giving_the_command_again(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        made = deposits(a.store, CountedLabels(5))
        items = [put(made) for _ in range(3)]
        give(a, b, items[0])
        a.sending.begin(items[1], b.url, "agreed")
        a.network.cut = {b.url}
        a.sending.begin(items[2], b.url, "agreed")
        states = [a.state(item.rep) for item in items]
        assert states == [State.COPY, State.ORIGINAL, State.ORIGINAL]
    with two_archives(tmp_path) as (a, b):
        a.tracking.trust()
        b.tracking.trust()
        merge(a, b, items)
        for item in items:
            left, come = a.item(item.rep), b.item(item.rep)
            assert left is not None
            assert come is not None
            assert (left.state, left.transferred_to, come.state) == (State.COPY, b.service.rep, State.ORIGINAL)
            assert (come.labels, come.files) == (item.labels, item.files)


def test_the_item_of_the_service_stays(tmp_path: Path) -> None:
    with two_archives(tmp_path) as (a, b):
        given = sources(a=b"x")
        item = deposits(a.store).deposit(draft(*given), given, "Ana")
        a.chains.service = item.labels
        with pytest.raises(ServiceItemStays):
            a.sending.check(item, b.url)


def test_the_label_of_a_service_that_has_ended_leads_to_the_one_in_its_place() -> None:
    home = Home(HOME.service, None, successor=COPY.service)
    memory = Memory(MemoryBeliefs())
    memory.include((COPY,), Homes([(home, HOME.home_prefixes)]), 1_700_000_000)
    label = HOME.service.labels[0]
    run = resolution(f"/{label}", (COPY,), routing=memory)
    outcome = memory.recall(drive(run, {COPY: lambda _: b""})[0])
    assert isinstance(outcome, NoArchiveAnswered)
    assert outcome.successor == COPY.service.labels[0]
    alert = alert_about(outcome, PersistentUrl(label), translations("en"))
    assert (alert.status, alert.facts["successor"]) == (410, COPY.service.labels[0].spelling)
    assert [advice.url for advice in alert.advice] == [f"/{COPY.service.labels[0].spelling}"]
    other = PersistentUrl.parse(f"/{ITEM}")
    run = resolution(f"/{ITEM}", (COPY,), routing=memory)
    outcome = memory.recall(drive(run, {COPY: lambda _: b""})[0])
    assert isinstance(outcome, NoArchiveAnswered)
    assert (outcome.successor, alert_about(outcome, other, translations("en")).status) == (None, 502)
