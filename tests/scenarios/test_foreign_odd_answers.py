"""Odd answers of an Archive of another make: no reader is sent to a wrong URL, and none is told untruly that an item
does not exist.

Each answer is given about an item of the Archive's own prefix, of which it decides, and about one of a prefix that is
nobody's; beside it stands an Archive that has neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.foreign.archive import ibip_of
from tests.foreign.processes import ForeignProcess
from tests.support.foreign_world import BROWSER, ForeignWorld, foreign_world

HOME = "sid.inpe.br/mtc-m18@80"
NOBODY = "elsewhere.gov/arq"
SERVICE = f"{HOME}/2008/03.17.15.17"
NEIGHBOUR = "dpi.inpe.br/banon/1999/01.09.22.14"

RIGHT = frozenset({"right"})
UNREADABLE = frozenset({"unreadable"})
FAILED = frozenset({"unreadable", "failed"})
REFUSED = frozenset({"unreadable", "failed", "refused"})
EMPTY = frozenset({"not found"})
NO_ADDRESS = frozenset({"no address"})
DELETED = frozenset({"deleted"})
LOOP = frozenset({"loop", "failed", "unreadable", "right"})


@dataclass
class Good:
    """The answer of R Example 6.2 about an item, to be spoiled."""

    address: str
    rep: str
    pairs: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.pairs = {
            "archiveaddress": self.address,
            "contenttype": "Data",
            "ibi": f"{{rep {self.rep} ibip {ibip_of(self.rep)}}}",
            "ibi.archiveservice": f"{{rep {SERVICE}}}",
            "ibi.platformsoftware": "{rep dpi.inpe.br/banon/1998/08.02.08.56}",
            "state": "Original",
            "timestamp": "2013-10-04T14:32:14Z",
            "url": self.url,
            "urlkey": "1426203276-5985125171467764",
        }

    @property
    def url(self) -> str:
        return f"http://{self.address}/col/{self.rep}/doc/a.pdf"

    def text(self, drop: str = "", **changes: str) -> str:
        named = {name.replace("_", "."): value for name, value in changes.items()}
        pairs = {name: value for name, value in {**self.pairs, **named}.items() if name != drop}
        return "\r\n".join(f"{name} {value}" for name, value in pairs.items())


def http(body: str, *more: str, status: str = "200 OK", length: int | None = None, kind: str = "text/plain") -> str:
    size = len(body) if length is None else length
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {size}", *more]
    return "\r\n".join(head) + "\r\n\r\n" + body


def headed(*head: str, body: str = "") -> str:
    return "\r\n".join(head) + "\r\n\r\n" + body


@dataclass(frozen=True)
class Odd:
    send: Callable[[Good], str]
    allowed: frozenset[str]
    more: dict[str, Any] = field(default_factory=dict)
    link: str = ""


def with_url(url: str, allowed: frozenset[str] = REFUSED) -> Odd:
    return Odd(lambda good: http(good.text(url=url.format(url=good.url, address=good.address, rep=good.rep))), allowed)


ODD: dict[str, Odd] = {
    # --- HTTP ---
    "body cut short": Odd(lambda good: http(good.text(), length=5_000), FAILED),
    "body cut in a pair": Odd(lambda good: http(good.text()[:140], length=5_000), FAILED),
    "chunk cut short": Odd(
        lambda good: headed("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=f"fff\r\n{good.text()}"), FAILED
    ),
    "chunk without a size": Odd(
        lambda good: headed("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=f"x\r\n{good.text()}"), FAILED
    ),
    "head cut short": Odd(lambda good: "HTTP/1.1 200 OK\r\nContent-Type: te", FAILED),
    "nothing": Odd(lambda good: "", FAILED),
    "no HTTP": Odd(lambda good: f"{good.text()}\r\n\r\n", FAILED),
    "another protocol": Odd(lambda good: "SSH-2.0-OpenSSH_9.6\r\n", FAILED),
    "status 500": Odd(lambda good: http(good.text(), status="500 Internal Server Error"), FAILED),
    "status 503": Odd(lambda good: http("", status="503 Service Unavailable"), FAILED),
    "status 404": Odd(lambda good: http("<h1>404</h1>", status="404 Not Found", kind="text/html"), FAILED),
    "status 403": Odd(lambda good: http("", status="403 Forbidden"), FAILED),
    "status 301": Odd(lambda good: http("", "Location: http://evil.org/", status="301 Moved Permanently"), FAILED),
    "status 302 to the item": Odd(lambda good: http("", f"Location: {good.url}", status="302 Found"), FAILED),
    "status 206": Odd(lambda good: http(good.text(), status="206 Partial Content"), FAILED | RIGHT),
    "a negative length": Odd(lambda good: http(good.text(), length=-1), FAILED),
    "two lengths": Odd(lambda good: http(good.text(), "Content-Length: 7"), FAILED),
    "length and chunks": Odd(lambda good: http(good.text(), "Transfer-Encoding: chunked"), FAILED),
    "an endless head": Odd(lambda good: "HTTP/1.1 200 OK\r\n" + "X-Field: y\r\n" * 5_000, FAILED),
    "a huge field": Odd(lambda good: http(good.text(), f"X-Field: {'y' * 300_000}"), FAILED),
    "a gigantic body": Odd(lambda good: http("x" * 1_000, length=400_000_000), FAILED, {"times": 1}),
    "a gigantic list of pairs": Odd(lambda good: http(good.text() + "\r\nx y" * 400_000), FAILED | RIGHT),
    "compressed though nobody asked": Odd(
        lambda good: http("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "Content-Encoding: gzip"), FAILED
    ),
    "a body without a type": Odd(
        lambda good: headed("HTTP/1.1 200 OK", f"Content-Length: {len(good.text())}", body=good.text()), FAILED | RIGHT
    ),
    # --- what is no list of pairs ---
    # E24, E47: a server that shows a page for every address is no Archive; where nobody decides, it counts as silent.
    "a page": Odd(lambda good: http("<html><body><h1>It works!</h1></body></html>", kind="text/html"), FAILED),
    "a page as text": Odd(lambda good: http("<html><body><p>Login</p></body></html>"), UNREADABLE),
    "JSON": Odd(lambda good: http(json.dumps({"url": good.url}), kind="application/json"), FAILED),
    "binary": Odd(lambda good: http("".join(map(chr, range(256)))), UNREADABLE),
    "UTF-16": Odd(lambda good: http(good.text().encode("utf-16").decode("latin-1")), UNREADABLE),
    "a byte order mark": Odd(lambda good: http("\xef\xbb\xbf" + good.text()), UNREADABLE | RIGHT),
    "NUL bytes": Odd(lambda good: http(good.text().replace(" ", "\0")), UNREADABLE),
    "an error": Odd(lambda good: http("error {no such item here}"), FAILED),
    "an error beside the ibi": Odd(lambda good: http(f"ibi {good.pairs['ibi']}\r\nerror {{out of order}}"), FAILED),
    "a confirmation": Odd(lambda good: http("confirmation yes"), UNREADABLE),
    "a notice": Odd(lambda good: http("notice {acknowledgment received}"), UNREADABLE),
    "a brace that stays open": Odd(lambda good: http(good.text(ibi=f"{{rep {good.rep}")), UNREADABLE),
    "a brace too many": Odd(lambda good: http(good.text(ibi=f"{{rep {good.rep}}}}}")), UNREADABLE | RIGHT),
    "nested lists": Odd(lambda good: http(good.text(ibi=f"{{{{rep {good.rep}}} {{ibip X}}}}")), UNREADABLE | RIGHT),
    "a name without a value": Odd(
        lambda good: http(good.text().replace("contenttype Data", "contenttype")), UNREADABLE
    ),
    "names in upper case": Odd(lambda good: http(good.text().upper()), UNREADABLE),
    "only blanks": Odd(lambda good: http("  \r\n \r\n"), EMPTY | UNREADABLE),
    # --- pairs ---
    "another item": Odd(
        lambda good: http(good.text(ibi=f"{{rep {HOME}/2001/01.01.01.01}}", url=f"{good.url}.other")), FAILED
    ),
    "another item in the last of two pairs": Odd(
        lambda good: http(good.text() + f"\r\nibi {{rep {HOME}/2001/01.01.01.01}}"), FAILED
    ),
    "another service": Odd(lambda good: http(good.text(ibi_archiveservice=f"{{rep {NEIGHBOUR}}}")), REFUSED),
    "no ibi": Odd(lambda good: http(good.text(drop="ibi")), FAILED | RIGHT),
    "an ibi that is no label": Odd(lambda good: http(good.text(ibi="{rep no/label}")), FAILED | RIGHT),
    "no service": Odd(lambda good: http(good.text(drop="ibi.archiveservice")), FAILED | RIGHT),
    "no state": Odd(lambda good: http(good.text(drop="state")), UNREADABLE | RIGHT),
    "a state that there is not": Odd(lambda good: http(good.text(state="Purged")), UNREADABLE),
    "a state in lower case": Odd(lambda good: http(good.text(state="original")), UNREADABLE | RIGHT),
    "a content type that there is not": Odd(lambda good: http(good.text(contenttype="Text")), UNREADABLE | RIGHT),
    "no key": Odd(lambda good: http(good.text(drop="urlkey")), RIGHT),
    "a key of words": Odd(lambda good: http(good.text(urlkey="abc")), RIGHT),
    "a time that there is not": Odd(lambda good: http(good.text(timestamp="2013:10.04.14.32.14")), RIGHT),
    "two states": Odd(lambda good: http("state Copy\r\n" + good.text()), RIGHT | UNREADABLE),
    "deleted with a URL": Odd(lambda good: http(good.text(state="Deleted")), UNREADABLE | DELETED | FAILED),
    "an item without a URL": Odd(lambda good: http(good.text(drop="url")), UNREADABLE),
    "a URL under another name": Odd(lambda good: http(good.text(drop="url", URL=good.url)), UNREADABLE),
    "pairs apart by a hard blank": Odd(lambda good: http(good.text().replace("\r\n", " \xa0 ")), UNREADABLE),
    "an item alone": Odd(lambda good: http(f"ibi {good.pairs['ibi']}"), NO_ADDRESS),
    "an item and its service": Odd(
        lambda good: http("\r\n".join(f"{name} {good.pairs[name]}" for name in ("ibi", "ibi.archiveservice"))),
        NO_ADDRESS,
    ),
    # --- URLs ---
    "a URL of JavaScript": with_url("javascript:alert(1)"),
    "a URL of data": with_url("data:text/html,<script>alert(1)</script>"),
    "a URL of a file": with_url("file:///etc/passwd"),
    "a URL of FTP": with_url("ftp://{address}/a.pdf"),
    "a URL without a host": with_url("http:///col/a.pdf"),
    "a relative URL": with_url("/col/{rep}/doc/a.pdf"),
    "a URL without a scheme": with_url("//evil.org/a.pdf"),
    "a URL with a password": with_url("http://user:secret@{address}/col/{rep}/doc/a.pdf"),
    "a URL with a host that there is not": with_url("http://a b/col"),
    "a URL with a port that there is not": with_url("http://127.0.0.1:99999/a.pdf"),
    "a URL with a tab": with_url("http://{address}/col/{rep}/doc/a\t.pdf"),
    "a URL with a control character": with_url("{url}\x01", REFUSED | {"encoded"}),
    "a URL with blanks": with_url("{{{url} b c}}", REFUSED | {"encoded"}),
    "a URL with a line after it": with_url("{url}\r\nSet-Cookie: a=b", REFUSED | RIGHT),
    "a URL with a line in braces": with_url("{{{url} \r\nX-Evil: yes}}", REFUSED | {"encoded"}),
    "a URL with a backslash": with_url("http:\\\\{address}\\a.pdf"),
    "a URL of 100,000 characters": with_url("{url}?" + "x" * 100_000, REFUSED),
    "a URL with nothing": with_url("{{}}"),
    "a URL of two": with_url("{{{url} http://evil.org/}}"),
    "a URL that is this link": with_url("http://{{resolver}}/{rep}", REFUSED | LOOP),
    # --- loops ---
    "its own next edition": Odd(
        lambda good: http(good.text(drop="url", ibi_nextedition=good.pairs["ibi"])), LOOP, link="!"
    ),
    "its own last edition without a URL": Odd(
        lambda good: http(good.text(drop="url", ibi_lastedition=good.pairs["ibi"])), LOOP | {"nothing there"}, link="!"
    ),
    "its own translation without a URL": Odd(
        lambda good: http(good.text(drop="url") + f"\r\nibi.translation(pt) {good.pairs['ibi']}"),
        LOOP | {"nothing there"},
        link="+(pt)",
    ),
    # --- empty ---
    "empty": Odd(lambda good: http(""), EMPTY),
    "empty in chunks": Odd(
        lambda good: headed("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body="0\r\n\r\n"), EMPTY
    ),
    "status 204": Odd(lambda good: headed("HTTP/1.1 204 No Content"), EMPTY | FAILED),
}
KINDS = {
    "unknown-item": "not found",
    "deleted": "deleted",
    "loop-detected": "loop",
    "url-refused": "refused",
    "related-item-missing": "nothing there",
    "no-such-translation": "nothing there",
    "no-such-metadata": "nothing there",
    "no-such-file": "nothing there",
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ForeignWorld, ForeignProcess]]:
    with ExitStack() as stack:
        world = stack.enter_context(foreign_world(tmp_path_factory.mktemp("odd"), IBI_RESOLVE_BUDGET="6"))
        world.archive(NEIGHBOUR)
        yield world, world.archive(SERVICE)


@pytest.mark.parametrize("prefix", [HOME, NOBODY], ids=["home", "nobody"])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_misleads_no_reader(odd: tuple[ForeignWorld, ForeignProcess], name: str, prefix: str) -> None:
    world, archive = odd
    number = list(ODD).index(name)
    rep = f"{prefix}/{1996 + number // 28}/06.{number % 28 + 1:02}.03.04"
    good, case = Good(archive.address, rep), ODD[name]
    answer = case.send(good).replace("{resolver}", world.address)
    archive("raw", answers={label: [{"send": answer, **case.more}] for label in (rep, ibip_of(rep))})
    # E24: where nobody decides and one Archive gave no answer, the others' word is told with its silence.
    allowed = case.allowed | ({"unsure"} if prefix == NOBODY and "failed" in case.allowed else set())
    got = world.follow(f"/{rep}{case.link}")
    assert "set-cookie" not in got.headers
    assert "x-evil" not in got.headers
    assert outcome(got, good) in allowed, (got.status, got.location, got.body[:700])
    page = world.follow(f"/{rep}{case.link}", Accept=BROWSER)
    assert b"alert(1)" not in page.body


def outcome(got: Any, good: Good) -> str:
    """In one word, what the reader is told."""
    if got.status == 302:
        encoded = got.location in (f"{good.url}%01", f"{good.url}%20b%20c", f"{good.url}%20X-Evil:%20yes")
        return "right" if got.location == good.url else "encoded" if encoded else f"wrong: {got.location}"
    assert not got.location, got
    problem = json.loads(got.body)
    assert "type" in problem, (got.status, problem)
    kind = str(problem["type"]).rpartition(":")[2]
    if got.status in (502, 504):
        return "unreadable" if "unreadable" in problem["title"] else "failed"
    assert got.status in (404, 410, 508), (got.status, problem)
    if kind == "unknown-item" and problem["archives_silent"]:
        return "unsure" if "did not answer, and may have it" in problem["detail"] else "untrue"
    if problem.get("missing") == "address":
        return "no address" if f"{good.address} says that it has" in problem["detail"] else "untrue"
    if problem.get("missing") == "item":
        return "untrue"
    return KINDS.get(kind, f"unexpected: {kind}")
