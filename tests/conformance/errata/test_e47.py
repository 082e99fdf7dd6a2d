"""E47: one odd pair of another platform does not lose an answer; an answer without anything needed is a failure of its
Archive, and never "not found".

The answer is that of R Example 10.1, with one pair spoilt each time, and travels over a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from ibi.resolver.rules.caching import Cache
from ibi.standard.messages import UrlList, parse_url_list
from ibi.standard.pairs import decode_leniently
from ibi.standard.relation import Relation
from tests.conformance.resolution.section_10.test_examples_over_http import ANSWER, LOCATION
from tests.support.loopback_archives import LoopbackArchives, plain, target_of
from tests.support.whole_resolver import WholeResolver, whole_resolver

SERVICE, OTHER_SERVICE = "sid.inpe.br/mtc-m18@80/2008/03.17.15.17", "sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
HOST, OTHER_HOST = "mtc-m16c.sid.inpe.br", "mtc-m16d.sid.inpe.br"
LINK = "/8JMKD3MGP8W/35MMLL8"


class Sayer:
    """An Archive that answers every request with the same type, and those for a URL with the same bytes."""

    def __init__(self) -> None:
        self.body, self.kind = b"", b"text/plain"

    def plain(self, body: bytes) -> bytes:
        return plain(body).replace(b"text/plain", self.kind, 1)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            target = target_of(await reader.readuntil(b"\r\n\r\n"))
            if b"inclusionConfirmationRequest" in target:
                writer.write(self.plain(b"confirmation yes"))
            elif b"servicesubject=acknowledgment" in target:
                writer.write(self.plain(b"notice {acknowledgment received}"))
            else:
                writer.write(self.plain(self.body))


@pytest.fixture(scope="module")
def scene() -> Iterator[tuple[WholeResolver, Sayer]]:
    """Two Archives: one says what a test gives it, the other never has anything. Neither is the home of the label."""
    sayer, empty = Sayer(), Sayer()
    hosts = {HOST: ("127.0.0.3",), OTHER_HOST: ("127.0.0.4",)}
    with LoopbackArchives() as sockets, whole_resolver(hosts, cache=Cache(0, 0)) as resolver:
        for service, host, says, address in (
            (SERVICE, HOST, sayer, "127.0.0.3"),
            (OTHER_SERVICE, OTHER_HOST, empty, "127.0.0.4"),
        ):
            resolver.register(service, "127.0.0.0/8")
            opened = sockets.open(talk=says.talk, host=address)
            resolver.include(service, f"{host}:{opened.port}")
        yield resolver, sayer


def spoilt(name: bytes, pair: bytes) -> bytes:
    """The answer with another pair of that name, or with one more if it has none."""
    return b"\r\n".join([*(line for line in ANSWER.split(b"\r\n") if not line.startswith(name + b" ")), pair])


SPOILT = [
    spoilt(b"timestamp", b"timestamp 2017:05.17.17.45.29"),
    spoilt(b"timestamp", b"timestamp yesterday"),
    spoilt(b"timestamp", b"timestamp {}"),
    spoilt(b"timestamp", b"timestamp 2017:05 17:45"),
    spoilt(b"urlkey", b"urlkey 12345"),
    spoilt(b"urlkey", b"urlkey {1427244889 5349022633744855}"),
    spoilt(b"ibi.platformsoftware", b"ibi.platformsoftware URLibService"),
    spoilt(b"ibi.platformsoftware", b"ibi.platformsoftware {rep dpi.inpe.br/banon}"),
    spoilt(b"ibi.platformsoftware", b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56"),
    spoilt(b"archiveaddress", b"archiveaddress http://mtc-m16c.sid.inpe.br/"),
    spoilt(b"ibi.archiveservice", b"ibi.archiveservice {}"),
    spoilt(b"ibi", b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 83LX3pFwXQZ5Jpy-Bkjzd}"),
    spoilt(b"ibi", b"ibi 8JMKD3MGP8W/35MMLL8"),
    spoilt(b"ibi", b"ibi {repository unknown}"),
    spoilt(b"ibi.nextedition", b"ibi.nextedition {rep none}"),
    spoilt(b"state.metadata", b"state.metadata Lost"),
    spoilt(b"url.metadata", b"url.metadata /relative"),
    spoilt(b"ibi.translation(pt)", b"ibi.translation(pt) {rep sid.inpe.br/mtc-m18/2012/13.32.18.08}"),
    spoilt(b"title", "title {Sensoriamento remoto: introdução}".encode("latin-1")),
    spoilt(b"title", b"title {a {nested {list}} of Tcl}"),
    spoilt(b"comment", b"comment"),
    spoilt(b"comment", b"comment one\r\ncomment two"),
]


@pytest.mark.parametrize("body", SPOILT)
def test_one_odd_pair_leaves_the_item_to_be_found(scene: tuple[WholeResolver, Sayer], body: bytes) -> None:
    resolver, sayer = scene
    sayer.body = body
    assert resolver.location(LINK) == LOCATION
    _, trace = resolver.get(f"{LINK}?ibiurl.trace=json")
    assert trace["outcome"] == "Redirect"


def test_what_was_left_out_is_in_the_trace(scene: tuple[WholeResolver, Sayer]) -> None:
    resolver, sayer = scene
    sayer.body = SPOILT[0]
    _, trace = resolver.get(f"{LINK}?ibiurl.trace=json")
    (told,) = [one["left_out"] for one in trace["hops"][0]["archives"] if one["address"].startswith(HOST)]
    assert [left["name"] for left in told] == ["timestamp"]
    _, page = resolver.get(f"{LINK}?ibiurl.trace=html", Accept="text/html", Accept_Language="en")
    assert b"timestamp was left out: it could not be read" in page


@pytest.mark.parametrize(
    "body",
    [
        b"Internal error",
        b"confirmation yes",
        b"\xff\xfe\x00",
        b"url.metadata http://mtc-m16c.sid.inpe.br/x",
        spoilt(b"url", b"url /relative"),
        spoilt(b"state", b"state Lost"),
        spoilt(b"state", b"state Deleted"),
        spoilt(b"contenttype", b"contenttype Text"),
        spoilt(b"url", b"URL http://mtc-m16c.sid.inpe.br/x"),
        ANSWER.replace(b"\r\n", b" \xa0 "),
    ],
)
def test_an_answer_without_anything_needed_is_a_failure_of_its_archive(
    scene: tuple[WholeResolver, Sayer], body: bytes
) -> None:
    """Although the other Archive says that it has no such item."""
    resolver, sayer = scene
    sayer.body = body
    answer, said = resolver.get(LINK)
    assert (answer.status, said["type"]) == (502, "urn:ibi:problem:no-archive-answered")
    assert HOST in said["detail"]


def test_an_item_without_a_url_is_in_the_archive_that_says_so(scene: tuple[WholeResolver, Sayer]) -> None:
    resolver, sayer = scene
    sayer.body = b"\r\n".join(line for line in ANSWER.split(b"\r\n") if line.startswith((b"archive", b"ibi")))
    answer, said = resolver.get(LINK)
    assert (answer.status, said["type"], said["missing"]) == (404, "urn:ibi:problem:related-item-missing", "address")
    assert f"{HOST}:" in said["detail"]
    assert "says that it has" in said["detail"]
    assert "none of the Archives" not in said["detail"]


def test_an_answer_about_another_item_is_still_not_believed(scene: tuple[WholeResolver, Sayer]) -> None:
    resolver, sayer = scene
    sayer.body = spoilt(b"ibi", b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.44}")
    answer, said = resolver.get(LINK)
    assert answer.status == 502
    assert "cannot be read" not in said["title"]


# --- what Tcl and CGI make of an answer ---


@pytest.fixture
def as_page(scene: tuple[WholeResolver, Sayer]) -> Iterator[tuple[WholeResolver, Sayer]]:
    """The Archive sends everything as `text/html`."""
    scene[1].kind = b"text/html; charset=iso-8859-1"
    yield scene
    scene[1].kind = b"text/plain"


@pytest.mark.parametrize("body", [ANSWER, ANSWER.replace(b"\r\n", b" "), ANSWER.replace(b"\r\n", b"\n") + b"\n"])
def test_an_answer_that_is_sent_as_a_page_is_read(as_page: tuple[WholeResolver, Sayer], body: bytes) -> None:
    resolver, sayer = as_page
    sayer.body = body
    assert resolver.location(LINK) == LOCATION


@pytest.mark.parametrize(
    "page",
    [
        b"<html> <body>",
        b"<html><head><title>Error</title></head><body>Not here</body></html>",
        b"<!DOCTYPE html>\n<p>Here it is</p>\n" + ANSWER,
        ANSWER + b"\r\n<hr>",
        b"<p>Please sign in</p> now",
    ],
)
def test_a_page_is_no_answer(as_page: tuple[WholeResolver, Sayer], page: bytes) -> None:
    resolver, sayer = as_page
    sayer.body = page
    trace = resolver.trace(LINK)
    (told,) = [one for one in trace["hops"][0]["archives"] if one["address"].startswith(HOST)]
    assert trace["url"] is None
    assert told["verdict"] == "failed"


def test_nothing_that_is_sent_as_a_page_is_empty(as_page: tuple[WholeResolver, Sayer]) -> None:
    resolver, sayer = as_page
    sayer.body = b""
    assert resolver.get(LINK)[0].status == 404


def test_what_is_sent_as_another_type_is_not_read(scene: tuple[WholeResolver, Sayer]) -> None:
    resolver, sayer = scene
    sayer.body, sayer.kind = ANSWER, b"application/json"
    try:
        assert resolver.trace(LINK)["url"] is None
    finally:
        sayer.kind = b"text/plain"


REPEATED = [
    ANSWER + b"\r\nstate Original",
    ANSWER + b"\r\n" + ANSWER,
    b"url http://evil.example.org/\r\n" + ANSWER,
    b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.44}\r\nstate Copy\r\n" + ANSWER,
    b"urlkey 12\r\ncontenttype Text\r\n" + ANSWER,
]


@pytest.mark.parametrize("body", REPEATED)
def test_of_a_repeated_name_the_last_value_counts(scene: tuple[WholeResolver, Sayer], body: bytes) -> None:
    """As `array set` of Tcl has it."""
    resolver, sayer = scene
    sayer.body = body
    assert resolver.location(LINK) == LOCATION


def test_of_two_spellings_of_one_relation_the_last_counts() -> None:
    said = b"url.Metadata http://a.example.org/1 url.metadata http://a.example.org/2"
    own = b"ibi {ibip 8JMKD3MGP8W/35MMLL8} contenttype.metadata Metadata state.metadata Original "
    for body, expected in ((own + said, "2"), (own + b" ".join(said.split(b" ")[2:] + said.split(b" ")[:2]), "1")):
        answer = parse_url_list(decode_leniently(body).pairs)
        assert isinstance(answer, UrlList)
        entry = answer.entry(Relation.from_modifier(":"))
        assert entry is not None
        assert (entry.url, answer.left_out) == (f"http://a.example.org/{expected}", ())
