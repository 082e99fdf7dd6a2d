"""What the Archive of a server reads of the resolver of the same server."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.store.registry import SqliteRegistry
from ibi.settings import load_settings
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.vocabulary import ArchiveProtocol
from ibi.storage.connection import STATE
from ibi.transfers.opening.own_register import OwnRegister, PeersOfResolver
from ibi.transfers.ports import PeerSilent

HERE, NOW = "http://127.0.0.1:8765", Instant(1_800_000_000)
SERVICE = RepositoryName.parse("b.example/ibi/2020/01.01.00.00")
SWITCHED_OFF = Registration(LabelForms(SERVICE), "", NOW)
INCLUDED = replace(
    SWITCHED_OFF,
    inclusion=Inclusion(
        "b.example:8080", IPv4Address("150.163.34.100"), ArchiveProtocol.HTTP, "1", "banon@dpi.inpe.br", NOW
    ),
)


def register(data: Path, *registrations: Registration) -> OwnRegister:
    if registrations:
        with closing(SqliteRegistry(data)) as registry:
            for each in registrations:
                registry.put(each)
    found = OwnRegister.find(load_settings({"data": data}, {}), HERE)
    assert found is not None
    return found


def test_a_server_on_whose_register_no_archive_is_is_alone_and_nothing_is_written(tmp_path: Path) -> None:
    own = register(tmp_path)
    assert (own.is_alone, own.archives(), list(own.releases(SERVICE))) == (True, {}, [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("registration", "archives"),
    [
        (INCLUDED, {SERVICE: "http://b.example:8080"}),
        (SWITCHED_OFF, {}),
        (replace(INCLUDED, lost=NOW), {}),
    ],
    ids=["included", "switched off", "lost"],
)
def test_archives_that_can_be_asked_are_named(
    tmp_path: Path, registration: Registration, archives: dict[RepositoryName, str]
) -> None:
    own = register(tmp_path, registration)
    assert (own.is_alone, own.archives()) == (False, archives)


def test_a_server_with_a_resolver_elsewhere_has_no_own_register(tmp_path: Path) -> None:
    elsewhere = load_settings({"data": tmp_path}, {"IBI_RESOLVER": "http://resolver.example"})
    assert OwnRegister.find(elsewhere, HERE) is None
    switched_off = load_settings({"data": tmp_path}, {"IBI_RESOLVE_ENABLED": "false"})
    assert OwnRegister.find(switched_off, HERE) is None


def test_a_damaged_state_is_a_resolver_that_does_not_answer(tmp_path: Path) -> None:
    own = register(tmp_path, INCLUDED)
    peers = PeersOfResolver(own)
    assert peers.archives(HERE) == {SERVICE: "http://b.example:8080"}
    (tmp_path / STATE.file_name).write_bytes(b"no database" * 1000)
    with pytest.raises(PeerSilent):
        list(peers.releases(HERE, SERVICE))
