"""A claim from one Archive to another, and what both know of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ibi.claims.model import DeliveryState, RemoteClaimState, SenderCheck
from ibi.claims.service.claim_context import ClaimWithdrawn, LanguageNotKnown
from ibi.items.model.item import Item
from ibi.items.model.related_link import ClaimRelation
from ibi.items.rules.errors import ClaimAccepted, NoSuchClaim, SecondSuccessor
from ibi.people.model.account import Actor, Scope
from ibi.people.rules.errors import NotYourItem
from ibi.standard.label import Label, parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms
from ibi.standard.vocabulary import State
from tests.support.claim_world import NETWORK, ClaimArchive, ClaimWorld, claim_world
from tests.support.flat_items import replace

PT, EN, FR = (LanguageTag.parse(tag, registered=True) for tag in ("pt", "en", "fr"))
WHO = "lia"
ANA, BIA = Actor("service:ana", Scope.DEPOSIT), Actor("service:bia", Scope.DEPOSIT)
PENDING, ACCEPTED, DECLINED, WITHDRAWN = RemoteClaimState


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ClaimWorld]:
    with claim_world(tmp_path) as made:
        made.archive("a")
        made.archive("b")
        yield made


def both(world: ClaimWorld) -> tuple[ClaimArchive, ClaimArchive]:
    return world.archives["a"], world.archives["b"]


async def claimed(world: ClaimWorld, **said: Any) -> tuple[Item, Item]:
    """An item at B, and one at A that is a new edition of it unless it `said` otherwise; the claim waits at B."""
    a, b = both(world)
    item = b.put(language="en")
    said = said or {"edition_of": item.labels}
    named: dict[str, Any] = {name: item.labels if value is True else value for name, value in said.items()}
    claimant = a.put(**named)
    await world.run()
    return item, claimant


async def test_a_claim_waits_at_the_other_archive_verified(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    (claim,) = b.received()
    assert (claim.item, claim.forms, claim.relation) == (str(item.rep), claimant.labels, ClaimRelation.EDITION_OF)
    assert (claim.state, claim.check, claim.inbox) == (PENDING, SenderCheck.VERIFIED, a.inbox_url)
    assert claim.origin == a.url
    (sent,) = a.sent()
    assert (sent.state, sent.delivery, sent.inbox) == (PENDING, DeliveryState.DELIVERED, b.inbox_url)
    assert b.now(item) == item


@pytest.mark.parametrize("relation", ["edition_of", "translation_of", "describes"])
async def test_an_accepted_claim_is_named_by_the_item_and_known_to_both(world: ClaimWorld, relation: str) -> None:
    item, claimant = await claimed(world, **{relation: True, "language": "pt"})
    a, b = both(world)
    changed = b.claims().accept(item.rep, claimant.rep, WHO)
    named = {
        "edition_of": changed.next_edition,
        "translation_of": changed.translation(PT),
        "describes": changed.metadata_item,
    }
    assert named == {**dict.fromkeys(named), relation: claimant.labels}
    await world.run()
    assert b.states() == (["accepted"], [])
    assert a.states() == ([], ["accepted"])
    assert a.sent()[0].is_confirmed


async def test_a_declined_claim_is_known_to_both_and_can_be_accepted_later(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    b.claims().decline(item.rep, claimant.rep, WHO)
    await world.run()
    assert (b.states()[0], a.states()[1]) == (["declined"], ["declined"])
    assert b.now(item).declined == (claimant.labels,)
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    assert (b.states()[0], a.states()[1]) == (["accepted"], ["accepted"])
    assert b.now(item).declined == ()


async def test_what_was_accepted_and_taken_back_there_is_declined_here(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    with pytest.raises(ClaimAccepted):
        b.claims().decline(item.rep, claimant.rep, WHO)
    b.relating().withdraw_next_edition(item.rep, claimant.rep, WHO)
    await world.run()
    assert (b.states()[0], a.states()[1]) == (["declined"], ["declined"])


async def test_a_relation_recorded_by_hand_is_an_answer_too(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    b.relating().record_next_edition(item.rep, claimant.rep, WHO)
    await world.run()
    assert (b.states()[0], a.states()[1]) == (["accepted"], ["accepted"])


async def test_a_claim_that_is_taken_back_before_its_answer_waits_no_longer(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    a.relating().withdraw_claim(claimant.rep, "edition_of", item.rep, WHO)
    await world.run()
    assert (b.states()[0], a.states()[1]) == (["withdrawn"], ["withdrawn"])
    with pytest.raises(ClaimWithdrawn):
        b.claims().accept(item.rep, claimant.rep, WHO)


@pytest.mark.parametrize("relation", ["edition_of", "translation_of", "describes"])
async def test_a_claimant_that_is_deleted_is_named_no_longer(world: ClaimWorld, relation: str) -> None:
    item, claimant = await claimed(world, **{relation: True, "language": "pt"})
    a, b = both(world)
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    a.deposits().delete(claimant.rep, "withdrawn", WHO)
    await world.run()
    now = b.now(item)
    assert (now.next_edition, now.translations, now.metadata_item) == (None, (), None)
    assert (b.states()[0], a.states()[1]) == (["withdrawn"], ["withdrawn"])


async def test_a_withdrawal_that_the_record_does_not_confirm_changes_nothing(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    b = world.archives["b"]
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    offer = b.received()[0]
    undo = {**json.loads(world.posted[0][1]), "type": "Undo", "inReplyTo": offer.id, "object": {"id": offer.id}}
    b.inbox.receive(json.dumps({**undo, "id": "urn:uuid:forged"}).encode(), NETWORK)
    await world.run()
    assert b.now(item).next_edition == claimant.labels
    assert b.states()[0] == ["accepted"]


async def test_a_claim_withdrawn_before_it_was_sent_is_never_sent(world: ClaimWorld) -> None:
    a, b = both(world)
    item = b.put()
    claimant = a.put(edition_of=item.labels)
    a.relating().withdraw_claim(claimant.rep, "edition_of", item.rep, WHO)
    await world.run()
    assert (world.posted, a.sent()) == ([], [])


async def test_a_translation_learns_the_language_of_its_source_before_any_answer(world: ClaimWorld) -> None:
    item, claimant = await claimed(world, translation_of=True, language="pt")
    assert world.archives["a"].now(claimant).translations == ((EN, item.labels),)


async def test_a_translation_that_is_accepted_learns_all_texts_of_its_group(world: ClaimWorld) -> None:
    item, claimant = await claimed(world, translation_of=True, language="pt")
    a, b = both(world)
    french = b.put(language="fr", translation_of=item.labels)
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    assert a.now(claimant).translations == ((EN, item.labels), (FR, french.labels))
    a.relating().withdraw_claim(claimant.rep, "translation_of", item.rep, WHO)
    assert a.now(claimant).translations == ()


async def test_a_second_next_edition_cannot_be_accepted(world: ClaimWorld) -> None:
    item, _ = await claimed(world)
    a, b = both(world)
    second = a.put(edition_of=item.labels)
    b.put(edition_of=item.labels)
    await world.run()
    with pytest.raises(SecondSuccessor):
        b.claims().accept(item.rep, second.rep, WHO)


async def test_rights_are_those_of_claims_inside_one_archive(world: ClaimWorld) -> None:
    a, b = both(world)
    item = b.put(ANA)
    claimant = a.put(edition_of=item.labels)
    await world.run()
    with pytest.raises(NotYourItem):
        b.claims(BIA).accept(item.rep, claimant.rep, WHO)
    assert list(b.claims(BIA).received()) == []
    b.claims(ANA).accept(item.rep, claimant.rep, WHO)
    with pytest.raises(NoSuchClaim):
        b.claims(ANA).accept(item.rep, parse("a.br/arq/2020/01.01.01.01"), WHO)


async def test_an_archive_that_is_away_gets_the_claim_when_it_is_back(world: ClaimWorld) -> None:
    world.cut.add("b")
    await claimed(world)
    a, b = both(world)
    assert (a.sent()[0].delivery, b.received()) == (DeliveryState.QUEUED, [])
    assert a.sent()[0].reason == "it could not be reached"
    world.cut.clear()
    await world.run()
    assert b.received() == []  # not before its time
    world.clocks.advance(3600)
    await world.run()
    assert (a.sent()[0].delivery, b.states()[0]) == (DeliveryState.DELIVERED, ["pending"])


async def test_an_answer_reaches_an_archive_that_has_moved(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    a.inbox_url = "https://moved.example/inbox"
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    assert a.states()[1] == ["accepted"]


async def test_a_month_without_an_inbox_is_the_end_of_it(world: ClaimWorld) -> None:
    c = world.archive("c", has_inbox=False)
    a = world.archives["a"]
    a.put(edition_of=c.put().labels)
    await world.run("a")
    assert (a.sent()[0].delivery, a.sent()[0].reason) == (DeliveryState.QUEUED, "its page announces no inbox")
    for _ in range(6):
        world.clocks.advance(6 * 86_400)
        await world.run("a")
    assert a.sent()[0].delivery is DeliveryState.FAILED


async def test_what_is_not_verified_waits_and_says_so(world: ClaimWorld) -> None:
    a, b = both(world)
    item = b.put(language="en")
    claimant = a.put(translation_of=item.labels, language="pt")
    await world.run("a")
    world.cut.add("a")
    await world.run("b")
    assert [(each.state, each.check) for each in b.received()] == [(PENDING, SenderCheck.UNVERIFIED)]
    with pytest.raises(LanguageNotKnown):
        b.claims().accept(item.rep, claimant.rep, WHO)
    world.cut.clear()
    world.clocks.advance(3600)
    await world.run("b")
    assert b.received()[0].check is SenderCheck.VERIFIED
    b.claims().accept(item.rep, claimant.rep, WHO)


async def test_an_edition_that_is_not_verified_can_be_accepted_by_who_knows_better(world: ClaimWorld) -> None:
    a, b = both(world)
    item = b.put()
    claimant = a.put(edition_of=item.labels)
    await world.run("a")
    world.cut.add("a")
    await world.run("b")
    assert b.claims().accept(item.rep, claimant.rep, WHO).next_edition == claimant.labels


async def test_a_claim_that_its_item_does_not_make_is_dropped(world: ClaimWorld) -> None:
    item, _ = await claimed(world)
    a, b = both(world)
    other = a.put()
    offer = json.loads(world.posted[0][1])
    offer |= {"id": "urn:uuid:1", "object": {**offer["object"], "as:subject": a.persistent_url(other.labels)}}
    b.inbox.receive(json.dumps(offer).encode(), NETWORK)
    await world.run()
    dropped = b.received()[1]
    assert (dropped.state, dropped.check) == (WITHDRAWN, SenderCheck.CONTRADICTED)
    assert len(world.posted) == 1, "nothing is answered"
    assert b.now(item).next_edition is None


async def test_claims_made_before_are_sent_when_a_courier_runs_for_the_first_time(world: ClaimWorld) -> None:
    a, b = both(world)
    item = b.put()
    for _ in range(3):
        a.put(edition_of=item.labels)
    await world.run()
    assert len(b.received()) == 3


async def test_a_store_that_lost_its_notifications_sends_its_claims_again(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    for row in a.sent():
        a.notifications.sent.remove(row.number)
    a.notifications.note_position("another", 0)
    a.put()  # any change makes it look
    await world.run()
    assert (b.states()[0], a.states()[1]) == (["accepted", "accepted"], ["accepted"])


async def test_an_answer_is_sent_although_the_process_ended_before_it_was_noted(world: ClaimWorld) -> None:
    """The item was changed, and the process killed before the claim was settled."""
    item, _ = await claimed(world)
    a, b = both(world)
    b.deposits().change(
        {item.rep: lambda now: b.claims()._accept(now, b.received()[0])},
        WHO,
        "Accepted",
    )
    await world.run()
    assert (b.states()[0], a.states()[1]) == (["accepted"], ["accepted"])


async def test_every_notification_sent_twice_changes_nothing(world: ClaimWorld) -> None:
    item, claimant = await claimed(world)
    a, b = both(world)
    b.claims().accept(item.rep, claimant.rep, WHO)
    await world.run()
    before = a.states(), b.states(), a.now(claimant), b.now(item)
    for inbox, body in tuple(world.posted):
        archive = a if inbox == a.inbox_url else b
        archive.inbox.receive(body, NETWORK)
    await world.run()
    assert (a.states(), b.states(), a.now(claimant), b.now(item)) == before


async def test_items_that_are_here_too_as_copies_are_claimed_where_their_original_is(world: ClaimWorld) -> None:
    a, b = both(world)
    item = b.put()
    copy = replace(item, state=State.COPY, source="b.example")
    a.store.catalog.put(copy)
    claimant = a.put(edition_of=LabelForms.of(item.rep))
    await world.run("a")
    assert [each.claimant for each in a.sent()] == [str(claimant.rep)]
    assert b.received()[0].item == str(item.rep)


async def test_sandboxes_with_names_of_examples_exchange_claims(tmp_path: Path) -> None:
    """E87: a label of a sandbox is known by its meaning no place on the Internet, whatever its host is."""
    with claim_world(tmp_path) as world:
        for name in ("a", "b"):
            world.archive(name, host=f"example.org/{name}", sandbox=True)
        await claimed(world, translation_of=True, language="pt")
        a, b = both(world)
        assert a.sent()[0].delivery is DeliveryState.DELIVERED
        assert b.states() == (["pending"], [])


@pytest.mark.parametrize("is_sandbox", [False, True])
async def test_claims_between_a_sandbox_and_others_are_not_sent_and_say_why(tmp_path: Path, is_sandbox: bool) -> None:
    with claim_world(tmp_path) as world:
        a = world.archive("a", host="example.org/a" if is_sandbox else "a.br/arq", sandbox=is_sandbox)
        b = world.archive("b", host="b.br/arq" if is_sandbox else "example.org/b", sandbox=not is_sandbox)
        _, claimant = await claimed(world, edition_of=True)
        (sent,) = a.sent()
        assert (sent.delivery, sent.state) == (DeliveryState.REFUSED, PENDING)
        assert "sandbox" in (sent.reason or "")
        a.deposits().delete(claimant.rep, WHO, "wrong")
        await world.run()
        assert a.states() == ([], ["withdrawn"])
        assert world.posted == []
        assert b.received() == []


async def test_an_item_without_relations_is_not_read_again_after_its_deposit(
    world: ClaimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = both(world)
    await world.run()
    read: list[Label] = []
    find = b.store.catalog.find

    def noted(label: Label) -> Item | None:
        read.append(label)
        return find(label)

    monkeypatch.setattr(b.store.catalog, "find", noted)
    item = b.put()
    read.clear()
    await world.run("b")
    assert read == []
    a.put(edition_of=item.labels)
    await world.run()
    b.deposits().delete(item.rep, "withdrawn", WHO)
    await world.run()
    assert item.rep in read
    assert b.received()[0].state is DECLINED
