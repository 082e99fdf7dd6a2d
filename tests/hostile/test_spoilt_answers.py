"""Whatever an Archive answers, over a socket and through the whole resolver: a foreseen outcome, in time, no redirect
that breaks a rule of `ibi.resolver.rules.policy`.

The answers are those that the standard prints, spoilt. Whether a redirect was right is judged here, by other means than
the resolver's: it has to stand in an answer of that Archive about the item that it was asked for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.membership.client.archive_connections import Budgets
from ibi.resolver.rules.caching import Cache
from ibi.resolver.rules.policy import Policy
from tests.conformance.resolution.section_8_2.test_examples_over_http import EXAMPLE_6_2
from tests.conformance.resolution.section_10.test_examples_over_http import ANSWER, FIRST_ANSWER, SECOND_ANSWER
from tests.support.loopback_archives import LoopbackArchive, LoopbackArchives, plain, target_of
from tests.support.whole_resolver import WholeResolver, whole_resolver

EXAMPLE_9_2 = (
    Path(__file__).parents[1] / "conformance" / "resolution" / "section_9_2" / "example_9_2.txt"
).read_bytes()
DELETION = (
    b"archiveaddress mtc-m16c.sid.inpe.br\r\n"
    b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}\r\n"
    b"ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}\r\nibi.platformsoftware {}\r\n"
    b"state Deleted\r\ntimestamp 2014-04-04T17:36:01Z"
)
SERVICE, HOST = "sid.inpe.br/mtc-m18@80/2008/03.17.15.17", "mtc-m16c.sid.inpe.br"
# As if one Archive had given them all.
EXAMPLES = (
    EXAMPLE_6_2.replace(b"mtc-m19@80/2009/08.21.17.02", b"mtc-m18@80/2008/03.17.15.17").replace(b"m16d", b"m16c"),
    *(EXAMPLE_9_2, ANSWER, FIRST_ANSWER, SECOND_ANSWER, DELETION),
)
TWO_EDITIONS = "/8JMKD3MGP8W/35MMLL8!:(oai_dc)"
LINKS = (
    *("/8JMKD3MGP7W/3EPGUE5", "/8JMKD3MGP8W/35MME4E", "/8JMKD3MGP8W/35MME4E:", "/8JMKD3MGP8W/35MME4E+"),
    *("/8JMKD3MGP8W/35MME4E+(fr)", "/8JMKD3MGP8W/35MME4E!:(oai_dc)", "/8JMKD3MGP8W/35MMLL8"),
    *(TWO_EDITIONS, "/8JMKD3MGP8W/35MMLL8?ibiurl.requireditemstatus=Original"),
    *("/8JMKD3MGP8W/35MME4E/a.pdf", "/8JMKD3MGP8W/35MME4E?ibiurl.verblist=GetFileList", "/8JMKD3MGP8W/35MME4E!+:+"),
)
URLS = (
    *(b"http://evil.net/", b"http://mtc-m16c.sid.inpe.br@evil.net/", b"http://mtc-m16c.sid.inpe.br.evil.net/", b"//x/"),
    *(
        b"javascript:alert(1)",
        b"http://127.0.0.1/",
        b"http://mtc-m16c.sid.inpe.br:99999/",
        b"ftp://mtc-m16c.sid.inpe.br/",
    ),
    *(
        b"http://mtc-m16c.sid.inpe.br/\xc3\xb3",
        b"HTTP://MTC-M16C.SID.INPE.BR/ok",
        b"http://mtc-m16c.sid.inpe.br./",
        b"",
    ),
    *(
        b"http:\\\\evil.net",
        b"http://mtc-m16c.sid.inpe.br/%0d%0aSet-Cookie:a",
        b"http://mtc-m16c.sid.inpe.br\\@evil.net/",
    ),
    *(b"http://mtc-m16c.sid.inpe.br/" + b"x" * 9000, b"http://[::1]/", b"http://evil.net#@mtc-m16c.sid.inpe.br/"),
)
STATUSES = (b"200 OK",) * 6 + (
    b"201 Created",
    b"204 No Content",
    b"301 Moved",
    b"404 Not Found",
    b"500 Oh",
    b"99 x",
    b"200",
)
HEADERS = (
    *(b"Content-Length: 7", b"Content-Length: -1", b"Content-Length: 99999999999999999999", b"Content-Length: 1, 1"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"Content-Encoding: gzip", b"Connection: close"),
    *(b"Cache-Control: max-age=99999999999999999999", b"Cache-Control: max-age=x, \xff", b"Age: -1", b"Set-Cookie: a"),
    *(b"Location: http://evil.net/", b"no colon", b": x", b"X: " + b"x" * 70_000, b"X\x00: y", b" folded"),
    *(b"Content-Type: text/html", b"Content-Type: text/plain; charset=utf-16", b"Content-Type:"),
)
FORESEEN = {302, 404, 409, 410, 502, 504}
ANSWERS = 15
"""Of one example."""


@dataclass
class Spoiler:
    """Says what it is given, one after the other and then the last again; and hangs up, or does not. Tells what it was
    asked, and what it said then."""

    raws: tuple[bytes, ...] = (b"",)
    hangs_up: bool = True
    said: list[tuple[str, bytes]] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            target = target_of(await reader.readuntil(b"\r\n\r\n")).decode()
            if "inclusionConfirmationRequest" in target:
                writer.write(plain(b"confirmation yes"))
            elif "servicesubject=acknowledgment" in target:
                writer.write(plain(b"notice {acknowledgment received}"))
            else:
                raw = self.raws[min(len(self.said), len(self.raws) - 1)]
                self.said.append((parse_qs(urlsplit(target).query)["parsedibiurl.ibi"][0], raw))
                writer.write(raw)
                if self.hangs_up:
                    await writer.drain()
                    return


@dataclass(frozen=True)
class Scene:
    resolver: WholeResolver
    spoiler: Spoiler
    archive: LoopbackArchive

    def include(self) -> None:
        """Whoever says that it is back is asked again, however often it has failed."""
        said = self.resolver.include(SERVICE, f"{HOST}:{self.archive.port}")
        assert said == b"status.archive included status.confirmation successful"


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    spoiler, policy = Spoiler(), Policy(budget=5.0, patience=0.3, hedge_delay=0.01)
    options = {"policy": policy, "cache": Cache(0, 0), "budgets": Budgets(total=0.5)}
    with LoopbackArchives() as sockets, whole_resolver({HOST: ("127.0.0.3",)}, **options) as resolver:  # type: ignore[arg-type]
        resolver.register(SERVICE, "127.0.0.0/8")
        found = Scene(resolver, spoiler, sockets.open(talk=spoiler.talk, host="127.0.0.3"))
        found.include()
        yield found


def spoilt(random: Random, text: bytes) -> bytes:
    """A body that is wrong in some way, or nearly right."""
    at, other = random.randrange(len(text) + 1), random.choice(EXAMPLES)
    pairs = text.split(b"\r\n")
    match random.randrange(12):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + other[random.randrange(len(other)) :]
        case 2:
            return b"\r\n".join([*pairs, random.choice(pairs)])
        case 3:
            return b"\r\n".join(random.sample(pairs, random.randrange(1, len(pairs) + 1)))
        case 4:
            return text + b"\r\nx " + b"y" * random.choice((100, 70_000, 300_000))
        case 5:
            return text[:at] + random.randbytes(random.randrange(1, 20)) + text[at:]
        case 6:
            return text[:at] + bytes([random.randrange(256)]) + text[at + 1 :]
        case 7:
            return random.randbytes(random.choice((0, 1, 500)))
        case 8:
            return re.sub(rb"http://\S+", lambda _: random.choice(URLS), text, count=random.choice((0, 1)))
        case 9:
            names, values = zip(*(pair.partition(b" ")[::2] for pair in pairs), strict=True)
            return b"\r\n".join(b"%b %b" % pair for pair in zip(names, random.sample(values, len(values)), strict=True))
        case 10:
            return text.replace(b"\r\n", random.choice((b" ", b"\n", b"", b"\r", b"\x00", b"  \t")))
        case _:
            return other + b"\r\n" + text


def raw_answer(random: Random, link: str) -> bytes:
    """A response about what the link asks for, or about something else; its head is spoilt now and then."""
    about = [example for example in EXAMPLES if link[1:20].encode() in example]
    body = random.choice(about if random.random() < 0.8 else EXAMPLES)
    for _ in range(random.choice((0, 1, 1, 1, 2, 4))):
        body = spoilt(random, body) or body
    if random.random() < 0.75:
        return plain(body)
    lines = [b"HTTP/1.1 %b" % random.choice(STATUSES), b"Content-Type: text/plain", b"Content-Length: %d" % len(body)]
    lines += random.choices(HEADERS, k=random.randrange(3))
    whole = b"\r\n".join(lines) + b"\r\n\r\n" + body
    return random.choice(
        (whole, whole, whole[: random.randrange(len(whole))], b"HTTP/1.1 100 Continue\r\n\r\n" + whole)
    )


def suffixes(forms: bytes) -> set[bytes]:
    """The dates of the labels in a value: with them, items are told apart here."""
    return {word.rpartition(b"/")[2] if b"/" in word else word for word in forms.lower().split()} - {b"rep", b"ibip"}


OTHER_FORM = {
    *((b"07.21.14.43", b"35mmll8"), (b"07.21.13.23", b"35mme4e"), (b"09.04.12.27.57", b"3epgue5")),
    *((b"07.12.18.08", b"3c9ep6p"),),
}


def same_items(suffix: bytes) -> set[bytes]:
    return {suffix, *(each for pair in OTHER_FORM if suffix in pair for each in pair)}


def value(body: bytes, name: bytes) -> bytes | None:
    """The last one there is, which counts (E47)."""
    found = re.findall(rb"(?:^|\s)%b (\{[^{}]*\}|\S+)" % re.escape(name), body)
    return found[-1].strip(b"{}") if found else None


KNOWN_ITEMS = {each for pair in OTHER_FORM for each in pair}
SERVICES = re.compile(rb"rep [a-z.]+/[a-z0-9@-]+/[12]\d{3}/(?:0[1-9]|1[0-2])(?:\.(?:0[1-9]|1\d|2[0-3])){2}\.[0-5]\d")


def octets(raw: bytes) -> bytes:
    """The octets of a text, whatever has been percent-encoded and whatever will be (E25, E33)."""
    return unquote_to_bytes(raw)


def is_there(location: str, raw: bytes) -> bool:
    """Whether the URL is one that the answer gives. What Tcl writes with a backslash is not looked into."""
    given = octets(location.encode())
    return b"\\" in raw or re.search(rb"\surl\S*\s+\{?" + re.escape(given), octets(raw)) is not None


def is_of_the_archive(raw: bytes) -> bool:
    """Whether it names no other Archive; what cannot be read names none (E47)."""
    service = value(raw, b"ibi.archiveservice")
    return service is None or b"03.17.15.17" in service or not SERVICES.fullmatch(service)


def is_of_the_item(raw: bytes, asked: str) -> bool:
    """Whether it names no other item; what cannot be read names none (E47)."""
    named = suffixes(value(raw, b"ibi") or b"") & KNOWN_ITEMS
    return not named or not named.isdisjoint(same_items(asked.lower().encode().rpartition(b"/")[2]))


def check_location(location: str, said: list[tuple[str, bytes]]) -> None:
    assert re.fullmatch(r"https?://mtc-m16c\.sid\.inpe\.br(:\d{1,5})?([/?#][!-~]*)?", location, re.IGNORECASE), location
    assert len(location) <= 8192
    for asked, raw in said:
        if is_there(location, raw) and is_of_the_archive(raw) and is_of_the_item(raw, asked):
            return
    raise AssertionError((location, said))


def check(scene: Scene, link: str, *raws: bytes, hangs_up: bool = True) -> int:
    scene.spoiler.raws, scene.spoiler.hangs_up = raws, hangs_up
    scene.spoiler.said.clear()
    answer, body = scene.resolver.get(link, Accept_Language="pt")
    assert answer.status in FORESEEN, (link, raws, answer.status, body)
    if answer.status == 302:
        check_location(str(answer.getheader("location")), scene.spoiler.said)
    if answer.status in {502, 504}:
        scene.include()
    return answer.status


@given(seed=st.integers(0, 1 << 32))
def test_no_answer_breaks_the_resolver_or_a_rule(scene: Scene, seed: int) -> None:
    random = Random(seed)
    for _ in range(ANSWERS):
        link = random.choice(LINKS)
        raws = (raw_answer(random, link), random.choice((plain(SECOND_ANSWER), raw_answer(random, link))))
        check(scene, link, *raws, hangs_up=random.random() < 0.97)


@given(seed=st.integers(0, 1 << 32))
def test_what_is_shown_of_it_breaks_nothing_either(scene: Scene, seed: int) -> None:
    """Traces, records and pages have in them what the Archive said."""
    random = Random(seed)
    link = random.choice(LINKS)
    scene.spoiler.raws, scene.spoiler.hangs_up = (raw_answer(random, link),), True
    link += "&" if "?" in link else "?"
    for shown in ("ibiurl.trace=json", "ibiurl.trace=html", "ibiurl.info=json"):
        answer, body = scene.resolver.get(link + shown, Accept="text/html", Accept_Language="es")
        assert answer.status in {200, *FORESEEN} - {302}, (link, scene.spoiler.raws, body)
        assert b"<script>" not in bytes(body) if isinstance(body, bytes) and shown.endswith("html") else True
        if answer.status in {502, 504}:
            scene.include()


def test_the_answers_as_they_are_printed_are_followed(scene: Scene) -> None:
    """So that the rest is not refused for a reason that has nothing to do with it."""
    found = {link for link in LINKS for body in EXAMPLES if check(scene, link, plain(body)) == 302}
    assert check(scene, TWO_EDITIONS, plain(FIRST_ANSWER), plain(SECOND_ANSWER)) == 302
    assert {*LINKS} - found == {"/8JMKD3MGP8W/35MME4E+(fr)", TWO_EDITIONS}
    links = [LINKS[seed % len(LINKS)] for seed in range(200)]
    statuses = [check(scene, link, raw_answer(Random(seed), link)) for seed, link in enumerate(links)]
    assert {302, 404, 502} <= set(statuses)
    assert statuses.count(302) > 10
