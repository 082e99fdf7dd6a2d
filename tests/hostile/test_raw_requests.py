"""Whatever bytes come in over a socket: a foreseen answer, in time, and no redirect to anywhere but the Archive.

Targets and headers are written as bytes, past any client library: some of them at random, most by the grammar of
persistent URLs, spoilt a little. An Archive behind the resolver says that it has everything.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.resolver.rules.caching import Cache
from ibi.resolver.rules.policy import Policy
from tests.support.loopback_archives import EMPTY, LoopbackArchives, plain, target_of
from tests.support.whole_resolver import WholeResolver, whole_resolver

SERVICE = "lab.br/arq/2008/03.17.15.17"
REQUESTS = 25
"""Of one example by the grammar."""
FORESEEN = {200, 204, 302, 303, 400, 401, 403, 404, 405, 406, 409, 410, 413, 414, 415, 421, 429, 431, 501, 505}
"""No failure of ours, and no silence of an Archive that answers at once."""

LABELS = (
    b"lab.br/arq/2009/07.21.14.43",
    b"LAB.br/arq/2009/07.21.14.43.20.5",
    b"lab.br/arq@80/2009/07.21.14.43",
    b"8JMKD3MGP8W/35MMLL8",
    b"8jmkd3mgp8w/35mmll8",
    b"LK47B6W/362SFKH",
    b"J8LNKB5R7W/3FUQHC5",
    SERVICE.encode(),
    b"empty.br/arq/2009/07.21.14.43",
    b"lab.br/arq/9999/99.99.99.99",
    b"api/labels",
    b"col/lab.br/arq/2009/07.21.14.43/doc/a",
    b"static",
    b"",
)
# The good ones of each first: one prefix, seven labels, nine modifiers, four paths.
PREFIXES = (b"", b"ibi/", b"rep/", b"ibi:", b"IBI/", b"/", b"http://urlib.net/", b"//evil.net/", b"..//")
MODIFIERS = (
    *(b"", b"", b"!", b"+", b"+(pt)", b":", b":(oai_dc)", b"!+:+", b"!+(pt)"),
    *(b"+(pt-BR)", b"+(xx)", b"+()", b":(BibINPE)", b"??", b"!!", b":+:", b"+(", b":(oai_dc)(x)", b"!+!"),
)
PATHS = (
    *(b"", b"", b"/", b"/a.pdf"),
    *(b"/%2e%2e/a", b"/../a", b"/a//b", b"/a%2Fb", b"/%f3", b"/%00", b"/\\x", b"-TDI", b".", b"/" + b"a" * 9000),
)
PAIRS = (
    b"ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)",
    b"ibiurl.verblist=GetFileList",
    b"ibiurl.verblist=%20",
    b"ibiurl.requireditemstatus=Original",
    b"ibiurl.requireditemstatus=Copy",
    b"ibiurl.language=pt",
    b"ibiurl.backgroundlanguage=en",
    b"ibiurl.info=json",
    b"ibiurl.trace=html",
    b"ibiurl.trace=json",
    b"ibiurl.unknown=1",
    b"a=b",
    b"wsdl",
    b"url=http://evil.net/",
    b"x=%0d%0aSet-Cookie:%20a=b",
    b"servicesubject=urlRequest",
    b"servicesubject=inclusionRequest",
    b"servicesubject=",
    b"#",
    b"?",
)
ODD = (
    *(b"%", b"%zz", b"%0d%0a", b"%00", b"\x80", b"\xff", b"\t", b"(", b")"),
    *(b"{}", b"<script>", b"&", b"=", b"#", b"\\", b"@", b":"),
)
METHODS = (b"GET",) * 12 + (b"HEAD", b"OPTIONS", b"POST", b"PUT", b"get", b"TRACE", b"PRI", b"G T")
HEADERS = (
    b"Accept: text/html",
    b"Accept: application/json",
    b"Accept: */*;q=x",
    b"Accept-Language: pt-BR, fr;q=0.8, en;q=0",
    b"Accept-Language: " + b"a" * 3000,
    b"Accept-Language: *, ;;, \xff",
    b"X-Forwarded-For: 1.2.3.4, evil, ::1",
    b"Host: evil.net",
    b"Host: a\x00b",
    b"Cookie: ibi=%00; language=../../x",
    b"Content-Length: 5",
    b"Content-Length: -1",
    b"Transfer-Encoding: chunked",
    b"Expect: 100-continue",
    b"Upgrade: websocket",
    b"Range: bytes=0-0",
    b"If-None-Match: *",
    b": nothing",
    b"no colon",
    b"X-Long: " + b"x" * 70_000,
)


BODY = b"\r\n\r\n0\r\n\r\n"
"""The end of every head, and a body for those that announce one: five bytes, or the last chunk."""


def says(request: bytes) -> bytes:
    """Has every item in every relation, except for a host that has nothing."""
    pairs = parse_qs(urlsplit(target_of(request).decode("latin-1")).query)
    if "inclusionConfirmationRequest" in pairs["servicesubject"]:
        return plain(b"confirmation yes")
    if "acknowledgment" in pairs["servicesubject"]:
        return plain(b"notice {acknowledgment received}")
    ibi = pairs["parsedibiurl.ibi"][0]
    if ibi.startswith("empty"):
        return EMPTY
    form = "rep" if re.search(r"/\d{4}/", ibi) else "ibip"
    lines = [f"archiveaddress 127.0.0.1\r\nibi {{{form} {ibi}}}\r\nibi.archiveservice {{rep {SERVICE}}}"]
    lines.append("ibi.platformsoftware {}\r\nurlkey 1426203276-5985125171467764")
    wanted = "".join(pairs.get("parsedibiurl.verblist", [])).replace("GetFileList", "").replace(" ", "")
    wanted = wanted.replace("GetTranslation", ".translation").replace("GetMetadata", ".metadata")
    for relation in {"", ".translation(pt)", ".translation(en)", wanted.replace("GetLastEdition", ".lastedition")}:
        lines.append(f"contenttype{relation} Data\r\nstate{relation} Original")
        lines.append(f"url{relation} http://127.0.0.1/it{relation}")
    return plain("\r\n".join(lines).encode())


@pytest.fixture(scope="module")
def resolver() -> Iterator[WholeResolver]:
    with LoopbackArchives() as sockets, whole_resolver(cache=Cache(0, 0), policy=Policy(budget=60)) as running:
        running.register(SERVICE, "127.0.0.0/8")
        assert running.include(SERVICE, sockets.open(says).address).endswith(b" successful")
        yield running


def answers_to(resolver: WholeResolver, sent: bytes) -> bytes:
    """All that comes back until the server hangs up, which it is asked to; not waited for longer than a minute."""
    with socket.create_connection(_address(resolver), timeout=60) as connection:
        received = b""
        try:
            connection.sendall(sent)
            if BODY not in sent:  # no end in sight: who hangs up is not waited for
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                received += piece
        except ConnectionError:  # it has hung up on what it did not like
            pass
        return received


def _address(resolver: WholeResolver) -> tuple[str, int]:
    parts = urlsplit(resolver.server.url)
    assert parts.hostname
    assert parts.port
    return parts.hostname, parts.port


HEAD = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n((?:[a-zA-Z0-9-]+: [^\r\n]*\r\n)*)\r\n")
HEADER_NAMES = frozenset(
    b"accept-ranges access-control-allow-headers access-control-allow-methods access-control-allow-origin"
    b" access-control-max-age allow cache-control connection content-language content-length content-security-policy"
    b" content-type cross-origin-opener-policy cross-origin-resource-policy date etag ibi-accepts last-modified link"
    b" location age permissions-policy referrer-policy retry-after transfer-encoding vary www-authenticate"
    b" x-content-type-options x-frame-options x-request-id x-robots-tag".split()
)
"""All that answers of this server have: another one would have been put in by who asks."""
# Where a redirect may lead: what the Archive said, with the reader's own pairs; or a page of this server.
LOCATION = re.compile(rb"(http://127\.0\.0\.1/it[A-Za-z0-9.()_-]*(\?[!-~]*)?|(http://urlib\.net)?/(?![/\\])[!-~]*)")


def check(resolver: WholeResolver, sent: bytes) -> int | None:
    """The status; None if what was sent is no request to which there could be an answer."""
    received = answers_to(resolver, sent)
    if not received:
        return None
    head = HEAD.match(received)
    assert head is not None, (sent, received[:500])
    status = int(head[1])
    assert status in FORESEEN, (sent, received[:500])
    names = {line.partition(b":")[0].lower() for line in head[2].split(b"\r\n") if line}
    assert names <= HEADER_NAMES, (sent, names - HEADER_NAMES)
    location = re.search(rb"^location: ([^\r\n]*)\r\n", head[2], re.IGNORECASE | re.MULTILINE)
    assert (location is not None) == (status in {302, 303}), (sent, received[:500])
    assert location is None or LOCATION.fullmatch(location[1]), (sent, location)
    return status


def spoilt(random: Random, text: bytes) -> bytes:
    """With something put in, taken out, doubled or turned."""
    at = random.randrange(len(text) + 1)
    match random.randrange(5):
        case 0:
            return text[:at] + random.choice(ODD) + text[at:]
        case 1:
            return text[:at] + text[at + random.randrange(1, 9) :]
        case 2:
            return text[:at] + text[max(0, at - 9) : at] * random.randrange(1, 40) + text[at:]
        case 3:
            return text[:at] + bytes([random.randrange(256)]) + text[at + 1 :]
        case _:
            return text.swapcase()


def by_grammar(random: Random) -> bytes:
    """A request for a persistent URL (R Table 8.1), or for what nearly is one."""
    # Some are as odd as can be; most are odd in one place only, so that they get further.
    oddities = random.choice((0, 0, 1, 1, 1, 2, 9))
    odd = [random.random() < oddities / 7 for _ in range(7)]
    parts = zip((PREFIXES, LABELS, MODIFIERS, PATHS), (1, 7, 9, 4), odd, strict=False)
    target = b"/" + b"".join(random.choice(all_ if is_odd else all_[:good]) for all_, good, is_odd in parts)
    pairs = b"&".join(random.choices(PAIRS, k=random.choice((1, 1, 2, 5))) if odd[4] else [])
    target += b"?" + pairs if pairs else b""
    for _ in range(random.randrange(1, 4) if odd[5] else 0):
        target = spoilt(random, target)
    headers = random.choices(HEADERS, k=random.randrange(1, 4)) if odd[6] else []
    method = random.choice(METHODS if oddities else METHODS[:1])
    lines = [b"%b %b HTTP/1.1" % (method, target), b"Host: urlib.net", *headers, b"Connection: close"]
    return b"\r\n".join(lines) + BODY


@given(seed=st.integers(0, 1 << 32))
def test_persistent_urls_as_they_should_not_be_written(resolver: WholeResolver, seed: int) -> None:
    random = Random(seed)
    for _ in range(REQUESTS):
        check(resolver, by_grammar(random))


TARGETS = st.binary(max_size=60).map(lambda text: re.sub(rb"[\r\n]", b"", text))


@given(target=TARGETS, name=st.binary(max_size=20), value=st.binary(max_size=60))
def test_any_bytes_at_all(resolver: WholeResolver, target: bytes, name: bytes, value: bytes) -> None:
    check(resolver, b"GET /%b HTTP/1.1\r\nHost: x\r\n%b: %b\r\nConnection: close%b" % (target, name, value, BODY))
    check(resolver, b"GET /8JMKD3MGP8W/35MMLL8%b HTTP/1.1\r\nHost: x\r\nConnection: close%b" % (target, BODY))
    check(resolver, target + name + value)


def test_the_links_among_them_are_followed(resolver: WholeResolver) -> None:
    """So that the rest is not refused for a reason that has nothing to do with it."""
    statuses = [check(resolver, by_grammar(Random(seed))) for seed in range(300)]
    assert {200, 302, 400, 404, 405} <= set(statuses)
    assert statuses.count(302) > 30
