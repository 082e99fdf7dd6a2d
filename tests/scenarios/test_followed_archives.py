"""A resolver in a process of its own follows the feeds of its Archives: a change there is what the next reader gets.

Links are asked for again and again until the change is seen, within a limit that is far above what it takes; kept
answers without a feed would be given for ten seconds. How soon it is seen is measured by `make bench`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.scenarios.test_two_servers_membership import KEY, log_line
from tests.support.ibi_command import IbiCommand

LIMIT = 8.0
"""Seconds: less than an answer lives that is not followed."""


class Network:
    """A resolver and an Archive that it follows, each in a process of its own."""

    def __init__(self, archive: IbiCommand, resolver: str) -> None:
        self.archive, self._resolver = archive, urlsplit(resolver)

    def deposit(self, title: str, *more: str) -> str:
        done = self.archive("deposit", "--url", f"http://127.0.0.1:9/{title}", "--title", title, *more, "--json")
        assert done.code == 0, done
        return str(json.loads(done.out)["rep"])

    def run(self, *arguments: str) -> None:
        done = self.archive(*arguments)
        assert done.code == 0, done

    def get(self, link: str) -> tuple[int, str | None]:
        return self._ask(link, {})[:2]

    def _ask(self, link: str, headers: dict[str, str]) -> tuple[int, str | None, bytes]:
        """Status, location, and body."""
        with closing(HTTPConnection(self._resolver.hostname or "", self._resolver.port, timeout=30)) as connection:
            connection.request("GET", f"/{link}", headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("location"), answer.read()

    def keep(self, link: str) -> tuple[int, str | None]:
        """Ask anew until the Archive is followed, so that the answer is kept for longer than seconds."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            status, location, _ = self._ask(link, {"cache-control": "no-cache"})
            _, _, told = self._ask(f"{link}?ibiurl.info=json", {})
            if json.loads(told)["max_age"] > 10:
                return status, location
        raise AssertionError("the feed is not followed")

    def until(self, link: str, expected: tuple[int, str | None]) -> None:
        deadline = time.monotonic() + LIMIT
        while (found := self.get(link)) != expected:
            assert time.monotonic() < deadline, (found, expected)


@contextmanager
def network(home: Path) -> Iterator[Network]:
    for name in ("resolver", "archive"):
        (home / name).mkdir()
    resolver, archive = IbiCommand(home / "resolver"), IbiCommand(home / "archive")
    with archive.up():
        pass
    service = str(json.loads(archive("archive", "status", "--json").out)["rep"])
    with ExitStack() as opened:
        _, url = opened.enter_context(resolver.up("--port", "0"))
        network = ("--allow-network", "127.0.0.0/8", "--admin-mail", "ana@example.org", "--host", "127.0.0.1:9")
        done = resolver("resolver", "register", service, *network, IBI_REGISTRATION_KEY=KEY)
        assert done.code == 0, done
        variables = {
            "IBI_RESOLVER": url,
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
        }
        server, _ = opened.enter_context(archive.up("--port", "0", "--log-level", "info", **variables))
        log_line(server, "included this Archive")
        yield Network(archive, url)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with network(tmp_path_factory.mktemp("followed")) as made:
        yield made


def test_another_address_of_an_item_is_what_the_next_reader_gets(followed: Network) -> None:
    item = followed.deposit("first")
    assert followed.keep(item) == (302, "http://127.0.0.1:9/first")
    followed.run("update", item, "--url", "http://127.0.0.1:9/moved")
    followed.until(item, (302, "http://127.0.0.1:9/moved"))


def test_a_new_edition_is_where_a_link_to_the_last_one_leads(followed: Network) -> None:
    item = followed.deposit("old")
    assert followed.keep(f"{item}!") == (302, "http://127.0.0.1:9/old")
    followed.deposit("new", "--edition-of", item)
    followed.until(f"{item}!", (302, "http://127.0.0.1:9/new"))


def test_a_deleted_item_is_gone(followed: Network) -> None:
    item = followed.deposit("doomed")
    assert followed.keep(item) == (302, "http://127.0.0.1:9/doomed")
    followed.run("delete", item, "--reason", "withdrawn")
    followed.until(item, (410, None))
