"""What may be on record of an Archive."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.membership.model.registration import Inclusion, Registration
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import ArchiveProtocol, LabelForms, ip_address

NOW = Instant.parse("2026-11-15T12:00:00Z")
BOTH = LabelForms.parse("rep sid.inpe.br/mtc-m19.80/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
INCLUSION = Inclusion("a.example.org", ip_address("192.0.2.1"), ArchiveProtocol.HTTP, "1", "a@example.org", NOW)
REGISTERED = Registration(BOTH, "hash", NOW, inclusion=INCLUSION)


def test_an_archive_is_the_home_of_the_prefixes_of_its_label_and_of_those_it_was_given() -> None:
    assert REGISTERED.home_prefixes == {"sid.inpe.br/mtc-m19", "8jmkd3mgp7w"}
    more = replace(REGISTERED, prefixes=frozenset({"SID.inpe.br/mtc-m18@80", "sid.inpe.br/mtc-m18"}))
    assert more.prefixes == {"sid.inpe.br/mtc-m18"}
    assert more.home_prefixes == {"sid.inpe.br/mtc-m18", "sid.inpe.br/mtc-m19", "8jmkd3mgp7w"}


def test_the_place_of_an_inclusion_is_compared_without_case() -> None:
    assert replace(INCLUSION, address="A.Example.org").place == INCLUSION.place
    assert replace(INCLUSION, protocol=ArchiveProtocol.HTTPS).place != INCLUSION.place


@pytest.mark.parametrize(
    "wrong",
    [
        {"prefixes": frozenset({"sid.inpe.br"})},
        {"prefixes": frozenset(f"example.org/a{number}" for number in range(65))},
        {"successor": LabelForms.of(BOTH.labels[1])},
        {"pending": replace(INCLUSION, address="A.example.org")},
        {"pending": replace(INCLUSION, address="b.example.org"), "inclusion": None},
        {"waiting": parse("8JMKD3MGP8W/3EPGUE5")},
        {"waiting": parse("8JMKD3MGP8W/35MME4E"), "service": LabelForms.of(BOTH.labels[0])},
    ],
)
def test_anything_else_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        replace(REGISTERED, **wrong)  # type: ignore[arg-type]
