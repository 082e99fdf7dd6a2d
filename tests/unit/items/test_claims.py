"""Claims on items of others: they wait, and are accepted or declined by those who may answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ibi.items.model.content import Damage, Problem
from ibi.items.model.item import Item
from ibi.items.opening.archive_store import open_store, rebuild_catalogue
from ibi.items.ports.archive_store import ContentDamaged
from ibi.items.rules.errors import ClaimAccepted, NoSuchClaim, SecondSuccessor
from ibi.items.rules.related_items import ClaimState, Described, Named, Related, Relatives, described_by
from ibi.items.service.archive_store import ArchiveStore
from ibi.items.service.deposits import Deposits
from ibi.items.service.item_claims import ItemClaims
from ibi.items.service.relating import Relating
from ibi.people.model.account import COMMAND, Actor, Scope
from ibi.people.rules.errors import NotAllowed, NotYourItem
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms
from ibi.standard.persistent_url import PersistentUrl
from tests.support.deposit_samples import WHO, CountedLabels, draft, sources
from tests.support.set_clocks import SetClocks

ANA, BIA = Actor("service:ana", Scope.DEPOSIT), Actor("service:bia", Scope.DEPOSIT)
EDITOR, ADMIN = Actor("person:lia", Scope.EDIT), Actor("person:adm", Scope.ADMIN)
STATES = frozenset(ClaimState)


class Office:
    def __init__(self, store: ArchiveStore) -> None:
        self.store, self.labels = store, CountedLabels()
        self.service: LabelForms | None = None

    def deposits(self, who: Actor) -> Deposits:
        return Deposits(self.store, self.labels, SetClocks(), service=self.service, actor=who)

    def claims(self, who: Actor) -> ItemClaims:
        return ItemClaims(self.store, self.deposits(who), who)

    def put(self, who: Actor, **said: Any) -> Item:
        given = sources(a=b"content")
        made = draft(*given, **said)
        return self.deposits(who).deposit(made, given, WHO, owner=who.account)

    def now(self, item: Item) -> Item:
        return self.store.find(item.rep)

    def listed(self, who: Actor, *states: ClaimState) -> list[tuple[str, str]]:
        return [(claim.link.value, claim.state.value) for claim in self.claims(who).list(states or STATES)]

    def led_to(self, item: Item, relation: str) -> list[str]:
        """Where the links of an item lead, as an Archive answers them."""
        wanted = PersistentUrl.parse(f"http://urlib.net/{item.rep}{relation}").relation
        relatives = Relatives(self.store.catalog)
        return [_rep(place) for _, place in relatives.find_related(self.now(item), wanted)]


def _rep(place: Related) -> str:
    if isinstance(place, Named):
        return str(place.forms.rep)
    return str((place.own or place).item.rep if isinstance(place, Described) else place.item.rep)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_store(tmp_path / "data") as store:
        yield Office(store)


CLAIMS: dict[str, tuple[Callable[[Item], dict[str, Any]], str]] = {
    "edition_of": (lambda item: {"edition_of": item.labels}, "!"),
    "translation_of": (lambda item: {"translation_of": item.labels, "language": "fr"}, "+(fr)"),
    "describes": (lambda item: {"describes": item.labels}, ":"),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_on_another_s_item_waits_and_leads_nowhere_until_it_is_accepted(office: Office, claim: str) -> None:
    said, relation = CLAIMS[claim]
    item = office.put(ANA, language="pt")
    claimant = office.put(BIA, **said(item))
    assert office.now(item) == item
    assert str(claimant.rep) not in office.led_to(item, relation)
    assert getattr(office.now(claimant), claim) == item.labels
    for who in (ANA, BIA, EDITOR, ADMIN, COMMAND):
        assert office.listed(who) == [(claim, "pending")]
    assert office.listed(Actor("service:other", Scope.DEPOSIT)) == []
    office.claims(ANA).accept(item.rep, claimant.rep, WHO)
    assert str(claimant.rep) in office.led_to(item, relation)
    assert office.listed(ANA) == [(claim, "accepted")]


@pytest.mark.parametrize("claim", CLAIMS)
def test_an_item_whose_record_cannot_be_read_closes_neither_its_claimant_nor_other_claims(
    office: Office, claim: str
) -> None:
    said, _ = CLAIMS[claim]
    damaged, whole = office.put(ANA, language="pt"), office.put(ANA, language="pt")
    claimant, _ = office.put(BIA, **said(damaged)), office.put(BIA, **said(whole))
    office.store.catalog.remove(damaged.rep)
    problem = Problem(Damage.UNREADABLE, "unreadable", "item.json", "it is cut off")
    assert office.store.integrity is not None
    office.store.integrity.note(str(damaged.rep), problem)
    with pytest.raises(ContentDamaged):
        office.store.catalog.find(damaged.rep)
    assert office.listed(ANA) == [(claim, "pending")]
    assert described_by(office.store.catalog, claimant) == claimant.describes
    assert [str(claimant.rep)] == office.led_to(claimant, "")


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("who", [ANA, EDITOR, ADMIN, COMMAND])
def test_a_claim_by_one_who_may_answer_it_is_fulfilled_at_once(office: Office, claim: str, who: Actor) -> None:
    said, relation = CLAIMS[claim]
    item = office.put(ANA, language="pt")
    claimant = office.put(who, **said(item))
    assert str(claimant.rep) in office.led_to(item, relation)
    assert office.listed(who) == [(claim, "accepted")]


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_was_declined_stays_so_after_a_rebuild_and_can_still_be_accepted(tmp_path: Path, claim: str) -> None:
    said, relation = CLAIMS[claim]
    with open_store(tmp_path / "data") as store:
        office = Office(store)
        item = office.put(ANA, language="pt")
        declined, waiting = office.put(BIA, **said(item)), office.put(BIA, **said(item))
        office.claims(ANA).decline(item.rep, declined.rep, WHO)
        assert office.claims(ANA).decline(item.rep, declined.rep, WHO) == office.now(item)
    rebuild_catalogue(tmp_path / "data")
    with open_store(tmp_path / "data") as store:
        office = Office(store)
        assert office.listed(ANA) == [(claim, "declined"), (claim, "pending")]
        assert {str(declined.rep), str(waiting.rep)}.isdisjoint(office.led_to(item, relation))
        office.claims(EDITOR).accept(item.rep, declined.rep, WHO)
        assert office.led_to(item, relation) == [str(declined.rep)]
        assert office.now(item).declined == ()


def test_only_one_of_two_claims_on_the_next_edition_is_accepted(office: Office) -> None:
    item = office.put(ANA)
    first, second = office.put(BIA, edition_of=item.labels), office.put(BIA, edition_of=item.labels)
    office.claims(ANA).accept(item.rep, second.rep, WHO)
    with pytest.raises(SecondSuccessor):
        office.claims(ANA).accept(item.rep, first.rep, WHO)
    with pytest.raises(ClaimAccepted):
        office.claims(ANA).decline(item.rep, second.rep, WHO)


@pytest.mark.parametrize("who", [BIA, Actor("service:ana", Scope.READ), Actor(None, Scope.DEPOSIT)])
def test_a_claim_is_not_answered_by_others(office: Office, who: Actor) -> None:
    item = office.put(ANA)
    claimant = office.put(BIA, edition_of=item.labels)
    for answer in (office.claims(who).accept, office.claims(who).decline):
        with pytest.raises((NotYourItem, NotAllowed), match="scope"):
            answer(item.rep, claimant.rep, WHO)
    assert office.now(item) == item


def test_a_claim_on_the_archive_s_own_item_takes_an_administrator(office: Office) -> None:
    item = office.put(COMMAND)
    office.service = item.labels
    claimant = office.put(EDITOR, edition_of=item.labels)
    assert office.now(item).next_edition is None
    with pytest.raises(NotYourItem, match="administrator"):
        office.claims(EDITOR).accept(item.rep, claimant.rep, WHO)
    assert office.claims(ADMIN).accept(item.rep, claimant.rep, WHO).next_edition == claimant.labels


def test_what_makes_no_claim_is_not_answered(office: Office) -> None:
    item, other = office.put(ANA), office.put(BIA)
    with pytest.raises(NoSuchClaim):
        office.claims(ANA).accept(item.rep, other.rep, WHO)


def test_withdrawing_what_another_claimed_declines_it(office: Office) -> None:
    item = office.put(ANA, language="pt")
    claimant = office.put(BIA, translation_of=item.labels, language="fr")
    office.claims(ANA).accept(item.rep, claimant.rep, WHO)
    relating = Relating(office.store, office.deposits(ANA))
    relating.withdraw_translation(item.rep, LanguageTag("fr"), claimant.rep, WHO)
    assert office.now(claimant).translation_of == item.labels
    assert office.listed(ANA) == [("translation_of", "declined")]
    assert office.led_to(item, "+(fr)") == []


def test_what_an_owner_says_of_another_s_item_changes_nothing_in_that(office: Office) -> None:
    item, other = office.put(ANA), office.put(BIA)
    said = Relating(office.store, office.deposits(ANA)).record_next_edition(item.rep, other.rep, WHO)
    assert said.next_edition == other.labels
    assert office.now(other) == other


def test_a_claim_waits_after_the_catalogue_was_made_anew_from_the_store(tmp_path: Path) -> None:
    with open_store(tmp_path / "data") as store:
        office = Office(store)
        item = office.put(ANA)
        claimant = office.put(BIA, edition_of=item.labels)
    (tmp_path / "data" / "catalogue.sqlite").unlink()
    with open_store(tmp_path / "data") as store:
        assert store.is_rebuilt
        office = Office(store)
        assert office.now(item) == item
        assert office.listed(ANA) == [("edition_of", "pending")]
        assert office.now(claimant) == claimant
