"""The table of what may become of an item, and what each act makes of it."""

from __future__ import annotations

import pytest

from ibi.items.model.file import File
from ibi.items.model.item import Draft
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.rules import errors, life_cycle
from ibi.items.rules.errors import (
    LanguageOfGroup,
    NotAllowedNow,
    NothingToPublish,
    OriginalNeeded,
    ServiceItemStays,
    TitleMissing,
    UntransferableItem,
)
from ibi.items.rules.life_cycle import REFUSALS, TABLE, Act, FileRemoved, Standing
from ibi.standard.document_errors import InvalidFileName, InvalidMetadata
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State
from tests.support.flat_items import new_draft, replace
from tests.support.standards_archives import forms, item

NOW = Instant.parse("2020-01-02T03:04:05Z")
LATER = Instant.parse("2021-01-02T03:04:05Z")
LABELS = forms("lab.br/arq/2020/01.02.03.04")
OTHER_ARCHIVE = parse("other.br/arq/2020/01.01.00.00")
TITLE = DescriptiveMetadata(title=(Text("A title"),))


def draft(*paths: str, **others: object) -> Draft:
    files = tuple(File(path, 1, "0" * 128) for path in paths)
    return new_draft(**{"metadata": TITLE, "files": files, **others})


def test_every_act_on_every_standing_is_possible_or_refused_with_a_reason() -> None:
    everything = {(standing, act) for standing in Standing for act in Act}
    assert TABLE.keys() | REFUSALS.keys() == everything
    assert TABLE.keys().isdisjoint(REFUSALS.keys())


def test_nothing_leads_back_from_deleted() -> None:
    assert {after for (before, _), after in TABLE.items() if before is Standing.DELETED} == {Standing.DELETED}


def test_only_an_original_becomes_deleted() -> None:
    assert {before for (before, _), after in TABLE.items() if after is Standing.DELETED} == {
        Standing.ORIGINAL,
        Standing.DELETED,
    }


def test_a_draft_can_be_begun_edited_published_and_discarded_and_nothing_else() -> None:
    possible = {act for act in Act if (Standing.DRAFT, act) in TABLE}
    assert possible == {Act.EDIT, Act.DISCARD, Act.PUBLISH}
    life_cycle.require(None, Act.BEGIN)
    life_cycle.require(draft(), Act.DISCARD)
    with pytest.raises(NotAllowedNow, match="it is a draft"):
        life_cycle.require(draft(), Act.UPDATE)


def test_a_draft_is_published_as_the_original() -> None:
    made = life_cycle.publish(draft("a.pdf", "b.pdf", target="b.pdf"), LABELS, NOW)
    assert (made.state, made.created, made.updated, made.version) == (State.ORIGINAL, NOW, NOW, 1)
    assert made.target == "b.pdf"


def test_the_only_file_is_the_target_and_of_several_none_is_unless_it_is_named() -> None:
    assert life_cycle.publish(draft("a.pdf"), LABELS, NOW).target == "a.pdf"
    assert life_cycle.publish(draft("a.pdf", "b.pdf"), LABELS, NOW).target is None


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (draft("a.pdf", metadata=DescriptiveMetadata()), TitleMissing),
        (draft(), NothingToPublish),
        (draft("nul.txt"), InvalidFileName),
        (draft("a", "A"), InvalidFileName),
    ],
)
def test_what_is_incomplete_or_cannot_be_kept_is_not_published(given: Draft, kind: type[IbiError]) -> None:
    with pytest.raises(kind):
        life_cycle.publish(given, LABELS, NOW)
    with pytest.raises(kind):
        life_cycle.update(life_cycle.publish(draft("a.pdf"), LABELS, NOW), given, LATER)


def test_a_web_service_needs_no_files() -> None:
    made = life_cycle.publish(draft(target_url="https://maps.lab.br/wms?a=b"), LABELS, NOW)
    assert made.target_url == "https://maps.lab.br/wms?a=b"


def test_an_update_keeps_the_label_and_warns_of_paths_that_die() -> None:
    before = life_cycle.publish(draft("a.pdf", "b.pdf"), LABELS, NOW)
    after = life_cycle.update(before, draft("b.pdf", "c.pdf"), LATER)
    assert after.warnings == (FileRemoved("a.pdf"),)
    assert (after.item.labels, after.item.version, after.item.created, after.item.updated) == (LABELS, 2, NOW, LATER)


def test_an_update_by_a_clock_that_was_set_back_does_not_go_back_in_time() -> None:
    before = life_cycle.publish(draft("a.pdf"), LABELS, LATER)
    assert life_cycle.update(before, draft("a.pdf"), NOW).item.updated == LATER


def test_the_language_of_a_member_of_a_group_stays() -> None:
    made = life_cycle.publish(
        draft("a", language=LanguageTag("pt"), translation_of=forms("a.br/b/2020/01.01.01.01")), LABELS, NOW
    )
    with pytest.raises(LanguageOfGroup, match="pt"):
        life_cycle.update(made, draft("a", language=LanguageTag("en")), LATER)


def test_a_deletion_leaves_a_tombstone_and_the_description() -> None:
    gone = life_cycle.delete(
        life_cycle.publish(draft("a.pdf"), LABELS, NOW), LATER, "a reason", replaced_by=forms("a.br/b/2020/01.01.01.01")
    )
    assert (gone.state, gone.files, gone.target, gone.metadata) == (State.DELETED, (), None, TITLE)
    assert gone.tombstone is not None
    assert (gone.tombstone.when, gone.tombstone.why, gone.tombstone.purged) == (LATER, "a reason", False)
    purged = life_cycle.purge(gone).tombstone
    assert purged is not None
    assert purged.purged


def test_a_deletion_says_why() -> None:
    with pytest.raises(InvalidMetadata):
        life_cycle.delete(life_cycle.publish(draft("a.pdf"), LABELS, NOW), LATER, " ")


def test_the_archives_own_service_is_neither_deleted_nor_transferred() -> None:
    service = life_cycle.publish(draft(target_url="http://arq.lab.br/"), LABELS, NOW)
    with pytest.raises(ServiceItemStays):
        life_cycle.delete(service, LATER, "why", service=LABELS)
    with pytest.raises(ServiceItemStays):
        life_cycle.send_away(service, OTHER_ARCHIVE, LATER, service=LABELS)


def test_what_is_not_transferable_stays() -> None:
    fixed = replace(life_cycle.publish(draft("a"), LABELS, NOW), transferable=False)
    with pytest.raises(UntransferableItem):
        life_cycle.send_away(fixed, OTHER_ARCHIVE, LATER)


def test_a_copy_is_made_of_an_original_and_changed_only_by_it() -> None:
    original = life_cycle.publish(draft("a.pdf"), LABELS, NOW)
    copied = life_cycle.copy(original, "arq.lab.br")
    assert (copied.state, copied.source) == (State.COPY, "arq.lab.br")
    for act in (
        lambda: life_cycle.update(copied, draft("a.pdf"), LATER),
        lambda: life_cycle.delete(copied, LATER, "why"),
        lambda: life_cycle.copy(copied, "a.br"),
    ):
        with pytest.raises(OriginalNeeded):
            act()
    newer = life_cycle.update(original, draft("b.pdf"), LATER).item
    assert life_cycle.refresh(copied, newer) == life_cycle.copy(newer, "arq.lab.br")


def test_a_refusal_names_the_item_the_act_and_the_reason() -> None:
    with pytest.raises(NotAllowedNow, match=r"lab\.br/arq/2020/01\.02\.03\.04.*dropping the Copy.*Original"):
        life_cycle.drop(item("lab.br/arq/2020/01.02.03.04", at=str(NOW), files=("a",)), LATER)


def test_every_refusal_has_a_code_and_a_sentence_of_its_own() -> None:
    classes = [each for each in vars(errors).values() if isinstance(each, type) and each.__module__ == errors.__name__]
    kinds = [each for each in classes if issubclass(each, IbiError)]
    assert kinds == classes
    assert len({kind.code for kind in kinds}) == len({kind.__doc__ for kind in kinds}) == len(kinds)
    assert all((kind.__doc__ or "").endswith(".") for kind in kinds)
