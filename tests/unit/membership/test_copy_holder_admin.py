"""Followers are offered as holders of Copies if the register knows them, and named by an administrator alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.claims.service.registered_senders import RegisteredSenders
from ibi.membership.model.copy_holders import MOST_OFFERS, OFFER_DAYS, KnownCopyHolders
from ibi.membership.service.copy_holder_admin import (
    LONGEST_SIGNATURE,
    CopyHolderAdmin,
    CopyOffers,
    OwnService,
    SettledHolder,
    TooManyHolders,
    UnknownHolder,
)
from ibi.membership.service.named_copy_holders import NamedCopyHolders
from ibi.membership.service.signers import OwnKeys
from ibi.membership.store.copy_holders import FILE, CopyHoldersFile
from ibi.membership.store.key_files import KeyFiles
from ibi.standard.label import RepositoryName, parse
from ibi.standard.messages.holders import CopyHolder, read_copies_statement
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.signatures import sign_follower, sign_notification
from ibi.standard.signing import SigningKey
from ibi.standard.storage_errors import StoreDamaged
from ibi.transfers.rules.standing import KnownArchives, RegisteredArchive
from tests.support.archive_app import NOW
from tests.support.set_clocks import SetClocks

OWN = LabelForms.of(RepositoryName.parse("own.example/archive/2026/01.01.00.00"))
OTHER = "other.example/archive/2026/01.01.00.00"
URL = "https://own.example"
SECOND = 1_800_000_000
KEY, STRANGER, OURS = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))


def label(number: int) -> str:
    return f"one.br/arq/2020/01.01.00.{number:02}"


class Noted:
    """An Archive that notes who follows it."""

    def __init__(self, data: Path, register: dict[SigningKey, str]) -> None:
        self.now, self.store = SECOND, CopyHoldersFile(data)
        archives = tuple(RegisteredArchive((parse(name),), frozenset(), key.public) for key, name in register.items())
        senders = RegisteredSenders(lambda: KnownArchives(archives), URL, lambda: self.now)
        self.offers = CopyOffers(self.store, senders, OWN, lambda: self.now)

    def follow(self, key: SigningKey, *prefixes: str, to: str = URL, late: int = 0) -> tuple[CopyHolder, ...]:
        self.offers.note(sign_follower(prefixes, to, 1000 * (self.now - late), key))
        return tuple(each.holder for each in self.store.read().offers)


@pytest.fixture
def noted(tmp_path: Path) -> Noted:
    return Noted(tmp_path, {KEY: OTHER, OURS: str(OWN.labels[0])})


def test_a_registered_follower_is_offered_with_the_prefixes_that_it_follows(noted: Noted) -> None:
    assert noted.follow(KEY, "lab.br/arq") == (CopyHolder(parse(OTHER), frozenset({"lab.br/arq"})),)
    noted.now += 10
    assert noted.follow(KEY) == (CopyHolder(parse(OTHER)),)
    (offer,) = noted.store.read().offers
    assert (offer.first, offer.last) == (SECOND, SECOND + 10)


def test_no_stranger_offers_itself(noted: Noted) -> None:
    assert noted.follow(STRANGER) == ()
    assert noted.follow(OURS) == ()
    assert noted.follow(KEY, to="https://elsewhere.example") == ()
    assert noted.follow(KEY, to="no address") == ()
    assert noted.follow(KEY, late=301) == ()
    assert noted.follow(KEY, late=-301) == ()
    assert noted.follow(KEY, "no prefix <b>") == ()
    good = sign_follower((), URL, 1000 * SECOND, KEY)
    head, body, signature = good.split(".")
    forged = sign_follower(["lab.br/arq"], URL, 1000 * SECOND, STRANGER).split(".")
    other = sign_notification(b"{}", URL, 1000 * SECOND, KEY)
    for text in ("", "x", good[:-4], f"{head}.{body}.{forged[2]}", f"{head}.{forged[1]}.{signature}", other):
        noted.offers.note(text)
    noted.offers.note(good + "x" * LONGEST_SIGNATURE)
    assert noted.store.read() == KnownCopyHolders()


def test_offers_are_bounded_and_end_when_the_archive_follows_no_more(tmp_path: Path) -> None:
    keys = {SigningKey(bytes([each, 7]) * 16): label(each) for each in range(MOST_OFFERS + 2)}
    noted = Noted(tmp_path, keys)
    for key in keys:
        noted.follow(key)
    assert len(noted.store.read().offers) == MOST_OFFERS
    noted.now += OFFER_DAYS * 86_400
    assert noted.follow(list(keys)[-1]) == (CopyHolder(parse(label(MOST_OFFERS + 1))),)


def admin(noted: Noted, *settled: str) -> CopyHolderAdmin:
    return CopyHolderAdmin(noted.store, OWN, [CopyHolder(parse(each)) for each in settled], lambda: SECOND)


def test_an_offer_is_taken_for_what_the_archive_follows_and_one_that_was_declined_does_not_come_back(
    noted: Noted,
) -> None:
    noted.follow(KEY, "lab.br/arq")
    assert admin(noted).add(OTHER)["prefixes"] == ["lab.br/arq"]
    noted.now += 100
    noted.follow(KEY, "lab.br/arq")
    assert [each["state"] for each in admin(noted).list_holders()] == ["named"]
    admin(noted).remove(OTHER)
    noted.now += 100
    noted.follow(KEY, "lab.br/arq")
    assert [each["state"] for each in admin(noted).list_holders()] == ["declined"]
    admin(noted).remove(OTHER)
    noted.now += 100
    noted.follow(KEY, "lab.br/arq")
    assert [each["state"] for each in admin(noted).list_holders()] == ["offered"]


def test_what_cannot_be_named_is_refused(noted: Noted) -> None:
    with pytest.raises(OwnService):
        admin(noted).add(str(OWN.labels[0]))
    for act in (admin(noted, OTHER).add, admin(noted, OTHER).remove):
        with pytest.raises(SettledHolder):
            act(OTHER)
    with pytest.raises(UnknownHolder):
        admin(noted).remove(OTHER)
    for number in range(31):
        admin(noted, OTHER).add(label(number))
    with pytest.raises(TooManyHolders):
        admin(noted, OTHER).add(label(32))
    assert admin(noted, OTHER).add(f"{label(0)}=lab.br/arq")["prefixes"] == ["lab.br/arq"]


def test_the_signed_word_names_who_was_named_by_another_process_a_moment_ago(noted: Noted, tmp_path: Path) -> None:
    files = KeyFiles(tmp_path)
    files.begin()
    settled = [CopyHolder(parse(label(1)))]
    named = NamedCopyHolders(OWN, settled, OwnKeys(files), SetClocks(NOW), CopyHoldersFile(tmp_path))
    before = named.word()
    assert named.word() is before
    admin(noted, label(1)).add(OTHER)
    after = named.word()
    assert after.at > before.at
    assert read_copies_statement(after.statement).holders == (*settled, CopyHolder(parse(OTHER)))
    admin(noted, label(1)).remove(OTHER)
    assert read_copies_statement(named.word().statement).holders == tuple(settled)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"named": ["x"]}', '{"named": 1}', "[" * 100_000])
def test_a_file_that_cannot_be_read_is_no_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(StoreDamaged):
        CopyHoldersFile(tmp_path).read()
    with pytest.raises(StoreDamaged):
        CopyHoldersFile(tmp_path).change(lambda known: known.decline(parse(OTHER)))
    assert (tmp_path / FILE).read_text() == text
