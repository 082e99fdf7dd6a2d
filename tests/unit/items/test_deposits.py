"""Deposits on stores in memory: what each act does to the item and to those it names."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha512
from pathlib import Path

import pytest

from ibi.items.model.change import Revision
from ibi.items.model.content import Bytes, Copy, Keep, Move, Source, Stream
from ibi.items.model.item import Item
from ibi.items.ports.archive_store import ContentChanged, ContentMissing, FileMissing, SourceRefused
from ibi.items.rules.errors import (
    KeyReused,
    MetadataOfMetadata,
    NotAllowedNow,
    NothingToPublish,
    SecondMetadataItem,
    SecondSuccessor,
    SecondTranslation,
    ServiceItemStays,
    TitleMissing,
    TranslationLanguageMissing,
    TranslationOfTranslation,
    UnknownItem,
)
from ibi.items.rules.life_cycle import FileRemoved
from ibi.items.rules.related_items import group
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_repository import ItemRepository
from ibi.items.service.stored_item import ChangeUnfinished, StoredItem, name_of
from ibi.standard.document_errors import InvalidFileName, InvalidItem
from ibi.standard.errors import IbiError
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State
from ibi.storage.errors import DiskRefused
from tests.support.content_samples import content_of
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, kept_in, labels, put, sources
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.content import MemoryContent
from tests.support.memory.item_changes import MemoryItemLocks

PT, EN = LanguageTag("pt"), LanguageTag("en")


@pytest.fixture(autouse=True)
def _agreement(kept: ItemRepository) -> object:
    """Whatever a test does, catalogue and content say the same afterwards."""
    yield
    assert dump(kept.catalog) == kept_in(kept.content, kept)


def test_what_is_deposited_is_kept_and_listed(kept: ItemRepository, made: Deposits) -> None:
    item = made.deposit(draft("a.txt", "data/b.pdf"), {"a.txt": Bytes(b"a"), "data/b.pdf": Bytes(b"bb")}, WHO, "why")
    assert item.labels == labels(0)
    assert [(file.path, file.size, file.media_type) for file in item.files] == [
        ("a.txt", 1, "text/plain"),
        ("data/b.pdf", 2, "application/pdf"),
    ]
    assert kept.catalog.find(item.labels.labels[1]) == item
    assert content_of(kept.content, name_of(item), "doc/data/b.pdf") == b"bb"
    version = kept.content.read(name_of(item)).head
    assert (version.change.user, version.change.message) == (WHO, "why")
    assert {f"doc/{file.path}": file.sha512 for file in item.files}.items() <= dict(version.files).items()


def test_every_kind_of_source_is_measured_on_its_way(kept: ItemRepository, made: Deposits, tmp_path: Path) -> None:
    for name in ("copied", "moved"):
        (tmp_path / name).write_bytes(name.encode() * 1000)
    given: dict[str, Source] = {
        "bytes": Bytes(b"bytes" * 1000),
        "copied": Copy(str(tmp_path / "copied")),
        "moved": Move(str(tmp_path / "moved")),
        "stream": Stream(io.BytesIO(b"stream" * 1000).read),
        "empty": Stream(io.BytesIO(b"").read),
    }
    seen: list[int] = []
    item = made.deposit(draft(*given), given, WHO, on_bytes=seen.append)
    for file in item.files:
        assert content_of(kept.content, name_of(item), f"doc/{file.path}") == file.path.encode() * (
            file.size // len(file.path)
        )
    assert sum(seen) == sum(file.size for file in item.files) == 1000 * (5 + 6 + 5 + 6)
    assert (tmp_path / "copied").exists()
    assert not (tmp_path / "moved").exists()


def test_a_small_file_that_is_moved_leaves_nothing_behind(kept: ItemRepository, made: Deposits, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"moved")
    item = made.deposit(draft("a"), {"a": Move(str(tmp_path / "a"))}, WHO)
    assert content_of(kept.content, name_of(item), "doc/a") == b"moved"
    assert (item.files[0].size, item.files[0].sha512) == (5, sha512(b"moved").hexdigest())
    assert list(tmp_path.iterdir()) == []


def test_a_small_file_that_is_to_be_moved_stays_if_the_item_is_refused(kept: ItemRepository, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"stays")
    with pytest.raises(TitleMissing):
        put(deposits(kept), {"a": Move(str(tmp_path / "a"))}, title="")
    with pytest.raises(SourceRefused):
        put(deposits(kept), {"b": Move(str(tmp_path / "b"))})
    assert (tmp_path / "a").read_bytes() == b"stays"
    assert list(kept.content.iterate()) == []


@pytest.mark.parametrize(
    ("given", "described", "refusal"),
    [
        (sources(a=b""), {"title": ""}, TitleMissing),
        ({}, {}, NothingToPublish),
        ({"../a": Bytes(b"")}, {}, InvalidFileName),
        ({"con.txt": Bytes(b"")}, {}, InvalidFileName),
        ({"a": Bytes(b""), "A": Bytes(b"")}, {}, InvalidFileName),
        ({"a": Copy("/nowhere/at/all")}, {}, SourceRefused),
        (sources(a=b""), {"translation_of": labels(77)}, TranslationLanguageMissing),
        (sources(a=b""), {"target_url": "http://example.org/"}, InvalidItem),
    ],
)
def test_what_is_refused_leaves_nothing(
    kept: ItemRepository, given: dict[str, Source], described: dict[str, object], refusal: type[IbiError]
) -> None:
    reserving = CountedLabels()
    with pytest.raises(refusal):
        put(deposits(kept, reserving), given, **described)
    assert dump(kept.catalog) == []
    assert list(kept.content.iterate()) == []
    assert reserving.given == (refusal is SourceRefused)  # no label is spent on what can be seen to be wrong


def test_a_key_gives_the_item_of_the_first_time(kept: ItemRepository, made: Deposits) -> None:
    one = made.deposit(draft("a.txt"), sources(a=b"1"), WHO, key="k")
    again = made.deposit(draft("a.txt"), sources(a=b"1"), WHO, key="k")
    assert again == one
    with pytest.raises(KeyReused, match=r"with other content \(files\)"):
        made.deposit(draft("a.txt"), sources(a=b"2"), WHO, key="k")
    kept.catalog.remove(one.rep)  # as if the first had crashed between the two stores
    assert made.deposit(draft("a.txt"), sources(a=b"1"), WHO, key="k") == one
    with pytest.raises(KeyReused):
        made.deposit(draft("a.txt"), sources(a=b"3"), WHO, key="k")


def test_a_key_stands_for_files_wherever_they_lie(made: Deposits, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"1")
    one = made.deposit(draft("a.txt"), {"a.txt": Copy(str(path))}, WHO, key="k")
    assert made.deposit(draft("a.txt"), {"a.txt": Copy(str(path))}, WHO, key="k") == one
    assert made.deposit(draft("a.txt"), {"a.txt": Move(str(path))}, WHO, key="k") == one
    assert path.exists()
    path.write_bytes(b"2")
    for source in (Copy(str(path)), Move(str(path))):
        with pytest.raises(KeyReused):
            made.deposit(draft("a.txt"), {"a.txt": source}, WHO, key="k")
    # What can be read only once is not compared.
    assert made.deposit(draft("a.txt"), {"a.txt": Stream(io.BytesIO(b"3").read)}, WHO, key="k") == one


def test_an_update_keeps_the_label_and_warns_of_removed_files(kept: ItemRepository, made: Deposits) -> None:
    item = put(made, sources(a=b"a", b=b"b", c=b"c"))
    given: dict[str, Source] = {"a.txt": Keep("a.txt"), "renamed.txt": Keep("b.txt"), "new.txt": Bytes(b"new")}
    updated = made.update(item.labels.labels[1], draft(*given, title="Outra"), given, WHO)
    assert updated.warnings == (FileRemoved("b.txt"), FileRemoved("c.txt"))
    assert (updated.item.labels, updated.item.version) == (item.labels, 2)
    assert [file.path for file in updated.item.files] == ["a.txt", "new.txt", "renamed.txt"]
    assert content_of(kept.content, name_of(item), "doc/renamed.txt") == b"b"
    assert content_of(kept.content, name_of(item), "doc/c.txt", 1) == b"c"
    assert kept.catalog.find(item.rep) == updated.item


def test_an_update_that_another_overtook_is_refused(
    kept: ItemRepository, made: Deposits, monkeypatch: pytest.MonkeyPatch
) -> None:
    item, read = put(made), kept.read

    def overtaken(name: str) -> StoredItem:
        before = read(name)
        monkeypatch.setattr(kept, "read", read)
        made.change({item.rep: lambda now: replace(now, next_edition=labels(55))}, WHO, "meanwhile")
        return before

    monkeypatch.setattr(kept, "read", overtaken)
    with pytest.raises(ContentChanged):
        made.update(item.rep, draft("a.txt"), sources(a=b"2"), WHO)
    assert kept.find(item.rep) == replace(item, next_edition=labels(55))


@pytest.mark.parametrize("missing", ["b.txt", "../a.txt"])
def test_a_file_that_the_item_has_not_cannot_be_kept(made: Deposits, missing: str) -> None:
    item = put(made)
    with pytest.raises(FileMissing):
        made.update(item.rep, draft("x"), {"x": Keep(missing)}, WHO)


def test_a_deleted_item_leaves_a_tombstone_and_its_history(kept: ItemRepository, made: Deposits) -> None:
    item, other = put(made), put(made)
    gone = made.delete(item.rep, "withdrawn by its author", WHO, replaced_by=other.labels.labels[1])
    assert gone.state is State.DELETED
    assert gone.tombstone is not None
    assert (gone.tombstone.why, gone.tombstone.replaced_by) == ("withdrawn by its author", other.labels)
    assert set(kept.content.read(name_of(item)).head.files) == {"item.json", "local.json"}
    assert content_of(kept.content, name_of(item), "doc/a.txt", 1) == b"content"
    with pytest.raises(NotAllowedNow):
        made.delete(item.rep, "again", WHO)
    with pytest.raises(NotAllowedNow):
        made.update(item.rep, draft("a.txt"), sources(a=b""), WHO)


@pytest.mark.parametrize("deleted_before", [False, True])
def test_purging_leaves_the_tombstone_alone(kept: ItemRepository, made: Deposits, *, deleted_before: bool) -> None:
    item = put(made)
    if deleted_before:
        made.delete(item.rep, "first reason", WHO)
    gone = made.delete(item.rep, "by order of a court", WHO, purge=True)
    assert gone.tombstone is not None
    assert gone.tombstone.purged
    assert gone.tombstone.why == ("first reason" if deleted_before else "by order of a court")
    assert len(kept.content.read(name_of(item)).versions) == 1
    with pytest.raises(FileMissing):
        kept.content.open(name_of(item), "doc/a.txt", 1)


def test_the_archives_own_service_stays(kept: ItemRepository) -> None:
    own = deposits(kept, service=labels(0))
    item = own.deposit(draft(target_url="http://127.0.0.1/"), {}, WHO, transferable=False)
    assert not item.transferable
    with pytest.raises(ServiceItemStays):
        own.delete(item.rep, "no", WHO)


def test_editions_name_each_other_at_once(kept: ItemRepository, made: Deposits) -> None:
    first = put(made)
    second = put(made, edition_of=first.labels)
    third = put(made, edition_of=replace(second.labels, rep=None))  # however it is named
    assert [item.next_edition for item in dump(kept.catalog)] == [second.labels, third.labels, None]
    assert [item.edition_of for item in dump(kept.catalog)] == [None, first.labels, second.labels]
    assert kept.find(first.rep).updated == first.updated
    assert kept.find(first.rep).version == 1


def test_a_second_successor_is_refused_and_nothing_of_it_stays(kept: ItemRepository, made: Deposits) -> None:
    first = put(made)
    put(made, edition_of=first.labels)
    with pytest.raises(SecondSuccessor) as refused:
        put(made, edition_of=first.labels)
    assert "example.invalid" not in str(refused.value)  # it has no label yet, and none is made up for it
    assert len(dump(kept.catalog)) == 2


def test_texts_whose_source_was_deleted_go_on_without_it(kept: ItemRepository, made: Deposits) -> None:
    source = put(made, language="pt")
    english = put(made, language="en", translation_of=source.labels)
    made.delete(source.rep, "gone", WHO)
    with pytest.raises(NotAllowedNow):
        put(made, language="fr", translation_of=source.labels)
    with pytest.raises(SecondTranslation):
        put(made, language="en", translation_of=english.labels)
    french = put(made, language="fr", translation_of=english.labels)
    assert group(kept.catalog, french).keys() == {LanguageTag("en"), LanguageTag("fr")}
    assert group(kept.catalog, kept.find(english.rep)) == group(kept.catalog, french)


def test_no_edition_follows_what_is_deleted_and_any_may_follow_what_is_elsewhere(made: Deposits) -> None:
    first = put(made)
    made.delete(first.rep, "gone", WHO)
    with pytest.raises(NotAllowedNow):
        put(made, edition_of=first.labels)
    assert put(made, edition_of=labels(99)).edition_of == labels(99)


def test_translations_are_known_to_their_source(kept: ItemRepository, made: Deposits) -> None:
    source = put(made, language="pt")
    english = put(made, language="en", translation_of=source.labels)
    assert kept.find(source.rep).translations == ((EN, english.labels),)
    with pytest.raises(SecondTranslation):
        put(made, language="en", translation_of=source.labels)
    with pytest.raises(SecondTranslation):
        put(made, language="pt", translation_of=source.labels)
    with pytest.raises(TranslationOfTranslation):
        put(made, language="es", translation_of=english.labels)


def test_metadata_that_is_an_item_is_known_to_what_it_describes(kept: ItemRepository, made: Deposits) -> None:
    item = put(made)
    own = put(made, {"m.xml": Bytes(b"<m/>")}, describes=replace(item.labels, rep=None), language="en")
    assert kept.find(item.rep).metadata_item == own.labels
    assert kept.find(own.rep).describes == item.labels
    with pytest.raises(SecondMetadataItem):
        put(made, describes=item.labels)
    with pytest.raises(MetadataOfMetadata):
        put(made, describes=own.labels)
    assert len(dump(kept.catalog)) == 2


def test_a_translation_of_metadata_is_known_to_the_metadata_alone(kept: ItemRepository, made: Deposits) -> None:
    item = put(made)
    own = put(made, describes=item.labels, language="en")
    translated = put(made, language="pt", translation_of=own.labels, describes=item.labels)
    assert kept.find(item.rep).metadata_item == own.labels
    assert kept.find(own.rep).translations == ((PT, translated.labels),)
    with pytest.raises(MetadataOfMetadata):
        put(made, describes=translated.labels)
    with pytest.raises(MetadataOfMetadata):
        put(made, language="fr", translation_of=own.labels, describes=own.labels)


def test_what_is_deleted_is_not_described_and_what_is_elsewhere_may_be(made: Deposits) -> None:
    item = put(made)
    made.delete(item.rep, "gone", WHO)
    with pytest.raises(NotAllowedNow, match="metadata is not possible"):
        put(made, describes=item.labels)
    assert put(made, describes=labels(99)).describes == labels(99)


@pytest.mark.parametrize("act", ["update", "delete", "change"])
def test_what_is_not_here_cannot_be_changed(made: Deposits, act: str) -> None:
    label = labels(5).labels[0]
    acts: dict[str, Callable[[], object]] = {
        "update": lambda: made.update(label, draft("a.txt"), sources(a=b""), WHO),
        "delete": lambda: made.delete(label, "why", WHO),
        "change": lambda: made.change({label: lambda item: item}, WHO, "why"),
    }
    with pytest.raises(UnknownItem):
        acts[act]()


class _FullDisk(MemoryCatalog):
    """Refuses to be written for a while."""

    full = False

    def put(self, item: Item, revision: Revision | None = None) -> None:
        if self.full:
            raise DiskRefused(path="catalogue", reason="No space left on device")
        super().put(item, revision)


def test_what_could_not_be_listed_is_told_and_made_good_with_the_next_change() -> None:
    catalog = _FullDisk()
    kept = ItemRepository(MemoryContent(), catalog, locks=MemoryItemLocks())
    made = deposits(kept)
    first = put(made)
    catalog.full = True
    with pytest.raises(ChangeUnfinished, match=r"\(catalogue: No space left on device\)") as told:
        put(made, edition_of=first.labels)
    assert "Nothing of this request was done" not in str(told.value)
    assert len(dump(catalog)) == 1
    catalog.full = False
    put(made)
    assert len(dump(catalog)) == 3
    assert kept.find(first.rep).next_edition == labels(1)
    assert dump(catalog) == kept_in(kept.content, kept)


def test_an_object_that_is_not_there_cannot_be_read(kept: ItemRepository) -> None:
    with pytest.raises(ContentMissing):
        kept.read(name_of(labels(0).rep))  # type: ignore[arg-type]
    assert kept.settle(str(labels(0).rep)) is None


@pytest.mark.parametrize(
    ("who", "address"),
    [
        ("ana@inpe.br", "mailto:ana@inpe.br"),
        ("a/b?c@inpe.br", "mailto:a%2Fb%3Fc@inpe.br"),
        ("https://orcid.org/0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("Ana Ávila", None),
        ("ana@", None),
        ("https://", None),
    ],
)
def test_an_actor_that_goes_by_an_address_has_it_in_the_version(
    kept: ItemRepository, who: str, address: str | None
) -> None:
    item = deposits(kept).deposit(draft("a.txt"), sources(a=b"a"), who)
    change = kept.content.read(name_of(item)).versions[0].change
    assert (change.user, change.address) == (who, address)
