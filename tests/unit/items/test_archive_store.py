"""The store of a data directory: opened, swept, verified, and its catalogue made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.items.model.content import Damage
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import CATALOGUE, open_store, rebuild_catalogue
from ibi.items.ports.archive_store import ContentMissing
from ibi.items.rules.errors import UnknownItem
from ibi.items.service.stored_item import name_of
from tests.support.content_samples import ocfl_py_says
from tests.support.deposit_samples import WHO, CountedLabels, deposits, draft, dump, kept_in, labels, put, sources


def fill(data: Path) -> list[Item]:
    """One of everything."""
    with open_store(data) as store:
        made = deposits(store)
        first = put(made, sources(a=b"a" * 1000, folder__b=b"b"), language="pt")
        second = put(made, edition_of=first.labels, language="pt")
        put(made, translation_of=first.labels, language="en")
        made.update(second.rep, draft("b.txt"), sources(b=b"other"), WHO)
        made.delete(put(made).rep, "gone", WHO, replaced_by=second.rep)
        made.delete(put(made).rep, "gone for good", WHO, purge=True)
        made.deposit(draft(target_url="http://example.org/"), {}, WHO)
        return dump(store.catalog)


def read(data: Path) -> list[Item]:
    with open_store(data) as store:
        assert dump(store.catalog) == kept_in(store.content, store)
        return dump(store.catalog)


def test_a_clean_end_leaves_nothing_to_look_at(tmp_path: Path) -> None:
    before = fill(tmp_path)
    with open_store(tmp_path) as store:
        assert store.swept.looked_at == 0
        assert dump(store.catalog) == before
    assert [path.name for path in (tmp_path / "changes").iterdir()] == ["lock"]


def test_every_object_is_valid_to_an_independent_validator(tmp_path: Path) -> None:
    for item in fill(tmp_path):
        said = ocfl_py_says(tmp_path / "store" / name_of(item))
        assert [message for message in said if "W008" not in message] == []  # a user need not have an address


def test_a_catalogue_that_is_gone_is_read_from_the_store(tmp_path: Path) -> None:
    before = fill(tmp_path)
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    assert read(tmp_path) == before
    for path in tmp_path.glob(f"{CATALOGUE}*"):
        path.unlink()
    seen: list[None] = []
    assert rebuild_catalogue(tmp_path, lambda: seen.append(None)).looked_at == len(before) == len(seen)
    assert read(tmp_path) == before


def test_a_catalogue_that_is_wrong_is_made_right(tmp_path: Path) -> None:
    before = fill(tmp_path)
    with open_store(tmp_path) as store:
        store.catalog.remove(before[0].rep)
        store.catalog.put(Item(labels=labels(50), created=before[0].created, updated=before[0].updated))
        assert {one.name: [problem.code for problem in one.problems] for one in store.verify() if one.problems} == {
            name_of(before[0]): ["catalogue"],
            str(labels(50).rep): ["missing"],
        }
        listed = store.rebuild()
        assert (listed.removed, listed.unreadable) == (1, ())
        assert dump(store.catalog) == before


def test_a_catalogue_that_is_damaged_is_set_aside(tmp_path: Path) -> None:
    before = fill(tmp_path)
    (tmp_path / CATALOGUE).write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    assert rebuild_catalogue(tmp_path).looked_at == len(before)
    assert read(tmp_path) == before
    (aside,) = tmp_path.glob(f"{CATALOGUE}.damaged-*")
    assert aside.is_file()


def test_what_a_dead_process_was_changing_is_looked_at_and_nothing_else(tmp_path: Path) -> None:
    before = fill(tmp_path)
    store = open_store(tmp_path, boot="now")
    store._listing._journal.begin([name_of(before[1]), "not a name"])
    store.catalog.remove(before[1].rep)
    store.close()
    with open_store(tmp_path, boot="now") as again:
        assert again.swept.looked_at == 2
        assert dump(again.catalog) == before
    assert read(tmp_path) == before


def test_after_another_boot_everything_is_looked_at(tmp_path: Path) -> None:
    before = fill(tmp_path)
    store = open_store(tmp_path, boot="yesterday")
    store._listing._journal.begin([name_of(before[1])])
    store.catalog.remove(before[0].rep)
    store.close()
    with open_store(tmp_path, boot="today") as again:
        assert again.swept.looked_at == len(before)
        assert dump(again.catalog) == before


def test_what_a_living_process_is_changing_is_its_own_business(tmp_path: Path) -> None:
    before = fill(tmp_path)
    with open_store(tmp_path) as store:
        store._listing._journal.begin([name_of(before[1])])
        with open_store(tmp_path) as other:
            assert other.swept.looked_at == 0
        store._listing._journal.end([name_of(before[1])])


def test_a_claim_without_an_answer_is_answered(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        made = deposits(store)
        first, second = put(made), put(made)

        def stop(step: str) -> None:
            if step == "item listed":
                raise KeyboardInterrupt  # what no handler finishes: a crash, seen from inside

        store.step = stop
        from ibi.items.service.relating import Relating

        with pytest.raises(KeyboardInterrupt):
            Relating(store, made).record_next_edition(first.rep, second.rep, WHO)
        assert store.find(first.rep).next_edition is None
    with open_store(tmp_path) as again:
        assert again.find(first.rep).next_edition == second.labels
        assert again.find(second.rep).edition_of == first.labels
    read(tmp_path)


@pytest.mark.parametrize("number", range(5))
def test_a_flipped_byte_is_found_wherever_it_is(tmp_path: Path, number: int) -> None:
    first = fill(tmp_path)[0]
    place = tmp_path / "store" / name_of(first)
    files = sorted(path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
    assert len(files) > 5
    victim = files[number * (len(files) - 1) // 4]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with open_store(tmp_path) as store:
        seen: list[int] = []
        found = [one for one in store.verify(on_bytes=seen.append) if one.problems]
        assert [one.name for one in found] == [name_of(first)]
        assert sum(seen) >= 1000
        assert [one.name for one in store.verify([first.labels.labels[1]]) if one.problems] == [name_of(first)]


def test_an_object_without_a_readable_record_is_named_and_the_others_serve(tmp_path: Path) -> None:
    before = fill(tmp_path)
    place = tmp_path / "store" / name_of(before[0])
    for record in place.rglob("item.json"):
        record.write_bytes(b"{}")
    with open_store(tmp_path) as store:
        listed = store.rebuild()
        assert [name for name, _ in listed.unreadable] == [name_of(before[0])]
        assert {problem.kind for one in store.verify([before[0].rep]) for problem in one.problems} >= {
            Damage.UNREADABLE
        }
        assert len(dump(store.catalog)) == len(before)  # what the catalogue alone still knows is not thrown away
    (tmp_path / CATALOGUE).unlink()
    with open_store(tmp_path) as store:
        assert [name for name, _ in store.swept.unreadable] == [name_of(before[0])]
        assert dump(store.catalog) == before[1:]


def test_labels_that_no_item_bears_cannot_be_verified(tmp_path: Path) -> None:
    with open_store(tmp_path) as store, pytest.raises(UnknownItem):
        list(store.verify([labels(3).labels[0]]))


def test_two_processes_may_write_at_once(tmp_path: Path) -> None:
    with open_store(tmp_path) as one, open_store(tmp_path) as other:
        first = put(deposits(one))
        put(deposits(other, CountedLabels(10)), edition_of=first.labels)
        assert one.find(first.rep).next_edition == labels(10)
        with pytest.raises(ContentMissing):
            one.read(str(labels(20).rep))
    read(tmp_path)


def test_what_lies_between_the_objects_is_told(tmp_path: Path) -> None:
    item = fill(tmp_path)[0]
    place = tmp_path / "store" / name_of(item)
    (place.parent / "notes.txt").write_text("x")
    (place.parent.parent / "link").symlink_to(place)
    (place.parent / "copy of it").mkdir()
    (tmp_path / "store" / "README").write_text("OCFL lets any file lie here")
    (tmp_path / "store" / "extensions" / "a" / "b" / "c").mkdir(parents=True)
    with open_store(tmp_path) as store:
        found = [one for one in store.verify() if one.problems]
        assert [one.name for one in found] == [None] * 3
        assert {Path(problem.path).name for one in found for problem in one.problems} == {
            "notes.txt",
            "link",
            "copy of it",
        }
        assert [one.problems for one in store.verify([item.rep])] == [()]
