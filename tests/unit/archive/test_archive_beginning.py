"""The Archive's own item leads to where the Archive is."""

from __future__ import annotations

import pytest

from ibi.archive.service.beginning import (
    ArchiveRecordMissing,
    NoArchiveItem,
    SeveralArchiveItems,
    begin_archive,
    follow_address,
    recover_record,
    service_draft,
)
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.relating import Relating
from ibi.membership.model.membership import ArchiveRecord
from ibi.minting.ports import KEY_LIFETIME
from ibi.standard.instant import Instant
from tests.support.deposit_samples import WHO, labels, put
from tests.support.flat_items import new_draft, replace
from tests.support.memory.archive_state import MemoryArchiveRecords
from tests.support.set_clocks import SetClocks

HERE, THERE, HOME = "http://arq.lab.br:8765", "https://arquivo.lab.br", "https://www.lab.br/arquivo"

NOW = SetClocks().read().wall
LATER = Instant(NOW.seconds + KEY_LIFETIME + 1)


def begin(kept: ItemRepository, made: Deposits, now: Instant = NOW) -> ArchiveRecord:
    """Begin an Archive where there is no record of one."""
    return begin_archive(made, kept, MemoryArchiveRecords(), now, public_url=HERE, title="An Archive", who=WHO)


@pytest.fixture
def begun(kept: ItemRepository, made: Deposits) -> ArchiveRecord:
    return begin(kept, made)


def url(kept: ItemRepository, begun: ArchiveRecord) -> str | None:
    return kept.find(begun.service.labels[0]).target_url


def test_the_own_item_follows_an_archive_that_moves_and_stays_what_it_is(
    kept: ItemRepository, made: Deposits, begun: ArchiveRecord
) -> None:
    before = kept.find(begun.service.labels[0])
    assert not follow_address(made, kept, begun.service, HERE, WHO)
    assert kept.find(before.rep) == before
    assert follow_address(made, kept, begun.service, THERE, WHO)
    after = kept.find(before.rep)
    assert after == replace(before, target_url=f"{THERE}/", version=2, updated=after.updated)
    assert not after.transferable
    assert follow_address(made, kept, begun.service, HERE, WHO)
    assert url(kept, begun) == f"{HERE}/"


def test_other_changes_of_the_item_keep_it_from_nothing(
    kept: ItemRepository, made: Deposits, begun: ArchiveRecord
) -> None:
    item = kept.find(begun.service.labels[0])
    named = new_draft(labels=item.labels, metadata=item.metadata, target_url=item.target_url)
    made.update(item.rep, named, {}, WHO)
    Relating(kept, made).record_next_edition(item.rep, labels(99).labels[0], WHO)
    assert follow_address(made, kept, begun.service, THERE, WHO)
    assert url(kept, begun) == f"{THERE}/"
    assert kept.find(item.rep).next_edition is not None


def test_a_url_that_was_chosen_by_a_person_stays(kept: ItemRepository, made: Deposits, begun: ArchiveRecord) -> None:
    item = kept.find(begun.service.labels[0])
    made.update(item.rep, new_draft(labels=item.labels, metadata=item.metadata, target_url=HOME), {}, WHO)
    assert not follow_address(made, kept, begun.service, THERE, WHO)
    assert url(kept, begun) == HOME


def test_a_beginning_that_was_interrupted_goes_on_with_the_item_that_is_there(
    kept: ItemRepository, made: Deposits, begun: ArchiveRecord
) -> None:
    put(made)
    again = begin_archive(made, kept, MemoryArchiveRecords(), NOW, public_url=THERE, title="Another", who=WHO)
    assert again.service == begun.service
    assert len(list(kept.catalog.items())) == 2


def test_where_an_archive_was_begun_long_ago_none_is_begun_without_its_record(
    kept: ItemRepository, made: Deposits, begun: ArchiveRecord
) -> None:
    with pytest.raises(ArchiveRecordMissing, match=str(begun.service.rep)):
        begin(kept, made, LATER)
    assert [item.labels for item in kept.catalog.items()] == [begun.service]


def test_items_that_were_deposited_before_keep_no_archive_from_beginning(kept: ItemRepository, made: Deposits) -> None:
    item = put(made)
    assert begin(kept, made, LATER).service != item.labels


def test_a_record_is_recovered_from_the_item_and_has_another_secret(
    kept: ItemRepository, made: Deposits, begun: ArchiveRecord
) -> None:
    follow_address(made, kept, begun.service, THERE, WHO)
    records = MemoryArchiveRecords()
    recovered = recover_record(kept, records, None)
    assert (recovered.service, records.read()) == (begun.service, recovered)
    assert recovered.url_key_secret != begun.url_key_secret


def test_of_several_archives_the_one_that_is_named_is_recovered(
    kept: ItemRepository, made: Deposits, begun: ArchiveRecord
) -> None:
    other = made.deposit(service_draft(THERE, "Begun anew"), {}, WHO, "The Archive began", transferable=False)
    with pytest.raises(SeveralArchiveItems, match=f"{begun.service.rep}, {other.rep}"):
        recover_record(kept, MemoryArchiveRecords(), None)
    assert recover_record(kept, MemoryArchiveRecords(), other.rep).service == other.labels


def test_nothing_is_recovered_from_items_that_are_no_archive(kept: ItemRepository, made: Deposits) -> None:
    item = put(made)
    for label in (None, item.rep):
        with pytest.raises(NoArchiveItem):
            recover_record(kept, MemoryArchiveRecords(), label)
