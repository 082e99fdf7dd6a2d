"""The register as a signed statement: what Archives keep of their resolver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.rules.authority import ArchiveRef
from ibi.membership.rules.signed_register import (
    ListedArchive,
    etag_of,
    read_register,
    register_entries,
    sign_register,
)
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.values import ip_address
from ibi.standard.networks import network
from ibi.standard.signing import InvalidStatement, SigningKey, sign_statement
from ibi.standard.vocabulary import ArchiveProtocol

KEY = SigningKey(b"r" * 32)
HERE = "http://resolver.example.org"
SERVICE = LabelForms.of(parse("lab.br/arq/2009/07.21.14.43"))
COPY = parse("lab.br/copy/2010/07.21.14.43")
HOLDERS = {CopyHolder(COPY), CopyHolder(parse("lab.br/some/2010/07.21.14.43"), frozenset({"lab.br/arq"}))}
REGISTERED = Registration(
    SERVICE,
    "secret hash",
    Instant(1_700_000_000),
    "ana@example.org",
    frozenset({"files.lab.br", "lab.br:81"}),
    (network("10.0.0.0/8"),),
    Inclusion("lab.br:8080", ip_address("10.1.2.3"), ArchiveProtocol.HTTPS, "1", "bea@example.org", Instant(1)),
    frozenset({"old.lab.br/arq"}),
    vouched=True,
    successor=LabelForms.of(COPY),
    feed="/api/changes",
)
OWN = ArchiveRef(LabelForms.of(parse("own.br/arq/2008/07.21.14.43")), "own.br", prefixes=frozenset({"own.br/more"}))


def signed(*listed: ListedArchive) -> str:
    return sign_register(register_entries(listed), HERE, 1_800_000_000, KEY)


def test_keys_that_archives_had_before_come_back_and_so_do_those_of_the_resolvers_own_archive() -> None:
    """What they signed stays signed: an Archive that is offered an Original has to know them."""
    first, second, third = (SigningKey(bytes([number]) * 32).public for number in (1, 2, 3))
    registered = replace(REGISTERED, key=first).with_key(second)
    own, other = read_register(
        signed(ListedArchive.of_own(OWN, keys=(third, first)), ListedArchive.of_registration(registered))
    ).archives
    assert (own.key, own.former_keys) == (third, (first,))
    assert (other.key, other.former_keys) == (second, (first,))


def test_what_belief_needs_comes_back_as_it_was() -> None:
    text = signed(ListedArchive.of_own(OWN), ListedArchive.of_registration(REGISTERED, HOLDERS))
    found = read_register(text)
    assert (found.signer, found.resolver, found.issued, found.text) == (KEY.public, HERE, 1_800_000_000, text)
    own, other = found.archives
    assert (own.home.archive, own.prefixes) == (OWN, {"own.br/arq", "own.br/more"})
    ref = other.home.archive
    assert ref is not None
    assert (ref.address, ref.protocol, ref.registered, ref.vouched, ref.feed) == (
        "lab.br:8080", ArchiveProtocol.HTTPS, 1_700_000_000, True, "/api/changes",
    )  # fmt: skip
    assert (ref.hosts, ref.networks) == (REGISTERED.hosts, REGISTERED.networks)
    assert (other.home.service, other.home.successor, other.home.copies) == (SERVICE, REGISTERED.successor, HOLDERS)
    assert found.homes().of(parse("old.lab.br/arq/2000/01.01.01.01"))[0].service == SERVICE
    assert found.refs() == (own.home.archive, ref)


def test_neither_keys_nor_people_are_in_it() -> None:
    text = str(register_entries([ListedArchive.of_registration(REGISTERED)]))
    assert not [word for word in ("secret", "ana@", "bea@", "10.1.2.3") if word in text]


def test_an_archive_that_is_switched_off_is_a_home_that_cannot_be_asked() -> None:
    (listed,) = read_register(signed(ListedArchive.of_registration(replace(REGISTERED, inclusion=None)))).archives
    assert (listed.home.archive, listed.home.service) == (None, SERVICE)


def test_equal_registers_are_equal_texts_of_one_tag() -> None:
    one, other = (signed(ListedArchive.of_registration(REGISTERED)) for _ in range(2))
    assert one == other
    assert read_register(one).etag == etag_of(other)


GOOD: dict[str, Any] = {"service": ["lab.br/arq/2009/07.21.14.43"], "registered": 5, "address": "lab.br"}


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {**GOOD, "service": ["no label"]},
        {**GOOD, "service": []},
        {**GOOD, "service": ["lab.br/arq/2009/07.21.14.43", "lab.br/arq/2010/07.21.14.43"]},
        {**GOOD, "address": "lab.br/path"},
        {**GOOD, "address": "127.1"},
        {**GOOD, "registered": "soon"},
        {**GOOD, "protocol": "GOPHER"},
        {**GOOD, "networks": ["10.0.0.1/8"]},
        {**GOOD, "prefixes": ["/"]},
        {**GOOD, "hosts": ["a b"]},
        {**GOOD, "copies": ["x"] * 1000},
        {**GOOD, "key": "short"},
    ],
)
def test_an_archive_that_is_not_understood_is_left_out(entry: object) -> None:
    later = {**GOOD, "of_a_later_version": {"x": 1}}
    claims = {"resolver": HERE, "issued": 7, "archives": [entry, later]}
    assert [each.registered for each in read_register(sign_statement("register", claims, KEY)).archives] == [5]


@pytest.mark.parametrize("claims", [{}, {"resolver": HERE, "issued": "x", "archives": []}, {"archives": 7}])
def test_what_is_no_register_is_refused(claims: dict[str, object]) -> None:
    with pytest.raises(InvalidStatement):
        read_register(sign_statement("register", claims, KEY))


def test_another_kind_of_statement_is_no_register() -> None:
    with pytest.raises(InvalidStatement):
        read_register(sign_statement("release", {"resolver": HERE, "issued": 1, "archives": []}, KEY))


def test_a_changed_letter_breaks_the_signature() -> None:
    header, claims, signature = signed(ListedArchive.of_registration(REGISTERED)).split(".")
    changed = f"{header}.{claims[:40]}{'A' if claims[40] != 'A' else 'B'}{claims[41:]}.{signature}"
    with pytest.raises(InvalidStatement):
        read_register(changed)
