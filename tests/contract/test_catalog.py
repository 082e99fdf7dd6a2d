"""The port `Catalog`, tried on every adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ibi.items.model.content import HeldTotal
from ibi.items.model.description_values import Alternate
from ibi.items.model.file import File
from ibi.items.model.item import Item, Tombstone
from ibi.items.model.metadata import ResourceType
from ibi.items.model.transfer_record import Transfer
from ibi.items.ports.catalog import Link
from ibi.items.rules.errors import LabelTaken
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, Label, RepositoryName, parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms, State
from tests.properties.item_strategies import forms_at, items
from tests.support.archive_catalog import PlainCatalog, add_up
from tests.support.catalog_dump import dump
from tests.support.catalog_samples import item, same_ibip
from tests.support.flat_items import replace
from tests.support.memory.catalog import MemoryCatalog

Adapter = MemoryCatalog | SqliteCatalog
ADAPTERS: dict[str, Callable[[Path], Adapter]] = {
    "memory": lambda _: MemoryCatalog(),
    "sqlite": lambda folder: SqliteCatalog(folder / "catalogue.sqlite"),
}


@pytest.fixture(params=ADAPTERS)
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Adapter]:
    with closing(ADAPTERS[request.param](tmp_path)) as catalog:
        yield catalog


def ibip(of: Item) -> Ibip:
    assert of.labels.ibip is not None
    return of.labels.ibip


def test_an_empty_catalogue_knows_nothing(catalog: Adapter) -> None:
    label = forms_at(0).labels[0]
    assert catalog.find(label) is None
    assert not catalog.remove(label)
    assert list(catalog.items()) == []
    assert all(catalog.find_linked(link, label) == () for link in Link)


def test_what_departed_is_found_no_more_but_for_where_it_went(catalog: Adapter) -> None:
    gone, stays, to = item(1), item(2), forms_at(77).labels[0]
    catalog.put(gone)
    catalog.put(stays)
    for label in gone.labels.labels:
        assert catalog.transfer(label) is None
    transfer = Transfer(gone.labels, to, gone.updated)
    for _ in range(2):
        catalog.depart(transfer)
        for label in gone.labels.labels:
            assert catalog.find(label) is None
            assert catalog.transfer(label) == transfer
        for label in stays.labels.labels:
            assert catalog.find(label) == stays
            assert catalog.transfer(label) is None
    assert list(catalog.items()) == [stays]
    catalog.put(gone)  # taken over again
    assert catalog.find(gone.rep) == gone


def test_the_holdings_are_the_sums_of_what_is_listed(catalog: Adapter) -> None:
    assert catalog.holdings() == {}
    one, other = item(1), item(2, files=(File("a.txt", 7, "0" * 128, "text/plain"),), target="a.txt")
    catalog.put_all([one, other])
    assert catalog.holdings() == add_up([one, other])
    assert catalog.holdings()[State.ORIGINAL].size == 7 + sum(file.size for file in one.files)
    gone = replace(other, files=(), target=None, state=State.DELETED, tombstone=Tombstone(other.updated, "by request"))
    catalog.put(gone)
    assert catalog.holdings() == {State.ORIGINAL: add_up([one])[State.ORIGINAL], State.DELETED: HeldTotal(1)}
    catalog.remove(one.rep)
    catalog.depart(Transfer(gone.labels, forms_at(77).labels[0], gone.updated))
    assert catalog.holdings() == {}


def test_holdings_by_type_and_the_largest_follow_every_change(catalog: Adapter) -> None:
    assert catalog.holdings_by_type() == {}
    assert catalog.largest(5) == ()

    def of(number: int, size: int, kind: ResourceType | None) -> Item:
        files = (File("a.txt", size, "0" * 128, "text/plain"),) if size else ()
        described = replace(item(number).metadata, resource_type=kind)
        return replace(item(number, files=files, target="a.txt" if size else None), metadata=described)

    text, image, bare = of(1, 7, ResourceType.TEXT), of(2, 9, ResourceType.IMAGE), of(3, 8, None)
    catalog.put_all([text, image, bare])
    one = HeldTotal(1, 1, 7), HeldTotal(1, 1, 9), HeldTotal(1, 1, 8)
    expected = dict(zip((ResourceType.TEXT, ResourceType.IMAGE, None), one, strict=True))
    assert catalog.holdings_by_type() == expected
    assert catalog.largest(2) == ((image.rep, one[1]), (bare.rep, one[2]))
    catalog.put(of(1, 100, ResourceType.IMAGE))
    assert catalog.holdings_by_type() == {ResourceType.IMAGE: HeldTotal(2, 2, 109), None: one[2]}
    assert catalog.largest(1) == ((text.rep, HeldTotal(1, 1, 100)),)
    catalog.remove(bare.rep)
    assert catalog.holdings_by_type() == {ResourceType.IMAGE: HeldTotal(2, 2, 109)}


def test_the_version_is_another_after_each_change(catalog: Adapter) -> None:
    changes: list[Callable[[], object]] = [
        lambda: catalog.put(item(1)),
        lambda: catalog.put(replace(item(1), target_url="https://example.com/")),
        lambda: catalog.put_each([item(2), item(3)]),
        lambda: catalog.put_all([item(4), item(5)]),
        lambda: catalog.remove(item(2).rep),
        lambda: catalog.depart(Transfer(item(3).labels, forms_at(77).labels[0], item(3).updated)),
    ]
    for ask in (catalog.version, catalog.recent_version):
        before = ask()
        assert ask() == before
    for change in changes:
        versions = catalog.version(), catalog.recent_version()
        change()
        assert catalog.version() != versions[0]
        assert catalog.recent_version() != versions[1]
    assert catalog.version() == catalog.version()


def test_a_refused_item_says_so_and_what_was_put_before_it_may_stay(catalog: Adapter) -> None:
    catalog.put(item(1))
    taken = replace(item(2), labels=same_ibip(1))
    with pytest.raises(LabelTaken):
        catalog.put_all([item(3), taken])
    assert catalog.find(taken.rep) is None
    assert catalog.find(item(3).rep) in (None, item(3))


def test_many_are_put_at_once(catalog: Adapter) -> None:
    catalog.put(item(3))
    many = [item(number) for number in range(1_200)]
    assert catalog.put_all(iter(many)) == len(many)
    assert sorted(each.rep for each in catalog.items()) == sorted(each.rep for each in many)
    assert catalog.put_all([]) == 0


def test_an_open_catalogue_is_in_order(catalog: Adapter) -> None:
    catalog.check()
    catalog.put(item(1))
    catalog.check()


def test_an_item_is_found_by_either_label(catalog: Adapter) -> None:
    catalog.put(item(1))
    catalog.put(item(2, both=False))
    assert [catalog.find(label) for label in forms_at(1).labels] == [item(1), item(1)]
    assert catalog.find(item(2).rep) == item(2, both=False)
    assert catalog.find(ibip(item(2))) is None


def test_labels_of_one_instant_are_told_apart_by_their_prefix(catalog: Adapter) -> None:
    instant = Instant(1_234_806_360)
    hosts = ["arq.lab.br", "b.lab.br", "arq.lab.br.net"]
    kept = [
        item(labels=LabelForms(RepositoryName.from_parts(host, port, instant))) for host in hosts for port in (80, 81)
    ]
    for one in kept:
        catalog.put(one)
    assert [catalog.find(one.rep) for one in kept] == kept
    assert catalog.find(RepositoryName.from_parts("other.br", 80, instant)) is None
    assert catalog.find(parse("lab.br/arq@80/2009/02.16.17.46")) is None  # E3: another label than lab.br/arq


@pytest.mark.parametrize("turned", [str.upper, str.lower, str.swapcase])
def test_case_does_not_matter_and_the_spelling_stays(catalog: Adapter, turned: Callable[[str], str]) -> None:
    spelled = LabelForms.of(parse("SID.inpe.br/Mtc-m18.8080/2009/02.16.17.46"), parse("8jmkd3mgp8w/34PGRBS"))
    catalog.put(item(labels=spelled))
    for label in spelled.labels:
        found = catalog.find(parse(turned(label.spelling)))
        assert found is not None
        assert found.labels.words == spelled.words


def test_a_name_of_the_same_instant_spelled_longer_is_the_same(catalog: Adapter) -> None:
    catalog.put(item(labels=LabelForms.of(parse("inpe.br/sid/2009/02.16.17.46"))))
    assert catalog.find(parse("inpe.br/sid/2009/02.16.17.46.00.0")) is not None


def test_a_put_replaces_the_item_of_its_name(catalog: Adapter) -> None:
    catalog.put(item(1, "before"))
    catalog.put(item(1, "after"))
    assert list(catalog.items()) == [item(1, "after")]
    assert catalog.find(ibip(item(1))) == item(1, "after")


def test_an_ibip_may_be_given_up_and_taken(catalog: Adapter) -> None:
    catalog.put(item(1))
    catalog.put(item(1, both=False))
    assert catalog.find(ibip(item(1))) is None
    catalog.put(item(labels=same_ibip(1)))
    assert catalog.find(ibip(item(1))) == item(labels=same_ibip(1))


def test_a_label_of_another_item_is_refused_and_nothing_changes(catalog: Adapter) -> None:
    first, second = item(1), item(labels=LabelForms(same_ibip(1).rep), title="second")
    catalog.put(first)
    catalog.put(second)
    before = list(dump(catalog))
    with pytest.raises(LabelTaken, match=str(ibip(first))):
        catalog.put(item(labels=same_ibip(1), edition_of=forms_at(7)))
    assert list(dump(catalog)) == before
    assert catalog.find(ibip(first)) == first
    assert catalog.find(second.rep) == second
    assert catalog.find_linked(Link.EDITION_OF, forms_at(7).labels[0]) == ()


@pytest.mark.parametrize("form", [0, 1])
def test_what_is_removed_by_either_label_was_never_there(catalog: Adapter, form: int) -> None:
    catalog.put(item(1, edition_of=forms_at(2)))
    catalog.put(item(3))
    label = forms_at(1).labels[form]
    assert catalog.remove(label)
    assert not catalog.remove(label)
    assert [catalog.find(each) for each in forms_at(1).labels] == [None, None]
    assert catalog.find_linked(Link.EDITION_OF, forms_at(2).labels[0]) == ()
    assert list(catalog.items()) == [item(3)]
    catalog.put(item(labels=same_ibip(1)))
    assert catalog.find(ibip(item(1))) is not None


def test_tombstones_are_items_too(catalog: Adapter) -> None:
    gone = item(1, state=State.DELETED, tombstone=Tombstone(Instant(1_700_000_000), "withdrawn", forms_at(2), True))
    catalog.put(item(1))
    catalog.put(gone)
    assert catalog.find(gone.rep) == gone
    assert list(catalog.items()) == [gone]


def test_items_come_in_the_order_of_repository_names(catalog: Adapter) -> None:
    names = [
        RepositoryName.from_parts(host, port, Instant(seconds, fraction))
        for host in ("z.br", "a.b.br", "a.br")
        for port in (8080, 80)
        for seconds in (807_235_200, 1_700_000_000, -20_000_000_000, 200_000_000_000, -1, 255, 256)
        for fraction in ("", "05", "1", "15", "09", "999")
    ]
    for name in names:
        catalog.put(item(labels=LabelForms(name)))
    assert [one.rep for one in catalog.items()] == sorted(names)
    for after in (names[0], max(names), RepositoryName.from_parts("m.br", 80, Instant(255, "1"))):
        assert [one.rep for one in catalog.items(after)] == [name for name in sorted(names) if name > after]


def test_many_items_come_each_once(catalog: Adapter) -> None:
    kept = [item(minute, both=False) for minute in range(450)]
    for one in kept if isinstance(catalog, MemoryCatalog) else ():
        catalog.put(one)
    if isinstance(catalog, SqliteCatalog):
        assert catalog.put_all(iter(kept)) == 450
    assert list(catalog.items()) == kept
    assert list(catalog.items(kept[199].rep)) == kept[200:]
    assert len(list(dump(catalog))) == 450


def test_changes_may_be_made_while_items_are_read(catalog: Adapter) -> None:
    for minute in range(5):
        catalog.put(item(minute))
    for one in catalog.items():
        catalog.put(item(9_000 + one.version))
        catalog.remove(one.rep)
    assert [catalog.find(item(minute).rep) for minute in range(5)] == [None] * 5


@pytest.mark.parametrize("link", Link)
def test_items_are_found_by_what_they_name(catalog: Adapter, link: Link) -> None:
    other, language = forms_at(50), LanguageTag("pt")
    named: dict[str, Any] = {link.value: other, "language": language}
    half = {**named, link.value: LabelForms(ibip=other.ibip)}
    another = {**named, link.value: forms_at(51)}
    for one in (item(3, **named), item(1, **named), item(2, **half), item(4), item(5, **another)):
        catalog.put(one)
    rep, ip = other.labels
    assert [one.rep for one in catalog.find_linked(link, rep)] == [item(1).rep, item(3).rep]
    assert [one.rep for one in catalog.find_linked(link, ip)] == [item(1).rep, item(2).rep, item(3).rep]
    assert all(catalog.find_linked(other_link, rep) == () for other_link in Link if other_link is not link)
    catalog.put(item(1, "no longer"))
    catalog.remove(item(2).rep)
    assert [one.rep for one in catalog.find_linked(link, ip)] == [item(3).rep]


def test_items_that_make_claims_on_others_are_listed_in_order(catalog: Adapter) -> None:
    language = LanguageTag("pt")
    claims: tuple[dict[str, Any], ...] = (
        {"edition_of": forms_at(50)},
        {"translation_of": forms_at(50), "language": language},
        {"describes": forms_at(51)},
    )
    others: tuple[dict[str, Any], ...] = ({}, {"next_edition": forms_at(50)}, {"metadata_item": forms_at(51)})
    for minute, said in enumerate((*others, *claims), start=1):
        catalog.put(item(minute, **said))
    assert [one.rep for one in catalog.claimants()] == [item(minute).rep for minute in (4, 5, 6)]
    assert [one.rep for one in catalog.claimants(item(4).rep)] == [item(5).rep, item(6).rep]
    catalog.put(item(5))
    catalog.remove(item(6).rep)
    assert [one.rep for one in catalog.claimants()] == [item(4).rep]


def test_threads_see_what_the_others_put(catalog: Adapter) -> None:
    def keep(minute: int) -> Item | None:
        catalog.put(item(minute))
        found = catalog.find(ibip(item(minute)))
        catalog.put(item(minute, "again", edition_of=forms_at(5_000)))
        if minute % 3 == 0:
            assert catalog.remove(item(minute).rep)
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(keep, range(48))) == [item(minute) for minute in range(48)]
    left = [item(minute, "again", edition_of=forms_at(5_000)) for minute in range(48) if minute % 3]
    assert list(catalog.items()) == left
    assert list(catalog.find_linked(Link.EDITION_OF, forms_at(5_000).labels[0])) == left


def test_of_many_who_want_one_label_one_gets_it(catalog: Adapter) -> None:
    def keep(number: int) -> bool:
        try:
            catalog.put(item(labels=same_ibip(1, f"host-{number}.lab.br")))
        except LabelTaken:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(keep, range(24))) == 1
    assert len(list(catalog.items())) == 1


def test_a_dump_is_a_line_for_each_item_and_tells_all(catalog: Adapter) -> None:
    one = item(1, "Título\n{", owner="ana", transferable=False, edition_of=forms_at(9))
    catalog.put(item(2))
    catalog.put(one)
    lines = list(dump(catalog))
    assert len(lines) == 2
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in lines)
    assert lines[0].startswith(b'{"item":{"created":"2023-11-14T22:13:20Z","edition_of":{"ibip":')
    assert b'"local":{"owner":"ana","schema":2,"state":"Original","transferable":false}' in lines[0]


def test_closing_a_catalogue_again_does_nothing(catalog: Adapter) -> None:
    catalog.put(item(1))
    catalog.close()
    catalog.close()


# --- any items, in any order -----------------------------------------------------------------------------------------

MEMORY = Path("/dev/shm")
"""A file system on which durability costs nothing: here it is not the point."""
MINUTES = st.integers(0, 4)
NEAR = st.builds(lambda minute, both: forms_at(minute, both=both), st.integers(5, 7), st.booleans())
LABELS: list[Label] = [label for minute in range(8) for label in (*forms_at(minute).labels, *same_ibip(minute).labels)]


class Shadowed(RuleBasedStateMachine):
    """A catalogue and the plainest one there is, told the same."""

    adapter = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.catalog = ADAPTERS[self.adapter](Path(self.folder.name))
        self.plain = PlainCatalog()

    @rule(data=st.data(), minute=MINUTES, other_host=st.booleans())
    def put(self, data: st.DataObject, minute: int, other_host: bool) -> None:
        one = data.draw(items(minute, related=NEAR))
        if other_host:
            one = replace(one, labels=same_ibip(minute), translations=())
        assert refused(self.catalog, one) == refused(self.plain, one)

    @rule(label=st.sampled_from(LABELS))
    def remove(self, label: Label) -> None:
        assert self.catalog.remove(label) == self.plain.remove(label)

    @invariant()
    def they_say_the_same(self) -> None:
        assert list(self.catalog.items()) == list(self.plain.items())
        assert list(dump(self.catalog)) == list(dump(self.plain))
        assert self.catalog.holdings() == self.plain.holdings()

    @rule()
    def they_find_the_same(self) -> None:
        for label in LABELS:
            assert self.catalog.find(label) == self.plain.find(label)
            if isinstance(label, RepositoryName):
                assert self.catalog.names_of([label]) == self.plain.names_of([label])
            for link in Link:
                assert self.catalog.find_linked(link, label) == self.plain.find_linked(link, label)
            after = label if isinstance(label, RepositoryName) else None
            assert list(self.catalog.items(after)) == list(self.plain.items(after))

    def teardown(self) -> None:
        self.catalog.close()
        self.folder.cleanup()


class OnDisk(Shadowed):
    adapter = "sqlite"


TestShadowed = Shadowed.TestCase
TestShadowed.settings = settings(stateful_step_count=15)
TestOnDisk = OnDisk.TestCase
TestOnDisk.settings = settings(stateful_step_count=15)


def refused(catalog: Adapter | PlainCatalog, one: Item) -> str | None:
    try:
        catalog.put(one)
    except LabelTaken as error:
        return str(error)
    return None


def test_several_are_put_and_what_is_refused_of_one_keeps_no_other(catalog: Adapter) -> None:
    catalog.put(item(1))
    one, refused, other = catalog.put_each([item(2), item(labels=same_ibip(1)), item(3)])
    assert (one, other) == (None, None)
    assert isinstance(refused, LabelTaken)
    assert [each.rep for each in catalog.items()] == [item(number).rep for number in (1, 2, 3)]
    assert catalog.put_each([]) == []


def test_an_item_is_found_by_its_other_names(catalog: Adapter) -> None:
    doi, old = Alternate("doi", "10.1000/AbC"), Alternate("ibi", "83LX3pFwXQZ5Jpy/Bkjzd")
    one, other = replace(item(1), alternates=(doi, old)), replace(item(2), alternates=(doi,))
    catalog.put(other)
    catalog.put(one)
    assert catalog.find_alternate(Alternate("doi", "10.1000/aBc")) == (one, other)
    assert catalog.find_alternate(old) == (one,)
    assert catalog.find_alternate(Alternate("ibi", old.value.lower())) == ()
    assert catalog.find_alternate(Alternate("hdl", doi.value)) == ()
    catalog.put(replace(one, alternates=()))
    assert catalog.find_alternate(old) == ()
    catalog.remove(other.rep)
    assert catalog.find_alternate(doi) == ()


def test_the_names_of_items_are_their_own_and_those_they_give_to_others(catalog: Adapter) -> None:
    doi, other = Alternate("doi", "10.1000/AbC"), forms_at(50)
    one, two, unknown = replace(item(1), alternates=(doi,), edition_of=other), item(2), item(3)
    catalog.put(one)
    catalog.put(two)
    own, others = {*one.labels.labels, doi, *other.labels}, set(two.labels.labels)
    assert catalog.names_of([one.rep]) == own
    assert catalog.names_of(each.rep for each in (one, unknown, two)) == own | others
    assert catalog.names_of([unknown.rep]) == catalog.names_of([]) == set()
    catalog.put(item(1))
    assert catalog.names_of([one.rep]) == set(one.labels.labels)
    catalog.remove(one.rep)
    assert catalog.names_of([one.rep]) == set()


def test_the_items_of_an_account_are_found_the_newest_first(catalog: Adapter) -> None:
    ana, bia = "person:ana", "person:bia"
    mine = [replace(item(number), owner=ana) for number in (1, 2, 3)]
    catalog.put_all([*mine, replace(item(4), owner=bia), item(5)])
    assert catalog.owned_by(ana) == (mine[2], mine[1], mine[0])
    assert catalog.owned_by(ana, most=2) == (mine[2], mine[1])
    assert catalog.owned_by(ana, before=mine[1].rep) == (mine[0],)
    assert catalog.owned_by("person:an") == ()
    catalog.put(replace(mine[1], owner=bia))
    assert catalog.owned_by(ana) == (mine[2], mine[0])
    assert catalog.owned_by(bia) == (replace(item(4), owner=bia), replace(mine[1], owner=bia))
    catalog.remove(mine[2].rep)
    assert catalog.owned_by(ana) == (mine[0],)
