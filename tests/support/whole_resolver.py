"""The whole resolver on a socket: web application, register, resolution, HTTP to Archives; only names are looked up
where a test says, and readers come from where it says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from ipaddress import ip_network
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from ibi.membership.client.archive_connections import Budgets
from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.service.registration_admin import RegistrationAdmin
from ibi.net.address_guard import AddressGuard, NameLookup
from ibi.people.model.account import Scope as TokenScope
from ibi.people.service.secret_hasher import KeyHasher
from ibi.resolver.client.gateways import Gateways
from ibi.resolver.rules.caching import Cache
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.policy import Policy
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.resolution_runner import ArchiveDirectory
from ibi.resolver.service.resolver_service import ResolverService
from ibi.web.sites import ResolverSite
from tests.support.membership_app import CHEAP, J
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.registry import MemoryRegistry
from tests.support.minting_app import MintingApp, made
from tests.support.running_server import RunningServer, running
from tests.support.set_clocks import SetClocks

__all__ = ["KEY", "READER", "WholeResolver", "whole_resolver"]

KEY = "1234567890"
READER = "150.163.2.175"
"""From where readers seem to come: the loopback address of a test is no reader's."""
PROXY = "150.163.68.1"
"""The one proxy that is believed."""


@dataclass
class WholeResolver:
    server: RunningServer
    minting: MintingApp
    readers: list[str]

    def register(self, service: str, *networks: str, hosts: Sequence[str] = ()) -> None:
        """By an administrator, over HTTP."""
        body = {"labels": [service], "key": KEY, "networks": networks, "hosts": hosts, "allow_weak_key": True}
        answer, said = self.server.ask("POST", "/api/archives", json.dumps(body).encode(), self.admin())
        assert answer.status == 201, said

    def admin(self) -> dict[str, str]:
        """The headers of an administrator who sends JSON."""
        return {**self.minting.bearer(TokenScope.ADMIN), "content-type": "application/json"}

    def include(self, service: str, address: str, **others: str) -> bytes:
        """By the Archive itself (R Example 7.2); what it is told."""
        answer, said = self.server.ask("GET", f"{J}?{membership('inclusionRequest', service, address, **others)}")
        assert answer.status == 200, said
        return bytes(said)

    def exclude(self, service: str, address: str) -> bytes:
        answer, said = self.server.ask("GET", f"{J}?{membership('exclusionRequest', service, address)}")
        assert answer.status == 200, said
        return bytes(said)

    def get(self, path: str, reader: str = READER, **headers: str) -> tuple[HTTPResponse, Any]:
        """As a reader who comes from that address, or through the proxy if it is that one's."""
        self.readers[0] = reader
        return self.server.ask("GET", path, None, {name.replace("_", "-"): value for name, value in headers.items()})

    def location(self, path: str, **headers: str) -> str:
        answer, said = self.get(path, **headers)
        assert answer.status == 302, (path, answer.status, said)
        return str(answer.getheader("location"))

    def trace(self, path: str) -> Any:
        answer, said = self.get(f"{path}{'&' if '?' in path else '?'}ibiurl.trace=json")
        assert answer.status == 200, said
        return said


def membership(subject: str, service: str, address: str, **others: str) -> str:
    """The pairs of R Examples 7.2 and 7.3, in their order."""
    pairs = {
        "servicesubject": subject,
        "archiveaddress": address,
        "archiveserviceibi": service,
        "archiveip": "150.163.34.239",
        "archiveprotocol": "HTTP",
        "archiveplatformversion": "2014:11.09.02.16.15",
        "archiveadmemailaddress": "banon@dpi.inpe.br",
        "registrationkey": KEY,
        **others,
    }
    return "&".join(f"{name}={value}" for name, value in pairs.items())


@contextmanager
def whole_resolver(
    names: Mapping[str, Sequence[str]] | Callable[[str], Sequence[str]] | None = None,
    *,
    public_url: str = "http://urlib.net",
    policy: Policy | None = None,
    budgets: Budgets | None = None,
    names_kept_for: float = 30.0,
    cache: Cache | None = None,
) -> Iterator[WholeResolver]:
    """`names` are all that can be looked up."""
    known = names if callable(names) else lambda host: (names or {}).get(host, ())
    registry, clocks = MemoryRegistry(), SetClocks()
    guard = AddressGuard(names=NameLookup(known, kept_for=names_kept_for))
    http = ArchiveHttp(guard, budgets=budgets or Budgets())
    site = ResolverSite(
        resolving=ResolverService(
            ArchiveDirectory(registry, None),
            Gateways((), http),
            memory=Memory(MemoryBeliefs()),
            policy=policy,
            cache=cache,
        ),
        acknowledgments=Acknowledgments(http),
        public_url=public_url,
        registrations=RegistrationAdmin(
            registry, http.confirm, clocks, resolver_url=public_url, hasher=KeyHasher(CHEAP)
        ),
        proxies=(ip_network(PROXY),),
        close=http.close,
    )
    minting, readers = made(clocks=clocks, resolver=site), [READER]
    with running(_from_elsewhere(minting.app, readers)) as server:
        yield WholeResolver(server, minting, readers)


def _from_elsewhere(app: ASGIApp, readers: list[str]) -> ASGIApp:
    """A socket's other end is on this machine: the application is told of a reader who is not."""

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["client"] = (readers[0], 4711)
        await app(scope, receive, send)

    return outer
