"""What needs no storage is not held up by what waits for slow storage: on a real server, with all of it slow."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from logging import WARNING
from typing import Final

import pytest
import structlog
from argon2 import PasswordHasher

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.items.model.content import Bytes, Change
from ibi.items.service.searching import Searching
from ibi.membership.client.archive_http import ArchiveHttp
from ibi.membership.rules.authority import ArchiveRef
from ibi.net.address_guard import AddressGuard
from ibi.people.model.account import Person, Role, Scope
from ibi.people.rules.sign_in import RANDOM_BYTES, new_session
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.service.sign_in import SignIn
from ibi.resolver.client.gateways import Gateways, LocalArchive
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.acknowledgments import Acknowledgments
from ibi.resolver.service.belief_report import BeliefReport
from ibi.resolver.service.resolution_runner import ArchiveDirectory
from ibi.resolver.service.resolver_service import ResolverService
from ibi.standard.label import Label
from ibi.usage.store import MemoryUsageLog
from ibi.web.errors import log_untold
from ibi.web.reader import SESSION_COOKIE
from ibi.web.rendering import SiteFacts, static_url
from ibi.web.sites import ResolverSite
from tests.support.archive_app import BASE, IBIP, NOW, OTHER, REP, SERVICE, kept
from tests.support.membership_app import MembershipApp
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.memory.catalog import MemoryCatalog
from tests.support.memory.content import MemoryContent
from tests.support.memory.people import MemoryPeople
from tests.support.memory.registry import MemoryRegistry
from tests.support.memory.search import MemorySearch
from tests.support.memory.ticks import MemoryTicks
from tests.support.memory.tokens import MemoryTokens
from tests.support.minting_app import add_token, made
from tests.support.running_server import RunningServer, running
from tests.support.set_clocks import SetClocks
from tests.support.sites import ArchiveParts, make_site
from tests.support.slow_storage import DELAY, SlowStorage

LONG: Final = 60.0


class NothingGivenOut:
    """The port `GivenOut`."""

    prompt = True

    def is_final(self, _label: Label) -> bool:
        return True


class SlowServer:
    """Minter, Archive, resolver and accounts, on storage of which every call can be delayed or held up."""

    def __init__(self, storage: SlowStorage) -> None:
        slow, clocks = storage.slow, SetClocks(NOW)
        catalog, content, tokens, people = MemoryCatalog(), MemoryContent(), MemoryTokens(), MemoryPeople()
        item, files = kept(REP, IBIP)
        catalog.put(item)
        sources = {f"doc/{path}": Bytes(body) for path, body in files.items()}
        content.create(REP, {"item.json": Bytes(b"{}"), **sources}, Change("Ana", "deposit", NOW))
        self.token = add_token(tokens, Scope.DEPOSIT)
        ada = Person("ada", Role.READER, NOW)
        people.add(ada)
        self.session, opened = new_session(secrets.token_bytes(RANDOM_BYTES), ada, NOW)
        people.open_session(opened, ada)
        asked = slow(catalog)
        self.searching = Searching(slow(MemorySearch(catalog)), asked.recent_version)
        site = make_site(
            ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE)),
            asked,
            slow(content),
            clocks,
            BASE,
            changes=asked.recent_version,
            given_out=slow(NothingGivenOut()),
            usage=MemoryUsageLog(),
        )
        registry, beliefs = slow(MemoryRegistry()), slow(MemoryBeliefs())
        local = LocalArchive(SERVICE, site.answers, partial(log_untold, log=structlog.get_logger("test")))
        gateway = Gateways([local], ArchiveHttp(AddressGuard()))
        own = ArchiveRef(SERVICE, "arq.lab.br")
        resolver = ResolverSite(
            resolving=ResolverService(
                ArchiveDirectory(registry, own), gateway, memory=Memory(beliefs), own=own, changes=site.answers.watch
            ),
            acknowledgments=Acknowledgments(gateway, at_once=gateway.acknowledge_at_once),
            public_url=BASE,
            registrations=MembershipApp(registry).admin,
            beliefs=beliefs,
            report=BeliefReport(registry, beliefs, own, lambda: 0.0),
            close=gateway.close,
        )
        ticks = MemoryTicks()
        self.hasher = SecretHasher(PasswordHasher(1, 8, 1))
        minting = made(clocks=clocks, ticks=ticks)  # which freezes the identity before storage is slow
        self.app = made(
            identity=minting.queue.identity,
            clocks=clocks,
            ticks=slow(ticks),
            tokens=slow(tokens),
            archive=site,
            parts=ArchiveParts(search=self.searching),
            resolver=resolver,
            facts=SiteFacts("test", BASE),
            sign_in=SignIn(slow(people), clocks, self.hasher),
            checks=(asked.check,),
            log=structlog.wrap_logger(None, wrapper_class=structlog.make_filtering_bound_logger(WARNING)),
        ).app

    def close(self) -> None:
        self.searching.close()
        self.hasher.close()

    @property
    def slow_requests(self) -> dict[str, tuple[str, str, bytes | None, dict[str, str]]]:
        """One of each kind that needs storage."""
        bearer = {"authorization": f"Bearer {self.token}"}
        about = f"clientinformation.ipaddress=192.0.2.1&parsedibiurl.ibi={OTHER}&servicesubject=urlRequest"
        return {
            "record": ("GET", f"/api/items/{REP}", None, {}),
            "record with a token": ("GET", f"/api/items/{REP}", None, bearer),
            "page": ("GET", f"/col/{REP}/metadata", None, {"accept": "text/html"}),
            "file": ("GET", f"/col/{REP}/doc/a.txt", None, {}),
            "search": ("GET", "/search?q=a", None, {}),
            "label in the search": ("GET", f"/search?q={REP}", None, {}),
            "relations": ("GET", f"/api/items/{REP}/relations", None, {}),
            "minting": ("POST", "/api/labels", b"", bearer),
            "tokens": ("GET", "/api/tokens", None, bearer),
            "account": ("GET", "/account", None, {"cookie": f"{SESSION_COOKIE}={self.session}"}),
            "explanation": ("GET", f"/explain?q={REP}", None, {}),
            "claims": ("GET", "/api/claims", None, {}),
            "beliefs": ("GET", "/api/beliefs?about=lab.br/arq", None, {}),
            "register": ("GET", f"/api/archives/{OTHER}", None, {}),
            "answer to a resolver": ("GET", f"/{SERVICE.labels[0]}?{about}", None, {}),
            "readiness": ("GET", "/readyz", None, {}),
        }


STATUSES: Final = {"tokens": 403, "label in the search": 302, "register": 404, "minting": 201}
"""Of answers that are none of 200."""
PROMPT: Final = {
    "/healthz": 200,
    static_url("ibi.css"): 200,
    f"/{REP}": 302,
    "/metrics": 200,
    "/api/openapi.json": 200,
}
"""Answers that need no storage, once the redirect is kept."""


@pytest.fixture
def storage() -> SlowStorage:
    return SlowStorage(0.0)


@pytest.fixture
def made_server(storage: SlowStorage) -> Iterator[SlowServer]:
    server = SlowServer(storage)
    yield server
    server.close()


@pytest.fixture
def server(made_server: SlowServer, storage: SlowStorage) -> Iterator[RunningServer]:
    with running(made_server.app) as server:
        assert status(server, f"/{REP}") == 302  # kept from now on
        yield server
        storage.let_go()
    assert storage.on_loop == []


def begin(server: RunningServer, made_server: SlowServer, threads: ThreadPoolExecutor) -> dict[str, Future[int]]:
    def ask(method: str, path: str, body: bytes | None, headers: dict[str, str]) -> int:
        return server.ask(method, path, body, headers)[0].status

    return {name: threads.submit(ask, *request) for name, request in made_server.slow_requests.items()}


def status(server: RunningServer, path: str) -> int:
    return server.ask("GET", path)[0].status


def statuses(slow: dict[str, Future[int]]) -> dict[str, int]:
    return {name: answer.result(LONG) for name, answer in slow.items()}


def test_answers_that_need_no_storage_are_given_while_all_storage_is_held_up(
    server: RunningServer, made_server: SlowServer, storage: SlowStorage
) -> None:
    storage.hold()
    with ThreadPoolExecutor(32) as threads:
        try:
            slow = begin(server, made_server, threads)
            for _ in range(3):
                assert {path: status(server, path) for path in PROMPT} == PROMPT
            assert [name for name, answer in slow.items() if answer.done()] == []
        finally:
            storage.let_go()
        assert statuses(slow) == {name: STATUSES.get(name, 200) for name in slow}


def test_answers_that_need_no_storage_do_not_wait_behind_delayed_ones(
    server: RunningServer, made_server: SlowServer, storage: SlowStorage
) -> None:
    storage.delay = DELAY
    links = [f"/lab.br/arq/2020/01.02.03.{minute:02}" for minute in range(10, 30)]
    with ThreadPoolExecutor(64) as threads:
        # Links to nothing ask the beliefs one after the other: four seconds for all of them at least.
        misses = [threads.submit(status, server, path) for path in links]
        slow = begin(server, made_server, threads)
        for _ in range(3):
            assert {path: status(server, path) for path in PROMPT} == PROMPT
        assert not all(answer.done() for answer in misses)
        storage.delay = 0.0
        assert {answer.result(LONG) for answer in misses} == {404}
        assert statuses(slow) == {name: STATUSES.get(name, 200) for name in slow}
