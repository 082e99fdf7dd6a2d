"""The e-mail that tells an administrator that the Archive is registered."""

from __future__ import annotations

from ibi.membership.model.registration import Registration
from ibi.membership.rules.letters import confirmation_letter
from ibi.standard.instant import Instant
from ibi.standard.messages import LabelForms

SERVICE = LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")


def test_the_letter_says_in_two_languages_who_is_registered_where_and_what_to_do_next() -> None:
    registration = Registration(SERVICE, "$argon2id$secret", Instant.parse("2026-11-15T12:00:00Z"))
    letter = confirmation_letter(registration, "banon@dpi.inpe.br", "https://urlib.net")
    assert letter.to == "banon@dpi.inpe.br"
    portuguese, english = letter.text.split("-" * 70)
    for text, words in ((portuguese, "está cadastrado"), (english, "is registered with")):
        assert words in text
        assert all(label.spelling in text for label in SERVICE.labels)
        assert 'resolver = "https://urlib.net"' in text
        assert "registration_key" in text
        assert "ibi archive switch-on" in text
        assert "2026-11-15T12:00:00Z" in text
    assert "argon2" not in letter.text
    assert max(map(len, letter.text.splitlines())) <= 78
