"""What was kept of a label without a home yields to a home that is registered later (E66)."""

from __future__ import annotations

from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Redirect, UnprovenClaims
from ibi.resolver.service.resolution_runner import Resolved
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.persistent_url import PersistentUrl
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_archives import CLIENTS, archive, body
from tests.support.scripted_gateway import ScriptedGateway, at_once

ITEM = "example.org/home/2009/01.01.00.00"
LIAR, OTHER, HOME = archive("liar"), archive("other"), archive("home")


def test_a_home_that_is_registered_and_not_yet_included_ends_what_was_kept() -> None:
    pairs = {"url": f"http://{LIAR.address}/x", "contenttype": "Data", "state": "Original"}
    claim = at_once(body(LIAR, f"rep {ITEM}", **pairs), max_age=3600)
    gateway = ScriptedGateway({LIAR: claim, OTHER: at_once(b"")})
    service = ResolverService(gateway, gateway, memory=Memory(MemoryBeliefs()))

    def ask() -> Resolved:
        found = service.begin(PersistentUrl.parse(f"/{ITEM}"), CLIENTS, base="http://urlib.net:80/")
        assert isinstance(found, Resolved)
        return found

    assert isinstance(ask().outcome, Redirect)  # no Archive is registered for its prefix
    assert ask().was_kept
    gateway.away = (HOME.service,)
    assert isinstance(ask().outcome, UnprovenClaims)
