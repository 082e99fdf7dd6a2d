"""What a follower believes of the Archive that it follows: nothing that is not plainly so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibi.following.client import feed_client
from ibi.following.client.feed_client import SourceClient
from ibi.following.model.subscription import FeedEntry, SourceAddress, SourcePage
from ibi.following.ports.subscriptions import FeedBegunAgain, SourceAway, SourceRecord, SourceUnusable
from ibi.items.model.change import ChangeKind
from ibi.net.address_guard import AddressGuard
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.vocabulary import State
from tests.support.raw_archive import RawArchive, http, never, raw_archive

NAME = RepositoryName.parse("lab.br/arq/2009/07.21.14.43")
OTHER = "lab.br/arq/2010/10.10.10.10"
AT = "2026-01-01T00:00:00Z"


def entry(at: int, **members: Any) -> dict[str, Any]:
    return {"number": at, "label": str(NAME), "kind": "put", "at": AT, "version": 1, **members}


def page(*entries: dict[str, Any], after: int, end: int, epoch: str = "e") -> bytes:
    return json_answer({"epoch": epoch, "changes": list(entries), "after": after, "end": end})


def json_answer(document: object, status: str = "200 OK") -> bytes:
    return http(json.dumps(document).encode(), status=status, kind="application/json")


Ask = Callable[[SourceClient, SourceAddress], Awaitable[Any]]


def asked(says: Any, ask: Ask, *, by_operator: bool = True) -> tuple[Any, RawArchive]:
    """What comes of asking an Archive that says this: an answer, or the error."""

    async def run() -> tuple[Any, RawArchive]:
        async with raw_archive(says) as archive:
            source = SourceAddress(f"http://127.0.0.1:{archive.port}", by_operator)
            try:
                return await ask(SourceClient(AddressGuard()), source), archive
            except IbiError as error:
                return error, archive

    return asyncio.run(run())


def read_page(says: Any, after: int | None = 4, **options: Any) -> Any:
    return asked(says, lambda client, source: client.page(source, after, "e", 0), **options)[0]


def test_a_page_has_the_entries_after_a_number() -> None:
    found, archive = asked(
        page(entry(5), entry(6, kind="deleted", version=2), after=6, end=9),
        lambda client, source: client.page(source, 4, "e", 7),
    )
    one = FeedEntry(5, str(NAME), ChangeKind.PUT, AT, 1)
    assert found == SourcePage("e", 6, 9, (one, FeedEntry(6, str(NAME), ChangeKind.DELETED, AT, 2)), "")
    assert archive.requests[0].startswith(b"GET /api/changes?after=4&epoch=e&wait=7 HTTP/1.1\r\n")


def test_a_follower_says_who_it_is_to_the_feed_alone() -> None:
    introduced: list[str] = []

    async def run() -> list[bytes]:
        heads: list[bytes] = []

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append((await reader.readuntil(b"\r\n\r\n")).lower())
            writer.write(page(after=4, end=4) if b"/api/changes" in heads[-1] else json_answer(listing()))

        def introduce(url: str) -> str:
            introduced.append(url)
            return "a.b.c"

        async with raw_archive(talk) as archive:
            source = SourceAddress(f"http://127.0.0.1:{archive.port}")
            client = SourceClient(AddressGuard(), introduce=introduce)
            await client.page(source, 4, "e", 0)
            await client.page(source, 4, "e", 0)
            await client.find_among(source, "x", [NAME], None)
        return heads

    heads = asyncio.run(run())
    assert [b"ibi-follower: a.b.c\r\n" in each for each in heads] == [True, True, False]
    assert len(introduced) == 1


def test_without_a_number_the_end_of_the_feed_is_asked_for() -> None:
    assert read_page(page(entry(1), after=1, end=9), None) == SourcePage("e", 9, 9, ())


@pytest.mark.parametrize("says", [json_answer({}, "410 Gone"), page(after=0, end=0, epoch="other")])
def test_a_feed_that_was_begun_again_is_told_apart(says: bytes) -> None:
    assert isinstance(read_page(says), FeedBegunAgain)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (page(entry(4), after=4, end=9), "do not go on"),
        (page(entry(6), after=6, end=9), "do not go on"),
        (page(entry(5), entry(5), after=5, end=9), "do not go on"),
        (page(entry(6), entry(5), after=6, end=9), "do not go on"),
        (page(entry(5), after=7, end=9), "goes on after 7 of 9"),
        (page(entry(5), after=5, end=4), "goes on after 5 of 4"),
        (page(after=4, end=3), "goes on after 4 of 3"),
        (page(after=4, end=9), "tells nothing after 4"),
        (page(entry(5, label="../../etc"), after=5, end=9), "entry 5"),
        (page(entry(5, kind="exploded"), after=5, end=9), "entry 5"),
        (page(entry(5, label="x" * 600), after=5, end=9), "cannot be read"),
        (page(entry(5, version=-1), after=5, end=9), "cannot be read"),
        (page(entry(5, number=1 << 63), after=5, end=9), "cannot be read"),
        (page(*(entry(number) for number in range(5, 1_006)), after=1_005, end=9_999), "cannot be read"),
        (http(b"[" * 100_000, kind="application/json"), "cannot be read"),
        (http(b"<html>"), "cannot be read"),
        (http(b"", "Location: http://127.0.0.1/", status="302 Found"), "sends elsewhere"),
        (http(b"", status="404 Not Found"), "HTTP status 404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n", "too large"),
        (b"SSH-2.0-x\r\n", "could not be read"),
    ],
)
def test_what_is_no_feed_is_refused_with_the_reason(says: bytes, reason: str) -> None:
    refused = read_page(says)
    assert isinstance(refused, SourceUnusable)
    assert reason in str(refused)


def test_an_endless_answer_is_broken_off() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            await writer.drain()

    assert "too large" in str(read_page(endless))


def test_a_source_that_is_silent_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_client, "_PATIENCE", 0.05)
    assert isinstance(read_page(never), SourceAway)


@pytest.mark.parametrize("status", ["500 Oops", "503 Busy", "429 Too Many"])
def test_a_source_that_is_overloaded_is_away(status: str) -> None:
    assert isinstance(read_page(http(b"", status=status)), SourceAway)


def test_a_private_address_is_dialled_only_if_the_operator_named_it() -> None:
    refused, archive = asked(
        page(after=4, end=4), lambda client, source: client.page(source, 4, "e", 0), by_operator=False
    )
    assert isinstance(refused, SourceAway)
    assert "not dialled" in str(refused)
    assert archive.connections == 0


def test_a_token_is_sent_for_records_and_not_for_the_feed() -> None:
    record = {"labels": {"rep": str(NAME)}, "state": "Original"}
    found, archive = asked(json_answer(record), lambda client, source: client.record(source, NAME, "t0ken"))
    assert found == SourceRecord(NAME, State.ORIGINAL)
    assert b"Authorization: Bearer t0ken\r\n" in archive.requests[0]
    assert b"Authorization" not in asked(page(after=4, end=4), lambda c, s: c.page(s, 4, "e", 0))[1].requests[0]


def test_what_a_source_does_not_have_has_no_record() -> None:
    def ask(client: SourceClient, source: SourceAddress) -> Awaitable[Any]:
        return client.record(source, NAME, None)

    assert asked(http(b"", status="404 Not Found"), ask)[0] is None
    gone = json_answer({"labels": {"rep": str(NAME)}, "state": "Deleted"}, "410 Gone")
    assert asked(gone, ask)[0] == SourceRecord(NAME, State.DELETED)
    assert isinstance(asked(json_answer({"labels": {}, "state": "Original"}), ask)[0], SourceUnusable)
    assert isinstance(asked(http(b"", status="403 Forbidden"), ask)[0], SourceUnusable)


def listing(*names: str, following: str | None = None) -> dict[str, Any]:
    links = {"self": "/"} if following is None else {"self": "/", "next": following}
    return {"items": [{"labels": {"rep": name}} for name in names], "links": links}


def searched(*pages: dict[str, Any]) -> tuple[Any, RawArchive]:
    said = iter(pages)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        archive_requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(json_answer(next(said)))

    async def names(client: SourceClient, source: SourceAddress) -> list[RepositoryName]:
        return [name async for name in client.search(source, "rain forest", None)]

    archive_requests: list[bytes] = []
    found, archive = asked(talk, names)
    archive.requests = archive_requests
    return found, archive


def test_a_search_is_read_to_its_end_at_the_source_alone() -> None:
    found, archive = searched(listing(str(NAME), following="http://evil.example/x?q=2"), listing(OTHER))
    assert found == [NAME, RepositoryName.parse(OTHER)]
    assert b"GET /api/items?q=rain+forest&sort=oldest&size=100 HTTP/1.1" in archive.requests[0]
    assert archive.requests[1].startswith(b"GET /api/items?q=2 HTTP/1.1")


def test_a_search_whose_pages_do_not_end_is_refused() -> None:
    same = listing(str(NAME), following="/?q=2")
    assert isinstance(searched(same, same, same)[0], SourceUnusable)


class SearchServer:
    """Lists what a search finds from a date on, a hundred a page, as an Archive does."""

    def __init__(self, *found: RepositoryName) -> None:
        self.found = sorted(found, key=lambda name: name.instant)
        self.requests: list[dict[str, str]] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        query = dict(parse_qsl(urlsplit(target).query))
        self.requests.append(query)
        first = int(query.get("place", "0"))
        if "after" in query:
            after = RepositoryName.parse(query["after"]).instant
            first = next((at for at, name in enumerate(self.found) if name.instant >= after), len(self.found))
        shown = self.found[first : first + 100]
        following = f"/?place={first + 100}" if first + 100 < len(self.found) else None
        writer.write(json_answer(listing(*map(str, shown), following=following)))

    def among(self, names: list[RepositoryName]) -> Any:
        return asked(self, lambda client, source: client.find_among(source, "x", names, None))[0]


class UnorderedServer(SearchServer):
    """Lists what a search finds as it likes, whatever order and date are asked for."""

    def __init__(self, size: int, *found: RepositoryName) -> None:
        super().__init__()
        self.found, self.size = list(found), size

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        query = dict(parse_qsl(urlsplit(target).query))
        self.requests.append(query)
        first = int(query.get("place", "0"))
        last = first + self.size
        following = f"/?place={last}" if last < len(self.found) else None
        writer.write(json_answer(listing(*map(str, self.found[first:last]), following=following)))


def names_from(second: int, number: int, step: int = 1, service: str = "arq") -> list[RepositoryName]:
    start = Instant.parse("2015-01-01T00:00:00Z").seconds + second
    host = RepositoryName.parse(f"lab.br/{service}/2009/07.21.14.43").host
    return [RepositoryName.from_parts(host, 80, Instant(start + step * each)) for each in range(number)]


@pytest.mark.parametrize(("found", "is_found"), [([NAME], True), ([RepositoryName.parse(OTHER)], False), ([], False)])
def test_whether_a_search_finds_an_item_is_one_question(found: list[RepositoryName], is_found: bool) -> None:
    server = SearchServer(*found)
    assert server.among([NAME]) == ({NAME} if is_found else frozenset())
    assert [each["after"] for each in server.requests] == ["invalid/nowhere/2009/07.21.14.43"]


def test_a_thousand_items_deposited_one_after_the_other_are_eleven_questions() -> None:
    names = names_from(0, 1_000)
    server = SearchServer(*names_from(-5_000, 1_000), *names[::2], *names_from(0, 500, 2, "other"))
    assert server.among(names) == set(names[::2])
    assert len(server.requests) <= 11


def test_items_of_which_a_search_finds_none_are_one_question() -> None:
    server = SearchServer(*names_from(-5_000, 1_000))
    assert server.among(names_from(0, 1_000)) == frozenset()
    assert len(server.requests) == 1


def test_items_of_one_second_are_all_asked_for() -> None:
    names = [
        RepositoryName.from_parts(each.host, 80, Instant(each.instant.seconds, f"{number:03}1"))
        for number, each in enumerate(names_from(0, 450, 0))
    ]
    server = SearchServer(*names)
    assert server.among(names[300:]) == set(names[300:])


@given(st.sets(st.integers(0, 2_000)), st.sets(st.integers(0, 2_000), max_size=60))
@settings(max_examples=15)
def test_what_a_search_finds_among_items_is_what_each_one_is_told(found: set[int], wanted: set[int]) -> None:
    every = names_from(0, 2_001)
    server = SearchServer(*(every[each] for each in found))
    assert server.among([every[each] for each in wanted]) == {every[each] for each in found & wanted}
    assert len(server.requests) <= max(1, len(wanted))


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("order", ["newest first", "oldest first", "shuffled"])
def test_a_source_that_sorts_and_cuts_as_it_likes_is_read_to_its_end(size: int, order: str) -> None:
    names = names_from(0, 250 if size == 100 else 40)
    listed = {"newest first": names[::-1], "oldest first": names}.get(order) or Random(size).sample(names, len(names))
    assert UnorderedServer(size, *listed).among(names[3:]) == set(names[3:])
    assert UnorderedServer(size, *listed).among([names[3]]) == {names[3]}
    assert UnorderedServer(size, *listed).among([names[3], names[-2]]) == {names[3], names[-2]}


def test_a_search_that_goes_round_in_circles_is_refused() -> None:
    page = json_answer(listing(OTHER, following="/?q=2"))
    found, archive = asked(page, lambda client, source: client.find_among(source, "x", names_from(0, 3), None))
    assert isinstance(found, SourceUnusable)
    assert len(archive.requests) <= 104
