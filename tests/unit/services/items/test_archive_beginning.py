"""The Archive's own item leads to where the Archive is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.model.item import Draft
from ibi.model.membership import ArchiveRecord
from ibi.services.items.archive_beginning import begin_archive, follow_address
from ibi.services.items.deposits import Deposits
from ibi.services.items.item_repository import ItemRepository
from ibi.services.items.relating import Relating
from tests.support.deposit_samples import WHO, labels
from tests.support.memory.archive_state import MemoryArchiveRecords

HERE, THERE, HOME = "http://arq.lab.br:8765", "https://arquivo.lab.br", "https://www.lab.br/arquivo"


@pytest.fixture
def begun(made: Deposits) -> ArchiveRecord:
    return begin_archive(made, MemoryArchiveRecords(), HERE, "An Archive", WHO)


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
    named = Draft(labels=item.labels, metadata=item.metadata, target_url=item.target_url)
    made.update(item.rep, named, {}, WHO)
    Relating(kept, made).record_next_edition(item.rep, labels(99).labels[0], WHO)
    assert follow_address(made, kept, begun.service, THERE, WHO)
    assert url(kept, begun) == f"{THERE}/"
    assert kept.find(item.rep).next_edition is not None


def test_a_url_that_somebody_chose_stays(kept: ItemRepository, made: Deposits, begun: ArchiveRecord) -> None:
    item = kept.find(begun.service.labels[0])
    made.update(item.rep, Draft(labels=item.labels, metadata=item.metadata, target_url=HOME), {}, WHO)
    assert not follow_address(made, kept, begun.service, THERE, WHO)
    assert url(kept, begun) == HOME
