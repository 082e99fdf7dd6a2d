"""A resolver and three Archives in processes of their own, of which some end at once: links go on (E92, E94)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from subprocess import Popen
from typing import Any
from urllib.parse import urlsplit

import pytest

from ibi.items.model.content import Bytes, Change
from ibi.items.opening.archive_store import open_store
from ibi.items.rules.life_cycle import copy
from ibi.items.service.item_repository import PendingItem
from ibi.items.service.stored_item import name_of
from ibi.membership.resources import ArchiveApplication
from ibi.membership.rules.signed_register import read_register
from ibi.resolver.opening.register import open_register
from ibi.settings import load_settings
from ibi.standard.label import parse
from ibi.storage.machine import MachineClocks
from tests.scenarios.test_two_servers_membership import KEY, log_line
from tests.support.ibi_command import IbiCommand

QUICK = "from ibi.resolver.service import standby; standby.FETCH_EVERY = standby._SOON = 0.2"
"""The register is looked for more often than once a minute."""
LIMIT = 180.0
"""Seconds until something is there that takes a moment: far above what it takes."""
SLACK = 10.0
"""Times what a reader may have to wait on a machine that does nothing else: other tests run beside this one."""


def ask(url: str, path: str, **headers: str) -> tuple[int, str | None, float, bytes]:
    """Status, location, seconds and body."""
    where, began = urlsplit(url), time.monotonic()
    with closing(HTTPConnection(where.hostname or "", where.port, timeout=30)) as connection:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        body = answer.read()
    return answer.status, answer.getheader("location"), time.monotonic() - began, body


def until(is_there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_there():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Member:
    """An Archive with one item of its own."""

    def __init__(self, home: Path, number: int) -> None:
        home.mkdir()
        self.command = IbiCommand(home, first=QUICK)
        self.identity = {"IBI_MINT_HOST": f"arq{number}.urlib.net", "IBI_MINT_IP": f"150.163.34.{100 + number}"}
        (home / "a.txt").write_text(f"item of {number}")
        self.service = self._made("archive", "init")
        self.item = self._made("deposit", "a.txt", "--title", "Item")
        self.server: Popen[str] | None = None
        self.url = ""

    def _made(self, *arguments: str) -> str:
        done = self.command(*arguments, "--json", **self.identity)
        assert done.code == 0, done
        return str(json.loads(done.out)["rep"])

    def start(self, opened: ExitStack, resolver: str, **settings: str) -> None:
        variables = {
            "IBI_RESOLVER": resolver,
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
            **self.identity,
            **settings,
        }
        self.server, self.url = opened.enter_context(self.command.up("--log-level", "info", **variables))
        assert "could not reach" not in log_line(self.server, "included this Archive")

    def end(self) -> None:
        assert self.server is not None
        self.server.kill()
        self.server.wait(30)

    def put_copy(self, of: Member) -> None:
        """Keep a Copy of another's item."""
        with open_store(of.command.data) as there, open_store(self.command.data) as here:
            item = there.find(parse(of.item))
            (file,) = item.files
            with there.content.open(name_of(item), f"doc/{file.path}") as opened:
                content = opened.read(0, file.size)
            change = Change("Ana", "copied", MachineClocks().read().wall)
            here.add(PendingItem(name_of(item), lambda _: copy(item, "arq0"), {file.path: Bytes(content)}, change))

    @property
    def listed(self) -> int:
        """Archives that can be asked, by the register that it keeps."""
        path = self.command.data / "membership" / "register.jws"
        return len(read_register(path.read_text().strip()).refs()) if path.exists() else 0


def application(service: str) -> ArchiveApplication:
    return ArchiveApplication(
        labels=(service,),
        key=KEY,
        admin_mail="ana@example.org",
        networks=("127.0.0.0/8",),
        allow_weak_key=True,
    )


class Federation:
    def __init__(self, home: Path, opened: ExitStack) -> None:
        (home / "resolver").mkdir()
        self.opened = opened
        self.resolver = IbiCommand(home / "resolver")
        self.server, self.url = self.opened.enter_context(self.resolver.up())
        self.members = [Member(home / f"arq{number}", number) for number in range(3)]
        self.home, self.copy, self.third = self.members
        self.copy.put_copy(self.home)
        with open_register(load_settings({"data": str(self.resolver.data)}, {})) as admin:
            for each in self.members:
                admin.register_archive(application(each.service))
        self.home.start(opened, self.url, IBI_ARCHIVE_COPIES_AT=self.copy.service)
        self.copy.start(opened, self.url)
        self.third.start(opened, self.url)

    def end_resolver(self) -> None:
        self.server.kill()
        self.server.wait(30)

    def trace(self) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(ask(self.url, f"/{self.home.item}?ibiurl.trace=json")[3])
        return found


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with ExitStack() as opened:
        yield Federation(tmp_path_factory.mktemp("federation"), opened)


def test_links_go_on_when_the_home_ends_and_when_the_resolver_ends(federation: Federation) -> None:
    """One story, since each process that ends stays away."""
    home, holder, third = federation.members
    assert ask(federation.url, f"/{home.item}")[1] == f"{home.url}/col/{home.item}/doc/a.txt"
    until(lambda: all(each.listed == 4 for each in federation.members))
    while_the_resolver_is_there_links_are_left_to_it(federation)
    home.end()
    links_lead_to_the_copy_within_a_second(federation)
    federation.end_resolver()
    until(lambda: all(notices_that_the_resolver_ended(federation, each) for each in (holder, third)))
    every_link_works_through_every_archive(federation)
    federation.server, federation.url = federation.opened.enter_context(federation.resolver.up())
    until(lambda: ask(federation.url, f"/{third.item}")[0] == 302)
    links_lead_to_the_copy_within_a_second(federation)
    assert holder.url in str(ask(federation.url, f"/{home.item}")[1])


def while_the_resolver_is_there_links_are_left_to_it(federation: Federation) -> None:
    expected = 302, f"{federation.url}/{federation.home.item}"
    # On a machine that is very busy the resolver may seem to be away for a moment.
    until(lambda: ask(federation.third.url, f"/{federation.home.item}")[:2] == expected)


def links_lead_to_the_copy_within_a_second(federation: Federation) -> None:
    expected = f"{federation.copy.url}/col/{federation.home.item}/doc/a.txt"
    took = []
    for _ in range(30):
        status, location, seconds, _ = ask(federation.url, f"/{federation.home.item}", cache_control="no-cache")
        assert (status, location) == (302, expected)
        took.append(seconds)
    assert max(took) < 1 * SLACK, took
    (hop,) = federation.trace()["hops"]
    chosen = next(each for each in hop["archives"] if each["verdict"] == "chosen")
    assert chosen["stands_in"] == "the home is silent, and named it as a holder of Copies"


def notices_that_the_resolver_ended(federation: Federation, through: Member) -> bool:
    """An Archive believes for a quarter of a second that the resolver is there. It answers for its own Copy without
    asking, so the link must be to an item elsewhere."""
    elsewhere = next(each for each in (federation.copy, federation.third) if each is not through)
    return not str(ask(through.url, f"/{elsewhere.item}")[1]).startswith(federation.url)


def ask_alone(federation: Federation, through: Member, path: str) -> tuple[int, str | None, float]:
    """Ask an Archive that stands in for the resolver. An answer that the resolver gave before it ended may be read
    after that, and counts for a quarter of a second."""
    found: list[tuple[int, str | None, float]] = []

    def is_answered_here() -> bool:
        status, location, seconds, _ = ask(through.url, path)
        found.append((status, location, seconds))
        return not str(location).startswith(f"{federation.url}/")

    until(is_answered_here)
    return found[-1]


def every_link_works_through_every_archive(federation: Federation) -> None:
    home, holder, third = federation.members
    files = {
        home.item: f"{holder.url}/col/{home.item}/doc/a.txt",
        holder.item: f"{holder.url}/col/{holder.item}/doc/a.txt",
        third.item: f"{third.url}/col/{third.item}/doc/a.txt",
    }
    for through in (holder, third):
        for item, file in files.items():
            status, location, seconds = ask_alone(federation, through, f"/{item}")
            assert (status, location) == (302, file), (through.url, item)
            assert seconds < 2.5 * SLACK
    # A link inside a document, relative to it, and one to another repository.
    status, location, _, _ = ask(third.url, f"/col/{third.item}/doc/ibi/{holder.item}")
    assert (status, location) == (302, f"{third.url}/ibi/{holder.item}")
    assert ask_alone(federation, third, f"/ibi/{holder.item}")[1] == files[holder.item]
    status, location, _, _ = ask(third.url, f"/col/{holder.item}/doc/a.txt")
    assert (status, location) == (302, f"{third.url}/{holder.item}/a.txt")
    assert ask_alone(federation, third, f"/{holder.item}/a.txt")[1] == files[holder.item]
    status, _, _, body = ask(third.url, "/arq9.urlib.net/x/2020/01.01.01.01")
    assert status in {404, 502}, body
