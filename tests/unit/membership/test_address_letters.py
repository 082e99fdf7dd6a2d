"""What an administrator is told about a new address (E60)."""

from __future__ import annotations

from dataclasses import replace

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.rules.letters import pending_letter, replaced_letter
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import ArchiveProtocol, LabelForms, ip_address

NOW = Instant.parse("2026-11-15T12:00:00Z")
REP = "sid.inpe.br/mtc-m21/2012/06.05.15.34.39"
OLD = Inclusion("old.example.org", ip_address("192.0.2.1"), ArchiveProtocol.HTTP, "1", "a@example.org", NOW)
NEW = replace(OLD, address="new.example.org:8443", protocol=ArchiveProtocol.HTTPS)
REGISTERED = Registration(LabelForms.of(parse(REP)), "hash", NOW, inclusion=OLD, pending=NEW)


def test_of_a_pending_address_both_and_the_wait_are_told_in_both_languages() -> None:
    letter = pending_letter(REGISTERED, "ana@example.org", "https://urlib.example.org")
    assert letter.to == "ana@example.org"
    for words in (REP, "http://old.example.org", "https://new.example.org:8443", "https://urlib.example.org", "60"):
        assert letter.text.count(words) >= 2, words
    assert "hash" not in letter.text


def test_of_one_that_was_replaced_both_are_told() -> None:
    after = replace(REGISTERED, inclusion=NEW, pending=None)
    letter = replaced_letter(after, OLD, "ana@example.org", "https://urlib.example.org")
    portuguese, _, english = letter.text.partition("-" * 70)
    for text in (portuguese, english):
        assert text.index("https://new.example.org:8443") < text.index("http://old.example.org")


def test_every_line_fits_a_mail() -> None:
    letters = [
        pending_letter(REGISTERED, "ana@example.org", "https://urlib.example.org"),
        replaced_letter(replace(REGISTERED, inclusion=NEW, pending=None), OLD, "a@example.org", "https://urlib.net"),
    ]
    assert all(len(line) <= 80 for letter in letters for line in letter.text.splitlines())
