"""Disputes over Originals: what is one, who is told, and what settles it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ibi.membership.model.registration import ClaimKind, Registration, Settlement
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.resources import DisputeResource
from ibi.resolver.service.disputes import DisputeMail, Disputes, LocalDisputes, NotAParty, UnknownDispute
from ibi.standard.errors import IbiError, InvalidMessage
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.mail import Letter
from ibi.standard.messages.identification import LabelForms
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registry import MemoryRegistry

ITEM, SECOND = parse("lab.br/home/2020/01.01.00.00"), parse("lab.br/home/2021/01.01.00.00")
FOREIGN = parse("unknown.br/x/2020/01.01.00.00")
HOME, LIAR, THIRD = (parse(f"lab.br/{name}/2009/07.21.14.43") for name in ("home", "liar", "third"))
OWN = ArchiveRef(LabelForms.of(parse("own.br/arq/2009/07.21.14.43")), "own.br")
NOW, DAY = 1_800_000_000, 86_400
RESOLVER = "http://resolver.example.org"


@dataclass
class Desk:
    """A resolver with a clock that stands still, and the letters that it sent."""

    now: int = NOW
    letters: list[Letter] = field(default_factory=list)
    is_refused: bool = False

    def __post_init__(self) -> None:
        self.registry, self.beliefs = MemoryRegistry(), MemoryBeliefs()
        for label in (HOME, LIAR, THIRD):
            mail = f"{label.spelling.split('/')[1]}@example.org"
            self.registry.add(Registration(LabelForms.of(label), "", Instant(5), mail))
        self.disputes = Disputes(self.registry, self.beliefs, OWN, wall=lambda: self.now)
        self.mail = DisputeMail(self.disputes, self, RESOLVER, "own@example.org")

    def send(self, letter: Letter) -> None:
        if self.is_refused:
            raise IbiError
        self.letters.append(letter)

    def claim(self, claimant: Label = LIAR, label: Label = ITEM, holder: Label = HOME) -> None:
        self.beliefs.record_claim(label, claimant, holder, ClaimKind.ORIGINAL, self.now)

    def told(self) -> list[str]:
        """To whom letters went since the last time."""
        self.mail.send_due()
        sent, self.letters = self.letters, []
        return [letter.to for letter in sent]


def test_both_administrators_are_told_once_a_day_while_the_claim_is_seen() -> None:
    desk = Desk()
    desk.claim()
    assert desk.told() == ["home@example.org", "liar@example.org"]
    assert desk.told() == []
    desk.now += 3600
    desk.claim()
    assert desk.told() == []
    desk.now += DAY
    assert desk.told() == ["home@example.org", "liar@example.org"]
    desk.now += 10 * DAY
    assert desk.told() == []  # it was not seen again
    desk.claim()
    assert desk.told() == ["home@example.org", "liar@example.org"]


def test_a_letter_says_what_is_in_dispute_and_what_to_do() -> None:
    desk = Desk()
    desk.claim()
    desk.claim(label=SECOND)
    desk.mail.send_due()
    letter = desk.letters[0]
    for words in (str(ITEM), str(SECOND), str(HOME), str(LIAR), RESOLVER, f"{RESOLVER}/disputes", "administrador"):
        assert words in letter.text
    assert len(desk.letters) == 2


def test_very_many_disputes_between_two_archives_are_one_letter_to_each() -> None:
    desk = Desk()
    for number in range(300):
        desk.claim(label=parse(f"lab.br/home/2020/01.{1 + number // 28:02}.00.{number % 28:02}"))
    desk.mail.send_due()
    assert len(desk.letters) == 2
    assert "250 more" in desk.letters[0].text
    desk.letters.clear()
    assert desk.told() == []


def test_a_mail_server_that_refuses_is_not_asked_every_minute() -> None:
    desk = Desk(is_refused=True)
    desk.claim()
    assert desk.told() == []
    desk.is_refused = False
    assert desk.told() == []
    desk.now += DAY
    desk.claim()
    assert desk.told() == ["home@example.org", "liar@example.org"]


def test_the_administrator_of_the_servers_own_archive_is_told_too() -> None:
    desk = Desk()
    desk.claim(holder=OWN.service.labels[0], label=parse("own.br/arq/2020/01.01.00.00"))
    assert desk.told() == ["own@example.org", "liar@example.org"]


def test_the_known_holder_stays_until_the_dispute_is_settled() -> None:
    desk = Desk()
    desk.claim()
    (dispute,) = desk.disputes.all()
    assert (dispute.holder, dispute.settled_by, desk.disputes.count_open()) == (HOME, None, 1)
    assert desk.beliefs.successors(ITEM) == ()


def test_the_administrator_confirms_the_home() -> None:
    desk = Desk()
    desk.claim()
    (dispute,) = desk.disputes.settle(ITEM, HOME, "ana")
    assert (dispute.settled_by, dispute.holder, desk.disputes.count_open()) == (Settlement.ADMINISTRATOR, HOME, 0)
    desk.now += 2 * DAY
    desk.claim()
    assert desk.told() == []
    assert desk.beliefs.successors(ITEM) == ()


def test_the_administrator_gives_the_item_to_the_claimant() -> None:
    desk = Desk()
    desk.claim()
    (dispute,) = desk.disputes.settle(ITEM, LIAR, "ana")
    assert (dispute.settled_by, dispute.holder) == (Settlement.ADMINISTRATOR, LIAR)
    assert desk.beliefs.successors(ITEM) == (LIAR,)
    desk.claim(claimant=HOME, holder=LIAR)  # the home does not give in
    assert desk.disputes.count_open() == 0
    desk.disputes.settle(ITEM, HOME, "ana")
    assert desk.beliefs.successors(ITEM) == ()


def test_an_item_without_a_home_gets_its_holder() -> None:
    desk = Desk()
    desk.claim(label=FOREIGN)
    desk.disputes.settle(FOREIGN, LIAR, "ana")
    assert desk.beliefs.holder(FOREIGN, desk.now + 100 * DAY) == LIAR
    assert desk.beliefs.successors(FOREIGN) == ()


def test_one_that_claims_it_later_opens_another_dispute() -> None:
    desk = Desk()
    desk.claim()
    desk.disputes.settle(ITEM, HOME, "ana")
    desk.claim(claimant=THIRD)
    assert desk.disputes.count_open() == 1
    assert desk.told() == ["home@example.org", "third@example.org"]


def test_the_present_holder_by_signed_releases_can_be_named_though_it_came_after_the_claim() -> None:
    desk = Desk()
    desk.claim()
    desk.beliefs.record_signed_successors(ITEM, (THIRD,), desk.now)
    desk.claim(holder=HOME)
    (settled,) = desk.disputes.settle(ITEM, THIRD, "admin")
    assert settled.settled_by is Settlement.ADMINISTRATOR
    assert desk.beliefs.about(ITEM).ruling is not None
    assert desk.beliefs.succession(ITEM).chain == (THIRD,)


def test_one_that_is_no_party_is_refused_in_words_about_the_dispute() -> None:
    desk = Desk()
    desk.claim()
    with pytest.raises(NotAParty, match="cannot be named as the holder: it is none of the Archives"):
        desk.disputes.settle(ITEM, THIRD, "admin")


def test_a_transfer_settles_it() -> None:
    desk = Desk()
    desk.claim()
    desk.beliefs.record_successors(ITEM, (LIAR,), desk.now)
    (dispute,) = desk.disputes.all()
    assert dispute.settled_by is Settlement.TRANSFER
    assert desk.told() == []


def test_only_an_archive_that_claims_the_item_can_be_its_holder() -> None:
    desk = Desk()
    desk.claim()
    with pytest.raises(InvalidMessage, match=r"lab\.br/liar"):
        desk.disputes.settle(ITEM, THIRD, "ana")
    with pytest.raises(UnknownDispute):
        desk.disputes.settle(SECOND, HOME, "ana")


def test_a_command_gets_facts() -> None:
    desk = Desk()
    desk.claim()
    commands = LocalDisputes(desk.disputes, "ana")
    (listed,) = commands.list_disputes(settled=False)
    assert listed == DisputeResource.of(desk.disputes.all()[0])
    assert (listed.label, listed.holder, listed.claimant, listed.settled) == (
        ITEM.spelling, HOME.spelling, LIAR.spelling, None,
    )  # fmt: skip
    (settled,) = commands.settle_dispute(ITEM.spelling, HOME.spelling)
    assert settled.settled == "administrator"
    assert commands.list_disputes(settled=False) == []
    assert commands.list_disputes(settled=True) == [settled]
