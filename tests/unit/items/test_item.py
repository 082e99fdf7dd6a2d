"""Items: what cannot be is not built."""

from __future__ import annotations

import pytest

from ibi.items.model.file import File
from ibi.items.model.item import Draft, Item, Tombstone
from ibi.standard.document_errors import InvalidFileName, InvalidItem
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms, State
from tests.support.flat_items import new_draft, replace
from tests.support.standards_archives import forms, item

REP, OTHER = "lab.br/arq/2020/01.02.03.04", "lab.br/arq/2020/01.02.03.05"
ITEM = item(REP, at="2020-01-02T03:04:05Z", files=("b/é.pdf", "a.pdf"))
EARLIER = Instant.parse("2019-01-01T00:00:00Z")
PT, EN = LanguageTag("pt"), LanguageTag("en")
TOMB = Tombstone(EARLIER, "why")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": LabelForms.of(parse("8JMKD3MGP7W/3EPGUE5"))},
        {"updated": EARLIER},
        {"version": 0},
        {"target": "c.pdf"},
        {"target_url": "http://a.br/"},
        {"target_url": "javascript:alert(1)", "files": (), "target": None},
        {"edition_of": forms(REP)},
        {"next_edition": forms(REP)},
        {"edition_of": forms(OTHER), "next_edition": forms(OTHER)},
        {"translation_of": forms(OTHER)},
        {"translation_of": forms(REP), "language": PT},
        {"translations": ((EN, forms(REP)),), "language": PT},
        {"translations": ((PT, forms(OTHER)),), "language": PT},
        {"translations": ((PT, forms(OTHER)), (PT, forms(OTHER)))},
        {"metadata_item": forms(REP)},
        {"metadata_item": forms(OTHER), "describes": forms(OTHER)},
        {"state": State.DELETED},
        {"tombstone": TOMB},
        {"state": State.DELETED, "tombstone": TOMB},
        {"source": "a.br"},
        {"state": State.COPY, "source": "user@a.br"},
        {"state": State.COPY, "source": "not an address"},
        {"files": (File("a", 1, "0" * 128), File("a", 2, "1" * 128)), "target": None},
    ],
)
def test_what_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidItem) as refusal:
        replace(ITEM, **change)
    str(refusal.value).encode()


def test_the_group_may_know_the_item_itself_by_one_of_its_forms() -> None:
    """E29."""
    known = replace(ITEM, language=EN, translations=((PT, forms(OTHER)), (EN, forms(REP))))
    assert known.translations == ((EN, forms(REP)), (PT, forms(OTHER)))


def test_files_are_kept_in_the_order_of_their_names() -> None:
    assert [file.path for file in ITEM.files] == ["a.pdf", "b/é.pdf"]


@pytest.mark.parametrize(("path", "found"), [("a.pdf", "a.pdf"), ("b/é.pdf", "b/é.pdf"), ("b/e\u0301.pdf", "b/é.pdf")])
def test_a_file_is_found_whichever_way_its_letters_are_composed(path: str, found: str) -> None:
    file = ITEM.file(path)
    assert file is not None
    assert file.path == found


@pytest.mark.parametrize("path", ["", "b", "A.pdf", "a.pdf/", "c", "\ud800", "ß"])
def test_another_file_is_not_there(path: str) -> None:
    assert ITEM.file(path) is None


@pytest.mark.parametrize("path", ["", "/a", "../a", "a/./b", "a\\b", "a\0", "a\nb", "\udcff"])
def test_a_file_never_leads_out_of_its_item(path: str) -> None:
    with pytest.raises(InvalidFileName):
        File(path, 1, "0" * 128)


@pytest.mark.parametrize(
    ("size", "digest", "media_type"),
    [
        (-1, "0" * 128, "a/b"),
        (0, "0" * 127, "a/b"),
        (0, "A" * 128, "a/b"),
        (0, "0" * 128, "pdf"),
        (0, "0" * 128, "a/b\r\nx: y"),
    ],
)
def test_a_file_has_a_size_a_digest_and_a_media_type(size: int, digest: str, media_type: str) -> None:
    with pytest.raises(InvalidItem):
        File("a", size, digest, media_type)


def test_a_draft_may_lack_anything_but_contradicts_nothing() -> None:
    assert Draft().files == ()
    with pytest.raises(InvalidItem):
        new_draft(target="a.pdf")
    with pytest.raises(InvalidInput):
        new_draft(target_url="file:///etc/passwd")


def test_an_item_knows_its_labels() -> None:
    both = item(
        "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5", at="2020-01-02T03:04:05Z", files=("a",)
    )
    assert isinstance(both, Item)
    assert both.is_called(parse("8jmkd3mgp7w/3epgue5"))
    assert not both.is_called(parse(REP))
