"""E76: who learns how much of a reader's address."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ibi.label import parse
from ibi.messages import LabelForms, ip_addresses
from ibi.messages.values import ip_address
from ibi.persistent_url import PersistentUrl
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.memory import Memory
from ibi.resolver.policy import ClientAddress, Policy
from ibi.services.resolving.resolver_service import ResolverService
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.resolver_app import REP, item
from tests.support.scripted_archives import archive
from tests.support.scripted_gateway import After, ScriptedGateway
from tests.support.virtual_time import in_virtual_time, now

A, B, VOUCHED = archive("a"), archive("b"), replace(archive("v"), vouched=True)
HOME = ArchiveRef(LabelForms.of(parse("lab.br/arq/2008/03.17.15.17")), "home.example.org")
FULL = ip_addresses("192.0.2.77 2001:db8:1:2::3")
NETWORK, NOTHING = ip_addresses("192.0.2.0 2001:db8:1::"), ip_addresses("0.0.0.0 ::")
TIME = 1_800_000_000


def addresses(archives: dict[ArchiveRef, After], shown: ClientAddress, memory: Memory) -> dict[str, object]:
    """What each Archive learns."""
    gateway = ScriptedGateway(archives)
    policy = Policy(client_address=shown)
    service = ResolverService(gateway, gateway, clock=now, wall=lambda: TIME + 1.0, memory=memory, policy=policy)
    url = PersistentUrl.parse(f"/{REP}?ibiurl.requireditemstatus=Original")
    in_virtual_time(service.resolve(url, FULL, base="http://urlib.net:80/"))
    return {asked.address: request.client_addresses for asked, request in gateway.asked}


@pytest.mark.parametrize(("shown", "others"), [("full", FULL), ("network", NETWORK), ("none", NOTHING)])
def test_the_home_learns_the_address_and_others_what_the_setting_says(shown: str, others: object) -> None:
    archives = {HOME: After(0.01, b""), A: After(0.01, item(A)), VOUCHED: After(0.01, b"")}
    told = addresses(archives, ClientAddress(shown), Memory(MemoryBeliefs()))
    assert told == {HOME.address: FULL, A.address: others, VOUCHED.address: FULL}


def test_a_known_holder_learns_it_where_there_is_no_home() -> None:
    beliefs = MemoryBeliefs()
    beliefs.record_holder(parse(REP), A.service.labels[0], TIME)
    archives = {A: After(0.01, item(A)), B: After(0.01, b"")}
    assert addresses(archives, ClientAddress.NETWORK, Memory(beliefs)) == {A.address: FULL, B.address: NETWORK}


def test_the_one_that_was_chosen_is_thanked_with_the_address() -> None:
    gateway = ScriptedGateway({A: After(0.01, item(A)), B: After(0.01, b"")})
    policy = Policy(client_address=ClientAddress.NONE)
    service = ResolverService(gateway, gateway, clock=now, memory=Memory(MemoryBeliefs()), policy=policy)
    found = in_virtual_time(service.resolve(PersistentUrl.parse(f"/{REP}"), FULL, base="http://urlib.net:80/"))
    thanks = getattr(found.outcome, "acknowledgment", None)
    assert thanks is not None
    assert thanks.client_addresses == FULL


def test_an_address_is_cut_at_its_network() -> None:
    assert ClientAddress.NETWORK.shown(ip_address("255.255.255.255")) == ip_address("255.255.255.0")
